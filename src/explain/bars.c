/* bars.c: contributions where there is no attention: signed bars beside the names of rows, or, of many rows,
 * the names one after another on coloured ground, as lines of text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/context.h"
#include "explain/drawing.h"

enum { BARS = 40, WORDS = 2000 };

static const char *legend_of(at_drawing *drawing) {
    at_drawing_compose(drawing);
    at_drawing_add(drawing, "contribution to ");
    if (drawing->explanation->target.count)
        at_drawing_add_name(
            drawing, at_text_fit(drawing->canvas, 11, at_string(&drawing->explanation->target, 0), 200));
    else
        at_drawing_add(drawing, "the prediction");
    at_drawing_add(drawing, " (gradient × input)");
    return at_drawing_composed(drawing);
}

static void draw_bar(at_drawing *drawing, double x, double y, double room, double share, double value) {
    at_canvas *canvas = drawing->canvas;
    char number[AT_NUMBER];
    double length = isfinite(share) ? fabs(share) * room : 0;
    at_canvas_rectangle(canvas, share < 0 ? x - length : x, y, length, 14,
                        at_canvas_signed(canvas, share < 0 ? -1 : 1), 0.85);
    at_canvas_text(canvas, share < 0 ? x - length - 4 : x + length + 4, y + 11, 10,
                   share < 0 ? AT_ANCHOR_END : AT_ANCHOR_START, 0, at_canvas_faint(canvas), 0,
                   at_number_short(number, value));
}

static void draw_bars(at_drawing *drawing, const double *values, int64_t rows, double most) {
    at_canvas *canvas = drawing->canvas;
    const at_strings *names = &drawing->explanation->rows;
    char number[AT_NUMBER];
    double widest = 0, below = 0, above = 0;
    for (int64_t r = 0; r < rows; r++) {
        double width = fmin(at_text_width(13, at_name_of(names, r, number)), 160);
        if (widest < width) widest = width;
        if (values[r] < 0) below = fmax(below, -values[r] / most);
        if (values[r] > 0) above = fmax(above, values[r] / most);
    }
    double room = 190, left = AT_MARGIN + widest + 10, axis = left + below * room + (below > 0 ? 40 : 0);
    for (int64_t r = 0; r < rows; r++) {
        double y = AT_HEADING + 4 + 20 * (double)r;
        at_canvas_text(canvas, AT_MARGIN + widest, y + 12, 13, AT_ANCHOR_END, 0, at_canvas_ink(canvas),
                       r == drawing->explanation->asked_row,
                       at_text_fit(canvas, 13, at_name_of(names, r, number), 160));
        draw_bar(drawing, axis, y, room, values[r] / most, values[r]);
    }
    double bottom = AT_HEADING + 4 + 20 * (double)rows;
    at_canvas_line(canvas, axis, AT_HEADING, axis, bottom, 0.75, at_canvas_faint(canvas), 1);
    at_drawing_use(drawing, axis + above * room + 44, bottom);
}

static void draw_words(at_drawing *drawing, const double *values, int64_t rows, double most) {
    at_canvas *canvas = drawing->canvas;
    const at_strings *names = &drawing->explanation->rows;
    char number[AT_NUMBER];
    double x = AT_MARGIN, y = AT_HEADING + 4, right = 620, size = 13;
    int64_t shown = rows < WORDS ? rows : WORDS;
    for (int64_t r = 0; r < shown; r++) {
        const char *name = at_text_fit(canvas, size, at_name_of(names, r, number), right - AT_MARGIN - 8);
        double width = at_text_width(size, name) + 8;
        if (x + width > right && x > AT_MARGIN) {
            x = AT_MARGIN;
            y += 24;
        }
        unsigned color = at_canvas_signed(canvas, values[r] / most);
        at_drawing_compose(drawing);
        at_drawing_add_name(drawing, name);
        at_drawing_add(drawing, ": ");
        at_drawing_add(drawing, at_number_short(number, values[r]));
        at_canvas_begin(canvas, at_drawing_composed(drawing));
        at_canvas_rectangle(canvas, x, y, width, 20, color, 1);
        at_canvas_text(canvas, x + width / 2, y + 15, size, AT_ANCHOR_MIDDLE, 0, at_canvas_readable(color), 0,
                       name);
        at_canvas_end(canvas);
        x += width + 2;
        at_drawing_use(drawing, x, y + 20);
    }
    if (shown == rows) return;
    snprintf(number, sizeof number, "and %" PRId64 " more", rows - shown);
    at_canvas_text(canvas, AT_MARGIN, y + 38, size, AT_ANCHOR_START, 0, at_canvas_faint(canvas), 0, number);
    at_drawing_use(drawing, right, y + 44);
}

attn_status at_draw_bars(at_drawing *drawing, at_writer *writer) {
    const attn_explanation *explanation = drawing->explanation;
    const double *values = explanation->contributions;
    int64_t rows = explanation->rows.count;
    attn_status status = ATTN_OK;
    if (!values)
        status = at_fail(drawing->context, ATTN_UNSUPPORTED,
                         "there is nothing to draw: the model has no attention, and contributions were not "
                         "computed (gradients)");
    if (status == ATTN_OK) {
        double most = at_most(values, rows);
        if (rows <= BARS)
            draw_bars(drawing, values, rows, most);
        else
            draw_words(drawing, values, rows, most);
        at_drawing_use(drawing, 0, AT_HEADING);
        at_drawing_legend(drawing, AT_MARGIN, drawing->bottom + 12, most, 1, legend_of(drawing));
    }
    return at_drawing_close(drawing, status, NULL, "How much each row contributes to the prediction.", writer);
}
