/* reading.c: from files or from memory to a dataset of speech: which format it is, errors, targets as text.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/npy.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"
#include "inputs/speech/reader.h"
#include "inputs/speech/sound.h"

const char *const at_speech_formats[] = {"auto", "list", "folder", "recording", NULL};

/* ---- errors ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 0)))
#endif
static attn_status
fail(at_speech_reader *reader, int64_t line, const char *format, va_list arguments) {
    char reason[400];
    const char *before, *name = at_name_end(reader->name, &before);
    vsnprintf(reason, sizeof reason, format, arguments);
    for (char *p = reason; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    reason[at_clip(reason, strlen(reason), 300)] = 0;
    /* A single recording names itself. */
    if (line == 0 && strncmp(reason, before, strlen(before)) == 0 &&
        strncmp(reason + strlen(before), name, strlen(name)) == 0)
        return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s", reason);
    if (line == 0) return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s: %s", before, name, reason);
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s:%" PRId64 ": %s", before, name, line,
                   reason);
}

attn_status at_speech_fail(at_speech_reader *reader, int64_t line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    attn_status status = fail(reader, line, format, arguments);
    va_end(arguments);
    reader->bad = 0;
    return status;
}

attn_status at_speech_bad(at_speech_reader *reader, int64_t line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    attn_status status = fail(reader, line, format, arguments);
    va_end(arguments);
    reader->bad = 1;
    return status;
}

attn_status at_speech_settle(at_speech_reader *reader, attn_status status) {
    attn_dataset *dataset = reader->dataset;
    int bad = reader->bad, stops = reader->options->stop_at_bad && !reader->options->skip_bad;
    reader->bad = 0;
    if (status == ATTN_OK) {
        reader->good = reader->rows.next;
        return ATTN_OK;
    }
    if (!bad || !(stops || reader->options->skip_bad)) return status;
    at_recordings_undo(dataset);
    if (stops) { /* what precedes it is good: the rest is not read */
        dataset->stopped = status;
        dataset->consumed = reader->good ? (size_t)(reader->good - reader->begin) : 0;
        reader->rows.next = reader->rows.end;
        status = ATTN_OK;
    } else {
        dataset->skipped++;
        status = at_dataset_leave_out(dataset);
    }
    if (dataset->problems.count >= AT_PROBLEMS || status != ATTN_OK) return status;
    const char *problem = attn_context_error(reader->context);
    return at_strings_add(reader->context, &dataset->problems, problem, strlen(problem));
}

/* ---- names and targets ---- */

attn_status at_speech_text(at_speech_reader *reader, at_strings *list, const char *text, size_t length) {
    at_trim(&text, &length);
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    return status == ATTN_OK ? at_strings_add(reader->context, list, text, length) : status;
}

attn_status at_speech_value(at_speech_reader *reader, const char *text, size_t length) {
    char separator = reader->options->label_separator;
    if (separator && !reader->dataset->pairs) {
        attn_status status = at_join_labels(reader->context, text, length, separator, &reader->joined);
        if (status != ATTN_OK) return status;
        length = (size_t)reader->joined.count;
        text = length ? reader->joined.data : "";
    }
    return at_speech_text(reader, &reader->dataset->targets, text, length);
}

static attn_status split_wanted(at_speech_reader *reader) {
    const char *text = reader->options->column;
    if (!text || !*text) return ATTN_OK;
    for (;;) {
        size_t length = strcspn(text, ","), kept = length;
        const char *name = text;
        at_trim(&name, &kept);
        if (kept == 0 || at_unicode_check(name, kept) != kept)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: an empty name among the columns \"%.200s\", or one that is not "
                           "UTF-8",
                           reader->options->column);
        if (at_find_column(&reader->wanted, name, kept) >= 0)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: a name occurs twice among the columns \"%.200s\"",
                           reader->options->column);
        attn_status status = at_speech_text(reader, &reader->wanted, name, kept);
        if (status != ATTN_OK || text[length] == 0) return status;
        text += length + 1;
    }
}

/* ---- which format ---- */

int at_speech_knows(const char *path) { return at_sound_named(path) || at_speech_in_folder(path); }

/* Lists go line by line; what it is that is to be read has to be looked at first. */
int at_speech_pieces(int format) { return format == AT_SPEECH_LIST ? 2 : -1; }

int at_speech_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    (void)options;
    if (at_is_sound(bytes, count) || at_is_npy(bytes, count)) return AT_SPEECH_RECORDING;
    if (count == 0) return at_speech_is_folder(name) ? AT_SPEECH_FOLDER : AT_SPEECH_AUTO;
    return at_sound_named(name) || at_looks_binary(bytes, count) ? AT_SPEECH_RECORDING : AT_SPEECH_LIST;
}

static void pass_over_mark(const char **bytes, size_t *count) {
    if (*count < 3 || memcmp(*bytes, "\xef\xbb\xbf", 3) != 0) return;
    *bytes += 3;
    *count -= 3;
}

char at_speech_quotes(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    if ((int)options->format != AT_SPEECH_LIST) return 0;
    pass_over_mark(&bytes, &count);
    const char *feed = count ? memchr(bytes, '\n', count) : NULL;
    char delimiter = at_speech_delimiter(name, bytes, feed ? (size_t)(feed - bytes) : count);
    return delimiter == '\t' ? 0 : delimiter;
}

/* Of a list that is compressed: text has no byte that is 0. */
attn_status at_speech_judge(attn_context *context, const char *name, const attn_reader_options *options,
                            const char *bytes, size_t count, size_t judged) {
    (void)options;
    if (at_is_npy(bytes, count) || at_is_sound(bytes, count)) return ATTN_OK;
    const char *zero = memchr(bytes + judged, 0, count - judged);
    if (!zero) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: byte %zu is 0: this is not a list of recordings",
                   name, (size_t)(zero - bytes) + 1);
}

/* ---- one recording ---- */

static attn_status read_recording(at_speech_reader *reader, const at_source *source) {
    if (reader->options->labelled)
        return at_speech_fail(reader, 0,
                              "is one recording without a target: give a list (path TAB label), or a folder "
                              "with a folder for each label");
    at_speech_item item = {.path = reader->name,
                           .bytes = source->bytes[0],
                           .count = source->counts[0],
                           .shown = reader->name,
                           .shown_length = strlen(reader->name)};
    attn_status status = at_speech_take(reader, &item);
    return status == ATTN_OK ? at_speech_end(reader, &item) : status;
}

/* ---- lists ---- */

static attn_status judge(void *user, const char *bytes, size_t count, size_t judged) {
    const at_speech_reader *reader = user;
    return at_speech_judge(reader->context, reader->name, reader->options, bytes, count, judged);
}

/* The bytes of the file, if they are not there yet. */
static attn_status read_bytes(at_speech_reader *reader, at_source *source, at_bytes *held) {
    const attn_reader_options *options = reader->options;
    const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, judge, reader};
    if (source->bytes[0]) return ATTN_OK;
    attn_status status = at_file_read(reader->context, reader->name, &allowed, held);
    source->bytes[0] = held->data ? held->data : "";
    source->counts[0] = (size_t)held->count;
    return status;
}

static attn_status read_list(at_speech_reader *reader, at_source *source, at_bytes *held) {
    const attn_reader_options *options = reader->options;
    const char *advice = NULL;
    attn_status status = read_bytes(reader, source, held);
    if (status != ATTN_OK) return status;
    const char *bytes = source->bytes[0];
    size_t count = source->counts[0];
    if (count == 0) bytes = "";
    reader->begin = bytes;
    if (source->first_line == 1) pass_over_mark(&bytes, &count);
    if (source->first_line == 1) advice = at_not_text(bytes, count);
    if (advice || (count == 0 && !options->piece))
        return at_speech_fail(reader, 0, "%s", advice ? advice : "is empty");
    reader->rows.next = bytes;
    reader->rows.end = bytes + count;
    reader->rows.line = source->first_line;
    return at_speech_read_list(reader);
}

/* ---- all of it ---- */

/* The beginning of a file, to tell what it is. */
static size_t peek(const char *path, char *bytes, size_t room) {
    FILE *stream = fopen(path, "rb");
    size_t got = stream ? fread(bytes, 1, room, stream) : 0;
    if (stream) fclose(stream);
    return got;
}

/* What is only predicted on is what it looks like, whatever the model learned from. */
static attn_status choose_format(at_speech_reader *reader, const at_source *source, int *format) {
    char begin[64];
    int folder = !source->bytes[0] && at_speech_is_folder(reader->name);
    size_t count = source->bytes[0] ? source->counts[0]
                   : folder         ? 0
                                    : peek(reader->name, begin, sizeof begin);
    const char *bytes = source->bytes[0] ? source->bytes[0] : begin;
    int found = folder ? AT_SPEECH_FOLDER : at_speech_detect(reader->name, bytes, count, reader->options);
    *format = (int)reader->options->format;
    if (*format == AT_SPEECH_AUTO || (!reader->options->labelled && found == AT_SPEECH_RECORDING))
        *format = found;
    if (*format == AT_SPEECH_AUTO) *format = AT_SPEECH_LIST; /* it is empty, or cannot be opened */
    if (folder != (*format == AT_SPEECH_FOLDER))
        return at_speech_fail(reader, 0, "is %s, but the format (reader.format) is %s",
                              folder ? "a folder" : "no folder", at_speech_formats[*format]);
    if (*format == AT_SPEECH_LIST && found == AT_SPEECH_RECORDING)
        return at_speech_fail(reader, 0, "is a recording, not a list of recordings");
    return ATTN_OK;
}

static attn_status read_all(at_speech_reader *reader, at_source *source, at_bytes *held) {
    int format = AT_SPEECH_AUTO;
    attn_status status = ATTN_OK;
    if (at_speech_is_pipe(reader->name)) status = read_bytes(reader, source, held); /* it can be read once */
    if (status == ATTN_OK) status = choose_format(reader, source, &format);
    if (status == ATTN_OK) status = split_wanted(reader);
    if (status == ATTN_OK)
        status = at_recordings_dataset(reader->context, reader->name, format, &reader->dataset);
    if (status != ATTN_OK) return status;
    status = format == AT_SPEECH_FOLDER      ? at_speech_read_folder(reader, reader->name)
             : format == AT_SPEECH_RECORDING ? read_recording(reader, source)
                                             : read_list(reader, source, held);
    const attn_dataset *dataset = reader->dataset;
    if (status != ATTN_OK || dataset->examples > 0 || dataset->stopped != ATTN_OK || reader->options->piece)
        return status;
    if (dataset->skipped == 0) return at_speech_fail(reader, 0, "has no recordings");
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                   "%.100s: has no good recordings: all %" PRId64
                   " were left out, the first because of %.300s",
                   reader->name, dataset->skipped, at_string(&dataset->problems, 0));
}

attn_status at_speech_read(attn_context *context, const at_source *source, attn_dataset **dataset) {
    at_bytes held = {0};
    if (source->names[1])
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s and %.200s: give one list of recordings (path TAB label), not two files",
                       source->names[0], source->names[1]);
    at_speech_reader reader = {.context = context,
                               .name = source->names[0],
                               .options = source->options,
                               .rows = {.context = context}};
    at_source given = *source;
    attn_status status = read_all(&reader, &given, &held);
    at_table_free(&reader.rows);
    at_strings_free(context, &reader.wanted);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    at_bytes_free(context, &reader.path);
    at_bytes_free(context, &reader.beside);
    at_bytes_free(context, &held);
    if (status == ATTN_OK)
        *dataset = reader.dataset;
    else
        attn_dataset_destroy(reader.dataset);
    return status;
}

attn_status at_speech_groups(const attn_dataset *dataset, at_strings *keys) {
    const at_recordings *recordings = at_recordings_of(dataset);
    attn_status status = ATTN_OK;
    if (recordings->speakers.count < dataset->examples)
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has no column `speaker`, by which it could be split",
                       attn_dataset_name(dataset));
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++)
        status = at_strings_add(dataset->context, keys, at_string(&recordings->speakers, e),
                                at_string_length(&recordings->speakers, e));
    return status;
}
