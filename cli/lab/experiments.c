/* experiments.c: the experiments of the lab, in the order of the list. Each is a file of its own name. */
#include <stddef.h>

#include "report.h"

static const lab_experiment *const experiments[] = {
    &lab_cost,      &lab_parallel, &lab_path,    &lab_permute, &lab_positions,
    &lab_cnn,       &lab_data,     &lab_scale,   &lab_heads,   &lab_scores,
    &lab_truncated, &lab_graph,    &lab_context, &lab_fixed,   NULL,
};

const lab_experiment *lab_experiment_at(int index) {
    int count = (int)(sizeof experiments / sizeof experiments[0]) - 1;
    return index >= 0 && index < count ? experiments[index] : NULL;
}
