/* test_speech_input.c: recordings as rows: frames, rates, stacking and striding, normalisation, what training
 * hides, and which label a row has; answers as segments; what a dataset says of itself.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/memory.h"
#include "inputs/kinds.h"
#include "inputs/speech/sound.h"
#include "inputs/speech/speech.h"
#include "support/memory.h"
#include "support/sounds.h"
#include "support/training.h"

enum { RATE = 8000, SHORT = 1600, LONG = 4000, SHIFT = 80, WINDOW = 200 };

static float samples[SHORT + LONG];
static const int64_t offsets[] = {0, SHORT, SHORT + LONG};

static attn_dataset *make_dataset(int64_t rate) {
    attn_dataset *dataset = NULL;
    sound_tone(samples, SHORT, RATE, 500, 0.5, 1);
    sound_tone(samples + SHORT, LONG, RATE, 1500, 0.1, 2);
    expect_ok(group_context, attn_dataset_from_samples(group_context, samples, offsets, 2, rate, &dataset));
    return dataset;
}

/* Values after their defaults, and then what `sets` says: name, value, ..., NULL. */
static at_speech_values values_of(const char *const *sets) {
    at_speech_values values;
    memset(&values, 0, sizeof values);
    for (int i = 0; i < AT_SPEECH_FIELDS; i++)
        expect_ok(group_context,
                  at_field_set(group_context, &at_speech_fields[i], &values, at_speech_fields[i].initial));
    for (; sets && *sets; sets += 2) {
        int found = 0;
        for (int i = 0; i < AT_SPEECH_FIELDS; i++) {
            if (strcmp(at_speech_fields[i].name, sets[0]) != 0) continue;
            expect_ok(group_context, at_field_set(group_context, &at_speech_fields[i], &values, sets[1]));
            found = 1;
        }
        assert_true(found);
    }
    return values;
}

/* A view that has learned from a dataset, and the dataset encoded. */
typedef struct view {
    at_input *input;
    at_encoded *encoded;
    at_batch *batch;
} view;

static view learn(const attn_dataset *dataset, const char *const *sets) {
    at_speech_values values = values_of(sets);
    at_input_use use = {.task = "tag", .per_row = -1};
    view made = {NULL, NULL, NULL};
    if (values.rate == 0) values.rate = RATE;
    if (at_recordings_of(dataset)->columns) values.features = AT_SPEECH_GIVEN;
    expect_ok(group_context, at_speech_kind.create(group_context, &values, &use, &made.input));
    made.input->kind = &at_speech_kind;
    at_learning from = {.examples = dataset};
    expect_ok(group_context, at_speech_kind.learn(made.input, &from));
    expect_ok(group_context,
              at_speech_kind.encode(made.input, group_context, NULL, dataset, NULL, &made.encoded));
    expect_ok(group_context, at_speech_kind.create_batch(group_context, &made.batch));
    return made;
}

static void forget(view *made) {
    at_speech_kind.free_batch(made->batch);
    at_speech_kind.free_encoded(made->encoded);
    at_speech_kind.destroy(made->input);
}

/* The rows of one segment of an example; seed NULL: as they are. */
static const float *fill(const view *of, int64_t example, int64_t first, int64_t count,
                         const uint64_t *seed) {
    at_segment one = {example, of->encoded->offsets[example] + first, count, 0};
    at_segments segments = {&one, 1, 1};
    int64_t order = 0;
    expect_ok(group_context,
              at_speech_kind.fill(of->input, of->encoded, &segments, &order, 1, seed, of->batch));
    assert_int_equal(of->batch->rows, count ? count : 1);
    return ((const at_speech_batch *)(const void *)of->batch)->numbers;
}

/* ---- frames ---- */

static void test_defaults(void **state) {
    (void)state;
    at_speech_values values = values_of(NULL);
    at_frames_options expected, found;
    at_frames_defaults(&expected);
    values.rate = (int64_t)expected.rate;
    at_speech_frames_options(&values, &found);
    assert_true(found.rate == expected.rate && found.window_ms == expected.window_ms);
    assert_true(found.shift_ms == expected.shift_ms && found.preemphasis == expected.preemphasis);
    assert_true(found.remove_mean == expected.remove_mean && found.window == expected.window);
    assert_true(found.periodic == expected.periodic && found.features == expected.features);
    assert_true(found.bins == expected.bins && found.low_hz == expected.low_hz);
    assert_true(found.high_hz == expected.high_hz && found.scale == expected.scale);
    assert_true(found.ramps_in_hz == expected.ramps_in_hz && found.area == expected.area);
    assert_true(found.magnitude == expected.magnitude && found.floor == expected.floor);
    assert_true(found.cepstra == expected.cepstra && found.lifter == expected.lifter);
    assert_true(found.deltas == expected.deltas && found.delta_reach == expected.delta_reach);
    assert_true(found.centered == expected.centered && found.scale_samples == expected.scale_samples);
}

/* Rows without stacking are the frames, and those of a recording do not depend on its neighbours. */
static void test_frames(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    view all = learn(dataset, (const char *const[]){"speech.normalize", "none", NULL});
    const at_speech_input *input = at_speech_input_of(all.input);
    int64_t frames = 1 + (LONG - WINDOW) / SHIFT;
    assert_int_equal(all.encoded->offsets[1], 1 + (SHORT - WINDOW) / SHIFT);
    assert_int_equal(all.encoded->offsets[2] - all.encoded->offsets[1], frames);
    float *expected = calloc((size_t)(frames * input->columns), sizeof *expected);
    at_frames_work *work = NULL;
    expect_ok(group_context,
              at_frames_compute(input->frames, group_context, &work, samples + SHORT, LONG, expected));
    const float *rows = fill(&all, 1, 0, frames, NULL);
    assert_memory_equal(rows, expected, (size_t)(frames * input->columns) * sizeof *rows);
    at_frames_work_destroy(group_context, work);
    assert_string_equal(at_speech_kind.row_name(all.encoded, all.encoded->offsets[1] + 2), "0.0325");
    free(expected);
    forget(&all);
    attn_dataset_destroy(dataset);
}

/* A recording of another rate gives nearly the same frames. */
static void test_rates(void **state) {
    (void)state;
    enum { FINE = 16000 };
    static float fine[FINE], coarse[FINE / 2];
    sound_tone(fine, FINE, 16000, 700, 0.5, 3);
    for (int i = 0; i < FINE / 2; i++) coarse[i] = 0;
    expect_ok(group_context, at_resample(group_context, fine, FINE, 16000, 8000, coarse));
    double error = 0;
    for (int i = 1000; i < FINE / 2 - 1000; i++) {
        double difference = (double)coarse[i] - 0.5 * sin(6.283185307179586 * 700 * i / 8000);
        if (fabs(difference) > error) error = fabs(difference);
    }
    assert_true(error < 0.01); /* the noise has that */
    attn_dataset *dataset = NULL;
    const int64_t both[] = {0, FINE};
    expect_ok(group_context, attn_dataset_from_samples(group_context, fine, both, 1, 16000, &dataset));
    view made =
        learn(dataset, (const char *const[]){"speech.rate", "8000", "speech.normalize", "none", NULL});
    assert_int_equal(made.encoded->rows, 1 + (FINE / 2 - WINDOW) / SHIFT);
    forget(&made);
    attn_dataset_destroy(dataset);
    assert_int_equal(at_resampled_count(44100, 44100, 16000), 16000);
    assert_int_equal(at_resampled_count(1, 48000, 8000), 1);
}

/* One that is shorter than a window has a row, with silence after it. */
static void test_short(void **state) {
    (void)state;
    const int64_t one[] = {0, 1};
    const float sample = 0.5f;
    attn_dataset *dataset = NULL;
    expect_ok(group_context, attn_dataset_from_samples(group_context, &sample, one, 1, RATE, &dataset));
    view made = learn(dataset, NULL);
    assert_int_equal(made.encoded->rows, 1);
    fill(&made, 0, 0, 1, NULL);
    fill(&made, 0, 0, 0, NULL);
    forget(&made);
    attn_dataset_destroy(dataset);
}

/* ---- rows ---- */

static void test_stacks(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    view plain = learn(dataset, NULL);
    int64_t frames = plain.encoded->offsets[1], columns = at_speech_input_of(plain.input)->columns;
    float *expected = calloc((size_t)(frames * columns), sizeof *expected);
    memcpy(expected, fill(&plain, 0, 0, frames, NULL), (size_t)(frames * columns) * sizeof *expected);
    for (int stack = 1; stack <= 5; stack++) {
        for (int stride = 1; stride <= 4; stride++) {
            char stacks[8], strides[8];
            snprintf(stacks, sizeof stacks, "%d", stack);
            snprintf(strides, sizeof strides, "%d", stride);
            view made =
                learn(dataset, (const char *const[]){"speech.stack", stacks, "speech.stride", strides, NULL});
            int64_t rows = made.encoded->offsets[1];
            assert_int_equal(rows, (frames + stride - 1) / stride);
            for (int piece = 0; piece < 2; piece++) { /* whole, and the second half alone */
                int64_t from = piece ? rows / 2 : 0;
                const float *found = fill(&made, 0, from, rows - from, NULL);
                for (int64_t r = from; r < rows; r++) {
                    for (int s = 0; s < stack; s++) {
                        int64_t t = r * stride + s - (stack - stride) / 2;
                        t = t < 0 ? 0 : t > frames - 1 ? frames - 1 : t;
                        assert_memory_equal(found + ((r - from) * stack + s) * columns,
                                            expected + t * columns, (size_t)columns * sizeof *found);
                    }
                }
            }
            forget(&made);
        }
    }
    free(expected);
    forget(&plain);
    attn_dataset_destroy(dataset);
}

static void measure(const float *numbers, int64_t rows, int64_t columns, int64_t column, double *mean,
                    double *deviation) {
    double sum = 0, squares = 0;
    for (int64_t r = 0; r < rows; r++) sum += (double)numbers[r * columns + column];
    *mean = sum / (double)rows;
    for (int64_t r = 0; r < rows; r++) {
        double distance = (double)numbers[r * columns + column] - *mean;
        squares += distance * distance;
    }
    *deviation = sqrt(squares / (double)rows);
}

/* What was heard so far is taken off: of half a second of zeros before the recording, and of at most three.
 */
static void test_running_mean(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    view corpus = learn(dataset, (const char *const[]){"speech.normalize", "corpus", NULL});
    view running = learn(dataset, (const char *const[]){"speech.normalize", "running", NULL});
    const at_speech_rows *x = &at_speech_encoded_of(corpus.encoded)->rows;
    const at_speech_rows *y = &at_speech_encoded_of(running.encoded)->rows;
    for (int64_t e = 0; e < x->examples; e++) {
        for (int64_t c = 0; c < x->columns; c += 7) {
            double mean = 0;
            for (int64_t t = x->offsets[e]; t < x->offsets[e + 1]; t++) {
                int64_t frames = 51 + t - x->offsets[e];
                double number = x->numbers[t * x->columns + c];
                mean += (number - mean) / (double)(frames < 300 ? frames : 300);
                assert_true(fabs(number - mean - y->numbers[t * x->columns + c]) < 1e-4);
            }
        }
    }
    forget(&corpus);
    forget(&running);
    attn_dataset_destroy(dataset);
}

static void test_normalisation(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    static const char *const ways[] = {"corpus", "utterance", "both"};
    for (int w = 0; w < 3; w++) {
        view made = learn(dataset, (const char *const[]){"speech.normalize", ways[w], NULL});
        const at_speech_encoded *encoded = at_speech_encoded_of(made.encoded);
        int64_t columns = encoded->rows.columns;
        for (int64_t c = 0; c < columns; c += 7) {
            double mean, deviation;
            int64_t first = encoded->rows.offsets[1], all = encoded->rows.offsets[2];
            measure(encoded->rows.numbers, w == 0 ? all : first, columns, c, &mean, &deviation);
            assert_true(fabs(mean) < 1e-4);
            if (w < 2) assert_true(fabs(deviation - 1) < 1e-4);
            measure(encoded->rows.numbers, all, columns, c, &mean, &deviation);
            assert_true(fabs(mean) < 1e-4 && fabs(deviation - 1) < 1e-4);
        }
        forget(&made);
    }
    attn_dataset_destroy(dataset);
}

/* Masks are runs of rows and of columns that are 0, no longer than said; they come from the seed alone. */
static void test_masks(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    view made = learn(dataset, (const char *const[]){"speech.time_masks", "1", "speech.time_mask_frames", "6",
                                                     "speech.time_mask_share", "1", "speech.frequency_masks",
                                                     "1", "speech.frequency_mask_bins", "4", NULL});
    int64_t rows = made.encoded->offsets[2] - made.encoded->offsets[1], columns = 40;
    float *before = calloc((size_t)(rows * columns), sizeof *before);
    size_t bytes = (size_t)(rows * columns) * sizeof *before;
    memcpy(before, fill(&made, 1, 0, rows, NULL), bytes);
    int64_t longest = 0, widest = 0, changed = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const float *found = fill(&made, 1, 0, rows, &seed);
        int64_t hidden_rows = 0, hidden_columns = 0, last_row = -1, last_column = -1;
        for (int64_t r = 0; r < rows; r++) {
            int all = 1;
            for (int64_t c = 0; c < columns; c++) all &= found[r * columns + c] == 0;
            if (all && hidden_rows++) assert_int_equal(last_row, r - 1);
            if (all) last_row = r;
        }
        for (int64_t c = 0; c < columns; c++) {
            int all = 1;
            for (int64_t r = 0; r < rows; r++) all &= found[r * columns + c] == 0;
            if (all && hidden_columns++) assert_int_equal(last_column, c - 1);
            if (all) last_column = c;
        }
        for (int64_t i = 0; i < rows * columns; i++) assert_true(found[i] == before[i] || found[i] == 0);
        if (hidden_rows > longest) longest = hidden_rows;
        if (hidden_columns > widest) widest = hidden_columns;
        changed += memcmp(found, before, bytes) != 0;
        float *again = malloc(bytes);
        memcpy(again, found, bytes);
        assert_memory_equal(fill(&made, 1, 0, rows, &seed), again, bytes);
        free(again);
    }
    assert_int_equal(longest, 6);
    assert_int_equal(widest, 4);
    assert_true(changed > 150);
    assert_memory_equal(fill(&made, 1, 0, rows, NULL), before, bytes);
    free(before);
    forget(&made);
    attn_dataset_destroy(dataset);
}

/* Every row of a recording is moved by the same number of filters, whose ends continue. */
static void test_shifts(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    view made =
        learn(dataset, (const char *const[]){"speech.time_masks", "0", "speech.frequency_masks", "0",
                                             "speech.frequency_shift", "3", "speech.deltas", "1", NULL});
    int64_t rows = made.encoded->offsets[1], columns = 80;
    size_t bytes = (size_t)(rows * columns) * sizeof(float);
    float *before = malloc(bytes);
    int seen[7] = {0};
    memcpy(before, fill(&made, 0, 0, rows, NULL), bytes);
    for (uint64_t seed = 0; seed < 100; seed++) {
        const float *found = fill(&made, 0, 0, rows, &seed);
        int matches = 0;
        for (int shift = -3; shift <= 3; shift++) {
            int same = 1;
            for (int64_t i = 0; i < rows * columns && same; i++) {
                int64_t bin = i % 40 - shift, base = i - i % 40;
                same = found[i] == before[base + (bin < 0 ? 0 : bin > 39 ? 39 : bin)];
            }
            matches += same;
            seen[shift + 3] += same;
        }
        assert_int_equal(matches, 1);
    }
    for (int i = 0; i < 7; i++) assert_true(seen[i] > 0);
    free(before);
    forget(&made);
    attn_dataset_destroy(dataset);
}

/* ---- labels ---- */

static void test_labels(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    const int64_t segments[] = {0, 2, 4}, starts[] = {0, 900, 400, 1000}, ends[] = {800, 1600, 1000, 4000};
    const char *const values[] = {"a", "b", "c", "d"}, *const names[] = {"phone"};
    expect_ok(group_context, attn_dataset_set_segments(dataset, segments, starts, ends));
    expect_ok(group_context, attn_dataset_set_targets(dataset, 1, names, values, 1));
    assert_int_equal(attn_dataset_rows(dataset, 1), 2);
    for (int stride = 1; stride <= 3; stride++) {
        char strides[8];
        snprintf(strides, sizeof strides, "%d", stride);
        view made =
            learn(dataset, (const char *const[]){"speech.stack", strides, "speech.stride", strides, NULL});
        const at_labels *labels = &made.encoded->labels;
        assert_int_equal(labels->per_row, 1);
        assert_int_equal(labels->places, made.encoded->rows);
        for (int64_t row = 0; row < made.encoded->rows; row++) {
            int second = row >= made.encoded->offsets[1];
            int64_t own = row - made.encoded->offsets[second];
            double center = ((double)(own * stride) + (stride - 1) / 2.0) * SHIFT + WINDOW / 2.0;
            const char *expected = "";
            for (int i = 2 * second; i < 2 * second + 2; i++)
                if ((double)starts[i] <= center && center < (double)ends[i]) expected = values[i];
            assert_string_equal(at_string(labels->values, row), expected);
        }
        forget(&made);
    }
    /* what cannot be */
    const int64_t none[] = {0, 0, 4}, backwards[] = {800, 800, 900, 4000}, past[] = {800, 1600, 1000, 4001};
    expect_refused(group_context, attn_dataset_set_segments(dataset, none, starts, ends),
                   ATTN_INVALID_ARGUMENT, "because every recording has a segment");
    expect_refused(group_context, attn_dataset_set_segments(dataset, segments, starts, backwards),
                   ATTN_INVALID_ARGUMENT, "segment 1 goes from 900 to 800");
    expect_refused(group_context, attn_dataset_set_segments(dataset, segments, starts, past),
                   ATTN_INVALID_ARGUMENT, "segment 3 goes from 1000 to 4001");
    expect_refused(group_context, attn_dataset_set_segments(dataset, segments, NULL, ends),
                   ATTN_INVALID_ARGUMENT, "is NULL");
    attn_dataset_destroy(dataset);
}

/* ---- from memory ---- */

static void test_memory(void **state) {
    (void)state;
    attn_dataset *dataset = NULL;
    float bad[] = {0, NAN, 0};
    const int64_t one[] = {0, 3}, empty[] = {0, 0};
    expect_refused(group_context, attn_dataset_from_samples(group_context, bad, one, 1, RATE, &dataset),
                   ATTN_INVALID_ARGUMENT, "samples[1] is not a number");
    bad[1] = 0;
    expect_refused(group_context, attn_dataset_from_samples(group_context, bad, one, 1, 0, &dataset),
                   ATTN_INVALID_ARGUMENT, "rate is 0 samples per second");
    expect_refused(group_context, attn_dataset_from_samples(group_context, bad, one, 1, 1000000000, &dataset),
                   ATTN_INVALID_ARGUMENT, "rate is 1000000000 samples per second");
    expect_refused(group_context, attn_dataset_from_samples(group_context, bad, empty, 1, RATE, &dataset),
                   ATTN_INVALID_ARGUMENT, "because no recording is empty");
    expect_refused(group_context, attn_dataset_from_samples(group_context, NULL, one, 1, RATE, &dataset),
                   ATTN_INVALID_ARGUMENT, "samples is NULL");
    assert_null(dataset);
    /* a selection has what was selected, and its fingerprint follows from the samples */
    dataset = make_dataset(RATE);
    attn_dataset *selected = NULL, *whole = NULL;
    const int64_t second = 1, both[] = {0, 1};
    expect_ok(group_context, attn_dataset_select(dataset, &second, 1, &selected));
    expect_ok(group_context, attn_dataset_select(dataset, both, 2, &whole));
    assert_int_equal(at_recordings_of(selected)->list[0].count, LONG);
    assert_memory_equal(at_recordings_of(selected)->numbers, samples + SHORT, LONG * sizeof *samples);
    assert_true(at_dataset_fingerprint(whole, 1) == at_dataset_fingerprint(dataset, 1));
    assert_true(at_dataset_fingerprint(selected, 1) != at_dataset_fingerprint(dataset, 1));
    expect_ok(group_context, attn_dataset_append(selected, dataset));
    assert_int_equal(attn_dataset_examples(selected), 3);
    assert_memory_equal(at_recordings_of(selected)->numbers + LONG, samples, sizeof samples);
    attn_dataset_destroy(whole);
    attn_dataset_destroy(selected);
    attn_dataset_destroy(dataset);
}

static void test_describe(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE);
    for (int i = 0; i < 10; i++) at_recordings_of(dataset)->numbers[SHORT + 100 + i] = 1;
    for (int i = 0; i < SHORT; i++) at_recordings_of(dataset)->numbers[i] = 0;
    char *text = NULL;
    attn_describe_options options;
    attn_describe_options_init(&options);
    expect_ok(group_context, attn_dataset_describe(dataset, &options, &text));
    assert_non_null(strstr(text, "2 recordings, 0.70 seconds"));
    assert_non_null(strstr(text, "rate: 8,000 Hz"));
    assert_non_null(strstr(text, "1 recording is silent"));
    assert_non_null(strstr(text, "1 recording is clipped"));
    attn_text_release(group_context, text);
    options.json = 1;
    expect_ok(group_context, attn_dataset_describe(dataset, &options, &text));
    assert_non_null(strstr(text, "\"seconds\":0.7,"));
    assert_non_null(strstr(text, "\"rates\":{\"8000\":2}"));
    assert_non_null(strstr(text, "\"silent\":1,\"clipped\":1,\"clipped_samples\":9,"));
    attn_text_release(group_context, text);
    attn_dataset_destroy(dataset);
}

/* What does not fit a model is refused. */
static void test_misfits(void **state) {
    (void)state;
    attn_dataset *dataset = make_dataset(RATE), *slow = NULL;
    view made = learn(dataset, (const char *const[]){"speech.rate", "48000", NULL});
    at_encoded *encoded = NULL;
    const int64_t one[] = {0, SHORT};
    expect_ok(group_context, attn_dataset_from_samples(group_context, samples, one, 1, 100, &slow));
    expect_refused(group_context,
                   at_speech_kind.encode(made.input, group_context, NULL, slow, NULL, &encoded),
                   ATTN_INVALID_ARGUMENT, "recording 1 has 100 samples per second, which is too far");
    at_recordings_of(slow)->columns = 4; /* features now */
    expect_refused(group_context,
                   at_speech_kind.encode(made.input, group_context, NULL, slow, NULL, &encoded),
                   ATTN_INVALID_ARGUMENT, "has features, the model learned from recordings");
    at_recordings_of(slow)->columns = 0;
    at_speech_values values =
        values_of((const char *const[]){"speech.features", "mfcc", "speech.cepstra", "41", NULL});
    at_input_use use = {.task = "lm", .running = 1};
    expect_refused(group_context, at_speech_kind.check(group_context, &values, &use), ATTN_INVALID_ARGUMENT,
                   "task lm learns what comes next");
    use.running = 0;
    expect_refused(group_context, at_speech_kind.check(group_context, &values, &use), ATTN_INVALID_ARGUMENT,
                   "speech.cepstra is 41");
    values.cepstra = 13;
    values.frequency_shift = 1;
    expect_refused(group_context, at_speech_kind.check(group_context, &values, &use), ATTN_INVALID_ARGUMENT,
                   "speech.frequency_shift moves mel filters");
    forget(&made);
    attn_dataset_destroy(slow);
    attn_dataset_destroy(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_frames),
        cmocka_unit_test(test_rates),        cmocka_unit_test(test_short),
        cmocka_unit_test(test_stacks),       cmocka_unit_test(test_normalisation),
        cmocka_unit_test(test_running_mean), cmocka_unit_test(test_masks),
        cmocka_unit_test(test_shifts),       cmocka_unit_test(test_labels),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_describe),
        cmocka_unit_test(test_misfits),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
