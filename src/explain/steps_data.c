/* steps_data.c: the numbers of a layer as JSON, for the script of the page of steps (steps.h).
 *
 * Matrices are single precision, little-endian, in base64: exact, and half as long as digits. Where the layer
 * is small, all rows and heads are there; else one row and head, with the keys that it looks at most, and the
 * rest of them as one sum.
 */
#include "explain/steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/text.h>

#include "base/memory.h"

enum { MOST_ROWS = 64, MOST_NUMBERS = 1500000, MOST_OUTPUT_NUMBERS = 1200000 };

/* ---- JSON ---- */

/* A string that may stand inside an element of HTML: no <, > or &. */
static void put_json(at_writer *writer, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    at_put_char(writer, '"');
    while (*text) {
        int length = attn_text_json_glyph(&text, shown);
        if (length == 1 && strchr("<>&", shown[0]))
            at_print(writer, "\\u%04x", (unsigned)shown[0]);
        else
            at_put(writer, shown, (size_t)length);
    }
    at_put_char(writer, '"');
}

static void put_integer(at_writer *writer, const char *name, int64_t number) {
    at_print(writer, "\"%s\":%" PRId64 ",", name, number);
}

static void put_real(at_writer *writer, const char *name, double number) {
    at_print(writer, "\"%s\":", name);
    at_put_number(writer, number, 17);
    at_put_char(writer, ',');
}

/* Numbers are given one after another and become base64. */
typedef struct base64 {
    at_writer *writer;
    unsigned char left[3];
    int count;
} base64;

static void put_group(base64 *to) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = (unsigned)to->left[0] << 16 | (unsigned)to->left[1] << 8 | to->left[2];
    char text[4];
    for (int i = 0; i < 4; i++) text[i] = i <= to->count ? digits[bits >> (18 - 6 * i) & 63] : '=';
    at_put(to->writer, text, 4);
    memset(to->left, 0, sizeof to->left);
    to->count = 0;
}

static void put_float(base64 *to, float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    for (int i = 0; i < 4; i++) {
        to->left[to->count++] = (unsigned char)(bits >> 8 * i);
        if (to->count == 3) put_group(to);
    }
}

static base64 begin_numbers(at_writer *writer, const char *name) {
    base64 to = {.writer = writer};
    at_print(writer, "\"%s\":\"", name);
    return to;
}

static void end_numbers(base64 *to) {
    if (to->count) put_group(to);
    at_put(to->writer, "\",", 2);
}

/* ---- what is on the page ---- */

typedef struct shown {
    const at_row_steps *steps;
    at_writer *writer;
    int whole;                 /* all rows and heads */
    int64_t *rows, row_count;  /* queries */
    int64_t *keys, key_count;  /* keys */
    int64_t first_head, heads; /* those whose q is there */
    int64_t first_kv_head, kv_heads;
    double rest_weight, rest_total; /* of the keys that are not there */
    double *rest_values;            /* [value_width]: their weighted sum */
    int64_t rest;
} shown;

/* Columns first .. first + width - 1 of the rows in the list, of `stride` columns each. */
static void put_rows(shown *s, const char *name, const float *numbers, const int64_t *rows, int64_t count,
                     int64_t stride, int64_t first, int64_t width) {
    if (!numbers) return;
    base64 to = begin_numbers(s->writer, name);
    for (int64_t r = 0; r < count; r++) {
        for (int64_t c = 0; c < width; c++) put_float(&to, numbers[rows[r] * stride + first + c]);
    }
    end_numbers(&to);
}

static void put_block(shown *s, const char *name, const float *numbers, int64_t first, int64_t count) {
    if (!numbers) return;
    base64 to = begin_numbers(s->writer, name);
    for (int64_t i = 0; i < count; i++) put_float(&to, numbers[first + i]);
    end_numbers(&to);
}

/* heads x rows x keys; NaN: out of reach. */
static void put_weights(shown *s) {
    const at_step_numbers *n = s->steps->numbers;
    const attn_map *map = s->steps->map;
    base64 to = begin_numbers(s->writer, "weights");
    for (int64_t h = 0; h < s->heads; h++) {
        for (int64_t r = 0; r < s->row_count; r++) {
            int64_t entries = attn_map_entries(map, s->rows[r]);
            for (int64_t k = 0; k < s->key_count; k++) {
                float weight = NAN;
                for (int64_t c = 0; c < entries; c++) {
                    if (attn_map_key(map, s->rows[r], c) != s->keys[k]) continue;
                    float one = n->weights[attn_map_place(map, s->first_head + h, s->rows[r], c)];
                    weight = isnan(weight) ? one : weight + one; /* two edges between the same nodes */
                }
                put_float(&to, weight);
            }
        }
    }
    end_numbers(&to);
}

static void put_names(shown *s, const char *name, const at_strings *names, const int64_t *rows,
                      int64_t count) {
    at_print(s->writer, "\"%s\":[", name);
    for (int64_t i = 0; i < count; i++) {
        char buffer[AT_STEP_NAME];
        if (i) at_put_char(s->writer, ',');
        put_json(s->writer, at_step_name(names, rows[i], buffer));
    }
    at_print(s->writer, "],");
}

/* One for each row of the page, or one for all; none where rows are not those of the input. */
static void put_answers(shown *s) {
    const at_strings *answers = &s->steps->explanation->answers;
    int each = answers->count > 1 && s->steps->query_names == &s->steps->explanation->rows;
    int64_t one = 0;
    if (each && answers->count >= s->steps->numbers->queries)
        put_names(s, "answers", answers, s->rows, s->row_count);
    else
        put_names(s, "answers", answers, &one, answers->count == 1);
}

static void put_list(shown *s, const char *name, const int64_t *numbers, int64_t count) {
    at_print(s->writer, "\"%s\":[", name);
    for (int64_t i = 0; i < count; i++) at_print(s->writer, "%s%" PRId64, i ? "," : "", numbers[i]);
    at_print(s->writer, "],");
}

static int compare_down(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The keys of one row that are seen, the heaviest MOST_ROWS, in their order; the others become one sum.
 * sizes: [count] to work in. */
static void choose_keys(shown *s, double *sizes) {
    const at_row_steps *steps = s->steps;
    const at_step_numbers *n = steps->numbers;
    int64_t seen = 0, ties = MOST_ROWS;
    double least = -1;
    for (int64_t i = 0; i < steps->count; i++) {
        if (!steps->keys[i].masked) sizes[seen++] = fabs(steps->keys[i].weight);
    }
    qsort(sizes, (size_t)seen, sizeof *sizes, compare_down);
    if (seen > MOST_ROWS) least = sizes[MOST_ROWS - 1];
    for (int64_t i = 0; i < seen && sizes[i] > least; i++) ties--; /* room for those that weigh `least` */
    for (int64_t i = 0; i < steps->count; i++) {
        const at_step_key *one = &steps->keys[i];
        double size = fabs(one->weight);
        if (one->masked) continue;
        if (size > least || (size == least && ties-- > 0)) {
            s->keys[s->key_count++] = one->key;
            continue;
        }
        s->rest++;
        s->rest_weight += one->weight;
        s->rest_total += one->exponential;
        for (int64_t c = 0; c < n->value_width; c++)
            s->rest_values[c] += one->weight * (double)at_step_value_row(steps, one->key)[c];
    }
}

static void choose(shown *s, double *sizes) {
    const at_row_steps *steps = s->steps;
    const at_step_numbers *n = steps->numbers;
    int64_t maps = n->heads * n->width * n->columns * 3;
    s->whole = n->queries <= MOST_ROWS && n->keys <= MOST_ROWS;
    s->heads = n->heads;
    s->kv_heads = n->kv_heads;
    if (!s->whole || maps > MOST_NUMBERS) {
        s->first_head = steps->head;
        s->first_kv_head = steps->kv_head;
        s->heads = s->kv_heads = 1;
    }
    if (!s->whole) {
        s->rows[s->row_count++] = steps->row;
        choose_keys(s, sizes);
        return;
    }
    for (int64_t i = 0; i < n->queries; i++) s->rows[s->row_count++] = i;
    for (int64_t i = 0; i < n->keys; i++) s->keys[s->key_count++] = i;
}

static void put_sizes(shown *s, const attn_steps_options *options) {
    const at_row_steps *steps = s->steps;
    const at_step_numbers *n = steps->numbers;
    at_writer *w = s->writer;
    at_print(w, "\"title\":");
    put_json(w, options->title ? options->title : "");
    at_print(w, ",\"part\":\"%s\",\"score\":\"%s\",\"weighting\":\"%s\",",
             attn_map_part_name(steps->map->part), at_step_score_name(n->score),
             at_step_weighting_name(n->weighting));
    put_integer(w, "layer", steps->map->layer);
    put_integer(w, "row", steps->row);
    put_integer(w, "head", steps->head);
    put_integer(w, "whole", s->whole);
    put_integer(w, "allRows", n->queries);
    put_integer(w, "allKeys", n->keys);
    put_integer(w, "allHeads", n->heads);
    put_integer(w, "heads", s->heads);
    put_integer(w, "firstHead", s->first_head);
    put_integer(w, "kvHeads", s->kv_heads);
    put_integer(w, "width", n->width);
    put_integer(w, "valueWidth", n->value_width);
    put_integer(w, "columns", n->columns);
    put_integer(w, "sourceColumns", n->source ? n->source_columns : n->columns);
    put_integer(w, "resultColumns", n->result_columns);
    put_integer(w, "rotated", n->rotated);
    put_integer(w, "dotted", steps->dotted);
    put_integer(w, "softmax", n->weighting == ATTN_WEIGHTS_SOFTMAX);
    put_integer(w, "divisor", steps->divisor);
    put_integer(w, "average", n->average);
    put_integer(w, "edges", steps->map->first != NULL);
    put_integer(w, "edgeValues", n->edge_values);
    put_integer(w, "members", steps->explanation->members);
    put_integer(w, "member", steps->explanation->member < 0 ? 0 : steps->explanation->member);
    put_integer(w, "self", steps->query_names == steps->key_names && steps->map->part != ATTN_MAP_POOL);
    put_real(w, "scale", n->scale);
    put_real(w, "softcap", n->softcap);
    put_integer(w, "rest", s->rest);
    put_real(w, "restWeight", s->rest_weight);
    put_real(w, "restTotal", s->rest_total);
    put_integer(w, "biased", steps->biased);
    at_print(w, "\"restValues\":[");
    for (int64_t c = 0; c < n->value_width; c++) {
        if (c) at_put_char(w, ',');
        at_put_number(w, s->rest_values[c], 17);
    }
    at_print(w, "],");
}

static void put_matrices(shown *s) {
    const at_row_steps *steps = s->steps;
    const at_step_numbers *n = steps->numbers;
    int64_t width = n->width, values = n->value_width, beside = n->heads * values;
    int64_t source_columns = n->source ? n->source_columns : n->columns;
    put_rows(s, "x", n->x, s->rows, s->row_count, n->columns, 0, n->columns);
    if (n->source || !s->whole)
        put_rows(s, "source", n->source ? n->source : n->x, s->keys, s->key_count, source_columns, 0,
                 source_columns);
    put_rows(s, "q", n->query, s->rows, s->row_count, n->heads * width, s->first_head * width,
             s->heads * width);
    put_rows(s, "k", n->key, s->keys, s->key_count, n->kv_heads * width, s->first_kv_head * width,
             s->kv_heads * width);
    put_rows(s, "v", n->value, s->keys, s->key_count, n->kv_heads * values, s->first_kv_head * values,
             s->kv_heads * values);
    put_rows(s, "output", n->output, s->rows, s->row_count, beside, 0, beside);
    put_rows(s, "logSumExp", n->log_sum_exp, s->rows, s->row_count, n->heads, s->first_head, s->heads);
    put_block(s, "wq", n->query_weight, s->first_head * width * n->columns, s->heads * width * n->columns);
    put_block(s, "bq", n->query_bias, s->first_head * width, s->heads * width);
    put_block(s, "wk", n->key_weight, s->first_kv_head * width * source_columns,
              s->kv_heads * width * source_columns);
    put_block(s, "bk", n->key_bias, s->first_kv_head * width, s->kv_heads * width);
    put_block(s, "wv", n->value_weight, s->first_kv_head * values * source_columns,
              s->kv_heads * values * source_columns);
    put_block(s, "bv", n->value_bias, s->first_kv_head * values, s->kv_heads * values);
    if (n->output_weight && n->result_columns * beside <= MOST_OUTPUT_NUMBERS)
        put_block(s, "wo", n->output_weight, 0, n->result_columns * beside);
    put_block(s, "bo", n->output_bias, 0, n->result_columns);
    put_rows(s, "result", n->result, s->rows, s->row_count, n->result_columns, 0, n->result_columns);
    put_weights(s);
}

attn_status at_row_steps_data(const at_row_steps *steps, const attn_steps_options *options,
                              at_writer *writer) {
    attn_context *context = steps->explanation->context;
    const at_step_numbers *n = steps->numbers;
    shown s = {.steps = steps, .writer = writer};
    s.rows = at_allocate(context, n->queries + 1, sizeof *s.rows, "the rows of a page");
    s.keys = at_allocate(context, n->keys + steps->count + 1, sizeof *s.keys, "the keys of a page");
    s.rest_values = at_allocate(context, n->value_width, sizeof(double), "the keys of a page");
    double *sizes = at_allocate(context, steps->count, sizeof *sizes, "the keys of a page");
    if (s.rows && s.keys && s.rest_values && sizes) {
        choose(&s, sizes);
        at_put_char(writer, '{');
        put_sizes(&s, options);
        put_list(&s, "rows", s.rows, s.row_count);
        put_list(&s, "keys", s.keys, s.key_count);
        put_names(&s, "rowNames", steps->query_names, s.rows, s.row_count);
        put_names(&s, "keyNames", steps->key_names, s.keys, s.key_count);
        put_answers(&s);
        put_matrices(&s);
        at_print(writer, "\"end\":0}");
    } else {
        writer->status = ATTN_OUT_OF_MEMORY;
    }
    at_release(context, s.rows);
    at_release(context, s.keys);
    at_release(context, s.rest_values);
    at_release(context, sizes);
    return writer->status;
}
