/* answers_fill.c: answers in the columns of CoNLL-U, everything else as it was.
 *
 * An output is named after the column it was learned from: UPOS, FEATS, ... is a whole field, FEATS:Key and
 * MISC:Key one entry of a list. Any other name (the model may have learned from another format) becomes an
 * entry of MISC, and so do probabilities: Prob=0.93, or Prob:NAME=0.93 where there are several outputs.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream, strncasecmp */

#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "text.h"

enum { FEATS = 5, MISC = 9, FIELDS = 10 };
static const char *const field_names[FIELDS] = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};

/* An entry to put into a list. */
typedef struct entry {
    int field, output;
    bool probability; /* of the answer, not the answer itself */
    bool there;       /* the list has one with this key */
    char prob_key[128];
    const char *key;
    char *value; /* "_": to be taken out */
} entry;

/* Where the answers of an output go. */
static int place_of(const char *name, const char **key) {
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    for (int f = 2; f < FIELDS; f++) {
        if (strlen(field_names[f]) != length || strncasecmp(field_names[f], name, length) != 0) continue;
        if (colon != NULL && f != FEATS && f != MISC) break;
        *key = colon != NULL ? colon + 1 : NULL;
        return f;
    }
    *key = name;
    return MISC;
}

static void put_raw(const answers *how, const char *text, size_t length) {
    char *copy = how->terminal ? malloc(length + 1) : NULL;
    if (copy == NULL) {
        if (!how->terminal) fwrite(text, 1, length, stdout);
        return;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    text_print(stdout, copy);
    free(copy);
}

static void put_entry(const answers *how, const entry *one, bool *first) {
    if (strcmp(one->value, "_") == 0) return;
    if (!*first) putchar('|');
    *first = false;
    answers_text(how, stdout, one->key);
    putchar('=');
    fputs(one->value, stdout);
}

/* The entry with the key of the item "Key=Value" of a list, NULL if there is none. */
static entry *find_entry(entry *entries, int count, int field, const char *item, size_t length) {
    for (int i = 0; i < count; i++) {
        size_t key = strlen(entries[i].key);
        if (entries[i].field == field && key < length && item[key] == '=' &&
            memcmp(entries[i].key, item, key) == 0)
            return &entries[i];
    }
    return NULL;
}

/* A list with its entries replaced, new ones in their place by name (FEATS) or at the end. */
static void put_list(const answers *how, int field, const char *list, size_t length, entry *entries,
                     int count) {
    const char *end = list + length, *next;
    bool first = true;
    if (length == 1 && list[0] == '_') list = end;
    for (int i = 0; i < count; i++) entries[i].there = false;
    for (const char *item = list; item < end; item = next + 1) {
        next = memchr(item, '|', (size_t)(end - item));
        if (next == NULL) next = end;
        entry *found = find_entry(entries, count, field, item, (size_t)(next - item));
        if (found != NULL) found->there = true;
    }
    for (const char *item = list; item < end; item = next + 1) {
        next = memchr(item, '|', (size_t)(end - item));
        if (next == NULL) next = end;
        size_t item_length = (size_t)(next - item), key = 0;
        while (key < item_length && item[key] != '=') key++;
        for (int i = 0; field == FEATS && i < count; i++) {
            if (entries[i].field != field || entries[i].there) continue;
            int order = strncasecmp(entries[i].key, item, key);
            if (order > 0 || (order == 0 && strlen(entries[i].key) > key)) continue;
            put_entry(how, &entries[i], &first);
            entries[i].there = true;
        }
        entry *found = find_entry(entries, count, field, item, item_length);
        if (found != NULL) {
            put_entry(how, found, &first);
        } else {
            if (!first) putchar('|');
            first = false;
            put_raw(how, item, item_length);
        }
    }
    for (int i = 0; i < count; i++)
        if (entries[i].field == field && !entries[i].there) put_entry(how, &entries[i], &first);
    if (first) putchar('_');
}

/* An answer, or its probability, as text; NULL without memory. */
static char *value_of(const answers *how, const attn_prediction *prediction, const entry *one,
                      int64_t example, int64_t word) {
    char *value = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&value, &length);
    if (file == NULL) return NULL;
    if (one->probability) {
        int64_t label = attn_prediction_class(prediction, one->output, example, word);
        fprintf(file, "%.4f", attn_prediction_probability(prediction, one->output, example, word, label));
    } else {
        answers_cell(how, file, prediction, one->output, example, word, NULL);
    }
    if (fclose(file) == 0) return value;
    free(value);
    return NULL;
}

typedef struct filling {
    const answers *how;
    const attn_prediction *prediction;
    int whole[FIELDS];   /* the output that answers the whole field, -1: none */
    bool listed[FIELDS]; /* entries go there */
    entry *entries;
    int count;
} filling;

/* One token line without its end. */
static bool fill_line(filling *work, const char *line, size_t length, int64_t example, int64_t word) {
    bool good = true;
    for (int i = 0; i < work->count; i++) {
        work->entries[i].value = value_of(work->how, work->prediction, &work->entries[i], example, word);
        good = good && work->entries[i].value != NULL;
    }
    const char *at = line, *end = line + length;
    for (int f = 0; good && f < FIELDS; f++) {
        const char *tab = f + 1 < FIELDS ? memchr(at, '\t', (size_t)(end - at)) : NULL;
        const char *stop = tab != NULL ? tab : end;
        if (work->whole[f] >= 0)
            answers_cell(work->how, stdout, work->prediction, work->whole[f], example, word, NULL);
        else if (work->listed[f])
            put_list(work->how, f, at, (size_t)(stop - at), work->entries, work->count);
        else
            put_raw(work->how, at, (size_t)(stop - at));
        if (tab == NULL) break;
        putchar('\t');
        at = tab + 1;
    }
    for (int i = 0; i < work->count; i++) free(work->entries[i].value);
    return good;
}

/* Whether a line is one of a word, whose ID is a number and no range. */
static bool is_word(const char *line, size_t length) {
    size_t digits = 0;
    while (digits < length && line[digits] >= '0' && line[digits] <= '9') digits++;
    return digits > 0 && digits < length && line[digits] == '\t';
}

static bool fill_lines(filling *work, const char *lines, size_t length, int64_t *example, int64_t *word) {
    const char *end = lines + length, *next;
    for (const char *line = lines; line < end; line = next) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        const char *stop = feed != NULL ? feed : end;
        next = feed != NULL ? feed + 1 : end;
        if (stop > line && stop[-1] == '\r') stop--;
        size_t bytes = (size_t)(stop - line);
        if (is_word(line, bytes)) {
            while (*word >= attn_prediction_units(work->prediction, *example) &&
                   *example < attn_prediction_examples(work->prediction)) {
                ++*example;
                *word = 0;
            }
            if (!fill_line(work, line, bytes, *example, (*word)++)) return false;
        } else {
            put_raw(work->how, line, bytes);
        }
        fwrite(stop, 1, (size_t)(next - stop), stdout);
    }
    return true;
}

bool answers_fill(const answers *how, const attn_prediction *prediction, const char *lines, size_t length,
                  int64_t *example, int64_t *word) {
    int outputs = attn_model_outputs(how->model);
    filling work = {.how = how, .prediction = prediction};
    work.entries = calloc(2 * (size_t)outputs, sizeof *work.entries);
    if (work.entries == NULL) return false;
    for (int f = 0; f < FIELDS; f++) work.whole[f] = -1;
    for (int o = 0; o < outputs; o++) {
        const char *key, *name = attn_model_output_name(how->model, o);
        int field = place_of(name, &key);
        if (key == NULL) {
            work.whole[field] = o;
        } else {
            work.entries[work.count++] = (entry){.field = field, .output = o, .key = key};
            work.listed[field] = true;
        }
        if (!how->probabilities || attn_model_output_kind(how->model, o) != ATTN_OUTPUT_CLASS) continue;
        entry *added = &work.entries[work.count++];
        *added = (entry){.field = MISC, .output = o, .probability = true, .key = added->prob_key};
        snprintf(added->prob_key, sizeof added->prob_key, outputs > 1 ? "Prob:%s" : "Prob", name);
        work.listed[MISC] = true;
    }
    bool good = fill_lines(&work, lines, length, example, word);
    free(work.entries);
    return good;
}
