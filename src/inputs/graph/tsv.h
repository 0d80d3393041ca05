/* tsv.h: graphs as tables with TABs between the columns.
 *
 *     nodes.tsv                                     edges.tsv
 *     node  label   split  features                 0  1
 *     0     tvshow  val    143 236 874              0  2
 *     1             train  597 979:0.5              2  1
 *
 * nodes.tsv: the first line names the columns, in any order:
 *
 *     node, id   what edges call the node, any text; without a column of that name it is the first
 *     label      to be learned (or labels, class, target, category; or the columns that are requested). An
 *                empty one is missing
 *     split      train, val, test or none; or the column that is asked for
 *     graph      where there are many graphs: which one the node is of. Its lines may stand anywhere; graphs
 *                are in the order of their first lines
 *     features   sparse: numbers of columns from 0 with spaces between, each with a value after a colon if
 *                that is not 1. An empty field is a node that has none of them. Numbers with commas between
 *                ("0.5,1,-2") are dense: the same count for every node
 *     others     dense features, if they hold numbers; columns without a number in the first 100 lines are
 *                not read
 *
 * edges.tsv: from, to and, if edges have them, numbers: the same count for every edge. TABs between them, or
 * spaces in lines without a TAB. Lines that begin with # are comments. The first line may name the columns:
 * it does if neither of its first two fields is a node, and they are usual names (source, target; from, to;
 * ...) or no numbers where all nodes are called by numbers.
 *
 * graphs.tsv: graph, label and split of each graph, where targets belong to graphs. Without it they are those
 * of the nodes, which must not contradict each other within a graph.
 *
 * With skip_bad, bad lines of nodes and edges are left out and counted: an edge whose node was left out is
 * one.
 */
#ifndef AT_INPUTS_GRAPH_TSV_H
#define AT_INPUTS_GRAPH_TSV_H

#include "data/symbols/vocabulary.h"
#include "inputs/graph/parse.h"

/* What a column is, beside the number of a target. */
enum {
    AT_COLUMN_NUMBER = -1,
    AT_COLUMN_NODE = -2,
    AT_COLUMN_GRAPH = -3,
    AT_COLUMN_SPLIT = -4,
    AT_COLUMN_FEATURES = -5,
    AT_COLUMN_UNUSED = -6
};

/* A table with a header: nodes.tsv or graphs.tsv. */
typedef struct at_graph_table {
    at_graph_reader *reader;
    at_graph_lines lines;
    at_graph_fields fields; /* of the line that was read last */
    at_vocabulary names;    /* of the columns, in their order */
    int64_t *roles;         /* [width] */
    int64_t width;
    int64_t node, graph, split, features; /* columns; -1: there is none */
    int64_t split_number;                 /* which of several splits in that column; -1: there is one */
    at_strings targets;                   /* names of the target columns, */
    int64_t *target_columns;              /* [targets.count] and where they are */
} at_graph_table;

/* Reads the first line; `nodes`: it is nodes.tsv. Roles of columns are set, but for those of numbers. */
attn_status at_graph_table_begin(at_graph_reader *reader, const at_graph_file *file, int64_t first_line,
                                 int nodes, at_graph_table *table);
void at_graph_table_free(at_graph_table *table);
/* The next line that is not blank, split into fields; *there 0: there is none. Bad if it is not UTF-8 or does
 * not have as many fields as columns. */
attn_status at_graph_table_next(at_graph_table *table, int *there);
/* INVALID_ARGUMENT that names the columns there are. */
attn_status at_graph_table_fail(const at_graph_table *table, const char *what, const char *name);
/* The part that the line names; ATTN_PART_NONE where there is no such column. */
attn_status at_graph_table_part(at_graph_table *table, int *part);

/* ---- ids ---- */

/* Nodes by what the data calls them. While these are the numbers 0, 1, 2, ... nothing is kept. */
typedef struct at_graph_ids {
    at_vocabulary known;
    int64_t count;
    int named; /* they are in `known` */
    /* Then, when all are there: slots with the upper half of a name's hash and, in the lower half, one more
     * than its number; 0 is free. Names that only share a slot are distinguished without a look at them. */
    uint64_t *slots;
    int64_t slot_count; /* a power of two */
} at_graph_ids;

/* All ids are there, and edges are looked up from now on. */
attn_status at_graph_ids_ready(attn_context *context, at_graph_ids *ids);
void at_graph_ids_free(attn_context *context, at_graph_ids *ids);
/* The number of a node that has this hash, and most likely this name; -1: there is none. */
int64_t at_graph_id_likely(const at_graph_ids *ids, uint64_t hash);
/* The number of a node; -1: there is none of that name. */
int64_t at_graph_id_find(const at_graph_ids *ids, const char *text, size_t length);
/* *number = ids->count before; or that of the node which is called so already. */
attn_status at_graph_id_add(attn_context *context, at_graph_ids *ids, const char *text, size_t length,
                            int64_t *number);

/* ---- edges (tsv_edges.c) ---- */

/* Edges that are read: into the graph that is being filled or, with `apart`, into lists of their own, for
 * graphs that come later. */
typedef struct at_graph_edges {
    const at_graph_ids *ids;
    int apart;
    const int32_t *graph_of; /* with apart: [nodes] */
    int32_t *from, *to;
    float *numbers;
    int64_t count, from_room, to_room, number_room;
} at_graph_edges;

attn_status at_graph_read_edges(at_graph_reader *reader, const at_graph_file *file, at_graph_edges *edges);

/* ---- targets and parts (tsv_targets.c) ---- */

/* graphs.tsv: what it says of each graph. */
typedef struct at_graph_list {
    const char *name; /* of the file; NULL: there is none */
    at_vocabulary names;
    at_strings columns, values; /* values: of graph g and target c: g * columns.count + c */
    at_bytes parts;             /* a byte for each graph; empty: it says nothing of that */
    int64_t *lines, line_room;
} at_graph_list;

attn_status at_graph_list_read(at_graph_reader *reader, const at_graph_file *file, at_graph_list *list);
void at_graph_list_free(attn_context *context, at_graph_list *list);

/* What the tables say, of rows and of graphs. */
typedef struct at_graph_said {
    const at_graph_table *table;
    const at_graph_list *graphs;
    at_strings *targets; /* of rows: the list changes its owner, if targets stand with rows */
    at_bytes *parts;     /* a byte for each row */
} at_graph_said;

/* Targets and parts of the dataset, with rows or with graphs, as options.per_token has it. */
attn_status at_graph_put_targets(at_graph_reader *reader, at_graph_said *said);

#endif
