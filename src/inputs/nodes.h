/* nodes.h: rows that are nodes of graphs: what kinds of input share whose examples are graphs
 * (data/graphs.h).
 *
 *     x_i = sum of the table's rows of the sparse features of node i, times their values
 *           + W * dense features + b;   then a norm
 *
 * and the edges: who sees whom, with their numbers. A node sees the nodes whose edges lead to it, and itself.
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
    AT_NODES_ALL    /* every node of a graph sees every other; whether there is an edge, and its numbers, are
                       features of the pair */
} at_node_pattern;

typedef enum at_node_scale {
    AT_NODES_AS_GIVEN,
    AT_NODES_SUM,     /* the sparse features of a node have the sum 1 */
    AT_NODES_STANDARD /* dense columns have mean 0 and deviation 1; sparse ones are as given */
} at_node_scale;

/* Three answers of one question: left to the data, no, yes. */
typedef enum at_node_choice { AT_NODES_AUTO, AT_NODES_NO, AT_NODES_YES } at_node_choice;

typedef struct at_node_values {
    double dropout; /* how often training hides a feature */
    int undirected; /* at_node_choice: every edge is one in the other direction, too */
    int self_loops; /* a node sees itself */
    int pattern;    /* at_node_pattern */
    int scale;      /* at_node_scale */
    int by_name;    /* nodes have no features: each has a row of the table of its own, found by its name */
    int few;        /* there are few labels: other defaults */
} at_node_values;

/* The rows of a kind's table; prefix: "graph." and so on. */
#define AT_NODE_FIELDS(prefix, type)                                                                         \
    AT_NUMBER(prefix "dropout", type, nodes.dropout, 0, 0.99, "0",                                           \
              "how often training hides a feature of a node"),                                               \
        AT_CHOICE(prefix "undirected", type, nodes.undirected, at_node_choices, "auto",                      \
                  "every edge also leads back; auto: if the data lists each edge once"),                     \
        AT_SWITCH(prefix "self_loops", type, nodes.self_loops, "true", "a node sees itself"),                \
        AT_CHOICE(prefix "pattern", type, nodes.pattern, at_node_patterns, "edges",                          \
                  "who sees whom: along the edges, or all with the edges as a learned bias"),                \
        AT_CHOICE(                                                                                           \
            prefix "scale", type, nodes.scale, at_node_scales, "sum",                                        \
            "of the features: as they are, those of a node with the sum 1, or columns with deviation 1"),    \
        AT_SWITCH(prefix "by_name", type, nodes.by_name, "false",                                            \
                  "nodes have no features and are known by their names; found from the data"),               \
        AT_SWITCH(prefix "few", type, nodes.few, "false", "there are few labels; found from the data")
enum { AT_NODE_FIELD_COUNT = 7 };
extern const char *const at_node_choices[], *const at_node_patterns[], *const at_node_scales[];

typedef struct at_node_input {
    at_input input;
    at_node_values values;
    int64_t feature_columns, dense_columns, edge_numbers; /* of the data that it learned from */
    float *mean, *deviation;                              /* of the dense columns, [dense_columns] */
    float *edge_mean, *edge_deviation;                    /* [edge_numbers] */
    at_vocabulary names;                                  /* by_name: of the nodes */
} at_node_input;

/* choose: undirected, by_name and few, from the data. prefix: of the kind's fields. */
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

/* What the table of a kind has of all this. */
#define AT_NODES                                                                                             \
    .unordered = 1, .destroy = at_nodes_destroy, .learn = at_nodes_learn, .store = at_nodes_store,           \
    .load = at_nodes_load, .encode = at_nodes_encode, .free_encoded = at_nodes_free_encoded,                 \
    .row_name = at_nodes_row_name, .create_batch = at_nodes_create_batch, .fill = at_nodes_fill,             \
    .free_batch = at_nodes_free_batch, .build = at_nodes_build, .apply = at_nodes_apply

#endif
