/* prepare.c: what comes before the first step: what the configuration leaves to the data, the examples held
 * out, what the model learns from all of them, and whether the development data fits. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/trainer.h"

/* ---- the configuration ---- */

static attn_status set_value(void *user, const char *name, const char *value) {
    attn_trainer *trainer = user;
    attn_status status = attn_config_set(trainer->config, name, value);
    if (status == ATTN_OK && trainer->stage) status = attn_config_set(trainer->stage->config, name, value);
    return status;
}

/* Units, and how many examples there are: other defaults depend on them. */
static attn_status choose_from_data(attn_trainer *trainer, const attn_dataset *train) {
    at_config values;
    attn_status status = at_config_values(trainer->config, &values);
    if (status != ATTN_OK) return status;
    const at_head_kind *head = at_head_find(values.task->head);
    at_head_config config;
    at_config_head(&values, &config);
    int64_t examples = values.training->examples;
    at_unit source = values.input->unit ? values.input->unit(values.input_values) : AT_UNIT_AUTO;
    if (strcmp(train->kind->input, values.input->name) != 0)
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: is of input %s, the configuration says %s", attn_dataset_name(train),
                       train->kind->input, values.input->name);
    if (head->choose) status = head->choose(&config, train, source, set_value, trainer);
    if (status == ATTN_OK && values.input->choose)
        status = values.input->choose(values.input_values, train, set_value, trainer);
    if (status != ATTN_OK || examples > 0 || !values.task->chooses) return status;
    char count[32];
    snprintf(count, sizeof count, "%" PRId64, train->examples);
    trainer->counted = 1;
    return set_value(trainer, "training.examples", count);
}

/* ---- what is held out ---- */

static double fraction(uint64_t word) { return (double)(word >> 11) / 9007199254740992.0; }

/* By the input: several right answers to one question stay together. */
static int64_t draw_inputs(const attn_dataset *all, double part, unsigned char *held) {
    int64_t count = 0;
    for (int64_t e = 0; e < all->examples; e++) {
        uint64_t hash = all->kind->hash(all->content, all->offsets[e], all->offsets[e + 1], 0x686f6c64u);
        held[e] = fraction(at_splitmix64(hash)) < part;
        count += held[e];
    }
    return count;
}

/* Selection sampling: each subset of `wanted` examples is as likely as any other. */
static void draw_examples(int64_t count, int64_t wanted, unsigned char *held) {
    int64_t taken = 0;
    for (int64_t i = 0; i < count; i++) {
        double draw = fraction(at_splitmix64((uint64_t)i ^ 0x686f6c64u));
        held[i] = draw * (double)(count - i) < (double)(wanted - taken);
        taken += held[i];
    }
}

/* Marks the examples to hold out, at least one and not all; how many. */
static int64_t draw(at_hold_out how, double part, const attn_dataset *all, unsigned char *held) {
    int64_t count = all->examples, wanted = (int64_t)(part * (double)count + 0.5);
    if (wanted < 1) wanted = 1;
    if (wanted > count - 1) wanted = count - 1; /* something is to be learned from, too */
    if (how == AT_HOLD_END) {
        for (int64_t i = 0; i < count; i++) held[i] = i >= count - wanted;
        return wanted;
    }
    if (how == AT_HOLD_INPUTS) {
        int64_t drawn = draw_inputs(all, part, held);
        if (drawn > 0 && drawn < count) return drawn; /* else there are very few */
    }
    draw_examples(count, wanted, held);
    return wanted;
}

/* Which examples are held out does not depend on the seed of training, so that runs with different seeds can
 * be compared. */
static attn_status hold_out(attn_trainer *trainer, at_hold_out how, const attn_dataset *all) {
    attn_context *context = trainer->context;
    int64_t count = all->examples;
    if (count < 2) { /* one example: it is all there is */
        trainer->dev.dataset = all;
        return ATTN_OK;
    }
    int64_t *order = at_allocate(context, count, sizeof *order, "the examples held out");
    unsigned char *held = at_allocate(context, count, 1, "the examples held out");
    attn_status status = order && held ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        int64_t out = draw(how, trainer->values.hold_out, all, held), taken = 0;
        int64_t rested = out; /* those held out come first */
        for (int64_t i = 0; i < count; i++) order[held[i] ? taken++ : rested++] = i;
        status = attn_dataset_select(all, order, out, &trainer->dev.own);
        if (status == ATTN_OK)
            status = attn_dataset_select(all, order + out, count - out, &trainer->train.own);
    }
    at_release(context, order);
    at_release(context, held);
    if (status != ATTN_OK) return status;
    trainer->train.dataset = trainer->train.own;
    trainer->dev.dataset = trainer->dev.own;
    trainer->state.held_out = 1;
    return ATTN_OK;
}

/* ---- what is learned from the data ---- */

/* What training cannot use is found now, and what the heads conclude from the targets. */
static attn_status finish_learning(attn_trainer *trainer) {
    at_stage *stage = trainer->stage;
    attn_status status = ATTN_OK;
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        at_head *head = stage->heads[i];
        char name[AT_FIELD_TEXT_BYTES] = "", value[AT_FIELD_TEXT_BYTES] = "";
        if (head->kind->check)
            status = head->kind->check(head, trainer->train.encoded, trainer->train.targets[i]);
        if (status == ATTN_OK && head->kind->finish_learning)
            status = head->kind->finish_learning(head, trainer->train.targets[i], name, value);
        if (status == ATTN_OK && *name) status = set_value(trainer, name, value);
    }
    return status == ATTN_OK ? at_config_values(stage->config, &stage->values) : status;
}

static attn_status learn(attn_trainer *trainer) {
    at_stage *stage = trainer->stage;
    at_training_data *train = &trainer->train;
    attn_context *context = trainer->context;
    attn_status status = trainer->model->file ? at_stage_learn_more(stage, train->dataset, &train->encoded)
                                              : at_stage_learn(stage, train->dataset,
                                                               trainer->options.vectors, &train->encoded);
    if (status != ATTN_OK) return status;
    stage->forward.longest = at_config_longest(stage->values.encoder, stage->input->longest);
    status = at_stage_targets(stage, context, train->encoded, &train->targets);
    if (status == ATTN_OK) status = finish_learning(trainer);
    if (status == ATTN_OK)
        status = stage->heads[0]->kind->segments(stage->heads[0], &stage->forward, train->encoded,
                                                 train->targets[0], &trainer->segments);
    if (status != ATTN_OK) return status;
    if (trainer->segments.count == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: has nothing to learn from",
                       attn_dataset_name(train->dataset));
    trainer->rows_an_epoch = train->encoded->rows;
    for (int i = 0; i < stage->head_count; i++) trainer->rows_an_epoch += train->targets[i]->all_extra_rows;
    const char *usual = stage->input->kind->metric ? stage->input->kind->metric(stage->input) : NULL;
    if (!usual) usual = stage->heads[0]->kind->metric(stage->heads[0]);
    trainer->metric = *trainer->values.metric ? trainer->values.metric : usual;
    status = stage->input->kind->create_batch(context, &trainer->batch);
    return status;
}

/* What does not fit the heads is found now, not after the first epoch; the development data is encoded once.
 */
static attn_status prepare_dev(attn_trainer *trainer) {
    at_stage *stage = trainer->stage;
    at_training_data *dev = &trainer->dev;
    attn_status status = at_stage_encode(stage, trainer->context, NULL, dev->dataset, NULL, &dev->encoded);
    if (status == ATTN_OK) status = at_stage_targets(stage, trainer->context, dev->encoded, &dev->targets);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++)
        if (stage->heads[i]->kind->labelled(stage->heads[i], dev->encoded, dev->targets[i]) >= 0)
            return ATTN_OK;
    if (status != ATTN_OK) return status;
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                   "%.200s: has no labels, so that no model can be chosen by it",
                   attn_dataset_name(dev->dataset));
}

attn_status at_trainer_prepare(attn_trainer *trainer, const attn_dataset *train, const attn_dataset *dev) {
    at_config values;
    attn_status status = choose_from_data(trainer, train);
    if (status == ATTN_OK) status = at_config_values(trainer->config, &values);
    if (status != ATTN_OK) return status;
    trainer->values = *values.training;
    trainer->train.dataset = train;
    trainer->dev.dataset = dev;
    if (!dev) status = hold_out(trainer, values.task->hold_out, train);
    if (status == ATTN_OK) status = at_model_create(trainer->config, &trainer->model);
    if (status != ATTN_OK) return status;
    trainer->stage = at_main_stage(trainer->model);
    status = at_start_open(trainer);
    if (status == ATTN_OK) status = attn_tape_create(trainer->context, &trainer->tape);
    if (status == ATTN_OK) status = learn(trainer);
    if (status == ATTN_OK) status = prepare_dev(trainer);
    if (status != ATTN_OK) return status;
    const at_input *input = trainer->stage->input;
    trainer->fingerprint =
        at_dataset_fingerprint(trainer->dev.dataset, at_dataset_fingerprint(trainer->train.dataset, 0));
    if (input->kind->fingerprint)
        trainer->fingerprint = input->kind->fingerprint(input, trainer->fingerprint);
    return ATTN_OK;
}
