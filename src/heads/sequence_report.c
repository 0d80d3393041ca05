/* sequence_report.c: metrics of predicted sequences, and writing them.
 *
 * Rows with the same source are several references: the source is predicted once, and the prediction is
 * compared with the nearest of them, by edit distance over symbols (with equal distances the first). BLEU and
 * chrF are per row, each with its own reference, as in other tools.
 */
#include "heads/sequence.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <attn/metrics.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"
#include "heads/metrics/texts.h"
#include "heads/resample.h"

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

/* What a question adds to the metrics, for samples of questions: exact, questions, errors and words, errors
 * and symbols, and the counts of BLEU of its rows. */
enum { EXACT = 0, WORD_ERRORS = 2, SYMBOL_ERRORS = 4, BLEU = 6, COLUMNS = BLEU + AT_BLEU_COUNTS };

typedef struct samples {
    at_statistics *statistics; /* NULL: nobody asks for them */
    at_bleu_memory memory;
    int lowercase;
} samples;

static attn_status add_sample(attn_context *context, const at_strings *targets, const char *answer,
                              const int64_t *rows, int64_t count, const totals *before, const totals *after,
                              samples *into) {
    double *sums = at_statistics_of(into->statistics, before->questions);
    const int64_t added[] = {after->exact - before->exact,
                             1,
                             after->word_errors - before->word_errors,
                             after->words - before->words,
                             after->symbol_errors - before->symbol_errors,
                             after->symbols - before->symbols};
    for (int i = 0; i < BLEU; i++) sums[i] += (double)added[i];
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++)
        status = at_bleu_add(context, answer, at_string(targets, rows[i]), into->lowercase, &into->memory,
                             sums + BLEU);
    return status;
}

static attn_status begin_samples(attn_context *context, int64_t questions, int symbols, samples *into) {
    attn_status status = at_statistics_create(context, questions, COLUMNS, 0, &into->statistics);
    if (status != ATTN_OK) return status;
    at_statistics_metric(into->statistics, "exact_match", AT_RATIO, EXACT);
    at_statistics_metric(into->statistics, "word_error_rate", AT_RATIO, WORD_ERRORS);
    at_statistics_metric(into->statistics, symbols ? "symbol_error_rate" : "character_error_rate", AT_RATIO,
                         SYMBOL_ERRORS);
    at_statistics_metric(into->statistics, "bleu", AT_BLEU, BLEU);
    return ATTN_OK;
}

/* Examples by their sources: next[i] is the next one with the source of example i, -1 if there is none;
 * first[i] is 1 where no example before has it. */
static attn_status group(attn_context *context, const at_encoded *encoded, int64_t *next,
                         unsigned char *first) {
    at_vocabulary sources = {.slot_count = 0};
    const attn_dataset *dataset = encoded->dataset;
    int64_t *last = at_allocate(context, encoded->examples, sizeof *last, "the sources of pairs");
    attn_status status = last ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < encoded->examples && status == ATTN_OK; i++) {
        int64_t before = sources.strings.count, number = 0;
        uint64_t source =
            dataset->kind->hash(dataset->content, dataset->offsets[i], dataset->offsets[i + 1], 0);
        status = at_vocabulary_add(context, &sources, (const char *)&source, sizeof source, 1, &number);
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

static const char *best_text(const at_sequence_answers *answers, int64_t example) {
    return at_string(&answers->texts, answers->list[example * answers->n_best].text);
}

static attn_status count_all(counting *work, const at_encoded *encoded, const at_strings *targets,
                             const at_sequence_answers *answers, int symbols, totals *sums, samples *into) {
    attn_context *context = work->context;
    int64_t examples = encoded->examples;
    int64_t *next = at_allocate(context, examples, sizeof *next, "the sources of pairs");
    int64_t *rows = at_allocate(context, examples, sizeof *rows, "the sources of pairs");
    unsigned char *first = at_allocate(context, examples, 1, "the sources of pairs");
    attn_status status = next && rows && first ? group(context, encoded, next, first) : ATTN_OUT_OF_MEMORY;
    int64_t questions = 0;
    for (int64_t i = 0; i < examples && status == ATTN_OK; i++) questions += first[i];
    if (status == ATTN_OK && into) status = begin_samples(context, questions, symbols, into);
    for (int64_t i = 0; i < examples && status == ATTN_OK; i++) {
        int64_t count = 0;
        if (!first[i]) continue;
        for (int64_t row = i; row >= 0; row = next[row]) rows[count++] = row;
        totals before = *sums;
        const char *answer = best_text(answers, i);
        status = count_question(work, targets, answer, rows, count, symbols, sums);
        if (status == ATTN_OK && into)
            status = add_sample(context, targets, answer, rows, count, &before, sums, into);
    }
    at_release(context, next);
    at_release(context, rows);
    at_release(context, first);
    return status;
}

static attn_status text_metrics(attn_context *context, const at_strings *targets,
                                const at_sequence_answers *answers, int lowercase, double *bleu,
                                double *chrf) {
    int64_t count = targets->count;
    const char **said = at_allocate(context, count, sizeof *said, "answers");
    const char **right = at_allocate(context, count, sizeof *right, "answers");
    attn_status status = said && right ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    attn_bleu whole = {.size = sizeof whole};
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        said[i] = best_text(answers, i);
        right[i] = at_string(targets, i);
    }
    if (status == ATTN_OK) status = attn_metric_bleu(context, said, right, count, lowercase, &whole);
    if (status == ATTN_OK) status = attn_metric_chrf(context, said, right, count, lowercase, chrf);
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

const at_metric at_sequence_metrics[] = {{"exact_match", 1, 0, 0},
                                         {"word_error_rate", 0, 0, 0},
                                         {"symbol_error_rate", 0, 0, 0},
                                         {"character_error_rate", 0, 0, 0},
                                         {"bleu", 1, 0, 0},
                                         {"chrf", 1, 0, 0},
                                         {NULL, 0, 0, 0}};

static attn_status compare(const at_head *head, const at_encoded *encoded, const at_sequence_answers *answers,
                           int lowercase, at_effort effort, attn_report *report) {
    attn_context *context = answers->answers.context;
    samples kept = {.lowercase = lowercase};
    counting work = {.context = context};
    totals sums = {0};
    const at_symbols *told = at_sequence_of(head)->symbols;
    int symbols = told->options.unit == AT_UNIT_SYMBOLS;
    double bleu = 0, chrf = 0;
    at_strings lower = {.count = 0};
    const at_strings *targets = told->options.lowercase ? &lower : encoded->labels.values;
    attn_status status = ATTN_OK;
    if (targets == &lower) status = lower_all(context, encoded->labels.values, &lower);
    if (status == ATTN_OK)
        status = count_all(&work, encoded, targets, answers, symbols, &sums,
                           effort == AT_EFFORT_FULL ? &kept : NULL);
    at_bleu_memory_free(context, &kept.memory);
    at_report_statistics(report, 0, kept.statistics);
    at_vocabulary_free(context, &work.words);
    at_release(context, work.answer.pieces);
    at_release(context, work.right.pieces);
    if (status == ATTN_OK) status = text_metrics(context, targets, answers, lowercase, &bleu, &chrf);
    at_strings_free(context, &lower);
    if (status != ATTN_OK) return status;
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"exact_match", ratio(sums.exact, sums.questions)},
        {"word_error_rate", ratio(sums.word_errors, sums.words)},
        {symbols ? "symbol_error_rate" : "character_error_rate", ratio(sums.symbol_errors, sums.symbols)},
        {"bleu", bleu},
        {"chrf", chrf}};
    for (int i = 0; i < 5 && status == ATTN_OK; i++)
        status = at_report_add(report, 0, values[i].name, values[i].value);
    int64_t rows = 0;
    for (int64_t e = 0; e < answers->examples; e++) rows += answers->list[e * answers->n_best].count;
    at_report_rows(report, rows);
    at_report_compared(report, 0, sums.questions);
    return status;
}

/* Development data is answered greedily, which tells models apart as well and is many times as fast. An
 * answer that is far longer than any right one is wrong whatever follows: it ends there. */
static void choose_search(const at_head *head, const at_sequence_targets *targets, at_effort effort,
                          attn_search_options *search) {
    int64_t most = at_sequence_of(head)->longest;
    if (effort == AT_EFFORT_FULL) return;
    search->beam = 1;
    search->longest = 2 * targets->longest + 10;
    if (effort == AT_EFFORT_LEAST) /* a network that has learned nothing does not end */
        search->longest = 2 + targets->count / (targets->examples ? targets->examples : 1);
    if (search->longest > most) search->longest = most;
}

attn_status at_sequence_report(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                               const at_encoded *encoded, at_targets *const *targets, const void *settings,
                               at_effort effort, attn_report *report) {
    attn_search_options search;
    at_answers *answers = NULL;
    attn_search_options_init(&search);
    if (settings) search = *(const attn_search_options *)settings;
    search.alignment = 0;
    choose_search(heads[0], (const at_sequence_targets *)(const void *)targets[0], effort, &search);
    attn_status status = heads[0]->kind->predict(heads, count, forward, work, encoded, &search, &answers);
    if (status == ATTN_OK)
        status = compare(heads[0], encoded, (const at_sequence_answers *)(const void *)answers,
                         search.lowercase, effort, report);
    if (answers) at_sequence_free_answers(answers);
    return status;
}

/* ---- writing ---- */

static const at_sequence_answers *own(const at_answers *answers) {
    return (const at_sequence_answers *)(const void *)answers;
}

/* "0-0 1-1 3-2": row 3 of the source is what symbol 2 of the prediction looks at most. */
static void write_pairs(const at_sequence_answers *answers, const at_hypothesis *one, at_writer *writer) {
    if (one->alignment < 0) return;
    int64_t rows = one->rows;
    for (int64_t s = 0; s < one->count; s++) {
        const float *weights = answers->alignments + one->alignment + s * rows;
        int64_t best = 0;
        for (int64_t u = 1; u < rows; u++)
            if (weights[u] > weights[best]) best = u;
        at_print(writer, "%s%" PRId64 "-%" PRId64, s > 0 ? " " : "", best, s);
    }
}

static void write_lines(const at_answers *answers, int64_t example, at_writer *writer) {
    const at_sequence_answers *all = own(answers);
    for (int64_t a = 0; a < all->counts[example]; a++) {
        const at_hypothesis *one = &all->list[example * all->n_best + a];
        if (a > 0) at_put_char(writer, '\n');
        if (all->ranked) at_print(writer, "%" PRId64 "\t%.4f\t", a + 1, one->log_probability);
        at_put_text(writer, at_string(&all->texts, one->text));
        if (!all->aligned) continue;
        at_put_char(writer, '\t');
        write_pairs(all, one, writer);
    }
}

static void json_alignment(const at_sequence_answers *all, const at_hypothesis *one, at_writer *writer) {
    int64_t rows = one->alignment >= 0 ? one->rows : 0;
    at_put(writer, ",\"alignment\":[", 14);
    for (int64_t s = 0; s < one->count && rows > 0; s++) {
        at_put(writer, s > 0 ? ",[" : "[", s > 0 ? 2 : 1);
        for (int64_t u = 0; u < rows; u++) {
            if (u > 0) at_put_char(writer, ',');
            at_put_number(writer, (double)all->alignments[one->alignment + s * rows + u], 4);
        }
        at_put_char(writer, ']');
    }
    at_put_char(writer, ']');
}

static void write_json(const at_answers *answers, int64_t example, at_writer *writer) {
    const at_sequence_answers *all = own(answers);
    const at_strings *symbols = &at_sequence_of(answers->head)->symbols->vocabulary.strings;
    at_put_char(writer, '[');
    for (int64_t a = 0; a < all->counts[example]; a++) {
        const at_hypothesis *one = &all->list[example * all->n_best + a];
        at_put(writer, a > 0 ? ",{\"text\":" : "{\"text\":", a > 0 ? 9 : 8);
        at_put_json(writer, at_string(&all->texts, one->text));
        at_put(writer, ",\"log_probability\":", 19);
        at_put_number(writer, one->log_probability, 6);
        at_print(writer, ",\"ended\":%s,\"symbols\":[", one->ended ? "true" : "false");
        for (int64_t s = 0; s < one->count; s++) {
            if (s > 0) at_put_char(writer, ',');
            at_put_json(writer, at_string(symbols, all->symbols[one->first + s]));
        }
        at_put_char(writer, ']');
        if (all->aligned) json_alignment(all, one, writer);
        at_put_char(writer, '}');
    }
    at_put_char(writer, ']');
}

/* Hypotheses, one per line; or an object with the source that they answer. */
void at_sequence_write(const at_writing *now, int64_t example) {
    const attn_prediction *prediction = now->prediction;
    const at_answers *answers = prediction->answers[0];
    at_writer *writer = now->writer;
    if (!now->json) {
        write_lines(answers, example, writer);
        at_put_char(writer, '\n');
        return;
    }
    const char *source = attn_dataset_row_name(now->dataset, example, 0);
    at_put_char(writer, '{');
    at_put_example(now, example, 0);
    at_put(writer, "\"source\":", 9);
    at_put_json(writer, source ? source : "");
    if (own(answers)->aligned) {
        at_put(writer, ",\"units\":[", 10);
        for (int64_t u = 0; u < attn_prediction_units(prediction, example); u++) {
            if (u > 0) at_put_char(writer, ',');
            at_put_json(writer, attn_prediction_unit(prediction, example, u));
        }
        at_put_char(writer, ']');
    }
    at_put(writer, ",\"answers\":", 11);
    write_json(answers, example, writer);
    at_put(writer, "}\n", 2);
}
