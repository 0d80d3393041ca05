/* smiles.h: molecules as graphs of atoms, from SMILES (OpenSMILES), and their scaffolds.
 *
 * A molecule is read and perceived in one call: implicit hydrogens, rings, Kekulé form, aromaticity,
 * conjugation and hybridization follow the model of RDKit, whose MolFromSmiles is the judge
 * (tests/peers/test_smiles.py). Whatever way a molecule is written (benzene with or without double bonds, a
 * nitro group with or without charges, hydrogens as atoms or not), it gives one graph.
 */
#ifndef AT_INPUTS_MOLECULE_SMILES_H
#define AT_INPUTS_MOLECULE_SMILES_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

#include "data/writer.h"

/* Chirality as written; classes with a number (@TB7) have it in at_atom.chirality_number. */
typedef enum at_chirality {
    AT_CHIRAL_NONE,
    AT_CHIRAL_LEFT,  /* @ */
    AT_CHIRAL_RIGHT, /* @@ */
    AT_CHIRAL_TH,
    AT_CHIRAL_AL,
    AT_CHIRAL_SP,
    AT_CHIRAL_TB,
    AT_CHIRAL_OH
} at_chirality;

typedef struct at_atom {
    uint8_t element;        /* atomic number; 0: the wildcard * */
    uint8_t aromatic;       /* after perception */
    uint8_t aromatic_read;  /* written in lower case */
    uint8_t hydrogens;      /* attached and no atoms of the graph: written in brackets, or by valence */
    uint8_t hydrogens_read; /* those in brackets, or written as atoms */
    uint8_t radicals;       /* unpaired electrons: what its valence lacks in brackets */
    uint8_t in_bracket;
    uint8_t in_ring;
    uint8_t chirality;        /* AT_CHIRAL_...: 1 @, 2 @@ */
    uint8_t chirality_number; /* of the classes with one, else 0 */
    uint8_t hybridization;    /* 0 none (hydrogen, wildcard), 1 sp, 2 sp2, 3 sp3, 4 others: sp3d, sp3d2 */
    int8_t charge;
    uint16_t isotope;    /* 0: not given */
    uint32_t degree;     /* neighbours in the graph */
    uint32_t map;        /* atom class :n; 0: not given */
    uint32_t position;   /* of its first byte in the SMILES */
    uint32_t first_link; /* its neighbours: molecule->links[first_link ...], by bonds */
} at_atom;

typedef struct at_bond {
    uint32_t from, to;  /* atoms, in order of writing */
    uint8_t order;      /* 1 single ... 4 quadruple; of the Kekulé form where aromatic */
    uint8_t aromatic;   /* after perception */
    uint8_t order_read; /* as written: 0 no symbol, / or \, 1 - 2 = 3 # 4 $ 5 : */
    uint8_t in_ring, conjugated;
    uint8_t direction; /* 0, 1 '/', 2 '\\', as written, seen from `from` */
    uint8_t stereo;    /* of a double bond: 0 none, 1 cis, 2 trans, of the first marked neighbours */
    uint8_t dative;    /* a single bond to a metal that `from` (1) or `to` (2) gives both electrons of */
} at_bond;

typedef struct at_link {
    uint32_t atom, bond;
} at_link;

struct at_smiles_work; /* memory of reading, kept from call to call */

/* All 0 is an empty molecule; it is used for one SMILES after another. */
typedef struct at_molecule {
    at_atom *atoms;
    at_bond *bonds;
    at_link *links; /* [2 * bond_count] */
    int64_t atom_count, bond_count, fragments;
    struct at_smiles_work *work;
    char reason[192];
} at_molecule;

/* Reads one SMILES of `length` bytes; white space around it is no part of it. On bad input: INVALID_ARGUMENT,
 * *position = the byte where it is wrong (length: at its end), *reason = a text in molecule->reason without
 * file names; the caller adds file, line and caret. Errors with the context's text: OUT_OF_MEMORY. After an
 * error the molecule is empty. */
attn_status at_smiles_read(attn_context *context, const char *text, size_t length, at_molecule *molecule,
                           size_t *position, const char **reason);
void at_molecule_free(attn_context *context, at_molecule *molecule);

/* The Bemis-Murcko scaffold (rings and what links them, with atoms that are doubly bonded to those), appended
 * to `key` as a text (no SMILES) that names its graph, without chirality and isotopes, in a canonical order:
 * different graphs have different texts, and equal ones the same; but for rare graphs with atoms that look
 * alike from everywhere and are not symmetric, which may get two. Of more than 500 atoms it is a hash.
 * Nothing is appended for molecules without rings. */
attn_status at_molecule_scaffold(attn_context *context, const at_molecule *molecule, at_writer *key);

#endif
