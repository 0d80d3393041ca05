/* image.h: images as rows: the pixels or patches of a picture, row by row.
 *
 *     sample -> (sample - mean) / deviation, channel by channel -> patches -> linear map -> norm
 *
 * Mean and deviation of the channels are those of the training data. A patch is patch x patch pixels, and the
 * next one begins `stride` pixels further; sides that are not multiples of the stride are extended on both
 * ends by repeating the pixels of the edge. The rows of a picture form a grid, whose height and width the
 * batch has: pictures of different sizes can be in one batch, and none is padded to the size of another.
 */
#ifndef AT_INPUTS_IMAGE_IMAGE_H
#define AT_INPUTS_IMAGE_IMAGE_H

#include "inputs/image/pictures.h"
#include "inputs/input.h"

typedef enum at_image_channels { AT_CHANNELS_AUTO, AT_CHANNELS_GREY, AT_CHANNELS_COLOUR } at_image_channels;
typedef enum at_image_flip { AT_FLIP_NONE, AT_FLIP_SIDES, AT_FLIP_UPSIDE, AT_FLIP_BOTH } at_image_flip;

/* Its part of a configuration (fields.c). */
typedef struct at_image_values {
    int64_t patch, stride, longest, stem;
    char size[AT_FIELD_TEXT_BYTES];
    int channels; /* at_image_channels */
    int64_t shift, rotate;
    double zoom, shear, erase, erase_size;
    int flip; /* at_image_flip */
    int rows; /* how many a picture has, about: the place in the list of choices */
} at_image_values;

enum { AT_IMAGE_FIELDS = 14, AT_IMAGE_FLAGS = 5, AT_IMAGE_DEFAULTS = 44 }; /* checked against the tables */
extern const at_field at_image_fields[AT_IMAGE_FIELDS];
extern const at_flag at_image_flags[AT_IMAGE_FLAGS];
extern const at_default at_image_defaults[AT_IMAGE_DEFAULTS];
extern const char *const at_image_formats[];
attn_status at_image_check(attn_context *context, const void *values, const at_input_use *use);
attn_status at_image_choose(const void *values, const attn_dataset *examples, at_set_function set,
                            void *user);
/* "28", "28x32": height and width; 0, 0: pictures stay as they are. 0 if it is neither. */
int at_image_parse_size(const char *text, int64_t *height, int64_t *width);

typedef struct at_image_input {
    at_input input;
    at_image_values values;
    int64_t height, width; /* that pictures are resized to; 0: they are not */
    int64_t patch, stride;
    int channels;
    float mean[3], deviation[3];
} at_image_input;

static inline const at_image_input *at_image_input_of(const at_input *input) {
    return (const at_image_input *)(const void *)input;
}
static inline int64_t at_image_columns(const at_image_input *input) {
    return input->patch * input->patch * input->channels;
}
/* Patches along a side of so many pixels. */
static inline int64_t at_image_patches(int64_t side, int64_t stride) { return (side + stride - 1) / stride; }

/* The pictures stay in the dataset where they need not be changed, else `own` has them. */
typedef struct at_image_encoded {
    at_encoded encoded;
    const at_pictures *pictures;
    at_pictures own;
    at_picture *list; /* [examples]: with the channels and the size that the network sees */
    uint8_t *changed; /* [examples]: it is in `own` */
    at_strings names; /* "0", "1", ... up to the most rows */
} at_image_encoded;

typedef struct at_image_batch {
    at_batch batch;
    float *numbers; /* [rows][columns] */
    int64_t *heights, *widths;
    float *plane, *changed; /* one picture, before and after what training does with it */
    int64_t room, height_room, width_room, plane_room, changed_room;
} at_image_batch;

/* batch.c */
attn_status at_image_create_batch(attn_context *context, at_batch **batch);
attn_status at_image_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                          const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch);
void at_image_free_batch(at_batch *batch);
/* Where the first patch begins along a side: as many pixels are added before it as behind, or one fewer. */
int64_t at_image_first_place(int64_t side, int64_t patch, int64_t stride);

/* scene.c */
attn_status at_image_scene(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                           int64_t count, at_scene *scene);

/* transform.c: sample i of a picture; grey from colour and the other way round, other sizes. */
static inline float at_image_sample(const at_pictures *pictures, const at_picture *picture, int64_t i) {
    return picture->exact ? pictures->numbers[picture->first + i]
                          : (float)pictures->bytes[picture->first + i];
}
/* Pixel i as `channels` samples. */
void at_image_pixel(const at_pictures *pictures, const at_picture *picture, int64_t i, int channels,
                    float *to);
/* One more picture in `to`: `from` with other channels and, unless height is 0, of another size: shrunk by
 * the mean over areas, enlarged by linear interpolation. */
attn_status at_image_change(attn_context *context, const at_pictures *pictures, const at_picture *from,
                            int channels, int64_t height, int64_t width, at_pictures *to);
/* What training does with a picture at random: the result is in batch->plane. */
attn_status at_image_augment(const at_image_input *input, uint64_t seed, int64_t number, int64_t height,
                             int64_t width, at_image_batch *batch);

/* reading.c: files to datasets; describe.c: what is in one. */
int at_image_knows(const char *path);
attn_status at_image_read_files(attn_context *context, const at_source *source, attn_dataset **dataset);
int at_image_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_image_pieces(int format);
char at_image_quotes(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_image_takes_two(const attn_reader_options *options);
attn_status at_image_describe(const attn_dataset *dataset, const attn_describe_options *options,
                              at_writer *writer);

#endif
