/* layers.h: layers, which are operations with their parameters.
 *
 * A layer is created once, from a set of parameters and a name. It adds its
 * parameters to the set under that name ("name.weight", ...) and belongs to the
 * set: there is no destroy function. Applying it records operations on a tape.
 *
 * Errors are sticky, as those of sets and tapes. A create function returns NULL
 * after an error, and attn_parameters_status(set) tells the first one; an apply
 * or step function returns NULL, and attn_tape_status(tape) tells it. A NULL
 * layer or variable from an earlier failure may be passed on. Errors of all
 * create functions:
 *
 *     INVALID_ARGUMENT   no name, or a name that the set has already; a width or a number below 1 (of
 *                        columns, heads, layers, positions); an unknown enum value; options that
 *                        contradict each other; options without init
 *     SHAPE_MISMATCH     a residual connection or a jump (attn/encoder.h) between different widths
 *     UNSUPPORTED        a combination that is not implemented; options of a newer caller
 *     OVERFLOW, OUT_OF_MEMORY
 *
 * and of all apply and step functions:
 *
 *     INVALID_ARGUMENT   a layer, x or places (attn_places below, which describes the batch) that is NULL;
 *                        a member of places that is NULL although the layer needs it, or is set although
 *                        the layer cannot use it; in a step, a tape in another mode than
 *                        ATTN_TAPE_PREDICT, or a state that is full or of another layer
 *     SHAPE_MISMATCH     x has other columns than the layer; a sequence longer than `longest`
 *     and those of the operations that the layer consists of (attn/operations.h)
 *
 * options may be NULL, which means the defaults; places may not.
 *
 * Threads. A layer does not change when it is applied: threads may apply one
 * layer under the rules for the parameters of a set (attn/parameters.h).
 *
 * Initial values, unless a layer says otherwise: weights of linear maps XAVIER
 * (attn_initial), biases 0, gains of norms 1.
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
/* with_bias 0: no bias. */
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
/* With epsilon 1e-5. */
ATTN_API attn_norm *attn_norm_create(attn_parameters *parameters, const char *name, attn_norm_kind kind,
                                     int64_t columns);
/* With a given epsilon (BERT's is 1e-12), not negative; 0: 1e-5. */
ATTN_API attn_norm *attn_norm_create_epsilon(attn_parameters *parameters, const char *name,
                                             attn_norm_kind kind, int64_t columns, float epsilon);
ATTN_API attn_variable *attn_norm_apply(attn_tape *tape, const attn_norm *layer, attn_variable *x);

/* ---- embedding: a row of "name.table" (entries x columns) for every id ----
 *
 * The table is initialised from a normal distribution with standard deviation
 * 1. */

typedef struct attn_embedding attn_embedding;
ATTN_API attn_embedding *attn_embedding_create(attn_parameters *parameters, const char *name, int64_t entries,
                                               int64_t columns);
ATTN_API attn_variable *attn_embedding_apply(attn_tape *tape, const attn_embedding *layer, const int32_t *ids,
                                             int64_t count);

/* ---- options inside of options ----
 *
 * A struct of options may contain another one, which can also grow at its end. The inner struct is in a union
 * with an array of bytes, whose size is below, so the members after the union do not move when the struct
 * grows. The union has no name: one writes options.mixer.attention.heads. */

enum { ATTN_MULTIHEAD_ROOM = 512, ATTN_MIXER_ROOM = 1024, ATTN_BLOCK_ROOM = 2048 };

/* ---- places: the batch that a layer is applied to ----
 *
 * The sequences that the rows of x form, and which rows may see which. One attn_places serves a whole
 * encoder. After attn_places_init all members are absent (0 or NULL); set those that the layer needs. A layer
 * reads them during the call, and copies offsets; graph and edges must stay valid until the next
 * attn_tape_begin. */

typedef struct attn_places {
    size_t size; /* sizeof(attn_places), set by the init function */
    attn_ragged batch;
    const int64_t *first;  /* position of each sequence's first row ([sequences]); NULL: 0 */
    attn_variable *source; /* cross-attention: the source of keys and values */
    attn_ragged source_batch;

    /* NULL, or a graph: the mixers ATTENTION and MEAN then mix a row with the rows that its edges lead to,
     * instead of the rows in reach. The graph's rows are those of x. If a batch has several graphs, no edge
     * leads from one to another, and these mixers need no `batch`. Positions, pooling and all other mixers
     * ignore the graph and need `batch`. */
    const attn_graph *graph;
    attn_variable *edges; /* features of the graph's edges, by edge number: edges x edge_columns of the layer.
                             Required if the layer has edge_columns, else NULL */

    /* NULL, or the size of each sequence's grid ([sequences]), for positions and mixers on grids: the rows of
     * the sequence are the cells of its grid line by line, height * width of them. */
    const int64_t *heights, *widths;

    float *weights; /* NULL, or where to write the weights of the layer (see attn_tape_attention) */
} attn_places;
ATTN_INIT(attn_places)

/* ---- positions ---- */

typedef enum attn_position {
    ATTN_POSITION_NONE = 0,
    ATTN_POSITION_SINUSOIDAL = 1,   /* sin, cos of t / 10000^(2c/columns), added; any length */
    ATTN_POSITION_LEARNED = 2,      /* "name.table" (longest x columns), added */
    ATTN_POSITION_ONE_HOT = 3,      /* appends `longest` columns to x: 1 in the t-th, else 0 */
    ATTN_POSITION_ROTARY = 4,       /* ROTARY, ALIBI and RELATIVE act inside attention */
    ATTN_POSITION_ALIBI = 5,        /* - slope_h |i - j|, slopes 2^(-8 h / heads) */
    ATTN_POSITION_RELATIVE = 6,     /* a learned bias by distance: "name.relative" (heads x buckets) */
    ATTN_POSITION_GRID = 7,         /* for the cells of a grid (an image): the first half of the columns of x
                                       gets the sinusoidal code of the cell's line, the second half that of
                                       its place in the line; added */
    ATTN_POSITION_GRID_LEARNED = 8, /* a table for the line, "name.rows", and one for the place in it,
                                       "name.columns" (longest x columns each); both added */
    ATTN_POSITION_GRID_RELATIVE = 9 /* inside attention: a learned bias by vertical and horizontal distance:
                                       "name.relative" (heads x (2 farthest + 1)^2) */
} attn_position;

typedef struct attn_positions attn_positions;

/* longest: the number of positions of LEARNED and ONE_HOT (a longer sequence is an error), and the largest
 * height and width of a grid for GRID_LEARNED (a larger one is an error). GRID needs an even number of
 * columns. Kinds that act inside attention do not change x. */
ATTN_API attn_positions *attn_positions_create(attn_parameters *parameters, const char *name,
                                               attn_position kind, int64_t columns, int64_t longest);
/* Reads places->batch and places->first; GRID and GRID_LEARNED read places->batch, heights and widths. Errors
 * also: SHAPE_MISMATCH (a sequence does not have height * width rows). */
ATTN_API attn_variable *attn_positions_apply(attn_tape *tape, const attn_positions *layer, attn_variable *x,
                                             const attn_places *places);

/* ---- multi-head attention ----
 *
 *     STANDARD   q, k, v = x W_q^T, x W_k^T, x W_v^T, split into heads; the results of the heads are
 *                concatenated and mapped by W_o ("name.output"). "name.input" holds W_q, W_k, W_v one below
 *                the other; with a source "name.query" holds W_q, and "name.source" W_k, W_v
 *     NARROW     x is split into heads, and each part is projected separately: "name.head.H.input"
 *     WIDE       as STANDARD, each head as wide as x
 *     RAW        no projections: q = k = v = x split into heads, and no W_o
 *     SHARED     as in graph attention networks: keys are values, and there is no W_o; the result is the
 *                concatenation of the heads (heads * head_width columns). "name.input" holds W_q and
 *                W_kv one below the other; for GAT and the score NONE it is one map, q = k = v = x W^T
 *
 * The scores ADDITIVE, GATV2 and GAT have a parameter "name.score" (heads x width), GAT also
 * "name.key_score". The score NONE learns one weight per pair of positions, "name.fixed" (heads x longest x
 * longest), independent of the input. With `uniform` it has no parameter: the result of a row is the mean of
 * the values that it sees.
 *
 * Edge features. With edge_columns > 0 the layer is for graphs, and maps the features of every edge
 * (places->edges) to these inputs of the operator:
 *
 *     ATTN_EDGE_SCORE   "name.edge.score.weight" (heads x edge_columns): added to the score
 *     ATTN_EDGE_KEY     "name.edge.key.weight" (heads * head_width x edge_columns): added to the key
 *     ATTN_EDGE_VALUE   "name.edge.value.weight" (the same): added to the value
 *
 * GAT does not support ATTN_EDGE_KEY. The score NONE with `uniform` supports only ATTN_EDGE_VALUE. The score
 * NONE without `uniform`, and RAW heads, support none of them. */

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
    float output_scale; /* initial values of W_o: XAVIER times this; 1 after init */
    attn_score score;
    attn_weighting weighting;
    int average;
    float scale, softcap, leaky_slope; /* as in attn_attention_options */
    float dropout;                     /* of the weights */
    int64_t left, right;               /* reach, as in attn_pattern */
    attn_position position;            /* NONE, ROTARY, ALIBI, RELATIVE or GRID_RELATIVE */
    float rotary_base;                 /* 10000 after init */
    int64_t buckets, farthest; /* of RELATIVE: 32 and 128 after init. Half of the buckets are for keys before
                                  the query, half for keys after it. On each side, half of the buckets have
                                  one distance each, and the others cover ranges of equal width in the
                                  logarithm of the distance, up to `farthest`. buckets 0: one for each
                                  distance up to farthest.
                                  GRID_RELATIVE: larger distances are clamped to farthest */
    int64_t longest;           /* of the score NONE */
    int64_t edge_columns;      /* number of features of an edge; 0: none */
    unsigned edge_terms;       /* which of attn_edge_term; 0: all that the score supports */
    int uniform; /* not 0, with the score NONE, softmax and no position: the mean of the rows seen */
} attn_multihead_options;
ATTN_INIT(attn_multihead_options) /* 64 columns, 4 heads, biases */

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

/* ---- mixers: layers that mix the rows of a sequence ----
 *
 * Five kinds behind one interface. Input: rows x columns, result: rows x attn_mixer_columns. Only rows of the
 * same sequence are mixed.
 *
 * MEAN is attention with uniform weights, over the edges of a graph or the rows in reach: W_o mean_j (W_v
 * x_j), or with RAW heads the mean of x_j alone. It has no positions. Of the options of attention it reads
 * heads, head_width, form, with_bias, dropout, left, right and edge_columns. */

typedef enum attn_mixer_kind {
    ATTN_MIXER_ATTENTION = 0,
    ATTN_MIXER_RNN = 1,
    ATTN_MIXER_CNN = 2,
    ATTN_MIXER_FC = 3,  /* one linear map of the concatenated rows of a window */
    ATTN_MIXER_MEAN = 4 /* attention with uniform weights */
} attn_mixer_kind;

typedef struct attn_mixer_options {
    size_t size; /* sizeof(attn_mixer_options), set by the init function */
    attn_mixer_kind kind;
    int64_t columns;
    int causal; /* not 0: no row sees a later one */

    union {
        attn_multihead_options attention; /* the mixer sets `columns`; if causal, also `right` */
        unsigned char attention_room[ATTN_MULTIHEAD_ROOM];
    };

    attn_recurrence recurrence; /* LSTM after init */
    int directions;             /* 2 after init; if causal it is 1, whatever is set */
    int64_t hidden;             /* of one direction; 0: columns / directions */

    int64_t width;    /* of CNN and FC: rows seen; 5 after init (causal: row i and those before it) */
    int64_t dilation; /* of CNN; 1 after init */
    attn_activation activation; /* of CNN and FC; RELU after init */
    int grid; /* not 0: the rows of a sequence are the cells of a grid (places.heights and widths); CNN and FC
                 see the square of width x width cells around a cell, and "name.weight" is columns x (width *
                 width) x columns; not with causal. Other kinds ignore it */
} attn_mixer_options;
ATTN_INIT(attn_mixer_options)

typedef struct attn_mixer attn_mixer;
ATTN_API attn_mixer *attn_mixer_create(attn_parameters *parameters, const char *name,
                                       const attn_mixer_options *options);
ATTN_API attn_variable *attn_mixer_apply(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                         const attn_places *places);
ATTN_API int64_t attn_mixer_columns(const attn_mixer *mixer); /* of its result */

/* Incremental evaluation of one sequence. The state keeps what later rows need
 * from earlier ones (keys and values; h and c of an RNN; the last rows of a
 * window). A step takes the next k >= 1 rows and gives their k results, equal
 * up to rounding to those of attn_mixer_apply for the whole sequence. k may
 * differ from step to step. Only for mixers that do not look ahead: causal
 * ones, attention with right = 0, an RNN of one direction.
 *
 * context: it gives the state its memory, and keeps the message if this call
 * fails; context and mixer must outlive the state. room: the largest number of
 * rows of the sequence. Attention allocates the memory for all of them in this
 * call, and none in steps. *state is untouched on failure. A state is used by
 * one thread at a time. Errors: INVALID_ARGUMENT (NULL, room below 1),
 * UNSUPPORTED (the mixer looks ahead, or needs a grid or features of edges; the
 * message says which), OUT_OF_MEMORY. */
typedef struct attn_mixer_state attn_mixer_state;
ATTN_API attn_status attn_mixer_state_create(attn_context *context, const attn_mixer *mixer, int64_t room,
                                             attn_mixer_state **state);
ATTN_API void attn_mixer_state_destroy(attn_mixer_state *state);       /* NULL is allowed */
ATTN_API void attn_mixer_state_clear(attn_mixer_state *state);         /* a new sequence begins */
ATTN_API int64_t attn_mixer_state_rows(const attn_mixer_state *state); /* so far */

/* x: k x columns. The tape's mode must be ATTN_TAPE_PREDICT; its context may
 * differ from the state's. INVALID_ARGUMENT, and SHAPE_MISMATCH because of the
 * shape of x, leave the state unchanged. After any other error (OUT_OF_MEMORY;
 * more rows than `longest` of the score NONE) the state must be cleared before
 * the next step. */
ATTN_API attn_variable *attn_mixer_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                                        attn_variable *x);

/* ---- block: a mixer and a feed-forward, with norms, residuals and dropout ----
 *
 *     pre-norm    x = x + drop(mix(norm_1(x)));   x = x + drop(feed(norm_2(x)))
 *     post-norm   x = norm_1(x + drop(mix(x)));   x = norm_2(x + drop(feed(x)))
 *
 * Without residual, the terms "x +" are left out. mixed_activation is applied to the result of mix; it is for
 * networks whose layers consist of a mixer alone, such as graph attention networks. */

typedef struct attn_block_options {
    size_t size; /* sizeof(attn_block_options), set by the init function */
    union {
        attn_mixer_options mixer;
        unsigned char mixer_room[ATTN_MIXER_ROOM];
    };
    int64_t inner; /* width of the feed-forward; 0: none */
    attn_activation activation;
    int gated;
    attn_norm_kind norm;
    int norm_first; /* 1 after init: pre-norm */
    int residual;   /* 1 after init */
    float dropout;
    float output_scale;               /* initial values of the last map of each branch: XAVIER times this */
    float norm_epsilon;               /* 0: 1e-5 */
    attn_activation mixed_activation; /* of the mixer's result; IDENTITY after init */
} attn_block_options;
ATTN_INIT(attn_block_options)

typedef struct attn_block attn_block;
ATTN_API attn_block *attn_block_create(attn_parameters *parameters, const char *name,
                                       const attn_block_options *options);
ATTN_API attn_variable *attn_block_apply(attn_tape *tape, const attn_block *block, attn_variable *x,
                                         const attn_places *places);
ATTN_API int64_t attn_block_columns(const attn_block *block); /* of its result */

ATTN_END_DECLS

#endif
