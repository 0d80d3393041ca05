/* table.h: the kernel table, and the contracts of what stands in it.
 *
 * ops/ checks shapes, lays out memory and cuts the work into tasks; a kernel
 * does one task. There is one table an instruction set, all from the same
 * source (impl/), chosen once a context (at_kernels_for).
 *
 * Kernels take valid arguments, allocate nothing and cannot fail.
 */
#ifndef AT_KERNELS_TABLE_H
#define AT_KERNELS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/attention.h>
#include <attn/matmul.h>

#include "base/cpu.h"
#include "base/parallel.h"
#include "tensor/graph.h"

/* Rows of several heads in several sequences, channels side by side: channel c
 * of (sequence s, row i, head h) is at
 * data[s.index * sequence + (s.row + i) * row + h * head + c]. Ragged rows have
 * sequence = 0 and count rows from s.row; batched ones the other way round. */
typedef struct at_rows {
    float *data;
    int64_t sequence, row, head;
} at_rows;

typedef struct at_sequence {
    int64_t index;              /* in the batch */
    int64_t bias;               /* along the first index of a bias */
    int64_t query_row, key_row; /* first rows, for ragged tensors; else 0 */
    int64_t queries, keys;
    int64_t shift;         /* position of query i among the keys, less i */
    int64_t first_task;    /* the tasks of this sequence begin here */
    int64_t first_partial; /* in at_attention.partials, if it is split over keys */
    int64_t weights_offset, weights_width, weights_first_key, weights_key_step;
} at_sequence;

/* One call of the operator, as all its tasks see it. Absent pointers are NULL. */
typedef struct at_attention {
    const at_sequence *sequences;
    int64_t sequence_count;
    int64_t heads, kv_heads, group; /* group = heads / kv_heads */
    int d_k, d_v;
    at_rows query, key, value;
    at_rows output;
    at_rows log_sum_exp; /* head stride; one number, not a row of channels */
    float *weights;
    const int32_t *places; /* key j of s is row places[s.index * places_sequence + j]: decoding; or NULL */
    int64_t places_sequence;

    int64_t left, right; /* both finite here: no bound is a bound past every sequence */
    const uint8_t *mask;
    int64_t mask_sequence, mask_head, mask_query; /* bytes */

    float scale;   /* 1/sqrt(d_k) filled in */
    float softcap; /* 0: none */
    const float *slopes;
    const float *bias;
    int64_t bias_sequence, bias_head, bias_query, bias_key;
    const float *distance; /* entry 0 of head 0 */
    int64_t distance_head, distance_step, distance_reach;
    uint32_t dropout_threshold; /* 0: none */
    float dropout_scale;        /* 1 / (1 - dropout) */
    uint64_t seed;
    int64_t first_sequence;

    attn_score score;
    attn_weighting weighting;
    int average;
    float leaky_slope;
    const float *score_vector, *key_score_vector; /* [heads][d_k] */
    const at_adjacency *by_row, *by_column;       /* of a graph; then there is one sequence of all rows */
    at_rows edge_bias, edge_key, edge_value;      /* row: from edge to edge; edge_bias has no channels */
    at_rows query_scores, key_scores;             /* GAT: a . q_i and b . k_j, one number a head */

    float *partials; /* forward, split over keys: see attention_split */
    int64_t tasks;   /* of the call; a thread's next task is as a rule `threads` further on */
    int threads;

    /* backward */
    at_rows d_output, d_query, d_key, d_value;
    float *d_bias;
    int64_t d_bias_sequence, d_bias_head, d_bias_query, d_bias_key;
    float *d_distance;
    int64_t d_distance_head, d_distance_step;
    at_rows d_edge_bias, d_edge_key, d_edge_value;
    float *vector_partials;     /* gradients of score_vector, [slots][d_k]: see attention_edges.c */
    float *key_vector_partials; /* of key_score_vector */
    at_rows row_terms;          /* log-sum-exp in powers of two, scale * delta: beside each other a
                                   (row, head); on lists of neighbours those of all heads, then these */
    int64_t heads_at_once;      /* so many heads take turns: see at_backward_part */
    at_progress *progress;      /* [tasks]: how far each task is */
    const int64_t *previous;    /* [tasks]: the task whose bias gradients come before this one's, or -1 */
    const int64_t *previous_distance;
} at_attention;

/* Which key/value head and key block the backward task `number` of a sequence
 * is. Heads come in groups of heads_at_once, and in a group block after block,
 * each for all its heads: tasks that run side by side are then of different
 * heads, and do not wait for each other to add to dQ, while the heads at work
 * still fit the cache. `back` is the distance to the block before of that head. */
typedef struct at_backward_part {
    int64_t kv, block, back;
} at_backward_part;
static inline at_backward_part at_backward_part_of(const at_attention *call, int64_t blocks, int64_t number) {
    int64_t first = number / (call->heads_at_once * blocks) * call->heads_at_once;
    int64_t rest = number - first * blocks, heads = call->kv_heads - first;
    if (heads > call->heads_at_once) heads = call->heads_at_once;
    at_backward_part part = {first + rest % heads, rest / heads, heads};
    return part;
}

/* C = act(bias + A B): rows x columns, depth deep. A[i, k] = a[i * a_row +
 * k * a_step], C[i][j] = c[i * c_row + j]. B is in panels (see gemm_pack), or
 * natural, b[k * b_row + j * b_step], and packed on the way. */
enum { AT_GEMM_DEPTH = 1536 }; /* of a block: a panel of this depth fits the L2 cache beside its rows of A */
typedef struct at_gemm {
    int64_t rows, columns, depth;
    const float *a;
    int64_t a_row, a_step;
    const float *packed; /* or NULL: */
    const float *b;
    int64_t b_row, b_step;
    int in_place;      /* B is small and has b_step 1: whole panels are read where they lie */
    const float *bias; /* [columns], or NULL, as it has to be if `adds` */
    attn_activation activation;
    const float *factor; /* NULL, or rows x columns: C is multiplied by it; may be C if depth is at most
                            AT_GEMM_DEPTH */
    int64_t factor_row;
    float *pre_activation;
    int64_t pre_activation_row;
    float *c;
    int64_t c_row;
    int adds; /* not 0: the chain of each element begins with what C holds, so that depth can come in parts */
} at_gemm;

typedef struct at_kernels {
    at_isa isa;
    int lanes; /* columns of a packed panel: a panel holds depth x lanes numbers */

    /* Attention, forward. A sequence of `queries` is cut into tasks of one head
     * and one block of queries each (attention_block queries), or, if it has
     * few queries (attention_split_keys > 0), of one key/value head and one
     * chunk of that many keys; then attention_merge, once a (sequence, head),
     * puts the chunks together in order. The cut depends on the sequence's own
     * shape alone. */
    int64_t (*attention_block)(const at_attention *call, int64_t queries, int64_t keys);
    int64_t (*attention_split_keys)(const at_attention *call, int64_t queries, int64_t keys);
    size_t (*attention_forward_scratch)(const at_attention *call);
    void (*attention_forward)(const at_attention *call, int64_t task, void *scratch);
    void (*attention_merge)(const at_attention *call, const at_sequence *sequence, int64_t head);

    /* The weights of attention_weights_queries queries of one head from query i
     * on, after the forward pass has filled log_sum_exp. */
    int64_t attention_weights_queries;
    void (*attention_weights)(const at_attention *call, const at_sequence *sequence, int64_t head, int64_t i,
                              void *scratch);

    /* Attention, backward. First attention_row_terms for every (sequence, head), but those with one key
     * block: fills row_terms and clears d_query. Then attention_backward for every task: one key/value head
     * and one block of attention_key_block keys. A task adds to d_query after the one before it has
     * (progress). */
    int64_t attention_key_block;
    size_t (*attention_backward_scratch)(const at_attention *call);
    void (*attention_row_terms)(const at_attention *call, const at_sequence *sequence, int64_t head);
    void (*attention_backward)(const at_attention *call, int64_t task, void *scratch);

    /* Attention over lists of neighbours, a row at a time: on graphs, and on
     * positions for the scores that are no products. A task is a piece of the
     * graph (its adjacency by row or by column), or attention_edges_rows rows of
     * one head of a sequence, numbered sequence by sequence, head by head
     * (backward by column: key/value head by head).
     * First attention_score_terms, for GAT (a task is attention_edges_rows queries,
     * or keys, of a sequence); then the passes below; then attention_edges_merge
     * for every hub. */
    int64_t attention_edges_rows;
    size_t (*attention_edges_scratch)(const at_attention *call);
    void (*attention_score_terms)(const at_attention *call, int of_keys, int64_t task);
    void (*attention_edges_forward)(const at_attention *call, int64_t task, void *scratch);
    void (*attention_edges_weights)(const at_attention *call, int64_t task, void *scratch);
    void (*attention_edges_row_terms)(const at_attention *call, int64_t task, void *scratch);
    void (*attention_edges_backward)(const at_attention *call, int by_column, int64_t task, void *scratch);
    int64_t (*attention_edges_partial)(const at_attention *call, int backward,
                                       int by_column); /* numbers of one */
    void (*attention_edges_merge)(const at_attention *call, int backward, int by_column, int64_t hub);

    /* Packs columns [first, first + lanes) of B (depth x columns, strided) into
     * one panel, [depth][lanes], missing columns as 0. */
    void (*gemm_pack)(int64_t depth, int64_t columns, const float *b, int64_t b_row, int64_t b_step,
                      int64_t first, float *panel);
    /* The block [row, row_end) x one panel of columns. scratch: gemm_scratch
     * bytes, needed unless B is packed. */
    size_t (*gemm_scratch)(const at_gemm *call);
    void (*gemm)(const at_gemm *call, int64_t row, int64_t row_end, int64_t panel, void *scratch);
    /* Threads divide columns rather than blocks of fewer rows, which would read B too often. */
    int64_t gemm_least_rows;
    /* At most gemm_strip_rows rows x all columns, of a product whose rows of A lie
     * far from their neighbours in depth (a gradient's transpose): they are copied
     * side by side first. B is packed, or has b_step 1 and whole vectors of columns;
     * neither bias nor activation. a_sums: NULL, or
     * [rows]: the sums of the rows of A over depth, in its order, added to if
     * the product is. scratch: gemm_strip_scratch bytes. */
    int64_t gemm_strip_rows;
    int64_t gemm_tile_rows; /* strips whose rows are a multiple of this are the fastest */
    size_t gemm_strip_scratch;
    void (*gemm_strip)(const at_gemm *call, int64_t row, int64_t row_end, float *a_sums, void *scratch);
    /* g = d_output * act'(pre), count numbers. */
    void (*activation_backward)(attn_activation activation, int64_t count, const float *d_output,
                                const float *pre, float *g);
    /* sums[j] = sum over rows, in order, of x[i * row + j] for columns numbers. */
    void (*column_sums)(int64_t rows, int64_t columns, const float *x, int64_t row, float *sums);
    void (*softmax_row)(int64_t columns, const float *input, float *output);

    /* For the tests of the polynomials: y[i] = f(x[i]). */
    void (*exp2_all)(int64_t count, const float *x, float *y);
    void (*tanh_all)(int64_t count, const float *x, float *y);
    void (*normal_cdf_all)(int64_t count, const float *x, float *y);

    /* `rounds` times a fixed number of independent multiply-adds; returns how
     * many operations that was. `sink` keeps the result alive. */
    int64_t (*fma_loop)(int64_t rounds, float *sink);
} at_kernels;

/* The table of an available instruction set. */
const at_kernels *at_kernels_for(at_isa isa);

#endif
