/* nodes_scene.c: a graph as it is drawn: every pair of nodes with an edge once. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/nodes.h"

typedef struct pair {
    int32_t from, to; /* the smaller number first */
    int ways;         /* 1: from -> to, 2: to -> from, 3: both */
} pair;

static int compare_pairs(const void *left, const void *right) {
    const pair *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* Pairs in order, each once; how many. Loops are not drawn. */
static int64_t join_pairs(pair *pairs, int64_t count) {
    int64_t kept = 0;
    if (count > 1) qsort(pairs, (size_t)count, sizeof *pairs, compare_pairs);
    for (int64_t i = 0; i < count; i++) {
        if (kept > 0 && compare_pairs(&pairs[kept - 1], &pairs[i]) == 0)
            pairs[kept - 1].ways |= pairs[i].ways;
        else
            pairs[kept++] = pairs[i];
    }
    return kept;
}

attn_status at_nodes_scene(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                           int64_t count, at_scene *scene) {
    const at_graphs *graphs = ((const at_node_encoded *)(const void *)encoded)->graphs;
    int64_t begin = graphs->first_edge[example], edges = graphs->first_edge[example + 1] - begin, found = 0;
    (void)first;
    pair *pairs = at_allocate(scene->context, edges, sizeof *pairs, "a drawing");
    if (!pairs) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = begin; e < begin + edges; e++) {
        int32_t from = graphs->from[e], to = graphs->to[e];
        if (from == to) continue;
        pairs[found++] = from < to ? (pair){from, to, 1} : (pair){to, from, 2};
    }
    found = join_pairs(pairs, found);
    scene->kind = AT_SCENE_GRAPH;
    scene->rows = count;
    scene->from = at_allocate(scene->context, found, sizeof *scene->from, "a drawing");
    scene->to = at_allocate(scene->context, found, sizeof *scene->to, "a drawing");
    attn_status status = scene->from && scene->to ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    int one_way = 0;
    for (int64_t e = 0; e < found && status == ATTN_OK; e++) {
        int turned = pairs[e].ways == 2;
        scene->from[e] = turned ? pairs[e].to : pairs[e].from;
        scene->to[e] = turned ? pairs[e].from : pairs[e].to;
        one_way |= pairs[e].ways != 3;
    }
    scene->edges = status == ATTN_OK ? found : 0;
    scene->directed = one_way && !graphs->listed_once && at_node_input_of(input)->values.undirected != 1;
    at_release(scene->context, pairs);
    return status;
}
