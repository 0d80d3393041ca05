/* host.h (private): results where the host can read them.
 *
 *     at_host_rows rows = {0};                      // kept from step to step
 *     status = at_host_rows_of(x, &rows);           // then rows.data[r * rows.stride + c]
 *     at_host_rows_free(context, &rows);
 *
 * Where tensor memory is the host's, data is the variable's own memory and nothing is
 * copied; elsewhere it is a copy in memory that is kept and used again. Either way it is
 * good until the tape begins again or the next read into the same rows.
 */
#ifndef AT_TAPE_HOST_H
#define AT_TAPE_HOST_H

#include <attn/parameters.h>
#include <attn/tape.h>

typedef struct at_host_rows {
    const float *data;
    int64_t stride;
    float *copy; /* NULL: none was needed yet */
    int64_t room;
} at_host_rows;

/* Memory is that of the tape's context, where the text of an error is, too. */
attn_status at_host_rows_of(const attn_variable *x, at_host_rows *rows);
/* context: the tape's. */
void at_host_rows_free(attn_context *context, at_host_rows *rows);

/* What a variable of one number holds. */
attn_status at_host_number(const attn_variable *x, double *number);

/* The value of a parameter, contiguous: its own memory, and *copy NULL, or *copy, which the caller releases.
 * NULL with the context's error set. */
const float *at_host_value(attn_context *context, const attn_parameter *parameter, float **copy);

#endif
