/* metric.c: the metric that chooses the best model: one or several, of one output or as a mean over outputs.
 *
 * Several are separated by commas: the first decides; if it is equal for two models, the next does, and so
 * on. Patience continues as long as any of them improves on its best value so far.
 *
 * "roc_auc|accuracy" is the first of the two that the outputs have and that is defined for the development
 * data.
 *
 * With several outputs a name without prefix is the mean over those that have the metric, "NAME.accuracy" is
 * that of one. Without a choice it is the usual metric of the first output.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "train/trainer.h"

static const char mean_prefix[] = "mean.";

/* Whether a head has a metric of that name; of_pieces: those of larger pieces, too. */
static const at_metric *find(const at_head *head, int of_pieces, const char *name) {
    for (const at_metric *metric = head->kind->metrics; metric->name; metric++) {
        if (strcmp(metric->name, name) != 0 || (metric->of_pieces && !of_pieces)) continue;
        return head->kind->has_metric && !head->kind->has_metric(head, metric) ? NULL : metric;
    }
    return NULL;
}

static int has_pieces(const at_stage *stage) {
    return stage->input->kind->metric && stage->input->kind->metric(stage->input);
}

/* "NAME.accuracy" of one output. */
static const at_metric *find_of_output(const at_stage *stage, const char *name, int *output) {
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && i < stage->head_count; i++) {
        const at_strings *owner = &stage->heads[i]->name;
        size_t length = at_string_length(owner, 0);
        if ((size_t)(dot - name) != length || memcmp(at_string(owner, 0), name, length) != 0) continue;
        *output = i;
        return find(stage->heads[i], has_pieces(stage), dot + 1);
    }
    return NULL;
}

/* The mean over the outputs that have it. */
static const at_metric *find_mean(const at_stage *stage, const char *name) {
    const at_metric *found = NULL;
    for (int i = 0; i < stage->head_count && !found; i++) {
        found = find(stage->heads[i], has_pieces(stage), name);
        if (found && found->counts) found = NULL;
    }
    return found;
}

static attn_status refuse(const attn_trainer *trainer, const char *name) {
    char names[600] = "";
    const at_stage *stage = trainer->courses[0].stage;
    for (int i = 0; i < stage->head_count; i++) {
        for (const at_metric *metric = stage->heads[i]->kind->metrics; metric->name; metric++) {
            if (!find(stage->heads[i], has_pieces(stage), metric->name)) continue;
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%.200s%s%s", used ? ", " : "",
                     i ? at_string(&stage->heads[i]->name, 0) : "", i ? "." : "", metric->name);
        }
    }
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                   "there is no metric \"%.60s\" for this task (training.metric); there are: %s", name,
                   names);
}

/* A metric by its name; 0: no output has it. */
static int set_choice(const attn_trainer *trainer, const char *name, int chosen, at_choice *into) {
    const at_stage *stage = trainer->courses[0].stage;
    int output = 0, several = stage->head_count > 1;
    const char *plain =
        several && strncmp(name, mean_prefix, strlen(mean_prefix)) == 0 ? name + strlen(mean_prefix) : name;
    const at_metric *metric = several ? find_of_output(stage, name, &output) : NULL;
    if (!metric && !(several && chosen)) metric = find(stage->heads[0], has_pieces(stage), name);
    into->mean = !metric;
    if (!metric) metric = several ? find_mean(stage, plain) : NULL;
    if (!metric) return 0;
    into->metric = metric->name;
    into->output = output;
    into->rises = metric->rises;
    const char *owner = into->mean ? "mean" : output > 0 ? at_string(&stage->heads[output]->name, 0) : "";
    snprintf(into->name, sizeof into->name, "%.*s%s%s", AT_FIELD_TEXT_BYTES, owner, *owner ? "." : "",
             metric->name);
    return 1;
}

/* Of names with | between them, up to a comma, the first that an output has. */
static attn_status choose_one(const attn_trainer *trainer, const char *names, at_choice *into) {
    char name[AT_FIELD_TEXT_BYTES];
    for (const char *at = names;;) {
        size_t length = strcspn(at, "|,");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        into->others = at[length] == '|' ? at + length + 1 : NULL;
        if (set_choice(trainer, name, 1, into)) return ATTN_OK;
        if (!into->others || attn_metric_rises(name) < 0) return refuse(trainer, name);
        at = into->others;
    }
}

/* What models are chosen by; a plain name outlives the trainer. */
static void name_first(attn_trainer *trainer) {
    const at_choice *first = &trainer->choices[0];
    trainer->metric = strcmp(first->name, first->metric) == 0 ? first->metric : first->name;
}

attn_status at_metric_choose(attn_trainer *trainer) {
    const char *list = trainer->values.metric;
    trainer->choice_count = 0;
    if (!*list) {
        trainer->choices[0].others = NULL;
        if (!set_choice(trainer, trainer->metric, 0, &trainer->choices[0]))
            return refuse(trainer, trainer->metric);
        trainer->choice_count = 1;
    }
    for (const char *at = list; *list;) {
        if (trainer->choice_count == AT_MOST_METRICS)
            return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                           "training.metric names more than %d metrics: %.160s", AT_MOST_METRICS, list);
        attn_status status = choose_one(trainer, at, &trainer->choices[trainer->choice_count]);
        if (status != ATTN_OK) return status;
        trainer->choice_count++;
        at += strcspn(at, ",");
        if (!*at++) break;
    }
    name_first(trainer);
    return ATTN_OK;
}

static double value_of(const at_choice *choice, const attn_report *report) {
    return choice->mean ? attn_report_mean(report, choice->metric, NULL)
                        : attn_report_output_metric(report, choice->output, choice->metric);
}

double at_metric_macro(const attn_trainer *trainer, const attn_report *report) {
    at_choice macro = trainer->choices[0];
    if (strcmp(macro.metric, "accuracy") != 0) return NAN;
    macro.metric = "macro_f1";
    return value_of(&macro, report);
}

attn_status at_metric_values(const attn_trainer *trainer, const attn_report *report, double *values) {
    for (int i = 0; i < trainer->choice_count; i++) {
        const at_choice *choice = &trainer->choices[i];
        values[i] = value_of(choice, report);
        if (!isnan(values[i])) continue;
        return at_fail(
            trainer->context, ATTN_INVALID_ARGUMENT,
            "%.200s: %s is not defined for it (of two classes only one may occur), so no model can "
            "be chosen by it (training.metric)",
            attn_dataset_name(trainer->courses[0].dev.dataset), choice->name);
    }
    return ATTN_OK;
}

attn_status at_metric_try(attn_trainer *trainer) {
    at_course *main = at_main_course(trainer);
    attn_report *report;
    double values[AT_MOST_METRICS];
    at_ranks_apart(trainer, 1);
    attn_status status = at_stage_report(main->stage, &main->work, main->dev.encoded, main->dev.targets, NULL,
                                         AT_EFFORT_LEAST, &report);
    if (status != ATTN_OK) return status;
    at_ranks_apart(trainer, 0);
    for (int i = 0; i < trainer->choice_count; i++) {
        at_choice *choice = &trainer->choices[i];
        while (status == ATTN_OK && choice->others && isnan(value_of(choice, report)))
            status = choose_one(trainer, choice->others, choice);
    }
    name_first(trainer);
    if (status == ATTN_OK) status = at_metric_values(trainer, report, values);
    attn_report_destroy(report);
    return status;
}

void at_metric_none(at_progress_made *made) {
    made->best_value = NAN;
    for (int i = 0; i < AT_MOST_METRICS; i++) made->kept[i] = made->highest[i] = NAN;
}

/* 1: better, 0: the same, -1: worse. */
static int against(const at_choice *choice, double value, double best) {
    if (isnan(best) || (choice->rises ? value > best : value < best)) return 1;
    return value == best ? 0 : -1;
}

int at_metric_as_good(const attn_trainer *trainer, const double *values) {
    for (int i = 0; i < trainer->choice_count; i++) {
        int order = against(&trainer->choices[i], values[i],
                            i == 0 ? trainer->made.best_value : trainer->made.kept[i]);
        if (order != 0) return order > 0;
    }
    return 1;
}

int at_metric_improved(const attn_trainer *trainer, const double *values) {
    for (int i = 0; i < trainer->choice_count; i++)
        if (against(&trainer->choices[i], values[i], trainer->made.highest[i]) > 0) return 1;
    return 0;
}

void at_metric_keep(attn_trainer *trainer, const double *values, int as_good) {
    at_progress_made *made = &trainer->made;
    if (as_good) made->best_value = values[0];
    for (int i = 0; i < trainer->choice_count; i++) {
        if (as_good) made->kept[i] = values[i];
        if (against(&trainer->choices[i], values[i], made->highest[i]) > 0) made->highest[i] = values[i];
    }
}
