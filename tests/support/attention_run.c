/* attention_run.c: library, oracle and naive code side by side. */
#include "support/attention_run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/naive.h"

values *values_create(const problem *p) {
    values *v = calloc(1, sizeof(*v));
    assert_non_null(v);
    for (int id = OUTPUT; id < TENSORS; id++) {
        if (!p->tensor[id].data) continue;
        v->data[id] = malloc((size_t)(p->count[id] + 1) * sizeof(double));
        assert_non_null(v->data[id]);
        for (int64_t e = 0; e < p->count[id]; e++) v->data[id][e] = (double)CANARY;
    }
    return v;
}

void values_destroy(values *v) {
    for (int id = 0; id < TENSORS; id++) free(v->data[id]);
    free(v);
}

void problem_reset(problem *p) {
    for (int id = OUTPUT; id < TENSORS; id++) {
        float *memory = p->memory[id].data;
        for (size_t e = 0; e < p->memory[id].bytes / sizeof(float); e++) memory[e] = CANARY;
    }
}

attn_status problem_forward(attn_context *context, problem *p) {
    return attn_attention_forward(context, &p->pattern, &p->options, &p->tensor[QUERY], &p->tensor[KEY],
                                  &p->tensor[VALUE], &p->tensor[OUTPUT], &p->tensor[LOG_SUM_EXP],
                                  p->tensor[WEIGHTS].data ? &p->tensor[WEIGHTS] : NULL);
}

attn_status problem_backward(attn_context *context, problem *p) {
    attn_attention_gradients gradients;
    attn_attention_gradients_init(&gradients);
    gradients.query = p->tensor[D_QUERY];
    gradients.key = p->tensor[D_KEY];
    gradients.value = p->tensor[D_VALUE];
    gradients.bias = p->tensor[D_BIAS];
    gradients.distance_bias = p->tensor[D_DISTANCE];
    return attn_attention_backward(context, &p->pattern, &p->options, &p->tensor[QUERY], &p->tensor[KEY],
                                   &p->tensor[VALUE], &p->tensor[OUTPUT], &p->tensor[LOG_SUM_EXP],
                                   &p->tensor[D_OUTPUT], &gradients);
}

static void assert_ok(const problem *p, const char *call, attn_context *context, attn_status status) {
    if (status == ATTN_OK) return;
    char text[512];
    case_describe(&p->c, text, sizeof(text));
    fail_msg("%s (%s): %s: %s\n  %s", call, attn_context_isa(context), attn_status_name(status),
             attn_context_error(context), text);
}

/* A sum over the bytes of all inputs, to notice a write to one of them. */
static uint64_t input_digest(const problem *p) {
    uint64_t digest = 0;
    for (int id = 0; id < OUTPUT; id++) {
        const unsigned char *bytes = p->memory[id].data;
        for (size_t e = 0; bytes && e < p->memory[id].bytes; e++) digest = digest * 31 + bytes[e];
    }
    return digest;
}

/* Takes a result out of its view and checks the floats between its elements. */
static void collect(const problem *p, tensor_id id, double *result) {
    const attn_tensor *view = &p->tensor[id];
    float *memory = p->memory[id].data;
    for (int64_t e = 0; e < p->count[id]; e++) {
        float *element = view_element(view, e);
        result[e] = (double)*element;
        *element = CANARY;
    }
    for (size_t e = 0; e < p->memory[id].bytes / sizeof(float); e++)
        if (memory[e] != CANARY) fail_msg("%s: written between its elements, at %zu", tensor_names[id], e);
    for (int64_t e = 0; e < p->count[id]; e++) *view_element(view, e) = (float)result[e];
}

values *run_library(attn_context *context, problem *p, int passes) {
    values *result = values_create(p);
    uint64_t digest = input_digest(p);
    problem_reset(p);
    assert_ok(p, "forward", context, problem_forward(context, p));
    if (passes & RUN_BACKWARD) assert_ok(p, "backward", context, problem_backward(context, p));
    for (int id = OUTPUT; id < TENSORS; id++)
        if (result->data[id]) collect(p, (tensor_id)id, result->data[id]);
    assert_true(digest == input_digest(p));
    return result;
}

values *run_oracle(const problem *p, int passes) {
    values *v = values_create(p);
    if (passes & RUN_FORWARD)
        assert_int_equal(
            ref_attention_forward(&p->reference, v->data[OUTPUT], v->data[LOG_SUM_EXP], v->data[WEIGHTS]),
            ATTN_OK);
    if (passes & RUN_BACKWARD)
        assert_int_equal(ref_attention_backward(&p->reference, p->exact[D_OUTPUT], v->data[D_QUERY],
                                                v->data[D_KEY], v->data[D_VALUE], v->data[D_BIAS],
                                                v->data[D_DISTANCE]),
                         ATTN_OK);
    return v;
}

static bool same_class(double a, double b) {
    return isnan(b) ? (bool)isnan(a) : isinf(b) ? a == b : (bool)isfinite(a);
}

static double largest(const double *data, int64_t count) {
    double most = 0.0;
    for (int64_t e = 0; e < count; e++)
        if (isfinite(data[e]) && fabs(data[e]) > most) most = fabs(data[e]);
    return most;
}

/* The largest difference where the oracle is finite; fails on another class. */
static double error_of(const problem *p, tensor_id id, const char *who, const double *a, const double *oracle,
                       int64_t *where) {
    double most = 0.0;
    *where = 0;
    for (int64_t e = 0; e < p->count[id]; e++) {
        if (!same_class(a[e], oracle[e])) {
            char text[512];
            case_describe(&p->c, text, sizeof(text));
            fail_msg("%s: %s[%lld] is %g, the oracle has %g\n  %s", who, tensor_names[id], (long long)e, a[e],
                     oracle[e], text);
        }
        double difference = isfinite(oracle[e]) ? fabs(a[e] - oracle[e]) : 0.0;
        if (difference <= most) continue;
        most = difference;
        *where = e;
    }
    return most;
}

void assert_close(const problem *p, const char *isa, const values *library, const values *oracle,
                  const values *naive, const values *rounding) {
    for (int id = OUTPUT; id < TENSORS; id++) {
        if (!library->data[id]) continue;
        int64_t where;
        double naive_error = error_of(p, (tensor_id)id, "naive", naive->data[id], oracle->data[id], &where);
        double floor = 2.0 * ldexp(largest(rounding->data[id], p->count[id]), -24) + (double)FLT_MIN;
        double error = error_of(p, (tensor_id)id, isa, library->data[id], oracle->data[id], &where);
        if (error <= 4.0 * naive_error + floor) continue;
        char text[512];
        case_describe(&p->c, text, sizeof(text));
        fail_msg(
            "%s: %s[%lld] is %.9g, the oracle has %.9g: off by %.3g; naive code is off by %.3g, the floor is "
            "%.3g\n  %s",
            isa, tensor_names[id], (long long)where, library->data[id][where], oracle->data[id][where], error,
            naive_error, floor, text);
    }
}

void assert_same_bits_of(const problem *p, const char *what, tensor_id id, const values *a, const values *b) {
    assert_true((a->data[id] != NULL) == (b->data[id] != NULL));
    for (int64_t e = 0; a->data[id] && e < p->count[id]; e++) {
        if (memcmp(&a->data[id][e], &b->data[id][e], sizeof(double)) == 0) continue;
        char text[512];
        case_describe(&p->c, text, sizeof(text));
        fail_msg("%s: %s[%lld] is %.9g and %.9g\n  %s", what, tensor_names[id], (long long)e, a->data[id][e],
                 b->data[id][e], text);
    }
}

void assert_same_bits(const problem *p, const char *what, const values *a, const values *b) {
    for (int id = OUTPUT; id < TENSORS; id++) assert_same_bits_of(p, what, (tensor_id)id, a, b);
}

/* Leaves only the results of the passes that were requested. */
static void forget(values *v, int passes) {
    for (int id = OUTPUT; id < TENSORS; id++) {
        if (passes & (id < D_QUERY ? RUN_FORWARD : RUN_BACKWARD)) continue;
        free(v->data[id]);
        v->data[id] = NULL;
    }
}

void check_problem(problem *p, int passes) {
    values *oracle = run_oracle(p, passes), *naive = values_create(p), *rounding = values_create(p);
    naive_attention(p, passes, naive, rounding);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1 + (int)(p->c.seed / 2 % 2));
        if (!context) continue;
        values *library = run_library(context, p, passes);
        forget(library, passes);
        assert_close(p, test_isa_names[isa], library, oracle, naive, rounding);
        values_destroy(library);
    }
    values_destroy(oracle);
    values_destroy(naive);
    values_destroy(rounding);
}

void check_case(const test_case *c, int passes) {
    problem *p = problem_create(c, MEMORY_PLAIN);
    check_problem(p, passes);
    problem_destroy(p);
}
