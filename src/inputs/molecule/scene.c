/* scene.c: a molecule as it is drawn: its SMILES, read again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/molecule/perceive.h"
#include "inputs/molecule/reader.h"

static attn_status make_room(const at_molecule *molecule, at_scene *scene) {
    attn_context *context = scene->context;
    int64_t atoms = molecule->atom_count, bonds = molecule->bond_count;
    scene->charge = at_allocate(context, atoms, sizeof *scene->charge, "a drawing");
    scene->hydrogens = at_allocate(context, atoms, sizeof *scene->hydrogens, "a drawing");
    scene->from = at_allocate(context, bonds, sizeof *scene->from, "a drawing");
    scene->to = at_allocate(context, bonds, sizeof *scene->to, "a drawing");
    scene->order = at_allocate(context, bonds, sizeof *scene->order, "a drawing");
    scene->turn = at_allocate(context, bonds, sizeof *scene->turn, "a drawing");
    scene->turn_from = at_allocate(context, bonds, sizeof *scene->turn_from, "a drawing");
    scene->turn_to = at_allocate(context, bonds, sizeof *scene->turn_to, "a drawing");
    int all = scene->charge && scene->hydrogens && scene->from && scene->to && scene->order && scene->turn &&
              scene->turn_from && scene->turn_to;
    return all ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static attn_status put_atom(const at_atom *atom, int64_t i, at_scene *scene) {
    char symbol[16];
    const char *element = atom->element ? at_elements[atom->element].symbol : "*";
    int length = atom->isotope ? snprintf(symbol, sizeof symbol, "%u%s", (unsigned)atom->isotope, element)
                               : snprintf(symbol, sizeof symbol, "%s", element);
    scene->charge[i] = atom->charge;
    scene->hydrogens[i] = (int8_t)(atom->hydrogens > 100 ? 100 : atom->hydrogens);
    return at_strings_add(scene->context, &scene->symbols, symbol, (size_t)length);
}

/* The first neighbour of an atom whose bond is written with / or \; -1: there is none. */
static int64_t marked_neighbour(const at_molecule *molecule, uint32_t atom, uint32_t but) {
    const at_atom *of = &molecule->atoms[atom];
    for (uint32_t l = 0; l < of->degree; l++) {
        const at_link *link = &molecule->links[of->first_link + l];
        if (link->atom != but && molecule->bonds[link->bond].direction) return (int64_t)link->atom;
    }
    return -1;
}

static void put_bond(const at_molecule *molecule, int64_t i, at_scene *scene) {
    const at_bond *bond = &molecule->bonds[i];
    scene->from[i] = bond->from;
    scene->to[i] = bond->to;
    scene->order[i] = (int8_t)(bond->order > 3 ? 3 : bond->order);
    scene->turn_from[i] = marked_neighbour(molecule, bond->from, bond->to);
    scene->turn_to[i] = marked_neighbour(molecule, bond->to, bond->from);
    if (bond->stereo && scene->turn_from[i] >= 0 && scene->turn_to[i] >= 0)
        scene->turn[i] = (int8_t)bond->stereo;
}

attn_status at_molecule_scene(const at_input *input, const at_encoded *encoded, int64_t example,
                              int64_t first, int64_t count, at_scene *scene) {
    const at_graphs *graphs = ((const at_node_encoded *)(const void *)encoded)->graphs;
    at_molecule molecule = {0};
    size_t position;
    const char *reason;
    if (graphs->texts.count <= example) return at_nodes_scene(input, encoded, example, first, count, scene);
    attn_status status =
        at_smiles_read(scene->context, at_string(&graphs->texts, example),
                       at_string_length(&graphs->texts, example), &molecule, &position, &reason);
    if (status == ATTN_OK && molecule.atom_count != count)
        status = at_fail(scene->context, ATTN_INVALID_ARGUMENT,
                         "the drawing of a molecule has %" PRId64 " atoms, its graph %" PRId64,
                         molecule.atom_count, count);
    if (status == ATTN_OK) status = make_room(&molecule, scene);
    for (int64_t i = 0; i < molecule.atom_count && status == ATTN_OK; i++)
        status = put_atom(&molecule.atoms[i], i, scene);
    for (int64_t i = 0; i < molecule.bond_count && status == ATTN_OK; i++) put_bond(&molecule, i, scene);
    if (status == ATTN_OK) {
        scene->kind = AT_SCENE_MOLECULE;
        scene->rows = count;
        scene->edges = molecule.bond_count;
    }
    at_molecule_free(scene->context, &molecule);
    return status;
}
