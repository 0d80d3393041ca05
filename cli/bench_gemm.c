/* bench_gemm.c: the linear operator with packed weights, over the shapes of
 * transformer layers: m rows, k in, n out; 2 m n k operations forward, twice
 * that backward (the gradients of input and weight).
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

static attn_status backward_call(void *argument) {
    gemm_case *with = argument;
    return attn_matmul_backward(with->context, &with->output, NULL, ATTN_IDENTITY, &with->input,
                                &with->packed, &with->d_input, &with->d_weight, NULL);
}

/* Packs the weight for the lane's context, measures, and frees it again. */
static bool measure_lane(const bench *run, const bench_lane *lane, gemm_case *with, bool backward,
                         bench_result *result) {
    size_t bytes = 0;
    if (!bench_ok(with->context, attn_weight_packed_size(with->context, with->weight.shape[0],
                                                         with->weight.shape[1], &bytes))) {
        return false;
    }
    float *memory = bench_numbers((int64_t)(bytes / sizeof(float)) + 1, 0);
    if (memory == NULL) return false;
    bool done =
        bench_ok(with->context, attn_weight_pack(with->context, &with->weight, backward ? 1 : 0, memory,
                                                 bytes, &with->packed)) &&
        bench_measure(run, lane, with->context, backward ? backward_call : forward_call, with, &result->time);
    free(memory);
    return done;
}

static bool measure_shape(const bench *run, int64_t m, int64_t k, int64_t n, bool backward) {
    bench_result results[BENCH_LANES];
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
    for (int lane = 0; lane < run->lane_count && done; lane++) {
        bench_result result = {.operation = "gemm",
                               .direction = backward ? "backward" : "forward",
                               .series = "gemm",
                               .window = -1,
                               .m = m,
                               .n = n,
                               .k = k,
                               .work = (backward ? 4 : 2) * (double)m * (double)n * (double)k};
        with.context = run->lanes[lane].context;
        results[lane] = result;
        done = measure_lane(run, &run->lanes[lane], &with, backward, &results[lane]);
    }
    free(numbers);
    if (done) bench_print_row(run, results, BENCH_SPEED);
    return done;
}

bool bench_gemm(const bench *run) {
    static const int64_t layers[3][2] = {{768, 768}, {768, 3072}, {3072, 768}};
    for (int backward = 0; backward < (run->full ? 2 : 1); backward++) {
        bench_print_table(run,
                          backward == 1 ? "Linear layers (GEMM), backward" : "Linear layers (GEMM), forward",
                          "   rows       in      out", BENCH_SPEED);
        for (int layer = 0; layer < 3; layer++) {
            for (int64_t rows = 128; rows <= 512; rows *= 2) {
                if (!measure_shape(run, rows, layers[layer][0], layers[layer][1], backward == 1))
                    return false;
            }
        }
    }
    return true;
}
