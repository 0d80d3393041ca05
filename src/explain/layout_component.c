/* layout_component.c: a connected graph in the plane.
 *
 * The start is a classical scaling of the distances to a few pivots (farthest-point samples), which unfolds
 * paths, cycles, grids and trees at once. From there, small graphs minimize the stress
 *
 *     sum over pairs of (|p_i - p_j| - d_ij)^2 / d_ij^2,      d_ij hops between i and j,
 *
 * node by node, each moved to where its pairs pull it in the mean. Larger ones follow forces: edges attract
 * by their length squared, all nodes repel by the inverse distance, summed over a quadtree (Barnes and Hut).
 */
#include "explain/layout_component.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "explain/layout.h"

enum { PIVOTS = 40, POWER_STEPS = 60, STRESS_STEPS = 250, FORCE_STEPS = 120, DEPTH_MOST = 24 };
#define TREE_FAR 0.81 /* (side of a cell / distance)^2 below which it counts as one point */

/* A number in [-0.5, 0.5) that depends on its place alone. */
static double jitter(uint64_t random, int64_t place) {
    return (double)(at_splitmix64(random ^ (uint64_t)place * 0x9e3779b97f4a7c15u) >> 11) /
               9007199254740992.0 -
           0.5;
}

/* Hops from one node to all. */
static void count_hops(const at_layout_neighbours *graph, int64_t source, int32_t *hops, int64_t *queue) {
    for (int64_t i = 0; i < graph->nodes; i++) hops[i] = -1;
    int64_t head = 0, tail = 0;
    hops[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        int64_t node = queue[head++];
        for (int64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
            int64_t other = graph->beside[e];
            if (hops[other] >= 0) continue;
            hops[other] = hops[node] + 1;
            queue[tail++] = other;
        }
    }
}

/* ---- the start: pivots ---- */

/* The direction of largest spread of `rows` points in `columns` dimensions, by power iteration; `without`, if
 * not NULL, is a direction that is left out. */
static void find_direction(const double *points, int64_t rows, int columns, const double *without,
                           uint64_t random, double *direction, double *along) {
    for (int c = 0; c < columns; c++) direction[c] = 1 + jitter(random, c);
    for (int step = 0; step < POWER_STEPS; step++) {
        double next[PIVOTS] = {0}, length = 0, overlap = 0;
        if (without)
            for (int c = 0; c < columns; c++) overlap += direction[c] * without[c];
        for (int c = 0; c < columns && without; c++) direction[c] -= overlap * without[c];
        for (int c = 0; c < columns; c++) length += direction[c] * direction[c];
        length = sqrt(length);
        if (length < 1e-150) break;
        for (int c = 0; c < columns; c++) direction[c] /= length;
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            for (int c = 0; c < columns; c++) sum += points[r * columns + c] * direction[c];
            along[r] = sum;
            for (int c = 0; c < columns; c++) next[c] += sum * points[r * columns + c];
        }
        if (step + 1 < POWER_STEPS) memcpy(direction, next, (size_t)columns * sizeof *next);
    }
}

/* Squared hops, centred by rows and columns, as in classical scaling. */
static void centre_points(double *points, int64_t rows, int columns) {
    double columns_mean[PIVOTS] = {0}, all = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) columns_mean[c] += points[r * columns + c] / (double)rows;
    for (int c = 0; c < columns; c++) all += columns_mean[c] / columns;
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0;
        for (int c = 0; c < columns; c++) mean += points[r * columns + c] / columns;
        for (int c = 0; c < columns; c++)
            points[r * columns + c] = -0.5 * (points[r * columns + c] - columns_mean[c] - mean + all);
    }
}

/* Stretches the start so that edges have a length of 1 in the mean square, and adds noise. */
static void scale_start(const at_layout_neighbours *graph, uint64_t random, double *x, double *y) {
    double sum = 0;
    for (int64_t i = 0; i < graph->nodes; i++)
        for (int64_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            double dx = x[i] - x[graph->beside[e]], dy = y[i] - y[graph->beside[e]];
            sum += dx * dx + dy * dy;
        }
    double mean = sqrt(sum / (double)graph->first[graph->nodes]), factor = mean > 1e-100 ? 1 / mean : 0;
    for (int64_t i = 0; i < graph->nodes; i++) {
        x[i] = factor * x[i] + 0.3 * jitter(random, 2 * i + 100);
        y[i] = factor * y[i] + 0.3 * jitter(random, 2 * i + 101);
    }
}

static attn_status start_from_pivots(attn_context *context, const at_layout_neighbours *graph,
                                     uint64_t random, double *x, double *y) {
    int64_t nodes = graph->nodes, pivot = 0;
    int columns = nodes < PIVOTS ? (int)nodes : PIVOTS;
    int32_t *hops = at_allocate(context, 2 * nodes, sizeof *hops, "hops of a layout"),
            *nearest = hops + nodes;
    int64_t *queue = at_allocate(context, nodes, sizeof *queue, "the queue of a layout");
    double *points = at_allocate(context, nodes * columns, sizeof *points, "the start of a layout");
    attn_status status = hops && queue && points ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int c = 0; c < columns && status == ATTN_OK; c++) {
        count_hops(graph, pivot, hops, queue);
        int64_t next = 0;
        for (int64_t i = 0; i < nodes; i++) {
            points[i * columns + c] = (double)hops[i] * hops[i];
            if (c == 0 || hops[i] < nearest[i]) nearest[i] = hops[i];
            if (nearest[i] > nearest[next]) next = i;
        }
        pivot = next;
    }
    if (status == ATTN_OK) {
        double directions[2][PIVOTS];
        centre_points(points, nodes, columns);
        find_direction(points, nodes, columns, NULL, random, directions[0], x);
        find_direction(points, nodes, columns, directions[0], random + 1, directions[1], y);
        scale_start(graph, random, x, y);
    }
    at_release(context, points);
    at_release(context, queue);
    at_release(context, hops);
    return status;
}

/* ---- stress ---- */

/* Moves one node to the mean of where its pairs want it; returns how far. */
static double settle_node(int64_t nodes, int64_t i, const int32_t *hops, double *x, double *y) {
    double sum_x = 0, sum_y = 0, weights = 0, xi = x[i], yi = y[i];
    for (int64_t j = 0; j < nodes; j++) {
        if (j == i) continue;
        double wanted = hops[j], weight = 1 / (wanted * wanted);
        double dx = xi - x[j], dy = yi - y[j], distance = sqrt(dx * dx + dy * dy);
        double pull = distance > 1e-9 ? wanted / distance : 0;
        sum_x += weight * (x[j] + pull * dx);
        sum_y += weight * (y[j] + pull * dy);
        weights += weight;
    }
    x[i] = sum_x / weights;
    y[i] = sum_y / weights;
    return fabs(x[i] - xi) + fabs(y[i] - yi);
}

static attn_status reduce_stress(attn_context *context, const at_layout_neighbours *graph, double *x,
                                 double *y) {
    int64_t nodes = graph->nodes;
    int32_t *hops = at_allocate(context, nodes * nodes, sizeof *hops, "distances of a layout");
    int64_t *queue = at_allocate(context, nodes, sizeof *queue, "the queue of a layout");
    attn_status status = hops && queue ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        for (int64_t i = 0; i < nodes; i++) count_hops(graph, i, hops + i * nodes, queue);
        for (int step = 0; step < STRESS_STEPS; step++) {
            double moved = 0;
            for (int64_t i = 0; i < nodes; i++) moved += settle_node(nodes, i, hops + i * nodes, x, y);
            if (moved < 1e-4 * (double)nodes) break;
        }
    }
    at_release(context, queue);
    at_release(context, hops);
    return status;
}

/* ---- forces ---- */

typedef struct cell {
    double x, y, mass, side; /* the centre of its nodes */
    int32_t child[4];        /* 0: none */
    int32_t node;            /* of a leaf with one place; -1 */
} cell;

typedef struct tree {
    cell *cells;
    int64_t count, room;
} tree;

static int32_t add_cell(tree *t, double side, int32_t node) {
    cell fresh = {.side = side, .node = node};
    t->cells[t->count] = fresh;
    return (int32_t)t->count++;
}

static int quarter(double x, double y, double middle_x, double middle_y) {
    return (x >= middle_x) + 2 * (y >= middle_y);
}

/* Adds a node to the tree below cell 0, whose middle is given; leaves split until DEPTH_MOST. */
static void insert_node(tree *t, int32_t node, const double *x, const double *y, double middle_x,
                        double middle_y) {
    int32_t at = 0;
    for (int depth = 0;; depth++) {
        cell *here = &t->cells[at];
        int had = (int)(here->mass > 0), old = here->node;
        here->x += x[node];
        here->y += y[node];
        here->mass += 1;
        if (!had) {
            here->node = node;
            return;
        }
        if (depth == DEPTH_MOST) return;
        double half = here->side / 2, quarter_side = here->side / 4;
        if (old >= 0) { /* it was a leaf: its node goes one level down */
            int q = quarter(x[old], y[old], middle_x, middle_y);
            int32_t below = add_cell(t, half, old);
            t->cells[below].x = x[old];
            t->cells[below].y = y[old];
            t->cells[below].mass = 1;
            t->cells[at].child[q] = below;
            t->cells[at].node = -1;
        }
        int q = quarter(x[node], y[node], middle_x, middle_y);
        if (!t->cells[at].child[q]) {
            int32_t fresh = add_cell(t, half, -1);
            t->cells[at].child[q] = fresh;
        }
        at = t->cells[at].child[q];
        middle_x += q & 1 ? quarter_side : -quarter_side;
        middle_y += q & 2 ? quarter_side : -quarter_side;
    }
}

static void build_tree(tree *t, int64_t nodes, const double *x, const double *y) {
    double low_x = x[0], high_x = x[0], low_y = y[0], high_y = y[0];
    for (int64_t i = 1; i < nodes; i++) {
        low_x = fmin(low_x, x[i]);
        high_x = fmax(high_x, x[i]);
        low_y = fmin(low_y, y[i]);
        high_y = fmax(high_y, y[i]);
    }
    t->count = 0;
    add_cell(t, fmax(high_x - low_x, high_y - low_y) + 1e-9, -1);
    for (int64_t i = 0; i < nodes; i++)
        if (t->count + 2 * DEPTH_MOST + 2 < t->room)
            insert_node(t, (int32_t)i, x, y, (low_x + high_x) / 2, (low_y + high_y) / 2);
    for (int64_t i = 0; i < t->count; i++) {
        t->cells[i].x /= t->cells[i].mass;
        t->cells[i].y /= t->cells[i].mass;
    }
}

/* What all nodes do to the one at (x, y). */
static void repel(const tree *t, double x, double y, double *force_x, double *force_y) {
    int32_t stack[4 * (DEPTH_MOST + 2)];
    int top = 0;
    stack[top++] = 0;
    while (top) {
        const cell *here = &t->cells[stack[--top]];
        double dx = x - here->x, dy = y - here->y, square = dx * dx + dy * dy;
        int leaf = !here->child[0] && !here->child[1] && !here->child[2] && !here->child[3];
        if (leaf || here->side * here->side < TREE_FAR * square) {
            double strength = here->mass / (square + 1e-3);
            *force_x += strength * dx;
            *force_y += strength * dy;
            continue;
        }
        for (int q = 0; q < 4; q++)
            if (here->child[q]) stack[top++] = here->child[q];
    }
}

/* One step along the forces, no node farther than `most`. */
static void follow_forces(const at_layout_neighbours *graph, const tree *t, double most, double *x, double *y,
                          double *step) {
    for (int64_t i = 0; i < graph->nodes; i++) {
        double fx = 0, fy = 0;
        repel(t, x[i], y[i], &fx, &fy);
        for (int64_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            int64_t j = graph->beside[e];
            double dx = x[j] - x[i], dy = y[j] - y[i], length = sqrt(dx * dx + dy * dy);
            fx += dx * length;
            fy += dy * length;
        }
        double size = sqrt(fx * fx + fy * fy), factor = size > most ? most / size : 1;
        step[2 * i] = factor * fx;
        step[2 * i + 1] = factor * fy;
    }
    for (int64_t i = 0; i < graph->nodes; i++) {
        x[i] += step[2 * i];
        y[i] += step[2 * i + 1];
    }
}

static attn_status reduce_forces(attn_context *context, const at_layout_neighbours *graph, double *x,
                                 double *y) {
    int64_t nodes = graph->nodes;
    tree t = {.room = 8 * nodes + 1000};
    t.cells = at_allocate(context, t.room, sizeof *t.cells, "the quadtree of a layout");
    double *step = at_allocate(context, 2 * nodes, sizeof *step, "forces of a layout");
    attn_status status = t.cells && step ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    double most = 0.1 * sqrt((double)nodes);
    for (int i = 0; i < FORCE_STEPS && status == ATTN_OK; i++) {
        build_tree(&t, nodes, x, y);
        follow_forces(graph, &t, most, x, y, step);
        most *= 0.95;
    }
    at_release(context, step);
    at_release(context, t.cells);
    return status;
}

/* Nodes that all know each other have no shape but this. */
static void place_on_circle(int64_t nodes, double *x, double *y) {
    for (int64_t i = 0; i < nodes; i++) {
        x[i] = cos(6.283185307179586 * (double)i / (double)nodes);
        y[i] = sin(6.283185307179586 * (double)i / (double)nodes);
    }
}

attn_status at_place_component(attn_context *context, const at_layout_neighbours *graph, uint64_t random,
                               double *x, double *y) {
    if (graph->first[graph->nodes] == graph->nodes * (graph->nodes - 1)) {
        place_on_circle(graph->nodes, x, y);
        return ATTN_OK;
    }
    attn_status status = start_from_pivots(context, graph, random, x, y);
    if (status != ATTN_OK) return status;
    return graph->nodes <= AT_LAYOUT_STRESS_MOST ? reduce_stress(context, graph, x, y)
                                                 : reduce_forces(context, graph, x, y);
}
