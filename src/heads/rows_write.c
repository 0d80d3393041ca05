/* rows_write.c: predictions for rows and examples as lines and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "heads/rows.h"

static int64_t place_of(const attn_prediction *prediction, int64_t example, int64_t row) {
    return prediction->per_row ? prediction->encoded->offsets[example] + row : example;
}

void at_rows_put(const at_writing *now, int output, int64_t example, int64_t row, const char *between,
                 at_writer *writer) {
    const at_answers *answers = now->prediction->answers[output];
    answers->head->kind->rows->write(answers, place_of(now->prediction, example, row), between, writer);
}

static void put_cell(const at_writing *now, int output, int64_t example, int64_t row, const char *between) {
    at_rows_put(now, output, example, row, between, now->writer);
}

/* ---- lines ---- */

static void put_units(const at_writing *now, int64_t example) {
    const attn_prediction *prediction = now->prediction;
    for (int64_t u = 0; u < attn_prediction_units(prediction, example); u++) {
        at_put_text(now->writer, attn_prediction_unit(prediction, example, u));
        for (int o = 0; o < prediction->count; o++) {
            at_put_char(now->writer, '\t');
            put_cell(now, o, example, u, now->probabilities ? "\t" : NULL);
        }
        at_put_char(now->writer, '\n');
    }
    at_put_char(now->writer, '\n');
}

static void put_pieces(const at_writing *now, int64_t example) {
    for (int64_t w = 0; w < attn_prediction_words(now->prediction, example); w++) {
        if (w > 0) at_put_char(now->writer, ' ');
        at_put_text(now->writer, attn_prediction_word(now->prediction, example, w));
    }
    at_put_char(now->writer, '\n');
}

typedef struct ranked {
    int64_t label;
    double probability;
} ranked;

static int by_probability(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->probability != b->probability) return a->probability > b->probability ? -1 : 1;
    return (a->label > b->label) - (a->label < b->label);
}

/* All labels with their probabilities, the likeliest first; before them that it is answered with none. */
static void put_ranked(const at_writing *now, int64_t example, const at_strings *labels) {
    at_writer *writer = now->writer;
    ranked *list = at_allocate(writer->context, labels->count, sizeof *list, "probabilities");
    if (!list) {
        writer->status = ATTN_OUT_OF_MEMORY;
        return;
    }
    for (int64_t l = 0; l < labels->count; l++)
        list[l] = (ranked){l, attn_prediction_probability(now->prediction, 0, example, 0, l)};
    qsort(list, (size_t)labels->count, sizeof *list, by_probability);
    int unsure = attn_prediction_unsure(now->prediction, 0, example, 0);
    if (unsure) at_put_text(writer, at_unknown_label);
    for (int64_t i = 0; i < labels->count; i++) {
        if (i > 0 || unsure) at_put_char(writer, '\t');
        at_put_text(writer, at_string(labels, list[i].label));
        at_print(writer, "=%.4f", list[i].probability);
    }
    at_release(writer->context, list);
}

/* One example: a prediction of each output; with probabilities and one output, all its labels. */
static void put_answer(const at_writing *now, int64_t example) {
    const attn_prediction *prediction = now->prediction;
    const at_strings *labels = at_labels_of_head(prediction->answers[0]->head);
    if (now->probabilities && prediction->count == 1 && labels && labels->count > 0) {
        put_ranked(now, example, labels);
    } else {
        for (int o = 0; o < prediction->count; o++) {
            if (o > 0) at_put_char(now->writer, '\t');
            put_cell(now, o, example, 0, now->probabilities ? "=" : NULL);
        }
    }
    at_put_char(now->writer, '\n');
}

/* ---- JSON ---- */

static void json_list(const at_writing *now, const char *name, int64_t example, int64_t count,
                      const char *(*at)(const attn_prediction *, int64_t, int64_t)) {
    at_put_json(now->writer, name);
    at_put(now->writer, ":[", 2);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) at_put_char(now->writer, ',');
        at_put_json(now->writer, at(now->prediction, example, i));
    }
    at_put(now->writer, "],", 2);
}

int at_rows_put_json(const at_writing *now, int output, int64_t example, int what, at_writer *writer) {
    const attn_prediction *prediction = now->prediction;
    const at_answers *answers = prediction->answers[output];
    const at_row_kind *kind = answers->head->kind->rows;
    void (*put)(const at_answers *, int64_t, at_writer *) =
        what == AT_PUT_SPREAD ? (at_row_answers_of(answers)->spread.values ? at_spread_write : NULL)
        : what                ? kind->write_probability
                              : kind->write_json;
    if (!put) return 0; /* a number is just so likely */
    if (prediction->per_row) at_put_char(writer, '[');
    int64_t rows = prediction->per_row ? attn_prediction_units(prediction, example) : 1;
    for (int64_t u = 0; u < rows; u++) {
        if (u > 0) at_put_char(writer, ',');
        put(answers, place_of(prediction, example, u), writer);
    }
    if (prediction->per_row) at_put_char(writer, ']');
    return 1;
}

void at_put_example(const at_writing *now, int64_t example, int text) {
    const attn_dataset *dataset = now->dataset;
    at_writer *writer = now->writer;
    int64_t line = attn_dataset_line(dataset, example, 0);
    const char *id = attn_dataset_id(dataset, example);
    at_writer words = {.context = writer->context};
    if (line > 0) at_print(writer, "\"line\":%" PRId64 ",", line);
    if (id && *id) {
        at_put(writer, "\"id\":", 5);
        at_put_json(writer, id);
        at_put_char(writer, ',');
    }
    if (text && example < dataset->examples && at_dataset_text(dataset, example, &words)) {
        at_put(writer, "\"text\":", 7);
        at_put_json(writer, words.count ? words.bytes : "");
        at_put_char(writer, ',');
    }
    if (words.status != ATTN_OK) writer->status = words.status;
    at_writer_free(&words);
}

/* {NAME: answer or list of predictions, ...}; or probabilities or spread of those that have any. */
static void json_outputs(const at_writing *now, int64_t example, at_put_what what) {
    const attn_prediction *prediction = now->prediction;
    at_writer *writer = now->writer;
    int first = 1;
    at_put_char(writer, '{');
    for (int o = 0; o < prediction->count; o++) {
        const at_answers *answers = prediction->answers[o];
        int64_t before = writer->count;
        if (!first) at_put_char(writer, ',');
        at_put_json(writer, at_string(&answers->head->name, 0));
        at_put_char(writer, ':');
        if (at_rows_put_json(now, o, example, (int)what, writer))
            first = 0;
        else
            writer->count = before;
    }
    at_put_char(writer, '}');
}

static void put_json(const at_writing *now, int64_t example) {
    const attn_prediction *prediction = now->prediction;
    at_put_char(now->writer, '{');
    at_put_example(now, example, 1);
    if (prediction->piece_offsets)
        json_list(now, "words", example, attn_prediction_words(prediction, example), attn_prediction_word);
    if (prediction->per_row)
        json_list(now, "units", example, attn_prediction_units(prediction, example), attn_prediction_unit);
    at_put(now->writer, "\"outputs\":", 10);
    json_outputs(now, example, AT_PUT_ANSWERS);
    if (now->probabilities) {
        at_put(now->writer, ",\"probabilities\":", 17);
        json_outputs(now, example, AT_PUT_PROBABILITIES);
    }
    if (at_row_answers_of(prediction->answers[0])->spread.values) {
        at_put(now->writer, ",\"spread\":", 10);
        json_outputs(now, example, AT_PUT_SPREAD);
    }
    at_put(now->writer, "}\n", 2);
}

void at_rows_write(const at_writing *now, int64_t example) {
    if (now->json)
        put_json(now, example);
    else if (now->prediction->piece_offsets && !now->probabilities)
        put_pieces(now, example);
    else if (now->prediction->per_row)
        put_units(now, example);
    else
        put_answer(now, example);
}
