/* graphs.h: graphs in memory: nodes with their features, edges with theirs, one graph after another.
 *
 * It is the content of a dataset whose examples are graphs and whose rows are nodes: a large graph is one
 * example, and so is a molecule. Readers fill it node by node and edge by edge; kinds of input make batches
 * of it.
 *
 * A node has sparse features (column numbers, each with a value), dense ones, both or none. An edge goes from
 * a node to another one of the same graph and has `edge_columns` numbers.
 */
#ifndef AT_DATA_GRAPHS_H
#define AT_DATA_GRAPHS_H

#include "data/dataset.h"

typedef struct at_graphs {
    int64_t nodes, edges, graphs;
    uint64_t serial; /* no other content has it: who makes something of the edges knows by it whose it is */

    int64_t *first_feature, first_feature_room; /* [nodes + 1]: the sparse features of each node */
    int32_t *features;                          /* their columns, 0 .. feature_columns - 1 */
    float *values;                              /* NULL: all are 1 */
    int64_t feature_room, value_room;
    int64_t feature_columns; /* sparse: one more than the largest that was seen, or what the data says */

    float *dense; /* [nodes][dense_columns] */
    int64_t dense_columns, dense_room;

    int64_t *first_node, first_node_room; /* [graphs + 1]: the nodes of each graph */
    int64_t *first_edge, first_edge_room; /* [graphs + 1]: its edges */
    int32_t *from, *to;                   /* [edges]: nodes, counted from the first of their graph */
    float *edge_numbers;                  /* [edges][edge_columns] */
    int64_t from_room, to_room, edge_columns, edge_number_room;

    /* So many of the last columns, of the sparse features and of the numbers of edges, a view may leave out.
     */
    int64_t optional_features, optional_numbers;

    at_strings names;         /* [nodes]: what the data calls them; none at all: their numbers from 0 */
    at_strings texts;         /* [graphs]: what each was written as (SMILES); or none at all */
    at_strings feature_names; /* of the dense columns, or none at all */
    int listed_once;          /* every edge is there in one direction only, from the smaller number to the
                                 larger: an undirected graph whose edges are listed once */
} at_graphs;

/* An empty dataset of graphs; kind: at_graphs_content with the name of the kind of input. */
attn_status at_graphs_dataset(attn_context *context, const char *name, const at_content_kind *kind,
                              int format, attn_dataset **dataset);
static inline at_graphs *at_graphs_of(const attn_dataset *dataset) { return dataset->content; }

/* The functions of a content kind, to be filled with `input`. */
#define AT_GRAPHS_CONTENT                                                                                    \
    .rows_split = 1, .destroy = at_graphs_destroy, .create = at_graphs_create, .append = at_graphs_append,   \
    .hash = at_graphs_hash, .row_name = at_graphs_row_name
void at_graphs_destroy(attn_context *context, void *content);
attn_status at_graphs_create(attn_context *context, const void *like, void **content);
attn_status at_graphs_append(attn_context *context, void *content, const void *from, int64_t example,
                             int64_t first, int64_t end);
uint64_t at_graphs_hash(const void *content, int64_t first, int64_t end, uint64_t seed);
const char *at_graphs_row_name(const void *content, int64_t row); /* NULL: it is its number */
/* What the graph was written as (texts). */
void at_graphs_text(const void *content, int64_t example, int64_t first, int64_t end, at_writer *writer);

/* ---- filling ----
 *
 * A graph is its nodes, each with its features, then its edges, then at_graphs_end. dense_columns and
 * edge_columns are set before the first node. */

/* One more node, which is in line `line`; name NULL: nodes have no names. */
attn_status at_graphs_node(attn_dataset *dataset, const char *name, size_t length, int64_t line);
/* One more sparse feature of the last node. */
attn_status at_graphs_feature(attn_dataset *dataset, int64_t column, float value);
/* The dense features of the last node: dense_columns numbers to be written. */
float *at_graphs_dense(attn_dataset *dataset);
/* One more edge of the graph that is being filled; nodes are counted from its first. numbers: edge_columns of
 * them, NULL if there are none. The nodes are there. */
attn_status at_graphs_edge(attn_dataset *dataset, int64_t from, int64_t to, const float *numbers);
/* Room for many edges at once, so that memory does not double on the way. */
attn_status at_graphs_reserve_edges(attn_dataset *dataset, int64_t edges);
/* Ends the graph, which is one more example; its targets are added by the reader. */
attn_status at_graphs_end(attn_dataset *dataset);
/* Takes back the nodes and edges of the graph that is being filled. */
void at_graphs_undo(attn_dataset *dataset);

#endif
