/* smiles.c: what the library reads of SMILES, for test_smiles.py, which builds it.
 *
 *     smiles FILE            a line for each of FILE: see print_molecule
 *     smiles FILE speed      for each line of standard input, reads all of FILE and prints the seconds
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <attn/attn.h>

#include "inputs/molecule/perceive.h"

/* Atoms and bonds as written, TAB, as perceived, TAB, the scaffold. Each graph is "atoms|bonds". */
static void print_written(const at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        const at_atom *atom = &molecule->atoms[i];
        printf("%d,%d,%d,%d,%" PRIu32 ",%d ", atom->element, atom->charge, atom->isotope,
               atom->hydrogens_read, atom->map, atom->aromatic_read);
    }
    printf("|");
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        printf("%" PRIu32 ",%" PRIu32 ",%d ", bond->from, bond->to, bond->order);
    }
}

static void print_perceived(const at_molecule *molecule) {
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        const at_atom *atom = &molecule->atoms[i];
        printf("%d,%d,%d,%d,%d,%d,%d,%d,%" PRIu32 " ", atom->element, atom->charge, atom->isotope,
               atom->hydrogens, atom->in_ring, atom->aromatic, atom->radicals, atom->hybridization,
               atom->degree);
    }
    printf("|");
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        printf("%" PRIu32 ",%" PRIu32 ",%d,%d,%d,%d ", bond->from, bond->to,
               bond->aromatic ? AT_ORDER_AROMATIC : bond->order, bond->in_ring, bond->conjugated,
               bond->dative);
    }
}

static void print_molecule(attn_context *context, const char *line, size_t length, at_molecule *molecule) {
    size_t position = 0;
    const char *reason = "";
    if (at_smiles_parse(context, line, length, molecule, &position) == ATTN_OK)
        print_written(molecule);
    else
        printf("error");
    printf("\t");
    if (at_smiles_read(context, line, length, molecule, &position, &reason) != ATTN_OK) {
        printf("error %zu %s\t\n", position, reason);
        return;
    }
    print_perceived(molecule);
    at_writer key = {.context = context};
    if (at_molecule_scaffold(context, molecule, &key) != ATTN_OK) exit(3);
    printf("\t%s\n", key.count ? key.bytes : "");
    at_writer_free(&key);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        text = size >= 0 ? malloc((size_t)size + 1) : NULL;
        *length = (size_t)size;
        if (text && fread(text, 1, *length, file) != *length) exit(2);
    }
    if (!text) exit(2);
    fclose(file);
    return text;
}

/* Every line of the text, printed or only read. */
static int64_t walk_lines(attn_context *context, const char *text, size_t length, at_molecule *molecule,
                          int print) {
    int64_t atoms = 0;
    for (size_t place = 0; place < length;) {
        const char *end = memchr(text + place, '\n', length - place);
        size_t size = end ? (size_t)(end - text) - place : length - place, position;
        const char *reason;
        if (print)
            print_molecule(context, text + place, size, molecule);
        else if (at_smiles_read(context, text + place, size, molecule, &position, &reason) == ATTN_OK)
            atoms += molecule->atom_count;
        place += size + 1;
    }
    return atoms;
}

int main(int count, char **arguments) {
    attn_context *context;
    size_t length = 0;
    if (count < 2 || attn_context_create(NULL, &context) != ATTN_OK) return 2;
    char *text = read_file(arguments[1], &length);
    at_molecule molecule = {.work = NULL};
    if (count == 2) walk_lines(context, text, length, &molecule, 1);
    char line[16];
    while (count > 2 && fgets(line, sizeof line, stdin)) {
        double start = seconds();
        int64_t atoms = walk_lines(context, text, length, &molecule, 0);
        printf("%.9f %" PRId64 "\n", seconds() - start, atoms);
        fflush(stdout);
    }
    at_molecule_free(context, &molecule);
    attn_context_destroy(context);
    free(text);
    return 0;
}
