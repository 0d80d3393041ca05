/* explain_map.c: a heat map in the terminal: how much each row looks at each column.
 *
 *                 c  a  t
 *            K │ ███       │ c 0.97
 *           AE │    ▓▓▓░░░ │ a 0.58
 *            T │       ███ │ t 0.95
 *            ± │ +█    -▒      the contributions of columns
 *
 * Names of columns that are too long are written downwards. What is wider than the terminal continues below,
 * in blocks of columns.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "text.h"

enum {
    NARROW_CELL = 2,
    CELL = 3,
    WIDEST_CELL = 14, /* with names written across */
    WIDEST_LABEL = 20,
    FRAME = 5,        /* two cells of margin, the line on the left with spaces around it */
    TALLEST_NAME = 16 /* lines of names that are written downwards */
};

typedef struct drawing {
    const explain_view *view;
    const explain_screen *screen;
    const double *contributions; /* of the columns; NULL: none */
    double largest;              /* of them */
    int label;                   /* cells of the names of rows */
    int cell;                    /* cells of a column */
    int64_t block;               /* columns that are beside each other */
    int beside;                  /* cells for what a row looks at most, 0: there is no room */
    bool down;                   /* names of columns are written downwards */
} drawing;

/* ---- cells ---- */

void explain_cell(const explain_screen *screen, double number, double scale, bool is_signed, int cells) {
    char blank[WIDEST_CELL + 1];
    double heat = scale > 0 ? number / scale : 0;
    snprintf(blank, sizeof blank, "%*s", cells, "");
    if (screen->color != TERMINAL_PLAIN) {
        if (is_signed)
            terminal_signed(screen->color, heat, blank);
        else
            terminal_heat(screen->color, heat, blank);
        return;
    }
    const char *shade = terminal_shade(fabs(heat));
    if (!is_signed) {
        for (int i = 0; i < cells; i++) fputs(shade, stdout);
        return;
    }
    if (cells == 1) {
        putchar(*shade == ' ' ? ' ' : number < 0 ? '-' : '+');
        return;
    }
    text_print_spaces(stdout, (cells - 2) / 2);
    printf("%c%s", *shade == ' ' ? ' ' : number < 0 ? '-' : '+', shade);
    text_print_spaces(stdout, cells - 2 - (cells - 2) / 2);
}

/* ---- names written downwards ---- */

/* Takes a character with the marks on it off a name, and prints it if that is wanted; its width. */
static int take_character(const char **name, bool print) {
    char shown[ATTN_GLYPH_BYTES], whole[8 * ATTN_GLYPH_BYTES];
    int width = attn_text_glyph(name, shown);
    snprintf(whole, sizeof whole, "%s", shown);
    for (const char *mark = *name; *mark != '\0' && attn_text_glyph(&mark, shown) == 0; *name = mark) {
        size_t used = strlen(whole);
        if (used + sizeof shown <= sizeof whole) memcpy(whole + used, shown, strlen(shown) + 1);
    }
    if (print) text_print_name(stdout, whole);
    return width;
}

static int count_characters(const char *name) {
    int count = 0;
    for (; *name != '\0'; count++) take_character(&name, false);
    return count;
}

static int lines_of(const char *name) {
    int count = count_characters(name);
    return count < TALLEST_NAME ? count : TALLEST_NAME;
}

/* Character `line` of a name that is written downwards, in the middle of a cell. */
static void print_character(const char *name, int line, int cell) {
    bool cut = line + 1 == TALLEST_NAME && count_characters(name) > TALLEST_NAME;
    for (int i = 0; i < line && *name != '\0'; i++) take_character(&name, false);
    if (line < 0 || *name == '\0') {
        text_print_spaces(stdout, cell);
        return;
    }
    const char *after = name;
    int width = take_character(&after, false);
    bool escape = width > cell;
    if (cut || escape) width = 1;
    text_print_spaces(stdout, (cell - width) / 2);
    if (cut || escape)
        fputs(cut ? "…" : "?", stdout);
    else
        take_character(&name, true);
    text_print_spaces(stdout, cell - width - (cell - width) / 2);
}

/* ---- the map ---- */

static void print_margin(const drawing *of) {
    text_print_spaces(stdout, 2 + of->label);
    fputs(" │ ", stdout);
}

static void print_names_across(const drawing *of, int64_t first, int64_t end) {
    print_margin(of);
    for (int64_t k = first; k < end; k++) {
        const char *name = explain_key_name(of->view, k);
        int before = (of->cell - text_width(name)) / 2;
        text_print_spaces(stdout, before);
        text_print_left(stdout, name, of->cell - before);
    }
    putchar('\n');
}

static void print_names_down(const drawing *of, int64_t first, int64_t end) {
    int height = 1;
    for (int64_t k = first; k < end; k++) {
        int lines = lines_of(explain_key_name(of->view, k));
        if (lines > height) height = lines;
    }
    for (int line = 0; line < height; line++) {
        print_margin(of);
        for (int64_t k = first; k < end; k++) {
            const char *name = explain_key_name(of->view, k);
            print_character(name, line - (height - lines_of(name)), of->cell);
        }
        putchar('\n');
    }
}

/* The number of a query and a key; of a graph 0 where there is no edge. */
static double number_at(const explain_view *view, int64_t query, int64_t key) {
    if (!view->sparse) return explain_entry(view, query, key);
    double sum = 0;
    for (int64_t e = 0; e < explain_entries(view, query); e++)
        if (explain_entry_key(view, query, e) == key) sum += explain_entry(view, query, e);
    return sum;
}

static void print_beside(const drawing *of, int64_t query) {
    int64_t most;
    fputs(" │ ", stdout);
    if (explain_strongest(of->view, query, 1, false, &most) == 0) {
        fputs("-", stdout);
        return;
    }
    const char *name = explain_key_name(of->view, explain_entry_key(of->view, query, most));
    text_print_spaces(stdout, of->beside - text_print_cut(stdout, name, of->beside));
    printf(" %.2f", explain_entry(of->view, query, most));
}

static void print_row(const drawing *of, int64_t query, int64_t first, int64_t end) {
    const explain_view *view = of->view;
    const char *name = explain_query_name(view, query);
    int width = text_width(name);
    fputs(view->choice.row == query ? " ›" : "  ", stdout);
    text_print_spaces(stdout, of->label - width);
    text_print_cut(stdout, name, of->label);
    fputs(" │ ", stdout);
    for (int64_t k = first; k < end; k++)
        explain_cell(of->screen, number_at(view, query, k), view->scale, view->is_signed, of->cell);
    if (of->beside > 0) print_beside(of, query);
    putchar('\n');
}

static void print_contributions(const drawing *of, int64_t first, int64_t end) {
    text_print_spaces(stdout, 1 + of->label);
    fputs("± │ ", stdout);
    for (int64_t k = first; k < end; k++)
        explain_cell(of->screen, of->contributions[k], of->largest, true, of->cell);
    putchar('\n');
}

/* ---- what fits ---- */

static int widest_name(const drawing *of, const char *(*name)(const explain_view *, int64_t), int64_t count) {
    int widest = 1;
    for (int64_t i = 0; i < count; i++) {
        int one = text_width(name(of->view, i));
        if (one > widest) widest = one;
    }
    return widest;
}

static void lay_out(drawing *of) {
    enum { WIDEST_BESIDE = 12, BESIDE_FRAME = 8 }; /* " │ " and " 0.97" */
    int64_t keys = of->view->keys;
    int widest = widest_name(of, explain_key_name, keys);
    of->label = widest_name(of, explain_query_name, of->view->queries);
    if (of->label > WIDEST_LABEL) of->label = WIDEST_LABEL;
    if (of->label > of->screen->width / 3) of->label = of->screen->width / 3;
    int64_t room = of->screen->width - of->label - FRAME;
    of->cell = widest + 2;
    if (of->cell > WIDEST_CELL || keys > room / of->cell) of->cell = CELL;
    if (keys > room / of->cell) of->cell = NARROW_CELL;
    of->down = widest > of->cell;
    int64_t fits = room / of->cell;
    if (fits < 1) fits = 1;
    int64_t blocks = (keys + fits - 1) / fits;
    of->block = (keys + blocks - 1) / blocks;
    of->beside = widest < WIDEST_BESIDE ? widest : WIDEST_BESIDE;
    if (blocks > 1 || of->beside + BESIDE_FRAME > room - keys * of->cell) of->beside = 0;
}

void explain_map_print(const explain_view *view, const explain_screen *screen) {
    drawing of = {.view = view, .screen = screen};
    if (view->queries == 0 || view->keys == 0) return;
    of.largest = explain_contribution_scale(view->explanation);
    if (of.largest > 0 && explain_keys_are_rows(view))
        of.contributions = attn_explanation_contributions(view->explanation);
    lay_out(&of);
    for (int64_t first = 0; first < view->keys; first += of.block) {
        int64_t end = first + of.block < view->keys ? first + of.block : view->keys;
        if (first > 0) putchar('\n');
        if (of.down)
            print_names_down(&of, first, end);
        else
            print_names_across(&of, first, end);
        for (int64_t q = 0; q < view->queries; q++) print_row(&of, q, first, end);
        if (of.contributions != NULL) print_contributions(&of, first, end);
    }
    putchar('\n');
    explain_legend(view, screen);
    if (of.contributions != NULL) explain_contribution_legend(view->explanation, screen);
}

/* ---- legends ---- */

/* A bar from `low` to 1, with these numbers at its ends. */
static void print_scale(const explain_screen *screen, bool is_signed, double low, double high) {
    enum { STEPS = 20 };
    printf("  %g ", low);
    for (int i = 0; i <= STEPS; i++) explain_cell(screen, low + (high - low) * i / STEPS, high, is_signed, 1);
    printf(" %g   ", high);
}

void explain_legend(const explain_view *view, const explain_screen *screen) {
    double scale = view->scale;
    if (screen->color != TERMINAL_PLAIN) {
        print_scale(screen, view->is_signed, view->is_signed ? -scale : 0, scale);
        puts(view->choice.view == ATTN_VIEW_GRADIENT
                 ? "weight × gradient"
                 : "attention weight of a row (query) for a column (key)");
        return;
    }
    printf("  ░ from %g   ▒ from %g   ▓ from %g   █ from %g%s\n", terminal_shade_from[0] * scale,
           terminal_shade_from[1] * scale, terminal_shade_from[2] * scale, terminal_shade_from[3] * scale,
           view->is_signed ? ", - below 0" : "");
}

static const char *format_signed(double number, char text[40]) {
    bool odd = fabs(number) >= 1e5 || (number != 0 && fabs(number) < 1e-3);
    snprintf(text, 40, odd ? "%+.1e" : "%+.3f", number);
    return text;
}

void explain_signed_number(double number, int width) {
    char text[40];
    printf("%*s", width, format_signed(number, text));
}

void explain_contribution(const explain_screen *screen, double number, double largest, int width) {
    char text[40];
    format_signed(number, text);
    if (screen->color == TERMINAL_PLAIN) {
        printf("%*s", width, text);
        return;
    }
    text_print_spaces(stdout, width - (int)strlen(text));
    terminal_signed(screen->color, largest > 0 ? number / largest : 0, text);
}

void explain_contribution_legend(const attn_explanation *explanation, const explain_screen *screen) {
    const double *numbers = attn_explanation_contributions(explanation);
    int64_t rows = attn_explanation_rows(explanation), low = 0, high = 0;
    if (numbers == NULL || rows == 0) return;
    for (int64_t r = 1; r < rows; r++) {
        if (numbers[r] < numbers[low]) low = r;
        if (numbers[r] > numbers[high]) high = r;
    }
    const char *target = attn_explanation_target(explanation);
    fputs("  ± contribution", stdout);
    if (target != NULL && *target != '\0') {
        fputs(" to ", stdout);
        text_print_cut(stdout, explain_seen(target), 24);
    }
    fputs(screen->color == TERMINAL_PLAIN ? ", - below 0, + above:\n    from "
                                          : ", blue below 0, red above:\n    from ",
          stdout);
    explain_signed_number(numbers[low], 0);
    fputs(" (", stdout);
    text_print_cut(stdout, explain_row_name(explanation, low), 20);
    fputs(") to ", stdout);
    explain_signed_number(numbers[high], 0);
    fputs(" (", stdout);
    text_print_cut(stdout, explain_row_name(explanation, high), 20);
    fputs(")\n", stdout);
}
