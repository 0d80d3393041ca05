/* numbering.c: the units of many texts as numbers, on all threads of a context. */
#include "data/symbols/numbering.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "data/symbols/tally.h"

enum {
    RANGE_BYTES = 1 << 19, /* of texts that one task takes */
    RANGE_TEXTS = 1 << 12,
    RANGES_A_THREAD = 8, /* that are in memory at once */
    AHEAD = 8            /* units whose places in the common table are asked for before they are looked up */
};

/* ---- units of texts ---- */

/* A range of texts, as long as it is in memory. */
typedef struct range {
    int64_t first, end; /* texts */
    int64_t begins;     /* where its ids go */
    int32_t *ids;       /* the units by the numbers that they have in the range */
    int64_t count, room;
    int32_t *map; /* from those to the common ones */
    int64_t map_room;
} range;

typedef struct worker {
    attn_context *context;
    at_splitter splitter;
    at_tally units;      /* of the range */
    int32_t single[256]; /* of units of one byte: number + 1; 0: not seen yet */
    int64_t weight;
    range *into; /* NULL: units are counted only */
} worker;

typedef struct numbering {
    attn_context *context;
    const at_symbols *symbols;
    const at_text_list *texts;
    const int64_t *weights; /* NULL, or how often each text counts */
    int words;
    at_numbered *result;
    at_tally all;      /* the different units so far */
    worker *workers;   /* [threads] */
    range *ranges;     /* of this round */
    at_progress turns; /* ranges of this round that are in the common list */
    _Atomic int failed;
} numbering;

static attn_status take_unit(void *user, const char *unit, size_t length, int64_t token) {
    worker *own = user;
    int64_t number;
    (void)token;
    int32_t *single = length == 1 ? &own->single[(unsigned char)*unit] : NULL;
    if (single && *single) {
        number = *single - 1;
        own->units.entries[number].count += own->weight;
    } else {
        const at_key key = at_key_of(unit, length);
        attn_status status = at_tally_add(own->context, &own->units, &key, own->weight, &number);
        if (status != ATTN_OK) return status;
        if (single) *single = (int32_t)(number + 1);
    }
    range *into = own->into;
    if (!into) return ATTN_OK;
    if (into->count == into->room) {
        attn_status status = at_grow(own->context, &into->ids, &into->room, into->count + 1,
                                     sizeof *into->ids, "the units of texts");
        if (status != ATTN_OK) return status;
    }
    into->ids[into->count++] = (int32_t)number;
    return ATTN_OK;
}

/* Splits the texts of a range. Where each ends is counted from the beginning of the range for now. */
static attn_status split_range(numbering *work, worker *own, range *now) {
    const at_text_list *texts = work->texts;
    attn_status status = ATTN_OK;
    at_tally_clear(&own->units);
    memset(own->single, 0, sizeof own->single);
    now->count = 0;
    own->into = now->first < texts->numbered ? now : NULL;
    for (int64_t i = now->first; i < now->end && status == ATTN_OK; i++) {
        own->weight = work->weights ? work->weights[i] : 1;
        status = texts->split(texts->user, &own->splitter, i);
        if (own->into) work->result->offsets[i + 1] = now->count;
    }
    return status;
}

/* Brings the units of a range into the common list; one range at a time. */
static attn_status merge_range(numbering *work, worker *own, range *now) {
    at_tally *all = &work->all;
    const at_tally *units = &own->units;
    attn_status status =
        at_grow(own->context, &now->map, &now->map_room, units->count, sizeof *now->map, "units");
    for (int64_t i = 0; i < units->count && status == ATTN_OK; i++) {
        int64_t number;
        if (i + 2 * AHEAD < units->count) at_tally_expect_slot(all, units->entries[i + 2 * AHEAD].hash);
        if (i + AHEAD < units->count) at_tally_expect_entry(all, units->entries[i + AHEAD].hash);
        const at_key key = at_tally_key(units, i);
        status = at_tally_add(own->context, all, &key, units->entries[i].count, &number);
        if (status == ATTN_OK) now->map[i] = (int32_t)number;
    }
    return status;
}

static attn_status number_range(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    numbering *work = user;
    worker *own = &work->workers[number];
    range *now = &work->ranges[first];
    attn_status status = ATTN_OK;
    (void)end;
    own->context = part;
    own->splitter.context = part;
    if (!work->failed) status = split_range(work, own, now);
    if (status != ATTN_OK) work->failed = 1;
    at_progress_sleep(&work->turns, first); /* whatever has failed, the others wait for their turn */
    if (!work->failed) status = merge_range(work, own, now);
    if (status != ATTN_OK) work->failed = 1;
    at_progress_raise(&work->turns, first + 1);
    return status;
}

/* The ids of a range, by the common numbers, at their place. */
static attn_status place_range(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    numbering *work = user;
    const range *now = &work->ranges[first];
    (void)part;
    (void)number;
    (void)end;
    if (now->first >= work->texts->numbered) return ATTN_OK;
    int32_t *ids =
        now->count ? work->result->ids + now->begins : NULL; /* no ids at all: no memory to point into */
    for (int64_t i = 0; i < now->count; i++) ids[i] = now->map[now->ids[i]];
    for (int64_t i = now->first; i < now->end; i++) work->result->offsets[i + 1] += now->begins;
    return ATTN_OK;
}

/* The texts from `first` on that make up a range. */
static int64_t range_end(const at_text_list *texts, int64_t first) {
    int64_t limit = texts->place(texts->user, first) + RANGE_BYTES;
    int64_t low = first + 1, high = first < texts->numbered ? texts->numbered : texts->count;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (texts->place(texts->user, middle) <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Room for the ids so far. The first time, as many as there will be if it continues like this: large arrays
 * do not like to be copied into larger ones. */
static attn_status make_room(numbering *work, int64_t next) {
    at_numbered *result = work->result;
    const at_text_list *texts = work->texts;
    int64_t needed = result->count, numbered = texts->numbered;
    if (result->room == 0 && next < numbered && needed < INT64_MAX / 4) {
        double begins = (double)texts->place(texts->user, 0);
        double part = ((double)texts->place(texts->user, next) - begins) /
                      ((double)texts->place(texts->user, numbered) - begins + 1);
        double expected = 1.02 * (double)needed / (part > 0 ? part : 1);
        if (expected < (double)texts->place(texts->user, numbered) * 2) needed = (int64_t)expected + 1;
    }
    if (needed < result->count) needed = result->count;
    return at_grow(work->context, &result->ids, &result->room, needed, sizeof *result->ids,
                   "the rows of examples");
}

/* Some ranges at a time: all that is in memory beside the result. */
static attn_status number_round(numbering *work, int64_t most, int64_t *next) {
    at_numbered *result = work->result;
    int64_t count = 0;
    for (; count < most && *next < work->texts->count; count++) {
        work->ranges[count].first = *next;
        *next = work->ranges[count].end = range_end(work->texts, *next);
    }
    at_progress_raise(&work->turns, 0);
    attn_status status = at_for_ranges(work->context, count, 1, number_range, work);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < count; i++) {
        work->ranges[i].begins = result->count;
        if (work->ranges[i].first < work->texts->numbered) result->count += work->ranges[i].count;
    }
    status = make_room(work, *next);
    if (status == ATTN_OK) status = at_for_ranges(work->context, count, 1, place_range, work);
    const at_text_list *texts = work->texts;
    int64_t begins = texts->place(texts->user, 0);
    if (status == ATTN_OK)
        at_tell(work->context, texts->name, texts->place(texts->user, *next) - begins,
                texts->place(texts->user, texts->count) - begins);
    return status;
}

/* The different units as strings, with their counts. */
static attn_status list_units(numbering *work) {
    at_vocabulary *units = &work->result->units;
    attn_status status = at_tally_strings(work->context, &work->all, &units->strings);
    if (status == ATTN_OK)
        status = at_grow(work->context, &units->counts, &units->count_room, work->all.count,
                         sizeof *units->counts, "the counts of a vocabulary");
    for (int64_t i = 0; i < work->all.count && status == ATTN_OK; i++)
        units->counts[i] = work->all.entries[i].count;
    return status;
}

static attn_status number_all(numbering *work) {
    attn_context *context = work->context;
    at_numbered *result = work->result;
    int threads = context->threads;
    int64_t most = (int64_t)threads * RANGES_A_THREAD, next = 0;
    work->workers = at_allocate(context, threads, sizeof *work->workers, "the workers of a loop");
    work->ranges = at_allocate(context, most, sizeof *work->ranges, "ranges of texts");
    attn_status status = work->workers && work->ranges ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < threads && status == ATTN_OK; i++) {
        work->workers[i].splitter = at_splitter_of(work->symbols, context, take_unit, &work->workers[i]);
        work->workers[i].splitter.learning = work->words;
    }
    if (status == ATTN_OK)
        status = at_grow(context, &result->offsets, &result->offset_room, work->texts->numbered + 1,
                         sizeof *result->offsets, "the rows of examples");
    if (status == ATTN_OK) result->offsets[0] = 0;
    while (status == ATTN_OK && next < work->texts->count) status = number_round(work, most, &next);
    if (status == ATTN_OK) status = list_units(work);
    for (int i = 0; work->workers && i < threads; i++) {
        worker *own = &work->workers[i];
        own->splitter.context = context;
        at_splitter_free(&own->splitter);
        at_tally_free(context, &own->units);
    }
    for (int64_t i = 0; work->ranges && i < most; i++) {
        at_release(context, work->ranges[i].ids);
        at_release(context, work->ranges[i].map);
    }
    at_tally_free(context, &work->all);
    at_release(context, work->workers);
    at_release(context, work->ranges);
    if (status != ATTN_OK) at_numbered_free(context, result);
    return status;
}

attn_status at_number_texts(attn_context *context, const at_symbols *symbols, const at_text_list *texts,
                            int words, at_numbered *numbered) {
    numbering work = {
        .context = context, .symbols = symbols, .texts = texts, .words = words, .result = numbered};
    return number_all(&work);
}

void at_numbered_free(attn_context *context, at_numbered *numbered) {
    at_vocabulary_free(context, &numbered->units);
    at_release(context, numbered->ids);
    at_release(context, numbered->offsets);
    memset(numbered, 0, sizeof *numbered);
}

/* ---- words as their subwords ---- */

typedef struct spelling {
    const at_numbered *words;
    const at_numbered *parts; /* of each different word */
    at_numbered *result;
    int64_t *begins; /* where the parts of each range of texts go */
} spelling;

static attn_status split_word(const void *user, at_splitter *splitter, int64_t word) {
    const at_strings *words = &((const at_numbered *)user)->units.strings;
    at_strings *pieces = &splitter->pieces;
    at_strings_clear(pieces);
    attn_status status = at_subwords_split(splitter->context, &splitter->symbols->subwords,
                                           at_string(words, word), at_string_length(words, word), pieces);
    for (int64_t i = 0; i < pieces->count && status == ATTN_OK; i++)
        status = splitter->take(splitter->user, at_string(pieces, i), at_string_length(pieces, i), 0);
    return status;
}

static int64_t word_place(const void *user, int64_t word) {
    const at_strings *words = &((const at_numbered *)user)->units.strings;
    return words->count ? words->offsets[word] : 0;
}

/* Ranges of texts: first how many units each has, then the units. */
static attn_status measure_texts(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    spelling *work = user;
    const int64_t *begins = work->parts->offsets, *texts = work->words->offsets;
    int64_t count = 0;
    (void)part;
    (void)number;
    for (int64_t i = texts[first]; i < texts[end]; i++) {
        int32_t word = work->words->ids[i];
        count += begins[word + 1] - begins[word];
    }
    work->begins[first / RANGE_TEXTS + 1] = count;
    return ATTN_OK;
}

static attn_status spell_texts(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    spelling *work = user;
    const int64_t *begins = work->parts->offsets, *texts = work->words->offsets;
    int64_t at = work->begins[first / RANGE_TEXTS];
    (void)part;
    (void)number;
    for (int64_t text = first; text < end; text++) {
        for (int64_t i = texts[text]; i < texts[text + 1]; i++) {
            int32_t word = work->words->ids[i];
            for (int64_t p = begins[word]; p < begins[word + 1]; p++)
                work->result->ids[at++] = work->parts->ids[p];
        }
        work->result->offsets[text + 1] = at;
    }
    return ATTN_OK;
}

static attn_status spell_all(attn_context *context, spelling *work, int64_t texts) {
    at_numbered *result = work->result;
    int64_t pieces = (texts + RANGE_TEXTS - 1) / RANGE_TEXTS;
    work->begins = at_allocate(context, pieces + 1, sizeof *work->begins, "ranges of texts");
    if (!work->begins) return ATTN_OUT_OF_MEMORY;
    attn_status status = at_for_ranges(context, texts, RANGE_TEXTS, measure_texts, work);
    for (int64_t i = 0; i < pieces; i++) work->begins[i + 1] += work->begins[i];
    result->count = work->begins[pieces];
    if (status == ATTN_OK)
        status = at_grow(context, &result->ids, &result->room, result->count, sizeof *result->ids,
                         "the rows of examples");
    if (status == ATTN_OK)
        status = at_grow(context, &result->offsets, &result->offset_room, texts + 1, sizeof *result->offsets,
                         "the rows of examples");
    if (status == ATTN_OK) {
        result->offsets[0] = 0;
        status = at_for_ranges(context, texts, RANGE_TEXTS, spell_texts, work);
    }
    at_release(context, work->begins);
    return status;
}

attn_status at_number_subwords(attn_context *context, const at_symbols *symbols, const at_numbered *words,
                               int64_t texts, at_numbered *units) {
    at_numbered parts = {.count = 0};
    int64_t different = words->units.strings.count;
    const at_text_list list = {
        .user = words, .count = different, .numbered = different, .split = split_word, .place = word_place};
    numbering work = {.context = context,
                      .symbols = symbols,
                      .texts = &list,
                      .weights = words->units.counts,
                      .result = &parts};
    attn_status status = number_all(&work);
    spelling spelled = {.words = words, .parts = &parts, .result = units};
    if (status == ATTN_OK) status = spell_all(context, &spelled, texts);
    if (status == ATTN_OK) {
        units->units = parts.units;
        parts.units = (at_vocabulary){.slot_count = 0};
    } else {
        at_numbered_free(context, units);
    }
    at_numbered_free(context, &parts);
    return status;
}

attn_status at_number_units(attn_context *context, const at_symbols *symbols, const at_text_list *texts,
                            at_numbered *numbered) {
    if (symbols->options.unit != AT_UNIT_SUBWORDS)
        return at_number_texts(context, symbols, texts, 0, numbered);
    at_numbered words = {.count = 0};
    attn_status status = at_number_texts(context, symbols, texts, 1, &words);
    if (status == ATTN_OK) status = at_number_subwords(context, symbols, &words, texts->numbered, numbered);
    at_numbered_free(context, &words);
    return status;
}
