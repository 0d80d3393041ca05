/* scene_graph.c: nodes where the layout puts them, edges coloured and thickened by weight.
 *
 * Where two nodes look at each other, each look is a line of its own, bent to its right. A large graph shows
 * the neighbourhood of a node.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/layout.h"
#include "explain/links.h"

enum { BEND = 12 }; /* points of a bent line */

typedef struct look { /* of node `query` at node `key`, both by their number in the drawing */
    int64_t query, key;
    double weight; /* NaN: an edge of the data that nobody looks along */
    int bent;
} look;

typedef struct box {
    double left, top, right, bottom;
} box;

typedef struct picture {
    at_drawing *drawing;
    at_links links;
    at_classes classes;
    int64_t count;
    int64_t *node;  /* [count]: its row */
    int64_t *place; /* [rows]: where a row is in the drawing; -1: not in it */
    int64_t *from, *to, edges;
    double *x, *y;
    box *names; /* [count]: in place */
    look *looks;
    int64_t look_count;
    double radius, most, contribution;
    int64_t asked; /* a row; -1 */
    int inside;    /* names are in the nodes */
} picture;

static void free_picture(picture *p) {
    attn_context *context = p->drawing->context;
    void *const memory[] = {p->node, p->place, p->from, p->to, p->x, p->y, p->looks, p->names};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) at_release(context, memory[i]);
    at_classes_free(&p->classes);
    at_links_close(&p->links);
}

/* ---- what is shown ---- */

static attn_status choose_nodes(picture *p) {
    at_drawing *drawing = p->drawing;
    const at_scene *scene = &drawing->explanation->scene;
    int64_t most = drawing->options->most > 0 ? drawing->options->most : 60, rows = scene->rows;
    p->place = at_allocate(drawing->context, rows, sizeof *p->place, "a graph");
    p->node = at_allocate(drawing->context, rows < most ? rows : most, sizeof *p->node, "a graph");
    if (!p->place || !p->node) return ATTN_OUT_OF_MEMORY;
    attn_status status = ATTN_OK;
    if (rows <= most) {
        p->count = rows;
        for (int64_t r = 0; r < rows; r++) p->node[r] = r;
    } else {
        int64_t centre = p->asked >= 0 ? p->asked : drawing->explanation->asked_row;
        status = at_neighbourhood(drawing->context, rows, scene->edges, scene->from, scene->to,
                                  centre >= 0 && centre < rows ? centre : 0, most, p->node, &p->count);
        snprintf(drawing->note, sizeof drawing->note, "%" PRId64 " of %" PRId64 " nodes", p->count, rows);
    }
    for (int64_t r = 0; r < rows; r++) p->place[r] = -1;
    for (int64_t n = 0; n < p->count; n++) p->place[p->node[n]] = n;
    return status;
}

static attn_status choose_edges(picture *p) {
    const at_scene *scene = &p->drawing->explanation->scene;
    attn_context *context = p->drawing->context;
    p->from = at_allocate(context, scene->edges, sizeof *p->from, "a graph");
    p->to = at_allocate(context, scene->edges, sizeof *p->to, "a graph");
    p->x = at_allocate(context, p->count, sizeof *p->x, "a graph");
    p->y = at_allocate(context, p->count, sizeof *p->y, "a graph");
    p->looks = at_allocate(context, 2 * scene->edges + p->count, sizeof *p->looks, "a graph");
    p->names = at_allocate(context, p->count, sizeof *p->names, "a graph");
    if (!p->from || !p->to || !p->x || !p->y || !p->looks || !p->names) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < scene->edges; e++) {
        int64_t from = p->place[scene->from[e]], to = p->place[scene->to[e]];
        if (from < 0 || to < 0 || from == to) continue;
        p->from[p->edges] = from;
        p->to[p->edges++] = to;
    }
    return ATTN_OK;
}

static void add_look(picture *p, int64_t query, int64_t key, double weight, int bent) {
    p->looks[p->look_count++] = (look){query, key, weight, bent};
    if (isfinite(weight) && fabs(weight) > p->most) p->most = fabs(weight);
}

static double weight_of(const picture *p, int64_t query, int64_t key) {
    int64_t row = p->drawing->map && p->drawing->map->queries == 1 ? 0 : p->node[query];
    if (p->asked >= 0 && row != p->asked) return NAN;
    return at_links_weight(&p->links, row, p->node[key]);
}

static int compare(const void *a, const void *b) {
    const look *first = a, *second = b;
    double one = isnan(first->weight) ? -1 : fabs(first->weight),
           two = isnan(second->weight) ? -1 : fabs(second->weight);
    if (one != two) return one < two ? -1 : 1;
    if (first->query != second->query) return first->query < second->query ? -1 : 1;
    return (first->key > second->key) - (first->key < second->key);
}

/* Along edges; and, where a row was asked for and looks everywhere, at what it looks at most. */
static void find_looks(picture *p) {
    for (int64_t e = 0; e < p->edges; e++) {
        int64_t from = p->from[e], to = p->to[e];
        double there = weight_of(p, from, to), back = weight_of(p, to, from);
        int both = !isnan(there) && !isnan(back);
        if (isnan(there) && isnan(back)) add_look(p, from, to, NAN, 0);
        if (!isnan(there)) add_look(p, from, to, there, both);
        if (!isnan(back)) add_look(p, to, from, back, both);
    }
    int64_t asked = p->asked >= 0 ? p->place[p->asked] : -1;
    for (int64_t n = 0; asked >= 0 && p->links.dense.numbers && n < p->count; n++) {
        int known = n == asked;
        for (int64_t e = 0; e < p->edges && !known; e++)
            known = (p->from[e] == asked && p->to[e] == n) || (p->to[e] == asked && p->from[e] == n);
        if (!known) add_look(p, asked, n, weight_of(p, asked, n), 1);
    }
    for (int64_t n = 0; n < p->count; n++) {
        double own = weight_of(p, n, n);
        if (isfinite(own) && fabs(own) > p->most) p->most = fabs(own);
    }
    if (p->most == 0) p->most = 1;
    qsort(p->looks, (size_t)p->look_count, sizeof *p->looks, compare);
}

/* ---- drawing ---- */

static void place_nodes(picture *p) {
    double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;
    for (int64_t n = 0; n < p->count; n++) {
        low_x = fmin(low_x, p->x[n]), high_x = fmax(high_x, p->x[n]);
        low_y = fmin(low_y, p->y[n]), high_y = fmax(high_y, p->y[n]);
    }
    double side = p->count < 2 ? 0 : fmin(600, fmax(220, 90 * sqrt((double)p->count))), widest = 0;
    p->radius = p->count <= 16 ? 14 : p->count <= 40 ? 11 : p->count <= 90 ? 8.5 : 6;
    char number[AT_NUMBER];
    p->inside = 1;
    for (int64_t n = 0; n < p->count; n++) {
        double width =
            at_text_width(p->radius * 0.9, at_name_of(&p->drawing->explanation->rows, p->node[n], number));
        if (width > 2 * p->radius - 3) p->inside = 0;
        widest = fmax(widest, fmin(width * 11 / (p->radius * 0.9), 110));
    }
    double room = p->radius + 6 + (p->inside ? 0 : widest * 0.55), left = AT_MARGIN + room;
    double top = AT_HEADING + p->radius + (p->inside ? 6 : 16);
    for (int64_t n = 0; n < p->count; n++) {
        p->x[n] = left + (p->x[n] - low_x) * side;
        p->y[n] = top + (p->y[n] - low_y) * side;
        at_drawing_use(p->drawing, p->x[n] + room, p->y[n] + p->radius + (p->inside ? 4 : 16));
    }
}

static void arrow(picture *p, const double *points, int64_t count, double thickness, unsigned color) {
    const double *end = points + 2 * (count - 1), *before = end - 2;
    double dx = end[0] - before[0], dy = end[1] - before[1], length = hypot(dx, dy);
    if (length == 0) return;
    dx /= length, dy /= length;
    double size = 4 + 1.4 * thickness;
    double tip[6] = {end[0] + dx * 2,
                     end[1] + dy * 2,
                     end[0] - dx * size - dy * size * 0.5,
                     end[1] - dy * size + dx * size * 0.5,
                     end[0] - dx * size + dy * size * 0.5,
                     end[1] - dy * size - dx * size * 0.5};
    at_canvas_polygon(p->drawing->canvas, tip, 3, color, 1);
}

/* A line from rim to rim, bent to the right of who looks. */
static int64_t line_points(const picture *p, const look *l, double *points) {
    double x0 = p->x[l->query], y0 = p->y[l->query], x1 = p->x[l->key], y1 = p->y[l->key];
    double dx = x1 - x0, dy = y1 - y0, length = hypot(dx, dy);
    if (length <= 2 * p->radius + 3) return 0;
    double bend = l->bent ? fmin(10, length * 0.09) : 0, begin = (p->radius + 1) / length,
           end = 1 - (p->radius + 4) / length;
    int64_t count = l->bent ? BEND : 2;
    for (int64_t i = 0; i < count; i++) {
        double at = begin + (end - begin) * (double)i / (double)(count - 1), off = 4 * bend * at * (1 - at);
        points[2 * i] = x0 + dx * at - dy / length * off;
        points[2 * i + 1] = y0 + dy * at + dx / length * off;
    }
    return count;
}

static void draw_look(picture *p, const look *l) {
    at_drawing *drawing = p->drawing;
    at_canvas *canvas = drawing->canvas;
    double points[2 * BEND];
    int64_t count = line_points(p, l, points);
    double share = fmin(1, fabs(l->weight) / p->most);
    if (count == 0) return;
    if (isnan(l->weight)) {
        at_canvas_polyline(canvas, points, count, 0.75, at_canvas_rule(canvas));
        return;
    }
    if (p->asked >= 0 && share < 0.03) return;
    char number[AT_NUMBER];
    unsigned color = at_weights_color(drawing, l->weight, p->most, p->links.is_signed);
    color = at_canvas_mix(at_canvas_rule(canvas), color, fmin(1, share * 4)); /* the least are seen, too */
    double thickness = 0.75 + 4.25 * share;
    const at_strings *rows = &drawing->explanation->rows;
    at_drawing_compose(drawing);
    at_drawing_add_name(drawing, at_name_of(rows, p->node[l->query], number));
    at_drawing_add(drawing, " → ");
    at_drawing_add_name(drawing, at_name_of(rows, p->node[l->key], number));
    at_drawing_add(drawing, ": ");
    at_drawing_add(drawing, at_number_fixed(number, l->weight, 4));
    at_canvas_begin(canvas, at_drawing_composed(drawing));
    at_canvas_polyline(canvas, points, count, thickness, color);
    if (share >= 0.15) arrow(p, points, count, thickness, color);
    at_canvas_end(canvas);
}

static unsigned node_color(const picture *p, int64_t n) {
    const at_canvas *canvas = p->drawing->canvas;
    const double *contributions = p->drawing->explanation->contributions;
    if (p->classes.class_of) return at_class_color(canvas, p->classes.class_of[n]);
    if (contributions) return at_canvas_signed(canvas, contributions[p->node[n]] / p->contribution);
    return at_canvas_mix(at_canvas_background(canvas), at_canvas_ink(canvas), 0.14);
}

static int overlap(const box *a, const box *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* How much a name would hide: nodes, names that stand already, edges. */
static double hidden(const picture *p, int64_t n, const box *name) {
    double sum = 0, radius = p->radius + 1;
    for (int64_t i = 0; i < p->count; i++) {
        box node = {p->x[i] - radius, p->y[i] - radius, p->x[i] + radius, p->y[i] + radius};
        if (i != n && overlap(name, &node)) sum += 8;
        if (i < n && overlap(name, &p->names[i])) sum += 6;
    }
    for (int64_t e = 0; e < p->edges; e++) {
        for (int step = 1; step < 16; step++) {
            double share = step / 16.0;
            double x = p->x[p->from[e]] * (1 - share) + p->x[p->to[e]] * share;
            double y = p->y[p->from[e]] * (1 - share) + p->y[p->to[e]] * share;
            sum += x > name->left && x < name->right && y > name->top && y < name->bottom;
        }
    }
    return sum;
}

/* Names stand right, left, above or below: where they hide least. */
static void draw_name(picture *p, int64_t n, const char *name) {
    static const int across[4] = {1, -1, 0, 0}, down[4] = {0, 0, 1, -1};
    at_canvas *canvas = p->drawing->canvas;
    double size = 11, least = INFINITY;
    name = at_text_fit(canvas, size, name, 110);
    double width = at_text_width(size, name);
    for (int side = 0; side < 4; side++) {
        double x = p->x[n] + across[side] * (p->radius + 5 + width / 2);
        double y = p->y[n] + down[side] * (p->radius + 5 + size / 2);
        box place = {x - width / 2 - 1, y - size / 2, x + width / 2 + 1, y + size / 2};
        double cost = hidden(p, n, &place) + (place.left < AT_MARGIN / 2 ? 20 : 0);
        if (cost >= least) continue;
        least = cost;
        p->names[n] = place;
    }
    const box *at = &p->names[n];
    at_canvas_rectangle(canvas, at->left, at->top, at->right - at->left, at->bottom - at->top,
                        at_canvas_background(canvas), 0.7);
    at_canvas_text(canvas, (at->left + at->right) / 2, (at->top + at->bottom) / 2 + size * 0.36, size,
                   AT_ANCHOR_MIDDLE, 0, at_canvas_ink(canvas), p->node[n] == p->asked, name);
    at_drawing_use(p->drawing, at->right, at->bottom + 2);
}

static void node_tooltip(picture *p, int64_t n) {
    at_drawing *drawing = p->drawing;
    const attn_explanation *explanation = drawing->explanation;
    char number[AT_NUMBER];
    double own = weight_of(p, n, n);
    at_drawing_compose(drawing);
    at_drawing_add_name(drawing, at_name_of(&explanation->rows, p->node[n], number));
    if (p->classes.class_of) {
        at_drawing_add(drawing, ": ");
        at_drawing_add_name(drawing, at_string(&explanation->answers, p->node[n]));
    }
    if (!isnan(own)) {
        at_drawing_add(drawing, "; itself: ");
        at_drawing_add(drawing, at_number_fixed(number, own, 4));
    }
    if (explanation->contributions) {
        at_drawing_add(drawing, "; contribution: ");
        at_drawing_add(drawing, at_number_short(number, explanation->contributions[p->node[n]]));
    }
}

static void draw_node(picture *p, int64_t n) {
    at_drawing *drawing = p->drawing;
    at_canvas *canvas = drawing->canvas;
    char number[AT_NUMBER];
    const char *name = at_name_of(&drawing->explanation->rows, p->node[n], number);
    unsigned fill = node_color(p, n), rim = at_canvas_faint(canvas);
    double own = weight_of(p, n, n);
    if (!isnan(own)) rim = at_weights_color(drawing, own, p->most, p->links.is_signed);
    node_tooltip(p, n);
    at_canvas_begin(canvas, at_drawing_composed(drawing));
    if (p->node[n] == p->asked)
        at_canvas_circle(canvas, p->x[n], p->y[n], p->radius + 4.5, at_canvas_background(canvas), 0xd55e00,
                         2);
    at_canvas_circle(canvas, p->x[n], p->y[n], p->radius, fill, rim, isnan(own) ? 0.75 : 2.5);
    if (p->inside)
        at_canvas_text(canvas, p->x[n], p->y[n] + p->radius * 0.9 * 0.36, p->radius * 0.9, AT_ANCHOR_MIDDLE,
                       0, at_canvas_readable(fill), 0, name);
    at_canvas_end(canvas);
}

static void draw_legends(picture *p) {
    at_drawing *drawing = p->drawing;
    double y = drawing->bottom + 14, right = fmax(drawing->right, 420);
    if (p->classes.count) y = at_classes_legend(drawing, &p->classes, AT_MARGIN, y, right);
    if (drawing->map) {
        at_drawing_legend(drawing, AT_MARGIN, y, p->most, p->links.is_signed,
                          p->links.is_signed
                              ? "weight × gradient, along an arrow"
                              : "attention weight: a node looks along its arrow; rims: at itself");
        y += AT_LEGEND + 10;
    }
    if (drawing->explanation->contributions && !p->classes.class_of)
        at_drawing_legend(drawing, AT_MARGIN, y, p->contribution, 1,
                          "contribution of a node (gradient × input)");
}

static attn_status draw(picture *p) {
    at_drawing *drawing = p->drawing;
    attn_status status = choose_nodes(p);
    if (status == ATTN_OK) status = choose_edges(p);
    if (status == ATTN_OK)
        status = at_layout_graph(drawing->context, p->count, p->edges, p->from, p->to, drawing->options->seed,
                                 p->x, p->y);
    if (status == ATTN_OK) status = at_links_open(drawing, &p->links);
    if (status == ATTN_OK) status = at_classes_find(drawing, p->count, p->node, &p->classes);
    if (status != ATTN_OK) return status;
    if (drawing->explanation->contributions)
        p->contribution = at_most(drawing->explanation->contributions, drawing->explanation->scene.rows);
    find_looks(p);
    place_nodes(p);
    for (int64_t l = 0; l < p->look_count; l++) draw_look(p, &p->looks[l]);
    for (int64_t n = 0; n < p->count; n++) draw_node(p, n);
    char number[AT_NUMBER];
    for (int64_t n = 0; !p->inside && n < p->count; n++)
        draw_name(p, n, at_name_of(&drawing->explanation->rows, p->node[n], number));
    draw_legends(p);
    return ATTN_OK;
}

attn_status at_scene_graph(at_drawing *drawing, at_writer *writer) {
    picture p = {.drawing = drawing, .asked = drawing->options->row};
    attn_status status = draw(&p);
    char description[96];
    snprintf(description, sizeof description,
             "A graph: %" PRId64 " of %" PRId64 " nodes, edges coloured by weight.", p.count,
             drawing->explanation->scene.rows);
    free_picture(&p);
    return at_drawing_close(drawing, status, NULL, description, writer);
}
