/* canvas_png.c: a canvas as PNG, drawn by Cairo, text by Pango.
 *
 * Shapes are recorded and played back once the size is known. Without the two libraries PNG is refused with
 * the name of the package that has them.
 */
#include "base/context.h"
#include "explain/canvas_kind.h"

#ifdef AT_HAVE_PANGO

#include <math.h>
#include <pango/pangocairo.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

static cairo_t *pen(const at_canvas *canvas) { return canvas->made; }

/* Fonts of this canvas alone: Pango's own map would stay with the thread. */
static PangoLayout *make_layout(void) {
    PangoFontMap *fonts = pango_cairo_font_map_new();
    PangoContext *context = pango_font_map_create_context(fonts);
    PangoLayout *layout = pango_layout_new(context);
    cairo_font_options_t *options = cairo_font_options_create(); /* no snapping: letters stand as in an SVG */
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(context, options);
    cairo_font_options_destroy(options);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    g_object_unref(context);
    g_object_unref(fonts); /* the layout holds the one, which holds the other */
    return layout;
}

static attn_status open_png(at_canvas *canvas) {
    canvas->surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, NULL);
    canvas->made = cairo_create(canvas->surface);
    canvas->layout = make_layout();
    if (cairo_status(pen(canvas)) != CAIRO_STATUS_SUCCESS)
        return at_fail(canvas->context, ATTN_OUT_OF_MEMORY, "a drawing: %s",
                       cairo_status_to_string(cairo_status(pen(canvas))));
    return ATTN_OK;
}

static void close_png(at_canvas *canvas) {
    if (canvas->layout) g_object_unref(canvas->layout);
    if (canvas->made) cairo_destroy(pen(canvas));
    if (canvas->surface) cairo_surface_destroy(canvas->surface);
}

static void use_color(cairo_t *cairo, unsigned color, double opacity) {
    cairo_set_source_rgba(cairo, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0,
                          (color & 255) / 255.0, opacity);
}

static void rectangle(at_canvas *canvas, double x, double y, double width, double height, unsigned fill,
                      double opacity) {
    cairo_rectangle(pen(canvas), x, y, width, height);
    use_color(pen(canvas), fill, opacity);
    cairo_fill(pen(canvas));
}

static void stroke(at_canvas *canvas, unsigned color, double thickness, double opacity) {
    use_color(pen(canvas), color, opacity);
    cairo_set_line_width(pen(canvas), thickness);
    cairo_stroke(pen(canvas));
}

static void frame(at_canvas *canvas, double x, double y, double width, double height, unsigned line,
                  double thickness) {
    cairo_rectangle(pen(canvas), x, y, width, height);
    stroke(canvas, line, thickness, 1);
}

static void line(at_canvas *canvas, double x0, double y0, double x1, double y1, double thickness,
                 unsigned color, double opacity) {
    cairo_move_to(pen(canvas), x0, y0);
    cairo_line_to(pen(canvas), x1, y1);
    stroke(canvas, color, thickness, opacity);
}

static void circle(at_canvas *canvas, double x, double y, double radius, unsigned fill, unsigned edge,
                   double thickness) {
    cairo_new_sub_path(pen(canvas));
    cairo_arc(pen(canvas), x, y, radius, 0, 2 * 3.14159265358979323846);
    use_color(pen(canvas), fill, 1);
    if (thickness > 0) {
        cairo_fill_preserve(pen(canvas));
        stroke(canvas, edge, thickness, 1);
    } else {
        cairo_fill(pen(canvas));
    }
}

static void path(at_canvas *canvas, const double *points, int64_t count) {
    cairo_new_path(pen(canvas)); /* text leaves a point behind */
    for (int64_t i = 0; i < count; i++)
        cairo_line_to(pen(canvas), at_length(points[2 * i]), at_length(points[2 * i + 1]));
}

static void polygon(at_canvas *canvas, const double *points, int64_t count, unsigned fill, double opacity) {
    path(canvas, points, count);
    cairo_close_path(pen(canvas));
    use_color(pen(canvas), fill, opacity);
    cairo_fill(pen(canvas));
}

static void polyline(at_canvas *canvas, const double *points, int64_t count, double thickness,
                     unsigned color) {
    path(canvas, points, count);
    stroke(canvas, color, thickness, 1);
}

static void picture(at_canvas *canvas, double x, double y, double width, double height,
                    const unsigned char *rgb, int64_t rows, int64_t columns) {
    if (rows > 32767 || columns > 32767) {
        if (canvas->status == ATTN_OK)
            canvas->status = at_fail(canvas->context, ATTN_OVERFLOW,
                                     "a picture of %lld x %lld is too large to be drawn as PNG: use SVG",
                                     (long long)rows, (long long)columns);
        return;
    }
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)columns, (int)rows);
    unsigned char *bytes = cairo_image_surface_get_data(image);
    if (!bytes) {
        if (canvas->status == ATTN_OK)
            canvas->status = at_fail(canvas->context, ATTN_OUT_OF_MEMORY, "no memory for a picture");
        cairo_surface_destroy(image);
        return;
    }
    int stride = cairo_image_surface_get_stride(image);
    for (int64_t r = 0; r < rows; r++) {
        uint32_t *to = (uint32_t *)(void *)(bytes + r * stride);
        for (int64_t c = 0; c < columns; c++, rgb += 3)
            to[c] = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
    }
    cairo_surface_mark_dirty(image);
    cairo_save(pen(canvas));
    cairo_rectangle(pen(canvas), x, y, width, height);
    cairo_clip(pen(canvas));
    cairo_translate(pen(canvas), x, y);
    cairo_scale(pen(canvas), width / (double)columns, height / (double)rows);
    cairo_set_source_surface(pen(canvas), image, 0, 0);
    int large = (double)columns > 2 * width || (double)rows > 2 * height;
    cairo_pattern_set_filter(cairo_get_source(pen(canvas)), large ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(pen(canvas)), CAIRO_EXTEND_PAD);
    cairo_paint(pen(canvas));
    cairo_restore(pen(canvas));
    cairo_surface_destroy(image);
}

static void begin(at_canvas *canvas, const char *tooltip) {
    (void)canvas;
    (void)tooltip;
}

static void end(at_canvas *canvas) { (void)canvas; }

static void text(at_canvas *canvas, double x, double y, double size, at_anchor anchor, double degrees,
                 unsigned color, int bold, const char *clean, int rtl) {
    (void)rtl; /* Pango finds it by itself */
    cairo_t *cairo = pen(canvas);
    cairo_save(cairo);
    cairo_translate(cairo, x, y);
    cairo_rotate(cairo, degrees * 3.14159265358979323846 / 180);
    PangoLayout *layout = canvas->layout;
    PangoFontDescription *font = pango_font_description_from_string("DejaVu Sans, sans-serif");
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    if (bold) pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
    pango_cairo_update_layout(cairo, layout);
    pango_layout_set_font_description(layout, font);
    pango_layout_set_text(layout, clean, -1);
    PangoRectangle size_of;
    PangoLayoutLine *drawn = pango_layout_get_line_readonly(layout, 0);
    pango_layout_line_get_extents(drawn, NULL, &size_of);
    double width = (double)size_of.width / PANGO_SCALE;
    double before = anchor == AT_ANCHOR_START ? 0 : anchor == AT_ANCHOR_MIDDLE ? width / 2 : width;
    cairo_move_to(cairo, -before, 0);
    use_color(cairo, color, 1);
    pango_cairo_show_layout_line(cairo, drawn);
    pango_font_description_free(font);
    cairo_restore(cairo);
}

static cairo_status_t put_bytes(void *writer, const unsigned char *bytes, unsigned count) {
    at_put(writer, (const char *)bytes, count);
    return ((at_writer *)writer)->status == ATTN_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static attn_status finish(at_canvas *canvas, at_writer *writer) {
    double width = ceil(canvas->width * canvas->scale), height = ceil(canvas->height * canvas->scale);
    if (width > 32767 || height > 32767)
        return at_fail(canvas->context, ATTN_OVERFLOW,
                       "a PNG of %.0f x %.0f pixels is too large: use a smaller scale, or SVG", width,
                       height);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    cairo_t *cairo = cairo_create(image);
    use_color(cairo, at_canvas_background(canvas), 1);
    cairo_paint(cairo);
    cairo_scale(cairo, canvas->scale, canvas->scale);
    cairo_set_source_surface(cairo, canvas->surface, 0, 0);
    cairo_paint(cairo);
    cairo_status_t status = cairo_status(pen(canvas));
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_status(cairo);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(image, put_bytes, writer);
    cairo_destroy(cairo);
    cairo_surface_destroy(image);
    if (status == CAIRO_STATUS_SUCCESS) return ATTN_OK;
    return at_fail(canvas->context, ATTN_OUT_OF_MEMORY, "a PNG of %.0f x %.0f pixels: %s", width, height,
                   cairo_status_to_string(status));
}

const at_canvas_kind at_canvas_png = {
    .open = open_png,
    .close = close_png,
    .rectangle = rectangle,
    .frame = frame,
    .line = line,
    .circle = circle,
    .polygon = polygon,
    .polyline = polyline,
    .picture = picture,
    .begin = begin,
    .end = end,
    .text = text,
    .finish = finish,
};

#else

static attn_status open_png(at_canvas *canvas) {
    return at_fail(canvas->context, ATTN_UNSUPPORTED,
                   "this build draws no PNG: install Pango and Cairo (Debian: libpango1.0-dev), build again, "
                   "or draw SVG");
}

static void close_png(at_canvas *canvas) { (void)canvas; }

const at_canvas_kind at_canvas_png = {.open = open_png, .close = close_png};

#endif
