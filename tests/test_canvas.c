/* test_canvas.c: shapes, colours and text as SVG and PNG; hostile text; pictures inside. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/canvas.h"
#include "explain/drawing.h"
#include "inputs/image/decode.h"
#include "support/markup.h"
#include "support/memory.h"

static at_canvas *create(attn_drawing_format format, int dark) {
    at_canvas *canvas = NULL;
    attn_status status = at_canvas_create(group_context, format, dark, 2, &canvas);
    if (status == ATTN_UNSUPPORTED && format == ATTN_DRAWING_PNG) {
        assert_non_null(strstr(group_context->error, "libpango1.0-dev"));
        skip();
    }
    assert_int_equal(status, ATTN_OK);
    return canvas;
}

/* The file; to be freed. */
static at_writer finish(at_canvas *canvas) {
    at_writer writer = {.context = group_context};
    assert_int_equal(at_canvas_finish(canvas, &writer), ATTN_OK);
    at_canvas_destroy(canvas);
    return writer;
}

static void test_shapes(void **state) {
    (void)state;
    at_canvas *canvas = create(ATTN_DRAWING_SVG, 0);
    double points[6] = {0, 0, 10.005, 0.5, -1.25, 3};
    at_canvas_size(canvas, 30.2, 20);
    at_canvas_describe(canvas, "a < b", NULL);
    at_canvas_rectangle(canvas, 1, 2, 3, 4.5, 0xff0010, 0.5);
    at_canvas_polygon(canvas, points, 3, 0x00ff00, 1);
    at_canvas_polyline(canvas, points, 3, 0.75, 0x0000ff);
    at_canvas_polyline(canvas, points, 1, 1, 0); /* no line */
    at_canvas_circle(canvas, NAN, INFINITY, 2, 0, 0x123456, 1);
    at_canvas_text(canvas, 5, 6, 11, AT_ANCHOR_END, -90, 0, 1, "x");
    at_writer svg = finish(canvas);
    assert_string_equal(
        svg.bytes,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"31\" "
        "height=\"20\" viewBox=\"0 0 31 20\" role=\"img\" font-family=\"system-ui, 'DejaVu Sans', "
        "sans-serif\">\n"
        "<title>a &lt; b</title>\n<desc></desc>\n"
        "<rect x=\"0\" y=\"0\" width=\"31\" height=\"20\" fill=\"#ffffff\"/>\n"
        "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4.5\" fill=\"#ff0010\" fill-opacity=\"0.5\"/>\n"
        "<polygon points=\"0,0 10.01,0.5 -1.25,3\" fill=\"#00ff00\"/>\n"
        "<polyline points=\"0,0 10.01,0.5 -1.25,3\" fill=\"none\" stroke=\"#0000ff\" "
        "stroke-width=\"0.75\"/>\n"
        "<circle cx=\"0\" cy=\"0\" r=\"2\" fill=\"#000000\" stroke=\"#123456\" stroke-width=\"1\"/>\n"
        "<text x=\"5\" y=\"6\" font-size=\"11\" text-anchor=\"end\" font-weight=\"bold\" fill=\"#000000\" "
        "transform=\"rotate(-90 5 6)\">x</text>\n"
        "</svg>\n");
    at_writer_free(&svg);
}

static void test_refusals(void **state) {
    (void)state;
    at_canvas *canvas = NULL;
    assert_int_equal(at_canvas_create(group_context, ATTN_DRAWING_TSV, 0, 2, &canvas), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_canvas_create(group_context, ATTN_DRAWING_SVG, 0, 0, &canvas), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_canvas_create(group_context, ATTN_DRAWING_SVG, 0, NAN, &canvas),
                     ATTN_INVALID_ARGUMENT);
    at_canvas_destroy(NULL);
    canvas = create(ATTN_DRAWING_PNG, 0);
    at_canvas_size(canvas, 1e6, 10);
    at_writer writer = {.context = group_context};
    assert_int_equal(at_canvas_finish(canvas, &writer), ATTN_OVERFLOW);
    at_canvas_destroy(canvas);
    at_writer_free(&writer);
}

static void test_colours(void **state) {
    (void)state;
    at_canvas *light = create(ATTN_DRAWING_SVG, 0), *dark = create(ATTN_DRAWING_SVG, 1);
    assert_int_equal(at_canvas_heat(light, 0), 0xffffff);
    assert_int_equal(at_canvas_heat(light, 0.5), 0x6baed6);
    assert_int_equal(at_canvas_heat(light, 1), 0x08306b);
    assert_int_equal(at_canvas_heat(light, 7), 0x08306b);
    assert_int_equal(at_canvas_heat(light, -7), 0xffffff);
    assert_int_equal(at_canvas_heat(dark, 0), at_canvas_background(dark));
    assert_int_equal(at_canvas_heat(dark, 1), 0xdeebf7);
    assert_int_equal(at_canvas_signed(light, -1), 0x2166ac);
    assert_int_equal(at_canvas_signed(light, 0), 0xffffff);
    assert_int_equal(at_canvas_signed(light, 1), 0xb2182b);
    assert_int_equal(at_canvas_heat(light, NAN), 0xbbbbbb);
    assert_int_equal(at_canvas_readable(0x08306b), 0xffffff);
    assert_int_equal(at_canvas_readable(0xffffff), 0x000000);
    assert_int_equal(at_canvas_category(0), at_canvas_category(8));
    at_canvas_destroy(light);
    at_canvas_destroy(dark);
}

static void test_width(void **state) {
    (void)state;
    assert_true(fabs(at_text_width(10, "ab") - 12.4) < 1e-9);
    assert_true(fabs(at_text_width(10, "東京") - 20) < 1e-9);
    assert_true(fabs(at_text_width(10, "e\xcc\x81") - 6.2) < 1e-9);     /* a combining accent */
    assert_true(fabs(at_text_width(10, "a\xe2\x80\xae") - 6.1) < 1e-9); /* a mark that is not seen */
    assert_true(at_text_width(10, NULL) == 0);
    at_canvas *canvas = create(ATTN_DRAWING_SVG, 0);
    assert_string_equal(at_text_fit(canvas, 10, "abcdef", 40), "abcdef");
    assert_string_equal(at_text_fit(canvas, 10, "abcdefgh", 40), "abcd…");
    assert_string_equal(at_text_fit(canvas, 10, "東京都東京都", 40), "東京都…");
    assert_string_equal(at_text_fit(canvas, 10, "abc", 5), "");
    assert_string_equal(at_text_fit(canvas, 10, NULL, 5), "");
    const char *first = at_text_fit(canvas, 10, "one", 100);
    at_text_fit(canvas, 10, "two", 100), at_text_fit(canvas, 10, "three", 100),
        at_text_fit(canvas, 10, "four", 100);
    assert_string_equal(first, "one");
    at_canvas_destroy(canvas);
}

static void test_hostile_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"</svg><script>alert(1)</script>", ">&lt;/svg&gt;&lt;script&gt;alert(1)&lt;/script&gt;</text>"},
        {"]]>&amp;\"'", ">]]&gt;&amp;amp;&quot;&#39;</text>"},
        {"a\x01\x1b[31m\nb\x7f", ">a��[31m�b�</text>"},
        {"\xff\xc0\x80\xed\xa0\x80", ">������</text>"},
        {"ab\xe2\x80\xae"
         "cd\xe2\x80\xac\xe2\x81\xa6x\xe2\x81\xa9",
         ">abcdx</text>"},
        {"\xe2\x80\xa8\xef\xbf\xbe\xc2\x85", ">���</text>"},
        {"שלום!", " text-anchor=\"end\" direction=\"rtl\" fill=\"#000000\">שלום!</text>"},
        {AT_ISOLATE "שלום" AT_ISOLATE_END " = 1",
         "\" fill=\"#000000\">" AT_ISOLATE "שלום" AT_ISOLATE_END " = 1</text>"},
        {AT_ISOLATE AT_ISOLATE_END AT_ISOLATE_END AT_ISOLATE "a",
         ">" AT_ISOLATE AT_ISOLATE_END AT_ISOLATE "a" AT_ISOLATE_END "</text>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        at_canvas *canvas = create(ATTN_DRAWING_SVG, 0);
        at_canvas_begin(canvas, cases[i].text);
        at_canvas_text(canvas, 0, 0, 10, AT_ANCHOR_START, 0, 0, 0, cases[i].text);
        at_canvas_end(canvas);
        at_canvas_describe(canvas, cases[i].text, cases[i].text);
        at_writer svg = finish(canvas);
        const char *fault = markup_fault(svg.bytes);
        if (fault) fail_msg("case %d: %s", (int)i, fault);
        if (!strstr(svg.bytes, cases[i].shown)) fail_msg("case %d: %s", (int)i, svg.bytes);
        at_writer_free(&svg);
    }
    assert_non_null(markup_fault("<a><b></a></b>")); /* the judge itself */
    assert_non_null(markup_fault("<a onload=\"x\"/>"));
    assert_non_null(markup_fault("<a>&x</a>"));
    assert_non_null(markup_fault("<a href=\"http://x\"/>"));
}

static void test_picture(void **state) {
    (void)state;
    static const unsigned char rgb[12] = {1, 2, 3, 1, 2, 3, 255, 255, 255, 1, 2, 3};
    at_canvas *canvas = create(ATTN_DRAWING_SVG, 0);
    at_canvas_picture(canvas, 10, 20, 8, 6, rgb, 2, 2);
    at_canvas_picture(canvas, 10, 20, 8, 6, rgb, 0, 2);
    at_writer svg = finish(canvas);
    assert_non_null(strstr(svg.bytes, "<path fill=\"#010203\" d=\"M10 20h8v3H10zM14 23h4v3H14z\"/>"));
    at_writer_free(&svg);
}

static int digit_of(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Skips the test where this build reads no PNG. */
static void need_decoder(void) {
    at_pictures pictures = {0};
    at_image_decoding now = {.context = group_context, .pictures = &pictures, .limit = 1 << 28};
    assert_int_equal(at_image_decode(&now, "\x89PNG\r\n\x1a\n", 8), ATTN_INVALID_ARGUMENT);
    if (strstr(now.reason, "libpng")) skip();
}

static at_pictures decode(const char *bytes, size_t count, at_picture *made) {
    at_pictures pictures = {0};
    at_image_decoding now = {.context = group_context, .pictures = &pictures, .limit = 1 << 28};
    attn_status status = at_image_decode(&now, bytes, count);
    if (status != ATTN_OK) fail_msg("%s", now.reason);
    *made = now.made;
    return pictures;
}

static unsigned pixel(const at_pictures *pictures, const at_picture *made, int64_t x, int64_t y) {
    const unsigned char *at = pictures->bytes + made->first + (y * made->width + x) * made->channels;
    return made->channels == 1 ? at[0] * 0x010101u : (unsigned)at[0] << 16 | (unsigned)at[1] << 8 | at[2];
}

static void test_embedded(void **state) {
    (void)state;
    need_decoder();
    enum { ROWS = 70, COLUMNS = 60 };
    static unsigned char rgb[3 * ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        rgb[3 * i] = (unsigned char)(i % COLUMNS), rgb[3 * i + 1] = (unsigned char)(i / COLUMNS);
    at_canvas *canvas = create(ATTN_DRAWING_SVG, 0);
    at_canvas_picture(canvas, 0, 0, 60, 70, rgb, ROWS, COLUMNS);
    at_writer svg = finish(canvas);
    assert_null(markup_fault(svg.bytes));
    const char *at = strstr(svg.bytes, "base64,");
    assert_non_null(at);
    char *png = malloc((size_t)svg.count);
    size_t count = 0;
    unsigned bits = 0, held = 0;
    for (at += 7; digit_of(*at) >= 0; at++) {
        bits = bits << 6 | (unsigned)digit_of(*at);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        png[count++] = (char)(bits >> held & 255);
    }
    at_picture made;
    at_pictures pictures = decode(png, count, &made);
    assert_int_equal(made.width, 2 * COLUMNS); /* two pixels a unit */
    assert_int_equal(made.height, 2 * ROWS);
    assert_int_equal(pixel(&pictures, &made, 2 * 17 + 1, 2 * 33), 17 << 16 | 33 << 8);
    at_pictures_free(group_context, &pictures);
    free(png);
    at_writer_free(&svg);
}

static void test_png(void **state) {
    (void)state;
    need_decoder();
    static const unsigned char rgb[6] = {10, 20, 30, 200, 100, 50};
    at_canvas *canvas = create(ATTN_DRAWING_PNG, 1);
    at_canvas_size(canvas, 40, 30);
    at_canvas_rectangle(canvas, 10, 10, 10, 10, 0xb2182b, 1);
    at_canvas_picture(canvas, 20, 0, 20, 10, rgb, 1, 2);
    at_canvas_frame(canvas, 1, 1, 4, 4, 0, 1);
    at_canvas_circle(canvas, 35, 25, 3, 0x00ff00, 0xff, 1);
    at_canvas_begin(canvas, "x");
    at_canvas_text(canvas, 5, 25, 8, AT_ANCHOR_MIDDLE, -45, 0xffffff, 1, "שלום 東京 \x01\xff");
    at_canvas_end(canvas);
    double points[4] = {1, 28, 4, 28}; /* a line begins where it begins, not where the text ended */
    at_canvas_polyline(canvas, points, 2, 1, 0xffff00);
    at_writer png = finish(canvas);
    at_picture made;
    at_pictures pictures = decode(png.bytes, (size_t)png.count, &made);
    assert_int_equal(pixel(&pictures, &made, 5, 56), 0xffff00);
    for (int64_t i = 0, yellow = 0; i < made.width * made.height; i++) {
        yellow += pixel(&pictures, &made, i % made.width, i / made.width) == 0xffff00;
        assert_true(yellow <= 12);
    }
    assert_int_equal(made.width, 80);
    assert_int_equal(made.height, 60);
    assert_int_equal(pixel(&pictures, &made, 30, 30), 0xb2182b);
    assert_int_equal(pixel(&pictures, &made, 50, 10), 0x0a141e);
    assert_int_equal(pixel(&pictures, &made, 70, 10), 0xc86432);
    assert_int_equal(pixel(&pictures, &made, 79, 40), 0x14181d);
    assert_int_equal(pixel(&pictures, &made, 70, 50), 0x00ff00);
    at_pictures_free(group_context, &pictures);
    at_writer_free(&png);
}

static void test_numbers(void **state) {
    (void)state;
    char text[AT_NUMBER];
    assert_string_equal(at_number_fixed(text, 0.125, 2), "0.13");
    assert_string_equal(at_number_fixed(text, -1.05, 1), "−1.1");
    assert_string_equal(at_number_fixed(text, -0.001, 2), "0.00");
    assert_string_equal(at_number_fixed(text, 12, 0), "12");
    assert_string_equal(at_number_fixed(text, NAN, 2), "NaN");
    assert_string_equal(at_number_short(text, 0), "0");
    assert_string_equal(at_number_short(text, 0.0312), "0.031");
    assert_string_equal(at_number_short(text, -123.4), "−123");
    assert_string_equal(at_number_short(text, 2.5e-9), "2.5e-9");
    assert_string_equal(at_number_short(text, INFINITY), "∞");
    int decimals;
    assert_true(fabs(at_nice_step(1.6, 10, &decimals) - 0.2) < 1e-12);
    assert_int_equal(decimals, 1);
    assert_true(fabs(at_nice_step(64, 10, &decimals) - 10) < 1e-12);
    assert_int_equal(decimals, 0);
    assert_true(at_nice_step(0, 10, &decimals) > 0);
}

static void test_no_memory(void **state) {
    (void)state;
    for (int64_t n = 1; n < 200; n++) {
        at_canvas *canvas = NULL;
        at_writer writer = {.context = group_context};
        unsigned char rgb[300] = {1};
        group_counter.fail_at = n;
        attn_status status = at_canvas_create(group_context, ATTN_DRAWING_SVG, 0, 2, &canvas);
        if (status == ATTN_OK) {
            at_canvas_describe(canvas, "title", "description");
            at_canvas_text(canvas, 0, 0, 10, AT_ANCHOR_START, 0, 0, 0, at_text_fit(canvas, 10, "text", 100));
            at_canvas_picture(canvas, 0, 0, 10, 10, rgb, 10, 10);
            status = at_canvas_finish(canvas, &writer);
            at_canvas_destroy(canvas);
        }
        group_counter.fail_at = 0;
        at_writer_free(&writer);
        if (status == ATTN_OK) return;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
    }
    fail_msg("it never succeeds");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes),       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_colours),      cmocka_unit_test(test_width),
                                       cmocka_unit_test(test_hostile_text), cmocka_unit_test(test_picture),
                                       cmocka_unit_test(test_embedded),     cmocka_unit_test(test_png),
                                       cmocka_unit_test(test_numbers),      cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
