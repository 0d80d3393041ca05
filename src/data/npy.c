/* npy.c: the header of an .npy array, read strictly but in any order and spacing, and its elements. */
#include "data/npy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "data/symbols/unicode.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, LONGEST_DESCR = 31 };

int at_is_npy(const char *bytes, size_t count) {
    return count >= MAGIC_BYTES && memcmp(bytes, magic, MAGIC_BYTES) == 0;
}

/* ---- the header ---- */

/* What is being parsed: the dict, from `at` to `end`. */
typedef struct header {
    const at_origin *origin;
    const char *name;
    const char *at, *end;
    char descr[LONGEST_DESCR + 1];
    int fortran;
    int has_descr, has_order, has_shape;
} header;

static attn_status not_understood(const header *h, const char *what) {
    return at_origin_fail(h->origin, h->name, 0,
                          "its .npy header is damaged: %s: save the array again with numpy.save", what);
}

static void pass_spaces(header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r')) h->at++;
}

static int take(header *h, char byte) {
    pass_spaces(h);
    if (h->at == h->end || *h->at != byte) return 0;
    h->at++;
    return 1;
}

static int take_word(header *h, const char *word) {
    size_t length = strlen(word);
    pass_spaces(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0) return 0;
    h->at += length;
    return 1;
}

/* 'text' or "text" of at most LONGEST_DESCR plain characters; 0 if that is not what is there. */
static int take_string(header *h, char *text) {
    char quote = '\'';
    if (!take(h, quote)) {
        quote = '"';
        if (!take(h, quote)) return 0;
    }
    size_t length = 0;
    for (; h->at < h->end && *h->at != quote; h->at++) {
        if (length == LONGEST_DESCR || *h->at < ' ' || *h->at > '~' || *h->at == '\\') return 0;
        text[length++] = *h->at;
    }
    text[length] = 0;
    return take(h, quote);
}

/* A dimension: digits, and the L of Python 2. */
static attn_status take_dimension(header *h, int64_t *dimension) {
    pass_spaces(h);
    if (h->at < h->end && *h->at == '-') return not_understood(h, "a dimension is negative");
    if (h->at == h->end || *h->at < '0' || *h->at > '9')
        return not_understood(h, "its shape is not a tuple of numbers");
    *dimension = 0;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
        int digit = *h->at - '0';
        if (*dimension > (INT64_MAX - digit) / 10)
            return at_origin_fail(h->origin, h->name, 0,
                                  "a dimension of its shape does not fit 64 bits: it is damaged");
        *dimension = *dimension * 10 + digit;
    }
    if (h->at < h->end && *h->at == 'L') h->at++;
    return ATTN_OK;
}

static attn_status take_shape(header *h, at_npy *array) {
    if (!take(h, '(')) return not_understood(h, "its shape is not a tuple");
    while (!take(h, ')')) {
        int64_t dimension = 0;
        attn_status status = take_dimension(h, &dimension);
        if (status != ATTN_OK) return status;
        if (array->rank == AT_NPY_RANK)
            return at_origin_fail(h->origin, h->name, 0, "has more than %d dimensions: reshape it",
                                  AT_NPY_RANK);
        array->shape[array->rank++] = dimension;
        if (take(h, ',')) continue;
        if (array->rank == 1) return not_understood(h, "its shape is not a tuple"); /* (3) is a number */
        if (!take(h, ')')) return not_understood(h, "its shape does not end");
        break;
    }
    return ATTN_OK;
}

static attn_status take_value(header *h, const char *key, at_npy *array) {
    int *seen = strcmp(key, "descr") == 0           ? &h->has_descr
                : strcmp(key, "fortran_order") == 0 ? &h->has_order
                : strcmp(key, "shape") == 0         ? &h->has_shape
                                                    : NULL;
    if (!seen) return not_understood(h, "it has an unknown key");
    if (*seen) return not_understood(h, "a key occurs twice");
    *seen = 1;
    if (seen == &h->has_shape) return take_shape(h, array);
    if (seen == &h->has_order) {
        h->fortran = take_word(h, "True");
        return h->fortran || take_word(h, "False") ? ATTN_OK
                                                   : not_understood(h, "fortran_order is not True or False");
    }
    pass_spaces(h);
    if (h->at < h->end && *h->at == '[')
        return at_origin_fail(h->origin, h->name, 0,
                              "is a structured array: save its fields as arrays of their own (numpy.savez)");
    return take_string(h, h->descr) ? ATTN_OK : not_understood(h, "descr is not a string");
}

static attn_status parse_dict(header *h, at_npy *array) {
    char key[LONGEST_DESCR + 1];
    if (!take(h, '{')) return not_understood(h, "it is no dict");
    while (!take(h, '}')) {
        if (!take_string(h, key) || !take(h, ':')) return not_understood(h, "a key is not understood");
        attn_status status = take_value(h, key, array);
        if (status != ATTN_OK) return status;
        if (take(h, ',')) continue;
        if (!take(h, '}')) return not_understood(h, "the dict does not end");
        break;
    }
    pass_spaces(h);
    if (h->at != h->end) return not_understood(h, "there is text after the dict");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return not_understood(h, "descr, fortran_order or shape is missing");
    return ATTN_OK;
}

/* ---- the type of elements ---- */

static int this_machine_is_little(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static attn_status refuse_type(const header *h) {
    char letter = h->descr[0] ? h->descr[1] : 0;
    const char *advice = letter == 'O'   ? "holds Python objects: convert them with astype (numbers, or str)"
                         : letter == 'c' ? "holds complex numbers: save real and imaginary part as columns"
                         : letter == 'f'
                             ? "holds floats of that size: convert them with astype(numpy.float32)"
                         : letter == 'M' || letter == 'm' ? "holds times: convert them to numbers with astype"
                         : letter == 'V' ? "holds raw bytes: save its fields as arrays of their own"
                                         : "holds elements that are neither numbers nor strings";
    return at_origin_fail(h->origin, h->name, 0, "is of type '%s', %s", h->descr, advice);
}

static attn_status read_type(const header *h, at_npy *array) {
    const char *d = h->descr;
    int known = strchr("<>|", d[0]) != NULL && d[0] && d[1];
    int64_t size = 0;
    const char *digit = d + 2;
    for (; known && *digit >= '0' && *digit <= '9' && size < 100000000; digit++)
        size = size * 10 + (*digit - '0');
    if (!known || *digit || (digit == d + 2 && d[1] != 'O')) return refuse_type(h);
    int whole = size == 1 || size == 2 || size == 4 || size == 8;
    int ordered = d[0] != '|' || size == 1; /* no byte order: for single bytes */
    switch (d[1]) {
    case 'f': array->type = AT_NPY_FLOAT, known = (size == 2 || size == 4 || size == 8) && ordered; break;
    case 'i': array->type = AT_NPY_SIGNED, known = whole && ordered; break;
    case 'u': array->type = AT_NPY_UNSIGNED, known = whole && ordered; break;
    case 'b': array->type = AT_NPY_UNSIGNED, known = size == 1; break;
    case 'S': array->type = AT_NPY_BYTES, known = size > 0; break;
    case 'U':
        array->type = AT_NPY_UNICODE;
        known = size > 0 && d[0] != '|';
        size *= 4;
        break;
    default: known = 0;
    }
    if (!known) return refuse_type(h);
    array->size = size;
    array->swapped = d[0] != '|' && (d[0] == '<') != this_machine_is_little();
    return ATTN_OK;
}

/* ---- all of it ---- */

static attn_status check_length(const header *h, size_t left, at_npy *array) {
    array->count = 1;
    for (int d = 0; d < array->rank; d++) {
        if (array->shape[d] > 0 && array->count > INT64_MAX / array->size / array->shape[d])
            return at_origin_fail(h->origin, h->name, 0,
                                  "its shape has more elements than memory can hold: it is damaged");
        array->count *= array->shape[d];
    }
    uint64_t wanted = (uint64_t)(array->count * array->size);
    if (wanted == left) return ATTN_OK;
    return at_origin_fail(h->origin, h->name, 0,
                          "has %zu bytes of elements, but shape and type '%s' need %" PRIu64 ": %s", left,
                          h->descr, wanted, left < wanted ? "the file is incomplete" : "the file is damaged");
}

attn_status at_npy_parse(const at_origin *origin, const char *name, const char *bytes, size_t count,
                         at_npy *array) {
    header h = {.origin = origin, .name = name};
    memset(array, 0, sizeof *array);
    if (!at_is_npy(bytes, count))
        return at_origin_fail(origin, name, 0, "is not an .npy array: it does not begin with \\x93NUMPY");
    const unsigned char *head = (const unsigned char *)bytes;
    size_t begin = count > 6 && head[6] >= 2 ? 12 : 10;
    if (count < begin)
        return at_origin_fail(origin, name, 0, "ends within its header: the file is incomplete");
    if (head[6] < 1 || head[6] > 3)
        return at_origin_fail(origin, name, 0, "is of .npy version %d.%d; versions 1 to 3 are read", head[6],
                              head[7]);
    size_t length = (size_t)head[8] | (size_t)head[9] << 8;
    if (begin == 12) length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (length > count - begin)
        return at_origin_fail(origin, name, 0, "ends within its header: the file is incomplete");
    h.at = bytes + begin;
    h.end = h.at + length;
    attn_status status = parse_dict(&h, array);
    if (status == ATTN_OK) status = read_type(&h, array);
    if (status != ATTN_OK) return status;
    if (h.fortran && array->rank > 1)
        return at_origin_fail(
            origin, name, 0,
            "is in Fortran order (column by column): save numpy.ascontiguousarray(x) instead");
    array->data = bytes + begin + length;
    return check_length(&h, count - begin - length, array);
}

/* ---- elements ---- */

/* The bytes of an element (or of code point j of a string) as an integer. */
static uint64_t load(const at_npy *array, const char *at, int64_t size) {
    unsigned char bytes[8] = {0};
    for (int64_t i = 0; i < size; i++) bytes[i] = (unsigned char)at[array->swapped ? size - 1 - i : i];
    uint64_t word = 0;
    uint32_t half;
    uint16_t quarter;
    switch (size) {
    case 1: return bytes[0];
    case 2: memcpy(&quarter, bytes, 2); return quarter;
    case 4: memcpy(&half, bytes, 4); return half;
    default: memcpy(&word, bytes, 8); return word;
    }
}

static double half_to_double(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023), sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return bits & 1023 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static int64_t to_signed(uint64_t bits, int64_t size) {
    if (size < 8 && bits >> (8 * size - 1)) bits |= ~UINT64_C(0) << (8 * size);
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double at_npy_number(const at_npy *array, int64_t i) {
    uint64_t bits = load(array, array->data + i * array->size, array->size);
    if (array->type == AT_NPY_UNSIGNED) return (double)bits;
    if (array->type == AT_NPY_SIGNED) return (double)to_signed(bits, array->size);
    if (array->size == 2) return half_to_double(bits);
    if (array->size == 4) {
        uint32_t word = (uint32_t)bits;
        float number;
        memcpy(&number, &word, sizeof number);
        return (double)number;
    }
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

float at_npy_single(const at_npy *array, int64_t i) {
    if (array->type == AT_NPY_FLOAT) return (float)at_npy_number(array, i);
    uint64_t bits = load(array, array->data + i * array->size, array->size);
    return array->type == AT_NPY_SIGNED ? (float)to_signed(bits, array->size) : (float)bits;
}

int at_npy_integer(const at_npy *array, int64_t i, int64_t *value) {
    uint64_t bits = load(array, array->data + i * array->size, array->size);
    if (array->type == AT_NPY_UNSIGNED && bits > INT64_MAX) return 0;
    *value = array->type == AT_NPY_SIGNED ? to_signed(bits, array->size) : (int64_t)bits;
    return 1;
}

/* ---- as text ---- */

static attn_status put_bytes(const at_origin *origin, const char *name, const at_npy *array, int64_t i,
                             at_bytes *text) {
    const char *at = array->data + i * array->size;
    size_t length = (size_t)array->size;
    while (length > 0 && at[length - 1] == 0) length--; /* NumPy fills up with 0 */
    if (at_unicode_check(at, length) != length)
        return at_origin_fail(origin, name, 0, "string %" PRId64 " is not UTF-8, or has a 0 byte in it", i);
    return at_bytes_append(origin->context, text, at, length);
}

static size_t utf8_of(uint64_t point, char *out) {
    if (point < 0x80) return out[0] = (char)point, 1;
    if (point < 0x800) return out[0] = (char)(0xc0 | point >> 6), out[1] = (char)(0x80 | (point & 63)), 2;
    out[0] = (char)(point < 0x10000 ? 0xe0 | point >> 12 : 0xf0 | point >> 18);
    size_t length = 1;
    if (point >= 0x10000) out[length++] = (char)(0x80 | (point >> 12 & 63));
    out[length++] = (char)(0x80 | (point >> 6 & 63));
    out[length++] = (char)(0x80 | (point & 63));
    return length;
}

static attn_status put_points(const at_origin *origin, const char *name, const at_npy *array, int64_t i,
                              at_bytes *text) {
    const char *at = array->data + i * array->size;
    int64_t points = array->size / 4;
    while (points > 0 && load(array, at + 4 * (points - 1), 4) == 0) points--;
    attn_status status = ATTN_OK;
    for (int64_t p = 0; p < points && status == ATTN_OK; p++) {
        uint64_t point = load(array, at + 4 * p, 4);
        char out[4];
        if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return at_origin_fail(origin, name, 0,
                                  "string %" PRId64 " has U+%04" PRIX64 ", which is not a character", i,
                                  point);
        status = at_bytes_append(origin->context, text, out, utf8_of(point, out));
    }
    return status;
}

/* As few digits as give the same number again. */
static void write_float(double number, int is_double, char *text, size_t bytes) {
    for (int digits = is_double ? 15 : 6; digits <= 17; digits++) {
        snprintf(text, bytes, "%.*g", digits, number);
        double again = strtod(text, NULL);
        if (is_double ? again == number : (double)(float)again == number) return;
    }
}

attn_status at_npy_text(const at_origin *origin, const char *name, const at_npy *array, int64_t i,
                        at_bytes *text) {
    char number[64] = "";
    attn_status status = ATTN_OK;
    text->count = 0;
    if (array->type == AT_NPY_BYTES) {
        status = put_bytes(origin, name, array, i, text);
    } else if (array->type == AT_NPY_UNICODE) {
        status = put_points(origin, name, array, i, text);
    } else if (array->type == AT_NPY_FLOAT) {
        double value = at_npy_number(array, i);
        if (isinf(value))
            return at_origin_fail(origin, name, 0,
                                  "entry %" PRId64 " is infinite: give finite numbers, NaN for missing", i);
        if (!isnan(value)) write_float(value, array->size == 8, number, sizeof number);
    } else {
        uint64_t bits = load(array, array->data + i * array->size, array->size);
        if (array->type == AT_NPY_SIGNED)
            snprintf(number, sizeof number, "%" PRId64, to_signed(bits, array->size));
        else
            snprintf(number, sizeof number, "%" PRIu64, bits);
    }
    if (status == ATTN_OK) status = at_bytes_append(origin->context, text, number, strlen(number));
    return status == ATTN_OK ? at_bytes_append(origin->context, text, "", 1) : status;
}
