/* parameters.h: the trainable parameters of a network.
 *
 * A set of named parameters. Each is a dense f32 array of rank 1 .. 4 with its value, its gradient (to which
 * backward passes add) and the optimiser's state. The set owns their memory; pointers to parameters are valid
 * until the set is destroyed.
 *
 * Errors are sticky: a call that fails returns NULL, and later calls that would add parameters return NULL,
 * too. So code that builds a network needs no check on every line: it checks the status once. NULL layers and
 * parameters from an earlier failure may be passed on.
 *
 *     attn_parameters_create(context, seed, &parameters);
 *     attn_parameter *weight = attn_parameters_add(parameters, "output.weight", 2, shape, NULL);
 *     ...
 *     if (attn_parameters_status(parameters) != ATTN_OK)
 *         puts(attn_parameters_error(parameters));
 *
 * Initial values come from a counter-based generator: the value of an element depends only on the seed of the
 * set, the parameter's name and the element's index, not on threads, instruction set or the order in which
 * parameters are added.
 *
 * Where a parameter is used as a matrix of rows x columns, rows is shape[0] and columns is the product of the
 * other extents.
 *
 * Threads. A set is used by one thread at a time, with one exception: tapes of several threads may read its
 * parameters at the same time, in the mode ATTN_TAPE_PREDICT or in the shards of attn/workers.h.
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

/* The initial values of a parameter. fan_in = columns, fan_out = rows of the matrix. */
typedef enum attn_initial {
    ATTN_INITIAL_ZERO = 0,
    ATTN_INITIAL_CONSTANT = 1, /* scale everywhere */
    ATTN_INITIAL_NORMAL = 2,   /* normal, standard deviation scale */
    ATTN_INITIAL_UNIFORM = 3,  /* uniform in (-scale, scale) */
    ATTN_INITIAL_XAVIER = 4,   /* uniform, scale * sqrt(6 / (fan_in + fan_out)) */
    ATTN_INITIAL_KAIMING = 5   /* uniform, scale * sqrt(3 / fan_in): variance scale^2 / fan_in */
} attn_initial;

/* The kind of a parameter. By default the optimiser applies weight decay to weights only. */
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
ATTN_INIT(attn_parameter_options)

/* An empty set. The context must outlive it. Errors: INVALID_ARGUMENT (NULL),
 * OUT_OF_MEMORY, SYSTEM_ERROR (the system refuses a lock). */
ATTN_API attn_status attn_parameters_create(attn_context *context, uint64_t seed,
                                            attn_parameters **parameters);
ATTN_API void attn_parameters_destroy(attn_parameters *parameters); /* NULL is allowed */

/* Adds a parameter. name: not empty, unique in the set, copied. options NULL:
 * the defaults. Returns NULL on failure. Errors, which are sticky: INVALID_ARGUMENT
 * (no name, a name that the set has already, a rank or extent out of range, an
 * unknown kind or initial), OVERFLOW, UNSUPPORTED (options of a newer caller),
 * OUT_OF_MEMORY. */
ATTN_API attn_parameter *attn_parameters_add(attn_parameters *parameters, const char *name, int rank,
                                             const int64_t *shape, const attn_parameter_options *options);

/* status: OK, or the first error since the set was made. error: its message, "" if none. Errors: those of
 * attn_parameters_add and of the layers that were created (attn/layers.h); INVALID_ARGUMENT and "parameters
 * is NULL" for NULL. */
ATTN_API attn_status attn_parameters_status(const attn_parameters *parameters);
ATTN_API const char *attn_parameters_error(const attn_parameters *parameters);

ATTN_API attn_context *attn_parameters_context(const attn_parameters *parameters);

/* The parameters, in the order in which they were added. NULL out of range, or
 * if no parameter has that name. */
ATTN_API int64_t attn_parameters_count(const attn_parameters *parameters);
ATTN_API attn_parameter *attn_parameters_at(const attn_parameters *parameters, int64_t index);
ATTN_API attn_parameter *attn_parameters_find(const attn_parameters *parameters, const char *name);

/* The total number of elements of all parameters. */
ATTN_API int64_t attn_parameters_size(const attn_parameters *parameters);

/* Sets every gradient to 0. */
ATTN_API void attn_parameters_clear_gradients(attn_parameters *parameters);

/* One parameter. value and gradient are contiguous views of its memory; data is
 * NULL if that memory is on a device and not on the host. The gradient's memory
 * is allocated at its first use; its data is also NULL if that fails, or if the
 * parameter is frozen. After writing to the value call attn_parameter_changed,
 * so that forms that were packed for the kernels are packed again. For NULL,
 * name returns "", frozen 1, and value and gradient a tensor of rank 0. */
ATTN_API const char *attn_parameter_name(const attn_parameter *parameter);
ATTN_API attn_tensor attn_parameter_value(const attn_parameter *parameter);
ATTN_API attn_tensor attn_parameter_gradient(attn_parameter *parameter);
ATTN_API void attn_parameter_changed(attn_parameter *parameter);
ATTN_API attn_parameter_kind attn_parameter_kind_of(const attn_parameter *parameter);
ATTN_API int attn_parameter_frozen(const attn_parameter *parameter);
ATTN_API void attn_parameter_set_frozen(attn_parameter *parameter, int frozen);

ATTN_END_DECLS

#endif
