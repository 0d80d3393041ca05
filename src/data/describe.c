/* describe.c: the parts of a description that all kinds of input share. */
#include "data/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <attn/text.h>

#include "data/examine.h"
#include "data/lines.h"

enum {
    CLASSES_SHOWN = 20,
    ONCE_CELLS = 40, /* names of classes that occur once, about so many cells of them */
    PROBLEMS_SHOWN = 20,
    LABEL_CELLS = 28, /* a longer label is cut */
    BAR_CELLS = 24
};

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

/* ---- numbers and paragraphs ---- */

at_grouped_number at_grouped(int64_t number) {
    at_grouped_number grouped;
    char digits[24], *out = grouped.text;
    int count = snprintf(digits, sizeof digits, "%" PRId64, number);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return grouped;
}

void at_put_count(at_writer *writer, int64_t count, const char *thing) {
    at_print(writer, "%s %s%s", at_grouped(count).text, thing, count == 1 ? "" : "s");
}

void at_put_wrapped(at_writer *writer, const char *text) {
    enum { EDGE = 80 };
    int column = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        char word[256];
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, text);
        int cells = attn_text_cells(word);
        if (column > 0 && column + 1 + cells > EDGE) {
            at_put_char(writer, '\n');
            column = 0;
        }
        put(writer, column == 0 ? "  " : " ");
        at_put_text(writer, word);
        column += (column == 0 ? 2 : 1) + cells;
        text += length;
    }
    at_put_char(writer, '\n');
}

void at_put_reason(at_writer *writer, const attn_describe_options *options) {
    const char *name = options->names[0] ? options->names[0] : "";
    size_t length = strlen(name);
    int prefixed = strncmp(options->unlabelled, name, length) == 0 && options->unlabelled[length] == ':';
    at_put_wrapped(writer, options->unlabelled + (prefixed ? length + 1 : 0));
}

/* ---- beginning and end ---- */

void at_describe_begin(const attn_dataset *dataset, const char *format, const attn_describe_options *options,
                       at_writer *writer) {
    const char *name = options->names[0] ? options->names[0] : attn_dataset_name(dataset),
               *second = options->names[1];
    if (!options->json) {
        at_put_text(writer, name);
        if (second) put(writer, " and ");
        if (second) at_put_text(writer, second);
        put(writer, ": ");
        return;
    }
    put(writer, "{\"file\":");
    at_put_json(writer, name);
    if (second) put(writer, ",\"targets\":");
    if (second) at_put_json(writer, second);
    at_print(writer, ",\"format\":\"%s\",\"labelled\":%s,\"examples\":%" PRId64, format,
             options->unlabelled ? "false" : "true", dataset->examples);
}

/* A problem may continue in lines that are indented by two spaces. */
static void put_problem(at_writer *writer, const char *text) {
    const char *stop;
    for (; (stop = strstr(text, "\n  ")) != NULL; text = stop + 1) {
        put(writer, "  ");
        at_put_raw(writer, text, (size_t)(stop - text));
        at_put_char(writer, '\n');
    }
    put(writer, "  ");
    at_put_text(writer, text);
    at_put_char(writer, '\n');
}

static void put_problems(const attn_dataset *dataset, at_writer *writer) {
    int64_t wrong = dataset->skipped;
    if (wrong == 0) return;
    at_print(writer, "\n%s %s left out:\n", at_grouped(wrong).text,
             wrong == 1 ? "example is wrong and" : "examples are wrong and");
    for (int64_t i = 0; i < PROBLEMS_SHOWN && i < dataset->problems.count; i++) {
        put_problem(writer, at_string(&dataset->problems, i));
    }
    if (wrong > PROBLEMS_SHOWN) at_print(writer, "  and %s more\n", at_grouped(wrong - PROBLEMS_SHOWN).text);
}

/* ---- what was found when it was examined ---- */

static void put_examination(const attn_examination *found, int conflicts, at_writer *writer) {
    int64_t first = conflicts ? found->first_note : 0;
    if (first < found->notes.count) at_put_char(writer, '\n');
    for (int64_t i = first; i < found->notes.count; i++) at_put_wrapped(writer, at_string(&found->notes, i));
    if (found->findings.count) put(writer, "\nThe data looks wrong:\n");
    for (int64_t i = 0; i < found->findings.count; i++)
        at_put_wrapped(writer, at_string(&found->findings, i));
}

static void put_overlap_json(at_writer *writer, const char *name, const attn_overlap *overlap) {
    at_print(writer, "\"%s\":{\"examples\":%" PRId64 ",\"same\":%" PRId64 ",\"alike\":%" PRId64 "}", name,
             overlap->examples, overlap->same, overlap->alike);
}

static void put_examination_json(const attn_examination *found, at_writer *writer) {
    static const char *const kinds[] = {"", "swapped", "one class", "few", "alike"};
    put(writer, ",\"findings\":[");
    for (int64_t i = 0; i < found->findings.count; i++) {
        at_print(writer, "%s{\"kind\":\"%s\",\"text\":", i > 0 ? "," : "", kinds[found->kinds[i]]);
        at_put_json(writer, at_string(&found->findings, i));
        at_put_char(writer, '}');
    }
    at_print(writer, "],\"conflicts\":%" PRId64 ",\"pieces\":%" PRId64 ",\"cut\":%" PRId64 ",\"overlap\":{",
             found->conflicts, found->in_pieces, found->cut);
    put_overlap_json(writer, "dev", &found->overlaps[0]);
    at_put_char(writer, ',');
    put_overlap_json(writer, "test", &found->overlaps[1]);
    at_put_char(writer, '}');
}

void at_describe_end(const attn_dataset *dataset, const attn_describe_options *options, int conflicts,
                     at_writer *writer) {
    const attn_examination *found = options->examination;
    if (!options->json) {
        if (found) put_examination(found, conflicts, writer);
        put_problems(dataset, writer);
        return;
    }
    if (found) put_examination_json(found, writer);
    at_print(writer, ",\"wrong\":%" PRId64 ",\"problems\":[", dataset->skipped);
    for (int64_t i = 0; i < dataset->problems.count; i++) {
        if (i > 0) at_put_char(writer, ',');
        at_put_json(writer, at_string(&dataset->problems, i));
    }
    put(writer, "]}\n");
}

/* ---- lengths ---- */

void at_put_lengths_heading(at_writer *writer) {
    at_print(writer, "\n  %-18s %9s %9s %9s %9s\n", "length", "least", "median", "mean", "most");
}

void at_put_lengths(at_writer *writer, const char *what, const at_lengths *lengths) {
    at_print(writer, "  %-18s %9s %9.1f %9.1f %9s\n", what, at_grouped(lengths->least).text, lengths->median,
             lengths->mean, at_grouped(lengths->most).text);
}

void at_put_lengths_json(at_writer *writer, const char *name, const at_lengths *lengths) {
    at_print(writer, "\"%s\":{\"least\":%" PRId64 ",\"median\":%.1f,\"mean\":%.9g,\"most\":%" PRId64 "}",
             name, lengths->least, lengths->median, lengths->mean, lengths->most);
}

/* ---- columns ---- */

/* A label, cut to LABEL_CELLS cells; returns how many it takes. */
static int put_label(at_writer *writer, const char *label) {
    char shown[8 * LABEL_CELLS];
    size_t whole = strlen(label), length = whole < sizeof shown - 4 ? whole : sizeof shown - 4;
    for (;;) {
        while (length > 0 && length < whole && ((unsigned char)label[length] & 0xc0) == 0x80) length--;
        memcpy(shown, label, length);
        strcpy(shown + length, length < whole ? "…" : "");
        if (attn_text_cells(shown) <= LABEL_CELLS || length == 0) break;
        length--;
    }
    at_put_text(writer, shown);
    return attn_text_cells(shown);
}

static int64_t classes_shown(const at_column_summary *column) {
    return column->class_count <= CLASSES_SHOWN + 1 ? column->class_count : CLASSES_SHOWN;
}

/* Values that are numbers and many are measured, not counted. */
static int is_measured(const at_column_summary *column) {
    return column->numbers && column->class_count > CLASSES_SHOWN;
}

static void put_classes(at_writer *writer, const at_column_summary *column) {
    int64_t shown = classes_shown(column), rest = 0;
    double most = (double)column->classes[0].count;
    for (int64_t i = 0; i < shown; i++) {
        const at_class_count *one = &column->classes[i];
        put(writer, "  ");
        int cells = put_label(writer, one->label);
        at_print(writer, "%*s %10s  %5.1f %%  ", LABEL_CELLS > cells ? LABEL_CELLS - cells : 0, "",
                 at_grouped(one->count).text, 100.0 * (double)one->count / (double)column->values);
        for (int b = 0; b < (int)(BAR_CELLS * (double)one->count / most + 0.5); b++) put(writer, "█");
        at_put_char(writer, '\n');
    }
    for (int64_t i = shown; i < column->class_count; i++) rest += column->classes[i].count;
    if (rest == 0) return;
    char more[48];
    snprintf(more, sizeof more, "and %s more", at_grouped(column->class_count - shown).text);
    at_print(writer, "  %-*s %10s  %5.1f %%\n", LABEL_CELLS, more, at_grouped(rest).text,
             100.0 * (double)rest / (double)column->values);
}

static void put_heading(at_writer *writer, const at_column_summary *column, int bold) {
    at_put_char(writer, '\n');
    if (bold) put(writer, "\033[1m");
    at_put_text(writer, column->name);
    if (bold) put(writer, "\033[0m");
    const char *one = is_measured(column) ? "different number" : "class",
               *ending = is_measured(column) ? "s" : "es";
    at_print(writer, ": %s %s%s", at_grouped(column->class_count).text, one,
             column->class_count == 1 ? "" : ending);
    if (column->class_count > classes_shown(column) && !is_measured(column))
        at_print(writer, ", the %d most frequent", CLASSES_SHOWN);
    at_put_char(writer, '\n');
}

static void put_once(at_writer *writer, const at_column_summary *column) {
    if (column->once == 0 || is_measured(column)) return;
    at_print(writer, "  %s %s once:", at_grouped(column->once).text,
             column->once == 1 ? "class occurs" : "classes occur");
    int64_t i = column->class_count - column->once;
    for (int cells = 0; i < column->class_count && cells < ONCE_CELLS; i++) {
        put(writer, cells > 0 ? ", " : " ");
        cells += 2 + put_label(writer, column->classes[i].label);
    }
    put(writer, i < column->class_count ? ", ...\n" : "\n");
}

static void put_places(at_writer *writer, int64_t count, const char *place, const char *what) {
    if (count == 0) return;
    put(writer, "  ");
    at_put_count(writer, count, place);
    at_print(writer, " %s\n", what);
}

static void put_column(at_writer *writer, const at_column_summary *column, int bold, const char *place) {
    put_heading(writer, column, bold);
    if (!is_measured(column) && column->class_count > 0) put_classes(writer, column);
    if (column->numbers)
        at_print(writer, "  as numbers: least %g, mean %.4g, most %g\n", column->least, column->mean,
                 column->most);
    put_places(writer, column->several, place, "with more than one label");
    put_places(writer, column->missing, place, "without a value");
    put_once(writer, column);
}

static void put_column_json(at_writer *writer, const at_column_summary *column) {
    put(writer, "{\"name\":");
    at_put_json(writer, column->name);
    at_print(writer,
             ",\"values\":%" PRId64 ",\"missing\":%" PRId64 ",\"several\":%" PRId64 ",\"once\":%" PRId64
             ",\"distinct\":%" PRId64 ",\"classes\":[",
             column->values, column->missing, column->several, column->once, column->class_count);
    for (int64_t i = 0; !is_measured(column) && i < column->class_count; i++) {
        put(writer, i > 0 ? ",{\"label\":" : "{\"label\":");
        at_put_json(writer, column->classes[i].label);
        at_print(writer, ",\"count\":%" PRId64 ",\"share\":%.9g}", column->classes[i].count,
                 (double)column->classes[i].count / (double)column->values);
    }
    if (column->numbers)
        at_print(writer, "],\"numbers\":{\"least\":%.17g,\"mean\":%.17g,\"most\":%.17g}}", column->least,
                 column->mean, column->most);
    else
        put(writer, "],\"numbers\":null}");
}

attn_status at_put_columns(at_writer *writer, const attn_dataset *dataset,
                           const attn_describe_options *options, const char *place) {
    attn_status status = ATTN_OK;
    if (options->json) at_put_char(writer, '[');
    for (int64_t c = 0; c < dataset->columns.count && status == ATTN_OK; c++) {
        at_column_summary column;
        status = at_summarize_column(dataset, c, &column);
        if (options->json && c > 0) at_put_char(writer, ',');
        if (status == ATTN_OK && options->json)
            put_column_json(writer, &column);
        else if (status == ATTN_OK)
            put_column(writer, &column, options->bold, place);
        at_column_summary_free(dataset->context, &column);
    }
    if (options->json) at_put_char(writer, ']');
    return status == ATTN_OK ? writer->status : status;
}

/* ---- inputs that occur more than once ---- */

void at_put_duplicates(at_writer *writer, const at_repeats *repeats, const char *thing) {
    if (repeats->duplicates == 0) return;
    at_put_count(writer, repeats->duplicates, thing);
    put(writer, repeats->duplicates == 1 ? " repeats an earlier one\n" : " repeat earlier ones\n");
}

void at_put_contradicting_lines(at_writer *writer, const at_repeats *repeats) {
    put(writer, "  lines");
    for (int i = 0; i < AT_PLACES_SHOWN && i < repeats->contradictions; i++)
        at_print(writer, "%s %" PRId64 " and %" PRId64, i > 0 ? "," : "", repeats->lines[i][0],
                 repeats->lines[i][1]);
    put(writer, repeats->contradictions > AT_PLACES_SHOWN ? ", ...\n" : "\n");
}

void at_put_contradictions(at_writer *writer, const at_repeats *repeats, const char *thing) {
    if (repeats->contradictions == 0) return;
    at_put_count(writer, repeats->contradictions, thing);
    put(writer, " with different targets in different places:\n");
    at_put_contradicting_lines(writer, repeats);
}
