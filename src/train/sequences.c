/* sequences.c: training of answers of their own length (seq2seq) and of running text (lm). */
#include <inttypes.h>
#include <stdio.h>

#include "base/context.h"
#include "base/memory.h"
#include "train/trainer.h"

enum { MOST_SYMBOLS = 1000000 }; /* that target.longest can be */

int at_trainer_of_sequences(const attn_trainer *trainer) { return at_model_says_symbols(trainer->model); }

static attn_status set_in_both(attn_trainer *trainer, const char *name, const char *value) {
    attn_status status = attn_config_set(trainer->config, name, value);
    if (status == ATTN_OK && trainer->model) status = attn_config_set(trainer->model->config, name, value);
    return status;
}

/* What the configuration leaves to the data: units, and what depends on how many examples there are. Who asks
 * for subwords, words or bytes means both sides. */
attn_status at_trainer_choose_units(attn_trainer *trainer) {
    static const char *const names[] = {"words", "chars", "bytes", "subwords", "symbols"};
    const at_config *values;
    attn_status status = at_config_values(trainer->config, &values);
    if (status == ATTN_OK && values->task == AT_TASK_LM && trainer->train->tokenized)
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has sentences of tokens; lm learns from lines of text",
                       at_string(&trainer->train->name, 0));
    if (status != ATTN_OK || values->task != AT_TASK_SEQ2SEQ) return status;
    if (trainer->train->columns.count != 1 || trainer->train->tokenized) {
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: seq2seq learns from pairs: source TAB target, or two files",
                       at_string(&trainer->train->name, 0));
    }
    at_unit unit = (at_unit)values->unit, target = (at_unit)values->target_unit;
    int64_t examples = values->examples;
    if (target == AT_UNIT_AUTO && unit != AT_UNIT_AUTO && unit != AT_UNIT_CHARS && unit != AT_UNIT_SYMBOLS)
        target = unit;
    if (unit == AT_UNIT_AUTO) status = at_text_guess(trainer->context, &trainer->train->tokens, &unit);
    if (status == ATTN_OK && target == AT_UNIT_AUTO)
        status = at_text_guess(trainer->context, &trainer->train->targets, &target);
    if (status == ATTN_OK) status = set_in_both(trainer, "text.unit", names[unit]);
    if (status == ATTN_OK) status = set_in_both(trainer, "target.unit", names[target]);
    if (status != ATTN_OK || examples > 0) return status;
    char count[32];
    snprintf(count, sizeof count, "%" PRId64, trainer->train->examples);
    return set_in_both(trainer, "training.examples", count);
}

static attn_status learn_pairs(attn_trainer *trainer) {
    attn_model *model = trainer->model;
    attn_status status = at_symbols_of(model, trainer->train, &trainer->symbols);
    if (status == ATTN_OK)
        status = at_segments_make(trainer->context, &trainer->units, at_config_longest(&trainer->values), 0,
                                  &trainer->segments);
    if (status != ATTN_OK) return status;
    for (int64_t s = 0; s < trainer->segments.count; s++) {
        at_segment *segment = &trainer->segments.list[s];
        int64_t length =
            trainer->symbols.offsets[segment->example + 1] - trainer->symbols.offsets[segment->example];
        segment->answer = length + 1;
        if (trainer->values.position != ATTN_POSITION_LEARNED || length < trainer->values.longest) continue;
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                       "%.200s:%" PRId64 ": the target has %" PRId64
                       " symbols; learned positions (encoder.longest) go to %" PRId64,
                       at_string(&trainer->train->name, 0), trainer->train->lines[segment->example], length,
                       trainer->values.longest);
    }
    if (trainer->values.target_longest > 0) return ATTN_OK;
    char text[32];
    int64_t longest = 2 * trainer->symbols.longest;
    if (longest < 10) longest = 10;
    if (longest > MOST_SYMBOLS) longest = MOST_SYMBOLS;
    snprintf(text, sizeof text, "%" PRId64, longest);
    trainer->values.target_longest = model->values.target_longest = longest;
    return set_in_both(trainer, "target.longest", text);
}

/* Readers see to it that every pair has a target. An answer that is far longer than any right one is wrong
 * whatever follows: development answers end there, not at twice the longest of all targets that were learned.
 */
attn_status at_trainer_look_at_dev(attn_trainer *trainer) {
    at_symbols symbols = {.examples = 0};
    if (trainer->values.task != AT_TASK_SEQ2SEQ || trainer->dev->columns.count != 1) return ATTN_OK;
    attn_status status = at_symbols_of(trainer->model, trainer->dev, &symbols);
    trainer->dev_longest = 2 * symbols.longest + 10;
    if (trainer->dev_longest > trainer->values.target_longest)
        trainer->dev_longest = trainer->values.target_longest;
    at_symbols_free(trainer->context, &symbols);
    return status;
}

static attn_status learn_running(attn_trainer *trainer) {
    attn_status status = at_running_said(trainer->model, &trainer->units, &trainer->running);
    if (status == ATTN_OK)
        status = at_running_segments(trainer->model, &trainer->units, at_config_longest(&trainer->values),
                                     &trainer->segments);
    return status;
}

attn_status at_trainer_learn_sequences(attn_trainer *trainer) {
    attn_status status = at_generator_learn(trainer->model, trainer->train);
    if (status == ATTN_OK) status = at_trainer_read_vectors(trainer);
    if (status == ATTN_OK) status = at_text_units(&trainer->model->text, trainer->train, &trainer->units);
    if (status != ATTN_OK) return status;
    return trainer->values.task == AT_TASK_LM ? learn_running(trainer) : learn_pairs(trainer);
}

/* The examples of the segments of a batch, or what is said after its units. */
attn_status at_trainer_sequences_loss(attn_trainer *trainer, const int64_t *order, int64_t count,
                                      attn_variable **loss) {
    attn_context *context = trainer->context;
    int lm = trainer->values.task == AT_TASK_LM;
    int64_t rows = trainer->batch.features.rows, row = 0;
    attn_status status = at_grow(context, &trainer->classes, &trainer->class_room, lm ? rows : 1,
                                 sizeof *trainer->classes, "the targets of a batch");
    int64_t *examples = at_allocate(context, count, sizeof *examples, "a batch");
    if (status == ATTN_OK && !examples) status = ATTN_OUT_OF_MEMORY;
    for (int64_t s = 0; s < count && status == ATTN_OK; s++) {
        const at_segment *segment = &trainer->segments.list[order[s]];
        examples[s] = segment->example;
        for (int64_t u = 0; lm && u < segment->count; u++)
            trainer->classes[row++] = trainer->running[segment->first + u];
    }
    if (status == ATTN_OK && !lm)
        status = at_decoding_make(context, &trainer->symbols, examples, count, &trainer->decoding);
    at_release(context, examples);
    if (status != ATTN_OK) return status;
    *loss = at_generator_loss(trainer->model, trainer->tape, &trainer->batch, lm ? NULL : &trainer->decoding,
                              lm ? trainer->classes : trainer->decoding.said);
    return ATTN_OK;
}
