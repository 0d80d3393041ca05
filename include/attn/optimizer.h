/* optimizer.h: SGD and AdamW, learning rate schedules, averages.
 *
 *     attn_optimizer_options options;
 *     attn_optimizer_options_init(&options);
 *     options.learning_rate = 3e-4;
 *     attn_optimizer_create(parameters, &options, &optimizer);
 *     for (int64_t step = 1; step <= steps; step++) {
 *         ...                                           record the batch on the tape
 *         attn_tape_backward(tape, loss, NULL);
 *         attn_optimizer_step(optimizer);
 *     }
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
 * as torch.optim.SGD and torch.optim.AdamW do. t counts the steps in which this parameter was not frozen.
 *
 * Options are double, so that 1 - beta2 is exact; the state is f32, like the parameters. Steps give the same
 * bits for any number of threads.
 *
 * An optimiser is used by one thread at a time, together with its parameters.
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

/* The factor of the learning rate in steps 0, 1, ... Every schedule first rises
 * to 1 in warmup_steps equal steps (step 0 has 1 / warmup_steps). */
typedef enum attn_schedule {
    ATTN_SCHEDULE_CONSTANT = 0,    /* 1 */
    ATTN_SCHEDULE_LINEAR = 1,      /* linear from 1 at step warmup_steps to `floor` at total_steps */
    ATTN_SCHEDULE_COSINE = 2,      /* half a cosine between the same values */
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
    double clip_norm;   /* gradients are scaled so that their global norm is at most this; 0: no limit */
    int64_t accumulate; /* number of backward passes per step; gradients are divided by it */
    attn_schedule schedule;
    int64_t warmup_steps;
    int64_t total_steps; /* LINEAR and COSINE: more than warmup_steps */
    double floor;        /* 0 .. 1 */
    double average; /* keeps a moving average of the parameters that decays by this factor in every step, such
                       as 0.999; 0: none. It starts with the parameters before the first step */
    /* ADAMW; not 0: a step updates only the rows of embedding tables that occur in its batch. When a row
     * occurs again, or attn_optimizer_settle is called, the steps that it missed are made up for at once: its
     * moments decay, and it moves, as in a step with gradient 0 for each of them. So the cost of a step
     * depends on the rows that occur, not on the size of the table. */
    int lazy_rows;
} attn_optimizer_options;

/* ADAMW, learning rate 1e-3, betas 0.9 and 0.999, epsilon 1e-8, decay 0.01, no
 * momentum, no clipping, accumulate 1, constant, no average, no lazy rows. */
ATTN_INIT(attn_optimizer_options)

/* The factor of the learning rate in a step (counted from 0). It depends on its arguments alone, and any
 * thread may call it. 0 if options is NULL. */
ATTN_API float attn_schedule_factor(const attn_optimizer_options *options, int64_t step);

/* An optimiser of all parameters of the set. options NULL: the defaults. The
 * set and its context must outlive all calls except destroy. A frozen parameter
 * has no state until it is unfrozen; parameters added later are included.
 * Errors, with the message in the context: INVALID_ARGUMENT, OUT_OF_MEMORY, and
 * the set's own status if that is not OK. */
ATTN_API attn_status attn_optimizer_create(attn_parameters *parameters, const attn_optimizer_options *options,
                                           attn_optimizer **optimizer);
ATTN_API void attn_optimizer_destroy(attn_optimizer *optimizer); /* NULL is allowed */

/* One step with the current gradients, which it then clears. A parameter that
 * no loss depends on has gradient 0 (its moments and weight decay still change
 * it); a frozen one does not change. On an error nothing changes, not even the
 * gradients. Errors: NOT_FINITE (a gradient has a NaN or an infinity; the
 * message names the parameter and the step; to skip this batch call
 * attn_parameters_clear_gradients), INVALID_ARGUMENT (the average is swapped
 * in), OUT_OF_MEMORY (only if parameters were added or unfrozen since the last
 * step). */
ATTN_API attn_status attn_optimizer_step(attn_optimizer *optimizer);

ATTN_API int64_t attn_optimizer_steps(const attn_optimizer *optimizer); /* done so far */
ATTN_API double attn_optimizer_learning_rate(
    const attn_optimizer *optimizer); /* of the next step; 0 for NULL */
/* Of the last step: the global norm of the gradients divided by `accumulate`, before clipping. 0 before the
 * first step and for NULL. */
ATTN_API double attn_optimizer_gradient_norm(const attn_optimizer *optimizer);

/* With lazy_rows: makes up for the missed steps of all rows. Call it before the parameters are evaluated or
 * saved. Without lazy_rows, and while the averages are swapped in, it does nothing.
 * Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_optimizer_settle(attn_optimizer *optimizer);

/* Swaps the parameters with their averages; the next call swaps them back. Calls attn_optimizer_settle first.
 * Between the two calls attn_optimizer_step fails. Errors: INVALID_ARGUMENT (NULL, or there is no average),
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_optimizer_swap_average(attn_optimizer *optimizer);

/* The state, to save and restore: everything except attn_optimizer_steps, as writable tensors (data is NULL
 * if the state is on a device and not in host memory). Their names are the parameter's name and ".momentum"
 * (SGD), ".moment1", ".moment2" and ".steps" (ADAMW; this parameter's t), ".row_steps" (lazy rows),
 * ".average". An optimiser with the same parameters and options, given this state and attn_optimizer_steps,
 * continues with the same bits. name may be NULL. Errors of state: INVALID_ARGUMENT (NULL, index out of
 * range); of set_steps: INVALID_ARGUMENT (NULL, steps below 0). */
ATTN_API int64_t attn_optimizer_state_count(const attn_optimizer *optimizer);
ATTN_API attn_status attn_optimizer_state(attn_optimizer *optimizer, int64_t index, const char **name,
                                          attn_tensor *tensor);
ATTN_API attn_status attn_optimizer_set_steps(attn_optimizer *optimizer, int64_t steps);

ATTN_END_DECLS

#endif
