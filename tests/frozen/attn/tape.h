/* tape.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_TAPE_H
#define ATTN_TAPE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/parameters.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_tape attn_tape;
typedef struct attn_variable attn_variable;

typedef enum attn_tape_mode {
    ATTN_TAPE_PREDICT = 0,
    ATTN_TAPE_TRAIN = 1,
    ATTN_TAPE_GRADIENT = 2
} attn_tape_mode;

ATTN_API attn_status attn_tape_create(attn_context *context, attn_tape **tape);
ATTN_API void attn_tape_destroy(attn_tape *tape);

ATTN_API void attn_tape_begin(attn_tape *tape, attn_tape_mode mode, uint64_t seed);

ATTN_API attn_status attn_tape_status(const attn_tape *tape);
ATTN_API const char *attn_tape_error(const attn_tape *tape);

ATTN_API attn_context *attn_tape_context(const attn_tape *tape);
ATTN_API attn_tape_mode attn_tape_mode_of(const attn_tape *tape);

ATTN_API size_t attn_tape_memory(const attn_tape *tape);

ATTN_API attn_status attn_tape_backward(attn_tape *tape, attn_variable *variable, const float *gradient);

ATTN_API attn_variable *attn_tape_input(attn_tape *tape, const float *data, int64_t rows, int64_t columns,
                                        int needs_gradient);

ATTN_API attn_variable *attn_tape_constant(attn_tape *tape, const float *data, int64_t rows, int64_t columns);

ATTN_API attn_variable *attn_tape_parameter(attn_tape *tape, attn_parameter *parameter);

ATTN_API int64_t attn_variable_rows(const attn_variable *variable);
ATTN_API int64_t attn_variable_columns(const attn_variable *variable);

ATTN_API attn_status attn_variable_read(const attn_variable *variable, float *into);

ATTN_API int64_t attn_variable_stride(const attn_variable *variable);
ATTN_API const float *attn_variable_data(const attn_variable *variable);

ATTN_API attn_status attn_variable_read_gradient(const attn_variable *variable, float *into);
ATTN_API const float *attn_variable_gradient(const attn_variable *variable);

ATTN_API void attn_variable_keep_gradient(attn_variable *variable);

ATTN_END_DECLS

#endif
