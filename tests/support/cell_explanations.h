/* cell_explanations.h: the explanation of the first and the last example by the model of a cell. */
#ifndef TEST_SUPPORT_CELL_EXPLANATIONS_H
#define TEST_SUPPORT_CELL_EXPLANATIONS_H

#include <attn/attn.h>

/* Fails the test, which names the cell, if a number is not finite or weights do not sum to 1. */
void cell_explain(attn_context *context, const char *name, attn_predictor *predictor,
                  const attn_dataset *dataset);

#endif
