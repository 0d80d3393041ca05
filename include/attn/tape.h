/* tape.h: records operations as they run, and walks them back once.
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
 * Errors are sticky. An operation that fails returns NULL; every operation
 * given a NULL variable on a tape that has failed returns NULL too. So a
 * network is written without a check on every line: attn_tape_backward, or
 * attn_tape_status, says at the end what went wrong first.
 *
 * The same code runs for inference (ATTN_TAPE_PREDICT): nothing is recorded,
 * dropout does nothing.
 *
 * Determinism. Same values, seed, instruction set and build: the same bits for
 * any number of threads. In a forward pass without dropout the rows of a
 * sequence are the same bits whatever else is in the batch.
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

/* A tape; the context must outlive it. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
ATTN_API attn_status attn_tape_create(attn_context *context, attn_tape **tape);
ATTN_API void attn_tape_destroy(attn_tape *tape); /* NULL is allowed */

/* Begins a step: forgets all variables, operations and errors. seed decides
 * what dropout drops in this step. */
ATTN_API void attn_tape_begin(attn_tape *tape, attn_tape_mode mode, uint64_t seed);

/* The first error since attn_tape_begin, and its text ("" if none). */
ATTN_API attn_status attn_tape_status(const attn_tape *tape);
ATTN_API const char *attn_tape_error(const attn_tape *tape);

ATTN_API attn_context *attn_tape_context(const attn_tape *tape);
ATTN_API attn_tape_mode attn_tape_mode_of(const attn_tape *tape);

/* Bytes that the arena holds from the system now. */
ATTN_API size_t attn_tape_memory(const attn_tape *tape);

/* Walks back from `variable`: gradients of parameters are added to (they are
 * cleared by the optimiser's step or attn_parameters_clear_gradients, so that
 * several backward passes accumulate); those of inputs can then be read.
 * gradient: rows x columns numbers, contiguous, the gradient that arrives at
 * `variable`; NULL: 1 everywhere, which is what a loss of 1 x 1 wants. May be
 * called once a step. Errors: the tape's status; INVALID_ARGUMENT if nothing
 * was recorded or it was called before; OUT_OF_MEMORY. */
ATTN_API attn_status attn_tape_backward(attn_tape *tape, attn_variable *variable, const float *gradient);

/* ---- variables ---- */

/* A variable with these numbers (rows x columns, contiguous, copied). With
 * needs_gradient its gradient can be read after attn_tape_backward. */
ATTN_API attn_variable *attn_tape_input(attn_tape *tape, const float *data, int64_t rows, int64_t columns,
                                        int needs_gradient);

/* The same without a gradient, and without a copy where numbers are in the host's memory: data must stay as
 * it is until the next attn_tape_begin. For large inputs, such as the features of all nodes of a graph. */
ATTN_API attn_variable *attn_tape_constant(attn_tape *tape, const float *data, int64_t rows, int64_t columns);

/* The value of a parameter as a variable; what arrives at it is added to the
 * parameter's gradient. Operations that take an attn_parameter do without. */
ATTN_API attn_variable *attn_tape_parameter(attn_tape *tape, attn_parameter *parameter);

/* The shape of a variable; 0 for NULL. */
ATTN_API int64_t attn_variable_rows(const attn_variable *variable);
ATTN_API int64_t attn_variable_columns(const attn_variable *variable);

/* What a variable holds, copied to the host: rows x columns numbers, contiguous.
 * Works wherever the numbers are. Errors: INVALID_ARGUMENT (a NULL). */
ATTN_API attn_status attn_variable_read(const attn_variable *variable, float *into);

/* The same numbers where they stand, on the host: element (i, j) is
 * data[i * stride + j]. Valid until the next attn_tape_begin. NULL for NULL, and
 * for numbers that are not in the host's memory, as those of a device. */
ATTN_API int64_t attn_variable_stride(const attn_variable *variable);
ATTN_API const float *attn_variable_data(const attn_variable *variable);

/* The gradient of an input, contiguous, after attn_tape_backward: copied to the
 * host, 0 where nothing came back; and where it stands, on the host, NULL if it has
 * none (not asked for, or nothing came back to it: then it is 0) or is not in the
 * host's memory. read's error: INVALID_ARGUMENT (a NULL, or not asked for). */
ATTN_API attn_status attn_variable_read_gradient(const attn_variable *variable, float *into);
ATTN_API const float *attn_variable_gradient(const attn_variable *variable);

/* Asks, before attn_tape_backward, that the gradient of a variable can be read
 * after it like that of an input. Does nothing for slices, whose gradient is
 * part of another's, and for parameters, which have their own. */
ATTN_API void attn_variable_keep_gradient(attn_variable *variable);

ATTN_END_DECLS

#endif
