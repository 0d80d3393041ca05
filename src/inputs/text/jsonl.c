/* jsonl.c: one JSON object per line: a text with its labels, tokens with their tags, or a source with its
 * target.
 *
 * The first object determines the fields, as a header does for a table: the requested ones, else those with a
 * usual name (detect.c). Null and absent fields are missing.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "inputs/text/reader.h"

typedef struct jsonl {
    at_reader *reader;
    at_strings text; /* one string: the name of the field that holds the text, or the tokens */
    int pairs;       /* objects are sources with their targets */
} jsonl;

/* ---- values ---- */

/* A number, true or false as text, a string as it is; NULL for anything else. */
static const char *scalar(const json_t *value, char *room, size_t size) {
    switch (json_typeof(value)) {
    case JSON_STRING: return json_string_value(value);
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_INTEGER: snprintf(room, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); return room;
    case JSON_REAL:
        for (int digits = 1; digits <= 17; digits++) { /* as few as give the same number again */
            double number = json_real_value(value), again;
            snprintf(room, size, "%.*g", digits, number);
            if (sscanf(room, "%lf", &again) == 1 && again == number) break;
        }
        return room;
    default: return NULL;
    }
}

static attn_status bad_value(at_reader *reader, int64_t line, const char *field, const char *wanted) {
    return at_reader_bad(reader, line, "the field %.*s is not %s", at_clip(field, strlen(field), 80), field,
                         wanted);
}

/* One value of a target: a label, or a list of labels. */
static attn_status add_value(at_reader *reader, const json_t *value, const char *field, int64_t line) {
    static const char wanted[] = "a label: a string, a number, true, false, null, or a list of them";
    char room[64];
    attn_status status;
    if (!value || json_is_null(value)) return at_reader_add(reader, &reader->dataset->targets, "", 0);
    if (!json_is_array(value)) {
        const char *text = scalar(value, room, sizeof room);
        if (!text) return bad_value(reader, line, field, wanted);
        status = at_reader_one_line(reader, text, strlen(text), line);
        return status == ATTN_OK ? at_reader_target(reader, text, strlen(text)) : status;
    }
    at_bytes *joined = &reader->joined;
    joined->count = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = scalar(json_array_get(value, i), room, sizeof room);
        if (!text || !*text) return bad_value(reader, line, field, wanted);
        if (strchr(text, '\n')) return bad_value(reader, line, field, "labels of one line each");
        status = i > 0 ? at_bytes_append(reader->context, joined, "\n", 1) : ATTN_OK;
        if (status == ATTN_OK) status = at_bytes_append(reader->context, joined, text, strlen(text));
        if (status != ATTN_OK) return status;
    }
    return at_reader_add(reader, &reader->dataset->targets, joined->count ? joined->data : "",
                         (size_t)joined->count);
}

/* ---- which fields ---- */

static attn_status fail_no_field(jsonl *file, const json_t *object, const char *what, const char *name) {
    char list[161] = "";
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (used + 50 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "",
                                     at_clip(key, strlen(key), 40), key);
    }
    return at_reader_fail(file->reader, "%s%.*s; its first object has %s%s", what,
                          at_clip(name, strlen(name), 60), name, used ? "the fields " : "no fields", list);
}

/* The field of a name: the same, else the same but for case; NULL if there is none. */
static const char *find_field(const json_t *object, const char *name) {
    const char *key;
    json_t *value;
    if (json_object_get(object, name)) return name;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (at_same_name(key, strlen(key), name, strlen(name))) return key;
    }
    return NULL;
}

/* The field with the most usual name (`rank` gives 1 to the most usual one) that is not called `but`. */
static const char *find_usual(const json_t *object, int (*rank)(const char *, size_t), const char *but) {
    const char *key, *best = NULL;
    json_t *value;
    int best_rank = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        int found = rank(key, strlen(key));
        if (found == 0 || strcmp(key, but) == 0 || (best && found >= best_rank)) continue;
        best = key;
        best_rank = found;
    }
    return best;
}

static int is_list(const json_t *object, const char *name) {
    return name && json_is_array(json_object_get(object, name));
}

/* The name of a field that was requested; a number is of a file without names, which a model may have learned
 * from. */
static const char *asked(const char *name) {
    return name && *name && !at_column_number(name, strlen(name)) ? name : NULL;
}

/* The field of the text or the tokens; NULL: there is none. */
static const char *find_text(jsonl *file, const json_t *object, int *tokens) {
    const attn_reader_options *options = &file->reader->options;
    const char *name = asked(options->text_column), *found = NULL;
    *tokens = 0;
    if (name && (found = find_field(object, name))) {
        *tokens = is_list(object, found);
        return found;
    }
    if (name && options->labelled) return NULL;
    if (file->pairs && (found = find_field(object, "source"))) return found;
    found = file->pairs || options->per_token == 0 ? NULL : find_field(object, "tokens");
    if (is_list(object, found)) {
        *tokens = 1;
        return found;
    }
    return find_usual(object, at_is_text_name, "");
}

static const char *find_target(jsonl *file, const json_t *object, int tokens) {
    static const char *const lists[] = {"tags", "labels", "tag", "label", "ner_tags", "pos_tags", NULL};
    if (file->pairs) return find_field(object, "target");
    for (int i = 0; tokens && lists[i]; i++) {
        const char *found = find_field(object, lists[i]);
        if (is_list(object, found)) return found;
    }
    return tokens ? NULL : find_usual(object, at_is_label_name, at_string(&file->text, 0));
}

static attn_status choose_targets(jsonl *file, const json_t *object, int tokens) {
    at_reader *reader = file->reader;
    at_strings *columns = &reader->dataset->columns;
    int labelled = reader->options.labelled;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < reader->wanted.count && status == ATTN_OK; i++) {
        const char *name = at_string(&reader->wanted, i), *found = find_field(object, name);
        if (!found && labelled) return fail_no_field(file, object, "has no field ", name);
        if (found) status = at_strings_add(reader->context, columns, found, strlen(found));
    }
    if (status != ATTN_OK || reader->wanted.count > 0) return status;
    const char *found = find_target(file, object, tokens);
    if (found) return at_strings_add(reader->context, columns, found, strlen(found));
    if (!labelled && file->pairs) return at_strings_add(reader->context, columns, "target", 6);
    if (!labelled) return ATTN_OK;
    return fail_no_field(file, object, "ambiguous field: which is the ",
                         file->pairs ? "target: name it"
                         : tokens    ? "list of tags: name it"
                                     : "label: name it");
}

static attn_status choose_fields(jsonl *file, const json_t *object) {
    at_reader *reader = file->reader;
    attn_context *context = reader->context;
    const attn_reader_options *options = &reader->options;
    int tokens;
    file->pairs =
        options->pairs == 1 || (options->pairs < 0 && find_field(object, "source") &&
                                find_field(object, "target") && !find_usual(object, at_is_text_name, ""));
    const char *text = find_text(file, object, &tokens);
    if (!text) {
        const char *name = asked(options->text_column);
        if (name) return fail_no_field(file, object, "has no field ", name);
        return fail_no_field(file, object, "ambiguous field: which is the text: name it", "");
    }
    if (options->labelled && options->per_token == 1 && !tokens)
        return at_reader_fail(reader, "has texts, but tagging needs lists: tokens, and a tag for each");
    if (options->per_token == 0 && tokens)
        return at_reader_fail(reader, "the field %.80s is a list, but this task needs a text", text);
    attn_status status = at_strings_add(context, &file->text, text, strlen(text));
    if (status == ATTN_OK) status = choose_targets(file, object, tokens);
    reader->dataset->per_row = at_texts_of(reader->dataset)->tokenized = tokens;
    reader->dataset->pairs = file->pairs;
    return status;
}

/* ---- lines ---- */

/* The object in a line, or NULL and *status says why. */
static json_t *parse_line(at_reader *reader, const at_line *line, attn_status *status) {
    json_error_t error;
    *status = at_reader_check(reader, line->text, line->length, line->number);
    if (*status != ATTN_OK) return NULL;
    json_t *object = json_loadb(line->text, line->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (object && json_is_object(object)) return object;
    if (object)
        *status = at_reader_bad(reader, line->number, "a line must be a JSON object: {\"text\": ...}");
    else
        *status = at_reader_bad(reader, line->number, "not JSON: %s (at byte %d)", error.text, error.column);
    json_decref(object);
    return NULL;
}

/* The first object says which fields there are; lines that are none are bad, which is said in their turn. */
static attn_status begin(void *user) {
    jsonl *file = user;
    at_reader *reader = file->reader, rest = *reader;
    at_line line;
    json_t *object = NULL;
    while (!object && at_reader_line(&rest, &line)) {
        object = json_loadb(line.text, line.length, JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object(object)) continue;
        json_decref(object);
        object = NULL;
    }
    if (!object) return ATTN_OK;
    if (!reader->options.head) reader->dataset->placement.head = (size_t)(rest.next - reader->begin);
    attn_status status = choose_fields(file, object);
    json_decref(object);
    return status;
}

static attn_status add_text(jsonl *file, const json_t *object, const at_line *line) {
    at_reader *reader = file->reader;
    const at_strings *columns = &reader->dataset->columns;
    const char *field = at_string(&file->text, 0), *text = json_string_value(json_object_get(object, field));
    if (!text) return bad_value(reader, line->number, field, "there, or no string");
    attn_status status = at_reader_token(reader, text, strlen(text), line->number, 0);
    int several = 0;
    for (int64_t i = 0; status == ATTN_OK && i < columns->count; i++) {
        const json_t *value = json_object_get(object, at_string(columns, i));
        several |= json_is_array(value);
        status = file->pairs && json_is_string(value)
                     ? at_reader_add(reader, &reader->dataset->targets, json_string_value(value),
                                     strlen(json_string_value(value)))
                     : add_value(reader, value, at_string(columns, i), line->number);
    }
    if (status != ATTN_OK) return status;
    /* One of several targets may be missing, and an empty list is a prediction. */
    if (columns->count == 1 && !several && reader->options.label_separator == 0 &&
        at_reader_unlabelled(reader))
        return at_reader_bad(reader, line->number, "the field %.80s is missing or empty",
                             at_string(columns, 0));
    return at_texts_end(reader->dataset, "", 0);
}

static attn_status add_tokens(jsonl *file, const json_t *object, const at_line *line) {
    at_reader *reader = file->reader;
    const at_strings *columns = &reader->dataset->columns;
    const char *field = at_string(&file->text, 0);
    const json_t *tokens = json_object_get(object, field);
    attn_status status = ATTN_OK;
    if (!json_is_array(tokens)) return bad_value(reader, line->number, field, "a list of tokens");
    if (json_array_size(tokens) == 0)
        return at_reader_bad(reader, line->number, "the list %.80s is empty", field);
    for (int64_t c = 0; c < columns->count; c++) {
        const json_t *tags = json_object_get(object, at_string(columns, c));
        int missing = !tags || json_is_null(tags);
        if ((missing && !reader->options.labelled) || json_array_size(tags) == json_array_size(tokens))
            continue;
        if (!reader->options.labelled)
            return bad_value(reader, line->number, at_string(columns, c), "as long as the tokens");
        return at_reader_bad(reader, line->number, "%zu tokens, and %zu values in the field %.80s",
                             json_array_size(tokens), json_array_size(tags), at_string(columns, c));
    }
    for (size_t t = 0; t < json_array_size(tokens) && status == ATTN_OK; t++) {
        const char *token = json_string_value(json_array_get(tokens, t));
        if (!token || !*token)
            return bad_value(reader, line->number, field, "a list of strings that are not empty");
        status = at_reader_token(reader, token, strlen(token), line->number, 0);
        for (int64_t c = 0; c < columns->count && status == ATTN_OK; c++)
            status = add_value(reader, json_array_get(json_object_get(object, at_string(columns, c)), t),
                               at_string(columns, c), line->number);
        if (status == ATTN_OK && at_reader_unlabelled(reader))
            return at_reader_bad(reader, line->number, "token %zu has no tag", t + 1);
    }
    return status == ATTN_OK ? at_texts_end(reader->dataset, "", 0) : status;
}

static attn_status read_line(jsonl *file, const at_line *line) {
    at_reader *reader = file->reader;
    attn_status status;
    json_t *object = parse_line(reader, line, &status);
    if (!object) return at_reader_settle(reader, status);
    char room[64];
    const char *id = find_usual(object, at_is_id_name, at_string(&file->text, 0));
    reader->id = id ? scalar(json_object_get(object, id), room, sizeof room) : NULL;
    reader->id_length = reader->id ? strlen(reader->id) : 0;
    status = reader->dataset->per_row ? add_tokens(file, object, line) : add_text(file, object, line);
    status = at_reader_settle(reader, status);
    json_decref(object);
    return status;
}

attn_status at_read_jsonl(at_reader *reader) {
    jsonl file = {.reader = reader};
    at_line line;
    attn_status status = at_reader_head(reader, begin, &file);
    while (status == ATTN_OK && at_reader_line(reader, &line)) {
        status = at_line_is_blank(&line) ? at_reader_settle(reader, ATTN_OK) : read_line(&file, &line);
    }
    at_strings_free(reader->context, &file.text);
    return status;
}
