/* ctc.c: the head that predicts a sequence by a symbol or a blank for every row: its targets, layer and loss.
 */
#include "heads/ctc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "tape/parameters.h"
#include "tape/tape.h"

static const at_sequence_targets *own(const at_targets *targets) {
    return (const at_sequence_targets *)(const void *)targets;
}

/* ---- targets ---- */

static attn_status targets(const at_head *head, const at_forward *forward, attn_context *context,
                           const at_encoded *encoded, int column, at_targets **targets) {
    attn_status status = at_sequence_targets_of(head, forward, context, encoded, column, targets);
    if (status == ATTN_OK) (*targets)->all_extra_rows = 0; /* of a decoder */
    return status;
}

/* Rows that a target needs: one a symbol, and a blank between equal ones. Symbols that are not known are left
 * out. */
static int64_t rows_needed(const at_sequence_targets *of, int64_t example, int64_t *symbols) {
    int64_t rows = 0;
    int32_t last = 0;
    *symbols = 0;
    for (int64_t i = of->offsets[example]; i < of->offsets[example + 1]; i++) {
        if (of->ids[i] <= 0) continue;
        rows += 1 + (of->ids[i] == last);
        last = of->ids[i];
        ++*symbols;
    }
    return rows;
}

/* What a sequence cannot say, it cannot learn: better to hear of it than to leave it out. */
static attn_status check(const at_head *head, const at_encoded *encoded, const at_targets *targets) {
    const at_sequence_targets *of = own(targets);
    for (int64_t e = 0; e < of->examples; e++) {
        int64_t symbols, needed = rows_needed(of, e, &symbols);
        int64_t rows = encoded->offsets[e + 1] - encoded->offsets[e];
        if (rows > of->most_rows) rows = of->most_rows;
        if (rows * at_ctc_upsample(head) >= needed) continue;
        return at_fail(head->context, ATTN_INVALID_ARGUMENT,
                       "%.200s:%" PRId64 ": the target of %" PRId64 " symbols needs %" PRId64
                       " rows (one for each, one between equal neighbours), the source has %" PRId64
                       ": make rows shorter (stride, unit) or several of each (target.upsample %" PRId64
                       "), symbols longer (target.unit), or take the decoder (output.kind auto)",
                       at_label_name(&encoded->labels, e), at_label_line(&encoded->labels, e), symbols,
                       needed, rows * at_ctc_upsample(head), rows > 0 ? (needed + rows - 1) / rows : needed);
    }
    return ATTN_OK;
}

static attn_status segments(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                            const at_targets *targets, at_segments *made) {
    (void)head;
    (void)targets;
    return at_segments_make(encoded->context, encoded->examples, encoded->offsets, forward->longest, 0, made);
}

/* Of `decoding` the offsets and what is predicted count. */
static attn_status gather(const at_head *head, at_targets *targets, const at_segments *list,
                          const int64_t *order, int64_t count, const at_batch *batch) {
    at_sequence_targets *of = (at_sequence_targets *)(void *)targets;
    at_decoding *into = &of->decoding;
    int64_t symbols = 0;
    (void)head;
    (void)batch;
    for (int64_t s = 0; s < count; s++) {
        int64_t example = list->list[order[s]].example;
        symbols += of->offsets[example + 1] - of->offsets[example];
    }
    attn_status status = at_grow(targets->context, &into->offsets, &into->offset_room, count + 1,
                                 sizeof *into->offsets, "the answers of a batch");
    if (status == ATTN_OK)
        status = at_grow(targets->context, &into->predicted, &into->predicted_room, symbols,
                         sizeof *into->predicted, "the answers of a batch");
    if (status != ATTN_OK) return status;
    into->sequences = count;
    into->offsets[0] = symbols = 0;
    for (int64_t s = 0; s < count; s++) {
        int64_t example = list->list[order[s]].example;
        for (int64_t i = of->offsets[example]; i < of->offsets[example + 1]; i++)
            if (of->ids[i] > 0) into->predicted[symbols++] = of->ids[i];
        into->offsets[s + 1] = symbols;
    }
    return ATTN_OK;
}

/* The loss is the mean over all rows. */
static double weight(const at_head *head, const at_targets *targets, const at_segments *list,
                     const int64_t *order, int64_t count) {
    (void)targets;
    return (double)(at_segments_rows(list, order, count) * at_ctc_upsample(head));
}

/* ---- the layer ---- */

static void build(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                  const at_head_offer *offer) {
    at_ctc_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[160];
    (void)offer;
    if (!layer) return;
    head->layers[network] = layer;
    if (at_ctc_upsample(head) > 1) {
        snprintf(name, sizeof name, "%supsample", prefix);
        layer->hidden = attn_linear_create(set, name, columns, columns, 0, ATTN_IDENTITY);
        snprintf(name, sizeof name, "%sslots", prefix);
        layer->slots = attn_embedding_create(set, name, at_ctc_upsample(head), columns);
    }
    snprintf(name, sizeof name, "%ssymbols", prefix);
    layer->map = attn_linear_create(set, name, columns, at_sequence_symbols(head)->vocabulary.strings.count,
                                    1, ATTN_IDENTITY);
}

static attn_variable *upsample(const at_ctc_layer *layer, attn_tape *tape, attn_variable *x, int64_t times) {
    const int64_t count = x ? attn_variable_rows(x) * times : 0;
    int64_t *row_of = at_tape_memory(tape, count, sizeof *row_of);
    int32_t *slot_of = at_tape_memory(tape, count, sizeof *slot_of);
    if (!x || !row_of || !slot_of) return NULL;
    for (int64_t i = 0; i < count; i++) {
        row_of[i] = i / times;
        slot_of[i] = (int32_t)(i % times);
    }
    x = attn_tape_gather(tape, attn_linear_apply(tape, layer->hidden, x), row_of, count);
    x = attn_tape_add(tape, x, attn_embedding_apply(tape, layer->slots, slot_of, count));
    return attn_tape_activation(tape, x, ATTN_GELU);
}

attn_variable *at_ctc_logits(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                             const at_batch *batch, attn_ragged *rows) {
    const at_ctc_layer *layer = head->layers[network];
    const int64_t times = at_ctc_upsample(head);
    *rows = (attn_ragged){batch->sequences, batch->offsets};
    if (times > 1) {
        int64_t *offsets = at_tape_memory(tape, batch->sequences + 1, sizeof *offsets);
        if (!offsets) return NULL;
        for (int64_t s = 0; s <= batch->sequences; s++) offsets[s] = times * batch->offsets[s];
        rows->offsets = offsets;
        x = upsample(layer, tape, x, times);
    }
    return attn_linear_apply(tape, layer->map, x);
}

static attn_variable *loss(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                           const at_batch *batch, const at_targets *targets) {
    const at_decoding *wanted = &own(targets)->decoding;
    attn_ragged rows, symbols = {wanted->sequences, wanted->offsets};
    attn_variable *logits = at_ctc_logits(head, network, tape, x, batch, &rows);
    return attn_tape_ctc(tape, logits, &rows, wanted->predicted, &symbols, 0);
}

static void warm(const at_head *head, int network, attn_tape *tape, attn_variable *x, const at_batch *batch) {
    attn_ragged rows;
    at_ctc_logits(head, network, tape, x, batch, &rows);
}

const at_head_kind at_head_ctc = {
    .name = "ctc",
    .replaces = "sequence",
    .metrics = at_sequence_metrics,
    .settings = &at_sequence_setting_fields,
    .create = at_sequence_create,
    .destroy = at_sequence_destroy,
    .choose = at_sequence_choose,
    .learn = at_sequence_learn,
    .metric = at_sequence_metric,
    .symbols = at_sequence_symbols,
    .store_tensors = at_sequence_store_tensors,
    .load_tensors = at_sequence_load_tensors,
    .targets = targets,
    .free_targets = at_sequence_free_targets,
    .share_targets = at_sequence_share_targets,
    .labelled = at_sequence_labelled,
    .check = check,
    .segments = segments,
    .build = build,
    .gather = gather,
    .weight = weight,
    .loss = loss,
    .whole_answers = 1,
    .warm = warm,
    .predict = at_ctc_predict,
    .free_answers = at_sequence_free_answers,
    .free_state = at_ctc_free_state,
    .report = at_sequence_report,
    .write = at_sequence_write,
    .explain = at_ctc_explain,
};
