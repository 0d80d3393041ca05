/* fuzz_search.c: beam search over any numbers: it comes to an end within its limits, and every answer is what
 * its parts say, however the numbers look.
 *
 * Four bytes are options; then a byte a limit; the rest are the logarithms, again and again: a byte is one of
 * a few special values or a number from 0 to about -8.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_dataset.h"
#include "heads/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MOST_EXAMPLES = 4,
    MOST_BEAM = 9,
    MOST_LIMIT = 12,
    MOST_SYMBOLS = 40,
    ROWS = MOST_EXAMPLES * MOST_BEAM
};

/* What a row has said, and the logarithms that it was said with. */
typedef struct path {
    int64_t length, example;
    int32_t symbols[MOST_LIMIT + 1];
    float parts[MOST_LIMIT + 1];
} path;

static float number_of(uint8_t byte) {
    switch (byte) {
    case 250: return 0.0f;
    case 251: return -1e30f;
    case 252: return -0.0f;
    case 253: return -INFINITY;
    case 254: return NAN;
    case 255: return -3.4e38f;
    default: return -(float)byte / 32;
    }
}

typedef struct table {
    const uint8_t *bytes;
    size_t count;
    int64_t symbols;
} table;

/* What comes after a path: it depends on the path alone, so that parts can be looked up again. */
static void say(const table *from, const path *at, float *logarithms) {
    uint64_t hash = 1469598103934665603u + (uint64_t)at->example;
    for (int64_t i = 0; i < at->length; i++) hash = (hash ^ (uint64_t)at->symbols[i]) * 1099511628211u;
    for (int64_t s = 0; s < from->symbols; s++)
        logarithms[s] = from->count ? number_of(from->bytes[(hash + (uint64_t)s) % from->count]) : -1.0f;
}

static void check_found(const at_search *search, int64_t example, const table *from, int64_t limit,
                        double penalty, int64_t n_best) {
    const at_found *found;
    int64_t count = at_search_found(search, example, &found);
    REQUIRE(count >= 1 && count <= n_best);
    for (int64_t a = 0; a < count; a++) {
        path said = {.example = example};
        float logarithms[MOST_SYMBOLS];
        double sum = 0, highest = 0;
        REQUIRE(found[a].length >= 0 && found[a].length <= limit);
        if (found[a].sum == -INFINITY) {
            REQUIRE(count == 1 && !found[a].ended && found[a].length == 0);
            continue;
        }
        at_search_spell(search, &found[a], said.symbols);
        int64_t parts = found[a].length + found[a].ended;
        int32_t spelled[MOST_LIMIT + 1];
        memcpy(spelled, said.symbols, sizeof spelled);
        for (int64_t i = 0; i < parts; i++) {
            int32_t symbol = i < found[a].length ? spelled[i] : 0;
            REQUIRE(symbol < from->symbols && (symbol > 0) == (i < found[a].length));
            say(from, &said, logarithms);
            float best = -INFINITY;
            for (int64_t s = 0; s < from->symbols; s++) best = logarithms[s] > best ? logarithms[s] : best;
            sum += (double)logarithms[symbol];
            highest += (double)best;
            said.symbols[said.length++] = symbol;
        }
        REQUIRE(sum == found[a].sum && sum <= highest);
        REQUIRE(found[a].value == sum / pow((double)(parts > 0 ? parts : 1), penalty));
        REQUIRE(found[a].ended || found[a].length == limit);
        if (a == 0) continue;
        REQUIRE(found[a - 1].ended >= found[a].ended);
        REQUIRE(found[a - 1].ended != found[a].ended || found[a - 1].value >= found[a].value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static path rows[ROWS], next[ROWS];
    static float logarithms[ROWS * MOST_SYMBOLS];
    if (size < 4) return 0;
    int64_t examples = 1 + data[0] % MOST_EXAMPLES, beam = data[0] >> 2, limits[MOST_EXAMPLES], longest = 0,
            steps = 0;
    if ((int64_t)size < 4 + examples) return 0;
    attn_search_options options;
    attn_search_options_init(&options);
    options.beam = beam % (MOST_BEAM + 1);
    options.n_best = data[1] % (MOST_BEAM + 2);
    options.length_penalty = (double)(data[2] % 24) / 8 - 0.25;
    for (int64_t e = 0; e < examples; e++) {
        limits[e] = data[4 + e] % (MOST_LIMIT + 1);
        if (limits[e] > longest) longest = limits[e];
        rows[e] = (path){.example = e};
    }
    table from = {data + 4 + examples, size - 4 - (size_t)examples, 1 + data[3] % MOST_SYMBOLS};
    at_search *search = NULL;
    attn_status status = at_search_create(fuzz_context(), examples, &options, limits, &search);
    int good = options.beam >= 1 && options.n_best >= 1 && options.n_best <= options.beam &&
               options.length_penalty >= 0;
    REQUIRE(good == (status == ATTN_OK) && good == (search != NULL));
    while (good && at_search_rows(search) > 0) {
        int64_t count = at_search_rows(search);
        REQUIRE(count <= examples * options.beam && steps <= longest);
        for (int64_t r = 0; r < count; r++) {
            int64_t before = at_search_from(search)[r];
            REQUIRE(before >= 0 && before < ROWS);
            next[r] = rows[before];
            if (steps > 0) next[r].symbols[next[r].length++] = at_search_symbols(search)[r];
            REQUIRE(next[r].length == steps && (r == 0 || next[r].example >= next[r - 1].example));
            say(&from, &next[r], logarithms + r * MOST_SYMBOLS);
        }
        memcpy(rows, next, sizeof rows);
        steps++;
        REQUIRE(at_search_step(search, logarithms, MOST_SYMBOLS, from.symbols) == ATTN_OK);
    }
    for (int64_t e = 0; good && e < examples; e++)
        check_found(search, e, &from, limits[e], options.length_penalty, options.n_best);
    at_search_destroy(search);
    return 0;
}
