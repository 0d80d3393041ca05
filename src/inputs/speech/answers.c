/* answers.c: predictions for recordings, as lines or as JSON.
 *
 *     of recordings   path TAB prediction [TAB probability]
 *     of rows         path TAB start TAB end TAB label TAB probability, one line per segment of one label;
 *                     with the setting `frames` path TAB time TAB label TAB probability, one line per row
 *
 * Times are in seconds. A segment begins and ends halfway between the centres of rows; the first begins and
 * the last ends with the recording. The probability of a segment is the mean of its rows.
 */
#include <string.h>

#include "inputs/speech/speech.h"

typedef struct answers {
    const attn_dataset *dataset;
    const at_cells *cells;
    at_writer *writer;
    at_writer label, other; /* of the run, and of the row after it */
    int first;              /* nothing of this recording is written yet */
} answers;

static void put_name(const answers *now, int64_t example) {
    const char *id = attn_dataset_id(now->dataset, example);
    if (id && *id)
        at_put_text(now->writer, id);
    else
        at_print(now->writer, "%lld", (long long)(now->cells->first + example));
}

/* ---- of recordings ---- */

static void put_example(const answers *now, int64_t example) {
    const at_cells *cells = now->cells;
    put_name(now, example);
    for (int o = 0; o < cells->outputs; o++) {
        at_put_char(now->writer, '\t');
        cells->put(cells, o, example, 0, now->writer);
        if (!cells->likely(cells, o)) continue;
        at_put_char(now->writer, '\t');
        cells->put_probability(cells, o, example, 0, now->writer);
    }
    at_put_char(now->writer, '\n');
}

/* ---- of rows ---- */

static double seconds_of(const answers *now, int64_t example) {
    const at_recording *one = &at_recordings_of(now->dataset)->list[example];
    if (one->rate > 0) return (double)one->count / (double)one->rate;
    return at_speech_encoded_of(now->cells->encoded)->step * (double)now->cells->rows(now->cells, example);
}

/* Where a row begins, and the previous one ends. */
static double begin_of(const answers *now, int64_t example, int64_t row) {
    const at_speech_encoded *encoded = at_speech_encoded_of(now->cells->encoded);
    double seconds = seconds_of(now, example), begin = encoded->center + ((double)row - 0.5) * encoded->step;
    if (row == 0) return 0;
    if (row >= now->cells->rows(now->cells, example)) return seconds;
    return begin < 0 ? 0 : begin > seconds ? seconds : begin;
}

/* The text of a prediction, as it is written. */
static const char *take_label(const answers *now, int output, int64_t example, int64_t row, at_writer *into) {
    into->count = 0;
    at_put(into, "", 0);
    now->cells->put(now->cells, output, example, row, into);
    if (into->status != ATTN_OK) now->writer->status = into->status;
    return into->bytes ? into->bytes : "";
}

typedef struct run {
    int output;
    int64_t example, first, end; /* rows */
    double probability;          /* below 0: there is none */
} run;

static void put_times(const answers *now, const run *found) {
    const at_speech_encoded *encoded = at_speech_encoded_of(now->cells->encoded);
    int one = found->end < 0;
    double center = encoded->center + (double)found->first * encoded->step;
    const char *between = now->cells->json ? ",\"end\":" : "\t";
    if (one)
        at_print(now->writer, "%.4f", center);
    else
        at_print(now->writer, "%.4f%s%.4f", begin_of(now, found->example, found->first), between,
                 begin_of(now, found->example, found->end));
}

static void put_run(answers *now, const run *found, const char *label) {
    at_writer *writer = now->writer;
    if (now->cells->json) {
        at_print(writer, "%s{\"%s\":", now->first ? "" : ",", found->end < 0 ? "time" : "start");
        put_times(now, found);
        at_put(writer, ",\"label\":", 9);
        at_put_json(writer, label);
        if (found->probability >= 0) at_print(writer, ",\"probability\":%.4f", found->probability);
        at_put_char(writer, '}');
    } else {
        put_name(now, found->example);
        at_put_char(writer, '\t');
        put_times(now, found);
        at_put_char(writer, '\t');
        at_put(writer, label, strlen(label));
        if (found->probability >= 0) at_print(writer, "\t%.4f", found->probability);
        at_put_char(writer, '\n');
    }
    now->first = 0;
}

/* The rows of a recording: each, or runs of those with one label. */
static void put_rows(answers *now, int output, int64_t example, int each) {
    const at_cells *cells = now->cells;
    int64_t rows = cells->rows(cells, example), first = 0;
    int likely = cells->likely(cells, output);
    double sum = 0;
    now->first = 1;
    for (int64_t row = 0; row < rows; row++) {
        if (row == first) take_label(now, output, example, row, &now->label);
        if (likely) sum += cells->probability(cells, output, example, row);
        int last = each || row + 1 == rows ||
                   strcmp(now->label.bytes, take_label(now, output, example, row + 1, &now->other)) != 0;
        if (!last || now->writer->status != ATTN_OK) continue;
        double probability = likely ? sum / (double)(row + 1 - first) : -1;
        run found = {output, example, first, each ? -1 : row + 1, probability};
        put_run(now, &found, now->label.bytes);
        first = row + 1;
        sum = 0;
    }
}

/* {"path":, "seconds":, "outputs":{NAME:[{"start":, "end":, "label":, "probability":}, ...]}} */
static void put_object(answers *now, int64_t example, int each) {
    at_writer *writer = now->writer;
    const char *id = attn_dataset_id(now->dataset, example);
    at_put(writer, "{\"id\":", 6);
    at_put_json(writer, id ? id : "");
    at_print(writer, ",\"seconds\":%.4f,\"outputs\":{", seconds_of(now, example));
    for (int o = 0; o < now->cells->outputs; o++) {
        if (o > 0) at_put_char(writer, ',');
        at_put_json(writer, now->cells->name(now->cells, o));
        at_put(writer, ":[", 2);
        put_rows(now, o, example, each);
        at_put_char(writer, ']');
    }
    at_put(writer, "}}\n", 3);
}

/* ---- all of it ---- */

attn_status at_speech_fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                              size_t length, const at_cells *cells, at_writer *writer, int *filled) {
    answers now = {.dataset = dataset,
                   .cells = cells,
                   .writer = writer,
                   .label = {.context = writer->context, .terminal = writer->terminal},
                   .other = {.context = writer->context, .terminal = writer->terminal}};
    int each = settings && ((const at_speech_settings *)settings)->frames;
    (void)lines;
    (void)length;
    *filled = cells->per_row || (!cells->json && !cells->more);
    for (int64_t e = 0; *filled && e < dataset->examples; e++) {
        if (!cells->per_row)
            put_example(&now, e);
        else if (cells->json)
            put_object(&now, e, each);
        else
            for (int o = 0; o < cells->outputs; o++) put_rows(&now, o, e, each);
    }
    at_writer_free(&now.label);
    at_writer_free(&now.other);
    return writer->status;
}
