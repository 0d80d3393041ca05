/* conllu.c: CoNLL-U: ten columns per token, blank lines between sentences.
 *
 * A sentence is read line by line; its text is kept as the example's source. Words (1, 2, 3, ...) are tokens.
 * A range (2-3) says which words are written together: they are joined to each other, and the last one to
 * what follows if the range's own MISC has SpaceAfter=No. Empty nodes (2.1) are ignored.
 *
 * "_" is a missing value, but for a target FEATS, FEATS:Key or MISC:Key it is a value like any other: there
 * it means that the token has no features, or not this one.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/text/reader.h"

enum { ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC, FIELDS };

static const char *const field_names[FIELDS] = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};

typedef struct field {
    const char *text;
    size_t length;
} field;

typedef struct target {
    int field;
    const char *key; /* NULL: the whole field */
    size_t key_length;
} target;

typedef struct sentence {
    int64_t words;       /* read so far */
    int64_t first, last; /* the range that was read last; 0, 0: none */
    int range_glued;     /* its SpaceAfter=No */
    int64_t begin;       /* its first line; 0: not begun */
} sentence;

typedef struct conllu {
    at_reader *reader;
    target *targets;
    int64_t target_count;
    at_bytes source;
    sentence now;
} conllu;

/* ---- targets ---- */

static attn_status add_target(conllu *file, const char *name, size_t length) {
    at_reader *reader = file->reader;
    const char *colon = memchr(name, ':', length);
    size_t field_length = colon ? (size_t)(colon - name) : length;
    target *added = &file->targets[file->target_count];
    for (int f = LEMMA; f < FIELDS; f++) {
        if (!at_same_name(name, field_length, field_names[f], strlen(field_names[f]))) continue;
        if (colon && f != FEATS && f != MISC) break;
        added->field = f;
        if (colon) {
            added->key = colon + 1;
            added->key_length = length - field_length - 1;
            if (added->key_length == 0) break;
        }
        char full[256];
        size_t full_length = strlen(field_names[f]);
        memcpy(full, field_names[f], full_length);
        if (length - field_length > sizeof full - full_length) break;
        memcpy(full + full_length, name + field_length, length - field_length);
        file->target_count++;
        return at_strings_add(reader->context, &reader->dataset->columns, full,
                              full_length + length - field_length);
    }
    if (!reader->options.labelled) return ATTN_OK; /* what predicts may have learned from another format */
    return at_reader_fail(
        reader,
        "there is no column %.*s in CoNLL-U: it has LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, "
        "DEPS, MISC, and keys as in FEATS:Number or MISC:SpaceAfter",
        at_clip(name, length, 80), name);
}

static attn_status add_targets(conllu *file) {
    at_reader *reader = file->reader;
    int64_t count = reader->wanted.count;
    file->targets = at_allocate(reader->context, count ? count : 1, sizeof *file->targets, "target columns");
    if (file->targets == NULL) return ATTN_OUT_OF_MEMORY;
    if (count == 0) return add_target(file, "UPOS", 4);
    attn_status status = ATTN_OK;
    for (int64_t i = 0; status == ATTN_OK && i < count; i++)
        status = add_target(file, at_string(&reader->wanted, i), at_string_length(&reader->wanted, i));
    return status;
}

/* The value of a key in a list such as Case=Nom|Number=Sing. */
static field value_of_key(field list, const char *key, size_t key_length) {
    const char *at = list.text, *end = list.text + list.length;
    while (at < end) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        const char *stop = bar ? bar : end;
        if ((size_t)(stop - at) > key_length && at[key_length] == '=' && memcmp(at, key, key_length) == 0)
            return (field){at + key_length + 1, (size_t)(stop - at) - key_length - 1};
        at = bar ? bar + 1 : end;
    }
    return (field){"_", 1};
}

static attn_status add_values(conllu *file, const field *fields) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; status == ATTN_OK && i < file->target_count; i++) {
        const target *wanted = &file->targets[i];
        field value = fields[wanted->field];
        if (wanted->key) {
            value = value_of_key(value, wanted->key, wanted->key_length);
        } else if (wanted->field != FEATS && value.length == 1 && value.text[0] == '_') {
            value.length = 0;
        }
        status = at_reader_target(file->reader, value.text, value.length);
    }
    return status;
}

/* ---- token lines ---- */

/* Digits at *text; -1 if there are none or too many for a sentence. */
static int64_t read_number(const char **text, const char *end) {
    int64_t number = 0;
    const char *begin = *text;
    while (*text < end && **text >= '0' && **text <= '9') {
        if (*text - begin >= 9) return -1;
        number = number * 10 + (*(*text)++ - '0');
    }
    return *text > begin ? number : -1;
}

static int space_follows(const field *fields) {
    field value = value_of_key(fields[MISC], "SpaceAfter", 10);
    return !(value.length == 2 && memcmp(value.text, "No", 2) == 0);
}

static attn_status read_range(conllu *file, const field *fields, int64_t first, int64_t last, int64_t line) {
    sentence *now = &file->now;
    if (first != now->words + 1 || last < first || first <= now->last)
        return at_reader_bad(file->reader, line, "range %.*s after word %d", (int)fields[ID].length,
                             fields[ID].text, (int)now->words);
    now->first = first;
    now->last = last;
    now->range_glued = !space_follows(fields);
    return ATTN_OK;
}

static attn_status read_word(conllu *file, const field *fields, int64_t number, int64_t line) {
    sentence *now = &file->now;
    at_reader *reader = file->reader;
    if (number != now->words + 1)
        return at_reader_bad(reader, line, "ID %d after word %d: IDs count up from 1 in each sentence",
                             (int)number, (int)now->words);
    if (fields[FORM].length == 0) return at_reader_bad(reader, line, "word %d has no FORM", (int)number);
    now->words++;
    int glued = !space_follows(fields);
    if (number >= now->first && number < now->last) glued = 1;
    if (number == now->last) glued = now->range_glued;
    attn_status status = at_reader_token(reader, fields[FORM].text, fields[FORM].length, line, glued);
    if (status == ATTN_OK) status = add_values(file, fields);
    if (status != ATTN_OK || !at_reader_unlabelled(reader)) return status;
    return at_reader_bad(reader, line, "word %d has no %s", (int)number,
                         at_string(&reader->dataset->columns, 0));
}

static attn_status read_token_line(conllu *file, const at_line *line) {
    at_reader *reader = file->reader;
    field fields[FIELDS];
    int count = 0;
    const char *at = line->text, *end = line->text + line->length;
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if (count < FIELDS) fields[count] = (field){at, (size_t)((tab ? tab : end) - at)};
        count++;
        if (tab == NULL) break;
        at = tab + 1;
    }
    if (count != FIELDS)
        return at_reader_bad(reader, line->number, "%d column%s, a token line has 10 (with TABs between)",
                             count, count == 1 ? "" : "s");
    const char *id = fields[ID].text, *id_end = id + fields[ID].length;
    int64_t number = read_number(&id, id_end), second = -1;
    char kind = id < id_end ? *id : 0;
    if (id < id_end) {
        id++;
        second = read_number(&id, id_end);
    }
    if (number < 0 || id != id_end || (kind != 0 && ((kind != '-' && kind != '.') || second < 0)))
        return at_reader_bad(reader, line->number,
                             "the ID \"%.*s\" is invalid: it must be a number, a range 1-2 or 1.1",
                             at_clip(fields[ID].text, fields[ID].length, 40), fields[ID].text);
    if (kind == '.') return ATTN_OK;
    if (kind == '-') return read_range(file, fields, number, second, line->number);
    return read_word(file, fields, number, line->number);
}

/* ---- sentences ---- */

static attn_status read_line(conllu *file, const at_line *line) {
    at_reader *reader = file->reader;
    attn_status status = at_reader_check(reader, line->text, line->length, line->number);
    if (status == ATTN_OK) status = at_bytes_append(reader->context, &file->source, line->text, line->length);
    if (status == ATTN_OK) status = at_bytes_append(reader->context, &file->source, "\n", 1);
    if (status != ATTN_OK || line->text[0] == '#') return status;
    if (file->now.begin == 0) file->now.begin = line->number;
    return read_token_line(file, line);
}

static attn_status end_sentence(conllu *file) {
    sentence *now = &file->now;
    if (now->begin == 0) return ATTN_OK; /* nothing but comments */
    if (now->words < now->last)
        return at_reader_bad(file->reader, now->begin, "the sentence has %d words, and a range %d-%d",
                             (int)now->words, (int)now->first, (int)now->last);
    if (now->words == 0) return at_reader_bad(file->reader, now->begin, "the sentence has no words");
    return at_texts_end(file->reader->dataset, file->source.data, (size_t)file->source.count);
}

static attn_status read_sentences(conllu *file) {
    at_reader *reader = file->reader;
    at_line line;
    attn_status status = ATTN_OK;
    int more = 1, broken = 0; /* the rest of a bad sentence is skipped */
    while (status == ATTN_OK && more) {
        more = at_reader_line(reader, &line);
        if (more && !at_line_is_blank(&line)) {
            if (broken) continue;
            status = read_line(file, &line);
            broken = status != ATTN_OK;
        } else {
            if (!broken) status = end_sentence(file);
            broken = 0;
            file->source.count = 0;
            memset(&file->now, 0, sizeof file->now);
        }
        status = at_reader_settle(reader, status);
    }
    return status;
}

attn_status at_read_conllu(at_reader *reader) {
    conllu file = {.reader = reader};
    attn_status status = add_targets(&file);
    if (status == ATTN_OK) status = read_sentences(&file);
    at_release(reader->context, file.targets);
    at_bytes_free(reader->context, &file.source);
    return status;
}
