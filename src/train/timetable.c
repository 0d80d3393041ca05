/* timetable.c: reading, writing and following a list of numbers of steps. */
#include "train/timetable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits up to a number that training.steps can be; NULL: something else is there. */
static const char *read_number(const char *text, int64_t *number) {
    char *end;
    if (*text < '0' || *text > '9' || strspn(text, "0123456789") > 15) return NULL;
    *number = strtoll(text, &end, 10);
    return end;
}

int at_timetable_read(const char *text, at_timetable *table) {
    at_timetable made = {0};
    const char *at = read_number(text, &made.first);
    int64_t before = 0;
    if (!at || made.first < 1) return 0;
    for (; *at; made.count++) {
        if (*at != ',' || made.count == AT_MOST_CHANGES) return 0;
        int64_t step = 0, steps = 0;
        at = read_number(at + 1, &step);
        if (!at || *at != ':') return 0;
        at = read_number(at + 1, &steps);
        int64_t all = at_timetable_steps(&made, before); /* the run got there */
        if (!at || step <= before || step >= all || steps <= step) return 0;
        made.changes[made.count].step = before = step;
        made.changes[made.count].steps = steps;
    }
    *table = made;
    return 1;
}

int at_timetable_write(const at_timetable *table, char text[AT_FIELD_TEXT_BYTES]) {
    int used = 0;
    text[0] = 0;
    if (table->count == 0) return 1;
    used = snprintf(text, AT_FIELD_TEXT_BYTES, "%" PRId64, table->first);
    for (int i = 0; i < table->count && used < AT_FIELD_TEXT_BYTES; i++)
        used += snprintf(text + used, (size_t)(AT_FIELD_TEXT_BYTES - used), ",%" PRId64 ":%" PRId64,
                         table->changes[i].step, table->changes[i].steps);
    return used < AT_FIELD_TEXT_BYTES;
}

int at_timetable_change(at_timetable *table, int64_t step, int64_t steps) {
    at_timetable changed = *table;
    char text[AT_FIELD_TEXT_BYTES];
    if (changed.count == AT_MOST_CHANGES) return 0;
    changed.changes[changed.count].step = step;
    changed.changes[changed.count++].steps = steps;
    if (!at_timetable_write(&changed, text)) return 0;
    *table = changed;
    return 1;
}

int64_t at_timetable_steps(const at_timetable *table, int64_t done) {
    int64_t steps = table->first;
    for (int i = 0; i < table->count && table->changes[i].step <= done; i++) steps = table->changes[i].steps;
    return steps;
}

double at_timetable_place(const at_timetable *table, double step) {
    double all = (double)table->first, from = 0, begins = 0, ends = all;
    for (int i = 0; i < table->count && (double)table->changes[i].step <= step; i++) {
        double here = (double)table->changes[i].step;
        begins += (all - begins) * (here - from) / (ends - from);
        from = here;
        ends = (double)table->changes[i].steps;
    }
    if (from == 0) return step; /* exactly */
    return begins + (all - begins) * (step - from) / (ends - from);
}
