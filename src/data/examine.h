/* examine.h: reasons not to train on a dataset, and which of its examples also occur in other data. */
#ifndef AT_DATA_EXAMINE_H
#define AT_DATA_EXAMINE_H

#include <attn/examine.h>

#include "data/dataset.h"

enum {
    AT_FEW_EXAMPLES = 10,      /* fewer cannot be learned from */
    AT_MEASURED_NUMBERS = 20,  /* more different numbers than that are measured, not classes */
    AT_MOST_COMPARED = 8388608 /* more examples are not compared with each other: 16 bytes a slot */
};

/* What targets are to whoever learns them. */
typedef enum at_target_use {
    AT_TARGETS_GUESSED, /* numbers or labels: as they look */
    AT_TARGETS_LABELS,
    AT_TARGETS_NUMBERS,
    AT_TARGETS_OTHER /* texts, or labels that are made of the rows: only how many examples there are counts */
} at_target_use;

typedef struct at_examining {
    const attn_dataset *train;
    at_target_use use;
    int may_be_none;     /* no label at all is an answer */
    const char *example; /* what one is called: "text" */
    const char *place;   /* and what has a target: "token" */
} at_examining;

struct attn_examination {
    attn_context *context;
    at_strings findings; /* their texts */
    attn_finding_kind *kinds;
    int64_t kind_room;
    at_strings notes;
    int64_t
        first_note; /* of those that kinds of input do not tell when they describe data: after conflicts */
    int64_t conflicts, in_pieces, cut, longest, most;
    int64_t in_pieces_others[2], cut_others[2]; /* of dev, test */
    attn_overlap overlaps[2];                   /* the same */
};

/* Adds what is found of the targets. */
attn_status at_examine_targets(const at_examining *how, attn_examination *found);

/* overlap.c: counts inputs that occur with different targets. */
attn_status at_count_conflicts(const attn_dataset *dataset, int64_t *conflicts);
/* How many examples of the others are in `train`, too; NULL: there is no such data. */
attn_status at_count_overlaps(const attn_dataset *train, const attn_dataset *const others[2],
                              attn_overlap overlaps[2]);

#endif
