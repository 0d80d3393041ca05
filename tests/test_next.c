/* test_next.c: what language models say comes next, unit by unit: the same as one pass over all of the
 * window, for every encoder and at every place, before the window is full and after it.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "heads/next.h"
#include "model/predictor.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

static const char *const sets[][14] = {
    {"task", "lm", "text.longest", "12"},
    {"task", "lm", "text.longest", "12", "encoder.kind", "rnn"},
    {"task", "lm", "text.longest", "12", "encoder.kind", "cnn", "encoder.dilation", "2"},
    {"task", "lm", "text.longest", "12", "encoder.kind", "fc"},
    {"task", "lm", "text.longest", "13", "encoder.layers", "4", "encoder.mix", "rnn,cnn,attention,fc",
     "text.stem", "5"},
    {"task", "lm", "encoder.position", "learned", "encoder.longest", "11", "output.members", "2"},
    {"task", "lm", "text.unit", "bytes", "text.longest", "15", "text.neighbours", "2", "encoder.position",
     "alibi"},
    {"task", "lm", "text.unit", "subwords", "text.longest", "7", "text.buckets", "0", "encoder.position",
     "relative"},
    {"task", "lm", "text.longest", "1"},
    {"task", "lm", "text.longest", "2", "encoder.kind", "rnn"},
};
enum { KINDS = sizeof sets / sizeof *sets, ENCODERS = 4 };
static char folder[] = "/tmp/attn_next_XXXXXX";
static char paths[KINDS][80];
static attn_model *models[KINDS];
static const char text[] = "the cat sat on the mat.\n\n a dog \xe2\x82\xacZ ran, and ran.\n  two  spaces";

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    char *train = corpus_running(1, 60), *dev = corpus_running(2, 8);
    for (int k = 0; k < KINDS; k++) {
        snprintf(paths[k], sizeof paths[k], "%s/%d.safetensors", folder, k);
        attn_config *config = tiny_config(context, sets[k]);
        expect_ok(context, attn_config_set(config, "training.epochs", "3"));
        models[k] = train_model(config, train, dev, paths[k]);
    }
    free(train);
    free(dev);
    return 0;
}

static int teardown(void **state) {
    for (int k = 0; k < KINDS; k++) model_destroy(models[k]);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- one pass ---- */

typedef struct passes {
    attn_model *model;
    at_encoded *encoded;
    attn_dataset *lines;
    at_batch *batch;
    attn_tape *tape;
} passes;

static passes begin_passes(attn_model *model) {
    attn_context *context = model->context;
    passes made = {.model = model, .lines = parse_corpus(attn_model_config(model), "text", text)};
    const at_stage *stage = at_main_stage(model);
    expect_ok(context, at_stage_encode(stage, context, NULL, made.lines, NULL, &made.encoded));
    expect_ok(context, stage->forward.create_batch(&stage->forward, context, &made.batch));
    expect_ok(context, attn_tape_create(context, &made.tape));
    return made;
}

static void end_passes(passes *made) {
    const at_stage *stage = at_main_stage(made->model);
    attn_tape_destroy(made->tape);
    stage->forward.free_batch(&stage->forward, made->batch);
    stage->input->kind->free_encoded(made->encoded);
    attn_dataset_destroy(made->lines);
}

/* The probabilities after rows first .. end - 1, in double from the scores; the largest score by size. */
static double full_pass(passes *made, int64_t first, int64_t end, double *probabilities) {
    const at_stage *stage = at_main_stage(made->model);
    attn_context *context = made->model->context;
    int64_t symbols = attn_model_symbols(made->model), zero = 0;
    at_segment rows = {0, first, end - first, 0};
    at_segments segments = {&rows, 1, 1};
    double largest = 0;
    expect_ok(context, stage->forward.fill(&stage->forward, made->encoded, &segments, &zero, 1, made->batch));
    for (int64_t s = 0; s < symbols; s++) probabilities[s] = 0;
    for (int n = 0; n < stage->network_count; n++) {
        attn_tape_begin(made->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_sequence_logits(stage->heads[0], stage->heads[0]->layers[n], made->tape,
                                              at_stage_rows(stage, n, made->tape, made->batch));
        expect_ok(context, attn_tape_status(made->tape));
        const float *last = attn_variable_data(x) + (end - first - 1) * attn_variable_stride(x);
        double highest = -INFINITY, sum = 0;
        for (int64_t s = 0; s < symbols; s++) highest = (double)last[s] > highest ? (double)last[s] : highest;
        for (int64_t s = 0; s < symbols; s++) {
            sum += exp((double)last[s] - highest);
            if (fabs((double)last[s]) > largest) largest = fabs((double)last[s]);
        }
        for (int64_t s = 0; s < symbols; s++)
            probabilities[s] += exp((double)last[s] - highest) / sum / stage->network_count;
    }
    return largest;
}

/* Rounding of the same sums in another order: the rows of these networks are sums of up to 64 products,
 * through up to four layers and normalised between them, so that a score may be off by some hundred units of
 * 2^-24 of its size; a probability changes by that much of itself. */
static void near(const double *found, const double *wanted, int64_t symbols, double largest, int kind,
                 int64_t row) {
    double most = 500 * 0x1p-24 * (1 + largest), sum = 0;
    for (int64_t s = 0; s < symbols; s++) {
        if (!(fabs(found[s] - wanted[s]) <= most * wanted[s] + 1e-12))
            fail_msg("model %d, row %d, symbol %d: %.9g, in one pass %.9g (allowed %.2g)", kind, (int)row,
                     (int)s, found[s], wanted[s], most);
        sum += found[s];
    }
    assert_true(fabs(sum - 1) < 1e-5);
}

/* The units of the text after the line end that precedes it, as pieces that are pushed. */
static void unit_text(const passes *made, int64_t row, char *into) {
    const char *unit = at_main_stage(made->model)->input->kind->row_name(made->encoded, row);
    assert_true(strlen(unit) < 32);
    strcpy(into, unit);
}

/* ---- unit by unit ---- */

/* Which row the window begins with, after rows were added and asked for. */
static int64_t window(int64_t begins, int64_t pushed, int64_t rows, int64_t longest) {
    if (rows - begins <= longest) return begins;
    return rows - (pushed == 0 ? longest : (longest + 1) / 2);
}

static void test_every_place(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        int64_t symbols = attn_model_symbols(models[k]), longest = at_main_stage(models[k])->forward.longest;
        int apart = strcmp(attn_config_get(attn_model_config(models[k]), "text.unit"), "chars") == 0;
        passes made = begin_passes(models[k]);
        double *wanted = calloc((size_t)symbols, sizeof *wanted),
               *kept = calloc((size_t)symbols, sizeof *kept);
        assert_true(wanted && kept);
        for (int step = 1; step <= 4; step++) {
            attn_predictor *predictor = NULL;
            int64_t begins = 0, pushed = 0;
            expect_ok(context, attn_predictor_create(models[k], context, &predictor));
            /* the last row is a line end that the text does not have */
            for (int64_t rows = 1; rows < made.encoded->rows; rows += step) {
                const double *next = NULL, *again = NULL;
                for (int64_t r = rows - step; rows > 1 && r < rows; r++) {
                    char unit[32];
                    unit_text(&made, r, unit);
                    if (!apart) { /* units that are no texts by themselves go in as they are */
                        expect_ok(context, at_steps_extend(&at_main_stage(models[k])->forward,
                                                           predictor->work.steps, unit, strlen(unit)));
                        predictor->next = NULL;
                    } else {
                        expect_ok(context, attn_predictor_push_text(predictor, unit));
                    }
                }
                expect_ok(context, attn_predictor_next(predictor, &next));
                begins = window(begins, pushed, rows, longest);
                pushed = rows;
                double largest = full_pass(&made, begins, rows, wanted);
                near(next, wanted, symbols, largest, k, rows);
                memcpy(kept, next, (size_t)symbols * sizeof *kept);
                expect_ok(context, attn_predictor_push_text(predictor, "")); /* nothing new */
                expect_ok(context, attn_predictor_next(predictor, &again));
                assert_memory_equal(again, kept, (size_t)symbols * sizeof *kept);
            }
            attn_predictor_destroy(predictor);
        }
        free(wanted);
        free(kept);
        end_passes(&made);
    }
}

/* A beginning of the text at once, by a predictor that is new or has been used: as much of it as fits counts.
 */
static void test_at_once(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        int64_t symbols = attn_model_symbols(models[k]), longest = at_main_stage(models[k])->forward.longest;
        double *wanted = calloc((size_t)symbols, sizeof *wanted),
               *kept = calloc((size_t)symbols, sizeof *kept);
        attn_predictor *used = NULL;
        assert_true(wanted && kept);
        expect_ok(context, attn_predictor_create(models[k], context, &used));
        static const size_t lengths[] = {0, 1, 5, 11, 12, 13, 24, 25, 30, sizeof text - 1};
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            char beginning[sizeof text];
            snprintf(beginning, sizeof beginning, "%.*s", (int)lengths[i], text);
            attn_dataset *lines = NULL; /* of the beginning alone: subwords depend on it */
            at_encoded *encoded = NULL;
            const at_stage *stage = at_main_stage(models[k]);
            lines = parse_corpus(attn_model_config(models[k]), "text", lengths[i] ? beginning : "\n");
            expect_ok(context, at_stage_encode(stage, context, NULL, lines, NULL, &encoded));
            passes made = begin_passes(models[k]);
            at_encoded *whole = made.encoded;
            made.encoded = encoded;
            /* the line end after it is not there, unless it is a part of it */
            int64_t rows = encoded->rows - !(lengths[i] && beginning[lengths[i] - 1] == '\n');
            double largest = full_pass(&made, rows > longest ? rows - longest : 0, rows, wanted);
            made.encoded = whole;
            end_passes(&made);
            for (int round = 0; round < 2; round++) {
                attn_predictor *fresh = NULL;
                const double *next = NULL;
                expect_ok(context, attn_predictor_create(models[k], NULL, &fresh));
                attn_predictor *asked = round ? used : fresh;
                expect_ok(attn_predictor_context(asked), attn_predictor_push_text(asked, beginning));
                expect_ok(attn_predictor_context(asked), attn_predictor_next(asked, &next));
                near(next, wanted, symbols, largest, k, rows);
                if (round) assert_memory_equal(next, kept, (size_t)symbols * sizeof *next);
                memcpy(kept, next, (size_t)symbols * sizeof *next);
                expect_ok(attn_predictor_context(asked), attn_predictor_finish(asked, NULL));
                attn_predictor_destroy(fresh);
            }
            stage->input->kind->free_encoded(encoded);
            attn_dataset_destroy(lines);
        }
        attn_predictor_destroy(used);
        free(wanted);
        free(kept);
    }
}

/* The loss of a report is the mean of the logarithms of what is said to come next; all of it is one chunk. */
static void test_against_report(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char line[] = "the cat sat";
    for (int k = 0; k < ENCODERS; k++) {
        attn_dataset *lines = parse_corpus(attn_model_config(models[k]), "line", line);
        attn_report *report = NULL;
        attn_predictor *predictor = NULL;
        double loss = 0;
        expect_ok(context, attn_predictor_create(models[k], context, &predictor));
        expect_ok(context, attn_report_create(predictor, lines, &report));
        for (size_t i = 0; i <= strlen(line); i++) {
            const double *next = NULL;
            char said[2] = {i < strlen(line) ? line[i] : '\n', 0};
            int64_t symbol = 0;
            expect_ok(context, attn_predictor_next(predictor, &next));
            for (int64_t s = 1; s < attn_model_symbols(models[k]); s++)
                if (strcmp(attn_model_symbol(models[k], s), said) == 0) symbol = s;
            assert_true(symbol > 0);
            loss -= log(next[symbol]);
            expect_ok(context, attn_predictor_push_text(predictor, said));
        }
        loss /= (double)strlen(line) + 1;
        /* each logarithm is off by what `near` allows of a probability, of scores below 20 */
        assert_true(fabs(attn_report_metric(report, "loss") - loss) < 500 * 0x1p-24 * 21);
        attn_report_destroy(report);
        attn_predictor_destroy(predictor);
        attn_dataset_destroy(lines);
    }
}

/* ---- calls between, and failures ---- */

static void test_calls_between(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        int64_t symbols = attn_model_symbols(models[k]);
        size_t bytes = (size_t)symbols * sizeof(double);
        attn_predictor *predictor = NULL;
        const double *next = NULL;
        double *begin = malloc(bytes), *after = malloc(bytes);
        assert_true(begin && after);
        expect_ok(context, attn_predictor_create(models[k], context, &predictor));
        expect_ok(context, attn_predictor_next(predictor, &next)); /* nothing was pushed: a text begins */
        memcpy(begin, next, bytes);
        expect_ok(context, attn_predictor_finish(predictor, NULL));
        expect_ok(context, attn_predictor_push_text(predictor, "the c"));
        expect_ok(context, attn_predictor_next(predictor, &next));
        memcpy(after, next, bytes);
        expect_ok(context, attn_predictor_finish(predictor, NULL));
        expect_ok(context, attn_predictor_next(predictor, &next));
        assert_memory_equal(next, begin, bytes);
        /* a report, vectors and a refused text do not disturb it */
        attn_dataset *lines = parse_corpus(attn_model_config(models[k]), "line", "a dog ran\nthe\n");
        for (int i = 0; i < 3; i++) {
            attn_report *report = NULL;
            attn_vectors vectors = {.size = sizeof vectors};
            expect_ok(context, attn_predictor_finish(predictor, NULL));
            expect_ok(context, attn_predictor_push_text(predictor, "the c"));
            if (i == 0) expect_ok(context, attn_report_create(predictor, lines, &report));
            if (i == 1) expect_ok(context, attn_predictor_embed(predictor, lines, 0, &vectors));
            if (i == 2)
                expect_refused(context, attn_predictor_push_text(predictor, "a\xff"), ATTN_INVALID_ARGUMENT,
                               "UTF-8");
            expect_ok(context, attn_predictor_next(predictor, &next));
            assert_memory_equal(next, after, bytes);
            attn_report_destroy(report);
        }
        /* a prediction and a continuation begin another text */
        for (int i = 0; i < 2; i++) {
            attn_prediction *prediction = NULL;
            const char *said = NULL;
            expect_ok(context, attn_predictor_push_text(predictor, "the c"));
            if (i == 0) expect_ok(context, attn_predictor_predict(predictor, lines, &prediction));
            if (i == 1) expect_ok(context, attn_predictor_continue(predictor, "a d", NULL, &said));
            attn_prediction_destroy(prediction);
            expect_ok(context, attn_predictor_next(predictor, &next));
            assert_memory_equal(next, begin, bytes);
            expect_ok(context, attn_predictor_finish(predictor, NULL));
        }
        attn_dataset_destroy(lines);
        attn_predictor_destroy(predictor);
        free(begin);
        free(after);
    }
}

static void test_other_tasks(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const tag[] = {"task", "tag", "training.epochs", "1", NULL};
    attn_config *config = tiny_config(context, tag);
    char *train = corpus_conllu(1, 20), path[96];
    snprintf(path, sizeof path, "%s/tag.safetensors", folder);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path;
    expect_ok(context, train_on(config, train, NULL, &options));
    attn_model *tagger = NULL;
    const double *next = NULL;
    const char *said = NULL;
    expect_ok(context, attn_model_load(context, path, &tagger));
    attn_predictor *predictor = predictor_of(tagger);
    expect_refused(context, attn_predictor_push_text(predictor, "a"), ATTN_UNSUPPORTED, "tag");
    expect_refused(context, attn_predictor_next(predictor, &next), ATTN_UNSUPPORTED, "tag");
    expect_refused(context, attn_predictor_continue(predictor, "a", NULL, &said), ATTN_UNSUPPORTED, "tag");
    assert_int_equal(attn_predictor_next(NULL, &next), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_push_text(NULL, "a"), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_push_text(predictor_of(models[0]), NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_next(predictor_of(models[0]), NULL), ATTN_INVALID_ARGUMENT);
    model_destroy(tagger);
    attn_config_destroy(config);
    free(train);
}

/* After a step for which there was no memory, the next one says what it would have said. */
static void test_no_memory(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        attn_model *model = NULL;
        expect_ok(context, attn_model_load(context, paths[k], &model));
        int64_t symbols = attn_model_symbols(model), live = counter.live, refused = 0;
        double *wanted = calloc((size_t)symbols, sizeof *wanted);
        assert_non_null(wanted);
        for (int64_t n = 0;; n++) { /* 0: none fails */
            attn_predictor *predictor = NULL;
            const double *next = NULL;
            int64_t failures = counter.failures;
            expect_ok(context, attn_predictor_create(model, context, &predictor));
            counter.fail_at = n;
            attn_status status = attn_predictor_push_text(predictor, "the");
            if (status == ATTN_OK) status = attn_predictor_next(predictor, &next);
            if (status == ATTN_OK) status = attn_predictor_push_text(predictor, " ca");
            if (status == ATTN_OK) status = attn_predictor_next(predictor, &next);
            counter.fail_at = 0;
            int denied = counter.failures > failures;
            assert_int_equal(denied, status != ATTN_OK);
            if (denied) {
                expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory");
                refused++;
                status = attn_predictor_next(predictor, &next); /* of what is there; it must not crash */
                expect_ok(context, status);
                expect_ok(context, attn_predictor_finish(predictor, NULL));
                expect_ok(context, attn_predictor_push_text(predictor, "the"));
                expect_ok(context, attn_predictor_next(predictor, &next));
                expect_ok(context, attn_predictor_push_text(predictor, " ca"));
                expect_ok(context, attn_predictor_next(predictor, &next));
            }
            if (n == 0) memcpy(wanted, next, (size_t)symbols * sizeof *next);
            assert_memory_equal(next, wanted, (size_t)symbols * sizeof *next);
            attn_predictor_destroy(predictor);
            if (n == 0) {
                live = counter.live;
                continue;
            }
            assert_int_equal(counter.live, live);
            if (!denied) break;
        }
        assert_true(refused > 5);
        free(wanted);
        attn_model_destroy(model);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_place),    cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_against_report), cmocka_unit_test(test_calls_between),
        cmocka_unit_test(test_other_tasks),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
