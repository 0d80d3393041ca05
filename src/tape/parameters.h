/* parameters.h (private): what a parameter and a set of them hold. */
#ifndef AT_TAPE_PARAMETERS_H
#define AT_TAPE_PARAMETERS_H

#include <attn/matmul.h>
#include <attn/parameters.h>
#include <stdatomic.h>

#include "tape/gradients.h"

struct attn_parameter {
    attn_parameters *set;
    char *name;
    int rank;
    int64_t shape[ATTN_MAX_RANK];
    int64_t rows, columns, count; /* rows = shape[0]; count = rows * columns */
    attn_parameter_kind kind;
    int frozen;
    int64_t index; /* in the set */
    float *value;  /* tensor memory */
    int borrowed;  /* the value is the source's memory, not the set's */
    at_slot gradient;
    void *packed_memory[2];
    attn_packed_weight packed[2]; /* forward, transposed */
    atomic_int packed_valid[2];
};

/* Memory that the set owns and frees with itself; NULL with the set's error
 * set. For layers, too, which live as long as their parameters. */
void *at_parameters_memory(attn_parameters *set, size_t bytes);
/* Sets the set's error, if it is the first; returns NULL. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void *
at_parameters_fail(attn_parameters *set, attn_status status, const char *format, ...);
/* Makes a status that is not OK, whose text the context holds, the set's error; returns whether it is OK. */
int at_parameters_did(attn_parameters *set, attn_status status);
/* From now on parameters that are added take their values from `source` instead of starting anew: it returns
 * host memory of that shape which stays as long as the set and may be written to, or NULL with the reason (an
 * empty one: there was no memory). */
typedef float *(*at_parameter_source)(void *user, const char *name, int rank, const int64_t *shape,
                                      char *reason, size_t reason_bytes);
void at_parameters_from(attn_parameters *set, at_parameter_source source, void *user);
/* Whether parameters that are added start anew: only then a layer may set values of its own. */
int at_parameters_start(const attn_parameters *set);

int at_parameters_ready(const attn_parameters *set);

/* Numbers first .. first + count - 1 of the value become `number`. */
attn_status at_parameter_fill(attn_parameter *parameter, int64_t first, int64_t count, float number);
/* On the host: numbers first .. first + count - 1 of the value, written and read. */
attn_status at_parameter_host_write(attn_parameter *parameter, int64_t first, int64_t count,
                                    const float *numbers);
attn_status at_parameter_host_read(const attn_parameter *parameter, int64_t first, int64_t count,
                                   float *numbers);
/* And the whole gradient, which is 0 where nothing came. */
attn_status at_parameter_host_read_gradient(attn_parameter *parameter, float *numbers);

/* The weight in kernel order, kept with the parameter until it changes. context: the parameters', or a part
 * of it; parts may ask at the same time. */
attn_status at_parameter_packed(attn_context *context, attn_parameter *parameter, int transposed,
                                const attn_packed_weight **packed);
/* Whether it was packed so before, but has changed since. */
int at_parameter_outdated(const attn_parameter *parameter, int transposed);

#endif
