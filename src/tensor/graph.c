/* graph.c: graphs: made from edges, checked, transposed, and divided into pieces.
 *
 * A graph is built in three steps, whatever it is made from: the edges of a
 * row are counted and the rows laid out (a counting sort, so that edges keep
 * their order); the same is done by column; both are divided into pieces. All
 * arrays are in one block of memory.
 */
#include "tensor/graph.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"

enum {
    PIECE_EDGES = 1024, /* of a piece of whole rows, about */
    PIECE_ROWS = 1024,  /* the most rows of it: rows without edges cost something too */
    HUB_EDGES = 4096    /* a row with more is split, every so many edges */
};

/* Where the edges come from: a list, or the edges of another graph in the order
 * of its rows with something done to them. */
typedef struct edge_source {
    int64_t rows, columns, edges;
    const int64_t *row_of, *column_of; /* a list (row_of), or compressed rows (offsets) */
    const int64_t *offsets;
} edge_source;

static int64_t pieces_of_rows(const int64_t *offsets, int64_t rows, at_graph_piece *pieces,
                              at_graph_hub *hubs, int64_t *hub_count, int64_t *partial_count) {
    int64_t count = 0, hub = 0, partial = 0, first = 0;
    for (int64_t row = 0; row <= rows; row++) {
        int64_t degree = row < rows ? offsets[row + 1] - offsets[row] : 0;
        int is_hub = degree > HUB_EDGES;
        int full = row - first >= PIECE_ROWS ||
                   (row > first && offsets[row] - offsets[first] + degree > PIECE_EDGES);
        if (row > first && (row == rows || is_hub || full)) {
            at_graph_piece piece = {first, row, offsets[first], offsets[row], -1};
            if (pieces) pieces[count] = piece;
            count++;
            first = row;
        }
        if (!is_hub) continue;
        at_graph_hub entry = {row, partial, (degree + HUB_EDGES - 1) / HUB_EDGES};
        if (hubs) hubs[hub] = entry;
        hub++;
        for (int64_t e = 0; e < degree; e += HUB_EDGES, partial++) {
            int64_t end = e + HUB_EDGES < degree ? e + HUB_EDGES : degree;
            at_graph_piece piece = {row, row + 1, offsets[row] + e, offsets[row] + end, partial};
            if (pieces) pieces[count] = piece;
            count++;
        }
        first = row + 1;
    }
    *hub_count = hub;
    *partial_count = partial;
    return count;
}

/* Checks the source; the text names the array and the entry. */
static attn_status check_source(attn_context *context, const edge_source *s) {
    if (s->rows < 0 || s->columns < 0 || s->edges < 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a graph of %" PRId64 " rows, %" PRId64 " columns and %" PRId64
                       " edges: none may be negative",
                       s->rows, s->columns, s->edges);
    }
    if (s->rows > INT32_MAX || s->columns > INT32_MAX || s->edges > INT64_MAX / 64) {
        return at_fail(context, ATTN_OVERFLOW,
                       "a graph of %" PRId64 " rows, %" PRId64 " columns and %" PRId64
                       " edges is too large: rows and "
                       "columns are below 2^31",
                       s->rows, s->columns, s->edges);
    }
    if (s->edges > 0 && (!s->column_of || (!s->row_of && !s->offsets))) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL but there are %" PRId64 " edges",
                       s->column_of ? "row_of" : (s->offsets ? "column_indices" : "column_of"), s->edges);
    }
    for (int64_t e = 0; e < s->edges; e++) {
        if (s->row_of && (s->row_of[e] < 0 || s->row_of[e] >= s->rows)) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "row_of[%" PRId64 "] is %" PRId64 "; there are rows 0 to %" PRId64, e,
                           s->row_of[e], s->rows - 1);
        }
        if (s->column_of[e] < 0 || s->column_of[e] >= s->columns) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%s[%" PRId64 "] is %" PRId64 "; there are columns 0 to %" PRId64,
                           s->offsets ? "column_indices" : "column_of", e, s->column_of[e], s->columns - 1);
        }
    }
    return ATTN_OK;
}

static int64_t row_of_edge(const edge_source *s, int64_t e, int64_t *row) {
    if (s->row_of) return s->row_of[e];
    while (s->offsets[*row + 1] <= e) ++*row; /* edges come in the order of the rows */
    return *row;
}

/* Edges counted into offsets[row + 1], then summed up. */
static void count_edges(const edge_source *s, int by_column, int64_t rows, int64_t *offsets) {
    memset(offsets, 0, (size_t)(rows + 1) * sizeof *offsets);
    for (int64_t e = 0, row = 0; e < s->edges; e++) {
        offsets[(by_column ? s->column_of[e] : row_of_edge(s, e, &row)) + 1]++;
    }
    for (int64_t r = 0; r < rows; r++) offsets[r + 1] += offsets[r];
}

/* Puts every edge into its place. offsets[row] walks forward while the row
 * fills, and so ends where the next row begins: shifted back at the end. */
static void place_edges(const edge_source *s, int by_column, at_adjacency *a) {
    for (int64_t e = 0, row = 0; e < s->edges; e++) {
        int64_t r = row_of_edge(s, e, &row), c = s->column_of[e];
        int64_t place = a->offsets[by_column ? c : r]++;
        a->neighbours[place] = (int32_t)(by_column ? r : c);
        a->numbers[place] = e;
    }
    for (int64_t r = a->rows; r > 0; r--) a->offsets[r] = a->offsets[r - 1];
    a->offsets[0] = 0;
}

/* The pieces of an adjacency in the layout, from its offsets. */
typedef struct adjacency_places {
    size_t offsets, neighbours, numbers, pieces, hubs;
} adjacency_places;

static adjacency_places lay_out_adjacency(at_layout *layout, int64_t edges, at_adjacency *a,
                                          const int64_t *offsets) {
    adjacency_places p;
    a->piece_count = pieces_of_rows(offsets, a->rows, NULL, NULL, &a->hub_count, &a->partial_count);
    p.offsets = at_layout_add(layout, a->rows + 1, sizeof(int64_t));
    p.neighbours = at_layout_add(layout, edges, sizeof(int32_t));
    p.numbers = at_layout_add(layout, edges, sizeof(int64_t));
    p.pieces = at_layout_add(layout, a->piece_count, sizeof(at_graph_piece));
    p.hubs = at_layout_add(layout, a->hub_count, sizeof(at_graph_hub));
    return p;
}

static void fill_adjacency(const edge_source *s, int by_column, unsigned char *memory, adjacency_places p,
                           const int64_t *offsets, at_adjacency *a) {
    a->offsets = (int64_t *)(memory + p.offsets);
    a->neighbours = (int32_t *)(memory + p.neighbours);
    a->numbers = (int64_t *)(memory + p.numbers);
    a->pieces = (at_graph_piece *)(memory + p.pieces);
    a->hubs = (at_graph_hub *)(memory + p.hubs);
    memcpy(a->offsets, offsets, (size_t)(a->rows + 1) * sizeof(int64_t));
    pieces_of_rows(offsets, a->rows, a->pieces, a->hubs, &a->hub_count, &a->partial_count);
    place_edges(s, by_column, a);
}

static attn_status build(attn_context *context, const edge_source *s, attn_graph **graph) {
    attn_status status = check_source(context, s);
    if (status != ATTN_OK) return status;
    at_layout counts = {0, 0}, layout = {0, 0};
    size_t by_row_at = at_layout_add(&counts, s->rows + 1, sizeof(int64_t));
    size_t by_column_at = at_layout_add(&counts, s->columns + 1, sizeof(int64_t));
    unsigned char *working;
    status = at_context_memory(context, &counts, &working);
    if (status != ATTN_OK) return status;
    int64_t *row_offsets = (int64_t *)(working + by_row_at),
            *column_offsets = (int64_t *)(working + by_column_at);
    count_edges(s, 0, s->rows, row_offsets);
    count_edges(s, 1, s->columns, column_offsets);

    attn_graph made = {.allocator = context->allocator, .edges = s->edges};
    made.by_row.rows = s->rows;
    made.by_column.rows = s->columns;
    size_t graph_at = at_layout_add(&layout, 1, sizeof(attn_graph));
    adjacency_places row_places = lay_out_adjacency(&layout, s->edges, &made.by_row, row_offsets);
    adjacency_places column_places = lay_out_adjacency(&layout, s->edges, &made.by_column, column_offsets);
    if (layout.overflow)
        return at_fail(context, ATTN_OVERFLOW, "a graph of %" PRId64 " edges does not fit a size", s->edges);
    unsigned char *memory = context->allocator.allocate(context->allocator.user, layout.bytes, AT_ALIGNMENT);
    if (!memory)
        return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for a graph (%zu bytes)", layout.bytes);
    made.memory = memory;
    fill_adjacency(s, 0, memory, row_places, row_offsets, &made.by_row);
    fill_adjacency(s, 1, memory, column_places, column_offsets, &made.by_column);
    attn_graph *placed = (attn_graph *)(memory + graph_at);
    *placed = made;
    *graph = placed;
    return ATTN_OK;
}

attn_status attn_graph_create(attn_context *context, int64_t rows, int64_t columns,
                              const int64_t *row_offsets, const int64_t *column_indices, attn_graph **graph) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!graph || !row_offsets) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL", graph ? "row_offsets" : "graph");
    }
    edge_source s = {.rows = rows, .columns = columns, .column_of = column_indices, .offsets = row_offsets};
    attn_status status = check_source(context, &s); /* the extents, before the offsets are read */
    if (status != ATTN_OK) return status;
    if (row_offsets[0] != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "row_offsets[0] is %" PRId64 ", not 0",
                       row_offsets[0]);
    }
    for (int64_t r = 0; r < rows; r++) {
        if (row_offsets[r + 1] < row_offsets[r]) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "row_offsets falls from %" PRId64 " to %" PRId64 " at entry %" PRId64,
                           row_offsets[r], row_offsets[r + 1], r + 1);
        }
    }
    s.edges = row_offsets[rows];
    return build(context, &s, graph);
}

attn_status attn_graph_from_edges(attn_context *context, int64_t rows, int64_t columns, int64_t edges,
                                  const int64_t *row_of, const int64_t *column_of, attn_graph **graph) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!graph) return at_fail(context, ATTN_INVALID_ARGUMENT, "graph is NULL");
    edge_source s = {
        .rows = rows, .columns = columns, .edges = edges, .row_of = row_of, .column_of = column_of};
    return build(context, &s, graph);
}

/* ---- graphs from graphs: their edges as a list in the order of their numbers ---- */

/* Writes the edges of a graph into row_of and column_of, from number `first` on,
 * with so much added to the rows and columns. */
static void list_edges(const attn_graph *graph, int64_t first, int64_t add_row, int64_t add_column,
                       int64_t *row_of, int64_t *column_of) {
    const at_adjacency *a = &graph->by_row;
    for (int64_t r = 0; r < a->rows; r++) {
        for (int64_t e = a->offsets[r]; e < a->offsets[r + 1]; e++) {
            row_of[first + a->numbers[e]] = r + add_row;
            column_of[first + a->numbers[e]] = a->neighbours[e] + add_column;
        }
    }
}

/* Memory for a list of edges; released by the caller. */
static attn_status allocate_list(attn_context *context, int64_t edges, int64_t **row_of,
                                 int64_t **column_of) {
    at_layout layout = {0, 0};
    size_t rows_at = at_layout_add(&layout, edges, sizeof(int64_t)),
           columns_at = at_layout_add(&layout, edges, sizeof(int64_t));
    if (layout.overflow || edges > INT64_MAX / 64) {
        return at_fail(context, ATTN_OVERFLOW, "%" PRId64 " edges do not fit a size", edges);
    }
    unsigned char *memory =
        context->allocator.allocate(context->allocator.user, layout.bytes + 1, AT_ALIGNMENT);
    if (!memory)
        return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for a list of %" PRId64 " edges", edges);
    *row_of = (int64_t *)(memory + rows_at);
    *column_of = (int64_t *)(memory + columns_at);
    return ATTN_OK;
}

static attn_status build_from_list(attn_context *context, int64_t rows, int64_t columns, int64_t edges,
                                   int64_t *row_of, int64_t *column_of, attn_graph **graph) {
    edge_source s = {
        .rows = rows, .columns = columns, .edges = edges, .row_of = row_of, .column_of = column_of};
    attn_status status = build(context, &s, graph);
    context->allocator.release(context->allocator.user, row_of); /* the block begins with the rows */
    return status;
}

static attn_status check_graph(attn_context *context, const attn_graph *graph, attn_graph **result,
                               const char *name, int square) {
    if (!graph || !result) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL", graph ? name : "graph");
    }
    if (square && graph->by_row.rows != graph->by_column.rows) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "graph has %" PRId64 " rows and %" PRId64 " columns: this needs as many of each",
                       graph->by_row.rows, graph->by_column.rows);
    }
    return ATTN_OK;
}

attn_status attn_graph_transpose(attn_context *context, const attn_graph *graph, attn_graph **transposed) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    int64_t *row_of, *column_of;
    attn_status status = check_graph(context, graph, transposed, "transposed", 0);
    if (status == ATTN_OK) status = allocate_list(context, graph->edges, &row_of, &column_of);
    if (status != ATTN_OK) return status;
    list_edges(graph, 0, 0, 0, row_of, column_of);
    edge_source s = {.rows = graph->by_column.rows,
                     .columns = graph->by_row.rows,
                     .edges = graph->edges,
                     .row_of = column_of,
                     .column_of = row_of};
    status = build(context, &s, transposed);
    context->allocator.release(context->allocator.user, row_of);
    return status;
}

attn_status attn_graph_add_self_loops(attn_context *context, const attn_graph *graph, attn_graph **looped) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    int64_t *row_of, *column_of;
    attn_status status = check_graph(context, graph, looped, "looped", 1);
    if (status != ATTN_OK) return status;
    int64_t rows = graph->by_row.rows, edges = graph->edges + rows;
    status = allocate_list(context, edges, &row_of, &column_of);
    if (status != ATTN_OK) return status;
    list_edges(graph, 0, 0, 0, row_of, column_of);
    for (int64_t r = 0; r < rows; r++) row_of[graph->edges + r] = column_of[graph->edges + r] = r;
    return build_from_list(context, rows, rows, edges, row_of, column_of, looped);
}

attn_status attn_graph_add_reversed(attn_context *context, const attn_graph *graph, attn_graph **undirected) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    int64_t *row_of, *column_of;
    attn_status status = check_graph(context, graph, undirected, "undirected", 1);
    if (status != ATTN_OK) return status;
    int64_t rows = graph->by_row.rows, edges = graph->edges;
    status = allocate_list(context, 2 * edges, &row_of, &column_of);
    if (status != ATTN_OK) return status;
    list_edges(graph, 0, 0, 0, row_of, column_of);
    for (int64_t e = 0; e < edges; e++) {
        row_of[edges + e] = column_of[e];
        column_of[edges + e] = row_of[e];
    }
    return build_from_list(context, rows, rows, 2 * edges, row_of, column_of, undirected);
}

attn_status attn_graph_batch(attn_context *context, int64_t count, const attn_graph *const *graphs,
                             attn_graph **batch) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!batch || (!graphs && count > 0) || count < 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s",
                       !batch ? "batch is NULL" : "graphs is NULL or count is negative");
    }
    int64_t rows = 0, columns = 0, edges = 0;
    for (int64_t b = 0; b < count; b++) {
        if (!graphs[b]) return at_fail(context, ATTN_INVALID_ARGUMENT, "graphs[%" PRId64 "] is NULL", b);
        rows += graphs[b]->by_row.rows;
        columns += graphs[b]->by_column.rows;
        edges += graphs[b]->edges;
    }
    int64_t *row_of, *column_of;
    attn_status status = allocate_list(context, edges, &row_of, &column_of);
    if (status != ATTN_OK) return status;
    int64_t first_row = 0, first_column = 0, first_edge = 0;
    for (int64_t b = 0; b < count; b++) {
        list_edges(graphs[b], first_edge, first_row, first_column, row_of, column_of);
        first_row += graphs[b]->by_row.rows;
        first_column += graphs[b]->by_column.rows;
        first_edge += graphs[b]->edges;
    }
    return build_from_list(context, rows, columns, edges, row_of, column_of, batch);
}

void attn_graph_destroy(attn_graph *graph) {
    if (!graph) return;
    attn_allocator allocator = graph->allocator;
    allocator.release(allocator.user, graph->memory);
}

int64_t attn_graph_rows(const attn_graph *graph) { return graph ? graph->by_row.rows : 0; }
int64_t attn_graph_columns(const attn_graph *graph) { return graph ? graph->by_column.rows : 0; }
int64_t attn_graph_edges(const attn_graph *graph) { return graph ? graph->edges : 0; }
const int64_t *attn_graph_row_offsets(const attn_graph *graph) {
    return graph ? graph->by_row.offsets : NULL;
}
const int32_t *attn_graph_column_indices(const attn_graph *graph) {
    return graph ? graph->by_row.neighbours : NULL;
}
const int64_t *attn_graph_edge_numbers(const attn_graph *graph) {
    return graph ? graph->by_row.numbers : NULL;
}
