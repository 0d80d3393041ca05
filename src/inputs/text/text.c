/* text.c: text as a kind of input: its vocabulary, its encoding of examples, and its layer.
 *
 *     features of a row -> sum of their embeddings (+ a map of the pretrained vector) -> norm
 */
#include "inputs/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <attn/layers.h>
#include <attn/operations.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/stored.h"
#include "inputs/text/pretrained.h"
#include "inputs/text/raw_side.h"
#include "inputs/text/split.h"
#include "tape/parameters.h"

enum { MOST_VECTORS = 200000 }; /* files put frequent words first */

static at_text_input *own(at_input *input) { return (at_text_input *)(void *)input; }
static const at_text_encoded *rows_of(const at_encoded *encoded) {
    return (const at_text_encoded *)(const void *)encoded;
}

/* ---- the view ---- */

static at_unit unit(const void *values) { return (at_unit)((const at_text_values *)values)->unit; }

static attn_status create(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input) {
    if (unit(values) == AT_UNIT_AUTO)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a model has units: text.unit and target.unit are auto before training only");
    at_text_input *made = at_allocate(context, 1, sizeof *made, "a view of text");
    if (!made) return ATTN_OUT_OF_MEMORY;
    at_text_values *own_values = &made->values;
    *own_values = *(const at_text_values *)values;
    made->input =
        (at_input){.context = context, .use = *use, .longest = own_values->longest, .stem = own_values->stem};
    made->symbols = (at_symbols){.context = context,
                                 .options = {.unit = (at_unit)own_values->unit,
                                             .pretokenized = own_values->pretokenized,
                                             .lowercase = own_values->lowercase,
                                             .decompose = own_values->decompose,
                                             .exact = use->writes_text,
                                             .running = use->running,
                                             .vocabulary = own_values->vocabulary,
                                             .min_count = own_values->min_count,
                                             .subwords = own_values->subwords}};
    if (own_values->one_hot || use->wide_only) { /* the unit and nothing else */
        own_values->ngram_min = own_values->ngram_max = own_values->context = own_values->neighbours = 0;
        own_values->word_features = 0;
        own_values->buckets = own_values->columns = 0;
    }
    made->input.wide = own_values->wide_buckets > 0;
    *input = &made->input;
    return ATTN_OK;
}

static void destroy(at_input *input) {
    at_text_input *text = own(input);
    at_symbols_free(&text->symbols);
    at_numbered_free(input->context, &text->learned);
    at_strings_free(input->context, &text->expansions);
    at_vocabulary_free(input->context, &text->pretrained.words);
    at_release(input->context, text->pretrained.numbers);
    at_release(input->context, text);
}

static attn_status choose(const void *values, const attn_dataset *examples, at_set_function set, void *user) {
    at_unit chosen = unit(values);
    if (chosen != AT_UNIT_AUTO) return ATTN_OK;
    attn_status status = at_symbols_guess(examples->context, &at_texts_of(examples)->tokens, &chosen);
    return status == ATTN_OK ? set(user, "text.unit", at_unit_names[chosen]) : status;
}

/* ---- learning ---- */

/* The vocabulary of vectors: "" without one first, then the words of the file, each once. */
static attn_status read_vectors(at_text_input *input, const char *path) {
    attn_context *context = input->input.context;
    at_pretrained *pretrained = &input->pretrained;
    at_strings words = {0};
    float *numbers = NULL;
    int64_t columns = 0, number;
    attn_status status = at_vectors_read(context, path, MOST_VECTORS, &words, &numbers, &columns);
    if (status == ATTN_OK) status = at_vocabulary_add(context, &pretrained->words, "", 0, 1, &number);
    if (status == ATTN_OK) {
        pretrained->numbers = at_allocate(context, (words.count + 1) * columns, sizeof *numbers, "vectors");
        if (!pretrained->numbers) status = ATTN_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < words.count && status == ATTN_OK; i++) {
        int64_t before = pretrained->words.strings.count;
        status = at_vocabulary_add(context, &pretrained->words, at_string(&words, i),
                                   at_string_length(&words, i), 1, &number);
        if (status == ATTN_OK && number == before) /* of a word that occurs twice the first counts */
            memcpy(pretrained->numbers + number * columns, numbers + i * columns,
                   (size_t)columns * sizeof *numbers);
    }
    at_strings_free(context, &words);
    at_release(context, numbers);
    if (status == ATTN_OK) pretrained->columns = columns;
    return status;
}

static attn_status learn(at_input *input, const at_learning *from) {
    at_text_input *text = own(input);
    if (from->vectors && input->use.wide_only)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT,
                       "pretrained vectors are for rows, and encoder.kind none has none");
    attn_status status = at_text_learn_units(text, from);
    if (status == ATTN_OK)
        status =
            at_expansions_learn(input->context, &at_texts_of(from->examples)->expansions, &text->expansions);
    return status == ATTN_OK && from->vectors ? read_vectors(text, from->vectors) : status;
}

static uint64_t fingerprint(const at_input *input, uint64_t seed) {
    const at_pretrained *pretrained = &at_text_of(input)->pretrained;
    const at_strings *words = &pretrained->words.strings;
    if (!pretrained->numbers) return seed;
    seed = at_hash(words->bytes, (size_t)words->offsets[words->count], seed);
    return at_hash((const char *)pretrained->numbers,
                   (size_t)(words->count * pretrained->columns) * sizeof(float), seed);
}

static attn_status store(const at_input *input, const char *prefix, at_safetensors_writer *writer) {
    const at_text_input *text = at_text_of(input);
    attn_status status = at_store_symbols(writer, prefix, "text.units", "text.merges", &text->symbols);
    if (status == ATTN_OK) status = at_store_strings(writer, prefix, "text.expansions", &text->expansions);
    if (status != ATTN_OK) return status;
    return at_store_strings(writer, prefix, "vectors.words", &text->pretrained.words.strings);
}

static attn_status load(at_input *input, const char *prefix, const at_safetensors *file) {
    at_text_input *text = own(input);
    attn_context *context = input->context;
    char name[96];
    snprintf(name, sizeof name, "%svectors", prefix);
    attn_status status = at_load_symbols(file, prefix, "text.units", "text.merges", &text->symbols);
    if (status == ATTN_OK && text->values.scheme == AT_SCHEME_SPLIT) {
        status = at_load_strings(context, file, prefix, "text.expansions", &text->expansions);
        const char *wrong = status == ATTN_OK ? at_expansions_check(&text->expansions) : NULL;
        if (wrong) return at_damaged(context, file, wrong, "");
    }
    if (status == ATTN_OK)
        status = at_load_vocabulary(context, file, prefix, "vectors.words", 0, &text->pretrained.words);
    if (status != ATTN_OK || text->pretrained.words.strings.count == 0) return status;
    const at_stored *table = at_safetensors_find(file, name);
    if (!table || table->rank != 2 || table->shape[1] < 1)
        return at_damaged(context, file, "the tensor vectors is missing or not a table", "");
    text->pretrained.columns = table->shape[1];
    return ATTN_OK;
}

static int64_t vocabulary(const at_input *input) {
    return at_text_of(input)->symbols.vocabulary.strings.count;
}

static const char *vocabulary_unit(const at_input *input, int64_t index) {
    return at_string(&at_text_of(input)->symbols.vocabulary.strings, index);
}

/* ---- running text ---- */

static attn_status begin(const at_input *input, attn_context *context, at_encoded **encoded) {
    (void)input;
    at_text_encoded *made = at_allocate(context, 1, sizeof *made, "running text");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->encoded.context = context;
    attn_status status = at_lexicon_create(context, &made->lexicon);
    if (status == ATTN_OK)
        *encoded = &made->encoded;
    else
        at_text_free_encoded(&made->encoded);
    return status;
}

static attn_status extend(const at_input *input, at_encoded *encoded, const char *unit_text, size_t length) {
    return at_text_add_row(at_text_of(input), (at_text_encoded *)(void *)encoded, unit_text, length);
}

static attn_status fill_tail(const at_input *input, const at_encoded *encoded, int64_t begins, int64_t first,
                             int64_t count, at_batch *batch) {
    at_text_batch *into = (at_text_batch *)(void *)batch;
    attn_status status =
        at_grow(batch->context, &batch->offsets, &batch->offset_room, 2, sizeof *batch->offsets, "a batch");
    if (status != ATTN_OK) return status;
    batch->rows = into->used = 0;
    batch->sequences = 1;
    status = at_text_put_rows(at_text_of(input), rows_of(encoded), begins, first, count, into);
    batch->offsets[0] = 0;
    batch->offsets[1] = batch->rows;
    at_segment segment = {0, first, count, 0};
    at_segments segments = {&segment, 1, 1};
    int64_t zero = 0;
    if (status == ATTN_OK && at_text_of(input)->pretrained.columns)
        status = at_text_put_vectors(rows_of(encoded), &segments, &zero, 1, into);
    return status;
}

static void free_memo(attn_context *context, void *memo) {
    (void)context;
    at_lexicon_release(memo);
}

static const char *row_name(const at_encoded *encoded, int64_t row) {
    return rows_of(encoded)->lexicon->entries[rows_of(encoded)->units[row]].text;
}

static void symbols(const at_input *input, const at_encoded *encoded, int64_t first, int64_t count,
                    int32_t *ids) {
    const at_text_encoded *text = rows_of(encoded);
    (void)input;
    for (int64_t i = 0; i < count; i++) ids[i] = text->lexicon->entries[text->units[first + i]].symbol;
}

/* ---- the layer ---- */

typedef struct text_layer {
    attn_parameter *features; /* the table of embeddings */
    attn_linear *widening;    /* NULL, or from its columns to those of rows */
    attn_linear *vectors_map; /* NULL, or of pretrained vectors to rows */
    attn_norm *norm;
} text_layer;

/* Rows of a table are summed over features and then normalised, so their size counts only against the
 * optimiser's steps: small numbers, which training soon makes its own. Storing them larger by a factor
 * gives them a learning rate of their own: steps of Adam do not depend on the size of gradients. */
static attn_parameter *add_table(const at_text_input *input, attn_parameters *set, const char *prefix,
                                 const char *part, int64_t rows, int64_t columns) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, part);
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_NORMAL;
    options.scale = 0.05f / (float)input->values.embedding_rate;
    int64_t shape[2] = {rows, columns};
    return attn_parameters_add(set, name, 2, shape, &options);
}

static void build_shared(at_input *input, attn_parameters *set, const char *prefix) {
    at_text_input *text = own(input);
    at_pretrained *pretrained = &text->pretrained;
    if (!pretrained->columns) return;
    pretrained->table =
        add_table(text, set, prefix, "vectors", pretrained->words.strings.count, pretrained->columns);
    if (!pretrained->table || !pretrained->numbers) return;
    at_parameters_did(
        set, at_parameter_host_write(pretrained->table, 0, pretrained->table->count, pretrained->numbers));
}

/* Hashed features begin at 0: one that never occurs in training then says nothing, instead of noise. */
static void clear_hashed(const at_text_input *input, attn_parameter *features) {
    if (!features) return;
    int64_t known = input->symbols.vocabulary.strings.count * features->columns;
    at_parameters_did(features->set, at_parameter_fill(features, known, features->count - known, 0.0f));
}

static int is_narrow(const at_text_input *input, int64_t columns) {
    return input->values.columns > 0 && input->values.columns < columns;
}

static void *build(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns) {
    const at_text_input *text = at_text_of(input);
    text_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[128];
    if (!layer) return NULL;
    memset(layer, 0, sizeof *layer);
    int64_t width = is_narrow(text, columns) ? text->values.columns : columns;
    layer->features = add_table(text, set, prefix, "features", at_text_features_count(text), width);
    if (at_parameters_start(set)) clear_hashed(text, layer->features);
    if (text->pretrained.columns) {
        snprintf(name, sizeof name, "%svectors.map", prefix);
        layer->vectors_map =
            attn_linear_create(set, name, text->pretrained.columns, columns, 0, ATTN_IDENTITY);
    }
    if (width < columns) {
        snprintf(name, sizeof name, "%sfeatures.map", prefix);
        layer->widening = attn_linear_create(set, name, width, columns, 0, ATTN_IDENTITY);
    }
    snprintf(name, sizeof name, "%sinput.norm", prefix);
    layer->norm = attn_norm_create(set, name, ATTN_NORM_LAYER, columns);
    return layer;
}

static attn_variable *apply(const at_input *input, const void *built, attn_tape *tape,
                            const at_batch *batch) {
    const at_text_input *text = at_text_of(input);
    const text_layer *layer = built;
    const at_text_batch *rows = (const at_text_batch *)(const void *)batch;
    attn_variable *x =
        attn_tape_embedding_bag(tape, layer->features, rows->ids, rows->offsets, batch->rows, ATTN_BAG_SUM);
    if (text->values.embedding_rate != 1) x = attn_tape_scale(tape, x, (float)text->values.embedding_rate);
    if (layer->widening) x = attn_linear_apply(tape, layer->widening, x);
    if (text->pretrained.columns) {
        attn_variable *vectors =
            attn_tape_embedding(tape, text->pretrained.table, rows->vectors, batch->rows);
        x = attn_tape_add(tape, x, attn_linear_apply(tape, layer->vectors_map, vectors));
    }
    return attn_norm_apply(tape, layer->norm, x);
}

static void offer(const at_input *input, const void *built, at_offer *offered) {
    const at_text_input *text = at_text_of(input);
    offered->symbols = &text->symbols;
    offered->rate = text->values.embedding_rate;
    /* The table has a row for each symbol and no others, as wide as the network's. */
    int whole = built && text->values.buckets == 0 && !((const text_layer *)built)->widening;
    offered->table = whole ? ((const text_layer *)built)->features : NULL;
}

/* ---- characters as parts of words: bmes.c, split.c ---- */

static const char *metric(const at_input *input) {
    return at_text_of(input)->values.scheme == AT_SCHEME_NONE ? NULL : "word_f1";
}

static const char *check_labels(const at_input *input, const at_strings *labels) {
    switch ((at_scheme)at_text_of(input)->values.scheme) {
    case AT_SCHEME_NONE: return NULL;
    case AT_SCHEME_BMES: return at_bmes_check(labels);
    case AT_SCHEME_SPLIT: return at_split_check(labels);
    }
    return NULL;
}

static attn_status measure(const at_input *input, attn_context *context, const at_encoded *encoded,
                           const at_strings *labels, const int32_t *truth, const int32_t *answers,
                           at_metric_function add, void *user) {
    (void)context;
    switch ((at_scheme)at_text_of(input)->values.scheme) {
    case AT_SCHEME_NONE: break;
    case AT_SCHEME_BMES: return at_bmes_measure(rows_of(encoded), labels, truth, answers, add, user);
    case AT_SCHEME_SPLIT: return at_split_measure(rows_of(encoded), truth, answers, add, user);
    }
    return ATTN_OK;
}

/* ---- raw text ---- */

static int splits(const at_input *input) { return at_text_of(input)->values.scheme == AT_SCHEME_SPLIT; }

/* Words of a text that is no sequence of tokens are for a splitter to find, unless they stand between spaces.
 */
static int is_raw(const at_input *input, const attn_dataset *dataset, const void *settings) {
    const at_text_values *values = &at_text_of(input)->values;
    const at_text_settings *own = settings;
    return input->use.per_row == 1 && values->unit == AT_UNIT_WORDS && !values->pretokenized &&
           !(own && own->pretokenized) && !at_texts_of(dataset)->tokenized;
}

static const char *rule(const at_input *input) {
    (void)input;
    return "each line is read as one sentence, and words are found by general rules (letters and digits "
           "together, each punctuation mark alone): the model has no splitter";
}

const at_input_kind at_text_kind = {
    .name = "text",
    .help = "sentences, texts and words, as words, characters, bytes or subwords",
    .row = "unit",
    .example = "text",
    .formats = at_text_formats,
    .fields = {at_text_fields, AT_TEXT_FIELDS, sizeof(at_text_values), at_text_flags, AT_TEXT_FLAGS},
    .settings = {at_text_setting_fields, AT_TEXT_SETTINGS, sizeof(at_text_settings), NULL, 0},
    .models = "models that read text",
    .defaults = at_text_defaults,
    .default_count = AT_TEXT_DEFAULTS,
    .knows = at_text_knows,
    .read = at_text_read,
    .detect = at_text_detect,
    .pieces = at_text_pieces,
    .quotes = at_text_quotes,
    .judge = at_text_judge,
    .takes_two = at_text_takes_two,
    .describe = at_text_describe,
    .tells_conflicts = 1,
    .units = at_text_units,
    .fill_in = at_text_fill_in,
    .check = at_text_check,
    .unit = unit,
    .choose = choose,
    .create = create,
    .destroy = destroy,
    .learn = learn,
    .is_longer = at_text_is_longer,
    .fingerprint = fingerprint,
    .store = store,
    .load = load,
    .vocabulary = vocabulary,
    .vocabulary_unit = vocabulary_unit,
    .encode = at_text_encode,
    .free_encoded = at_text_free_encoded,
    .free_memo = free_memo,
    .begin = begin,
    .extend = extend,
    .fill_tail = fill_tail,
    .row_name = row_name,
    .symbols = symbols,
    .create_batch = at_text_create_batch,
    .fill = at_text_fill,
    .free_batch = at_text_free_batch,
    .build_shared = build_shared,
    .build = build,
    .apply = apply,
    .build_wide = at_text_build_wide,
    .apply_wide = at_text_apply_wide,
    .offer = offer,
    .metric = metric,
    .check_labels = check_labels,
    .join = at_bmes_join,
    .measure = measure,
    .teach = at_split_teach,
    .splits = splits,
    .is_raw = is_raw,
    .rule = rule,
    .split = at_split_apply,
    .raw = at_text_raw,
    .raw_metrics = at_text_raw_metrics,
};
