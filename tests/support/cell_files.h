/* cell_files.h: tiny files of every kind of input for every task that it can have. */
#ifndef TEST_SUPPORT_CELL_FILES_H
#define TEST_SUPPORT_CELL_FILES_H

#include <stdint.h>

/* Writes `examples` examples of a kind of input, with the targets of a task, into files in `folder`; names
 * begin with `name`. The path to read is in path; 0: nothing is known about this kind and task. The same seed
 * makes the same files. */
enum { CELL_PATH = 160 };
int cell_files(const char *folder, const char *name, const char *input, const char *task, uint64_t seed,
               int examples, char path[CELL_PATH]);
/* Of files that were made so: how many rows the network sees of an example, frames of 25 ms every 10 ms; -1:
 * those that the data has. */
int64_t cell_frames(const char *path, int64_t example);

#endif
