/* sketch_blocks.c: a fragment as a tree of units.
 *
 * One depth-first search from the root (Hopcroft and Tarjan) finds the blocks: ring systems, and bonds that
 * lie on no ring. Atoms are numbered in the order of the search, so that all that hangs at an atom behind a
 * bond or a ring system is a range of numbers, which can be turned as a whole. */
#include "explain/sketch.h"

typedef struct search {
    at_sketch *sketch;
    int *next; /* of an atom: the neighbour that is looked at next */
    int *stack, depth;
    int *edges, edge_count; /* bonds that wait for their block */
} search;

static void enter(search *s, int atom, int parent) {
    at_sketch *sketch = s->sketch;
    sketch->place[atom] = sketch->low[atom] = sketch->count;
    sketch->sequence[sketch->count++] = atom;
    sketch->parent[atom] = parent;
    s->next[atom] = sketch->first[atom];
    s->stack[s->depth++] = atom;
}

static attn_status add_block(search *s, int begin, int number) {
    at_sketch *sketch = s->sketch;
    at_block *block = &sketch->block[number];
    block->bonds = s->edge_count - begin;
    block->bond = at_sketch_take(sketch, block->bonds, sizeof *block->bond);
    block->atom = at_sketch_take(sketch, block->bonds, sizeof *block->atom);
    if (!block->bond || !block->atom) return ATTN_OUT_OF_MEMORY;
    block->atoms = 0;
    for (int i = 0; i < block->bonds; i++) {
        int bond = block->bond[i] = s->edges[begin + i], ends[2] = {sketch->from[bond], sketch->to[bond]};
        for (int j = 0; j < 2; j++) {
            if (sketch->local[ends[j]] >= 0) continue;
            sketch->local[ends[j]] = block->atoms;
            block->atom[block->atoms++] = ends[j];
        }
    }
    for (int i = 0; i < block->atoms; i++) sketch->local[block->atom[i]] = -1;
    return ATTN_OK;
}

/* All below `child` is known: if nothing of it leads past `joint`, it is a unit there. */
static attn_status close_unit(search *s, int joint, int child, int bond) {
    at_sketch *sketch = s->sketch;
    if (sketch->low[child] < sketch->place[joint]) return ATTN_OK;
    at_sketch_unit *unit = &sketch->unit[sketch->units];
    *unit =
        (at_sketch_unit){.joint = joint, .begin = sketch->place[child], .end = sketch->count, .bond = bond};
    unit->block = -1;
    unit->next = sketch->unit_of[joint];
    sketch->unit_of[joint] = sketch->units++;
    int begin = s->edge_count;
    while (s->edges[--begin] != bond) {
    }
    attn_status status = ATTN_OK;
    if (s->edge_count - begin > 1) {
        unit->bond = -1;
        unit->block = sketch->blocks;
        status = add_block(s, begin, sketch->blocks++);
    }
    s->edge_count = begin;
    return status;
}

/* Looks along the next bond of the atom on top of the stack, or leaves it. */
static attn_status advance(search *s, int *came) {
    at_sketch *sketch = s->sketch;
    int atom = s->stack[s->depth - 1];
    if (s->next[atom] < sketch->first[atom + 1]) {
        int link = s->next[atom]++, other = sketch->beside[link], bond = sketch->along[link];
        if (bond == came[atom]) return ATTN_OK;
        if (sketch->place[other] < 0) {
            s->edges[s->edge_count++] = bond;
            came[other] = bond;
            enter(s, other, atom);
        } else if (sketch->place[other] < sketch->place[atom]) {
            s->edges[s->edge_count++] = bond;
            if (sketch->place[other] < sketch->low[atom]) sketch->low[atom] = sketch->place[other];
        }
        return ATTN_OK;
    }
    s->depth--;
    sketch->end[atom] = sketch->count;
    int parent = sketch->parent[atom];
    if (parent < 0) return ATTN_OK;
    if (sketch->low[atom] < sketch->low[parent]) sketch->low[parent] = sketch->low[atom];
    return close_unit(s, parent, atom, came[atom]);
}

attn_status at_sketch_cut(at_sketch *sketch, int root) {
    search s = {.sketch = sketch};
    for (int i = 0; i < sketch->count; i++) { /* what an earlier cut of this fragment left */
        sketch->place[sketch->sequence[i]] = -1;
        sketch->unit_of[sketch->sequence[i]] = -1;
    }
    sketch->count = sketch->blocks = sketch->units = 0;
    s.next = at_sketch_take(sketch, sketch->atoms, sizeof *s.next);
    s.stack = at_sketch_take(sketch, sketch->atoms, sizeof *s.stack);
    s.edges = at_sketch_take(sketch, sketch->bonds, sizeof *s.edges);
    int *came = at_sketch_take(sketch, sketch->atoms, sizeof *came);
    if (!s.next || !s.stack || !s.edges || !came) return ATTN_OUT_OF_MEMORY;
    came[root] = -1;
    enter(&s, root, -1);
    attn_status status = ATTN_OK;
    while (s.depth && status == ATTN_OK) status = advance(&s, came);
    return status;
}
