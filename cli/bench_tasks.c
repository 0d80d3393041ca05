/* bench_tasks.c: sort, reverse and copy, learned by an encoder of self-attention.
 *
 * Sequences of 1 to 20 of 26 symbols; row i of the result has to name symbol i
 * of the prediction. One sequence in 16, chosen by a hash of it, is never trained
 * on; of those 10,000 are drawn at the end, and one counts as right if all its
 * symbols are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SYMBOLS = 26, LONGEST = 20, BATCH = 64, TESTS = 10000 };

typedef enum task_kind { SORT, REVERSE, COPY, TASKS } task_kind;
static const char *const task_names[] = {"sort", "reverse", "copy"};

typedef struct task_batch {
    int64_t offsets[BATCH + 1];
    int32_t symbols[BATCH * LONGEST], answers[BATCH * LONGEST];
} task_batch;

static uint32_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* as bench_numbers */
    return (uint32_t)(*state >> 33);
}

static bool held_out(const int32_t *symbols, int64_t length) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (int64_t i = 0; i < length; i++) hash = (hash ^ (uint64_t)symbols[i]) * 1099511628211u;
    return (hash >> 32) % 16 == 0;
}

static int by_size(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static void fill_batch(task_kind task, bool unseen, uint64_t *state, task_batch *batch) {
    batch->offsets[0] = 0;
    for (int b = 0; b < BATCH; b++) {
        int64_t first = batch->offsets[b], length;
        int32_t *symbols = batch->symbols + first, *answers = batch->answers + first;
        do {
            length = 1 + draw(state) % LONGEST;
            for (int64_t i = 0; i < length; i++) symbols[i] = (int32_t)(draw(state) % SYMBOLS);
        } while (held_out(symbols, length) != unseen);
        for (int64_t i = 0; i < length; i++) answers[i] = symbols[task == REVERSE ? length - 1 - i : i];
        if (task == SORT) qsort(answers, (size_t)length, sizeof *answers, by_size);
        batch->offsets[b + 1] = first + length;
    }
}

typedef struct task_network {
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
    attn_embedding *embedding;
    attn_encoder *encoder;
    attn_linear *output;
    attn_optimizer *optimizer;
} task_network;

static void destroy_network(task_network *n) {
    attn_optimizer_destroy(n->optimizer);
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->parameters);
}

static bool create_network(const bench *run, int64_t steps, attn_context *context, task_network *n) {
    memset(n, 0, sizeof *n);
    n->context = context;
    if (!bench_ok(context, attn_parameters_create(context, (uint64_t)run->seed, &n->parameters)) ||
        !bench_ok(context, attn_tape_create(context, &n->tape))) {
        destroy_network(n);
        return false;
    }
    attn_encoder_options shape;
    attn_encoder_options_init(&shape);
    shape.columns = 128;
    shape.layers = 2;
    shape.position = ATTN_POSITION_LEARNED;
    shape.longest = LONGEST;
    shape.block.inner = 256;
    n->embedding = attn_embedding_create(n->parameters, "symbols", SYMBOLS, shape.columns);
    n->encoder = attn_encoder_create(n->parameters, "encoder", &shape);
    n->output = attn_linear_create(n->parameters, "output", shape.columns, SYMBOLS, 1, ATTN_IDENTITY);
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.learning_rate = 2e-3;
    options.clip_norm = 1;
    options.schedule = ATTN_SCHEDULE_COSINE;
    options.warmup_steps = steps / 20;
    options.total_steps = steps;
    if (bench_ok(context, attn_optimizer_create(n->parameters, &options, &n->optimizer))) return true;
    destroy_network(n);
    return false;
}

static attn_variable *apply(task_network *n, const task_batch *batch) {
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){BATCH, batch->offsets};
    attn_variable *x = attn_embedding_apply(n->tape, n->embedding, batch->symbols, batch->offsets[BATCH]);
    return attn_linear_apply(n->tape, n->output, attn_encoder_apply(n->tape, n->encoder, x, &places));
}

static bool train(task_network *n, task_kind task, int64_t steps, uint64_t *state, double *loss) {
    static task_batch batch;
    for (int64_t step = 0; step < steps; step++) {
        fill_batch(task, false, state, &batch);
        attn_tape_begin(n->tape, ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *mean = attn_tape_cross_entropy(n->tape, apply(n, &batch), batch.answers, NULL);
        if (attn_tape_backward(n->tape, mean, NULL) != ATTN_OK) {
            fprintf(stderr, "attn bench: %s\n", attn_tape_error(n->tape));
            return false;
        }
        *loss = attn_variable_data(mean)[0];
        if (!bench_ok(n->context, attn_optimizer_step(n->optimizer))) return false;
    }
    return true;
}

/* How many of the sequences of a batch are right from end to end. */
static int64_t count_right(const task_batch *batch, const float *logits) {
    int64_t right = 0;
    for (int b = 0; b < BATCH; b++) {
        bool same = true;
        for (int64_t i = batch->offsets[b]; i < batch->offsets[b + 1]; i++) {
            int best = 0;
            for (int s = 1; s < SYMBOLS; s++) {
                if (logits[i * SYMBOLS + s] > logits[i * SYMBOLS + best]) best = s;
            }
            same = same && best == batch->answers[i];
        }
        right += same;
    }
    return right;
}

static bool test(task_network *n, task_kind task, uint64_t *state, int64_t *right, int64_t *asked) {
    static task_batch batch;
    for (*right = *asked = 0; *asked < TESTS; *asked += BATCH) {
        fill_batch(task, true, state, &batch);
        attn_tape_begin(n->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *logits = apply(n, &batch);
        if (logits == NULL) {
            fprintf(stderr, "attn bench: %s\n", attn_tape_error(n->tape));
            return false;
        }
        *right += count_right(&batch, attn_variable_data(logits));
    }
    return true;
}

bool bench_tasks(const bench *run) {
    const bench_setup *setup = &run->setups[run->setup_count - 1]; /* the one with most threads */
    const int64_t steps = run->steps;
    if (!run->json) printf("\nTasks learned from examples: sequences of 1 to 20 symbols, of 26\n");
    for (int task = SORT; task < TASKS; task++) {
        task_network n;
        uint64_t state = (uint64_t)run->seed;
        double loss = 0, start = measure_clock();
        int64_t right, asked;
        if (!create_network(run, steps, setup->context, &n)) return false;
        bool done = train(&n, (task_kind)task, steps, &state, &loss);
        double seconds = measure_clock() - start;
        done = done && test(&n, (task_kind)task, &state, &right, &asked);
        destroy_network(&n);
        if (!done) return false;
        if (run->json) {
            printf("{\"op\":\"task\",\"series\":\"tasks\",\"task\":\"%s\",\"steps\":%lld,\"seconds\":%.4g,"
                   "\"loss\":%.4g,"
                   "\"tests\":%lld,\"right\":%lld,\"exact\":%.6g,\"threads\":%d,\"isa\":\"%s\"}\n",
                   task_names[task], (long long)steps, seconds, loss, (long long)asked, (long long)right,
                   (double)right / (double)asked, setup->threads, attn_context_isa(setup->context));
        } else {
            printf("%-8s %5lld steps  %6.1f s  loss %.4f   %lld of %lld unseen sequences right: %.2f %%\n",
                   task_names[task], (long long)steps, seconds, loss, (long long)right, (long long)asked,
                   100.0 * (double)right / (double)asked);
        }
        fflush(stdout);
    }
    return true;
}
