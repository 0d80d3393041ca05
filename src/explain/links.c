/* links.c: weights between nodes, and the colours of their predictions. */
#include "explain/links.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

attn_status at_links_open(const at_drawing *drawing, at_links *links) {
    const attn_map *map = drawing->map;
    *links = (at_links){.drawing = drawing, .is_signed = drawing->options->view == ATTN_VIEW_GRADIENT};
    if (!map) return ATTN_OK;
    if (links->is_signed && !map->gradients)
        return at_fail(drawing->context, ATTN_UNSUPPORTED, "the explanation was made without gradients");
    if (map->first && drawing->options->view != ATTN_VIEW_ROLLOUT) return ATTN_OK;
    return at_weights_take(drawing, drawing->options->layer, drawing->options->head, &links->dense);
}

void at_links_close(at_links *links) {
    if (links->dense.numbers) at_weights_free(&links->dense);
}

/* As attn_explanation_view does: the mean of weight x gradient is that of what is above 0. */
static double entry(const at_links *links, const attn_map *map, int64_t query, int64_t place) {
    int64_t head = links->drawing->options->head;
    double sum = 0;
    for (int64_t h = head < 0 ? 0 : head; h < (head < 0 ? map->heads : head + 1); h++) {
        int64_t at = attn_map_place(map, h, query, place);
        double number = (double)map->weights[at];
        if (links->is_signed) number *= (double)map->gradients[at];
        sum += links->is_signed && head < 0 && number < 0 ? 0 : number;
    }
    return head < 0 ? sum / (double)map->heads : sum;
}

double at_links_weight(const at_links *links, int64_t query, int64_t key) {
    const attn_map *map = links->drawing->map;
    if (!map || query >= map->queries || key >= map->keys) return NAN;
    if (links->dense.numbers) return links->dense.numbers[query * map->keys + key];
    double sum = 0;
    int found = 0;
    for (int64_t c = 0; c < attn_map_entries(map, query); c++) {
        if (attn_map_key(map, query, c) != key) continue;
        sum += entry(links, map, query, c);
        found = 1;
    }
    return found ? sum : NAN;
}

/* ---- classes ---- */

attn_status at_classes_find(const at_drawing *drawing, int64_t rows, const int64_t *shown,
                            at_classes *classes) {
    const at_strings *answers = &drawing->explanation->answers;
    *classes = (at_classes){.context = drawing->context};
    if (answers->count != drawing->explanation->rows.count || answers->count < 2) return ATTN_OK;
    classes->class_of =
        at_allocate(drawing->context, rows, sizeof *classes->class_of, "the colours of nodes");
    if (!classes->class_of) return ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < rows; r++) {
        const char *label = at_string(answers, shown[r]);
        int c = 0;
        while (c < classes->count && strcmp(at_string(answers, classes->first[c]), label) != 0) c++;
        if (c == classes->count && c < 8) classes->first[classes->count++] = shown[r];
        if (c == 8) classes->others = 1;
        classes->class_of[r] = c < 8 ? c : -1;
    }
    return ATTN_OK;
}

void at_classes_free(at_classes *classes) { at_release(classes->context, classes->class_of); }

/* On a dark ground a little lighter. */
unsigned at_class_color(const at_canvas *canvas, int64_t number) {
    if (number < 0) return at_canvas_faint(canvas);
    int dark = at_canvas_background(canvas) != 0xffffff;
    return dark ? at_canvas_mix(at_canvas_category(number), 0xffffff, 0.25) : at_canvas_category(number);
}

double at_classes_legend(at_drawing *drawing, const at_classes *classes, double x, double y, double right) {
    at_canvas *canvas = drawing->canvas;
    double left = x;
    for (int c = 0; c < classes->count + classes->others; c++) {
        const char *label =
            c < classes->count ? at_string(&drawing->explanation->answers, classes->first[c]) : "others";
        label = at_text_fit(canvas, 12, label, 200);
        double width = at_text_width(12, label) + 34;
        if (left + width > right && left > x) {
            left = x;
            y += 18;
        }
        at_canvas_circle(canvas, left + 6, y + 7, 6, at_class_color(canvas, c < classes->count ? c : -1), 0,
                         0);
        at_canvas_text(canvas, left + 17, y + 11, 12, AT_ANCHOR_START, 0, at_canvas_ink(canvas), 0, label);
        at_drawing_use(drawing, left + width - 14, y + 16);
        left += width;
    }
    return y + 24;
}
