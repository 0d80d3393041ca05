/* explanation.c: what an explanation holds, part by part. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "explain/explain.h"

static void free_detail(attn_context *context, at_step_numbers *detail) {
    float *const arrays[] = {
        detail->query,       detail->key,          detail->value,      detail->output,
        detail->log_sum_exp, detail->weights,      detail->x,          detail->source,
        detail->result,      detail->query_weight, detail->query_bias, detail->key_weight,
        detail->key_bias,    detail->value_weight, detail->value_bias, detail->output_weight,
        detail->output_bias};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) at_release(context, arrays[i]);
}

void attn_explanation_destroy(attn_explanation *explanation) {
    if (!explanation) return;
    attn_context *context = explanation->context;
    at_strings *const lists[] = {&explanation->kind,    &explanation->task,    &explanation->row_unit,
                                 &explanation->rows,    &explanation->written, &explanation->preceding,
                                 &explanation->answers, &explanation->target,  &explanation->output};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) at_strings_free(context, lists[i]);
    for (int64_t m = 0; m < explanation->map_count; m++) {
        const attn_map *map = &explanation->maps[m];
        at_release(context, (void *)(uintptr_t)map->first);
        at_release(context, (void *)(uintptr_t)map->key_of);
        at_release(context, (void *)(uintptr_t)map->weights);
        at_release(context, (void *)(uintptr_t)map->gradients);
    }
    for (int64_t d = 0; d < explanation->detail_count; d++) free_detail(context, &explanation->details[d]);
    at_release(context, explanation->details);
    at_release(context, explanation->maps);
    at_release(context, explanation->probabilities);
    at_release(context, explanation->contributions);
    at_scene_free(&explanation->scene);
    at_writer_free(&explanation->bytes);
    attn_prediction_destroy(explanation->prediction);
    at_release(context, explanation);
}

const attn_prediction *attn_explanation_prediction(const attn_explanation *explanation) {
    return explanation ? explanation->prediction : NULL;
}
int64_t attn_explanation_example(const attn_explanation *explanation) {
    return explanation ? explanation->example : 0;
}
int64_t attn_explanation_pieces(const attn_explanation *explanation) {
    return explanation ? explanation->pieces : 0;
}
int64_t attn_explanation_first_row(const attn_explanation *explanation) {
    return explanation ? explanation->first_row : 0;
}

int64_t attn_explanation_unseen(const attn_explanation *explanation) {
    return explanation ? explanation->unseen : 0;
}

static const char *text_of(const at_strings *list, int64_t i) {
    return i >= 0 && i < list->count ? at_string(list, i) : NULL;
}

int64_t attn_explanation_rows(const attn_explanation *explanation) {
    return explanation ? explanation->rows.count : 0;
}
const char *attn_explanation_row(const attn_explanation *explanation, int64_t row) {
    return explanation ? text_of(&explanation->rows, row) : NULL;
}
int64_t attn_explanation_written(const attn_explanation *explanation) {
    return explanation ? explanation->written.count : 0;
}
const char *attn_explanation_symbol(const attn_explanation *explanation, int64_t symbol) {
    return explanation ? text_of(&explanation->written, symbol) : NULL;
}
int64_t attn_explanation_answers(const attn_explanation *explanation) {
    return explanation ? explanation->answers.count : 0;
}
const char *attn_explanation_answer(const attn_explanation *explanation, int64_t row) {
    return explanation ? text_of(&explanation->answers, row) : NULL;
}
double attn_explanation_probability(const attn_explanation *explanation, int64_t row) {
    if (!explanation || !explanation->probabilities || row < 0 || row >= explanation->answers.count)
        return NAN;
    return explanation->probabilities[row];
}
const char *attn_explanation_target(const attn_explanation *explanation) {
    return explanation ? text_of(&explanation->target, 0) : NULL;
}
int attn_explanation_grid(const attn_explanation *explanation, int64_t *height, int64_t *width) {
    if (!explanation || !height || !width || explanation->scene.kind != AT_SCENE_GRID) return 0;
    *height = explanation->scene.grid_height;
    *width = explanation->scene.grid_width;
    return *height * *width == explanation->rows.count;
}
const double *attn_explanation_contributions(const attn_explanation *explanation) {
    return explanation ? explanation->contributions : NULL;
}

/* ---- maps ---- */

int64_t attn_explanation_maps(const attn_explanation *explanation) {
    return explanation ? explanation->map_count : 0;
}
const attn_map *attn_explanation_map(const attn_explanation *explanation, int64_t index) {
    if (!explanation || index < 0 || index >= explanation->map_count) return NULL;
    return &explanation->maps[index];
}

const char *attn_map_part_name(attn_map_part part) {
    static const char *const names[] = {"encoder", "decoder", "source", "pool"};
    return (unsigned)part < sizeof names / sizeof names[0] ? names[part] : "";
}

int64_t attn_explanation_layers(const attn_explanation *explanation, attn_map_part part) {
    int64_t layers = 0;
    for (int64_t m = 0; m < attn_explanation_maps(explanation); m++)
        if (explanation->maps[m].part == part) layers++;
    return layers;
}

const attn_map *at_explanation_find(const attn_explanation *explanation, attn_map_part part, int64_t layer) {
    for (int64_t m = 0; m < attn_explanation_maps(explanation); m++)
        if (explanation->maps[m].part == part && explanation->maps[m].layer == layer)
            return &explanation->maps[m];
    return NULL;
}

const at_strings *at_query_names(const attn_explanation *explanation, const attn_map *map) {
    if (map->part == ATTN_MAP_ENCODER) return &explanation->rows;
    return map->part == ATTN_MAP_POOL ? &explanation->answers : &explanation->written;
}
const at_strings *at_key_names(const attn_explanation *explanation, const attn_map *map) {
    return map->part == ATTN_MAP_DECODER ? &explanation->preceding : &explanation->rows;
}
