/* conllu_fill.c: predictions in the columns of CoNLL-U; everything else is unchanged.
 *
 * An output is named after the column it was learned from: UPOS, FEATS, ... is a whole field, FEATS:Key and
 * MISC:Key one entry of a list. Any other name (the model may have learned from another format) becomes an
 * entry of MISC, and so do probabilities: Prob=0.93, or Prob:NAME=0.93 if there are several outputs.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/text/reader.h"
#include "inputs/text/text.h"

enum { FEATS = 5, MISC = 9, FIELDS = 10 };
static const char *const field_names[FIELDS] = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};

/* An entry to put into a list. */
typedef struct entry {
    int field, output;
    int probability; /* of the prediction, not the prediction itself */
    int there;       /* the list has one with this key */
    char prob_key[128];
    const char *key;
    at_writer value; /* "_": to be taken out */
} entry;

/* Where the predictions of an output go. */
static int place_of(const char *name, const char **key) {
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    for (int f = 2; f < FIELDS; f++) {
        if (!at_same_name(field_names[f], strlen(field_names[f]), name, length)) continue;
        if (colon != NULL && f != FEATS && f != MISC) break;
        *key = colon != NULL ? colon + 1 : NULL;
        return f;
    }
    *key = name;
    return MISC;
}

static void put_entry(at_writer *writer, const entry *one, int *first) {
    if (one->value.count == 0 || strcmp(one->value.bytes, "_") == 0) return; /* none of several labels, too */
    if (!*first) at_put_char(writer, '|');
    *first = 0;
    at_put_text(writer, one->key);
    at_put_char(writer, '=');
    at_put(writer, one->value.bytes, (size_t)one->value.count);
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

/* The order of names, whatever the case of their ASCII letters. */
static int compare_names(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; i++) {
        int x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x >= 'A' && x <= 'Z') x += 'a' - 'A';
        if (y >= 'A' && y <= 'Z') y += 'a' - 'A';
        if (x != y || x == 0) return x - y;
    }
    return 0;
}

/* A list with its entries replaced, new ones in their place by name (FEATS) or at the end. */
static void put_list(at_writer *writer, int field, const char *list, size_t length, entry *entries,
                     int count) {
    const char *end = list + length, *next;
    int first = 1;
    if (length == 1 && list[0] == '_') list = end;
    for (int i = 0; i < count; i++) entries[i].there = 0;
    for (const char *item = list; item < end; item = next + 1) {
        next = memchr(item, '|', (size_t)(end - item));
        if (next == NULL) next = end;
        entry *found = find_entry(entries, count, field, item, (size_t)(next - item));
        if (found != NULL) found->there = 1;
    }
    for (const char *item = list; item < end; item = next + 1) {
        next = memchr(item, '|', (size_t)(end - item));
        if (next == NULL) next = end;
        size_t item_length = (size_t)(next - item), key = 0;
        while (key < item_length && item[key] != '=') key++;
        for (int i = 0; field == FEATS && i < count; i++) {
            if (entries[i].field != field || entries[i].there) continue;
            int order = compare_names(entries[i].key, item, key);
            if (order > 0 || (order == 0 && strlen(entries[i].key) > key)) continue;
            put_entry(writer, &entries[i], &first);
            entries[i].there = 1;
        }
        entry *found = find_entry(entries, count, field, item, item_length);
        if (found != NULL) {
            put_entry(writer, found, &first);
        } else {
            if (!first) at_put_char(writer, '|');
            first = 0;
            at_put_raw(writer, item, item_length);
        }
    }
    for (int i = 0; i < count; i++)
        if (entries[i].field == field && !entries[i].there) put_entry(writer, &entries[i], &first);
    if (first) at_put_char(writer, '_');
}

typedef struct filling {
    const at_cells *cells;
    at_writer *writer;
    int whole[FIELDS];  /* the output that is the whole field, -1: none */
    int listed[FIELDS]; /* entries go there */
    entry *entries;
    int count;
} filling;

/* The prediction as a whole field; none of several labels is "_", as a field is never empty. */
static void put_whole(filling *work, int output, int64_t example, int64_t word) {
    int64_t before = work->writer->count;
    work->cells->put(work->cells, output, example, word, work->writer);
    if (work->writer->count == before) at_put_char(work->writer, '_');
}

/* One token line without its end. */
static void fill_line(filling *work, const char *line, size_t length, int64_t example, int64_t word) {
    at_writer *writer = work->writer;
    for (int i = 0; i < work->count; i++) {
        entry *one = &work->entries[i];
        one->value.count = 0;
        one->value.terminal = writer->terminal;
        (one->probability ? work->cells->put_probability : work->cells->put)(work->cells, one->output,
                                                                             example, word, &one->value);
        if (one->value.status != ATTN_OK) writer->status = one->value.status;
    }
    const char *at = line, *end = line + length;
    for (int f = 0; f < FIELDS; f++) {
        const char *tab = f + 1 < FIELDS ? memchr(at, '\t', (size_t)(end - at)) : NULL;
        const char *stop = tab != NULL ? tab : end;
        if (work->whole[f] >= 0)
            put_whole(work, work->whole[f], example, word);
        else if (work->listed[f])
            put_list(writer, f, at, (size_t)(stop - at), work->entries, work->count);
        else
            at_put_raw(writer, at, (size_t)(stop - at));
        if (tab == NULL) break;
        at_put_char(writer, '\t');
        at = tab + 1;
    }
}

/* Whether a line is one of a word, whose ID is a number and no range. */
static int is_word(const char *line, size_t length) {
    size_t digits = 0;
    while (digits < length && line[digits] >= '0' && line[digits] <= '9') digits++;
    return digits > 0 && digits < length && line[digits] == '\t';
}

/* *example and *word say where the first token of the lines is, and are moved on past the last. */
static void fill_lines(filling *work, int64_t examples, const char *lines, size_t length, int64_t *example,
                       int64_t *word) {
    const char *end = lines + length, *next;
    for (const char *line = lines; line < end; line = next) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        const char *stop = feed != NULL ? feed : end;
        next = feed != NULL ? feed + 1 : end;
        if (stop > line && stop[-1] == '\r') stop--;
        size_t bytes = (size_t)(stop - line);
        while (*example < examples && *word >= work->cells->rows(work->cells, *example)) {
            ++*example;
            *word = 0;
        }
        if (is_word(line, bytes) && *example < examples)
            fill_line(work, line, bytes, *example, (*word)++);
        else
            at_put_raw(work->writer, line, bytes);
        at_put(work->writer, stop, (size_t)(next - stop));
    }
}

/* Where the predictions of each output go. */
static void place_outputs(filling *work) {
    const at_cells *cells = work->cells;
    for (int f = 0; f < FIELDS; f++) work->whole[f] = -1;
    for (int o = 0; o < cells->outputs; o++) {
        const char *key, *name = cells->name(cells, o);
        int field = place_of(name, &key);
        if (key == NULL) {
            work->whole[field] = o;
        } else {
            work->entries[work->count++] = (entry){.field = field, .output = o, .key = key};
            work->listed[field] = 1;
        }
        if (!cells->likely(cells, o)) continue;
        entry *added = &work->entries[work->count++];
        *added = (entry){.field = MISC, .output = o, .probability = 1, .key = added->prob_key};
        snprintf(added->prob_key, sizeof added->prob_key, cells->outputs > 1 ? "Prob:%s" : "Prob", name);
        work->listed[MISC] = 1;
    }
    for (int i = 0; i < work->count; i++) work->entries[i].value.context = work->writer->context;
}

attn_status at_conllu_fill(const attn_dataset *dataset, const char *lines, size_t length,
                           const at_cells *cells, at_writer *writer, int *filled) {
    attn_context *context = writer->context;
    filling work = {.cells = cells, .writer = writer};
    int64_t example = 0, word = 0;
    *filled = cells->per_row;
    for (int64_t e = 0; e < dataset->examples && *filled; e++)
        *filled = cells->rows(cells, e) == attn_dataset_rows(dataset, e);
    if (!*filled) return ATTN_OK;
    work.entries = at_allocate(context, 2 * cells->outputs, sizeof *work.entries, "the columns of CoNLL-U");
    if (!work.entries) return ATTN_OUT_OF_MEMORY;
    place_outputs(&work);
    if (lines) fill_lines(&work, dataset->examples, lines, length, &example, &word);
    for (int64_t e = 0; !lines && e < dataset->examples; e++) {
        const char *source = attn_dataset_source(dataset, e);
        fill_lines(&work, dataset->examples, source, strlen(source), &example, &word);
        at_put_char(writer, '\n');
    }
    for (int i = 0; i < work.count; i++) at_writer_free(&work.entries[i].value);
    at_release(context, work.entries);
    return writer->status;
}
