/* page_maps.c: the weights of an explanation as the page stores them: of every layer its heads, their mean,
 * weight x gradient of the same, and the rollout up to it.
 */
#include "explain/page.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const double weight_step = 0.001; /* what is shown is within half of it */

/* Rollouts are stored up to this many rows, and this many multiplications. */
static const int64_t rollout_rows = 4096;
static const double rollout_work = 1e10;

typedef struct maps_writer {
    const attn_explanation *explanation;
    at_writer *writer;
    at_coder coder;
    float *numbers; /* of one plane */
    int64_t number_room;
    float *rollout, *next; /* of the layers up to this one; NULL: none */
} maps_writer;

static int64_t longest_row(const attn_map *map) {
    int64_t most = 0;
    for (int64_t q = 0; q < map->queries; q++)
        if (attn_map_entries(map, q) > most) most = attn_map_entries(map, q);
    return most;
}

/* ---- planes ---- */

static void products(const attn_map *map, int64_t head, float *product) {
    const float *weights = map->weights + head * map->entries,
                *gradients = map->gradients + head * map->entries;
    for (int64_t e = 0; e < map->entries; e++) product[e] = weights[e] * gradients[e];
}

/* Of the heads' products only what is above 0: what speaks for the prediction. */
static void mean_products(const attn_map *map, float *mean) {
    memset(mean, 0, (size_t)map->entries * sizeof *mean);
    for (int64_t h = 0; h < map->heads; h++) {
        const float *weights = map->weights + h * map->entries,
                    *gradients = map->gradients + h * map->entries;
        for (int64_t e = 0; e < map->entries; e++) {
            float product = weights[e] * gradients[e];
            mean[e] += product > 0 ? product : 0;
        }
    }
    for (int64_t e = 0; e < map->entries; e++) mean[e] /= (float)map->heads;
}

/* Products have no scale of their own: 0.001, as weights, but at least 1/64 and at most 1/1000 of the
 * largest. */
static double product_step(const float *numbers, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(numbers[i]) && fabs((double)numbers[i]) > most) most = fabs((double)numbers[i]);
    if (most <= 0) return weight_step;
    if (most / 64 < weight_step) return most / 64;
    return most / 1000 > weight_step ? most / 1000 : weight_step;
}

static attn_status put_plane(maps_writer *maps, const attn_map *map, const float *numbers, int has_sign,
                             double step) {
    at_plane plane = {.map = map, .top = longest_row(map) > AT_PAGE_LONG, .has_sign = has_sign, .step = step};
    return at_code_plane(&maps->coder, &plane, numbers, maps->writer);
}

/* Weights that no softmax made may be below 0. */
static int has_sign(const attn_map *map) {
    for (int64_t i = 0; i < map->heads * map->entries; i++)
        if (map->weights[i] < 0) return 1;
    return 0;
}

static attn_status put_weights(maps_writer *maps, const attn_map *map) {
    attn_status status = ATTN_OK;
    int sign = has_sign(map);
    at_print(maps->writer, ",\"signed\":%d", sign);
    at_print(maps->writer, ",\n\"weights\":[");
    for (int64_t h = 0; h < map->heads && !status; h++) {
        if (h) at_put(maps->writer, ",\n", 2);
        status = put_plane(maps, map, map->weights + h * map->entries, sign, weight_step);
    }
    at_print(maps->writer, "],\n\"mean\":");
    if (status) return status;
    at_mean_weights(map, maps->numbers);
    return put_plane(maps, map, maps->numbers, sign, weight_step);
}

static attn_status put_products(maps_writer *maps, const attn_map *map) {
    attn_status status = ATTN_OK;
    at_print(maps->writer, ",\n\"products\":[");
    for (int64_t h = 0; h < map->heads && !status; h++) {
        if (h) at_put(maps->writer, ",\n", 2);
        products(map, h, maps->numbers);
        status = put_plane(maps, map, maps->numbers, 1, product_step(maps->numbers, map->entries));
    }
    at_print(maps->writer, "],\n\"product_mean\":");
    if (status) return status;
    mean_products(map, maps->numbers);
    return put_plane(maps, map, maps->numbers, 1, product_step(maps->numbers, map->entries));
}

/* ---- rollout ---- */

/* Whether the layers of a part can be multiplied, and the page can hold the result. */
static int rolls_out(const attn_explanation *explanation, attn_map_part part) {
    double work = 0;
    int64_t rows = -1;
    if (part != ATTN_MAP_ENCODER && part != ATTN_MAP_DECODER) return 0;
    for (int64_t m = 0; m < explanation->map_count; m++) {
        const attn_map *map = &explanation->maps[m];
        if (map->part != part) continue;
        if (rows < 0) rows = map->queries;
        if (map->queries != rows || map->keys != rows || has_sign(map)) return 0;
        work += (double)map->entries * (double)rows;
    }
    return rows > 0 && rows <= rollout_rows && work <= rollout_work;
}

static attn_status put_rollout(maps_writer *maps, const attn_map *map) {
    attn_map dense = {
        .queries = map->queries, .keys = map->keys, .width = map->keys, .entries = map->queries * map->keys};
    at_mean_weights(map, maps->numbers);
    at_roll_out(map, maps->numbers, maps->rollout, maps->next);
    float *swap = maps->rollout;
    maps->rollout = maps->next;
    maps->next = swap;
    at_print(maps->writer, ",\n\"rollout\":");
    return put_plane(maps, &dense, maps->rollout, 0, weight_step);
}

static attn_status start_rollout(maps_writer *maps, int64_t rows) {
    attn_context *context = maps->explanation->context;
    maps->rollout = at_allocate(context, rows * rows, sizeof(float), "a rollout");
    maps->next = at_allocate(context, rows * rows, sizeof(float), "a rollout");
    if (!maps->rollout || !maps->next) return ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < rows; r++) maps->rollout[r * rows + r] = 1;
    return ATTN_OK;
}

static void stop_rollout(maps_writer *maps) {
    at_release(maps->explanation->context, maps->rollout);
    at_release(maps->explanation->context, maps->next);
    maps->rollout = maps->next = NULL;
}

/* ---- graphs: who is beside whom, once for all layers of which it is the same ---- */

static int same_list(const attn_map *a, const attn_map *b) {
    return a->first && b->first && a->queries == b->queries && a->entries == b->entries &&
           memcmp(a->first, b->first, (size_t)(a->queries + 1) * sizeof *a->first) == 0 &&
           memcmp(a->key_of, b->key_of, (size_t)a->entries * sizeof *a->key_of) == 0;
}

/* The number of the first map with the same list; -1: the map has none. */
static int64_t list_of(const attn_explanation *explanation, const attn_map *map) {
    if (!map->first) return -1;
    for (int64_t m = 0; m < explanation->map_count; m++)
        if (same_list(&explanation->maps[m], map)) return m;
    return -1;
}

static void put_lists(const attn_explanation *explanation, at_writer *writer) {
    int64_t written = 0;
    at_print(writer, ",\n\"lists\":{");
    for (int64_t m = 0; m < explanation->map_count; m++) {
        const attn_map *map = &explanation->maps[m];
        if (list_of(explanation, map) != m) continue;
        at_print(writer, "%s\"%lld\":{\"first\":", written++ ? "," : "", (long long)m);
        at_put_whole_numbers(writer, map->first, map->queries + 1);
        at_print(writer, ",\"key_of\":");
        at_put_whole_numbers(writer, map->key_of, map->entries);
        at_put_char(writer, '}');
    }
    at_put_char(writer, '}');
}

/* ---- all of it ---- */

static attn_status put_map(maps_writer *maps, const attn_map *map) {
    at_print(maps->writer,
             "{\"layer\":%lld,\"heads\":%lld,\"queries\":%lld,\"keys\":%lld,\"width\":%lld,\"first_key\":%"
             "lld,\"key_step\":"
             "%lld,\"list\":%lld,\"top\":%d",
             (long long)map->layer, (long long)map->heads, (long long)map->queries, (long long)map->keys,
             (long long)map->width, (long long)map->first_key, (long long)map->key_step,
             (long long)list_of(maps->explanation, map), longest_row(map) > AT_PAGE_LONG);
    attn_status status = at_grow(maps->explanation->context, &maps->numbers, &maps->number_room,
                                 map->entries + 1, sizeof(float), "a page");
    if (!status) status = put_weights(maps, map);
    if (!status && map->gradients) status = put_products(maps, map);
    if (!status && maps->rollout) status = put_rollout(maps, map);
    at_put_char(maps->writer, '}');
    return status;
}

static void put_axis(maps_writer *maps, const char *name, const at_strings *names) {
    if (!names || names->count == 0) return;
    at_print(maps->writer, ",\"%s\":", name);
    if (names == &maps->explanation->rows)
        at_print(maps->writer, "\"rows\"");
    else if (names == &maps->explanation->written)
        at_print(maps->writer, "\"written\"");
    else
        at_put_names(maps->writer, names);
}

static attn_status put_part(maps_writer *maps, attn_map_part part, int *parts) {
    const attn_explanation *explanation = maps->explanation;
    attn_status status = ATTN_OK;
    int layers = 0;
    for (int64_t m = 0; m < explanation->map_count && !status; m++) {
        const attn_map *map = &explanation->maps[m];
        if (map->part != part) continue;
        if (layers++ == 0) {
            at_print(maps->writer, "%s{\"part\":%d,\"name\":\"%s\"", (*parts)++ ? "," : "", (int)part,
                     attn_map_part_name(part));
            put_axis(maps, "query_names", at_query_names(explanation, map));
            put_axis(maps, "key_names", at_key_names(explanation, map));
            at_print(maps->writer, ",\"layers\":[");
            if (rolls_out(explanation, part)) status = start_rollout(maps, map->queries);
        } else {
            at_put(maps->writer, ",\n", 2);
        }
        if (!status) status = put_map(maps, map);
    }
    stop_rollout(maps);
    if (layers) at_print(maps->writer, "]}");
    return status;
}

attn_status at_put_maps(const attn_explanation *explanation, at_writer *writer) {
    maps_writer maps = {.explanation = explanation, .writer = writer, .coder.context = explanation->context};
    attn_status status = ATTN_OK;
    int parts = 0;
    put_lists(explanation, writer);
    at_print(writer, ",\n\"parts\":[");
    for (int part = ATTN_MAP_ENCODER; part <= ATTN_MAP_POOL && !status; part++)
        status = put_part(&maps, (attn_map_part)part, &parts);
    at_put_char(writer, ']');
    at_release(explanation->context, maps.numbers);
    at_coder_free(&maps.coder);
    return status ? status : writer->status;
}
