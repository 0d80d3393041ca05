/* parts.c: the split of a dataset into training, validation and test data. */
#include "data/parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/symbols/vocabulary.h"

/* ---- words ---- */

static const struct {
    const char *word;
    int part;
} words[] = {{"none", ATTN_PART_NONE}, {"train", ATTN_PART_TRAIN},    {"training", ATTN_PART_TRAIN},
             {"val", ATTN_PART_VAL},   {"valid", ATTN_PART_VAL},      {"validation", ATTN_PART_VAL},
             {"dev", ATTN_PART_VAL},   {"test", ATTN_PART_TEST},      {"testing", ATTN_PART_TEST},
             {"", ATTN_PART_NONE},     {"unlabelled", ATTN_PART_NONE}};
enum { WORDS = sizeof words / sizeof words[0] };
static const char *const names[] = {"none", "train", "val", "test"};

static int same_word(const char *word, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!word[i] || tolower((unsigned char)text[i]) != word[i]) return 0;
    return word[length] == 0;
}

int at_part_of(const char *word, size_t length, int letters) {
    for (int i = 0; i < WORDS; i++)
        if (same_word(words[i].word, word, length)) return words[i].part;
    if (!letters || length != 1) return -1;
    switch (*word) {
    case 't': return ATTN_PART_TRAIN;
    case 'v': return ATTN_PART_VAL;
    case 's': return ATTN_PART_TEST;
    case '-':
    case 'n': return ATTN_PART_NONE;
    default: return -1;
    }
}

int attn_part_find(const char *name) { return name ? at_part_of(name, strlen(name), 0) : -1; }
const char *attn_part_name(attn_part part) {
    return (int)part < ATTN_PART_NONE || (int)part > ATTN_PART_TEST ? NULL : names[part];
}

/* ---- columns ---- */

attn_status at_split_column(attn_context *context, const char *text, size_t *name_length, int64_t *number) {
    const char *colon = strrchr(text, ':');
    *name_length = colon ? (size_t)(colon - text) : strlen(text);
    *number = -1;
    if (!colon) return ATTN_OK;
    char *end;
    *number = strtoll(colon + 1, &end, 10);
    if (isdigit((unsigned char)colon[1]) && !*end && *number < 1000000) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "the split column is \"%.80s\": the number of the split, from 0, must follow the colon",
                   text);
}

int at_split_field(const char *field, size_t length, int64_t number, char *reason) {
    if (number >= 0 && (uint64_t)number >= length) {
        snprintf(reason, 200, "split %" PRId64 " is requested, but \"%.*s\" has %zu", number,
                 (int)(length < 60 ? length : 60), field, length);
        return -1;
    }
    int part = number < 0 ? at_part_of(field, length, 0) : at_part_of(field + number, 1, 1);
    if (part >= 0) return part;
    int several = number < 0 && length > 1;
    for (size_t i = 0; i < length; i++) several = several && at_part_of(field + i, 1, 1) >= 0;
    if (several)
        snprintf(reason, 200, "\"%.*s\" holds %zu splits: add a colon and its number (0 to %zu)",
                 (int)(length < 40 ? length : 40), field, length, length - 1);
    else
        snprintf(reason, 200, "\"%.*s\" is not train, val, test or none", (int)(length < 40 ? length : 40),
                 number < 0 ? field : field + number);
    return -1;
}

/* ---- a dataset's ---- */

static int64_t places_of(const attn_dataset *dataset) {
    return at_dataset_splits_rows(dataset) ? dataset->rows : dataset->examples;
}

attn_status at_dataset_add_part(attn_dataset *dataset, int part) {
    attn_status status = at_grow(dataset->context, &dataset->parts, &dataset->part_room,
                                 dataset->part_count + 1, sizeof *dataset->parts, "the parts of a dataset");
    if (status == ATTN_OK) dataset->parts[dataset->part_count++] = (unsigned char)part;
    return status;
}

attn_status at_dataset_leave_out(attn_dataset *dataset) {
    attn_status status =
        at_grow(dataset->context, &dataset->left_out, &dataset->left_out_room, dataset->left_out_count + 1,
                sizeof *dataset->left_out, "the examples left out");
    if (status != ATTN_OK) return status;
    dataset->left_out[dataset->left_out_count] = dataset->examples + dataset->left_out_count;
    dataset->left_out_count++;
    return ATTN_OK;
}

static void forget_parts(attn_dataset *dataset) { dataset->part_count = 0; }

int64_t attn_dataset_part_size(const attn_dataset *dataset, attn_part part) {
    int64_t count = 0;
    for (int64_t i = 0; dataset && i < dataset->part_count; i++) count += dataset->parts[i] == (int)part;
    return count;
}

attn_status attn_dataset_set_parts(attn_dataset *dataset, const int *parts) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; parts && i < places_of(dataset); i++)
        if (parts[i] < ATTN_PART_NONE || parts[i] > ATTN_PART_TEST)
            return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                           "parts[%" PRId64 "] is %d, not one of attn_part", i, parts[i]);
    forget_parts(dataset);
    for (int64_t i = 0; parts && i < places_of(dataset) && status == ATTN_OK; i++)
        status = at_dataset_add_part(dataset, parts[i]);
    return status;
}

/* ---- selecting ---- */

static attn_status select_examples(const attn_dataset *dataset, attn_part part, attn_dataset **selected) {
    int64_t *list = at_allocate(dataset->context, dataset->examples, sizeof *list, "the examples of a part");
    int64_t count = 0;
    if (!list) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < dataset->examples; e++)
        if (dataset->parts[e] == (int)part) list[count++] = e;
    attn_status status = attn_dataset_select(dataset, list, count, selected);
    at_release(dataset->context, list);
    return status;
}

static attn_status copy_list(attn_context *context, const at_strings *from, at_strings *to) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < from->count && status == ATTN_OK; i++)
        status = at_strings_add(context, to, at_string(from, i), at_string_length(from, i));
    return status;
}

/* All rows, with the targets of a part. */
static attn_status mask_rows(const attn_dataset *dataset, const unsigned char *parts, attn_part part,
                             attn_dataset *made) {
    attn_context *context = dataset->context;
    int64_t columns = dataset->columns.count;
    attn_status status = copy_list(context, &dataset->columns, &made->columns);
    if (status == ATTN_OK) status = copy_list(context, &dataset->ids, &made->ids);
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        for (int64_t row = dataset->offsets[e]; row < dataset->offsets[e + 1] && status == ATTN_OK; row++) {
            status = at_dataset_row(made, dataset->lines[row]);
            for (int64_t c = row * columns; c < (row + 1) * columns && status == ATTN_OK; c++) {
                const char *text = parts[row] == (int)part ? at_string(&dataset->targets, c) : "";
                status = at_strings_add(context, &made->targets, text, strlen(text));
            }
        }
        if (status == ATTN_OK) status = at_dataset_end(made);
    }
    return status;
}

/* A dataset of all rows with the targets of a part; the rows are those of `dataset`. */
static attn_status view_rows(const attn_dataset *dataset, const unsigned char *parts, attn_part part,
                             attn_dataset **selected) {
    attn_context *context = dataset->context;
    attn_dataset *made;
    attn_status status = at_dataset_create(context, attn_dataset_name(dataset), dataset->kind, NULL, &made);
    if (status != ATTN_OK) return status;
    made->content = dataset->content;
    made->borrowed = 1;
    made->format = dataset->format;
    made->per_row = 1;
    status = mask_rows(dataset, parts, part, made);
    if (status == ATTN_OK)
        *selected = made;
    else
        attn_dataset_destroy(made);
    return status;
}

attn_status attn_dataset_part(const attn_dataset *dataset, attn_part part, attn_dataset **selected) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    attn_context *context = dataset->context;
    if (!selected || !attn_part_name(part) || dataset->part_count != places_of(dataset))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       selected && attn_part_name(part)
                           ? "%.200s: has no split into training, validation and test data"
                           : "attn_dataset_part: selected is NULL, or there is no such part (%.200s)",
                       attn_dataset_name(dataset));
    if (attn_dataset_part_size(dataset, part) == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: its split has nothing for %s",
                       attn_dataset_name(dataset), attn_part_name(part));
    if (!at_dataset_splits_rows(dataset)) return select_examples(dataset, part, selected);
    return view_rows(dataset, dataset->parts, part, selected);
}

attn_status at_dataset_hold_rows(const attn_dataset *dataset, double held, attn_dataset **train,
                                 attn_dataset **dev) {
    attn_context *context = dataset->context;
    int64_t columns = dataset->columns.count, labelled = 0, taken = 0, seen = 0;
    unsigned char *parts = at_allocate(context, dataset->rows, 1, "the rows held out");
    if (!parts) return ATTN_OUT_OF_MEMORY;
    for (int64_t row = 0; row < dataset->rows; row++) {
        for (int64_t c = row * columns; c < (row + 1) * columns; c++)
            if (at_string(&dataset->targets, c)[0]) parts[row] = ATTN_PART_TRAIN;
        labelled += parts[row] == ATTN_PART_TRAIN;
    }
    int64_t wanted = (int64_t)(held * (double)labelled + 0.5);
    if (wanted > labelled - 1) wanted = labelled - 1; /* something is to be learned from, too */
    if (wanted < 1 && labelled > 1) wanted = 1;
    for (int64_t row = 0; row < dataset->rows; row++) { /* each subset is as likely as any other */
        if (parts[row] != ATTN_PART_TRAIN) continue;
        double draw = (double)(at_splitmix64((uint64_t)row ^ 0x686f6c64u) >> 11) / 9007199254740992.0;
        if (draw * (double)(labelled - seen) < (double)(wanted - taken)) {
            parts[row] = ATTN_PART_VAL;
            taken++;
        }
        seen++;
    }
    attn_dataset *first = NULL;
    attn_status status = view_rows(dataset, parts, ATTN_PART_TRAIN, &first);
    if (status == ATTN_OK) status = view_rows(dataset, parts, taken ? ATTN_PART_VAL : ATTN_PART_TRAIN, dev);
    at_release(context, parts);
    if (status == ATTN_OK)
        *train = first;
    else
        attn_dataset_destroy(first);
    return status;
}

/* ---- split files ---- */

static attn_status wrong_count(const attn_dataset *dataset, const char *name, int64_t words_there,
                               int64_t wanted) {
    return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                   "%.200s: has %" PRId64 " lines, %.200s has %" PRId64
                   " %s: a split file has a word for each",
                   name, words_there, attn_dataset_name(dataset), wanted,
                   at_dataset_splits_rows(dataset) ? "rows" : "examples");
}

attn_status at_parts_from_words(attn_dataset *dataset, const char *name, const char *bytes, size_t count) {
    int marked = count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0; /* a byte order mark */
    const char *at = bytes + (marked ? 3 : 0), *end = bytes + count;
    int64_t line = 0, skipped = 0, wanted = places_of(dataset) + dataset->left_out_count;
    attn_status status = ATTN_OK;
    if (dataset->skipped != dataset->left_out_count || (dataset->skipped && at_dataset_splits_rows(dataset)))
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: lines were left out of it: %.200s cannot be matched to the rest",
                       attn_dataset_name(dataset), name);
    forget_parts(dataset);
    for (; at < end && status == ATTN_OK; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        while (length && isspace((unsigned char)at[length - 1])) length--;
        int part = at_part_of(at, length, 0);
        if (part < 0 || length == 0) {
            forget_parts(dataset);
            return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                           "%.200s:%" PRId64 ": \"%.*s\" is not train, val, test or none", name, line + 1,
                           (int)(length < 40 ? length : 40), at);
        }
        if (skipped < dataset->left_out_count && dataset->left_out[skipped] == line)
            skipped++;
        else
            status = at_dataset_add_part(dataset, part);
        at = stop ? stop + 1 : end;
    }
    if (status == ATTN_OK && line != wanted) status = wrong_count(dataset, name, line, wanted);
    if (status != ATTN_OK) forget_parts(dataset);
    return status;
}

/* ---- draws ---- */

typedef struct ranked {
    uint64_t key;
    int64_t place;
} ranked;

static int by_key(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int part_at(int64_t rank, int64_t count) {
    if (rank < (8 * count + 5) / 10) return ATTN_PART_TRAIN;
    return rank < (9 * count + 5) / 10 ? ATTN_PART_VAL : ATTN_PART_TEST;
}

attn_status at_parts_random(attn_dataset *dataset, uint64_t draw) {
    int64_t count = places_of(dataset);
    ranked *list = at_allocate(dataset->context, count, sizeof *list, "a random split");
    attn_status status = list ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    forget_parts(dataset);
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        list[i] = (ranked){at_splitmix64(at_splitmix64(draw ^ 0x73706c6974u) ^ (uint64_t)i), i};
        status = at_dataset_add_part(dataset, ATTN_PART_NONE);
    }
    if (status == ATTN_OK && count) qsort(list, (size_t)count, sizeof *list, by_key);
    for (int64_t r = 0; r < count && status == ATTN_OK; r++)
        dataset->parts[list[r].place] = (unsigned char)part_at(r, count);
    at_release(dataset->context, list);
    return status;
}

typedef struct group {
    int64_t size, first;
} group;

/* The largest first; of equal ones the one that begins later, as is usual for scaffolds. */
static int by_size(const void *a, const void *b) {
    const group *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return (x->first < y->first) - (x->first > y->first);
}

/* Which part each group goes to, by the number of its key. */
static void place_groups(const group *groups, int64_t count, int64_t examples, const int64_t *number_of,
                         unsigned char *part_of) {
    int64_t train = 0, val = 0;
    for (int64_t g = 0; g < count; g++) {
        int part = ATTN_PART_TEST;
        if (10 * (train + groups[g].size) <= 8 * examples) {
            part = ATTN_PART_TRAIN;
            train += groups[g].size;
        } else if (10 * (train + val + groups[g].size) <= 9 * examples) {
            part = ATTN_PART_VAL;
            val += groups[g].size;
        }
        part_of[number_of[groups[g].first]] = (unsigned char)part;
    }
}

attn_status at_parts_by_group(attn_dataset *dataset, const at_strings *keys) {
    attn_context *context = dataset->context;
    at_vocabulary known = {.slot_count = 0};
    int64_t examples = dataset->examples, count = 0;
    int64_t *number_of = at_allocate(context, examples, sizeof *number_of, "a split by groups");
    group *groups = at_allocate(context, examples, sizeof *groups, "a split by groups");
    unsigned char *part_of = at_allocate(context, examples, 1, "a split by groups");
    attn_status status = number_of && groups && part_of ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < examples && status == ATTN_OK; e++) {
        status = at_vocabulary_add(context, &known, at_string(keys, e), at_string_length(keys, e), 1,
                                   &number_of[e]);
        if (status != ATTN_OK) break;
        if (number_of[e] == count) groups[count++].first = e;
        groups[number_of[e]].size++;
    }
    if (status == ATTN_OK) {
        if (count) qsort(groups, (size_t)count, sizeof *groups, by_size);
        place_groups(groups, count, examples, number_of, part_of);
        forget_parts(dataset);
    }
    for (int64_t e = 0; e < examples && status == ATTN_OK; e++)
        status = at_dataset_add_part(dataset, part_of[number_of[e]]);
    at_vocabulary_free(context, &known);
    at_release(context, number_of);
    at_release(context, groups);
    at_release(context, part_of);
    return status;
}
