/* attention_run.h: runs a problem through the library, the oracle and naive
 * f32 code, and holds the library to a tolerance derived from the latter.
 *
 * The tolerance, per tensor:
 *
 *     max |library - oracle| <= 4 max |naive - oracle| + 2 * 2^-24 * rounding
 *
 * where naive is the same formula written down in float, and rounding is the
 * size that independent roundings of relative size 1 would have in an element
 * (naive.h): without it a tensor of one or two elements, on which the naive
 * code happens to be exact, would allow no error at all. Where the oracle
 * has a NaN or an infinity, the library must have the same.
 */
#ifndef TEST_SUPPORT_ATTENTION_RUN_H
#define TEST_SUPPORT_ATTENTION_RUN_H

#include "support/attention_case.h"

/* The results of a problem, in logical order, as double; NULL: none. */
typedef struct values {
    double *data[TENSORS];
} values;

/* All results of the problem, filled with the canary. */
values *values_create(const problem *p);
void values_destroy(values *v);

enum { RUN_FORWARD = 1, RUN_BACKWARD = 2, RUN_BOTH = 3 };

/* Both passes of the library (the backward pass needs the forward one).
 * Fails the test unless both return OK, no input and nothing outside the
 * views was written, and rows that belong to no sequence kept their canary. */
values *run_library(attn_context *context, problem *p, int passes);

values *run_oracle(const problem *p, int passes);

/* The two calls by themselves, on the problem's own views. */
attn_status problem_forward(attn_context *context, problem *p);
attn_status problem_backward(attn_context *context, problem *p);

/* Puts the canary back into all results, and into the gaps between. */
void problem_reset(problem *p);

/* Fails the test unless a result lies within the derived tolerance. */
void assert_close(const problem *p, const char *isa, const values *library, const values *oracle,
                  const values *naive, const values *rounding);

/* Fails the test unless two results have the same bits. `what` is said then. */
void assert_same_bits(const problem *p, const char *what, const values *a, const values *b);
void assert_same_bits_of(const problem *p, const char *what, tensor_id id, const values *a, const values *b);

/* The whole check of a case, on every instruction set of this machine. */
void check_case(const test_case *c, int passes);
void check_problem(problem *p, int passes);

#endif
