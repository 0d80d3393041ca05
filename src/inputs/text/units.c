/* units.c: the units by which texts are compared: their words in lower case, as hashes.
 *
 * Words are those of data/symbols/words.c, whatever the units of the model: characters of scripts without
 * spaces are words by themselves, so that n-grams are of words or of characters, depending on the script.
 * Spaces, and how tokens were joined, make no difference.
 */
#include "data/symbols/unicode.h"
#include "inputs/text/text.h"

enum { LONGEST_WORD = 255 }; /* bytes; a longer one is used unchanged */

static uint64_t hash_of(const char *word, size_t length) {
    char lower[4 * LONGEST_WORD + 1];
    if (length > LONGEST_WORD) return at_hash(word, length, 0);
    return at_hash(lower, at_unicode_lower(word, length, lower), 0);
}

attn_status at_text_units(const attn_dataset *dataset, attn_context *context, int64_t example,
                          at_unit_hashes *units) {
    const at_strings *tokens = &at_texts_of(dataset)->tokens;
    attn_status status = ATTN_OK;
    for (int64_t row = dataset->offsets[example]; row < dataset->offsets[example + 1]; row++) {
        const char *text = at_string(tokens, row);
        size_t length = at_string_length(tokens, row), place = 0, begin;
        while (status == ATTN_OK && at_next_word(text, length, 0, &place, &begin))
            status = at_unit_hashes_add(context, units, hash_of(text + begin, place - begin));
    }
    return status;
}
