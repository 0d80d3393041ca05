/* capture.c: see the header. */
#include "explain/capture.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

/* An attention of a pass that is differentiated; variables last until the tape begins again. */
typedef struct at_seen {
    int64_t map;
    attn_variable *value, *output;
    int64_t heads, kv_heads;
    attn_activation activation;
    attn_tensor edge_value;
    const attn_graph *graph;
} at_seen;

static int fine(at_capture *capture, attn_status status) {
    if (capture->status == ATTN_OK) capture->status = status;
    return capture->status == ATTN_OK;
}

static void *take(at_capture *capture, int64_t count, size_t bytes) {
    void *memory = at_allocate(capture->into->context, count, bytes, "an explanation");
    if (!memory) fine(capture, ATTN_OUT_OF_MEMORY);
    return memory;
}

/* Numbers of the backend as numbers of the host; NULL with the status set. */
static float *copy_numbers(at_capture *capture, const float *numbers, int64_t rows, int64_t columns,
                           int64_t stride) {
    float *copy = take(capture, rows * columns, sizeof *copy);
    at_view view = at_view_of((float *)(uintptr_t)numbers, rows, columns, stride);
    if (copy && rows * columns > 0 && !fine(capture, at_host_read(capture->into->context, view, copy))) {
        at_release(capture->into->context, copy);
        copy = NULL;
    }
    return copy;
}

static float *copy_variable(at_capture *capture, const attn_variable *x) {
    return copy_numbers(capture, x->data, x->rows, x->columns, x->stride);
}

/* ---- maps ---- */

static attn_map_part part_of(const at_capture *capture, const at_attention_seen *seen) {
    if (capture->phase == AT_CAPTURE_ENCODER) return ATTN_MAP_ENCODER;
    return seen->pattern->key_offsets ? ATTN_MAP_SOURCE : ATTN_MAP_DECODER;
}

static attn_map *add_map(at_capture *capture, attn_map_part part) {
    attn_explanation *into = capture->into;
    attn_status status = at_grow(into->context, &into->maps, &capture->map_room, into->map_count + 1,
                                 sizeof *into->maps, "an explanation");
    if (!fine(capture, status)) return NULL;
    attn_map *map = &into->maps[into->map_count++];
    memset(map, 0, sizeof *map);
    map->part = part;
    int64_t number = capture->part_counts[part];
    map->layer = part == ATTN_MAP_ENCODER && capture->layers ? capture->layers[number] : number;
    return map;
}

static attn_tensor shape_of(const attn_variable *x, int64_t heads) {
    return attn_tensor_rows(x->data, x->rows, heads, x->columns / heads);
}

/* The entries of a graph by query. */
static void shape_graph(at_capture *capture, const attn_graph *graph, attn_map *map) {
    int64_t rows = attn_graph_rows(graph), edges = attn_graph_edges(graph);
    int64_t *first = take(capture, rows + 1, sizeof *first), *keys = take(capture, edges, sizeof *keys);
    map->first = first;
    map->key_of = keys;
    map->keys = attn_graph_columns(graph);
    map->entries = edges;
    if (!first || !keys) return;
    memcpy(first, attn_graph_row_offsets(graph), (size_t)(rows + 1) * sizeof *first);
    for (int64_t e = 0; e < edges; e++) keys[e] = attn_graph_column_indices(graph)[e];
}

static void shape_map(at_capture *capture, const at_attention_seen *seen, attn_map *map) {
    map->heads = seen->heads;
    map->queries = seen->query->rows;
    if (seen->pattern->graph) {
        shape_graph(capture, seen->pattern->graph, map);
        return;
    }
    attn_tensor query = shape_of(seen->query, seen->heads), key = shape_of(seen->key, seen->kv_heads);
    attn_weights_layout layout = {.size = sizeof layout};
    if (!fine(capture,
              attn_attention_weights_layout(capture->into->context, seen->pattern, &query, &key, 0, &layout)))
        return;
    map->keys = layout.keys;
    map->width = layout.width;
    map->first_key = layout.first_key;
    map->key_step = layout.key_step;
    map->entries = layout.queries * layout.width;
}

/* The weights as the operator gave them, in the order of the map: by head, and on a graph by query. */
static float *read_weights(at_capture *capture, const at_attention_seen *seen, const attn_map *map) {
    float *given = copy_numbers(capture, seen->weights, 1, seen->count, seen->count);
    const attn_graph *graph = seen->pattern->graph;
    if (!given || !graph) return given;
    float *ordered = take(capture, seen->count, sizeof *ordered);
    const int64_t *numbers = attn_graph_edge_numbers(graph);
    for (int64_t e = 0; ordered && e < map->entries; e++)
        for (int64_t h = 0; h < map->heads; h++)
            ordered[h * map->entries + e] = given[numbers[e] * map->heads + h];
    at_release(capture->into->context, given);
    return ordered;
}

static void add_weights(at_capture *capture, attn_map *map, const float *weights) {
    int64_t count = map->heads * map->entries;
    if (!map->weights) map->weights = take(capture, count, sizeof(float));
    float *into = (float *)(uintptr_t)map->weights;
    if (!into || !weights) return;
    if (capture->first && capture->share == 1.0f)
        memcpy(into, weights, (size_t)count * sizeof *into);
    else
        for (int64_t i = 0; i < count; i++) into[i] += capture->share * weights[i];
}

/* ---- details ---- */

static void keep_detail(at_capture *capture, const at_attention_seen *seen, int64_t map, float *weights) {
    attn_explanation *into = capture->into;
    attn_status status = at_grow(into->context, &into->details, &capture->detail_room, into->detail_count + 1,
                                 sizeof *into->details, "an explanation");
    if (!fine(capture, status)) {
        at_release(into->context, weights);
        return;
    }
    at_step_numbers *detail = &into->details[into->detail_count++];
    memset(detail, 0, sizeof *detail);
    detail->map = map;
    detail->heads = seen->heads;
    detail->kv_heads = seen->kv_heads;
    detail->width = seen->query->columns / seen->heads;
    detail->value_width = seen->value->columns / seen->kv_heads;
    detail->queries = seen->query->rows;
    detail->keys = seen->key->rows;
    detail->score = seen->options->score;
    detail->weighting = seen->options->weighting;
    detail->softcap = (double)seen->options->softcap;
    detail->average = seen->options->average;
    detail->edge_values = seen->options->edge_value.data != NULL;
    detail->scale = (double)seen->options->scale;
    if (detail->scale == 0) detail->scale = 1 / sqrt((double)detail->width);
    detail->query = copy_variable(capture, seen->query);
    detail->key = copy_variable(capture, seen->key);
    detail->value = copy_variable(capture, seen->value);
    detail->output = copy_variable(capture, seen->output);
    detail->log_sum_exp = copy_numbers(capture, seen->log_sum_exp, detail->queries, seen->heads, seen->heads);
    detail->weights = weights;
}

/* Rows first .. first + count - 1 of a parameter; NULL: it has none. */
static float *copy_parameter(at_capture *capture, const attn_parameter *parameter, int64_t first,
                             int64_t count) {
    if (!parameter) return NULL;
    int64_t columns = parameter->columns;
    float *copy = take(capture, count * columns, sizeof *copy);
    if (copy) fine(capture, at_parameter_host_read(parameter, first * columns, count * columns, copy));
    return copy;
}

/* W_q, W_k and W_v, which stand one below the other in one parameter, or in two. */
static void keep_maps(at_capture *capture, const at_layer_seen *seen, at_step_numbers *detail) {
    int64_t q = detail->heads * detail->width, k = detail->kv_heads * detail->width;
    int64_t v = detail->kv_heads * detail->value_width;
    const attn_parameter *of_query = seen->input ? seen->input : seen->query;
    const attn_parameter *of_source = seen->input ? seen->input : seen->key_value;
    const attn_parameter *query_bias = seen->input ? seen->input_bias : seen->query_bias;
    const attn_parameter *source_bias = seen->input ? seen->input_bias : seen->key_value_bias;
    int64_t first_key = seen->input ? q : 0, first_value = first_key + (seen->shared ? 0 : k);
    if (!of_query || !of_source) return;
    if (seen->shared && of_query->rows == q) first_key = first_value = 0; /* one map for all three */
    if (of_source->rows < first_value + v || of_query->rows < q) return;
    detail->query_weight = copy_parameter(capture, of_query, 0, q);
    detail->query_bias = copy_parameter(capture, query_bias, 0, q);
    detail->key_weight = copy_parameter(capture, of_source, first_key, k);
    detail->key_bias = copy_parameter(capture, source_bias, first_key, k);
    detail->value_weight = copy_parameter(capture, of_source, first_value, v);
    detail->value_bias = copy_parameter(capture, source_bias, first_value, v);
}

static void see_layer(void *user, attn_tape *tape, const at_layer_seen *seen) {
    at_capture *capture = user;
    attn_explanation *into = capture->into;
    (void)tape;
    if (!capture->details || capture->gradients || into->detail_count == 0 || capture->status != ATTN_OK)
        return;
    at_step_numbers *detail = &into->details[into->detail_count - 1];
    detail->columns = seen->x->columns;
    detail->result_columns = seen->result->columns;
    detail->x = copy_variable(capture, seen->x);
    detail->result = copy_variable(capture, seen->result);
    if (seen->source) {
        detail->source_columns = seen->source->columns;
        detail->source = copy_variable(capture, seen->source);
    }
    detail->rotated = seen->rotated;
    keep_maps(capture, seen, detail);
    if (!seen->output) return;
    detail->output_weight = copy_parameter(capture, seen->output, 0, seen->output->rows);
    detail->output_bias =
        copy_parameter(capture, seen->output_bias, 0, seen->output_bias ? seen->output_bias->rows : 0);
}

/* ---- what the tape tells ---- */

static void remember(at_capture *capture, const at_seen *seen) {
    attn_status status = at_grow(capture->into->context, &capture->seen, &capture->seen_room,
                                 capture->seen_count + 1, sizeof *capture->seen, "an explanation");
    if (!fine(capture, status)) return;
    at_variable_watch(seen->output); /* also where nothing below it wants one: a decoder's first symbols */
    capture->seen[capture->seen_count++] = *seen;
}

/* A gigabyte of weights, and as much of gradients: more is not to be looked at, and fills the memory. */
static int has_room(at_capture *capture, int64_t count) {
    static const int64_t most = INT64_C(1) << 28;
    if (!capture->first) return 1; /* those of the other networks are added to the first one's */
    capture->weights += count;
    if (capture->weights <= most) return 1;
    return fine(capture, at_fail(capture->into->context, ATTN_OVERFLOW,
                                 "the layers have more than %" PRId64
                                 " million attention weights for this example: explain a shorter one",
                                 most / 1000000));
}

static void see_attention(void *user, attn_tape *tape, const at_attention_seen *seen) {
    at_capture *capture = user;
    (void)tape;
    if (capture->status != ATTN_OK) return;
    int64_t number = capture->next++;
    if (capture->gradients) {
        at_seen kept = {number,
                        seen->value,
                        seen->output,
                        seen->heads,
                        seen->kv_heads,
                        seen->activation,
                        seen->options->edge_value,
                        seen->pattern->graph};
        remember(capture, &kept);
        return;
    }
    if (!has_room(capture, seen->count)) return;
    attn_map_part part = part_of(capture, seen);
    attn_map *map = capture->first ? add_map(capture, part) : &capture->into->maps[number];
    capture->part_counts[part]++;
    if (!map) return;
    if (capture->first) shape_map(capture, seen, map);
    if (capture->status != ATTN_OK) return;
    float *weights = read_weights(capture, seen, map);
    add_weights(capture, map, weights);
    if (capture->details && weights)
        keep_detail(capture, seen, number, weights);
    else
        at_release(capture->into->context, weights);
}

static void see_pooling(void *user, attn_tape *tape, const at_pooling_seen *seen) {
    at_capture *capture = user;
    (void)tape;
    if (capture->status != ATTN_OK) return;
    int64_t number = capture->next++;
    if (capture->gradients) {
        at_seen kept = {.map = number,
                        .value = seen->x,
                        .output = seen->output,
                        .heads = seen->heads,
                        .kv_heads = seen->heads};
        remember(capture, &kept);
        return;
    }
    attn_map *map = capture->first ? add_map(capture, ATTN_MAP_POOL) : &capture->into->maps[number];
    capture->part_counts[ATTN_MAP_POOL]++;
    if (!map) return;
    map->heads = seen->heads;
    map->queries = 1;
    map->keys = map->width = map->entries = seen->x->rows;
    float *weights = copy_numbers(capture, seen->weights, seen->heads, seen->x->rows, seen->x->rows);
    add_weights(capture, map, weights);
    at_release(capture->into->context, weights);
}

void at_capture_begin(at_capture *capture, attn_tape *tape) {
    capture->observer = (at_observer){capture, see_attention, see_pooling, see_layer};
    memset(capture->part_counts, 0, sizeof capture->part_counts);
    capture->next = capture->seen_count = 0;
    at_tape_observe(tape, &capture->observer);
}

/* ---- gradients ---- */

/* What arrived at the output before its activation, which was applied in place. */
static void undo(const at_seen *seen, const float *output, float *gradient) {
    int64_t count = seen->output->rows * seen->output->columns;
    for (int64_t i = 0; i < count; i++) {
        if (seen->activation == ATTN_RELU && output[i] <= 0) gradient[i] = 0;
        if (seen->activation == ATTN_ELU && output[i] < 0) gradient[i] *= output[i] + 1;
    }
}

typedef struct at_products {
    const float *edge_value;       /* NULL, or what edges add: edges x (heads * width) */
    const float *gradient, *value; /* of the output: queries x (heads * width); keys x (kv_heads * width) */
    int64_t width, value_columns, gradient_columns;
} at_products;

/* In eight sums side by side, which a compiler can keep in one register. */
static float dot(const float *a, const float *b, int64_t count) {
    enum { LANES = 8 };
    float sums[LANES] = {0}, sum = 0;
    int64_t c = 0;
    for (; c + LANES <= count; c += LANES)
        for (int l = 0; l < LANES; l++) sums[l] += a[c + l] * b[c + l];
    for (; c < count; c++) sum += a[c] * b[c];
    for (int l = 0; l < LANES; l++) sum += sums[l];
    return sum;
}

static float product(const at_products *of, const at_seen *seen, int64_t query, int64_t key, int64_t edge,
                     int64_t head) {
    const float *d = of->gradient + query * of->gradient_columns + head * of->width;
    const float *v = of->value + key * of->value_columns + head * seen->kv_heads / seen->heads * of->width;
    float sum = dot(d, v, of->width);
    if (!of->edge_value) return sum;
    return sum + dot(d, of->edge_value + edge * of->gradient_columns + head * of->width, of->width);
}

static void multiply(at_capture *capture, const at_seen *seen, const at_products *of, attn_map *map) {
    if (!map->gradients) map->gradients = take(capture, map->heads * map->entries, sizeof(float));
    float *into = (float *)(uintptr_t)map->gradients;
    if (!into) return;
    for (int64_t h = 0; h < map->heads; h++) {
        for (int64_t i = 0; i < map->queries; i++) {
            for (int64_t c = 0; c < attn_map_entries(map, i); c++) {
                int64_t key = attn_map_key(map, i, c), place = attn_map_place(map, h, i, c);
                if (key < 0) continue;
                int64_t edge = seen->graph ? attn_graph_edge_numbers(seen->graph)[map->first[i] + c] : 0;
                into[place] += capture->share * product(of, seen, i, key, edge, h);
            }
        }
    }
}

attn_status at_capture_gradients(at_capture *capture) {
    attn_context *context = capture->into->context;
    for (int64_t s = 0; s < capture->seen_count && capture->status == ATTN_OK; s++) {
        const at_seen *seen = &capture->seen[s];
        const attn_variable *output = seen->output;
        float *gradient = take(capture, output->rows * output->columns, sizeof *gradient);
        float *given = copy_variable(capture, output), *value = copy_variable(capture, seen->value);
        float *edges = NULL;
        const attn_tensor *extra = &seen->edge_value;
        if (extra->data)
            edges = copy_numbers(capture, extra->data, extra->shape[0], extra->shape[1] * extra->shape[2],
                                 extra->stride[0]);
        if (gradient && given && value && output->kept &&
            fine(capture, attn_variable_read_gradient(output, gradient))) {
            undo(seen, given, gradient);
            at_products of = {
                edges,          gradient, value, seen->value->columns / seen->kv_heads, seen->value->columns,
                output->columns};
            multiply(capture, seen, &of, &capture->into->maps[seen->map]);
        }
        at_release(context, gradient);
        at_release(context, given);
        at_release(context, value);
        at_release(context, edges);
    }
    return capture->status;
}

void at_capture_free(at_capture *capture) { at_release(capture->into->context, capture->seen); }
