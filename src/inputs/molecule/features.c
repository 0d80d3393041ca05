/* features.c: atoms and bonds as numbers.
 *
 * An atom has one feature of each group, and those of the single ones that it has; docs/molecules.md lists
 * the columns. What is not in the list counts as the last of its group. The last columns, of atoms and of
 * bonds, are those of stereo chemistry and isotopes, which a view may leave out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inputs/molecule/perceive.h"
#include "inputs/molecule/reader.h"

/* ---- atoms ---- */

/* By atomic number; then the wildcard and all others. */
static const uint8_t elements[] = {1,  3,  5,  6,  7,  8,  9,  11, 12, 13, 14, 15, 16,
                                   17, 19, 20, 26, 29, 30, 33, 34, 35, 50, 53, 78, 80};
enum {
    ELEMENTS = sizeof elements + 2, /* 28 */
    DEGREES = 7,                    /* 0 .. 5, more */
    CHARGES = 5,                    /* -2 and less, -1, 0, +1, +2 and more */
    HYDROGENS = 5,                  /* 0 .. 3, more */
    HYBRIDS = 5,                    /* none, sp, sp2, sp3, others */
    CHIRALITIES = 3                 /* @, @@, other classes */
};
enum {
    DEGREE = ELEMENTS,
    CHARGE = DEGREE + DEGREES,
    HYDROGEN = CHARGE + CHARGES,
    HYBRID = HYDROGEN + HYDROGENS,
    AROMATIC = HYBRID + HYBRIDS,
    IN_RING,
    RADICAL,
    CHIRAL,
    ISOTOPE = CHIRAL + CHIRALITIES
};
_Static_assert((int)CHIRAL == (int)AT_ATOM_PLAIN && (int)ISOTOPE + 1 == (int)AT_ATOM_COLUMNS,
               "the columns of an atom");

static int element_column(int element) {
    if (element == 0) return (int)sizeof elements;
    for (int i = 0; i < (int)sizeof elements; i++)
        if (elements[i] == element) return i;
    return (int)sizeof elements + 1;
}

static int at_most(int number, int most) { return number < most ? number : most; }

int at_atom_features(const at_atom *atom, int32_t *columns) {
    int count = 0, charge = atom->charge < -2 ? -2 : atom->charge > 2 ? 2 : atom->charge;
    columns[count++] = element_column(atom->element);
    columns[count++] = DEGREE + (atom->degree < DEGREES ? (int32_t)atom->degree : DEGREES - 1);
    columns[count++] = CHARGE + charge + 2;
    columns[count++] = HYDROGEN + at_most(atom->hydrogens, HYDROGENS - 1);
    columns[count++] = HYBRID + at_most(atom->hybridization, HYBRIDS - 1);
    if (atom->aromatic) columns[count++] = AROMATIC;
    if (atom->in_ring) columns[count++] = IN_RING;
    if (atom->radicals) columns[count++] = RADICAL;
    if (atom->chirality) columns[count++] = CHIRAL + at_most(atom->chirality - 1, CHIRALITIES - 1);
    if (atom->isotope) columns[count++] = ISOTOPE;
    return count;
}

const char *at_element_name(int element) { return element == 0 ? "*" : at_elements[element].symbol; }

/* ---- bonds ---- */

void at_bond_numbers(const at_bond *bond, float *numbers) {
    enum { SINGLE, DOUBLE, TRIPLE, DELOCALIZED, CONJUGATED, RING, CIS, TRANS };
    memset(numbers, 0, AT_BOND_COLUMNS * sizeof *numbers);
    if (bond->aromatic)
        numbers[DELOCALIZED] = 1;
    else if (bond->order >= 1 && bond->order <= 3)
        numbers[SINGLE + bond->order - 1] = 1;
    numbers[CONJUGATED] = bond->conjugated != 0;
    numbers[RING] = bond->in_ring != 0;
    numbers[CIS] = bond->stereo == 1;
    numbers[TRANS] = bond->stereo == 2;
}

/* ---- the graph ---- */

const at_content_kind at_molecule_content = {.input = "molecule", AT_GRAPHS_CONTENT, .text = at_graphs_text};

static attn_status add_atom(attn_dataset *dataset, const at_atom *atom, int64_t number, int64_t line) {
    char name[32];
    int32_t columns[AT_ATOM_MOST];
    int length = snprintf(name, sizeof name, "%s%" PRId64, at_element_name(atom->element), number + 1);
    int count = at_atom_features(atom, columns);
    attn_status status = at_graphs_node(dataset, name, (size_t)length, line);
    for (int i = 0; i < count && status == ATTN_OK; i++) status = at_graphs_feature(dataset, columns[i], 1);
    return status;
}

attn_status at_molecule_add(at_molecule_reader *reader, const char *text, size_t length, int64_t line) {
    const at_molecule *molecule = &reader->molecule;
    attn_dataset *dataset = reader->dataset;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < molecule->atom_count && status == ATTN_OK; i++)
        status = add_atom(dataset, &molecule->atoms[i], i, line);
    for (int64_t i = 0; i < molecule->bond_count && status == ATTN_OK; i++) {
        const at_bond *bond = &molecule->bonds[i];
        float numbers[AT_BOND_COLUMNS];
        at_bond_numbers(bond, numbers);
        status = at_graphs_edge(dataset, bond->from, bond->to, numbers);
        if (status == ATTN_OK) status = at_graphs_edge(dataset, bond->to, bond->from, numbers);
    }
    if (status != ATTN_OK) return status;
    return at_strings_add(reader->context, &at_graphs_of(dataset)->texts, text, length);
}

/* ---- scaffolds ---- */

attn_status at_molecule_groups(const attn_dataset *dataset, at_strings *keys) {
    attn_context *context = dataset->context;
    const at_strings *texts = &at_graphs_of(dataset)->texts;
    at_molecule molecule = {.work = NULL};
    at_writer key = {.context = context};
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        size_t position;
        const char *reason;
        key.count = 0;
        status = at_smiles_read(context, at_string(texts, e), at_string_length(texts, e), &molecule,
                                &position, &reason);
        if (status == ATTN_OK) status = at_molecule_scaffold(context, &molecule, &key);
        if (status == ATTN_OK) status = key.status;
        if (status == ATTN_OK)
            status = at_strings_add(context, keys, key.count ? key.bytes : "", (size_t)key.count);
    }
    at_molecule_free(context, &molecule);
    at_writer_free(&key);
    return status;
}
