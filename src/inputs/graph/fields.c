/* fields.c: what can be configured of graphs, and what of it depends on the task and the data. */
#include "inputs/graph/graph.h"

const at_field at_graph_fields[] = {AT_NODE_FIELDS("graph.", at_graph_values, "true")};
_Static_assert(sizeof at_graph_fields / sizeof at_graph_fields[0] == AT_GRAPH_FIELDS, "AT_GRAPH_FIELDS");

const at_flag at_graph_flags[] = {AT_NODE_FLAGS};
_Static_assert(sizeof at_graph_flags / sizeof at_graph_flags[0] == AT_GRAPH_FLAGS, "AT_GRAPH_FLAGS");

/* One big graph is one step an epoch. Few labels need much dropout; chosen by validation nodes alone
 * (docs/results-graphs.md). */
const at_default at_graph_defaults[] = {
    {NULL, NULL, 0, "encoder.position", "none"},
    {NULL, NULL, 0, "encoder.width", "1"}, /* of fc: a node alone */
    {NULL, NULL, 0, "encoder.columns", "64"},
    {NULL, NULL, 0, "encoder.heads", "8"},
    {NULL, NULL, 0, "encoder.dropout", "0.3"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "output.pool", "mean-max"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.epochs", "200"},
    {NULL, NULL, 0, "training.least_steps", "200"},
    {NULL, NULL, 0, "training.batch_units", "2000"},
    {NULL, NULL, 0, "training.patience", "0"},
};
_Static_assert(sizeof at_graph_defaults / sizeof at_graph_defaults[0] == AT_GRAPH_DEFAULTS,
               "AT_GRAPH_DEFAULTS");
