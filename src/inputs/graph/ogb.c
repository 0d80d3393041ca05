/* ogb.c: the raw files of the Open Graph Benchmark to a dataset.
 *
 *     edge.csv            from,to: nodes by number, counted from 0 within their graph
 *     node-feat.csv       the dense features of each node; may be missing
 *     edge-feat.csv       the numbers of each edge; may be missing
 *     node-label.csv      the labels of each node, or
 *     graph-label.csv     of each graph: "nan" or nothing where one is missing. One column is called label,
 *                         several label0, label1, ...; they can be requested by name or number
 *     num-node-list.csv   how many nodes each graph has, and
 *     num-edge-list.csv   how many edges: one line each where there is a single graph; without these there is
 *     split/NAME/train.csv, valid.csv, test.csv: nodes (graphs, where there are many) by number. With several
 *                         folders, the split column that is asked for is the name of one
 *
 * All have a line for each, without a header, and may be gzip. Other files are not read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"
#include "inputs/graph/parse.h"

typedef struct ogb {
    at_graph_reader *reader;
    const at_graph_ogb *source;
    at_graph_lines lines[AT_OGB_FILES];
    at_graph_fields fields;
    int64_t graphs;
    int64_t *nodes, *edges; /* [graphs]: how many */
    int64_t all_nodes, all_edges;
    float *numbers;  /* of an edge */
    int64_t columns; /* of labels in the file */
    int64_t *chosen; /* which of them are learned */
} ogb;

static int has(const ogb *file, int which) { return file->source->files[which].bytes != NULL; }

#define BAD(file, which, ...) at_graph_bad((file)->reader, &(file)->lines[which], __VA_ARGS__)
#define FAIL(file, which, ...) at_origin_fail(&(file)->lines[which].origin, NULL, 0, __VA_ARGS__)

/* ---- lines ---- */

/* The next line of a file, split at commas. */
static attn_status next_line(ogb *file, int which, int *there) {
    const char *text;
    size_t length;
    *there = at_graph_line(&file->lines[which], &text, &length);
    return *there ? at_graph_split(file->reader->context, text, length, ',', &file->fields) : ATTN_OK;
}

/* A line that must be there, for thing number i of `count`. */
static attn_status take_line(ogb *file, int which, const char *thing, int64_t i, int64_t count) {
    int there;
    attn_status status = next_line(file, which, &there);
    if (status != ATTN_OK || there) return status;
    return FAIL(file, which, "has %" PRId64 " lines, and there are %" PRId64 " %ss: it has a line for each",
                i, count, thing);
}

/* No file has more lines than there are things. */
static attn_status check_end(ogb *file, int which, const char *thing, int64_t count) {
    int there;
    if (!has(file, which)) return ATTN_OK;
    attn_status status = next_line(file, which, &there);
    if (status != ATTN_OK || !there) return status;
    return FAIL(file, which, "has %" PRId64 " lines, and there are %" PRId64 " %ss: it has a line for each",
                at_graph_count_lines(&file->source->files[which]), count, thing);
}

static attn_status take_numbers(ogb *file, int which, int64_t columns, float *numbers) {
    if (file->fields.count != columns)
        return BAD(file, which, "%" PRId64 " columns, the first line has %" PRId64, file->fields.count,
                   columns);
    for (int64_t c = 0; c < columns; c++) {
        const at_graph_field *field = &file->fields.list[c];
        int result = at_graph_number(field->text, field->length, &numbers[c]);
        if (result == 1) continue;
        char what[40];
        snprintf(what, sizeof what, "column %" PRId64, c + 1);
        return at_graph_bad_number(file->reader, &file->lines[which], what, field, result);
    }
    return ATTN_OK;
}

/* How many columns a file has: those of its first line, which is read again. */
static attn_status count_columns(ogb *file, int which, int64_t *columns) {
    int there;
    at_graph_lines begin = file->lines[which];
    *columns = 0;
    if (!has(file, which)) return ATTN_OK;
    attn_status status = next_line(file, which, &there);
    if (there) *columns = file->fields.count;
    file->lines[which] = begin;
    return status;
}

/* ---- how many ---- */

/* A whole number a line, one for each graph. */
static attn_status read_counts(ogb *file, int which, int64_t *counts, int64_t *sum) {
    *sum = 0;
    for (int64_t g = 0; g < file->graphs; g++) {
        attn_status status = take_line(file, which, "graph", g, file->graphs);
        if (status != ATTN_OK) return status;
        int64_t count = at_graph_integer(file->fields.list[0].text, file->fields.list[0].length);
        if (count < 0 || count > INT32_MAX || file->fields.count != 1)
            return BAD(file, which, "is not a whole number up to %d: how many the graph has", INT32_MAX);
        if (count == 0 && which == AT_OGB_NODE_COUNTS)
            return BAD(file, which, "the graph has no nodes: a graph has at least one");
        counts[g] = count;
        *sum += count;
    }
    return check_end(file, which, "graph", file->graphs);
}

static int64_t lines_in(const ogb *file, int which) {
    return has(file, which) ? at_graph_count_lines(&file->source->files[which]) : 0;
}

static attn_status count_all(ogb *file) {
    attn_context *context = file->reader->context;
    int counted = has(file, AT_OGB_NODE_COUNTS);
    file->graphs = counted ? lines_in(file, AT_OGB_NODE_COUNTS) : 1;
    file->nodes = at_allocate(context, file->graphs, sizeof *file->nodes, "graphs");
    file->edges = at_allocate(context, file->graphs, sizeof *file->edges, "graphs");
    if (!file->nodes || !file->edges) return ATTN_OUT_OF_MEMORY;
    attn_status status = ATTN_OK;
    if (counted) {
        status = read_counts(file, AT_OGB_NODE_COUNTS, file->nodes, &file->all_nodes);
    } else {
        file->all_nodes = lines_in(file, AT_OGB_NODE_FEATURES);
        if (!file->all_nodes) file->all_nodes = lines_in(file, AT_OGB_NODE_LABELS);
        if (!file->all_nodes)
            return FAIL(file, AT_OGB_EDGES,
                        "the number of nodes is unknown: num-node-list.csv, node-feat.csv or node-label.csv "
                        "must be beside it");
        file->nodes[0] = file->all_nodes;
    }
    if (status == ATTN_OK && has(file, AT_OGB_EDGE_COUNTS)) {
        status = read_counts(file, AT_OGB_EDGE_COUNTS, file->edges, &file->all_edges);
    } else if (status == ATTN_OK) {
        if (file->graphs > 1)
            return FAIL(file, AT_OGB_NODE_COUNTS,
                        "there are %" PRId64
                        " graphs, and no num-edge-list.csv that says how many edges each has",
                        file->graphs);
        if (file->graphs == 1) file->edges[0] = file->all_edges = lines_in(file, AT_OGB_EDGES);
    }
    return status;
}

/* A number alone makes no nodes: each has a line somewhere, or edges, or there are not too many. */
static attn_status check_counts(ogb *file) {
    enum { MOST_BARE = 100000 };
    static const int listing[] = {AT_OGB_NODE_FEATURES, AT_OGB_NODE_LABELS};
    int listed = 0;
    for (int i = 0; i < 2; i++) {
        if (!has(file, listing[i])) continue;
        int64_t lines = lines_in(file, listing[i]);
        listed = 1;
        if (lines != file->all_nodes)
            return FAIL(file, listing[i],
                        "has %" PRId64 " lines, and there are %" PRId64 " nodes: it has a line for each",
                        lines, file->all_nodes);
    }
    if (listed || file->all_nodes <= 2 * lines_in(file, AT_OGB_EDGES) + MOST_BARE) return ATTN_OK;
    return FAIL(file, AT_OGB_NODE_COUNTS,
                "says %" PRId64 " nodes, most without edges, features or labels: it is damaged",
                file->all_nodes);
}

/* ---- graphs ---- */

static attn_status read_nodes(ogb *file, int64_t graph) {
    attn_dataset *dataset = file->reader->dataset;
    int features = has(file, AT_OGB_NODE_FEATURES);
    attn_status status = ATTN_OK;
    for (int64_t n = 0; n < file->nodes[graph] && status == ATTN_OK; n++) {
        if (features) status = take_line(file, AT_OGB_NODE_FEATURES, "node", dataset->rows, file->all_nodes);
        if (status == ATTN_OK) status = at_graphs_node(dataset, NULL, 0, dataset->rows + 1);
        if (status == ATTN_OK && features)
            status = take_numbers(file, AT_OGB_NODE_FEATURES, at_graphs_of(dataset)->dense_columns,
                                  at_graphs_dense(dataset));
    }
    return status;
}

static attn_status read_edge(ogb *file, int64_t graph) {
    int64_t ends[2];
    if (file->fields.count != 2)
        return BAD(file, AT_OGB_EDGES, "%" PRId64 " columns, an edge has two: from,to", file->fields.count);
    for (int i = 0; i < 2; i++) {
        const at_graph_field *field = &file->fields.list[i];
        ends[i] = at_graph_integer(field->text, field->length);
        if (ends[i] >= 0 && ends[i] < file->nodes[graph]) continue;
        return BAD(file, AT_OGB_EDGES,
                   "the edge leads %s \"%.*s\", which is not a node: they are 0 to %" PRId64,
                   i ? "to" : "from", (int)(field->length < 40 ? field->length : 40), field->text,
                   file->nodes[graph] - 1);
    }
    return at_graphs_edge(file->reader->dataset, ends[0], ends[1], file->numbers);
}

static attn_status read_edges(ogb *file, int64_t graph) {
    const at_graphs *graphs = at_graphs_of(file->reader->dataset);
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < file->edges[graph] && status == ATTN_OK; e++) {
        if (graphs->edge_columns) {
            status = take_line(file, AT_OGB_EDGE_FEATURES, "edge", graphs->edges, file->all_edges);
            if (status == ATTN_OK)
                status = take_numbers(file, AT_OGB_EDGE_FEATURES, graphs->edge_columns, file->numbers);
        }
        if (status == ATTN_OK) status = take_line(file, AT_OGB_EDGES, "edge", graphs->edges, file->all_edges);
        if (status == ATTN_OK) status = read_edge(file, graph);
    }
    return status;
}

static attn_status read_graphs(ogb *file) {
    attn_dataset *dataset = file->reader->dataset;
    at_graphs *graphs = at_graphs_of(dataset);
    attn_status status = count_columns(file, AT_OGB_NODE_FEATURES, &graphs->dense_columns);
    if (status == ATTN_OK) status = count_columns(file, AT_OGB_EDGE_FEATURES, &graphs->edge_columns);
    if (status != ATTN_OK) return status;
    file->numbers = at_allocate(file->reader->context, graphs->edge_columns, sizeof *file->numbers,
                                "the numbers of an edge");
    if (!file->numbers) return ATTN_OUT_OF_MEMORY;
    int64_t lines = lines_in(file, AT_OGB_EDGES); /* what the counts say may be wrong */
    status = at_graphs_reserve_edges(dataset, lines < file->all_edges ? lines : file->all_edges);
    for (int64_t g = 0; g < file->graphs && status == ATTN_OK; g++) {
        status = read_nodes(file, g);
        if (status == ATTN_OK) status = read_edges(file, g);
        if (status == ATTN_OK) status = at_graphs_end(dataset);
    }
    if (status == ATTN_OK) status = check_end(file, AT_OGB_NODE_FEATURES, "node", file->all_nodes);
    if (status == ATTN_OK) status = check_end(file, AT_OGB_EDGE_FEATURES, "edge", file->all_edges);
    return status == ATTN_OK ? check_end(file, AT_OGB_EDGES, "edge", file->all_edges) : status;
}

/* ---- labels ---- */

static attn_status add_column(ogb *file, int64_t column) {
    attn_dataset *dataset = file->reader->dataset;
    char name[40];
    snprintf(name, sizeof name, file->columns == 1 ? "label" : "label%" PRId64, column);
    file->chosen[dataset->columns.count] = column;
    return at_strings_add(file->reader->context, &dataset->columns, name, strlen(name));
}

static attn_status choose_columns(ogb *file, int which) {
    const at_strings *wanted = &file->reader->wanted;
    attn_status status = count_columns(file, which, &file->columns);
    if (status != ATTN_OK) return status;
    int64_t room = file->columns > wanted->count ? file->columns : wanted->count;
    file->chosen = at_allocate(file->reader->context, room, sizeof *file->chosen, "the labels of a file");
    if (!file->chosen) return ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < file->columns && !wanted->count && status == ATTN_OK; c++)
        status = add_column(file, c);
    for (int64_t i = 0; i < wanted->count && status == ATTN_OK; i++) {
        const char *name = at_string(wanted, i), *digits = strncmp(name, "label", 5) == 0 ? name + 5 : name;
        int64_t column = *digits ? at_graph_integer(digits, strlen(digits)) : 0;
        if (column >= 0 && column < file->columns && (*digits || file->columns == 1))
            status = add_column(file, column);
        else if (file->reader->options->labelled)
            status =
                FAIL(file, which,
                     "has no column \"%.60s\": its %" PRId64 " columns are called %s, or by their numbers",
                     name, file->columns, file->columns == 1 ? "label" : "label0, label1 and so on");
    }
    return status;
}

static int is_missing(const at_graph_field *field) {
    return at_graph_same(field->text, field->length, "nan");
}

static attn_status read_labels(ogb *file, int which) {
    at_graph_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int64_t places = dataset->per_row ? dataset->rows : dataset->examples;
    const char *thing = dataset->per_row ? "node" : "graph";
    attn_status status = choose_columns(file, which);
    for (int64_t i = 0; i < places && status == ATTN_OK; i++) {
        status = take_line(file, which, thing, i, places);
        if (status == ATTN_OK && file->fields.count != file->columns)
            status = BAD(file, which, "%" PRId64 " columns, the first line has %" PRId64, file->fields.count,
                         file->columns);
        for (int64_t c = 0; c < dataset->columns.count && status == ATTN_OK; c++) {
            at_graph_field field = file->fields.list[file->chosen[c]];
            if (is_missing(&field)) field.length = 0;
            if (at_unicode_check(field.text, field.length) != field.length)
                return BAD(file, which, "the label is not UTF-8: convert the file with iconv");
            status = at_graph_target(reader, &dataset->targets, field.text, field.length);
        }
    }
    return status == ATTN_OK ? check_end(file, which, thing, places) : status;
}

static attn_status take_labels(ogb *file) {
    at_graph_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int wanted = reader->options->pairs == 1 ? 0 : reader->options->per_token;
    int of_nodes = has(file, AT_OGB_NODE_LABELS), of_graphs = has(file, AT_OGB_GRAPH_LABELS);
    dataset->per_row = wanted >= 0 ? wanted : of_nodes || (!of_graphs && file->graphs == 1);
    if (wanted < 0 && of_graphs) dataset->per_row = 0;
    int which = dataset->per_row ? AT_OGB_NODE_LABELS : AT_OGB_GRAPH_LABELS;
    if (has(file, which)) return read_labels(file, which);
    if (!reader->options->labelled) return ATTN_OK;
    at_origin origin = at_graph_origin(reader, file->source->name);
    return at_origin_fail(&origin, NULL, 0, "has no %s%s",
                          dataset->per_row ? "node-label.csv: there are no labels of nodes to learn"
                                           : "graph-label.csv: there are no labels of graphs to learn",
                          dataset->per_row && of_graphs   ? ", but some of graphs (task classify, regress)"
                          : !dataset->per_row && of_nodes ? ", but some of nodes (task tag)"
                                                          : "");
}

/* ---- parts ---- */

/* The nodes (graphs) that a file of the split names. */
static attn_status read_part(ogb *file, int which, int part, unsigned char *parts, int64_t count) {
    const char *text;
    size_t length;
    while (has(file, which) && at_graph_line(&file->lines[which], &text, &length)) {
        while (length && text[length - 1] == ' ') length--;
        int64_t number = at_graph_integer(text, length);
        if (number < 0 || number >= count)
            return BAD(file, which, "\"%.*s\" is not a %s: they are 0 to %" PRId64,
                       (int)(length < 40 ? length : 40), text, file->graphs == 1 ? "node" : "graph",
                       count - 1);
        if (parts[number])
            return BAD(file, which, "%" PRId64 " is for %s already", number,
                       attn_part_name((attn_part)parts[number]));
        parts[number] = (unsigned char)part;
    }
    return ATTN_OK;
}

static attn_status take_parts(ogb *file) {
    attn_dataset *dataset = file->reader->dataset;
    int of_graphs = file->graphs != 1;
    int64_t count = of_graphs ? dataset->examples : dataset->rows;
    if (!has(file, AT_OGB_TRAIN) && !has(file, AT_OGB_VALID) && !has(file, AT_OGB_TEST)) return ATTN_OK;
    if (!of_graphs && !dataset->per_row) return ATTN_OK; /* a single graph is not split */
    unsigned char *parts = at_allocate(file->reader->context, count, 1, "a split");
    if (!parts) return ATTN_OUT_OF_MEMORY;
    attn_status status = read_part(file, AT_OGB_TRAIN, ATTN_PART_TRAIN, parts, count);
    if (status == ATTN_OK) status = read_part(file, AT_OGB_VALID, ATTN_PART_VAL, parts, count);
    if (status == ATTN_OK) status = read_part(file, AT_OGB_TEST, ATTN_PART_TEST, parts, count);
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        int64_t times = of_graphs && dataset->per_row ? dataset->offsets[i + 1] - dataset->offsets[i] : 1;
        for (; times > 0 && status == ATTN_OK; times--) status = at_dataset_add_part(dataset, parts[i]);
    }
    at_release(file->reader->context, parts);
    return status;
}

/* ---- all of it ---- */

attn_status at_graph_read_ogb(at_graph_reader *reader, const at_graph_ogb *source) {
    ogb file = {.reader = reader, .source = source};
    for (int i = 0; i < AT_OGB_FILES; i++)
        if (has(&file, i)) file.lines[i] = at_graph_begin(reader, &source->files[i], 1);
    attn_status status =
        at_graphs_dataset(reader->context, source->name, &at_graph_content, AT_GRAPH_OGB, &reader->dataset);
    if (status == ATTN_OK) status = count_all(&file);
    if (status == ATTN_OK) status = check_counts(&file);
    if (status == ATTN_OK) status = read_graphs(&file);
    if (status == ATTN_OK) status = at_graph_check_nodes(reader, source->name);
    if (status == ATTN_OK) status = take_labels(&file);
    if (status == ATTN_OK) status = take_parts(&file);
    if (status == ATTN_OK) status = at_graph_finish(reader, source->name);
    at_release(reader->context, file.fields.list);
    at_release(reader->context, file.nodes);
    at_release(reader->context, file.edges);
    at_release(reader->context, file.numbers);
    at_release(reader->context, file.chosen);
    return status;
}
