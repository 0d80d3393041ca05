/* tasks.h: the tasks that a model can learn, one row of a table each. */
#ifndef AT_MODEL_TASKS_H
#define AT_MODEL_TASKS_H

/* What is held out of the training data to choose models by, where no development data is given. */
typedef enum at_hold_out {
    AT_HOLD_EXAMPLES, /* drawn at random */
    AT_HOLD_INPUTS,   /* drawn by the input: examples with the same input stay together */
    AT_HOLD_END       /* the end: examples are lines of one text */
} at_hold_out;

typedef struct at_task {
    const char *name, *help;
    const char *head;         /* the usual one */
    const char *format;       /* NULL, or the only format of files, but for */
    const char *other_format; /* NULL, or one that says by itself that it is that */
    int per_row;              /* 1: targets stand with rows, 0: with examples, -1: as the data has it */
    int labelled;             /* targets are needed to learn */
    int pairs;                /* two files are sources and targets */
    int writes_text, running; /* what it asks of the input: inputs/input.h */
    int chooses;              /* units are left to the data */
    int counts;               /* the number of examples decides about defaults */
    at_hold_out hold_out;
} at_task;

extern const char *const at_task_names[]; /* ends with NULL; in the order of the table */
const at_task *at_task_at(int index);     /* NULL out of range */

#endif
