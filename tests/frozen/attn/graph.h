/* graph.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_GRAPH_H
#define ATTN_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_graph attn_graph;

ATTN_API attn_status attn_graph_create(attn_context *context, int64_t rows, int64_t columns,
                                       const int64_t *row_offsets, const int64_t *column_indices,
                                       attn_graph **graph);

ATTN_API attn_status attn_graph_from_edges(attn_context *context, int64_t rows, int64_t columns,
                                           int64_t edges, const int64_t *row_of, const int64_t *column_of,
                                           attn_graph **graph);

ATTN_API attn_status attn_graph_transpose(attn_context *context, const attn_graph *graph,
                                          attn_graph **transposed);

ATTN_API attn_status attn_graph_add_self_loops(attn_context *context, const attn_graph *graph,
                                               attn_graph **looped);

ATTN_API attn_status attn_graph_add_reversed(attn_context *context, const attn_graph *graph,
                                             attn_graph **undirected);

ATTN_API attn_status attn_graph_batch(attn_context *context, int64_t count, const attn_graph *const *graphs,
                                      attn_graph **batch);

ATTN_API void attn_graph_destroy(attn_graph *graph);

ATTN_API int64_t attn_graph_rows(const attn_graph *graph);
ATTN_API int64_t attn_graph_columns(const attn_graph *graph);
ATTN_API int64_t attn_graph_edges(const attn_graph *graph);

ATTN_API const int64_t *attn_graph_row_offsets(const attn_graph *graph);
ATTN_API const int32_t *attn_graph_column_indices(const attn_graph *graph);
ATTN_API const int64_t *attn_graph_edge_numbers(const attn_graph *graph);

ATTN_END_DECLS

#endif
