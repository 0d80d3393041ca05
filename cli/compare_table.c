/* compare_table.c: what the runs of a comparison told: medians and ranges, as a table and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "compare.h"
#include "progress.h"
#include "text.h"

/* ---- medians and ranges ---- */

double compare_value_of(const compare_run *run, compare_value value) {
    const compare_figures *figures = &run->figures;
    switch (value) {
    case COMPARE_DEV: return figures->dev;
    case COMPARE_TEST: return figures->test;
    case COMPARE_DEV_MACRO: return figures->dev_macro;
    case COMPARE_TEST_MACRO: return figures->test_macro;
    case COMPARE_PARAMETERS: return (double)figures->parameters;
    case COMPARE_RATE: return figures->rate;
    case COMPARE_MINUTES: return figures->seconds / 60;
    case COMPARE_MEMORY: return (double)run->memory;
    case COMPARE_STEPS: return (double)figures->steps;
    }
    return NAN;
}

/* How many of some runs are below a value; runs that were not done are left out. */
static int64_t count_below(const compare_run *runs, int64_t count, compare_value value, double limit) {
    int64_t below = 0;
    for (int64_t i = 0; i < count; i++)
        below += runs[i].figures.done && compare_value_of(&runs[i], value) < limit;
    return below;
}

/* The value that has `rank` others before it. The runs are few: no sorting. */
static double ranked(const compare_run *runs, int64_t count, compare_value value, int64_t rank) {
    double found = NAN;
    for (int64_t i = 0; i < count; i++) {
        if (!runs[i].figures.done) continue;
        double one = compare_value_of(&runs[i], value);
        if (count_below(runs, count, value, one) <= rank && !(one <= found)) found = one;
    }
    return found;
}

static compare_spread spread_of(const compare_run *runs, int64_t count, compare_value value) {
    compare_spread spread = {0, NAN, NAN, NAN};
    for (int64_t i = 0; i < count; i++) spread.count += runs[i].figures.done;
    if (spread.count == 0) return spread;
    spread.lowest = ranked(runs, count, value, 0);
    spread.highest = ranked(runs, count, value, spread.count - 1);
    spread.median =
        (ranked(runs, count, value, (spread.count - 1) / 2) + ranked(runs, count, value, spread.count / 2)) /
        2;
    return spread;
}

compare_spread compare_spread_of(const comparison *what, int encoder, compare_value value) {
    return spread_of(what->runs + encoder * what->seeds, what->seeds, value);
}

compare_spread compare_spread_all(const comparison *what, compare_value value) {
    return spread_of(what->runs, what->encoders * what->seeds, value);
}

const compare_run *compare_any(const comparison *what) {
    for (int64_t i = 0; i < what->encoders * what->seeds; i++)
        if (what->runs[i].figures.done) return &what->runs[i];
    return NULL;
}

void compare_describe(const comparison *what, char *text, size_t room) {
    const compare_figures *any = &compare_any(what)->figures;
    compare_spread steps = compare_spread_all(what, COMPARE_STEPS);
    char range[64], given[64] = "";
    snprintf(range, sizeof range, steps.lowest < steps.highest ? "%.0f–%.0f" : "%.0f", steps.lowest,
             steps.highest);
    if (what->training.time != NULL) snprintf(given, sizeof given, "%.30s each, ", what->training.time);
    snprintf(text, room,
             "%.20s, %" PRId64 " seed%s, %" PRId64 " layer%s of %" PRId64 " columns, %s%s steps per run",
             what->training.positional[TRAINING_TASK], what->seeds, what->seeds == 1 ? "" : "s", any->layers,
             any->layers == 1 ? "" : "s", any->columns, given, range);
}

void compare_minutes(double minutes, char *text) {
    snprintf(text, 32, "%.*f", minutes < 0.1 ? 3 : minutes < 1 ? 2 : 1, minutes);
}

/* ---- the table ---- */

enum { CELL = 192, COLUMNS = 8, METRICS = 4 }; /* the first of them, with the encoder */
typedef char table_row[COLUMNS][CELL];

static bool has_macro(const comparison *what) {
    return !isnan(compare_spread_all(what, COMPARE_TEST_MACRO).median);
}

static void print_spread(char *cell, compare_spread spread) {
    if (spread.count == 0)
        snprintf(cell, CELL, "-");
    else if (spread.count == 1)
        snprintf(cell, CELL, "%.4f", spread.median);
    else
        snprintf(cell, CELL, "%.4f (%.4f–%.4f)", spread.median, spread.lowest, spread.highest);
}

static void fill_heading(table_row row, const char *metric, bool several) {
    const char *range = several ? ", median (range)" : "";
    static const char *const names[COLUMNS] = {"encoder",    "",         "",        "",
                                               "parameters", "tokens/s", "minutes", "peak memory"};
    for (int i = 0; i < COLUMNS; i++) snprintf(row[i], CELL, "%s", names[i]);
    snprintf(row[1], CELL, "dev %s%s", metric, range);
    snprintf(row[2], CELL, "test %s%s", metric, range);
    snprintf(row[3], CELL, "test macro_f1%s", range);
}

static void fill_row(table_row row, const comparison *what, int encoder) {
    compare_spread dev = compare_spread_of(what, encoder, COMPARE_DEV);
    for (int i = 0; i < COLUMNS; i++) snprintf(row[i], CELL, "-");
    if (dev.count < what->seeds)
        snprintf(row[0], CELL, "%s, %" PRId64 " of %" PRId64, what->encoder[encoder], dev.count, what->seeds);
    else
        snprintf(row[0], CELL, "%s", what->encoder[encoder]);
    if (dev.count == 0) return;
    print_spread(row[1], dev);
    print_spread(row[2], compare_spread_of(what, encoder, COMPARE_TEST));
    print_spread(row[3], compare_spread_of(what, encoder, COMPARE_TEST_MACRO));
    progress_count(compare_spread_of(what, encoder, COMPARE_PARAMETERS).median, row[4]);
    progress_count(compare_spread_of(what, encoder, COMPARE_RATE).median, row[5]);
    compare_minutes(compare_spread_of(what, encoder, COMPARE_MINUTES).median, row[6]);
    snprintf(row[7], CELL, "%.0f MB", compare_spread_of(what, encoder, COMPARE_MEMORY).highest / 1e6);
}

/* Markdown that reads well as it is. */
void compare_print_table(const comparison *what) {
    table_row rows[1 + COMPARE_ENCODERS];
    int widths[COLUMNS] = {0}, left_out = has_macro(what) ? COLUMNS : METRICS - 1;
    char description[256];
    fill_heading(rows[0], compare_any(what)->figures.metric, what->seeds > 1);
    for (int i = 0; i < what->encoders; i++) fill_row(rows[1 + i], what, i);
    for (int r = 0; r <= what->encoders; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            int width = text_width(rows[r][c]);
            if (width > widths[c]) widths[c] = width;
        }
    }
    compare_describe(what, description, sizeof description);
    text_print(stdout, description);
    fputs("\n\n", stdout);
    for (int r = 0; r <= what->encoders; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            if (c == left_out) continue;
            fputs("| ", stdout);
            (c < METRICS ? text_print_left : text_print_right)(stdout, rows[r][c], widths[c]);
            fputs(c < COLUMNS - 1 ? " " : " |\n", stdout);
        }
        for (int c = 0; r == 0 && c < COLUMNS; c++) {
            if (c == left_out) continue;
            fputs(c < METRICS ? "| -" : "| ", stdout);
            for (int i = 1; i < widths[c]; i++) fputc('-', stdout);
            fputs(c < METRICS ? " " : ": ", stdout);
        }
        if (r == 0) fputs("|\n", stdout);
    }
}

/* ---- JSON ---- */

static void print_number(const char *name, double number) {
    printf(", \"%s\": ", name);
    if (isfinite(number))
        printf("%.9g", number);
    else
        fputs("null", stdout);
}

static void print_json_spread(const char *name, compare_spread spread) {
    printf(", \"%s\": {\"count\": %" PRId64, name, spread.count);
    print_number("median", spread.median);
    print_number("lowest", spread.lowest);
    print_number("highest", spread.highest);
    fputc('}', stdout);
}

static void print_json_run(const compare_run *run) {
    const compare_figures *figures = &run->figures;
    printf("{\"seed\": %" PRId64, run->seed);
    if (!figures->done) {
        fputs(", \"error\": ", stdout);
        text_print_json(stdout, *figures->error != '\0' ? figures->error : "interrupted");
    } else {
        print_number("dev", figures->dev);
        print_number("test", figures->test);
        if (!isnan(figures->test_macro)) {
            print_number("dev_macro_f1", figures->dev_macro);
            print_number("test_macro_f1", figures->test_macro);
        }
        printf(", \"parameters\": %" PRId64 ", \"steps\": %" PRId64 ", \"best_step\": %" PRId64,
               figures->parameters, figures->steps, figures->best_step);
        print_number("tokens_per_second", figures->rate);
        print_number("seconds", figures->seconds);
        printf(", \"peak_memory_bytes\": %" PRId64, run->memory);
    }
    fputc('}', stdout);
}

static void print_json_difference(const comparison *what, int encoder) {
    compare_difference difference = compare_difference_of(what, encoder);
    if (!difference.known) return;
    fputs(", \"against_best\": {\"best\": ", stdout);
    text_print_json(stdout, what->encoder[compare_best(what)]);
    print_number("difference", difference.value);
    print_number("low", difference.sampled.low);
    print_number("high", difference.sampled.high);
    print_number("p", difference.sampled.p);
    printf(", \"significant\": %s}", compare_significant(&difference) ? "true" : "false");
}

void compare_print_json(const comparison *what) {
    const compare_run *any = compare_any(what);
    fputs("{\"task\": ", stdout);
    text_print_json(stdout, what->training.positional[TRAINING_TASK]);
    fputs(", \"metric\": ", stdout);
    if (any != NULL) {
        text_print_json(stdout, any->figures.metric);
        int rises = attn_metric_rises(any->figures.metric); /* -1: the library has no such metric */
        printf(", \"rises\": %s", rises < 0 ? "null" : rises ? "true" : "false");
        printf(", \"layers\": %" PRId64 ", \"columns\": %" PRId64, any->figures.layers, any->figures.columns);
    } else {
        fputs("null", stdout);
    }
    printf(", \"seeds\": %" PRId64 ",\n \"encoders\": [", what->seeds);
    for (int i = 0; i < what->encoders; i++) {
        printf("%s\n  {\"encoder\": \"%s\"", i > 0 ? "," : "", what->encoder[i]);
        print_json_spread("dev", compare_spread_of(what, i, COMPARE_DEV));
        print_json_spread("test", compare_spread_of(what, i, COMPARE_TEST));
        if (has_macro(what)) {
            print_json_spread("dev_macro_f1", compare_spread_of(what, i, COMPARE_DEV_MACRO));
            print_json_spread("test_macro_f1", compare_spread_of(what, i, COMPARE_TEST_MACRO));
        }
        print_number("parameters", compare_spread_of(what, i, COMPARE_PARAMETERS).median);
        print_number("tokens_per_second", compare_spread_of(what, i, COMPARE_RATE).median);
        print_number("minutes", compare_spread_of(what, i, COMPARE_MINUTES).median);
        print_number("peak_memory_bytes", compare_spread_of(what, i, COMPARE_MEMORY).highest);
        print_json_difference(what, i);
        fputs(",\n   \"runs\": [", stdout);
        for (int64_t s = 0; s < what->seeds; s++) {
            if (s > 0) fputs(",\n            ", stdout);
            print_json_run(&what->runs[i * what->seeds + s]);
        }
        fputs("]}", stdout);
    }
    fputs("\n ]}\n", stdout);
}
