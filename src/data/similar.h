/* similar.h: holds out examples so that no similar example is left for training.
 *
 * Two examples are similar if they have the same units, if nearly all n-grams of one occur in the other (it
 * is a part of it), or if they share many of them (near duplicates). Units are hashes that a kind of input
 * makes.
 */
#ifndef AT_DATA_SIMILAR_H
#define AT_DATA_SIMILAR_H

#include "data/grams.h"

/* Examples, as their units; requested by several threads at once. units: empty before. */
typedef struct at_unit_source {
    const void *user;
    int64_t examples;
    attn_status (*read)(const void *user, attn_context *context, int64_t example, at_unit_hashes *units);
} at_unit_source;

typedef enum at_side {
    AT_SIDE_LEARNED,
    AT_SIDE_HELD, /* held out */
    AT_SIDE_LEFT  /* related to some that are held out: neither */
} at_side;

typedef struct at_apart {
    int64_t held, left; /* examples of these sides; held 0: they are too much alike to be parted */
    int fragments;      /* many examples are parts of others: only whole ones are held out */
} at_apart;

/* Decides the side of each example ([examples], AT_SIDE_LEARNED before). About `wanted` examples are not
 * learned from: those held out, and those left out for their sake. Something is always left to learn from.
 * Which ones they are depends on the units of the examples and on `wanted`; not on their order, nor on the
 * number of threads. Errors: OUT_OF_MEMORY, what `read` says. */
attn_status at_hold_apart(attn_context *context, const at_unit_source *source, int64_t wanted,
                          unsigned char *sides, at_apart *apart);

#endif
