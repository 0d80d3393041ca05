/* canvas.c: what SVG and PNG share: colours, the width of text, names without control characters. */
#include "explain/canvas.h"

#include <math.h>
#include <string.h>

#include <utf8proc.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/canvas_kind.h"

attn_status at_canvas_create(attn_context *context, attn_drawing_format format, int dark, double scale,
                             at_canvas **canvas) {
    if (format != ATTN_DRAWING_SVG && format != ATTN_DRAWING_PNG)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "a drawing is made as SVG or PNG, not as format %d",
                       (int)format);
    if (!(scale >= 0.1 && scale <= 20))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "the scale of a drawing, %g, is not 0.1 .. 20", scale);
    at_canvas *made = at_allocate(context, 1, sizeof *made, "a drawing");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->kind = format == ATTN_DRAWING_PNG ? &at_canvas_png : &at_canvas_svg;
    made->dark = dark;
    made->scale = scale;
    made->width = made->height = 100;
    made->title.context = made->description.context = made->clean.context = made->body.context = context;
    for (int i = 0; i < AT_CANVAS_FITS; i++) made->fits[i].context = context;
    attn_status status = made->kind->open(made);
    if (status != ATTN_OK) {
        at_canvas_destroy(made);
        return status;
    }
    *canvas = made;
    return ATTN_OK;
}

void at_canvas_destroy(at_canvas *canvas) {
    if (!canvas) return;
    canvas->kind->close(canvas);
    at_writer_free(&canvas->title);
    at_writer_free(&canvas->description);
    at_writer_free(&canvas->clean);
    at_writer_free(&canvas->body);
    for (int i = 0; i < AT_CANVAS_FITS; i++) at_writer_free(&canvas->fits[i]);
    at_release(canvas->context, canvas);
}

void at_canvas_size(at_canvas *canvas, double width, double height) {
    canvas->width = ceil(width);
    canvas->height = ceil(height);
}

static void note(at_canvas *canvas, attn_status status) {
    if (canvas->status == ATTN_OK) canvas->status = status;
}

/* ---- names of anybody ---- */

/* The next character; U+FFFD for a byte that belongs to none. */
static utf8proc_int32_t next_code(const char **text) {
    utf8proc_int32_t code = -1;
    utf8proc_ssize_t room = 0;
    while (room < 4 && (*text)[room]) room++;
    utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)*text, room, &code);
    *text += length > 0 ? length : 1;
    return length > 0 ? code : 0xfffd;
}

/* Marks that turn the direction of what follows, and the byte order mark: they are not seen. */
static int turns(utf8proc_int32_t code) {
    return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x200e ||
           code == 0x200f || code == 0x061c || code == 0xfeff;
}

/* What XML or a layout of lines would not show as a character. */
static int controls(utf8proc_int32_t code) {
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 ||
           (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

/* isolates: those that are in pairs stay. Returns whether the first letter runs to the left. */
static int put_safe(at_writer *writer, const char *text, int isolates) {
    enum { FIRST = 0x2068, END = 0x2069 };
    int direction = 0; /* 1: to the right, -1: to the left, 0: not known yet */
    int depth = 0;
    while (*text) {
        utf8proc_uint8_t bytes[4];
        utf8proc_int32_t code = next_code(&text);
        int kept = isolates && (code == FIRST || (code == END && depth > 0));
        if (turns(code) && !kept) continue;
        if (kept) depth += code == FIRST ? 1 : -1;
        if (controls(code)) code = 0xfffd;
        at_put(writer, (const char *)bytes, (size_t)utf8proc_encode_char(code, bytes));
        utf8proc_propval_t class = utf8proc_get_property(code)->bidi_class;
        if (direction || depth > 0) continue; /* an isolated name does not say how the rest runs */
        if (class == UTF8PROC_BIDI_CLASS_L) direction = 1;
        if (class == UTF8PROC_BIDI_CLASS_R || class == UTF8PROC_BIDI_CLASS_AL) direction = -1;
    }
    for (; depth > 0; depth--) at_put(writer, AT_ISOLATE_END, strlen(AT_ISOLATE_END));
    return direction < 0;
}

void at_put_clean(at_writer *writer, const char *text) { put_safe(writer, text, 0); }

static int put_shown(at_writer *writer, const char *text) { return put_safe(writer, text, 1); }

static void keep(at_canvas *canvas, at_writer *writer, const char *text) {
    writer->count = 0;
    at_put(writer, "", 0);
    put_shown(writer, text ? text : "");
    note(canvas, writer->status);
}

void at_canvas_describe(at_canvas *canvas, const char *title, const char *description) {
    keep(canvas, &canvas->title, title);
    keep(canvas, &canvas->description, description);
}

attn_status at_canvas_finish(at_canvas *canvas, at_writer *writer) {
    note(canvas, canvas->body.status);
    note(canvas, canvas->clean.status);
    if (canvas->status != ATTN_OK) return canvas->status;
    attn_status status = canvas->kind->finish(canvas, writer);
    return status == ATTN_OK ? writer->status : status;
}

/* ---- colours ---- */

static unsigned mix(unsigned a, unsigned b, double share) {
    unsigned color = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double from = (double)(a >> shift & 255), to = (double)(b >> shift & 255);
        color |= (unsigned)(from + (to - from) * share + 0.5) << shift;
    }
    return color;
}

unsigned at_canvas_mix(unsigned a, unsigned b, double share) {
    return mix(a, b, share > 0 ? share < 1 ? share : 1 : 0);
}

unsigned at_canvas_background(const at_canvas *canvas) { return canvas->dark ? 0x14181d : 0xffffff; }
unsigned at_canvas_ink(const at_canvas *canvas) { return canvas->dark ? 0xe6e8ea : 0x1a1a1a; }
unsigned at_canvas_faint(const at_canvas *canvas) { return canvas->dark ? 0x8b949e : 0x6b7280; }
unsigned at_canvas_rule(const at_canvas *canvas) { return canvas->dark ? 0x3a424b : 0xd0d4d9; }

unsigned at_canvas_heat(const at_canvas *canvas, double heat) {
    if (isnan(heat)) return canvas->dark ? 0x555555 : 0xbbbbbb;
    unsigned middle = canvas->dark ? 0x4292c6 : 0x6baed6, end = canvas->dark ? 0xdeebf7 : 0x08306b;
    if (heat < 0.5) return at_canvas_mix(at_canvas_background(canvas), middle, 2 * heat);
    return at_canvas_mix(middle, end, 2 * heat - 1);
}

/* On a dark background the ends are lighter, or they would sink into it. */
unsigned at_canvas_signed(const at_canvas *canvas, double value) {
    if (isnan(value)) return canvas->dark ? 0x555555 : 0xbbbbbb;
    unsigned below = canvas->dark ? 0x4393c3 : 0x2166ac, above = canvas->dark ? 0xe05a50 : 0xb2182b;
    return at_canvas_mix(at_canvas_background(canvas), value < 0 ? below : above, fabs(value));
}

unsigned at_canvas_readable(unsigned background) {
    double light = 0;
    static const double share[3] = {0.0722, 0.7152, 0.2126}; /* blue, green, red */
    for (int c = 0; c < 3; c++) light += share[c] * pow((double)(background >> 8 * c & 255) / 255, 2.2);
    return light > 0.25 ? 0x000000 : 0xffffff;
}

unsigned at_canvas_category(int64_t number) {
    static const unsigned colors[8] = {0x0072b2, 0xd55e00, 0x00896b, 0x7a5195,
                                       0xb8860b, 0xc2185b, 0x5d8aa8, 0x444444};
    return colors[(uint64_t)number % 8];
}

/* ---- shapes ---- */

void at_canvas_rectangle(at_canvas *canvas, double x, double y, double width, double height, unsigned fill,
                         double opacity) {
    canvas->kind->rectangle(canvas, at_length(x), at_length(y), at_length(width), at_length(height), fill,
                            opacity);
}
void at_canvas_frame(at_canvas *canvas, double x, double y, double width, double height, unsigned line,
                     double thickness) {
    canvas->kind->frame(canvas, at_length(x), at_length(y), at_length(width), at_length(height), line,
                        at_length(thickness));
}
void at_canvas_line(at_canvas *canvas, double x0, double y0, double x1, double y1, double thickness,
                    unsigned color, double opacity) {
    canvas->kind->line(canvas, at_length(x0), at_length(y0), at_length(x1), at_length(y1),
                       at_length(thickness), color, opacity);
}
void at_canvas_circle(at_canvas *canvas, double x, double y, double radius, unsigned fill, unsigned line,
                      double thickness) {
    canvas->kind->circle(canvas, at_length(x), at_length(y), at_length(radius), fill, line,
                         at_length(thickness));
}
void at_canvas_polygon(at_canvas *canvas, const double *points, int64_t count, unsigned fill,
                       double opacity) {
    if (count > 1) canvas->kind->polygon(canvas, points, count, fill, opacity);
}
void at_canvas_polyline(at_canvas *canvas, const double *points, int64_t count, double thickness,
                        unsigned color) {
    if (count > 1) canvas->kind->polyline(canvas, points, count, at_length(thickness), color);
}
void at_canvas_picture(at_canvas *canvas, double x, double y, double width, double height,
                       const unsigned char *rgb, int64_t rows, int64_t columns) {
    if (rows < 1 || columns < 1 || !rgb || !(at_length(width) > 0) || !(at_length(height) > 0)) return;
    canvas->kind->picture(canvas, at_length(x), at_length(y), width, height, rgb, rows, columns);
}

static const char *cleaned(at_canvas *canvas, const char *text, int *rtl) {
    canvas->clean.count = 0;
    at_put(&canvas->clean, "", 0);
    *rtl = put_shown(&canvas->clean, text ? text : "");
    return canvas->clean.status == ATTN_OK ? canvas->clean.bytes : "";
}

void at_canvas_begin(at_canvas *canvas, const char *tooltip) {
    int rtl;
    canvas->kind->begin(canvas, cleaned(canvas, tooltip, &rtl));
}
void at_canvas_end(at_canvas *canvas) { canvas->kind->end(canvas); }

void at_canvas_text(at_canvas *canvas, double x, double y, double size, at_anchor anchor, double degrees,
                    unsigned color, int bold, const char *text) {
    int rtl;
    const char *clean = cleaned(canvas, text, &rtl);
    if (*clean)
        canvas->kind->text(canvas, at_length(x), at_length(y), at_length(size), anchor, degrees, color, bold,
                           clean, rtl);
}

/* ---- text ---- */

/* Hundredths of the font's size, of the characters from ' ' to '~' as DejaVu Sans has them. */
static const unsigned char ascii_width[95] = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};

static double code_width(utf8proc_int32_t code) {
    if (turns(code)) return 0;
    if (code >= ' ' && code <= '~') return ascii_width[code - ' '] / 100.0;
    int cells = utf8proc_charwidth(code);
    if (cells == 2 || code == 0x2026) return 1;
    utf8proc_category_t category = utf8proc_category(code);
    if (category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || code == 0x200b ||
        code == 0x200c || code == 0x200d)
        return 0;
    if (code >= 0x600 && code < 0x780) return 0.6; /* Arabic: joined letters are narrow and wide */
    return category == UTF8PROC_CATEGORY_LU ? 0.72 : category == UTF8PROC_CATEGORY_SM ? 0.84 : 0.64;
}

double at_text_width(double size, const char *text) {
    double width = 0;
    while (text && *text) width += code_width(next_code(&text));
    return width * size;
}

const char *at_text_fit(at_canvas *canvas, double size, const char *text, double width) {
    at_writer *fit = &canvas->fits[canvas->next_fit++ % AT_CANVAS_FITS];
    fit->count = 0;
    at_put(fit, "", 0);
    if (!text) text = "";
    const char *end = text, *cut = text; /* cut: what has room beside "…" */
    double used = 0, room = width / size;
    while (*end) {
        used += code_width(next_code(&end));
        if (used + 1 <= room) cut = end;
        if (used > room) break;
    }
    int whole = used <= room;
    at_put(fit, text, (size_t)((whole ? end : cut) - text));
    if (!whole && room >= 1) at_put(fit, "…", strlen("…"));
    note(canvas, fit->status);
    return fit->status == ATTN_OK ? fit->bytes : "";
}
