/* timetable.h: the number of steps of a run with --time, which changes during the run.
 *
 * As text: "1200,150:1180,400:1250": 1,200 steps; from step 150 on 1,180; from step 400 on 1,250. The
 * learning rate schedule is that of the first number; after a change the rest of it is stretched or
 * compressed to the remaining steps, so that it continues from its current value, never goes back, and ends
 * with the last step.
 */
#ifndef AT_TRAIN_TIMETABLE_H
#define AT_TRAIN_TIMETABLE_H

#include <stdint.h>

#include "data/fields.h"

enum { AT_MOST_CHANGES = 24 };

typedef struct at_timetable {
    int64_t first; /* steps that there were to be at the beginning */
    int count;     /* of changes */
    struct {
        int64_t step, steps; /* after `step` there are to be `steps` in all */
    } changes[AT_MOST_CHANGES];
} at_timetable;

/* Reads a text that is not empty; 0: it is no timetable. */
int at_timetable_read(const char *text, at_timetable *table);
/* "" if nothing changes; 0: there is no room. */
int at_timetable_write(const at_timetable *table, char text[AT_FIELD_TEXT_BYTES]);
/* From this step on, of those that are done, there are to be so many; 0: there is no room, and nothing
 * changes. */
int at_timetable_change(at_timetable *table, int64_t step, int64_t steps);
/* How many there are to be when so many are done. */
int64_t at_timetable_steps(const at_timetable *table, int64_t done);
/* Where a step is in a schedule of `first` steps. */
double at_timetable_place(const at_timetable *table, double step);

#endif
