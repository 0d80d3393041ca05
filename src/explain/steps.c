/* steps.c: every number of one row in one head, computed again in double and compared with what the network
 * gave (steps.h). */
#include "explain/steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"

/* What single precision may be off by, for each unit of the sum of the absolute terms. */
#define ROUNDING 4e-6
enum { MOST_LISTED = 64 }; /* with more keys, those out of reach are counted, not listed */

void attn_steps_options_init_sized(attn_steps_options *options, size_t size) {
    attn_steps_options own = {.size = sizeof own};
    own.part = -1;
    own.width = 80;
    at_options_give(options, size, &own, sizeof own);
}

const char *at_step_name(const at_strings *names, int64_t row, char buffer[AT_STEP_NAME]) {
    if (names && row < names->count && at_string_length(names, row) > 0) return at_string(names, row);
    snprintf(buffer, AT_STEP_NAME, "row %" PRId64, row + 1);
    return buffer;
}

const char *at_step_score_name(attn_score score) {
    switch (score) {
    case ATTN_SCORE_DOT: return "scaled dot product";
    case ATTN_SCORE_ADDITIVE: return "additive";
    case ATTN_SCORE_GAT: return "additive (GAT)";
    case ATTN_SCORE_GATV2: return "additive (GATv2)";
    case ATTN_SCORE_NONE: return "fixed";
    }
    return "unknown";
}

const char *at_step_weighting_name(attn_weighting weighting) {
    switch (weighting) {
    case ATTN_WEIGHTS_SOFTMAX: return "softmax";
    case ATTN_WEIGHTS_RELU: return "ReLU";
    case ATTN_WEIGHTS_SIGMOID: return "sigmoid";
    case ATTN_WEIGHTS_RAW: return "the score itself";
    }
    return "unknown";
}

const char *at_row_steps_title(const at_row_steps *steps, const attn_steps_options *options) {
    const at_strings *answers = &steps->explanation->answers;
    if (options->title) return options->title;
    if (answers->count == 1) return at_string(answers, 0);
    if (steps->query_names == &steps->explanation->rows && steps->row < answers->count)
        return at_string(answers, steps->row);
    return "";
}

int at_row_steps_agree(const at_row_steps *steps) {
    for (int i = 0; i < steps->check_count; i++) {
        if (!steps->checks[i].agrees) return 0;
    }
    return 1;
}

/* ---- comparisons ---- */

static at_step_check *new_check(at_row_steps *steps, const char *what) {
    at_step_check *check = &steps->checks[steps->check_count++];
    check->what = what;
    check->difference = check->tolerance = 0;
    check->agrees = 1;
    return check;
}

/* Keeps the difference that is largest beside what rounding explains. A NaN agrees with nothing. */
static void compare(at_step_check *check, double computed, double given, double size) {
    double difference = fabs(computed - given), tolerance = ROUNDING * size + 1e-12;
    if (!(difference <= tolerance)) check->agrees = 0;
    if (!check->tolerance || !(difference * check->tolerance <= check->difference * tolerance)) {
        check->difference = difference;
        check->tolerance = tolerance;
    }
}

/* Number `out` of x W^T + b; *size: the sum of the absolute terms. */
static double mapped(const float *x, int64_t columns, const float *weight, const float *bias, int64_t out,
                     double *size) {
    double sum = bias ? (double)bias[out] : 0;
    *size = fabs(sum);
    for (int64_t c = 0; c < columns; c++) {
        double term = (double)x[c] * (double)weight[out * columns + c];
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* The rows first .. first + width - 1 of a map against what was captured. Rotary positions turn a vector and
 * keep its length, which is then compared. plain: NULL, or [width]. */
static void compare_map(at_step_check *check, const float *x, int64_t columns, const float *weight,
                        const float *bias, int64_t first, int64_t width, const float *given, int rotated,
                        double *plain) {
    double length = 0, given_length = 0, all = 0;
    for (int64_t c = 0; c < width; c++) {
        double size, number = mapped(x, columns, weight, bias, first + c, &size);
        if (plain) plain[c] = number;
        if (!rotated) compare(check, number, (double)given[c], size);
        length += number * number;
        given_length += (double)given[c] * (double)given[c];
        all += size * size;
    }
    if (rotated) compare(check, sqrt(length), sqrt(given_length), sqrt(all));
}

static void compare_maps(at_row_steps *steps) {
    const at_step_numbers *n = steps->numbers;
    const float *source = n->source ? n->source : n->x;
    int64_t columns = n->source ? n->source_columns : n->columns;
    if (n->x && n->query_weight) {
        compare_map(new_check(steps, "q"), n->x + steps->row * n->columns, n->columns, n->query_weight,
                    n->query_bias, steps->head * n->width, n->width, at_step_query(steps), n->rotated,
                    steps->plain_query);
    }
    if (!source) return;
    at_step_check *keys = n->key_weight ? new_check(steps, "k") : NULL;
    at_step_check *values = n->value_weight ? new_check(steps, "v") : NULL;
    for (int64_t i = 0; i < steps->count; i++) {
        int64_t j = steps->keys[i].key;
        if (steps->keys[i].masked) continue;
        if (keys) {
            compare_map(keys, source + j * columns, columns, n->key_weight, n->key_bias,
                        steps->kv_head * n->width, n->width, at_step_key_row(steps, j), n->rotated, NULL);
        }
        if (values) {
            compare_map(values, source + j * columns, columns, n->value_weight, n->value_bias,
                        steps->kv_head * n->value_width, n->value_width, at_step_value_row(steps, j), 0,
                        NULL);
        }
    }
}

/* ---- scores and weights ---- */

static void fill_key(at_row_steps *steps, int64_t key, int64_t entry) {
    const at_step_numbers *n = steps->numbers;
    at_step_key *one = &steps->keys[steps->count++];
    memset(one, 0, sizeof *one);
    one->key = key;
    one->masked = entry < 0;
    if (entry >= 0)
        one->weight = (double)n->weights[attn_map_place(steps->map, steps->head, steps->row, entry)];
    if (!steps->dotted) return;
    const float *q = at_step_query(steps), *k = at_step_key_row(steps, key);
    for (int64_t c = 0; c < n->width; c++) {
        one->dot += (double)q[c] * (double)k[c];
        one->size += fabs(n->scale * (double)q[c] * (double)k[c]);
    }
    one->scaled = n->scale * one->dot;
    if (n->softcap > 0) one->scaled = n->softcap * tanh(one->scaled / n->softcap);
}

static void fill_keys(at_row_steps *steps) {
    const attn_map *map = steps->map;
    int64_t entries = attn_map_entries(map, steps->row);
    if (map->first || map->keys > MOST_LISTED) {
        for (int64_t c = 0; c < entries; c++) {
            int64_t key = attn_map_key(map, steps->row, c);
            if (key >= 0) fill_key(steps, key, c);
        }
    } else {
        int64_t first = map->first_key + steps->row * map->key_step;
        for (int64_t key = 0; key < map->keys; key++) {
            fill_key(steps, key, key >= first && key < first + entries ? key - first : -1);
        }
    }
    steps->unlisted = map->keys > steps->count ? map->keys - steps->count : 0;
}

/* A weighting that looks at each score alone. */
static double weighted(attn_weighting weighting, double score) {
    switch (weighting) {
    case ATTN_WEIGHTS_RELU: return score > 0 ? score : 0;
    case ATTN_WEIGHTS_SIGMOID: return 1 / (1 + exp(-score));
    default: return score;
    }
}

/* A weight of exactly 0 is that of a key which is not seen, unless its score is so low that 0 is what is left
 * of it. */
static void find_masked(at_row_steps *steps) {
    attn_weighting weighting = steps->numbers->weighting;
    for (int64_t i = 0; i < steps->count; i++) {
        at_step_key *one = &steps->keys[i];
        if (one->masked || one->weight != 0) continue;
        if (!steps->dotted) {
            one->masked = weighting == ATTN_WEIGHTS_SOFTMAX || weighting == ATTN_WEIGHTS_SIGMOID;
        } else if (weighting == ATTN_WEIGHTS_SOFTMAX) {
            one->masked = one->scaled - steps->log_sum_exp > -80;
        } else {
            one->masked = fabs(weighted(weighting, one->scaled)) > ROUNDING * (one->size + 1);
        }
    }
    for (int64_t i = 0; i < steps->count; i++) steps->seen += !steps->keys[i].masked;
}

/* Whether scaled products alone have the log-sum-exp that the network found. */
static int has_bias(const at_row_steps *steps) {
    double largest = -INFINITY, total = 0, size = 1;
    if (!steps->numbers->log_sum_exp || !isfinite(steps->log_sum_exp)) return 0;
    for (int64_t i = 0; i < steps->count; i++) {
        const at_step_key *one = &steps->keys[i];
        if (!one->masked && one->scaled > largest) largest = one->scaled;
    }
    for (int64_t i = 0; i < steps->count; i++) {
        const at_step_key *one = &steps->keys[i];
        if (one->masked) continue;
        total += exp(one->scaled - largest);
        if (one->size > size) size = one->size;
    }
    double found = largest + log(total);
    return !(fabs(found - steps->log_sum_exp) <= 2 * ROUNDING * (size + fabs(found)));
}

static void compute_softmax(at_row_steps *steps) {
    double largest = -INFINITY, size = 1;
    int from_weights = !steps->dotted || steps->biased;
    at_step_check *check = new_check(steps, "the weights");
    for (int64_t i = 0; i < steps->count; i++) {
        at_step_key *one = &steps->keys[i];
        one->score = one->masked    ? -INFINITY
                     : from_weights ? log(one->weight) + steps->log_sum_exp
                                    : one->scaled;
        if (steps->biased) one->bias = one->score - one->scaled;
        if (fabs(one->bias) <= ROUNDING * (one->size + 1)) one->bias = 0; /* what rounding left */
        if (one->score > largest) largest = one->score;
        if (!one->masked && one->size > size) size = one->size;
    }
    steps->shift = fabs(largest) > 30 && isfinite(largest) ? largest : 0; /* e^30 can still be read */
    for (int64_t i = 0; i < steps->count; i++) {
        at_step_key *one = &steps->keys[i];
        one->exponential = one->masked ? 0 : exp(one->score - steps->shift);
        steps->total += one->exponential;
    }
    for (int64_t i = 0; i < steps->count; i++) {
        at_step_key *one = &steps->keys[i];
        one->softmax = steps->total > 0 ? one->exponential / steps->total : 0;
        compare(check, one->softmax, one->weight, one->softmax * (2 * size + 2) + 0.02);
    }
}

static void compute_weights(at_row_steps *steps) {
    const at_step_numbers *n = steps->numbers;
    if (n->weighting == ATTN_WEIGHTS_SOFTMAX) {
        steps->biased = steps->dotted && has_bias(steps);
        compute_softmax(steps);
        return;
    }
    double largest = 0;
    for (int64_t i = 0; n->average && steps->dotted && i < steps->count; i++) {
        const at_step_key *one = &steps->keys[i];
        if (fabs(one->weight) <= largest) continue;
        largest = fabs(one->weight);
        steps->divisor = llround(weighted(n->weighting, one->scaled) / one->weight);
    }
    if (steps->divisor < 1) steps->divisor = 1;
    at_step_check *check = steps->dotted ? new_check(steps, "the weights") : NULL;
    for (int64_t i = 0; i < steps->count; i++) {
        at_step_key *one = &steps->keys[i];
        one->score = one->scaled;
        one->softmax = one->masked     ? 0
                       : steps->dotted ? weighted(n->weighting, one->score) / (double)steps->divisor
                                       : one->weight;
        if (check) compare(check, one->softmax, one->weight, one->size + 1);
    }
}

/* ---- what follows from the weights ---- */

static void compute_output(at_row_steps *steps) {
    const at_step_numbers *n = steps->numbers;
    const float *given = n->output + (steps->row * n->heads + steps->head) * n->value_width;
    at_step_check *check = n->edge_values ? NULL : new_check(steps, "the weighted sum");
    for (int64_t c = 0; c < n->value_width; c++) {
        double size = 0;
        for (int64_t i = 0; i < steps->count; i++) {
            double term = steps->keys[i].weight * (double)at_step_value_row(steps, steps->keys[i].key)[c];
            steps->output[c] += term;
            size += fabs(term);
        }
        if (check) compare(check, steps->output[c], (double)given[c], size);
    }
    if (!steps->result) return;
    int64_t beside = n->heads * n->value_width;
    check = n->result ? new_check(steps, "the result") : NULL;
    for (int64_t c = 0; c < n->result_columns; c++) {
        double size;
        steps->result[c] =
            mapped(n->output + steps->row * beside, beside, n->output_weight, n->output_bias, c, &size);
        if (check)
            compare(check, steps->result[c], (double)n->result[steps->row * n->result_columns + c], size);
    }
}

attn_status at_row_steps_compute(attn_explanation *explanation, const at_step_numbers *numbers, int64_t row,
                                 int64_t head, at_row_steps *steps) {
    attn_context *context = explanation->context;
    const attn_map *map = &explanation->maps[numbers->map];
    int64_t entries = attn_map_entries(map, row);
    memset(steps, 0, sizeof *steps);
    steps->explanation = explanation;
    steps->map = map;
    steps->numbers = numbers;
    steps->row = row;
    steps->head = head;
    steps->kv_head = head / (numbers->heads / numbers->kv_heads);
    steps->query_names = at_query_names(explanation, map);
    steps->key_names = at_key_names(explanation, map);
    steps->dotted = numbers->score == ATTN_SCORE_DOT;
    steps->divisor = 1;
    if (numbers->log_sum_exp) steps->log_sum_exp = (double)numbers->log_sum_exp[row * numbers->heads + head];
    steps->keys = at_allocate(context, (entries > map->keys ? entries : map->keys) + 1, sizeof *steps->keys,
                              "the steps of a row");
    steps->output = at_allocate(context, numbers->value_width, sizeof *steps->output, "the steps of a row");
    if (numbers->x && numbers->query_weight)
        steps->plain_query = at_allocate(context, numbers->width, sizeof(double), "the steps of a row");
    if (numbers->output_weight)
        steps->result = at_allocate(context, numbers->result_columns, sizeof(double), "the steps of a row");
    if (!steps->keys || !steps->output || (numbers->x && numbers->query_weight && !steps->plain_query) ||
        (numbers->output_weight && !steps->result)) {
        at_row_steps_free(steps);
        return ATTN_OUT_OF_MEMORY;
    }
    fill_keys(steps);
    find_masked(steps);
    compare_maps(steps);
    compute_weights(steps);
    compute_output(steps);
    return ATTN_OK;
}

void at_row_steps_free(at_row_steps *steps) {
    attn_context *context = steps->explanation->context;
    at_release(context, steps->keys);
    at_release(context, steps->plain_query);
    at_release(context, steps->output);
    at_release(context, steps->result);
    steps->keys = NULL;
    steps->plain_query = steps->output = steps->result = NULL;
}

/* ---- the call ---- */

static const attn_map *choose_map(const attn_explanation *explanation, const attn_steps_options *o) {
    static const attn_map_part order[] = {ATTN_MAP_SOURCE, ATTN_MAP_ENCODER, ATTN_MAP_POOL, ATTN_MAP_DECODER};
    if (o->part >= 0) return at_explanation_find(explanation, (attn_map_part)o->part, o->layer);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (attn_explanation_layers(explanation, order[i]) > 0)
            return at_explanation_find(explanation, order[i], o->layer);
    }
    return NULL;
}

/* The numbers that are requested; NULL with the error set. */
static attn_status choose(const attn_explanation *explanation, const attn_steps_options *o,
                          const at_step_numbers **numbers) {
    attn_context *context = explanation->context;
    if (!explanation->details) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "the explanation has no details: set details of attn_explain_options to 1");
    }
    const attn_map *map = choose_map(explanation, o);
    if (!map) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "steps: there is no attention of part %d in layer %" PRId64, o->part, o->layer + 1);
    }
    if (o->row < 0 || o->row >= map->queries) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "steps: there is no row %" PRId64 ": the layer has %" PRId64, o->row + 1,
                       map->queries);
    }
    if (o->head < 0 || o->head >= map->heads) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "steps: there is no head %" PRId64 ": the layer has %" PRId64, o->head + 1,
                       map->heads);
    }
    *numbers = NULL;
    for (int64_t i = 0; i < explanation->detail_count; i++) {
        if (&explanation->maps[explanation->details[i].map] == map) *numbers = &explanation->details[i];
    }
    if (!*numbers || !(*numbers)->query || !(*numbers)->key || !(*numbers)->value || !(*numbers)->output ||
        !(*numbers)->weights) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "steps: layer %" PRId64 " of the %s has no scores of queries and keys", o->layer + 1,
                       attn_map_part_name(map->part));
    }
    return ATTN_OK;
}

attn_status attn_explanation_steps(attn_explanation *explanation, const attn_steps_options *options,
                                   const char **bytes, size_t *length) {
    if (!explanation) return ATTN_INVALID_ARGUMENT;
    attn_context *context = explanation->context;
    attn_steps_options o;
    char reason[AT_OPTIONS_TEXT];
    const at_step_numbers *numbers = NULL;
    at_row_steps steps;
    if (!bytes || !length) return at_fail(context, ATTN_INVALID_ARGUMENT, "steps: bytes or length is NULL");
    attn_steps_options_init(&o);
    attn_status status = at_options_take("steps options", "attn_steps_options_init", options,
                                         AT_FIRST_SIZE(attn_steps_options, title), sizeof o, &o, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    status = choose(explanation, &o, &numbers);
    if (status == ATTN_OK) status = at_row_steps_compute(explanation, numbers, o.row, o.head, &steps);
    if (status != ATTN_OK) return status;
    at_writer *writer = &explanation->bytes;
    writer->context = context;
    writer->status = ATTN_OK;
    writer->count = 0;
    writer->terminal = !o.html;
    status = o.html ? at_row_steps_page(&steps, &o, writer) : at_row_steps_text(&steps, &o, writer);
    at_row_steps_free(&steps);
    if (status != ATTN_OK) return status;
    *bytes = writer->bytes;
    *length = (size_t)writer->count;
    return ATTN_OK;
}
