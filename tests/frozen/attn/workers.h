/* workers.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_WORKERS_H
#define ATTN_WORKERS_H

#include <stdint.h>

#include <attn/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attn_workers attn_workers;

ATTN_API attn_status attn_workers_create(attn_parameters *parameters, attn_workers **workers);
ATTN_API void attn_workers_destroy(attn_workers *workers);

typedef attn_variable *(*attn_record_function)(void *user, attn_tape *tape, int64_t shard);

ATTN_API attn_status attn_workers_run(attn_workers *workers, int64_t count, uint64_t seed,
                                      attn_record_function record, void *user, double *loss);

#ifdef __cplusplus
}
#endif

#endif
