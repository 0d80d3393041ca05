/* spectrum.c: the tables of a Fourier transform whose size is a power of 2, and the loop over frames. */
#include "ops/spectrum.h"

#include <math.h>

#include "base/arithmetic.h"
#include "base/memory.h"
#include "kernels/rows.h"

#define PI 3.14159265358979323846

/* Where the transform of `length` numbers leaves frequency k: by quarters, then by halves. */
static int64_t place_of(int64_t k, int64_t length) {
    int64_t place = 0;
    while (length > 1) {
        int64_t parts = length >= 4 ? 4 : 2;
        length /= parts;
        place += k % parts * length;
        k /= parts;
    }
    return place;
}

/* The angles of a pass over `length` numbers, three for each of its quarter, and of those after it. */
static void fill_turns(int64_t length, float *turns) {
    for (; length >= 4; length /= 4) {
        for (int64_t j = 0; j < length / 4; j++) {
            for (int64_t q = 1; q < 4; q++) {
                double angle = 2.0 * PI * (double)(q * j) / (double)length;
                *turns++ = (float)cos(angle);
                *turns++ = (float)-sin(angle);
            }
        }
    }
}

attn_status at_spectrum_tables_create(attn_context *context, int64_t size, at_spectrum_tables *tables) {
    int64_t half = size / 2;
    at_spectrum_tables made = {
        .turns = at_allocate(context, 2 * half + 6, sizeof *made.turns, "tables of a spectrum"),
        .halves = at_allocate(context, half, sizeof *made.halves, "tables of a spectrum"),
        .bins = at_allocate(context, half, sizeof *made.bins, "tables of a spectrum"),
    };
    if (!made.turns || !made.halves || !made.bins) {
        at_spectrum_tables_free(context, &made);
        return ATTN_OUT_OF_MEMORY;
    }
    fill_turns(half, made.turns);
    for (int64_t k = 0; k < half; k++) made.bins[k] = (int32_t)place_of(k, half);
    for (int64_t k = 0; k < half / 2; k++) {
        made.halves[2 * k] = (float)cos(2.0 * PI * (double)k / (double)size);
        made.halves[2 * k + 1] = (float)-sin(2.0 * PI * (double)k / (double)size);
    }
    *tables = made;
    return ATTN_OK;
}

void at_spectrum_tables_free(attn_context *context, at_spectrum_tables *tables) {
    at_release(context, tables->turns);
    at_release(context, tables->halves);
    at_release(context, tables->bins);
    *tables = (at_spectrum_tables){NULL, NULL, NULL};
}

int64_t at_spectrum_room(const attn_context *context, const at_spectrum *spectrum) {
    int lanes = at_row_kernels_for(context->isa)->lanes;
    return at_spectrum_work(spectrum, lanes) * lanes;
}

void at_spectrum_frames(const attn_context *context, const at_spectrum *spectrum, const float *samples,
                        int64_t shift, int64_t frames, float *work, float *rows, int64_t stride) {
    const at_row_kernels *kernels = at_row_kernels_for(context->isa);
    const uint64_t mode = at_arithmetic_begin(); /* it is called in tasks that read, too */
    for (int64_t f = 0; f < frames; f += kernels->lanes) {
        int count = frames - f < kernels->lanes ? (int)(frames - f) : kernels->lanes;
        kernels->spectrum(spectrum, samples + f * shift, shift, count, work, rows + f * stride, stride);
    }
    at_arithmetic_end(mode);
}
