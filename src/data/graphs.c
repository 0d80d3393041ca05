/* graphs.c: graphs in memory: filling, selecting, and telling them apart. */
#include "data/graphs.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/vocabulary.h"

/* ---- the content of a dataset ---- */

void at_graphs_destroy(attn_context *context, void *content) {
    at_graphs *graphs = content;
    if (!graphs) return;
    at_release(context, graphs->first_feature);
    at_release(context, graphs->features);
    at_release(context, graphs->values);
    at_release(context, graphs->dense);
    at_release(context, graphs->first_node);
    at_release(context, graphs->first_edge);
    at_release(context, graphs->from);
    at_release(context, graphs->to);
    at_release(context, graphs->edge_numbers);
    at_strings_free(context, &graphs->names);
    at_strings_free(context, &graphs->texts);
    at_strings_free(context, &graphs->feature_names);
    at_release(context, graphs);
}

static attn_status add_all(attn_context *context, const at_strings *from, int64_t first, int64_t end,
                           at_strings *to) {
    attn_status status = ATTN_OK;
    for (int64_t i = first; i < end && status == ATTN_OK; i++)
        status = at_strings_add(context, to, at_string(from, i), at_string_length(from, i));
    return status;
}

/* The offsets have a first entry, 0, from the start. */
static attn_status begin_offsets(attn_context *context, int64_t **offsets, int64_t *room) {
    attn_status status = at_grow(context, offsets, room, 1, sizeof **offsets, "graphs");
    if (status == ATTN_OK) (*offsets)[0] = 0;
    return status;
}

attn_status at_graphs_create(attn_context *context, const void *like, void **content) {
    static atomic_uint_fast64_t serials;
    const at_graphs *from = like;
    at_graphs *made = at_allocate(context, 1, sizeof *made, "graphs");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->serial = atomic_fetch_add(&serials, 1) + 1;
    attn_status status = begin_offsets(context, &made->first_feature, &made->first_feature_room);
    if (status == ATTN_OK) status = begin_offsets(context, &made->first_edge, &made->first_edge_room);
    if (status == ATTN_OK) status = begin_offsets(context, &made->first_node, &made->first_node_room);
    if (status == ATTN_OK && from) {
        made->feature_columns = from->feature_columns;
        made->dense_columns = from->dense_columns;
        made->edge_columns = from->edge_columns;
        made->optional_features = from->optional_features;
        made->optional_numbers = from->optional_numbers;
        made->listed_once = from->listed_once;
        status = add_all(context, &from->feature_names, 0, from->feature_names.count, &made->feature_names);
    }
    if (status == ATTN_OK)
        *content = made;
    else
        at_graphs_destroy(context, made);
    return status;
}

static attn_status grow_nodes(attn_context *context, at_graphs *graphs, int64_t nodes) {
    attn_status status = at_grow(context, &graphs->first_feature, &graphs->first_feature_room, nodes + 1,
                                 sizeof *graphs->first_feature, "the nodes of graphs");
    if (status == ATTN_OK && graphs->dense_columns)
        status = at_grow(context, &graphs->dense, &graphs->dense_room, nodes * graphs->dense_columns,
                         sizeof *graphs->dense, "the features of nodes");
    return status;
}

static attn_status grow_features(attn_context *context, at_graphs *graphs, int64_t features) {
    attn_status status = at_grow(context, &graphs->features, &graphs->feature_room, features,
                                 sizeof *graphs->features, "the features of nodes");
    if (status == ATTN_OK && graphs->values)
        status = at_grow(context, &graphs->values, &graphs->value_room, features, sizeof *graphs->values,
                         "the features of nodes");
    return status;
}

static attn_status grow_edges(attn_context *context, at_graphs *graphs, int64_t edges) {
    attn_status status = at_grow(context, &graphs->from, &graphs->from_room, edges, sizeof *graphs->from,
                                 "the edges of graphs");
    if (status == ATTN_OK)
        status =
            at_grow(context, &graphs->to, &graphs->to_room, edges, sizeof *graphs->to, "the edges of graphs");
    if (status == ATTN_OK && graphs->edge_columns)
        status = at_grow(context, &graphs->edge_numbers, &graphs->edge_number_room,
                         edges * graphs->edge_columns, sizeof *graphs->edge_numbers, "the numbers of edges");
    return status;
}

/* From now on features have values; those that are there have the value 1. */
static attn_status begin_values(attn_context *context, at_graphs *graphs) {
    int64_t there = graphs->first_feature[graphs->nodes];
    if (graphs->values) return ATTN_OK;
    attn_status status = at_grow(context, &graphs->values, &graphs->value_room, graphs->feature_room + 1,
                                 sizeof *graphs->values, "the features of nodes");
    for (int64_t i = 0; status == ATTN_OK && i < there; i++) graphs->values[i] = 1;
    return status;
}

static attn_status append_features(attn_context *context, at_graphs *to, const at_graphs *from, int64_t first,
                                   int64_t end) {
    int64_t source = from->first_feature[first], count = from->first_feature[end] - source;
    int64_t at = to->first_feature[to->nodes];
    attn_status status = from->values ? begin_values(context, to) : ATTN_OK;
    if (status == ATTN_OK) status = grow_features(context, to, at + count);
    if (status != ATTN_OK || count == 0) return status;
    memcpy(to->features + at, from->features + source, (size_t)count * sizeof *to->features);
    for (int64_t i = 0; to->values && i < count; i++)
        to->values[at + i] = from->values ? from->values[source + i] : 1;
    return ATTN_OK;
}

static attn_status append_edges(attn_context *context, at_graphs *to, const at_graphs *from, int64_t graph) {
    int64_t first = from->first_edge[graph], count = from->first_edge[graph + 1] - first;
    attn_status status = grow_edges(context, to, to->edges + count);
    if (status != ATTN_OK || count == 0) return status;
    memcpy(to->from + to->edges, from->from + first, (size_t)count * sizeof *to->from);
    memcpy(to->to + to->edges, from->to + first, (size_t)count * sizeof *to->to);
    if (to->edge_columns)
        memcpy(to->edge_numbers + to->edges * to->edge_columns, from->edge_numbers + first * to->edge_columns,
               (size_t)(count * to->edge_columns) * sizeof *to->edge_numbers);
    to->edges += count;
    return ATTN_OK;
}

static attn_status count_graph(attn_context *context, at_graphs *graphs) {
    attn_status status = at_grow(context, &graphs->first_edge, &graphs->first_edge_room, graphs->graphs + 2,
                                 sizeof *graphs->first_edge, "graphs");
    if (status == ATTN_OK)
        status = at_grow(context, &graphs->first_node, &graphs->first_node_room, graphs->graphs + 2,
                         sizeof *graphs->first_node, "graphs");
    if (status != ATTN_OK) return status;
    graphs->graphs++;
    graphs->first_edge[graphs->graphs] = graphs->edges;
    graphs->first_node[graphs->graphs] = graphs->nodes;
    return ATTN_OK;
}

/* Nodes without names get their numbers as names, from node `first` on: others beside them have names. */
static attn_status name_by_number(attn_context *context, const at_graphs *of, int64_t first, int64_t end,
                                  at_strings *names) {
    attn_status status = ATTN_OK;
    for (int64_t node = first, graph = 0; node < end && status == ATTN_OK; node++) {
        char text[24];
        while (of->first_node[graph + 1] <= node) graph++;
        int length = snprintf(text, sizeof text, "%" PRId64, node - of->first_node[graph]);
        status = at_strings_add(context, names, text, (size_t)length);
    }
    return status;
}

static attn_status append_names(attn_context *context, at_graphs *to, const at_graphs *from, int64_t first,
                                int64_t end) {
    if (!to->names.count && !from->names.count) return ATTN_OK;
    attn_status status = ATTN_OK;
    if (!to->names.count) status = name_by_number(context, to, 0, to->nodes, &to->names);
    if (status != ATTN_OK) return status;
    return from->names.count ? add_all(context, &from->names, first, end, &to->names)
                             : name_by_number(context, from, first, end, &to->names);
}

attn_status at_graphs_append(attn_context *context, void *content, const void *from, int64_t example,
                             int64_t first, int64_t end) {
    at_graphs *to = content;
    const at_graphs *source = from;
    if (to->dense_columns != source->dense_columns || to->edge_columns != source->edge_columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "nodes of %" PRId64 " and edges of %" PRId64
                       " numbers do not go on with nodes of %" PRId64 " and edges of %" PRId64,
                       to->dense_columns, to->edge_columns, source->dense_columns, source->edge_columns);
    attn_status status = grow_nodes(context, to, to->nodes + end - first);
    if (status == ATTN_OK) status = append_features(context, to, source, first, end);
    if (status == ATTN_OK) status = append_edges(context, to, source, example);
    if (status == ATTN_OK) status = append_names(context, to, source, first, end);
    if (status == ATTN_OK && source->texts.count)
        status = add_all(context, &source->texts, example, example + 1, &to->texts);
    if (status != ATTN_OK) return status;
    int64_t shift = to->first_feature[to->nodes] - source->first_feature[first];
    for (int64_t i = first; i < end; i++)
        to->first_feature[to->nodes + i - first + 1] = source->first_feature[i + 1] + shift;
    if (to->dense_columns && end > first)
        memcpy(to->dense + to->nodes * to->dense_columns, source->dense + first * to->dense_columns,
               (size_t)((end - first) * to->dense_columns) * sizeof *to->dense);
    to->nodes += end - first;
    if (source->feature_columns > to->feature_columns) to->feature_columns = source->feature_columns;
    to->listed_once = to->listed_once && source->listed_once;
    return count_graph(context, to);
}

static uint64_t hash_array(const void *array, int64_t count, size_t bytes, uint64_t seed) {
    return count > 0 ? at_hash(array, (size_t)count * bytes, seed) : seed;
}

/* The first graph whose nodes do not all precede `node`. */
static int64_t graph_at(const at_graphs *graphs, int64_t node) {
    int64_t low = 0, high = graphs->graphs;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graphs->first_node[middle + 1] <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t hash_edges(const at_graphs *graphs, int64_t graph, uint64_t seed) {
    int64_t first = graphs->first_edge[graph], count = graphs->first_edge[graph + 1] - first;
    seed = hash_array(graphs->from + first, count, sizeof *graphs->from, seed);
    seed = hash_array(graphs->to + first, count, sizeof *graphs->to, seed);
    if (graphs->edge_columns && count)
        seed = hash_array(graphs->edge_numbers + first * graphs->edge_columns, count * graphs->edge_columns,
                          sizeof *graphs->edge_numbers, seed);
    return seed;
}

uint64_t at_graphs_hash(const void *content, int64_t first, int64_t end, uint64_t seed) {
    const at_graphs *graphs = content;
    for (int64_t node = first; node < end; node++) { /* also distinguishes where the features of a node end */
        int64_t from = graphs->first_feature[node], count = graphs->first_feature[node + 1] - from;
        seed = at_hash((const char *)&count, sizeof count, seed);
        if (count) seed = hash_array(graphs->features + from, count, sizeof *graphs->features, seed);
        if (graphs->values && count)
            seed = hash_array(graphs->values + from, count, sizeof *graphs->values, seed);
    }
    if (graphs->dense_columns && end > first)
        seed = hash_array(graphs->dense + first * graphs->dense_columns,
                          (end - first) * graphs->dense_columns, sizeof *graphs->dense, seed);
    for (int64_t g = graph_at(graphs, first); g < graphs->graphs && graphs->first_node[g] < end; g++)
        seed = hash_edges(graphs, g, seed);
    return seed;
}

const char *at_graphs_row_name(const void *content, int64_t row) {
    const at_graphs *graphs = content;
    return row < graphs->names.count ? at_string(&graphs->names, row) : NULL;
}

void at_graphs_text(const void *content, int64_t example, int64_t first, int64_t end, at_writer *writer) {
    const at_graphs *graphs = content;
    (void)first;
    (void)end;
    if (example < graphs->texts.count) at_put_text(writer, at_string(&graphs->texts, example));
}

/* ---- filling ---- */

attn_status at_graphs_dataset(attn_context *context, const char *name, const at_content_kind *kind,
                              int format, attn_dataset **dataset) {
    void *content;
    attn_dataset *made;
    attn_status status = at_graphs_create(context, NULL, &content);
    if (status != ATTN_OK) return status;
    status = at_dataset_create(context, name, kind, content, &made);
    if (status != ATTN_OK) return status;
    made->format = (attn_format)format;
    *dataset = made;
    return ATTN_OK;
}

attn_status at_graphs_node(attn_dataset *dataset, const char *name, size_t length, int64_t line) {
    attn_context *context = dataset->context;
    at_graphs *graphs = at_graphs_of(dataset);
    if (graphs->nodes >= INT32_MAX)
        return at_fail(context, ATTN_OVERFLOW, "%.200s: more than %d nodes", attn_dataset_name(dataset),
                       INT32_MAX);
    attn_status status = grow_nodes(context, graphs, graphs->nodes + 1);
    if (status == ATTN_OK && name) status = at_strings_add(context, &graphs->names, name, length);
    if (status == ATTN_OK) status = at_dataset_row(dataset, line);
    if (status != ATTN_OK) return status;
    graphs->first_feature[graphs->nodes + 1] = graphs->first_feature[graphs->nodes];
    graphs->nodes++;
    return ATTN_OK;
}

attn_status at_graphs_feature(attn_dataset *dataset, int64_t column, float value) {
    attn_context *context = dataset->context;
    at_graphs *graphs = at_graphs_of(dataset);
    int64_t at = graphs->first_feature[graphs->nodes];
    if (column < 0 || column >= INT32_MAX)
        return at_fail(context, ATTN_OVERFLOW, "feature %" PRId64 " is not in 0 .. %d", column,
                       INT32_MAX - 1);
    attn_status status = value != 1 ? begin_values(context, graphs) : ATTN_OK;
    if (status == ATTN_OK) status = grow_features(context, graphs, at + 1);
    if (status != ATTN_OK) return status;
    graphs->features[at] = (int32_t)column;
    if (graphs->values) graphs->values[at] = value;
    if (column >= graphs->feature_columns) graphs->feature_columns = column + 1;
    graphs->first_feature[graphs->nodes]++;
    return ATTN_OK;
}

float *at_graphs_dense(attn_dataset *dataset) {
    at_graphs *graphs = at_graphs_of(dataset);
    return graphs->dense + (graphs->nodes - 1) * graphs->dense_columns;
}

attn_status at_graphs_reserve_edges(attn_dataset *dataset, int64_t edges) {
    at_graphs *graphs = at_graphs_of(dataset);
    return grow_edges(dataset->context, graphs, graphs->edges + edges);
}

attn_status at_graphs_edge(attn_dataset *dataset, int64_t from, int64_t to, const float *numbers) {
    at_graphs *graphs = at_graphs_of(dataset);
    if (graphs->edges >= INT32_MAX - 2)
        return at_fail(dataset->context, ATTN_OVERFLOW, "%.200s: more than %d edges",
                       attn_dataset_name(dataset), INT32_MAX - 2);
    attn_status status = grow_edges(dataset->context, graphs, graphs->edges + 1);
    if (status != ATTN_OK) return status;
    graphs->from[graphs->edges] = (int32_t)from;
    graphs->to[graphs->edges] = (int32_t)to;
    if (graphs->edge_columns)
        memcpy(graphs->edge_numbers + graphs->edges * graphs->edge_columns, numbers,
               (size_t)graphs->edge_columns * sizeof *numbers);
    graphs->edges++;
    return ATTN_OK;
}

attn_status at_graphs_end(attn_dataset *dataset) {
    attn_status status = count_graph(dataset->context, at_graphs_of(dataset));
    return status == ATTN_OK ? at_dataset_end(dataset) : status;
}

static void cut_strings(at_strings *list, int64_t count) {
    if (list->count > count) list->count = count;
}

void at_graphs_undo(attn_dataset *dataset) {
    at_graphs *graphs = at_graphs_of(dataset);
    graphs->nodes = dataset->rows = graphs->first_node[graphs->graphs];
    graphs->edges = graphs->first_edge[graphs->graphs];
    cut_strings(&graphs->names, graphs->nodes);
    cut_strings(&graphs->texts, graphs->graphs);
}
