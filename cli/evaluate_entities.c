/* evaluate_entities.c: the entities of a report as a table. */
#include "evaluate_entities.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

enum { TYPE_CELLS = 24 }; /* longer names are cut; --json has them whole */

/* Whether type b stands below type a: by support, then by number. */
static bool below(const attn_report *report, int output, int64_t a, int64_t b) {
    int64_t first = attn_report_entity_metrics(report, output, a).support;
    int64_t second = attn_report_entity_metrics(report, output, b).support;
    return second != first ? second < first : b > a;
}

/* The type that follows `last` (-1: none yet) in the table; -1 if there is none. Types are few: no sorting.
 */
static int64_t next_type(const attn_report *report, int output, int64_t last) {
    int64_t found = -1;
    for (int64_t i = 0; i < attn_report_entity_types(report, output); i++) {
        if (last >= 0 && !below(report, output, last, i)) continue;
        if (found < 0 || below(report, output, i, found)) found = i;
    }
    return found;
}

void evaluate_print_entities(const attn_report *report, int output) {
    int64_t types = attn_report_entity_types(report, output);
    int width = (int)strlen("entities");
    if (types == 0) return;
    for (int64_t i = 0; i < types; i++) {
        int one = text_width(attn_report_entity_type(report, output, i));
        if (one > width) width = one < TYPE_CELLS ? one : TYPE_CELLS;
    }
    printf("\n%-*s  %9s %9s %9s  %9s %9s %9s\n", width, "entities", "support", "predicted", "right",
           "precision", "recall", "F1");
    for (int64_t i = next_type(report, output, -1); i >= 0; i = next_type(report, output, i)) {
        attn_class_metrics metrics = attn_report_entity_metrics(report, output, i);
        if (metrics.support == 0 && metrics.predicted == 0) continue;
        int used = text_print_cut(stdout, attn_report_entity_type(report, output, i), width);
        text_print_spaces(stdout, width - used);
        printf("  %9" PRId64 " %9" PRId64 " %9" PRId64 "  %9.4f %9.4f %9.4f\n", metrics.support,
               metrics.predicted, metrics.right, metrics.precision, metrics.recall, metrics.f1);
    }
}
