/* test_graph_training.c: networks that learn from graphs: one big graph whose nodes are split, many graphs
 * with a label each, nodes known by features, by name or by degree, edges with numbers; what is for testing
 * is not learned from; the same bits after a stop and with other threads; nodes and graphs
 * that are not in the training data.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/random.h"
#include "support/training.h"

enum { NODES = 150 };

static char folder[] = "/tmp/attn_graphs_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }
static int teardown(void **state) {
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    return test_contexts_teardown(state);
}

static const char *path_of(const char *name) {
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ---- graphs ---- */

/* What a graph is made with. */
typedef struct shape {
    uint64_t seed;
    int features;      /* 1: nodes say their colour; 0: they have no features */
    int dense;         /* as two columns of numbers */
    int numbers;       /* edges have one: only those with a positive number count */
    int lying;         /* the labels of test nodes are wrong */
    int unsplit;       /* there is no column `split` */
    int extra;         /* a feature that other graphs do not have */
    const char *edges; /* NULL, or these edges instead */
} shape;

static FILE *open_file(const char *name, const char *file) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", path_of(name), file);
    FILE *made = fopen(path, "w");
    assert_non_null(made);
    return made;
}

/* Every node has a colour, and its label is the colour of the node that leads to it: nothing that the node
 * itself has tells it. With numbers there are two such nodes, and the one with the positive number counts. */
static void write_graph(const char *name, const shape *how) {
    test_random random = {how->seed * 2 + 1};
    int colour[NODES], before[NODES];
    assert_true(mkdir(path_of(name), 0777) == 0);
    FILE *nodes = open_file(name, "nodes.tsv"), *edges = open_file(name, "edges.tsv");
    for (int i = 0; i < NODES; i++) {
        colour[i] = (int)random_between(&random, 0, 1);
        before[i] = (i + (int)random_between(&random, 1, NODES - 1)) % NODES;
    }
    fprintf(nodes, "node\tlabel%s%s\n", how->unsplit ? "" : "\tsplit",
            !how->features ? ""
            : how->dense   ? "\tred\tblue"
                           : "\tfeatures");
    for (int i = 0; i < NODES; i++) {
        const char *part = i % 5 == 0 ? "test" : i % 5 == 1 ? "val" : "train";
        int label = colour[before[i]] ^ (how->lying && i % 5 == 0);
        fprintf(nodes, "n%d\t%s", i, label ? "blue" : "red");
        if (!how->unsplit) fprintf(nodes, "\t%s", part);
        if (how->features && how->dense) fprintf(nodes, "\t%d\t%d", 5 + !colour[i], 100 * colour[i]);
        if (how->features && !how->dense) fprintf(nodes, "\t%d %d", colour[i], 2 + i % 3);
        if (how->extra && i == 7) fputs(" 99", nodes);
        fputc('\n', nodes);
        if (how->edges) continue;
        fprintf(edges, "n%d\tn%d", before[i], i);
        fputs(how->numbers ? "\t1\n" : "\n", edges);
        int other = (before[i] + 1) % NODES == i ? before[i] + 2 : before[i] + 1;
        if (how->numbers) fprintf(edges, "n%d\tn%d\t-1\n", other % NODES, i);
    }
    if (how->edges) fputs(how->edges, edges);
    assert_int_equal(fclose(nodes), 0);
    assert_int_equal(fclose(edges), 0);
}

static attn_dataset *read_graph(attn_context *context, attn_config *config, const char *name) {
    attn_dataset *dataset = NULL;
    attn_reader_options options;
    expect_ok(context, attn_config_reader(config, &options));
    expect_ok(context, attn_dataset_read(context, path_of(name), &options, &dataset));
    return dataset;
}

/* ---- runs ---- */

static attn_config *config_of(attn_context *context, const char *task, const char *const *sets) {
    static const char *const basis[] = {
        "graph.few", "false", "graph.dropout", "0", "encoder.inner", "0", "training.learning_rate",
        "0.003",     NULL};
    attn_config *config = tiny_config_of(context, "graph", basis);
    for (int i = 0; sets && sets[i]; i += 2)
        expect_ok(context, attn_config_set(config, sets[i], sets[i + 1]));
    expect_ok(context, attn_config_set(config, "task", task));
    return config;
}

static int watch(void *user, const attn_training_state *state) {
    const int64_t *at = user;
    return *at > 0 && state->event == ATTN_TRAINING_STEP && state->step == *at;
}

/* One run; stop 0: to the end. */
static attn_status run(attn_config *config, const attn_dataset *data, const char *name, int64_t stop,
                       int resume) {
    attn_trainer_options options;
    attn_trainer *trainer = NULL;
    attn_trainer_options_init(&options);
    options.output = path_of(name);
    options.resume = resume;
    options.force = !resume;
    options.save_seconds = 1000;
    options.watch = watch;
    options.user = &stop;
    attn_status status = attn_trainer_create(config, data, NULL, &options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    return status;
}

static attn_model *load(attn_context *context, const char *name) {
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, path_of(name), &model));
    return model;
}

/* part ATTN_PART_NONE: all of it. */
static double accuracy_of(attn_context *context, const char *model_name, const attn_dataset *data,
                          attn_part part) {
    attn_model *model = load(context, model_name);
    attn_predictor *predictor = NULL;
    attn_report *report = NULL;
    attn_dataset *selected = NULL;
    if (part != ATTN_PART_NONE) expect_ok(context, attn_dataset_part(data, part, &selected));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_report_create(predictor, selected ? selected : data, &report));
    double accuracy = attn_report_metric(report, "accuracy");
    attn_report_destroy(report);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_dataset_destroy(selected);
    return accuracy;
}

static const char *const steps[] = {"training.steps", "150", NULL};

/* Trains on a graph that is made; how right it is on the test nodes. */
static double learn(const char *name, const shape *how, const char *const *sets) {
    attn_context *context = test_best_context(1);
    char model[64];
    write_graph(name, how);
    attn_config *config = config_of(context, "tag", steps);
    for (int i = 0; sets && sets[i]; i += 2)
        expect_ok(context, attn_config_set(config, sets[i], sets[i + 1]));
    attn_dataset *data = read_graph(context, config, name);
    snprintf(model, sizeof model, "%s.safetensors", name);
    expect_ok(context, run(config, data, model, 0, 0));
    double accuracy = accuracy_of(context, model, data, ATTN_PART_TEST);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    return accuracy;
}

/* ---- learning ---- */

static void test_neighbours(void **state) {
    (void)state;
    const shape sparse = {.seed = 1, .features = 1}, dense = {.seed = 2, .features = 1, .dense = 1};
    assert_true(learn("attention", &sparse, NULL) > 0.95);
    assert_true(learn("dense", &dense, NULL) > 0.95);
    assert_true(learn("mean", &sparse, (const char *const[]){"encoder.kind", "mean", NULL}) > 0.95);
    assert_true(learn("gatv2", &sparse,
                      (const char *const[]){"encoder.score", "gatv2", "encoder.form", "shared", NULL}) >
                0.95);
    assert_true(learn("all", &sparse,
                      (const char *const[]){"graph.pattern", "all", "training.learning_rate", "0.01", NULL}) >
                0.9);
    /* Features alone do not tell. */
    assert_true(learn("fc", &sparse, (const char *const[]){"encoder.kind", "fc", NULL}) < 0.8);
}

static void test_numbers_of_edges(void **state) {
    (void)state;
    const shape how = {.seed = 3, .features = 1, .numbers = 1};
    static const char *const longer[] = {"training.steps", "400", "training.learning_rate", "0.01", NULL};
    assert_true(learn("edges", &how, longer) > 0.9); /* three in four are right without the numbers */
}

/* With the way back, a node also sees those that it leads to. */
static void test_undirected(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const shape how = {.seed = 4, .features = 1};
    write_graph("two-way", &how);
    attn_config *config = config_of(context, "tag", (const char *const[]){"graph.undirected", "true", NULL});
    attn_dataset *data = read_graph(context, config, "two-way");
    expect_ok(context, attn_config_set(config, "training.steps", "3"));
    expect_ok(context, run(config, data, "two-way.safetensors", 0, 0));
    attn_config *other = config_of(context, "tag", (const char *const[]){"training.steps", "3", NULL});
    expect_ok(context, run(other, data, "one-way.safetensors", 0, 0));
    assert_false(same_files(path_of("two-way.safetensors"), path_of("one-way.safetensors")));
    char *note = NULL;
    expect_ok(context, attn_dataset_note(data, &note));
    assert_non_null(strstr(note, ", directed"));
    attn_text_release(context, note);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    attn_config_destroy(other);
}

/* ---- parts ---- */

/* The labels of test nodes change nothing in the model. */
static void test_nothing_leaks(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const shape honest = {.seed = 5, .features = 1}, lying = {.seed = 5, .features = 1, .lying = 1};
    attn_config *config = config_of(context, "tag", (const char *const[]){"training.steps", "20", NULL});
    write_graph("honest", &honest);
    write_graph("lying", &lying);
    attn_dataset *one = read_graph(context, config, "honest"), *two = read_graph(context, config, "lying");
    assert_int_equal(attn_dataset_part_size(one, ATTN_PART_TEST), NODES / 5);
    expect_ok(context, run(config, one, "honest.safetensors", 0, 0));
    expect_ok(context, run(config, two, "lying.safetensors", 0, 0));
    assert_true(same_files(path_of("honest.safetensors"), path_of("lying.safetensors")));
    double right = accuracy_of(context, "honest.safetensors", one, ATTN_PART_TEST);
    double wrong = accuracy_of(context, "honest.safetensors", two, ATTN_PART_TEST);
    assert_true(right + wrong > 0.999 && right + wrong < 1.001); /* of two labels, one is right */
    attn_dataset_destroy(one);
    attn_dataset_destroy(two);
    attn_config_destroy(config);
}

/* Without a split a tenth of the labelled nodes is held out. */
static void test_held_out(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const shape how = {.seed = 6, .features = 1, .unsplit = 1};
    write_graph("whole", &how);
    attn_config *config = config_of(context, "tag", steps);
    attn_dataset *data = read_graph(context, config, "whole");
    assert_int_equal(attn_dataset_part_size(data, ATTN_PART_TRAIN), 0);
    expect_ok(context, run(config, data, "whole.safetensors", 0, 0));
    assert_true(accuracy_of(context, "whole.safetensors", data, ATTN_PART_NONE) > 0.95);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

/* ---- the same bits ---- */

static void test_resume(void **state) {
    (void)state;
    const shape how = {.seed = 7, .features = 1};
    write_graph("bits", &how);
    static const char *const sets[] = {
        "training.steps", "24", "encoder.dropout", "0.3", "graph.dropout", "0.4", NULL};
    for (int threads = 1; threads <= 2; threads++) {
        attn_context *context = test_best_context(threads);
        attn_config *config = config_of(context, "tag", sets);
        attn_dataset *data = read_graph(context, config, "bits");
        const char *whole = threads == 1 ? "whole-1.safetensors" : "whole-2.safetensors";
        expect_ok(context, run(config, data, whole, 0, 0));
        expect_ok(context, run(config, data, "parts.safetensors", 11, 0));
        expect_ok(context, run(config, data, "parts.safetensors", 0, 1));
        assert_true(same_files(path_of(whole), path_of("parts.safetensors")));
        attn_dataset_destroy(data);
        attn_config_destroy(config);
    }
    assert_true(same_files(path_of("whole-1.safetensors"), path_of("whole-2.safetensors")));
}

/* ---- nodes and graphs that are not in the training data ---- */

static void test_another_graph(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const shape how = {.seed = 8, .features = 1}, other = {.seed = 9, .features = 1};
    assert_true(learn("seen", &how, NULL) > 0.95);
    write_graph("unseen", &other);
    attn_config *config = config_of(context, "tag", NULL);
    attn_dataset *data = read_graph(context, config, "unseen");
    assert_true(accuracy_of(context, "seen.safetensors", data, ATTN_PART_NONE) > 0.95);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

static void refuse(const char *model_name, const char *name, const char *part) {
    attn_context *context = test_best_context(1);
    attn_model *model = load(context, model_name);
    attn_config *config = config_of(context, "tag", NULL);
    attn_dataset *data = read_graph(context, config, name);
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_refused(context, attn_predictor_predict(predictor, data, &prediction), ATTN_INVALID_ARGUMENT,
                   part);
    assert_null(prediction);
    attn_predictor_destroy(predictor);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    attn_model_destroy(model);
}

static void test_what_does_not_fit(void **state) {
    (void)state;
    const shape how = {.seed = 10, .features = 1}, dense = {.seed = 10, .features = 1, .dense = 1};
    const shape numbers = {.seed = 10, .features = 1, .numbers = 1};
    const shape extra = {.seed = 10, .features = 1, .extra = 1}, none = {.seed = 10};
    learn("fits", &how, (const char *const[]){"training.steps", "2", NULL});
    write_graph("as-dense", &dense);
    write_graph("with-numbers", &numbers);
    write_graph("with-extra", &extra);
    refuse("fits.safetensors", "as-dense", "nodes with 2 numbers, the model learned from nodes with 0");
    refuse("fits.safetensors", "with-numbers", "edges with 1 numbers, the model learned from edges with 0");
    refuse("fits.safetensors", "with-extra",
           "nodes.tsv:9: feature 99, the model learned from features 0 to 4");
    learn("named", &none, (const char *const[]){"training.steps", "2", NULL});
}

/* ---- nodes without features ---- */

/* Two groups of nodes that are joined within, one label known in each. */
static void test_names(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    assert_true(mkdir(path_of("club"), 0777) == 0);
    FILE *nodes = open_file("club", "nodes.tsv"), *edges = open_file("club", "edges.tsv");
    fputs("node\tlabel\tsplit\n", nodes);
    for (int i = 0; i < 20; i++)
        fprintf(nodes, "p%d\t%s\t%s\n", i, i < 10 ? "one" : "two", i % 10 == 0 ? "train" : "test");
    for (int i = 0; i < 20; i++)
        for (int j = i + 1; j < 20; j++)
            if ((i < 10) == (j < 10) || (i == 9 && j == 10)) fprintf(edges, "p%d\tp%d\n", i, j);
    assert_int_equal(fclose(nodes), 0);
    assert_int_equal(fclose(edges), 0);
    /* What stands for a node without a label says nothing: it is not to be added to what it sees. */
    static const char *const sets[] = {"training.steps",
                                       "100",
                                       "encoder.kind",
                                       "mean",
                                       "encoder.residual",
                                       "false",
                                       "encoder.layers",
                                       "2",
                                       NULL};
    attn_config *config = config_of(context, "tag", sets);
    attn_dataset *data = read_graph(context, config, "club");
    char *note = NULL;
    expect_ok(context, attn_dataset_note(data, &note));
    assert_non_null(strstr(note, "each listed once: undirected"));
    attn_text_release(context, note);
    expect_ok(context, run(config, data, "club.safetensors", 0, 0));
    assert_true(accuracy_of(context, "club.safetensors", data, ATTN_PART_TEST) > 0.9);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    const shape none = {.seed = 11};
    write_graph("strangers", &none);
    refuse("club.safetensors", "strangers", "node n0: this model identifies nodes by name");
}

/* Many graphs: rings and stars, which only degrees distinguish. */
static void test_many_graphs(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    assert_true(mkdir(path_of("shapes"), 0777) == 0);
    FILE *nodes = open_file("shapes", "nodes.tsv"), *edges = open_file("shapes", "edges.tsv");
    FILE *graphs = open_file("shapes", "graphs.tsv");
    fputs("node\tgraph\n", nodes);
    fputs("graph\tlabel\tsplit\n", graphs);
    for (int g = 0; g < 60; g++) {
        int count = 4 + g % 5, star = g % 2;
        fprintf(graphs, "g%d\t%s\t%s\n", g, star ? "star" : "ring",
                g % 5 == 0   ? "test"
                : g % 5 == 1 ? "val"
                             : "train");
        for (int i = 0; i < count; i++) fprintf(nodes, "g%d-%d\tg%d\n", g, i, g);
        for (int i = 1; i < count; i++) fprintf(edges, "g%d-%d\tg%d-%d\n", g, star ? 0 : i - 1, g, i);
        if (!star) fprintf(edges, "g%d-%d\tg%d-%d\n", g, 0, g, count - 1);
    }
    assert_int_equal(fclose(nodes), 0);
    assert_int_equal(fclose(edges), 0);
    assert_int_equal(fclose(graphs), 0);
    attn_config *config = config_of(context, "classify", steps);
    attn_dataset *data = read_graph(context, config, "shapes");
    assert_int_equal(attn_dataset_examples(data), 60);
    assert_string_equal(attn_dataset_id(data, 3), "g3");
    expect_ok(context, run(config, data, "shapes.safetensors", 0, 0));
    assert_true(accuracy_of(context, "shapes.safetensors", data, ATTN_PART_TEST) > 0.9);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

/* ---- odd graphs ---- */

static void test_no_edges(void **state) {
    (void)state;
    const shape how = {.seed = 12, .features = 1, .edges = ""},
                loops = {.seed = 12, .features = 1, .edges = "n0\tn0\n"};
    assert_true(learn("lonely", &how, (const char *const[]){"training.steps", "3", NULL}) >= 0);
    assert_true(learn("looped", &loops,
                      (const char *const[]){"training.steps", "3", "graph.self_loops", "false", NULL}) >= 0);
}

static void refuse_config(const char *const *sets, const char *task, const char *part) {
    attn_context *context = test_best_context(1);
    attn_config *config = config_of(context, task, NULL);
    attn_reader_options options;
    for (int i = 0; sets && sets[i]; i += 2)
        expect_ok(context, attn_config_set(config, sets[i], sets[i + 1]));
    expect_refused(context, attn_config_reader(config, &options), ATTN_INVALID_ARGUMENT, part);
    attn_config_destroy(config);
}

static void test_order(void **state) {
    (void)state;
    refuse_config((const char *const[]){"encoder.kind", "rnn", NULL}, "tag", "rnn and cnn use the order");
    refuse_config((const char *const[]){"encoder.mix", "attention,cnn", "encoder.layers", "2", NULL}, "tag",
                  "rnn and cnn use the order");
    refuse_config((const char *const[]){"encoder.position", "rotary", NULL}, "tag",
                  "encoder.position must be none");
    refuse_config((const char *const[]){"encoder.kind", "fc", "encoder.width", "3", NULL}, "tag",
                  "fc (of width 1)");
    refuse_config((const char *const[]){"encoder.left", "3", NULL}, "tag", "encoder.left must be -1");
    refuse_config(NULL, "seq2seq", "needs sequences");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours),    cmocka_unit_test(test_numbers_of_edges),
        cmocka_unit_test(test_undirected),    cmocka_unit_test(test_nothing_leaks),
        cmocka_unit_test(test_held_out),      cmocka_unit_test(test_resume),
        cmocka_unit_test(test_another_graph), cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_many_graphs),
        cmocka_unit_test(test_no_edges),      cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
