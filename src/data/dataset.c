/* dataset.c: examples in memory: how they are added, asked for and selected. */
#include "data/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"

attn_status at_dataset_create(attn_context *context, const char *name, const at_content_kind *kind,
                              void *content, attn_dataset **dataset) {
    attn_dataset *made = at_allocate(context, 1, sizeof *made, "a dataset");
    if (made == NULL) {
        kind->destroy(context, content);
        return ATTN_OUT_OF_MEMORY;
    }
    made->context = context;
    made->kind = kind;
    made->content = content;
    attn_status status = at_strings_add(context, &made->name, name, strlen(name));
    if (status == ATTN_OK)
        status = at_grow(context, &made->offsets, &made->offset_room, 1, sizeof *made->offsets, "a dataset");
    if (status != ATTN_OK) {
        attn_dataset_destroy(made);
        return status;
    }
    made->offsets[0] = 0;
    *dataset = made;
    return ATTN_OK;
}

void attn_dataset_destroy(attn_dataset *dataset) {
    if (dataset == NULL) return;
    attn_context *context = dataset->context;
    if (!dataset->borrowed) dataset->kind->destroy(context, dataset->content);
    at_strings_free(context, &dataset->name);
    at_strings_free(context, &dataset->problems);
    at_strings_free(context, &dataset->columns);
    at_strings_free(context, &dataset->targets);
    at_release(context, dataset->offsets);
    at_release(context, dataset->lines);
    at_release(context, dataset->files);
    at_strings_free(context, &dataset->ids);
    at_release(context, dataset->placement.ends);
    at_release(context, dataset->parts);
    at_release(context, dataset->left_out);
    at_release(context, dataset);
}

attn_status at_dataset_row(attn_dataset *dataset, int64_t line) {
    attn_status status = at_grow(dataset->context, &dataset->lines, &dataset->line_room, dataset->rows + 1,
                                 sizeof *dataset->lines, "the lines of rows");
    if (status == ATTN_OK && dataset->files) /* rows of memory continue with those of the last file */
        status = at_grow(dataset->context, &dataset->files, &dataset->file_room, dataset->rows + 1,
                         sizeof *dataset->files, "the files of rows");
    if (status != ATTN_OK) return status;
    if (dataset->files) dataset->files[dataset->rows] = (int32_t)(dataset->name.count - 1);
    dataset->lines[dataset->rows++] = line;
    return ATTN_OK;
}

attn_status at_dataset_end(attn_dataset *dataset) {
    attn_status status =
        at_grow(dataset->context, &dataset->offsets, &dataset->offset_room, dataset->examples + 2,
                sizeof *dataset->offsets, "the examples of a dataset");
    if (status == ATTN_OK) dataset->offsets[++dataset->examples] = dataset->rows;
    return status;
}

/* ---- questions ---- */

const char *attn_dataset_name(const attn_dataset *dataset) {
    return dataset ? at_string(&dataset->name, 0) : NULL;
}
const char *attn_dataset_input(const attn_dataset *dataset) { return dataset ? dataset->kind->input : NULL; }
attn_format attn_dataset_format(const attn_dataset *dataset) {
    return dataset ? dataset->format : ATTN_FORMAT_AUTO;
}
int64_t attn_dataset_examples(const attn_dataset *dataset) { return dataset ? dataset->examples : 0; }
int64_t attn_dataset_skipped(const attn_dataset *dataset) { return dataset ? dataset->skipped : 0; }
int attn_dataset_tokenized(const attn_dataset *dataset) { return dataset ? dataset->per_row : 0; }
int attn_dataset_columns(const attn_dataset *dataset) { return dataset ? (int)dataset->columns.count : 0; }

attn_status attn_dataset_stopped(const attn_dataset *dataset) { return dataset ? dataset->stopped : ATTN_OK; }
size_t attn_dataset_consumed(const attn_dataset *dataset) { return dataset ? dataset->consumed : 0; }

const char *attn_dataset_problem(const attn_dataset *dataset, int64_t index) {
    if (!dataset || index < 0 || index >= dataset->problems.count) return NULL;
    return at_string(&dataset->problems, index);
}

const char *attn_dataset_column(const attn_dataset *dataset, int column) {
    return column >= 0 && column < attn_dataset_columns(dataset) ? at_string(&dataset->columns, column)
                                                                 : NULL;
}

int64_t attn_dataset_rows(const attn_dataset *dataset, int64_t example) {
    if (!dataset || example < 0 || example >= dataset->examples) return 0;
    return dataset->offsets[example + 1] - dataset->offsets[example];
}

const char *attn_dataset_row_name(const attn_dataset *dataset, int64_t example, int64_t row) {
    if (row < 0 || row >= attn_dataset_rows(dataset, example) || !dataset->kind->row_name) return NULL;
    return dataset->kind->row_name(dataset->content, dataset->offsets[example] + row);
}

const char *attn_dataset_file(const attn_dataset *dataset, int64_t example) {
    if (!dataset || example < 0 || example >= dataset->examples) return NULL;
    int64_t row = dataset->offsets[example];
    int known = dataset->files && row < dataset->offsets[example + 1];
    return at_string(&dataset->name, known ? dataset->files[row] : 0);
}

const char *attn_dataset_id(const attn_dataset *dataset, int64_t example) {
    if (!dataset || example < 0 || example >= dataset->examples) return NULL;
    return example < dataset->ids.count ? at_string(&dataset->ids, example) : "";
}

int at_dataset_text(const attn_dataset *dataset, int64_t example, at_writer *writer) {
    if (!dataset->kind->text) return 0;
    dataset->kind->text(dataset->content, example, dataset->offsets[example], dataset->offsets[example + 1],
                        writer);
    return 1;
}

size_t attn_dataset_head(const attn_dataset *dataset) { return dataset ? dataset->placement.head : 0; }

int64_t attn_dataset_line(const attn_dataset *dataset, int64_t example, int64_t row) {
    if (row < 0 || row >= attn_dataset_rows(dataset, example)) return 0;
    return dataset->lines[dataset->offsets[example] + row];
}

const char *attn_dataset_target(const attn_dataset *dataset, int column, int64_t example, int64_t row) {
    if (row < 0 || row >= attn_dataset_rows(dataset, example) || column < 0 ||
        column >= attn_dataset_columns(dataset))
        return NULL;
    int64_t place = dataset->per_row ? dataset->offsets[example] + row : example;
    return at_string(&dataset->targets, place * dataset->columns.count + column);
}

/* ---- parts ---- */

/* The lines of rows that follow one another, and the files they are of. */
static attn_status copy_rows(const attn_dataset *from, int64_t first, int64_t end, int32_t base,
                             attn_dataset *to) {
    attn_context *context = from->context;
    int64_t count = end - first;
    if (count == 0) return ATTN_OK;
    attn_status status = at_grow(context, &to->lines, &to->line_room, to->rows + count, sizeof *to->lines,
                                 "the lines of rows");
    if (status == ATTN_OK && to->files)
        status = at_grow(context, &to->files, &to->file_room, to->rows + count, sizeof *to->files,
                         "the files of rows");
    if (status != ATTN_OK) return status;
    memcpy(to->lines + to->rows, from->lines + first, (size_t)count * sizeof *to->lines);
    for (int64_t i = 0; i < count && to->files; i++)
        to->files[to->rows + i] = base + (from->files ? from->files[first + i] : 0);
    to->rows += count;
    return ATTN_OK;
}

/* base: the number of the first file of `from` among those of `to`. */
static attn_status copy_example(const attn_dataset *from, int64_t example, int32_t base, attn_dataset *to) {
    int64_t first = from->offsets[example], end = from->offsets[example + 1], columns = from->columns.count;
    attn_status status = from->kind->append(from->context, to->content, from->content, example, first, end);
    if (status == ATTN_OK) status = copy_rows(from, first, end, base, to);
    if (status == ATTN_OK && from->ids.count == from->examples && to->ids.count == to->examples)
        status = at_strings_add_list(from->context, &to->ids, &from->ids, example, 1);
    int64_t place = from->per_row ? first : example, places = from->per_row ? end - first : 1;
    if (status == ATTN_OK)
        status = at_strings_add_list(from->context, &to->targets, &from->targets, place * columns,
                                     places * columns);
    return status == ATTN_OK ? at_dataset_end(to) : status;
}

/* From now on every row says which file it is of; those that are there are of the first. */
static attn_status mark_files(attn_dataset *dataset) {
    if (dataset->files) return ATTN_OK;
    attn_status status = at_grow(dataset->context, &dataset->files, &dataset->file_room, dataset->rows + 1,
                                 sizeof *dataset->files, "the files of rows");
    if (status == ATTN_OK) memset(dataset->files, 0, (size_t)dataset->rows * sizeof *dataset->files);
    return status;
}

/* Whether the columns are the same; else the first that differs is the reason. */
static attn_status check_columns(const attn_dataset *dataset, const attn_dataset *more) {
    attn_context *context = dataset->context;
    const char *one = attn_dataset_name(dataset), *two = attn_dataset_name(more);
    if (dataset->kind != more->kind)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s is of input %s, %.200s of input %s", one,
                       dataset->kind->input, two, more->kind->input);
    if (dataset->per_row != more->per_row)
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "%.200s has a target for each row, %.200s one for each example: they cannot be combined",
            dataset->per_row ? one : two, dataset->per_row ? two : one);
    if (dataset->format != more->format)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s and %.200s have different formats: the files of a dataset must have the same",
                       one, two);
    for (int64_t c = 0; c < dataset->columns.count || c < more->columns.count; c++) {
        const char *ours = c < dataset->columns.count ? at_string(&dataset->columns, c) : "nothing";
        const char *theirs = c < more->columns.count ? at_string(&more->columns, c) : "nothing";
        if (strcmp(ours, theirs) == 0) continue;
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: the target is %.80s, in %.200s it is %.80s: name the column to be learned",
                       one, ours, two, theirs);
    }
    return ATTN_OK;
}

/* Before the examples: what of the whole is for training, if both say it. */
static attn_status append_parts(attn_dataset *dataset, const attn_dataset *more) {
    if ((dataset->part_count == 0) != (more->part_count == 0))
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "%.200s has a split into training and test data, %.200s has none",
                       attn_dataset_name(dataset->part_count ? dataset : more),
                       attn_dataset_name(dataset->part_count ? more : dataset));
    if (more->part_count == 0) return ATTN_OK;
    attn_status status =
        at_grow(dataset->context, &dataset->parts, &dataset->part_room,
                dataset->part_count + more->part_count, sizeof *dataset->parts, "the parts of a dataset");
    if (status != ATTN_OK) return status;
    memcpy(dataset->parts + dataset->part_count, more->parts, (size_t)more->part_count);
    dataset->part_count += more->part_count;
    return ATTN_OK;
}

/* Those of `more` follow all of the first file. */
static attn_status append_left_out(attn_dataset *dataset, const attn_dataset *more) {
    int64_t count = dataset->left_out_count, before = dataset->examples + count;
    attn_status status =
        at_grow(dataset->context, &dataset->left_out, &dataset->left_out_room, count + more->left_out_count,
                sizeof *dataset->left_out, "the examples left out");
    for (int64_t i = 0; i < more->left_out_count && status == ATTN_OK; i++)
        dataset->left_out[dataset->left_out_count++] = before + more->left_out[i];
    return status;
}

attn_status attn_dataset_append(attn_dataset *dataset, const attn_dataset *more) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    if (!more || more == dataset)
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_append: more must be another dataset");
    if (dataset->borrowed)
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_append: a part that shares its rows with another dataset cannot grow");
    int32_t base = (int32_t)dataset->name.count;
    attn_status status = check_columns(dataset, more);
    if (status == ATTN_OK) status = mark_files(dataset);
    if (status == ATTN_OK)
        status = at_strings_add_list(dataset->context, &dataset->name, &more->name, 0, more->name.count);
    if (status == ATTN_OK) status = append_parts(dataset, more);
    if (status == ATTN_OK) status = append_left_out(dataset, more);
    for (int64_t e = 0; status == ATTN_OK && e < more->examples; e++)
        status = copy_example(more, e, base, dataset);
    for (int64_t i = 0; status == ATTN_OK && i < more->problems.count; i++)
        if (dataset->problems.count < AT_PROBLEMS)
            status = at_strings_add_list(dataset->context, &dataset->problems, &more->problems, i, 1);
    if (status == ATTN_OK) dataset->skipped += more->skipped;
    dataset->placement.end_count = 0; /* the examples are no longer those of one text */
    return status;
}

attn_status attn_dataset_select(const attn_dataset *dataset, const int64_t *examples, int64_t count,
                                attn_dataset **selected) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    attn_context *context = dataset->context;
    if (selected == NULL || count < 0 || (examples == NULL && count > 0))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_select: examples and selected must not be NULL, count is %" PRId64,
                       count);
    for (int64_t i = 0; i < count; i++) {
        if (examples[i] < 0 || examples[i] >= dataset->examples)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "attn_dataset_select: examples[%" PRId64 "] is %" PRId64 ", there are %" PRId64
                           " examples",
                           i, examples[i], dataset->examples);
    }
    attn_dataset *made = NULL;
    void *content;
    attn_status status = dataset->kind->create(context, dataset->content, &content);
    if (status == ATTN_OK)
        status = at_dataset_create(context, attn_dataset_name(dataset), dataset->kind, content, &made);
    if (status != ATTN_OK) return status;
    made->format = dataset->format;
    made->per_row = dataset->per_row;
    made->pairs = dataset->pairs;
    status = at_strings_add_list(context, &made->columns, &dataset->columns, 0, dataset->columns.count);
    if (status == ATTN_OK && dataset->files) {
        status = at_strings_add_list(context, &made->name, &dataset->name, 1, dataset->name.count - 1);
        if (status == ATTN_OK) status = mark_files(made);
    }
    for (int64_t i = 0; status == ATTN_OK && i < count; i++)
        status = copy_example(dataset, examples[i], 0, made);
    if (status != ATTN_OK) {
        attn_dataset_destroy(made);
        return status;
    }
    *selected = made;
    return ATTN_OK;
}

static uint64_t hash_strings(const at_strings *list, uint64_t seed) {
    return at_hash(list->bytes, (size_t)(list->count ? list->offsets[list->count] : 0), seed);
}

uint64_t at_dataset_fingerprint(const attn_dataset *dataset, uint64_t seed) {
    seed = dataset->kind->hash(dataset->content, 0, dataset->rows, seed);
    seed = hash_strings(&dataset->targets, seed);
    seed = hash_strings(&dataset->columns, seed);
    return at_hash((const char *)dataset->offsets, (size_t)(dataset->examples + 1) * sizeof(int64_t), seed);
}

/* ---- targets from memory ---- */

/* Targets that are being made: those of the dataset stay until these are whole. */
typedef struct making {
    at_strings columns, targets;
    int64_t count; /* values that there must be */
    char *buffer;  /* for NFC */
    int64_t room;
} making;

static attn_status begin_targets(attn_dataset *dataset, int columns, const char *const *names,
                                 const void *values, int per_row, making *made) {
    attn_context *context = dataset->context;
    if (columns < 1 || !names || !values)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "targets: names or values is NULL, or columns is %d",
                       columns);
    attn_status status = ATTN_OK;
    for (int c = 0; c < columns && status == ATTN_OK; c++) {
        if (!names[c]) return at_fail(context, ATTN_INVALID_ARGUMENT, "targets: names[%d] is NULL", c);
        status = at_strings_add(context, &made->columns, names[c], strlen(names[c]));
    }
    made->count = (per_row ? dataset->rows : dataset->examples) * columns;
    return status;
}

static attn_status finish_targets(attn_dataset *dataset, attn_status status, int per_row, making *made) {
    if (status == ATTN_OK) {
        at_strings columns = dataset->columns, targets = dataset->targets;
        dataset->columns = made->columns;
        dataset->targets = made->targets;
        dataset->per_row = per_row != 0;
        made->columns = columns;
        made->targets = targets;
    }
    at_strings_free(dataset->context, &made->columns);
    at_strings_free(dataset->context, &made->targets);
    at_release(dataset->context, made->buffer);
    return status;
}

static attn_status add_target(attn_context *context, const char *value, int64_t place, making *made) {
    size_t length = strlen(value);
    if (at_unicode_check(value, length) != length)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "targets: value %" PRId64 " is not UTF-8", place);
    attn_status status = at_unicode_nfc(context, value, length, &made->buffer, &made->room, &value, &length);
    return status == ATTN_OK ? at_strings_add(context, &made->targets, value, length) : status;
}

attn_status attn_dataset_set_targets(attn_dataset *dataset, int columns, const char *const *names,
                                     const char *const *values, int per_row) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    making made = {.count = 0};
    attn_status status = begin_targets(dataset, columns, names, values, per_row, &made);
    for (int64_t i = 0; i < made.count && status == ATTN_OK; i++)
        status = add_target(dataset->context, values[i] ? values[i] : "", i, &made);
    return finish_targets(dataset, status, per_row, &made);
}

attn_status attn_dataset_set_numbers(attn_dataset *dataset, int columns, const char *const *names,
                                     const double *values, int per_row) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    making made = {.count = 0};
    attn_status status = begin_targets(dataset, columns, names, values, per_row, &made);
    for (int64_t i = 0; i < made.count && status == ATTN_OK; i++) {
        char text[64] = "";
        if (isinf(values[i]))
            status =
                at_fail(dataset->context, ATTN_INVALID_ARGUMENT, "targets: value %" PRId64 " is infinite", i);
        else if (!isnan(values[i]))
            snprintf(text, sizeof text, "%.17g", values[i]);
        if (status == ATTN_OK) status = at_strings_add(dataset->context, &made.targets, text, strlen(text));
    }
    return finish_targets(dataset, status, per_row, &made);
}
