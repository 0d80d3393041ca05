/* fields.c: the configuration of graphs, and its defaults by task and data. */
#include "inputs/graph/graph.h"

const at_field at_graph_fields[] = {AT_NODE_FIELDS("graph.", at_graph_values, "true")};
_Static_assert(sizeof at_graph_fields / sizeof at_graph_fields[0] == AT_GRAPH_FIELDS, "AT_GRAPH_FIELDS");

const at_flag at_graph_flags[] = {AT_NODE_FLAGS};
_Static_assert(sizeof at_graph_flags / sizeof at_graph_flags[0] == AT_GRAPH_FLAGS, "AT_GRAPH_FLAGS");

/* One big graph is one step an epoch. Chosen by validation nodes alone (docs/results-graphs.md).
 * Many labels: graph attention with norm and residual. Few: the features' map and ReLU make what a node says
 * of itself, and eight rounds of attention without maps of its own spread it, each keeping a tenth of where
 * it began; much dropout, much weight decay. */
#define FEW "graph.few=true"
#define UNLIKE "graph.alike=false"
#define ALONE "encoder.kind=fc"
#define PAIRS "graph.pattern=all"
const at_default at_graph_defaults[] = {
    {NULL, NULL, 0, "encoder.position", "none"},
    {NULL, NULL, 0, "encoder.width", "1"}, /* of fc: a node alone */
    {NULL, NULL, 0, "encoder.columns", "128"},
    {NULL, NULL, 0, "encoder.layers", "3"},
    {NULL, NULL, 0, "encoder.heads", "8"},
    {NULL, NULL, 0, "encoder.inner", "-1"},
    {NULL, NULL, 0, "encoder.score", "gat"},
    {NULL, NULL, 0, "encoder.form", "shared"},
    {NULL, NULL, 0, "encoder.dropout", "0.5"},
    {NULL, NULL, 0, "encoder.attention_dropout", "0.3"},
    {NULL, NULL, 0, "graph.dropout", "0.5"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "output.pool", "mean-max"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.learning_rate", "0.01"},
    {NULL, NULL, 0, "training.average", "0.9"},
    {NULL, NULL, 0, "training.epochs", "100"},
    {NULL, NULL, 0, "training.least_steps", "100"},
    {NULL, NULL, 0, "training.evaluations", "20"},
    {NULL, NULL, 0, "training.batch_units", "2000"},
    {NULL, NULL, 0, "training.patience", "0"},
    {NULL, FEW, 0, "graph.norm", "false"},
    {NULL, FEW, 0, "graph.activation", "relu"},
    {NULL, FEW, 0, "graph.dropout", "0.8"},
    {NULL, FEW, 0, "encoder.columns", "64"},
    {NULL, FEW, 0, "encoder.layers", "8"},
    {NULL, FEW, 0, "encoder.form", "raw"},
    {NULL, FEW, 0, "encoder.norm", "none"},
    {NULL, FEW, 0, "encoder.residual", "false"},
    {NULL, FEW, 0, "encoder.initial", "0.1"},
    {NULL, FEW, 0, "encoder.dropout", "0"},
    {NULL, FEW, 0, "encoder.attention_dropout", "0.5"},
    {NULL, FEW, 0, "output.dropout", "0.8"},
    {NULL, FEW, 0, "training.weight_decay", "0.3"},
    {NULL, FEW, 0, "training.clip_norm", "0"},
    {NULL, FEW, 0, "training.schedule", "constant"},
    {NULL, FEW, 0, "training.warmup", "0"},
    {NULL, FEW, 0, "training.epochs", "300"},
    {NULL, FEW, 0, "training.least_steps", "300"},
    {NULL, FEW, 0, "training.evaluations", "60"},
    {"tag", FEW, 0, "training.metric", "accuracy,log_loss"},
    {NULL, "graph.features=name", 0, "output.members", "4"}, /* nothing to choose by: a mean varies less */
    {NULL, UNLIKE, 0, "graph.normalize", "false"},
    {NULL, UNLIKE, 0, "graph.self_loops", "false"},
    {NULL, UNLIKE, 0, "graph.dropout", "0.5"},
    {NULL, UNLIKE, 0, "encoder.layers", "1"},
    {NULL, UNLIKE, 0, "encoder.initial", "0"},
    {NULL, UNLIKE, 0, "encoder.jump", "concat"},
    {NULL, UNLIKE, 0, "encoder.attention_dropout", "0"},
    {NULL, UNLIKE, 0, "output.dropout", "0.5"},
    {NULL, UNLIKE, 0, "training.epochs", "200"},
    {NULL, UNLIKE, 0, "training.least_steps", "200"},
    {NULL, UNLIKE, 0, "training.evaluations", "50"},
    {NULL, ALONE, 0, "encoder.layers", "1"}, /* nothing spreads */
    {NULL, ALONE, 0, "encoder.initial", "0"},
    {NULL, ALONE, 0, "encoder.jump", "none"},
    {NULL, ALONE, 0, "encoder.dropout", "0.5"},
    {NULL, PAIRS, 0, "encoder.form", "shared"}, /* pairs have numbers, which raw heads cannot take */
    {NULL, PAIRS, 0, "encoder.score", "dot"},
    {NULL, "graph.edge_numbers=true", 0, "encoder.form", "standard"}, /* nor those of edges */
};
_Static_assert(sizeof at_graph_defaults / sizeof at_graph_defaults[0] == AT_GRAPH_DEFAULTS,
               "AT_GRAPH_DEFAULTS");
