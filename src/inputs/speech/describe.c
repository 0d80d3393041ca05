/* describe.c: a dataset of speech described for people and as JSON (see data/describe.h): hours, lengths,
 * rates, channels, recordings that are silent or clipped. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/describe.h"
#include "inputs/speech/speech.h"

enum { RATES_SHOWN = 8 };

#define SILENT 0.001f /* of full scale: a peak below is silence */
#define FULL_SCALE 0.9999f

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

/* How often a number occurs. */
typedef struct tally {
    int64_t value[RATES_SHOWN], count[RATES_SHOWN], others;
    int kinds;
} tally;

static void count_value(tally *into, int64_t value) {
    for (int i = 0; i < into->kinds; i++) {
        if (into->value[i] != value) continue;
        into->count[i]++;
        return;
    }
    if (into->kinds == RATES_SHOWN) {
        into->others++;
        return;
    }
    into->value[into->kinds] = value;
    into->count[into->kinds++] = 1;
}

/* What is to be said of the samples. */
typedef struct facts {
    double seconds, shortest, median, longest;
    int64_t silent, clipped, first_silent, first_clipped; /* recordings; the first of each, -1: none */
    int64_t clipped_samples;
    tally rates, channels;
    at_lengths milliseconds, rows, segments;
} facts;

static void look_at_samples(const at_recordings *from, int64_t recording, facts *found) {
    const at_recording *one = &from->list[recording];
    const float *samples = from->numbers + one->first;
    float peak = 0;
    int64_t full = 0, run = 0;
    for (int64_t i = 0; i < one->count; i++) {
        float size = fabsf(samples[i]);
        if (size > peak) peak = size;
        run = size >= FULL_SCALE ? run + 1 : 0;
        if (run >= 2) full++; /* one sample alone may just be the loudest */
    }
    if (peak < SILENT && found->silent++ == 0) found->first_silent = recording;
    if (full > 0 && found->clipped++ == 0) found->first_clipped = recording;
    found->clipped_samples += full;
}

static attn_status measure(const attn_dataset *dataset, facts *found) {
    const at_recordings *from = at_recordings_of(dataset);
    int64_t *list = at_allocate(dataset->context, from->count, sizeof *list, "the lengths of recordings");
    if (!list) return ATTN_OUT_OF_MEMORY;
    memset(found, 0, sizeof *found);
    found->first_silent = found->first_clipped = -1;
    for (int64_t i = 0; i < from->count; i++) {
        const at_recording *one = &from->list[i];
        if (!from->columns) {
            double seconds = (double)one->count / (double)one->rate;
            found->seconds += seconds;
            list[i] = (int64_t)(1000 * seconds + 0.5);
            count_value(&found->rates, one->rate);
            if (one->channels) count_value(&found->channels, one->channels);
            look_at_samples(from, i, found);
        } else {
            list[i] = one->count;
        }
    }
    at_lengths lengths = at_measure_lengths(list, from->count);
    if (from->columns)
        found->rows = lengths;
    else
        found->milliseconds = lengths;
    for (int64_t e = 0; e < dataset->examples; e++) list[e] = dataset->offsets[e + 1] - dataset->offsets[e];
    found->segments = at_measure_lengths(list, dataset->examples);
    at_release(dataset->context, list);
    return ATTN_OK;
}

/* ---- text ---- */

/* "1.25 hours", "42.1 minutes", "3.2 seconds". */
static void put_duration(at_writer *writer, double seconds) {
    if (seconds >= 3600)
        at_print(writer, "%.2f hours", seconds / 3600);
    else if (seconds >= 60)
        at_print(writer, "%.1f minutes", seconds / 60);
    else
        at_print(writer, "%.2f seconds", seconds);
}

static void put_tally(at_writer *writer, const tally *of, const char *before, const char *one,
                      const char *several) {
    put(writer, before);
    for (int i = 0; i < of->kinds; i++) {
        if (i > 0) put(writer, ", ");
        at_print(writer, "%s%s", at_grouped(of->value[i]).text, of->value[i] == 1 ? one : several);
        if (of->kinds > 1 || of->others) at_print(writer, " (%s)", at_grouped(of->count[i]).text);
    }
    if (of->others) at_print(writer, ", others (%s)", at_grouped(of->others).text);
    put(writer, "\n");
}

static void put_seconds(at_writer *writer, const at_lengths *lengths) {
    at_print(writer, "  %-18s %9.3f %9.3f %9.3f %9.3f\n", "seconds", (double)lengths->least / 1000,
             lengths->median / 1000, lengths->mean / 1000, (double)lengths->most / 1000);
}

static void put_first(const attn_dataset *dataset, int64_t recording, at_writer *writer) {
    put(writer, recording < 0 ? "" : "  ");
    if (recording >= 0) at_put_text(writer, attn_dataset_id(dataset, recording));
    put(writer, "\n");
}

static void put_warnings(const attn_dataset *dataset, const facts *found, at_writer *writer) {
    if (found->silent) {
        put(writer, "\n");
        at_put_count(writer, found->silent, "recording");
        at_print(writer, " %s silent (no sample reaches 0.1 %% of full scale), the first is\n",
                 found->silent == 1 ? "is" : "are");
        put_first(dataset, found->first_silent, writer);
    }
    if (found->clipped) {
        put(writer, "\n");
        at_put_count(writer, found->clipped, "recording");
        at_print(writer, " %s clipped (runs of samples at full scale, %s in all), the first is\n",
                 found->clipped == 1 ? "is" : "are", at_grouped(found->clipped_samples).text);
        put_first(dataset, found->first_clipped, writer);
    }
}

static const char *place_name(const attn_dataset *dataset) {
    return dataset->per_row ? "segment" : "recording";
}

static attn_status put_lines(const attn_dataset *dataset, const attn_describe_options *options,
                             const facts *found, at_writer *writer) {
    static const char *const formats[] = {"", "a list", "a folder", "a recording"};
    const at_recordings *from = at_recordings_of(dataset);
    at_print(writer, "%s, ", formats[dataset->format]);
    at_put_count(writer, dataset->examples, "recording");
    put(writer, ", ");
    if (from->columns)
        at_print(writer, "%s columns of features", at_grouped(from->columns).text);
    else
        put_duration(writer, found->seconds);
    if (dataset->per_row) put(writer, ", ");
    if (dataset->per_row) at_put_count(writer, dataset->rows, "segment");
    put(writer, "\n");
    if (options->unlabelled) {
        put(writer, "\nno targets: it can be used for prediction, not for training. As training data it\n");
        at_put_reason(writer, options);
    }
    at_put_lengths_heading(writer);
    if (from->columns)
        at_put_lengths(writer, "rows", &found->rows);
    else
        put_seconds(writer, &found->milliseconds);
    if (dataset->per_row) at_put_lengths(writer, "segments", &found->segments);
    if (!from->columns) {
        put_tally(writer, &found->rates, "\nrate: ", " Hz", " Hz");
        if (found->channels.kinds) put_tally(writer, &found->channels, "channels: ", "", "");
    }
    attn_status status = at_put_columns(writer, dataset, options, place_name(dataset));
    put_warnings(dataset, found, writer);
    return status;
}

/* ---- JSON ---- */

static void put_tally_json(at_writer *writer, const char *name, const tally *of) {
    at_print(writer, ",\"%s\":{", name);
    for (int i = 0; i < of->kinds; i++)
        at_print(writer, "%s\"%" PRId64 "\":%" PRId64, i ? "," : "", of->value[i], of->count[i]);
    put(writer, "}");
}

static attn_status put_object(const attn_dataset *dataset, const attn_describe_options *options,
                              const facts *found, at_writer *writer) {
    const at_recordings *from = at_recordings_of(dataset);
    at_print(writer, ",\"seconds\":%.9g,\"width\":%" PRId64 ",\"rows\":%" PRId64 ",\"lengths\":{",
             found->seconds, from->columns, dataset->rows);
    at_put_lengths_json(writer, from->columns ? "rows" : "milliseconds",
                        from->columns ? &found->rows : &found->milliseconds);
    put(writer, ",");
    at_put_lengths_json(writer, "segments", &found->segments);
    put(writer, "}");
    put_tally_json(writer, "rates", &found->rates);
    put_tally_json(writer, "channels", &found->channels);
    at_print(writer,
             ",\"silent\":%" PRId64 ",\"clipped\":%" PRId64 ",\"clipped_samples\":%" PRId64 ",\"columns\":",
             found->silent, found->clipped, found->clipped_samples);
    return at_put_columns(writer, dataset, options, place_name(dataset));
}

attn_status at_speech_describe(const attn_dataset *dataset, const attn_describe_options *options,
                               at_writer *writer) {
    facts found;
    attn_status status = measure(dataset, &found);
    if (status != ATTN_OK) return status;
    return options->json ? put_object(dataset, options, &found, writer)
                         : put_lines(dataset, options, &found, writer);
}

void at_speech_note(const attn_dataset *dataset, at_writer *writer) {
    facts found;
    const at_recordings *from = at_recordings_of(dataset);
    if (measure(dataset, &found) != ATTN_OK) return;
    at_print(writer, "%lld recordings, ", (long long)dataset->examples);
    if (from->columns)
        at_print(writer, "features of %lld columns", (long long)from->columns);
    else
        put_duration(writer, found.seconds);
    if (dataset->per_row) at_print(writer, ", %lld segments", (long long)dataset->rows);
    put(writer, "; to be learned: ");
    for (int64_t c = 0; c < dataset->columns.count; c++) {
        if (c > 0) put(writer, ", ");
        at_put_text(writer, at_string(&dataset->columns, c));
    }
}
