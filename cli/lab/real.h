/* real.h: the same experiment on real data: train with a few values of the configuration, get the score.
 *
 *     static const lab_files files = {.task = "tag", .train = "x/train.conllu.gz", .dev = "x/dev.conllu.gz",
 *                                     .train_examples = 3000, .dev_examples = 500};
 *     static const char *const common[] = {"encoder.columns", "64", "training.steps", "300", NULL};
 *     const char *own[] = {"encoder.position", "none", NULL};
 *     lab_real *real = lab_real_open(report, &files);          reads below the folder of --data
 *     lab_trained trained;
 *     bool done = real != NULL && lab_real_train(real, common, own, seed, &trained);
 *     lab_real_close(real);
 *
 * or several variants of one network, each with some seeds, as a table:
 *
 *     static const lab_variant variants[] = {{"none", {"encoder.position", "none"}}, ...};
 *     lab_compared found[COUNT];
 *     if (!lab_real_compare(report, &files, common, variants, COUNT, lab_seeds(report, 2, 1), found)) ...
 *
 * Values of the kind of input are named without it: ".stem".
 *
 * Nothing is written. The score is that of the development data after the last step: no model is chosen by
 * it. Training has one network (output.members 1), no patience, and evaluates once, unless values say
 * otherwise; with --quick it has 50 steps, whatever they say: a look at whether it runs, not at the claim.
 */
#ifndef CLI_LAB_REAL_H
#define CLI_LAB_REAL_H

#include "lab.h"

typedef struct lab_files {
    const char *task;       /* a name of attn_task_name */
    const char *train;      /* below the folder of --data */
    const char *dev;        /* NULL: a tenth of train */
    int64_t train_examples; /* the first so many; 0: all */
    int64_t dev_examples;
    const char *const *values; /* NULL, or of the configuration, before the files are read: "reader.column",
                                  "XPOS", ..., NULL */
} lab_files;

typedef struct lab_trained {
    char metric[32];
    double score; /* as the metric has it: accuracy is 0 .. 1 */
    double loss;  /* of the last steps */
    double seconds;
    int64_t steps, parameters;
} lab_trained;

typedef struct lab_real lab_real;
/* NULL: lab_fail was called. */
lab_real *lab_real_open(lab *report, const lab_files *files);
/* values, more: NULL, or name, value, ..., NULL. False: lab_fail was called. */
bool lab_real_train(lab_real *real, const char *const *values, const char *const *more, uint64_t seed,
                    lab_trained *trained);
void lab_real_close(lab_real *real); /* NULL is allowed */

/* A row of a comparison: values that it has beyond the common ones: name, value, ... (NULL after the last).
 */
enum { LAB_VARIANT_VALUES = 12, LAB_REAL_SEEDS = 16 };
typedef struct lab_variant {
    const char *name;
    const char *values[LAB_VARIANT_VALUES + 1];
} lab_variant;

typedef struct lab_compared {
    double score[LAB_REAL_SEEDS];            /* of each seed, times 100: percent of accuracy and the like */
    double median, lowest, highest, seconds; /* seconds: the median of training */
    int64_t parameters;
} lab_compared;

/* Reads the files, trains every variant with `seeds` seeds (at most LAB_REAL_SEEDS) and adds a table of the
 * scores. found has `count` entries. False: lab_fail was called. */
bool lab_real_compare(lab *report, const lab_files *files, const char *const *common,
                      const lab_variant *variants, int count, int64_t seeds, lab_compared *found);

/* The same on tags of English words (ud-english-ewt), by a network of 64 columns and 4 heads that has nothing
 * but its mixer to see neighbours by: words are whole, and there is no convolution before the encoder. Two
 * seeds, unless the user says otherwise. */
bool lab_tags_compare(lab *report, const lab_variant *variants, int count, int64_t steps,
                      lab_compared *found);

#endif
