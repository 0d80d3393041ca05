/* nodes_edges.c: the edges of a batch of graphs, and the features of every edge.
 *
 * Along the edges, a node sees the nodes whose edges lead to it, those that its own edges lead to if the
 * graph is undirected, and itself. An edge has the numbers of the data, and two that say whether it is a
 * self-loop or a reverse edge; edges without numbers in the data have none at all.
 *
 * With the pattern `all`, every node of a graph sees every other: a pair has the numbers of the edge between
 * them (0 if there is none) and a feature that says whether it is a node with itself, or the distance in
 * edges: 1, 2, 3 or more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/nodes.h"

enum { EDGE_MARKS = 2, PAIR_MARKS = 5, FARTHEST = 3, KEPT_EDGES = 1 << 18 };

/* One edge of a batch: `row` sees `column`. */
typedef struct seen_edge {
    int32_t row, column;
    int32_t
        edge; /* of the data; LOOP: a self-loop that was added; below that: BACK - edge, which leads back */
} seen_edge;
enum { LOOP = -1, BACK = -2 };

static int leads_back(const seen_edge *edge) { return edge->edge <= BACK; }
static int64_t number_of(const seen_edge *edge) { return leads_back(edge) ? BACK - edge->edge : edge->edge; }

struct at_node_edges {
    seen_edge *list, *sorted; /* sorted: room to sort in */
    int64_t list_room, sorted_room, count;
    int64_t *row_of, *column_of; /* as a graph is made of them */
    int64_t row_room, column_room;
    int64_t *first, first_room; /* where the edges of each node of a graph begin in the list */
    int32_t *distance, *queue;
    int64_t distance_room, queue_room;
};

void at_nodes_free_edges(attn_context *context, struct at_node_edges *work) {
    if (!work) return;
    at_release(context, work->list);
    at_release(context, work->sorted);
    at_release(context, work->row_of);
    at_release(context, work->column_of);
    at_release(context, work->first);
    at_release(context, work->distance);
    at_release(context, work->queue);
    at_release(context, work);
}

int64_t at_nodes_edge_columns(const at_node_input *input) {
    if (input->values.pattern == AT_NODES_ALL) return input->edge_numbers + PAIR_MARKS;
    return input->edge_numbers ? input->edge_numbers + EDGE_MARKS : 0;
}

/* ---- the edges of one graph ---- */

/* By column; of equal ones the edge itself before one that leads back. */
static int by_column(const void *a, const void *b) {
    const seen_edge *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    if (leads_back(x) != leads_back(y)) return leads_back(x) - leads_back(y);
    return (number_of(x) > number_of(y)) - (number_of(x) < number_of(y));
}

/* Brings the edges from `begin` of the list on, which are those of a graph, into the order of their rows and
 * columns; work->first says where those of each row begin. */
static attn_status sort_edges(attn_context *context, struct at_node_edges *work, int64_t begin, int64_t rows,
                              int64_t base) {
    int64_t count = work->count - begin;
    attn_status status =
        at_grow(context, &work->first, &work->first_room, rows + 2, sizeof *work->first, "a graph");
    if (status == ATTN_OK)
        status = at_grow(context, &work->sorted, &work->sorted_room, count, sizeof *work->sorted, "a graph");
    if (status != ATTN_OK) return status;
    int64_t *first = work->first;
    memset(first, 0, (size_t)(rows + 2) * sizeof *first);
    for (int64_t i = begin; i < work->count; i++) first[work->list[i].row - base + 2]++;
    for (int64_t row = 0; row < rows; row++) first[row + 2] += first[row + 1];
    for (int64_t i = begin; i < work->count; i++)
        work->sorted[first[work->list[i].row - base + 1]++] = work->list[i];
    for (int64_t row = 0; row < rows; row++) {
        int64_t edges = first[row + 1] - first[row];
        if (edges > 1) qsort(work->sorted + first[row], (size_t)edges, sizeof *work->sorted, by_column);
    }
    if (count) memcpy(work->list + begin, work->sorted, (size_t)count * sizeof *work->list);
    for (int64_t row = 0; row <= rows; row++) first[row] += begin;
    return ATTN_OK;
}

/* In an undirected graph two nodes see each other once, however often the data says so. */
static void drop_doubles(struct at_node_edges *work, int64_t begin) {
    const seen_edge *list = work->list;
    int64_t kept = begin;
    for (int64_t i = begin; i < work->count; i++)
        if (kept == begin || list[i].row != list[kept - 1].row || list[i].column != list[kept - 1].column)
            work->list[kept++] = list[i];
    work->count = kept;
}

/* Appends the edges of a graph whose nodes are the rows from `base` on. */
static attn_status list_edges(const at_node_input *input, const at_graphs *graphs, int64_t graph,
                              int64_t rows, int64_t base, attn_context *context, struct at_node_edges *work) {
    int64_t first = graphs ? graphs->first_edge[graph] : 0;
    int64_t count = graphs ? graphs->first_edge[graph + 1] - first : 0;
    int both = input->values.undirected == AT_NODES_YES, loops = input->values.self_loops;
    attn_status status =
        at_grow(context, &work->list, &work->list_room, work->count + (both ? 2 : 1) * count + rows,
                sizeof *work->list, "the edges of a batch");
    if (status != ATTN_OK) return status;
    seen_edge *at = work->list + work->count;
    for (int64_t e = first; e < first + count; e++) {
        int32_t from = (int32_t)(base + graphs->from[e]), to = (int32_t)(base + graphs->to[e]);
        if (from == to && loops) continue; /* every node gets one */
        *at++ = (seen_edge){to, from, (int32_t)e};
        if (both && from != to) *at++ = (seen_edge){from, to, (int32_t)(BACK - e)};
    }
    int64_t began = work->count;
    work->count = at - work->list;
    if (both) status = sort_edges(context, work, began, rows, base);
    if (status != ATTN_OK) return status;
    if (both) drop_doubles(work, began);
    at = work->list + work->count;
    for (int64_t row = base; row < base + rows && loops; row++)
        *at++ = (seen_edge){(int32_t)row, (int32_t)row, LOOP};
    work->count = at - work->list;
    return ATTN_OK;
}

/* The numbers of an edge of the data. */
static void put_numbers(const at_node_input *input, const at_graphs *graphs, int64_t edge, float *to) {
    const float *from = edge >= 0 ? graphs->edge_numbers + edge * graphs->edge_columns : NULL;
    for (int64_t c = 0; c < input->edge_numbers; c++)
        to[c] = from ? (from[c] - input->edge_mean[c]) / input->edge_deviation[c] : 0;
}

/* ---- along the edges ---- */

static attn_status grow_result(const at_node_input *input, int64_t edges, at_node_batch *batch) {
    struct at_node_edges *work = batch->work;
    attn_context *context = batch->batch.context;
    int64_t columns = at_nodes_edge_columns(input);
    attn_status status =
        at_grow(context, &work->row_of, &work->row_room, edges, sizeof *work->row_of, "the edges of a batch");
    if (status == ATTN_OK)
        status = at_grow(context, &work->column_of, &work->column_room, edges, sizeof *work->column_of,
                         "the edges of a batch");
    if (status == ATTN_OK && columns)
        status = at_grow(context, &batch->edges, &batch->edge_room, edges * columns, sizeof *batch->edges,
                         "the edges of a batch");
    return status;
}

static attn_status put_edges(const at_node_input *input, const at_graphs *graphs, at_node_batch *batch) {
    struct at_node_edges *work = batch->work;
    int64_t columns = at_nodes_edge_columns(input);
    attn_status status = grow_result(input, work->count, batch);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < work->count; i++) {
        const seen_edge *edge = &work->list[i];
        work->row_of[i] = edge->row;
        work->column_of[i] = edge->column;
        if (!columns) continue;
        float *to = batch->edges + i * columns;
        put_numbers(input, graphs, number_of(edge), to);
        to[input->edge_numbers] = edge->row == edge->column ? 1.0f : 0.0f;
        to[input->edge_numbers + 1] = leads_back(edge) ? 1.0f : 0.0f;
    }
    return ATTN_OK;
}

/* ---- all pairs ---- */

/* The edges of a graph in order, and room to measure distances in. */
static attn_status index_edges(attn_context *context, struct at_node_edges *work, int64_t rows,
                               int64_t base) {
    attn_status status = sort_edges(context, work, 0, rows, base);
    if (status == ATTN_OK)
        status =
            at_grow(context, &work->distance, &work->distance_room, rows, sizeof *work->distance, "a graph");
    if (status == ATTN_OK)
        status = at_grow(context, &work->queue, &work->queue_room, rows, sizeof *work->queue, "a graph");
    return status;
}

/* How many edges lie between `row` and each node that it can see through others; FARTHEST + 1: more. */
static void measure_distances(struct at_node_edges *work, int64_t rows, int64_t base, int64_t row) {
    int64_t head = 0, tail = 0;
    for (int64_t i = 0; i < rows; i++) work->distance[i] = FARTHEST + 1;
    work->distance[row] = 0;
    work->queue[tail++] = (int32_t)row;
    while (head < tail) {
        int32_t now = work->queue[head++];
        if (work->distance[now] == FARTHEST) break;
        for (int64_t e = work->first[now]; e < work->first[now + 1]; e++) {
            int64_t next = work->list[e].column - base;
            if (work->distance[next] <= FARTHEST) continue;
            work->distance[next] = work->distance[now] + 1;
            work->queue[tail++] = (int32_t)next;
        }
    }
}

/* All pairs of a graph, from pair `at` on. */
static void put_pairs(const at_node_input *input, const at_graphs *graphs, int64_t rows, int64_t base,
                      int64_t at, at_node_batch *batch) {
    struct at_node_edges *work = batch->work;
    int64_t columns = at_nodes_edge_columns(input);
    for (int64_t row = 0; row < rows; row++) {
        measure_distances(work, rows, base, row);
        int64_t edge = work->first[row];
        for (int64_t column = 0; column < rows; column++, at++) {
            float *to = batch->edges + at * columns;
            while (edge < work->first[row + 1] && work->list[edge].column < base + column) edge++;
            int joined = edge < work->first[row + 1] && work->list[edge].column == base + column;
            work->row_of[at] = base + row;
            work->column_of[at] = base + column;
            put_numbers(input, graphs, joined ? number_of(&work->list[edge]) : LOOP, to);
            memset(to + input->edge_numbers, 0, PAIR_MARKS * sizeof *to);
            to[input->edge_numbers + work->distance[column]] = 1;
        }
    }
}

static attn_status pair_nodes(const at_node_input *input, const at_node_encoded *encoded,
                              const at_segments *segments, const int64_t *order, int64_t count,
                              at_node_batch *batch) {
    struct at_node_edges *work = batch->work;
    attn_context *context = batch->batch.context;
    const at_graphs *graphs = encoded ? encoded->graphs : NULL;
    int64_t pairs = 0, at = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t rows = batch->batch.offsets[i + 1] - batch->batch.offsets[i];
        pairs += rows * rows;
    }
    attn_status status = grow_result(input, pairs, batch);
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const at_segment *segment = &segments->list[order[i]];
        int64_t base = batch->batch.offsets[i], rows = batch->batch.offsets[i + 1] - base;
        work->count = 0;
        status =
            list_edges(input, segment->count ? graphs : NULL, segment->example, rows, base, context, work);
        if (status == ATTN_OK) status = index_edges(context, work, rows, base);
        if (status != ATTN_OK) break;
        put_pairs(input, graphs, rows, base, at, batch);
        at += rows * rows;
    }
    work->count = pairs;
    return status;
}

/* ---- the graph of a batch ---- */

static attn_status join_nodes(const at_node_input *input, const at_node_encoded *encoded,
                              const at_segments *segments, const int64_t *order, int64_t count,
                              at_node_batch *batch) {
    struct at_node_edges *work = batch->work;
    const at_graphs *graphs = encoded ? encoded->graphs : NULL;
    attn_status status = ATTN_OK;
    work->count = 0;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const at_segment *segment = &segments->list[order[i]];
        int64_t base = batch->batch.offsets[i], rows = batch->batch.offsets[i + 1] - base;
        status = list_edges(input, segment->count ? graphs : NULL, segment->example, rows, base,
                            batch->batch.context, work);
    }
    return status == ATTN_OK ? put_edges(input, graphs, batch) : status;
}

attn_status at_nodes_connect(const at_node_input *input, const at_node_encoded *encoded,
                             const at_segments *segments, const int64_t *order, int64_t count,
                             at_node_batch *batch) {
    attn_context *context = batch->batch.context;
    uint64_t serial = encoded && count == 1 ? encoded->graphs->serial : 0;
    int64_t example = count == 1 ? segments->list[order[0]].example : -1;
    if (serial && serial == batch->serial && example == batch->example) return ATTN_OK;
    batch->serial = 0;
    if (!batch->work) batch->work = at_allocate(context, 1, sizeof *batch->work, "the edges of a batch");
    if (!batch->work) return ATTN_OUT_OF_MEMORY;
    attn_status status = input->values.pattern == AT_NODES_ALL
                             ? pair_nodes(input, encoded, segments, order, count, batch)
                             : join_nodes(input, encoded, segments, order, count, batch);
    if (status != ATTN_OK) return status;
    attn_graph *made = NULL;
    int64_t edges = batch->work->count;
    if (batch->work->list_room > KEPT_EDGES && count == 1) { /* the lists of one big graph are made once */
        at_release(context, batch->work->list);
        at_release(context, batch->work->sorted);
        batch->work->list = batch->work->sorted = NULL;
        batch->work->list_room = batch->work->sorted_room = 0;
    }
    status = attn_graph_from_edges(context, batch->batch.rows, batch->batch.rows, edges, batch->work->row_of,
                                   batch->work->column_of, &made);
    if (status != ATTN_OK) return status;
    attn_graph_destroy(batch->graph);
    batch->graph = made;
    batch->batch.graph = made;
    batch->batch.edges = at_nodes_edge_columns(input) ? batch->edges : NULL;
    batch->serial = serial;
    batch->example = example;
    if (edges > KEPT_EDGES && count == 1) {
        at_nodes_free_edges(context, batch->work);
        batch->work = NULL;
    }
    return ATTN_OK;
}
