/* bonds.c: a molecule as chemists draw it.
 *
 * Carbon has no letter, unless it is charged, alone or of an isotope. The second line of a double bond stands
 * inside its ring, or on the side of the other bonds; at the end of a chain both lines are beside the axis.
 */
#include "explain/bonds.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/layout.h"

enum { RING = 8 }; /* larger rings have no inside for double bonds */

void at_formula_free(at_formula *formula) {
    attn_context *context = formula->drawing->context;
    at_release(context, formula->x);
    at_release(context, formula->y);
    at_release(context, formula->degree);
    at_release(context, formula->side);
    at_release(context, formula->reach);
}

/* ---- where atoms stand ---- */

/* The bond between two atoms; -1: there is none. */
static int64_t bond_between(const at_scene *scene, int64_t a, int64_t b) {
    for (int64_t e = 0; e < scene->edges; e++)
        if ((scene->from[e] == a && scene->to[e] == b) || (scene->from[e] == b && scene->to[e] == a))
            return e;
    return -1;
}

/* A mark of SMILES for a bond as it leads from `from`; read the other way round it is the other mark. */
static int mark_from(const at_scene *scene, const int8_t *marks, int64_t edge, int64_t from) {
    int mark = marks[edge];
    return mark == 0 || scene->from[edge] == from ? mark : 3 - mark;
}
static void set_mark(const at_scene *scene, int8_t *marks, int64_t edge, int64_t from, int mark) {
    marks[edge] = (int8_t)(scene->from[edge] == from ? mark : 3 - mark);
}

/* Trans: the bond that leads to a double bond and the one that leads away have the same mark. Returns 1 if
 * the marks of the double bond e are set now. */
static int mark_turn(const at_scene *scene, int8_t *marks, int64_t e, int start) {
    int64_t before = bond_between(scene, scene->turn_from[e], scene->from[e]);
    int64_t after = bond_between(scene, scene->to[e], scene->turn_to[e]);
    if (before < 0 || after < 0) return 1; /* nothing to be said */
    int in = mark_from(scene, marks, before, scene->turn_from[e]),
        out = mark_from(scene, marks, after, scene->to[e]);
    if (in && out) return 1;
    if (!in && !out && !start) return 0;
    if (!in && !out) in = 1;
    if (!in) in = scene->turn[e] == 2 ? out : 3 - out;
    if (!out) out = scene->turn[e] == 2 ? in : 3 - in;
    set_mark(scene, marks, before, scene->turn_from[e], in);
    set_mark(scene, marks, after, scene->to[e], out);
    return 1;
}

/* Double bonds that share a single bond continue from each other; then the next chain begins. */
static attn_status mark_turns(attn_context *context, const at_scene *scene, int8_t *marks) {
    int8_t *done = at_allocate(context, scene->edges, 1, "a molecule");
    if (!done) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < scene->edges; e++) done[e] = !scene->turn || scene->turn[e] == 0;
    for (int start = 0, changed = 1; changed || !start;) {
        start = !changed;
        changed = 0;
        for (int64_t e = 0; e < scene->edges; e++) {
            if (done[e] || !mark_turn(scene, marks, e, start)) continue;
            done[e] = 1;
            changed = 1;
            if (start) break;
        }
        if (start && !changed) break;
    }
    at_release(context, done);
    return ATTN_OK;
}

attn_status at_formula_lay_out(attn_context *context, const at_scene *scene, double *x, double *y) {
    int8_t *marks = at_allocate(context, scene->edges, 1, "a molecule");
    attn_status status = marks ? mark_turns(context, scene, marks) : ATTN_OUT_OF_MEMORY;
    at_molecule_sketch sketch = {.atoms = scene->rows,
                                 .bonds = scene->edges,
                                 .from = scene->from,
                                 .to = scene->to,
                                 .order = scene->order,
                                 .direction = marks};
    if (status == ATTN_OK) status = at_layout_molecule(context, &sketch, x, y);
    at_release(context, marks);
    return status;
}

/* From lengths of bonds, y upwards, to the paper. */
static void scale(at_formula *formula) {
    double low_x = 0, high_x = 0, low_y = 0, high_y = 0;
    for (int64_t a = 0; a < formula->scene->rows; a++) {
        low_x = fmin(low_x, formula->x[a]), high_x = fmax(high_x, formula->x[a]);
        low_y = fmin(low_y, formula->y[a]), high_y = fmax(high_y, formula->y[a]);
    }
    formula->bond = fmax(13, fmin(40, fmin(640 / fmax(1, high_x - low_x), 520 / fmax(1, high_y - low_y))));
    double room = formula->bond * 0.75, bond = formula->bond;
    for (int64_t a = 0; a < formula->scene->rows; a++) {
        formula->x[a] = AT_MARGIN + room + (formula->x[a] - low_x) * bond;
        formula->y[a] = AT_HEADING + room + (high_y - formula->y[a]) * bond;
        at_drawing_use(formula->drawing, formula->x[a] + room, formula->y[a] + room);
    }
}

/* ---- double bonds ---- */

/* The middle of the smallest ring that a bond is in, if it has at most RING atoms: a path between its ends.
 */
static int find_ring(const at_formula *formula, int64_t bond, int64_t *queue, int64_t *parent, double *x,
                     double *y) {
    const at_scene *scene = formula->scene;
    int64_t first = 0, last = 0, goal = scene->to[bond];
    for (int64_t a = 0; a < scene->rows; a++) parent[a] = -1;
    queue[last++] = scene->from[bond];
    parent[scene->from[bond]] = scene->from[bond];
    while (first < last && parent[goal] < 0) {
        int64_t atom = queue[first++];
        for (int64_t e = 0; e < scene->edges; e++) {
            if (e == bond || (scene->from[e] != atom && scene->to[e] != atom)) continue;
            int64_t next = scene->from[e] == atom ? scene->to[e] : scene->from[e];
            if (parent[next] >= 0) continue;
            parent[next] = atom;
            queue[last++] = next;
        }
    }
    if (parent[goal] < 0) return 0;
    int64_t atoms = 0;
    *x = *y = 0;
    for (int64_t a = goal;; a = parent[a]) {
        *x += formula->x[a], *y += formula->y[a];
        atoms++;
        if (parent[a] == a) break;
    }
    *x /= (double)atoms, *y /= (double)atoms;
    return atoms <= RING;
}

/* On which side of the line from a to b a point lies: -1 or 1, or 0 on it. */
static double side_of(const at_formula *formula, int64_t bond, double x, double y) {
    int64_t a = formula->scene->from[bond], b = formula->scene->to[bond];
    double cross = (formula->x[b] - formula->x[a]) * (y - formula->y[a]) -
                   (formula->y[b] - formula->y[a]) * (x - formula->x[a]);
    double least = 0.02 * formula->bond * formula->bond;
    return cross > least ? 1 : cross < -least ? -1 : 0;
}

static double choose_side(const at_formula *formula, int64_t bond, int64_t *queue, int64_t *parent) {
    const at_scene *scene = formula->scene;
    int64_t a = scene->from[bond], b = scene->to[bond];
    double x, y, sum = 0;
    if (find_ring(formula, bond, queue, parent, &x, &y)) return side_of(formula, bond, x, y);
    if (formula->degree[a] < 2 || formula->degree[b] < 2) return 0;
    for (int64_t e = 0; e < scene->edges; e++) {
        int from = scene->from[e] == a || scene->from[e] == b, to = scene->to[e] == a || scene->to[e] == b;
        if (from == to) continue;
        int64_t other = from ? scene->to[e] : scene->from[e];
        sum += side_of(formula, bond, formula->x[other], formula->y[other]);
    }
    return formula->reach[a] > 0 || formula->reach[b] > 0 ? 0 : sum < 0 ? -1 : 1;
}

static attn_status choose_sides(at_formula *formula) {
    attn_context *context = formula->drawing->context;
    int64_t *queue = at_allocate(context, formula->scene->rows, sizeof *queue, "a molecule");
    int64_t *parent = at_allocate(context, formula->scene->rows, sizeof *parent, "a molecule");
    attn_status status = queue && parent ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; status == ATTN_OK && e < formula->scene->edges; e++)
        if (formula->scene->order[e] == 2) formula->side[e] = choose_side(formula, e, queue, parent);
    at_release(context, queue);
    at_release(context, parent);
    return status;
}

/* ---- letters ---- */

static double letter_size(const at_formula *formula) { return fmax(7, formula->bond * 0.4); }

static double line_width(const at_formula *formula) { return fmax(0.8, formula->bond * 0.045); }

static int has_letters(const at_formula *formula, int64_t atom) {
    const at_scene *scene = formula->scene;
    return strcmp(at_string(&scene->symbols, atom), "C") != 0 || scene->charge[atom] ||
           formula->degree[atom] == 0;
}

attn_status at_formula_place(at_drawing *drawing, at_formula *formula) {
    const at_scene *scene = &drawing->explanation->scene;
    attn_context *context = drawing->context;
    *formula = (at_formula){.drawing = drawing, .scene = scene};
    formula->x = at_allocate(context, scene->rows, sizeof *formula->x, "a molecule");
    formula->y = at_allocate(context, scene->rows, sizeof *formula->y, "a molecule");
    formula->degree = at_allocate(context, scene->rows, sizeof *formula->degree, "a molecule");
    formula->side = at_allocate(context, scene->edges, sizeof *formula->side, "a molecule");
    formula->reach = at_allocate(context, scene->rows, sizeof *formula->reach, "a molecule");
    if (!formula->x || !formula->y || !formula->degree || !formula->side || !formula->reach)
        return ATTN_OUT_OF_MEMORY;
    attn_status status =
        at_formula_lay_out(formula->drawing->context, formula->scene, formula->x, formula->y);
    if (status != ATTN_OK) return status;
    scale(formula);
    for (int64_t e = 0; e < scene->edges; e++) {
        formula->degree[scene->from[e]]++;
        formula->degree[scene->to[e]]++;
    }
    for (int64_t a = 0; a < scene->rows; a++) {
        const char *symbol = at_string(&scene->symbols, a);
        if (has_letters(formula, a))
            formula->reach[a] = letter_size(formula) * (strlen(symbol) > 1 ? 0.75 : 0.62);
    }
    return choose_sides(formula);
}

/* Colours of elements that are read on light and dark ground. */
static unsigned element_color(const at_canvas *canvas, const char *symbol) {
    static const struct {
        const char *symbol;
        unsigned color;
    } known[] = {{"N", 0x2457c5},  {"O", 0xcc1f1a},  {"S", 0x9a7400}, {"P", 0xc96a00}, {"F", 0x1a8a2e},
                 {"Cl", 0x1a8a2e}, {"Br", 0x96391b}, {"I", 0x6a1b9a}, {"B", 0xb5654a}, {"Si", 0x8a6d3b}};
    unsigned color = at_canvas_ink(canvas);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(symbol, known[i].symbol) == 0) color = known[i].color;
    return at_canvas_background(canvas) == 0xffffff ? color : at_canvas_mix(color, 0xffffff, 0.5);
}

/* Pieces of text from x on, to the right or to the left; returns where they end. */
static double put_piece(const at_formula *formula, double x, double y, double size, int leftwards,
                        unsigned color, const char *text) {
    double width = at_text_width(size, text);
    at_canvas_text(formula->drawing->canvas, leftwards ? x - width / 2 : x + width / 2, y, size,
                   AT_ANCHOR_MIDDLE, 0, color, 0, text);
    return leftwards ? x - width : x + width;
}

typedef enum place { RIGHT, LEFT, ABOVE, BELOW } place;

/* Where hydrogens stand: where there is no bond. Alone, as formulas are written: H2O, HCl, but NH3. */
static place free_side(const at_formula *formula, int64_t atom) {
    const at_scene *scene = formula->scene;
    double across = 0, down = 0;
    int left = 0, right = 0;
    for (int64_t e = 0; e < scene->edges; e++) {
        if (scene->from[e] != atom && scene->to[e] != atom) continue;
        int64_t other = scene->from[e] == atom ? scene->to[e] : scene->from[e];
        double dx = formula->x[other] - formula->x[atom];
        across += dx, down += formula->y[other] - formula->y[atom];
        left |= dx<-0.3 * formula->bond, right |= dx> 0.3 * formula->bond;
    }
    if (formula->degree[atom] == 0)
        return strchr("OSFBI", *at_string(&scene->symbols, atom)) ||
                       strcmp(at_string(&scene->symbols, atom), "Cl") == 0
                   ? LEFT
                   : RIGHT;
    if (left && right) return down > 0 ? ABOVE : BELOW;
    return across > 0.1 * formula->bond ? LEFT : RIGHT;
}

static void put_hydrogens(const at_formula *formula, int64_t atom, double *left, double *right, double base,
                          unsigned color) {
    int count = formula->scene->hydrogens[atom];
    char text[8];
    double size = letter_size(formula), small = size * 0.7;
    if (count < 1) return;
    snprintf(text, sizeof text, "%d", count);
    place at = free_side(formula, atom);
    if (at == LEFT) {
        if (count > 1) *left = put_piece(formula, *left, base + size * 0.3, small, 1, color, text);
        *left = put_piece(formula, *left, base, size, 1, color, "H");
        return;
    }
    double x = *right, y = base;
    if (at != RIGHT) {
        x = formula->x[atom] - at_text_width(size, "H") / 2;
        y += at == ABOVE ? -size * 0.95 : size * 0.95;
    }
    x = put_piece(formula, x, y, size, 0, color, "H");
    if (count > 1) x = put_piece(formula, x, y + size * 0.3, small, 0, color, text);
    if (at == RIGHT) *right = x;
}

void at_formula_atom(const at_formula *formula, int64_t atom, int plain) {
    const char *symbol = at_string(&formula->scene->symbols, atom), *letters = symbol;
    at_canvas *canvas = formula->drawing->canvas;
    if (formula->reach[atom] == 0) { /* the corner where lines meet */
        double radius = line_width(formula) / 2;
        at_canvas_circle(canvas, formula->x[atom], formula->y[atom], radius, at_canvas_ink(canvas), 0, 0);
        return;
    }
    while (isdigit((unsigned char)*letters)) letters++;
    char isotope[8], text[12];
    snprintf(isotope, sizeof isotope, "%.*s", (int)(letters - symbol < 7 ? letters - symbol : 7), symbol);
    unsigned color = plain ? at_canvas_ink(canvas) : element_color(canvas, letters);
    double size = letter_size(formula), base = formula->y[atom] + size * 0.36;
    double width = at_text_width(size, letters), left = formula->x[atom] - width / 2,
           right = formula->x[atom] + width / 2;
    at_canvas_text(canvas, formula->x[atom], base, size, AT_ANCHOR_MIDDLE, 0, color, 0, letters);
    if (*isotope) left = put_piece(formula, left, base - size * 0.4, size * 0.7, 1, color, isotope);
    if (strcmp(letters, "H") != 0) put_hydrogens(formula, atom, &left, &right, base, color);
    int charge = formula->scene->charge[atom];
    if (charge) {
        const char *sign = charge > 0 ? "+" : "−";
        if (charge == 1 || charge == -1)
            snprintf(text, sizeof text, "%s", sign);
        else
            snprintf(text, sizeof text, "%d%s", charge > 0 ? charge : -charge, sign);
        int leftwards = formula->degree[atom] > 0 && free_side(formula, atom) == LEFT;
        put_piece(formula, leftwards ? left : right, base - size * 0.45, size * 0.75, leftwards, color, text);
    }
    at_drawing_use(formula->drawing, right + size * 0.8, base);
}

/* ---- lines ---- */

/* A line beside the axis of a bond by `off`, shorter by `cut` of its length at each end. */
static void put_line(const at_formula *formula, int64_t edge, double off, double cut, double thickness,
                     unsigned color) {
    int64_t a = formula->scene->from[edge], b = formula->scene->to[edge];
    double dx = formula->x[b] - formula->x[a], dy = formula->y[b] - formula->y[a], length = hypot(dx, dy);
    if (length == 0) return;
    double begin = formula->reach[a] / length, end = 1 - formula->reach[b] / length;
    begin = fmax(begin, cut), end = fmin(end, 1 - cut);
    if (begin >= end) return;
    double x = -dy / length * off, y = dx / length * off;
    at_canvas_line(formula->drawing->canvas, formula->x[a] + dx * begin + x, formula->y[a] + dy * begin + y,
                   formula->x[a] + dx * end + x, formula->y[a] + dy * end + y, thickness, color, 1);
}

void at_formula_bond(const at_formula *formula, int64_t edge, unsigned color) {
    double thickness = line_width(formula), gap = formula->bond * 0.16;
    int order = formula->scene->order[edge];
    double side = formula->side[edge];
    if (order == 2 && side == 0) {
        put_line(formula, edge, gap / 2, 0, thickness, color);
        put_line(formula, edge, -gap / 2, 0, thickness, color);
        return;
    }
    put_line(formula, edge, 0, 0, thickness, color);
    if (order == 2) put_line(formula, edge, side * gap, 0.14, thickness, color);
    if (order == 3) {
        put_line(formula, edge, gap * 0.85, 0, thickness, color);
        put_line(formula, edge, -gap * 0.85, 0, thickness, color);
    }
}
