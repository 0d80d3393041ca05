/* host.c: copies of numbers on the host. */
#include "support/host.h"

#include <stdlib.h>

#include "support/check.h"
#include "tape/parameters.h"

enum { COPIES = 64 };

static float *copies[COPIES];
static int next_copy;

static float *new_copy(int64_t count) {
    float **copy = &copies[next_copy++ % COPIES];
    *copy = realloc(*copy, (size_t)(count ? count : 1) * sizeof(float));
    assert_non_null(*copy);
    return *copy;
}

const float *host_data(const attn_variable *variable) {
    float *copy = new_copy(attn_variable_rows(variable) * attn_variable_columns(variable));
    assert_int_equal(attn_variable_read(variable, copy), ATTN_OK);
    return copy;
}

const float *host_gradient(const attn_variable *variable) {
    float *copy = new_copy(attn_variable_rows(variable) * attn_variable_columns(variable));
    assert_int_equal(attn_variable_read_gradient(variable, copy), ATTN_OK);
    return copy;
}

const float *host_value(const attn_parameter *parameter) {
    float *copy = new_copy(parameter->count);
    assert_int_equal(at_parameter_host_read(parameter, 0, parameter->count, copy), ATTN_OK);
    return copy;
}

const float *host_parameter_gradient(attn_parameter *parameter) {
    if (attn_parameter_frozen(parameter)) return NULL;
    float *copy = new_copy(parameter->count);
    assert_int_equal(at_parameter_host_read_gradient(parameter, copy), ATTN_OK);
    return copy;
}

void host_set_value(attn_parameter *parameter, const float *numbers) {
    assert_int_equal(at_parameter_host_write(parameter, 0, parameter->count, numbers), ATTN_OK);
}
