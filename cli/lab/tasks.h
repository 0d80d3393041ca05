/* tasks.h: generated problems: sequences of symbols, and a rule that says what the answers are. */
#ifndef CLI_LAB_TASKS_H
#define CLI_LAB_TASKS_H

#include "fit.h"

/* Fills one sequence: its symbols, and its labels, which are -1 before the call: one per row, or, where
 * labels are of sequences, labels[0]. `of` is the caller's. */
typedef void (*lab_rule)(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels);

/* Sequences of lengths drawn evenly from shortest .. longest. */
typedef struct lab_lengths {
    int64_t sequences, shortest, longest;
} lab_lengths;

typedef struct lab_task {
    lab_problem problem;
    int64_t *offsets[2];
    int32_t *ids[2], *labels[2];
    int32_t *answers; /* room for those to the test labels */
} lab_task;

/* `test` has `groups` entries: the groups follow one another in the test data, and lab_task_accuracy
 * tells them apart. problem.symbols, classes and per_sequence are set before the call. Training and test data
 * come from different seeds. False: lab_fail was called. Frees nothing that was there before. */
bool lab_task_make(lab *report, lab_task *task, lab_rule rule, const void *of, lab_lengths train,
                   const lab_lengths *test, int groups, uint64_t seed);
void lab_task_free(lab_task *task);

/* The share of right answers (task->answers) among those asked in the test sequences first .. end - 1. */
double lab_task_accuracy(const lab_task *task, int64_t first, int64_t end);

/* How many numbers a network of this problem learns; 0: lab_fail was called. */
int64_t lab_task_parameters(lab *report, const lab_problem *problem, const attn_encoder_options *encoder);

/* Look-up: rows that say a key and its value, each key at most once, then LAB_LOOKUPS questions that say a
 * key alone: the answer at a question is the value of its key. Symbols: keys * values pairs, then keys
 * questions; as many classes as values. */
enum { LAB_LOOKUPS = 2, LAB_MOST_KEYS = 64 };
typedef struct lab_lookup {
    int64_t keys, values;
} lab_lookup;
void lab_lookup_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels);

double lab_lowest(const double *numbers, int64_t count);
double lab_highest(const double *numbers, int64_t count);

#endif
