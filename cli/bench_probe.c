/* bench_probe.c: what the machine can do beside each measurement of `attn bench`.
 *
 * The FMA peak is the limit. It needs nothing but registers, so another program on the same core may leave it
 * alone and slow everything else down; a product whose operands stay in the L2 cache shows that.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { PROBE_CALLS = 8, PROBE_ROWS = 384, PROBE_COLUMNS = 64 }; /* rows of each thread */

struct bench_probe {
    attn_context *context;
    int64_t rows;
    float *numbers, *packed;
    attn_packed_weight weight;
    double pace; /* the highest so far */
};

bench_probe *bench_probe_create(attn_context *context) {
    size_t bytes = 0;
    bench_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL) {
        fputs("attn bench: out of memory\n", stderr);
        return NULL;
    }
    probe->context = context;
    probe->rows = (int64_t)PROBE_ROWS * attn_context_threads(context);
    probe->numbers = bench_numbers(2 * probe->rows * PROBE_COLUMNS, 1);
    bool done = probe->numbers != NULL &&
                bench_ok(context, attn_weight_packed_size(context, PROBE_COLUMNS, PROBE_COLUMNS, &bytes));
    if (done) probe->packed = bench_numbers((int64_t)(bytes / sizeof(float)), 2);
    attn_tensor weight = attn_tensor_matrix(probe->numbers, PROBE_COLUMNS, PROBE_COLUMNS);
    if (done && probe->packed != NULL &&
        bench_ok(context, attn_weight_pack(context, &weight, 0, probe->packed, bytes, &probe->weight)))
        return probe;
    bench_probe_destroy(probe);
    return NULL;
}

void bench_probe_destroy(bench_probe *probe) {
    if (probe == NULL) return;
    free(probe->numbers);
    free(probe->packed);
    free(probe);
}

static measured_moment moment_of(void *argument) {
    bench_probe *probe = argument;
    attn_tensor x = attn_tensor_matrix(probe->numbers, probe->rows, PROBE_COLUMNS);
    attn_tensor y =
        attn_tensor_matrix(probe->numbers + probe->rows * PROBE_COLUMNS, probe->rows, PROBE_COLUMNS);
    double gflops = 0, best = INFINITY;
    attn_machine_fma_peak(probe->context, 0.002, &gflops);
    for (int i = 0; i < PROBE_CALLS; i++) {
        double start = measure_clock();
        if (attn_matmul_forward(probe->context, &x, &probe->weight, NULL, ATTN_IDENTITY, &y, NULL) == ATTN_OK)
            best = fmin(best, measure_clock() - start);
    }
    return (measured_moment){1e9 * gflops, 1 / best};
}

bool bench_measure(const bench *run, const bench_setup *setup, attn_context *context, measured_call call,
                   void *argument, timing *result) {
    return bench_ok(context, measure_beside(call, argument, moment_of, setup->probe, &setup->probe->pace,
                                            run->seconds, result));
}

double bench_peak(const bench_setup *setup, const bench_result *result) {
    return result->time.limit > 0 ? result->time.limit : setup->peak;
}
