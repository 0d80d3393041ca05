/* graph.h: which queries see which keys, as the edges of a graph.
 *
 * A graph has `rows` queries, `columns` keys and edges from a row to the
 * columns that it sees, in compressed sparse rows (CSR): row i has edges
 * row_offsets[i] .. row_offsets[i+1] - 1, and column_indices[e] is the key of
 * edge e. Duplicate edges and self-loops are kept as given. A row without edges
 * sees nothing (its output is 0). A batch of graphs is one graph with the nodes
 * of all of them: attn_graph_batch.
 *
 * An edge keeps its number: its index in the edge list or in the compressed
 * rows that the graph was made from. Edge features, weights and their gradients
 * are indexed by this number, whatever the order inside.
 *
 * The graph object also holds its transpose (which rows see column j) for the
 * backward pass, and the division of the work among threads. All of it is
 * computed when the graph is created; afterwards the graph does not change, and
 * threads with contexts of their own may share it. Its memory comes from the
 * allocator of the context that created it, which must outlive the graph.
 */
#ifndef ATTN_GRAPH_H
#define ATTN_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_graph attn_graph;

/* From compressed rows: row_offsets[rows + 1] from 0 up to the number of edges,
 * column_indices[edges] in 0 .. columns-1. Both are copied. rows and columns
 * are below 2^31. *graph is untouched on failure. Errors: INVALID_ARGUMENT (a
 * NULL, offsets that decrease, an index out of range: the message names the
 * entry), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_graph_create(attn_context *context, int64_t rows, int64_t columns,
                                       const int64_t *row_offsets, const int64_t *column_indices,
                                       attn_graph **graph);

/* From an edge list: with edge e, row `row_of[e]` sees column `column_of[e]`.
 * The edges of a row keep their order in the list. If messages flow from source
 * to target, row_of is the target and column_of the source. Errors as
 * attn_graph_create. */
ATTN_API attn_status attn_graph_from_edges(attn_context *context, int64_t rows, int64_t columns,
                                           int64_t edges, const int64_t *row_of, const int64_t *column_of,
                                           attn_graph **graph);

/* The transpose: columns see rows. Edge numbers do not change.
 * *transposed is untouched on failure. Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_graph_transpose(attn_context *context, const attn_graph *graph,
                                          attn_graph **transposed);

/* Adds an edge i -> i for every row (rows = columns), at the end of the row,
 * with the number edges + i. A row that already has a self-loop gets a second
 * one.
 * Errors: INVALID_ARGUMENT (NULL), SHAPE_MISMATCH (rows and columns differ), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_graph_add_self_loops(attn_context *context, const attn_graph *graph,
                                               attn_graph **looped);

/* Adds an edge j -> i for every edge e, i -> j (rows = columns), with the
 * number edges + e. It makes an undirected graph from edges that are listed
 * once.
 * Errors as attn_graph_add_self_loops. */
ATTN_API attn_status attn_graph_add_reversed(attn_context *context, const attn_graph *graph,
                                             attn_graph **undirected);

/* Several graphs as one: the nodes of graph b follow those of graph b-1, and
 * so do its edge numbers.
 * Errors: INVALID_ARGUMENT (NULL, count below 0), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_graph_batch(attn_context *context, int64_t count, const attn_graph *const *graphs,
                                      attn_graph **batch);

/* NULL is allowed. */
ATTN_API void attn_graph_destroy(attn_graph *graph);

/* How many queries, keys and edges it has. */
ATTN_API int64_t attn_graph_rows(const attn_graph *graph);
ATTN_API int64_t attn_graph_columns(const attn_graph *graph);
ATTN_API int64_t attn_graph_edges(const attn_graph *graph);

/* The compressed rows: offsets[rows + 1]; the column and the caller's number of
 * every edge, in the order of the rows. Valid as long as the graph. */
ATTN_API const int64_t *attn_graph_row_offsets(const attn_graph *graph);
ATTN_API const int32_t *attn_graph_column_indices(const attn_graph *graph);
ATTN_API const int64_t *attn_graph_edge_numbers(const attn_graph *graph);

ATTN_END_DECLS

#endif
