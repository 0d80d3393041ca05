/* explain.h: attention weights of a prediction, and the contribution of each row.
 *
 *     attn_predictor_explain(predictor, dataset, NULL, &explanation);
 *     for (int64_t m = 0; m < attn_explanation_maps(explanation); m++) {
 *         const attn_map *map = attn_explanation_map(explanation, m);
 *         printf("%f\n", attn_map_weight(map, 0, query, entry));          head 0
 *     }
 *     attn_explanation_write(explanation, &drawing, &bytes, &length);      an SVG, a PNG, a page, a table
 *
 * Weights are captured where attention computes them, by the same kernels, so the prediction has the same
 * bits. An explanation is for one example or, if the model processes the example in pieces, for one piece of
 * it.
 *
 * What it shows. A weight says how much of a row's value went into another row in one head of one layer. By
 * itself it does not explain the prediction: later layers, residual connections and other heads may cancel
 * it. Contributions (gradient x input) say how the explained output (a logit, a number, or the
 * log-probability of a sequence) would change to first order if a row were weakened. The two often disagree;
 * neither is a proof.
 *
 * An explanation is destroyed before its predictor, and used by one thread at a time.
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
    int64_t example; /* its number (for raw text that is split: the number of the sentence); 0 after init */
    int64_t piece;   /* of an example longer than the model's longest sequence; 0 after init */
    int member;      /* of an ensemble; -1 after init: the mean over all members */
    int output;      /* of several target columns; 0 after init */
    int64_t row; /* the row whose prediction is explained, if every row has one; -1 after init: the sum over
                    all rows */
    const char *label; /* contributions are to this label; NULL: to the predicted one */
    int gradients;     /* 1: also compute contributions and the gradients of the weights; 1 after init */
    int details;       /* 1: keep queries, keys and values for attn_explanation_steps; 0 after init */
} attn_explain_options;
ATTN_INIT(attn_explain_options)

/* Predicts for a dataset and explains one example. options NULL: the defaults. The predictor's settings apply
 * (beam and so on). The explanation may outlive the dataset. Errors: INVALID_ARGUMENT (NULL, or no such
 * example, piece, member, output, row or label), OVERFLOW (more than 2^28 weights), and those of
 * attn_predictor_predict.
 */
ATTN_API attn_status attn_predictor_explain(attn_predictor *predictor, const attn_dataset *dataset,
                                            const attn_explain_options *options,
                                            attn_explanation **explanation);
ATTN_API void attn_explanation_destroy(attn_explanation *explanation); /* NULL is allowed */

/* ---- the example and its prediction ---- */

/* The prediction for the whole dataset, which belongs to the explanation, and the number of the explained
 * example. */
ATTN_API const attn_prediction *attn_explanation_prediction(const attn_explanation *explanation);
ATTN_API int64_t attn_explanation_example(const attn_explanation *explanation);
/* The number of pieces of the example, and the first row of the explained one. */
ATTN_API int64_t attn_explanation_pieces(const attn_explanation *explanation);
ATTN_API int64_t attn_explanation_first_row(const attn_explanation *explanation);
/* The number of rows at the end of the example that the model did not process, because the example was
 * truncated to attn_model_most. */
ATTN_API int64_t attn_explanation_unseen(const attn_explanation *explanation);

/* The rows of the input by name (words, frames, nodes, atoms, ...), and the symbols that were generated, if
 * the prediction is a sequence or the continuation of a text. */
ATTN_API int64_t attn_explanation_rows(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_row(const attn_explanation *explanation, int64_t row);
ATTN_API int64_t attn_explanation_written(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_symbol(const attn_explanation *explanation, int64_t symbol);
/* The predictions of the example: one per row, or a single one, which is that of row 0. answer: a label, a
 * number as text, or a text. probability: its probability, NaN if there is none. */
ATTN_API int64_t attn_explanation_answers(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_answer(const attn_explanation *explanation, int64_t row);
ATTN_API double attn_explanation_probability(const attn_explanation *explanation, int64_t row);
/* The label or output that is explained: "NOUN", "positive", "solubility". */
ATTN_API const char *attn_explanation_target(const attn_explanation *explanation);

/* 1 if the rows are the patches of an image, line by line: *height lines of *width patches. 0 if not; if one
 * of the pointers is NULL, 0 as well. */
ATTN_API int attn_explanation_grid(const attn_explanation *explanation, int64_t *height, int64_t *width);

/* Gradient x input of each row: [rows]. If all rows are scaled by 1 + e, the explained output changes by e
 * times the sum of the contributions, to first order. NULL without options.gradients. */
ATTN_API const double *attn_explanation_contributions(const attn_explanation *explanation);

/* ---- weights ---- */

typedef enum attn_map_part {
    ATTN_MAP_ENCODER = 0, /* rows attend to rows */
    ATTN_MAP_DECODER = 1, /* generated symbols attend to earlier ones */
    ATTN_MAP_SOURCE = 2,  /* generated symbols attend to rows: cross-attention, the alignment */
    ATTN_MAP_POOL = 3     /* the example's vector attends to rows: attention pooling */
} attn_map_part;

/* The weights of one layer. Query i has `width` entries; entry c is key first_key + i * key_step + c, which
 * is outside the sequence if it is below 0 or at least `keys` (its weight is then 0). Full rows have width =
 * keys, first_key = key_step = 0. On a graph width is 0, and query i has the entries first[i] .. first[i + 1]
 * - 1, whose keys are in key_of. The memory is the library's; the struct may grow at its end. */
typedef struct attn_map {
    attn_map_part part;
    int64_t layer; /* of its part, from 0 */
    int64_t heads, queries, keys;
    int64_t width, first_key, key_step;
    const int64_t *first, *key_of; /* of a graph; else NULL */
    int64_t entries;               /* of one head: queries * width, or first[queries] */
    const float *weights;          /* [heads][entries] */
    const float *gradients;        /* [heads][entries]: d output / d weight; NULL: not computed */
} attn_map;
ATTN_API int64_t attn_explanation_maps(const attn_explanation *explanation);
ATTN_API const attn_map *attn_explanation_map(const attn_explanation *explanation, int64_t index);
/* "encoder", "decoder", "source", "pool". */
ATTN_API const char *attn_map_part_name(attn_map_part part);
/* The number of layers of a part. */
ATTN_API int64_t attn_explanation_layers(const attn_explanation *explanation, attn_map_part part);

/* Of a map: the number of entries of a query; the key of an entry, -1 if it is outside the sequence; the
 * index of an entry in weights and gradients; its weight. query, head and entry must be in range, which is
 * not checked. For NULL they return 0, and the key -1. */
static inline int64_t attn_map_entries(const attn_map *map, int64_t query) {
    if (!map) return 0;
    return map->first ? map->first[query + 1] - map->first[query] : map->width;
}
static inline int64_t attn_map_key(const attn_map *map, int64_t query, int64_t entry) {
    if (!map) return -1;
    if (map->first) return map->key_of[map->first[query] + entry];
    int64_t key = map->first_key + query * map->key_step + entry;
    return key >= 0 && key < map->keys ? key : -1;
}
static inline int64_t attn_map_place(const attn_map *map, int64_t head, int64_t query, int64_t entry) {
    if (!map) return 0;
    return head * map->entries + (map->first ? map->first[query] : query * map->width) + entry;
}
static inline float attn_map_weight(const attn_map *map, int64_t head, int64_t query, int64_t entry) {
    if (!map) return 0;
    return map->weights[attn_map_place(map, head, query, entry)];
}

typedef enum attn_view {
    ATTN_VIEW_WEIGHTS = 0, /* of a head, or the mean over heads */
    ATTN_VIEW_ROLLOUT = 1, /* the product over the layers up to this one of (mean over heads + identity) / 2,
                              with rows normalised to sum 1: how much of each input row arrives, if every
                              residual connection carries half */
    ATTN_VIEW_GRADIENT = 2 /* weight x gradient: the contribution of a weight to the explained output, to
                              first order; the mean over heads ignores negative values */
} attn_view;

/* Writes a view as a dense matrix, queries x keys, to numbers[queries * keys]. layer: of the part; head -1:
 * the mean over heads. ROLLOUT exists for the encoder and the decoder only, with head -1. Errors:
 * INVALID_ARGUMENT (NULL, or no such map), UNSUPPORTED (no gradients), OVERFLOW (more than 2^27 numbers),
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_explanation_view(const attn_explanation *explanation, attn_view view,
                                           attn_map_part part, int64_t layer, int64_t head, double *numbers);

/* ---- files ---- */

typedef enum attn_drawing_format {
    ATTN_DRAWING_SVG = 0,
    ATTN_DRAWING_PNG = 1,  /* UNSUPPORTED if the library was built without Cairo and Pango */
    ATTN_DRAWING_HTML = 2, /* one self-contained page */
    ATTN_DRAWING_TSV = 3,  /* part, layer, head, query, key, their names, weight: one line per weight */
    ATTN_DRAWING_JSON = 4
} attn_drawing_format;

typedef struct attn_drawing_options {
    size_t size; /* sizeof(attn_drawing_options), set by the init function */
    attn_drawing_format format;
    attn_view view;
    int part;            /* an attn_map_part; -1 after init: SOURCE if it exists, else ENCODER, else POOL */
    int64_t layer, head; /* -1 after init: the last layer, the mean over heads */
    int grid;            /* not 0: all layers and heads, small (SVG, PNG) */
    int matrix;   /* not 0: the matrix, even if the kind of input has a drawing of its own (SVG, PNG) */
    int64_t row;  /* the row whose weights a drawing of the input shows; -1 after init: the mean over all rows
                     (graphs, molecules: the weights of the edges) */
    int64_t most; /* the largest number of nodes to draw; 60 after init. Of a graph with more nodes only the
                     neighbourhood of `row` is drawn (-1: of the explained row) */
    uint64_t seed;     /* of the layout of a graph; 1 after init */
    int dark;          /* not 0: light on dark (SVG, PNG) */
    double scale;      /* PNG: pixels per unit; 2 after init */
    const char *title; /* NULL: the prediction */
} attn_drawing_options;
ATTN_INIT(attn_drawing_options)

/* The explanation as a file. options NULL: the defaults. *bytes, `length` of them and a 0, is valid until the
 * next call with this explanation. Errors: INVALID_ARGUMENT (NULL, no such part, layer or head), UNSUPPORTED
 * (a format that this build cannot write, or that has nothing to draw), OUT_OF_MEMORY. */
ATTN_API attn_status attn_explanation_write(attn_explanation *explanation,
                                            const attn_drawing_options *options, const char **bytes,
                                            size_t *length);

/* ---- every number of one row ----
 *
 * From the row's vector to its output in one head: q, k, v, q.k, scaled, biased and masked scores, softmax,
 * weighted sum, concatenation of the heads, W_o. For explanations made with options.details. */
typedef struct attn_steps_options {
    size_t size;         /* sizeof(attn_steps_options), set by the init function */
    int part;            /* an attn_map_part; -1 after init: as in attn_drawing_options */
    int64_t layer, head; /* 0 after init */
    int64_t row;         /* the query; 0 after init */
    int html;            /* a page with small coloured matrices and formulas, else text */
    int64_t width;       /* text: columns of the terminal; 80 after init */
    const char *title;   /* NULL: the prediction */
} attn_steps_options;
ATTN_INIT(attn_steps_options)
/* *bytes as in attn_explanation_write. Errors: those of attn_explanation_write, and UNSUPPORTED (no details,
 * or a layer whose scores are not of q and k). */
ATTN_API attn_status attn_explanation_steps(attn_explanation *explanation, const attn_steps_options *options,
                                            const char **bytes, size_t *length);

/* ---- positions ---- */

/* Draws the position vectors of a model (added ones, learned or not, as positions x columns; rotary angles;
 * the bias by distance of each head), or, with model NULL, sinusoidal ones, as SVG, PNG, TSV or JSON. Release
 * *bytes with attn_explain_release. Errors: INVALID_ARGUMENT (NULL, a number out of range), UNSUPPORTED (the
 * model has no positions, or a format that this build cannot write), OUT_OF_MEMORY. */
ATTN_API attn_status attn_positions_write(attn_context *context, const attn_model *model, int64_t positions,
                                          int64_t columns, const attn_drawing_options *options, char **bytes,
                                          size_t *length);
ATTN_API void attn_explain_release(attn_context *context, char *bytes); /* NULL is allowed */

ATTN_END_DECLS

#endif
