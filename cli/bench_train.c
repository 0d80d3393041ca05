/* bench_train.c: whole training steps of small networks.
 *
 * A network of tags: an embedding of 5,000 words, an encoder, a linear map to
 * 17 tags and their cross-entropy; a step is forward, backward and AdamW. The
 * sentences have the lengths of English news and web text: 512 quantiles of
 * those of UD English EWT (train), in order of length, cut into batches, which
 * workers take in shards, as in training. What is timed is a pass over all
 * batches.
 *
 * Work, in operations a step, with n rows and P numbers in the weights that
 * rows are multiplied with: 6 P n (forward, and two products backward), and for
 * attention 14 d a pair of positions (2 products forward, 5 backward).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { WORDS = 5000, TAGS = 17, SENTENCES = 512, LONGEST = 89 };
enum { SHARD_ROWS = 128, MOST_SHARDS = 64, MOST_BATCH = 64 }; /* as in training */

/* How many of the 512 sentences have 1, 2, 3, ... words. */
static const unsigned char histogram[LONGEST] = {
    21, 26, 20, 15, 17, 18, 18, 17, 19, 19, 20, 20, 17, 18, 18, 16, 16, 15, 14, 15, 12, 13, 13,
    10, 9,  9,  7,  7,  8,  5,  6,  4,  5,  4,  3,  4,  3,  3,  3,  2,  3,  2,  2,  1,  1,  1,
    1,  1,  1,  1,  1,  1,  0,  1,  0,  1,  0,  0,  1,  0,  0,  1,  0,  0,  0,  1,  0,  0,  0,
    0,  0,  1,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  1};

typedef struct train_shape {
    const char *series;
    attn_mixer_kind kind;
    int64_t columns, layers, heads, inner; /* of an RNN: columns of the embedding, and `hidden` */
    int64_t hidden, width;
    int64_t batch;  /* sentences a step */
    int64_t length; /* 0: the lengths above; else all have this one */
} train_shape;

static const train_shape shapes[] = {
    {"encoder", ATTN_MIXER_ATTENTION, 256, 4, 4, 1024, 0, 0, 64, 0},
    {"encoder-512", ATTN_MIXER_ATTENTION, 256, 4, 4, 1024, 0, 0, 8, 512},
    {"small", ATTN_MIXER_ATTENTION, 64, 2, 4, 256, 0, 0, 16, 0},
    {"lstm", ATTN_MIXER_RNN, 256, 2, 0, 0, 256, 0, 64, 0},
    {"cnn", ATTN_MIXER_CNN, 256, 4, 0, 0, 0, 5, 64, 0},
};

typedef struct train_case {
    const train_shape *shape;
    attn_context *context;
    attn_parameters *parameters;
    attn_workers *workers;
    attn_embedding *embedding;
    attn_encoder *encoder;
    attn_linear *output;
    attn_optimizer *optimizer;
    int64_t sentences, *offsets;
    int32_t *words, *tags;
    uint64_t step;
    int64_t first, count;                         /* sentences of the batch */
    int64_t shards, shard_first[MOST_SHARDS + 1]; /* and of its shards */
} train_case;

/* Lengths of all sentences as offsets, and words and tags. */
static bool create_sentences(const bench *run, train_case *made) {
    const train_shape *shape = made->shape;
    made->sentences = shape->length ? shape->batch : SENTENCES;
    made->offsets = malloc((size_t)(made->sentences + 1) * sizeof *made->offsets);
    if (made->offsets == NULL) return false;
    made->offsets[0] = 0;
    for (int64_t b = 0, length = 0, left = 0; b < made->sentences; b++) {
        while (!shape->length && left == 0) left = histogram[length++];
        left--;
        made->offsets[b + 1] = made->offsets[b] + (shape->length ? shape->length : length);
    }
    int64_t rows = made->offsets[made->sentences];
    made->words = malloc((size_t)rows * sizeof *made->words);
    made->tags = malloc((size_t)rows * sizeof *made->tags);
    uint64_t state = (uint64_t)run->seed;
    for (int64_t i = 0; made->words && made->tags && i < rows; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* as bench_numbers */
        made->words[i] = (int32_t)((state >> 33) % WORDS);
        made->tags[i] = (int32_t)((state >> 40) % TAGS);
    }
    return made->words && made->tags;
}

static attn_encoder_options encoder_of(const train_shape *shape) {
    attn_encoder_options options;
    attn_encoder_options_init(&options);
    options.columns = shape->columns;
    options.layers = shape->layers;
    options.block.mixer.kind = shape->kind;
    options.block.inner = shape->inner;
    if (shape->kind == ATTN_MIXER_ATTENTION) {
        options.block.mixer.attention.heads = shape->heads;
        return options;
    }
    options.position = ATTN_POSITION_NONE; /* the plain stacks that are usual for these */
    options.block.norm = ATTN_NORM_NONE;
    options.block.residual = 0;
    options.block.mixer.hidden = shape->hidden;
    options.block.mixer.width = shape->width ? shape->width : 1;
    return options;
}

static void destroy_case(train_case *made) {
    attn_optimizer_destroy(made->optimizer);
    attn_workers_destroy(made->workers);
    attn_parameters_destroy(made->parameters);
    free(made->offsets);
    free(made->words);
    free(made->tags);
}

static bool create_case(const bench *run, const train_shape *shape, attn_context *context, train_case *made) {
    memset(made, 0, sizeof *made);
    made->shape = shape;
    made->context = context;
    bool done = create_sentences(run, made);
    if (!done) fputs("attn bench: out of memory for the sentences\n", stderr);
    if (done)
        done = bench_ok(context, attn_parameters_create(context, (uint64_t)run->seed, &made->parameters));
    if (done) {
        attn_encoder_options options = encoder_of(shape);
        made->embedding = attn_embedding_create(made->parameters, "words", WORDS, shape->columns);
        made->encoder = attn_encoder_create(made->parameters, "encoder", &options);
        made->output = attn_linear_create(made->parameters, "tags", attn_encoder_columns(made->encoder), TAGS,
                                          1, ATTN_IDENTITY);
        done = attn_parameters_status(made->parameters) == ATTN_OK;
        if (!done) fprintf(stderr, "attn bench: %s\n", attn_parameters_error(made->parameters));
    }
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.lazy_rows = 1; /* as in training */
    if (done) done = bench_ok(context, attn_optimizer_create(made->parameters, &options, &made->optimizer));
    if (done) done = bench_ok(context, attn_workers_create(made->parameters, &made->workers));
    if (!done) destroy_case(made);
    return done;
}

/* Sentences of a batch that make shards of about the same number of rows. */
static void cut_shards(train_case *with) {
    int64_t begin = with->offsets[with->first], end = with->offsets[with->first + with->count], pieces = 1;
    while (2 * pieces <= MOST_SHARDS && end - begin >= 2 * pieces * SHARD_ROWS) pieces *= 2;
    with->shards = 0;
    for (int64_t b = with->first, last = -1; b < with->first + with->count; b++) {
        int64_t middle = (with->offsets[b] + with->offsets[b + 1]) / 2 - begin;
        int64_t shard = middle * pieces / (end - begin);
        if (shard > last) with->shard_first[with->shards++] = b;
        last = shard;
    }
    with->shard_first[with->shards] = with->first + with->count;
}

/* The part of the batch's loss that the sentences of a shard have. */
static attn_variable *record_shard(void *argument, attn_tape *tape, int64_t shard) {
    const train_case *with = argument;
    int64_t first = with->shard_first[shard], count = with->shard_first[shard + 1] - first;
    int64_t start = with->offsets[first], rows = with->offsets[first + count] - start;
    int64_t all = with->offsets[with->first + with->count] - with->offsets[with->first];
    int64_t offsets[MOST_BATCH + 1];
    for (int64_t b = 0; b <= count; b++) offsets[b] = with->offsets[first + b] - start;
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){count, offsets};
    attn_variable *x = attn_embedding_apply(tape, with->embedding, with->words + start, rows);
    x = attn_encoder_apply(tape, with->encoder, x, &places);
    x = attn_linear_apply(tape, with->output, x);
    attn_variable *loss = attn_tape_cross_entropy(tape, x, with->tags + start, NULL);
    return attn_tape_scale(tape, loss, (float)rows / (float)all);
}

/* Forward, backward and the optimiser's step on one batch. */
static attn_status train_step(train_case *with, int64_t first, int64_t count) {
    with->first = first;
    with->count = count;
    cut_shards(with);
    attn_status status =
        attn_workers_run(with->workers, with->shards, ++with->step, record_shard, with, NULL);
    return status == ATTN_OK ? attn_optimizer_step(with->optimizer) : status;
}

static attn_status train_pass(void *argument) {
    train_case *with = argument;
    for (int64_t b = 0; b < with->sentences; b += with->shape->batch) {
        attn_status status = train_step(with, b, with->shape->batch);
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

/* Operations of a pass, as said above. */
static double work_of(const train_case *with) {
    double rows = (double)with->offsets[with->sentences], weights = 0, pairs = 0;
    for (int64_t p = 0; p < attn_parameters_count(with->parameters); p++) {
        attn_parameter *parameter = attn_parameters_at(with->parameters, p);
        attn_tensor value = attn_parameter_value(parameter);
        if (value.rank < 2 || attn_parameter_kind_of(parameter) != ATTN_PARAMETER_WEIGHT) continue;
        double count = 1;
        for (int r = 0; r < value.rank; r++) count *= (double)value.shape[r];
        weights += count;
    }
    for (int64_t b = 0; b < with->sentences; b++) {
        double n = (double)(with->offsets[b + 1] - with->offsets[b]);
        pairs += n * n;
    }
    if (with->shape->kind != ATTN_MIXER_ATTENTION) pairs = 0;
    return 6 * weights * rows + 14 * (double)(with->shape->columns * with->shape->layers) * pairs;
}

/* Resident memory in bytes: now ("VmRSS:") or at the most ("VmHWM:"); 0: unknown. */
static size_t resident(const char *field) {
    char line[128];
    long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) sscanf(line + strlen(field), "%lld", &kilobytes);
    }
    if (file != NULL) fclose(file);
    return (size_t)kilobytes * 1024;
}

static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL) return;
    fputs("5", file);
    fclose(file);
}

static bool measure_setup(const bench *run, const bench_setup *setup, const train_shape *shape,
                          bench_result *result) {
    train_case with;
    attn_context *context = bench_context(run, setup->threads);
    if (context == NULL) return false;
    reset_peak();
    size_t before = resident("VmRSS:");
    bool done = create_case(run, shape, context, &with);
    if (done) {
        done = bench_measure(run, setup, context, train_pass, &with, &result->time);
        size_t peak = resident("VmHWM:");
        result->memory = peak > before ? peak - before : 0;
        result->series = shape->series;
        result->operation = "train";
        result->rows = with.offsets[with.sentences];
        result->steps = with.sentences / shape->batch;
        result->parameters = attn_parameters_size(with.parameters);
        result->work = work_of(&with);
        destroy_case(&with);
    }
    attn_context_destroy(context);
    return done;
}

bool bench_train(const bench *run) {
    bool titled = false;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        if (!bench_wants(run, shapes[s].series)) continue;
        if (run->quick && strcmp(run->only, "all") == 0 && strcmp(shapes[s].series, "small") != 0) continue;
        if (!titled) {
            bench_print_table(run, "Training: a pass of forward, backward and AdamW", "network          rows",
                              BENCH_TRAIN);
        }
        titled = true;
        bench_result results[BENCH_SETUPS];
        memset(results, 0, sizeof results);
        for (int setup = 0; setup < run->setup_count; setup++) {
            if (!measure_setup(run, &run->setups[setup], &shapes[s], &results[setup])) return false;
        }
        bench_print_row(run, results, BENCH_TRAIN);
    }
    return true;
}
