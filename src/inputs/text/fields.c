/* fields.c: the configuration of text, its defaults by task, and values that exclude each other. */
#include <inttypes.h>

#include "base/context.h"
#include "inputs/text/text.h"

const char *const at_text_formats[] = {"auto",  "conllu", "columns", "table",      "fasttext",
                                       "lines", "pairs",  "jsonl",   "paragraphs", NULL};
static const char *const schemes[] = {"none", "bmes", "split", NULL};
static const char *const splitters[] = {"auto", "none", NULL};
static const char *const spacings[] = {"auto", "none", "one", "marked", NULL}; /* as at_spacing */

const at_field at_text_fields[] = {
    AT_CHOICE("text.unit", at_text_values, unit, at_unit_names, "words", "the unit of a row"),
    AT_CHOICE("text.scheme", at_text_values, scheme, schemes, "none",
              "labels of characters; bmes: position in a word; split: what ends there (for the splitter)"),
    AT_CHOICE("text.splitter", at_text_values, splitter, splitters, "auto",
              "auto: a second network learns to split raw text, if the training data has the information"),
    AT_CHOICE("text.spaces", at_text_values, spaces, spacings, "auto",
              "what stands between words if there is no # text; none: nothing; one: a space; marked: a space "
              "unless SpaceAfter=No; auto: marked if SpaceAfter=No occurs, else by the script"),
    AT_SWITCH("text.pretokenized", at_text_values, pretokenized, "false",
              "words are separated by spaces only"),
    AT_SWITCH("text.lowercase", at_text_values, lowercase, "false", "units are looked up in lower case"),
    AT_LATER_SWITCH("text.decompose", at_text_values, decompose, "false", "false",
                    "chars of raw text are decomposed canonically: letters and their marks, jamo of Hangul"),
    AT_INTEGER("text.vocabulary", at_text_values, vocabulary, 0, 1e8, "0",
               "size of the vocabulary, at most; 0: all units"),
    AT_INTEGER("text.min_count", at_text_values, min_count, 1, 1e9, "2",
               "units that occur less often in the training data are unknown"),
    AT_INTEGER("text.subwords", at_text_values, subwords, 1, 1e7, "8000", "symbols of byte-pair encoding"),
    AT_INTEGER("text.ngram_min", at_text_values, ngram_min, 1, 16, "1",
               "the shortest character n-grams of a word"),
    AT_INTEGER("text.ngram_max", at_text_values, ngram_max, 0, 16, "3", "the longest ones; 0: none"),
    AT_SWITCH("text.word_features", at_text_values, word_features, "true",
              "lower-case form and shape of words"),
    AT_INTEGER("text.context", at_text_values, context, 0, 8, "0",
               "n-grams of up to this many neighbouring units; 0: none"),
    AT_INTEGER("text.neighbours", at_text_values, neighbours, 0, 8, "0",
               "units up to this distance are features of a row"),
    AT_INTEGER("text.buckets", at_text_values, buckets, 0, 1e8, "32768",
               "rows of the table of hashed features; 0: no hashed features"),
    AT_LATER_INTEGER(
        "text.columns", at_text_values, columns, 0, 65536, "0", "0",
        "columns of the embedding table, if fewer than those of a row: a linear map then widens the "
        "sum of a row's embeddings; 0, or not fewer: as many as a row, and no such map"),
    AT_INTEGER("text.longest", at_text_values, longest, 1, 1e9, "2000",
               "units: longer texts are processed in pieces; those of seq2seq are truncated"),
    AT_SWITCH("text.one_hot", at_text_values, one_hot, "false",
              "only the unit, as a one-hot vector and a linear map"),
    AT_INTEGER("text.stem", at_text_values, stem, 0, 63, "3",
               "rows seen by a convolution before the encoder; 0: no convolution"),
    AT_NUMBER("text.embedding_rate", at_text_values, embedding_rate, 0.001, 100, "1",
              "factor of the embeddings, and so of their learning rate relative to the rest"),
    AT_NUMBER("text.unit_dropout", at_text_values, unit_dropout, 0, 0.99, "0.2",
              "probability that training hides the unit itself"),
    AT_NUMBER("text.feature_dropout", at_text_values, feature_dropout, 0, 0.99, "0.2",
              "probability that training hides a hashed feature"),
    AT_LATER_INTEGER("text.wide_buckets", at_text_values, wide_buckets, 0, 1e8, "0", "0",
                     "classify, regress: rows of the table of n-grams of whole texts, whose logits are "
                     "averaged with the network's; 0: none"),
    AT_INTEGER("text.wide_units", at_text_values, wide_units, 0, 16, "2",
               "table of n-grams of whole texts: the longest n-grams of units; 0: none"),
    AT_INTEGER("text.wide_letters_min", at_text_values, wide_letters_min, 1, 16, "2",
               "table of n-grams of whole texts: the shortest n-grams of letters within words"),
    AT_INTEGER("text.wide_letters_max", at_text_values, wide_letters_max, 0, 16, "5",
               "table of n-grams of whole texts: the longest n-grams of letters within words; 0: none"),
    AT_NUMBER(
        "text.wide_rate", at_text_values, wide_rate, 1e-6, 1e6, "30",
        "factor of the table of n-grams of whole texts, and so of its learning rate relative to the rest"),
    AT_NUMBER("text.wide_dropout", at_text_values, wide_dropout, 0, 0.99, "0.3",
              "probability that training hides an n-gram of the whole text"),
};
_Static_assert(sizeof at_text_fields / sizeof at_text_fields[0] == AT_TEXT_FIELDS, "AT_TEXT_FIELDS");

const at_flag at_text_flags[AT_TEXT_FLAGS] = {
    {"unit", "text.unit", "U",
     "words, chars, bytes, subwords, symbols (default: words; lm: chars; seq2seq: from the data)"},
    {"subwords", "text.subwords", "N", "number of symbols of --unit subwords"},
    {"scheme", "text.scheme", "S", "bmes: with --unit chars, learn word segmentation"},
    {"splitter", "text.splitter", "S", "none: do not learn to split raw text into sentences and words"},
    {"spaces", "text.spaces", "S",
     "spaces between words in data that does not mark them: none or one (default: by the script)"},
    {"one-hot", "text.one_hot", NULL, "one-hot input: no features of words"},
    {"pretokenized", "text.pretokenized", NULL, "split texts at spaces only"},
    {"lowercase", "text.lowercase", NULL, "all text in lower case"},
    {"wide", "text.wide_buckets", "N",
     "classify, regress: rows of the table of n-grams of whole texts; 0: none"},
};

const at_field at_text_setting_fields[] = {
    AT_SWITCH("pretokenized", at_text_settings, pretokenized, "false", "words are separated by spaces only"),
    AT_SWITCH("conllu", at_text_settings, conllu, "false", "taggers: print raw text as CoNLL-U"),
};
_Static_assert(sizeof at_text_setting_fields / sizeof at_text_setting_fields[0] == AT_TEXT_SETTINGS,
               "AT_TEXT_SETTINGS");

enum { FEW_EXAMPLES = 1200, MANY_EXAMPLES = 20000 };

/* Chosen by development data of the tasks in docs/results.md. What they say: words need no n-grams of
 * neighbours, characters do; a prediction per text overfits sooner, so it has one layer, a lower rate and few
 * epochs, and n-grams of the whole text beside the network. An LSTM is better on sentences of words (SST-2:
 * 83.2 %, attention 81.8), and two of them are better than one (4,815 sentences: 80.4 % and 79.2). Networks
 * for letters to sounds are small: from few thousand words they have to be kept from learning by heart, from
 * a hundred thousand they cannot (CMUdict, dev: 31 % of words wrong with a dropout of 0.15, 26 % with 0.05).
 */
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
    {"classify", NULL, MANY_EXAMPLES, "output.members", "2"},
    {"classify", NULL, 0, "text.wide_buckets", "262144"},
    {"classify", "text.unit=words", 0, "encoder.kind", "rnn"},
    {"classify", "text.unit=words", 0, "output.members", "2"},
    {"classify", "text.unit=words", 0, "text.buckets", "16384"},
    {"classify", NULL, 0, "training.batch_units", "1000"},
    {"classify", NULL, 0, "training.epochs", "2"},
    {"classify", "text.unit=chars", 0, "text.stem", "0"},
    {"classify", "text.unit=chars", 0, "encoder.columns", "64"},
    {"classify", "text.unit=chars", 0, "encoder.dropout", "0.1"},
    {"classify", "text.unit=chars", 0, "training.beta2", "0.98"},
    {"classify", "text.unit=chars", 0, "output.pool", "mean-max"},
    {"classify", "text.unit=chars", 0, "training.batch_units", "2000"},

    /* n-grams of the whole text (hotels, dev: alone 91.2 with a dropout of 0.2, 89.8 with 0.5; beside a
     * network 90.7 with a rate of 40, 90.1 with 10). Many buckets, because Chinese has many trigrams:
     * alone 89.7 with a million, 89.0 with a quarter of it (hotels, 5 folds of train and dev). */
    {NULL, "text.unit=chars", 0, "text.wide_units", "3"},
    {NULL, "text.unit=chars", 0, "text.wide_rate", "40"},
    {NULL, "text.unit=chars", 0, "text.wide_dropout", "0.2"},
    {"classify", "text.unit=chars", 0, "text.wide_buckets", "1048576"},
    {NULL, "text.unit=bytes", 0, "text.wide_units", "6"},
    {"classify", "encoder.kind=none", 0, "output.members", "1"},
    {"classify", "encoder.kind=none", 0, "training.epochs", "4"},
    {"regress", "encoder.kind=none", 0, "text.wide_buckets", "262144"},

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

    /* Letters to sounds (SIGMORPHON 2020, word error rates on dev, seed 1). Canonical decomposition: 15.3,
     * composed characters 20.0 (3,600 words of Greek, Korean, Lithuanian and Vietnamese). With few examples a
     * transducer is better than cross-attention (Adyghe, Bulgarian, Georgian, Korean, three networks
     * each: 50.4 and 56.5 from 800 words, 41.7 and 38.9 from 1,800). */
    {"seq2seq", "target.unit=symbols", 0, "text.decompose", "true"},
    {"seq2seq", "target.unit=symbols", 0, "decoder.monotone", "true"},
    {"seq2seq", "target.unit=symbols", FEW_EXAMPLES, "decoder.monotone", "false"},
    {"seq2seq", "text.unit=symbols", 0, "decoder.monotone", "false"},
    {"seq2seq", "text.unit=words", 0, "decoder.monotone", "false"},
    {"seq2seq", "text.unit=subwords", 0, "decoder.monotone", "false"},
    {"seq2seq", "text.unit=bytes", 0, "decoder.monotone", "false"},
    {"seq2seq", "output.kind=ctc", 0, "decoder.monotone", "false"}, /* it has no decoder */

    /* chosen by dev data of five languages, 800 words each (SIGMORPHON 2020) */
    {"seq2seq", "decoder.monotone=true", 0, "decoder.cross", "false"},
    {"seq2seq", "decoder.monotone=true", 0, "decoder.layers", "1"},
    {"seq2seq", "decoder.monotone=true", 0, "text.decompose", "true"},
    {"seq2seq", "decoder.monotone=true", 0, "text.feature_dropout", "0.1"},
    {"seq2seq", "decoder.monotone=true", 0, "encoder.kind", "rnn"},
    {"seq2seq", "decoder.monotone=true", 0, "encoder.layers", "1"},
    {"seq2seq", "decoder.monotone=true", 0, "encoder.dropout", "0.3"},
    {"seq2seq", "decoder.monotone=true", 0, "output.dropout", "0.3"},
    {"seq2seq", "decoder.monotone=true", 0, "output.members", "3"},
    {"seq2seq", "decoder.monotone=true", 0, "training.least_steps", "600"},
    {"seq2seq", "decoder.monotone=true", 0, "training.evaluations", "5"},

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
    if (v->wide_letters_max && v->wide_letters_max < v->wide_letters_min) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.wide_letters_max (%" PRId64 ") is less than text.wide_letters_min (%" PRId64 ")",
                       v->wide_letters_max, v->wide_letters_min);
    }
    if (v->wide_buckets && (use->per_row == 1 || use->writes_text)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.wide_buckets is for one answer per text (tasks classify and regress), not for "
                       "task %s: it has to be 0",
                       use->task);
    }
    if (use->wide_only && !v->wide_buckets)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.kind none leaves n-grams of the whole text alone: there have to be some "
                       "(text.wide_buckets more than 0)");
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
