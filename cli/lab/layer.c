/* layer.c: runs one mixing layer alone and measures it (see layer.h). */
#include "layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory that is counted ---- */

/* What is in front of each block. */
typedef struct block_head {
    size_t bytes, offset; /* how large it is, and how far its memory is from where it begins */
} block_head;

static void *count_allocate(void *user, size_t bytes, size_t alignment) {
    lab_layer *layer = user;
    if (alignment < 64) alignment = 64;
    block_head head = {.bytes = bytes, .offset = alignment};
    char *block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment + alignment);
    if (block == NULL) return NULL;
    memcpy(block + alignment - sizeof head, &head, sizeof head);
    layer->now += bytes;
    if (layer->now > layer->most) layer->most = layer->now;
    return block + alignment;
}

static void count_release(void *user, void *memory) {
    lab_layer *layer = user;
    block_head head;
    memcpy(&head, (char *)memory - sizeof head, sizeof head);
    layer->now -= head.bytes;
    free((char *)memory - head.offset);
}

/* ---- the layer ---- */

static bool make_rows(lab_layer *layer, int64_t sequences, int64_t length) {
    uint64_t seed = 1;
    layer->sequences = sequences;
    layer->rows = sequences * length;
    layer->offsets = malloc((size_t)(sequences + 1) * sizeof *layer->offsets);
    layer->x = malloc((size_t)(layer->rows * layer->columns) * sizeof *layer->x);
    if (layer->offsets == NULL || layer->x == NULL)
        return lab_fail(layer->report, "there is not enough memory for %lld rows", (long long)layer->rows);
    for (int64_t i = 0; i <= sequences; i++) layer->offsets[i] = i * length;
    for (int64_t i = 0; i < layer->rows * layer->columns; i++)
        layer->x[i] = (float)(2 * lab_uniform(&seed) - 1);
    return true;
}

bool lab_layer_open(lab *report, lab_layer *layer, const attn_mixer_options *options, int threads,
                    int64_t sequences, int64_t length) {
    *layer = (lab_layer){.report = report, .columns = options->columns};
    attn_context_options context;
    attn_context_options_init(&context);
    context.threads = threads > 0 ? threads : attn_context_threads(lab_context_of(report));
    context.isa = attn_context_isa(lab_context_of(report));
    context.allocator = (attn_allocator){.allocate = count_allocate, .release = count_release, .user = layer};
    if (attn_context_create(&context, &layer->context) != ATTN_OK)
        return lab_fail(report, "%s", attn_last_create_error());
    if (attn_parameters_create(layer->context, 1, &layer->parameters) != ATTN_OK ||
        attn_tape_create(layer->context, &layer->tape) != ATTN_OK)
        return lab_fail(report, "%s", attn_context_error(layer->context));
    layer->mixer = attn_mixer_create(layer->parameters, "layer", options);
    if (attn_parameters_status(layer->parameters) != ATTN_OK)
        return lab_fail(report, "%s", attn_parameters_error(layer->parameters));
    layer->before = layer->now;
    return make_rows(layer, sequences, length);
}

void lab_layer_close(lab_layer *layer) {
    attn_tape_destroy(layer->tape);
    attn_parameters_destroy(layer->parameters);
    attn_context_destroy(layer->context);
    free(layer->offsets);
    free(layer->x);
}

bool lab_layer_run(lab_layer *layer, bool backward) {
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){.sequences = layer->sequences, .offsets = layer->offsets};
    attn_tape_begin(layer->tape, backward ? ATTN_TAPE_GRADIENT : ATTN_TAPE_PREDICT, 0);
    attn_variable *x = backward ? attn_tape_input(layer->tape, layer->x, layer->rows, layer->columns, 1)
                                : attn_tape_constant(layer->tape, layer->x, layer->rows, layer->columns);
    attn_variable *y = attn_mixer_apply(layer->tape, layer->mixer, x, &places);
    if (backward) attn_tape_backward(layer->tape, y, NULL);
    if (attn_tape_status(layer->tape) == ATTN_OK) return true;
    return lab_fail(layer->report, "%s", attn_tape_error(layer->tape));
}

double lab_layer_seconds(lab_layer *layer, double budget, bool processor) {
    double best = INFINITY, begin = lab_seconds();
    if (!lab_layer_run(layer, false)) return NAN; /* memory and caches are ready after it */
    for (int i = 0; i < 3 || lab_seconds() - begin < budget; i++) {
        double start = processor ? lab_processor_seconds() : lab_seconds();
        if (!lab_layer_run(layer, false)) return NAN;
        best = fmin(best, (processor ? lab_processor_seconds() : lab_seconds()) - start);
    }
    return best;
}

double lab_layer_memory(const lab_layer *layer) { return (double)(layer->most - layer->before); }
