/* network.c: a network made by hand from operations.
 *
 *     cc network.c $(pkg-config --cflags --libs attn) -o network && ./network
 *
 * One self-attention layer, written out: q, k and v are linear maps of the
 * rows, every row takes the weighted mean of what it sees, the mean over the
 * rows is the sequence's vector, and that is classified. The question: does a
 * string of parentheses of any length hold more "(" than ")"? What `layers.h`
 * offers ready-made stands here line by line.
 */
#include <attn/attn.h>
#include <stdint.h>
#include <stdio.h>

enum { COLUMNS = 16, BATCH = 32, LONGEST = 15, STEPS = 300 };

static attn_parameters *parameters;

static attn_parameter *matrix(const char *name, int64_t rows, int64_t columns) {
    int64_t shape[2] = {rows, columns};
    return attn_parameters_add(parameters, name, 2, shape, NULL); /* Xavier */
}

static uint64_t state = 7;
static int draw(int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

/* Strings of odd lengths, one after another, and whether "(" wins. */
static void make_batch(int32_t *symbols, int64_t *offsets, int32_t *labels) {
    for (int b = 0; b < BATCH; b++) {
        int length = 1 + 2 * draw((LONGEST + 1) / 2), opened = 0;
        offsets[b + 1] = offsets[b] + length;
        for (int64_t i = offsets[b]; i < offsets[b + 1]; i++) opened += 1 - 2 * (symbols[i] = draw(2));
        labels[b] = opened > 0;
    }
}

int main(void) {
    static int32_t symbols[BATCH * LONGEST], labels[BATCH];
    static int64_t offsets[BATCH + 1];
    attn_context *context;
    attn_tape *tape;
    attn_optimizer *optimizer;
    if (attn_context_create(NULL, &context) != ATTN_OK) return 1;
    if (attn_parameters_create(context, 1, &parameters) != ATTN_OK) return 1;
    if (attn_tape_create(context, &tape) != ATTN_OK) return 1;

    attn_parameter *table = matrix("table", 2, COLUMNS);
    attn_parameter *w_query = matrix("query", COLUMNS, COLUMNS), *w_key = matrix("key", COLUMNS, COLUMNS);
    attn_parameter *w_value = matrix("value", COLUMNS, COLUMNS), *w_class = matrix("class", 2, COLUMNS);
    attn_optimizer_options training;
    attn_optimizer_options_init(&training);
    training.learning_rate = 1e-2f;
    if (attn_optimizer_create(parameters, &training, &optimizer) != ATTN_OK) {
        fprintf(stderr, "%s\n",
                attn_parameters_error(parameters)); /* what went wrong first, if anything did */
        return 1;
    }
    int right = 0, asked = 0;
    for (int step = 1; step <= STEPS; step++) {
        make_batch(symbols, offsets, labels);
        attn_ragged batch = {BATCH, offsets};
        attn_pattern pattern;
        attn_pattern_init(&pattern); /* every row sees all rows of its own string */
        pattern.sequences = BATCH;
        pattern.query_offsets = offsets;
        attn_attention_inputs inputs;
        attn_attention_inputs_init(&inputs); /* one head */
        inputs.pattern = &pattern;

        attn_tape_begin(tape, ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *x = attn_tape_embedding(tape, table, symbols, offsets[BATCH]);
        attn_variable *query = attn_tape_linear(tape, x, w_query, NULL, ATTN_IDENTITY);
        attn_variable *key = attn_tape_linear(tape, x, w_key, NULL, ATTN_IDENTITY);
        attn_variable *value = attn_tape_linear(tape, x, w_value, NULL, ATTN_IDENTITY);
        attn_variable *seen = attn_tape_attention(tape, query, key, value, &inputs);
        attn_variable *sequence = attn_tape_pool(tape, attn_tape_add(tape, x, seen), &batch, ATTN_POOL_MEAN);
        attn_variable *logits = attn_tape_linear(tape, sequence, w_class, NULL, ATTN_IDENTITY);
        attn_variable *loss = attn_tape_cross_entropy(tape, logits, labels, NULL);
        if (attn_tape_backward(tape, loss, NULL) != ATTN_OK) { /* the first error of all the lines above */
            fprintf(stderr, "%s\n", attn_tape_error(tape));
            return 1;
        }
        for (int b = 0; b < BATCH; b++, asked++) {
            const float *row = attn_variable_data(logits) + 2 * b;
            right += (row[1] > row[0]) == labels[b];
        }
        if (attn_optimizer_step(optimizer) != ATTN_OK) return 1;
        if (step % 50 == 0) {
            printf("step %3d   loss %.4f   %5.1f %% right\n", step, attn_variable_data(loss)[0],
                   100.0 * right / asked);
            right = asked = 0;
        }
    }
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
    return 0;
}
