/* describe.c: a dataset of graphs described for people and as JSON (see data/describe.h). */
#include <inttypes.h>
#include <string.h>

#include "data/describe.h"
#include "inputs/graph/reader.h"

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

attn_status at_graph_describe(const attn_dataset *dataset, const attn_describe_options *options,
                              at_writer *writer) {
    const at_graphs *graphs = at_graphs_of(dataset);
    if (options->json) {
        at_print(writer, ",\"nodes\":%" PRId64 ",\"edges\":%" PRId64 ",\"columns\":", graphs->nodes,
                 graphs->edges);
    } else {
        at_put_count(writer, graphs->graphs, "graph");
        put(writer, ", ");
        at_put_count(writer, graphs->nodes, "node");
        put(writer, ", ");
        at_put_count(writer, graphs->edges, "edge");
        put(writer, "\n");
    }
    return at_put_columns(writer, dataset, options, dataset->per_row ? "node" : "graph");
}
