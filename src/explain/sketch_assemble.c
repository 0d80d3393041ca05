/* sketch_assemble.c: ring systems and chains, set together from the root outwards.
 *
 * Around an atom, what hangs there shares the widest gap between the neighbours that are placed: a bond takes
 * no room, a ring system that of its angle. So three bonds are at 120 degrees, four at 90, and a bond at a
 * ring points outwards. An atom with two bonds is bent to 120 degrees, to the side that makes a zigzag,
 * unless its bonds are straight (a triple bond, two double bonds). At last, sides of double bonds are set as
 * written.
 */
#include <math.h>
#include <string.h>

#include "explain/sketch.h"

enum { AROUND_MOST = 64 };

typedef struct place_queue {
    int *atom, head, tail;
} place_queue;

static void place_atom(at_sketch *sketch, place_queue *queue, int atom, double x, double y) {
    sketch->x[atom] = x;
    sketch->y[atom] = y;
    sketch->placed[atom] = 1;
    queue->atom[queue->tail++] = atom;
}

/* ---- angles around an atom ---- */

typedef struct gap {
    double begin, size;
} gap;

/* The widest gap between directions; all of the circle where there is one or none. */
static gap find_gap(const double *angles, int count) {
    gap widest = {count ? angles[0] : 0, 2 * AT_PI};
    if (count < 2) return widest;
    widest.size = 0;
    for (int i = 0; i < count; i++) {
        double size = 2 * AT_PI;
        for (int j = 0; j < count; j++) {
            double turn = angles[j] - angles[i];
            turn -= 2 * AT_PI * floor(turn / (2 * AT_PI));
            if (i != j && turn < size) size = turn;
        }
        if (size > widest.size + 1e-9) widest = (gap){angles[i], size};
    }
    return widest;
}

/* The gap in which there is room by a layout of the ring system; the widest where that says nothing. */
static gap find_room(const at_sketch *sketch, int atom, const double *angles, int count) {
    const double *room = sketch->room + 2 * (size_t)atom;
    gap widest = find_gap(angles, count), found = {0, 2 * AT_PI};
    if (count < 2 || room[0] * room[0] + room[1] * room[1] < 0.01) return widest;
    double middle = atan2(room[1], room[0]), back = 2 * AT_PI;
    for (int i = 0; i < count; i++) {
        double before = middle - angles[i], after = -before;
        before -= 2 * AT_PI * floor(before / (2 * AT_PI));
        after -= 2 * AT_PI * floor(after / (2 * AT_PI));
        if (before < back) {
            back = before;
            found.begin = angles[i];
        }
        if (after < found.size) found.size = after;
    }
    found.size += back;
    return found;
}

static int index_in_block(const at_block *block, int atom) {
    for (int i = 0; i < block->atoms; i++)
        if (block->atom[i] == atom) return i;
    return -1;
}

/* The angle that a ring system takes at one of its atoms, and its middle in the system's own frame. */
static gap block_sector(at_sketch *sketch, const at_block *block, int joint) {
    double angles[AROUND_MOST];
    int count = 0, at = index_in_block(block, joint);
    for (int i = 0; i < block->bonds && count < AROUND_MOST; i++) {
        int bond = block->bond[i];
        if (sketch->from[bond] != joint && sketch->to[bond] != joint) continue;
        int other =
            index_in_block(block, sketch->from[bond] == joint ? sketch->to[bond] : sketch->from[bond]);
        angles[count++] = atan2(block->y[other] - block->y[at], block->x[other] - block->x[at]);
    }
    gap free_gap = find_gap(angles, count);
    return (gap){free_gap.begin + free_gap.size / 2 + AT_PI, 2 * AT_PI - free_gap.size};
}

/* The atom of a ring system behind which most of the molecule follows; -1: nothing follows. */
static int find_exit(const at_sketch *sketch, const at_block *block, int joint) {
    int best = -1, most = 0;
    for (int i = 0; i < block->atoms; i++) {
        int size = 0;
        if (block->atom[i] == joint) continue;
        for (int u = sketch->unit_of[block->atom[i]]; u >= 0; u = sketch->unit[u].next)
            size += sketch->unit[u].end - sketch->unit[u].begin;
        if (size <= most) continue;
        most = size;
        best = i;
    }
    return best;
}

/* Whether a ring system should be mirrored at the line through its joint, so that its exit lies farther from
 * the middle of what is placed: then the drawing unrolls. (dx, dy): the exit seen from the joint. */
static int is_better_mirrored(const at_sketch *sketch, const place_queue *queue, int joint, double angle,
                              double dx, double dy) {
    double mx = 0, my = 0;
    for (int i = 0; i < queue->tail; i++) {
        mx += sketch->x[queue->atom[i]] / queue->tail;
        my += sketch->y[queue->atom[i]] / queue->tail;
    }
    double across = -sin(angle) * dx + cos(angle) * dy; /* how far left of the line the exit is */
    double middle = -sin(angle) * (mx - sketch->x[joint]) + cos(angle) * (my - sketch->y[joint]);
    return fabs(across) > 0.1 && fabs(middle) > 0.1 && across * middle > 0;
}

static void place_block(at_sketch *sketch, place_queue *queue, const at_block *block, int joint,
                        double angle) {
    int at = index_in_block(block, joint), exit = find_exit(sketch, block, joint), mirrored = 0;
    double turn = angle - block_sector(sketch, block, joint).begin, cosine = cos(turn), sine = sin(turn);
    double twice_cosine = cos(2 * angle), twice_sine = sin(2 * angle);
    if (exit >= 0 && queue->tail > 1) {
        double dx = block->x[exit] - block->x[at], dy = block->y[exit] - block->y[at];
        mirrored =
            is_better_mirrored(sketch, queue, joint, angle, cosine * dx - sine * dy, sine * dx + cosine * dy);
    }
    for (int i = 0; i < block->atoms; i++) {
        double vector[2][2] = {{block->x[i] - block->x[at], block->y[i] - block->y[at]},
                               {block->room[2 * i], block->room[2 * i + 1]}};
        for (int v = 0; v < 2; v++) {
            double dx = cosine * vector[v][0] - sine * vector[v][1],
                   dy = sine * vector[v][0] + cosine * vector[v][1];
            vector[v][0] = mirrored ? twice_cosine * dx + twice_sine * dy : dx;
            vector[v][1] = mirrored ? twice_sine * dx - twice_cosine * dy : dy;
        }
        sketch->room[2 * block->atom[i]] = vector[1][0];
        sketch->room[2 * block->atom[i] + 1] = vector[1][1];
        if (i != at)
            place_atom(sketch, queue, block->atom[i], sketch->x[joint] + vector[0][0],
                       sketch->y[joint] + vector[0][1]);
    }
}

static void place_unit(at_sketch *sketch, place_queue *queue, const at_sketch_unit *unit, double angle) {
    if (unit->block >= 0) {
        place_block(sketch, queue, &sketch->block[unit->block], unit->joint, angle);
        return;
    }
    place_atom(sketch, queue, sketch->sequence[unit->begin], sketch->x[unit->joint] + cos(angle),
               sketch->y[unit->joint] + sin(angle));
}

/* ---- chains ---- */

static int is_straight(const at_sketch *sketch, int atom) {
    int doubles = 0;
    for (int e = sketch->first[atom]; e < sketch->first[atom + 1]; e++) {
        int order = sketch->order[sketch->along[e]];
        if (order == 3) return 1;
        doubles += order == 2;
    }
    return doubles == 2;
}

/* Which way to turn at `atom`, which is bonded to its parent: away from where the parent's own neighbour was
 * turned; 1 left, -1 right. */
static int zigzag_side(const at_sketch *sketch, int atom) {
    int parent = sketch->parent[atom], largest = 0;
    double side = 0;
    for (int e = sketch->first[parent]; e < sketch->first[parent + 1]; e++) {
        int other = sketch->beside[e];
        if (other == atom || !sketch->placed[other]) continue;
        int size =
            other == sketch->parent[parent] ? sketch->atoms : sketch->end[other] - sketch->place[other];
        double turn = (sketch->x[parent] - sketch->x[other]) * (sketch->y[atom] - sketch->y[parent]) -
                      (sketch->y[parent] - sketch->y[other]) * (sketch->x[atom] - sketch->x[parent]);
        if (size <= largest || fabs(turn) < 0.1) continue;
        largest = size;
        side = turn;
    }
    return side > 0 ? -1 : 1;
}

static int unit_size(const at_sketch_unit *unit) { return unit->end - unit->begin; }

/* The units at an atom that are still to be placed, large ones first. */
static int list_units(const at_sketch *sketch, int atom, int *units) {
    int count = 0;
    for (int u = sketch->unit_of[atom]; u >= 0 && count < AROUND_MOST; u = sketch->unit[u].next) {
        int place = count;
        if (sketch->placed[sketch->sequence[sketch->unit[u].begin]]) continue;
        for (; place > 0 && unit_size(&sketch->unit[units[place - 1]]) < unit_size(&sketch->unit[u]); place--)
            units[place] = units[place - 1];
        units[place] = u;
        count++;
    }
    return count;
}

/* Shares a gap among units; the order is from the gap's begin. */
static void share_gap(at_sketch *sketch, place_queue *queue, gap room, const int *units, int count) {
    double taken = 0, sector[AROUND_MOST];
    for (int i = 0; i < count; i++) {
        const at_sketch_unit *unit = &sketch->unit[units[i]];
        sector[i] =
            unit->block >= 0 ? block_sector(sketch, &sketch->block[unit->block], unit->joint).size : 0;
        taken += sector[i];
    }
    double space = (room.size - taken) / (count + 1), angle = room.begin;
    if (space < 0) space = room.size / (count + 1);
    for (int i = 0; i < count; i++) {
        angle += space + sector[i] / 2;
        place_unit(sketch, queue, &sketch->unit[units[i]], angle);
        angle += sector[i] / 2;
    }
}

/* Large, small, small: the large one in the middle of three; on the side of the zigzag of two. */
static void order_units(const at_sketch *sketch, int atom, int neighbours, int *units, int count) {
    if (count == 3) {
        int swap = units[0];
        units[0] = units[1];
        units[1] = swap;
    }
    /* A gap begins at the bond to the parent and runs to the left: what is first there turns right. */
    if (count == 2 && neighbours == 1 && zigzag_side(sketch, atom) > 0) {
        int swap = units[0];
        units[0] = units[1];
        units[1] = swap;
    }
}

/* The root has no neighbour yet: its largest unit goes first, a ring system before all others. */
static void start_root(at_sketch *sketch, place_queue *queue, int root) {
    int units[AROUND_MOST], count = list_units(sketch, root, units);
    if (!count) return;
    for (int i = 1; i < count; i++)
        if (sketch->unit[units[0]].block < 0 && sketch->unit[units[i]].block >= 0) {
            int swap = units[0];
            units[0] = units[i];
            units[i] = swap;
        }
    place_unit(sketch, queue, &sketch->unit[units[0]], -AT_PI / 6);
}

/* Places units at an atom; 0: there was none left. */
static int place_around(at_sketch *sketch, place_queue *queue, int atom) {
    double angles[AROUND_MOST];
    int units[AROUND_MOST], neighbours = 0, count = list_units(sketch, atom, units);
    if (!count) return 0;
    for (int e = sketch->first[atom]; e < sketch->first[atom + 1] && neighbours < AROUND_MOST; e++) {
        int other = sketch->beside[e];
        if (sketch->placed[other])
            angles[neighbours++] =
                atan2(sketch->y[other] - sketch->y[atom], sketch->x[other] - sketch->x[atom]);
    }
    if (neighbours == 1 && count == 1 && sketch->unit[units[0]].block < 0 && !is_straight(sketch, atom)) {
        int side = sketch->parent[atom] < 0 ? 1 : zigzag_side(sketch, atom);
        place_unit(sketch, queue, &sketch->unit[units[0]], angles[0] + AT_PI + side * AT_PI / 3);
        return 1;
    }
    order_units(sketch, atom, sketch->parent[atom] < 0 ? 0 : neighbours, units, count);
    share_gap(sketch, queue, find_room(sketch, atom, angles, neighbours), units, count);
    return 1;
}

/* ---- cis and trans ---- */

/* The first neighbour of one end of a double bond that is marked: *above says in place as written. */
static int marked_neighbour(const at_sketch *sketch, int atom, int double_bond, int *above) {
    for (int e = sketch->first[atom]; e < sketch->first[atom + 1]; e++) {
        int bond = sketch->along[e];
        if (bond == double_bond || !sketch->direction[bond]) continue;
        int up = sketch->direction[bond] == 1; /* "X/C" puts X below C, "C/X" above */
        *above = sketch->from[bond] == atom ? up : !up;
        return sketch->beside[e];
    }
    return -1;
}

/* Mirrors the atoms of a unit at the line through its bond. */
static void mirror_unit(at_sketch *sketch, const at_sketch_unit *unit) {
    int child = sketch->sequence[unit->begin];
    double ax = sketch->x[unit->joint], ay = sketch->y[unit->joint];
    double ux = sketch->x[child] - ax, uy = sketch->y[child] - ay, square = ux * ux + uy * uy;
    for (int i = unit->begin; i < unit->end; i++) {
        int atom = sketch->sequence[i];
        double dx = sketch->x[atom] - ax, dy = sketch->y[atom] - ay;
        double along = 2 * (dx * ux + dy * uy) / square;
        sketch->x[atom] = ax + along * ux - dx;
        sketch->y[atom] = ay + along * uy - dy;
    }
}

static double side_of_bond(const at_sketch *sketch, int a, int b, int atom) {
    return (sketch->x[b] - sketch->x[a]) * (sketch->y[atom] - sketch->y[a]) -
           (sketch->y[b] - sketch->y[a]) * (sketch->x[atom] - sketch->x[a]);
}

static void set_sides(at_sketch *sketch) {
    for (int u = 0; u < sketch->units; u++) {
        at_sketch_unit *unit = &sketch->unit[u];
        if (unit->bond < 0 || sketch->order[unit->bond] != 2) continue;
        int child = sketch->sequence[unit->begin], first_above = 0, second_above = 0;
        int first = marked_neighbour(sketch, unit->joint, unit->bond, &first_above);
        int second = marked_neighbour(sketch, child, unit->bond, &second_above);
        if (first < 0 || second < 0) continue;
        unit->fixed = 1;
        int same = (side_of_bond(sketch, unit->joint, child, first) > 0) ==
                   (side_of_bond(sketch, unit->joint, child, second) > 0);
        if (same != (first_above == second_above)) mirror_unit(sketch, unit);
    }
}

attn_status at_sketch_assemble(at_sketch *sketch, int root) {
    place_queue queue = {.head = 0};
    queue.atom = at_sketch_take(sketch, sketch->count, sizeof *queue.atom);
    if (!queue.atom) return ATTN_OUT_OF_MEMORY;
    attn_status status = ATTN_OK;
    for (int b = 0; b < sketch->blocks && status == ATTN_OK; b++)
        status = at_rings_place(sketch, &sketch->block[b]);
    if (status != ATTN_OK) return status;
    place_atom(sketch, &queue, root, 0, 0);
    start_root(sketch, &queue, root);
    while (queue.head < queue.tail) {
        int atom = queue.atom[queue.head++];
        while (place_around(sketch, &queue, atom)) {
        }
    }
    set_sides(sketch);
    return ATTN_OK;
}
