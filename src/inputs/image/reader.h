/* reader.h: what the readers of images share: the reader's state, errors with their place, targets as text.
 */
#ifndef AT_INPUTS_IMAGE_READER_H
#define AT_INPUTS_IMAGE_READER_H

#include "data/file.h"
#include "data/npy.h"
#include "data/origin.h"
#include "data/table.h"
#include "inputs/image/decode.h"
#include "inputs/input.h"

typedef struct at_image_reader {
    attn_context *context;
    const char *name; /* of the file, for errors */
    const attn_reader_options *options;
    int64_t first_line;
    at_strings wanted; /* options.column, taken apart */
    attn_dataset *dataset;
    int bad;             /* the last failure was of one picture: skip_bad may continue */
    at_bytes path, file; /* of the picture that is being read: its name, and what is in it */
    size_t consumed;     /* bytes of a list that good examples were read from */
    char *normal;        /* text in NFC */
    int64_t normal_room;
    at_bytes joined; /* several labels, one after another */
} at_image_reader;

/* A file, as its reader gets it. */
typedef struct at_image_file {
    const char *name, *bytes;
    size_t count;
} at_image_file;

at_origin at_image_origin(const at_image_reader *reader);
/* INVALID_ARGUMENT with "FILE: reason", "FILE:LINE: reason" (line 0: none), or with an array between. Control
 * characters, which files may bring in, become question marks. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
attn_status
at_image_fail(at_image_reader *reader, const char *array, int64_t line, const char *format, ...);

/* Reads and decodes the picture of a path, as one more example that is called `id`; with `list` its errors
 * begin with "FILE:LINE: " of the list. */
attn_status at_image_take_path(at_image_reader *reader, const char *path, const char *id, int64_t line,
                               int list);
/* The same with the bytes of the picture. */
attn_status at_image_take_bytes(at_image_reader *reader, const char *path, const char *id, const char *bytes,
                                size_t count, int64_t line, int list);
/* What the status of one example means for the file: OK continues; a bad one is taken back, counted and noted
 * where skip_bad says so, which is OK too; with stop_at_bad *stop is set; other failures stay. */
attn_status at_image_settle(at_image_reader *reader, attn_status status, int *stop);

/* The value of a target, without spaces around it, taken apart at the separator of labels, in NFC. */
attn_status at_image_target(at_image_reader *reader, at_strings *list, const char *text, size_t length);
/* Adds to a list, in NFC. */
attn_status at_image_text(at_image_reader *reader, at_strings *list, const char *text, size_t length);
/* Whether a name is requested; with none asked for, 0. */
int at_image_wanted(const at_image_reader *reader, const char *name, size_t length);
/* "label", or what is requested: the only target of formats that do not name it. */
attn_status at_image_only_target(at_image_reader *reader);

/* arrays.c: .npy and .npz; idx.c: IDX. Labels are in a second file (NULL: none). */
attn_status at_image_read_arrays(at_image_reader *reader, int format, const at_image_file *pictures,
                                 const at_image_file *labels);
attn_status at_image_read_idx(at_image_reader *reader, const at_image_file *pictures,
                              const at_image_file *labels);
/* An array of IDX as an array of NumPy, whose elements it has in the other order of bytes. */
int at_is_idx(const char *bytes, size_t count);
attn_status at_idx_parse(const at_origin *origin, const char *bytes, size_t count, at_npy *array);
/* Pictures of an array of numbers: n x height x width [x channels], or one of height x width. */
attn_status at_image_take_array(at_image_reader *reader, const char *name, int format, const at_npy *array);
/* A second file: an array, or a label a line. */
attn_status at_image_take_labels(at_image_reader *reader, const at_image_file *labels);

/* list.c: lines of path and label, or a table; folder.c: a folder per label. */
attn_status at_image_read_list(at_image_reader *reader, const at_image_file *file);
attn_status at_image_read_folder(at_image_reader *reader, const char *folder);
int at_image_is_folder(const char *path);
/* Whether a name is that of a picture, read or not: .png, .jpg, .gif, ... */
int at_image_named(const char *name);
/* Whether a folder has pictures in it, or in a folder below. */
int at_image_in_folder(const char *folder);
/* Whether the first line of a text names columns, and what parts them. */
char at_image_header(const char *line, size_t length, const attn_reader_options *options);

#endif
