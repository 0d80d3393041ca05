/* test_graph_formats.c: graphs as folders of OGB and as arrays of NumPy: what is in them, what each mistake
 * is told, and that a graph is the same in all formats.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <attn/attn.h>

#include "support/graph_files.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/readers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- OGB ---- */

static void make_ogb(void) {
    make_folder();
    assert_int_equal(mkdir(path_of("raw"), 0700), 0);
    assert_int_equal(mkdir(path_of("split"), 0700), 0);
    assert_int_equal(mkdir(path_of("split/time"), 0700), 0);
}

static void write_split(const char *name, const char *train, const char *valid, const char *test) {
    const char *const texts[] = {train, valid, test}, *const names[] = {"train", "valid", "test"};
    for (int i = 0; i < 3; i++) {
        char path[100];
        snprintf(path, sizeof path, "split/%s/%s.csv.gz", name, names[i]);
        write_text(path, texts[i]);
    }
}

static void test_ogb_nodes(void **state) {
    (void)state;
    make_ogb();
    write_text("raw/edge.csv.gz", "0,1\n2,1\n");
    write_text("raw/node-feat.csv.gz", "1,-0.5\n2,3\n4,5\n");
    write_text("raw/node-label.csv.gz", "7\nnan\n\n");
    write_text("raw/node_year.csv.gz", "1999\n");
    write_split("time", "0\n", "2\n", "1\n");
    assert_true(at_graph_knows(folder));
    const char *expected = "0(1,-0.5)/7@train 1(2,3)/@test 2(4,5)/@val 0>1 2>1 ;";
    check_graphs(read_path(folder, labelled(1)), expected);
    check_graphs(read_path(path_of("raw"), labelled(-1)), expected);
    write_text("raw/num-node-list.csv.gz", "3\n");
    write_text("raw/num-edge-list.csv", "2\n");
    check_graphs(read_path(folder, labelled(1)), expected);
    path_fails(
        folder, labelled(0),
        ": has no graph-label.csv: there are no labels of graphs to learn, but some of nodes (task tag)");
    assert_int_equal(mkdir(path_of("split/random"), 0700), 0);
    write_split("random", "1\n2\n", "", "0");
    path_fails(folder, labelled(1),
               "/split: has several splits (random, time): choose one as the split column");
    attn_reader_options options = labelled(1);
    options.split_column = "random";
    check_graphs(read_path(folder, options), "0(1,-0.5)/7@test 1(2,3)/@train 2(4,5)/@train 0>1 2>1 ;");
    options.split_column = "no";
    path_fails(folder, options, "/split: has no split \"no\"; there is random, time");
    options.split_column = "random";
    write_split("random", "1\n3\n", "", "0");
    path_fails(folder, options, "/split/random/train.csv.gz:2: \"3\" is not a node: they are 0 to 2");
    write_split("random", "1\n2\n", "1\n", "0");
    path_fails(folder, options, "/split/random/valid.csv.gz:1: 1 is for train already");
    write_split("random", "", "1\n", "0");
    assert_int_equal(unlink(path_of("split/random/test.csv.gz")), 0);
    path_fails(folder, options,
               "/split/random: has no test.csv: a split has train.csv, valid.csv and test.csv");
    graph_files_remove();
}

/* Two graphs. */
static void make_molecules(void) {
    make_ogb();
    write_text("raw/num-node-list.csv.gz", "2\n1\n");
    write_text("raw/num-edge-list.csv.gz", "2\n0\n");
    write_text("raw/edge.csv.gz", "0,1\n1,0\n");
    write_text("raw/edge-feat.csv.gz", "5,6\n7,8\n");
    write_text("raw/node-feat.csv.gz", "1\n2\n3\n");
    write_text("raw/graph-label.csv.gz", "0,nan\n1,0\n");
    write_split("time", "0\n", "", "1\n");
}

static void test_ogb_graphs(void **state) {
    (void)state;
    make_molecules();
    check_graphs(read_path(folder, labelled(0)), "0(1) 1(2) 0>1(5,6) 1>0(7,8) /0/@train;2(3) /1/0@test;");
    attn_reader_options options = labelled(-1);
    options.column = "label1";
    check_graphs(read_path(folder, options), "0(1) 1(2) 0>1(5,6) 1>0(7,8) /@train;2(3) /0@test;");
    options.column = "2";
    path_fails(
        folder, options,
        "/raw/graph-label.csv.gz: has no column \"2\": its 2 columns are called label0, label1 and so on, or "
        "by their numbers");
    path_fails(
        folder, labelled(1),
        ": has no node-label.csv: there are no labels of nodes to learn, but some of graphs (task classify, "
        "regress)");
    graph_files_remove();
}

/* Files that do not agree with each other. */
static void test_ogb_errors(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *restored, *error;
    } bad[] = {
        {"edge.csv.gz", "0,1\n1,2\n", "0,1\n1,0\n",
         "edge.csv.gz:2: the edge leads to \"2\", which is not a node: they are 0 to 1"},
        {"edge.csv.gz", "0,1\n", "0,1\n1,0\n",
         "edge.csv.gz: has 1 lines, and there are 2 edges: it has a line for each"},
        {"edge.csv.gz", "0,1\n1,0\n0,0\n", "0,1\n1,0\n",
         "edge.csv.gz: has 3 lines, and there are 2 edges: it has a line for each"},
        {"edge.csv.gz", "0,1\n1\n", "0,1\n1,0\n", "edge.csv.gz:2: 1 columns, an edge has two: from,to"},
        {"edge-feat.csv.gz", "5,6\n7\n", "5,6\n7,8\n", "edge-feat.csv.gz:2: 1 columns, the first line has 2"},
        {"node-feat.csv.gz", "1\n2\n", "1\n2\n3\n",
         "node-feat.csv.gz: has 2 lines, and there are 3 nodes: it has a line for each"},
        {"node-feat.csv.gz", "1\n2\ninf\n", "1\n2\n3\n",
         "node-feat.csv.gz:3: column 1 is \"inf\", which is not a finite number"},
        {"num-node-list.csv.gz", "3\n0\n", "2\n1\n",
         "num-node-list.csv.gz:2: the graph has no nodes: a graph has at least one"},
        {"num-edge-list.csv.gz", "2\n", "2\n0\n",
         "num-edge-list.csv.gz: has 1 lines, and there are 2 graphs: it has a line for each"},
        {"num-edge-list.csv.gz", "2\nx\n", "2\n0\n",
         "num-edge-list.csv.gz:2: is not a whole number up to 2147483647: how many the graph has"},
        {"graph-label.csv.gz", "0,nan\n1\n", "0,nan\n1,0\n",
         "graph-label.csv.gz:2: 1 columns, the first line has 2"},
        {"graph-label.csv.gz", "nan,0\nnan,0\n", "0,nan\n1,0\n", NULL},
    };
    make_molecules();
    for (size_t i = 0; i < COUNT(bad); i++) {
        char name[60], error[200];
        snprintf(name, sizeof name, "raw/%s", bad[i].name);
        write_text(name, bad[i].text);
        snprintf(error, sizeof error, "/raw/%s", bad[i].error ? bad[i].error : "");
        path_fails(folder, labelled(0),
                   bad[i].error ? error : ": label0 has no value in any graph: there is nothing to learn");
        write_text(name, bad[i].restored);
    }
    graph_files_remove();
}

static void test_ogb_missing(void **state) {
    (void)state;
    make_molecules();
    assert_int_equal(unlink(path_of("raw/num-edge-list.csv.gz")), 0);
    path_fails(
        folder, labelled(0),
        "/raw/num-node-list.csv.gz: there are 2 graphs, and no num-edge-list.csv that says how many edges "
        "each has");
    assert_int_equal(unlink(path_of("raw/edge.csv.gz")), 0);
    attn_reader_options ogb = labelled(0);
    ogb.format = (attn_format)AT_GRAPH_OGB;
    path_fails(
        folder, ogb,
        ": has no edge.csv (or edge.csv.gz), neither in raw/ nor itself: OGB has edge.csv, node-feat.csv, "
        "node-label.csv or graph-label.csv, num-node-list.csv and num-edge-list.csv there");
    graph_files_remove();
    make_folder(); /* a number alone makes no nodes */
    assert_int_equal(mkdir(path_of("raw"), 0700), 0);
    write_text("raw/edge.csv", "0,1\n");
    write_text("raw/num-node-list.csv", "2147483647\n");
    path_fails(folder, reader_options_unlabelled(),
               "/raw/num-node-list.csv: says 2147483647 nodes, most without edges, features or labels: it is "
               "damaged");
    graph_files_remove();
}

/* ---- arrays of NumPy ---- */

typedef struct bytes {
    char data[1 << 16];
    size_t count;
} bytes;

static void put_bytes(bytes *to, const void *data, size_t count) {
    assert_true(to->count + count <= sizeof to->data);
    if (count) memcpy(to->data + to->count, data, count);
    to->count += count;
}

static void put_little(bytes *to, uint64_t value, int size) {
    for (int i = 0; i < size; i++) put_bytes(to, &(char){(char)(value >> 8 * i)}, 1);
}

/* An archive that is being made. */
typedef struct archive {
    bytes file, directory;
    int members, packed;
} archive;

static archive zip;

static void zip_begin(int packed) {
    zip.file.count = zip.directory.count = 0;
    zip.members = 0;
    zip.packed = packed;
}

static void zip_add(const char *name, const bytes *content) {
    static char packed[1 << 16];
    size_t count = content->count, offset = zip.file.count;
    const char *data = content->data;
    uint32_t check = (uint32_t)crc32(0, (const Bytef *)content->data, (uInt)content->count);
    if (zip.packed) {
        z_stream stream;
        memset(&stream, 0, sizeof stream);
        assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = (Bytef *)(uintptr_t)content->data;
        stream.avail_in = (uInt)content->count;
        stream.next_out = (Bytef *)packed;
        stream.avail_out = sizeof packed;
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        count = sizeof packed - stream.avail_out;
        deflateEnd(&stream);
        data = packed;
    }
    bytes *parts[2] = {&zip.file, &zip.directory};
    for (int p = 0; p < 2; p++) {
        put_bytes(parts[p], p ? "PK\1\2\24\0" : "PK\3\4", p ? 6 : 4);
        put_little(parts[p], 20, 2);
        put_little(parts[p], 0, 2);
        put_little(parts[p], zip.packed ? 8 : 0, 2);
        put_little(parts[p], 0, 4);
        put_little(parts[p], check, 4);
        put_little(parts[p], count, 4);
        put_little(parts[p], content->count, 4);
        put_little(parts[p], strlen(name) + 4, 2);
        put_little(parts[p], 0, 2);
        if (p) put_bytes(parts[p], "\0\0\0\0\0\0\0\0\0", 10);
        if (p) put_little(parts[p], offset, 4);
        put_bytes(parts[p], name, strlen(name));
        put_bytes(parts[p], ".npy", 4);
    }
    put_bytes(&zip.file, data, count);
    zip.members++;
}

static void zip_end(void) {
    size_t offset = zip.file.count;
    put_bytes(&zip.file, zip.directory.data, zip.directory.count);
    put_bytes(&zip.file, "PK\5\6\0\0\0\0", 8);
    put_little(&zip.file, (uint64_t)zip.members, 2);
    put_little(&zip.file, (uint64_t)zip.members, 2);
    put_little(&zip.file, zip.directory.count, 4);
    put_little(&zip.file, offset, 4);
    put_little(&zip.file, 0, 2);
}

/* Adds an array: numbers of a type ("<f4", "<f8", "<i4", "<i8", "|b1", "|i1"), or what is in `raw`. */
static void add_array(const char *name, const char *descr, const char *shape, const double *numbers,
                      int count, const char *raw) {
    static bytes made;
    char dict[200];
    made.count = 0;
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
    put_bytes(&made, "\x93NUMPY\1\0", 8);
    put_little(&made, strlen(dict), 2);
    put_bytes(&made, dict, strlen(dict));
    int size = descr[2] - '0', is_float = descr[1] == 'f';
    for (int i = 0; i < count && !raw; i++) {
        uint64_t bits = is_float ? 0 : (uint64_t)(int64_t)numbers[i];
        float single = (float)numbers[i];
        uint32_t half;
        memcpy(&half, &single, 4);
        if (is_float && size == 4) bits = half;
        if (is_float && size == 8) memcpy(&bits, &numbers[i], 8);
        put_little(&made, bits, size);
    }
    if (raw) put_bytes(&made, raw, (size_t)count);
    zip_add(name, &made);
}

#define NUMBERS(...)                                                                                         \
    (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), NULL

static attn_status try_zip(const attn_reader_options *options, attn_dataset **dataset) {
    at_source source = {.names = {"a.npz"},
                        .bytes = {zip.file.data},
                        .counts = {zip.file.count},
                        .first_line = 1,
                        .options = options};
    return at_graph_read_files(group_context, &source, dataset);
}

static attn_dataset *read_zip(attn_reader_options options) {
    attn_dataset *dataset = NULL;
    zip_end();
    if (try_zip(&options, &dataset) != ATTN_OK) fail_msg("%s", attn_context_error(group_context));
    assert_int_equal(dataset->format, AT_GRAPH_NPZ);
    return dataset;
}

static void zip_fails(attn_reader_options options, const char *error) {
    attn_dataset *dataset = NULL;
    zip_end();
    assert_int_equal(try_zip(&options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context), error);
}

/* Nodes 0 -> 1, 0 -> 2, 2 -> 0 with these weights. */
static void begin_matrix(int packed, const char *type, double weight) {
    zip_begin(packed);
    add_array("adj_data", type, "(3,)", NUMBERS(1, weight, 1));
    add_array("adj_indices", "<i4", "(3,)", NUMBERS(1, 2, 0));
    add_array("adj_indptr", "<i8", "(4,)", NUMBERS(0, 2, 2, 3));
    add_array("adj_shape", "<i8", "(2,)", NUMBERS(3, 3));
}

static void test_npz_matrices(void **state) {
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        begin_matrix(packed, "<f4", 1);
        add_array("attr_data", "<f8", "(3,)", NUMBERS(1, 1, 1));
        add_array("attr_indices", "<i4", "(3,)", NUMBERS(4, 0, 2));
        add_array("attr_indptr", "<i4", "(4,)", NUMBERS(0, 2, 2, 3));
        add_array("attr_shape", "<i8", "(2,)", NUMBERS(3, 6));
        add_array("labels", "<i8", "(3,)", NUMBERS(1, 0, -1));
        add_array("class_names", "|S2", "(2,)", NULL, 4, "p\0q\0");
        add_array("node_names", "|O", "(1,)", NULL, 1, "x"); /* Python objects are left out */
        attn_dataset *dataset = read_zip(labelled(1));
        assert_int_equal(at_graphs_of(dataset)->feature_columns, 6);
        check_graphs(dataset, "0{4 0}/q 1/p 2{2}/ 0>1 0>2 2>0 ;");
    }
    begin_matrix(1, "<f8", 2.5);
    add_array("attr_matrix", "<f4", "(3, 2)", NUMBERS(1, 2, 3, 4, 5, -6));
    add_array("attr_names", "|S1", "(2,)", NULL, 2, "uv");
    add_array("node_names", "|S1", "(3,)", NULL, 3, "abc");
    add_array("labels", "|S1", "(3,)", NULL, 3, "xyz");
    add_array("train_mask", "|b1", "(3,)", NUMBERS(1, 0, 0));
    add_array("val_mask", "|b1", "(3,)", NUMBERS(0, 0, 1));
    attn_dataset *dataset = read_zip(labelled(-1));
    assert_string_equal(at_string(&at_graphs_of(dataset)->feature_names, 1), "v");
    check_graphs(dataset, "a(1,2)/x@train b(3,4)/y@none c(5,-6)/z@val 0>1(1) 0>2(2.5) 2>0(1) ;");
    begin_matrix(0, "|i1", 1);
    add_array("labels", "<f4", "(3, 2)", NUMBERS(0, NAN, 0.5, 1, 2, 3));
    check_graphs(read_zip(labelled(1)), "0/0/ 1/0.5/1 2/2/3 0>1 0>2 2>0 ;");
    begin_matrix(0, "<i4", 1);
    add_array("y", "<i4", "(3,)", NUMBERS(-1, -2, 4));
    attn_reader_options options = labelled(1);
    options.column = "y";
    check_graphs(read_zip(options), "0/-1 1/-2 2/4 0>1 0>2 2>0 ;");
}

static void begin_pairs(void) {
    zip_begin(0);
    add_array("edges", "<i4", "(2, 2)", NUMBERS(0, 1, 1, 2));
    add_array("node_features", "<f4", "(3, 1)", NUMBERS(1, 2, 3));
    add_array("node_labels", "<i8", "(3,)", NUMBERS(0, 1, 1));
}

static void add_masks(void) {
    add_array("train_masks", "|b1", "(2, 3)", NUMBERS(1, 0, 0, 0, 1, 0));
    add_array("val_masks", "|b1", "(2, 3)", NUMBERS(0, 1, 0, 0, 0, 0));
    add_array("test_masks", "|b1", "(2, 3)", NUMBERS(0, 0, 1, 1, 0, 0));
}

static void test_npz_pairs(void **state) {
    (void)state;
    attn_reader_options options = labelled(1);
    begin_pairs();
    check_graphs(read_zip(options), "once: 0(1)/0 1(2)/1 2(3)/1 0>1 1>2 ;");
    begin_pairs();
    add_masks();
    zip_fails(options,
              "a.npz: array train_masks: holds 2 splits: choose one as the split column: masks:0 to masks:1");
    options.split_column = "masks:1";
    check_graphs((begin_pairs(), add_masks(), read_zip(options)),
                 "once: 0(1)/0@test 1(2)/1@train 2(3)/1@none 0>1 1>2 ;");
    begin_pairs();
    add_array("train_masks", "|b1", "(3, 2)", NUMBERS(1, 0, 0, 1, 0, 0)); /* nodes x splits */
    check_graphs(read_zip(options), "once: 0(1)/0@none 1(2)/1@train 2(3)/1@none 0>1 1>2 ;");
    begin_pairs();
    zip_fails(options, "a.npz: has no train_mask (or train_masks), which selects the training nodes");
    options.split_column = "some";
    begin_pairs();
    zip_fails(options,
              "a.npz: has no split \"some\": in an .npz it is called masks, or masks:3 where there are "
              "several");
    options.split_column = "";
    begin_pairs();
    add_array("train_mask", "|b1", "(3,)", NUMBERS(1, 1, 0));
    add_array("test_mask", "|b1", "(3,)", NUMBERS(0, 1, 0));
    zip_fails(options, "a.npz: array test_mask: node 1 is for train already");
    begin_pairs();
    add_array("train_mask", "|b1", "(2,)", NUMBERS(1, 1));
    zip_fails(options,
              "a.npz: array train_mask: has shape (2,), and there are 3 nodes: masks are nodes, or splits "
              "x nodes");
    begin_pairs();
    zip_fails(labelled(0),
              "a.npz: has labels of nodes, but this task needs one per graph (task tag: one per node)");
}

static void test_npz_errors(void **state) {
    (void)state;
    attn_reader_options options = labelled(1), unlabelled = reader_options_unlabelled();
    zip_begin(0);
    add_array("labels", "<i8", "(3,)", NUMBERS(1, 0, 1));
    zip_fails(options,
              "a.npz: has no edges: adj_indices, adj_indptr and adj_shape (and adj_data), or edges, with "
              "two columns");
    begin_matrix(0, "<f4", 1);
    zip_fails(options, "a.npz: has no array labels (or node_labels): there is nothing to learn");
    begin_matrix(0, "<f4", 1);
    check_graphs(read_zip(unlabelled), "0 1 2 0>1 0>2 2>0 ;");
    begin_matrix(0, "<f4", 1);
    add_array("labels", "<i8", "(2,)", NUMBERS(1, 0));
    zip_fails(options,
              "a.npz: array labels: has shape (2,), and there are 3 nodes: labels are nodes, or nodes x "
              "columns (1000 at most)");
    begin_matrix(0, "<f4", 1);
    add_array("attr_matrix", "<f4", "(2, 2)", NUMBERS(1, 2, 3, 4));
    zip_fails(unlabelled, "a.npz: array attr_matrix: has shape (2, 2): it has numbers, 3 nodes x columns");
    begin_matrix(0, "<f4", 1);
    add_array("attr_matrix", "<f4", "(3, 1)", NUMBERS(1, INFINITY, 3));
    zip_fails(unlabelled, "a.npz: array attr_matrix: entry 1 is infinite: replace it (numpy.nan_to_num)");
    begin_matrix(0, "<f4", NAN);
    zip_fails(unlabelled, "a.npz: array adj_data: entry 1 is not a number: replace it (numpy.nan_to_num)");
    begin_matrix(0, "<f4", 1);
    add_array("labels", "<i8", "(3,)", NUMBERS(1, 0, 5));
    add_array("class_names", "|S1", "(2,)", NULL, 2, "pq");
    zip_fails(options, "a.npz: array labels: entry 2 is not one of the 2 classes of class_names");
    begin_matrix(0, "<f4", 1);
    add_array("node_names", "|S1", "(2,)", NULL, 2, "pq");
    zip_fails(unlabelled, "a.npz: array node_names: has shape (2,), and there are 3 to be named");
}

/* Sparse matrices whose parts do not agree, and edges to nodes that are not there. */
static void test_npz_edge_errors(void **state) {
    (void)state;
    attn_reader_options options = labelled(1), unlabelled = reader_options_unlabelled();
    static const struct {
        double indices[2], begins[3], shape[2];
        const char *error;
    } bad[] = {
        {{1, 2}, {0, 1, 2}, {2, 2}, "array adj_indices: entry 1 is out of range: columns are 0 to 1"},
        {{1, -1}, {0, 1, 2}, {2, 2}, "array adj_indices: entry 1 is out of range: columns are 0 to 1"},
        {{1, 0},
         {0, 3, 2},
         {2, 2},
         "array adj_indptr: entry 0 or the next is out of order: they rise from 0 to 2, the number of "
         "entries"},
        {{1, 0},
         {0, 1, 1},
         {2, 2},
         "array adj_indptr: entry 1 or the next is out of order: they rise from 0 to 2, the number of "
         "entries"},
        {{1, 0}, {0, 1, 2}, {2, 3}, "array adj_shape: is (2, 3): there is a row and a column for each node"},
        {{1, 0},
         {0, 1, 2},
         {3, 3},
         "array adj_indptr: has shape (3,), and should have (4,), a row of the matrix more"},
        {{1, 0}, {0, 1, 2}, {-1, 3}, "array adj_shape: has more rows or columns than 2147483647"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char error[200];
        zip_begin(0);
        add_array("adj_indices", "<i4", "(2,)", bad[i].indices, 2, NULL);
        add_array("adj_indptr", "<i4", "(3,)", bad[i].begins, 3, NULL);
        add_array("adj_shape", "<i8", "(2,)", bad[i].shape, 2, NULL);
        snprintf(error, sizeof error, "a.npz: %s", bad[i].error);
        zip_fails(unlabelled, error);
    }
    zip_begin(0);
    add_array("adj_indices", "<i4", "(2,)", NUMBERS(1, 0));
    zip_fails(unlabelled,
              "a.npz: has an array adj_indices and none adj_indptr: a sparse matrix (CSR) has indices, "
              "indptr and shape");
    zip_begin(0);
    add_array("edges", "<i4", "(1, 2)", NUMBERS(0, 3));
    add_array("node_labels", "<i8", "(3,)", NUMBERS(0, 1, 1));
    zip_fails(options, "a.npz: array edges: row 0 leads to a node that does not exist: they are 0 to 2");
    zip_begin(0);
    add_array("edges", "<f4", "(1, 2)", NUMBERS(0, 1));
    zip_fails(options, "a.npz: array edges: has shape (1, 2): it has whole numbers, edges x 2");
    zip_begin(0);
    add_array("edges", "<i4", "(1, 2)", NUMBERS(0, 1));
    zip_fails(unlabelled,
              "a.npz: has edges, but neither node_labels nor node_features, which say how many nodes");
}

/* ---- the same graph in all formats ---- */

enum { NODES = 30, DENSE = 3 };

/* A random graph: weights[i][j] is that of the edge from i to j, 0 if there is none. */
typedef struct random_graph {
    float weights[NODES][NODES], dense[NODES][DENSE], sparse[NODES][8];
    int labels[NODES], parts[NODES]; /* label -1: missing */
    int edges, features;
} random_graph;

static void draw_graph(random_graph *graph, uint64_t seed) {
    test_random random = {seed};
    int upwards = seed % 2 == 0;
    memset(graph, 0, sizeof *graph);
    for (int i = 0; i < NODES; i++) {
        for (int j = upwards ? i : 0; j < NODES; j++)
            if (random_chance(&random, 10)) graph->weights[i][j] = random_unit(&random) + 2, graph->edges++;
        for (int c = 0; c < DENSE; c++) graph->dense[i][c] = random_normal(&random);
        for (int c = 0; c < 8; c++)
            if (c == 7 - i % 8 || random_chance(&random, 20))
                graph->sparse[i][c] = random_unit(&random) + 3, graph->features++;
        graph->labels[i] = i ? (int)random_between(&random, -1, 3) : 0;
        graph->parts[i] = i ? (int)random_between(&random, 0, 3) : 1;
    }
}

/* Into `folder`: nodes.tsv (dense or sparse features) and edges.tsv. */
static void write_tables(const random_graph *graph, int dense) {
    at_writer nodes = {.context = group_context}, edges = {.context = group_context};
    at_print(&nodes, "node\tlabel\tsplit%s\n", dense ? "\tx\ty\tz" : "\tfeatures");
    for (int i = 0; i < NODES; i++) {
        at_print(&nodes, "%d\t", i);
        if (graph->labels[i] >= 0) at_print(&nodes, "%d", graph->labels[i]);
        at_print(&nodes, "\t%s", attn_part_name((attn_part)graph->parts[i]));
        for (int c = 0; c < DENSE && dense; c++) at_print(&nodes, "\t%.9g", (double)graph->dense[i][c]);
        for (int c = 0, first = 1; c < 8 && !dense; c++)
            if (graph->sparse[i][c] != 0) {
                at_print(&nodes, "%s%d:%.9g", first ? "\t" : " ", c, (double)graph->sparse[i][c]);
                first = 0;
            }
        at_print(&nodes, "\n");
        for (int j = 0; j < NODES; j++)
            if (graph->weights[i][j] != 0)
                at_print(&edges, "%d\t%d\t%.9g\n", i, j, (double)graph->weights[i][j]);
    }
    write_text("nodes.tsv", nodes.bytes);
    write_text("edges.tsv.gz", edges.bytes);
    at_writer_free(&nodes);
    at_writer_free(&edges);
}

static void write_ogb(const random_graph *graph) {
    at_writer texts[7] = {{0}};
    static const char *const names[7] = {"raw/edge.csv.gz",         "raw/edge-feat.csv.gz",
                                         "raw/node-feat.csv.gz",    "raw/node-label.csv.gz",
                                         "split/time/train.csv.gz", "split/time/valid.csv.gz",
                                         "split/time/test.csv.gz"};
    for (int t = 0; t < 7; t++) texts[t].context = group_context;
    for (int i = 0; i < NODES; i++) {
        for (int j = 0; j < NODES; j++) {
            if (graph->weights[i][j] == 0) continue;
            at_print(&texts[0], "%d,%d\n", i, j);
            at_print(&texts[1], "%.9g\n", (double)graph->weights[i][j]);
        }
        at_print(&texts[2], "%.9g,%.9g,%.9g\n", (double)graph->dense[i][0], (double)graph->dense[i][1],
                 (double)graph->dense[i][2]);
        at_print(&texts[3], graph->labels[i] < 0 ? "nan\n" : "%d\n", graph->labels[i]);
        if (graph->parts[i]) at_print(&texts[3 + graph->parts[i]], "%d\n", i);
    }
    for (int t = 0; t < 7; t++) {
        write_text(names[t], texts[t].bytes);
        at_writer_free(&texts[t]);
    }
}

/* A sparse matrix: its members, with this prefix. */
static void add_sparse(const char *prefix, const float *numbers, int columns, int count) {
    static double data[NODES * NODES], indices[NODES * NODES], begins[NODES + 1];
    char name[40], shape[40];
    int at = 0;
    for (int i = 0; i < NODES; i++) {
        for (int j = 0; j < columns; j++)
            if (numbers[i * columns + j] != 0) data[at] = (double)numbers[i * columns + j], indices[at++] = j;
        begins[i + 1] = at;
    }
    assert_int_equal(at, count);
    snprintf(shape, sizeof shape, "(%d,)", count);
    snprintf(name, sizeof name, "%sdata", prefix);
    add_array(name, "<f4", shape, data, count, NULL);
    snprintf(name, sizeof name, "%sindices", prefix);
    add_array(name, "<i4", shape, indices, count, NULL);
    snprintf(name, sizeof name, "%sindptr", prefix);
    snprintf(shape, sizeof shape, "(%d,)", NODES + 1);
    add_array(name, "<i4", shape, begins, NODES + 1, NULL);
    snprintf(name, sizeof name, "%sshape", prefix);
    add_array(name, "<i8", "(2,)", NUMBERS(NODES, columns));
}

static attn_dataset *read_as_arrays(const random_graph *graph, int dense) {
    double numbers[NODES * DENSE], masks[3][NODES] = {{0}}, labels[NODES];
    static const char *const names[3] = {"train_mask", "val_mask", "test_mask"};
    zip_begin(1);
    add_sparse("adj_", &graph->weights[0][0], NODES, graph->edges);
    if (!dense) add_sparse("attr_", &graph->sparse[0][0], 8, graph->features);
    for (int i = 0; i < NODES; i++) {
        for (int c = 0; c < DENSE; c++) numbers[i * DENSE + c] = (double)graph->dense[i][c];
        labels[i] = graph->labels[i];
        if (graph->parts[i]) masks[graph->parts[i] - 1][i] = 1;
    }
    if (dense) add_array("attr_matrix", "<f4", "(30, 3)", numbers, NODES * DENSE, NULL);
    add_array("labels", "<i8", "(30,)", labels, NODES, NULL);
    for (int m = 0; m < 3; m++) add_array(names[m], "|b1", "(30,)", masks[m], NODES, NULL);
    return read_zip(labelled(1));
}

static void check_same(attn_dataset *a, attn_dataset *b) {
    const at_graphs *x = at_graphs_of(a), *y = at_graphs_of(b);
    assert_true(x->nodes == NODES && y->nodes == NODES && x->graphs == 1 && y->graphs == 1);
    assert_int_equal(x->edges, y->edges);
    assert_int_equal(x->listed_once, y->listed_once);
    assert_true(x->edge_columns == 1 && y->edge_columns == 1 && x->names.count == 0 && y->names.count == 0);
    assert_memory_equal(x->from, y->from, (size_t)x->edges * sizeof *x->from);
    assert_memory_equal(x->to, y->to, (size_t)x->edges * sizeof *x->to);
    assert_memory_equal(x->edge_numbers, y->edge_numbers, (size_t)x->edges * sizeof *x->edge_numbers);
    assert_true(x->dense_columns == y->dense_columns && x->feature_columns == y->feature_columns);
    assert_memory_equal(x->first_feature, y->first_feature, (NODES + 1) * sizeof *x->first_feature);
    size_t features = (size_t)x->first_feature[NODES];
    if (features) assert_memory_equal(x->features, y->features, features * sizeof *x->features);
    if (features) assert_memory_equal(x->values, y->values, features * sizeof *x->values);
    if (x->dense_columns)
        assert_memory_equal(x->dense, y->dense, (size_t)(NODES * x->dense_columns) * sizeof *x->dense);
    assert_true(at_dataset_fingerprint(a, 1) == at_dataset_fingerprint(b, 1));
    assert_true(a->part_count == NODES && b->part_count == NODES);
    assert_memory_equal(a->parts, b->parts, NODES);
    assert_true(a->targets.count == NODES && b->targets.count == NODES);
    for (int i = 0; i < NODES; i++) assert_string_equal(at_string(&a->targets, i), at_string(&b->targets, i));
}

static void test_round_trip(void **state) {
    (void)state;
    static random_graph graph;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        draw_graph(&graph, seed);
        make_ogb();
        write_tables(&graph, 1);
        attn_dataset *from_tables = read_path(folder, labelled(1)), *from_arrays = read_as_arrays(&graph, 1);
        write_ogb(&graph);
        attn_reader_options options = labelled(1);
        options.format = (attn_format)AT_GRAPH_OGB;
        attn_dataset *from_ogb = read_path(folder, options);
        assert_int_equal(at_graphs_of(from_ogb)->edges, graph.edges);
        assert_int_equal(at_graphs_of(from_ogb)->listed_once, seed % 2 == 0);
        check_same(from_tables, from_arrays);
        check_same(from_tables, from_ogb);
        attn_dataset_destroy(from_arrays);
        attn_dataset_destroy(from_ogb);
        attn_dataset_destroy(from_tables);
        write_tables(&graph, 0);
        from_tables = read_path(folder, labelled(1));
        from_arrays = read_as_arrays(&graph, 0);
        assert_int_equal(at_graphs_of(from_tables)->first_feature[NODES], graph.features);
        check_same(from_tables, from_arrays);
        attn_dataset_destroy(from_arrays);
        attn_dataset_destroy(from_tables);
        graph_files_remove();
    }
}

/* ---- without memory ---- */

static attn_status try_folder(const attn_reader_options *options, attn_dataset **dataset) {
    return try_path(folder, options, dataset);
}

static void test_no_memory(void **state) {
    (void)state;
    begin_matrix(1, "<f4", 2);
    add_array("attr_matrix", "<f4", "(3, 1)", NUMBERS(1, 2, 3));
    add_array("labels", "<i8", "(3,)", NUMBERS(1, 0, 1));
    add_array("node_names", "|S1", "(3,)", NULL, 3, "pqr");
    add_array("train_mask", "|b1", "(3,)", NUMBERS(1, 1, 0));
    zip_end();
    refuse_memory(try_zip, 1);
    make_ogb();
    write_text("raw/edge.csv.gz", "0,1\n2,1\n");
    write_text("raw/node-feat.csv.gz", "1,-0.5\n2,3\n4,5\n");
    write_text("raw/node-label.csv.gz", "7\nnan\n\n");
    write_split("time", "0\n", "2\n", "1\n");
    refuse_memory(try_folder, 1);
    graph_files_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ogb_nodes),    cmocka_unit_test(test_ogb_graphs),
        cmocka_unit_test(test_ogb_errors),   cmocka_unit_test(test_ogb_missing),
        cmocka_unit_test(test_npz_matrices), cmocka_unit_test(test_npz_pairs),
        cmocka_unit_test(test_npz_errors),   cmocka_unit_test(test_npz_edge_errors),
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
