/* vectors.c: vectors as a kind of input: the statistics of columns, the encoding of examples, and its layer.
 */
#include "inputs/vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/layers.h>
#include <attn/operations.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/stored.h"
#include "inputs/columns.h"
#include "tape/parameters.h"

static at_vectors_input *own(at_input *input) { return (at_vectors_input *)(void *)input; }
static const at_vectors_encoded *encoded_of(const at_encoded *encoded) {
    return (const at_vectors_encoded *)(const void *)encoded;
}

/* ---- the view ---- */

static attn_status create(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input) {
    at_vectors_input *made = at_allocate(context, 1, sizeof *made, "a view of vectors");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->values = *(const at_vectors_values *)values;
    made->input = (at_input){
        .context = context, .use = *use, .longest = made->values.longest, .stem = made->values.stem};
    *input = &made->input;
    return ATTN_OK;
}

static void destroy(at_input *input) {
    at_vectors_input *vectors = own(input);
    at_release(input->context, vectors->mean);
    at_release(input->context, vectors->deviation);
    at_strings_free(input->context, &vectors->names);
    at_release(input->context, vectors);
}

/* Whether sequences are more than single rows decides about other defaults, and how later files are read. */
static attn_status choose(const void *values, const attn_dataset *examples,
                          attn_status (*set)(void *user, const char *name, const char *value), void *user) {
    int single = 1;
    (void)values;
    for (int64_t e = 0; e < examples->examples; e++)
        single &= examples->offsets[e + 1] - examples->offsets[e] == 1;
    return set(user, "vectors.single", single ? "true" : "false");
}

/* ---- learning ---- */

static attn_status set_columns(at_vectors_input *input, int64_t columns) {
    attn_context *context = input->input.context;
    at_release(context, input->mean);
    at_release(context, input->deviation);
    input->columns = columns;
    input->mean = at_allocate(context, columns, sizeof *input->mean, "the means of columns");
    input->deviation = at_allocate(context, columns, sizeof *input->deviation, "the deviations of columns");
    return input->mean && input->deviation ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static attn_status learn(at_input *input, const at_learning *from) {
    at_vectors_input *vectors = own(input);
    const at_vectors *rows = at_vectors_of(from->examples);
    if (from->vectors)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: pretrained vectors are for words, and input vectors has no words",
                       from->vectors);
    if (rows->rows == 0)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT, "%.200s: has no rows to learn from",
                       attn_dataset_name(from->examples));
    attn_status status = set_columns(vectors, rows->columns);
    for (int64_t c = 0; c < rows->columns && status == ATTN_OK; c++) {
        vectors->deviation[c] = 1;
        if (vectors->values.normalize)
            at_measure_column(rows->numbers + c, rows->rows, rows->columns, &vectors->mean[c],
                              &vectors->deviation[c]);
    }
    at_strings_clear(&vectors->names);
    for (int64_t i = 0; i < rows->names.count && status == ATTN_OK; i++)
        status = at_strings_add(input->context, &vectors->names, at_string(&rows->names, i),
                                at_string_length(&rows->names, i));
    return status;
}

/* ---- the file ---- */

static attn_status store(const at_input *input, const char *prefix, at_safetensors_writer *writer) {
    const at_vectors_input *vectors = at_vectors_input_of(input);
    attn_status status = at_store_numbers(writer, prefix, "vectors.mean", vectors->mean, vectors->columns);
    if (status == ATTN_OK)
        status = at_store_numbers(writer, prefix, "vectors.deviation", vectors->deviation, vectors->columns);
    return status == ATTN_OK ? at_store_strings(writer, prefix, "vectors.columns", &vectors->names) : status;
}

static attn_status load(at_input *input, const char *prefix, const at_safetensors *file) {
    at_vectors_input *vectors = own(input);
    attn_context *context = input->context;
    const at_stored *mean = at_find_numbers(file, prefix, "vectors.mean");
    const at_stored *deviation = at_find_numbers(file, prefix, "vectors.deviation");
    if (!mean || !deviation || mean->count != deviation->count)
        return at_damaged(context, file,
                          "vectors.mean and vectors.deviation are missing, or no F32 of one length", "");
    attn_status status = set_columns(vectors, mean->count);
    if (status != ATTN_OK) return status;
    memcpy(vectors->mean, mean->data, (size_t)mean->count * sizeof(float));
    memcpy(vectors->deviation, deviation->data, (size_t)mean->count * sizeof(float));
    for (int64_t c = 0; c < mean->count; c++) {
        if (!isfinite(vectors->mean[c]) || !isfinite(vectors->deviation[c]) || !(vectors->deviation[c] > 0))
            return at_damaged(context, file, "vectors.mean or vectors.deviation has an impossible number",
                              "");
    }
    status = at_load_strings(context, file, prefix, "vectors.columns", &vectors->names);
    if (status == ATTN_OK && vectors->names.count && vectors->names.count != vectors->columns)
        status = at_damaged(context, file, "vectors.columns does not name every column of vectors.mean", "");
    return status;
}

/* ---- examples ---- */

static void free_encoded(at_encoded *encoded) {
    at_vectors_encoded *made = (at_vectors_encoded *)(void *)encoded;
    attn_context *context = encoded->context;
    at_release(context, encoded->offsets);
    at_strings_free(context, &made->names);
    at_release(context, made);
}

/* Whether the rows are of the columns that the model learned from, and cut as those were. */
static attn_status check_columns(const at_vectors_input *input, attn_context *context,
                                 const attn_dataset *dataset) {
    const at_vectors *rows = at_vectors_of(dataset);
    const at_strings *known = &input->names, *given = &rows->names;
    if (rows->columns != input->columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has rows of %" PRId64 " numbers, the model was trained on rows of %" PRId64,
                       attn_dataset_name(dataset), rows->columns, input->columns);
    for (int64_t c = 0; known->count && given->count && c < input->columns; c++) {
        if (strcmp(at_string(known, c), at_string(given, c)) != 0)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%.200s: number %" PRId64 " of a row is %.60s, the model learned from %.60s there",
                           attn_dataset_name(dataset), c + 1, at_string(given, c), at_string(known, c));
    }
    if (rows->unsplit && !input->values.single)
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "%.200s: has no sequence boundaries, but the model was trained on sequences of several rows: "
            "give an array of three dimensions (one sequence: x[numpy.newaxis]), or an .npz with "
            "offsets",
            attn_dataset_name(dataset));
    return ATTN_OK;
}

static attn_status name_rows(at_vectors_encoded *made) {
    const at_encoded *encoded = &made->encoded;
    int64_t longest = 0;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t rows = encoded->offsets[e + 1] - encoded->offsets[e];
        if (rows > longest) longest = rows;
    }
    for (int64_t i = 0; i < longest && status == ATTN_OK; i++) {
        char name[24];
        int length = snprintf(name, sizeof name, "%" PRId64, i);
        status = at_strings_add(encoded->context, &made->names, name, (size_t)length);
    }
    return status;
}

static attn_status encode(const at_input *input, attn_context *context, void **memo,
                          const attn_dataset *dataset, const at_encode_options *options,
                          at_encoded **encoded) {
    (void)memo;
    (void)options;
    attn_status status = check_columns(at_vectors_input_of(input), context, dataset);
    if (status != ATTN_OK) return status;
    at_vectors_encoded *made = at_allocate(context, 1, sizeof *made, "encoded examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->encoded.context = context;
    made->vectors = at_vectors_of(dataset);
    status = at_grow(context, &made->encoded.offsets, &made->encoded.offset_room, dataset->examples + 1,
                     sizeof *made->encoded.offsets, "the rows of examples");
    if (status == ATTN_OK) {
        made->encoded.examples = dataset->examples;
        made->encoded.rows = dataset->rows;
        memcpy(made->encoded.offsets, dataset->offsets,
               (size_t)(dataset->examples + 1) * sizeof *dataset->offsets);
        status = name_rows(made);
    }
    if (status != ATTN_OK) {
        free_encoded(&made->encoded);
        return status;
    }
    made->encoded.labels = (at_labels){.name = attn_dataset_name(dataset),
                                       .columns = &dataset->columns,
                                       .values = &dataset->targets,
                                       .lines = dataset->lines,
                                       .first = dataset->per_row ? NULL : dataset->offsets,
                                       .places = dataset->per_row ? dataset->rows : dataset->examples,
                                       .per_row = dataset->per_row};
    *encoded = &made->encoded;
    return ATTN_OK;
}

/* Its number in its sequence: the last example that begins at it or before it. */
static const char *row_name(const at_encoded *encoded, int64_t row) {
    int64_t low = 0, high = encoded->examples; /* offsets[low] <= row < offsets[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (encoded->offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return at_string(&encoded_of(encoded)->names, row - encoded->offsets[low]);
}

/* ---- the layer ---- */

typedef struct vectors_layer {
    attn_linear *map;
    attn_norm *norm;
} vectors_layer;

static void *build(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns) {
    vectors_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[96];
    if (!layer) return NULL;
    snprintf(name, sizeof name, "%.60sinput", prefix);
    layer->map =
        attn_linear_create(set, name, at_vectors_input_of(input)->columns, columns, 1, ATTN_IDENTITY);
    snprintf(name, sizeof name, "%.60sinput.norm", prefix);
    layer->norm = attn_norm_create(set, name, ATTN_NORM_LAYER, columns);
    return layer;
}

static attn_variable *apply(const at_input *input, const void *built, attn_tape *tape,
                            const at_batch *batch) {
    const vectors_layer *layer = built;
    const at_vectors_batch *rows = (const at_vectors_batch *)(const void *)batch;
    attn_variable *x =
        attn_tape_input(tape, rows->numbers, batch->rows, at_vectors_input_of(input)->columns, 0);
    return attn_norm_apply(tape, layer->norm, attn_linear_apply(tape, layer->map, x));
}

const at_input_kind at_vectors_kind = {
    .name = "vectors",
    .help = "rows of numbers: NumPy's .npy and .npz, or tables (CSV)",
    .row = "row",
    .example = "sequence",
    .formats = at_vectors_formats,
    .fields = {at_vectors_fields, AT_VECTORS_FIELDS, sizeof(at_vectors_values), at_vectors_flags,
               AT_VECTORS_FLAGS},
    .defaults = at_vectors_defaults,
    .default_count = AT_VECTORS_DEFAULTS,
    .knows = at_vectors_knows,
    .read = at_vectors_read_files,
    .detect = at_vectors_detect,
    .pieces = at_vectors_pieces,
    .takes_two = at_vectors_takes_two,
    .describe = at_vectors_describe,
    .check = at_vectors_check,
    .choose = choose,
    .create = create,
    .destroy = destroy,
    .learn = learn,
    .store = store,
    .load = load,
    .encode = encode,
    .free_encoded = free_encoded,
    .row_name = row_name,
    .create_batch = at_vectors_create_batch,
    .fill = at_vectors_fill,
    .free_batch = at_vectors_free_batch,
    .feed = &at_vectors_feed_kind,
    .build = build,
    .apply = apply,
};
