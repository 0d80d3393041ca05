/* explain_grid.c: the patches of a picture as a map: how much each was looked at, and what it contributed.
 *
 * A patch is a square of half cells (▀ has two colours), or, without colour, of shades.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "explain.h"
#include "text.h"

typedef struct field {
    const explain_screen *screen;
    const double *numbers; /* [height * width] */
    int64_t height, width;
    double scale;
    bool is_signed;
    int side; /* half cells of a patch, a cell being two high */
} field;

enum { LABEL = 6 };

static double at(const field *of, int64_t line, int64_t column) {
    int64_t row = line / of->side;
    return row < of->height ? of->numbers[row * of->width + column] / of->scale : 0;
}

/* The number of the patch that begins a line of the terminal, if one begins there. */
static void print_label(const field *of, int64_t line) {
    if (line % of->side == 0 || (line + 1) % of->side == 0) {
        int64_t row = (line + of->side - 1) / of->side;
        if (row < of->height) {
            printf("%*" PRId64 " │", LABEL, row * of->width);
            return;
        }
    }
    printf("%*s │", LABEL, "");
}

static void print_colored(const field *of) {
    for (int64_t line = 0; line < of->height * of->side; line += 2) {
        print_label(of, line);
        bool half = line + 1 == of->height * of->side;
        for (int64_t c = 0; c < of->width * of->side; c++) {
            double above = at(of, line, c / of->side);
            terminal_halves(of->screen->color, of->is_signed, above,
                            half ? above : at(of, line + 1, c / of->side));
        }
        putchar('\n');
    }
}

static void print_shaded(const field *of) {
    for (int64_t r = 0; r < of->height; r++) {
        printf("%*" PRId64 " │", LABEL, r * of->width);
        for (int64_t c = 0; c < of->width; c++)
            explain_cell(of->screen, of->numbers[r * of->width + c], of->scale, of->is_signed, 2);
        putchar('\n');
    }
}

static void print_field(field *of) {
    enum { WIDEST = 64, HIGHEST = 48 }; /* half cells */
    int64_t room = of->screen->width - LABEL - 2;
    int64_t largest = of->width > of->height ? of->width : of->height;
    of->side = (int)(HIGHEST / largest);
    if (of->side > 6) of->side = 6;
    while (of->side > 1 && of->side * of->width > (room < WIDEST ? room : WIDEST)) of->side--;
    if (of->side < 1) of->side = 1;
    if (of->width * (of->screen->color == TERMINAL_PLAIN ? 2 : 1) > room) {
        puts("  (the picture is wider than the terminal: -o x.html or x.svg shows it)");
        return;
    }
    if (of->screen->color == TERMINAL_PLAIN)
        print_shaded(of);
    else
        print_colored(of);
}

/* One row was requested, and it is one that looks. */
static bool looks_alone(const explain_view *view) {
    return view->choice.row >= 0 && view->choice.row < view->queries && view->choice.part != ATTN_MAP_POOL;
}

/* How much each patch was looked at: by one row, or by all, the mean. */
static void look(const explain_view *view, double *numbers) {
    bool one = looks_alone(view);
    int64_t first = one ? view->choice.row : 0, end = one ? first + 1 : view->queries;
    for (int64_t q = first; q < end; q++)
        for (int64_t e = 0; e < explain_entries(view, q); e++)
            numbers[explain_entry_key(view, q, e)] += explain_entry(view, q, e) / (double)(end - first);
}

static void print_best(const double *numbers, int64_t count, int64_t width, int edge) {
    enum { BEST = 5 };
    int64_t best[BEST];
    int found = 0;
    for (int64_t i = 0; i < count; i++) {
        int place = found;
        while (place > 0 && numbers[i] > numbers[best[place - 1]]) place--;
        if (place >= BEST) continue;
        if (found < BEST) found++;
        for (int j = found - 1; j > place; j--) best[j] = best[j - 1];
        best[place] = i;
    }
    fputs("  most:", stdout);
    int used = 7;
    for (int i = 0; i < found; i++) {
        char text[120];
        int length =
            snprintf(text, sizeof text, " %" PRId64 " (line %" PRId64 ", column %" PRId64 ") %.3f%s", best[i],
                     best[i] / width + 1, best[i] % width + 1, numbers[best[i]], i + 1 < found ? "," : "");
        if (used + length > edge) {
            printf("\n%7s", "");
            used = 7;
        }
        fputs(text, stdout);
        used += length;
    }
    putchar('\n');
}

static void print_looked_at(const explain_view *view, field *of) {
    double *numbers = calloc((size_t)(of->height * of->width), sizeof *numbers), largest = 0;
    if (numbers == NULL) return;
    look(view, numbers);
    for (int64_t i = 0; i < of->height * of->width; i++) {
        largest = fmax(largest, fabs(numbers[i]));
        of->is_signed |= numbers[i] < 0;
    }
    of->numbers = numbers;
    of->scale = explain_even(largest);
    if (looks_alone(view)) {
        fputs("  what ", stdout);
        text_print_cut(stdout, explain_query_name(view, view->choice.row), 60);
        fputs(" looked at\n", stdout);
    } else {
        terminal_remark(of->screen->color, "  attention weights, mean over all rows\n");
    }
    print_field(of);
    print_best(numbers, of->height * of->width, of->width, of->screen->width);
    explain_view scaled = *view;
    scaled.scale = of->scale;
    scaled.is_signed = of->is_signed;
    explain_legend(&scaled, of->screen);
    free(numbers);
}

void explain_grid_print(const explain_view *view, int64_t height, int64_t width,
                        const explain_screen *screen) {
    field of = {.screen = screen, .height = height, .width = width};
    double largest = explain_contribution_scale(view->explanation);
    if (view->map != NULL && explain_keys_are_rows(view) && view->keys == height * width) {
        print_looked_at(view, &of);
        putchar('\n');
    }
    if (!(largest > 0)) return;
    of.numbers = attn_explanation_contributions(view->explanation);
    of.scale = largest;
    of.is_signed = true;
    terminal_remark(screen->color, "  contributions\n");
    print_field(&of);
    explain_contribution_legend(view->explanation, screen);
}
