/* nodes.h: rows that are nodes of graphs: shared by kinds of input whose examples are graphs (data/graphs.h).
 *
 *     x_i = sum of the table's rows of the sparse features of node i, times their values
 *           + W * dense features + b;   then a norm and an activation
 *
 * and the edges, which say which nodes see which, with their features. A node sees the nodes whose edges lead
 * to it, and itself.
 *
 * A kind fills a dataset with graphs and has the functions below in its table (AT_NODES); its own struct of
 * values begins with at_node_values, and its fields have the names of AT_NODE_FIELDS after a prefix.
 */
#ifndef AT_INPUTS_NODES_H
#define AT_INPUTS_NODES_H

#include "data/graphs.h"
#include "inputs/input.h"

typedef enum at_node_pattern {
    AT_NODES_EDGES, /* a node sees along its edges */
    AT_NODES_ALL /* every node of a graph sees every other; how many edges lie between them, and the numbers
                    of the edge if it is one, are features of the pair */
} at_node_pattern;

/* Three answers of one question: left to the data, no, yes. */
typedef enum at_node_choice { AT_NODES_AUTO, AT_NODES_NO, AT_NODES_YES } at_node_choice;

/* What stands for a node. */
typedef enum at_node_source {
    AT_NODES_FOUND, /* left to the data */
    AT_NODES_GIVEN, /* the features that the data has */
    AT_NODES_NAME,  /* nodes of one graph have none: each has a row of the table for itself */
    AT_NODES_DEGREE /* nodes of many graphs have none: how many nodes each sees */
} at_node_source;

typedef struct at_node_values {
    double dropout;
    int undirected; /* at_node_choice */
    int self_loops;
    int pattern;  /* at_node_pattern */
    int features; /* at_node_source */
    int normalize, norm, activation;
    int optional;            /* keep the optional columns */
    int few, alike, numbers; /* at_node_choice; numbers: edges have them */
} at_node_values;

/* The rows of a kind's table. prefix: "graph." and so on; type: its struct of values, which begins with the
 * member `nodes`; normalize: whether it does, unless said otherwise. */
#define AT_NODE_FIELDS(prefix, type, normalized)                                                             \
    AT_NUMBER(prefix "dropout", type, nodes.dropout, 0, 0.99, "0",                                           \
              "probability that training hides a feature of a node"),                                        \
        AT_CHOICE(prefix "undirected", type, nodes.undirected, at_node_choices, "auto",                      \
                  "add the reverse of every edge; auto: if the data lists each edge once"),                  \
        AT_SWITCH(prefix "self_loops", type, nodes.self_loops, "true", "a node sees itself"),                \
        AT_CHOICE(prefix "pattern", type, nodes.pattern, at_node_patterns, "edges",                          \
                  "which nodes see which: along the edges, or all, with the edges as a learned bias"),       \
        AT_CHOICE(prefix "features", type, nodes.features, at_node_sources, "auto",                          \
                  "of a node; given: those in the data, or of the atom; name: a learned vector; degree: "    \
                  "neighbours"),                                                                             \
        AT_SWITCH(prefix "normalize", type, nodes.normalize, normalized,                                     \
                  "sparse features of a node have the sum 1, other columns mean 0 and deviation 1"),         \
        AT_SWITCH(prefix "norm", type, nodes.norm, "true", "a norm after the input's map"),                  \
        AT_CHOICE(prefix "activation", type, nodes.activation, at_node_activations, "none",                  \
                  "after the input's map and norm"),                                                         \
        AT_CHOICE(prefix "few", type, nodes.few, at_node_choices, "auto",                                    \
                  "a single graph with few labels; found from the data; only selects other defaults, and "   \
                  "only if the input is graph"),                                                             \
        AT_CHOICE(prefix "alike", type, nodes.alike, at_node_choices, "auto",                                \
                  "neighbours are mostly of the same class; found from the labels; only selects other "      \
                  "defaults, and only if the input is graph"),                                               \
        AT_CHOICE(prefix "edge_numbers", type, nodes.numbers, at_node_choices, "auto",                       \
                  "edges have features; found from the data; only selects other defaults, and only if the "  \
                  "input is graph")
enum { AT_NODE_FIELD_COUNT = 11 };
/* Flags that kinds of graphs share: "*" stands for the kind that is configured. */
#define AT_NODE_FLAGS                                                                                        \
    {"undirected", "*.undirected", NULL, "graphs: add the reverse of every edge"},                           \
        {"pattern", "*.pattern", "P",                                                                        \
         "graphs: edges: nodes see their neighbours; all: every node, with the edges as a bias"},            \
    {                                                                                                        \
        "hide", "*.dropout", "P", "probability that training hides a feature of a node or a number of a row" \
    }
enum { AT_NODE_FLAG_COUNT = 3 };
extern const char *const at_node_choices[], *const at_node_patterns[], *const at_node_sources[],
                                                                           *const at_node_activations[];

typedef struct at_node_input {
    at_input input;
    at_node_values values;
    int64_t feature_columns, dense_columns, edge_numbers; /* of the data that it learned from */
    int64_t stored[3];                                    /* those three, as a file has them */
    float *mean, *deviation;                              /* of the dense columns, [dense_columns] */
    float *edge_mean, *edge_deviation;                    /* [edge_numbers] */
    at_strings dense_names;                               /* of the dense columns, or none at all */
    at_vocabulary names;                                  /* AT_NODES_NAME: of the nodes */
} at_node_input;

static inline const at_node_input *at_node_input_of(const at_input *input) {
    return (const at_node_input *)(const void *)input;
}

typedef struct at_node_encoded {
    at_encoded encoded;
    const at_graphs *graphs;
    int32_t *stands_for; /* [rows]: the row of the table, where nodes have no features of their own */
    at_strings numbers;  /* names of nodes that have none */
} at_node_encoded;

typedef struct at_node_batch {
    at_batch batch;
    int64_t *bags, bag_room; /* [rows + 1]: the sparse features of each node */
    int32_t *features;
    float *values, *dense, *edges;
    int64_t feature_room, value_room, dense_room, edge_room;
    attn_graph *graph; /* batch.graph */
    uint64_t serial;   /* what it was made of, if that was one graph; 0: it is to be made */
    int64_t example;
    struct at_node_edges *work; /* of making graphs */
} at_node_batch;

/* What of the numbers of an edge is learned, beside those of the data: nodes_edges.c. */
int64_t at_nodes_edge_columns(const at_node_input *input);
/* The graph of a batch and the numbers of its edges (nodes_edges.c). */
attn_status at_nodes_connect(const at_node_input *input, const at_node_encoded *encoded,
                             const at_segments *segments, const int64_t *order, int64_t count,
                             at_node_batch *batch);
void at_nodes_free_edges(attn_context *context, struct at_node_edges *work);

/* choose: undirected, features, few and alike, from the data. prefix: of the kind's fields. */
attn_status at_nodes_choose(const char *prefix, const at_node_values *values, const attn_dataset *examples,
                            at_set_function set, void *user);
attn_status at_nodes_check(attn_context *context, const at_node_values *values, const at_input_use *use);
attn_status at_nodes_create(attn_context *context, const at_input_kind *kind, const at_node_values *values,
                            const at_input_use *use, at_input **input);
void at_nodes_destroy(at_input *input);
attn_status at_nodes_learn(at_input *input, const at_learning *from);
attn_status at_nodes_store(const at_input *input, const char *prefix, at_safetensors_writer *writer);
attn_status at_nodes_load(at_input *input, const char *prefix, const at_safetensors *file);
attn_status at_nodes_encode(const at_input *input, attn_context *context, void **memo,
                            const attn_dataset *dataset, const at_encode_options *options,
                            at_encoded **encoded);
void at_nodes_free_encoded(at_encoded *encoded);
const char *at_nodes_row_name(const at_encoded *encoded, int64_t row);
attn_status at_nodes_create_batch(attn_context *context, at_batch **batch);
attn_status at_nodes_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                          const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch);
void at_nodes_free_batch(at_batch *batch);
void *at_nodes_build(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns);
attn_variable *at_nodes_apply(const at_input *input, const void *layer, attn_tape *tape,
                              const at_batch *batch);

attn_status at_nodes_scene(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                           int64_t count, at_scene *scene);

/* What the table of a kind has of all this. */
#define AT_NODES                                                                                             \
    .unordered = 1, .destroy = at_nodes_destroy, .learn = at_nodes_learn, .store = at_nodes_store,           \
    .load = at_nodes_load, .encode = at_nodes_encode, .free_encoded = at_nodes_free_encoded,                 \
    .row_name = at_nodes_row_name, .create_batch = at_nodes_create_batch, .fill = at_nodes_fill,             \
    .free_batch = at_nodes_free_batch, .build = at_nodes_build, .apply = at_nodes_apply

#endif
