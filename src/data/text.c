/* text.c: the vocabulary of units, and the features of rows.
 *
 * Hashed features are part of what a model is: each is at_hash of its bytes, seeded with its kind, modulo the
 * number of buckets. n-grams of a word are taken from its lower-case form between U+0002 and U+0003; of words
 * longer than 40 characters, from the first 20 and the last 20. n-grams of units are a chain of the units'
 * hashes (lower case, where options.lowercase says so), seeded with the length and the row's place in it;
 * beyond the ends of the sequence stands a unit of its own.
 */
#include "data/text.h"

#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/unicode.h"

enum { LONG_WORD = 40, KEPT_END = 20, LONGEST_CONTEXT = 16, SHORT_BYTES = 256, SHORT_SEQUENCE = 256 };

/* Seeds: one a kind of feature. */
enum {
    SEED_NGRAM = 1,
    SEED_LOWER,
    SEED_SHAPE,
    SEED_CLASS,
    SEED_UNIT,
    SEED_CONTEXT = 64,
    SEED_NEIGHBOUR = 4096
};

static const uint64_t outside = UINT64_C(0x5bd1e9955bd1e995); /* stands for a unit beyond the ends */

/* ---- vocabulary -------------------------------------------------------------------------------------- */

/* How often each unit is there, in lower case if the options say so. */
static attn_status count_units(const at_text *text, const attn_dataset *dataset, at_vocabulary *counts) {
    at_units units = {.examples = 0};
    char *lower = NULL;
    int64_t lower_room = 0;
    attn_status status = at_text_units(text, dataset, &units);
    for (int64_t i = 0; i < units.units.count && status == ATTN_OK; i++) {
        const char *unit = at_string(&units.units, i);
        size_t length = at_string_length(&units.units, i);
        if (text->options.lowercase)
            status = at_lower_case(text->context, &unit, &length, &lower, &lower_room);
        if (status == ATTN_OK) status = at_vocabulary_add(text->context, counts, unit, length, 1, NULL);
    }
    at_release(text->context, lower);
    at_units_free(text->context, &units);
    return status;
}

attn_status at_text_learn(at_text *text, const attn_dataset *dataset) {
    at_vocabulary counts = {.slot_count = 0}, vocabulary = {.slot_count = 0};
    at_subwords subwords = {.merges = {.count = 0}};
    attn_status status = ATTN_OK;
    at_text learned = {.context = text->context, .options = text->options};
    if (text->options.unit == AT_UNIT_SUBWORDS) {
        learned.learning = 1;
        status = count_units(&learned, dataset, &counts);
        learned.learning = 0;
        if (status == ATTN_OK) {
            status = at_subwords_learn(text->context, &counts, text->options.subwords, &subwords);
        }
        at_vocabulary_free(text->context, &counts);
        learned.subwords = subwords;
    }
    if (status == ATTN_OK) status = count_units(&learned, dataset, &counts);
    if (status == ATTN_OK) {
        status = at_vocabulary_sort(text->context, &counts, text->options.min_count, text->options.vocabulary,
                                    &vocabulary);
    }
    at_vocabulary_free(text->context, &counts);
    if (status != ATTN_OK) {
        at_subwords_free(text->context, &subwords);
        return status;
    }
    at_text_free(text);
    text->vocabulary = vocabulary;
    text->subwords = subwords;
    return ATTN_OK;
}

void at_text_free(at_text *text) {
    at_vocabulary_free(text->context, &text->vocabulary);
    at_subwords_free(text->context, &text->subwords);
}

enum { FEW_SYMBOLS = 500, PIECES_A_SYMBOL = 8, SHORT_TEXT = 24 };

attn_status at_text_guess(attn_context *context, const at_strings *texts, at_unit *unit) {
    int64_t spaced = 0, pieces = 0, characters = 0;
    at_vocabulary symbols = {.slot_count = 0};
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < texts->count && status == ATTN_OK; i++) {
        const char *text = at_string(texts, i);
        spaced += strchr(text, ' ') != NULL;
        for (const char *piece = text; *piece && status == ATTN_OK;) {
            size_t length = strcspn(piece, " ");
            for (size_t c = 0; c < length; c++) characters += ((unsigned char)piece[c] & 0xC0) != 0x80;
            if (length && symbols.strings.count <= FEW_SYMBOLS)
                status = at_vocabulary_add(context, &symbols, piece, length, 1, NULL);
            pieces += length > 0;
            piece += length + (piece[length] == ' ');
        }
    }
    int64_t different = symbols.strings.count;
    at_vocabulary_free(context, &symbols);
    if (status != ATTN_OK) return status;
    int few = different <= FEW_SYMBOLS && (pieces >= PIECES_A_SYMBOL * different || characters <= 3 * pieces);
    int words = 10 * spaced <= texts->count || (!few && characters <= SHORT_TEXT * texts->count);
    *unit = words ? AT_UNIT_CHARS : few ? AT_UNIT_SYMBOLS : AT_UNIT_SUBWORDS;
    return ATTN_OK;
}

int64_t at_text_features_count(const at_text *text) {
    return text->vocabulary.strings.count + text->options.buckets;
}

/* ---- features ---------------------------------------------------------------------------------------- */

typedef struct feature_writer {
    const at_text *text;
    at_features *features;
    uint64_t buckets;
    int64_t first_bucket;
    char *lower, *shape;   /* room for the longest unit of the sequence */
    uint64_t *hashes;      /* context: of the units of the sequence */
    int64_t count;         /* units of the sequence */
    int64_t context_reach; /* the longest n-gram of units, at least 1 */
} feature_writer;

/* There is room: reserve_row has seen to it. */
static void put(feature_writer *writer, uint64_t hash) {
    at_features *features = writer->features;
    features->ids[features->used++] = (int32_t)(writer->first_bucket + (int64_t)(hash % writer->buckets));
}

/* All n-grams of a piece of text of at most LONG_WORD + 2 characters, marks included. A mark alone says
 * nothing and is left out. */
static void put_ngrams(feature_writer *writer, const char *text, size_t length) {
    size_t places[LONG_WORD + 3];
    int64_t characters = 0;
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80 && characters < LONG_WORD + 2) places[characters++] = i;
    }
    places[characters] = length;
    int64_t shortest = writer->text->options.ngram_min, longest = writer->text->options.ngram_max;
    if (shortest < 1) shortest = 1;
    if (longest > characters) longest = characters;
    for (int64_t n = shortest; n <= longest; n++) {
        for (int64_t i = 0; i + n <= characters; i++) {
            const char *begin = text + places[i];
            if (n == 1 && (*begin == 2 || *begin == 3)) continue;
            put(writer, at_hash(begin, places[i + n] - places[i], SEED_NGRAM));
        }
    }
}

/* The byte where the last `characters` characters of a text begin. */
static size_t last_characters(const char *text, size_t length, int characters) {
    size_t place = length;
    while (place && characters) {
        if (((unsigned char)text[--place] & 0xC0) != 0x80) characters--;
    }
    return place;
}

static size_t first_characters(const char *text, size_t length, int characters) {
    size_t place = 0;
    while (place < length && characters--) {
        place++;
        while (place < length && ((unsigned char)text[place] & 0xC0) == 0x80) place++;
    }
    return place;
}

/* `lower` has the word from its second byte on, and two more bytes of room. */
static void put_word_ngrams(feature_writer *writer, size_t length) {
    char *marked = writer->lower;
    marked[0] = 2;
    marked[length + 1] = 3;
    if (first_characters(marked, length + 2, LONG_WORD + 2) == length + 2) {
        put_ngrams(writer, marked, length + 2);
        return;
    }
    put_ngrams(writer, marked, first_characters(marked, length + 2, KEPT_END + 1));
    size_t tail = last_characters(marked, length + 2, KEPT_END + 1);
    put_ngrams(writer, marked + tail, length + 2 - tail);
}

/* Category and script of a character. */
static void put_character_class(feature_writer *writer, const char *text, size_t length) {
    int32_t code_point = 0;
    if (length) at_unicode_next(text, length, &code_point);
    char class[2] = {(char)utf8proc_category(code_point), 'o'};
    if (class[0] == UTF8PROC_CATEGORY_ND) {
        class[1] = 'd';
    } else if ((code_point < 0x250 || (code_point >= 0x1E00 && code_point < 0x1F00)) &&
               class[0] >= UTF8PROC_CATEGORY_LU && class[0] <= UTF8PROC_CATEGORY_LO) {
        class[1] = 'l';
    } else if ((code_point >= 0x3400 && code_point < 0xA000) ||
               (code_point >= 0xF900 && code_point < 0xFB00) ||
               (code_point >= 0x20000 && code_point < 0x40000)) {
        class[1] = 'h';
    }
    put(writer, at_hash(class, 2, SEED_CLASS));
}

static uint64_t hash_at(const feature_writer *writer, int64_t i) {
    return i < 0 || i >= writer->count ? outside : writer->hashes[i];
}

/* The neighbours of unit i by themselves, each with its distance and side; then n-grams of 2 .. reach units
 * around it, each with i at every place in it. */
static void put_context(feature_writer *writer, int64_t i) {
    int64_t farthest = writer->text->options.neighbours;
    for (int64_t distance = -farthest; distance <= farthest; distance++) {
        uint64_t seed = at_splitmix64((uint64_t)(SEED_NEIGHBOUR + distance));
        if (distance < 0 || (distance && !writer->text->options.backward))
            put(writer, at_splitmix64(seed ^ hash_at(writer, i + distance)));
    }
    for (int64_t n = 2; n <= writer->context_reach; n++) {
        for (int64_t place = writer->text->options.backward ? n - 1 : 0; place < n; place++) {
            uint64_t hash = at_splitmix64((uint64_t)(SEED_CONTEXT * n + place));
            for (int64_t k = i - place; k < i - place + n; k++) {
                hash = at_splitmix64(hash ^ hash_at(writer, k));
            }
            put(writer, hash);
        }
    }
}

/* The hashed features of one unit. */
static void put_hashed(feature_writer *writer, const char *unit, size_t length, size_t lower_length,
                       int64_t i) {
    const at_text_options *options = &writer->text->options;
    if (options->unit == AT_UNIT_WORDS || options->unit == AT_UNIT_SYMBOLS) {
        if (options->ngram_max > 0) put_word_ngrams(writer, lower_length);
        if (options->word_features) put(writer, at_hash(writer->lower + 1, lower_length, SEED_LOWER));
    }
    if (options->word_features) {
        if (options->unit == AT_UNIT_CHARS) {
            put_character_class(writer, unit, length);
        } else if (options->unit != AT_UNIT_BYTES) {
            size_t shape_length = at_unicode_shape(unit, length, writer->shape);
            put(writer, at_hash(writer->shape, shape_length, SEED_SHAPE));
        }
    }
    put_context(writer, i);
}

/* Room for one more row, whatever the unit is. */
static attn_status reserve_row(feature_writer *writer) {
    at_features *features = writer->features;
    attn_context *context = writer->text->context;
    int64_t reach = writer->context_reach, lengths = 0;
    if (writer->buckets && writer->text->options.ngram_max > 0) {
        int64_t shortest = writer->text->options.ngram_min, longest = writer->text->options.ngram_max;
        if (shortest < 1) shortest = 1;
        if (longest > LONG_WORD + 2) longest = LONG_WORD + 2;
        lengths = longest < shortest ? 0 : longest - shortest + 1;
    }
    int64_t most =
        1 + lengths * (LONG_WORD + 2) + 3 + reach * (reach + 1) / 2 + 2 * writer->text->options.neighbours;
    attn_status status = at_grow(context, &features->ids, &features->room, features->used + most,
                                 sizeof *features->ids, "features");
    if (status != ATTN_OK) return status;
    return at_grow(context, &features->offsets, &features->row_room, features->rows + 2,
                   sizeof *features->offsets, "features");
}

static attn_status put_rows(feature_writer *writer, const at_units *units, int64_t first) {
    const at_text *text = writer->text;
    at_features *features = writer->features;
    for (int64_t i = 0; i < writer->count; i++) {
        attn_status status = reserve_row(writer);
        if (status != ATTN_OK) return status;
        const char *unit = at_string(&units->units, first + i);
        size_t length = at_string_length(&units->units, first + i);
        size_t lower_length = at_unicode_lower(unit, length, writer->lower + 1);
        int64_t id = text->options.lowercase
                         ? at_vocabulary_find(&text->vocabulary, writer->lower + 1, lower_length)
                         : at_vocabulary_find(&text->vocabulary, unit, length);
        features->ids[features->used++] = id < 0 ? 0 : (int32_t)id;
        if (writer->buckets) put_hashed(writer, unit, length, lower_length, i);
        features->offsets[++features->rows] = features->used;
    }
    return ATTN_OK;
}

static void hash_units(feature_writer *writer, const at_units *units, int64_t first) {
    for (int64_t i = 0; i < writer->count; i++) {
        const char *unit = at_string(&units->units, first + i);
        size_t length = at_string_length(&units->units, first + i);
        if (writer->text->options.lowercase) {
            length = at_unicode_lower(unit, length, writer->lower);
            unit = writer->lower;
        }
        writer->hashes[i] = at_hash(unit, length, SEED_UNIT);
    }
}

attn_status at_text_features(const at_text *text, const at_units *units, int64_t first, int64_t count,
                             at_features *features) {
    attn_context *context = text->context;
    if (at_text_features_count(text) > INT32_MAX) {
        return at_fail(context, ATTN_OVERFLOW, "%" PRId64 " units and %" PRId64 " buckets, at most %" PRId32,
                       text->vocabulary.strings.count, text->options.buckets, INT32_MAX);
    }
    if (text->options.context > LONGEST_CONTEXT || text->options.neighbours > LONGEST_CONTEXT) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "n-grams of %" PRId64 " neighbouring units, neighbours up to %" PRId64 ": at most %d",
                       text->options.context, text->options.neighbours, LONGEST_CONTEXT);
    }
    int64_t longest = 0;
    for (int64_t i = first; i < first + count; i++) {
        int64_t length = (int64_t)at_string_length(&units->units, i);
        if (length > longest) longest = length;
    }
    char short_text[5 * SHORT_BYTES + 4];
    uint64_t short_hashes[SHORT_SEQUENCE];
    feature_writer writer = {.text = text,
                             .features = features,
                             .buckets = text->options.buckets > 0 ? (uint64_t)text->options.buckets : 0,
                             .first_bucket = text->vocabulary.strings.count,
                             .count = count,
                             .context_reach = text->options.context > 1 ? text->options.context : 1};
    char *long_text = NULL;
    uint64_t *long_hashes = NULL;
    attn_status status = at_grow(context, &features->offsets, &features->row_room, features->rows + 1,
                                 sizeof *features->offsets, "features");
    if (status != ATTN_OK) return status;
    if (longest > SHORT_BYTES) { /* lower: a mark, 4 bytes a byte, a mark or 0; shape: a byte a byte and 0 */
        long_text = at_allocate(context, 5 * longest + 4, 1, "the features of a long word");
        if (!long_text) return ATTN_OUT_OF_MEMORY;
    }
    int around = writer.buckets && (writer.context_reach > 1 || text->options.neighbours > 0);
    if (count > SHORT_SEQUENCE && around) {
        long_hashes = at_allocate(context, count, sizeof *long_hashes, "the features of a long sequence");
        if (!long_hashes) {
            at_release(context, long_text);
            return ATTN_OUT_OF_MEMORY;
        }
    }
    writer.lower = long_text ? long_text : short_text;
    writer.shape = writer.lower + 4 * (longest > SHORT_BYTES ? longest : SHORT_BYTES) + 3;
    writer.hashes = long_hashes ? long_hashes : short_hashes;
    if (around) hash_units(&writer, units, first);

    int64_t old_rows = features->rows, old_used = features->used;
    features->offsets[old_rows] = old_used;
    status = put_rows(&writer, units, first);
    at_release(context, long_text);
    at_release(context, long_hashes);
    if (status != ATTN_OK) {
        features->rows = old_rows;
        features->used = old_used;
    }
    return status;
}

void at_features_clear(at_features *features) { features->rows = features->used = 0; }

void at_features_free(attn_context *context, at_features *features) {
    at_release(context, features->ids);
    at_release(context, features->offsets);
    memset(features, 0, sizeof *features);
}
