/* graph.c: graphs as a kind of input: its table, and predictions as node TAB label TAB probability. */
#include "inputs/graph/graph.h"

#include "inputs/graph/reader.h"
#include "inputs/kinds.h"

static const at_node_values *nodes_of(const void *values) {
    return &((const at_graph_values *)values)->nodes;
}

static attn_status check(attn_context *context, const void *values, const at_input_use *use) {
    return at_nodes_check(context, nodes_of(values), use);
}

static attn_status choose(const void *values, const attn_dataset *examples, at_set_function set, void *user) {
    return at_nodes_choose("graph.", nodes_of(values), examples, set, user);
}

static attn_status create(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input) {
    return at_nodes_create(context, &at_graph_kind, nodes_of(values), use, input);
}

/* What names a prediction: the node; of many graphs, the graph before it. */
static void put_place(const attn_dataset *dataset, const at_cells *cells, int64_t example, int64_t row,
                      at_writer *writer) {
    const char *id = attn_dataset_id(dataset, example);
    if (cells->whole > 1 || !cells->per_row) {
        if (id && *id)
            at_put_text(writer, id);
        else
            at_print(writer, "%lld", (long long)(cells->first + example));
    }
    if (!cells->per_row) return;
    if (cells->whole > 1) at_put_char(writer, '\t');
    const char *name = dataset->kind->row_name(dataset->content, dataset->offsets[example] + row);
    if (name)
        at_put_text(writer, name);
    else
        at_print(writer, "%lld", (long long)row);
}

static void put_header(const at_cells *cells, at_writer *writer) {
    if (!cells->per_row)
        at_put_text(writer, "graph");
    else
        at_print(writer, "%s", cells->whole > 1 ? "graph\tnode" : "node");
    for (int o = 0; o < cells->outputs; o++) {
        at_put_char(writer, '\t');
        at_put_text(writer, cells->name(cells, o));
        if (!cells->likely(cells, o)) continue;
        at_print(writer, "%s", cells->outputs > 1 ? "\tprobability_" : "\tprobability");
        if (cells->outputs > 1) at_put_text(writer, cells->name(cells, o));
    }
    at_put_char(writer, '\n');
}

/* A line for every node (graph): what it is called, the predictions, and how likely they are. */
static attn_status fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                           size_t length, const at_cells *cells, at_writer *writer, int *filled) {
    (void)settings;
    (void)lines;
    (void)length;
    if (cells->first == 0) put_header(cells, writer);
    for (int64_t e = 0; e < dataset->examples; e++) {
        int64_t rows = cells->per_row ? dataset->offsets[e + 1] - dataset->offsets[e] : 1;
        for (int64_t row = 0; row < rows; row++) {
            put_place(dataset, cells, e, row, writer);
            for (int o = 0; o < cells->outputs; o++) {
                at_put_char(writer, '\t');
                cells->put(cells, o, e, row, writer);
                if (!cells->likely(cells, o)) continue;
                at_put_char(writer, '\t');
                cells->put_probability(cells, o, e, row, writer);
            }
            at_put_char(writer, '\n');
        }
    }
    *filled = 1;
    return writer->status;
}

/* What was found, so that the user can say otherwise. */
static void note(const attn_dataset *dataset, at_writer *writer) {
    const at_graphs *graphs = at_graphs_of(dataset);
    at_print(writer, "%lld nodes, %lld edges", (long long)graphs->nodes, (long long)graphs->edges);
    if (graphs->graphs > 1) at_print(writer, " in %lld graphs", (long long)graphs->graphs);
    if (graphs->edges == 0) return;
    at_put_text(writer, graphs->listed_once
                            ? ", each listed once: undirected"
                            : ", directed: a node sees those whose edges lead to it (graph.undirected "
                              "adds the way back)");
}

const at_input_kind at_graph_kind = {
    AT_NODES,
    .name = "graph",
    .help = "nodes and edges: nodes.tsv and edges.tsv, OGB's raw files, .npz",
    .row = "node",
    .example = "graph",
    .formats = at_graph_formats,
    .fields = {at_graph_fields, AT_GRAPH_FIELDS, sizeof(at_graph_values), at_graph_flags, AT_GRAPH_FLAGS},
    .defaults = at_graph_defaults,
    .default_count = AT_GRAPH_DEFAULTS,
    .knows = at_graph_knows,
    .read = at_graph_read_files,
    .detect = at_graph_detect,
    .pieces = at_graph_pieces,
    .takes_two = at_graph_takes_two,
    .describe = at_graph_describe,
    .note = note,
    .likely = 1,
    .fill_in = fill_in,
    .check = check,
    .choose = choose,
    .create = create,
    .scene = at_nodes_scene,
};
