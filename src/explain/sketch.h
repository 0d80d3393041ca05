/* sketch.h: a molecule while its atoms are placed. One fragment (a connected part) is worked on at a time.
 *
 *     sketch_blocks.c   cuts a fragment into ring systems and the bonds between them
 *     sketch_rings.c    finds the rings of a system and sets regular polygons side by side
 *     sketch_bridged.c  places ring systems that such polygons do not make
 *     sketch_relax.c    moves points along forces: bonds, distances that are wanted, repulsion
 *     sketch_assemble.c sets systems and chains together
 *     sketch_clashes.c  turns parts around bonds until nothing lies on top of anything else
 */
#ifndef AT_EXPLAIN_SKETCH_H
#define AT_EXPLAIN_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

#include "base/arena.h"

#define AT_PI 3.14159265358979323846
#define AT_SMALL_RING 8 /* rings of up to so many atoms are drawn as regular polygons also among others */

/* A ring system: bonds of which any two lie on a common ring. */
typedef struct at_block {
    int bonds, atoms;
    int *bond; /* in the molecule */
    int *atom;
    double *x, *y; /* of the atoms, in a frame of its own */
    double *room;  /* [2 * atoms] directions in which there is room for what hangs there; 0, 0: not known */
} at_block;

/* What hangs at an atom, seen from the root: one bond, or a ring system, and all behind it. Its atoms but the
 * joint are sequence[begin .. end). */
typedef struct at_sketch_unit {
    int joint, begin, end;
    int bond;  /* -1: a ring system */
    int block; /* -1: a bond */
    int next;  /* unit at the same joint; -1: none */
    int fixed; /* a double bond whose sides are known: it is not flipped */
    double turned;
} at_sketch_unit;

typedef struct at_sketch {
    attn_context *context;
    at_arena *arena;
    int atoms, bonds;
    int *from, *to;
    int8_t *order, *direction;
    int *first, *beside, *along; /* neighbours of an atom and the bonds to them */
    double *x, *y;
    char *placed;
    double *room; /* [2 * atoms] see at_block */
    int *local;   /* [atoms] all -1 between uses */
    /* of the fragment, from its root; place is -1 outside */
    int count;
    int *sequence, *place, *end, *parent, *low;
    int blocks, units;
    at_block *block;
    at_sketch_unit *unit;
    int *unit_of; /* first unit at an atom; -1 */
} at_sketch;

/* Memory until the layout is done; NULL with the context's error set. */
void *at_sketch_take(at_sketch *sketch, int64_t count, size_t element_bytes);

/* Sequence, blocks and units of the fragment of `root`. */
attn_status at_sketch_cut(at_sketch *sketch, int root);

/* ---- ring systems ---- */

typedef struct at_rings {
    int atoms, bonds;
    const int *atom; /* in the molecule */
    int *from, *to;  /* local numbers from here on */
    int *first, *beside, *along;
    int *outside; /* bonds of an atom that leave the system */
    char *heavy;  /* more than one or two atoms hang there: they have no room inside of the system */
    int rings;    /* 0: they could not be found */
    int *ring_first, *ring_atom;
    int words;
    uint64_t *ring_bonds; /* [rings][words] sets of bonds */
    double *x, *y, *room;
} at_rings;

attn_status at_rings_place(at_sketch *sketch, at_block *block);
/* What cannot be made of regular polygons. */
attn_status at_rings_place_bridged(at_sketch *sketch, at_rings *rings);

/* ---- forces ---- */

typedef struct at_wanted {
    int a, b;
    double length, weight;
} at_wanted;

typedef struct at_relaxation {
    int points, bonds, wanted_count;
    const int *from, *to;
    const at_wanted *wanted;
    char *related; /* [points][points] bonded, or a distance is wanted: these do not repel each other */
    double *x, *y;
    double *force;       /* [2 * points] */
    double near, beside; /* distances that points, and points and bonds, keep */
    double stiffness;    /* of bonds */
    double spread;       /* strength of the repulsion over long distances */
    int steps;
    int strict; /* no step may make bonds cross: for drawings that begin without crossings */
} at_relaxation;

void at_relax(const at_relaxation *relaxation);

/* ---- geometry ---- */

double at_point_to_segment(double px, double py, double ax, double ay, double bx, double by);
int at_segments_cross(double ax, double ay, double bx, double by, double cx, double cy, double dx, double dy);

/* ---- chains and all ---- */

attn_status at_sketch_assemble(at_sketch *sketch, int root);
attn_status at_sketch_resolve(at_sketch *sketch);

#endif
