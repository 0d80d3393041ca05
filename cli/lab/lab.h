/* lab.h: experiments on what lectures claim of self-attention.
 *
 * An experiment states a claim, measures something that could contradict it, with seeds and their spread, and
 * says what follows: the claim holds, holds under a condition, or does not hold. What it measures goes into
 * tables and charts, which are printed, drawn as SVG, and put on one page by `attn lab all`.
 *
 *     static bool run(lab *report) {
 *         lab_table *table = lab_add_table(report, "variance of q.k", "d_k", "plain", "scaled", NULL);
 *         lab_row(table, lab_cell(report, "%d", width), lab_cell(report, "%.2f", plain), ...);
 *         return lab_conclude(report, LAB_HOLDS, "the variance is %.2f d_k", slope);
 *     }
 *
 * Every experiment can fail, and shows that it can: with --broken it plants one mistake (a wrong scale, a
 * kernel that ignores half of its input) and must then say that the claim does not hold.
 */
#ifndef CLI_LAB_LAB_H
#define CLI_LAB_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <attn/attn.h>

typedef enum lab_verdict { LAB_HOLDS, LAB_HOLDS_WHERE, LAB_DOES_NOT_HOLD } lab_verdict;

typedef struct lab_options {
    bool quick;       /* a few seconds: smaller sizes and fewer seeds, for tests and the impatient */
    bool broken;      /* the experiment's mistake is planted */
    const char *data; /* NULL, or a folder with real data */
    int64_t seeds;    /* 0: as many as the experiment takes by default */
    uint64_t seed;    /* the first of them */
} lab_options;

typedef struct lab lab;             /* one experiment while it runs */
typedef struct lab_table lab_table; /* rows of text, columns with headings */
typedef struct lab_chart lab_chart; /* lines over x, with their spread */

typedef struct lab_experiment {
    const char *name;
    const char *claim;      /* one sentence, as a lecture would say it */
    const char *experiment; /* what is done, in two or three sentences */
    const char *mistake;    /* what --broken plants */
    const char *data;       /* NULL, or which files of the folder --data it reads */
    bool (*run)(lab *lab);  /* false: it could not be done, and lab_fail said why */
} lab_experiment;

/* The table of experiments (experiments.c), each in a file of its own name. */
extern const lab_experiment lab_cost, lab_parallel, lab_path, lab_permute, lab_positions, lab_cnn, lab_data,
    lab_scale, lab_heads, lab_scores, lab_truncated, lab_graph, lab_context, lab_fixed;

const lab_options *lab_options_of(const lab *lab);
attn_context *lab_context_of(const lab *lab); /* with all threads; who needs another makes it */
int64_t lab_seeds(const lab *lab, int64_t usual, int64_t quick); /* how many runs: --seeds, or one of these */

/* A table; headings end with NULL. Cells of a row are text, as many as headings; they are copied. */
lab_table *lab_add_table(lab *lab, const char *title, const char *heading, ...);
void lab_row(lab_table *table, const char *cell, ...);
/* A cell in the making, good until sixteen more were made. */
const char *lab_cell(lab *lab, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "at least 97 %", or "100 %". */
const char *lab_cell_least(lab *lab, double percent);
const char *lab_cell_spread(lab *lab, const double *numbers, int64_t count,
                            const char *format); /* "93.1 (91.0 to 94.2)":
                  median, lowest, highest, each by `format` */

typedef enum lab_axis { LAB_LINEAR, LAB_LOGARITHMIC } lab_axis;
lab_chart *lab_add_chart(lab *lab, const char *title, const char *x, lab_axis x_axis, const char *y,
                         lab_axis y_axis);
/* A line of a chart; points are added in the order of x. Dashed lines are theory, not measurement. */
int lab_line(lab_chart *chart, const char *name, bool dashed);
/* A dashed line in the colour of the measured line `of`: what theory says of that. */
int lab_line_theory(lab_chart *chart, const char *name, int of);
void lab_point(lab_chart *chart, int line, double x, double y);
void lab_point_spread(lab_chart *chart, int line, double x, const double *numbers,
                      int64_t count); /* median and a bar */

/* A picture of cells, rows x columns of numbers, light to dark (diverging around 0 if any is below it): what
 * heads look at, position vectors. Names may be NULL. */
void lab_add_matrix(lab *lab, const char *title, const float *numbers, int64_t rows, int64_t columns,
                    const char *const *row_names, const char *const *column_names);

/* A paragraph between tables: what a reader should see in them. */
void lab_note(lab *lab, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The verdict, and one sentence with the numbers that it follows from. Returns true, for `return`. */
bool lab_conclude(lab *lab, lab_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Why it could not be done. Returns false. */
bool lab_fail(lab *lab, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool lab_ok(lab *lab, attn_status status); /* ATTN_OK, or lab_fail with the context's text */
/* How far it is, 0 .. 1, on a terminal's standard error. */
void lab_progress(lab *lab, double done, const char *what);

/* ---- numbers ---- */
double lab_median(const double *numbers, int64_t count);
/* The exponent of y = c x^e, by least squares on the logarithms. */
double lab_exponent(const double *x, const double *y, int64_t count);
/* Uniform 0 .. 1, normal, and 0 .. below - 1, from a seed that each call moves on. */
double lab_uniform(uint64_t *seed);
double lab_normal(uint64_t *seed);
int64_t lab_choice(uint64_t *seed, int64_t below);
double lab_seconds(void); /* of a clock that only goes forward */
/* That this process was computing, all threads together: other programs do not count. */
double lab_processor_seconds(void);

#endif
