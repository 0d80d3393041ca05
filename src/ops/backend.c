/* backend.c: the CPU's backend, and the choice of one. */
#include "ops/backend.h"

#include <inttypes.h>
#include <string.h>

#include "ops/cpu.h"

static attn_allocator allocator_of(attn_context *context) { return context->allocator; }

static attn_status clear(attn_context *context, void *memory, size_t bytes) {
    (void)context;
    if (bytes) memset(memory, 0, bytes);
    return ATTN_OK;
}

/* Tensor memory is host memory here: the three copies are one. */
static attn_status copy(attn_context *context, void *to, const void *from, size_t bytes) {
    (void)context;
    if (bytes) memcpy(to, from, bytes);
    return ATTN_OK;
}

const at_backend at_cpu_backend = {.name = "cpu",
                                   .memory = {.on_host = 1,
                                              .allocator = allocator_of,
                                              .clear = clear,
                                              .copy = copy,
                                              .upload = copy,
                                              .download = copy},
                                   .run = {
                                       .fill = at_cpu_fill,
                                       .copy = at_cpu_copy,
                                       .add = at_cpu_add,
                                       .multiply = at_cpu_multiply,
                                       .scale = at_cpu_scale,
                                       .column_sums = at_cpu_column_sums,
                                       .activation = at_cpu_activation,
                                       .activation_backward = at_cpu_activation_backward,
                                       .activation_undo = at_cpu_activation_undo,
                                       .gate = at_cpu_gate,
                                       .gate_backward = at_cpu_gate_backward,
                                       .dropout = at_cpu_dropout,
                                       .residual = at_cpu_residual,
                                       .softmax = at_cpu_softmax,
                                       .softmax_backward = at_cpu_softmax_backward,
                                       .log_softmax = at_cpu_log_softmax,
                                       .log_softmax_backward = at_cpu_log_softmax_backward,
                                       .norm = at_cpu_norm,
                                       .norm_backward = at_cpu_norm_backward,
                                       .gather = at_cpu_gather,
                                       .add_rows = at_cpu_add_rows,
                                       .clear_rows = at_cpu_clear_rows,
                                       .take_rows = at_cpu_take_rows,
                                       .gather_columns = at_cpu_gather_columns,
                                       .gather_columns_backward = at_cpu_gather_columns_backward,
                                       .bag = at_cpu_bag,
                                       .pool = at_cpu_pool,
                                       .pool_backward = at_cpu_pool_backward,
                                       .pool_attention = at_cpu_pool_attention,
                                       .pool_attention_backward = at_cpu_pool_attention_backward,
                                       .window = at_cpu_window,
                                       .window_backward = at_cpu_window_backward,
                                       .convolution = at_cpu_convolution,
                                       .convolution_backward = at_cpu_convolution_backward,
                                       .recurrent = at_cpu_recurrent,
                                       .recurrent_backward = at_cpu_recurrent_backward,
                                       .recurrent_bias = at_cpu_recurrent_bias,
                                       .recurrent_before = at_cpu_recurrent_before,
                                       .rotary_angles = at_cpu_rotary_angles,
                                       .rotary = at_cpu_rotary,
                                       .packed_size = attn_weight_packed_size,
                                       .pack = at_cpu_pack,
                                       .matmul = at_cpu_matmul,
                                       .matmul_backward = at_cpu_matmul_backward,
                                       .attention = at_cpu_attention,
                                       .attention_backward = at_cpu_attention_backward,
                                       .cross_entropy = at_cpu_cross_entropy,
                                       .cross_entropy_backward = at_cpu_cross_entropy_backward,
                                       .element_loss = at_cpu_element_loss,
                                       .element_loss_backward = at_cpu_element_loss_backward,
                                       .crf = at_cpu_crf,
                                       .crf_backward = at_cpu_crf_backward,
                                       .crf_decode = at_cpu_crf_decode,
                                       .crf_marginals = at_cpu_crf_marginals,
                                       .ctc = at_cpu_ctc,
                                       .ctc_backward = at_cpu_ctc_backward,
                                       .transducer = at_cpu_transducer,
                                       .transducer_backward = at_cpu_transducer_backward,
                                       .gradient_squares = at_cpu_gradient_squares,
                                       .update = at_cpu_update,
                                       .swap_average = at_cpu_swap_average,
                                   }};

const at_backend *at_backend_of(const attn_context *context) {
    return context->backend ? context->backend : &at_cpu_backend;
}

void at_context_use_backend(attn_context *context, const at_backend *backend) { context->backend = backend; }

/* ---- numbers that live longer than a step ---- */

float *at_numbers_allocate(attn_context *context, int64_t count, const char *what) {
    attn_allocator numbers = at_backend_of(context)->memory.allocator(context);
    void *memory = NULL;
    if (count < 1) count = 1;
    if ((uint64_t)count <= SIZE_MAX / 4 / sizeof(float))
        memory = numbers.allocate(numbers.user, (size_t)count * sizeof(float), AT_ALIGNMENT);
    if (!memory) at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for %s: %" PRId64 " numbers", what, count);
    return memory;
}

void at_numbers_release(attn_context *context, float *numbers) {
    attn_allocator allocator = at_backend_of(context)->memory.allocator(context);
    if (numbers) allocator.release(allocator.user, numbers);
}

attn_status at_numbers_copy(attn_context *context, at_view x, float *y, int64_t y_stride) {
    at_copy_call call = {.x = x, .y = at_view_of(y, x.rows, x.columns, y_stride)};
    return at_backend_of(context)->run.copy(context, &call);
}

/* ---- on the host ---- */

attn_status at_host_read(attn_context *context, at_view view, float *into) {
    const at_backend *backend = at_backend_of(context);
    size_t row = (size_t)view.columns * sizeof(float);
    if (view.stride == view.columns)
        return backend->memory.download(context, into, view.data, (size_t)view.rows * row);
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < view.rows && status == ATTN_OK; i++) {
        status = backend->memory.download(context, into + i * view.columns, view.data + i * view.stride, row);
    }
    return status;
}

attn_status at_host_write(attn_context *context, at_view view, const float *from) {
    const at_backend *backend = at_backend_of(context);
    size_t row = (size_t)view.columns * sizeof(float);
    if (view.stride == view.columns)
        return backend->memory.upload(context, view.data, from, (size_t)view.rows * row);
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < view.rows && status == ATTN_OK; i++) {
        status = backend->memory.upload(context, view.data + i * view.stride, from + i * view.columns, row);
    }
    return status;
}
