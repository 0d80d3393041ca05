/* explain.h: what an answer looks at: attention weights, and how much each row contributes.
 *
 *     attn_predictor_explain(predictor, dataset, NULL, &explanation);
 *     for (int64_t m = 0; m < attn_explanation_maps(explanation); m++) {
 *         const attn_map *map = attn_explanation_map(explanation, m);
 *         ... attn_map_weight(map, head, query, entry) ...
 *     }
 *     attn_explanation_write(explanation, &drawing, &bytes, &length);      an SVG, a PNG, a page, a table
 *
 * Weights are captured where attention computes them: by the same kernels, and the answer is the same to the
 * bit. An explanation is of one example (of a long one: of one piece that the model sees at once).
 *
 * What it shows. A weight says how much of a row's value went into another row in one head of one layer. It
 * does not say by itself why the answer is what it is: later layers, residual connections and other heads may
 * undo it. Contributions (gradient x input) say how the answer's score would change to first order if a row
 * were weakened. The two often disagree; neither is a proof.
 */
#ifndef ATTN_EXPLAIN_H
#define ATTN_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/model.h>
#include <attn/predictor.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_explanation attn_explanation;

typedef struct attn_explain_options {
    size_t size;     /* sizeof(attn_explain_options), set by the init function */
    int64_t example; /* of the prediction (raw text that is split: a sentence of it); 0 after init */
    int64_t piece;   /* of an example longer than the model's longest sequence; 0 after init */
    int member;      /* of an ensemble; -1 after init: the mean over all of them */
    int output;      /* of several target columns; 0 after init */
    int64_t row;     /* whose answer contributions are of, where every row has one; -1 after init: the sum of
                        all rows' scores */
    const char *label; /* contributions are to the score of this label; NULL: of the predicted one */
    int gradients;     /* 1 after init: contributions and the gradients of the weights are computed, too */
    int details;       /* 0 after init; 1: queries, keys and values are kept, for attn_explanation_steps */
} attn_explain_options;
ATTN_API void attn_explain_options_init(attn_explain_options *options);

/* Answers and explains one example. options NULL: the defaults. The settings of the predictor count (beam and
 * so on). The explanation may outlive the dataset; it is to be destroyed before the predictor. Errors:
 * INVALID_ARGUMENT (no such example, piece, member, output, row or label), OVERFLOW (more than 2^28 weights),
 * and those of attn_predictor_predict. */
ATTN_API attn_status attn_predictor_explain(attn_predictor *predictor, const attn_dataset *dataset,
                                            const attn_explain_options *options,
                                            attn_explanation **explanation);
ATTN_API void attn_explanation_destroy(attn_explanation *explanation); /* NULL is allowed */

/* ---- what was asked and answered ---- */

/* The prediction for the whole dataset, and which of its examples this is. It belongs to the explanation. */
ATTN_API const attn_prediction *attn_explanation_prediction(const attn_explanation *explanation);
ATTN_API int64_t attn_explanation_example(const attn_explanation *explanation);
/* Which piece of how many; its first row in the example. */
ATTN_API int64_t attn_explanation_pieces(const attn_explanation *explanation);
ATTN_API int64_t attn_explanation_first_row(const attn_explanation *explanation);
/* Rows at the end of the example that the model does not look at: it is longer than the model's longest, and
 * has one answer. */
ATTN_API int64_t attn_explanation_unseen(const attn_explanation *explanation);

/* Rows of the input by name (words, frames, nodes, atoms, ...), and what was written, where the answer is a
 * sequence of its own length or the text that follows. NULL and 0 out of range. */
ATTN_API int64_t attn_explanation_rows(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_row(const attn_explanation *explanation, int64_t row);
ATTN_API int64_t attn_explanation_written(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_symbol(const attn_explanation *explanation, int64_t symbol);
/* The answer for a row, where every row has one, else row 0: a label, a number as text, a text; and its
 * probability, NaN where there is none. */
ATTN_API int64_t attn_explanation_answers(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_answer(const attn_explanation *explanation, int64_t row);
ATTN_API double attn_explanation_probability(const attn_explanation *explanation, int64_t row);
/* The label or output that contributions are to: "NOUN", "positive", "solubility". */
ATTN_API const char *attn_explanation_target(const attn_explanation *explanation);

/* Whether rows are patches of a picture, row by row, and then how many there are of each. */
ATTN_API int attn_explanation_grid(const attn_explanation *explanation, int64_t *height, int64_t *width);

/* Gradient x input of each row: [rows]; their sum is the change of the score, to first order, if all rows
 * were scaled. NULL without options.gradients. */
ATTN_API const double *attn_explanation_contributions(const attn_explanation *explanation);

/* ---- weights ---- */

typedef enum attn_map_part {
    ATTN_MAP_ENCODER = 0, /* rows look at rows */
    ATTN_MAP_DECODER = 1, /* what is written looks at what was written before it */
    ATTN_MAP_SOURCE = 2,  /* what is written looks at rows: cross-attention, the alignment */
    ATTN_MAP_POOL = 3     /* the example's vector looks at rows: attention pooling */
} attn_map_part;

/* The weights of one layer. Query i has `width` entries; entry c is key first_key + i * key_step + c, and
 * lies outside the sequence if that is below 0 or not below keys (its weight is then 0). Full rows have width
 * = keys, first_key = key_step = 0. On a graph width is 0, and query i has the entries first[i] .. first[i +
 * 1] - 1, whose keys are in key_of. */
typedef struct attn_map {
    attn_map_part part;
    int64_t layer; /* of its part, from 0 */
    int64_t heads, queries, keys;
    int64_t width, first_key, key_step;
    const int64_t *first, *key_of; /* of a graph; else NULL */
    int64_t entries;               /* of one head: queries * width, or first[queries] */
    const float *weights;          /* [heads][entries] */
    const float *gradients;        /* [heads][entries]: d score / d weight; NULL: not computed */
} attn_map;
ATTN_API int64_t attn_explanation_maps(const attn_explanation *explanation);
ATTN_API const attn_map *attn_explanation_map(const attn_explanation *explanation, int64_t index);
/* "encoder", "decoder", "source", "pool". */
ATTN_API const char *attn_map_part_name(attn_map_part part);
/* How many layers of a part there are. */
ATTN_API int64_t attn_explanation_layers(const attn_explanation *explanation, attn_map_part part);

static inline int64_t attn_map_entries(const attn_map *map, int64_t query) {
    return map->first ? map->first[query + 1] - map->first[query] : map->width;
}
/* -1: outside. */
static inline int64_t attn_map_key(const attn_map *map, int64_t query, int64_t entry) {
    if (map->first) return map->key_of[map->first[query] + entry];
    int64_t key = map->first_key + query * map->key_step + entry;
    return key >= 0 && key < map->keys ? key : -1;
}
static inline int64_t attn_map_place(const attn_map *map, int64_t head, int64_t query, int64_t entry) {
    return head * map->entries + (map->first ? map->first[query] : query * map->width) + entry;
}
static inline float attn_map_weight(const attn_map *map, int64_t head, int64_t query, int64_t entry) {
    return map->weights[attn_map_place(map, head, query, entry)];
}

typedef enum attn_view {
    ATTN_VIEW_WEIGHTS = 0, /* of a head, or the mean over heads */
    ATTN_VIEW_ROLLOUT = 1, /* the product over the layers up to this one of (mean over heads + identity) / 2,
                              rows brought to sum 1: how much of each input row arrives, if every residual
                              connection carries half */
    ATTN_VIEW_GRADIENT = 2 /* weight x gradient: how much the score owes to a weight, to first order; the mean
                              over heads keeps only what is above 0 */
} attn_view;

/* A view as a dense matrix, queries x keys, in double. layer: of the part; head -1: the mean. ROLLOUT is of
 * the encoder or decoder alone, and head must be -1. numbers: [queries * keys], the caller's. Errors:
 * INVALID_ARGUMENT (no such map), UNSUPPORTED (no gradients), OVERFLOW (more than 2^27 numbers). */
ATTN_API attn_status attn_explanation_view(const attn_explanation *explanation, attn_view view,
                                           attn_map_part part, int64_t layer, int64_t head, double *numbers);

/* ---- files ---- */

typedef enum attn_drawing_format {
    ATTN_DRAWING_SVG = 0,
    ATTN_DRAWING_PNG = 1,  /* UNSUPPORTED if the library was built without Cairo and Pango */
    ATTN_DRAWING_HTML = 2, /* one page that needs no network */
    ATTN_DRAWING_TSV = 3,  /* part, layer, head, query, key, their names, weight: a line for every weight */
    ATTN_DRAWING_JSON = 4
} attn_drawing_format;

typedef struct attn_drawing_options {
    size_t size; /* sizeof(attn_drawing_options), set by the init function */
    attn_drawing_format format;
    attn_view view;
    int part;            /* an attn_map_part; -1 after init: SOURCE if there is one, else ENCODER, POOL */
    int64_t layer, head; /* -1 after init: the last layer, the mean over heads */
    int grid;            /* SVG, PNG: all layers and heads, small */
    int matrix;          /* SVG, PNG: the matrix, also where the kind of input has a drawing of its own */
    int64_t row;         /* whose weights a drawing of the input shows; -1 after init: the mean over all rows
                            (graphs, molecules: the edges themselves) */
    int64_t most;        /* nodes of a graph that are drawn; 60 after init: a larger one shows the
                            neighbourhood of `row` */
    uint64_t seed;       /* of the layout of a graph; 1 after init */
    int dark;            /* SVG, PNG: light on dark */
    double scale;        /* PNG: pixels a unit; 2 after init */
    const char *title;   /* NULL: the answer */
} attn_drawing_options;
ATTN_API void attn_drawing_options_init(attn_drawing_options *options);

/* *bytes, `length` of them and a 0, is good until the next call for this explanation, and until it is
 * destroyed. */
ATTN_API attn_status attn_explanation_write(attn_explanation *explanation,
                                            const attn_drawing_options *options, const char **bytes,
                                            size_t *length);

/* ---- every number of one row ----
 *
 * From the row's vector to its output in one head: q, k, v, q.k, scaled, biased and masked, softmax, weighted
 * sum, the heads side by side, W_o. For explanations made with options.details. */
typedef struct attn_steps_options {
    size_t size;         /* sizeof(attn_steps_options), set by the init function */
    int part;            /* an attn_map_part; -1 after init: as in attn_drawing_options */
    int64_t layer, head; /* 0 after init */
    int64_t row;         /* a query; 0 after init */
    int html;            /* a page with small coloured matrices and formulas, else text */
    int64_t width;       /* text: columns of the terminal; 80 after init */
    const char *title;   /* NULL: the answer */
} attn_steps_options;
ATTN_API void attn_steps_options_init(attn_steps_options *options);
/* As attn_explanation_write. Errors also: UNSUPPORTED (no details; a layer without scores of q and k). */
ATTN_API attn_status attn_explanation_steps(attn_explanation *explanation, const attn_steps_options *options,
                                            const char **bytes, size_t *length);

/* ---- positions ---- */

/* The position vectors of a model (added ones, learned or not, as positions x columns; rotary angles; the
 * bias by distance of each head), or, with model NULL, sinusoidal ones: as SVG, PNG, TSV or JSON. *bytes is
 * allocated and given back by attn_explain_release. Errors: UNSUPPORTED (the model has no positions). */
ATTN_API attn_status attn_positions_write(attn_context *context, const attn_model *model, int64_t positions,
                                          int64_t columns, const attn_drawing_options *options, char **bytes,
                                          size_t *length);
ATTN_API void attn_explain_release(attn_context *context, char *bytes); /* NULL is allowed */

ATTN_END_DECLS

#endif
