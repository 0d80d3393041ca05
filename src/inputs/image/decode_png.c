/* decode_png.c: PNG with libpng: grey, colour and palette, 1 to 16 bits, interlaced or not, with or without
 * transparency. */
#include "inputs/image/decode.h"

#ifndef AT_HAVE_PNG

attn_status at_decode_png(at_image_decoding *now, const char *bytes, size_t count) {
    (void)bytes;
    (void)count;
    return at_decode_refuse(
        now, "is PNG, and this program was built without libpng: build it with libpng-dev installed");
}

#else

#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "base/memory.h"

/* What must outlive a jump out of libpng. */
typedef struct png_work {
    at_image_decoding *now;
    const char *next;
    size_t left;
    png_structp png;
    png_infop info;
    unsigned char *pixels; /* as libpng gives them: with transparency, 16 bits in the order of PNG */
    png_bytep *rows;
    attn_status status; /* of what failed outside libpng */
} png_work;

static void on_error(png_structp png, png_const_charp message) {
    png_work *work = png_get_error_ptr(png);
    if (!work->now->reason[0])
        at_decode_refuse(work->now,
                         work->left == 0 ? "is cut off or damaged (%.120s)" : "is damaged (%.120s)", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_bytes(png_structp png, png_bytep to, size_t count) {
    png_work *work = png_get_io_ptr(png);
    if (count > work->left) {
        at_decode_refuse(work->now, "is cut off: the file is incomplete");
        png_error(png, "cut off");
    }
    memcpy(to, work->next, count);
    work->next += count;
    work->left -= count;
}

/* Width and height are at fixed places: bytes 16 to 23. */
static attn_status check_header(at_image_decoding *now, const char *bytes, size_t count) {
    const unsigned char *at = (const unsigned char *)bytes;
    if (count < 33) return at_decode_refuse(now, "is cut off: the file is incomplete");
    if (memcmp(at + 8, "\0\0\0\x0dIHDR", 8) != 0)
        return at_decode_refuse(now, "is damaged: PNG begins with its size, and it does not");
    uint64_t width = (uint64_t)at[16] << 24 | (uint64_t)at[17] << 16 | (uint64_t)at[18] << 8 | at[19];
    uint64_t height = (uint64_t)at[20] << 24 | (uint64_t)at[21] << 16 | (uint64_t)at[22] << 8 | at[23];
    attn_status status = at_decode_size(now, height, width);
    uint64_t bits = width * at[24] * (at[25] == 2 ? 3 : at[25] == 4 ? 2 : at[25] == 6 ? 4 : 1);
    /* Deflate packs 1032 bytes into one at best. */
    if (status == ATTN_OK && height * ((bits + 7) / 8) / 1032 > count)
        return at_decode_refuse(now,
                                "has a header with %" PRIu64 " x %" PRIu64
                                " pixels, and only %zu bytes: it is cut off or damaged",
                                width, height, count);
    return status;
}

/* A palette whose colours are greys. */
static int is_grey_palette(png_work *work) {
    png_colorp palette;
    int count = 0;
    if (!png_get_PLTE(work->png, work->info, &palette, &count)) return 0;
    for (int i = 0; i < count; i++)
        if (palette[i].red != palette[i].green || palette[i].red != palette[i].blue) return 0;
    return 1;
}

/* Everything becomes grey or RGB, of 8 or 16 bits, with alpha where there is any. */
static int set_transforms(png_work *work) {
    int type = png_get_color_type(work->png, work->info);
    png_set_expand(work->png); /* palettes to colours, 1 to 4 bits to 8, a transparent colour to alpha */
    return type == PNG_COLOR_TYPE_PALETTE && is_grey_palette(work);
}

/* `values` samples from an array of 8 or 16 bits, over white where there is alpha. */
typedef struct pixel_form {
    int channels, colours, alpha, deep, only_first;
} pixel_form;

static float sample(const unsigned char *at, int deep) {
    return deep ? (float)(at[0] * 256 + at[1]) / 257.0f : (float)at[0];
}

static void put_pixel(const unsigned char *at, const pixel_form *form, float *to) {
    int size = form->deep ? 2 : 1, kept = form->only_first ? 1 : form->colours;
    float alpha = form->alpha ? sample(at + form->colours * size, form->deep) / 255.0f : 1.0f;
    for (int c = 0; c < kept; c++) {
        float value = sample(at + c * size, form->deep);
        to[c] = form->alpha ? value * alpha + 255.0f * (1.0f - alpha) : value;
    }
}

static void put_pixels(png_work *work, const pixel_form *form) {
    const at_picture *made = &work->now->made;
    at_pictures *pictures = work->now->pictures;
    int64_t pixels = made->height * made->width;
    const unsigned char *at = work->pixels;
    int step = form->channels * (form->deep ? 2 : 1);
    for (int64_t i = 0; i < pixels; i++, at += step) {
        float values[4];
        put_pixel(at, form, values);
        for (int c = 0; c < made->channels; c++) {
            int64_t place = made->first + i * made->channels + c;
            if (made->exact)
                pictures->numbers[place] = values[c];
            else
                pictures->bytes[place] = (unsigned char)(values[c] + 0.5f);
        }
    }
}

/* Memory for the pixels as libpng gives them. */
static void take_memory(png_work *work) {
    at_image_decoding *now = work->now;
    size_t row = png_get_rowbytes(work->png, work->info);
    work->pixels = at_allocate(now->context, now->made.height, row, "the pixels of a picture");
    work->rows = at_allocate(now->context, now->made.height, sizeof *work->rows, "the rows of a picture");
    if (!work->pixels || !work->rows) {
        work->status = ATTN_OUT_OF_MEMORY;
        png_longjmp(work->png, 1);
    }
    for (int64_t y = 0; y < now->made.height; y++) work->rows[y] = work->pixels + (size_t)y * row;
}

/* All that may jump. */
static void read_picture(png_work *work) {
    at_image_decoding *now = work->now;
    png_set_read_fn(work->png, work, read_bytes);
    png_read_info(work->png, work->info);
    int grey_palette = set_transforms(work);
    png_set_interlace_handling(work->png);
    png_read_update_info(work->png, work->info);
    int channels = png_get_channels(work->png, work->info), alpha = channels == 2 || channels == 4;
    pixel_form form = {.channels = channels,
                       .colours = channels - alpha,
                       .alpha = alpha,
                       .deep = png_get_bit_depth(work->png, work->info) == 16,
                       .only_first = grey_palette};
    take_memory(work);
    png_read_image(work->png, work->rows);
    png_read_end(work->png, NULL);
    now->made.channels = (uint8_t)(form.colours == 1 || grey_palette ? 1 : 3);
    now->made.exact = (uint8_t)form.deep;
    now->made.source = AT_PICTURE_PNG;
    work->status = at_pictures_reserve(now->context, now->pictures, now->limit, &now->made);
    if (work->status == ATTN_OK) put_pixels(work, &form);
}

/* What is changed after setjmp must not be a variable of the function that called it. */
static void try_picture(png_work *work) {
    if (!setjmp(png_jmpbuf(work->png))) read_picture(work);
}

attn_status at_decode_png(at_image_decoding *now, const char *bytes, size_t count) {
    attn_status status = check_header(now, bytes, count);
    if (status != ATTN_OK) return status;
    png_work work = {.now = now, .next = bytes, .left = count, .status = ATTN_INVALID_ARGUMENT};
    work.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &work, on_error, on_warning);
    work.info = work.png ? png_create_info_struct(work.png) : NULL;
    if (!work.info) {
        png_destroy_read_struct(&work.png, NULL, NULL);
        return at_decode_refuse(now, "could not be decoded: libpng had no memory, or has another version");
    }
    png_set_user_limits(work.png, (png_uint_32)AT_IMAGE_MOST_PIXELS, (png_uint_32)AT_IMAGE_MOST_PIXELS);
    try_picture(&work);
    png_destroy_read_struct(&work.png, &work.info, NULL);
    at_release(now->context, work.pixels);
    at_release(now->context, work.rows);
    return work.status;
}

#endif
