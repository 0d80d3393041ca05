/* test_graph_readers.c: graphs as tables: what is in them, what each mistake is told, and how they are
 * described.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <attn/attn.h>

#include "support/graph_files.h"
#include "support/memory.h"
#include "support/readers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- tables ---- */

static void test_features(void **state) {
    (void)state;
    check_graphs(tables("node\tlabel\tsplit\tfeatures\n0\ta\ttrain\t3 1\n1\t\tval\t\n2\tb c\tnone\t0\n",
                        "0\t1\n1\t2\n", labelled(1)),
                 "once: 0{3 1}/a@train 1/@val 2{0}/b c@none 0>1 1>2 ;");
    check_graphs(tables("node\tlabel\tfeatures\nx\ta\t1\ny\tb\t2:0.5 7\n", "y\tx\n", labelled(-1)),
                 "x{1:1}/a y{2:0.5 7:1}/b 1>0 ;");
    check_graphs(
        tables("node\tx\tlabel\tname\ty\nx\t1\ta\tJim\t-2.5\ny\t1e3\tb\tAnn\t.25\n", "", labelled(1)),
        "once: x(1,-2.5)/a y(1000,0.25)/b ;");
    check_graphs(tables("who\tlabel\tfeatures\n0\ta\t0.5,1, -2\n1\tb\t1,2,3\n", "0 1\n", labelled(1)),
                 "once: 0(0.5,1,-2)/a 1(1,2,3)/b 0>1 ;");
    check_graphs(tables("NODE\tLabel\n0\ta\n1\ta\n", "0 0\n", labelled(1)), "once: 0/a 1/a 0>0 ;");
    attn_dataset *dataset =
        tables("\xef\xbb\xbfnode\tlabel\twidth\tfeatures\theight\r\na\tx\t1\t0:2\t3\r\n\r\nb\ty\t4\t\t5\r\n",
               "a\tb\r\n", labelled(1));
    const at_graphs *graphs = at_graphs_of(dataset);
    assert_int_equal(graphs->feature_names.count, 2);
    assert_string_equal(at_string(&graphs->feature_names, 1), "height");
    assert_int_equal(graphs->feature_columns, 1);
    assert_int_equal(dataset->lines[1], 4);
    assert_int_equal(dataset->format, AT_GRAPH_TSV);
    check_graphs(dataset, "once: a{0:2}(1,3)/x b(4,5)/y 0>1 ;");
}

static void test_columns(void **state) {
    (void)state;
    const char *nodes = "node\tu\tv\tlabel\tsplits3\n0\t1\tp\t9\ttvs\n1\t2\tq\t8\tvt-\n";
    attn_reader_options options = labelled(1);
    check_graphs(tables(nodes, "", options), "once: 0(1)/9 1(2)/8 ;");
    options.column = "v, u";
    check_graphs(tables(nodes, "", options), "once: 0/p/1 1/q/2 ;"); /* label is no feature either */
    options.split_column = "splits3:1";
    check_graphs(tables(nodes, "", options), "once: 0/p/1@val 1/q/2@train ;");
    options.split_column = "splits3:2";
    attn_dataset *untrained = tables(nodes, "", options); /* training refuses it, evaluation does not */
    assert_int_equal(attn_dataset_part_size(untrained, ATTN_PART_TRAIN), 0);
    attn_dataset_destroy(untrained);
    options.labelled = 0;
    check_graphs(tables(nodes, "", options), "once: 0/p/1@test 1/q/2@none ;");
    options.labelled = 1;
    options.split_column = "splits3";
    tables_fail(nodes, "", options,
                "nodes.tsv:2: column splits3: \"tvs\" holds 3 splits: add a colon and its number (0 to 2)");
    options.split_column = "other";
    tables_fail(nodes, "", options,
                "nodes.tsv: has no column for the split, other; its first line names the columns node, u, v, "
                "label, splits3");
    options = labelled(1);
    options.column = "u,w";
    tables_fail(nodes, "", options,
                "nodes.tsv: has no column w; its first line names the columns node, u, v, label, splits3");
    options.column = "node";
    tables_fail(
        nodes, "", options,
        "nodes.tsv: has one column for two things: node; its first line names the columns node, u, v, "
        "label, splits3");
    options = labelled(1);
    tables_fail("node\tx\n0\t1\n", "", options,
                "nodes.tsv: has no column label: name the column to learn; its first line names the "
                "columns node, x");
    options.labelled = 0;
    check_graphs(tables("node\tx\n0\t1\n", "", options), "once: 0(1) ;");
    options = labelled(1);
    options.label_separator = '|';
    check_graphs(tables("node\tlabel\n0\ta| b\n1\t\n", "", options), "once: 0/a\nb 1/ ;");
    options = labelled(1);
    options.split = "random"; /* then the column is ignored */
    check_graphs(tables("node\tlabel\tsplit\n0\ta\twhatever\n", "", options), "once: 0/a ;");
}

static void test_edges(void **state) {
    (void)state;
    const char *names = "node\tlabel\na b\tx\nc\tx\n", *numbers = "node\tlabel\n0\tx\n1\tx\n";
    check_graphs(tables(names, "a b\tc\t0.5\t-1\nc\tc\t2\t3\n", labelled(1)),
                 "once: a b/x c/x 0>1(0.5,-1) 1>1(2,3) ;");
    check_graphs(tables(names, "# made by hand\nFrom\tTo\tweight\na b\tc\t1\n\n", labelled(1)),
                 "once: a b/x c/x 0>1(1) ;");
    check_graphs(tables(numbers, "  0   1 \n#1 0\n1 0\n", labelled(1)), "0/x 1/x 0>1 1>0 ;");
    check_graphs(tables(numbers, "who\twhom\n1\t0\n", labelled(1)), "0/x 1/x 1>0 ;");
    tables_fail(
        names, "who\twhom\nc\tc\n", labelled(1),
        "edges.tsv:1: the edge leads from \"who\", which is not a node: the file of nodes has no such line");
    tables_fail(
        numbers, "0\t1\n0\t2\n", labelled(1),
        "edges.tsv:2: the edge leads to \"2\", which is not a node: the file of nodes has no such line");
    tables_fail(
        numbers, "0\t01\n", labelled(1),
        "edges.tsv:1: the edge leads to \"01\", which is not a node: the file of nodes has no such line");
    tables_fail(numbers, "0\t1\n0\n", labelled(1),
                "edges.tsv:2: one column, an edge has two: from and to, with a TAB or spaces between");
    tables_fail(numbers, "0\t1\t1\n1\t0\n", labelled(1),
                "edges.tsv:2: 2 columns, the first edge has 3: all edges have the same count of numbers");
    tables_fail(numbers, "0\t1\tinf\n", labelled(1),
                "edges.tsv:1: a number of the edge is \"inf\", which is not a finite number");
    tables_fail(numbers, "0\t1\t1e39\n", labelled(1),
                "edges.tsv:1: a number of the edge is \"1e39\", which is too large for 32 bits: scale it");
    tables_fail(numbers, "0\t1\t\n", labelled(1),
                "edges.tsv:1: a number of the edge is empty: every node (edge) has a number there");
}

static void test_listed_once(void **state) {
    (void)state;
    const char *nodes = "node\tlabel\n0\tx\n1\tx\n2\tx\n";
    check_graphs(tables(nodes, "1 2\n0 2\n0 1\n2 2\n2 2\n", labelled(1)),
                 "once: 0/x 1/x 2/x 1>2 0>2 0>1 2>2 2>2 ;");
    check_graphs(tables(nodes, "0 1\n0 2\n0 1\n", labelled(1)), "0/x 1/x 2/x 0>1 0>2 0>1 ;"); /* twice */
    check_graphs(tables(nodes, "0 1\n2 1\n", labelled(1)), "0/x 1/x 2/x 0>1 2>1 ;");          /* down */
    check_graphs(tables(nodes, "0 1\n1 0\n", labelled(1)), "0/x 1/x 2/x 0>1 1>0 ;");
}

static void test_node_errors(void **state) {
    (void)state;
    static const struct {
        const char *nodes, *error;
    } bad[] = {
        {"", "nodes.tsv: is empty"},
        {"\n \n", "nodes.tsv: is empty"},
        {"0\ta\n",
         "nodes.tsv:1: the first line names the columns (node, label, split, features), and this one "
         "begins with a number"},
        {"node\tlabel\n", "nodes.tsv: has no nodes: a graph has at least one"},
        {"node\t\tlabel\n", "nodes.tsv:1: column 2 has no name"},
        {"node\tx\tlabel\tx\n", "nodes.tsv:1: two columns are called x"},
        {"label\tfeatures\na\t1\n",
         "nodes.tsv: has no column node (or id), to which edges refer; its first line "
         "names the columns label, features"},
        {"node\tlabel\n0\ta\n1\n", "nodes.tsv:3: 1 columns, the first line names 2: TABs stand between them"},
        {"node\tlabel\n\ta\n", "nodes.tsv:2: the node has no name in column node"},
        {"node\tlabel\n0\ta\n1\tb\n0\tc\n", "nodes.tsv:4: node \"0\" is already in line 2"},
        {"node\tlabel\nx\ta\ny\tb\n\ny\tc\n", "nodes.tsv:5: node \"y\" is already in line 3"},
        {"node\tlabel\n0\ta\xff\n", "nodes.tsv:2: byte 4 is not UTF-8: convert the file with iconv"},
        {"node\tlabel\n0\t\n1\t\n", "nodes.tsv: label has no value in any node: there is nothing to learn"},
        {"node\tlabel\tx\n0\ta\t1\n1\tb\t\n",
         "nodes.tsv:3: column x is empty: every node (edge) has a number there"},
        {"node\tlabel\tx\n0\ta\t1\n1\tb\tnan\n",
         "nodes.tsv:3: column x is \"nan\", which is not a finite number"},
        {"node\tlabel\tx\n0\ta\tNA\n1\tb\t1\n",
         "nodes.tsv:2: column x is \"NA\", which is not a finite number"},
        {"node\tlabel\tfeatures\n0\ta\t-3\n", "nodes.tsv:2: feature \"-3\" is not the number of a column: "
                                              "sparse features are whole numbers from 0 "
                                              "(19 or 19:0.5); dense ones have commas between"},
        {"node\tlabel\tfeatures\n0\ta\t16777216\n",
         "nodes.tsv:2: feature 16777216 is too large: columns are 0 to 16777215"},
        {"node\tlabel\tfeatures\n0\ta\t3:x\n",
         "nodes.tsv:2: the value of a feature is \"x\", which is not a finite number"},
        {"node\tlabel\tfeatures\n0\ta\t3:\n",
         "nodes.tsv:2: the value of a feature is empty: every node (edge) has a number there"},
        {"node\tlabel\tfeatures\n0\ta\t\n1\ta\t\n", "nodes.tsv: has features of no node: leave the empty "
                                                    "column out; its first line names the columns node, "
                                                    "label, features"},
        {"node\tlabel\tfeatures\n0\ta\t1,2\n1\ta\t3\n",
         "nodes.tsv:3: 1 features, the first node has 2: with commas between them, every node has the same "
         "count"},
        {"node\tlabel\tfeatures\n0\ta\t1,2\n1\ta\t3,\n",
         "nodes.tsv:3: a feature is empty: every node (edge) has a number there"},
        {"node\tlabel\tsplit\n0\ta\ttrain\n1\ta\tsome\n",
         "nodes.tsv:3: column split: \"some\" is not train, val, test or none"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) tables_fail(bad[i].nodes, "", labelled(1), bad[i].error);
}

static void test_skipping(void **state) {
    (void)state;
    attn_reader_options options = labelled(1);
    options.skip_bad = 1;
    attn_dataset *dataset = tables("node\tlabel\tx\n0\ta\t1\n1\tb\toops\n2\tc\t3\n0\td\t4\n3\n",
                                   "0\t2\n0\t1\nx\ty\tz\n2\t0\n", options);
    assert_int_equal(attn_dataset_skipped(dataset), 5);
    assert_string_equal(attn_dataset_problem(dataset, 1), "nodes.tsv:5: node \"0\" is already in line 2");
    assert_string_equal(
        attn_dataset_problem(dataset, 3),
        "edges.tsv:2: the edge leads to \"1\", which is not a node: the file of nodes has no such line");
    check_graphs(dataset, "0(1)/a 2(3)/c 0>1 1>0 ;");
    dataset = tables("node\tgraph\tx\tlabel\na\tg\t1\tp\nb\th\t2\tq\nc\tg\t\tp\nd\tg\t4\tp\n",
                     "a d\na c\nd b\nb b\n", options);
    assert_int_equal(attn_dataset_skipped(dataset), 3);
    check_graphs(dataset, "once: g: a(1)/p d(4)/p 0>1 ;h: b(2)/q 0>0 ;");
    tables_fail(
        "node\tlabel\n\ta\n\tb\n", "", options,
        "nodes.tsv: has no good nodes: 2 lines were left out, the first because of nodes.tsv:2: the node "
        "has no name in column node");
}

/* ---- many graphs ---- */

static const char many[] = "node\tgraph\tx\tlabel\tsplit\n"
                           "a\tg\t1\tp\ttrain\nb\th\t2\tq\ttest\n\nc\tg\t3\t\ttrain\nd\th\t4\tq\ttest\n";

static void test_many(void **state) {
    (void)state;
    check_graphs(tables(many, "d b 7\nc a 8\nb b 9\n", labelled(0)),
                 "g: a(1) c(3) 1>0(8) /p@train;h: b(2) d(4) 1>0(7) 0>0(9) /q@test;");
    check_graphs(tables(many, "", labelled(-1)), "once: g: a(1) c(3) /p@train;h: b(2) d(4) /q@test;");
    attn_dataset *dataset = tables(many, "", labelled(1));
    assert_int_equal(dataset->lines[1], 5);
    check_graphs(dataset, "once: g: a(1)/p@train c(3)/@train ;h: b(2)/q@test d(4)/q@test ;");
    const char *other = "node\tgraph\tlabel\n0\tg\tp\n1\tg\tq\n";
    check_graphs(tables(other, "", labelled(-1)), "once: g: 0/p 1/q ;");
    tables_fail(other, "", labelled(0),
                "nodes.tsv:3: column label is not the same as in line 2 of the same graph, but this task "
                "needs one target per graph (task tag: one per node)");
    tables_fail("node\tlabel\n0\tp\n1\tq\n", "", labelled(0),
                "nodes.tsv:3: column label is not the same as in line 2 of the same graph, but this task "
                "needs one target per graph (task tag: one per node)");
    tables_fail(many, "a\tc\na\tb\n", labelled(0),
                "edges.tsv:2: the edge leads from \"a\" to \"b\", a node of another graph");
    tables_fail("node\tgraph\tlabel\n0\t\tp\n", "", labelled(0),
                "nodes.tsv:2: the node has no graph: column graph is empty");
    tables_fail(
        "node\tgraph\tlabel\tsplit\n0\tg\tp\ttrain\n1\tg\tp\ttest\n", "", labelled(0),
        "nodes.tsv:3: the node is for another part of the split than the one in line 2, which is of the "
        "same graph");
}

static void test_graph_labels(void **state) {
    (void)state;
    const char *nodes = "node\tgraph\tlabel\na\tg\tp\nb\th\tq\nc\tg\tr\nd\ti\tq\n";
    make_folder();
    write_text("nodes.tsv", nodes);
    write_text("edges.tsv.gz", "a c\n");
    write_text("graphs.tsv", "graph\tlabel\tsplit\nh\t1\ttest\ng\t0\ttrain\n");
    check_graphs(read_path(folder, labelled(0)), "once: g: a c 0>1 /0@train;h: b /1@test;i: d /@none;");
    check_graphs(read_path(folder, labelled(-1)), "once: g: a c 0>1 /0@train;h: b /1@test;i: d /@none;");
    check_graphs(read_path(path_of("nodes.tsv"), labelled(1)),
                 "once: g: a/p@train c/r@train 0>1 ;h: b/q@test ;i: d/q@none ;");
    write_text("graphs.tsv", "graph\tlabel\nh\t1\nj\t0\n");
    path_fails(folder, labelled(0), "/graphs.tsv:3: graph \"j\" has no nodes in the file of nodes");
    write_text("graphs.tsv", "graph\tlabel\nh\t1\ng\t0\nh\t2\n");
    path_fails(folder, labelled(0), "/graphs.tsv:4: graph \"h\" is already in line 2");
    write_text("graphs.tsv", "label\n1\n");
    path_fails(folder, labelled(0),
               "/graphs.tsv: has no column graph; its first line names the columns label");
    write_text("graphs.tsv", "graph\tsplit\ng\ttrain\nh\tval\ni\ttest\n");
    write_text("nodes.tsv", "node\tgraph\tlabel\na\tg\tp\nb\th\tq\nc\tg\tp\nd\ti\tq\n");
    check_graphs(read_path(folder, labelled(0)), "once: g: a c 0>1 /p@train;h: b /q@val;i: d /q@test;");
    write_text("nodes.tsv", "node\tlabel\na\tp\nc\tp\n");
    path_fails(
        folder, labelled(0),
        "/nodes.tsv: has no column graph, and there is a graphs.tsv; its first line names the columns node, "
        "label");
    graph_files_remove();
}

/* ---- files and folders ---- */

static void test_folders(void **state) {
    (void)state;
    char nodes[200], edges[200];
    make_folder();
    snprintf(nodes, sizeof nodes, "%s", path_of("nodes.tsv.gz"));
    snprintf(edges, sizeof edges, "%s", path_of("edges.tsv"));
    assert_false(at_graph_knows(folder));
    path_fails(
        folder, labelled(1),
        ": has no nodes.tsv: a folder of graphs has nodes.tsv and edges.tsv (and graphs.tsv, where graphs "
        "have labels), or raw/edge.csv.gz and what else OGB has; each may be .gz");
    write_text("nodes.tsv.gz", "node\tlabel\n0\ta\n1\tb\n");
    assert_true(at_graph_knows(folder));
    path_fails(
        folder, labelled(1),
        ": has no edges.tsv: a folder of graphs has nodes.tsv and edges.tsv (and graphs.tsv, where graphs "
        "have labels), or raw/edge.csv.gz and what else OGB has; each may be .gz");
    write_text("edges.tsv", "0\t1\n");
    assert_true(at_graph_knows("somewhere/nodes.tsv") && at_graph_knows("nodes.tsv.gz"));
    assert_false(at_graph_knows("edges.tsv") || at_graph_knows("a.npz") || at_graph_knows("nodes.tsv.bz2"));
    attn_reader_options options = labelled(1);
    assert_int_equal(at_graph_detect(folder, "", 0, &options), AT_GRAPH_TSV);
    assert_int_equal(at_graph_detect("a", "PK\3\4", 4, &options), AT_GRAPH_NPZ);
    assert_int_equal(at_graph_pieces(AT_GRAPH_TSV), -1);
    assert_int_equal(at_graph_takes_two(&options), 1);
    const char *expected = "once: 0/a 1/b 0>1 ;";
    check_graphs(read_path(folder, options), expected);
    check_graphs(read_path(nodes, options), expected);
    for (int swapped = 0; swapped < 2; swapped++) {
        at_source two = {.names = {swapped ? edges : nodes, swapped ? nodes : edges},
                         .first_line = 1,
                         .options = &options};
        attn_dataset *dataset = NULL;
        if (swapped) rename(nodes, path_of("nodes.tsv")), two.names[1] = path_of("nodes.tsv");
        assert_int_equal(at_graph_read_files(group_context, &two, &dataset), ATTN_OK);
        check_graphs(dataset, expected);
    }
    at_source twice = {.names = {folder, folder}, .first_line = 1, .options = &options, .apart = 1};
    attn_dataset *dataset = NULL;
    assert_int_equal(at_graph_read_files(group_context, &twice, &dataset), ATTN_OK);
    check_graphs(dataset, "once: 0/a 1/b 0>1 ;2/a 3/b 0>1 ;");
    twice.apart = 0;
    assert_int_equal(at_graph_read_files(group_context, &twice, &dataset), ATTN_INVALID_ARGUMENT);
    options.format = (attn_format)AT_GRAPH_NPZ;
    path_fails(folder, options, ": is a folder: name the .npz in it");
    path_fails(path_of("nodes.tsv"), options, "/nodes.tsv: is not a npz: it begins like text");
    options.format = (attn_format)AT_GRAPH_OGB;
    path_fails(path_of("nodes.tsv"), options,
               "/nodes.tsv: is a file: OGB has a folder, with raw/ and split/ in it");
    attn_dataset *none = NULL;
    assert_int_equal(try_path(path_of("missing"), &options, &none), ATTN_SYSTEM_ERROR);
    graph_files_remove();
}

/* ---- large, and without memory ---- */

/* A node that a million others lead to. */
static void test_star(void **state) {
    (void)state;
    enum { LEAVES = 1000000 };
    at_writer nodes = {.context = group_context}, edges = {.context = group_context};
    at_print(&nodes, "node\tlabel\nhub\ta\n");
    for (int i = 0; i < LEAVES; i++) {
        at_print(&nodes, "n%d\tb\n", i);
        at_print(&edges, "hub\tn%d\n", i);
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    attn_dataset *dataset = tables(nodes.bytes, edges.bytes, labelled(1));
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 60); /* about a second; nothing is quadratic */
    assert_int_equal(at_graphs_of(dataset)->edges, LEAVES);
    assert_int_equal(at_graphs_of(dataset)->listed_once, 1);
    at_writer_free(&nodes);
    at_writer_free(&edges);
    attn_describe_options options;
    attn_describe_options_init(&options);
    at_writer text = {.context = group_context};
    assert_int_equal(at_graph_describe(dataset, &options, &text), ATTN_OK);
    assert_non_null(strstr(text.bytes, "1,000,000\n"));
    at_writer_free(&text);
    attn_dataset_destroy(dataset);
}

/* ---- without memory ---- */

static attn_status try_many(const attn_reader_options *options, attn_dataset **dataset) {
    return try_tables(many, "c a 1\nd b 2\n", options, dataset);
}
static attn_status try_single(const attn_reader_options *options, attn_dataset **dataset) {
    return try_tables("node\tlabel\tfeatures\tx\na\tp\t1 2:3\t4\nb\t\t\t5\n", "a\tb\n", options, dataset);
}

static void test_no_memory(void **state) {
    (void)state;
    refuse_memory(try_single, 1);
    refuse_memory(try_many, 0);
    refuse_memory(try_many, 1);
}

/* ---- what is in it ---- */

static void test_description(void **state) {
    (void)state;
    attn_dataset *dataset =
        tables("node\tlabel\tsplit\tfeatures\n0\tx\ttrain\t1 3\n1\ty\tval\t0\n2\tx\ttest\t\n3\t\t\t1\n",
               "0\t1\n1\t0\n0\t1\n2\t2\n0\t2\n", labelled(1));
    attn_describe_options options;
    attn_describe_options_init(&options);
    at_writer text = {.context = group_context}, json = {.context = group_context};
    assert_int_equal(at_graph_describe(dataset, &options, &text), ATTN_OK);
    static const char expected[] =
        "tables, 1 graph, 4 nodes, 5 edges\n\n"
        "edges are directed: 3 of 4 also lead back\n1 edge leads back to its node\n1 edge repeats another "
        "one\n"
        "1 node has no edge to another one\nfeatures: 4 sparse columns, 1.0 of them per node\n"
        "1 node has no sparse features\nsplit of nodes: train 1, val 1, test 1, none 1\n\n";
    assert_memory_equal(text.bytes, expected, sizeof expected - 1);
    options.json = 1;
    at_print(&json, "{\"format\":\"tsv\"");
    assert_int_equal(at_graph_describe(dataset, &options, &json), ATTN_OK);
    at_print(&json, "}");
    json_t *root = json_loads(json.bytes, 0, NULL);
    assert_non_null(root);
    static const struct {
        const char *name;
        int value;
    } numbers[] = {{"nodes", 4},   {"edges", 5}, {"graphs", 1}, {"self_loops", 1},
                   {"doubles", 1}, {"alone", 1}, {"mutual", 3}};
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_int_equal(json_integer_value(json_object_get(root, numbers[i].name)), numbers[i].value);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "split"), "train")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "features"), "empty")), 1);
    const json_t *column = json_array_get(json_object_get(root, "classes_by_part"), 0);
    const json_t *class = json_array_get(json_object_get(column, "classes"), 0);
    assert_string_equal(json_string_value(json_object_get(class, "label")), "x");
    assert_int_equal(json_integer_value(json_object_get(class, "test")), 1);
    json_decref(root);
    at_writer_free(&text);
    at_writer_free(&json);
    attn_dataset_destroy(dataset);
    dataset = tables("node\tlabel\n0\tx\n", "", labelled(1));
    options.json = 0;
    assert_int_equal(at_graph_describe(dataset, &options, &text), ATTN_OK);
    assert_non_null(strstr(text.bytes, "there are no edges: nodes see only themselves\n"));
    assert_non_null(strstr(text.bytes, "features: none"));
    at_writer_free(&text);
    attn_dataset_destroy(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),    cmocka_unit_test(test_columns),
        cmocka_unit_test(test_edges),       cmocka_unit_test(test_listed_once),
        cmocka_unit_test(test_node_errors), cmocka_unit_test(test_skipping),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_graph_labels),
        cmocka_unit_test(test_folders),     cmocka_unit_test(test_star),
        cmocka_unit_test(test_no_memory),   cmocka_unit_test(test_description),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
