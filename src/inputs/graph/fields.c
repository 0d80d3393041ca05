/* fields.c: what can be configured of graphs, and what of it depends on the task and the data. */
#include "inputs/graph/graph.h"

const at_field at_graph_fields[] = {AT_NODE_FIELDS("graph.", at_graph_values, "true")};
_Static_assert(sizeof at_graph_fields / sizeof at_graph_fields[0] == AT_GRAPH_FIELDS, "AT_GRAPH_FIELDS");

const at_flag at_graph_flags[] = {AT_NODE_FLAGS};
_Static_assert(sizeof at_graph_flags / sizeof at_graph_flags[0] == AT_GRAPH_FLAGS, "AT_GRAPH_FLAGS");

/* One big graph is one step an epoch. Chosen by validation nodes alone (docs/results-graphs.md). With many
 * labels: blocks with norm and residual. With few: a graph attention network, that is heads without maps of
 * their own on a linear map of the features, with much dropout and weight decay. */
#define FEW "graph.few=true"
const at_default at_graph_defaults[] = {
    {NULL, NULL, 0, "encoder.position", "none"},
    {NULL, NULL, 0, "encoder.width", "1"}, /* of fc: a node alone */
    {NULL, NULL, 0, "encoder.columns", "128"},
    {NULL, NULL, 0, "encoder.heads", "8"},
    {NULL, NULL, 0, "encoder.inner", "-1"},
    {NULL, NULL, 0, "encoder.dropout", "0.4"},
    {NULL, NULL, 0, "graph.dropout", "0.3"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "output.pool", "mean-max"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.learning_rate", "0.01"},
    {NULL, NULL, 0, "training.average", "0.9"},
    {NULL, NULL, 0, "training.epochs", "60"},
    {NULL, NULL, 0, "training.least_steps", "60"},
    {NULL, NULL, 0, "training.batch_units", "2000"},
    {NULL, NULL, 0, "training.patience", "0"},
    {NULL, FEW, 0, "graph.norm", "false"},
    {NULL, FEW, 0, "graph.dropout", "0.8"},
    {NULL, FEW, 0, "encoder.columns", "64"},
    {NULL, FEW, 0, "encoder.score", "gat"},
    {NULL, FEW, 0, "encoder.form", "raw"},
    {NULL, FEW, 0, "encoder.norm", "none"},
    {NULL, FEW, 0, "encoder.residual", "false"},
    {NULL, FEW, 0, "encoder.activation_after", "elu"},
    {NULL, FEW, 0, "encoder.dropout", "0.6"},
    {NULL, FEW, 0, "encoder.attention_dropout", "0.6"},
    {NULL, FEW, 0, "output.dropout", "0"},
    {NULL, FEW, 0, "training.weight_decay", "1"},
    {NULL, FEW, 0, "training.clip_norm", "0"},
    {NULL, FEW, 0, "training.schedule", "constant"},
    {NULL, FEW, 0, "training.warmup", "0"},
    {NULL, FEW, 0, "training.epochs", "200"},
    {NULL, FEW, 0, "training.least_steps", "200"},
    {NULL, FEW, 0, "training.evaluations", "50"},
    /* Heads without maps have no place for the numbers of edges. */
    {NULL, "graph.pattern=all", 0, "encoder.form", "standard"},
    {NULL, "graph.edge_numbers=true", 0, "encoder.form", "standard"},
};
_Static_assert(sizeof at_graph_defaults / sizeof at_graph_defaults[0] == AT_GRAPH_DEFAULTS,
               "AT_GRAPH_DEFAULTS");
