/* ranks.c: what ranks that train together compare, and what rank 0 sends to the others.
 *
 * All ranks take the same steps with the same values, so they only have to begin alike: with the same
 * program, configuration and data, and, in a resumed run, with what rank 0 has read. Rank 0 writes the files,
 * and makes the decisions that depend on the clock.
 */
#include <stdio.h>
#include <string.h>

#include <attn/core.h>

#include "base/context.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "tape/parameters.h"
#include "train/exchange.h"
#include "train/optimizer.h"
#include "train/trainer.h"

int at_rank_writes(const attn_trainer *trainer) { return attn_exchange_rank(trainer->options.exchange) == 0; }

/* Other ranks have no files but the one that they may have to begin from. */
attn_status at_ranks_open(attn_trainer *trainer) {
    if (at_rank_writes(trainer)) return at_output_open(trainer->context, &trainer->options, &trainer->files);
    trainer->files = (at_output){.descriptor = -1};
    return ATTN_OK;
}

/* The file that training begins from, as a number; 0: there is none, or rank 0 hands out what it has read. */
static attn_status find_start(attn_trainer *trainer, uint64_t *fingerprint) {
    int64_t resumed = trainer->resumes;
    attn_status status = at_ranks_number(trainer, &resumed);
    const at_safetensors *file = trainer->model->file;
    *fingerprint = file && !resumed ? at_safetensors_fingerprint(file) : 0;
    return status;
}

attn_status at_ranks_agree(attn_trainer *trainer) {
    attn_exchange *exchange = trainer->options.exchange;
    attn_context *context = trainer->context;
    const attn_trainer_options *options = &trainer->options;
    if (attn_exchange_ranks(exchange) == 1) return ATTN_OK;
    char program[96], run[96];
    snprintf(program, sizeof program, "%s, %s", attn_version(), at_isa_name(context->isa));
    snprintf(run, sizeof run, "%d %d %d %.17g", options->resume, options->more, options->fast_sum,
             options->seconds);
    const char *config = attn_config_print(trainer->config);
    if (!config) {
        at_ranks_apart(trainer, 1); /* the others wait for what this rank has */
        return ATTN_OUT_OF_MEMORY;
    }
    attn_status status = at_exchange_agree(
        exchange, context, "another version of attn, or kind of CPU,", program, strlen(program),
        "install the same version everywhere, and set ATTN_ISA to what all CPUs have (avx2)");
    if (status == ATTN_OK)
        status = at_exchange_agree(exchange, context, "other options of the run", run, strlen(run),
                                   "give all ranks the same options");
    if (status == ATTN_OK)
        status = at_exchange_agree(exchange, context, "other training data, development data or vectors",
                                   &trainer->fingerprint, sizeof trainer->fingerprint,
                                   "copy the files of rank 0 to all hosts");
    if (status == ATTN_OK) /* last: other data makes another configuration */
        status = at_exchange_agree(exchange, context, "another configuration", config, strlen(config),
                                   "give all ranks the same options and files");
    uint64_t start = 0;
    if (status == ATTN_OK) status = find_start(trainer, &start);
    if (status == ATTN_OK)
        status = at_exchange_agree(exchange, context, "another model to start from", &start, sizeof start,
                                   "copy the file of rank 0 to all hosts");
    return status;
}

void at_ranks_apart(attn_trainer *trainer, int apart) {
    if (trainer->options.exchange) trainer->options.exchange->apart = apart;
}

attn_status at_ranks_settle(attn_trainer *trainer, attn_status status, int *stop) {
    attn_exchange *exchange = trainer->options.exchange;
    int worst = status != ATTN_OK ? 2 : *stop != 0; /* one small exchange, as long as all is well */
    if (attn_exchange_ranks(exchange) == 1 || (status != ATTN_OK && attn_exchange_apart(exchange)))
        return status;
    attn_status told = at_exchange_largest(exchange, trainer->context, &worst);
    if (told != ATTN_OK) return status != ATTN_OK ? status : told;
    *stop = worst > 0;
    return worst > 1 ? at_exchange_settle(exchange, trainer->context, status) : ATTN_OK;
}

attn_status at_ranks_number(attn_trainer *trainer, int64_t *number) {
    return attn_exchange_broadcast(trainer->options.exchange, 0, number, sizeof *number);
}

attn_status at_ranks_timetable(attn_trainer *trainer) {
    return attn_exchange_broadcast(trainer->options.exchange, 0, &trainer->timetable,
                                   sizeof trainer->timetable);
}

/* ---- what rank 0 has read ---- */

enum { PIECE = 1 << 18 }; /* numbers that are sent at once */

typedef struct sending {
    attn_trainer *trainer;
    float *piece;
    int reads; /* this rank has the numbers */
} sending;

static attn_status send_parameter(const sending *now, attn_parameter *parameter) {
    attn_status status = ATTN_OK;
    for (int64_t first = 0; first < parameter->count && status == ATTN_OK; first += PIECE) {
        int64_t count = parameter->count - first < PIECE ? parameter->count - first : PIECE;
        if (now->reads) status = at_parameter_host_read(parameter, first, count, now->piece);
        if (status == ATTN_OK)
            status = attn_exchange_broadcast(now->trainer->options.exchange, 0, now->piece,
                                             (size_t)count * sizeof(float));
        if (status == ATTN_OK && !now->reads)
            status = at_parameter_host_write(parameter, first, count, now->piece);
    }
    return status;
}

static attn_status send_state(const sending *now, attn_optimizer *optimizer, int64_t index) {
    attn_tensor tensor;
    int64_t count = 1;
    attn_status status = attn_optimizer_state(optimizer, index, NULL, &tensor);
    if (status != ATTN_OK) return status;
    for (int d = 0; d < tensor.rank; d++) count *= tensor.shape[d];
    float *numbers = at_allocate(now->trainer->context, count, sizeof *numbers, "the state of the optimiser");
    if (!numbers) return ATTN_OUT_OF_MEMORY;
    if (now->reads) status = at_optimizer_host_read(optimizer, index, numbers);
    if (status == ATTN_OK)
        status = attn_exchange_broadcast(now->trainer->options.exchange, 0, numbers,
                                         (size_t)count * sizeof(float));
    if (status == ATTN_OK && !now->reads) status = at_optimizer_host_write(optimizer, index, numbers);
    at_release(now->trainer->context, numbers);
    return status;
}

static attn_status send_course(const sending *now, at_course *course) {
    attn_exchange *exchange = now->trainer->options.exchange;
    int64_t counters[3] = {course->epoch, course->batch, attn_optimizer_steps(course->optimizer)};
    attn_status status = attn_exchange_broadcast(exchange, 0, counters, sizeof counters);
    course->epoch = counters[0];
    course->batch = counters[1];
    if (status == ATTN_OK) status = attn_optimizer_set_steps(course->optimizer, counters[2]);
    const attn_parameters *set = course->stage->parameters;
    for (int64_t i = 0; i < attn_parameters_count(set) && status == ATTN_OK; i++)
        status = send_parameter(now, attn_parameters_at(set, i));
    for (int64_t i = 0; i < attn_optimizer_state_count(course->optimizer) && status == ATTN_OK; i++)
        status = send_state(now, course->optimizer, i);
    return status;
}

attn_status at_ranks_send(attn_trainer *trainer) {
    attn_exchange *exchange = trainer->options.exchange;
    if (attn_exchange_ranks(exchange) == 1) return ATTN_OK;
    at_ranks_apart(trainer, 1);
    sending now = {.trainer = trainer, .reads = attn_exchange_rank(exchange) == 0};
    now.piece = at_allocate(trainer->context, PIECE, sizeof *now.piece, "what is sent");
    if (!now.piece) return ATTN_OUT_OF_MEMORY;
    attn_status status = attn_exchange_broadcast(exchange, 0, &trainer->made, sizeof trainer->made);
    for (int i = 0; i < trainer->model->stage_count && status == ATTN_OK; i++)
        status = send_course(&now, &trainer->courses[i]);
    at_release(trainer->context, now.piece);
    at_ranks_apart(trainer, status != ATTN_OK);
    return status;
}
