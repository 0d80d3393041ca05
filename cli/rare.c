/* rare.c: classes that are rare in the data, which an accuracy says nothing about: how many of them are
 * found. */
#include "rare.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"

enum { SHOWN = 10 };                   /* of them, at most */
static const double rare_share = 0.05; /* of the data; less is rare */
static const double poor_recall = 0.5;

/* Those that are shown, the lowest recall first, and how many there are. */
typedef struct rare_classes {
    int64_t number[SHOWN];
    attn_class_metrics metrics[SHOWN];
    int shown;
    int64_t count, poor; /* poor: with a recall below poor_recall, and few among the classes, too */
} rare_classes;

/* Of equal recall the larger class comes first: it costs more. */
static bool before(const attn_class_metrics *a, const attn_class_metrics *b) {
    return a->recall != b->recall ? a->recall < b->recall : a->support > b->support;
}

static void note(rare_classes *found, int64_t number, const attn_class_metrics *metrics) {
    int at = found->shown < SHOWN ? found->shown++ : SHOWN - 1;
    found->count++;
    if (found->count > SHOWN && !before(metrics, &found->metrics[at])) return;
    for (; at > 0 && before(metrics, &found->metrics[at - 1]); at--) {
        found->metrics[at] = found->metrics[at - 1];
        found->number[at] = found->number[at - 1];
    }
    found->metrics[at] = *metrics;
    found->number[at] = number;
}

static bool is_rare(const attn_report *report, int output, const attn_class_metrics *metrics) {
    double compared = (double)attn_report_compared(report, output);
    return metrics->support > 0 && (double)metrics->support < rare_share * compared;
}

/* Of many classes all are below 5 %; weights help those that are rare among the others. */
static void find(const attn_report *report, int output, rare_classes *found) {
    int64_t classes = attn_report_classes(report, output), occurring = 0;
    double compared = (double)attn_report_compared(report, output);
    for (int64_t c = 0; c < classes; c++)
        occurring += attn_report_class_metrics(report, output, c).support > 0;
    for (int64_t c = 0; c < classes; c++) {
        attn_class_metrics metrics = attn_report_class_metrics(report, output, c);
        double support = (double)metrics.support;
        if (!is_rare(report, output, &metrics)) continue;
        note(found, c, &metrics);
        found->poor += metrics.recall < poor_recall && 2 * support * (double)occurring < compared;
    }
}

void rare_print(FILE *to, const attn_report *report, int output, attn_config *config) {
    rare_classes found = {.shown = 0};
    find(report, output, &found);
    if (found.count == 0) return;
    fputs("\nrare classes, below 5 % of the data, with their recall\n", to);
    fprintf(to, "%9s %9s  label\n", "support", "recall");
    for (int i = 0; i < found.shown; i++) {
        fprintf(to, "%9" PRId64 " %9.4f  ", found.metrics[i].support, found.metrics[i].recall);
        text_print(to, attn_report_class(report, output, found.number[i]));
        fputc('\n', to);
    }
    if (found.count > found.shown)
        fprintf(to, "... and %" PRId64 " more, with a higher recall\n", found.count - found.shown);
    bool weighs = attn_report_confused(report, output) && /* one class, and no CRF: others have no weights */
                  strcmp(attn_config_get(config, "output.crf"), "false") == 0 &&
                  strcmp(attn_config_get(config, "output.balance"), "false") == 0;
    if (found.poor > 0 && weighs)
        fputs("rare classes with a recall below 0.5: training with --balance gives them more weight\n", to);
}

void rare_print_json(FILE *to, const attn_report *report, const attn_model *model) {
    bool any = false, classes = false;
    for (int output = 0; output < attn_model_outputs(model); output++)
        classes |= attn_report_classes(report, output) > 0;
    if (!classes) return;
    fputs("\"rare_classes\": [", to);
    for (int output = 0; output < attn_model_outputs(model); output++) {
        for (int64_t c = 0; c < attn_report_classes(report, output); c++) {
            attn_class_metrics metrics = attn_report_class_metrics(report, output, c);
            if (!is_rare(report, output, &metrics)) continue;
            fputs(any ? ", {" : "{", to);
            if (attn_model_outputs(model) > 1) {
                fputs("\"output\": ", to);
                text_print_json(to, attn_model_output_name(model, output));
                fputs(", ", to);
            }
            fputs("\"label\": ", to);
            text_print_json(to, attn_report_class(report, output, c));
            fprintf(to, ", \"support\": %" PRId64 ", \"recall\": %.9g}", metrics.support, metrics.recall);
            any = true;
        }
    }
    fputs("], ", to);
}
