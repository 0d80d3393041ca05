/* test_speech_reading.c: files of speech: lists, folders, single recordings, segments; samples of every
 * width, channels, rates; and what each mistake is told.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "inputs/speech/recordings.h"
#include "support/memory.h"
#include "support/sounds.h"
#include "support/training.h"

enum { SAMPLES = 2000, RATE = 8000 };

static char folder[] = "/tmp/attn_speech_XXXXXX";
static float tone[SAMPLES];

static int setup(void **state) {
    if (!mkdtemp(folder)) return -1;
    sound_tone(tone, SAMPLES, RATE, 440, 0.5, 1);
    return group_setup(state);
}

static int teardown(void **state) {
    sound_remove_all(folder);
    return group_teardown(state);
}

static attn_reader_options options_of(int per_token, int pairs) {
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.input = "speech";
    options.per_token = per_token;
    options.pairs = pairs;
    return options;
}

static attn_dataset *read_list(const char *name, const char *text, const attn_reader_options *options) {
    attn_dataset *dataset = NULL;
    const char *path = sound_write_text(folder, name, text);
    expect_ok(group_context, attn_dataset_read(group_context, path, options, &dataset));
    return dataset;
}

/* The error has `part` in it, and nothing is left behind. */
static void refuse(const char *name, const char *text, const attn_reader_options *options, const char *part) {
    attn_dataset *dataset = NULL;
    const char *path = sound_write_text(folder, name, text);
    expect_refused(group_context, attn_dataset_read(group_context, path, options, &dataset),
                   ATTN_INVALID_ARGUMENT, part);
    assert_null(dataset);
}

/* ---- samples ---- */

static void test_widths(void **state) {
    (void)state;
    static const struct {
        int bits, floats;
        double tolerance;
    } kinds[] = {{8, 0, 0.012}, {16, 0, 1e-4}, {24, 0, 1e-6}, {32, 0, 1e-7}, {32, 1, 1e-7}, {64, 1, 1e-7}};
    attn_reader_options options = options_of(0, 0);
    options.labelled = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int channels = 1; channels <= 3; channels++) {
            sound_format format = {
                .bits = kinds[k].bits, .floats = kinds[k].floats, .channels = channels, .rate = 11025};
            size_t length;
            char *bytes = sound_wav(&format, tone, SAMPLES, &length);
            attn_dataset *dataset = NULL;
            expect_ok(group_context,
                      attn_dataset_parse(group_context, "a.wav", 1, bytes, length, &options, &dataset));
            const at_recordings *read = at_recordings_of(dataset);
            assert_int_equal(read->count, 1);
            assert_int_equal(read->list[0].count, SAMPLES);
            assert_int_equal(read->list[0].rate, 11025);
            assert_int_equal(read->list[0].channels, channels);
            double share = channels == 1 ? 1 : (1 + 0.5 * (channels - 1)) / channels;
            for (int i = 0; i < SAMPLES; i++)
                if (!(fabs((double)read->numbers[i] - share * (double)tone[i]) <= kinds[k].tolerance))
                    fail_msg("%d bits, %d channels: sample %d is %g, not %g", kinds[k].bits, channels, i,
                             (double)read->numbers[i], share * (double)tone[i]);
            attn_dataset_destroy(dataset);
            free(bytes);
        }
    }
}

static void refuse_bytes(const char *bytes, size_t length, const char *part) {
    attn_reader_options options = options_of(0, 0);
    attn_dataset *dataset = NULL;
    options.labelled = 0;
    expect_refused(group_context,
                   attn_dataset_parse(group_context, "a.wav", 1, bytes, length, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, part);
    assert_null(dataset);
}

static void test_bad_recordings(void **state) {
    (void)state;
    sound_format format = {.bits = 32, .floats = 1, .channels = 1, .rate = RATE};
    size_t length;
    float broken[100] = {0};
    const float bad[] = {NAN, INFINITY, 1e30f};
    const char *const words[] = {"a.wav: sample 70 is not a number", "a.wav: sample 70 is infinite",
                                 "a.wav: sample 70 is more than a million"};
    for (int i = 0; i < 3; i++) {
        broken[70] = bad[i];
        char *bytes = sound_wav(&format, broken, 100, &length);
        refuse_bytes(bytes, length, words[i]);
        free(bytes);
    }
    const uint32_t rates[] = {0, 99, 1000000000, 4294967295u};
    for (int i = 0; i < 4; i++) {
        sound_format odd = {.bits = 16, .channels = 1, .rate = rates[i]};
        char *bytes = sound_wav(&odd, tone, 100, &length);
        refuse_bytes(bytes, length, "a.wav: ");
        free(bytes);
    }
    sound_format plain = {.bits = 16, .channels = 1, .rate = RATE};
    char *bytes = sound_wav(&plain, tone, 0, &length);
    refuse_bytes(bytes, length, "a.wav: ");
    free(bytes);
    bytes = sound_wav(&plain, tone, 100, &length);
    for (size_t cut = 0; cut < 44; cut++) refuse_bytes(bytes, cut, cut ? "a.wav" : "is empty");
    refuse_bytes("RIFF", 4, "a.wav: cannot be read");
    refuse_bytes("no sound at all", 15, "a.wav: cannot be read");
    free(bytes);
}

/* What a header promises is not trusted: the samples are those that are there. */
static void test_promises(void **state) {
    (void)state;
    sound_format format = {.bits = 16, .channels = 1, .rate = RATE, .promised = 2147483000u};
    size_t length;
    char *bytes = sound_wav(&format, tone, 500, &length);
    attn_reader_options options = options_of(0, 0);
    attn_dataset *dataset = NULL;
    options.labelled = 0;
    expect_ok(group_context,
              attn_dataset_parse(group_context, "a.wav", 1, bytes, length, &options, &dataset));
    assert_int_equal(at_recordings_of(dataset)->list[0].count, 500);
    assert_true(at_recordings_of(dataset)->room < 1 << 18);
    attn_dataset_destroy(dataset);
    dataset = NULL;
    options.expanded_limit = 1500; /* 500 samples have 2000 bytes */
    expect_refused(group_context,
                   attn_dataset_parse(group_context, "a.wav", 1, bytes, length, &options, &dataset),
                   ATTN_OVERFLOW, "more than 1500 bytes");
    assert_null(dataset);
    free(bytes);
}

/* ---- lists ---- */

static void make_recordings(void) {
    sound_write_wav(folder, "a.wav", tone, SAMPLES, RATE);
    sound_write_wav(folder, "b.wav", tone, SAMPLES / 2, 16000);
    sound_write_wav(folder, "c d.wav", tone, SAMPLES / 4, RATE);
    sound_write_text(folder, "a.phn", "0 800 h#\n800 1600 aa\n1700 2000 t\n");
    sound_write_text(folder, "b.phn", "0 500 x\n500 1010 y z\n");
}

static void test_lists(void **state) {
    (void)state;
    make_recordings();
    attn_reader_options options = options_of(0, 0);
    attn_dataset *dataset = read_list("l.tsv", "a.wav\tone\nb.wav\ttwo\n\nc d.wav\tone\n", &options);
    assert_int_equal(attn_dataset_examples(dataset), 3);
    assert_string_equal(attn_dataset_id(dataset, 2), "c d.wav");
    assert_string_equal(attn_dataset_column(dataset, 0), "label");
    assert_string_equal(attn_dataset_target(dataset, 0, 1, 0), "two");
    assert_int_equal(attn_dataset_line(dataset, 2, 0), 4);
    assert_int_equal(at_recordings_of(dataset)->list[1].rate, 16000);
    attn_dataset_destroy(dataset);
    /* a header, CSV, columns by name, a split and speakers */
    const char *csv = "file,Digit,speaker,split,text\na.wav,1,ann,train,\"one, two\"\nb.wav,2,bob,dev,b\n"
                      "c d.wav,3,ann,test,c\n";
    dataset = read_list("l.csv", csv, &options);
    assert_string_equal(attn_dataset_column(dataset, 0), "Digit");
    assert_int_equal(attn_dataset_part_size(dataset, ATTN_PART_VAL), 1);
    attn_dataset_destroy(dataset);
    options.column = "text,speaker";
    dataset = read_list("l.csv", csv, &options);
    assert_int_equal(attn_dataset_columns(dataset), 2);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 0), "one, two");
    assert_string_equal(attn_dataset_target(dataset, 1, 1, 0), "bob");
    attn_dataset_destroy(dataset);
    options = options_of(-1, 1);
    dataset = read_list("l.csv", csv, &options);
    assert_string_equal(attn_dataset_column(dataset, 0), "text");
    attn_dataset_destroy(dataset);
    /* speakers stay together, where segments have labels, too */
    options = options_of(1, 0);
    options.split = "speaker";
    dataset =
        read_list("p.csv", "file,phn,speaker\na.wav,a.phn,ann\nb.wav,b.phn,bob\na.wav,a.phn,ann\n", &options);
    int64_t size = attn_dataset_part_size(dataset, ATTN_PART_TRAIN);
    assert_true(size == 2 || size == 3);
    attn_dataset_destroy(dataset);
    refuse("p.tsv", "a.wav\ta.phn\n", &options, "has no column `speaker`");
    /* columns by number, and absolute paths */
    char text[400];
    snprintf(text, sizeof text, "x\t%s/a.wav\ty\n", folder);
    options = options_of(0, 0);
    options.text_column = "2";
    options.column = "3";
    dataset = read_list("n.tsv", text, &options);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 0), "y");
    attn_dataset_destroy(dataset);
}

static void test_bad_lists(void **state) {
    (void)state;
    make_recordings();
    attn_reader_options options = options_of(0, 0);
    refuse("l.tsv", "a.wav\tone\nnone.wav\ttwo\n", &options, "l.tsv:2: ");
    refuse("l.tsv", "a.wav\tone\nnone.wav\ttwo\n", &options, "none.wav: cannot be opened: No such file");
    refuse("l.tsv", "a.wav\tone\nb.wav\n", &options, "l.tsv:2: 1 column, the first row has 2");
    refuse("l.tsv", "a.wav\tone\n\t two\n", &options, "l.tsv:2: there is no path of a recording");
    refuse("l.tsv", "a.wav\nb.wav\n", &options, "l.tsv: has no targets");
    refuse("l.tsv", "path\tx\ty\na.wav\t1\t2\n", &options, "the column to learn is ambiguous");
    refuse("l.tsv", "path\tlabel\n", &options, "l.tsv: has no recordings");
    refuse("l.tsv", "", &options, "l.tsv: is empty");
    refuse("l.tsv", "a.wav\t\xff\n", &options, "l.tsv:1: byte 7 (0xff) is not UTF-8");
    sound_write_text(folder, "cut.wav", "RIFF....WAVEfmt ");
    refuse("l.tsv", "cut.wav\tone\n", &options, "cut.wav: cannot be read");
    sound_write_text(folder, "empty.wav", "");
    refuse("l.tsv", "empty.wav\tone\n", &options, "empty.wav: is empty");
    refuse("l.tsv", ".\tone\n", &options, "is a folder, not a sound file");
    refuse("l.tsv", "a.wav\tone\nb\33[1m.wav\ttwo\n", &options, "b?[1m.wav: cannot be opened");
    options.column = "word";
    refuse("l.tsv", "path\tlabel\na.wav\tone\n", &options,
           "has no column word; its first line names the columns path, label");
    options = options_of(0, 0);
    options.split_column = "part";
    refuse("l.tsv", "path\tlabel\tpart\na.wav\tone\tperhaps\n", &options, "l.tsv:2: ");
    /* bad ones are left out and counted, or end the reading */
    options = options_of(0, 0);
    options.skip_bad = 1;
    const char *list = "a.wav\tone\nnone.wav\ttwo\ncut.wav\ttwo\nb.wav\ttwo\n";
    attn_dataset *dataset = read_list("l.tsv", list, &options);
    assert_int_equal(attn_dataset_examples(dataset), 2);
    assert_int_equal(attn_dataset_skipped(dataset), 2);
    assert_non_null(strstr(attn_dataset_problem(dataset, 1), "l.tsv:3: "));
    assert_string_equal(attn_dataset_target(dataset, 0, 1, 0), "two");
    assert_string_equal(attn_dataset_id(dataset, 1), "b.wav");
    attn_dataset_destroy(dataset);
    refuse("l.tsv", "none.wav\ttwo\n", &options, "has no good recordings: all 1 were left out");
    options.skip_bad = 0;
    options.stop_at_bad = 1;
    dataset = read_list("l.tsv", list, &options);
    assert_int_equal(attn_dataset_examples(dataset), 1);
    assert_int_equal(attn_dataset_stopped(dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_consumed(dataset), strlen("a.wav\tone\n"));
    attn_dataset_destroy(dataset);
}

/* ---- segments ---- */

static void test_segments(void **state) {
    (void)state;
    make_recordings();
    attn_reader_options options = options_of(1, 0);
    attn_dataset *dataset = read_list("l.tsv", "a.wav\ta.phn\nb.wav\tb.phn\n", &options);
    const at_recordings *read = at_recordings_of(dataset);
    assert_int_equal(attn_dataset_tokenized(dataset), 1);
    assert_int_equal(attn_dataset_rows(dataset, 0), 3);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 2), "t");
    assert_int_equal(attn_dataset_line(dataset, 0, 2), 3);
    assert_int_equal(read->spans[2].start, 1700);
    assert_int_equal(read->spans[4].end, 1000); /* a little past the end */
    assert_string_equal(attn_dataset_target(dataset, 0, 1, 1), "y z");
    attn_dataset_destroy(dataset);
    /* seconds; found without being asked for */
    sound_write_text(folder, "s.phn", "0.0\t0.1\tx\r\n 0.1  0.25 y \n");
    options = options_of(-1, -1);
    dataset = read_list("l.tsv", "a.wav\ts.phn\n", &options);
    assert_int_equal(at_recordings_of(dataset)->spans[1].start, 800);
    assert_int_equal(at_recordings_of(dataset)->spans[1].end, 2000);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 0), "x");
    attn_dataset_destroy(dataset);
}

static void test_bad_segments(void **state) {
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"0 800 x\n700 900 y\n", "s.phn:2: a segment begins at 700, before that of line 1 ends (800)"},
        {"0 800 x\n900 850 y\n", "s.phn:2: a segment runs backwards, from 900 to 850"},
        {"0 800 x\n900 2300 y\n", "s.phn:2: a segment ends at 2300, the recording has 2000 samples"},
        {"-5 800 x\n", "s.phn:1: a segment begins at -5"},
        {"0 800\n", "s.phn:1: a segment without a label"},
        {"0 x 800\n", "s.phn:1: is not a segment"},
        {"0\n", "s.phn:1: is not a segment"},
        {"nan inf x\n", "s.phn:1: is not a segment"},
        {"1e400 2 x\n", "s.phn:1: is not a segment"},
        {"0 99999999999999999999 x\n", "s.phn:1: is not a segment"},
        {"", "s.phn: has no segments"},
        {"\n \n", "s.phn: has no segments"},
        {"0 800 \xff\n", "s.phn:1: byte 7 (0xff) is not UTF-8"},
    };
    (void)state;
    make_recordings();
    attn_reader_options options = options_of(1, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sound_write_text(folder, "s.phn", cases[i].text);
        refuse("l.tsv", "a.wav\ts.phn\n", &options, cases[i].error);
    }
    refuse("l.tsv", "a.wav\tnone.phn\n", &options, "l.tsv:1: the segments of a.wav: ");
    refuse("l.tsv", "a.wav\t\n", &options, "l.tsv:1: this row has no target");
    /* One that is left out takes its segments with it. */
    options.skip_bad = 1;
    sound_write_text(folder, "s.phn", "0 800 x\n700 900 y\n");
    attn_dataset *dataset = read_list("l.tsv", "a.wav\ta.phn\na.wav\ts.phn\nb.wav\tb.phn\n", &options);
    assert_int_equal(attn_dataset_examples(dataset), 2);
    assert_int_equal(dataset->rows, 5);
    assert_int_equal(dataset->targets.count, 5);
    assert_int_equal(at_recordings_of(dataset)->rows, 5);
    assert_int_equal(at_recordings_of(dataset)->used, SAMPLES + SAMPLES / 2);
    assert_string_equal(attn_dataset_target(dataset, 0, 1, 0), "x");
    attn_dataset_destroy(dataset);
}

/* ---- folders ---- */

static void make_folder(const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(mkdir(path, 0700) == 0);
}

static attn_dataset *read_folder(const char *name, const attn_reader_options *options) {
    attn_dataset *dataset = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    expect_ok(group_context, attn_dataset_read(group_context, path, options, &dataset));
    return dataset;
}

static void test_folders(void **state) {
    (void)state;
    attn_reader_options options = options_of(0, 0);
    make_folder("labels");
    make_folder("labels/yes");
    make_folder("labels/no");
    sound_write_wav(folder, "labels/yes/2.wav", tone, 500, RATE);
    sound_write_wav(folder, "labels/yes/1.WAV", tone, 400, RATE);
    sound_write_wav(folder, "labels/no/1.wav", tone, 300, RATE);
    sound_write_text(folder, "labels/no/notes.txt", "no recording");
    attn_dataset *dataset = read_folder("labels", &options);
    assert_int_equal(attn_dataset_examples(dataset), 3);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 0), "no");
    assert_string_equal(attn_dataset_target(dataset, 0, 1, 0), "yes");
    assert_int_equal(at_recordings_of(dataset)->list[1].count, 400); /* in the order of names */
    attn_dataset_destroy(dataset);
    sound_write_wav(folder, "labels/alone.wav", tone, 300, RATE);
    char path[300];
    snprintf(path, sizeof path, "%s/labels", folder);
    dataset = NULL;
    expect_refused(group_context, attn_dataset_read(group_context, path, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, "alone.wav is in no folder of a label");
    options.skip_bad = 1;
    dataset = read_folder("labels", &options);
    assert_int_equal(attn_dataset_examples(dataset), 3);
    attn_dataset_destroy(dataset);
    /* what is beside recordings */
    make_folder("beside");
    sound_write_wav(folder, "beside/u1.wav", tone, 1600, RATE);
    sound_write_text(folder, "beside/u1.phn", "0 800 x\n800 1600 y\n");
    sound_write_text(folder, "beside/u1.txt", "  hello\nworld \n");
    options = options_of(1, 0);
    dataset = read_folder("beside", &options);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 1), "y");
    attn_dataset_destroy(dataset);
    options = options_of(-1, 1);
    dataset = read_folder("beside", &options);
    assert_string_equal(attn_dataset_target(dataset, 0, 0, 0), "hello world");
    attn_dataset_destroy(dataset);
    sound_write_wav(folder, "beside/u2.wav", tone, 1600, RATE);
    snprintf(path, sizeof path, "%s/beside", folder);
    dataset = NULL;
    expect_refused(group_context, attn_dataset_read(group_context, path, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, "there is no .txt beside u2.wav");
    options.labelled = 0;
    dataset = read_folder("beside", &options);
    assert_int_equal(attn_dataset_examples(dataset), 2);
    attn_dataset_destroy(dataset);
    make_folder("nothing");
    snprintf(path, sizeof path, "%s/nothing", folder);
    dataset = NULL;
    expect_refused(group_context, attn_dataset_read(group_context, path, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, "has no recordings in it");
}

/* ---- features ---- */

static size_t make_npy(char *into, const char *shape, const float *numbers, int count) {
    char dict[120];
    int length =
        snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", shape);
    memcpy(into, "\x93NUMPY\1\0", 8);
    into[8] = (char)length;
    into[9] = 0;
    memcpy(into + 10, dict, (size_t)length);
    memcpy(into + 10 + length, numbers, (size_t)count * sizeof *numbers);
    return 10 + (size_t)length + (size_t)count * sizeof *numbers;
}

static void test_features(void **state) {
    (void)state;
    char bytes[1000];
    float numbers[12];
    for (int i = 0; i < 12; i++) numbers[i] = (float)i;
    make_recordings();
    sound_write(folder, "f.npy", bytes, make_npy(bytes, "(4, 3)", numbers, 12));
    sound_write(folder, "g.npy", bytes, make_npy(bytes, "(2, 3)", numbers, 6));
    sound_write(folder, "h.npy", bytes, make_npy(bytes, "(3, 2)", numbers, 6));
    sound_write(folder, "i.npy", bytes, make_npy(bytes, "(6,)", numbers, 6));
    attn_reader_options options = options_of(0, 0);
    attn_dataset *dataset = read_list("l.tsv", "f.npy\tx\ng.npy\ty\n", &options);
    const at_recordings *read = at_recordings_of(dataset);
    assert_int_equal(read->columns, 3);
    assert_int_equal(read->list[0].count, 4);
    assert_int_equal(read->list[1].first, 12);
    assert_true(read->numbers[11] == 11 && read->numbers[12] == 0);
    attn_dataset_destroy(dataset);
    refuse("l.tsv", "f.npy\tx\nh.npy\ty\n", &options,
           "h.npy: has features of 2 columns, those before it are of");
    refuse("l.tsv", "a.wav\tx\nf.npy\ty\n", &options, "those before it are recordings");
    refuse("l.tsv", "f.npy\tx\na.wav\ty\n", &options, "is a recording, those before it are features");
    refuse("l.tsv", "i.npy\tx\n", &options, "is not an array of features");
    numbers[4] = NAN;
    sound_write(folder, "n.npy", bytes, make_npy(bytes, "(4, 3)", numbers, 12));
    refuse("l.tsv", "n.npy\tx\n", &options, "n.npy: row 1, column 1 is not a number");
    /* segments are in rows; the first file may be left out without leaving its columns */
    sound_write_text(folder, "f.phn", "0 2 x\n2 4 y\n");
    options = options_of(1, 0);
    options.skip_bad = 1;
    dataset = read_list("l.tsv", "n.npy\tf.phn\nf.npy\tf.phn\n", &options);
    assert_int_equal(at_recordings_of(dataset)->spans[1].start, 2);
    attn_dataset_destroy(dataset);
}

/* ---- what it is ---- */

static void test_formats(void **state) {
    (void)state;
    attn_reader_options options = options_of(0, 0);
    make_recordings();
    char path[300];
    snprintf(path, sizeof path, "%s/a.wav", folder);
    attn_dataset *dataset = NULL;
    assert_string_equal(attn_input_of_file("x/a.wav"), "speech");
    assert_string_equal(attn_input_of_file("x/a.FLAC"), "speech");
    expect_refused(group_context, attn_dataset_read(group_context, path, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, "is one recording without a target");
    options.format = (attn_format)AT_SPEECH_LIST;
    expect_refused(group_context, attn_dataset_read(group_context, path, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, "is a recording, not a list of recordings");
    options.labelled = 0;
    expect_ok(group_context, attn_dataset_read(group_context, path, &options, &dataset));
    assert_int_equal(attn_dataset_format(dataset), AT_SPEECH_RECORDING);
    assert_string_equal(attn_dataset_id(dataset, 0), path);
    attn_dataset_destroy(dataset);
    dataset = NULL;
    snprintf(path, sizeof path, "%s/none.wav", folder);
    expect_refused(group_context, attn_dataset_read(group_context, path, &options, &dataset),
                   ATTN_SYSTEM_ERROR, "none.wav: cannot be opened");
    /* later pieces of a list know its columns */
    options.format = (attn_format)AT_SPEECH_LIST;
    options.piece = 1;
    options.head = "label\tpath\n";
    options.head_length = 11;
    char line[400];
    snprintf(line, sizeof line, "x\t%s/a.wav\n", folder);
    expect_ok(group_context,
              attn_dataset_parse(group_context, "-", 7, line, strlen(line), &options, &dataset));
    assert_int_equal(attn_dataset_line(dataset, 0, 0), 7);
    attn_dataset_destroy(dataset);
}

/* Without memory at any place nothing is lost. */
static void test_without_memory(void **state) {
    (void)state;
    make_recordings();
    attn_reader_options options = options_of(1, 0);
    char path[300];
    snprintf(path, sizeof path, "%s",
             sound_write_text(folder, "l.tsv", "path\tphn\tspeaker\na.wav\ta.phn\tx\nb.wav\tb.phn\ty\n"));
    for (int64_t n = 1;; n++) {
        attn_dataset *dataset = NULL;
        int64_t live = group_counter.live;
        group_counter.fail_at = n;
        attn_status status = attn_dataset_read(group_context, path, &options, &dataset);
        int done = group_counter.fail_at > 0 && group_counter.failures == 0;
        group_counter.fail_at = group_counter.failures = 0;
        if (status == ATTN_OK) {
            attn_dataset_destroy(dataset);
            assert_int_equal(group_counter.live, live);
            assert_true(done && n > 10);
            return;
        }
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(dataset);
        assert_int_equal(group_counter.live, live);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),         cmocka_unit_test(test_bad_recordings),
        cmocka_unit_test(test_promises),       cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bad_lists),      cmocka_unit_test(test_segments),
        cmocka_unit_test(test_bad_segments),   cmocka_unit_test(test_folders),
        cmocka_unit_test(test_features),       cmocka_unit_test(test_formats),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
