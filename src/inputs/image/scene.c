/* scene.c: a picture as it is drawn: its pixels, and the grid of its patches. */
#include <math.h>

#include "base/memory.h"
#include "inputs/image/image.h"

static unsigned char byte_of(double sample) {
    return (unsigned char)(sample <= 0 ? 0 : sample >= 255 ? 255 : lround(sample));
}

/* Samples of arrays may have any range: what lies outside 0 .. 255 is brought into it. */
static void find_range(const at_pictures *pictures, const at_picture *picture, double *low, double *high) {
    double least = INFINITY, most = -INFINITY;
    *low = 0;
    *high = 255;
    if (!picture->exact) return;
    for (int64_t i = 0; i < at_picture_samples(picture); i++) {
        double sample = (double)at_image_sample(pictures, picture, i);
        least = fmin(least, sample);
        most = fmax(most, sample);
    }
    if (!(most > least)) return;
    if (least >= 0 && most <= 255 && most > 1) return;
    *low = least >= 0 && most <= 1 ? 0 : least;
    *high = least >= 0 && most <= 1 ? 1 : most;
}

attn_status at_image_scene(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                           int64_t count, at_scene *scene) {
    const at_image_input *own = at_image_input_of(input);
    const at_image_encoded *from = (const at_image_encoded *)(const void *)encoded;
    const at_picture *picture = &from->list[example];
    const at_pictures *pictures = from->changed[example] ? &from->own : from->pictures;
    int64_t pixels = picture->height * picture->width;
    double low, high;
    (void)first;
    scene->pixels = at_allocate(scene->context, pixels * 3, 1, "a drawing");
    if (!scene->pixels) return ATTN_OUT_OF_MEMORY;
    find_range(pictures, picture, &low, &high);
    for (int64_t i = 0; i < pixels; i++) {
        float rgb[3];
        at_image_pixel(pictures, picture, i, 3, rgb);
        for (int c = 0; c < 3; c++)
            scene->pixels[i * 3 + c] = byte_of(((double)rgb[c] - low) / (high - low) * 255);
    }
    scene->kind = AT_SCENE_GRID;
    scene->rows = count;
    scene->pixel_height = picture->height;
    scene->pixel_width = picture->width;
    scene->patch = own->patch;
    scene->stride = own->stride;
    scene->grid_height = at_image_patches(picture->height, own->stride);
    scene->grid_width = at_image_patches(picture->width, own->stride);
    scene->top = at_image_first_place(picture->height, own->patch, own->stride);
    scene->left = at_image_first_place(picture->width, own->patch, own->stride);
    return ATTN_OK;
}
