/* report.c: keeps what an experiment adds to its report (see lab.h and report.h). */
#define _POSIX_C_SOURCE 200809L /* strdup, isatty */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory that is missing is said once, at the end: what follows from it is NULL, and NULL is passed on. */
static void *keep(lab *owner, void *memory) {
    if (memory == NULL) owner->no_memory = true;
    return memory;
}

static char *copy(lab *owner, const char *text) { return keep(owner, strdup(text != NULL ? text : "")); }

const lab_options *lab_options_of(const lab *report) { return report->options; }
attn_context *lab_context_of(const lab *report) { return report->context; }

int64_t lab_seeds(const lab *report, int64_t usual, int64_t quick) {
    if (report->options->seeds > 0) return report->options->seeds;
    return report->options->quick ? quick : usual;
}

static lab_item *add_item(lab *report, lab_item_kind kind) {
    if (report->items == report->item_room) {
        int room = report->item_room > 0 ? 2 * report->item_room : 16;
        lab_item *grown = keep(report, realloc(report->item, (size_t)room * sizeof *grown));
        if (grown == NULL) return NULL;
        report->item = grown;
        report->item_room = room;
    }
    lab_item *item = &report->item[report->items++];
    *item = (lab_item){.kind = kind};
    return item;
}

/* ---- tables ---- */

lab_table *lab_add_table(lab *report, const char *title, const char *heading, ...) {
    lab_item *item = add_item(report, LAB_ITEM_TABLE);
    lab_table *table = keep(report, calloc(1, sizeof *table));
    if (item == NULL || table == NULL) {
        free(table);
        return NULL;
    }
    item->table = table;
    table->owner = report;
    table->title = copy(report, title);
    va_list more;
    va_start(more, heading);
    for (const char *next = heading; next != NULL; next = va_arg(more, const char *)) {
        char **grown = keep(report, realloc(table->headings, (size_t)(table->columns + 1) * sizeof *grown));
        if (grown == NULL) break;
        table->headings = grown;
        table->headings[table->columns++] = copy(report, next);
    }
    va_end(more);
    return table;
}

void lab_row(lab_table *table, const char *cell, ...) {
    if (table == NULL) return;
    size_t count = (size_t)(table->rows + 1) * (size_t)table->columns;
    char **grown = keep(table->owner, realloc(table->cells, count * sizeof *grown));
    if (grown == NULL) return;
    table->cells = grown;
    va_list more;
    va_start(more, cell);
    for (int i = 0; i < table->columns; i++) {
        table->cells[table->rows * table->columns + i] = copy(table->owner, cell);
        if (i + 1 < table->columns) cell = va_arg(more, const char *);
    }
    va_end(more);
    table->rows++;
}

static char *next_cell(lab *report) {
    report->next_cell = (report->next_cell + 1) % LAB_CELLS;
    return report->cells[report->next_cell];
}

const char *lab_cell_least(lab *report, double percent) {
    return percent >= 99.5 ? "100 %" : lab_cell(report, "at least %.0f %%", percent);
}

const char *lab_cell(lab *report, const char *format, ...) {
    char *cell = next_cell(report);
    va_list more;
    va_start(more, format);
    vsnprintf(cell, LAB_CELL_ROOM, format, more);
    va_end(more);
    return cell;
}

static void range_of(const double *numbers, int64_t count, double *lowest, double *highest) {
    *lowest = *highest = count > 0 ? numbers[0] : NAN;
    for (int64_t i = 1; i < count; i++) {
        if (numbers[i] < *lowest || isnan(*lowest)) *lowest = numbers[i];
        if (numbers[i] > *highest || isnan(*highest)) *highest = numbers[i];
    }
}

/* The format is the experiment's own: one number. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
const char *lab_cell_spread(lab *report, const double *numbers, int64_t count, const char *format) {
    char *cell = next_cell(report), median[64], low[64], high[64];
    double lowest, highest;
    range_of(numbers, count, &lowest, &highest);
    snprintf(median, sizeof median, format, lab_median(numbers, count));
    snprintf(low, sizeof low, format, lowest);
    snprintf(high, sizeof high, format, highest);
    if (count > 1)
        snprintf(cell, LAB_CELL_ROOM, "%s (%s to %s)", median, low, high);
    else
        snprintf(cell, LAB_CELL_ROOM, "%s", median);
    return cell;
}
#pragma GCC diagnostic pop

/* ---- charts ---- */

lab_chart *lab_add_chart(lab *report, const char *title, const char *x, lab_axis x_axis, const char *y,
                         lab_axis y_axis) {
    lab_item *item = add_item(report, LAB_ITEM_CHART);
    lab_chart *chart = keep(report, calloc(1, sizeof *chart));
    if (item == NULL || chart == NULL) {
        free(chart);
        return NULL;
    }
    item->chart = chart;
    *chart = (lab_chart){.owner = report, .x_axis = x_axis, .y_axis = y_axis};
    chart->title = copy(report, title);
    chart->x = copy(report, x);
    chart->y = copy(report, y);
    return chart;
}

int lab_line(lab_chart *chart, const char *name, bool dashed) {
    if (chart == NULL) return -1;
    lab_chart_line *grown =
        keep(chart->owner, realloc(chart->line, (size_t)(chart->lines + 1) * sizeof *grown));
    if (grown == NULL) return -1;
    chart->line = grown;
    int color = 0;
    for (int i = 0; i < chart->lines; i++) color += !chart->line[i].dashed;
    chart->line[chart->lines] = (lab_chart_line){.name = copy(chart->owner, name), .dashed = dashed};
    chart->line[chart->lines].color = dashed ? -1 : color;
    return chart->lines++;
}

int lab_line_theory(lab_chart *chart, const char *name, int of) {
    int line = lab_line(chart, name, true);
    if (line >= 0 && of >= 0 && of < line) chart->line[line].color = chart->line[of].color;
    return line;
}

static void add_point(lab_chart *chart, int index, lab_chart_point point) {
    if (chart == NULL || index < 0 || index >= chart->lines) return;
    lab_chart_line *line = &chart->line[index];
    if (line->points == line->room) {
        int64_t room = line->room > 0 ? 2 * line->room : 16;
        lab_chart_point *grown = keep(chart->owner, realloc(line->point, (size_t)room * sizeof *grown));
        if (grown == NULL) return;
        line->point = grown;
        line->room = room;
    }
    line->point[line->points++] = point;
}

void lab_point(lab_chart *chart, int line, double x, double y) {
    add_point(chart, line, (lab_chart_point){.x = x, .y = y, .low = y, .high = y, .count = 1});
}

void lab_point_spread(lab_chart *chart, int line, double x, const double *numbers, int64_t count) {
    lab_chart_point point = {.x = x, .y = lab_median(numbers, count), .count = count};
    range_of(numbers, count, &point.low, &point.high);
    add_point(chart, line, point);
}

/* ---- matrices and notes ---- */

static char **copy_names(lab *report, const char *const *names, int64_t count) {
    if (names == NULL) return NULL;
    char **copies = keep(report, calloc((size_t)count, sizeof *copies));
    for (int64_t i = 0; copies != NULL && i < count; i++) copies[i] = copy(report, names[i]);
    return copies;
}

void lab_add_matrix(lab *report, const char *title, const float *numbers, int64_t rows, int64_t columns,
                    const char *const *row_names, const char *const *column_names) {
    if (rows <= 0 || columns <= 0) return;
    lab_item *item = add_item(report, LAB_ITEM_MATRIX);
    lab_matrix *matrix = keep(report, calloc(1, sizeof *matrix));
    float *own = keep(report, malloc((size_t)(rows * columns) * sizeof *own));
    if (item == NULL || matrix == NULL || own == NULL) {
        free(matrix);
        free(own);
        return;
    }
    item->matrix = matrix;
    memcpy(own, numbers, (size_t)(rows * columns) * sizeof *own);
    *matrix = (lab_matrix){.rows = rows, .columns = columns, .numbers = own};
    matrix->title = copy(report, title);
    matrix->row_names = copy_names(report, row_names, rows);
    matrix->column_names = copy_names(report, column_names, columns);
    matrix->lowest = matrix->highest = own[0];
    for (int64_t i = 1; i < rows * columns; i++) {
        matrix->lowest = fminf(matrix->lowest, own[i]);
        matrix->highest = fmaxf(matrix->highest, own[i]);
    }
}

void lab_note(lab *report, const char *format, ...) {
    char text[LAB_TEXT_ROOM];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    lab_item *item = add_item(report, LAB_ITEM_NOTE);
    if (item != NULL) item->note = copy(report, text);
}

/* ---- how it ends ---- */

bool lab_conclude(lab *report, lab_verdict verdict, const char *format, ...) {
    va_list more;
    va_start(more, format);
    vsnprintf(report->conclusion, sizeof report->conclusion, format, more);
    va_end(more);
    report->verdict = verdict;
    report->concluded = true;
    return true;
}

bool lab_fail(lab *report, const char *format, ...) {
    if (report->failed) return false; /* the first reason is the one that counts */
    va_list more;
    va_start(more, format);
    vsnprintf(report->error, sizeof report->error, format, more);
    va_end(more);
    report->failed = true;
    return false;
}

bool lab_ok(lab *report, attn_status status) {
    return status == ATTN_OK || lab_fail(report, "%s", attn_context_error(report->context));
}

void lab_progress(lab *report, double done, const char *what) {
    if (!report->terminal) return;
    fprintf(stderr, "\r\033[K%s %3.0f %%  ", report->experiment->name, 100 * done);
    lab_print_plain(stderr, what != NULL ? what : "");
    fflush(stderr);
    report->progress_shown = true;
}

const char *lab_verdict_text(lab_verdict verdict) {
    switch (verdict) {
    case LAB_HOLDS: return "holds";
    case LAB_HOLDS_WHERE: return "holds where";
    default: return "does not hold";
    }
}

bool lab_run(lab *report, const lab_experiment *experiment, const lab_options *options,
             attn_context *context) {
    *report = (lab){.experiment = experiment, .options = options, .context = context};
    report->terminal = isatty(STDERR_FILENO) != 0;
    double begin = lab_seconds(), busy = lab_processor_seconds();
    bool done = experiment->run(report);
    report->seconds = lab_seconds() - begin;
    report->processor_seconds = lab_processor_seconds() - busy;
    if (report->progress_shown) fputs("\r\033[K", stderr);
    if (report->no_memory) return lab_fail(report, "there is not enough memory");
    if (!done && !report->failed) return lab_fail(report, "it gave no reason");
    if (done && !report->concluded) return lab_fail(report, "it came to no verdict");
    return done;
}

/* ---- the end of a report ---- */

static void free_texts(char **texts, int64_t count) {
    for (int64_t i = 0; texts != NULL && i < count; i++) free(texts[i]);
    free(texts);
}

static void free_table(lab_table *table) {
    if (table == NULL) return;
    free_texts(table->headings, table->columns);
    free_texts(table->cells, (int64_t)table->rows * table->columns);
    free(table->title);
    free(table);
}

static void free_chart(lab_chart *chart) {
    if (chart == NULL) return;
    for (int i = 0; i < chart->lines; i++) {
        free(chart->line[i].name);
        free(chart->line[i].point);
    }
    free(chart->line);
    free(chart->title);
    free(chart->x);
    free(chart->y);
    free(chart);
}

static void free_matrix(lab_matrix *matrix) {
    if (matrix == NULL) return;
    free_texts(matrix->row_names, matrix->rows);
    free_texts(matrix->column_names, matrix->columns);
    free(matrix->numbers);
    free(matrix->title);
    free(matrix);
}

void lab_report_free(lab *report) {
    for (int i = 0; i < report->items; i++) {
        free_table(report->item[i].table);
        free_chart(report->item[i].chart);
        free_matrix(report->item[i].matrix);
        free(report->item[i].note);
    }
    free(report->item);
    report->item = NULL;
    report->items = 0;
}
