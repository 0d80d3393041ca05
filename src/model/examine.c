/* examine.c: checks of data before training, for a task and a kind of input. */
#include "data/examine.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/describe.h"
#include "data/parts.h"
#include "model/config.h"

/* What an examination needs to know. */
typedef struct examining {
    const attn_dataset *train;
    const attn_dataset *others[2]; /* dev, test; NULL: there is none */
    at_config values;
    at_input *view; /* of the training data, before anything is learned; NULL: its unit is left to the data */
    int guess, unlabelled;
    attn_dataset
        *parts[3]; /* train, dev, test: what of a set is for that, where it says so itself; else NULL */
} examining;

/* ---- data that says what is for training, validation and testing ---- */

static attn_status take_part(const attn_dataset *from, attn_part part, attn_dataset **made,
                             const attn_dataset **taken) {
    if (attn_dataset_part_size(from, part) == 0) return ATTN_OK;
    attn_status status = attn_dataset_part(from, part, made);
    if (status == ATTN_OK) *taken = *made;
    return status;
}

/* What training takes of it. Rows of a graph that have parts see each other, and stay together. */
static attn_status take_parts(examining *now) {
    const attn_dataset *whole = now->train;
    attn_status status = ATTN_OK;
    if (at_dataset_splits_rows(whole)) return ATTN_OK;
    for (int i = 0; i < 2 && status == ATTN_OK; i++) {
        const attn_dataset *from = now->others[i] ? now->others[i] : whole;
        status =
            take_part(from, i == 0 ? ATTN_PART_VAL : ATTN_PART_TEST, &now->parts[1 + i], &now->others[i]);
    }
    return status == ATTN_OK ? take_part(whole, ATTN_PART_TRAIN, &now->parts[0], &now->train) : status;
}

/* ---- what the task makes of the targets ---- */

static int is_running(const examining *now) { return now->values.task->running && !now->guess; }

static at_target_use use_of(const examining *now) {
    const at_head_kind *head = at_head_chosen(now->values.task->head, now->values.output);
    const at_input_kind *kind = now->values.input;
    if (now->train->pairs) return AT_TARGETS_OTHER;
    if (now->guess) return AT_TARGETS_GUESSED;
    if (now->view && kind->metric && kind->metric(now->view))
        return AT_TARGETS_OTHER; /* words are the labels */
    switch (at_head_targets(head)) {
    case AT_TARGET_LABELS: return AT_TARGETS_LABELS;
    case AT_TARGET_NUMBERS: return AT_TARGETS_NUMBERS;
    case AT_TARGET_TEXTS: break;
    }
    return AT_TARGETS_OTHER;
}

/* What an example is called. */
static const char *example_name(const attn_dataset *dataset) {
    if (dataset->pairs) return "pair";
    if (dataset->kind->written && dataset->per_row) return "sentence";
    return attn_input_example(dataset->kind->input);
}

static const char *place_name(const attn_dataset *dataset) {
    if (!dataset->per_row) return example_name(dataset);
    if (dataset->kind->written) return "token";
    return at_dataset_splits_rows(dataset) ? attn_input_row(dataset->kind->input) : "row";
}

static attn_status examine_targets(const examining *now, attn_examination *found) {
    at_examining how = {.train = now->train,
                        .use = use_of(now),
                        .may_be_none = at_label_separator(now->values.reading) != 0,
                        .example = example_name(now->train),
                        .place = place_name(now->train)};
    attn_status status = at_examine_targets(&how, found);
    int labels = how.use == AT_TARGETS_LABELS || how.use == AT_TARGETS_GUESSED;
    return status == ATTN_OK && labels ? at_count_conflicts(now->train, &found->conflicts) : status;
}

/* Whether anything is to be learned: a file of sources alone has columns without a value. */
static int has_targets(const attn_dataset *dataset) {
    for (int64_t i = 0; i < dataset->targets.count; i++)
        if (at_string_length(&dataset->targets, i) > 0) return 1;
    return 0;
}

/* ---- how much of it is read ---- */

/* How many examples are longer than the network processes at once, and how many of them are truncated. */
static attn_status count_longer(const examining *now, const attn_dataset *of, const attn_examination *found,
                                int64_t *in_pieces, int64_t *cut) {
    const at_input_kind *kind = now->values.input;
    const int64_t bounds[] = {found->longest, found->most};
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < of->examples && status == ATTN_OK; e++) {
        int longer[] = {0, 0};
        for (int i = 0; i < 2 && status == ATTN_OK && (i == 0 || longer[0]); i++) {
            longer[i] = attn_dataset_rows(of, e) > bounds[i];
            if (kind->is_longer) status = kind->is_longer(now->view, of, e, bounds[i], &longer[i]);
        }
        *in_pieces += longer[0] && !longer[1];
        *cut += longer[1] != 0;
    }
    return status;
}

/* Predictions for rows are given piece by piece: the length matters only if an example has one prediction. */
static attn_status count_cut(const examining *now, attn_examination *found) {
    const attn_dataset *train = now->train;
    if (!now->view || now->values.encoder->kind == AT_ENCODER_NONE || train->per_row || is_running(now) ||
        (now->guess && train->pairs))
        return ATTN_OK;
    found->longest = at_config_longest(now->values.encoder, now->view->longest);
    found->most = train->pairs ? found->longest : at_config_most(&now->values, now->view);
    attn_status status = count_longer(now, train, found, &found->in_pieces, &found->cut);
    for (int i = 0; i < 2 && status == ATTN_OK; i++)
        if (now->others[i])
            status =
                count_longer(now, now->others[i], found, &found->in_pieces_others[i], &found->cut_others[i]);
    return status;
}

/* ---- notes ---- */

static attn_status add_note(attn_examination *found, at_writer *writer) {
    attn_status status = writer->status;
    if (status == ATTN_OK)
        status = at_strings_add(found->context, &found->notes, writer->bytes, (size_t)writer->count);
    writer->count = 0;
    return status;
}

static attn_status note_conflicts(const examining *now, attn_examination *found, at_writer *writer) {
    if (found->conflicts <= 0) return ATTN_OK;
    at_put_count(writer, found->conflicts, example_name(now->train));
    at_print(writer, " %s more than once with different labels", found->conflicts == 1 ? "occurs" : "occur");
    return add_note(found, writer);
}

/* Where examples are: of the training data that is clear, unless it is a part. set: 0 train, 1 dev, 2 test.
 */
static void put_place(const examining *now, int set, at_writer *writer) {
    static const char *const uses[] = {"training", "validation", "testing"};
    const attn_dataset *other = set == 0 ? NULL : now->others[set - 1];
    if (now->parts[set]) {
        at_print(writer, " for %s", uses[set]);
    } else if (other) {
        at_put(writer, " in ", 4);
        at_put_text(writer, attn_dataset_name(other));
    }
}

static void put_longer(const examining *now, int set, int64_t count, int64_t most, at_writer *writer) {
    at_put_count(writer, count, example_name(now->train));
    put_place(now, set, writer);
    at_print(writer, " %s longer than ", count == 1 ? "is" : "are");
    at_put_count(writer, most, attn_input_row(now->values.input->name));
}

static attn_status note_cut(const examining *now, int set, attn_examination *found, at_writer *writer) {
    const int64_t in_pieces = set == 0 ? found->in_pieces : found->in_pieces_others[set - 1];
    const int64_t cut = set == 0 ? found->cut : found->cut_others[set - 1];
    if (in_pieces == 0 && cut == 0) return ATTN_OK;
    const char *part = found->longest < now->view->longest ? "encoder" : now->values.input->name;
    attn_status status = ATTN_OK;
    if (in_pieces) {
        put_longer(now, set, in_pieces, found->longest, writer);
        at_print(writer, " (%s.longest): processed in pieces", part);
        status = add_note(found, writer);
    }
    if (cut == 0 || status != ATTN_OK) return status;
    put_longer(now, set, cut, found->most, writer);
    at_print(writer, ": only the beginning is used (%s.longest%s)", part,
             found->most > found->longest ? ", encoder.pieces" : "");
    return add_note(found, writer);
}

static attn_status note_overlap(const examining *now, int which, attn_examination *found, at_writer *writer) {
    static const char folded[] = "except for case, spaces and punctuation at the ends";
    const attn_overlap *overlap = &found->overlaps[which];
    if (overlap->examples == 0) return ATTN_OK;
    int64_t first = overlap->same ? overlap->same : overlap->alike;
    at_print(writer, "%s of the ", first ? at_grouped(first).text : "none");
    const attn_dataset *other = now->others[which];
    at_put_count(writer, overlap->examples, other->pairs ? "source" : example_name(other));
    put_place(now, 1 + which, writer);
    at_print(writer, " %s in %s%s", first < 2 ? "stands" : "stand",
             now->parts[0] ? "what is for training" : "it", first ? ", too" : "");
    if (overlap->same && overlap->alike)
        at_print(writer, ", and %s more %s", at_grouped(overlap->alike).text, folded);
    else if (overlap->alike)
        at_print(writer, ", %s", folded);
    return add_note(found, writer);
}

static attn_status add_notes(const examining *now, attn_examination *found) {
    at_writer writer = {.context = found->context, .terminal = 1};
    attn_status status = note_conflicts(now, found, &writer);
    found->first_note = found->notes.count;
    for (int set = 0; set < 3 && status == ATTN_OK; set++) status = note_cut(now, set, found, &writer);
    for (int i = 0; i < 2 && status == ATTN_OK; i++) status = note_overlap(now, i, found, &writer);
    at_writer_free(&writer);
    return status;
}

/* ---- the whole ---- */

static attn_status examine(examining *now, attn_examination *found) {
    const at_input_kind *kind = now->values.input;
    at_input_use use = at_config_use(&now->values);
    attn_status status = ATTN_OK;
    int chosen = !kind->unit || !use.chooses || kind->unit(now->values.input_values) != AT_UNIT_AUTO;
    if (chosen) status = kind->create(now->train->context, now->values.input_values, &use, &now->view);
    if (status == ATTN_OK && chosen) now->view->kind = kind;
    int labelled = !now->unlabelled && (now->values.task->labelled || now->guess);
    if (status == ATTN_OK && labelled && has_targets(now->train)) status = examine_targets(now, found);
    if (status == ATTN_OK) status = count_cut(now, found);
    if (status == ATTN_OK && !is_running(now))
        status = at_count_overlaps(now->train, now->others, found->overlaps);
    if (status == ATTN_OK) status = add_notes(now, found);
    if (now->view) kind->destroy(now->view);
    return status;
}

void attn_examine_options_init_sized(attn_examine_options *options, size_t size) {
    attn_examine_options own = {.size = sizeof own};
    at_options_give(options, size, &own, sizeof own);
}

static attn_status check_kinds(const examining *now) {
    const char *input = now->values.input->name;
    const attn_dataset *sets[] = {now->train, now->others[0], now->others[1]};
    for (int i = 0; i < 3; i++)
        if (sets[i] && strcmp(sets[i]->kind->input, input) != 0)
            return at_fail(now->train->context, ATTN_INVALID_ARGUMENT,
                           "attn_examine: %.200s is of input %s, the configuration of %s",
                           attn_dataset_name(sets[i]), sets[i]->kind->input, input);
    return ATTN_OK;
}

attn_status attn_examine(attn_config *config, const attn_dataset *train, const attn_examine_options *given,
                         attn_examination **found) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    attn_context *context = at_config_context(config);
    attn_examine_options options;
    char reason[AT_OPTIONS_TEXT];
    if (!train || !found)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "attn_examine: train or found is NULL");
    attn_examine_options_init(&options);
    attn_status status =
        at_options_take("options", "attn_examine_options_init", given,
                        AT_FIRST_SIZE(attn_examine_options, unlabelled), sizeof options, &options, reason);
    if (status != ATTN_OK) return at_fail(context, status, "attn_examine: %s", reason);
    examining now = {.train = train,
                     .others = {options.dev, options.test},
                     .guess = options.guess,
                     .unlabelled = options.unlabelled};
    status = at_config_values(config, &now.values);
    if (status == ATTN_OK) status = check_kinds(&now);
    attn_examination *made =
        status == ATTN_OK ? at_allocate(train->context, 1, sizeof *made, "an examination") : NULL;
    if (!made) return status == ATTN_OK ? ATTN_OUT_OF_MEMORY : status;
    made->context = train->context;
    status = take_parts(&now);
    if (status == ATTN_OK) status = examine(&now, made);
    if (status == ATTN_OK)
        *found = made;
    else
        attn_examination_destroy(made);
    for (int i = 0; i < 3; i++) attn_dataset_destroy(now.parts[i]);
    return status;
}

void attn_examination_destroy(attn_examination *found) {
    if (!found) return;
    at_strings_free(found->context, &found->findings);
    at_strings_free(found->context, &found->notes);
    at_release(found->context, found->kinds);
    at_release(found->context, found);
}

/* ---- questions ---- */

int attn_examination_findings(const attn_examination *found) {
    return found ? (int)found->findings.count : 0;
}

attn_finding attn_examination_finding(const attn_examination *found, int index) {
    if (index < 0 || index >= attn_examination_findings(found)) return (attn_finding){0, NULL};
    return (attn_finding){found->kinds[index], at_string(&found->findings, index)};
}

int attn_examination_notes(const attn_examination *found) { return found ? (int)found->notes.count : 0; }

const char *attn_examination_note(const attn_examination *found, int index) {
    if (index < 0 || index >= attn_examination_notes(found)) return NULL;
    return at_string(&found->notes, index);
}

int64_t attn_examination_conflicts(const attn_examination *found) { return found ? found->conflicts : 0; }
int64_t attn_examination_in_pieces(const attn_examination *found) { return found ? found->in_pieces : 0; }
int64_t attn_examination_cut(const attn_examination *found) { return found ? found->cut : 0; }
int64_t attn_examination_longest(const attn_examination *found) { return found ? found->longest : 0; }
int64_t attn_examination_most(const attn_examination *found) { return found ? found->most : 0; }

attn_overlap attn_examination_overlap(const attn_examination *found, attn_part part) {
    if (!found || (part != ATTN_PART_VAL && part != ATTN_PART_TEST)) return (attn_overlap){0, 0, 0};
    return found->overlaps[part == ATTN_PART_TEST];
}
