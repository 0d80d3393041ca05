/* graph_files.c: files of graphs that tests make, and what was read of them as text. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <attn/attn.h>

#include "support/graph_files.h"
#include "support/memory.h"
#include "support/readers.h"

/* ---- reading, and what came out as text ---- */

attn_reader_options labelled(int per_token) {
    attn_reader_options options = reader_options();
    options.per_token = per_token;
    return options;
}

attn_status try_tables(const char *nodes, const char *edges, const attn_reader_options *options,
                       attn_dataset **dataset) {
    at_source source = {.names = {"nodes.tsv", "edges.tsv"},
                        .bytes = {nodes, edges},
                        .counts = {strlen(nodes), strlen(edges)},
                        .first_line = 1,
                        .options = options};
    return at_graph_read_files(group_context, &source, dataset);
}

attn_dataset *tables(const char *nodes, const char *edges, attn_reader_options options) {
    attn_dataset *dataset = NULL;
    if (try_tables(nodes, edges, &options, &dataset) != ATTN_OK)
        fail_msg("%s", attn_context_error(group_context));
    return dataset;
}

void tables_fail(const char *nodes, const char *edges, attn_reader_options options, const char *error) {
    attn_dataset *dataset = NULL;
    assert_int_equal(try_tables(nodes, edges, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context), error);
    assert_null(dataset);
}

attn_status try_path(const char *path, const attn_reader_options *options, attn_dataset **dataset) {
    at_source source = {.names = {path}, .first_line = 1, .options = options};
    return at_graph_read_files(group_context, &source, dataset);
}

attn_dataset *read_path(const char *path, attn_reader_options options) {
    attn_dataset *dataset = NULL;
    if (try_path(path, &options, &dataset) != ATTN_OK) fail_msg("%s", attn_context_error(group_context));
    return dataset;
}

void path_fails(const char *path, attn_reader_options options, const char *error) {
    attn_dataset *dataset = NULL;
    assert_int_equal(try_path(path, &options, &dataset), ATTN_INVALID_ARGUMENT);
    const char *text = attn_context_error(group_context), *cut = strstr(text, folder);
    assert_non_null(cut);
    assert_string_equal(cut + strlen(folder), error);
}

static void put_place(at_writer *out, const attn_dataset *dataset, int64_t place) {
    for (int64_t c = 0; c < dataset->columns.count; c++)
        at_print(out, "/%s", at_string(&dataset->targets, place * dataset->columns.count + c));
    if (dataset->part_count) at_print(out, "@%s", attn_part_name((attn_part)dataset->parts[place]));
}

static void put_node(at_writer *out, const attn_dataset *dataset, int64_t node) {
    const at_graphs *graphs = at_graphs_of(dataset);
    const char *name = at_graphs_row_name(graphs, node);
    if (name)
        at_print(out, "%s", name);
    else
        at_print(out, "%d", (int)node);
    int64_t first = graphs->first_feature[node], end = graphs->first_feature[node + 1];
    for (int64_t i = first; i < end; i++) {
        at_print(out, "%s%d", i == first ? "{" : " ", graphs->features[i]);
        if (graphs->values) at_print(out, ":%g", (double)graphs->values[i]);
    }
    if (end > first) at_print(out, "}");
    for (int64_t c = 0; c < graphs->dense_columns; c++)
        at_print(out, "%s%g%s", c ? "," : "(", (double)graphs->dense[node * graphs->dense_columns + c],
                 c == graphs->dense_columns - 1 ? ")" : "");
    if (dataset->per_row) put_place(out, dataset, node);
    at_print(out, " ");
}

void check_graphs(attn_dataset *dataset, const char *expected) {
    const at_graphs *graphs = at_graphs_of(dataset);
    at_writer out = {.context = group_context};
    at_print(&out, "%s", graphs->listed_once ? "once: " : "");
    assert_int_equal(graphs->graphs, dataset->examples);
    assert_int_equal(graphs->nodes, dataset->rows);
    for (int64_t g = 0; g < graphs->graphs; g++) {
        if (dataset->ids.count) at_print(&out, "%s: ", at_string(&dataset->ids, g));
        for (int64_t n = graphs->first_node[g]; n < graphs->first_node[g + 1]; n++)
            put_node(&out, dataset, n);
        for (int64_t e = graphs->first_edge[g]; e < graphs->first_edge[g + 1]; e++) {
            at_print(&out, "%d>%d", graphs->from[e], graphs->to[e]);
            for (int64_t c = 0; c < graphs->edge_columns; c++)
                at_print(&out, "%s%g%s", c ? "," : "(",
                         (double)graphs->edge_numbers[e * graphs->edge_columns + c],
                         c == graphs->edge_columns - 1 ? ")" : "");
            at_print(&out, " ");
        }
        if (!dataset->per_row) put_place(&out, dataset, g);
        at_print(&out, ";");
    }
    assert_string_equal(out.bytes, expected);
    at_writer_free(&out);
    attn_dataset_destroy(dataset);
}

/* ---- folders ---- */

char folder[64];

void make_folder(void) {
    strcpy(folder, "/tmp/attn-graphs-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

const char *path_of(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *name, const char *bytes, size_t count) {
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".gz") == 0) {
        gzFile file = gzopen(path_of(name), "wb");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
        gzclose(file);
        return;
    }
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

void write_text(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }

void graph_files_remove(void) {
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- memory ---- */

void refuse_memory(try_function *read, int per_token) {
    attn_reader_options options = labelled(per_token);
    attn_dataset *dataset = NULL;
    int64_t live = group_counter.live, step = 1;
    for (;; step++) {
        group_counter.fail_at = step;
        attn_status status = read(&options, &dataset);
        group_counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(dataset);
        assert_int_equal(group_counter.live, live);
    }
    assert_true(step > 10);
    attn_dataset_destroy(dataset);
}
