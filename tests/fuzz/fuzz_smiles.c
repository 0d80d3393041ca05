/* fuzz_smiles.c: any bytes as a SMILES. What is accepted is a graph that holds together: degrees, rings,
 * aromaticity and valences agree with the bonds; reading it again gives the same, also with memory that has
 * been used; and its scaffold has a text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <attn/context.h>

#include "base/memory.h"
#include "inputs/molecule/perceive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
    if (!condition) abort();
}

static void check_links(const at_molecule *molecule) {
    uint64_t degrees = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        const at_atom *atom = &molecule->atoms[i];
        require(atom->first_link == degrees);
        degrees += atom->degree;
        for (uint32_t j = 0; j < atom->degree; j++) {
            at_link link = molecule->links[atom->first_link + j];
            require(link.bond < molecule->bond_count);
            const at_bond *bond = &molecule->bonds[link.bond];
            require((bond->from == (uint32_t)i && bond->to == link.atom) ||
                    (bond->to == (uint32_t)i && bond->from == link.atom));
            for (uint32_t k = 0; k < j && k < 64; k++)
                require(molecule->links[atom->first_link + k].atom != link.atom);
        }
    }
    require(degrees == 2 * (uint64_t)molecule->bond_count);
}

static uint32_t root_of(uint32_t *root, uint32_t atom) {
    while (root[atom] != atom) atom = root[atom] = root[root[atom]];
    return atom;
}

/* How many fragments there are without the bond (AT_NONE: with all). */
static int64_t count_fragments(const at_molecule *molecule, uint32_t without, uint32_t *root) {
    int64_t fragments = molecule->atom_count;
    for (int64_t i = 0; i < molecule->atom_count; i++) root[i] = (uint32_t)i;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        if (i == without) continue;
        uint32_t from = root_of(root, molecule->bonds[i].from), to = root_of(root, molecule->bonds[i].to);
        if (from == to) continue;
        root[from] = to;
        fragments--;
    }
    return fragments;
}

/* A bond lies on a ring exactly if its atoms stay connected without it. */
static void check_rings(const at_molecule *molecule) {
    uint32_t *root = malloc((size_t)molecule->atom_count * sizeof *root);
    uint8_t *in_ring = calloc((size_t)molecule->atom_count, 1);
    require(root && in_ring);
    require(count_fragments(molecule, AT_NONE, root) == molecule->fragments);
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        if (bond->in_ring) in_ring[bond->from] = in_ring[bond->to] = 1;
        if (molecule->bond_count > 300 && i % 16) continue;
        require(bond->in_ring == (count_fragments(molecule, (uint32_t)i, root) == molecule->fragments));
    }
    for (int64_t i = 0; i < molecule->atom_count; i++) require(molecule->atoms[i].in_ring == in_ring[i]);
    free(in_ring);
    free(root);
}

static void check_valences(const at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        const at_atom *atom = &molecule->atoms[i];
        const at_element *element = &at_elements[atom->element];
        int valence = atom->hydrogens, aromatic = 0;
        require(atom->element < AT_ELEMENTS && atom->hybridization <= 4);
        for (uint32_t j = 0; j < atom->degree && valence < 100; j++) {
            const at_bond *bond = &molecule->bonds[molecule->links[atom->first_link + j].bond];
            valence += at_bond_halves(bond, (uint32_t)i) / 2;
            aromatic |= bond->aromatic;
        }
        require(!aromatic || atom->aromatic);
        require(!atom->aromatic || atom->in_ring);
        int most = element->valences[element->valence_count - 1];
        if (!atom->charge && most >= 0) require(valence <= most);
    }
}

static void check_bonds(const at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        require(bond->from < molecule->atom_count && bond->to < molecule->atom_count &&
                bond->from != bond->to);
        require(bond->order >= 1 && bond->order <= 4 && bond->stereo <= 2 && bond->direction <= 2);
        require(!bond->aromatic || bond->in_ring);
        require(!bond->aromatic || bond->conjugated);
        if (bond->aromatic)
            require(molecule->atoms[bond->from].aromatic && molecule->atoms[bond->to].aromatic);
        if (bond->stereo) require(bond->order == 2 && !bond->aromatic);
    }
}

static void check_same(const at_molecule *first, const at_molecule *second) {
    require(first->atom_count == second->atom_count && first->bond_count == second->bond_count);
    require(first->fragments == second->fragments);
    for (int64_t i = 0; i < first->atom_count; i++) {
        const at_atom *a = &first->atoms[i], *b = &second->atoms[i];
        require(a->element == b->element && a->aromatic == b->aromatic && a->hydrogens == b->hydrogens);
        require(a->in_ring == b->in_ring && a->charge == b->charge && a->radicals == b->radicals);
        require(a->hybridization == b->hybridization && a->position == b->position);
    }
    for (int64_t i = 0; i < first->bond_count; i++) {
        const at_bond *a = &first->bonds[i], *b = &second->bonds[i];
        require(a->from == b->from && a->to == b->to && a->order == b->order && a->aromatic == b->aromatic);
        require(a->conjugated == b->conjugated && a->stereo == b->stereo && a->dative == b->dative);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static attn_context *context;
    static at_molecule used; /* by every input before */
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (!context) require(attn_context_create(&options, &context) == ATTN_OK);
    char *text = malloc(size ? size : 1); /* exactly so many, so that one too many is seen */
    require(text != NULL);
    memcpy(text, data, size);
    at_molecule fresh = {.work = NULL};
    size_t positions[2] = {0, 0};
    const char *reasons[2] = {"", ""};
    attn_status status = at_smiles_read(context, text, size, &used, &positions[0], &reasons[0]);
    require(at_smiles_read(context, text, size, &fresh, &positions[1], &reasons[1]) == status);
    check_same(&used, &fresh);
    if (status == ATTN_OK) {
        require(used.atom_count > 0);
        check_links(&used);
        check_bonds(&used);
        check_rings(&used);
        check_valences(&used);
        at_writer key = {.context = context};
        require(at_molecule_scaffold(context, &used, &key) == ATTN_OK);
        int rings = 0;
        for (int64_t i = 0; i < used.bond_count; i++) rings |= used.bonds[i].in_ring;
        require((key.count > 0) == rings);
        at_writer_free(&key);
    } else {
        require(status == ATTN_INVALID_ARGUMENT && used.atom_count == 0);
        require(positions[0] == positions[1] && strcmp(reasons[0], reasons[1]) == 0);
        require(positions[0] <= size && reasons[0][0] != 0);
    }
    at_molecule_free(context, &fresh);
    free(text);
    return 0;
}
