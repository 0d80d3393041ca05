/* config_fields.c: the fields of the task, of reading, of the encoder and of training. */
#include "model/config.h"

static const char *const encoders[] = {"attention", "rnn", "cnn", "fc", "mean", "none", NULL};
static const char *const positions[] = {"none",         "sinusoidal",    "learned",  "one-hot",
                                        "rotary",       "alibi",         "relative", "grid",
                                        "grid-learned", "grid-relative", NULL};
static const char *const activations[] = {"none", "relu",    "gelu", "gelu-tanh", "silu",
                                          "tanh", "sigmoid", "elu",  NULL};
static const char *const jumps[] = {"none", "concat", "mean", NULL};
static const char *const norms[] = {"layer", "rms", "none", NULL};
static const char *const forms[] = {"standard", "narrow", "wide", "raw", "shared", NULL};
static const char *const scores[] = {"dot", "additive", "gat", "gatv2", "fixed", NULL};
static const char *const weightings[] = {"softmax", "relu", "sigmoid", "raw", NULL};
static const char *const recurrences[] = {"tanh", "gru", "lstm", NULL};
static const char *const optimizers[] = {"sgd", "adamw", NULL};
static const char *const stores[] = {"full", "half", "small", NULL};
static const char *const schedules[] = {"constant", "linear", "cosine", "inverse-root", NULL};

typedef struct task_values {
    int task;
    char input[AT_FIELD_TEXT_BYTES];
} task_values;

static const at_field task_fields[] = {
    AT_CHOICE("task", task_values, task, at_task_names, "tag",
              "a tag per token, a class per text, a number, a sequence, or the next symbol"),
    AT_TEXT("input", task_values, input, "", "the kind of input; by default found from the files"),
};
static const at_flag task_flags[] = {
    {"input", "input", "KIND", "the kind of input (default: from the file's name)"}};
const at_fields at_task_fields = {task_fields, 2, sizeof(task_values), task_flags, 1};

static const at_field reading_fields[] = {
    AT_TEXT("reader.format", at_reading_values, format, "auto",
            "of the files; auto: from their names and contents"),
    AT_TEXT("reader.column", at_reading_values, column, "", "the columns to learn, separated by commas"),
    AT_TEXT("reader.text_column", at_reading_values, text_column, "",
            "the column of a table, or the field of a JSON object, with the text"),
    AT_TEXT("reader.label_separator", at_reading_values, label_separator, "",
            "separates several labels in one field; \\n: line ends"),
    AT_TEXT("reader.split_column", at_reading_values, split_column, "",
            "the column with train, val or test; if it has several splits: NAME:NUMBER"),
    AT_TEXT("reader.split", at_reading_values, split, "",
            "how to draw train, val and test: random, random:NUMBER, scaffold (molecules), speaker "
            "(recordings); file: from a split file"),
};
static const at_flag reading_flags[] = {
    {"format", "reader.format", "F", "format of the files (default: from their names and contents)"},
    {"column", "reader.column", "C",
     "target: UPOS, XPOS, FEATS, MISC:Key; a table's column; several: A,B; seq2seq: 2, ..."},
    {"text-column", "reader.text_column", "C", "the column of a table with the text"},
    {"label-separator", "reader.label_separator", "S",
     "separates several labels in one field; \\n: line ends"},
    {"targets", "reader.column", "C", "the same as --column"},
    {"split-column", "reader.split_column", "C",
     "the column with train, val or test; if it has several splits: NAME:NUMBER"},
    {"split", "reader.split", "S",
     "draw train, val and test: random, random:NUMBER, scaffold (molecules), speaker (recordings)"},
};
const at_fields at_reading_fields = {reading_fields, 6, sizeof(at_reading_values), reading_flags, 7};

static const at_field encoder_fields[] = {
    AT_CHOICE("encoder.kind", at_encoder_values, kind, encoders, "attention",
              "the mixer of the blocks; none: no rows, only n-grams of the whole text (text.wide_buckets)"),
    AT_TEXT("encoder.mix", at_encoder_values, mix, "",
            "the mixer of each layer, separated by commas, instead of encoder.kind for all of them"),
    AT_INTEGER("encoder.columns", at_encoder_values, columns, 1, 65536, "192", "width of the rows"),
    AT_INTEGER("encoder.layers", at_encoder_values, layers, 0, 1000, "2", "blocks"),
    AT_INTEGER("encoder.inner", at_encoder_values, inner, -1, 1048576, "0",
               "width of the feed-forward; 0: 4 times the columns; -1: blocks have none"),
    AT_CHOICE("encoder.position", at_encoder_values, position, positions, "rotary",
              "positions; for images: grid (sinusoidal, of row and column), grid-learned, grid-relative"),
    AT_INTEGER(
        "encoder.longest", at_encoder_values, longest, 1, 1048576, "512",
        "largest number of positions (learned, one-hot, score fixed), or of rows and columns (grid-learned)"),
    AT_LATER_INTEGER("encoder.pieces", at_encoder_values, pieces, 1, 1000, "16", "1",
                     "classify, regress: overlapping pieces of a sequence with more rows than the "
                     "input's `longest`, at most; 1: only its beginning"),
    AT_CHOICE("encoder.activation", at_encoder_values, activation, activations, "gelu",
              "in the feed-forward"),
    AT_SWITCH("encoder.gated", at_encoder_values, gated, "false", "a gated feed-forward"),
    AT_CHOICE("encoder.norm", at_encoder_values, norm, norms, "layer", ""),
    AT_SWITCH("encoder.norm_first", at_encoder_values, norm_first, "true", "pre-norm, else post-norm"),
    AT_SWITCH("encoder.residual", at_encoder_values, residual, "true", ""),
    AT_SWITCH("encoder.final_norm", at_encoder_values, final_norm, "true", "after the last pre-norm block"),
    AT_SWITCH("encoder.causal", at_encoder_values, causal, "false", "no row sees a later one"),
    AT_NUMBER("encoder.dropout", at_encoder_values, dropout, 0, 0.99, "0.3",
              "after the input and in the blocks"),
    AT_INTEGER("encoder.heads", at_encoder_values, heads, 1, 4096, "6", ""),
    AT_INTEGER("encoder.kv_heads", at_encoder_values, kv_heads, 0, 4096, "0",
               "fewer heads for keys and values; 0: as many"),
    AT_INTEGER("encoder.head_width", at_encoder_values, head_width, 0, 512, "0", "0: columns / heads"),
    AT_CHOICE(
        "encoder.form", at_encoder_values, form, forms, "standard",
        "projections of the heads; standard: project, then split; narrow: split, then project each piece; "
        "wide: every head is as wide as the input; raw: none; shared: one for keys and values, with score "
        "gat also for queries"),
    AT_CHOICE("encoder.score", at_encoder_values, score, scores, "dot",
              "fixed: one learned weight per pair of positions"),
    AT_CHOICE("encoder.weights", at_encoder_values, weights, weightings, "softmax",
              "turns scores into weights"),
    AT_SWITCH("encoder.average_weights", at_encoder_values, average_weights, "false",
              "divide by the number of rows seen"),
    AT_SWITCH("encoder.attention_bias", at_encoder_values, attention_bias, "true",
              "biases in the projections"),
    AT_NUMBER("encoder.scale", at_encoder_values, scale, 0, 1e6, "0", "of the scores; 0: 1 / sqrt(d_k)"),
    AT_NUMBER("encoder.softcap", at_encoder_values, softcap, 0, 1e6, "0",
              "limits scores to this by tanh; 0: no limit"),
    AT_NUMBER("encoder.leaky_slope", at_encoder_values, leaky_slope, 0, 1, "0.2", "of the graph scores"),
    AT_NUMBER("encoder.attention_dropout", at_encoder_values, attention_dropout, 0, 0.99, "0",
              "of the weights"),
    AT_NUMBER("encoder.rotary_base", at_encoder_values, rotary_base, 1, 1e9, "10000", ""),
    AT_INTEGER("encoder.left", at_encoder_values, left, -1, AT_MANY, "-1",
               "how far back a row sees; -1: all"),
    AT_INTEGER("encoder.right", at_encoder_values, right, -1, AT_MANY, "-1", "how far ahead; -1: all"),
    AT_INTEGER("encoder.position_buckets", at_encoder_values, position_buckets, 0, 4096, "32",
               "of relative positions"),
    AT_INTEGER("encoder.farthest", at_encoder_values, farthest, 1, 1048576, "128",
               "largest distance of relative positions; grid-relative: vertical and horizontal"),
    AT_CHOICE("encoder.recurrence", at_encoder_values, recurrence, recurrences, "lstm", "of rnn"),
    AT_INTEGER("encoder.directions", at_encoder_values, directions, 1, 2, "2", "of rnn"),
    AT_INTEGER("encoder.hidden", at_encoder_values, hidden, 0, 65536, "0",
               "of one direction of rnn; 0: columns / directions"),
    AT_INTEGER("encoder.width", at_encoder_values, width, 1, 1023, "5",
               "rows that cnn and fc see; on a grid the side of a square"),
    AT_INTEGER("encoder.dilation", at_encoder_values, dilation, 1, 65536, "1", "of cnn"),
    AT_CHOICE("encoder.mixer_activation", at_encoder_values, mixer_activation, activations, "relu",
              "of cnn and fc"),
    AT_CHOICE("encoder.activation_after", at_encoder_values, activation_after, activations, "none",
              "of the result of a block's mixer, before dropout and residual"),
    AT_NUMBER("encoder.initial", at_encoder_values, initial, 0, 0.99, "0",
              "share of the first block's input in the result of every block"),
    AT_CHOICE("encoder.jump", at_encoder_values, jump, jumps, "none",
              "the output: the last block's result, or those of all blocks"),
};
static const at_flag encoder_flags[] = {
    {"layers", "encoder.layers", "N", "blocks of the encoder"},
    {"width", "encoder.columns", "N", "width of the network"},
    {"heads", "encoder.heads", "N", "attention heads"},
    {"position", "encoder.position", "P",
     "none, sinusoidal, learned, one-hot, rotary, alibi, relative; images: grid, grid-learned, "
     "grid-relative"},
    {"dropout", "encoder.dropout", "P", "dropout after the input and in the blocks"},
    {"mix", "encoder.mix", "E,E", "an encoder for each layer, instead of one for all: rnn,attention"},
};
const at_fields at_encoder_fields = {encoder_fields, 42, sizeof(at_encoder_values), encoder_flags, 6};

static const at_field training_fields[] = {
    AT_CHOICE("training.optimizer", at_training_values, optimizer, optimizers, "adamw", ""),
    AT_NUMBER("training.learning_rate", at_training_values, learning_rate, 0, 1e3, "0.001",
              "the highest of the schedule"),
    AT_NUMBER("training.beta1", at_training_values, beta1, 0, 0.999999, "0.9", ""),
    AT_NUMBER("training.beta2", at_training_values, beta2, 0, 0.9999999, "0.95", ""),
    AT_NUMBER("training.epsilon", at_training_values, epsilon, 0, 1, "1e-08", ""),
    AT_NUMBER("training.weight_decay", at_training_values, weight_decay, 0, 100, "0.01", ""),
    AT_SWITCH("training.decay_all", at_training_values, decay_all, "false",
              "of embeddings, biases and norms, too"),
    AT_NUMBER("training.momentum", at_training_values, momentum, 0, 0.9999, "0", "of sgd"),
    AT_SWITCH("training.nesterov", at_training_values, nesterov, "false", "of sgd"),
    AT_NUMBER("training.clip_norm", at_training_values, clip_norm, 0, 1e9, "1",
              "largest global norm of the gradients; 0: no limit"),
    AT_CHOICE("training.schedule", at_training_values, schedule, schedules, "linear", "of the learning rate"),
    AT_NUMBER("training.warmup", at_training_values, warmup, 0, 0.99, "0.05",
              "part of the steps in which the learning rate rises"),
    AT_NUMBER("training.floor", at_training_values, floor, 0, 1, "0",
              "final learning rate as a part of the highest"),
    AT_NUMBER("training.average", at_training_values, average, 0, 0.999999, "0.99",
              "decay of the averaged weights; 0: none"),
    AT_SWITCH("training.lazy_rows", at_training_values, lazy_rows, "true",
              "update only those rows of embedding tables that occur in the batch (adamw without decay_all)"),
    AT_INTEGER("training.accumulate", at_training_values, accumulate, 1, 1e6, "1", "batches per step"),
    AT_INTEGER("training.batch_units", at_training_values, batch_units, 1, 1e9, "400",
               "rows per batch, approximately"),
    AT_INTEGER(
        "training.shards", at_training_values, shards, 0, 1e6, "0",
        "shards of a batch, one worker each; 0: 2, 4, 8, ..., at most 64, with at least 128 rows each"),
    AT_INTEGER("training.examples", at_training_values, examples, 0, AT_MANY, "0",
               "number of training examples, on which defaults depend; 0: counted"),
    AT_INTEGER("training.epochs", at_training_values, epochs, 1, 1e9, "6", "passes over the training data"),
    AT_INTEGER(
        "training.least_steps", at_training_values, least_steps, 0, AT_MANY, "600",
        "the least number of steps: if training.epochs epochs have fewer, there are more epochs; 0 if the "
        "number of epochs is given"),
    AT_INTEGER("training.steps", at_training_values, steps, 0, AT_MANY, "0", "0: those of the epochs"),
    AT_TEXT("training.timetable", at_training_values, timetable, "",
            "how --time changed the number of steps; 1200,150:1180 means 1,200 steps, changed to 1,180 after "
            "step 150"),
    AT_INTEGER("training.patience", at_training_values, patience, 0, 1e9, "8",
               "stop after this many evaluations without a better metric; 0: never"),
    AT_INTEGER("training.evaluations", at_training_values, evaluations, 1, 1e9, "30",
               "of a run, at most: with short epochs, not every one is evaluated"),
    AT_TEXT("training.metric", at_training_values, metric, "",
            "the metric that chooses the best model; A,B: B decides ties; A|B: B if A is undefined"),
    AT_NUMBER(
        "training.hold_out", at_training_values, hold_out, 0.001, 0.9, "0.1",
        "without development data, this part of the training data is used instead, at most 50,000 examples"),
    AT_LATER_SWITCH("training.hold_out_groups", at_training_values, hold_out_groups, "true", "false",
                    "texts: leave training examples out that are part of a held-out one, or very similar; "
                    "false: draw examples one by one"),
    AT_INTEGER("training.seed", at_training_values, seed, 0, AT_MANY, "1", ""),
    AT_CHOICE("training.store", at_training_values, store, stores, "full",
              "weights in the model file; full: 32 bits; half: 16; small: 8, embedding tables 6"),
};
static const at_flag training_flags[] = {
    {"learning-rate", "training.learning_rate", "R", "the highest learning rate of the schedule"},
    {"batch", "training.batch_units", "N", "rows (words, characters, ...) per batch"},
    {"epochs", "training.epochs", "N", "passes over the data"},
    {"steps", "training.steps", "N", "number of steps, instead of epochs"},
    {"timetable", "training.timetable", "T",
     "how the number of steps of a run with --time changed, to repeat that run"},
    {"patience", "training.patience", "N", "stop after N evaluations without a better metric; 0: never"},
    {"metric", "training.metric", "M",
     "the metric that chooses the best model: accuracy, roc_auc, macro_f1, log_loss, ..."},
    {"hold-out", "training.hold_out", "P",
     "without --dev, the part of the training data to use instead (default 0.1)"},
    {"hold-out-groups", "training.hold_out_groups", "true",
     "without --dev, leave texts similar to held-out ones out of training (default); or false"},
    {"half", "training.store", NULL, "a model file of half the size: 16-bit weights"},
    {"small", "training.store", NULL, "the smallest model file: 8-bit weights, 6-bit embeddings"},
};
const at_fields at_training_fields = {training_fields, 30, sizeof(at_training_values), training_flags, 11};
