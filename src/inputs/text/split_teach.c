/* split_teach.c: from tokenised sentences to paragraphs of raw text with a label for each character.
 *
 * A paragraph of the data is one example, or, where it is long, several, which are cut between sentences:
 * after so many characters as a hash of the sentence's number says, so that a network sees paragraphs of all
 * lengths.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/file.h"
#include "data/symbols/unicode.h"
#include "inputs/text/raw_text.h"
#include "inputs/text/split.h"

enum { SHORTEST_CUT = 100, CUTS = 800, LONGEST_PARAGRAPH = 20000 };

const char *const at_split_labels[AT_SPLIT_LABELS] = {"B", "I", "O", "T", "S", "U", "V", "W", "M", "N"};

/* Chosen by development data (docs/results-raw.md). Where words stand between spaces a small network is
 * enough; elsewhere every character may end a word. */
typedef struct setting {
    const char *name, *spaced, *unspaced;
} setting;
static const setting settings[] = {
    {"text.unit", "chars", "chars"},
    {"text.scheme", "split", "split"},
    {"text.context", "3", "2"},
    {"text.neighbours", "3", "1"},
    {"text.buckets", "32768", "65536"},
    {"text.min_count", "3", "2"},
    {"text.unit_dropout", "0.02", "0.1"},
    {"text.feature_dropout", "0.1", "0.3"},
    {"text.stem", "5", "3"},
    {"text.longest", "100000", "100000"},
    {"encoder.columns", "64", "192"},
    {"encoder.heads", "4", "4"},
    {"encoder.layers", "1", "1"},
    {"encoder.inner", "256", "384"},
    {"encoder.dropout", "0.1", "0.3"},
    {"encoder.left", "32", "64"},
    {"encoder.right", "32", "64"},
    {"output.crf", "false", "true"},
    {"training.learning_rate", "0.003", "0.002"},
    {"training.beta2", "0.95", "0.98"},
    {"training.batch_units", "4000", "400"},
    {"training.epochs", "12", "10"},
};

typedef struct teaching {
    attn_context *context;
    const attn_dataset *examples;
    attn_dataset *raw;
    at_bytes text, labels; /* of the paragraph so far */
    int64_t line;          /* where it begins */
    int64_t glued, parted; /* tokens of a sentence without and with a space before them */
} teaching;

static attn_status put(teaching *work, const char *character, size_t length, int label) {
    attn_status status = at_bytes_append(work->context, &work->text, character, length);
    if (status != ATTN_OK) return status;
    return at_bytes_append(work->context, &work->labels, at_split_labels[label], 1);
}

/* ---- the labels of a token ---- */

/* Whether the words of a token are written one after another in it. */
static int is_joined(const at_strings *tokens, int64_t first, int64_t words, const char *text,
                     size_t length) {
    size_t place = 0;
    for (int64_t w = first; w < first + words; w++) {
        size_t bytes = at_string_length(tokens, w);
        if (bytes == 0 || bytes > length - place || memcmp(text + place, at_string(tokens, w), bytes) != 0)
            return 0;
        place += bytes;
    }
    return place == length;
}

static attn_status put_token(teaching *work, const char *text, const at_surface_token *token, int64_t first,
                             int last) {
    const at_strings *tokens = &at_texts_of(work->examples)->tokens;
    size_t length = (size_t)(token->end - token->begin), next_word = length;
    int64_t word = first + token->first_word;
    int end = last ? AT_SPLIT_S : AT_SPLIT_T, begins = 1;
    attn_status status = ATTN_OK;
    text += token->begin;
    if (token->words > 1 && is_joined(tokens, word, token->words, text, length)) {
        next_word = at_string_length(tokens, word);
    } else if (token->words > 1) {
        end = last ? AT_SPLIT_N : AT_SPLIT_M;
        status = at_expansion_add(work->context, &at_texts_of(work->raw)->expansions, text, length, tokens,
                                  word, token->words);
    }
    for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
        int32_t code;
        size = (size_t)at_unicode_next(text + i, length - i, &code);
        int label = begins ? AT_SPLIT_B : AT_SPLIT_I;
        if (i + size == length)
            label = i > 0 ? end : end == AT_SPLIT_T ? AT_SPLIT_U : end == AT_SPLIT_S ? AT_SPLIT_V : end;
        else if (i + size == next_word)
            label = AT_SPLIT_W;
        if (label == AT_SPLIT_W) next_word += at_string_length(tokens, ++word);
        begins = label == AT_SPLIT_W;
        if (!at_unicode_space(code)) {
            status = put(work, text + i, size, label);
        } else { /* a run of spaces is one, as an encoder of raw text reads it */
            int32_t following;
            at_unicode_next(text + i + size, length - i - size, &following);
            if (!at_unicode_space(following)) status = put(work, " ", 1, AT_SPLIT_I);
        }
    }
    return status;
}

/* ---- paragraphs ---- */

static attn_status end_paragraph(teaching *work) {
    attn_dataset *raw = work->raw;
    if (work->text.count == 0) return ATTN_OK;
    attn_status status = at_texts_token(raw, work->text.data, (size_t)work->text.count, work->line, 0);
    if (status == ATTN_OK) status = at_texts_end(raw, "", 0);
    if (status == ATTN_OK)
        status = at_strings_add(work->context, &raw->targets, work->labels.data, (size_t)work->labels.count);
    work->text.count = work->labels.count = 0;
    return status;
}

static attn_status put_sentence(teaching *work, int64_t example, const at_surface *surface, int space) {
    int64_t first = work->examples->offsets[example], last = surface->count;
    attn_status status = ATTN_OK;
    while (last > 0 && surface->tokens[last - 1].begin == surface->tokens[last - 1].end) last--;
    if (last == 0) return ATTN_OK; /* nothing but white space */
    if (work->text.count == 0)
        work->line = work->examples->lines[first];
    else if (space)
        status = put(work, " ", 1, AT_SPLIT_O);
    for (int64_t t = 0; t < last && status == ATTN_OK; t++) {
        const at_surface_token *token = &surface->tokens[t];
        if (token->begin == token->end) continue;
        int parted = t == 0 || surface->tokens[t - 1].end < token->begin;
        if (t > 0 && parted) status = put(work, " ", 1, AT_SPLIT_O);
        work->glued += !parted;
        work->parted += t > 0 && parted;
        if (status == ATTN_OK) status = put_token(work, surface->text.data, token, first, t + 1 == last);
    }
    return status;
}

/* How many characters a paragraph has, at least, when it is cut after this sentence. */
static int64_t cut_after(int64_t example, int teaches) {
    if (!teaches) return LONGEST_PARAGRAPH;
    return SHORTEST_CUT + (int64_t)(at_splitmix64((uint64_t)example) % CUTS);
}

static attn_status put_sentences(teaching *work, at_spacing spacing, int teaches) {
    at_surface surface = {.count = 0};
    int space = 0;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < work->examples->examples && status == ATTN_OK; e++) {
        status = at_surface_read(work->examples, e, spacing, &surface);
        if (status != ATTN_OK) break;
        if (surface.paragraph) status = end_paragraph(work);
        if (status == ATTN_OK) status = put_sentence(work, e, &surface, space);
        space = surface.space || (space && surface.text.count == 0);
        if (status == ATTN_OK && work->labels.count >= cut_after(e, teaches)) status = end_paragraph(work);
    }
    if (status == ATTN_OK) status = end_paragraph(work);
    at_surface_free(work->context, &surface);
    return status;
}

/* ---- teaching ---- */

static attn_status configure(at_spacing spacing, int spaced, at_set_function set, void *user) {
    static const char *const names[] = {"auto", "none", "one", "marked"};
    attn_status status = set(user, "text.spaces", names[spacing]);
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == ATTN_OK; i++)
        status = set(user, settings[i].name, spaced ? settings[i].spaced : settings[i].unspaced);
    return status;
}

static int is_white(const char *text, size_t length) {
    int32_t code;
    for (size_t i = 0; i < length;) {
        i += (size_t)at_unicode_next(text + i, length - i, &code);
        if (!at_unicode_space(code)) return 0;
    }
    return 1;
}

/* Whether it can be told at once that every word stands between spaces: it does so if nothing else says how
 * words stand, but for white space where a sentence begins. */
static int stands_apart(const attn_dataset *examples, at_spacing spacing) {
    const at_texts *texts = at_texts_of(examples);
    if (spacing != AT_SPACING_ONE || texts->sources.count > 0) return 0;
    for (int64_t e = 0; e < examples->examples; e++) {
        int64_t first = examples->offsets[e];
        if (first < examples->offsets[e + 1] &&
            is_white(at_string(&texts->tokens, first), at_string_length(&texts->tokens, first)))
            return 0;
    }
    return 1;
}

static const char between_spaces[] = "the training data has neither # text nor SpaceAfter=No, so it does not "
                                     "show where words are not separated by spaces";

attn_status at_split_teach(const void *values, const attn_dataset *examples, at_set_function set, void *user,
                           attn_dataset **raw, const char **why) {
    const at_text_values *own = values;
    int teaches = own->scheme != AT_SCHEME_SPLIT; /* else the splitter's own view: development data */
    *raw = NULL;
    *why = NULL;
    if (teaches && (own->splitter == AT_SPLITTER_NONE || own->unit != AT_UNIT_WORDS ||
                    own->scheme != AT_SCHEME_NONE || own->pretokenized))
        return ATTN_OK;
    if (!at_texts_of(examples)->tokenized || !examples->per_row) return ATTN_OK;
    teaching work = {.context = examples->context, .examples = examples};
    at_spacing spacing = at_spacing_of(examples, (at_spacing)own->spaces);
    if (teaches && own->spaces == AT_SPACING_AUTO && stands_apart(examples, spacing)) {
        *why = between_spaces;
        return configure(spacing, 1, set, user);
    }
    attn_status status =
        at_texts_dataset(work.context, attn_dataset_name(examples), ATTN_FORMAT_LINES, 0, &work.raw);
    if (status != ATTN_OK) return status;
    status = at_strings_add(work.context, &work.raw->columns, "split", 5);
    if (status == ATTN_OK) status = put_sentences(&work, spacing, teaches);
    if (status == ATTN_OK && teaches) status = configure(spacing, work.parted >= work.glued, set, user);
    at_bytes_free(work.context, &work.text);
    at_bytes_free(work.context, &work.labels);
    if (status == ATTN_OK && teaches && work.glued == 0 && own->spaces == AT_SPACING_AUTO) {
        *why = between_spaces;
        attn_dataset_destroy(work.raw);
        return ATTN_OK;
    }
    if (status == ATTN_OK && work.raw->examples > 0)
        *raw = work.raw;
    else
        attn_dataset_destroy(work.raw);
    return status;
}
