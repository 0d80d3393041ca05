/* calls.h (private): what an operator of a backend is given, one struct a call.
 *
 * Numbers (at_view, float *) are tensor memory of the backend: nobody but the
 * backend may follow such a pointer. What is marked "host" is plain memory of
 * the caller, small, and may be gone when the call returns.
 *
 * A backend takes valid arguments: shapes are checked above. A view without
 * data, or a NULL, is absent: an input that is left out, a gradient that is not
 * wanted. Results are overwritten unless a call says that it adds.
 */
#ifndef AT_OPS_CALLS_H
#define AT_OPS_CALLS_H

#include <stdint.h>

#include <attn/attention.h>
#include <attn/matmul.h>
#include <attn/operations.h>
#include <attn/ragged.h>

#include "kernels/optimizers.h"

/* rows x columns; row i begins at data + i * stride. */
typedef struct at_view {
    float *data;
    int64_t rows, columns, stride;
} at_view;

static inline at_view at_view_of(const float *data, int64_t rows, int64_t columns, int64_t stride) {
    at_view view = {(float *)data, rows, columns, stride};
    return view;
}

/* ---- element by element; results may be the memory of an input ---- */

typedef struct at_fill_call {
    at_view y;
    float value;
} at_fill_call;

typedef struct at_copy_call { /* y = x, or y += x */
    at_view x, y;
    int adds;
} at_copy_call;

typedef struct at_binary_call { /* b may be one row for all rows of a */
    at_view a, b, y;
} at_binary_call;

typedef struct at_scale_call {
    float factor;
    at_view x, y;
} at_scale_call;

typedef struct at_column_sums_call { /* sums[c] = sum over rows of x, or of factor * x */
    at_view x, factor;
    float *sums;
} at_column_sums_call;

typedef struct at_activation_call { /* y = act(x); slope = act'(x) where it is there, and may then be x */
    attn_activation activation;
    at_view x, y, slope;
} at_activation_call;

typedef struct at_activation_backward_call { /* dx = d * act'(x) */
    attn_activation activation;
    at_view d, x, dx;
} at_activation_backward_call;

/* From y = act(x), for RELU and ELU: dx = d * act'(x), and x itself, or where dx is 0 any number. */
typedef struct at_activation_undo_call {
    attn_activation activation;
    at_view y, d, dx, x; /* dx may be d */
} at_activation_undo_call;

typedef struct at_gate_call { /* y = act(gate) * value */
    attn_activation activation;
    at_view gate, value, y;
} at_gate_call;

typedef struct at_gate_backward_call {
    attn_activation activation;
    at_view gate, value, d, d_gate, d_value;
} at_gate_backward_call;

/* Which numbers are dropped follows from seed, stream, row and column alone (base/random.h). */
typedef struct at_dropout {
    uint64_t seed, stream;
    uint32_t threshold; /* 0: nothing is dropped */
    float factor;       /* of what stays */
} at_dropout;

typedef struct at_dropout_call { /* y = dropped x; residual: y = x + dropped branch, y may be the branch */
    at_dropout dropout;
    at_view x, branch, y;
} at_dropout_call;

/* ---- row by row ---- */

typedef struct at_rows_call { /* softmax, log-softmax: y = f(x) */
    at_view x, y;
} at_rows_call;

typedef struct at_rows_backward_call { /* from y, not from x */
    at_view y, d, dx;
} at_rows_backward_call;

typedef struct at_norm_call {
    int centred; /* layer norm: the mean is taken away; else RMS norm */
    float epsilon;
    const float *gain, *bias; /* [columns] */
    at_view x, y;
    float *mean, *inverse; /* [rows], for the way back; mean only if centred */
} at_norm_call;

typedef struct at_norm_backward_call {
    int centred;
    const float *gain, *mean, *inverse;
    at_view d, x, dx;
    int adds;               /* to dx */
    float *d_gain, *d_bias; /* [columns] */
} at_norm_backward_call;

/* ---- rows and columns that a list names ---- */

typedef struct at_gather_call { /* row i of y is row rows[i] of x, or 0 where that is negative */
    const int64_t *rows;        /* host, [rows of y] */
    at_view x, y;
} at_gather_call;

/* Row to[i] of y += factor[i] * row from[i] of x, those to one row in the order of i. */
typedef struct at_add_rows_call {
    int64_t count;
    const int64_t *from, *to; /* host; from NULL: i; to[i] < 0: nothing */
    const float *factor;      /* host; NULL: 1 */
    at_view x, y;
    int clears; /* y is set to 0 first */
} at_add_rows_call;

typedef struct at_clear_rows_call { /* the rows of y whose bit is set become 0 */
    const uint64_t *bits;           /* host */
    at_view y;
} at_clear_rows_call;

typedef struct at_take_rows_call { /* of the rows whose bit is set: y += x, and x = 0 */
    const uint64_t *bits;          /* host */
    at_view x, y;                  /* of one shape, without gaps between rows */
} at_take_rows_call;

typedef struct at_gather_columns_call { /* y[i][c] = x[i][columns[c]]; backward: x[i][columns[c]] += y[i][c]
                                         */
    const int64_t *columns;             /* host, [columns of y] */
    at_view x, y;                       /* backward: their gradients; that of x is cleared first */
} at_gather_columns_call;

typedef struct at_bag_call {       /* row b of y: the sum or mean of the table's rows that the bag names */
    const int64_t *offsets, *rows; /* host */
    attn_bag kind;
    at_view table, y;
    const float *weights; /* host, one per row that is named, for the sum; NULL: 1 */
} at_bag_call;

/* ---- the rows of a sequence ---- */

typedef struct at_pool_call { /* backward: x and y are the gradients */
    attn_ragged batch;        /* host */
    attn_pool kind;
    int32_t *maximum_at; /* tensor memory, for MAX: sequences x columns; written forward, read backward */
    at_view x, y;
} at_pool_call;

typedef struct at_pool_attention_call {
    attn_ragged batch; /* host */
    at_view x, scores, y;
    float *weights; /* heads x rows, for the way back */
} at_pool_attention_call;

typedef struct at_pool_attention_backward_call {
    attn_ragged batch; /* host */
    int64_t heads;
    const float *weights;
    at_view x, d, dx, d_scores;
} at_pool_attention_backward_call;

/* Row i of the unfolded matrix is rows i + first, i + first + step, ... of x, `width`
 * of them, side by side, and 0 for those outside the sequence of i.
 *
 * Where sequences are grids, line after line, the rows are those of a square around i: side of
 * them, first, first + step, ... along a line, of as many lines, the uppermost line first; 0 for
 * those outside the grid. width is then side * side. */
typedef struct at_window {
    attn_ragged batch;     /* host */
    int64_t width;         /* rows side by side */
    int64_t first;         /* where the leftmost is, seen from the row */
    int64_t step;          /* from one to the next; >= 1 */
    const int64_t *widths; /* host: the length of a line of each sequence's grid; NULL: no grids */
    int64_t side;          /* of the square */
} at_window;

/* y = unfold(x); backward: x = fold(y), both being gradients. Along sequences, not on grids. */
typedef struct at_window_call {
    at_window window;
    at_view x, y;
} at_window_call;

typedef struct at_convolution_call { /* y = act(unfold(x) W^T + b) */
    at_window window;
    const attn_packed_weight *weight; /* out x (width * in), packed for the forward pass */
    const float *bias;
    attn_activation activation;
    at_view x, y;
    float *pre; /* rows x out, contiguous: what the way back needs */
} at_convolution_call;

typedef struct at_convolution_backward_call {
    at_window window;
    const float *weight; /* out x (width * in) */
    at_view x, d, dx;    /* d: before the activation */
    float *d_weight;
} at_convolution_backward_call;

/* Recurrent networks step by step; the products for all rows at once are linear calls. */
typedef struct at_recurrent_call {
    attn_recurrence kind;
    int directions;
    int64_t hidden, gates;               /* gates: rows of W and R */
    attn_ragged batch;                   /* host */
    const int64_t *order;                /* host: sequences that are not empty, the longest first */
    int64_t count;                       /* of them */
    const attn_packed_weight *packed[2]; /* R of each direction; backward: packed transposed */
    const float *bias[2];                /* GRU: what r_2 lacks */
    float *gate_rows[2]; /* rows x gates: u in, what the way back needs out; backward: gradients out */
    float *kept_rows[2]; /* rows x hidden: LSTM and GRU keep more */
    /* sequences x hidden, forward: h and, of an LSTM, c before the first step, and after the last one. NULL:
     * the steps begin from 0. */
    float *h[2], *c[2];
    at_view y, d; /* rows x (directions * hidden) */
} at_recurrent_call;

/* sum = b + c, but for r_2 of a GRU, which is multiplied by a gate: there only b. */
typedef struct at_recurrent_bias_call {
    attn_recurrence kind;
    int64_t hidden, gates;
    const float *b, *c;
    float *sum;
} at_recurrent_bias_call;

/* What the gradient of R needs: h of the step before, row by row; and for a GRU the
 * gradient of r_2, which is not that of u_2, in the place of the latter. */
typedef struct at_recurrent_before_call {
    attn_recurrence kind;
    int direction;
    int64_t hidden, gates;
    attn_ragged batch; /* host */
    at_view y;
    float *gate_rows, *kept_rows;
    float *before; /* rows x hidden */
} at_recurrent_before_call;

/* ---- rotary positions ---- */

typedef struct at_position_run { /* positions first .. first + count - 1 stand from row `entry` on */
    int64_t first, count, entry;
} at_position_run;

typedef struct at_rotary_angles_call { /* rows of half cosines and half sines */
    const at_position_run *runs;       /* host */
    int64_t count, half;
    double base;
    float *table;
} at_rotary_angles_call;

typedef struct at_rotary_call { /* turned by sign * the angle */
    int64_t heads, half;
    float sign;
    const float *table;
    const int64_t *entries; /* host: each row's row of the table */
    at_view x, y;
} at_rotary_call;

/* ---- linear maps and attention: as attn/matmul.h and attn/attention.h, on tensor memory ---- */

typedef struct at_pack_call {
    at_view weight;
    int transposed;
    void *memory;
    size_t bytes;
    attn_packed_weight *packed; /* host, filled */
} at_pack_call;

typedef struct at_matmul_call {       /* y = act(x W^T + b) */
    const attn_packed_weight *packed; /* or NULL: */
    const float *weight;              /* out x in, contiguous */
    const float *bias;
    attn_activation activation;
    at_view x, y;
    float *pre; /* rows x out, contiguous */
} at_matmul_call;

enum { AT_IN_PLACE_DEPTH = 1536 }; /* columns of d up to which dx may be the memory of factor */
typedef struct at_matmul_backward_call {
    const attn_packed_weight *packed; /* transposed, or NULL: */
    const float *weight;              /* out x in, contiguous; either for dx alone */
    attn_activation activation;
    const float *pre;
    const float *factor; /* as large as x, contiguous: dx is multiplied by it */
    at_view d, x, dx;
    float *d_weight, *d_bias;
} at_matmul_backward_call;

/* Rows that are in no order: key j of sequence b is row list[b * stride + j] of key and value, whose
 * sequence stride is 0. For few queries with scores that are products, under a softmax, alone; weights cannot
 * be requested. */
typedef struct at_key_places {
    const int32_t *list; /* host */
    int64_t stride;
} at_key_places;

/* Pattern, options and the views are host, and so are mask, offsets, graph and slopes;
 * what the tensors view is not, but for `weights`, which the host reads. */
typedef struct at_attention_forward_call {
    const attn_pattern *pattern;
    const attn_attention_options *options;
    const attn_tensor *query, *key, *value, *output, *log_sum_exp, *weights;
    const at_key_places *places; /* NULL: where the tensors say */
} at_attention_forward_call;

typedef struct at_attention_backward_call {
    const attn_pattern *pattern;
    const attn_attention_options *options;
    const attn_tensor *query, *key, *value, *output, *log_sum_exp, *d_output;
    /* On a graph gradients of query, key and value may be the same view, which then becomes their sum; and
     * output may are in the memory of one of them: it is read before they are written. */
    const attn_attention_gradients *gradients;
} at_attention_backward_call;

/* ---- losses: one number, or the gradient of x from that of the loss ---- */

typedef struct at_cross_entropy_call {
    const int32_t *labels; /* host, [rows] */
    const float *weights;  /* host, [classes]; NULL: 1 */
    float smoothing;
    int32_t ignored;
    double all_weights;   /* the sum over the classes */
    double counted;       /* the sum of the weights of the rows that count */
    float *maximum, *sum; /* [rows]: written forward, read backward */
    at_view x;
    float *loss;         /* forward */
    const float *d_loss; /* backward */
    at_view dx;
} at_cross_entropy_call;

typedef enum at_element_loss_kind {
    AT_BINARY_CROSS_ENTROPY,
    AT_SQUARED_ERROR,
    AT_ABSOLUTE_ERROR
} at_element_loss_kind;

typedef struct at_element_loss_call {
    at_element_loss_kind kind;
    const float *targets; /* rows x columns, contiguous; NaN: missing */
    int64_t counted;      /* targets that are not missing */
    at_view x;
    float *loss;         /* forward */
    const float *d_loss; /* backward */
    at_view dx;
} at_element_loss_call;

typedef struct at_crf_call {
    attn_ragged batch; /* host */
    at_view emissions;
    const float *transitions, *start, *end;
    float *alpha;          /* rows x classes: written by the loss, read on the way back */
    const int32_t *labels; /* host: loss and way back */
    float *loss;
    const float *d_loss; /* backward */
    at_view dx;
    float *d_transitions, *d_start, *d_end;
    int32_t *best;    /* host: decode */
    float *marginals; /* host: rows x classes */
} at_crf_call;

typedef struct at_ctc_call {
    attn_ragged batch, target_batch; /* host */
    at_view logits;
    const int32_t *targets; /* host */
    int32_t blank;
    double *alpha;       /* the forward recursion, rows x states of each sequence, one after another */
    float *normal;       /* rows x 2 */
    double *log_p;       /* host: [sequences]; all three: written by the loss, read on the way back */
    float *loss;         /* 1 */
    const float *d_loss; /* backward */
    at_view dx;
} at_ctc_call;
/* Numbers of f32, which tensor memory is counted in, that `alpha` has. */
int64_t at_ctc_alpha_count(const attn_ragged *batch, const attn_ragged *target_batch);

typedef struct at_transducer_call {  /* see ops/lattice.h */
    attn_ragged batch, target_batch; /* host */
    const int64_t *node_offsets;     /* host: [sequences + 1] */
    at_view log_p;                   /* nodes x symbols */
    const int32_t *targets;          /* host */
    int32_t blank;
    int64_t symbols;     /* known ones and ends, that the loss is the mean over */
    double *total;       /* host: [sequences] log p(target) */
    float *moves;        /* nodes x 2, or NULL; both: written by the loss, read on the way back */
    float *loss;         /* 1 */
    const float *d_loss; /* backward */
    at_view dx;
} at_transducer_call;

/* ---- optimisers ---- */

typedef struct at_update { /* of one parameter; gradient NULL: 0 */
    const float *gradient;
    float *value, *momentum, *moment1, *moment2, *average;
    int frozen; /* left alone */
    /* Lazy rows of AdamW: row_steps[row] is the step that a row was last changed in (NULL: not lazy), `steps`
     * how many were done; of the rows of `columns` numbers only those whose bit is set in `written` (host;
     * NULL: all) have a gradient, and only they are changed. */
    float *row_steps;
    const uint64_t *written;
    int64_t columns;
    double steps;
    union {
        at_adamw adamw;
        at_sgd sgd;
    } step;
} at_update;

/* With x = m / sqrt(v) of its last step, a lazy row has to move by slide * x, and its average then is lag * x
 * behind what it would be had it followed at once. */
typedef struct at_missed {
    double slide, lag;
} at_missed;

typedef struct at_update_piece {
    int64_t update, first, count;
} at_update_piece;

/* The numbers of all parameters, divided into pieces (of lazy rows: of whole rows) and these into tasks. All
 * arrays are host. */
typedef struct at_update_call {
    const at_update *updates;
    const at_update_piece *pieces;
    const int64_t *task; /* task t has the pieces task[t] .. task[t + 1] - 1 */
    int64_t tasks, numbers;
    double *squares;         /* norm: the sum of the squares of each piece's gradient, or 0 */
    int adamw;               /* step: else SGD */
    int starts_average;      /* step: the average begins as the value; swap: it becomes it, and no more */
    float average_rest;      /* average += rest * (value - average) */
    const at_missed *missed; /* lazy rows: by the step of their last change */
    int64_t reach;           /* steps after that in which they would have moved */
    int late_only; /* step: lazy rows make up for the steps that they missed, and nothing else is done */
} at_update_call;

#endif
