/* reader.h: what the readers of vectors share: errors that name file, array and line, and targets as text. */
#ifndef AT_INPUTS_VECTORS_READER_H
#define AT_INPUTS_VECTORS_READER_H

#include "data/file.h"
#include "data/origin.h"
#include "inputs/vectors/rows.h"

typedef struct at_vectors_reader {
    attn_context *context;
    const char *name; /* of the file, for errors */
    const attn_reader_options *options;
    int64_t first_line;
    attn_dataset *dataset; /* NULL, or what was read so far */
    at_strings wanted;     /* options.column, taken apart */
    char *normal;          /* text in NFC */
    int64_t normal_room;
    at_bytes joined; /* several labels, one after another */
} at_vectors_reader;

/* The file that is being read. */
at_origin at_vectors_origin(const at_vectors_reader *reader);

/* INVALID_ARGUMENT with "FILE: array NAME: reason" (array NULL: of the file as a whole), or "FILE:LINE:
 * reason" (line 0: none). Control characters, which files may bring in, become question marks. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
attn_status
at_vectors_fail(at_vectors_reader *reader, const char *array, int64_t line, const char *format, ...);

/* The value of a target, without spaces around it, taken apart at the separator of labels, in NFC. It is
 * UTF-8. */
attn_status at_vectors_target(at_vectors_reader *reader, at_strings *list, const char *text, size_t length);
/* Whether a name is requested; with none asked for, 0. */
int at_vectors_wanted(const at_vectors_reader *reader, const char *name, size_t length);

/* A file, as its reader gets it. */
typedef struct at_vectors_file {
    const char *name, *bytes;
    size_t count;
} at_vectors_file;

/* arrays.c: .npy and .npz, with targets in the file or in a second one (NULL: there is none). */
attn_status at_vectors_read_arrays(at_vectors_reader *reader, int format, const at_vectors_file *rows,
                                   const at_vectors_file *targets);
/* table.c: a table with a header. */
attn_status at_vectors_read_table(at_vectors_reader *reader, const at_vectors_file *file);

#endif
