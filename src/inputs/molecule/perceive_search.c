/* perceive_search.c: the rings of a block.
 *
 * A block with as many atoms as bonds is one ring. In others, rings are the relevant ones: those that are no
 * sum of smaller rings. They are found among the shortest rings through the atoms where the block branches
 * (Horton's candidates), by elimination over GF(2), from small to large. That takes more than linear time, so
 * it is done for systems of up to RINGS_EXACT independent rings and within AT_RING_BUDGET steps a molecule;
 * in what is larger, aromaticity is looked for in rings of up to AT_LOCAL_RING_MOST atoms, each for itself,
 * in linear time. */
#include <string.h>

#include "base/memory.h"
#include "inputs/molecule/perceive_rings.h"

#define RINGS_EXACT 40
#define BONDS_EXACT 1024
#define LOCAL_ATOMS 256 /* that are looked at around an atom */

/* A block by itself: atoms and bonds have numbers of their own. */
typedef struct block {
    int atoms, bonds, rings;                       /* rings: independent ones */
    int words;                                     /* of a set of bonds */
    uint32_t atom[BONDS_EXACT], bond[BONDS_EXACT]; /* in the molecule */
    uint16_t from[BONDS_EXACT], to[BONDS_EXACT];
    uint16_t first[BONDS_EXACT + 1], next[BONDS_EXACT], beside[2 * BONDS_EXACT], along[2 * BONDS_EXACT];
    uint16_t depth[BONDS_EXACT], branch[BONDS_EXACT], parent[BONDS_EXACT], through[BONDS_EXACT];
    uint16_t queue[BONDS_EXACT];
    uint64_t *cycles, *basis; /* sets of bonds */
    uint16_t *lengths;        /* of cycles */
    uint16_t pivots[RINGS_EXACT];
    int cycle_count, rank;
    uint32_t *ring_memory; /* for the atoms and bonds of search->rings */
} block;

/* ---- the block's own numbers ---- */

static void number_atoms(block *b, const at_ring_search *search, const uint32_t *bonds) {
    uint32_t *local = search->molecule->work->scratch[0];
    uint16_t *next = b->next;
    b->atoms = 0;
    for (int i = 0; i < b->bonds; i++) {
        const at_bond *bond = &search->molecule->bonds[bonds[i]];
        uint32_t ends[2] = {bond->from, bond->to};
        for (int j = 0; j < 2; j++) {
            if (local[ends[j]] != AT_NONE) continue;
            local[ends[j]] = (uint32_t)b->atoms;
            b->atom[b->atoms++] = ends[j];
        }
        b->bond[i] = bonds[i];
        b->from[i] = (uint16_t)local[bond->from];
        b->to[i] = (uint16_t)local[bond->to];
    }
    for (int i = 0; i < b->atoms; i++) local[b->atom[i]] = AT_NONE;
    memset(b->first, 0, ((size_t)b->atoms + 1) * sizeof *b->first);
    for (int i = 0; i < b->bonds; i++) {
        b->first[b->from[i] + 1]++;
        b->first[b->to[i] + 1]++;
    }
    for (int i = 0; i < b->atoms; i++) {
        b->first[i + 1] = (uint16_t)(b->first[i + 1] + b->first[i]);
        next[i] = b->first[i];
    }
    for (int i = 0; i < b->bonds; i++) {
        b->beside[next[b->from[i]]] = b->to[i];
        b->along[next[b->from[i]]++] = (uint16_t)i;
        b->beside[next[b->to[i]]] = b->from[i];
        b->along[next[b->to[i]]++] = (uint16_t)i;
    }
}

static uint16_t root_of(uint16_t *parent, uint16_t atom) {
    while (parent[atom] != atom) atom = parent[atom] = parent[parent[atom]];
    return atom;
}

/* Whether atoms that can be aromatic form any ring: most blocks of saturated rings end here. */
static int may_be_aromatic(block *b, const at_ring_search *search) {
    for (int i = 0; i < b->atoms; i++) b->parent[i] = (uint16_t)i;
    for (int i = 0; i < b->bonds; i++) {
        if (search->donors[b->atom[b->from[i]]] == AT_DONOR_NONE ||
            search->donors[b->atom[b->to[i]]] == AT_DONOR_NONE)
            continue;
        uint16_t first = root_of(b->parent, b->from[i]), second = root_of(b->parent, b->to[i]);
        if (first == second) return 1;
        b->parent[first] = second;
    }
    return 0;
}

/* ---- candidates ---- */

static void walk_breadth(block *b, int root) {
    int queued = 0;
    memset(b->depth, 0xff, (size_t)b->atoms * sizeof *b->depth);
    b->depth[root] = 0;
    b->branch[root] = UINT16_MAX;
    b->through[root] = UINT16_MAX;
    b->queue[queued++] = (uint16_t)root;
    for (int i = 0; i < queued; i++) {
        int atom = b->queue[i];
        for (int j = b->first[atom]; j < b->first[atom + 1]; j++) {
            int other = b->beside[j];
            if (b->depth[other] != UINT16_MAX) continue;
            b->depth[other] = (uint16_t)(b->depth[atom] + 1);
            b->branch[other] = atom == root ? (uint16_t)other : b->branch[atom];
            b->parent[other] = (uint16_t)atom;
            b->through[other] = b->along[j];
            b->queue[queued++] = (uint16_t)other;
        }
    }
}

static void add_cycle(block *b, int root, int bond) {
    uint64_t *cycle = b->cycles + (size_t)b->cycle_count * (size_t)b->words;
    uint16_t ends[2] = {b->from[bond], b->to[bond]};
    memset(cycle, 0, (size_t)b->words * sizeof *cycle);
    cycle[bond / 64] |= UINT64_C(1) << bond % 64;
    for (int j = 0; j < 2; j++) {
        for (int atom = ends[j]; atom != root; atom = b->parent[atom])
            cycle[b->through[atom] / 64] |= UINT64_C(1) << b->through[atom] % 64;
    }
    uint16_t length = (uint16_t)(b->depth[ends[0]] + b->depth[ends[1]] + 1);
    for (int i = 0; i < b->cycle_count; i++) {
        if (b->lengths[i] == length &&
            !memcmp(b->cycles + (size_t)i * (size_t)b->words, cycle, (size_t)b->words * sizeof *cycle))
            return;
    }
    b->lengths[b->cycle_count++] = length;
}

static void find_cycles(block *b, at_ring_search *search) {
    b->cycle_count = 0;
    for (int root = 0; root < b->atoms; root++) {
        if (b->first[root + 1] - b->first[root] < 3) continue;
        walk_breadth(b, root);
        search->budget -= 2 * b->bonds;
        for (int i = 0; i < b->bonds; i++) {
            int from = b->from[i], to = b->to[i];
            if (b->through[from] == i || b->through[to] == i || b->branch[from] == b->branch[to]) continue;
            search->budget -= b->cycle_count / 4 + 8;
            add_cycle(b, root, i);
        }
    }
}

/* ---- elimination ---- */

/* Reduces `cycle` by the first `rank` of the basis; 0: it is their sum. */
static int reduce(const block *b, uint64_t *cycle, int rank) {
    uint64_t any = 0;
    for (int i = 0; i < rank; i++) {
        int pivot = b->pivots[i];
        if (!(cycle[pivot / 64] >> pivot % 64 & 1)) continue;
        for (int w = 0; w < b->words; w++) cycle[w] ^= b->basis[(size_t)i * (size_t)b->words + (size_t)w];
    }
    for (int w = 0; w < b->words; w++) any |= cycle[w];
    return any != 0;
}

static void add_to_basis(block *b, const uint64_t *cycle) {
    uint64_t *row = b->basis + (size_t)b->rank * (size_t)b->words;
    memcpy(row, cycle, (size_t)b->words * sizeof *row);
    if (!reduce(b, row, b->rank)) return;
    int pivot = 0;
    while (!(row[pivot / 64] >> pivot % 64 & 1)) pivot++;
    b->pivots[b->rank++] = (uint16_t)pivot;
}

/* The ring of a set of bonds goes to the search, if all of its atoms can be aromatic. */
static void keep_ring(block *b, at_ring_search *search, const uint64_t *cycle, int length) {
    const at_molecule *molecule = search->molecule;
    if (search->ring_count == AT_RINGS_MOST) return;
    at_ring *ring = &search->rings[search->ring_count];
    ring->atoms = b->ring_memory;
    ring->bonds = b->ring_memory + length;
    ring->count = 0;
    int wildcards = 0;
    for (int i = 0; i < b->bonds; i++) {
        if (!(cycle[i / 64] >> i % 64 & 1)) continue;
        uint32_t ends[2] = {b->atom[b->from[i]], b->atom[b->to[i]]};
        ring->bonds[ring->count] = b->bond[i];
        if (search->donors[ends[0]] == AT_DONOR_NONE || search->donors[ends[1]] == AT_DONOR_NONE) return;
        ring->count++;
    }
    int atoms = 0;
    uint8_t *times = search->times;
    for (int i = 0; i < length; i++) { /* each atom is at two of the bonds: taken at the second */
        const at_bond *bond = &molecule->bonds[ring->bonds[i]];
        uint32_t ends[2] = {bond->from, bond->to};
        for (int j = 0; j < 2; j++) {
            times[ends[j]] ^= 1;
            if (times[ends[j]]) continue;
            wildcards += !molecule->atoms[ends[j]].element;
            ring->atoms[atoms++] = ends[j];
        }
    }
    if (wildcards == length) return;
    b->ring_memory += 2 * length;
    search->ring_count++;
}

/* Relevant rings: those independent of all that are smaller. */
static void choose_rings(block *b, at_ring_search *search, uint64_t *spare) {
    b->rank = 0;
    search->ring_count = 0;
    for (int length = 3; b->rank < b->rings && search->budget > 0; length++) {
        int rank = b->rank, longer = 0;
        for (int i = 0; i < b->cycle_count; i++) {
            longer |= b->lengths[i] > length;
            if (b->lengths[i] != length) continue;
            const uint64_t *cycle = b->cycles + (size_t)i * (size_t)b->words;
            memcpy(spare, cycle, (size_t)b->words * sizeof *spare);
            search->budget -= (b->rank + 1) * b->words;
            if (!reduce(b, spare, rank)) continue;
            keep_ring(b, search, cycle, length);
            if (b->rank < b->rings) add_to_basis(b, cycle);
        }
        if (!longer) break;
    }
}

/* ---- blocks ---- */

/* One ring: all of its atoms and bonds. */
static void search_ring(at_ring_search *search, const uint32_t *bonds, int64_t count) {
    const at_molecule *molecule = search->molecule;
    uint32_t *atoms = molecule->work->scratch[2];
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        const at_bond *bond = &molecule->bonds[bonds[i]];
        if (search->donors[bond->from] == AT_DONOR_NONE || search->donors[bond->to] == AT_DONOR_NONE) return;
    }
    for (int64_t i = 0; i < count; i++) {
        const at_bond *bond = &molecule->bonds[bonds[i]];
        uint32_t ends[2] = {bond->from, bond->to};
        for (int j = 0; j < 2; j++) {
            search->times[ends[j]] ^= 1;
            if (!search->times[ends[j]]) atoms[found++] = ends[j];
        }
    }
    at_aromatic_ring(search, atoms, bonds, count);
}

/* Memory for the block, its cycles and its rings. */
static attn_status make_block(at_ring_search *search, int bonds, int rings, block **made, uint64_t **spare) {
    struct at_smiles_work *work = search->molecule->work;
    size_t words = ((size_t)bonds + 63) / 64, head = (sizeof(block) + 7) / 8;
    size_t most = 2 * (size_t)rings * (size_t)rings + 1;
    size_t needed =
        head + words * (most + (size_t)rings + 2) + most / 4 + 1 + (size_t)bonds * AT_RINGS_MOST + 2;
    attn_status status = at_grow(search->context, &work->ring_memory, &work->ring_room, (int64_t)needed,
                                 sizeof(uint64_t), "the rings of a molecule");
    if (status != ATTN_OK) return status;
    block *b = (block *)(void *)work->ring_memory;
    b->bonds = bonds;
    b->rings = rings;
    b->words = (int)words;
    b->cycles = work->ring_memory + head;
    b->basis = b->cycles + words * most;
    *spare = b->basis + words * ((size_t)rings + 1);
    b->lengths = (uint16_t *)(void *)(*spare + words);
    b->ring_memory = (uint32_t *)(void *)(*spare + words + most / 4 + 1);
    *made = b;
    return ATTN_OK;
}

/* ---- large systems ---- */

typedef struct surroundings {
    uint32_t atoms[LOCAL_ATOMS], through[LOCAL_ATOMS];
    int parent[LOCAL_ATOMS], branch[LOCAL_ATOMS], depth[LOCAL_ATOMS];
    int count;
} surroundings;

/* The ring of two atoms around the root that are bonded, if the root is the first of its atoms. */
static void try_local_ring(at_ring_search *search, const surroundings *s, int first, int second,
                           uint32_t bond) {
    uint32_t atoms[AT_LOCAL_RING_MOST], bonds[AT_LOCAL_RING_MOST];
    int ends[2] = {first, second}, count = 0;
    for (int j = 0; j < 2; j++) {
        for (int i = ends[j]; i; i = s->parent[i]) {
            if (s->atoms[i] < s->atoms[0]) return;
            atoms[count] = s->atoms[i];
            bonds[count++] = s->through[i];
        }
    }
    atoms[count] = s->atoms[0];
    bonds[count++] = bond;
    at_aromatic_ring(search, atoms, bonds, count);
}

static void look_around(at_ring_search *search, uint32_t root, surroundings *s) {
    const at_molecule *molecule = search->molecule;
    uint32_t *local = molecule->work->scratch[0];
    s->count = 1;
    s->atoms[0] = root;
    s->depth[0] = s->parent[0] = s->branch[0] = 0;
    s->through[0] = AT_NONE;
    local[root] = 0;
    for (int i = 0; i < s->count; i++) {
        const at_atom *atom = &molecule->atoms[s->atoms[i]];
        uint32_t degree = atom->degree < LOCAL_ATOMS ? atom->degree : LOCAL_ATOMS;
        for (uint32_t j = 0; j < degree; j++) {
            at_link link = molecule->links[atom->first_link + j];
            if (!molecule->bonds[link.bond].in_ring || search->donors[link.atom] == AT_DONOR_NONE) continue;
            int other = local[link.atom] == AT_NONE ? -1 : (int)local[link.atom];
            if (other >= 0) {
                if (other < i && link.bond != s->through[i] && s->branch[other] != s->branch[i] &&
                    s->depth[i] + s->depth[other] < AT_LOCAL_RING_MOST)
                    try_local_ring(search, s, i, other, link.bond);
            } else if (s->count < LOCAL_ATOMS && s->depth[i] < AT_LOCAL_RING_MOST / 2) {
                other = s->count++;
                local[link.atom] = (uint32_t)other;
                s->atoms[other] = link.atom;
                s->through[other] = link.bond;
                s->parent[other] = i;
                s->depth[other] = s->depth[i] + 1;
                s->branch[other] = i ? s->branch[i] : other;
            }
        }
    }
    for (int i = 0; i < s->count; i++) local[s->atoms[i]] = AT_NONE;
}

static void search_locally(at_ring_search *search, const uint32_t *bonds, int64_t count) {
    const at_molecule *molecule = search->molecule;
    uint32_t *done = molecule->work->scratch[1]; /* all 0, and left so */
    surroundings s;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < 2 * count; i++) {
            const at_bond *bond = &molecule->bonds[bonds[i / 2]];
            uint32_t atom = i % 2 ? bond->to : bond->from;
            if (pass == 0 && !done[atom] && search->donors[atom] != AT_DONOR_NONE)
                look_around(search, atom, &s);
            done[atom] = pass == 0;
        }
    }
}

static int64_t count_atoms(const at_ring_search *search, const uint32_t *bonds, int64_t count) {
    uint8_t *times = search->times;
    int64_t atoms = 0;
    for (int64_t i = 0; i < count; i++) {
        const at_bond *bond = &search->molecule->bonds[bonds[i]];
        atoms += !times[bond->from];
        times[bond->from] = 1;
        atoms += !times[bond->to];
        times[bond->to] = 1;
    }
    for (int64_t i = 0; i < count; i++) {
        const at_bond *bond = &search->molecule->bonds[bonds[i]];
        times[bond->from] = times[bond->to] = 0;
    }
    return atoms;
}

attn_status at_search_block(at_ring_search *search, const uint32_t *bonds, int64_t count) {
    int64_t rings = count - count_atoms(search, bonds, count) + 1;
    if (rings == 1) {
        search_ring(search, bonds, count);
        return ATTN_OK;
    }
    if (rings > RINGS_EXACT || count > BONDS_EXACT || search->budget <= 0) {
        search_locally(search, bonds, count);
        return ATTN_OK;
    }
    block *b;
    uint64_t *spare;
    attn_status status = make_block(search, (int)count, (int)rings, &b, &spare);
    if (status != ATTN_OK) return status;
    number_atoms(b, search, bonds);
    if (!may_be_aromatic(b, search)) return ATTN_OK;
    find_cycles(b, search);
    choose_rings(b, search, spare);
    at_aromatic_rings(search);
    return ATTN_OK;
}
