/* overlap.c: inputs that occur in two datasets, and inputs that occur with different targets.
 *
 * Inputs are compared by 64-bit hashes: among a million examples, two different ones have the same hash with
 * probability 3e-8. The other data goes into a table, and the training data is compared with it, so that
 * memory depends on the smaller datasets.
 */
#include <string.h>

#include "base/memory.h"
#include "data/examine.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"

/* ---- hashes of examples ---- */

/* 0: the example is not compared. */
typedef struct print {
    uint64_t same, alike;
} print;

typedef struct printer {
    at_writer joined; /* the tokens of a sentence */
    char *folded;
    int64_t room;
} printer;

enum { SEED_SAME = 1, SEED_ALIKE = 2, SEED_TARGETS = 3 };

static uint64_t hash_text(const char *text, size_t length, uint64_t seed) {
    uint64_t hash = at_hash(text, length, seed);
    return hash ? hash : 1; /* 0 is a free place of a table */
}

/* The text of an example: as it is, or its tokens with spaces between them. */
static attn_status text_of(printer *by, const attn_dataset *dataset, int64_t example, const char **text,
                           size_t *length) {
    int64_t first = dataset->offsets[example], end = dataset->offsets[example + 1];
    if (end - first == 1) {
        *text = dataset->kind->row_name(dataset->content, first);
        *length = strlen(*text);
        return ATTN_OK;
    }
    by->joined.count = 0;
    for (int64_t row = first; row < end; row++) {
        const char *token = dataset->kind->row_name(dataset->content, row);
        if (row > first) at_put_char(&by->joined, ' ');
        at_put(&by->joined, token, strlen(token));
    }
    *text = by->joined.count ? by->joined.bytes : "";
    *length = (size_t)by->joined.count;
    return by->joined.status;
}

static attn_status print_example(printer *by, const attn_dataset *dataset, int64_t example, int alike,
                                 print *made) {
    int64_t first = dataset->offsets[example], end = dataset->offsets[example + 1];
    const char *text;
    size_t length;
    *made = (print){0, 0};
    if (first == end) return ATTN_OK;
    if (!dataset->kind->written) {
        uint64_t hash = dataset->kind->hash(dataset->content, first, end, SEED_SAME);
        made->same = hash ? hash : 1;
        return ATTN_OK;
    }
    attn_status status = text_of(by, dataset, example, &text, &length);
    if (status != ATTN_OK || strspn(text, " \t") == length) return status;
    made->same = hash_text(text, length, SEED_SAME);
    if (!alike) return ATTN_OK;
    status = at_grow(dataset->context, &by->folded, &by->room, 4 * (int64_t)length + 1, 1, "a text");
    if (status != ATTN_OK) return status;
    length = at_unicode_fold(text, length, 1, by->folded);
    if (length) made->alike = hash_text(by->folded, length, SEED_ALIKE);
    return ATTN_OK;
}

static void printer_free(attn_context *context, printer *by) {
    at_writer_free(&by->joined);
    at_release(context, by->folded);
}

/* ---- a table of hashes ---- */

typedef struct slot {
    uint64_t key, value; /* key 0: it is free */
} slot;

typedef struct table {
    slot *slots; /* open addressing; a power of two of them, at most half of them taken */
    uint64_t mask;
} table;

static attn_status table_create(attn_context *context, int64_t keys, table *made) {
    int64_t count = 16;
    while (count / 2 < keys) count *= 2;
    made->mask = (uint64_t)count - 1;
    made->slots = at_allocate(context, count, sizeof *made->slots, "a table of inputs");
    return made->slots ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* The place of a key, or the free one where it belongs. */
static slot *table_find(const table *in, uint64_t key) {
    uint64_t at = key & in->mask;
    while (in->slots[at].key && in->slots[at].key != key) at = (at + 1) & in->mask;
    return &in->slots[at];
}

/* ---- conflicts ---- */

/* Of the targets of an example; the last bit is 0. */
static uint64_t hash_targets(const attn_dataset *dataset, int64_t example) {
    int64_t columns = dataset->columns.count;
    int64_t first = dataset->per_row ? dataset->offsets[example] : example;
    int64_t end = dataset->per_row ? dataset->offsets[example + 1] : example + 1;
    uint64_t hash = SEED_TARGETS;
    for (int64_t i = first * columns; i < end * columns; i++)
        hash = at_hash(at_string(&dataset->targets, i), at_string_length(&dataset->targets, i), hash);
    return hash & ~UINT64_C(1);
}

attn_status at_count_conflicts(const attn_dataset *dataset, int64_t *conflicts) {
    attn_context *context = dataset->context;
    table inputs = {0};
    printer by = {.joined.context = context};
    int64_t count = 0;
    if (dataset->columns.count == 0 || dataset->examples < 2) {
        *conflicts = 0;
        return ATTN_OK;
    }
    if (dataset->examples > AT_MOST_COMPARED) {
        *conflicts = -1;
        return ATTN_OK;
    }
    attn_status status = table_create(context, dataset->examples, &inputs);
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        print made;
        status = print_example(&by, dataset, e, 0, &made);
        if (status != ATTN_OK || !made.same) continue;
        slot *at = table_find(&inputs, made.same);
        uint64_t targets = hash_targets(dataset, e);
        if (!at->key) {
            *at = (slot){made.same, targets};
        } else if (at->value != targets && !(at->value & 1)) {
            at->value |= 1; /* it is counted */
            count++;
        }
    }
    printer_free(context, &by);
    at_release(context, inputs.slots);
    if (status == ATTN_OK) *conflicts = count;
    return status;
}

/* ---- overlaps ---- */

typedef struct comparison {
    const attn_dataset *train;
    const attn_dataset *const *others;
    print *prints[2]; /* [examples] of the others */
    table wanted;     /* value 1: it is in the training data */
    printer by;
} comparison;

static void want(const table *in, uint64_t key) {
    if (key) table_find(in, key)->key = key;
}

static void meet(const table *in, uint64_t key) {
    slot *at = key ? table_find(in, key) : NULL;
    if (at && at->key) at->value = 1;
}

static int is_met(const table *in, uint64_t key) { return key && table_find(in, key)->value; }

static attn_status take_others(comparison *now) {
    attn_context *context = now->train->context;
    int64_t examples = 0;
    attn_status status = ATTN_OK;
    for (int i = 0; i < 2; i++) examples += now->others[i] ? now->others[i]->examples : 0;
    status = table_create(context, 2 * examples, &now->wanted);
    for (int i = 0; i < 2 && status == ATTN_OK; i++) {
        const attn_dataset *other = now->others[i];
        if (!other) continue;
        now->prints[i] = at_allocate(context, other->examples, sizeof(print), "a table of inputs");
        if (!now->prints[i]) return ATTN_OUT_OF_MEMORY;
        for (int64_t e = 0; e < other->examples && status == ATTN_OK; e++) {
            status = print_example(&now->by, other, e, 1, &now->prints[i][e]);
            want(&now->wanted, now->prints[i][e].same);
            want(&now->wanted, now->prints[i][e].alike);
        }
    }
    return status;
}

attn_status at_count_overlaps(const attn_dataset *train, const attn_dataset *const others[2],
                              attn_overlap overlaps[2]) {
    comparison now = {.train = train, .others = others, .by.joined.context = train->context};
    memset(overlaps, 0, 2 * sizeof *overlaps);
    if ((!others[0] && !others[1]) || at_dataset_splits_rows(train)) return ATTN_OK; /* nodes of one graph */
    attn_status status = take_others(&now);
    for (int64_t e = 0; e < train->examples && status == ATTN_OK; e++) {
        print made;
        status = print_example(&now.by, train, e, 1, &made);
        meet(&now.wanted, made.same);
        meet(&now.wanted, made.alike);
    }
    for (int i = 0; i < 2 && status == ATTN_OK; i++) {
        overlaps[i].examples = others[i] ? others[i]->examples : 0;
        for (int64_t e = 0; e < overlaps[i].examples; e++) {
            int same = is_met(&now.wanted, now.prints[i][e].same);
            overlaps[i].same += same;
            overlaps[i].alike += !same && is_met(&now.wanted, now.prints[i][e].alike);
        }
    }
    for (int i = 0; i < 2; i++) at_release(train->context, now.prints[i]);
    printer_free(train->context, &now.by);
    at_release(train->context, now.wanted.slots);
    return status;
}
