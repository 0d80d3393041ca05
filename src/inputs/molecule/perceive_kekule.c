/* perceive_kekule.c: single and double bonds for what is written as aromatic.
 *
 * Atoms that need a double bond must be paired along aromatic ring bonds: a perfect matching. Neighbours are
 * paired greedily first; what is left over is paired by Edmonds' algorithm, which finds a matching wherever
 * there is one (odd rings are shrunk). An atom from which no augmenting path leads has none in any matching,
 * so the first failure is the answer. Wildcards may be paired, and need not be. */
#include <string.h>

#include "inputs/molecule/perceive.h"

enum { NOT_CANDIDATE, CANDIDATE, OPTIONAL }; /* of an atom: for a double bond */
enum { UNSEEN, OUTER, INNER };               /* of the search */

typedef struct matching {
    at_molecule *molecule;
    uint8_t *kind;
    uint32_t *mate;                                    /* AT_NONE: unpaired */
    uint32_t *parent, *base, *state, *queue, *visited; /* of the search */
    int64_t queued, steps;
    uint32_t stamp;
} matching;

/* More steps than this per atom and bond would be a puzzle, not a molecule. */
#define STEPS_LEAST 1000000
#define STEPS_EACH 200

static int is_aromatic(const at_molecule *molecule, const at_atom *atom) {
    if (atom->aromatic_read) return 1;
    for (uint32_t i = 0; i < atom->degree; i++) {
        const at_bond *bond = &molecule->bonds[molecule->links[atom->first_link + i].bond];
        if (bond->order == AT_ORDER_AROMATIC) return 1;
    }
    return 0;
}

/* An atom takes a double bond if one more bond gives it a valence that it has; in brackets also if one is
 * missing after that (it then is a radical). */
static uint8_t classify(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    const at_element *element = &at_elements[atom->element];
    if (!atom->element) return atom->in_ring ? OPTIONAL : NOT_CANDIDATE;
    if (!is_aromatic(molecule, atom)) return NOT_CANDIDATE;
    int single = 0, charge = atom->charge;
    for (uint32_t i = 0; i < atom->degree; i++) {
        const at_bond *bond = &molecule->bonds[molecule->links[atom->first_link + i].bond];
        single += bond->order == AT_ORDER_AROMATIC ? 1 : at_bond_halves(bond, number) / 2;
    }
    single += atom->hydrogens;
    if ((element->flags & AT_ELEMENT_EARLY) || (atom->element == 6 && charge > 0)) charge = -charge;
    int total = molecule->work->valence[number], valence = element->valences[0] + charge;
    for (int i = 1; total > valence && i < element->valence_count && element->valences[i] > 0; i++)
        valence = element->valences[i] + charge;
    if ((int)atom->degree + (atom->in_bracket ? 0 : atom->hydrogens) >= valence) return NOT_CANDIDATE;
    if (valence == single + 1 || (atom->in_bracket && valence == single + 2)) return CANDIDATE;
    return NOT_CANDIDATE;
}

/* Whether the bond may become double. */
static int is_open(const matching *m, const at_bond *bond) {
    if (!bond->in_ring || !m->kind[bond->from] || !m->kind[bond->to]) return 0;
    if (bond->order == AT_ORDER_AROMATIC) return 1;
    return bond->order == 1 && !bond->order_read &&
           (m->kind[bond->from] == OPTIONAL) != (m->kind[bond->to] == OPTIONAL);
}

static void pair(matching *m, uint32_t first, uint32_t second) {
    m->mate[first] = second;
    m->mate[second] = first;
}

static void pair_greedily(matching *m) {
    const at_molecule *molecule = m->molecule;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        if (!is_open(m, bond) || m->mate[bond->from] != AT_NONE || m->mate[bond->to] != AT_NONE) continue;
        if (m->kind[bond->from] == OPTIONAL || m->kind[bond->to] == OPTIONAL) continue;
        pair(m, bond->from, bond->to);
    }
}

static uint32_t find_base(matching *m, uint32_t atom) {
    while (m->base[atom] != atom) atom = m->base[atom] = m->base[m->base[atom]];
    return atom;
}

/* Where the ways back to the root meet. */
static uint32_t common_base(matching *m, uint32_t first, uint32_t second) {
    m->stamp++;
    for (;;) {
        m->steps++;
        if (first != AT_NONE) {
            first = find_base(m, first);
            if (m->visited[first] == m->stamp) return first;
            m->visited[first] = m->stamp;
            first = m->mate[first] == AT_NONE ? AT_NONE : m->parent[m->mate[first]];
        }
        uint32_t swap = first;
        first = second;
        second = swap;
    }
}

/* An odd ring shrinks into its base: all of its atoms become outer. */
static void shrink(matching *m, uint32_t from, uint32_t to, uint32_t base) {
    while (find_base(m, from) != base) {
        m->steps++;
        m->parent[from] = to;
        to = m->mate[from];
        if (m->state[to] == INNER) {
            m->state[to] = OUTER;
            m->queue[m->queued++] = to;
        }
        if (m->base[from] == from) m->base[from] = base;
        if (m->base[to] == to) m->base[to] = base;
        from = m->parent[to];
    }
}

static void augment(matching *m, uint32_t end) {
    while (end != AT_NONE) {
        uint32_t parent = m->parent[end], next = m->mate[parent];
        pair(m, end, parent);
        end = next;
    }
}

/* The atom becomes outer; a wildcard then may be left unpaired, which ends the search. */
static int make_outer(matching *m, uint32_t atom) {
    m->state[atom] = OUTER;
    m->queue[m->queued++] = atom;
    if (m->kind[atom] != OPTIONAL) return 0;
    uint32_t end = m->mate[atom];
    m->mate[atom] = AT_NONE;
    augment(m, end);
    return 1;
}

/* One open bond of an outer atom; 1: a path was found and its pairs exchanged. */
static int look_along(matching *m, uint32_t atom, uint32_t other) {
    if (find_base(m, atom) == find_base(m, other) || m->state[other] == INNER) return 0;
    if (m->state[other] == UNSEEN) {
        m->state[other] = INNER;
        m->parent[other] = atom;
        if (m->mate[other] == AT_NONE) {
            augment(m, other);
            return 1;
        }
        return make_outer(m, m->mate[other]);
    }
    uint32_t base = common_base(m, atom, other);
    int64_t queued = m->queued;
    shrink(m, atom, other, base);
    shrink(m, other, atom, base);
    for (int64_t i = queued; i < m->queued; i++) {
        if (m->kind[m->queue[i]] == OPTIONAL) {
            uint32_t end = m->mate[m->queue[i]];
            m->mate[m->queue[i]] = AT_NONE;
            augment(m, end);
            return 1;
        }
    }
    return 0;
}

static int search(matching *m, uint32_t root) {
    const at_molecule *molecule = m->molecule;
    int found = 0;
    m->queued = 0;
    m->state[root] = OUTER;
    m->queue[m->queued++] = root;
    for (int64_t i = 0; i < m->queued && !found; i++) {
        uint32_t atom = m->queue[i];
        const at_link *links = molecule->links + molecule->atoms[atom].first_link;
        for (uint32_t j = 0; j < molecule->atoms[atom].degree && !found; j++) {
            m->steps++;
            if (is_open(m, &molecule->bonds[links[j].bond])) found = look_along(m, atom, links[j].atom);
        }
    }
    return found;
}

/* Only what the search has touched: outer atoms and the inner ones beside them. */
static void forget(matching *m) {
    for (int64_t i = 0; i < m->queued; i++) {
        const at_atom *atom = &m->molecule->atoms[m->queue[i]];
        m->state[m->queue[i]] = UNSEEN;
        m->base[m->queue[i]] = m->queue[i];
        for (uint32_t j = 0; j < atom->degree; j++) {
            uint32_t other = m->molecule->links[atom->first_link + j].atom;
            m->state[other] = UNSEEN;
            m->base[other] = other;
        }
    }
}

static attn_status pair_all(matching *m, size_t *position) {
    at_molecule *molecule = m->molecule;
    pair_greedily(m);
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        m->state[i] = UNSEEN;
        m->base[i] = (uint32_t)i;
        m->visited[i] = 0;
    }
    int64_t most = STEPS_LEAST + STEPS_EACH * (molecule->atom_count + molecule->bond_count);
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        if (m->kind[i] != CANDIDATE || m->mate[i] != AT_NONE) continue;
        if (!search(m, (uint32_t)i))
            return at_molecule_refuse(
                molecule, position, molecule->atoms[i].position,
                "this aromatic ring cannot be written with alternating single and double bonds: this atom "
                "has no partner (a nitrogen may lack its H: [nH])");
        forget(m);
        if (m->steps > most)
            return at_molecule_refuse(molecule, position, molecule->atoms[i].position,
                                      "this aromatic ring system is too complex to find its double bonds");
    }
    return ATTN_OK;
}

static attn_status check_places(at_molecule *molecule, size_t *position) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        const at_atom *atom = &molecule->atoms[i];
        if (atom->aromatic_read && !atom->in_ring)
            return at_molecule_refuse(molecule, position, atom->position,
                                      "an aromatic atom (lower case) must be in a ring");
    }
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        if (bond->order_read == AT_ORDER_AROMATIC && !bond->in_ring &&
            !(molecule->atoms[bond->from].aromatic_read && molecule->atoms[bond->to].aromatic_read))
            return at_molecule_refuse(molecule, position, molecule->work->bond_position[i],
                                      "an aromatic bond (:) must be in a ring");
    }
    return ATTN_OK;
}

attn_status at_perceive_kekule(at_molecule *molecule, size_t *position) {
    struct at_smiles_work *work = molecule->work;
    matching m = {.molecule = molecule,
                  .kind = work->flags,
                  .mate = work->scratch[0],
                  .parent = work->scratch[1],
                  .base = work->scratch[2],
                  .state = work->scratch[3],
                  .queue = work->scratch[4],
                  .visited = work->scratch[5]};
    attn_status status = check_places(molecule, position);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        m.kind[i] = classify(molecule, (uint32_t)i);
        m.mate[i] = AT_NONE;
    }
    status = pair_all(&m, position);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        at_bond *bond = &molecule->bonds[i];
        int paired = is_open(&m, bond) && m.mate[bond->from] == bond->to;
        if (bond->order == AT_ORDER_AROMATIC || paired) bond->order = paired ? 2 : 1;
    }
    return at_perceive_kekule_valence(molecule, position);
}
