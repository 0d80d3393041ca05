/* fields.c: the configuration of images, its defaults by task and data, and values that exclude each other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/image/image.h"

static const char *const channel_names[] = {"auto", "grey", "colour", NULL};
static const char *const flips[] = {"none", "sides", "upside", "both", NULL};
static const char *const row_counts[] = {"auto", "16", "64", "256", "1024", NULL};

const at_field at_image_fields[] = {
    AT_INTEGER("image.patch", at_image_values, patch, 0, 512, "0",
               "side of a patch (a row) in pixels; 1: every pixel is a row; 0: from the sizes in the data"),
    AT_INTEGER("image.stride", at_image_values, stride, 0, 512, "0",
               "pixels from one patch to the next; 0: the side of a patch, or from the data"),
    AT_TEXT("image.size", at_image_values, size, "0",
            "pictures are resized to HEIGHTxWIDTH, or one number for both; 0: they are not resized"),
    AT_CHOICE("image.channels", at_image_values, channels, channel_names, "auto",
              "auto: colour if any training picture has colours"),
    AT_INTEGER("image.longest", at_image_values, longest, 1, 1e9, "4096",
               "patches: pictures with more are refused"),
    AT_INTEGER("image.stem", at_image_values, stem, 0, 63, "0",
               "rows seen by a convolution before the encoder; 0: no convolution"),
    AT_INTEGER("image.shift", at_image_values, shift, -1, 4096, "0",
               "training shifts pictures by up to this many pixels; -1: an eighth of their sides"),
    AT_INTEGER("image.rotate", at_image_values, rotate, 0, 180, "0",
               "training rotates pictures by up to this many degrees"),
    AT_NUMBER("image.zoom", at_image_values, zoom, 0, 0.9, "0",
              "training scales pictures up or down by up to this part"),
    AT_NUMBER("image.shear", at_image_values, shear, 0, 2, "0",
              "training shears pictures by up to this: columns per row"),
    AT_CHOICE("image.flip", at_image_values, flip, flips, "none",
              "training mirrors every second picture horizontally, vertically or both"),
    AT_NUMBER("image.erase", at_image_values, erase, 0, 1, "0",
              "probability that training erases a rectangle of a picture"),
    AT_NUMBER("image.erase_size", at_image_values, erase_size, 0, 1, "0.4",
              "sides of that rectangle, at most, as a part of the picture's"),
    AT_CHOICE("image.rows", at_image_values, rows, row_counts, "auto",
              "patches per picture, roughly; found from the data; only selects defaults of other values"),
};
_Static_assert(sizeof at_image_fields / sizeof at_image_fields[0] == AT_IMAGE_FIELDS, "AT_IMAGE_FIELDS");

const at_flag at_image_flags[] = {
    {"patch", "image.patch", "N",
     "images: side of a patch in pixels; 1: every pixel is a row (default: from the data)"},
    {"size", "image.size", "S", "images: resize them to HEIGHTxWIDTH, or one number for both"},
    {"shift", "image.shift", "N", "images: training shifts them by up to N pixels"},
    {"flip", "image.flip", "F", "images: training mirrors them: none, sides, upside, both"},
    {"erase", "image.erase", "P", "images: probability that training erases a rectangle"},
};
_Static_assert(sizeof at_image_flags / sizeof at_image_flags[0] == AT_IMAGE_FLAGS, "AT_IMAGE_FLAGS");

const at_default at_image_defaults[] = {
    {NULL, NULL, 0, "encoder.position", "grid"},
    /* Distances tell a little more than places where there is enough to learn them from, at n x n numbers a
     * layer and width: for few rows. */
    {NULL, "image.rows=16", 3000, "encoder.position", "grid-relative"},
    {NULL, "image.rows=64", 3000, "encoder.position", "grid-relative"},
    {NULL, NULL, 0, "encoder.farthest", "12"},
    {NULL, NULL, 0, "encoder.columns", "64"},
    {NULL, NULL, 0, "encoder.heads", "4"},
    {NULL, NULL, 0, "encoder.layers", "3"},
    {NULL, NULL, 0, "image.stem", "3"},
    {NULL, NULL, 0, "training.learning_rate", "0.002"},
    {NULL, NULL, 0, "encoder.dropout", "0.1"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.epochs", "30"},
    {NULL, NULL, 0, "training.least_steps", "1500"},
    /* About 25 pictures a batch. */
    {NULL, NULL, 0, "training.batch_units", "1600"},
    {NULL, "image.rows=16", 0, "training.batch_units", "400"},
    {NULL, "image.rows=256", 0, "training.batch_units", "6000"},
    {NULL, "image.rows=1024", 0, "training.batch_units", "12000"},
    {"classify", NULL, 0, "output.members",
     "3"}, /* few pictures: networks differ, and their mean differs less */
    {"classify", NULL, 3000, "output.members", "1"},
    {NULL, NULL, 3000, "encoder.columns", "96"},
    {NULL, NULL, 3000, "training.epochs", "10"},
    {NULL, NULL, 20000, "encoder.columns", "128"},
    {NULL, NULL, 20000, "training.epochs", "6"},
    {NULL, NULL, 20000, "encoder.dropout", "0.05"},
    {"classify", NULL, 0, "output.pool", "mean-max"},
    /* Small development data is soon all right, and models differ still. */
    {"classify", NULL, 0, "training.metric", "accuracy|micro_f1,log_loss|micro_f1"},
    /* What a picture shows does not change with it; a number or a text may say where something is. */
    {"classify", NULL, 0, "image.shift", "-1"},
    {"classify", NULL, 0, "image.rotate", "12"},
    {"classify", NULL, 0, "image.zoom", "0.12"},
    {"classify", NULL, 0, "image.shear", "0.15"},
    {"regress", NULL, 0, "output.pool", "mean-max"},
    {"regress", NULL, 0, "encoder.dropout", "0"},
    {"regress", NULL, 0, "output.dropout", "0"},
    {"seq2seq", NULL, 0, "encoder.position", "grid"}, /* the decoder looks for places, too */
    {"seq2seq", NULL, 0, "encoder.columns", "128"},
    {"seq2seq", NULL, 0, "encoder.dropout", "0.15"},
    {"seq2seq", NULL, 0, "output.smoothing", "0.1"},
    {"seq2seq", NULL, 0, "output.dropout", "0"},
    {"seq2seq", NULL, 0, "training.epochs", "10"},
    {"seq2seq", NULL, 0, "training.least_steps", "3500"},
    {"seq2seq", NULL, 0, "target.shared", "false"}, /* patches are no symbols */
    {"seq2seq", NULL, 20000, "encoder.dropout", "0.05"},
    {"seq2seq", NULL, 20000, "training.epochs", "6"},
};
_Static_assert(sizeof at_image_defaults / sizeof at_image_defaults[0] == AT_IMAGE_DEFAULTS,
               "AT_IMAGE_DEFAULTS");

/* ---- values ---- */

/* Digits from *text on, which is then behind them; -1: there are none, or too many. */
static int64_t take_number(const char **text) {
    int64_t number = 0;
    int digits = 0;
    for (; **text >= '0' && **text <= '9'; ++*text, digits++)
        if (digits < 6) number = number * 10 + (**text - '0');
    return digits > 0 && digits < 6 ? number : -1;
}

int at_image_parse_size(const char *text, int64_t *height, int64_t *width) {
    *height = *width = take_number(&text);
    if (*height >= 0 && (*text == 'x' || *text == 'X')) {
        text++;
        *width = take_number(&text);
    }
    if (*text || *height < 0 || *width < 0) return 0;
    if (*height == 0 || *width == 0) return *height == *width;
    return *height <= AT_IMAGE_MOST_PIXELS / *width;
}

attn_status at_image_check(attn_context *context, const void *values, const at_input_use *use) {
    const at_image_values *own = values;
    int64_t height, width;
    if (use->running)
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "task %s learns what comes next, and the patches of a picture are no symbols: there is "
            "no next one",
            use->task);
    if (use->per_row == 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s needs a target for each patch, and the targets of input image are those of "
                       "pictures",
                       use->task);
    if (!at_image_parse_size(own->size, &height, &width))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "image.size is \"%.40s\"; it is HEIGHTxWIDTH, one number for both, or 0", own->size);
    if (own->patch > 0 && own->stride > own->patch)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "image.stride (%" PRId64 ") is more than image.patch (%" PRId64
                       "): there would be pixels that nothing sees",
                       own->stride, own->patch);
    return ATTN_OK;
}

/* ---- what is left to the data ---- */

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Eight or so patches along a side: the power of two that is nearest, 16 at most. */
static int64_t choose_stride(int64_t side) {
    int64_t stride = 1;
    while (stride < 16 && side > 12 * stride) stride *= 2; /* side / 8 > 1.5 stride */
    return stride;
}

static attn_status set_number(at_set_function set, void *user, const char *name, int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, number);
    return set(user, name, text);
}

/* The middle of the sides (rows, with a stride) of all pictures. */
static attn_status find_middle(const attn_dataset *examples, const at_image_values *values, int64_t stride,
                               int64_t *middle) {
    const at_pictures *pictures = at_pictures_of(examples);
    int64_t *list = at_allocate(examples->context, examples->examples + 1, sizeof *list, "sizes of pictures");
    int64_t height = 0, width = 0;
    if (!list) return ATTN_OUT_OF_MEMORY;
    at_image_parse_size(values->size, &height, &width);
    for (int64_t e = 0; e < examples->examples; e++) {
        int64_t h = height ? height : pictures->list[e].height, w = width ? width : pictures->list[e].width;
        list[e] = stride ? at_image_patches(h, stride) * at_image_patches(w, stride) : h < w ? h : w;
    }
    qsort(list, (size_t)examples->examples, sizeof *list, by_number);
    *middle = examples->examples ? list[examples->examples / 2] : 1;
    at_release(examples->context, list);
    return ATTN_OK;
}

/* Patches that overlap by half tell more of where an edge is than those that only touch. */
static attn_status choose_patch(const at_image_values *values, const attn_dataset *examples,
                                at_set_function set, void *user, int64_t *stride) {
    int64_t side = 0, patch = values->patch;
    attn_status status = ATTN_OK;
    *stride = values->stride ? values->stride : patch;
    if (patch > 0) return ATTN_OK;
    status = find_middle(examples, values, 0, &side);
    if (status != ATTN_OK) return status;
    if (*stride == 0) *stride = choose_stride(side);
    patch = *stride == 1 ? 3 : *stride > 256 ? *stride : 2 * *stride; /* 3: a pixel and those around it */
    status = set_number(set, user, "image.patch", patch);
    return status == ATTN_OK ? set_number(set, user, "image.stride", *stride) : status;
}

attn_status at_image_choose(const void *values, const attn_dataset *examples, at_set_function set,
                            void *user) {
    const at_image_values *own = values;
    int64_t stride = 0, middle = 0;
    int colour = 0;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < examples->examples; e++)
        colour |= at_pictures_of(examples)->list[e].channels == 3;
    if (own->channels == AT_CHANNELS_AUTO) status = set(user, "image.channels", colour ? "colour" : "grey");
    if (own->shift < 0 && status == ATTN_OK) {
        status = find_middle(examples, own, 0, &middle);
        if (status == ATTN_OK) status = set_number(set, user, "image.shift", middle / 8);
    }
    if (status == ATTN_OK) status = choose_patch(own, examples, set, user, &stride);
    if (own->rows > 0 || status != ATTN_OK) return status;
    status = find_middle(examples, own, stride, &middle);
    if (status != ATTN_OK) return status;
    return set(user, "image.rows",
               middle <= 32    ? "16"
               : middle <= 128 ? "64"
               : middle <= 512 ? "256"
                               : "1024");
}
