/* sketch_clashes.c: parts of a fragment are turned until nothing lies on top of anything else.
 *
 * A unit (sketch.h) can be mirrored at its bond, change places with another unit at its joint, and be turned
 * about its joint by some angle. A cost counts bonds that cross, atoms near atoms and atoms near bonds;
 * turning costs too, so that a drawing keeps its angles where it can. The best move is taken until none
 * helps; then random moves (simulated annealing with fixed seeds) look for a way out. What is left at the end
 * is pushed apart, which stretches bonds a little. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "explain/sketch.h"

#define ATOM_NEAR 0.98 /* distances at which a cost begins, and below which they are a fault */
#define ATOM_FAULT 0.47
#define BOND_NEAR 0.6
#define BOND_FAULT 0.45
#define FAULT_COST 4.0
#define CROSS_COST 8.0
#define TURN_COST 0.6 /* of 30 degrees; it grows as the square */
#define BUDGET 8e7    /* pairs: a second at most */
#define NOTED 0.08    /* from this cost on, two things clash */
#define WORTH 0.05    /* the least gain of a move */

enum {
    CLASHES_MOST = 400,
    ATOMS_MOST = 4000,
    RELAX_MOST = 1000,
    RELAX_STEPS = 300,
    STRIPS = 256,
    STEEPEST_MOST = 80
};
enum { FLIP, SWAP, TURN }; /* kinds of moves */

typedef struct clash {
    int a, b; /* places */
} clash;

typedef struct resolver {
    at_sketch *sketch;
    int atoms, bonds;
    double *x, *y;                /* by place in the sequence */
    double *saved, *best;         /* [2 * atoms] */
    int *low, *high;              /* ends of bonds, by place, rising by `high` */
    int *bond_begin;              /* [atoms + 1] bonds whose high end has a place below */
    int *near_atoms, *near_bonds; /* what is near a unit, by strips */
    int *atom_strip, *bond_strip; /* [STRIPS + 1] where each begins */
    int *listed;                  /* [atoms or bonds] */
    double longest;               /* bond */
    clash clashes[CLASHES_MOST];
    int clash_count;
    double budget; /* pairs that may still be looked at */
} resolver;

typedef struct move {
    int kind, unit, other; /* other: the unit to change places with */
    double angle;
} move;

/* ---- the cost ---- */

static double atom_cost(double dx, double dy) {
    double square = dx * dx + dy * dy;
    if (square >= ATOM_NEAR * ATOM_NEAR) return 0;
    double lack = 1 - sqrt(square) / ATOM_NEAR;
    return lack * lack * 2 + (square < ATOM_FAULT * ATOM_FAULT ? FAULT_COST : 0);
}

static double atom_bond_cost(const resolver *r, int atom, int bond) {
    double ax = r->x[r->low[bond]], bx = r->x[r->high[bond]], px = r->x[atom];
    if (px < fmin(ax, bx) - BOND_NEAR || px > fmax(ax, bx) + BOND_NEAR) return 0;
    double ay = r->y[r->low[bond]], by = r->y[r->high[bond]], py = r->y[atom];
    if (py < fmin(ay, by) - BOND_NEAR || py > fmax(ay, by) + BOND_NEAR) return 0;
    double distance = at_point_to_segment(px, py, ax, ay, bx, by);
    if (distance >= BOND_NEAR) return 0;
    return 1 - distance / BOND_NEAR + (distance < BOND_FAULT ? FAULT_COST : 0);
}

static double bond_cost(const resolver *r, int i, int j) {
    int a = r->low[i], b = r->high[i], c = r->low[j], d = r->high[j];
    if (a == c || a == d || b == c || b == d) return 0;
    if (fmax(r->x[a], r->x[b]) < fmin(r->x[c], r->x[d]) || fmin(r->x[a], r->x[b]) > fmax(r->x[c], r->x[d]) ||
        fmax(r->y[a], r->y[b]) < fmin(r->y[c], r->y[d]) || fmin(r->y[a], r->y[b]) > fmax(r->y[c], r->y[d]))
        return 0;
    return at_segments_cross(r->x[a], r->y[a], r->x[b], r->y[b], r->x[c], r->y[c], r->x[d], r->y[d])
               ? CROSS_COST
               : 0;
}

static double turn_cost(const at_sketch_unit *unit) {
    double part = unit->turned / (AT_PI / 6);
    return TURN_COST * part * part;
}

/* Upright strips of the plane, so wide that what is near lies in the same or a neighbouring one. */
typedef struct strips {
    double low_x, low_y, high_x, high_y; /* the box of the unit, and around it what is near */
    double width;
    int count;
} strips;

static int strip_of(const strips *s, double x) {
    int strip = (int)((x - s->low_x) / s->width);
    return strip < 0 ? 0 : strip >= s->count ? s->count - 1 : strip;
}

static strips make_strips(const resolver *r, const at_sketch_unit *unit) {
    strips s = {INFINITY, INFINITY, -INFINITY, -INFINITY, 0, 0};
    int joint = r->sketch->place[unit->joint];
    for (int i = unit->begin; i <= unit->end; i++) {
        int at = i < unit->end ? i : joint;
        s.low_x = fmin(s.low_x, r->x[at] - ATOM_NEAR);
        s.high_x = fmax(s.high_x, r->x[at] + ATOM_NEAR);
        s.low_y = fmin(s.low_y, r->y[at] - ATOM_NEAR);
        s.high_y = fmax(s.high_y, r->y[at] + ATOM_NEAR);
    }
    s.width = fmax(1, r->longest) + 0.6;
    double count = floor((s.high_x - s.low_x) / s.width);
    s.count = count < 1 ? 1 : count > STRIPS ? STRIPS : (int)count;
    s.width = fmax(s.width, (s.high_x - s.low_x) / s.count);
    return s;
}

static double middle_of(const resolver *r, int thing, int is_bond) {
    return is_bond ? (r->x[r->low[thing]] + r->x[r->high[thing]]) / 2 : r->x[thing];
}

/* Sorts `count` things in r->listed by the strips of their middles; strip k is [begin[k], begin[k + 1]). */
static void sort_strips(const resolver *r, const strips *s, int count, int bonds, int *sorted, int *begin) {
    memset(begin, 0, ((size_t)s->count + 1) * sizeof *begin);
    for (int i = 0; i < count; i++) begin[strip_of(s, middle_of(r, r->listed[i], bonds))]++;
    for (int k = 1; k <= s->count; k++) begin[k] += begin[k - 1];
    for (int i = count - 1; i >= 0; i--)
        sorted[--begin[strip_of(s, middle_of(r, r->listed[i], bonds))]] = r->listed[i];
}

/* Atoms and bonds that are no part of a unit and near its box. */
static void find_near(resolver *r, const at_sketch_unit *unit, const strips *s) {
    int joint = r->sketch->place[unit->joint], count = 0;
    for (int i = 0; i < r->atoms; i++) {
        if (i == unit->begin) i = unit->end;
        if (i >= r->atoms) break;
        if (i == joint || r->x[i] < s->low_x || r->x[i] > s->high_x || r->y[i] < s->low_y ||
            r->y[i] > s->high_y)
            continue;
        r->listed[count++] = i;
    }
    sort_strips(r, s, count, 0, r->near_atoms, r->atom_strip);
    int begin = r->bond_begin[unit->begin], end = r->bond_begin[unit->end];
    count = 0;
    for (int i = 0; i < r->bonds; i++) {
        if (i == begin) i = end;
        if (i >= r->bonds) break;
        int p = r->low[i], q = r->high[i];
        if (fmax(r->x[p], r->x[q]) < s->low_x || fmin(r->x[p], r->x[q]) > s->high_x ||
            fmax(r->y[p], r->y[q]) < s->low_y || fmin(r->y[p], r->y[q]) > s->high_y)
            continue;
        r->listed[count++] = i;
    }
    sort_strips(r, s, count, 1, r->near_bonds, r->bond_strip);
}

/* The range of a sorted list in the strips around x. */
static void range_of(const strips *s, const int *begin, double x, int *from, int *to) {
    int strip = strip_of(s, x);
    *from = begin[strip > 0 ? strip - 1 : 0];
    *to = begin[strip + 2 < s->count ? strip + 2 : s->count];
}

/* The cost between a unit and the rest; distances to the joint do not change by moves and are left out. */
static double unit_cost(resolver *r, const at_sketch_unit *unit) {
    double cost = turn_cost(unit), looked = r->atoms + r->bonds;
    strips s = make_strips(r, unit);
    int begin, end;
    find_near(r, unit, &s);
    for (int i = unit->begin; i < unit->end; i++) {
        range_of(&s, r->atom_strip, r->x[i], &begin, &end);
        for (int j = begin; j < end; j++)
            cost += atom_cost(r->x[i] - r->x[r->near_atoms[j]], r->y[i] - r->y[r->near_atoms[j]]);
        looked += end - begin;
        range_of(&s, r->bond_strip, r->x[i], &begin, &end);
        for (int j = begin; j < end; j++) cost += atom_bond_cost(r, i, r->near_bonds[j]);
        looked += end - begin;
    }
    for (int i = r->bond_begin[unit->begin]; i < r->bond_begin[unit->end]; i++) {
        range_of(&s, r->atom_strip, middle_of(r, i, 1), &begin, &end);
        for (int j = begin; j < end; j++) cost += atom_bond_cost(r, r->near_atoms[j], i);
        looked += end - begin;
        range_of(&s, r->bond_strip, middle_of(r, i, 1), &begin, &end);
        for (int j = begin; j < end; j++) cost += bond_cost(r, i, r->near_bonds[j]);
        looked += end - begin;
    }
    r->budget -= looked;
    return cost;
}

static int are_bonded(const resolver *r, int a, int b) {
    int low = a < b ? a : b, high = a < b ? b : a;
    for (int i = r->bond_begin[high]; i < r->bond_begin[high + 1]; i++)
        if (r->low[i] == low) return 1;
    return 0;
}

static void add_clash(resolver *r, int a, int b) {
    if (r->clash_count < CLASHES_MOST) r->clashes[r->clash_count++] = (clash){a, b};
}

/* The cost of all, and the list of what clashes. */
static double find_clashes(resolver *r) {
    double cost = 0;
    r->clash_count = 0;
    r->budget -= (double)r->atoms * r->atoms;
    for (int i = 0; i < r->atoms; i++)
        for (int j = i + 1; j < r->atoms; j++) {
            double one = atom_cost(r->x[i] - r->x[j], r->y[i] - r->y[j]);
            if (one <= 0 || are_bonded(r, i, j)) continue;
            cost += one;
            if (one > NOTED) add_clash(r, i, j);
        }
    for (int bond = 0; bond < r->bonds; bond++) {
        for (int i = 0; i < r->atoms; i++) {
            if (i == r->low[bond] || i == r->high[bond]) continue;
            double one = atom_bond_cost(r, i, bond);
            cost += one;
            if (one > NOTED) add_clash(r, i, r->high[bond]);
        }
        for (int other = bond + 1; other < r->bonds; other++) {
            double one = bond_cost(r, bond, other);
            cost += one;
            if (one > 0) add_clash(r, r->high[bond], r->high[other]);
        }
    }
    for (int u = 0; u < r->sketch->units; u++) cost += turn_cost(&r->sketch->unit[u]);
    return cost;
}

/* ---- moves ---- */

static void turn_unit(resolver *r, const at_sketch_unit *unit, double angle) {
    int joint = r->sketch->place[unit->joint];
    double cosine = cos(angle), sine = sin(angle), ax = r->x[joint], ay = r->y[joint];
    for (int i = unit->begin; i < unit->end; i++) {
        double dx = r->x[i] - ax, dy = r->y[i] - ay;
        r->x[i] = ax + cosine * dx - sine * dy;
        r->y[i] = ay + sine * dx + cosine * dy;
    }
}

/* The direction in which a unit leaves its joint: its bond, or the middle of its ring system there. */
static void unit_axis(const resolver *r, const at_sketch_unit *unit, double *ux, double *uy) {
    const at_sketch *sketch = r->sketch;
    int joint = sketch->place[unit->joint];
    *ux = *uy = 0;
    for (int e = sketch->first[unit->joint]; e < sketch->first[unit->joint + 1]; e++) {
        int other = sketch->place[sketch->beside[e]];
        if (other < unit->begin || other >= unit->end) continue;
        *ux += r->x[other] - r->x[joint];
        *uy += r->y[other] - r->y[joint];
    }
    double length = sqrt(*ux * *ux + *uy * *uy);
    if (length < 1e-6) {
        *ux = 1;
        return;
    }
    *ux /= length;
    *uy /= length;
}

static void flip_unit(resolver *r, const at_sketch_unit *unit) {
    int joint = r->sketch->place[unit->joint];
    double ux, uy, ax = r->x[joint], ay = r->y[joint];
    unit_axis(r, unit, &ux, &uy);
    for (int i = unit->begin; i < unit->end; i++) {
        double dx = r->x[i] - ax, dy = r->y[i] - ay, along = 2 * (dx * ux + dy * uy);
        r->x[i] = ax + along * ux - dx;
        r->y[i] = ay + along * uy - dy;
    }
}

static void save_unit(resolver *r, const at_sketch_unit *unit) {
    size_t count = (size_t)(unit->end - unit->begin) * sizeof *r->x;
    memcpy(r->saved + unit->begin, r->x + unit->begin, count);
    memcpy(r->saved + r->atoms + unit->begin, r->y + unit->begin, count);
}

static void restore_unit(resolver *r, const at_sketch_unit *unit) {
    size_t count = (size_t)(unit->end - unit->begin) * sizeof *r->x;
    memcpy(r->x + unit->begin, r->saved + unit->begin, count);
    memcpy(r->y + unit->begin, r->saved + r->atoms + unit->begin, count);
}

static void swap_units(resolver *r, const at_sketch_unit *one, const at_sketch_unit *other) {
    double ux, uy, vx, vy;
    unit_axis(r, one, &ux, &uy);
    unit_axis(r, other, &vx, &vy);
    double angle = atan2(ux * vy - uy * vx, ux * vx + uy * vy);
    turn_unit(r, one, angle);
    turn_unit(r, other, -angle);
}

/* Makes a move and returns what it changes; undo_move takes it back. */
static double make_move(resolver *r, const move *m) {
    at_sketch_unit *unit = &r->sketch->unit[m->unit],
                   *other = m->kind == SWAP ? &r->sketch->unit[m->other] : NULL;
    double before = unit_cost(r, unit) + (other ? unit_cost(r, other) : 0);
    save_unit(r, unit);
    if (other) save_unit(r, other);
    if (m->kind == FLIP) flip_unit(r, unit);
    if (m->kind == SWAP) swap_units(r, unit, other);
    if (m->kind == TURN) {
        turn_unit(r, unit, m->angle);
        unit->turned += m->angle;
    }
    return unit_cost(r, unit) + (other ? unit_cost(r, other) : 0) - before;
}

static void undo_move(resolver *r, const move *m) {
    restore_unit(r, &r->sketch->unit[m->unit]);
    if (m->kind == SWAP) restore_unit(r, &r->sketch->unit[m->other]);
    if (m->kind == TURN) r->sketch->unit[m->unit].turned -= m->angle;
}

/* ---- which moves there are ---- */

/* A joint at the end of a double bond whose sides are known keeps its neighbours where they are. */
static int is_held(const at_sketch *sketch, int joint) {
    for (int e = sketch->first[joint]; e < sketch->first[joint + 1]; e++) {
        int other = sketch->beside[e], child = sketch->place[other] > sketch->place[joint] ? other : joint;
        int parent = child == other ? joint : other;
        if (sketch->order[sketch->along[e]] != 2) continue;
        for (int u = sketch->unit_of[parent]; u >= 0; u = sketch->unit[u].next)
            if (sketch->unit[u].fixed && sketch->unit[u].bond == sketch->along[e]) return 1;
    }
    return 0;
}

static const double turns[] = {AT_PI / 12, -AT_PI / 12, AT_PI / 6, -AT_PI / 6,
                               AT_PI / 4,  -AT_PI / 4,  AT_PI / 3, -AT_PI / 3};
enum { TURNS = sizeof turns / sizeof *turns };

/* Move number `k` of a unit; 0: there are no more, -1: it is none. */
static int nth_move(const resolver *r, int unit, int k, move *m) {
    const at_sketch_unit *one = &r->sketch->unit[unit];
    *m = (move){.kind = FLIP, .unit = unit, .other = -1};
    if (k == 0) return one->end - one->begin > 1 && !one->fixed ? 1 : -1;
    if (k <= TURNS) {
        m->kind = TURN;
        m->angle = turns[k - 1];
        double most = one->fixed || is_held(r->sketch, one->joint) ? AT_PI / 5 : AT_PI / 2; /* sides stay */
        return fabs(one->turned + m->angle) < most ? 1 : -1;
    }
    m->kind = SWAP;
    int u = one->next;
    for (k -= TURNS + 1; u >= 0 && k > 0; k--) u = r->sketch->unit[u].next;
    if (u < 0) return 0;
    m->other = u;
    return is_held(r->sketch, one->joint) ? -1 : 1;
}

static int is_between(const at_sketch_unit *unit, const clash *c) {
    return (c->a >= unit->begin && c->a < unit->end) != (c->b >= unit->begin && c->b < unit->end);
}

static int can_help(const resolver *r, int unit) {
    for (int i = 0; i < r->clash_count; i++)
        if (is_between(&r->sketch->unit[unit], &r->clashes[i])) return 1;
    return 0;
}

static void keep_best(resolver *r, double *turned) {
    memcpy(r->best, r->x, (size_t)r->atoms * sizeof *r->x);
    memcpy(r->best + r->atoms, r->y, (size_t)r->atoms * sizeof *r->y);
    for (int u = 0; u < r->sketch->units; u++) turned[u] = r->sketch->unit[u].turned;
}

static void take_best(resolver *r, const double *turned) {
    memcpy(r->x, r->best, (size_t)r->atoms * sizeof *r->x);
    memcpy(r->y, r->best + r->atoms, (size_t)r->atoms * sizeof *r->y);
    for (int u = 0; u < r->sketch->units; u++) r->sketch->unit[u].turned = turned[u];
}

/* The best move of a unit with a number below `kinds`; *best is left if none gains more than `gain`. */
static double find_best(resolver *r, int unit, int kinds, double gain, move *best) {
    move m;
    for (int k = 0, kind; k < kinds && (kind = nth_move(r, unit, k, &m)) != 0; k++) {
        if (kind < 0) continue;
        double change = make_move(r, &m);
        undo_move(r, &m);
        if (change >= gain) continue;
        gain = change;
        *best = m;
    }
    return gain;
}

/* For large fragments: each unit in turn takes its best move, only mirrored at first. */
static double sweep(resolver *r, double cost) {
    for (int kinds = 1; kinds <= TURNS + 1; kinds += TURNS)
        for (int moved = 1; moved && r->clash_count && r->budget > 0;) {
            moved = 0;
            for (int u = 0; u < r->sketch->units && r->budget > 0; u++) {
                move best = {.unit = -1};
                if (!can_help(r, u)) continue;
                find_best(r, u, kinds, -WORTH, &best);
                if (best.unit < 0) continue;
                make_move(r, &best);
                moved = 1;
            }
            cost = find_clashes(r);
        }
    return cost;
}

/* Takes the best moves one after another; returns the cost. */
static double descend(resolver *r, double cost) {
    if (r->atoms > STEEPEST_MOST) cost = sweep(r, cost);
    while (r->clash_count && r->budget > 0) {
        move best = {.unit = -1};
        double gain = -WORTH;
        for (int u = 0; u < r->sketch->units && r->budget > 0; u++)
            if (can_help(r, u)) gain = find_best(r, u, INT_MAX, gain, &best);
        if (best.unit < 0) break;
        make_move(r, &best);
        double now = find_clashes(r);
        if (now > cost - WORTH / 2) { /* swaps count what is between two units twice */
            undo_move(r, &best);
            return find_clashes(r);
        }
        cost = now;
    }
    return cost;
}

/* ---- a way out ---- */

static double random_part(uint64_t *state) {
    *state = at_splitmix64(*state + 0x9e3779b97f4a7c15u);
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Random moves, the worse the rarer, from warm to cold. */
static void anneal(resolver *r, uint64_t seed, int steps) {
    uint64_t state = seed;
    for (int step = 0; step < steps && r->budget > 0; step++) {
        double warmth = 3.0 * pow(0.03, (double)step / steps);
        move m;
        int unit = (int)(random_part(&state) * r->sketch->units);
        int k = random_part(&state) < 0.4 ? 0 : (int)(random_part(&state) * (TURNS + 3));
        if (nth_move(r, unit, k, &m) != 1) continue;
        double change = make_move(r, &m);
        if (change > 0 && random_part(&state) >= exp(-change / warmth)) undo_move(r, &m);
    }
}

static attn_status search_way_out(resolver *r, double *cost) {
    int units = r->sketch->units;
    double *turned = at_sketch_take(r->sketch, units, sizeof *turned), best = *cost;
    if (!turned) return ATTN_OUT_OF_MEMORY;
    keep_best(r, turned);
    for (int round = 0; round < 6 && best >= FAULT_COST && r->budget > 0; round++) {
        anneal(r, (uint64_t)round + 1, 60 * units);
        double now = descend(r, find_clashes(r));
        if (now < best - WORTH) {
            best = now;
            keep_best(r, turned);
        } else if (round % 2)
            take_best(r, turned);
    }
    take_best(r, turned);
    *cost = find_clashes(r);
    return ATTN_OK;
}

/* ---- a little stretching ---- */

static int list_kept(const resolver *r, at_wanted *kept, int room, char *related) {
    const at_sketch *sketch = r->sketch;
    int count = 0;
    for (int i = 0; i < r->atoms; i++) {
        int atom = sketch->sequence[i];
        for (int e = sketch->first[atom]; e < sketch->first[atom + 1]; e++)
            for (int o = sketch->first[atom]; o < e; o++) {
                int a = sketch->place[sketch->beside[e]], b = sketch->place[sketch->beside[o]];
                double dx = r->x[a] - r->x[b], dy = r->y[a] - r->y[b];
                if (count == room) return count;
                kept[count++] = (at_wanted){a, b, sqrt(dx * dx + dy * dy), 1};
                related[(size_t)a * (size_t)r->atoms + (size_t)b] = 1;
                related[(size_t)b * (size_t)r->atoms + (size_t)a] = 1;
            }
    }
    return count;
}

static attn_status push_apart(resolver *r, double *cost) {
    int room = 6 * r->atoms + 64;
    double *turned = at_sketch_take(r->sketch, r->sketch->units, sizeof *turned);
    at_wanted *kept = at_sketch_take(r->sketch, room, sizeof *kept);
    char *related = at_sketch_take(r->sketch, (int64_t)r->atoms * r->atoms, 1);
    double *force = at_sketch_take(r->sketch, 2 * (int64_t)r->atoms, sizeof *force);
    if (!turned || !kept || !related || !force) return ATTN_OUT_OF_MEMORY;
    memset(related, 0, (size_t)r->atoms * (size_t)r->atoms);
    for (int i = 0; i < r->bonds; i++) {
        size_t a = (size_t)r->low[i], b = (size_t)r->high[i], atoms = (size_t)r->atoms;
        related[a * atoms + b] = related[b * atoms + a] = 1;
    }
    keep_best(r, turned);
    at_relaxation relaxation = {.points = r->atoms,
                                .bonds = r->bonds,
                                .from = r->low,
                                .to = r->high,
                                .wanted = kept,
                                .related = related,
                                .x = r->x,
                                .y = r->y,
                                .force = force,
                                .stiffness = 4,
                                .near = 0.7,
                                .beside = 0.55,
                                .steps = RELAX_STEPS};
    relaxation.wanted_count = list_kept(r, kept, room, related);
    at_relax(&relaxation);
    double now = find_clashes(r);
    if (now > *cost - 1) {
        take_best(r, turned);
        now = find_clashes(r);
    }
    *cost = now;
    return ATTN_OK;
}

/* ---- all of it ---- */

static attn_status make_resolver(resolver *r) {
    at_sketch *sketch = r->sketch;
    int atoms = r->atoms = sketch->count;
    r->x = at_sketch_take(sketch, 6 * (int64_t)atoms, sizeof *r->x);
    r->bond_begin = at_sketch_take(sketch, atoms + 1, sizeof(int));
    r->near_atoms = at_sketch_take(sketch, atoms, sizeof(int));
    r->atom_strip = at_sketch_take(sketch, 2 * (STRIPS + 1), sizeof(int));
    if (!r->x || !r->bond_begin || !r->near_atoms || !r->atom_strip) return ATTN_OUT_OF_MEMORY;
    r->bond_strip = r->atom_strip + STRIPS + 1;
    r->y = r->x + atoms;
    r->saved = r->y + atoms;
    r->best = r->saved + 2 * (size_t)atoms;
    for (int i = 0; i < atoms; i++) {
        int atom = sketch->sequence[i];
        r->x[i] = sketch->x[atom];
        r->y[i] = sketch->y[atom];
        r->bond_begin[i] = r->bonds;
        for (int e = sketch->first[atom]; e < sketch->first[atom + 1]; e++)
            r->bonds += sketch->place[sketch->beside[e]] < i;
    }
    r->bond_begin[atoms] = r->bonds;
    r->low = at_sketch_take(sketch, r->bonds, sizeof(int));
    r->high = at_sketch_take(sketch, r->bonds, sizeof(int));
    r->near_bonds = at_sketch_take(sketch, r->bonds, sizeof(int));
    r->listed = at_sketch_take(sketch, r->bonds > atoms ? r->bonds : atoms, sizeof(int));
    if (!r->low || !r->high || !r->near_bonds || !r->listed) return ATTN_OUT_OF_MEMORY;
    for (int i = 0, bond = 0; i < atoms; i++) {
        int atom = sketch->sequence[i];
        for (int e = sketch->first[atom]; e < sketch->first[atom + 1]; e++) {
            if (sketch->place[sketch->beside[e]] >= i) continue;
            int low = r->low[bond] = sketch->place[sketch->beside[e]];
            r->high[bond++] = i;
            r->longest = fmax(r->longest, sqrt(pow(r->x[i] - r->x[low], 2) + pow(r->y[i] - r->y[low], 2)));
        }
    }
    return ATTN_OK;
}

attn_status at_sketch_resolve(at_sketch *sketch) {
    if (sketch->count < 4 || sketch->count > ATOMS_MOST) return ATTN_OK;
    resolver *r = at_sketch_take(sketch, 1, sizeof *r);
    if (!r) return ATTN_OUT_OF_MEMORY;
    memset(r, 0, sizeof *r);
    r->sketch = sketch;
    r->budget = BUDGET;
    attn_status status = make_resolver(r);
    if (status != ATTN_OK) return status;
    double cost = descend(r, find_clashes(r));
    if (r->clash_count && cost >= FAULT_COST && sketch->units) status = search_way_out(r, &cost);
    if (status == ATTN_OK && cost >= FAULT_COST && r->atoms <= RELAX_MOST) status = push_apart(r, &cost);
    if (status != ATTN_OK) return status;
    for (int i = 0; i < r->atoms; i++) {
        sketch->x[sketch->sequence[i]] = r->x[i];
        sketch->y[sketch->sequence[i]] = r->y[i];
    }
    return ATTN_OK;
}
