/* graph.h (private): what a graph holds: its edges by row and by column, and
 * how each of the two is divided into pieces of work.
 */
#ifndef AT_TENSOR_GRAPH_H
#define AT_TENSOR_GRAPH_H

#include <attn/graph.h>

/* A piece of work: whole rows [row, row_end) with few edges, or, of a row with
 * very many (a hub), the edges [edge, edge_end) alone; `partial` then numbers
 * the place for its share of the result, and is -1 for whole rows. The cut of
 * a row depends on its own degree alone. */
typedef struct at_graph_piece {
    int64_t row, row_end;
    int64_t edge, edge_end;
    int64_t partial;
} at_graph_piece;

/* A hub's partial results are first_partial .. first_partial + partials - 1. */
typedef struct at_graph_hub {
    int64_t row, first_partial, partials;
} at_graph_hub;

/* The edges in the order of the rows (or, transposed, of the columns). */
typedef struct at_adjacency {
    int64_t rows;
    int64_t *offsets;    /* [rows + 1] */
    int32_t *neighbours; /* [edges] */
    int64_t *numbers;    /* [edges]: the caller's number of each */
    at_graph_piece *pieces;
    int64_t piece_count;
    at_graph_hub *hubs;
    int64_t hub_count;
    int64_t partial_count;
} at_adjacency;

struct attn_graph {
    attn_allocator allocator;
    int64_t edges;
    at_adjacency by_row, by_column;
    void *memory; /* all of the arrays above */
};

#endif
