/* bench_weights.c: what it costs to see: a pass through an encoder with and without the weights of all of its
 * attention, in turns.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

typedef struct weights_shape {
    int64_t rows, columns, layers, heads;
} weights_shape;

typedef struct weights_case {
    weights_shape shape;
    attn_parameters *parameters;
    attn_encoder *encoder;
    attn_tape *tape;
    attn_places places;
    int64_t offsets[2];
    float *x, *memory;
    float **weights; /* [layers]; into memory */
} weights_case;

static void destroy_case(weights_case *with) {
    attn_tape_destroy(with->tape);
    attn_parameters_destroy(with->parameters);
    free(with->x);
    free(with->memory);
    free(with->weights);
}

static bool create_case(const bench *run, attn_context *context, const weights_shape *shape,
                        weights_case *with) {
    attn_encoder_options options;
    int64_t map = shape->heads * shape->rows * shape->rows;
    *with = (weights_case){.shape = *shape, .offsets = {0, shape->rows}};
    attn_encoder_options_init(&options);
    options.columns = shape->columns;
    options.layers = shape->layers;
    options.block.mixer.attention.heads = shape->heads;
    options.block.inner = 4 * shape->columns;
    if (!bench_ok(context, attn_parameters_create(context, (uint64_t)run->seed, &with->parameters)) ||
        !bench_ok(context, attn_tape_create(context, &with->tape)))
        return false;
    with->encoder = attn_encoder_create(with->parameters, "encoder", &options);
    with->x = bench_numbers(shape->rows * shape->columns, run->seed);
    with->memory = bench_numbers(shape->layers * map, run->seed);
    with->weights = calloc((size_t)shape->layers, sizeof *with->weights);
    if (with->encoder == NULL || with->x == NULL || with->memory == NULL || with->weights == NULL)
        return false;
    for (int64_t l = 0; l < shape->layers; l++) with->weights[l] = with->memory + l * map;
    attn_places_init(&with->places);
    with->places.batch = (attn_ragged){1, with->offsets};
    return true;
}

static attn_status pass(weights_case *with, float *const *weights) {
    attn_tape_begin(with->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_constant(with->tape, with->x, with->shape.rows, with->shape.columns);
    if (weights != NULL)
        attn_encoder_weights(with->tape, with->encoder, x, &with->places, weights);
    else
        attn_encoder_apply(with->tape, with->encoder, x, &with->places);
    return attn_tape_status(with->tape);
}

static attn_status pass_without(void *argument) { return pass(argument, NULL); }
static attn_status pass_with(void *argument) {
    weights_case *with = argument;
    return pass(with, with->weights);
}

/* Both in turns, the best of each. */
static bool measure_setup(const bench *run, const bench_setup *setup, const weights_shape *shape) {
    enum { TURNS = 5 };
    weights_case with;
    double best[2] = {INFINITY, INFINITY};
    bool done = create_case(run, setup->context, shape, &with);
    for (int turn = 0; turn < TURNS && done; turn++) {
        timing time;
        done = bench_ok(setup->context, measure(pass_without, &with, run->seconds, &time));
        best[0] = fmin(best[0], time.best);
        done = done && bench_ok(setup->context, measure(pass_with, &with, run->seconds, &time));
        best[1] = fmin(best[1], time.best);
    }
    destroy_case(&with);
    if (!done) return false;
    if (run->json)
        printf("{\"operation\":\"weights\",\"rows\":%" PRId64 ",\"columns\":%" PRId64 ",\"layers\":%" PRId64
               ",\"heads\":%" PRId64 ",\"threads\":%d,\"seconds\":%.9g,\"with_weights\":%.9g}\n",
               shape->rows, shape->columns, shape->layers, shape->heads, setup->threads, best[0], best[1]);
    else
        printf("%6" PRId64 "  %6" PRId64 "  %5" PRId64 " %5" PRId64 "  %7d  %10.3f  %10.3f  %+7.1f %%\n",
               shape->rows, shape->columns, shape->layers, shape->heads, setup->threads, 1e3 * best[0],
               1e3 * best[1], 100 * (best[1] / best[0] - 1));
    fflush(stdout);
    return true;
}

bool bench_weights(const bench *run) {
    static const weights_shape shapes[] = {
        {30, 192, 2, 6}, {200, 192, 6, 6}, {200, 512, 6, 8}, {1000, 192, 6, 6}, {1000, 512, 6, 8}};
    if (!run->json)
        printf("\nA pass through an encoder, without and with the weights of all heads\n"
               "  rows columns layers heads  threads  without ms     with ms     more\n");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        if (shapes[s].rows > run->longest) continue;
        for (int setup = 0; setup < run->setup_count; setup++)
            if (!measure_setup(run, &run->setups[setup], &shapes[s])) return false;
    }
    return true;
}
