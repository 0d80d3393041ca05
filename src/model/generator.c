/* generator.c: the part of a network that says symbols: the decoder of seq2seq, and the map from rows to
 * symbols that seq2seq and language models end with.
 *
 *     seq2seq   embedding of the symbols so far -> norm -> decoder, which sees the encoder's rows -> scores
 *     lm        rows of the network, which see those before them -> scores
 *
 * The scores are rows times the table that embeds symbols, plus a bias, where target.tied says so and the
 * table has a row for each symbol and no other.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"
#include "tape/parameters.h"

int at_model_says_symbols(const attn_model *model) { return model->target != NULL; }

/* ---- vocabularies ---- */

/* Bytes are all there, seen or not. */
static attn_status add_all_bytes(attn_context *context, at_vocabulary *vocabulary) {
    attn_status status = ATTN_OK;
    for (int byte = 1; byte < 256 && status == ATTN_OK; byte++) {
        char text = (char)byte;
        status = at_vocabulary_add(context, vocabulary, &text, 1, 1, NULL);
    }
    return status;
}

static attn_status learn_text(at_text *text, const attn_dataset *texts) {
    attn_status status = at_text_learn(text, texts);
    if (status == ATTN_OK && text->options.unit == AT_UNIT_BYTES && text->options.exact)
        status = add_all_bytes(text->context, &text->vocabulary);
    return status;
}

attn_status at_generator_learn(attn_model *model, const attn_dataset *dataset) {
    if (model->values.task == AT_TASK_LM) return learn_text(&model->text, dataset);
    int shared = model->target == &model->text;
    attn_dataset *texts;
    attn_status status = at_dataset_sides(dataset, 1, shared, &texts);
    if (status != ATTN_OK) return status;
    status = learn_text(&model->text, texts);
    attn_dataset_destroy(texts);
    if (status != ATTN_OK || shared) return status;
    status = at_dataset_sides(dataset, 0, 1, &texts);
    if (status != ATTN_OK) return status;
    status = learn_text(&model->own_target, texts);
    attn_dataset_destroy(texts);
    return status;
}

/* ---- symbols of pairs ---- */

attn_status at_find_symbols(const at_text *text, const at_units *units, int32_t *ids) {
    char *lower = NULL;
    int64_t lower_room = 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < units->units.count && status == ATTN_OK; i++) {
        const char *unit = at_string(&units->units, i);
        size_t length = at_string_length(&units->units, i);
        if (text->options.lowercase)
            status = at_lower_case(text->context, &unit, &length, &lower, &lower_room);
        if (status == ATTN_OK) ids[i] = (int32_t)at_vocabulary_find(&text->vocabulary, unit, length);
    }
    at_release(text->context, lower);
    return status;
}

attn_status at_symbols_of(const attn_model *model, const attn_dataset *pairs, at_symbols *symbols) {
    attn_context *context = model->context;
    memset(symbols, 0, sizeof *symbols);
    attn_dataset *texts;
    attn_status status = at_dataset_sides(pairs, 0, 1, &texts);
    if (status != ATTN_OK) return status;
    at_units units = {.examples = 0};
    status = at_text_units(model->target, texts, &units);
    attn_dataset_destroy(texts);
    int32_t *ids = NULL;
    if (status == ATTN_OK) {
        ids = at_allocate(context, units.units.count + 1, sizeof *ids, "the symbols of answers");
        status = ids ? at_find_symbols(model->target, &units, ids) : ATTN_OUT_OF_MEMORY;
    }
    if (status != ATTN_OK) {
        at_release(context, ids);
        at_units_free(context, &units);
        return status;
    }
    *symbols = (at_symbols){ids, units.offsets, units.examples, units.units.count, 0};
    for (int64_t e = 0; e < units.examples; e++) {
        int64_t length = units.offsets[e + 1] - units.offsets[e];
        if (length > symbols->longest) symbols->longest = length;
    }
    units.offsets = NULL;
    at_units_free(context, &units);
    return ATTN_OK;
}

void at_symbols_free(attn_context *context, at_symbols *symbols) {
    at_release(context, symbols->ids);
    at_release(context, symbols->offsets);
    memset(symbols, 0, sizeof *symbols);
}

attn_status at_decoding_make(attn_context *context, const at_symbols *symbols, const int64_t *examples,
                             int64_t count, at_decoding *decoding) {
    int64_t rows = 0;
    for (int64_t i = 0; i < count; i++)
        rows += symbols->offsets[examples[i] + 1] - symbols->offsets[examples[i]] + 1;
    attn_status status = at_grow(context, &decoding->offsets, &decoding->offset_room, count + 1,
                                 sizeof *decoding->offsets, "the answers of a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &decoding->inputs, &decoding->input_room, rows, sizeof *decoding->inputs,
                         "the answers of a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &decoding->said, &decoding->said_room, rows, sizeof *decoding->said,
                         "the answers of a batch");
    if (status != ATTN_OK) return status;
    int64_t row = 0;
    for (int64_t i = 0; i < count; i++) {
        decoding->offsets[i] = row;
        decoding->inputs[row] = 0;
        for (int64_t s = symbols->offsets[examples[i]]; s < symbols->offsets[examples[i] + 1]; s++) {
            decoding->said[row++] = symbols->ids[s];
            decoding->inputs[row] = symbols->ids[s];
        }
        decoding->said[row++] = 0;
    }
    decoding->offsets[count] = row;
    decoding->sequences = count;
    return ATTN_OK;
}

void at_decoding_free(attn_context *context, at_decoding *decoding) {
    at_release(context, decoding->offsets);
    at_release(context, decoding->inputs);
    at_release(context, decoding->said);
    memset(decoding, 0, sizeof *decoding);
}

/* ---- making ---- */

static attn_parameter *add_bias(attn_model *model, int member, int64_t symbols) {
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_BIAS;
    options.initial = ATTN_INITIAL_ZERO;
    return attn_parameters_add(model->parameters, at_name_part(member, "symbols.bias").text, 1, &symbols,
                               &options);
}

void at_generator_build(attn_model *model, int member) {
    at_network *network = &model->networks[member];
    attn_parameters *set = model->parameters;
    int64_t columns = model->values.columns, symbols = model->target->vocabulary.strings.count;
    int whole = model->target == &model->text && at_text_features_count(&model->text) == symbols;
    attn_parameter *table = whole ? network->features : NULL;
    if (model->values.task == AT_TASK_SEQ2SEQ) {
        attn_decoder_options decoder;
        at_config_decoder(&model->values, &decoder);
        decoder.source_columns = attn_encoder_columns(network->encoder);
        if (!table)
            table = at_add_table(model, at_name_part(member, "target.symbols").text, symbols, columns);
        network->target_table = table;
        network->target_norm =
            attn_norm_create(set, at_name_part(member, "target.norm").text, ATTN_NORM_LAYER, columns);
        network->decoder = attn_decoder_create(set, at_name_part(member, "decoder").text, &decoder);
    }
    int64_t width = model->values.task == AT_TASK_LM ? attn_encoder_columns(network->encoder) : columns;
    network->symbol_table =
        model->values.tied && table && width == columns
            ? table
            : at_add_table(model, at_name_part(member, "symbols.weight").text, symbols, width);
    network->symbol_bias = add_bias(model, member, symbols);
}

/* ---- computing ---- */

attn_variable *at_generator_embed(const attn_model *model, const at_network *network, attn_tape *tape,
                                  const int32_t *ids, int64_t count) {
    attn_variable *x = attn_tape_embedding(tape, network->target_table, ids, count);
    if (model->values.embedding_rate != 1) x = attn_tape_scale(tape, x, (float)model->values.embedding_rate);
    return attn_norm_apply(tape, network->target_norm, x);
}

attn_variable *at_generator_say(const attn_model *model, const at_network *network, attn_tape *tape,
                                attn_variable *x) {
    if (model->values.embedding_rate != 1) x = attn_tape_scale(tape, x, (float)model->values.embedding_rate);
    return attn_tape_linear(tape, x, network->symbol_table, network->symbol_bias, ATTN_IDENTITY);
}

attn_variable *at_generator_scores(const attn_model *model, const at_network *network, attn_tape *tape,
                                   const at_batch *batch, const at_decoding *decoding, float *weights) {
    attn_variable *x = at_network_apply(model, network, tape, batch);
    if (decoding) {
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){decoding->sequences, decoding->offsets};
        places.source = x;
        places.source_batch = (attn_ragged){batch->sequences, batch->offsets};
        places.weights = weights;
        x = at_generator_embed(model, network, tape, decoding->inputs,
                               decoding->offsets[decoding->sequences]);
        x = attn_decoder_apply(tape, network->decoder, x, &places);
    }
    x = attn_tape_dropout(tape, x, (float)model->values.output_dropout);
    return at_generator_say(model, network, tape, x);
}

attn_variable *at_generator_loss(const attn_model *model, attn_tape *tape, const at_batch *batch,
                                 const at_decoding *decoding, const int32_t *said) {
    attn_cross_entropy_options options;
    attn_cross_entropy_options_init(&options);
    options.smoothing = (float)model->values.smoothing;
    attn_variable *sum = NULL;
    for (int member = 0; member < model->members; member++) {
        attn_variable *scores =
            at_generator_scores(model, &model->networks[member], tape, batch, decoding, NULL);
        attn_variable *loss = attn_tape_cross_entropy(tape, scores, said, &options);
        sum = member == 0 ? loss : attn_tape_add(tape, sum, loss);
    }
    return model->members == 1 ? sum : attn_tape_scale(tape, sum, 1.0f / (float)model->members);
}
