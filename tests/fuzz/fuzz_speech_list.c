/* fuzz_speech_list.c: any bytes as lists of recordings, of which two exist, and as recordings: refused with a
 * text that shows no control characters, or a dataset that holds together. The first byte says how they are
 * read. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include <math.h>
#include <unistd.h>

#include "fuzz_dataset.h"
#include "inputs/speech/recordings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const char *text) {
    REQUIRE(*text != 0);
    for (; *text; text++) REQUIRE((unsigned char)*text >= ' ');
}

static void check_recordings(const attn_dataset *dataset) {
    const at_recordings *recordings = at_recordings_of(dataset);
    int64_t width = recordings->columns ? recordings->columns : 1, at = 0;
    REQUIRE(recordings->count == dataset->examples && recordings->rows == dataset->rows);
    REQUIRE(dataset->ids.count == dataset->examples);
    REQUIRE(dataset->targets.count ==
            (dataset->per_row ? dataset->rows : dataset->examples) * dataset->columns.count);
    REQUIRE(recordings->speakers.count == 0 || recordings->speakers.count == dataset->examples);
    for (int64_t e = 0; e < recordings->count; e++) {
        const at_recording *one = &recordings->list[e];
        REQUIRE(one->first == at && one->count > 0 && dataset->offsets[e] < dataset->offsets[e + 1]);
        at += one->count * width;
        for (int64_t row = dataset->offsets[e]; row < dataset->offsets[e + 1]; row++)
            REQUIRE(recordings->spans[row].recording == e && recordings->spans[row].start >= 0 &&
                    recordings->spans[row].end <= one->count);
    }
    REQUIRE(recordings->used == at);
    for (int64_t i = 0; i < at; i++) REQUIRE(isfinite(recordings->numbers[i]));
}

/* ---- what a list can name: a.npy with features, a.phn with their segments ---- */

static char folder[] = "/tmp/attn_fuzz_XXXXXX";

static const char *path_of(const char *name) {
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_files(void) {
    remove(path_of("a.npy"));
    remove(path_of("a.phn"));
    rmdir(folder);
}

static void write_file(const char *name, const char *bytes, size_t count) {
    FILE *file = fopen(path_of(name), "wb");
    REQUIRE(file != NULL);
    fwrite(bytes, 1, count, file);
    fclose(file);
}

static void write_files(void) {
    static const char npy[] =
        "\x93NUMPY\1\0\x3c\0{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n"
        "abcdef";
    static const char phn[] = "0 1 x\n1 2 y\n";
    static int done;
    if (done++) return;
    REQUIRE(mkdtemp(folder) != NULL);
    atexit(remove_files);
    write_file("a.npy", npy, sizeof npy - 1);
    write_file("a.phn", phn, sizeof phn - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"l.tsv", "l.csv", "l", "l.wav"};
    static const char *const columns[] = {NULL, "y", "2", "y,2"};
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    if (size == 0) return 0;
    write_files();
    attn_reader_options_init(&options);
    options.input = "speech";
    options.column = columns[data[0] & 3];
    options.labelled = data[0] >> 4 & 1;
    options.skip_bad = data[0] >> 5 & 1;
    options.stop_at_bad = !options.skip_bad;
    options.per_token = (data[0] >> 6 & 3) == 3 ? -1 : data[0] >> 6 & 1;
    options.pairs = (data[0] >> 6 & 3) == 2;
    options.expanded_limit = 1 << 20;
    attn_status status = attn_dataset_parse(fuzz_context(), path_of(names[data[0] >> 2 & 3]), 1,
                                            (const char *)data + 1, size - 1, &options, &dataset);
    if (status != ATTN_OK) {
        REQUIRE(dataset == NULL && (status == ATTN_INVALID_ARGUMENT || status == ATTN_OVERFLOW));
        check_error(attn_context_error(fuzz_context()));
        return 0;
    }
    check_recordings(dataset);
    for (int64_t i = 0; attn_dataset_problem(dataset, i); i++) check_error(attn_dataset_problem(dataset, i));
    attn_dataset_destroy(dataset);
    return 0;
}
