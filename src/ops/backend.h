/* backend.h (private): what operators run on: memory, and what works on it.
 *
 * Two small tables. The first is tensor memory: where the numbers of variables,
 * parameters, gradients and the optimiser's state stand. The second is all that
 * is ever computed with them. The tape, the layers and the optimiser know no
 * other way to a number, and never ask which backend it is; the calls of theirs
 * that copy numbers from or to plain memory say "host" in their names.
 *
 * The CPU's backend (at_cpu_backend) is the kernels of this folder; its tensor
 * memory is the context's allocator, and so the host may follow its pointers
 * (on_host). A call runs to its end before it returns, and is the same bits for
 * any number of threads.
 */
#ifndef AT_OPS_BACKEND_H
#define AT_OPS_BACKEND_H

#include "base/context.h"
#include "ops/calls.h"

typedef struct at_backend_memory {
    int on_host; /* the host may follow pointers to tensor memory */
    /* Where tensor memory comes from: by value, as it may be used to release after the context is gone. */
    attn_allocator (*allocator)(attn_context *context);
    attn_status (*clear)(attn_context *context, void *memory, size_t bytes); /* to 0 */
    attn_status (*copy)(attn_context *context, void *to, const void *from, size_t bytes);
    attn_status (*upload)(attn_context *context, void *to, const void *host, size_t bytes);
    attn_status (*download)(attn_context *context, void *host, const void *from, size_t bytes);
} at_backend_memory;

typedef struct at_backend_operators {
    attn_status (*fill)(attn_context *, const at_fill_call *);
    attn_status (*copy)(attn_context *, const at_copy_call *);
    attn_status (*add)(attn_context *, const at_binary_call *);
    attn_status (*multiply)(attn_context *, const at_binary_call *);
    attn_status (*scale)(attn_context *, const at_scale_call *);
    attn_status (*column_sums)(attn_context *, const at_column_sums_call *);
    attn_status (*activation)(attn_context *, const at_activation_call *);
    attn_status (*activation_backward)(attn_context *, const at_activation_backward_call *);
    attn_status (*activation_undo)(attn_context *, const at_activation_undo_call *);
    attn_status (*gate)(attn_context *, const at_gate_call *);
    attn_status (*gate_backward)(attn_context *, const at_gate_backward_call *);
    attn_status (*dropout)(attn_context *, const at_dropout_call *);
    attn_status (*residual)(attn_context *, const at_dropout_call *);

    attn_status (*softmax)(attn_context *, const at_rows_call *);
    attn_status (*softmax_backward)(attn_context *, const at_rows_backward_call *);
    attn_status (*log_softmax)(attn_context *, const at_rows_call *);
    attn_status (*log_softmax_backward)(attn_context *, const at_rows_backward_call *);
    attn_status (*norm)(attn_context *, const at_norm_call *);
    attn_status (*norm_backward)(attn_context *, const at_norm_backward_call *);

    attn_status (*gather)(attn_context *, const at_gather_call *);
    attn_status (*add_rows)(attn_context *, const at_add_rows_call *);
    attn_status (*clear_rows)(attn_context *, const at_clear_rows_call *);
    attn_status (*take_rows)(attn_context *, const at_take_rows_call *);
    attn_status (*gather_columns)(attn_context *, const at_gather_columns_call *);
    attn_status (*gather_columns_backward)(attn_context *, const at_gather_columns_call *);
    attn_status (*bag)(attn_context *, const at_bag_call *);

    attn_status (*pool)(attn_context *, const at_pool_call *);
    attn_status (*pool_backward)(attn_context *, const at_pool_call *);
    attn_status (*pool_attention)(attn_context *, const at_pool_attention_call *);
    attn_status (*pool_attention_backward)(attn_context *, const at_pool_attention_backward_call *);
    attn_status (*window)(attn_context *, const at_window_call *);
    attn_status (*window_backward)(attn_context *, const at_window_call *);
    attn_status (*convolution)(attn_context *, const at_convolution_call *);
    attn_status (*convolution_backward)(attn_context *, const at_convolution_backward_call *);
    attn_status (*recurrent)(attn_context *, const at_recurrent_call *);
    attn_status (*recurrent_backward)(attn_context *, const at_recurrent_call *);
    attn_status (*recurrent_bias)(attn_context *, const at_recurrent_bias_call *);
    attn_status (*recurrent_before)(attn_context *, const at_recurrent_before_call *);
    attn_status (*rotary_angles)(attn_context *, const at_rotary_angles_call *);
    attn_status (*rotary)(attn_context *, const at_rotary_call *);

    attn_status (*packed_size)(attn_context *, int64_t out, int64_t in, size_t *bytes);
    attn_status (*pack)(attn_context *, const at_pack_call *);
    attn_status (*matmul)(attn_context *, const at_matmul_call *);
    attn_status (*matmul_backward)(attn_context *, const at_matmul_backward_call *);
    attn_status (*attention)(attn_context *, const at_attention_forward_call *);
    attn_status (*attention_backward)(attn_context *, const at_attention_backward_call *);

    attn_status (*cross_entropy)(attn_context *, const at_cross_entropy_call *);
    attn_status (*cross_entropy_backward)(attn_context *, const at_cross_entropy_call *);
    attn_status (*element_loss)(attn_context *, const at_element_loss_call *);
    attn_status (*element_loss_backward)(attn_context *, const at_element_loss_call *);
    attn_status (*crf)(attn_context *, const at_crf_call *);
    attn_status (*crf_backward)(attn_context *, const at_crf_call *);
    attn_status (*crf_decode)(attn_context *, const at_crf_call *);
    attn_status (*crf_marginals)(attn_context *, const at_crf_call *);
    attn_status (*ctc)(attn_context *, const at_ctc_call *);
    attn_status (*ctc_backward)(attn_context *, const at_ctc_call *);
    attn_status (*transducer)(attn_context *, const at_transducer_call *);
    attn_status (*transducer_backward)(attn_context *, const at_transducer_call *);

    attn_status (*gradient_squares)(attn_context *, const at_update_call *);
    attn_status (*update)(attn_context *, const at_update_call *);
    attn_status (*swap_average)(attn_context *, const at_update_call *);
} at_backend_operators;

struct at_backend {
    const char *name;
    at_backend_memory memory;
    at_backend_operators run;
};
typedef struct at_backend at_backend;

extern const at_backend at_cpu_backend;

/* What a context's tensors live on: the CPU's unless another was chosen. */
const at_backend *at_backend_of(const attn_context *context);
/* Before anything is made in the context; it must outlive the context and all that was made in it. */
void at_context_use_backend(attn_context *context, const at_backend *backend);

/* ---- numbers that live longer than a step, as the state of a layer does ---- */

/* Tensor memory for `count` numbers, not cleared; NULL, with the context's error set and `what` named in it,
 * if there is none. */
float *at_numbers_allocate(attn_context *context, int64_t count, const char *what);
void at_numbers_release(attn_context *context, float *numbers); /* NULL is allowed */
/* y = x; y has the rows and columns of x. */
attn_status at_numbers_copy(attn_context *context, at_view x, float *y, int64_t y_stride);

/* ---- on the host ---- */

/* Copies numbers between plain memory, contiguous, and a view. */
attn_status at_host_read(attn_context *context, at_view view, float *into);
attn_status at_host_write(attn_context *context, at_view view, const float *from);

#endif
