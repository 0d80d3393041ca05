/* explanations.c: explanations made by hand. */
#include "support/explanations.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "support/check.h"

/* Numbers that are the same everywhere (plain arithmetic, no library of functions): 0 .. 1. */
static double next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (double)(1 << 24);
}

static void add(attn_explanation *explanation, at_strings *list, const char *text) {
    assert_int_equal(at_strings_add(explanation->context, list, text, strlen(text)), ATTN_OK);
}

static void *allocate(attn_explanation *explanation, int64_t count, size_t bytes) {
    void *memory = at_allocate(explanation->context, count, bytes, "a test");
    assert_non_null(memory);
    return memory;
}

attn_explanation *test_explanation(attn_context *context, const char *const *names) {
    attn_explanation *made = at_allocate(context, 1, sizeof *made, "a test");
    assert_non_null(made);
    made->context = made->bytes.context = made->scene.context = context;
    made->member = -1;
    made->members = 1;
    made->pieces = 1;
    made->asked_row = -1;
    add(made, &made->row_unit, "word");
    for (; *names; names++) add(made, &made->rows, *names);
    made->scene.rows = made->rows.count;
    return made;
}

attn_explanation *test_explanation_rows(attn_context *context, int64_t rows) {
    static const char *const none[] = {NULL};
    attn_explanation *made = test_explanation(context, none);
    for (int64_t r = 0; r < rows; r++) {
        char name[16];
        snprintf(name, sizeof name, "%d", (int)r);
        add(made, &made->rows, name);
    }
    made->scene.rows = rows;
    return made;
}

void test_explanation_answer(attn_explanation *explanation, const char *answer, double probability) {
    double *grown = allocate(explanation, explanation->answers.count + 1, sizeof *grown);
    for (int64_t i = 0; i < explanation->answers.count; i++) grown[i] = explanation->probabilities[i];
    grown[explanation->answers.count] = probability;
    at_release(explanation->context, explanation->probabilities);
    explanation->probabilities = grown;
    add(explanation, &explanation->answers, answer);
    if (explanation->target.count == 0) add(explanation, &explanation->target, answer);
}

void test_explanation_write(attn_explanation *explanation, const char *symbol) {
    add(explanation, &explanation->written, symbol);
}

static attn_map *add_map(attn_explanation *explanation, attn_map_part part) {
    int64_t layer = 0, count = explanation->map_count;
    attn_map *grown = allocate(explanation, count + 1, sizeof *grown);
    for (int64_t m = 0; m < count; m++) {
        grown[m] = explanation->maps[m];
        if (grown[m].part == part) layer++;
    }
    at_release(explanation->context, explanation->maps);
    explanation->maps = grown;
    explanation->map_count++;
    grown[count] = (attn_map){.part = part, .layer = layer};
    return &grown[count];
}

/* Weights that sum to 1, and gradients of both signs. */
static void fill_row(float *weights, float *gradients, int64_t count, double near, uint64_t *state) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        double distance = near < 0 ? 0 : (double)k - near, noise = next(state);
        double peak = 1 / (1 + 2 * distance * distance);
        weights[k] = (float)(0.02 + noise * noise * noise * noise * noise * noise + 2 * peak * peak * peak);
        gradients[k] = (float)(next(state) - 0.5);
        sum += (double)weights[k];
    }
    for (int64_t k = 0; k < count; k++) weights[k] = (float)((double)weights[k] / sum);
}

attn_map *test_explanation_map(attn_explanation *explanation, attn_map_part part, int64_t heads,
                               int64_t queries, int64_t keys, uint64_t seed) {
    attn_map *map = add_map(explanation, part);
    float *weights = allocate(explanation, heads * queries * keys, sizeof(float));
    float *gradients = allocate(explanation, heads * queries * keys, sizeof(float));
    map->heads = heads;
    map->queries = queries;
    map->keys = map->width = keys;
    map->entries = queries * keys;
    map->weights = weights;
    map->gradients = gradients;
    for (int64_t h = 0; h < heads; h++) {
        for (int64_t q = 0; q < queries; q++) {
            double near = h % 4 == 3 ? -1 : (double)q * (double)keys / (double)queries + (double)(h % 4 - 1);
            int64_t place = h * map->entries + q * keys;
            fill_row(weights + place, gradients + place, keys, near, &seed);
        }
    }
    return map;
}

static int leads(const at_scene *scene, int64_t query, int64_t key) {
    if (query == key) return 1;
    for (int64_t e = 0; e < scene->edges; e++)
        if ((scene->from[e] == query && scene->to[e] == key) ||
            (scene->from[e] == key && scene->to[e] == query))
            return 1;
    return 0;
}

attn_map *test_explanation_edges(attn_explanation *explanation, int64_t heads, uint64_t seed) {
    const at_scene *scene = &explanation->scene;
    attn_map *map = add_map(explanation, ATTN_MAP_ENCODER);
    int64_t *first = allocate(explanation, scene->rows + 1, sizeof *first);
    int64_t *key_of = allocate(explanation, 2 * scene->edges + scene->rows, sizeof *key_of);
    int64_t entries = 0;
    for (int64_t q = 0; q < scene->rows; q++) {
        for (int64_t k = 0; k < scene->rows; k++)
            if (leads(scene, q, k)) key_of[entries++] = k;
        first[q + 1] = entries;
    }
    float *weights = allocate(explanation, heads * entries, sizeof(float));
    float *gradients = allocate(explanation, heads * entries, sizeof(float));
    for (int64_t h = 0; h < heads; h++)
        for (int64_t q = 0; q < scene->rows; q++)
            fill_row(weights + h * entries + first[q], gradients + h * entries + first[q],
                     first[q + 1] - first[q], -1, &seed);
    map->heads = heads;
    map->queries = map->keys = scene->rows;
    map->first = first;
    map->key_of = key_of;
    map->entries = entries;
    map->weights = weights;
    map->gradients = gradients;
    return map;
}

void test_explanation_contribute(attn_explanation *explanation, uint64_t seed) {
    int64_t rows = explanation->rows.count;
    explanation->contributions = allocate(explanation, rows, sizeof(double));
    for (int64_t r = 0; r < rows; r++) {
        double number = next(&seed);
        explanation->contributions[r] = 2 * number * number - 0.7;
    }
}

void test_explanation_molecule(attn_explanation *explanation, const char *const *symbols, const int *bonds) {
    at_scene *scene = &explanation->scene;
    int64_t rows = explanation->rows.count, edges = 0;
    scene->kind = AT_SCENE_MOLECULE;
    while (bonds[3 * edges] >= 0) edges++;
    scene->edges = edges;
    scene->from = allocate(explanation, edges, sizeof *scene->from);
    scene->to = allocate(explanation, edges, sizeof *scene->to);
    scene->order = allocate(explanation, edges, sizeof *scene->order);
    scene->turn = allocate(explanation, edges, sizeof *scene->turn);
    scene->turn_from = allocate(explanation, edges, sizeof *scene->turn_from);
    scene->turn_to = allocate(explanation, edges, sizeof *scene->turn_to);
    scene->charge = allocate(explanation, rows, sizeof *scene->charge);
    scene->hydrogens = allocate(explanation, rows, sizeof *scene->hydrogens);
    for (int64_t r = 0; r < rows; r++) add(explanation, &scene->symbols, symbols[r]);
    for (int64_t e = 0; e < edges; e++) {
        scene->from[e] = bonds[3 * e];
        scene->to[e] = bonds[3 * e + 1];
        scene->order[e] = (int8_t)bonds[3 * e + 2];
    }
}
