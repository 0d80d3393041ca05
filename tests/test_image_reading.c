/* test_image_reading.c: files of pictures: every form of PNG and JPEG, written here with libpng and libjpeg,
 * IDX, arrays, lists and folders, sizes that no picture has, and what each mistake is told.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <attn/attn.h>

#include "inputs/image/decode.h"
#include "inputs/image/image.h"
#include "support/memory.h"
#include "support/training.h"

static char folder[64];

static int setup(void **state) {
    strcpy(folder, "/tmp/attn_images_XXXXXX");
    return group_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0;
}

/* Folders in folders, too. */
static int teardown(void **state) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || group_teardown(state) != 0 ? -1 : 0;
}

/* ---- bytes and files ---- */

typedef struct bytes {
    char *data;
    size_t count, room;
} bytes;

static void put(bytes *to, const void *data, size_t count) {
    if (to->count + count > to->room) {
        to->room = 2 * (to->count + count);
        to->data = realloc(to->data, to->room);
        assert_non_null(to->data);
    }
    if (count) memcpy(to->data + to->count, data, count);
    to->count += count;
}

static void put_big(bytes *to, uint32_t value) {
    for (int i = 3; i >= 0; i--) put(to, &(char){(char)(value >> 8 * i)}, 1);
}

static void drop(bytes *made) {
    free(made->data);
    *made = (bytes){0};
}

static const char *path_of(const char *name) {
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *name, const char *data, size_t count) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void write_file(const char *name, const bytes *made) { write_bytes(name, made->data, made->count); }
static void write_text(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }
static void make_folder(const char *name) { assert_int_equal(mkdir(path_of(name), 0777), 0); }

/* ---- PNG ---- */

typedef struct png_form {
    int type, depth, interlaced;
    int transparent; /* a tRNS chunk */
} png_form;

static void png_put(png_structp png, png_bytep data, size_t count) { put(png_get_io_ptr(png), data, count); }
static void png_done(png_structp png) { (void)png; }

static int channels_of(int type) {
    return type == PNG_COLOR_TYPE_RGB          ? 3
           : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
           : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                               : 1;
}

/* samples: one number of the form's depth each, row by row. */
static bytes png_of(png_form form, int width, int height, const uint16_t *samples, const png_color *palette,
                    int colours) {
    bytes made = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_non_null(info);
    if (setjmp(png_jmpbuf(png))) fail_msg("libpng does not write this form");
    png_set_write_fn(png, &made, png_put, png_done);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, form.depth, form.type,
                 form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (palette) png_set_PLTE(png, info, palette, colours);
    if (form.transparent && palette) png_set_tRNS(png, info, (png_byte[]){0, 128}, 2, NULL);
    if (form.transparent && !palette) {
        png_color_16 clear = {.gray = 0, .red = 0, .green = 0, .blue = 0};
        png_set_tRNS(png, info, NULL, 0, &clear);
    }
    png_write_info(png, info);
    int values = width * channels_of(form.type);
    size_t row = ((size_t)values * (size_t)form.depth + 7) / 8;
    unsigned char *packed = calloc((size_t)height, row);
    png_bytep rows[64];
    assert_true(height <= 64 && packed);
    for (int y = 0; y < height; y++) {
        rows[y] = packed + (size_t)y * row;
        for (int i = 0; i < values; i++) {
            unsigned value = samples[y * values + i];
            if (form.depth == 16) {
                rows[y][2 * i] = (unsigned char)(value >> 8);
                rows[y][2 * i + 1] = (unsigned char)value;
            } else {
                int per = 8 / form.depth;
                rows[y][i / per] |= (unsigned char)(value << (form.depth * (per - 1 - i % per)));
            }
        }
    }
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(packed);
    return made;
}

/* ---- JPEG ---- */

typedef struct jpeg_form {
    int space, components; /* of what is given; CMYK is written as YCCK */
    int progressive;
} jpeg_form;

static bytes jpeg_of(jpeg_form form, int width, int height, unsigned char *samples) {
    struct jpeg_compress_struct file;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long count = 0;
    bytes made = {0};
    file.err = jpeg_std_error(&errors);
    jpeg_create_compress(&file);
    jpeg_mem_dest(&file, &data, &count);
    file.image_width = (JDIMENSION)width;
    file.image_height = (JDIMENSION)height;
    file.input_components = form.components;
    file.in_color_space = (J_COLOR_SPACE)form.space;
    jpeg_set_defaults(&file);
    jpeg_set_quality(&file, 95, TRUE);
    if (form.progressive) jpeg_simple_progression(&file);
    jpeg_start_compress(&file, TRUE);
    while (file.next_scanline < file.image_height) {
        JSAMPROW row = samples + (size_t)file.next_scanline * (size_t)width * (size_t)form.components;
        jpeg_write_scanlines(&file, &row, 1);
    }
    jpeg_finish_compress(&file);
    jpeg_destroy_compress(&file);
    put(&made, data, count);
    free(data);
    return made;
}

/* A soft slope, which JPEG keeps well. */
static bytes jpeg_slope(jpeg_form form, int width, int height) {
    unsigned char *samples = calloc((size_t)(width * height), (size_t)form.components);
    assert_non_null(samples);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < form.components; c++)
                samples[(y * width + x) * form.components + c] = (unsigned char)(40 * c + 4 * x + 2 * y);
    bytes made = jpeg_of(form, width, height, samples);
    free(samples);
    return made;
}

/* ---- decoding ---- */

static at_pictures decode(const bytes *made, at_image_decoding *now) {
    at_pictures pictures = {0};
    *now = (at_image_decoding){.context = group_context, .pictures = &pictures, .limit = INT64_C(1) << 32};
    attn_status status = at_image_decode(now, made->data, made->count);
    if (status != ATTN_OK) fail_msg("not decoded: %s", now->reason);
    expect_ok(group_context, at_pictures_add(group_context, &pictures, &now->made));
    return pictures;
}

/* The samples that come out, to a tolerance. */
static void decodes_to(bytes made, int height, int width, int channels, const double *samples,
                       double tolerance) {
    at_image_decoding now;
    at_pictures pictures = decode(&made, &now);
    assert_int_equal(now.made.height, height);
    assert_int_equal(now.made.width, width);
    assert_int_equal(now.made.channels, channels);
    for (int i = 0; i < height * width * channels; i++) {
        double found = (double)at_image_sample(&pictures, &now.made, i);
        if (!(fabs(found - samples[i]) <= tolerance))
            fail_msg("sample %d is %g, not %g", i, found, samples[i]);
    }
    at_pictures_free(group_context, &pictures);
    drop(&made);
}

static void refused_for(const bytes *made, const char *reason) {
    at_pictures pictures = {0};
    at_image_decoding now = {.context = group_context, .pictures = &pictures, .limit = INT64_C(1) << 32};
    assert_int_equal(at_image_decode(&now, made->data, made->count), ATTN_INVALID_ARGUMENT);
    if (!strstr(now.reason, reason)) fail_msg("\"%s\" does not say \"%s\"", now.reason, reason);
    at_pictures_free(group_context, &pictures);
}

static void test_png_forms(void **state) {
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        const uint16_t bits[] = {1, 0, 0, 1, 1, 0};
        const double of_bits[] = {255, 0, 0, 255, 255, 0};
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY, 1, interlaced, 0}, 3, 2, bits, NULL, 0), 2, 3, 1,
                   of_bits, 0);
        const uint16_t twos[] = {0, 1, 2, 3, 2, 1};
        const double of_twos[] = {0, 85, 170, 255, 170, 85};
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY, 2, interlaced, 0}, 3, 2, twos, NULL, 0), 2, 3, 1,
                   of_twos, 0);
        const uint16_t fours[] = {0, 5, 15, 3, 2, 1};
        const double of_fours[] = {0, 85, 255, 51, 34, 17};
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY, 4, interlaced, 0}, 3, 2, fours, NULL, 0), 2, 3, 1,
                   of_fours, 0);
        const uint16_t grey[] = {0, 100, 255, 3, 2, 1};
        const double of_grey[] = {0, 100, 255, 3, 2, 1};
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY, 8, interlaced, 0}, 3, 2, grey, NULL, 0), 2, 3, 1,
                   of_grey, 0);
        const uint16_t deep[] = {0, 65535, 257, 30000, 1, 514};
        const double of_deep[] = {0, 255, 1, 30000 / 257.0, 1 / 257.0, 2};
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY, 16, interlaced, 0}, 3, 2, deep, NULL, 0), 2, 3, 1,
                   of_deep, 1e-4);
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_RGB, 8, interlaced, 0}, 1, 2, grey, NULL, 0), 2, 1, 3,
                   of_grey, 0);
        decodes_to(png_of((png_form){PNG_COLOR_TYPE_RGB, 16, interlaced, 0}, 1, 2, deep, NULL, 0), 2, 1, 3,
                   of_deep, 1e-4);
        const png_color colours[] = {{255, 0, 0}, {0, 10, 255}}, greys[] = {{9, 9, 9}, {200, 200, 200}};
        const uint16_t places[] = {1, 0};
        const double of_colours[] = {0, 10, 255, 255, 0, 0}, of_greys[] = {200, 9};
        for (int depth = 1; depth <= 8; depth *= 2) {
            decodes_to(
                png_of((png_form){PNG_COLOR_TYPE_PALETTE, depth, interlaced, 0}, 2, 1, places, colours, 2), 1,
                2, 3, of_colours, 0);
            decodes_to(
                png_of((png_form){PNG_COLOR_TYPE_PALETTE, depth, interlaced, 0}, 2, 1, places, greys, 2), 1,
                2, 1, of_greys, 0);
        }
    }
}

/* What is transparent lies over white. */
static void test_png_alpha(void **state) {
    (void)state;
    const uint16_t grey[] = {10, 255, 10, 0, 100, 128};
    const double of_grey[] = {10, 255, 100 * (128 / 255.0) + 127};
    decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, 0}, 3, 1, grey, NULL, 0), 1, 3, 1, of_grey,
               0.5);
    const uint16_t deep[] = {0, 0, 0, 65535};
    const double of_deep[] = {255, 0};
    decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY_ALPHA, 16, 1, 0}, 2, 1, deep, NULL, 0), 1, 2, 1, of_deep,
               1e-4);
    const uint16_t colour[] = {10, 20, 30, 255, 10, 20, 30, 0};
    const double of_colour[] = {10, 20, 30, 255, 255, 255};
    decodes_to(png_of((png_form){PNG_COLOR_TYPE_RGB_ALPHA, 8, 1, 0}, 1, 2, colour, NULL, 0), 2, 1, 3,
               of_colour, 0);
    const uint16_t keyed[] = {0, 100};
    const double of_keyed[] = {255, 100};
    decodes_to(png_of((png_form){PNG_COLOR_TYPE_GRAY, 8, 0, 1}, 2, 1, keyed, NULL, 0), 1, 2, 1, of_keyed, 0);
    const png_color colours[] = {{255, 0, 0}, {0, 0, 255}};
    const uint16_t places[] = {0, 1};
    const double of_colours[] = {255, 255, 255, 127, 127, 255};
    decodes_to(png_of((png_form){PNG_COLOR_TYPE_PALETTE, 8, 0, 1}, 2, 1, places, colours, 2), 1, 2, 3,
               of_colours, 0.5);
}

/* Cut anywhere, with any byte changed: refused, or decoded to something; never more. */
static void test_png_damaged(void **state) {
    (void)state;
    uint16_t samples[64 * 3];
    for (int i = 0; i < 192; i++) samples[i] = (uint16_t)((i * 37) % 256);
    bytes whole = png_of((png_form){PNG_COLOR_TYPE_RGB, 8, 1, 0}, 8, 8, samples, NULL, 0);
    for (size_t length = 0; length < whole.count; length++) {
        bytes cut = {whole.data, length, 0};
        refused_for(&cut, "");
    }
    bytes cut = {whole.data, whole.count - 5, 0};
    refused_for(&cut, "is cut off");
    for (size_t i = 0; i < whole.count; i++) {
        at_pictures pictures = {0};
        at_image_decoding now = {.context = group_context, .pictures = &pictures, .limit = 1 << 20};
        whole.data[i] ^= 0x55;
        attn_status status = at_image_decode(&now, whole.data, whole.count);
        assert_true(status == ATTN_OK || (status == ATTN_INVALID_ARGUMENT && now.reason[0]));
        whole.data[i] ^= 0x55;
        at_pictures_free(group_context, &pictures);
    }
    drop(&whole);
}

/* A header that promises what nobody wants to pay for. */
static void test_png_bombs(void **state) {
    (void)state;
    const uint16_t samples[] = {0};
    static const struct {
        uint32_t width, height;
        const char *reason;
    } bombs[] = {{100000, 100000, "has 100000 x 100000 pixels, and a picture can have 67108864"},
                 {0x7fffffff, 0x7fffffff, "pixels, and a picture can have"},
                 {0xffffffff, 0xffffffff, "pixels, and a picture can have"},
                 {0, 5, "has 0 x 5 pixels: it is empty"},
                 {8000, 8000, "has a header with 8000 x 8000 pixels, and only"}};
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        bytes made = png_of((png_form){PNG_COLOR_TYPE_GRAY, 8, 0, 0}, 1, 1, samples, NULL, 0);
        bytes head = {0};
        put_big(&head, bombs[i].width);
        put_big(&head, bombs[i].height);
        memcpy(made.data + 16, head.data, 8);
        drop(&head);
        put_big(&head, (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)made.data + 12, 17));
        memcpy(made.data + 29, head.data, 4);
        refused_for(&made, bombs[i].reason);
        drop(&head);
        drop(&made);
    }
}

static void test_jpeg_forms(void **state) {
    (void)state;
    for (int progressive = 0; progressive < 2; progressive++) {
        at_image_decoding now;
        bytes grey = jpeg_slope((jpeg_form){JCS_GRAYSCALE, 1, progressive}, 17, 9);
        at_pictures pictures = decode(&grey, &now);
        assert_true(now.made.height == 9 && now.made.width == 17 && now.made.channels == 1);
        for (int i = 0; i < 9 * 17; i++)
            assert_true(
                fabs((double)at_image_sample(&pictures, &now.made, i) - (4 * (i % 17) + 2 * (i / 17))) < 6);
        at_pictures_free(group_context, &pictures);
        drop(&grey);
        bytes colour = jpeg_slope((jpeg_form){JCS_RGB, 3, progressive}, 16, 8);
        pictures = decode(&colour, &now);
        assert_true(now.made.height == 8 && now.made.width == 16 && now.made.channels == 3);
        for (int i = 0; i < 8 * 16; i++)
            for (int c = 0; c < 3; c++)
                assert_true(fabs((double)at_image_sample(&pictures, &now.made, 3 * i + c) -
                                 (40 * c + 4 * (i % 16) + 2 * (i / 16))) < 12);
        at_pictures_free(group_context, &pictures);
        drop(&colour);
    }
}

static void test_jpeg_damaged(void **state) {
    (void)state;
    bytes cmyk = jpeg_slope((jpeg_form){JCS_CMYK, 4, 0}, 8, 8);
    refused_for(&cmyk, "is CMYK: convert it to RGB");
    drop(&cmyk);
    for (int progressive = 0; progressive < 2; progressive++) {
        bytes whole = jpeg_slope((jpeg_form){JCS_RGB, 3, progressive}, 32, 32);
        for (size_t length = 0; length + 2 < whole.count; length++) {
            bytes cut = {whole.data, length, 0};
            refused_for(&cut, "");
        }
        bytes cut = {whole.data, whole.count * 2 / 3, 0};
        refused_for(&cut, "is cut off: the file is incomplete");
        for (size_t i = 0; i < whole.count; i++) {
            at_pictures pictures = {0};
            at_image_decoding now = {.context = group_context, .pictures = &pictures, .limit = 1 << 24};
            whole.data[i] ^= 0x15;
            attn_status status = at_image_decode(&now, whole.data, whole.count);
            assert_true(status == ATTN_OK || status == ATTN_OVERFLOW ||
                        (status == ATTN_INVALID_ARGUMENT && now.reason[0]));
            whole.data[i] ^= 0x15;
            at_pictures_free(group_context, &pictures);
        }
        /* A frame of 65,500 x 65,500: the size stands 5 bytes after the mark of the frame. */
        for (size_t i = 2; i + 9 < whole.count; i++)
            if ((unsigned char)whole.data[i] == 0xff &&
                (unsigned char)whole.data[i + 1] == (progressive ? 0xc2 : 0xc0))
                memcpy(whole.data + i + 5, "\xff\xdc\xff\xdc", 4);
        refused_for(&whole, "has 65500 x 65500 pixels, and a picture can have 67108864");
        drop(&whole);
    }
}

static void test_other_types(void **state) {
    (void)state;
    static const struct {
        const char *begin, *reason;
    } others[] = {{"GIF89a____", "is GIF: PNG and JPEG are supported: convert it"},
                  {"RIFF____WEBPVP8 ", "is WebP"},
                  {"MM\0*________", "is TIFF"},
                  {"____ftypavif", "is HEIF or AVIF"},
                  {"P6\n3 3 255\n_____", "is PNM"},
                  {"what is this?", "is not a known picture format: PNG and JPEG are supported"},
                  {"\x89PNG", "is cut off after 4 bytes"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char copy[16] = "";
        size_t count = others[i].begin[0] == 'M' ? 12 : strlen(others[i].begin);
        memcpy(copy, others[i].begin, count);
        bytes made = {copy, count, 0};
        refused_for(&made, others[i].reason);
    }
    bytes empty = {0};
    refused_for(&empty, "is empty");
}

/* ---- datasets ---- */

static attn_reader_options options_of(int labelled) {
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.input = "image";
    options.labelled = labelled;
    return options;
}

static attn_dataset *read_path(const char *name, const attn_reader_options *options) {
    attn_dataset *dataset = NULL;
    expect_ok(group_context, attn_dataset_read(group_context, path_of(name), options, &dataset));
    return dataset;
}

static void read_fails(const char *name, const attn_reader_options *options, const char *part) {
    attn_dataset *dataset = NULL;
    attn_status status = attn_dataset_read(group_context, path_of(name), options, &dataset);
    expect_refused(group_context, status,
                   status == ATTN_SYSTEM_ERROR ? ATTN_SYSTEM_ERROR : ATTN_INVALID_ARGUMENT, part);
    assert_null(dataset);
}

/* A grey picture of one value, or a colour one. */
static void write_picture(const char *name, int width, int height, int value, int colour) {
    uint16_t samples[64 * 3];
    assert_true(width * height <= 64);
    for (int i = 0; i < 192; i++) samples[i] = (uint16_t)(colour && i % 3 ? 0 : value);
    bytes made = png_of((png_form){colour ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, 8, 0, 0}, width, height,
                        samples, NULL, 0);
    write_file(name, &made);
    drop(&made);
}

/* "height x width x channels: first sample = target;" for every example. */
static void dataset_is(const attn_dataset *dataset, const char *expected) {
    char text[2000] = "";
    const at_pictures *pictures = at_pictures_of(dataset);
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        const at_picture *one = &pictures->list[e];
        const char *target = attn_dataset_target(dataset, 0, e, 0);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%dx%dx%d:%g=%s;", (int)one->height,
                 (int)one->width, one->channels, (double)at_image_sample(pictures, one, 0),
                 target ? target : "");
    }
    assert_string_equal(text, expected);
}

static void test_folders(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1), plain = options_of(0);
    make_folder("f");
    make_folder("f/b");
    make_folder("f/a");
    make_folder("f/a/deep");
    write_picture("f/b/1.png", 3, 2, 10, 0);
    write_picture("f/a/2.PNG", 2, 2, 20, 1);
    write_picture("f/a/deep/0.png", 1, 2, 30, 0);
    write_text("f/a/notes.txt", "nothing");
    write_text("f/a/.hidden.png", "nothing");
    attn_dataset *dataset = read_path("f", &labelled);
    dataset_is(dataset, "2x2x3:20=a;2x1x1:30=a;2x3x1:10=b;");
    assert_string_equal(attn_dataset_id(dataset, 2), path_of("f/b/1.png"));
    assert_string_equal(attn_dataset_column(dataset, 0), "label");
    assert_string_equal(attn_input_of_file(path_of("f")), "image");
    attn_dataset_destroy(dataset);
    write_picture("f/beside.png", 1, 1, 40, 0);
    read_fails("f", &labelled, "/f: has pictures in it (1) beside the folders of labels");
    dataset = read_path("f", &plain);
    dataset_is(dataset, "2x2x3:20=;2x1x1:30=;2x3x1:10=;1x1x1:40=;");
    attn_dataset_destroy(dataset);
    make_folder("flat");
    read_fails("flat", &plain, "/flat: has no pictures");
    write_picture("flat/x.png", 1, 1, 7, 0);
    read_fails("flat", &labelled, "/flat: has pictures but no folders");
    write_text("flat/y.jpg", "GIF89a");
    read_fails("flat", &plain, "/flat/y.jpg: is GIF");
    plain.skip_bad = 1;
    dataset = read_path("flat", &plain);
    dataset_is(dataset, "1x1x1:7=;");
    assert_int_equal(attn_dataset_skipped(dataset), 1);
    assert_non_null(strstr(attn_dataset_problem(dataset, 0), "/flat/y.jpg: is GIF"));
    attn_dataset_destroy(dataset);
}

static void test_folders_of_parts(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1);
    static const char *const folders[] = {"p",     "p/train", "p/train/a", "p/train/b",
                                          "p/val", "p/val/b", "p/test",    "p/test/a"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) make_folder(folders[i]);
    write_picture("p/train/a/1.png", 1, 1, 1, 0);
    write_picture("p/train/b/1.png", 1, 1, 2, 0);
    write_picture("p/val/b/1.png", 1, 1, 3, 0);
    write_picture("p/test/a/1.png", 1, 1, 4, 0);
    attn_dataset *dataset = read_path("p", &labelled), *part = NULL;
    dataset_is(dataset, "1x1x1:4=a;1x1x1:1=a;1x1x1:2=b;1x1x1:3=b;");
    assert_int_equal(attn_dataset_part_size(dataset, ATTN_PART_TRAIN), 2);
    expect_ok(group_context, attn_dataset_part(dataset, ATTN_PART_VAL, &part));
    dataset_is(part, "1x1x1:3=b;");
    attn_dataset_destroy(part);
    attn_dataset_destroy(dataset);
    make_folder("p/c");
    write_picture("p/c/1.png", 1, 1, 4, 0);
    read_fails("p", &labelled, "has folders of parts (train, val, test) beside folders of labels");
}

static void test_lists(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1), plain = options_of(0);
    make_folder("l");
    write_picture("l/1.png", 1, 1, 1, 0);
    write_picture("l/2 b.png", 1, 2, 2, 0);
    write_text("l/plain.tsv", "1.png\tone\n\n2 b.png\ttwo\r\n");
    attn_dataset *dataset = read_path("l/plain.tsv", &labelled);
    dataset_is(dataset, "1x1x1:1=one;2x1x1:2=two;");
    assert_string_equal(attn_dataset_id(dataset, 1), "2 b.png");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 3);
    attn_dataset_destroy(dataset);
    write_text("l/table.csv",
               "\xef\xbb\xbfid,label,path,split\n7,\"a, b\",1.png,train\n8,c,\"2 b.png\",test\n");
    dataset = read_path("l/table.csv", &labelled);
    dataset_is(dataset, "1x1x1:1=a, b;2x1x1:2=c;");
    assert_int_equal(attn_dataset_part_size(dataset, ATTN_PART_TEST), 1);
    attn_dataset_destroy(dataset);
    write_text("l/several.tsv", "Image\tx\ty\n1.png\t3\t4\n2 b.png\t\t6\n");
    read_fails("l/several.tsv", &labelled, "/l/several.tsv: the column to learn is ambiguous: name it");
    labelled.column = "y,x";
    dataset = read_path("l/several.tsv", &labelled);
    dataset_is(dataset, "1x1x1:1=4;2x1x1:2=6;");
    assert_string_equal(attn_dataset_target(dataset, 1, 0, 0), "3");
    attn_dataset_destroy(dataset);
    labelled.column = "z";
    read_fails("l/several.tsv", &labelled, "has no column z; its first line names the columns Image, x, y");
    labelled.column = NULL;
    write_text("l/paths.txt", "1.png\n2 b.png\n");
    dataset = read_path("l/paths.txt", &plain);
    dataset_is(dataset, "1x1x1:1=;2x1x1:2=;");
    attn_dataset_destroy(dataset);
    read_fails("l/paths.txt", &labelled, "has paths but no targets");
    char absolute[400];
    snprintf(absolute, sizeof absolute, "%s\tx\n", path_of("l/1.png"));
    write_text("absolute.tsv", absolute);
    dataset = read_path("absolute.tsv", &labelled);
    dataset_is(dataset, "1x1x1:1=x;");
    attn_dataset_destroy(dataset);
}

static void test_bad_lists(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1);
    make_folder("bad");
    make_folder("bad/sub.png");
    write_picture("bad/1.png", 1, 1, 1, 0);
    write_text("bad/cut.png", "\x89PNG\r\n\x1a\n");
    static const struct {
        const char *text, *reason;
    } lists[] = {{"1.png\ta\nno.png\tb\n", "/bad/l.tsv:2: /tmp/"},
                 {"1.png\ta\nno.png\tb\n", "/bad/no.png: cannot be opened: No such file or directory"},
                 {"sub.png\ta\n", "/bad/sub.png: cannot be opened: Is a directory"},
                 {"/dev/zero\ta\n", "/bad/l.tsv:1: /dev/zero: is no file, but a device or a pipe"},
                 {"cut.png\ta\n", "/bad/cut.png: is cut off"},
                 {"1.png\ta\n1.png\n", "/bad/l.tsv:2: 1 column, the first row has 2"},
                 {"1.png\t\n", "/bad/l.tsv:1: there is no label"},
                 {"\ta\n", "/bad/l.tsv:1: there is no path"},
                 {"1.png\ta\tb\n", "/bad/l.tsv: has 3 columns: name them in its first line"},
                 {"1.png\t\xff\n", "/bad/l.tsv:1: byte 7 (0xff) is not UTF-8"},
                 {"path\tlabel\tsplit\n1.png\ta\tother\n", "/bad/l.tsv:2: "},
                 {"\n\n", "/bad/l.tsv: has no pictures"},
                 {"", "/bad/l.tsv: is empty"}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        write_text("bad/l.tsv", lists[i].text);
        read_fails("bad/l.tsv", &labelled, lists[i].reason);
    }
    write_text("bad/l.tsv", "no.png\tx\n1.png\ta\ncut.png\tb\n1.png\tc\n");
    labelled.skip_bad = 1;
    attn_dataset *dataset = read_path("bad/l.tsv", &labelled);
    dataset_is(dataset, "1x1x1:1=a;1x1x1:1=c;");
    assert_int_equal(attn_dataset_skipped(dataset), 2);
    assert_non_null(strstr(attn_dataset_problem(dataset, 1), "/bad/l.tsv:3: "));
    attn_dataset_destroy(dataset);
    labelled.skip_bad = 0;
    labelled.stop_at_bad = 1;
    write_text("bad/l.tsv", "1.png\ta\ncut.png\tb\n1.png\tc\n");
    dataset = read_path("bad/l.tsv", &labelled);
    dataset_is(dataset, "1x1x1:1=a;");
    assert_int_equal(attn_dataset_stopped(dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_consumed(dataset), 8);
    attn_dataset_destroy(dataset);
    labelled.stop_at_bad = 0;
    labelled.skip_bad = 1;
    write_text("bad/l.tsv", "no.png\tx\n");
    read_fails("bad/l.tsv", &labelled, "/bad/l.tsv: has no good pictures: all 1 were left out");
    labelled.per_token = 1;
    read_fails("bad/l.tsv", &labelled, "this task needs one for each patch");
}

/* A list that names a large picture again and again: all of it is limited. */
static void test_limit(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1);
    write_picture("eight.png", 8, 8, 1, 0);
    write_text("many.tsv", "eight.png\ta\neight.png\tb\neight.png\tc\n");
    labelled.expanded_limit = 150; /* the file has 71 bytes or so, and a picture 64 */
    labelled.expanded_ratio = 0;
    attn_dataset *dataset = NULL;
    expect_refused(group_context, attn_dataset_read(group_context, path_of("many.tsv"), &labelled, &dataset),
                   ATTN_OVERFLOW, "the decoded pictures have more than 150 bytes");
    labelled.expanded_limit = 192;
    dataset = read_path("many.tsv", &labelled);
    assert_int_equal(attn_dataset_examples(dataset), 3);
    attn_dataset_destroy(dataset);
}

static void test_one_picture(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1), plain = options_of(0);
    write_picture("alone.png", 3, 2, 9, 1);
    attn_dataset *dataset = read_path("alone.png", &plain);
    dataset_is(dataset, "2x3x3:9=;");
    assert_string_equal(attn_dataset_id(dataset, 0), path_of("alone.png"));
    attn_dataset_destroy(dataset);
    read_fails("alone.png", &labelled, "/alone.png: is one picture without a label");
    assert_string_equal(attn_input_of_file("a/b.JPG"), "image");
    assert_string_equal(attn_input_of_file("train-images-idx3-ubyte.gz"), "image");
    assert_string_equal(attn_input_of_file("b.tsv"), "text");
    size_t count;
    char *bytes_of = file_bytes(path_of("alone.png"), &count);
    expect_ok(group_context,
              attn_dataset_parse(group_context, "standard input", 1, bytes_of, count, &plain, &dataset));
    dataset_is(dataset, "2x3x3:9=;");
    attn_dataset_destroy(dataset);
    free(bytes_of);
}

/* ---- IDX ---- */

static bytes idx_of(int type, int rank, const uint32_t *shape, const char *data, size_t count) {
    bytes made = {0};
    const char head[4] = {0, 0, (char)type, (char)rank};
    put(&made, head, 4);
    for (int d = 0; d < rank; d++) put_big(&made, shape[d]);
    put(&made, data, count);
    return made;
}

static void write_gzip(const char *name, const bytes *made) {
    gzFile file = gzopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, made->data, (unsigned)made->count), (int)made->count);
    assert_int_equal(gzclose(file), Z_OK);
}

static void test_idx(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1), plain = options_of(0);
    bytes images = idx_of(8, 3, (const uint32_t[]){3, 1, 2}, "\1\2\3\4\5\xff", 6);
    bytes labels = idx_of(8, 1, (const uint32_t[]){3}, "\7\0\x09", 3);
    write_file("train-images-idx3-ubyte", &images);
    attn_dataset *dataset = read_path("train-images-idx3-ubyte", &plain);
    dataset_is(dataset, "1x2x1:1=;1x2x1:3=;1x2x1:5=;");
    attn_dataset_destroy(dataset);
    read_fails("train-images-idx3-ubyte", &labelled, "has no labels beside it");
    for (int packed = 0; packed < 4; packed++) {
        (packed & 1 ? write_gzip : write_file)(
            packed & 1 ? "t10k-images-idx3-ubyte.gz" : "t10k-images-idx3-ubyte", &images);
        (packed & 2 ? write_gzip : write_file)(
            packed & 2 ? "t10k-labels-idx1-ubyte.gz" : "t10k-labels-idx1-ubyte", &labels);
        dataset = read_path(packed & 1 ? "t10k-images-idx3-ubyte.gz" : "t10k-images-idx3-ubyte", &labelled);
        dataset_is(dataset, "1x2x1:1=7;1x2x1:3=0;1x2x1:5=9;");
        attn_dataset_destroy(dataset);
        unlink(path_of(packed & 2 ? "t10k-labels-idx1-ubyte.gz" : "t10k-labels-idx1-ubyte"));
    }
    read_fails("t10k-images-idx3-ubyte", &labelled, "has no labels beside it");
    write_file("labels", &labels);
    expect_ok(group_context, attn_dataset_read_parallel(group_context, path_of("train-images-idx3-ubyte"),
                                                        path_of("labels"), &labelled, &dataset));
    dataset_is(dataset, "1x2x1:1=7;1x2x1:3=0;1x2x1:5=9;");
    attn_dataset_destroy(dataset);
    labels.data[7] = 2;
    labels.count--;
    write_file("labels", &labels);
    expect_refused(group_context,
                   attn_dataset_read_parallel(group_context, path_of("train-images-idx3-ubyte"),
                                              path_of("labels"), &labelled, &dataset),
                   ATTN_INVALID_ARGUMENT, "/labels: has 2 entries, and there are 3 pictures");
    drop(&images);
    drop(&labels);
}

static void test_bad_idx(void **state) {
    (void)state;
    attn_reader_options plain = options_of(0);
    static const struct {
        int type, rank;
        uint32_t shape[4];
        size_t count;
        const char *reason;
    } files[] = {
        {8, 3, {3, 1, 2}, 5, "has a header with 6 bytes of numbers, and 5 follow it: it is cut off"},
        {8, 3, {3, 1, 2}, 7, "has a header with 6 bytes of numbers, and 7 follow it: it is damaged"},
        {13, 3, {0x7fffffff, 0x7fffffff, 2}, 5, "has an impossible shape: its header is damaged"},
        {8, 3, {0, 1, 2}, 0, "has no pictures"},
        {8, 3, {2, 0, 2}, 0, "has pictures of 0 x 2 pixels"},
        {8, 4, {1, 1, 1, 2}, 2, "has 2 channels (the last dimension)"},
        {8, 1, {2}, 2, "is a list of labels"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        bytes made = idx_of(files[i].type, files[i].rank, files[i].shape, "\0\0\0\0\0\0\0\0", files[i].count);
        write_file("x.idx", &made);
        read_fails("x.idx", &plain, files[i].reason);
        drop(&made);
    }
    bytes floats = idx_of(13, 2, (const uint32_t[]){1, 2}, "\x3f\x80\0\0\xc0\0\0\0", 8); /* 1, -2 */
    write_file("x.idx", &floats);
    attn_dataset *dataset = read_path("x.idx", &plain);
    dataset_is(dataset, "1x2x1:1=;");
    assert_true(at_image_sample(at_pictures_of(dataset), at_pictures_of(dataset)->list, 1) == -2);
    attn_dataset_destroy(dataset);
    for (size_t length = 1; length < floats.count; length++) { /* 0: it is no IDX any more, but a list */
        write_bytes("x.idx", floats.data, length);
        read_fails("x.idx", &plain, "/x.idx");
    }
    drop(&floats);
}

/* ---- arrays ---- */

static bytes npy_of(const char *descr, const char *shape, const void *data, size_t count) {
    char dict[200];
    bytes made = {0};
    int length =
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
    const char head[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)length, (char)(length >> 8)};
    put(&made, head, 10);
    put(&made, dict, (size_t)length);
    put(&made, data, count);
    return made;
}

static void write_npy(const char *name, const char *descr, const char *shape, const void *data,
                      size_t count) {
    bytes made = npy_of(descr, shape, data, count);
    write_file(name, &made);
    drop(&made);
}

static void test_arrays(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1), plain = options_of(0);
    attn_dataset *dataset = NULL;
    write_npy("x.npy", "|u1", "(2, 1, 2)", "\1\2\3\4", 4);
    write_npy("y.npy", "<i4", "(2,)", "\5\0\0\0\6\0\0\0", 8);
    dataset = read_path("x.npy", &plain);
    dataset_is(dataset, "1x2x1:1=;1x2x1:3=;");
    attn_dataset_destroy(dataset);
    expect_ok(group_context, attn_dataset_read_parallel(group_context, path_of("x.npy"), path_of("y.npy"),
                                                        &labelled, &dataset));
    dataset_is(dataset, "1x2x1:1=5;1x2x1:3=6;");
    attn_dataset_destroy(dataset);
    write_text("y.txt", "a b\nc\n");
    expect_ok(group_context, attn_dataset_read_parallel(group_context, path_of("x.npy"), path_of("y.txt"),
                                                        &labelled, &dataset));
    dataset_is(dataset, "1x2x1:1=a b;1x2x1:3=c;");
    attn_dataset_destroy(dataset);
    read_fails("x.npy", &labelled, "has no targets: give labels as a second file");
    const float colours[] = {0.5f, 1, 2, 3, 4, 5}, wrong[] = {0, NAN};
    write_npy("c.npy", "<f4", "(1, 1, 2, 3)", colours, sizeof colours);
    dataset = read_path("c.npy", &plain);
    dataset_is(dataset, "1x2x3:0.5=;");
    attn_dataset_destroy(dataset);
    write_npy("n.npy", "<f4", "(2, 1, 1)", wrong, sizeof wrong);
    read_fails("n.npy", &plain, "/n.npy: picture 1, row 0, column 0 is not a number");
    plain.skip_bad = 1;
    dataset = read_path("n.npy", &plain);
    dataset_is(dataset, "1x1x1:0=;");
    attn_dataset_destroy(dataset);
    labelled.skip_bad = 1;
    expect_ok(group_context, attn_dataset_read_parallel(group_context, path_of("n.npy"), path_of("y.npy"),
                                                        &labelled, &dataset));
    dataset_is(dataset, "1x1x1:0=5;");
    attn_dataset_destroy(dataset);
    static const struct {
        const char *descr, *shape, *reason;
    } bad[] = {{"|u1", "(1, 3, 2, 2)",
                "has 2 channels (the last dimension): 1 (grey) or 3 are possible; give x.transpose"},
               {"|u1", "(12,)", "has 1 dimension: pictures are n x height x width"},
               {"|S1", "(3, 2, 2)", "has strings: pictures must be numbers"},
               {"|u1", "(12, 0, 1)", "of elements, but shape and type"},
               {"|u1", "(0, 1, 1)", "of elements, but shape and type"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_npy("b.npy", bad[i].descr, bad[i].shape, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
        read_fails("b.npy", &plain, bad[i].reason);
    }
}

/* ---- from memory, and changed ---- */

static void test_memory(void **state) {
    (void)state;
    attn_dataset *dataset = NULL, *part = NULL;
    const float samples[] = {1, 2, 3, 4, 5.5f, 6};
    const int64_t heights[] = {2, 1}, widths[] = {2, 2}, none[] = {0, 1};
    expect_ok(group_context,
              attn_dataset_from_images(group_context, samples, heights, widths, 1, 2, &dataset));
    dataset_is(dataset, "2x2x1:1=;1x2x1:5.5=;");
    assert_int_equal(at_pictures_of(dataset)->list[0].exact, 0);
    assert_int_equal(at_pictures_of(dataset)->list[1].exact, 1);
    expect_ok(group_context, attn_dataset_select(dataset, (const int64_t[]){1, 0, 1}, 3, &part));
    dataset_is(part, "1x2x1:5.5=;2x2x1:1=;1x2x1:5.5=;");
    expect_ok(group_context, attn_dataset_append(part, dataset));
    dataset_is(part, "1x2x1:5.5=;2x2x1:1=;1x2x1:5.5=;2x2x1:1=;1x2x1:5.5=;");
    attn_dataset_destroy(part);
    attn_dataset_destroy(dataset);
    expect_refused(group_context,
                   attn_dataset_from_images(group_context, samples, heights, widths, 2, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "channels is 2");
    expect_refused(group_context,
                   attn_dataset_from_images(group_context, samples, none, widths, 1, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "picture 0 has 0 x 2 pixels");
    expect_refused(group_context,
                   attn_dataset_from_images(group_context, NULL, heights, widths, 1, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "samples, heights or widths is NULL");
    const float wrong[] = {1, INFINITY, 3, 4};
    expect_refused(group_context,
                   attn_dataset_from_images(group_context, wrong, heights, widths, 1, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "picture 0, sample 1 is infinite");
    assert_int_equal(attn_dataset_from_images(NULL, samples, heights, widths, 1, 1, &dataset),
                     ATTN_INVALID_ARGUMENT);
}

static void changed_is(const float *samples, int height, int width, int channels, int to_channels,
                       int to_height, int to_width, const double *expected) {
    attn_dataset *dataset = NULL;
    const int64_t heights[] = {height}, widths[] = {width};
    at_pictures made = {0};
    expect_ok(group_context,
              attn_dataset_from_images(group_context, samples, heights, widths, channels, 1, &dataset));
    const at_pictures *from = at_pictures_of(dataset);
    expect_ok(group_context,
              at_image_change(group_context, from, from->list, to_channels, to_height, to_width, &made));
    int count = (to_height ? to_height * to_width : height * width) * to_channels;
    assert_int_equal(at_picture_samples(made.list), count);
    for (int i = 0; i < count; i++)
        assert_true(fabs((double)at_image_sample(&made, made.list, i) - expected[i]) < 1e-5);
    at_pictures_free(group_context, &made);
    attn_dataset_destroy(dataset);
}

static void test_changed(void **state) {
    (void)state;
    const float slope[] = {0.5f, 1, 2, 3}, square[] = {0.5f, 1.5f, 2.5f, 3.5f}, colour[] = {100.5f, 50, 25};
    changed_is(slope, 1, 4, 1, 1, 1, 2, (const double[]){0.75, 2.5});
    changed_is(slope, 4, 1, 1, 1, 3, 1, (const double[]){(0.5 + 1 / 3.0) * 0.75, 1.5, (3 + 2 / 3.0) * 0.75});
    changed_is(square, 2, 2, 1, 1, 1, 1, (const double[]){2});
    changed_is(square, 1, 4, 1, 1, 1, 8, (const double[]){0.5, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.5});
    changed_is(colour, 1, 1, 3, 1, 0, 0, (const double[]){0.299 * 100.5 + 0.587 * 50 + 0.114 * 25});
    changed_is(slope, 1, 2, 1, 3, 0, 0, (const double[]){0.5, 0.5, 0.5, 1, 1, 1});
    int64_t height, width;
    assert_true(at_image_parse_size("28", &height, &width) && height == 28 && width == 28);
    assert_true(at_image_parse_size("28x32", &height, &width) && height == 28 && width == 32);
    assert_true(at_image_parse_size("0", &height, &width) && height == 0);
    static const char *const wrong[] = {"",        "x",  "28x",         "x28",     "0x4",
                                        "28x32x3", "-3", "99999x99999", "1234567", "3 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(at_image_parse_size(wrong[i], &height, &width));
}

/* ---- described ---- */

static void test_described(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1);
    labelled.skip_bad = 1;
    make_folder("d");
    write_picture("d/1.png", 3, 2, 10, 0);
    write_picture("d/2.png", 2, 2, 20, 1);
    write_text("d/l.tsv", "1.png\ta\n1.png\ta\n2.png\tb\n1.png\tb\nno.png\tb\n");
    attn_dataset *dataset = read_path("d/l.tsv", &labelled);
    char *text = NULL;
    attn_describe_options options;
    attn_describe_options_init(&options);
    expect_ok(group_context, attn_dataset_describe(dataset, &options, &text));
    static const char *const parts[] = {
        "a list, 4 pictures\n", "2 sizes, height x width\n", "3 pictures of",
        "4 pictures of PNG\n",  "3 pictures in grey\n",      "1 picture in colour\n",
        "label: 2 classes",     "with different targets",    "no.png: cannot be opened"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (i != 2 && !strstr(text, parts[i])) fail_msg("no \"%s\" in:\n%s", parts[i], text);
    attn_text_release(group_context, text);
    options.json = 1;
    expect_ok(group_context, attn_dataset_describe(dataset, &options, &text));
    assert_non_null(
        strstr(text, "\"sizes\":{\"count\":2,\"smallest\":{\"height\":2,\"width\":2,\"pictures\":1}"));
    assert_non_null(strstr(text, "\"png\":4,\"jpeg\":0,\"grey\":3,\"colour\":1"));
    attn_text_release(group_context, text);
    attn_dataset_destroy(dataset);
}

/* Memory that is not there: an error, and nothing lost. */
static void test_no_memory(void **state) {
    (void)state;
    attn_reader_options labelled = options_of(1);
    make_folder("m");
    make_folder("m/a");
    write_picture("m/a/1.png", 3, 2, 10, 0);
    bytes jpeg = jpeg_slope((jpeg_form){JCS_RGB, 3, 0}, 8, 8);
    write_file("m/a/2.jpg", &jpeg);
    drop(&jpeg);
    write_text("m/l.csv", "path,label,split\na/1.png,\"x\",train\na/2.jpg,y,test\n");
    static const char *const names[] = {"m", "m/l.csv"};
    for (int i = 0; i < 2; i++) {
        int64_t at = 0;
        attn_status status = ATTN_OUT_OF_MEMORY;
        while (status != ATTN_OK) {
            attn_dataset *dataset = NULL;
            int64_t live = group_counter.live;
            group_counter.fail_at = ++at;
            status = attn_dataset_read(group_context, path_of(names[i]), &labelled, &dataset);
            group_counter.fail_at = 0;
            assert_true(status == ATTN_OK || (status == ATTN_OUT_OF_MEMORY && !dataset));
            attn_dataset_destroy(dataset);
            assert_int_equal(group_counter.live, live);
            assert_true(at < 500);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_forms),        cmocka_unit_test(test_png_alpha),
        cmocka_unit_test(test_png_damaged),      cmocka_unit_test(test_png_bombs),
        cmocka_unit_test(test_jpeg_forms),       cmocka_unit_test(test_jpeg_damaged),
        cmocka_unit_test(test_other_types),      cmocka_unit_test(test_folders),
        cmocka_unit_test(test_folders_of_parts), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bad_lists),        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_one_picture),      cmocka_unit_test(test_idx),
        cmocka_unit_test(test_bad_idx),          cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_memory),           cmocka_unit_test(test_changed),
        cmocka_unit_test(test_described),        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
