/* expansion.c: tokens of several words whose forms are not parts of the token: du is de le.
 *
 * A list has a string "token TAB word word ..." for each such token of the training data, in lower case,
 * sorted, with its most frequent words. A token that is not in the list uses the entry with the same ending:
 * the common beginning of the first words and the tokens is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/file.h"
#include "data/symbols/unicode.h"
#include "inputs/text/split.h"

enum { LEAST_ENDING = 2 /* bytes that a token must share with one that is known */ };

/* ---- learning ---- */

/* A word with single spaces inside and none around it, as forms do not always have them. */
static attn_status append_word(attn_context *context, const char *word, int first, at_bytes *whole) {
    attn_status status = ATTN_OK;
    for (size_t length; status == ATTN_OK && *(word += strspn(word, " ")); word += length, first = 0) {
        length = strcspn(word, " ");
        status = at_bytes_append(context, whole, first ? "\t" : " ", 1);
        if (status == ATTN_OK) status = at_bytes_append(context, whole, word, length);
    }
    return status;
}

attn_status at_expansion_add(attn_context *context, at_strings *list, const char *token, size_t length,
                             const at_strings *words, int64_t first, int64_t count) {
    at_bytes whole = {0};
    attn_status status = at_bytes_append(context, &whole, token, length);
    for (int64_t w = first; w < first + count && status == ATTN_OK; w++)
        status = append_word(context, at_string(words, w), whole.count == (int64_t)length, &whole);
    if (status == ATTN_OK && whole.count == (int64_t)length) { /* words of nothing but spaces */
        at_bytes_free(context, &whole);
        return ATTN_OK;
    }
    char *lower = at_allocate(context, 4 * whole.count + 1, 1, "an expansion");
    if (status == ATTN_OK && !lower) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK)
        status =
            at_strings_add(context, list, lower, at_unicode_lower(whole.data, (size_t)whole.count, lower));
    at_release(context, lower);
    at_bytes_free(context, &whole);
    return status;
}

typedef struct counted {
    const char *text;
    int64_t count;
} counted;

static int by_text(const void *left, const void *right) {
    return strcmp(((const counted *)left)->text, ((const counted *)right)->text);
}

static int same_token(const char *a, const char *b) {
    size_t length = strcspn(a, "\t");
    return length == strcspn(b, "\t") && memcmp(a, b, length) == 0;
}

attn_status at_expansions_learn(attn_context *context, const at_strings *seen, at_strings *list) {
    at_strings_clear(list);
    if (seen->count == 0) return ATTN_OK;
    counted *all = at_allocate(context, seen->count, sizeof *all, "expansions");
    if (!all) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < seen->count; i++) all[i] = (counted){at_string(seen, i), 1};
    qsort(all, (size_t)seen->count, sizeof *all, by_text);
    int64_t distinct = 0;
    for (int64_t i = 0; i < seen->count; i++) {
        if (distinct > 0 && strcmp(all[distinct - 1].text, all[i].text) == 0)
            all[distinct - 1].count++;
        else
            all[distinct++] = all[i];
    }
    attn_status status = ATTN_OK;
    for (int64_t i = 0, end; i < distinct && status == ATTN_OK; i = end) {
        int64_t best = i;
        for (end = i + 1; end < distinct && same_token(all[i].text, all[end].text); end++)
            if (all[end].count > all[best].count) best = end;
        status = at_strings_add(context, list, all[best].text, strlen(all[best].text));
    }
    at_release(context, all);
    return status;
}

const char *at_expansions_check(const at_strings *list) {
    for (int64_t i = 0; i < list->count; i++) {
        const char *text = at_string(list, i), *tab = strchr(text, '\t');
        if (!tab || tab == text || !tab[1] || strchr(tab + 1, '\t') || strstr(tab, "  "))
            return "text.expansions are not \"token TAB word word ...\"";
        size_t length = strlen(text);
        if (tab[1] == ' ' || text[length - 1] == ' ' || at_unicode_check(text, length) != length)
            return "text.expansions are not \"token TAB word word ...\"";
        if (i > 0 && strcmp(at_string(list, i - 1), text) >= 0) return "text.expansions are not in order";
    }
    return NULL;
}

/* ---- applying ---- */

/* The entry of a token, by bisection; NULL: there is none. */
static const char *find(const at_strings *list, const char *token, size_t length) {
    int64_t low = 0, high = list->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const char *text = at_string(list, middle);
        size_t bytes = strcspn(text, "\t");
        int order = memcmp(text, token, bytes < length ? bytes : length);
        if (order == 0) order = (bytes > length) - (bytes < length);
        if (order == 0) return text;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int starts_character(char byte) { return ((unsigned char)byte & 0xC0) != 0x80; }

/* How many bytes an entry's token and its first word have in common at their beginnings, whole characters. */
static size_t common_beginning(const char *token, size_t length, const char *words) {
    size_t same = 0;
    while (same < length && token[same] == words[same]) same++;
    while (same > 0 && same < length && !starts_character(token[same])) same--;
    return same;
}

/* The entry whose way of expanding fits best, and how many bytes of the token stay before what it replaces;
 * NULL: none. */
static const char *find_ending(const at_strings *list, const char *token, size_t length, size_t *kept,
                               const char **rest) {
    const char *found = NULL;
    size_t longest = LEAST_ENDING - 1;
    for (int64_t i = 0; i < list->count; i++) {
        const char *text = at_string(list, i);
        size_t bytes = strcspn(text, "\t"), common = 0;
        while (common < bytes && common < length && text[bytes - 1 - common] == token[length - 1 - common])
            common++;
        size_t stays = common_beginning(text, bytes, text + bytes + 1), replaced = bytes - stays;
        if (common <= longest || common < replaced || length <= replaced) continue;
        if (!starts_character(token[length - replaced])) continue;
        longest = common;
        found = text;
        *kept = length - replaced;
        *rest = text + bytes + 1 + stays;
    }
    return found;
}

static attn_status add_words(attn_context *context, const char *text, at_strings *words) {
    attn_status status = ATTN_OK;
    for (size_t length; *text && status == ATTN_OK; text += length) {
        text += strspn(text, " ");
        length = strcspn(text, " ");
        if (length) status = at_strings_add(context, words, text, length);
    }
    return status;
}

/* The words as the token is written: with a capital, or all in capitals. */
static attn_status restore_case(attn_context *context, const char *token, size_t length, at_bytes *text) {
    int64_t room = 4 * (text->count > (int64_t)length ? text->count : (int64_t)length) + 1;
    char *buffer = at_allocate(context, room, 1, "an expansion");
    if (!buffer) return ATTN_OUT_OF_MEMORY;
    at_unicode_shape(token, length, buffer);
    int first = buffer[0] == 'X', all = first && buffer[1] == 'X' && !strchr(buffer, 'x');
    attn_status status = ATTN_OK;
    if (first) {
        size_t bytes = at_unicode_upper(text->data, strlen(text->data), all, buffer);
        text->count = 0;
        status = at_bytes_append(context, text, buffer, bytes + 1);
    }
    at_release(context, buffer);
    return status;
}

attn_status at_expansion_apply(attn_context *context, const at_strings *list, const char *token,
                               size_t length, at_strings *words) {
    at_bytes text = {0};
    char *lower = at_allocate(context, 4 * (int64_t)length + 1, 1, "an expansion");
    if (!lower) return ATTN_OUT_OF_MEMORY;
    size_t lower_length = at_unicode_lower(token, length, lower), kept = 0;
    const char *found = find(list, lower, lower_length), *rest = NULL;
    if (found)
        rest = found + strcspn(found, "\t") + 1;
    else
        found = find_ending(list, lower, lower_length, &kept, &rest);
    attn_status status = ATTN_OK;
    if (found) {
        status = at_bytes_append(context, &text, lower, kept);
        if (status == ATTN_OK) status = at_bytes_append(context, &text, rest, strlen(rest) + 1);
        if (status == ATTN_OK) status = restore_case(context, token, length, &text);
        if (status == ATTN_OK) status = add_words(context, text.data, words);
    } else {
        status = at_strings_add(context, words, token, length);
    }
    at_bytes_free(context, &text);
    at_release(context, lower);
    return status;
}
