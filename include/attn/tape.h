/* tape.h: records operations as they run, and computes their gradients.
 *
 *     attn_tape_begin(tape, ATTN_TAPE_TRAIN, step);
 *     attn_variable *x = attn_tape_embedding(tape, table, ids, count);
 *     x = attn_tape_linear(tape, x, weight, bias, ATTN_GELU);
 *     attn_variable *loss = attn_tape_cross_entropy(tape, x, labels, NULL);
 *     if (attn_tape_backward(tape, loss, NULL) != ATTN_OK)
 *         puts(attn_tape_error(tape));
 *
 * A variable is a matrix, rows x columns, f32, that lives from the operation
 * that made it to the next attn_tape_begin. Its memory comes from the tape's
 * arena, which grows to the largest step and is then reused: after the first
 * steps a training step allocates nothing.
 *
 * Errors are sticky. An operation that fails returns NULL, and so do all
 * operations after it, until the next attn_tape_begin: NULL variables and layers
 * may be passed on. So code that builds a network needs no check on every line:
 * attn_tape_backward or attn_tape_status returns the first error at the end. If
 * the tape is NULL, an operation returns NULL, and nothing keeps the error.
 * Errors of the functions here that return a variable: INVALID_ARGUMENT (NULL, a
 * shape that is impossible, a parameter of another context), OVERFLOW,
 * OUT_OF_MEMORY. attn/operations.h lists those of operations.
 *
 * The same code runs for inference (ATTN_TAPE_PREDICT): nothing is recorded,
 * dropout does nothing.
 *
 * Determinism. The same values, seed, instruction set and build give the same
 * bits for any number of threads. In a forward pass without dropout the rows of
 * a sequence have the same bits whatever else is in the batch.
 *
 * Threads. A tape and its variables are used by one thread at a time, which is
 * also the one that uses the context.
 */
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
    ATTN_TAPE_PREDICT = 0, /* nothing is recorded, no dropout */
    ATTN_TAPE_TRAIN = 1,   /* recorded, with dropout */
    ATTN_TAPE_GRADIENT = 2 /* recorded, without dropout */
} attn_tape_mode;

/* A tape; the context must outlive it. Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_tape_create(attn_context *context, attn_tape **tape);
ATTN_API void attn_tape_destroy(attn_tape *tape); /* NULL is allowed */

/* Begins a step: forgets all variables, operations and errors. seed: of dropout in this step. An unknown mode
 * becomes the tape's error. */
ATTN_API void attn_tape_begin(attn_tape *tape, attn_tape_mode mode, uint64_t seed);

/* status: OK, or the error of the first operation that failed since attn_tape_begin. error: its message, ""
 * if none. Errors: those of operations (attn/operations.h); INVALID_ARGUMENT and "tape is NULL" for NULL. */
ATTN_API attn_status attn_tape_status(const attn_tape *tape);
ATTN_API const char *attn_tape_error(const attn_tape *tape);

ATTN_API attn_context *attn_tape_context(const attn_tape *tape);
ATTN_API attn_tape_mode attn_tape_mode_of(const attn_tape *tape);

/* Bytes of memory that the tape holds now. */
ATTN_API size_t attn_tape_memory(const attn_tape *tape);

/* The backward pass from `variable`. It adds to the gradients of parameters, so
 * the gradients of several backward passes are summed until the optimiser's step
 * or attn_parameters_clear_gradients clears them. The gradients of inputs can be
 * read afterwards. gradient: rows x columns numbers, contiguous, the gradient of
 * `variable`; NULL: 1 everywhere, as for a loss of 1 x 1. May be called once per
 * step. Errors: the tape's status; INVALID_ARGUMENT (nothing was recorded, or the
 * call is the second of this step); OUT_OF_MEMORY. */
ATTN_API attn_status attn_tape_backward(attn_tape *tape, attn_variable *variable, const float *gradient);

/* ---- variables ---- */

/* A variable with these numbers (rows x columns, contiguous, copied). With
 * needs_gradient its gradient can be read after attn_tape_backward. */
ATTN_API attn_variable *attn_tape_input(attn_tape *tape, const float *data, int64_t rows, int64_t columns,
                                        int needs_gradient);

/* The same without a gradient, and without a copy if variables are in host memory: data must not change until
 * the next attn_tape_begin. For large inputs, such as the features of all nodes of a graph. */
ATTN_API attn_variable *attn_tape_constant(attn_tape *tape, const float *data, int64_t rows, int64_t columns);

/* The value of a parameter as a variable; its gradient is added to the
 * parameter's gradient. Operations that take an attn_parameter do not need it. */
ATTN_API attn_variable *attn_tape_parameter(attn_tape *tape, attn_parameter *parameter);

/* The shape of a variable. */
ATTN_API int64_t attn_variable_rows(const attn_variable *variable);
ATTN_API int64_t attn_variable_columns(const attn_variable *variable);

/* Copies the value of a variable to the host: rows x columns numbers,
 * contiguous. Works on any device. Errors: INVALID_ARGUMENT (a NULL). */
ATTN_API attn_status attn_variable_read(const attn_variable *variable, float *into);

/* The value itself, in host memory, without a copy: element (i, j) is data[i *
 * stride + j]. Valid until the next attn_tape_begin. NULL if the variable is on
 * a device and not in host memory. */
ATTN_API int64_t attn_variable_stride(const attn_variable *variable);
ATTN_API const float *attn_variable_data(const attn_variable *variable);

/* The gradient of an input (or of a variable with attn_variable_keep_gradient), contiguous, after
 * attn_tape_backward. read_gradient copies it to the host, as zeros if the loss does not depend on the input.
 * Errors: INVALID_ARGUMENT (a NULL, or needs_gradient was 0). gradient returns it without a copy; NULL if
 * needs_gradient was 0, if the loss does not depend on the input, or if it is not in host memory. */
ATTN_API attn_status attn_variable_read_gradient(const attn_variable *variable, float *into);
ATTN_API const float *attn_variable_gradient(const attn_variable *variable);

/* Called before attn_tape_backward, it makes the gradient of this variable
 * readable afterwards, like that of an input. It does nothing for slices, whose
 * gradient is part of another variable's, and for parameters, whose gradient
 * attn_parameter_gradient returns. */
ATTN_API void attn_variable_keep_gradient(attn_variable *variable);

ATTN_END_DECLS

#endif
