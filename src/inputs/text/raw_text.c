/* raw_text.c: tokenised sentences as the raw text they were made from.
 *
 * The lines of a CoNLL-U sentence, which its reader has checked, say what its tokens do not: the ranges, the
 * text, where paragraphs begin. `# text` and the forms may differ in white space (double and no-break spaces,
 * spaces inside forms, zero-width spaces), so tokens are found by walking through both.
 */
#include "inputs/text/raw_text.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"

typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* ---- the lines of a sentence ---- */

/* The next line of *rest; 0 at the end. */
static int next_line(const char **rest, piece *line) {
    if (**rest == 0) return 0;
    line->text = *rest;
    line->length = strcspn(*rest, "\n");
    *rest += line->length + ((*rest)[line->length] == '\n');
    return 1;
}

/* Field `number` of a token line; empty if there is none. */
static piece field_of(piece line, int number) {
    const char *at = line.text, *end = line.text + line.length;
    for (; number > 0; number--) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if (!tab) return (piece){end, 0};
        at = tab + 1;
    }
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    return (piece){at, (size_t)((tab ? tab : end) - at)};
}

/* first-last, from the ID of a range; 0 if it is none. */
static int range_of(piece line, int64_t *first, int64_t *last) {
    int64_t numbers[2] = {0, 0};
    int which = 0;
    for (size_t i = 0; i < line.length && line.text[i] != '\t'; i++) {
        char byte = line.text[i];
        if (byte == '-' && which == 0)
            which = 1;
        else if (byte < '0' || byte > '9')
            return 0;
        else
            numbers[which] = numbers[which] * 10 + (byte - '0');
    }
    *first = numbers[0];
    *last = numbers[1];
    return which == 1;
}

static int is_blank(char byte) { return byte == ' ' || byte == '\t'; }

/* What follows `key` in the comment "# key ..."; NULL if it is another one. */
static const char *comment_after(piece line, const char *key) {
    size_t i = 1, length = strlen(key);
    if (line.length == 0 || line.text[0] != '#') return NULL;
    while (i < line.length && is_blank(line.text[i])) i++;
    if (line.length - i < length || memcmp(line.text + i, key, length) != 0) return NULL;
    i += length;
    return i == line.length || is_blank(line.text[i]) || line.text[i] == '=' ? line.text + i : NULL;
}

/* The text of a "# text = ..." without white space around it; 0 if the line is another one. */
static int text_of(piece line, piece *text) {
    const char *at = comment_after(line, "text"), *end = line.text + line.length;
    if (!at) return 0;
    while (at < end && is_blank(*at)) at++;
    if (at == end || *at != '=') return 0;
    *text = (piece){at + 1, (size_t)(end - at) - 1};
    return 1;
}

/* ---- white space ---- */

/* The code point at byte `at`, -1 at the end, and its bytes. */
static int32_t code_at(piece text, size_t at, size_t *bytes) {
    int32_t code = -1;
    *bytes = at < text.length ? (size_t)at_unicode_next(text.text + at, text.length - at, &code) : 0;
    return code;
}

static piece without_spaces_around(piece text) {
    size_t begin = 0, end = 0, bytes;
    for (size_t at = 0; at < text.length; at += bytes) {
        if (at_unicode_space(code_at(text, at, &bytes))) continue;
        if (end == 0) begin = at;
        end = at + bytes;
    }
    return (piece){text.text + begin, end - begin};
}

/* ---- the tokens in the text ---- */

/* The form of a token in NFC, good until the next call. */
static attn_status form_of(const attn_dataset *dataset, const at_surface_token *token, int64_t first_row,
                           piece range, at_surface *surface, piece *form) {
    const at_strings *words = &at_texts_of(dataset)->tokens;
    int64_t word = first_row + token->first_word;
    *form = (piece){at_string(words, word), at_string_length(words, word)};
    if (!token->multiword) return ATTN_OK;
    return at_unicode_nfc(dataset->context, range.text, range.length, &surface->normal, &surface->normal_room,
                          &form->text, &form->length);
}

/* Finds `form` in the text from byte *at on; 0 if other characters are there. */
static int find_form(piece text, size_t *at, piece form, at_surface_token *token) {
    size_t i = 0, t = *at, text_bytes, form_bytes;
    int found = 0;
    token->begin = token->end = (int64_t)t;
    while (i < form.length) {
        int32_t wanted = code_at(form, i, &form_bytes), there = code_at(text, t, &text_bytes);
        if (there == wanted) {
            if (!at_unicode_space(there)) {
                if (!found) token->begin = (int64_t)t;
                token->end = (int64_t)(t + text_bytes);
                found = 1;
            }
            i += form_bytes;
            t += text_bytes;
        } else if (there >= 0 && at_unicode_space(there)) {
            t += text_bytes;
        } else if (at_unicode_space(wanted)) {
            i += form_bytes;
        } else {
            return 0;
        }
    }
    *at = found ? (size_t)token->end : *at;
    return 1;
}

/* Appends a form to the text. */
static attn_status add_form(attn_context *context, at_surface *surface, piece form, int space,
                            at_surface_token *token) {
    attn_status status = ATTN_OK;
    form = without_spaces_around(form);
    if (space && form.length > 0 && surface->text.count > 0)
        status = at_bytes_append(context, &surface->text, " ", 1);
    token->begin = surface->text.count;
    token->end = token->begin + (int64_t)form.length;
    return status == ATTN_OK ? at_bytes_append(context, &surface->text, form.text, form.length) : status;
}

/* ---- sentences ---- */

static attn_status add_token(const attn_dataset *dataset, at_surface *surface, int64_t first, int64_t words,
                             int multiword) {
    attn_status status = at_grow(dataset->context, &surface->tokens, &surface->token_room, surface->count + 1,
                                 sizeof *surface->tokens, "the tokens of a sentence");
    if (status != ATTN_OK) return status;
    surface->tokens[surface->count++] =
        (at_surface_token){.first_word = first, .words = words, .multiword = multiword};
    return ATTN_OK;
}

static const char *source_of(const attn_dataset *dataset, int64_t example) {
    const at_strings *sources = &at_texts_of(dataset)->sources;
    return sources->count > 0 ? at_string(sources, example) : "";
}

/* The tokens, without their places; *text is that of the comment, NULL if there is none. */
static attn_status take_lines(const attn_dataset *dataset, int64_t example, at_surface *surface,
                              piece *text) {
    attn_status status = ATTN_OK;
    int64_t words = dataset->offsets[example + 1] - dataset->offsets[example], taken = 0, first, last;
    const char *rest = source_of(dataset, example);
    piece line;
    *text = (piece){NULL, 0};
    surface->paragraph = example == 0;
    surface->mismatch = 0;
    surface->count = 0;
    while (status == ATTN_OK && next_line(&rest, &line)) {
        if (line.length > 0 && line.text[0] == '#') {
            if (!text->text) text_of(line, text);
            if (comment_after(line, "newpar") || comment_after(line, "newdoc")) surface->paragraph = 1;
        } else if (range_of(line, &first, &last) && first > taken && last >= first && last <= words) {
            while (status == ATTN_OK && taken + 1 < first)
                status = add_token(dataset, surface, taken++, 1, 0);
            if (status == ATTN_OK) status = add_token(dataset, surface, first - 1, last - first + 1, 1);
            taken = last;
        }
    }
    while (status == ATTN_OK && taken < words) status = add_token(dataset, surface, taken++, 1, 0);
    return status;
}

/* The form of the next range in the lines at *rest. */
static piece next_range(const char **rest) {
    piece line;
    int64_t first, last;
    while (next_line(rest, &line)) {
        if (line.text[0] != '#' && range_of(line, &first, &last)) return field_of(line, 1);
    }
    return (piece){"", 0};
}

/* Finds the tokens in surface->text, or puts it together from them. */
static attn_status place_tokens(const attn_dataset *dataset, int64_t example, int together,
                                at_spacing spacing, at_surface *surface) {
    const at_texts *texts = at_texts_of(dataset);
    const char *rest = source_of(dataset, example);
    int64_t row = dataset->offsets[example];
    attn_status status = ATTN_OK;
    size_t at = 0;
    int space = 0;
    for (int64_t t = 0; t < surface->count && status == ATTN_OK; t++) {
        at_surface_token *token = &surface->tokens[t];
        piece form, range = {"", 0}, text = {surface->text.data, (size_t)surface->text.count};
        if (token->multiword) range = next_range(&rest);
        status = form_of(dataset, token, row, range, surface, &form);
        if (status != ATTN_OK) break;
        if (together)
            status = add_form(dataset->context, surface, form, space, token);
        else if (!find_form(text, &at, form, token))
            surface->mismatch = 1;
        if (surface->mismatch && !together) return ATTN_OK;
        space = spacing == AT_SPACING_ONE ||
                (spacing == AT_SPACING_MARKED && !texts->glued[row + token->first_word + token->words - 1]);
    }
    surface->space = space;
    if (together || status != ATTN_OK) return status;
    piece left = {surface->text.data + at, (size_t)surface->text.count - at};
    surface->mismatch = without_spaces_around(left).length > 0;
    return ATTN_OK;
}

/* A 0 behind the text, which does not count. */
static attn_status end_text(attn_context *context, at_surface *surface) {
    attn_status status = at_bytes_append(context, &surface->text, "", 1);
    if (status == ATTN_OK) surface->text.count--;
    return status;
}

attn_status at_surface_read(const attn_dataset *dataset, int64_t example, at_spacing spacing,
                            at_surface *surface) {
    attn_context *context = dataset->context;
    piece text;
    attn_status status = take_lines(dataset, example, surface, &text);
    if (status != ATTN_OK) return status;
    surface->text.count = surface->has_text = 0;
    if (text.text) {
        status = at_unicode_nfc(context, text.text, text.length, &surface->normal, &surface->normal_room,
                                &text.text, &text.length);
        text = without_spaces_around(text);
        if (status == ATTN_OK) status = at_bytes_append(context, &surface->text, text.text, text.length);
        if (status == ATTN_OK) status = end_text(context, surface);
        if (status == ATTN_OK) status = place_tokens(dataset, example, 0, spacing, surface);
        surface->has_text = !surface->mismatch;
        if (status != ATTN_OK || !surface->mismatch) return status;
        surface->text.count = 0;
    }
    status = place_tokens(dataset, example, 1, spacing, surface);
    return status == ATTN_OK ? end_text(context, surface) : status;
}

void at_surface_free(attn_context *context, at_surface *surface) {
    at_bytes_free(context, &surface->text);
    at_release(context, surface->tokens);
    at_release(context, surface->normal);
    memset(surface, 0, sizeof *surface);
}

/* ---- the whole ---- */

static int has_entry(piece list, const char *entry) {
    size_t length = strlen(entry);
    const char *at = list.text, *end = list.text + list.length;
    while (at < end) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        const char *stop = bar ? bar : end;
        if ((size_t)(stop - at) == length && memcmp(at, entry, length) == 0) return 1;
        at = bar ? bar + 1 : end;
    }
    return 0;
}

/* Lines of words and ranges: no comments, no empty nodes (1.1). */
static int is_token_line(piece line) {
    piece id = field_of(line, 0);
    return line.text[0] != '#' && !memchr(id.text, '.', id.length);
}

/* Whether SpaceAfter=No stands anywhere. texts->glued does not tell: words of a range are glued, too. */
static int marks_spaces(const attn_dataset *dataset) {
    for (int64_t e = 0; e < dataset->examples; e++) {
        const char *rest = source_of(dataset, e);
        piece line;
        while (next_line(&rest, &line)) {
            if (is_token_line(line) && has_entry(field_of(line, 9), "SpaceAfter=No")) return 1;
        }
    }
    return 0;
}

/* Whether its script puts spaces between words. */
static int is_spaced(const attn_dataset *dataset) {
    const at_strings *words = &at_texts_of(dataset)->tokens;
    int64_t unspaced = 0, spaced = 0;
    for (int64_t w = 0; w < dataset->rows; w++) {
        piece word = {at_string(words, w), at_string_length(words, w)};
        size_t bytes;
        for (size_t at = 0; at < word.length; at += bytes) {
            unsigned char byte = (unsigned char)word.text[at];
            if (byte < 0x80) { /* of these all letters are of a script with spaces */
                spaced += (byte | 0x20u) - 'a' < 26u;
                bytes = 1;
                continue;
            }
            int spaces = at_unicode_spaced(code_at(word, at, &bytes));
            unspaced += spaces == 0;
            spaced += spaces == 1;
        }
    }
    return unspaced <= spaced;
}

at_spacing at_spacing_of(const attn_dataset *dataset, at_spacing spacing) {
    if (spacing != AT_SPACING_AUTO) return spacing;
    if (marks_spaces(dataset)) return AT_SPACING_MARKED;
    return is_spaced(dataset) ? AT_SPACING_ONE : AT_SPACING_NONE;
}

static attn_status end_paragraph(attn_dataset *raw, at_bytes *text) {
    attn_status status =
        at_texts_token(raw, text->count ? text->data : "", (size_t)text->count, raw->examples + 1, 0);
    text->count = 0;
    return status == ATTN_OK ? at_texts_end(raw, "", 0) : status;
}

static attn_status add_sentences(const attn_dataset *dataset, at_spacing spacing, attn_dataset *raw,
                                 int64_t *mismatches) {
    attn_context *context = dataset->context;
    at_surface surface = {.count = 0};
    at_bytes text = {0};
    attn_status status = ATTN_OK;
    int space = 0, spaced = is_spaced(dataset);
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        status = at_surface_read(dataset, e, spacing, &surface);
        if (status == ATTN_OK && e > 0 && surface.paragraph)
            status = end_paragraph(raw, &text);
        else if (status == ATTN_OK && space)
            status = at_bytes_append(context, &text, " ", 1);
        if (status == ATTN_OK)
            status = at_bytes_append(context, &text, surface.text.data, (size_t)surface.text.count);
        space = surface.space || (spaced && surface.has_text);
        *mismatches += surface.mismatch;
    }
    if (status == ATTN_OK && dataset->examples > 0) status = end_paragraph(raw, &text);
    at_surface_free(context, &surface);
    at_bytes_free(context, &text);
    return status;
}

attn_status at_raw_text(const attn_dataset *dataset, at_spacing spacing, attn_dataset **raw,
                        int64_t *mismatches) {
    attn_dataset *made;
    int64_t count = 0;
    if (dataset->kind != &at_texts_kind || !at_texts_of(dataset)->tokenized)
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: raw text is made from tokens (CoNLL-U), which this file does not have",
                       at_string(&dataset->name, 0));
    attn_status status =
        at_texts_dataset(dataset->context, at_string(&dataset->name, 0), ATTN_FORMAT_LINES, 0, &made);
    if (status != ATTN_OK) return status;
    status = add_sentences(dataset, at_spacing_of(dataset, spacing), made, &count);
    if (status != ATTN_OK) {
        attn_dataset_destroy(made);
        return status;
    }
    if (mismatches) *mismatches = count;
    *raw = made;
    return ATTN_OK;
}
