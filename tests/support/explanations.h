/* explanations.h: explanations made by hand, for drawings: no model, the numbers are said. */
#ifndef TEST_SUPPORT_EXPLANATIONS_H
#define TEST_SUPPORT_EXPLANATIONS_H

#include "explain/explain.h"

/* Rows are the names, up to NULL. To be destroyed with attn_explanation_destroy. */
attn_explanation *test_explanation(attn_context *context, const char *const *names);
/* The same with so many rows that are called "0", "1", ... */
attn_explanation *test_explanation_rows(attn_context *context, int64_t rows);
void test_explanation_answer(attn_explanation *explanation, const char *answer, double probability);
/* One more symbol that was written. */
void test_explanation_write(attn_explanation *explanation, const char *symbol);
/* One more map, full, whose rows sum to 1: weights that look like those of a model, from the seed. */
attn_map *test_explanation_map(attn_explanation *explanation, attn_map_part part, int64_t heads,
                               int64_t queries, int64_t keys, uint64_t seed);
/* One more map along the edges of the scene, both ways and to the node itself. */
attn_map *test_explanation_edges(attn_explanation *explanation, int64_t heads, uint64_t seed);
/* Contributions between -1 and 1. */
void test_explanation_contribute(attn_explanation *explanation, uint64_t seed);
/* A molecule: symbols up to NULL, bonds as from, to, order up to -1. */
void test_explanation_molecule(attn_explanation *explanation, const char *const *symbols, const int *bonds);

#endif
