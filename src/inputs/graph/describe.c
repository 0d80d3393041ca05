/* describe.c: describes a dataset of graphs as text and as JSON (see data/describe.h): nodes and edges,
 * degrees, features, and the split.
 *
 * The degree of a node is the number of edges that lead to it; if edges are listed once, of those that lead
 * to it or from it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/text.h>

#include "base/memory.h"
#include "data/describe.h"
#include "inputs/graph/reader.h"

enum { PARTS = 4, CLASSES_SHOWN = 20, LABEL_CELLS = 28 };

typedef struct measures {
    at_lengths nodes, edges;             /* of a graph */
    at_lengths degrees, features;        /* of a node; features: sparse ones */
    int64_t self_loops, doubles, mutual; /* mutual: edges to another node that also lead back */
    int64_t alone;                       /* nodes without an edge to another one */
    int64_t empty;                       /* nodes without sparse features */
    int64_t parts[PARTS];
} measures;

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }
static const char *place_name(const attn_dataset *dataset) { return dataset->per_row ? "node" : "graph"; }

/* ---- edges ---- */

/* The edges of a graph, by the node that they come from, with their ends rising. */
typedef struct sorted_edges {
    int64_t *begins, *places; /* [nodes + 1] */
    int32_t *from, *to;       /* [edges] */
} sorted_edges;

static void count_places(const int32_t *keys, int64_t count, int64_t nodes, int64_t *places) {
    memset(places, 0, (size_t)(nodes + 1) * sizeof *places);
    for (int64_t e = 0; e < count; e++) places[keys[e] + 1]++;
    for (int64_t n = 0; n < nodes; n++) places[n + 1] += places[n];
}

/* By their ends first, then by where they come from, which keeps the order of ends: `by_end` holds the first
 * of these. */
static void sort_edges(const int32_t *from, const int32_t *to, int64_t count, int64_t nodes,
                       sorted_edges *by_end, sorted_edges *sorted) {
    count_places(to, count, nodes, by_end->places);
    for (int64_t e = 0; e < count; e++) {
        int64_t place = by_end->places[to[e]]++;
        by_end->from[place] = from[e];
        by_end->to[place] = to[e];
    }
    count_places(from, count, nodes, sorted->begins);
    memcpy(sorted->places, sorted->begins, (size_t)(nodes + 1) * sizeof *sorted->places);
    for (int64_t e = 0; e < count; e++) {
        int64_t place = sorted->places[by_end->from[e]]++;
        sorted->from[place] = by_end->from[e];
        sorted->to[place] = by_end->to[e];
    }
}

static int leads(const sorted_edges *edges, int32_t from, int32_t to) {
    int64_t low = edges->begins[from], high = edges->begins[from + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (edges->to[middle] < to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < edges->begins[from + 1] && edges->to[low] == to;
}

static void measure_graph(const at_graphs *graphs, int64_t graph, sorted_edges with[2], int64_t *degrees,
                          unsigned char *seen, measures *found) {
    int64_t first = graphs->first_edge[graph], count = graphs->first_edge[graph + 1] - first;
    int64_t node = graphs->first_node[graph], nodes = graphs->first_node[graph + 1] - node;
    sorted_edges *edges = &with[1];
    if (count == 0) return;
    sort_edges(graphs->from + first, graphs->to + first, count, nodes, &with[0], edges);
    for (int64_t e = 0; e < count; e++) {
        int32_t from = edges->from[e], to = edges->to[e];
        degrees[node + to]++;
        if (graphs->listed_once && from != to) degrees[node + from]++;
        found->self_loops += from == to;
        found->doubles += e > 0 && edges->from[e - 1] == from && edges->to[e - 1] == to;
        if (from == to) continue;
        seen[node + from] = seen[node + to] = 1;
        found->mutual += leads(edges, to, from);
    }
}

static attn_status measure_edges(const attn_dataset *dataset, int64_t *degrees, measures *found) {
    attn_context *context = dataset->context;
    const at_graphs *graphs = at_graphs_of(dataset);
    int64_t nodes = 0, edges = 0;
    for (int64_t g = 0; g < graphs->graphs; g++) {
        int64_t now = graphs->first_node[g + 1] - graphs->first_node[g];
        if (now > nodes) nodes = now;
        now = graphs->first_edge[g + 1] - graphs->first_edge[g];
        if (now > edges) edges = now;
    }
    sorted_edges with[2];
    unsigned char *seen = at_allocate(context, graphs->nodes, 1, "the nodes of graphs");
    attn_status status = seen ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < 2; i++) {
        with[i].begins = at_allocate(context, nodes + 1, sizeof *with[i].begins, "the edges of graphs");
        with[i].places = at_allocate(context, nodes + 1, sizeof *with[i].places, "the edges of graphs");
        with[i].from = at_allocate(context, edges, sizeof *with[i].from, "the edges of graphs");
        with[i].to = at_allocate(context, edges, sizeof *with[i].to, "the edges of graphs");
        if (!with[i].begins || !with[i].places || !with[i].from || !with[i].to) status = ATTN_OUT_OF_MEMORY;
    }
    for (int64_t g = 0; g < graphs->graphs && status == ATTN_OK; g++)
        measure_graph(graphs, g, with, degrees, seen, found);
    for (int64_t n = 0; n < graphs->nodes && status == ATTN_OK; n++) found->alone += !seen[n];
    for (int i = 0; i < 2; i++) {
        at_release(context, with[i].begins);
        at_release(context, with[i].places);
        at_release(context, with[i].from);
        at_release(context, with[i].to);
    }
    at_release(context, seen);
    return status;
}

/* ---- all that is measured ---- */

static at_lengths measure_offsets(const int64_t *offsets, int64_t count, int64_t *list) {
    for (int64_t i = 0; i < count; i++) list[i] = offsets[i + 1] - offsets[i];
    return at_measure_lengths(list, count);
}

static attn_status measure(const attn_dataset *dataset, measures *found) {
    const at_graphs *graphs = at_graphs_of(dataset);
    int64_t most = graphs->nodes > graphs->graphs ? graphs->nodes : graphs->graphs;
    int64_t *list = at_allocate(dataset->context, most, sizeof *list, "the degrees of nodes");
    if (!list) return ATTN_OUT_OF_MEMORY;
    memset(found, 0, sizeof *found);
    attn_status status = measure_edges(dataset, list, found);
    found->degrees = at_measure_lengths(list, graphs->nodes);
    found->nodes = measure_offsets(graphs->first_node, graphs->graphs, list);
    found->edges = measure_offsets(graphs->first_edge, graphs->graphs, list);
    found->features = measure_offsets(graphs->first_feature, graphs->nodes, list);
    for (int64_t n = 0; n < graphs->nodes; n++) found->empty += list[n] == 0;
    for (int64_t i = 0; i < dataset->part_count; i++) found->parts[dataset->parts[i]]++;
    at_release(dataset->context, list);
    return status;
}

/* ---- classes by part ---- */

/* How often each class of a column is in each part: [classes][PARTS], in the order of the summary. */
static attn_status count_classes(const attn_dataset *dataset, int64_t column, const at_column_summary *of,
                                 int64_t **counts) {
    int64_t columns = dataset->columns.count, classes = of->class_count;
    int64_t *order = at_allocate(dataset->context, classes, sizeof *order, "classes");
    *counts = at_allocate(dataset->context, classes * PARTS, sizeof **counts, "classes");
    if (!order || !*counts) {
        at_release(dataset->context, order);
        return ATTN_OUT_OF_MEMORY;
    }
    for (int64_t c = 0; c < classes; c++)
        order[at_vocabulary_find(&of->labels, of->classes[c].label, strlen(of->classes[c].label))] = c;
    for (int64_t place = 0; place < dataset->part_count; place++) {
        const char *value = at_string(&dataset->targets, place * columns + column);
        while (*value) {
            size_t length = strcspn(value, "\n");
            int64_t number = at_vocabulary_find(&of->labels, value, length);
            if (number >= 0) (*counts)[order[number] * PARTS + dataset->parts[place]]++;
            value += length + (value[length] != 0);
        }
    }
    at_release(dataset->context, order);
    return ATTN_OK;
}

/* Text, cut to LABEL_CELLS bytes at most, and spaces up to so many cells. */
static void put_cell(at_writer *writer, const char *text) {
    char cell[LABEL_CELLS + 1];
    size_t whole = strlen(text), length = whole < LABEL_CELLS ? whole : LABEL_CELLS;
    while (length && length < whole && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    memcpy(cell, text, length);
    cell[length] = 0;
    put(writer, "  ");
    at_put_text(writer, cell);
    int cells = attn_text_cells(cell);
    at_print(writer, "%*s", cells < LABEL_CELLS ? LABEL_CELLS - cells : 0, "");
}

static void put_class_counts(at_writer *writer, const at_column_summary *of, const int64_t *counts,
                             const int64_t *parts) {
    static const int shown[] = {ATTN_PART_TRAIN, ATTN_PART_VAL, ATTN_PART_TEST, ATTN_PART_NONE};
    int64_t rows = of->class_count <= CLASSES_SHOWN + 1 ? of->class_count : CLASSES_SHOWN;
    put(writer, "\n");
    put_cell(writer, of->name);
    for (int p = 0; p < PARTS; p++)
        if (parts[shown[p]]) at_print(writer, " %10s", attn_part_name((attn_part)shown[p]));
    put(writer, "\n");
    for (int64_t c = 0; c < rows; c++) {
        put_cell(writer, of->classes[c].label);
        for (int p = 0; p < PARTS; p++)
            if (parts[shown[p]]) at_print(writer, " %10s", at_grouped(counts[c * PARTS + shown[p]]).text);
        put(writer, "\n");
    }
    if (rows < of->class_count) at_print(writer, "  and %s more\n", at_grouped(of->class_count - rows).text);
}

static void put_class_counts_json(at_writer *writer, const at_column_summary *of, const int64_t *counts) {
    put(writer, "{\"name\":");
    at_put_json(writer, of->name);
    put(writer, ",\"classes\":[");
    for (int64_t c = 0; c < of->class_count; c++) {
        put(writer, c ? ",{\"label\":" : "{\"label\":");
        at_put_json(writer, of->classes[c].label);
        for (int p = 0; p < PARTS; p++)
            at_print(writer, ",\"%s\":%" PRId64, attn_part_name((attn_part)p), counts[c * PARTS + p]);
        put(writer, "}");
    }
    put(writer, "]}");
}

/* Columns of numbers that are many are measured, not counted. */
static attn_status put_classes_by_part(const attn_dataset *dataset, const measures *found, int json,
                                       at_writer *writer) {
    attn_status status = ATTN_OK;
    for (int64_t c = 0, written = 0; c < dataset->columns.count && status == ATTN_OK; c++) {
        at_column_summary column;
        int64_t *counts = NULL;
        status = at_summarize_column(dataset, c, &column);
        int counted = status == ATTN_OK && column.class_count > 0 &&
                      !(column.numbers && column.class_count > CLASSES_SHOWN);
        if (counted) status = count_classes(dataset, c, &column, &counts);
        if (counted && status == ATTN_OK && json) {
            if (written++) put(writer, ",");
            put_class_counts_json(writer, &column, counts);
        } else if (counted && status == ATTN_OK) {
            put_class_counts(writer, &column, counts, found->parts);
        }
        at_release(dataset->context, counts);
        at_column_summary_free(dataset->context, &column);
    }
    return status;
}

/* ---- JSON ---- */

static attn_status describe_json(const attn_dataset *dataset, const attn_describe_options *options,
                                 const measures *found, at_writer *writer) {
    const at_graphs *graphs = at_graphs_of(dataset);
    at_print(writer,
             ",\"graphs\":%" PRId64 ",\"nodes\":%" PRId64 ",\"edges\":%" PRId64
             ",\"listed_once\":%s,\"mutual\":%" PRId64 ",\"self_loops\":%" PRId64 ",\"doubles\":%" PRId64
             ",\"edge_numbers\":%" PRId64 ",\"alone\":%" PRId64,
             graphs->graphs, graphs->nodes, graphs->edges, graphs->listed_once ? "true" : "false",
             found->mutual, found->self_loops, found->doubles, graphs->edge_columns, found->alone);
    at_print(writer,
             ",\"features\":{\"sparse\":%" PRId64 ",\"empty\":%" PRId64 ",\"dense\":%" PRId64
             "},\"lengths\":{",
             graphs->feature_columns, graphs->feature_columns ? found->empty : 0, graphs->dense_columns);
    at_put_lengths_json(writer, "nodes", &found->nodes);
    put(writer, ",");
    at_put_lengths_json(writer, "edges", &found->edges);
    put(writer, ",");
    at_put_lengths_json(writer, "degrees", &found->degrees);
    put(writer, ",");
    at_put_lengths_json(writer, "features", &found->features);
    put(writer, "},\"split\":");
    if (!dataset->part_count) put(writer, "null");
    for (int p = 0; p < PARTS && dataset->part_count; p++)
        at_print(writer, "%s\"%s\":%" PRId64 "%s", p ? "," : "{", attn_part_name((attn_part)p),
                 found->parts[p], p == PARTS - 1 ? "}" : "");
    put(writer, ",\"columns\":");
    attn_status status = at_put_columns(writer, dataset, options, place_name(dataset));
    put(writer, ",\"classes_by_part\":[");
    if (status == ATTN_OK && dataset->part_count) status = put_classes_by_part(dataset, found, 1, writer);
    put(writer, "]");
    return status;
}

/* ---- text ---- */

static void put_edges(const at_graphs *graphs, const measures *found, at_writer *writer) {
    int64_t others = graphs->edges - found->self_loops;
    put(writer, "\n");
    if (graphs->edges == 0) {
        put(writer, "there are no edges: nodes see only themselves\n");
        return;
    }
    if (graphs->listed_once)
        put(writer, "edges are listed once, from the smaller number to the larger: undirected\n");
    else if (found->mutual == others)
        put(writer, "every edge also leads back: undirected\n");
    else
        at_print(writer, "edges are directed: %s of %s also lead back\n", at_grouped(found->mutual).text,
                 at_grouped(others).text);
    if (graphs->edge_columns) {
        put(writer, "an edge has ");
        at_put_count(writer, graphs->edge_columns, "number");
        put(writer, "\n");
    }
    if (found->self_loops) {
        at_put_count(writer, found->self_loops, "edge");
        put(writer, found->self_loops == 1 ? " leads back to its node\n" : " lead back to their nodes\n");
    }
    if (found->doubles) {
        at_put_count(writer, found->doubles, "edge");
        put(writer, found->doubles == 1 ? " repeats another one\n" : " repeat others\n");
    }
    if (found->alone) {
        at_put_count(writer, found->alone, "node");
        put(writer, found->alone == 1 ? " has no edge to another one\n" : " have no edge to another one\n");
    }
}

static void put_features(const at_graphs *graphs, const measures *found, at_writer *writer) {
    put(writer, "features: ");
    if (!graphs->feature_columns && !graphs->dense_columns)
        put(writer, "none, nodes are identified by their names");
    if (graphs->feature_columns) {
        at_print(writer, "%s sparse column%s, %.1f of them per node",
                 at_grouped(graphs->feature_columns).text, graphs->feature_columns == 1 ? "" : "s",
                 found->features.mean);
        if (graphs->dense_columns) put(writer, "; ");
    }
    if (graphs->dense_columns)
        at_print(writer, "%s dense column%s", at_grouped(graphs->dense_columns).text,
                 graphs->dense_columns == 1 ? "" : "s");
    put(writer, "\n");
    if (!graphs->feature_columns || !found->empty) return;
    at_put_count(writer, found->empty, "node");
    put(writer, found->empty == 1 ? " has no sparse features\n" : " have no sparse features\n");
}

static void put_parts(const attn_dataset *dataset, const measures *found, at_writer *writer) {
    static const int shown[] = {ATTN_PART_TRAIN, ATTN_PART_VAL, ATTN_PART_TEST, ATTN_PART_NONE};
    if (!dataset->part_count) return;
    at_print(writer, "split of %ss: ", place_name(dataset));
    for (int p = 0; p < PARTS; p++)
        if (p < 3 || found->parts[shown[p]])
            at_print(writer, "%s%s %s", p ? ", " : "", attn_part_name((attn_part)shown[p]),
                     at_grouped(found->parts[shown[p]]).text);
    put(writer, "\n");
}

attn_status at_graph_describe(const attn_dataset *dataset, const attn_describe_options *options,
                              at_writer *writer) {
    static const char *const formats[] = {"", "tables", "files of OGB", "arrays of NumPy"};
    const at_graphs *graphs = at_graphs_of(dataset);
    measures found;
    attn_status status = measure(dataset, &found);
    if (status != ATTN_OK) return status;
    if (options->json) return describe_json(dataset, options, &found, writer);
    at_print(writer, "%s, ", formats[dataset->format]);
    at_put_count(writer, graphs->graphs, "graph");
    put(writer, ", ");
    at_put_count(writer, graphs->nodes, "node");
    put(writer, ", ");
    at_put_count(writer, graphs->edges, "edge");
    put(writer, "\n");
    if (options->unlabelled) {
        put(writer, "\nno targets: it can be used for prediction, not for training. As training data it\n");
        at_put_reason(writer, options);
    }
    put_edges(graphs, &found, writer);
    put_features(graphs, &found, writer);
    put_parts(dataset, &found, writer);
    at_put_lengths_heading(writer);
    if (graphs->graphs > 1) {
        at_put_lengths(writer, "nodes a graph", &found.nodes);
        at_put_lengths(writer, "edges a graph", &found.edges);
    }
    at_put_lengths(writer, "edges a node", &found.degrees);
    if (graphs->feature_columns) at_put_lengths(writer, "features per node", &found.features);
    status = at_put_columns(writer, dataset, options, place_name(dataset));
    if (status == ATTN_OK && dataset->part_count) status = put_classes_by_part(dataset, &found, 0, writer);
    return status;
}
