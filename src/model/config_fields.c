/* config_fields.c: every value of a configuration, in one table, and the defaults of tasks and units. */
#include "model/config.h"

static const char *const tasks[] = {"tag", "classify", "regress", "seq2seq", "lm", NULL};
static const char *const formats[] = {"auto",     "conllu", "columns", "table",
                                      "fasttext", "lines",  "pairs",   NULL};
static const char *const units[] = {"words", "chars", "bytes", "subwords", "symbols", "auto", NULL};
static const char *const schemes[] = {"none", "bmes", NULL};
static const char *const encoders[] = {"attention", "rnn", "cnn", "fc", NULL};
static const char *const positions[] = {"none",   "sinusoidal", "learned",  "one-hot",
                                        "rotary", "alibi",      "relative", NULL};
static const char *const activations[] = {"none", "relu", "gelu",    "gelu-tanh",
                                          "silu", "tanh", "sigmoid", NULL};
static const char *const norms[] = {"layer", "rms", "none", NULL};
static const char *const forms[] = {"standard", "narrow", "wide", "raw", NULL};
static const char *const scores[] = {"dot", "additive", "gat", "gatv2", "fixed", NULL};
static const char *const weightings[] = {"softmax", "relu", "sigmoid", "raw", NULL};
static const char *const recurrences[] = {"tanh", "gru", "lstm", NULL};
static const char *const outputs[] = {"auto", "class", "labels", "number", NULL};
static const char *const pools[] = {"mean", "max", "mean-max", "first", "attention", NULL};
static const char *const optimizers[] = {"sgd", "adamw", NULL};
static const char *const schedules[] = {"constant", "linear", "cosine", "inverse-root", NULL};

#define place(member) offsetof(at_config, member)
#define CHOICE(name, member, list, initial, help)                                                            \
    { name, AT_FIELD_CHOICE, place(member), 0, 0, list, initial, help }
#define SWITCH(name, member, initial, help)                                                                  \
    { name, AT_FIELD_SWITCH, place(member), 0, 0, NULL, initial, help }
#define INTEGER(name, member, minimum, maximum, initial, help)                                               \
    { name, AT_FIELD_INTEGER, place(member), minimum, maximum, NULL, initial, help }
#define NUMBER(name, member, minimum, maximum, initial, help)                                                \
    { name, AT_FIELD_NUMBER, place(member), minimum, maximum, NULL, initial, help }
#define TEXT(name, member, initial, help)                                                                    \
    { name, AT_FIELD_TEXT, place(member), 0, 0, NULL, initial, help }

#define MANY 1e15 /* integers up to here are exact in a double, and in JSON */

const at_field at_fields[AT_FIELDS] = {
    CHOICE("task", task, tasks, "tag",
           "a tag per token, a class per text, a number, a sequence of its own length, what comes next"),

    CHOICE("reader.format", format, formats, "auto", "of the files"),
    TEXT("reader.column", column, "", "the columns to learn, with commas between them"),
    TEXT("reader.text_column", text_column, "", "the column of a table that holds the text"),
    TEXT("reader.label_separator", label_separator, "", "what stands between the labels of one field"),

    CHOICE("text.unit", unit, units, "words", "what a row stands for"),
    CHOICE("text.scheme", scheme, schemes, "none", "bmes: characters say where in a word they stand"),
    SWITCH("text.pretokenized", pretokenized, "false", "words are what stands between spaces"),
    SWITCH("text.lowercase", lowercase, "false", "a unit is looked up in lower case"),
    INTEGER("text.vocabulary", vocabulary, 0, 1e8, "0", "the most units to know; 0: all"),
    INTEGER("text.min_count", min_count, 1, 1e9, "2", "a unit that is rarer in training is unknown"),
    INTEGER("text.subwords", subwords, 1, 1e7, "8000", "symbols of byte-pair encoding"),
    INTEGER("text.ngram_min", ngram_min, 1, 16, "1", "the shortest character n-grams of a word"),
    INTEGER("text.ngram_max", ngram_max, 0, 16, "3", "the longest; 0: none"),
    SWITCH("text.word_features", word_features, "true", "lower-case form and shape of words"),
    INTEGER("text.context", context, 0, 8, "0", "n-grams of so many neighbouring units; 0: none"),
    INTEGER("text.neighbours", neighbours, 0, 8, "0", "units up to so far away are features of a row"),
    INTEGER("text.buckets", buckets, 0, 1e8, "32768", "rows for hashed features; 0: none of them"),
    INTEGER("text.longest", longest_text, 1, 1e9, "2000",
            "units: longer texts are cut there, longer sequences of tokens go in pieces"),
    SWITCH("text.one_hot", one_hot, "false", "the unit alone, as a one-hot vector under a linear map"),
    INTEGER("text.stem", stem, 0, 63, "3",
            "rows that a convolution before the encoder sees; 0: there is none"),
    NUMBER("text.embedding_rate", embedding_rate, 0.001, 100, "1", "their learning rate, times the others'"),
    NUMBER("text.unit_dropout", unit_dropout, 0, 0.99, "0.2", "how often training hides a unit itself"),
    NUMBER("text.feature_dropout", feature_dropout, 0, 0.99, "0.2", "how often it hides a hashed feature"),

    CHOICE("encoder.kind", encoder, encoders, "attention", "what lets rows see each other"),
    TEXT("encoder.mix", mix, "", "one kind a layer, with commas between them, instead"),
    INTEGER("encoder.columns", columns, 1, 65536, "192", "width of the rows"),
    INTEGER("encoder.layers", layers, 0, 1000, "2", "blocks"),
    INTEGER("encoder.inner", inner, 0, 1048576, "0", "width of the feed-forward; 0: 4 times the columns"),
    CHOICE("encoder.position", position, positions, "rotary", "how attention knows positions"),
    INTEGER("encoder.longest", longest, 1, 1048576, "512", "positions of learned, one-hot and fixed"),
    CHOICE("encoder.activation", activation, activations, "gelu", "in the feed-forward"),
    SWITCH("encoder.gated", gated, "false", "a gated feed-forward"),
    CHOICE("encoder.norm", norm, norms, "layer", ""),
    SWITCH("encoder.norm_first", norm_first, "true", "pre-norm, else post-norm"),
    SWITCH("encoder.residual", residual, "true", ""),
    SWITCH("encoder.final_norm", final_norm, "true", "after the last pre-norm block"),
    SWITCH("encoder.causal", causal, "false", "no row sees a later one"),
    NUMBER("encoder.dropout", dropout, 0, 0.99, "0.3", "after the input and in the blocks"),
    INTEGER("encoder.heads", heads, 1, 4096, "6", ""),
    INTEGER("encoder.kv_heads", kv_heads, 0, 4096, "0", "fewer heads for keys and values; 0: as many"),
    INTEGER("encoder.head_width", head_width, 0, 512, "0", "0: columns / heads"),
    CHOICE("encoder.form", form, forms, "standard", "how heads are projected"),
    CHOICE("encoder.score", score, scores, "dot", "fixed: one learned weight a pair of positions"),
    CHOICE("encoder.weights", weights, weightings, "softmax", "what makes weights of scores"),
    SWITCH("encoder.average_weights", average_weights, "false", "divide by the number of rows seen"),
    SWITCH("encoder.attention_bias", attention_bias, "true", "biases in the projections"),
    NUMBER("encoder.scale", scale, 0, 1e6, "0", "of the scores; 0: 1 / sqrt(d_k)"),
    NUMBER("encoder.softcap", softcap, 0, 1e6, "0", "scores within this, by tanh; 0: no"),
    NUMBER("encoder.leaky_slope", leaky_slope, 0, 1, "0.2", "of the graph scores"),
    NUMBER("encoder.attention_dropout", attention_dropout, 0, 0.99, "0", "of the weights"),
    NUMBER("encoder.rotary_base", rotary_base, 1, 1e9, "10000", ""),
    INTEGER("encoder.left", left, -1, MANY, "-1", "how far back a row sees; -1: all"),
    INTEGER("encoder.right", right, -1, MANY, "-1", "how far ahead; -1: all"),
    INTEGER("encoder.position_buckets", position_buckets, 0, 4096, "32", "of relative positions"),
    INTEGER("encoder.farthest", farthest, 1, 1048576, "128", "distance that relative positions tell apart"),
    CHOICE("encoder.recurrence", recurrence, recurrences, "lstm", "of rnn"),
    INTEGER("encoder.directions", directions, 1, 2, "2", "of rnn"),
    INTEGER("encoder.hidden", hidden, 0, 65536, "0", "of one direction of rnn; 0: columns / directions"),
    INTEGER("encoder.width", width, 1, 1023, "5", "rows that cnn and fc see"),
    INTEGER("encoder.dilation", dilation, 1, 65536, "1", "of cnn"),
    CHOICE("encoder.mixer_activation", mixer_activation, activations, "relu", "of cnn and fc"),

    INTEGER("decoder.layers", decoder_layers, 1, 1000, "2",
            "blocks of the decoder; it is as wide as the encoder"),

    CHOICE("target.unit", target_unit, units, "auto", "what a symbol of an answer is"),
    SWITCH("target.shared", shared, "false", "one vocabulary for both sides, where their units are the same"),
    SWITCH("target.tied", tied, "true", "symbols are told by the table that embeds them"),
    INTEGER("target.min_count", target_min_count, 1, 1e9, "1", "a symbol that is rarer is not learned"),
    INTEGER("target.subwords", target_subwords, 0, 1e7, "0",
            "symbols of byte-pair encoding; 0: text.subwords"),
    INTEGER("target.longest", target_longest, 0, 1e6, "0",
            "the most symbols of an answer; 0: twice the longest of the training data"),

    CHOICE("output.kind", output, outputs, "auto", "a class, several labels or a number"),
    CHOICE("output.pool", pool, pools, "mean-max", "from the rows of a text to one"),
    INTEGER("output.members", members, 1, 16, "1", "networks that learn side by side and answer together"),
    SWITCH("output.crf", crf, "false", "a conditional random field over the tags"),
    SWITCH("output.balance", balance, "false", "rare classes weigh more in the loss"),
    NUMBER("output.dropout", output_dropout, 0, 0.99, "0.2", "before the last linear map"),
    NUMBER("output.smoothing", smoothing, 0, 0.99, "0", "of the labels"),

    CHOICE("training.optimizer", optimizer, optimizers, "adamw", ""),
    NUMBER("training.learning_rate", learning_rate, 0, 1e3, "0.001", "the highest of the schedule"),
    NUMBER("training.beta1", beta1, 0, 0.999999, "0.9", ""),
    NUMBER("training.beta2", beta2, 0, 0.9999999, "0.95", ""),
    NUMBER("training.epsilon", epsilon, 0, 1, "1e-08", ""),
    NUMBER("training.weight_decay", weight_decay, 0, 100, "0.01", ""),
    SWITCH("training.decay_all", decay_all, "false", "of embeddings, biases and norms, too"),
    NUMBER("training.momentum", momentum, 0, 0.9999, "0", "of sgd"),
    SWITCH("training.nesterov", nesterov, "false", "of sgd"),
    NUMBER("training.clip_norm", clip_norm, 0, 1e9, "1", "of all gradients together; 0: no limit"),
    CHOICE("training.schedule", schedule, schedules, "linear", "of the learning rate"),
    NUMBER("training.warmup", warmup, 0, 0.99, "0.05", "part of the steps in which it rises"),
    NUMBER("training.floor", floor, 0, 1, "0", "part of the learning rate that is left at the end"),
    NUMBER("training.average", average, 0, 0.999999, "0.99", "decay of the averaged weights; 0: none"),
    INTEGER("training.accumulate", accumulate, 1, 1e6, "1", "batches a step"),
    INTEGER("training.batch_units", batch_units, 1, 1e9, "400", "rows a batch, about"),
    INTEGER("training.examples", examples, 0, MANY, "0",
            "how many there are: seq2seq learns from many with less dropout; 0: counted"),
    INTEGER("training.epochs", epochs, 1, 1e9, "6", "passes over the training data"),
    INTEGER("training.least_steps", least_steps, 0, MANY, "600",
            "more epochs, if they have fewer steps; 0 if epochs are given"),
    INTEGER("training.steps", steps, 0, MANY, "0", "0: as many as the epochs have"),
    INTEGER("training.patience", patience, 0, 1e9, "8", "evaluations without a better score; 0: no end"),
    TEXT("training.metric", metric, "", "what the best model is chosen by"),
    NUMBER("training.hold_out", hold_out, 0.001, 0.9, "0.1", "without development data, so much of it"),
    INTEGER("training.seed", seed, 0, MANY, "1", ""),
};

#undef CHOICE
#undef SWITCH
#undef INTEGER
#undef NUMBER
#undef TEXT

enum { ANY = -1, MANY_EXAMPLES = 20000 };

/* Chosen by development data of the tasks in docs/results.md. What they say: words need no n-grams of
 * neighbours, characters do; an answer per text overfits sooner, so it has one layer, a lower rate and few
 * epochs. Networks for letters to sounds are small: from few thousand words they have to be kept from
 * learning by heart, from a hundred thousand they cannot (CMUdict, dev: 31 % of words wrong with a dropout of
 * 0.15, 26 % with 0.05). */
const at_default at_defaults[] = {
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.unit", "auto"}, /* first: others ask for the unit */
    {AT_TASK_LM, ANY, ANY, 0, "text.unit", "chars"},

    {ANY, AT_UNIT_CHARS, ANY, 0, "text.context", "2"},
    {ANY, AT_UNIT_BYTES, ANY, 0, "text.context", "3"},
    {ANY, AT_UNIT_CHARS, ANY, 0, "text.unit_dropout", "0.1"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "text.neighbours", "1"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "text.feature_dropout", "0.3"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "text.stem", "5"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "output.crf", "true"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "encoder.columns", "128"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "encoder.heads", "4"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "text.buckets", "65536"},
    {AT_TASK_TAG, AT_UNIT_CHARS, ANY, 0, "training.beta2", "0.98"},

    {AT_TASK_CLASSIFY, ANY, ANY, 0, "text.unit_dropout", "0.1"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "encoder.columns", "128"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "encoder.heads", "4"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "encoder.layers", "1"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "encoder.dropout", "0.2"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "output.dropout", "0.4"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "output.pool", "attention"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "output.members", "4"},
    {AT_TASK_CLASSIFY, AT_UNIT_WORDS, ANY, 0, "text.buckets", "16384"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "training.batch_units", "1000"},
    {AT_TASK_CLASSIFY, ANY, ANY, 0, "training.epochs", "2"},
    {AT_TASK_CLASSIFY, AT_UNIT_CHARS, ANY, 0, "text.stem", "0"},
    {AT_TASK_CLASSIFY, AT_UNIT_CHARS, ANY, 0, "encoder.dropout", "0.1"},
    {AT_TASK_CLASSIFY, AT_UNIT_CHARS, ANY, 0, "training.beta2", "0.98"},
    {AT_TASK_CLASSIFY, AT_UNIT_CHARS, ANY, 0, "output.pool", "mean-max"},
    {AT_TASK_CLASSIFY, AT_UNIT_CHARS, ANY, 0, "training.batch_units", "2000"},

    {ANY, AT_UNIT_SYMBOLS, ANY, 0, "text.ngram_max", "0"},
    {ANY, AT_UNIT_SYMBOLS, ANY, 0, "text.word_features", "false"},

    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.min_count", "1"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.longest", "10000"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.unit_dropout", "0"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.feature_dropout", "0.2"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.context", "2"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "text.buckets", "8192"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "encoder.position", "sinusoidal"}, /* the decoder looks for places, too */
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "encoder.columns", "128"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "encoder.heads", "4"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "encoder.dropout", "0.15"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "output.smoothing", "0.1"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "output.dropout", "0"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "training.learning_rate", "0.002"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "training.beta2", "0.98"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "training.batch_units", "500"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "training.epochs", "10"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, 0, "training.least_steps", "3500"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, MANY_EXAMPLES, "encoder.dropout", "0.05"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, MANY_EXAMPLES, "text.feature_dropout", "0.1"},
    {AT_TASK_SEQ2SEQ, ANY, ANY, MANY_EXAMPLES, "training.batch_units", "1000"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "text.subwords", "4000"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "text.buckets", "0"}, /* one table for both sides */
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "target.shared", "true"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "encoder.layers", "4"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "encoder.inner", "256"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "decoder.layers", "4"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "training.learning_rate", "0.003"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "training.batch_units", "3000"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, 0, "training.epochs", "18"},
    {AT_TASK_SEQ2SEQ, AT_UNIT_SUBWORDS, ANY, MANY_EXAMPLES, "encoder.dropout", "0.1"},

    {AT_TASK_LM, ANY, ANY, 0, "text.longest", "256"},
    {AT_TASK_LM, ANY, ANY, 0, "text.unit_dropout", "0"},
    {AT_TASK_LM, ANY, ANY, 0, "text.feature_dropout", "0.1"},
    {AT_TASK_LM, ANY, ANY, 0, "text.word_features", "false"},
    {AT_TASK_LM, AT_UNIT_CHARS, ANY, 0, "text.context", "5"},
    {AT_TASK_LM, AT_UNIT_BYTES, ANY, 0, "text.context", "6"},
    {AT_TASK_LM, ANY, ANY, 0, "text.buckets", "65536"},
    {AT_TASK_LM, ANY, ANY, 0, "encoder.columns", "128"},
    {AT_TASK_LM, ANY, ANY, 0, "encoder.heads", "4"},
    {AT_TASK_LM, ANY, ANY, 0, "encoder.causal", "true"},
    {AT_TASK_LM, ANY, ANY, 0, "encoder.dropout", "0.1"},
    {AT_TASK_LM, ANY, ANY, 0, "output.dropout", "0"},
    {AT_TASK_LM, ANY, ANY, 0, "training.beta2", "0.98"},
    {AT_TASK_LM, ANY, ANY, 0, "training.batch_units", "2000"},
    {AT_TASK_LM, ANY, ANY, 0, "training.epochs", "3"},
    {AT_TASK_LM, AT_UNIT_SUBWORDS, ANY, 0, "text.buckets", "0"},

    {AT_TASK_REGRESS, ANY, ANY, 0, "encoder.columns", "128"},
    {AT_TASK_REGRESS, ANY, ANY, 0, "encoder.heads", "4"},
    {AT_TASK_REGRESS, ANY, ANY, 0, "encoder.dropout", "0.1"},
};
const int at_default_count = sizeof at_defaults / sizeof at_defaults[0];
