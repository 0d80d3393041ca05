/* attention_case.h: one attention call described in a few words, and built.
 *
 * A test_case says what is requested; problem_create fills it with numbers
 * that depend on its seed alone, and makes the views, the pattern and the
 * options that the library takes and the doubles that the oracle takes. What
 * lies between the elements of an input view is NaN, and what lies between
 * those of an output view is a canary: reading or writing there is noticed.
 */
#ifndef TEST_SUPPORT_ATTENTION_CASE_H
#define TEST_SUPPORT_ATTENTION_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

#include "kernels/ref/reference.h"
#include "support/memory.h"
#include "support/random.h"

#define CASE_MAX_SEQUENCES 8
#define CANARY 12345.5f /* what is in an output before a call */

/* How rows, heads and channels lie in memory. */
typedef enum case_layout {
    LAYOUT_ROWS,           /* 3-d: n x heads x d, the heads of a row side by side */
    LAYOUT_HEAD_MAJOR,     /* 3-d: heads x n x d */
    LAYOUT_PADDED,         /* 3-d: gaps after every head and every row */
    LAYOUT_CHANNEL_STRIDE, /* 3-d: every third float */
    LAYOUT_TRANSPOSED,     /* 3-d: heads x d x n */
    LAYOUT_REVERSED,       /* 3-d: the last row first (negative stride) */
    LAYOUT_BNHD,           /* 4-d: sequence x n x heads x d */
    LAYOUT_BHND,           /* 4-d: sequence x heads x n x d */
    LAYOUT_ROOM,           /* 4-d: like BHND, with lengths and room for more rows */
    LAYOUTS
} case_layout;

typedef enum case_mask {
    MASK_NONE,
    MASK_RANDOM,      /* three of four bits are 1 */
    MASK_BLOCKS,      /* whole blocks of keys are hidden: tiles that the mask empties */
    MASK_SPARSE,      /* one of eight bits is 1; some queries see nothing */
    MASK_SHARED_HEAD, /* like RANDOM, one for all heads */
    MASK_SHARED_ALL,  /* one row of bits for all sequences, heads and queries */
    MASKS
} case_mask;

typedef enum case_order {
    ORDER_ROW_MAJOR,
    ORDER_KEY_MAJOR, /* transposed strides */
    ORDER_GAPS,      /* strides larger than need be, key stride 2 */
    ORDERS
} case_order;

enum { SHARE_SEQUENCE = 1, SHARE_HEAD = 2, SHARE_QUERY = 4, SHARE_KEY = 8 };

typedef struct test_case {
    int sequences;
    int64_t queries[CASE_MAX_SEQUENCES];
    int64_t keys[CASE_MAX_SEQUENCES];
    int64_t heads, kv_heads, d_k, d_v;
    case_layout layout;

    int64_t left, right;
    attn_align align;
    case_mask mask;

    bool bias;
    int bias_shared; /* SHARE_* bits: extent 1 there */
    case_order bias_order;
    bool bias_infinities; /* one of five entries is -inf */
    bool bias_groups;     /* sequences take one of three biases (options.bias_of), unless they share one */

    int64_t distance_reach; /* -1: no table by distance */
    bool distance_shared;   /* over the heads */
    bool distance_infinities;

    bool alibi;
    float scale, softcap, dropout;
    int64_t first_sequence;
    float amplitude; /* of queries and keys; 1: scores of variance 1 at the default scale */
    uint64_t seed;   /* of the numbers, and of dropout */
    bool weights;    /* asked for */
} test_case;

/* One sequence, one head of 16 channels, full attention, nothing else. */
test_case case_simple(int64_t queries, int64_t keys);

/* Any combination of everything; lengths up to `longest`. */
test_case case_random(test_random *random, int64_t longest);

/* A sentence that names the case, for the message of a failure. */
void case_describe(const test_case *c, char *text, size_t bytes);

/* All tensors of a forward and a backward call. */
typedef enum tensor_id {
    QUERY,
    KEY,
    VALUE,
    BIAS,
    DISTANCE,
    D_OUTPUT,
    OUTPUT, /* from here on results */
    LOG_SUM_EXP,
    WEIGHTS,
    D_QUERY,
    D_KEY,
    D_VALUE,
    D_BIAS,
    D_DISTANCE,
    TENSORS
} tensor_id;
extern const char *const tensor_names[TENSORS];

typedef struct problem {
    test_case c;
    attn_pattern pattern;
    attn_attention_options options;
    attn_tensor tensor[TENSORS]; /* data NULL: not part of this case */
    memory_block memory[TENSORS];
    int64_t count[TENSORS]; /* elements of the view */

    /* Inputs as the oracle reads them: contiguous, in logical order. */
    double *exact[TENSORS];
    ref_attention reference;

    /* Sequence b has the rows first_query[b] .. and first_key[b] .. of the
     * tensors seen as (all rows) x heads x channels. */
    int64_t first_query[CASE_MAX_SEQUENCES];
    int64_t first_key[CASE_MAX_SEQUENCES];

    int64_t bias_of[CASE_MAX_SEQUENCES]; /* along the first index of the bias, whatever says so */
    memory_block mask_memory, alibi_memory, group_memory;
    memory_block offset_memory[2]; /* offsets or lengths, queries and keys */
} problem;

problem *problem_create(const test_case *c, memory_kind kind);
void problem_destroy(problem *p);

/* Element `index` (in logical order) of a view. */
float *view_element(const attn_tensor *view, int64_t index);
int64_t view_count(const attn_tensor *view);

/* Sets one element of an input, for the library and for the oracle. */
void problem_set(problem *p, tensor_id id, int64_t index, float value);

/* The index of (sequence, row, head, channel) in the logical order of a tensor
 * of queries (QUERY, OUTPUT, D_OUTPUT, D_QUERY) or keys. */
int64_t problem_index(const problem *p, tensor_id id, int64_t sequence, int64_t row, int64_t head,
                      int64_t channel);

/* May query i of sequence b and head h see key j? By reach, mask and biases. */
bool problem_sees(const problem *p, int64_t b, int64_t h, int64_t i, int64_t j);

#endif
