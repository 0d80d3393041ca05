/* transitions.c: which tag may follow which, from the scheme and the training data; and Viterbi's algorithm
 * over the allowed transitions.
 *
 * In a model file: "tags": {"scheme": "bio", "also": [[from, to], ...]}, with the pairs in the training data
 * that the scheme does not allow: numbers of labels, -1 for the beginning (from) and the end (to).
 */
#include "heads/transitions.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

static const char *const scheme_names[] = {"", "bio", "bioes", "iob1"};
enum { SCHEMES = sizeof scheme_names / sizeof scheme_names[0] };

void at_tagging_free(attn_context *context, at_tagging *tagging) {
    if (!tagging) return;
    at_tags_free(context, &tagging->tags);
    at_release(context, tagging->allowed);
    at_release(context, tagging);
}

/* ---- by the scheme ---- */

/* A row that is not there: before the first and after the last one. */
static const at_tag outside = {AT_TAG_OUTSIDE, -1};

static at_tag tag_of(const at_tagging *tagging, int64_t label) {
    return label < tagging->tags.count ? tagging->tags.tags[label] : outside;
}

/* label tags.count: the beginning, or the end. */
static int scheme_allows(const at_tagging *tagging, int64_t from, int64_t to) {
    at_tag before = tag_of(tagging, from), tag = tag_of(tagging, to);
    int inner = tag.part == AT_TAG_INSIDE || tag.part == AT_TAG_END;
    int unfinished = before.part == AT_TAG_BEGIN || before.part == AT_TAG_INSIDE;
    if (tagging->scheme == AT_SCHEME_BIO) return !inner || at_tag_continues(before, tag);
    return inner == unfinished && (!inner || at_tag_continues(before, tag));
}

static attn_status allow_by_scheme(attn_context *context, at_tagging *tagging) {
    int64_t size = tagging->tags.count + 1;
    if (tagging->scheme == AT_SCHEME_NONE || tagging->scheme == AT_SCHEME_IOB1) return ATTN_OK;
    tagging->allowed = at_allocate(context, size * size, 1, "transitions of tags");
    if (!tagging->allowed) return ATTN_OUT_OF_MEMORY;
    for (int64_t from = 0; from < size; from++)
        for (int64_t to = 0; to < size; to++)
            tagging->allowed[from * size + to] = (unsigned char)scheme_allows(tagging, from, to);
    return ATTN_OK;
}

/* The tags of a head; *made NULL: its labels are none. */
static attn_status make(const at_row_head *head, at_tagging **made) {
    attn_context *context = head->head.context;
    *made = NULL;
    if (!head->head.per_row || head->head.kind->several || !at_tags_are(&head->labels.strings))
        return ATTN_OK;
    at_tagging *tagging = at_allocate(context, 1, sizeof *tagging, "tags");
    attn_status status =
        tagging ? at_tags_add(context, &tagging->tags, &head->labels.strings) : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK)
        *made = tagging;
    else
        at_tagging_free(context, tagging);
    return status;
}

/* ---- from the data ---- */

/* Calls `each` for every pair of neighbours in an example, its beginning and end among them; a row without a
 * label has no neighbours. */
typedef void (*pair_function)(void *user, int64_t from, int64_t to);
static void for_pairs(const at_row_head *head, const at_encoded *encoded, int column, pair_function each,
                      void *user) {
    const at_labels *labels = &encoded->labels;
    int64_t columns = labels->columns->count, none = -1, border = head->labels.strings.count;
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t from = border;
        for (int64_t i = encoded->offsets[e]; i < encoded->offsets[e + 1]; i++) {
            const char *text = at_string(labels->values, i * columns + column);
            int64_t to = *text ? at_vocabulary_find(&head->labels, text, strlen(text)) : none;
            if (from >= 0 && to >= 0) each(user, from, to);
            from = to;
        }
        if (from >= 0 && from < border) each(user, from, border);
    }
}

typedef struct starts {
    const at_tagging *tagging;
    int64_t begin, inside; /* entities that begin with B-, and with I- */
} starts;

static void count_start(void *user, int64_t from, int64_t to) {
    starts *into = user;
    at_tag before = tag_of(into->tagging, from), tag = tag_of(into->tagging, to);
    into->begin += tag.part == AT_TAG_BEGIN;
    into->inside += tag.part == AT_TAG_INSIDE && !at_tag_continues(before, tag);
}

static void allow(void *user, int64_t from, int64_t to) {
    const at_tagging *tagging = user;
    tagging->allowed[from * (tagging->tags.count + 1) + to] = 1;
}

/* With E- or S- it is BIOES. With B- only between entities of one type, I- begins nearly all of them: IOB1.
 */
static at_tag_scheme find_scheme(const at_row_head *head, const at_tagging *tagging,
                                 const at_encoded *encoded, int column) {
    for (int64_t l = 0; l < tagging->tags.count; l++)
        if (tagging->tags.tags[l].part == AT_TAG_END || tagging->tags.tags[l].part == AT_TAG_SINGLE)
            return AT_SCHEME_BIOES;
    starts counted = {.tagging = tagging};
    for_pairs(head, encoded, column, count_start, &counted);
    return counted.inside > counted.begin ? AT_SCHEME_IOB1 : AT_SCHEME_BIO;
}

attn_status at_tagging_learn(at_head *head, const at_encoded *encoded, int column) {
    at_row_head *own = at_row_head_of(head);
    attn_context *context = head->context;
    attn_status status = ATTN_OK;
    if (encoded->labels.fixed || encoded->labels.places != encoded->rows) return ATTN_OK;
    if (!own->tagging) { /* else the head was loaded, and knows its scheme, or none */
        status = make(own, &own->tagging);
        if (status != ATTN_OK || !own->tagging) return status;
        own->tagging->scheme = find_scheme(own, own->tagging, encoded, column);
        status = allow_by_scheme(context, own->tagging);
    }
    if (status == ATTN_OK && own->tagging->allowed) for_pairs(own, encoded, column, allow, own->tagging);
    return status;
}

/* ---- the file ---- */

int at_tagging_store(const at_row_head *head, json_t *description) {
    const at_tagging *tagging = head->tagging;
    if (!tagging || tagging->scheme == AT_SCHEME_NONE) return 0;
    int64_t border = tagging->tags.count;
    json_t *tags = json_object(), *also = json_array();
    int bad = json_object_set_new(tags, "scheme", json_string(scheme_names[tagging->scheme]));
    for (int64_t from = 0; from <= border && tagging->allowed; from++) {
        for (int64_t to = 0; to <= border; to++) {
            if (!tagging->allowed[from * (border + 1) + to] || scheme_allows(tagging, from, to)) continue;
            json_t *pair = json_pack("[I, I]", (json_int_t)(from < border ? from : -1),
                                     (json_int_t)(to < border ? to : -1));
            bad |= json_array_append_new(also, pair);
        }
    }
    bad |= json_object_set_new(tags, "also", also);
    return json_object_set_new(description, "tags", tags) | bad;
}

/* A label of a pair; -2: it is none. */
static int64_t label_of(const json_t *pair, size_t index, int64_t border) {
    const json_t *number = json_array_get(pair, index);
    if (!json_is_integer(number) || json_integer_value(number) < -1 || json_integer_value(number) >= border)
        return -2;
    return json_integer_value(number) < 0 ? border : json_integer_value(number);
}

attn_status at_tagging_load(at_row_head *head, const json_t *description, const char **reason) {
    const json_t *tags = json_object_get(description, "tags"), *also = json_object_get(tags, "also");
    const char *name = json_string_value(json_object_get(tags, "scheme"));
    attn_status status = make(head, &head->tagging);
    at_tagging *tagging = head->tagging;
    if (status != ATTN_OK || !tags) return status;
    int scheme = 1;
    while (scheme < SCHEMES && (!name || strcmp(name, scheme_names[scheme]) != 0)) scheme++;
    if (!tagging || scheme == SCHEMES || !json_is_array(also)) {
        *reason = "the tags of an output have no scheme, or its labels are not tags";
        return ATTN_OK;
    }
    tagging->scheme = (at_tag_scheme)scheme;
    status = allow_by_scheme(head->head.context, tagging);
    int64_t border = tagging->tags.count;
    for (size_t i = 0; i < json_array_size(also) && status == ATTN_OK; i++) {
        const json_t *pair = json_array_get(also, i);
        int64_t from = label_of(pair, 0, border), to = label_of(pair, 1, border);
        if (json_array_size(pair) != 2 || from < 0 || to < 0 || !tagging->allowed) {
            *reason = "the tags of an output refer to labels that it does not have";
            break;
        }
        allow(tagging, from, to);
    }
    return status;
}

/* ---- paths ---- */

void at_path_memory_free(attn_context *context, at_path_memory *memory) {
    at_release(context, memory->before);
    at_release(context, memory->best);
    *memory = (at_path_memory){.before_room = 0};
}

int at_path_possible(const at_tagging *tagging, const int32_t *path, int64_t count, int open) {
    int64_t border = tagging->tags.count, size = border + 1;
    if (!tagging->allowed || count == 0) return 1;
    if (!open && !tagging->allowed[border * size + path[0]]) return 0;
    for (int64_t t = 1; t < count; t++)
        if (!tagging->allowed[path[t - 1] * size + path[t]]) return 0;
    return open || tagging->allowed[path[count - 1] * size + border];
}

static double log_probability_at(const at_path_log_probabilities *sequence, int64_t t, int64_t label) {
    double value = (double)sequence->rows[t * sequence->stride + label];
    return sequence->probabilities ? log(value > (double)FLT_MIN ? value : (double)FLT_MIN) : value;
}

/* The best path to every label of row t, from those to the labels of the row before. */
static void go_on(const at_tagging *tagging, const at_path_log_probabilities *sequence, int64_t t,
                  const double *best, double *next, int32_t *before) {
    int64_t labels = tagging->tags.count;
    for (int64_t to = 0; to < labels; to++) {
        double most = -INFINITY;
        int32_t from_most = -1;
        for (int64_t from = 0; from < labels; from++) {
            if (!tagging->allowed[from * (labels + 1) + to]) continue;
            double log_probability =
                best[from] + (sequence->transitions ? (double)sequence->transitions[from * labels + to] : 0);
            if (log_probability > most) {
                most = log_probability;
                from_most = (int32_t)from;
            }
        }
        next[to] = most + log_probability_at(sequence, t, to);
        before[to] = from_most;
    }
}

attn_status at_path_find(attn_context *context, const at_tagging *tagging,
                         const at_path_log_probabilities *sequence, int open, at_path_memory *memory,
                         int32_t *path) {
    int64_t labels = tagging->tags.count, size = labels + 1, count = sequence->count;
    if (count == 0 || !tagging->allowed) return ATTN_OK;
    attn_status status = at_grow(context, &memory->before, &memory->before_room, count * labels,
                                 sizeof *memory->before, "a path");
    if (status == ATTN_OK)
        status =
            at_grow(context, &memory->best, &memory->best_room, 2 * labels, sizeof *memory->best, "a path");
    if (status != ATTN_OK) return status;
    double *best = memory->best, *next = best + labels;
    for (int64_t l = 0; l < labels; l++) {
        int can = open || tagging->allowed[labels * size + l];
        best[l] =
            can ? log_probability_at(sequence, 0, l) + (sequence->start ? (double)sequence->start[l] : 0)
                : -INFINITY;
    }
    for (int64_t t = 1; t < count; t++) {
        go_on(tagging, sequence, t, best, next, memory->before + t * labels);
        double *swap = best;
        best = next;
        next = swap;
    }
    double most = -INFINITY;
    int32_t last = -1;
    for (int64_t l = 0; l < labels; l++) {
        double log_probability = best[l] + (sequence->end ? (double)sequence->end[l] : 0);
        if ((!open && !tagging->allowed[l * size + labels]) || !(log_probability > most)) continue;
        most = log_probability;
        last = (int32_t)l;
    }
    for (int64_t t = count - 1; t >= 0 && last >= 0; t--) {
        path[t] = last;
        if (t > 0) last = memory->before[t * labels + last];
    }
    return ATTN_OK;
}
