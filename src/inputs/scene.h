/* scene.h: how the rows of an example are drawn: words in a line, the nodes of a graph, the atoms of a
 * molecule, frames of a recording over time, patches of a picture.
 *
 * A kind of input fills a scene for drawings; drawings depend on the kinds of scenes, not on the kinds of
 * input.
 */
#ifndef AT_INPUTS_SCENE_H
#define AT_INPUTS_SCENE_H

#include "data/strings.h"

typedef enum at_scene_kind {
    AT_SCENE_ROWS,     /* names in their order; nothing else is filled */
    AT_SCENE_GRAPH,    /* rows are nodes */
    AT_SCENE_MOLECULE, /* rows are atoms */
    AT_SCENE_FRAMES,   /* rows are spectra, one after another in time */
    AT_SCENE_GRID      /* rows are patches of a picture, row by row */
} at_scene_kind;

/* All memory is the context's. What a kind of scene does not have is 0. */
typedef struct at_scene {
    attn_context *context;
    at_scene_kind kind;
    int64_t rows;

    /* GRAPH, MOLECULE: what is drawn between nodes, each edge once, whoever attends along it. */
    int64_t edges;
    int64_t *from, *to; /* [edges] */
    int directed;       /* edges of the data lead one way */
    int8_t *order;      /* MOLECULE: [edges] 1, 2 or 3: the Kekulé form */
    int8_t *turn;       /* MOLECULE: [edges] of double bonds: 1 cis, 2 trans of the neighbours turn_from,
                           turn_to; 0: not said */
    int64_t *turn_from, *turn_to;
    at_strings symbols;         /* MOLECULE: [rows] "C", "Cl", "13C" */
    int8_t *charge, *hydrogens; /* MOLECULE: [rows] */

    /* FRAMES */
    double begin, step; /* seconds: the centre of the first row; from row to row */
    int64_t bins;
    int64_t spectra; /* of a row: so many frames begin with it before the next row does; 0: 1 */
    float *spectrum; /* [rows][spectra][bins], low frequencies first, as the network gets them */

    /* GRID: the picture as the network sees it, and where the patch of each row lies: that of row r begins at
     * top + (r / grid_width) * stride, left + (r % grid_width) * stride, and is `patch` pixels wide and high;
     * at the edges it may stick out of the picture (top and left are 0 or below). */
    int64_t grid_height, grid_width, patch, stride, top, left;
    int64_t pixel_height, pixel_width;
    unsigned char *pixels; /* [pixel_height][pixel_width][3]: red, green, blue */
} at_scene;

void at_scene_free(at_scene *scene);
/* How many spectra there are. */
int64_t at_scene_spectra(const at_scene *scene);

#endif
