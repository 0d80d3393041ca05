/* raw_metrics.c: sentences, words and tags of raw text, measured as the CoNLL 2018 shared task did. */
#include "inputs/text/raw_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"

static void finish(at_f1 *counts) {
    counts->precision = counts->system ? (double)counts->right / (double)counts->system : 0;
    counts->recall = counts->gold ? (double)counts->right / (double)counts->gold : 0;
    int64_t both = counts->gold + counts->system;
    counts->f1 = both ? 2 * (double)counts->right / (double)both : 0;
    counts->accuracy = counts->aligned ? (double)counts->right / (double)counts->aligned : 0;
}

/* ---- spans ---- */

typedef struct span {
    int64_t begin, end;
} span;

/* The token at word *word, which is moved on to the first word of the next. */
static span next_token(const at_raw_side *side, int64_t *word) {
    span found = {side->spans[*word].begin, side->spans[*word].end};
    while (*word < side->words && side->spans[*word].begin == found.begin) (*word)++;
    return found;
}

static span next_sentence(const at_raw_side *side, int64_t *sentence) {
    int64_t first = side->first[*sentence], end = side->first[++*sentence];
    return (span){side->spans[first].begin, side->spans[end - 1].end};
}

/* Spans rise, and do not overlap. */
static at_f1 compare_spans(const at_raw_side *gold, int64_t gold_end, const at_raw_side *system,
                           int64_t system_end, span (*next)(const at_raw_side *side, int64_t *at)) {
    at_f1 counts = {.right = 0};
    int64_t g = 0, s = 0;
    span right = {-1, -1}, found = {-1, -1};
    while (g < gold_end || s < system_end) {
        int gold_moves = s == system_end || (g < gold_end && right.end <= found.end);
        if (gold_moves) {
            right = next(gold, &g);
            counts.gold++;
        } else {
            found = next(system, &s);
            counts.system++;
        }
        counts.right += right.begin == found.begin && right.end == found.end;
    }
    counts.aligned = counts.right;
    finish(&counts);
    return counts;
}

/* ---- tags ---- */

typedef struct piece {
    const char *text;
    size_t length;
} piece;

static int is_universal(piece feature) {
    static const char *const names[] = {"PronType", "NumType", "Poss",   "Reflex", "Foreign",  "Abbr",
                                        "Gender",   "Animacy", "Number", "Case",   "Definite", "Degree",
                                        "VerbForm", "Mood",    "Tense",  "Aspect", "Voice",    "Evident",
                                        "Polarity", "Person",  "Polite"};
    const char *equals = memchr(feature.text, '=', feature.length);
    size_t length = equals ? (size_t)(equals - feature.text) : feature.length;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], feature.text, length) == 0) return 1;
    }
    return 0;
}

/* The next universal feature of a list at *rest; 0 at its end. */
static int next_feature(const char **rest, piece *feature) {
    while (**rest) {
        *feature = (piece){*rest, strcspn(*rest, "|\n")};
        *rest += feature->length + ((*rest)[feature->length] != 0);
        if (is_universal(*feature)) return 1;
    }
    return 0;
}

static int count_feature(const char *list, piece wanted) {
    int count = 0;
    piece feature;
    while (next_feature(&list, &feature))
        count += feature.length == wanted.length && memcmp(feature.text, wanted.text, wanted.length) == 0;
    return count;
}

/* Whether all universal features of `a` are in `b` as often. */
static int has_features(const char *a, const char *b) {
    const char *rest = a;
    piece feature;
    while (next_feature(&rest, &feature)) {
        if (count_feature(a, feature) != count_feature(b, feature)) return 0;
    }
    return 1;
}

static int same_tag(const char *column, const char *gold, const char *system) {
    if (strcmp(gold, system) == 0) return 1;
    if (strcmp(column, "FEATS") == 0) return has_features(gold, system) && has_features(system, gold);
    return strcmp(column, "LEMMA") == 0 && (gold[0] == 0 || strcmp(gold, "_") == 0);
}

/* ---- alignment ---- */

typedef struct alignment {
    attn_context *context;
    const at_raw_side *gold, *system;
    const at_strings *columns;
    int64_t aligned;
    at_f1 *tags;
    at_strings folded[2]; /* forms of a region, in lower case */
    uint64_t *hashes[2];  /* of those */
    int64_t hash_room[2];
    int32_t *lengths; /* two rows of the table of common subsequences */
    int64_t length_room;
    unsigned char *moves; /* a bit for each place of the table: the gold word may be skipped */
    int64_t move_room;
    int32_t *codes; /* of a form, and of its lower case */
    int64_t code_room;
} alignment;

static void align(alignment *work, int64_t g, int64_t s) {
    int64_t columns = work->columns->count;
    int all = 1;
    work->aligned++;
    for (int64_t c = 0; c < columns; c++) {
        int right = same_tag(at_string(work->columns, c), at_string(work->gold->tags, g * columns + c),
                             at_string(work->system->tags, s * columns + c));
        work->tags[c].right += right;
        all &= right;
    }
    work->tags[columns].right += all;
}

/* Adds the form of a word to those of the region, as code points. Spaces are no part of a token's form, but
 * are of that of a word inside a multi-word token. */
static attn_status fold(alignment *work, int which, const at_raw_side *side, int64_t word) {
    const char *form = at_string(side->forms, word);
    size_t length = at_string_length(side->forms, word);
    at_strings *folded = &work->folded[which];
    attn_status status = at_grow(work->context, &work->codes, &work->code_room, 3 * (int64_t)length + 1,
                                 sizeof *work->codes, "a form in lower case");
    if (status == ATTN_OK)
        status = at_grow(work->context, &work->hashes[which], &work->hash_room[which], folded->count + 1,
                         sizeof *work->hashes[which], "the words of a region");
    if (status != ATTN_OK) return status;
    int64_t count = 0;
    for (size_t at = 0; at < length;) {
        int32_t code;
        at += (size_t)at_unicode_next(form + at, length - at, &code);
        if (side->spans[word].multiword || !at_unicode_wide_space(code)) work->codes[count++] = code;
    }
    int32_t *lower = work->codes + count;
    size_t bytes = (size_t)at_unicode_lower_codes(work->codes, count, lower) * sizeof *lower;
    work->hashes[which][folded->count] = at_hash((const char *)lower, bytes, 0);
    return at_strings_add(work->context, folded, (const char *)lower, bytes);
}

static int same_form(const alignment *work, int64_t g, int64_t s) {
    const at_strings *gold = &work->folded[0], *system = &work->folded[1];
    size_t bytes = at_string_length(gold, g);
    return work->hashes[0][g] == work->hashes[1][s] && bytes == at_string_length(system, s) &&
           memcmp(at_string(gold, g), at_string(system, s), bytes) == 0;
}

/* The table of the longest common subsequences of what follows each place, from its end; kept of it is one
 * bit a place, all that following it needs. */
static attn_status tabulate(alignment *work, int64_t rows, int64_t columns) {
    enum { MOST_PLACES_LOG2 = 32 }; /* half a gigabyte; no treebank is anywhere near */
    int64_t stride = columns / 8 + 1;
    if (rows > (INT64_C(1) << MOST_PLACES_LOG2) / columns)
        return at_fail(work->context, ATTN_OVERFLOW,
                       "%.100s: %" PRId64 " words, and %.100s: %" PRId64
                       ", in one region of overlapping multi-word tokens: too many to be aligned",
                       work->gold->name, rows, work->system->name, columns);
    attn_status status = at_grow(work->context, &work->lengths, &work->length_room, 2 * (columns + 1),
                                 sizeof *work->lengths, "common subsequences");
    if (status == ATTN_OK)
        status =
            at_grow(work->context, &work->moves, &work->move_room, rows * stride, 1, "common subsequences");
    if (status != ATTN_OK) return status;
    memset(work->lengths, 0, sizeof *work->lengths * 2 * (size_t)(columns + 1));
    memset(work->moves, 0, (size_t)(rows * stride));
    for (int64_t g = rows - 1; g >= 0; g--) {
        int32_t *now = work->lengths + (g % 2) * (columns + 1),
                *below = work->lengths + ((g + 1) % 2) * (columns + 1);
        for (int64_t s = columns - 1; s >= 0; s--) {
            int32_t most = now[s + 1] > below[s] ? now[s + 1] : below[s];
            if (below[s + 1] >= most && same_form(work, g, s)) most = below[s + 1] + 1;
            now[s] = most;
            if (most == below[s]) work->moves[g * stride + s / 8] |= (unsigned char)(1 << s % 8);
        }
    }
    return ATTN_OK;
}

/* Aligns gold words g .. g_end - 1 with system words s .. s_end - 1 by their forms. */
static attn_status align_region(alignment *work, int64_t g, int64_t g_end, int64_t s, int64_t s_end) {
    attn_status status = ATTN_OK;
    int64_t rows = g_end - g, columns = s_end - s, i = 0, j = 0, stride = columns / 8 + 1;
    at_strings_clear(&work->folded[0]);
    at_strings_clear(&work->folded[1]);
    for (int64_t w = g; w < g_end && status == ATTN_OK; w++) status = fold(work, 0, work->gold, w);
    for (int64_t w = s; w < s_end && status == ATTN_OK; w++) status = fold(work, 1, work->system, w);
    if (status != ATTN_OK) return status;
    /* What is the same from the beginning on needs no table. */
    for (; i < rows && i < columns && same_form(work, i, i); i++) align(work, g + i, s + i);
    if (i == rows || i == columns) return ATTN_OK;
    status = tabulate(work, rows, columns);
    if (status != ATTN_OK) return status;
    for (j = i; i < rows && j < columns;) {
        if (same_form(work, i, j)) {
            align(work, g + i++, s + j++);
        } else if (work->moves[i * stride + j / 8] & (1 << j % 8)) {
            i++;
        } else {
            j++;
        }
    }
    return ATTN_OK;
}

/* Whether word w stands behind the region that ends at `end`. */
static int is_beyond(const at_raw_side *side, int64_t w, int64_t end) {
    if (w >= side->words) return 1;
    return side->spans[w].multiword ? side->spans[w].begin >= end : side->spans[w].end > end;
}

static int64_t extended(const at_raw_word *word, int64_t end) {
    return word->multiword && word->end > end ? word->end : end;
}

/* The smallest region with the multi-word token of *g or *s in which no multi-word token sticks out: words
 * that precede it are skipped, *g_end and *s_end stand behind it. */
static void find_region(const alignment *work, int64_t *g, int64_t *g_end, int64_t *s, int64_t *s_end) {
    const at_raw_side *gold = work->gold, *system = work->system;
    const at_raw_word *right = &gold->spans[*g], *found = &system->spans[*s];
    int64_t end = right->multiword ? right->end : found->end;
    if (right->multiword)
        *s += !found->multiword && found->begin < right->begin;
    else
        *g += right->begin < found->begin;
    *g_end = *g;
    *s_end = *s;
    while (!is_beyond(gold, *g_end, end) || !is_beyond(system, *s_end, end)) {
        if (*g_end < gold->words &&
            (*s_end >= system->words || gold->spans[*g_end].begin <= system->spans[*s_end].begin))
            end = extended(&gold->spans[(*g_end)++], end);
        else
            end = extended(&system->spans[(*s_end)++], end);
    }
}

static attn_status align_words(alignment *work) {
    const at_raw_side *gold = work->gold, *system = work->system;
    attn_status status = ATTN_OK;
    int64_t g = 0, s = 0, g_end, s_end;
    while (g < gold->words && s < system->words && status == ATTN_OK) {
        const at_raw_word *right = &gold->spans[g], *found = &system->spans[s];
        if (right->multiword || found->multiword) {
            find_region(work, &g, &g_end, &s, &s_end);
            if (g_end > g && s_end > s) status = align_region(work, g, g_end, s, s_end);
            g = g_end;
            s = s_end;
        } else if (right->begin == found->begin && right->end == found->end) {
            align(work, g++, s++);
        } else if (right->begin <= found->begin) {
            g++;
        } else {
            s++;
        }
    }
    return status;
}

/* ---- the same text ---- */

/* Some characters from byte `at` on, for an error. */
static void show(const at_bytes *text, int64_t at, char *out, size_t room) {
    size_t length = (size_t)(text->count - at), used = 0;
    for (int i = 0; i < 10 && used < length; i++) {
        int32_t code;
        used += (size_t)at_unicode_next(text->data + at + used, length - used, &code);
    }
    if (used == 0)
        snprintf(out, room, "the end");
    else
        snprintf(out, room, "\"%.*s\"", (int)used, text->data + at);
}

static attn_status check_text(attn_context *context, const at_raw_side *gold, const at_raw_side *system) {
    const at_bytes *a = &gold->text, *b = &system->text;
    int64_t at = 0, characters = 0, sentence = 0;
    while (at < a->count && at < b->count && a->data[at] == b->data[at]) at++;
    if (at == a->count && at == b->count) return ATTN_OK;
    while (at > 0 && at < a->count && ((unsigned char)a->data[at] & 0xc0) == 0x80) at--;
    for (int64_t i = 0; i < at; i++) characters += ((unsigned char)a->data[i] & 0xc0) != 0x80;
    while (sentence + 1 < gold->sentences && gold->spans[gold->first[sentence + 1]].begin <= characters)
        sentence++;
    char right[64], found[64];
    show(a, at, right, sizeof right);
    show(b, at, found, sizeof found);
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "%.150s, sentence %" PRId64
                   ": the texts differ, white space apart: here is %s, in %.100s %s",
                   gold->name, sentence + 1, right, system->name, found);
}

/* ---- the whole ---- */

static void free_alignment(alignment *work) {
    for (int i = 0; i < 2; i++) {
        at_strings_free(work->context, &work->folded[i]);
        at_release(work->context, work->hashes[i]);
    }
    at_release(work->context, work->lengths);
    at_release(work->context, work->moves);
    at_release(work->context, work->codes);
}

attn_status at_raw_compare(attn_context *context, const at_raw_side *gold, const at_raw_side *system,
                           const at_strings *columns, at_f1 *tokens, at_f1 *sentences, at_f1 *words,
                           at_f1 *tags) {
    attn_status status = check_text(context, gold, system);
    if (status != ATTN_OK) return status;
    *tokens = compare_spans(gold, gold->words, system, system->words, next_token);
    *sentences = compare_spans(gold, gold->sentences, system, system->sentences, next_sentence);
    alignment work = {.context = context, .gold = gold, .system = system, .columns = columns, .tags = tags};
    memset(tags, 0, sizeof *tags * (size_t)(columns->count + 1));
    status = align_words(&work);
    free_alignment(&work);
    if (status != ATTN_OK) return status;
    *words =
        (at_f1){.right = work.aligned, .gold = gold->words, .system = system->words, .aligned = work.aligned};
    finish(words);
    for (int64_t c = 0; c <= columns->count; c++) {
        tags[c].gold = gold->words;
        tags[c].system = system->words;
        tags[c].aligned = work.aligned;
        finish(&tags[c]);
    }
    return ATTN_OK;
}
