/* graph.h: graphs as a kind of input: nodes with features or names, which see along their edges.
 *
 * A large graph is one example whose rows are split into training, validation and test; or every example is a
 * graph. Readers fill data/graphs.h; inputs/nodes.h makes rows of it.
 */
#ifndef AT_INPUTS_GRAPH_GRAPH_H
#define AT_INPUTS_GRAPH_GRAPH_H

#include "inputs/nodes.h"

typedef struct at_graph_values {
    at_node_values nodes;
} at_graph_values;

enum { AT_GRAPH_FIELDS = AT_NODE_FIELD_COUNT, AT_GRAPH_FLAGS = AT_NODE_FLAG_COUNT, AT_GRAPH_DEFAULTS = 60 };
extern const at_field at_graph_fields[];
extern const at_flag at_graph_flags[];
extern const at_default at_graph_defaults[];

#endif
