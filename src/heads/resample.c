/* resample.c: values of metrics on samples of the examples: see the header. */
#include "heads/resample.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "heads/metrics/texts.h"

enum { MOST_BLOCKS = 10000, SEED = 20181118 };

typedef struct class_count {
    int32_t class_number, support, predicted, right;
} class_count;

typedef struct resampled {
    const char *name;
    at_metric_formula formula;
    int first;
} resampled;

struct at_statistics {
    attn_context *context;
    int64_t units, blocks, classes;
    int columns, metrics;
    double *sums; /* [blocks][columns] */
    /* Counts of classes, block after block: those of block b are first[b] .. first[b + 1] - 1. */
    class_count *counts;
    int64_t count, room, last; /* last: the block that is being counted */
    int64_t *first, *place;    /* [blocks + 1]; [classes]: the last count of each */
    resampled metric[AT_MOST_RESAMPLED];
    double *values; /* [metrics][ATTN_RESAMPLES]; NULL: not computed yet */
};

/* ---- collecting ---- */

attn_status at_statistics_create(attn_context *context, int64_t units, int columns, int64_t classes,
                                 at_statistics **statistics) {
    at_statistics *made = at_allocate(context, 1, sizeof *made, "statistics of examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->units = units;
    made->blocks = units < MOST_BLOCKS ? units : MOST_BLOCKS;
    made->columns = columns;
    made->classes = classes;
    made->sums = at_allocate(context, made->blocks * columns, sizeof *made->sums, "statistics of examples");
    made->first = at_allocate(context, made->blocks + 1, sizeof *made->first, "statistics of examples");
    made->place = at_allocate(context, classes, sizeof *made->place, "statistics of examples");
    if (!made->sums || !made->first || !made->place) {
        at_statistics_free(made);
        return ATTN_OUT_OF_MEMORY;
    }
    for (int64_t c = 0; c < classes; c++) made->place[c] = -1;
    *statistics = made;
    return ATTN_OK;
}

void at_statistics_free(at_statistics *statistics) {
    if (!statistics) return;
    attn_context *context = statistics->context;
    at_release(context, statistics->sums);
    at_release(context, statistics->counts);
    at_release(context, statistics->first);
    at_release(context, statistics->place);
    at_release(context, statistics->values);
    at_release(context, statistics);
}

void at_statistics_metric(at_statistics *statistics, const char *name, at_metric_formula formula, int first) {
    if (statistics->metrics == AT_MOST_RESAMPLED) return;
    statistics->metric[statistics->metrics++] = (resampled){name, formula, first};
}

static int64_t block_of(const at_statistics *statistics, int64_t unit) {
    return statistics->units == statistics->blocks ? unit : unit * statistics->blocks / statistics->units;
}

double *at_statistics_of(at_statistics *statistics, int64_t unit) {
    return statistics->sums + block_of(statistics, unit) * statistics->columns;
}

attn_status at_statistics_class(at_statistics *statistics, int64_t unit, int64_t class_number, int support,
                                int predicted, int right) {
    int64_t block = block_of(statistics, unit);
    while (statistics->last < block) statistics->first[++statistics->last] = statistics->count;
    int64_t place = statistics->place[class_number];
    if (place < statistics->first[block]) {
        attn_status status =
            at_grow(statistics->context, &statistics->counts, &statistics->room, statistics->count + 1,
                    sizeof *statistics->counts, "statistics of examples");
        if (status != ATTN_OK) return status;
        place = statistics->place[class_number] = statistics->count++;
        statistics->counts[place] = (class_count){.class_number = (int32_t)class_number};
    }
    class_count *into = &statistics->counts[place];
    into->support += support;
    into->predicted += predicted;
    into->right += right;
    return ATTN_OK;
}

/* ---- samples ---- */

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* classes: [classes][support, predicted, right] */
static double macro_f1(const double *classes, int64_t count) {
    double sum = 0, occurring = 0;
    for (int64_t c = 0; c < count; c++, classes += 3) {
        if (classes[0] + classes[1] == 0) continue;
        sum += 2 * classes[2] / (classes[0] + classes[1]);
        occurring++;
    }
    return ratio(sum, occurring);
}

static double value_of(const at_statistics *statistics, const resampled *metric, const double *sums,
                       const double *classes) {
    const double *of = sums + metric->first;
    switch (metric->formula) {
    case AT_RATIO: return ratio(of[0], of[1]);
    case AT_ROOT: return sqrt(ratio(of[0], of[1]));
    case AT_F1: return ratio(2 * of[0], of[1] + of[2]);
    case AT_MACRO_F1: return macro_f1(classes, statistics->classes);
    case AT_BLEU: return at_bleu_value(of);
    }
    return NAN;
}

typedef struct sampling {
    const at_statistics *statistics;
    double *memory; /* of each worker: [columns + 3 * classes] */
    double *values;
} sampling;

static void add_block(const at_statistics *statistics, int64_t block, double *sums, double *classes) {
    const double *from = statistics->sums + block * statistics->columns;
    for (int c = 0; c < statistics->columns; c++) sums[c] += from[c];
    for (int64_t i = statistics->first[block]; i < statistics->first[block + 1]; i++) {
        const class_count *one = &statistics->counts[i];
        double *into = classes + 3 * (int64_t)one->class_number;
        into[0] += one->support;
        into[1] += one->predicted;
        into[2] += one->right;
    }
}

static void draw(void *argument, int64_t sample, int worker) {
    const sampling *now = argument;
    const at_statistics *statistics = now->statistics;
    int64_t numbers = statistics->columns + 3 * statistics->classes;
    double *sums = now->memory + worker * numbers, *classes = sums + statistics->columns;
    at_row_key key = at_random_row(SEED, sample, 0, 0);
    memset(sums, 0, (size_t)numbers * sizeof *sums);
    for (int64_t j = 0; j < statistics->blocks; j++) {
        uint64_t word = at_random_word(key, (uint32_t)j);
        add_block(statistics, (int64_t)(word * (uint64_t)statistics->blocks >> 32), sums, classes);
    }
    for (int m = 0; m < statistics->metrics; m++)
        now->values[m * ATTN_RESAMPLES + sample] =
            value_of(statistics, &statistics->metric[m], sums, classes);
}

static attn_status draw_all(at_statistics *statistics) {
    attn_context *context = statistics->context;
    int64_t numbers = statistics->columns + 3 * statistics->classes;
    double work = (double)ATTN_RESAMPLES *
                  ((double)statistics->blocks * statistics->columns + 3 * (double)statistics->count);
    int threads = at_threads_for(context, work);
    while (statistics->last < statistics->blocks) statistics->first[++statistics->last] = statistics->count;
    sampling now = {.statistics = statistics};
    now.memory = at_allocate(context, threads * numbers, sizeof(double), "samples of examples");
    now.values = at_allocate(context, (int64_t)statistics->metrics * ATTN_RESAMPLES, sizeof(double),
                             "samples of examples");
    if (now.memory && now.values) at_parallel(context->pool, threads, ATTN_RESAMPLES, draw, &now);
    if (now.memory && now.values)
        statistics->values = now.values;
    else
        at_release(context, now.values);
    at_release(context, now.memory);
    return statistics->values ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

int64_t at_statistics_units(const at_statistics *statistics) { return statistics->units; }

const char *at_statistics_name(const at_statistics *statistics, int number) {
    return number >= 0 && number < statistics->metrics ? statistics->metric[number].name : NULL;
}

attn_status at_statistics_values(at_statistics *statistics, const char *name, const double **values) {
    int found = 0;
    while (found < statistics->metrics && strcmp(statistics->metric[found].name, name) != 0) found++;
    *values = NULL;
    if (found == statistics->metrics || statistics->units == 0) return ATTN_OK;
    attn_status status = statistics->values ? ATTN_OK : draw_all(statistics);
    if (status == ATTN_OK) *values = statistics->values + (int64_t)found * ATTN_RESAMPLES;
    return status;
}
