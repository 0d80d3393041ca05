/* drawing.h: what all drawings of explanations share: heading, legends, axes, numbers as text, the weights
 * that are shown. */
#ifndef AT_EXPLAIN_DRAWING_H
#define AT_EXPLAIN_DRAWING_H

#include "explain/canvas.h"
#include "explain/explain.h"

enum { AT_NUMBER = 32, AT_HEADING = 56, AT_MARGIN = 16, AT_LEGEND = 44 }; /* units, but for the first */

typedef struct at_drawing {
    attn_context *context;
    const attn_explanation *explanation; /* NULL: of no example (positions) */
    const attn_drawing_options *options;
    at_canvas *canvas;
    const attn_map *map;  /* NULL: there is no attention */
    double right, bottom; /* of what has been drawn */
    at_writer text;       /* for texts that are put together */
    char note[96];        /* more for the subtitle */
} at_drawing;

/* Opens the canvas; options are complete. After a failure there is nothing to close. */
attn_status at_drawing_open(attn_context *context, const attn_explanation *explanation,
                            const attn_drawing_options *options, at_drawing *drawing);
/* What lies at x, y has to be on the paper. */
void at_drawing_use(at_drawing *drawing, double x, double y);
/* Draws title and subtitle above the rest, appends the file and closes, also if status is not OK, which it
 * then returns. description: for screen readers. subtitle NULL: that of the map. */
attn_status at_drawing_close(at_drawing *drawing, attn_status status, const char *subtitle,
                             const char *description, at_writer *writer);

/* Text that is put together: begin, add, then drawing->text.bytes. */
void at_drawing_compose(at_drawing *drawing);
void at_drawing_add(at_drawing *drawing, const char *text);
/* A name of the data, apart from its neighbours: its direction does not change theirs. */
void at_drawing_add_name(at_drawing *drawing, const char *name);
const char *at_drawing_composed(const at_drawing *drawing);

/* `decimals` digits after the point; the same in every locale. */
const char *at_number_fixed(char text[AT_NUMBER], double number, int decimals);
/* About three digits that count. */
const char *at_number_short(char text[AT_NUMBER], double number);
/* A step of 1, 2 or 5 times a power of ten, so that `span` has at most `most` of them; *decimals: how many
 * digits its multiples need. */
double at_nice_step(double span, int most, int *decimals);

/* A name of a list, or its number, from 1, where there is none. */
const char *at_name_of(const at_strings *names, int64_t i, char text[AT_NUMBER]);

/* The bar of colours with its numbers, at the left x and below y; label: what the numbers are. */
void at_drawing_legend(at_drawing *drawing, double x, double y, double most, int is_signed,
                       const char *label);
/* The same where colours go only so far (0 .. 1) towards their ends, because something is read on them. */
void at_drawing_legend_soft(at_drawing *drawing, double x, double y, double most, int is_signed,
                            double strength, const char *label);
/* What the colours of a map say, for a legend. */
const char *at_drawing_label(const at_drawing *drawing);
void at_put_rgb(unsigned char *to, unsigned color);

/* ---- the weights that are shown ---- */

typedef struct at_weights {
    attn_context *context;
    int64_t queries, keys;
    double *numbers; /* [queries][keys] */
    double most;     /* the largest, without its sign; 1 if all are 0 */
    int is_signed;
} at_weights;

attn_status at_weights_take(const at_drawing *drawing, int64_t layer, int64_t head, at_weights *weights);
void at_weights_free(at_weights *weights);
/* -1 .. 1: to be coloured. */
unsigned at_weights_color(const at_drawing *drawing, double number, double most, int is_signed);
/* What a query looks at, or, for row -1, the mean over queries: [keys], the context's. */
attn_status at_weights_row(const at_weights *weights, int64_t row, double **numbers);
double at_most(const double *numbers, int64_t count);

/* ---- the parts of a scene's drawing ---- */
attn_status at_scene_frames(at_drawing *drawing, at_writer *writer);
attn_status at_scene_grid(at_drawing *drawing, at_writer *writer);
attn_status at_scene_graph(at_drawing *drawing, at_writer *writer);
attn_status at_scene_molecule(at_drawing *drawing, at_writer *writer);
/* Contributions as bars, or as coloured words. */
attn_status at_draw_bars(at_drawing *drawing, at_writer *writer);

#endif
