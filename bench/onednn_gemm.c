/* onednn_gemm.c: oneDNN's matrix product as a rival, y = x W^T in f32.
 *
 * A shared object for bench/compare.py. It is what a tuned user of oneDNN 3
 * writes: the matmul primitive is made once for the shape, the weight's format
 * is left to oneDNN (dnnl_format_tag_any) and W is reordered into it before
 * the clock starts; x (rows x in) and y (rows x out) are plain row-major
 * memory of the caller's. oneDNN's threads are OpenMP's.
 */
#include <stdint.h>
#include <stdlib.h>

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR != 3
#error "this is written for oneDNN 3, the newest for OpenMP from pip (tests/peers/requirements.txt)"
#endif

typedef struct onednn_gemm {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t product;
    dnnl_memory_t input;
    dnnl_memory_t weight; /* in oneDNN's own order; the only memory that is oneDNN's */
    dnnl_memory_t output;
} onednn_gemm;

onednn_gemm *onednn_gemm_create(int64_t rows, int64_t in, int64_t out, const float *weight, float *input,
                                float *output);
int onednn_gemm_run(onednn_gemm *gemm);
void onednn_gemm_destroy(onednn_gemm *gemm);
void onednn_gemm_threads(int threads);
const char *onednn_gemm_implementation(onednn_gemm *gemm);
const dnnl_version_t *onednn_gemm_version(void);

/* Of every later create and run. */
void onednn_gemm_threads(int threads) { omp_set_num_threads(threads); }

const dnnl_version_t *onednn_gemm_version(void) { return dnnl_version(); }

static dnnl_status_t create_product(onednn_gemm *gemm, int64_t rows, int64_t in, int64_t out) {
    const dnnl_dims_t input_shape = {rows, in}, weight_shape = {in, out}, output_shape = {rows, out};
    dnnl_memory_desc_t input = NULL, weight = NULL, output = NULL;
    dnnl_status_t status = dnnl_memory_desc_create_with_tag(&input, 2, input_shape, dnnl_f32, dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_memory_desc_create_with_tag(&weight, 2, weight_shape, dnnl_f32, dnnl_format_tag_any);
    if (status == dnnl_success)
        status = dnnl_memory_desc_create_with_tag(&output, 2, output_shape, dnnl_f32, dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_matmul_primitive_desc_create(&gemm->description, gemm->engine, input, weight, NULL,
                                                   output, NULL);
    if (input) dnnl_memory_desc_destroy(input);
    if (weight) dnnl_memory_desc_destroy(weight);
    if (output) dnnl_memory_desc_destroy(output);
    return status == dnnl_success ? dnnl_primitive_create(&gemm->product, gemm->description) : status;
}

static dnnl_status_t create_memory(onednn_gemm *gemm, float *input, float *output) {
    const_dnnl_memory_desc_t source = dnnl_primitive_desc_query_md(gemm->description, dnnl_query_src_md, 0);
    const_dnnl_memory_desc_t weight =
        dnnl_primitive_desc_query_md(gemm->description, dnnl_query_weights_md, 0);
    const_dnnl_memory_desc_t target = dnnl_primitive_desc_query_md(gemm->description, dnnl_query_dst_md, 0);
    if (dnnl_memory_create(&gemm->input, source, gemm->engine, input) != dnnl_success ||
        dnnl_memory_create(&gemm->weight, weight, gemm->engine, DNNL_MEMORY_ALLOCATE) != dnnl_success)
        return dnnl_runtime_error;
    return dnnl_memory_create(&gemm->output, target, gemm->engine, output);
}

/* From W, out x in row-major (as a matrix of in x out: column-major), into oneDNN's order. */
static dnnl_status_t reorder_weight(onednn_gemm *gemm, int64_t in, int64_t out, const float *weight) {
    const dnnl_dims_t shape = {in, out};
    dnnl_memory_desc_t plain = NULL;
    dnnl_memory_t from = NULL;
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t reorder = NULL;
    const_dnnl_memory_desc_t packed =
        dnnl_primitive_desc_query_md(gemm->description, dnnl_query_weights_md, 0);
    dnnl_status_t status = dnnl_memory_desc_create_with_tag(&plain, 2, shape, dnnl_f32, dnnl_ba);
    if (status == dnnl_success)
        status = dnnl_memory_create(&from, plain, gemm->engine, (void *)(uintptr_t)weight);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&description, plain, gemm->engine, packed, gemm->engine,
                                                    NULL);
    if (status == dnnl_success) status = dnnl_primitive_create(&reorder, description);
    if (status == dnnl_success) {
        const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, gemm->weight}};
        status = dnnl_primitive_execute(reorder, gemm->stream, 2, arguments);
    }
    if (status == dnnl_success) status = dnnl_stream_wait(gemm->stream);
    if (reorder) dnnl_primitive_destroy(reorder);
    if (description) dnnl_primitive_desc_destroy(description);
    if (from) dnnl_memory_destroy(from);
    if (plain) dnnl_memory_desc_destroy(plain);
    return status;
}

/* NULL where oneDNN refuses. input and output are kept, weight is not. */
onednn_gemm *onednn_gemm_create(int64_t rows, int64_t in, int64_t out, const float *weight, float *input,
                                float *output) {
    onednn_gemm *gemm = calloc(1, sizeof *gemm);
    if (!gemm) return NULL;
    if (dnnl_engine_create(&gemm->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&gemm->stream, gemm->engine, dnnl_stream_default_flags) != dnnl_success ||
        create_product(gemm, rows, in, out) != dnnl_success ||
        create_memory(gemm, input, output) != dnnl_success ||
        reorder_weight(gemm, in, out, weight) != dnnl_success) {
        onednn_gemm_destroy(gemm);
        return NULL;
    }
    return gemm;
}

/* 0 for success. */
int onednn_gemm_run(onednn_gemm *gemm) {
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, gemm->input}, {DNNL_ARG_WEIGHTS, gemm->weight}, {DNNL_ARG_DST, gemm->output}};
    dnnl_status_t status = dnnl_primitive_execute(gemm->product, gemm->stream, 3, arguments);
    return (int)(status == dnnl_success ? dnnl_stream_wait(gemm->stream) : status);
}

/* Which of its implementations oneDNN chose, by its own name. */
const char *onednn_gemm_implementation(onednn_gemm *gemm) {
    const char *name = NULL;
    if (dnnl_primitive_desc_query(gemm->description, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
        return "?";
    return name;
}

void onednn_gemm_destroy(onednn_gemm *gemm) {
    if (gemm->output) dnnl_memory_destroy(gemm->output);
    if (gemm->weight) dnnl_memory_destroy(gemm->weight);
    if (gemm->input) dnnl_memory_destroy(gemm->input);
    if (gemm->product) dnnl_primitive_destroy(gemm->product);
    if (gemm->description) dnnl_primitive_desc_destroy(gemm->description);
    if (gemm->stream) dnnl_stream_destroy(gemm->stream);
    if (gemm->engine) dnnl_engine_destroy(gemm->engine);
    free(gemm);
}
