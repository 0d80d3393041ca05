/* rows.c: shared by heads of rows: labels and targets from columns of strings, the linear map, batches. */
#include "heads/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/transitions.h"
#include "tape/parameters.h"

static const at_field setting_fields[] = {
    AT_SWITCH("probs", at_row_settings, probabilities, "false", "also print probabilities"),
    AT_NUMBER("unsure", at_row_settings, unsure, AT_NEVER_UNSURE, 1, "1e-9",
              "print \"unknown\" if the class is less likely; above 0, at most 1"),
};
const at_fields at_row_setting_fields = {setting_fields, 2, sizeof(at_row_settings), NULL, 0};

attn_status at_rows_create(attn_context *context, at_head **head) {
    at_row_head *made = at_allocate(context, 1, sizeof *made, "an output");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->deviation = 1;
    made->temperature = 1;
    *head = &made->head;
    return ATTN_OK;
}

void at_rows_destroy(at_head *head) {
    at_row_head *rows = at_row_head_of(head);
    at_vocabulary_free(head->context, &rows->labels);
    at_release(head->context, rows->class_weights);
    at_tagging_free(head->context, rows->tagging);
    at_release(head->context, rows);
}

/* ---- labels ---- */

attn_status at_for_values(const at_labels *labels, int column, int split, at_value_function each,
                          void *user) {
    int64_t columns = labels->columns->count;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < labels->places && status == ATTN_OK; i++) {
        const char *text = at_string(labels->values, i * columns + column);
        while (*text && status == ATTN_OK) {
            size_t length = split ? strcspn(text, "\n") : strlen(text);
            status = each(user, text, length, i);
            text += length + (text[length] == '\n');
        }
    }
    return status;
}

typedef struct collector {
    attn_context *context;
    at_vocabulary labels;
} collector;

static attn_status collect_label(void *user, const char *text, size_t length, int64_t place) {
    collector *into = user;
    (void)place;
    return at_vocabulary_add(into->context, &into->labels, text, length, 1, NULL);
}

static attn_status take_fixed(at_row_head *head, const at_labels *labels) {
    attn_status status = ATTN_OK;
    for (int l = 0; l < labels->fixed_count && status == ATTN_OK; l++)
        status = at_vocabulary_add(head->head.context, &head->labels, labels->fixed[l],
                                   strlen(labels->fixed[l]), 1, NULL);
    return status;
}

attn_status at_learn_labels(at_row_head *head, const at_labels *labels, int column, int split) {
    attn_context *context = head->head.context;
    if (labels->fixed) return take_fixed(head, labels);
    collector into = {.context = context};
    at_vocabulary sorted = {.slot_count = 0};
    attn_status status = at_for_values(labels, column, split, collect_label, &into);
    if (status == ATTN_OK) status = at_vocabulary_sort(context, &into.labels, 1, 0, &sorted);
    for (int64_t i = 1; i < sorted.strings.count && status == ATTN_OK; i++)
        status = at_vocabulary_add(context, &head->labels, at_string(&sorted.strings, i),
                                   at_string_length(&sorted.strings, i), sorted.counts[i], NULL);
    at_vocabulary_free(context, &sorted);
    at_vocabulary_free(context, &into.labels);
    if (status == ATTN_OK && head->labels.strings.count == 0)
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: column %.60s has no labels", labels->name,
                         at_string(labels->columns, column));
    return status;
}

/* Whether two words are the same but for upper and lower case. */
static int same_word(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a >= 'A' && *a <= 'Z' ? *a + 'a' - 'A' : *a) != *b) return 0;
    return !*a && !*b;
}

int64_t at_positive_label(const at_strings *labels) {
    static const char *const opposites[][2] = {
        {"no", "yes"},  {"n", "y"},    {"false", "true"},     {"f", "t"}, {"negative", "positive"},
        {"neg", "pos"}, {"off", "on"}, {"inactive", "active"}};
    double numbers[2];
    if (labels->count != 2) return -1;
    const char *first = at_string(labels, 0), *second = at_string(labels, 1);
    if (at_decimal(first, &numbers[0]) && at_decimal(second, &numbers[1]) && numbers[0] != numbers[1])
        return numbers[1] > numbers[0];
    for (size_t i = 0; i < sizeof opposites / sizeof opposites[0]; i++)
        if (same_word(first, opposites[i][1]) && same_word(second, opposites[i][0])) return 0;
    return 1; /* of opposites in that order, or the rarer: labels stand by frequency */
}

typedef struct recount {
    at_row_head *head;
    const at_labels *labels;
} recount;

static attn_status count_label(void *user, const char *text, size_t length, int64_t place) {
    const recount *now = user;
    int64_t number = at_vocabulary_find(&now->head->labels, text, length);
    if (number < 0)
        return at_fail(now->head->head.context, ATTN_INVALID_ARGUMENT,
                       "%.200s:%" PRId64 ": the model that training starts from has no label \"%.60s\"",
                       now->labels->name, at_label_line(now->labels, place), text);
    now->head->labels.counts[number]++;
    return ATTN_OK;
}

attn_status at_rows_learn_more(at_head *head, const at_labels *labels, int column) {
    if (head->kind != &at_head_class && head->config.output.balance) return at_head_unbalanced(head);
    recount now = {at_row_head_of(head), labels};
    const at_vocabulary *known = &now.head->labels;
    if (known->strings.count == 0) return ATTN_OK; /* it answers numbers */
    for (int64_t i = 0; i < known->strings.count; i++) known->counts[i] = 0;
    attn_status status = at_for_values(labels, column, head->kind->several, count_label, &now);
    for (int64_t i = 0; i < known->strings.count; i++)
        if (known->counts[i] == 0) known->counts[i] = 1; /* weights divide by it */
    return status;
}

/* ---- targets ---- */

void at_rows_free_targets(at_targets *targets) {
    at_row_targets *rows = (at_row_targets *)(void *)targets;
    attn_context *context = targets->context;
    at_release(context, rows->batch_classes);
    at_release(context, rows->batch_numbers);
    if (!targets->shared) {
        at_release(context, rows->classes);
        at_release(context, rows->numbers);
        at_vocabulary_free(context, &rows->unknown);
    }
    at_release(context, rows);
}

attn_status at_rows_share_targets(const at_targets *targets, attn_context *context, at_targets **shared) {
    at_row_targets *made = at_allocate(context, 1, sizeof *made, "targets");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *made = *(const at_row_targets *)(const void *)targets;
    made->targets.context = context;
    made->targets.shared = 1;
    made->batch_classes = NULL;
    made->batch_numbers = NULL;
    made->class_room = made->number_room = 0;
    *shared = &made->targets;
    return ATTN_OK;
}

static attn_status check_places(const at_head *head, attn_context *context, const at_encoded *encoded) {
    const at_labels *labels = &encoded->labels;
    const char *input = encoded->dataset ? attn_dataset_input(encoded->dataset) : "";
    if (head->per_row != labels->per_row) {
        const char *row = attn_input_row(input), *example = attn_input_example(input);
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has a target for each %s, but the model predicts one for each %s",
                       labels->name, labels->per_row ? row : example, head->per_row ? row : example);
    }
    int64_t places = head->per_row ? encoded->rows : encoded->examples;
    if (labels->places == places) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "%.200s: has %" PRId64 " targets for %" PRId64
                   " %ss: the input divides units that have one target (text.unit words does not)",
                   labels->name, labels->places, places, attn_input_row(input));
}

attn_status at_rows_targets(const at_head *head, const at_forward *forward, attn_context *context,
                            const at_encoded *encoded, int column, at_targets **targets) {
    const at_row_kind *kind = head->kind->rows;
    const at_row_head *rows = at_row_head_of(head);
    (void)forward;
    attn_status status = check_places(head, context, encoded);
    if (status != ATTN_OK) return status;
    if (column < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has no column %.100s, which the model predicts", encoded->labels.name,
                       at_string(&head->name, 0));
    at_row_targets *made = at_allocate(context, 1, sizeof *made, "targets");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->targets.context = context;
    made->places = encoded->labels.places;
    int64_t width = kind->labels ? rows->labels.strings.count : 1;
    if (kind->classes) made->classes = at_allocate(context, made->places, sizeof *made->classes, "targets");
    if (kind->numbers)
        made->numbers = at_allocate(context, made->places * width, sizeof *made->numbers, "targets");
    if ((kind->classes && !made->classes) || (kind->numbers && !made->numbers)) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = kind->fill(rows, context, &encoded->labels, column, made);
    if (status != ATTN_OK) {
        at_rows_free_targets(&made->targets);
        return status;
    }
    *targets = &made->targets;
    return ATTN_OK;
}

int64_t at_rows_labelled(const at_head *head, const at_encoded *encoded, const at_targets *targets) {
    const at_row_kind *kind = head->kind->rows;
    const at_row_targets *rows = (const at_row_targets *)(const void *)targets;
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t first = head->per_row ? encoded->offsets[e] : e;
        int64_t end = head->per_row ? encoded->offsets[e + 1] : e + 1;
        for (int64_t place = first; place < end; place++) {
            int there =
                kind->labels || (kind->classes ? rows->classes[place] != -1 : !isnan(rows->numbers[place]));
            if (there) return e;
        }
    }
    return -1;
}

attn_status at_rows_segments(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                             const at_targets *targets, at_segments *segments) {
    (void)targets;
    return at_segments_make(encoded->context, encoded->examples, encoded->offsets,
                            head->per_row ? forward->longest : forward->most, head->per_row, segments);
}

/* The targets of a batch, in the order of its rows. */
attn_status at_rows_gather(const at_head *head, at_targets *targets, const at_segments *segments,
                           const int64_t *order, int64_t count, const at_batch *batch) {
    const at_row_kind *kind = head->kind->rows;
    const at_row_head *own = at_row_head_of(head);
    at_row_targets *rows = (at_row_targets *)(void *)targets;
    int64_t places = head->per_row ? batch->rows : count;
    int64_t width = kind->labels ? own->labels.strings.count : 1;
    attn_status status = ATTN_OK;
    if (kind->numbers)
        status = at_grow(targets->context, &rows->batch_numbers, &rows->number_room, places * width,
                         sizeof *rows->batch_numbers, "the targets of a batch");
    else
        status = at_grow(targets->context, &rows->batch_classes, &rows->class_room, places,
                         sizeof *rows->batch_classes, "the targets of a batch");
    if (status != ATTN_OK) return status;
    int32_t *class_at = rows->batch_classes;
    float *number_at = rows->batch_numbers;
    for (int64_t s = 0; s < count; s++) {
        const at_segment *segment = &segments->list[order[s]];
        int64_t first = head->per_row ? segment->first : segment->example;
        int64_t length = head->per_row ? segment->count : 1;
        if (!kind->numbers) {
            memcpy(class_at, rows->classes + first, (size_t)length * sizeof *class_at);
            class_at += length;
            continue;
        }
        for (int64_t j = first * width; j < (first + length) * width; j++) /* labels: mean 0, deviation 1 */
            *number_at++ = (float)(((double)rows->numbers[j] - own->mean) / own->deviation);
    }
    return ATTN_OK;
}

double at_rows_weight(const at_head *head, const at_targets *targets, const at_segments *segments,
                      const int64_t *order, int64_t count) {
    const at_row_head *own = at_row_head_of(head);
    const at_row_targets *rows = (const at_row_targets *)(const void *)targets;
    const int numbers = head->kind->rows->numbers;
    int64_t width = head->kind->rows->labels ? own->labels.strings.count : 1;
    double weight = 0;
    for (int64_t s = 0; s < count; s++) {
        const at_segment *segment = &segments->list[order[s]];
        int64_t first = head->per_row ? segment->first : segment->example;
        int64_t length = head->per_row ? segment->count : 1;
        for (int64_t j = first * width; numbers && j < (first + length) * width; j++)
            weight += !isnan(rows->numbers[j]);
        for (int64_t i = first; !numbers && i < first + length; i++)
            if (rows->classes[i] >= 0)
                weight += own->class_weights ? own->class_weights[rows->classes[i]] : 1;
    }
    return weight;
}

/* ---- the layer ---- */

void at_rows_build(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                   const at_head_offer *offer) {
    at_row_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[160];
    if (!layer) return;
    memset(layer, 0, sizeof *layer);
    head->layers[network] = layer;
    int64_t width = head->kind->rows->width(at_row_head_of(head));
    snprintf(name, sizeof name, "%soutput.%d", prefix, head->number);
    if (columns) layer->map = attn_linear_create(set, name, columns, width, 1, ATTN_IDENTITY);
    const at_row_layer *first = head->layers[0];
    layer->wide = offer->wide;
    if (head->per_row || !offer->wide.build) {
        if (!columns)
            at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "output %d has no columns", head->number);
        return;
    }
    snprintf(name, sizeof name, "%soutput.%d.wide", prefix, head->number);
    layer->wide_layer = network ? first->wide_layer : offer->wide.build(offer->wide.user, set, name, width);
}

attn_variable *at_rows_logits(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                              const at_batch *batch) {
    const at_row_layer *layer = head->layers[network];
    attn_variable *logits = layer->map ? attn_linear_apply(tape, layer->map, x) : NULL;
    if (!layer->wide_layer) return logits;
    attn_variable *wide = layer->wide.apply(layer->wide.user, layer->wide_layer, tape, batch);
    return layer->map ? attn_tape_scale(tape, attn_tape_add(tape, logits, wide), 0.5f) : wide;
}

/* Network and features of whole examples have separate losses, so that each also learns what the other
 * already predicts; their errors differ, and the mean of both is better than either. All networks share these
 * features: the loss of the first one contains theirs, times the number of networks over which the mean is
 * taken. */
attn_variable *at_rows_loss(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                            const at_batch *batch, const at_targets *targets) {
    const at_row_layer *layer = head->layers[network];
    const at_row_kind *kind = head->kind->rows;
    if (!layer->map || !layer->wide_layer)
        return kind->loss(head, tape, at_rows_logits(head, network, tape, x, batch), targets);
    attn_variable *own =
        attn_tape_scale(tape, kind->loss(head, tape, attn_linear_apply(tape, layer->map, x), targets), 0.5f);
    if (network > 0) return own;
    attn_variable *wide = layer->wide.apply(layer->wide.user, layer->wide_layer, tape, batch);
    float share = 0.5f * (float)head->config.output.members;
    return attn_tape_add(tape, own, attn_tape_scale(tape, kind->loss(head, tape, wide, targets), share));
}

void at_rows_warm(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                  const at_batch *batch) {
    at_rows_logits(head, network, tape, x, batch);
}
