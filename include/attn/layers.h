/* layers.h: operations together with the parameters that they learn.
 *
 * A layer is made once, from a set of parameters and a name; it adds its own
 * parameters to the set under that name ("name.weight", ...) and lives as long
 * as the set. Applying it records operations on a tape. Both report errors as
 * sets and tapes do: NULL now, the text at the end (attn_parameters_status,
 * attn_tape_status), and a NULL layer or variable is passed on quietly.
 *
 * A layer does not change when it is applied.
 *
 * How parameters start, unless a layer says otherwise: weights of linear maps
 * XAVIER (attn_initial), biases 0, gains of norms 1.
 */
#ifndef ATTN_LAYERS_H
#define ATTN_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/operations.h>
#include <attn/parameters.h>
#include <attn/pattern.h>
#include <attn/ragged.h>
#include <attn/tape.h>

ATTN_BEGIN_DECLS

/* ---- linear: act(x W^T + b); "name.weight" out x in, "name.bias" ---- */

typedef struct attn_linear attn_linear;
ATTN_API attn_linear *attn_linear_create(attn_parameters *parameters, const char *name, int64_t in,
                                         int64_t out, int with_bias, attn_activation activation);
ATTN_API attn_variable *attn_linear_apply(attn_tape *tape, const attn_linear *layer, attn_variable *x);

/* ---- norm: "name.gain", "name.bias" ---- */

typedef enum attn_norm_kind {
    ATTN_NORM_LAYER = 0,
    ATTN_NORM_RMS = 1,
    ATTN_NORM_NONE = 2 /* x itself */
} attn_norm_kind;

typedef struct attn_norm attn_norm;
ATTN_API attn_norm *attn_norm_create(attn_parameters *parameters, const char *name, attn_norm_kind kind,
                                     int64_t columns); /* epsilon 1e-5 */
/* The same with an epsilon of its own (BERT's is 1e-12); 0: 1e-5. */
ATTN_API attn_norm *attn_norm_create_epsilon(attn_parameters *parameters, const char *name,
                                             attn_norm_kind kind, int64_t columns, float epsilon);
ATTN_API attn_variable *attn_norm_apply(attn_tape *tape, const attn_norm *layer, attn_variable *x);

/* ---- embedding: a row of "name.table" (entries x columns) for every id ----
 *
 * The table starts normal with standard deviation 1. */

typedef struct attn_embedding attn_embedding;
ATTN_API attn_embedding *attn_embedding_create(attn_parameters *parameters, const char *name, int64_t entries,
                                               int64_t columns);
ATTN_API attn_variable *attn_embedding_apply(attn_tape *tape, const attn_embedding *layer, const int32_t *ids,
                                             int64_t count);

/* ---- where a layer is applied ----
 *
 * Whose rows x has, and who may see whom. One set of places goes through a whole
 * encoder. What is not set stays as attn_places_init leaves it: absent. */

typedef struct attn_places {
    size_t size; /* sizeof(attn_places), set by the init function */
    attn_ragged batch;
    const int64_t *first;  /* position of each sequence's first row ([sequences]); NULL: 0 */
    attn_variable *source; /* cross-attention: what keys and values come from */
    attn_ragged source_batch;

    /* NULL, or who sees whom in attention, instead of the reach; its rows are those
     * of x. The edges then say everything, also where a sequence (here: one graph of
     * many) ends, and attention needs no batch. Everything else that mixes or
     * places rows does: positions, pooling a graph into one row, and mixers other than
     * attention and mean, which go by the order of the rows and do not look at the graph. */
    const attn_graph *graph;
    attn_variable *edges; /* features of the graph's edges, by edge number: edges x edge_columns of the
                             layer. Given exactly if the layer was made with edge_columns */

    /* NULL, or the grid of each sequence ([sequences]), for positions and mixers on grids: its rows are those
     * of the grid one after another, height * width of them. */
    const int64_t *heights, *widths;

    float *weights; /* NULL, or where the weights of the layer go (see attn_tape_attention) */
} attn_places;
ATTN_API void attn_places_init(attn_places *places);

/* ---- positions ---- */

typedef enum attn_position {
    ATTN_POSITION_NONE = 0,
    ATTN_POSITION_SINUSOIDAL = 1,   /* sin, cos of t / 10000^(2c/columns), added; any length */
    ATTN_POSITION_LEARNED = 2,      /* "name.table" (longest x columns), added */
    ATTN_POSITION_ONE_HOT = 3,      /* `longest` more columns, a 1 in column t */
    ATTN_POSITION_ROTARY = 4,       /* these three act inside attention: */
    ATTN_POSITION_ALIBI = 5,        /* - slope_h |i - j|, slopes 2^(-8 h / heads) */
    ATTN_POSITION_RELATIVE = 6,     /* a learned bias by distance: "name.relative" (heads x buckets) */
    ATTN_POSITION_GRID = 7,         /* rows of a grid (an image): the first half of the columns is the
                                       sinusoidal code of its row, the second that of its column, added */
    ATTN_POSITION_GRID_LEARNED = 8, /* "name.rows" and "name.columns" (longest x columns each), both added */
    ATTN_POSITION_GRID_RELATIVE = 9 /* inside attention: a learned bias by how far down and how far along:
                                       "name.relative" (heads x (2 farthest + 1)^2) */
} attn_position;

typedef struct attn_positions attn_positions;

/* longest: how many positions LEARNED and ONE_HOT have (a longer sequence is an
 * error), and how many rows and columns GRID_LEARNED (a larger grid is an error). GRID wants an even number
 * of columns. Kinds that act inside attention leave x as it is. */
ATTN_API attn_positions *attn_positions_create(attn_parameters *parameters, const char *name,
                                               attn_position kind, int64_t columns, int64_t longest);
/* Reads batch and first of the places; GRID and GRID_LEARNED read batch, heights and widths, and a
 * sequence that has not height * width rows is an error (SHAPE_MISMATCH). */
ATTN_API attn_variable *attn_positions_apply(attn_tape *tape, const attn_positions *layer, attn_variable *x,
                                             const attn_places *places);

/* ---- multi-head attention ----
 *
 *     STANDARD   q, k, v = x W_q^T, x W_k^T, x W_v^T, split into heads; the heads side by side
 *                are mapped by W_o. "name.input" holds W_q, W_k, W_v one below the other
 *                (for a source of its own "name.query" and "name.source": W_k, W_v), "name.output" W_o
 *     NARROW     x is split into heads, then each piece is projected by itself:
 *                "name.head.H.input"
 *     WIDE       as STANDARD, each head as wide as x
 *     RAW        no projections at all: q = k = v = x split into heads, and no W_o
 *     SHARED     as graph attention networks have it: keys are values, and there is no W_o, the heads
 *                side by side are the result (heads * head_width columns). "name.input" holds W_q and
 *                W_kv one below the other; for GAT and the score NONE it is one map, q = k = v = x W^T
 *
 * The score ADDITIVE adds "name.score" (heads x width), GATV2 too, GAT also
 * "name.key_score"; the score NONE learns one weight a pair of positions,
 * "name.fixed" (heads x longest x longest), independent of the input. With
 * `uniform` it learns none: a row is the mean of the values of all that it sees.
 *
 * Edge features. With edge_columns > 0 the layer is for graphs, and maps the
 * features of every edge (places->edges) to what the operator takes for it:
 *
 *     ATTN_EDGE_SCORE   "name.edge.score.weight" (heads x edge_columns): added to the score
 *     ATTN_EDGE_KEY     "name.edge.key.weight" (heads * head_width x edge_columns): added to the key
 *     ATTN_EDGE_VALUE   "name.edge.value.weight" (the same): added to the value
 *
 * GAT has no place for ATTN_EDGE_KEY, uniform weights for nothing but ATTN_EDGE_VALUE, fixed weights (the
 * score NONE) and RAW heads for none of them. */

typedef enum attn_heads_form {
    ATTN_HEADS_STANDARD = 0,
    ATTN_HEADS_NARROW = 1,
    ATTN_HEADS_WIDE = 2,
    ATTN_HEADS_RAW = 3,
    ATTN_HEADS_SHARED = 4
} attn_heads_form;

typedef enum attn_edge_term { ATTN_EDGE_SCORE = 1, ATTN_EDGE_KEY = 2, ATTN_EDGE_VALUE = 4 } attn_edge_term;

typedef struct attn_multihead_options {
    size_t size; /* sizeof(attn_multihead_options), set by the init function */
    int64_t columns;
    int64_t source_columns; /* 0: self-attention; else keys and values come from a source of this width */
    int64_t heads;
    int64_t kv_heads;   /* 0: heads; fewer is grouped-query attention */
    int64_t head_width; /* 0: columns / heads (WIDE: columns) */
    attn_heads_form form;
    int with_bias;
    float output_scale; /* how W_o starts: XAVIER times this; 1 after init */
    attn_score score;
    attn_weighting weighting;
    int average;
    float scale, softcap, leaky_slope; /* as in attn_attention_options */
    float dropout;                     /* of the weights */
    int64_t left, right;               /* reach, as in attn_pattern */
    attn_position position;            /* NONE, ROTARY, ALIBI, RELATIVE or GRID_RELATIVE */
    float rotary_base;                 /* 10000 after init */
    int64_t buckets, farthest; /* of RELATIVE: 32 and 128 after init. Half of the buckets for each side;
                                  half of those for one distance each, the rest in logarithmic steps
                                  up to `farthest`. buckets 0: one for each distance up to farthest.
                                  GRID_RELATIVE: farther down or along than farthest counts as farthest */
    int64_t longest;           /* of the score NONE */
    int64_t edge_columns;      /* 0: no edge features; else how many an edge has */
    unsigned edge_terms;       /* which of attn_edge_term; 0: all that the score has a place for */
    int uniform; /* not 0, with the score NONE, softmax and no position: the mean of what is seen */
} attn_multihead_options;
ATTN_API void attn_multihead_options_init(attn_multihead_options *options); /* 64 columns, 4 heads, biases */

typedef struct attn_multihead attn_multihead;
ATTN_API attn_multihead *attn_multihead_create(attn_parameters *parameters, const char *name,
                                               const attn_multihead_options *options);

ATTN_API attn_variable *attn_multihead_apply(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                             const attn_places *places);

/* ---- feed-forward: act(x W_1^T + b_1) W_2^T + b_2; gated: (act(x W_1^T) * x W_g^T) W_2^T ----
 *
 * "name.input" (gated: W_1 above W_g), "name.output". */

typedef struct attn_feedforward attn_feedforward;
ATTN_API attn_feedforward *attn_feedforward_create(attn_parameters *parameters, const char *name,
                                                   int64_t columns, int64_t inner, attn_activation activation,
                                                   int gated, int with_bias, float output_scale);
ATTN_API attn_variable *attn_feedforward_apply(attn_tape *tape, const attn_feedforward *layer,
                                               attn_variable *x);

/* ---- mixers: what lets the rows of a sequence see each other ----
 *
 * Five kinds behind one interface: rows x columns in, rows x out out, the rows
 * of a sequence mixed with each other and with no others.
 *
 * MEAN is attention whose weights are all alike, over the edges of a graph or what
 * the reach of a sequence lets a row see: with its maps W_o mean_j (W_v x_j), in the
 * form of the heads (RAW: the mean alone), without position. Of attention's options
 * it reads heads, head_width, form, with_bias, dropout, left, right, edge_columns. */

typedef enum attn_mixer_kind {
    ATTN_MIXER_ATTENTION = 0,
    ATTN_MIXER_RNN = 1,
    ATTN_MIXER_CNN = 2,
    ATTN_MIXER_FC = 3,  /* one linear map of the rows in a window, side by side */
    ATTN_MIXER_MEAN = 4 /* attention with uniform weights */
} attn_mixer_kind;

typedef struct attn_mixer_options {
    size_t size; /* sizeof(attn_mixer_options), set by the init function */
    attn_mixer_kind kind;
    int64_t columns;
    int causal; /* not 0: no row sees a later one */

    attn_multihead_options attention; /* columns and, if causal, right are filled in */

    attn_recurrence recurrence; /* LSTM after init */
    int directions;             /* 2 after init; causal: 1 */
    int64_t hidden;             /* of one direction; 0: columns / directions */

    int64_t width;    /* of CNN and FC: rows seen; 5 after init (causal: all of them at or before i) */
    int64_t dilation; /* of CNN; 1 after init */
    attn_activation activation; /* of CNN and FC; RELU after init */
    int grid; /* not 0: CNN and FC see the square of width x width rows around a row of its sequence's grid
                 (places.heights and widths), and "name.weight" is columns x (width * width) x columns; not
                 with causal. The other kinds do not look at it */
} attn_mixer_options;
ATTN_API void attn_mixer_options_init(attn_mixer_options *options);

typedef struct attn_mixer attn_mixer;
ATTN_API attn_mixer *attn_mixer_create(attn_parameters *parameters, const char *name,
                                       const attn_mixer_options *options);
ATTN_API attn_variable *attn_mixer_apply(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                         const attn_places *places);
ATTN_API int64_t attn_mixer_columns(const attn_mixer *mixer); /* of its result */

/* A sequence that comes row by row: the state keeps what later rows need of the
 * earlier ones (keys and values; h and c of an RNN; the last rows of a window),
 * and a step takes the next k >= 1 rows and gives their k results, equal up to
 * rounding to what attn_mixer_apply gives for them in the whole sequence. For
 * mixers that never look ahead: causal ones, and attention with right = 0, an
 * RNN of one direction. One sequence; k may change from step to step.
 *
 * context: whose memory it is and who has the text of an error; it and the mixer
 * outlive the state. room: the most rows of the sequence; attention allocates
 * memory for all of them here, no step does. *state is untouched on failure.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (the mixer looks ahead: the text says
 * how), OUT_OF_MEMORY. */
typedef struct attn_mixer_state attn_mixer_state;
ATTN_API attn_status attn_mixer_state_create(attn_context *context, const attn_mixer *mixer, int64_t room,
                                             attn_mixer_state **state);
ATTN_API void attn_mixer_state_destroy(attn_mixer_state *state);       /* NULL is allowed */
ATTN_API void attn_mixer_state_clear(attn_mixer_state *state);         /* a new sequence begins */
ATTN_API int64_t attn_mixer_state_rows(const attn_mixer_state *state); /* so far */

/* x: k x columns. The tape predicts (ATTN_TAPE_PREDICT); its context may be
 * another than the state's. More rows than there is room for are an error that
 * leaves the state as it was; after an error on the way (no memory) the state
 * must be cleared before the next step. */
ATTN_API attn_variable *attn_mixer_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                                        attn_variable *x);

/* ---- block: a mixer and a feed-forward, with norms, residuals and dropout ----
 *
 *     pre-norm    x = x + drop(mix(norm_1(x)));   x = x + drop(feed(norm_2(x)))
 *     post-norm   x = norm_1(x + drop(mix(x)));   x = norm_2(x + drop(feed(x)))
 *
 * Without residual: x = norm_1(drop(mix(x))), and so on. mixed_activation stands
 * around mix: the place of the activation in networks whose layers are a mixer alone,
 * as graph attention networks have them. */

typedef struct attn_block_options {
    size_t size; /* sizeof(attn_block_options), set by the init function */
    attn_mixer_options mixer;
    int64_t inner; /* width of the feed-forward; 0: none */
    attn_activation activation;
    int gated;
    attn_norm_kind norm;
    int norm_first; /* 1 after init: pre-norm */
    int residual;   /* 1 after init */
    float dropout;
    float output_scale;               /* how the last map of each branch starts: XAVIER times this */
    float norm_epsilon;               /* 0: 1e-5 */
    attn_activation mixed_activation; /* of the mixer's result; IDENTITY after init */
} attn_block_options;
ATTN_API void attn_block_options_init(attn_block_options *options);

typedef struct attn_block attn_block;
ATTN_API attn_block *attn_block_create(attn_parameters *parameters, const char *name,
                                       const attn_block_options *options);
ATTN_API attn_variable *attn_block_apply(attn_tape *tape, const attn_block *block, attn_variable *x,
                                         const attn_places *places);
ATTN_API int64_t attn_block_columns(const attn_block *block); /* of its result */

ATTN_END_DECLS

#endif
