/* fields.c: the configuration of speech, its defaults by task, and values that exclude each other. */
#include "base/context.h"
#include "inputs/speech/speech.h"

static const char *const feature_names[] = {"log-mel", "mfcc", "given", NULL};
static const char *const normalize_names[] = {"none", "utterance", "corpus", "both", "running", NULL};
static const char *const window_names[] = {"povey", "hann", "hamming", "rectangle", NULL};
static const char *const scale_names[] = {"htk", "slaney", NULL};

const at_field at_speech_fields[] = {
    AT_INTEGER("speech.longest", at_speech_values, longest, 1, 1e9, "3000",
               "rows: longer recordings are processed in pieces; those of seq2seq are truncated"),
    AT_INTEGER("speech.stem", at_speech_values, stem, 0, 63, "0",
               "rows seen by a convolution before the encoder; 0: no convolution"),
    AT_INTEGER("speech.rate", at_speech_values, rate, 0, AT_SPEECH_FASTEST, "0",
               "samples per second; recordings of other rates are resampled; 0: the most frequent rate of "
               "the training data"),
    AT_CHOICE("speech.features", at_speech_values, features, feature_names, "log-mel",
              "log-mel, mfcc, or given: the data has features (.npy); found from the data"),
    AT_CHOICE(
        "speech.normalize", at_speech_values, normalize, normalize_names, "corpus",
        "mean 0 and deviation 1 of a column: of the recording (utterance), of the training data (corpus), "
        "the recording's mean and then the corpus (both), the corpus and then the mean of the last seconds "
        "(running), or none"),
    AT_NUMBER("speech.window_ms", at_speech_values, window_ms, 1, 1000, "25", "milliseconds of a frame"),
    AT_NUMBER("speech.shift_ms", at_speech_values, shift_ms, 0.1, 1000, "10", "milliseconds between frames"),
    AT_NUMBER("speech.preemphasis", at_speech_values, preemphasis, 0, 1, "0.97",
              "x[i] - this * x[i - 1]; 0: none"),
    AT_SWITCH("speech.remove_mean", at_speech_values, remove_mean, "true",
              "subtract the mean of each window"),
    AT_CHOICE("speech.window", at_speech_values, window, window_names, "povey", "the window function"),
    AT_SWITCH("speech.periodic", at_speech_values, periodic, "false",
              "the window function has the period of the window, not one sample less"),
    AT_INTEGER("speech.bins", at_speech_values, bins, 1, 512, "40", "mel filters"),
    AT_NUMBER("speech.low_hz", at_speech_values, low_hz, 0, 500000, "20", "lower end of the lowest filter"),
    AT_NUMBER("speech.high_hz", at_speech_values, high_hz, -500000, 500000, "0",
              "upper end of the highest filter; 0 or less: relative to half the rate"),
    AT_CHOICE("speech.mel", at_speech_values, scale, scale_names, "htk", "the mel scale"),
    AT_SWITCH("speech.ramps_in_hz", at_speech_values, ramps_in_hz, "false",
              "filters rise and fall evenly in Hz, not in mel"),
    AT_SWITCH("speech.area", at_speech_values, area, "false", "filters have the area 1, not the height 1"),
    AT_SWITCH("speech.magnitude", at_speech_values, magnitude, "false",
              "filters see |X| of the spectrum, not |X|^2"),
    AT_NUMBER("speech.floor", at_speech_values, floor, 1e-30, 1e10, "1.1920928955078125e-07",
              "energies are at least this before the logarithm"),
    AT_INTEGER("speech.cepstra", at_speech_values, cepstra, 1, 512, "13", "coefficients of mfcc"),
    AT_NUMBER("speech.lifter", at_speech_values, lifter, 0, 1000, "22", "of mfcc; 0: none"),
    AT_INTEGER("speech.deltas", at_speech_values, deltas, 0, 2, "0",
               "slopes over time as additional columns; 2: also the slopes of these"),
    AT_INTEGER("speech.delta_reach", at_speech_values, delta_reach, 1, 100, "2",
               "frames on each side for a slope"),
    AT_SWITCH("speech.centered", at_speech_values, centered, "false",
              "frame t is centred at sample t * shift; the ends are mirrored"),
    AT_NUMBER("speech.scale", at_speech_values, scale_samples, 1e-9, 1e9, "32768",
              "samples are multiplied by this; 32768: the values of 16-bit samples"),
    AT_INTEGER("speech.stack", at_speech_values, stack, 1, 64, "1", "frames concatenated to a row"),
    AT_INTEGER("speech.stride", at_speech_values, stride, 1, 64, "1", "frames from one row to the next"),
    AT_INTEGER("speech.time_masks", at_speech_values, time_masks, 0, 100, "2",
               "number of frame ranges that training masks"),
    AT_INTEGER("speech.time_mask_frames", at_speech_values, time_mask_frames, 0, 1e6, "20",
               "frames of such a range, at most"),
    AT_NUMBER("speech.time_mask_share", at_speech_values, time_mask_share, 0, 1, "0.2",
              "such a range as a part of the recording, at most"),
    AT_INTEGER("speech.frequency_masks", at_speech_values, frequency_masks, 0, 100, "2",
               "number of ranges of filters (coefficients) that training masks"),
    AT_INTEGER("speech.frequency_mask_bins", at_speech_values, frequency_mask_bins, 0, 512, "6",
               "filters of such a range, at most"),
    AT_INTEGER("speech.frequency_shift", at_speech_values, frequency_shift, 0, 100, "0",
               "training shifts the filters of a recording up or down by at most this many, to imitate other "
               "voices; log-mel only"),
    AT_NUMBER("speech.dropout", at_speech_values, dropout, 0, 0.99, "0",
              "probability that training hides a number of a row"),
};
_Static_assert(sizeof at_speech_fields / sizeof at_speech_fields[0] == AT_SPEECH_FIELDS, "AT_SPEECH_FIELDS");

const at_flag at_speech_flags[] = {
    {"features", "speech.features", "F", "speech: log-mel, mfcc, or given (.npy)"},
    {"bins", "speech.bins", "N", "speech: mel filters"},
    {"rate", "speech.rate", "HZ", "speech: samples per second (default: that of most recordings)"},
    {"stack", "speech.stack", "N", "speech: frames concatenated to a row"},
    {"stride", "speech.stride", "N", "speech: frames from one row to the next"},
    {"normalize", "speech.normalize", "N", "speech: none, utterance, corpus, both, running"},
};
_Static_assert(sizeof at_speech_flags / sizeof at_speech_flags[0] == AT_SPEECH_FLAGS, "AT_SPEECH_FLAGS");

const at_field at_speech_setting_list[] = {
    AT_SWITCH("frames", at_speech_settings, frames, "false",
              "labels of speech: one line per frame, not per segment"),
};
_Static_assert(sizeof at_speech_setting_list / sizeof at_speech_setting_list[0] == AT_SPEECH_SETTINGS,
               "AT_SPEECH_SETTINGS");

/* Data sets of labelled speech are small: minutes or hours. Whole recordings: every second or third frame
 * with those around it, so that there are fewer rows. Frames: voices and microphones differ, so the mean of
 * the last seconds is taken off, which streams can do as well; a label depends on what is near, so rows see
 * 25 on each side; three networks err less than one. Chosen by development data alone. */
const at_default at_speech_defaults[] = {
    {NULL, NULL, 0, "encoder.columns", "128"},
    {NULL, NULL, 0, "encoder.heads", "4"},
    {NULL, NULL, 0, "encoder.layers", "2"},
    {NULL, NULL, 0, "encoder.dropout", "0.1"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.epochs", "20"},
    {NULL, NULL, 0, "training.batch_units", "1000"},

    {"classify", NULL, 0, "output.pool", "attention"},
    {"classify", NULL, 0, "speech.stack", "5"},
    {"classify", NULL, 0, "speech.stride", "2"},
    {"classify", NULL, 0, "speech.stem", "5"},
    {"classify", NULL, 0, "training.learning_rate", "0.002"},
    {"classify", NULL, 0, "training.batch_units", "500"},
    {"regress", NULL, 0, "output.pool", "mean-max"},
    {"regress", NULL, 0, "speech.stack", "3"},
    {"regress", NULL, 0, "speech.stride", "3"},
    {"regress", NULL, 0, "encoder.dropout", "0"},
    {"regress", NULL, 0, "output.dropout", "0"},

    {"tag", NULL, 0, "speech.normalize", "running"},
    {"tag", NULL, 0, "speech.deltas", "1"},
    {"tag", NULL, 0, "speech.stack", "7"},
    {"tag", NULL, 0, "encoder.layers", "3"},
    {"tag", NULL, 0, "encoder.left", "15"},
    {"tag", NULL, 0, "encoder.right", "15"},
    {"tag", NULL, 0, "encoder.inner", "256"},
    {"tag", NULL, 0, "encoder.dropout", "0.2"},
    {"tag", NULL, 0, "output.members", "3"},
    {"tag", NULL, 0, "training.batch_units", "500"},
    {"tag", NULL, 20000, "output.members", "1"},

    {"seq2seq", NULL, 0, "speech.longest", "10000"},
    {"seq2seq", NULL, 0, "speech.stack", "3"},
    {"seq2seq", NULL, 0, "speech.stride", "3"},
    {"seq2seq", NULL, 0, "encoder.position", "sinusoidal"}, /* the decoder looks for places, too */
    {"seq2seq", NULL, 0, "output.smoothing", "0.1"},
    {"seq2seq", NULL, 0, "output.dropout", "0"},
    {"seq2seq", NULL, 0, "training.learning_rate", "0.002"},
    {"seq2seq", NULL, 0, "training.epochs", "25"},
    {"seq2seq", NULL, 0, "target.shared", "false"}, /* rows are no symbols */
    {"seq2seq", "output.kind=ctc", 0, "speech.stack",
     "5"}, /* a symbol needs a row, and one between two alike */
    {"seq2seq", "output.kind=ctc", 0, "speech.stride", "2"},
    {"seq2seq", "output.kind=ctc", 0, "speech.stem", "5"},
    {"seq2seq", "output.kind=ctc", 0, "speech.deltas", "1"},
    {"seq2seq", "output.kind=ctc", 0, "encoder.position", "rotary"},
    {"seq2seq", "output.kind=ctc", 0, "training.batch_units", "500"},
    {"seq2seq", "output.kind=ctc", 0, "training.epochs", "30"},
};
_Static_assert(sizeof at_speech_defaults / sizeof at_speech_defaults[0] == AT_SPEECH_DEFAULTS,
               "AT_SPEECH_DEFAULTS");

attn_status at_speech_check(attn_context *context, const void *values, const at_input_use *use) {
    const at_speech_values *own = values;
    if (use->running)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s learns what comes next, and rows of input speech are no symbols: there is no "
                       "next one",
                       use->task);
    if (own->features == AT_SPEECH_MFCC && own->cepstra > own->bins)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "speech.cepstra is %lld, and there are no more coefficients than mel filters, "
                       "speech.bins %lld",
                       (long long)own->cepstra, (long long)own->bins);
    if (own->features == AT_SPEECH_MFCC && own->frequency_shift)
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "speech.frequency_shift moves mel filters, and coefficients of mfcc are none: set it to 0, or "
            "speech.features to log-mel");
    return ATTN_OK;
}

void at_speech_frames_options(const at_speech_values *values, at_frames_options *options) {
    at_frames_defaults(options);
    options->rate = (double)values->rate;
    options->window_ms = values->window_ms;
    options->shift_ms = values->shift_ms;
    options->preemphasis = values->preemphasis;
    options->remove_mean = values->remove_mean;
    options->window = (at_window_function)values->window;
    options->periodic = values->periodic;
    options->features = values->features == AT_SPEECH_MFCC ? AT_FEATURES_MFCC : AT_FEATURES_LOG_MEL;
    options->bins = values->bins;
    options->low_hz = values->low_hz;
    options->high_hz = values->high_hz;
    options->scale = (at_mel_scale)values->scale;
    options->ramps_in_hz = values->ramps_in_hz;
    options->area = values->area;
    options->magnitude = values->magnitude;
    options->floor = values->floor;
    options->cepstra = values->cepstra;
    options->lifter = values->lifter;
    options->deltas = values->deltas;
    options->delta_reach = values->delta_reach;
    options->centered = values->centered;
    options->scale_samples = values->scale_samples;
}
