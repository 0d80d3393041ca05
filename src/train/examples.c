/* examples.c: what a trainer learns from: the examples held out, the targets of a batch, and vectors to start
 * from. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/vectors.h"
#include "train/trainer.h"

enum { MOST_VECTORS = 200000 }; /* files put frequent words first */

/* Whether a pair is held out is drawn by its source: several right answers to one question stay together. */
static int64_t draw_sources(const attn_dataset *pairs, double part, unsigned char *held) {
    int64_t count = 0;
    for (int64_t i = 0; i < pairs->examples; i++) {
        uint64_t hash =
            at_hash(at_string(&pairs->tokens, i), at_string_length(&pairs->tokens, i), 0x686f6c64u);
        held[i] = (double)(at_splitmix64(hash) >> 11) / 9007199254740992.0 < part;
        count += held[i];
    }
    return count;
}

/* Selection sampling: each subset of `wanted` examples is as likely as any other. */
static void draw_examples(int64_t count, int64_t wanted, unsigned char *held) {
    int64_t taken = 0;
    for (int64_t i = 0; i < count; i++) {
        double draw = (double)(at_splitmix64((uint64_t)i ^ 0x686f6c64u) >> 11) / 9007199254740992.0;
        held[i] = draw * (double)(count - i) < (double)(wanted - taken);
        taken += held[i];
    }
}

/* Marks the examples to hold out, at least one and not all; how many. */
static int64_t draw(const attn_trainer *trainer, const attn_dataset *all, unsigned char *held) {
    int64_t count = all->examples, wanted = (int64_t)(trainer->values.hold_out * (double)count + 0.5);
    if (wanted < 1) wanted = 1;
    if (wanted > count - 1) wanted = count - 1; /* something is to be learned from, too */
    if (trainer->values.task == AT_TASK_LM) {   /* its end: the lines of a text belong together */
        for (int64_t i = 0; i < count; i++) held[i] = i >= count - wanted;
        return wanted;
    }
    if (trainer->values.task == AT_TASK_SEQ2SEQ) {
        int64_t drawn = draw_sources(all, trainer->values.hold_out, held);
        if (drawn > 0 && drawn < count) return drawn; /* else there are very few */
    }
    draw_examples(count, wanted, held);
    return wanted;
}

/* Which examples are held out does not depend on the seed of training, so that runs with different seeds can
 * be compared. */
attn_status at_trainer_hold_out(attn_trainer *trainer) {
    attn_context *context = trainer->context;
    const attn_dataset *all = trainer->train;
    int64_t count = all->examples;
    if (count < 2) { /* one example: it is all there is */
        trainer->dev = all;
        return ATTN_OK;
    }
    int64_t *order = at_allocate(context, count, sizeof *order, "the examples held out");
    unsigned char *held = at_allocate(context, count, 1, "the examples held out");
    attn_status status = order && held ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        int64_t out = draw(trainer, all, held), taken = 0, rested = out; /* those held out come first */
        for (int64_t i = 0; i < count; i++) order[held[i] ? taken++ : rested++] = i;
        status = attn_dataset_select(all, order, out, &trainer->own_dev);
        if (status == ATTN_OK)
            status = attn_dataset_select(all, order + out, count - out, &trainer->own_train);
    }
    at_release(context, order);
    at_release(context, held);
    if (status != ATTN_OK) return status;
    trainer->train = trainer->own_train;
    trainer->dev = trainer->own_dev;
    trainer->state.held_out = 1;
    return ATTN_OK;
}

/* Rows of the targets that a segment has: its units, or its example. */
static void rows_of(const attn_trainer *trainer, int64_t segment, int64_t *first, int64_t *count) {
    const at_segment *found = &trainer->segments.list[segment];
    *first = trainer->model->per_token ? found->first : found->example;
    *count = trainer->model->per_token ? found->count : 1;
}

/* The targets of a batch, output after output, in the order of its rows. */
attn_status at_trainer_gather(attn_trainer *trainer, const int64_t *order, int64_t count) {
    attn_context *context = trainer->context;
    const attn_model *model = trainer->model;
    int64_t rows = model->per_token ? trainer->batch.features.rows : count;
    int64_t classes = 0, numbers = 0;
    for (int i = 0; i < model->output_count; i++) {
        int64_t width =
            model->outputs[i].kind == ATTN_OUTPUT_LABELS ? model->outputs[i].labels.strings.count : 1;
        *(model->outputs[i].kind == ATTN_OUTPUT_CLASS ? &classes : &numbers) += rows * width;
    }
    attn_status status = at_grow(context, &trainer->classes, &trainer->class_room, classes,
                                 sizeof *trainer->classes, "the targets of a batch");
    if (status == ATTN_OK) {
        status = at_grow(context, &trainer->numbers, &trainer->number_room, numbers, sizeof *trainer->numbers,
                         "the targets of a batch");
    }
    if (status != ATTN_OK) return status;
    int32_t *class_at = trainer->classes;
    float *number_at = trainer->numbers;
    for (int i = 0; i < model->output_count; i++) {
        const at_output *output = &model->outputs[i];
        const at_target *target = &trainer->targets.outputs[i];
        int64_t width = output->kind == ATTN_OUTPUT_LABELS ? output->labels.strings.count : 1;
        trainer->batch_targets[i] = (at_batch_targets){class_at, number_at};
        for (int64_t s = 0; s < count; s++) {
            int64_t first, length;
            rows_of(trainer, order[s], &first, &length);
            if (output->kind == ATTN_OUTPUT_CLASS) {
                memcpy(class_at, target->classes + first, (size_t)length * sizeof *class_at);
                class_at += length;
                continue;
            }
            for (int64_t j = first * width; j < (first + length) * width; j++) {
                double number = target->numbers[j];
                if (output->kind == ATTN_OUTPUT_NUMBER) number = (number - output->mean) / output->deviation;
                *number_at++ = (float)number;
            }
        }
    }
    return ATTN_OK;
}

/* The vocabulary of vectors: "" without one first, then the words of the file, each once. */
attn_status at_trainer_read_vectors(attn_trainer *trainer) {
    if (!trainer->options.vectors) return ATTN_OK;
    attn_context *context = trainer->context;
    at_pretrained *pretrained = &trainer->model->pretrained;
    at_strings words = {0};
    float *numbers = NULL;
    int64_t columns = 0, number;
    attn_status status =
        at_vectors_read(context, trainer->options.vectors, MOST_VECTORS, &words, &numbers, &columns);
    if (status == ATTN_OK) status = at_vocabulary_add(context, &pretrained->words, "", 0, 1, &number);
    if (status == ATTN_OK) {
        trainer->vectors = at_allocate(context, (words.count + 1) * columns, sizeof *numbers, "vectors");
        if (!trainer->vectors) status = ATTN_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < words.count && status == ATTN_OK; i++) {
        int64_t before = pretrained->words.strings.count;
        status = at_vocabulary_add(context, &pretrained->words, at_string(&words, i),
                                   at_string_length(&words, i), 1, &number);
        if (status == ATTN_OK && number == before) /* of a word that stands there twice the first counts */
            memcpy(trainer->vectors + number * columns, numbers + i * columns,
                   (size_t)columns * sizeof *numbers);
    }
    at_strings_free(context, &words);
    at_release(context, numbers);
    if (status == ATTN_OK) pretrained->columns = columns;
    return status;
}

void at_trainer_start_vectors(attn_trainer *trainer) {
    attn_parameter *table = trainer->model->pretrained.table;
    if (!trainer->vectors || !table) return;
    attn_tensor value = attn_parameter_value(table);
    memcpy(value.data, trainer->vectors, (size_t)(value.shape[0] * value.shape[1]) * sizeof(float));
    attn_parameter_changed(table);
}
