/* fields.c: what can be configured of text, what of it depends on the task, and values that do not go
 * together. */
#include <inttypes.h>

#include "base/context.h"
#include "inputs/text/text.h"

const char *const at_text_formats[] = {"auto",  "conllu", "columns", "table",      "fasttext",
                                       "lines", "pairs",  "jsonl",   "paragraphs", NULL};
static const char *const schemes[] = {"none", "bmes", "split", NULL};
static const char *const splitters[] = {"auto", "none", NULL};
static const char *const spacings[] = {"auto", "none", "one", "marked", NULL}; /* as at_spacing */

const at_field at_text_fields[] = {
    AT_CHOICE("text.unit", at_text_values, unit, at_unit_names, "words", "what a row stands for"),
    AT_CHOICE("text.scheme", at_text_values, scheme, schemes, "none",
              "bmes: characters say where in a word they stand; split: what ends with them"),
    AT_CHOICE("text.splitter", at_text_values, splitter, splitters, "auto",
              "auto: a second network learns to split raw text, where the training data shows how"),
    AT_CHOICE("text.spaces", at_text_values, spaces, spacings, "auto",
              "between words of data that does not mark spaces; auto: as the script has it"),
    AT_SWITCH("text.pretokenized", at_text_values, pretokenized, "false",
              "words are what stands between spaces"),
    AT_SWITCH("text.lowercase", at_text_values, lowercase, "false", "a unit is looked up in lower case"),
    AT_INTEGER("text.vocabulary", at_text_values, vocabulary, 0, 1e8, "0", "the most units to know; 0: all"),
    AT_INTEGER("text.min_count", at_text_values, min_count, 1, 1e9, "2",
               "a unit that is rarer in training is unknown"),
    AT_INTEGER("text.subwords", at_text_values, subwords, 1, 1e7, "8000", "symbols of byte-pair encoding"),
    AT_INTEGER("text.ngram_min", at_text_values, ngram_min, 1, 16, "1",
               "the shortest character n-grams of a word"),
    AT_INTEGER("text.ngram_max", at_text_values, ngram_max, 0, 16, "3", "the longest; 0: none"),
    AT_SWITCH("text.word_features", at_text_values, word_features, "true",
              "lower-case form and shape of words"),
    AT_INTEGER("text.context", at_text_values, context, 0, 8, "0",
               "n-grams of so many neighbouring units; 0: none"),
    AT_INTEGER("text.neighbours", at_text_values, neighbours, 0, 8, "0",
               "units up to so far away are features of a row"),
    AT_INTEGER("text.buckets", at_text_values, buckets, 0, 1e8, "32768",
               "rows for hashed features; 0: none of them"),
    AT_INTEGER("text.longest", at_text_values, longest, 1, 1e9, "2000",
               "units: longer texts are cut there, longer sequences of tokens go in pieces"),
    AT_SWITCH("text.one_hot", at_text_values, one_hot, "false",
              "the unit alone, as a one-hot vector under a linear map"),
    AT_INTEGER("text.stem", at_text_values, stem, 0, 63, "3",
               "rows that a convolution before the encoder sees; 0: there is none"),
    AT_NUMBER("text.embedding_rate", at_text_values, embedding_rate, 0.001, 100, "1",
              "their learning rate, times the others'"),
    AT_NUMBER("text.unit_dropout", at_text_values, unit_dropout, 0, 0.99, "0.2",
              "how often training hides a unit itself"),
    AT_NUMBER("text.feature_dropout", at_text_values, feature_dropout, 0, 0.99, "0.2",
              "how often it hides a hashed feature"),
};
_Static_assert(sizeof at_text_fields / sizeof at_text_fields[0] == AT_TEXT_FIELDS, "AT_TEXT_FIELDS");

const at_flag at_text_flags[AT_TEXT_FLAGS] = {
    {"unit", "text.unit", "U",
     "words, chars, bytes, subwords, symbols (default: words; lm: chars; seq2seq: from the data)"},
    {"subwords", "text.subwords", "N", "symbols of --unit subwords"},
    {"scheme", "text.scheme", "S", "bmes: with --unit chars, learn to cut text into words"},
    {"splitter", "text.splitter", "S", "none: do not learn to split raw text into sentences and words"},
    {"spaces", "text.spaces", "S",
     "none or one: between words of data that does not say (default: as the script has it)"},
    {"one-hot", "text.one_hot", NULL, "one-hot input: no features of words"},
    {"pretokenized", "text.pretokenized", NULL, "split texts at spaces only"},
    {"lowercase", "text.lowercase", NULL, "all text in lower case"},
};

const at_field at_text_setting_fields[] = {
    AT_SWITCH("pretokenized", at_text_settings, pretokenized, "false",
              "words are what stands between spaces"),
    AT_SWITCH("conllu", at_text_settings, conllu, "false", "taggers: raw text comes out as CoNLL-U"),
};
_Static_assert(sizeof at_text_setting_fields / sizeof at_text_setting_fields[0] == AT_TEXT_SETTINGS,
               "AT_TEXT_SETTINGS");

enum { MANY_EXAMPLES = 20000 };

/* Chosen by development data of the tasks in docs/results.md. What they say: words need no n-grams of
 * neighbours, characters do; an answer per text overfits sooner, so it has one layer, a lower rate and few
 * epochs. Networks for letters to sounds are small: from few thousand words they have to be kept from
 * learning by heart, from a hundred thousand they cannot (CMUdict, dev: 31 % of words wrong with a dropout of
 * 0.15, 26 % with 0.05). */
const at_default at_text_defaults[] = {
    {"seq2seq", NULL, 0, "text.unit", "auto"}, /* first: others ask for the unit */
    {"lm", NULL, 0, "text.unit", "chars"},

    {NULL, "text.unit=chars", 0, "text.context", "2"},
    {NULL, "text.unit=bytes", 0, "text.context", "3"},
    {NULL, "text.unit=chars", 0, "text.unit_dropout", "0.1"},
    {"tag", "text.unit=chars", 0, "text.neighbours", "1"},
    {"tag", "text.unit=chars", 0, "text.feature_dropout", "0.3"},
    {"tag", "text.unit=chars", 0, "text.stem", "5"},
    {"tag", "text.unit=chars", 0, "output.crf", "true"},
    {"tag", "text.unit=chars", 0, "encoder.columns", "128"},
    {"tag", "text.unit=chars", 0, "encoder.heads", "4"},
    {"tag", "text.unit=chars", 0, "text.buckets", "65536"},
    {"tag", "text.unit=chars", 0, "training.beta2", "0.98"},

    {"classify", NULL, 0, "text.unit_dropout", "0.1"},
    {"classify", NULL, 0, "encoder.columns", "128"},
    {"classify", NULL, 0, "encoder.heads", "4"},
    {"classify", NULL, 0, "encoder.layers", "1"},
    {"classify", NULL, 0, "encoder.dropout", "0.2"},
    {"classify", NULL, 0, "output.dropout", "0.4"},
    {"classify", NULL, 0, "output.pool", "attention"},
    {"classify", NULL, 0, "output.members", "4"},
    {"classify", "text.unit=words", 0, "text.buckets", "16384"},
    {"classify", NULL, 0, "training.batch_units", "1000"},
    {"classify", NULL, 0, "training.epochs", "2"},
    {"classify", "text.unit=chars", 0, "text.stem", "0"},
    {"classify", "text.unit=chars", 0, "encoder.dropout", "0.1"},
    {"classify", "text.unit=chars", 0, "training.beta2", "0.98"},
    {"classify", "text.unit=chars", 0, "output.pool", "mean-max"},
    {"classify", "text.unit=chars", 0, "training.batch_units", "2000"},

    {NULL, "text.unit=symbols", 0, "text.ngram_max", "0"},
    {NULL, "text.unit=symbols", 0, "text.word_features", "false"},

    {"seq2seq", NULL, 0, "text.min_count", "1"},
    {"seq2seq", NULL, 0, "text.longest", "10000"},
    {"seq2seq", NULL, 0, "text.unit_dropout", "0"},
    {"seq2seq", NULL, 0, "text.feature_dropout", "0.2"},
    {"seq2seq", NULL, 0, "text.context", "2"},
    {"seq2seq", NULL, 0, "text.buckets", "8192"},
    {"seq2seq", NULL, 0, "encoder.position", "sinusoidal"}, /* the decoder looks for places, too */
    {"seq2seq", NULL, 0, "encoder.columns", "128"},
    {"seq2seq", NULL, 0, "encoder.heads", "4"},
    {"seq2seq", NULL, 0, "encoder.dropout", "0.15"},
    {"seq2seq", NULL, 0, "output.smoothing", "0.1"},
    {"seq2seq", NULL, 0, "output.dropout", "0"},
    {"seq2seq", NULL, 0, "training.learning_rate", "0.002"},
    {"seq2seq", NULL, 0, "training.beta2", "0.98"},
    {"seq2seq", NULL, 0, "training.batch_units", "500"},
    {"seq2seq", NULL, 0, "training.epochs", "10"},
    {"seq2seq", NULL, 0, "training.least_steps", "3500"},
    {"seq2seq", NULL, MANY_EXAMPLES, "encoder.dropout", "0.05"},
    {"seq2seq", NULL, MANY_EXAMPLES, "text.feature_dropout", "0.1"},
    {"seq2seq", NULL, MANY_EXAMPLES, "training.batch_units", "1000"},
    {"seq2seq", "text.unit=subwords", 0, "text.subwords", "4000"},
    {"seq2seq", "text.unit=subwords", 0, "text.buckets", "0"}, /* one table for both sides */
    {"seq2seq", "text.unit=subwords", 0, "target.shared", "true"},
    {"seq2seq", "text.unit=subwords", 0, "encoder.layers", "4"},
    {"seq2seq", "text.unit=subwords", 0, "encoder.inner", "256"},
    {"seq2seq", "text.unit=subwords", 0, "decoder.layers", "4"},
    {"seq2seq", "text.unit=subwords", 0, "training.learning_rate", "0.003"},
    {"seq2seq", "text.unit=subwords", 0, "training.batch_units", "3000"},
    {"seq2seq", "text.unit=subwords", 0, "training.epochs", "18"},
    {"seq2seq", "text.unit=subwords", MANY_EXAMPLES, "encoder.dropout", "0.1"},

    {"lm", NULL, 0, "text.longest", "256"},
    {"lm", NULL, 0, "text.unit_dropout", "0"},
    {"lm", NULL, 0, "text.feature_dropout", "0.1"},
    {"lm", NULL, 0, "text.word_features", "false"},
    {"lm", "text.unit=chars", 0, "text.context", "5"},
    {"lm", "text.unit=bytes", 0, "text.context", "6"},
    {"lm", NULL, 0, "text.buckets", "65536"},
    {"lm", NULL, 0, "encoder.columns", "128"},
    {"lm", NULL, 0, "encoder.heads", "4"},
    {"lm", NULL, 0, "encoder.causal", "true"},
    {"lm", NULL, 0, "encoder.dropout", "0.1"},
    {"lm", NULL, 0, "output.dropout", "0"},
    {"lm", NULL, 0, "training.beta2", "0.98"},
    {"lm", NULL, 0, "training.batch_units", "2000"},
    {"lm", NULL, 0, "training.epochs", "3"},
    {"lm", "text.unit=subwords", 0, "text.buckets", "0"},

    {"regress", NULL, 0, "encoder.columns", "128"},
    {"regress", NULL, 0, "encoder.heads", "4"},
    {"regress", NULL, 0, "encoder.dropout", "0.1"},
};
_Static_assert(sizeof at_text_defaults / sizeof at_text_defaults[0] == AT_TEXT_DEFAULTS, "AT_TEXT_DEFAULTS");

attn_status at_text_check(attn_context *context, const void *values, const at_input_use *use) {
    const at_text_values *v = values;
    if (v->ngram_max && v->ngram_max < v->ngram_min) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.ngram_max (%" PRId64 ") is less than text.ngram_min (%" PRId64 ")", v->ngram_max,
                       v->ngram_min);
    }
    if (v->scheme == AT_SCHEME_BMES && (v->unit != AT_UNIT_CHARS || use->per_row != 1)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.scheme bmes is for task tag with text.unit chars");
    }
    if (v->scheme == AT_SCHEME_SPLIT && (v->unit != AT_UNIT_CHARS || use->per_row != 1)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.scheme split is for a splitter, by text.unit chars");
    }
    if (use->per_row == 1 && v->scheme == AT_SCHEME_NONE && v->unit != AT_UNIT_WORDS) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s labels tokens: text.unit has to be words, or chars with text.scheme bmes",
                       use->task);
    }
    if (!use->chooses && v->unit == AT_UNIT_AUTO)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "text.unit auto is for task seq2seq");
    if (use->running && (v->unit == AT_UNIT_WORDS || v->unit == AT_UNIT_SYMBOLS)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s writes text: text.unit has to be chars, bytes or subwords", use->task);
    }
    return ATTN_OK;
}
