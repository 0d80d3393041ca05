/* test_workers.c: the batches of predictions and reports side by side: tasks run once each, the first that
 * fails decides, and answers and reports are the same bits for every number of threads and ranks, with
 * workers that are made and workers that are lent.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/context.h"
#include "base/parts.h"
#include "heads/work.h"
#include "model/predictor.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/training.h"

/* ---- ranks that are threads ---- */

enum { MOST_RANKS = 5 };

/* Bytes are put together by "or"; what has bytes of two ranks at one place is not put together. */
typedef struct meeting {
    pthread_barrier_t barrier;
    pthread_mutex_t mutex;
    unsigned char *bytes;
    size_t count;
    int joins, mixed;
} meeting;

static attn_status join(void *user, void *bytes, size_t count) {
    meeting *all = user;
    unsigned char *mine = bytes;
    if (pthread_barrier_wait(&all->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        free(all->bytes);
        all->bytes = calloc(count, 1);
        all->count = count;
        all->joins++;
    }
    pthread_barrier_wait(&all->barrier);
    pthread_mutex_lock(&all->mutex);
    if (!all->bytes || all->count != count) all->mixed = 1;
    for (size_t i = 0; i < count && !all->mixed; i++) {
        if (mine[i] && all->bytes[i]) all->mixed = 1;
        all->bytes[i] |= mine[i];
    }
    pthread_mutex_unlock(&all->mutex);
    pthread_barrier_wait(&all->barrier);
    if (!all->mixed) memcpy(mine, all->bytes, count);
    pthread_barrier_wait(&all->barrier); /* before the next one frees them */
    return all->mixed ? ATTN_OVERFLOW : ATTN_OK;
}

static void open_meeting(meeting *all, int ranks) {
    memset(all, 0, sizeof *all);
    assert_int_equal(pthread_barrier_init(&all->barrier, NULL, (unsigned)ranks), 0);
    assert_int_equal(pthread_mutex_init(&all->mutex, NULL), 0);
}

static void close_meeting(meeting *all) {
    assert_int_equal(all->mixed, 0);
    pthread_barrier_destroy(&all->barrier);
    pthread_mutex_destroy(&all->mutex);
    free(all->bytes);
}

static void attend(at_work *work, meeting *all, int rank, int ranks) {
    work->rank = rank;
    work->ranks = ranks;
    work->join = join;
    work->join_user = all;
}

/* ---- tasks ---- */

enum { MOST_TASKS = 40 };

static attn_status no_batch(const at_forward *forward, attn_context *context, at_batch **batch) {
    (void)forward;
    (void)context;
    *batch = NULL;
    return ATTN_OK;
}
static const at_forward no_forward = {.create_batch = no_batch};

typedef struct counted {
    atomic_int runs[MOST_TASKS], together[MOST_TASKS], prepared;
    int failing[2]; /* tasks that fail; -1: none */
    int refuses;    /* the preparation fails */
    at_work *work;
} counted;

static attn_status count_preparation(void *user, at_work *worker) {
    counted *all = user;
    atomic_fetch_add(&all->prepared, 1);
    return all->refuses ? at_fail(worker->context, ATTN_OVERFLOW, "not prepared") : ATTN_OK;
}

static attn_status count_task(void *user, at_work *worker, int64_t task) {
    counted *all = user;
    atomic_fetch_add(&all->runs[task], 1);
    if (worker == all->work) atomic_fetch_add(&all->together[task], 1);
    for (int i = 0; i < 2; i++)
        if (task == all->failing[i])
            return at_fail(worker->context, i ? ATTN_OVERFLOW : ATTN_NOT_FINITE, "task %d", (int)task);
    return ATTN_OK;
}

static at_tasks tasks_of(counted *all, at_work *work, int64_t count) {
    memset(all, 0, sizeof *all);
    all->failing[0] = all->failing[1] = -1;
    all->work = work;
    return (at_tasks){.count = count, .prepare = count_preparation, .run = count_task, .user = all};
}

static void test_each_once(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 7};
    for (int t = 0; t < 3; t++) {
        at_work work = {.context = test_best_context(threads[t])};
        for (int64_t count = 0; count < MOST_TASKS; count++) {
            for (int large = 0; large <= 3 && large <= count; large += 3) {
                for (int divisible = 0; divisible < 2; divisible++) {
                    counted all;
                    at_tasks tasks = tasks_of(&all, &work, count);
                    tasks.large = large;
                    tasks.divisible = divisible;
                    expect_ok(work.context, at_work_run(&no_forward, &work, ATTN_OK, &tasks));
                    int together = 0;
                    for (int64_t i = 0; i < count; i++) {
                        assert_int_equal(all.runs[i], 1);
                        if (i < large) assert_int_equal(all.together[i], 1);
                        together += all.together[i];
                    }
                    if (threads[t] == 1 || count - large == 1) assert_int_equal(together, count);
                    if (threads[t] > 1 && count - large > 1 && !divisible) assert_int_equal(together, large);
                    if (threads[t] == 2 && count == 5 && !large) assert_int_equal(together, divisible);
                    assert_true((count > 0) == (all.prepared > 0));
                }
            }
        }
        assert_true((work.workers != NULL) == (threads[t] > 1));
        if (work.parts) at_workers_free(&no_forward, NULL, &work);
        assert_null(work.workers);
    }
}

static void test_first_failure(void **state) {
    (void)state;
    for (int threads = 1; threads <= 7; threads += 3) {
        at_work work = {.context = test_best_context(threads)};
        for (int round = 0; round < 60; round++) {
            counted all;
            at_tasks tasks = tasks_of(&all, &work, MOST_TASKS);
            all.failing[0] = 9 + round % 20;
            all.failing[1] = all.failing[0] + 1 + round % 3;
            tasks.large = round % 2 ? 0 : 12;
            char text[32];
            snprintf(text, sizeof text, "task %d", all.failing[0]);
            expect_refused(work.context, at_work_run(&no_forward, &work, ATTN_OK, &tasks), ATTN_NOT_FINITE,
                           text);
            for (int i = 0; i <= all.failing[0]; i++) assert_int_equal(all.runs[i], 1);
        }
        counted all;
        at_tasks tasks = tasks_of(&all, &work, MOST_TASKS);
        all.refuses = 1;
        expect_refused(work.context, at_work_run(&no_forward, &work, ATTN_OK, &tasks), ATTN_OVERFLOW,
                       "not prepared");
        tasks = tasks_of(&all, &work, MOST_TASKS);
        assert_int_equal(at_work_run(&no_forward, &work, ATTN_OUT_OF_MEMORY, &tasks), ATTN_OUT_OF_MEMORY);
        assert_int_equal(all.prepared, 0);
        if (work.parts) at_workers_free(&no_forward, NULL, &work);
    }
}

/* One rank of a run of tasks. */
typedef struct task_rank {
    attn_context *context;
    meeting *all;
    counted *counted;
    int rank, ranks;
    attn_status before, status;
    char text[128];
} task_rank;

static void *run_rank(void *argument) {
    task_rank *own = argument;
    at_work work = {.context = own->context};
    attend(&work, own->all, own->rank, own->ranks);
    at_tasks tasks = {.count = MOST_TASKS, .run = count_task, .user = own->counted};
    if (own->before != ATTN_OK) at_fail(own->context, own->before, "before");
    own->status = at_work_run(&no_forward, &work, own->before, &tasks);
    if (own->status != ATTN_OK) snprintf(own->text, sizeof own->text, "%.120s", own->context->error);
    if (work.parts) at_workers_free(&no_forward, NULL, &work);
    return NULL;
}

/* failing: 0 none, 1 two tasks of different ranks, 2 what came before, in rank 1. */
static void check_task_ranks(int ranks, int failing) {
    meeting all;
    counted counts;
    task_rank list[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    open_meeting(&all, ranks);
    tasks_of(&counts, NULL, MOST_TASKS);
    if (failing == 1) {
        counts.failing[0] = 10;
        counts.failing[1] = 11;
    }
    for (int r = 0; r < ranks; r++) {
        attn_context_options options;
        attn_context_options_init(&options);
        options.threads = 1 + r % 3;
        list[r] = (task_rank){.all = &all, .counted = &counts, .rank = r, .ranks = ranks};
        assert_int_equal(attn_context_create(&options, &list[r].context), ATTN_OK);
        if (failing == 2 && r == 1) list[r].before = ATTN_OVERFLOW;
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &list[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(threads[r], NULL);
        attn_context_destroy(list[r].context);
    }
    for (int i = 0; i < MOST_TASKS && !failing; i++) assert_int_equal(counts.runs[i], 1);
    for (int r = 0; r < ranks; r++) {
        char text[64];
        int first = failing == 1 ? 10 % ranks : 1;
        snprintf(text, sizeof text, failing == 1 ? "task 10" : "before");
        if (r != first)
            snprintf(text, sizeof text, "rank %d: %s", first, failing == 1 ? "task 10" : "before");
        assert_int_equal(list[r].status, failing == 0   ? ATTN_OK
                                         : failing == 1 ? ATTN_NOT_FINITE
                                                        : ATTN_OVERFLOW);
        assert_string_equal(list[r].text, failing ? text : "");
    }
    close_meeting(&all);
}

static void test_task_ranks(void **state) {
    (void)state;
    for (int ranks = 2; ranks <= MOST_RANKS; ranks += 3)
        for (int failing = 0; failing <= 2; failing++) check_task_ranks(ranks, failing);
}

/* ---- models ---- */

typedef enum kind { TAGS, CRF, CRFS, CLASSES, LABELS, NUMBERS, PAIRS, CTC, RUNNING, KINDS } kind;
static const char *const kind_sets[KINDS][14] = {
    {"task", "tag", "reader.column", "UPOS,XPOS", "output.members", "2"},
    {"task", "tag", "output.crf", "true"},
    {"task", "tag", "output.crf", "true", "output.members", "3"},
    {"task", "classify", "output.members", "3"},
    {"task", "classify", "text.longest", "5", "text.wide_buckets", "300"},
    {"task", "regress", "output.members", "2"},
    {"task", "seq2seq", "output.members", "2", "target.longest", "9"},
    {"task", "seq2seq", "output.kind", "ctc", "output.members", "2"},
    {"task", "lm", "text.longest", "30", "output.members", "2"},
};
/* Examples that are several batches, and not many: pairs are searched and texts continued. */
static const int kind_sizes[KINDS] = {2600, 2600, 2200, 2200, 2200, 2200, 300, 2500, 1000};
static char folder[] = "/tmp/attn_workers_XXXXXX";
static attn_model *models[KINDS];

/* Pairs whose sources have three times as many letters: a row for each symbol, and between equal ones. */
static char *corpus_long_pairs(uint64_t seed, int examples) {
    char *pairs = corpus_pairs(seed, examples, 0), *made = malloc(3 * strlen(pairs) + 1), *to = made;
    assert_non_null(made);
    int source = 1;
    for (const char *at = pairs; *at; at++) {
        if (*at == '\t') source = 0;
        for (int i = 0; i < (source ? 3 : 1); i++) *to++ = *at;
        if (*at == '\n') source = 1;
    }
    *to = 0;
    free(pairs);
    return made;
}

static char *kind_corpus(int which, uint64_t seed, int examples) {
    switch ((kind)which) {
    case CLASSES: return corpus_classes(seed, examples, 0);
    case LABELS: return corpus_labels(seed, examples);
    case NUMBERS: return corpus_numbers(seed, examples);
    case PAIRS: return corpus_pairs(seed, examples, 0);
    case CTC: return corpus_long_pairs(seed, examples);
    case RUNNING: return corpus_running(seed, examples);
    default: return corpus_conllu(seed, examples);
    }
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        char path[80];
        snprintf(path, sizeof path, "%s/%d.safetensors", folder, k);
        attn_config *config = tiny_config(context, kind_sets[k]);
        expect_ok(context, attn_config_set(config, "training.epochs", "2"));
        char *train = kind_corpus(k, 1, 60), *dev = kind_corpus(k, 2, 10);
        models[k] = train_model(config, train, dev, path);
        free(train);
        free(dev);
    }
    return 0;
}

static int teardown(void **state) {
    for (int k = 0; k < KINDS; k++) attn_model_destroy(models[k]);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* All that a predictor says of examples: every answer as JSON, probabilities and numbers to the last bit, and
 * the report. Both are copies. */
typedef struct said {
    char *answers, *report;
    int64_t batches; /* of the report */
} said;

static void forget(said *what) {
    free(what->answers);
    free(what->report);
    *what = (said){NULL, NULL, 0};
}

static int same(const said *a, const said *b) {
    return a->answers && b->answers && a->report && b->report && strcmp(a->answers, b->answers) == 0 &&
           strcmp(a->report, b->report) == 0;
}

static void put_bits(FILE *to, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    fprintf(to, " %llx", (unsigned long long)bits);
}

static void put_row(FILE *to, const attn_model *model, const attn_prediction *answers, int64_t e, int64_t r) {
    for (int o = 0; o < attn_model_outputs(model); o++) {
        fprintf(to, " %d", (int)attn_prediction_class(answers, o, e, r));
        put_bits(to, attn_prediction_number(answers, o, e, r));
        for (int64_t l = 0; l < attn_model_labels(model, o); l++) {
            put_bits(to, attn_prediction_probability(answers, o, e, r, l));
            put_bits(to, attn_prediction_spread(answers, o, e, r, l));
        }
        put_bits(to, attn_prediction_spread(answers, o, e, r, 0));
    }
}

static void put_texts(FILE *to, const attn_prediction *answers, int64_t e) {
    for (int64_t h = 0; h < attn_prediction_hypotheses(answers, e); h++) {
        int64_t symbols = attn_prediction_symbols(answers, e, h), rows = attn_prediction_units(answers, e);
        const float *alignment = attn_prediction_alignment(answers, e, h);
        fprintf(to, " \"%s\" %d", attn_prediction_text(answers, e, h), attn_prediction_ended(answers, e, h));
        put_bits(to, attn_prediction_log_probability(answers, e, h));
        for (int64_t s = 0; s < symbols; s++) fprintf(to, " %s", attn_prediction_symbol(answers, e, h, s));
        for (int64_t i = 0; alignment && i < symbols * rows; i++) put_bits(to, (double)alignment[i]);
    }
}

static char *all_answers(const attn_model *model, const attn_prediction *answers) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    if (!to) return NULL;
    for (int64_t e = 0; e < attn_prediction_examples(answers); e++) {
        int64_t rows = attn_model_per_token(model) ? attn_prediction_units(answers, e) : 1;
        if (attn_model_symbols(model)) {
            put_texts(to, answers, e);
        } else {
            for (int64_t r = 0; r < rows; r++) put_row(to, model, answers, e, r);
        }
        fputc('\n', to);
    }
    fclose(to);
    return text;
}

static attn_status ask_for_all(attn_predictor *predictor) {
    static const char *const settings[][2] = {
        {"probs", "true"}, {"n-best", "3"}, {"alignment", "true"}, {"tokens", "5"}, {"seed", "5"}};
    attn_status status = ATTN_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == ATTN_OK; i++)
        if (attn_predictor_has(predictor, settings[i][0]))
            status = attn_predictor_set(predictor, settings[i][0], settings[i][1]);
    return status;
}

/* No assertions: ranks that are threads call it. */
static attn_status say(attn_predictor *predictor, const attn_model *model, const attn_dataset *dataset,
                       said *into) {
    attn_prediction *answers = NULL;
    attn_report *report = NULL;
    attn_status status = ask_for_all(predictor);
    if (status == ATTN_OK) status = attn_predictor_predict(predictor, dataset, &answers);
    if (status == ATTN_OK) into->answers = all_answers(model, answers);
    if (status == ATTN_OK) status = attn_report_create(predictor, dataset, &report);
    const char *json = status == ATTN_OK ? attn_report_json(report) : NULL;
    if (status == ATTN_OK && !json) status = ATTN_OUT_OF_MEMORY; /* which is all that NULL can mean */
    if (json) into->report = strdup(json);
    if (status == ATTN_OK) into->batches = predictor->work.plan.batches;
    attn_prediction_destroy(answers);
    attn_report_destroy(report);
    return status;
}

static attn_dataset *data_of(int which, int examples) {
    char *text = kind_corpus(which, 3, examples);
    attn_dataset *dataset = parse_corpus(attn_model_config(models[which]), "data", text);
    free(text);
    return dataset;
}

static said said_by(int which, int threads, const attn_dataset *dataset) {
    attn_context *context = test_best_context(threads);
    attn_predictor *predictor = NULL;
    said made = {NULL, NULL, 0};
    expect_ok(context, attn_predictor_create(models[which], context, &predictor));
    expect_ok(context, say(predictor, models[which], dataset, &made));
    assert_true((predictor->work.parts != NULL) == (threads > 1));
    said again = {NULL, NULL, 0}; /* with the memory of the first time */
    expect_ok(context, say(predictor, models[which], dataset, &again));
    assert_true(same(&made, &again));
    forget(&again);
    attn_predictor_destroy(predictor);
    return made;
}

static void test_threads(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        attn_dataset *dataset = data_of(k, kind_sizes[k]);
        said one = said_by(k, 1, dataset);
        if (one.batches < 4) fail_msg("kind %d: %d batches", k, (int)one.batches);
        for (int threads = 2; threads <= 7; threads += 5) {
            said other = said_by(k, threads, dataset);
            if (!same(&one, &other)) fail_msg("kind %d: others with %d threads", k, threads);
            forget(&other);
        }
        forget(&one);
        attn_dataset_destroy(dataset);
    }
}

/* A trainer lends workers of its own; they are as good, and stay its own. */
static void test_lent(void **state) {
    (void)state;
    attn_context *context = test_best_context(3);
    for (int k = 0; k < KINDS; k++) {
        attn_dataset *dataset = data_of(k, kind_sizes[k]);
        said one = said_by(k, 1, dataset), other = {NULL, NULL, 0};
        at_parts *parts = NULL;
        at_work workers[3];
        attn_predictor *predictor = NULL;
        expect_ok(context, at_parts_create(context, &parts));
        for (int i = 0; i < 3; i++)
            expect_ok(context, at_work_create(at_main_stage(models[k]), at_part(parts, i), &workers[i]));
        expect_ok(context, attn_predictor_create(models[k], context, &predictor));
        predictor->work.workers = workers;
        expect_ok(context, say(predictor, models[k], dataset, &other));
        if (!same(&one, &other)) fail_msg("kind %d: others with workers that are lent", k);
        assert_true(predictor->work.workers == workers && !predictor->work.parts);
        attn_predictor_destroy(predictor);
        for (int i = 0; i < 3; i++) at_work_free(at_main_stage(models[k]), &workers[i]);
        at_parts_destroy(parts);
        forget(&one);
        forget(&other);
        attn_dataset_destroy(dataset);
    }
}

/* ---- ranks ---- */

typedef struct model_rank {
    const attn_model *model;
    const attn_dataset *dataset;
    attn_context *context;
    meeting *all;
    int rank, ranks;
    attn_status status;
    said made;
} model_rank;

static void *say_rank(void *argument) {
    model_rank *own = argument;
    attn_predictor *predictor = NULL;
    own->status = attn_predictor_create(own->model, own->context, &predictor);
    if (own->status != ATTN_OK) abort(); /* the others would wait */
    attend(&predictor->work, own->all, own->rank, own->ranks);
    own->status = say(predictor, own->model, own->dataset, &own->made);
    attn_predictor_destroy(predictor);
    return NULL;
}

static void check_ranks(int which, int ranks, const attn_dataset *dataset, const said *one) {
    meeting all;
    model_rank list[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    open_meeting(&all, ranks);
    for (int r = 0; r < ranks; r++) {
        attn_context_options options;
        attn_context_options_init(&options);
        options.threads = 1 + r % 2;
        list[r] =
            (model_rank){.model = models[which], .dataset = dataset, .all = &all, .rank = r, .ranks = ranks};
        assert_int_equal(attn_context_create(&options, &list[r].context), ATTN_OK);
        assert_int_equal(pthread_create(&threads[r], NULL, say_rank, &list[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < ranks; r++) {
        expect_ok(list[r].context, list[r].status);
        if (!same(one, &list[r].made)) fail_msg("kind %d: rank %d of %d has others", which, r, ranks);
        forget(&list[r].made);
        attn_context_destroy(list[r].context);
    }
    assert_true(all.joins > 2);
    close_meeting(&all);
}

static void test_ranks(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        attn_dataset *dataset = data_of(k, kind_sizes[k]);
        said one = said_by(k, 1, dataset);
        for (int ranks = 2; ranks <= MOST_RANKS; ranks += 3) check_ranks(k, ranks, dataset, &one);
        forget(&one);
        attn_dataset_destroy(dataset);
    }
}

/* Less batches than ranks, and none at all. */
static void test_few(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        attn_dataset *dataset = data_of(k, 3);
        said one = {NULL, NULL, 0};
        attn_context *context = test_best_context(1);
        attn_predictor *predictor = NULL;
        expect_ok(context, attn_predictor_create(models[k], context, &predictor));
        expect_ok(context, say(predictor, models[k], dataset, &one));
        attn_predictor_destroy(predictor);
        check_ranks(k, MOST_RANKS, dataset, &one);
        forget(&one);
        attn_dataset_destroy(dataset);
    }
}

/* ---- failures ---- */

/* Memory that runs out at any moment is said, and nothing is lost. */
static void test_no_memory(void **state) {
    (void)state;
    static const int kinds[] = {TAGS, CRFS, CTC, RUNNING};
    counting_allocator counter = {0};
    attn_context_options options;
    attn_context_options_init(&options);
    options.allocator = counting_allocator_functions(&counter);
    options.threads = 3;
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    for (int i = 0; i < 4; i++) {
        attn_dataset *dataset = data_of(kinds[i], kind_sizes[kinds[i]]);
        int64_t before = counter.allocations, refused = 0, needed = 1;
        for (int64_t n = 0; n <= needed; n += 1 + n / 8) {
            int64_t live = counter.live, failures = counter.failures;
            attn_predictor *predictor = NULL;
            said made = {NULL, NULL, 0};
            counter.fail_at = n;
            attn_status status = attn_predictor_create(models[kinds[i]], context, &predictor);
            if (status == ATTN_OK) status = say(predictor, models[kinds[i]], dataset, &made);
            counter.fail_at = 0;
            if (counter.failures > failures) {
                refused++;
                if (status != ATTN_OUT_OF_MEMORY)
                    fail_msg("kind %d, allocation %d: %s: %s", kinds[i], (int)n, attn_status_name(status),
                             attn_context_error(context));
            } else {
                expect_ok(context, status);
            }
            attn_predictor_destroy(predictor);
            forget(&made);
            if (n > 0) assert_int_equal(counter.live, live); /* the first keeps working memory */
            if (n == 0) needed = counter.allocations - before;
        }
        assert_true(refused > 10);
        attn_dataset_destroy(dataset);
    }
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),  cmocka_unit_test(test_first_failure),
        cmocka_unit_test(test_task_ranks), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_lent),       cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_few),        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("workers", tests, setup, teardown);
}
