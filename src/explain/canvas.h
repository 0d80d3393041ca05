/* canvas.h: shapes and text on a plane, as SVG or as PNG.
 *
 * Drawings are made once, by these calls, for both. SVG is written by hand: small, the same bytes everywhere,
 * with text as text. PNG is drawn by Cairo, with text by Pango, which knows all scripts and directions.
 * Lengths are in units (pixels of an SVG); y grows downwards. Colours are 0xRRGGBB.
 */
#ifndef AT_EXPLAIN_CANVAS_H
#define AT_EXPLAIN_CANVAS_H

#include <attn/explain.h>

#include "data/writer.h"

typedef struct at_canvas at_canvas;

/* format: ATTN_DRAWING_SVG or _PNG (UNSUPPORTED where the library was built without). The size can be told
 * later, before at_canvas_finish. dark: text, lines and the sequential colours are for a dark background. */
attn_status at_canvas_create(attn_context *context, attn_drawing_format format, int dark, double scale,
                             at_canvas **canvas);
void at_canvas_destroy(at_canvas *canvas); /* NULL is allowed */
void at_canvas_size(at_canvas *canvas, double width, double height);
/* The title of the drawing and what a screen reader says of it. */
void at_canvas_describe(at_canvas *canvas, const char *title, const char *description);
/* Appends the file. Errors that happened on the way are told here. */
attn_status at_canvas_finish(at_canvas *canvas, at_writer *writer);

/* ---- colours ---- */
unsigned at_canvas_background(const at_canvas *canvas), at_canvas_ink(const at_canvas *canvas),
    at_canvas_faint(const at_canvas *canvas),                 /* of axes and text that matters less */
    at_canvas_rule(const at_canvas *canvas);                  /* of thin lines that only part things */
unsigned at_canvas_mix(unsigned a, unsigned b, double share); /* share of b, 0 .. 1 */
/* 0 .. 1: background to dark blue; -1 .. 1: blue, background, red-brown. */
unsigned at_canvas_heat(const at_canvas *canvas, double heat);
unsigned at_canvas_signed(const at_canvas *canvas, double value);
unsigned at_canvas_readable(unsigned background); /* black or white: what reads better on it */
unsigned at_canvas_category(int64_t number);      /* one of eight, apart for all eyes */

/* ---- shapes ---- */
void at_canvas_rectangle(at_canvas *canvas, double x, double y, double width, double height, unsigned fill,
                         double opacity);
void at_canvas_frame(at_canvas *canvas, double x, double y, double width, double height, unsigned line,
                     double thickness);
void at_canvas_line(at_canvas *canvas, double x0, double y0, double x1, double y1, double thickness,
                    unsigned color, double opacity);
void at_canvas_circle(at_canvas *canvas, double x, double y, double radius, unsigned fill, unsigned line,
                      double thickness);
void at_canvas_polygon(at_canvas *canvas, const double *points, int64_t count, unsigned fill, double opacity);
void at_canvas_polyline(at_canvas *canvas, const double *points, int64_t count, double thickness,
                        unsigned color);
/* A picture of rows x columns colours, each a rectangle without seams: matrices, spectrograms, photographs.
 * rgb: [rows][columns][3]. In an SVG a path for each colour; an embedded PNG if it has more than 4,096 cells,
 * or all such pictures together more than 32,768. */
void at_canvas_picture(at_canvas *canvas, double x, double y, double width, double height,
                       const unsigned char *rgb, int64_t rows, int64_t columns);
/* What is told when one points at the shapes until the end of the group (SVG); text of anybody. */
void at_canvas_begin(at_canvas *canvas, const char *tooltip);
void at_canvas_end(at_canvas *canvas);

/* ---- text ---- */
/* Around a name in a longer text: its direction does not change that of the rest. In any text, those two are
 * kept where they are in pairs, and all other marks of direction are left out. */
#define AT_ISOLATE "\xe2\x81\xa8"
#define AT_ISOLATE_END "\xe2\x81\xa9"
typedef enum at_anchor { AT_ANCHOR_START, AT_ANCHOR_MIDDLE, AT_ANCHOR_END } at_anchor;
/* On the base line at x, y; turned by `degrees` around it. Text is anybody's: it is escaped, and control
 * characters are shown as such; right-to-left text is in its own direction, anchored as any other. */
void at_canvas_text(at_canvas *canvas, double x, double y, double size, at_anchor anchor, double degrees,
                    unsigned color, int bold, const char *text);
/* How wide a text is, about: by the width of its characters (wide ones, combining ones), the same for SVG and
 * PNG and on every machine. */
double at_text_width(double size, const char *text);
/* Cuts a text so that it is no wider, with "…" at its end; good until the next four calls. */
const char *at_text_fit(at_canvas *canvas, double size, const char *text, double width);

#endif
