/* stream.c: rows that arrive in pieces, predicted as soon as all rows that a prediction depends on are there.
 *
 *     rows        ... predicted | left | chunk | right
 *     the view                 [first ............. end)    goes through the networks
 *     predictions                       [........]          of its middle
 *
 * left and right are the reach of all layers together, including stem and input: the rows in the middle of a
 * view have the values that they have in the whole recording. The rows around them are computed again with
 * the next view: a larger chunk is less work and a longer delay.
 */
#include <attn/stream.h>

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "layers/layers.h"
#include "model/predictor.h"

enum {
    LEAST_CHUNK = 8,
    FILE_CHUNK = 2048 /* rows of a file, for which nobody waits: as many as go through the network at once */
};

struct attn_stream {
    attn_predictor *predictor;
    attn_context *context;
    const at_feed_kind *kind;
    at_feed *feed;
    at_forward forward; /* of the stage; a view is never cut */
    at_feed_shape shape;
    at_reach reach;
    int64_t chunk, answered;
    int from_file, json;
    attn_prediction *prediction; /* NULL, or of the last view */
    at_writer text;
};

void attn_stream_options_init_sized(attn_stream_options *options, size_t size) {
    attn_stream_options own = {.size = sizeof own};
    at_options_give(options, size, &own, sizeof own);
}

/* ---- who can ---- */

static attn_status refuse_encoder(const at_stage *stage, attn_context *context) {
    const at_encoder_values *encoder = stage->values.encoder;
    at_reach reach = at_encoder_reach(stage->networks[0].encoder);
    const char *example = attn_input_example(stage->input->kind->name);
    if (encoder->kind == ATTN_MIXER_RNN || strstr(encoder->mix, "rnn"))
        return at_fail(
            context, ATTN_UNSUPPORTED,
            "an rnn depends on the whole %s: train with encoder.kind attention and a window, cnn or fc",
            example);
    if (reach.left == ATTN_UNLIMITED || reach.right == ATTN_UNLIMITED)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "attention sees a whole %s (encoder.left %" PRId64 ", encoder.right %" PRId64
                       "), so nothing can be predicted before its end: train with a window "
                       "(encoder.left and encoder.right 15)",
                       example, encoder->left, encoder->right);
    if (encoder->position != ATTN_POSITION_NONE && encoder->position != ATTN_POSITION_ROTARY &&
        encoder->position != ATTN_POSITION_ALIBI && encoder->position != ATTN_POSITION_RELATIVE)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "encoder.position counts from the beginning of a %s, and a stream exceeds the "
                       "positions of training: train with rotary, alibi, relative or none",
                       example);
    if (encoder->score == ATTN_SCORE_NONE)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "encoder.score fixed has weights for the positions in a %s, and a stream exceeds "
                       "them: train with dot",
                       example);
    return ATTN_OK;
}

static attn_status refuse(const at_stage *stage, attn_context *context) {
    const at_input *input = stage->input;
    const char *example = attn_input_example(input->kind->name);
    if (!input->kind->feed)
        return at_fail(context, ATTN_UNSUPPORTED, "a model of input %s reads a whole %s before it predicts",
                       input->kind->name, example);
    if (!stage->per_row || !stage->heads[0]->kind->rows)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "a model of task %s predicts for a whole %s: only one that predicts for each %s can "
                       "read a stream",
                       stage->values.task->name, example, attn_input_row(input->kind->name));
    for (int i = 0; i < stage->head_count; i++)
        if (stage->heads[i]->kind->decode)
            return at_fail(context, ATTN_UNSUPPORTED,
                           "output.crf chooses the labels of a whole %s together, after its end: train with "
                           "output.crf=false",
                           example);
    const char *reason = input->kind->feed->refuses(input);
    if (reason) return at_fail(context, ATTN_UNSUPPORTED, "%s", reason);
    return refuse_encoder(stage, context);
}

int attn_stream_takes(attn_predictor *predictor, const char *path) {
    if (!predictor || !path) return 0;
    const at_input *input = predictor->stage->input;
    return input->kind->feed && input->kind->feed->knows(input, path) &&
           refuse(predictor->stage, predictor->context) == ATTN_OK;
}

/* ---- making ---- */

static void set_reach(attn_stream *stream, const at_stage *stage, int64_t chunk) {
    const at_network *network = &stage->networks[0];
    at_reach reach = at_encoder_reach(network->encoder);
    if (network->stem) reach = at_reach_add(reach, at_mixer_reach(network->stem));
    stream->kind->shape(stage->input, &stream->shape);
    reach.left += stream->shape.edge;
    stream->reach = reach;
    if (chunk == 0) { /* all around the chunk is computed again: twice as much as the chunk itself */
        chunk = stream->from_file ? FILE_CHUNK : (reach.left + reach.right) / 2;
        if (chunk < LEAST_CHUNK) chunk = LEAST_CHUNK;
    }
    stream->chunk = chunk;
}

attn_status attn_stream_create(attn_predictor *predictor, const attn_stream_options *options,
                               attn_stream **stream) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    attn_stream_options chosen;
    char reason[AT_OPTIONS_TEXT];
    attn_stream_options_init(&chosen);
    if (!stream) return at_fail(context, ATTN_INVALID_ARGUMENT, "stream is NULL");
    attn_status status =
        at_options_take("stream options", "attn_stream_options_init", options,
                        AT_FIRST_SIZE(attn_stream_options, terminal), sizeof chosen, &chosen, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    if (chosen.chunk < 0 || chosen.chunk > INT32_MAX || chosen.rate < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "chunk is %" PRId64 " and rate %" PRId64 ": neither can be", chosen.chunk,
                       chosen.rate);
    status = refuse(predictor->stage, context);
    if (status != ATTN_OK) return status;
    attn_stream *made = at_allocate(context, 1, sizeof *made, "a stream");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->predictor = predictor;
    made->context = made->text.context = context;
    made->text.terminal = chosen.terminal;
    made->kind = predictor->stage->input->kind->feed;
    made->forward = predictor->stage->forward;
    made->forward.longest = INT64_MAX / 4;
    made->forward.parts = 1;
    made->from_file = chosen.path != NULL;
    made->json = chosen.json;
    set_reach(made, predictor->stage, chosen.chunk);
    at_feed_options feed = {.path = chosen.path,
                            .name = chosen.name   ? chosen.name
                                    : chosen.path ? chosen.path
                                                  : "-",
                            .rate = chosen.rate,
                            .json = chosen.json};
    status = made->kind->open(predictor->stage->input, context, &feed, &made->feed);
    if (status != ATTN_OK) {
        attn_stream_destroy(made);
        return status;
    }
    *stream = made;
    return ATTN_OK;
}

static void forget_prediction(attn_stream *stream) {
    attn_prediction_destroy(stream->prediction);
    stream->prediction = NULL;
}

void attn_stream_destroy(attn_stream *stream) {
    if (!stream) return;
    forget_prediction(stream);
    stream->kind->close(stream->feed);
    at_writer_free(&stream->text);
    at_release(stream->context, stream);
}

void attn_stream_delay_init_sized(attn_stream_delay *delay, size_t size) {
    attn_stream_delay own = {.size = sizeof own};
    at_options_give(delay, size, &own, sizeof own);
}

attn_status attn_stream_delay_of(const attn_stream *stream, attn_stream_delay *delay) {
    if (!stream) return ATTN_INVALID_ARGUMENT;
    attn_status status = at_result_check(stream->context, "delay", "attn_stream_delay_init", delay,
                                         AT_FIRST_SIZE(attn_stream_delay, ahead_seconds), sizeof *delay);
    if (status != ATTN_OK) return status;
    const at_feed_shape *shape = &stream->shape;
    double ahead = (double)stream->reach.right * shape->step + shape->delay;
    attn_stream_delay own = {.left = stream->reach.left,
                             .right = stream->reach.right,
                             .chunk = stream->chunk,
                             .rate = shape->rate,
                             .row_seconds = shape->step,
                             .seconds = ahead + (double)(stream->chunk - 1) * shape->step,
                             .ahead_seconds = ahead};
    at_result_give(delay, &own, sizeof own);
    return ATTN_OK;
}

/* ---- rows in ---- */

static attn_status take(attn_stream *stream, const float *numbers, int64_t count, int last) {
    if (stream->from_file)
        return at_fail(stream->context, ATTN_INVALID_ARGUMENT, "the stream reads a file: nothing is pushed");
    if (stream->feed->ended)
        return at_fail(stream->context, ATTN_INVALID_ARGUMENT, "the stream was ended: nothing can follow");
    return stream->kind->push(stream->feed, numbers, count, last);
}

attn_status attn_stream_push(attn_stream *stream, const float *numbers, int64_t count) {
    if (!stream) return ATTN_INVALID_ARGUMENT;
    if (count < 0 || (count > 0 && !numbers))
        return at_fail(stream->context, ATTN_INVALID_ARGUMENT, "count is %" PRId64 ", or numbers is NULL",
                       count);
    return take(stream, numbers, count, 0);
}

attn_status attn_stream_end(attn_stream *stream) {
    return stream ? take(stream, NULL, 0, 1) : ATTN_INVALID_ARGUMENT;
}

/* ---- answers out ---- */

static void keep_encoded(at_encoded *encoded) { (void)encoded; } /* it is the feed's */

static attn_status predict(attn_stream *stream) {
    const at_stage *stage = stream->predictor->stage;
    attn_context *context = stream->context;
    attn_prediction *made = at_allocate(context, 1, sizeof *made, "a prediction");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->encoded = stream->feed->encoded;
    made->free_encoded = keep_encoded;
    made->row_name = stream->kind->row_name;
    made->per_row = made->labels_rows = 1;
    made->count = stage->head_count;
    stream->prediction = made;
    made->answers = at_allocate(context, made->count, sizeof *made->answers, "a prediction");
    if (!made->answers) {
        made->count = 0;
        return ATTN_OUT_OF_MEMORY;
    }
    return stage->heads[0]->kind->predict(stage->heads, stage->head_count, &stream->forward,
                                          &stream->predictor->work, made->encoded,
                                          stream->predictor->head_settings, made->answers);
}

static attn_status write_text(attn_stream *stream, int64_t from, int64_t count, int last) {
    at_writer *writer = &stream->text;
    at_cells cells;
    at_writing now = {.prediction = stream->prediction,
                      .json = stream->json,
                      .probabilities = at_setting_on(stream->predictor, "probs"),
                      .writer = writer};
    writer->count = 0;
    writer->status = ATTN_OK;
    at_put(writer, "", 0);
    at_predictor_cells(stream->predictor, &now, &cells);
    return stream->kind->write(stream->feed, stream->predictor->input_settings, &cells, from, count, last,
                               writer);
}

/* How many rows can be answered: a chunk, or, at the end, what is left. */
static int64_t ready_rows(const attn_stream *stream) {
    const at_feed *feed = stream->feed;
    int64_t rows = feed->rows - stream->answered;
    if (feed->ended) return rows < stream->chunk + stream->reach.right ? rows : stream->chunk;
    return rows - stream->reach.right >= stream->chunk ? stream->chunk : 0;
}

void attn_stream_answers_init_sized(attn_stream_answers *answers, size_t size) {
    attn_stream_answers own = {.size = sizeof own};
    at_options_give(answers, size, &own, sizeof own);
}

attn_status attn_stream_next(attn_stream *stream, attn_stream_answers *answers) {
    if (!stream) return ATTN_INVALID_ARGUMENT;
    attn_status status = at_result_check(stream->context, "answers", "attn_stream_answers_init", answers,
                                         AT_FIRST_SIZE(attn_stream_answers, ended), sizeof *answers);
    if (status != ATTN_OK) return status;
    forget_prediction(stream);
    while (stream->from_file && !stream->feed->ended && ready_rows(stream) == 0 && status == ATTN_OK)
        status = stream->kind->pull(stream->feed);
    if (status != ATTN_OK) return status;
    int64_t count = ready_rows(stream), row = stream->answered;
    attn_stream_answers made = {.row = row, .count = count, .text = ""};
    if (count > 0) {
        int64_t first = row > stream->reach.left ? row - stream->reach.left : 0;
        int64_t end = row + count + stream->reach.right;
        if (end > stream->feed->rows) end = stream->feed->rows;
        int last = stream->feed->ended && row + count == stream->feed->rows;
        status = stream->kind->view(stream->feed, first, end);
        if (status == ATTN_OK) status = predict(stream);
        if (status == ATTN_OK) status = write_text(stream, row - first, count, last);
        if (status != ATTN_OK) {
            forget_prediction(stream);
            return status;
        }
        stream->answered += count;
        made.prediction = stream->prediction;
        made.unit = row - first;
        made.text = stream->text.bytes;
        made.length = (size_t)stream->text.count;
    }
    made.ended = stream->feed->ended && stream->answered == stream->feed->rows;
    at_result_give(answers, &made, sizeof made);
    return ATTN_OK;
}
