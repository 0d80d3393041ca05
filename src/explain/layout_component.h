/* layout_component.h: one connected graph, between layout_graph.c, which cuts it out and sets it beside
 * others, and layout_component.c, which places its nodes. */
#ifndef AT_EXPLAIN_LAYOUT_COMPONENT_H
#define AT_EXPLAIN_LAYOUT_COMPONENT_H

#include <stdint.h>

#include <attn/context.h>

/* Neighbours of node i: beside[first[i] .. first[i + 1]), without loops, rising, each once. */
typedef struct at_layout_neighbours {
    int64_t nodes;
    int64_t *first, *beside;
} at_layout_neighbours;

/* Places a connected graph of two nodes or more, with edges of a length of about 1. `random` is mixed into
 * what breaks ties. */
attn_status at_place_component(attn_context *context, const at_layout_neighbours *graph, uint64_t random,
                               double *x, double *y);

#endif
