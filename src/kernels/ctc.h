/* ctc.h: what the kernels of connectionist temporal classification read of one sequence. */
#ifndef AT_KERNELS_CTC_H
#define AT_KERNELS_CTC_H

#include <stdint.h>

typedef struct at_ctc_sequence {
    int64_t rows, symbols; /* at least 1 */
    const float *scores;   /* rows x symbols */
    int64_t stride;        /* of the rows of scores */
    const int32_t *target; /* [length], none of them `blank` */
    int64_t length;
    int32_t blank;
} at_ctc_sequence;

/* Places on a path: a blank, a symbol, a blank, a symbol, ..., a blank. */
static inline int64_t at_ctc_states(int64_t length) { return 2 * length + 1; }
/* Numbers (double) that the kernels work in. */
static inline int64_t at_ctc_work(int64_t length) { return 4 * (at_ctc_states(length) + 2); }

#endif
