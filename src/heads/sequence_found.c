/* sequence_found.c: joins what workers and ranks found: predictions in the order of their examples.
 *
 * First the numbers of symbols, then the symbols, each at a place that follows from them: so every rank has
 * the same memory with 0 where other ranks have predictions, and ranks only add theirs.
 */
#include <string.h>

#include "base/memory.h"
#include "heads/sequence.h"
#include "heads/work.h"

void at_said_free(attn_context *context, at_said *said) {
    at_release(context, said->symbols);
    at_release(context, said->alignments);
    *said = (at_said){.symbols = NULL};
}

attn_status at_found_create(attn_context *context, int64_t segments, int64_t n_best,
                            at_found_answers *found) {
    found->list = at_allocate(context, segments * n_best, sizeof *found->list, "answers");
    found->counts = at_allocate(context, segments, sizeof *found->counts, "answers");
    return found->list && found->counts ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

void at_found_free(attn_context *context, at_found_answers *found) {
    at_release(context, found->list);
    at_release(context, found->counts);
    *found = (at_found_answers){NULL, NULL};
}

typedef struct keeping {
    at_work *work;
    const at_encoded *encoded;
    const at_found_answers *found;
    at_sequence_answers *answers;
} keeping;

static int64_t example_of(const keeping *now, int64_t segment) {
    return now->work->segments.list[segment].example;
}

static int64_t rows_of(const keeping *now, int64_t example) {
    return now->encoded->offsets[example + 1] - now->encoded->offsets[example];
}

/* ---- how many ---- */

/* Of every prediction its log-probability, and its number of symbols with whether it ended. */
static attn_status share_sizes(const keeping *now, double *logarithms, int64_t *sizes) {
    int64_t segments = now->work->segments.count, n_best = now->answers->n_best;
    for (int64_t s = 0; s < segments; s++) {
        for (int64_t a = 0; a < now->found->counts[s]; a++) {
            const at_found_answer *one = &now->found->list[s * n_best + a];
            logarithms[s * n_best + a] = one->log_probability;
            sizes[s * n_best + a] = 2 * one->count + (one->ended != 0);
        }
    }
    attn_status status =
        at_work_join(now->work, ATTN_OK, now->found->counts, segments, sizeof *now->found->counts);
    if (status == ATTN_OK)
        status = at_work_join(now->work, status, logarithms, segments * n_best, sizeof *logarithms);
    if (status == ATTN_OK) status = at_work_join(now->work, status, sizes, segments * n_best, sizeof *sizes);
    return status;
}

/* The list of predictions, with the places of what each of them has. */
static void place(const keeping *now, const double *logarithms, const int64_t *sizes) {
    at_sequence_answers *answers = now->answers;
    int64_t n_best = answers->n_best, texts = 0;
    for (int64_t s = 0; s < now->work->segments.count; s++) {
        int64_t example = example_of(now, s), rows = rows_of(now, example), count = now->found->counts[s];
        at_hypothesis *list = answers->list + example * n_best;
        answers->counts[example] = count ? count : 1;
        if (!count) list[0] = (at_hypothesis){0, answers->symbol_count, 0, texts++, -1, 0, 1};
        for (int64_t a = 0; a < count; a++) {
            int64_t size = sizes[s * n_best + a] / 2;
            int aligned = answers->aligned && size > 0; /* no symbols, no alignment */
            list[a] = (at_hypothesis){logarithms[s * n_best + a],
                                      answers->symbol_count,
                                      size,
                                      texts++,
                                      aligned ? answers->alignment_count : -1,
                                      aligned ? rows : 0,
                                      (int)(sizes[s * n_best + a] % 2)};
            answers->symbol_count += size;
            if (aligned) answers->alignment_count += size * rows;
        }
    }
}

static attn_status share_list(const keeping *now) {
    attn_context *context = now->work->context;
    int64_t count = now->work->segments.count * now->answers->n_best;
    double *logarithms = at_allocate(context, count, sizeof *logarithms, "answers");
    int64_t *sizes = at_allocate(context, count, sizeof *sizes, "answers");
    attn_status status =
        at_work_join(now->work, logarithms && sizes ? ATTN_OK : ATTN_OUT_OF_MEMORY, NULL, 0, 0);
    if (status == ATTN_OK) status = share_sizes(now, logarithms, sizes);
    if (status == ATTN_OK) place(now, logarithms, sizes);
    at_release(context, logarithms);
    at_release(context, sizes);
    return status;
}

/* ---- what they say ---- */

static attn_status make_room(at_sequence_answers *answers) {
    attn_context *context = answers->answers.context;
    answers->symbols = at_allocate(context, answers->symbol_count, sizeof *answers->symbols, "answers");
    if (!answers->symbols) return ATTN_OUT_OF_MEMORY;
    if (!answers->aligned) return ATTN_OK;
    answers->alignments =
        at_allocate(context, answers->alignment_count, sizeof *answers->alignments, "alignments");
    return answers->alignments ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* What was found here: of another rank's answers nothing is known but how long they are. */
static void copy_found(const keeping *now) {
    at_sequence_answers *answers = now->answers;
    for (int64_t s = 0; s < now->work->segments.count; s++) {
        for (int64_t a = 0; a < now->found->counts[s]; a++) {
            const at_found_answer *one = &now->found->list[s * answers->n_best + a];
            const at_hypothesis *into = &answers->list[example_of(now, s) * answers->n_best + a];
            if (!one->said || one->count == 0) continue;
            memcpy(answers->symbols + into->first, one->said->symbols + one->first,
                   (size_t)one->count * sizeof *answers->symbols);
            if (one->alignment >= 0 && into->alignment >= 0)
                memcpy(answers->alignments + into->alignment, one->said->alignments + one->alignment,
                       (size_t)(one->count * into->rows) * sizeof *answers->alignments);
        }
    }
}

static attn_status add_text(at_sequence_answers *answers, const at_hypothesis *one, at_joined *text) {
    attn_context *context = answers->answers.context;
    const at_symbols *symbols = at_sequence_of(answers->answers.head)->symbols;
    const at_strings *strings = &symbols->vocabulary.strings;
    attn_status status = ATTN_OK;
    text->count = text->started = 0;
    for (int64_t i = 0; i < one->count && status == ATTN_OK; i++) {
        int32_t symbol = answers->symbols[one->first + i];
        status = at_symbols_append(symbols, context, at_string(strings, symbol),
                                   at_string_length(strings, symbol), text);
    }
    at_joined_mend(text, 0, 1); /* bytes that are no text */
    if (status != ATTN_OK) return status;
    return at_strings_add(context, &answers->texts, text->count ? text->bytes : "", (size_t)text->count);
}

static attn_status add_texts(const keeping *now) {
    at_sequence_answers *answers = now->answers;
    at_joined text = {.bytes = NULL};
    attn_status status = ATTN_OK;
    for (int64_t s = 0; s < now->work->segments.count; s++) {
        int64_t example = example_of(now, s);
        for (int64_t a = 0; a < answers->counts[example] && status == ATTN_OK; a++)
            status = add_text(answers, &answers->list[example * answers->n_best + a], &text);
    }
    at_release(answers->answers.context, text.bytes);
    return status;
}

attn_status at_sequence_keep(at_work *work, const at_encoded *encoded, const at_found_answers *found,
                             at_sequence_answers *answers) {
    keeping now = {work, encoded, found, answers};
    attn_status status = share_list(&now);
    if (status != ATTN_OK) return status;
    status = make_room(answers);
    if (status == ATTN_OK) copy_found(&now);
    status = at_work_join(work, status, answers->symbols, answers->symbol_count, sizeof *answers->symbols);
    if (status != ATTN_OK) return status;
    return at_work_join(work, add_texts(&now), NULL, 0, 0);
}
