/* test_graph_encoder.c: whole encoders on graphs, against an oracle in double that knows nothing but edges.
 *
 *   - attention of every form and score, and the mean, with edge features and without
 *   - one graph of hubs, loops, double edges and a node that sees nothing; many small graphs as one
 *   - the mean of sequences: full, causal and in a window
 *   - blocks without feed-forward: activation, initial residual, what jumps to the end
 *   - gradients against central differences, threads and instruction sets bit by bit (support/operation.h)
 *   - uniform weights are 1 / the number of edges; what cannot be is refused by name
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/network.h"
#include "support/operation.h"
#include "support/random.h"

enum { COLUMNS = 8, HEADS = 2, EDGE_COLUMNS = 3, MOST_NODES = 64, MOST_EDGES = 400 };

/* ---- graphs, and sequences as graphs ---- */

typedef struct edge_list {
    int64_t nodes, count;
    int64_t row[MOST_EDGES], column[MOST_EDGES];
} edge_list;

static void add_edge(edge_list *list, int64_t row, int64_t column) {
    assert_true(list->count < MOST_EDGES);
    list->row[list->count] = row;
    list->column[list->count++] = column;
}

/* Node 0 sees all, all see node 1; node 4 sees nothing, one pair is there twice; numbers are in no order. */
static edge_list one_graph(int64_t nodes) {
    edge_list list = {.nodes = nodes};
    for (int64_t i = 1; i < nodes; i++) add_edge(&list, 0, nodes - i);
    for (int64_t i = 0; i < nodes; i++) {
        int64_t row = (5 * i + 2) % nodes;
        if (row == 4) continue;
        add_edge(&list, row, 1);
        add_edge(&list, row, (3 * i + 1) % nodes);
        if (i % 2) add_edge(&list, row, row);
    }
    add_edge(&list, 3, 2);
    add_edge(&list, 3, 2);
    return list;
}

/* Graphs of 1 to 5 nodes one after another. */
static edge_list small_graphs(void) {
    edge_list list = {.nodes = 0};
    for (int64_t size = 1; size <= 5; size++) {
        for (int64_t i = 0; i < size; i++) {
            add_edge(&list, list.nodes + i, list.nodes + (i + 1) % size);
            add_edge(&list, list.nodes + i, list.nodes + i);
        }
        list.nodes += size;
    }
    return list;
}

enum { SEQUENCES = 3 };
static const int64_t offsets[SEQUENCES + 1] = {0, 6, 7, 11};

/* What the rows of sequences see. */
static edge_list sequences(int64_t left, int64_t right) {
    edge_list list = {.nodes = offsets[SEQUENCES]};
    for (int s = 0; s < SEQUENCES; s++) {
        for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) {
            for (int64_t j = offsets[s]; j < offsets[s + 1]; j++) {
                if ((left < 0 || j >= i - left) && (right < 0 || j <= i + right)) add_edge(&list, i, j);
            }
        }
    }
    return list;
}

/* ---- the oracle ---- */

/* Walks through the parameters in the order in which layers added them. */
typedef struct reader {
    double *const *parameter;
    int next;
} reader;
static const double *take(reader *r) { return r->parameter[r->next++]; }
static const double *take_if(reader *r, int there) { return there ? take(r) : NULL; }

typedef struct projections {
    double *memory;
    const double *q, *k, *v;
    int64_t stride;
} projections;

static int64_t width_of(const attn_multihead_options *o) {
    if (o->head_width) return o->head_width;
    return o->form == ATTN_HEADS_WIDE ? o->columns : o->columns / o->heads;
}

static projections project(const attn_multihead_options *o, reader *r, int64_t nodes, const double *x) {
    int64_t q = o->heads * width_of(o);
    if (o->form == ATTN_HEADS_RAW) return (projections){NULL, x, x, x, o->columns};
    int shared = o->form == ATTN_HEADS_SHARED, one = o->uniform || (shared && o->score == ATTN_SCORE_GAT);
    int64_t kv = q / o->heads * (o->kv_heads ? o->kv_heads : o->heads),
            all = one ? q : q + (shared ? kv : 2 * kv);
    projections p = {oracle_numbers(nodes * all), NULL, NULL, NULL, all};
    const double *weight = take(r), *bias = take_if(r, o->with_bias);
    oracle_linear(nodes, o->columns, all, x, weight, bias, ATTN_IDENTITY, p.memory);
    p.q = p.memory;
    p.k = one ? p.q : p.q + q;
    p.v = one || shared ? p.k : p.k + kv;
    return p;
}

static double score_of(const attn_multihead_options *o, int64_t width, const double *q, const double *k,
                       const double *edge, const double *a, const double *b) {
    double s = 0.0;
    if (o->uniform) return 0.0;
    for (int64_t c = 0; c < width; c++) {
        double key = k[c] + (edge ? edge[c] : 0.0), sum = q[c] + key;
        switch (o->score) {
        case ATTN_SCORE_DOT: s += q[c] * key / sqrt((double)width); break;
        case ATTN_SCORE_ADDITIVE: s += a[c] * tanh(sum); break;
        case ATTN_SCORE_GAT: s += a[c] * q[c] + b[c] * key; break;
        default: s += a[c] * (sum > 0.0 ? sum : o->leaky_slope * sum); break;
        }
    }
    return s;
}

/* The heads of node i side by side into y; term: what edges add to score, key and value, or NULL. */
static void attend_node(const attn_multihead_options *o, const edge_list *list, const projections *p,
                        const double *a, const double *b, double *const *term, int64_t i, double *y) {
    int64_t width = width_of(o), q = o->heads * width;
    int64_t group = o->kv_heads ? o->heads / o->kv_heads : 1;
    for (int64_t h = 0; h < o->heads; h++) {
        double sum = 0.0, at = 0.0, *head = y + h * width;
        for (int pass = 0; pass < 2; pass++) { /* the sum, then the values */
            for (int64_t e = 0; e < list->count; e++) {
                if (list->row[e] != i) continue;
                const double *k = p->k + list->column[e] * p->stride + h / group * width;
                const double *v = p->v + list->column[e] * p->stride + h / group * width;
                at = score_of(o, width, p->q + i * p->stride + h * width, k,
                              term[1] ? term[1] + e * q + h * width : NULL, a ? a + h * width : NULL,
                              b ? b + h * width : NULL);
                at += term[0] ? term[0][e * o->heads + h] : 0.0;
                if (o->score == ATTN_SCORE_GAT && at < 0.0) at *= o->leaky_slope;
                if (pass == 0) sum += exp(at);
                for (int64_t c = 0; pass == 1 && c < width; c++)
                    head[c] += exp(at) / sum * (v[c] + (term[2] ? term[2][e * q + h * width + c] : 0.0));
            }
        }
    }
}

static void mix(const attn_multihead_options *o, reader *r, const edge_list *list, const double *x,
                const double *edges, double *y) {
    int64_t q = o->heads * width_of(o), nodes = list->nodes;
    const int64_t wide[3] = {o->heads, q, q};
    int maps = o->form == ATTN_HEADS_STANDARD || o->form == ATTN_HEADS_WIDE;
    projections p = project(o, r, nodes, x);
    const double *weight = take_if(r, maps), *bias = take_if(r, maps && o->with_bias);
    const double *a = take_if(r, o->score != ATTN_SCORE_DOT && !o->uniform);
    const double *b = take_if(r, o->score == ATTN_SCORE_GAT);
    double *term[3] = {NULL, NULL, NULL}, *heads = oracle_numbers(nodes * q);
    unsigned terms = o->edge_columns == 0 ? 0 : o->uniform ? 4 : o->score == ATTN_SCORE_GAT ? 5 : 7;
    for (int t = 0; t < 3; t++) {
        if (!(terms & (1u << t))) continue;
        term[t] = oracle_numbers(list->count * wide[t]);
        oracle_linear(list->count, EDGE_COLUMNS, wide[t], edges, take(r), NULL, ATTN_IDENTITY, term[t]);
    }
    for (int64_t i = 0; i < nodes; i++) attend_node(o, list, &p, a, b, term, i, heads + i * q);
    if (maps)
        oracle_linear(nodes, q, o->columns, heads, weight, bias, ATTN_IDENTITY, y);
    else
        memcpy(y, heads, (size_t)(nodes * q) * sizeof *y);
    for (int t = 0; t < 3; t++) free(term[t]);
    free(heads);
    free(p.memory);
}

/* ---- a case ---- */

typedef struct encoder_case {
    attn_encoder_options options;
    edge_list list;
    attn_graph *graph; /* NULL: sequences */
    attn_encoder *encoder;
} encoder_case;

/* The options of the mixer's attention as the mixer reads them. */
static attn_multihead_options attention_of(const attn_encoder_options *o, int64_t columns) {
    attn_multihead_options a = o->block.mixer.attention;
    a.columns = columns;
    if (o->block.mixer.kind == ATTN_MIXER_MEAN) {
        a.uniform = 1;
        a.score = ATTN_SCORE_NONE;
    }
    return a;
}

/* What the encoder gives has its part of the result of block l - 1 (0: of the input). */
static void jump(const attn_encoder_options *o, int64_t nodes, int64_t l, const double *x, double *out) {
    int64_t columns = o->columns, all = o->layers + 1;
    for (int64_t i = 0; i < nodes * columns; i++) {
        if (o->jump == ATTN_JUMP_CONCAT)
            out[(i / columns * all + l) * columns + i % columns] = x[i];
        else
            out[i] += x[i] / (double)all;
    }
}

/* Blocks without feed-forward, each as wide as x. */
static void oracle(double *const *input, double *const *parameter, double *result, void *user) {
    const encoder_case *c = user;
    const attn_encoder_options *o = &c->options;
    const attn_block_options *block = &o->block;
    int64_t nodes = c->list.nodes, columns = o->columns, count = nodes * columns;
    int normed = block->norm != ATTN_NORM_NONE;
    reader r = {parameter, 0};
    int concat = o->jump == ATTN_JUMP_CONCAT, jumps = o->jump != ATTN_JUMP_NONE;
    int64_t wide = concat ? (o->layers + 1) * columns : columns;
    double *x = oracle_numbers(count), *in = oracle_numbers(count), *y = oracle_numbers(count);
    double *out = oracle_numbers(nodes * wide);
    memcpy(x, input[0], (size_t)count * sizeof *x);
    if (jumps) jump(o, nodes, 0, x, out);
    attn_multihead_options attention = attention_of(o, columns);
    for (int64_t l = 0; l < o->layers; l++) {
        reader mixer = r; /* the norm's parameters come after the mixer's */
        mix(&attention, &r, &c->list, x, input[1], y);
        const double *gain = take_if(&r, normed), *bias = take_if(&r, normed);
        memcpy(in, x, (size_t)count * sizeof *x);
        if (normed) oracle_norm(block->norm, nodes, columns, x, gain, bias, in);
        mix(&attention, &mixer, &c->list, in, input[1], y);
        for (int64_t i = 0; i < count; i++) {
            y[i] = ref_activation(block->mixed_activation, y[i]) + (block->residual ? x[i] : 0.0);
            x[i] = (1.0 - (double)o->initial) * y[i] + (double)o->initial * input[0][i];
        }
        if (jumps) jump(o, nodes, l + 1, x, out);
    }
    if (!jumps) memcpy(out, x, (size_t)count * sizeof *x);
    if (normed) {
        const double *gain = take(&r), *bias = take(&r);
        oracle_norm(block->norm, nodes, wide, out, gain, bias, result);
    } else {
        memcpy(result, out, (size_t)(nodes * wide) * sizeof *x);
    }
    free(out);
    free(x);
    free(in);
    free(y);
}

static void build(attn_parameters *set, void *user) {
    encoder_case *c = user;
    c->encoder = attn_encoder_create(set, "encoder", &c->options);
    int64_t one = 1; /* operation_check wants a parameter; where there is none, one that nothing uses */
    if (attn_parameters_count(set) == 0) attn_parameters_add(set, "unused", 1, &one, NULL);
}

static attn_variable *apply(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const encoder_case *c = user;
    attn_places places;
    attn_places_init(&places);
    places.graph = c->graph;
    if (!c->graph) places.batch = (attn_ragged){SEQUENCES, offsets};
    if (c->options.block.mixer.attention.edge_columns) places.edges = input[1];
    (void)parameter;
    return attn_encoder_apply(tape, c->encoder, input[0], &places);
}

static attn_encoder_options small_encoder(attn_mixer_kind kind) {
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.columns = COLUMNS;
    o.position = ATTN_POSITION_NONE;
    o.block.inner = 0;
    o.block.mixer.kind = kind;
    o.block.mixer.attention.heads = HEADS;
    return o;
}

static float amplitude = 1.0f; /* of the input */

static void check_list(const char *name, const attn_encoder_options *o, const edge_list *list, int graph) {
    encoder_case e = {.options = *o, .list = *list};
    attn_context *context = NULL; /* of its own: contexts of the tests come and go */
    assert_int_equal(attn_context_create(NULL, &context), ATTN_OK);
    if (graph) {
        assert_int_equal(attn_graph_from_edges(context, list->nodes, list->nodes, list->count, list->row,
                                               list->column, &e.graph),
                         ATTN_OK);
    }
    int edges = o->block.mixer.attention.edge_columns != 0;
    operation_case c = {.name = name,
                        .inputs = 1 + edges,
                        .input = {{.rows = list->nodes, .columns = COLUMNS, .amplitude = amplitude},
                                  {.rows = list->count, .columns = EDGE_COLUMNS}},
                        .rows = list->nodes,
                        .columns = o->jump == ATTN_JUMP_CONCAT ? (o->layers + 1) * COLUMNS : COLUMNS,
                        .seed = 3,
                        .user = &e,
                        .build = build,
                        .run = apply,
                        .reference = oracle,
                        .checked = 40};
    operation_check(&c);
    attn_graph_destroy(e.graph);
    attn_context_destroy(context);
}

/* On one graph and on many, without edge features and, where there are maps, with them. */
static void check(const char *name, const attn_encoder_options *options) {
    attn_encoder_options o = *options;
    edge_list one = one_graph(11), many = small_graphs();
    check_list(name, &o, &one, 1);
    check_list(name, &o, &many, 1);
    if (o.block.mixer.attention.form == ATTN_HEADS_RAW) return;
    o.block.mixer.attention.edge_columns = EDGE_COLUMNS;
    check_list(name, &o, &one, 1);
}

/* ---- the mean ---- */

static void test_mean(void **state) {
    (void)state;
    attn_encoder_options o = small_encoder(ATTN_MIXER_MEAN);
    check("mean", &o);
    o.block.mixer.attention.form = ATTN_HEADS_WIDE;
    check("mean, wide", &o);
    o.block.mixer.attention.form = ATTN_HEADS_RAW;
    check("mean, raw", &o);
    o = small_encoder(ATTN_MIXER_MEAN);
    o.position = ATTN_POSITION_ROTARY; /* says nothing to it */
    o.block.mixer.attention.score = ATTN_SCORE_GAT;
    o.block.mixer.attention.weighting = ATTN_WEIGHTS_RELU;
    check("mean, whatever attention would have", &o);
}

static void test_mean_of_sequences(void **state) {
    (void)state;
    attn_encoder_options o = small_encoder(ATTN_MIXER_MEAN);
    edge_list list = sequences(-1, -1);
    check_list("mean of sequences", &o, &list, 0);
    o.block.mixer.causal = 1;
    list = sequences(-1, 0);
    check_list("causal mean", &o, &list, 0);
    o.block.mixer.causal = 0;
    o.block.mixer.attention.left = 2;
    o.block.mixer.attention.right = 1;
    list = sequences(2, 1);
    check_list("mean of a window", &o, &list, 0);
}

/* ---- forms and scores ---- */

static void test_forms(void **state) {
    (void)state;
    static const attn_score scores[] = {ATTN_SCORE_DOT, ATTN_SCORE_ADDITIVE, ATTN_SCORE_GAT,
                                        ATTN_SCORE_GATV2};
    static const attn_heads_form forms[] = {ATTN_HEADS_STANDARD, ATTN_HEADS_SHARED, ATTN_HEADS_RAW};
    for (int s = 0; s < 4; s++) {
        for (int f = 0; f < 3; f++) {
            char name[64];
            snprintf(name, sizeof name, "score %d, form %d", (int)scores[s], (int)forms[f]);
            attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
            o.block.mixer.attention.score = scores[s];
            o.block.mixer.attention.form = forms[f];
            check(name, &o);
        }
    }
    attn_encoder_options o = small_encoder(ATTN_MIXER_MEAN);
    o.block.mixer.attention.form = ATTN_HEADS_SHARED;
    check("mean, shared", &o);
    o = small_encoder(ATTN_MIXER_ATTENTION);
    o.block.mixer.attention.form = ATTN_HEADS_SHARED;
    o.block.mixer.attention.kv_heads = 1;
    check("shared, grouped heads", &o);
    o.block.mixer.attention.kv_heads = 0;
    o.block.mixer.attention.with_bias = 0;
    o.block.residual = 0;
    o.block.norm = ATTN_NORM_NONE;
    check("shared, nothing around it", &o);
}

/* ---- around the mixers ---- */

static void test_activation_after(void **state) {
    (void)state;
    static const attn_activation activations[] = {ATTN_ELU, ATTN_GELU, ATTN_TANH, ATTN_RELU};
    for (int a = 0; a < 4; a++) {
        attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
        o.block.mixer.attention.form = ATTN_HEADS_SHARED;
        o.block.mixer.attention.score = a ? ATTN_SCORE_GATV2 : ATTN_SCORE_GAT;
        o.block.mixed_activation = activations[a];
        check("activation after the mixer", &o);
        o.block.residual = 0;
        o.block.norm = ATTN_NORM_NONE;
        check("activation after the mixer, nothing else", &o);
    }
    attn_encoder_options o = small_encoder(ATTN_MIXER_MEAN); /* ELU of numbers far below 0, which is -1 */
    edge_list list = one_graph(11);
    o.layers = 1;
    o.block.norm = ATTN_NORM_NONE;
    o.block.mixed_activation = ATTN_ELU;
    o.block.mixer.attention.form = ATTN_HEADS_SHARED;
    amplitude = 40.0f;
    check_list("ELU of large numbers", &o, &list, 1);
    amplitude = 1.0f;
}

/* Hubs, by row and by column, whose edges are shared out: the same bits with any number of threads, and with
 * an activation apart from the attention the same numbers. */
enum { MANY = 5000 };

static void run_hubs(int threads, int apart, float *result, float *gradient, double *weights) {
    attn_context *context = test_best_context(threads);
    int64_t *ends = malloc(4 * MANY * sizeof *ends), *row = ends, *column = ends + 2 * MANY;
    float *x = malloc(MANY * COLUMNS * sizeof *x);
    attn_graph *graph;
    attn_parameters *set;
    attn_tape *tape;
    assert_true(ends && x);
    for (int64_t i = 0; i < MANY; i++) {
        row[i] = column[MANY + i] = 3; /* node 3 sees all, and all see it */
        column[i] = row[MANY + i] = i;
    }
    for (int64_t i = 0; i < MANY * COLUMNS; i++) x[i] = sinf((float)i);
    assert_int_equal(attn_graph_from_edges(context, MANY, MANY, 2 * MANY, row, column, &graph), ATTN_OK);
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    o.layers = 1;
    o.block.norm = ATTN_NORM_NONE;
    o.block.residual = 0;
    o.block.mixer.attention.score = ATTN_SCORE_GAT;
    o.block.mixer.attention.form = ATTN_HEADS_SHARED;
    o.block.mixed_activation = apart ? ATTN_IDENTITY : ATTN_ELU;
    attn_encoder *encoder = attn_encoder_create(set, "encoder", &o);
    attn_places places;
    attn_places_init(&places);
    places.graph = graph;
    attn_tape_begin(tape, ATTN_TAPE_GRADIENT, 0);
    attn_variable *in = attn_tape_input(tape, x, MANY, COLUMNS, 1);
    attn_variable *y = attn_encoder_apply(tape, encoder, in, &places);
    if (apart) y = attn_tape_activation(tape, y, ATTN_ELU);
    if (attn_tape_backward(tape, attn_tape_multiply(tape, y, y), NULL) != ATTN_OK)
        fail_msg("%s", attn_tape_error(tape));
    assert_int_equal(attn_variable_read(y, result), ATTN_OK);
    assert_int_equal(attn_variable_read_gradient(in, gradient), ATTN_OK);
    attn_tensor d = attn_parameter_gradient(attn_parameters_find(set, "encoder.0.attention.score"));
    *weights = d.data ? (double)((const float *)d.data)[1] : 0.0;
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    attn_graph_destroy(graph);
    free(ends);
    free(x);
}

static void test_hubs(void **state) {
    (void)state;
    enum { NUMBERS = MANY * COLUMNS, RUNS = 4 };
    static const int threads[RUNS] = {1, 2, 7, 1};
    float *result[RUNS], *gradient[RUNS];
    double weights[RUNS], largest = 0.0;
    for (int r = 0; r < RUNS; r++) {
        result[r] = malloc(NUMBERS * sizeof(float));
        gradient[r] = malloc(NUMBERS * sizeof(float));
        assert_true(result[r] && gradient[r]);
        run_hubs(threads[r], r == 3, result[r], gradient[r], &weights[r]);
    }
    for (int i = 0; i < NUMBERS; i++) largest = fmax(largest, fabs((double)gradient[0][i]));
    for (int r = 1; r < RUNS; r++) {
        assert_memory_equal(result[0], result[r], NUMBERS * sizeof(float));
        if (r < 3) {
            assert_memory_equal(gradient[0], gradient[r], NUMBERS * sizeof(float));
            assert_true(weights[0] == weights[r]);
        }
        for (int i = 0; i < NUMBERS; i++)
            assert_true(fabs((double)gradient[0][i] - (double)gradient[r][i]) <= 1e-5 * largest);
    }
    assert_true(largest > 0.0);
    for (int r = 0; r < RUNS; r++) {
        free(result[r]);
        free(gradient[r]);
    }
}

static void test_initial(void **state) {
    (void)state;
    attn_encoder_options o = small_encoder(ATTN_MIXER_MEAN);
    o.initial = 0.25f;
    check("initial", &o);
    o.layers = 7;
    o.initial = 0.1f;
    o.block.residual = 0;
    o.block.norm = ATTN_NORM_NONE;
    o.block.mixer.attention.form = ATTN_HEADS_RAW;
    check("propagation with restarts", &o);
}

static void test_jump(void **state) {
    (void)state;
    for (int kind = ATTN_JUMP_CONCAT; kind <= ATTN_JUMP_MEAN; kind++) {
        attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
        o.jump = (attn_jump)kind;
        check("jump", &o);
        o.final_norm = 0;
        o.block.norm = ATTN_NORM_NONE;
        o.block.residual = 0;
        o.initial = 0.5f;
        o.layers = 3;
        check("jump, initial", &o);
        o.layers = 0;
        check_list("jump, no blocks", &o, &(edge_list){.nodes = 3, .count = 1, .row = {1}, .column = {2}}, 1);
    }
}

static void expect_no_encoder(const attn_encoder_options *o, attn_status status, const char *text) {
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(test_best_context(1), 1, &set), ATTN_OK);
    assert_null(attn_encoder_create(set, "encoder", o));
    assert_int_equal(attn_parameters_status(set), status);
    if (!strstr(attn_parameters_error(set), text)) fail_msg("%s", attn_parameters_error(set));
    attn_parameters_destroy(set);
}

static void test_refused_encoders(void **state) {
    (void)state;
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    o.initial = 1.0f;
    expect_no_encoder(&o, ATTN_INVALID_ARGUMENT, "initial is 1; 0 <= initial < 1");
    o.initial = NAN;
    expect_no_encoder(&o, ATTN_INVALID_ARGUMENT, "initial is");
    o.initial = 0.5f;
    o.block.residual = 0;
    o.block.mixer.attention.form = ATTN_HEADS_SHARED;
    o.block.mixer.attention.head_width = 3;
    expect_no_encoder(&o, ATTN_SHAPE_MISMATCH,
                      "encoder.0: initial and jump MEAN need blocks that keep the 8");
    o.initial = 0.0f;
    o.jump = ATTN_JUMP_MEAN;
    expect_no_encoder(&o, ATTN_SHAPE_MISMATCH, "not make 6 of them");
    o.jump = (attn_jump)3;
    expect_no_encoder(&o, ATTN_INVALID_ARGUMENT, "jump is 3, which is not a value of attn_jump");
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(test_best_context(1), 1, &set), ATTN_OK);
    o.jump = ATTN_JUMP_CONCAT; /* any widths */
    assert_int_equal(attn_encoder_columns(attn_encoder_create(set, "encoder", &o)), 8 + 6 + 6);
    attn_parameters_destroy(set);
}

/* The names and shapes of the maps, and the width of the result. */
static void test_shared_maps(void **state) {
    (void)state;
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(test_best_context(1), 1, &set), ATTN_OK);
    attn_mixer_options o;
    attn_mixer_options_init(&o);
    o.columns = 6;
    o.attention.heads = 2;
    o.attention.head_width = 5;
    o.attention.form = ATTN_HEADS_SHARED;
    assert_int_equal(attn_mixer_columns(attn_mixer_create(set, "dot", &o)), 10);
    o.attention.score = ATTN_SCORE_GAT;
    assert_int_equal(attn_mixer_columns(attn_mixer_create(set, "gat", &o)), 10);
    static const struct {
        const char *name;
        int64_t count;
    } expected[] = {{"dot.input.weight", 20 * 6}, {"dot.input.bias", 20}, {"gat.input.weight", 10 * 6},
                    {"gat.input.bias", 10},       {"gat.score", 10},      {"gat.key_score", 10}};
    assert_int_equal(attn_parameters_count(set), 6);
    for (int p = 0; p < 6; p++) {
        attn_parameter *parameter = attn_parameters_find(set, expected[p].name);
        assert_non_null(parameter);
        attn_tensor value = attn_parameter_value(parameter);
        int64_t count = 1;
        for (int d = 0; d < value.rank; d++) count *= value.shape[d];
        assert_int_equal(count, expected[p].count);
    }
    attn_block_options block;
    attn_block_options_init(&block);
    block.mixer = o;
    assert_null(attn_block_create(set, "block", &block));
    assert_non_null(strstr(attn_parameters_error(set), "a residual needs the mixer to give the 6 columns"));
    attn_parameters_destroy(set);
}

/* Mean is weights of 1 / degree. */
static void test_uniform_weights(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    edge_list list = one_graph(11);
    attn_graph *graph;
    attn_parameters *set;
    attn_tape *tape;
    float x[11 * COLUMNS], weights[MOST_EDGES * HEADS], *const all[2] = {weights, NULL};
    for (int i = 0; i < 11 * COLUMNS; i++) x[i] = sinf((float)i);
    assert_int_equal(attn_graph_from_edges(context, 11, 11, list.count, list.row, list.column, &graph),
                     ATTN_OK);
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_encoder_options o = small_encoder(ATTN_MIXER_MEAN);
    attn_encoder *encoder = attn_encoder_create(set, "encoder", &o);
    assert_non_null(attn_parameters_find(set, "encoder.0.mean.input.weight"));
    attn_places places;
    attn_places_init(&places);
    places.graph = graph;
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    if (!attn_encoder_weights(tape, encoder, attn_tape_input(tape, x, 11, COLUMNS, 0), &places, all))
        fail_msg("%s", attn_tape_error(tape));
    const int64_t *first = attn_graph_row_offsets(graph), *number = attn_graph_edge_numbers(graph);
    for (int64_t i = 0; i < 11; i++) {
        for (int64_t e = first[i]; e < first[i + 1]; e++) {
            for (int h = 0; h < HEADS; h++)
                assert_float_equal(weights[number[e] * HEADS + h], 1.0 / (double)(first[i + 1] - first[i]),
                                   1e-7);
        }
    }
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    attn_graph_destroy(graph);
}

/* ---- what is refused ---- */

static void expect_no_layer(const attn_multihead_options *o, attn_status status, const char *text) {
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(test_best_context(1), 1, &set), ATTN_OK);
    assert_null(attn_multihead_create(set, "layer", o));
    assert_int_equal(attn_parameters_status(set), status);
    if (!strstr(attn_parameters_error(set), text)) fail_msg("%s", attn_parameters_error(set));
    attn_parameters_destroy(set);
}

static void test_refused(void **state) {
    (void)state;
    attn_multihead_options o;
    attn_multihead_options_init(&o);
    o.uniform = 1;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "uniform weights want ATTN_SCORE_NONE");
    o.score = ATTN_SCORE_NONE;
    o.weighting = ATTN_WEIGHTS_SIGMOID;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "ATTN_WEIGHTS_SOFTMAX");
    o.weighting = ATTN_WEIGHTS_SOFTMAX;
    o.position = ATTN_POSITION_ALIBI;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "no position");
    o.position = ATTN_POSITION_NONE;
    o.edge_columns = 2;
    o.edge_terms = ATTN_EDGE_SCORE;
    expect_no_layer(&o, ATTN_UNSUPPORTED, "ATTN_EDGE_VALUE only");
    attn_multihead_options_init(&o);
    o.form = ATTN_HEADS_SHARED;
    o.source_columns = 3;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "SHARED has no source");
    o.source_columns = 0;
    o.score = ATTN_SCORE_GAT;
    o.kv_heads = 2;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "no grouped heads");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_mean_of_sequences),
        cmocka_unit_test(test_uniform_weights),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_shared_maps),
        cmocka_unit_test(test_activation_after),
        cmocka_unit_test(test_hubs),
        cmocka_unit_test(test_initial),
        cmocka_unit_test(test_jump),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_encoders),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
