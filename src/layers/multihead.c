/* multihead.c: attention with its projections, in five forms (attn/layers.h).
 *
 * W_q, W_k and W_v of self-attention are one weight, one above the other, so
 * that they are one product; its result is cut into slices without a copy.
 */
#include "base/options.h"
#include "layers/layers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tape/tape.h"

struct attn_multihead {
    attn_multihead_options options; /* with all zeros filled in */
    attn_parameter *input, *input_bias, *query, *query_bias, *source, *source_bias, *output, *output_bias;
    attn_parameter **head, **head_bias; /* NARROW: [heads] */
    attn_parameter *score, *key_score, *fixed, *relative, *grid_relative;
    attn_parameter *edge_score, *edge_key, *edge_value; /* NULL: none */
    float *slopes;                                      /* of ALiBi */
    int64_t *bucket, reach;                             /* of RELATIVE: [2 reach + 1] */
};

void attn_multihead_options_init_sized(attn_multihead_options *options, size_t size) {
    attn_multihead_options own = {.size = sizeof own};
    own.columns = 64;
    own.heads = 4;
    own.with_bias = 1;
    own.output_scale = 1.0f;
    own.leaky_slope = 0.2f;
    own.left = own.right = ATTN_UNLIMITED;
    own.rotary_base = 10000.0f;
    own.buckets = 32;
    own.farthest = 128;
    own.longest = 512;
    at_options_give(options, size, &own, sizeof own);
}

/* SHARED: whether queries are the keys and values, too. */
static int one_map(const attn_multihead_options *o) {
    return o->score == ATTN_SCORE_GAT || o->score == ATTN_SCORE_NONE;
}

/* ---- making one ---- */

static int check_multihead(attn_parameters *set, const char *name, attn_multihead_options *o) {
    const char *wrong = NULL;
    if (!at_layer_knows(set, name, "form", (int)o->form, ATTN_HEADS_SHARED) ||
        !at_layer_knows(set, name, "score", (int)o->score, ATTN_SCORE_NONE) ||
        !at_layer_knows(set, name, "weighting", (int)o->weighting, ATTN_WEIGHTS_RAW) ||
        !at_layer_knows(set, name, "position", (int)o->position, ATTN_POSITION_GRID_RELATIVE))
        return 0;
    if (o->kv_heads == 0) o->kv_heads = o->heads;
    if (o->columns < 1 || o->heads < 1 || o->kv_heads < 1 || o->heads % o->kv_heads != 0) {
        wrong = "columns and heads are at least 1, and heads are a multiple of kv_heads";
    } else if (o->head_width == 0 && o->form != ATTN_HEADS_WIDE && o->columns % o->heads != 0) {
        wrong = "columns are not a multiple of heads, and head_width is not given";
    } else if ((o->form == ATTN_HEADS_NARROW || o->form == ATTN_HEADS_RAW) &&
               (o->columns % o->heads != 0 || o->kv_heads != o->heads || o->source_columns != 0)) {
        wrong = "NARROW and RAW split the columns evenly, without grouped heads and without a source";
    } else if (o->form == ATTN_HEADS_RAW && o->head_width != 0 && o->head_width != o->columns / o->heads) {
        wrong = "RAW heads are columns / heads wide";
    } else if (o->form == ATTN_HEADS_SHARED &&
               (o->source_columns != 0 || (one_map(o) && o->kv_heads != o->heads))) {
        wrong = "SHARED has no source, and with one map for all (GAT, NONE) no grouped heads";
    } else if (o->score == ATTN_SCORE_NONE && (o->kv_heads != o->heads || o->source_columns != 0)) {
        wrong = "fixed weights (ATTN_SCORE_NONE) are for self-attention without grouped heads";
    } else if (o->uniform && (o->score != ATTN_SCORE_NONE || o->weighting != ATTN_WEIGHTS_SOFTMAX ||
                              o->position != ATTN_POSITION_NONE)) {
        wrong = "uniform weights want ATTN_SCORE_NONE, ATTN_WEIGHTS_SOFTMAX and no position";
    } else if (o->position == ATTN_POSITION_RELATIVE &&
               (o->farthest < 1 || o->buckets < 0 ||
                (o->buckets > 0 && (o->buckets < 4 || o->buckets % 4 != 0)))) {
        wrong = "RELATIVE wants farthest >= 1 and buckets 0 or a multiple of 4";
    } else if (o->position == ATTN_POSITION_GRID_RELATIVE &&
               (o->farthest < 1 || o->farthest > 16383 || o->score == ATTN_SCORE_NONE || o->source_columns)) {
        wrong = "GRID_RELATIVE wants farthest 1 .. 16383, self-attention and scores of its own";
    } else if (o->position == ATTN_POSITION_SINUSOIDAL || o->position == ATTN_POSITION_LEARNED ||
               o->position == ATTN_POSITION_ONE_HOT || o->position == ATTN_POSITION_GRID ||
               o->position == ATTN_POSITION_GRID_LEARNED) {
        wrong = "positions that are added or concatenated belong before the layer: use attn_positions";
    }
    if (o->head_width == 0 && !wrong) {
        o->head_width = o->form == ATTN_HEADS_WIDE ? o->columns : o->columns / o->heads;
    }
    if (!wrong && o->position == ATTN_POSITION_ROTARY && o->head_width % 2 != 0) {
        wrong = "rotary positions need an even head_width";
    }
    if (wrong) at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "%s: %s", name, wrong);
    return !wrong;
}

int64_t at_relative_bucket(int64_t distance, int64_t buckets, int64_t farthest) {
    int64_t half = buckets / 2, exact = half / 2, side = distance > 0 ? half : 0;
    int64_t n = distance > 0 ? distance : -distance;
    if (n < exact || farthest <= exact) return side + (n < half ? n : half - 1);
    double step = log((double)n / (double)exact) / log((double)farthest / (double)exact);
    int64_t bucket = exact + (int64_t)(step * (double)(half - exact));
    return side + (bucket < half ? bucket : half - 1);
}

static void add_relative(attn_parameters *set, const char *name, attn_multihead *layer) {
    const attn_multihead_options *o = &layer->options;
    char text[AT_NAME];
    layer->reach = o->farthest;
    int64_t entries = 2 * layer->reach + 1;
    int64_t shape[2] = {o->heads, o->buckets ? o->buckets : entries};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_ZERO;
    layer->relative = attn_parameters_add(set, at_layer_name(text, name, "relative"), 2, shape, &options);
    if (!o->buckets) return;
    layer->bucket = at_layer_memory(set, (size_t)entries * sizeof *layer->bucket);
    for (int64_t d = 0; layer->bucket && d < entries; d++) {
        layer->bucket[d] = at_relative_bucket(d - layer->reach, o->buckets, o->farthest);
    }
}

/* Which terms edge features give: all that the score takes, unless some were requested. 0: refused. */
static int check_edges(attn_parameters *set, const char *name, attn_multihead_options *o) {
    unsigned possible = ATTN_EDGE_SCORE | ATTN_EDGE_KEY | ATTN_EDGE_VALUE;
    if (o->score == ATTN_SCORE_GAT) possible &= ~(unsigned)ATTN_EDGE_KEY;
    if (o->uniform) possible = ATTN_EDGE_VALUE;
    if (o->edge_columns == 0) return 1;
    if (o->score == ATTN_SCORE_NONE && !o->uniform) {
        at_parameters_fail(
            set, ATTN_UNSUPPORTED,
            "%s: fixed weights (ATTN_SCORE_NONE) are of positions, and edge features of graphs", name);
        return 0;
    }
    if (o->edge_columns < 0 || o->form == ATTN_HEADS_RAW) {
        at_parameters_fail(
            set, ATTN_INVALID_ARGUMENT, "%s: %" PRId64 " edge_columns%s", name, o->edge_columns,
            o->edge_columns < 0 ? "" : ": RAW heads have no maps, and so none for edge features");
        return 0;
    }
    if (o->edge_terms == 0) o->edge_terms = possible;
    if (o->edge_terms & ~possible) {
        int unknown = o->edge_terms > (ATTN_EDGE_SCORE | ATTN_EDGE_KEY | ATTN_EDGE_VALUE);
        at_parameters_fail(set, unknown ? ATTN_INVALID_ARGUMENT : ATTN_UNSUPPORTED,
                           "%s: edge_terms is %u: %s", name, o->edge_terms,
                           unknown      ? "a sum of attn_edge_term is needed"
                           : o->uniform ? "uniform weights support ATTN_EDGE_VALUE only"
                                        : "the score GAT does not support ATTN_EDGE_KEY");
        return 0;
    }
    return 1;
}

static void add_edges(attn_parameters *set, const char *name, attn_multihead *layer) {
    const attn_multihead_options *o = &layer->options;
    int64_t width = o->heads * o->head_width;
    if (o->edge_terms & ATTN_EDGE_SCORE) {
        layer->edge_score =
            at_add_weight(set, name, "edge.score.weight", o->heads, o->edge_columns, o->heads, 1.0f);
    }
    if (o->edge_terms & ATTN_EDGE_KEY) {
        layer->edge_key = at_add_weight(set, name, "edge.key.weight", width, o->edge_columns, width, 1.0f);
    }
    if (o->edge_terms & ATTN_EDGE_VALUE) {
        layer->edge_value =
            at_add_weight(set, name, "edge.value.weight", width, o->edge_columns, width, 1.0f);
    }
}

static void add_projections(attn_parameters *set, const char *name, attn_multihead *layer) {
    const attn_multihead_options *o = &layer->options;
    int64_t q = o->heads * o->head_width, kv = o->kv_heads * o->head_width;
    if (o->form == ATTN_HEADS_NARROW) {
        layer->head = at_layer_memory(set, (size_t)o->heads * sizeof *layer->head);
        layer->head_bias = at_layer_memory(set, (size_t)o->heads * sizeof *layer->head_bias);
        for (int64_t h = 0; layer->head && layer->head_bias && h < o->heads; h++) {
            char part[64];
            snprintf(part, sizeof part, "head.%" PRId64 ".input.weight", h);
            layer->head[h] =
                at_add_weight(set, name, part, 3 * o->head_width, o->columns / o->heads, o->head_width, 1.0f);
            snprintf(part, sizeof part, "head.%" PRId64 ".input.bias", h);
            if (o->with_bias) {
                layer->head_bias[h] =
                    at_add_vector(set, name, part, 3 * o->head_width, ATTN_PARAMETER_BIAS, 0.0f);
            }
        }
    } else if (o->source_columns) {
        layer->query = at_add_weight(set, name, "query.weight", q, o->columns, q, 1.0f);
        layer->source = at_add_weight(set, name, "source.weight", 2 * kv, o->source_columns, kv, 1.0f);
        if (o->with_bias) {
            layer->query_bias = at_add_vector(set, name, "query.bias", q, ATTN_PARAMETER_BIAS, 0.0f);
            layer->source_bias = at_add_vector(set, name, "source.bias", 2 * kv, ATTN_PARAMETER_BIAS, 0.0f);
        }
    } else { /* fixed weights need values only */
        int shared = o->form == ATTN_HEADS_SHARED;
        int64_t rows = o->score == ATTN_SCORE_NONE || (shared && one_map(o)) ? kv
                       : shared                                              ? q + kv
                                                                             : q + 2 * kv;
        layer->input = at_add_weight(set, name, "input.weight", rows, o->columns, q, 1.0f);
        if (o->with_bias) {
            layer->input_bias = at_add_vector(set, name, "input.bias", rows, ATTN_PARAMETER_BIAS, 0.0f);
        }
    }
    if (o->form == ATTN_HEADS_SHARED) return;
    layer->output = at_add_weight(set, name, "output.weight", o->columns, q, o->columns, o->output_scale);
    if (o->with_bias) {
        layer->output_bias = at_add_vector(set, name, "output.bias", o->columns, ATTN_PARAMETER_BIAS, 0.0f);
    }
}

attn_multihead *attn_multihead_create(attn_parameters *parameters, const char *name,
                                      const attn_multihead_options *options) {
    attn_multihead *layer = at_layer_create(parameters, name, sizeof *layer);
    if (!layer || !at_take_multihead(parameters, name, options, &layer->options)) return NULL;
    attn_multihead_options *o = &layer->options;
    if (!check_multihead(parameters, name, o) || !check_edges(parameters, name, o)) return NULL;
    if (o->form != ATTN_HEADS_RAW) add_projections(parameters, name, layer);
    if (o->score == ATTN_SCORE_ADDITIVE || o->score == ATTN_SCORE_GAT || o->score == ATTN_SCORE_GATV2) {
        layer->score = at_add_weight(parameters, name, "score", o->heads, o->head_width, 1, 1.0f);
    }
    if (o->score == ATTN_SCORE_GAT) {
        layer->key_score = at_add_weight(parameters, name, "key_score", o->heads, o->head_width, 1, 1.0f);
    }
    if (o->score == ATTN_SCORE_NONE && !o->uniform) {
        char text[AT_NAME];
        int64_t shape[3] = {o->heads, o->longest, o->longest};
        attn_parameter_options zero;
        attn_parameter_options_init(&zero);
        zero.kind = ATTN_PARAMETER_EMBEDDING;
        zero.initial = ATTN_INITIAL_ZERO;
        layer->fixed = attn_parameters_add(parameters, at_layer_name(text, name, "fixed"), 3, shape, &zero);
    }
    if (o->edge_columns) add_edges(parameters, name, layer);
    if (o->position == ATTN_POSITION_RELATIVE) add_relative(parameters, name, layer);
    if (o->position == ATTN_POSITION_GRID_RELATIVE)
        layer->grid_relative = at_grid_relative_create(parameters, name, o->heads, o->farthest);
    if (o->position == ATTN_POSITION_ALIBI) {
        layer->slopes = at_layer_memory(parameters, (size_t)o->heads * sizeof(float));
        for (int64_t h = 0; layer->slopes && h < o->heads; h++) {
            layer->slopes[h] = (float)exp2(-8.0 * (double)(h + 1) / (double)o->heads);
        }
    }
    return at_parameters_ready(parameters) ? layer : NULL;
}

/* ---- applying it ---- */

const attn_multihead_options *at_multihead_options(const attn_multihead *layer) { return &layer->options; }

static attn_variable *rotate(attn_tape *tape, const attn_multihead *layer, attn_variable *x, int64_t heads,
                             const attn_ragged *batch, const int64_t *first) {
    if (layer->options.position != ATTN_POSITION_ROTARY) return x;
    return attn_tape_rotary(tape, x, heads, batch, first, layer->options.rotary_base);
}

int at_multihead_project(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                         const attn_ragged *batch, const int64_t *first, attn_variable **query,
                         attn_variable **key, attn_variable **value) {
    const attn_multihead_options *o = &layer->options;
    int64_t q = o->heads * o->head_width, kv = o->kv_heads * o->head_width;
    attn_variable *all = attn_tape_linear(tape, x, layer->input, layer->input_bias, ATTN_IDENTITY);
    if (o->score == ATTN_SCORE_NONE) {
        *query = *key = *value = all;
        return all != NULL;
    }
    if (o->form == ATTN_HEADS_SHARED) {
        *value = one_map(o) ? all : attn_tape_slice(tape, all, q, kv);
        *key = rotate(tape, layer, *value, o->kv_heads, batch, first);
        *query =
            one_map(o) ? *key : rotate(tape, layer, attn_tape_slice(tape, all, 0, q), o->heads, batch, first);
        return attn_tape_status(tape) == ATTN_OK;
    }
    *query = rotate(tape, layer, attn_tape_slice(tape, all, 0, q), o->heads, batch, first);
    *key = rotate(tape, layer, attn_tape_slice(tape, all, q, kv), o->kv_heads, batch, first);
    *value = attn_tape_slice(tape, all, q + kv, kv);
    return attn_tape_status(tape) == ATTN_OK;
}

attn_variable *at_multihead_query(attn_tape *tape, const attn_multihead *layer, attn_variable *x) {
    return attn_tape_linear(tape, x, layer->query, layer->query_bias, ATTN_IDENTITY);
}

int at_multihead_source(attn_tape *tape, const attn_multihead *layer, attn_variable *source,
                        attn_variable **key, attn_variable **value) {
    int64_t kv = layer->options.kv_heads * layer->options.head_width;
    attn_variable *all = attn_tape_linear(tape, source, layer->source, layer->source_bias, ATTN_IDENTITY);
    *key = attn_tape_slice(tape, all, 0, kv);
    *value = attn_tape_slice(tape, all, kv, kv);
    return attn_tape_status(tape) == ATTN_OK;
}

attn_variable *at_multihead_output(attn_tape *tape, const attn_multihead *layer, attn_variable *x) {
    return attn_tape_linear(tape, x, layer->output, layer->output_bias, ATTN_IDENTITY);
}

/* Each piece of x projected alone; the heads' queries side by side, and so on. */
static int project_narrow(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                          const attn_places *places, attn_variable **query, attn_variable **key,
                          attn_variable **value) {
    const attn_multihead_options *o = &layer->options;
    int64_t piece = o->columns / o->heads, width = o->head_width;
    attn_variable **parts[3], *whole[3];
    for (int p = 0; p < 3; p++) {
        parts[p] = at_tape_memory(tape, o->heads, sizeof **parts);
        if (!parts[p]) return 0;
    }
    for (int64_t h = 0; h < o->heads; h++) {
        attn_variable *all = attn_tape_linear(tape, attn_tape_slice(tape, x, h * piece, piece),
                                              layer->head[h], layer->head_bias[h], ATTN_IDENTITY);
        for (int p = 0; p < 3; p++) parts[p][h] = attn_tape_slice(tape, all, p * width, width);
    }
    for (int p = 0; p < 3; p++) whole[p] = attn_tape_concat(tape, parts[p], (int)o->heads);
    *query = rotate(tape, layer, whole[0], o->heads, &places->batch, places->first);
    *key = rotate(tape, layer, whole[1], o->heads, &places->batch, places->first);
    *value = whole[2];
    return attn_tape_status(tape) == ATTN_OK;
}

attn_variable *at_multihead_operator(attn_tape *tape, const attn_multihead *layer,
                                     attn_attention_options *options) {
    const attn_multihead_options *o = &layer->options;
    attn_attention_options_init(options);
    options->scale = o->scale;
    options->softcap = o->softcap;
    options->score = o->score;
    options->weighting = o->weighting;
    options->average = o->average;
    options->leaky_slope = o->leaky_slope;
    options->dropout = o->dropout;
    options->alibi_slopes = layer->slopes;
    if (!layer->relative) return NULL;
    attn_variable *bias = attn_tape_parameter(tape, layer->relative);
    return layer->bucket ? attn_tape_gather_columns(tape, bias, layer->bucket, 2 * layer->reach + 1) : bias;
}

static attn_pattern pattern_of(const attn_multihead *layer, const attn_places *places) {
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    if (places->graph) {
        pattern.graph = places->graph;
        return pattern;
    }
    pattern.sequences = places->batch.sequences;
    pattern.query_offsets = places->batch.offsets;
    if (places->source) pattern.key_offsets = places->source_batch.offsets;
    pattern.left = layer->options.left;
    pattern.right = layer->options.right;
    return pattern;
}

static int check_graph(attn_tape *tape, const attn_multihead *layer, const attn_places *places) {
    int64_t columns = layer->options.edge_columns;
    if ((places->edges != NULL) != (columns != 0)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "multihead: %s",
                     places->edges ? "places.edges is given to a layer made without edge_columns"
                                   : "the layer was made with edge_columns, and places.edges is NULL");
    } else if (places->edges && !places->graph) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "multihead: places.edges is given without places.graph");
    } else if (places->edges && (places->edges->rows != attn_graph_edges(places->graph) ||
                                 places->edges->columns != columns)) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "multihead: places.edges is %" PRId64 " x %" PRId64 ", the graph has %" PRId64
                     " edges and the layer %" PRId64 " edge_columns",
                     places->edges->rows, places->edges->columns, attn_graph_edges(places->graph), columns);
    }
    return at_tape_ready(tape);
}

static int check_places(attn_tape *tape, const attn_multihead *layer, const attn_variable *x,
                        const attn_places *places) {
    if (!at_tape_has(tape, "multihead", "x", x)) return 0;
    if (!layer) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "multihead: the layer is NULL");
        return 0;
    }
    if (x->columns != layer->options.columns) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH, "multihead: x has %" PRId64 " columns, the layer %" PRId64,
                     x->columns, layer->options.columns);
        return 0;
    }
    if ((places->source != NULL) != (layer->options.source_columns != 0)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "multihead: %s",
                     places->source ? "a source is given to a layer of self-attention"
                                    : "the layer was made for a source, and none is given");
        return 0;
    }
    if (!check_graph(tape, layer, places)) return 0;
    if (!places->graph && !at_tape_has_batch(tape, "multihead", &places->batch, x->rows, NULL)) return 0;
    return !places->source || places->graph ||
           at_tape_has_batch(tape, "multihead", &places->source_batch, places->source->rows, NULL);
}

static attn_variable *map_edges(attn_tape *tape, attn_variable *edges, attn_parameter *weight) {
    return weight ? attn_tape_linear(tape, edges, weight, NULL, ATTN_IDENTITY) : NULL;
}

/* Queries, keys and values of self-attention in any form. */
static int project_self(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                        const attn_places *places, attn_variable **query, attn_variable **key,
                        attn_variable **value) {
    if (layer->options.form == ATTN_HEADS_NARROW) {
        return project_narrow(tape, layer, x, places, query, key, value);
    }
    if (layer->options.form == ATTN_HEADS_RAW) {
        *query = *key = *value = x;
        return 1;
    }
    return at_multihead_project(tape, layer, x, &places->batch, places->first, query, key, value);
}

static void tell(attn_tape *tape, const attn_multihead *layer, attn_variable *x, attn_variable *source,
                 attn_variable *result) {
    const at_observer *observer = at_tape_observer(tape);
    at_layer_seen seen = {.x = x,
                          .source = source,
                          .result = result,
                          .input = layer->input,
                          .input_bias = layer->input_bias,
                          .query = layer->query,
                          .query_bias = layer->query_bias,
                          .key_value = layer->source,
                          .key_value_bias = layer->source_bias,
                          .output = layer->output,
                          .output_bias = layer->output_bias,
                          .rotated = layer->options.position == ATTN_POSITION_ROTARY,
                          .shared = layer->options.form == ATTN_HEADS_SHARED};
    observer->layer(observer->user, tape, &seen);
}

attn_variable *attn_multihead_apply(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                    const attn_places *places) {
    return at_multihead_activated(tape, layer, x, places, ATTN_IDENTITY);
}

attn_variable *at_multihead_activated(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                      const attn_places *places, attn_activation activation) {
    if (!at_tape_ready(tape)) return NULL;
    places = at_places_ready(tape, "multihead", places);
    if (!places || !check_places(tape, layer, x, places)) return NULL;
    const attn_multihead_options *o = &layer->options;
    attn_variable *query, *key, *value;
    int projected;
    if (places->source) {
        query = at_multihead_query(tape, layer, x);
        projected = at_multihead_source(tape, layer, places->source, &key, &value);
    } else {
        projected = project_self(tape, layer, x, places, &query, &key, &value);
    }
    if (!projected) return NULL;
    attn_pattern pattern = pattern_of(layer, places);
    attn_attention_options options;
    attn_attention_inputs inputs;
    attn_attention_inputs_init(&inputs);
    inputs.heads = o->heads;
    inputs.kv_heads = o->kv_heads;
    inputs.pattern = &pattern;
    inputs.distance_bias = at_multihead_operator(tape, layer, &options);
    inputs.options = &options;
    inputs.weights = places->weights;
    if (!layer->output) inputs.activation = activation;
    if (layer->score) inputs.score_vector = attn_tape_parameter(tape, layer->score);
    if (layer->key_score) inputs.key_score_vector = attn_tape_parameter(tape, layer->key_score);
    if (layer->fixed) {
        int64_t shape[4] = {1, o->heads, o->longest, o->longest};
        inputs.bias = attn_tape_parameter(tape, layer->fixed);
        memcpy(inputs.bias_shape, shape, sizeof shape);
    }
    if (layer->grid_relative && !at_grid_relative_apply(tape, layer->grid_relative, o->farthest, x->rows,
                                                        places, &inputs, &options)) {
        return NULL;
    }
    if (places->edges) {
        inputs.edge_bias = map_edges(tape, places->edges, layer->edge_score);
        inputs.edge_key = map_edges(tape, places->edges, layer->edge_key);
        inputs.edge_value = map_edges(tape, places->edges, layer->edge_value);
    }
    attn_variable *y = attn_tape_attention(tape, query, key, value, &inputs);
    if (layer->output) y = at_multihead_output(tape, layer, y);
    if (y && at_tape_observer(tape)) tell(tape, layer, x, places->source, y);
    if (!layer->output) return y;
    return activation == ATTN_IDENTITY ? y : attn_tape_activation(tape, y, activation);
}

/* ---- the next rows of a sequence ---- */

/* rows x (heads * width) as rows x heads x width. */
static attn_tensor heads_of(const attn_variable *x, int64_t heads) {
    attn_tensor t = attn_tensor_rows(x->data, x->rows, heads, x->columns / heads);
    t.stride[0] = x->stride;
    return t;
}

static void append(attn_tape *tape, const attn_variable *x, int64_t first, float *kept) {
    at_tape_did(tape,
                at_numbers_copy(at_tape_context(tape), at_data_of(x), kept + first * x->columns, x->columns));
}

static attn_tensor tensor_of(const attn_parameter *parameter) {
    return attn_tensor_view(parameter->value, parameter->rank, parameter->shape);
}

/* The operator's options for queries from position `first` on; 0 with the error set. */
static int step_options(attn_tape *tape, const attn_multihead *layer, int64_t first, int64_t rows,
                        attn_attention_options *options) {
    const attn_multihead_options *o = &layer->options;
    attn_variable *distance = at_multihead_operator(tape, layer, options);
    options->dropout = 0.0f;
    if (distance) {
        options->distance_bias = attn_tensor_matrix(distance->data, distance->rows, distance->columns);
    }
    if (layer->score) options->score_vector = tensor_of(layer->score);
    if (layer->key_score) options->key_score_vector = tensor_of(layer->key_score);
    if (layer->fixed) { /* the weights of these queries are further down */
        if (rows > o->longest) {
            at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                         "multihead: row %" PRId64 " has no fixed weights, there are those of %" PRId64
                         " positions: make the layer with a larger `longest`",
                         rows - 1, o->longest);
            return 0;
        }
        int64_t shape[4] = {1, o->heads, rows - first, rows};
        options->bias = attn_tensor_view(layer->fixed->value + first * o->longest, 4, shape);
        options->bias.stride[1] = o->longest * o->longest;
        options->bias.stride[2] = o->longest;
    }
    return attn_tape_status(tape) == ATTN_OK;
}

attn_variable *at_multihead_step(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                 int64_t first, float *keys, float *values) {
    const attn_multihead_options *o = &layer->options;
    int64_t offsets[2] = {0, x->rows}, rows = first + x->rows;
    attn_places places = {.size = sizeof places, .batch = {1, offsets}, .first = &first};
    attn_variable *query, *key, *value;
    attn_attention_options options;
    if (!step_options(tape, layer, first, rows, &options) ||
        !project_self(tape, layer, x, &places, &query, &key, &value)) {
        return NULL;
    }
    append(tape, value, first, values);
    if (keys != values) append(tape, key, first, keys);
    attn_variable *y = at_result(tape, x->rows, o->heads * o->head_width);
    if (!y) return NULL;
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.left = o->left;
    pattern.right = o->right;
    pattern.align = ATTN_ALIGN_END;
    attn_tensor q = heads_of(query, o->heads), output = heads_of(y, o->heads);
    attn_tensor k = attn_tensor_rows(keys, rows, o->kv_heads, o->head_width);
    attn_tensor v = attn_tensor_rows(values, rows, o->kv_heads, o->head_width);
    at_attention_forward_call call = {
        .pattern = &pattern, .options = &options, .query = &q, .key = &k, .value = &v, .output = &output};
    if (!at_tape_did(tape, at_tape_run(tape)->attention(at_tape_context(tape), &call))) return NULL;
    return layer->output ? at_multihead_output(tape, layer, y) : y;
}
