/* decode.c: which kind of picture it is, and what all decoders refuse. */
#include "inputs/image/decode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

attn_status at_decode_refuse(at_image_decoding *now, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(now->reason, sizeof now->reason, format, arguments);
    va_end(arguments);
    return ATTN_INVALID_ARGUMENT;
}

attn_status at_decode_size(at_image_decoding *now, uint64_t height, uint64_t width) {
    if (height == 0 || width == 0)
        return at_decode_refuse(now, "has %" PRIu64 " x %" PRIu64 " pixels: it is empty", width, height);
    if (height > (uint64_t)AT_IMAGE_MOST_PIXELS / width)
        return at_decode_refuse(now,
                                "has %" PRIu64 " x %" PRIu64 " pixels, and a picture can have %" PRId64
                                ": make it smaller, or cut it into parts",
                                width, height, AT_IMAGE_MOST_PIXELS);
    now->made.height = (int64_t)height;
    now->made.width = (int64_t)width;
    return ATTN_OK;
}

const char *at_image_type(const char *bytes, size_t count) {
    static const struct {
        size_t place, length;
        const char *bytes, *name;
    } types[] = {
        {0, 8, "\x89PNG\r\n\x1a\n", "PNG"},
        {0, 3, "\xff\xd8\xff", "JPEG"},
        {0, 4, "GIF8", "GIF"},
        {8, 4, "WEBP", "WebP"},
        {0, 4, "II*\0", "TIFF"},
        {0, 4, "MM\0*", "TIFF"},
        {0, 4, "II+\0", "TIFF"},
        {4, 4, "ftyp", "HEIF or AVIF"},
        {0, 12, "\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000"},
        {0, 4, "\xff\x4f\xff\x51", "JPEG 2000"},
        {0, 4, "8BPS", "Photoshop's format"},
        {0, 5, "<?xml", "SVG or other XML"},
        {0, 4, "<svg", "SVG"},
        {0, 4, "%PDF", "PDF"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (count >= types[i].place + types[i].length &&
            memcmp(bytes + types[i].place, types[i].bytes, types[i].length) == 0)
            return types[i].name;
    if (count > 14 && memcmp(bytes, "BM", 2) == 0 && !bytes[6] && !bytes[7]) return "BMP";
    if (count > 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' &&
        (bytes[2] == '\n' || bytes[2] == ' '))
        return "PNM";
    return NULL;
}

attn_status at_image_decode(at_image_decoding *now, const char *bytes, size_t count) {
    const char *type = at_image_type(bytes, count);
    memset(&now->made, 0, sizeof now->made);
    now->reason[0] = 0;
    if (count == 0) return at_decode_refuse(now, "is empty");
    if (!type) {
        if (count < 8 && (memcmp(bytes, "\x89PNG\r\n\x1a\n", count) == 0 ||
                          (count < 3 && memcmp(bytes, "\xff\xd8\xff", count) == 0)))
            return at_decode_refuse(now, "is cut off after %zu bytes", count);
        return at_decode_refuse(now, "is not a known picture format: PNG and JPEG are supported");
    }
    if (strcmp(type, "PNG") == 0) return at_decode_png(now, bytes, count);
    if (strcmp(type, "JPEG") == 0) return at_decode_jpeg(now, bytes, count);
    return at_decode_refuse(now, "is %s: PNG and JPEG are supported: convert it", type);
}
