/* graph.c: attn/graph.h: attention along the edges of a graph: each node looks at its neighbours alone. */
#include <attn/attention.h>
#include <attn/graph.h>
#include <stdio.h>

enum { NODES = 4, EDGES = 3 };

int main(void) {
    static const int64_t looks[EDGES] = {0, 0, 2},
                         at[EDGES] = {1, 3, 1}; /* node 0 looks at 1 and 3, node 2 at 1 */
    static float zero[NODES], value[NODES] = {1, 2, 3, 4}, output[NODES];
    attn_context *context;
    attn_graph *graph;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_graph_from_edges(context, NODES, NODES, EDGES, looks, at, &graph) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.graph = graph;
    attn_tensor q = attn_tensor_rows(zero, NODES, 1, 1), v = attn_tensor_rows(value, NODES, 1, 1);
    attn_tensor o = attn_tensor_rows(output, NODES, 1, 1);
    if (attn_attention_forward(context, &pattern, NULL, &q, &q, &v, &o, NULL, NULL) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    for (int i = 0; i < NODES; i++)
        printf("node %d: %.1f\n", i, (double)output[i]); /* 0 where there is no edge */
    attn_graph_destroy(graph);
    attn_context_destroy(context);
    return output[0] != 3.0f || output[1] != 0.0f || output[2] != 2.0f;
}
