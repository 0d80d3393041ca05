/* bench_graph_step.c: a training step of a graph attention network on one large graph.
 *
 * A random graph: every node sees 16 others that are drawn, and itself. Nodes have 64
 * dense features. Two layers of 8 heads of 16 columns, as graph attention networks have
 * them: a linear map (64 to 128 columns, then 128 to 128) whose result is query, key and
 * value, the score GAT, ELU after it; then a linear map to 8 classes. The loss is the
 * cross-entropy of all nodes. A step is forward, backward and AdamW.
 *
 * Work is that of the products (6 operations a row and weight) and 6 d an edge and
 * head (bench_graph.c). Memory is the most that the process ever had, which says
 * something where this is all that was measured: attn bench graph --only step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

enum { NEIGHBOURS = 16, FEATURES = 64, COLUMNS = 128, HEADS = 8, LAYERS = 2, CLASSES = 8, ROUNDS = 3 };

typedef struct step_case {
    attn_context *context;
    attn_graph *graph;
    double graph_seconds;
    attn_parameters *parameters;
    attn_tape *tape;
    attn_linear *input, *output;
    attn_block *block[LAYERS];
    attn_optimizer *optimizer;
    int64_t nodes;
    float *features;
    int32_t *labels;
    uint64_t step;
} step_case;

/* The edges of a row are its neighbours in the order in which they were drawn, and itself. */
static bool create_graph(const bench *run, step_case *made) {
    const int64_t nodes = made->nodes, degree = NEIGHBOURS + 1;
    int64_t *offsets = malloc((size_t)(nodes + 1 + nodes * degree) * sizeof *offsets);
    if (offsets == NULL) {
        fprintf(stderr, "attn bench: out of memory for %lld edges\n", (long long)(nodes * degree));
        return false;
    }
    int64_t *columns = offsets + nodes + 1;
    uint64_t state = (uint64_t)run->seed;
    for (int64_t i = 0; i <= nodes; i++) offsets[i] = i * degree;
    for (int64_t e = 0; e < nodes * degree; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* as bench_numbers */
        columns[e] = e % degree == NEIGHBOURS ? e / degree : (int64_t)((state >> 33) % (uint64_t)nodes);
    }
    double start = measure_clock();
    bool done = bench_ok(made->context,
                         attn_graph_create(made->context, nodes, nodes, offsets, columns, &made->graph));
    made->graph_seconds = measure_clock() - start;
    free(offsets);
    return done;
}

static bool create_network(const bench *run, step_case *made) {
    attn_context *context = made->context;
    if (!bench_ok(context, attn_parameters_create(context, (uint64_t)run->seed, &made->parameters)) ||
        !bench_ok(context, attn_tape_create(context, &made->tape))) {
        return false;
    }
    attn_block_options options;
    attn_block_options_init(&options);
    options.inner = 0;
    options.norm = ATTN_NORM_NONE;
    options.residual = 0;
    options.mixed_activation = ATTN_ELU;
    options.mixer.columns = COLUMNS;
    options.mixer.attention.heads = HEADS;
    options.mixer.attention.score = ATTN_SCORE_GAT;
    made->input = attn_linear_create(made->parameters, "input", FEATURES, COLUMNS, 1, ATTN_IDENTITY);
    for (int layer = 0; layer < LAYERS; layer++) { /* the map of the first is the input's */
        options.mixer.attention.form = layer == 0 ? ATTN_HEADS_RAW : ATTN_HEADS_SHARED;
        made->block[layer] = attn_block_create(made->parameters, layer == 0 ? "0" : "1", &options);
    }
    made->output = attn_linear_create(made->parameters, "output", COLUMNS, CLASSES, 1, ATTN_IDENTITY);
    if (attn_parameters_status(made->parameters) != ATTN_OK) {
        fprintf(stderr, "attn bench: %s\n", attn_parameters_error(made->parameters));
        return false;
    }
    attn_optimizer_options optimizer;
    attn_optimizer_options_init(&optimizer);
    return bench_ok(context, attn_optimizer_create(made->parameters, &optimizer, &made->optimizer));
}

static void destroy_case(step_case *made) {
    attn_optimizer_destroy(made->optimizer);
    attn_tape_destroy(made->tape);
    attn_parameters_destroy(made->parameters);
    attn_graph_destroy(made->graph);
    free(made->features);
    free(made->labels);
}

static bool create_case(const bench *run, attn_context *context, step_case *made) {
    memset(made, 0, sizeof *made);
    made->context = context;
    made->nodes = 2 * run->nodes;
    bool done = create_graph(run, made) && create_network(run, made);
    if (done) made->features = bench_numbers(made->nodes * FEATURES, run->seed);
    made->labels = malloc((size_t)made->nodes * sizeof *made->labels);
    if (done && made->labels == NULL) fputs("attn bench: out of memory for the labels\n", stderr);
    done = done && made->features != NULL && made->labels != NULL;
    for (int64_t i = 0; done && i < made->nodes; i++) made->labels[i] = (int32_t)(i % CLASSES);
    if (!done) destroy_case(made);
    return done;
}

static attn_status train_step(void *argument) {
    step_case *with = argument;
    attn_tape *tape = with->tape;
    attn_places places;
    attn_places_init(&places);
    places.graph = with->graph;
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, ++with->step);
    attn_variable *x = attn_tape_constant(tape, with->features, with->nodes, FEATURES);
    x = attn_linear_apply(tape, with->input, x);
    for (int layer = 0; layer < LAYERS; layer++) x = attn_block_apply(tape, with->block[layer], x, &places);
    x = attn_linear_apply(tape, with->output, x);
    attn_variable *loss = attn_tape_cross_entropy(tape, x, with->labels, NULL);
    attn_status status = attn_tape_backward(tape, loss, NULL);
    if (status != ATTN_OK) {
        fprintf(stderr, "attn bench: %s\n", attn_tape_error(tape));
        return status;
    }
    return attn_optimizer_step(with->optimizer);
}

static size_t peak_memory(void) {
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0) return 0;
#if defined(__APPLE__)
    return (size_t)used.ru_maxrss;
#else
    return (size_t)used.ru_maxrss * 1024;
#endif
}

static bool measure_setup(const bench *run, const bench_setup *setup, bench_result *result) {
    step_case with;
    attn_context *context = bench_context(run, setup->threads);
    if (context == NULL) return false;
    bool done = create_case(run, context, &with);
    if (done) {
        double weights = FEATURES * COLUMNS + COLUMNS * COLUMNS + COLUMNS * CLASSES;
        result->series = "step";
        result->operation = "train";
        result->score = "gat";
        result->rows = with.nodes;
        result->steps = 1;
        result->edges = attn_graph_edges(with.graph);
        result->parameters = attn_parameters_size(with.parameters);
        result->graph_seconds = with.graph_seconds;
        result->work = 6 * weights * (double)with.nodes + 6.0 * LAYERS * COLUMNS * (double)result->edges;
        for (int round = 0; done && round < ROUNDS; round++) { /* long calls are made once a round */
            timing time;
            done = bench_ok(context, measure(train_step, &with, run->seconds, &time));
            if (done) result->time = round > 0 ? measure_better(result->time, time) : time;
        }
        result->memory = peak_memory();
        destroy_case(&with);
    }
    attn_context_destroy(context);
    return done;
}

bool bench_graph_step(const bench *run) {
    bench_result results[BENCH_SETUPS];
    if (!bench_wants(run, "step")) return true;
    memset(results, 0, sizeof results);
    bench_print_table(run, "Graph, a training step of two GAT layers", "network          nodes",
                      BENCH_GRAPH_STEP);
    for (int setup = 0; setup < run->setup_count; setup++) {
        if (!measure_setup(run, &run->setups[setup], &results[setup])) return false;
    }
    bench_print_row(run, results, BENCH_GRAPH_STEP);
    return true;
}
