/* decode_jpeg.c: JPEG with libjpeg-turbo: grey and colour, baseline and progressive. */
#include "inputs/image/decode.h"

#ifndef AT_HAVE_JPEG

attn_status at_decode_jpeg(at_image_decoding *now, const char *bytes, size_t count) {
    (void)bytes;
    (void)count;
    return at_decode_refuse(
        now,
        "is JPEG, and this program was built without libjpeg: build it with libjpeg62-turbo-dev installed");
}

#else

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

enum {
    MOST_SCANS = 500
}; /* of a progressive file: a small one could have thousands, each as slow as a picture */

/* What must outlive a jump out of libjpeg. */
typedef struct jpeg_work {
    struct jpeg_error_mgr errors; /* the first: libjpeg knows only that */
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct file;
    jmp_buf out;
    at_image_decoding *now;
    attn_status status;
} jpeg_work;

static jpeg_work *work_of(j_common_ptr file) { return (jpeg_work *)(void *)file->err; }

static void on_error(j_common_ptr file) {
    jpeg_work *work = work_of(file);
    char message[JMSG_LENGTH_MAX];
    if (!work->now->reason[0]) {
        file->err->format_message(file, message);
        at_decode_refuse(work->now, "is damaged (%.160s)", message);
    }
    longjmp(work->out, 1);
}

/* libjpeg continues with grey pixels where data is missing or cannot be: that is no picture. */
static void on_message(j_common_ptr file, int level) {
    jpeg_work *work = work_of(file);
    if (level >= 0) return;
    switch (file->err->msg_code) {
    case JWRN_JPEG_EOF: at_decode_refuse(work->now, "is cut off: the file is incomplete"); break;
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: break;
    default: return; /* bytes too many, versions of JFIF and the like */
    }
    on_error(file);
}

static void no_output(j_common_ptr file) { (void)file; }

static void on_progress(j_common_ptr file) {
    jpeg_work *work = work_of(file);
    if (work->file.input_scan_number <= MOST_SCANS) return;
    at_decode_refuse(work->now, "has more than %d scans, which no picture needs: it is damaged or malicious",
                     MOST_SCANS);
    longjmp(work->out, 1);
}

/* Whether its colours can be read: grey, or what becomes RGB. */
static int set_colours(jpeg_work *work) {
    struct jpeg_decompress_struct *file = &work->file;
    switch (file->jpeg_color_space) {
    case JCS_GRAYSCALE: file->out_color_space = JCS_GRAYSCALE; return 1;
    case JCS_RGB:
    case JCS_YCbCr: file->out_color_space = JCS_RGB; return 1;
    case JCS_CMYK:
    case JCS_YCCK: at_decode_refuse(work->now, "is CMYK: convert it to RGB"); return 0;
    default:
        at_decode_refuse(work->now, "has %d components that are neither grey nor RGB: convert it to RGB",
                         file->num_components);
        return 0;
    }
}

static void read_rows(jpeg_work *work) {
    struct jpeg_decompress_struct *file = &work->file;
    at_image_decoding *now = work->now;
    int64_t row = now->made.width * now->made.channels;
    while (file->output_scanline < file->output_height) {
        JSAMPROW to = now->pictures->bytes + now->made.first + (int64_t)file->output_scanline * row;
        jpeg_read_scanlines(file, &to, 1);
    }
    jpeg_finish_decompress(file);
    work->status = ATTN_OK;
}

/* All that may jump. */
static void read_picture(jpeg_work *work, const char *bytes, size_t count) {
    struct jpeg_decompress_struct *file = &work->file;
    at_image_decoding *now = work->now;
    jpeg_create_decompress(file);
    file->progress = &work->progress;
    work->progress.progress_monitor = on_progress;
    jpeg_mem_src(file, (const unsigned char *)bytes, (unsigned long)count);
    if (jpeg_read_header(file, TRUE) != JPEG_HEADER_OK || !set_colours(work)) return;
    if (at_decode_size(now, file->image_height, file->image_width) != ATTN_OK) return;
    now->made.channels = (uint8_t)(file->out_color_space == JCS_GRAYSCALE ? 1 : 3);
    now->made.source = AT_PICTURE_JPEG;
    file->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(file);
    if ((int64_t)file->output_width != now->made.width || (int64_t)file->output_height != now->made.height ||
        file->output_components != now->made.channels) {
        at_decode_refuse(now, "is damaged: its size changes within it");
        return;
    }
    work->status = at_pictures_reserve(now->context, now->pictures, now->limit, &now->made);
    if (work->status != ATTN_OK) return;
    work->status = ATTN_INVALID_ARGUMENT;
    read_rows(work);
}

/* What is changed after setjmp must not be a variable of the function that called it. */
static void try_picture(jpeg_work *work, const char *bytes, size_t count) {
    if (!setjmp(work->out)) read_picture(work, bytes, count);
}

attn_status at_decode_jpeg(at_image_decoding *now, const char *bytes, size_t count) {
    jpeg_work work;
    memset(&work, 0, sizeof work);
    work.now = now;
    work.status = ATTN_INVALID_ARGUMENT;
    work.file.err = jpeg_std_error(&work.errors);
    work.errors.error_exit = on_error;
    work.errors.emit_message = on_message;
    work.errors.output_message = no_output;
    try_picture(&work, bytes, count);
    jpeg_destroy_decompress(&work.file);
    if (work.status == ATTN_INVALID_ARGUMENT && !now->reason[0])
        at_decode_refuse(now, "is damaged: it has no picture");
    return work.status;
}

#endif
