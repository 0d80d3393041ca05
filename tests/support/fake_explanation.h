/* fake_explanation.h: explanations that no model made, for tests of what is drawn of them. */
#ifndef TEST_SUPPORT_FAKE_EXPLANATION_H
#define TEST_SUPPORT_FAKE_EXPLANATION_H

#include "explain/explain.h"

/* Without rows, answers and maps; destroyed by attn_explanation_destroy. */
attn_explanation *fake_explanation(attn_context *context, const char *kind, const char *task,
                                   const char *unit);

/* Adds the words of a text with spaces between them. */
void fake_names(attn_explanation *explanation, at_strings *list, const char *words);
/* "w1", "w2", ... */
void fake_numbered(attn_explanation *explanation, at_strings *list, const char *prefix, int64_t count);
/* One probability for each answer, and with contributions one number for each row. */
void fake_numbers(attn_explanation *explanation, int contributions);

/* The next layer of a part. Rows are a softmax of random scores, the sharper the larger `sharpness`, most for
 * keys nearby; causal: none for later keys. */
typedef struct fake_layer {
    attn_map_part part;
    int64_t heads, queries, keys;
    double sharpness;
    int causal, gradients;
    int64_t reach; /* above 0: a window of that many keys to both sides */
    int graph;     /* along the edges of the scene, and to oneself */
} fake_layer;
void fake_map(attn_explanation *explanation, fake_layer layer);

/* Scenes; rows are named, too. */
void fake_graph(attn_explanation *explanation, int64_t nodes, int64_t communities);
void fake_caffeine(attn_explanation *explanation);
void fake_frames(attn_explanation *explanation, int64_t rows, int64_t bins);
void fake_picture(attn_explanation *explanation, int64_t side, int64_t patch);

#endif
