/* layer.h: one layer that mixes rows, alone, with what it costs: time and memory.
 *
 * It has a context of its own, so that threads are counted and memory is: every byte that the layer's tape
 * and operators take goes through one allocator.
 */
#ifndef CLI_LAB_LAYER_H
#define CLI_LAB_LAYER_H

#include "lab.h"

typedef struct lab_layer {
    lab *report;
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
    attn_mixer *mixer;
    int64_t sequences, rows, columns; /* rows: of all sequences */
    int64_t *offsets;
    float *x;
    size_t now, most, before; /* bytes: held, the most so far, what parameters take */
} lab_layer;

/* `sequences` sequences of `length` random rows each, through a mixer of these options; threads 0: all.
 * False: lab_fail was called. Close it in both cases. The layer must stay where it is. */
bool lab_layer_open(lab *report, lab_layer *layer, const attn_mixer_options *options, int threads,
                    int64_t sequences, int64_t length);
void lab_layer_close(lab_layer *layer);

/* One forward pass; with `backward` also the gradients of all parameters. */
bool lab_layer_run(lab_layer *layer, bool backward);

/* Seconds of a forward pass, the best of several over about `budget` seconds, at least three: of the clock,
 * or of the processor, which other programs disturb less. NaN: lab_fail was called. */
double lab_layer_seconds(lab_layer *layer, double budget, bool processor);

/* The most bytes that a pass held at once, without parameters and input. */
double lab_layer_memory(const lab_layer *layer);

#endif
