/* prepare.c: preparation of a run: values that the configuration leaves to the data, the held-out examples,
 * what the model learns from all data, and whether the development data fits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/parts.h"
#include "data/similar.h"
#include "train/trainer.h"

/* ---- the configuration ---- */

static attn_status set_value(void *user, const char *name, const char *value) {
    return attn_config_set(((attn_trainer *)user)->config, name, value);
}

attn_status at_course_set(at_course *course, const char *name, const char *value) {
    attn_status status = attn_config_set(course->stage->config, name, value);
    if (status != ATTN_OK || course != at_main_course(course->trainer)) return status;
    return attn_config_set(course->trainer->config, name, value);
}

/* A run of a given time does not end earlier, unless the caller sets the patience. A time that is a bound
 * changes nothing. */
static attn_status choose_patience(attn_trainer *trainer) {
    int index = 0;
    if (trainer->options.seconds <= 0 || trainer->options.at_most) return ATTN_OK;
    while (index < attn_config_count() && strcmp(attn_config_name(index), "training.patience") != 0) index++;
    return attn_config_given(trainer->config, index) ? ATTN_OK : set_value(trainer, "training.patience", "0");
}

/* Units, and how many examples there are: other defaults depend on them. */
static attn_status choose_from_data(attn_trainer *trainer, const attn_dataset *train) {
    at_config values;
    attn_status status = choose_patience(trainer);
    if (status == ATTN_OK) status = at_config_values(trainer->config, &values);
    if (status != ATTN_OK) return status;
    const at_head_kind *head = at_head_chosen(values.task->head, values.output);
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
    if (status != ATTN_OK || examples > 0 || !(values.task->counts || values.input->counts)) return status;
    char count[32];
    snprintf(count, sizeof count, "%" PRId64, train->examples);
    trainer->counted = 1;
    return set_value(trainer, "training.examples", count);
}

/* ---- what is held out ---- */

static double fraction(uint64_t word) { return (double)(word >> 11) / 9007199254740992.0; }

/* By the input: several references to one question stay together. */
static int64_t draw_inputs(const attn_dataset *all, double part, unsigned char *held) {
    int64_t count = 0;
    for (int64_t e = 0; e < all->examples; e++) {
        uint64_t hash = all->kind->hash(all->content, all->offsets[e], all->offsets[e + 1], 0x686f6c64u);
        held[e] = fraction(at_splitmix64(hash)) < part;
        count += held[e];
    }
    return count;
}

enum { MOST_HELD_OUT = 50000 };

/* Selection sampling: each subset of `wanted` examples is as likely as any other. */
static void draw_examples(int64_t count, int64_t wanted, unsigned char *held) {
    int64_t taken = 0;
    for (int64_t i = 0; i < count; i++) {
        double draw = fraction(at_splitmix64((uint64_t)i ^ 0x686f6c64u));
        held[i] = draw * (double)(count - i) < (double)(wanted - taken);
        taken += held[i];
    }
}

/* How many examples are to be held out, at least one and not all. Of very many examples a smaller part says
 * as much, and an evaluation would last for hours. */
static int64_t count_wanted(double *part, int64_t count) {
    if (*part * (double)count > MOST_HELD_OUT) *part = MOST_HELD_OUT / (double)count;
    int64_t wanted = (int64_t)(*part * (double)count + 0.5);
    if (wanted < 1) return 1;
    return wanted > count - 1 ? count - 1 : wanted; /* something is to be learned from, too */
}

/* Marks the examples to hold out, one by one; how many. */
static int64_t draw(at_hold_out how, double part, const attn_dataset *all, unsigned char *held) {
    int64_t count = all->examples, wanted = count_wanted(&part, count);
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

typedef struct unit_reader {
    const attn_dataset *dataset;
    const at_input_kind *kind;
} unit_reader;

static attn_status read_units(const void *user, attn_context *context, int64_t example,
                              at_unit_hashes *units) {
    const unit_reader *reader = user;
    return reader->kind->units(reader->dataset, context, example, units);
}

/* The sides of all examples. Where the input can tell what is alike, that is not learned from. */
static attn_status draw_sides(attn_trainer *trainer, at_hold_out how, const at_input_kind *kind,
                              const attn_dataset *all, unsigned char *sides, at_apart *apart) {
    double part = trainer->values.hold_out;
    *apart = (at_apart){.held = 0};
    if (how != AT_HOLD_END && kind->units && trainer->values.hold_out_groups) {
        const unit_reader reader = {all, kind};
        const at_unit_source source = {&reader, all->examples, read_units};
        attn_status status =
            at_hold_apart(trainer->context, &source, count_wanted(&part, all->examples), sides, apart);
        if (status != ATTN_OK || apart->held > 0) return status;
        trainer->state.held_alike = 1;
    }
    apart->held = draw(how, part, all, sides);
    return ATTN_OK;
}

/* Which examples are held out does not depend on the seed of training, so that runs with different seeds can
 * be compared. */
static attn_status hold_out(attn_trainer *trainer, at_hold_out how, const at_input_kind *kind,
                            const attn_dataset *all) {
    attn_context *context = trainer->context;
    at_training_data *train = &at_main_course(trainer)->train, *dev = &at_main_course(trainer)->dev;
    attn_dataset *whole = train->own; /* the part of a file that is for training */
    int64_t count = all->examples;
    trainer->state.held_out = 1;
    if (count < 2 && all->per_row && kind->unordered)
        return at_dataset_hold_rows(all, trainer->values.hold_out, &train->own, &dev->own);
    trainer->state.held_out = 0;
    if (count < 2) { /* one example: it is all there is */
        dev->dataset = all;
        return ATTN_OK;
    }
    int64_t *order = at_allocate(context, count, sizeof *order, "the examples held out");
    unsigned char *sides = at_allocate(context, count, 1, "the examples held out");
    at_apart apart;
    attn_status status = order && sides ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = draw_sides(trainer, how, kind, all, sides, &apart);
    if (status == ATTN_OK) {
        int64_t taken = 0, rested = apart.held; /* those held out come first */
        for (int64_t i = 0; i < count; i++)
            if (sides[i] != AT_SIDE_LEFT) order[sides[i] == AT_SIDE_HELD ? taken++ : rested++] = i;
        status = attn_dataset_select(all, order, apart.held, &dev->own);
        if (status == ATTN_OK)
            status = attn_dataset_select(all, order + apart.held, rested - apart.held, &train->own);
        trainer->state.left_out = apart.left;
    }
    at_release(context, order);
    at_release(context, sides);
    if (status != ATTN_OK) return status;
    if (whole) attn_dataset_destroy(whole);
    trainer->state.held_out = 1;
    return ATTN_OK;
}

/* What the data is for, if it says so itself: a part of it for training, another to choose models by. Without
 * one to choose by, the rows that are learned from are those that models are chosen by, as there is no other
 * way to tell how many of them are needed; examples are held out. */
static attn_status take_parts(attn_trainer *trainer, const attn_dataset *train, const attn_dataset *dev) {
    at_training_data *learned = &at_main_course(trainer)->train, *chosen = &at_main_course(trainer)->dev;
    attn_status status = ATTN_OK;
    learned->dataset = train;
    chosen->dataset = dev;
    if (train->part_count) {
        status = attn_dataset_part(train, ATTN_PART_TRAIN, &learned->own);
        learned->dataset = learned->own;
    }
    if (status != ATTN_OK || (dev && !dev->part_count)) return status;
    const attn_dataset *from = dev ? dev : train;
    if (dev || attn_dataset_part_size(from, ATTN_PART_VAL) > 0) {
        status = attn_dataset_part(from, ATTN_PART_VAL, &chosen->own);
        chosen->dataset = chosen->own;
    } else if (!dev && train->part_count && at_dataset_splits_rows(train)) {
        chosen->dataset = learned->dataset;
    }
    return status;
}

/* ---- the splitter ---- */

static attn_status set_splitter(void *user, const char *name, const char *value) {
    return attn_config_set(user, name, value);
}

/* The configuration of the splitter: seed and steps are those of the main network. */
static attn_status configure_splitter(attn_trainer *trainer, const at_config *values, attn_config *config) {
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRId64, trainer->values.seed);
    attn_status status = attn_config_set(config, "task", values->task->name);
    if (status == ATTN_OK) status = attn_config_set(config, "input", values->input->name);
    return status == ATTN_OK ? attn_config_set(config, "training.seed", seed) : status;
}

/* A second course, where the input has raw data and the training data shows how it is cut. */
static attn_status add_splitter(attn_trainer *trainer, const at_config *values) {
    at_course *main = at_main_course(trainer), *splitter = &trainer->courses[1];
    const at_input_kind *kind = values->input;
    attn_config *config;
    if (!kind->teach || trainer->options.main_only) return ATTN_OK;
    attn_status status = attn_config_create(trainer->context, &config);
    if (status != ATTN_OK) return status;
    const char *why = NULL;
    splitter->trainer = trainer;
    status = configure_splitter(trainer, values, config);
    if (status == ATTN_OK)
        status = kind->teach(values->input_values, main->train.dataset, set_splitter, config,
                             &splitter->train.own, &why);
    trainer->state.no_splitter = why;
    at_config own;
    if (status == ATTN_OK && splitter->train.own) status = at_config_values(config, &own);
    if (status == ATTN_OK && splitter->train.own)
        status =
            kind->teach(own.input_values, main->dev.dataset, set_splitter, config, &splitter->dev.own, &why);
    if (status == ATTN_OK && splitter->dev.own) {
        splitter->train.dataset = splitter->train.own;
        splitter->dev.dataset = splitter->dev.own;
        splitter->loaded = at_model_has_splitter(trainer->model->file);
        status = splitter->loaded ? at_model_load_splitter(trainer->model, trainer->model->file)
                                  : at_model_add_splitter(trainer->model, config);
        if (status == ATTN_OK) splitter->stage = at_splitter_stage(trainer->model);
        if (status == ATTN_OK) status = at_course_prepare(splitter, NULL);
    }
    attn_config_destroy(config);
    return status;
}

/* ---- all of it ---- */

/* Where rows are split: those with targets; else 0. */
static int64_t labelled_rows(const attn_dataset *dataset) {
    int64_t count = 0, columns = dataset->columns.count;
    if (!at_dataset_splits_rows(dataset)) return 0;
    for (int64_t row = 0; row < dataset->rows; row++) {
        int any = 0;
        for (int64_t c = row * columns; c < (row + 1) * columns; c++)
            any |= at_string(&dataset->targets, c)[0] != 0;
        count += any;
    }
    return count;
}

attn_status at_trainer_prepare(attn_trainer *trainer, const attn_dataset *train, const attn_dataset *dev) {
    at_config values;
    at_course *main = at_main_course(trainer);
    main->trainer = trainer;
    attn_status status = take_parts(trainer, train, dev);
    if (status == ATTN_OK) status = at_checkpoint_adopt(trainer, "training.hold_out_groups");
    if (status == ATTN_OK) status = choose_from_data(trainer, main->train.dataset);
    if (status == ATTN_OK) status = at_config_values(trainer->config, &values);
    if (status != ATTN_OK) return status;
    trainer->values = *values.training;
    if (!main->dev.dataset) {
        status = hold_out(trainer, values.task->hold_out, values.input, main->train.dataset);
        if (main->train.own) main->train.dataset = main->train.own;
        if (main->dev.own) main->dev.dataset = main->dev.own;
    }
    if (status == ATTN_OK) status = at_model_create(trainer->config, &trainer->model);
    if (status != ATTN_OK) return status;
    at_stage *stage = main->stage = at_main_stage(trainer->model);
    status = at_start_open(trainer);
    if (status == ATTN_OK) status = at_tapes_create(trainer->context, &trainer->tapes);
    if (status == ATTN_OK) status = at_course_prepare(main, trainer->options.vectors);
    if (status == ATTN_OK) status = at_config_values(trainer->config, &values);
    if (status == ATTN_OK) status = add_splitter(trainer, &values);
    if (status != ATTN_OK) return status;
    const at_input *input = stage->input;
    trainer->state.row = attn_input_row(input->kind->name);
    trainer->state.train_rows = labelled_rows(main->train.dataset);
    if (main->dev.dataset != main->train.dataset) trainer->state.dev_rows = labelled_rows(main->dev.dataset);
    const char *usual = input->kind->metric ? input->kind->metric(input) : NULL;
    if (!usual) usual = stage->heads[0]->kind->metric(stage->heads[0]);
    trainer->metric = *trainer->values.metric ? trainer->values.metric : usual;
    trainer->fingerprint =
        at_dataset_fingerprint(main->dev.dataset, at_dataset_fingerprint(main->train.dataset, 0));
    const at_course *splitter = &trainer->courses[1];
    if (splitter->stage) /* raw text also comes from comments, which are no part of the examples */
        trainer->fingerprint = at_dataset_fingerprint(
            splitter->dev.dataset, at_dataset_fingerprint(splitter->train.dataset, trainer->fingerprint));
    if (input->kind->fingerprint)
        trainer->fingerprint = input->kind->fingerprint(input, trainer->fingerprint);
    return ATTN_OK;
}
