/* perceive.h: the steps between the bytes of a SMILES and its molecule, in the order in which they are taken.
 * Each leaves the graph whole; at_smiles_read (smiles.c) takes them all. */
#ifndef AT_INPUTS_MOLECULE_PERCEIVE_H
#define AT_INPUTS_MOLECULE_PERCEIVE_H

#include "inputs/molecule/smiles.h"

#define AT_ELEMENTS 119
#define AT_ELEMENT_EARLY 1 /* left of carbon: a charge takes valence where it gives it to others */
#define AT_ELEMENT_METAL 2

typedef struct at_element {
    char symbol[3];
    uint8_t outer; /* electrons of the outer shell */
    uint8_t flags;
    uint8_t valence_count;
    int8_t valences[4]; /* rising; -1: any */
} at_element;
extern const at_element at_elements[AT_ELEMENTS];

#define AT_ORDER_AROMATIC 5 /* of at_bond.order until it has a Kekulé form, and of order_read */
#define AT_NONE UINT32_MAX
#define AT_SCRATCH 8

/* A ring bond that waits for its other end. */
typedef struct at_open_ring {
    uint32_t atom, position, number; /* atom AT_NONE: it has been closed */
    uint8_t order_read, direction;
} at_open_ring;

#define AT_RING_NUMBERS 100         /* %nn */
#define AT_RING_NUMBERS_MOST 100000 /* %(nnnnn) */

/* Memory for SMILES of fewer than `room` bytes, which have no more than that many atoms, bonds and branches.
 */
struct at_smiles_work {
    unsigned char *memory;
    int64_t room;
    uint32_t *bond_position;       /* [room] of the symbol, the digit or the atom that makes a bond */
    at_open_ring *open;            /* [room] */
    uint32_t *scratch[AT_SCRATCH]; /* [room] each, free between the steps */
    uint32_t *block_bonds;         /* [room] ring bonds, block by block */
    uint32_t *block_first;         /* [room] */
    uint8_t *valence;              /* [room] of an atom, with all of its hydrogens */
    uint8_t *times;                /* [room] all 0 between the steps */
    uint8_t *flags;                /* [room] free between the steps */
    int64_t open_count, blocks, ring_closures;
    uint32_t slots[AT_RING_NUMBERS]; /* 1 + the open ring of a number; 0: none */
    uint32_t *more_slots;            /* of larger numbers: NULL until there is one */
    uint64_t *ring_memory;           /* of the ring search */
    int64_t ring_room;
    int wildcards, hydrogens, metals, aromatics,
        doubtful; /* what there is: steps for what is not are left out */
};

/* A refusal: fills molecule->reason and says where. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
attn_status
at_molecule_refuse(at_molecule *molecule, size_t *position, size_t where, const char *format, ...);

/* The graph as written: every atom, also hydrogens; order is 1 .. 4 or AT_ORDER_AROMATIC. */
attn_status at_smiles_parse(attn_context *context, const char *text, size_t length, at_molecule *molecule,
                            size_t *position);
/* The same of text[begin, end) into memory that is large enough. */
attn_status at_smiles_scan(attn_context *context, const char *text, size_t begin, size_t end,
                           at_molecule *molecule, size_t *position);
/* links, first_link and degree from the bonds. */
void at_molecule_link(at_molecule *molecule);

/* Hydrogens that are atoms become hydrogens of their neighbours. */
void at_perceive_hydrogens(at_molecule *molecule);
/* One way of writing groups that have several: nitro, azide, perchlorate; bonds to metals. */
void at_perceive_groups(at_molecule *molecule);
/* Implicit hydrogens; refuses valences that cannot be. */
attn_status at_perceive_valence(at_molecule *molecule, size_t *position);
/* in_ring, and the blocks: ring bonds that lie on a common ring, directly or not. */
void at_perceive_rings(at_molecule *molecule);
/* Double bonds for what is written as aromatic. */
attn_status at_perceive_kekule(at_molecule *molecule, size_t *position);
/* The valences of what was aromatic, once more; called by at_perceive_kekule, with flags set for such atoms.
 */
attn_status at_perceive_kekule_valence(at_molecule *molecule, size_t *position);
void at_perceive_radicals(at_molecule *molecule);
/* aromatic, of atoms and bonds. */
attn_status at_perceive_aromatic(attn_context *context, at_molecule *molecule);
void at_perceive_conjugation(at_molecule *molecule); /* also hybridization */
void at_perceive_stereo(at_molecule *molecule);

/* The valence that is written: bonds and hydrogens, aromatic bonds as one and a half, rounded as RDKit does.
 */
int at_explicit_valence(const at_molecule *molecule, uint32_t atom);
/* Hydrogens that an atom with bonds of that valence would have without brackets. */
int at_valence_hydrogens(const at_atom *atom, int valence);
/* Electrons that the atom can give to a pi system; < 0: it takes part in none. */
int at_pi_electrons(const at_molecule *molecule, uint32_t atom);

static inline int at_default_valence(int element) { return at_elements[element].valences[0]; }

/* [nH] and [pH] say that the ring has a hydrogen there; in the Kekulé form it follows from the valence. */
static inline int at_bracket_is_open(const at_atom *atom) {
    return atom->aromatic_read && (atom->element == 7 || atom->element == 15) && !atom->charge &&
           atom->hydrogens_read == 1;
}

/* What a bond counts for the valence of one of its atoms, in halves. */
static inline int at_bond_halves(const at_bond *bond, uint32_t atom) {
    if (bond->order == AT_ORDER_AROMATIC) return 3;
    if (bond->dative && atom == (bond->dative == 1 ? bond->from : bond->to)) return 0;
    return 2 * bond->order;
}

#endif
