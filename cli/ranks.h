/* ranks.h: this process as one of several that a launcher (mpirun, srun) has started.
 *
 * Rank 0 speaks for all. What the others print is kept, and comes out if one of them fails where rank 0 does
 * not: "attn: rank 3 of 8: ...". A command that can be shared by ranks begins with ranks_begin and ends with
 * ranks_end; between them it opens the exchange once its flags are read, and settles what each rank did by
 * itself, so that all continue or all end. Alone, all of this does nothing.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attn/attn.h>

#include "arguments.h"

/* The first thing that a command does, and the last: it leaves the ranks, or, after a failure that they do
 * not know of, ends them all. Returns the exit status. */
void ranks_begin(const char *command);
int ranks_end(int code);

/* Joins the ranks, if there are several, of the same version and with the same flags; EXIT_DONE, or it has
 * said why not. */
int ranks_open(const argument_list *list);
attn_exchange *ranks_exchange(void); /* NULL: alone */
int ranks_rank(void);
int ranks_count(void);
const char *ranks_command(void);
/* Text of the last failed call of the exchange; "" if there is none. ranks_fail says it: EXIT_FAILED. */
const char *ranks_error(void);
int ranks_fail(void);
/* How many threads a rank is to have: those given, else its share of the cores that it may use; 0: the
 * context chooses. */
int ranks_threads(int64_t given);
int ranks_beside(void); /* ranks on this host, this one among them; 1: alone */

/* Whether this rank was given the flags of rank 0: those that change what is computed, and as many files,
 * whatever their names are. EXIT_DONE, or the rank that differs has said in what. */
int ranks_same_flags(const argument_list *list);
/* Whether all ranks have the same bytes (attn_exchange_agree). EXIT_DONE, or rank 0 has said which has not.
 */
int ranks_agree(const char *what, const void *bytes, size_t count, const char *remedy);

/* Every rank has done something by itself: the exit status of the first that failed, which has said why or
 * says it now; EXIT_DONE if none has. remedy: NULL, or what to do if only some have. */
int ranks_settle(int code, const char *remedy);
/* The largest of all ranks' numbers, which is how the command ends: 0, or a signal that stopped them. */
int ranks_largest(int number);
/* The sum of all ranks' numbers; this one's own if it cannot be had. */
int64_t ranks_sum(int64_t number);
/* Broadcasts from rank 0; EXIT_DONE, or it has said why not. Alone it does nothing. */
int ranks_broadcast(void *bytes, size_t count);
/* What this rank has printed on standard error since all were last at one; NULL if rank 0 did (it is out). To
 * be freed. */
char *ranks_kept(void);
/* Prints what another rank had to say, without a word on which it was. */
void ranks_repeat(const char *text);

/* --scatter: from now on the files that ranks_file is asked for are read by rank 0 alone. */
void ranks_scatter(bool on);
#define RANKS_SCATTER_HELP "with mpirun: rank 0 reads the files and sends them to the others"
/* A file that every rank reads: with --scatter and several ranks *path becomes one that this process has
 * received. All ranks call it alike; a folder is an error. NULL paths and "-" stay. EXIT_DONE, or it has said
 * why not. */
int ranks_file(const char **path);
/* The bytes of a file that was received, by the path that ranks_file gave for it; and the name that the user
 * gave it. NULL: it was not received. */
const char *ranks_bytes(const char *path, size_t *count, const char **name);
#define RANKS_REMEDY                                                                                         \
    "every rank reads the files itself: they must be the same on every host, or --scatter sends those "      \
    "of rank 0"
#define RANKS_COPY_FILE "copy the file of rank 0 to all hosts, or use --scatter"

/* "3/8" as part 2 of 8 (counted from 0); false: it is something else. */
bool ranks_read_shard(const char *text, int64_t *part, int64_t *parts);
#define RANKS_SHARD_FORM "--shard is 3/8 for the third of eight parts"
#define RANKS_SHARD_HELP "only part I of N parts of the examples, for job arrays: 3/8"
/* Where a part of `count` examples begins. */
int64_t ranks_part_begin(int64_t count, int64_t part, int64_t parts);

#endif
