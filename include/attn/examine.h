/* examine.h: checks of training data before training.
 *
 *     attn_examination *found;
 *     attn_examine(config, train, NULL, &found);
 *     for (int i = 0; i < attn_examination_findings(found); i++)
 *         puts(attn_examination_finding(found, i).text);
 *     attn_examination_destroy(found);
 *
 * Findings are reasons not to train on the data. The caller decides: a trainer accepts such data. Notes are
 * worth knowing but no reason to stop. The examination makes one pass over the data and compares 64-bit
 * hashes. It is used by one thread at a time, the one of the configuration's context.
 */
#ifndef ATTN_EXAMINE_H
#define ATTN_EXAMINE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/config.h>
#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef enum attn_finding_kind {
    ATTN_FINDING_SWAPPED = 1,   /* nearly every label occurs once, as texts do: the columns may be swapped */
    ATTN_FINDING_ONE_CLASS = 2, /* a single class, or a single number */
    ATTN_FINDING_FEW = 3,       /* fewer than ten examples (or nodes, if nodes have the targets) */
    ATTN_FINDING_ALIKE = 4      /* labels that differ only in spaces or case */
} attn_finding_kind;

/* text: the finding and the remedy, in one line, without a file name; it belongs to the examination. A plain
 * struct: it will not grow. */
typedef struct attn_finding {
    attn_finding_kind kind;
    const char *text;
} attn_finding;

/* The overlap of other data with the training data. examples: how many were compared; same: how many are also
 * in the training data; alike: how many more are, if case is folded, runs of white space become one space,
 * and punctuation at the ends is removed (texts only). Empty examples are not compared. A plain struct: it
 * will not grow. */
typedef struct attn_overlap {
    int64_t examples, same, alike;
} attn_overlap;

typedef struct attn_examine_options {
    size_t size;              /* sizeof(attn_examine_options), set by the init function */
    const attn_dataset *dev;  /* NULL, or the development data */
    const attn_dataset *test; /* NULL, or the test data. If dev or test is NULL, examples of the training data
                                 that belong to that part (attn_dataset_part) are used */
    int guess;      /* 1: the task is unknown, whatever the configuration says. A column of targets counts as
                       numbers if all values are numbers and more than 20 differ; else as labels */
    int unlabelled; /* 1: the data has no targets; they are ignored */
} attn_examine_options;
ATTN_INIT(attn_examine_options)

/* Examines training data for the task of the configuration. options NULL: the defaults. *found is untouched
 * on failure; it must be destroyed before the context. Errors: INVALID_ARGUMENT (NULL, or values of the
 * configuration that contradict each other), OUT_OF_MEMORY. */
ATTN_API attn_status attn_examine(attn_config *config, const attn_dataset *train,
                                  const attn_examine_options *options, attn_examination **found);
ATTN_API void attn_examination_destroy(attn_examination *found); /* NULL is allowed */

/* The number of findings, and each of them. */
ATTN_API int attn_examination_findings(const attn_examination *found);
ATTN_API attn_finding attn_examination_finding(const attn_examination *found, int index);
/* The number of notes, and each of them, as one line. Notes are about conflicts, truncated examples and
 * overlaps. */
ATTN_API int attn_examination_notes(const attn_examination *found);
ATTN_API const char *attn_examination_note(const attn_examination *found, int index);

/* The number of inputs that occur more than once in the training data with different labels; 0 if targets are
 * not labels; -1 if there are more than 8,388,608 examples, which are not compared. */
ATTN_API int64_t attn_examination_conflicts(const attn_examination *found);
/* Counts of examples of the training data that are too long.
 *
 *     longest     the largest number of rows that the network processes at once; 0: no bound
 *     most        the largest number of rows that all pieces of an example have together; 0: no bound
 *     in_pieces   examples that are longer than longest, and processed in pieces
 *     cut         examples that are longer than most, so that only their beginning is used
 *
 * Subwords are learned later; with them, lengths are counted in words. */
ATTN_API int64_t attn_examination_in_pieces(const attn_examination *found);
ATTN_API int64_t attn_examination_cut(const attn_examination *found);
ATTN_API int64_t attn_examination_longest(const attn_examination *found);
ATTN_API int64_t attn_examination_most(const attn_examination *found);
/* The overlap of ATTN_PART_VAL (options.dev) or ATTN_PART_TEST (options.test) with the training data; all
 * members 0 if there is no such data. */
ATTN_API attn_overlap attn_examination_overlap(const attn_examination *found, attn_part part);

ATTN_END_DECLS

#endif
