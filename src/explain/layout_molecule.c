/* layout_molecule.c: a molecule in the plane: its graph without loops and repeated bonds, its fragments one
 * after another (sketch.h says by which steps), each turned so that its long axis is horizontal and bonds run
 * along multiples of 30 degrees, and set side by side. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "explain/layout.h"
#include "explain/sketch.h"

#define FRAGMENT_GAP 1.5
enum { FIRST_BYTES = 1 << 16, ATOMS_MOST = 1 << 24 };

void *at_sketch_take(at_sketch *sketch, int64_t count, size_t element_bytes) {
    void *memory = at_arena_take(sketch->arena, count, element_bytes);
    if (!memory)
        at_fail(sketch->context, ATTN_OUT_OF_MEMORY, "no memory for the layout of a molecule of %d atoms",
                sketch->atoms);
    return memory;
}

/* ---- the graph ---- */

static attn_status take_arrays(at_sketch *sketch, int64_t bonds) {
    int atoms = sketch->atoms;
    sketch->from = at_sketch_take(sketch, bonds, sizeof(int));
    sketch->to = at_sketch_take(sketch, bonds, sizeof(int));
    sketch->order = at_sketch_take(sketch, bonds, 1);
    sketch->direction = at_sketch_take(sketch, bonds, 1);
    sketch->first = at_sketch_take(sketch, atoms + 2, sizeof(int));
    sketch->beside = at_sketch_take(sketch, 2 * bonds, sizeof(int));
    sketch->along = at_sketch_take(sketch, 2 * bonds, sizeof(int));
    sketch->placed = at_sketch_take(sketch, atoms, 1);
    sketch->room = at_sketch_take(sketch, 2 * (int64_t)atoms, sizeof *sketch->room);
    sketch->local = at_sketch_take(sketch, atoms, sizeof(int));
    sketch->sequence = at_sketch_take(sketch, atoms, sizeof(int));
    sketch->place = at_sketch_take(sketch, atoms, sizeof(int));
    sketch->end = at_sketch_take(sketch, atoms, sizeof(int));
    sketch->parent = at_sketch_take(sketch, atoms, sizeof(int));
    sketch->low = at_sketch_take(sketch, atoms, sizeof(int));
    sketch->block = at_sketch_take(sketch, bonds, sizeof *sketch->block);
    sketch->unit = at_sketch_take(sketch, atoms, sizeof *sketch->unit);
    sketch->unit_of = at_sketch_take(sketch, atoms, sizeof(int));
    int whole = sketch->from && sketch->to && sketch->order && sketch->direction && sketch->first &&
                sketch->beside && sketch->along && sketch->placed && sketch->room && sketch->local &&
                sketch->sequence && sketch->place && sketch->end && sketch->parent && sketch->low &&
                sketch->block && sketch->unit && sketch->unit_of;
    return whole ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* Neighbours from the bonds [0, sketch->bonds). */
static void link_atoms(at_sketch *sketch) {
    int *next = sketch->first + 1;
    memset(sketch->first, 0, ((size_t)sketch->atoms + 2) * sizeof(int));
    for (int i = 0; i < sketch->bonds; i++) {
        next[sketch->from[i] + 1]++;
        next[sketch->to[i] + 1]++;
    }
    for (int i = 0; i < sketch->atoms; i++) next[i + 1] += next[i];
    for (int i = 0; i < sketch->bonds; i++) {
        int from = sketch->from[i], to = sketch->to[i];
        sketch->along[next[from]] = sketch->along[next[to]] = i;
        sketch->beside[next[from]++] = to;
        sketch->beside[next[to]++] = from;
    }
}

/* Leaves out bonds that join what an earlier bond joins. */
static void drop_repeated(at_sketch *sketch) {
    int kept = 0;
    for (int atom = 0; atom < sketch->atoms; atom++) {
        int begin = sketch->first[atom], end = sketch->first[atom + 1];
        for (int e = begin; e < end; e++) {
            int other = sketch->beside[e];
            if (other > atom && sketch->local[other] >= 0) sketch->order[sketch->along[e]] = 0;
            sketch->local[other] = atom;
        }
        for (int e = begin; e < end; e++) sketch->local[sketch->beside[e]] = -1;
    }
    for (int i = 0; i < sketch->bonds; i++) {
        if (!sketch->order[i]) continue;
        sketch->from[kept] = sketch->from[i];
        sketch->to[kept] = sketch->to[i];
        sketch->order[kept] = sketch->order[i];
        sketch->direction[kept++] = sketch->direction[i];
    }
    if (kept == sketch->bonds) return;
    sketch->bonds = kept;
    link_atoms(sketch);
}

static void read_bonds(at_sketch *sketch, const at_molecule_sketch *molecule) {
    for (int i = 0; i < sketch->atoms; i++) {
        sketch->local[i] = sketch->place[i] = sketch->unit_of[i] = -1;
        sketch->placed[i] = 0;
        sketch->x[i] = sketch->y[i] = sketch->room[2 * i] = sketch->room[2 * i + 1] = 0;
    }
    for (int64_t i = 0; i < molecule->bonds; i++) {
        if (molecule->from[i] == molecule->to[i]) continue;
        int order = molecule->order[i];
        sketch->from[sketch->bonds] = (int)molecule->from[i];
        sketch->to[sketch->bonds] = (int)molecule->to[i];
        sketch->order[sketch->bonds] = (int8_t)(order < 1 ? 1 : order > 4 ? 4 : order);
        sketch->direction[sketch->bonds++] = molecule->direction ? molecule->direction[i] : 0;
    }
    link_atoms(sketch);
    drop_repeated(sketch);
}

static attn_status check_molecule(attn_context *context, const at_molecule_sketch *molecule) {
    if (molecule->atoms < 0 || molecule->bonds < 0 || molecule->atoms > ATOMS_MOST ||
        molecule->bonds > ATOMS_MOST)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a molecule of %lld atoms and %lld bonds cannot be drawn", (long long)molecule->atoms,
                       (long long)molecule->bonds);
    for (int64_t i = 0; i < molecule->bonds; i++)
        if (molecule->from[i] < 0 || molecule->from[i] >= molecule->atoms || molecule->to[i] < 0 ||
            molecule->to[i] >= molecule->atoms)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "bond %lld joins %lld and %lld, but the molecule has the atoms 0 to %lld",
                           (long long)i, (long long)molecule->from[i], (long long)molecule->to[i],
                           (long long)molecule->atoms - 1);
    return ATTN_OK;
}

/* ---- the root ---- */

/* The atom that is farthest from `start` without rings: the last in order of distance. */
static int farthest_atom(at_sketch *sketch, int start) {
    int *depth = sketch->end, farthest = start; /* the cut will write it afresh */
    for (int i = 0; i < sketch->count; i++) {   /* parents come before children */
        int atom = sketch->sequence[i], parent = sketch->parent[atom];
        depth[atom] = parent < 0 ? 0 : depth[parent] + 1;
        if (depth[atom] > depth[farthest]) farthest = atom;
    }
    return farthest;
}

/* An atom of the largest ring system; of a chain one end. Cuts the fragment from there. */
static attn_status cut_from_root(at_sketch *sketch, int start, int *root) {
    attn_status status = at_sketch_cut(sketch, start);
    if (status != ATTN_OK) return status;
    *root = start;
    if (sketch->blocks) {
        int largest = 0;
        for (int b = 1; b < sketch->blocks; b++)
            if (sketch->block[b].atoms > sketch->block[largest].atoms) largest = b;
        *root = sketch->block[largest].atom[0];
    } else
        *root = farthest_atom(sketch, start);
    return at_sketch_cut(sketch, *root);
}

/* ---- how it lies ---- */

/* The turn that makes the long axis horizontal, then bonds multiples of 30 degrees. */
static double find_turn(const at_sketch *sketch) {
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0, cosine = 0, sine = 0;
    for (int i = 0; i < sketch->count; i++) {
        mean_x += sketch->x[sketch->sequence[i]] / sketch->count;
        mean_y += sketch->y[sketch->sequence[i]] / sketch->count;
    }
    for (int i = 0; i < sketch->count; i++) {
        int atom = sketch->sequence[i];
        double dx = sketch->x[atom] - mean_x, dy = sketch->y[atom] - mean_y;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
        for (int e = sketch->first[atom]; e < sketch->first[atom + 1]; e++) {
            double angle = atan2(sketch->y[sketch->beside[e]] - sketch->y[atom],
                                 sketch->x[sketch->beside[e]] - sketch->x[atom]);
            cosine += cos(6 * angle);
            sine += sin(6 * angle);
        }
    }
    /* Bonds shall are at multiples of 30 degrees; in what is as long as wide, at 30, 90, 150, as those of a
     * hexagon that is on its corner. */
    double axis = 0.5 * atan2(2 * xy, xx - yy), spread = sqrt(4 * xy * xy + (xx - yy) * (xx - yy));
    double step = spread < 0.05 * (xx + yy) ? AT_PI / 3 : AT_PI / 6;
    if (sqrt(cosine * cosine + sine * sine) < 1e-6) return -axis;
    double bonds = atan2(-sine, -cosine) / 6;
    return -(bonds + step * floor((axis - bonds) / step + 0.5));
}

/* Turns the fragment and sets it to the right of *right. */
static void lay_down(at_sketch *sketch, double *right) {
    double turn = find_turn(sketch), cosine = cos(turn), sine = sin(turn);
    double low_x = INFINITY, low_y = INFINITY, high_x = -INFINITY, high_y = -INFINITY;
    for (int i = 0; i < sketch->count; i++) {
        int atom = sketch->sequence[i];
        double x = sketch->x[atom], y = sketch->y[atom];
        sketch->x[atom] = cosine * x - sine * y;
        sketch->y[atom] = sine * x + cosine * y;
        low_x = fmin(low_x, sketch->x[atom]);
        high_x = fmax(high_x, sketch->x[atom]);
        low_y = fmin(low_y, sketch->y[atom]);
        high_y = fmax(high_y, sketch->y[atom]);
    }
    for (int i = 0; i < sketch->count; i++) {
        int atom = sketch->sequence[i];
        sketch->x[atom] += *right - low_x;
        sketch->y[atom] -= (low_y + high_y) / 2;
    }
    *right += high_x - low_x + FRAGMENT_GAP;
}

static attn_status place_fragment(at_sketch *sketch, int start, double *right) {
    int root;
    at_mark mark = at_arena_mark(sketch->arena);
    sketch->count = 0;
    attn_status status = cut_from_root(sketch, start, &root);
    if (status == ATTN_OK) status = at_sketch_assemble(sketch, root);
    if (status == ATTN_OK) status = at_sketch_resolve(sketch);
    if (status == ATTN_OK) lay_down(sketch, right);
    at_arena_release(sketch->arena, mark);
    return status;
}

attn_status at_layout_molecule(attn_context *context, const at_molecule_sketch *molecule, double *x,
                               double *y) {
    attn_status status = check_molecule(context, molecule);
    if (status != ATTN_OK || molecule->atoms == 0) return status;
    at_arena arena;
    at_sketch sketch = {.context = context, .arena = &arena, .atoms = (int)molecule->atoms, .x = x, .y = y};
    at_arena_create(&arena, &context->allocator, FIRST_BYTES);
    status = take_arrays(&sketch, molecule->bonds);
    if (status == ATTN_OK) read_bonds(&sketch, molecule);
    double right = 0;
    for (int i = 0; i < sketch.atoms && status == ATTN_OK; i++)
        if (!sketch.placed[i]) status = place_fragment(&sketch, i, &right);
    for (int i = 0; i < sketch.atoms && status == ATTN_OK; i++) x[i] -= (right - FRAGMENT_GAP) / 2;
    at_arena_destroy(&arena);
    return status;
}
