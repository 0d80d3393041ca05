/* nodes_batch.c: a batch of graphs: the features of their nodes, and random masking of them in training. */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "inputs/nodes.h"

attn_status at_nodes_create_batch(attn_context *context, at_batch **batch) {
    at_node_batch *made = at_allocate(context, 1, sizeof *made, "a batch");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->batch.context = context;
    *batch = &made->batch;
    return ATTN_OK;
}

void at_nodes_free_batch(at_batch *batch) {
    at_node_batch *own = (at_node_batch *)(void *)batch;
    if (!own) return;
    attn_context *context = batch->context;
    at_release(context, batch->offsets);
    at_release(context, own->bags);
    at_release(context, own->features);
    at_release(context, own->values);
    at_release(context, own->dense);
    at_release(context, own->edges);
    attn_graph_destroy(own->graph);
    at_nodes_free_edges(context, own->work);
    at_release(context, own);
}

/* ---- rows ---- */

static attn_status place_rows(const at_segments *segments, const int64_t *order, int64_t count,
                              at_batch *batch) {
    attn_status status = at_grow(batch->context, &batch->offsets, &batch->offset_room, count + 1,
                                 sizeof *batch->offsets, "a batch");
    if (status != ATTN_OK) return status;
    batch->rows = 0;
    batch->sequences = count;
    for (int64_t i = 0; i < count; i++) {
        int64_t rows = segments->list[order[i]].count;
        batch->offsets[i] = batch->rows;
        batch->rows += rows ? rows : 1; /* every graph has a node: an empty one has one without features */
    }
    batch->offsets[count] = batch->rows;
    return ATTN_OK;
}

/* ---- sparse features ---- */

static int64_t count_features(const at_node_encoded *encoded, const at_segment *segment) {
    if (segment->count == 0) return 0;
    if (encoded->stands_for) return segment->count;
    const int64_t *first = encoded->graphs->first_feature;
    return first[segment->first + segment->count] - first[segment->first];
}

static attn_status make_room(const at_node_input *input, const at_node_encoded *encoded,
                             const at_segments *segments, const int64_t *order, int64_t count,
                             at_node_batch *batch) {
    attn_context *context = batch->batch.context;
    int64_t features = 0;
    for (int64_t i = 0; i < count; i++) features += count_features(encoded, &segments->list[order[i]]);
    attn_status status = at_grow(context, &batch->bags, &batch->bag_room, batch->batch.rows + 1,
                                 sizeof *batch->bags, "a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &batch->features, &batch->feature_room, features + 1,
                         sizeof *batch->features, "a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &batch->values, &batch->value_room, features + 1, sizeof *batch->values,
                         "a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &batch->dense, &batch->dense_room,
                         batch->batch.rows * input->dense_columns + 1, sizeof *batch->dense, "a batch");
    return status;
}

/* The features of a node from `at` on; where they end. */
static int64_t put_features(const at_node_input *input, const at_node_encoded *encoded, int64_t node,
                            int64_t at, at_node_batch *batch) {
    const at_graphs *graphs = encoded->graphs;
    if (encoded->stands_for) {
        batch->features[at] = encoded->stands_for[node];
        batch->values[at] = 1;
        return at + 1;
    }
    int64_t first = graphs->first_feature[node], count = graphs->first_feature[node + 1] - first;
    int64_t kept = 0;
    double sum = 0;
    for (int64_t f = 0; f < count; f++) {
        float value = graphs->values ? graphs->values[first + f] : 1;
        if (graphs->features[first + f] >= input->feature_columns) continue; /* the view leaves it out */
        batch->features[at + kept] = graphs->features[first + f];
        batch->values[at + kept++] = value;
        sum += value < 0 ? -(double)value : (double)value;
    }
    for (int64_t f = 0; input->values.normalize && sum > 0 && f < kept; f++)
        batch->values[at + f] = (float)((double)batch->values[at + f] / sum);
    return at + kept;
}

static void put_dense(const at_node_input *input, const at_graphs *graphs, int64_t node, float *to) {
    const float *from = graphs->dense + node * input->dense_columns;
    for (int64_t c = 0; c < input->dense_columns; c++)
        to[c] = (from[c] - input->mean[c]) / input->deviation[c];
}

static void put_rows(const at_node_input *input, const at_node_encoded *encoded, const at_segments *segments,
                     const int64_t *order, int64_t count, at_node_batch *batch) {
    int64_t row = 0, at = 0;
    for (int64_t i = 0; i < count; i++) {
        const at_segment *segment = &segments->list[order[i]];
        for (int64_t node = segment->first; node < segment->first + segment->count; node++, row++) {
            batch->bags[row] = at;
            at = put_features(input, encoded, node, at, batch);
            if (input->dense_columns)
                put_dense(input, encoded->graphs, node, batch->dense + row * input->dense_columns);
        }
        if (segment->count > 0) continue;
        batch->bags[row] = at;
        if (input->dense_columns)
            memset(batch->dense + row * input->dense_columns, 0,
                   (size_t)input->dense_columns * sizeof *batch->dense);
        row++;
    }
    batch->bags[row] = at;
}

/* Hidden features are 0, and those that are left so much larger. */
static void hide(const at_node_input *input, uint64_t seed, at_node_batch *batch) {
    double part = input->values.dropout;
    uint32_t threshold = at_random_threshold((float)part);
    float larger = (float)(1 / (1 - part));
    if (!(part > 0)) return;
    for (int64_t row = 0; row < batch->batch.rows; row++) {
        at_row_key key = at_random_row(seed, row, 0, 0);
        int64_t first = batch->bags[row], count = batch->bags[row + 1] - first;
        for (int64_t f = 0; f < count; f++)
            batch->values[first + f] *= at_random_word(key, (uint32_t)f) < threshold ? 0 : larger;
        float *dense = batch->dense + row * input->dense_columns;
        for (int64_t c = 0; c < input->dense_columns; c++)
            dense[c] *= at_random_word(key, (uint32_t)(count + c)) < threshold ? 0 : larger;
    }
}

attn_status at_nodes_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                          const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch) {
    const at_node_input *nodes = at_node_input_of(input);
    const at_node_encoded *from = (const at_node_encoded *)(const void *)encoded;
    at_node_batch *into = (at_node_batch *)(void *)batch;
    attn_status status = place_rows(segments, order, count, batch);
    if (status == ATTN_OK) status = make_room(nodes, from, segments, order, count, into);
    if (status == ATTN_OK) status = at_nodes_connect(nodes, from, segments, order, count, into);
    if (status != ATTN_OK) return status;
    put_rows(nodes, from, segments, order, count, into);
    if (seed) hide(nodes, *seed, into);
    return ATTN_OK;
}
