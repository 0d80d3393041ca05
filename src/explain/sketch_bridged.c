/* sketch_bridged.c: ring systems that regular polygons do not make: bridged ones, cages, macrocycles that run
 * along several bonds of a smaller ring.
 *
 * A basis of rings in which each bond occurs at most twice is that of the faces of a drawing without
 * crossings (MacLane). Each face can be the outer one; the others then follow from Tutte's theorem: the outer
 * ring is a convex polygon, every other atom is in the mean of its neighbours, to which the middle of
 * each face is added so that none collapses. From there the points relax (sketch_relax.c): bonds of one
 * length, small rings regular where no bridge forbids it, nothing near anything else, with room for what
 * hangs at the system. Several outer rings are tried, the best drawing stays. Systems without such a basis
 * start from the layout of a graph. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "explain/layout_component.h"
#include "explain/sketch.h"

enum {
    REPAIRS = 20,
    TUTTE_STEPS = 300,
    RELAX_STEPS = 600,
    OUTLINE_MOST = 14,
    POINTS_MOST = 1200,
    STRICT_MOST = 80,
    STRICT_TRIES = 3
};

/* Weights of regular rings and of bonds; the soft ones are tried where the firm ones end in a muddle. */
#define FIRM_RINGS 2.0
#define SOFT_RINGS 0.1
#define FIRM_BONDS 4.0
#define SOFT_BONDS 0.5
#define GOOD                                                                                                 \
    2.0 /* a penalty with which the search ends: nothing is near or crossed, bonds stretch a little          \
         */
#define FAULTY 5.0

typedef struct system {
    at_sketch *sketch;
    at_rings *rings;
    int faces; /* with the outer one; 0: none are known */
    uint64_t *set;
    int *face_first, *face_atom;
    int *bridged; /* of a ring: its group of bridged rings, or -1 */
    int points, bonds;
    int *from, *to;
    double *x, *y, *best_x, *best_y;
    at_wanted *wanted;
    int wanted_count, wanted_room;
    at_relaxation relaxation;
} system_state;

static int count_bits(uint64_t word) {
    int count = 0;
    for (; word; word &= word - 1) count++;
    return count;
}

static int in_set(const uint64_t *set, int bond) { return (int)(set[bond / 64] >> (bond % 64) & 1); }

static int ring_size(const at_rings *rings, int ring) {
    return rings->ring_first[ring + 1] - rings->ring_first[ring];
}

/* ---- faces ---- */

/* Bonds that occur in more than two sets, counted by how many too many. */
static int count_excess(const system_state *s, int faces) {
    int excess = 0;
    for (int bond = 0; bond < s->rings->bonds; bond++) {
        int times = 0;
        for (int f = 0; f < faces; f++) times += in_set(s->set + (size_t)f * (size_t)s->rings->words, bond);
        if (times > 2) excess += times - 2;
    }
    return excess;
}

static void add_set(uint64_t *set, const uint64_t *other, int words) {
    for (int w = 0; w < words; w++) set[w] ^= other[w];
}

/* Replaces rings by sums of two until no bond occurs more than twice; 0: it was not possible. */
static int repair_faces(system_state *s) {
    int words = s->rings->words, count = s->rings->rings, excess = count_excess(s, count);
    for (int tries = 0; excess > 0; tries++) {
        int best = excess, best_i = -1, best_j = -1;
        if (tries == REPAIRS || count > 24) return 0;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++) {
                if (i == j) continue;
                uint64_t *one = s->set + (size_t)i * (size_t)words,
                         *other = s->set + (size_t)j * (size_t)words;
                add_set(one, other, words);
                int now = count_excess(s, count);
                add_set(one, other, words);
                if (now >= best) continue;
                best = now;
                best_i = i;
                best_j = j;
            }
        if (best_i < 0) return 0;
        add_set(s->set + (size_t)best_i * (size_t)words, s->set + (size_t)best_j * (size_t)words, words);
        excess = best;
    }
    return 1;
}

/* The atoms of a set of bonds in order, if it is one ring: how many; else 0. */
static int order_atoms(const at_rings *rings, const uint64_t *set, int *atoms) {
    int total = 0, count = 0, start = -1;
    for (int w = 0; w < rings->words; w++) total += count_bits(set[w]);
    for (int bond = 0; bond < rings->bonds && start < 0; bond++)
        if (in_set(set, bond)) start = rings->from[bond];
    for (int atom = start, came = -1; start >= 0 && count < total;) {
        int next = -1, along = -1, ways = 0;
        atoms[count++] = atom;
        for (int e = rings->first[atom]; e < rings->first[atom + 1]; e++) {
            if (!in_set(set, rings->along[e])) continue;
            ways++;
            if (rings->along[e] == came || (came < 0 && next >= 0)) continue;
            next = rings->beside[e];
            along = rings->along[e];
        }
        if (ways != 2) return 0;
        atom = next;
        came = along;
        if (atom == start) return count == total ? count : 0;
    }
    return 0;
}

/* Faces from the rings: the last is the sum of all. */
static attn_status find_faces(system_state *s) {
    at_rings *rings = s->rings;
    int words = rings->words, count = rings->rings, used = 0;
    s->set = at_sketch_take(s->sketch, (int64_t)(count + 1) * words, sizeof *s->set);
    s->face_first = at_sketch_take(s->sketch, count + 2, sizeof(int));
    s->face_atom = at_sketch_take(s->sketch, 2 * rings->bonds + rings->atoms, sizeof(int));
    if (!s->set || !s->face_first || !s->face_atom) return ATTN_OUT_OF_MEMORY;
    memcpy(s->set, rings->ring_bonds, (size_t)count * (size_t)words * sizeof *s->set);
    if (!repair_faces(s)) return ATTN_OK;
    uint64_t *outer = s->set + (size_t)count * (size_t)words;
    memset(outer, 0, (size_t)words * sizeof *outer);
    for (int f = 0; f < count; f++) add_set(outer, s->set + (size_t)f * (size_t)words, words);
    for (int f = 0; f <= count; f++) {
        s->face_first[f] = used;
        int length = order_atoms(rings, s->set + (size_t)f * (size_t)words, s->face_atom + used);
        if (!length) return ATTN_OK;
        used += length;
    }
    s->face_first[count + 1] = used;
    s->faces = count + 1;
    return ATTN_OK;
}

/* ---- a drawing without crossings ---- */

/* One round of means; atoms marked in `held` stay. */
static void average(system_state *s, int outer, const char *held, double *sums) {
    at_rings *rings = s->rings;
    for (int i = 0; i < rings->atoms; i++) {
        sums[3 * i] = sums[3 * i + 1] = sums[3 * i + 2] = 0;
        for (int e = rings->first[i]; e < rings->first[i + 1]; e++) {
            sums[3 * i] += s->x[rings->beside[e]];
            sums[3 * i + 1] += s->y[rings->beside[e]];
            sums[3 * i + 2] += 1;
        }
    }
    for (int f = 0; f < s->faces; f++) {
        double mx = 0, my = 0;
        int begin = s->face_first[f], end = s->face_first[f + 1];
        if (f == outer) continue;
        for (int i = begin; i < end; i++) {
            mx += s->x[s->face_atom[i]] / (end - begin);
            my += s->y[s->face_atom[i]] / (end - begin);
        }
        for (int i = begin; i < end; i++) {
            sums[3 * s->face_atom[i]] += mx;
            sums[3 * s->face_atom[i] + 1] += my;
            sums[3 * s->face_atom[i] + 2] += 1;
        }
    }
    for (int i = 0; i < rings->atoms; i++) {
        if (held[i]) continue;
        s->x[i] = sums[3 * i] / sums[3 * i + 2];
        s->y[i] = sums[3 * i + 1] / sums[3 * i + 2];
    }
}

static void place_faces(system_state *s, int outer, char *held, double *sums) {
    int begin = s->face_first[outer], corners = s->face_first[outer + 1] - begin;
    double radius = 0.5 / sin(AT_PI / corners);
    memset(held, 0, (size_t)s->rings->atoms);
    for (int i = 0; i < s->rings->atoms; i++) s->x[i] = s->y[i] = 0;
    for (int i = 0; i < corners; i++) {
        int atom = s->face_atom[begin + i];
        held[atom] = 1;
        s->x[atom] = radius * cos(2 * AT_PI * i / corners);
        s->y[atom] = radius * sin(2 * AT_PI * i / corners);
    }
    for (int step = 0; step < TUTTE_STEPS; step++) average(s, outer, held, sums);
}

/* The start where there are no faces. */
static attn_status place_as_graph(system_state *s) {
    at_rings *rings = s->rings;
    at_layout_neighbours graph = {.nodes = rings->atoms};
    graph.first = at_sketch_take(s->sketch, rings->atoms + 1, sizeof *graph.first);
    graph.beside = at_sketch_take(s->sketch, 2 * rings->bonds, sizeof *graph.beside);
    if (!graph.first || !graph.beside) return ATTN_OUT_OF_MEMORY;
    for (int i = 0; i <= rings->atoms; i++) graph.first[i] = rings->first[i];
    for (int i = 0; i < 2 * rings->bonds; i++) graph.beside[i] = rings->beside[i];
    return at_place_component(s->sketch->context, &graph, 1, s->x, s->y);
}

/* ---- what hangs at the system ---- */

/* The middle of the widest gap between the neighbours of an atom. */
static double widest_gap(const system_state *s, int atom) {
    const at_rings *rings = s->rings;
    double best = 0, middle = 0;
    for (int e = rings->first[atom]; e < rings->first[atom + 1]; e++) {
        double angle = atan2(s->y[rings->beside[e]] - s->y[atom], s->x[rings->beside[e]] - s->x[atom]);
        double gap = 2 * AT_PI;
        for (int o = rings->first[atom]; o < rings->first[atom + 1]; o++) {
            if (o == e) continue;
            double other = atan2(s->y[rings->beside[o]] - s->y[atom], s->x[rings->beside[o]] - s->x[atom]);
            double turn = other - angle;
            if (turn <= 0) turn += 2 * AT_PI;
            if (turn < gap) gap = turn;
        }
        if (gap <= best) continue;
        best = gap;
        middle = angle + gap / 2;
    }
    return middle;
}

/* Up to two points for what is bonded to an atom from outside. */
static void place_stubs(system_state *s) {
    int point = s->rings->atoms;
    for (int i = 0; i < s->rings->atoms; i++) {
        int count = s->rings->outside[i] < 2 ? s->rings->outside[i] : 2;
        double middle = widest_gap(s, i);
        for (int k = 0; k < count; k++, point++) {
            double angle = middle + (count == 2 ? (k ? 0.5 : -0.5) : 0);
            s->x[point] = s->x[i] + 0.6 * cos(angle);
            s->y[point] = s->y[i] + 0.6 * sin(angle);
        }
    }
}

static attn_status make_points(system_state *s) {
    at_rings *rings = s->rings;
    s->points = rings->atoms;
    s->bonds = rings->bonds;
    int room = 3 * rings->atoms;
    s->from = at_sketch_take(s->sketch, room + rings->bonds, sizeof(int));
    s->to = at_sketch_take(s->sketch, room + rings->bonds, sizeof(int));
    s->x = at_sketch_take(s->sketch, 4 * (int64_t)room, sizeof(double));
    if (!s->from || !s->to || !s->x) return ATTN_OUT_OF_MEMORY;
    s->y = s->x + room;
    s->best_x = s->y + room;
    s->best_y = s->best_x + room;
    memcpy(s->from, rings->from, (size_t)rings->bonds * sizeof(int));
    memcpy(s->to, rings->to, (size_t)rings->bonds * sizeof(int));
    for (int i = 0; i < rings->atoms; i++)
        for (int k = 0; k < rings->outside[i] && k < 2; k++) {
            s->from[s->bonds] = i;
            s->to[s->bonds++] = s->points++;
        }
    return ATTN_OK;
}

/* ---- what is wanted ---- */

static void want(system_state *s, int a, int b, double length, double weight) {
    char *related = s->relaxation.related;
    size_t points = (size_t)s->points;
    if (s->wanted_count == s->wanted_room) return;
    s->wanted[s->wanted_count++] = (at_wanted){a, b, length, weight};
    related[(size_t)a * points + (size_t)b] = related[(size_t)b * points + (size_t)a] = 1;
}

/* The chords of a regular polygon; all of them, or those over two sides. */
static void want_polygon(system_state *s, const int *atom, int corners, int all, double weight) {
    double radius = 0.5 / sin(AT_PI / corners);
    for (int step = 2; step <= (all ? corners / 2 : 2); step++)
        for (int i = 0; i < corners; i++) {
            if (2 * step == corners && i >= step) continue;
            want(s, atom[i], atom[(i + step) % corners], 2 * radius * sin(AT_PI * step / corners), weight);
        }
}

/* Whether a third small ring has a bond that two have. */
static int shares_thrice(const system_state *s, int i, int j) {
    const at_rings *rings = s->rings;
    size_t words = (size_t)rings->words;
    for (int k = 0; k < rings->rings; k++)
        for (size_t w = 0; w < words && k != i && k != j && ring_size(rings, k) <= AT_SMALL_RING; w++)
            if (rings->ring_bonds[(size_t)i * words + w] & rings->ring_bonds[(size_t)j * words + w] &
                rings->ring_bonds[(size_t)k * words + w])
                return 1;
    return 0;
}

/* Groups of small rings that share more than a bond with each other, or a bond with two others. */
static void group_bridged(system_state *s) {
    const at_rings *rings = s->rings;
    for (int i = 0; i < rings->rings; i++) s->bridged[i] = -1;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < rings->rings; i++)
            for (int j = 0; j < rings->rings; j++) {
                int shared = 0;
                if (i == j || ring_size(rings, i) > AT_SMALL_RING || ring_size(rings, j) > AT_SMALL_RING)
                    continue;
                for (int w = 0; w < rings->words; w++)
                    shared += count_bits(rings->ring_bonds[(size_t)i * (size_t)rings->words + (size_t)w] &
                                         rings->ring_bonds[(size_t)j * (size_t)rings->words + (size_t)w]);
                if (shared < 2 && !(shared == 1 && shares_thrice(s, i, j))) continue;
                int low = i < j ? i : j;
                if (s->bridged[i] >= 0 && s->bridged[i] < low) low = s->bridged[i];
                if (s->bridged[j] >= 0 && s->bridged[j] < low) low = s->bridged[j];
                if (s->bridged[i] == low && s->bridged[j] == low) continue;
                s->bridged[i] = s->bridged[j] = low;
                again = 1;
            }
    }
}

/* The outline of a group of bridged rings, if it is one ring. */
static attn_status want_outline(system_state *s, int group) {
    at_rings *rings = s->rings;
    uint64_t *set = at_sketch_take(s->sketch, rings->words, sizeof *set);
    int *atoms = at_sketch_take(s->sketch, rings->bonds + 1, sizeof *atoms);
    if (!set || !atoms) return ATTN_OUT_OF_MEMORY;
    memset(set, 0, (size_t)rings->words * sizeof *set);
    for (int i = 0; i < rings->rings; i++)
        if (s->bridged[i] == group)
            add_set(set, rings->ring_bonds + (size_t)i * (size_t)rings->words, rings->words);
    int corners = order_atoms(rings, set, atoms);
    if (corners >= 4 && corners <= OUTLINE_MOST) want_polygon(s, atoms, corners, 0, 0.4);
    return ATTN_OK;
}

static attn_status list_wanted(system_state *s, int outer, double weight) {
    at_rings *rings = s->rings;
    attn_status status = ATTN_OK;
    s->wanted_count = 0;
    memset(s->relaxation.related, 0, (size_t)s->points * (size_t)s->points);
    for (int i = 0; i < s->bonds; i++) {
        size_t a = (size_t)s->from[i], b = (size_t)s->to[i], points = (size_t)s->points;
        s->relaxation.related[a * points + b] = s->relaxation.related[b * points + a] = 1;
    }
    for (int i = 0; i < rings->rings; i++)
        if (s->bridged[i] < 0 && ring_size(rings, i) <= AT_SMALL_RING)
            want_polygon(s, rings->ring_atom + rings->ring_first[i], ring_size(rings, i), 1, weight);
    for (int i = 0; i < rings->rings && status == ATTN_OK; i++)
        if (s->bridged[i] == i && outer == s->faces - 1) status = want_outline(s, i);
    if (!s->relaxation.strict && outer >= 0 && outer < s->faces - 1 &&
        s->face_first[outer + 1] - s->face_first[outer] <= OUTLINE_MOST)
        want_polygon(s, s->face_atom + s->face_first[outer], s->face_first[outer + 1] - s->face_first[outer],
                     0, 0.4);
    return status;
}

/* ---- the best of several ---- */

static double penalty_of_bonds(const system_state *s) {
    double penalty = 0;
    for (int i = 0; i < s->bonds; i++) {
        int a = s->from[i], b = s->to[i];
        double dx = s->x[a] - s->x[b], dy = s->y[a] - s->y[b], off = fabs(sqrt(dx * dx + dy * dy) - 1);
        penalty += 4 * off * off;
        for (int j = i + 1; j < s->bonds; j++) {
            int c = s->from[j], d = s->to[j];
            if (a == c || a == d || b == c || b == d) continue;
            if (at_segments_cross(s->x[a], s->y[a], s->x[b], s->y[b], s->x[c], s->y[c], s->x[d], s->y[d]))
                penalty += 10;
        }
        for (int p = 0; p < s->points; p++) {
            if (p == a || p == b) continue;
            double distance = at_point_to_segment(s->x[p], s->y[p], s->x[a], s->y[a], s->x[b], s->y[b]);
            if (distance < 0.45) penalty += 5 + 5 * (0.45 - distance);
        }
    }
    return penalty;
}

static double penalty_of_drawing(const system_state *s) {
    double penalty = penalty_of_bonds(s);
    for (int i = 0; i < s->points; i++)
        for (int j = i + 1; j < s->points; j++) {
            double dx = s->x[i] - s->x[j], dy = s->y[i] - s->y[j];
            if (dx * dx + dy * dy < 0.45 * 0.45) penalty += 5;
        }
    for (int i = 0; i < s->wanted_count; i++) {
        const at_wanted *one = &s->wanted[i];
        double dx = s->x[one->a] - s->x[one->b], dy = s->y[one->a] - s->y[one->b];
        double off = sqrt(dx * dx + dy * dy) - one->length;
        penalty += 0.3 * one->weight * off * off;
    }
    return penalty;
}

/* What needs room outside and does not are there. */
static double penalty_of_outside(const system_state *s, int outer) {
    double penalty = 0;
    for (int i = 0; i < s->rings->atoms && outer >= 0; i++) {
        int inside = 1;
        for (int k = s->face_first[outer]; k < s->face_first[outer + 1]; k++) inside &= s->face_atom[k] != i;
        if (inside && s->rings->heavy[i]) penalty += 9;
    }
    return penalty;
}

/* The directions in which the points for what hangs at an atom were pushed. */
static void find_room(const system_state *s) {
    double *room = s->rings->room;
    for (int i = s->rings->bonds; i < s->bonds; i++) {
        room[2 * s->from[i]] += s->best_x[s->to[i]] - s->best_x[s->from[i]];
        room[2 * s->from[i] + 1] += s->best_y[s->to[i]] - s->best_y[s->from[i]];
    }
}

static attn_status try_outer(system_state *s, int outer, double weight, double *best) {
    attn_status status = list_wanted(s, outer, weight);
    if (status != ATTN_OK) return status;
    s->relaxation.wanted_count = s->wanted_count;
    place_stubs(s);
    at_relax(&s->relaxation);
    double penalty = penalty_of_drawing(s) + penalty_of_outside(s, outer);
    if (penalty >= *best) return ATTN_OK;
    *best = penalty;
    memcpy(s->best_x, s->x, (size_t)s->points * sizeof *s->x);
    memcpy(s->best_y, s->y, (size_t)s->points * sizeof *s->y);
    return ATTN_OK;
}

/* Once more with bonds that stretch and may not cross. */
static attn_status try_strictly(system_state *s, int outer, double *best) {
    for (int i = 0; i < s->rings->atoms; i++) {
        s->x[i] *= 1.5;
        s->y[i] *= 1.5;
    }
    s->relaxation.strict = 1;
    s->relaxation.stiffness = SOFT_BONDS;
    attn_status status = try_outer(s, outer, SOFT_RINGS, best);
    s->relaxation.strict = 0;
    s->relaxation.stiffness = FIRM_BONDS;
    return status;
}

/* The faces in the order in which they are tried as the outer one: first those with most of what needs room
 * on them, then the sum of all, then large ones. */
static attn_status order_faces(system_state *s, int **order) {
    *order = at_sketch_take(s->sketch, s->faces, sizeof **order);
    double *key = at_sketch_take(s->sketch, s->faces, sizeof *key);
    if (!*order || !key) return ATTN_OUT_OF_MEMORY;
    for (int f = 0; f < s->faces; f++) {
        int size = s->face_first[f + 1] - s->face_first[f], place = f;
        key[f] = 1000 * penalty_of_outside(s, f) - size - (f == s->faces - 1 ? 500 : 0);
        for (; place > 0 && key[(*order)[place - 1]] > key[f]; place--) (*order)[place] = (*order)[place - 1];
        (*order)[place] = f;
    }
    return ATTN_OK;
}

static attn_status try_all(system_state *s) {
    int *order;
    char *held = at_sketch_take(s->sketch, s->rings->atoms, 1);
    double *sums = at_sketch_take(s->sketch, 3 * (int64_t)s->rings->atoms, sizeof *sums), best = INFINITY;
    if (!held || !sums) return ATTN_OUT_OF_MEMORY;
    int tries = s->points <= 30 ? 12 : s->points <= 60 ? 6 : s->points <= 120 ? 2 : 1;
    attn_status status = order_faces(s, &order);
    for (int k = 0; k < s->faces && k < tries && best > GOOD && status == ATTN_OK; k++) {
        place_faces(s, order[k], held, sums);
        status = try_outer(s, order[k], FIRM_RINGS, &best);
        if (best < FAULTY || s->points > STRICT_MOST || k >= STRICT_TRIES || status != ATTN_OK) continue;
        place_faces(s, order[k], held, sums);
        status = try_strictly(s, order[k], &best);
    }
    if (status == ATTN_OK && (!s->faces || (best >= FAULTY && s->points <= 60))) {
        status = place_as_graph(s);
        if (status == ATTN_OK) status = try_outer(s, -1, FIRM_RINGS, &best);
    }
    return status;
}

attn_status at_rings_place_bridged(at_sketch *sketch, at_rings *rings) {
    system_state s = {.sketch = sketch, .rings = rings};
    attn_status status = make_points(&s);
    if (status == ATTN_OK && rings->rings) status = find_faces(&s);
    if (status != ATTN_OK) return status;
    s.bridged = at_sketch_take(sketch, rings->rings, sizeof *s.bridged);
    if (s.points > POINTS_MOST) {
        status = place_as_graph(&s);
        memcpy(rings->x, s.x, (size_t)rings->atoms * sizeof *s.x);
        memcpy(rings->y, s.y, (size_t)rings->atoms * sizeof *s.y);
        return status;
    }
    s.wanted_room = 8 * AT_SMALL_RING * (rings->rings + 4);
    s.wanted = at_sketch_take(sketch, s.wanted_room, sizeof *s.wanted);
    char *related = at_sketch_take(sketch, (int64_t)s.points * s.points, 1);
    double *force = at_sketch_take(sketch, 2 * (int64_t)s.points, sizeof *force);
    if (!s.bridged || !s.wanted || !related || !force) return ATTN_OUT_OF_MEMORY;
    s.relaxation = (at_relaxation){.points = s.points,
                                   .bonds = s.bonds,
                                   .from = s.from,
                                   .to = s.to,
                                   .wanted = s.wanted,
                                   .related = related,
                                   .x = s.x,
                                   .y = s.y,
                                   .force = force,
                                   .stiffness = FIRM_BONDS,
                                   .near = 1.2,
                                   .beside = 0.6,
                                   .spread = 0.03,
                                   .steps = RELAX_STEPS};
    if (s.points > 150) s.relaxation.steps = RELAX_STEPS / 2;
    group_bridged(&s);
    status = try_all(&s);
    if (status != ATTN_OK) return status;
    memcpy(rings->x, s.best_x, (size_t)rings->atoms * sizeof *s.x);
    memcpy(rings->y, s.best_y, (size_t)rings->atoms * sizeof *s.y);
    find_room(&s);
    return ATTN_OK;
}
