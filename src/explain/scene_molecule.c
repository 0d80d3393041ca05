/* scene_molecule.c: a molecule with attention under its bonds and contributions behind its atoms. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/bonds.h"

/* How far colours go towards their ends: lines and letters are read on them. */
static const double SOFT = 0.6;

typedef struct view {
    at_drawing *drawing;
    at_formula formula;
    at_links links;
    double *discs; /* [rows]: the number behind each atom; NULL: none */
    int disc_signed;
    double most, disc_most;
} view;

/* What the two atoms of a bond give each other; NaN: they do not look at each other. */
static double between(const view *v, int64_t edge) {
    const at_scene *scene = &v->drawing->explanation->scene;
    int64_t a = scene->from[edge], b = scene->to[edge], asked = v->drawing->options->row;
    if (v->drawing->map && v->drawing->map->queries != scene->rows) return NAN; /* pooling: atoms have it */
    double there = asked < 0 || asked == a ? at_links_weight(&v->links, a, b) : NAN;
    double back = asked < 0 || asked == b ? at_links_weight(&v->links, b, a) : NAN;
    if (isnan(there)) return back;
    return isnan(back) ? there : there + back;
}

/* Behind atoms: what the asked row, or pooling, gives them; else what they contribute. */
static attn_status find_discs(view *v) {
    at_drawing *drawing = v->drawing;
    const attn_explanation *explanation = drawing->explanation;
    int64_t rows = explanation->scene.rows, asked = drawing->options->row;
    int pool = drawing->map && drawing->map->queries != rows;
    v->disc_most = 1;
    if (!explanation->contributions && asked < 0 && !pool) return ATTN_OK;
    v->discs = at_allocate(drawing->context, rows, sizeof *v->discs, "a molecule");
    if (!v->discs) return ATTN_OUT_OF_MEMORY;
    int weights = drawing->map && (asked >= 0 || pool);
    for (int64_t a = 0; a < rows; a++) {
        double weight = weights ? at_links_weight(&v->links, asked >= 0 ? asked : 0, a) : 0;
        v->discs[a] = weights                      ? (isnan(weight) ? 0 : weight)
                      : explanation->contributions ? explanation->contributions[a]
                                                   : 0;
    }
    v->disc_signed = weights ? v->links.is_signed : 1;
    v->disc_most = at_most(v->discs, rows);
    return ATTN_OK;
}

static unsigned soft_color(const view *v, double share, int is_signed) {
    return at_weights_color(v->drawing, share * SOFT, 1, is_signed);
}

static void draw_discs(view *v) {
    at_canvas *canvas = v->drawing->canvas;
    const at_formula *f = &v->formula;
    for (int64_t a = 0; v->discs && a < f->scene->rows; a++)
        if (v->discs[a] != 0)
            at_canvas_circle(canvas, f->x[a], f->y[a], f->bond * 0.32,
                             soft_color(v, v->discs[a] / v->disc_most, v->disc_signed), 0, 0);
    int64_t asked = v->drawing->options->row;
    if (asked >= 0 && asked < f->scene->rows)
        at_canvas_circle(canvas, f->x[asked], f->y[asked], f->bond * 0.36,
                         soft_color(v, v->discs[asked] / v->disc_most, v->disc_signed), 0xd55e00, 2);
}

static void find_most(view *v) {
    for (int64_t e = 0; e < v->formula.scene->edges; e++) {
        double weight = between(v, e);
        if (isfinite(weight) && fabs(weight) > v->most) v->most = fabs(weight);
    }
    if (v->most == 0) v->most = 1;
}

/* Below everything: as thick as the weight, with round ends, so that lines meet. */
static void draw_underlay(view *v, int64_t edge) {
    at_canvas *canvas = v->drawing->canvas;
    const at_formula *f = &v->formula;
    int64_t a = f->scene->from[edge], b = f->scene->to[edge];
    double weight = between(v, edge), share = fmin(1, fabs(weight) / v->most);
    if (isnan(weight) || share < 0.02 || a == b) return;
    unsigned color = soft_color(v, weight / v->most, v->links.is_signed);
    double thickness = f->bond * (0.08 + 0.42 * share);
    char text[96], number[AT_NUMBER];
    snprintf(text, sizeof text, "atoms %" PRId64 " and %" PRId64 ": %s", a + 1, b + 1,
             at_number_fixed(number, weight, 4));
    at_canvas_begin(canvas, text);
    at_canvas_line(canvas, f->x[a], f->y[a], f->x[b], f->y[b], thickness, color, 1);
    at_canvas_circle(canvas, f->x[a], f->y[a], thickness / 2, color, 0, 0);
    at_canvas_circle(canvas, f->x[b], f->y[b], thickness / 2, color, 0, 0);
    at_canvas_end(canvas);
}

static void draw_atom(view *v, int64_t atom) {
    at_canvas *canvas = v->drawing->canvas;
    const at_formula *f = &v->formula;
    char number[AT_NUMBER];
    at_drawing_compose(v->drawing);
    at_drawing_add(v->drawing, "atom ");
    snprintf(number, sizeof number, "%" PRId64 " ", atom + 1);
    at_drawing_add(v->drawing, number);
    at_drawing_add_name(v->drawing, at_string(&f->scene->symbols, atom));
    if (v->discs) {
        at_drawing_add(v->drawing, ": ");
        at_drawing_add(v->drawing, at_number_short(number, v->discs[atom]));
    }
    at_canvas_begin(canvas, at_drawing_composed(v->drawing));
    at_formula_atom(f, atom, v->discs && fabs(v->discs[atom]) > 0.3 * v->disc_most);
    at_canvas_end(canvas);
}

static void draw_legends(view *v) {
    at_drawing *drawing = v->drawing;
    double y = drawing->bottom + 8;
    int bonds = drawing->map && drawing->map->queries == v->formula.scene->rows;
    if (bonds && v->formula.scene->edges > 0) {
        at_drawing_legend_soft(drawing, AT_MARGIN, y, v->most, v->links.is_signed, SOFT,
                               v->links.is_signed ? "weight × gradient along a bond"
                                                  : "attention weight along a bond, both ways");
        y += AT_LEGEND + 10;
    }
    int weights = drawing->map && (drawing->options->row >= 0 || !bonds);
    if (v->discs)
        at_drawing_legend_soft(drawing, AT_MARGIN, y, v->disc_most, v->disc_signed, SOFT,
                               weights ? "attention weight of an atom"
                                       : "contribution of an atom (gradient × input)");
}

static attn_status draw(view *v) {
    attn_status status = at_formula_place(v->drawing, &v->formula);
    if (status == ATTN_OK) status = at_links_open(v->drawing, &v->links);
    if (status == ATTN_OK) status = find_discs(v);
    if (status != ATTN_OK) return status;
    find_most(v);
    int64_t edges = v->formula.scene->edges;
    for (int64_t e = 0; e < edges; e++) draw_underlay(v, e);
    draw_discs(v);
    for (int64_t e = 0; e < edges; e++) at_formula_bond(&v->formula, e, at_canvas_ink(v->drawing->canvas));
    for (int64_t a = 0; a < v->formula.scene->rows; a++) draw_atom(v, a);
    draw_legends(v);
    return ATTN_OK;
}

attn_status at_scene_molecule(at_drawing *drawing, at_writer *writer) {
    view v = {.drawing = drawing};
    v.formula.drawing = drawing;
    attn_status status = draw(&v);
    at_release(drawing->context, v.discs);
    at_formula_free(&v.formula);
    at_links_close(&v.links);
    return at_drawing_close(drawing, status, NULL, "A molecule with attention along its bonds.", writer);
}
