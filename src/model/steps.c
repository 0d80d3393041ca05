/* steps.c: running text, unit by unit, through the networks of a stage. The state of earlier units is kept
 * (keys and values of attention, state of an RNN, the last rows of a convolution), so that a unit costs one
 * row.
 *
 * When a sequence has its largest number of rows, its last half is encoded again, and the text continues from
 * there.
 */
#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"

typedef struct steps {
    attn_context *context;
    at_encoded *text; /* all units so far */
    at_batch *batch;  /* the rows that are pushed now */
    int64_t begins;   /* the first row of the window */
    int64_t pushed;   /* rows that the networks have taken */
    int unsure;       /* a step was begun that did not come to its end: what is remembered may be wrong */
    attn_encoder_state *encoders[AT_MOST_NETWORKS];
    attn_mixer_state *stems[AT_MOST_NETWORKS];
} steps;

static const at_stage *stage_of(const at_forward *forward) { return forward->user; }

static void clear(const at_forward *forward, steps *now) {
    for (int n = 0; n < forward->networks; n++) {
        attn_encoder_state_clear(now->encoders[n]);
        if (now->stems[n]) attn_mixer_state_clear(now->stems[n]);
    }
}

static attn_status create(const at_forward *forward, attn_context *context, steps *now) {
    const at_stage *stage = stage_of(forward);
    attn_status status = stage->input->kind->create_batch(context, &now->batch);
    for (int n = 0; n < forward->networks && status == ATTN_OK; n++) {
        const at_network *network = &stage->networks[n];
        status = attn_encoder_state_create(context, network->encoder, forward->longest, &now->encoders[n]);
        if (status == ATTN_OK && network->stem)
            status = attn_mixer_state_create(context, network->stem, forward->longest, &now->stems[n]);
    }
    return status;
}

attn_status at_steps_begin(const at_forward *forward, attn_context *context, void **made) {
    const at_input *input = stage_of(forward)->input;
    steps *now = *made;
    if (!input->kind->begin)
        return at_fail(context, ATTN_UNSUPPORTED, "rows of input %s cannot be pushed one by one",
                       input->kind->name);
    attn_status status = ATTN_OK;
    if (!now) {
        now = *made = at_allocate(context, 1, sizeof *now, "running text");
        if (!now) return ATTN_OUT_OF_MEMORY;
        now->context = context;
        status = create(forward, context, now);
        if (status != ATTN_OK) {
            at_steps_free(forward, now);
            *made = NULL;
            return status;
        }
    }
    if (now->text) input->kind->free_encoded(now->text);
    now->text = NULL;
    now->begins = now->pushed = 0;
    now->unsure = 0;
    clear(forward, now);
    return input->kind->begin(input, context, &now->text);
}

void at_steps_free(const at_forward *forward, void *made) {
    const at_input *input = stage_of(forward)->input;
    steps *now = made;
    if (now->text) input->kind->free_encoded(now->text);
    if (now->batch) input->kind->free_batch(now->batch);
    for (int n = 0; n < AT_MOST_NETWORKS; n++) {
        attn_encoder_state_destroy(now->encoders[n]);
        attn_mixer_state_destroy(now->stems[n]);
    }
    at_release(now->context, now);
}

attn_status at_steps_extend(const at_forward *forward, void *made, const char *unit, size_t length) {
    const at_input *input = stage_of(forward)->input;
    return input->kind->extend(input, ((steps *)made)->text, unit, length);
}

attn_status at_steps_push(const at_forward *forward, void *made) {
    const at_input *input = stage_of(forward)->input;
    steps *now = made;
    int64_t rows = now->text->rows, longest = forward->longest;
    if (now->unsure || now->pushed == rows) { /* all of the window again */
        now->pushed = now->begins;
        clear(forward, now);
    }
    if (rows - now->begins > longest) { /* a long prompt: as much of it as fits; later: the last half */
        int64_t kept = now->pushed == 0 ? longest : (longest + 1) / 2;
        now->begins = now->pushed = rows - kept;
        clear(forward, now);
    }
    if (now->pushed == rows) return at_fail(now->context, ATTN_INVALID_ARGUMENT, "no text was pushed yet");
    now->unsure = 1;
    return input->kind->fill_tail(input, now->text, now->begins, now->pushed, rows - now->pushed, now->batch);
}

attn_variable *at_steps_rows(const at_forward *forward, void *made, int number, attn_tape *tape) {
    const at_stage *stage = stage_of(forward);
    const at_network *network = &stage->networks[number];
    steps *now = made;
    attn_variable *x = stage->input->kind->apply(stage->input, network->input, tape, now->batch);
    if (network->stem)
        x = attn_tape_add(tape, x, attn_mixer_step(tape, network->stem, now->stems[number], x));
    x = attn_encoder_step(tape, network->encoder, now->encoders[number], x);
    if (number + 1 == forward->networks && attn_tape_status(tape) == ATTN_OK) {
        now->pushed = now->text->rows;
        now->unsure = 0;
    }
    return x;
}
