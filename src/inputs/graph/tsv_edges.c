/* tsv_edges.c: edges.tsv: who leads to whom. */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/graph/tsv.h"

typedef struct edge_file {
    at_graph_reader *reader;
    at_graph_lines lines;
    at_graph_fields fields;
    at_graph_edges *edges;
    int64_t columns; /* numbers of an edge; -1: no edge was read yet */
    float *numbers;  /* [columns]: of the edge that is being read */
} edge_file;

/* ---- the line that names the columns ---- */

static int is_usual_name(const at_graph_field *field) {
    static const char *const names[] = {"source",  "target", "from",   "to",       "src",       "dst",
                                        "head",    "tail",   "sender", "receiver", "u",         "v",
                                        "i",       "j",      "node1",  "node2",    "node_1",    "node_2",
                                        "id1",     "id2",    "id_1",   "id_2",     "source_id", "target_id",
                                        "from_id", "to_id",  "citing", "cited",    NULL};
    for (int i = 0; names[i]; i++)
        if (at_graph_same(field->text, field->length, names[i])) return 1;
    return 0;
}

static int is_number(const at_graph_field *field) {
    float number;
    return at_graph_number(field->text, field->length, &number) != 0;
}

/* See tsv.h. */
static int names_columns(const edge_file *file) {
    const at_graph_ids *ids = file->edges->ids;
    const at_graph_field *from = file->fields.list, *to = from + 1;
    if (file->fields.count < 2 || at_graph_id_find(ids, from->text, from->length) >= 0 ||
        at_graph_id_find(ids, to->text, to->length) >= 0)
        return 0;
    if (is_usual_name(from) && is_usual_name(to)) return 1;
    return !ids->named && !is_number(from) && !is_number(to);
}

/* ---- edges ---- */

static attn_status find_node(edge_file *file, int place, int64_t *node) {
    const at_graph_field *field = &file->fields.list[place];
    *node = at_graph_id_find(file->edges->ids, field->text, field->length);
    if (*node >= 0) return ATTN_OK;
    return at_graph_bad(file->reader, &file->lines,
                        "the edge leads %s \"%.*s\", which is not a node: the file of nodes has no such line",
                        place ? "to" : "from", (int)(field->length < 60 ? field->length : 60), field->text);
}

static attn_status read_numbers(edge_file *file) {
    attn_status status = ATTN_OK;
    for (int64_t c = 0; c < file->columns && status == ATTN_OK; c++) {
        const at_graph_field *field = &file->fields.list[c + 2];
        int result = at_graph_number(field->text, field->length, &file->numbers[c]);
        if (result != 1)
            status = at_graph_bad_number(file->reader, &file->lines, "a number of the edge", field, result);
    }
    return status;
}

/* The first edge says how many numbers edges have. */
static attn_status begin_columns(edge_file *file) {
    attn_context *context = file->reader->context;
    file->columns = file->fields.count - 2;
    file->numbers = at_allocate(context, file->columns, sizeof *file->numbers, "the numbers of an edge");
    if (!file->numbers) return ATTN_OUT_OF_MEMORY;
    at_graphs_of(file->reader->dataset)->edge_columns = file->columns;
    return ATTN_OK;
}

static attn_status keep_apart(edge_file *file, int64_t from, int64_t to) {
    attn_context *context = file->reader->context;
    at_graph_edges *edges = file->edges;
    int64_t columns = file->columns;
    attn_status status = at_grow(context, &edges->from, &edges->from_room, edges->count + 1,
                                 sizeof *edges->from, "the edges of graphs");
    if (status == ATTN_OK)
        status = at_grow(context, &edges->to, &edges->to_room, edges->count + 1, sizeof *edges->to,
                         "the edges of graphs");
    if (status == ATTN_OK && columns)
        status = at_grow(context, &edges->numbers, &edges->number_room, (edges->count + 1) * columns,
                         sizeof *edges->numbers, "the numbers of edges");
    if (status != ATTN_OK) return status;
    edges->from[edges->count] = (int32_t)from;
    edges->to[edges->count] = (int32_t)to;
    if (columns)
        memcpy(edges->numbers + edges->count * columns, file->numbers,
               (size_t)columns * sizeof *edges->numbers);
    edges->count++;
    return ATTN_OK;
}

static attn_status read_edge(edge_file *file) {
    at_graph_reader *reader = file->reader;
    at_graph_edges *edges = file->edges;
    int64_t from, to;
    if (file->fields.count < 2)
        return at_graph_bad(reader, &file->lines,
                            "one column, an edge has two: from and to, with a TAB or spaces between");
    attn_status status = find_node(file, 0, &from);
    if (status == ATTN_OK) status = find_node(file, 1, &to);
    if (status == ATTN_OK && edges->apart && edges->graph_of[from] != edges->graph_of[to])
        status = at_graph_bad(
            reader, &file->lines, "the edge leads from \"%.60s\" to \"%.60s\", a node of another graph",
            at_string(&edges->ids->known.strings, from), at_string(&edges->ids->known.strings, to));
    if (status == ATTN_OK && file->columns < 0) status = begin_columns(file);
    if (status == ATTN_OK && file->fields.count != file->columns + 2)
        status = at_graph_bad(reader, &file->lines,
                              "%" PRId64 " columns, the first edge has %" PRId64
                              ": all edges have the same count of numbers",
                              file->fields.count, file->columns + 2);
    if (status == ATTN_OK) status = read_numbers(file);
    if (status != ATTN_OK) return status;
    return edges->apart ? keep_apart(file, from, to)
                        : at_graphs_edge(reader->dataset, from, to, file->columns ? file->numbers : NULL);
}

/* ---- looking ahead ---- */

#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif
enum { AHEAD = 32 };

/* Asks for what the names of the next lines will be looked up in. With a million nodes each name is three
 * accesses far from the last ones, one after another; so they are on their way together. */
static void look_ahead(const edge_file *file) {
    at_graph_lines lines = file->lines;
    const at_graph_ids *ids = file->edges->ids;
    const at_strings *names = &ids->known.strings;
    uint64_t hashes[2 * AHEAD];
    int64_t found[2 * AHEAD], count = 0;
    const char *text;
    size_t length;
    for (int i = 0; i < AHEAD && at_graph_line(&lines, &text, &length); i++) {
        const char *end = text + length;
        char delimiter = memchr(text, '\t', length) ? '\t' : ' ';
        for (int f = 0; f < 2; f++) {
            while (text < end && (*text == ' ' || *text == '\t')) text++;
            const char *begin = text;
            while (text < end && *text != delimiter) text++;
            hashes[count] = at_hash(begin, (size_t)(text - begin), 0);
            FETCH(&ids->slots[hashes[count] & (uint64_t)(ids->slot_count - 1)]);
            count++;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        found[i] = at_graph_id_likely(ids, hashes[i]);
        if (found[i] >= 0) FETCH(&names->offsets[found[i]]);
    }
    for (int64_t i = 0; i < count; i++)
        if (found[i] >= 0) FETCH(at_string(names, found[i]));
}

/* ---- all of it ---- */

static attn_status reserve(edge_file *file, int64_t count) {
    attn_context *context = file->reader->context;
    at_graph_edges *edges = file->edges;
    if (!edges->apart) return at_graphs_reserve_edges(file->reader->dataset, count);
    attn_status status =
        at_grow(context, &edges->from, &edges->from_room, count, sizeof *edges->from, "the edges of graphs");
    if (status != ATTN_OK) return status;
    return at_grow(context, &edges->to, &edges->to_room, count, sizeof *edges->to, "the edges of graphs");
}

attn_status at_graph_read_edges(at_graph_reader *reader, const at_graph_file *source, at_graph_edges *edges) {
    edge_file file = {
        .reader = reader, .lines = at_graph_begin(reader, source, 1), .edges = edges, .columns = -1};
    const char *text;
    size_t length;
    int first = 1;
    attn_status status = reserve(&file, at_graph_count_lines(source));
    for (int64_t i = 0; status == ATTN_OK; i++) {
        if (edges->ids->slots && i % AHEAD == 0) look_ahead(&file);
        if (!at_graph_line(&file.lines, &text, &length)) break;
        if (at_graph_blank(text, length) || *text == '#') continue;
        char delimiter = memchr(text, '\t', length) ? '\t' : ' ';
        status = at_graph_split(reader->context, text, length, delimiter, &file.fields);
        if (status != ATTN_OK || (first && names_columns(&file))) {
            first = 0;
            continue;
        }
        first = 0;
        status = at_graph_settle(reader, read_edge(&file));
    }
    at_release(reader->context, file.fields.list);
    at_release(reader->context, file.numbers);
    return status;
}
