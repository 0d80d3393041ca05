/* scores.h: how close texts are to the right ones.
 *
 * The texts of a set of answers are compared with one right text each; a text that may be said in several
 * ways is for the caller to choose from (attn_report does: see report.h).
 */
#ifndef ATTN_SCORES_H
#define ATTN_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* Levenshtein's distance: the fewest insertions, deletions and replacements that make one sequence of symbols
 * of the other. Symbols are numbers; extra memory is that of the shorter one. */
ATTN_API attn_status attn_edit_distance(attn_context *context, const int32_t *a, int64_t a_count,
                                        const int32_t *b, int64_t b_count, int64_t *distance);

/* BLEU of a corpus, equal to that of sacrebleu with its defaults: tokenizer 13a, n-grams up to 4, exponential
 * smoothing; lowercase as sacrebleu's. score and precisions are percents. Texts are UTF-8, without line ends;
 * bytes that are no UTF-8 count as characters that are equal to themselves only. No texts at all score 0. */
typedef struct attn_bleu {
    double score;
    double precisions[4];
    double brevity_penalty;
    int64_t answer_tokens, right_tokens;
} attn_bleu;
ATTN_API attn_status attn_score_bleu(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, attn_bleu *bleu);

/* chrF of a corpus in percent, equal to sacrebleu's chrF2 with its defaults (characters up to 6, no words,
 * beta 2, spaces left out). */
ATTN_API attn_status attn_score_chrf(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, double *score);

ATTN_END_DECLS

#endif
