/* report.h: what an experiment found, in memory, and the forms in which it is shown.
 *
 * An experiment adds tables, charts, matrices and notes in the order in which they are read (lab.h); nothing
 * is printed before it is over. cli/lab.c runs experiments and shows their reports; print.c, json.c,
 * markdown.c, svg.c and page.c each write one form. Private to the lab: experiments use lab.h alone.
 */
#ifndef CLI_LAB_REPORT_H
#define CLI_LAB_REPORT_H

#include "lab.h"

struct lab_table {
    lab *owner;
    char *title;
    int columns, rows;
    char **headings;
    char **cells; /* rows x columns */
};

typedef struct lab_chart_point {
    double x, y, low, high; /* y is the median; low and high are y without a spread */
    int64_t count;          /* numbers behind it */
} lab_chart_point;

typedef struct lab_chart_line {
    char *name;
    bool dashed;
    int color; /* index of the palette; -1: grey */
    int64_t points, room;
    lab_chart_point *point;
} lab_chart_line;

struct lab_chart {
    lab *owner;
    char *title, *x, *y;
    lab_axis x_axis, y_axis;
    int lines;
    lab_chart_line *line;
};

typedef struct lab_matrix {
    char *title;
    int64_t rows, columns;
    float *numbers;
    char **row_names, **column_names; /* NULL, or as many as rows, columns */
    float lowest, highest;
} lab_matrix;

typedef enum lab_item_kind { LAB_ITEM_TABLE, LAB_ITEM_CHART, LAB_ITEM_MATRIX, LAB_ITEM_NOTE } lab_item_kind;

typedef struct lab_item {
    lab_item_kind kind;
    lab_table *table;
    lab_chart *chart;
    lab_matrix *matrix;
    char *note;
} lab_item;

enum { LAB_CELLS = 16, LAB_CELL_ROOM = 256, LAB_TEXT_ROOM = 2000 };

struct lab {
    const lab_experiment *experiment;
    const lab_options *options;
    attn_context *context;
    lab_item *item;
    int items, item_room;
    bool concluded, failed, no_memory;
    lab_verdict verdict;
    char conclusion[LAB_TEXT_ROOM], error[LAB_TEXT_ROOM];
    char cells[LAB_CELLS][LAB_CELL_ROOM];
    int next_cell;
    double seconds, processor_seconds;
    bool terminal, progress_shown; /* whether standard error is a terminal, and has a line of progress */
};

/* The experiments in the order of the list; NULL past the end. */
const lab_experiment *lab_experiment_at(int index);

/* Runs it. False: report->error has the reason. Ends with lab_report_free in both cases. */
bool lab_run(lab *report, const lab_experiment *experiment, const lab_options *options,
             attn_context *context);
void lab_report_free(lab *report);

const char *lab_verdict_text(lab_verdict verdict); /* "holds", "holds where", "does not hold" */

/* The forms. `file` is checked for errors by the caller. */
void lab_print_text(FILE *file, const lab *report);
void lab_print_json(FILE *file, const lab *report);
void lab_print_markdown(FILE *file, const lab *report);
void lab_print_svg(FILE *file, const lab *report);
void lab_print_page(FILE *file, const lab *reports, int count, const char *machine);

/* Parts of pictures that a page shares: the style sheet, and one chart or matrix as <svg>...</svg>. */
void lab_print_style(FILE *file);
void lab_print_figure(FILE *file, const lab_item *item);

/* A paragraph of text after `head`, folded; lines after the first are indented by it. */
void lab_print_paragraph(FILE *file, const char *head, const char *text);

/* Text that is shown: control characters and what is no UTF-8 are escaped. lab_cells: how wide it is. */
void lab_print_plain(FILE *file, const char *text);
void lab_print_xml(FILE *file, const char *text);
void lab_print_json_text(FILE *file, const char *text);
int lab_cells(const char *text);

/* A number of an axis, short: 0.25, 20, 10k, 10^-6. */
enum { LAB_NUMBER_ROOM = 32 };
void lab_format_number(double number, char text[LAB_NUMBER_ROOM]);

/* ---- the scale of an axis ---- */

enum { LAB_TICKS = 16 };
typedef struct lab_ruler {
    lab_axis kind;
    double low, high;
    int ticks;
    double tick[LAB_TICKS];
} lab_ruler;
/* The scales that all points of a chart fit in. False: there is no point. */
bool lab_chart_rulers(const lab_chart *chart, lab_ruler *x, lab_ruler *y);
double lab_ruler_place(const lab_ruler *scale, double number); /* 0 .. 1; NaN where it has no place */

#endif
