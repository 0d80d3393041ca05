/* svg.c: a report as a picture: its charts and matrices, with the claim above and the verdict below.
 *
 * Colours are classes of a style sheet with a light and a dark half, so that a picture fits the page on which
 * it stands. Texts are at least 13 units in panels 480 wide: readable in a column of a paper.
 */
#include <math.h>
#include <string.h>

#include "report.h"

/* A panel: one chart or matrix. */
enum {
    PANEL = 480,
    PLOT_LEFT = 62,
    PLOT_RIGHT = 464,
    PLOT_HEIGHT = 236,
    TITLE_LINE = 20,
    LEGEND_LINE = 19,
    TITLE_CELLS = 54,
    MARGIN = 20,
    LEVELS = 16 /* shades of a matrix; as many for each sign where numbers have both */
};

/* ---- the style ---- */

static void mix(FILE *file, const int from[3], const int to[3], double part) {
    fputc('#', file);
    for (int i = 0; i < 3; i++) fprintf(file, "%02x", (int)lround(from[i] + part * (to[i] - from[i])));
}

/* Shade `level` of a scale of three colours. */
static void print_shade(FILE *file, const int colors[3][3], double part) {
    if (part < 0.5)
        mix(file, colors[0], colors[1], 2 * part);
    else
        mix(file, colors[1], colors[2], 2 * part - 1);
}

static void print_shades(FILE *file, bool dark) {
    static const int sequential[2][3][3] = {{{255, 255, 255}, {107, 174, 214}, {8, 48, 107}},
                                            {{22, 27, 34}, {66, 146, 198}, {222, 235, 247}}};
    static const int negative[2][3] = {{33, 102, 172}, {75, 150, 220}};
    static const int positive[2][3] = {{178, 24, 43}, {230, 90, 90}};
    for (int i = 0; i < LEVELS; i++) {
        double part = i / (LEVELS - 1.0);
        fprintf(file, ".lab .s%d{fill:", i);
        print_shade(file, sequential[dark], part);
        fprintf(file, "}.lab .n%d{fill:", i);
        mix(file, sequential[dark][0], negative[dark], part);
        fprintf(file, "}.lab .p%d{fill:", i);
        mix(file, sequential[dark][0], positive[dark], part);
        fputs("}", file);
    }
}

static void print_colors(FILE *file, bool dark) {
    static const char *const colors[2][8] = {
        {"#0072b2", "#d55e00", "#00896b", "#7a5195", "#b8860b", "#c2185b", "#5d8aa8", "#444444"},
        {"#56b4e9", "#ff8c42", "#2fc4a0", "#b794d6", "#e0b040", "#ff6fa5", "#9cc3dd", "#c0c0c0"}};
    for (int i = 0; i < 8; i++)
        fprintf(file, ".lab .c%d{stroke:%s}.lab .f%d{fill:%s}", i, colors[dark][i], i, colors[dark][i]);
    fprintf(file, ".lab .grey{stroke:%s}.lab .greyfill{fill:%s}", dark ? "#9aa4b0" : "#6b7480",
            dark ? "#9aa4b0" : "#6b7480");
    fprintf(file,
            ".lab text{fill:%s}.lab .soft{fill:%s}.lab .grid{stroke:%s}.lab .frame{stroke:%s}"
            ".lab .paper{fill:%s}.lab .dot{stroke:%s}",
            dark ? "#e6edf3" : "#1f2328", dark ? "#a5b0bc" : "#57606a", dark ? "#30363d" : "#e3e8ed",
            dark ? "#6b7480" : "#8b949e", dark ? "#161b22" : "#ffffff", dark ? "#161b22" : "#ffffff");
}

void lab_print_style(FILE *file) {
    fputs(".lab text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:13px}"
          ".lab .head{font-size:15px;font-weight:600}.lab .name{font-size:21px;font-weight:600}"
          ".lab .middle{text-anchor:middle}.lab .end{text-anchor:end}.lab .grid{stroke-width:1}"
          ".lab .frame{stroke-width:1;fill:none}.lab .line{stroke-width:2.2;fill:none;stroke-linejoin:round}"
          ".lab .dash{stroke-width:1.6;fill:none;stroke-dasharray:6 4}.lab .bar{stroke-width:1.4}"
          ".lab .dot{stroke-width:1}",
          file);
    print_colors(file, false);
    print_shades(file, false);
    fputs("@media (prefers-color-scheme:dark){", file);
    print_colors(file, true);
    print_shades(file, true);
    fputs("}", file);
}

/* ---- text ---- */

static void print_label(FILE *file, double x, double y, const char *class_name, const char *text) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class_name);
    lab_print_xml(file, text);
    fputs("</text>\n", file);
}

/* Text folded to `cells`; prints it unless file is NULL. Returns the number of lines. */
static int print_folded(FILE *file, double x, double y, int spacing, const char *class_name, int cells,
                        const char *text) {
    int lines = 0;
    while (*text != '\0') {
        char line[512];
        size_t length = 0, fits = 0;
        while (text[length] != '\0' && length < sizeof line - 1) {
            size_t word = length + strcspn(text + length, " ");
            if (word >= sizeof line) break;
            snprintf(line, sizeof line, "%.*s", (int)word, text);
            if (fits > 0 && lab_cells(line) > cells) break;
            fits = length = word;
            while (text[length] == ' ') length++;
        }
        if (fits == 0) fits = strlen(text) < sizeof line ? strlen(text) : sizeof line - 1;
        snprintf(line, sizeof line, "%.*s", (int)fits, text);
        if (file != NULL) print_label(file, x, y + spacing * lines, class_name, line);
        text += fits;
        while (*text == ' ') text++;
        lines++;
    }
    return lines;
}

/* ---- charts ---- */

static const char *line_class(const lab_chart_line *line, char room[32]) {
    if (line->color < 0)
        snprintf(room, 32, "%s grey", line->dashed ? "dash" : "line");
    else
        snprintf(room, 32, "%s c%d", line->dashed ? "dash" : "line", line->color % 8);
    return room;
}

/* The names of the lines, as many beside each other as fit; file NULL: only counts the rows. */
static int draw_legend(FILE *file, const lab_chart *chart, double top) {
    double x = PLOT_LEFT;
    int row = 0;
    for (int i = 0; i < chart->lines; i++) {
        char room[32];
        double width = 34 + 7.4 * lab_cells(chart->line[i].name) + 14;
        if (x > PLOT_LEFT && x + width > PANEL) {
            row++;
            x = PLOT_LEFT;
        }
        if (file != NULL) {
            double y = top + LEGEND_LINE * row;
            fprintf(file, "<path d=\"M%.1f %.1f h26\" class=\"%s\"/>\n", x, y - 4.5,
                    line_class(&chart->line[i], room));
            print_label(file, x + 32, y, "", chart->line[i].name);
        }
        x += width;
    }
    return chart->lines > 0 ? row + 1 : 0;
}

static int title_lines(const char *title) {
    return title[0] != '\0' ? print_folded(NULL, 0, 0, 0, "", TITLE_CELLS, title) : 0;
}

static double chart_top(const lab_chart *chart) {
    return 8 + TITLE_LINE * title_lines(chart->title) + LEGEND_LINE * draw_legend(NULL, chart, 0) + 22;
}

static void draw_grid(FILE *file, const lab_chart *chart, const lab_ruler *x, const lab_ruler *y,
                      double top) {
    char number[LAB_NUMBER_ROOM];
    double bottom = top + PLOT_HEIGHT;
    for (int i = 0; i < x->ticks; i++) {
        double at = PLOT_LEFT + lab_ruler_place(x, x->tick[i]) * (PLOT_RIGHT - PLOT_LEFT);
        lab_format_number(x->tick[i], number);
        fprintf(file, "<path d=\"M%.1f %.1f V%.1f\" class=\"grid\"/>\n", at, top, bottom);
        print_label(file, at, bottom + 18, "soft middle", number);
    }
    for (int i = 0; i < y->ticks; i++) {
        double at = bottom - lab_ruler_place(y, y->tick[i]) * PLOT_HEIGHT;
        lab_format_number(y->tick[i], number);
        fprintf(file, "<path d=\"M%d %.1f H%d\" class=\"grid\"/>\n", PLOT_LEFT, at, PLOT_RIGHT);
        print_label(file, PLOT_LEFT - 7, at + 4.5, "soft end", number);
    }
    fprintf(file, "<path d=\"M%d %.1f V%.1f H%d\" class=\"frame\"/>\n", PLOT_LEFT, top, bottom, PLOT_RIGHT);
    print_label(file, 6, top - 9, "soft", chart->y);
    print_label(file, (PLOT_LEFT + PLOT_RIGHT) / 2.0, bottom + 38, "soft middle", chart->x);
}

static void draw_line(FILE *file, const lab_chart_line *line, const lab_ruler *x_ruler,
                      const lab_ruler *y_ruler, double top) {
    char room[32], number[LAB_NUMBER_ROOM], where[LAB_NUMBER_ROOM];
    double bottom = top + PLOT_HEIGHT;
    bool open = false;
    fprintf(file, "<path class=\"%s\" d=\"", line_class(line, room));
    for (int64_t p = 0; p < line->points; p++) {
        double x = PLOT_LEFT + lab_ruler_place(x_ruler, line->point[p].x) * (PLOT_RIGHT - PLOT_LEFT);
        double y = bottom - lab_ruler_place(y_ruler, line->point[p].y) * PLOT_HEIGHT;
        if (isfinite(x) && isfinite(y)) fprintf(file, "%s%.1f %.1f", open ? " L" : "M", x, y);
        open = isfinite(x) && isfinite(y);
    }
    fputs("\"/>\n", file);
    for (int64_t p = 0; p < line->points && !line->dashed; p++) {
        const lab_chart_point *point = &line->point[p];
        double x = PLOT_LEFT + lab_ruler_place(x_ruler, point->x) * (PLOT_RIGHT - PLOT_LEFT);
        double y = bottom - lab_ruler_place(y_ruler, point->y) * PLOT_HEIGHT;
        double low = bottom - lab_ruler_place(y_ruler, point->low) * PLOT_HEIGHT;
        double high = bottom - lab_ruler_place(y_ruler, point->high) * PLOT_HEIGHT;
        if (!isfinite(x) || !isfinite(y)) continue;
        if (isfinite(low) && isfinite(high) && fabs(low - high) > 1)
            fprintf(file, "<path d=\"M%.1f %.1f V%.1f m-4 0 h8 M%.1f %.1f h8\" class=\"bar c%d\"/>\n", x, low,
                    high, x - 4, low, line->color % 8);
        lab_format_number(point->y, number);
        lab_format_number(point->x, where);
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.8\" class=\"dot f%d\"><title>", x, y,
                line->color % 8);
        lab_print_xml(file, line->name);
        fprintf(file, ", %s: %s</title></circle>\n", where, number);
    }
}

static double chart_height(const lab_chart *chart) { return chart_top(chart) + PLOT_HEIGHT + 48; }

static void draw_chart(FILE *file, const lab_chart *chart) {
    lab_ruler x, y;
    double top = chart_top(chart), titles = 8 + TITLE_LINE * title_lines(chart->title);
    print_folded(file, 6, 20, TITLE_LINE, "head", TITLE_CELLS, chart->title);
    if (!lab_chart_rulers(chart, &x, &y)) return;
    draw_legend(file, chart, titles + 14);
    draw_grid(file, chart, &x, &y, top);
    for (int pass = 0; pass < 2; pass++) /* what was measured lies over theory */
        for (int i = 0; i < chart->lines; i++)
            if (chart->line[i].dashed == (pass == 0)) draw_line(file, &chart->line[i], &x, &y, top);
}

/* ---- matrices ---- */

typedef struct matrix_places {
    double left, top, cell_width, cell_height, height;
    bool named_columns, named_rows;
} matrix_places;

static matrix_places place_matrix(const lab_matrix *matrix) {
    matrix_places at = {.left = 12, .top = 12 + TITLE_LINE * title_lines(matrix->title)};
    int longest = 0;
    at.named_rows = matrix->row_names != NULL && matrix->rows <= 48;
    at.named_columns = matrix->column_names != NULL && matrix->columns <= 48;
    for (int64_t i = 0; at.named_rows && i < matrix->rows; i++)
        if (lab_cells(matrix->row_names[i]) > longest) longest = lab_cells(matrix->row_names[i]);
    if (longest > 0) at.left = 12 + 7.6 * (longest < 24 ? longest : 24);
    longest = 0;
    for (int64_t i = 0; at.named_columns && i < matrix->columns; i++)
        if (lab_cells(matrix->column_names[i]) > longest) longest = lab_cells(matrix->column_names[i]);
    if (longest > 0) at.top += longest <= 2 ? 16 : 7.6 * (longest < 16 ? longest : 16) + 6;
    at.cell_width = (PANEL - 12 - at.left) / (double)matrix->columns;
    at.cell_height = fmin(at.cell_width, 420.0 / (double)matrix->rows);
    if (at.cell_height > 34) at.cell_height = 34;
    if (at.named_rows && at.cell_height < 17) at.cell_height = 17; /* names stand apart */
    if (at.cell_width > 2.5 * at.cell_height) at.cell_width = 2.5 * at.cell_height;
    at.height = at.top + at.cell_height * (double)matrix->rows + 34;
    return at;
}

static void cell_class(const lab_matrix *matrix, float number, char room[16]) {
    bool signs = matrix->lowest < 0;
    double low = signs ? 0 : fmin(0, matrix->lowest),
           most = fmax(fabs(matrix->lowest), fabs(matrix->highest));
    double part = isfinite(number) && most > low ? (fabs(number) - low) / (most - low) : 0;
    int level = (int)lround(part * (LEVELS - 1));
    snprintf(room, 16, "%c%d", !signs ? 's' : number < 0 ? 'n' : 'p', level);
}

static void draw_matrix_names(FILE *file, const lab_matrix *matrix, const matrix_places *at) {
    bool flat = at->cell_width >= 18;
    for (int64_t i = 0; at->named_columns && flat && i < matrix->columns; i++)
        flat = lab_cells(matrix->column_names[i]) <= 2;
    for (int64_t i = 0; at->named_rows && i < matrix->rows; i++)
        print_label(file, at->left - 5, at->top + at->cell_height * ((double)i + 0.5) + 4.5, "end",
                    matrix->row_names[i]);
    int64_t every = at->cell_width < 15 ? (int64_t)ceil(15 / at->cell_width) : 1;
    for (int64_t i = 0; at->named_columns && i < matrix->columns; i += every) {
        double x = at->left + at->cell_width * ((double)i + 0.5);
        if (flat) {
            print_label(file, x, at->top - 5, "middle", matrix->column_names[i]);
            continue;
        }
        fprintf(file, "<text transform=\"translate(%.1f %.1f) rotate(-90)\">", x + 4.5, at->top - 5);
        lab_print_xml(file, matrix->column_names[i]);
        fputs("</text>\n", file);
    }
}

static void draw_matrix(FILE *file, const lab_matrix *matrix) {
    matrix_places at = place_matrix(matrix);
    bool few = matrix->rows * matrix->columns <= 600;
    double bottom = at.top + at.cell_height * (double)matrix->rows;
    char room[128];
    print_folded(file, 6, 20, TITLE_LINE, "head", TITLE_CELLS, matrix->title);
    draw_matrix_names(file, matrix, &at);
    for (int64_t r = 0; r < matrix->rows; r++) {
        for (int64_t c = 0; c < matrix->columns; c++) {
            float number = matrix->numbers[r * matrix->columns + c];
            cell_class(matrix, number, room);
            fprintf(file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\"",
                    at.left + at.cell_width * (double)c, at.top + at.cell_height * (double)r,
                    at.cell_width + 0.05, at.cell_height + 0.05, room);
            if (few)
                fprintf(file, "><title>%.4g</title></rect>\n", (double)number);
            else
                fputs("/>\n", file);
        }
    }
    fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"frame\"/>\n", at.left,
            at.top, at.cell_width * (double)matrix->columns, bottom - at.top);
    for (int i = 0; i < LEVELS; i++) { /* the legend: from the lowest to the highest */
        float number = matrix->lowest + (float)i / (LEVELS - 1) * (matrix->highest - matrix->lowest);
        if (matrix->lowest >= 0) number = (float)i / (LEVELS - 1) * matrix->highest;
        cell_class(matrix, number, room);
        fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8.05\" height=\"12\" class=\"%s\"/>\n",
                at.left + 8.0 * i, bottom + 11, room);
    }
    fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" class=\"frame\"/>\n", at.left,
            bottom + 11, 8.0 * LEVELS);
    snprintf(room, sizeof room, "%.3g to %.3g", matrix->lowest < 0 ? (double)matrix->lowest : 0.0,
             (double)matrix->highest);
    print_label(file, at.left + 8.0 * LEVELS + 8, bottom + 22, "soft", room);
}

/* ---- tables, for reports without a chart ---- */

static double table_height(const lab_table *table) {
    return 30 + TITLE_LINE * title_lines(table->title) + 20.0 * (table->rows + 1);
}

static void draw_table(FILE *file, const lab_table *table, double width) {
    double top = 22 + TITLE_LINE * title_lines(table->title), x = 6;
    int cells[32] = {0}, all = 0, columns = table->columns < 32 ? table->columns : 32;
    for (int c = 0; c < columns; c++) {
        cells[c] = lab_cells(table->headings[c]);
        for (int r = 0; r < table->rows; r++)
            if (lab_cells(table->cells[r * table->columns + c]) > cells[c])
                cells[c] = lab_cells(table->cells[r * table->columns + c]);
        all += cells[c] + 2;
    }
    double per_cell = fmin(8.2, (width - 12) / (all > 0 ? all : 1));
    print_folded(file, 6, 20, TITLE_LINE, "head", TITLE_CELLS, table->title);
    for (int c = 0; c < columns; c++) {
        print_label(file, x, top + 8, "soft", table->headings[c]);
        for (int r = 0; r < table->rows; r++)
            print_label(file, x, top + 8 + 20 * (r + 1), "", table->cells[r * table->columns + c]);
        x += per_cell * (cells[c] + 2);
    }
}

/* ---- panels, and the picture ---- */

static bool is_figure(const lab_item *item) {
    return item->kind == LAB_ITEM_CHART || item->kind == LAB_ITEM_MATRIX;
}

static double panel_height(const lab_item *item) {
    switch (item->kind) {
    case LAB_ITEM_CHART: return chart_height(item->chart);
    case LAB_ITEM_MATRIX: return place_matrix(item->matrix).height;
    case LAB_ITEM_TABLE: return table_height(item->table);
    default: return 0;
    }
}

static void draw_panel(FILE *file, const lab_item *item, double width) {
    switch (item->kind) {
    case LAB_ITEM_CHART: draw_chart(file, item->chart); break;
    case LAB_ITEM_MATRIX: draw_matrix(file, item->matrix); break;
    case LAB_ITEM_TABLE: draw_table(file, item->table, width); break;
    default: break;
    }
}

void lab_print_figure(FILE *file, const lab_item *item) {
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lab\" viewBox=\"0 0 %d %.0f\" role=\"img\">",
            PANEL, panel_height(item));
    fputs("<title>", file);
    lab_print_xml(file, item->kind == LAB_ITEM_CHART ? item->chart->title : item->matrix->title);
    fputs("</title>\n", file);
    draw_panel(file, item, PANEL);
    fputs("</svg>\n", file);
}

/* The panels two beside each other; file NULL: only how high they are together. */
static double draw_panels(FILE *file, const lab *report, bool figures, int beside, double top) {
    double row = 0, width = beside == 1 && !figures ? 2 * PANEL : PANEL;
    int column = 0;
    for (int i = 0; i < report->items; i++) {
        const lab_item *item = &report->item[i];
        if (item->kind == LAB_ITEM_NOTE || is_figure(item) != figures) continue;
        if (column == beside) {
            top += row;
            row = column = 0;
        }
        if (file != NULL) {
            fprintf(file, "<g transform=\"translate(%d %.1f)\">\n", MARGIN + column * (PANEL + MARGIN), top);
            draw_panel(file, item, width);
            fputs("</g>\n", file);
        }
        row = fmax(row, panel_height(item) + 14);
        column++;
    }
    return top + row;
}

void lab_print_svg(FILE *file, const lab *report) {
    int count = 0;
    for (int i = 0; i < report->items; i++) count += is_figure(&report->item[i]);
    int beside = count == 0 ? 1 : count > 1 ? 2 : 1, width = 2 * PANEL + 3 * MARGIN;
    if (count == 1) width = PANEL + 2 * MARGIN + 120; /* room for the claim */
    int cells = (int)((width - 2 * MARGIN) / 6.9);
    char verdict[LAB_TEXT_ROOM + 64];
    snprintf(verdict, sizeof verdict, "Verdict: %s%s%s", lab_verdict_text(report->verdict),
             report->verdict == LAB_HOLDS_WHERE ? " " : ": ", report->conclusion);
    int claim_lines = print_folded(NULL, 0, 0, 0, "", cells, report->experiment->claim);
    double top = 50 + 18 * claim_lines + 6, bottom = draw_panels(NULL, report, count > 0, beside, top);
    double height = bottom + 18 * print_folded(NULL, 0, 0, 0, "", cells, verdict) + 24;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lab\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
            "height=\"%.0f\" role=\"img\">\n<title>attn lab: ",
            width, height, width, height);
    lab_print_xml(file, report->experiment->name);
    fputs("</title>\n<style>", file);
    lab_print_style(file);
    fprintf(file, "</style>\n<rect width=\"%d\" height=\"%.0f\" rx=\"6\" class=\"paper\"/>\n", width, height);
    print_label(file, MARGIN, 36, "name", report->experiment->name);
    print_folded(file, MARGIN, 60, 18, "soft", cells, report->experiment->claim);
    draw_panels(file, report, count > 0, beside, top);
    print_folded(file, MARGIN, bottom + 14, 18, "", cells, verdict);
    fputs("</svg>\n", file);
}
