/* gradients.h: where the gradients of all parameters of a set are added up.
 *
 * Every parameter has a gradient of its own, which an optimiser reads. Workers that take parts of a batch
 * through the network side by side need one each: a tape that was told so (at_tape_gradients) writes to such
 * a set of gradients instead. Their numbers are tensor memory, made when they are first needed.
 */
#ifndef AT_TAPE_GRADIENTS_H
#define AT_TAPE_GRADIENTS_H

#include <stdint.h>

#include <attn/parameters.h>

/* The gradient of one parameter. */
typedef struct at_slot {
    float *numbers;     /* tensor memory; NULL: there is none yet */
    int touched;        /* 0: the gradient is 0, whatever is in its memory */
    uint64_t *row_bits; /* memory of: */
    uint64_t *written;  /* NULL, or a bit per row: all rows whose bit is 0 hold 0 */
} at_slot;

typedef struct at_gradients at_gradients;

/* For the parameters that the set has now. It is destroyed before them. own: those that the parameters have
 * themselves. *gradients is untouched on failure (OUT_OF_MEMORY). */
attn_status at_gradients_create(attn_context *context, attn_parameters *set, int own,
                                at_gradients **gradients);
void at_gradients_destroy(at_gradients *gradients); /* NULL is allowed */
int64_t at_gradients_count(const at_gradients *gradients);
at_slot *at_gradients_slot(const at_gradients *gradients, int64_t index);
attn_parameter *at_gradients_parameter(const at_gradients *gradients, int64_t index);
/* All of them become 0, without touching their numbers. */
void at_gradients_clear(at_gradients *gradients);

/* into += from, for parameter `index`; where only some rows were written, only these are added. `from` is 0
 * afterwards. Called at the same time for different parameters or gradients. Errors: OUT_OF_MEMORY, and what
 * the backend says. */
attn_status at_gradients_add(attn_context *context, at_gradients *into, at_gradients *from, int64_t index);

/* ---- one parameter (slots of `parameter`; context: who works, perhaps a part of the parameters') ---- */

/* The numbers, made at the first call; NULL: out of memory. What they hold counts only if `touched`; in_full
 * makes it so. */
float *at_slot_memory(attn_context *context, attn_parameter *parameter, at_slot *slot);
float *at_slot_in_full(attn_context *context, attn_parameter *parameter, at_slot *slot);
/* Likewise, for adding to the rows named (-1: none) alone: of a large table only the rows that were written
 * to before are cleared. */
float *at_slot_for_rows(attn_context *context, attn_parameter *parameter, at_slot *slot, const int64_t *rows,
                        int64_t count);
/* Frees what a slot holds. */
void at_slot_free(const attn_parameter *parameter, at_slot *slot);

#endif
