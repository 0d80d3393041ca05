/* smiles.c: reads a SMILES: its molecule from the bytes on, and the memory for it. The steps of perception
 * are in perceive*.c. */
#include "inputs/molecule/smiles.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/molecule/perceive.h"

attn_status at_molecule_refuse(at_molecule *molecule, size_t *position, size_t where, const char *format,
                               ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(molecule->reason, sizeof molecule->reason, format, arguments);
    va_end(arguments);
    *position = where;
    return ATTN_INVALID_ARGUMENT;
}

/* A piece of the block, aligned for any of its types. */
static void *take(unsigned char *memory, size_t *used, int64_t count, size_t element_bytes) {
    void *piece = memory ? memory + *used : NULL;
    *used += ((size_t)count * element_bytes + 15) & ~(size_t)15;
    return piece;
}

/* Places everything in `memory` (NULL: only counts) and returns how many bytes that is. */
static size_t lay_out(at_molecule *molecule, unsigned char *memory, int64_t room) {
    struct at_smiles_work *work = molecule->work;
    size_t used = 0;
    molecule->atoms = take(memory, &used, room, sizeof *molecule->atoms);
    molecule->bonds = take(memory, &used, room, sizeof *molecule->bonds);
    molecule->links = take(memory, &used, 2 * room, sizeof *molecule->links);
    work->bond_position = take(memory, &used, room, sizeof *work->bond_position);
    work->open = take(memory, &used, room, sizeof *work->open);
    for (int i = 0; i < AT_SCRATCH; i++) work->scratch[i] = take(memory, &used, room, sizeof(uint32_t));
    work->block_bonds = take(memory, &used, room, sizeof *work->block_bonds);
    work->block_first = take(memory, &used, room, sizeof *work->block_first);
    work->valence = take(memory, &used, room, sizeof *work->valence);
    work->times = take(memory, &used, room, sizeof *work->times);
    work->flags = take(memory, &used, room, sizeof *work->flags);
    return used;
}

static attn_status reserve(attn_context *context, at_molecule *molecule, size_t length) {
    if (!molecule->work) {
        molecule->work = at_allocate(context, 1, sizeof *molecule->work, "the reading of SMILES");
        if (!molecule->work) return ATTN_OUT_OF_MEMORY;
    }
    struct at_smiles_work *work = molecule->work;
    int64_t room = (int64_t)length + 2;
    if (room <= work->room) return ATTN_OK;
    if (room < 2 * work->room) room = 2 * work->room;
    if (room < 256) room = 256;
    at_release(context, work->memory);
    work->memory = NULL;
    work->room = 0;
    size_t bytes = lay_out(molecule, NULL, room);
    unsigned char *memory = at_allocate(context, (int64_t)bytes, 1, "the atoms of a SMILES");
    if (!memory) return ATTN_OUT_OF_MEMORY;
    lay_out(molecule, memory, room);
    work->memory = memory;
    work->room = room;
    return ATTN_OK;
}

void at_molecule_free(attn_context *context, at_molecule *molecule) {
    if (molecule->work) {
        at_release(context, molecule->work->memory);
        at_release(context, molecule->work->more_slots);
        at_release(context, molecule->work->ring_memory);
        at_release(context, molecule->work);
    }
    *molecule = (at_molecule){.work = NULL};
}

void at_molecule_link(at_molecule *molecule) {
    at_atom *atoms = molecule->atoms;
    uint32_t *next = molecule->work->scratch[0], count = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) atoms[i].degree = 0;
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        atoms[molecule->bonds[i].from].degree++;
        atoms[molecule->bonds[i].to].degree++;
    }
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        atoms[i].first_link = next[i] = count;
        count += atoms[i].degree;
    }
    for (int64_t i = 0; i < molecule->bond_count; i++) {
        const at_bond *bond = &molecule->bonds[i];
        molecule->links[next[bond->from]++] = (at_link){bond->to, (uint32_t)i};
        molecule->links[next[bond->to]++] = (at_link){bond->from, (uint32_t)i};
    }
}

static int is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

static attn_status perceive(attn_context *context, at_molecule *molecule, size_t *position) {
    const struct at_smiles_work *work = molecule->work;
    if (work->hydrogens) at_perceive_hydrogens(molecule);
    if (work->doubtful || work->metals) at_perceive_groups(molecule);
    attn_status status = at_perceive_valence(molecule, position);
    if (status != ATTN_OK) return status;
    at_perceive_rings(molecule);
    if (work->aromatics) status = at_perceive_kekule(molecule, position);
    if (status != ATTN_OK) return status;
    at_perceive_radicals(molecule);
    status = at_perceive_aromatic(context, molecule);
    if (status != ATTN_OK) return status;
    at_perceive_conjugation(molecule);
    at_perceive_stereo(molecule);
    return ATTN_OK;
}

/* The length without white space behind, and how much there is in front. */
static size_t trim(const char *text, size_t *length) {
    size_t skipped = 0;
    while (*length && is_space(text[*length - 1])) --*length;
    while (skipped < *length && is_space(text[skipped])) skipped++;
    return skipped;
}

attn_status at_smiles_parse(attn_context *context, const char *text, size_t length, at_molecule *molecule,
                            size_t *position) {
    molecule->atom_count = molecule->bond_count = molecule->fragments = 0;
    size_t skipped = trim(text, &length);
    if (length >= UINT32_MAX / 4)
        return at_molecule_refuse(molecule, position, 0, "it has %zu bytes, more than can be read", length);
    attn_status status = reserve(context, molecule, length);
    if (status == ATTN_OK) status = at_smiles_scan(context, text, skipped, length, molecule, position);
    if (status != ATTN_OK) molecule->atom_count = molecule->bond_count = molecule->fragments = 0;
    return status;
}

attn_status at_smiles_read(attn_context *context, const char *text, size_t length, at_molecule *molecule,
                           size_t *position, const char **reason) {
    *position = 0;
    *reason = molecule->reason;
    molecule->reason[0] = 0;
    attn_status status = at_smiles_parse(context, text, length, molecule, position);
    if (status == ATTN_OK) status = perceive(context, molecule, position);
    if (status != ATTN_OK) molecule->atom_count = molecule->bond_count = molecule->fragments = 0;
    return status;
}
