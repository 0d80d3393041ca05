/* summary.c: statistics of a dataset. */
#include "data/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/fields.h"

/* ---- lengths ---- */

static int by_number(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

at_lengths at_measure_lengths(int64_t *lengths, int64_t count) {
    double sum = 0;
    if (count == 0) return (at_lengths){0};
    qsort(lengths, (size_t)count, sizeof *lengths, by_number);
    for (int64_t i = 0; i < count; i++) sum += (double)lengths[i];
    return (at_lengths){.least = lengths[0],
                        .most = lengths[count - 1],
                        .median = ((double)lengths[(count - 1) / 2] + (double)lengths[count / 2]) / 2,
                        .mean = sum / (double)count};
}

/* ---- targets ---- */

/* One value: its labels are counted, with '\n' between several. */
static attn_status take_value(attn_context *context, const char *value, at_column_summary *column) {
    double number;
    if (*value == 0) {
        column->missing++;
        return ATTN_OK;
    }
    column->values++;
    column->several += strchr(value, '\n') != NULL;
    column->numbers = column->numbers && at_decimal(value, &number) && isfinite(number);
    if (column->numbers) {
        if (column->values == 1 || number < column->least) column->least = number;
        if (column->values == 1 || number > column->most) column->most = number;
        column->mean += number;
    }
    for (;;) {
        int64_t class_number;
        size_t length = strcspn(value, "\n");
        attn_status status = at_vocabulary_add(context, &column->labels, value, length, 1, &class_number);
        if (status != ATTN_OK || value[length] == 0) return status;
        value += length + 1;
    }
}

static int by_count(const void *left, const void *right) {
    const at_class_count *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return strcmp(a->label, b->label);
}

static attn_status sort_classes(attn_context *context, at_column_summary *column) {
    int64_t count = column->labels.strings.count;
    column->classes = at_allocate(context, count, sizeof *column->classes, "the classes of a column");
    if (!column->classes) return ATTN_OUT_OF_MEMORY;
    column->class_count = count;
    for (int64_t i = 0; i < count; i++) {
        column->classes[i] =
            (at_class_count){at_string(&column->labels.strings, i), column->labels.counts[i]};
        column->once += column->labels.counts[i] == 1;
    }
    if (count) qsort(column->classes, (size_t)count, sizeof *column->classes, by_count);
    return ATTN_OK;
}

attn_status at_summarize_column(const attn_dataset *dataset, int64_t column, at_column_summary *summary) {
    int64_t places = dataset->per_row ? dataset->rows : dataset->examples, columns = dataset->columns.count;
    attn_status status = ATTN_OK;
    memset(summary, 0, sizeof *summary);
    summary->name = at_string(&dataset->columns, column);
    summary->numbers = 1;
    for (int64_t i = 0; i < places && status == ATTN_OK; i++)
        status = take_value(dataset->context, at_string(&dataset->targets, i * columns + column), summary);
    if (summary->values == 0) summary->numbers = 0;
    if (summary->numbers) summary->mean /= (double)summary->values;
    return status == ATTN_OK ? sort_classes(dataset->context, summary) : status;
}

void at_column_summary_free(attn_context *context, at_column_summary *summary) {
    at_vocabulary_free(context, &summary->labels);
    at_release(context, summary->classes);
    memset(summary, 0, sizeof *summary);
}

/* ---- inputs that occur more than once ---- */

/* The first row where the targets of two examples with the same input differ; -1: nowhere. */
static int64_t first_difference(const attn_dataset *dataset, int64_t a, int64_t b) {
    for (int64_t row = 0; row < attn_dataset_rows(dataset, a); row++) {
        for (int c = 0; c < attn_dataset_columns(dataset); c++) {
            if (strcmp(attn_dataset_target(dataset, c, a, row), attn_dataset_target(dataset, c, b, row)) != 0)
                return row;
        }
    }
    return -1;
}

enum { REPEATED = 1, CONTRADICTED = 2 }; /* what is known of the first example with an input */

/* Compares an example with the first that has the same input. */
static void compare(const attn_dataset *dataset, int64_t first, int64_t example, unsigned char *known,
                    at_repeats *repeats) {
    repeats->repeated += !(known[first] & REPEATED);
    known[first] |= REPEATED;
    int64_t row = first_difference(dataset, first, example);
    if (row < 0) {
        repeats->duplicates++;
        return;
    }
    if (known[first] & CONTRADICTED) return;
    known[first] |= CONTRADICTED;
    if (repeats->contradictions < AT_PLACES_SHOWN) {
        repeats->lines[repeats->contradictions][0] = attn_dataset_line(dataset, first, row);
        repeats->lines[repeats->contradictions][1] = attn_dataset_line(dataset, example, row);
    }
    repeats->contradictions++;
}

attn_status at_find_repeats(const attn_dataset *dataset, const at_likeness *likeness, at_repeats *repeats) {
    attn_context *context = dataset->context;
    int64_t slot_count = 16; /* open addressing: number + 1, 0 is free; a power of two of them */
    while (slot_count / 2 < dataset->examples) slot_count *= 2;
    memset(repeats, 0, sizeof *repeats);
    int64_t *slots = at_allocate(context, slot_count, sizeof *slots, "a table of inputs");
    unsigned char *known =
        slots ? at_allocate(context, dataset->examples, sizeof *known, "a table of inputs") : NULL;
    uint64_t mask = (uint64_t)slot_count - 1;
    for (int64_t e = 0; known && e < dataset->examples; e++) {
        if (likeness->ignored && likeness->ignored(dataset, e)) continue;
        uint64_t at = likeness->hash(dataset, e) & mask;
        while (slots[at] && !likeness->same(dataset, slots[at] - 1, e)) at = (at + 1) & mask;
        if (slots[at])
            compare(dataset, slots[at] - 1, e, known, repeats);
        else
            slots[at] = e + 1;
    }
    attn_status status = known ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    at_release(context, slots);
    at_release(context, known);
    return status;
}
