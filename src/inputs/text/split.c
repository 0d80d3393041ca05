/* split.c: labels of characters: the targets of a splitter, its metrics, and the sentences that its labels
 * form.
 *
 * Every sequence of labels has a meaning: where words begin follows from where they end; a space ends a token
 * unless it is an I after an I or a B; the end of a paragraph ends its last token and sentence.
 */
#include "inputs/text/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/file.h"

static int is_space(const at_text_encoded *text, int64_t row) {
    return strcmp(text->lexicon->entries[text->units[row]].text, " ") == 0;
}

/* ---- targets ---- */

attn_status at_split_label(at_text_encoded *text, const attn_dataset *dataset) {
    at_encoded *encoded = &text->encoded;
    attn_context *context = encoded->context;
    attn_status status = ATTN_OK;
    if (at_texts_of(dataset)->tokenized)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: text.scheme split is reserved for the splitter of a tagger (text.splitter "
                       "auto); leave it out",
                       attn_dataset_name(dataset));
    encoded->labels.fixed = at_split_labels;
    encoded->labels.fixed_count = AT_SPLIT_LABELS;
    if (dataset->columns.count != 1) return ATTN_OK; /* raw text of which nothing is known */
    text->lines = at_allocate(context, encoded->rows, sizeof *text->lines, "the lines of rows");
    if (!text->lines) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < encoded->examples && status == ATTN_OK; e++) {
        int64_t first = encoded->offsets[e], rows = encoded->offsets[e + 1] - first;
        const char *labels = at_string(&dataset->targets, e);
        /* Characters of two tokens may become one in NFC: such a paragraph teaches nothing. */
        int fits = (int64_t)at_string_length(&dataset->targets, e) == rows;
        for (int64_t i = 0; i < rows && status == ATTN_OK; i++) {
            status = at_strings_add(context, &text->labels, fits ? labels + i : "", fits ? 1 : 0);
            text->lines[first + i] = dataset->lines[dataset->offsets[e]];
        }
    }
    encoded->labels.columns = &dataset->columns;
    encoded->labels.values = &text->labels;
    encoded->labels.lines = text->lines;
    encoded->labels.first = NULL;
    encoded->labels.places = encoded->rows;
    encoded->labels.per_row = 1;
    return status;
}

const char *at_split_check(const at_strings *labels) {
    int fits = labels && labels->count == AT_SPLIT_LABELS;
    for (int64_t l = 0; fits && l < AT_SPLIT_LABELS; l++)
        fits = strcmp(at_string(labels, l), at_split_labels[l]) == 0;
    return fits ? NULL : "scheme split has the labels B, I, O, T, S, U, V, W, M, N";
}

/* ---- how right they are ---- */

enum { WORDS, SENTENCES, SPANS };

typedef struct spans {
    int64_t truth, answers, right;
    int64_t begins[2]; /* of what is under way: in the truth, in the predictions */
} spans;

/* What ends after row `row`: bits of WORDS and SENTENCES. */
static int ends_after(const at_text_encoded *text, const int32_t *classes, int64_t row, int64_t end) {
    int label = classes[row], last = row + 1 == end;
    int sentence = last || label == AT_SPLIT_S || label == AT_SPLIT_V || label == AT_SPLIT_N;
    int space = !last && is_space(text, row + 1);
    int stays = (label == AT_SPLIT_I || label == AT_SPLIT_B) &&
                (!space || (classes[row + 1] == AT_SPLIT_I && row + 2 < end));
    return (!stays || sentence) << WORDS | sentence << SENTENCES;
}

/* Counts what ends at place `place` of the characters that are not spaces. */
static void count(spans *of, int in_truth, int in_answers, int64_t place) {
    of->right += in_truth && in_answers && of->begins[0] == of->begins[1];
    of->truth += in_truth;
    of->answers += in_answers;
    if (in_truth) of->begins[0] = place;
    if (in_answers) of->begins[1] = place;
}

attn_status at_split_measure(const at_text_encoded *text, const int32_t *truth, const int32_t *answers,
                             at_metric_function add, void *user) {
    static const char *const names[SPANS] = {"word_f1", "sentence_f1"};
    spans all[SPANS] = {{0}};
    int64_t place = 0;
    for (int64_t e = 0; e < text->encoded.examples; e++) {
        int64_t end = text->encoded.offsets[e + 1];
        for (int64_t i = text->encoded.offsets[e]; i < end; i++) {
            if (is_space(text, i)) continue;
            if (truth[i] < 0) break; /* a paragraph without labels */
            place++;
            int in_truth = ends_after(text, truth, i, end), in_answers = ends_after(text, answers, i, end);
            for (int s = 0; s < SPANS; s++) count(&all[s], in_truth >> s & 1, in_answers >> s & 1, place);
        }
    }
    attn_status status = ATTN_OK;
    for (int s = 0; s < SPANS && status == ATTN_OK; s++) {
        int64_t sum = all[s].truth + all[s].answers;
        status = add(user, names[s], sum ? 2 * (double)all[s].right / (double)sum : 0);
    }
    return status;
}

/* ---- sentences ---- */

typedef struct splitting {
    attn_context *context;
    const at_text_encoded *text;
    const at_strings *expansions;
    attn_dataset *into;
    at_bytes token;                     /* the one under way */
    at_bytes sentence, source;          /* the text of the sentence so far, and its lines of CoNLL-U */
    at_strings words;                   /* of the token */
    int64_t *cuts, cut_room, cut_count; /* bytes of the token where words end */
    int64_t line, sentences;            /* of the paragraph */
    int64_t word;                       /* the number of the last word of the sentence */
    int spaced;                         /* a space stood before the token */
} splitting;

#define PUT(bytes, text, length)                                                                             \
    do {                                                                                                     \
        attn_status put_status = at_bytes_append(work->context, bytes, text, length);                        \
        if (put_status != ATTN_OK) return put_status;                                                        \
    } while (0)

static attn_status put_line(splitting *work, const char *id, const char *form, size_t length, int glued) {
    static const char empty[] = "\t_\t_\t_\t_\t_\t_\t_\t", no_space[] = "SpaceAfter=No\n";
    PUT(&work->source, id, strlen(id));
    PUT(&work->source, "\t", 1);
    PUT(&work->source, form, length);
    PUT(&work->source, empty, sizeof empty - 1);
    PUT(&work->source, glued ? no_space : "_\n", glued ? sizeof no_space - 1 : 2);
    return ATTN_OK;
}

/* The words of the token: itself, the pieces between its cuts, or its expansion. */
static attn_status find_words(splitting *work, int expands) {
    at_strings_clear(&work->words);
    const char *token = work->token.data;
    attn_status status = ATTN_OK;
    while (work->cut_count > 0 && work->cuts[work->cut_count - 1] >= work->token.count) work->cut_count--;
    if (expands) {
        status = at_expansion_apply(work->context, work->expansions, token, (size_t)work->token.count,
                                    &work->words);
        if (status != ATTN_OK || work->words.count > 1) return status;
        at_strings_clear(&work->words); /* none is known: as if it had no expansion */
    }
    int64_t from = 0;
    for (int64_t c = 0; c <= work->cut_count && status == ATTN_OK; c++) {
        int64_t to = c < work->cut_count ? work->cuts[c] : work->token.count;
        status = at_strings_add(work->context, &work->words, token + from, (size_t)(to - from));
        from = to;
    }
    return status;
}

/* space: one follows. */
static attn_status end_token(splitting *work, int expands, int space) {
    char id[64];
    if (work->token.count == 0) return ATTN_OK;
    attn_status status = find_words(work, expands);
    if (status != ATTN_OK) return status;
    if (work->sentence.count > 0 && work->spaced) PUT(&work->sentence, " ", 1);
    PUT(&work->sentence, work->token.data, (size_t)work->token.count);
    int64_t count = work->words.count;
    if (count > 1) {
        snprintf(id, sizeof id, "%" PRId64 "-%" PRId64, work->word + 1, work->word + count);
        status = put_line(work, id, work->token.data, (size_t)work->token.count, !space);
    }
    for (int64_t w = 0; w < count && status == ATTN_OK; w++) {
        const char *word = at_string(&work->words, w);
        size_t length = at_string_length(&work->words, w);
        int last = w + 1 == count;
        snprintf(id, sizeof id, "%" PRId64, ++work->word);
        status = put_line(work, id, word, length, count == 1 && !space);
        if (status == ATTN_OK) status = at_texts_token(work->into, word, length, work->line, !last || !space);
    }
    work->token.count = work->cut_count = 0;
    work->spaced = space;
    return status;
}

static attn_status end_sentence(splitting *work) {
    char head[128], id[64];
    at_bytes whole = {0};
    if (work->word == 0) return ATTN_OK;
    work->sentences++;
    int length = snprintf(id, sizeof id, "%" PRId64 ".%" PRId64, work->line, work->sentences);
    attn_status status = at_strings_add(work->context, &work->into->ids, id, (size_t)length);
    length = snprintf(head, sizeof head,
                      "%s# sent_id = %s\n# text = ", work->sentences == 1 ? "# newpar\n" : "", id);
    if (status == ATTN_OK) status = at_bytes_append(work->context, &whole, head, (size_t)length);
    if (status == ATTN_OK)
        status = at_bytes_append(work->context, &whole, work->sentence.data, (size_t)work->sentence.count);
    if (status == ATTN_OK) status = at_bytes_append(work->context, &whole, "\n", 1);
    if (status == ATTN_OK)
        status = at_bytes_append(work->context, &whole, work->source.data, (size_t)work->source.count);
    if (status == ATTN_OK) status = at_texts_end(work->into, whole.data, (size_t)whole.count);
    at_bytes_free(work->context, &whole);
    work->word = work->sentence.count = work->source.count = 0;
    return status;
}

static attn_status cut(splitting *work) {
    attn_status status = at_grow(work->context, &work->cuts, &work->cut_room, work->cut_count + 1,
                                 sizeof *work->cuts, "the words of a token");
    if (status == ATTN_OK) work->cuts[work->cut_count++] = work->token.count;
    return status;
}

static attn_status split_paragraph(splitting *work, int64_t example, const int32_t *classes) {
    const at_encoded *encoded = &work->text->encoded;
    int64_t end = encoded->offsets[example + 1];
    attn_status status = ATTN_OK;
    work->line = encoded->dataset->lines[encoded->dataset->offsets[example]];
    work->sentences = work->word = work->spaced = 0;
    for (int64_t i = encoded->offsets[example]; i < end && status == ATTN_OK; i++) {
        const at_entry *unit = &work->text->lexicon->entries[work->text->units[i]];
        int label = classes[i], space = i + 1 < end && is_space(work->text, i + 1);
        if (is_space(work->text, i) && work->token.count == 0) continue;
        PUT(&work->token, unit->text, (size_t)unit->length);
        int what = ends_after(work->text, classes, i, end);
        if (what >> WORDS & 1) {
            if (label == AT_SPLIT_W && !space && i + 1 < end)
                status = cut(work);
            else
                status = end_token(work, label == AT_SPLIT_M || label == AT_SPLIT_N, space || i + 1 == end);
        }
        if (status == ATTN_OK && what >> SENTENCES & 1) status = end_sentence(work);
    }
    return status;
}

attn_status at_split_apply(const at_input *splitter, attn_context *context, const at_encoded *raw,
                           const at_strings *labels, const int32_t *classes, attn_dataset **examples,
                           int64_t **offsets) {
    (void)labels; /* they are the fixed ones, in their order */
    splitting work = {.context = context,
                      .text = (const at_text_encoded *)(const void *)raw,
                      .expansions = &at_text_of(splitter)->expansions};
    attn_status status =
        at_texts_dataset(context, attn_dataset_name(raw->dataset), ATTN_FORMAT_CONLLU, 1, &work.into);
    if (status != ATTN_OK) return status;
    int64_t *first = at_allocate(context, raw->examples + 1, sizeof *first, "the sentences of paragraphs");
    if (!first) status = ATTN_OUT_OF_MEMORY;
    at_texts_of(work.into)->split = 1;
    for (int64_t e = 0; e < raw->examples && status == ATTN_OK; e++) {
        status = split_paragraph(&work, e, classes);
        first[e + 1] = work.into->examples;
    }
    at_bytes_free(context, &work.token);
    at_bytes_free(context, &work.sentence);
    at_bytes_free(context, &work.source);
    at_strings_free(context, &work.words);
    at_release(context, work.cuts);
    if (status == ATTN_OK) {
        *examples = work.into;
        *offsets = first;
    } else {
        attn_dataset_destroy(work.into);
        at_release(context, first);
    }
    return status;
}
