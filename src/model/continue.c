/* continue.c: how a language model goes on with a text.
 *
 * What was said so far, up to text.longest units of it, goes through the network anew for every unit:
 * recurrent and convolutional networks go the same way as attention.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/model.h"

#include <attn/generate.h>

int attn_model_continues(const attn_model *model) { return model && model->values.task == AT_TASK_LM; }

void attn_sampling_options_init(attn_sampling_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->tokens = 200;
    options->temperature = 1;
    options->seed = 1;
}

typedef struct choice {
    double probability;
    int32_t symbol;
} choice;

typedef struct sampling {
    attn_model *model;
    attn_sampling_options options;
    at_units units; /* what was said */
    at_segments segments;
    at_batch batch;
    double *probability; /* [symbols] */
    choice *choices;     /* [symbols] */
    at_joined text;
} sampling;

/* The prompt as units: its lines, without the end of the last. */
static attn_status take_prompt(sampling *work, const char *prompt) {
    attn_model *model = work->model;
    attn_dataset *lines;
    attn_reader_options reader;
    attn_reader_options_init(&reader);
    reader.format = ATTN_FORMAT_LINES;
    reader.labelled = 0;
    if (strncmp(prompt, "\xef\xbb\xbf", 3) == 0) prompt += 3; /* a reader would pass over it, too */
    size_t length = strlen(prompt);
    int open = length > 0 && prompt[length - 1] != '\n';
    attn_status status = attn_dataset_parse(model->context, "the prompt", 1, length ? prompt : "\n",
                                            length ? length : 1, &reader, &lines);
    if (status != ATTN_OK) return status;
    status = at_text_units(&model->text, lines, &work->units);
    attn_dataset_destroy(lines);
    if (status != ATTN_OK) return status;
    int64_t count = work->units.units.count;
    if (open || length == 0) count--; /* the line goes on */
    work->units.units.count = count;
    work->text.started = open;
    return ATTN_OK;
}

/* The probabilities of what comes next, with temperature 1. */
static attn_status next_probabilities(sampling *work) {
    attn_model *model = work->model;
    int64_t count = work->units.units.count, longest = at_config_longest(&model->values), zero = 0;
    int64_t rows = count < longest ? count : longest, symbols = model->target->vocabulary.strings.count;
    at_segment window = {0, count - rows, rows, 0};
    work->segments = (at_segments){&window, 1, 1};
    attn_status status =
        at_batch_make(&model->text, model->pretrained.columns ? &model->pretrained.words : NULL, &work->units,
                      &work->segments, &zero, 1, NULL, &work->batch);
    work->segments = (at_segments){NULL, 0, 0};
    if (status != ATTN_OK) return status;
    memset(work->probability, 0, (size_t)symbols * sizeof *work->probability);
    for (int m = 0; m < model->members; m++) {
        const at_network *network = &model->networks[m];
        attn_tape_begin(model->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_network_apply(model, network, model->tape, &work->batch);
        int64_t last = rows - 1;
        x = attn_tape_gather(model->tape, x, &last, 1);
        x = attn_tape_softmax(model->tape, at_generator_say(model, network, model->tape, x));
        status = attn_tape_status(model->tape);
        if (status != ATTN_OK) return at_fail(model->context, status, "%s", attn_tape_error(model->tape));
        for (int64_t s = 0; s < symbols; s++)
            work->probability[s] += (double)attn_variable_data(x)[s] / model->members;
    }
    double sum = 0;
    for (int64_t s = 0; s < symbols; s++) sum += work->probability[s];
    if (!(sum > 0))
        return at_fail(model->context, ATTN_NOT_FINITE,
                       "the model says what is not a number: its weights are broken");
    return ATTN_OK;
}

/* The likeliest first; of equal ones the smaller number. */
static int compare_choices(const void *left, const void *right) {
    const choice *a = left, *b = right;
    if (a->probability != b->probability) return a->probability > b->probability ? -1 : 1;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* choices: those of which one is taken, likeliest first. Symbol 0, a unit that is not known, cannot be said;
 * what is not a number is not likely. */
static int64_t sort_choices(sampling *work) {
    const attn_sampling_options *options = &work->options;
    int64_t symbols = work->model->target->vocabulary.strings.count, count = 0;
    for (int64_t s = 1; s < symbols; s++) {
        double p = work->probability[s];
        work->choices[count++] = (choice){p > 0 ? p : 0, (int32_t)s};
    }
    if (count > 1) qsort(work->choices, (size_t)count, sizeof *work->choices, compare_choices);
    int64_t most = options->temperature == 0 ? 1 : options->top_k;
    return most > 0 && most < count ? most : count;
}

static int32_t choose(sampling *work, int64_t number) {
    const attn_sampling_options *options = &work->options;
    int64_t count = sort_choices(work);
    choice *choices = work->choices;
    if (count == 0) return 0; /* there is nothing to be said */
    double highest = choices[0].probability, sum = 0;
    if (!(highest > 0) || count == 1) return choices[0].symbol;
    for (int64_t i = 0; i < count; i++) { /* relative to the highest: small temperatures do not overflow */
        double p = choices[i].probability;
        choices[i].probability = p > 0 ? exp(log(p / highest) / options->temperature) : 0;
        sum += choices[i].probability;
    }
    uint64_t word = at_splitmix64(at_splitmix64(options->seed) ^ at_splitmix64((uint64_t)number));
    double draw = (double)(word >> 11) / 9007199254740992.0 * sum;
    for (int64_t i = 0; i < count; i++) {
        draw -= choices[i].probability;
        if (draw < 0) return choices[i].symbol;
    }
    return choices[0].symbol;
}

static attn_status add_said(sampling *work, int32_t symbol) {
    attn_model *model = work->model;
    const at_strings *strings = &model->target->vocabulary.strings;
    at_units *units = &work->units;
    attn_status status = at_strings_add(model->context, &units->units, at_string(strings, symbol),
                                        at_string_length(strings, symbol));
    if (status == ATTN_OK)
        status = at_text_append(model->target, at_string(strings, symbol), at_string_length(strings, symbol),
                                &work->text);
    return status;
}

static attn_status go_on(sampling *work, const char *prompt) {
    attn_model *model = work->model;
    int64_t symbols = model->target->vocabulary.strings.count, ready = 0;
    work->probability = at_allocate(model->context, symbols, sizeof *work->probability, "probabilities");
    work->choices = at_allocate(model->context, symbols, sizeof *work->choices, "probabilities");
    if (!work->probability || !work->choices) return ATTN_OUT_OF_MEMORY;
    attn_status status = take_prompt(work, prompt);
    if (status == ATTN_OK)
        status = at_grow(model->context, &work->text.bytes, &work->text.room, 1, 1, "a text");
    if (status == ATTN_OK) work->text.bytes[0] = 0;
    for (int64_t i = 0; i < work->options.tokens && status == ATTN_OK; i++) {
        status = next_probabilities(work);
        if (status == ATTN_OK) status = add_said(work, choose(work, i));
        if (status != ATTN_OK || !work->options.watch) continue;
        int64_t whole = at_joined_mend(&work->text, ready, i + 1 == work->options.tokens);
        char kept = work->text.bytes[whole];
        work->text.bytes[whole] = 0;
        int stop = whole > ready && work->options.watch(work->options.user, work->text.bytes + ready);
        work->text.bytes[whole] = kept;
        ready = whole;
        if (stop) break;
    }
    if (status == ATTN_OK) at_joined_mend(&work->text, ready, 1);
    return status;
}

attn_status attn_model_continue(attn_model *model, const char *prompt, const attn_sampling_options *options,
                                char **text) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    sampling work = {.model = model};
    attn_sampling_options_init(&work.options);
    if (!prompt || !text || (options && options->size != sizeof *options))
        return at_fail(model->context, ATTN_INVALID_ARGUMENT,
                       "prompt or text is NULL, or attn_sampling_options_init was not called");
    if (options) work.options = *options;
    if (!attn_model_continues(model))
        return at_fail(model->context, ATTN_UNSUPPORTED,
                       "a model of task %s does not continue texts: lm does",
                       attn_config_get(model->config, "task"));
    if (work.options.tokens < 0 || !(work.options.temperature >= 0 && work.options.temperature <= 1000) ||
        work.options.top_k < 0)
        return at_fail(model->context, ATTN_INVALID_ARGUMENT,
                       "tokens and top_k are 0 or more, temperature is from 0 to 1000");
    attn_status status = go_on(&work, prompt);
    at_units_free(model->context, &work.units);
    at_batch_free(model->context, &work.batch);
    at_release(model->context, work.probability);
    at_release(model->context, work.choices);
    if (status != ATTN_OK) {
        at_release(model->context, work.text.bytes);
        return status;
    }
    *text = work.text.bytes;
    return ATTN_OK;
}

void attn_text_destroy(attn_model *model, char *text) {
    if (model) at_release(model->context, text);
}
