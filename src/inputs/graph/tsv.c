/* tsv.c: nodes.tsv, edges.tsv and graphs.tsv to a dataset: see tsv.h.
 *
 * A single graph is read in one pass. With many graphs the lines of nodes are read twice: once to know which
 * graph each is of, and again graph by graph, with its edges, since nodes of a graph may stand anywhere.
 */
#include "inputs/graph/tsv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/parts.h"

enum { PROBED = 100 }; /* lines that tell which columns hold numbers */

typedef struct tsv {
    at_graph_reader *reader;
    const at_graph_tsv *files;
    at_graph_table table;
    at_graph_list graphs; /* graphs.tsv */
    at_graph_ids ids;

    /* the node that was read last */
    float *dense;
    int64_t dense_columns; /* with those of a list in column features, */
    int64_t list_columns;  /* which are so many; 0: features are sparse */
    int32_t *features;
    float *values;
    int64_t feature_count, feature_room, value_room;

    /* all of them, in the order of rows */
    at_strings targets;
    at_bytes parts;
    int any_features;

    /* many graphs: */
    at_vocabulary graph_names;
    int32_t *graph_of;   /* [nodes], in the order of lines */
    int64_t *line_of;    /* [nodes]: the number of its line, */
    const char **begins; /* [nodes]: and where that begins */
    int64_t graph_room, line_room, begin_room;
    int64_t *first_node, *order, *local; /* [graphs + 1]; [nodes] by graph; [nodes] place within the graph */
} tsv;

/* ---- which columns are dense features ---- */

static int has_number(const at_graph_table *table, int64_t column) {
    const at_graph_field *field = &table->fields.list[column];
    float number;
    return field->length && at_graph_number(field->text, field->length, &number) != 0;
}

static int64_t count_commas(const at_graph_field *field) {
    int64_t count = 0;
    for (size_t i = 0; i < field->length; i++) count += field->text[i] == ',';
    return count;
}

/* Looks at the first lines, which are read again afterwards. */
static attn_status probe(tsv *file, unsigned char *numbers) {
    at_graph_table *table = &file->table;
    at_graph_lines begin = table->lines;
    attn_status status = ATTN_OK;
    for (int i = 0; i < PROBED && status == ATTN_OK; i++) {
        int there;
        status = at_graph_table_next(table, &there);
        if (status == ATTN_INVALID_ARGUMENT) { /* a bad line is looked at when it is read */
            status = ATTN_OK;
            continue;
        }
        if (status != ATTN_OK || !there) break;
        for (int64_t c = 0; c < table->width; c++) numbers[c] |= (unsigned char)has_number(table, c);
        if (table->features >= 0 && !file->list_columns && count_commas(&table->fields.list[table->features]))
            file->list_columns = count_commas(&table->fields.list[table->features]) + 1;
    }
    table->lines = begin;
    file->reader->bad = 0;
    return status;
}

static attn_status name_list(tsv *file, at_strings *names) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < file->list_columns && status == ATTN_OK; i++) {
        char name[40];
        int length = snprintf(name, sizeof name, "features:%" PRId64, i);
        status = at_strings_add(file->reader->context, names, name, (size_t)length);
    }
    return status;
}

static attn_status find_dense(tsv *file) {
    at_graph_table *table = &file->table;
    attn_context *context = file->reader->context;
    at_graphs *graphs = at_graphs_of(file->reader->dataset);
    unsigned char *numbers = at_allocate(context, table->width, 1, "the columns of a table");
    attn_status status = numbers ? probe(file, numbers) : ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < table->width && status == ATTN_OK; c++) {
        if (table->roles[c] == AT_COLUMN_FEATURES) status = name_list(file, &graphs->feature_names);
        if (table->roles[c] != AT_COLUMN_NUMBER) continue;
        if (!numbers[c])
            table->roles[c] = AT_COLUMN_UNUSED;
        else
            status = at_strings_add(context, &graphs->feature_names, at_string(&table->names.strings, c),
                                    at_string_length(&table->names.strings, c));
    }
    at_release(context, numbers);
    if (status != ATTN_OK) return status;
    graphs->dense_columns = file->dense_columns = graphs->feature_names.count;
    file->dense = at_allocate(context, file->dense_columns, sizeof *file->dense, "the features of a node");
    return file->dense ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* ---- the features of a node ---- */

static attn_status add_feature(tsv *file, int64_t column, float value) {
    attn_context *context = file->reader->context;
    int64_t count = file->feature_count + 1;
    attn_status status = at_grow(context, &file->features, &file->feature_room, count, sizeof *file->features,
                                 "the features of a node");
    if (status == ATTN_OK)
        status = at_grow(context, &file->values, &file->value_room, count, sizeof *file->values,
                         "the features of a node");
    if (status != ATTN_OK) return status;
    file->features[count - 1] = (int32_t)column;
    file->values[count - 1] = value;
    file->feature_count = count;
    return ATTN_OK;
}

/* A feature: the number of its column, and a value after a colon. */
static attn_status read_feature(tsv *file, const char *text, size_t length) {
    at_graph_reader *reader = file->reader;
    const at_graph_lines *lines = &file->table.lines;
    const char *colon = memchr(text, ':', length);
    at_graph_field value = {colon ? colon + 1 : "", colon ? (size_t)(text + length - colon - 1) : 0};
    int64_t column = at_graph_integer(text, colon ? (size_t)(colon - text) : length);
    float number = 1;
    if (column < 0)
        return at_graph_bad(reader, lines,
                            "feature \"%.*s\" is not the number of a column: sparse features are whole "
                            "numbers from 0 (19 or 19:0.5); dense ones have commas between",
                            (int)(length < 40 ? length : 40), text);
    if (column >= AT_GRAPH_MOST_COLUMNS)
        return at_graph_bad(reader, lines, "feature %" PRId64 " is too large: columns are 0 to %d", column,
                            AT_GRAPH_MOST_COLUMNS - 1);
    int result = colon ? at_graph_number(value.text, value.length, &number) : 1;
    if (result != 1) return at_graph_bad_number(reader, lines, "the value of a feature", &value, result);
    return add_feature(file, column, number);
}

static attn_status read_sparse(tsv *file, const at_graph_field *field) {
    const char *at = field->text, *end = at + field->length;
    attn_status status = ATTN_OK;
    while (status == ATTN_OK) {
        while (at < end && *at == ' ') at++;
        if (at == end) break;
        const char *begin = at;
        while (at < end && *at != ' ') at++;
        status = read_feature(file, begin, (size_t)(at - begin));
    }
    return status;
}

static attn_status read_list(tsv *file, const at_graph_field *field, float *numbers) {
    const char *at = field->text, *end = at + field->length;
    int64_t count = count_commas(field) + 1;
    if (count != file->list_columns)
        return at_graph_bad(file->reader, &file->table.lines,
                            "%" PRId64 " features, the first node has %" PRId64
                            ": with commas between them, every node has the same count",
                            count, file->list_columns);
    for (int64_t i = 0; i < count; i++) {
        const char *stop = memchr(at, ',', (size_t)(end - at));
        at_graph_field one = {at, (size_t)((stop ? stop : end) - at)};
        while (one.length && *one.text == ' ') one.text++, one.length--;
        while (one.length && one.text[one.length - 1] == ' ') one.length--;
        int result = at_graph_number(one.text, one.length, &numbers[i]);
        if (result != 1)
            return at_graph_bad_number(file->reader, &file->table.lines, "a feature", &one, result);
        at = stop ? stop + 1 : end;
    }
    return ATTN_OK;
}

static attn_status read_features(tsv *file) {
    at_graph_table *table = &file->table;
    attn_status status = ATTN_OK;
    int64_t place = 0;
    file->feature_count = 0;
    for (int64_t c = 0; c < table->width && status == ATTN_OK; c++) {
        const at_graph_field *field = &table->fields.list[c];
        if (table->roles[c] == AT_COLUMN_NUMBER) {
            int result = at_graph_number(field->text, field->length, &file->dense[place++]);
            if (result == 1) continue;
            char what[80];
            snprintf(what, sizeof what, "column %.60s", at_string(&table->names.strings, c));
            status = at_graph_bad_number(file->reader, &table->lines, what, field, result);
        } else if (table->roles[c] == AT_COLUMN_FEATURES && file->list_columns) {
            status = read_list(file, field, file->dense + place);
            place += file->list_columns;
        } else if (table->roles[c] == AT_COLUMN_FEATURES) {
            status = read_sparse(file, field);
        }
    }
    return status;
}

/* ---- nodes ---- */

/* The next node; its features are in `file`, its other fields in the table. */
static attn_status next_node(tsv *file, int *there, int *part) {
    at_graph_table *table = &file->table;
    attn_status status = at_graph_table_next(table, there);
    if (status != ATTN_OK || !*there) return status;
    if (table->fields.list[table->node].length == 0)
        return at_graph_bad(file->reader, &table->lines, "the node has no name in column %.60s",
                            at_string(&table->names.strings, table->node));
    if (table->graph >= 0 && table->fields.list[table->graph].length == 0)
        return at_graph_bad(file->reader, &table->lines, "the node has no graph: column graph is empty");
    status = at_graph_table_part(table, part);
    return status == ATTN_OK ? read_features(file) : status;
}

static attn_status take_id(tsv *file, const int64_t *lines, int64_t *number) {
    at_graph_table *table = &file->table;
    const at_graph_field *id = &table->fields.list[table->node];
    int64_t before = file->ids.count;
    attn_status status = at_graph_id_add(file->reader->context, &file->ids, id->text, id->length, number);
    if (status != ATTN_OK || *number == before) return status;
    return at_graph_bad(file->reader, &table->lines, "node \"%.*s\" is already in line %" PRId64,
                        (int)(id->length < 60 ? id->length : 60), id->text, lines[*number]);
}

/* The node becomes one more row. */
static attn_status add_node(tsv *file, const char *name, size_t length, int part) {
    attn_dataset *dataset = file->reader->dataset;
    at_graph_table *table = &file->table;
    char byte = (char)part;
    attn_status status = at_graphs_node(dataset, name, length, table->lines.line);
    for (int64_t i = 0; i < file->feature_count && status == ATTN_OK; i++)
        status = at_graphs_feature(dataset, file->features[i], file->values[i]);
    if (status == ATTN_OK && file->dense_columns)
        memcpy(at_graphs_dense(dataset), file->dense, (size_t)file->dense_columns * sizeof *file->dense);
    for (int64_t i = 0; i < table->targets.count && status == ATTN_OK; i++) {
        const at_graph_field *field = &table->fields.list[table->target_columns[i]];
        status = at_graph_target(file->reader, &file->targets, field->text, field->length);
    }
    if (status == ATTN_OK) status = at_bytes_append(file->reader->context, &file->parts, &byte, 1);
    file->any_features |= file->feature_count > 0;
    return status;
}

/* ---- a single graph ---- */

static attn_status read_single(tsv *file) {
    at_graph_reader *reader = file->reader;
    at_graph_edges edges = {.ids = &file->ids};
    attn_status status = ATTN_OK;
    for (int there = 1; status == ATTN_OK;) {
        int part;
        int64_t number;
        status = next_node(file, &there, &part);
        if (status == ATTN_OK && !there) break;
        if (status == ATTN_OK) status = take_id(file, reader->dataset->lines, &number);
        if (status == ATTN_OK) status = add_node(file, NULL, 0, part);
        status = at_graph_settle(reader, status);
    }
    if (status == ATTN_OK) status = at_graph_ids_ready(reader->context, &file->ids);
    if (status == ATTN_OK) status = at_graph_read_edges(reader, &file->files->edges, &edges);
    if (status == ATTN_OK && file->ids.named) { /* the list changes its owner */
        at_graphs_of(reader->dataset)->names = file->ids.known.strings;
        file->ids.known.strings = (at_strings){0};
    }
    return status == ATTN_OK ? at_graphs_end(reader->dataset) : status;
}

/* ---- many graphs ---- */

/* One more node of the first pass. */
static attn_status note_node(tsv *file) {
    attn_context *context = file->reader->context;
    at_graph_table *table = &file->table;
    const at_graph_field *name = &table->fields.list[table->graph];
    int64_t number, graph;
    attn_status status = take_id(file, file->line_of, &number);
    if (status == ATTN_OK)
        status = at_vocabulary_add(context, &file->graph_names, name->text, name->length, 1, &graph);
    if (status == ATTN_OK)
        status = at_grow(context, &file->graph_of, &file->graph_room, number + 1, sizeof *file->graph_of,
                         "the graphs of nodes");
    if (status == ATTN_OK)
        status = at_grow(context, &file->line_of, &file->line_room, number + 1, sizeof *file->line_of,
                         "the lines of nodes");
    if (status == ATTN_OK)
        status = at_grow(context, &file->begins, &file->begin_room, number + 1, sizeof *file->begins,
                         "the lines of nodes");
    if (status != ATTN_OK) return status;
    file->graph_of[number] = (int32_t)graph;
    file->line_of[number] = table->lines.line;
    file->begins[number] = table->lines.begin;
    return ATTN_OK;
}

static attn_status note_nodes(tsv *file) {
    attn_status status = ATTN_OK;
    file->ids.named = 1;
    for (int there = 1; status == ATTN_OK;) {
        int part;
        status = next_node(file, &there, &part);
        if (status == ATTN_OK && !there) break;
        if (status == ATTN_OK) status = note_node(file);
        status = at_graph_settle(file->reader, status);
    }
    return status;
}

/* Nodes by graph, each in the order of lines. */
static attn_status order_nodes(tsv *file) {
    attn_context *context = file->reader->context;
    int64_t nodes = file->ids.count, graphs = file->graph_names.strings.count;
    file->first_node = at_allocate(context, graphs + 1, sizeof *file->first_node, "graphs");
    file->order = at_allocate(context, nodes, sizeof *file->order, "the nodes of graphs");
    file->local = at_allocate(context, nodes, sizeof *file->local, "the nodes of graphs");
    if (!file->first_node || !file->order || !file->local) return ATTN_OUT_OF_MEMORY;
    for (int64_t g = 0; g < graphs; g++)
        file->first_node[g + 1] = file->first_node[g] + file->graph_names.counts[g];
    int64_t *used = at_allocate(context, graphs, sizeof *used, "graphs");
    if (!used) return ATTN_OUT_OF_MEMORY;
    for (int64_t n = 0; n < nodes; n++) {
        int32_t graph = file->graph_of[n];
        file->local[n] = used[graph]++;
        file->order[file->first_node[graph] + file->local[n]] = n;
    }
    at_release(context, used);
    return ATTN_OK;
}

/* Edges by graph: their numbers, graph after graph, in *order, and where each graph's begin. */
static attn_status order_edges(tsv *file, const at_graph_edges *edges, int64_t **order, int64_t *begins) {
    int64_t graphs = file->graph_names.strings.count;
    *order = at_allocate(file->reader->context, edges->count, sizeof **order, "the edges of graphs");
    if (!*order) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < edges->count; e++) begins[file->graph_of[edges->from[e]] + 1]++;
    for (int64_t g = 0; g < graphs; g++) begins[g + 1] += begins[g];
    for (int64_t e = 0; e < edges->count; e++) (*order)[begins[file->graph_of[edges->from[e]]]++] = e;
    return ATTN_OK; /* begins[g] is now where the edges of g end */
}

static attn_status add_graph(tsv *file, int64_t graph, const at_graph_edges *edges, const int64_t *order,
                             int64_t count) {
    attn_dataset *dataset = file->reader->dataset;
    const at_strings *names = &file->ids.known.strings;
    int64_t columns = at_graphs_of(dataset)->edge_columns;
    attn_status status = ATTN_OK;
    for (int64_t i = file->first_node[graph]; i < file->first_node[graph + 1] && status == ATTN_OK; i++) {
        int64_t node = file->order[i];
        int there, part;
        file->table.lines.next = file->begins[node];
        file->table.lines.line = file->line_of[node] - 1;
        status = next_node(file, &there, &part);
        if (status == ATTN_OK)
            status = add_node(file, at_string(names, node), at_string_length(names, node), part);
    }
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        int64_t e = order[i];
        status = at_graphs_edge(dataset, file->local[edges->from[e]], file->local[edges->to[e]],
                                columns ? edges->numbers + e * columns : NULL);
    }
    if (status == ATTN_OK)
        status =
            at_strings_add(file->reader->context, &dataset->ids, at_string(&file->graph_names.strings, graph),
                           at_string_length(&file->graph_names.strings, graph));
    return status == ATTN_OK ? at_graphs_end(dataset) : status;
}

static attn_status read_many(tsv *file) {
    attn_context *context = file->reader->context;
    attn_status status = note_nodes(file);
    if (status == ATTN_OK) status = order_nodes(file);
    at_graph_edges edges = {.ids = &file->ids, .apart = 1, .graph_of = file->graph_of};
    if (status == ATTN_OK) status = at_graph_ids_ready(context, &file->ids);
    if (status == ATTN_OK) status = at_graph_read_edges(file->reader, &file->files->edges, &edges);
    int64_t graphs = file->graph_names.strings.count, *order = NULL;
    int64_t *begins = at_allocate(context, graphs + 1, sizeof *begins, "the edges of graphs");
    if (status == ATTN_OK && !begins) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = order_edges(file, &edges, &order, begins);
    if (status == ATTN_OK) status = at_graphs_reserve_edges(file->reader->dataset, edges.count);
    for (int64_t g = 0, first = 0; g < graphs && status == ATTN_OK; first = begins[g++])
        status = add_graph(file, g, &edges, order + first, begins[g] - first);
    at_release(context, order);
    at_release(context, begins);
    at_release(context, edges.from);
    at_release(context, edges.to);
    at_release(context, edges.numbers);
    return status;
}

/* ---- all of it ---- */

/* What is to be learned must be there, in one of the tables. */
static attn_status check_targets(tsv *file) {
    const at_graph_reader *reader = file->reader;
    int64_t found = file->graphs.columns.count ? file->graphs.columns.count : file->table.targets.count;
    const char *asked = reader->options->split_column;
    if (asked && *asked && file->table.split < 0 && !file->graphs.parts.count)
        return at_graph_table_fail(&file->table, "has no column for the split, ", asked);
    if (!reader->options->labelled || (found > 0 && found >= reader->wanted.count)) return ATTN_OK;
    for (int64_t i = 0; i < reader->wanted.count; i++) {
        int there = 0;
        for (int64_t c = 0; c < file->table.targets.count; c++)
            there |= at_graph_same(at_string(&reader->wanted, i), at_string_length(&reader->wanted, i),
                                   at_string(&file->table.targets, c));
        if (!there) return at_graph_table_fail(&file->table, "has no column ", at_string(&reader->wanted, i));
    }
    return at_graph_table_fail(&file->table, "has no column label: name the column to learn", "");
}

static attn_status begin(tsv *file) {
    at_graph_reader *reader = file->reader;
    const at_graph_tsv *files = file->files;
    attn_status status = ATTN_OK;
    if (files->graphs.bytes) status = at_graph_list_read(reader, &files->graphs, &file->graphs);
    if (status == ATTN_OK)
        status = at_graph_table_begin(reader, &files->nodes, files->first_line, 1, &file->table);
    if (status != ATTN_OK) return status;
    if (files->graphs.bytes && file->table.graph < 0)
        return at_graph_table_fail(&file->table, "has no column graph, and there is a graphs.tsv", "");
    status = check_targets(file);
    if (status == ATTN_OK)
        status = at_graphs_dataset(reader->context, files->nodes.name, &at_graph_content, AT_GRAPH_TSV,
                                   &reader->dataset);
    return status == ATTN_OK ? find_dense(file) : status;
}

static void release(tsv *file) {
    attn_context *context = file->reader->context;
    at_graph_table_free(&file->table);
    at_graph_list_free(context, &file->graphs);
    at_graph_ids_free(context, &file->ids);
    at_release(context, file->dense);
    at_release(context, file->features);
    at_release(context, file->values);
    at_strings_free(context, &file->targets);
    at_bytes_free(context, &file->parts);
    at_vocabulary_free(context, &file->graph_names);
    at_release(context, file->graph_of);
    at_release(context, file->line_of);
    at_release(context, file->begins);
    at_release(context, file->first_node);
    at_release(context, file->order);
    at_release(context, file->local);
}

attn_status at_graph_read_tsv(at_graph_reader *reader, const at_graph_tsv *files) {
    tsv file = {.reader = reader, .files = files};
    attn_status status = begin(&file);
    if (status == ATTN_OK) status = file.table.graph < 0 ? read_single(&file) : read_many(&file);
    if (status == ATTN_OK) status = at_graph_check_nodes(reader, files->nodes.name);
    if (status == ATTN_OK && file.table.features >= 0 && !file.list_columns && !file.any_features)
        status = at_graph_table_fail(&file.table, "has features of no node: leave the empty column out", "");
    at_graph_said said = {
        .table = &file.table, .graphs = &file.graphs, .targets = &file.targets, .parts = &file.parts};
    if (status == ATTN_OK) status = at_graph_put_targets(reader, &said);
    if (status == ATTN_OK) status = at_graph_finish(reader, files->nodes.name);
    release(&file);
    return status;
}
