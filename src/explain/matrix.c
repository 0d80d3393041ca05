/* matrix.c: weights as a matrix, queries down and keys across; or all layers and heads, small. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/drawing.h"

enum {
    NAMES = 80,    /* more rows or columns: every k-th has its name */
    TOOLTIPS = 64, /* more: cells do not tell their number */
    NUMBERS = 12,  /* more: no numbers in the cells */
    NAME_WIDTH = 112
};

/* Where everything of one matrix stands. */
typedef struct plan {
    int64_t queries, keys;
    double left, top, across, down; /* of the cells; the size of one */
    double font;
    int64_t query_step, key_step; /* every so-manieth has a name */
    double degrees;               /* of the names of columns */
    const at_strings *query_names, *key_names, *answers;
    double answer_width;
} plan;

/* The side of a cell, where there are so many: 40 names are still read on paper. */
static double cell_side(int64_t count) {
    double side = 560.0 / (double)(count > 0 ? count : 1);
    if (side > 40) return 40;
    if (side >= 8) return floor(side);
    return side >= 2 ? floor(side * 2) / 2 : fmax(side, 0.7);
}

static double widest(const at_strings *names, int64_t count, int64_t step, double font) {
    char number[AT_NUMBER];
    double most = 0;
    for (int64_t i = 0; i < count; i += step) {
        double width = at_text_width(font, at_name_of(names, i, number));
        if (most < width) most = width;
    }
    return most < NAME_WIDTH ? most : NAME_WIDTH;
}

static int64_t name_step(int64_t count, double side, double font) {
    int64_t step = count > NAMES ? (count + NAMES - 1) / NAMES : 1;
    while (step * side < font) step++;
    static const int64_t nice[] = {1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000};
    for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++)
        if (nice[i] >= step) return nice[i];
    return step;
}

static void plan_sizes(plan *p) {
    p->across = cell_side(p->keys);
    p->down = cell_side(p->queries);
    if (p->queries == p->keys || (p->queries > 4 && p->down > p->across))
        p->down = p->across < 8 && p->queries != p->keys ? fmin(p->down, 14) : p->across;
    if (p->queries <= 4) p->down = fmin(p->down, 28);
    if (p->across > 2 * p->down && p->queries > 4) p->across = 2 * p->down;
    double side = fmin(fmax(p->across, 8), fmax(p->down, 8));
    p->font = fmin(13, fmax(8, side * 0.84));
}

static void plan_matrix(at_drawing *drawing, const at_weights *weights, plan *p) {
    const attn_explanation *explanation = drawing->explanation;
    *p = (plan){.queries = weights->queries, .keys = weights->keys};
    p->query_names = at_query_names(explanation, drawing->map);
    p->key_names = at_key_names(explanation, drawing->map);
    plan_sizes(p);
    p->query_step = name_step(p->queries, p->down, p->font);
    p->key_step = name_step(p->keys, p->across, p->font);
    double names = widest(p->key_names, p->keys, p->key_step, p->font);
    double room = p->across * (double)p->key_step, height;
    p->degrees = names + 4 <= room ? 0 : room * 0.7 >= p->font * 1.25 ? -45 : -90;
    height = p->degrees == 0 ? p->font : p->degrees < -60 ? names : names * 0.71 + p->font * 0.5;
    p->left = ceil(AT_MARGIN + widest(p->query_names, p->queries, p->query_step, p->font) + 6);
    p->top = ceil(AT_HEADING + height + 6);
    if (explanation->answers.count == p->queries && drawing->map->part == ATTN_MAP_ENCODER &&
        p->query_step == 1 && p->queries > 1)
        p->answers = &explanation->answers;
    if (p->answers) p->answer_width = widest(p->answers, p->queries, 1, p->font) + 10;
    double right = p->left + p->across * (double)p->keys;
    if (p->degrees == -45) { /* the last names lean out */
        char number[AT_NUMBER];
        for (int64_t k = 0; k < p->keys; k += p->key_step) {
            double width = fmin(at_text_width(p->font, at_name_of(p->key_names, k, number)), NAME_WIDTH);
            at_drawing_use(drawing, p->left + p->across * ((double)k + 0.5) + width * 0.71 + p->font * 0.5,
                           0);
        }
    }
    at_drawing_use(drawing, right + p->answer_width, p->top + p->down * (double)p->queries);
}

static void draw_names(at_drawing *drawing, const plan *p) {
    at_canvas *canvas = drawing->canvas;
    char number[AT_NUMBER];
    unsigned ink = at_canvas_ink(canvas);
    for (int64_t q = 0; q < p->queries; q += p->query_step) {
        const char *name = at_text_fit(canvas, p->font, at_name_of(p->query_names, q, number), NAME_WIDTH);
        double y = p->top + p->down * ((double)q + 0.5) + p->font * 0.36;
        at_canvas_text(canvas, p->left - 5, y, p->font, AT_ANCHOR_END, 0, ink, q == drawing->options->row,
                       name);
        if (!p->answers) continue;
        name = at_text_fit(canvas, p->font, at_string(p->answers, q), NAME_WIDTH);
        at_canvas_text(canvas, p->left + p->across * (double)p->keys + 7, y, p->font, AT_ANCHOR_START, 0,
                       at_canvas_faint(canvas), 0, name);
    }
    for (int64_t k = 0; k < p->keys; k += p->key_step) {
        const char *name = at_text_fit(canvas, p->font, at_name_of(p->key_names, k, number), NAME_WIDTH);
        double x = p->left + p->across * ((double)k + 0.5), shift = p->degrees == 0 ? 0 : p->font * 0.36;
        if (p->degrees == -45) shift = p->font * 0.25;
        at_canvas_text(canvas, x + shift, p->top - 5, p->font,
                       p->degrees == 0 ? AT_ANCHOR_MIDDLE : AT_ANCHOR_START, p->degrees, ink, 0, name);
    }
}

static void cell_tooltip(at_drawing *drawing, const plan *p, int64_t q, int64_t k, double weight) {
    char number[AT_NUMBER];
    at_drawing_compose(drawing);
    at_drawing_add_name(drawing, at_name_of(p->query_names, q, number));
    at_drawing_add(drawing, " → ");
    at_drawing_add_name(drawing, at_name_of(p->key_names, k, number));
    at_drawing_add(drawing, ": ");
    at_drawing_add(drawing, at_number_fixed(number, weight, 4));
}

/* Each cell by itself: it tells its number, and shows it where there is room. */
static void draw_cells(at_drawing *drawing, const plan *p, const at_weights *weights) {
    at_canvas *canvas = drawing->canvas;
    char number[AT_NUMBER];
    int shown = p->queries <= NUMBERS && p->keys <= NUMBERS && p->across >= 30 && p->down >= 16;
    for (int64_t q = 0; q < p->queries; q++) {
        for (int64_t k = 0; k < p->keys; k++) {
            double weight = weights->numbers[q * p->keys + k];
            if (weight == 0) continue; /* masked, or too far */
            unsigned color = at_weights_color(drawing, weight, weights->most, weights->is_signed);
            double x = p->left + p->across * (double)k, y = p->top + p->down * (double)q;
            cell_tooltip(drawing, p, q, k, weight);
            at_canvas_begin(canvas, at_drawing_composed(drawing));
            at_canvas_rectangle(canvas, x, y, p->across, p->down, color, 1);
            double size = p->across >= 38 ? 11 : 10;
            unsigned ink =
                fabs(weight) < 0.1 * weights->most ? at_canvas_faint(canvas) : at_canvas_readable(color);
            if (shown)
                at_canvas_text(canvas, x + p->across / 2, y + p->down / 2 + size * 0.36, size,
                               AT_ANCHOR_MIDDLE, 0, ink, 0, at_number_fixed(number, weight, 2));
            at_canvas_end(canvas);
        }
    }
}

static attn_status draw_picture(at_drawing *drawing, double x, double y, double width, double height,
                                const at_weights *weights, double most) {
    int64_t count = weights->queries * weights->keys;
    unsigned char *rgb = at_allocate(drawing->context, count, 3, "a drawing of weights");
    if (!rgb) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++)
        at_put_rgb(rgb + 3 * i, at_weights_color(drawing, weights->numbers[i], most, weights->is_signed));
    at_canvas_picture(drawing->canvas, x, y, width, height, rgb, weights->queries, weights->keys);
    at_release(drawing->context, rgb);
    return ATTN_OK;
}

static void draw_lines(at_drawing *drawing, const plan *p) {
    at_canvas *canvas = drawing->canvas;
    double width = p->across * (double)p->keys, height = p->down * (double)p->queries;
    unsigned rule = at_canvas_rule(canvas);
    if (p->across >= 12 && p->down >= 12) {
        for (int64_t q = 1; q < p->queries; q++) {
            double y = p->top + p->down * (double)q;
            at_canvas_line(canvas, p->left, y, p->left + width, y, 0.5, rule, 1);
        }
        for (int64_t k = 1; k < p->keys; k++) {
            double x = p->left + p->across * (double)k;
            at_canvas_line(canvas, x, p->top, x, p->top + height, 0.5, rule, 1);
        }
    }
    at_canvas_frame(canvas, p->left, p->top, width, height, at_canvas_faint(canvas), 0.75);
    int64_t row = drawing->options->row;
    if (row >= 0 && row < p->queries)
        at_canvas_frame(canvas, p->left, p->top + p->down * (double)row, width, p->down, 0xd55e00, 2);
}

static attn_status draw_matrix(at_drawing *drawing) {
    at_weights weights;
    attn_status status = at_weights_take(drawing, drawing->options->layer, drawing->options->head, &weights);
    if (status != ATTN_OK) return status;
    plan p;
    plan_matrix(drawing, &weights, &p);
    draw_names(drawing, &p);
    int each = p.queries <= TOOLTIPS && p.keys <= TOOLTIPS && drawing->options->format == ATTN_DRAWING_SVG;
    int numbers = p.queries <= NUMBERS && p.keys <= NUMBERS;
    if (each || numbers)
        draw_cells(drawing, &p, &weights);
    else
        status = draw_picture(drawing, p.left, p.top, p.across * (double)p.keys, p.down * (double)p.queries,
                              &weights, weights.most);
    draw_lines(drawing, &p);
    at_drawing_legend(drawing, p.left, p.top + p.down * (double)p.queries + 12, weights.most,
                      weights.is_signed, at_drawing_label(drawing));
    at_weights_free(&weights);
    return status;
}

/* ---- layers x heads ---- */

typedef struct grid_plan {
    int64_t layers, heads; /* layers: those that have attention */
    double left, top, width, height, gap;
    double most; /* one scale for all */
} grid_plan;

/* The number-th map of the part. */
static const attn_map *map_at(const at_drawing *drawing, int64_t number) {
    const attn_explanation *explanation = drawing->explanation;
    for (int64_t m = 0; m < explanation->map_count; m++)
        if ((int)explanation->maps[m].part == drawing->options->part && number-- == 0)
            return &explanation->maps[m];
    return NULL;
}

/* Heads of a rollout are one: the mean. */
static int64_t heads_of(const at_drawing *drawing, const attn_map *map) {
    return drawing->options->view == ATTN_VIEW_ROLLOUT ? 1 : map->heads;
}

static attn_status take_small(const at_drawing *drawing, int64_t layer, int64_t head, at_weights *weights) {
    return at_weights_take(drawing, layer, drawing->options->view == ATTN_VIEW_ROLLOUT ? -1 : head, weights);
}

static attn_status plan_grid(at_drawing *drawing, grid_plan *g) {
    attn_status status = ATTN_OK;
    *g = (grid_plan){.most = 0, .gap = 6};
    g->layers = attn_explanation_layers(drawing->explanation, (attn_map_part)drawing->options->part);
    for (int64_t l = 0; l < g->layers; l++) {
        const attn_map *map = map_at(drawing, l);
        int64_t heads = heads_of(drawing, map);
        if (g->heads < heads) g->heads = heads;
        for (int64_t h = 0; h < heads && status == ATTN_OK; h++) {
            at_weights weights;
            status = take_small(drawing, map->layer, h, &weights);
            if (status != ATTN_OK) break;
            double most = at_most(weights.numbers, weights.queries * weights.keys);
            if (g->most < most) g->most = most;
            at_weights_free(&weights);
        }
    }
    const attn_map *shown = drawing->map;
    double side = floor(fmin(120, fmax(40, 640.0 / (double)(g->heads > 0 ? g->heads : 1) - g->gap)));
    double ratio = shown->keys > 0 ? (double)shown->queries / (double)shown->keys : 1;
    g->width = side;
    g->height = floor(fmin(side * 2, fmax(10, side * ratio)));
    if (g->height == side * 2 && ratio > 2) g->width = fmax(12, floor(g->height / ratio));
    g->left = AT_MARGIN + 52;
    g->top = AT_HEADING + 20;
    return status;
}

static attn_status draw_grid_row(at_drawing *drawing, const grid_plan *g, int64_t number) {
    at_canvas *canvas = drawing->canvas;
    const attn_map *map = map_at(drawing, number);
    int64_t layer = map->layer;
    char text[64];
    double y = g->top + (g->height + g->gap) * (double)number;
    snprintf(text, sizeof text, "layer %" PRId64, layer + 1);
    at_canvas_text(canvas, g->left - 8, y + g->height / 2 + 4, 11, AT_ANCHOR_END, 0, at_canvas_ink(canvas), 0,
                   text);
    attn_status status = ATTN_OK;
    for (int64_t h = 0; h < heads_of(drawing, map) && status == ATTN_OK; h++) {
        at_weights weights;
        double x = g->left + (g->width + g->gap) * (double)h;
        status = take_small(drawing, layer, h, &weights);
        if (status != ATTN_OK) break;
        snprintf(text, sizeof text, "layer %" PRId64 ", head %" PRId64, layer + 1, h + 1);
        at_canvas_begin(canvas, text);
        status = draw_picture(drawing, x, y, g->width, g->height, &weights, g->most);
        at_canvas_frame(canvas, x, y, g->width, g->height, at_canvas_rule(canvas), 0.75);
        at_canvas_end(canvas);
        at_weights_free(&weights);
    }
    return status;
}

static attn_status draw_grid(at_drawing *drawing) {
    grid_plan g;
    attn_status status = plan_grid(drawing, &g);
    at_canvas *canvas = drawing->canvas;
    char text[64];
    for (int64_t l = 0; l < g.layers && status == ATTN_OK; l++) status = draw_grid_row(drawing, &g, l);
    for (int64_t h = 0; h < g.heads; h++) {
        snprintf(text, sizeof text, g.width >= 56 || h == 0 ? "head %" PRId64 : "%" PRId64, h + 1);
        if (drawing->options->view == ATTN_VIEW_ROLLOUT) snprintf(text, sizeof text, "all heads");
        at_canvas_text(canvas, g.left + (g.width + g.gap) * (double)h + g.width / 2, g.top - 6, 11,
                       AT_ANCHOR_MIDDLE, 0, at_canvas_ink(canvas), 0, text);
    }
    double bottom = g.top + (g.height + g.gap) * (double)g.layers;
    at_drawing_use(drawing, g.left + (g.width + g.gap) * (double)g.heads - g.gap, bottom);
    int is_signed = drawing->options->view == ATTN_VIEW_GRADIENT;
    at_drawing_legend(drawing, g.left, bottom + 8, g.most, is_signed,
                      is_signed ? "weight × gradient; one scale for all"
                                : "attention weight: a row looks at columns; one scale for all");
    return status;
}

/* ---- ---- */

attn_status at_draw_matrices(const attn_explanation *explanation, const attn_drawing_options *options,
                             at_writer *writer) {
    at_drawing drawing;
    attn_status status = at_drawing_open(explanation->context, explanation, options, &drawing);
    if (status != ATTN_OK) return status;
    if (explanation->map_count == 0) return at_draw_bars(&drawing, writer);
    if (!drawing.map) {
        status =
            at_fail(explanation->context, ATTN_INVALID_ARGUMENT, "there is no layer %" PRId64 " of %s",
                    options->layer + 1, options->part < 0 ? "attention" : attn_map_part_name(options->part));
    } else {
        status = options->grid ? draw_grid(&drawing) : draw_matrix(&drawing);
    }
    return at_drawing_close(&drawing, status, NULL,
                            options->grid ? "Attention weights of all layers and heads as small matrices."
                                          : "Attention weights as a matrix: each row looks at columns.",
                            writer);
}
