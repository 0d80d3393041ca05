/* pictures.c: the pictures of a dataset in memory: how readers and programs add them, and how they are
 * selected. */
#include "inputs/image/pictures.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/vocabulary.h"

void at_pictures_free(attn_context *context, at_pictures *pictures) {
    at_release(context, pictures->list);
    at_release(context, pictures->bytes);
    at_release(context, pictures->numbers);
    memset(pictures, 0, sizeof *pictures);
}

attn_status at_pictures_reserve(attn_context *context, at_pictures *pictures, int64_t limit,
                                at_picture *picture) {
    int64_t samples = at_picture_samples(picture);
    int64_t held = pictures->byte_count + pictures->number_count * (int64_t)sizeof *pictures->numbers;
    int64_t more = picture->exact ? samples * (int64_t)sizeof *pictures->numbers : samples;
    if (more > limit - held)
        return at_fail(context, ATTN_OVERFLOW,
                       "the decoded pictures have more than %" PRId64
                       " bytes (expanded_limit of the reader options)",
                       limit);
    if (picture->exact) {
        picture->first = pictures->number_count;
        return at_grow(context, &pictures->numbers, &pictures->number_room, picture->first + samples,
                       sizeof *pictures->numbers, "the samples of a picture");
    }
    picture->first = pictures->byte_count;
    return at_grow(context, &pictures->bytes, &pictures->byte_room, picture->first + samples,
                   sizeof *pictures->bytes, "the samples of a picture");
}

attn_status at_pictures_add(attn_context *context, at_pictures *pictures, const at_picture *picture) {
    attn_status status = at_grow(context, &pictures->list, &pictures->room, pictures->count + 1,
                                 sizeof *pictures->list, "the pictures of a dataset");
    if (status != ATTN_OK) return status;
    pictures->list[pictures->count++] = *picture;
    if (picture->exact)
        pictures->number_count = picture->first + at_picture_samples(picture);
    else
        pictures->byte_count = picture->first + at_picture_samples(picture);
    return ATTN_OK;
}

attn_status at_pictures_shrink(attn_context *context, at_pictures *pictures, at_picture *picture) {
    int64_t samples = at_picture_samples(picture);
    if (!picture->exact) return ATTN_OK;
    const float *from = pictures->numbers + picture->first;
    for (int64_t i = 0; i < samples; i++)
        if (!(from[i] >= 0 && from[i] <= 255 && from[i] == floorf(from[i]))) return ATTN_OK;
    attn_status status = at_grow(context, &pictures->bytes, &pictures->byte_room,
                                 pictures->byte_count + samples, 1, "the samples of a picture");
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < samples; i++) pictures->bytes[pictures->byte_count + i] = (unsigned char)from[i];
    picture->exact = 0;
    picture->first = pictures->byte_count;
    return ATTN_OK;
}

/* ---- the content of a dataset ---- */

static void destroy(attn_context *context, void *content) {
    if (!content) return;
    at_pictures_free(context, content);
    at_release(context, content);
}

static attn_status create(attn_context *context, const void *like, void **content) {
    (void)like;
    at_pictures *made = at_allocate(context, 1, sizeof *made, "pictures");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *content = made;
    return ATTN_OK;
}

static attn_status append(attn_context *context, void *content, const void *from, int64_t example,
                          int64_t first, int64_t end) {
    at_pictures *to = content;
    const at_pictures *source = from;
    attn_status status = ATTN_OK;
    (void)example;
    for (int64_t i = first; i < end && status == ATTN_OK; i++) {
        at_picture picture = source->list[i];
        int64_t begin = picture.first, samples = at_picture_samples(&picture);
        status = at_pictures_reserve(context, to, INT64_MAX, &picture);
        if (status != ATTN_OK) return status;
        if (picture.exact)
            memcpy(to->numbers + picture.first, source->numbers + begin,
                   (size_t)samples * sizeof *to->numbers);
        else
            memcpy(to->bytes + picture.first, source->bytes + begin, (size_t)samples);
        status = at_pictures_add(context, to, &picture);
    }
    return status;
}

static uint64_t hash(const void *content, int64_t first, int64_t end, uint64_t seed) {
    const at_pictures *pictures = content;
    for (int64_t i = first; i < end; i++) {
        const at_picture *picture = &pictures->list[i];
        int64_t shape[4] = {picture->height, picture->width, picture->channels, picture->exact};
        seed = at_hash((const char *)shape, sizeof shape, seed);
        size_t samples = (size_t)at_picture_samples(picture);
        if (picture->exact)
            seed = at_hash((const char *)(pictures->numbers + picture->first), samples * sizeof(float), seed);
        else
            seed = at_hash((const char *)(pictures->bytes + picture->first), samples, seed);
    }
    return seed;
}

const at_content_kind at_image_content = {"image", destroy, create, append, hash, NULL, NULL, 0, 0};

attn_status at_image_dataset(attn_context *context, const char *name, int format, attn_dataset **dataset) {
    void *content;
    attn_dataset *made;
    attn_status status = create(context, NULL, &content);
    if (status == ATTN_OK) status = at_dataset_create(context, name, &at_image_content, content, &made);
    if (status != ATTN_OK) return status;
    made->format = (attn_format)format;
    *dataset = made;
    return ATTN_OK;
}

attn_status at_image_end(attn_dataset *dataset, const at_picture *picture, int64_t line, const char *id) {
    attn_status status = at_pictures_add(dataset->context, at_pictures_of(dataset), picture);
    if (status == ATTN_OK) status = at_dataset_row(dataset, line);
    if (status == ATTN_OK) status = at_strings_add(dataset->context, &dataset->ids, id, strlen(id));
    return status == ATTN_OK ? at_dataset_end(dataset) : status;
}

static void shorten(at_strings *list, int64_t count) {
    if (list->count > count) list->count = count;
}

void at_image_undo(attn_dataset *dataset) {
    at_pictures *pictures = at_pictures_of(dataset);
    int64_t kept = dataset->examples;
    while (pictures->count > kept) {
        const at_picture *last = &pictures->list[--pictures->count];
        if (last->exact)
            pictures->number_count = last->first;
        else
            pictures->byte_count = last->first;
    }
    dataset->rows = dataset->offsets[kept];
    shorten(&dataset->ids, kept);
    shorten(&dataset->targets, kept * dataset->columns.count);
}

/* ---- from memory ---- */

static attn_status check_images(attn_context *context, const float *samples, const int64_t *heights,
                                const int64_t *widths, int channels, int64_t examples) {
    if (channels != 1 && channels != 3)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "channels is %d: 1 (grey) or 3 (red, green, blue)",
                       channels);
    if (examples < 0 || (examples > 0 && (!samples || !heights || !widths)))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "samples, heights or widths is NULL, or examples is %" PRId64, examples);
    for (int64_t i = 0; i < examples; i++)
        if (heights[i] < 1 || widths[i] < 1 || heights[i] > AT_IMAGE_MOST_PIXELS / widths[i])
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "picture %" PRId64 " has %" PRId64 " x %" PRId64
                           " pixels: it can have 1 to %" PRId64,
                           i, heights[i], widths[i], AT_IMAGE_MOST_PIXELS);
    return ATTN_OK;
}

static attn_status add_image(attn_dataset *dataset, const float *samples, at_picture picture) {
    at_pictures *pictures = at_pictures_of(dataset);
    int64_t count = at_picture_samples(&picture);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(samples[i]))
            return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                           "picture %" PRId64 ", sample %" PRId64 " is %s: give finite numbers",
                           dataset->examples, i, isnan(samples[i]) ? "not a number" : "infinite");
    attn_status status = at_pictures_reserve(dataset->context, pictures, INT64_MAX, &picture);
    if (status != ATTN_OK) return status;
    memcpy(pictures->numbers + picture.first, samples, (size_t)count * sizeof *samples);
    status = at_pictures_shrink(dataset->context, pictures, &picture);
    return status == ATTN_OK ? at_image_end(dataset, &picture, dataset->examples + 1, "") : status;
}

attn_status attn_dataset_from_images(attn_context *context, const float *samples, const int64_t *heights,
                                     const int64_t *widths, int channels, int64_t examples,
                                     attn_dataset **dataset) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!dataset) return at_fail(context, ATTN_INVALID_ARGUMENT, "dataset is NULL");
    attn_dataset *made = NULL;
    attn_status status = check_images(context, samples, heights, widths, channels, examples);
    if (status == ATTN_OK) status = at_image_dataset(context, "memory", AT_IMAGE_NPY, &made);
    for (int64_t i = 0; i < examples && status == ATTN_OK; i++) {
        at_picture picture = {
            .height = heights[i], .width = widths[i], .channels = (uint8_t)channels, .exact = 1};
        status = add_image(made, samples, picture);
        samples += at_picture_samples(&picture);
    }
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}
