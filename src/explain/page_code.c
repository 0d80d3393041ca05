/* page_code.c: the coding of page_code.h. */
#include "explain/page_code.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

void at_put_base64(at_writer *writer, const unsigned char *bytes, int64_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4096];
    size_t used = 0;
    at_put_char(writer, '"');
    for (int64_t i = 0; i < count; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;
        if (i + 1 < count) three |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < count) three |= bytes[i + 2];
        line[used++] = digits[three >> 18];
        line[used++] = digits[three >> 12 & 63];
        line[used++] = i + 1 < count ? digits[three >> 6 & 63] : '=';
        line[used++] = i + 2 < count ? digits[three & 63] : '=';
        if (used == sizeof line) {
            at_put(writer, line, used);
            used = 0;
        }
    }
    at_put(writer, line, used);
    at_put_char(writer, '"');
}

/* ---- bits ---- */

enum { longest_code = AT_CODE_ESCAPE + AT_CODE_PLAIN_BITS }; /* k is below AT_CODE_PLAIN_BITS */

typedef struct bit_writer {
    unsigned char *next;
    uint64_t waiting; /* the lowest `count` bits */
    int count;        /* below 8 between calls */
} bit_writer;

static void put_bits(bit_writer *writer, uint32_t bits, int count) {
    writer->waiting = writer->waiting << count | bits;
    writer->count += count;
    while (writer->count >= 8) {
        writer->count -= 8;
        *writer->next++ = (unsigned char)(writer->waiting >> writer->count);
    }
}

static void put_rice(bit_writer *writer, uint32_t value, int k) {
    uint32_t ones = value >> k;
    if (ones >= AT_CODE_ESCAPE) {
        put_bits(writer, (1u << AT_CODE_ESCAPE) - 1, AT_CODE_ESCAPE);
        put_bits(writer, value, AT_CODE_PLAIN_BITS);
    } else {
        put_bits(writer, ((1u << ones) - 1) << 1, (int)ones + 1);
        put_bits(writer, value & ((1u << k) - 1), k);
    }
}

/* The whole part of the logarithm of a number above 0. */
static int log2_of(uint32_t number) {
#if defined(__GNUC__)
    return 31 - __builtin_clz(number);
#else
    int log = 0;
    while (number >> (log + 1)) log++;
    return log;
#endif
}

/* The parameter that follows what came before: the logarithm of the running mean, which is kept in 16ths. */
static int next_parameter(uint32_t *mean, uint32_t value) {
    *mean += value - (*mean >> 4);
    return log2_of(*mean >> 4 ? *mean >> 4 : 1);
}

/* The logarithm of the mean. */
static int rice_parameter(const uint32_t *values, int64_t count) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += values[i];
    return count ? log2_of((uint32_t)(sum / (uint64_t)count) + 1) : 0;
}

/* ---- values ---- */

static uint32_t in_steps(const at_plane *plane, float number) {
    const float most = AT_CODE_MOST / 2;
    float steps = (float)((double)number / plane->step), size = fabsf(steps);
    uint32_t whole = size <= most ? (uint32_t)(size + 0.5f) : size > most ? AT_CODE_MOST / 2 : 0; /* NaN: 0 */
    if (!plane->has_sign) return steps > 0 ? whole : 0;
    return steps < 0 && whole ? whole * 2 - 1 : whole * 2;
}

static void keep_all(at_coder *coder, const at_plane *plane, const float *numbers) {
    const attn_map *map = plane->map;
    coder->kept = 0;
    for (int64_t q = 0; q < map->queries; q++) {
        int64_t entries = attn_map_entries(map, q), last = entries;
        const float *row = numbers + attn_map_place(map, 0, q, 0);
        uint32_t *values = coder->values + coder->kept;
        for (int64_t e = 0; e < entries; e++) values[e] = in_steps(plane, row[e]);
        while (last > 0 && values[last - 1] == 0) last--;
        coder->counts[q] = last;
        coder->kept += last;
    }
}

/* Puts entry e among the largest, which stand with the largest first; those that are equal keep their order.
 */
static int64_t insert(const float *row, int64_t *largest, int64_t count, int64_t e) {
    float size = fabsf(row[e]);
    int64_t place = count;
    if (count == AT_PAGE_TOP && !(size > fabsf(row[largest[count - 1]]))) return count;
    if (count < AT_PAGE_TOP) count++;
    if (place == AT_PAGE_TOP) place--;
    for (; place > 0 && fabsf(row[largest[place - 1]]) < size; place--) largest[place] = largest[place - 1];
    largest[place] = e;
    return count;
}

static void sort_up(int64_t *numbers, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        int64_t number = numbers[i], place = i;
        for (; place > 0 && numbers[place - 1] > number; place--) numbers[place] = numbers[place - 1];
        numbers[place] = number;
    }
}

static void keep_largest(at_coder *coder, const at_plane *plane, const float *numbers) {
    const attn_map *map = plane->map;
    coder->kept = 0;
    for (int64_t q = 0; q < map->queries; q++) {
        const float *row = numbers + attn_map_place(map, 0, q, 0);
        int64_t entries = attn_map_entries(map, q), largest[AT_PAGE_TOP], count = 0, next_key = 0,
                before = coder->kept;
        for (int64_t e = 0; e < entries; e++) {
            /* Most are smaller than what is there, which costs less to see than how many steps they are. */
            if (count == AT_PAGE_TOP && !(fabsf(row[e]) > fabsf(row[largest[count - 1]]))) continue;
            if (in_steps(plane, row[e]) && attn_map_key(map, q, e) >= 0)
                count = insert(row, largest, count, e);
        }
        for (int64_t i = 0; i < count; i++)
            largest[i] = attn_map_key(map, q, largest[i]) * entries + largest[i];
        sort_up(largest, count); /* by key */
        for (int64_t i = 0; i < count; i++) {
            int64_t key = largest[i] / entries;
            if (key < next_key) continue; /* an edge that is there twice */
            coder->gaps[coder->kept] = (uint32_t)(key - next_key);
            coder->values[coder->kept++] = in_steps(plane, row[largest[i] % entries]);
            next_key = key + 1;
        }
        coder->counts[q] = coder->kept - before;
    }
}

/* ---- a plane ---- */

static int64_t longest_row(const attn_map *map) {
    int64_t most = 0;
    for (int64_t q = 0; q < map->queries; q++)
        if (attn_map_entries(map, q) > most) most = attn_map_entries(map, q);
    return most;
}

attn_status at_code_plane(at_coder *coder, const at_plane *plane, const float *numbers, at_writer *writer) {
    const attn_map *map = plane->map;
    int64_t most = plane->top ? AT_PAGE_TOP : longest_row(map);
    int64_t room = plane->top ? map->queries * AT_PAGE_TOP : map->entries;
    int count_bits = at_count_bits(most);
    attn_status status =
        at_grow(coder->context, &coder->values, &coder->value_room, room + 1, sizeof(uint32_t), "a page");
    if (!status)
        status = at_grow(coder->context, &coder->counts, &coder->count_room, map->queries + 1,
                         sizeof(int64_t), "a page");
    if (!status && plane->top)
        status =
            at_grow(coder->context, &coder->gaps, &coder->gap_room, room + 1, sizeof(uint32_t), "a page");
    if (status) return status;
    if (plane->top)
        keep_largest(coder, plane, numbers);
    else
        keep_all(coder, plane, numbers);
    int k = rice_parameter(coder->values, coder->kept), parameter = k;
    int g = plane->top ? rice_parameter(coder->gaps, coder->kept) : 0;
    uint32_t mean = 16u << k;
    int64_t bits = map->queries * count_bits + coder->kept * longest_code * (plane->top ? 2 : 1);
    status = at_grow(coder->context, &coder->bits, &coder->bit_room, bits / 8 + 16, 1, "a page");
    if (status) return status;
    bit_writer out = {.next = coder->bits};
    for (int64_t q = 0, i = 0; q < map->queries; q++) {
        put_bits(&out, (uint32_t)coder->counts[q], count_bits);
        for (int64_t end = i + coder->counts[q]; i < end; i++) {
            if (plane->top) put_rice(&out, coder->gaps[i], g);
            put_rice(&out, coder->values[i], parameter);
            parameter = next_parameter(&mean, coder->values[i]);
        }
    }
    if (out.count) put_bits(&out, 0, 8 - out.count);
    at_print(writer, "{\"k\":%d,\"g\":%d,\"step\":%.9g,\"bits\":", k, g, plane->step);
    at_put_base64(writer, coder->bits, out.next - coder->bits);
    at_put_char(writer, '}');
    return writer->status;
}

void at_coder_free(at_coder *coder) {
    at_release(coder->context, coder->values);
    at_release(coder->context, coder->counts);
    at_release(coder->context, coder->gaps);
    at_release(coder->context, coder->bits);
    memset(coder, 0, sizeof *coder);
}
