/* perceive_rings.h: the search for rings in a block, and what aromaticity does with them. */
#ifndef AT_INPUTS_MOLECULE_PERCEIVE_RINGS_H
#define AT_INPUTS_MOLECULE_PERCEIVE_RINGS_H

#include "inputs/molecule/perceive.h"

#define AT_DONOR_NONE 255 /* takes part in no pi system */
#define AT_DONOR_ANY 3    /* a wildcard: 1 or 2 electrons */
#define AT_FUSED_MOST 6   /* rings of a fused system that are looked at together */
#define AT_FUSED_RING_MOST 24
#define AT_RINGS_MOST 64
#define AT_RING_BUDGET                                                                                       \
    20000000 /* steps for a molecule's rings; beyond them, rings of up to 8 atoms one by one */
#define AT_LOCAL_RING_MOST 8

typedef struct at_ring {
    uint32_t *atoms, *bonds;
    int count;
} at_ring;

typedef struct at_ring_search {
    attn_context *context;
    at_molecule *molecule;
    uint8_t *donors; /* [atoms] electrons that an atom gives */
    uint8_t *times;  /* [atoms or bonds] all 0 between uses */
    at_ring rings[AT_RINGS_MOST];
    uint64_t beside[AT_RINGS_MOST]; /* of a ring: those fused to it */
    int ring_count;
    int64_t budget;
} at_ring_search;

/* Finds the rings of a block and marks what is aromatic in it. */
attn_status at_search_block(at_ring_search *search, const uint32_t *bonds, int64_t count);
/* Marks one ring (bonds[i] between atoms[i] and the next) if it is aromatic alone. */
void at_aromatic_ring(at_ring_search *search, const uint32_t *atoms, const uint32_t *bonds, int64_t count);
/* Marks what is aromatic of search->rings, alone or fused. */
void at_aromatic_rings(at_ring_search *search);

#endif
