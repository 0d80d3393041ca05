/* parameters.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_PARAMETERS_H
#define ATTN_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>
#include <attn/tensor.h>

ATTN_BEGIN_DECLS

typedef struct attn_parameters attn_parameters;
typedef struct attn_parameter attn_parameter;

typedef enum attn_initial {
    ATTN_INITIAL_ZERO = 0,
    ATTN_INITIAL_CONSTANT = 1,
    ATTN_INITIAL_NORMAL = 2,
    ATTN_INITIAL_UNIFORM = 3,
    ATTN_INITIAL_XAVIER = 4,
    ATTN_INITIAL_KAIMING = 5
} attn_initial;

typedef enum attn_parameter_kind {
    ATTN_PARAMETER_WEIGHT = 0,
    ATTN_PARAMETER_BIAS = 1,
    ATTN_PARAMETER_NORM = 2,
    ATTN_PARAMETER_EMBEDDING = 3
} attn_parameter_kind;

typedef struct attn_parameter_options {
    size_t size;
    attn_parameter_kind kind;
    attn_initial initial;
    float scale;
    int frozen;
} attn_parameter_options;

ATTN_INIT(attn_parameter_options)

ATTN_API attn_status attn_parameters_create(attn_context *context, uint64_t seed,
                                            attn_parameters **parameters);
ATTN_API void attn_parameters_destroy(attn_parameters *parameters);

ATTN_API attn_parameter *attn_parameters_add(attn_parameters *parameters, const char *name, int rank,
                                             const int64_t *shape, const attn_parameter_options *options);

ATTN_API attn_status attn_parameters_status(const attn_parameters *parameters);
ATTN_API const char *attn_parameters_error(const attn_parameters *parameters);

ATTN_API attn_context *attn_parameters_context(const attn_parameters *parameters);

ATTN_API int64_t attn_parameters_count(const attn_parameters *parameters);
ATTN_API attn_parameter *attn_parameters_at(const attn_parameters *parameters, int64_t index);
ATTN_API attn_parameter *attn_parameters_find(const attn_parameters *parameters, const char *name);

ATTN_API int64_t attn_parameters_size(const attn_parameters *parameters);

ATTN_API void attn_parameters_clear_gradients(attn_parameters *parameters);

ATTN_API const char *attn_parameter_name(const attn_parameter *parameter);
ATTN_API attn_tensor attn_parameter_value(const attn_parameter *parameter);
ATTN_API attn_tensor attn_parameter_gradient(attn_parameter *parameter);
ATTN_API void attn_parameter_changed(attn_parameter *parameter);
ATTN_API attn_parameter_kind attn_parameter_kind_of(const attn_parameter *parameter);
ATTN_API int attn_parameter_frozen(const attn_parameter *parameter);
ATTN_API void attn_parameter_set_frozen(attn_parameter *parameter, int frozen);

ATTN_END_DECLS

#endif
