/* subwords.c: byte-pair encoding.
 *
 * Learning keeps all words as one row of linked symbols, and for each pair of neighbours its count and the
 * places where it was seen, side by side: what a merge finds is noted first and sorted by pairs at its end.
 * The most frequent pair is on top of a heap. A merge visits the places of its pair
 * only and changes the counts of the pairs around them. Entries of the heap and places that time has passed
 * by are recognised when they come up. Nothing depends on the order of a hash table: equal counts are settled
 * by the bytes of the symbols, and places are visited from left to right.
 *
 * Splitting keeps the pairs of a word that are merges in a heap, the merge learned first on top, so that a
 * word of n characters costs O(n log n).
 */
#include "data/symbols/subwords.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"

static const char mark[] = "\xE2\x96\x81"; /* U+2581 */
enum { MARK_BYTES = 3 };

/* Bytes of the character that begins with this byte; 1 for a byte that begins none. */
static size_t character_bytes(const char *text, size_t length) {
    size_t size = 1;
    while (size < 4 && size < length && ((unsigned char)text[size] & 0xC0) == 0x80) size++;
    return size;
}

/* ---- learning ---------------------------------------------------------------------------------------- */

typedef struct node {
    int32_t symbol; /* -1: merged into the previous one */
    int32_t previous, next;
    int32_t word; /* number of the word, whose count weighs its pairs */
    int32_t pair; /* that it makes with the next one */
} node;

/* A pair that was seen, and the node on its left. */
typedef struct sighting {
    int32_t pair, node;
} sighting;

typedef struct symbol_pair {
    int32_t left, right;
    int64_t count;
    int64_t begins; /* its places */
    int32_t places;
    int32_t fresh; /* sightings that are no places yet; if there are any, it is on the list of those whose
                      count rose */
} symbol_pair;

typedef struct candidate {
    int64_t count;
    int32_t pair;
} candidate;

typedef struct pair_learner {
    attn_context *context;
    const at_vocabulary *words;
    at_vocabulary symbols;
    node *nodes;
    int64_t node_count, node_room;
    int32_t single[128]; /* symbols of one byte: number + 1; 0: not seen yet */
    int32_t *places;     /* nodes, pair by pair, from left to right */
    int64_t place_count, place_room;
    sighting *sightings; /* since the last merge began */
    int64_t sighting_count, sighting_room;
    symbol_pair *pairs;
    int64_t pair_count, pair_room;
    int32_t *slots; /* pairs by their two symbols: number + 1, 0 is free */
    int64_t slot_count;
    candidate *heap;
    int64_t heap_count, heap_room;
    int32_t *changed;
    int64_t changed_count, changed_room;
    char *text; /* "left right" */
    int64_t text_room;
} pair_learner;

static void learner_free(pair_learner *learner) {
    attn_context *context = learner->context;
    at_vocabulary_free(context, &learner->symbols);
    at_release(context, learner->nodes);
    at_release(context, learner->places);
    at_release(context, learner->pairs);
    at_release(context, learner->slots);
    at_release(context, learner->heap);
    at_release(context, learner->changed);
    at_release(context, learner->sightings);
    at_release(context, learner->text);
}

static attn_status too_large(attn_context *context) {
    return at_fail(context, ATTN_OVERFLOW,
                   "the words that subwords are to be learned from have over %" PRId32 " characters in all",
                   INT32_MAX);
}

static int compare_symbols(const pair_learner *learner, int32_t a, int32_t b) {
    const at_strings *strings = &learner->symbols.strings;
    size_t a_length = at_string_length(strings, a), b_length = at_string_length(strings, b);
    int order =
        memcmp(at_string(strings, a), at_string(strings, b), a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* Whether candidate a is to be merged before b. */
static int better(const pair_learner *learner, candidate a, candidate b) {
    if (a.count != b.count) return a.count > b.count;
    const symbol_pair *left = &learner->pairs[a.pair], *right = &learner->pairs[b.pair];
    int order = compare_symbols(learner, left->left, right->left);
    if (!order) order = compare_symbols(learner, left->right, right->right);
    return order < 0;
}

static void sift_down(pair_learner *learner, int64_t i) {
    candidate *heap = learner->heap, moved = heap[i];
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= learner->heap_count) break;
        if (child + 1 < learner->heap_count && better(learner, heap[child + 1], heap[child])) child++;
        if (!better(learner, heap[child], moved)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static attn_status push(pair_learner *learner, int32_t number) {
    attn_status status = at_grow(learner->context, &learner->heap, &learner->heap_room,
                                 learner->heap_count + 1, sizeof *learner->heap, "pairs of symbols");
    if (status != ATTN_OK) return status;
    candidate moved = {learner->pairs[number].count, number};
    int64_t i = learner->heap_count++;
    for (; i && better(learner, moved, learner->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        learner->heap[i] = learner->heap[(i - 1) / 2];
    }
    learner->heap[i] = moved;
    return ATTN_OK;
}

static int64_t pair_slot(const pair_learner *learner, int32_t left, int32_t right) {
    uint64_t mask = (uint64_t)learner->slot_count - 1;
    uint64_t slot = at_splitmix64((uint64_t)left << 32 | (uint32_t)right) & mask;
    for (;; slot = (slot + 1) & mask) {
        int64_t number = (int64_t)learner->slots[slot] - 1;
        if (number < 0) return (int64_t)slot;
        if (learner->pairs[number].left == left && learner->pairs[number].right == right)
            return (int64_t)slot;
    }
}

static attn_status more_slots(pair_learner *learner) {
    int64_t more = learner->slot_count ? 2 * learner->slot_count : 1024;
    int32_t *slots = at_allocate(learner->context, more, sizeof *slots, "pairs of symbols");
    if (!slots) return ATTN_OUT_OF_MEMORY;
    at_release(learner->context, learner->slots);
    learner->slots = slots;
    learner->slot_count = more;
    for (int64_t i = 0; i < learner->pair_count; i++) {
        slots[pair_slot(learner, learner->pairs[i].left, learner->pairs[i].right)] = (int32_t)(i + 1);
    }
    return ATTN_OK;
}

/* The number of a pair, which may be a new one. */
static attn_status number_pair(pair_learner *learner, int32_t left, int32_t right, int32_t *number) {
    attn_status status = ATTN_OK;
    if (2 * (learner->pair_count + 1) > learner->slot_count) status = more_slots(learner);
    if (status != ATTN_OK) return status;
    int64_t slot = pair_slot(learner, left, right);
    *number = learner->slots[slot] - 1;
    if (*number >= 0) return ATTN_OK;
    status = at_grow(learner->context, &learner->pairs, &learner->pair_room, learner->pair_count + 1,
                     sizeof *learner->pairs, "pairs of symbols");
    if (status != ATTN_OK) return status;
    *number = (int32_t)learner->pair_count++;
    learner->slots[slot] = *number + 1;
    learner->pairs[*number] = (symbol_pair){.left = left, .right = right};
    return ATTN_OK;
}

/* The pair of node `at` and its right neighbour is one more. */
static attn_status add_pair(pair_learner *learner, int32_t at) {
    attn_context *context = learner->context;
    node *left = &learner->nodes[at];
    attn_status status = number_pair(learner, left->symbol, learner->nodes[left->next].symbol, &left->pair);
    if (status == ATTN_OK)
        status = at_grow(context, &learner->sightings, &learner->sighting_room, learner->sighting_count + 1,
                         sizeof *learner->sightings, "places of pairs");
    if (status != ATTN_OK) return status;
    symbol_pair *found = &learner->pairs[left->pair];
    if (!found->fresh) {
        status = at_grow(context, &learner->changed, &learner->changed_room, learner->changed_count + 1,
                         sizeof *learner->changed, "pairs of symbols");
        if (status != ATTN_OK) return status;
        learner->changed[learner->changed_count++] = left->pair;
    }
    found->count += learner->words->counts[left->word];
    found->fresh++;
    learner->sightings[learner->sighting_count++] = (sighting){left->pair, at};
    return ATTN_OK;
}

static void remove_pair(pair_learner *learner, int32_t at) {
    const node *left = &learner->nodes[at];
    learner->pairs[left->pair].count -= learner->words->counts[left->word];
}

/* Room for the places of a pair, old and new, where those that are there stand first. (A pair that has some
 * already is rare: one of its symbols has come up again by another merge.) */
static attn_status move_places(pair_learner *learner, symbol_pair *pair) {
    int64_t begins = learner->place_count, count = (int64_t)pair->places + pair->fresh;
    attn_status status = at_grow(learner->context, &learner->places, &learner->place_room, begins + count,
                                 sizeof *learner->places, "places of pairs");
    if (status != ATTN_OK) return status;
    if (pair->places)
        memcpy(learner->places + begins, learner->places + pair->begins,
               (size_t)pair->places * sizeof *learner->places);
    pair->begins = begins;
    learner->place_count += count;
    return ATTN_OK;
}

/* What was seen becomes places, and pairs whose count rose candidates. */
static attn_status push_changed(pair_learner *learner) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < learner->changed_count && status == ATTN_OK; i++) {
        symbol_pair *pair = &learner->pairs[learner->changed[i]];
        status = move_places(learner, pair);
        pair->fresh = 0;
        if (status == ATTN_OK && pair->count > 1) status = push(learner, learner->changed[i]);
    }
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < learner->sighting_count; i++) {
        symbol_pair *pair = &learner->pairs[learner->sightings[i].pair];
        learner->places[pair->begins + pair->places++] = learner->sightings[i].node;
    }
    learner->changed_count = learner->sighting_count = 0;
    return ATTN_OK;
}

/* The number of a symbol. */
static attn_status number_symbol(pair_learner *learner, const char *text, size_t length, int64_t *symbol) {
    int32_t *single = length == 1 && (unsigned char)*text < 128 ? &learner->single[(int)*text] : NULL;
    if (single && *single) {
        *symbol = *single - 1;
        return ATTN_OK;
    }
    attn_status status = at_vocabulary_add(learner->context, &learner->symbols, text, length, 1, symbol);
    if (status == ATTN_OK && single) *single = (int32_t)(*symbol + 1);
    return status;
}

static attn_status add_node(pair_learner *learner, const char *text, size_t length, int32_t word, int first) {
    int64_t symbol;
    attn_status status = number_symbol(learner, text, length, &symbol);
    if (status == ATTN_OK) {
        status = at_grow(learner->context, &learner->nodes, &learner->node_room, learner->node_count + 1,
                         sizeof *learner->nodes, "symbols of words");
    }
    if (status != ATTN_OK) return status;
    if (learner->node_count >= INT32_MAX - 1) return too_large(learner->context);
    int32_t number = (int32_t)learner->node_count++;
    learner->nodes[number] = (node){(int32_t)symbol, first ? -1 : number - 1, -1, word, -1};
    if (!first) learner->nodes[number - 1].next = number;
    return ATTN_OK;
}

/* All words as nodes, then all pairs. */
static attn_status read_words(pair_learner *learner) {
    const at_strings *strings = &learner->words->strings;
    attn_status status = ATTN_OK;
    for (int64_t w = 0; w < strings->count && status == ATTN_OK; w++) {
        const char *word = at_string(strings, w);
        size_t length = at_string_length(strings, w);
        if (!length || learner->words->counts[w] <= 0) continue;
        for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
            size = character_bytes(word + i, length - i);
            status = word[i] == ' ' ? add_node(learner, mark, MARK_BYTES, (int32_t)w, i == 0)
                                    : add_node(learner, word + i, size, (int32_t)w, i == 0);
        }
    }
    for (int64_t i = 0; i < learner->node_count && status == ATTN_OK; i++) {
        if (learner->nodes[i].next >= 0) status = add_pair(learner, (int32_t)i);
    }
    if (status == ATTN_OK) status = push_changed(learner);
    return status;
}

static int compare_places(const void *left, const void *right) {
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* The places of a pair from left to right: those of one merge are. */
static void sort_places(pair_learner *learner, const symbol_pair *pair) {
    int32_t *places = learner->places + pair->begins;
    for (int32_t i = 1; i < pair->places; i++) {
        if (places[i - 1] <= places[i]) continue;
        qsort(places, (size_t)pair->places, sizeof *places, compare_places);
        return;
    }
}

/* Words stand far apart: the next places are asked for before they are needed. */
static void expect_place(const pair_learner *learner, int64_t place) {
#if defined(__GNUC__)
    enum { AHEAD = 12 };
    if (place + AHEAD < learner->place_count)
        __builtin_prefetch(&learner->nodes[learner->places[place + AHEAD]]);
#else
    (void)learner;
    (void)place;
#endif
}

/* Makes `symbol` of a pair wherever it still stands. */
static attn_status merge_pair(pair_learner *learner, int32_t number, int32_t symbol) {
    int32_t left = learner->pairs[number].left, right = learner->pairs[number].right;
    int64_t begins = learner->pairs[number].begins, end = begins + learner->pairs[number].places;
    attn_status status = ATTN_OK;
    sort_places(learner, &learner->pairs[number]);
    learner->pairs[number].places = 0;
    for (int64_t i = begins; i < end && status == ATTN_OK; i++) {
        int32_t at = learner->places[i];
        expect_place(learner, i);
        node *first = &learner->nodes[at];
        if (first->symbol != left || first->next < 0 || learner->nodes[first->next].symbol != right) continue;
        node *second = &learner->nodes[first->next];
        remove_pair(learner, at);
        if (first->previous >= 0) remove_pair(learner, first->previous);
        if (second->next >= 0) remove_pair(learner, first->next);
        first->symbol = symbol;
        first->next = second->next;
        second->symbol = -1;
        if (first->next >= 0) learner->nodes[first->next].previous = at;
        if (first->previous >= 0) status = add_pair(learner, first->previous);
        if (status == ATTN_OK && first->next >= 0) status = add_pair(learner, at);
    }
    if (status == ATTN_OK) status = push_changed(learner);
    return status;
}

/* Merges the pair and, unless it was one already, writes the merge down. (A symbol may come up again by other
 * merges, and with it a pair that was merged before.) */
static attn_status learn_merge(pair_learner *learner, int32_t number, at_subwords *subwords) {
    attn_context *context = learner->context;
    const at_strings *strings = &learner->symbols.strings;
    int32_t left = learner->pairs[number].left, right = learner->pairs[number].right;
    size_t left_length = at_string_length(strings, left), right_length = at_string_length(strings, right);
    size_t length = left_length + 1 + right_length;
    attn_status status = at_grow(context, &learner->text, &learner->text_room, (int64_t)length, 1, "a merge");
    if (status != ATTN_OK) return status;
    memcpy(learner->text, at_string(strings, left), left_length);
    learner->text[left_length] = ' ';
    memcpy(learner->text + left_length + 1, at_string(strings, right), right_length);
    if (at_vocabulary_find(&subwords->rank, learner->text, length) < 0) {
        status = at_vocabulary_add(context, &subwords->rank, learner->text, length, 1, NULL);
        if (status == ATTN_OK) status = at_strings_add(context, &subwords->merges, learner->text, length);
        if (status != ATTN_OK) return status;
    }
    memmove(learner->text + left_length, learner->text + left_length + 1, right_length);
    int64_t symbol;
    status = at_vocabulary_add(context, &learner->symbols, learner->text, length - 1, 1, &symbol);
    if (status != ATTN_OK) return status;
    return merge_pair(learner, number, (int32_t)symbol);
}

attn_status at_subwords_learn(attn_context *context, const at_vocabulary *words, int64_t symbols,
                              at_subwords *subwords) {
    pair_learner learner = {.context = context, .words = words};
    at_subwords learned = {.merges = {.count = 0}};
    attn_status status = read_words(&learner);
    while (status == ATTN_OK && learner.heap_count && learner.symbols.strings.count < symbols) {
        candidate best = learner.heap[0];
        int64_t count = learner.pairs[best.pair].count;
        if (count == best.count || count < 2) { /* or it is out of date, and less than it was */
            learner.heap[0] = learner.heap[--learner.heap_count];
        } else {
            learner.heap[0].count = count;
        }
        if (learner.heap_count) sift_down(&learner, 0);
        if (count == best.count) status = learn_merge(&learner, best.pair, &learned);
    }
    learner_free(&learner);
    if (status != ATTN_OK) {
        at_subwords_free(context, &learned);
        return status;
    }
    *subwords = learned;
    return ATTN_OK;
}

attn_status at_subwords_load(attn_context *context, const at_strings *merges, at_subwords *subwords) {
    at_subwords loaded = {.merges = {.count = 0}};
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < merges->count && status == ATTN_OK; i++) {
        const char *merge = at_string(merges, i);
        size_t length = at_string_length(merges, i);
        const char *space = memchr(merge, ' ', length);
        if (!space || space == merge || space + 1 == merge + length ||
            memchr(space + 1, ' ', (size_t)(merge + length - space - 1))) {
            status =
                at_fail(context, ATTN_INVALID_ARGUMENT,
                        "merge %" PRId64 " (\"%.40s\") is not two symbols with a space between", i, merge);
            break;
        }
        int64_t rank;
        status = at_vocabulary_add(context, &loaded.rank, merge, length, 1, &rank);
        if (status == ATTN_OK && rank != i) {
            status =
                at_fail(context, ATTN_INVALID_ARGUMENT,
                        "merge %" PRId64 " (\"%.40s\") is there before, as merge %" PRId64, i, merge, rank);
        }
        if (status == ATTN_OK) status = at_strings_add(context, &loaded.merges, merge, length);
    }
    if (status != ATTN_OK) {
        at_subwords_free(context, &loaded);
        return status;
    }
    *subwords = loaded;
    return ATTN_OK;
}

void at_subwords_free(attn_context *context, at_subwords *subwords) {
    at_strings_free(context, &subwords->merges);
    at_vocabulary_free(context, &subwords->rank);
}

/* ---- splitting --------------------------------------------------------------------------------------- */

enum { SHORT_WORD = 64 }; /* bytes, marks included, for which the stack has room */

/* A symbol from byte `begin` to that of the next one; alive while its end is not 0. */
typedef struct word_piece {
    int32_t previous, next;
    int32_t begin, end;
} word_piece;

/* Two neighbours that are a merge: pieces from `left` to `middle`, from there to `end`. */
typedef struct possible_join {
    int32_t rank, left, middle, end;
} possible_join;

typedef struct word_splitter {
    const at_subwords *subwords;
    const char *text; /* the word, marked */
    word_piece *pieces;
    possible_join *heap;
    int32_t joins;
    char *key; /* room for "left right" */
} word_splitter;

static int join_before(possible_join a, possible_join b) {
    return a.rank != b.rank ? a.rank < b.rank : a.left < b.left;
}

/* Puts the pair of a piece and its right neighbour on the heap, if it is a merge. */
static void consider(word_splitter *splitter, int32_t left) {
    const word_piece *first = &splitter->pieces[left];
    if (first->next < 0) return;
    const word_piece *second = &splitter->pieces[first->next];
    size_t left_bytes = (size_t)(first->end - first->begin),
           right_bytes = (size_t)(second->end - second->begin);
    memcpy(splitter->key, splitter->text + first->begin, left_bytes);
    splitter->key[left_bytes] = ' ';
    memcpy(splitter->key + left_bytes + 1, splitter->text + second->begin, right_bytes);
    int64_t rank = at_vocabulary_find(&splitter->subwords->rank, splitter->key, left_bytes + 1 + right_bytes);
    if (rank < 0) return;
    possible_join moved = {(int32_t)rank, left, second->begin, second->end};
    int32_t i = splitter->joins++;
    for (; i && join_before(moved, splitter->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        splitter->heap[i] = splitter->heap[(i - 1) / 2];
    }
    splitter->heap[i] = moved;
}

static possible_join pop(word_splitter *splitter) {
    possible_join *heap = splitter->heap, top = heap[0], moved = heap[--splitter->joins];
    int32_t i = 0;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= splitter->joins) break;
        if (child + 1 < splitter->joins && join_before(heap[child + 1], heap[child])) child++;
        if (!join_before(heap[child], moved)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
    return top;
}

/* Merges until there is nothing to merge. */
static void merge_pieces(word_splitter *splitter, int32_t count) {
    for (int32_t i = 0; i + 1 < count; i++) consider(splitter, i);
    while (splitter->joins) {
        possible_join join = pop(splitter);
        word_piece *left = &splitter->pieces[join.left];
        if (left->end != join.middle) continue; /* has grown, or is gone */
        word_piece *right = &splitter->pieces[left->next];
        if (right->end != join.end) continue;
        left->end = right->end;
        left->next = right->next;
        right->end = 0;
        if (left->next >= 0) splitter->pieces[left->next].previous = join.left;
        if (left->previous >= 0) consider(splitter, left->previous);
        consider(splitter, join.left);
    }
}

/* The word with its spaces replaced; out has room for 3 * length. */
static size_t mark_word(const char *word, size_t length, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == ' ') {
            memcpy(out + used, mark, MARK_BYTES);
            used += MARK_BYTES;
        } else {
            out[used++] = word[i];
        }
    }
    return used;
}

static attn_status split_marked(attn_context *context, word_splitter *splitter, size_t length,
                                at_strings *symbols) {
    int32_t count = 0;
    for (size_t i = 0, size; i < length; i += size, count++) {
        size = character_bytes(splitter->text + i, length - i);
        splitter->pieces[count] = (word_piece){count - 1, count + 1, (int32_t)i, (int32_t)(i + size)};
    }
    splitter->pieces[count - 1].next = -1;
    merge_pieces(splitter, count);
    for (int32_t i = 0; i >= 0; i = splitter->pieces[i].next) {
        const word_piece *piece = &splitter->pieces[i];
        attn_status status = at_strings_add(context, symbols, splitter->text + piece->begin,
                                            (size_t)(piece->end - piece->begin));
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

attn_status at_subwords_split(attn_context *context, const at_subwords *subwords, const char *word,
                              size_t length, at_strings *symbols) {
    if (!length) return ATTN_OK;
    if (length > INT32_MAX / 16) {
        return at_fail(context, ATTN_OVERFLOW, "a word of %zu bytes is too long for subwords", length);
    }
    /* Each merge ends a piece and brings at most two new pairs, so that the heap never has 3 a piece. */
    word_piece short_pieces[SHORT_WORD];
    possible_join short_heap[3 * SHORT_WORD];
    char short_text[2 * SHORT_WORD + 1];
    word_splitter splitter = {.subwords = subwords, .pieces = short_pieces, .heap = short_heap};
    size_t most = length;
    for (size_t i = 0; i < length; i++) most += word[i] == ' ' ? MARK_BYTES - 1 : 0;
    char *text = short_text;
    unsigned char *memory = NULL;
    if (most > SHORT_WORD) {
        memory = at_allocate(context, (int64_t)most, sizeof *splitter.pieces + 3 * sizeof *splitter.heap + 3,
                             "the symbols of a long word");
        if (!memory) return ATTN_OUT_OF_MEMORY;
        splitter.pieces = (word_piece *)memory;
        splitter.heap = (possible_join *)(splitter.pieces + most);
        text = (char *)(splitter.heap + 3 * most);
    }
    size_t used = mark_word(word, length, text);
    splitter.text = text;
    splitter.key = text + used;
    int64_t count = symbols->count;
    attn_status status = split_marked(context, &splitter, used, symbols);
    if (status != ATTN_OK) symbols->count = count;
    at_release(context, memory);
    return status;
}
