/* alignment.c: draws the attention of an answer's symbols on the units of its source (see alignment.h).
 *
 *                 c  a  t
 *            K │ ███       │ c 0.97
 *           AE │    ▓▓▓░░░ │ a 0.58
 *            T │       ███ │ t 0.95
 *
 * Names of units that are too long for their columns are written downwards.
 */
#include "alignment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
    const attn_prediction *prediction;
    int64_t example, symbols, units;
    const float *weights; /* [symbols][units] */
    terminal_color color;
    int label;     /* cells of the names of symbols */
    int cell;      /* cells of a column */
    int64_t shown; /* columns that there is room for */
    int beside;    /* cells for what a symbol looks at most, 0: there is no room */
    bool down;     /* names of units are written downwards */
} drawing;

/* ---- names ---- */

/* A space is shown as one that is seen. */
static const char *name_of(const char *text) { return strcmp(text, " ") == 0 ? "␣" : text; }

static const char *unit_name(const drawing *of, int64_t unit) {
    return name_of(attn_prediction_unit(of->prediction, of->example, unit));
}

static const char *symbol_name(const drawing *of, int64_t symbol) {
    return name_of(attn_prediction_symbol(of->prediction, of->example, 0, symbol));
}

/* Prints a name, cut where it is longer than `width`; how many cells it takes. */
static int print_cut(const char *name, int width) {
    int used = 0;
    bool cut = text_width(name) > width;
    while (*name != '\0') {
        char shown[ATTN_GLYPH_BYTES];
        int one = attn_text_glyph(&name, shown);
        if (used + one > width - cut) break;
        fputs(shown, stdout);
        used += one;
    }
    if (cut) fputs("…", stdout);
    return used + cut;
}

static void print_spaces(int count) {
    for (int i = 0; i < count; i++) putchar(' ');
}

/* Takes a character with the marks on it off a name, and prints it if that is wanted; its width. */
static int take_character(const char **name, bool print) {
    char shown[ATTN_GLYPH_BYTES];
    int width = attn_text_glyph(name, shown);
    if (print) fputs(shown, stdout);
    for (const char *mark = *name; *mark != '\0' && attn_text_glyph(&mark, shown) == 0; *name = mark)
        if (print) fputs(shown, stdout);
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
        print_spaces(cell);
        return;
    }
    const char *after = name;
    int width = take_character(&after, false);
    bool escape = width > cell;
    if (cut || escape) width = 1;
    print_spaces((cell - width) / 2);
    if (cut || escape)
        fputs(cut ? "…" : "?", stdout);
    else
        take_character(&name, true);
    print_spaces(cell - width - (cell - width) / 2);
}

/* ---- the map ---- */

static void print_margin(const drawing *of) { print_spaces(2 + of->label); }

static void print_names_across(const drawing *of) {
    print_margin(of);
    fputs(" │ ", stdout);
    for (int64_t u = 0; u < of->shown; u++) {
        int before = (of->cell - text_width(unit_name(of, u))) / 2;
        print_spaces(before);
        text_print_left(stdout, unit_name(of, u), of->cell - before);
    }
    putchar('\n');
}

static void print_names_down(const drawing *of) {
    int height = 1;
    for (int64_t u = 0; u < of->shown; u++)
        if (lines_of(unit_name(of, u)) > height) height = lines_of(unit_name(of, u));
    for (int line = 0; line < height; line++) {
        print_margin(of);
        fputs(" │ ", stdout);
        for (int64_t u = 0; u < of->shown; u++) {
            const char *name = unit_name(of, u);
            print_character(name, line - (height - lines_of(name)), of->cell);
        }
        putchar('\n');
    }
}

/* The unit that a symbol looks at most. */
static int64_t strongest(const float *weights, int64_t units) {
    int64_t best = 0;
    for (int64_t u = 1; u < units; u++)
        if (weights[u] > weights[best]) best = u;
    return best;
}

static void print_row(const drawing *of, int64_t symbol) {
    char blank[WIDEST_CELL + 1];
    const float *weights = of->weights + symbol * of->units;
    int width = text_width(symbol_name(of, symbol));
    snprintf(blank, sizeof blank, "%*s", of->cell, "");
    print_spaces(2 + (width < of->label ? of->label - width : 0));
    print_cut(symbol_name(of, symbol), of->label);
    fputs(" │ ", stdout);
    for (int64_t u = 0; u < of->shown; u++) {
        if (of->color != TERMINAL_PLAIN) terminal_heat(of->color, (double)weights[u], blank);
        for (int i = 0; of->color == TERMINAL_PLAIN && i < of->cell; i++)
            fputs(terminal_shade((double)weights[u]), stdout);
    }
    if (of->beside > 0) {
        int64_t most = strongest(weights, of->units);
        fputs(" │ ", stdout);
        print_spaces(of->beside - print_cut(unit_name(of, most), of->beside));
        printf(" %.2f", (double)weights[most]);
    }
    putchar('\n');
}

/* ---- what fits ---- */

static void lay_out(drawing *of, int width) {
    enum { WIDEST_BESIDE = 12, BESIDE_FRAME = 8 }; /* " │ " and " 0.97" */
    int widest = 1;
    of->label = 1;
    for (int64_t s = 0; s < of->symbols; s++) {
        int one = text_width(symbol_name(of, s));
        if (one > of->label) of->label = one < WIDEST_LABEL ? one : WIDEST_LABEL;
    }
    for (int64_t u = 0; u < of->units; u++) {
        int one = text_width(unit_name(of, u));
        if (one > widest) widest = one;
    }
    int64_t room = width - of->label - FRAME;
    of->cell = widest + 2;
    if (of->cell > WIDEST_CELL || of->units > room / of->cell) of->cell = CELL;
    if (of->units > room / of->cell) of->cell = NARROW_CELL;
    of->down = widest > of->cell;
    of->shown = room / of->cell;
    if (of->shown < 1) of->shown = 1;
    if (of->shown > of->units) of->shown = of->units;
    of->beside = widest < WIDEST_BESIDE ? widest : WIDEST_BESIDE;
    if (of->shown < of->units || of->beside + BESIDE_FRAME > room - of->shown * of->cell) of->beside = 0;
}

static void print_title(const drawing *of, const char *source) {
    char remark[120];
    const char *answer = attn_prediction_text(of->prediction, of->example, 0);
    text_print(stdout, *source != '\0' ? source : "(nothing)");
    fputs(" → ", stdout);
    text_print(stdout, *answer != '\0' ? answer : "(nothing)");
    snprintf(remark, sizeof remark, "   score %.4f", attn_prediction_score(of->prediction, of->example, 0));
    terminal_remark(of->color, remark);
    if (!attn_prediction_ended(of->prediction, of->example, 0)) {
        snprintf(remark, sizeof remark, ", cut after %" PRId64 " symbols", of->symbols);
        terminal_remark(of->color, remark);
    }
    fputs("\n\n", stdout);
}

void alignment_print(const char *source, const attn_prediction *prediction, int64_t example,
                     terminal_color color, int width) {
    drawing of = {.prediction = prediction, .example = example, .color = color};
    of.symbols = attn_prediction_symbols(prediction, example, 0);
    of.units = attn_prediction_units(prediction, example);
    of.weights = attn_prediction_alignment(prediction, example, 0);
    print_title(&of, source);
    if (of.weights == NULL || of.symbols == 0 || of.units == 0) return; /* the title says it */
    lay_out(&of, width);
    if (of.down)
        print_names_down(&of);
    else
        print_names_across(&of);
    for (int64_t s = 0; s < of.symbols; s++) print_row(&of, s);
    if (of.shown < of.units) {
        char remark[160];
        snprintf(remark, sizeof remark,
                 "  the first %" PRId64 " of %" PRId64 " columns: a wider terminal shows more\n", of.shown,
                 of.units);
        terminal_remark(color, remark);
    }
    putchar('\n');
}

void alignment_legend(terminal_color color) {
    enum { STEPS = 20 };
    if (color == TERMINAL_PLAIN) {
        printf("  ░ from %g   ▒ from %g   ▓ from %g   █ from %g\n", terminal_shade_from[0],
               terminal_shade_from[1], terminal_shade_from[2], terminal_shade_from[3]);
        return;
    }
    fputs("  0 ", stdout);
    for (int i = 0; i <= STEPS; i++) terminal_heat(color, (double)i / STEPS, " ");
    fputs(" 1   how much a row looks at a column\n", stdout);
}
