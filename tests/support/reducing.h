/* reducing.h: gradients of shards, added up by one process or by the ranks of an exchange, to be compared.
 *
 * Nothing here asserts, since ranks may be threads: a call says what went wrong.
 */
#ifndef TEST_SUPPORT_REDUCING_H
#define TEST_SUPPORT_REDUCING_H

#include "ops/backend.h"
#include "train/reduce.h"

typedef struct reducing_case {
    uint64_t seed;
    int64_t shards;
    int fast, steps;
    int large;                 /* parameters of more numbers than a bucket has */
    const at_backend *backend; /* NULL: the CPU's */
} reducing_case;

enum { REDUCING_PARAMETERS = 12, REDUCING_TEXT = 256 };

/* What the last step left in the parameters' own gradients. */
typedef struct reducing_result {
    int touched[REDUCING_PARAMETERS];
    unsigned char *written[REDUCING_PARAMETERS]; /* a byte per row */
    float *numbers[REDUCING_PARAMETERS];         /* 0 where nothing was touched */
    int64_t rows[REDUCING_PARAMETERS], counts[REDUCING_PARAMETERS];
    int64_t sent;
    char problem[REDUCING_TEXT]; /* "" if all went well */
} reducing_result;

/* All shards in this process, with at_gradients_add. */
void reducing_alone(const reducing_case *c, reducing_result *result);
/* The share of one rank. */
void reducing_rank(const reducing_case *c, attn_context *context, attn_exchange *exchange,
                   reducing_result *result);
void reducing_free(reducing_result *result);

/* 0, or not and where they differ. exact: to the bit; else up to rounding. */
int reducing_differs(const reducing_result *alone, const reducing_result *other, int exact,
                     char text[REDUCING_TEXT]);

/* A context of one thread on a backend; NULL if there is none. */
attn_context *reducing_context(const at_backend *backend);

#endif
