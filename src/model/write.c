/* write.c: predictions as text: in the format of the data, as lines, or as JSON. */
#include <string.h>

#include "base/context.h"
#include "base/options.h"
#include "model/predictor.h"

void attn_write_options_init(attn_write_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/* ---- in the format of the data ---- */

static const at_writing *of(const at_cells *cells) { return cells->user; }

static const char *cell_name(const at_cells *cells, int output) {
    return at_string(&of(cells)->prediction->answers[output]->head->name, 0);
}

static int64_t cell_rows(const at_cells *cells, int64_t example) {
    return attn_prediction_units(of(cells)->prediction, example);
}

static void cell_put(const at_cells *cells, int output, int64_t example, int64_t row, at_writer *writer) {
    at_rows_put(of(cells), output, example, row, NULL, writer);
}

static int cell_likely(const at_cells *cells, int output) {
    const at_head *head = of(cells)->prediction->answers[output]->head;
    const at_strings *labels = at_labels_of_head(head);
    return of(cells)->probabilities && labels && labels->count > 0 && !head->kind->several;
}

static void cell_probability(const at_cells *cells, int output, int64_t example, int64_t row,
                             at_writer *writer) {
    const attn_prediction *prediction = of(cells)->prediction;
    int64_t label = attn_prediction_class(prediction, output, example, row);
    at_print(writer, "%.4f", attn_prediction_probability(prediction, output, example, row, label));
}

/* Whether the answers stand in the format of the data: it has room for one a row. */
static attn_status fill_in(const at_writing *now, const attn_write_options *options,
                           const attn_predictor *predictor, int *filled) {
    const at_input_kind *kind = predictor->stage->input->kind;
    const attn_prediction *prediction = now->prediction;
    *filled = 0;
    if (!kind->fill_in || !prediction->labels_rows || now->json || prediction->piece_offsets) return ATTN_OK;
    at_cells cells = {now, prediction->count, cell_name, cell_rows, cell_put, cell_likely, cell_probability};
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
    if (prediction->split) { /* its lines are not those that were given */
        now.dataset = prediction->split;
        chosen.lines = NULL;
    }
    status = fill_in(&now, &chosen, predictor, &filled);
    for (int64_t e = 0; status == ATTN_OK && !filled && e < attn_prediction_examples(prediction); e++)
        predictor->stage->heads[0]->kind->write(&now, e);
    if (status == ATTN_OK) status = writer->status;
    attn_prediction_destroy(prediction);
    if (status != ATTN_OK) return status;
    *text = writer->bytes;
    *length = (size_t)writer->count;
    return ATTN_OK;
}
