/* next.c: the head of language models: after every row the next symbol of running text.
 *
 * All lines of a dataset form one sequence of symbols with "\n" after each line and before the first, so that
 * the first symbol of a chunk also follows one. The rows of a chunk are the symbols before those that are
 * predicted. Where a chunk ends depends only on its own content: ending a chunk before a line that does not
 * fit would leak that line's length.
 */
#include "heads/next.h"
#include "heads/work.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "tape/parameters.h"

enum { ROWS_PER_BATCH = 4096 };
#define UNSEEN_BITS 21 /* which of all code points a character of an unknown symbol is */

static attn_status create(attn_context *context, at_head **head) {
    *head = at_allocate(context, 1, sizeof(at_head), "an output");
    return *head ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static void destroy(at_head *head) { at_release(head->context, head); }

static attn_status learn(at_head *head, const at_labels *labels, int column) {
    (void)labels;
    (void)column;
    if (head->source) return at_head_unbalanced(head);
    return at_fail(head->context, ATTN_UNSUPPORTED,
                   "the rows of this kind of input are not symbols: task lm cannot be learned from them");
}

static const char *metric(const at_head *head) {
    (void)head;
    return "bits_per_byte";
}

static const at_symbols *symbols_of(const at_head *head) { return head->source; }

/* ---- targets ---- */

static void free_targets(at_targets *targets) {
    at_next_targets *own = (at_next_targets *)(void *)targets;
    attn_context *context = targets->context;
    at_release(context, own->batch_symbols);
    at_release(context, own);
}

static attn_status share_targets(const at_targets *targets, attn_context *context, at_targets **shared) {
    at_next_targets *made = at_allocate(context, 1, sizeof *made, "targets");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *made = *(const at_next_targets *)(const void *)targets;
    made->targets.context = context;
    made->targets.shared = 1;
    made->batch_symbols = NULL;
    made->batch_room = 0;
    *shared = &made->targets;
    return ATTN_OK;
}

static attn_status targets(const at_head *head, const at_forward *forward, attn_context *context,
                           const at_encoded *encoded, int column, at_targets **targets) {
    (void)head;
    (void)column;
    at_next_targets *made = at_allocate(context, 1, sizeof *made, "targets");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->targets.context = context;
    made->forward = forward;
    made->encoded = encoded;
    *targets = &made->targets;
    return ATTN_OK;
}

static int64_t labelled(const at_head *head, const at_encoded *encoded, const at_targets *targets) {
    (void)head;
    (void)targets;
    return encoded->examples > 0 ? 0 : -1;
}

attn_status at_next_segments(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                             const at_targets *targets, at_segments *segments) {
    attn_context *context = encoded->context;
    attn_status status = ATTN_OK;
    int64_t longest = forward->longest;
    int64_t first = 0; /* of the chunk that is being made; row first + 1 is the first that it predicts */
    (void)head;
    (void)targets;
    segments->count = 0;
    for (int64_t e = 0; e < encoded->examples && status == ATTN_OK; e++) {
        int64_t end = encoded->offsets[e + 1] - 1; /* the line's "\n" */
        for (; end - first > longest && status == ATTN_OK; first += longest)
            status = at_segments_add(context, segments, (at_segment){0, first, longest, 0});
        if (status == ATTN_OK && 2 * (end - first) >= longest) {
            status = at_segments_add(context, segments, (at_segment){0, first, end - first, 0});
            first = end;
        }
    }
    int64_t last = encoded->rows - 1;
    if (status == ATTN_OK && last > first)
        status = at_segments_add(context, segments, (at_segment){0, first, last - first, 0});
    return status;
}

/* The symbols that follow the rows of some segments; unknown ones are 0. */
static void find_symbols(const at_forward *forward, const at_encoded *encoded, const at_segments *segments,
                         const int64_t *order, int64_t count, int32_t *into) {
    for (int64_t s = 0; s < count; s++) {
        const at_segment *segment = &segments->list[order[s]];
        forward->symbols(forward, encoded, segment->first + 1, segment->count, into);
        for (int64_t i = 0; i < segment->count; i++)
            if (into[i] < 0) into[i] = 0;
        into += segment->count;
    }
}

static attn_status gather(const at_head *head, at_targets *targets, const at_segments *segments,
                          const int64_t *order, int64_t count, const at_batch *batch) {
    at_next_targets *own = (at_next_targets *)(void *)targets;
    (void)head;
    attn_status status = at_grow(targets->context, &own->batch_symbols, &own->batch_room, batch->rows,
                                 sizeof *own->batch_symbols, "the targets of a batch");
    if (status == ATTN_OK)
        find_symbols(own->forward, own->encoded, segments, order, count, own->batch_symbols);
    return status;
}

/* Every row has a target. */
static double weight(const at_head *head, const at_targets *targets, const at_segments *segments,
                     const int64_t *order, int64_t count) {
    (void)head;
    (void)targets;
    return (double)at_segments_rows(segments, order, count);
}

/* ---- the layer ---- */

static void build(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                  const at_head_offer *offer) {
    int64_t symbols = head->source->vocabulary.strings.count, width = head->config.decoder.columns;
    at_symbol_layer *layer = at_parameters_memory(set, sizeof *layer);
    if (!layer) return;
    memset(layer, 0, sizeof *layer);
    head->layers[network] = layer;
    int tied = head->config.sequence.tied && offer->table && columns == width;
    layer->output =
        tied ? offer->table : at_symbol_table(set, prefix, "symbols.weight", symbols, columns, head->rate);
    layer->bias = at_symbol_bias(set, prefix, symbols);
}

static attn_variable *loss(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                           const at_batch *batch, const at_targets *targets) {
    attn_cross_entropy_options options;
    (void)batch;
    attn_cross_entropy_options_init(&options);
    options.smoothing = (float)head->config.output.smoothing;
    return attn_tape_cross_entropy(tape, at_sequence_logits(head, head->layers[network], tape, x),
                                   ((const at_next_targets *)(const void *)targets)->batch_symbols, &options);
}

static void warm(const at_head *head, int network, attn_tape *tape, attn_variable *x, const at_batch *batch) {
    (void)batch;
    at_sequence_logits(head, head->layers[network], tape, x);
}

/* ---- how well a text is predicted ---- */

static const at_metric metrics[] = {{"bits_per_byte", 0, 0, 0},
                                    {"perplexity", 0, 0, 0},
                                    {"loss", 0, 0, 0},
                                    {"unknown_units", 0, 1, 0},
                                    {NULL, 0, 0, 0}};

/* -log p of the symbols of a batch together (natural logarithm), and how many of them are unknown. */
typedef struct surprise {
    double loss;
    int64_t unknown;
} surprise;

typedef struct measuring {
    const at_head *head;
    const at_forward *forward;
    const at_encoded *encoded;
    const at_work *whole; /* has the segments and the plan */
    surprise *batches;    /* [batches] */
} measuring;

static int64_t characters(const char *unit) {
    int64_t count = 0;
    for (; *unit; unit++) count += ((unsigned char)*unit & 0xC0) != 0x80;
    return count;
}

/* Adds the networks' probabilities of the symbols that follow the rows of a batch to `likelihood`, which is
 * 0.
 */
static attn_status add_likelihood(const measuring *now, at_work *work, const int32_t *symbols,
                                  double *likelihood) {
    const int networks = now->forward->networks;
    for (int n = 0; n < networks; n++) {
        attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = now->forward->rows(now->forward, n, work->tape, work->batch);
        attn_variable *log_probabilities = attn_tape_log_softmax(
            work->tape, at_sequence_logits(now->head, now->head->layers[n], work->tape, x));
        attn_status status = attn_tape_status(work->tape);
        if (status != ATTN_OK) return at_fail(work->context, status, "%s", attn_tape_error(work->tape));
        status = at_host_rows_of(log_probabilities, &work->host);
        if (status != ATTN_OK) return status;
        const float *row = work->host.data;
        for (int64_t r = 0; r < work->batch->rows; r++, row += work->host.stride)
            likelihood[r] += exp((double)row[symbols[r]]) / networks;
    }
    return ATTN_OK;
}

/* -log of the mean of the networks' probabilities, summed over the rows of a batch. */
static attn_status measure_batch(void *user, at_work *worker, int64_t number) {
    const measuring *now = user;
    const at_plan *plan = &now->whole->plan;
    const int64_t *order = plan->order + plan->first[number];
    int64_t count = plan->first[number + 1] - plan->first[number];
    attn_status status =
        now->forward->fill(now->forward, now->encoded, &now->whole->segments, order, count, worker->batch);
    if (status != ATTN_OK) return status;
    int64_t rows = worker->batch->rows;
    surprise sum = {0, 0};
    int32_t *symbols = at_allocate(worker->context, rows, sizeof *symbols, "running text");
    if (!symbols) return ATTN_OUT_OF_MEMORY;
    find_symbols(now->forward, now->encoded, &now->whole->segments, order, count, symbols);
    for (int64_t s = 0, r = 0; s < count; s++) {
        const at_segment *segment = &now->whole->segments.list[order[s]];
        for (int64_t u = segment->first; u < segment->first + segment->count; u++) {
            if (symbols[r++] != 0) continue;
            sum.loss +=
                UNSEEN_BITS * log(2.0) * (double)characters(now->forward->row_name(now->encoded, u + 1));
            sum.unknown++;
        }
    }
    double *likelihood = at_allocate(worker->context, rows, sizeof *likelihood, "running text");
    status = likelihood ? add_likelihood(now, worker, symbols, likelihood) : ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < rows && status == ATTN_OK; r++) {
        if (likelihood[r] != likelihood[r])
            status = at_fail(worker->context, ATTN_NOT_FINITE,
                             "the model's output is not a number: its weights are damaged");
        sum.loss -= log(likelihood[r] > 1e-300 ? likelihood[r] : 1e-300);
    }
    at_release(worker->context, likelihood);
    at_release(worker->context, symbols);
    now->batches[number] = sum;
    return status;
}

/* Sums of batches are added in their order, whoever computed them. */
static attn_status measure(const at_head *head, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const at_targets *targets, surprise *sum) {
    measuring now = {head, forward, encoded, work, NULL};
    at_tasks tasks = {.divisible = 1, .run = measure_batch, .user = &now};
    attn_status status = at_next_segments(head, forward, encoded, targets, &work->segments);
    if (status == ATTN_OK)
        status = at_plan_sorted(work->context, &work->segments, ROWS_PER_BATCH, &work->plan);
    if (status == ATTN_OK) {
        tasks.count = work->plan.batches;
        tasks.large = at_work_large(work);
        now.batches = at_allocate(work->context, tasks.count, sizeof *now.batches, "running text");
        if (!now.batches) status = ATTN_OUT_OF_MEMORY;
    }
    status = at_work_run(forward, work, status, &tasks);
    if (status == ATTN_OK) status = at_work_join(work, status, now.batches, tasks.count, sizeof *now.batches);
    for (int64_t b = 0; b < tasks.count && status == ATTN_OK; b++) {
        sum->loss += now.batches[b].loss;
        sum->unknown += now.batches[b].unknown;
    }
    at_release(work->context, now.batches);
    return status;
}

static attn_status report(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                          const at_encoded *encoded, at_targets *const *targets, const void *settings,
                          at_effort effort, attn_report *report) {
    surprise sum = {0, 0};
    int64_t symbols = 0;
    (void)count;
    (void)settings;
    (void)effort;
    attn_status status = measure(heads[0], forward, work, encoded, targets[0], &sum);
    for (int64_t s = 0; s < work->segments.count && status == ATTN_OK; s++)
        symbols += work->segments.list[s].count;
    double a_symbol = sum.loss / (double)(symbols ? symbols : 1);
    const double values[] = {sum.loss / log(2.0) / (double)(encoded->bytes ? encoded->bytes : 1),
                             exp(a_symbol), a_symbol, (double)sum.unknown};
    for (int i = 0; i < 4 && status == ATTN_OK; i++)
        status = at_report_add(report, 0, metrics[i].name, values[i]);
    at_report_rows(report, symbols);
    at_report_compared(report, 0, symbols);
    return status;
}

const at_head_kind at_head_next = {
    .name = "next",
    .metrics = metrics,
    .settings = &at_next_setting_fields,
    .create = create,
    .destroy = destroy,
    .learn = learn,
    .metric = metric,
    .symbols = symbols_of,
    .targets = targets,
    .free_targets = free_targets,
    .share_targets = share_targets,
    .labelled = labelled,
    .segments = at_next_segments,
    .build = build,
    .gather = gather,
    .weight = weight,
    .loss = loss,
    .warm = warm,
    .running = &at_next_running,
    .predict = at_next_predict,
    .free_answers = at_sequence_free_answers,
    .free_state = at_next_free_state,
    .report = report,
    .write = at_next_write,
    .explain = at_next_explain,
};
