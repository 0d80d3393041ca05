/* spectrum.h (private): frames of a signal to the logarithms of the energies of their bands.
 *
 * What a frame is, and the bands, are the caller's (kernels/spectrum.h). Plain memory of the host, in the
 * calling thread.
 */
#ifndef AT_OPS_SPECTRUM_H
#define AT_OPS_SPECTRUM_H

#include "base/context.h"
#include "kernels/spectrum.h"

/* What the transform itself needs: turns, bins and halves of a spectrum of this size. */
typedef struct at_spectrum_tables {
    float *turns, *halves;
    int32_t *bins;
} at_spectrum_tables;
attn_status at_spectrum_tables_create(attn_context *context, int64_t size, at_spectrum_tables *tables);
void at_spectrum_tables_free(attn_context *context, at_spectrum_tables *tables);

/* Numbers of working memory of at_spectrum_frames. */
int64_t at_spectrum_room(const attn_context *context, const at_spectrum *spectrum);
/* rows[f][0 .. outputs - 1], `stride` numbers apart, of the frames at samples[f * shift]. The numbers of a
 * frame do not depend on which others are asked for with it. */
void at_spectrum_frames(const attn_context *context, const at_spectrum *spectrum, const float *samples,
                        int64_t shift, int64_t frames, float *work, float *rows, int64_t stride);

#endif
