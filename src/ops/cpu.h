/* cpu.h: the operators of the CPU's backend, as ops/backend.h lists them. Each is
 * in the file of its name or family.
 */
#ifndef AT_OPS_CPU_H
#define AT_OPS_CPU_H

#include "base/context.h"
#include "ops/calls.h"

attn_status at_cpu_fill(attn_context *context, const at_fill_call *call);
attn_status at_cpu_copy(attn_context *context, const at_copy_call *call);
attn_status at_cpu_add(attn_context *context, const at_binary_call *call);
attn_status at_cpu_multiply(attn_context *context, const at_binary_call *call);
attn_status at_cpu_scale(attn_context *context, const at_scale_call *call);
attn_status at_cpu_column_sums(attn_context *context, const at_column_sums_call *call);
attn_status at_cpu_activation(attn_context *context, const at_activation_call *call);
attn_status at_cpu_activation_backward(attn_context *context, const at_activation_backward_call *call);
attn_status at_cpu_activation_undo(attn_context *context, const at_activation_undo_call *call);
attn_status at_cpu_gate(attn_context *context, const at_gate_call *call);
attn_status at_cpu_gate_backward(attn_context *context, const at_gate_backward_call *call);
attn_status at_cpu_dropout(attn_context *context, const at_dropout_call *call);
attn_status at_cpu_residual(attn_context *context, const at_dropout_call *call);
attn_status at_cpu_softmax(attn_context *context, const at_rows_call *call);
attn_status at_cpu_softmax_backward(attn_context *context, const at_rows_backward_call *call);
attn_status at_cpu_log_softmax(attn_context *context, const at_rows_call *call);
attn_status at_cpu_log_softmax_backward(attn_context *context, const at_rows_backward_call *call);
attn_status at_cpu_norm(attn_context *context, const at_norm_call *call);
attn_status at_cpu_norm_backward(attn_context *context, const at_norm_backward_call *call);
attn_status at_cpu_gather(attn_context *context, const at_gather_call *call);
attn_status at_cpu_add_rows(attn_context *context, const at_add_rows_call *call);
attn_status at_cpu_clear_rows(attn_context *context, const at_clear_rows_call *call);
attn_status at_cpu_take_rows(attn_context *context, const at_take_rows_call *call);
attn_status at_cpu_gather_columns(attn_context *context, const at_gather_columns_call *call);
attn_status at_cpu_gather_columns_backward(attn_context *context, const at_gather_columns_call *call);
attn_status at_cpu_bag(attn_context *context, const at_bag_call *call);
attn_status at_cpu_pool(attn_context *context, const at_pool_call *call);
attn_status at_cpu_pool_backward(attn_context *context, const at_pool_call *call);
attn_status at_cpu_pool_attention(attn_context *context, const at_pool_attention_call *call);
attn_status at_cpu_pool_attention_backward(attn_context *context,
                                           const at_pool_attention_backward_call *call);
attn_status at_cpu_window(attn_context *context, const at_window_call *call);
attn_status at_cpu_window_backward(attn_context *context, const at_window_call *call);
attn_status at_cpu_convolution(attn_context *context, const at_convolution_call *call);
attn_status at_cpu_convolution_backward(attn_context *context, const at_convolution_backward_call *call);
attn_status at_cpu_recurrent(attn_context *context, const at_recurrent_call *call);
attn_status at_cpu_recurrent_backward(attn_context *context, const at_recurrent_call *call);
attn_status at_cpu_recurrent_bias(attn_context *context, const at_recurrent_bias_call *call);
attn_status at_cpu_recurrent_before(attn_context *context, const at_recurrent_before_call *call);
attn_status at_cpu_rotary_angles(attn_context *context, const at_rotary_angles_call *call);
attn_status at_cpu_rotary(attn_context *context, const at_rotary_call *call);
attn_status at_cpu_pack(attn_context *context, const at_pack_call *call);
attn_status at_cpu_matmul(attn_context *context, const at_matmul_call *call);
attn_status at_cpu_matmul_backward(attn_context *context, const at_matmul_backward_call *call);
attn_status at_cpu_attention(attn_context *context, const at_attention_forward_call *call);
attn_status at_cpu_attention_backward(attn_context *context, const at_attention_backward_call *call);
attn_status at_cpu_cross_entropy(attn_context *context, const at_cross_entropy_call *call);
attn_status at_cpu_cross_entropy_backward(attn_context *context, const at_cross_entropy_call *call);
attn_status at_cpu_element_loss(attn_context *context, const at_element_loss_call *call);
attn_status at_cpu_element_loss_backward(attn_context *context, const at_element_loss_call *call);
attn_status at_cpu_crf(attn_context *context, const at_crf_call *call);
attn_status at_cpu_crf_backward(attn_context *context, const at_crf_call *call);
attn_status at_cpu_crf_decode(attn_context *context, const at_crf_call *call);
attn_status at_cpu_crf_marginals(attn_context *context, const at_crf_call *call);
attn_status at_cpu_ctc(attn_context *context, const at_ctc_call *call);
attn_status at_cpu_ctc_backward(attn_context *context, const at_ctc_call *call);
attn_status at_cpu_transducer(attn_context *context, const at_transducer_call *call);
attn_status at_cpu_transducer_backward(attn_context *context, const at_transducer_call *call);
attn_status at_cpu_gradient_squares(attn_context *context, const at_update_call *call);
attn_status at_cpu_update(attn_context *context, const at_update_call *call);
attn_status at_cpu_swap_average(attn_context *context, const at_update_call *call);

#endif
