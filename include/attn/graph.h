/* graph.h: who sees whom as the edges of a graph.
 *
 * A graph has `rows` queries, `columns` keys and edges from a row to the
 * columns that it sees, in compressed rows: the edges of row i are
 * row_offsets[i] .. row_offsets[i+1], and columns[e] is the key that edge e
 * sees. Duplicate edges and self-loops stand as they are given; a row without
 * edges sees nothing (its output is 0). Many graphs in one batch are one graph
 * whose nodes are counted through: attn_graph_batch.
 *
 * An edge keeps the number that the caller gave it, its place in the edge list
 * or in the compressed rows that the graph was made from: edge features,
 * weights and their gradients are indexed by it, whatever the order inside.
 *
 * The graph object also holds its transpose (which rows see column j) for the
 * backward pass, and how the work is cut for the threads; all of it is made
 * once, with the graph. It is read-only afterwards and may be shared between
 * threads. Memory comes from the allocator of the context that made it, which
 * must outlive the graph.
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

/* From compressed rows: row_offsets[rows + 1] from 0 up to the number of
 * edges, column_indices[edges] in 0 .. columns-1. Both are copied. rows and
 * columns are below 2^31. *graph is untouched on failure.
 * Errors: INVALID_ARGUMENT (a NULL, offsets that fall, an index out of range:
 * the text names the entry), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_graph_create(attn_context *context, int64_t rows, int64_t columns,
                                       const int64_t *row_offsets, const int64_t *column_indices,
                                       attn_graph **graph);

/* From an edge list: edge e lets row `row_of[e]` see column `column_of[e]`.
 * Edges of a row keep their order in the list. In a graph whose messages flow
 * from source to target, row_of is the target and column_of the source.
 * Errors as attn_graph_create. */
ATTN_API attn_status attn_graph_from_edges(attn_context *context, int64_t rows, int64_t columns,
                                           int64_t edges, const int64_t *row_of, const int64_t *column_of,
                                           attn_graph **graph);

/* The same edges the other way round: columns see rows. Edge numbers stay. */
ATTN_API attn_status attn_graph_transpose(attn_context *context, const attn_graph *graph,
                                          attn_graph **transposed);

/* One more edge i -> i for every row (rows = columns), at the end of the row;
 * its number is edges + i. Rows that have a self-loop already get another. */
ATTN_API attn_status attn_graph_add_self_loops(attn_context *context, const attn_graph *graph,
                                               attn_graph **looped);

/* For every edge i -> j one more, j -> i (rows = columns), with the number
 * edges + e: an undirected graph from edges that are listed once. */
ATTN_API attn_status attn_graph_add_reversed(attn_context *context, const attn_graph *graph,
                                             attn_graph **undirected);

/* Several graphs as one: the nodes of graph b follow those of graph b-1, and
 * so do its edge numbers. */
ATTN_API attn_status attn_graph_batch(attn_context *context, int64_t count, const attn_graph *const *graphs,
                                      attn_graph **batch);

/* NULL is allowed. */
ATTN_API void attn_graph_destroy(attn_graph *graph);

/* 0 for NULL. */
ATTN_API int64_t attn_graph_rows(const attn_graph *graph);
ATTN_API int64_t attn_graph_columns(const attn_graph *graph);
ATTN_API int64_t attn_graph_edges(const attn_graph *graph);

/* The compressed rows: offsets[rows + 1]; the column and the caller's number of
 * every edge, in the order of the rows. Valid as long as the graph; NULL for NULL. */
ATTN_API const int64_t *attn_graph_row_offsets(const attn_graph *graph);
ATTN_API const int32_t *attn_graph_column_indices(const attn_graph *graph);
ATTN_API const int64_t *attn_graph_edge_numbers(const attn_graph *graph);

ATTN_END_DECLS

#endif
