/* page_scene.c: how the rows of the input look, as the page draws them: places of nodes and atoms, the bytes
 * of spectra and pictures.
 */
#include "explain/page.h"

#include "base/memory.h"
#include "explain/bonds.h"
#include "explain/layout.h"

#include <math.h>

/* Graphs with more nodes are shown one neighbourhood at a time, which the page itself arranges. */
static const int64_t placed_nodes = 300;

static void put_small_numbers(at_writer *writer, const char *name, const int8_t *numbers, int64_t count) {
    if (!numbers) return;
    at_print(writer, ",\"%s\":[", name);
    for (int64_t i = 0; i < count; i++) at_print(writer, i ? ",%d" : "%d", numbers[i]);
    at_put_char(writer, ']');
}

static void put_places(at_writer *writer, const char *name, const double *places, int64_t count) {
    at_print(writer, ",\"%s\":[", name);
    for (int64_t i = 0; i < count; i++) at_print(writer, i ? ",%.4f" : "%.4f", places[i]);
    at_put_char(writer, ']');
}

static attn_status put_nodes(const attn_explanation *explanation, const attn_drawing_options *options,
                             at_writer *writer) {
    const at_scene *scene = &explanation->scene;
    attn_context *context = explanation->context;
    attn_status status = ATTN_OK;
    at_print(writer, ",\"directed\":%d,\"most\":%lld,\"from\":", scene->directed,
             options ? (long long)options->most : 60ll);
    at_put_whole_numbers(writer, scene->from, scene->edges);
    at_print(writer, ",\"to\":");
    at_put_whole_numbers(writer, scene->to, scene->edges);
    if (scene->kind == AT_SCENE_GRAPH && scene->rows > placed_nodes) return writer->status;
    double *x = at_allocate(context, scene->rows, sizeof(double), "a layout");
    double *y = at_allocate(context, scene->rows, sizeof(double), "a layout");
    if (!x || !y) status = ATTN_OUT_OF_MEMORY;
    if (!status && scene->kind == AT_SCENE_GRAPH)
        status = at_layout_graph(context, scene->rows, scene->edges, scene->from, scene->to,
                                 options ? options->seed : 1, x, y);
    if (!status && scene->kind == AT_SCENE_MOLECULE) status = at_formula_lay_out(context, scene, x, y);
    if (!status) {
        put_places(writer, "x", x, scene->rows);
        put_places(writer, "y", y, scene->rows);
    }
    at_release(context, x);
    at_release(context, y);
    return status;
}

/* Spectra in 256 shades between their lowest and highest number; a silence far below all else would leave few
 * shades to the rest, so the range ends four deviations from the mean. */
static attn_status put_frames(const attn_explanation *explanation, at_writer *writer) {
    const at_scene *scene = &explanation->scene;
    int64_t count = at_scene_spectra(scene) * scene->bins;
    double sum = 0, squares = 0;
    unsigned char *shades = at_allocate(explanation->context, count, 1, "a page");
    if (!shades) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        double number = isfinite(scene->spectrum[i]) ? (double)scene->spectrum[i] : 0;
        sum += number;
        squares += number * number;
    }
    double mean = count ? sum / (double)count : 0;
    double spread = count ? sqrt(fmax(squares / (double)count - mean * mean, 0)) : 0;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        double number = isfinite(scene->spectrum[i]) ? (double)scene->spectrum[i] : 0;
        low = fmin(low, fmax(number, mean - 4 * spread));
        high = fmax(high, fmin(number, mean + 4 * spread));
    }
    for (int64_t i = 0; i < count; i++) {
        double number = isfinite(scene->spectrum[i]) ? (double)scene->spectrum[i] : 0;
        double part = high > low ? (number - low) / (high - low) : 0;
        shades[i] = (unsigned char)(255 * fmin(fmax(part, 0), 1) + 0.5);
    }
    at_print(writer, ",\"begin\":%.9g,\"step\":%.9g,\"bins\":%lld,\"spectrum\":", scene->begin, scene->step,
             (long long)scene->bins);
    at_put_base64(writer, shades, count);
    at_release(explanation->context, shades);
    return writer->status;
}

static void put_grid(const at_scene *scene, at_writer *writer) {
    at_print(writer, ",\"top\":%lld,\"left\":%lld", (long long)scene->top, (long long)scene->left);
    at_print(writer, ",\"grid_height\":%lld,\"grid_width\":%lld,\"patch\":%lld,\"stride\":%lld",
             (long long)scene->grid_height, (long long)scene->grid_width, (long long)scene->patch,
             (long long)scene->stride);
    at_print(writer,
             ",\"pixel_height\":%lld,\"pixel_width\":%lld,\"pixels\":", (long long)scene->pixel_height,
             (long long)scene->pixel_width);
    at_put_base64(writer, scene->pixels, scene->pixel_height * scene->pixel_width * 3);
}

attn_status at_put_scene(const attn_explanation *explanation, const attn_drawing_options *options,
                         at_writer *writer) {
    static const char *const names[] = {"rows", "graph", "molecule", "frames", "grid"};
    const at_scene *scene = &explanation->scene;
    attn_status status = ATTN_OK;
    at_print(writer, ",\n\"scene\":{\"kind\":\"%s\",\"rows\":%lld", names[scene->kind],
             (long long)scene->rows);
    if (scene->kind == AT_SCENE_GRAPH || scene->kind == AT_SCENE_MOLECULE)
        status = put_nodes(explanation, options, writer);
    if (scene->kind == AT_SCENE_MOLECULE && !status) {
        put_small_numbers(writer, "order", scene->order, scene->edges);
        put_small_numbers(writer, "charge", scene->charge, scene->rows);
        put_small_numbers(writer, "hydrogens", scene->hydrogens, scene->rows);
        at_print(writer, ",\"symbols\":");
        at_put_names(writer, &scene->symbols);
    }
    if (scene->kind == AT_SCENE_FRAMES) status = put_frames(explanation, writer);
    if (scene->kind == AT_SCENE_GRID) put_grid(scene, writer);
    at_put_char(writer, '}');
    return status ? status : writer->status;
}
