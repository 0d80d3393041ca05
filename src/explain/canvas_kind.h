/* canvas_kind.h: what SVG and PNG each do for a canvas. */
#ifndef AT_EXPLAIN_CANVAS_KIND_H
#define AT_EXPLAIN_CANVAS_KIND_H

#include "explain/canvas.h"

enum { AT_CANVAS_FITS = 4 };

typedef struct at_canvas_kind {
    attn_status (*open)(at_canvas *canvas);
    void (*close)(at_canvas *canvas); /* after open failed, too */
    void (*rectangle)(at_canvas *canvas, double x, double y, double width, double height, unsigned fill,
                      double opacity);
    void (*frame)(at_canvas *canvas, double x, double y, double width, double height, unsigned line,
                  double thickness);
    void (*line)(at_canvas *canvas, double x0, double y0, double x1, double y1, double thickness,
                 unsigned color, double opacity);
    void (*circle)(at_canvas *canvas, double x, double y, double radius, unsigned fill, unsigned line,
                   double thickness);
    void (*polygon)(at_canvas *canvas, const double *points, int64_t count, unsigned fill, double opacity);
    void (*polyline)(at_canvas *canvas, const double *points, int64_t count, double thickness,
                     unsigned color);
    void (*picture)(at_canvas *canvas, double x, double y, double width, double height,
                    const unsigned char *rgb, int64_t rows, int64_t columns);
    void (*begin)(at_canvas *canvas, const char *tooltip);
    void (*end)(at_canvas *canvas);
    /* clean: UTF-8 without control characters; rtl: it begins with a letter that runs to the left. */
    void (*text)(at_canvas *canvas, double x, double y, double size, at_anchor anchor, double degrees,
                 unsigned color, int bold, const char *clean, int rtl);
    attn_status (*finish)(at_canvas *canvas, at_writer *writer);
} at_canvas_kind;

struct at_canvas {
    attn_context *context;
    const at_canvas_kind *kind;
    int dark;
    double scale, width, height;
    attn_status status; /* the first failure */
    at_writer title, description, clean, fits[AT_CANVAS_FITS];
    int next_fit;
    at_writer body;       /* SVG: the shapes */
    int64_t cells;        /* SVG: of pictures that are shapes */
    void *surface, *made; /* PNG: of Cairo */
    void *layout;         /* PNG: of Pango */
};

/* Lengths that no paper has are 0: libraries would draw for ever. */
static inline double at_length(double value) { return value > -1e6 && value < 1e6 ? value : 0; }

extern const at_canvas_kind at_canvas_svg, at_canvas_png;

/* The text as UTF-8 that can do no harm: what is no UTF-8 and control characters become U+FFFD, marks that
 * turn the direction are left out. */
void at_put_clean(at_writer *writer, const char *text);

#endif
