/* explain_input.c: what is explained: a text, a file, an example of it; a row of it (see explain.h). */
#define _POSIX_C_SOURCE 200809L /* access */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "explain.h"
#include "opening.h"

bool explain_reads_texts(const attn_model *model) {
    return attn_input_find_format(attn_model_input(model), "lines") >= 0;
}

/* What raw text is split into, if the model splits it, instead of it. */
static attn_status split(const explain_source *source, attn_status status, attn_dataset **dataset) {
    attn_dataset *examples = NULL;
    if (status != ATTN_OK || attn_model_splitter(source->model) == NULL) return status;
    if (attn_predictor_split(source->predictor, *dataset, &examples) != ATTN_OK) return ATTN_OK; /* not raw */
    attn_dataset_destroy(*dataset);
    *dataset = examples;
    return ATTN_OK;
}

static attn_status read_text(const explain_source *source, const char *text, attn_dataset **dataset) {
    attn_reader_options reader;
    attn_reader_options_init(&reader);
    reader.input = attn_model_input(source->model);
    reader.format = (attn_format)attn_input_find_format(reader.input, "lines");
    reader.labelled = 0;
    if (*text == '\0') text = "\n"; /* an empty text, not an empty file */
    attn_status status =
        attn_dataset_parse(source->context, "the text", 1, text, strlen(text), &reader, dataset);
    return split(source, status, dataset);
}

/* The format of examples that are in a line each: what one can write down; -1: there is none. */
static int format_of_lines(const attn_reader_options *given) {
    attn_reader_options reader = *given;
    for (int f = 1; attn_input_format(reader.input, f) != NULL; f++) {
        reader.format = (attn_format)f;
        if (attn_reader_pieces(&reader) == 0) return f;
    }
    return -1;
}

attn_status explain_read_file(const explain_source *source, const char *path, attn_dataset **dataset) {
    attn_status status;
    if (opening_is_input(path))
        status = opening_read(source->context, &path, 1, &source->reader, dataset);
    else
        status = attn_dataset_read(source->context, path, &source->reader, dataset);
    return split(source, status, dataset);
}

attn_status explain_read_input(const explain_source *source, const char *input, attn_dataset **dataset) {
    attn_reader_options reader = source->reader;
    if (explain_reads_texts(source->model)) return read_text(source, input, dataset);
    int lines = format_of_lines(&reader);
    if (lines < 0 || access(input, F_OK) == 0)
        return attn_dataset_read(source->context, input, &reader, dataset);
    char name[64];
    reader.format = (attn_format)lines;
    snprintf(name, sizeof name, "the %s", attn_input_example(reader.input));
    attn_status status = attn_dataset_parse(source->context, name, 1, input, strlen(input), &reader, dataset);
    if (status != ATTN_OK) arguments_complain("explain", "there is no file ", input, "; read as text:", NULL);
    return status;
}

const char *explain_title(const attn_dataset *dataset, int64_t example, const char *given) {
    const char *name = attn_dataset_row_name(dataset, example, 0), *id = attn_dataset_id(dataset, example);
    bool text = attn_input_find_format(attn_dataset_input(dataset), "lines") >= 0;
    if (text && name != NULL && attn_dataset_rows(dataset, example) == 1) return name;
    return id != NULL && *id != '\0' ? id : given;
}

/* ---- rows ---- */

static const char *name_of(const attn_explanation *explanation, bool written, int64_t row) {
    return written ? attn_explanation_symbol(explanation, row) : attn_explanation_row(explanation, row);
}

/* The number that a text is; -1: it is none. */
static int64_t number_of(const char *text) {
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0' || strlen(text) > 12) return -1;
    return (int64_t)strtoll(text, NULL, 10);
}

int64_t explain_find_row(const attn_explanation *explanation, bool written, const char *given) {
    int64_t rows = written ? attn_explanation_written(explanation) : attn_explanation_rows(explanation);
    int64_t number = number_of(given), found = -1, count = 0;
    bool by_name = number < 0 || (!written && explain_rows_are_numbers(explanation));
    if (!by_name && number >= 1 && number <= rows) return number - 1;
    for (int64_t r = 0; by_name && r < rows; r++) {
        const char *name = name_of(explanation, written, r);
        if (name == NULL || strcmp(name, given) != 0) continue;
        if (count++ == 0) found = r;
    }
    if (count > 1)
        fprintf(stderr,
                "attn explain: note: %" PRId64 " rows have this name; the first is row %" PRId64
                ", others by their number\n",
                count, found + 1);
    if (found >= 0) return found;
    char must[120];
    const char *last = rows > 0 ? name_of(explanation, written, rows - 1) : NULL;
    if (by_name && number >= 0 && last != NULL && number_of(last) >= 0)
        snprintf(must, sizeof must, ": there is no such row; they are called %.30s to %.30s",
                 name_of(explanation, written, 0), last);
    else if (by_name)
        snprintf(must, sizeof must, ": no row has this name; give a name, or a number from 1 to %" PRId64,
                 rows);
    else
        snprintf(must, sizeof must,
                 rows == 1 ? ": there is %" PRId64 " row%s" : ": there are %" PRId64 " rows%s", rows,
                 attn_explanation_pieces(explanation) > 1 ? " in this piece" : "");
    arguments_complain("explain", "--row ", given, must, NULL);
    return -1;
}
