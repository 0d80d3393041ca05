/* crf.h: what the kernels of a conditional random field read of one sequence. */
#ifndef AT_KERNELS_CRF_H
#define AT_KERNELS_CRF_H

#include <stdint.h>

typedef struct at_crf_sequence {
    int64_t rows, classes; /* at least 1 */
    const float *emissions;
    int64_t stride;           /* of the rows of emissions */
    const float *transitions; /* classes x classes: from, to */
    const float *transposed;  /* the same: to, from */
    const float *start, *end; /* NULL: 0 */
} at_crf_sequence;

#endif
