/* fake_explanation.c: explanations that no model made. */
#include "support/fake_explanation.h"

#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support/random.h"

enum { MAPS = 64 };
static test_random noise = {.state = 20};

static void add(attn_context *context, at_strings *list, const char *text) {
    assert_int_equal(at_strings_add(context, list, text, strlen(text)), ATTN_OK);
}

attn_explanation *fake_explanation(attn_context *context, const char *kind, const char *task,
                                   const char *unit) {
    attn_explanation *explanation = at_allocate(context, 1, sizeof *explanation, "a test");
    assert_non_null(explanation);
    explanation->context = explanation->scene.context = explanation->bytes.context = context;
    explanation->pieces = explanation->members = 1;
    explanation->member = -1;
    explanation->asked_row = -1;
    add(context, &explanation->kind, kind);
    add(context, &explanation->task, task);
    add(context, &explanation->row_unit, unit);
    explanation->maps = at_allocate(context, MAPS, sizeof *explanation->maps, "a test");
    assert_non_null(explanation->maps);
    return explanation;
}

void fake_names(attn_explanation *explanation, at_strings *list, const char *words) {
    while (*words) {
        size_t length = strcspn(words, " ");
        assert_int_equal(at_strings_add(explanation->context, list, words, length), ATTN_OK);
        words += length + (words[length] == ' ');
    }
}

void fake_numbered(attn_explanation *explanation, at_strings *list, const char *prefix, int64_t count) {
    char name[64];
    for (int64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%lld", prefix, (long long)i + 1);
        add(explanation->context, list, name);
    }
}

void fake_numbers(attn_explanation *explanation, int contributions) {
    attn_context *context = explanation->context;
    explanation->probabilities = at_allocate(context, explanation->answers.count, sizeof(double), "a test");
    for (int64_t i = 0; i < explanation->answers.count; i++)
        explanation->probabilities[i] = 0.75 + 0.2 * (double)random_unit(&noise);
    if (!contributions) return;
    explanation->contributions = at_allocate(context, explanation->rows.count, sizeof(double), "a test");
    for (int64_t i = 0; i < explanation->rows.count; i++)
        explanation->contributions[i] = 0.4 * pow((double)random_normal(&noise), 3);
}

/* ---- maps ---- */

static void fill_row(const fake_layer *layer, const attn_map *map, float *weights, int64_t head,
                     int64_t query) {
    int64_t entries = attn_map_entries(map, query), shift = head - layer->heads / 2;
    float *row = weights + attn_map_place(map, head, query, 0);
    double sum = 0;
    for (int64_t e = 0; e < entries; e++) {
        int64_t key = attn_map_key(map, query, e);
        int outside = key < 0 || (layer->causal && key > query);
        double place = (double)query * (double)layer->keys / (double)layer->queries + (double)shift;
        double score =
            layer->sharpness * ((double)random_normal(&noise) - 0.15 * fmin(fabs((double)key - place), 12));
        row[e] = outside ? 0 : (float)exp(score);
        sum += (double)row[e];
    }
    for (int64_t e = 0; e < entries && sum > 0; e++) row[e] = (float)((double)row[e] / sum);
}

static void take_edges(const attn_explanation *explanation, attn_map *map) {
    const at_scene *scene = &explanation->scene;
    int64_t *first = at_allocate(explanation->context, map->queries + 1, sizeof *first, "a test");
    int64_t *key_of =
        at_allocate(explanation->context, map->queries + 2 * scene->edges, sizeof *key_of, "a test");
    for (int64_t q = 0, used = 0; q < map->queries; q++) {
        key_of[used++] = q;
        for (int64_t e = 0; e < scene->edges; e++) {
            if (scene->from[e] == q) key_of[used++] = scene->to[e];
            if (scene->to[e] == q) key_of[used++] = scene->from[e];
        }
        first[q + 1] = used;
    }
    map->first = first;
    map->key_of = key_of;
    map->entries = first[map->queries];
}

void fake_map(attn_explanation *explanation, fake_layer layer) {
    attn_context *context = explanation->context;
    assert_true(explanation->map_count < MAPS);
    int64_t number = attn_explanation_layers(explanation, layer.part);
    attn_map *map = &explanation->maps[explanation->map_count++];
    *map = (attn_map){.part = layer.part,
                      .layer = number,
                      .heads = layer.heads,
                      .queries = layer.queries,
                      .keys = layer.keys};
    if (layer.graph) {
        take_edges(explanation, map);
    } else if (layer.reach) {
        map->width = 2 * layer.reach + 1;
        map->first_key = -layer.reach;
        map->key_step = 1;
        map->entries = map->queries * map->width;
    } else {
        map->width = map->keys;
        map->entries = map->queries * map->keys;
    }
    float *weights = at_allocate(context, map->heads * map->entries, sizeof(float), "a test");
    assert_non_null(weights);
    for (int64_t h = 0; h < map->heads; h++)
        for (int64_t q = 0; q < map->queries; q++) fill_row(&layer, map, weights, h, q);
    map->weights = weights;
    if (!layer.gradients) return;
    float *gradients = at_allocate(context, map->heads * map->entries, sizeof(float), "a test");
    assert_non_null(gradients);
    for (int64_t i = 0; i < map->heads * map->entries; i++) gradients[i] = random_normal(&noise) * 0.3f;
    map->gradients = gradients;
}

/* ---- scenes ---- */

static void start_edges(attn_explanation *explanation, int64_t rows, int64_t room) {
    at_scene *scene = &explanation->scene;
    scene->rows = rows;
    scene->from = at_allocate(explanation->context, room, sizeof(int64_t), "a test");
    scene->to = at_allocate(explanation->context, room, sizeof(int64_t), "a test");
    assert_true(scene->from && scene->to);
}

void fake_graph(attn_explanation *explanation, int64_t nodes, int64_t communities) {
    at_scene *scene = &explanation->scene;
    start_edges(explanation, nodes, nodes * 6);
    scene->kind = AT_SCENE_GRAPH;
    for (int64_t i = 1; i < nodes; i++) {
        int64_t degree = random_between(&noise, 1, 3);
        for (int64_t d = 0; d < degree; d++) {
            int64_t to = random_between(&noise, 0, i - 1);
            if (!random_chance(&noise, 8)) to = to / communities * communities + i % communities;
            if (to >= i) to = i - 1;
            int known = 0; /* no edge twice */
            for (int64_t e = scene->edges - 1; e >= 0 && scene->from[e] == i; e--)
                known |= scene->to[e] == to;
            if (known) continue;
            scene->from[scene->edges] = i;
            scene->to[scene->edges++] = to;
        }
    }
    fake_numbered(explanation, &explanation->rows, "", nodes);
}

/* CN1C=NC2=C1C(=O)N(C(=O)N2C)C, and a charged fragment beside it. */
void fake_caffeine(attn_explanation *explanation) {
    static const char *const symbols[] = {"C", "N", "C", "N", "C", "C", "C",   "O", "N",
                                          "C", "O", "N", "C", "C", "N", "13C", "Cl"};
    static const int8_t hydrogens[] = {3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 0};
    static const int8_t charges[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, -1};
    static const int64_t bonds[][3] = {
        {0, 1, 1}, {1, 2, 1}, {2, 3, 2},  {3, 4, 1},  {4, 5, 2},  {5, 1, 1},   {5, 6, 1},  {6, 7, 2},
        {6, 8, 1}, {8, 9, 1}, {9, 10, 2}, {9, 11, 1}, {11, 4, 1}, {11, 12, 1}, {8, 13, 1}, {14, 15, 1}};
    at_scene *scene = &explanation->scene;
    int64_t atoms = (int64_t)(sizeof symbols / sizeof symbols[0]),
            count = (int64_t)(sizeof bonds / sizeof bonds[0]);
    char name[64];
    start_edges(explanation, atoms, count);
    scene->kind = AT_SCENE_MOLECULE;
    scene->edges = count;
    scene->order = at_allocate(explanation->context, count, 1, "a test");
    scene->turn = at_allocate(explanation->context, count, 1, "a test");
    scene->turn_from = at_allocate(explanation->context, count, sizeof(int64_t), "a test");
    scene->turn_to = at_allocate(explanation->context, count, sizeof(int64_t), "a test");
    scene->charge = at_allocate(explanation->context, atoms, 1, "a test");
    scene->hydrogens = at_allocate(explanation->context, atoms, 1, "a test");
    for (int64_t b = 0; b < count; b++) {
        scene->from[b] = bonds[b][0];
        scene->to[b] = bonds[b][1];
        scene->order[b] = (int8_t)bonds[b][2];
    }
    for (int64_t a = 0; a < atoms; a++) {
        add(explanation->context, &scene->symbols, symbols[a]);
        scene->charge[a] = charges[a];
        scene->hydrogens[a] = hydrogens[a];
        snprintf(name, sizeof name, "%s%lld", symbols[a], (long long)a + 1);
        add(explanation->context, &explanation->rows, name);
    }
}

void fake_frames(attn_explanation *explanation, int64_t rows, int64_t bins) {
    at_scene *scene = &explanation->scene;
    char name[64];
    scene->kind = AT_SCENE_FRAMES;
    scene->rows = rows;
    scene->bins = bins;
    scene->begin = 0.0125;
    scene->step = 0.01;
    scene->spectrum = at_allocate(explanation->context, rows * bins, sizeof(float), "a test");
    for (int64_t r = 0; r < rows; r++) {
        double loud = 0.5 + 0.5 * sin((double)r / 17), height = 6 + 4 * sin((double)r / 40);
        for (int64_t b = 0; b < bins; b++) {
            double wave = cos((double)b * 6.28 / height);
            scene->spectrum[r * bins + b] =
                (float)(loud * (3 + 2 * wave) - 0.05 * (double)b + 0.4 * (double)random_normal(&noise));
        }
        snprintf(name, sizeof name, "%.2f s", scene->begin + (double)r * scene->step);
        add(explanation->context, &explanation->rows, name);
        add(explanation->context, &explanation->answers,
            (const char *const[]){"sil", "HH", "AH", "L", "OW"}[r / 23 % 5]);
    }
}

void fake_picture(attn_explanation *explanation, int64_t side, int64_t patch) {
    at_scene *scene = &explanation->scene;
    char name[64];
    scene->kind = AT_SCENE_GRID;
    scene->grid_height = scene->grid_width = side / patch;
    scene->rows = scene->grid_height * scene->grid_width;
    scene->stride = patch;
    scene->patch = 2 * patch; /* they overlap: half of a stride sticks out on every side */
    scene->top = scene->left = -(patch / 2);
    scene->pixel_height = scene->pixel_width = side;
    scene->pixels = at_allocate(explanation->context, side * side * 3, 1, "a test");
    for (int64_t y = 0; y < side; y++) {
        for (int64_t x = 0; x < side; x++) {
            double from =
                hypot((double)x - 0.5 * (double)side, (double)y - 0.5 * (double)side) / (double)side;
            int ring = from > 0.22 && from < 0.36;
            scene->pixels[(y * side + x) * 3] = (unsigned char)(ring ? 230 : 30 + 40 * y / side);
            scene->pixels[(y * side + x) * 3 + 1] = (unsigned char)(ring ? 200 : 40 + 60 * x / side);
            scene->pixels[(y * side + x) * 3 + 2] = (unsigned char)(ring ? 120 : 90);
        }
    }
    for (int64_t r = 0; r < scene->rows; r++) {
        snprintf(name, sizeof name, "patch %lld,%lld", (long long)(r / scene->grid_width) + 1,
                 (long long)(r % scene->grid_width) + 1);
        add(explanation->context, &explanation->rows, name);
    }
}
