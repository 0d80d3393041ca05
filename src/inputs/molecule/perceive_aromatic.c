/* perceive_aromatic.c: which rings are aromatic, by the model of RDKit.
 *
 * Every ring atom gives a number of electrons (or a range of numbers, for wildcards) to the pi system, or
 * takes part in none. A ring of such atoms with 4n + 2 electrons is aromatic; so is a set of up to 6 rings
 * that are fused along single bonds, whose outline then is aromatic (azulene). */
#include <string.h>

#include "base/memory.h"
#include "inputs/molecule/perceive_rings.h"

/* ---- electrons ---- */

int at_pi_electrons(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    int valence = at_default_valence(atom->element);
    if (valence <= 1) return -1;
    uint32_t degree = atom->degree + atom->hydrogens;
    int sum = atom->hydrogens;
    if (degree > 3 && !molecule->work->metals) return -1;
    for (uint32_t i = 0; i < atom->degree && sum < 100; i++) {
        int halves = at_bond_halves(&molecule->bonds[molecule->links[atom->first_link + i].bond], number);
        if (!halves) degree--;
        sum += halves / 2;
    }
    if (degree > 3) return -1;
    int pairs = at_elements[atom->element].outer - valence - atom->charge;
    int electrons = valence - (int)degree + (pairs > 0 ? pairs : 0) - atom->radicals;
    /* A triple bond gives one electron only. */
    if (electrons > 1 && sum - (int)degree > 1) return 1;
    return electrons;
}

static int is_more_electronegative(int first, int second) {
    int first_outer = at_elements[first].outer, second_outer = at_elements[second].outer;
    return first_outer > second_outer || (first_outer == second_outer && first < second);
}

typedef struct multiple_bonds {
    int inside, outside, count; /* in rings and not */
    uint32_t partner;           /* of the first one outside */
} multiple_bonds;

static multiple_bonds find_multiple(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    multiple_bonds found = {0, 0, 0, AT_NONE};
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_link link = molecule->links[atom->first_link + i];
        if (molecule->bonds[link.bond].order < 2) continue;
        found.count += molecule->bonds[link.bond].order < 4;
        if (molecule->bonds[link.bond].in_ring)
            found.inside = 1;
        else if (!found.outside++)
            found.partner = link.atom;
    }
    return found;
}

/* Atoms that the rule leaves out although they have electrons to give. */
static int is_barred(const at_molecule *molecule, uint32_t number, int multiple) {
    const at_atom *atom = &molecule->atoms[number];
    int element = atom->element, sum = atom->hydrogens;
    if (element > 18 && element != 34 && element != 52) return 1;
    for (uint32_t i = 0; i < atom->degree && sum < 100; i++) {
        const at_bond *bond = &molecule->bonds[molecule->links[atom->first_link + i].bond];
        sum += at_bond_halves(bond, number) / 2;
    }
    int effective = element - atom->charge;
    if (effective < 0) effective = 0;
    if (effective >= AT_ELEMENTS) effective = AT_ELEMENTS - 1;
    if (at_default_valence(element) > 0 && sum > at_default_valence(effective)) return 1;
    if (atom->radicals && (element != 6 || atom->charge)) return 1;
    return multiple > 1;
}

/* How many electrons the atom gives: AT_DONOR_NONE, 0, 1, 2, or AT_DONOR_ANY. */
static uint8_t find_donor(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    multiple_bonds multiple = find_multiple(molecule, number);
    if (!atom->element) return multiple.inside ? 1 : AT_DONOR_ANY;
    int electrons = at_pi_electrons(molecule, number);
    if (electrons < 0 || is_barred(molecule, number, multiple.count)) return AT_DONOR_NONE;
    int stolen =
        multiple.outside && is_more_electronegative(molecule->atoms[multiple.partner].element, atom->element);
    if (electrons == 0) {
        if (multiple.outside) return 0;
        return multiple.inside ? 1 : AT_DONOR_NONE;
    }
    if (electrons == 1) {
        if (multiple.outside) return stolen ? 0 : 1;
        if (multiple.inside) return 1;
        return atom->charge == 1 ? 0 : AT_DONOR_NONE; /* tropylium */
    }
    return (electrons - stolen) % 2 ? 1 : 2;
}

/* ---- Hückel's rule ---- */

static int is_huckel(int least, int most) {
    if (most < 6) return most == 2;
    for (int electrons = least; electrons <= most; electrons++) {
        if ((electrons - 2) % 4 == 0) return 1;
    }
    return 0;
}

static int is_aromatic_ring(const at_ring_search *search, const uint32_t *atoms, int64_t count) {
    int least = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        uint8_t donor = search->donors[atoms[i]];
        least += donor == AT_DONOR_ANY ? 1 : donor;
        most += donor == AT_DONOR_ANY ? 2 : donor;
    }
    return is_huckel(least, most);
}

void at_aromatic_ring(at_ring_search *search, const uint32_t *atoms, const uint32_t *bonds, int64_t count) {
    at_molecule *molecule = search->molecule;
    int wildcards = 0;
    for (int64_t i = 0; i < count; i++) {
        if (search->donors[atoms[i]] == AT_DONOR_NONE) return;
        wildcards += !molecule->atoms[atoms[i]].element;
    }
    if (wildcards == count || !is_aromatic_ring(search, atoms, count)) return;
    for (int64_t i = 0; i < count; i++) {
        molecule->atoms[atoms[i]].aromatic = 1;
        molecule->bonds[bonds[i]].aromatic = 1;
    }
}

/* The atoms of one or two rings of the set, as atoms in more are inside and count no electrons. */
static void try_set(at_ring_search *search, const uint8_t *members, int size) {
    at_molecule *molecule = search->molecule;
    int least = 0, most = 0;
    for (int i = 0; i < size; i++) {
        const at_ring *ring = &search->rings[members[i]];
        for (int j = 0; j < ring->count; j++) search->times[ring->atoms[j]]++;
    }
    for (int i = 0; i < size; i++) {
        const at_ring *ring = &search->rings[members[i]];
        for (int j = 0; j < ring->count; j++) {
            uint8_t times = search->times[ring->atoms[j]], donor = search->donors[ring->atoms[j]];
            search->times[ring->atoms[j]] = 0;
            if (times != 1 && times != 2) continue;
            least += donor == AT_DONOR_ANY ? 1 : donor;
            most += donor == AT_DONOR_ANY ? 2 : donor;
        }
    }
    if (!is_huckel(least, most)) return;
    for (int i = 0; i < size; i++) {
        const at_ring *ring = &search->rings[members[i]];
        for (int j = 0; j < ring->count; j++) {
            molecule->atoms[ring->atoms[j]].aromatic = 1;
            search->times[ring->bonds[j]]++;
        }
    }
    for (int i = 0; i < size; i++) {
        const at_ring *ring = &search->rings[members[i]];
        for (int j = 0; j < ring->count; j++) {
            if (search->times[ring->bonds[j]] == 1) molecule->bonds[ring->bonds[j]].aromatic = 1;
        }
    }
    for (int i = 0; i < size; i++) {
        const at_ring *ring = &search->rings[members[i]];
        for (int j = 0; j < ring->count; j++) search->times[ring->bonds[j]] = 0;
    }
}

/* ---- sets of fused rings ---- */

static int all_aromatic(const at_ring_search *search, uint64_t system) {
    for (uint64_t rest = system; rest; rest &= rest - 1) {
        const at_ring *ring = &search->rings[__builtin_ctzll(rest)];
        for (int j = 0; j < ring->count; j++) {
            if (!search->molecule->bonds[ring->bonds[j]].aromatic) return 0;
        }
    }
    return 1;
}

/* Every connected set of `size` rings whose first is `first`, each once (the ESU enumeration, with a stack).
 */
static void try_sets_from(at_ring_search *search, int first, int size) {
    struct {
        uint64_t extension, reached; /* rings that may join; rings in the set or beside it */
    } levels[AT_FUSED_MOST];
    uint8_t members[AT_FUSED_MOST];
    uint64_t later = first == 63 ? 0 : ~UINT64_C(0) << (first + 1);
    int depth = 0;
    members[0] = (uint8_t)first;
    levels[0].extension = search->beside[first] & later;
    levels[0].reached = search->beside[first] | UINT64_C(1) << first;
    while (depth >= 0 && search->budget > 0) {
        if (depth == size - 1) {
            search->budget -= 16 * size;
            try_set(search, members, size);
            depth--;
            continue;
        }
        if (!levels[depth].extension) {
            depth--;
            continue;
        }
        int ring = __builtin_ctzll(levels[depth].extension);
        levels[depth].extension &= levels[depth].extension - 1;
        levels[depth + 1].extension =
            levels[depth].extension | (search->beside[ring] & later & ~levels[depth].reached);
        levels[depth + 1].reached = levels[depth].reached | search->beside[ring];
        members[++depth] = (uint8_t)ring;
    }
}

static void try_system(at_ring_search *search, uint64_t system) {
    int rings = __builtin_popcountll(system), most = rings < AT_FUSED_MOST ? rings : AT_FUSED_MOST;
    for (int size = 1; size <= most && !all_aromatic(search, system); size++) {
        for (uint64_t rest = system; rest; rest &= rest - 1)
            try_sets_from(search, __builtin_ctzll(rest), size);
    }
}

static int count_common(const at_ring *second, const uint8_t *of_first) {
    int common = 0;
    for (int j = 0; j < second->count; j++) common += of_first[second->bonds[j]];
    return common;
}

/* Rings of candidates: those that share exactly one bond are fused, and systems of them are tried. */
void at_aromatic_rings(at_ring_search *search) {
    int count = search->ring_count;
    memset(search->beside, 0, sizeof search->beside);
    for (int i = 0; i + 1 < count; i++) {
        const at_ring *ring = &search->rings[i];
        if (ring->count > AT_FUSED_RING_MOST) continue;
        for (int k = 0; k < ring->count; k++) search->times[ring->bonds[k]] = 1;
        for (int j = i + 1; j < count; j++) {
            if (search->rings[j].count > AT_FUSED_RING_MOST ||
                count_common(&search->rings[j], search->times) != 1)
                continue;
            search->beside[i] |= UINT64_C(1) << j;
            search->beside[j] |= UINT64_C(1) << i;
        }
        for (int k = 0; k < ring->count; k++) search->times[ring->bonds[k]] = 0;
    }
    uint64_t left = count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
    while (left) {
        uint64_t system = left & (~left + 1), grown = 0;
        while (system != grown) {
            grown = system;
            for (uint64_t rest = grown; rest; rest &= rest - 1)
                system |= search->beside[__builtin_ctzll(rest)];
        }
        try_system(search, system);
        left &= ~system;
    }
}

attn_status at_perceive_aromatic(attn_context *context, at_molecule *molecule) {
    struct at_smiles_work *work = molecule->work;
    if (!work->blocks) return ATTN_OK;
    at_ring_search search = {.context = context,
                             .molecule = molecule,
                             .donors = work->flags,
                             .times = work->times,
                             .budget = AT_RING_BUDGET};
    memset(work->scratch[0], 0xff, (size_t)molecule->atom_count * sizeof(uint32_t));
    memset(work->scratch[1], 0, (size_t)molecule->atom_count * sizeof(uint32_t));
    for (int64_t i = 0; i < molecule->atom_count; i++)
        search.donors[i] = molecule->atoms[i].in_ring ? find_donor(molecule, (uint32_t)i) : AT_DONOR_NONE;
    for (int64_t i = 0; i < work->blocks; i++) {
        attn_status status = at_search_block(&search, work->block_bonds + work->block_first[i],
                                             work->block_first[i + 1] - work->block_first[i]);
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}
