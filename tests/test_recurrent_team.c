/* test_recurrent_team.c: recurrent networks whose steps several threads share give the bits of one thread.
 *
 * One thread's numbers are compared with plain loops in test_operations_recurrent.c. Here every case runs on
 * one thread and on several, forwards and back, and all results and gradients are compared to the bit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/context.h"
#include "base/team.h"
#include "kernels/table.h"
#include "support/check.h"
#include "support/host.h"
#include "tape/recurrent.h"

enum { IN = 6, MOST_CORES = 7 };

/* ---- cores, teams and meetings as a test wants them (the linker sends these here) ---- */

static int cores = MOST_CORES;
static int comers = MOST_CORES; /* so many come to a team at the most */
static int part_at;             /* 0, or the meeting at which they part */
static int teams, most_wanted;  /* teams that were requested, and threads of the largest */

int __wrap_at_cpu_count(void);
int __wrap_at_cpu_count(void) { return cores; }

void __real_at_run_team(at_pool *pool, int threads, at_member_function function, void *argument);
void __wrap_at_run_team(at_pool *pool, int threads, at_member_function function, void *argument);
void __wrap_at_run_team(at_pool *pool, int threads, at_member_function function, void *argument) {
    teams++;
    if (threads > most_wanted) most_wanted = threads;
    __real_at_run_team(pool, threads < comers ? threads : comers, function, argument);
}

/* A busy machine does not part them, only the test does. */
int __real_at_meet(at_meeting *meetings, int member, int members);
int __wrap_at_meet(at_meeting *meetings, int member, int members);
int __wrap_at_meet(at_meeting *meetings, int member, int members) {
    meetings[member].lost = 0.0;
    int together = __real_at_meet(meetings, member, members);
    return together && atomic_load(&meetings[member].came) / 2 != part_at;
}

static int as_usual(void **state) {
    (void)state;
    cores = comers = MOST_CORES;
    part_at = teams = most_wanted = 0;
    return 0;
}

/* ---- a network, and what comes of it ---- */

typedef struct network_case {
    attn_recurrence kind;
    int directions;
    int64_t hidden;
    attn_ragged batch;
    const char *isa; /* NULL: the best */
} network_case;

static int64_t gates_of(attn_recurrence kind) {
    return kind == ATTN_RNN_LSTM ? 4 : kind == ATTN_RNN_GRU ? 3 : 1;
}

static attn_context *make_context(int threads, const char *isa) {
    attn_context *context = NULL;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = threads;
    options.isa = isa;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    return context;
}

typedef struct network {
    attn_context *context;
    attn_parameters *set;
    attn_tape *tape;
    attn_recurrent_weights weights[2];
} network;

static network network_create(const network_case *c, int threads) {
    network n = {.context = make_context(threads, c->isa)};
    assert_int_equal(attn_parameters_create(n.context, 3, &n.set), ATTN_OK);
    assert_int_equal(attn_tape_create(n.context, &n.tape), ATTN_OK);
    int64_t gates = gates_of(c->kind) * c->hidden, input[2] = {gates, IN}, square[2] = {gates, c->hidden};
    attn_parameter_options bias;
    attn_parameter_options_init(&bias);
    bias.initial = ATTN_INITIAL_NORMAL;
    bias.scale = 0.3f;
    for (int d = 0; d < 2; d++) {
        char name[4][8];
        for (int p = 0; p < 4; p++) snprintf(name[p], sizeof name[p], "%d.%d", d, p);
        n.weights[d].input = attn_parameters_add(n.set, name[0], 2, input, NULL);
        n.weights[d].hidden = attn_parameters_add(n.set, name[1], 2, square, NULL);
        n.weights[d].input_bias = attn_parameters_add(n.set, name[2], 1, &gates, &bias);
        n.weights[d].hidden_bias = attn_parameters_add(n.set, name[3], 1, &gates, &bias);
    }
    assert_int_equal(attn_parameters_status(n.set), ATTN_OK);
    return n;
}

static void network_destroy(network *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->set);
    attn_context_destroy(n->context);
}

static float *numbers(int64_t count, uint32_t seed) {
    float *made = malloc((size_t)count * sizeof *made);
    assert_non_null(made);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        made[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return made;
}

static void append(float **end, const float *from, int64_t count) {
    assert_non_null(from);
    memcpy(*end, from, (size_t)count * sizeof **end);
    *end += count;
}

static int64_t count_of(const network_case *c) {
    int64_t rows = c->batch.offsets[c->batch.sequences], gates = gates_of(c->kind) * c->hidden;
    return rows * (c->directions * c->hidden + IN) + c->directions * gates * (IN + c->hidden + 2);
}

/* The result, and the gradients of the input and of all weights, one after another. */
static float *results(const network_case *c, int threads) {
    network n = network_create(c, threads);
    int64_t rows = c->batch.offsets[c->batch.sequences], gates = gates_of(c->kind) * c->hidden;
    float *x = numbers(rows * IN, 11), *g = numbers(rows * c->directions * c->hidden, 12);
    float *all = numbers(count_of(c), 13), *end = all;
    attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
    attn_variable *input = attn_tape_input(n.tape, x, rows, IN, 1);
    attn_variable *y = attn_tape_recurrent(n.tape, input, &c->batch, c->kind, n.weights, c->directions);
    assert_non_null(y);
    assert_int_equal(attn_tape_backward(n.tape, y, g), ATTN_OK);
    append(&end, host_data(y), rows * c->directions * c->hidden);
    append(&end, host_gradient(input), rows * IN);
    for (int d = 0; d < c->directions; d++) {
        append(&end, host_parameter_gradient(n.weights[d].input), gates * IN);
        append(&end, host_parameter_gradient(n.weights[d].hidden), gates * c->hidden);
        append(&end, host_parameter_gradient(n.weights[d].input_bias), gates);
        append(&end, host_parameter_gradient(n.weights[d].hidden_bias), gates);
    }
    assert_int_equal(end - all, count_of(c));
    free(x);
    free(g);
    network_destroy(&n);
    return all;
}

static void expect_bits(const network_case *c, const float *expected, int threads) {
    float *found = results(c, threads);
    if (memcmp(expected, found, (size_t)count_of(c) * sizeof *found) != 0)
        fail_msg("kind %d, %d directions, %d units, %d sequences: %d threads give other bits than one",
                 (int)c->kind, c->directions, (int)c->hidden, (int)c->batch.sequences, threads);
    free(found);
}

/* ---- the bits of one thread ---- */

static const int64_t one_long[] = {0, 240}, some[] = {0, 40, 40, 105, 106, 170};
static const attn_ragged batches[] = {{1, one_long}, {5, some}};

/* 112 units: of AVX2 whole panels, an odd number of them. 150: panels that two gates share, at the bounds of
 * parts, too. */
static void check_threads(const char *isa, const int *threads, int count) {
    static const int64_t hidden[] = {112, 150};
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        for (int directions = 1; directions <= 2; directions++) {
            for (int which = 0; which < 4; which++) {
                network_case c = {(attn_recurrence)kind, directions, hidden[which / 2], batches[which % 2],
                                  isa};
                float *expected = results(&c, 1);
                for (int i = 0; i < count; i++) expect_bits(&c, expected, threads[i]);
                free(expected);
            }
        }
    }
}

static int least(int a, int b) { return a < b ? a : b; }

/* Threads that share a direction have whole panels, which are wider than 16 columns on AVX-512: with one
 * direction they are as many as the panels, with two they are an even number. */
static int largest_team(int threads, int hidden) {
    attn_context *context = make_context(1, NULL);
    const int lanes = at_kernels_for(context->isa)->lanes, panels = (hidden + lanes - 1) / lanes;
    attn_context_destroy(context);
    const int one = least(threads, panels), two = 2 * least(threads / 2, panels);
    return one > two ? one : two;
}

static void test_threads(void **state) {
    (void)state;
    static const int threads[] = {2, 4, 7};
    check_threads(NULL, threads, 3);
    assert_true(teams > 0);
    assert_int_equal(most_wanted, largest_team(7, 150));
}

static void test_threads_scalar(void **state) {
    (void)state;
    static const int threads[] = {2};
    check_threads("scalar", threads, 1);
    assert_true(teams > 0);
}

static void test_long_sequence(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 3000};
    network_case c = {ATTN_RNN_LSTM, 1, 96, {1, offsets}, NULL};
    float *expected = results(&c, 1);
    expect_bits(&c, expected, 2);
    assert_int_equal(teams, 2); /* forwards and back */
    free(expected);
}

/* ---- where there is no team, or less of one ---- */

/* Fewer come than were requested, down to none beside the caller. */
static void test_missing_members(void **state) {
    (void)state;
    for (int directions = 1; directions <= 2; directions++) {
        network_case c = {ATTN_RNN_GRU, directions, 150, batches[1], NULL};
        float *expected = results(&c, 1);
        for (comers = 1; comers <= 5; comers++) expect_bits(&c, expected, 6);
        free(expected);
    }
    assert_int_equal(teams, 2 * 5 * 2);
}

static void test_parting(void **state) {
    (void)state;
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        network_case c = {(attn_recurrence)kind, 2, 150, batches[1], NULL};
        float *expected = results(&c, 1);
        for (part_at = 1; part_at < 80; part_at += 13) expect_bits(&c, expected, 6);
        free(expected);
    }
    assert_true(teams > 0);
}

static void test_more_threads_than_cores(void **state) {
    (void)state;
    network_case c = {ATTN_RNN_LSTM, 1, 112, batches[0], NULL};
    float *expected = results(&c, 1);
    cores = 2;
    expect_bits(&c, expected, 7);
    cores = 1;
    expect_bits(&c, expected, 2);
    free(expected);
}

/* Small steps, short sequences, and as many directions as threads are not shared. */
static void test_not_worth_it(void **state) {
    (void)state;
    static const int64_t few_rows[] = {0, 5};
    const network_case cases[] = {{ATTN_RNN_TANH, 1, 32, batches[0], NULL},
                                  {ATTN_RNN_LSTM, 1, 112, {1, few_rows}, NULL},
                                  {ATTN_RNN_LSTM, 2, 112, batches[0], NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *expected = results(&cases[i], 1);
        expect_bits(&cases[i], expected, 2);
        free(expected);
    }
    assert_int_equal(teams, 0);
}

/* ---- steps that continue from others ---- */

static float *run_on(const network_case *c, int threads) {
    enum { PIECES = 3 };
    network n = network_create(c, threads);
    int64_t rows = c->batch.offsets[1], state_numbers = 2 * c->hidden;
    float *x = numbers(PIECES * rows * IN, 21), *before = numbers(state_numbers, 22);
    float *all = numbers(PIECES * rows * c->hidden + state_numbers, 23), *end = all;
    for (int piece = 0; piece < PIECES; piece++) {
        attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *input = attn_tape_input(n.tape, x + piece * rows * IN, rows, IN, 0);
        attn_variable *y = at_tape_recurrent_on(n.tape, input, c->kind, n.weights, before);
        assert_non_null(y);
        append(&end, host_data(y), rows * c->hidden);
    }
    append(&end, before, state_numbers);
    free(x);
    free(before);
    network_destroy(&n);
    return all;
}

static void test_going_on(void **state) {
    (void)state;
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        network_case c = {(attn_recurrence)kind, 1, 150, batches[0], NULL};
        float *expected = run_on(&c, 1);
        for (part_at = 0; part_at <= 1; part_at++) {
            float *found = run_on(&c, 3);
            assert_memory_equal(expected, found, (size_t)(3 * 240 * 150 + 2 * 150) * sizeof(float));
            free(found);
        }
        free(expected);
    }
    assert_int_equal(teams, 3 * 2 * 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_threads, as_usual),
        cmocka_unit_test_setup(test_threads_scalar, as_usual),
        cmocka_unit_test_setup(test_long_sequence, as_usual),
        cmocka_unit_test_setup(test_missing_members, as_usual),
        cmocka_unit_test_setup(test_parting, as_usual),
        cmocka_unit_test_setup(test_more_threads_than_cores, as_usual),
        cmocka_unit_test_setup(test_not_worth_it, as_usual),
        cmocka_unit_test_setup(test_going_on, as_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
