/* explain.h (private): what an explanation holds, and how its files are made of it.
 *
 *     explain.c    answers, captures, differentiates
 *     views.c      rollout (rollout.c), weight x gradient
 *     write.c      chooses the drawing; table.c: TSV and JSON
 *     canvas*.c    SVG and PNG; matrix.c, scene_*.c: the drawings; page.c: HTML
 */
#ifndef AT_EXPLAIN_EXPLAIN_H
#define AT_EXPLAIN_EXPLAIN_H

#include <attn/attention.h>
#include <attn/explain.h>

#include "data/strings.h"
#include "data/writer.h"
#include "inputs/scene.h"

/* One attention of the pass, for attn_explanation_steps: numbers of the host, contiguous. Of an ensemble they
 * are those of one network: options.member, or the first. */
typedef struct at_step_numbers {
    int64_t map; /* its number among the maps */
    int64_t heads, kv_heads, width, value_width, queries, keys;
    attn_score score;
    attn_weighting weighting;
    double scale;                        /* of q.k */
    float *query, *key, *value, *output; /* rows x (heads or kv_heads * width or value_width); queries and
                                            keys after rotation, if there is one */
    float *log_sum_exp;                  /* queries x heads: log weight + it is the score, bias included */
    float *weights;                      /* of this network: laid out as those of the map */
    /* The layer around it. NULL where it has none: raw heads, pooling. */
    int64_t columns, source_columns, result_columns;
    float *x, *source,
        *result; /* queries x columns; keys x source_columns (NULL: x); queries x result_columns */
    float *query_weight, *query_bias; /* (heads * width) x columns: W_q; NULL: projected in pieces */
    float *key_weight, *key_bias, *value_weight, *value_bias;
    float *output_weight, *output_bias; /* result_columns x (heads * value_width): W_o */
    int rotated;                        /* query and key are not x W^T + b alone: rotary positions */
    double softcap;                     /* 0: none; else scores are softcap * tanh(score / softcap) */
    int average;                        /* the other weightings are divided by the number of keys seen */
    int edge_values;                    /* values have a part of each edge, which is not kept */
} at_step_numbers;

struct attn_explanation {
    attn_context *context;
    at_strings kind, task; /* one string each: for headings and screen readers */
    at_strings row_unit;   /* what a row is called: "word", "atom" */
    attn_prediction *prediction;
    int64_t example, pieces, first_row, unseen;
    int member, members;                 /* member -1: the mean of all */
    at_strings rows, written, preceding; /* preceding: what a decoder's rows are given */
    at_strings answers;                  /* one per row, or one */
    double *probabilities;               /* of each; NaN: none */
    at_strings output;     /* one: what is answered, as the data calls it; none: it writes symbols */
    at_strings target;     /* one: the label or output that contributions are to */
    int64_t asked_row;     /* -1: all */
    double *contributions; /* [rows]; NULL: none */
    attn_map *maps;        /* weights, gradients, first and key_of are the explanation's own memory */
    int64_t map_count;
    at_scene scene;
    at_step_numbers *details;
    int64_t detail_count;
    at_writer bytes; /* of the last drawing */
};

/* The map of a part and layer; NULL: there is none. */
const attn_map *at_explanation_find(const attn_explanation *explanation, attn_map_part part, int64_t layer);
/* What a drawing of these options shows: the part and layer that -1 stands for; head stays -1 for the mean.
 * Errors: INVALID_ARGUMENT (there is no such part, layer or head; the model has no attention). */
attn_status at_drawing_choose(const attn_explanation *explanation, const attn_drawing_options *options,
                              attn_drawing_options *chosen);
/* The mean over heads: [entries]. One layer more of a rollout, `before` and `after` being rows x rows
 * (rollout.c). */
void at_mean_weights(const attn_map *map, float *mean);
void at_roll_out(const attn_map *map, const float *mean, const float *before, float *after);
/* Names along the axes of a map: those of queries and keys. */
const at_strings *at_query_names(const attn_explanation *explanation, const attn_map *map);
const at_strings *at_key_names(const attn_explanation *explanation, const attn_map *map);

/* The files; options are complete (at_drawing_choose). */
attn_status at_write_table(const attn_explanation *explanation, at_writer *writer); /* TSV */
attn_status at_write_json(const attn_explanation *explanation, at_writer *writer);
attn_status at_write_page(const attn_explanation *explanation, const attn_drawing_options *options,
                          at_writer *writer); /* HTML */
/* SVG and PNG: the matrix or the grid of matrices; contributions as bars where there is no attention. */
attn_status at_draw_matrices(const attn_explanation *explanation, const attn_drawing_options *options,
                             at_writer *writer);
/* SVG and PNG: the scene of the input with the weights over it. */
attn_status at_draw_scene(const attn_explanation *explanation, const attn_drawing_options *options,
                          at_writer *writer);

#endif
