/* layout_graph.c: a graph in the plane: cut into its components, which are placed one by one
 * (layout_component.c), turned so that the long axis is horizontal, and set beside each other in rows; and
 * the neighbourhood of a node. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "explain/layout.h"
#include "explain/layout_component.h"

#define GAP 0.9 /* between components; edges are about 1 long */

/* ---- adjacency ---- */

static int compare_numbers(const void *first, const void *second) {
    int64_t a = *(const int64_t *)first, b = *(const int64_t *)second;
    return a < b ? -1 : a > b;
}

static attn_status check_edges(attn_context *context, int64_t nodes, int64_t edges, const int64_t *from,
                               const int64_t *to) {
    if (nodes < 0 || edges < 0 || nodes > INT32_MAX / 16)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "a layout of %lld nodes and %lld edges cannot be made",
                       (long long)nodes, (long long)edges);
    for (int64_t i = 0; i < edges; i++)
        if (from[i] < 0 || from[i] >= nodes || to[i] < 0 || to[i] >= nodes)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "edge %lld joins %lld and %lld, but the graph has the nodes 0 to %lld",
                           (long long)i, (long long)from[i], (long long)to[i], (long long)nodes - 1);
    return ATTN_OK;
}

static void release_adjacency(attn_context *context, at_layout_neighbours *graph) {
    at_release(context, graph->first);
    at_release(context, graph->beside);
}

static attn_status make_adjacency(attn_context *context, int64_t nodes, int64_t edges, const int64_t *from,
                                  const int64_t *to, at_layout_neighbours *graph) {
    graph->nodes = nodes;
    graph->first = at_allocate(context, nodes + 2, sizeof *graph->first, "the neighbours of a layout");
    graph->beside = at_allocate(context, 2 * edges, sizeof *graph->beside, "the neighbours of a layout");
    if (!graph->first || !graph->beside) return ATTN_OUT_OF_MEMORY;
    int64_t *next = graph->first + 1, kept = 0, begin = 0;
    for (int64_t i = 0; i < edges; i++) {
        next[from[i] + 1]++;
        next[to[i] + 1]++;
    }
    for (int64_t i = 0; i < nodes; i++) next[i + 1] += next[i];
    for (int64_t i = 0; i < edges; i++) {
        graph->beside[next[from[i]]++] = to[i];
        graph->beside[next[to[i]]++] = from[i];
    }
    for (int64_t i = 0; i < nodes; i++) { /* sorted, each once, without loops */
        int64_t end = graph->first[i + 1];
        qsort(graph->beside + begin, (size_t)(end - begin), sizeof *graph->beside, compare_numbers);
        graph->first[i] = kept;
        for (int64_t e = begin; e < end; e++)
            if (graph->beside[e] != i && (e == begin || graph->beside[e] != graph->beside[e - 1]))
                graph->beside[kept++] = graph->beside[e];
        begin = end;
    }
    graph->first[nodes] = kept;
    return ATTN_OK;
}

/* ---- components ---- */

typedef struct part {
    int64_t begin, count; /* in the list of nodes */
    double width, height;
} part;

typedef struct parts {
    int64_t *list; /* nodes, component by component */
    part *part;
    int64_t count;
} parts;

static void find_parts(const at_layout_neighbours *graph, int64_t *place, parts *found) {
    int64_t listed = 0;
    for (int64_t i = 0; i < graph->nodes; i++) place[i] = -1;
    for (int64_t i = 0; i < graph->nodes; i++) {
        if (place[i] >= 0) continue;
        part *one = &found->part[found->count++];
        one->begin = listed;
        place[i] = 0;
        found->list[listed++] = i;
        for (int64_t head = one->begin; head < listed; head++) {
            int64_t node = found->list[head];
            for (int64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
                int64_t other = graph->beside[e];
                if (place[other] >= 0) continue;
                place[other] = 0;
                found->list[listed++] = other;
            }
        }
        one->count = listed - one->begin;
        qsort(found->list + one->begin, (size_t)one->count, sizeof *found->list, compare_numbers);
    }
    for (int64_t p = 0; p < found->count; p++)
        for (int64_t i = 0; i < found->part[p].count; i++) place[found->list[found->part[p].begin + i]] = i;
}

/* The direction that edges share up to right angles, as in grids; 0 where there is none: *angle is left. */
static int find_grid(const at_layout_neighbours *graph, const double *x, const double *y, double *angle) {
    double cosine = 0, sine = 0;
    for (int64_t i = 0; i < graph->nodes; i++)
        for (int64_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            double turn = 4 * atan2(y[graph->beside[e]] - y[i], x[graph->beside[e]] - x[i]);
            cosine += cos(turn);
            sine += sin(turn);
        }
    if (sqrt(cosine * cosine + sine * sine) < 0.7 * (double)graph->first[graph->nodes]) return 0;
    *angle = atan2(sine, cosine) / 4;
    return 1;
}

/* The axis of the largest spread. */
static double find_axis(int64_t count, const double *x, const double *y) {
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (int64_t i = 0; i < count; i++) {
        mean_x += x[i] / (double)count;
        mean_y += y[i] / (double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        double dx = x[i] - mean_x, dy = y[i] - mean_y;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    return 0.5 * atan2(2 * xy, xx - yy);
}

/* Turns the component so that the axis of its largest spread is horizontal, or the nearest direction along
 * which it is a grid, and moves its bounding box to (0, 0). */
static void set_upright(const at_layout_neighbours *graph, double *x, double *y, part *one) {
    int64_t count = graph->nodes;
    double right = 1.5707963267948966, angle = find_axis(count, x, y), grid;
    if (find_grid(graph, x, y, &grid)) angle = grid + right * floor((angle - grid) / right + 0.5);
    double cosine = cos(angle), sine = sin(angle);
    double low_x = INFINITY, low_y = INFINITY, high_x = -INFINITY, high_y = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        double old = x[i];
        x[i] = cosine * old + sine * y[i];
        y[i] = -sine * old + cosine * y[i];
        low_x = fmin(low_x, x[i]);
        low_y = fmin(low_y, y[i]);
        high_x = fmax(high_x, x[i]);
        high_y = fmax(high_y, y[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        x[i] -= low_x;
        y[i] -= low_y;
    }
    one->width = high_x - low_x;
    one->height = high_y - low_y;
}

/* Makes edges 1 long in the mean, so that components have one scale. */
static void scale_part(const at_layout_neighbours *graph, double *x, double *y) {
    int64_t edges = graph->first[graph->nodes];
    double sum = 0;
    for (int64_t i = 0; i < graph->nodes; i++)
        for (int64_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            double dx = x[i] - x[graph->beside[e]], dy = y[i] - y[graph->beside[e]];
            sum += sqrt(dx * dx + dy * dy);
        }
    double factor = sum > 1e-9 ? (double)edges / sum : 1;
    for (int64_t i = 0; i < graph->nodes; i++) {
        x[i] *= factor;
        y[i] *= factor;
    }
}

/* One component, as a graph of its own, at the places of its nodes in the list. */
static attn_status place_part(attn_context *context, const at_layout_neighbours *graph, const int64_t *place,
                              const int64_t *list, part *one, uint64_t random, double *x, double *y) {
    at_layout_neighbours own = {.nodes = one->count};
    int64_t edges = 0;
    if (one->count == 1) {
        x[0] = y[0] = 0;
        one->width = one->height = 0;
        return ATTN_OK;
    }
    for (int64_t i = 0; i < one->count; i++) edges += graph->first[list[i] + 1] - graph->first[list[i]];
    own.first = at_allocate(context, one->count + 1, sizeof *own.first, "a component of a layout");
    own.beside = at_allocate(context, edges, sizeof *own.beside, "a component of a layout");
    attn_status status = own.first && own.beside ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0, kept = 0; i < one->count && status == ATTN_OK; i++) {
        for (int64_t e = graph->first[list[i]]; e < graph->first[list[i] + 1]; e++)
            own.beside[kept++] = place[graph->beside[e]];
        own.first[i + 1] = kept;
    }
    if (status == ATTN_OK) status = at_place_component(context, &own, random, x, y);
    if (status == ATTN_OK) {
        scale_part(&own, x, y);
        set_upright(&own, x, y, one);
    }
    release_adjacency(context, &own);
    return status;
}

/* ---- side by side ---- */

static int compare_parts(const void *first, const void *second) {
    const part *a = first, *b = second;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* In rows that are filled from the left, about as wide together as they are high, each in the middle of its
 * row. */
static void pack_parts(parts *found, double *x, double *y) {
    double area = 0, widest = 0, top = 0;
    qsort(found->part, (size_t)found->count, sizeof *found->part, compare_parts);
    for (int64_t p = 0; p < found->count; p++) {
        area += (found->part[p].width + GAP) * (found->part[p].height + GAP);
        widest = fmax(widest, found->part[p].width);
    }
    double limit = fmax(widest, 1.25 * sqrt(area));
    for (int64_t begin = 0, end; begin < found->count; begin = end) {
        double width = 0, height = 0;
        for (end = begin; end < found->count; end++) {
            const part *one = &found->part[end];
            if (end > begin && width + one->width > limit) break;
            width += one->width + GAP;
            height = fmax(height, one->height);
        }
        double left = 0;
        for (int64_t p = begin; p < end; p++) {
            const part *one = &found->part[p];
            for (int64_t i = one->begin; i < one->begin + one->count; i++) {
                x[i] += left;
                y[i] += top + (height - one->height) / 2;
            }
            left += one->width + GAP;
        }
        top += height + GAP;
    }
}

/* Into the unit box, by one factor for both axes, in the order of the nodes. */
static void fit_box(const parts *found, int64_t nodes, const double *place_x, const double *place_y,
                    double *x, double *y) {
    double low_x = INFINITY, low_y = INFINITY, high_x = -INFINITY, high_y = -INFINITY;
    for (int64_t i = 0; i < nodes; i++) {
        low_x = fmin(low_x, place_x[i]);
        low_y = fmin(low_y, place_y[i]);
        high_x = fmax(high_x, place_x[i]);
        high_y = fmax(high_y, place_y[i]);
    }
    double side = fmax(high_x - low_x, high_y - low_y), factor = side > 1e-9 ? 1 / side : 0;
    double left = 0.5 - factor * (high_x - low_x) / 2, top = 0.5 - factor * (high_y - low_y) / 2;
    for (int64_t i = 0; i < nodes; i++) {
        x[found->list[i]] = fmin(1, fmax(0, left + factor * (place_x[i] - low_x)));
        y[found->list[i]] = fmin(1, fmax(0, top + factor * (place_y[i] - low_y)));
    }
}

attn_status at_layout_graph(attn_context *context, int64_t nodes, int64_t edges, const int64_t *from,
                            const int64_t *to, uint64_t seed, double *x, double *y) {
    at_layout_neighbours graph = {.nodes = 0};
    parts found = {.count = 0};
    attn_status status = check_edges(context, nodes, edges, from, to);
    if (status != ATTN_OK || nodes == 0) return status;
    status = make_adjacency(context, nodes, edges, from, to, &graph);
    int64_t *place = at_allocate(context, nodes, sizeof *place, "the components of a layout");
    double *points = at_allocate(context, 2 * nodes, sizeof *points, "the places of a layout");
    found.list = at_allocate(context, nodes, sizeof *found.list, "the components of a layout");
    found.part = at_allocate(context, nodes, sizeof *found.part, "the components of a layout");
    if (!place || !points || !found.list || !found.part) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) find_parts(&graph, place, &found);
    for (int64_t p = 0; p < found.count && status == ATTN_OK; p++) {
        part *one = &found.part[p];
        status = place_part(context, &graph, place, found.list + one->begin, one, at_splitmix64(seed),
                            points + one->begin, points + nodes + one->begin);
    }
    if (status == ATTN_OK) {
        pack_parts(&found, points, points + nodes);
        fit_box(&found, nodes, points, points + nodes, x, y);
    }
    at_release(context, found.part);
    at_release(context, found.list);
    at_release(context, points);
    at_release(context, place);
    release_adjacency(context, &graph);
    return status;
}

/* ---- neighbourhoods ---- */

/* The nodes of one distance after another, each sorted by number, until `most` are chosen. */
static void collect_nearest(const at_layout_neighbours *graph, int64_t centre, int64_t most, char *seen,
                            int64_t *queue, int64_t *chosen, int64_t *count) {
    int64_t begin = 0, end = 1;
    queue[0] = centre;
    seen[centre] = 1;
    while (begin < end && *count < most) {
        qsort(queue + begin, (size_t)(end - begin), sizeof *queue, compare_numbers);
        int64_t next = end;
        for (int64_t i = begin; i < end; i++) {
            if (*count < most) chosen[(*count)++] = queue[i];
            for (int64_t e = graph->first[queue[i]]; e < graph->first[queue[i] + 1]; e++) {
                if (seen[graph->beside[e]]) continue;
                seen[graph->beside[e]] = 1;
                queue[next++] = graph->beside[e];
            }
        }
        begin = end;
        end = next;
    }
}

attn_status at_neighbourhood(attn_context *context, int64_t nodes, int64_t edges, const int64_t *from,
                             const int64_t *to, int64_t centre, int64_t most, int64_t *chosen,
                             int64_t *count) {
    at_layout_neighbours graph = {.nodes = 0};
    *count = 0;
    attn_status status = check_edges(context, nodes, edges, from, to);
    if (status != ATTN_OK) return status;
    if (centre < 0 || centre >= nodes)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "there is no node %lld: the graph has %lld",
                       (long long)centre, (long long)nodes);
    status = make_adjacency(context, nodes, edges, from, to, &graph);
    char *seen = at_allocate(context, nodes, sizeof *seen, "a neighbourhood");
    int64_t *queue = at_allocate(context, nodes, sizeof *queue, "a neighbourhood");
    if (!seen || !queue) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) collect_nearest(&graph, centre, most, seen, queue, chosen, count);
    at_release(context, queue);
    at_release(context, seen);
    release_adjacency(context, &graph);
    return status;
}
