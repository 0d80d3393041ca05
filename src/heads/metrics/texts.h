/* texts.h (private): shared by metrics of texts: code points as in Python's str, and a tree in which n-grams
 * are counted.
 */
#ifndef AT_HEADS_METRICS_TEXTS_H
#define AT_HEADS_METRICS_TEXTS_H

#include <stdint.h>

#include <attn/context.h>

/* ---- text ---- */

/* The code points of a text, and a second buffer for passes that make one text of another. All 0 is empty. */
typedef struct at_code_points {
    int32_t *codes, *other;
    int64_t count, room, other_room;
} at_code_points;

/* Reads UTF-8. A byte that is not well-formed becomes U+DC00 + byte, as Python's "surrogateescape" has it, so
 * that any bytes are a text. lowercase: as Python's str.lower(). */
attn_status at_code_points_read(attn_context *context, const char *text, int lowercase,
                                at_code_points *points);
void at_code_points_free(attn_context *context, at_code_points *points);

/* For a pass: room for `needed` in `other`, which is then written and swapped in with its count. */
attn_status at_code_points_other(attn_context *context, at_code_points *points, int64_t needed);
void at_code_points_swap(at_code_points *points, int64_t count);

/* White space as str.split() sees it. (at_unicode_space is that of words in data, with U+200B.) */
int at_code_point_space(int32_t code_point);

/* INVALID_ARGUMENT, with its text, unless there are `count` texts on both sides. */
attn_status at_metric_texts_check(attn_context *context, const char *const *answers, const char *const *right,
                                  int64_t count, const void *result);

/* ---- n-grams ---- */

/* A tree of sequences of symbols (0 or more), in a hash table by (parent, symbol): exact, whatever the
 * symbols are. Nodes are numbered from 0; those below `roots` are there from the start. Every node has a
 * count. All 0 is a tree without room. */
typedef struct at_tree_slot {
    uint64_t key;
    int64_t child; /* counted through all trees that the table has held: old ones are those below `first` */
} at_tree_slot;
typedef struct at_tree {
    at_tree_slot *slots;
    int32_t *counts;
    int64_t slot_room, count_room;
    int64_t mask, first, nodes;
} at_tree;

/* An empty tree of `roots` nodes with room for `most` (roots among them). */
attn_status at_tree_start(attn_context *context, at_tree *tree, int64_t roots, int64_t most);
void at_tree_free(attn_context *context, at_tree *tree);

/* The child of a node; at_tree_find gives -1 where there is none or `node` is -1. */
int32_t at_tree_add(at_tree *tree, int32_t node, int32_t symbol);
int32_t at_tree_find(const at_tree *tree, int32_t node, int32_t symbol);

/* Counts all n-grams of up to `order` symbols below a root. */
void at_tree_count(at_tree *tree, int32_t root, const int32_t *symbols, int64_t count, int order);

/* Adds to matches[n - 1] how many n-grams the symbols have in common with those counted, each as often as on
 * the side that has fewer. Uses the counts up. A symbol of -1 is in no n-gram of the tree. */
void at_tree_match(at_tree *tree, int32_t root, const int32_t *symbols, int64_t count, int order,
                   int64_t *matches);

/* ---- BLEU of samples (bleu.c) ---- */

/* What a pair of texts adds to BLEU: tokens of prediction and right text, n-grams and matches of 1 to 4. */
enum { AT_BLEU_COUNTS = 10 };
typedef struct at_bleu_memory {
    at_code_points points;
    at_tree tree;
} at_bleu_memory;
attn_status at_bleu_add(attn_context *context, const char *answer, const char *right, int lowercase,
                        at_bleu_memory *memory, double *counts);
void at_bleu_memory_free(attn_context *context, at_bleu_memory *memory);
/* Of sums of such numbers. */
double at_bleu_value(const double *counts);

/* How many n-grams `count` symbols have. */
static inline int64_t at_ngrams(int64_t count, int n) { return count >= n ? count - n + 1 : 0; }

#endif
