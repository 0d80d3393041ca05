/* test_scores.c: the other scores and the other weightings on positions,
 * against the oracle; and the oracle itself, on positions and on a graph,
 * against signed differences.
 *
 * The tolerance of a result is derived from the oracle with the roundings of
 * f32 put in (ref_attention's noise): with e_1, e_2, .. the errors of a few such
 * runs, the library may be off by 4 max |e_1| + 2 max rms(e_1, e_2, ..). Small
 * tensors, whose largest error is left more to chance, get more runs.
 *
 * ReLU and leaky ReLU have a kink at 0, where a rounding decides between two
 * derivatives. Inputs are therefore put on grids of binary fractions on which
 * what goes into a kink is an odd multiple of 1/64 at the least.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SCORES 5
#define MOST_RUNS 6

static const char *const score_names[SCORES] = {"DOT", "ADDITIVE", "GAT", "GATV2", "NONE"};

/* Weightings 0 .. 3 are attn_weighting, 4 .. 6 the last three with the average. */
#define WEIGHTINGS 7
static void set_weighting(attn_attention_options *options, int weighting) {
    options->weighting = (attn_weighting)(weighting < 4 ? weighting : weighting - 3);
    options->average = weighting > 3;
}

/* ---- a problem with a score --------------------------------------------------------------------- */

/* The vectors are score_vector and key_score_vector, [heads, d_k]. */
typedef struct scored {
    problem *p;
    int vectors; /* 0 .. 2: how many the score has */
    int64_t entries;
    float *vector[2], *d_vector[2];
    double *exact[2];
} scored;

typedef struct outcome {
    values *v;
    double *d_vector[2];
} outcome;

static void *zeroed(int64_t count, size_t bytes) {
    void *memory = calloc((size_t)count + 1, bytes);
    assert_non_null(memory);
    return memory;
}

static double on_grid(double x, double step) { return step * floor(x / step + 0.5); }

/* Rounds an input to a grid and shifts it, or its channel 0 alone. */
static void to_grid(problem *p, tensor_id id, double step, double shift, bool first_channel) {
    if (!p->tensor[id].data) return;
    int64_t channels = p->tensor[id].shape[p->tensor[id].rank - 1];
    for (int64_t e = 0; e < p->count[id]; e++) {
        double x = on_grid(p->exact[id][e], step);
        problem_set(p, id, e, (float)(first_channel && e % channels ? x : x + shift));
    }
}

/* Products and sums on these grids are odd multiples of a power of two. */
static void avoid_kinks(scored *s) {
    problem *p = s->p;
    attn_attention_options *options = &p->options;
    bool relu = options->weighting == ATTN_WEIGHTS_RELU;
    if (options->score == ATTN_SCORE_GATV2) {
        to_grid(p, QUERY, 0.25, 0.125, false);
        to_grid(p, KEY, 0.5, 0.0, false);
    } else if (options->score == ATTN_SCORE_GAT || (relu && options->score == ATTN_SCORE_DOT)) {
        to_grid(p, QUERY, 0.25, 0.125, true);
        to_grid(p, KEY, 1.0, 0.5, false);
    }
    for (int64_t e = 0; e < s->entries; e++) {
        bool first = e % p->c.d_k == 0;
        if (options->score == ATTN_SCORE_GAT) {
            s->vector[0][e] = (float)on_grid((double)s->vector[0][e], 1.0) + 0.5f;
            s->vector[1][e] = (float)on_grid((double)s->vector[1][e], 0.25);
        } else if (options->score == ATTN_SCORE_GATV2 && relu) {
            s->vector[0][e] = first ? 0.5f : (float)on_grid((double)s->vector[0][e], 2.0);
        }
    }
    if (!relu) return;
    options->leaky_slope = options->score == ATTN_SCORE_GATV2 ? 0.5f : 0.25f;
    to_grid(p, BIAS, 0.125, 0.0, false);
    to_grid(p, DISTANCE, 0.125, 0.0, false);
    for (int64_t h = 0; options->alibi_slopes && h < p->c.heads; h++)
        ((float *)p->alibi_memory.data)[h] = 0.125f * (float)(h + 1);
    if (p->c.bias || p->c.distance_reach >= 0 || p->c.alibi) options->scale = 0.25f;
}

static scored *scored_create(const test_case *c, attn_score score, int weighting) {
    scored *s = zeroed(1, sizeof(*s));
    test_random random = {c->seed * 5 + 3};
    s->p = problem_create(c, MEMORY_PLAIN);
    attn_attention_options *options = &s->p->options;
    options->score = score;
    set_weighting(options, weighting);
    if (score != ATTN_SCORE_DOT) options->softcap = 0.0f;
    s->vectors = score == ATTN_SCORE_GAT ? 2 : score == ATTN_SCORE_ADDITIVE || score == ATTN_SCORE_GATV2;
    s->entries = s->vectors > 0 ? c->heads * c->d_k : 0;
    attn_tensor *views[2] = {&options->score_vector, &options->key_score_vector};
    ref_tensor *references[2] = {&s->p->reference.score_vector, &s->p->reference.key_score_vector};
    for (int k = 0; k < 2; k++) {
        s->vector[k] = zeroed(s->entries, sizeof(float));
        s->d_vector[k] = zeroed(s->entries, sizeof(float));
        s->exact[k] = zeroed(s->entries, sizeof(double));
        for (int64_t e = 0; e < s->entries; e++)
            s->vector[k][e] = 2.0f * random_normal(&random) / sqrtf((float)c->d_k);
    }
    avoid_kinks(s);
    for (int k = 0; k < s->vectors; k++) {
        for (int64_t e = 0; e < s->entries; e++) s->exact[k][e] = (double)s->vector[k][e];
        *views[k] = attn_tensor_matrix(s->vector[k], c->heads, c->d_k);
        ref_tensor exact = {
            .data = s->exact[k], .rank = 2, .shape = {c->heads, c->d_k}, .stride = {c->d_k, 1}};
        *references[k] = exact;
    }
    return s;
}

static void scored_destroy(scored *s) {
    for (int k = 0; k < 2; k++) {
        free(s->vector[k]);
        free(s->d_vector[k]);
        free(s->exact[k]);
    }
    problem_destroy(s->p);
    free(s);
}

static void outcome_destroy(outcome *o) {
    values_destroy(o->v);
    free(o->d_vector[0]);
    free(o->d_vector[1]);
}

/* noise 0: none. */
static outcome run_scored_oracle(scored *s, uint64_t noise) {
    outcome o;
    s->p->reference.noise = noise ? &noise : NULL;
    o.v = run_oracle(s->p, RUN_FORWARD);
    for (int k = 0; k < 2; k++) o.d_vector[k] = zeroed(s->entries, sizeof(double));
    ref_gradients d = {.query = o.v->data[D_QUERY],
                       .key = o.v->data[D_KEY],
                       .value = o.v->data[D_VALUE],
                       .bias = o.v->data[D_BIAS],
                       .distance_bias = o.v->data[D_DISTANCE],
                       .score_vector = s->vectors > 0 ? o.d_vector[0] : NULL,
                       .key_score_vector = s->vectors > 1 ? o.d_vector[1] : NULL};
    assert_int_equal(ref_attention_gradients(&s->p->reference, s->p->exact[D_OUTPUT], &d), ATTN_OK);
    s->p->reference.noise = NULL;
    return o;
}

/* The gradients of the vectors by themselves, or (odd seeds) with all others. */
static void run_vectors(attn_context *context, scored *s, outcome *o) {
    problem *p = s->p;
    attn_attention_gradients gradients;
    attn_attention_gradients_init(&gradients);
    if (s->vectors > 0) gradients.score_vector = attn_tensor_matrix(s->d_vector[0], p->c.heads, p->c.d_k);
    if (s->vectors > 1) gradients.key_score_vector = attn_tensor_matrix(s->d_vector[1], p->c.heads, p->c.d_k);
    if (p->c.seed % 2) {
        gradients.query = p->tensor[D_QUERY];
        gradients.key = p->tensor[D_KEY];
        gradients.value = p->tensor[D_VALUE];
        gradients.bias = p->tensor[D_BIAS];
        gradients.distance_bias = p->tensor[D_DISTANCE];
    }
    for (int k = 0; k < 2; k++)
        for (int64_t e = 0; e < s->entries; e++) s->d_vector[k][e] = CANARY;
    attn_status status = attn_attention_backward(context, &p->pattern, &p->options, &p->tensor[QUERY],
                                                 &p->tensor[KEY], &p->tensor[VALUE], &p->tensor[OUTPUT],
                                                 &p->tensor[LOG_SUM_EXP], &p->tensor[D_OUTPUT], &gradients);
    if (status != ATTN_OK) fail_msg("backward: %s", attn_context_error(context));
    for (int id = D_QUERY; p->c.seed % 2 && id < TENSORS; id++)
        for (int64_t e = 0; o->v->data[id] && e < p->count[id]; e++)
            o->v->data[id][e] = (double)*view_element(&p->tensor[id], e);
    for (int k = 0; k < 2; k++)
        for (int64_t e = 0; e < s->entries; e++) o->d_vector[k][e] = (double)s->d_vector[k][e];
}

static outcome run_scored_library(attn_context *context, scored *s) {
    outcome o;
    o.v = run_library(context, s->p, RUN_BOTH);
    for (int k = 0; k < 2; k++) o.d_vector[k] = zeroed(s->entries, sizeof(double));
    if (s->vectors > 0) run_vectors(context, s, &o);
    return o;
}

static void describe(const scored *s, char *text, size_t bytes) {
    int used = snprintf(text, bytes, "%s, weighting %d, average %d, ", score_names[s->p->options.score],
                        (int)s->p->options.weighting, s->p->options.average);
    case_describe(&s->p->c, text + used, bytes - (size_t)used);
}

static double finite_error(double a, double oracle) { return isfinite(oracle) ? fabs(a - oracle) : 0.0; }

/* Fails the test unless a result is near the oracle, by the rule above. */
static void assert_near(const scored *s, const char *isa, const char *name, int64_t count,
                        const double *library, const double *oracle, int runs, const double *const *noisy) {
    double one = 0.0, spread = 0.0, most = 0.0;
    int64_t where = 0;
    for (int64_t e = 0; e < count; e++) {
        double squares = 0.0;
        for (int run = 0; run < runs; run++)
            squares += finite_error(noisy[run][e], oracle[e]) * finite_error(noisy[run][e], oracle[e]);
        one = fmax(one, finite_error(noisy[0][e], oracle[e]));
        spread = fmax(spread, sqrt(squares / runs));
        double error = finite_error(library[e], oracle[e]);
        if (!isfinite(oracle[e]) ? !(library[e] == oracle[e] || (isnan(library[e]) && isnan(oracle[e])))
                                 : !(error <= most)) {
            most = isfinite(oracle[e]) && isfinite(library[e]) ? error : INFINITY;
            where = e;
        }
        if (isinf(most)) break;
    }
    double allowed = 4.0 * one + 2.0 * spread + (double)FLT_MIN;
    if (most <= allowed) return;
    char text[640];
    describe(s, text, sizeof(text));
    fail_msg("%s: %s[%lld] is %.9g, the oracle has %.9g: off by %.3g, allowed is %.3g\n  %s", isa, name,
             (long long)where, library[where], oracle[where], most, allowed, text);
}

static void check_scored(scored *s) {
    static const char *const vector_names[2] = {"d_score_vector", "d_key_score_vector"};
    bool small = s->p->c.d_k < 8 || s->p->c.d_v < 8 || s->p->count[OUTPUT] + s->p->count[VALUE] < 600;
    int runs = small ? MOST_RUNS : 3;
    outcome oracle = run_scored_oracle(s, 0), noisy[MOST_RUNS];
    for (int run = 0; run < runs; run++) noisy[run] = run_scored_oracle(s, 77 + (uint64_t)run);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1 + (int)(s->p->c.seed / 2 % 2));
        if (!context) continue;
        outcome library = run_scored_library(context, s);
        const double *errors[MOST_RUNS];
        for (int id = OUTPUT; id < TENSORS; id++) {
            if (!library.v->data[id]) continue;
            for (int run = 0; run < runs; run++) errors[run] = noisy[run].v->data[id];
            assert_near(s, test_isa_names[isa], tensor_names[id], s->p->count[id], library.v->data[id],
                        oracle.v->data[id], runs, errors);
        }
        for (int k = 0; k < s->vectors; k++) {
            for (int run = 0; run < runs; run++) errors[run] = noisy[run].d_vector[k];
            assert_near(s, test_isa_names[isa], vector_names[k], s->entries, library.d_vector[k],
                        oracle.d_vector[k], runs, errors);
        }
        outcome_destroy(&library);
    }
    outcome_destroy(&oracle);
    for (int run = 0; run < runs; run++) outcome_destroy(&noisy[run]);
}

static void check(const test_case *c, int score, int weighting) {
    scored *s = scored_create(c, (attn_score)score, weighting);
    check_scored(s);
    scored_destroy(s);
}

/* ---- the library against the oracle ------------------------------------------------------------- */

static void set_pattern(test_case *c, int alternative) {
    static const int64_t reaches[][2] = {{-1, -1}, {-1, 0}, {5, 5}, {9, 0}, {3, -1}, {0, 2}};
    c->left = reaches[alternative % 6][0];
    c->right = reaches[alternative % 6][1];
    c->align = alternative % 2 ? ATTN_ALIGN_END : ATTN_ALIGN_START;
}

/* Every score with every weighting: lengths, channels and reach in turn. */
static void test_lengths_and_channels(void **state) {
    (void)state;
    static const int64_t lengths[][2] = {{0, 3},   {3, 0},   {1, 1},   {2, 5},  {7, 7},
                                         {16, 17}, {33, 20}, {3, 130}, {40, 33}};
    static const int64_t channels[] = {1, 3, 8, 16, 64, 100};
    uint64_t seed = 1;
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = 0; weighting < WEIGHTINGS; weighting++) {
            for (size_t k = 0; k < COUNT(lengths); k++, seed++) {
                test_case c = case_simple(lengths[k][0], lengths[k][1]);
                c.d_k = channels[(k + (size_t)weighting) % COUNT(channels)];
                c.d_v = channels[(k + (size_t)weighting * 2 + (size_t)score) % COUNT(channels)];
                set_pattern(&c, (int)(seed % 6));
                c.weights = seed % 2;
                c.seed = seed;
                check(&c, score, weighting);
            }
        }
    }
}

/* Ragged batches, with sequences of length 0 and 1, in every layout and with
 * all kinds of heads. */
static void test_ragged_batches(void **state) {
    (void)state;
    static const int64_t heads[][2] = {{1, 1}, {2, 2}, {3, 3}, {8, 8}, {4, 2}, {6, 1}, {8, 4}};
    static const int64_t queries[] = {12, 0, 1, 21, 6}, keys[] = {9, 4, 0, 35, 1};
    for (int score = 0; score < SCORES; score++) {
        for (int k = 0; k < LAYOUTS + 3; k++) {
            test_case c = case_simple(0, 0);
            c.sequences = 5;
            memcpy(c.queries, queries, sizeof(queries));
            memcpy(c.keys, keys, sizeof(keys));
            c.heads = heads[k % (int)COUNT(heads)][0];
            c.kv_heads = heads[k % (int)COUNT(heads)][1];
            c.d_k = k % 2 ? 8 : 5;
            c.layout = (case_layout)(k % LAYOUTS);
            c.dropout = k % 3 == 0 ? 0.3f : 0.0f;
            c.weights = true;
            set_pattern(&c, k);
            c.seed = 300 + (uint64_t)k;
            check(&c, score, (k + score) % WEIGHTINGS);
        }
    }
}

static void test_masks(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        for (int mask = 1; mask < MASKS; mask++) {
            for (int weighting = 0; weighting < WEIGHTINGS; weighting += 2) {
                test_case c = case_simple(10, 150);
                c.heads = c.kv_heads = 2;
                c.d_k = 7;
                c.mask = (case_mask)mask;
                c.weights = true;
                c.seed = 400 + (uint64_t)mask;
                set_pattern(&c, mask + weighting);
                check(&c, score, weighting);
            }
        }
    }
}

/* Every broadcast of the bias, with -inf and without, its gradient included. */
static void test_bias(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        for (int shared = 0; shared < 16; shared++) {
            test_case c = case_simple(11, 18);
            c.sequences = 2;
            c.queries[1] = 5;
            c.keys[1] = 40;
            c.heads = c.kv_heads = 2;
            c.d_k = 5;
            c.bias = true;
            c.bias_shared = shared;
            c.bias_order = (case_order)(shared % ORDERS);
            c.bias_infinities = shared % 2 == 0;
            c.weights = true;
            c.seed = 500 + (uint64_t)shared;
            check(&c, score, (shared + score) % WEIGHTINGS);
        }
    }
}

static void test_distance_and_alibi(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = 0; weighting < WEIGHTINGS; weighting++) {
            test_case c = case_simple(15, 26);
            c.heads = 4;
            c.kv_heads = 2;
            c.distance_reach = weighting * 3;
            c.distance_shared = weighting % 2;
            c.distance_infinities = weighting % 3 == 1;
            c.alibi = weighting % 2 == 0;
            c.align = weighting % 2 ? ATTN_ALIGN_END : ATTN_ALIGN_START;
            c.seed = 600 + (uint64_t)weighting;
            check(&c, score, weighting);
            c.distance_reach = -1;
            c.alibi = true;
            check(&c, score, weighting);
        }
    }
}

/* Several tiles, and few queries against many keys. */
static void test_long(void **state) {
    (void)state;
    static const int64_t lengths[][2] = {{90, 150}, {2, 1200}, {140, 40}};
    for (int score = 0; score < SCORES; score++) {
        for (size_t k = 0; k < COUNT(lengths); k++) {
            test_case c = case_simple(lengths[k][0], lengths[k][1]);
            c.seed = 700 + k;
            c.right = k == 1 ? 0 : ATTN_UNLIMITED;
            c.align = ATTN_ALIGN_END;
            if (score == ATTN_SCORE_DOT) c.softcap = 1.5f;
            check(&c, score, (int)(k * 2 + (size_t)score) % WEIGHTINGS);
        }
    }
}

static void test_random_combinations(void **state) {
    (void)state;
    test_random random = {31};
    for (int k = 0; k < 100; k++) {
        test_case c = case_random(&random, 24);
        c.amplitude = 1.0f;
        if (c.d_k > 128) c.d_v = 3;
        check(&c, (int)random_between(&random, 0, SCORES - 1),
              (int)random_between(&random, 0, WEIGHTINGS - 1));
    }
}

/* Queries and keys of 0: everything is in its kink. */
static void test_derivatives_at_zero(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = 0; weighting < WEIGHTINGS; weighting++) {
            test_case c = case_simple(6, 9);
            c.seed = 900;
            scored *s = scored_create(&c, (attn_score)score, weighting);
            for (int64_t e = 0; e < s->p->count[QUERY]; e++) problem_set(s->p, QUERY, e, 0.0f);
            for (int64_t e = 0; e < s->p->count[KEY]; e++) problem_set(s->p, KEY, e, 0.0f);
            check_scored(s);
            scored_destroy(s);
        }
    }
}

/* Without a score the weights are the softmax of the bias: worked out here,
 * with its gradient; what is in queries and keys does not matter. */
static void test_fixed_weights(void **state) {
    (void)state;
    test_case c = case_simple(9, 14);
    c.bias = c.weights = true;
    c.d_v = 5;
    c.seed = 951;
    scored *s = scored_create(&c, ATTN_SCORE_NONE, 0);
    problem *p = s->p;
    check_scored(s);
    outcome oracle = run_scored_oracle(s, 0);
    for (int64_t i = 0; i < 9; i++) {
        double sum = 0.0, mean = 0.0, d_weight[14], weight[14];
        for (int64_t j = 0; j < 14; j++) sum += exp(p->exact[BIAS][i * p->tensor[BIAS].shape[3] + j]);
        for (int64_t j = 0; j < 14; j++) {
            weight[j] = exp(p->exact[BIAS][i * p->tensor[BIAS].shape[3] + j]) / sum;
            assert_true(fabs(weight[j] - oracle.v->data[WEIGHTS][i * 14 + j]) <= 1e-14);
            d_weight[j] = 0.0;
            for (int64_t e = 0; e < 5; e++)
                d_weight[j] += p->exact[D_OUTPUT][i * 5 + e] * p->exact[VALUE][j * 5 + e];
            mean += weight[j] * d_weight[j];
        }
        for (int64_t e = 0; e < 5; e++) {
            double out = 0.0;
            for (int64_t j = 0; j < 14; j++) out += weight[j] * p->exact[VALUE][j * 5 + e];
            assert_true(fabs(out - oracle.v->data[OUTPUT][i * 5 + e]) <= 1e-13);
        }
        for (int64_t j = 0; j < 14; j++) {
            double d_bias = oracle.v->data[D_BIAS][i * p->tensor[BIAS].shape[3] + j];
            assert_true(fabs(weight[j] * (d_weight[j] - mean) - d_bias) <= 1e-13);
        }
    }
    outcome_destroy(&oracle);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        for (int64_t e = 0; e < p->count[QUERY]; e++) problem_set(p, QUERY, e, 1.0f);
        for (int64_t e = 0; e < p->count[KEY]; e++) problem_set(p, KEY, e, 1.0f);
        values *before = run_library(test_context(isa, 1), p, RUN_BOTH);
        for (int64_t e = 0; e < p->count[QUERY]; e++) problem_set(p, QUERY, e, NAN);
        for (int64_t e = 0; e < p->count[KEY]; e++) problem_set(p, KEY, e, INFINITY);
        values *after = run_library(test_context(isa, 1), p, RUN_BOTH);
        assert_same_bits(p, "other queries and keys", before, after);
        for (int64_t e = 0; e < p->count[D_QUERY]; e++) assert_true(after->data[D_QUERY][e] == 0.0);
        for (int64_t e = 0; e < p->count[D_KEY]; e++) assert_true(after->data[D_KEY][e] == 0.0);
        values_destroy(before);
        values_destroy(after);
    }
    scored_destroy(s);
}

static void test_threads(void **state) {
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = score % 2; weighting < WEIGHTINGS; weighting += 2) {
            test_case c = case_simple(50, 70);
            c.sequences = 3;
            c.queries[1] = 1;
            c.keys[1] = 200;
            c.queries[2] = c.keys[2] = 20;
            c.heads = 4;
            c.kv_heads = 2;
            c.dropout = weighting % 2 ? 0.1f : 0.0f;
            c.bias = c.weights = true;
            c.bias_shared = SHARE_SEQUENCE | SHARE_HEAD;
            c.seed = 1001;
            scored *s = scored_create(&c, (attn_score)score, weighting);
            for (int isa = 0; isa < TEST_ISAS; isa++) {
                if (!test_context(isa, 1)) continue;
                outcome one = run_scored_library(test_context(isa, 1), s);
                for (int threads = 2; threads <= 7; threads += 5) {
                    outcome more = run_scored_library(test_context(isa, threads), s);
                    assert_same_bits(s->p, score_names[score], one.v, more.v);
                    for (int v = 0; v < s->vectors; v++)
                        assert_memory_equal(one.d_vector[v], more.d_vector[v],
                                            (size_t)s->entries * sizeof(double));
                    outcome_destroy(&more);
                }
                outcome_destroy(&one);
            }
            scored_destroy(s);
        }
    }
}

/* ---- the oracle against differences ------------------------------------------------------------- */

enum { INPUTS = 10, MOST = 128, NO_BIAS = 1, NO_EDGES = 2 };

/* A call of the oracle, in which nothing that a difference does reaches a kink:
 *
 *   - |q| is in [1, 2] with one sign a row and head, |k| <= 1/2 and what the edge
 *     adds to it <= 1/5, a in [1/2, 1], |b| <= 1/2: q + k is 1/4 from 0 at the
 *     least, a . q + b . k as well;
 *   - for the ReLU the (edge) bias is larger than the rest of the score can be. */
typedef struct small_call {
    attn_pattern pattern;
    attn_attention_options options;
    ref_attention call;
    double data[INPUTS][MOST], gradient[INPUTS][MOST], d_output[MOST];
    ref_tensor *input[INPUTS]; /* in the order of ref_gradients */
} small_call;

static const char *const input_names[INPUTS] = {
    "query",     "key",      "value",     "bias", "distance_bias", "score_vector", "key_score_vector",
    "edge_bias", "edge_key", "edge_value"};

static int64_t elements(const ref_tensor *t) {
    int64_t count = 1;
    for (int r = 0; r < t->rank; r++) count *= t->shape[r];
    return t->data ? count : 0;
}

/* Input k of the given shape, filled with uniform numbers in [low, high]. */
static void fill(small_call *s, int k, test_random *random, double low, double high, int rank, int64_t a,
                 int64_t b, int64_t c, int64_t d) {
    int64_t shape[4] = {a, b, c, d}, step = 1;
    ref_tensor t = {.data = s->data[k], .rank = rank};
    for (int r = rank - 1; r >= 0; r--) {
        t.shape[r] = shape[r];
        t.stride[r] = step;
        step *= shape[r];
    }
    assert_true(step <= MOST);
    for (int64_t e = 0; e < step; e++)
        s->data[k][e] = low + (high - low) * 0.5 * (1.0 + (double)random_unit(random));
    *s->input[k] = t;
}

enum { HEADS = 2, D_K = 3, D_V = 2 };

static void small_create(small_call *s, attn_score score, int weighting, const attn_graph *graph, int without,
                         uint64_t seed) {
    static const int64_t query_offsets[] = {0, 3, 5}, key_offsets[] = {0, 4, 6};
    static const float slopes[HEADS] = {0.1f, 0.05f};
    memset(s, 0, sizeof(*s));
    test_random random = {seed};
    ref_attention *call = &s->call;
    ref_tensor *inputs[INPUTS] = {&call->query,
                                  &call->key,
                                  &call->value,
                                  &call->bias,
                                  &call->distance_bias,
                                  &call->score_vector,
                                  &call->key_score_vector,
                                  &call->edge_bias,
                                  &call->edge_key,
                                  &call->edge_value};
    memcpy(s->input, inputs, sizeof(inputs));
    attn_pattern_init(&s->pattern);
    attn_attention_options_init(&s->options);
    s->call.pattern = &s->pattern;
    s->call.options = &s->options;
    s->options.score = score;
    set_weighting(&s->options, weighting);
    s->options.dropout = seed % 3 == 0 ? 0.3f : 0.0f;
    s->options.seed = seed;
    s->options.softcap = score == ATTN_SCORE_DOT && seed % 2 ? 2.0f : 0.0f;
    bool relu = s->options.weighting == ATTN_WEIGHTS_RELU, gat = score == ATTN_SCORE_GAT;
    int64_t rows = graph ? attn_graph_rows(graph) : 5, columns = graph ? attn_graph_columns(graph) : 6;
    fill(s, 0, &random, 1.0, 2.0, 3, rows, HEADS, D_K, 0);
    for (int64_t e = 0; e < rows * HEADS * D_K; e++)
        if (e / D_K % 3 == 1) s->data[0][e] = -s->data[0][e];
    fill(s, 1, &random, -0.5, 0.5, 3, columns, 1, D_K, 0);
    fill(s, 2, &random, -1.0, 1.0, 3, columns, 1, D_V, 0);
    if (gat || score == ATTN_SCORE_ADDITIVE || score == ATTN_SCORE_GATV2)
        fill(s, 5, &random, 0.5, 1.0, 2, HEADS, D_K, 0, 0);
    if (gat) fill(s, 6, &random, -0.5, 0.5, 2, HEADS, D_K, 0, 0);
    int bias = graph ? 7 : 3;
    if (graph) {
        int64_t edges = attn_graph_edges(graph);
        s->pattern.graph = graph;
        if (!(without & NO_BIAS)) fill(s, 7, &random, -0.2, 0.2, 2, edges, HEADS, 0, 0);
        if (!(without & NO_EDGES)) fill(s, 9, &random, -1.0, 1.0, 3, edges, HEADS, D_V, 0);
        if (!(without & NO_EDGES) && !gat && score != ATTN_SCORE_NONE)
            fill(s, 8, &random, -0.2, 0.2, 3, edges, HEADS, D_K, 0);
    } else {
        s->pattern.sequences = 2;
        s->pattern.query_offsets = query_offsets;
        s->pattern.key_offsets = key_offsets;
        s->pattern.right = 1;
        s->pattern.align = ATTN_ALIGN_END;
        if (!(without & NO_BIAS)) fill(s, 3, &random, -1.0, 1.0, 4, 1, HEADS, 3, 4);
        if (!(without & NO_EDGES)) fill(s, 4, &random, -0.5, 0.5, 2, HEADS, 5, 0, 0);
        s->options.alibi_slopes = without & NO_EDGES ? NULL : slopes;
    }
    for (int64_t e = 0; relu && e < elements(s->input[bias]); e++)
        s->data[bias][e] += s->data[bias][e] > 0.0 ? 12.0 : -12.0;
    for (int64_t e = 0; e < rows * HEADS * D_V; e++) s->d_output[e] = (double)random_normal(&random);
}

static double loss(const small_call *s, double *size) {
    double output[MOST], sum = 0.0;
    assert_int_equal(ref_attention_forward(&s->call, output, NULL, NULL), ATTN_OK);
    *size = 0.0;
    for (int64_t e = 0; e < s->input[0]->shape[0] * HEADS * D_V; e++) {
        sum += output[e] * s->d_output[e];
        *size += fabs(output[e] * s->d_output[e]);
    }
    return sum;
}

/* The five-point difference and its bound are those of test_gradients.c. */
static void check_differences(small_call *s, const char *what) {
    const double h = ldexp(1.0, -10);
    double(*g)[MOST] = s->gradient;
#define WANTED(k) (s->input[k]->data ? g[k] : NULL)
    ref_gradients results = {WANTED(0), WANTED(1), WANTED(2), WANTED(3), WANTED(4),
                             WANTED(5), WANTED(6), WANTED(7), WANTED(8), WANTED(9)};
#undef WANTED
    assert_int_equal(ref_attention_gradients(&s->call, s->d_output, &results), ATTN_OK);
    for (int k = 0; k < INPUTS; k++) {
        double most = 0.0, size = 0.0;
        for (int64_t e = 0; e < elements(s->input[k]); e++) most = fmax(most, fabs(g[k][e]));
        for (int64_t e = 0; e < elements(s->input[k]); e++) {
            double *x = &s->data[k][e], kept = *x, at[5] = {0};
            for (int step = -2; step <= 2; step++) {
                *x = kept + step * h;
                if (step != 0) at[step + 2] = loss(s, &size);
            }
            *x = kept;
            double difference = (8.0 * (at[3] - at[1]) - (at[4] - at[0])) / (12.0 * h);
            if (fabs(difference - g[k][e]) > 1e-9 * most + 1e-10 * size)
                fail_msg("%s: d_%s[%lld]: the oracle has %.12g, the difference is %.12g", what,
                         input_names[k], (long long)e, g[k][e], difference);
        }
    }
}

static void test_oracle_differences(void **state) {
    (void)state;
    static const int64_t row_of[] = {3, 0, 2, 0, 3, 3, 0, 2, 3}, column_of[] = {1, 4, 2, 1, 1, 0, 4, 3, 3};
    attn_graph *graph;
    small_call *s = zeroed(1, sizeof(*s));
    assert_int_equal(attn_graph_from_edges(test_context(0, 1), 4, 5, 9, row_of, column_of, &graph), ATTN_OK);
    for (int score = 0; score < SCORES; score++) {
        for (int weighting = 0; weighting < WEIGHTINGS; weighting++) {
            for (int variant = 0; variant < 8; variant++) {
                int without = variant % 4;
                if (weighting % 3 == ATTN_WEIGHTS_RELU) without &= ~NO_BIAS;
                bool on_graph = variant >= 4;
                small_create(s, (attn_score)score, weighting, on_graph ? graph : NULL, without,
                             (uint64_t)(score * 64 + weighting * 9 + variant + 1));
                char what[64];
                snprintf(what, sizeof(what), "%s, weighting %d, %s, without %d", score_names[score],
                         weighting, on_graph ? "graph" : "positions", without);
                check_differences(s, what);
            }
        }
    }
    free(s);
    attn_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle_differences),
        cmocka_unit_test(test_fixed_weights),
        cmocka_unit_test(test_derivatives_at_zero),
        cmocka_unit_test(test_lengths_and_channels),
        cmocka_unit_test(test_ragged_batches),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_distance_and_alibi),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_random_combinations),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
