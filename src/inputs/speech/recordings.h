/* recordings.h: what a dataset of speech holds: recordings as samples of one channel, each at its own rate,
 * or as rows of features that were computed elsewhere; and the segments of them that have labels.
 *
 * A row of the dataset is a segment where segments have labels, else it is the recording. Every recording has
 * a row.
 */
#ifndef AT_INPUTS_SPEECH_RECORDINGS_H
#define AT_INPUTS_SPEECH_RECORDINGS_H

#include "data/dataset.h"

/* The formats of files, in the order of their numbers. */
enum { AT_SPEECH_AUTO, AT_SPEECH_LIST, AT_SPEECH_FOLDER, AT_SPEECH_RECORDING };

/* Rates that are possible, in samples per second. */
enum { AT_SPEECH_SLOWEST = 100, AT_SPEECH_FASTEST = 1000000 };

typedef struct at_recording {
    int64_t first;    /* of its numbers */
    int64_t count;    /* samples, or rows of features */
    int64_t rate;     /* samples per second; 0: rows of features */
    int64_t channels; /* that the file has, mixed to one; 0: not known */
} at_recording;

/* Where a row begins and ends: in samples of its recording, or in rows of features. */
typedef struct at_span {
    int64_t recording, start, end;
} at_span;

typedef struct at_recordings {
    int64_t columns; /* 0: samples; else those of the features */
    float *numbers;
    int64_t used, room; /* of numbers: those of the recording that is being read, too */
    at_recording *list; /* [count] */
    int64_t count, list_room;
    at_span *spans; /* [rows of the dataset] */
    int64_t rows, span_room;
    at_strings speakers;    /* [count], "" if not known; or none at all */
    at_strings label_files; /* [count] where the segments stand, "" if nowhere; or none at all */
} at_recordings;

extern const at_content_kind at_speech_content;

/* The recordings of a dataset, which is of this kind. */
static inline at_recordings *at_recordings_of(const attn_dataset *dataset) { return dataset->content; }

attn_status at_recordings_dataset(attn_context *context, const char *name, int format,
                                  attn_dataset **dataset);
/* Room for `count` more numbers of the recording that is being read; the caller fills them and adds to `used`
 * how many there are. NULL without memory. */
float *at_recordings_room(attn_dataset *dataset, int64_t count);
/* A row of the recording that is being read; then its end, with at least one row. */
attn_status at_recordings_span(attn_dataset *dataset, int64_t start, int64_t end, int64_t line);
attn_status at_recordings_end(attn_dataset *dataset, int64_t rate, int64_t channels);
/* Takes back what was added since the last end. */
void at_recordings_undo(attn_dataset *dataset);
/* How many samples or rows of the recording that is being read there are. */
int64_t at_recordings_pending(const attn_dataset *dataset);

#endif
