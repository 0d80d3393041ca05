/* bmes.c: word segmentation: a character is the Begin, Middle or End of its word, or a word by itself
 * (Single).
 *
 * The target is not a column of the data but where words end; a space between words is a word alone. Any
 * sequence of labels has a meaning, also an impossible one (M after S): a word begins at a B or an S, and
 * wherever the label before ended one (E, S, or the start of the text).
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/text/text.h"

const char *const at_bmes_labels[AT_BMES_LABELS] = {"S", "B", "M", "E"};
enum { SINGLE, BEGIN, MIDDLE, END };

static int is_bmes(const at_input *input) { return at_text_of(input)->values.scheme == AT_SCHEME_BMES; }

static int is_space(const at_text_encoded *encoded, int64_t row) {
    return strcmp(encoded->lexicon->entries[encoded->units[row]].text, " ") == 0;
}

/* Whether a word begins at a character with this label; before: the label of the one before, 0 at the start.
 */
static int begins(char before, char label) {
    return before == 0 || before == 'E' || before == 'S' || label == 'B' || label == 'S';
}

/* ---- targets ---- */

static int label_at(const at_text_encoded *text, const int64_t *tokens, int64_t first, int64_t end,
                    int64_t i) {
    if (is_space(text, i)) return SINGLE;
    int starts = i == first || tokens[i - 1] != tokens[i];
    int ends = i + 1 == end || tokens[i + 1] != tokens[i] || is_space(text, i + 1);
    return starts ? (ends ? SINGLE : BEGIN) : (ends ? END : MIDDLE);
}

attn_status at_bmes_label(at_text_encoded *text, const attn_dataset *dataset, const int64_t *tokens) {
    at_encoded *encoded = &text->encoded;
    attn_context *context = encoded->context;
    attn_status status = at_strings_add(context, &text->columns, "bmes", 4);
    text->lines = at_allocate(context, encoded->rows, sizeof *text->lines, "the lines of rows");
    if (!text->lines) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < encoded->examples && status == ATTN_OK; e++) {
        int64_t first = encoded->offsets[e], end = encoded->offsets[e + 1];
        for (int64_t i = first; i < end && status == ATTN_OK; i++) {
            status = at_strings_add(context, &text->labels,
                                    at_bmes_labels[label_at(text, tokens, first, end, i)], 1);
            int64_t line = dataset->offsets[e] + (at_texts_of(dataset)->tokenized ? tokens[i] : 0);
            text->lines[i] = dataset->lines[line];
        }
    }
    encoded->labels.columns = &text->columns;
    encoded->labels.values = &text->labels;
    encoded->labels.lines = text->lines;
    encoded->labels.first = NULL;
    encoded->labels.places = encoded->rows;
    encoded->labels.per_row = 1;
    encoded->labels.fixed = at_bmes_labels;
    encoded->labels.fixed_count = AT_BMES_LABELS;
    return status;
}

const char *at_bmes_check(const at_strings *labels) {
    int fits = labels && labels->count == AT_BMES_LABELS;
    for (int64_t l = 0; fits && l < AT_BMES_LABELS; l++)
        fits = strcmp(at_string(labels, l), at_bmes_labels[l]) == 0;
    return fits ? NULL : "scheme bmes has the labels S, B, M, E";
}

/* ---- words ---- */

typedef struct word {
    char *bytes;
    int64_t length, room;
} word;

static attn_status end_word(attn_context *context, at_strings *words, word *now) {
    if (now->length == 0) return ATTN_OK;
    attn_status status = at_strings_add(context, words, now->bytes, (size_t)now->length);
    now->length = 0;
    return status;
}

static attn_status add_character(attn_context *context, const at_entry *unit, word *now) {
    attn_status status = at_grow(context, &now->bytes, &now->room, now->length + unit->length, 1, "a word");
    if (status != ATTN_OK) return status;
    memcpy(now->bytes + now->length, unit->text, (size_t)unit->length);
    now->length += unit->length;
    return ATTN_OK;
}

/* The words that the labels of an example's characters make; a space ends a word in any case. */
attn_status at_bmes_join(const at_input *input, attn_context *context, const at_encoded *encoded,
                         const at_strings *labels, const int32_t *classes, at_strings *pieces,
                         int64_t **offsets) {
    if (!is_bmes(input)) return ATTN_OK;
    const at_text_encoded *text = (const at_text_encoded *)(const void *)encoded;
    int64_t *made = at_allocate(context, encoded->examples + 1, sizeof *made, "the words of examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    word now = {.bytes = NULL};
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < encoded->examples && status == ATTN_OK; e++) {
        char before = 0;
        for (int64_t i = encoded->offsets[e]; i < encoded->offsets[e + 1] && status == ATTN_OK; i++) {
            char label = at_string(labels, classes[i])[0];
            int space = is_space(text, i);
            if (space || begins(before, label)) status = end_word(context, pieces, &now);
            if (status == ATTN_OK && !space)
                status = add_character(context, &text->lexicon->entries[text->units[i]], &now);
            before = label;
        }
        if (status == ATTN_OK) status = end_word(context, pieces, &now);
        made[e + 1] = pieces->count;
    }
    at_release(context, now.bytes);
    *offsets = made;
    return status;
}

/* ---- how many words are right ---- */

typedef struct cuts {
    int64_t truth, answers, right; /* words; right: both cuts have it, from its first character to its last */
} cuts;

/* Whether what precedes character `i` and what begins there are parted. */
static int parted(const at_text_encoded *text, const at_strings *labels, const int32_t *classes,
                  int64_t first, int64_t end, int64_t i) {
    if (i == first || i == end || is_space(text, i) || is_space(text, i - 1)) return 1;
    return begins(at_string(labels, classes[i - 1])[0], at_string(labels, classes[i])[0]);
}

static void count_words(const at_text_encoded *text, const at_strings *labels, const int32_t *truth,
                        const int32_t *answers, int64_t first, int64_t end, cuts *counts) {
    int same = 0; /* since the last place where both are parted, neither was alone */
    for (int64_t i = first; i <= end; i++) {
        int in_truth = parted(text, labels, truth, first, end, i);
        int in_answers = parted(text, labels, answers, first, end, i);
        int after_word = i > first && !is_space(text, i - 1); /* a word ends here where something parts */
        counts->truth += in_truth && after_word;
        counts->answers += in_answers && after_word;
        counts->right += in_truth && in_answers && after_word && same;
        if (in_truth && in_answers)
            same = 1;
        else if (in_truth || in_answers)
            same = 0;
    }
}

attn_status at_bmes_measure(const at_text_encoded *text, const at_strings *labels, const int32_t *truth,
                            const int32_t *answers, at_metric_function add, void *user) {
    cuts counts = {0};
    for (int64_t e = 0; e < text->encoded.examples; e++)
        count_words(text, labels, truth, answers, text->encoded.offsets[e], text->encoded.offsets[e + 1],
                    &counts);
    double right = (double)counts.right, all = (double)(counts.answers + counts.truth);
    attn_status status = add(user, "word_f1", all > 0 ? 2 * right / all : 0);
    if (status == ATTN_OK)
        status = add(user, "word_precision", counts.answers ? right / (double)counts.answers : 0);
    if (status == ATTN_OK) status = add(user, "word_recall", counts.truth ? right / (double)counts.truth : 0);
    return status;
}
