/* parameters.h: what a network learns.
 *
 * A set of named parameters. Each is a dense f32 array of rank 1 .. 4 with its
 * value, its gradient (which backward passes add to) and what the optimiser
 * keeps. They live outside the tape, in memory of the set, until the set is
 * destroyed; the pointers stay valid until then.
 *
 * Errors are sticky: a call that fails returns NULL and later calls do
 * nothing, so a network is built without a check on every line and the status
 * is looked at once. NULL arguments that come from an earlier failure are
 * taken quietly.
 *
 *     attn_parameters_create(context, seed, &parameters);
 *     attn_parameter *weight = attn_parameters_add(parameters, "output.weight", ...);
 *     ...
 *     if (attn_parameters_status(parameters) != ATTN_OK)
 *         puts(attn_parameters_error(parameters));
 *
 * Initialisation comes from a counter-based generator: a parameter's numbers
 * are a function of (seed of the set, its name, index) alone, not of threads,
 * instruction set or the order in which parameters are added.
 *
 * A matrix is used as rows x columns with rows = shape[0] and columns the
 * product of the rest.
 */
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

/* How a parameter starts. fan_in = columns, fan_out = rows of the matrix. */
typedef enum attn_initial {
    ATTN_INITIAL_ZERO = 0,
    ATTN_INITIAL_CONSTANT = 1, /* scale everywhere */
    ATTN_INITIAL_NORMAL = 2,   /* normal, standard deviation scale */
    ATTN_INITIAL_UNIFORM = 3,  /* uniform in (-scale, scale) */
    ATTN_INITIAL_XAVIER = 4,   /* uniform, scale * sqrt(6 / (fan_in + fan_out)) */
    ATTN_INITIAL_KAIMING = 5   /* uniform, scale * sqrt(3 / fan_in): variance scale^2 / fan_in */
} attn_initial;

/* What a parameter is; decides, unless said otherwise, whether it decays:
 * weights do, the others do not. */
typedef enum attn_parameter_kind {
    ATTN_PARAMETER_WEIGHT = 0,
    ATTN_PARAMETER_BIAS = 1,
    ATTN_PARAMETER_NORM = 2,
    ATTN_PARAMETER_EMBEDDING = 3
} attn_parameter_kind;

typedef struct attn_parameter_options {
    size_t size; /* sizeof(attn_parameter_options), set by the init function */
    attn_parameter_kind kind;
    attn_initial initial;
    float scale;
    int frozen; /* not 0: no gradient, not trained */
} attn_parameter_options;

/* A weight, XAVIER with scale 1. */
ATTN_API void attn_parameter_options_init(attn_parameter_options *options);

/* An empty set. The context must outlive it. Errors: INVALID_ARGUMENT,
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_parameters_create(attn_context *context, uint64_t seed,
                                            attn_parameters **parameters);
ATTN_API void attn_parameters_destroy(attn_parameters *parameters); /* NULL is allowed */

/* Adds a parameter. name: not empty, unique in the set, copied. options NULL:
 * the defaults. Returns NULL on failure (sticky). */
ATTN_API attn_parameter *attn_parameters_add(attn_parameters *parameters, const char *name, int rank,
                                             const int64_t *shape, const attn_parameter_options *options);

/* The first error of this set, and its text ("" if none). */
ATTN_API attn_status attn_parameters_status(const attn_parameters *parameters);
ATTN_API const char *attn_parameters_error(const attn_parameters *parameters);

ATTN_API attn_context *attn_parameters_context(const attn_parameters *parameters);

/* The parameters in the order in which they were added; NULL out of range, or
 * if no parameter has that name. */
ATTN_API int64_t attn_parameters_count(const attn_parameters *parameters);
ATTN_API attn_parameter *attn_parameters_at(const attn_parameters *parameters, int64_t index);
ATTN_API attn_parameter *attn_parameters_find(const attn_parameters *parameters, const char *name);

/* How many numbers all of them have. */
ATTN_API int64_t attn_parameters_size(const attn_parameters *parameters);

/* Sets every gradient to 0. */
ATTN_API void attn_parameters_clear_gradients(attn_parameters *parameters);

/* One parameter. The tensors are contiguous views of its own memory, on the host;
 * data is NULL where that memory is not the host's, as on a device. After
 * writing to the value say so with attn_parameter_changed: forms of it that
 * were prepared for the kernels are then made anew. The gradient's data is
 * NULL for a frozen parameter; its memory appears with the first use. */
ATTN_API const char *attn_parameter_name(const attn_parameter *parameter);
ATTN_API attn_tensor attn_parameter_value(const attn_parameter *parameter);
ATTN_API attn_tensor attn_parameter_gradient(attn_parameter *parameter);
ATTN_API void attn_parameter_changed(attn_parameter *parameter);
ATTN_API attn_parameter_kind attn_parameter_kind_of(const attn_parameter *parameter);
ATTN_API int attn_parameter_frozen(const attn_parameter *parameter);
ATTN_API void attn_parameter_set_frozen(attn_parameter *parameter, int frozen);

ATTN_END_DECLS

#endif
