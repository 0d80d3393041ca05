/* test_backend.c: what stands between the tape and the numbers (src/ops/backend.h).
 *
 * On a backend that protects its memory (support/protected_backend.h): that the
 * protection bites; that training gives the bits of the CPU's; what the host may read;
 * where memory comes from and that all of it goes back. Every operation runs on it in
 * the tests named protected_test_*.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/host.h"
#include "support/protected_backend.h"
#include "tape/parameters.h"
#include "tape/residual.h"
#include "tape/tape.h"
#include "train/optimizer.h"

static attn_context *new_context(const at_backend *backend, int threads) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = threads;
    attn_context *context;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    if (backend) at_context_use_backend(context, backend);
    return context;
}

/* ---- the protection ---- */

/* How a child ends that reads a number of a variable: through the library, or by the pointer. */
static int status_of_child(int by_pointer) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler of their own */
        attn_context *context = new_context(test_protected_backend(), 1);
        attn_tape *tape;
        float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
        if (attn_tape_create(context, &tape) != ATTN_OK) _exit(1);
        attn_tape_begin(tape, ATTN_TAPE_GRADIENT, 0);
        attn_variable *v = attn_tape_scale(tape, attn_tape_input(tape, x, 2, 3, 1), 2.0f);
        if (!v || attn_variable_read(v, y) != ATTN_OK || y[5] != 12.0f) _exit(2);
        if (by_pointer && *(volatile float *)v->data == 2.0f) _exit(3);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_protection_bites(void **state) {
    (void)state;
    int status = status_of_child(0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = status_of_child(1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* No operator is missing, in either table. */
static void test_tables_are_full(void **state) {
    (void)state;
    const at_backend *const all[] = {&at_cpu_backend, test_protected_backend()};
    for (int b = 0; b < 2; b++) {
        const unsigned char *table = (const unsigned char *)&all[b]->run;
        for (size_t at = 0; at < sizeof all[b]->run; at += sizeof(void (*)(void))) {
            void (*operator)(void);
            memcpy(&operator, table + at, sizeof operator);
            if (!operator) fail_msg("%s: operator %zu is missing", all[b]->name, at / sizeof operator);
        }
        assert_non_null(all[b]->memory.allocator);
        assert_non_null(all[b]->memory.clear);
        assert_non_null(all[b]->memory.copy);
        assert_non_null(all[b]->memory.upload);
        assert_non_null(all[b]->memory.download);
    }
}

/* ---- training ---- */

enum { ROWS = 11, WIDTH = 16, CLASSES = 5, SYMBOLS = 9, PARAMETERS = 18 };

static const int64_t offsets[] = {0, 4, 4, ROWS};
static const attn_ragged batch = {3, offsets};

typedef struct network {
    attn_parameters *set;
    attn_parameter *p[PARAMETERS];
    attn_positions *positions;
} network;

static network build(attn_context *context) {
    static const int64_t shapes[PARAMETERS][3] = {{SYMBOLS, WIDTH},
                                                  {WIDTH},
                                                  {WIDTH},
                                                  {3 * WIDTH, WIDTH},
                                                  {WIDTH, WIDTH},
                                                  {2 * WIDTH, WIDTH},
                                                  {2 * WIDTH},
                                                  {WIDTH, 2 * WIDTH},
                                                  {WIDTH},
                                                  {WIDTH, 3, WIDTH},
                                                  {WIDTH},
                                                  {3 * WIDTH, WIDTH},
                                                  {3 * WIDTH, WIDTH},
                                                  {3 * WIDTH},
                                                  {3 * WIDTH},
                                                  {CLASSES, WIDTH},
                                                  {CLASSES, CLASSES},
                                                  {CLASSES}};
    network n;
    assert_int_equal(attn_parameters_create(context, 3, &n.set), ATTN_OK);
    for (int p = 0; p < PARAMETERS; p++) {
        char name[] = "a";
        name[0] = (char)('a' + p);
        int rank = shapes[p][2] ? 3 : shapes[p][1] ? 2 : 1;
        n.p[p] = attn_parameters_add(n.set, name, rank, shapes[p], NULL);
    }
    n.positions = attn_positions_create(n.set, "positions", ATTN_POSITION_SINUSOIDAL, WIDTH, 0);
    assert_int_equal(attn_parameters_status(n.set), ATTN_OK);
    return n;
}

static attn_variable *attend(attn_tape *tape, attn_variable *x, attn_parameter *projection) {
    attn_variable *y = attn_tape_linear(tape, x, projection, NULL, ATTN_IDENTITY);
    attn_variable *part[3];
    for (int i = 0; i < 3; i++) part[i] = attn_tape_slice(tape, y, i * WIDTH, WIDTH);
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.sequences = batch.sequences;
    pattern.query_offsets = pattern.key_offsets = offsets;
    attn_attention_inputs inputs;
    attn_attention_inputs_init(&inputs);
    inputs.heads = inputs.kv_heads = 2;
    inputs.pattern = &pattern;
    return attn_tape_attention(tape, part[0], attn_tape_rotary(tape, part[1], 2, &batch, NULL, 100.0f),
                               part[2], &inputs);
}

/* A bit of everything: the sum of a CRF's loss and a cross-entropy. */
static attn_variable *loss_of(attn_tape *tape, const network *n) {
    static const int32_t ids[ROWS] = {0, 3, 3, 8, 1, 2, 5, 5, 7, 6, 4},
                         labels[ROWS] = {0, 1, 2, 3, 4, 4, 3, 2, 1, 0, 0};
    attn_parameter *const *p = n->p;
    attn_variable *x = attn_tape_embedding(tape, p[0], ids, ROWS);
    attn_places places;
    attn_places_init(&places);
    places.batch = batch;
    x = attn_positions_apply(tape, n->positions, x, &places);
    attn_variable *y = attend(tape, attn_tape_layer_norm(tape, x, p[1], p[2], 1e-5f), p[3]);
    x = at_tape_residual(tape, x, attn_tape_linear(tape, y, p[4], NULL, ATTN_IDENTITY), 0.1f);
    x = at_tape_residual(tape, x, attn_tape_feedforward(tape, x, p[5], p[6], ATTN_GELU, p[7], p[8]), 0.0f);
    attn_convolution_options convolution;
    attn_convolution_options_init(&convolution);
    convolution.activation = ATTN_RELU;
    x = attn_tape_convolution(tape, x, &batch, p[9], p[10], &convolution);
    attn_recurrent_weights weights = {p[11], p[12], p[13], p[14]};
    x = attn_tape_recurrent(tape, attn_tape_dropout(tape, x, 0.2f), &batch, ATTN_RNN_GRU, &weights, 1);
    x = attn_tape_linear(tape, x, p[15], NULL, ATTN_IDENTITY);
    attn_crf crf = {p[16], p[17], NULL};
    return attn_tape_add(tape, attn_tape_crf(tape, x, &batch, &crf, labels),
                         attn_tape_cross_entropy(tape, x, labels, NULL));
}

typedef struct trained {
    float loss, value[PARAMETERS][3 * WIDTH * WIDTH], average[PARAMETERS][3 * WIDTH * WIDTH];
} trained;

static void read_values(const network *n, float (*into)[3 * WIDTH * WIDTH]) {
    for (int p = 0; p < PARAMETERS; p++) {
        assert_int_equal(at_parameter_host_read(n->p[p], 0, n->p[p]->count, into[p]), ATTN_OK);
    }
}

static void train(const at_backend *backend, int threads, const attn_optimizer_options *options,
                  trained *into) {
    attn_context *context = new_context(backend, threads);
    network n = build(context);
    attn_tape *tape;
    attn_optimizer *optimizer;
    memset(into, 0, sizeof *into);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    assert_int_equal(attn_optimizer_create(n.set, options, &optimizer), ATTN_OK);
    for (uint64_t step = 0; step < 4; step++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, step);
        attn_variable *loss = loss_of(tape, &n);
        if (attn_tape_backward(tape, loss, NULL) != ATTN_OK) fail_msg("%s", attn_tape_error(tape));
        assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
    }
    read_values(&n, into->value);
    assert_int_equal(attn_optimizer_swap_average(optimizer), ATTN_OK);
    read_values(&n, into->average);
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    assert_int_equal(attn_variable_read(loss_of(tape, &n), &into->loss), ATTN_OK);
    assert_true(isfinite(into->loss));
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(n.set);
    attn_context_destroy(context);
}

static void check_training(const attn_optimizer_options *options) {
    static trained cpu, protected;
    train(NULL, 1, options, &cpu);
    for (int threads = 1; threads <= 2; threads++) {
        long openings = test_protected_openings();
        train(test_protected_backend(), threads, options, &protected);
        assert_true(test_protected_openings() > openings + 100); /* it did run there */
        assert_memory_equal(&cpu, &protected, sizeof cpu);
        assert_int_equal(test_protected_bytes(), 0); /* and all memory came back */
    }
    assert_memory_not_equal(cpu.value, cpu.average, sizeof cpu.value);
}

static void test_training(void **state) {
    (void)state;
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.average = 0.9;
    options.clip_norm = 1.0;
    check_training(&options);
    options.kind = ATTN_SGD;
    options.momentum = 0.9;
    options.nesterov = 1;
    options.learning_rate = 0.1;
    check_training(&options);
}

/* ---- the host ---- */

static void test_host(void **state) {
    (void)state;
    attn_context *context = new_context(test_protected_backend(), 1);
    attn_parameters *set;
    attn_tape *tape;
    int64_t shape[] = {2, 3};
    float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y[6];
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_parameter *w = attn_parameters_add(set, "w", 2, shape, NULL);
    assert_null(attn_parameter_value(w).data); /* pointers that the host could not follow are not given */
    assert_null(attn_parameter_gradient(w).data);
    attn_tape_begin(tape, ATTN_TAPE_GRADIENT, 0);
    attn_variable *v = attn_tape_input(tape, x, 3, 4, 1), *middle = attn_tape_slice(tape, v, 1, 2);
    assert_null(attn_variable_data(v));
    assert_int_equal(attn_variable_read(middle, y), ATTN_OK); /* contiguous, of a view that is not */
    assert_true(y[0] == 2 && y[1] == 3 && y[2] == 6 && y[5] == 11);
    assert_int_equal(attn_tape_backward(tape, middle, x), ATTN_OK);
    assert_null(attn_variable_gradient(v));
    const float *g = host_gradient(v);
    assert_true(g[0] == 0 && g[1] == 1 && g[2] == 2 && g[3] == 0 && g[5] == 3 && g[10] == 6);
    assert_int_equal(attn_variable_read(NULL, y), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_variable_read(v, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_variable_read_gradient(middle, y), ATTN_INVALID_ARGUMENT); /* not kept */
    assert_int_equal(attn_variable_read_gradient(NULL, y), ATTN_INVALID_ARGUMENT);
    host_set_value(w, x);
    assert_memory_equal(host_value(w), x, 6 * sizeof(float));
    assert_int_equal(at_parameter_fill(w, 1, 2, 9.0f), ATTN_OK);
    assert_int_equal(at_parameter_fill(w, 6, 0, 7.0f), ATTN_OK); /* nothing */
    const float *filled = host_value(w);
    assert_true(filled[0] == 1 && filled[1] == 9 && filled[2] == 9 && filled[3] == 4);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    attn_context_destroy(context);
}

/* The optimiser's state goes through the host: one that is given it continues with the same bits. */
static void test_state_of_the_optimizer(void **state) {
    (void)state;
    static float numbers[3 * WIDTH * WIDTH], before[PARAMETERS][3 * WIDTH * WIDTH],
        after[2][PARAMETERS][3 * WIDTH * WIDTH];
    attn_context *context = new_context(test_protected_backend(), 1);
    network n = build(context);
    attn_tape *tape;
    attn_optimizer *optimizer[2];
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    assert_int_equal(attn_optimizer_create(n.set, NULL, &optimizer[0]), ATTN_OK);
    for (int step = 0; step < 4; step++) {
        if (step == 2) {
            read_values(&n, before);
            assert_int_equal(attn_optimizer_create(n.set, NULL, &optimizer[1]), ATTN_OK);
            for (int64_t i = 0; i < attn_optimizer_state_count(optimizer[0]); i++) {
                assert_int_equal(at_optimizer_host_read(optimizer[0], i, numbers), ATTN_OK);
                assert_int_equal(at_optimizer_host_write(optimizer[1], i, numbers), ATTN_OK);
            }
            assert_int_equal(attn_optimizer_set_steps(optimizer[1], 2), ATTN_OK);
        }
        if (step == 3) { /* once more from where it was, by the other one */
            read_values(&n, after[0]);
            for (int p = 0; p < PARAMETERS; p++) host_set_value(n.p[p], before[p]);
        }
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, step == 3 ? 2 : (uint64_t)step);
        assert_int_equal(attn_tape_backward(tape, loss_of(tape, &n), NULL), ATTN_OK);
        assert_int_equal(attn_optimizer_step(optimizer[step == 3]), ATTN_OK);
    }
    read_values(&n, after[1]);
    assert_memory_equal(after[0], after[1], sizeof after[0]);
    assert_memory_not_equal(before, after[0], sizeof before);
    assert_int_equal(at_optimizer_host_read(optimizer[0], -1, numbers), ATTN_INVALID_ARGUMENT);
    for (int i = 0; i < 2; i++) attn_optimizer_destroy(optimizer[i]);
    attn_tape_destroy(tape);
    attn_parameters_destroy(n.set);
    attn_context_destroy(context);
    assert_int_equal(test_protected_bytes(), 0);
}

/* Values from a file that is mapped: copied to the backend, where it cannot read them in place. */
static float *stored(void *user, const char *name, int rank, const int64_t *shape, char *reason,
                     size_t reason_bytes) {
    (void)name;
    (void)rank;
    (void)shape;
    (void)reason;
    (void)reason_bytes;
    return user;
}

static void test_values_from_a_source(void **state) {
    (void)state;
    const at_backend *const all[] = {NULL, test_protected_backend()};
    for (int b = 0; b < 2; b++) {
        attn_context *context = new_context(all[b], 1);
        attn_parameters *set;
        int64_t three = 3;
        float numbers[3] = {1, 2, 3};
        assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
        at_parameters_from(set, stored, numbers);
        attn_parameter *p = attn_parameters_add(set, "p", 1, &three, NULL);
        assert_memory_equal(host_value(p), numbers, sizeof numbers);
        assert_int_equal(p->value == numbers, !all[b]);
        attn_parameters_destroy(set);
        attn_context_destroy(context);
        assert_int_equal(test_protected_bytes(), 0);
    }
}

/* A gradient that is not finite is found, and named, there too. */
static void test_not_finite(void **state) {
    (void)state;
    attn_context *context = new_context(test_protected_backend(), 1);
    attn_parameters *set;
    attn_tape *tape;
    attn_optimizer *optimizer;
    int64_t three = 3;
    float arrives[3] = {0, NAN, 0};
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    attn_parameter *p = attn_parameters_add(set, "p", 1, &three, NULL);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    assert_int_equal(attn_optimizer_create(set, NULL, &optimizer), ATTN_OK);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    assert_int_equal(attn_tape_backward(tape, attn_tape_parameter(tape, p), arrives), ATTN_OK);
    assert_int_equal(attn_optimizer_step(optimizer), ATTN_NOT_FINITE);
    assert_non_null(strstr(attn_context_error(context), "number 1 of the gradient of p"));
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    attn_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_protection_bites),
                                       cmocka_unit_test(test_tables_are_full),
                                       cmocka_unit_test(test_training),
                                       cmocka_unit_test(test_host),
                                       cmocka_unit_test(test_values_from_a_source),
                                       cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_state_of_the_optimizer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
