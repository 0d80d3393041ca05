/* sequence_explain.c: the explained output of a predicted sequence: its log-probability, with teacher
 * forcing.
 *
 * A decoder's row gets one symbol and predicts the next: the rows are named by both. Heads without a decoder
 * have the log-likelihood of the prediction (CTC), or that of the next symbol of a text.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/ctc.h"
#include "heads/monotone.h"
#include "heads/next.h"
#include "heads/sequence.h"
#include "tape/tape.h"

static const char begin_name[] = "<begin>", end_name[] = "<end>";

static const at_hypothesis *best_of(const at_asked *asked, const at_sequence_answers **answers) {
    *answers = (const at_sequence_answers *)(const void *)asked->answers;
    return &(*answers)->list[asked->segment->example * (*answers)->n_best];
}

static attn_status set_target(at_asked *asked, const char *text) {
    at_strings_clear(&asked->target);
    return at_strings_add(asked->context, &asked->target, text, strlen(text));
}

/* 1 at the symbol of each row that is requested, else 0: what arrives at log-probabilities. */
static attn_status choose_symbols(at_asked *asked, const int32_t *symbols, int64_t rows, int64_t columns) {
    attn_status status = at_grow(asked->context, &asked->gradient, &asked->gradient_room, rows * columns + 1,
                                 sizeof(float), "an explanation");
    if (status != ATTN_OK) return status;
    memset(asked->gradient, 0, (size_t)(rows * columns) * sizeof *asked->gradient);
    for (int64_t r = 0; r < rows; r++)
        if ((asked->row < 0 || asked->row == r) && symbols[r] >= 0)
            asked->gradient[r * columns + symbols[r]] = 1.0f;
    return ATTN_OK;
}

static int label_refused(const at_asked *asked) {
    if (!asked->label) return 0;
    at_fail(
        asked->context, ATTN_INVALID_ARGUMENT,
        "label %.80s: the model produces symbols and has no labels; choose a row of its prediction instead",
        asked->label);
    return 1;
}

/* ---- a decoder ---- */

static attn_status name_rows(const at_head *head, const at_sequence_answers *answers,
                             const at_hypothesis *best, at_asked *asked) {
    const at_strings *strings = &at_symbols_of_head(head)->vocabulary.strings;
    at_strings_clear(&asked->written);
    at_strings_clear(&asked->preceding);
    attn_status status = at_strings_add(asked->context, &asked->preceding, begin_name, sizeof begin_name - 1);
    for (int64_t i = 0; i < best->count && status == ATTN_OK; i++) {
        int32_t symbol = answers->symbols[best->first + i];
        const char *text = at_string(strings, symbol);
        size_t length = at_string_length(strings, symbol);
        status = at_strings_add(asked->context, &asked->written, text, length);
        if (status == ATTN_OK) status = at_strings_add(asked->context, &asked->preceding, text, length);
    }
    if (status == ATTN_OK)
        status = at_strings_add(asked->context, &asked->written, end_name, sizeof end_name - 1);
    if (status == ATTN_OK && asked->row >= asked->written.count)
        return at_fail(asked->context, ATTN_INVALID_ARGUMENT,
                       "row %" PRId64 ": the answer has %" PRId64 " symbols, its end included",
                       asked->row + 1, asked->written.count);
    const char *text =
        asked->row >= 0 ? at_string(&asked->written, asked->row) : at_string(&answers->texts, best->text);
    return status == ATTN_OK ? set_target(asked, text) : status;
}

/* What goes in and is to come out, in the tape's memory. */
static int make_decoding(attn_tape *tape, const at_sequence_answers *answers, const at_hypothesis *best,
                         at_decoding *decoding) {
    int64_t rows = best->count + 1;
    decoding->sequences = 1;
    decoding->offsets = at_tape_memory(tape, 2, sizeof *decoding->offsets);
    decoding->inputs = at_tape_memory(tape, rows, sizeof *decoding->inputs);
    decoding->predicted = at_tape_memory(tape, rows, sizeof *decoding->predicted);
    if (!decoding->offsets || !decoding->inputs || !decoding->predicted) return 0;
    decoding->offsets[0] = 0;
    decoding->offsets[1] = rows;
    decoding->inputs[0] = decoding->predicted[rows - 1] = 0;
    for (int64_t i = 0; i < best->count; i++)
        decoding->inputs[i + 1] = decoding->predicted[i] = answers->symbols[best->first + i];
    return 1;
}

/* The log-probability of a whole prediction, by a loss that is the mean over `count` of it. */
static attn_variable *explain_whole(at_asked *asked, float count, attn_variable *loss) {
    if (asked->row >= 0) {
        at_fail(asked->context, ATTN_UNSUPPORTED,
                "row %" PRId64
                ": with decoder.monotone only the whole prediction can be explained, not a row",
                asked->row + 1);
        return NULL;
    }
    if (!loss || at_grow(asked->context, &asked->gradient, &asked->gradient_room, 1, sizeof(float),
                         "an explanation") != ATTN_OK)
        return NULL;
    asked->gradient[0] = -count;
    return loss;
}

attn_variable *at_sequence_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                                   const at_batch *batch, at_asked *asked) {
    const at_sequence_answers *answers;
    const at_hypothesis *best = best_of(asked, &answers);
    at_decoding decoding = {0};
    if (label_refused(asked) || name_rows(head, answers, best, asked) != ATTN_OK ||
        !make_decoding(tape, answers, best, &decoding))
        return NULL;
    if (head->config.sequence.monotone)
        return explain_whole(asked, (float)(best->count + 1),
                             at_monotone_loss(head, head->layers[network], tape, x, batch, &decoding));
    attn_variable *log_probabilities = attn_tape_log_softmax(
        tape, at_sequence_force(head, head->layers[network], tape, x, batch, &decoding, NULL));
    if (!log_probabilities || choose_symbols(asked, decoding.predicted, best->count + 1,
                                             attn_variable_columns(log_probabilities)) != ATTN_OK)
        return NULL;
    return log_probabilities;
}

/* ---- CTC ---- */

attn_variable *at_ctc_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                              const at_batch *batch, at_asked *asked) {
    const at_sequence_answers *answers;
    const at_hypothesis *best = best_of(asked, &answers);
    int64_t offsets[2] = {0, best->count};
    attn_ragged rows, symbols = {1, offsets};
    if (label_refused(asked) || set_target(asked, at_string(&answers->texts, best->text)) != ATTN_OK)
        return NULL;
    attn_variable *logits = at_ctc_logits(head, network, tape, x, batch, &rows);
    attn_variable *loss = attn_tape_ctc(tape, logits, &rows, answers->symbols + best->first, &symbols, 0);
    if (!loss || at_grow(asked->context, &asked->gradient, &asked->gradient_room, 1, sizeof(float),
                         "an explanation") != ATTN_OK)
        return NULL;
    asked->gradient[0] = -1.0f;
    return loss;
}

/* ---- running text ---- */

/* *symbol: -1, then the likeliest of the known ones after a row. Its probability goes to `asked`. */
static attn_status choose_next(const attn_variable *log_probabilities, int64_t row, at_asked *asked,
                               int32_t *symbol) {
    int64_t columns = attn_variable_columns(log_probabilities);
    at_host_rows host = {0};
    attn_status status = at_host_rows_of(log_probabilities, &host);
    if (status == ATTN_OK) {
        const float *said = host.data + row * host.stride;
        int likeliest = *symbol < 0;
        if (likeliest) *symbol = columns > 1;
        for (int32_t s = 2; s < columns && likeliest; s++)
            if (said[s] > said[*symbol]) *symbol = s;
        asked->likelihood = exp((double)said[*symbol]);
    }
    at_host_rows_free(asked->context, &host);
    return status;
}

/* Of a row that is requested: the symbol that follows it in the text; else what would come after the last. */
attn_variable *at_next_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                               const at_batch *batch, at_asked *asked) {
    attn_variable *log_probabilities =
        attn_tape_log_softmax(tape, at_sequence_logits(head, head->layers[network], tape, x));
    int64_t rows = batch->rows;
    int32_t *symbols = at_tape_memory(tape, rows, sizeof *symbols), next = -1;
    if (!log_probabilities || !symbols || rows < 1 || label_refused(asked)) return NULL;
    for (int64_t r = 0; r < rows; r++) symbols[r] = -1;
    int64_t row = asked->row >= 0 ? asked->row : rows - 1;
    if (asked->row >= 0 && row < rows - 1) {
        const char *follows = asked->row_name(asked->encoded, asked->segment->first + row + 1);
        int64_t found = at_vocabulary_find(&head->source->vocabulary, follows, strlen(follows));
        next = found < 0 ? 0 : (int32_t)found;
    }
    if (choose_next(log_probabilities, row, asked, &next) != ATTN_OK) return NULL;
    symbols[row] = next;
    if (choose_symbols(asked, symbols, rows, attn_variable_columns(log_probabilities)) != ATTN_OK ||
        set_target(asked, at_string(&head->source->vocabulary.strings, next)) != ATTN_OK)
        return NULL;
    return log_probabilities;
}
