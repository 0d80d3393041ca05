/* perceive_rings.c: which bonds lie on rings, and the blocks: the sets of ring bonds any two of which lie on
 * a common ring. One walk in depth over the graph, without recursion (Tarjan's algorithm). */
#include <string.h>

#include "inputs/molecule/perceive.h"

typedef struct walk {
    at_molecule *molecule;
    uint32_t *order, *low; /* 1 + when an atom was reached; the earliest that its subtree reaches back to */
    uint32_t *next;        /* the link that the walk takes next */
    uint32_t *through;     /* the bond by which an atom was reached */
    uint32_t *path;        /* the atoms from the root on */
    uint32_t *stack;       /* bonds whose block is not closed */
    int64_t stacked, depth;
    uint32_t reached;
} walk;

/* The bonds down to `through` are a block; one alone is a bridge. */
static void close_block(walk *w, uint32_t through) {
    at_molecule *molecule = w->molecule;
    struct at_smiles_work *work = molecule->work;
    if (w->stack[w->stacked - 1] == through) {
        w->stacked--;
        return;
    }
    uint32_t place = work->block_first[work->blocks], bond;
    do {
        bond = w->stack[--w->stacked];
        work->block_bonds[place++] = bond;
        molecule->bonds[bond].in_ring = 1;
        molecule->atoms[molecule->bonds[bond].from].in_ring = 1;
        molecule->atoms[molecule->bonds[bond].to].in_ring = 1;
    } while (bond != through);
    work->block_first[++work->blocks] = place;
}

static void reach(walk *w, uint32_t atom, uint32_t through) {
    w->order[atom] = w->low[atom] = ++w->reached;
    w->next[atom] = 0;
    w->through[atom] = through;
    w->path[w->depth++] = atom;
}

static void leave(walk *w, uint32_t atom) {
    w->depth--;
    if (w->through[atom] == AT_NONE) return;
    uint32_t parent = w->path[w->depth - 1];
    if (w->low[atom] < w->low[parent]) w->low[parent] = w->low[atom];
    if (w->low[atom] >= w->order[parent]) close_block(w, w->through[atom]);
}

static void walk_from(walk *w, uint32_t root) {
    const at_molecule *molecule = w->molecule;
    reach(w, root, AT_NONE);
    while (w->depth) {
        uint32_t atom = w->path[w->depth - 1];
        if (w->next[atom] == molecule->atoms[atom].degree) {
            leave(w, atom);
            continue;
        }
        at_link link = molecule->links[molecule->atoms[atom].first_link + w->next[atom]++];
        if (link.bond == w->through[atom]) continue;
        if (!w->order[link.atom]) {
            w->stack[w->stacked++] = link.bond;
            reach(w, link.atom, link.bond);
        } else if (w->order[link.atom] < w->order[atom]) { /* back to the path: seen once, from below */
            w->stack[w->stacked++] = link.bond;
            if (w->order[link.atom] < w->low[atom]) w->low[atom] = w->order[link.atom];
        }
    }
}

void at_perceive_rings(at_molecule *molecule) {
    struct at_smiles_work *work = molecule->work;
    work->blocks = 0;
    work->block_first[0] = 0;
    if (!work->ring_closures) {
        molecule->fragments = molecule->atom_count - molecule->bond_count;
        return;
    }
    walk w = {.molecule = molecule,
              .order = work->scratch[0],
              .low = work->scratch[1],
              .next = work->scratch[2],
              .through = work->scratch[3],
              .path = work->scratch[4],
              .stack = work->scratch[5]};
    memset(w.order, 0, (size_t)molecule->atom_count * sizeof *w.order);
    molecule->fragments = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        if (w.order[i]) continue;
        walk_from(&w, (uint32_t)i);
        molecule->fragments++;
    }
}
