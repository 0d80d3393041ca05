/* optimizer.h: what changes the parameters.
 *
 *     attn_optimizer_options options;
 *     attn_optimizer_options_init(&options);
 *     options.learning_rate = 3e-4;
 *     attn_optimizer_create(parameters, &options, &optimizer);
 *     for each batch:
 *         ... forward, attn_tape_backward ...
 *         attn_optimizer_step(optimizer);
 *
 * With g a gradient divided by `accumulate` and clipped, p a parameter and rate
 * the learning rate of the step,
 *
 *     ATTN_SGD     g += decay * p;  b = momentum * b + g;
 *                  p -= rate * b, or with nesterov p -= rate * (g + momentum * b)
 *     ATTN_ADAMW   p *= 1 - rate * decay;
 *                  m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2;
 *                  p -= rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
 *
 * which is what torch.optim.SGD and torch.optim.AdamW do. t counts the steps in
 * which this parameter was not frozen.
 *
 * Numbers of the options are double, so that 1 - beta2 has all its digits; the
 * state is f32 like the parameters. Steps are the same bits for any number of
 * threads.
 */
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

/* The learning rate over the steps 0, 1, ...: what it is multiplied by. All rise
 * in warmup_steps equal steps to 1 (step 0 has 1 / warmup_steps). */
typedef enum attn_schedule {
    ATTN_SCHEDULE_CONSTANT = 0,    /* 1 */
    ATTN_SCHEDULE_LINEAR = 1,      /* from 1 at step warmup_steps straight to `floor` at total_steps */
    ATTN_SCHEDULE_COSINE = 2,      /* the same two ends, half a cosine between them */
    ATTN_SCHEDULE_INVERSE_ROOT = 3 /* sqrt(warmup_steps / (step + 1)), not below `floor` */
} attn_schedule;

typedef struct attn_optimizer_options {
    size_t size; /* sizeof(attn_optimizer_options), set by the init function */
    attn_optimizer_kind kind;
    double learning_rate;
    double beta1, beta2, epsilon; /* ADAMW */
    double weight_decay;          /* of parameters of kind WEIGHT */
    int decay_all;                /* not 0: of all parameters */
    double momentum;              /* SGD; 0: none */
    int nesterov;                 /* SGD; needs a momentum */
    double clip_norm;             /* the most that the norm of all gradients together may be; 0: no limit */
    int64_t accumulate;           /* backward passes between two steps: gradients are divided by it */
    attn_schedule schedule;
    int64_t warmup_steps;
    int64_t total_steps; /* LINEAR and COSINE: more than warmup_steps */
    double floor;        /* 0 .. 1 */
    double average;      /* a moving average of the parameters is kept, and decays by this in every step,
                            as 0.999; 0: none. It starts as the parameters are before the first step */
    int lazy_rows;       /* ADAMW; not 0: rows of embedding tables that no batch of a step came to are left
                            alone. Steps that a row has missed are made up for, all at once, when a batch comes
                            to it again or attn_optimizer_settle is called: its moments decay as they would
                            have, and it moves as far as they would have taken it, at the learning rate of
                            the later step. So a step costs what the rows cost that it comes to */
} attn_optimizer_options;

/* ADAMW, learning rate 1e-3, betas 0.9 and 0.999, epsilon 1e-8, decay 0.01, no
 * momentum, no clipping, accumulate 1, constant, no average, no lazy rows. */
ATTN_API void attn_optimizer_options_init(attn_optimizer_options *options);

/* What the learning rate is multiplied by in that step (from 0 on). A pure
 * function; 0 if options is NULL. */
ATTN_API float attn_schedule_factor(const attn_optimizer_options *options, int64_t step);

/* An optimiser of all parameters of the set. options NULL: the defaults. The
 * set and its context must outlive all calls but destroy. Parameters that are
 * frozen have no state until they are not, and ones that are added later join.
 * Errors, with the text in the context: INVALID_ARGUMENT, OUT_OF_MEMORY, and the
 * set's own status if that is not OK. */
ATTN_API attn_status attn_optimizer_create(attn_parameters *parameters, const attn_optimizer_options *options,
                                           attn_optimizer **optimizer);
ATTN_API void attn_optimizer_destroy(attn_optimizer *optimizer); /* NULL is allowed */

/* One step with the gradients as they are, which it then clears. A parameter
 * that no backward pass came to has a gradient of 0 (and still moves by its
 * moments and its decay); a frozen one is left alone. Errors, after which
 * nothing has changed, the gradients included: NOT_FINITE (a gradient has a NaN
 * or an infinity; the text names the parameter and the step; to go on without
 * this batch call attn_parameters_clear_gradients), INVALID_ARGUMENT (the average
 * is swapped in), OUT_OF_MEMORY (only with parameters that were added or no
 * longer frozen since the last step). */
ATTN_API attn_status attn_optimizer_step(attn_optimizer *optimizer);

ATTN_API int64_t attn_optimizer_steps(const attn_optimizer *optimizer);        /* done so far */
ATTN_API double attn_optimizer_learning_rate(const attn_optimizer *optimizer); /* of the step to come */
ATTN_API double attn_optimizer_gradient_norm(const attn_optimizer *optimizer); /* of the last step: over all
                                                       gradients, divided by `accumulate`, not yet clipped */

/* With lazy_rows: all rows make up for the steps that they have missed. To be called before the parameters
 * are evaluated or saved as a result. Without lazy_rows, and while the averages are in, it does nothing. */
ATTN_API attn_status attn_optimizer_settle(attn_optimizer *optimizer);

/* Exchanges the parameters with their averages, and at the next call back. Settles before.
 * Between the two attn_optimizer_step refuses to work. Errors: INVALID_ARGUMENT
 * (there is no average). */
ATTN_API attn_status attn_optimizer_swap_average(attn_optimizer *optimizer);

/* The state, to be saved and restored: everything but the number of steps, as
 * tensors that can be written to, on the host (data NULL where the state is not in
 * the host's memory, as on a device). Their names are the parameter's name and
 * ".momentum" (SGD), ".moment1", ".moment2" and ".steps" (ADAMW), ".row_steps" (lazy rows), ".average". An
 * optimiser made of the same parameters and options, given all of it and the
 * number of steps, goes on with the same bits. state fails with
 * INVALID_ARGUMENT if index is out of range; name may be NULL. */
ATTN_API int64_t attn_optimizer_state_count(const attn_optimizer *optimizer);
ATTN_API attn_status attn_optimizer_state(attn_optimizer *optimizer, int64_t index, const char **name,
                                          attn_tensor *tensor);
ATTN_API attn_status attn_optimizer_set_steps(attn_optimizer *optimizer, int64_t steps);

ATTN_END_DECLS

#endif
