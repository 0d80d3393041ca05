/* report_sequences.c: how right answers of their own length are, and how well running text is said.
 *
 * Rows with the same source are several right answers to one question: it is asked once, and the answer
 * counts against the nearest of them, by edit distance over symbols (of equally near ones the first). BLEU
 * and chrF are of rows, each with its own right answer, as other tools have them.
 */
#include "train/report_sequences.h"

#include <math.h>
#include <string.h>

#include <attn/scores.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/unicode.h"

/* A text as numbers of its pieces, between spaces or character by character. */
typedef struct spelled {
    int32_t *pieces;
    int64_t count, room;
} spelled;

typedef struct counting {
    attn_context *context;
    at_vocabulary words; /* numbers of words, for both sides */
    spelled answer, right;
} counting;

static attn_status spell(counting *work, const char *text, int by_character, spelled *into) {
    size_t length = strlen(text);
    attn_status status = at_grow(work->context, &into->pieces, &into->room, (int64_t)length + 1,
                                 sizeof *into->pieces, "the symbols of a text");
    into->count = 0;
    for (size_t i = 0; i < length && status == ATTN_OK;) {
        int64_t number;
        size_t size;
        if (by_character) {
            int32_t code_point;
            size = (size_t)at_unicode_next(text + i, length - i, &code_point);
            number = code_point;
        } else {
            size = strcspn(text + i, " ");
            if (size > 0) status = at_vocabulary_add(work->context, &work->words, text + i, size, 1, &number);
            if (size == 0) {
                i++;
                continue;
            }
        }
        if (status == ATTN_OK) into->pieces[into->count++] = (int32_t)number;
        i += size;
    }
    return status;
}

static attn_status distance_of(counting *work, const char *answer, const char *right, int by_character,
                               int64_t *distance, int64_t *length) {
    attn_status status = spell(work, answer, by_character, &work->answer);
    if (status == ATTN_OK) status = spell(work, right, by_character, &work->right);
    if (status == ATTN_OK)
        status = attn_edit_distance(work->context, work->answer.pieces, work->answer.count,
                                    work->right.pieces, work->right.count, distance);
    *length = work->right.count;
    return status;
}

typedef struct totals {
    int64_t questions, exact, symbol_errors, symbols, word_errors, words;
} totals;

/* The rows rows[0 .. count - 1] have one source, and `answer` is to it. */
static attn_status count_question(counting *work, const at_strings *targets, const char *answer,
                                  const int64_t *rows, int64_t count, int symbols, totals *sums) {
    int64_t nearest = -1, nearest_length = 0, nearest_row = 0;
    int exact = 0;
    for (int64_t i = 0; i < count; i++) {
        const char *right = at_string(targets, rows[i]);
        int64_t distance, length;
        attn_status status = distance_of(work, answer, right, !symbols, &distance, &length);
        if (status != ATTN_OK) return status;
        exact |= symbols ? distance == 0 : strcmp(answer, right) == 0; /* more spaces are no other symbols */
        if (nearest >= 0 && distance >= nearest) continue;
        nearest = distance;
        nearest_length = length;
        nearest_row = rows[i];
    }
    int64_t word_errors = !exact, words = 1;
    if (!symbols) {
        attn_status status =
            distance_of(work, answer, at_string(targets, nearest_row), 0, &word_errors, &words);
        if (status != ATTN_OK) return status;
    }
    sums->questions++;
    sums->exact += exact;
    sums->symbol_errors += nearest;
    sums->symbols += nearest_length;
    sums->word_errors += word_errors;
    sums->words += words;
    return ATTN_OK;
}

/* Rows by their sources: next[i] is the next row with the source of row i, -1 if there is none; first[i] is 1
 * where no row before has it. */
static attn_status group(attn_context *context, const attn_dataset *pairs, int64_t *next,
                         unsigned char *first) {
    at_vocabulary sources = {.slot_count = 0};
    int64_t *last = at_allocate(context, pairs->examples, sizeof *last, "the sources of pairs");
    attn_status status = last ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < pairs->examples && status == ATTN_OK; i++) {
        int64_t before = sources.strings.count, number = 0;
        status = at_vocabulary_add(context, &sources, at_string(&pairs->tokens, i),
                                   at_string_length(&pairs->tokens, i), 1, &number);
        if (status != ATTN_OK) break;
        next[i] = -1;
        first[i] = number == before;
        if (!first[i]) next[last[number]] = i;
        last[number] = i;
    }
    at_release(context, last);
    at_vocabulary_free(context, &sources);
    return status;
}

static attn_status count_all(counting *work, const attn_dataset *pairs, const at_strings *targets,
                             const attn_answers *answers, int symbols, totals *sums) {
    attn_context *context = work->context;
    int64_t *next = at_allocate(context, pairs->examples, sizeof *next, "the sources of pairs");
    int64_t *rows = at_allocate(context, pairs->examples, sizeof *rows, "the sources of pairs");
    unsigned char *first = at_allocate(context, pairs->examples, 1, "the sources of pairs");
    attn_status status = next && rows && first ? group(context, pairs, next, first) : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < pairs->examples && status == ATTN_OK; i++) {
        int64_t count = 0;
        if (!first[i]) continue;
        for (int64_t row = i; row >= 0; row = next[row]) rows[count++] = row;
        status = count_question(work, targets, attn_answers_text(answers, i, 0), rows, count, symbols, sums);
    }
    at_release(context, next);
    at_release(context, rows);
    at_release(context, first);
    return status;
}

static attn_status text_scores(attn_context *context, const at_strings *targets, const attn_answers *answers,
                               int lowercase, double *bleu, double *chrf) {
    int64_t count = targets->count;
    const char **said = at_allocate(context, count, sizeof *said, "answers");
    const char **right = at_allocate(context, count, sizeof *right, "answers");
    attn_status status = said && right ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    attn_bleu whole = {0};
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        said[i] = attn_answers_text(answers, i, 0);
        right[i] = at_string(targets, i);
    }
    if (status == ATTN_OK) status = attn_score_bleu(context, said, right, count, lowercase, &whole);
    if (status == ATTN_OK) status = attn_score_chrf(context, said, right, count, lowercase, chrf);
    *bleu = whole.score;
    at_release(context, said);
    at_release(context, right);
    return status;
}

/* What a model that knows no capitals can say. */
static attn_status lower_all(attn_context *context, const at_strings *texts, at_strings *lower) {
    char *buffer = NULL;
    int64_t room = 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < texts->count && status == ATTN_OK; i++) {
        const char *text = at_string(texts, i);
        size_t length = at_string_length(texts, i);
        status = at_lower_case(context, &text, &length, &buffer, &room);
        if (status == ATTN_OK) status = at_strings_add(context, lower, text, length);
    }
    at_release(context, buffer);
    return status;
}

static double ratio(int64_t part, int64_t whole) { return whole ? (double)part / (double)whole : 0; }

static attn_status compare_answers(const attn_model *model, const attn_dataset *pairs,
                                   const attn_answers *answers, int lowercase, at_sequence_metrics *metrics) {
    counting work = {.context = model->context};
    totals sums = {0};
    int symbols = model->target->options.unit == AT_UNIT_SYMBOLS;
    double bleu = 0, chrf = 0;
    at_strings lower = {.count = 0};
    const at_strings *targets = model->target->options.lowercase ? &lower : &pairs->targets;
    attn_status status = ATTN_OK;
    if (targets == &lower) status = lower_all(model->context, &pairs->targets, &lower);
    if (status == ATTN_OK) status = count_all(&work, pairs, targets, answers, symbols, &sums);
    at_vocabulary_free(model->context, &work.words);
    at_release(model->context, work.answer.pieces);
    at_release(model->context, work.right.pieces);
    if (status == ATTN_OK) status = text_scores(model->context, targets, answers, lowercase, &bleu, &chrf);
    at_strings_free(model->context, &lower);
    if (status != ATTN_OK) return status;
    *metrics = (at_sequence_metrics){.examples = pairs->examples,
                                     .compared = sums.questions,
                                     .count = 5,
                                     .list = {{"exact_match", ratio(sums.exact, sums.questions)},
                                              {"word_error_rate", ratio(sums.word_errors, sums.words)},
                                              {symbols ? "symbol_error_rate" : "character_error_rate",
                                               ratio(sums.symbol_errors, sums.symbols)},
                                              {"bleu", bleu},
                                              {"chrf", chrf}}};
    for (int64_t e = 0; e < pairs->examples; e++) metrics->units += attn_answers_symbols(answers, e, 0);
    return ATTN_OK;
}

static attn_status score_running(attn_model *model, const attn_dataset *dataset,
                                 at_sequence_metrics *metrics) {
    at_surprise surprise;
    attn_status status = at_running_surprise(model, dataset, &surprise);
    if (status != ATTN_OK) return status;
    double a_unit = surprise.loss / (double)(surprise.units ? surprise.units : 1);
    *metrics = (at_sequence_metrics){
        .examples = dataset->examples,
        .units = surprise.units,
        .compared = surprise.units,
        .count = 4,
        .list = {{"bits_per_byte", surprise.loss / log(2.0) / (double)(surprise.bytes ? surprise.bytes : 1)},
                 {"perplexity", exp(a_unit)},
                 {"loss", a_unit},
                 {"unknown_units", (double)surprise.unknown}}};
    return ATTN_OK;
}

attn_status at_sequences_compare(attn_model *model, const attn_dataset *dataset,
                                 const attn_search_options *search, int lowercase,
                                 at_sequence_metrics *metrics) {
    if (model->values.task == AT_TASK_LM) return score_running(model, dataset, metrics);
    if (dataset->columns.count != 1 || dataset->tokenized)
        return at_fail(model->context, ATTN_INVALID_ARGUMENT,
                       "%.300s: has no right answers: lines are source TAB target, or two files are given",
                       at_string(&dataset->name, 0));
    attn_answers *answers;
    attn_status status = attn_model_generate(model, dataset, search, &answers);
    if (status != ATTN_OK) return status;
    status = compare_answers(model, dataset, answers, lowercase, metrics);
    attn_answers_destroy(answers);
    return status;
}
