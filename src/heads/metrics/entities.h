/* entities.h: tags that mark entities in a sequence, and metrics of entities.
 *
 * A tag is O, or a part and a type: B-PER begins an entity, I-PER continues it, E-PER ends it, S-PER is one
 * of a single row. Other letters for the same: M- for I-, L- for E-, U- for S- (BMES, BILOU).
 *
 * Entities are read as in seqeval's default mode (and conlleval before it), whatever the tags are: a row
 * continues the entity of the row before if that one is B- or I-, this one is I- or E-, and both have the
 * same type. Any other row that is not O begins an entity.
 */
#ifndef AT_HEADS_METRICS_ENTITIES_H
#define AT_HEADS_METRICS_ENTITIES_H

#include <stdint.h>

#include <attn/context.h>
#include <attn/report.h>

#include "data/strings.h"
#include "data/symbols/vocabulary.h"

typedef enum at_tag_part {
    AT_TAG_OUTSIDE,
    AT_TAG_BEGIN,
    AT_TAG_INSIDE,
    AT_TAG_END,
    AT_TAG_SINGLE
} at_tag_part;

typedef struct at_tag {
    int32_t part, type; /* type: -1 of O */
} at_tag;

/* Labels as tags; all 0 is empty. */
typedef struct at_tag_set {
    at_tag *tags; /* [count] */
    int64_t count, room;
    at_vocabulary types;
} at_tag_set;

/* Whether labels are such tags: all of them O or LETTER-TYPE, some of them B- or I-, and no two letters for
 * one part. */
int at_tags_are(const at_strings *labels);
/* Adds labels; one that is no tag is O. */
attn_status at_tags_add(attn_context *context, at_tag_set *set, const at_strings *labels);
void at_tags_free(attn_context *context, at_tag_set *set);

/* Whether a row continues in the entity of the row before it. */
int at_tag_continues(at_tag before, at_tag tag);

/* Adds the entities of one sequence of labels to the counts of their types, [types.strings.count]: support,
 * predicted and right. truth below 0 is missing: the row is O on both sides. */
void at_entities_count(const at_tag_set *set, const int32_t *truth, const int32_t *answers, int64_t count,
                       attn_class_metrics *metrics);

#endif
