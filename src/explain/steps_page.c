/* steps_page.c: the page of steps: one file with its style, its script and its numbers, and the same as plain
 * tables for readers without scripting (steps.h). */
#include "explain/steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/text.h>

#include "explain/embedded.h"

enum { MOST_CELLS = 16, NUMBER_TEXT = 32 };

/* Text of the document: escaped for HTML, and what cannot be shown as on a terminal. */
static void put_text(at_writer *writer, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text) {
        attn_text_glyph(&text, shown);
        if (shown[1] == 0 && strchr("<>&\"'", shown[0]))
            at_print(writer, shown[0] == '<' ? "&lt;" : shown[0] == '>' ? "&gt;" : "&#%d;", shown[0]);
        else
            at_put(writer, shown, strlen(shown));
    }
}

static void put_cell(at_writer *writer, double number) {
    double size = fabs(number);
    if (isinf(number))
        at_print(writer, number < 0 ? "<td>−∞" : "<td>∞");
    else
        at_print(writer, size >= 1e6 || (size < 5e-4 && size > 0) ? "<td>%.1e" : "<td>%.3f", number);
}

static void put_name_cell(at_writer *writer, const at_strings *names, int64_t row) {
    char buffer[AT_STEP_NAME];
    at_print(writer, "<tr><th scope=row><bdi>");
    put_text(writer, at_step_name(names, row, buffer));
    at_print(writer, "</bdi>");
}

/* A row of a table: one of floats, doubles is not NULL. */
static void put_vector(at_writer *writer, const float *floats, const double *doubles, int64_t count) {
    for (int64_t c = 0; c < count && c < MOST_CELLS; c++)
        put_cell(writer, floats ? (double)floats[c] : doubles[c]);
    if (count > MOST_CELLS) at_print(writer, "<td>… (%" PRId64 " numbers)", count);
    at_put_char(writer, '\n');
}

static void put_named_vector(at_writer *writer, const char *name, const float *floats, const double *doubles,
                             int64_t count) {
    at_print(writer, "<tr><th scope=row>%s", name);
    put_vector(writer, floats, doubles, count);
}

static void put_rows(const at_row_steps *steps, at_writer *writer, const char *name, int values) {
    const at_step_numbers *n = steps->numbers;
    at_print(writer, "<table><caption>%s</caption>\n", name);
    for (int64_t i = 0; i < steps->count; i++) {
        int64_t key = steps->keys[i].key;
        if (steps->keys[i].masked) continue;
        put_name_cell(writer, steps->key_names, key);
        put_vector(writer, values ? at_step_value_row(steps, key) : at_step_key_row(steps, key), NULL,
                   values ? n->value_width : n->width);
    }
    at_print(writer, "</table>\n");
}

static void put_scores(const at_row_steps *steps, at_writer *writer) {
    int softmax = steps->numbers->weighting == ATTN_WEIGHTS_SOFTMAX;
    at_print(writer, "<h2>Scores and weights</h2>\n<table><tr><th scope=col>key%s%s%s<th scope=col>weight\n",
             steps->dotted ? "<th scope=col>q·k<th scope=col>scaled" : "",
             steps->biased ? "<th scope=col>bias" : "",
             softmax ? "<th scope=col>score<th scope=col>e<sup>score</sup>" : "");
    for (int64_t i = 0; i < steps->count; i++) {
        const at_step_key *one = &steps->keys[i];
        put_name_cell(writer, steps->key_names, one->key);
        if (steps->dotted) {
            put_cell(writer, one->dot);
            put_cell(writer, one->scaled);
        }
        if (steps->biased && one->masked) at_print(writer, "<td>masked");
        if (steps->biased && !one->masked) put_cell(writer, one->bias);
        if (softmax) {
            put_cell(writer, one->score);
            put_cell(writer, one->exponential);
        }
        put_cell(writer, one->softmax);
        at_print(writer, one->masked ? " (masked)\n" : "\n");
    }
    at_print(writer, "</table>\n");
    if (!steps->dotted)
        at_print(writer, "<p>The score of this layer is %s.</p>\n",
                 at_step_score_name(steps->numbers->score));
}

static void put_checks(const at_row_steps *steps, at_writer *writer) {
    double largest = 0;
    for (int i = 0; i < steps->check_count; i++) {
        const at_step_check *check = &steps->checks[i];
        if (check->difference > largest) largest = check->difference;
        if (check->agrees) continue;
        at_print(writer,
                 "<p><strong>DIFFERS: %s computed here and %s of the network are %.3g apart, and rounding "
                 "explains %.1e.</strong></p>\n",
                 check->what, check->what, check->difference, check->tolerance);
    }
    if (at_row_steps_agree(steps))
        at_print(writer, "<p>Computed again in double precision; the largest difference is %.1e.</p>\n",
                 largest);
}

/* What readers without scripting see. */
static void put_plain(const at_row_steps *steps, at_writer *writer) {
    const at_step_numbers *n = steps->numbers;
    char buffer[AT_STEP_NAME];
    at_print(writer, "<p>Layer %" PRId64 ", head %" PRId64 ", row %" PRId64 ": <b><bdi>",
             steps->map->layer + 1, steps->head + 1, steps->row + 1);
    put_text(writer, at_step_name(steps->query_names, steps->row, buffer));
    at_print(
        writer,
        "</bdi></b></p>\n<h2>The row and its query: q = x W<sub>q</sub><sup>T</sup> + b</h2>\n<table>\n");
    if (n->x) put_named_vector(writer, "x", n->x + steps->row * n->columns, NULL, n->columns);
    put_named_vector(writer, "q", at_step_query(steps), NULL, n->width);
    at_print(writer, "</table>\n<h2>Keys and values of the rows that it sees</h2>\n");
    put_rows(steps, writer, "k", 0);
    put_rows(steps, writer, "v", 1);
    put_scores(steps, writer);
    at_print(writer, "<h2>Weighted sum, heads side by side, W<sub>o</sub></h2>\n<table>\n");
    put_named_vector(writer, "Σ weight·v", NULL, steps->output, n->value_width);
    for (int64_t h = 0; h < n->heads; h++) {
        char name[40];
        snprintf(name, sizeof name, "head %" PRId64, h + 1);
        put_named_vector(writer, name, n->output + (steps->row * n->heads + h) * n->value_width, NULL,
                         n->value_width);
    }
    if (steps->result) put_named_vector(writer, "result", NULL, steps->result, n->result_columns);
    at_print(writer, "</table>\n");
    put_checks(steps, writer);
}

attn_status at_row_steps_page(const at_row_steps *steps, const attn_steps_options *options,
                              at_writer *writer) {
    const char *title = at_row_steps_title(steps, options);
    at_print(writer, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                     "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
                     "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                     "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=color-scheme content=\"light dark\">\n<title>Attention, step by step");
    at_print(writer, *title ? ": " : "");
    put_text(writer, title);
    at_print(writer, "</title>\n<style>\n");
    at_put(writer, at_row_steps_style, at_row_steps_style_length);
    at_print(writer, "</style>\n</head>\n<body>\n<div id=plain>\n<h1>Attention, step by step%s",
             *title ? ": " : "");
    put_text(writer, title);
    at_print(writer, "</h1>\n");
    put_plain(steps, writer);
    at_print(writer, "</div>\n<script type=\"application/json\" id=numbers>");
    at_row_steps_data(steps, options, writer);
    at_print(writer, "</script>\n<script>\n");
    at_put(writer, at_row_steps_script, at_row_steps_script_length);
    at_print(writer, "</script>\n</body>\n</html>\n");
    return writer->status;
}
