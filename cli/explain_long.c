/* explain_long.c: long sequences whose rows are called by numbers, as the frames of a recording are by their
 * times: segments of the same prediction with their highest weights, or a map of means.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "text.h"

/* ---- segments ---- */

typedef struct segment {
    int64_t first, end;
    const char *answer;
    double probability, contribution; /* the mean; the sum */
} segment;

static segment next_segment(const attn_explanation *explanation, int64_t first) {
    int64_t rows = attn_explanation_rows(explanation);
    const double *contributions = attn_explanation_contributions(explanation);
    segment found = {.first = first, .end = first, .answer = attn_explanation_answer(explanation, first)};
    while (found.end < rows) {
        const char *answer = attn_explanation_answer(explanation, found.end);
        if (answer == NULL || strcmp(answer, found.answer) != 0) break;
        found.probability += attn_explanation_probability(explanation, found.end);
        if (contributions != NULL) found.contribution += contributions[found.end];
        found.end++;
    }
    found.probability /= (double)(found.end - first);
    return found;
}

/* The mean of a segment's rows as a view of one row. */
static explain_view mean_of(const explain_view *view, const segment *of, double *numbers) {
    explain_view mean = *view;
    mean.queries = 1;
    mean.sparse = false;
    mean.numbers = numbers;
    memset(numbers, 0, (size_t)view->keys * sizeof *numbers);
    for (int64_t q = of->first; q < of->end && q < view->queries; q++)
        for (int64_t e = 0; e < explain_entries(view, q); e++)
            numbers[explain_entry_key(view, q, e)] +=
                explain_entry(view, q, e) / (double)(of->end - of->first);
    return mean;
}

/* As many of the strongest as the line has room for. */
static void print_peaks(const explain_view *mean, int used, int width) {
    enum { PEAKS = 3, MOST = 16 };
    int64_t top = mean->choice.top > 0 ? mean->choice.top : PEAKS, entries[MOST];
    int count = explain_strongest(mean, 0, top < MOST ? (int)top : MOST, true, entries);
    for (int i = 0; i < count; i++) {
        const char *name = explain_key_name(mean, entries[i]);
        used += 3 + text_width(name) + 6;
        if (used > width && i > 0) break;
        printf("   %s %.3f", name, mean->numbers[entries[i]]);
    }
}

static void print_segment(const explain_view *view, const segment *of, int answer, double *numbers,
                          const explain_screen *screen) {
    const attn_explanation *explanation = view->explanation;
    /* Names are numbers: nothing to escape. */
    int used = printf("  %7s – %-7s  ", explain_row_name(explanation, of->first),
                      explain_row_name(explanation, of->end - 1)) -
               2; /* the dash has three bytes */
    text_print_spaces(stdout, answer - text_print_cut(stdout, of->answer, answer));
    used += answer;
    if (!isnan(of->probability)) used += printf("  %.2f", of->probability);
    if (attn_explanation_contributions(explanation) != NULL) {
        fputs("  ", stdout);
        explain_contribution(screen, of->contribution, explain_contribution_scale(explanation), 9);
        used += 11;
    }
    if (view->map != NULL && explain_queries_are_rows(view)) {
        explain_view mean = mean_of(view, of, numbers);
        print_peaks(&mean, used, screen->width);
    }
    putchar('\n');
}

void explain_segments_print(const explain_view *view, const explain_screen *screen) {
    const attn_explanation *explanation = view->explanation;
    int64_t rows = attn_explanation_rows(explanation), count = 0;
    int answer = 6;
    double *numbers = calloc(view->keys > 0 ? (size_t)view->keys : 1, sizeof *numbers);
    if (numbers == NULL) return;
    for (int64_t r = 0; r < rows; r++) {
        int one = text_width(attn_explanation_answer(explanation, r));
        if (one > answer) answer = one < 16 ? one : 16;
    }
    terminal_remark(screen->color, view->map != NULL
                                       ? "  from – to, prediction, probability, ±, highest weight\n"
                                       : "  from – to, prediction, probability, ±\n");
    int64_t at = 0;
    while (at < rows && count++ < EXPLAIN_ROWS) {
        segment now = next_segment(explanation, at);
        print_segment(view, &now, answer, numbers, screen);
        at = now.end;
    }
    if (at < rows) {
        char note[160];
        snprintf(note, sizeof note,
                 "  the first %d segments, up to row %" PRId64 " of %" PRId64
                 ": -o x.html shows everything\n",
                 EXPLAIN_ROWS, at, rows);
        terminal_remark(screen->color, note);
    }
    putchar('\n');
    explain_contribution_legend(explanation, screen);
    free(numbers);
}

/* ---- a map of means ---- */

typedef struct means {
    const explain_view *view;
    const explain_screen *screen;
    int64_t lines, columns;
    int cell;        /* cells of a column */
    double *numbers; /* [lines][columns]: how much of a row's weight goes to the rows of a column */
    double scale;
    bool is_signed;
} means;

static int64_t bin_of(int64_t index, int64_t count, int64_t bins) { return index * bins / count; }
static int64_t first_of(int64_t bin, int64_t count, int64_t bins) { return (bin * count + bins - 1) / bins; }

static void gather(means *of) {
    const explain_view *view = of->view;
    double largest = 0;
    for (int64_t q = 0; q < view->queries; q++) {
        int64_t line = bin_of(q, view->queries, of->lines);
        int64_t height =
            first_of(line + 1, view->queries, of->lines) - first_of(line, view->queries, of->lines);
        for (int64_t e = 0; e < explain_entries(view, q); e++) {
            int64_t column = bin_of(explain_entry_key(view, q, e), view->keys, of->columns);
            of->numbers[line * of->columns + column] += explain_entry(view, q, e) / (double)height;
        }
    }
    for (int64_t i = 0; i < of->lines * of->columns; i++) {
        largest = fmax(largest, fabs(of->numbers[i]));
        of->is_signed |= of->numbers[i] < 0;
    }
    of->scale = explain_even(largest);
}

enum { LABEL = 8 };

/* What every tenth cell or so begins with. */
static void print_axis(const means *of) {
    int64_t step = (9 + of->cell) / of->cell;
    text_print_spaces(stdout, LABEL + 2);
    for (int64_t c = 0; c < of->columns; c += step) {
        const char *name = explain_key_name(of->view, first_of(c, of->view->keys, of->columns));
        if (c + step <= of->columns || (of->columns - c) * of->cell >= text_width(name))
            text_print_left(stdout, name, (int)step * of->cell);
    }
    putchar('\n');
}

static void print_strip(const means *of) {
    const double *numbers = attn_explanation_contributions(of->view->explanation);
    double *sums = calloc((size_t)of->columns, sizeof *sums), largest = 0;
    if (numbers != NULL && sums != NULL && explain_keys_are_rows(of->view)) {
        for (int64_t k = 0; k < of->view->keys; k++)
            sums[bin_of(k, of->view->keys, of->columns)] += numbers[k];
        for (int64_t c = 0; c < of->columns; c++) largest = fmax(largest, fabs(sums[c]));
        printf("%*s± │", LABEL - 1, "");
        for (int64_t c = 0; c < of->columns; c++) explain_cell(of->screen, sums[c], largest, true, of->cell);
        putchar('\n');
    }
    free(sums);
}

void explain_means_print(const explain_view *view, const explain_screen *screen) {
    enum { LINES = 24, COLUMNS = 100 };
    int64_t room = screen->width - LABEL - 3;
    means of = {.view = view, .screen = screen};
    of.lines = view->queries < LINES ? view->queries : LINES;
    of.columns = room < COLUMNS ? room : COLUMNS;
    if (of.columns > view->keys) of.columns = view->keys;
    if (of.lines < 1 || of.columns < 1) return;
    of.cell = room / of.columns < 3 ? (int)(room / of.columns) : 3;
    of.numbers = calloc((size_t)(of.lines * of.columns), sizeof *of.numbers);
    if (of.numbers == NULL) return;
    gather(&of);
    print_axis(&of);
    for (int64_t l = 0; l < of.lines; l++) {
        const char *name = explain_query_name(view, first_of(l, view->queries, of.lines));
        text_print_spaces(stdout, LABEL - text_width(name));
        text_print_cut(stdout, name, LABEL);
        fputs(" │", stdout);
        for (int64_t c = 0; c < of.columns; c++)
            explain_cell(screen, of.numbers[l * of.columns + c], of.scale, of.is_signed, of.cell);
        putchar('\n');
    }
    print_strip(&of);
    putchar('\n');
    explain_view scaled = *view; /* its legend is that of the sums */
    scaled.scale = of.scale;
    scaled.is_signed = of.is_signed;
    explain_legend(&scaled, screen);
    explain_contribution_legend(view->explanation, screen);
    free(of.numbers);
    if (of.lines == view->queries && of.columns == view->keys) return;
    char note[160];
    snprintf(note, sizeof note,
             "  %" PRId64 " × %" PRId64 " rows and columns, some together: -o x.html shows each\n",
             view->queries, view->keys);
    terminal_remark(screen->color, note);
}
