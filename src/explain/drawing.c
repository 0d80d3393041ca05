/* drawing.c: heading, legends, numbers as text, and the weights that a drawing shows. */
#include "explain/drawing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/canvas_kind.h"

attn_status at_drawing_open(attn_context *context, const attn_explanation *explanation,
                            const attn_drawing_options *options, at_drawing *drawing) {
    *drawing = (at_drawing){.context = context, .explanation = explanation, .options = options};
    drawing->text.context = context;
    if (explanation && explanation->map_count > 0 && options->part >= 0)
        drawing->map = at_explanation_find(explanation, (attn_map_part)options->part, options->layer);
    drawing->right = 320;
    return at_canvas_create(context, options->format, options->dark, options->scale, &drawing->canvas);
}

void at_drawing_use(at_drawing *drawing, double x, double y) {
    if (drawing->right < x) drawing->right = x;
    if (drawing->bottom < y) drawing->bottom = y;
}

/* ---- text ---- */

void at_drawing_compose(at_drawing *drawing) {
    drawing->text.count = 0;
    at_put(&drawing->text, "", 0);
}

void at_drawing_add(at_drawing *drawing, const char *text) { at_put(&drawing->text, text, strlen(text)); }

void at_drawing_add_name(at_drawing *drawing, const char *name) {
    at_drawing_add(drawing, AT_ISOLATE);
    at_put_clean(&drawing->text, name);
    at_drawing_add(drawing, AT_ISOLATE_END);
}

const char *at_drawing_composed(const at_drawing *drawing) {
    return drawing->text.status == ATTN_OK ? drawing->text.bytes : "";
}

const char *at_number_fixed(char text[AT_NUMBER], double number, int decimals) {
    if (decimals > 9) decimals = 9;
    double power = pow(10, decimals);
    if (!isfinite(number) || fabs(number * power) > 1e15) {
        snprintf(text, AT_NUMBER, "%s", isnan(number) ? "NaN" : number > 0 ? "∞" : "−∞");
        return text;
    }
    long long units = llround(number * power), whole = (long long)power;
    const char *sign = units < 0 ? "−" : "";
    units = llabs(units);
    snprintf(text, AT_NUMBER, "%s%lld", sign, units / whole);
    size_t used = strlen(text);
    if (decimals > 0) text[used++] = '.';
    for (int digit = 0; digit < decimals; digit++, used++) {
        whole /= 10;
        text[used] = (char)('0' + units / whole % 10);
    }
    text[used] = 0;
    return text;
}

const char *at_number_short(char text[AT_NUMBER], double number) {
    double size = fabs(number);
    if (size == 0) return at_number_fixed(text, 0, 0);
    if (size >= 1e-4 && size < 1e6)
        return at_number_fixed(text, number,
                               size >= 100    ? 0
                               : size >= 10   ? 1
                               : size >= 0.1  ? 2
                               : size >= 0.01 ? 3
                                              : 4);
    if (!isfinite(number)) return at_number_fixed(text, number, 0);
    int exponent = (int)floor(log10(size));
    at_number_fixed(text, number / pow(10, exponent), 1);
    size_t used = strlen(text);
    snprintf(text + used, AT_NUMBER - used, "e%d", exponent);
    return text;
}

double at_nice_step(double span, int most, int *decimals) {
    double power = pow(10, floor(log10(span / most)));
    double step = 10 * power;
    if (!(span > 0) || !isfinite(power)) step = power = 1;
    static const double choices[3] = {1, 2, 5};
    for (int i = 2; i >= 0; i--)
        if (span / (choices[i] * power) <= most * (1 + 1e-9)) step = choices[i] * power;
    int digits = (int)ceil(-log10(step) - 1e-9);
    *decimals = digits > 0 ? digits : 0;
    return step;
}

const char *at_name_of(const at_strings *names, int64_t i, char text[AT_NUMBER]) {
    if (names && i < names->count) return at_string(names, i);
    snprintf(text, AT_NUMBER, "%" PRId64, i + 1);
    return text;
}

/* ---- heading ---- */

static const char *only(const at_strings *list) { return list->count ? at_string(list, 0) : ""; }

static void add_answer(at_drawing *drawing, int64_t row) {
    const attn_explanation *explanation = drawing->explanation;
    char number[AT_NUMBER];
    at_drawing_add_name(drawing, at_string(&explanation->answers, row));
    if (!explanation->probabilities || isnan(explanation->probabilities[row])) return;
    at_drawing_add(drawing, " (");
    at_drawing_add(drawing, at_number_fixed(number, explanation->probabilities[row], 2));
    at_drawing_add(drawing, ")");
}

/* The title that was requested, or the prediction. */
static void compose_title(at_drawing *drawing) {
    const attn_explanation *explanation = drawing->explanation;
    at_drawing_compose(drawing);
    if (drawing->options->title) {
        at_drawing_add_name(drawing, drawing->options->title);
        return;
    }
    if (!explanation || explanation->answers.count == 0) return;
    int64_t row = explanation->asked_row, answers = explanation->answers.count;
    if (answers == 1) {
        if (explanation->output.count) {
            at_drawing_add_name(drawing, only(&explanation->output));
            at_drawing_add(drawing, ": ");
        }
        add_answer(drawing, 0);
    } else if (row >= 0 && row < answers && row < explanation->rows.count) {
        at_drawing_add_name(drawing, at_string(&explanation->rows, row));
        at_drawing_add(drawing, ": ");
        add_answer(drawing, row);
    } else {
        at_drawing_add(drawing, "a prediction for every ");
        at_drawing_add(drawing, explanation->row_unit.count ? only(&explanation->row_unit) : "row");
    }
}

static void add_number(at_drawing *drawing, const char *before, int64_t number) {
    char text[AT_NUMBER];
    snprintf(text, sizeof text, "%" PRId64, number);
    at_drawing_add(drawing, before);
    at_drawing_add(drawing, text);
}

static void add_view(at_drawing *drawing) {
    const attn_drawing_options *options = drawing->options;
    if (options->view == ATTN_VIEW_ROLLOUT) {
        add_number(drawing, "attention rollout, layers 1 to ", options->layer + 1);
        return;
    }
    if (options->view == ATTN_VIEW_GRADIENT) at_drawing_add(drawing, "weight × gradient, ");
    if (options->part != ATTN_MAP_ENCODER) {
        at_drawing_add(drawing, attn_map_part_name((attn_map_part)options->part));
        at_drawing_add(drawing, ", ");
    }
    if (options->grid) {
        at_drawing_add(drawing, "all layers and heads");
        return;
    }
    add_number(drawing, "layer ", options->layer + 1);
    if (options->head >= 0)
        add_number(drawing, ", head ", options->head + 1);
    else if (drawing->map && drawing->map->heads > 1) {
        add_number(drawing, ", mean of ", drawing->map->heads);
        at_drawing_add(drawing, " heads");
    }
}

static void compose_subtitle(at_drawing *drawing) {
    const attn_explanation *explanation = drawing->explanation;
    at_drawing_compose(drawing);
    if (!explanation) return;
    if (explanation->map_count > 0 && drawing->options->part >= 0) add_view(drawing);
    if (explanation->members > 1) {
        if (drawing->text.count) at_drawing_add(drawing, "; ");
        if (explanation->member >= 0)
            add_number(drawing, "network ", explanation->member + 1);
        else
            at_drawing_add(drawing, "mean");
        add_number(drawing, " of ", explanation->members);
        if (explanation->member < 0) at_drawing_add(drawing, " networks");
    }
    if (explanation->pieces > 1) {
        add_number(drawing, drawing->text.count ? "; rows from " : "rows from ", explanation->first_row + 1);
        at_drawing_add(drawing, " on");
    }
}

attn_status at_drawing_close(at_drawing *drawing, attn_status status, const char *subtitle,
                             const char *description, at_writer *writer) {
    at_canvas *canvas = drawing->canvas;
    double width = drawing->right + AT_MARGIN;
    if (status == ATTN_OK) {
        compose_title(drawing);
        const char *title = at_drawing_composed(drawing);
        double asked = at_text_width(16, title) * 1.1 + 2 * AT_MARGIN; /* bold is wider */
        if (asked > width) width = asked < 560 ? asked : width < 560 ? 560 : width;
        at_canvas_describe(canvas, title, description);
        title = at_text_fit(canvas, 16, title, (width - 2 * AT_MARGIN) / 1.1);
        at_canvas_text(canvas, AT_MARGIN, 26, 16, AT_ANCHOR_START, 0, at_canvas_ink(canvas), 1, title);
        if (subtitle)
            at_drawing_compose(drawing), at_drawing_add(drawing, subtitle);
        else
            compose_subtitle(drawing);
        if (*drawing->note) {
            if (drawing->text.count) at_drawing_add(drawing, "; ");
            at_drawing_add(drawing, drawing->note);
        }
        at_canvas_text(canvas, AT_MARGIN, 44, 12, AT_ANCHOR_START, 0, at_canvas_faint(canvas), 0,
                       at_text_fit(canvas, 12, at_drawing_composed(drawing), width - 2 * AT_MARGIN));
        at_canvas_size(canvas, width, drawing->bottom + AT_MARGIN);
        status = drawing->text.status;
    }
    if (status == ATTN_OK) status = at_canvas_finish(canvas, writer);
    at_writer_free(&drawing->text);
    at_canvas_destroy(canvas);
    drawing->canvas = NULL;
    return status;
}

/* ---- legend ---- */

void at_put_rgb(unsigned char *to, unsigned color) {
    to[0] = (unsigned char)(color >> 16);
    to[1] = (unsigned char)(color >> 8);
    to[2] = (unsigned char)color;
}

void at_drawing_legend(at_drawing *drawing, double x, double y, double most, int is_signed,
                       const char *label) {
    at_drawing_legend_soft(drawing, x, y, most, is_signed, 1, label);
}

void at_drawing_legend_soft(at_drawing *drawing, double x, double y, double most, int is_signed,
                            double strength, const char *label) {
    enum { STEPS = 40 };
    at_canvas *canvas = drawing->canvas;
    unsigned char rgb[3 * STEPS];
    char number[AT_NUMBER];
    unsigned faint = at_canvas_faint(canvas);
    for (int i = 0; i < STEPS; i++) {
        double share = (i + 0.5) / STEPS;
        at_put_rgb(rgb + 3 * i, is_signed ? at_canvas_signed(canvas, strength * (2 * share - 1))
                                          : at_canvas_heat(canvas, strength * share));
    }
    at_canvas_text(canvas, x, y + 10, 11, AT_ANCHOR_START, 0, faint, 0, label);
    double bar = 160, top = y + 17, height = 9;
    at_canvas_picture(canvas, x, top, bar, height, rgb, 1, STEPS);
    at_canvas_frame(canvas, x, top, bar, height, at_canvas_rule(canvas), 0.75);
    double base = top + height + 12;
    at_number_short(number, is_signed ? -most : 0);
    at_canvas_text(canvas, x, base, 11, AT_ANCHOR_START, 0, faint, 0, number);
    at_number_short(number, is_signed ? 0 : most / 2);
    at_canvas_text(canvas, x + bar / 2, base, 11, AT_ANCHOR_MIDDLE, 0, faint, 0, number);
    at_number_short(number, most);
    at_canvas_text(canvas, x + bar, base, 11, AT_ANCHOR_END, 0, faint, 0, number);
    double width = at_text_width(11, label);
    at_drawing_use(drawing, x + (width > bar ? width : bar), y + AT_LEGEND);
}

const char *at_drawing_label(const at_drawing *drawing) {
    switch (drawing->options->view) {
    case ATTN_VIEW_ROLLOUT: return "share of a column that arrives in a row";
    case ATTN_VIEW_GRADIENT: return "weight × gradient";
    default: return "attention weight: a row looks at columns";
    }
}

/* ---- weights ---- */

double at_most(const double *numbers, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(numbers[i]) && fabs(numbers[i]) > most) most = fabs(numbers[i]);
    return most > 0 ? most : 1;
}

attn_status at_weights_take(const at_drawing *drawing, int64_t layer, int64_t head, at_weights *weights) {
    const attn_drawing_options *options = drawing->options;
    attn_map_part part = (attn_map_part)options->part;
    const attn_map *map = at_explanation_find(drawing->explanation, part, layer);
    *weights = (at_weights){.context = drawing->context};
    if (!map)
        return at_fail(drawing->context, ATTN_INVALID_ARGUMENT, "there is no layer %" PRId64 " of %s",
                       layer + 1, attn_map_part_name(part));
    weights->queries = map->queries;
    weights->keys = map->keys;
    weights->is_signed = options->view == ATTN_VIEW_GRADIENT;
    if (map->keys > 0 && map->queries > (INT64_C(1) << 27) / map->keys)
        return at_fail(drawing->context, ATTN_OVERFLOW,
                       "%" PRId64 " x %" PRId64 " weights are too many for a drawing", map->queries,
                       map->keys);
    weights->numbers =
        at_allocate(drawing->context, map->queries * map->keys, sizeof(double), "weights to be drawn");
    if (!weights->numbers) return ATTN_OUT_OF_MEMORY;
    attn_status status =
        attn_explanation_view(drawing->explanation, options->view, part, layer, head, weights->numbers);
    if (status != ATTN_OK) {
        at_weights_free(weights);
        return status;
    }
    weights->most = at_most(weights->numbers, map->queries * map->keys);
    return ATTN_OK;
}

void at_weights_free(at_weights *weights) {
    at_release(weights->context, weights->numbers);
    weights->numbers = NULL;
}

unsigned at_weights_color(const at_drawing *drawing, double number, double most, int is_signed) {
    double share = number / most;
    return is_signed ? at_canvas_signed(drawing->canvas, share) : at_canvas_heat(drawing->canvas, share);
}

attn_status at_weights_row(const at_weights *weights, int64_t row, double **numbers) {
    int64_t keys = weights->keys;
    double *made = at_allocate(weights->context, keys, sizeof *made, "weights to be drawn");
    if (!made) return ATTN_OUT_OF_MEMORY;
    int64_t first = row >= 0 ? row : 0, end = row >= 0 ? row + 1 : weights->queries;
    if (end > weights->queries) end = weights->queries;
    for (int64_t q = first; q < end; q++)
        for (int64_t k = 0; k < keys; k++) made[k] += weights->numbers[q * keys + k] / (double)(end - first);
    *numbers = made;
    return ATTN_OK;
}
