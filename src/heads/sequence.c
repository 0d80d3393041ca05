/* sequence.c: the head that predicts sequences with a decoder: symbols, targets, decoder, loss. */
#include "heads/monotone.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/stored.h"
#include "data/symbols/numbering.h"
#include "tape/parameters.h"

enum { MOST_SYMBOLS = 1000000 }; /* that target.longest can be */

/* ---- symbols ---- */

attn_status at_sequence_create(attn_context *context, at_head **head) {
    at_sequence_head *made = at_allocate(context, 1, sizeof *made, "an output");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *head = &made->head;
    return ATTN_OK;
}

void at_sequence_destroy(at_head *head) {
    at_sequence_head *own = at_sequence_of(head);
    at_symbols_free(&own->own);
    at_release(head->context, own);
}

/* Who asks for subwords, words or bytes means both sides. */
attn_status at_sequence_choose(const at_head_config *config, const attn_dataset *examples, at_unit source,
                               attn_status (*set)(void *user, const char *name, const char *value),
                               void *user) {
    at_unit unit = (at_unit)config->sequence.unit;
    attn_status status = ATTN_OK;
    if (examples->columns.count != 1 || examples->per_row) {
        return at_fail(examples->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: seq2seq learns from pairs: source TAB target, or two files",
                       attn_dataset_name(examples));
    }
    if (unit == AT_UNIT_AUTO && source != AT_UNIT_AUTO && source != AT_UNIT_CHARS &&
        source != AT_UNIT_SYMBOLS)
        unit = source;
    if (unit == AT_UNIT_AUTO) status = at_symbols_guess(examples->context, &examples->targets, &unit);
    return status == ATTN_OK ? set(user, "target.unit", at_unit_names[unit]) : status;
}

/* One vocabulary for both sides. */
static int shared(const at_head *head) {
    return head->source && head->config.sequence.shared &&
           head->source->options.unit == (at_unit)head->config.sequence.unit;
}

/* The symbols are the input's, or its own. */
static attn_status choose_symbols(at_sequence_head *own) {
    const at_head *head = &own->head;
    const at_sequence_values *values = &head->config.sequence;
    if (values->unit == AT_UNIT_AUTO)
        return at_fail(head->context, ATTN_INVALID_ARGUMENT,
                       "a model has units: text.unit and target.unit are auto before training only");
    own->longest = values->longest;
    own->own.context = head->context;
    own->own.options =
        (at_symbol_options){.unit = (at_unit)values->unit,
                            .exact = 1,
                            .lowercase = head->config.lowercase,
                            .min_count = values->min_count,
                            .subwords = values->subwords ? values->subwords : head->config.source_subwords};
    own->symbols = shared(head) ? head->source : &own->own;
    return ATTN_OK;
}

const at_strings *at_head_shares(const at_head *head, const at_strings *answers) {
    return head->kind->learn == at_sequence_learn && shared(head) ? answers : NULL;
}

/* The references, to be split. */
static attn_status split_answer(const void *user, at_splitter *splitter, int64_t place) {
    const at_strings *values = ((const at_labels *)user)->values;
    return at_split_text(splitter, at_string(values, place), at_string_length(values, place));
}

static int64_t answer_place(const void *user, int64_t place) {
    const at_strings *values = ((const at_labels *)user)->values;
    return values->count ? values->offsets[place] : 0;
}

static at_text_list answers_of(const at_labels *labels) {
    return (at_text_list){.name = labels->name,
                          .user = labels,
                          .count = labels->places,
                          .numbered = labels->places,
                          .split = split_answer,
                          .place = answer_place};
}

attn_status at_sequence_learn(at_head *head, const at_labels *labels, int column) {
    at_sequence_head *own = at_sequence_of(head);
    const at_text_list answers = answers_of(labels);
    (void)column;
    attn_status status = at_head_unbalanced(head);
    if (status == ATTN_OK) status = choose_symbols(own);
    return status == ATTN_OK && own->symbols == &own->own ? at_symbols_learn(&own->own, &answers, NULL)
                                                          : status;
}

const char *at_sequence_metric(const at_head *head) {
    at_unit unit = at_sequence_of(head)->symbols->options.unit;
    return unit == AT_UNIT_SUBWORDS || unit == AT_UNIT_WORDS ? "bleu" : "word_error_rate";
}

const at_symbols *at_sequence_symbols(const at_head *head) { return at_sequence_of(head)->symbols; }

attn_status at_sequence_store_tensors(const at_head *head, const char *prefix,
                                      at_safetensors_writer *writer) {
    return at_store_symbols(writer, prefix, "target.units", "target.merges", &at_sequence_of(head)->own);
}

attn_status at_sequence_load_tensors(at_head *head, const char *prefix, const at_safetensors *file) {
    at_sequence_head *own = at_sequence_of(head);
    attn_status status = at_name_file(head->context, file, choose_symbols(own));
    if (status != ATTN_OK || own->symbols != &own->own) return status;
    return at_load_symbols(file, prefix, "target.units", "target.merges", &own->own);
}

/* ---- targets ---- */

void at_sequence_free_targets(at_targets *targets) {
    at_sequence_targets *own = (at_sequence_targets *)(void *)targets;
    attn_context *context = targets->context;
    if (!targets->shared) {
        at_release(context, own->ids);
        at_release(context, own->offsets);
    }
    at_release(context, own->batch_examples);
    at_decoding_free(context, &own->decoding);
    at_release(context, own);
}

attn_status at_sequence_share_targets(const at_targets *targets, attn_context *context, at_targets **shared) {
    at_sequence_targets *made = at_allocate(context, 1, sizeof *made, "targets");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *made = *(const at_sequence_targets *)(const void *)targets;
    made->targets.context = context;
    made->targets.shared = 1;
    made->decoding = (at_decoding){.sequences = 0};
    made->batch_examples = NULL;
    made->batch_room = 0;
    *shared = &made->targets;
    return ATTN_OK;
}

/* From the numbers of different units to those of symbols. */
static attn_status find_symbols(const at_symbols *symbols, attn_context *context, const at_strings *units,
                                int32_t *map) {
    char *lower = NULL;
    int64_t room = 0, number = 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < units->count && status == ATTN_OK; i++) {
        status = at_symbols_find(symbols, context, at_string(units, i), at_string_length(units, i), &lower,
                                 &room, &number);
        map[i] = (int32_t)number;
    }
    at_release(context, lower);
    return status;
}

static attn_status number_answers(const at_symbols *symbols, attn_context *context,
                                  const at_text_list *answers, at_numbered *numbered) {
    attn_status status = at_number_units(context, symbols, answers, numbered);
    if (status != ATTN_OK) return status;
    int32_t *map = at_allocate(context, numbered->units.strings.count, sizeof *map, "the symbols of answers");
    status = map ? find_symbols(symbols, context, &numbered->units.strings, map) : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < numbered->count && status == ATTN_OK; i++)
        numbered->ids[i] = map[numbered->ids[i]];
    at_release(context, map);
    if (status != ATTN_OK) at_numbered_free(context, numbered);
    return status;
}

static attn_status fill_targets(const at_head *head, const at_labels *labels, at_sequence_targets *into) {
    attn_context *context = into->targets.context;
    const at_symbols *symbols = at_sequence_of(head)->symbols;
    const at_text_list answers = answers_of(labels);
    at_numbered numbered = {.count = 0};
    attn_status status = ATTN_OK;
    if (!at_symbols_take(symbols, context, labels->values, &numbered))
        status = number_answers(symbols, context, &answers, &numbered);
    if (status != ATTN_OK) return status;
    into->ids = numbered.ids;
    into->id_room = numbered.room;
    into->count = numbered.count;
    into->offsets = numbered.offsets;
    into->offset_room = numbered.offset_room;
    at_vocabulary_free(context, &numbered.units);
    for (int64_t i = 0; i < labels->places; i++)
        if (into->offsets[i + 1] - into->offsets[i] > into->longest)
            into->longest = into->offsets[i + 1] - into->offsets[i];
    into->examples = labels->places;
    into->targets.all_extra_rows = into->count + into->examples;
    return status;
}

attn_status at_sequence_targets_of(const at_head *head, const at_forward *forward, attn_context *context,
                                   const at_encoded *encoded, int column, at_targets **targets) {
    const at_labels *labels = &encoded->labels;
    if (column < 0 || labels->columns->count != 1 || labels->per_row)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.300s: has no targets: lines must be source TAB target, or give two files",
                       labels->name);
    at_sequence_targets *made = at_allocate(context, 1, sizeof *made, "targets");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->targets.context = context;
    made->most_rows = forward->longest;
    attn_status status = fill_targets(head, labels, made);
    if (status != ATTN_OK) {
        at_sequence_free_targets(&made->targets);
        return status;
    }
    *targets = &made->targets;
    return ATTN_OK;
}

int64_t at_sequence_labelled(const at_head *head, const at_encoded *encoded, const at_targets *targets) {
    (void)head;
    (void)targets;
    return encoded->examples > 0 ? 0 : -1; /* readers see to it that every pair has a target */
}

/* Predictions may become twice as long as the longest that was learned. */
static attn_status finish_learning(at_head *head, const at_targets *targets, char *name, char *value) {
    at_sequence_head *own = at_sequence_of(head);
    if (own->longest > 0) return ATTN_OK;
    int64_t longest = 2 * ((const at_sequence_targets *)(const void *)targets)->longest;
    if (longest < 10) longest = 10;
    if (longest > MOST_SYMBOLS) longest = MOST_SYMBOLS;
    own->longest = head->config.sequence.longest = longest;
    snprintf(name, AT_FIELD_TEXT_BYTES, "target.longest");
    snprintf(value, AT_FIELD_TEXT_BYTES, "%" PRId64, longest);
    return ATTN_OK;
}

static attn_status check(const at_head *head, const at_encoded *encoded, const at_targets *targets) {
    const at_sequence_targets *own = (const at_sequence_targets *)(const void *)targets;
    const attn_decoder_options *decoder = &head->config.decoder;
    for (int64_t e = 0; decoder->position == ATTN_POSITION_LEARNED && e < own->examples; e++) {
        int64_t length = own->offsets[e + 1] - own->offsets[e];
        if (length < decoder->longest) continue;
        return at_fail(head->context, ATTN_INVALID_ARGUMENT,
                       "%.200s:%" PRId64 ": the target has %" PRId64
                       " symbols; learned positions (encoder.longest) go to %" PRId64,
                       at_label_name(&encoded->labels, e), at_label_line(&encoded->labels, e), length,
                       decoder->longest);
    }
    return ATTN_OK;
}

static attn_status segments(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                            const at_targets *targets, at_segments *made) {
    const at_sequence_targets *own = (const at_sequence_targets *)(const void *)targets;
    (void)head;
    attn_status status =
        at_segments_make(encoded->context, encoded->examples, encoded->offsets, forward->longest, 0, made);
    for (int64_t s = 0; s < made->count && status == ATTN_OK; s++) {
        int64_t example = made->list[s].example;
        made->list[s].answer = own->offsets[example + 1] - own->offsets[example] + 1;
    }
    return status;
}

attn_status at_decoding_make(attn_context *context, const int32_t *ids, const int64_t *offsets,
                             const int64_t *examples, int64_t count, at_decoding *decoding) {
    int64_t rows = 0, row = 0;
    for (int64_t i = 0; i < count; i++) rows += offsets[examples[i] + 1] - offsets[examples[i]] + 1;
    attn_status status = at_grow(context, &decoding->offsets, &decoding->offset_room, count + 1,
                                 sizeof *decoding->offsets, "the answers of a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &decoding->inputs, &decoding->input_room, rows, sizeof *decoding->inputs,
                         "the answers of a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &decoding->predicted, &decoding->predicted_room, rows,
                         sizeof *decoding->predicted, "the answers of a batch");
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < count; i++) {
        decoding->offsets[i] = row;
        decoding->inputs[row] = 0;
        for (int64_t s = offsets[examples[i]]; s < offsets[examples[i] + 1]; s++) {
            decoding->predicted[row++] = ids[s];
            decoding->inputs[row] = ids[s];
        }
        decoding->predicted[row++] = 0;
    }
    decoding->offsets[count] = row;
    decoding->sequences = count;
    return ATTN_OK;
}

void at_decoding_free(attn_context *context, at_decoding *decoding) {
    at_release(context, decoding->offsets);
    at_release(context, decoding->inputs);
    at_release(context, decoding->predicted);
    memset(decoding, 0, sizeof *decoding);
}

static attn_status gather(const at_head *head, at_targets *targets, const at_segments *list,
                          const int64_t *order, int64_t count, const at_batch *batch) {
    at_sequence_targets *own = (at_sequence_targets *)(void *)targets;
    (void)head;
    (void)batch;
    attn_status status = at_grow(targets->context, &own->batch_examples, &own->batch_room, count,
                                 sizeof *own->batch_examples, "a batch");
    if (status != ATTN_OK) return status;
    for (int64_t s = 0; s < count; s++) own->batch_examples[s] = list->list[order[s]].example;
    status = at_decoding_make(targets->context, own->ids, own->offsets, own->batch_examples, count,
                              &own->decoding);
    targets->extra_rows = status == ATTN_OK ? own->decoding.offsets[count] : 0;
    return status;
}

/* The symbols of the predictions that are known, and the ends. */
static double weight(const at_head *head, const at_targets *targets, const at_segments *list,
                     const int64_t *order, int64_t count) {
    const at_sequence_targets *own = (const at_sequence_targets *)(const void *)targets;
    int64_t known = count;
    (void)head;
    for (int64_t s = 0; s < count; s++) {
        int64_t example = list->list[order[s]].example;
        for (int64_t i = own->offsets[example]; i < own->offsets[example + 1]; i++) known += own->ids[i] >= 0;
    }
    return (double)known;
}

/* ---- the layer ---- */

attn_parameter *at_symbol_table(attn_parameters *set, const char *prefix, const char *part, int64_t rows,
                                int64_t columns, double rate) {
    char name[160];
    int64_t shape[2] = {rows, columns};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_NORMAL;
    options.scale = 0.05f / (float)rate;
    snprintf(name, sizeof name, "%s%s", prefix, part);
    return attn_parameters_add(set, name, 2, shape, &options);
}

attn_parameter *at_symbol_bias(attn_parameters *set, const char *prefix, int64_t symbols) {
    char name[160];
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_BIAS;
    options.initial = ATTN_INITIAL_ZERO;
    snprintf(name, sizeof name, "%ssymbols.bias", prefix);
    return attn_parameters_add(set, name, 1, &symbols, &options);
}

static void build(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                  const at_head_offer *offer) {
    const at_symbols *symbols = at_sequence_of(head)->symbols;
    int64_t count = symbols->vocabulary.strings.count, width = head->config.decoder.columns;
    at_symbol_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[160];
    if (!layer) return;
    memset(layer, 0, sizeof *layer);
    head->layers[network] = layer;
    attn_decoder_options decoder = head->config.decoder;
    decoder.layers = head->config.sequence.layers;
    decoder.source_columns = head->config.sequence.cross ? columns : 0;
    layer->table = symbols == offer->symbols ? offer->table : NULL;
    if (!layer->table)
        layer->table = at_symbol_table(set, prefix, "target.symbols", count, width, head->rate);
    snprintf(name, sizeof name, "%starget.norm", prefix);
    layer->norm = attn_norm_create(set, name, ATTN_NORM_LAYER, width);
    snprintf(name, sizeof name, "%sdecoder", prefix);
    layer->decoder = attn_decoder_create(set, name, &decoder);
    layer->output = head->config.sequence.tied
                        ? layer->table
                        : at_symbol_table(set, prefix, "symbols.weight", count, width, head->rate);
    layer->bias = at_symbol_bias(set, prefix, count);
    if (!head->config.sequence.monotone) return;
    snprintf(name, sizeof name, "%smonotone.source", prefix);
    layer->source_map = attn_linear_create(set, name, columns, width, 1, ATTN_IDENTITY);
    snprintf(name, sizeof name, "%smonotone.symbols", prefix);
    layer->symbol_map = attn_linear_create(set, name, width, width, 0, ATTN_IDENTITY);
}

attn_variable *at_sequence_embed(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                 const int32_t *ids, int64_t count) {
    attn_variable *x = attn_tape_embedding(tape, layer->table, ids, count);
    if (head->rate != 1) x = attn_tape_scale(tape, x, (float)head->rate);
    return attn_norm_apply(tape, layer->norm, x);
}

attn_variable *at_sequence_logits(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *x) {
    if (head->rate != 1) x = attn_tape_scale(tape, x, (float)head->rate);
    return attn_tape_linear(tape, x, layer->output, layer->bias, ATTN_IDENTITY);
}

attn_variable *at_sequence_decode(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *source, const at_batch *batch, const at_decoding *decoding,
                                  float *weights) {
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){decoding->sequences, decoding->offsets};
    if (head->config.sequence.cross) {
        places.source = source;
        places.source_batch = (attn_ragged){batch->sequences, batch->offsets};
    }
    places.weights = weights;
    attn_variable *x =
        at_sequence_embed(head, layer, tape, decoding->inputs, decoding->offsets[decoding->sequences]);
    return attn_decoder_apply(tape, layer->decoder, x, &places);
}

attn_variable *at_sequence_force(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                 attn_variable *source, const at_batch *batch, const at_decoding *decoding,
                                 float *weights) {
    attn_variable *x = at_sequence_decode(head, layer, tape, source, batch, decoding, weights);
    x = attn_tape_dropout(tape, x, (float)head->config.output.dropout);
    return at_sequence_logits(head, layer, tape, x);
}

static attn_variable *loss(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                           const at_batch *batch, const at_targets *targets) {
    const at_sequence_targets *own = (const at_sequence_targets *)(const void *)targets;
    attn_cross_entropy_options options;
    attn_cross_entropy_options_init(&options);
    options.smoothing = (float)head->config.output.smoothing;
    if (head->config.sequence.monotone)
        return at_monotone_loss(head, head->layers[network], tape, x, batch, &own->decoding);
    attn_variable *logits =
        at_sequence_force(head, head->layers[network], tape, x, batch, &own->decoding, NULL);
    return attn_tape_cross_entropy(tape, logits, own->decoding.predicted, &options);
}

static void warm(const at_head *head, int network, attn_tape *tape, attn_variable *x, const at_batch *batch) {
    int64_t offsets[] = {0, 1};
    int32_t symbol = 0;
    at_decoding decoding = {.sequences = 1, .offsets = offsets, .inputs = &symbol};
    if (head->config.sequence.monotone)
        at_monotone_logits(head, head->layers[network], tape, x, batch, &decoding);
    else
        at_sequence_force(head, head->layers[network], tape, x, batch, &decoding, NULL);
}

const at_head_kind at_head_sequence = {
    .name = "sequence",
    .metrics = at_sequence_metrics,
    .settings = &at_sequence_setting_fields,
    .create = at_sequence_create,
    .destroy = at_sequence_destroy,
    .choose = at_sequence_choose,
    .learn = at_sequence_learn,
    .finish_learning = finish_learning,
    .metric = at_sequence_metric,
    .symbols = at_sequence_symbols,
    .store_tensors = at_sequence_store_tensors,
    .load_tensors = at_sequence_load_tensors,
    .targets = at_sequence_targets_of,
    .free_targets = at_sequence_free_targets,
    .share_targets = at_sequence_share_targets,
    .labelled = at_sequence_labelled,
    .check = check,
    .segments = segments,
    .build = build,
    .gather = gather,
    .weight = weight,
    .loss = loss,
    .own_dropout = 1,
    .decoder = 1,
    .whole_answers = 1,
    .warm = warm,
    .predict = at_sequence_predict,
    .free_answers = at_sequence_free_answers,
    .free_state = at_sequence_free_state,
    .report = at_sequence_report,
    .write = at_sequence_write,
    .explain = at_sequence_explain,
};
