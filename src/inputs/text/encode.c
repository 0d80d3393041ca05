/* encode.c: datasets of text as numbers of units: the vocabulary of a view, and the encoding. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/text/split.h"
#include "inputs/text/text.h"

enum { LARGE_LEXICON = 200000 };

/* ---- units ---- */

/* What follows a token of a sentence where the file marks spaces: a unit " ", for characters. */
static int space_after(const attn_dataset *dataset, const at_symbols *symbols, int64_t example,
                       int64_t token) {
    const at_texts *texts = at_texts_of(dataset);
    return symbols->options.unit == AT_UNIT_CHARS && texts->any_glued && !texts->glued[token] &&
           token + 1 < dataset->offsets[example + 1];
}

static attn_status split_example(at_splitter *splitter, const attn_dataset *dataset, int64_t example) {
    const at_texts *texts = at_texts_of(dataset);
    const at_strings *tokens = &texts->tokens;
    attn_status status = ATTN_OK;
    for (int64_t t = dataset->offsets[example]; t < dataset->offsets[example + 1] && status == ATTN_OK; t++) {
        int64_t number = t - dataset->offsets[example];
        if (!texts->tokenized) {
            status = at_split_text(splitter, at_string(tokens, t), at_string_length(tokens, t));
            continue;
        }
        status = at_split_token(splitter, at_string(tokens, t), at_string_length(tokens, t), number);
        if (status == ATTN_OK && space_after(dataset, splitter->symbols, example, t))
            status = splitter->take(splitter->user, " ", 1, number);
    }
    return status;
}

/* ---- how long an example is ---- */

typedef struct counting {
    int64_t rows, most;
} counting;

/* More than `most` are not counted. */
static attn_status count_unit(void *user, const char *unit, size_t length, int64_t token) {
    counting *now = user;
    (void)unit;
    (void)length;
    (void)token;
    return ++now->rows > now->most ? ATTN_OVERFLOW : ATTN_OK;
}

attn_status at_text_is_longer(const at_input *input, const attn_dataset *dataset, int64_t example,
                              int64_t most, int *longer) {
    const at_strings *tokens = &at_texts_of(dataset)->tokens;
    int64_t first = dataset->offsets[example], end = dataset->offsets[example + 1];
    counting now = {.most = most};
    *longer = 0;
    if (first == end || tokens->offsets[end] - tokens->offsets[first] <= most) return ATTN_OK; /* bytes */
    at_splitter splitter = at_splitter_of(&at_text_of(input)->symbols, dataset->context, count_unit, &now);
    splitter.learning = 1; /* words stand for subwords: there are at least as many of those */
    attn_status status = split_example(&splitter, dataset, example);
    at_splitter_free(&splitter);
    *longer = now.rows > most;
    return *longer ? ATTN_OK : status;
}

/* ---- learning ---- */

/* What there is to learn from, as one list: the examples, then the predictions. */
typedef struct reading {
    const attn_dataset *examples;
    const at_strings *answers; /* may be NULL */
    int running;
} reading;

static attn_status split_text(const void *user, at_splitter *splitter, int64_t text) {
    const reading *from = user;
    int64_t examples = from->examples->examples;
    attn_status status = ATTN_OK;
    if (text >= examples)
        return at_split_text(splitter, at_string(from->answers, text - examples),
                             at_string_length(from->answers, text - examples));
    if (from->running && text == 0) status = splitter->take(splitter->user, "\n", 1, 0);
    if (status == ATTN_OK) status = split_example(splitter, from->examples, text);
    return status == ATTN_OK && from->running ? splitter->take(splitter->user, "\n", 1, 0) : status;
}

static int64_t place_of(const at_strings *strings, int64_t i) {
    return strings->count ? strings->offsets[i] : 0;
}

static int64_t text_place(const void *user, int64_t text) {
    const reading *from = user;
    const attn_dataset *examples = from->examples;
    const at_strings *tokens = &at_texts_of(examples)->tokens;
    if (text <= examples->examples) return place_of(tokens, examples->offsets[text]);
    return place_of(tokens, tokens->count) + place_of(from->answers, text - examples->examples);
}

static at_text_list list_of(const reading *from) {
    int64_t examples = from->examples->examples;
    return (at_text_list){.name = attn_dataset_name(from->examples),
                          .user = from,
                          .count = examples + (from->answers ? from->answers->count : 0),
                          .numbered = examples,
                          .split = split_text,
                          .place = text_place};
}

attn_status at_text_learn_units(at_text_input *input, const at_learning *from) {
    const reading all = {from->examples, from->answers, input->symbols.options.running};
    at_text_list list = list_of(&all);
    list.numbered = list.count; /* the predictions as well, which are asked for next */
    at_numbered_free(input->input.context, &input->learned);
    input->learned_from = NULL;
    attn_status status = at_symbols_learn(&input->symbols, &list, &input->learned);
    if (status == ATTN_OK && from->answers)
        status = at_symbols_keep(&input->symbols, from->answers, &input->learned, list.count,
                                 from->examples->examples);
    if (status == ATTN_OK) input->learned_from = from->examples;
    return status;
}

/* ---- examples ---- */

typedef struct encoding {
    const at_text_input *input;
    at_text_encoded *into;
    int64_t *tokens, token_room; /* scheme bmes: the token of each row */
} encoding;

static attn_status add_row(void *user, const char *text, size_t length, int64_t token) {
    encoding *work = user;
    at_text_encoded *into = work->into;
    at_encoded *encoded = &into->encoded;
    attn_status status = at_grow(encoded->context, &into->units, &into->unit_room, encoded->rows + 1,
                                 sizeof *into->units, "the rows of examples");
    if (status == ATTN_OK)
        status = at_lexicon_add(into->lexicon, work->input, text, length, &into->units[encoded->rows]);
    if (status == ATTN_OK && work->input->values.scheme == AT_SCHEME_BMES) {
        status = at_grow(encoded->context, &work->tokens, &work->token_room, encoded->rows + 1,
                         sizeof *work->tokens, "the rows of examples");
        if (status == ATTN_OK) work->tokens[encoded->rows] = token;
    }
    if (status == ATTN_OK) encoded->rows++;
    return status;
}

attn_status at_text_add_row(const at_text_input *input, at_text_encoded *into, const char *unit,
                            size_t length) {
    encoding work = {.input = input, .into = into};
    return add_row(&work, unit, length, 0);
}

/* Unit by unit: what a predictor does, which continues with its lexicon. */
static attn_status encode_rows(encoding *work, const attn_dataset *dataset,
                               const at_encode_options *options) {
    at_encoded *encoded = &work->into->encoded;
    attn_status status = at_grow(encoded->context, &encoded->offsets, &encoded->offset_room,
                                 dataset->examples + 1, sizeof *encoded->offsets, "the rows of examples");
    if (status != ATTN_OK) return status;
    at_splitter splitter = at_splitter_of(&work->input->symbols, encoded->context, add_row, work);
    const at_text_settings *settings = options ? options->settings : NULL;
    splitter.pretokenized |= settings && settings->pretokenized;
    splitter.open = options && options->goes_on;
    int running = work->input->input.use.running;
    encoded->offsets[0] = 0;
    if (running) status = add_row(work, "\n", 1, 0);
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        status = split_example(&splitter, dataset, e);
        splitter.open = 0;
        if (status == ATTN_OK && running) status = add_row(work, "\n", 1, 0);
        encoded->offsets[e + 1] = encoded->rows;
    }
    at_splitter_free(&splitter);
    return status;
}

/* All units at once, on all threads; those of examples that the view has just learned from are at hand. */
static attn_status number_rows(encoding *work, const attn_dataset *dataset) {
    at_text_encoded *into = work->into;
    at_encoded *encoded = &into->encoded;
    attn_context *context = encoded->context;
    at_text_input *own = (at_text_input *)(uintptr_t)work->input; /* gives away what it kept for this */
    at_numbered units = {.count = 0};
    attn_status status = ATTN_OK;
    if (own->learned_from == dataset && own->input.context == context) {
        units = own->learned;
        own->learned = (at_numbered){.count = 0};
        own->learned_from = NULL;
    } else {
        const reading all = {dataset, NULL, own->input.use.running};
        const at_text_list list = list_of(&all);
        status = at_number_units(context, &own->symbols, &list, &units);
    }
    if (status != ATTN_OK) return status;
    into->units = units.ids;
    into->unit_room = units.room;
    encoded->rows = units.count;
    encoded->offsets = units.offsets;
    encoded->offset_room = units.offset_room;
    units.ids = NULL;
    units.offsets = NULL;
    status = at_lexicon_fill(into->lexicon, work->input, &units.units.strings);
    at_numbered_free(context, &units);
    return status;
}

void at_text_free_encoded(at_encoded *encoded) {
    at_text_encoded *text = (at_text_encoded *)(void *)encoded;
    attn_context *context = encoded->context;
    at_lexicon_release(text->lexicon);
    at_release(context, text->units);
    at_release(context, encoded->offsets);
    at_strings_free(context, &text->columns);
    at_strings_free(context, &text->labels);
    at_release(context, text->lines);
    at_release(context, text);
}

/* Goes on with the lexicon of the call before, unless it has grown large. */
static attn_status take_lexicon(attn_context *context, void **memo, at_lexicon **lexicon) {
    at_lexicon *kept = memo ? *memo : NULL;
    if (kept && kept->count > LARGE_LEXICON) {
        at_lexicon_release(kept);
        kept = NULL;
    }
    if (memo) *memo = kept;
    attn_status status = kept ? ATTN_OK : at_lexicon_create(context, &kept);
    if (status != ATTN_OK) return status;
    if (memo) {
        *memo = kept;
        kept->references++;
    }
    *lexicon = kept;
    return ATTN_OK;
}

static attn_status check_rows(const encoding *work, const attn_dataset *dataset) {
    const at_text_input *input = work->input;
    const at_texts *texts = at_texts_of(dataset);
    attn_context *context = work->into->encoded.context;
    if (input->input.use.running && texts->tokenized)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.300s: has sentences of tokens; running text is lines of text",
                       attn_dataset_name(dataset));
    return ATTN_OK;
}

attn_status at_text_encode(const at_input *input, attn_context *context, void **memo,
                           const attn_dataset *dataset, const at_encode_options *options,
                           at_encoded **encoded) {
    at_text_encoded *made = at_allocate(context, 1, sizeof *made, "encoded examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->encoded.context = context;
    encoding work = {.input = at_text_of(input), .into = made};
    attn_status status = check_rows(&work, dataset);
    if (status == ATTN_OK) status = take_lexicon(context, memo, &made->lexicon);
    /* Characters of words have to say which word they are of, and an empty text has a row of its own. */
    int single = memo || options || work.input->values.scheme == AT_SCHEME_BMES || dataset->examples == 0;
    if (status == ATTN_OK)
        status = single ? encode_rows(&work, dataset, options) : number_rows(&work, dataset);
    made->encoded.examples = dataset->examples;
    const at_strings *tokens = &at_texts_of(dataset)->tokens;
    if (tokens->count)
        made->encoded.bytes = tokens->offsets[tokens->count]; /* a 0 byte ends each, as a line end would */
    made->encoded.labels = (at_labels){.name = attn_dataset_name(dataset),
                                       .columns = &dataset->columns,
                                       .values = &dataset->targets,
                                       .lines = dataset->lines,
                                       .first = dataset->per_row ? NULL : dataset->offsets,
                                       .places = dataset->per_row ? dataset->rows : dataset->examples,
                                       .per_row = dataset->per_row};
    if (status == ATTN_OK && work.input->values.scheme == AT_SCHEME_BMES)
        status = at_bmes_label(made, dataset, work.tokens);
    if (status == ATTN_OK && work.input->values.scheme == AT_SCHEME_SPLIT)
        status = at_split_label(made, dataset);
    at_release(context, work.tokens);
    if (status != ATTN_OK) {
        at_text_free_encoded(&made->encoded);
        return status;
    }
    *encoded = &made->encoded;
    return ATTN_OK;
}
