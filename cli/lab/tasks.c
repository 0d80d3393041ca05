/* tasks.c: makes the sequences of generated problems from seeds. */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

static bool allocate(lab *report, lab_task *task, int part, int64_t sequences, int64_t rows) {
    task->offsets[part] = malloc(((size_t)sequences + 1) * sizeof(int64_t));
    task->ids[part] = malloc((size_t)rows * sizeof(int32_t));
    task->labels[part] = malloc((size_t)rows * sizeof(int32_t));
    if (task->offsets[part] != NULL && task->ids[part] != NULL && task->labels[part] != NULL) return true;
    return lab_fail(report, "out of memory for %lld rows", (long long)rows);
}

static bool make_part(lab *report, lab_task *task, int part, lab_rule rule, const void *of,
                      const lab_lengths *lengths, int groups, uint64_t seed) {
    int64_t sequences = 0, room = 1, at = 0;
    for (int g = 0; g < groups; g++) {
        sequences += lengths[g].sequences;
        room += lengths[g].sequences * lengths[g].longest;
    }
    if (!allocate(report, task, part, sequences, room)) return false;
    int64_t *offsets = task->offsets[part];
    int32_t *ids = task->ids[part], *labels = task->labels[part];
    for (int64_t i = 0; i < room; i++) labels[i] = -1;
    offsets[0] = 0;
    for (int g = 0; g < groups; g++) {
        for (int64_t i = 0; i < lengths[g].sequences; i++, at++) {
            int64_t more = lengths[g].longest - lengths[g].shortest + 1;
            int64_t length = lengths[g].shortest + lab_choice(&seed, more);
            offsets[at + 1] = offsets[at] + length;
            rule(of, &seed, length, ids + offsets[at],
                 labels + (task->problem.per_sequence ? at : offsets[at]));
        }
    }
    lab_examples *examples = part == 0 ? &task->problem.train : &task->problem.test;
    *examples = (lab_examples){.sequences = sequences, .offsets = offsets, .ids = ids, .labels = labels};
    return true;
}

bool lab_task_make(lab *report, lab_task *task, lab_rule rule, const void *of, lab_lengths train,
                   const lab_lengths *test, int groups, uint64_t seed) {
    lab_problem problem = task->problem;
    *task = (lab_task){.problem = problem};
    if (!make_part(report, task, 0, rule, of, &train, 1, 2 * seed + 1000) ||
        !make_part(report, task, 1, rule, of, test, groups, 2 * seed + 1001)) {
        lab_task_free(task);
        return false;
    }
    const lab_examples *asked = &task->problem.test;
    int64_t count = problem.per_sequence ? asked->sequences : asked->offsets[asked->sequences];
    task->answers = malloc((size_t)count * sizeof *task->answers);
    if (task->answers != NULL) return true;
    lab_task_free(task);
    return lab_fail(report, "out of memory for %lld answers", (long long)count);
}

void lab_task_free(lab_task *task) {
    for (int part = 0; part < 2; part++) {
        free(task->offsets[part]);
        free(task->ids[part]);
        free(task->labels[part]);
    }
    free(task->answers);
    *task = (lab_task){.problem = task->problem};
}

double lab_task_accuracy(const lab_task *task, int64_t first, int64_t end) {
    const lab_examples *test = &task->problem.test;
    int64_t right = 0, asked = 0;
    int64_t begin = task->problem.per_sequence ? first : test->offsets[first];
    int64_t stop = task->problem.per_sequence ? end : test->offsets[end];
    for (int64_t i = begin; i < stop; i++) {
        asked += test->labels[i] >= 0;
        right += test->labels[i] >= 0 && task->answers[i] == test->labels[i];
    }
    return asked > 0 ? (double)right / (double)asked : 0;
}

int64_t lab_task_parameters(lab *report, const lab_problem *problem, const attn_encoder_options *encoder) {
    attn_parameters *parameters;
    int64_t count = 0;
    if (!lab_ok(report, attn_parameters_create(lab_context_of(report), 1, &parameters))) return 0;
    attn_encoder_options options = *encoder;
    options.input_columns = options.columns;
    attn_encoder *made = attn_encoder_create(parameters, "encoder", &options);
    if (made == NULL)
        lab_fail(report, "%s", attn_parameters_error(parameters));
    else
        count = attn_parameters_size(parameters) + problem->symbols * options.columns +
                (attn_encoder_columns(made) + 1) * problem->classes;
    attn_parameters_destroy(parameters);
    return count;
}

void lab_lookup_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    const lab_lookup *table = of;
    int64_t key[LAB_MOST_KEYS], pairs = length - LAB_LOOKUPS;
    for (int64_t k = 0; k < table->keys; k++) key[k] = k;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t other = i + lab_choice(seed, table->keys - i), kept = key[i];
        key[i] = key[other];
        key[other] = kept;
        ids[i] = (int32_t)(key[i] * table->values + lab_choice(seed, table->values));
    }
    for (int64_t i = pairs; i < length; i++) {
        int64_t asked = lab_choice(seed, pairs);
        ids[i] = (int32_t)(table->keys * table->values + key[asked]);
        labels[i] = (int32_t)(ids[asked] % table->values);
    }
}

double lab_lowest(const double *numbers, int64_t count) {
    double lowest = numbers[0];
    for (int64_t i = 1; i < count; i++) lowest = numbers[i] < lowest ? numbers[i] : lowest;
    return lowest;
}

double lab_highest(const double *numbers, int64_t count) {
    double highest = numbers[0];
    for (int64_t i = 1; i < count; i++) highest = numbers[i] > highest ? numbers[i] : highest;
    return highest;
}
