/* test_drawings.c: drawings of small fixed explanations, byte by byte; what must change them; hostile names;
 * empty, tiny and broken explanations; pixels of PNG.
 *
 * The golden files were looked at. ATTN_TEST_GOLDEN=write in the environment writes them anew.
 */
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/canvas.h"
#include "inputs/image/decode.h"
#include "support/explanations.h"
#include "support/markup.h"
#include "support/memory.h"

static const char *const words[] = {"The", "cat", "sat", "שלום", NULL};

/* ---- explanations ---- */

static attn_explanation *make_words(void) {
    attn_explanation *made = test_explanation(group_context, words);
    test_explanation_map(made, ATTN_MAP_ENCODER, 2, 4, 4, 1);
    test_explanation_map(made, ATTN_MAP_ENCODER, 2, 4, 4, 2);
    test_explanation_answer(made, "positive", 0.93);
    test_explanation_contribute(made, 3);
    return made;
}

static attn_explanation *make_bars(void) {
    attn_explanation *made = test_explanation(group_context, words);
    test_explanation_answer(made, "positive", 0.93);
    test_explanation_contribute(made, 3);
    return made;
}

static attn_explanation *make_pairs(void) {
    attn_explanation *made = test_explanation(group_context, words);
    test_explanation_write(made, "die");
    test_explanation_write(made, "Katze");
    test_explanation_map(made, ATTN_MAP_ENCODER, 2, 4, 4, 1);
    test_explanation_map(made, ATTN_MAP_SOURCE, 2, 2, 4, 2);
    test_explanation_answer(made, "die Katze", NAN);
    return made;
}

static attn_explanation *make_frames(void) {
    static const char *const labels[6] = {"sil", "k", "k", "ae", "ae", "t"};
    attn_explanation *made = test_explanation_rows(group_context, 6);
    at_scene *scene = &made->scene;
    scene->kind = AT_SCENE_FRAMES;
    scene->begin = 0.0125;
    scene->step = 0.01;
    scene->bins = 4;
    scene->spectrum = at_allocate(group_context, 24, sizeof(float), "a test");
    for (int i = 0; i < 24; i++) scene->spectrum[i] = (float)(i * 7 % 24);
    for (int r = 0; r < 6; r++) test_explanation_answer(made, labels[r], 0.5);
    test_explanation_map(made, ATTN_MAP_ENCODER, 2, 6, 6, 1);
    test_explanation_contribute(made, 3);
    return made;
}

static attn_explanation *make_picture(void) {
    attn_explanation *made = test_explanation_rows(group_context, 4);
    at_scene *scene = &made->scene;
    scene->kind = AT_SCENE_GRID;
    scene->grid_height = scene->grid_width = scene->patch = scene->stride = 2;
    scene->pixel_height = scene->pixel_width = 4;
    scene->pixels = at_allocate(group_context, 48, 1, "a test");
    for (int i = 0; i < 48; i++) scene->pixels[i] = (unsigned char)(i * 5);
    test_explanation_map(made, ATTN_MAP_ENCODER, 2, 4, 4, 1);
    test_explanation_answer(made, "7", 0.8);
    test_explanation_contribute(made, 3);
    return made;
}

static void add_edges(attn_explanation *made, const int64_t *from, const int64_t *to, int64_t edges) {
    at_scene *scene = &made->scene;
    scene->kind = AT_SCENE_GRAPH;
    scene->edges = edges;
    scene->from = at_allocate(group_context, edges, sizeof *scene->from, "a test");
    scene->to = at_allocate(group_context, edges, sizeof *scene->to, "a test");
    memcpy(scene->from, from, (size_t)edges * sizeof *from);
    memcpy(scene->to, to, (size_t)edges * sizeof *to);
}

static attn_explanation *make_graph(void) {
    static const int64_t from[] = {0, 1, 2, 2}, to[] = {1, 2, 0, 3};
    static const char *const labels[4] = {"red", "red", "blue", "blue"};
    attn_explanation *made = test_explanation(group_context, words);
    add_edges(made, from, to, 4);
    test_explanation_edges(made, 2, 1);
    for (int r = 0; r < 4; r++) test_explanation_answer(made, labels[r], 0.5);
    return made;
}

/* Benzoate, with a charge. */
static attn_explanation *make_molecule(void) {
    static const char *const symbols[] = {"C", "C", "C", "C", "C", "C", "C", "O", "O", NULL};
    static const int bonds[] = {0, 1, 2, 1, 2, 1, 2, 3, 2, 3, 4, 1, 4, 5,
                                2, 5, 0, 1, 0, 6, 1, 6, 7, 2, 6, 8, 1, -1};
    attn_explanation *made = test_explanation(group_context, symbols);
    test_explanation_molecule(made, symbols, bonds);
    made->scene.charge[8] = -1;
    test_explanation_edges(made, 2, 1);
    test_explanation_answer(made, "-1.42", NAN);
    test_explanation_contribute(made, 3);
    return made;
}

typedef attn_explanation *(*maker)(void);
static const maker makers[] = {make_words,   make_bars,  make_pairs,   make_frames,
                               make_picture, make_graph, make_molecule};
enum { MAKERS = sizeof makers / sizeof makers[0] };

/* ---- drawing ---- */

static attn_drawing_options plain(void) {
    attn_drawing_options options;
    attn_drawing_options_init(&options);
    return options;
}

static const char *draw_sized(attn_explanation *explanation, const attn_drawing_options *options,
                              size_t *length) {
    const char *bytes = NULL;
    attn_status status = attn_explanation_write(explanation, options, &bytes, length);
    if (status != ATTN_OK) fail_msg("%s", group_context->error);
    if (options->format == ATTN_DRAWING_SVG && markup_fault(bytes)) fail_msg("%s", markup_fault(bytes));
    return bytes;
}

/* Whether this build draws PNG; without, it names what it lacks. */
static int draws_png(void) {
    at_canvas *canvas;
    if (at_canvas_create(group_context, ATTN_DRAWING_PNG, 0, 1, &canvas) == ATTN_OK) {
        at_canvas_destroy(canvas);
        return 1;
    }
    assert_non_null(strstr(group_context->error, "libpango1.0-dev"));
    return 0;
}

static const char *draw(attn_explanation *explanation, const attn_drawing_options *options) {
    size_t length;
    return draw_sized(explanation, options, &length);
}

static char *copy(const char *text) {
    char *made = malloc(strlen(text) + 1);
    assert_non_null(made);
    return strcpy(made, text);
}

/* ---- golden files ---- */

static void compare_golden(const char *name, const char *svg) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.svg", GOLDEN_FOLDER, name);
    size_t length = strlen(svg);
    const char *mode = getenv("ATTN_TEST_GOLDEN");
    if (mode && strcmp(mode, "write") == 0) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(svg, 1, length, file), length);
        assert_int_equal(fclose(file), 0);
    }
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be read", path);
    char *golden = malloc(length + 2);
    assert_non_null(golden);
    size_t count = fread(golden, 1, length + 1, file);
    fclose(file);
    size_t same = 0;
    while (same < count && same < length && golden[same] == svg[same]) same++;
    int equal = same == length && count == length;
    free(golden);
    if (!equal) fail_msg("%s differs at byte %d: %.60s", path, (int)same, svg + same);
}

static void check_golden(const char *name, maker make, const attn_drawing_options *options) {
    attn_explanation *explanation = make();
    compare_golden(name, draw(explanation, options));
    attn_explanation_destroy(explanation);
}

static void test_golden(void **state) {
    (void)state;
    attn_drawing_options options = plain();
    check_golden("bars", make_bars, &options);
    check_golden("frames", make_frames, &options);
    check_golden("picture", make_picture, &options);
    check_golden("graph", make_graph, &options);
    check_golden("molecule", make_molecule, &options);
    check_golden("alignment", make_pairs, &options);
    options.head = 1;
    check_golden("matrix", make_words, &options);
    options.head = -1;
    options.grid = 1;
    check_golden("grid", make_words, &options);
    options.grid = 0;
    options.view = ATTN_VIEW_GRADIENT;
    options.dark = 1;
    check_golden("gradient_dark", make_words, &options);
}

static void test_golden_positions(void **state) {
    (void)state;
    attn_drawing_options options = plain();
    char *bytes;
    size_t length;
    assert_int_equal(attn_positions_write(group_context, NULL, 8, 6, &options, &bytes, &length), ATTN_OK);
    assert_null(markup_fault(bytes));
    compare_golden("positions", bytes);
    attn_explain_release(group_context, bytes);
}

/* ---- what changes a drawing ---- */

static void test_choices_change_it(void **state) {
    (void)state;
    attn_explanation *explanation = make_words();
    attn_drawing_options options = plain();
    char *mean = copy(draw(explanation, &options));
    char *first, *changed;
    options.head = 0;
    first = copy(draw(explanation, &options));
    assert_string_not_equal(mean, first);
    options.head = 1;
    assert_string_not_equal(first, draw(explanation, &options));
    options.head = 0;
    options.layer = 0;
    assert_string_not_equal(first, draw(explanation, &options));
    options.layer = -1;
    ((float *)(uintptr_t)explanation->maps[1].weights)[1] += 0.05f; /* head 1 of layer 2 */
    changed = copy(draw(explanation, &options));
    assert_string_not_equal(first, changed);
    options.head = 1;
    options.title = "a title";
    assert_non_null(strstr(draw(explanation, &options), "a title"));
    assert_null(strstr(draw(explanation, &options), "positive"));
    free(mean);
    free(first);
    free(changed);
    attn_explanation_destroy(explanation);
}

/* A row that is requested; the same drawing twice. */
static void test_rows_change_scenes(void **state) {
    (void)state;
    for (int m = 0; m < MAKERS; m++) {
        if (makers[m] == make_bars) continue;
        attn_explanation *explanation = makers[m]();
        attn_drawing_options options = plain();
        char *all = copy(draw(explanation, &options));
        assert_string_equal(all, draw(explanation, &options));
        options.row = 1;
        assert_string_not_equal(all, draw(explanation, &options));
        free(all);
        attn_explanation_destroy(explanation);
    }
}

static void test_a_neighbourhood(void **state) {
    (void)state;
    enum { NODES = 30 };
    int64_t from[NODES], to[NODES];
    for (int i = 0; i < NODES; i++) from[i] = i, to[i] = (i + 1) % NODES;
    attn_explanation *explanation = test_explanation_rows(group_context, NODES);
    add_edges(explanation, from, to, NODES);
    test_explanation_edges(explanation, 1, 1);
    test_explanation_answer(explanation, "ring", 1);
    attn_drawing_options options = plain();
    options.most = 5;
    options.row = 10;
    const char *svg = draw(explanation, &options);
    assert_non_null(strstr(svg, "5 of 30 nodes"));
    assert_non_null(strstr(svg, ">12</text>"));
    assert_null(strstr(svg, ">13</text>"));
    attn_explanation_destroy(explanation);
}

/* ---- hostile, empty, broken ---- */

static void test_hostile_names(void **state) {
    (void)state;
    static const char *const hostile[] = {"</svg><script>alert(1)</script>", "]]>\"'&", "a\x01\x1b\xff\nb",
                                          "\xe2\x80\xaetxt.exe\xe2\x80\xac\xe2\x81\xa7", NULL};
    static const int64_t from[] = {0, 1, 2}, to[] = {1, 2, 3};
    static const int bonds[] = {0, 1, 1, 1, 2, 2, 2, 3, 3, -1};
    for (int kind = 0; kind < 4; kind++) {
        attn_explanation *explanation = test_explanation(group_context, hostile);
        for (int r = 0; r < 4; r++) test_explanation_answer(explanation, hostile[r], 0.5);
        if (kind == 1) add_edges(explanation, from, to, 3);
        if (kind == 2) test_explanation_molecule(explanation, hostile, bonds);
        if (kind < 3) test_explanation_map(explanation, ATTN_MAP_ENCODER, 2, 4, 4, 1);
        test_explanation_contribute(explanation, 1);
        attn_drawing_options options = plain();
        options.title = hostile[kind];
        for (int asked = -1; asked < 2; asked++) {
            explanation->asked_row = asked;
            options.row = kind < 3 ? asked : -1;
            draw(explanation, &options); /* looks at the markup */
            options.format = draws_png() ? ATTN_DRAWING_PNG : ATTN_DRAWING_SVG;
            draw(explanation, &options);
            options.format = ATTN_DRAWING_SVG;
        }
        attn_explanation_destroy(explanation);
    }
}

static void test_tiny_ones(void **state) {
    (void)state;
    static const char *const none[] = {NULL}, *const one[] = {"word", NULL};
    for (int rows = 0; rows < 2; rows++) {
        attn_explanation *explanation = test_explanation(group_context, rows ? one : none);
        test_explanation_map(explanation, ATTN_MAP_ENCODER, 1, rows, rows, 1);
        test_explanation_contribute(explanation, 1);
        attn_drawing_options options = plain();
        draw(explanation, &options);
        options.grid = 1;
        draw(explanation, &options);
        options.grid = 0;
        for (int kind = AT_SCENE_GRAPH; kind <= AT_SCENE_FRAMES; kind++) {
            if (kind == AT_SCENE_MOLECULE) continue;
            explanation->scene.kind = (at_scene_kind)kind;
            draw(explanation, &options);
        }
        attn_explanation_destroy(explanation);
    }
}

static void test_no_numbers(void **state) {
    (void)state;
    for (int m = 0; m < MAKERS; m++) {
        attn_explanation *explanation = makers[m]();
        for (int64_t i = 0; i < explanation->map_count; i++) {
            const attn_map *map = &explanation->maps[i];
            float *weights = (float *)(uintptr_t)map->weights;
            for (int64_t w = 0; w < map->heads * map->entries; w++) weights[w] = w % 3 ? NAN : INFINITY;
        }
        for (int64_t r = 0; explanation->contributions && r < explanation->rows.count; r++)
            explanation->contributions[r] = NAN;
        attn_drawing_options options = plain();
        const char *svg = draw(explanation, &options);
        assert_null(strstr(svg, "\"nan"));
        assert_null(strstr(svg, "\"inf"));
        options.format = draws_png() ? ATTN_DRAWING_PNG : ATTN_DRAWING_SVG;
        draw(explanation, &options);
        attn_explanation_destroy(explanation);
    }
}

static void test_nothing_to_draw(void **state) {
    (void)state;
    attn_explanation *explanation = test_explanation(group_context, words);
    attn_drawing_options options = plain();
    const char *bytes;
    size_t length;
    assert_int_equal(attn_explanation_write(explanation, &options, &bytes, &length), ATTN_UNSUPPORTED);
    assert_non_null(strstr(group_context->error, "gradients"));
    attn_explanation_destroy(explanation);
    explanation = make_words();
    options.scale = 1000;
    options.format = ATTN_DRAWING_PNG;
    assert_int_equal(attn_explanation_write(explanation, &options, &bytes, &length), ATTN_INVALID_ARGUMENT);
    attn_explanation_destroy(explanation);
}

static void test_many_rows(void **state) {
    (void)state;
    static const int64_t counts[] = {13, 41, 65, 90, 300};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        attn_explanation *explanation = test_explanation_rows(group_context, counts[i]);
        test_explanation_map(explanation, ATTN_MAP_ENCODER, 1, counts[i], counts[i], 1);
        attn_drawing_options options = plain();
        size_t length;
        const char *svg = draw_sized(explanation, &options, &length);
        assert_true(length < 1 << 20);
        assert_true((strstr(svg, "<image") != NULL) == (counts[i] > 64));
        assert_true((strstr(svg, "</title><rect") != NULL) == (counts[i] <= 64));
        test_explanation_contribute(explanation, 1);
        attn_explanation_destroy(explanation);
    }
}

/* ---- pixels ---- */

static double attribute(const char *tag, const char *name) {
    const char *at = strstr(tag, name);
    assert_non_null(at);
    return atof(at + strlen(name));
}

/* The first cell of the SVG has the same colour at the same place of the PNG. */
static void test_pixels(void **state) {
    (void)state;
    at_pictures pictures = {0};
    at_image_decoding now = {.context = group_context, .pictures = &pictures, .limit = 1 << 28};
    assert_int_equal(at_image_decode(&now, "\x89PNG\r\n\x1a\n", 8), ATTN_INVALID_ARGUMENT);
    if (!draws_png() || strstr(now.reason, "libpng")) skip();
    attn_explanation *explanation = make_words();
    attn_drawing_options options = plain();
    const char *cell = strstr(draw(explanation, &options), "</title><rect ");
    assert_non_null(cell);
    double x = attribute(cell, " x=\""), y = attribute(cell, " y=\"");
    unsigned color = (unsigned)strtoul(strstr(cell, "fill=\"#") + 7, NULL, 16);
    const char *svg = draw(explanation, &options);
    double width = attribute(svg, " width=\""), height = attribute(svg, " height=\"");
    options.format = ATTN_DRAWING_PNG;
    size_t length;
    const char *png = draw_sized(explanation, &options, &length);
    attn_status status = at_image_decode(&now, png, length);
    assert_int_equal(status, ATTN_OK);
    assert_true(now.made.width == 2 * width && now.made.height == 2 * height);
    int64_t place = ((int64_t)(2 * y + 6) * now.made.width + (int64_t)(2 * x + 6)) * now.made.channels;
    const unsigned char *pixel = pictures.bytes + now.made.first + place;
    assert_int_equal((unsigned)pixel[0] << 16 | (unsigned)pixel[1] << 8 | pixel[2], color);
    assert_int_not_equal(color, 0xffffff);
    at_pictures_free(group_context, &pictures);
    attn_explanation_destroy(explanation);
}

static void test_no_memory(void **state) {
    (void)state;
    for (int m = 0; m < MAKERS; m++) {
        attn_explanation *explanation = makers[m]();
        attn_drawing_options options = plain();
        attn_status status = ATTN_OUT_OF_MEMORY;
        const char *bytes;
        size_t length;
        for (int64_t n = 1; n < 2000 && status != ATTN_OK; n++) {
            at_writer_free(&explanation->bytes);
            group_counter.fail_at = n;
            status = attn_explanation_write(explanation, &options, &bytes, &length);
            group_counter.fail_at = 0;
            if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        }
        assert_int_equal(status, ATTN_OK);
        attn_explanation_destroy(explanation);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
                                       cmocka_unit_test(test_golden_positions),
                                       cmocka_unit_test(test_choices_change_it),
                                       cmocka_unit_test(test_rows_change_scenes),
                                       cmocka_unit_test(test_a_neighbourhood),
                                       cmocka_unit_test(test_hostile_names),
                                       cmocka_unit_test(test_tiny_ones),
                                       cmocka_unit_test(test_no_numbers),
                                       cmocka_unit_test(test_nothing_to_draw),
                                       cmocka_unit_test(test_many_rows),
                                       cmocka_unit_test(test_pixels),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
