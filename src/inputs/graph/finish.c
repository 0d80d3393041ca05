/* finish.c: targets and parts of nodes and graphs, and the checks of a complete dataset. */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/symbols/unicode.h"
#include "inputs/graph/parse.h"

/* ---- targets ---- */

static attn_status add_normal(at_graph_reader *reader, at_strings *list, const char *text, size_t length) {
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    return status == ATTN_OK ? at_strings_add(reader->context, list, text, length) : status;
}

attn_status at_graph_target(at_graph_reader *reader, at_strings *list, const char *text, size_t length) {
    char separator = reader->options->label_separator;
    at_bytes *joined = &reader->joined;
    attn_status status = ATTN_OK;
    at_trim(&text, &length);
    if (separator == 0) return add_normal(reader, list, text, length);
    joined->count = 0;
    for (const char *end = text + length; status == ATTN_OK && text < end;) {
        const char *stop = memchr(text, separator, (size_t)(end - text)), *label = text;
        if (!stop) stop = end;
        size_t label_length = (size_t)(stop - text);
        at_trim(&label, &label_length);
        if (label_length > 0 && joined->count > 0) status = at_bytes_append(reader->context, joined, "\n", 1);
        if (status == ATTN_OK) status = at_bytes_append(reader->context, joined, label, label_length);
        text = stop < end ? stop + 1 : end;
    }
    if (status != ATTN_OK) return status;
    return add_normal(reader, list, joined->count ? joined->data : "", (size_t)joined->count);
}

attn_status at_graph_take_wanted(at_graph_reader *reader) {
    const char *text = reader->options->column;
    if (!text || !*text) return ATTN_OK;
    for (;;) {
        size_t length = strcspn(text, ","), kept = length;
        const char *name = text;
        at_trim(&name, &kept);
        if (kept == 0 || at_unicode_check(name, kept) != kept)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: an empty name among the columns, or one that is not UTF-8");
        for (int64_t i = 0; i < reader->wanted.count; i++)
            if (at_string_length(&reader->wanted, i) == kept &&
                memcmp(at_string(&reader->wanted, i), name, kept) == 0)
                return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                               "reader options: a name occurs twice among the columns \"%.200s\"",
                               reader->options->column);
        attn_status status = add_normal(reader, &reader->wanted, name, kept);
        if (status != ATTN_OK || text[length] == 0) return status;
        text += length + 1;
    }
}

int at_graph_uses_split(const attn_reader_options *options) {
    if (options->split_column && *options->split_column) return 1;
    return !(options->split && *options->split) && !(options->split_file && *options->split_file);
}

/* ---- edges that are listed once ---- */

/* Whether the edges of a graph all lead from a smaller number to a larger one, but for self-loops. */
static int all_rise(const at_graphs *graphs) {
    for (int64_t e = 0; e < graphs->edges; e++)
        if (graphs->from[e] > graphs->to[e]) return 0;
    return 1;
}

/* Working memory: edges by the node that they come from, and which node led to another last. */
typedef struct buckets {
    int64_t *begins; /* [nodes + 1] */
    int32_t *ends;   /* [edges] */
    int32_t *seen;   /* [nodes]: 1 more than the node */
} buckets;

static int has_doubles(const at_graphs *graphs, int64_t graph, const buckets *with) {
    int64_t nodes = graphs->first_node[graph + 1] - graphs->first_node[graph];
    int64_t first = graphs->first_edge[graph], end = graphs->first_edge[graph + 1];
    memset(with->begins, 0, (size_t)(nodes + 1) * sizeof *with->begins);
    memset(with->seen, 0, (size_t)nodes * sizeof *with->seen);
    for (int64_t e = first; e < end; e++) with->begins[graphs->from[e] + 1]++;
    for (int64_t n = 0; n < nodes; n++) with->begins[n + 1] += with->begins[n];
    for (int64_t e = first; e < end; e++) with->ends[with->begins[graphs->from[e]]++] = graphs->to[e];
    for (int64_t n = 0, at = 0; n < nodes; n++) /* begins[n] is now where the edges of n end */
        for (; at < with->begins[n]; at++) {
            if (with->seen[with->ends[at]] == n + 1 && with->ends[at] != n) return 1;
            with->seen[with->ends[at]] = (int32_t)(n + 1);
        }
    return 0;
}

static attn_status find_listed_once(attn_context *context, at_graphs *graphs) {
    int64_t most_nodes = 0, most_edges = 0;
    graphs->listed_once = all_rise(graphs);
    if (!graphs->listed_once) return ATTN_OK;
    for (int64_t g = 0; g < graphs->graphs; g++) {
        int64_t nodes = graphs->first_node[g + 1] - graphs->first_node[g];
        int64_t edges = graphs->first_edge[g + 1] - graphs->first_edge[g];
        if (nodes > most_nodes) most_nodes = nodes;
        if (edges > most_edges) most_edges = edges;
    }
    const buckets with = {
        at_allocate(context, most_nodes + 1, sizeof *with.begins, "the edges of a graph"),
        at_allocate(context, most_edges, sizeof *with.ends, "the edges of a graph"),
        at_allocate(context, most_nodes, sizeof *with.seen, "the nodes of a graph"),
    };
    attn_status status = with.begins && with.ends && with.seen ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t g = 0; g < graphs->graphs && status == ATTN_OK && graphs->listed_once; g++)
        graphs->listed_once = !has_doubles(graphs, g, &with);
    at_release(context, with.begins);
    at_release(context, with.ends);
    at_release(context, with.seen);
    return status;
}

/* ---- all of it ---- */

/* A column of targets that nobody has a value of cannot be learned. */
static attn_status check_targets(at_graph_reader *reader, const at_origin *origin) {
    const attn_dataset *dataset = reader->dataset;
    int64_t columns = dataset->columns.count;
    for (int64_t c = 0; c < columns; c++) {
        int64_t place = c;
        while (place < dataset->targets.count && !*at_string(&dataset->targets, place)) place += columns;
        if (place >= dataset->targets.count)
            return at_origin_fail(origin, NULL, 0, "%s has no value in any %s: there is nothing to learn",
                                  at_string(&dataset->columns, c), dataset->per_row ? "node" : "graph");
    }
    return ATTN_OK;
}

attn_status at_graph_check_nodes(at_graph_reader *reader, const char *name) {
    attn_dataset *dataset = reader->dataset;
    at_origin origin = at_graph_origin(reader, name);
    if (dataset->rows > 0) return ATTN_OK;
    if (dataset->skipped == 0)
        return at_origin_fail(&origin, NULL, 0, "has no nodes: a graph has at least one");
    return at_origin_fail(&origin, NULL, 0,
                          "has no good nodes: %" PRId64 " lines were left out, the first because of %.150s",
                          dataset->skipped, at_string(&dataset->problems, 0));
}

attn_status at_graph_finish(at_graph_reader *reader, const char *name) {
    attn_dataset *dataset = reader->dataset;
    at_origin origin = at_graph_origin(reader, name);
    attn_status status = reader->options->labelled ? check_targets(reader, &origin) : ATTN_OK;
    return status == ATTN_OK ? find_listed_once(reader->context, at_graphs_of(dataset)) : status;
}
