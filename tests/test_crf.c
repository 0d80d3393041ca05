/* test_crf.c: conditional random fields, against all paths one by one where
 * they can be counted, and against the recursion in double where not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_SEQUENCES = 200, MOST_ROWS = 4100 };

typedef struct crf_case {
    int64_t sequences, classes;
    int64_t offsets[MOST_SEQUENCES + 1];
    int32_t labels[MOST_ROWS];
    int start, end; /* which of the two there are: parameters 1 and 2 */
    int all_paths;  /* the oracle counts paths */
    int sliced;
} crf_case;

typedef struct scores {
    int64_t rows, classes, stride;
    const double *emissions, *transitions, *start, *end;
} scores;

/* ---- the oracles ---- */

static double path_score(const scores *s, const int32_t *path) {
    double score = s->start ? s->start[path[0]] : 0.0;
    for (int64_t t = 0; t < s->rows; t++) {
        score += s->emissions[t * s->stride + path[t]];
        if (t) score += s->transitions[path[t - 1] * s->classes + path[t]];
    }
    return score + (s->end ? s->end[path[s->rows - 1]] : 0.0);
}

/* The next path in the order of the classes; 0 after the last. */
static int next_path(const scores *s, int32_t *path) {
    for (int64_t t = s->rows - 1; t >= 0; t--) {
        if (++path[t] < s->classes) return 1;
        path[t] = 0;
    }
    return 0;
}

/* log sum over all paths of exp(score); p(y_t = c) and the first of the best
 * paths unless NULL. */
static double over_all_paths(const scores *s, double *marginals, int32_t *best) {
    int32_t path[8] = {0};
    double highest = -INFINITY, sum = 0.0;
    do {
        double score = path_score(s, path);
        if (score > highest) {
            highest = score;
            if (best) memcpy(best, path, (size_t)s->rows * sizeof *best);
        }
    } while (next_path(s, path));
    for (int64_t i = 0; marginals && i < s->rows * s->classes; i++) marginals[i] = 0.0;
    do {
        double p = exp(path_score(s, path) - highest);
        sum += p;
        for (int64_t t = 0; marginals && t < s->rows; t++) marginals[t * s->classes + path[t]] += p;
    } while (next_path(s, path));
    for (int64_t i = 0; marginals && i < s->rows * s->classes; i++) marginals[i] /= sum;
    return highest + log(sum);
}

static double log_sum(int64_t count, const double *x) {
    double highest = -INFINITY, sum = 0.0;
    for (int64_t c = 0; c < count; c++) highest = fmax(highest, x[c]);
    for (int64_t c = 0; c < count; c++) sum += exp(x[c] - highest);
    return highest + log(sum);
}

/* The recursion in double. */
static double by_recursion(const scores *s) {
    double row[64], next[64], terms[64];
    for (int64_t t = 0; t < s->rows; t++) {
        for (int64_t c = 0; c < s->classes; c++) {
            for (int64_t k = 0; k < s->classes; k++) terms[k] = row[k] + s->transitions[k * s->classes + c];
            double before = t ? log_sum(s->classes, terms) : s->start ? s->start[c] : 0.0;
            next[c] = before + s->emissions[t * s->stride + c];
        }
        memcpy(row, next, sizeof row);
    }
    for (int64_t c = 0; s->end && c < s->classes; c++) row[c] += s->end[c];
    return log_sum(s->classes, row);
}

/* ---- the loss ---- */

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const crf_case *k = user;
    int64_t *offsets = malloc(sizeof k->offsets);
    int32_t *labels = malloc(sizeof k->labels);
    memcpy(offsets, k->offsets, sizeof k->offsets);
    memcpy(labels, k->labels, sizeof k->labels);
    attn_ragged batch = {k->sequences, offsets};
    attn_crf crf = {parameter[0], k->start ? parameter[1] : NULL, k->end ? parameter[1 + k->start] : NULL};
    attn_variable *x = k->sliced ? attn_tape_slice(tape, input[0], 2, k->classes) : input[0];
    attn_variable *loss = attn_tape_crf(tape, x, &batch, &crf, labels);
    memset(offsets, 0x55, sizeof k->offsets); /* may be gone by the backward pass */
    memset(labels, 0x55, sizeof k->labels);
    free(offsets);
    free(labels);
    return loss;
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const crf_case *k = user;
    double total = 0.0;
    int64_t rows = k->offsets[k->sequences];
    scores s = {.classes = k->classes,
                .stride = k->sliced ? k->classes + 3 : k->classes,
                .transitions = parameter[0],
                .start = k->start ? parameter[1] : NULL,
                .end = k->end ? parameter[1 + k->start] : NULL};
    for (int64_t b = 0; b < k->sequences; b++) {
        s.rows = k->offsets[b + 1] - k->offsets[b];
        s.emissions = input[0] + k->offsets[b] * s.stride + (k->sliced ? 2 : 0);
        if (s.rows == 0) continue;
        double all = k->all_paths ? over_all_paths(&s, NULL, NULL) : by_recursion(&s);
        total += all - path_score(&s, k->labels + k->offsets[b]);
    }
    result[0] = rows ? total / (double)rows : 0.0;
}

static crf_case *new_case(int64_t sequences, int64_t classes, int64_t longest, int variant) {
    crf_case *k = calloc(1, sizeof *k);
    test_random random = {(uint64_t)(sequences * 100 + classes * 10 + longest + variant)};
    k->sequences = sequences;
    k->classes = classes;
    k->start = variant & 1;
    k->end = variant >> 1 & 1;
    k->sliced = variant >> 2 & 1;
    for (int64_t b = 0; b < sequences; b++) {
        k->offsets[b + 1] = k->offsets[b] + random_between(&random, 0, longest);
    }
    assert_true(k->offsets[sequences] <= MOST_ROWS);
    for (int64_t i = 0; i < k->offsets[sequences]; i++) {
        k->labels[i] = (int32_t)random_between(&random, 0, classes - 1);
    }
    return k;
}

static void check_loss(crf_case *k, float emissions, float transitions, int fixed, uint64_t seed) {
    int64_t rows = k->offsets[k->sequences];
    operation_case c = {.name = "crf",
                        .inputs = 1,
                        .parameters = 1 + k->start + k->end,
                        .input = {{.rows = rows,
                                   .columns = k->sliced ? k->classes + 3 : k->classes,
                                   .amplitude = emissions,
                                   .fixed = fixed & 1}},
                        .parameter = {{.rows = k->classes,
                                       .columns = k->classes,
                                       .amplitude = transitions,
                                       .fixed = fixed >> 1 & 1},
                                      {.columns = k->classes},
                                      {.columns = k->classes}},
                        .rows = 1,
                        .columns = 1,
                        .seed = seed,
                        .user = k,
                        .run = run,
                        .reference = reference,
                        .checked = 40};
    operation_check(&c);
}

static void test_all_paths(void **state) {
    (void)state;
    for (int64_t classes = 2; classes <= 4; classes++) {
        for (int64_t longest = 1; longest <= 5; longest++) {
            for (int variant = 0; variant < 8; variant++) {
                crf_case *k = new_case(5, classes, longest, variant);
                k->all_paths = 1;
                check_loss(k, 1.0f, 1.0f, 0, (uint64_t)(longest * 10 + variant));
                free(k);
            }
        }
    }
}

/* The loss of a single class is 0 but for roundings of its scores, of which the
 * harness, which moves them all alike, would allow none. */
static void test_one_class(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    int64_t shape[2] = {1, 1}, offsets[3] = {0, 1, 5};
    attn_crf crf = {attn_parameters_add(set, "t", 2, shape, NULL),
                    attn_parameters_add(set, "start", 1, shape, NULL), NULL};
    attn_ragged batch = {2, offsets};
    const float x[5] = {0.3f, -1.7f, 2.9f, 0.01f, 1.1f};
    const int32_t labels[5] = {0};
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    attn_variable *e = attn_tape_input(tape, x, 5, 1, 1);
    attn_variable *loss = attn_tape_crf(tape, e, &batch, &crf, labels);
    assert_non_null(loss);
    assert_true(fabsf(host_data(loss)[0]) < 2e-7f);
    assert_int_equal(attn_tape_backward(tape, loss, NULL), ATTN_OK);
    for (int i = 0; i < 5; i++) assert_true(host_gradient(e)[i] == 0.0f);
    assert_true(*host_parameter_gradient(crf.transitions) == 0.0f);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

static void test_sizes(void **state) {
    (void)state;
    static const int64_t classes[] = {7, 8, 9, 15, 16, 17, 31, 33, 48};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        crf_case *k = new_case(4, classes[i], 9, (int)i % 8);
        check_loss(k, 1.0f, 1.0f, (int)i % 4 == 3 ? 1 : 0, i);
        free(k);
    }
    for (int fixed = 1; fixed < 3; fixed++) { /* emissions or transitions that do not learn */
        crf_case *k = new_case(6, 5, 7, 3);
        check_loss(k, 1.0f, 1.0f, fixed, 3);
        free(k);
    }
    crf_case *k = new_case(150, 3, 5, 7); /* more sequences than tasks */
    check_loss(k, 1.0f, 1.0f, 0, 4);
    free(k);
    k = new_case(0, 5, 1, 3); /* no sequence at all */
    check_loss(k, 1.0f, 1.0f, 0, 5);
    free(k);
    k = new_case(3, 5, 0, 3); /* empty ones only */
    check_loss(k, 1.0f, 1.0f, 0, 6);
    free(k);
}

/* Emissions of -80 .. 80 and more, and sequences of a thousand rows: the sums
 * are far beyond what f32 could hold with its digits. */
static void test_extremes(void **state) {
    (void)state;
    crf_case *k = new_case(3, 6, 5, 3);
    check_loss(k, 30.0f, 30.0f, 0, 8);
    free(k);
    k = new_case(1, 5, 0, 3);
    k->offsets[1] = 1500;
    for (int64_t t = 0; t < 1500; t++) k->labels[t] = (int32_t)(t * t % 5);
    check_loss(k, 1.0f, 1.0f, 0, 9);
    check_loss(k, 30.0f, 2.0f, 0, 10);
    free(k);
}

/* ---- decoding and marginals ---- */

typedef struct field {
    int64_t classes, sequences, offsets[MOST_SEQUENCES + 1];
    float *emissions, *transitions, *start, *end;
} field;

static field new_field(int64_t sequences, int64_t classes, int64_t longest, int whole, uint64_t seed) {
    test_random random = {seed};
    field f = {.classes = classes, .sequences = sequences};
    for (int64_t b = 0; b < sequences; b++) {
        f.offsets[b + 1] = f.offsets[b] + random_between(&random, 0, longest);
    }
    int64_t counts[4] = {f.offsets[sequences] * classes, classes * classes, classes, classes};
    float **parts[4] = {&f.emissions, &f.transitions, &f.start, &f.end};
    for (int p = 0; p < 4; p++) {
        *parts[p] = malloc((size_t)(counts[p] + 1) * sizeof(float));
        for (int64_t i = 0; i < counts[p]; i++) {
            (*parts[p])[i] = whole ? (float)random_between(&random, 0, 1) : 2.0f * random_normal(&random);
        }
    }
    return f;
}

static void field_destroy(field *f) {
    free(f->emissions);
    free(f->transitions);
    free(f->start);
    free(f->end);
}

static attn_crf add_field(attn_parameters *set, const field *f) {
    int64_t shape[2] = {f->classes, f->classes};
    attn_crf crf = {attn_parameters_add(set, "transitions", 2, shape, NULL),
                    attn_parameters_add(set, "start", 1, shape, NULL),
                    attn_parameters_add(set, "end", 1, shape, NULL)};
    host_set_value(crf.transitions, f->transitions);
    host_set_value(crf.start, f->start);
    host_set_value(crf.end, f->end);
    return crf;
}

/* Both, on one context; fails the test on an error. */
static void decode(attn_context *context, const field *f, int32_t *labels, float *marginals) {
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_crf crf = add_field(set, f);
    attn_ragged batch = {f->sequences, f->offsets};
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_input(tape, f->emissions, f->offsets[f->sequences], f->classes, 0);
    if (attn_tape_crf_decode(tape, x, &batch, &crf, labels) != ATTN_OK) fail_msg("%s", attn_tape_error(tape));
    if (attn_tape_crf_marginals(tape, x, &batch, &crf, marginals) != ATTN_OK)
        fail_msg("%s", attn_tape_error(tape));
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

static double *in_double(int64_t count, const float *x) {
    double *d = malloc((size_t)(count + 1) * sizeof *d);
    for (int64_t i = 0; i < count; i++) d[i] = (double)x[i];
    return d;
}

static void check_against_all_paths(const field *f, const char *isa, const int32_t *labels,
                                    const float *marginals) {
    int64_t rows = f->offsets[f->sequences];
    double *e = in_double(rows * f->classes, f->emissions);
    double *t = in_double(f->classes * f->classes, f->transitions);
    double *start = in_double(f->classes, f->start), *end = in_double(f->classes, f->end);
    for (int64_t b = 0; b < f->sequences; b++) {
        scores s = {f->offsets[b + 1] - f->offsets[b],
                    f->classes,
                    f->classes,
                    e + f->offsets[b] * f->classes,
                    t,
                    start,
                    end};
        if (s.rows == 0) continue;
        double exact[32];
        int32_t best[8];
        over_all_paths(&s, exact, best);
        for (int64_t i = 0; i < s.rows * s.classes; i++) {
            double got = (double)marginals[f->offsets[b] * f->classes + i];
            if (!(fabs(got - exact[i]) <= 2e-6)) fail_msg("%s: p is %.9g, not %.9g", isa, got, exact[i]);
        }
        for (int64_t i = 0; i < s.rows; i++) {
            if (labels[f->offsets[b] + i] != best[i])
                fail_msg("%s: sequence %lld, row %lld: class %d, not %d", isa, (long long)b, (long long)i,
                         labels[f->offsets[b] + i], best[i]);
        }
    }
    free(e);
    free(t);
    free(start);
    free(end);
}

/* Whole scores of 0 and 1 have many best paths: the first of them is meant. */
static void test_decode_all_paths(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        for (int64_t classes = 1; classes <= 4; classes++) {
            for (int whole = 0; whole < 2; whole++) {
                field f = new_field(40, classes, 5, whole, (uint64_t)(10 * classes + whole + 1));
                int32_t labels[400];
                float marginals[1600];
                decode(test_context(isa, 1), &f, labels, marginals);
                check_against_all_paths(&f, test_isa_names[isa], labels, marginals);
                field_destroy(&f);
            }
        }
    }
}

/* Same bits for any number of threads, and alone or among others. */
static void test_decode_same_bits(void **state) {
    (void)state;
    enum { CLASSES = 19 };
    field f = new_field(150, CLASSES, 20, 0, 77);
    int64_t rows = f.offsets[f.sequences];
    int32_t *labels = malloc((size_t)rows * sizeof *labels), *again = malloc((size_t)rows * sizeof *again);
    float *p = malloc((size_t)(rows * CLASSES) * sizeof *p),
          *q = malloc((size_t)(rows * CLASSES) * sizeof *q);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        decode(test_context(isa, 1), &f, labels, p);
        static const int threads[] = {2, 7};
        for (int n = 0; n < 2; n++) {
            decode(test_context(isa, threads[n]), &f, again, q);
            assert_memory_equal(labels, again, (size_t)rows * sizeof *labels);
            assert_memory_equal(p, q, (size_t)(rows * CLASSES) * sizeof *p);
        }
        for (int64_t b = 0; b < f.sequences; b += 13) {
            field one = f;
            int64_t first = f.offsets[b], length = f.offsets[b + 1] - first;
            one.sequences = 1;
            one.offsets[0] = 0;
            one.offsets[1] = length;
            one.emissions = f.emissions + first * CLASSES;
            decode(test_context(isa, 1), &one, again, q);
            assert_memory_equal(labels + first, again, (size_t)length * sizeof *labels);
            assert_memory_equal(p + first * CLASSES, q, (size_t)(length * CLASSES) * sizeof *p);
        }
        for (int64_t i = 0; i < rows; i++) {
            double sum = 0.0;
            for (int64_t c = 0; c < CLASSES; c++) sum += (double)p[i * CLASSES + c];
            assert_true(fabs(sum - 1.0) < 1e-5);
        }
    }
    free(labels);
    free(again);
    free(p);
    free(q);
    field_destroy(&f);
}

/* Transitions of -inf are never taken, and all gradients stay finite. */
static void test_forbidden(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        field f = new_field(20, 5, 9, 0, 3);
        for (int c = 0; c < 5; c++) f.transitions[c * 5 + c] = -INFINITY; /* no class twice in a row */
        f.transitions[1] = f.transitions[2] = -1e4f;                      /* the usual way to say it */
        for (int c = 0; c < 5; c++) f.transitions[c * 5 + 3] = -INFINITY; /* class 3 at the start only */
        f.start[4] = -INFINITY;
        int64_t rows = f.offsets[20];
        int32_t labels[200];
        float p[1000];
        decode(context, &f, labels, p);
        for (int64_t i = 0; i < rows * 5; i++) assert_true(p[i] >= 0.0f && p[i] <= 1.00001f);
        for (int64_t b = 0; b < 20; b++) {
            if (f.offsets[b] == f.offsets[b + 1]) continue;
            assert_true(p[f.offsets[b] * 5 + 4] == 0.0f);
            for (int64_t i = f.offsets[b] + 1; i < f.offsets[b + 1]; i++) {
                assert_int_not_equal(labels[i], labels[i - 1]);
                assert_true(p[i * 5 + 3] == 0.0f);
                assert_false(labels[i - 1] == 0 && (labels[i] == 1 || labels[i] == 2));
            }
        }
        attn_parameters *set;
        attn_tape *tape;
        assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
        assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
        attn_crf crf = add_field(set, &f);
        attn_ragged batch = {20, f.offsets};
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
        attn_variable *x = attn_tape_input(tape, f.emissions, rows, 5, 1);
        attn_variable *loss = attn_tape_crf(tape, x, &batch, &crf, labels);
        assert_non_null(loss);
        assert_true(isfinite(host_data(loss)[0]));
        assert_int_equal(attn_tape_backward(tape, loss, NULL), ATTN_OK);
        const float *g = host_parameter_gradient(crf.transitions);
        for (int i = 0; i < 25; i++) assert_true(isfinite(g[i]));
        for (int c = 0; c < 5; c++) assert_true(g[c * 5 + c] == 0.0f);
        for (int64_t i = 0; i < rows * 5; i++) assert_true(isfinite(host_gradient(x)[i]));
        attn_tape_destroy(tape);
        attn_parameters_destroy(set);
        field_destroy(&f);
    }
}

static void test_errors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    int64_t shape[2] = {3, 3}, four = 4;
    attn_crf crf = {attn_parameters_add(set, "t", 2, shape, NULL), NULL,
                    attn_parameters_add(set, "end", 1, &four, NULL)};
    const float x[12] = {0};
    float p[12] = {-5.0f};
    int32_t labels[4] = {0, 1, 3, 0};
    int64_t offsets[3] = {0, 1, 4}, wrong[3] = {0, 3, 3};
    attn_ragged batch = {2, offsets}, wrong_batch = {2, wrong};
#define BEGIN                                                                                                \
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);                                                               \
    attn_variable *e = attn_tape_input(tape, x, 4, 3, 1)
#define EXPECT(text) assert_non_null(strstr(attn_tape_error(tape), text))
    {
        BEGIN;
        assert_null(attn_tape_crf(tape, e, &batch, &crf, labels));
        EXPECT("crf: end (end) has 4 numbers, emissions has 3 columns");
        assert_int_equal(attn_tape_crf_decode(tape, e, &batch, &crf, labels), ATTN_SHAPE_MISMATCH);
    }
    crf.end = NULL;
    {
        BEGIN;
        assert_null(attn_tape_crf(tape, e, &batch, &crf, labels));
        EXPECT("crf: label 2 is 3, but there are 3 classes");
    }
    {
        BEGIN;
        assert_null(attn_tape_crf(tape, e, &wrong_batch, &crf, labels));
        EXPECT("crf: the offsets of the batch must rise from 0 to the 4 rows");
    }
    {
        BEGIN;
        assert_int_equal(attn_tape_crf_decode(tape, e, NULL, &crf, labels), ATTN_INVALID_ARGUMENT);
        EXPECT("crf_decode: batch is NULL");
        assert_int_equal(labels[2], 3); /* untouched */
    }
    {
        BEGIN;
        assert_int_equal(attn_tape_crf_marginals(tape, e, &batch, &crf, NULL), ATTN_INVALID_ARGUMENT);
        EXPECT("crf_marginals: marginals is NULL");
    }
    {
        BEGIN;
        assert_int_equal(attn_tape_crf_marginals(tape, e, &batch, NULL, p), ATTN_INVALID_ARGUMENT);
        EXPECT("crf_marginals: crf is NULL");
        assert_true(p[0] == -5.0f);
    }
    crf.transitions = attn_parameters_add(set, "wide", 1, &four, NULL);
    {
        BEGIN;
        assert_null(attn_tape_crf(tape, e, &batch, &crf, labels));
        EXPECT("crf: transitions (wide) is 4 x 1, 3 x 3 is needed");
    }
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_paths),
        cmocka_unit_test(test_one_class),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_decode_all_paths),
        cmocka_unit_test(test_decode_same_bits),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
