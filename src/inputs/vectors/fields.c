/* fields.c: the configuration of vectors, its defaults by task, and values that exclude each other. */
#include "base/context.h"
#include "inputs/vectors/vectors.h"

const at_field at_vectors_fields[] = {
    AT_INTEGER("vectors.longest", at_vectors_values, longest, 1, 1e9, "2000",
               "rows: longer sequences are processed in pieces; those of seq2seq are truncated"),
    AT_INTEGER("vectors.stem", at_vectors_values, stem, 0, 63, "0",
               "rows seen by a convolution before the encoder; 0: no convolution"),
    AT_NUMBER("vectors.dropout", at_vectors_values, dropout, 0, 0.99, "0",
              "probability that training hides a number of a row"),
    AT_SWITCH("vectors.normalize", at_vectors_values, normalize, "true",
              "columns are normalised by their mean and deviation in the training data"),
    AT_SWITCH("vectors.single", at_vectors_values, single, "false",
              "every sequence of the training data is one row; found from the data"),
};
_Static_assert(sizeof at_vectors_fields / sizeof at_vectors_fields[0] == AT_VECTORS_FIELDS,
               "AT_VECTORS_FIELDS");

const at_flag at_vectors_flags[] = {
    {"hide", "*.dropout", "P", "probability that training hides a feature of a node or a number of a row"},
};
_Static_assert(sizeof at_vectors_flags / sizeof at_vectors_flags[0] == AT_VECTORS_FLAGS, "AT_VECTORS_FLAGS");

/* Small networks for small data: a file of vectors has hundreds or thousands of sequences rather than
 * millions. */
const at_default at_vectors_defaults[] = {
    {NULL, NULL, 0, "encoder.columns", "64"},
    {NULL, NULL, 0, "encoder.heads", "4"},
    {NULL, NULL, 0, "encoder.dropout", "0.1"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.epochs", "20"},
    {NULL, NULL, 0, "training.batch_units", "500"},
    {NULL, NULL, 20000, "training.epochs", "6"},
    {NULL, NULL, 20000, "encoder.columns", "128"},
    {NULL, "vectors.single=true", 0, "encoder.position",
     "none"}, /* one row stands nowhere, and sees itself */
    {NULL, "vectors.single=true", 0, "training.batch_units", "64"},
    {NULL, "vectors.single=true", 20000, "training.batch_units", "256"},
    {"tag", NULL, 0, "vectors.stem", "3"},
    {"tag", "vectors.single=true", 0, "vectors.stem", "0"},

    {"seq2seq", NULL, 0, "vectors.longest", "10000"},
    {"seq2seq", NULL, 0, "encoder.position", "sinusoidal"}, /* the decoder looks for places, too */
    {"seq2seq", NULL, 0, "encoder.columns", "128"},
    {"seq2seq", NULL, 0, "encoder.dropout", "0.15"},
    {"seq2seq", NULL, 0, "output.smoothing", "0.1"},
    {"seq2seq", NULL, 0, "output.dropout", "0"},
    {"seq2seq", NULL, 0, "training.learning_rate", "0.002"},
    {"seq2seq", NULL, 0, "training.epochs", "10"},
    {"seq2seq", NULL, 0, "training.least_steps", "3500"},
    {"seq2seq", NULL, 0, "target.shared", "false"}, /* rows are no symbols */
    {"seq2seq", NULL, 20000, "encoder.dropout", "0.05"},
    {"seq2seq", NULL, 20000, "training.batch_units", "1000"},

    {"classify", NULL, 0, "output.pool", "mean-max"},
    {"regress", NULL, 0, "output.pool", "mean-max"},
    {"regress", NULL, 0, "encoder.dropout", "0"},
    {"regress", NULL, 0, "output.dropout", "0"},
};
_Static_assert(sizeof at_vectors_defaults / sizeof at_vectors_defaults[0] == AT_VECTORS_DEFAULTS,
               "AT_VECTORS_DEFAULTS");

attn_status at_vectors_check(attn_context *context, const void *values, const at_input_use *use) {
    (void)values;
    if (!use->running) return ATTN_OK;
    return at_fail(
        context, ATTN_INVALID_ARGUMENT,
        "task %s learns what comes next, and rows of input vectors are no symbols: there is no next one",
        use->task);
}
