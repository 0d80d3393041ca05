/* spectrum.h: frames of a signal to the energies of bands of their spectrum: what the kernel reads.
 *
 *     samples -> (less their mean) -> pre-emphasis -> window function -> |FFT|^2 -> bands -> logarithm
 *             -> (a linear map)
 */
#ifndef AT_KERNELS_SPECTRUM_H
#define AT_KERNELS_SPECTRUM_H

#include <stddef.h>
#include <stdint.h>

typedef struct at_spectrum {
    int64_t size;   /* of the transform: a power of 2, at least 4 */
    int64_t window; /* samples of a frame, 1 .. size */
    int remove_mean;
    float preemphasis;   /* y[i] = x[i] - p * x[i - 1], with x[-1] = x[0] */
    const float *taper;  /* [window]: the window function, halved */
    const float *turns;  /* cos and -sin of j, 2 j, 3 j parts of a circle: see at_spectrum_tables */
    const int32_t *bins; /* [size / 2]: where the transform leaves each frequency */
    const float *halves; /* [size / 4]: cos and -sin of 2 pi k / size */
    int magnitude;       /* |X|, not |X|^2 */
    int64_t bands;
    const int32_t *band_first; /* [bands]: the first frequency of each */
    const int32_t *band_begin; /* [bands + 1]: where its weights begin */
    const float *band_weights;
    float floor;         /* energies are at least this before the logarithm */
    int64_t outputs;     /* numbers of a frame */
    const float *linear; /* NULL: the logarithms themselves; else outputs x bands */
} at_spectrum;

/* Numbers of working memory for each lane. */
static inline int64_t at_spectrum_work(const at_spectrum *s, int64_t lanes) {
    int64_t bands = (s->bands + lanes - 1) / lanes * lanes,
            outputs = (s->outputs + lanes - 1) / lanes * lanes;
    return s->size + s->size / 2 + 1 + bands + outputs;
}

#endif
