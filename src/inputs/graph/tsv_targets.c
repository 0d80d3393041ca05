/* tsv_targets.c: graphs.tsv, and whether targets and parts stand with nodes or with graphs.
 *
 * With nodes (per_token 1) they are those of nodes.tsv. With graphs (0) they are those of graphs.tsv; where
 * that does not have them, those of the nodes, which may be missing on some of a graph, but not contradict
 * each other. Left open (-1): with nodes if there is one graph, or if nodes contradict each other.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/parts.h"
#include "inputs/graph/tsv.h"

/* ---- graphs.tsv ---- */

static attn_status add_line(at_graph_reader *reader, at_graph_table *table, int targets,
                            at_graph_list *list) {
    attn_context *context = reader->context;
    const at_graph_field *name = &table->fields.list[table->graph];
    int64_t count = list->names.strings.count, number;
    int part;
    if (name->length == 0) return at_graph_bad(reader, &table->lines, "column graph is empty");
    attn_status status = at_vocabulary_add(context, &list->names, name->text, name->length, 1, &number);
    if (status == ATTN_OK && number != count)
        return at_graph_bad(reader, &table->lines, "graph \"%.*s\" is already in line %" PRId64,
                            (int)(name->length < 60 ? name->length : 60), name->text, list->lines[number]);
    if (status == ATTN_OK)
        status = at_grow(context, &list->lines, &list->line_room, number + 1, sizeof *list->lines, "graphs");
    if (status == ATTN_OK) status = at_graph_table_part(table, &part);
    if (status != ATTN_OK) return status;
    list->lines[number] = table->lines.line;
    for (int64_t i = 0; targets && i < table->targets.count && status == ATTN_OK; i++) {
        const at_graph_field *field = &table->fields.list[table->target_columns[i]];
        status = at_graph_target(reader, &list->values, field->text, field->length);
    }
    if (status != ATTN_OK || table->split < 0) return status;
    char byte = (char)part;
    return at_bytes_append(context, &list->parts, &byte, 1);
}

attn_status at_graph_list_read(at_graph_reader *reader, const at_graph_file *file, at_graph_list *list) {
    at_graph_table table = {0};
    attn_status status = at_graph_table_begin(reader, file, 1, 0, &table);
    int64_t wanted = reader->wanted.count ? reader->wanted.count : 1;
    int targets = status == ATTN_OK && reader->options->per_token != 1 && table.targets.count == wanted;
    list->name = file->name;
    for (int there = 1; status == ATTN_OK;) {
        status = at_graph_table_next(&table, &there);
        if (!there) break;
        if (status == ATTN_OK) status = add_line(reader, &table, targets, list);
    }
    reader->bad = 0; /* what is missing here is missing of a whole graph: nothing is left out */
    if (targets) {   /* the list changes its owner */
        list->columns = table.targets;
        table.targets = (at_strings){0};
    }
    at_graph_table_free(&table);
    return status;
}

void at_graph_list_free(attn_context *context, at_graph_list *list) {
    at_vocabulary_free(context, &list->names);
    at_strings_free(context, &list->columns);
    at_strings_free(context, &list->values);
    at_bytes_free(context, &list->parts);
    at_release(context, list->lines);
}

/* Which line of graphs.tsv each example is; -1: none. */
static attn_status match_graphs(at_graph_reader *reader, const at_graph_list *list, int64_t *line_of) {
    const attn_dataset *dataset = reader->dataset;
    at_origin origin = at_graph_origin(reader, list->name);
    unsigned char *seen = at_allocate(reader->context, list->names.strings.count, 1, "graphs");
    if (!seen) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < dataset->examples; e++) {
        line_of[e] =
            at_vocabulary_find(&list->names, at_string(&dataset->ids, e), at_string_length(&dataset->ids, e));
        if (line_of[e] >= 0) seen[line_of[e]] = 1;
    }
    int64_t lost = 0;
    while (lost < list->names.strings.count && seen[lost]) lost++;
    at_release(reader->context, seen);
    if (lost == list->names.strings.count || reader->options->skip_bad) return ATTN_OK;
    return at_origin_fail(&origin, NULL, list->lines[lost],
                          "graph \"%.60s\" has no nodes in the file of nodes",
                          at_string(&list->names.strings, lost));
}

/* ---- targets ---- */

/* The value of a target for a graph: the row of the first that is not missing, -1 if all are; *other: a row
 * that contradicts it, -1 if there is none. */
static int64_t find_value(const attn_dataset *dataset, const at_graph_said *said, int64_t example,
                          int64_t target, int64_t *other) {
    int64_t columns = said->table->targets.count, found = -1;
    *other = -1;
    for (int64_t row = dataset->offsets[example]; row < dataset->offsets[example + 1]; row++) {
        const char *value = at_string(said->targets, row * columns + target);
        if (!*value) continue;
        if (found < 0)
            found = row;
        else if (strcmp(value, at_string(said->targets, found * columns + target)) != 0)
            *other = row;
        if (*other >= 0) break;
    }
    return found;
}

static attn_status decide_place(at_graph_reader *reader, const at_graph_said *said) {
    attn_dataset *dataset = reader->dataset;
    int wanted = reader->options->pairs == 1 ? 0 : reader->options->per_token;
    int single = said->table->graph < 0;
    dataset->per_row = wanted == 1 || (wanted < 0 && single);
    if (dataset->per_row || said->graphs->columns.count) return ATTN_OK;
    for (int64_t e = 0; e < dataset->examples; e++) {
        for (int64_t target = 0; target < said->table->targets.count; target++) {
            int64_t other, row = find_value(dataset, said, e, target, &other);
            if (other < 0) continue;
            dataset->per_row = 1;
            if (wanted < 0) return ATTN_OK;
            return at_origin_fail(
                &said->table->lines.origin, NULL, dataset->lines[other],
                "column %.60s is not the same as in line %" PRId64
                " of the same graph, but this task needs one target per graph (task tag: one per node)",
                at_string(&said->table->targets, target), dataset->lines[row]);
        }
    }
    return ATTN_OK;
}

/* Of graphs, from graphs.tsv or from their nodes. */
static attn_status put_graph_targets(at_graph_reader *reader, const at_graph_said *said,
                                     const int64_t *line_of) {
    attn_dataset *dataset = reader->dataset;
    int listed = said->graphs->columns.count > 0;
    const at_strings *values = listed ? &said->graphs->values : said->targets;
    int64_t columns = dataset->columns.count;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        for (int64_t target = 0; target < columns && status == ATTN_OK; target++) {
            int64_t other, at = listed ? line_of[e] : find_value(dataset, said, e, target, &other);
            const char *value = at < 0 ? "" : at_string(values, at * columns + target);
            status = at_strings_add(reader->context, &dataset->targets, value, strlen(value));
        }
    }
    return status;
}

/* ---- parts ---- */

static attn_status put_graph_parts(at_graph_reader *reader, const at_graph_said *said,
                                   const int64_t *line_of) {
    attn_dataset *dataset = reader->dataset;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        int64_t first = dataset->offsets[e];
        int part = ATTN_PART_NONE;
        if (said->graphs->parts.count) {
            if (line_of[e] >= 0) part = said->graphs->parts.data[line_of[e]];
        } else {
            part = said->parts->data[first];
            for (int64_t row = first; row < dataset->offsets[e + 1]; row++)
                if (said->parts->data[row] != part)
                    return at_origin_fail(&said->table->lines.origin, NULL, dataset->lines[row],
                                          "the node is for another part of the split than the one in line "
                                          "%" PRId64 ", which is of the same graph",
                                          dataset->lines[first]);
        }
        status = at_dataset_add_part(dataset, part);
    }
    return status;
}

static attn_status put_row_parts(at_graph_reader *reader, const at_graph_said *said, const int64_t *line_of) {
    attn_dataset *dataset = reader->dataset;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        int part = ATTN_PART_NONE;
        if (said->table->split < 0 && line_of[e] >= 0) part = said->graphs->parts.data[line_of[e]];
        for (int64_t row = dataset->offsets[e]; row < dataset->offsets[e + 1] && status == ATTN_OK; row++)
            status = at_dataset_add_part(dataset, said->table->split < 0 ? part : said->parts->data[row]);
    }
    return status;
}

/* ---- all of it ---- */

attn_status at_graph_put_targets(at_graph_reader *reader, at_graph_said *said) {
    attn_dataset *dataset = reader->dataset;
    int64_t *line_of = at_allocate(reader->context, dataset->examples, sizeof *line_of, "graphs");
    attn_status status = line_of ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK && said->graphs->name) status = match_graphs(reader, said->graphs, line_of);
    if (status == ATTN_OK) status = decide_place(reader, said);
    if (status == ATTN_OK) {
        const at_strings *columns =
            !dataset->per_row && said->graphs->columns.count ? &said->graphs->columns : &said->table->targets;
        at_strings names = {0};
        for (int64_t c = 0; c < columns->count && status == ATTN_OK; c++)
            status =
                at_strings_add(reader->context, &names, at_string(columns, c), at_string_length(columns, c));
        dataset->columns = names;
    }
    if (status == ATTN_OK && dataset->per_row) {
        dataset->targets = *said->targets;
        *said->targets = (at_strings){0};
    } else if (status == ATTN_OK) {
        status = put_graph_targets(reader, said, line_of);
    }
    if (status == ATTN_OK && (said->table->split >= 0 || said->graphs->parts.count))
        status = (dataset->per_row ? put_row_parts : put_graph_parts)(reader, said, line_of);
    at_release(reader->context, line_of);
    return status;
}
