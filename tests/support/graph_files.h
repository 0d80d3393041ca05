/* graph_files.h: files of graphs that tests make, and what was read of them as text. */
#ifndef TEST_SUPPORT_GRAPH_FILES_H
#define TEST_SUPPORT_GRAPH_FILES_H

#include <stddef.h>

#include "inputs/graph/parse.h"

/* Options after init, but for per_token. */
attn_reader_options labelled(int per_token);

/* nodes.tsv and edges.tsv from memory, with group_context (support/memory.h): must work, must fail with
 * INVALID_ARGUMENT and exactly this error. */
attn_status try_tables(const char *nodes, const char *edges, const attn_reader_options *options,
                       attn_dataset **dataset);
attn_dataset *tables(const char *nodes, const char *edges, attn_reader_options options);
void tables_fail(const char *nodes, const char *edges, attn_reader_options options, const char *error);

/* A file or a folder; the error is compared without `folder` and what precedes it. */
attn_status try_path(const char *path, const attn_reader_options *options, attn_dataset **dataset);
attn_dataset *read_path(const char *path, attn_reader_options options);
void path_fails(const char *path, attn_reader_options options, const char *error);

/* Graphs end with ';': nodes as name{sparse}(dense)/targets@part, then edges as from>to(numbers), then what
 * is said of the graph; before them "once: " if edges are listed once. Destroys the dataset. */
void check_graphs(attn_dataset *dataset, const char *expected);

/* A folder for files of a test; those named .gz are compressed. path_of is good until the next call. */
extern char folder[64];
void make_folder(void);
void graph_files_remove(void);
const char *path_of(const char *name);
void write_text(const char *name, const char *text);

/* Reads with less and less memory refused: every failure is OUT_OF_MEMORY and leaves nothing behind. */
typedef attn_status try_function(const attn_reader_options *options, attn_dataset **dataset);
void refuse_memory(try_function *read, int per_token);

#endif
