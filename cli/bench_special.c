/* bench_special.c: attention where something else than arithmetic decides:
 * decoding (memory bandwidth), short sequences (overhead; against the naive
 * path made of the library's other public calls), and the working memory of a
 * long sequence.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char *const label = "pattern heads    d   keys";

/* Caches that one query after another is asked against, so that their keys
 * and values come from memory: together larger than any cache. */
enum { DECODE_CACHES = 8 };

typedef struct decode_case {
    attention_case caches[DECODE_CACHES];
    int next;
} decode_case;

static attn_status decode_call(void *argument) {
    decode_case *with = argument;
    with->next = (with->next + 1) % DECODE_CACHES;
    return attention_case_forward(&with->caches[with->next]);
}

/* Memory is shared with whatever else runs, so the copy is measured again
 * right beside the decoding, and the better of the two counts. */
static bool measure_decode_setup(const bench *run, const bench_setup *setup, decode_case *with,
                                 bench_result *result) {
    double gigabytes = 0;
    for (int i = 0; i < DECODE_CACHES; i++) with->caches[i].context = setup->context;
    if (!bench_ok(setup->context, measure(decode_call, with, run->seconds, &result->time)) ||
        !bench_ok(setup->context, attn_machine_copy_bandwidth(setup->context, run->seconds, &gigabytes)))
        return false;
    result->copied = fmax(setup->bandwidth, 1e9 * gigabytes);
    return true;
}

static bool measure_decode(const bench *run) {
    attention_shape shape = {.queries = 1, .keys = 8192, .d = 64, .heads = 8, .kv_heads = 8, .window = -1};
    bench_result results[BENCH_SETUPS];
    decode_case with = {.next = 0};
    int made = 0;
    bool done = true;
    if (shape.keys > run->longest || !bench_wants(run, "decode")) return true;
    bench_print_table(run, "Decoding: one query; keys and values come from memory", label, BENCH_BANDWIDTH);
    for (; made < DECODE_CACHES && done; made++) {
        done = attention_case_create(run, &shape, false, &with.caches[made]);
    }
    for (int setup = 0; setup < run->setup_count && done; setup++) {
        results[setup] = attention_case_result(&shape, false);
        results[setup].series = "decode";
        results[setup].bytes = 2 * 4 * (double)(shape.keys * shape.kv_heads * shape.d);
        done = measure_decode_setup(run, &run->setups[setup], &with, &results[setup]);
    }
    for (int i = 0; i < made; i++) attention_case_destroy(&with.caches[i]);
    if (done) bench_print_row(run, results, BENCH_BANDWIDTH);
    return done;
}

/* The naive path: for every head S = Q K^T, P = softmax(S), O = P V, with the
 * library's own packing, product and softmax. Its queries carry the scale
 * already, which is a favour to it. */
typedef struct naive_case {
    attention_case *fused;
    float *query;  /* heads x n x d, scaled */
    float *output; /* heads x n x d */
    float *scores; /* n x n */
    void *packed_key;
    void *packed_value;
    size_t key_bytes, value_bytes;
} naive_case;

static attn_status naive_head(naive_case *with, int64_t head) {
    attn_context *context = with->fused->context;
    int64_t n = with->fused->shape.keys, d = with->fused->shape.d;
    attn_packed_weight key, value;
    attn_tensor key_matrix = attn_tensor_matrix((float *)with->fused->key.data + head * n * d, n, d);
    attn_tensor value_matrix = attn_tensor_matrix((float *)with->fused->value.data + head * n * d, d, n);
    attn_tensor query = attn_tensor_matrix(with->query + head * n * d, n, d);
    attn_tensor scores = attn_tensor_matrix(with->scores, n, n);
    attn_tensor output = attn_tensor_matrix(with->output + head * n * d, n, d);
    value_matrix.stride[0] = 1; /* V^T, in place */
    value_matrix.stride[1] = d;
    attn_status status = attn_weight_pack(context, &key_matrix, 0, with->packed_key, with->key_bytes, &key);
    if (status == ATTN_OK) {
        status = attn_matmul_forward(context, &query, &key, NULL, ATTN_IDENTITY, &scores, NULL);
    }
    if (status == ATTN_OK) status = attn_softmax_forward(context, &scores, &scores);
    if (status == ATTN_OK) {
        status = attn_weight_pack(context, &value_matrix, 0, with->packed_value, with->value_bytes, &value);
    }
    if (status == ATTN_OK) {
        status = attn_matmul_forward(context, &scores, &value, NULL, ATTN_IDENTITY, &output, NULL);
    }
    return status;
}

static attn_status naive_call(void *argument) {
    naive_case *with = argument;
    for (int64_t head = 0; head < with->fused->shape.heads; head++) {
        attn_status status = naive_head(with, head);
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

static void naive_destroy(naive_case *with) {
    free(with->query);
    free(with->output);
    free(with->scores);
    free(with->packed_key);
    free(with->packed_value);
}

static bool naive_create(naive_case *with, attention_case *fused) {
    int64_t n = fused->shape.keys, d = fused->shape.d, count = fused->shape.heads * n * d;
    memset(with, 0, sizeof *with);
    with->fused = fused;
    if (!bench_ok(fused->context, attn_weight_packed_size(fused->context, n, d, &with->key_bytes)) ||
        !bench_ok(fused->context, attn_weight_packed_size(fused->context, d, n, &with->value_bytes))) {
        return false;
    }
    with->query = bench_numbers(count, 0);
    with->output = bench_numbers(count, 0);
    with->scores = bench_numbers(n * n, 0);
    with->packed_key = bench_numbers((int64_t)(with->key_bytes / sizeof(float)) + 1, 0);
    with->packed_value = bench_numbers((int64_t)(with->value_bytes / sizeof(float)) + 1, 0);
    if (with->query == NULL || with->output == NULL || with->scores == NULL || with->packed_key == NULL ||
        with->packed_value == NULL) {
        naive_destroy(with);
        return false;
    }
    float scale = 1 / sqrtf((float)d);
    for (int64_t i = 0; i < count; i++) with->query[i] = scale * ((float *)fused->query.data)[i];
    return true;
}

/* Two paths that are compared must compute the same thing. */
static bool same_output(const naive_case *with) {
    const attention_shape *shape = &with->fused->shape;
    const float *fused = with->fused->output.data;
    for (int64_t i = 0; i < shape->heads * shape->keys * shape->d; i++) {
        if (!(fabsf(fused[i] - with->output[i]) <= 1e-5f)) { /* values are at most 1 */
            fprintf(stderr, "attn bench: fused and naive attention differ at n %" PRId64 ": %g and %g\n",
                    shape->keys, (double)fused[i], (double)with->output[i]);
            return false;
        }
    }
    return true;
}

/* Two rounds of both paths in turn, so that a slow moment of the machine does
 * not fall on one of them alone. */
static bool measure_both(const bench *run, naive_case *naive, bench_result *result) {
    timing fused_time, naive_time;
    for (int round = 0; round < 2; round++) {
        attn_context *context = naive->fused->context;
        double seconds = 0.5 * run->seconds;
        if (!bench_ok(context, measure(attention_case_forward, naive->fused, seconds, &fused_time)) ||
            !bench_ok(context, measure(naive_call, naive, seconds, &naive_time))) {
            return false;
        }
        result->time = round == 0 ? fused_time : measure_better(result->time, fused_time);
        result->naive = round == 0 ? naive_time : measure_better(result->naive, naive_time);
    }
    return same_output(naive);
}

static bool measure_short(const bench *run, int64_t n) {
    attention_shape shape = {.queries = n, .keys = n, .d = 64, .heads = 8, .kv_heads = 8, .window = -1};
    bench_result results[BENCH_SETUPS];
    attention_case fused;
    if (n > run->longest) return true;
    if (!attention_case_create(run, &shape, false, &fused)) return false;
    bool done = true;
    for (int setup = 0; setup < run->setup_count && done; setup++) {
        naive_case naive;
        fused.context = run->setups[setup].context;
        results[setup] = attention_case_result(&shape, false);
        results[setup].series = "short";
        done = naive_create(&naive, &fused);
        if (!done) break;
        done = measure_both(run, &naive, &results[setup]);
        naive_destroy(&naive);
    }
    attention_case_destroy(&fused);
    if (done) bench_print_row(run, results, BENCH_NAIVE);
    return done;
}

/* Working memory that a fresh context holds after a long sequence. */
static bool measure_memory(const bench *run) {
    attention_shape shape = {.queries = 8192, .keys = 8192, .d = 64, .heads = 8, .kv_heads = 8, .window = -1};
    bench_result results[BENCH_SETUPS];
    attention_case with;
    if (shape.keys > run->longest || !bench_wants(run, "memory")) return true;
    if (!attention_case_create(run, &shape, false, &with)) return false;
    bench_print_table(run, "Working memory of a forward pass", label, BENCH_MEMORY);
    bool done = true;
    for (int setup = 0; setup < run->setup_count && done; setup++) {
        with.context = bench_context(run, run->setups[setup].threads);
        if (with.context == NULL) {
            done = false;
            break;
        }
        results[setup] = attention_case_result(&shape, false);
        results[setup].series = "memory";
        size_t before = attn_context_memory(with.context);
        done = bench_ok(with.context, measure(attention_case_forward, &with, 0, &results[setup].time));
        results[setup].memory = attn_context_memory(with.context) - before;
        attn_context_destroy(with.context);
    }
    attention_case_destroy(&with);
    if (done) bench_print_row(run, results, BENCH_MEMORY);
    return done;
}

static bool measure_shorts(const bench *run) {
    if (!bench_wants(run, "short")) return true;
    bench_print_table(run, "Short sequences: attention in one call against GEMM, softmax, GEMM", label,
                      BENCH_NAIVE);
    for (int64_t n = 1; n <= 64; n *= 2) {
        if (!measure_short(run, n)) return false;
    }
    return true;
}

bool bench_attention_special(const bench *run) {
    return measure_decode(run) && measure_shorts(run) && measure_memory(run);
}
