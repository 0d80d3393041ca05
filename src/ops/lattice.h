/* lattice.h (private): one sequence of a transducer: all ways to write a target while going through a source.
 *
 * Node (t, u) stands at row t of the source with u symbols written; it is row t (U + 1) + u of log_p, the
 * logarithms of the probabilities of every symbol there. It goes to (t, u + 1) by writing symbol u of the
 * target, or to (t + 1, u) by the blank; the blank of the last node (T - 1, U) ends.
 *
 *     a(0, 0) = 0
 *     a(t, u) = log(exp(a(t - 1, u) + blank(t - 1, u)) + exp(a(t, u - 1) + write(t, u - 1)))
 *     log p(target) = a(T - 1, U) + blank(T - 1, U)
 *
 * A symbol of the target that is not known (-1) is written at once, with probability 1.
 */
#ifndef AT_OPS_LATTICE_H
#define AT_OPS_LATTICE_H

#include <stdint.h>

typedef struct at_lattice {
    int64_t rows, symbols; /* T, U */
    const float *log_p;
    int64_t stride;
    const int32_t *target; /* [U] */
    int32_t blank;
} at_lattice;

static inline int64_t at_lattice_nodes(const at_lattice *lattice) {
    return lattice->rows * (lattice->symbols + 1);
}

/* log(exp a + exp b) */
double at_log_add(double a, double b);

/* alpha: [nodes]. Returns log p(target); without rows only the empty target has a probability, 1. */
double at_lattice_forward(const at_lattice *lattice, double *alpha);
/* moves: [nodes][2], the probabilities, given the target, that a path goes through a node and on by the blank
 * or by a symbol. alpha and log_p as forward left them; beta: room for 2 (U + 1) numbers. */
void at_lattice_moves(const at_lattice *lattice, const double *alpha, double log_p, double *beta,
                      float *moves);

#endif
