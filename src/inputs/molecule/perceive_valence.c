/* perceive_valence.c: how many hydrogens atoms have that are not written, and which valences cannot be. A
 * charged atom has the valences of the element with as many electrons: N+ those of C, O- those of F. */
#include <string.h>

#include "inputs/molecule/perceive.h"

/* The element whose valences the atom has; -1: there is none with so many electrons. */
static int effective_element(const at_atom *atom) {
    const at_element *element = &at_elements[atom->element];
    if (element->valence_count == 1 && element->valences[0] == -1) return atom->element;
    int effective = atom->element - atom->charge;
    return effective < 0 || effective >= AT_ELEMENTS ? -1 : effective;
}

static int clamped(int effective, const at_atom *atom) {
    if (effective >= 0) return effective;
    return atom->charge > 0 ? 0 : AT_ELEMENTS - 1;
}

/* P, S, As and Se with a negative charge keep the valences above an octet that Cl and Br do not have. */
static int is_hypervalent(const at_atom *atom, int effective) {
    int element = atom->element;
    return (effective > 16 && (element == 15 || element == 16)) ||
           (effective > 34 && (element == 33 || element == 34));
}

typedef struct bond_sum {
    int halves;   /* of bond orders and written hydrogens */
    int aromatic; /* the atom or one of its bonds is */
} bond_sum;

static bond_sum sum_bonds(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    bond_sum sum = {2 * atom->hydrogens, atom->aromatic_read};
    const at_link *links = molecule->links + atom->first_link;
    for (uint32_t i = 0; i < atom->degree && sum.halves < 1000; i++) {
        const at_bond *bond = &molecule->bonds[links[i].bond];
        sum.halves += at_bond_halves(bond, number);
        sum.aromatic |= bond->order == AT_ORDER_AROMATIC;
    }
    return sum;
}

/* Aromatic atoms may exceed a valence by one and a half: a fused n has 4.5, and 3 in its Kekulé form. */
static int round_sum(const at_atom *atom, bond_sum sum) {
    const at_element *row = &at_elements[clamped(effective_element(atom), atom)];
    int valence = row->valences[0], halves = sum.halves;
    if (sum.aromatic && valence >= 0 && halves > 2 * valence) {
        for (int i = 0; i < row->valence_count && row->valences[i] >= 0; i++) {
            if (2 * row->valences[i] > halves) break;
            valence = row->valences[i];
        }
        if (halves - 2 * valence <= 3) halves = 2 * valence;
    }
    return (halves + 1) / 2;
}

int at_explicit_valence(const at_molecule *molecule, uint32_t atom) {
    return round_sum(&molecule->atoms[atom], sum_bonds(molecule, atom));
}

static attn_status refuse(at_molecule *molecule, const at_atom *atom, int valence, size_t *position) {
    const at_element *element = &at_elements[atom->element];
    int effective = effective_element(atom);
    char charge[8] = "";
    if (atom->charge) {
        char *end = charge;
        int size = atom->charge < 0 ? -atom->charge : atom->charge;
        *end++ = atom->charge < 0 ? '-' : '+';
        if (size >= 10) *end++ = (char)('0' + size / 10);
        if (size > 1) *end++ = (char)('0' + size % 10);
    }
    if (effective < 0)
        return at_molecule_refuse(molecule, position, atom->position, "%s cannot have a charge of %s",
                                  element->symbol, charge);
    const at_element *row = &at_elements[is_hypervalent(atom, effective) ? atom->element : effective];
    return at_molecule_refuse(
        molecule, position, atom->position,
        "%s%s has a valence of %d (neighbours: %u, hydrogens: %d, double bonds count twice); it allows %s%d",
        element->symbol, charge, valence, (unsigned)atom->degree, atom->hydrogens,
        row->valence_count > 1 ? "up to " : "", row->valences[row->valence_count - 1]);
}

static int is_excessive(const at_atom *atom, int effective, int valence) {
    const at_element *own = &at_elements[atom->element], *row = &at_elements[effective];
    int most = row->valences[row->valence_count - 1];
    if (is_hypervalent(atom, effective)) {
        most = own->valences[own->valence_count - 1];
        valence -= atom->charge;
    }
    if (atom->element == 1 && atom->charge == -1) most = 2;
    return most >= 0 && own->valences[own->valence_count - 1] >= 0 && valence > most;
}

/* Hydrogens by valence of an atom without brackets; -1: it has too many bonds. */
static int implicit_hydrogens(const at_atom *atom, int effective, int valence, int aromatic) {
    const at_element *row = &at_elements[effective];
    if (effective == 0 || row->valences[0] == -1) return 0;
    int least = row->valences[0];
    if (is_hypervalent(atom, effective)) {
        row = &at_elements[atom->element];
        valence -= atom->charge;
    }
    if (aromatic) {
        if (valence <= least) return least - valence;
        for (int i = 0; i < row->valence_count; i++) {
            if (row->valences[i] == valence) return 0;
        }
        return -1;
    }
    for (int i = 0; i < row->valence_count && row->valences[i] >= 0; i++) {
        if (valence <= row->valences[i]) return row->valences[i] - valence;
    }
    return row->valences[row->valence_count - 1] == -1 ? 0 : -1;
}

attn_status at_perceive_valence(at_molecule *molecule, size_t *position) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        at_atom *atom = &molecule->atoms[i];
        bond_sum sum = sum_bonds(molecule, (uint32_t)i);
        int valence = round_sum(atom, sum), effective = effective_element(atom);
        if (effective < 0 || is_excessive(atom, effective, valence))
            return refuse(molecule, atom, valence, position);
        int hydrogens = 0;
        if (!atom->in_bracket && atom->element)
            hydrogens = implicit_hydrogens(atom, effective, valence, sum.aromatic);
        if (hydrogens < 0) return refuse(molecule, atom, valence, position);
        atom->hydrogens = (uint8_t)(atom->hydrogens + hydrogens);
        valence += hydrogens;
        molecule->work->valence[i] = (uint8_t)(valence < UINT8_MAX ? valence : UINT8_MAX);
    }
    return ATTN_OK;
}

int at_valence_hydrogens(const at_atom *atom, int valence) {
    int hydrogens = implicit_hydrogens(atom, clamped(effective_element(atom), atom), valence, 0);
    return hydrogens > 0 ? hydrogens : 0;
}

attn_status at_perceive_kekule_valence(at_molecule *molecule, size_t *position) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        at_atom *atom = &molecule->atoms[i];
        if (!atom->in_ring) continue;
        int open = at_bracket_is_open(atom);
        if (open || !atom->in_bracket) atom->hydrogens = open ? 0 : atom->hydrogens_read;
        int valence = sum_bonds(molecule, (uint32_t)i).halves / 2, effective = effective_element(atom);
        if (effective < 0 || is_excessive(atom, effective, valence))
            return refuse(molecule, atom, valence, position);
        if ((open || !atom->in_bracket) && atom->element)
            atom->hydrogens = (uint8_t)(atom->hydrogens + at_valence_hydrogens(atom, valence));
    }
    return ATTN_OK;
}
