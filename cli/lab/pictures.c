/* pictures.c: letters from strokes, one picture at a time, into the rows of patches. */
#include "pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Strokes of a letter: x, y of both ends in tenths of its box, y downwards; ended by a stroke of -1. */
enum { MOST_STROKES = 6 };
typedef struct letter_strokes {
    const char *name;
    signed char stroke[MOST_STROKES][4];
} letter_strokes;

static const letter_strokes alphabet[LAB_LETTERS] = {
    {"A", {{0, 10, 5, 0}, {5, 0, 10, 10}, {2, 6, 8, 6}, {-1}}},
    {"E", {{0, 0, 0, 10}, {0, 0, 8, 0}, {0, 5, 7, 5}, {0, 10, 8, 10}, {-1}}},
    {"F", {{0, 0, 0, 10}, {0, 0, 8, 0}, {0, 5, 7, 5}, {-1}}},
    {"H", {{1, 0, 1, 10}, {9, 0, 9, 10}, {1, 5, 9, 5}, {-1}}},
    {"K", {{1, 0, 1, 10}, {1, 6, 8, 0}, {3, 4, 9, 10}, {-1}}},
    {"L", {{1, 0, 1, 10}, {1, 10, 8, 10}, {-1}}},
    {"N", {{1, 10, 1, 0}, {1, 0, 9, 10}, {9, 10, 9, 0}, {-1}}},
    {"T", {{0, 0, 10, 0}, {5, 0, 5, 10}, {-1}}},
    {"X", {{1, 0, 9, 10}, {9, 0, 1, 10}, {-1}}},
    {"Z", {{1, 0, 9, 0}, {9, 0, 1, 10}, {1, 10, 9, 10}, {-1}}},
    {"M", {{0, 10, 1, 0}, {1, 0, 5, 7}, {5, 7, 9, 0}, {9, 0, 10, 10}, {-1}}},
    {"V", {{1, 0, 5, 10}, {5, 10, 9, 0}, {-1}}},
    {"W", {{0, 0, 2, 10}, {2, 10, 5, 3}, {5, 3, 8, 10}, {8, 10, 10, 0}, {-1}}},
    {"Y", {{1, 0, 5, 5}, {9, 0, 5, 5}, {5, 5, 5, 10}, {-1}}},
    {"U", {{1, 0, 1, 9}, {1, 9, 3, 10}, {3, 10, 7, 10}, {7, 10, 9, 9}, {9, 9, 9, 0}, {-1}}},
    {"P", {{1, 0, 1, 10}, {1, 0, 8, 1}, {8, 1, 8, 4}, {8, 4, 1, 5}, {-1}}},
};

const char *lab_letter_name(int64_t letter) {
    return letter >= 0 && letter < LAB_LETTERS ? alphabet[letter].name : "?";
}

static double between(uint64_t *seed, double low, double high) {
    return low + (high - low) * lab_uniform(seed);
}

static double distance(double x, double y, const double stroke[4]) {
    double dx = stroke[2] - stroke[0], dy = stroke[3] - stroke[1];
    double t = ((x - stroke[0]) * dx + (y - stroke[1]) * dy) / (dx * dx + dy * dy);
    t = fmin(1, fmax(0, t));
    return hypot(x - stroke[0] - t * dx, y - stroke[1] - t * dy);
}

/* Where the strokes lie in the picture, in pixels. */
static int place(const letter_strokes *letter, int64_t side, uint64_t *seed, double placed[][4]) {
    double size = between(seed, 0.5, 0.72) * (double)side, wide = between(seed, 0.8, 1.1);
    double slant = between(seed, -0.3, 0.3), turn = between(seed, -0.2, 0.2);
    double free = ((double)side - size) / 2;
    double x0 = (double)side / 2 + between(seed, -free, free);
    double y0 = (double)side / 2 + between(seed, -free, free);
    int count = 0;
    for (; count < MOST_STROKES && letter->stroke[count][0] >= 0; count++)
        for (int end = 0; end < 2; end++) {
            double x = letter->stroke[count][2 * end] / 10.0 - 0.5;
            double y = letter->stroke[count][2 * end + 1] / 10.0 - 0.5;
            x = wide * x - slant * y;
            placed[count][2 * end] = x0 + size * (x * cos(turn) - y * sin(turn));
            placed[count][2 * end + 1] = y0 + size * (x * sin(turn) + y * cos(turn));
        }
    return count;
}

static void draw(const lab_pictures *p, int64_t picture, int64_t letter, double noise, uint64_t *seed) {
    double placed[MOST_STROKES][4];
    int count = place(&alphabet[letter], p->side, seed, placed);
    double pen = between(seed, 0.3, 0.9);
    float *rows = p->vectors + picture * p->side * p->side;
    for (int64_t y = 0; y < p->side; y++)
        for (int64_t x = 0; x < p->side; x++) {
            double nearest = 1e9;
            for (int s = 0; s < count; s++)
                nearest = fmin(nearest, distance((double)x + 0.5, (double)y + 0.5, placed[s]));
            double ink = fmin(1, fmax(0, pen + 0.5 - nearest)) + noise * lab_normal(seed);
            int64_t row = y / p->patch * p->grid + x / p->patch;
            int64_t column = y % p->patch * p->patch + x % p->patch;
            rows[row * p->patch * p->patch + column] = (float)(2 * ink - 0.5); /* mean near 0 */
        }
}

bool lab_pictures_draw(lab_pictures *pictures, int64_t count, int64_t letters, int64_t side, int64_t patch,
                       double noise, uint64_t seed) {
    lab_pictures p = {.count = count, .side = side, .patch = patch, .grid = side / patch};
    p.vectors = calloc((size_t)(count * side * side), sizeof *p.vectors);
    p.labels = calloc((size_t)count, sizeof *p.labels);
    p.offsets = calloc((size_t)count + 1, sizeof *p.offsets);
    p.sides = calloc((size_t)count, sizeof *p.sides);
    *pictures = p;
    if (p.vectors == NULL || p.labels == NULL || p.offsets == NULL || p.sides == NULL) {
        lab_pictures_release(pictures);
        return false;
    }
    for (int64_t i = 0; i < count; i++) p.labels[i] = (int32_t)(i % letters);
    for (int64_t first = 0; first < count; first += letters) { /* each run of `letters` in another order */
        int64_t run = count - first < letters ? count - first : letters;
        for (int64_t i = run - 1; i > 0; i--) {
            int64_t j = lab_choice(&seed, i + 1);
            int32_t kept = p.labels[first + i];
            p.labels[first + i] = p.labels[first + j];
            p.labels[first + j] = kept;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        draw(&p, i, p.labels[i], noise, &seed);
        p.offsets[i + 1] = (i + 1) * p.grid * p.grid;
        p.sides[i] = p.grid;
    }
    return true;
}

void lab_pictures_release(lab_pictures *pictures) {
    free(pictures->vectors);
    free(pictures->labels);
    free(pictures->offsets);
    free(pictures->sides);
    memset(pictures, 0, sizeof *pictures);
}

lab_examples lab_pictures_examples(const lab_pictures *pictures, int64_t count) {
    return (lab_examples){.sequences = count < pictures->count ? count : pictures->count,
                          .offsets = pictures->offsets,
                          .vectors = pictures->vectors,
                          .labels = pictures->labels,
                          .heights = pictures->sides,
                          .widths = pictures->sides};
}
