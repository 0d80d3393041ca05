/* operations.h: what is recorded on a tape.
 *
 * Every operation checks its shapes, computes, and (on a recording tape) can
 * be walked back. It returns a new variable, or NULL with the error kept in
 * the tape (attn/tape.h). x, a, b, ... are rows x columns; integer arrays and
 * offsets are copied, and so are free after the call. A parameter that may be
 * left out is NULL.
 */
#ifndef ATTN_OPERATIONS_H
#define ATTN_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/attention.h>
#include <attn/export.h>
#include <attn/matmul.h>
#include <attn/parameters.h>
#include <attn/pattern.h>
#include <attn/ragged.h>
#include <attn/tape.h>

ATTN_BEGIN_DECLS

/* ---- linear maps ---- */

/* act(x W^T + b): rows x out. weight: out x in; bias: [out] or NULL. */
ATTN_API attn_variable *attn_tape_linear(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                         attn_parameter *bias, attn_activation activation);

/* act(x W^T + b) U^T + c: two linear maps in one operation, which keeps less than
 * two: of the rows in between only those before the activation. weight: inner x
 * in, output: out x inner; biases may be NULL. */
ATTN_API attn_variable *attn_tape_feedforward(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                              attn_parameter *bias, attn_activation activation,
                                              attn_parameter *output, attn_parameter *output_bias);

/* Row ids[i] of the table for every i: count x columns. An id of -1 gives a row
 * of 0. Other ids outside the table are an error. */
ATTN_API attn_variable *attn_tape_embedding(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                            int64_t count);

typedef enum attn_bag { ATTN_BAG_SUM = 0, ATTN_BAG_MEAN = 1 } attn_bag;

/* One row a bag: the sum or mean of the table's rows ids[offsets[i]] ..
 * ids[offsets[i+1] - 1]; an empty bag gives 0. Ids as above: -1 is a row of 0, which
 * counts in the mean. */
ATTN_API attn_variable *attn_tape_embedding_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                                const int64_t *offsets, int64_t bags, attn_bag kind);

/* One row a bag: the sum of weights[e] times the table's row ids[e], e = offsets[i] ..
 * offsets[i+1] - 1: rows of a sparse matrix times the table. weights NULL: all 1.
 * They get no gradient. */
ATTN_API attn_variable *attn_tape_weighted_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                               const float *weights, const int64_t *offsets, int64_t bags);

/* ---- element by element, columns, rows ---- */

/* a + b and a * b: of equal shape, or b one row for all rows of a. */
ATTN_API attn_variable *attn_tape_add(attn_tape *tape, attn_variable *a, attn_variable *b);
ATTN_API attn_variable *attn_tape_multiply(attn_tape *tape, attn_variable *a, attn_variable *b);

/* factor * x. */
ATTN_API attn_variable *attn_tape_scale(attn_tape *tape, attn_variable *x, float factor);

/* The columns of all parts side by side; equal rows. count >= 1. */
ATTN_API attn_variable *attn_tape_concat(attn_tape *tape, attn_variable *const *parts, int count);

/* Columns first .. first + columns - 1 of x, without a copy. */
ATTN_API attn_variable *attn_tape_slice(attn_tape *tape, attn_variable *x, int64_t first, int64_t columns);

/* Column c of the result is column columns[c] of x: rows x count. */
ATTN_API attn_variable *attn_tape_gather_columns(attn_tape *tape, attn_variable *x, const int64_t *columns,
                                                 int64_t count);

/* Row i of the result is row rows[i] of x (-1: 0): count x columns. */
ATTN_API attn_variable *attn_tape_gather(attn_tape *tape, attn_variable *x, const int64_t *rows,
                                         int64_t count);

/* `count` rows; row i of x is added to row rows[i] of them (-1: to none). */
ATTN_API attn_variable *attn_tape_scatter(attn_tape *tape, attn_variable *x, const int64_t *rows,
                                          int64_t count);

ATTN_API attn_variable *attn_tape_activation(attn_tape *tape, attn_variable *x, attn_activation activation);

/* act(gate) * value, of equal shape: the middle of a gated FFN (SiLU: SwiGLU,
 * GELU: GeGLU, sigmoid: GLU). */
ATTN_API attn_variable *attn_tape_gate(attn_tape *tape, attn_variable *gate, attn_variable *value,
                                       attn_activation activation);

/* Each number is 0 with this probability, else divided by 1 - probability.
 * Nothing unless the tape is in ATTN_TAPE_TRAIN. 0 <= probability < 1. */
ATTN_API attn_variable *attn_tape_dropout(attn_tape *tape, attn_variable *x, float probability);

/* Of every row. */
ATTN_API attn_variable *attn_tape_softmax(attn_tape *tape, attn_variable *x);
ATTN_API attn_variable *attn_tape_log_softmax(attn_tape *tape, attn_variable *x);

/* gain * (x - mean) / sqrt(variance + epsilon) + bias, row by row; gain and
 * bias [columns] or NULL. */
ATTN_API attn_variable *attn_tape_layer_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                             attn_parameter *bias, float epsilon);

/* gain * x / sqrt(mean of x^2 + epsilon), row by row. */
ATTN_API attn_variable *attn_tape_rms_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                           float epsilon);

/* ---- what mixes the rows of a sequence ---- */

typedef enum attn_pool {
    ATTN_POOL_MEAN = 0,
    ATTN_POOL_MAX = 1, /* the gradient goes to the first row that has the maximum */
    ATTN_POOL_FIRST = 2,
    ATTN_POOL_SUM = 3
} attn_pool;

/* One row a sequence; an empty sequence gives 0. */
ATTN_API attn_variable *attn_tape_pool(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                       attn_pool kind);

/* Attention pooling: with scores rows x heads, the softmax of each head's
 * scores over a sequence weighs its rows; head h sums columns h * (columns /
 * heads) .. of x. One row a sequence; an empty one gives 0. */
ATTN_API attn_variable *attn_tape_pool_attention(attn_tape *tape, attn_variable *x, attn_variable *scores,
                                                 const attn_ragged *batch);

/* Window concatenation: row i of the result is rows i - left .. i + right of
 * its sequence side by side ((left + right + 1) * columns wide), 0 past the
 * ends of the sequence. */
ATTN_API attn_variable *attn_tape_window(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                         int64_t left, int64_t right);

typedef struct attn_convolution_options {
    size_t size;   /* sizeof(attn_convolution_options), set by the init function */
    int64_t width; /* rows that a result sees: 3 after init */
    int64_t dilation;
    int causal; /* not 0: sees i and rows before it; 0: centred, the left side gets width / 2 rows */
    attn_activation activation;
} attn_convolution_options;
ATTN_API void attn_convolution_options_init(attn_convolution_options *options);

/* A convolution along each sequence: act(b + sum_t W_t x_(i + offset_t)), with 0
 * past the ends. weight: out x width x in (rank 3), step t = 0 the leftmost row. */
ATTN_API attn_variable *attn_tape_convolution(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                              attn_parameter *weight, attn_parameter *bias,
                                              const attn_convolution_options *options);

/* Sequences that are grids: the rows of a sequence are those of its grid line after line, height * width of
 * them. A grid of no rows may have any width and height 0, or the other way round. */
typedef struct attn_grids {
    attn_ragged batch;
    const int64_t *heights, *widths; /* [sequences] */
} attn_grids;

/* A convolution over each grid: a result sees the square of width x width rows around it, dilated alike in
 * both directions, with 0 past the edges; of an even width the upper and the left side get width / 2. weight:
 * out x (width * width) x in (rank 3), the square line by line, from the uppermost. causal is refused
 * (UNSUPPORTED), and so is a sequence that has not the rows of its grid (SHAPE_MISMATCH). */
ATTN_API attn_variable *attn_tape_convolution_grid(attn_tape *tape, attn_variable *x, const attn_grids *grids,
                                                   attn_parameter *weight, attn_parameter *bias,
                                                   const attn_convolution_options *options);

/* Recurrent networks, with u = W x_t + b and r = R h_(t-1) + c, and gates in
 * this order in the rows of W, R, b, c:
 *
 *     TANH   h = tanh(u + r)
 *     GRU    reset = sigmoid(u_0 + r_0), update = sigmoid(u_1 + r_1),
 *            n = tanh(u_2 + reset * r_2), h = (1 - update) * n + update * h_(t-1)
 *     LSTM   input, forget, cell, output = sigmoid, sigmoid, tanh, sigmoid of u_g + r_g,
 *            c = forget * c_(t-1) + input * cell, h = output * tanh(c)
 *
 * (the orders of PyTorch's). h and c start at 0 in every sequence. */
typedef enum attn_recurrence { ATTN_RNN_TANH = 0, ATTN_RNN_GRU = 1, ATTN_RNN_LSTM = 2 } attn_recurrence;

/* The weights of one direction: gates * hidden rows each. Biases may be NULL. */
typedef struct attn_recurrent_weights {
    attn_parameter *input;       /* W: gates * hidden x in */
    attn_parameter *hidden;      /* R: gates * hidden x hidden */
    attn_parameter *input_bias;  /* b */
    attn_parameter *hidden_bias; /* c */
} attn_recurrent_weights;

/* Runs over every sequence, forwards with weights[0] and, if directions is 2,
 * backwards with weights[1]: rows x (directions * hidden), forwards first. */
ATTN_API attn_variable *attn_tape_recurrent(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                            attn_recurrence kind, const attn_recurrent_weights *weights,
                                            int directions);

/* ---- attention ---- */

typedef struct attn_attention_inputs {
    size_t size; /* sizeof(attn_attention_inputs), set by the init function */
    int64_t heads, kv_heads;
    const attn_pattern *pattern;           /* NULL: full, one sequence. Offsets are copied; mask and graph
                                              must stay until the tape begins again */
    const attn_attention_options *options; /* NULL: the defaults. Its tensors are not used: those below are;
                                              its dropout counts in ATTN_TAPE_TRAIN only and its seed is the
                                              tape's. alibi_slopes must stay, as mask and graph */
    attn_variable *bias;                   /* NULL, or a matrix that is seen as bias_shape */
    int64_t bias_shape[4];        /* sequences or 1, heads or 1, queries or 1, keys or 1; with bias_of of
                                     the options, which is copied, any number for the sequences */
    attn_variable *distance_bias; /* heads or 1 x 2 R + 1 */
    attn_variable *score_vector, *key_score_vector; /* heads x d_k */
    attn_variable *edge_bias;                       /* edges x heads */
    attn_variable *edge_key, *edge_value;           /* edges x (heads * d_k), edges x (heads * d_v) */
    float *weights;             /* NULL, or attn_attention_weights_count() numbers to fill */
    attn_activation activation; /* of the result; IDENTITY after init. On a graph RELU and ELU here keep one
                                   array of the result's size less than attn_tape_activation after it */
    int bias_by_head;           /* not 0: the numbers of bias lie heads x sequences x queries x keys */
} attn_attention_inputs;
ATTN_API void attn_attention_inputs_init(attn_attention_inputs *inputs); /* 1 head */

/* The attention operator (attn/attention.h) on variables: query rows x (heads *
 * d_k), key rows x (kv_heads * d_k), value rows x (kv_heads * d_v), a row's heads
 * side by side; result rows x (heads * d_v). */
ATTN_API attn_variable *attn_tape_attention(attn_tape *tape, attn_variable *query, attn_variable *key,
                                            attn_variable *value, const attn_attention_inputs *inputs);

/* Rotary positions: in each head of `width` = columns / heads channels, channels
 * c and c + width / 2 are rotated by angle position * base^(-2 c / width).
 * position: the row's place in its sequence + first_position[b] (NULL: 0).
 * width must be even. */
ATTN_API attn_variable *attn_tape_rotary(attn_tape *tape, attn_variable *x, int64_t heads,
                                         const attn_ragged *batch, const int64_t *first_position, float base);

/* ---- losses: 1 x 1 ---- */

typedef struct attn_cross_entropy_options {
    size_t size;                /* sizeof(attn_cross_entropy_options), set by the init function */
    float smoothing;            /* 0 <= smoothing < 1: so much of the target is spread over all classes */
    const float *class_weights; /* [classes] or NULL: 1 */
    int32_t ignored;            /* rows with this label do not count; -1 after init */
} attn_cross_entropy_options;
ATTN_API void attn_cross_entropy_options_init(attn_cross_entropy_options *options);

/* The mean of -log softmax(logits)[label], weighted by the class weights of the
 * labels, over the rows that count; 0 if none does. With smoothing s it is
 * (1 - s) times that plus s / classes times the sum over all classes c of
 * -weight_c log softmax_c (over the same sum of weights). A label outside the
 * classes that is not `ignored` is an error. labels: [rows]. options NULL: the
 * defaults. */
ATTN_API attn_variable *attn_tape_cross_entropy(attn_tape *tape, attn_variable *logits, const int32_t *labels,
                                                const attn_cross_entropy_options *options);

/* Targets are rows x columns, contiguous, copied; NaN means missing, and the
 * mean is over those that are not (0 if all are missing). */
ATTN_API attn_variable *attn_tape_binary_cross_entropy(attn_tape *tape, attn_variable *logits,
                                                       const float *targets);
ATTN_API attn_variable *attn_tape_squared_error(attn_tape *tape, attn_variable *x, const float *targets);
ATTN_API attn_variable *attn_tape_absolute_error(attn_tape *tape, attn_variable *x, const float *targets);

/* ---- conditional random field over the labels of a sequence ----
 *
 * A path y has the score start[y_1] + sum_t emissions[t][y_t] + sum_t
 * transitions[y_(t-1)][y_t] + end[y_n]; p(y) = exp(score) / sum over all paths. */
typedef struct attn_crf {
    attn_parameter *transitions; /* classes x classes: from, to */
    attn_parameter *start, *end; /* [classes] or NULL */
} attn_crf;

/* The mean over all rows of -log p(labels): (sum over sequences) / rows. */
ATTN_API attn_variable *attn_tape_crf(attn_tape *tape, attn_variable *emissions, const attn_ragged *batch,
                                      const attn_crf *crf, const int32_t *labels);

/* The best path of every sequence (Viterbi; of equal ones that with the smaller
 * classes), and p(y_t = c) of every row, rows x classes. Not recorded. */
ATTN_API attn_status attn_tape_crf_decode(attn_tape *tape, const attn_variable *emissions,
                                          const attn_ragged *batch, const attn_crf *crf, int32_t *labels);
ATTN_API attn_status attn_tape_crf_marginals(attn_tape *tape, const attn_variable *emissions,
                                             const attn_ragged *batch, const attn_crf *crf, float *marginals);

/* ---- connectionist temporal classification ----
 *
 * A path says one of the columns at every row, and means what is left of it
 * without repetitions and then without blanks: a a - a b is "a a b". p(target)
 * is the sum of the probabilities of all paths that mean it, a path's being the
 * product of softmax(scores[t])[y_t]. */

/* The mean over all rows of -log p(target): (sum over sequences) / rows. The
 * targets of sequence b are targets[target_batch->offsets[b]] ..., each a column
 * and none of them `blank`; copied. A sequence that cannot be its target (fewer
 * rows than the target has symbols and neighbours that are equal, or a
 * probability of 0) adds nothing to the loss and has a gradient of 0; its rows
 * count. */
ATTN_API attn_variable *attn_tape_ctc(attn_tape *tape, attn_variable *scores, const attn_ragged *batch,
                                      const int32_t *targets, const attn_ragged *target_batch, int32_t blank);

ATTN_END_DECLS

#endif
