/* features.c: the hashed features of units and rows.
 *
 * Hashed features are part of what a model is: each is at_hash of its bytes, seeded with its kind, modulo the
 * number of buckets. n-grams of a word are taken from its lower-case form between U+0002 and U+0003; of words
 * longer than 40 characters, from the first 20 and the last 20. n-grams of units are a chain of the units'
 * hashes (lower case, where options.lowercase says so), seeded with the length and the row's place in it;
 * beyond the ends of the sequence stands a unit of its own.
 *
 * The letters of a word as features of a whole text (wide.c) are n-grams of the same marked form, with a seed
 * and buckets of their own.
 */
#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/symbols/unicode.h"
#include "inputs/text/text.h"

enum { LONG_WORD = 40, KEPT_END = 20 };

/* Seeds: one a kind of feature. */
enum {
    SEED_NGRAM = 1,
    SEED_LOWER,
    SEED_SHAPE,
    SEED_CLASS,
    SEED_UNIT,
    SEED_WIDE_LETTERS,
    SEED_WIDE_UNIT,
    SEED_CONTEXT = 64,
    SEED_NEIGHBOUR = 4096
};

static const uint64_t outside = UINT64_C(0x5bd1e9955bd1e995); /* stands for a unit beyond the ends */

int64_t at_text_features_count(const at_text_input *input) {
    return input->symbols.vocabulary.strings.count + input->values.buckets;
}

/* ---- features of a unit ---- */

typedef struct feature_writer {
    const at_text_values *values;
    uint64_t buckets;
    int64_t first_bucket;
    int64_t shortest, longest; /* n-grams of characters, and their seed */
    uint64_t ngram_seed;
    int32_t *ids; /* where the next one goes: there is room */
    char *lower;  /* the unit in lower case, from its second byte on, and two more bytes of room */
    char *shape;
} feature_writer;

static int32_t id_of(uint64_t hash, uint64_t buckets, int64_t first_bucket) {
    return (int32_t)(first_bucket + (int64_t)(hash % buckets));
}

static void put(feature_writer *writer, uint64_t hash) {
    *writer->ids++ = id_of(hash, writer->buckets, writer->first_bucket);
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
    int64_t shortest = writer->shortest, longest = writer->longest;
    if (shortest < 1) shortest = 1;
    if (longest > characters) longest = characters;
    for (int64_t n = shortest; n <= longest; n++) {
        for (int64_t i = 0; i + n <= characters; i++) {
            const char *begin = text + places[i];
            if (n == 1 && (*begin == 2 || *begin == 3)) continue;
            put(writer, at_hash(begin, places[i + n] - places[i], writer->ngram_seed));
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

static void put_unit(feature_writer *writer, const at_entry *entry, size_t lower_length) {
    const at_text_values *values = writer->values;
    if (values->unit == AT_UNIT_WORDS || values->unit == AT_UNIT_SYMBOLS) {
        if (values->ngram_max > 0) put_word_ngrams(writer, lower_length);
        if (values->word_features) put(writer, at_hash(writer->lower + 1, lower_length, SEED_LOWER));
    }
    if (!values->word_features) return;
    if (values->scheme == AT_SCHEME_SPLIT) /* where words end depends little on their case */
        put(writer, at_hash(writer->lower + 1, lower_length, SEED_LOWER));
    if (values->unit == AT_UNIT_CHARS) {
        put_character_class(writer, entry->text, (size_t)entry->length);
    } else if (values->unit != AT_UNIT_BYTES) {
        size_t shape_length = at_unicode_shape(entry->text, (size_t)entry->length, writer->shape);
        put(writer, at_hash(writer->shape, shape_length, SEED_SHAPE));
    }
}

/* The most n-grams of these lengths that a unit has. */
static int64_t most_ngrams(int64_t shortest, int64_t longest) {
    if (shortest < 1) shortest = 1;
    if (longest > LONG_WORD + 2) longest = LONG_WORD + 2;
    return longest < shortest ? 0 : (longest - shortest + 1) * (LONG_WORD + 2);
}

/* The most features that a unit has alone. */
static int64_t most_of_unit(const at_text_values *values) {
    return most_ngrams(values->ngram_min, values->ngram_max) + 3 +
           most_ngrams(values->wide_letters_min, values->wide_letters_max);
}

/* What a unit adds to its text as a whole: the n-grams of its letters, and its hash for n-grams of units. */
static void put_wide(feature_writer *writer, at_entry *entry, size_t lower_length) {
    const at_text_values *values = writer->values;
    const int32_t *first = writer->ids;
    entry->wide_hash = at_hash(writer->lower + 1, lower_length, SEED_WIDE_UNIT);
    writer->buckets = (uint64_t)values->wide_buckets;
    writer->first_bucket = 0;
    writer->shortest = values->wide_letters_min;
    writer->longest = values->wide_letters_max;
    writer->ngram_seed = SEED_WIDE_LETTERS;
    if (values->unit == AT_UNIT_WORDS && values->wide_letters_max > 0) put_word_ngrams(writer, lower_length);
    entry->wide_count = (int32_t)(writer->ids - first);
}

attn_status at_entry_features(attn_context *context, const at_text_input *input, at_entry *entry,
                              at_feature_list *list) {
    const at_text_values *values = &input->values;
    if (values->buckets == 0 && values->wide_buckets == 0) return ATTN_OK;
    if (at_text_features_count(input) > INT32_MAX) {
        return at_fail(context, ATTN_OVERFLOW, "%" PRId64 " units and %" PRId64 " buckets, at most %" PRId32,
                       input->symbols.vocabulary.strings.count, values->buckets, INT32_MAX);
    }
    /* lower: a mark, 4 bytes a byte, a mark or 0; shape: a byte per byte and 0 */
    int64_t length = entry->length;
    attn_status status =
        at_grow(context, &list->scratch, &list->scratch_room, 5 * length + 4, 1, "the features of a unit");
    if (status == ATTN_OK)
        status = at_grow(context, &list->ids, &list->room, list->count + most_of_unit(values),
                         sizeof *list->ids, "features");
    if (status != ATTN_OK) return status;
    feature_writer writer = {.values = values,
                             .buckets = (uint64_t)values->buckets,
                             .first_bucket = input->symbols.vocabulary.strings.count,
                             .shortest = values->ngram_min,
                             .longest = values->ngram_max,
                             .ngram_seed = SEED_NGRAM,
                             .ids = list->ids + list->count,
                             .lower = list->scratch,
                             .shape = list->scratch + 4 * length + 3};
    size_t lower_length = at_unicode_lower(entry->text, (size_t)length, writer.lower + 1);
    if (values->lowercase)
        entry->hash = at_hash(writer.lower + 1, lower_length, SEED_UNIT);
    else
        entry->hash = at_hash(entry->text, (size_t)length, SEED_UNIT);
    if (values->buckets) put_unit(&writer, entry, lower_length);
    entry->feature_count = (int32_t)(writer.ids - (list->ids + list->count));
    if (values->wide_buckets) put_wide(&writer, entry, lower_length);
    list->count += entry->feature_count + entry->wide_count;
    return ATTN_OK;
}

/* ---- features of rows ---- */

/* A sequence of units, whose neighbours are looked at. */
typedef struct sequence {
    const at_entry *entries;
    const int32_t *units;
    int64_t count;
} sequence;

static uint64_t hash_at(const sequence *rows, int64_t i) {
    return i < 0 || i >= rows->count ? outside : rows->entries[rows->units[i]].hash;
}

/* The neighbours of row i by themselves, each with its distance and side; then n-grams of 2 .. reach units
 * around it, each with i at every place in it. With `backward` only what precedes the row. */
static int32_t *put_context(const at_text_input *input, const sequence *rows, int64_t i, int32_t *ids) {
    const at_text_values *values = &input->values;
    uint64_t buckets = (uint64_t)values->buckets;
    int64_t first = input->symbols.vocabulary.strings.count, farthest = values->neighbours;
    int backward = input->input.use.running;
    for (int64_t distance = -farthest; distance <= farthest; distance++) {
        uint64_t seed = at_splitmix64((uint64_t)(SEED_NEIGHBOUR + distance));
        if (distance < 0 || (distance && !backward))
            *ids++ = id_of(at_splitmix64(seed ^ hash_at(rows, i + distance)), buckets, first);
    }
    for (int64_t n = 2; n <= values->context; n++) {
        for (int64_t place = backward ? n - 1 : 0; place < n; place++) {
            uint64_t hash = at_splitmix64((uint64_t)(SEED_CONTEXT * n + place));
            for (int64_t k = i - place; k < i - place + n; k++) hash = at_splitmix64(hash ^ hash_at(rows, k));
            *ids++ = id_of(hash, buckets, first);
        }
    }
    return ids;
}

attn_status at_text_put_rows(const at_text_input *input, const at_text_encoded *encoded, int64_t begins,
                             int64_t first, int64_t count, at_text_batch *batch) {
    const at_text_values *values = &input->values;
    const at_lexicon *lexicon = encoded->lexicon;
    attn_context *context = batch->batch.context;
    sequence rows = {lexicon->entries, count ? encoded->units + begins : NULL, first - begins + count};
    int64_t reach = values->context > 1 ? values->context : 1;
    int64_t around = values->buckets ? reach * (reach + 1) / 2 + 2 * values->neighbours : 0, needed = 0;
    for (int64_t i = first - begins; i < rows.count; i++)
        needed += 1 + lexicon->entries[rows.units[i]].feature_count + around;
    attn_status status =
        at_grow(context, &batch->ids, &batch->room, batch->used + needed, sizeof *batch->ids, "features");
    if (status == ATTN_OK)
        status = at_grow(context, &batch->offsets, &batch->offset_room, batch->batch.rows + count + 1,
                         sizeof *batch->offsets, "features");
    if (status != ATTN_OK) return status;
    int64_t *offsets = batch->offsets + batch->batch.rows;
    offsets[0] = batch->used;
    if (count == 0) return ATTN_OK; /* there may be no memory for ids yet */
    int32_t *ids = batch->ids + batch->used;
    for (int64_t i = first - begins; i < rows.count; i++) {
        const at_entry *entry = &lexicon->entries[rows.units[i]];
        *ids++ = entry->symbol < 0 ? 0 : entry->symbol;
        if (entry->feature_count) {
            memcpy(ids, lexicon->features.ids + entry->features, (size_t)entry->feature_count * sizeof *ids);
            ids += entry->feature_count;
        }
        if (around) ids = put_context(input, &rows, i, ids);
        *++offsets = ids - batch->ids;
    }
    batch->used = ids - batch->ids;
    batch->batch.rows += count;
    return ATTN_OK;
}
