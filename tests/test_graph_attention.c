/* test_graph_attention.c: attention on graphs against the oracle, every score
 * with every weighting and every edge feature; against attention on positions
 * where both say the same; bit for bit over threads and batches; and
 * special numbers. (What is refused: test_graph.c.)
 *
 * The tolerance and the grids that keep ReLU and leaky ReLU away from their
 * kinks are those of test_scores.c.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_RUNS 6

/* Weightings 0 .. 3 are attn_weighting, 4 .. 6 the last three with the average. */
enum { SCORES = 5, WEIGHTINGS = 7 };

/* What a graph call has beside the tensors of support/attention_case.h. */
enum { VECTOR, KEY_VECTOR, EDGE_BIAS, EDGE_KEY, EDGE_VALUE, EXTRAS, ALL = TENSORS + EXTRAS };
static const char *const extra_names[EXTRAS] = {"score_vector", "key_score_vector", "edge_bias", "edge_key",
                                                "edge_value"};
enum { WITH_BIAS = 1, WITH_KEY = 2, WITH_VALUE = 4, WITH_ALL = 7 };

typedef struct setup {
    attn_score score;
    int weighting, features;
    test_case c; /* its lengths are those of the graph; first_sequence is added to the edge numbers */
} setup;

typedef struct trial {
    setup u;
    problem *p;
    attn_tensor extra[EXTRAS], d_extra[EXTRAS]; /* data NULL: not there */
    memory_block memory[EXTRAS], d_memory[EXTRAS];
    int64_t count[EXTRAS];
    double *exact[EXTRAS];
} trial;

/* The results: those of the problem, and from TENSORS on the gradients of the extras. */
typedef struct outcome {
    double *data[ALL];
} outcome;

static setup setup_simple(attn_score score, int weighting, uint64_t seed) {
    setup u = {.score = score, .weighting = weighting, .c = case_simple(0, 0)};
    u.c.heads = u.c.kv_heads = 2;
    u.c.d_k = u.c.d_v = 8;
    u.c.seed = seed;
    return u;
}

/* ---- graphs ------------------------------------------------------------------------------------- */

typedef int64_t edge[2]; /* row, column */

static edge *edges_create(int64_t edges) {
    edge *list = malloc((size_t)(edges + 1) * sizeof(edge));
    assert_non_null(list);
    return list;
}

/* Frees the list. */
static attn_graph *graph_of(int64_t rows, int64_t columns, int64_t edges, edge *list) {
    int64_t *both = malloc((size_t)(2 * edges + 1) * sizeof(int64_t));
    attn_graph *graph = NULL;
    assert_non_null(both);
    for (int64_t e = 0; e < 2 * edges; e++) both[e] = list[e % edges][e / edges];
    assert_int_equal(
        attn_graph_from_edges(test_context(0, 1), rows, columns, edges, both, both + edges, &graph), ATTN_OK);
    free(both);
    free(list);
    return graph;
}

typedef enum graph_kind {
    NO_EDGES,
    CHAIN,
    STAR_ROW,    /* row 0 sees all */
    STAR_COLUMN, /* all see column 0 */
    COMPLETE,
    RANDOM,    /* four edges a row, a quarter of the rows isolated */
    REPEATED,  /* every edge three times, self-loops */
    RECTANGLE, /* twice as many columns as rows */
    BATCHED,   /* a chain, an empty graph, a star, a complete one */
    KINDS
} graph_kind;

/* Edges come in random order, so that their numbers are not their places. */
static attn_graph *make_graph(graph_kind kind, int64_t n, uint64_t seed) {
    test_random random = {seed + 17};
    if (kind == BATCHED) {
        attn_graph *batch = NULL;
        const attn_graph *const parts[] = {make_graph(CHAIN, n, seed), make_graph(NO_EDGES, 3, seed),
                                           make_graph(STAR_ROW, n, seed + 1), make_graph(COMPLETE, 4, seed)};
        assert_int_equal(attn_graph_batch(test_context(0, 1), 4, parts, &batch), ATTN_OK);
        for (size_t k = 0; k < COUNT(parts); k++) attn_graph_destroy((attn_graph *)parts[k]);
        return batch;
    }
    int64_t columns = kind == RECTANGLE ? 2 * n : n, edges = 0, degree = 1;
    if (kind == COMPLETE) degree = n;
    if (kind == RANDOM || kind == RECTANGLE) degree = 4;
    if (kind == REPEATED) degree = 3;
    edge *list = edges_create(n * degree);
    for (int64_t i = 0; i < n; i++) {
        if (kind == NO_EDGES || (kind == RANDOM && random_chance(&random, 25))) continue;
        for (int64_t k = 0; k < degree; k++, edges++) {
            const int64_t column_of[KINDS] = {0, (i + 1) % n, i, 0, k, 0, i / 2, 0, 0};
            bool any = kind == RANDOM || kind == RECTANGLE;
            list[edges][0] = kind == STAR_ROW ? 0 : i;
            list[edges][1] = any ? random_between(&random, 0, columns - 1) : column_of[kind];
        }
    }
    for (int64_t e = edges - 1; e > 0; e--) {
        edge kept = {list[e][0], list[e][1]}, *other = &list[random_between(&random, 0, e)];
        memcpy(list[e], *other, sizeof(edge));
        memcpy(*other, kept, sizeof(edge));
    }
    return graph_of(n, columns, edges, list);
}

/* ---- trials ------------------------------------------------------------------------------------- */

static double on_grid(double x, double step) { return step * floor(x / step + 0.5); }

static const char *name_of(int n) { return n < TENSORS ? tensor_names[n] : extra_names[n - TENSORS]; }

static int64_t count_of(const trial *t, int n) {
    return n < TENSORS ? t->p->count[n] : t->count[n - TENSORS];
}

/* Sets an element of an input: of the problem, or from TENSORS on an extra. */
static void set(trial *t, int n, int64_t index, double value) {
    if (n < TENSORS) {
        problem_set(t->p, (tensor_id)n, index, (float)value);
        return;
    }
    *view_element(&t->extra[n - TENSORS], index) = (float)value;
    t->exact[n - TENSORS][index] = (double)(float)value;
}

/* Rounds an input to a grid and shifts it, or its channel 0 alone. */
static void to_grid(trial *t, int n, double step, double shift, bool first_channel) {
    const double *exact = n < TENSORS ? t->p->exact[n] : t->exact[n - TENSORS];
    for (int64_t e = 0; exact && e < count_of(t, n); e++)
        set(t, n, e, on_grid(exact[e], step) + (first_channel && e % t->u.c.d_k ? 0.0 : shift));
}

static void avoid_kinks(trial *t) {
    problem *p = t->p;
    bool relu = p->options.weighting == ATTN_WEIGHTS_RELU;
    if (t->u.score == ATTN_SCORE_GATV2) {
        to_grid(t, QUERY, 0.25, 0.125, false);
        to_grid(t, KEY, 0.5, 0.0, false);
        to_grid(t, TENSORS + EDGE_KEY, 0.5, 0.0, false);
        if (relu) to_grid(t, TENSORS + VECTOR, 2.0, 0.0, false);
        for (int64_t h = 0; relu && h < t->u.c.heads; h++) set(t, TENSORS + VECTOR, h * t->u.c.d_k, 0.5);
    } else if (t->u.score == ATTN_SCORE_GAT || (relu && t->u.score == ATTN_SCORE_DOT)) {
        to_grid(t, QUERY, 0.25, 0.125, true);
        to_grid(t, KEY, 1.0, 0.5, false);
        to_grid(t, TENSORS + EDGE_KEY, 1.0, 0.0, false);
        to_grid(t, TENSORS + VECTOR, 1.0, 0.5, false);
        to_grid(t, TENSORS + KEY_VECTOR, 0.25, 0.0, false);
    }
    if (relu || t->u.score == ATTN_SCORE_GAT) to_grid(t, TENSORS + EDGE_BIAS, 0.125, 0.0, false);
    if (!relu) return;
    p->options.leaky_slope = t->u.score == ATTN_SCORE_GATV2 ? 0.5f : 0.25f;
    p->options.scale = 0.25f;
}

/* Extra k, [a, b] or (c > 0) [a, b, c], with `gap` floats after every row. */
static void extra_create(trial *t, int k, memory_kind kind, test_random *random, double size, int64_t gap,
                         int64_t a, int64_t b, int64_t c) {
    int64_t shape[3] = {a, b, c}, row = b * (c > 0 ? c : 1) + gap;
    size_t floats = a > 0 ? (size_t)(a * row - gap) : 0;
    t->memory[k] = memory_create(kind, floats * sizeof(float));
    t->d_memory[k] = memory_create(kind, floats * sizeof(float));
    for (size_t e = 0; e < floats; e++) ((float *)t->memory[k].data)[e] = NAN;
    t->extra[k] = attn_tensor_view(t->memory[k].data, c > 0 ? 3 : 2, shape);
    t->extra[k].stride[0] = row;
    t->d_extra[k] = t->extra[k];
    t->d_extra[k].data = t->d_memory[k].data;
    t->count[k] = view_count(&t->extra[k]);
    t->exact[k] = calloc((size_t)t->count[k] + 1, sizeof(double));
    assert_non_null(t->exact[k]);
    for (int64_t e = 0; e < t->count[k]; e++) set(t, TENSORS + k, e, size * (double)random_normal(random));
    ref_attention *r = &t->p->reference;
    ref_tensor *references[EXTRAS] = {&r->score_vector, &r->key_score_vector, &r->edge_bias, &r->edge_key,
                                      &r->edge_value};
    ref_tensor exact = {t->exact[k], t->extra[k].rank, {a, b, c}, {row - gap, c > 0 ? c : 1, 1}};
    *references[k] = exact;
}

static trial *trial_create(const setup *u, const attn_graph *graph) {
    trial *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    t->u = *u;
    t->u.c.queries[0] = attn_graph_rows(graph);
    t->u.c.keys[0] = attn_graph_columns(graph);
    test_random random = {u->c.seed * 3 + 2};
    memory_kind kind = (memory_kind)(u->c.seed % 3);
    int64_t edges = attn_graph_edges(graph), gap = (int64_t)(u->c.seed / 2 % 3);
    problem *p = t->p = problem_create(&t->u.c, kind);
    p->pattern.graph = graph;
    p->options.score = u->score;
    p->options.weighting = (attn_weighting)(u->weighting < 4 ? u->weighting : u->weighting - 3);
    p->options.average = u->weighting > 3;
    p->count[WEIGHTS] = edges * u->c.heads;
    p->memory[WEIGHTS] = memory_create(kind, (size_t)p->count[WEIGHTS] * sizeof(float));
    p->tensor[WEIGHTS] = attn_tensor_view(p->memory[WEIGHTS].data, 1, &p->count[WEIGHTS]);
    double size = 2.0 / sqrt((double)u->c.d_k);
    bool dot = u->score == ATTN_SCORE_DOT || u->score == ATTN_SCORE_NONE, gat = u->score == ATTN_SCORE_GAT;
    if (!dot) extra_create(t, VECTOR, kind, &random, size, 0, u->c.heads, u->c.d_k, 0);
    if (gat) extra_create(t, KEY_VECTOR, kind, &random, size, 0, u->c.heads, u->c.d_k, 0);
    if (u->features & WITH_BIAS) extra_create(t, EDGE_BIAS, kind, &random, 1.0, gap, edges, u->c.heads, 0);
    if ((u->features & WITH_KEY) && !gat && u->score != ATTN_SCORE_NONE)
        extra_create(t, EDGE_KEY, kind, &random, 1.0, gap, edges, u->c.heads, u->c.d_k);
    if (u->features & WITH_VALUE)
        extra_create(t, EDGE_VALUE, kind, &random, 1.0, gap, edges, u->c.heads, u->c.d_v);
    avoid_kinks(t);
    attn_attention_options *o = &p->options;
    o->score_vector = t->extra[VECTOR];
    o->key_score_vector = t->extra[KEY_VECTOR];
    o->edge_bias = t->extra[EDGE_BIAS];
    o->edge_key = t->extra[EDGE_KEY];
    o->edge_value = t->extra[EDGE_VALUE];
    return t;
}

static void trial_destroy(trial *t) {
    for (int k = 0; k < EXTRAS; k++) {
        free(t->exact[k]);
        memory_destroy(&t->memory[k]);
        memory_destroy(&t->d_memory[k]);
    }
    problem_destroy(t->p);
    free(t);
}

static const attn_tensor *view_of(const trial *t, int n) {
    return n < TENSORS ? &t->p->tensor[n] : &t->d_extra[n - TENSORS];
}

static outcome outcome_create(const trial *t) {
    outcome o = {{NULL}};
    for (int n = OUTPUT; n < ALL; n++)
        if (view_of(t, n)->data) o.data[n] = calloc((size_t)count_of(t, n) + 1, sizeof(double));
    return o;
}

static void outcome_destroy(outcome *o) {
    for (int n = 0; n < ALL; n++) free(o->data[n]);
}

/* noise 0: the oracle as it is. */
static outcome trial_oracle(trial *t, uint64_t noise) {
    outcome o = outcome_create(t);
    double **v = o.data, **x = o.data + TENSORS;
    ref_gradients d = {v[D_QUERY], v[D_KEY],      v[D_VALUE],   NULL,        NULL,
                       x[VECTOR],  x[KEY_VECTOR], x[EDGE_BIAS], x[EDGE_KEY], x[EDGE_VALUE]};
    ref_attention *call = &t->p->reference;
    call->noise = noise ? &noise : NULL;
    assert_int_equal(ref_attention_forward(call, v[OUTPUT], v[LOG_SUM_EXP], v[WEIGHTS]), ATTN_OK);
    assert_int_equal(ref_attention_gradients(call, t->p->exact[D_OUTPUT], &d), ATTN_OK);
    call->noise = NULL;
    return o;
}

static attn_status backward(attn_context *context, trial *t) {
    const problem *p = t->p;
    attn_attention_gradients g;
    attn_attention_gradients_init(&g);
    g.query = p->tensor[D_QUERY];
    g.key = p->tensor[D_KEY];
    g.value = p->tensor[D_VALUE];
    g.score_vector = t->d_extra[VECTOR];
    g.key_score_vector = t->d_extra[KEY_VECTOR];
    g.edge_bias = t->d_extra[EDGE_BIAS];
    g.edge_key = t->d_extra[EDGE_KEY];
    g.edge_value = t->d_extra[EDGE_VALUE];
    return attn_attention_backward(context, &p->pattern, &p->options, &p->tensor[QUERY], &p->tensor[KEY],
                                   &p->tensor[VALUE], &p->tensor[OUTPUT], &p->tensor[LOG_SUM_EXP],
                                   &p->tensor[D_OUTPUT], &g);
}

/* Both passes. What lies between the elements of a result must keep its canary. */
static outcome trial_library(attn_context *context, trial *t) {
    outcome o = outcome_create(t);
    for (int pass = 0; pass < 2; pass++) {
        for (int n = OUTPUT; n < ALL; n++) {
            const memory_block *memory = n < TENSORS ? &t->p->memory[n] : &t->d_memory[n - TENSORS];
            float *floats = memory->data;
            for (int64_t e = 0; pass == 1 && o.data[n] && e < count_of(t, n); e++) {
                o.data[n][e] = (double)*view_element(view_of(t, n), e);
                *view_element(view_of(t, n), e) = CANARY;
            }
            for (size_t e = 0; e < memory->bytes / sizeof(float); e++) {
                if (pass == 1 && floats[e] != CANARY)
                    fail_msg("%s: written between its elements", name_of(n));
                floats[e] = CANARY;
            }
        }
        if (pass == 0 && (problem_forward(context, t->p) != ATTN_OK || backward(context, t) != ATTN_OK))
            fail_msg("score %d: %s", (int)t->u.score, attn_context_error(context));
    }
    return o;
}

static void fail_at(const trial *t, const char *who, int n, int64_t where, double got, double want,
                    double allowed) {
    char text[512];
    case_describe(&t->u.c, text, sizeof(text));
    fail_msg("%s: %s[%lld] is %.9g, not %.9g; allowed is %.3g\n  score %d, weighting %d, features %d, edges "
             "%d, %s",
             who, name_of(n), (long long)where, got, want, allowed, (int)t->u.score, t->u.weighting,
             t->u.features, (int)(t->p->count[WEIGHTS] / t->u.c.heads), text);
}

static double finite_error(double a, double oracle) { return isfinite(oracle) ? fabs(a - oracle) : 0.0; }

static void assert_near(const trial *t, const char *isa, int n, const double *library, const double *oracle,
                        int runs, const double *const *noisy) {
    int64_t count = count_of(t, n);
    double one = 0.0, spread = 0.0;
    for (int64_t e = 0; e < count; e++) {
        double squares = 0.0;
        for (int run = 0; run < runs; run++)
            squares += finite_error(noisy[run][e], oracle[e]) * finite_error(noisy[run][e], oracle[e]);
        one = fmax(one, finite_error(noisy[0][e], oracle[e]));
        spread = fmax(spread, sqrt(squares / runs));
    }
    double allowed = 4.0 * one + 2.0 * spread + (double)FLT_MIN;
    for (int64_t e = 0; e < count; e++) {
        bool near = isfinite(oracle[e]) ? fabs(library[e] - oracle[e]) <= allowed
                                        : library[e] == oracle[e] || (isnan(oracle[e]) && isnan(library[e]));
        if (!near) fail_at(t, isa, n, e, library[e], oracle[e], allowed);
    }
}

/* Library against oracle on every instruction set. reach: of the oracle on
 * positions, ON_GRAPH: on the graph. */
enum { ON_GRAPH = -2 };
static void check(const setup *u, const attn_graph *graph, int64_t reach) {
    trial *t = trial_create(u, graph);
    problem *p = t->p;
    bool small = u->c.d_k < 8 || u->c.d_v < 8 || p->count[OUTPUT] + p->count[VALUE] < 600;
    int runs = small ? MOST_RUNS : 3;
    const attn_pattern pattern = p->pattern;
    const attn_tensor weights = p->tensor[WEIGHTS];
    if (reach != ON_GRAPH) {
        p->pattern.graph = NULL;
        p->pattern.left = p->pattern.right = reach;
        p->tensor[WEIGHTS].data = NULL; /* they lie otherwise there */
    }
    outcome oracle = trial_oracle(t, 0), noisy[MOST_RUNS];
    for (int run = 0; run < runs; run++) noisy[run] = trial_oracle(t, 77 + (uint64_t)run);
    p->pattern = pattern;
    p->tensor[WEIGHTS] = weights;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1 + (int)(u->c.seed / 2 % 2));
        if (!context) continue;
        outcome library = trial_library(context, t);
        for (int n = OUTPUT; n < ALL; n++) {
            if (!oracle.data[n]) continue;
            const double *others[MOST_RUNS];
            for (int run = 0; run < runs; run++) others[run] = noisy[run].data[n];
            assert_near(t, test_isa_names[isa], n, library.data[n], oracle.data[n], runs, others);
        }
        outcome_destroy(&library);
    }
    outcome_destroy(&oracle);
    for (int run = 0; run < runs; run++) outcome_destroy(&noisy[run]);
    trial_destroy(t);
}

static void check_kind(const setup *u, graph_kind kind, int64_t n) {
    attn_graph *graph = make_graph(kind, n, u->c.seed);
    check(u, graph, ON_GRAPH);
    attn_graph_destroy(graph);
}

static void assert_bits(const trial *t, const char *what, int n, const double *a, const double *b,
                        int64_t count) {
    for (int64_t e = 0; e < count; e++)
        if (memcmp(&a[e], &b[e], sizeof(double)) != 0) fail_at(t, what, n, e, a[e], b[e], 0.0);
}

static void test_every_combination(void **state) {
    (void)state;
    static const int64_t channels[] = {1, 3, 8, 16, 5};
    uint64_t seed = 1;
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = 0; weighting < WEIGHTINGS; weighting++) {
            for (int features = 0; features <= WITH_ALL; features++, seed++) {
                setup u = setup_simple((attn_score)score, weighting, seed);
                u.features = features;
                u.c.d_k = channels[seed % COUNT(channels)];
                u.c.d_v = channels[seed / 2 % COUNT(channels)];
                u.c.dropout = seed % 5 == 0 ? 0.3f : 0.0f;
                u.c.first_sequence = (int64_t)seed;
                check_kind(&u, RANDOM, 14);
            }
        }
    }
}

static void test_channels_and_heads(void **state) {
    (void)state;
    static const int64_t channels[] = {1, 3, 8, 16, 64, 100};
    static const int64_t heads[][2] = {{1, 1}, {2, 2}, {3, 3}, {8, 8}, {4, 2}, {8, 1}};
    uint64_t seed = 1000;
    for (int score = 0; score < SCORES; score++) {
        for (size_t d = 0; d < COUNT(channels); d++) {
            for (size_t h = 0; h < COUNT(heads); h++, seed++) {
                setup u = setup_simple((attn_score)score, (int)(seed % WEIGHTINGS), seed);
                u.features = (int)(seed * 5 % 8);
                u.c.d_k = channels[d];
                u.c.d_v = h % 2 ? channels[d] : channels[(d + h) % COUNT(channels)];
                u.c.heads = heads[h][0];
                u.c.kv_heads = heads[h][1];
                check_kind(&u, h % 2 ? RANDOM : REPEATED, u.c.d_k > 16 ? 5 : 9);
            }
        }
    }
}

/* All shapes of graphs in all three-dimensional layouts. */
static void test_kinds_and_layouts(void **state) {
    (void)state;
    uint64_t seed = 2000;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int score = 0; score < SCORES; score++) {
            for (int64_t n = 1; n < 40; n = 3 * n + 1, seed++) {
                setup u = setup_simple((attn_score)score, (int)(seed % WEIGHTINGS), seed);
                u.c.layout = (case_layout)(seed % LAYOUT_BNHD);
                u.features = (int)(seed / 3 % 8);
                u.c.dropout = seed % 4 == 0 ? 0.5f : 0.0f;
                u.c.softcap = score == ATTN_SCORE_DOT && seed % 2 ? 2.0f : 0.0f;
                if (kind == COMPLETE && n > 15) continue;
                check_kind(&u, (graph_kind)kind, n);
            }
        }
    }
    setup u = setup_simple(ATTN_SCORE_GATV2, 0, 3);
    check_kind(&u, NO_EDGES, 0); /* and nothing at all */
}

/* Row 0 sees `edges` columns, column 1 is seen by `edges` rows; numbers mixed. */
static attn_graph *make_hubs(int64_t edges) {
    int64_t n = edges / 4;
    edge *list = edges_create(2 * edges);
    for (int64_t e = 0; e < edges; e++) {
        list[2 * e][0] = 0;
        list[2 * e][1] = e * 7 % n;
        list[2 * e + 1][0] = e * 11 % n;
        list[2 * e + 1][1] = 1;
    }
    return graph_of(n, n, 2 * edges, list);
}

static void test_hubs(void **state) {
    (void)state;
    attn_graph *graph = make_hubs(20000);
    for (int score = 0; score < SCORES; score++) {
        setup u =
            setup_simple((attn_score)score, score % 2 ? 0 : (score + 5) % WEIGHTINGS, 3000 + (uint64_t)score);
        u.c.heads = u.c.kv_heads = 1;
        u.c.d_k = 4;
        u.features = score % 2 ? WITH_ALL : WITH_BIAS;
        u.c.dropout = score == 3 ? 0.1f : 0.0f;
        check(&u, graph, ON_GRAPH);
    }
    attn_graph_destroy(graph);
}

static attn_graph *make_window(int64_t n, int64_t reach) {
    edge *list = edges_create(n * n);
    int64_t edges = 0;
    for (int64_t e = 0; e < n * n; e++) {
        list[edges][0] = e % n;
        list[edges][1] = e / n;
        if (llabs(e % n - e / n) <= reach) edges++;
    }
    return graph_of(n, n, edges, list);
}

/* A complete graph is full attention, and a window may be written as a graph. */
static void test_as_positions(void **state) {
    (void)state;
    attn_graph *complete = make_graph(COMPLETE, 20, 5), *window = make_window(30, 3);
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = 0; weighting < WEIGHTINGS; weighting++) {
            setup u = setup_simple((attn_score)score, weighting, 4000 + (uint64_t)weighting);
            u.c.kv_heads = weighting % 2 ? 1 : 2;
            check(&u, complete, ATTN_UNLIMITED);
            check(&u, window, 3);
        }
    }
    attn_graph_destroy(complete);
    attn_graph_destroy(window);
}

/* Three edges in an order of their own: the weights lie by their numbers. */
static void test_weights_by_number(void **state) {
    (void)state;
    static const edge three[3] = {{1, 0}, {0, 1}, {1, 1}};
    static const double bias[6] = {1.0, 0.0, 5.0, 5.0, 2.0, 3.0};
    const double low[2] = {1.0 / (1.0 + exp(1.0)), 1.0 / (1.0 + exp(3.0))};
    const double expected[6] = {low[0], low[1], 1.0, 1.0, 1.0 - low[0], 1.0 - low[1]};
    edge *list = edges_create(3);
    memcpy(list, three, sizeof(three));
    attn_graph *graph = graph_of(2, 2, 3, list);
    setup u = setup_simple(ATTN_SCORE_NONE, 0, 4203);
    u.features = WITH_BIAS;
    trial *t = trial_create(&u, graph);
    for (int64_t e = 0; e < 6; e++) set(t, TENSORS + EDGE_BIAS, e, bias[e]);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        outcome o = trial_library(test_context(isa, 1), t);
        for (int e = 0; e < 6; e++) assert_true(fabs(o.data[WEIGHTS][e] - expected[e]) <= 2e-7);
        outcome_destroy(&o);
    }
    trial_destroy(t);
    attn_graph_destroy(graph);
}

static void check_threads(const setup *u, const attn_graph *graph) {
    trial *t = trial_create(u, graph);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        outcome one = trial_library(test_context(isa, 1), t);
        for (int threads = 2; threads <= 7; threads += 5) {
            outcome more = trial_library(test_context(isa, threads), t);
            for (int n = OUTPUT; n < ALL; n++)
                if (one.data[n]) assert_bits(t, "threads", n, one.data[n], more.data[n], count_of(t, n));
            outcome_destroy(&more);
        }
        outcome_destroy(&one);
    }
    trial_destroy(t);
}

static void test_threads(void **state) {
    (void)state;
    attn_graph *hubs = make_hubs(10000), *random = make_graph(RANDOM, 900, 5);
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = score % 2; weighting < WEIGHTINGS; weighting += 2) {
            setup u = setup_simple((attn_score)score, weighting, 5000 + (uint64_t)weighting);
            u.features = weighting % 4 ? WITH_ALL : 0;
            u.c.kv_heads = weighting > 3 ? 1 : 2;
            u.c.dropout = 0.2f;
            check_threads(&u, random);
            if (weighting == score % 2 + 2) check_threads(&u, hubs);
        }
    }
    attn_graph_destroy(hubs);
    attn_graph_destroy(random);
}

/* Part `graph` of a batch by itself: its rows, columns and edges begin at the
 * places `at` of the batch, which has `total` of them. */
static void check_part(attn_context *context, const trial *all, const outcome *whole, const attn_graph *graph,
                       const int64_t at[3], const int64_t total[3]) {
    setup u = all->u;
    u.c.first_sequence += at[2];
    trial *t = trial_create(&u, graph);
    int64_t first[ALL]; /* the element at which the part begins; the vectors are shared */
    for (int n = 0; n < ALL; n++) {
        int unit = n == WEIGHTS || n >= TENSORS ? 2 : n == KEY || n == VALUE || n == D_KEY || n == D_VALUE;
        first[n] = n >= TENSORS && n < TENSORS + EDGE_BIAS ? 0 : at[unit] * (count_of(all, n) / total[unit]);
    }
    for (int n = 0; n < OUTPUT; n++)
        for (int64_t e = 0; t->p->exact[n] && e < count_of(t, n); e++)
            set(t, n, e, all->p->exact[n][first[n] + e]);
    for (int k = 0; k < EXTRAS; k++)
        for (int64_t e = 0; e < t->count[k]; e++)
            set(t, TENSORS + k, e, all->exact[k][first[TENSORS + k] + e]);
    outcome one = trial_library(context, t);
    for (int n = OUTPUT; n < ALL; n++)
        if (one.data[n] && (n < TENSORS || n >= TENSORS + EDGE_BIAS))
            assert_bits(t, "batch", n, whole->data[n] + first[n], one.data[n], count_of(t, n));
    outcome_destroy(&one);
    trial_destroy(t);
}

static void test_alone_and_in_a_batch(void **state) {
    (void)state;
    enum { PARTS = 5 };
    attn_graph *parts[PARTS] = {make_graph(RANDOM, 12, 1), make_graph(NO_EDGES, 4, 2), make_hubs(6000),
                                make_graph(RECTANGLE, 30, 3), make_graph(REPEATED, 9, 4)};
    const attn_graph *const graphs[PARTS] = {parts[0], parts[1], parts[2], parts[3], parts[4]};
    attn_graph *batch = NULL;
    assert_int_equal(attn_graph_batch(test_context(0, 1), PARTS, graphs, &batch), ATTN_OK);
    const int64_t total[3] = {attn_graph_rows(batch), attn_graph_columns(batch), attn_graph_edges(batch)};
    for (int score = 0; score < SCORES; score++) {
        setup u = setup_simple((attn_score)score, score * 3 % WEIGHTINGS, 6000 + (uint64_t)score);
        u.features = WITH_ALL;
        u.c.dropout = 0.3f;
        u.c.first_sequence = 100;
        trial *all = trial_create(&u, batch);
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            if (!test_context(isa, 1)) continue;
            outcome whole = trial_library(test_context(isa, 2), all);
            int64_t at[3] = {0, 0, 0};
            for (int b = 0; b < PARTS; b++) {
                check_part(test_context(isa, 1), all, &whole, graphs[b], at, total);
                at[0] += attn_graph_rows(graphs[b]);
                at[1] += attn_graph_columns(graphs[b]);
                at[2] += attn_graph_edges(graphs[b]);
            }
            outcome_destroy(&whole);
        }
        trial_destroy(all);
    }
    for (int b = 0; b < PARTS; b++) attn_graph_destroy(parts[b]);
    attn_graph_destroy(batch);
}

/* A NaN or an infinity in one node (its query, or its key or value) shows in
 * the rows that see it, and in the gradients of what those see; nowhere else. */
static void check_special(attn_context *context, const setup *u, const attn_graph *graph, tensor_id id,
                          float value) {
    static const tensor_id results[] = {OUTPUT, LOG_SUM_EXP, D_QUERY, D_KEY, D_VALUE};
    const int64_t bad = 5, n = attn_graph_rows(graph), heads = u->c.heads;
    const int64_t *offsets = attn_graph_row_offsets(graph), *numbers = attn_graph_edge_numbers(graph);
    const int32_t *seen = attn_graph_column_indices(graph);
    bool rows[64] = {false}, columns[64] = {false};
    trial *t = trial_create(u, graph);
    outcome clean = trial_library(context, t);
    for (int64_t h = 0; h < u->c.kv_heads; h++)
        set(t, id, problem_index(t->p, id, 0, bad, h, 0), (double)value);
    outcome spoilt = trial_library(context, t);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++)
            rows[i] = rows[i] || (id == QUERY ? i : seen[e]) == bad;
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) {
            if (rows[i]) columns[seen[e]] = true;
            if (!rows[i])
                assert_bits(t, "special", WEIGHTS, clean.data[WEIGHTS] + numbers[e] * heads,
                            spoilt.data[WEIGHTS] + numbers[e] * heads, heads);
        }
        for (int64_t h = 0; rows[i] && isnan(value) && h < heads; h++)
            assert_true(isnan(spoilt.data[OUTPUT][(i * heads + h) * u->c.d_v]));
    }
    assert_true(id == QUERY ? rows[bad] : columns[bad]);
    for (size_t k = 0; k < COUNT(results); k++) {
        int64_t a_row = t->p->count[results[k]] / n;
        for (int64_t i = 0; i < n; i++)
            if (!(results[k] == D_KEY || results[k] == D_VALUE ? columns : rows)[i])
                assert_bits(t, "special", results[k], clean.data[results[k]] + i * a_row,
                            spoilt.data[results[k]] + i * a_row, a_row);
    }
    outcome_destroy(&clean);
    outcome_destroy(&spoilt);
    trial_destroy(t);
}

static void test_special_numbers(void **state) {
    (void)state;
    static const float special[] = {NAN, INFINITY, -INFINITY};
    static const tensor_id inputs[] = {QUERY, KEY, VALUE};
    edge *list = edges_create(160);
    test_random random = {8};
    for (int64_t e = 0; e < 160; e++) { /* row 10 sees many; row 5 and column 5 have edges */
        list[e][0] = e < 100 ? random_between(&random, 0, 39) : e < 155 ? 10 : 5 * (e % 2);
        list[e][1] = e < 155 ? random_between(&random, 0, 39) : 5;
    }
    attn_graph *graph = graph_of(40, 40, 160, list);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        for (size_t k = 0; test_context(isa, 1) && k < 16 * COUNT(special) * COUNT(inputs); k++) {
            setup u = setup_simple((attn_score)(k / 9 % 4), (int)(k / 36), 7000 + k); /* all but NONE */
            u.c.d_k = u.c.d_v = k % 2 ? 3 : 16;
            check_special(test_context(isa, 1), &u, graph, inputs[k / 3 % 3], special[k % 3]);
        }
    }
    attn_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_by_number),
        cmocka_unit_test(test_every_combination),
        cmocka_unit_test(test_channels_and_heads),
        cmocka_unit_test(test_kinds_and_layouts),
        cmocka_unit_test(test_hubs),
        cmocka_unit_test(test_as_positions),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_alone_and_in_a_batch),
        cmocka_unit_test(test_special_numbers),

    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
