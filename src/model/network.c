/* network.c: the network of a model: how it is made of the configuration, what it computes, its loss. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"
#include "tape/parameters.h"

attn_status at_model_create(attn_config *config, attn_model **model) {
    const at_config *values;
    attn_status status = at_config_values(config, &values);
    if (status != ATTN_OK) return status;
    if (values->task == AT_TASK_SEQ2SEQ &&
        (values->unit == AT_UNIT_AUTO || values->target_unit == AT_UNIT_AUTO)) {
        return at_fail(at_config_context(config), ATTN_INVALID_ARGUMENT,
                       "a model has units: text.unit and target.unit are auto before training only");
    }
    attn_config *copy;
    status = at_config_copy(config, &copy);
    if (status != ATTN_OK) return status;
    attn_context *context = at_config_context(config);
    attn_model *made = at_allocate(context, 1, sizeof *made, "a model");
    if (!made) {
        attn_config_destroy(copy);
        return ATTN_OUT_OF_MEMORY;
    }
    made->context = context;
    made->config = copy;
    made->values = *values;
    made->text.context = context;
    at_config_text(values, &made->text.options);
    made->own_target.context = context;
    at_config_target_text(values, &made->own_target.options);
    if (values->task == AT_TASK_LM || at_config_shared(values))
        made->target = &made->text;
    else if (values->task == AT_TASK_SEQ2SEQ)
        made->target = &made->own_target;
    if (made->target) made->per_token = 1;
    *model = made;
    return ATTN_OK;
}

void attn_model_destroy(attn_model *model) {
    if (!model) return;
    attn_tape_destroy(model->tape);
    attn_parameters_destroy(model->parameters);
    at_text_free(&model->text);
    at_text_free(&model->own_target);
    at_vocabulary_free(model->context, &model->pretrained.words);
    at_outputs_free(model);
    attn_config_destroy(model->config);
    at_safetensors_close(model->file);
    at_release(model->context, model->scores);
    at_release(model->context, model);
}

/* ---- making ---- */

/* Rows of a table are summed over features and then normalised, so their size counts only against the
 * optimiser's steps: small numbers, which training soon makes its own. A learning rate of their own is had by
 * storing them so many times larger: steps of Adam do not depend on the size of gradients. */
attn_parameter *at_add_table(attn_model *model, const char *name, int64_t rows, int64_t columns) {
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_NORMAL;
    options.scale = 0.05f / (float)model->values.embedding_rate;
    int64_t shape[2] = {rows, columns};
    return attn_parameters_add(model->parameters, name, 2, shape, &options);
}

/* Hashed features begin at 0: one that never occurs in training then says nothing, instead of noise. */
static void clear_hashed(attn_model *model, attn_parameter *features) {
    if (!features) return;
    attn_tensor table = attn_parameter_value(features);
    int64_t units = model->text.vocabulary.strings.count;
    memset((float *)table.data + units * table.shape[1], 0,
           (size_t)((table.shape[0] - units) * table.shape[1]) * sizeof(float));
}

static attn_parameter *add_crf(attn_model *model, const char *name, const char *part, int rank,
                               int64_t classes) {
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_BIAS;
    options.initial = ATTN_INITIAL_ZERO;
    int64_t shape[2] = {classes, classes};
    char whole[128];
    snprintf(whole, sizeof whole, "%s.%s", name, part);
    return attn_parameters_add(model->parameters, whole, rank, shape, &options);
}

at_part_name at_name_part(int member, const char *part) {
    at_part_name name;
    if (member == 0) {
        snprintf(name.text, sizeof name.text, "%s", part);
    } else {
        snprintf(name.text, sizeof name.text, "member.%d.%s", member, part);
    }
    return name;
}

static void build_output(attn_model *model, int member, int number, int64_t columns) {
    at_output *output = &model->outputs[number];
    char plain[64];
    snprintf(plain, sizeof plain, "output.%d", number);
    at_part_name name = at_name_part(member, plain);
    int64_t classes = output->kind == ATTN_OUTPUT_NUMBER ? 1 : output->labels.strings.count;
    model->networks[member].outputs[number] =
        attn_linear_create(model->parameters, name.text, columns, classes, 1, ATTN_IDENTITY);
    if (!model->values.crf || output->kind != ATTN_OUTPUT_CLASS) return;
    output->crf.transitions = add_crf(model, name.text, "transitions", 2, classes);
    output->crf.start = add_crf(model, name.text, "start", 1, classes);
    output->crf.end = add_crf(model, name.text, "end", 1, classes);
}

static void build_input(attn_model *model, int member, const attn_encoder_options *encoder) {
    at_network *network = &model->networks[member];
    attn_parameters *set = model->parameters;
    int64_t columns = model->values.columns;
    network->features = at_add_table(model, at_name_part(member, "features").text,
                                     at_text_features_count(&model->text), columns);
    if (at_parameters_start(set)) clear_hashed(model, network->features);
    if (model->pretrained.columns) {
        network->vectors_map = attn_linear_create(set, at_name_part(member, "vectors.map").text,
                                                  model->pretrained.columns, columns, 0, ATTN_IDENTITY);
    }
    network->input_norm =
        attn_norm_create(set, at_name_part(member, "input.norm").text, ATTN_NORM_LAYER, columns);
    if (!model->values.stem) return;
    attn_mixer_options stem = encoder->block.mixer;
    stem.kind = ATTN_MIXER_CNN;
    stem.columns = columns;
    stem.width = model->values.stem;
    stem.dilation = 1;
    stem.activation = ATTN_GELU;
    network->stem = attn_mixer_create(set, at_name_part(member, "stem").text, &stem);
}

static void build_network(attn_model *model, int member, const attn_encoder_options *encoder) {
    at_network *network = &model->networks[member];
    attn_parameters *set = model->parameters;
    memset(network, 0, sizeof *network);
    build_input(model, member, encoder);
    network->encoder = attn_encoder_create(set, at_name_part(member, "encoder").text, encoder);
    network->outputs = at_parameters_memory(set, (size_t)model->output_count * sizeof(attn_linear *));
    if (attn_parameters_status(set) != ATTN_OK) return;
    if (at_model_says_symbols(model)) {
        at_generator_build(model, member);
        return;
    }
    int64_t columns = attn_encoder_columns(network->encoder);
    if (!model->per_token && model->values.pool == AT_POOL_ATTENTION) {
        network->pool_score =
            attn_linear_create(set, at_name_part(member, "pool.score").text, columns, 1, 1, ATTN_IDENTITY);
    }
    if (!model->per_token && model->values.pool == AT_POOL_MEAN_MAX) columns *= 2;
    for (int i = 0; i < model->output_count; i++) build_output(model, member, i, columns);
}

static void build_networks(attn_model *model, attn_mixer_kind *kinds) {
    attn_encoder_options encoder;
    at_config_encoder(&model->values, &encoder, kinds);
    if (model->pretrained.columns) {
        model->pretrained.table =
            at_add_table(model, "vectors", model->pretrained.words.strings.count, model->pretrained.columns);
    }
    model->members = (int)model->values.members;
    for (int member = 0; member < model->members; member++) build_network(model, member, &encoder);
}

attn_status at_model_build(attn_model *model, at_safetensors *file) {
    attn_context *context = model->context;
    attn_status status = attn_parameters_create(context, (uint64_t)model->values.seed, &model->parameters);
    if (status != ATTN_OK) return status;
    attn_mixer_kind *kinds = at_allocate(context, model->values.layers, sizeof *kinds, "the mixers");
    if (!kinds) return ATTN_OUT_OF_MEMORY;
    if (file) at_parameters_from(model->parameters, at_model_stored, file);
    build_networks(model, kinds);
    at_release(context, kinds);
    status = attn_parameters_status(model->parameters);
    if (status != ATTN_OK) {
        const char *from = file ? at_safetensors_name(file) : "the configuration";
        return at_fail(context, status, "%.200s: %.280s", from, attn_parameters_error(model->parameters));
    }
    return attn_tape_create(context, &model->tape);
}

/* ---- computing ---- */

static attn_variable *pool_rows(const attn_model *model, const at_network *network, attn_tape *tape,
                                attn_variable *x, const attn_ragged *batch) {
    attn_variable *both[2];
    switch ((at_pooling)model->values.pool) {
    case AT_POOL_MEAN: return attn_tape_pool(tape, x, batch, ATTN_POOL_MEAN);
    case AT_POOL_MAX: return attn_tape_pool(tape, x, batch, ATTN_POOL_MAX);
    case AT_POOL_FIRST: return attn_tape_pool(tape, x, batch, ATTN_POOL_FIRST);
    case AT_POOL_ATTENTION:
        return attn_tape_pool_attention(tape, x, attn_linear_apply(tape, network->pool_score, x), batch);
    case AT_POOL_MEAN_MAX:
        both[0] = attn_tape_pool(tape, x, batch, ATTN_POOL_MEAN);
        both[1] = attn_tape_pool(tape, x, batch, ATTN_POOL_MAX);
        return attn_tape_concat(tape, both, 2);
    }
    return NULL;
}

attn_variable *at_network_apply(const attn_model *model, const at_network *network, attn_tape *tape,
                                const at_batch *batch) {
    const at_features *features = &batch->features;
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){batch->sequences, batch->offsets};
    attn_variable *x = attn_tape_embedding_bag(tape, network->features, features->ids, features->offsets,
                                               features->rows, ATTN_BAG_SUM);
    if (model->values.embedding_rate != 1) x = attn_tape_scale(tape, x, (float)model->values.embedding_rate);
    if (model->pretrained.columns) {
        attn_variable *vectors =
            attn_tape_embedding(tape, model->pretrained.table, batch->vector_ids, features->rows);
        x = attn_tape_add(tape, x, attn_linear_apply(tape, network->vectors_map, vectors));
    }
    x = attn_norm_apply(tape, network->input_norm, x);
    if (network->stem) {
        x = attn_tape_dropout(tape, x, (float)model->values.dropout);
        x = attn_tape_add(tape, x, attn_mixer_apply(tape, network->stem, x, &places));
    }
    x = attn_encoder_apply(tape, network->encoder, x, &places);
    return model->per_token ? x : pool_rows(model, network, tape, x, &places.batch);
}

/* x: the answer of a network. */
static attn_variable *output_loss(const attn_model *model, const at_output *output, attn_tape *tape,
                                  const at_batch *batch, attn_variable *x, const at_batch_targets *targets) {
    if (output->kind == ATTN_OUTPUT_NUMBER) return attn_tape_squared_error(tape, x, targets->numbers);
    if (output->kind == ATTN_OUTPUT_LABELS) return attn_tape_binary_cross_entropy(tape, x, targets->numbers);
    if (output->crf.transitions) {
        attn_ragged rows = {batch->sequences, batch->offsets};
        return attn_tape_crf(tape, x, &rows, &output->crf, targets->classes);
    }
    attn_cross_entropy_options options;
    attn_cross_entropy_options_init(&options);
    options.smoothing = (float)model->values.smoothing;
    options.class_weights = output->class_weights;
    return attn_tape_cross_entropy(tape, x, targets->classes, &options);
}

attn_variable *at_model_loss(const attn_model *model, attn_tape *tape, const at_batch *batch,
                             const at_batch_targets *targets) {
    attn_variable *sum = NULL;
    for (int member = 0; member < model->members; member++) {
        const at_network *network = &model->networks[member];
        attn_variable *x = at_network_apply(model, network, tape, batch);
        x = attn_tape_dropout(tape, x, (float)model->values.output_dropout);
        for (int i = 0; i < model->output_count; i++) {
            attn_variable *answer = attn_linear_apply(tape, network->outputs[i], x);
            attn_variable *loss = output_loss(model, &model->outputs[i], tape, batch, answer, &targets[i]);
            sum = member + i == 0 ? loss : attn_tape_add(tape, sum, loss);
        }
    }
    return model->members == 1 ? sum : attn_tape_scale(tape, sum, 1.0f / (float)model->members);
}
