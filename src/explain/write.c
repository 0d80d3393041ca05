/* write.c: which file is made of an explanation. */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/options.h"
#include "explain/explain.h"

void attn_drawing_options_init_sized(attn_drawing_options *options, size_t size) {
    attn_drawing_options own = {.size = sizeof own};
    own.part = -1;
    own.layer = own.head = own.row = -1;
    own.most = 60;
    own.seed = 1;
    own.scale = 2;
    at_options_give(options, size, &own, sizeof own);
}

/* The part that says most: what a decoder looked at in its source, else what rows looked at. */
static int usual_part(const attn_explanation *explanation) {
    static const attn_map_part order[] = {ATTN_MAP_SOURCE, ATTN_MAP_ENCODER, ATTN_MAP_DECODER, ATTN_MAP_POOL};
    for (int i = 0; i < 4; i++)
        if (attn_explanation_layers(explanation, order[i]) > 0) return (int)order[i];
    return -1;
}

static int64_t last_layer(const attn_explanation *explanation, attn_map_part part) {
    int64_t last = -1;
    for (int64_t m = 0; m < explanation->map_count; m++)
        if (explanation->maps[m].part == part) last = explanation->maps[m].layer;
    return last;
}

attn_status at_drawing_choose(const attn_explanation *explanation, const attn_drawing_options *options,
                              attn_drawing_options *chosen) {
    attn_context *context = explanation->context;
    *chosen = *options;
    if (chosen->part < 0) chosen->part = usual_part(explanation);
    if (explanation->map_count == 0) {
        if (options->part < 0 && options->layer < 0 && options->head < 0) return ATTN_OK; /* contributions */
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "the model has no attention: there is no part, layer or head to choose");
    }
    attn_map_part part = (attn_map_part)chosen->part;
    int64_t layers = attn_explanation_layers(explanation, part);
    if (layers == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "the model has no attention in part %s",
                       attn_map_part_name(part)[0] ? attn_map_part_name(part) : "of that number");
    if (chosen->layer < 0) chosen->layer = last_layer(explanation, part);
    const attn_map *map = at_explanation_find(explanation, part, chosen->layer);
    if (!map)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "layer %" PRId64 ": the %s has attention in %" PRId64
                       " %s, the last is layer %" PRId64,
                       chosen->layer + 1, attn_map_part_name(part), layers, layers == 1 ? "layer" : "layers",
                       last_layer(explanation, part) + 1);
    if (chosen->head >= map->heads)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "head %" PRId64 ": layer %" PRId64 " has %" PRId64 " heads", chosen->head + 1,
                       chosen->layer + 1, map->heads);
    if (chosen->row >= map->queries)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "row %" PRId64 ": there are %" PRId64, chosen->row + 1,
                       map->queries);
    return ATTN_OK;
}

static attn_status write_format(const attn_explanation *explanation, const attn_drawing_options *options,
                                at_writer *writer) {
    switch (options->format) {
    case ATTN_DRAWING_TSV: return at_write_table(explanation, writer);
    case ATTN_DRAWING_JSON: return at_write_json(explanation, writer);
    case ATTN_DRAWING_SVG:
    case ATTN_DRAWING_PNG:
        if (options->grid || options->matrix) return at_draw_matrices(explanation, options, writer);
        return at_draw_scene(explanation, options, writer);
    case ATTN_DRAWING_HTML: return at_write_page(explanation, options, writer);
    }
    return at_fail(explanation->context, ATTN_UNSUPPORTED, "drawing: the format is %d", (int)options->format);
}

attn_status attn_explanation_write(attn_explanation *explanation, const attn_drawing_options *options,
                                   const char **bytes, size_t *length) {
    if (!explanation) return ATTN_INVALID_ARGUMENT;
    attn_context *context = explanation->context;
    attn_drawing_options given, chosen;
    char reason[AT_OPTIONS_TEXT];
    attn_drawing_options_init(&given);
    if (!bytes || !length) return at_fail(context, ATTN_INVALID_ARGUMENT, "bytes or length is NULL");
    attn_status status =
        at_options_take("drawing options", "attn_drawing_options_init", options,
                        AT_FIRST_SIZE(attn_drawing_options, title), sizeof given, &given, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    status = at_drawing_choose(explanation, &given, &chosen);
    if (status != ATTN_OK) return status;
    at_writer *writer = &explanation->bytes;
    writer->count = 0;
    writer->status = ATTN_OK;
    status = write_format(explanation, &chosen, writer);
    if (status == ATTN_OK) status = writer->status;
    if (status != ATTN_OK) return status;
    *bytes = writer->bytes ? writer->bytes : "";
    *length = (size_t)writer->count;
    return ATTN_OK;
}
