/* scene_frames.c: a recording: segments of equal answers, the spectrogram, and below it, over the same time,
 * weights and contributions. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/drawing.h"

enum { WIDTH = 640, LEFT = 64, SPECTRUM = 150, SEGMENT = 24, CURVE = 64, LABELS = 96 };

typedef struct track {
    at_drawing *drawing;
    const at_scene *scene;
    double y;            /* where the next part begins */
    double top, per_row; /* of the spectrogram; units a row */
    double begin, step;  /* seconds of the left edge; a row */
    int timed;           /* 0: rows are counted, there are no seconds */
} track;

static double row_x(const track *t, double row) { return LEFT + t->per_row * row; }

/* ---- segments ---- */

static int same(const at_strings *labels, int64_t a, int64_t b) {
    return strcmp(at_string(labels, a), at_string(labels, b)) == 0;
}

static void draw_segment(const track *t, int64_t first, int64_t end, int number) {
    at_drawing *drawing = t->drawing;
    at_canvas *canvas = drawing->canvas;
    const char *label = at_string(&drawing->explanation->answers, first);
    char text[AT_NUMBER];
    double x = row_x(t, (double)first), width = row_x(t, (double)end) - x;
    at_drawing_compose(drawing);
    at_drawing_add_name(drawing, label);
    at_drawing_add(drawing, ": ");
    at_drawing_add(drawing, at_number_fixed(text, t->begin + t->step * (double)first, t->timed ? 2 : 0));
    at_drawing_add(drawing, " – ");
    at_drawing_add(drawing, at_number_fixed(text, t->begin + t->step * (double)end, t->timed ? 2 : 0));
    if (t->timed) at_drawing_add(drawing, " s");
    unsigned fill =
        at_canvas_mix(at_canvas_background(canvas), at_canvas_category(0), number % 2 ? 0.08 : 0.2);
    at_canvas_begin(canvas, at_drawing_composed(drawing));
    at_canvas_rectangle(canvas, x, t->y, width, SEGMENT, fill, 1);
    double size = 12;
    while (size > 8 && at_text_width(size, label) > width - 3) size -= 1;
    if (width >= 7 && at_text_width(size, label) <= fmax(width, 12))
        at_canvas_text(canvas, x + width / 2, t->y + SEGMENT / 2.0 + size * 0.36, size, AT_ANCHOR_MIDDLE, 0,
                       at_canvas_ink(canvas), 0, label);
    at_canvas_end(canvas);
}

static void draw_segments(track *t) {
    const at_strings *labels = &t->drawing->explanation->answers;
    at_canvas *canvas = t->drawing->canvas;
    int number = 0;
    for (int64_t first = 0, end; first < t->scene->rows; first = end, number++) {
        for (end = first + 1; end < t->scene->rows && same(labels, first, end);) end++;
        draw_segment(t, first, end, number);
        if (first == 0) continue;
        double x = row_x(t, (double)first);
        at_canvas_line(canvas, x, t->y, x, t->y + SEGMENT, 0.75, at_canvas_faint(canvas), 1);
    }
    at_canvas_frame(canvas, LEFT, t->y, WIDTH, SEGMENT, at_canvas_faint(canvas), 0.75);
    t->y += SEGMENT;
}

/* Boundaries continue through the spectrogram. */
static void draw_boundaries(const track *t) {
    const at_strings *labels = &t->drawing->explanation->answers;
    for (int64_t r = 1; r < t->scene->rows; r++) {
        if (same(labels, r - 1, r)) continue;
        double x = row_x(t, (double)r);
        at_canvas_line(t->drawing->canvas, x, t->top, x, t->top + SPECTRUM, 0.75, 0xd55e00, 0.65);
    }
}

/* ---- the spectrogram ---- */

static int compare(const void *a, const void *b) {
    float first = *(const float *)a, second = *(const float *)b;
    return (first > second) - (first < second);
}

/* What colours run from and to: a few values are louder or softer. */
static attn_status find_range(attn_context *context, const float *values, int64_t count, double *low,
                              double *high) {
    float *sorted = at_allocate(context, count, sizeof *sorted, "a spectrogram");
    if (!sorted) return ATTN_OUT_OF_MEMORY;
    int64_t finite = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i])) sorted[finite++] = values[i];
    qsort(sorted, (size_t)finite, sizeof *sorted, compare);
    *low = finite ? (double)sorted[finite / 50] : 0;
    *high = finite ? (double)sorted[finite - 1 - finite / 200] : 1;
    if (!(*high > *low)) *high = *low + 1;
    at_release(context, sorted);
    return ATTN_OK;
}

static attn_status draw_spectrum(track *t) {
    const at_scene *scene = t->scene;
    at_canvas *canvas = t->drawing->canvas;
    int64_t rows = at_scene_spectra(scene), bins = scene->bins;
    double low, high;
    unsigned char *rgb = at_allocate(t->drawing->context, rows * bins, 3, "a spectrogram");
    attn_status status =
        rgb ? find_range(t->drawing->context, scene->spectrum, rows * bins, &low, &high) : ATTN_OUT_OF_MEMORY;
    for (int64_t b = 0; status == ATTN_OK && b < bins; b++) {
        for (int64_t r = 0; r < rows; r++) {
            double share = ((double)scene->spectrum[r * bins + b] - low) / (high - low);
            at_put_rgb(rgb + 3 * ((bins - 1 - b) * rows + r), at_canvas_heat(canvas, share));
        }
    }
    t->top = t->y;
    if (status == ATTN_OK) at_canvas_picture(canvas, LEFT, t->y, WIDTH, SPECTRUM, rgb, bins, rows);
    at_canvas_frame(canvas, LEFT, t->y, WIDTH, SPECTRUM, at_canvas_faint(canvas), 0.75);
    at_release(t->drawing->context, rgb);
    char text[64];
    snprintf(text, sizeof text, "%" PRId64, bins);
    unsigned faint = at_canvas_faint(canvas);
    at_canvas_text(canvas, LEFT - 6, t->y + 10, 11, AT_ANCHOR_END, 0, faint, 0, text);
    at_canvas_text(canvas, LEFT - 6, t->y + SPECTRUM, 11, AT_ANCHOR_END, 0, faint, 0, "1");
    at_canvas_text(canvas, AT_MARGIN + 10, t->y + SPECTRUM / 2.0, 11, AT_ANCHOR_MIDDLE, -90, faint, 0,
                   "frequency bin");
    t->y += SPECTRUM;
    return status;
}

/* ---- curves ---- */

/* The area between the zero line and what is above it (sign 1) or below (-1). */
static attn_status draw_area(const track *t, const double *values, int sign, double zero, double unit,
                             unsigned color) {
    int64_t rows = t->scene->rows, count = 0;
    double *points = at_allocate(t->drawing->context, 4 * rows + 4, sizeof *points, "a curve");
    if (!points) return ATTN_OUT_OF_MEMORY;
    points[2 * count] = LEFT, points[2 * count++ + 1] = zero;
    for (int64_t r = 0; r < rows; r++) { /* steps: a row is as wide as in the spectrogram */
        double value = isfinite(values[r]) && values[r] * sign > 0 ? values[r] : 0;
        points[2 * count] = row_x(t, (double)r), points[2 * count++ + 1] = zero - value * unit;
        points[2 * count] = row_x(t, (double)r + 1), points[2 * count++ + 1] = zero - value * unit;
    }
    points[2 * count] = LEFT + WIDTH, points[2 * count++ + 1] = zero;
    at_canvas_polygon(t->drawing->canvas, points, count, color, 0.55);
    at_release(t->drawing->context, points);
    return ATTN_OK;
}

/* values: [rows]; the zero line is at the bottom, or, if some are below 0, where it has to be. */
static attn_status draw_curve(track *t, const double *values, unsigned color, unsigned below,
                              const char *label) {
    at_canvas *canvas = t->drawing->canvas;
    double most = 0, least = 0;
    for (int64_t r = 0; r < t->scene->rows; r++) {
        if (!isfinite(values[r])) continue;
        most = fmax(most, values[r]);
        least = fmin(least, values[r]);
    }
    if (!(most > least)) most = 1;
    double top = t->y + 10, unit = CURVE / (most - least), zero = top + most * unit;
    attn_status status = draw_area(t, values, 1, zero, unit, color);
    if (status == ATTN_OK && least < 0) status = draw_area(t, values, -1, zero, unit, below);
    char number[AT_NUMBER];
    unsigned faint = at_canvas_faint(canvas);
    at_canvas_line(canvas, LEFT, zero, LEFT + WIDTH, zero, 0.75, faint, 1);
    at_canvas_text(canvas, LEFT - 6, top + 8, 11, AT_ANCHOR_END, 0, faint, 0, at_number_short(number, most));
    if (least < 0 && zero < top + CURVE - 14 && zero > top + 14)
        at_canvas_text(canvas, LEFT - 6, zero + 4, 11, AT_ANCHOR_END, 0, faint, 0, "0");
    at_canvas_text(canvas, LEFT - 6, top + CURVE, 11, AT_ANCHOR_END, 0, faint, 0,
                   at_number_short(number, least));
    at_canvas_text(canvas, LEFT, top + CURVE + 16, 11, AT_ANCHOR_START, 0, at_canvas_ink(canvas), 0, label);
    t->y = top + CURVE + 20;
    return status;
}

/* An axis with seconds, or with the numbers of rows. */
static void draw_time(track *t) {
    at_canvas *canvas = t->drawing->canvas;
    unsigned faint = at_canvas_faint(canvas);
    double span = t->step * (double)t->scene->rows;
    int decimals;
    double step = at_nice_step(span, 10, &decimals);
    for (double tick = ceil(t->begin / step - 1e-9) * step; tick <= t->begin + span * (1 + 1e-9);
         tick += step) {
        char number[AT_NUMBER];
        double x = LEFT + (tick - t->begin) / span * WIDTH;
        at_canvas_line(canvas, x, t->y, x, t->y + 4, 0.75, faint, 1);
        at_canvas_text(canvas, x, t->y + 16, 11, AT_ANCHOR_MIDDLE, 0, faint, 0,
                       at_number_fixed(number, tick, decimals));
    }
    at_canvas_text(canvas, LEFT - 6, t->y + 16, 11, AT_ANCHOR_END, 0, faint, 0,
                   t->timed ? "seconds" : "frame");
    t->y += 22;
}

static attn_status draw_weights(track *t) {
    at_drawing *drawing = t->drawing;
    at_weights weights;
    double *row;
    char label[LABELS];
    attn_status status = at_weights_take(drawing, drawing->options->layer, drawing->options->head, &weights);
    if (status != ATTN_OK) return status;
    int64_t asked = drawing->options->row;
    status = at_weights_row(&weights, asked, &row);
    if (status == ATTN_OK) {
        const char *what = weights.is_signed ? "weight × gradient" : "attention weight";
        if (asked >= 0 && t->timed && weights.queries == t->scene->rows) {
            char number[AT_NUMBER];
            at_number_fixed(number, t->scene->begin + t->step * (double)asked, 2);
            snprintf(label, sizeof label, "%s of the frame at %s s", what, number);
        } else if (asked >= 0) {
            snprintf(label, sizeof label, "%s of row %" PRId64, what, asked + 1);
        } else {
            snprintf(label, sizeof label, "%s: how much a frame is looked at, mean", what);
        }
        status = draw_curve(t, row,
                            weights.is_signed ? at_canvas_signed(drawing->canvas, 1)
                                              : at_canvas_heat(drawing->canvas, 0.7),
                            at_canvas_signed(drawing->canvas, -1), label);
        if (asked >= 0 && weights.queries == t->scene->rows)
            at_canvas_line(drawing->canvas, row_x(t, (double)asked + 0.5), t->top,
                           row_x(t, (double)asked + 0.5), t->y - 20, 1.5, 0xd55e00, 1);
        at_release(drawing->context, row);
    }
    at_weights_free(&weights);
    return status;
}

attn_status at_scene_frames(at_drawing *drawing, at_writer *writer) {
    const at_scene *scene = &drawing->explanation->scene;
    track t = {.drawing = drawing, .scene = scene, .y = AT_HEADING + 4, .step = 1, .timed = scene->step > 0};
    if (t.timed) {
        t.step = scene->step;
        t.begin = scene->begin - scene->step / 2;
    }
    t.per_row = (double)WIDTH / (double)scene->rows;
    int every = drawing->explanation->answers.count == scene->rows;
    if (every) draw_segments(&t);
    attn_status status = scene->bins > 0 && scene->spectrum ? draw_spectrum(&t) : ATTN_OK;
    if (every) draw_boundaries(&t);
    if (status == ATTN_OK) draw_time(&t);
    if (status == ATTN_OK && drawing->map) status = draw_weights(&t);
    if (status == ATTN_OK && drawing->explanation->contributions) {
        at_drawing_compose(drawing);
        at_drawing_add(drawing, "contribution to ");
        at_drawing_add_name(
            drawing, drawing->explanation->target.count
                         ? at_text_fit(drawing->canvas, 11, at_string(&drawing->explanation->target, 0), 300)
                         : "the prediction");
        at_drawing_add(drawing, " (gradient × input)");
        status = draw_curve(&t, drawing->explanation->contributions, at_canvas_signed(drawing->canvas, 1),
                            at_canvas_signed(drawing->canvas, -1), at_drawing_composed(drawing));
    }
    at_drawing_use(drawing, LEFT + WIDTH, t.y);
    return at_drawing_close(drawing, status, NULL, "A spectrogram with the weights of attention over time.",
                            writer);
}
