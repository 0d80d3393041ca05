/* canvas_svg.c: a canvas as SVG: text, the same bytes on every machine.
 *
 * Lengths are rounded to hundredths of a unit and written as whole numbers with a point, so that neither the
 * locale nor the last bits of a coordinate count. Large pictures are PNG files inside, compressed by zlib.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/canvas_kind.h"

enum { PICTURE_CELLS = 4096, ALL_CELLS = 32768 };

static void put(at_writer *w, const char *text) { at_put(w, text, strlen(text)); }

static void put_length(at_writer *w, double value) {
    long long hundredths = llround(at_length(value) * 100);
    if (hundredths < 0) at_put_char(w, '-');
    hundredths = llabs(hundredths);
    at_print(w, "%lld", hundredths / 100);
    int rest = (int)(hundredths % 100);
    if (rest) at_print(w, rest % 10 ? ".%02d" : ".%d", rest % 10 ? rest : rest / 10);
}

static void put_attribute(at_writer *w, const char *name, double value) {
    at_print(w, " %s=\"", name);
    put_length(w, value);
    at_put_char(w, '"');
}

static void put_color(at_writer *w, const char *name, unsigned color) {
    at_print(w, " %s=\"#%06x\"", name, color & 0xffffff);
}

static void put_opacity(at_writer *w, const char *name, double opacity) {
    if (opacity < 0.995) put_attribute(w, name, opacity);
}

static void put_escaped(at_writer *w, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '<': put(w, "&lt;"); break;
        case '>': put(w, "&gt;"); break;
        case '&': put(w, "&amp;"); break;
        case '"': put(w, "&quot;"); break;
        case '\'': put(w, "&#39;"); break;
        default: at_put_char(w, *text);
        }
    }
}

static void put_points(at_writer *w, const double *points, int64_t count) {
    put(w, " points=\"");
    for (int64_t i = 0; i < 2 * count; i++) {
        if (i) at_put_char(w, i % 2 ? ',' : ' ');
        put_length(w, points[i]);
    }
    at_put_char(w, '"');
}

static attn_status open_svg(at_canvas *canvas) {
    at_put(&canvas->body, "", 0);
    return canvas->body.status;
}

static void close_svg(at_canvas *canvas) { (void)canvas; }

/* ---- shapes ---- */

static void put_box(at_writer *w, double x, double y, double width, double height) {
    put(w, "<rect");
    put_attribute(w, "x", x);
    put_attribute(w, "y", y);
    put_attribute(w, "width", fmax(width, 0));
    put_attribute(w, "height", fmax(height, 0));
}

static void rectangle(at_canvas *canvas, double x, double y, double width, double height, unsigned fill,
                      double opacity) {
    at_writer *w = &canvas->body;
    put_box(w, x, y, width, height);
    put_color(w, "fill", fill);
    put_opacity(w, "fill-opacity", opacity);
    put(w, "/>\n");
}

static void frame(at_canvas *canvas, double x, double y, double width, double height, unsigned line,
                  double thickness) {
    at_writer *w = &canvas->body;
    put_box(w, x, y, width, height);
    put(w, " fill=\"none\"");
    put_color(w, "stroke", line);
    put_attribute(w, "stroke-width", thickness);
    put(w, "/>\n");
}

static void line(at_canvas *canvas, double x0, double y0, double x1, double y1, double thickness,
                 unsigned color, double opacity) {
    at_writer *w = &canvas->body;
    put(w, "<line");
    put_attribute(w, "x1", x0);
    put_attribute(w, "y1", y0);
    put_attribute(w, "x2", x1);
    put_attribute(w, "y2", y1);
    put_color(w, "stroke", color);
    put_attribute(w, "stroke-width", thickness);
    put_opacity(w, "stroke-opacity", opacity);
    put(w, "/>\n");
}

static void circle(at_canvas *canvas, double x, double y, double radius, unsigned fill, unsigned edge,
                   double thickness) {
    at_writer *w = &canvas->body;
    put(w, "<circle");
    put_attribute(w, "cx", x);
    put_attribute(w, "cy", y);
    put_attribute(w, "r", radius);
    put_color(w, "fill", fill);
    if (thickness > 0) {
        put_color(w, "stroke", edge);
        put_attribute(w, "stroke-width", thickness);
    }
    put(w, "/>\n");
}

static void polygon(at_canvas *canvas, const double *points, int64_t count, unsigned fill, double opacity) {
    at_writer *w = &canvas->body;
    put(w, "<polygon");
    put_points(w, points, count);
    put_color(w, "fill", fill);
    put_opacity(w, "fill-opacity", opacity);
    put(w, "/>\n");
}

static void polyline(at_canvas *canvas, const double *points, int64_t count, double thickness,
                     unsigned color) {
    at_writer *w = &canvas->body;
    put(w, "<polyline");
    put_points(w, points, count);
    put(w, " fill=\"none\"");
    put_color(w, "stroke", color);
    put_attribute(w, "stroke-width", thickness);
    put(w, "/>\n");
}

/* ---- pictures ---- */

static void put_word(unsigned char *to, uint32_t word) {
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(word >> 8 * (3 - i));
}

static void put_chunk(at_writer *png, const char *type, const unsigned char *bytes, size_t count) {
    unsigned char word[4];
    uLong sum = crc32(crc32(0, NULL, 0), (const unsigned char *)type, 4);
    if (count) sum = crc32(sum, bytes, (uInt)count);
    put_word(word, (uint32_t)count);
    at_put(png, (const char *)word, 4);
    at_put(png, type, 4);
    if (count) at_put(png, (const char *)bytes, count);
    put_word(word, (uint32_t)sum);
    at_put(png, (const char *)word, 4);
}

/* How many pixels a cell gets across and down: many viewers blur small pictures that they enlarge. */
static int64_t enlargement(double length, int64_t cells, int64_t all) {
    int64_t times = (int64_t)ceil(2 * length / (double)cells);
    while (times > 1 && all * times * times > 1 << 21) times--;
    return times < 1 ? 1 : times > 16 ? 16 : times;
}

/* Lines of a PNG: each begins with a 0, as it is. */
static void put_lines(unsigned char *to, const unsigned char *rgb, int64_t rows, int64_t columns,
                      int64_t down, int64_t across) {
    for (int64_t y = 0; y < rows * down; y++) {
        *to++ = 0;
        const unsigned char *from = rgb + y / down * 3 * columns;
        for (int64_t x = 0; x < columns; x++, from += 3)
            for (int64_t i = 0; i < across; i++, to += 3) memcpy(to, from, 3);
    }
}

/* A PNG of 8 bits a channel. */
static attn_status make_png(attn_context *context, const unsigned char *rgb, int64_t rows, int64_t columns,
                            int64_t down, int64_t across, at_writer *png) {
    if (rows > 1 << 20 || columns > 1 << 20 || rows * (3 * columns + 1) > 1 << 28)
        return at_fail(context, ATTN_OVERFLOW, "a picture of %lld x %lld is too large to be drawn",
                       (long long)rows, (long long)columns);
    int64_t height = rows * down, width = columns * across, bytes = height * (3 * width + 1);
    uLong bound = compressBound((uLong)bytes);
    unsigned char *lines = at_allocate(context, bytes, 1, "a picture");
    unsigned char *packed = at_allocate(context, (int64_t)bound, 1, "a picture");
    attn_status status = lines && packed ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) put_lines(lines, rgb, rows, columns, down, across);
    if (status == ATTN_OK && compress2(packed, &bound, lines, (uLong)bytes, 6) != Z_OK)
        status = at_fail(context, ATTN_OUT_OF_MEMORY, "a picture cannot be compressed: no memory");
    if (status == ATTN_OK) {
        unsigned char header[13] = {0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0};
        put_word(header, (uint32_t)width);
        put_word(header + 4, (uint32_t)height);
        at_put(png, "\x89PNG\r\n\x1a\n", 8);
        put_chunk(png, "IHDR", header, sizeof header);
        put_chunk(png, "IDAT", packed, bound);
        put_chunk(png, "IEND", NULL, 0);
        status = png->status;
    }
    at_release(context, lines);
    at_release(context, packed);
    return status;
}

static void put_base64(at_writer *w, const unsigned char *bytes, int64_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int64_t i = 0; i < count; i += 3) {
        unsigned three = 0;
        for (int b = 0; b < 3; b++) three = three << 8 | (i + b < count ? bytes[i + b] : 0u);
        char four[4];
        for (int d = 0; d < 4; d++)
            four[d] = d > count - i ? '=' : digits[three >> 6 * (3 - d) & 63]; /* the last ones may lack */
        at_put(w, four, 4);
    }
}

static void embed(at_canvas *canvas, double x, double y, double width, double height,
                  const unsigned char *rgb, int64_t rows, int64_t columns) {
    at_writer *w = &canvas->body, png = {.context = canvas->context};
    int64_t all = rows * columns;
    attn_status status = make_png(canvas->context, rgb, rows, columns, enlargement(height, rows, all),
                                  enlargement(width, columns, all), &png);
    if (status == ATTN_OK) {
        put(w, "<image");
        put_attribute(w, "x", x);
        put_attribute(w, "y", y);
        put_attribute(w, "width", width);
        put_attribute(w, "height", height);
        put(w, " preserveAspectRatio=\"none\"");
        if ((double)columns <= 2 * width && (double)rows <= 2 * height)
            put(w, " image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\"");
        put(w, " xlink:href=\"data:image/png;base64,");
        put_base64(w, (const unsigned char *)png.bytes, png.count);
        put(w, "\"/>\n");
    } else if (canvas->status == ATTN_OK) {
        canvas->status = status;
    }
    at_writer_free(&png);
}

typedef struct cell {
    unsigned color;
    int index;
} cell;

static int compare_cells(const void *a, const void *b) {
    const cell *first = a, *second = b;
    if (first->color != second->color) return first->color < second->color ? -1 : 1;
    return first->index - second->index;
}

/* A path for each colour; neighbours of one colour are one rectangle, and the background is left out. */
static void put_cells(at_canvas *canvas, double x, double y, double width, double height, const cell *cells,
                      int count, int64_t columns, int64_t rows) {
    at_writer *w = &canvas->body;
    double across = width / (double)columns, down = height / (double)rows;
    put(w, "<g shape-rendering=\"crispEdges\">\n");
    for (int i = 0; i < count;) {
        unsigned color = cells[i].color;
        at_print(w, "<path fill=\"#%06x\" d=\"", color);
        while (i < count && cells[i].color == color) {
            int first = cells[i].index, last = first;
            for (i++; i < count && cells[i].color == color && cells[i].index == last + 1 &&
                      cells[i].index % columns != 0;
                 i++)
                last++;
            at_put_char(w, 'M');
            put_length(w, x + across * (double)(first % columns));
            at_put_char(w, ' ');
            put_length(w, y + down * (double)(first / columns));
            at_put_char(w, 'h');
            put_length(w, across * (double)(last - first + 1));
            at_put_char(w, 'v');
            put_length(w, down);
            at_put_char(w, 'H');
            put_length(w, x + across * (double)(first % columns));
            at_put_char(w, 'z');
        }
        put(w, "\"/>\n");
    }
    put(w, "</g>\n");
}

static void picture(at_canvas *canvas, double x, double y, double width, double height,
                    const unsigned char *rgb, int64_t rows, int64_t columns) {
    if (rows > PICTURE_CELLS || columns > PICTURE_CELLS || rows * columns > PICTURE_CELLS ||
        canvas->cells + rows * columns > ALL_CELLS) {
        embed(canvas, x, y, width, height, rgb, rows, columns);
        return;
    }
    canvas->cells += rows * columns;
    cell *cells = at_allocate(canvas->context, rows * columns, sizeof *cells, "a picture");
    if (!cells) {
        if (canvas->status == ATTN_OK) canvas->status = ATTN_OUT_OF_MEMORY;
        return;
    }
    int count = 0;
    for (int i = 0; i < (int)(rows * columns); i++) {
        unsigned color = (unsigned)rgb[3 * i] << 16 | (unsigned)rgb[3 * i + 1] << 8 | rgb[3 * i + 2];
        if (color != at_canvas_background(canvas)) cells[count++] = (cell){color, i};
    }
    qsort(cells, (size_t)count, sizeof *cells, compare_cells);
    put_cells(canvas, x, y, width, height, cells, count, columns, rows);
    at_release(canvas->context, cells);
}

/* ---- groups and text ---- */

static void begin(at_canvas *canvas, const char *tooltip) {
    put(&canvas->body, "<g><title>");
    put_escaped(&canvas->body, tooltip);
    put(&canvas->body, "</title>");
}

static void end(at_canvas *canvas) { put(&canvas->body, "</g>\n"); }

/* "start" is where reading begins, which is right for text that runs to the left. */
static void text(at_canvas *canvas, double x, double y, double size, at_anchor anchor, double degrees,
                 unsigned color, int bold, const char *clean, int rtl) {
    static const char *const anchors[3] = {"start", "middle", "end"};
    at_writer *w = &canvas->body;
    int named = rtl ? 2 - (int)anchor : (int)anchor;
    put(w, "<text");
    put_attribute(w, "x", x);
    put_attribute(w, "y", y);
    put_attribute(w, "font-size", size);
    if (named) at_print(w, " text-anchor=\"%s\"", anchors[named]);
    if (rtl) put(w, " direction=\"rtl\"");
    if (bold) put(w, " font-weight=\"bold\"");
    put_color(w, "fill", color);
    if (degrees != 0) {
        put(w, " transform=\"rotate(");
        put_length(w, degrees);
        at_put_char(w, ' ');
        put_length(w, x);
        at_put_char(w, ' ');
        put_length(w, y);
        put(w, ")\"");
    }
    put(w, ">");
    put_escaped(w, clean);
    put(w, "</text>\n");
}

static attn_status finish(at_canvas *canvas, at_writer *w) {
    put(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"");
    put_attribute(w, "width", canvas->width);
    put_attribute(w, "height", canvas->height);
    put(w, " viewBox=\"0 0 ");
    put_length(w, canvas->width);
    at_put_char(w, ' ');
    put_length(w, canvas->height);
    put(w, "\" role=\"img\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n<title>");
    if (canvas->title.bytes) put_escaped(w, canvas->title.bytes);
    put(w, "</title>\n<desc>");
    if (canvas->description.bytes) put_escaped(w, canvas->description.bytes);
    put(w, "</desc>\n");
    put_box(w, 0, 0, canvas->width, canvas->height);
    put_color(w, "fill", at_canvas_background(canvas));
    put(w, "/>\n");
    at_put(w, canvas->body.bytes, (size_t)canvas->body.count);
    put(w, "</svg>\n");
    return w->status;
}

const at_canvas_kind at_canvas_svg = {
    .open = open_svg,
    .close = close_svg,
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
