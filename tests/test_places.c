/* test_places.c: layers on graphs with edge features, and what places may and may not say.
 *
 *   - attention whose edges add to score, key and value, against an oracle in double: results, and the
 * gradients of every map (those of edge features too) against central differences
 *   - a network learns what is on the edges alone
 *   - attention on a graph needs no batch; what goes by positions or by sequences does
 *   - weights, first positions and a source reach the operator
 *   - errors name the member
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/network.h"
#include "support/operation.h"
#include "support/random.h"

enum { NODES = 7, EDGES = 15, COLUMNS = 8, HEADS = 2, EDGE_COLUMNS = 3 };

/* Row and column of every edge: node 4 sees nothing, node 0 itself, one pair is there twice. */
static const int64_t row_of[EDGES] = {3, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 5, 5, 6, 6};
static const int64_t column_of[EDGES] = {1, 0, 1, 6, 2, 3, 4, 4, 0, 2, 5, 6, 1, 5, 0};

/* Made with a context of its own: contexts of the tests come and go. */
static attn_context *graph_context;
static attn_graph *graph;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || attn_context_create(NULL, &graph_context) != ATTN_OK) return -1;
    return attn_graph_from_edges(graph_context, NODES, NODES, EDGES, row_of, column_of, &graph) == ATTN_OK
               ? 0
               : -1;
}

static int teardown(void **state) {
    attn_graph_destroy(graph);
    attn_context_destroy(graph_context);
    return test_contexts_teardown(state);
}

/* ---- edge features, number by number ---- */

typedef struct edge_case {
    attn_multihead_options options;
    attn_multihead *layer;
} edge_case;

static void build(attn_parameters *set, void *user) {
    edge_case *c = user;
    c->layer = attn_multihead_create(set, "attention", &c->options);
}

static attn_variable *apply(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    edge_case *c = user;
    attn_places places;
    attn_places_init(&places);
    places.graph = graph;
    places.edges = input[1];
    (void)parameter;
    return attn_multihead_apply(tape, c->layer, input[0], &places);
}

/* s of one edge; q, k: the head's; a, b: score vectors. */
static double score_of(const attn_multihead_options *o, int64_t width, const double *q, const double *k,
                       const double *a, const double *b, double edge) {
    double s = 0.0;
    for (int64_t c = 0; c < width; c++) {
        double sum = q[c] + k[c];
        switch (o->score) {
        case ATTN_SCORE_DOT: s += q[c] * k[c] / sqrt((double)width); break;
        case ATTN_SCORE_ADDITIVE: s += a[c] * tanh(sum); break;
        case ATTN_SCORE_GAT: s += a[c] * q[c] + b[c] * k[c]; break;
        default: s += a[c] * (sum > 0.0 ? sum : o->leaky_slope * sum); break;
        }
    }
    s += edge;
    return o->score == ATTN_SCORE_GAT && s < 0.0 ? o->leaky_slope * s : s;
}

/* The maps of the layer, in the order in which it added them. */
typedef struct edge_maps {
    const double *input, *input_bias, *output, *output_bias, *a, *b, *edge[3];
} edge_maps;

static edge_maps maps_of(const attn_multihead_options *o, double *const *parameter) {
    edge_maps m = {parameter[0], parameter[1], parameter[2], parameter[3], NULL, NULL, {NULL, NULL, NULL}};
    int next = 4;
    if (o->score != ATTN_SCORE_DOT) m.a = parameter[next++];
    if (o->score == ATTN_SCORE_GAT) m.b = parameter[next++];
    unsigned terms = o->edge_terms ? o->edge_terms : o->score == ATTN_SCORE_GAT ? 5 : 7;
    for (int t = 0; t < 3; t++) {
        if (terms & (1u << t)) m.edge[t] = parameter[next++];
    }
    return m;
}

static void oracle(double *const *input, double *const *parameter, double *result, void *user) {
    const attn_multihead_options *o = &((edge_case *)user)->options;
    edge_maps m = maps_of(o, parameter);
    int64_t kv_heads = o->kv_heads ? o->kv_heads : HEADS, width = COLUMNS / HEADS, q = HEADS * width,
            kv = kv_heads * width, all = q + 2 * kv;
    double *x = oracle_numbers(NODES * all), *heads = oracle_numbers(NODES * q), *term[3];
    const int64_t wide[3] = {HEADS, q, q};
    oracle_linear(NODES, COLUMNS, all, input[0], m.input, m.input_bias, ATTN_IDENTITY, x);
    for (int t = 0; t < 3; t++) {
        term[t] = oracle_numbers(EDGES * wide[t]);
        if (m.edge[t]) {
            oracle_linear(EDGES, EDGE_COLUMNS, wide[t], input[1], m.edge[t], NULL, ATTN_IDENTITY, term[t]);
        }
    }
    for (int64_t i = 0; i < NODES; i++) {
        for (int64_t h = 0; h < HEADS; h++) {
            int64_t shared = h / (HEADS / kv_heads);
            double weight[EDGES] = {0}, sum = 0.0, k[COLUMNS];
            for (int64_t e = 0; e < EDGES; e++) {
                if (row_of[e] != i) continue;
                for (int64_t c = 0; c < width; c++) {
                    k[c] = x[column_of[e] * all + q + shared * width + c] + term[1][e * q + h * width + c];
                }
                weight[e] = exp(score_of(o, width, x + i * all + h * width, k, m.a ? m.a + h * width : NULL,
                                         m.b ? m.b + h * width : NULL, term[0][e * HEADS + h]));
                sum += weight[e];
            }
            for (int64_t e = 0; e < EDGES; e++) {
                if (row_of[e] != i) continue;
                for (int64_t c = 0; c < width; c++) {
                    heads[i * q + h * width + c] += weight[e] / sum *
                                                    (x[column_of[e] * all + q + kv + shared * width + c] +
                                                     term[2][e * q + h * width + c]);
                }
            }
        }
    }
    oracle_linear(NODES, q, COLUMNS, heads, m.output, m.output_bias, ATTN_IDENTITY, result);
    for (int t = 0; t < 3; t++) free(term[t]);
    free(x);
    free(heads);
}

static attn_multihead_options small_attention(void) {
    attn_multihead_options o;
    attn_multihead_options_init(&o);
    o.columns = COLUMNS;
    o.heads = HEADS;
    o.edge_columns = EDGE_COLUMNS;
    return o;
}

static void check_edges(const char *name, attn_score score, unsigned terms, int64_t kv_heads) {
    edge_case e = {.options = small_attention()};
    e.options.score = score;
    e.options.edge_terms = terms;
    e.options.kv_heads = kv_heads;
    operation_case c = {
        .name = name,
        .inputs = 2,
        .input = {{.rows = NODES, .columns = COLUMNS}, {.rows = EDGES, .columns = EDGE_COLUMNS}},
        .rows = NODES,
        .columns = COLUMNS,
        .seed = 3,
        .user = &e,
        .build = build,
        .run = apply,
        .reference = oracle};
    operation_check(&c);
}

static void test_edges(void **state) {
    (void)state;
    check_edges("dot", ATTN_SCORE_DOT, 0, 0);
    check_edges("additive", ATTN_SCORE_ADDITIVE, 0, 0);
    check_edges("gat", ATTN_SCORE_GAT, 0, 0);
    check_edges("gatv2", ATTN_SCORE_GATV2, 0, 0);
    check_edges("score alone", ATTN_SCORE_DOT, ATTN_EDGE_SCORE, 0);
    check_edges("key alone", ATTN_SCORE_DOT, ATTN_EDGE_KEY, 0);
    check_edges("value alone", ATTN_SCORE_DOT, ATTN_EDGE_VALUE, 0);
    check_edges("score and value, grouped heads", ATTN_SCORE_DOT, ATTN_EDGE_SCORE | ATTN_EDGE_VALUE, 1);
}

/* ---- what is on the edges is learned ---- */

enum { GRAPHS = 12, SIZE = 6, DEGREE = 3, KINDS = 4, ALL = GRAPHS * SIZE, ALL_EDGES = ALL * DEGREE };

/* Every node has one of KINDS colours and sees DEGREE others of its graph; one of these edges is marked.
 * The label of a node is the colour at the end of that edge. */
typedef struct marked_graphs {
    float nodes[ALL * KINDS], edges[ALL_EDGES * 2];
    int64_t rows[ALL_EDGES], columns[ALL_EDGES];
    int32_t labels[ALL];
} marked_graphs;

static void make_graphs(uint64_t seed, marked_graphs *g) {
    test_random random = {seed};
    memset(g, 0, sizeof *g);
    for (int i = 0; i < ALL; i++) g->nodes[i * KINDS + random_between(&random, 0, KINDS - 1)] = 1.0f;
    for (int i = 0; i < ALL; i++) {
        int64_t marked = random_between(&random, 0, DEGREE - 1),
                turn = random_between(&random, 1, SIZE - DEGREE);
        for (int d = 0; d < DEGREE; d++) {
            int e = i * DEGREE + d;
            g->rows[e] = i;
            g->columns[e] = i / SIZE * SIZE + (i + turn + d) % SIZE;
            g->edges[e * 2 + (d == marked)] = 1.0f;
            for (int k = 0; d == marked && k < KINDS; k++) {
                if (g->nodes[g->columns[e] * KINDS + k] > 0.0f) g->labels[i] = k;
            }
        }
    }
}

/* One step; the loss before it. */
static double train_step(attn_tape *tape, const attn_encoder *encoder, const attn_linear *output,
                         attn_optimizer *optimizer, uint64_t step) {
    static marked_graphs g;
    attn_context *context = attn_tape_context(tape);
    attn_graph *edges;
    make_graphs(step, &g);
    assert_int_equal(attn_graph_from_edges(context, ALL, ALL, ALL_EDGES, g.rows, g.columns, &edges), ATTN_OK);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, step);
    attn_places places;
    attn_places_init(&places);
    places.graph = edges;
    places.edges = attn_tape_input(tape, g.edges, ALL_EDGES, 2, 0);
    attn_variable *x =
        attn_encoder_apply(tape, encoder, attn_tape_input(tape, g.nodes, ALL, KINDS, 0), &places);
    attn_variable *loss = attn_tape_cross_entropy(tape, attn_linear_apply(tape, output, x), g.labels, NULL);
    if (attn_tape_backward(tape, loss, NULL) != ATTN_OK) fail_msg("%s", attn_tape_error(tape));
    double before = host_data(loss)[0];
    assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
    attn_graph_destroy(edges);
    return before;
}

static void test_learning_edges(void **state) {
    (void)state;
    static const attn_score scores[] = {ATTN_SCORE_DOT, ATTN_SCORE_GAT, ATTN_SCORE_GATV2};
    for (int s = 0; s < 3; s++) {
        attn_context *context = test_best_context(2);
        attn_parameters *parameters;
        attn_tape *tape;
        assert_int_equal(attn_parameters_create(context, 1, &parameters), ATTN_OK);
        assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
        attn_encoder_options o;
        attn_encoder_options_init(&o);
        o.columns = 32;
        o.input_columns = KINDS;
        o.layers = 1;
        o.position = ATTN_POSITION_NONE;
        o.block.inner = 64;
        o.block.mixer.attention.score = scores[s];
        o.block.mixer.attention.edge_columns = 2;
        attn_encoder *encoder = attn_encoder_create(parameters, "encoder", &o);
        attn_linear *output = attn_linear_create(parameters, "output", 32, KINDS, 1, ATTN_IDENTITY);
        if (!output) fail_msg("%s", attn_parameters_error(parameters));
        attn_optimizer_options learning;
        attn_optimizer *optimizer;
        attn_optimizer_options_init(&learning);
        learning.learning_rate = 0.01f;
        assert_int_equal(attn_optimizer_create(parameters, &learning, &optimizer), ATTN_OK);
        const double threshold = 0.5 * log(KINDS); /* half of what guessing costs */
        assert_true(train_step(tape, encoder, output, optimizer, 1) > 1.5 * threshold);
        double last = 0.0;
        for (uint64_t step = 2; step <= 100; step++) {
            double loss = train_step(tape, encoder, output, optimizer, step);
            if (step > 95) last += loss / 5.0;
        }
        if (!(last < 0.2 * threshold)) fail_msg("score %d: the loss is %g in the end", (int)scores[s], last);
        attn_optimizer_destroy(optimizer);
        attn_tape_destroy(tape);
        attn_parameters_destroy(parameters);
    }
}

/* ---- with and without a batch ---- */

typedef struct network {
    attn_parameters *parameters;
    attn_tape *tape;
    float rows[NODES * COLUMNS], edges[EDGES * EDGE_COLUMNS];
} network;

static network network_create(void) {
    network n;
    attn_context *context = test_best_context(2);
    test_random random = {9};
    assert_int_equal(attn_parameters_create(context, 1, &n.parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &n.tape), ATTN_OK);
    for (int i = 0; i < NODES * COLUMNS; i++) n.rows[i] = random_unit(&random);
    for (int i = 0; i < EDGES * EDGE_COLUMNS; i++) n.edges[i] = random_unit(&random);
    return n;
}

static void network_destroy(network *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->parameters);
}

static attn_encoder *small_encoder(network *n, const char *name, attn_position position,
                                   attn_mixer_kind kind) {
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.columns = COLUMNS;
    o.position = position;
    o.block.mixer.kind = kind;
    o.block.mixer.attention.heads = HEADS;
    o.block.mixer.attention.edge_columns = EDGE_COLUMNS;
    attn_encoder *encoder = attn_encoder_create(n->parameters, name, &o);
    if (!encoder) fail_msg("%s", attn_parameters_error(n->parameters));
    return encoder;
}

/* The next step: places with the graph and its edges. */
static attn_places begin(network *n, attn_variable **x) {
    attn_places places;
    attn_places_init(&places);
    attn_tape_begin(n->tape, ATTN_TAPE_PREDICT, 0);
    *x = attn_tape_input(n->tape, n->rows, NODES, COLUMNS, 0);
    places.graph = graph;
    places.edges = attn_tape_input(n->tape, n->edges, EDGES, EDGE_COLUMNS, 0);
    return places;
}

static void expect_error(const network *n, const attn_variable *y, attn_status status, const char *text) {
    assert_null(y);
    if (attn_tape_status(n->tape) != status || !strstr(attn_tape_error(n->tape), text)) {
        fail_msg("%s, not: %s", attn_tape_error(n->tape), text);
    }
}

static void test_batch(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 4, NODES};
    network n = network_create();
    attn_variable *x;
    attn_encoder *plain = small_encoder(&n, "plain", ATTN_POSITION_NONE, ATTN_MIXER_ATTENTION);
    attn_places places = begin(&n, &x);
    attn_variable *y = attn_encoder_apply(n.tape, plain, x, &places);
    if (!y) fail_msg("%s", attn_tape_error(n.tape));
    float without[NODES * COLUMNS];
    memcpy(without, host_data(y), sizeof without);
    expect_error(&n, attn_tape_pool(n.tape, y, &places.batch, ATTN_POOL_MEAN), ATTN_INVALID_ARGUMENT,
                 "pool: batch has no offsets");

    places = begin(&n, &x);
    places.batch = (attn_ragged){2, offsets};
    y = attn_encoder_apply(n.tape, plain, x, &places);
    assert_memory_equal(host_data(y), without, sizeof without); /* the edges say it all */
    y = attn_tape_pool(n.tape, y, &places.batch, ATTN_POOL_MEAN);
    assert_int_equal(attn_variable_rows(y), 2);

    static const attn_position positions[] = {ATTN_POSITION_SINUSOIDAL, ATTN_POSITION_ROTARY};
    static const char *const names[] = {"sinusoidal", "rotary"}, *const users[] = {"positions", "rotary"};
    for (int p = 0; p < 2; p++) {
        char text[64];
        snprintf(text, sizeof text, "%s: batch has no offsets", users[p]);
        attn_encoder *encoder = small_encoder(&n, names[p], positions[p], ATTN_MIXER_ATTENTION);
        places = begin(&n, &x);
        expect_error(&n, attn_encoder_apply(n.tape, encoder, x, &places), ATTN_INVALID_ARGUMENT, text);
        places = begin(&n, &x);
        places.batch = (attn_ragged){2, offsets};
        assert_non_null(attn_encoder_apply(n.tape, encoder, x, &places));
    }
    attn_encoder *rnn = small_encoder(&n, "rnn", ATTN_POSITION_NONE, ATTN_MIXER_RNN);
    places = begin(&n, &x);
    expect_error(&n, attn_encoder_apply(n.tape, rnn, x, &places), ATTN_INVALID_ARGUMENT,
                 "recurrent: batch has no offsets");
    attn_encoder *alibi = small_encoder(&n, "alibi", ATTN_POSITION_ALIBI, ATTN_MIXER_ATTENTION);
    places = begin(&n, &x);
    places.batch = (attn_ragged){2, offsets};
    assert_null(attn_encoder_apply(n.tape, alibi, x, &places));
    assert_int_equal(attn_tape_status(n.tape), ATTN_UNSUPPORTED); /* a graph has no distances */
    network_destroy(&n);
}

/* ---- the other members reach the operator ---- */

static void test_members(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 4, NODES}, source_offsets[] = {0, 2, 5}, first[] = {3, 0};
    network n = network_create();
    attn_variable *x;
    float weights[EDGES * HEADS], sums[NODES * HEADS] = {0};
    attn_multihead_options o = small_attention();
    attn_multihead *edges = attn_multihead_create(n.parameters, "edges", &o);
    attn_places places = begin(&n, &x);
    places.weights = weights;
    assert_non_null(attn_multihead_apply(n.tape, edges, x, &places));
    for (int e = 0; e < EDGES; e++) {
        for (int h = 0; h < HEADS; h++) sums[row_of[e] * HEADS + h] += weights[e * HEADS + h];
    }
    for (int i = 0; i < NODES * HEADS; i++) {
        float expected = i / HEADS == 4 ? 0.0f : 1.0f; /* node 4 sees nothing */
        assert_float_equal(sums[i], expected, 1e-6);
    }

    /* rotary positions see differences alone: a shift of a whole sequence changes nothing but rounding */
    o.edge_columns = 0;
    o.position = ATTN_POSITION_ROTARY;
    attn_multihead *rotary = attn_multihead_create(n.parameters, "rotary", &o);
    places = begin(&n, &x);
    places.graph = NULL;
    places.edges = NULL;
    places.batch = (attn_ragged){2, offsets};
    attn_variable *at_zero = attn_multihead_apply(n.tape, rotary, x, &places);
    places.first = first;
    attn_variable *shifted = attn_multihead_apply(n.tape, rotary, x, &places);
    if (!shifted) fail_msg("%s", attn_tape_error(n.tape));
    int same = 1;
    const float *here = host_data(at_zero), *there = host_data(shifted);
    for (int i = 0; i < NODES * COLUMNS; i++) {
        assert_float_equal(here[i], there[i], 1e-5);
        same &= here[i] == there[i];
    }
    assert_false(same);

    o.position = ATTN_POSITION_NONE;
    o.source_columns = COLUMNS;
    attn_multihead *cross = attn_multihead_create(n.parameters, "cross", &o);
    places.first = NULL;
    places.source = attn_tape_input(n.tape, n.rows, 5, COLUMNS, 0);
    places.source_batch = (attn_ragged){2, source_offsets};
    attn_variable *y = attn_multihead_apply(n.tape, cross, x, &places);
    if (!y) fail_msg("%s", attn_tape_error(n.tape));
    places.source_batch.sequences = 1;
    expect_error(&n, attn_multihead_apply(n.tape, cross, x, &places), ATTN_SHAPE_MISMATCH, "offsets");
    network_destroy(&n);
}

/* ---- errors ---- */

static void expect_no_layer(const attn_multihead_options *o, attn_status status, const char *text) {
    attn_parameters *parameters;
    assert_int_equal(attn_parameters_create(test_best_context(1), 1, &parameters), ATTN_OK);
    assert_null(attn_multihead_create(parameters, "attention", o));
    assert_int_equal(attn_parameters_status(parameters), status);
    if (!strstr(attn_parameters_error(parameters), text)) fail_msg("%s", attn_parameters_error(parameters));
    attn_parameters_destroy(parameters);
}

static void test_errors(void **state) {
    (void)state;
    attn_multihead_options o = small_attention();
    o.score = ATTN_SCORE_GAT;
    o.edge_terms = ATTN_EDGE_KEY;
    expect_no_layer(&o, ATTN_UNSUPPORTED, "GAT does not support ATTN_EDGE_KEY");
    o.edge_terms = 8;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "edge_terms is 8");
    o = small_attention();
    o.form = ATTN_HEADS_RAW;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "RAW heads have no maps");
    o = small_attention();
    o.score = ATTN_SCORE_NONE;
    expect_no_layer(&o, ATTN_UNSUPPORTED, "fixed weights");
    o = small_attention();
    o.edge_columns = -1;
    expect_no_layer(&o, ATTN_INVALID_ARGUMENT, "-1 edge_columns");

    network n = network_create();
    attn_variable *x;
    o = small_attention();
    attn_multihead *with = attn_multihead_create(n.parameters, "with", &o);
    o.edge_columns = 0;
    attn_multihead *without = attn_multihead_create(n.parameters, "without", &o);
    attn_places places = begin(&n, &x);
    places.edges = NULL;
    expect_error(&n, attn_multihead_apply(n.tape, with, x, &places), ATTN_INVALID_ARGUMENT,
                 "places.edges is NULL");
    places = begin(&n, &x);
    expect_error(&n, attn_multihead_apply(n.tape, without, x, &places), ATTN_INVALID_ARGUMENT,
                 "made without edge_columns");
    places = begin(&n, &x);
    places.graph = NULL;
    expect_error(&n, attn_multihead_apply(n.tape, with, x, &places), ATTN_INVALID_ARGUMENT,
                 "without places.graph");
    places = begin(&n, &x);
    places.edges = attn_tape_input(n.tape, n.edges, EDGES - 1, EDGE_COLUMNS, 0);
    expect_error(&n, attn_multihead_apply(n.tape, with, x, &places), ATTN_SHAPE_MISMATCH,
                 "places.edges is 14 x 3, the graph has 15 edges and the layer 3 edge_columns");
    places = begin(&n, &x);
    places.size = 0;
    expect_error(&n, attn_multihead_apply(n.tape, with, x, &places), ATTN_INVALID_ARGUMENT,
                 "call attn_places_init() first");
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    x = attn_tape_input(n.tape, n.rows, NODES, COLUMNS, 0);
    expect_error(&n, attn_multihead_apply(n.tape, with, x, NULL), ATTN_INVALID_ARGUMENT, "places is NULL");
    network_destroy(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),   cmocka_unit_test(test_learning_edges), cmocka_unit_test(test_batch),
        cmocka_unit_test(test_members), cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
