/* sort.c: a complete training program: an encoder learns to sort 10 numbers.
 *
 *     cc sort.c $(pkg-config --cflags --libs attn) -o sort && ./sort
 *
 * Each of the 10 rows of a sequence is told a number and its place; after the
 * encoder, row i has to say which number is the i-th smallest. Nobody tells it
 * what sorting is. A quarter of a minute on two cores. (Or attn_core, and `./sort 500`.)
 */
#include <attn/core.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 10, SYMBOLS = 100, BATCH = 64, STEPS = 4000, TESTS = 1000 };

static uint64_t state = 1;
static int32_t draw(int32_t below) { /* a linear congruential generator: the same numbers everywhere */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((state >> 33) % (uint64_t)below);
}

static int by_size(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static void make_batch(int sequences, int32_t *numbers, int32_t *sorted, int64_t *offsets) {
    for (int b = 0; b < sequences; b++) {
        offsets[b + 1] = offsets[b] + LENGTH;
        for (int i = b * LENGTH; i < (b + 1) * LENGTH; i++) sorted[i] = numbers[i] = draw(SYMBOLS);
        qsort(sorted + b * LENGTH, LENGTH, sizeof *sorted, by_size);
    }
}

static attn_embedding *embedding;
static attn_encoder *encoder;
static attn_linear *output;

/* rows x SYMBOLS: how likely each number is, before the softmax. */
static attn_variable *network(attn_tape *tape, const int32_t *numbers, int64_t sequences, int64_t *offsets) {
    attn_places places = {.size = sizeof places, .batch = {sequences, offsets}};
    attn_variable *x = attn_embedding_apply(tape, embedding, numbers, sequences * LENGTH);
    return attn_linear_apply(tape, output, attn_encoder_apply(tape, encoder, x, &places));
}

int main(int arguments, char **argument) {
    int steps = arguments > 1 ? atoi(argument[1]) : STEPS; /* more than the 100 of warming up */
    static int32_t numbers[TESTS * LENGTH], sorted[TESTS * LENGTH];
    static int64_t offsets[TESTS + 1];
    attn_context *context;
    attn_parameters *parameters; /* what is learned */
    attn_tape *tape;             /* what was done, to walk it back */
    attn_optimizer *optimizer;
    if (attn_context_create(NULL, &context) != ATTN_OK ||
        attn_parameters_create(context, 1, &parameters) != ATTN_OK ||
        attn_tape_create(context, &tape) != ATTN_OK)
        return 1;
    attn_encoder_options shape; /* 64 columns, 2 layers, 4 heads, sinusoidal positions */
    attn_encoder_options_init(&shape);
    embedding = attn_embedding_create(parameters, "numbers", SYMBOLS, shape.columns);
    encoder = attn_encoder_create(parameters, "encoder", &shape);
    output = attn_linear_create(parameters, "output", shape.columns, SYMBOLS, 1, ATTN_IDENTITY);

    attn_optimizer_options training;
    attn_optimizer_options_init(&training);
    training.learning_rate = 3e-3;
    training.schedule = ATTN_SCHEDULE_COSINE;
    training.warmup_steps = 100;
    training.total_steps = steps;
    if (attn_parameters_status(parameters) != ATTN_OK ||
        attn_optimizer_create(parameters, &training, &optimizer) != ATTN_OK) {
        fprintf(stderr, "%s\n", attn_parameters_error(parameters));
        return 1;
    }
    for (int step = 1; step <= steps; step++) {
        make_batch(BATCH, numbers, sorted, offsets);
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *loss =
            attn_tape_cross_entropy(tape, network(tape, numbers, BATCH, offsets), sorted, NULL);
        if (attn_tape_backward(tape, loss, NULL) != ATTN_OK || attn_optimizer_step(optimizer) != ATTN_OK) {
            fprintf(stderr, "step %d: %s %s\n", step, attn_tape_error(tape), attn_context_error(context));
            return 1;
        }
        if (step % 500 == 0) printf("step %4d   loss %.4f\n", step, attn_variable_data(loss)[0]);
    }
    make_batch(TESTS, numbers, sorted, offsets); /* never seen: there are 100^10 */
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    const float *logits = attn_variable_data(network(tape, numbers, TESTS, offsets));
    int right = 0;
    for (int b = 0, same = 1; b < TESTS; b++, right += same, same = 1) {
        for (int i = b * LENGTH; i < (b + 1) * LENGTH; i++) {
            int best = 0;
            for (int s = 1; s < SYMBOLS; s++)
                if (logits[i * SYMBOLS + s] > logits[i * SYMBOLS + best]) best = s;
            same &= best == sorted[i];
        }
    }
    printf("%d of %d unseen sequences sorted without a mistake\n", right, TESTS);
    attn_optimizer_destroy(optimizer), attn_tape_destroy(tape);
    attn_parameters_destroy(parameters), attn_context_destroy(context);
    return 0;
}
