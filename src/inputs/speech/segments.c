/* segments.c: files of segments: lines of start, end and label. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/fields.h"
#include "data/lines.h"
#include "inputs/speech/reader.h"

/* Ends may stand so many milliseconds past that of the recording. */
enum { PAST_MS = 25, NUMBER_BYTES = 40 };

typedef struct segments {
    at_speech_reader *reader;
    const char *name;
    int64_t line;
    int64_t before, before_line; /* where the last one ends, and stands; 0: there is none */
    int64_t samples;
} segments;

/* With the file of segments and its line, whatever list names it. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static attn_status
bad(const segments *file, const char *format, ...) {
    at_speech_reader *reader = file->reader;
    char reason[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    const char *name = reader->name;
    reader->name = file->name;
    attn_status status = at_speech_bad(reader, file->line, "%s", reason);
    reader->name = name;
    return status;
}

static int is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\r'; }

/* The next word of a line, which is skipped. */
static size_t next_word(const char **at, const char *end, const char **word) {
    while (*at < end && is_space(**at)) ++*at;
    *word = *at;
    while (*at < end && !is_space(**at)) ++*at;
    return (size_t)(*at - *word);
}

/* A place in the recording: samples, or seconds with a decimal point. */
static int parse_place(const segments *file, const char *word, size_t length, int64_t *place) {
    char text[NUMBER_BYTES];
    double number;
    if (length == 0 || length >= sizeof text || memchr(word, 0, length)) return 0;
    memcpy(text, word, length);
    text[length] = 0;
    if (!at_decimal(text, &number)) return 0;
    if (strchr(text, '.') && file->reader->rate > 0) number = number * (double)file->reader->rate;
    if (!(fabs(number) <= 1e15)) return 0;
    *place = (int64_t)floor(number + 0.5);
    return 1;
}

static attn_status add_segment(segments *file, int64_t start, int64_t end, const char *label, size_t length) {
    at_speech_reader *reader = file->reader;
    int64_t past = reader->rate > 0 ? reader->rate * PAST_MS / 1000 + 1 : 1;
    const char *unit = reader->rate > 0 ? "samples" : "rows";
    if (start < 0) return bad(file, "a segment begins at %" PRId64 ", before the recording", start);
    if (end < start) return bad(file, "a segment runs backwards, from %" PRId64 " to %" PRId64, start, end);
    if (start < file->before)
        return bad(file,
                   "a segment begins at %" PRId64 ", before that of line %" PRId64 " ends (%" PRId64
                   "): segments follow each other",
                   start, file->before_line, file->before);
    if (end > file->samples + past || start > file->samples)
        return bad(file, "a segment ends at %" PRId64 ", the recording has %" PRId64 " %s", end,
                   file->samples, unit);
    if (length == 0) return bad(file, "a segment without a label: lines are start, end and label");
    if (end > file->samples) end = file->samples;
    file->before = end;
    file->before_line = file->line;
    attn_status status = at_recordings_span(reader->dataset, start, end, file->line);
    return status == ATTN_OK ? at_speech_value(reader, label, length) : status;
}

static attn_status take_line(segments *file, const char *at, size_t length) {
    const char *end = at + length, *word;
    int64_t start_place, end_place, line = file->line;
    char reason[160];
    if (!at_is_text(at, length, &line, reason)) return bad(file, "%s", reason);
    size_t word_length = next_word(&at, end, &word);
    if (word_length == 0) return ATTN_OK;
    int good = parse_place(file, word, word_length, &start_place);
    word_length = next_word(&at, end, &word);
    if (!good || !parse_place(file, word, word_length, &end_place))
        return bad(file, "is not a segment: lines are start, end (in samples) and label");
    while (at < end && is_space(*at)) at++;
    while (end > at && is_space(end[-1])) end--;
    return add_segment(file, start_place, end_place, at, (size_t)(end - at));
}

attn_status at_speech_parse_segments(at_speech_reader *reader, const char *name, const char *bytes,
                                     size_t count) {
    segments file = {.reader = reader, .name = name, .samples = at_recordings_pending(reader->dataset)};
    const char *at = bytes, *end = bytes + count, *advice = at_not_text(bytes, count);
    attn_status status = ATTN_OK;
    int64_t rows = reader->dataset->rows;
    if (advice) return bad(&file, "%s", advice);
    if (count >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    while (at < end && status == ATTN_OK) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        file.line++;
        status = take_line(&file, at, (size_t)(stop - at));
        at = feed ? feed + 1 : end;
    }
    if (status == ATTN_OK && reader->dataset->rows == rows) {
        file.line = 0;
        status = bad(&file, "has no segments");
    }
    return status;
}

attn_status at_speech_read_segments(at_speech_reader *reader, const at_speech_item *item) {
    const at_expansion allowed = {reader->options->expanded_limit, reader->options->expanded_ratio, NULL,
                                  NULL};
    at_bytes file = {0};
    attn_status status = at_file_read(reader->context, item->labels, &allowed, &file);
    if (status != ATTN_OK && status != ATTN_OUT_OF_MEMORY) {
        char reason[400];
        snprintf(reason, sizeof reason, "%s", attn_context_error(reader->context));
        return at_speech_bad(reader, item->line, "the segments of %.*s: %s",
                             at_clip(item->shown, item->shown_length, 100), item->shown, reason);
    }
    if (status == ATTN_OK)
        status =
            at_speech_parse_segments(reader, item->labels, file.data ? file.data : "", (size_t)file.count);
    at_bytes_free(reader->context, &file);
    return status;
}
