/* speech.c: speech as a kind of input: the statistics of frames, what the model stores, and its layer. */
#include "inputs/speech/speech.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/layers.h>
#include <attn/operations.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/stored.h"
#include "inputs/columns.h"
#include "inputs/kinds.h"
#include "inputs/speech/feed.h"
#include "inputs/speech/reader.h"
#include "tape/parameters.h"

static at_speech_input *own(at_input *input) { return (at_speech_input *)(void *)input; }

/* ---- the view ---- */

static attn_status create(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input) {
    at_speech_input *made = at_allocate(context, 1, sizeof *made, "a view of speech");
    at_speech_kept *kept = made ? at_allocate(context, 1, sizeof *kept, "a view of speech") : NULL;
    if (!kept) {
        at_release(context, made);
        return ATTN_OUT_OF_MEMORY;
    }
    made->kept = kept;
    made->values = *(const at_speech_values *)values;
    made->input = (at_input){
        .context = context, .use = *use, .longest = made->values.longest, .stem = made->values.stem};
    *input = &made->input;
    return ATTN_OK;
}

static void destroy(at_input *input) {
    at_speech_input *speech = own(input);
    at_frames_destroy(speech->frames);
    at_speech_free_rows(input->context, &speech->kept->rows);
    at_release(input->context, speech->kept);
    at_release(input->context, speech->mean);
    at_release(input->context, speech->deviation);
    at_release(input->context, speech);
}

/* The rate of most recordings; of two that are as frequent the higher. Of rates after the first 64 there are
 * too few to matter. */
static int64_t usual_rate(const at_recordings *from) {
    enum { RATES = 64 };
    int64_t rates[RATES], counts[RATES];
    int kinds = 0, best = 0;
    for (int64_t i = 0; i < from->count; i++) {
        int at = 0;
        while (at < kinds && rates[at] != from->list[i].rate) at++;
        if (at == RATES) continue;
        if (at == kinds) {
            rates[kinds] = from->list[i].rate;
            counts[kinds++] = 0;
        }
        counts[at]++;
    }
    for (int r = 1; r < kinds; r++)
        if (counts[r] > counts[best] || (counts[r] == counts[best] && rates[r] > rates[best])) best = r;
    return kinds ? rates[best] : 0;
}

/* The rate, and whether the data has features already. */
static attn_status choose(const void *values, const attn_dataset *examples, at_set_function set, void *user) {
    const at_speech_values *chosen = values;
    const at_recordings *from = at_recordings_of(examples);
    char rate[32];
    if (from->columns) return set(user, "speech.features", "given");
    if (chosen->features == AT_SPEECH_GIVEN || chosen->rate > 0) return ATTN_OK;
    snprintf(rate, sizeof rate, "%" PRId64, usual_rate(from));
    return from->count ? set(user, "speech.rate", rate) : ATTN_OK;
}

/* ---- learning ---- */

static attn_status set_columns(at_speech_input *input, int64_t columns) {
    attn_context *context = input->input.context;
    at_release(context, input->mean);
    at_release(context, input->deviation);
    input->columns = columns;
    input->mean = at_allocate(context, columns, sizeof *input->mean, "the means of columns");
    input->deviation = at_allocate(context, columns, sizeof *input->deviation, "the deviations of columns");
    if (!input->mean || !input->deviation) return ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < columns; c++) input->deviation[c] = 1;
    return ATTN_OK;
}

/* The tables of frames; none where features are given, of so many columns. */
static attn_status set_frames(at_speech_input *input, int64_t given) {
    at_frames_options options;
    at_frames *frames = NULL;
    if (input->values.features == AT_SPEECH_GIVEN) return set_columns(input, given);
    if (input->values.rate < AT_SPEECH_SLOWEST)
        return at_fail(input->input.context, ATTN_INVALID_ARGUMENT,
                       "speech.rate is %" PRId64 " samples per second: it can be %d to %d",
                       input->values.rate, AT_SPEECH_SLOWEST, AT_SPEECH_FASTEST);
    at_speech_frames_options(&input->values, &options);
    attn_status status = at_frames_create(input->input.context, &options, &frames);
    if (status != ATTN_OK) return status;
    at_frames_destroy(input->frames);
    input->frames = frames;
    return set_columns(input, at_frames_columns(frames));
}

static attn_status learn(at_input *input, const at_learning *from) {
    at_speech_input *speech = own(input);
    at_speech_kept *kept = speech->kept;
    const at_recordings *recordings = at_recordings_of(from->examples);
    if (from->vectors)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: pretrained vectors are for words, and input speech has no words",
                       from->vectors);
    if (recordings->count == 0)
        return at_fail(input->context, ATTN_INVALID_ARGUMENT, "%.200s: has no recordings to learn from",
                       attn_dataset_name(from->examples));
    attn_status status = set_frames(speech, recordings->columns);
    at_speech_free_rows(input->context, &kept->rows);
    kept->dataset = NULL;
    if (status == ATTN_OK) status = at_speech_compute(speech, input->context, from->examples, &kept->rows);
    if (status != ATTN_OK) return status;
    kept->dataset = from->examples;
    for (int64_t c = 0; c < speech->columns; c++)
        at_measure_column(kept->rows.numbers + c, kept->rows.offsets[kept->rows.examples], kept->rows.columns,
                          &speech->mean[c], &speech->deviation[c]);
    return ATTN_OK;
}

/* ---- the file ---- */

static attn_status store(const at_input *input, const char *prefix, at_safetensors_writer *writer) {
    const at_speech_input *speech = at_speech_input_of(input);
    attn_status status = at_store_numbers(writer, prefix, "speech.mean", speech->mean, speech->columns);
    if (status != ATTN_OK) return status;
    return at_store_numbers(writer, prefix, "speech.deviation", speech->deviation, speech->columns);
}

static attn_status load(at_input *input, const char *prefix, const at_safetensors *file) {
    at_speech_input *speech = own(input);
    attn_context *context = input->context;
    const at_stored *mean = at_find_numbers(file, prefix, "speech.mean");
    const at_stored *deviation = at_find_numbers(file, prefix, "speech.deviation");
    if (!mean || !deviation || mean->count != deviation->count)
        return at_damaged(context, file,
                          "speech.mean and speech.deviation are missing, or no F32 of one length", "");
    attn_status status = set_frames(speech, mean->count);
    if (status != ATTN_OK) return at_name_file(context, file, status);
    if (speech->columns != mean->count)
        return at_damaged(context, file, "speech.mean has other columns than the frames", "");
    memcpy(speech->mean, mean->data, (size_t)mean->count * sizeof(float));
    memcpy(speech->deviation, deviation->data, (size_t)mean->count * sizeof(float));
    for (int64_t c = 0; c < mean->count; c++) {
        if (!isfinite(speech->mean[c]) || !isfinite(speech->deviation[c]) || !(speech->deviation[c] > 0))
            return at_damaged(context, file, "speech.mean or speech.deviation has an impossible number", "");
    }
    return ATTN_OK;
}

/* ---- the layer ---- */

typedef struct speech_layer {
    attn_linear *map;
    attn_norm *norm;
} speech_layer;

static int64_t row_columns(const at_input *input) {
    const at_speech_input *speech = at_speech_input_of(input);
    return speech->columns * speech->values.stack;
}

static void *build(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns) {
    speech_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[96];
    if (!layer) return NULL;
    snprintf(name, sizeof name, "%.60sinput", prefix);
    layer->map = attn_linear_create(set, name, row_columns(input), columns, 1, ATTN_IDENTITY);
    snprintf(name, sizeof name, "%.60sinput.norm", prefix);
    layer->norm = attn_norm_create(set, name, ATTN_NORM_LAYER, columns);
    return layer;
}

static attn_variable *apply(const at_input *input, const void *built, attn_tape *tape,
                            const at_batch *batch) {
    const speech_layer *layer = built;
    const at_speech_batch *rows = (const at_speech_batch *)(const void *)batch;
    attn_variable *x = attn_tape_input(tape, rows->numbers, batch->rows, row_columns(input), 0);
    return attn_norm_apply(tape, layer->norm, attn_linear_apply(tape, layer->map, x));
}

const at_input_kind at_speech_kind = {
    .name = "speech",
    .help = "recordings: lists (path TAB label), folders, .wav, .flac, .ogg, .mp3; or features as .npy",
    .row = "frame",
    .example = "recording",
    .formats = at_speech_formats,
    .fields = {at_speech_fields, AT_SPEECH_FIELDS, sizeof(at_speech_values), at_speech_flags,
               AT_SPEECH_FLAGS},
    .settings = {at_speech_setting_list, AT_SPEECH_SETTINGS, sizeof(at_speech_settings), NULL, 0},
    .models = "models that read speech",
    .defaults = at_speech_defaults,
    .default_count = AT_SPEECH_DEFAULTS,
    .counts = 1,
    .knows = at_speech_knows,
    .read = at_speech_read,
    .detect = at_speech_detect,
    .pieces = at_speech_pieces,
    .quotes = at_speech_quotes,
    .judge = at_speech_judge,
    .describe = at_speech_describe,
    .note = at_speech_note,
    .grouping = "speaker",
    .groups = at_speech_groups,
    .likely = 1,
    .fills_json = 1,
    .fill_in = at_speech_fill_in,
    .check = at_speech_check,
    .choose = choose,
    .create = create,
    .destroy = destroy,
    .learn = learn,
    .is_longer = at_speech_is_longer,
    .store = store,
    .load = load,
    .encode = at_speech_encode,
    .free_encoded = at_speech_free_encoded,
    .row_name = at_speech_row_name,
    .scene = at_speech_scene,
    .create_batch = at_speech_create_batch,
    .fill = at_speech_fill,
    .free_batch = at_speech_free_batch,
    .feed = &at_speech_feed_kind,
    .build = build,
    .apply = apply,
};
