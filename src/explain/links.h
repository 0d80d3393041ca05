/* links.h: weights between the nodes of a graph or the atoms of a molecule, without a dense matrix where the
 * map has only edges. */
#ifndef AT_EXPLAIN_LINKS_H
#define AT_EXPLAIN_LINKS_H

#include "explain/drawing.h"

typedef struct at_links {
    const at_drawing *drawing;
    at_weights dense; /* numbers NULL: the map is read */
    int is_signed;
} at_links;

/* Without attention all links are absent. */
attn_status at_links_open(const at_drawing *drawing, at_links *links);
void at_links_close(at_links *links);
/* What a query gives a key; NaN: it does not look there. */
double at_links_weight(const at_links *links, int64_t query, int64_t key);

/* The predictions of rows as colours: one for each label, in the order of their first row; -1: there are more
 * labels than colours. */
typedef struct at_classes {
    attn_context *context;
    int64_t *class_of; /* [rows] */
    int64_t first[8];  /* a row of each class */
    int count, others;
} at_classes;
attn_status at_classes_find(const at_drawing *drawing, int64_t rows, const int64_t *shown,
                            at_classes *classes);
void at_classes_free(at_classes *classes);
unsigned at_class_color(const at_canvas *canvas, int64_t number);
/* The legend below y, as wide as `right`; returns where it ends. */
double at_classes_legend(at_drawing *drawing, const at_classes *classes, double x, double y, double right);

#endif
