/* decode.h: decodes one picture from memory: PNG and JPEG; other formats are refused by name.
 *
 * Grey and colour, 8 and 16 bits: samples of 16 bits are divided by 257, so that white is 255 for both.
 * Transparent pixels are drawn over white. A palette of greys is grey. Headers are not trusted: sizes are
 * checked before memory is allocated, and truncated or damaged files are refused.
 */
#ifndef AT_INPUTS_IMAGE_DECODE_H
#define AT_INPUTS_IMAGE_DECODE_H

#include "inputs/image/pictures.h"

enum { AT_IMAGE_REASON = 240 };

/* A picture that is being decoded; decoders write it behind those that `pictures` has (at_pictures_reserve).
 */
typedef struct at_image_decoding {
    attn_context *context;
    at_pictures *pictures;
    int64_t limit;   /* bytes that all samples may have */
    at_picture made; /* what comes out */
    char reason[AT_IMAGE_REASON];
} at_image_decoding;

/* INVALID_ARGUMENT: `reason` says why, and the context has no text; other errors have theirs in it. */
attn_status at_image_decode(at_image_decoding *now, const char *bytes, size_t count);
/* What a file that begins so is: "PNG", "GIF", ...; NULL: none that is known. */
const char *at_image_type(const char *bytes, size_t count);

/* For decoders: INVALID_ARGUMENT with that reason. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
attn_status
at_decode_refuse(at_image_decoding *now, const char *format, ...);
/* A size that a header promises. */
attn_status at_decode_size(at_image_decoding *now, uint64_t height, uint64_t width);

/* decode_png.c, decode_jpeg.c: refuse by themselves where their library is missing. */
attn_status at_decode_png(at_image_decoding *now, const char *bytes, size_t count);
attn_status at_decode_jpeg(at_image_decoding *now, const char *bytes, size_t count);

#endif
