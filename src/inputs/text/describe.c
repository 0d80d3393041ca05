/* describe.c: a dataset of texts described for people and as JSON (see data/describe.h). */
#include <inttypes.h>
#include <string.h>

#include "data/describe.h"
#include "inputs/text/survey.h"
#include "inputs/text/text.h"

typedef struct description {
    const attn_dataset *dataset;
    const attn_describe_options *options;
    at_writer *writer;
    at_survey found;
    int tokenized;
} description;

static void put(const description *of, const char *text) { at_put(of->writer, text, strlen(text)); }

/* What one example is called. */
static const char *example_name(const description *of) {
    if (of->found.pairs) return of->options->unlabelled ? "source" : "pair";
    if (!of->tokenized) return "text";
    return of->dataset->format == ATTN_FORMAT_CONLLU ? "sentence" : "sequence";
}

/* ---- for people ---- */

static void put_title(const description *of) {
    static const char *const formats[] = {
        "",      "CoNLL-U",     "tokens with tags", "table (TSV or CSV)", "fastText lines", "lines of text",
        "pairs", "JSON objects"};
    if (!of->found.pairs) at_print(of->writer, "%s, ", formats[of->dataset->format]);
    at_put_count(of->writer, of->dataset->examples, example_name(of));
    if (of->tokenized) {
        put(of, ", ");
        at_put_count(of->writer, of->dataset->rows, "token");
    }
    put(of, "\n");
}

static void put_unlabelled(const description *of) {
    if (!of->options->unlabelled) return;
    if (of->dataset->format == ATTN_FORMAT_LINES && !of->options->task)
        put(of, "\nno labels: attn train lm can use it as running text. For other tasks it\n");
    else
        at_print(of->writer,
                 "\nno %s: it can be used for prediction, not for training. As training data it\n",
                 of->found.pairs ? "targets" : "labels");
    at_put_reason(of->writer, of->options);
}

/* Lengths of both sides, and how many distinct symbols there are. */
static void put_sides(const description *of) {
    const at_survey *found = &of->found;
    const struct {
        const char *name;
        const at_distinct *distinct;
    } sides[] = {{"sources", &found->distinct}, {"targets", &found->target_distinct}};
    int count = of->options->unlabelled ? 1 : 2;
    at_put_lengths(of->writer, "source characters", &found->lengths);
    at_put_lengths(of->writer, "source words", &found->words);
    if (count > 1) at_put_lengths(of->writer, "target characters", &found->target_lengths);
    if (count > 1) at_put_lengths(of->writer, "target words", &found->target_words);
    at_print(of->writer, "\n  %-18s %10s %9s %10s %9s\n", "different", "characters", "once", "words", "once");
    for (int i = 0; i < count; i++)
        at_print(of->writer, "  %-18s %10s %9s %10s %9s\n", sides[i].name,
                 at_grouped(sides[i].distinct->characters).text,
                 at_grouped(sides[i].distinct->characters_once).text,
                 at_grouped(sides[i].distinct->words).text, at_grouped(sides[i].distinct->words_once).text);
}

static void put_lengths(const description *of) {
    at_put_lengths_heading(of->writer);
    if (of->found.pairs) {
        put_sides(of);
        return;
    }
    at_put_lengths(of->writer, of->tokenized ? "tokens" : "characters", &of->found.lengths);
    if (!of->tokenized) at_put_lengths(of->writer, "words (by spaces)", &of->found.words);
}

static void put_repeated_sources(const description *of) {
    const at_repeats *repeats = &of->found.repeats;
    if (repeats->repeated == 0 || of->options->unlabelled) return;
    at_put_count(of->writer, repeats->repeated, "source");
    at_print(of->writer, " %s there more than once", repeats->repeated == 1 ? "stands" : "stand");
    if (repeats->contradictions == 0) {
        put(of, "\n");
        return;
    }
    at_print(of->writer, ", %s of them with different targets:\n", at_grouped(repeats->contradictions).text);
    at_put_contradicting_lines(of->writer, repeats);
}

static void put_uneven(const description *of) {
    const at_survey *found = &of->found;
    if (found->uneven == 0) return;
    at_put_count(of->writer, found->uneven, "pair");
    at_print(of->writer, " with one side over %d times as long as the other lets expect:\n  line%s",
             AT_UNEVEN, found->uneven == 1 ? "" : "s");
    for (int i = 0; i < AT_PLACES_SHOWN && i < found->uneven; i++)
        at_print(of->writer, "%s %" PRId64, i > 0 ? "," : "", found->uneven_lines[i]);
    put(of, found->uneven > AT_PLACES_SHOWN ? ", ...\n" : "\n");
}

/* What is odd about the examples. */
static void put_remarks(const description *of) {
    const at_survey *found = &of->found;
    if (found->empty + found->repeats.repeated + found->uneven == 0) return;
    put(of, "\n");
    if (found->empty > 0) {
        at_put_count(of->writer, found->empty, example_name(of));
        put(of, found->empty == 1 ? " is empty\n" : " are empty\n");
    }
    at_put_duplicates(of->writer, &found->repeats, example_name(of));
    if (!found->pairs) at_put_contradictions(of->writer, &found->repeats, example_name(of));
    if (found->pairs) put_repeated_sources(of);
    put_uneven(of);
}

/* The targets of pairs are texts, not values to be counted. */
static attn_status put_columns(const description *of) {
    if (of->found.pairs) return ATTN_OK;
    return at_put_columns(of->writer, of->dataset, of->options,
                          of->dataset->per_row ? "token" : example_name(of));
}

static attn_status describe(const description *of) {
    put_title(of);
    put_unlabelled(of);
    put_lengths(of);
    attn_status status = put_columns(of);
    put_remarks(of);
    return status;
}

/* ---- JSON ---- */

static void put_distinct_json(const description *of, const char *name, const at_distinct *distinct) {
    at_print(of->writer,
             ",\"%s\":{\"characters\":%" PRId64 ",\"characters_once\":%" PRId64 ",\"words\":%" PRId64
             ",\"words_once\":%" PRId64 "}",
             name, distinct->characters, distinct->characters_once, distinct->words, distinct->words_once);
}

static void put_texts_json(const description *of, const char *name, const at_lengths *characters,
                           const at_lengths *words) {
    at_print(of->writer, ",\"%s\":{", name);
    at_put_lengths_json(of->writer, "characters", characters);
    put(of, ",");
    at_put_lengths_json(of->writer, "words", words);
    put(of, "}");
}

static void put_lengths_json(const description *of) {
    const at_survey *found = &of->found;
    if (of->tokenized) {
        put(of, ",\"lengths\":{");
        at_put_lengths_json(of->writer, "tokens", &found->lengths);
        put(of, "}");
    } else {
        put_texts_json(of, "lengths", &found->lengths, &found->words);
    }
    if (!found->pairs) return;
    put_texts_json(of, "target_lengths", &found->target_lengths, &found->target_words);
    put_distinct_json(of, "symbols", &found->distinct);
    put_distinct_json(of, "target_symbols", &found->target_distinct);
    at_print(of->writer, ",\"repeated\":%" PRId64 ",\"uneven\":%" PRId64, found->repeats.repeated,
             found->uneven);
}

static attn_status describe_json(const description *of) {
    const at_survey *found = &of->found;
    at_print(of->writer, ",\"tokens\":%" PRId64, of->dataset->rows);
    put_lengths_json(of);
    put(of, ",\"columns\":");
    if (found->pairs) put(of, "[]");
    attn_status status = put_columns(of);
    at_print(of->writer, ",\"empty\":%" PRId64 ",\"duplicates\":%" PRId64 ",\"contradictions\":%" PRId64,
             found->empty, found->repeats.duplicates, found->repeats.contradictions);
    return status;
}

attn_status at_text_describe(const attn_dataset *dataset, const attn_describe_options *options,
                             at_writer *writer) {
    description of = {.dataset = dataset,
                      .options = options,
                      .writer = writer,
                      .tokenized = at_texts_of(dataset)->tokenized};
    attn_status status = at_survey_texts(dataset, &of.found);
    if (status != ATTN_OK) return status;
    return options->json ? describe_json(&of) : describe(&of);
}
