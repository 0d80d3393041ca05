/* graph.h: nodes, some of them labelled, and who sees whom, for the experiment graph and its real data. */
#ifndef CLI_LAB_GRAPH_H
#define CLI_LAB_GRAPH_H

#include "fit.h"

typedef struct lab_nodes {
    int64_t nodes, features, classes;
    int64_t offsets[2];        /* one sequence of all nodes */
    float *vectors;            /* [nodes][features] */
    int32_t *train, *test;     /* [nodes]: the class, or -1: not asked */
    attn_graph *edges, *alone; /* both with an edge of each node to itself; alone has no others */
} lab_nodes;

/* Room for them, all 0. False: lab_fail was called. */
bool lab_nodes_make(lab *report, lab_nodes *nodes, int64_t count, int64_t features, int64_t classes);
/* Edges, each listed once, instead of those that there are. */
bool lab_nodes_connect(lab *report, lab_nodes *nodes, const int64_t (*edges)[2], int64_t count);
void lab_nodes_release(lab_nodes *nodes);

/* Who sees whom. */
enum { LAB_ALONE, LAB_FULL, LAB_EDGES, LAB_MEAN, LAB_SIGHTS };
extern const char *const lab_sight_names[LAB_SIGHTS];
/* plain: layers without residual, norm and feed-forward. */
bool lab_nodes_fit(lab *report, const lab_nodes *nodes, int sight, float dropout, int64_t steps, bool plain,
                   uint64_t seed, lab_fitted *fitted);

/* The experiment on papers that cite each other (graph_papers.c). */
bool lab_graph_on_papers(lab *report);

#endif
