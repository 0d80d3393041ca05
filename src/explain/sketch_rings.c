/* sketch_rings.c: the rings of a ring system, and systems made of regular polygons.
 *
 * Rings are a minimum basis of cycles: of the shortest cycles through each branching atom (Horton's
 * candidates), from small to large, those that are no sum of others over GF(2). Polygons are then set side by
 * side along the bonds that rings share. Where that does not close (bridged systems, most cages), the system
 * goes to sketch_bridged.c. */
#include <math.h>
#include <string.h>

#include "explain/sketch.h"

enum { RINGS_MOST = 400, TREE_CELLS_MOST = 250000 };

/* ---- local numbers ---- */

static attn_status number_block(at_sketch *sketch, const at_block *block, at_rings *rings) {
    rings->atoms = block->atoms;
    rings->bonds = block->bonds;
    rings->atom = block->atom;
    rings->x = block->x;
    rings->y = block->y;
    rings->room = block->room;
    rings->words = (block->bonds + 63) / 64;
    rings->from = at_sketch_take(sketch, block->bonds, sizeof(int));
    rings->to = at_sketch_take(sketch, block->bonds, sizeof(int));
    rings->first = at_sketch_take(sketch, block->atoms + 2, sizeof(int));
    rings->beside = at_sketch_take(sketch, 2 * block->bonds, sizeof(int));
    rings->along = at_sketch_take(sketch, 2 * block->bonds, sizeof(int));
    rings->outside = at_sketch_take(sketch, block->atoms, sizeof(int));
    rings->heavy = at_sketch_take(sketch, block->atoms, 1);
    if (!rings->from || !rings->to || !rings->first || !rings->beside || !rings->along || !rings->outside ||
        !rings->heavy)
        return ATTN_OUT_OF_MEMORY;
    memset(rings->first, 0, ((size_t)block->atoms + 2) * sizeof(int));
    for (int i = 0; i < block->atoms; i++) sketch->local[block->atom[i]] = i;
    int *next = rings->first + 1;
    for (int i = 0; i < block->bonds; i++) {
        rings->from[i] = sketch->local[sketch->from[block->bond[i]]];
        rings->to[i] = sketch->local[sketch->to[block->bond[i]]];
        next[rings->from[i] + 1]++;
        next[rings->to[i] + 1]++;
    }
    for (int i = 0; i < block->atoms; i++) next[i + 1] += next[i];
    for (int i = 0; i < block->bonds; i++) {
        int from = rings->from[i], to = rings->to[i];
        rings->along[next[from]] = rings->along[next[to]] = i;
        rings->beside[next[from]++] = to;
        rings->beside[next[to]++] = from;
    }
    for (int i = 0; i < block->atoms; i++) {
        int atom = block->atom[i];
        rings->outside[i] =
            sketch->first[atom + 1] - sketch->first[atom] - (rings->first[i + 1] - rings->first[i]);
        sketch->local[atom] = -1;
    }
    return ATTN_OK;
}

/* Where so much hangs that it must point outwards. */
static void find_heavy(const at_sketch *sketch, const at_block *block, at_rings *rings) {
    int number = (int)(block - sketch->block), joint = 0;
    for (int i = 1; i < block->atoms; i++)
        if (sketch->place[block->atom[i]] < sketch->place[block->atom[joint]]) joint = i;
    for (int i = 0; i < block->atoms; i++) {
        int size = i == joint && sketch->parent[block->atom[i]] >= 0 ? 3 : 0;
        for (int u = sketch->unit_of[block->atom[i]]; u >= 0; u = sketch->unit[u].next)
            if (sketch->unit[u].block != number) size += sketch->unit[u].end - sketch->unit[u].begin;
        rings->heavy[i] = size > 1;
    }
}

/* ---- the search ---- */

/* Shortest paths from the branching atoms. */
typedef struct paths {
    int sources;
    int *source;
    int *depth, *up, *top; /* [sources][atoms]; up: the bond towards the source; top: its first atom */
} paths;

static void find_paths(const at_rings *rings, int source, int *depth, int *up, int *top, int *queue) {
    for (int i = 0; i < rings->atoms; i++) depth[i] = -1;
    int head = 0, tail = 0;
    depth[source] = 0;
    up[source] = top[source] = -1;
    queue[tail++] = source;
    while (head < tail) {
        int atom = queue[head++];
        for (int e = rings->first[atom]; e < rings->first[atom + 1]; e++) {
            int other = rings->beside[e];
            if (depth[other] >= 0) continue;
            depth[other] = depth[atom] + 1;
            up[other] = rings->along[e];
            top[other] = atom == source ? other : top[atom];
            queue[tail++] = other;
        }
    }
}

static attn_status find_all_paths(at_sketch *sketch, const at_rings *rings, paths *p) {
    p->source = at_sketch_take(sketch, rings->atoms, sizeof(int));
    if (!p->source) return ATTN_OUT_OF_MEMORY;
    p->sources = 0;
    for (int i = 0; i < rings->atoms; i++)
        if (rings->first[i + 1] - rings->first[i] > 2) p->source[p->sources++] = i;
    if (!p->sources) p->source[p->sources++] = 0; /* a single ring */
    int64_t cells = (int64_t)p->sources * rings->atoms;
    if (cells > TREE_CELLS_MOST) {
        p->sources = 0;
        return ATTN_OK;
    }
    p->depth = at_sketch_take(sketch, cells, sizeof(int));
    p->up = at_sketch_take(sketch, cells, sizeof(int));
    p->top = at_sketch_take(sketch, cells, sizeof(int));
    int *queue = at_sketch_take(sketch, rings->atoms, sizeof(int));
    if (!p->depth || !p->up || !p->top || !queue) return ATTN_OUT_OF_MEMORY;
    for (int s = 0; s < p->sources; s++) {
        size_t row = (size_t)s * (size_t)rings->atoms;
        find_paths(rings, p->source[s], p->depth + row, p->up + row, p->top + row, queue);
    }
    return ATTN_OK;
}

/* How long the cycle of a source and a bond is; 0: the two make none. */
static int cycle_length(const at_rings *rings, const paths *p, int s, int bond) {
    size_t row = (size_t)s * (size_t)rings->atoms;
    int a = rings->from[bond], b = rings->to[bond];
    if (p->up[row + (size_t)a] == bond || p->up[row + (size_t)b] == bond) return 0;
    if (p->depth[row + (size_t)a] && p->depth[row + (size_t)b] &&
        p->top[row + (size_t)a] == p->top[row + (size_t)b])
        return 0;
    return p->depth[row + (size_t)a] + p->depth[row + (size_t)b] + 1;
}

/* Its bonds as a set, and its atoms in order. */
static void write_cycle(const at_rings *rings, const paths *p, int s, int bond, uint64_t *set, int *atoms) {
    const int *up = p->up + (size_t)s * (size_t)rings->atoms;
    int count = 0, length = cycle_length(rings, p, s, bond), a = rings->from[bond], b = rings->to[bond];
    memset(set, 0, (size_t)rings->words * sizeof *set);
    set[bond / 64] |= (uint64_t)1 << (bond % 64);
    for (int atom = a;;) {
        atoms[count++] = atom;
        if (up[atom] < 0) break;
        int back = up[atom];
        set[back / 64] |= (uint64_t)1 << (back % 64);
        atom = rings->from[back] == atom ? rings->to[back] : rings->from[back];
    }
    for (int atom = b, place = length - 1; up[atom] >= 0; place--) {
        atoms[place] = atom;
        int back = up[atom];
        set[back / 64] |= (uint64_t)1 << (back % 64);
        atom = rings->from[back] == atom ? rings->to[back] : rings->from[back];
    }
}

/* Adds a set to a reduced basis; 0: it was a sum of others. */
static int add_to_basis(uint64_t *basis, int *pivots, int rank, int words, const uint64_t *set) {
    uint64_t *row = basis + (size_t)rank * (size_t)words;
    memcpy(row, set, (size_t)words * sizeof *row);
    for (int i = 0; i < rank; i++)
        if (row[pivots[i] / 64] >> (pivots[i] % 64) & 1)
            for (int w = 0; w < words; w++) row[w] ^= basis[(size_t)i * (size_t)words + (size_t)w];
    for (int w = 0; w < words; w++) {
        if (!row[w]) continue;
        int bit = 0;
        while (!(row[w] >> bit & 1)) bit++;
        pivots[rank] = 64 * w + bit;
        return 1;
    }
    return 0;
}

/* Takes cycles of one length after another until the basis is whole. */
static attn_status choose_rings(at_sketch *sketch, at_rings *rings, const paths *p, int wanted) {
    int words = rings->words, rank = 0, used = 0;
    int room = wanted * rings->atoms;
    rings->ring_first = at_sketch_take(sketch, wanted + 1, sizeof(int));
    rings->ring_atom = at_sketch_take(sketch, room + rings->atoms + 1, sizeof(int));
    rings->ring_bonds = at_sketch_take(sketch, (int64_t)(wanted + 1) * words, sizeof(uint64_t));
    uint64_t *basis = at_sketch_take(sketch, (int64_t)(wanted + 1) * words, sizeof *basis);
    int *pivots = at_sketch_take(sketch, wanted + 1, sizeof *pivots);
    if (!rings->ring_first || !rings->ring_atom || !rings->ring_bonds || !basis || !pivots)
        return ATTN_OUT_OF_MEMORY;
    char *lengths = at_sketch_take(sketch, 2 * rings->atoms + 2, 1); /* that occur */
    if (!lengths) return ATTN_OUT_OF_MEMORY;
    memset(lengths, 0, 2 * (size_t)rings->atoms + 2);
    for (int s = 0; s < p->sources; s++)
        for (int bond = 0; bond < rings->bonds; bond++) lengths[cycle_length(rings, p, s, bond)] = 1;
    for (int length = 3; length <= rings->atoms && rank < wanted; length++)
        for (int s = 0; lengths[length] && s < p->sources && rank < wanted; s++)
            for (int bond = 0; bond < rings->bonds && rank < wanted; bond++) {
                if (cycle_length(rings, p, s, bond) != length) continue;
                uint64_t *set = rings->ring_bonds + (size_t)rank * (size_t)words;
                write_cycle(rings, p, s, bond, set, rings->ring_atom + used);
                if (!add_to_basis(basis, pivots, rank, words, set)) continue;
                rings->ring_first[rank++] = used;
                used += length;
            }
    rings->ring_first[rank] = used;
    rings->rings = rank == wanted ? wanted : 0;
    return ATTN_OK;
}

static attn_status find_rings(at_sketch *sketch, at_rings *rings) {
    int wanted = rings->bonds - rings->atoms + 1;
    paths p = {.sources = 0};
    if (wanted > RINGS_MOST || (int64_t)wanted * rings->atoms > TREE_CELLS_MOST) return ATTN_OK;
    attn_status status = find_all_paths(sketch, rings, &p);
    if (status != ATTN_OK || !p.sources) return status;
    return choose_rings(sketch, rings, &p, wanted);
}

/* ---- polygons ---- */

/* Where corner i of a regular polygon stands whose corners 0 and 1 are given, on the left of 0 -> 1. */
static void find_corner(int corners, int i, double ax, double ay, double bx, double by, double *x,
                        double *y) {
    double half = AT_PI / corners, height = 0.5 / tan(half), radius = 0.5 / sin(half);
    double dx = bx - ax, dy = by - ay;
    double cx = (ax + bx) / 2 - height * dy, cy = (ay + by) / 2 + height * dx;
    double angle = atan2(ay - cy, ax - cx) + 2 * half * i, length = sqrt(dx * dx + dy * dy);
    *x = cx + radius * length * cos(angle);
    *y = cy + radius * length * sin(angle);
}

/* Sets a ring on the bond between its corners `corner` and the next, both placed; side > 0: on the left.
 * Returns 0 if an atom that is placed already stands elsewhere. */
static int set_polygon(at_rings *rings, int ring, int corner, int side, char *placed) {
    int begin = rings->ring_first[ring], corners = rings->ring_first[ring + 1] - begin;
    const int *atom = rings->ring_atom + begin;
    int a = atom[corner], b = atom[(corner + 1) % corners];
    for (int i = 2; i < corners; i++) {
        double x, y;
        int other = atom[(corner + i) % corners];
        if (side > 0)
            find_corner(corners, i, rings->x[a], rings->y[a], rings->x[b], rings->y[b], &x, &y);
        else /* seen from the other end, corners run the other way round */
            find_corner(corners, corners + 1 - i, rings->x[b], rings->y[b], rings->x[a], rings->y[a], &x, &y);
        if (placed[other] && fabs(x - rings->x[other]) + fabs(y - rings->y[other]) > 0.05) return 0;
        rings->x[other] = x;
        rings->y[other] = y;
        placed[other] = 1;
    }
    return 1;
}

/* On which side of the bond a -> b the middle of a ring lies. */
static int side_of_ring(const at_rings *rings, int ring, int a, int b) {
    double mx = 0, my = 0;
    int begin = rings->ring_first[ring], end = rings->ring_first[ring + 1];
    for (int i = begin; i < end; i++) {
        mx += rings->x[rings->ring_atom[i]] / (end - begin);
        my += rings->y[rings->ring_atom[i]] / (end - begin);
    }
    double dx = rings->x[b] - rings->x[a], dy = rings->y[b] - rings->y[a];
    return dx * (my - rings->y[a]) - dy * (mx - rings->x[a]) > 0 ? 1 : -1;
}

static int find_bond(const at_rings *rings, int a, int b) {
    for (int e = rings->first[a]; e < rings->first[a + 1]; e++)
        if (rings->beside[e] == b) return rings->along[e];
    return -1;
}

static int has_bond(const at_rings *rings, int ring, int bond) {
    return (int)(rings->ring_bonds[(size_t)ring * (size_t)rings->words + (size_t)(bond / 64)] >> (bond % 64) &
                 1);
}

/* Sets `ring` beside a ring that is done, along a bond of both. -1: there is none; 0: it does not fit. */
static int join_ring(at_rings *rings, int ring, const char *done, char *placed) {
    int begin = rings->ring_first[ring], corners = rings->ring_first[ring + 1] - begin;
    for (int i = 0; i < corners; i++) {
        int a = rings->ring_atom[begin + i], b = rings->ring_atom[begin + (i + 1) % corners];
        if (!placed[a] || !placed[b]) continue;
        int bond = find_bond(rings, a, b);
        for (int other = 0; other < rings->rings; other++)
            if (done[other] && has_bond(rings, other, bond))
                return set_polygon(rings, ring, i, -side_of_ring(rings, other, a, b), placed);
    }
    return -1;
}

/* Bonds of one length and atoms that keep apart: then polygons are what a chemist would draw. */
static int is_regular(const at_rings *rings) {
    for (int i = 0; i < rings->bonds; i++) {
        double dx = rings->x[rings->from[i]] - rings->x[rings->to[i]];
        double dy = rings->y[rings->from[i]] - rings->y[rings->to[i]];
        if (fabs(sqrt(dx * dx + dy * dy) - 1) > 0.05) return 0;
    }
    for (int i = 0; i < rings->atoms; i++)
        for (int j = i + 1; j < rings->atoms; j++) {
            double dx = rings->x[i] - rings->x[j], dy = rings->y[i] - rings->y[j];
            if (dx * dx + dy * dy < 0.7 * 0.7) return 0;
        }
    return 1;
}

/* What hangs at an atom of several rings points away from all of them. */
static void point_outwards(const at_rings *rings) {
    for (int ring = 0; ring < rings->rings; ring++) {
        double mx = 0, my = 0;
        int begin = rings->ring_first[ring], end = rings->ring_first[ring + 1];
        for (int i = begin; i < end; i++) {
            mx += rings->x[rings->ring_atom[i]] / (end - begin);
            my += rings->y[rings->ring_atom[i]] / (end - begin);
        }
        for (int i = begin; i < end; i++) {
            int atom = rings->ring_atom[i];
            double dx = rings->x[atom] - mx, dy = rings->y[atom] - my, length = sqrt(dx * dx + dy * dy);
            rings->room[2 * atom] += dx / length;
            rings->room[2 * atom + 1] += dy / length;
        }
    }
}

static int place_polygons(at_rings *rings, char *done, char *placed) {
    memset(done, 0, (size_t)rings->rings);
    memset(placed, 0, (size_t)rings->atoms);
    int a = rings->ring_atom[0], b = rings->ring_atom[1];
    rings->x[a] = rings->y[a] = rings->y[b] = 0;
    rings->x[b] = 1;
    placed[a] = placed[b] = done[0] = 1;
    if (!set_polygon(rings, 0, 0, 1, placed)) return 0;
    for (int again = 1; again;) {
        again = 0;
        for (int ring = 0; ring < rings->rings; ring++) {
            if (done[ring]) continue;
            int fits = join_ring(rings, ring, done, placed);
            if (fits == 0) return 0;
            if (fits < 0) continue;
            done[ring] = 1;
            again = 1;
        }
    }
    for (int i = 0; i < rings->atoms; i++)
        if (!placed[i]) return 0;
    return is_regular(rings);
}

attn_status at_rings_place(at_sketch *sketch, at_block *block) {
    at_rings rings = {.rings = 0};
    block->x = at_sketch_take(sketch, block->atoms, sizeof *block->x);
    block->y = at_sketch_take(sketch, block->atoms, sizeof *block->y);
    block->room = at_sketch_take(sketch, 2 * (int64_t)block->atoms, sizeof *block->room);
    if (!block->x || !block->y || !block->room) return ATTN_OUT_OF_MEMORY;
    memset(block->room, 0, 2 * (size_t)block->atoms * sizeof *block->room);
    attn_status status = number_block(sketch, block, &rings);
    if (status == ATTN_OK) find_heavy(sketch, block, &rings);
    if (status == ATTN_OK) status = find_rings(sketch, &rings);
    if (status != ATTN_OK) return status;
    if (rings.rings) {
        char *done = at_sketch_take(sketch, rings.rings, 1), *placed = at_sketch_take(sketch, rings.atoms, 1);
        if (!done || !placed) return ATTN_OUT_OF_MEMORY;
        if (place_polygons(&rings, done, placed)) {
            point_outwards(&rings);
            return ATTN_OK;
        }
    }
    return at_rings_place_bridged(sketch, &rings);
}
