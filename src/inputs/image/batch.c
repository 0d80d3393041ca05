/* batch.c: the input of a batch of images: pictures with mean 0 and deviation 1, changed at random in
 * training, cut into patches. */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/image/image.h"

attn_status at_image_create_batch(attn_context *context, at_batch **batch) {
    at_image_batch *made = at_allocate(context, 1, sizeof *made, "a batch");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->batch.context = context;
    *batch = &made->batch;
    return ATTN_OK;
}

void at_image_free_batch(at_batch *batch) {
    at_image_batch *own = (at_image_batch *)(void *)batch;
    if (!own) return;
    attn_context *context = batch->context;
    at_release(context, own->numbers);
    at_release(context, own->heights);
    at_release(context, own->widths);
    at_release(context, own->plane);
    at_release(context, own->changed);
    at_release(context, batch->offsets);
    at_release(context, own);
}

/* ---- rows ---- */

/* The grid of every sequence, and where it begins. An empty sequence is one row of zeros: the mean. */
static attn_status place_rows(const at_image_input *input, const at_image_encoded *encoded,
                              const at_segments *segments, const int64_t *order, int64_t count,
                              at_image_batch *into) {
    at_batch *batch = &into->batch;
    batch->rows = 0;
    batch->sequences = count;
    for (int64_t i = 0; i < count; i++) {
        const at_segment *segment = &segments->list[order[i]];
        batch->offsets[i] = batch->rows;
        into->heights[i] = into->widths[i] = 1;
        if (segment->count > 0) {
            const at_picture *picture = &encoded->list[segment->example];
            into->heights[i] = at_image_patches(picture->height, input->stride);
            into->widths[i] = at_image_patches(picture->width, input->stride);
            if (into->heights[i] * into->widths[i] != segment->count)
                return at_fail(batch->context, ATTN_INVALID_ARGUMENT,
                               "a picture has %" PRId64 " x %" PRId64
                               " patches, and encoder.longest is %" PRId64
                               ": give more, or larger patches (image.patch)",
                               into->heights[i], into->widths[i], segment->count);
        }
        batch->rows += into->heights[i] * into->widths[i];
    }
    batch->offsets[count] = batch->rows;
    return ATTN_OK;
}

static attn_status make_room(at_image_batch *into, int64_t count) {
    at_batch *batch = &into->batch;
    attn_status status = at_grow(batch->context, &batch->offsets, &batch->offset_room, count + 1,
                                 sizeof *batch->offsets, "a batch");
    if (status == ATTN_OK)
        status = at_grow(batch->context, &into->heights, &into->height_room, count + 1, sizeof *into->heights,
                         "a batch");
    if (status == ATTN_OK)
        status = at_grow(batch->context, &into->widths, &into->width_room, count + 1, sizeof *into->widths,
                         "a batch");
    batch->heights = into->heights;
    batch->widths = into->widths;
    return status;
}

/* ---- one picture ---- */

static attn_status load_plane(const at_image_input *input, const at_pictures *pictures,
                              const at_picture *picture, at_image_batch *into) {
    int64_t samples = at_picture_samples(picture);
    attn_status status = at_grow(into->batch.context, &into->plane, &into->plane_room, samples,
                                 sizeof *into->plane, "a picture");
    for (int64_t i = 0; i < samples && status == ATTN_OK; i++) {
        int64_t c = i % input->channels;
        into->plane[i] = (at_image_sample(pictures, picture, i) - input->mean[c]) / input->deviation[c];
    }
    return status;
}

static int64_t clamp(int64_t place, int64_t count) {
    return place < 0 ? 0 : place >= count ? count - 1 : place;
}

int64_t at_image_first_place(int64_t side, int64_t patch, int64_t stride) {
    int64_t covered = (at_image_patches(side, stride) - 1) * stride + patch;
    return -((covered - side) / 2);
}

static void put_patches(const at_image_input *input, const float *plane, const at_picture *picture,
                        float *to) {
    int64_t patch = input->patch, stride = input->stride, channels = input->channels;
    int64_t top = at_image_first_place(picture->height, patch, stride);
    int64_t left = at_image_first_place(picture->width, patch, stride);
    int64_t down = at_image_patches(picture->height, stride),
            along = at_image_patches(picture->width, stride);
    for (int64_t i = 0; i < down; i++)
        for (int64_t j = 0; j < along; j++)
            for (int64_t y = 0; y < patch; y++) {
                const float *row =
                    plane + clamp(top + i * stride + y, picture->height) * picture->width * channels;
                for (int64_t x = 0; x < patch; x++, to += channels)
                    memcpy(to, row + clamp(left + j * stride + x, picture->width) * channels,
                           (size_t)channels * sizeof *to);
            }
}

attn_status at_image_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                          const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch) {
    const at_image_input *own = at_image_input_of(input);
    const at_image_encoded *from = (const at_image_encoded *)(const void *)encoded;
    at_image_batch *into = (at_image_batch *)(void *)batch;
    int64_t columns = at_image_columns(own);
    attn_status status = make_room(into, count);
    if (status == ATTN_OK) status = place_rows(own, from, segments, order, count, into);
    if (status == ATTN_OK)
        status = at_grow(batch->context, &into->numbers, &into->room, batch->rows * columns,
                         sizeof *into->numbers, "the rows of a batch");
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        float *to = into->numbers + batch->offsets[i] * columns;
        const at_segment *segment = &segments->list[order[i]];
        if (segment->count == 0) { /* there may be no encoded examples at all */
            memset(to, 0, (size_t)columns * sizeof *to);
            continue;
        }
        const at_picture *picture = &from->list[segment->example];
        status =
            load_plane(own, from->changed[segment->example] ? &from->own : from->pictures, picture, into);
        if (status == ATTN_OK && seed)
            status = at_image_augment(own, *seed, i, picture->height, picture->width, into);
        if (status == ATTN_OK) put_patches(own, into->plane, picture, to);
    }
    return status;
}
