/* views.c: attention over all layers, and how much the prediction owes to a weight.
 *
 *     rollout     R_l = A_l R_(l-1), with A_l = (mean over heads + identity) / 2, rows brought to sum 1
 *
 *     gradient    weight x gradient; the mean over heads is that of what is above 0
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "explain/explain.h"

static const int64_t MOST = INT64_C(1) << 27;

static void add_head(const attn_map *map, attn_view view, int64_t head, double share, int positive,
                     double *numbers) {
    for (int64_t i = 0; i < map->queries; i++) {
        for (int64_t c = 0; c < attn_map_entries(map, i); c++) {
            int64_t key = attn_map_key(map, i, c), place = attn_map_place(map, head, i, c);
            if (key < 0) continue;
            double number = (double)map->weights[place];
            if (view == ATTN_VIEW_GRADIENT) number *= (double)map->gradients[place];
            if (positive && number < 0) number = 0;
            numbers[i * map->keys + key] += share * number;
        }
    }
}

static void fill(const attn_map *map, attn_view view, int64_t head, double *numbers) {
    memset(numbers, 0, (size_t)(map->queries * map->keys) * sizeof *numbers);
    if (head >= 0) {
        add_head(map, view, head, 1, 0, numbers);
        return;
    }
    for (int64_t h = 0; h < map->heads; h++)
        add_head(map, view, h, 1 / (double)map->heads, view == ATTN_VIEW_GRADIENT, numbers);
}

static attn_status roll_out(const attn_explanation *explanation, attn_map_part part, int64_t layer,
                            int64_t rows, double *numbers) {
    attn_context *context = explanation->context;
    int64_t count = rows * rows, most = 0;
    for (int64_t m = 0; m < explanation->map_count; m++)
        if (explanation->maps[m].entries > most) most = explanation->maps[m].entries;
    float *memory = at_allocate(context, 2 * count + most, sizeof *memory, "a rollout");
    if (!memory) return ATTN_OUT_OF_MEMORY;
    float *before = memory, *after = memory + count, *mean = memory + 2 * count;
    for (int64_t r = 0; r < rows; r++) before[r * rows + r] = 1;
    for (int64_t m = 0; m < explanation->map_count; m++) {
        const attn_map *map = &explanation->maps[m];
        if (map->part != part || map->layer > layer) continue;
        at_mean_weights(map, mean);
        at_roll_out(map, mean, before, after);
        float *swap = before;
        before = after;
        after = swap;
    }
    for (int64_t i = 0; i < count; i++) numbers[i] = (double)before[i];
    at_release(context, memory);
    return ATTN_OK;
}

attn_status attn_explanation_view(const attn_explanation *explanation, attn_view view, attn_map_part part,
                                  int64_t layer, int64_t head, double *numbers) {
    if (!explanation) return ATTN_INVALID_ARGUMENT;
    attn_context *context = explanation->context;
    const attn_map *map = at_explanation_find(explanation, part, layer);
    if (!numbers || !map || head < -1 || head >= map->heads)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "view: %s",
                       !numbers ? "numbers is NULL"
                       : !map   ? "there is no such layer"
                                : "there is no such head");
    if (map->queries > 0 && map->keys > MOST / map->queries)
        return at_fail(context, ATTN_OVERFLOW,
                       "view: %" PRId64 " x %" PRId64 " weights are too many for one matrix", map->queries,
                       map->keys);
    if (view == ATTN_VIEW_ROLLOUT) {
        if (head >= 0 || (part != ATTN_MAP_ENCODER && part != ATTN_MAP_DECODER))
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "view: a rollout is of the encoder or the decoder, all heads together");
        return roll_out(explanation, part, layer, map->queries, numbers);
    }
    if (view == ATTN_VIEW_GRADIENT && !map->gradients)
        return at_fail(context, ATTN_UNSUPPORTED, "view: the explanation was made without gradients");
    fill(map, view, head, numbers);
    return ATTN_OK;
}
