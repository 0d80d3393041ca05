/* optimizer.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_OPTIMIZER_H
#define ATTN_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/parameters.h>
#include <attn/status.h>
#include <attn/tensor.h>

ATTN_BEGIN_DECLS

typedef struct attn_optimizer attn_optimizer;

typedef enum attn_optimizer_kind { ATTN_SGD = 0, ATTN_ADAMW = 1 } attn_optimizer_kind;

typedef enum attn_schedule {
    ATTN_SCHEDULE_CONSTANT = 0,
    ATTN_SCHEDULE_LINEAR = 1,
    ATTN_SCHEDULE_COSINE = 2,
    ATTN_SCHEDULE_INVERSE_ROOT = 3
} attn_schedule;

typedef struct attn_optimizer_options {
    size_t size;
    attn_optimizer_kind kind;
    double learning_rate;
    double beta1, beta2, epsilon;
    double weight_decay;
    int decay_all;
    double momentum;
    int nesterov;
    double clip_norm;
    int64_t accumulate;
    attn_schedule schedule;
    int64_t warmup_steps;
    int64_t total_steps;
    double floor;
    double average;
    int lazy_rows;
} attn_optimizer_options;

ATTN_INIT(attn_optimizer_options)

ATTN_API float attn_schedule_factor(const attn_optimizer_options *options, int64_t step);

ATTN_API attn_status attn_optimizer_create(attn_parameters *parameters, const attn_optimizer_options *options,
                                           attn_optimizer **optimizer);
ATTN_API void attn_optimizer_destroy(attn_optimizer *optimizer);

ATTN_API attn_status attn_optimizer_step(attn_optimizer *optimizer);

ATTN_API int64_t attn_optimizer_steps(const attn_optimizer *optimizer);
ATTN_API double attn_optimizer_learning_rate(const attn_optimizer *optimizer);
ATTN_API double attn_optimizer_gradient_norm(const attn_optimizer *optimizer);

ATTN_API attn_status attn_optimizer_settle(attn_optimizer *optimizer);

ATTN_API attn_status attn_optimizer_swap_average(attn_optimizer *optimizer);

ATTN_API int64_t attn_optimizer_state_count(const attn_optimizer *optimizer);
ATTN_API attn_status attn_optimizer_state(attn_optimizer *optimizer, int64_t index, const char **name,
                                          attn_tensor *tensor);
ATTN_API attn_status attn_optimizer_set_steps(attn_optimizer *optimizer, int64_t steps);

ATTN_END_DECLS

#endif
