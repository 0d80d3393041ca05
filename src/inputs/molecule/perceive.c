/* perceive.c: what is written in several ways is brought into one: hydrogens as atoms, groups with and
 * without charges, bonds to metals. Afterwards: radicals, conjugation, hybridization, cis and trans. */
#include "inputs/molecule/perceive.h"

/* ---- hydrogens as atoms ---- */

/* Those that stay are the hydrogens that say something as atoms: alone, isotopes, hydrides, between two
 * atoms, at a wildcard or another hydrogen, at a centre that is not tetrahedral, or marking cis and trans
 * alone. */
static int is_removable(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    if (atom->element != 1 || atom->degree != 1 || atom->isotope || atom->charge == -1) return 0;
    at_link link = molecule->links[atom->first_link];
    const at_atom *neighbour = &molecule->atoms[link.atom];
    if (neighbour->element <= 1 || neighbour->hydrogens == UINT8_MAX) return 0;
    if (neighbour->chirality >= AT_CHIRAL_SP) return 0;
    if (!molecule->bonds[link.bond].direction || neighbour->degree > 2) return 1;
    for (uint32_t i = 0; i < neighbour->degree; i++) {
        const at_bond *bond = &molecule->bonds[molecule->links[neighbour->first_link + i].bond];
        if (bond->order == 2) return 0;
    }
    return 1;
}

void at_perceive_hydrogens(at_molecule *molecule) {
    at_atom *atoms = molecule->atoms;
    at_bond *bonds = molecule->bonds;
    uint32_t *number = molecule->work->scratch[1], kept = 0; /* the new numbers; AT_NONE: gone */
    int64_t bond_count = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        if (is_removable(molecule, (uint32_t)i)) {
            number[i] = AT_NONE;
            at_atom *neighbour = &atoms[molecule->links[atoms[i].first_link].atom];
            neighbour->hydrogens++;
            neighbour->hydrogens_read++;
        } else {
            number[i] = kept++;
        }
    }
    if (kept == molecule->atom_count) return;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        at_bond bond = bonds[i];
        if (number[bond.from] == AT_NONE || number[bond.to] == AT_NONE) continue;
        bond.from = number[bond.from];
        bond.to = number[bond.to];
        molecule->work->bond_position[bond_count] = molecule->work->bond_position[i];
        bonds[bond_count++] = bond;
    }
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        if (number[i] != AT_NONE) atoms[number[i]] = atoms[i];
    }
    molecule->atom_count = kept;
    molecule->bond_count = bond_count;
    at_molecule_link(molecule);
}

/* ---- groups ---- */

/* The first bond of that order to a neutral neighbour of that element; NULL: there is none. */
static at_bond *find_bond(const at_molecule *molecule, uint32_t number, int element, int order,
                          uint32_t *neighbour) {
    const at_atom *atom = &molecule->atoms[number];
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_link link = molecule->links[atom->first_link + i];
        const at_atom *other = &molecule->atoms[link.atom];
        if (other->element != element || other->charge || molecule->bonds[link.bond].order != order) continue;
        *neighbour = link.atom;
        return &molecule->bonds[link.bond];
    }
    return NULL;
}

static void separate(at_molecule *molecule, uint32_t positive, uint32_t negative, at_bond *bond) {
    bond->order--;
    molecule->atoms[positive].charge = 1;
    molecule->atoms[negative].charge = -1;
}

/* N(=O)=O is [N+](=O)[O-], and N=N#N is N=[N+]=[N-]. */
static void normalize_nitrogens(at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        uint32_t number = (uint32_t)i, neighbour;
        const at_atom *atom = &molecule->atoms[i];
        if (atom->element != 7 || atom->charge || at_explicit_valence(molecule, number) != 5) continue;
        at_bond *bond = find_bond(molecule, number, 8, 2, &neighbour);
        if (bond) separate(molecule, number, neighbour, bond);
        bond = find_bond(molecule, number, 7, 3, &neighbour);
        if (bond) separate(molecule, number, neighbour, bond);
    }
}

/* C=P(=O)C is C=[P+]([O-])C, if the carbon (or nitrogen) has other neighbours too. */
static void normalize_phosphorus(at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    uint32_t oxygen = AT_NONE;
    at_bond *bond = NULL;
    int other_double = 0;
    if (atom->charge || atom->degree != 3 || at_explicit_valence(molecule, number) != 5) return;
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_link link = molecule->links[atom->first_link + i];
        const at_atom *other = &molecule->atoms[link.atom];
        if (molecule->bonds[link.bond].order != 2) continue;
        if (other->element == 8 && !other->charge) {
            oxygen = link.atom;
            bond = &molecule->bonds[link.bond];
        } else if ((other->element == 6 || other->element == 7) && other->degree >= 2) {
            other_double = 1;
        }
    }
    if (bond && other_double) separate(molecule, number, oxygen, bond);
}

/* OCl(=O)(=O)=O is O[Cl+3]([O-])([O-])[O-]: halogens among oxygens alone. */
static void normalize_halogen(at_molecule *molecule, uint32_t number) {
    at_atom *atom = &molecule->atoms[number];
    int valence = at_explicit_valence(molecule, number);
    if (atom->charge || (valence != 3 && valence != 5 && valence != 7)) return;
    for (uint32_t i = 0; i < atom->degree; i++) {
        if (molecule->atoms[molecule->links[atom->first_link + i].atom].element != 8) return;
    }
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_link link = molecule->links[atom->first_link + i];
        if (molecule->bonds[link.bond].order != 2) continue;
        molecule->bonds[link.bond].order = 1;
        molecule->atoms[link.atom].charge = -1;
        atom->charge++;
    }
}

static int is_metal(int element) { return at_elements[element].flags & AT_ELEMENT_METAL; }

/* A non-metal with more bonds than it allows; an aromatic carbon with four neighbours counts, as in
 * cyclopentadienyl. */
static int is_overfull(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    int element = atom->element;
    if (is_metal(element) || element <= 2 || element == 9 || element == 10) return 0;
    int effective = element - atom->charge;
    if (effective <= 0 || effective >= AT_ELEMENTS) return 0;
    const at_element *row = &at_elements[effective];
    int most = row->valences[row->valence_count - 1], valence = at_explicit_valence(molecule, number);
    if (most <= 0) return 0;
    return valence > most || (valence == most && atom->aromatic_read && atom->degree + atom->hydrogens == 4);
}

/* Its bond to the metal with the fewest dative ones becomes dative. */
static void normalize_metal_bond(at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    at_bond *best = NULL;
    uint32_t fewest = UINT32_MAX;
    if (!is_overfull(molecule, number)) return;
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_link link = molecule->links[atom->first_link + i];
        const at_atom *metal = &molecule->atoms[link.atom];
        at_bond *bond = &molecule->bonds[link.bond];
        if (!is_metal(metal->element) || bond->order != 1 || bond->dative) continue;
        uint32_t datives = 0;
        for (uint32_t j = 0; j < metal->degree && datives < fewest; j++)
            datives += molecule->bonds[molecule->links[metal->first_link + j].bond].dative != 0;
        if (datives >= fewest) continue;
        fewest = datives;
        best = bond;
    }
    if (best) best->dative = best->from == number ? 1 : 2;
}

void at_perceive_groups(at_molecule *molecule) {
    normalize_nitrogens(molecule);
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        int element = molecule->atoms[i].element;
        if (element == 15) normalize_phosphorus(molecule, (uint32_t)i);
        if (element == 17 || element == 35 || element == 53) normalize_halogen(molecule, (uint32_t)i);
    }
    if (!molecule->work->metals) return;
    for (int64_t i = 0; i < molecule->atom_count; i++) normalize_metal_bond(molecule, (uint32_t)i);
}

/* ---- radicals ---- */

static int count_radicals(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    const at_element *element = &at_elements[atom->element];
    int outer = element->outer, charge = atom->charge, halves = 2 * atom->hydrogens;
    if (element->valence_count == 1 && element->valences[0] == -1) {
        if (atom->degree) return 0;
        return outer > charge ? (outer - charge) % 2 : 0;
    }
    for (uint32_t i = 0; i < atom->degree; i++)
        halves += at_bond_halves(&molecule->bonds[molecule->links[atom->first_link + i].bond], number);
    int valence = halves / 2, full = atom->element <= 2 ? 2 : 8;
    int radicals = full - outer - valence + charge;
    if (radicals < 0) {
        radicals = 0;
        for (int i = 0; element->valence_count > 1 && i < element->valence_count; i++) {
            if (element->valences[i] - valence + charge < 0) continue;
            radicals = element->valences[i] - valence + charge;
            break;
        }
    }
    int early = outer - valence - charge;
    return early >= 0 && early < radicals ? early : radicals;
}

/* Only brackets leave valence open; those whose hydrogen was counted by valence have none. */
void at_perceive_radicals(at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        at_atom *atom = &molecule->atoms[i];
        if (!atom->in_bracket || !atom->element || at_bracket_is_open(atom)) continue;
        int radicals = count_radicals(molecule, (uint32_t)i);
        atom->radicals = (uint8_t)(radicals < UINT8_MAX ? radicals : UINT8_MAX);
    }
}

/* ---- conjugation and hybridization ---- */

static int total_degree(const at_atom *atom) {
    uint32_t degree = atom->degree + atom->hydrogens;
    return degree < 100 ? (int)degree : 100;
}

static int may_conjugate(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    int outer = at_elements[atom->element].outer, degree = total_degree(atom);
    if (degree > 3) return 0;
    if (atom->element > 10 && (outer == 5 || (outer == 6 && degree >= 2))) return 0;
    return at_pi_electrons(molecule, number) > 0;
}

static void mark_conjugated(at_molecule *molecule, uint32_t number, const uint8_t *may) {
    const at_atom *atom = &molecule->atoms[number];
    if (!may[number] || total_degree(atom) < 2) return;
    const at_link *links = molecule->links + atom->first_link;
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_bond *first = &molecule->bonds[links[i].bond];
        if (!may[links[i].atom] || (at_bond_halves(first, number) < 3 && !first->aromatic)) continue;
        for (uint32_t j = 0; j < atom->degree; j++) {
            if (i == j || !may[links[j].atom]) continue;
            first->conjugated = molecule->bonds[links[j].bond].conjugated = 1;
        }
    }
}

static int count_orbitals(const at_molecule *molecule, uint32_t number, int degree) {
    const at_atom *atom = &molecule->atoms[number];
    int valence = atom->hydrogens, conjugated = 0;
    for (uint32_t i = 0; i < atom->degree; i++) {
        const at_bond *bond = &molecule->bonds[molecule->links[atom->first_link + i].bond];
        int halves = at_bond_halves(bond, number);
        valence += halves / 2;
        degree -= halves == 0;
        conjugated |= bond->conjugated;
    }
    if (atom->element > 1 && atom->element < 89) {
        int outer = at_elements[atom->element].outer, free = outer - valence - atom->charge;
        if (valence + outer - atom->charge < 8)
            degree += (free - atom->radicals) / 2 + atom->radicals;
        else
            degree += free / 2;
    }
    return degree == 4 && conjugated && total_degree(atom) <= 3 ? 3 : degree;
}

static uint8_t hybridization(const at_molecule *molecule, uint32_t number) {
    const at_atom *atom = &molecule->atoms[number];
    int degree = total_degree(atom);
    if (!atom->element) return 0;
    if (atom->chirality && atom->chirality <= AT_CHIRAL_TH && degree == 4) return 3;
    if (atom->chirality >= AT_CHIRAL_SP && degree >= 2 && degree <= 6) return 4;
    int orbitals = count_orbitals(molecule, number, degree);
    if (orbitals < 2 || orbitals > 6) return 0;
    return (uint8_t)(orbitals > 4 ? 4 : orbitals - 1);
}

void at_perceive_conjugation(at_molecule *molecule) {
    uint8_t *may = molecule->work->flags;
    for (int64_t i = 0; i < molecule->bond_count; i++)
        molecule->bonds[i].conjugated = molecule->bonds[i].aromatic;
    for (int64_t i = 0; i < molecule->atom_count; i++) may[i] = (uint8_t)may_conjugate(molecule, (uint32_t)i);
    for (int64_t i = 0; i < molecule->atom_count; i++) mark_conjugated(molecule, (uint32_t)i, may);
    for (int64_t i = 0; i < molecule->atom_count; i++)
        molecule->atoms[i].hybridization = hybridization(molecule, (uint32_t)i);
}

/* ---- cis and trans ---- */

/* On which side of the double bond the first marked neighbour of `number` stands: 1 below, 2 above, 0: none
 * is marked. "X/C" puts X below C, "C/X" above. */
static int side_of(const at_molecule *molecule, uint32_t number, uint32_t double_bond) {
    const at_atom *atom = &molecule->atoms[number];
    for (uint32_t i = 0; i < atom->degree; i++) {
        at_link link = molecule->links[atom->first_link + i];
        const at_bond *bond = &molecule->bonds[link.bond];
        if (link.bond == double_bond || !bond->direction || bond->order != 1) continue;
        return bond->to == number ? bond->direction : 3 - bond->direction;
    }
    return 0;
}

void at_perceive_stereo(at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        at_bond *bond = &molecule->bonds[i];
        if (bond->order != 2 || bond->aromatic) continue;
        int first = side_of(molecule, bond->from, (uint32_t)i);
        int second = first ? side_of(molecule, bond->to, (uint32_t)i) : 0;
        if (second) bond->stereo = first == second ? 1 : 2;
    }
}
