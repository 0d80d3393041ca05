/* test_page.c: the page of an explanation: well-formed, closed to the network and to hostile names, its
 * numbers within 0.0005, small and quickly written. With ATTN_PAGE_FOLDER in the environment the pages are
 * left there, for tests/test_page_browser.sh, which opens them in a browser.
 */
#include "support/check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explain/explain.h"
#include "explain/page_code.h"
#include "support/contexts.h"
#include "support/fake_explanation.h"

static attn_context *context;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0) return -1;
    context = test_best_context(1);
    return 0;
}

static double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- pages ---- */

typedef struct made_page {
    attn_explanation *explanation;
    at_writer writer;
    double seconds;
    json_t *data;
} made_page;

static void keep(const made_page *page, const char *name) {
    const char *folder = getenv("ATTN_PAGE_FOLDER");
    char path[1024];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s.html", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(page->writer.bytes, 1, (size_t)page->writer.count, file), page->writer.count);
    assert_int_equal(fclose(file), 0);
}

static made_page make_page(attn_explanation *explanation, const char *name, const char *title) {
    made_page page = {.explanation = explanation, .writer.context = context};
    attn_drawing_options options, chosen;
    attn_drawing_options_init(&options);
    options.format = ATTN_DRAWING_HTML;
    options.title = title;
    assert_int_equal(at_drawing_choose(explanation, &options, &chosen), ATTN_OK);
    double begin = now();
    if (at_write_page(explanation, &chosen, &page.writer) != ATTN_OK)
        fail_msg("%s", attn_context_error(context));
    page.seconds = now() - begin;
    keep(&page, name);
    static const char mark[] = "<script type=\"application/json\" id=\"data\">";
    const char *data = strstr(page.writer.bytes, mark);
    assert_non_null(data);
    data += strlen(mark);
    json_error_t error;
    page.data = json_loadb(data, (size_t)(strstr(data, "</script>") - data), 0, &error);
    if (!page.data) fail_msg("%s: %s at %d", name, error.text, error.position);
    return page;
}

static void free_page(made_page *page) {
    json_decref(page->data);
    at_writer_free(&page->writer);
    attn_explanation_destroy(page->explanation);
}

/* ---- a decoder of its own ---- */

typedef struct bit_reader {
    unsigned char *bytes;
    int64_t place;
} bit_reader;

static uint32_t take(bit_reader *bits, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++, bits->place++)
        value = value << 1 | (bits->bytes[bits->place / 8] >> (7 - bits->place % 8) & 1u);
    return value;
}

static uint32_t take_rice(bit_reader *bits, int k) {
    uint32_t ones = 0;
    while (ones < AT_CODE_ESCAPE && take(bits, 1)) ones++;
    if (ones == AT_CODE_ESCAPE) return take(bits, AT_CODE_PLAIN_BITS);
    return ones << k | take(bits, k);
}

static unsigned char *from_base64(const char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *bytes = calloc(strlen(text) / 4 * 3 + 16, 1);
    assert_non_null(bytes);
    assert_int_equal(strlen(text) % 4, 0);
    for (size_t i = 0; text[i]; i++) {
        if (text[i] == '=') continue;
        uint32_t digit = (uint32_t)(strchr(digits, text[i]) - digits);
        for (int b = 0; b < 6; b++)
            bytes[(i * 6 + (size_t)b) / 8] |=
                (unsigned char)((digit >> (5 - b) & 1) << (7 - (i * 6 + (size_t)b) % 8));
    }
    return bytes;
}

/* numbers: [queries][keys]. */
static void decode(const attn_map *map, const json_t *code, int has_sign, double *numbers) {
    int64_t most = 0;
    for (int64_t q = 0; q < map->queries; q++)
        if (attn_map_entries(map, q) > most) most = attn_map_entries(map, q);
    int top = most > AT_PAGE_LONG, k = (int)json_integer_value(json_object_get(code, "k"));
    int g = (int)json_integer_value(json_object_get(code, "g"));
    double step = json_number_value(json_object_get(code, "step"));
    bit_reader bits = {.bytes = from_base64(json_string_value(json_object_get(code, "bits")))};
    memset(numbers, 0, (size_t)(map->queries * map->keys) * sizeof *numbers);
    uint32_t mean = 16u << k;
    for (int64_t q = 0; q < map->queries; q++) {
        int64_t count = take(&bits, at_count_bits(top ? AT_PAGE_TOP : most)), next = 0;
        for (int64_t e = 0; e < count; e++) {
            if (top) next += take_rice(&bits, g);
            int64_t key = top ? next++ : attn_map_key(map, q, e);
            uint32_t steps = take_rice(&bits, k);
            mean += steps - mean / 16;
            for (k = 0; mean / 16 >> (k + 1);) k++;
            double number = !has_sign ? steps : steps & 1 ? -(double)((steps + 1) / 2) : steps / 2;
            if (key >= 0) numbers[q * map->keys + key] = number * step;
        }
    }
    free(bits.bytes);
}

static const json_t *layer_of(const made_page *page, int part, size_t layer) {
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(page->data, "parts"), i,
                       one) if (json_integer_value(json_object_get(one, "part")) ==
                                part) return json_array_get(json_object_get(one, "layers"), layer);
    return NULL;
}

/* Every weight of every head, the means, the products and the rollouts; of long rows those that are stored.
 */
static void check_numbers(const made_page *page) {
    const attn_explanation *explanation = page->explanation;
    for (int64_t m = 0; m < explanation->map_count; m++) {
        const attn_map *map = &explanation->maps[m];
        const json_t *layer = layer_of(page, (int)map->part, (size_t)map->layer);
        int64_t count = map->queries * map->keys;
        double *stored = calloc((size_t)count, sizeof *stored), *exact = calloc((size_t)count, sizeof *exact);
        assert_non_null(layer);
        int top = (int)json_integer_value(json_object_get(layer, "top"));
        for (int view = ATTN_VIEW_WEIGHTS; view <= ATTN_VIEW_GRADIENT; view++) {
            const char *const lists[] = {"weights", "", "products"}, *const means[] = {"mean", "rollout",
                                                                                       "product_mean"};
            attn_map dense = {.queries = map->queries, .keys = map->keys, .width = map->keys};
            if (view == ATTN_VIEW_ROLLOUT && map->part > ATTN_MAP_DECODER) continue;
            if (view == ATTN_VIEW_GRADIENT && !map->gradients) continue;
            for (int64_t h = view == ATTN_VIEW_ROLLOUT ? -1 : map->heads - 1; h >= -1; h--) {
                const json_t *code = h < 0 ? json_object_get(layer, means[view])
                                           : json_array_get(json_object_get(layer, lists[view]), (size_t)h);
                assert_non_null(code);
                decode(view == ATTN_VIEW_ROLLOUT ? &dense : map, code, view == ATTN_VIEW_GRADIENT, stored);
                assert_int_equal(
                    attn_explanation_view(explanation, (attn_view)view, map->part, map->layer, h, exact),
                    ATTN_OK);
                double most = 1;
                for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(exact[i]));
                for (int64_t i = 0; i < count; i++)
                    if ((stored[i] != 0 || !top) && fabs(stored[i] - exact[i]) > 0.0005 * most + 1e-6)
                        fail_msg("view %d, layer %d, head %d, place %d: %g, not %g", view, (int)map->layer,
                                 (int)h, (int)i, stored[i], exact[i]);
            }
        }
        free(stored);
        free(exact);
    }
}

static int64_t count_of(const made_page *page, const char *text) {
    int64_t count = 0;
    for (const char *at = page->writer.bytes; (at = strstr(at, text)); at += strlen(text)) count++;
    return count;
}

/* One document that refers to nothing. */
static void check_document(const made_page *page) {
    const char *text = page->writer.bytes;
    assert_int_equal(strlen(text), page->writer.count);
    assert_ptr_equal(strstr(text, "<!DOCTYPE html>"), text);
    assert_non_null(strstr(text, "default-src 'none'"));
    assert_int_equal(count_of(page, "https:"), 0);
    assert_int_equal(count_of(page, "http:"), count_of(page, "http://www.w3.org/2000/svg"));
    assert_int_equal(count_of(page, "url("), 0);
    assert_int_equal(count_of(page, "@import"), 0);
    assert_int_equal(count_of(page, "innerHTML"), 0);
    assert_int_equal(count_of(page, "<script"), 2);
    assert_int_equal(count_of(page, "</script>"), 2);
    for (size_t i = 0; i < 6; i++) {
        static const char *const ends[] = {"</html>", "</body>",  "</head>",
                                           "</main>", "</style>", "</title>"};
        assert_int_equal(count_of(page, ends[i]), 1);
    }
}

/* ---- explanations ---- */

static attn_explanation *tagged(void) {
    attn_explanation *explanation = fake_explanation(context, "text", "tag", "word");
    fake_names(explanation, &explanation->rows, "I saw the old saw that my brother bought in town .");
    fake_names(explanation, &explanation->answers,
               "PRON VERB DET ADJ NOUN PRON PRON NOUN VERB ADP NOUN PUNCT");
    fake_names(explanation, &explanation->target, "NOUN");
    explanation->asked_row = 4;
    fake_numbers(explanation, 1);
    for (int l = 0; l < 4; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 6,
                                           .queries = 12,
                                           .keys = 12,
                                           .sharpness = 1.5,
                                           .gradients = 1});
    return explanation;
}

static void test_text(void **state) {
    (void)state;
    made_page page = make_page(tagged(), "text", "I saw the old saw that my brother bought in town.");
    check_document(&page);
    check_numbers(&page);
    free_page(&page);
}

static void test_hostile_names(void **state) {
    (void)state;
    static const char *const names[] = {"</script><script>alert(1)</script>",
                                        "<img src=x onerror=alert(2)>",
                                        "&lt;b&gt;\"'\\",
                                        "\xe2\x80\xa8\xe2\x80\xa9",
                                        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                                        "\xd8\xb9\xd8\xb1\xd8\xa8\xd9\x8a",
                                        "<!--",
                                        "\xff\xfe broken",
                                        "\x01\x1b[31m",
                                        "${alert(3)}`",
                                        "\xe2\x80\xaeoverride",
                                        "]]>",
                                        "__proto__"};
    attn_explanation *explanation = fake_explanation(context, "text</script>", "classify<b>", "word\"><i>");
    int64_t count = (int64_t)(sizeof names / sizeof names[0]);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(at_strings_add(context, &explanation->rows, names[i], strlen(names[i])), ATTN_OK);
    assert_int_equal(at_strings_add(context, &explanation->answers, names[0], strlen(names[0])), ATTN_OK);
    assert_int_equal(at_strings_add(context, &explanation->target, names[1], strlen(names[1])), ATTN_OK);
    fake_numbers(explanation, 1);
    fake_map(
        explanation,
        (fake_layer){.part = ATTN_MAP_ENCODER, .heads = 2, .queries = count, .keys = count, .sharpness = 1});
    fake_map(explanation,
             (fake_layer){.part = ATTN_MAP_POOL, .heads = 2, .queries = 1, .keys = count, .sharpness = 1});
    made_page page = make_page(explanation, "hostile", "</title><script>alert(4)</script> & \"quoted\"");
    check_document(&page);
    check_numbers(&page);
    assert_int_equal(count_of(&page, "<img"), 0);
    assert_int_equal(count_of(&page, "<!--"), 0);
    assert_int_equal(count_of(&page, "\xe2\x80\xa8"), 0);
    assert_int_equal(count_of(&page, "\x1b"), 0);
    assert_int_equal(count_of(&page, "\xff"), 0);
    for (int64_t i = 0; i < 7; i++)
        assert_string_equal(json_string_value(json_array_get(json_object_get(page.data, "rows"), (size_t)i)),
                            names[i]);
    free_page(&page);
}

static void test_written(void **state) {
    (void)state;
    attn_explanation *explanation = fake_explanation(context, "text", "seq2seq", "word");
    fake_names(explanation, &explanation->rows,
               "der kleine Hund schl\xc3\xa4"
               "ft heute im Garten");
    fake_names(explanation, &explanation->written, "the small dog sleeps in the garden today </s>");
    fake_names(explanation, &explanation->preceding, "<s> the small dog sleeps in the garden today");
    assert_int_equal(
        at_strings_add(context, &explanation->answers, "the small dog sleeps in the garden today", 40),
        ATTN_OK);
    fake_numbers(explanation, 1);
    explanation->members = 3;
    for (int l = 0; l < 2; l++) {
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 4,
                                           .queries = 7,
                                           .keys = 7,
                                           .sharpness = 2,
                                           .gradients = 1});
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_DECODER,
                                           .heads = 4,
                                           .queries = 9,
                                           .keys = 9,
                                           .sharpness = 2,
                                           .causal = 1,
                                           .gradients = 1});
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_SOURCE,
                                           .heads = 4,
                                           .queries = 9,
                                           .keys = 7,
                                           .sharpness = 3,
                                           .gradients = 1});
    }
    made_page page = make_page(explanation, "written", NULL);
    check_document(&page);
    check_numbers(&page);
    free_page(&page);
}

/* Weights that no softmax made are shown with their sign; windows at the edges, and rows of one entry. */
static void test_special_shapes(void **state) {
    (void)state;
    attn_explanation *explanation = fake_explanation(context, "vectors", "regress", "row");
    fake_numbered(explanation, &explanation->rows, "v", 40);
    fake_names(explanation, &explanation->answers, "3.25");
    fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                       .heads = 3,
                                       .queries = 40,
                                       .keys = 40,
                                       .sharpness = 1,
                                       .reach = 4,
                                       .gradients = 1});
    fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                       .heads = 3,
                                       .queries = 40,
                                       .keys = 40,
                                       .sharpness = 9,
                                       .reach = 4,
                                       .gradients = 1});
    made_page page = make_page(explanation, "window", NULL);
    check_document(&page);
    check_numbers(&page);
    free_page(&page);

    explanation = fake_explanation(context, "vectors", "regress", "row");
    fake_numbered(explanation, &explanation->rows, "v", 5);
    fake_map(explanation,
             (fake_layer){.part = ATTN_MAP_ENCODER, .heads = 1, .queries = 5, .keys = 5, .sharpness = 1});
    float *weights = (float *)(uintptr_t)explanation->maps[0].weights;
    weights[3] = -17.25f;
    weights[7] = 8123.4f;
    weights[8] = NAN;
    page = make_page(explanation, "raw", NULL);
    double numbers[25];
    const json_t *layer = layer_of(&page, ATTN_MAP_ENCODER, 0);
    assert_int_equal(json_integer_value(json_object_get(layer, "signed")), 1);
    decode(&explanation->maps[0], json_array_get(json_object_get(layer, "weights"), 0), 1, numbers);
    assert_float_equal(numbers[3], -17.25, 0.0005);
    assert_float_equal(numbers[7], 8123.4, 0.001);
    assert_true(numbers[8] == 0);
    free_page(&page);
}

static void test_no_attention(void **state) {
    (void)state;
    attn_explanation *explanation = fake_explanation(context, "text", "classify", "word");
    fake_names(explanation, &explanation->rows, "a quiet , funny and very moving film with one weak joke");
    fake_names(explanation, &explanation->answers, "positive");
    fake_names(explanation, &explanation->target, "positive");
    fake_numbers(explanation, 1);
    made_page page = make_page(explanation, "contributions", NULL);
    check_document(&page);
    assert_int_equal(json_array_size(json_object_get(page.data, "parts")), 0);
    assert_int_equal(json_array_size(json_object_get(page.data, "contributions")), explanation->rows.count);
    free_page(&page);
}

static void test_scenes(void **state) {
    (void)state;
    attn_explanation *explanation = fake_explanation(context, "graph", "tag", "node");
    fake_graph(explanation, 34, 3);
    for (int64_t i = 0; i < 34; i++)
        fake_names(explanation, &explanation->answers, i % 3 ? "instructor" : "president");
    fake_numbers(explanation, 1);
    for (int l = 0; l < 2; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 4,
                                           .queries = 34,
                                           .keys = 34,
                                           .sharpness = 1,
                                           .graph = 1,
                                           .gradients = 1});
    made_page page = make_page(explanation, "graph", NULL);
    check_document(&page);
    check_numbers(&page);
    assert_int_equal(json_array_size(json_object_get(json_object_get(page.data, "scene"), "x")), 34);
    free_page(&page);

    explanation = fake_explanation(context, "graph", "tag", "node");
    fake_graph(explanation, 900, 7);
    fake_map(
        explanation,
        (fake_layer){
            .part = ATTN_MAP_ENCODER, .heads = 2, .queries = 900, .keys = 900, .sharpness = 1, .graph = 1});
    page = make_page(explanation, "large_graph", NULL);
    check_document(&page);
    free_page(&page);

    explanation = fake_explanation(context, "molecule", "regress", "atom");
    fake_caffeine(explanation);
    fake_names(explanation, &explanation->answers, "-0.87");
    fake_names(explanation, &explanation->target, "solubility");
    fake_numbers(explanation, 1);
    explanation->probabilities[0] = NAN;
    for (int l = 0; l < 3; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 4,
                                           .queries = 17,
                                           .keys = 17,
                                           .sharpness = 1,
                                           .graph = 1,
                                           .gradients = 1});
    page = make_page(explanation, "molecule", "Caffeine and a salt");
    check_document(&page);
    check_numbers(&page);
    free_page(&page);

    explanation = fake_explanation(context, "speech", "tag", "frame");
    fake_frames(explanation, 240, 40);
    fake_numbers(explanation, 1);
    for (int l = 0; l < 3; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 4,
                                           .queries = 240,
                                           .keys = 240,
                                           .sharpness = 1,
                                           .gradients = 1});
    page = make_page(explanation, "frames", NULL);
    check_document(&page);
    check_numbers(&page);
    free_page(&page);

    explanation = fake_explanation(context, "image", "classify", "patch");
    fake_picture(explanation, 28, 4);
    fake_names(explanation, &explanation->answers, "zero");
    fake_names(explanation, &explanation->target, "zero");
    fake_numbers(explanation, 1);
    for (int l = 0; l < 3; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 4,
                                           .queries = 49,
                                           .keys = 49,
                                           .sharpness = 1,
                                           .gradients = 1});
    page = make_page(explanation, "grid", NULL);
    check_document(&page);
    check_numbers(&page);
    free_page(&page);
}

/* ---- size and time ---- */

static void test_size_and_time(void **state) {
    (void)state;
    attn_explanation *explanation = fake_explanation(context, "text", "tag", "word");
    fake_numbered(explanation, &explanation->rows, "word", 200);
    fake_numbered(explanation, &explanation->answers, "T", 200);
    fake_numbers(explanation, 1);
    for (int l = 0; l < 6; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 8,
                                           .queries = 200,
                                           .keys = 200,
                                           .sharpness = 0.4 + 0.3 * l,
                                           .gradients = 1});
    made_page page = make_page(explanation, "size", NULL);
    for (int again = 0; again < 2; again++) { /* other programs may have taken the processor */
        at_writer writer = {.context = context};
        attn_drawing_options options;
        attn_drawing_options_init(&options);
        double begin = now();
        assert_int_equal(at_write_page(explanation, &options, &writer), ATTN_OK);
        page.seconds = fmin(page.seconds, now() - begin);
        at_writer_free(&writer);
    }
    print_message("6 layers x 8 heads x 200 rows: %.2f MB in %.3f s\n", (double)page.writer.count / 1e6,
                  page.seconds);
    check_numbers(&page);
    assert_true(page.writer.count <= 6000000);
#if defined(NDEBUG) && defined(__x86_64__) /* not where sanitizers watch, or an emulator runs */
    assert_true(page.seconds <= 1);
#endif
    free_page(&page);
}

static void test_long(void **state) {
    (void)state;
    attn_explanation *explanation = fake_explanation(context, "text", "lm", "word");
    fake_numbered(explanation, &explanation->rows, "token", 1000);
    fake_names(explanation, &explanation->answers, "next");
    fake_numbers(explanation, 1);
    for (int l = 0; l < 4; l++)
        fake_map(explanation, (fake_layer){.part = ATTN_MAP_ENCODER,
                                           .heads = 4,
                                           .queries = 1000,
                                           .keys = 1000,
                                           .sharpness = 1.2,
                                           .causal = 1,
                                           .gradients = l == 0});
    made_page page = make_page(explanation, "long", NULL);
    print_message("4 layers x 4 heads x 1000 rows: %.2f MB in %.3f s\n", (double)page.writer.count / 1e6,
                  page.seconds);
    check_document(&page);
    check_numbers(&page);
    /* Of every row the 32 largest are there. */
    const attn_map *map = &explanation->maps[1];
    double *stored = calloc(1000 * 1000, sizeof *stored);
    decode(map, json_array_get(json_object_get(layer_of(&page, 0, 1), "weights"), 2), 0, stored);
    for (int64_t q = 40; q < 1000; q += 97) {
        double least = 1;
        int64_t kept = 0, larger = 0;
        for (int64_t k = 0; k < 1000; k++)
            if (stored[q * 1000 + k] > 0) {
                kept++;
                least = fmin(least, stored[q * 1000 + k]);
            }
        for (int64_t k = 0; k < 1000; k++)
            if (stored[q * 1000 + k] == 0 && (double)attn_map_weight(map, 2, q, k) > least + 0.0005) larger++;
        assert_true(kept > 0 && kept <= AT_PAGE_TOP);
        assert_int_equal(larger, 0);
    }
    free(stored);
    free_page(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),          cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_written),       cmocka_unit_test(test_special_shapes),
        cmocka_unit_test(test_no_attention),  cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_size_and_time), cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, setup, test_contexts_teardown);
}
