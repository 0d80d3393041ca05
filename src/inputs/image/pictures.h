/* pictures.h: what a dataset of images holds: pictures as rows of samples, each with its own size.
 *
 * A picture has one channel (grey) or three (red, green, blue), which stand together: sample c of the pixel
 * in row y, column x is number (y * width + x) * channels + c. Samples are bytes where that loses nothing,
 * else floats. A picture is one example, and one row of the dataset.
 */
#ifndef AT_INPUTS_IMAGE_PICTURES_H
#define AT_INPUTS_IMAGE_PICTURES_H

#include "data/dataset.h"

/* The formats of files, in the order of their numbers. */
enum {
    AT_IMAGE_AUTO,
    AT_IMAGE_FOLDER,
    AT_IMAGE_LIST,
    AT_IMAGE_IDX,
    AT_IMAGE_NPY,
    AT_IMAGE_NPZ,
    AT_IMAGE_FILE
};

#define AT_IMAGE_MOST_PIXELS (INT64_C(1) << 26) /* of one picture */

/* What a picture was decoded from. */
typedef enum at_picture_source {
    AT_PICTURE_NUMBERS, /* arrays, memory */
    AT_PICTURE_PNG,
    AT_PICTURE_JPEG,
    AT_PICTURE_SOURCES
} at_picture_source;

typedef struct at_picture {
    int64_t height, width;
    int64_t first;    /* where its samples begin, in `bytes` or in `numbers` */
    uint8_t channels; /* 1 or 3 */
    uint8_t exact;    /* its samples are floats */
    uint8_t source;   /* at_picture_source */
} at_picture;

typedef struct at_pictures {
    at_picture *list;
    int64_t count, room;
    unsigned char *bytes;
    int64_t byte_count, byte_room;
    float *numbers;
    int64_t number_count, number_room;
} at_pictures;

extern const at_content_kind at_image_content;

static inline at_pictures *at_pictures_of(const attn_dataset *dataset) { return dataset->content; }

static inline int64_t at_picture_samples(const at_picture *picture) {
    return picture->height * picture->width * picture->channels;
}

void at_pictures_free(attn_context *context, at_pictures *pictures); /* what is in it */

/* Room for one more picture, whose samples the caller writes to pictures->bytes or pictures->numbers from
 * picture->first on, before at_pictures_add. Height, width, channels and exact are set. OVERFLOW if all
 * samples would have more bytes than `limit`. */
attn_status at_pictures_reserve(attn_context *context, at_pictures *pictures, int64_t limit,
                                at_picture *picture);
attn_status at_pictures_add(attn_context *context, at_pictures *pictures, const at_picture *picture);
/* Floats that were written for a picture become bytes, if they are whole numbers from 0 to 255. */
attn_status at_pictures_shrink(attn_context *context, at_pictures *pictures, at_picture *picture);

/* An empty dataset. */
attn_status at_image_dataset(attn_context *context, const char *name, int format, attn_dataset **dataset);
/* A picture, whose samples were written, is one more example, from line `line`, called `id`. */
attn_status at_image_end(attn_dataset *dataset, const at_picture *picture, int64_t line, const char *id);
/* Takes back what is not ended. */
void at_image_undo(attn_dataset *dataset);

#endif
