/* explain_list.c: the highest weights of each row with its prediction, and contributions as bars.
 *
 *     word   prediction                ±   looks at
 *     It     PRON        0.99     +0.412   cat 0.61   It 0.20   was 0.11
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "text.h"

static const char heading_of_answers[] = "prediction";

enum { LABEL = 160, WIDEST_NAME = 20, WIDEST_ANSWER = 16, USUAL_TOP = 3, MOST_TOP = 100, NUMBER = 9 };

/* ---- names ---- */

/* A name that several rows have gets the row's number: the#4, which --row 4 chooses. */
static const char *label(const char *name, bool repeated, int64_t number, char text[LABEL]) {
    if (!repeated || strlen(name) > LABEL - 24) return name;
    snprintf(text, LABEL, "%s#%" PRId64, name, number + 1);
    return text;
}

static const char *key_label(const explain_view *view, int64_t key, char text[LABEL]) {
    const char *name = explain_key_name(view, key);
    bool repeated = false;
    for (int64_t k = 0; k < view->keys && !repeated; k++)
        repeated = k != key && strcmp(explain_key_name(view, k), name) == 0;
    return label(name, repeated, key, text);
}

static const char *row_label(const attn_explanation *explanation, int64_t row, char text[LABEL]) {
    const char *name = explain_row_name(explanation, row);
    bool repeated = false;
    for (int64_t r = 0; r < attn_explanation_rows(explanation) && !repeated; r++)
        repeated = r != row && strcmp(explain_row_name(explanation, r), name) == 0;
    return label(name, repeated, row, text);
}

/* ---- columns ---- */

typedef struct columns {
    const explain_view *view;
    const attn_explanation *explanation;
    const double *contributions; /* NULL: none */
    double largest;              /* of them */
    int64_t rows;
    int name, answer; /* cells; 0: there is none */
    bool probable;    /* answers have probabilities */
} columns;

/* With those of the heading. */
static int answer_cells(const columns *of) {
    int heading = (int)sizeof heading_of_answers - 1;
    return of->answer > heading ? of->answer : heading;
}

static int widest(const char *name, int so_far, int limit) {
    int one = text_width(name);
    if (one > limit) one = limit;
    return one > so_far ? one : so_far;
}

/* What a line begins with: the name of a row, or of a symbol that was written. */
static const char *line_label(const columns *of, int64_t row, char text[LABEL]) {
    if (of->view != NULL && !explain_queries_are_rows(of->view)) return explain_query_name(of->view, row);
    return row_label(of->explanation, row, text);
}

/* Lines first .. end - 1. */
static void measure(columns *of, int64_t first, int64_t end) {
    char text[LABEL];
    bool each = of->rows == attn_explanation_answers(of->explanation) && of->rows > 1;
    for (int64_t r = first; r < end; r++) {
        of->name = widest(line_label(of, r, text), of->name, WIDEST_NAME);
        const char *answer = each ? attn_explanation_answer(of->explanation, r) : NULL;
        if (answer == NULL) continue;
        of->answer = widest(answer, of->answer, WIDEST_ANSWER);
        of->probable |= !isnan(attn_explanation_probability(of->explanation, r));
    }
}

/* A name or a number, and spaces up to `cells`. */
static void print_field(const char *text, int cells) {
    text_print_spaces(stdout, cells - text_print_cut(stdout, text, cells));
}

/* In so many cells. */
static void print_answer(const columns *of, int64_t row, int cells) {
    if (of->answer == 0) return;
    const char *answer = attn_explanation_answer(of->explanation, row);
    fputs("  ", stdout);
    print_field(answer != NULL ? answer : "", cells);
    double probability = attn_explanation_probability(of->explanation, row);
    if (of->probable && isnan(probability)) fputs("      ", stdout);
    if (!isnan(probability)) printf("  %.2f", probability);
}

static void print_heading(const columns *of, const explain_names *names, const explain_screen *screen) {
    char line[160];
    int name = text_width(names->row);
    snprintf(line, sizeof line, "  %s%*s", names->row, of->name > name ? of->name - name : 0, "");
    terminal_remark(screen->color, line);
    if (of->answer > 0) {
        snprintf(line, sizeof line, "  %-*s%s", answer_cells(of), heading_of_answers,
                 of->probable ? "      " : "");
        terminal_remark(screen->color, line);
    }
    if (of->contributions != NULL) {
        snprintf(line, sizeof line, "  %*s", NUMBER + 1, "±");
        terminal_remark(screen->color, line);
    }
    if (of->view != NULL && of->view->map != NULL) terminal_remark(screen->color, "   looks at");
    putchar('\n');
}

/* The strongest entries of a row, as many as the line has room for. */
static void print_entries(const explain_view *view, int64_t query, int top, int used, int width) {
    int64_t entries[MOST_TOP];
    bool even = !view->sparse && view->keys > EXPLAIN_ROWS && explain_rows_are_numbers(view->explanation);
    int count = explain_strongest(view, query, top, even, entries);
    int indent = used;
    for (int i = 0; i < count; i++) {
        char text[LABEL];
        const char *name = key_label(view, explain_entry_key(view, query, entries[i]), text);
        int cells = text_width(name);
        if (cells > WIDEST_NAME) cells = WIDEST_NAME;
        if (used + 3 + cells + 7 > width && used > indent) {
            if (view->choice.top == 0 && view->choice.row < 0) break; /* nobody asked for so many */
            putchar('\n');
            text_print_spaces(stdout, indent);
            used = indent;
        }
        fputs("   ", stdout);
        text_print_cut(stdout, name, WIDEST_NAME);
        double number = explain_entry(view, query, entries[i]);
        int digits = fabs(number) >= 0.1 ? 2 : fabs(number) >= 0.01 ? 3 : 4;
        used += 3 + cells + printf(" %.*f", digits, number);
    }
}

/* ---- the list ---- */

static void print_line(const columns *of, int64_t row, int top, const explain_screen *screen) {
    char text[LABEL];
    fputs("  ", stdout);
    print_field(line_label(of, row, text), of->name);
    print_answer(of, row, answer_cells(of));
    int used = 2 + of->name + (of->answer > 0 ? 2 + answer_cells(of) + (of->probable ? 6 : 0) : 0);
    if (of->contributions != NULL) {
        fputs("  ", stdout);
        explain_contribution(screen, of->contributions[row], of->largest, NUMBER);
        used += 2 + NUMBER;
    }
    print_entries(of->view, row, top, used, screen->width);
    putchar('\n');
}

/* A heading needs room, too. */
static void fit_heading(columns *of, const explain_names *names) {
    of->name = widest(names->row, of->name, WIDEST_NAME);
}

/* Whose contributions are largest, where not all rows are shown. */
static void print_contributors(const columns *of, const explain_screen *screen) {
    enum { MOST = 8 };
    int64_t best[MOST], rows = attn_explanation_rows(of->explanation);
    int found = 0, used = 2;
    for (int64_t r = 0; r < rows; r++) {
        int at = found;
        double number = fabs(of->contributions[r]);
        while (at > 0 && number > fabs(of->contributions[best[at - 1]])) at--;
        if (at >= MOST || !(number > 0)) continue;
        if (found < MOST) found++;
        memmove(best + at + 1, best + at, (size_t)(found - at - 1) * sizeof best[0]);
        best[at] = r;
    }
    fputs("   ", stdout);
    for (int i = 0; i < found; i++) {
        char text[LABEL];
        const char *name = row_label(of->explanation, best[i], text);
        int cells = text_width(name) < WIDEST_NAME ? text_width(name) : WIDEST_NAME;
        used += 3 + cells + NUMBER;
        if (used > screen->width && i > 0) break;
        putchar(' ');
        text_print_cut(stdout, name, WIDEST_NAME);
        putchar(' ');
        explain_contribution(screen, of->contributions[best[i]], of->largest, 0);
        putchar(' ');
    }
    putchar('\n');
}

void explain_list_print(const explain_view *view, const explain_names *names, const explain_screen *screen) {
    columns of = {.view = view, .explanation = view->explanation, .rows = view->queries};
    explain_names titled = *names;
    if (!explain_queries_are_rows(view)) titled.row = "written";
    of.largest = explain_contribution_scale(view->explanation);
    if (explain_queries_are_rows(view) && of.largest > 0)
        of.contributions = attn_explanation_contributions(view->explanation);
    int64_t row = view->choice.row, first = row >= 0 && row < of.rows ? row : 0;
    int64_t end = row >= 0 && row < of.rows ? row + 1 : of.rows;
    int64_t top = view->choice.top > 0 ? view->choice.top : row >= 0 ? 10 : USUAL_TOP;
    if (view->choice.top == 0 && end - first > EXPLAIN_ROWS) end = first + EXPLAIN_ROWS;
    measure(&of, first, end);
    fit_heading(&of, &titled);
    print_heading(&of, &titled, screen);
    for (int64_t r = first; r < end; r++) print_line(&of, r, (int)(top < MOST_TOP ? top : MOST_TOP), screen);
    if (row < 0 && end < of.rows) {
        char note[200];
        snprintf(note, sizeof note,
                 "  the first %" PRId64 " of %" PRId64
                 " rows; --row R: one of them, --top %d: all, -o x.html: everything\n",
                 end, of.rows, USUAL_TOP);
        terminal_remark(screen->color, note);
    }
    if (of.contributions != NULL) {
        putchar('\n');
        explain_contribution_legend(view->explanation, screen);
        if (row >= 0) print_contributors(&of, screen);
    }
}

/* ---- bars ---- */

/* Cells left or right of the middle, in eighths where the bar grows to the right. */
static void print_bar(const explain_screen *screen, double part, int half) {
    static const char *const eighths[8] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int full = (int)(fabs(part) * half * 8 + 0.5), cells = full / 8;
    const char *rest = part > 0 ? eighths[full % 8] : full % 8 >= 4 ? "▐" : "";
    int used = cells + (*rest != '\0');
    if (part < 0) text_print_spaces(stdout, half - used);
    if (part > 0) text_print_spaces(stdout, half);
    if (screen->color != TERMINAL_PLAIN && used > 0)
        fputs(part < 0 ? "\033[38;5;32m" : "\033[38;5;131m", stdout);
    if (part < 0) fputs(rest, stdout);
    for (int i = 0; i < cells; i++) fputs("█", stdout);
    if (part > 0) fputs(rest, stdout);
    if (screen->color != TERMINAL_PLAIN && used > 0) fputs("\033[0m", stdout);
    if (part < 0) text_print_spaces(stdout, half);
    if (part > 0) text_print_spaces(stdout, half - used);
    if (!(part < 0) && !(part > 0)) text_print_spaces(stdout, 2 * half);
}

void explain_bars_print(const attn_explanation *explanation, const explain_names *names,
                        const explain_screen *screen) {
    enum { WIDEST_HALF = 20, NARROWEST_HALF = 3 };
    columns of = {.explanation = explanation,
                  .contributions = attn_explanation_contributions(explanation),
                  .largest = explain_contribution_scale(explanation),
                  .rows = attn_explanation_rows(explanation)};
    if (of.contributions == NULL || of.rows == 0) return;
    int64_t shown = of.rows > EXPLAIN_ROWS ? EXPLAIN_ROWS : of.rows;
    measure(&of, 0, shown);
    fit_heading(&of, names);
    int used = 2 + of.name + (of.answer > 0 ? 2 + of.answer + (of.probable ? 6 : 0) : 0) + 2 + NUMBER + 2;
    int half = (screen->width - used) / 2;
    if (half > WIDEST_HALF) half = WIDEST_HALF;
    if (half < NARROWEST_HALF) half = NARROWEST_HALF;
    for (int64_t r = 0; r < shown; r++) {
        char text[LABEL];
        fputs("  ", stdout);
        print_field(row_label(explanation, r, text), of.name);
        print_answer(&of, r, of.answer);
        fputs(" │", stdout);
        print_bar(screen, of.largest > 0 ? of.contributions[r] / of.largest : 0, half);
        fputs("│", stdout);
        explain_signed_number(of.contributions[r], NUMBER);
        putchar('\n');
    }
    if (shown < of.rows) {
        char note[160];
        snprintf(note, sizeof note,
                 "  the first %" PRId64 " of %" PRId64 " rows: -o x.html shows everything\n", shown, of.rows);
        terminal_remark(screen->color, note);
    }
    putchar('\n');
    explain_contribution_legend(explanation, screen);
}
