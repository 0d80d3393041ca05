/* write.c: predictions as text: in the format of the data, as lines, or as JSON. */
#include <string.h>

#include "base/context.h"
#include "base/options.h"
#include "model/predictor.h"

void attn_write_options_init_sized(attn_write_options *options, size_t size) {
    attn_write_options own = {.size = sizeof own};
    at_options_give(options, size, &own, sizeof own);
}

/* ---- in the format of the data ---- */

static const at_writing *of(const at_cells *cells) { return cells->user; }

static const char *cell_name(const at_cells *cells, int output) {
    return at_string(&of(cells)->prediction->answers[output]->head->name, 0);
}

static int64_t cell_rows(const at_cells *cells, int64_t example) {
    return attn_prediction_units(of(cells)->prediction, example);
}

/* Several labels are there with their probabilities, as one column cannot hold those. */
static void cell_put(const at_cells *cells, int output, int64_t example, int64_t row, at_writer *writer) {
    const attn_prediction *prediction = of(cells)->prediction;
    const at_head_kind *kind = prediction->answers[output]->head->kind;
    int several = kind->several && of(cells)->probabilities && !prediction->labels_rows;
    if (kind->rows)
        at_rows_put(of(cells), output, example, row, several ? "=" : NULL, writer);
    else
        at_put_text(writer, attn_prediction_text(prediction, example, 0));
}

static int cell_likely(const at_cells *cells, int output) {
    const at_head *head = of(cells)->prediction->answers[output]->head;
    const at_strings *labels = at_labels_of_head(head);
    return of(cells)->probabilities && labels && labels->count > 0 && !head->kind->several;
}

static double cell_number(const at_cells *cells, int output, int64_t example, int64_t row) {
    const attn_prediction *prediction = of(cells)->prediction;
    int64_t label = attn_prediction_class(prediction, output, example, row);
    return attn_prediction_probability(prediction, output, example, row, label);
}

static void cell_probability(const at_cells *cells, int output, int64_t example, int64_t row,
                             at_writer *writer) {
    at_print(writer, "%.4f", cell_number(cells, output, example, row));
}

/* Predictions that are texts: the best, or, if several are requested, all with their log-probabilities. */
static void put_texts(const attn_prediction *prediction, int64_t example, at_writer *writer) {
    int64_t count = attn_prediction_hypotheses(prediction, example);
    if (count <= 1) {
        const char *text = attn_prediction_text(prediction, example, 0);
        at_put_json(writer, text ? text : "");
        return;
    }
    for (int64_t h = 0; h < count; h++) {
        at_put(writer, h > 0 ? ",{\"text\":" : "[{\"text\":", 9);
        at_put_json(writer, attn_prediction_text(prediction, example, h));
        at_put(writer, ",\"log_probability\":", 19);
        at_put_number(writer, attn_prediction_log_probability(prediction, example, h), 6);
        at_put_char(writer, '}');
    }
    at_put_char(writer, ']');
}

static void cell_json(const at_cells *cells, int output, int64_t example, at_writer *writer) {
    const attn_prediction *prediction = of(cells)->prediction;
    if (prediction->answers[output]->head->kind->rows)
        at_rows_put_json(of(cells), output, example, 0, writer);
    else
        put_texts(prediction, example, writer);
}

static int cell_json_probability(const at_cells *cells, int output, int64_t example, at_writer *writer) {
    const attn_prediction *prediction = of(cells)->prediction;
    if (!of(cells)->probabilities || !prediction->answers[output]->head->kind->rows) return 0;
    return at_rows_put_json(of(cells), output, example, 1, writer);
}

static void put_list(const attn_prediction *prediction, int64_t example, int64_t count,
                     const char *(*at)(const attn_prediction *, int64_t, int64_t), at_writer *writer) {
    at_put_char(writer, '[');
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) at_put_char(writer, ',');
        at_put_json(writer, at(prediction, example, i));
    }
    at_put_char(writer, ']');
}

static void cell_json_rows(const at_cells *cells, int64_t example, at_writer *writer) {
    const attn_prediction *prediction = of(cells)->prediction;
    put_list(prediction, example, attn_prediction_units(prediction, example), attn_prediction_unit, writer);
}

/* The same for an example that was split: lists of what its sentences have. */

static void nested_rows(const at_cells *cells, int64_t example, at_writer *writer) {
    const int64_t *first = of(cells)->prediction->split_offsets;
    at_put_char(writer, '[');
    for (int64_t e = first[example]; e < first[example + 1]; e++) {
        if (e > first[example]) at_put_char(writer, ',');
        cell_json_rows(cells, e, writer);
    }
    at_put_char(writer, ']');
}

static int put_nested(const at_cells *cells, int output, int64_t example, int probabilities,
                      at_writer *writer) {
    const int64_t *first = of(cells)->prediction->split_offsets;
    at_put_char(writer, '[');
    for (int64_t e = first[example]; e < first[example + 1]; e++) {
        if (e > first[example]) at_put_char(writer, ',');
        if (!at_rows_put_json(of(cells), output, e, probabilities, writer)) return 0;
    }
    at_put_char(writer, ']');
    return 1;
}

static void nested_json(const at_cells *cells, int output, int64_t example, at_writer *writer) {
    put_nested(cells, output, example, 0, writer);
}

static int nested_probability(const at_cells *cells, int output, int64_t example, at_writer *writer) {
    return of(cells)->probabilities && put_nested(cells, output, example, 1, writer);
}

static int cell_json_pieces(const at_cells *cells, int64_t example, at_writer *writer) {
    const attn_prediction *prediction = of(cells)->prediction;
    if (!prediction->piece_offsets) return 0;
    put_list(prediction, example, attn_prediction_words(prediction, example), attn_prediction_word, writer);
    return 1;
}

void at_predictor_cells(const attn_predictor *predictor, const at_writing *now, at_cells *cells) {
    const attn_prediction *prediction = now->prediction;
    *cells = (at_cells){.user = now,
                        .outputs = prediction->count,
                        .name = cell_name,
                        .rows = cell_rows,
                        .put = cell_put,
                        .likely = cell_likely,
                        .put_probability = cell_probability,
                        .probability = cell_number,
                        .encoded = prediction->encoded,
                        .whole = now->dataset ? now->dataset->examples : 1,
                        .json = now->json,
                        .more = attn_prediction_hypotheses(prediction, 0) > 1 ||
                                at_setting_on(predictor, "alignment"),
                        .per_row = prediction->labels_rows,
                        .parts = prediction->piece_offsets != NULL,
                        .put_json = cell_json,
                        .put_json_probability = cell_json_probability,
                        .put_json_rows = cell_json_rows,
                        .put_json_pieces = cell_json_pieces};
}

/* Whether the predictions are in the format of the data: it has room for them. */
static attn_status fill_in(const at_writing *now, const attn_write_options *options,
                           const attn_predictor *predictor, int *filled) {
    const at_input_kind *kind = predictor->stage->input->kind;
    const attn_prediction *prediction = now->prediction;
    const at_head_kind *head = prediction->answers[0]->head->kind;
    at_cells cells;
    *filled = 0;
    if (!kind->fill_in || head->running || (now->json && !kind->fills_json) || options->plain) return ATTN_OK;
    at_predictor_cells(predictor, now, &cells);
    if (options->whole > 0) {
        cells.first = options->first;
        cells.whole = options->whole;
    }
    if (prediction->split && now->dataset != prediction->split) {
        cells.nested = 1;
        cells.put_json = nested_json;
        cells.put_json_probability = nested_probability;
        cells.put_json_rows = nested_rows;
    }
    return kind->fill_in(now->dataset, predictor->input_settings, options->lines, options->length, &cells,
                         now->writer, filled);
}

/* ---- all of it ---- */

attn_status attn_predictor_write(attn_predictor *predictor, const attn_dataset *dataset,
                                 const attn_write_options *options, const char **text, size_t *length) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_write_options chosen;
    char reason[AT_OPTIONS_TEXT];
    attn_write_options_init(&chosen);
    if (!dataset || !text || !length)
        return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "dataset, text or length is NULL");
    attn_status status =
        at_options_take("write options", "attn_write_options_init", options,
                        AT_FIRST_SIZE(attn_write_options, length), sizeof chosen, &chosen, reason);
    if (status != ATTN_OK) return at_fail(predictor->context, status, "%s", reason);
    attn_prediction *prediction;
    status = attn_predictor_predict(predictor, dataset, &prediction);
    if (status != ATTN_OK) return status;
    at_writer *writer = &predictor->written;
    writer->count = 0;
    writer->status = ATTN_OK;
    writer->terminal = chosen.terminal;
    at_put(writer, "", 0);
    at_writing now = {.prediction = prediction,
                      .dataset = dataset,
                      .json = chosen.json,
                      .probabilities = at_setting_on(predictor, "probs"),
                      .writer = writer};
    int filled;
    status = fill_in(&now, &chosen, predictor, &filled);
    if (prediction->split && status == ATTN_OK && !filled) { /* its lines are not those that were given */
        now.dataset = prediction->split;
        chosen.lines = NULL;
        status = fill_in(&now, &chosen, predictor, &filled);
    }
    for (int64_t e = 0; status == ATTN_OK && !filled && e < attn_prediction_examples(prediction); e++)
        predictor->stage->heads[0]->kind->write(&now, e);
    if (status == ATTN_OK) status = writer->status;
    attn_prediction_destroy(prediction);
    if (status != ATTN_OK) return status;
    *text = writer->bytes;
    *length = (size_t)writer->count;
    return ATTN_OK;
}
