/* compare_svg.c: a comparison as a picture: test metrics, a dot each seed, and beside them what they cost. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "compare.h"
#include "progress.h"
#include "text.h"

/* Places, in pixels. */
enum {
    WIDTH = 860,
    NAME_END = 116,
    METRICS_BEGIN = 136,
    METRICS_END = 500,
    MEDIAN_END = 572,
    COSTS_BEGIN = 622,
    COSTS_END = 784,
    HEADING = 88,
    TOP = 106,
    ROW = 44,
    FOOT = 44
};

/* Apart for eyes that see colours differently, too. */
static const char *const colors[COMPARE_ENCODERS] = {"#7a5195", "#0072b2", "#00896b", "#d55e00",
                                                     "#b8860b", "#444444", "#c2185b", "#5d8aa8"};

/* Text that was given, as XML: escaped for a terminal first, which leaves no control characters. */
static void print_xml(FILE *file, const char *text) {
    char *shown = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&shown, &length);
    if (memory == NULL) return;
    text_print(memory, text);
    if (fclose(memory) == 0) {
        for (const char *c = shown; *c != '\0'; c++) {
            switch (*c) {
            case '&': fputs("&amp;", file); break;
            case '<': fputs("&lt;", file); break;
            case '>': fputs("&gt;", file); break;
            case '"': fputs("&quot;", file); break;
            default: fputc(*c, file);
            }
        }
    }
    free(shown);
}

static void print_label(FILE *file, double x, double y, const char *class_name, const char *text) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class_name);
    print_xml(file, text);
    fputs("</text>\n", file);
}

/* An axis from `low` to `high` in round steps. */
typedef struct axis {
    double low, high, step;
    double begin, end; /* where they are in the picture */
} axis;

static axis make_axis(double low, double high, double begin, double end, int steps) {
    double span = high - low;
    if (!(span > 1e-9 * fabs(high))) span = high != 0 ? 0.01 * fabs(high) : 1;
    double power = pow(10, floor(log10(span / steps))), times = span / steps / power;
    axis made = {.step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10)};
    made.low = floor(low / made.step + 1e-6) * made.step; /* the dots at the ends may stick out */
    made.high = ceil(high / made.step - 1e-6) * made.step;
    if (!(made.high > made.low)) made.low = made.high - made.step;
    made.begin = begin;
    made.end = end;
    return made;
}

static double place(const axis *along, double value) {
    return along->begin + (value - along->low) / (along->high - along->low) * (along->end - along->begin);
}

static void draw_axis(FILE *file, const axis *along, double bottom) {
    int digits = along->step < 1 ? (int)ceil(-log10(along->step) - 1e-9) : 0;
    int64_t ticks = llround((along->high - along->low) / along->step);
    for (int64_t i = 0; i <= ticks; i++) {
        double value = along->low + (double)i * along->step, x = place(along, value);
        char number[64];
        fprintf(file, "<path d=\"M%.1f %d V%.1f\" class=\"grid\"/>\n", x, TOP - 6, bottom);
        if (fabs(value) >= 1e4 || along->step >= 1e3)
            progress_count(value, number);
        else
            snprintf(number, sizeof number, "%.*f", digits, value);
        print_label(file, x, bottom + 18, "tick", number);
    }
}

static void draw_metrics(FILE *file, const comparison *what, const axis *along, int encoder, double y) {
    compare_spread test = compare_spread_of(what, encoder, COMPARE_TEST);
    char median[64];
    if (test.count == 0) {
        print_label(file, METRICS_BEGIN, y + 4, "note", "no run finished");
        return;
    }
    fprintf(file,
            "<path d=\"M%.1f %.1f H%.1f\" stroke=\"%s\" stroke-width=\"10\" stroke-linecap=\"round\" "
            "opacity=\"0.25\"/>\n",
            place(along, test.lowest), y, place(along, test.highest), colors[encoder]);
    fprintf(file, "<path d=\"M%.1f %.1f v22\" stroke=\"%s\" stroke-width=\"2.5\"/>\n",
            place(along, test.median), y - 11, colors[encoder]);
    for (int64_t s = 0; s < what->seeds; s++) {
        const compare_run *run = &what->runs[encoder * what->seeds + s];
        if (!run->figures.done) continue;
        fprintf(file,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\" stroke=\"#fff\" stroke-width=\"1\">"
                "<title>seed %" PRId64 ": %.4f</title></circle>\n",
                place(along, run->figures.test), y, colors[encoder], run->seed, run->figures.test);
    }
    snprintf(median, sizeof median, "%.4f", test.median);
    print_label(file, MEDIAN_END, y + 5, "number", median);
}

static void draw_costs(FILE *file, const comparison *what, compare_value cost, int encoder, double y) {
    compare_spread spread = compare_spread_of(what, encoder, cost);
    double most = compare_spread_all(what, cost).highest;
    char number[64];
    if (spread.count == 0) return;
    double length = most > 0 ? spread.median / most * (COSTS_END - COSTS_BEGIN) : 0;
    fprintf(file,
            "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"18\" rx=\"2\" fill=\"%s\" "
            "opacity=\"0.8\"/>\n",
            COSTS_BEGIN, y - 9, length < 1 ? 1 : length, colors[encoder]);
    if (cost == COMPARE_RATE)
        progress_count(spread.median, number);
    else
        compare_minutes(spread.median, number);
    print_label(file, COSTS_BEGIN + length + 8, y + 5, "value", number);
}

static void draw_frame(FILE *file, const comparison *what, compare_value cost, int height) {
    static const char style[] =
        "<style>text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
        "font-size:14px;fill:#1f2328}.title{font-size:18px;font-weight:600}.about{font-size:13px;"
        "fill:#57606a}.head{font-weight:600}.name{text-anchor:end;font-weight:600}.tick{font-size:12px;"
        "fill:#57606a;text-anchor:middle}.number{text-anchor:end}.headend{text-anchor:end;fill:#57606a}"
        ".note{fill:#57606a;font-style:italic}.grid{stroke:#d8dee4;stroke-width:1}</style>\n";
    const char *metric = compare_any(what)->figures.metric;
    char text[400], description[256];
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "role=\"img\">\n<title>",
            WIDTH, height, WIDTH, height);
    snprintf(text, sizeof text, "Encoders compared: test %s", metric);
    print_xml(file, text);
    fprintf(file, "</title>\n%s<rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#fff\"/>\n", style, WIDTH,
            height);
    const char *path = what->training.train.path[0], *slash = strrchr(path, '/');
    snprintf(text, sizeof text, "Encoders on %.200s", slash != NULL ? slash + 1 : path);
    print_label(file, 24, 34, "title", text);
    compare_describe(what, description, sizeof description);
    print_label(file, 24, 56, "about", description);
    snprintf(text, sizeof text, "test %s%s", metric,
             attn_metric_rises(metric) == 0 ? " (lower is better)" : "");
    print_label(file, METRICS_BEGIN, HEADING, "head", text);
    print_label(file, MEDIAN_END, HEADING, "headend", what->seeds > 1 ? "median" : "");
    print_label(file, COSTS_BEGIN, HEADING, "head",
                cost == COMPARE_RATE ? "tokens/s in training" : "minutes a run");
}

static void draw(FILE *file, const comparison *what) {
    /* Of runs that were given the same time, the time says nothing. */
    compare_value cost = what->training.time != NULL ? COMPARE_RATE : COMPARE_MINUTES;
    double bottom = TOP + ROW * what->encoders;
    compare_spread all = compare_spread_all(what, COMPARE_TEST);
    axis metrics = make_axis(all.lowest, all.highest, METRICS_BEGIN, METRICS_END, 5);
    draw_frame(file, what, cost, (int)bottom + FOOT);
    draw_axis(file, &metrics, bottom);
    fprintf(file, "<path d=\"M%d %d V%.1f\" class=\"grid\"/>\n", COSTS_BEGIN, TOP - 6, bottom);
    for (int i = 0; i < what->encoders; i++) {
        double y = TOP + ROW * (i + 0.5);
        print_label(file, NAME_END, y + 5, "name", what->encoder[i]);
        draw_metrics(file, what, &metrics, i, y);
        draw_costs(file, what, cost, i, y);
    }
    fputs("</svg>\n", file);
}

bool compare_write_svg(const comparison *what, const char *path) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    draw(file, what);
    bool whole = !ferror(file);
    int reason = errno;
    if (fclose(file) != 0) return false;
    errno = reason;
    return whole;
}
