/* fuzz_phn.c: any bytes as segments of a recording: refused with a text that shows no control characters, or
 * segments that follow each other within the recording. The first byte says how long that is. */
#include "fuzz_dataset.h"
#include "inputs/speech/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_segments(const attn_dataset *dataset, int64_t samples) {
    const at_recordings *recordings = at_recordings_of(dataset);
    int64_t before = 0;
    REQUIRE(recordings->rows == dataset->rows && dataset->rows > 0 &&
            dataset->targets.count == dataset->rows);
    for (int64_t row = 0; row < dataset->rows; row++) {
        const at_span *span = &recordings->spans[row];
        REQUIRE(span->start >= before && span->end >= span->start && span->end <= samples);
        REQUIRE(dataset->lines[row] > 0);
        fuzz_check_text(at_string(&dataset->targets, row));
        before = span->end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_reader_options options;
    attn_context *context = fuzz_context();
    if (size == 0) return 0;
    attn_reader_options_init(&options);
    options.label_separator = data[0] & 1 ? '|' : 0;
    int64_t samples = 1 + 64 * (data[0] >> 2);
    at_speech_reader reader = {.context = context,
                               .name = "a.tsv",
                               .options = &options,
                               .rows = {.context = context},
                               .rate = data[0] & 2 ? 8000 : 0};
    REQUIRE(at_recordings_dataset(context, "a.tsv", AT_SPEECH_LIST, &reader.dataset) == ATTN_OK);
    reader.dataset->per_row = 1;
    REQUIRE(at_strings_add(context, &reader.dataset->columns, "label", 5) == ATTN_OK);
    float *into = at_recordings_room(reader.dataset, samples);
    REQUIRE(into != NULL);
    memset(into, 0, (size_t)samples * sizeof *into);
    at_recordings_of(reader.dataset)->used += samples;
    attn_status status = at_speech_parse_segments(&reader, "a.phn", (const char *)data + 1, size - 1);
    if (status == ATTN_OK) {
        check_segments(reader.dataset, samples);
    } else {
        REQUIRE(status == ATTN_INVALID_ARGUMENT && reader.bad);
        for (const char *p = attn_context_error(context); *p; p++) REQUIRE((unsigned char)*p >= ' ');
        at_recordings_undo(reader.dataset);
        REQUIRE(reader.dataset->rows == 0 && at_recordings_of(reader.dataset)->used == 0);
    }
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    attn_dataset_destroy(reader.dataset);
    return 0;
}
