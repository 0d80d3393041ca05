/* test_operations_attention.c: attention on the tape against the oracle: the
 * gradients of queries, keys, values, biases, score vectors and edge features,
 * fan-out, slices, and dropout that counts in training only.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

enum {
    QUERY,
    KEY,
    VALUE,
    BIAS,
    DISTANCE_BIAS,
    SCORE_VECTOR,
    KEY_SCORE_VECTOR,
    EDGE_BIAS,
    EDGE_KEY,
    EDGE_VALUE,
    PARTS
};

static const int64_t query_offsets[] = {0, 3, 3, 8}, key_offsets[] = {0, 4, 6, 11};
enum { SEQUENCES = 3, QUERIES = 8, KEYS = 11, LONGEST = 5, EDGES = 17, ROWS = 7, COLUMNS = 6 };

typedef struct attention_case {
    int64_t heads, kv_heads, d_k, d_v;
    attn_pattern pattern;
    attn_attention_options options;
    int has[PARTS];
    int64_t bias_shape[4];
    int bias_by_head;
    int part[PARTS]; /* which input of the operation it is */
} attention_case;

static attn_variable *given(const attention_case *a, attn_variable **input, int part) {
    return a->has[part] ? input[a->part[part]] : NULL;
}

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const attention_case *a = user;
    attn_attention_inputs inputs;
    (void)parameter;
    attn_attention_inputs_init(&inputs);
    inputs.heads = a->heads;
    inputs.kv_heads = a->kv_heads;
    inputs.pattern = &a->pattern;
    inputs.bias = given(a, input, BIAS);
    memcpy(inputs.bias_shape, a->bias_shape, sizeof inputs.bias_shape);
    inputs.bias_by_head = a->bias_by_head;
    inputs.distance_bias = given(a, input, DISTANCE_BIAS);
    inputs.score_vector = given(a, input, SCORE_VECTOR);
    inputs.key_score_vector = given(a, input, KEY_SCORE_VECTOR);
    inputs.edge_bias = given(a, input, EDGE_BIAS);
    inputs.edge_key = given(a, input, EDGE_KEY);
    inputs.edge_value = given(a, input, EDGE_VALUE);
    attn_attention_options options = a->options; /* gone after the operation, with its list */
    int64_t bias_of[SEQUENCES];
    if (options.bias_of) {
        memcpy(bias_of, options.bias_of, sizeof bias_of);
        options.bias_of = bias_of;
    }
    inputs.options = &options;
    attn_variable *y =
        attn_tape_attention(tape, input[a->part[QUERY]], input[a->part[KEY]], input[a->part[VALUE]], &inputs);
    memset(bias_of, 0x55, sizeof bias_of);
    return y;
}

static ref_tensor view(const double *data, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    int64_t shape[4] = {a, b, c, d}, step = 1;
    ref_tensor t = {.data = data, .rank = rank};
    for (int r = rank - 1; r >= 0; r--) {
        t.shape[r] = shape[r];
        t.stride[r] = step;
        step *= shape[r];
    }
    return t;
}

static int64_t rows_of(const attention_case *a, int part) {
    if (a->pattern.graph) return part == QUERY ? ROWS : COLUMNS;
    return part == QUERY || a->pattern.key_offsets == query_offsets ? QUERIES : KEYS;
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const attention_case *a = user;
    (void)parameter;
    ref_attention call = {.pattern = &a->pattern, .options = &a->options};
    call.query = view(input[a->part[QUERY]], 3, rows_of(a, QUERY), a->heads, a->d_k, 0);
    call.key = view(input[a->part[KEY]], 3, rows_of(a, KEY), a->kv_heads, a->d_k, 0);
    call.value = view(input[a->part[VALUE]], 3, rows_of(a, VALUE), a->kv_heads, a->d_v, 0);
    const int64_t *s = a->bias_shape;
    if (a->has[BIAS]) call.bias = view(input[a->part[BIAS]], 4, s[0], s[1], s[2], s[3]);
    if (a->has[BIAS] && a->bias_by_head) {
        call.bias.stride[0] = s[2] * s[3];
        call.bias.stride[1] = s[0] * s[2] * s[3];
    }
    if (a->has[DISTANCE_BIAS]) call.distance_bias = view(input[a->part[DISTANCE_BIAS]], 2, a->heads, 5, 0, 0);
    if (a->has[SCORE_VECTOR])
        call.score_vector = view(input[a->part[SCORE_VECTOR]], 2, a->heads, a->d_k, 0, 0);
    if (a->has[KEY_SCORE_VECTOR])
        call.key_score_vector = view(input[a->part[KEY_SCORE_VECTOR]], 2, a->heads, a->d_k, 0, 0);
    if (a->has[EDGE_BIAS]) call.edge_bias = view(input[a->part[EDGE_BIAS]], 2, EDGES, a->heads, 0, 0);
    if (a->has[EDGE_KEY]) call.edge_key = view(input[a->part[EDGE_KEY]], 3, EDGES, a->heads, a->d_k, 0);
    if (a->has[EDGE_VALUE]) call.edge_value = view(input[a->part[EDGE_VALUE]], 3, EDGES, a->heads, a->d_v, 0);
    assert_int_equal(ref_attention_forward(&call, result, NULL, NULL), ATTN_OK);
}

static attention_case base_case(void) {
    attention_case a = {.heads = 2, .kv_heads = 2, .d_k = 4, .d_v = 3};
    attn_pattern_init(&a.pattern);
    a.pattern.sequences = SEQUENCES;
    a.pattern.query_offsets = query_offsets;
    a.pattern.key_offsets = key_offsets;
    attn_attention_options_init(&a.options);
    return a;
}

static void check(const char *name, attention_case *a, uint64_t seed) {
    const operation_tensor shapes[PARTS] = {
        {.rows = rows_of(a, QUERY), .columns = a->heads * a->d_k},
        {.rows = rows_of(a, KEY), .columns = a->kv_heads * a->d_k},
        {.rows = rows_of(a, VALUE), .columns = a->kv_heads * a->d_v},
        {.rows = a->bias_shape[0] * a->bias_shape[1], .columns = a->bias_shape[2] * a->bias_shape[3]},
        {.rows = a->heads, .columns = 5},
        {.rows = a->heads, .columns = a->d_k},
        {.rows = a->heads, .columns = a->d_k},
        {.rows = EDGES, .columns = a->heads},
        {.rows = EDGES, .columns = a->heads * a->d_k},
        {.rows = EDGES, .columns = a->heads * a->d_v}};
    operation_case c = {.name = name,
                        .rows = rows_of(a, QUERY),
                        .columns = a->heads * a->d_v,
                        .seed = seed,
                        .user = a,
                        .run = run,
                        .reference = reference};
    a->has[QUERY] = a->has[KEY] = a->has[VALUE] = 1;
    for (int p = 0; p < PARTS; p++) {
        if (!a->has[p]) continue;
        a->part[p] = c.inputs;
        c.input[c.inputs++] = shapes[p];
    }
    operation_check(&c);
}

static void test_positions(void **state) {
    (void)state;
    attention_case a = base_case();
    check("ragged", &a, 1);
    a = base_case();
    a.heads = 4;
    a.pattern.right = 1;
    a.pattern.align = ATTN_ALIGN_END;
    check("grouped, reach", &a, 2);
    a = base_case();
    a.has[BIAS] = a.has[DISTANCE_BIAS] = 1;
    int64_t shape[4] = {1, 2, LONGEST, LONGEST};
    memcpy(a.bias_shape, shape, sizeof shape);
    a.options.softcap = 2.0f;
    check("biases", &a, 3);
    a = base_case();
    a.options.score = ATTN_SCORE_NONE;
    a.has[BIAS] = 1;
    memcpy(a.bias_shape, shape, sizeof shape);
    check("fixed weights", &a, 4);
}

/* Sequences that take one of several biases, in either order of the numbers; one bias is nobody's. */
static void test_groups(void **state) {
    (void)state;
    static const int64_t bias_of[SEQUENCES] = {3, 0, 3};
    for (int by_head = 0; by_head < 2; by_head++) {
        for (int score = 0; score < 2; score++) {
            attention_case a = base_case();
            int64_t shape[4] = {5, 2, LONGEST, LONGEST};
            a.has[BIAS] = 1;
            memcpy(a.bias_shape, shape, sizeof shape);
            a.options.bias_of = bias_of;
            a.bias_by_head = by_head;
            if (score) {
                a.options.score = ATTN_SCORE_ADDITIVE;
                a.has[SCORE_VECTOR] = 1;
            }
            check("groups", &a, (uint64_t)(7 + by_head));
        }
    }
}

static void test_scores(void **state) {
    (void)state;
    static const attn_score scores[] = {ATTN_SCORE_ADDITIVE, ATTN_SCORE_GATV2, ATTN_SCORE_GAT};
    for (int s = 0; s < 3; s++) {
        attention_case a = base_case();
        a.options.score = scores[s];
        a.has[SCORE_VECTOR] = 1;
        a.has[KEY_SCORE_VECTOR] = scores[s] == ATTN_SCORE_GAT;
        check("scores", &a, 20 + (uint64_t)s);
        a.options.weighting = ATTN_WEIGHTS_SIGMOID;
        a.options.average = 1;
        check("scores, sigmoid", &a, 30 + (uint64_t)s);
    }
}

static void test_graph(void **state) {
    (void)state;
    static const attn_score scores[] = {ATTN_SCORE_DOT, ATTN_SCORE_ADDITIVE, ATTN_SCORE_GATV2,
                                        ATTN_SCORE_GAT};
    int64_t offsets[ROWS + 1] = {0, 3, 3, 7, 8, 12, 16, EDGES}, columns[EDGES];
    test_random random = {5};
    for (int e = 0; e < EDGES; e++) columns[e] = random_between(&random, 0, COLUMNS - 1);
    for (int s = 0; s < 4; s++) {
        attention_case a = base_case();
        attn_graph *graph;
        assert_int_equal(attn_graph_create(test_best_context(1), ROWS, COLUMNS, offsets, columns, &graph),
                         ATTN_OK);
        attn_pattern_init(&a.pattern);
        a.pattern.graph = graph;
        a.options.score = scores[s];
        a.has[SCORE_VECTOR] = scores[s] != ATTN_SCORE_DOT;
        a.has[KEY_SCORE_VECTOR] = scores[s] == ATTN_SCORE_GAT;
        a.has[EDGE_BIAS] = a.has[EDGE_VALUE] = 1;
        a.has[EDGE_KEY] = scores[s] != ATTN_SCORE_GAT;
        check("graph", &a, 40 + (uint64_t)s);
        attn_graph_destroy(graph);
    }
}

/* x is queries, keys and values at once: raw self-attention. */
static attn_variable *run_shared(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                 void *user) {
    attention_case a = *(attention_case *)user;
    attn_variable *all[3] = {input[0], input[0], input[0]};
    return run(tape, all, parameter, &a);
}
static void reference_shared(double *const *input, double *const *parameter, double *result, void *user) {
    attention_case a = *(attention_case *)user;
    double *all[3] = {input[0], input[0], input[0]};
    reference(all, parameter, result, &a);
}
/* the three are slices of x, in one row */
static attn_variable *run_slices(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                 void *user) {
    attention_case a = *(attention_case *)user;
    attn_variable *all[3];
    for (int p = 0; p < 3; p++) all[p] = attn_tape_slice(tape, input[0], p * 8, 8);
    return run(tape, all, parameter, &a);
}
static void reference_slices(double *const *input, double *const *parameter, double *result, void *user) {
    attention_case a = *(attention_case *)user;
    double part[3][QUERIES * 8], *all[3] = {part[0], part[1], part[2]};
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < QUERIES; i++)
            memcpy(part[p] + i * 8, input[0] + i * 24 + p * 8, 8 * sizeof **part);
    reference(all, parameter, result, &a);
}

static void test_one_variable(void **state) {
    (void)state;
    attention_case a = base_case();
    a.d_v = 4;
    a.pattern.key_offsets = query_offsets;
    for (int p = 0; p < 3; p++) a.part[p] = p;
    operation_case c = {.name = "one variable for all three",
                        .inputs = 1,
                        .input = {{.rows = QUERIES, .columns = 8}},
                        .rows = QUERIES,
                        .columns = 8,
                        .seed = 9,
                        .user = &a,
                        .run = run_shared,
                        .reference = reference_shared};
    operation_check(&c);
    c.name = "three slices";
    c.input[0].columns = 24;
    c.run = run_slices;
    c.reference = reference_slices;
    operation_check(&c);
}

static void test_dropout_and_errors(void **state) {
    (void)state;
    attn_tape *tape;
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    float x[6 * 8];
    test_random random = {3};
    for (int i = 0; i < 48; i++) x[i] = random_normal(&random);
    float result[4][48];
    static const attn_tape_mode modes[] = {ATTN_TAPE_PREDICT, ATTN_TAPE_GRADIENT, ATTN_TAPE_TRAIN,
                                           ATTN_TAPE_TRAIN};
    attn_attention_options options;
    attn_attention_options_init(&options);
    options.dropout = 0.5f;
    attn_attention_inputs inputs;
    attn_attention_inputs_init(&inputs);
    inputs.heads = inputs.kv_heads = 2;
    inputs.options = &options;
    for (int m = 0; m < 4; m++) {
        attn_tape_begin(tape, modes[m], (uint64_t)m);
        attn_variable *v = attn_tape_input(tape, x, 6, 8, 0);
        attn_variable *y = attn_tape_attention(tape, v, v, v, &inputs);
        assert_non_null(y);
        memcpy(result[m], host_data(y), sizeof result[m]);
    }
    assert_memory_equal(result[0], result[1], sizeof result[0]); /* no dropout unless training */
    assert_memory_not_equal(result[0], result[2], sizeof result[0]);
    assert_memory_not_equal(result[2], result[3], sizeof result[0]); /* another seed */
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    attn_variable *v = attn_tape_input(tape, x, 6, 8, 0);
    inputs.heads = 3;
    assert_null(attn_tape_attention(tape, v, v, v, &inputs));
    assert_non_null(strstr(attn_tape_error(tape), "query has 8 columns, which do not divide into 3 heads"));
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    v = attn_tape_input(tape, x, 6, 8, 0);
    inputs.heads = 2;
    inputs.bias = v;
    assert_null(attn_tape_attention(tape, v, v, v, &inputs));
    assert_non_null(strstr(attn_tape_error(tape), "bias has 6 x 8 numbers, bias_shape is 0 x 0 x 0 x 0"));
    attn_tape_destroy(tape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),    cmocka_unit_test(test_groups),
        cmocka_unit_test(test_scores),       cmocka_unit_test(test_graph),
        cmocka_unit_test(test_one_variable), cmocka_unit_test(test_dropout_and_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
