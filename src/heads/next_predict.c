/* next_predict.c: continuing a text with a language model.
 *
 * Units are pushed one by one: the state of earlier units is kept (model/steps.c), so that a unit costs one
 * row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/random.h"
#include "heads/next.h"
#include "heads/work.h"

void attn_sampling_options_init_sized(attn_sampling_options *options, size_t size) {
    attn_sampling_options own = {.size = sizeof own};
    own.tokens = 200;
    own.temperature = 1;
    own.seed = 1;
    at_options_give(options, size, &own, sizeof own);
}

static const at_field fields[] = {
    AT_INTEGER("tokens", attn_sampling_options, tokens, 0, 1e9, "200", "units to generate"),
    AT_NUMBER("temperature", attn_sampling_options, temperature, 0, 1000, "1",
              "of sampling: above 1 more varied, 0 always the likeliest"),
    AT_INTEGER("top-k", attn_sampling_options, top_k, 0, 1e9, "0",
               "sample from the K likeliest units only; 0: all"),
    AT_INTEGER("seed", attn_sampling_options, seed, 0, AT_MANY, "1", "seed of sampling"),
};
const at_fields at_next_setting_fields = {fields, 4, sizeof(attn_sampling_options), NULL, 0};

typedef struct choice {
    double probability;
    int32_t symbol;
} choice;

/* Kept from call to call. */
typedef struct next_state {
    double *probability; /* [symbols] */
    choice *choices;     /* [symbols] */
    at_joined text;
    int64_t ready; /* bytes of the text that the caller has seen */
    char *said;    /* continuations of examples, one after another */
    int64_t said_count, said_room;
} next_state;

void at_next_free_state(attn_context *context, void *state) {
    next_state *own = state;
    at_release(context, own->probability);
    at_release(context, own->choices);
    at_release(context, own->text.bytes);
    at_release(context, own->said);
    at_release(context, own);
}

static int64_t symbols_of(const at_head *head) { return head->source->vocabulary.strings.count; }

static attn_status begin(const at_head *head, const at_forward *forward, at_work *work) {
    attn_context *context = work->context;
    if (!work->state) work->state = at_allocate(context, 1, sizeof(next_state), "a continuation");
    next_state *state = work->state;
    if (!state) return ATTN_OUT_OF_MEMORY;
    if (!state->probability) /* also where memory ran out the last time */
        state->probability =
            at_allocate(context, symbols_of(head), sizeof *state->probability, "probabilities");
    if (!state->choices)
        state->choices = at_allocate(context, symbols_of(head), sizeof *state->choices, "probabilities");
    if (!state->probability || !state->choices) return ATTN_OUT_OF_MEMORY;
    attn_status status = at_grow(context, &state->text.bytes, &state->text.room, 1, 1, "a text");
    if (status != ATTN_OK) return status;
    state->text.bytes[0] = 0;
    state->text.count = state->ready = state->text.started = 0;
    return forward->begin_steps(forward, context, &work->steps);
}

/* The probabilities of what comes next, with temperature 1: the mean over the networks. */
static attn_status next(const at_head *head, const at_forward *forward, at_work *work,
                        const double **probabilities) {
    next_state *state = work->state;
    int64_t symbols = symbols_of(head);
    double sum = 0;
    attn_status status = forward->push_steps(forward, work->steps);
    memset(state->probability, 0, (size_t)symbols * sizeof *state->probability);
    for (int n = 0; n < forward->networks && status == ATTN_OK; n++) {
        attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = forward->step(forward, work->steps, n, work->tape);
        int64_t last = attn_variable_rows(x) - 1;
        if (last > 0) x = attn_tape_gather(work->tape, x, &last, 1);
        x = attn_tape_softmax(work->tape, at_sequence_logits(head, head->layers[n], work->tape, x));
        status = attn_tape_status(work->tape);
        if (status != ATTN_OK) return at_fail(work->context, status, "%s", attn_tape_error(work->tape));
        status = at_host_rows_of(x, &work->host);
        for (int64_t s = 0; s < symbols && status == ATTN_OK; s++)
            state->probability[s] += (double)work->host.data[s] / forward->networks;
    }
    if (status != ATTN_OK) return status;
    for (int64_t s = 0; s < symbols; s++) sum += state->probability[s];
    if (!(sum > 0))
        return at_fail(work->context, ATTN_NOT_FINITE,
                       "the model's output is not a number: its weights are damaged");
    *probabilities = state->probability;
    return ATTN_OK;
}

/* ---- choosing ---- */

/* The likeliest first; of equal ones the smaller number. */
static int compare_choices(const void *left, const void *right) {
    const choice *a = left, *b = right;
    if (a->probability != b->probability) return a->probability > b->probability ? -1 : 1;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* choices: those of which one is taken, likeliest first. Symbol 0, a unit that is not known, cannot be said;
 * what is not a number is not likely. */
static int64_t sort_choices(next_state *state, int64_t symbols, const attn_sampling_options *options) {
    int64_t count = 0;
    for (int64_t s = 1; s < symbols; s++) {
        double p = state->probability[s];
        state->choices[count++] = (choice){p > 0 ? p : 0, (int32_t)s};
    }
    if (count > 1) qsort(state->choices, (size_t)count, sizeof *state->choices, compare_choices);
    int64_t most = options->temperature == 0 ? 1 : options->top_k;
    return most > 0 && most < count ? most : count;
}

static int32_t choose(next_state *state, int64_t symbols, const attn_sampling_options *options,
                      int64_t number) {
    int64_t count = sort_choices(state, symbols, options);
    choice *choices = state->choices;
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

/* ---- a continuation ---- */

/* Goes on with what was pushed; `open`: the line that the prompt ends in continues. */
static attn_status go_on(const at_head *head, const at_forward *forward, at_work *work,
                         const attn_sampling_options *options, int open, const char **text) {
    next_state *state = work->state;
    const at_strings *strings = &head->source->vocabulary.strings;
    attn_status status = ATTN_OK;
    state->text.started = open;
    for (int64_t i = 0; i < options->tokens && status == ATTN_OK; i++) {
        const double *probabilities;
        status = next(head, forward, work, &probabilities);
        if (status != ATTN_OK) break;
        int32_t symbol = choose(state, strings->count, options, i);
        const char *unit = at_string(strings, symbol);
        size_t length = at_string_length(strings, symbol);
        status = forward->extend_steps(forward, work->steps, unit, length);
        if (status == ATTN_OK)
            status = at_symbols_append(head->source, work->context, unit, length, &state->text);
        if (status != ATTN_OK || !options->watch) continue;
        int64_t whole = at_joined_mend(&state->text, state->ready, i + 1 == options->tokens);
        char kept = state->text.bytes[whole];
        state->text.bytes[whole] = 0;
        int stop = whole > state->ready && options->watch(options->user, state->text.bytes + state->ready);
        state->text.bytes[whole] = kept;
        state->ready = whole;
        if (stop) break;
    }
    if (status != ATTN_OK) return status;
    at_joined_mend(&state->text, state->ready, 1);
    *text = state->text.bytes;
    return ATTN_OK;
}

/* Every example is a prompt: the line end before it, and its own rows without the line end after them. */
static attn_status continue_example(const at_head *head, const at_forward *forward, at_work *work,
                                    const at_encoded *encoded, int64_t example,
                                    const attn_sampling_options *options, const char **text) {
    attn_status status = begin(head, forward, work);
    int64_t first = example == 0 ? 0 : encoded->offsets[example] - 1, end = encoded->offsets[example + 1] - 1;
    for (int64_t row = first; row < end && status == ATTN_OK; row++) {
        const char *name = forward->row_name(encoded, row);
        status = forward->extend_steps(forward, work->steps, name, strlen(name));
    }
    return status == ATTN_OK ? go_on(head, forward, work, options, end - first > 1, text) : status;
}

/* A continuation, where it was said. */
typedef struct continuation {
    const next_state *by;
    int64_t first;
} continuation;

typedef struct continuing {
    const at_head *head;
    const at_forward *forward;
    const at_encoded *encoded;
    attn_sampling_options options;
    continuation *list; /* [examples] */
    int64_t *lengths;   /* [examples]: bytes, with the 0 at the end */
} continuing;

static attn_status forget_said(void *user, at_work *worker) {
    (void)user;
    if (worker->state) ((next_state *)worker->state)->said_count = 0;
    return ATTN_OK;
}

static attn_status continue_task(void *user, at_work *worker, int64_t example) {
    const continuing *now = user;
    const char *text;
    attn_status status =
        continue_example(now->head, now->forward, worker, now->encoded, example, &now->options, &text);
    if (status != ATTN_OK) return status;
    next_state *state = worker->state;
    int64_t bytes = (int64_t)strlen(text) + 1;
    status =
        at_grow(worker->context, &state->said, &state->said_room, state->said_count + bytes, 1, "a text");
    if (status != ATTN_OK) return status;
    memcpy(state->said + state->said_count, text, (size_t)bytes);
    now->list[example] = (continuation){state, state->said_count};
    now->lengths[example] = bytes;
    state->said_count += bytes;
    return ATTN_OK;
}

/* The texts of all ranks, in the order of the examples. */
static attn_status keep_texts(const continuing *now, at_work *work, at_sequence_answers *answers) {
    attn_context *context = work->context;
    int64_t examples = now->encoded->examples, all = 0, at = 0;
    attn_status status = at_work_join(work, ATTN_OK, now->lengths, examples, sizeof *now->lengths);
    if (status != ATTN_OK) return status;
    for (int64_t e = 0; e < examples; e++) all += now->lengths[e];
    char *bytes = at_allocate(context, all, 1, "answers");
    for (int64_t e = 0; e < examples && bytes; at += now->lengths[e++])
        if (now->list[e].by)
            memcpy(bytes + at, now->list[e].by->said + now->list[e].first, (size_t)now->lengths[e]);
    status = at_work_join(work, bytes ? ATTN_OK : ATTN_OUT_OF_MEMORY, bytes, all, 1);
    at = 0;
    for (int64_t e = 0; e < examples && status == ATTN_OK; at += now->lengths[e++]) {
        status = at_strings_add(context, &answers->texts, bytes + at, (size_t)now->lengths[e] - 1);
        answers->list[e] = (at_hypothesis){.log_probability = NAN, .text = e, .alignment = -1, .ended = 1};
        answers->counts[e] = 1;
    }
    at_release(context, bytes);
    return status;
}

/* Prompts are continued side by side; but who watches sees one after the other. */
attn_status at_next_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                            const at_encoded *encoded, const void *settings, at_answers **answers) {
    attn_context *context = work->context;
    int64_t examples = encoded->examples;
    continuing now = {.head = heads[0], .forward = forward, .encoded = encoded};
    at_tasks tasks = {.count = examples, .prepare = forget_said, .run = continue_task, .user = &now};
    (void)count;
    attn_sampling_options_init(&now.options);
    if (settings) now.options = *(const attn_sampling_options *)settings;
    if (now.options.watch) tasks.large = examples;
    at_sequence_answers *made = at_allocate(context, 1, sizeof *made, "answers");
    if (!made) return at_work_run(forward, work, ATTN_OUT_OF_MEMORY, &tasks);
    made->answers = (at_answers){heads[0], context};
    *answers = &made->answers;
    made->examples = examples;
    made->n_best = 1;
    made->list = at_allocate(context, examples, sizeof *made->list, "answers");
    made->counts = at_allocate(context, examples, sizeof *made->counts, "answers");
    now.list = at_allocate(context, examples, sizeof *now.list, "answers");
    now.lengths = at_allocate(context, examples, sizeof *now.lengths, "answers");
    attn_status status = made->list && made->counts && now.list && now.lengths ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    status = at_work_run(forward, work, status, &tasks);
    if (status == ATTN_OK) status = keep_texts(&now, work, made);
    at_release(context, now.list);
    at_release(context, now.lengths);
    return status;
}

const at_running at_next_running = {begin, next, go_on};

/* ---- writing ---- */

/* Text on one line: line ends are written as \n and \r. */
static void put_line_text(at_writer *writer, const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n\r");
        char part[256];
        for (size_t i = 0; i < length;) { /* in pieces that cut no character */
            size_t taken = length - i < sizeof part - 1 ? length - i : sizeof part - 1;
            while (taken > 1 && i + taken < length && ((unsigned char)text[i + taken] & 0xc0) == 0x80)
                taken--;
            memcpy(part, text + i, taken);
            part[taken] = 0;
            if (writer->terminal)
                at_put_text(writer, part);
            else
                at_put(writer, part, taken);
            i += taken;
        }
        text += length;
        if (*text) at_put(writer, *text++ == '\n' ? "\\n" : "\\r", 2);
    }
}

/* The prompt and what follows it. */
void at_next_write(const at_writing *now, int64_t example) {
    const char *prompt = attn_dataset_row_name(now->dataset, example, 0);
    const char *text = attn_prediction_text(now->prediction, example, 0);
    if (!prompt) prompt = "";
    if (now->json) {
        at_put_char(now->writer, '{');
        at_put_example(now, example, 0);
        at_put(now->writer, "\"prompt\":", 9);
        at_put_json(now->writer, prompt);
        at_put(now->writer, ",\"text\":", 8);
        at_put_json(now->writer, text);
        at_put(now->writer, "}\n", 2);
        return;
    }
    put_line_text(now->writer, prompt);
    put_line_text(now->writer, text);
    at_put_char(now->writer, '\n');
}
