/* bonds.h: how bonds and atoms of a molecule look: letters, lines, rings. */
#ifndef AT_EXPLAIN_BONDS_H
#define AT_EXPLAIN_BONDS_H

#include "explain/links.h"

/* A molecule on paper. */
typedef struct at_formula {
    at_drawing *drawing;
    const at_scene *scene;
    double *x, *y;   /* [rows], units of the paper */
    double bond;     /* units a bond */
    int64_t *degree; /* [rows] */
    double *side;    /* [edges]: where the second line of a double bond stands: -1, 1; 0: on both sides */
    double *reach;   /* [rows]: how far bonds stay away from an atom with letters; 0: it has none */
} at_formula;

/* Where the atoms of a scene stand, in bonds, y upwards; cis and trans as the scene says. */
attn_status at_formula_lay_out(attn_context *context, const at_scene *scene, double *x, double *y);
attn_status at_formula_place(at_drawing *drawing, at_formula *formula);
void at_formula_free(at_formula *formula);
/* The lines of a bond. */
void at_formula_bond(const at_formula *formula, int64_t edge, unsigned color);
/* The letters of an atom, with hydrogens and charge; plain: not in the colour of the element. */
void at_formula_atom(const at_formula *formula, int64_t atom, int plain);

#endif
