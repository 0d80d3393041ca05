/* bench_graph.c: attention over the edges of graphs, and the additive score.
 *
 * Graphs are bound by memory: what counts is the bytes that a call has to
 * gather. Counted, in f32, is what the algorithm reads and writes when nothing
 * stays in a cache from one edge to the next:
 *
 *     forward    an edge: its column number, the value row, and the key row
 *                (dot product) or one score number a head (GAT);
 *                a row: its offset, query, output and log-sum-exp;
 *                for GAT also a column: its key, and the score numbers
 *     backward   by rows, for the queries: an edge as in the forward pass; a
 *                row: offset, query, output, d output, log-sum-exp, d query;
 *                by columns, for keys and values: an edge: its row number, the
 *                row's d output and two numbers a head (log-sum-exp and the
 *                sum of d output * output), and its query row or score
 *                numbers; a column: offset, key, value, d key, d value
 *
 * Work is what the result needs, an edge and head: 4 d operations forward and
 * 10 d backward (dot product), 2 d and 4 d (GAT, whose scores cost the nodes),
 * a pair 6 d and 16 d (additive, where a tanh is one operation).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef enum graph_direction { FORWARD, BACKWARD, BOTH } graph_direction;

static const char *const direction_names[] = {"forward", "backward", "forward+backward"};

/* What is measured: a score on a graph, or (degree 0) on full positions. */
typedef struct graph_shape {
    const char *series;
    attn_score score;
    int64_t rows, columns, degree; /* every row sees `degree` columns */
    bool random;                   /* which ones are drawn; else they are the first */
    int64_t heads, d;
} graph_shape;

typedef struct graph_case {
    graph_shape shape;
    attn_context *context; /* of the call that is measured now */
    attn_pattern pattern;
    attn_graph *graph;
    double graph_seconds; /* that making the graph took */
    attn_attention_options options;
    attn_attention_gradients gradients;
    float *memory;
    attn_tensor query, key, value, output, log_sum_exp, d_output;
} graph_case;

static attn_status forward_call(void *argument) {
    graph_case *with = argument;
    return attn_attention_forward(with->context, &with->pattern, &with->options, &with->query, &with->key,
                                  &with->value, &with->output, &with->log_sum_exp, NULL);
}

static attn_status backward_call(void *argument) {
    graph_case *with = argument;
    return attn_attention_backward(with->context, &with->pattern, &with->options, &with->query, &with->key,
                                   &with->value, &with->output, &with->log_sum_exp, &with->d_output,
                                   &with->gradients);
}

static attn_status both_call(void *argument) {
    attn_status status = forward_call(argument);
    return status == ATTN_OK ? backward_call(argument) : status;
}

static const measured_call calls[] = {forward_call, backward_call, both_call};

/* Makes the graph of the shape. */
static bool create_graph(const bench *run, graph_case *made) {
    const graph_shape *shape = &made->shape;
    int64_t edges = shape->rows * shape->degree;
    int64_t *offsets = malloc((size_t)(shape->rows + 1 + edges) * sizeof *offsets);
    if (offsets == NULL) {
        fprintf(stderr, "attn bench: out of memory for %lld edges\n", (long long)edges);
        return false;
    }
    int64_t *columns = offsets + shape->rows + 1;
    uint64_t state = (uint64_t)run->seed;
    for (int64_t i = 0; i <= shape->rows; i++) offsets[i] = i * shape->degree;
    for (int64_t e = 0; e < edges; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* as bench_numbers */
        columns[e] = shape->random ? (int64_t)((state >> 33) % (uint64_t)shape->columns) : e % shape->columns;
    }
    attn_context *context = run->setups[0].context;
    double start = measure_clock();
    bool done = bench_ok(
        context, attn_graph_create(context, shape->rows, shape->columns, offsets, columns, &made->graph));
    made->graph_seconds = measure_clock() - start;
    made->pattern.graph = made->graph;
    free(offsets);
    return done;
}

/* A piece of the case's memory, on a cache line; NULL while it is counted. */
static float *take(graph_case *made, int64_t *used, int64_t count) {
    float *piece = made->memory == NULL ? NULL : made->memory + *used;
    *used += (count + 15) / 16 * 16;
    return piece;
}

static attn_tensor take_rows(graph_case *made, int64_t *used, int64_t rows) {
    return attn_tensor_rows(take(made, used, rows * made->shape.heads * made->shape.d), rows,
                            made->shape.heads, made->shape.d);
}

/* Lays the tensors out and returns how many numbers they take. GAT reads one
 * array as queries, keys and values where rows are columns, as published. */
static int64_t lay_out(graph_case *made) {
    const graph_shape *shape = &made->shape;
    bool gat = shape->score == ATTN_SCORE_GAT;
    int64_t used = 0, per_row[2] = {shape->rows, shape->heads};
    made->query = take_rows(made, &used, shape->rows);
    made->key = gat && shape->rows == shape->columns ? made->query : take_rows(made, &used, shape->columns);
    made->value = gat ? made->key : take_rows(made, &used, shape->columns);
    made->output = take_rows(made, &used, shape->rows);
    made->d_output = take_rows(made, &used, shape->rows);
    made->log_sum_exp = attn_tensor_view(take(made, &used, shape->rows * shape->heads), 2, per_row);
    made->gradients.query = take_rows(made, &used, shape->rows);
    made->gradients.key = take_rows(made, &used, shape->columns);
    made->gradients.value = take_rows(made, &used, shape->columns);
    int64_t vector = shape->heads * shape->d;
    if (shape->score != ATTN_SCORE_DOT) {
        made->options.score_vector = attn_tensor_matrix(take(made, &used, vector), shape->heads, shape->d);
        made->gradients.score_vector = attn_tensor_matrix(take(made, &used, vector), shape->heads, shape->d);
    }
    if (gat) {
        made->options.key_score_vector =
            attn_tensor_matrix(take(made, &used, vector), shape->heads, shape->d);
        made->gradients.key_score_vector =
            attn_tensor_matrix(take(made, &used, vector), shape->heads, shape->d);
    }
    return used;
}

static void destroy_case(graph_case *made) {
    attn_graph_destroy(made->graph);
    free(made->memory);
}

static bool create_case(const bench *run, const graph_shape *shape, graph_case *made) {
    memset(made, 0, sizeof *made);
    made->shape = *shape;
    attn_pattern_init(&made->pattern);
    attn_attention_options_init(&made->options);
    attn_attention_gradients_init(&made->gradients);
    made->options.score = shape->score;
    made->memory = bench_numbers(lay_out(made), run->seed);
    if (made->memory == NULL) return false;
    lay_out(made);
    if (shape->degree == 0 || create_graph(run, made)) return true;
    destroy_case(made);
    return false;
}

/* Bytes that a forward and a backward call gather and write, as said above. */
static void count_bytes(const graph_shape *shape, double bytes[3]) {
    double rows = (double)shape->rows, columns = (double)shape->columns;
    double edges = rows * (double)shape->degree, numbers = 4 * (double)shape->heads;
    double vector = numbers * (double)shape->d;
    bool gat = shape->score == ATTN_SCORE_GAT;
    double edge = 4 + vector + (gat ? numbers : vector);
    bytes[FORWARD] = edges * edge + rows * (8 + 2 * vector + numbers);
    if (gat) bytes[FORWARD] += rows * numbers + columns * (vector + numbers);
    bytes[BACKWARD] = edges * edge + rows * (8 + 4 * vector + numbers) + edges * (edge + 2 * numbers) +
                      columns * (8 + 4 * vector);
    bytes[BOTH] = bytes[FORWARD] + bytes[BACKWARD];
}

static bench_result describe(const graph_case *with, graph_direction direction) {
    static const double work_of[][2] = {[ATTN_SCORE_DOT] = {4, 10}, /* forward, backward: times d */
                                        [ATTN_SCORE_ADDITIVE] = {6, 16},
                                        [ATTN_SCORE_GAT] = {2, 4}};
    static const char *const score_names[] = {
        [ATTN_SCORE_DOT] = "dot", [ATTN_SCORE_ADDITIVE] = "additive", [ATTN_SCORE_GAT] = "gat"};
    const graph_shape *shape = &with->shape;
    const double *work = work_of[shape->score];
    int64_t pairs = shape->rows * (shape->degree > 0 ? shape->degree : shape->columns);
    double times = direction == FORWARD ? work[0] : direction == BACKWARD ? work[1] : work[0] + work[1];
    double bytes[3];
    count_bytes(shape, bytes);
    bench_result result = {
        .operation = "attention",
        .direction = direction_names[direction],
        .pattern = shape->degree > 0 ? "graph" : "full",
        .layout = "interleaved",
        .series = shape->series,
        .score = score_names[shape->score],
        .queries = shape->rows,
        .keys = shape->columns,
        .d = shape->d,
        .heads = shape->heads,
        .kv_heads = shape->heads,
        .window = -1,
        .edges = shape->degree > 0 ? pairs : 0,
        .graph_seconds = with->graph_seconds,
        .work = times * (double)(shape->heads * shape->d) * (double)pairs,
        .bytes = shape->degree > 0 ? bytes[direction] : 0,
    };
    return result;
}

/* Measures on one setup, in a context of its own, so that its working memory is
 * that of this call. The copy is measured again right beside it. */
static bool measure_setup(const bench *run, const bench_setup *setup, graph_case *with,
                          graph_direction direction, bench_result *result) {
    double gigabytes = 0;
    with->context = setup->context;
    if (direction == BACKWARD && !bench_ok(setup->context, forward_call(with))) return false;
    with->context = bench_context(run, setup->threads);
    if (with->context == NULL) return false;
    size_t before = attn_context_memory(with->context);
    bool done = bench_measure(run, setup, with->context, calls[direction], with, &result->time);
    result->memory = attn_context_memory(with->context) - before;
    attn_context_destroy(with->context);
    if (done && result->edges > 0) {
        done = bench_ok(setup->context,
                        attn_machine_copy_bandwidth(setup->context, fmin(0.1, run->seconds), &gigabytes));
    }
    result->copied = fmax(setup->bandwidth, 1e9 * gigabytes);
    return done;
}

/* One row of a table: the case on every setup. */
static bool measure_row(const bench *run, graph_case *with, graph_direction direction) {
    bench_result results[BENCH_SETUPS];
    for (int setup = 0; setup < run->setup_count; setup++) {
        results[setup] = describe(with, direction);
        if (!measure_setup(run, &run->setups[setup], with, direction, &results[setup])) return false;
    }
    bench_print_row(run, results, with->shape.degree > 0 ? BENCH_GRAPH : BENCH_SPEED);
    return true;
}

/* A shape's three tables: forward, backward, and both in one. */
static bool measure_shapes(const bench *run, const char *title, const char *label, const graph_shape *shapes,
                           int count) {
    char text[128];
    if (!bench_wants(run, shapes[0].series)) return true;
    graph_case cases[2];
    int made = 0;
    bool done = true;
    for (; made < count && done; made++) done = create_case(run, &shapes[made], &cases[made]);
    if (!done) made--;
    for (int direction = FORWARD; direction <= BOTH && done; direction++) {
        snprintf(text, sizeof text, "%s, %s", title, direction_names[direction]);
        bench_print_table(run, text, label, shapes[0].degree > 0 ? BENCH_GRAPH : BENCH_SPEED);
        for (int i = 0; i < count && done; i++) {
            done = measure_row(run, &cases[i], (graph_direction)direction);
        }
    }
    while (made > 0) destroy_case(&cases[--made]);
    return done;
}

bool bench_graph(const bench *run) {
    static const char *const label = "graph  score h x d  edges";
    int64_t n = run->nodes;
    graph_shape random[] = {
        {"random", ATTN_SCORE_GAT, n, n, 16, true, 8, 16},
        {"random", ATTN_SCORE_DOT, n, n, 16, true, 8, 16},
    };
    /* One head, so that only the neighbours themselves can be shared out. */
    graph_shape hub[] = {
        {"hub", ATTN_SCORE_GAT, 1, 10 * n, 10 * n, false, 1, 16},
        {"hub", ATTN_SCORE_DOT, 1, 10 * n, 10 * n, false, 1, 16},
    };
    graph_shape additive[] = {
        {"additive", ATTN_SCORE_ADDITIVE, 512, 512, 0, false, 1, 64},
        {"additive", ATTN_SCORE_ADDITIVE, 512, 512, 0, false, 8, 64},
    };
    return measure_shapes(run, "Graph, 16 random neighbours per node", label, random, 2) &&
           measure_shapes(run, "Graph, one node that sees all others", label, hub, 2) &&
           measure_shapes(run, "Additive score", "pattern heads    d   keys", additive, 2);
}
