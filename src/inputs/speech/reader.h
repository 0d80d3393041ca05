/* reader.h: files to datasets of speech: lists of recordings, folders, single recordings.
 *
 *     LIST       TSV or CSV, a recording a row: its path, and its label, text, number or file of segments.
 * The first row may name the columns. Paths are relative to the list's folder FOLDER     classes: a folder
 * for each label, with recordings in it; segments: NAME.phn beside NAME.wav; texts: NAME.txt beside NAME.wav
 *     RECORDING  one file of sound (sound.h), or features as .npy: frames x columns
 *
 * Segments are lines of start, end and label, as TIMIT's .phn has them, in samples of the recording (in rows
 * of features), or in seconds if a number has a decimal point. They follow each other; gaps have no label. An
 * end up to 25 ms past that of the recording is brought back to it, as aligners round; what is further out is
 * an error.
 */
#ifndef AT_INPUTS_SPEECH_READER_H
#define AT_INPUTS_SPEECH_READER_H

#include "data/table.h"
#include "inputs/input.h"
#include "inputs/speech/recordings.h"

extern const char *const at_speech_formats[];

/* What the targets of a file are. */
typedef enum at_speech_targets {
    AT_SPEECH_NOTHING, /* nothing is to be learned */
    AT_SPEECH_VALUES,  /* a label, number or text in the list itself, or the name of a folder */
    AT_SPEECH_SEGMENTS,
    AT_SPEECH_TEXTS /* a file of text beside each recording */
} at_speech_targets;

typedef struct at_speech_reader {
    attn_context *context;
    const char *name; /* of the file, for errors */
    const attn_reader_options *options;
    at_speech_targets targets;
    at_strings wanted; /* options.column, taken apart */
    attn_dataset *dataset;
    const char *begin, *good; /* all of a list; up to `good` examples are good, or NULL */
    at_table rows;            /* rows that are still to be read */
    int bad;                  /* the last failure was that of one recording: skip_bad may continue */
    char *normal;             /* text in NFC */
    int64_t normal_room;
    at_bytes joined;       /* several labels, one after another */
    at_bytes path, beside; /* of a recording, and of what is beside it */
    int64_t rate;          /* of the recording that was read last; 0: features */
    int64_t channels;
} at_speech_reader;

/* Fails with "file:line: reason" (line 0: "file: reason"). Control characters, which content may bring in,
 * become question marks. at_speech_bad: of one recording, which may be left out. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
attn_status
at_speech_fail(at_speech_reader *reader, int64_t line, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
attn_status
at_speech_bad(at_speech_reader *reader, int64_t line, const char *format, ...);

/* What the status of one example means for the file: OK continues; a bad one is taken back, counted and noted
 * where skip_bad says so, which is OK too; other failures stay. */
attn_status at_speech_settle(at_speech_reader *reader, attn_status status);
/* Adds to a list, without spaces around it, in NFC. */
attn_status at_speech_text(at_speech_reader *reader, at_strings *list, const char *text, size_t length);
/* The same for a target, taken apart at the separator of labels. */
attn_status at_speech_value(at_speech_reader *reader, const char *text, size_t length);

/* ---- one recording (take.c) ---- */

/* bytes NULL: the file at `path` is read. */
typedef struct at_speech_item {
    const char *path;
    const char *bytes;
    size_t count;
    const char *shown; /* its name in answers */
    size_t shown_length;
    const char *labels; /* NULL, or the path of its segments (of its text) */
    int64_t line;       /* in the list; 0: there is none */
} at_speech_item;

/* Adds its samples, and a row: the recording, or, with labels, each segment with its target. The caller adds
 * the other targets, then ends it. */
attn_status at_speech_take(at_speech_reader *reader, const at_speech_item *item);
attn_status at_speech_end(at_speech_reader *reader, const at_speech_item *item);

/* segments.c: the segments of the recording that is being read. Errors name the file and its line. */
attn_status at_speech_read_segments(at_speech_reader *reader, const at_speech_item *item);
attn_status at_speech_parse_segments(at_speech_reader *reader, const char *name, const char *bytes,
                                     size_t count);

/* list.c */
attn_status at_speech_read_list(at_speech_reader *reader);
/* What parts the columns of a list that begins with this line. */
char at_speech_delimiter(const char *name, const char *line, size_t length);
/* folder.c */
attn_status at_speech_read_folder(at_speech_reader *reader, const char *folder);
int at_speech_is_folder(const char *path);
int at_speech_in_folder(const char *folder); /* whether it has recordings, or a folder in it has */
int at_speech_is_pipe(const char *path);     /* or another file that is no regular one and no folder */
/* FOLDER/NAME into `path`, ended by a 0. */
attn_status at_speech_join(attn_context *context, const char *folder, size_t folder_length, const char *name,
                           size_t length, at_bytes *path);

/* ---- the kind's interface (reading.c) ---- */
int at_speech_knows(const char *path);
attn_status at_speech_read(attn_context *context, const at_source *source, attn_dataset **dataset);
int at_speech_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_speech_pieces(int format);
char at_speech_quotes(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
attn_status at_speech_judge(attn_context *context, const char *name, const attn_reader_options *options,
                            const char *bytes, size_t count, size_t judged);
attn_status at_speech_groups(const attn_dataset *dataset, at_strings *keys);

#endif
