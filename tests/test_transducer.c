/* test_transducer.c: the loss of a transducer, against all paths one by one where they can be counted, and
 * against the recursion in double where not; the probabilities of moves; what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "ops/lattice.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_SEQUENCES = 100, MOST_TARGETS = 4000 };

typedef struct transducer_case {
    int64_t sequences, symbols, nodes;
    int64_t offsets[MOST_SEQUENCES + 1], target_offsets[MOST_SEQUENCES + 1];
    int32_t targets[MOST_TARGETS];
    int32_t blank;
    int all_paths; /* the oracle counts paths */
} transducer_case;

typedef struct sequence {
    int64_t rows, length, symbols;
    const double *scores; /* [rows][length + 1][symbols] */
    const int32_t *target;
    int32_t blank;
} sequence;

/* ---- the oracles ---- */

static double log_p_of(const sequence *s, int64_t t, int64_t u, int32_t symbol) {
    const double *x = s->scores + (t * (s->length + 1) + u) * s->symbols;
    double highest = -INFINITY, sum = 0.0;
    for (int64_t c = 0; c < s->symbols; c++) highest = fmax(highest, x[c]);
    for (int64_t c = 0; c < s->symbols; c++) sum += exp(x[c] - highest);
    return x[symbol] - highest - log(sum);
}

/* The probability of all that follows from (t, u), path by path. */
static double follow(const sequence *s, int64_t t, int64_t u) {
    if (t == s->rows) return u == s->length;
    if (u < s->length && s->target[u] < 0) return follow(s, t, u + 1);
    double sum = exp(log_p_of(s, t, u, s->blank)) * follow(s, t + 1, u);
    if (u < s->length) sum += exp(log_p_of(s, t, u, s->target[u])) * follow(s, t, u + 1);
    return sum;
}

static double log_add(double a, double b) {
    double high = fmax(a, b), low = fmin(a, b);
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

/* The recursion in double, column by column. */
static double by_recursion(const sequence *s) {
    double *column = calloc((size_t)s->rows, sizeof *column), result;
    if (!s->rows) {
        free(column);
        return s->length ? -INFINITY : 0.0;
    }
    for (int64_t u = 0; u <= s->length; u++) {
        for (int64_t t = 0; t < s->rows; t++) {
            int unknown = u && s->target[u - 1] < 0, next_unknown = u < s->length && s->target[u] < 0;
            double write = !u        ? (t ? -INFINITY : 0.0)
                           : unknown ? column[t]
                                     : column[t] + log_p_of(s, t, u - 1, s->target[u - 1]);
            double blank = t && !next_unknown ? column[t - 1] + log_p_of(s, t - 1, u, s->blank) : -INFINITY;
            column[t] = log_add(write, blank);
        }
    }
    result = column[s->rows - 1] + log_p_of(s, s->rows - 1, s->length, s->blank);
    free(column);
    return result;
}

/* ---- the loss ---- */

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const transducer_case *k = user;
    (void)parameter;
    transducer_case *gone = malloc(sizeof *gone);
    memcpy(gone, k, sizeof *gone);
    attn_ragged batch = {k->sequences, gone->offsets}, target_batch = {k->sequences, gone->target_offsets};
    attn_variable *loss =
        attn_tape_transducer(tape, input[0], &batch, gone->targets, &target_batch, k->blank);
    memset(gone, 0x55, sizeof *gone); /* may be gone by the walk back */
    free(gone);
    return loss;
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const transducer_case *k = user;
    double total = 0.0;
    int64_t count = k->sequences, node = 0;
    (void)parameter;
    for (int64_t i = 0; i < k->target_offsets[k->sequences]; i++) count += k->targets[i] >= 0;
    for (int64_t b = 0; b < k->sequences; b++) {
        sequence s = {.rows = k->offsets[b + 1] - k->offsets[b],
                      .length = k->target_offsets[b + 1] - k->target_offsets[b],
                      .symbols = k->symbols,
                      .scores = input[0] + node * k->symbols,
                      .target = k->targets + k->target_offsets[b],
                      .blank = k->blank};
        node += s.rows * (s.length + 1);
        double log_p = k->all_paths ? log(follow(&s, 0, 0)) : by_recursion(&s);
        if (log_p != -INFINITY) total -= log_p;
    }
    result[0] = count ? total / (double)count : 0.0;
}

static transducer_case *new_case(int64_t sequences, int64_t symbols, int64_t longest, int variant) {
    transducer_case *k = calloc(1, sizeof *k);
    test_random random = {(uint64_t)(sequences * 100 + symbols * 10 + longest + variant)};
    k->sequences = sequences;
    k->symbols = symbols;
    k->blank = (int32_t)(variant % symbols);
    for (int64_t b = 0; b < sequences; b++) {
        int64_t rows = random_between(&random, variant & 1, longest);
        int64_t length = symbols > 1 ? random_between(&random, 0, longest) : 0;
        k->offsets[b + 1] = k->offsets[b] + rows;
        k->target_offsets[b + 1] = k->target_offsets[b] + length;
        k->nodes += rows * (length + 1);
    }
    assert_true(k->target_offsets[sequences] <= MOST_TARGETS);
    for (int64_t i = 0; i < k->target_offsets[sequences]; i++) {
        int32_t symbol = (int32_t)random_between(&random, 0, symbols - 2);
        k->targets[i] = symbol >= k->blank ? symbol + 1 : symbol;
        if (variant == 3 && i % 5 == 2) k->targets[i] = -1;
    }
    return k;
}

static void check_loss(transducer_case *k, float amplitude, uint64_t seed) {
    operation_case c = {.name = "transducer",
                        .inputs = 1,
                        .input = {{.rows = k->nodes, .columns = k->symbols, .amplitude = amplitude}},
                        .rows = 1,
                        .columns = 1,
                        .seed = seed,
                        .user = k,
                        .run = run,
                        .reference = reference,
                        .checked = k->nodes > 1000 ? 12 : 60};
    operation_check(&c);
    free(k);
}

static void test_all_paths(void **state) {
    (void)state;
    for (int64_t symbols = 2; symbols <= 4; symbols++) {
        for (int64_t longest = 1; longest <= 5; longest++) {
            for (int variant = 0; variant < 4; variant++) {
                transducer_case *k = new_case(5, symbols, longest, variant);
                k->all_paths = 1;
                check_loss(k, 1.0f, (uint64_t)(longest * 10 + variant));
            }
        }
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const int64_t symbols[] = {2, 7, 8, 9, 16, 17, 33, 60};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        check_loss(new_case(5, symbols[i], 20, (int)i), 1.0f, i);
    check_loss(new_case(90, 4, 7, 3), 1.0f, 4);
    check_loss(new_case(0, 5, 1, 3), 1.0f, 5); /* no sequence at all */
    check_loss(new_case(4, 1, 5, 1), 1.0f, 7); /* nothing but the blank: p is 1 */
    check_loss(new_case(3, 6, 12, 2), 30.0f, 8);
}

/* The probabilities of moves add up: one blank is said in every row, each symbol is written once. */
static void test_moves(void **state) {
    (void)state;
    enum { ROWS = 6, LENGTH = 4, SYMBOLS = 5, WIDTH = LENGTH + 1, NODES = ROWS * WIDTH };
    test_random random = {9};
    float log_p[NODES * SYMBOLS], moves[2 * NODES];
    double alpha[NODES], beta[2 * WIDTH];
    const int32_t target[LENGTH] = {1, 1, 4, 2};
    for (int n = 0; n < NODES; n++) {
        double sum = 0;
        for (int c = 0; c < SYMBOLS; c++) {
            log_p[n * SYMBOLS + c] = random_normal(&random);
            sum += exp((double)log_p[n * SYMBOLS + c]);
        }
        for (int c = 0; c < SYMBOLS; c++) log_p[n * SYMBOLS + c] -= (float)log(sum);
    }
    at_lattice lattice = {ROWS, LENGTH, log_p, SYMBOLS, target, 0};
    double total = at_lattice_forward(&lattice, alpha);
    at_lattice_moves(&lattice, alpha, total, beta, moves);
    assert_true(fabs(beta[WIDTH * (ROWS % 2)] - total) < 1e-9); /* forward is backward */
    for (int t = 0; t < ROWS; t++) {
        double blanks = 0;
        for (int u = 0; u < WIDTH; u++) blanks += (double)moves[2 * (t * WIDTH + u)];
        assert_true(fabs(blanks - 1) < 1e-5);
    }
    for (int u = 0; u < LENGTH; u++) {
        double writes = 0;
        for (int t = 0; t < ROWS; t++) writes += (double)moves[2 * (t * WIDTH + u) + 1];
        assert_true(fabs(writes - 1) < 1e-5);
    }
}

static void test_refused(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_tape *tape;
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    float x[12 * 3] = {0};
    int64_t offsets[] = {0, 4}, target_offsets[] = {0, 2}, longer[] = {0, 3};
    attn_ragged batch = {1, offsets}, two = {1, target_offsets}, three = {1, longer}, none = {0, offsets};
    int32_t good[] = {1, 2, 1}, blanks[] = {1, 0}, large[] = {1, 3};
    const struct {
        const attn_ragged *target_batch;
        const int32_t *targets;
        int32_t blank;
        const char *says;
    } cases[] = {{&three, good, 0, "logits has 12 rows; 16 are needed"},
                 {&two, blanks, 0, "target 1 is 0"},
                 {&two, large, 0, "target 1 is 3"},
                 {&two, good, 3, "blank is 3"},
                 {&two, NULL, 0, "targets is NULL"},
                 {&none, good, 0, "1 and 0 sequences"},
                 {NULL, good, 0, "1 and 0 sequences"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
        attn_variable *scores = attn_tape_input(tape, x, 12, 3, 1);
        assert_null(attn_tape_transducer(tape, scores, &batch, cases[i].targets, cases[i].target_batch,
                                         cases[i].blank));
        if (!strstr(attn_tape_error(tape), cases[i].says)) fail_msg("%s", attn_tape_error(tape));
    }
    attn_tape_destroy(tape);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_paths), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_moves), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
