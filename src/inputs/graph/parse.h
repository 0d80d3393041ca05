/* parse.h: what the readers of graphs share: files, lines and fields, numbers, targets, parts, and what is
 * checked of a dataset when all of it has been read. */
#ifndef AT_INPUTS_GRAPH_PARSE_H
#define AT_INPUTS_GRAPH_PARSE_H

#include "data/file.h"
#include "data/origin.h"
#include "inputs/graph/reader.h"

enum { AT_GRAPH_MOST_COLUMNS = 1 << 24 }; /* of sparse features */

typedef struct at_graph_reader {
    attn_context *context;
    const attn_reader_options *options;
    attn_dataset *dataset; /* NULL, or what was read so far */
    at_strings wanted;     /* options.column, taken apart */
    char *normal;          /* text in NFC */
    int64_t normal_room;
    at_bytes joined; /* several labels, one after another */
    int bad;         /* the last failure was a bad line, which may be left out */
} at_graph_reader;

/* A file: its bytes are there, or were read from `name`. */
typedef struct at_graph_file {
    const char *name, *bytes; /* bytes NULL: there is no such file */
    size_t count;
    at_bytes held, path; /* what belongs to it */
} at_graph_file;

/* ---- files (files.c) ---- */

/* Reads FOLDER/NAME or, if that is not there, FOLDER/NAME.gz; bytes stay NULL if neither is there. */
attn_status at_graph_open(at_graph_reader *reader, const char *folder, const char *name, at_graph_file *file);
/* Reads the file itself. */
attn_status at_graph_open_path(at_graph_reader *reader, const char *path, at_graph_file *file);
void at_graph_close(attn_context *context, at_graph_file *file);
/* Whether FOLDER/NAME is there; whether a path is a folder. */
int at_graph_there(const char *folder, const char *name);
int at_graph_is_folder(const char *path);
/* The folder of a path ("." if it names none) into *folder, ended by a 0. */
attn_status at_graph_folder_of(attn_context *context, const char *path, at_bytes *folder);

at_origin at_graph_origin(const at_graph_reader *reader, const char *name);

/* ---- lines and fields (lines.c) ---- */

typedef struct at_graph_lines {
    at_origin origin;
    const char *begin, *next, *end; /* begin: of the line that was read last, */
    int64_t line;                   /* and its number */
} at_graph_lines;

typedef struct at_graph_field {
    const char *text;
    size_t length;
} at_graph_field;

typedef struct at_graph_fields {
    at_graph_field *list;
    int64_t count, room;
} at_graph_fields;

at_graph_lines at_graph_begin(const at_graph_reader *reader, const at_graph_file *file, int64_t first_line);
/* The next line without its end; 0: there is none. */
int at_graph_line(at_graph_lines *lines, const char **text, size_t *length);
int at_graph_blank(const char *text, size_t length);
int64_t at_graph_count_lines(const at_graph_file *file);
/* The fields of a line without the spaces around them; delimiter ' ': any run of spaces and TABs. */
attn_status at_graph_split(attn_context *context, const char *text, size_t length, char delimiter,
                           at_graph_fields *fields);
/* A number as text: 1, 0 if it is no finite number, -1 if it is too large for 32 bits. */
int at_graph_number(const char *text, size_t length, float *number);
/* Digits alone: their value; -1: it is something else, or too large. */
int64_t at_graph_integer(const char *text, size_t length);
/* The same but for the case of ASCII letters. */
int at_graph_same(const char *a, size_t length, const char *b);

/* INVALID_ARGUMENT for the line that was read last, which skip_bad leaves out. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
attn_status
at_graph_bad(at_graph_reader *reader, const at_graph_lines *lines, const char *format, ...);
/* What becomes of such a failure: OK with skip_bad. */
attn_status at_graph_settle(at_graph_reader *reader, attn_status status);
/* Fails for a number that at_graph_number refused: `what` is of which column. */
attn_status at_graph_bad_number(at_graph_reader *reader, const at_graph_lines *lines, const char *what,
                                const at_graph_field *field, int result);

/* ---- targets and parts (finish.c) ---- */

attn_status at_graph_take_wanted(at_graph_reader *reader);
/* The value of a target, without spaces around it, taken apart at the separator of labels, in NFC. It is
 * UTF-8. */
attn_status at_graph_target(at_graph_reader *reader, at_strings *list, const char *text, size_t length);
/* Whether a column (file, array) of the data says what is for training: unless it is drawn or in a file. */
int at_graph_uses_split(const attn_reader_options *options);
/* There are nodes; `name` is that of the data. */
attn_status at_graph_check_nodes(at_graph_reader *reader, const char *name);
/* What is done at the end, whatever the format: there is something to learn, and somebody for training; and
 * whether edges are listed once. */
attn_status at_graph_finish(at_graph_reader *reader, const char *name);

/* ---- formats ---- */

typedef struct at_graph_tsv {
    at_graph_file nodes, edges, graphs; /* graphs: may have no bytes */
    int64_t first_line;                 /* of nodes */
} at_graph_tsv;
attn_status at_graph_read_tsv(at_graph_reader *reader, const at_graph_tsv *files);

/* The files of OGB, in the order of their names in ogb_files.c; those without bytes are not there. */
enum {
    AT_OGB_EDGES,
    AT_OGB_NODE_FEATURES,
    AT_OGB_EDGE_FEATURES,
    AT_OGB_NODE_LABELS,
    AT_OGB_GRAPH_LABELS,
    AT_OGB_NODE_COUNTS,
    AT_OGB_EDGE_COUNTS,
    AT_OGB_TRAIN,
    AT_OGB_VALID,
    AT_OGB_TEST,
    AT_OGB_FILES
};
typedef struct at_graph_ogb {
    const char *name; /* of the data */
    at_graph_file files[AT_OGB_FILES];
} at_graph_ogb;
attn_status at_graph_read_ogb(at_graph_reader *reader, const at_graph_ogb *ogb);
/* A folder in that layout (ogb_files.c). */
attn_status at_graph_read_ogb_folder(at_graph_reader *reader, const char *folder);

/* npz.c */
attn_status at_graph_read_npz(at_graph_reader *reader, const at_graph_file *file);

#endif
