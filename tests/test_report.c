/* test_report.c: reports of models that were not trained (their answers are arbitrary, but fixed) against the
 * same numbers group_counter plainly from predictions and targets; what is asked out of range; memory that
 * runs out anywhere.
 */
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <attn/attn.h>

#include "model/predictor.h"
#include "support/host.h"
#include "support/memory.h"
#include "support/predicting.h"

/* ---- data and models ---- */

static const char conllu[] = "1\tthe\t_\tDET\tA\t_\t2\t_\t_\t_\n"
                             "2\tcat\t_\tNOUN\tB\t_\t0\t_\t_\tSpaceAfter=No\n"
                             "3\ts\t_\tPART\tB\t_\t1\t_\t_\t_\n"
                             "4\teats\t_\tVERB\tA\t_\t5\t_\t_\t_\n\n"
                             "1\tdogs\t_\tNOUN\tA\t_\t3\t_\t_\t_\n"
                             "2\tsleep\t_\tVERB\tC\t_\t-1\t_\t_\tSpaceAfter=No\n"
                             "3\t.\t_\tPUNCT\tC\t_\t4\t_\t_\t_\n\n";
/* PRON and ADV are new; one XPOS is missing. */
static const char conllu_other[] = "1\tit\t_\tPRON\tA\t_\t2\t_\t_\t_\n"
                                   "2\tsleeps\t_\tVERB\t_\t_\t2\t_\t_\t_\n"
                                   "3\twell\t_\tADV\tB\t_\t2\t_\t_\t_\n"
                                   "4\t.\t_\tPUNCT\tC\t_\t2\t_\t_\t_\n\n";
static const char labels[] = "__label__a __label__b red house\n"
                             "__label__b blue house\n"
                             "__label__c __label__a red tree\n"
                             "blue tree\n";
static const char labels_other[] =
    "__label__a __label__new red\n__label__new __label__newer blue\n__label__b tree\n";

static attn_dataset *parse(const char *text, attn_format format, const char *column, int labelled) {
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    attn_reader_options_init(&options);
    options.format = format;
    options.column = column;
    options.labelled = labelled;
    if (attn_dataset_parse(group_context, "data", 1, text, strlen(text), &options, &dataset) != ATTN_OK)
        fail_msg("%s", attn_context_error(group_context));
    return dataset;
}

/* A network as it starts, for the outputs of a dataset. settings: name, value, ..., NULL. */
static attn_model *make_model(const attn_dataset *dataset, const char *const *settings) {
    static const char *const common[] = {"encoder.columns",
                                         "8",
                                         "encoder.heads",
                                         "2",
                                         "encoder.layers",
                                         "1",
                                         "text.buckets",
                                         "64",
                                         "text.min_count",
                                         "1",
                                         NULL};
    attn_config *config = NULL;
    attn_model *model = NULL;
    assert_int_equal(attn_config_create(group_context, &config), ATTN_OK);
    const char *const *lists[] = {common, settings};
    for (int list = 0; list < 2; list++)
        for (const char *const *one = lists[list]; *one; one += 2)
            if (attn_config_set(config, one[0], one[1]) != ATTN_OK)
                fail_msg("%s", attn_context_error(group_context));
    assert_int_equal(at_model_create(config, &model), ATTN_OK);
    attn_config_destroy(config);
    at_encoded *encoded = NULL;
    assert_int_equal(at_stage_learn(at_main_stage(model), dataset, NULL, &encoded), ATTN_OK);
    at_main_stage(model)->input->kind->free_encoded(encoded);
    if (at_model_build(model, NULL) != ATTN_OK) fail_msg("%s", attn_context_error(group_context));
    return model;
}

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-9 * (1 + fabs(wanted)))) fail_msg("%.17g is not %.17g", got, wanted);
}

static attn_report *report_of(attn_model *model, const attn_dataset *dataset) {
    attn_report *report = NULL;
    if (report_with(model, dataset, &report) != ATTN_OK) fail_msg("%s", attn_context_error(group_context));
    return report;
}

/* ---- classes ---- */

/* The class of a label in a report, -1: none. */
static int64_t find_class(const attn_report *report, int output, const char *label) {
    for (int64_t c = 0; c < attn_report_classes(report, output); c++)
        if (strcmp(attn_report_class(report, output, c), label) == 0) return c;
    return -1;
}

/* Accuracy, confusion and counts of an output, from the dataset and the model's answers. */
static void check_classes(attn_model *model, const attn_dataset *dataset, const attn_report *report,
                          int output, const char *accuracy_name) {
    attn_prediction *prediction = NULL;
    assert_int_equal(predict_with(model, dataset, 0, &prediction), ATTN_OK);
    int64_t classes = attn_report_classes(report, output), rows = 0, right = 0;
    int64_t *matrix = calloc((size_t)(classes * classes), sizeof *matrix);
    assert_non_null(matrix);
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        for (int64_t t = 0; t < attn_dataset_tokens(dataset, e); t++) {
            const char *truth = attn_dataset_target(dataset, output, e, t);
            const char *answer = attn_prediction_label(prediction, output, e, t);
            if (!*truth) continue;
            rows++;
            right += strcmp(truth, answer) == 0;
            matrix[find_class(report, output, truth) * classes + find_class(report, output, answer)]++;
        }
    }
    assert_true(rows > 0);
    near(attn_report_metric(report, accuracy_name), (double)right / (double)rows);
    for (int64_t c = 0; c < classes; c++) {
        attn_class_metrics scores = attn_report_class_metrics(report, output, c);
        int64_t support = 0, predicted = 0;
        for (int64_t d = 0; d < classes; d++) {
            assert_int_equal(attn_report_confusion(report, output, c, d), matrix[c * classes + d]);
            support += matrix[c * classes + d];
            predicted += matrix[d * classes + c];
        }
        assert_int_equal(scores.support, support);
        assert_int_equal(scores.predicted, predicted);
        assert_int_equal(scores.right, matrix[c * classes + c]);
    }
    free(matrix);
    attn_prediction_destroy(prediction);
}

static const char *const tag_settings[] = {"task", "tag", NULL};

static void test_classes(void **state) {
    (void)state;
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_dataset *other = parse(conllu_other, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_model *model = make_model(train, tag_settings);
    const attn_dataset *sets[] = {train, other};
    for (int i = 0; i < 2; i++) {
        attn_report *report = report_of(model, sets[i]);
        check_classes(model, sets[i], report, 0, "accuracy");
        check_classes(model, sets[i], report, 1, "XPOS.accuracy");
        near(attn_report_metric(report, "unknown_labels"), i == 0 ? 0 : 2);
        near(attn_report_metric(report, "micro_f1"), attn_report_metric(report, "accuracy"));
        assert_int_equal(attn_report_classes(report, 0), i == 0 ? 5 : 7);
        attn_report_destroy(report);
    }
    model_destroy(model);
    attn_dataset_destroy(other);
    attn_dataset_destroy(train);
}

/* Two columns of two labels and one of three, with gaps; in `gaps_other` the first has one class only, the
 * second nothing, and a label is new. */
static const char gaps[] = "text\ta\tb\tc\nred\t1\tno\tx\nold\t0\t\ty\ngreen\t\tyes\tz\nblue\t0\tno\tx\n"
                           "red old\t1\tyes\t\nnew\t0\tno\ty\n";
static const char gaps_other[] = "text\ta\tb\tc\nred\t1\t\tx\nold\t1\t\tnew\n";

/* The same from predictions, by the functions of metrics.h. */
static void check_probabilities(const attn_prediction *prediction, const attn_dataset *dataset,
                                const attn_report *report, int output, const char *positive) {
    enum { ROWS = 6, LABELS = 3 };
    int32_t truth[ROWS], seen[ROWS];
    double probabilities[ROWS * LABELS], scores[ROWS], loss;
    int64_t known = positive ? 2 : 3;
    const char *owner = output == 0 ? "" : output == 1 ? "b." : "c.";
    char name[40];
    for (int64_t e = 0; e < ROWS; e++) {
        const char *target = attn_dataset_target(dataset, output, e, 0);
        truth[e] = seen[e] = -1;
        for (int64_t l = 0; l < known; l++) {
            const char *label = attn_report_class(report, output, l);
            double one = probabilities[e * known + l] =
                attn_prediction_probability(prediction, output, e, 0, l);
            if (strcmp(label, target) == 0) truth[e] = (int32_t)l;
            if (positive && strcmp(label, positive) == 0) scores[e] = one;
        }
        if (positive && *target) seen[e] = strcmp(target, positive) == 0;
    }
    assert_int_equal(attn_metric_log_loss(group_context, truth, probabilities, ROWS, known, &loss), ATTN_OK);
    snprintf(name, sizeof name, "%slog_loss", owner);
    near(attn_report_metric(report, name), loss);
    assert_int_equal(attn_report_metric_rises(report, name), 0);
    snprintf(name, sizeof name, "%sroc_auc", owner);
    if (!positive) {
        assert_true(isnan(attn_report_metric(report, name)));
        assert_int_equal(attn_report_positive(report, output), -1);
        return;
    }
    attn_ranking ranking = {.size = sizeof ranking};
    assert_int_equal(attn_metric_ranking(group_context, seen, scores, ROWS, &ranking), ATTN_OK);
    near(attn_report_metric(report, name), ranking.roc_auc);
    snprintf(name, sizeof name, "%spr_auc", owner);
    near(attn_report_metric(report, name), ranking.pr_auc);
    assert_string_equal(attn_report_class(report, output, attn_report_positive(report, output)), positive);
}

static void test_probabilities(void **state) {
    (void)state;
    static const char *const settings[][5] = {{"task", "classify", NULL},
                                              {"task", "classify", "output.members", "3", NULL}};
    attn_dataset *train = parse(gaps, ATTN_FORMAT_TABLE, "a,b,c", 1);
    attn_dataset *other = parse(gaps_other, ATTN_FORMAT_TABLE, "a,b,c", 1);
    for (int i = 0; i < 2; i++) {
        attn_model *model = make_model(train, settings[i]);
        attn_report *report = report_of(model, train);
        attn_prediction *prediction = NULL;
        assert_int_equal(predict_with(model, train, WITH_PROBABILITIES, &prediction), ATTN_OK);
        check_probabilities(prediction, train, report, 0, "1");
        check_probabilities(prediction, train, report, 1, "yes");
        check_probabilities(prediction, train, report, 2, NULL);
        attn_prediction_destroy(prediction);
        int outputs;
        near(attn_report_mean(report, "roc_auc", &outputs),
             (attn_report_metric(report, "roc_auc") + attn_report_metric(report, "b.roc_auc")) / 2);
        assert_int_equal(outputs, 2);
        near(attn_report_metric(report, "mean.log_loss"),
             (attn_report_metric(report, "log_loss") + attn_report_metric(report, "b.log_loss") +
              attn_report_metric(report, "c.log_loss")) /
                 3);
        assert_int_equal(attn_report_metric_rises(report, "mean.log_loss"), 0);
        assert_int_equal(attn_report_metric_rises(report, "mean.roc_auc"), 1);
        assert_true(isnan(attn_report_metric(report, "mean.no")) &&
                    isnan(attn_report_mean(report, NULL, NULL)));
        assert_true(isnan(attn_report_mean(report, "unknown_labels", NULL))); /* it counts */
        assert_non_null(strstr(attn_report_json(report), "\"positive\":\"yes\""));
        attn_report_destroy(report);
        report = report_of(model, other);
        assert_true(isnan(attn_report_metric(report, "roc_auc")) &&
                    isnan(attn_report_mean(report, "roc_auc", &outputs)));
        assert_int_equal(outputs, 0);
        near(attn_report_mean(report, "accuracy", &outputs),
             (attn_report_metric(report, "accuracy") + attn_report_metric(report, "c.accuracy")) / 2);
        assert_int_equal(outputs, 2); /* the second column has nothing to compare */
        assert_true(attn_report_metric(report, "c.log_loss") >
                    18); /* the mean with -ln 2^-52, of the new label */
        assert_null(strstr(attn_report_json(report), "roc_auc"));
        attn_report_destroy(report);
        model_destroy(model);
    }
    attn_dataset_destroy(other);
    attn_dataset_destroy(train);
}

/* The log loss and the calibration error of tags. Each of the seven rows is alone in its bin. */
static void check_tags(const attn_prediction *prediction, const attn_dataset *dataset,
                       const attn_report *report) {
    double surprise = 0, error = 0;
    int rows = 0;
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++)
        for (int64_t t = 0; t < attn_dataset_tokens(dataset, e); t++, rows++) {
            int64_t truth = find_class(report, 0, attn_dataset_target(dataset, 0, e, t)),
                    answer = attn_prediction_class(prediction, 0, e, t);
            surprise -= log(attn_prediction_probability(prediction, 0, e, t, truth));
            error += fabs((truth == answer) - attn_prediction_probability(prediction, 0, e, t, answer));
        }
    assert_int_equal(rows, 7);
    near(attn_report_metric(report, "log_loss"), surprise / rows);
    near(attn_report_metric(report, "calibration_error"), error / rows);
}

/* With a CRF the probabilities are marginals, and the path's label need not be the likeliest of its row. */
static void test_tag_probabilities(void **state) {
    (void)state;
    static const char *const settings[][7] = {
        {"task", "tag", NULL},
        {"task", "tag", "output.crf", "true", NULL},
        {"task", "tag", "output.crf", "true", "output.members", "2", NULL}};
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, "UPOS", 1);
    for (int i = 0; i < 3; i++) {
        attn_model *model = make_model(train, settings[i]);
        int64_t known = attn_model_labels(model, 0), apart = 0;
        attn_parameter *transitions =
            attn_parameters_find(attn_model_parameters(model), "output.0.transitions");
        assert_int_equal(transitions != NULL, i > 0);
        float values[25];
        for (int l = 0; l < 25; l++) values[l] = (float)((7 * l) % 11) / 5 - 1;
        assert_int_equal(known, 5);
        if (transitions) host_set_value(transitions, values);
        attn_report *report = report_of(model, train);
        attn_prediction *prediction = NULL;
        assert_int_equal(predict_with(model, train, WITH_PROBABILITIES, &prediction), ATTN_OK);
        check_tags(prediction, train, report);
        for (int64_t e = 0; e < attn_dataset_examples(train); e++)
            for (int64_t t = 0; t < attn_dataset_tokens(train, e); t++) {
                int64_t answer = attn_prediction_class(prediction, 0, e, t);
                for (int64_t l = 0; l < known; l++)
                    apart += attn_prediction_probability(prediction, 0, e, t, l) >
                             attn_prediction_probability(prediction, 0, e, t, answer);
            }
        assert_int_equal(apart > 0, i == 1);
        assert_true(isnan(attn_report_metric(report, "roc_auc")));
        attn_prediction_destroy(prediction);
        attn_report_destroy(report);
        model_destroy(model);
    }
    attn_dataset_destroy(train);
}

static const char whole[] = "text\ta\tc\nred\t1\tx\nold\t0\ty\ngreen\t2\tz\nblue\t0.5\tx\nred old\t-1\tz\n";

/* Of two networks each is as far from the mean as the other: that is their standard deviation. */
static void test_spread(void **state) {
    (void)state;
    static const char *const settings[][7] = {
        {"task", "classify", "output.members", "2", NULL},
        {"task", "classify", "output.members", "2", "output.kind", "labels", NULL},
        {"task", "regress", "output.members", "2", NULL}};
    for (int kind = 0; kind < 3; kind++) {
        attn_dataset *train = parse(whole, ATTN_FORMAT_TABLE, kind == 2 ? "a" : "c", 1);
        attn_model *model = make_model(train, settings[kind]);
        attn_prediction *both = NULL, *first = NULL;
        at_forward *forward = &at_main_stage(model)->forward;
        assert_int_equal(predict_with(model, train, WITH_PROBABILITIES, &both), ATTN_OK);
        forward->networks = 1;
        assert_int_equal(predict_with(model, train, WITH_PROBABILITIES, &first), ATTN_OK);
        forward->networks = 2;
        for (int64_t e = 0; e < attn_prediction_examples(both); e++) {
            int64_t answer = attn_prediction_class(both, 0, e, 0);
            for (int64_t l = 0; l < (kind == 2 ? 1 : 3); l++) {
                double spread = attn_prediction_spread(both, 0, e, 0, l), wanted;
                assert_true(isnan(attn_prediction_spread(first, 0, e, 0, l)));
                if (kind == 0 && l != answer) {
                    assert_true(isnan(spread));
                    continue;
                }
                wanted = kind == 2
                             ? attn_prediction_number(first, 0, e, 0) - attn_prediction_number(both, 0, e, 0)
                             : attn_prediction_probability(first, 0, e, 0, l) -
                                   attn_prediction_probability(both, 0, e, 0, l);
                assert_true(spread > 0 && fabs(spread - fabs(wanted)) < 1e-6);
            }
        }
        assert_true(isnan(attn_prediction_spread(both, 1, 0, 0, 0)));
        assert_true(isnan(attn_prediction_spread(both, 0, 99, 0, 0)));
        assert_true(kind == 2 || isnan(attn_prediction_spread(both, 0, 0, 0, 3)));
        assert_true(isnan(attn_prediction_spread(NULL, 0, 0, 0, 0)));
        attn_prediction_destroy(first);
        attn_prediction_destroy(both);
        model_destroy(model);
        attn_dataset_destroy(train);
    }
}

static void test_out_of_range(void **state) {
    (void)state;
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, NULL, 1);
    attn_model *model = make_model(train, tag_settings);
    attn_report *report = report_of(model, train);
    assert_true(isnan(attn_report_metric(report, "none")));
    assert_true(isnan(attn_report_metric(report, NULL)));
    assert_true(isnan(attn_report_metric(NULL, "accuracy")));
    assert_null(attn_report_metric_name(report, -1));
    assert_null(attn_report_metric_name(report, attn_report_metrics(report)));
    for (int i = 0; i < attn_report_metrics(report); i++)
        assert_false(isnan(attn_report_metric(report, attn_report_metric_name(report, i))));
    assert_int_equal(attn_report_classes(report, 1), 0);
    assert_int_equal(attn_report_classes(report, -1), 0);
    assert_null(attn_report_class(report, 0, 5));
    assert_null(attn_report_class(report, 0, -1));
    assert_int_equal(attn_report_class_metrics(report, 0, 5).support, 0);
    assert_int_equal(attn_report_confusion(report, 0, 5, 0), 0);
    assert_int_equal(attn_report_confusion(report, 0, 0, -1), 0);
    assert_int_equal(attn_report_confusion(report, 3, 0, 0), 0);
    assert_int_equal(attn_metric_rises("accuracy"), 1);
    assert_int_equal(attn_metric_rises("word_f1"), 1);
    assert_int_equal(attn_metric_rises("mean_squared_error"), 0);
    assert_int_equal(attn_metric_rises("HEAD.mean_absolute_error"), 0);
    assert_int_equal(attn_metric_rises("mean_squared_error.accuracy"), 1);
    assert_int_equal(attn_metric_rises("no_such_metric"), -1);
    assert_int_equal(attn_metric_rises("accuracy.no_such_metric"), -1);
    assert_int_equal(attn_metric_rises(""), -1);
    assert_int_equal(attn_metric_rises(NULL), -1);
    static const char *const falling[] = {"bits_per_byte",      "perplexity",        "loss",
                                          "word_error_rate",    "symbol_error_rate", "character_error_rate",
                                          "mean_absolute_error"};
    static const char *const rising[] = {"bleu",     "chrf",     "exact_match", "exact",
                                         "micro_f1", "macro_f1", "correlation"};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(attn_metric_rises(falling[i]), 0);
        assert_int_equal(attn_metric_rises(rising[i]), 1);
    }
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i);
        assert_int_equal(attn_report_metric_rises(report, name), attn_metric_rises(name));
        assert_int_equal(attn_report_metric_counts(report, i), strcmp(name, "unknown_labels") == 0);
    }
    assert_int_equal(attn_report_confused(report, 0), 1);
    assert_int_equal(attn_report_confused(report, 1), 0);
    assert_int_equal(attn_report_confused(report, -1), 0);
    assert_null(attn_report_json(NULL));
    attn_report_destroy(report);
    attn_report_destroy(NULL);
    model_destroy(model);
    attn_dataset_destroy(train);
}

static void test_refusals(void **state) {
    (void)state;
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, NULL, 1);
    attn_dataset *texts = parse(labels, ATTN_FORMAT_FASTTEXT, NULL, 0);
    attn_dataset *bare = parse("1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n", ATTN_FORMAT_CONLLU, NULL, 0);
    attn_model *model = make_model(train, tag_settings);
    attn_report *report = NULL;
    assert_int_equal(report_with(NULL, train, &report), ATTN_INVALID_ARGUMENT);
    assert_int_equal(report_with(model, NULL, &report), ATTN_INVALID_ARGUMENT);
    assert_int_equal(report_with(model, train, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(report_with(model, texts, &report), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "data: "));
    assert_int_equal(report_with(model, bare, &report), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "data: has no targets to compare with"));
    assert_null(report);
    model_destroy(model);
    attn_dataset_destroy(bare);
    attn_dataset_destroy(texts);
    attn_dataset_destroy(train);
}

/* ---- labels, numbers, words ---- */

static void test_labels(void **state) {
    (void)state;
    static const char *const settings[] = {"task", "classify", "output.kind", "labels", NULL};
    attn_dataset *train = parse(labels, ATTN_FORMAT_FASTTEXT, NULL, 0);
    attn_dataset *other = parse(labels_other, ATTN_FORMAT_FASTTEXT, NULL, 1);
    attn_model *model = make_model(train, settings);
    attn_prediction *prediction = NULL;
    attn_report *report = report_of(model, other);
    assert_int_equal(predict_with(model, other, 0, &prediction), ATTN_OK);
    int64_t said[3] = {0}, right = 0, all = 0, exact = 0, support = 0;
    for (int64_t e = 0; e < 3; e++) {
        int same = e == 2; /* the others have labels that the model cannot say */
        for (int64_t l = 0; l < 3; l++) {
            const char *label = attn_model_label(model, 0, l);
            int is = (e == 0 && *label == 'a') || (e == 2 && *label == 'b');
            int says = attn_prediction_probability(prediction, 0, e, 0, l) >= 0.5;
            said[l] += says;
            all += says;
            right += is && says;
            support += is;
            if (is != says) same = 0;
        }
        exact += same;
    }
    for (int64_t l = 0; l < 3; l++)
        assert_int_equal(attn_report_class_metrics(report, 0, l).predicted, said[l]);
    assert_int_equal(support, 2);
    near(attn_report_metric(report, "exact"), (double)exact / 3);
    near(attn_report_metric(report, "micro_recall"), (double)right / 5); /* new twice, newer once */
    near(attn_report_metric(report, "micro_precision"), all ? (double)right / (double)all : 0);
    near(attn_report_metric(report, "unknown_labels"), 3);
    assert_int_equal(attn_report_classes(report, 0), 5);
    assert_int_equal(attn_report_class_metrics(report, 0, find_class(report, 0, "new")).support, 2);
    attn_prediction_destroy(prediction);
    attn_report_destroy(report);
    model_destroy(model);
    attn_dataset_destroy(other);
    attn_dataset_destroy(train);
}

static void test_numbers(void **state) {
    (void)state;
    static const char *const settings[] = {"task", "regress", NULL};
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, "HEAD", 1);
    attn_model *model = make_model(train, settings);
    attn_prediction *prediction = NULL;
    attn_report *report = report_of(model, train);
    assert_int_equal(predict_with(model, train, 0, &prediction), ATTN_OK);
    double squares = 0, absolutes = 0, rows = 0;
    for (int64_t e = 0; e < 2; e++) {
        for (int64_t t = 0; t < attn_dataset_tokens(train, e); t++) {
            double error =
                attn_prediction_number(prediction, 0, e, t) - atof(attn_dataset_target(train, 0, e, t));
            squares += error * error;
            absolutes += fabs(error);
            rows++;
        }
    }
    near(attn_report_metric(report, "mean_squared_error"), squares / rows);
    near(attn_report_metric(report, "mean_absolute_error"), absolutes / rows);
    assert_true(fabs(attn_report_metric(report, "correlation")) <= 1);
    assert_int_equal(attn_report_classes(report, 0), 0);
    attn_prediction_destroy(prediction);
    attn_report_destroy(report);
    model_destroy(model);
    attn_dataset_destroy(train);
}

/* Where words begin in a list of words without spaces: as bits. */
static uint64_t cuts(const char *const *words, int64_t count) {
    uint64_t bits = 0;
    int at = 0;
    for (int64_t w = 0; w < count; w++) {
        bits |= (uint64_t)1 << at;
        at += (int)strlen(words[w]);
    }
    return bits | (uint64_t)1 << at;
}

/* The words of the report against those that the prediction joins, found in the text without spaces. */
static void test_words(void **state) {
    (void)state;
    static const char *const settings[] = {"task", "tag", "text.unit", "chars", "text.scheme", "bmes", NULL};
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, NULL, 1);
    attn_model *model = make_model(train, settings);
    attn_prediction *prediction = NULL;
    attn_report *report = report_of(model, train);
    assert_int_equal(predict_with(model, train, 0, &prediction), ATTN_OK);
    int64_t in_truth = 0, in_answers = 0, right = 0;
    for (int64_t e = 0; e < 2; e++) {
        const char *truth[32], *answers[32];
        int64_t truths = attn_dataset_tokens(train, e), said = attn_prediction_words(prediction, e);
        assert_true(said > 0 && said <= 32);
        for (int64_t t = 0; t < truths; t++) truth[t] = attn_dataset_token(train, e, t);
        for (int64_t w = 0; w < said; w++) answers[w] = attn_prediction_word(prediction, e, w);
        uint64_t a = cuts(truth, truths), b = cuts(answers, said);
        in_truth += truths;
        in_answers += said;
        int last = -1; /* the last place where both cut, -1: one of them has cut since */
        for (int at = 0; at < 64; at++) {
            int first = (int)(a >> at & 1), second = (int)(b >> at & 1);
            if (first && second) {
                right += last >= 0;
                last = at;
            } else if (first || second) {
                last = -1;
            }
        }
    }
    near(attn_report_metric(report, "word_precision"), (double)right / (double)in_answers);
    near(attn_report_metric(report, "word_recall"), (double)right / (double)in_truth);
    near(attn_report_metric(report, "word_f1"), 2.0 * (double)right / (double)(in_truth + in_answers));
    attn_prediction_destroy(prediction);
    attn_report_destroy(report);
    model_destroy(model);
    attn_dataset_destroy(train);
}

/* ---- JSON and memory ---- */

static void test_json(void **state) {
    (void)state;
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_model *model = make_model(train, tag_settings);
    attn_report *report = report_of(model, train);
    const char *text = attn_report_json(report);
    assert_non_null(text);
    assert_ptr_equal(attn_report_json(report), text);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(json));
    assert_int_equal(json_integer_value(json_object_get(json, "examples")), 2);
    assert_int_equal(json_integer_value(json_object_get(json, "units")), 7);
    near(json_number_value(json_object_get(json, "accuracy")), attn_report_metric(report, "accuracy"));
    json_t *xpos = json_object_get(json_object_get(json, "outputs"), "XPOS");
    near(json_number_value(json_object_get(xpos, "macro_f1")), attn_report_metric(report, "XPOS.macro_f1"));
    assert_int_equal(json_array_size(json_object_get(xpos, "classes")), 3);
    json_t *confusion = json_object_get(json, "confusion");
    assert_int_equal(json_array_size(json_object_get(confusion, "labels")), 5);
    assert_int_equal(json_array_size(json_object_get(confusion, "rows")), 5);
    json_decref(json);
    attn_report_destroy(report);
    model_destroy(model);
    attn_dataset_destroy(train);
}

/* ---- raw text ---- */

/* The text of `conllu` as something else might split it: a range, a word with its full stop, the first word
 * of the second sentence in the first. */
static const char conllu_split[] = "1\tthe\t_\t_\t_\t_\t_\t_\t_\t_\n"
                                   "2-3\tcats\t_\t_\t_\t_\t_\t_\t_\t_\n"
                                   "2\tCat\t_\t_\t_\t_\t_\t_\t_\t_\n"
                                   "3\ts\t_\t_\t_\t_\t_\t_\t_\t_\n"
                                   "4\teats\t_\t_\t_\t_\t_\t_\t_\t_\n"
                                   "5\tdogs\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
                                   "1\tsleep.\t_\t_\t_\t_\t_\t_\t_\t_\n\n";

/* 5 of 7 words are found, as the first 5 of 6; of these the tags count. */
static void check_split_tags(attn_model *model, const attn_dataset *gold, const attn_dataset *split,
                             const attn_report *report) {
    attn_prediction *prediction;
    int right[3] = {0, 0, 0};
    assert_int_equal(predict_with(model, split, 0, &prediction), ATTN_OK);
    for (int word = 0; word < 5; word++) {
        int same[2];
        for (int c = 0; c < 2; c++) {
            same[c] = strcmp(attn_prediction_label(prediction, c, 0, word),
                             attn_dataset_target(gold, c, word / 4, word % 4)) == 0;
            right[c] += same[c];
        }
        right[2] += same[0] && same[1];
    }
    attn_prediction_destroy(prediction);
    assert_true(right[0] > 0 || right[1] > 0);
    near(attn_report_metric(report, "tag_f1"), 2.0 * right[0] / 13);
    near(attn_report_metric(report, "tag_accuracy"), right[0] / 5.0);
    near(attn_report_metric(report, "XPOS.tag_precision"), right[1] / 6.0);
    near(attn_report_metric(report, "XPOS.tag_recall"), right[1] / 7.0);
    near(attn_report_metric(report, "XPOS.tag_f1"), 2.0 * right[1] / 13);
    near(attn_report_metric(report, "all_tags_f1"), 2.0 * right[2] / 13);
}

static void test_raw_split(void **state) {
    (void)state;
    attn_dataset *gold = parse(conllu, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_dataset *split = parse(conllu_split, ATTN_FORMAT_CONLLU, NULL, 0);
    attn_model *model = make_model(gold, tag_settings);
    attn_report *report = NULL;
    assert_int_equal(at_report_split(predictor_of(model), gold, split, &report), ATTN_OK);
    near(attn_report_metric(report, "token_precision"), 3.0 / 5);
    near(attn_report_metric(report, "token_recall"), 3.0 / 7);
    near(attn_report_metric(report, "sentence_f1"), 0);
    near(attn_report_metric(report, "word_precision"), 5.0 / 6);
    near(attn_report_metric(report, "word_recall"), 5.0 / 7);
    near(attn_report_metric(report, "word_f1"), 10.0 / 13);
    check_split_tags(model, gold, split, report);
    assert_int_equal(attn_report_classes(report, 0), 0);
    assert_int_equal(attn_report_metric_rises(report, "sentence_f1"), 1);
    assert_int_equal(attn_metric_rises("XPOS.tag_accuracy"), 1);
    attn_report_destroy(report);
    /* Another text; no tags; not the rows of the model. */
    attn_dataset *other = parse(conllu_other, ATTN_FORMAT_CONLLU, NULL, 0);
    report = NULL;
    assert_int_equal(at_report_split(predictor_of(model), gold, other, &report), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "the texts differ"));
    assert_null(report);
    assert_int_equal(at_report_split(predictor_of(model), split, gold, &report), ATTN_OK);
    near(attn_report_metric(report, "word_f1"), 10.0 / 13);
    assert_true(isnan(attn_report_metric(report, "tag_f1")));
    attn_report_destroy(report);
    attn_dataset_destroy(other);
    model_destroy(model);
    attn_dataset_destroy(split);
    attn_dataset_destroy(gold);
}

/* A model that has not learned to split does it by rules: "the cats eats dogs sleep." */
static void test_raw_rules(void **state) {
    (void)state;
    attn_dataset *gold = parse(conllu, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_model *model = make_model(gold, tag_settings);
    attn_predictor *predictor = predictor_of(model);
    attn_report *report = NULL;
    assert_int_equal(attn_report_create_raw(predictor, gold, &report), ATTN_OK);
    near(attn_report_metric(report, "word_precision"), 5.0 / 6);
    near(attn_report_metric(report, "word_recall"), 5.0 / 7);
    near(attn_report_metric(report, "sentence_f1"), 0);
    attn_report_destroy(report);
    report = NULL;
    assert_int_equal(attn_report_create_raw(predictor, NULL, &report), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_report_create_raw(NULL, gold, &report), ATTN_INVALID_ARGUMENT);
    attn_dataset *lines = parse("a b\n", ATTN_FORMAT_LINES, NULL, 0);
    assert_int_equal(attn_report_create_raw(predictor, lines, &report), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context),
                        "data: raw text is made from tokens (CoNLL-U), which this file does not have");
    int64_t live = group_counter.live, denied = 0;
    for (int64_t at = 1;; at++) {
        group_counter.fail_at = at;
        attn_status status = attn_report_create_raw(predictor, gold, &report);
        group_counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(report);
        assert_int_equal(group_counter.live, live);
        denied++;
    }
    assert_true(denied > 30);
    attn_report_destroy(report);
    attn_dataset_destroy(lines);
    model_destroy(model);
    attn_dataset_destroy(gold);
}

static void test_no_memory(void **state) {
    (void)state;
    attn_dataset *train = parse(conllu, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_dataset *other = parse(conllu_other, ATTN_FORMAT_CONLLU, "UPOS,XPOS", 1);
    attn_model *model = make_model(train, tag_settings);
    attn_report *report = report_of(model, other); /* what the model keeps for later calls is there now */
    attn_report_destroy(report);
    report = NULL;
    attn_predictor *predictor = predictor_of(model);
    int64_t live = group_counter.live, denied = 0;
    for (int64_t at = 1;; at++) {
        group_counter.fail_at = at;
        attn_status status = attn_report_create(predictor, other, &report);
        group_counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(report);
        assert_int_equal(group_counter.live, live);
        denied++;
    }
    assert_true(denied > 20);
    attn_report_destroy(report);
    assert_int_equal(group_counter.live, live);
    model_destroy(model);
    attn_dataset_destroy(other);
    attn_dataset_destroy(train);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_raw_split),
        cmocka_unit_test(test_raw_rules),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_tag_probabilities),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
