/* rows_decode.c: heads whose labels are entity tags: sequences of labels that are allowed, and metrics of
 * entities.
 *
 * Every row has its likeliest label, or that of a CRF's best path. Mostly these labels may follow each other,
 * and nothing is done. Otherwise the best allowed path replaces them: it maximises the sum of the rows'
 * log-probabilities (logits differ from them by a constant per row, which changes no path), with a CRF that
 * of its potentials. Probabilities remain those of the rows.
 *
 * An example that is longer than a segment comes in pieces, in different batches and possibly on different
 * ranks. Its logits are kept until all pieces are there, so that labels also match across pieces.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "heads/metrics/classes.h"
#include "heads/transitions.h"

static const at_tagging *restricted(const at_head *head) {
    const at_tagging *tagging = at_row_head_of(head)->tagging;
    return tagging && tagging->allowed ? tagging : NULL;
}

/* ---- examples in pieces ---- */

attn_status at_cut_create(attn_context *context, const at_encoded *encoded, int64_t longest,
                          at_row_answers *into) {
    at_cut *cut = &into->cut;
    int64_t rows = 0;
    if (!restricted(into->answers.head)) return ATTN_OK;
    for (int64_t e = 0; e < encoded->examples; e++)
        cut->count += encoded->offsets[e + 1] - encoded->offsets[e] > longest;
    if (cut->count == 0) return ATTN_OK;
    cut->examples = at_allocate(context, cut->count, sizeof *cut->examples, "long examples");
    if (!cut->examples) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0, i = 0; e < encoded->examples; e++) {
        int64_t count = encoded->offsets[e + 1] - encoded->offsets[e];
        if (count <= longest) continue;
        cut->examples[i++] = (at_cut_example){e, rows};
        rows += count;
    }
    cut->numbers = rows * into->labels;
    cut->rows = at_allocate(context, cut->numbers, sizeof *cut->rows, "the logits of long examples");
    return cut->rows ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

void at_cut_free(attn_context *context, at_cut *cut) {
    at_release(context, cut->examples);
    at_release(context, cut->rows);
    *cut = (at_cut){.count = 0};
}

static int by_example(const void *wanted, const void *element) {
    int64_t example = *(const int64_t *)wanted, other = ((const at_cut_example *)element)->example;
    return (example > other) - (example < other);
}

static void keep_rows(const at_cut *cut, const at_segment *segment, int64_t begin,
                      const at_path_log_probabilities *of, int64_t labels) {
    const at_cut_example *found =
        bsearch(&segment->example, cut->examples, (size_t)cut->count, sizeof *cut->examples, by_example);
    if (!found) return;
    float *into = cut->rows + (found->row + segment->first - begin) * labels;
    for (int64_t r = 0; r < of->count; r++) {
        for (int64_t l = 0; l < labels; l++) {
            float log_probability = of->rows[r * of->stride + l];
            *into++ = of->probabilities ? logf(log_probability > FLT_MIN ? log_probability : FLT_MIN)
                                        : log_probability;
        }
    }
}

/* ---- batches ---- */

/* The parameters of a CRF on the host; copies are to be released. */
static attn_status add_crf(attn_context *context, const at_head *head, int network, float **copies,
                           at_path_log_probabilities *into) {
    const at_row_layer *layer = head->layers[network];
    into->transitions = at_host_value(context, layer->crf.transitions, &copies[0]);
    into->start = at_host_value(context, layer->crf.start, &copies[1]);
    into->end = at_host_value(context, layer->crf.end, &copies[2]);
    return into->transitions && into->start && into->end ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* The best possible path in the place of `path`, which is not possible. */
static attn_status find_path(attn_context *context, const at_head *head, int network, int open,
                             at_path_log_probabilities log_probabilities, at_path_memory *memory,
                             int32_t *path) {
    float *copies[3] = {NULL};
    attn_status status = network >= 0 ? add_crf(context, head, network, copies, &log_probabilities) : ATTN_OK;
    if (status == ATTN_OK)
        status = at_path_find(context, restricted(head), &log_probabilities, open, memory, path);
    for (int i = 0; i < 3; i++) at_release(context, copies[i]);
    return status;
}

attn_status at_rows_decode(const at_head *head, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const at_segments *segments, const int64_t *order,
                           int network, const at_path_log_probabilities *rows, at_path_memory *memory,
                           at_row_answers *into) {
    const at_tagging *tagging = restricted(head);
    const at_batch *batch = work->batch;
    attn_status status = ATTN_OK;
    for (int64_t s = 0; tagging && s < batch->sequences && status == ATTN_OK; s++) {
        const at_segment *segment = &segments->list[order[s]];
        int64_t begin = encoded->offsets[segment->example];
        at_path_log_probabilities own = *rows;
        own.rows += batch->offsets[s] * rows->stride;
        own.count = segment->count;
        if (segment->count < encoded->offsets[segment->example + 1] - begin) {
            keep_rows(&into->cut, segment, begin, &own, into->labels);
            continue;
        }
        int32_t *path = into->classes + segment->first;
        if (at_path_possible(tagging, path, own.count, forward->parts)) continue;
        status = find_path(work->context, head, network, forward->parts, own, memory, path);
        for (int64_t r = 0; r < own.count && into->spread.values && status == ATTN_OK; r++)
            at_spread_put(at_row_head_of(head), into, forward->networks, batch->offsets[s] + r,
                          segment->first + r);
    }
    return status;
}

attn_status at_rows_decode_cut(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                               at_row_answers *into) {
    attn_context *context = into->answers.context;
    at_path_memory memory = {.before_room = 0};
    int network = head->kind->decode && forward->networks == 1 ? 0 : -1;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < into->cut.count && status == ATTN_OK; i++) {
        const at_cut_example *one = &into->cut.examples[i];
        int64_t first = encoded->offsets[one->example], count = encoded->offsets[one->example + 1] - first;
        at_path_log_probabilities log_probabilities = {
            .rows = into->cut.rows + one->row * into->labels, .stride = into->labels, .count = count};
        int32_t *path = into->classes + first;
        if (!at_path_possible(restricted(head), path, count, forward->parts))
            status = find_path(context, head, network, forward->parts, log_probabilities, &memory, path);
    }
    at_path_memory_free(context, &memory);
    return status;
}

/* ---- comparing ---- */

static const char *const metrics[] = {"entity_f1", "entity_precision", "entity_recall"};

int at_tagging_has_metric(const at_row_head *head, const at_metric *metric) {
    for (int i = 0; i < 3; i++)
        if (strcmp(metric->name, metrics[i]) == 0) return head->tagging != NULL;
    return 1;
}

/* Counts by type; set: the labels of the head, then those that only the data have. */
static attn_status count_entities(attn_context *context, const at_tag_set *set, int64_t known,
                                  const at_encoded *encoded, const at_row_targets *targets,
                                  const at_row_answers *answers, attn_class_metrics *counted) {
    int32_t *truth = at_allocate(context, targets->places, sizeof *truth, "a comparison");
    if (!truth) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < targets->places; i++) {
        int32_t label = targets->classes[i];
        truth[i] = label < -1 ? (int32_t)(known + (-2 - label)) : label;
    }
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t first = encoded->offsets[e], count = encoded->offsets[e + 1] - first;
        at_entities_count(set, truth + first, answers->classes + first, count, counted);
    }
    at_release(context, truth);
    return ATTN_OK;
}

attn_status at_tagging_report(const at_row_head *head, attn_context *context, const at_encoded *encoded,
                              const at_row_targets *targets, const at_row_answers *answers, int output,
                              attn_report *report) {
    at_tag_set set = {.count = 0};
    attn_class_metrics *counted = NULL;
    if (!head->tagging || targets->places != encoded->rows) return ATTN_OK;
    attn_status status = at_tags_add(context, &set, &head->labels.strings);
    if (status == ATTN_OK) status = at_tags_add(context, &set, &targets->unknown.strings);
    if (status == ATTN_OK) status = at_report_entities(report, output, &set.types.strings, &counted);
    if (status == ATTN_OK)
        status =
            count_entities(context, &set, head->labels.strings.count, encoded, targets, answers, counted);
    if (status == ATTN_OK) {
        at_metric_summary summary = at_metrics_finish(counted, set.types.strings.count);
        const double values[] = {summary.micro_f1, summary.micro_precision, summary.micro_recall};
        for (int i = 0; i < 3 && status == ATTN_OK; i++)
            status = at_report_add(report, output, metrics[i], values[i]);
    }
    at_tags_free(context, &set);
    return status;
}
