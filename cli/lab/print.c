/* print.c: a report as text: paragraphs, aligned tables, charts of characters. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report.h"

enum { TEXT_WIDTH = 88, PLOT_WIDTH = 60, PLOT_HEIGHT = 14, MATRIX_MOST = 40 };

void lab_print_paragraph(FILE *file, const char *head, const char *text) {
    int indent = (int)strlen(head), used = indent;
    fputs(head, file);
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        int cells = lab_cells(word);
        if (used > indent && used + 1 + cells > TEXT_WIDTH) {
            fprintf(file, "\n%*s", indent, "");
            used = indent;
        } else if (used > indent) {
            fputc(' ', file);
            used++;
        }
        lab_print_plain(file, word);
        used += cells;
        text += length;
        while (*text == ' ') text++;
    }
    fputc('\n', file);
}

static bool is_number(const char *text) {
    return isdigit((unsigned char)text[0]) || strcmp(text, "-") == 0 ||
           (strchr("+-<>.", text[0]) != NULL && text[0] != '\0' &&
            (isdigit((unsigned char)text[1]) || text[1] == '.' || text[1] == ' '));
}

static void print_cell(FILE *file, const char *text, int width, bool right) {
    int space = width > lab_cells(text) ? width - lab_cells(text) : 0;
    if (right) fprintf(file, "%*s", space, "");
    lab_print_plain(file, text);
    if (!right) fprintf(file, "%*s", space, "");
}

static void print_table(FILE *file, const lab_table *table) {
    enum { MOST = 16 };
    int width[MOST], columns = table->columns < MOST ? table->columns : MOST;
    bool right[MOST];
    for (int c = 0; c < columns; c++) {
        width[c] = lab_cells(table->headings[c]);
        right[c] = c > 0;
        for (int r = 0; r < table->rows; r++) {
            const char *cell = table->cells[r * table->columns + c];
            if (lab_cells(cell) > width[c]) width[c] = lab_cells(cell);
            right[c] = right[c] && is_number(cell);
        }
    }
    fputc('\n', file);
    if (table->title[0] != '\0') lab_print_paragraph(file, "", table->title);
    for (int r = -1; r < table->rows; r++) {
        char *const *cells = r < 0 ? table->headings : table->cells + r * table->columns;
        for (int c = 0; c < columns; c++) {
            fputs("  ", file);
            print_cell(file, cells[c], c + 1 < columns || right[c] ? width[c] : 0, right[c]);
        }
        fputc('\n', file);
        for (int c = 0; r < 0 && c < columns; c++) {
            fputs("  ", file);
            for (int i = 0; i < width[c]; i++) fputc('-', file);
        }
        if (r < 0) fputc('\n', file);
    }
}

static void plot_point(char plot[PLOT_HEIGHT][PLOT_WIDTH + 1], double x, double y, char mark, bool over) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
    char *cell =
        &plot[PLOT_HEIGHT - 1 - (int)lround(y * (PLOT_HEIGHT - 1))][(int)lround(x * (PLOT_WIDTH - 1))];
    if (over || *cell == ' ') *cell = mark;
}

/* Points as letters, one per line; theory as dots between its points, where nothing was measured. */
static void plot_lines(const lab_chart *chart, const lab_ruler *x, const lab_ruler *y,
                       char plot[PLOT_HEIGHT][PLOT_WIDTH + 1]) {
    for (int pass = 0; pass < 2; pass++) {
        char mark = 'a';
        for (int i = 0; i < chart->lines; i++) {
            const lab_chart_line *line = &chart->line[i];
            for (int64_t p = 0; p < line->points && pass == 0 && !line->dashed; p++)
                plot_point(plot, lab_ruler_place(x, line->point[p].x), lab_ruler_place(y, line->point[p].y),
                           mark, true);
            for (int64_t p = 1; p < line->points && pass == 1 && line->dashed; p++) {
                double x0 = lab_ruler_place(x, line->point[p - 1].x),
                       x1 = lab_ruler_place(x, line->point[p].x);
                double y0 = lab_ruler_place(y, line->point[p - 1].y),
                       y1 = lab_ruler_place(y, line->point[p].y);
                for (int s = 0; s <= 2 * PLOT_WIDTH; s++) {
                    double part = s / (2.0 * PLOT_WIDTH);
                    plot_point(plot, x0 + part * (x1 - x0), y0 + part * (y1 - y0), '.', false);
                }
            }
            if (!line->dashed) mark++;
        }
    }
}

static void print_chart(FILE *file, const lab_chart *chart) {
    char plot[PLOT_HEIGHT][PLOT_WIDTH + 1], low[LAB_NUMBER_ROOM], high[LAB_NUMBER_ROOM];
    lab_ruler x, y;
    if (!lab_chart_rulers(chart, &x, &y)) return;
    memset(plot, ' ', sizeof plot);
    plot_lines(chart, &x, &y, plot);
    fputc('\n', file);
    lab_print_paragraph(file, "", chart->title);
    fputs("  ", file);
    lab_print_plain(file, chart->y);
    fprintf(file, "%s\n", chart->y_axis == LAB_LOGARITHMIC ? " (logarithmic)" : "");
    lab_format_number(y.low, low);
    lab_format_number(y.high, high);
    for (int r = 0; r < PLOT_HEIGHT; r++) {
        int length = PLOT_WIDTH;
        while (length > 0 && plot[r][length - 1] == ' ') length--;
        fprintf(file, "%8s |%.*s\n", r == 0 ? high : r == PLOT_HEIGHT - 1 ? low : "", length, plot[r]);
    }
    fprintf(file, "%8s +", "");
    for (int i = 0; i < PLOT_WIDTH; i++) fputc('-', file);
    lab_format_number(x.low, low);
    lab_format_number(x.high, high);
    fprintf(file, "\n%9s%-*s%s  ", "", PLOT_WIDTH - (int)strlen(high), low, high);
    lab_print_plain(file, chart->x);
    fprintf(file, "%s\n", chart->x_axis == LAB_LOGARITHMIC ? " (logarithmic)" : "");
    char mark = 'a';
    for (int i = 0; i < chart->lines; i++) {
        fprintf(file, "%10s%c  ", "", chart->line[i].dashed ? '.' : mark);
        lab_print_plain(file, chart->line[i].name);
        fputc('\n', file);
        if (!chart->line[i].dashed) mark++;
    }
}

static void print_matrix(FILE *file, const lab_matrix *matrix) {
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    fputc('\n', file);
    lab_print_paragraph(file, "", matrix->title);
    if (matrix->rows > MATRIX_MOST || matrix->columns > MATRIX_MOST) {
        fputs("  (in the SVG)\n", file);
        return;
    }
    float most = fmaxf(fabsf(matrix->lowest), fabsf(matrix->highest));
    for (int64_t r = 0; r < matrix->rows; r++) {
        fputs("  ", file);
        for (int64_t c = 0; c < matrix->columns; c++) {
            float number = matrix->numbers[r * matrix->columns + c];
            int shade = most > 0 && isfinite(number) ? (int)(fabsf(number) / most * 4.999f) : 0;
            if (matrix->lowest < 0) fputc(number < 0 && shade > 0 ? '-' : ' ', file);
            fputs(shades[shade], file);
            if (matrix->lowest >= 0) fputs(shades[shade], file);
        }
        fputs("  ", file);
        if (matrix->row_names != NULL) lab_print_plain(file, matrix->row_names[r]);
        fputc('\n', file);
    }
    fprintf(file, "  %.3g to %.3g, light to dark\n", (double)matrix->lowest, (double)matrix->highest);
}

void lab_print_text(FILE *file, const lab *report) {
    const lab_experiment *experiment = report->experiment;
    fprintf(file, "%s\n", experiment->name);
    lab_print_paragraph(file, "claim       ", experiment->claim);
    lab_print_paragraph(file, "experiment  ", experiment->experiment);
    if (report->options->broken) lab_print_paragraph(file, "planted     ", experiment->mistake);
    for (int i = 0; i < report->items; i++) {
        const lab_item *item = &report->item[i];
        switch (item->kind) {
        case LAB_ITEM_TABLE: print_table(file, item->table); break;
        case LAB_ITEM_CHART: print_chart(file, item->chart); break;
        case LAB_ITEM_MATRIX: print_matrix(file, item->matrix); break;
        case LAB_ITEM_NOTE:
            fputc('\n', file);
            lab_print_paragraph(file, "", item->note);
            break;
        }
    }
    char verdict[LAB_TEXT_ROOM + 64];
    snprintf(verdict, sizeof verdict, "verdict: %s%s%s", lab_verdict_text(report->verdict),
             report->verdict == LAB_HOLDS_WHERE ? " " : ": ", report->conclusion);
    fputc('\n', file);
    lab_print_paragraph(file, "", verdict);
    fprintf(file, "(%.1f s, %.1f s of processor time)\n", report->seconds, report->processor_seconds);
}
