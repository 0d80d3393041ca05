/* bench_gemm.c: the linear operator with packed weights and the two products of
 * its backward pass, over the shapes of transformer layers and of small
 * networks: m rows, k in, n out; 2 m n k operations each.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct gemm_case {
    attn_context *context;
    attn_tensor input, output, weight, d_input, d_weight;
    attn_packed_weight packed;
} gemm_case;

static attn_status forward_call(void *argument) {
    gemm_case *with = argument;
    return attn_matmul_forward(with->context, &with->input, &with->packed, NULL, ATTN_IDENTITY, &with->output,
                               NULL);
}

static attn_status d_input_call(void *argument) {
    gemm_case *with = argument;
    return attn_matmul_backward(with->context, &with->output, NULL, ATTN_IDENTITY, NULL, &with->packed,
                                &with->d_input, NULL, NULL);
}

static attn_status d_weight_call(void *argument) {
    gemm_case *with = argument;
    return attn_matmul_backward(with->context, &with->output, NULL, ATTN_IDENTITY, &with->input, NULL, NULL,
                                &with->d_weight, NULL);
}

typedef struct gemm_direction {
    const char *name, *title;
    attn_status (*call)(void *);
    int transposed; /* how the weight is packed for it */
} gemm_direction;

static const gemm_direction directions[] = {
    {"forward", "Linear layers (GEMM), forward", forward_call, 0},
    {"d_input", "Linear layers (GEMM), gradient of the input", d_input_call, 1},
    {"d_weight", "Linear layers (GEMM), gradient of the weight", d_weight_call, 1},
};

/* Packs the weight for the setup's context, measures, and frees it again. */
static bool measure_setup(const bench *run, const bench_setup *setup, gemm_case *with,
                          const gemm_direction *direction, bench_result *result) {
    size_t bytes = 0;
    if (!bench_ok(with->context, attn_weight_packed_size(with->context, with->weight.shape[0],
                                                         with->weight.shape[1], &bytes))) {
        return false;
    }
    float *memory = bench_numbers((int64_t)(bytes / sizeof(float)) + 1, 0);
    if (memory == NULL) return false;
    bool done = bench_ok(with->context, attn_weight_pack(with->context, &with->weight, direction->transposed,
                                                         memory, bytes, &with->packed)) &&
                bench_measure(run, setup, with->context, direction->call, with, &result->time);
    free(memory);
    return done;
}

static bool measure_shape(const bench *run, int64_t m, int64_t k, int64_t n,
                          const gemm_direction *direction) {
    bench_result results[BENCH_SETUPS];
    gemm_case with;
    float *numbers = bench_numbers(2 * m * k + m * n + 2 * n * k, run->seed);
    if (numbers == NULL) return false;
    memset(&with, 0, sizeof with);
    float *next = numbers;
    with.input = attn_tensor_matrix(next, m, k);
    with.d_input = attn_tensor_matrix(next += m * k, m, k);
    with.output = attn_tensor_matrix(next += m * k, m, n);
    with.weight = attn_tensor_matrix(next += m * n, n, k);
    with.d_weight = attn_tensor_matrix(next += n * k, n, k);
    bool done = true;
    for (int setup = 0; setup < run->setup_count && done; setup++) {
        bench_result result = {.operation = "gemm",
                               .direction = direction->name,
                               .series = "gemm",
                               .window = -1,
                               .m = m,
                               .n = n,
                               .k = k,
                               .work = 2.0 * (double)m * (double)n * (double)k};
        with.context = run->setups[setup].context;
        results[setup] = result;
        done = measure_setup(run, &run->setups[setup], &with, direction, &results[setup]);
    }
    free(numbers);
    if (done) bench_print_row(run, results, BENCH_SPEED);
    return done;
}

/* Rows, in, out. Those of small networks are left out by --quick. */
static const int64_t large_layers[][3] = {{128, 768, 768},  {256, 768, 768},  {512, 768, 768},
                                          {128, 768, 3072}, {256, 768, 3072}, {512, 768, 3072},
                                          {128, 3072, 768}, {256, 3072, 768}, {512, 3072, 768}};
static const int64_t small_layers[][3] = {{16, 64, 64},    {64, 64, 256},   {64, 256, 64},
                                          {256, 64, 256},  {256, 256, 64},  {64, 256, 256},
                                          {256, 192, 512}, {256, 512, 192}, {256, 512, 512}};

static bool measure_layers(const bench *run, const int64_t (*layers)[3], size_t count,
                           const gemm_direction *direction) {
    for (size_t i = 0; i < count; i++) {
        if (!measure_shape(run, layers[i][0], layers[i][1], layers[i][2], direction)) return false;
    }
    return true;
}

bool bench_gemm(const bench *run) {
    size_t count = run->quick ? 1 : sizeof directions / sizeof directions[0];
    for (size_t i = 0; i < count; i++) {
        bench_print_table(run, directions[i].title, "   rows       in      out", BENCH_SPEED);
        if (!measure_layers(run, large_layers, sizeof large_layers / sizeof large_layers[0], &directions[i]))
            return false;
        if (!run->quick &&
            !measure_layers(run, small_layers, sizeof small_layers / sizeof small_layers[0], &directions[i]))
            return false;
    }
    return true;
}
