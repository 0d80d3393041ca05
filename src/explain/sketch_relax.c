/* sketch_relax.c: points that follow forces: bonds want to be 1 long, some pairs want a distance, other
 * points keep apart from each other and from bonds. Plain descent with a limit for each step; it ends when
 * nothing moves. Also the two tests of geometry that all files of a sketch share. */
#include <math.h>
#include <string.h>

#include "explain/sketch.h"

double at_point_to_segment(double px, double py, double ax, double ay, double bx, double by) {
    double dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
    double t = square > 0 ? ((px - ax) * dx + (py - ay) * dy) / square : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    double ex = px - ax - t * dx, ey = py - ay - t * dy;
    return sqrt(ex * ex + ey * ey);
}

static double turn(double ax, double ay, double bx, double by, double cx, double cy) {
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

int at_segments_cross(double ax, double ay, double bx, double by, double cx, double cy, double dx,
                      double dy) {
    double first = turn(ax, ay, bx, by, cx, cy), second = turn(ax, ay, bx, by, dx, dy);
    if ((first > 0) == (second > 0)) return 0;
    return (turn(cx, cy, dx, dy, ax, ay) > 0) != (turn(cx, cy, dx, dy, bx, by) > 0);
}

/* Draws two points to a distance (or apart): the force of weight * (distance - length)^2. */
static void pull(const at_relaxation *r, int a, int b, double length, double weight) {
    double dx = r->x[b] - r->x[a], dy = r->y[b] - r->y[a], distance = sqrt(dx * dx + dy * dy);
    if (distance < 1e-9) {
        dx = 1e-3 * (a - b);
        dy = 1e-3;
        distance = sqrt(dx * dx + dy * dy);
    }
    double force = weight * (distance - length) / distance;
    r->force[2 * a] += force * dx;
    r->force[2 * a + 1] += force * dy;
    r->force[2 * b] -= force * dx;
    r->force[2 * b + 1] -= force * dy;
}

static void repel_points(const at_relaxation *r, double spread) {
    double near = r->near, far = spread > 0 ? 3 : near;
    for (int a = 0; a < r->points; a++)
        for (int b = a + 1; b < r->points; b++) {
            double dx = r->x[b] - r->x[a], dy = r->y[b] - r->y[a];
            if (fabs(dx) >= far || fabs(dy) >= far) continue;
            double square = dx * dx + dy * dy;
            if (square >= far * far || r->related[(size_t)a * (size_t)r->points + (size_t)b]) continue;
            if (square < near * near) pull(r, a, b, near, 1);
            if (spread > 0) pull(r, a, b, far, spread);
        }
}

/* Pushes a point off a bond, and the bond off the point. */
static void repel_bond(const at_relaxation *r, int point, int bond) {
    int a = r->from[bond], b = r->to[bond];
    if (point == a || point == b) return;
    double dx = r->x[b] - r->x[a], dy = r->y[b] - r->y[a];
    double px = r->x[point] - r->x[a], py = r->y[point] - r->y[a], square = dx * dx + dy * dy;
    double t = square > 0 ? (px * dx + py * dy) / square : 0;
    if (t <= 0.02 || t >= 0.98) return;
    double ex = px - t * dx, ey = py - t * dy, distance = sqrt(ex * ex + ey * ey);
    if (distance >= r->beside || distance < 1e-9) return;
    double force = 4 * (r->beside - distance) / distance;
    r->force[2 * point] += force * ex;
    r->force[2 * point + 1] += force * ey;
    r->force[2 * a] -= force * (1 - t) * ex;
    r->force[2 * a + 1] -= force * (1 - t) * ey;
    r->force[2 * b] -= force * t * ex;
    r->force[2 * b + 1] -= force * t * ey;
}

static void repel_bonds(const at_relaxation *r) {
    for (int bond = 0; bond < r->bonds; bond++) {
        int a = r->from[bond], b = r->to[bond];
        double low_x = fmin(r->x[a], r->x[b]) - r->beside, high_x = fmax(r->x[a], r->x[b]) + r->beside;
        double low_y = fmin(r->y[a], r->y[b]) - r->beside, high_y = fmax(r->y[a], r->y[b]) + r->beside;
        for (int point = 0; point < r->points; point++)
            if (r->x[point] > low_x && r->x[point] < high_x && r->y[point] > low_y && r->y[point] < high_y)
                repel_bond(r, point, bond);
    }
}

/* Whether a bond of the point crosses another, or the point lies on one. */
static int is_crossing(const at_relaxation *r, int point) {
    for (int i = 0; i < r->bonds; i++) {
        int a = r->from[i], b = r->to[i];
        if (a != point && b != point) continue;
        for (int j = 0; j < r->bonds; j++) {
            int c = r->from[j], d = r->to[j];
            if (c == a || c == b || d == a || d == b) continue;
            if (at_segments_cross(r->x[a], r->y[a], r->x[b], r->y[b], r->x[c], r->y[c], r->x[d], r->y[d]))
                return 1;
        }
    }
    return 0;
}

static double move_points(const at_relaxation *r, double rate) {
    double most = 0;
    for (int i = 0; i < r->points; i++) {
        double dx = rate * r->force[2 * i], dy = rate * r->force[2 * i + 1], size = sqrt(dx * dx + dy * dy);
        double factor = size > 0.08 ? 0.08 / size : 1;
        double x = r->x[i], y = r->y[i];
        r->x[i] += factor * dx;
        r->y[i] += factor * dy;
        if (r->strict && is_crossing(r, i)) {
            r->x[i] = x;
            r->y[i] = y;
            continue;
        }
        most = fmax(most, factor * size);
    }
    return most;
}

void at_relax(const at_relaxation *r) {
    for (int step = 0; step < r->steps; step++) {
        int early = 2 * step < r->steps;
        memset(r->force, 0, 2 * (size_t)r->points * sizeof *r->force);
        for (int i = 0; i < r->bonds; i++) pull(r, r->from[i], r->to[i], 1, r->stiffness);
        for (int i = 0; i < r->wanted_count; i++)
            pull(r, r->wanted[i].a, r->wanted[i].b, r->wanted[i].length, r->wanted[i].weight);
        repel_points(r, early ? r->spread : 0);
        repel_bonds(r);
        if (move_points(r, 0.06) < 3e-4 && !(early && r->spread > 0)) break;
    }
}
