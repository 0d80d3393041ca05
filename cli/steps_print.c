/* steps_print.c: prints the steps of one attention for a reader who meets it
 * for the first time: what each number is, where it comes from, and a picture
 * (see steps.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "steps.h"
#include "text.h"

enum { WORD_WIDTH = 4, COLUMN_WIDTH = 8, LABEL_WIDTH = 12, CELL_WIDTH = 9 };

/* "word meaning", the word padded: 小猫 kitten. */
static void print_word(const steps *shown, int word) {
    text_print_left(stdout, shown->words[word], WORD_WIDTH);
    putchar(' ');
    text_print_left(stdout, shown->meanings[word], LABEL_WIDTH - WORD_WIDTH - 1);
}

static void print_numbers(const float *numbers, int count) {
    fputs(" │", stdout);
    for (int c = 0; c < count; c++) printf(" %2g", (double)numbers[c]);
}

/* (0, 1, 2, 0), with `format` for each number. */
static void print_vector(const float *numbers, int count, const char *format) {
    putchar('(');
    for (int c = 0; c < count; c++) {
        char number[32];
        snprintf(number, sizeof number, format, (double)numbers[c]);
        printf("%s%s", c == 0 ? "" : ", ", number);
    }
    putchar(')');
}

static void print_words_and_projections(const steps *shown, terminal_color color) {
    terminal_heading(color, "Self-attention, step by step");
    fputs("\n\n  ", stdout);
    for (int i = 0; i < STEP_WORDS; i++) {
        text_print(stdout, shown->words[i]);
        putchar(' ');
    }
    fputs("   (look, the kitten, it is so cute)\n\n", stdout);
    terminal_heading(color, "1. Words become vectors, and each vector plays three parts");
    printf("\n\n"
           "  x            the word as %d numbers: how much it is about doing, a thing,\n"
           "               pointing, describing (a model learns them; these are by hand)\n"
           "  q = W_q x    the query: what the word looks for\n"
           "  k = W_k x    the key: what the word can be found by\n"
           "  v = W_v x    the value: what the word hands on (doing, a thing, describing)\n\n",
           STEP_FEATURES);
    printf("  %*s │ %-11s │ %-11s │ %-11s │ %-8s\n", LABEL_WIDTH, "", "x", "q", "k", "v");
    for (int i = 0; i < STEP_WORDS; i++) {
        fputs("  ", stdout);
        print_word(shown, i);
        print_numbers(shown->x[i], STEP_FEATURES);
        print_numbers(shown->query[i], STEP_KEYS);
        print_numbers(shown->key[i], STEP_KEYS);
        print_numbers(shown->value[i], STEP_VALUES);
        putchar('\n');
    }
    putchar('\n');
}

/* "÷ 2" for 1/√d_k, "× 1" for a scale of one's own. */
static void scaling_name(const step_options *options, char *name, size_t size) {
    if (options->scale > 0) {
        snprintf(name, size, "q·k × %g", options->scale);
    } else {
        snprintf(name, size, "q·k ÷ √%d", STEP_KEYS);
    }
}

static void print_recipe(const step_options *options, terminal_color color) {
    char scaling[32];
    scaling_name(options, scaling, sizeof scaling);
    terminal_heading(color, "2. Each word compares its query with all keys, and averages the values");
    fputs("\n\n"
          "  q·k          score: query times key, number by number, added up\n  ",
          stdout);
    text_print_left(stdout, scaling, 13);
    if (options->scale > 0) {
        printf("scaled: every score times %g%s\n", options->scale,
               options->scale == 1.0 ? ", that is: the plain dot product" : "");
    } else {
        printf("scaled: longer vectors give larger sums; √d_k = √%d = %g undoes it\n", STEP_KEYS,
               sqrt((double)STEP_KEYS));
    }
    fputs("  softmax      weight: e^scaled, divided by the row's total: they add up to 1\n"
          "  Σ weight·v   output: every value times its weight, added up\n",
          stdout);
    if (options->causal) fputs("  causal       a word does not see the words after it: shown as ·\n", stdout);
    if (options->window >= 0) {
        printf("  window       a word sees words at most %lld away: others are shown as ·\n",
               (long long)options->window);
    }
    putchar('\n');
}

static void print_row(const steps *shown, int word, const char *label, const double *numbers,
                      const char *format) {
    fputs("  ", stdout);
    text_print_left(stdout, label, LABEL_WIDTH);
    fputs(" │", stdout);
    for (int j = 0; j < STEP_WORDS; j++) {
        char number[32] = "·";
        if (shown->seen[word][j]) snprintf(number, sizeof number, format, numbers[j]);
        text_print_right(stdout, number, COLUMN_WIDTH);
    }
    putchar('\n');
}

static void print_words_above(const steps *shown) {
    printf("  %*s │", LABEL_WIDTH, "");
    for (int j = 0; j < STEP_WORDS; j++) text_print_right(stdout, shown->words[j], COLUMN_WIDTH);
    putchar('\n');
}

static int strongest(const steps *shown, int word) {
    int best = word;
    for (int j = 0; j < STEP_WORDS; j++) {
        if (shown->weights[word][j] > shown->weights[word][best]) best = j;
    }
    return best;
}

/* The arithmetic of one word in full, for its strongest weight. */
static void print_arithmetic(const steps *shown, int word) {
    int j = strongest(shown, word);
    double total = 0;
    printf("\n  The same in full, for ");
    text_print(stdout, shown->words[j]);
    printf(" \"%s\":\n  score   ", shown->meanings[j]);
    for (int c = 0; c < STEP_KEYS; c++) {
        double key = (double)shown->key[j][c];
        printf(key < 0 ? "%s%g·(%g)" : "%s%g·%g", c == 0 ? "" : " + ", (double)shown->query[word][c], key);
    }
    printf(" = %g\n  weight  e^%g / (", shown->scores[word][j], shown->scaled[word][j]);
    const char *plus = "";
    for (int i = 0; i < STEP_WORDS; i++) {
        if (!shown->seen[word][i]) continue;
        printf("%se^%g", plus, shown->scaled[word][i]);
        plus = " + ";
        total += exp(shown->scaled[word][i]);
    }
    printf(") = %.4g / %.4g = %.3f\n  output  ", exp(shown->scaled[word][j]), total, shown->weights[word][j]);
    plus = "";
    for (int i = 0; i < STEP_WORDS; i++) {
        if (!shown->seen[word][i]) continue;
        printf("%s%.3f·", plus, shown->weights[word][i]);
        print_vector(shown->value[i], STEP_VALUES, "%g");
        plus = i == 2 ? " +\n          " : " + "; /* two lines, to stay within 80 cells */
    }
    putchar('\n');
}

static void print_one_word(const step_options *options, const steps *shown, int word, terminal_color color) {
    char scaling[32];
    scaling_name(options, scaling, sizeof scaling);
    fputs("  ", stdout);
    terminal_heading(color, shown->words[word]);
    printf(" \"%s\" asks with q = ", shown->meanings[word]);
    print_vector(shown->query[word], STEP_KEYS, "%g");
    putchar('\n');
    print_words_above(shown);
    print_row(shown, word, "q·k", shown->scores[word], "%g");
    print_row(shown, word, scaling, shown->scaled[word], "%.2f");
    print_row(shown, word, "softmax", shown->weights[word], "%.3f");
    fputs("  Σ weight·v   = ", stdout);
    print_vector(shown->output[word], STEP_VALUES, "%.3f");
    putchar('\n');
    if (word == 0) print_arithmetic(shown, word);
    putchar('\n');
}

/* One line of a row of the map: the numbers on the middle line, only colour
 * above and below it. */
static void print_heat_line(const steps *shown, int word, bool numbers, terminal_color color) {
    for (int j = 0; j < STEP_WORDS; j++) {
        char cell[32];
        double weight = shown->weights[word][j];
        if (!shown->seen[word][j]) {
            text_print_left(stdout, numbers ? "    ·" : "", CELL_WIDTH);
            continue;
        }
        snprintf(cell, sizeof cell, numbers ? "  %.3f  " : "         ", weight);
        terminal_heat(color, weight, cell);
    }
}

static void print_heat_map_in_color(const steps *shown, terminal_color color) {
    for (int i = 0; i < STEP_WORDS; i++) {
        for (int line = 0; line < 3; line++) {
            fputs("  ", stdout);
            if (line == 1) {
                print_word(shown, i);
            } else {
                printf("%*s", LABEL_WIDTH, "");
            }
            fputs(" │ ", stdout);
            print_heat_line(shown, i, line == 1, color);
            putchar('\n');
        }
    }
}

static void print_heat_map_in_shades(const steps *shown) {
    for (int i = 0; i < STEP_WORDS; i++) {
        fputs("  ", stdout);
        print_word(shown, i);
        fputs(" │ ", stdout);
        for (int j = 0; j < STEP_WORDS; j++) {
            const char *shade = terminal_shade(shown->weights[i][j]);
            if (shown->seen[i][j]) {
                printf("%s%s%s%.3f ", shade, shade, shade, shown->weights[i][j]);
            } else {
                text_print_left(stdout, "    ·", CELL_WIDTH);
            }
        }
        putchar('\n');
    }
    printf("\n  ░ from %g   ▒ from %g   ▓ from %g   █ from %g\n", terminal_shade_from[0],
           terminal_shade_from[1], terminal_shade_from[2], terminal_shade_from[3]);
}

static void print_heat_map(const steps *shown, terminal_color color) {
    terminal_heading(color, "3. All weights in one picture: which word attends to which");
    printf("\n\n  %*s │ ", LABEL_WIDTH, "");
    for (int j = 0; j < STEP_WORDS; j++) {
        int width = text_width(shown->words[j]);
        printf("%*s", (CELL_WIDTH - width) / 2, "");
        text_print_left(stdout, shown->words[j], CELL_WIDTH - (CELL_WIDTH - width) / 2);
    }
    putchar('\n');
    if (color == TERMINAL_PLAIN) {
        print_heat_map_in_shades(shown);
    } else {
        print_heat_map_in_color(shown, color);
    }
    putchar('\n');
}

void steps_print(const step_options *options, const steps *shown, terminal_color color) {
    print_words_and_projections(shown, color);
    print_recipe(options, color);
    for (int i = 0; i < STEP_WORDS; i++) print_one_word(options, shown, i, color);
    print_heat_map(shown, color);
    fputs("  Read a row from left to right: ", stdout);
    const int word = 2; /* the pronoun, which is what attention is for */
    const int target = strongest(shown, word);
    text_print(stdout, shown->words[word]);
    printf(" \"%s\" looks most at ", shown->meanings[word]);
    text_print(stdout, shown->words[target]);
    printf(" \"%s\" (%.3f).\n", shown->meanings[target], shown->weights[word][target]);
    char remark[160];
    snprintf(remark, sizeof remark,
             "  Computed by libattn, whose weights match the softmax of the scores to %.1e.\n",
             shown->largest_difference);
    terminal_remark(color, remark);
}
