/* pictures.h: letters drawn on the spot, for experiments that need pictures and have no files.
 *
 * A letter is a few straight strokes in the unit square. Each picture shifts, slants, turns and scales them
 * at random, draws them with a pen of random thickness, and adds noise. Pictures are cut into square patches,
 * one per row, as an encoder takes them.
 */
#ifndef CLI_LAB_PICTURES_H
#define CLI_LAB_PICTURES_H

#include "fit.h"

enum { LAB_LETTERS = 16 }; /* that can be drawn */

typedef struct lab_pictures {
    int64_t count, side, patch; /* pictures; pixels along a side; pixels along the side of a patch */
    int64_t grid;               /* patches along a side: rows of a picture are grid * grid */
    float *vectors;             /* [count * grid * grid][patch * patch] */
    int32_t *labels;            /* [count] */
    int64_t *offsets, *sides;   /* as lab_examples wants them; the grids are squares */
} lab_pictures;

/* `count` pictures of the first `letters` letters in turn, then shuffled in tens so that the first n of them
 * hold all letters. noise: standard deviation, ink is 1. False without memory. */
bool lab_pictures_draw(lab_pictures *pictures, int64_t count, int64_t letters, int64_t side, int64_t patch,
                       double noise, uint64_t seed);
void lab_pictures_release(lab_pictures *pictures);

/* The first `count` of them as examples. */
lab_examples lab_pictures_examples(const lab_pictures *pictures, int64_t count);

/* "A", "E", ... */
const char *lab_letter_name(int64_t letter);

#endif
