/* image.c: images as a kind of input: the statistics of the channels, the encoding of pictures, and its
 * layer.
 */
#include "inputs/image/image.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/layers.h>
#include <attn/operations.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/stored.h"
#include "inputs/kinds.h"
#include "tape/parameters.h"

static at_image_input *own(at_input *input) { return (at_image_input *)(void *)input; }
static const at_image_encoded *encoded_of(const at_encoded *encoded) {
    return (const at_image_encoded *)(const void *)encoded;
}

/* ---- the view ---- */

static attn_status create(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input) {
    at_image_input *made = at_allocate(context, 1, sizeof *made, "a view of images");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->values = *(const at_image_values *)values;
    made->input = (at_input){
        .context = context, .use = *use, .longest = made->values.longest, .stem = made->values.stem};
    at_image_parse_size(made->values.size, &made->height, &made->width);
    made->patch = made->values.patch ? made->values.patch : 1;
    made->stride = made->values.stride ? made->values.stride : made->patch;
    made->channels = made->values.channels == AT_CHANNELS_COLOUR ? 3 : 1;
    *input = &made->input;
    return ATTN_OK;
}

static void destroy(at_input *input) { at_release(input->context, own(input)); }

/* ---- learning ---- */

/* Mean and deviation of each channel over all pixels. One that is constant keeps its number as the mean
 * exactly, so that it becomes 0. */
static void measure(at_image_input *input, const at_pictures *pictures) {
    double sum[3] = {0}, squares[3] = {0}, count = 0;
    float least[3] = {0}, most[3] = {0}, pixel[3];
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t p = 0; p < pictures->count; p++) {
            const at_picture *picture = &pictures->list[p];
            for (int64_t i = 0; i < picture->height * picture->width; i++) {
                at_image_pixel(pictures, picture, i, input->channels, pixel);
                for (int c = 0; c < input->channels; c++) {
                    double distance = (double)pixel[c] - (pass ? sum[c] / count : 0);
                    if (pass) {
                        squares[c] += distance * distance;
                        continue;
                    }
                    sum[c] += (double)pixel[c];
                    if (count == 0 || pixel[c] < least[c]) least[c] = pixel[c];
                    if (count == 0 || pixel[c] > most[c]) most[c] = pixel[c];
                }
                if (!pass) count++;
            }
        }
    }
    for (int c = 0; c < input->channels; c++) {
        float deviation = (float)sqrt(squares[c] / count);
        input->mean[c] = least[c] == most[c] ? least[c] : (float)(sum[c] / count);
        input->deviation[c] = least[c] != most[c] && deviation > 0 && isfinite(deviation) ? deviation : 1;
    }
}

static attn_status learn(at_input *input, const at_learning *from) {
    at_image_input *image = own(input);
    const at_pictures *pictures = at_pictures_of(from->examples);
    if (from->vectors)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: pretrained vectors are for words, and images have no words", from->vectors);
    if (pictures->count == 0)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT, "%.200s: has no pictures to learn from",
                       attn_dataset_name(from->examples));
    measure(image, pictures);
    return ATTN_OK;
}

/* ---- the file ---- */

static attn_status store(const at_input *input, const char *prefix, at_safetensors_writer *writer) {
    const at_image_input *image = at_image_input_of(input);
    attn_status status = at_store_numbers(writer, prefix, "image.mean", image->mean, image->channels);
    if (status != ATTN_OK) return status;
    return at_store_numbers(writer, prefix, "image.deviation", image->deviation, image->channels);
}

static attn_status load(at_input *input, const char *prefix, const at_safetensors *file) {
    at_image_input *image = own(input);
    const at_stored *mean = at_find_numbers(file, prefix, "image.mean");
    const at_stored *deviation = at_find_numbers(file, prefix, "image.deviation");
    if (!mean || !deviation || mean->count != image->channels || deviation->count != image->channels)
        return at_damaged(input->context, file,
                          "image.mean and image.deviation are missing, or have no F32 for each channel", "");
    memcpy(image->mean, mean->data, (size_t)image->channels * sizeof(float));
    memcpy(image->deviation, deviation->data, (size_t)image->channels * sizeof(float));
    for (int c = 0; c < image->channels; c++)
        if (!isfinite(image->mean[c]) || !isfinite(image->deviation[c]) || !(image->deviation[c] > 0))
            return at_damaged(input->context, file, "image.mean or image.deviation has an impossible number",
                              "");
    return ATTN_OK;
}

/* ---- examples ---- */

static void free_encoded(at_encoded *encoded) {
    at_image_encoded *made = (at_image_encoded *)(void *)encoded;
    attn_context *context = encoded->context;
    at_release(context, encoded->offsets);
    at_release(context, made->list);
    at_release(context, made->changed);
    at_pictures_free(context, &made->own);
    at_strings_free(context, &made->names);
    at_release(context, made);
}

static attn_status fail_long(const at_image_input *input, attn_context *context, const attn_dataset *dataset,
                             int64_t example, int64_t rows) {
    const char *id = attn_dataset_id(dataset, example), *file = attn_dataset_file(dataset, example);
    char number[40];
    snprintf(number, sizeof number, "picture %" PRId64, example);
    if (id && strcmp(id, file) == 0) id = "the picture"; /* that is named before it */
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "%.120s: %.160s has %" PRId64 " patches of %" PRId64 " x %" PRId64
                   " pixels, more than image.longest (%" PRId64 "): make it smaller%s",
                   file, id && *id ? id : number, rows, input->patch, input->patch, input->values.longest,
                   ", or train with image.size or a larger image.patch");
}

/* A picture as the network sees it, and how many rows it has. */
static attn_status encode_picture(const at_image_input *input, attn_context *context,
                                  const attn_dataset *dataset, int64_t e, at_image_encoded *made,
                                  int64_t *rows) {
    const at_picture *given = &made->pictures->list[dataset->offsets[e]];
    int64_t height = input->height ? input->height : given->height;
    int64_t width = input->width ? input->width : given->width;
    attn_status status = ATTN_OK;
    *rows = at_image_patches(height, input->stride) * at_image_patches(width, input->stride);
    if (*rows > input->values.longest) return fail_long(input, context, dataset, e, *rows);
    made->list[e] = *given;
    made->changed[e] = given->channels != input->channels || height != given->height || width != given->width;
    if (!made->changed[e]) return ATTN_OK;
    status = at_image_change(context, made->pictures, given, input->channels, height, width, &made->own);
    if (status == ATTN_OK) made->list[e] = made->own.list[made->own.count - 1];
    return status;
}

static attn_status name_rows(at_image_encoded *made, int64_t most) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < most && status == ATTN_OK; i++) {
        char name[24];
        int length = snprintf(name, sizeof name, "%" PRId64, i);
        status = at_strings_add(made->encoded.context, &made->names, name, (size_t)length);
    }
    return status;
}

static attn_status encode_all(const at_image_input *input, const attn_dataset *dataset,
                              at_image_encoded *made) {
    attn_context *context = made->encoded.context;
    int64_t most = 0, rows = 0;
    made->list = at_allocate(context, dataset->examples, sizeof *made->list, "the pictures of examples");
    made->changed =
        at_allocate(context, dataset->examples, sizeof *made->changed, "the pictures of examples");
    if (!made->list || !made->changed) return ATTN_OUT_OF_MEMORY;
    attn_status status =
        at_grow(context, &made->encoded.offsets, &made->encoded.offset_room, dataset->examples + 1,
                sizeof *made->encoded.offsets, "the rows of examples");
    if (status != ATTN_OK) return status;
    made->encoded.offsets[0] = 0;
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        status = encode_picture(input, context, dataset, e, made, &rows);
        if (rows > most) most = rows;
        made->encoded.offsets[e + 1] = made->encoded.offsets[e] + rows;
    }
    made->encoded.examples = dataset->examples;
    made->encoded.rows = made->encoded.offsets[dataset->examples];
    return status == ATTN_OK ? name_rows(made, most) : status;
}

/* A picture is a whole example. */
static attn_status check_examples(attn_context *context, const attn_dataset *dataset) {
    if (dataset->per_row && dataset->columns.count)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has targets of rows, but pictures have one target per example",
                       attn_dataset_name(dataset));
    for (int64_t e = 0; e < dataset->examples; e++)
        if (dataset->offsets[e + 1] - dataset->offsets[e] != 1)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%.200s: example %" PRId64 " has %" PRId64
                           " pictures, but an example must be one picture",
                           attn_dataset_name(dataset), e, dataset->offsets[e + 1] - dataset->offsets[e]);
    return ATTN_OK;
}

static attn_status encode(const at_input *input, attn_context *context, void **memo,
                          const attn_dataset *dataset, const at_encode_options *options,
                          at_encoded **encoded) {
    (void)memo;
    (void)options;
    attn_status status = check_examples(context, dataset);
    if (status != ATTN_OK) return status;
    at_image_encoded *made = at_allocate(context, 1, sizeof *made, "encoded examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->encoded.context = context;
    made->pictures = at_pictures_of(dataset);
    status = encode_all(at_image_input_of(input), dataset, made);
    if (status != ATTN_OK) {
        free_encoded(&made->encoded);
        return status;
    }
    made->encoded.labels = (at_labels){.name = attn_dataset_name(dataset),
                                       .columns = &dataset->columns,
                                       .values = &dataset->targets,
                                       .lines = dataset->lines,
                                       .files = dataset->files,
                                       .names = &dataset->name,
                                       .first = dataset->offsets,
                                       .places = dataset->examples,
                                       .per_row = 0};
    *encoded = &made->encoded;
    return ATTN_OK;
}

/* Its number in its picture: the last example that begins at it or before it. */
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

/* ---- answers ---- */

/* A line for every picture: what it is called, the answers, and how likely they are. */
static attn_status fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                           size_t length, const at_cells *cells, at_writer *writer, int *filled) {
    (void)settings;
    (void)lines;
    (void)length;
    for (int64_t e = 0; e < dataset->examples; e++) {
        const char *id = attn_dataset_id(dataset, e);
        if (id && *id)
            at_put_text(writer, id);
        else
            at_print(writer, "%" PRId64, cells->first + e);
        for (int o = 0; o < cells->outputs; o++) {
            at_put_char(writer, '\t');
            cells->put(cells, o, e, 0, writer);
            if (!cells->likely(cells, o)) continue;
            at_put_char(writer, '\t');
            cells->put_probability(cells, o, e, 0, writer);
        }
        at_put_char(writer, '\n');
    }
    *filled = 1;
    return writer->status;
}

/* ---- the layer ---- */

typedef struct image_layer {
    attn_linear *map;
    attn_norm *norm;
} image_layer;

static void *build(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns) {
    image_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[96];
    if (!layer) return NULL;
    snprintf(name, sizeof name, "%.60sinput", prefix);
    layer->map =
        attn_linear_create(set, name, at_image_columns(at_image_input_of(input)), columns, 1, ATTN_IDENTITY);
    snprintf(name, sizeof name, "%.60sinput.norm", prefix);
    layer->norm = attn_norm_create(set, name, ATTN_NORM_LAYER, columns);
    return layer;
}

static attn_variable *apply(const at_input *input, const void *built, attn_tape *tape,
                            const at_batch *batch) {
    const image_layer *layer = built;
    const at_image_batch *rows = (const at_image_batch *)(const void *)batch;
    attn_variable *x =
        attn_tape_input(tape, rows->numbers, batch->rows, at_image_columns(at_image_input_of(input)), 0);
    return attn_norm_apply(tape, layer->norm, attn_linear_apply(tape, layer->map, x));
}

const at_input_kind at_image_kind = {
    .name = "image",
    .help = "pictures as pixels or patches: PNG, JPEG (a folder per label, or a list), IDX, .npy",
    .row = "patch",
    .example = "picture",
    .formats = at_image_formats,
    .grid = 1,
    .fields = {at_image_fields, AT_IMAGE_FIELDS, sizeof(at_image_values), at_image_flags, AT_IMAGE_FLAGS},
    .defaults = at_image_defaults,
    .default_count = AT_IMAGE_DEFAULTS,
    .counts = 1,
    .knows = at_image_knows,
    .read = at_image_read_files,
    .detect = at_image_detect,
    .pieces = at_image_pieces,
    .quotes = at_image_quotes,
    .takes_two = at_image_takes_two,
    .describe = at_image_describe,
    .tells_conflicts = 1,
    .likely = 1,
    .fill_in = fill_in,
    .check = at_image_check,
    .choose = at_image_choose,
    .create = create,
    .destroy = destroy,
    .learn = learn,
    .store = store,
    .load = load,
    .encode = encode,
    .free_encoded = free_encoded,
    .row_name = row_name,
    .scene = at_image_scene,
    .create_batch = at_image_create_batch,
    .fill = at_image_fill,
    .free_batch = at_image_free_batch,
    .build = build,
    .apply = apply,
};
