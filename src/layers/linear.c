/* linear.c: linear maps, norms, embeddings and feed-forward, with their parameters. */
#include "layers/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tape/tape.h"

/* ---- what layers share ---- */

const char *at_layer_name(char *text, const char *prefix, const char *part) {
    snprintf(text, AT_NAME, "%s.%s", prefix, part);
    return text;
}

void *at_layer_memory(attn_parameters *set, size_t bytes) {
    void *memory = at_parameters_ready(set) ? at_parameters_memory(set, bytes) : NULL;
    if (memory) memset(memory, 0, bytes);
    return memory;
}

void *at_layer_create(attn_parameters *set, const char *name, size_t bytes) {
    if (at_parameters_ready(set) && !name)
        return at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "the name of a layer is NULL");
    return at_layer_memory(set, bytes);
}

attn_parameter *at_add_weight(attn_parameters *set, const char *prefix, const char *part, int64_t out,
                              int64_t in, int64_t fan_out, float scale) {
    char name[AT_NAME];
    int64_t shape[2] = {out, in};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.initial = ATTN_INITIAL_UNIFORM;
    options.scale = scale * sqrtf(6.0f / (float)(in + fan_out));
    return attn_parameters_add(set, at_layer_name(name, prefix, part), 2, shape, &options);
}

attn_parameter *at_add_vector(attn_parameters *set, const char *prefix, const char *part, int64_t count,
                              attn_parameter_kind kind, float value) {
    char name[AT_NAME];
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = kind;
    options.initial = ATTN_INITIAL_CONSTANT;
    options.scale = value;
    return attn_parameters_add(set, at_layer_name(name, prefix, part), 1, &count, &options);
}

/* ---- linear ---- */

struct attn_linear {
    attn_parameter *weight, *bias;
    attn_activation activation;
};

attn_linear *attn_linear_create(attn_parameters *parameters, const char *name, int64_t in, int64_t out,
                                int with_bias, attn_activation activation) {
    attn_linear *layer = at_layer_create(parameters, name, sizeof *layer);
    if (!layer || !at_layer_knows(parameters, name, "activation", (int)activation, ATTN_ELU)) return NULL;
    layer->weight = at_add_weight(parameters, name, "weight", out, in, out, 1.0f);
    if (with_bias) layer->bias = at_add_vector(parameters, name, "bias", out, ATTN_PARAMETER_BIAS, 0.0f);
    layer->activation = activation;
    return at_parameters_ready(parameters) ? layer : NULL;
}

attn_variable *attn_linear_apply(attn_tape *tape, const attn_linear *layer, attn_variable *x) {
    if (!at_tape_ready(tape)) return NULL;
    if (!layer) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "linear: the layer is NULL");
    return attn_tape_linear(tape, x, layer->weight, layer->bias, layer->activation);
}

/* ---- norm ---- */

struct attn_norm {
    attn_norm_kind kind;
    float epsilon;
    attn_parameter *gain, *bias;
};

attn_norm *attn_norm_create(attn_parameters *parameters, const char *name, attn_norm_kind kind,
                            int64_t columns) {
    return attn_norm_create_epsilon(parameters, name, kind, columns, 0.0f);
}

attn_norm *attn_norm_create_epsilon(attn_parameters *parameters, const char *name, attn_norm_kind kind,
                                    int64_t columns, float epsilon) {
    attn_norm *layer = at_layer_create(parameters, name, sizeof *layer);
    if (!layer || !at_layer_knows(parameters, name, "norm", (int)kind, ATTN_NORM_NONE)) return NULL;
    if (!(epsilon >= 0.0f) || isinf(epsilon)) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT,
                                  "%s: epsilon is %g, which is negative or NaN", name, (double)epsilon);
    }
    layer->kind = kind;
    layer->epsilon = epsilon > 0.0f ? epsilon : 1e-5f;
    if (kind != ATTN_NORM_NONE) {
        layer->gain = at_add_vector(parameters, name, "gain", columns, ATTN_PARAMETER_NORM, 1.0f);
    }
    if (kind == ATTN_NORM_LAYER) {
        layer->bias = at_add_vector(parameters, name, "bias", columns, ATTN_PARAMETER_NORM, 0.0f);
    }
    return at_parameters_ready(parameters) ? layer : NULL;
}

attn_variable *attn_norm_apply(attn_tape *tape, const attn_norm *layer, attn_variable *x) {
    if (!at_tape_ready(tape)) return NULL;
    if (!layer) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "norm: the layer is NULL");
    if (layer->kind == ATTN_NORM_NONE) return x;
    return layer->kind == ATTN_NORM_LAYER
               ? attn_tape_layer_norm(tape, x, layer->gain, layer->bias, layer->epsilon)
               : attn_tape_rms_norm(tape, x, layer->gain, layer->epsilon);
}

/* ---- embedding ---- */

struct attn_embedding {
    attn_parameter *table;
};

attn_embedding *attn_embedding_create(attn_parameters *parameters, const char *name, int64_t entries,
                                      int64_t columns) {
    attn_embedding *layer = at_layer_create(parameters, name, sizeof *layer);
    if (!layer) return NULL;
    char text[AT_NAME];
    int64_t shape[2] = {entries, columns};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_NORMAL;
    layer->table = attn_parameters_add(parameters, at_layer_name(text, name, "table"), 2, shape, &options);
    return at_parameters_ready(parameters) ? layer : NULL;
}

attn_variable *attn_embedding_apply(attn_tape *tape, const attn_embedding *layer, const int32_t *ids,
                                    int64_t count) {
    if (!at_tape_ready(tape)) return NULL;
    if (!layer) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "embedding: the layer is NULL");
    return attn_tape_embedding(tape, layer->table, ids, count);
}

/* ---- feed-forward ---- */

struct attn_feedforward {
    int64_t inner;
    int gated;
    attn_activation activation;
    attn_parameter *input, *input_bias, *output, *output_bias;
};

attn_feedforward *attn_feedforward_create(attn_parameters *parameters, const char *name, int64_t columns,
                                          int64_t inner, attn_activation activation, int gated, int with_bias,
                                          float output_scale) {
    attn_feedforward *layer = at_layer_create(parameters, name, sizeof *layer);
    if (!layer || !at_layer_knows(parameters, name, "activation", (int)activation, ATTN_ELU)) return NULL;
    int64_t rows = gated ? 2 * inner : inner;
    layer->inner = inner;
    layer->gated = gated != 0;
    layer->activation = activation;
    layer->input = at_add_weight(parameters, name, "input.weight", rows, columns, inner, 1.0f);
    layer->output = at_add_weight(parameters, name, "output.weight", columns, inner, columns, output_scale);
    if (with_bias) {
        layer->input_bias = at_add_vector(parameters, name, "input.bias", rows, ATTN_PARAMETER_BIAS, 0.0f);
        layer->output_bias =
            at_add_vector(parameters, name, "output.bias", columns, ATTN_PARAMETER_BIAS, 0.0f);
    }
    return at_parameters_ready(parameters) ? layer : NULL;
}

attn_variable *attn_feedforward_apply(attn_tape *tape, const attn_feedforward *layer, attn_variable *x) {
    if (!at_tape_ready(tape)) return NULL;
    if (!layer) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "feedforward: the layer is NULL");
    if (!layer->gated) {
        return attn_tape_feedforward(tape, x, layer->input, layer->input_bias, layer->activation,
                                     layer->output, layer->output_bias);
    }
    x = attn_tape_linear(tape, x, layer->input, layer->input_bias, ATTN_IDENTITY);
    x = attn_tape_gate(tape, attn_tape_slice(tape, x, 0, layer->inner),
                       attn_tape_slice(tape, x, layer->inner, layer->inner), layer->activation);
    return attn_tape_linear(tape, x, layer->output, layer->output_bias, ATTN_IDENTITY);
}
