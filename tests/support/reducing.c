/* reducing.c: see the header. */
#include "support/reducing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "tape/parameters.h"

enum { MOST_SHARDS = 64, MOST_RANKS = 64 };

attn_context *reducing_context(const at_backend *backend) {
    attn_context *context = NULL;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK) return NULL;
    if (backend) at_context_use_backend(context, backend);
    return context;
}

/* ---- parameters and their gradients ---- */

static attn_parameters *make_set(attn_context *context, int large) {
    static const struct {
        int64_t rows, columns;
        attn_parameter_kind kind;
        int frozen;
    } shapes[REDUCING_PARAMETERS] = {
        {200, 3, ATTN_PARAMETER_EMBEDDING, 0}, {131, 7, ATTN_PARAMETER_EMBEDDING, 0},
        {70, 5, ATTN_PARAMETER_WEIGHT, 0},     {13, 1, ATTN_PARAMETER_BIAS, 0},
        {10, 10, ATTN_PARAMETER_WEIGHT, 1},    {64, 2, ATTN_PARAMETER_WEIGHT, 0},
        {1, 1, ATTN_PARAMETER_NORM, 0},        {65, 1, ATTN_PARAMETER_EMBEDDING, 0},
        {33, 33, ATTN_PARAMETER_WEIGHT, 0},    {5, 40, ATTN_PARAMETER_EMBEDDING, 1},
        {90, 16, ATTN_PARAMETER_EMBEDDING, 0}, {3, 3, ATTN_PARAMETER_WEIGHT, 0}};
    attn_parameters *set = NULL;
    if (attn_parameters_create(context, 1, &set) != ATTN_OK) return NULL;
    for (int p = 0; p < REDUCING_PARAMETERS; p++) {
        attn_parameter_options options;
        attn_parameter_options_init(&options);
        options.kind = shapes[p].kind;
        options.frozen = shapes[p].frozen;
        int64_t shape[2] = {shapes[p].rows, shapes[p].columns};
        if (large && p == 1) shape[0] = 50001;
        if (large && p == 2) shape[0] = 60013;
        if (large && p == 8) shape[0] = 9001;
        char name[8];
        snprintf(name, sizeof name, "p%d", p);
        if (!attn_parameters_add(set, name, 2, shape, &options)) break;
    }
    if (attn_parameters_status(set) == ATTN_OK) return set;
    attn_parameters_destroy(set);
    return NULL;
}

static float some_number(test_random *random) {
    uint64_t bits = random_bits(random);
    if (bits % 4 == 0) return -0.0F;
    if (bits % 16 == 1) return 0.0F;
    return ldexpf(random_unit(random), (int)(bits >> 32 & 15));
}

static int fill_whole(attn_context *context, attn_parameter *parameter, at_slot *slot, test_random *random) {
    float *numbers = at_slot_in_full(context, parameter, slot);
    float *host = malloc((size_t)parameter->count * sizeof *host);
    for (int64_t i = 0; host && i < parameter->count; i++) host[i] = some_number(random);
    int filled =
        numbers && host &&
        at_host_write(context, at_view_of(numbers, 1, parameter->count, parameter->count), host) == ATTN_OK;
    free(host);
    return filled;
}

static int fill_rows(attn_context *context, attn_parameter *parameter, at_slot *slot, test_random *random) {
    int64_t rows[40], count = random_between(random, 0, 40), columns = parameter->columns;
    for (int64_t i = 0; i < count; i++) rows[i] = random_between(random, -1, parameter->rows - 1);
    float *numbers = at_slot_for_rows(context, parameter, slot, rows, count), host[64];
    if (!numbers) return 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t c = 0; c < columns; c++) host[c] = some_number(random);
        if (rows[i] >= 0 &&
            at_host_write(context, at_view_of(numbers + rows[i] * columns, 1, columns, columns), host) !=
                ATTN_OK)
            return 0;
    }
    return 1;
}

/* The gradients of one shard: a function of seed, step and shard. */
static int fill(const reducing_case *c, attn_context *context, at_gradients *gradients, int step,
                int64_t shard) {
    for (int64_t p = 0; p < at_gradients_count(gradients); p++) {
        attn_parameter *parameter = at_gradients_parameter(gradients, p);
        at_slot *slot = at_gradients_slot(gradients, p);
        uint64_t mixed = (c->seed * 1000003 + (uint64_t)step) * 1000003 + (uint64_t)p;
        test_random of_parameter = {mixed * 0x9e3779b97f4a7c15U + 1};
        test_random random = {(mixed * 1009 + (uint64_t)shard + 1) * 0x9e3779b97f4a7c15U + 1};
        for (int i = 0; i < 4; i++) random_bits(&of_parameter), random_bits(&random);
        int touches = (int)random_between(&of_parameter, 0, 3); /* never, sometimes, mostly, always */
        static const int chances[] = {0, 40, 80, 100};
        int whole =
            parameter->kind == ATTN_PARAMETER_EMBEDDING ? (random_chance(&of_parameter, 60) ? 0 : 30) : 100;
        if (parameter->kind == ATTN_PARAMETER_WEIGHT && random_chance(&of_parameter, 20) &&
            parameter->columns <= 64)
            whole = 20; /* rows of what is no table */
        if (parameter->frozen || !random_chance(&random, chances[touches])) continue;
        int filled = random_chance(&random, whole) ? fill_whole(context, parameter, slot, &random)
                                                   : fill_rows(context, parameter, slot, &random);
        if (!filled) return 0;
    }
    return 1;
}

/* ---- adding ---- */

/* Node (first, level) of the tree into sums[first], by at_gradients_add alone. */
static int add_node(attn_context *context, at_gradients *const *sums, int64_t shards, int64_t first,
                    int level) {
    if (level == 0) return 1;
    int64_t middle = first + ((int64_t)1 << (level - 1));
    if (!add_node(context, sums, shards, first, level - 1)) return 0;
    if (middle >= shards) return 1;
    if (!add_node(context, sums, shards, middle, level - 1)) return 0;
    for (int64_t p = 0; p < at_gradients_count(sums[first]); p++) {
        if (at_gradients_add(context, sums[first], sums[middle], p) != ATTN_OK) return 0;
    }
    return 1;
}

static void keep(attn_context *context, attn_parameters *set, reducing_result *result) {
    for (int p = 0; p < REDUCING_PARAMETERS; p++) {
        attn_parameter *parameter = attn_parameters_at(set, p);
        const at_slot *slot = &parameter->gradient;
        result->rows[p] = parameter->rows;
        result->counts[p] = parameter->count;
        result->touched[p] = slot->touched;
        result->numbers[p] = calloc((size_t)parameter->count, sizeof(float));
        result->written[p] = calloc((size_t)parameter->rows, 1);
        if (!slot->touched || !result->numbers[p] || !result->written[p]) continue;
        at_view all = at_view_of(slot->numbers, 1, parameter->count, parameter->count);
        if (at_host_read(context, all, result->numbers[p]) != ATTN_OK)
            snprintf(result->problem, REDUCING_TEXT, "cannot read");
        for (int64_t r = 0; r < parameter->rows; r++)
            result->written[p][r] = !slot->written || (slot->written[r / 64] >> (r % 64) & 1);
    }
}

/* The shards of a case in this process; gradients of shard `own` are those of the parameters. */
static int make_shards(attn_context *context, attn_parameters *set, int64_t count, int64_t own,
                       at_gradients **gradients) {
    for (int64_t s = 0; s < count; s++) {
        if (at_gradients_create(context, set, s == own, &gradients[s]) != ATTN_OK) return 0;
    }
    return 1;
}

void reducing_alone(const reducing_case *c, reducing_result *result) {
    memset(result, 0, sizeof *result);
    attn_context *context = reducing_context(c->backend);
    attn_parameters *set = context ? make_set(context, c->large) : NULL;
    at_gradients *shards[MOST_SHARDS] = {NULL};
    int fine = set && make_shards(context, set, c->shards, 0, shards), level = 0;
    while ((int64_t)1 << level < c->shards) level++;
    for (int step = 0; fine && step < c->steps; step++) {
        for (int64_t s = 0; s < c->shards; s++) at_gradients_clear(shards[s]);
        for (int64_t s = 0; s < c->shards && fine; s++) fine = fill(c, context, shards[s], step, s);
        fine = fine && add_node(context, shards, c->shards, 0, level);
    }
    if (fine) keep(context, set, result);
    if (!fine) snprintf(result->problem, REDUCING_TEXT, "alone: %s", attn_context_error(context));
    for (int64_t s = 0; s < c->shards; s++) at_gradients_destroy(shards[s]);
    attn_parameters_destroy(set);
    attn_context_destroy(context);
}

/* One step of a rank: its nodes, then the sum; half of the buckets are said to be ready, in any order. */
static int step_of_rank(const reducing_case *c, attn_context *context, at_reduce *reduce, int step,
                        at_gradients *const *shards, const int64_t *bounds, int rank) {
    int64_t first = bounds[rank], end = bounds[rank + 1];
    at_tree_node nodes[AT_TREE_NODES];
    at_gradients *sums[AT_TREE_NODES];
    int count = at_tree_nodes(c->shards, first, end, nodes);
    for (int64_t s = first; s < end; s++) {
        at_gradients_clear(shards[s]);
        if (!fill(c, context, shards[s], step, s)) return 0;
    }
    for (int n = 0; n < count; n++) {
        if (!add_node(context, shards, c->shards, nodes[n].first, nodes[n].level)) return 0;
        sums[n] = shards[nodes[n].first];
    }
    if (at_reduce_begin(reduce, bounds, sums, NULL) != ATTN_OK) return 0;
    int buckets = at_reduce_buckets(reduce);
    for (int b = 0; b < buckets; b++) {
        if ((b + step) % 2) at_reduce_ready(reduce, buckets - 1 - b);
    }
    return at_reduce_wait(reduce) == ATTN_OK;
}

/* As evenly as can be, or (odd seeds) not at all: some ranks may have no shard. */
static void divide(const reducing_case *c, int ranks, int64_t *bounds) {
    double costs[MOST_SHARDS], shares[MOST_RANKS] = {0};
    for (int64_t s = 0; s < c->shards; s++) costs[s] = c->seed % 2 ? 1.0 + (double)(s * s) : 1.0;
    at_tree_divide(c->shards, costs, ranks, shares, bounds);
}

void reducing_rank(const reducing_case *c, attn_context *context, attn_exchange *exchange,
                   reducing_result *result) {
    memset(result, 0, sizeof *result);
    attn_parameters *set = make_set(context, c->large);
    at_gradients *shards[MOST_SHARDS] = {NULL};
    at_reduce *reduce = NULL;
    int64_t bounds[MOST_RANKS + 1], before = attn_exchange_sent(exchange);
    int rank = attn_exchange_rank(exchange);
    divide(c, attn_exchange_ranks(exchange), bounds);
    int fine = set && make_shards(context, set, c->shards, bounds[rank], shards) &&
               at_reduce_create(context, exchange, set, c->fast, &reduce) == ATTN_OK;
    for (int step = 0; fine && step < c->steps; step++)
        fine = step_of_rank(c, context, reduce, step, shards, bounds, rank);
    if (fine) keep(context, set, result);
    if (!fine) snprintf(result->problem, REDUCING_TEXT, "%.200s", attn_context_error(context));
    result->sent = attn_exchange_sent(exchange) - before;
    at_reduce_destroy(reduce);
    for (int64_t s = 0; s < c->shards; s++) at_gradients_destroy(shards[s]);
    attn_parameters_destroy(set);
}

/* ---- comparing ---- */

int reducing_differs(const reducing_result *alone, const reducing_result *other, int exact,
                     char text[REDUCING_TEXT]) {
    if (alone->problem[0] || other->problem[0]) {
        snprintf(text, REDUCING_TEXT, "%.120s%.120s", alone->problem, other->problem);
        return 1;
    }
    for (int p = 0; p < REDUCING_PARAMETERS; p++) {
        if (alone->touched[p] != other->touched[p]) {
            snprintf(text, REDUCING_TEXT, "p%d: touched %d, not %d", p, other->touched[p], alone->touched[p]);
            return 1;
        }
        for (int64_t i = 0; i < alone->counts[p]; i++) {
            float a = alone->numbers[p][i], b = other->numbers[p][i];
            if (exact ? memcmp(&a, &b, sizeof a) == 0 : fabsf(a - b) <= 1e-5F * (1e4F + fabsf(a))) continue;
            snprintf(text, REDUCING_TEXT, "p%d[%lld]: %.9g, not %.9g", p, (long long)i, b, a);
            return 1;
        }
        for (int64_t r = 0; r < alone->rows[p]; r++) { /* more rows may be marked, never fewer */
            if (other->written[p][r] >= alone->written[p][r]) continue;
            snprintf(text, REDUCING_TEXT, "p%d: row %lld is not marked", p, (long long)r);
            return 1;
        }
    }
    return 0;
}

void reducing_free(reducing_result *result) {
    for (int p = 0; p < REDUCING_PARAMETERS; p++) {
        free(result->numbers[p]);
        free(result->written[p]);
    }
    memset(result, 0, sizeof *result);
}
