/* entities.c: tags from labels, and the entities that two sequences of tags have in common. */
#include "heads/metrics/entities.h"

#include <string.h>

#include "base/memory.h"

/* ---- tags ---- */

static const char letters[] = "BIMELSU";
static const at_tag_part parts[] = {AT_TAG_BEGIN, AT_TAG_INSIDE, AT_TAG_INSIDE, AT_TAG_END,
                                    AT_TAG_END,   AT_TAG_SINGLE, AT_TAG_SINGLE};

/* The place of a tag's letter in `letters`, -1: it is O, -2: no tag. */
static int letter_of(const char *label) {
    if (strcmp(label, "O") == 0) return -1;
    const char *letter = *label ? strchr(letters, *label) : NULL;
    return letter && label[1] == '-' && label[2] ? (int)(letter - letters) : -2;
}

int at_tags_are(const at_strings *labels) {
    int seen[sizeof letters] = {0};
    for (int64_t i = 0; i < labels->count; i++) {
        int letter = letter_of(at_string(labels, i));
        if (letter == -2) return 0;
        if (letter >= 0) seen[letter] = 1;
    }
    for (int i = 1; letters[i]; i++) /* letters of one part are contiguous */
        if (seen[i] && seen[i - 1] && parts[i] == parts[i - 1]) return 0;
    return seen[0] || seen[1];
}

attn_status at_tags_add(attn_context *context, at_tag_set *set, const at_strings *labels) {
    attn_status status =
        at_grow(context, &set->tags, &set->room, set->count + labels->count + 1, sizeof *set->tags, "tags");
    for (int64_t i = 0; i < labels->count && status == ATTN_OK; i++) {
        const char *label = at_string(labels, i);
        int letter = letter_of(label);
        int64_t type = -1;
        if (letter >= 0)
            status = at_vocabulary_add(context, &set->types, label + 2, strlen(label + 2), 1, &type);
        if (status == ATTN_OK)
            set->tags[set->count++] =
                (at_tag){(int32_t)(letter < 0 ? AT_TAG_OUTSIDE : parts[letter]), (int32_t)type};
    }
    return status;
}

void at_tags_free(attn_context *context, at_tag_set *set) {
    at_release(context, set->tags);
    at_vocabulary_free(context, &set->types);
    *set = (at_tag_set){.count = 0};
}

/* ---- entities ---- */

int at_tag_continues(at_tag before, at_tag tag) {
    return (before.part == AT_TAG_BEGIN || before.part == AT_TAG_INSIDE) &&
           (tag.part == AT_TAG_INSIDE || tag.part == AT_TAG_END) && before.type == tag.type;
}

/* What is known of one side while it is read. */
typedef struct reading {
    at_tag before;
    int64_t begin; /* of the entity that `before` is in */
} reading;

/* Reads the next tag; whether an entity ended before it: *ended is what was known of it. */
static int read_tag(reading *side, at_tag tag, int64_t place, reading *ended) {
    int goes_on = at_tag_continues(side->before, tag);
    int ends = !goes_on && side->before.part != AT_TAG_OUTSIDE;
    *ended = *side;
    if (!goes_on) side->begin = place;
    side->before = tag;
    return ends;
}

void at_entities_count(const at_tag_set *set, const int32_t *truth, const int32_t *answers, int64_t count,
                       attn_class_metrics *metrics) {
    const at_tag outside = {AT_TAG_OUTSIDE, -1};
    reading right = {outside, 0}, said = {outside, 0}, right_ended, said_ended;
    for (int64_t i = 0; i <= count; i++) { /* one more: the end of the sequence ends entities */
        int there = i < count && truth[i] >= 0;
        int is = read_tag(&right, there ? set->tags[truth[i]] : outside, i, &right_ended);
        int was = read_tag(&said, there ? set->tags[answers[i]] : outside, i, &said_ended);
        if (is) metrics[right_ended.before.type].support++;
        if (was) metrics[said_ended.before.type].predicted++;
        if (is && was && right_ended.begin == said_ended.begin &&
            right_ended.before.type == said_ended.before.type)
            metrics[right_ended.before.type].right++;
    }
}
