/* transform.c: conversion of channels, resizing, and random augmentation of pictures. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "inputs/image/image.h"

/* ---- channels ---- */

void at_image_pixel(const at_pictures *pictures, const at_picture *picture, int64_t i, int channels,
                    float *to) {
    float own[3];
    for (int c = 0; c < picture->channels; c++)
        own[c] = at_image_sample(pictures, picture, i * picture->channels + c);
    if (picture->channels == channels)
        memcpy(to, own, (size_t)channels * sizeof *to);
    else if (channels == 1)
        to[0] = 0.299f * own[0] + 0.587f * own[1] + 0.114f * own[2]; /* as the eye sees them: Rec. 601 */
    else
        to[0] = to[1] = to[2] = own[0];
}

/* ---- size ---- */

/* One row or column of `from` numbers, `step` apart, to `to` numbers: each is the mean over its area where
 * there are fewer, else between its two neighbours. */
static void resample(const float *in, int64_t from, float *out, int64_t to, int64_t step) {
    double scale = (double)from / (double)to;
    for (int64_t i = 0; i < to; i++) {
        double sum = 0;
        if (to <= from) {
            double begin = (double)i * scale, end = begin + scale;
            for (int64_t j = (int64_t)begin; j < from && (double)j < end; j++) {
                double low = (double)j > begin ? (double)j : begin;
                double high = (double)(j + 1) < end ? (double)(j + 1) : end;
                sum += (double)in[j * step] * (high - low);
            }
            sum /= scale;
        } else {
            double place = ((double)i + 0.5) * scale - 0.5;
            if (place < 0) place = 0;
            int64_t low = (int64_t)place, high = low + 1 < from ? low + 1 : low;
            double part = place - (double)low;
            sum = (double)in[low * step] * (1 - part) + (double)in[high * step] * part;
        }
        out[i * step] = (float)sum;
    }
}

/* samples: height x width x channels; becomes `to` rows high, then wide. narrow: [height][to_width]. */
static void resize(const float *samples, const at_picture *from, int channels, int64_t height, int64_t width,
                   float *narrow, float *to) {
    for (int64_t y = 0; y < from->height; y++)
        for (int c = 0; c < channels; c++)
            resample(samples + y * from->width * channels + c, from->width, narrow + y * width * channels + c,
                     width, channels);
    for (int64_t i = 0; i < width * channels; i++)
        resample(narrow + i, from->height, to + i, height, width * channels);
}

static void put_samples(const float *samples, const at_picture *picture, at_pictures *to) {
    int64_t count = at_picture_samples(picture);
    if (picture->exact) {
        memcpy(to->numbers + picture->first, samples, (size_t)count * sizeof *samples);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float value = samples[i] + 0.5f;
        to->bytes[picture->first + i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

attn_status at_image_change(attn_context *context, const at_pictures *pictures, const at_picture *from,
                            int channels, int64_t height, int64_t width, at_pictures *to) {
    int64_t pixels = from->height * from->width;
    at_picture made = *from;
    made.channels = (uint8_t)channels;
    if (height) made.height = height, made.width = width;
    int64_t narrow = from->height * made.width, whole = made.height * made.width;
    float *samples = at_allocate(context, (pixels + narrow + whole) * channels, sizeof *samples,
                                 "a picture that is changed");
    if (!samples) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < pixels; i++) at_image_pixel(pictures, from, i, channels, samples + i * channels);
    const float *result = samples;
    if (made.height != from->height || made.width != from->width) {
        float *resized = samples + (pixels + narrow) * channels;
        resize(samples, from, channels, made.height, made.width, samples + pixels * channels, resized);
        result = resized;
    }
    attn_status status = at_pictures_reserve(context, to, INT64_MAX, &made);
    if (status == ATTN_OK) put_samples(result, &made, to);
    at_release(context, samples);
    return status == ATTN_OK ? at_pictures_add(context, to, &made) : status;
}

/* ---- what training does ---- */

enum {
    SHIFT_DOWN,
    SHIFT_ALONG,
    TURN,
    ZOOM,
    SHEAR,
    FLIP,
    ERASE,
    ERASE_HEIGHT,
    ERASE_WIDTH,
    ERASE_DOWN,
    ERASE_ALONG
};

static double uniform(at_row_key key, uint32_t which) {
    return (double)at_random_word(key, which) / 4294967296.0;
}
static double around(at_row_key key, uint32_t which, double most) {
    return (2 * uniform(key, which) - 1) * most;
}

static int64_t clamp(int64_t place, int64_t count) {
    return place < 0 ? 0 : place >= count ? count - 1 : place;
}

/* By whole pixels. */
static void shift(const float *from, int64_t height, int64_t width, int channels, int64_t down, int64_t along,
                  float *to) {
    for (int64_t y = 0; y < height; y++) {
        const float *row = from + clamp(y - down, height) * width * channels;
        for (int64_t x = 0; x < width; x++, to += channels)
            memcpy(to, row + clamp(x - along, width) * channels, (size_t)channels * sizeof *to);
    }
}

/* A map of places around the centre: where the pixel (y, x) of the result comes from. */
typedef struct affine {
    double yy, yx, xy, xx, y, x;
} affine;

static affine draw_affine(const at_image_values *values, at_row_key key) {
    double turn = around(key, TURN, (double)values->rotate) * 3.14159265358979323846 / 180;
    double scale = 1 / (1 + around(key, ZOOM, values->zoom)), shear = around(key, SHEAR, values->shear);
    double cosine = cos(turn) * scale, sine = sin(turn) * scale;
    return (affine){.yy = cosine,
                    .yx = sine,
                    .xy = -sine + shear * cosine,
                    .xx = cosine + shear * sine,
                    .y = around(key, SHIFT_DOWN, values->shift > 0 ? (double)values->shift : 0),
                    .x = around(key, SHIFT_ALONG, values->shift > 0 ? (double)values->shift : 0)};
}

static double bound(double place, int64_t count) {
    return place < 0 ? 0 : place > (double)(count - 1) ? (double)(count - 1) : place;
}

/* Between the four pixels around; outside, what is at the edge. */
static void warp(const float *from, int64_t height, int64_t width, int channels, const affine *map,
                 float *to) {
    double middle = (double)(height - 1) / 2, centre = (double)(width - 1) / 2;
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++, to += channels) {
            double dy = (double)y - middle, dx = (double)x - centre;
            double v = bound(map->yy * dy + map->yx * dx + middle + map->y, height);
            double u = bound(map->xy * dy + map->xx * dx + centre + map->x, width);
            int64_t top = (int64_t)v, left = (int64_t)u;
            int64_t bottom = clamp(top + 1, height), right = clamp(left + 1, width);
            float down = (float)(v - (double)top), along = (float)(u - (double)left);
            for (int c = 0; c < channels; c++) {
                float a = from[(top * width + left) * channels + c],
                      b = from[(top * width + right) * channels + c];
                float d = from[(bottom * width + left) * channels + c],
                      e = from[(bottom * width + right) * channels + c];
                to[c] = (a * (1 - along) + b * along) * (1 - down) + (d * (1 - along) + e * along) * down;
            }
        }
    }
}

static void swap_pixels(float *a, float *b, int channels) {
    for (int c = 0; c < channels; c++) {
        float kept = a[c];
        a[c] = b[c];
        b[c] = kept;
    }
}

static void flip(float *plane, int64_t height, int64_t width, int channels, int sides, int upside) {
    for (int64_t y = 0; sides && y < height; y++)
        for (int64_t x = 0; x < width / 2; x++)
            swap_pixels(plane + (y * width + x) * channels, plane + (y * width + width - 1 - x) * channels,
                        channels);
    for (int64_t y = 0; upside && y < height / 2; y++)
        for (int64_t x = 0; x < width; x++)
            swap_pixels(plane + (y * width + x) * channels, plane + ((height - 1 - y) * width + x) * channels,
                        channels);
}

/* A rectangle becomes the mean, which is 0 here. */
static void erase(const at_image_values *values, at_row_key key, float *plane, int64_t height, int64_t width,
                  int channels) {
    int64_t tall = 1 + (int64_t)(uniform(key, ERASE_HEIGHT) * values->erase_size * (double)height);
    int64_t wide = 1 + (int64_t)(uniform(key, ERASE_WIDTH) * values->erase_size * (double)width);
    if (tall > height) tall = height;
    if (wide > width) wide = width;
    int64_t down = (int64_t)(uniform(key, ERASE_DOWN) * (double)(height - tall + 1));
    int64_t along = (int64_t)(uniform(key, ERASE_ALONG) * (double)(width - wide + 1));
    for (int64_t y = down; y < down + tall; y++)
        memset(plane + (y * width + along) * channels, 0, (size_t)(wide * channels) * sizeof *plane);
}

attn_status at_image_augment(const at_image_input *input, uint64_t seed, int64_t number, int64_t height,
                             int64_t width, at_image_batch *batch) {
    const at_image_values *values = &input->values;
    at_row_key key = at_random_row(seed, number, 0, 0);
    int smooth = values->rotate > 0 || values->zoom > 0 || values->shear > 0, channels = input->channels;
    if (smooth || values->shift > 0) {
        attn_status status = at_grow(batch->batch.context, &batch->changed, &batch->changed_room,
                                     height * width * channels, sizeof *batch->changed, "a picture");
        if (status != ATTN_OK) return status;
        affine map = draw_affine(values, key);
        if (smooth)
            warp(batch->plane, height, width, channels, &map, batch->changed);
        else
            shift(batch->plane, height, width, channels, (int64_t)floor(map.y + 0.5),
                  (int64_t)floor(map.x + 0.5), batch->changed);
        memcpy(batch->plane, batch->changed, (size_t)(height * width * channels) * sizeof *batch->plane);
    }
    uint32_t coin = at_random_word(key, FLIP);
    int sides = (values->flip == AT_FLIP_SIDES || values->flip == AT_FLIP_BOTH) && (coin & 1);
    int upside = (values->flip == AT_FLIP_UPSIDE || values->flip == AT_FLIP_BOTH) && (coin & 2);
    flip(batch->plane, height, width, channels, sides, upside);
    if (values->erase > 0 && uniform(key, ERASE) < values->erase)
        erase(values, key, batch->plane, height, width, channels);
    return ATTN_OK;
}
