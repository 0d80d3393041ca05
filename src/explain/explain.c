/* explain.c: answers an example, and passes it through the networks again to see what the prediction looks
 * at.
 *
 *     predict -> the prediction;  PREDICT pass, observed -> weights;  GRADIENT pass, walked back from the
 * explained output -> contributions and the gradients of the weights
 *
 * The second pass computes as the prediction did, with the same kernels. Parameters want no gradients: the
 * model is read by others at the same time.
 */
#include "explain/explain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "explain/capture.h"
#include "layers/layers.h"
#include "model/predictor.h"

void attn_explain_options_init_sized(attn_explain_options *options, size_t size) {
    attn_explain_options own = {.size = sizeof own};
    own.member = -1;
    own.row = -1;
    own.gradients = 1;
    at_options_give(options, size, &own, sizeof own);
}

/* What one explanation works with. */
typedef struct job {
    attn_predictor *predictor;
    const at_stage *stage;
    attn_context *context;
    attn_explain_options options;
    attn_explanation *made;
    const at_encoded *encoded;
    at_segments segments; /* the pieces of the example */
    at_segment segment;
    attn_tape *tape;
    at_batch *batch;
    int64_t *layers; /* of the encoder: the block of each attention */
    at_asked asked;
    at_capture capture;
} job;

/* ---- the prediction ---- */

/* Models that continue text are asked for nothing but what comes next, which is in the pass. */
static attn_status predict(job *now, const attn_dataset *dataset) {
    attn_predictor *predictor = now->predictor;
    attn_sampling_options sampling;
    char tokens[32] = "";
    int running = now->stage->heads[0]->kind->running != NULL;
    int likely = !running && attn_predictor_has(predictor, "probs") && !at_setting_on(predictor, "probs");
    attn_status status = ATTN_OK;
    if (running) {
        status = attn_predictor_sampling(predictor, &sampling);
        snprintf(tokens, sizeof tokens, "%" PRId64, sampling.tokens);
        if (status == ATTN_OK) status = attn_predictor_set(predictor, "tokens", "0");
    }
    if (status == ATTN_OK && likely) status = attn_predictor_set(predictor, "probs", "true");
    if (status == ATTN_OK) status = attn_predictor_predict(predictor, dataset, &now->made->prediction);
    if (running) attn_predictor_set(predictor, "tokens", tokens);
    if (likely) attn_predictor_set(predictor, "probs", "false");
    if (status == ATTN_OK) now->encoded = now->made->prediction->encoded;
    return status;
}

/* The rows of the example that are explained: what the networks see of it at once. Running text has the line
 * end before it, and not the one after it. */
static attn_status choose_segment(job *now) {
    const at_encoded *encoded = now->encoded;
    const attn_explain_options *options = &now->options;
    if (options->example < 0 || options->example >= encoded->examples)
        return at_fail(now->context, ATTN_INVALID_ARGUMENT,
                       "there is no example %" PRId64 ": the data has %" PRId64, options->example + 1,
                       encoded->examples);
    int64_t bounds[2] = {encoded->offsets[options->example], encoded->offsets[options->example + 1]};
    if (now->stage->heads[0]->kind->running) {
        if (options->example > 0) bounds[0]--;
        bounds[1]--;
    }
    const at_forward *forward = &now->stage->forward;
    int64_t longest = forward->longest, count = bounds[1] - bounds[0], unseen = 0;
    int overlapping = !now->stage->per_row && forward->most > longest;
    int in_pieces = now->stage->per_row && now->stage->heads[0]->kind->rows != NULL;
    if (now->stage->heads[0]->kind->running) in_pieces = 1;
    if (overlapping && count > forward->most) {
        unseen = count - forward->most;
        count = forward->most;
    }
    int64_t pieces = in_pieces && count > longest ? (count + longest - 1) / longest : 1;
    if (overlapping) pieces = at_windows(count, longest);
    if (options->piece < 0 || options->piece >= pieces)
        return at_fail(now->context, ATTN_INVALID_ARGUMENT,
                       "there is no piece %" PRId64 ": the model sees %" PRId64
                       " rows at once, and the example has %" PRId64 " pieces",
                       options->piece + 1, longest, pieces);
    int64_t first =
        overlapping ? at_window_first(count, longest, pieces, options->piece) : options->piece * longest;
    now->segment.example = options->example;
    now->segment.first = bounds[0] + first;
    now->segment.count = count - first < longest ? count - first : longest;
    now->made->example = options->example;
    now->made->pieces = pieces;
    now->made->first_row = first;
    now->made->unseen = pieces == 1 ? count - now->segment.count : unseen;
    if (now->segment.count == 0)
        return at_fail(now->context, ATTN_INVALID_ARGUMENT,
                       "the example has no rows: there is nothing to see");
    return at_segments_add(now->context, &now->segments, now->segment);
}

/* ---- names ---- */

static attn_status add_text(attn_context *context, at_strings *list, const char *text) {
    return at_strings_add(context, list, text ? text : "", text ? strlen(text) : 0);
}

static attn_status name_rows(job *now) {
    attn_explanation *made = now->made;
    const at_input_kind *kind = now->stage->input->kind;
    attn_status status = add_text(now->context, &made->kind, kind->name);
    if (status == ATTN_OK) status = add_text(now->context, &made->task, now->stage->values.task->name);
    if (status == ATTN_OK) status = add_text(now->context, &made->row_unit, kind->row ? kind->row : "row");
    for (int64_t r = 0; r < now->segment.count && status == ATTN_OK; r++)
        status = add_text(now->context, &made->rows, kind->row_name(now->encoded, now->segment.first + r));
    if (status == ATTN_OK && now->stage->heads[0]->kind->rows)
        status = add_text(now->context, &made->output,
                          at_string(&now->stage->heads[now->options.output]->name, 0));
    made->scene.context = now->context;
    made->scene.rows = now->segment.count;
    if (status == ATTN_OK && kind->scene)
        status = kind->scene(now->stage->input, now->encoded, now->segment.example, now->segment.first,
                             now->segment.count, &made->scene);
    return status;
}

/* One prediction of a head of rows, as it is written, and its probability. */
static attn_status add_answer(job *now, int64_t unit) {
    attn_explanation *made = now->made;
    const attn_prediction *prediction = made->prediction;
    at_writer text = {.context = now->context};
    at_writing writing = {.prediction = prediction, .writer = &text};
    int output = now->options.output;
    int64_t example = now->segment.example;
    at_rows_put(&writing, output, example, unit, NULL, &text);
    attn_status status = text.status;
    if (status == ATTN_OK) status = add_text(now->context, &made->answers, text.bytes);
    int64_t label = attn_prediction_class(prediction, output, example, unit);
    made->probabilities[made->answers.count - 1] =
        label < 0 ? NAN : attn_prediction_probability(prediction, output, example, unit, label);
    /* Of several labels, or none, no one number says how likely they are. */
    const char *name = attn_prediction_label(prediction, output, example, unit);
    if (now->stage->heads[output]->kind->several && (!name || !text.bytes || strcmp(name, text.bytes) != 0))
        made->probabilities[made->answers.count - 1] = NAN;
    at_writer_free(&text);
    return status;
}

static attn_status name_answers(job *now) {
    attn_explanation *made = now->made;
    const attn_prediction *prediction = made->prediction;
    int64_t places = prediction->labels_rows ? now->segment.count : 1;
    attn_status status = ATTN_OK;
    made->probabilities = at_allocate(now->context, places, sizeof *made->probabilities, "an explanation");
    if (!made->probabilities) return ATTN_OUT_OF_MEMORY;
    if (now->stage->heads[0]->kind->rows) {
        for (int64_t p = 0; p < places && status == ATTN_OK; p++)
            status = add_answer(now, prediction->labels_rows ? made->first_row + p : 0);
        return status;
    }
    made->probabilities[0] = now->asked.likelihood;
    if (now->stage->heads[0]->kind->running) /* what is likeliest to come next */
        return add_text(now->context, &made->answers, made->target.count ? at_string(&made->target, 0) : "");
    return add_text(now->context, &made->answers, attn_prediction_text(prediction, now->segment.example, 0));
}

/* ---- the passes ---- */

static attn_status tape_failed(const job *now) {
    attn_status status = attn_tape_status(now->tape);
    if (status != ATTN_OK) return at_fail(now->context, status, "%s", attn_tape_error(now->tape));
    return ATTN_OUT_OF_MEMORY; /* or what the context says */
}

/* The rows of a network up to where its head begins. x: what its input gave. */
static attn_variable *run_network(job *now, int network, attn_variable *x) {
    now->capture.phase = AT_CAPTURE_ENCODER;
    x = at_stage_encoder(now->stage, network, now->tape, now->batch, x);
    now->capture.phase = AT_CAPTURE_POOL;
    x = at_stage_pooled(now->stage, network, now->tape, now->batch, x);
    now->capture.phase = AT_CAPTURE_HEAD;
    return x;
}

/* A head's part of the pass. Errors that it puts into the context are told from here. */
static attn_status run_head(job *now, int network, attn_variable *x, attn_variable **explained) {
    const at_head *head = now->stage->heads[now->options.output];
    if (now->capture.status != ATTN_OK) return now->capture.status;
    now->context->error[0] = '\0';
    *explained = x ? head->kind->explain(head, network, now->tape, x, now->batch, &now->asked) : NULL;
    if (*explained && now->capture.status == ATTN_OK)
        return attn_tape_status(now->tape) == ATTN_OK ? ATTN_OK : tape_failed(now);
    if (now->capture.status != ATTN_OK) return now->capture.status;
    if (attn_tape_status(now->tape) == ATTN_OK && now->context->error[0])
        return ATTN_INVALID_ARGUMENT; /* the head said why */
    return tape_failed(now);
}

static attn_status capture_weights(job *now, int network) {
    attn_variable *explained;
    attn_tape_begin(now->tape, ATTN_TAPE_PREDICT, 0);
    now->capture.gradients = 0;
    at_capture_begin(&now->capture, now->tape);
    attn_variable *x = run_network(now, network, at_stage_input(now->stage, network, now->tape, now->batch));
    attn_status status = run_head(now, network, x, &explained);
    at_tape_observe(now->tape, NULL);
    return status;
}

/* Gradient x input, row by row. */
static attn_status add_contributions(job *now, const attn_variable *x, const float *numbers) {
    int64_t rows = attn_variable_rows(x), columns = attn_variable_columns(x);
    float *gradient = at_allocate(now->context, rows * columns, sizeof *gradient, "an explanation");
    if (!gradient) return ATTN_OUT_OF_MEMORY;
    attn_status status = attn_variable_read_gradient(x, gradient);
    for (int64_t r = 0; r < rows && status == ATTN_OK; r++) {
        double sum = 0;
        for (int64_t c = 0; c < columns; c++)
            sum += (double)gradient[r * columns + c] * (double)numbers[r * columns + c];
        now->made->contributions[r] += sum * (double)now->capture.share;
    }
    at_release(now->context, gradient);
    return status;
}

static attn_status walk_back(job *now, int network) {
    attn_variable *explained;
    attn_tape_begin(now->tape, ATTN_TAPE_GRADIENT, 0);
    now->capture.gradients = 1;
    at_capture_begin(&now->capture, now->tape);
    attn_variable *x = at_stage_input(now->stage, network, now->tape, now->batch);
    if (!x) return tape_failed(now);
    at_variable_watch(x);
    int64_t count = attn_variable_rows(x) * attn_variable_columns(x);
    float *numbers = at_allocate(now->context, count, sizeof *numbers, "an explanation");
    attn_status status = numbers ? attn_variable_read(x, numbers) : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = run_head(now, network, run_network(now, network, x), &explained);
    if (status == ATTN_OK && attn_tape_backward(now->tape, explained, now->asked.gradient) != ATTN_OK)
        status = tape_failed(now);
    if (status == ATTN_OK) status = at_capture_gradients(&now->capture);
    if (status == ATTN_OK) status = add_contributions(now, x, numbers);
    at_tape_observe(now->tape, NULL);
    at_release(now->context, numbers);
    return status;
}

/* Which blocks of the encoder have attention. */
static attn_status find_layers(job *now) {
    const attn_encoder *encoder = now->stage->networks[0].encoder;
    int64_t layers = attn_encoder_layers(encoder), count = 0;
    now->layers = at_allocate(now->context, layers, sizeof *now->layers, "an explanation");
    if (!now->layers) return ATTN_OUT_OF_MEMORY;
    for (int64_t l = 0; l < layers; l++) {
        attn_mixer_kind kind = at_encoder_kind(encoder, l);
        if (kind == ATTN_MIXER_ATTENTION || kind == ATTN_MIXER_MEAN) now->layers[count++] = l;
    }
    now->capture.layers = now->layers;
    return ATTN_OK;
}

static attn_status run_networks(job *now) {
    attn_explanation *made = now->made;
    int member = now->options.member, networks = now->stage->network_count;
    int64_t zero = 0;
    attn_status status = attn_tape_create(now->context, &now->tape);
    if (status == ATTN_OK) status = find_layers(now);
    if (status == ATTN_OK)
        status = now->stage->forward.create_batch(&now->stage->forward, now->context, &now->batch);
    if (status == ATTN_OK)
        status = now->stage->forward.fill(&now->stage->forward, now->encoded, &now->segments, &zero, 1,
                                          now->batch);
    if (status == ATTN_OK && now->options.gradients) {
        made->contributions = at_allocate(now->context, made->rows.count, sizeof(double), "an explanation");
        if (!made->contributions) status = ATTN_OUT_OF_MEMORY;
    }
    if (status != ATTN_OK) return status;
    at_tape_freeze(now->tape, 1);
    now->capture.into = made;
    now->capture.share = member < 0 ? 1.0f / (float)networks : 1.0f;
    for (int n = member < 0 ? 0 : member; n < (member < 0 ? networks : member + 1) && status == ATTN_OK;
         n++) {
        now->capture.first = n == 0 || member >= 0;
        now->capture.details = now->options.details && now->capture.first;
        status = capture_weights(now, n);
        if (status == ATTN_OK && now->options.gradients) status = walk_back(now, n);
    }
    return status;
}

/* ---- the whole ---- */

static attn_status check_options(job *now, const attn_explain_options *given) {
    char reason[AT_OPTIONS_TEXT];
    attn_explain_options *options = &now->options;
    attn_explain_options_init(options);
    attn_status status =
        at_options_take("explain options", "attn_explain_options_init", given,
                        AT_FIRST_SIZE(attn_explain_options, details), sizeof *options, options, reason);
    if (status != ATTN_OK) return at_fail(now->context, status, "%s", reason);
    if (options->member < -1 || options->member >= now->stage->network_count)
        return at_fail(now->context, ATTN_INVALID_ARGUMENT, "there is no member %d: the model has %d %s",
                       options->member + 1, now->stage->network_count,
                       now->stage->network_count == 1 ? "network" : "networks");
    if (!at_stage_has_rows(now->stage))
        return at_fail(now->context, ATTN_UNSUPPORTED,
                       "the model has no encoder (encoder.kind none), so there are no rows to explain");
    if (options->output < 0 || options->output >= now->stage->head_count)
        return at_fail(now->context, ATTN_INVALID_ARGUMENT, "there is no output %d: the model has %d",
                       options->output + 1, now->stage->head_count);
    return ATTN_OK;
}

static attn_status ask(job *now) {
    int rows = now->stage->per_row && now->stage->heads[0]->kind->rows != NULL;
    int64_t row = now->options.row;
    if (rows && row >= 0) row -= now->made->first_row;
    if ((rows || now->stage->heads[0]->kind->running) && (row < -1 || row >= now->segment.count))
        return at_fail(
            now->context, ATTN_INVALID_ARGUMENT,
            "there is no row %" PRId64 ": this part of the example has rows %" PRId64 " to %" PRId64,
            now->options.row + 1, now->made->first_row + 1, now->made->first_row + now->segment.count);
    now->asked = (at_asked){.context = now->context,
                            .encoded = now->encoded,
                            .answers = now->made->prediction->answers[now->options.output],
                            .segment = &now->segment,
                            .row_name = now->stage->input->kind->row_name,
                            .row = row,
                            .likelihood = NAN,
                            .label = now->options.label};
    now->made->asked_row = row;
    return ATTN_OK;
}

/* What the head named belongs to the explanation. */
static void take_names(job *now) {
    at_strings none = {0};
    now->made->target = now->asked.target;
    now->made->written = now->asked.written;
    now->made->preceding = now->asked.preceding;
    now->asked.target = now->asked.written = now->asked.preceding = none;
}

static attn_status explain(job *now, const attn_dataset *dataset) {
    attn_status status = predict(now, dataset);
    if (status == ATTN_OK) status = choose_segment(now);
    if (status == ATTN_OK) status = name_rows(now);
    if (status == ATTN_OK) status = ask(now);
    if (status == ATTN_OK) status = run_networks(now);
    take_names(now);
    if (status == ATTN_OK) status = name_answers(now);
    now->made->member = now->options.member;
    now->made->members = now->stage->network_count;
    return status;
}

attn_status attn_predictor_explain(attn_predictor *predictor, const attn_dataset *dataset,
                                   const attn_explain_options *options, attn_explanation **explanation) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    job now = {.predictor = predictor, .stage = predictor->stage, .context = predictor->context};
    if (!dataset || !explanation)
        return at_fail(now.context, ATTN_INVALID_ARGUMENT, "dataset or explanation is NULL");
    attn_status status = check_options(&now, options);
    if (status != ATTN_OK) return status;
    now.made = at_allocate(now.context, 1, sizeof *now.made, "an explanation");
    if (!now.made) return ATTN_OUT_OF_MEMORY;
    now.made->context = now.made->bytes.context = now.context;
    now.capture.into = now.made;
    status = explain(&now, dataset);
    if (now.batch) now.stage->forward.free_batch(&now.stage->forward, now.batch);
    attn_tape_destroy(now.tape);
    at_capture_free(&now.capture);
    at_release(now.context, now.layers);
    at_release(now.context, now.asked.gradient);
    at_segments_free(now.context, &now.segments);
    if (status == ATTN_OK)
        *explanation = now.made;
    else
        attn_explanation_destroy(now.made);
    return status;
}
