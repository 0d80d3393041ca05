/* layout.h: where the nodes of a graph and the atoms of a molecule are in a drawing.
 *
 * Pure functions of their arguments: no clock, no global state. The same call gives the same bits on one
 * machine; between machines the last bits may differ with the mathematical library, so drawings round.
 */
#ifndef AT_EXPLAIN_LAYOUT_H
#define AT_EXPLAIN_LAYOUT_H

#include <stdint.h>

#include <attn/context.h>

/* Places the nodes of a graph (edges without direction; loops and repeated edges are allowed) by their
 * distances along edges, or, in components of more than AT_LAYOUT_STRESS_MOST nodes, by forces. Components
 * are beside each other, the largest first. The drawing is scaled by one factor for x and y, so that the
 * longer side of its bounding box runs from 0 to 1; along the shorter side it is centred at 0.5. A node alone
 * is at (0.5, 0.5). y grows downwards or upwards, as the drawing likes.
 * Errors, with their text: INVALID_ARGUMENT (an edge to a node that does not exist), OUT_OF_MEMORY. */
#define AT_LAYOUT_STRESS_MOST 400
attn_status at_layout_graph(attn_context *context, int64_t nodes, int64_t edges, const int64_t *from,
                            const int64_t *to, uint64_t seed, double *x, double *y);

/* The `most` nodes that are nearest to `centre` by hops, itself first; of those that are equally far the ones
 * with the lower numbers. chosen has room for `most`; *count is how many there are: fewer where the component
 * ends. Edges have no direction. */
attn_status at_neighbourhood(attn_context *context, int64_t nodes, int64_t edges, const int64_t *from,
                             const int64_t *to, int64_t centre, int64_t most, int64_t *chosen,
                             int64_t *count);

/* What a drawing needs to know of a molecule. order: 1, 2, 3, or 4 for aromatic (layout takes those of a
 * Kekulé form just as well). direction, or NULL where cis and trans do not count: that of single bonds beside
 * double bonds, as SMILES writes it between `from` and `to`: 1 '/', 2 '\', 0 none. */
typedef struct at_molecule_sketch {
    int64_t atoms, bonds;
    const int64_t *from, *to;
    const int8_t *order;
    const int8_t *direction;
} at_molecule_sketch;

/* Coordinates as chemists draw: bonds of length 1, regular rings, chains in zigzag, cis and trans outside of
 * rings as written, the long axis horizontal, fragments beside each other from left to right, the middle of
 * the bounding box at (0, 0); y grows upwards. In bridged ring systems and where a drawing would be crowded,
 * bonds are longer or shorter than 1. Molecules may have loops and repeated bonds; they are ignored. */
attn_status at_layout_molecule(attn_context *context, const at_molecule_sketch *molecule, double *x,
                               double *y);

#endif
