/* steps_text.c: the steps of one row as text for a terminal: a heading, the formula and a plain sentence for
 * each step, and its numbers in columns (steps.h). */
#include "explain/steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/text.h>

enum { WIDE_CELL = 9, CELL = 8, NUMBER_TEXT = 32, LEAST_WIDTH = 48, MOST_WIDTH = 1000, MOST_NAME = 16 };

typedef struct page {
    const at_row_steps *steps;
    at_writer *writer;
    int64_t width;
    int name_cells; /* of names in tables */
    int cell;       /* of a number in the table of scores */
} page;

/* Three decimals, fewer of large numbers; what would be 0.000 and is not, as a power of ten. */
static void number_text(double number, char text[NUMBER_TEXT]) {
    double size = fabs(number);
    if (isnan(number))
        snprintf(text, NUMBER_TEXT, "NaN");
    else if (isinf(number))
        snprintf(text, NUMBER_TEXT, number < 0 ? "-∞" : "∞");
    else if (size >= 1e6 || (size < 5e-4 && size > 0))
        snprintf(text, NUMBER_TEXT, "%.1e", number);
    else
        snprintf(text, NUMBER_TEXT, "%.*f",
                 size >= 1e4   ? 0
                 : size >= 1e3 ? 1
                 : size >= 1e2 ? 2
                               : 3,
                 number + 0.0);
}

static void put_spaces(at_writer *writer, int64_t count) {
    for (int64_t i = 0; i < count; i++) at_put_char(writer, ' ');
}

static void put_right(at_writer *writer, const char *text, int cells) {
    put_spaces(writer, cells - attn_text_cells(text));
    at_put(writer, text, strlen(text));
}

/* Of a vector, what is next to nothing is 0. */
static void put_component(at_writer *writer, double number) {
    char text[NUMBER_TEXT];
    number_text(fabs(number) < 5e-4 ? 0 : number, text);
    put_right(writer, text, CELL);
}

static void put_number(at_writer *writer, double number, int cells) {
    char text[NUMBER_TEXT];
    number_text(number, text);
    put_right(writer, text, cells);
}

/* A name from data, escaped, cut to `cells` with …, then filled up with spaces. */
static void put_name(at_writer *writer, const char *name, int cells) {
    char shown[ATTN_GLYPH_BYTES];
    int used = 0, whole = attn_text_cells(name) <= cells;
    while (*name) {
        const char *next = name;
        int wide = attn_text_glyph(&next, shown);
        if (!whole && used + wide > cells - 1) break;
        at_put(writer, shown, strlen(shown));
        used += wide;
        name = next;
    }
    if (!whole) {
        at_put(writer, "…", strlen("…"));
        used++;
    }
    put_spaces(writer, cells - used);
}

/* In quotes, for sentences; as long as it is, up to 40 cells. */
static void put_quoted(at_writer *writer, const char *name) {
    int cells = attn_text_cells(name);
    at_put_char(writer, '"');
    put_name(writer, name, cells > 40 ? 40 : cells);
    at_put_char(writer, '"');
}

static const char *query_name(const at_row_steps *steps, char buffer[AT_STEP_NAME]) {
    return at_step_name(steps->query_names, steps->row, buffer);
}

static const char *key_name(const at_row_steps *steps, int64_t key, char buffer[AT_STEP_NAME]) {
    return at_step_name(steps->key_names, key, buffer);
}

/* "  label │ 0.1 0.2 … (64 numbers)": as many as fit, at most `most`. One of floats, doubles is not NULL. */
static void put_vector(page *p, const char *label, const float *floats, const double *doubles, int64_t count,
                       int64_t most) {
    char rest[64];
    snprintf(rest, sizeof rest, " … (%" PRId64 " numbers)", count);
    int64_t room = p->width - 2 - p->name_cells - 2;
    int64_t fit = room / CELL;
    if (fit > most) fit = most;
    if (fit < count) {
        fit = (room - attn_text_cells(rest)) / CELL;
        if (fit > most) fit = most;
        if (fit < 1) fit = 1;
    }
    if (fit > count) fit = count;
    put_spaces(p->writer, 2);
    put_name(p->writer, label, p->name_cells);
    at_print(p->writer, " │");
    for (int64_t c = 0; c < fit; c++) put_component(p->writer, floats ? (double)floats[c] : doubles[c]);
    at_print(p->writer, "%s\n", fit < count ? rest : "");
}

/* Text broken at spaces to the width; `indent` cells precede every line but the first, which already has
 * them. */
static void put_wrapped(page *p, const char *text, int64_t indent) {
    int64_t used = indent;
    while (*text) {
        char word[128];
        size_t length = strcspn(text, " ");
        if (length >= sizeof word) length = sizeof word - 1;
        memcpy(word, text, length);
        word[length] = 0;
        int cells = attn_text_cells(word);
        if (used > indent && used + 1 + cells > p->width) {
            at_put_char(p->writer, '\n');
            put_spaces(p->writer, indent);
            used = indent;
        } else if (used > indent) {
            at_put_char(p->writer, ' ');
            used++;
        }
        at_put(p->writer, word, length);
        used += cells;
        text += length;
        while (*text == ' ') text++;
    }
    at_put_char(p->writer, '\n');
}

static void put_sentences(page *p, const char *text) {
    put_spaces(p->writer, 2);
    put_wrapped(p, text, 2);
}

/* "  q·k       what it is": the term in its column, the text beside it. */
static void put_term(page *p, const char *term, int cells, const char *text) {
    put_spaces(p->writer, 2);
    at_put(p->writer, term, strlen(term));
    put_spaces(p->writer, cells - attn_text_cells(term));
    put_wrapped(p, text, 2 + cells);
}

static void put_heading(page *p, int number, const char *heading) {
    at_print(p->writer, "\n%d. %s\n\n", number, heading);
}

/* ---- the steps ---- */

static const char *part_title(attn_map_part part) {
    switch (part) {
    case ATTN_MAP_ENCODER: return "Self-attention of the encoder";
    case ATTN_MAP_DECODER: return "Self-attention of the decoder";
    case ATTN_MAP_SOURCE: return "Cross-attention from what is written to the input";
    case ATTN_MAP_POOL: return "Attention pooling";
    }
    return "Attention";
}

/* The names in one line after another, the row's own in brackets. */
static void put_names(page *p, const at_strings *names, int64_t count, int64_t chosen) {
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        char buffer[AT_STEP_NAME];
        const char *name = at_step_name(names, i, buffer);
        int cells = attn_text_cells(name), most = (int)p->width - 6;
        if (cells > most) cells = most;
        int64_t needed = cells + (i == chosen ? 3 : 1);
        if (used == 0 || used + needed > p->width) {
            at_print(p->writer, "%s ", used == 0 ? "" : "\n");
            used = 1;
        }
        at_print(p->writer, i == chosen ? " [" : " ");
        put_name(p->writer, name, cells);
        at_print(p->writer, i == chosen ? "]" : "");
        used += needed;
    }
    at_put_char(p->writer, '\n');
}

static void put_opening(page *p, const attn_steps_options *options) {
    const at_row_steps *steps = p->steps;
    const attn_map *map = steps->map;
    char buffer[AT_STEP_NAME];
    const char *title = at_row_steps_title(steps, options);
    at_print(p->writer, "Attention, step by step%s", *title ? ": " : "");
    int cells = attn_text_cells(title), most = (int)p->width - 26;
    put_name(p->writer, title, cells > most ? most : cells);
    at_print(p->writer, "\n%s, layer %" PRId64 ", head %" PRId64 " of %" PRId64 "\n\n", part_title(map->part),
             map->layer + 1, steps->head + 1, map->heads);
    int one_list = steps->query_names == steps->key_names;
    put_names(p, steps->key_names, map->keys, one_list ? steps->row : -1);
    if (!one_list && map->part != ATTN_MAP_POOL) {
        at_print(p->writer, "  →\n");
        put_names(p, steps->query_names, map->queries, steps->row);
    }
    at_print(p->writer, "\n  Every number of row %" PRId64 ", ", steps->row + 1);
    put_quoted(p->writer, query_name(steps, buffer));
    at_print(p->writer, ".\n");
    if (steps->explanation->members > 1) {
        at_print(p->writer, "  The numbers are those of network %d of %d.\n",
                 steps->explanation->member < 0 ? 1 : steps->explanation->member + 1,
                 steps->explanation->members);
    }
}

/* "q = x W_qᵀ + b", or the name alone where there is no such map. */
static void put_map(page *p, const char *name, const float *weight, const float *bias, const char *text) {
    char term[64];
    snprintf(term, sizeof term, weight ? "%s = x W_%sᵀ%s" : "%s", name, name, bias ? " + b" : "");
    put_term(p, term, 16, text);
}

static void put_query(page *p) {
    const at_row_steps *steps = p->steps;
    const at_step_numbers *n = steps->numbers;
    char text[128];
    put_heading(p, 1, n->x ? "From x to the query q" : "The query q");
    if (n->x) {
        snprintf(text, sizeof text, "the row as %" PRId64 " numbers, as this layer gets it", n->columns);
        put_term(p, "x", 16, text);
    }
    put_map(p, "q", n->x ? n->query_weight : NULL, n->query_bias,
            steps->map->part == ATTN_MAP_POOL
                ? "the query, which was learned: what is looked for in every input"
                : "the query: what the row looks for");
    if (n->rotated) {
        put_sentences(
            p, "Rotary positions then turn q and k by angles that grow with the position; lengths stay.");
    }
    at_put_char(p->writer, '\n');
    if (n->x) put_vector(p, "x", n->x + steps->row * n->columns, NULL, n->columns, 8);
    if (n->rotated && steps->plain_query)
        put_vector(p, "before turning", NULL, steps->plain_query, n->width, INT64_MAX);
    put_vector(p, "q", at_step_query(steps), NULL, n->width, INT64_MAX);
}

static void put_keys_and_values(page *p) {
    const at_row_steps *steps = p->steps;
    const at_step_numbers *n = steps->numbers;
    put_heading(p, 2, "Keys and values of the rows that it may see");
    put_map(p, "k", n->key_weight, n->key_bias, "the key: what a row can be found by");
    put_map(p, "v", n->value_weight, n->value_bias, "the value: what a row hands on");
    for (int kind = 0; kind < 2; kind++) {
        at_print(p->writer, "\n  %s\n", kind == 0 ? "k" : "v");
        for (int64_t i = 0; i < steps->count; i++) {
            const at_step_key *one = &steps->keys[i];
            char buffer[AT_STEP_NAME];
            if (one->masked) continue;
            put_vector(p, key_name(steps, one->key, buffer),
                       kind == 0 ? at_step_key_row(steps, one->key) : at_step_value_row(steps, one->key),
                       NULL, kind == 0 ? n->width : n->value_width, INT64_MAX);
        }
    }
    if (steps->count == steps->seen && !steps->unlisted) return;
    at_print(p->writer, "\n  %" PRId64 " of %" PRId64 " rows are not seen: %s.\n",
             steps->count - steps->seen + steps->unlisted, steps->count + steps->unlisted,
             steps->map->first ? "no edge leads to them"
             : steps->unlisted ? "they are masked or out of reach"
                               : "they are masked");
}

static void put_score_recipe(page *p) {
    const at_row_steps *steps = p->steps;
    const at_step_numbers *n = steps->numbers;
    char text[256];
    if (!steps->dotted) {
        snprintf(text, sizeof text,
                 "The score of this layer is %s, not a dot product: q·k is no part of it.%s",
                 at_step_score_name(n->score),
                 n->weighting == ATTN_WEIGHTS_SOFTMAX ? " It is had back from the weights." : "");
        put_sentences(p, text);
        return;
    }
    put_term(p, "q·k", 10, "query times key, number by number, added up");
    if (fabs(n->scale * sqrt((double)n->width) - 1) < 1e-6)
        snprintf(text, sizeof text, "q·k ÷ √%" PRId64 " = q·k × %.4g: longer vectors would give larger sums",
                 n->width, n->scale);
    else
        snprintf(text, sizeof text, "q·k × %.4g", n->scale);
    put_term(p, "scaled", 10, text);
    if (n->softcap > 0) {
        snprintf(text, sizeof text, "and kept within %.4g: %.4g·tanh(scaled ÷ %.4g)", n->softcap, n->softcap,
                 n->softcap);
        put_term(p, "", 10, text);
    }
    if (steps->biased) put_term(p, "bias", 10, "what the layer adds by position, distance or edge");
}

static void put_recipe(page *p) {
    const at_row_steps *steps = p->steps;
    const at_step_numbers *n = steps->numbers;
    char text[256];
    put_score_recipe(p);
    if (n->weighting == ATTN_WEIGHTS_SOFTMAX) {
        if (steps->shift != 0) {
            snprintf(text, sizeof text,
                     "e^(score - %.4g): the largest score is taken off first, which changes no weight",
                     steps->shift);
            put_term(p, "e^", 10, text);
        }
        put_term(p, "weight", 10, "softmax: e^score ÷ the total of its column; weights add up to 1");
    } else {
        snprintf(text, sizeof text, "%s%s: no softmax, so weights need not add up to 1",
                 at_step_weighting_name(n->weighting),
                 steps->divisor > 1 ? ", divided by how many rows are seen" : "");
        put_term(p, "weight", 10, text);
    }
    if (steps->count > steps->seen)
        put_term(p, "masked", 10, "not seen: the score counts as -∞, so the weight is 0");
    at_put_char(p->writer, '\n');
}

/* The columns of the table, and which of them this layer has. */
enum { DOT, SCALED, BIAS, SCORE, EXPONENTIAL, WEIGHT, COLUMNS };

static int has_column(const at_row_steps *steps, int column) {
    int softmax = steps->numbers->weighting == ATTN_WEIGHTS_SOFTMAX;
    switch (column) {
    case DOT:
    case SCALED: return steps->dotted;
    case BIAS: return steps->biased;
    case SCORE: return steps->biased || (!steps->dotted && softmax);
    case EXPONENTIAL: return softmax;
    default: return 1;
    }
}

static void put_table_row(page *p, const at_step_key *one) {
    const at_row_steps *steps = p->steps;
    const double numbers[COLUMNS] = {one->dot,   one->scaled,      one->bias,
                                     one->score, one->exponential, one->softmax};
    char buffer[AT_STEP_NAME];
    put_spaces(p->writer, 2);
    put_name(p->writer, key_name(steps, one->key, buffer), p->name_cells);
    at_print(p->writer, " │");
    for (int c = 0; c < COLUMNS; c++) {
        if (!has_column(steps, c)) continue;
        if (c == BIAS && one->masked)
            put_spaces(p->writer, p->cell);
        else
            put_number(p->writer, numbers[c], p->cell);
    }
    at_print(p->writer, one->masked ? "  masked\n" : "\n");
}

static void put_scores(page *p) {
    static const char *const names[COLUMNS] = {"q·k", "scaled", "+ bias", "= score", "e^score", "weight"};
    const at_row_steps *steps = p->steps;
    double total = 0;
    put_heading(p, 3, steps->dotted ? "The query meets every key" : "Scores and weights");
    put_recipe(p);
    put_spaces(p->writer, 2 + p->name_cells);
    at_print(p->writer, " │");
    for (int c = 0; c < COLUMNS; c++) {
        const char *name = c == EXPONENTIAL && steps->shift != 0 ? "e^" : names[c];
        if (c == SCORE && !steps->biased) name = "score";
        if (has_column(steps, c)) put_right(p->writer, name, p->cell);
    }
    at_put_char(p->writer, '\n');
    for (int64_t i = 0; i < steps->count; i++) {
        put_table_row(p, &steps->keys[i]);
        total += steps->keys[i].softmax;
    }
    put_spaces(p->writer, 2);
    put_name(p->writer, "total", p->name_cells);
    at_print(p->writer, " │");
    for (int c = 0; c < EXPONENTIAL; c++) put_spaces(p->writer, has_column(steps, c) ? p->cell : 0);
    if (has_column(steps, EXPONENTIAL)) put_number(p->writer, steps->total, p->cell);
    put_number(p->writer, total, p->cell);
    at_put_char(p->writer, '\n');
}

static void put_weighted_sum(page *p) {
    const at_row_steps *steps = p->steps;
    const at_step_numbers *n = steps->numbers;
    double term[ATTN_MAX_CHANNELS];
    put_heading(p, 4, "The values, mixed");
    put_term(p, "o = Σ weight·v", 16, "every value times its weight, added up");
    at_put_char(p->writer, '\n');
    for (int64_t i = 0; i < steps->count; i++) {
        const at_step_key *one = &steps->keys[i];
        char buffer[AT_STEP_NAME], label[AT_STEP_NAME + 256];
        if (one->masked) continue;
        const float *value = at_step_value_row(steps, one->key);
        for (int64_t c = 0; c < n->value_width && c < ATTN_MAX_CHANNELS; c++)
            term[c] = one->weight * (double)value[c];
        snprintf(label, sizeof label, "%.3f·%s", one->weight, key_name(steps, one->key, buffer));
        put_vector(p, label, NULL, term, n->value_width, INT64_MAX);
    }
    put_vector(p, "o", NULL, steps->output, n->value_width, INT64_MAX);
    if (n->edge_values)
        put_sentences(
            p, "Values here have a part of the edge that is not kept, so the sum is not the whole output.");
}

static void put_heads(page *p) {
    const at_row_steps *steps = p->steps;
    const at_step_numbers *n = steps->numbers;
    int step = 5;
    if (n->heads > 1) {
        put_heading(p, step++, "All heads, side by side");
        at_print(p->writer,
                 "  c = (o of head 1, o of head 2, …)    %" PRId64 " × %" PRId64 " = %" PRId64 " numbers\n\n",
                 n->heads, n->value_width, n->heads * n->value_width);
        for (int64_t h = 0; h < n->heads; h++) {
            char label[64];
            snprintf(label, sizeof label, "head %" PRId64 "%s", h + 1, h == steps->head ? " (this)" : "");
            put_vector(p, label, n->output + (steps->row * n->heads + h) * n->value_width, NULL,
                       n->value_width, INT64_MAX);
        }
    }
    if (!steps->result) return;
    put_heading(p, step, "Mixed by W_o");
    put_term(p, n->output_bias ? "result = c W_oᵀ + b" : "result = c W_oᵀ", 21,
             "what the layer hands on for this row");
    at_put_char(p->writer, '\n');
    put_vector(p, "result", NULL, steps->result, n->result_columns, INT64_MAX);
}

static void put_checks(page *p) {
    const at_row_steps *steps = p->steps;
    char text[512];
    double largest = 0;
    at_put_char(p->writer, '\n');
    for (int i = 0; i < steps->check_count; i++) {
        const at_step_check *check = &steps->checks[i];
        if (check->difference > largest) largest = check->difference;
        if (check->agrees) continue;
        snprintf(
            text, sizeof text,
            "DIFFERS: %s computed here and %s of the network are %.3g apart, and rounding explains %.1e. "
            "These numbers do not belong together.",
            check->what, check->what, check->difference, check->tolerance);
        put_sentences(p, text);
    }
    if (!at_row_steps_agree(steps)) return;
    snprintf(text, sizeof text,
             "Computed again in double precision; the network's own numbers agree: the largest difference is "
             "%.1e, which is rounding.%s",
             largest,
             steps->biased ? " (The bias is what is left of the network's score after the scaled product.)"
                           : "");
    put_sentences(p, text);
}

/* Names are as wide as the longest that is shown, within what the table leaves of the width. */
static void fit_columns(page *p) {
    const at_row_steps *steps = p->steps;
    int columns = 0, cells = 14, room = (int)p->width - 4 - (steps->count > steps->seen ? 8 : 0);
    for (int c = 0; c < COLUMNS; c++) columns += has_column(steps, c);
    p->cell = room - columns * WIDE_CELL < cells ? CELL : WIDE_CELL;
    room -= columns * p->cell;
    for (int64_t i = 0; i < steps->count; i++) {
        char buffer[AT_STEP_NAME];
        int name = 6 + attn_text_cells(key_name(steps, steps->keys[i].key, buffer)); /* "0.123·name" */
        if (name > cells) cells = name;
    }
    if (cells > MOST_NAME) cells = MOST_NAME;
    if (cells > room) cells = room;
    p->name_cells = cells < 8 ? 8 : cells;
}

attn_status at_row_steps_text(const at_row_steps *steps, const attn_steps_options *options,
                              at_writer *writer) {
    page p = {.steps = steps, .writer = writer, .width = options->width};
    if (p.width < LEAST_WIDTH) p.width = LEAST_WIDTH;
    if (p.width > MOST_WIDTH) p.width = MOST_WIDTH;
    fit_columns(&p);
    put_opening(&p, options);
    put_query(&p);
    put_keys_and_values(&p);
    put_scores(&p);
    put_weighted_sum(&p);
    put_heads(&p);
    put_checks(&p);
    return writer->status;
}
