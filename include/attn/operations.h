/* operations.h: the operations that a tape records.
 *
 * Every operation checks shapes and computes its result; on a recording tape it
 * also has a backward pass. x, a, b, ... are rows x columns. Integer arrays and
 * offsets are copied: the caller may free them after the call. An optional
 * argument that is not used is NULL.
 *
 * Errors: an operation returns a new variable, or NULL, and then the tape keeps
 * the error (attn_tape_status, attn_tape_error). If the tape has an error already,
 * or is NULL, an operation does nothing and returns NULL. Every operation refuses
 *
 *     INVALID_ARGUMENT   a NULL that its comment does not allow; a number, an enum value, an id, an index, a
 *                        label or a target that is out of range; a parameter of another context than the
 *                        tape's; options without init
 *     SHAPE_MISMATCH     arguments whose shapes do not fit; columns outside of x; offsets of a batch that
 *                        do not rise from 0 to the number of rows
 *     UNSUPPORTED        what its comment names; options of a newer caller
 *     OVERFLOW           a result with more elements than a size can count
 *     OUT_OF_MEMORY
 *
 * The comment of an operation names what it refuses beyond that. Results of a tape
 * never overlap; float arrays of the caller must be aligned as float, which is
 * not checked here.
 *
 * Threads. The operations of a tape are called by one thread at a time.
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

/* act(x W^T + b) U^T + c: two linear maps in one operation. It keeps less
 * memory than two operations, because it stores the inner rows only before the
 * activation, not after it. weight: inner x in, output: out x inner; biases may
 * be NULL. */
ATTN_API attn_variable *attn_tape_feedforward(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                              attn_parameter *bias, attn_activation activation,
                                              attn_parameter *output, attn_parameter *output_bias);

/* Row ids[i] of the table for every i: count x columns. An id of -1 gives a row
 * of 0. */
ATTN_API attn_variable *attn_tape_embedding(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                            int64_t count);

typedef enum attn_bag { ATTN_BAG_SUM = 0, ATTN_BAG_MEAN = 1 } attn_bag;

/* One row per bag: the sum or mean of the table's rows ids[offsets[i]] .. ids[offsets[i+1] - 1]; an empty bag
 * gives 0. Ids as above: -1 is a row of zeros, which counts in the mean. */
ATTN_API attn_variable *attn_tape_embedding_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                                const int64_t *offsets, int64_t bags, attn_bag kind);

/* One row per bag: the sum of weights[e] times the table's row ids[e], e = offsets[i] .. offsets[i+1] - 1:
 * rows of a sparse matrix times the table. weights NULL: all 1. They get no gradient. */
ATTN_API attn_variable *attn_tape_weighted_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                               const float *weights, const int64_t *offsets, int64_t bags);

/* ---- element by element, columns, rows ---- */

/* a + b and a * b, element by element. b has the shape of a, or is one row that is used for all rows of a. */
ATTN_API attn_variable *attn_tape_add(attn_tape *tape, attn_variable *a, attn_variable *b);
ATTN_API attn_variable *attn_tape_multiply(attn_tape *tape, attn_variable *a, attn_variable *b);

/* factor * x. */
ATTN_API attn_variable *attn_tape_scale(attn_tape *tape, attn_variable *x, float factor);

/* Concatenates the columns of all parts, which have equal rows. count >= 1. */
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

/* act(x), element by element. */
ATTN_API attn_variable *attn_tape_activation(attn_tape *tape, attn_variable *x, attn_activation activation);

/* act(gate) * value, of equal shape: the gate of a gated FFN (SiLU: SwiGLU,
 * GELU: GeGLU, sigmoid: GLU). */
ATTN_API attn_variable *attn_tape_gate(attn_tape *tape, attn_variable *gate, attn_variable *value,
                                       attn_activation activation);

/* Sets each number to 0 with this probability, else divides it by 1 -
 * probability. Does nothing unless the tape is in ATTN_TAPE_TRAIN. 0 <=
 * probability < 1. */
ATTN_API attn_variable *attn_tape_dropout(attn_tape *tape, attn_variable *x, float probability);

/* softmax(x) and log softmax(x) of every row. */
ATTN_API attn_variable *attn_tape_softmax(attn_tape *tape, attn_variable *x);
ATTN_API attn_variable *attn_tape_log_softmax(attn_tape *tape, attn_variable *x);

/* gain * (x - mean) / sqrt(variance + epsilon) + bias, row by row; gain and
 * bias [columns] or NULL. */
ATTN_API attn_variable *attn_tape_layer_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                             attn_parameter *bias, float epsilon);

/* gain * x / sqrt(mean of x^2 + epsilon), row by row. */
ATTN_API attn_variable *attn_tape_rms_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                           float epsilon);

/* ---- operations that mix the rows of a sequence ---- */

typedef enum attn_pool {
    ATTN_POOL_MEAN = 0,
    ATTN_POOL_MAX = 1, /* the gradient goes to the first row that has the maximum */
    ATTN_POOL_FIRST = 2,
    ATTN_POOL_SUM = 3
} attn_pool;

/* One row per sequence; an empty sequence gives 0. */
ATTN_API attn_variable *attn_tape_pool(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                       attn_pool kind);

/* Attention pooling. scores: rows x heads. For each head, the softmax of its
 * scores over a sequence gives the weights of the sequence's rows. The columns
 * of x are divided into as many equal parts as there are heads, and head h
 * gives the weighted sum of part h. One row per sequence; an empty one gives
 * 0. */
ATTN_API attn_variable *attn_tape_pool_attention(attn_tape *tape, attn_variable *x, attn_variable *scores,
                                                 const attn_ragged *batch);

/* Window concatenation: row i of the result is the concatenation of rows i -
 * left .. i + right of its sequence, with 0 past the ends of the sequence. It has
 * (left + right + 1) * columns columns. */
ATTN_API attn_variable *attn_tape_window(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                         int64_t left, int64_t right);

typedef struct attn_convolution_options {
    size_t size;   /* sizeof(attn_convolution_options), set by the init function */
    int64_t width; /* rows that a result sees: 3 after init */
    int64_t dilation;
    int causal; /* not 0: sees i and rows before it; 0: centred, the left side gets width / 2 rows */
    attn_activation activation;
} attn_convolution_options;
ATTN_INIT(attn_convolution_options)

/* A convolution along each sequence: act(b + sum_t W_t x_(i + offset_t)), with 0
 * past the ends. weight: out x width x in (rank 3), step t = 0 the leftmost row. */
ATTN_API attn_variable *attn_tape_convolution(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                              attn_parameter *weight, attn_parameter *bias,
                                              const attn_convolution_options *options);

/* Sequences that are grids: the rows of a sequence are the cells of its grid line by line, height * width of
 * them. A grid without rows has height 0 and any width, or width 0 and any height. A plain struct: it will
 * not grow. */
typedef struct attn_grids {
    attn_ragged batch;
    const int64_t *heights, *widths; /* [sequences] */
} attn_grids;

/* A convolution over each grid: a result sees the square of width x width cells around it, with the same
 * dilation in both directions and 0 past the edges. If the width is even, width / 2 of the lines are above
 * and width / 2 of the columns to the left. weight: out x (width * width) x in (rank 3), the square line by
 * line, from the top. Errors: UNSUPPORTED (causal), SHAPE_MISMATCH (a sequence does not have as many rows as
 * its grid). */
ATTN_API attn_variable *attn_tape_convolution_grid(attn_tape *tape, attn_variable *x, const attn_grids *grids,
                                                   attn_parameter *weight, attn_parameter *bias,
                                                   const attn_convolution_options *options);

/* Recurrent networks, with u = W x_t + b and r = R h_(t-1) + d, and gates in
 * this order in the rows of W, R, b, d:
 *
 *     TANH   h = tanh(u + r)
 *     GRU    reset = sigmoid(u_0 + r_0), update = sigmoid(u_1 + r_1),
 *            n = tanh(u_2 + reset * r_2), h = (1 - update) * n + update * h_(t-1)
 *     LSTM   input, forget, cell, output = sigmoid, sigmoid, tanh, sigmoid of u_g + r_g,
 *            c = forget * c_(t-1) + input * cell, h = output * tanh(c)
 *
 * (the gate order of PyTorch). The states h and c start at 0 in every sequence. */
typedef enum attn_recurrence { ATTN_RNN_TANH = 0, ATTN_RNN_GRU = 1, ATTN_RNN_LSTM = 2 } attn_recurrence;

/* The weights of one direction: gates * hidden rows each. Biases may be NULL. A plain struct: it will not
 * grow. */
typedef struct attn_recurrent_weights {
    attn_parameter *input;       /* W: gates * hidden x in */
    attn_parameter *hidden;      /* R: gates * hidden x hidden */
    attn_parameter *input_bias;  /* b */
    attn_parameter *hidden_bias; /* d */
} attn_recurrent_weights;

/* Runs over every sequence, forwards with weights[0] and, if directions is 2,
 * backwards with weights[1]. The result is rows x (directions * hidden), the
 * forward direction first. weights: [directions]. */
ATTN_API attn_variable *attn_tape_recurrent(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                            attn_recurrence kind, const attn_recurrent_weights *weights,
                                            int directions);

/* ---- attention ---- */

typedef struct attn_attention_inputs {
    size_t size; /* sizeof(attn_attention_inputs), set by the init function */
    int64_t heads, kv_heads;
    const attn_pattern *pattern; /* NULL: full, one sequence. Offsets are copied; mask and graph must stay
                                    valid until the next attn_tape_begin */
    const attn_attention_options *options; /* NULL: the defaults. Its tensors are ignored: the variables below
                                              take their place. Dropout applies in ATTN_TAPE_TRAIN only, with
                                              the tape's seed. alibi_slopes must stay valid until the next
                                              attn_tape_begin */
    attn_variable *bias;                   /* NULL, or a matrix that is read with shape bias_shape */
    int64_t bias_shape[4]; /* sequences or 1, heads or 1, queries or 1, keys or 1; with options->bias_of,
                              which is copied, the first may be any number */
    attn_variable *distance_bias;                   /* heads or 1 x 2 R + 1 */
    attn_variable *score_vector, *key_score_vector; /* heads x d_k */
    attn_variable *edge_bias;                       /* edges x heads */
    attn_variable *edge_key, *edge_value;           /* edges x (heads * d_k), edges x (heads * d_v) */
    float *weights;             /* NULL, or attn_attention_weights_count() numbers to fill */
    attn_activation activation; /* of the result; IDENTITY after init. On a graph, RELU and ELU are applied
                                   in place, which saves the array that attn_tape_activation allocates */
    int bias_by_head;           /* not 0: the memory order of bias is heads x sequences x queries x keys */
} attn_attention_inputs;
ATTN_INIT(attn_attention_inputs) /* 1 head */

/* The attention operator (attn/attention.h) on variables, in which the heads of
 * a row are concatenated: query rows x (heads * d_k), key rows x (kv_heads *
 * d_k), value rows x (kv_heads * d_v); the result is rows x (heads * d_v).
 * inputs NULL: the values after init. Errors also: those of attn_attention_forward;
 * UNSUPPORTED (lengths in the pattern; a bias or a score vector that is a slice
 * of columns). */
ATTN_API attn_variable *attn_tape_attention(attn_tape *tape, attn_variable *query, attn_variable *key,
                                            attn_variable *value, const attn_attention_inputs *inputs);

/* Rotary positions: in each head of `width` = columns / heads channels,
 * channels c and c + width / 2 are rotated by angle position * base^(-2 c /
 * width). position: the row's index in its sequence + first_position[b] (NULL:
 * 0). width must be even. */
ATTN_API attn_variable *attn_tape_rotary(attn_tape *tape, attn_variable *x, int64_t heads,
                                         const attn_ragged *batch, const int64_t *first_position, float base);

/* ---- losses: 1 x 1 ---- */

typedef struct attn_cross_entropy_options {
    size_t size;     /* sizeof(attn_cross_entropy_options), set by the init function */
    float smoothing; /* 0 <= smoothing < 1: label smoothing: this share of the target is spread over all
                        classes */
    const float *class_weights; /* [classes] or NULL: 1 */
    int32_t ignored;            /* rows with this label are ignored; -1 after init */
} attn_cross_entropy_options;
ATTN_INIT(attn_cross_entropy_options)

/* The mean of -log softmax(logits)[label] over the rows that are not ignored,
 * weighted by the class weights of their labels:
 *
 *     sum over rows of weight[label] * -log softmax[label] / sum over rows of weight[label]
 *
 * and 0 if there are no such rows. With smoothing s, the term of a row in the numerator is (1 - s) times the
 * one above, plus s / classes times the sum over all classes c of weight[c] * -log softmax[c]. A label must
 * be a class or `ignored`. labels: [rows]. options NULL: the defaults. */
ATTN_API attn_variable *attn_tape_cross_entropy(attn_tape *tape, attn_variable *logits, const int32_t *labels,
                                                const attn_cross_entropy_options *options);

/* Three losses. Each is a mean over all elements: of the binary cross-entropy of
 * sigmoid(logits); of (x - target)^2; of |x - target|. Targets are rows x columns,
 * contiguous, and copied. NaN is a missing target; the mean is over the others (0
 * if all are missing). */
ATTN_API attn_variable *attn_tape_binary_cross_entropy(attn_tape *tape, attn_variable *logits,
                                                       const float *targets);
ATTN_API attn_variable *attn_tape_squared_error(attn_tape *tape, attn_variable *x, const float *targets);
ATTN_API attn_variable *attn_tape_absolute_error(attn_tape *tape, attn_variable *x, const float *targets);

/* ---- conditional random field over the labels of a sequence ----
 *
 * A path y has the potential start[y_1] + sum_t emissions[t][y_t] + sum_t
 * transitions[y_(t-1)][y_t] + end[y_n]; p(y) = exp(potential) / sum over all
 * paths of exp(potential). The struct is plain: it will not grow. */
typedef struct attn_crf {
    attn_parameter *transitions; /* classes x classes: from, to */
    attn_parameter *start, *end; /* [classes] or NULL */
} attn_crf;

/* The mean over all rows of -log p(labels): (sum over sequences) / rows. */
ATTN_API attn_variable *attn_tape_crf(attn_tape *tape, attn_variable *emissions, const attn_ragged *batch,
                                      const attn_crf *crf, const int32_t *labels);

/* decode: the likeliest path of every sequence (Viterbi). Of several likeliest
 * paths it is the one whose class is smaller at the first row where they differ.
 * marginals: p(y_t = c) of every row, rows x classes. Neither is recorded.
 * Errors, which the tape also keeps: INVALID_ARGUMENT (NULL), SHAPE_MISMATCH,
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_tape_crf_decode(attn_tape *tape, const attn_variable *emissions,
                                          const attn_ragged *batch, const attn_crf *crf, int32_t *labels);
ATTN_API attn_status attn_tape_crf_marginals(attn_tape *tape, const attn_variable *emissions,
                                             const attn_ragged *batch, const attn_crf *crf, float *marginals);

/* ---- connectionist temporal classification ----
 *
 * A path chooses one column of logits, a symbol or the blank, at every row. Its
 * sequence of symbols is the path without repetitions and then without blanks:
 * a a - a b is "a a b". p(target) is the sum of the probabilities of all paths
 * with that sequence; the probability of a path is the product of
 * softmax(logits[t])[y_t]. */

/* The mean over all rows of -log p(target): (sum over sequences) / rows. The
 * target of sequence b is targets[target_batch->offsets[b]] ..., symbols that are
 * columns of logits other than `blank`; it is copied. A target is impossible if
 * its probability is 0, or if the sequence has fewer rows than the target has
 * symbols plus pairs of equal neighbours. Such a sequence adds nothing to the
 * loss and has gradient 0; its rows count in the mean. */
ATTN_API attn_variable *attn_tape_ctc(attn_tape *tape, attn_variable *logits, const attn_ragged *batch,
                                      const int32_t *targets, const attn_ragged *target_batch, int32_t blank);

/* ---- transducer (Graves 2012) ----
 *
 * A target of U symbols is aligned with T rows. At every row t, with u symbols emitted, the next move is a
 * symbol, which stays at the row, or the blank, which advances to the next row; the blank of the last row
 * ends the path. p(target) is the sum over all paths that emit it, and the probability of a path is the
 * product of softmax(logits[t, u])[move]. Unlike in CTC, a move may depend on the symbols emitted before. */

/* targets and target_batch as for attn_tape_ctc, but a symbol may also be -1: it is unknown, and emitted with
 * probability 1. The loss is the sum of -log p(target) over the sequences, divided by the number of known
 * symbols plus the number of sequences. logits: for each sequence T (U + 1) rows, of which row t (U + 1) + u
 * is for (t, u). batch: of the T rows. A sequence whose target is impossible (there are no rows, or the
 * probability is 0) adds nothing to the loss and has gradient 0. */
ATTN_API attn_variable *attn_tape_transducer(attn_tape *tape, attn_variable *logits, const attn_ragged *batch,
                                             const int32_t *targets, const attn_ragged *target_batch,
                                             int32_t blank);

ATTN_END_DECLS

#endif
