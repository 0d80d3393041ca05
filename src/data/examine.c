/* examine.c: reasons not to train on the targets of a dataset.
 *
 *     swapped   nearly every label occurs once. If the inputs look like labels, half of them is enough;
 *               if tokens have tags: four times as many different tags as different tokens
 *     one class a single label, or a single number; with several columns: in all of them
 *     few       fewer than AT_FEW_EXAMPLES examples; if nodes of a graph have targets, so many nodes
 *     alike     labels that differ only in spaces or case. Letters of an alphabet (more than AN_ALPHABET
 *               labels of one character) are accepted
 */
#include "data/examine.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/describe.h"
#include "data/lines.h"
#include "data/parts.h"
#include "data/summary.h"
#include "data/symbols/unicode.h"

enum {
    AN_ALPHABET = 10,
    PAIRS_SHOWN = 10,
    LABELS_SHOWN = 4,
    LABEL_BYTES = 40 /* of a label in a message */
};

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

/* A label between quotation marks, cut where it is long. White space other than a single space shows as
 * \u and its number, so that labels that differ in it look different. */
static void put_quoted(at_writer *writer, const char *label) {
    size_t length = strlen(label), kept = (size_t)at_clip(label, length, LABEL_BYTES);
    int gap = 0;
    at_put_char(writer, '"');
    for (size_t i = 0, step; i < kept; i += step) {
        char shown[8] = "";
        int32_t code;
        step = (size_t)at_unicode_next(label + i, kept - i, &code);
        int space = code == ' ' || at_unicode_space(code);
        if (space && (code != ' ' || gap))
            at_print(writer, "\\u%04x", (unsigned)code);
        else
            at_put_text(writer, memcpy(shown, label + i, step < sizeof shown ? step : sizeof shown - 1));
        gap = space;
    }
    put(writer, kept < length ? "…\"" : "\"");
}

static void put_column(at_writer *writer, const at_column_summary *column) {
    put(writer, "column ");
    at_put_text(writer, column->name);
    put(writer, ": ");
}

/* Takes what was written as a finding, and the writer is empty again. */
static attn_status add(attn_examination *found, attn_finding_kind kind, at_writer *writer) {
    attn_context *context = found->context;
    attn_status status = writer->status;
    if (status == ATTN_OK)
        status = at_grow(context, &found->kinds, &found->kind_room, found->findings.count + 1,
                         sizeof *found->kinds, "findings");
    if (status == ATTN_OK) {
        found->kinds[found->findings.count] = kind;
        status = at_strings_add(context, &found->findings, writer->bytes, (size_t)writer->count);
    }
    writer->count = 0;
    return status;
}

/* ---- few ---- */

static attn_status find_few(const at_examining *how, int64_t values, attn_examination *found,
                            at_writer *writer) {
    const attn_dataset *train = how->train;
    int rows = at_dataset_splits_rows(train);
    int64_t count = rows ? values : train->examples;
    if (count >= AT_FEW_EXAMPLES) return ATTN_OK;
    at_put_count(writer, count, rows ? how->place : how->example);
    at_print(writer,
             " for training: with fewer than %d, both the model and its metrics are due to chance. Add %s",
             AT_FEW_EXAMPLES, rows ? "labels" : "examples");
    if (train->kind->written && train->per_row && train->rows >= AT_FEW_EXAMPLES)
        put(writer, "; blank lines separate sentences");
    return add(found, ATTN_FINDING_FEW, writer);
}

/* ---- swapped ---- */

/* Different names of rows, counted until there are more than `most`. The first of them stay in `names`. */
static attn_status count_names(const attn_dataset *dataset, int64_t most, at_vocabulary *names) {
    attn_status status = ATTN_OK;
    for (int64_t row = 0; row < dataset->rows && status == ATTN_OK && names->strings.count <= most; row++) {
        const char *name = dataset->kind->row_name(dataset->content, row);
        int64_t number;
        status = at_vocabulary_add(dataset->context, names, name, strlen(name), 1, &number);
    }
    return status;
}

/* How the columns are read the other way round. */
static void put_order(at_writer *writer, const attn_dataset *train) {
    const at_placement *layout = &train->placement;
    int plain = layout->delimiter && !layout->header; /* no row names the columns */
    if (train->per_row)
        put(writer, "Swap the columns of the file: a line is token TAB tag");
    else if (plain && strcmp(at_string(&train->columns, 0), "label") == 0)
        put(writer, "It is read as label TAB text; say so if it is text TAB label "
                    "(reader.text_column 1 reader.column 2)");
    else
        put(writer, "Swap the columns of labels (reader.column) and texts (reader.text_column)");
}

/* What the inputs look like beside such labels, and what to do. */
static void put_remedy(at_writer *writer, const at_examining *how, const at_column_summary *column,
                       const at_vocabulary *names, int inputs_are_labels) {
    const attn_dataset *train = how->train;
    if (inputs_are_labels) {
        int64_t count = names->strings.count;
        at_print(writer, " The %ss look like labels, with %s different: ", how->place,
                 at_grouped(count).text);
        for (int64_t i = 0; i < count && i < LABELS_SHOWN; i++) {
            if (i > 0) put(writer, ", ");
            put_quoted(writer, at_string(&names->strings, i));
        }
        put(writer, count > LABELS_SHOWN ? ", ... " : ". ");
        put_order(writer, train);
        return;
    }
    if (column->numbers) put(writer, " All of them are numbers: task regress learns numbers.");
    if (train->kind->written && !train->per_row) {
        put(writer, " If the columns are swapped: ");
        put_order(writer, train);
        return;
    }
    put(writer, " Name the column that has the labels (reader.column)");
}

static attn_status find_swapped(const at_examining *how, const at_column_summary *column,
                                attn_examination *found, at_writer *writer, int *swapped) {
    const attn_dataset *train = how->train;
    at_vocabulary names = {0};
    int64_t labels = 0, classes = column->class_count;
    for (int64_t i = 0; i < classes; i++) labels += column->classes[i].count;
    int tokens = train->kind->written && train->per_row, texts = train->kind->written && !train->per_row;
    int nearly_all = 10 * classes >= 9 * labels, half = 2 * classes >= labels;
    *swapped = 0;
    if (labels < AT_FEW_EXAMPLES || (!nearly_all && !(texts && half) && !(tokens && classes > 20)))
        return ATTN_OK;
    int64_t most = classes / (tokens ? 4 : 5); /* different inputs that labels can be */
    attn_status status = tokens || texts ? count_names(train, most, &names) : ATTN_OK;
    int inputs_are_labels = (tokens || texts) && names.strings.count <= most;
    *swapped = status == ATTN_OK && (nearly_all || inputs_are_labels);
    if (*swapped) {
        put_column(writer, column);
        at_print(writer, "%s different labels of ", at_grouped(classes).text);
        at_put_count(writer, column->values, how->place);
        at_print(writer, ", of which %s %s once: these can hardly be labels.", at_grouped(column->once).text,
                 column->once == 1 ? "occurs" : "occur");
        put_remedy(writer, how, column, &names, inputs_are_labels);
        status = add(found, ATTN_FINDING_SWAPPED, writer);
    }
    at_vocabulary_free(train->context, &names);
    return status;
}

/* ---- labels that are alike ---- */

static int is_one_character(const char *label) {
    int32_t code;
    size_t length = strlen(label);
    return length > 0 && (size_t)at_unicode_next(label, length, &code) == length;
}

/* Classes in groups that are the same when folded: the next of the group, -1 after the last. */
typedef struct groups {
    at_vocabulary folded;
    int64_t *next, *first, *last; /* [classes]: first and last by the number of the group */
    char *buffer;
    int64_t room;
} groups;

/* Takes the spaces out of a folded label; its length. */
static size_t without_spaces(char *label, size_t length) {
    size_t kept = 0;
    for (size_t i = 0; i < length; i++)
        if (label[i] != ' ') label[kept++] = label[i];
    label[kept] = 0;
    return kept;
}

static attn_status group_labels(attn_context *context, const at_column_summary *column, groups *made) {
    int64_t count = column->class_count;
    made->next = at_allocate(context, 3 * count, sizeof *made->next, "labels");
    if (!made->next) return ATTN_OUT_OF_MEMORY;
    made->first = made->next + count;
    made->last = made->first + count;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const char *label = column->classes[i].label;
        size_t length = strlen(label);
        int64_t group, before = made->folded.strings.count;
        status = at_grow(context, &made->buffer, &made->room, 4 * (int64_t)length + 1, 1, "a label");
        if (status != ATTN_OK) break;
        length = without_spaces(made->buffer, at_unicode_fold(label, length, 0, made->buffer));
        status = at_vocabulary_add(context, &made->folded, made->buffer, length, 1, &group);
        if (status != ATTN_OK) break;
        made->next[i] = -1;
        if (group == before)
            made->first[group] = i;
        else
            made->next[made->last[group]] = i;
        made->last[group] = i;
    }
    return status;
}

static void put_group(at_writer *writer, const at_column_summary *column, const groups *of, int64_t group) {
    for (int64_t i = of->first[group]; i >= 0; i = of->next[i]) {
        if (i != of->first[group]) put(writer, " / ");
        put_quoted(writer, column->classes[i].label);
        at_print(writer, " %s", at_grouped(column->classes[i].count).text);
    }
}

static attn_status find_alike(const at_column_summary *column, attn_examination *found, at_writer *writer) {
    groups of = {0};
    int64_t letters = 0, shown = 0, more = 0;
    for (int64_t i = 0; i < column->class_count; i++) letters += is_one_character(column->classes[i].label);
    attn_status status = group_labels(found->context, column, &of);
    for (int64_t g = 0; g < of.folded.strings.count && status == ATTN_OK; g++) {
        if (of.next[of.first[g]] < 0) continue;
        if (letters > AN_ALPHABET && is_one_character(column->classes[of.first[g]].label)) continue;
        if (shown == PAIRS_SHOWN) {
            more++;
            continue;
        }
        if (shown == 0) put_column(writer, column);
        put(writer, shown++ == 0 ? "labels that differ only in spaces or case: " : ", ");
        put_group(writer, column, &of, g);
    }
    if (more > 0) at_print(writer, ", and %s more", at_grouped(more).text);
    if (shown > 0) put(writer, ". Use one spelling for each label");
    if (shown > 0 && status == ATTN_OK) status = add(found, ATTN_FINDING_ALIKE, writer);
    at_vocabulary_free(found->context, &of.folded);
    at_release(found->context, of.next);
    at_release(found->context, of.buffer);
    return status;
}

/* ---- columns ---- */

/* Columns with a value, those of them with a single one, and what is to be said of the first of these. */
typedef struct singles {
    int64_t columns, single, values;
    at_writer text;
} singles;

static int is_single(const at_examining *how, const at_column_summary *column, int numbers) {
    if (numbers) return column->least == column->most;
    return column->class_count == 1 && !(how->may_be_none && column->missing > 0);
}

static void take_single(const at_examining *how, const at_column_summary *column, int numbers,
                        singles *seen) {
    if (seen->single++ > 0) return;
    at_writer *writer = &seen->text;
    put_column(writer, column);
    put(writer, numbers ? "a single number, " : "a single class, ");
    put_quoted(writer, column->classes[0].label);
    put(writer, column->values == 1 ? ", for its " : ", for all ");
    at_put_count(writer, column->values, how->place);
    at_print(writer,
             ": there is nothing to learn. Add examples of %s, or name another column (reader.column)",
             numbers ? "other numbers" : "another class");
}

static attn_status examine_column(const at_examining *how, int64_t number, singles *seen,
                                  attn_examination *found, at_writer *writer) {
    at_column_summary column;
    attn_context *context = how->train->context;
    attn_status status = at_summarize_column(how->train, number, &column);
    int numbers = how->use == AT_TARGETS_NUMBERS ||
                  (how->use == AT_TARGETS_GUESSED && column.class_count > AT_MEASURED_NUMBERS);
    numbers = numbers && column.numbers;
    if (status == ATTN_OK && column.values > 0) {
        int labels = how->use != AT_TARGETS_NUMBERS && !numbers, swapped = 0;
        seen->columns++;
        if (column.values > seen->values) seen->values = column.values;
        if (is_single(how, &column, numbers)) take_single(how, &column, numbers, seen);
        if (labels) status = find_swapped(how, &column, found, writer, &swapped);
        if (labels && !swapped && status == ATTN_OK) status = find_alike(&column, found, writer);
    }
    at_column_summary_free(context, &column);
    return status;
}

attn_status at_examine_targets(const at_examining *how, attn_examination *found) {
    attn_context *context = how->train->context;
    at_writer writer = {.context = context, .terminal = 1};
    singles seen = {.text = {.context = context, .terminal = 1}};
    attn_status status = ATTN_OK;
    int64_t columns = how->use == AT_TARGETS_OTHER ? 0 : how->train->columns.count;
    for (int64_t c = 0; c < columns && status == ATTN_OK; c++)
        status = examine_column(how, c, &seen, found, &writer);
    /* A column of several that says nothing leaves the others to learn. */
    if (status == ATTN_OK && seen.single > 0 && seen.single == seen.columns)
        status = add(found, ATTN_FINDING_ONE_CLASS, &seen.text);
    if (status == ATTN_OK) status = find_few(how, seen.values, found, &writer);
    at_writer_free(&seen.text);
    at_writer_free(&writer);
    return status;
}
