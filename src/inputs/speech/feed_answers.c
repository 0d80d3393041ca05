/* feed_answers.c: predictions for a recording that arrives in pieces, as soon as they are final.
 *
 *     name TAB start TAB end TAB label TAB probability, when a row has another label than the ones before it,
 *         or the recording ends; with the setting `frames` one line per row, name TAB time TAB label TAB
 *         probability
 *     as JSON: an object with these fields, one per line
 *
 * Times and probabilities are those of predictions.c.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/speech/feed.h"

static attn_status make_runs(at_speech_feed *own, const at_cells *cells, int terminal) {
    own->runs = at_allocate(own->context, cells->outputs, sizeof *own->runs, "the answers of a stream");
    if (!own->runs) return ATTN_OUT_OF_MEMORY;
    own->run_count = cells->outputs;
    own->other = (at_writer){.context = own->context, .terminal = terminal};
    for (int o = 0; o < own->run_count; o++) own->runs[o].label = own->other;
    return ATTN_OK;
}

void at_speech_feed_free_runs(at_speech_feed *own) {
    for (int o = 0; own->runs && o < own->run_count; o++) at_writer_free(&own->runs[o].label);
    at_writer_free(&own->other);
    at_release(own->context, own->runs);
}

static double center_of(const at_speech_feed *own, int64_t row) {
    return own->encoded.center + (double)row * own->encoded.step;
}

/* Where a row begins, and the previous one ends; past the last one the recording ends. */
static double begin_of(const at_speech_feed *own, int64_t row) {
    double begin = center_of(own, row) - 0.5 * own->encoded.step;
    if (row == 0 || begin < 0) return 0;
    if (!own->feed.ended) return begin;
    double rows = (double)own->feed.rows;
    double seconds = own->input->frames ? (double)own->heard / (double)own->rate : own->encoded.step * rows;
    return row >= own->feed.rows || begin > seconds ? seconds : begin;
}

/* end below 0: one row. */
static void put_run(const at_speech_feed *own, int64_t first, int64_t end, const char *label,
                    double probability, at_writer *writer) {
    double times[2] = {end < 0 ? center_of(own, first) : begin_of(own, first),
                       end < 0 ? 0.0 : begin_of(own, end)};
    if (own->json) {
        at_print(writer, "{\"%s\":%.4f", end < 0 ? "time" : "start", times[0]);
        if (end >= 0) at_print(writer, ",\"end\":%.4f", times[1]);
        at_put(writer, ",\"label\":", 9);
        at_put_json(writer, label);
        if (probability >= 0) at_print(writer, ",\"probability\":%.4f", probability);
        at_put(writer, "}\n", 2);
        return;
    }
    at_put_text(writer, at_string(&own->name, 0));
    at_print(writer, "\t%.4f\t", times[0]);
    if (end >= 0) at_print(writer, "%.4f\t", times[1]);
    at_put(writer, label, strlen(label));
    if (probability >= 0) at_print(writer, "\t%.4f", probability);
    at_put_char(writer, '\n');
}

/* The run that continues, up to row `end`. */
static void end_run(const at_speech_feed *own, at_speech_run *run, int64_t end, int likely,
                    at_writer *writer) {
    if (run->rows)
        put_run(own, run->first, end, run->label.bytes, likely ? run->sum / (double)run->rows : -1, writer);
    run->rows = 0;
    run->sum = 0;
}

/* One row: it continues with the run, or begins another one. */
static void take_row(at_speech_feed *own, const at_cells *cells, int output, int64_t unit, int each,
                     at_writer *writer) {
    at_speech_run *run = &own->runs[output];
    int64_t row = own->feed.first + unit;
    int likely = cells->likely(cells, output);
    double probability = likely ? cells->probability(cells, output, 0, unit) : -1;
    own->other.count = 0;
    at_put(&own->other, "", 0);
    cells->put(cells, output, 0, unit, &own->other);
    if (own->other.status != ATTN_OK) {
        writer->status = own->other.status;
        return;
    }
    if (each) {
        put_run(own, row, -1, own->other.bytes, probability, writer);
        return;
    }
    if (run->rows && strcmp(run->label.bytes, own->other.bytes) != 0) end_run(own, run, row, likely, writer);
    if (run->rows == 0) {
        at_writer label = run->label;
        run->label = own->other;
        own->other = label;
        run->first = row;
    }
    run->sum += probability;
    run->rows++;
}

attn_status at_speech_feed_write(at_feed *feed, const void *settings, const at_cells *cells, int64_t from,
                                 int64_t count, int last, at_writer *writer) {
    at_speech_feed *own = (at_speech_feed *)(void *)feed;
    int each = settings && ((const at_speech_settings *)settings)->frames;
    attn_status status = own->runs ? ATTN_OK : make_runs(own, cells, writer->terminal);
    if (status != ATTN_OK) return status;
    for (int o = 0; o < cells->outputs; o++) {
        for (int64_t unit = from; unit < from + count && writer->status == ATTN_OK; unit++)
            take_row(own, cells, o, unit, each, writer);
        if (last) end_run(own, &own->runs[o], feed->rows, cells->likely(cells, o), writer);
    }
    return writer->status;
}
