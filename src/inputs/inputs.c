/* inputs.c: the table of kinds of input, and reading files of any kind. */
#include "inputs/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/describe.h"
#include "data/file.h"
#include "data/parts.h"
#include "data/symbols/vocabulary.h"
#include "inputs/kinds.h"

static const at_input_kind *const kinds[] = AT_INPUT_KINDS;
enum { KINDS = sizeof kinds / sizeof kinds[0] };

int at_input_count(void) { return KINDS; }
const at_input_kind *at_input_at(int index) { return index < 0 || index >= KINDS ? NULL : kinds[index]; }

const at_input_kind *at_input_find(const char *name) {
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

/* ---- what there is ---- */

int attn_input_count(void) { return KINDS; }
const char *attn_input_name(int index) { return at_input_at(index) ? kinds[index]->name : NULL; }
const char *attn_input_help(int index) { return at_input_at(index) ? kinds[index]->help : NULL; }

const char *attn_input_row(const char *input) {
    const at_input_kind *kind = at_input_find(input ? input : kinds[0]->name);
    return kind && kind->row ? kind->row : "row";
}

const char *attn_input_example(const char *input) {
    const at_input_kind *kind = at_input_find(input ? input : kinds[0]->name);
    return kind && kind->example ? kind->example : "example";
}

const char *attn_input_encoders(const char *input) {
    const at_input_kind *kind = at_input_find(input ? input : kinds[0]->name);
    return kind && kind->unordered ? "fc,mean,attention" : "fc,cnn,rnn,attention";
}

const char *attn_input_format(const char *input, int format) {
    const at_input_kind *kind = at_input_find(input ? input : kinds[0]->name);
    for (int f = 0; kind && format >= 0 && kind->formats[f]; f++)
        if (f == format) return kind->formats[f];
    return NULL;
}

int attn_input_find_format(const char *input, const char *format) {
    const char *name;
    for (int f = 0; format && (name = attn_input_format(input, f)); f++)
        if (strcmp(name, format) == 0) return f;
    return -1;
}

const char *attn_input_of_file(const char *path) {
    for (int i = KINDS - 1; i > 0 && path; i--)
        if (kinds[i]->knows(path)) return kinds[i]->name;
    return kinds[0]->name; /* the first takes what the others do not know */
}

/* ---- reading ---- */

void attn_reader_options_init_sized(attn_reader_options *options, size_t size) {
    attn_reader_options own = {.size = sizeof own};
    own.labelled = 1;
    own.per_token = -1;
    own.pairs = -1;
    own.expanded_limit = INT64_C(1) << 40;
    own.expanded_ratio = 200;
    at_options_give(options, size, &own, sizeof own);
}

/* *options: those that were given, as this version has them. */
static attn_status check_options(attn_context *context, const attn_reader_options *given,
                                 attn_reader_options *options, const at_input_kind **kind) {
    char reason[AT_OPTIONS_TEXT];
    attn_reader_options_init(options);
    attn_status status =
        at_options_take("reader options", "attn_reader_options_init", given,
                        AT_FIRST_SIZE(attn_reader_options, expanded_limit), sizeof *options, options, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    *kind = at_input_find(options->input && *options->input ? options->input : kinds[0]->name);
    if (!*kind)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader options: there is no input \"%.60s\"",
                       options->input);
    if (!attn_input_format((*kind)->name, (int)options->format))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader options: there is no format %d",
                       (int)options->format);
    if (options->per_token < -1 || options->per_token > 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader options: per_token is %d, not -1, 0 or 1",
                       options->per_token);
    if (options->expanded_limit < 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader options: expanded_limit is %" PRId64,
                       options->expanded_limit);
    if (options->expanded_ratio < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader options: expanded_ratio is %" PRId64,
                       options->expanded_ratio);
    return ATTN_OK;
}

/* ---- training, validation and test ---- */

static attn_status read_split(attn_dataset *dataset, const attn_reader_options *options) {
    const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, NULL, NULL};
    at_bytes file = {0};
    attn_status status = at_file_read(dataset->context, options->split_file, &allowed, &file);
    if (status == ATTN_OK)
        status =
            at_parts_from_words(dataset, options->split_file, file.data ? file.data : "", (size_t)file.count);
    at_bytes_free(dataset->context, &file);
    return status;
}

static attn_status group_examples(const at_input_kind *kind, attn_dataset *dataset) {
    at_strings keys = {0};
    attn_status status = kind->groups(dataset, &keys);
    if (status == ATTN_OK) status = at_parts_by_group(dataset, &keys);
    at_strings_free(dataset->context, &keys);
    return status;
}

static attn_status split_dataset(const attn_reader_options *options, attn_dataset *dataset) {
    const at_input_kind *kind = at_input_find(dataset->kind->input);
    const char *split = options->split ? options->split : "";
    if (options->split_file && *options->split_file) return read_split(dataset, options);
    const char *column = options->split_column ? options->split_column : "";
    if (*column && !dataset->part_count && options->labelled && !options->piece)
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: this format has no column \"%.60s\" with a split: give a split file",
                       attn_dataset_name(dataset), column);
    if (!*split || strcmp(split, "file") == 0 || options->piece) return ATTN_OK;
    if (kind->grouping && strcmp(split, kind->grouping) == 0 && !at_dataset_splits_rows(dataset))
        return group_examples(kind, dataset);
    char *end = NULL;
    uint64_t number = strncmp(split, "random:", 7) == 0 && split[7] >= '0' && split[7] <= '9'
                          ? strtoull(split + 7, &end, 10)
                          : 0;
    if (strcmp(split, "random") == 0 || (end && end != split + 7 && !*end))
        return at_parts_random(dataset, number);
    return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                   "there is no split \"%.60s\" of input %s: it can be random, random:NUMBER%s%s", split,
                   kind->name, kind->grouping ? " or " : "", kind->grouping ? kind->grouping : "");
}

/* What was read, split as the options say; it is destroyed where that fails. Older options do not say it. */
static attn_status take_read(attn_status status, const attn_reader_options *options, attn_dataset *made,
                             attn_dataset **dataset) {
    int new = options->size >= AT_FIRST_SIZE(attn_reader_options, split_file) && options->labelled;
    if (status == ATTN_OK && new) status = split_dataset(options, made);
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}

static attn_status read_source(attn_context *context, at_source *source, attn_dataset **dataset) {
    const at_input_kind *kind = NULL;
    attn_reader_options options;
    attn_status status = check_options(context, source->options, &options, &kind);
    if (status != ATTN_OK) return status;
    source->options = &options;
    if (source->bytes[0] && source->counts[0] > (uint64_t)source->options->expanded_limit)
        return at_fail(context, ATTN_OVERFLOW,
                       "%s: has %zu bytes, more than the %" PRId64 " of expanded_limit in the reader options",
                       source->names[0], source->counts[0], source->options->expanded_limit);
    if (!options.labelled) options.split_column = options.split = options.split_file = NULL; /* of no use */
    return kind->read(context, source, dataset);
}

attn_status attn_dataset_parse(attn_context *context, const char *name, int64_t first_line, const char *bytes,
                               size_t count, const attn_reader_options *options, attn_dataset **dataset) {
    if (context == NULL) return ATTN_INVALID_ARGUMENT;
    if (name == NULL || options == NULL || dataset == NULL || (bytes == NULL && count > 0))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_parse: name, bytes, options and dataset must not be NULL");
    if (first_line < 1 || first_line > INT64_MAX / 2)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "attn_dataset_parse: first_line is %" PRId64,
                       first_line);
    at_source source = {.names = {name},
                        .bytes = {bytes ? bytes : ""},
                        .counts = {count},
                        .first_line = first_line,
                        .options = options};
    attn_dataset *made = NULL;
    attn_status status = read_source(context, &source, &made);
    return take_read(status, options, made, dataset);
}

attn_status attn_dataset_read(attn_context *context, const char *path, const attn_reader_options *options,
                              attn_dataset **dataset) {
    if (context == NULL) return ATTN_INVALID_ARGUMENT;
    if (path == NULL || options == NULL || dataset == NULL)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_read: path, options and dataset must not be NULL");
    at_source source = {.names = {path}, .first_line = 1, .options = options};
    attn_dataset *made = NULL;
    attn_status status = read_source(context, &source, &made);
    return take_read(status, options, made, dataset);
}

attn_status attn_dataset_read_parallel(attn_context *context, const char *sources, const char *targets,
                                       const attn_reader_options *options, attn_dataset **dataset) {
    if (context == NULL) return ATTN_INVALID_ARGUMENT;
    if (sources == NULL || targets == NULL || options == NULL || dataset == NULL)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_read_parallel: sources, targets, options and dataset must not be NULL");
    at_source source = {.names = {sources, targets}, .first_line = 1, .options = options};
    attn_dataset *made = NULL;
    attn_status status = read_source(context, &source, &made);
    return take_read(status, options, made, dataset);
}

/* NULL: there is no such kind, or no options. */
static const at_input_kind *kind_of(const attn_reader_options *options) {
    if (!options) return NULL;
    return at_input_find(options->input && *options->input ? options->input : kinds[0]->name);
}

/* ---- several files ---- */

static attn_status check_files(attn_context *context, const attn_file *files, int count,
                               const attn_reader_options *options, attn_dataset **dataset) {
    if (files == NULL || count < 1 || options == NULL || dataset == NULL)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_read_files: files, options and dataset must not be NULL, count is %d",
                       count);
    for (int i = 0; i < count; i++)
        if (files[i].name == NULL)
            return at_fail(context, ATTN_INVALID_ARGUMENT, "attn_dataset_read_files: file %d has no name", i);
    return ATTN_OK;
}

/* Expands what is read with these options, as far as they allow and the kind of input takes it. */
typedef struct expanding {
    attn_context *context;
    const char *name;
    const attn_reader_options *options;
} expanding;

static attn_status judge(void *user, const char *bytes, size_t count, size_t judged) {
    const expanding *now = user;
    const at_input_kind *kind = kind_of(now->options);
    if (!kind || !kind->judge) return ATTN_OK;
    return kind->judge(now->context, now->name, now->options, bytes, count, judged);
}

static attn_status expand(attn_context *context, const char *name, const char *bytes, size_t count,
                          const attn_reader_options *options, at_bytes *expanded) {
    expanding now = {context, name, options};
    const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, judge, &now};
    return at_gzip_expand(context, name, bytes, count, &allowed, expanded);
}

/* The bytes that were given for a file, expanded; of a file that is to be read there are none yet. */
static attn_status take_file(attn_context *context, const attn_file *file, const attn_reader_options *options,
                             at_bytes *expanded, at_source *source, int place) {
    attn_status status = ATTN_OK;
    source->names[place] = file->name;
    source->bytes[place] = file->bytes;
    source->counts[place] = file->count;
    if (!file->bytes || !at_is_gzip(file->bytes, file->count)) return ATTN_OK;
    status = expand(context, file->name, file->bytes, file->count, options, expanded);
    source->bytes[place] = expanded->data ? expanded->data : "";
    source->counts[place] = (size_t)expanded->count;
    return status;
}

/* One file, or two that may belong together. */
static attn_status read_some(attn_context *context, const attn_file *files, int count,
                             const attn_reader_options *options, attn_dataset **dataset) {
    at_bytes expanded[2] = {{0}, {0}};
    at_source source = {.first_line = 1, .options = options, .apart = 1};
    attn_status status = ATTN_OK;
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status = take_file(context, &files[i], options, &expanded[i], &source, i);
    if (status == ATTN_OK) status = read_source(context, &source, dataset);
    for (int i = 0; i < 2; i++) at_bytes_free(context, &expanded[i]);
    return status;
}

attn_status attn_dataset_read_files(attn_context *context, const attn_file *files, int count,
                                    const attn_reader_options *options, attn_dataset **dataset) {
    if (context == NULL) return ATTN_INVALID_ARGUMENT;
    attn_status status = check_files(context, files, count, options, dataset);
    if (status != ATTN_OK) return status;
    attn_dataset *made = NULL;
    int together = count == 2 && attn_reader_files(options) == 2;
    status = read_some(context, files, together ? 2 : 1, options, &made);
    for (int i = 1; i < count && !together && status == ATTN_OK; i++) {
        attn_dataset *more = NULL;
        status = read_some(context, &files[i], 1, options, &more);
        if (status == ATTN_OK) status = attn_dataset_append(made, more);
        attn_dataset_destroy(more);
    }
    return take_read(status, options, made, dataset);
}

attn_status attn_gzip_expand(attn_context *context, const char *name, const char *bytes, size_t count,
                             const attn_reader_options *options, char **text, size_t *length) {
    if (context == NULL) return ATTN_INVALID_ARGUMENT;
    if (name == NULL || bytes == NULL || options == NULL || text == NULL || length == NULL)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_gzip_expand: name, bytes, options, text and length must not be NULL");
    at_bytes expanded = {0};
    attn_status status = expand(context, name, bytes, count, options, &expanded);
    if (status != ATTN_OK) return status;
    *text = expanded.data;
    *length = (size_t)expanded.count;
    return ATTN_OK;
}

int attn_reader_files(const attn_reader_options *options) {
    const at_input_kind *kind = kind_of(options);
    return kind && kind->takes_two && kind->takes_two(options) ? 2 : 1;
}

attn_format attn_dataset_detect(const char *name, const char *bytes, size_t count,
                                const attn_reader_options *options) {
    const at_input_kind *kind = kind_of(options);
    if (!kind || !name || (!bytes && count)) return ATTN_FORMAT_AUTO;
    return (attn_format)kind->detect(name, bytes ? bytes : "", count, options);
}

int attn_reader_pieces(const attn_reader_options *options) {
    const at_input_kind *kind = kind_of(options);
    return kind ? kind->pieces((int)options->format) : -1;
}

char attn_reader_quotes(const char *name, const char *bytes, size_t count,
                        const attn_reader_options *options) {
    const at_input_kind *kind =
        options ? at_input_find(options->input && *options->input ? options->input : kinds[0]->name) : NULL;
    if (!kind || !kind->quotes || !name || !bytes) return 0;
    return kind->quotes(name, bytes, count, options);
}

/* ---- what is in a dataset ---- */

void attn_describe_options_init_sized(attn_describe_options *options, size_t size) {
    attn_describe_options own = {.size = sizeof own};
    at_options_give(options, size, &own, sizeof own);
}

attn_status attn_dataset_describe(const attn_dataset *dataset, const attn_describe_options *given,
                                  char **text) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    attn_context *context = dataset->context;
    attn_describe_options options;
    char reason[AT_OPTIONS_TEXT];
    if (!text) return at_fail(context, ATTN_INVALID_ARGUMENT, "attn_dataset_describe: text is NULL");
    attn_describe_options_init(&options);
    attn_status status =
        at_options_take("options", "attn_describe_options_init", given,
                        AT_FIRST_SIZE(attn_describe_options, task), sizeof options, &options, reason);
    if (status != ATTN_OK) return at_fail(context, status, "attn_dataset_describe: %s", reason);
    const at_input_kind *kind = at_input_find(dataset->kind->input);
    at_writer writer = {.context = context, .terminal = 1};
    at_describe_begin(dataset, kind->formats[dataset->format], &options, &writer);
    status = kind->describe(dataset, &options, &writer);
    at_describe_end(dataset, &options, kind->tells_conflicts, &writer);
    if (status == ATTN_OK) status = writer.status;
    if (status == ATTN_OK)
        *text = writer.bytes;
    else
        at_writer_free(&writer);
    return status;
}

attn_status attn_dataset_note(const attn_dataset *dataset, char **text) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    if (!text) return at_fail(dataset->context, ATTN_INVALID_ARGUMENT, "attn_dataset_note: text is NULL");
    const at_input_kind *kind = at_input_find(dataset->kind->input);
    at_writer writer = {.context = dataset->context, .terminal = 1};
    *text = NULL;
    if (!kind->note) return ATTN_OK;
    kind->note(dataset, &writer);
    if (writer.status != ATTN_OK) at_writer_free(&writer);
    if (writer.status == ATTN_OK) *text = writer.bytes;
    return writer.status;
}

void attn_text_release(attn_context *context, char *text) {
    if (context) at_release(context, text);
}

/* ---- what tells sets apart ---- */

static uint64_t hash_text(const char *text, uint64_t seed) {
    return text ? at_hash(text, strlen(text), seed) : seed;
}

uint64_t attn_dataset_fingerprint(const attn_dataset *dataset) {
    if (!dataset) return 0;
    uint64_t made = at_dataset_fingerprint(dataset, 0); /* what a network sees */
    for (int64_t row = 0; dataset->kind->row_name && row < dataset->rows; row++)
        made = hash_text(dataset->kind->row_name(dataset->content, row), made);
    for (int64_t e = 0; e < dataset->examples; e++)
        made = hash_text(attn_dataset_source(dataset, e), hash_text(attn_dataset_id(dataset, e), made));
    return dataset->part_count ? at_hash((const char *)dataset->parts, (size_t)dataset->part_count, made)
                               : made;
}
