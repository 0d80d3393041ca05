/* bleu.c: BLEU of a corpus (Papineni et al. 2002): the geometric mean of the shares of n-grams of the
 * predictions, n = 1 .. 4, that are in the references, times a penalty for predictions that are shorter than
 * these.
 *
 * Equal to sacrebleu with its defaults. A text is converted to lower case first, if requested, then split
 * into words by the rules of the tokenizer 13a (that of mteval-v13a, for Western languages):
 *
 *     1. <skipped> is removed, and a hyphen with the line end after it; other line ends are spaces
 *     2. &quot; &amp; &lt; &gt; are replaced by their characters, in this order
 *     3. ASCII punctuation except ' , - . is a word by itself
 *     4. . and , are words by themselves, unless a digit comes before
 *     5. . and , are words by themselves, unless a digit comes after
 *     6. - after a digit is a word by itself
 *
 * Each rule is one pass over the result of the previous one, from left to right, which continues after what
 * it has just changed; in ",," after a letter, for example, rule 4 takes the letter with the first comma, and
 * finds only the second one.
 */
#include <math.h>
#include <string.h>

#include <attn/metrics.h>

#include "base/context.h"
#include "base/options.h"
#include "heads/metrics/texts.h"

enum { ORDERS = 4 };

/* ---- words ---- */

static int is_digit(int32_t code) { return code >= '0' && code <= '9'; }
static int is_point(int32_t code) { return code == '.' || code == ','; }
static int is_alone(int32_t code) {
    return (code >= '!' && code <= '&') || (code >= '(' && code <= '+') || code == '/' ||
           (code >= ':' && code <= '@') || (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
}

/* Every `old` becomes `new`, or nothing if that is 0; in place, since a code point is not longer than `old`.
 */
static void replace(at_code_points *points, const char *old, int32_t new) {
    int64_t length = (int64_t)strlen(old), used = 0;
    for (int64_t i = 0; i < points->count;) {
        int64_t same = 0;
        while (same < length && i + same < points->count && points->codes[i + same] == old[same]) same++;
        if (same < length) {
            points->codes[used++] = points->codes[i++];
        } else {
            if (new) points->codes[used++] = new;
            i += length;
        }
    }
    points->count = used;
}

static int contains(const at_code_points *points, int32_t code) {
    for (int64_t i = 0; i < points->count; i++) {
        if (points->codes[i] == code) return 1;
    }
    return 0;
}

/* Rules 1 and 2. */
static void unescape(at_code_points *points) {
    if (contains(points, '<')) replace(points, "<skipped>", 0);
    if (contains(points, '\n')) {
        replace(points, "-\n", 0);
        replace(points, "\n", ' ');
    }
    if (contains(points, '&')) {
        replace(points, "&quot;", '"');
        replace(points, "&amp;", '&');
        replace(points, "&lt;", '<');
        replace(points, "&gt;", '>');
    }
}

/* Whether one of the rules 3 .. 6 has something to do at a code point, with the one after it (rule 3:
 * without). */
static int rule_applies(int rule, int32_t code, int32_t next) {
    switch (rule) {
    case 3: return is_alone(code);
    case 4: return !is_digit(code) && is_point(next);
    case 5: return is_point(code) && !is_digit(next);
    default: return is_digit(code) && next == '-';
    }
}

/* Makes words of . , and so on by putting spaces around them. Rule 3 puts a space at both ends of the text
 * too, so that those after it find something beside every character. */
static attn_status apply_rule(attn_context *context, at_code_points *points, int rule) {
    if (points->count > INT64_MAX / 16)
        return at_fail(context, ATTN_OVERFLOW, "a text is too long for a metric");
    attn_status status = at_code_points_other(context, points, 3 * points->count + 2);
    if (status != ATTN_OK) return status;
    int64_t used = 0, count = points->count;
    const int32_t *codes = points->codes;
    int32_t *out = points->other;
    if (rule == 3) out[used++] = ' ';
    for (int64_t i = 0; i < count; i++) {
        int applies = rule == 3 ? rule_applies(rule, codes[i], 0)
                                : i + 1 < count && rule_applies(rule, codes[i], codes[i + 1]);
        if (applies && (rule == 3 || rule == 5)) out[used++] = ' ';
        out[used++] = codes[i];
        if (!applies) continue;
        out[used++] = ' ';
        if (rule == 3) continue;
        out[used++] = codes[++i];
        if (rule != 5) out[used++] = ' ';
    }
    if (rule == 3) out[used++] = ' ';
    at_code_points_swap(points, used);
    return ATTN_OK;
}

/* The text with spaces between its words. */
static attn_status tokenize(attn_context *context, const char *text, int lowercase, at_code_points *points) {
    attn_status status = at_code_points_read(context, text, lowercase, points);
    if (status != ATTN_OK) return status;
    while (points->count && at_code_point_space(points->codes[points->count - 1])) points->count--;
    unescape(points);
    for (int rule = 3; rule <= 6 && status == ATTN_OK; rule++) status = apply_rule(context, points, rule);
    return status;
}

/* ---- n-grams ---- */

/* The tree of a pair has words as sequences of characters below one root, and n-grams as sequences of words,
 * each the number of its node, below the other. */
enum { WORDS, NGRAMS, ROOTS };

typedef struct counts {
    int64_t answer_tokens, right_tokens;
    int64_t ngrams[ORDERS], matches[ORDERS];
} counts;

/* Replaces a tokenized text by its words; those that are not in the tree are added, or -1. In place: a word
 * has one character at least. */
static void number_words(at_tree *tree, int add, at_code_points *points) {
    int64_t used = 0, i = 0;
    while (i < points->count) {
        if (at_code_point_space(points->codes[i])) {
            i++;
            continue;
        }
        int32_t node = WORDS;
        for (; i < points->count && !at_code_point_space(points->codes[i]); i++) {
            node =
                add ? at_tree_add(tree, node, points->codes[i]) : at_tree_find(tree, node, points->codes[i]);
        }
        points->codes[used++] = node;
    }
    points->count = used;
}

/* How many nodes a tokenized text needs at most. */
static int64_t nodes_of(const at_code_points *points) {
    int64_t characters = 0, words = 0;
    for (int64_t i = 0; i < points->count; i++) {
        if (at_code_point_space(points->codes[i])) continue;
        characters++;
        words += i == 0 || at_code_point_space(points->codes[i - 1]);
    }
    return ROOTS + characters + ORDERS * words;
}

static attn_status count_pair(attn_context *context, const char *answer, const char *right, int lowercase,
                              at_code_points *points, at_tree *tree, counts *total) {
    attn_status status = tokenize(context, right, lowercase, points);
    if (status != ATTN_OK) return status;
    status = at_tree_start(context, tree, ROOTS, nodes_of(points));
    if (status != ATTN_OK) return status;
    number_words(tree, 1, points);
    at_tree_count(tree, NGRAMS, points->codes, points->count, ORDERS);
    total->right_tokens += points->count;

    status = tokenize(context, answer, lowercase, points);
    if (status != ATTN_OK) return status;
    number_words(tree, 0, points);
    at_tree_match(tree, NGRAMS, points->codes, points->count, ORDERS, total->matches);
    total->answer_tokens += points->count;
    for (int n = 1; n <= ORDERS; n++) total->ngrams[n - 1] += at_ngrams(points->count, n);
    return ATTN_OK;
}

/* An order without a match counts as if there were 1/2 a match, the next one such as 1/4, and so on. If
 * nothing matches at all, or there are no n-grams of an order, it is 0. */
static attn_bleu bleu_of(const counts *total) {
    attn_bleu bleu = {.size = sizeof bleu,
                      .brevity_penalty = 1,
                      .answer_tokens = total->answer_tokens,
                      .right_tokens = total->right_tokens};
    if (total->answer_tokens < total->right_tokens) {
        bleu.brevity_penalty =
            total->answer_tokens ? exp(1 - (double)total->right_tokens / (double)total->answer_tokens) : 0;
    }
    if (!total->matches[0]) return bleu; /* nor is there a longer one */
    double smoothing = 1, sum = 0;
    for (int n = 0; n < ORDERS; n++) {
        if (!total->ngrams[n]) return bleu;
        if (!total->matches[n]) smoothing *= 2;
        bleu.precisions[n] = total->matches[n] ? 100 * (double)total->matches[n] / (double)total->ngrams[n]
                                               : 100 / (smoothing * (double)total->ngrams[n]);
        sum += log(bleu.precisions[n]);
    }
    bleu.score = bleu.brevity_penalty * exp(sum / ORDERS);
    return bleu;
}

void attn_bleu_init_sized(attn_bleu *bleu, size_t size) {
    attn_bleu own = {.size = sizeof own};
    at_options_give(bleu, size, &own, sizeof own);
}

attn_status attn_metric_bleu(attn_context *context, const char *const *answers, const char *const *right,
                             int64_t count, int lowercase, attn_bleu *bleu) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    attn_status status = at_metric_texts_check(context, answers, right, count, bleu);
    if (status == ATTN_OK)
        status = at_result_check(context, "bleu", "attn_bleu_init", bleu,
                                 AT_FIRST_SIZE(attn_bleu, right_tokens), sizeof *bleu);
    if (status != ATTN_OK) return status;
    counts total = {.answer_tokens = 0};
    at_code_points points = {.count = 0};
    at_tree tree = {.nodes = 0};
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        status = count_pair(context, answers[i], right[i], lowercase, &points, &tree, &total);
    }
    at_code_points_free(context, &points);
    at_tree_free(context, &tree);
    attn_bleu own = bleu_of(&total);
    if (status == ATTN_OK) at_result_give(bleu, &own, sizeof own);
    return status;
}

/* ---- samples ---- */

attn_status at_bleu_add(attn_context *context, const char *answer, const char *right, int lowercase,
                        at_bleu_memory *memory, double *into) {
    counts pair = {.answer_tokens = 0};
    attn_status status = count_pair(context, answer, right, lowercase, &memory->points, &memory->tree, &pair);
    if (status != ATTN_OK) return status;
    into[0] += (double)pair.answer_tokens;
    into[1] += (double)pair.right_tokens;
    for (int n = 0; n < ORDERS; n++) {
        into[2 + n] += (double)pair.ngrams[n];
        into[2 + ORDERS + n] += (double)pair.matches[n];
    }
    return ATTN_OK;
}

void at_bleu_memory_free(attn_context *context, at_bleu_memory *memory) {
    at_code_points_free(context, &memory->points);
    at_tree_free(context, &memory->tree);
}

double at_bleu_value(const double *sums) {
    counts total = {.answer_tokens = (int64_t)sums[0], .right_tokens = (int64_t)sums[1]};
    for (int n = 0; n < ORDERS; n++) {
        total.ngrams[n] = (int64_t)sums[2 + n];
        total.matches[n] = (int64_t)sums[2 + ORDERS + n];
    }
    return bleu_of(&total).score;
}
