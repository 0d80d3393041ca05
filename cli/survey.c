/* survey.c: what is in a dataset, in numbers. */
#include "survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_bytes(const char *bytes, size_t length, uint64_t hash) {
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}
static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

/* A table with open addressing for `count` things: at least twice as many slots, a power of two, each -1. */
static int64_t *make_slots(int64_t count, uint64_t *mask) {
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)count) slots *= 2;
    int64_t *made = slots <= SIZE_MAX / sizeof *made ? malloc(slots * sizeof *made) : NULL;
    for (uint64_t i = 0; made != NULL && i < slots; i++) made[i] = -1;
    *mask = slots - 1;
    return made;
}

/* ---- classes ---- */

typedef struct tally {
    survey_class *classes;
    int64_t count, room;
    int64_t *slots;
    uint64_t mask;
} tally;

static int64_t *find_slot(const tally *all, const char *label, size_t length) {
    uint64_t at = hash_bytes(label, length, hash_start) & all->mask;
    for (;; at = (at + 1) & all->mask) {
        int64_t class_number = all->slots[at];
        if (class_number < 0) return &all->slots[at];
        const survey_class *known = &all->classes[class_number];
        if (known->length == length && memcmp(known->label, label, length) == 0) return &all->slots[at];
    }
}

static bool grow(tally *all) {
    int64_t room = all->room ? 2 * all->room : 64;
    survey_class *classes = realloc(all->classes, (size_t)room * sizeof *classes);
    if (classes == NULL) return false;
    all->classes = classes;
    all->room = room;
    free(all->slots);
    all->slots = make_slots(room, &all->mask);
    if (all->slots == NULL) return false;
    for (int64_t i = 0; i < all->count; i++) *find_slot(all, classes[i].label, classes[i].length) = i;
    return true;
}

static bool count_label(tally *all, const char *label, size_t length) {
    if (all->count == all->room && !grow(all)) return false;
    int64_t *slot = find_slot(all, label, length);
    if (*slot < 0) {
        *slot = all->count;
        all->classes[all->count++] = (survey_class){label, length, 0};
    }
    all->classes[*slot].count++;
    return true;
}

static int by_count(const void *left, const void *right) {
    const survey_class *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    int order = memcmp(a->label, b->label, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* A number as one would write it: no infinities, no hexadecimal. */
static bool read_number(const char *text, double *number) {
    char *end;
    if (text[strspn(text, "+-.0123456789eE")] != 0) return false;
    *number = strtod(text, &end);
    return *end == 0 && end != text && isfinite(*number);
}

/* One value: its labels are counted, with '\n' between several. */
static bool take_value(survey_column *column, tally *all, const char *value) {
    double number;
    if (*value == 0) {
        column->missing++;
        return true;
    }
    column->values++;
    column->several += strchr(value, '\n') != NULL;
    column->numbers = column->numbers && read_number(value, &number);
    if (column->numbers) {
        if (column->values == 1 || number < column->least) column->least = number;
        if (column->values == 1 || number > column->most) column->most = number;
        column->mean += number;
    }
    for (;;) {
        size_t length = strcspn(value, "\n");
        if (!count_label(all, value, length)) return false;
        if (value[length] == 0) return true;
        value += length + 1;
    }
}

static bool take_column(const attn_dataset *dataset, int number, survey_column *column) {
    tally all = {0};
    bool done = true;
    column->name = attn_dataset_column(dataset, number);
    column->numbers = true;
    for (int64_t e = 0; done && e < attn_dataset_examples(dataset); e++) {
        for (int64_t t = 0; done && t < attn_dataset_tokens(dataset, e); t++)
            done = take_value(column, &all, attn_dataset_target(dataset, number, e, t));
    }
    free(all.slots);
    column->classes = all.classes;
    column->class_count = all.count;
    if (column->values == 0) column->numbers = false;
    if (column->numbers) column->mean /= (double)column->values;
    if (all.count > 0) qsort(all.classes, (size_t)all.count, sizeof *all.classes, by_count);
    for (int64_t i = 0; i < all.count; i++) column->once += all.classes[i].count == 1;
    return done;
}

/* ---- lengths ---- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int64_t count_characters(const char *text) {
    int64_t count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static int64_t count_words(const char *text) {
    int64_t count = 0;
    for (bool inside = false; *text; text++) {
        if (!is_space(*text) && !inside) count++;
        inside = !is_space(*text);
    }
    return count;
}

static int by_number(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Sorts them. */
static survey_length describe(int64_t *lengths, int64_t count) {
    double sum = 0;
    qsort(lengths, (size_t)count, sizeof *lengths, by_number);
    for (int64_t i = 0; i < count; i++) sum += (double)lengths[i];
    return (survey_length){.least = lengths[0],
                           .most = lengths[count - 1],
                           .median = ((double)lengths[(count - 1) / 2] + (double)lengths[count / 2]) / 2,
                           .mean = sum / (double)count};
}

typedef enum side { SOURCE, TARGET } side;

/* A text, or the text that is to be made of it. */
static const char *text_of(const attn_dataset *dataset, int64_t example, side which) {
    return which == SOURCE ? attn_dataset_token(dataset, example, 0)
                           : attn_dataset_target(dataset, 0, example, 0);
}

/* The lengths of texts; how many are empty. `lengths` has room for all examples. */
static int64_t measure_texts(const attn_dataset *dataset, side which, int64_t *lengths,
                             survey_length *characters, survey_length *words) {
    int64_t count = attn_dataset_examples(dataset), empty = 0;
    for (int64_t e = 0; e < count; e++) lengths[e] = count_characters(text_of(dataset, e, which));
    *characters = describe(lengths, count);
    for (int64_t e = 0; e < count; e++) {
        lengths[e] = count_words(text_of(dataset, e, which));
        empty += lengths[e] == 0;
    }
    *words = describe(lengths, count);
    return empty;
}

static bool take_lengths(const attn_dataset *dataset, survey *result) {
    int64_t count = result->examples;
    int64_t *lengths = malloc((size_t)count * sizeof *lengths);
    if (lengths == NULL) return false;
    for (int64_t e = 0; e < count; e++) result->tokens += lengths[e] = attn_dataset_tokens(dataset, e);
    if (attn_dataset_tokenized(dataset))
        result->lengths = describe(lengths, count);
    else
        result->empty = measure_texts(dataset, SOURCE, lengths, &result->lengths, &result->words);
    if (attn_dataset_format(dataset) == ATTN_FORMAT_PAIRS)
        measure_texts(dataset, TARGET, lengths, &result->target_lengths, &result->target_words);
    free(lengths);
    return true;
}

/* ---- pairs ---- */

/* Counts characters, or words, of a text. */
static bool count_parts(tally *all, const char *text, bool words) {
    while (*text) {
        const char *begin = text++;
        if (words && is_space(*begin)) continue;
        while (*text && (words ? !is_space(*text) : ((unsigned char)*text & 0xc0) == 0x80)) text++;
        if (!count_label(all, begin, (size_t)(text - begin))) return false;
    }
    return true;
}

/* How many different parts the texts have, and how many of them occur once. */
static bool count_different(const attn_dataset *dataset, side which, bool words, int64_t *different,
                            int64_t *once) {
    tally all = {0};
    bool done = true;
    for (int64_t e = 0; done && e < attn_dataset_examples(dataset); e++)
        done = count_parts(&all, text_of(dataset, e, which), words);
    *different = all.count;
    for (int64_t i = 0; i < all.count; i++) *once += all.classes[i].count == 1;
    free(all.slots);
    free(all.classes);
    return done;
}

static bool count_symbols(const attn_dataset *dataset, side which, survey_symbols *symbols) {
    return count_different(dataset, which, false, &symbols->characters, &symbols->characters_once) &&
           count_different(dataset, which, true, &symbols->words, &symbols->words_once);
}

/* Pairs where one side is much longer than the other, beside what is usual in this file. */
static void find_uneven(const attn_dataset *dataset, survey *result) {
    enum { FEW = 10 }; /* so many characters more or less say nothing */
    if (result->lengths.median <= 0 || result->target_lengths.median <= 0) return;
    double usual = result->target_lengths.median / result->lengths.median; /* what a few cannot shift */
    for (int64_t e = 0; e < result->examples; e++) {
        double expected = usual * (double)count_characters(text_of(dataset, e, SOURCE));
        double found = (double)count_characters(text_of(dataset, e, TARGET));
        if (found <= SURVEY_UNEVEN * expected && expected <= SURVEY_UNEVEN * found) continue;
        if (fabs(found - expected) <= FEW) continue;
        if (result->uneven < SURVEY_PAIRS)
            result->uneven_lines[result->uneven] = attn_dataset_line(dataset, e, 0);
        result->uneven++;
    }
}

static bool take_pairs(const attn_dataset *dataset, survey *result) {
    find_uneven(dataset, result);
    return count_symbols(dataset, SOURCE, &result->symbols) &&
           count_symbols(dataset, TARGET, &result->target_symbols);
}

/* ---- what stands twice ---- */

static uint64_t hash_input(const attn_dataset *dataset, int64_t example) {
    uint64_t hash = hash_start;
    for (int64_t t = 0; t < attn_dataset_tokens(dataset, example); t++) {
        const char *token = attn_dataset_token(dataset, example, t);
        hash = hash_bytes(token, strlen(token) + 1, hash);
    }
    return hash;
}

static bool same_input(const attn_dataset *dataset, int64_t a, int64_t b) {
    int64_t tokens = attn_dataset_tokens(dataset, a);
    if (tokens != attn_dataset_tokens(dataset, b)) return false;
    for (int64_t t = 0; t < tokens; t++) {
        if (strcmp(attn_dataset_token(dataset, a, t), attn_dataset_token(dataset, b, t)) != 0) return false;
    }
    return true;
}

/* The first token where the targets of two examples with the same input differ; -1: nowhere. */
static int64_t first_difference(const attn_dataset *dataset, int64_t a, int64_t b) {
    for (int64_t t = 0; t < attn_dataset_tokens(dataset, a); t++) {
        for (int c = 0; c < attn_dataset_columns(dataset); c++) {
            if (strcmp(attn_dataset_target(dataset, c, a, t), attn_dataset_target(dataset, c, b, t)) != 0)
                return t;
        }
    }
    return -1;
}

enum { REPEATED = 1, CONTRADICTED = 2 }; /* what is known of the first example with an input */

/* Compares an example with the first that has the same input. */
static void compare(const attn_dataset *dataset, int64_t first, int64_t example, unsigned char *known,
                    survey *result) {
    result->repeated += !(known[first] & REPEATED);
    known[first] |= REPEATED;
    int64_t token = first_difference(dataset, first, example);
    if (token < 0) {
        result->duplicates++;
        return;
    }
    if (known[first] & CONTRADICTED) return;
    known[first] |= CONTRADICTED;
    if (result->contradictions < SURVEY_PAIRS) {
        result->lines[result->contradictions][0] = attn_dataset_line(dataset, first, token);
        result->lines[result->contradictions][1] = attn_dataset_line(dataset, example, token);
    }
    result->contradictions++;
}

static bool find_doubles(const attn_dataset *dataset, survey *result) {
    uint64_t mask;
    int64_t *slots = make_slots(result->examples, &mask);
    unsigned char *known = calloc((size_t)result->examples, sizeof *known);
    bool done = slots != NULL && known != NULL;
    for (int64_t e = 0; done && e < result->examples; e++) {
        if (!attn_dataset_tokenized(dataset) && count_words(attn_dataset_token(dataset, e, 0)) == 0) continue;
        uint64_t at = hash_input(dataset, e) & mask;
        while (slots[at] >= 0 && !same_input(dataset, slots[at], e)) at = (at + 1) & mask;
        if (slots[at] < 0)
            slots[at] = e;
        else
            compare(dataset, slots[at], e, known, result);
    }
    free(slots);
    free(known);
    return done;
}

bool survey_take(const attn_dataset *dataset, survey *result) {
    memset(result, 0, sizeof *result);
    result->examples = attn_dataset_examples(dataset);
    bool pairs = attn_dataset_format(dataset) == ATTN_FORMAT_PAIRS;
    result->columns = pairs ? 0 : attn_dataset_columns(dataset);
    result->column = calloc((size_t)result->columns + 1, sizeof *result->column);
    bool done = result->column != NULL && take_lengths(dataset, result) && find_doubles(dataset, result);
    if (done && pairs) done = take_pairs(dataset, result);
    for (int c = 0; done && c < result->columns; c++) done = take_column(dataset, c, &result->column[c]);
    if (!done) survey_free(result);
    return done;
}

void survey_free(survey *result) {
    for (int c = 0; result->column != NULL && c < result->columns; c++) free(result->column[c].classes);
    free(result->column);
    memset(result, 0, sizeof *result);
}
