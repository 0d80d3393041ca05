/* fit.c: trains a small network on generated examples and says how many it gets right (see fit.h). */
#include "fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void lab_network_init(lab_network *network) {
    *network = (lab_network){.steps = 300, .batch = 64, .learning_rate = 3e-3};
    attn_encoder_options_init(&network->encoder);
}

/* A network, what trains it, and room for one batch. */
typedef struct fitting {
    lab *owner;
    const lab_problem *problem;
    const lab_network *network;
    attn_parameters *parameters;
    attn_tape *tape;
    attn_optimizer *optimizer;
    attn_embedding *embedding; /* NULL without symbols */
    attn_encoder *encoder;
    attn_linear *output;

    /* The batch: sequences of the examples one after another. */
    int64_t *offsets, *heights, *widths;
    int32_t *ids, *labels;
    float *vectors, *logits;
    int64_t sequences, rows;
    const attn_graph *graph;
} fitting;

static int64_t longest_batch(const lab_examples *examples, int64_t sequences) {
    int64_t longest = 0;
    if (examples->graph != NULL || sequences >= examples->sequences)
        return examples->offsets[examples->sequences];
    for (int64_t i = 0; i < examples->sequences; i++) {
        int64_t rows = examples->offsets[i + 1] - examples->offsets[i];
        if (rows > longest) longest = rows;
    }
    return longest * sequences;
}

/* Room for batches of so many sequences of these examples. */
static bool make_room(fitting *fit, const lab_examples *examples, int64_t sequences) {
    size_t rows = (size_t)longest_batch(examples, sequences) + 1, count = (size_t)sequences + 1;
    const lab_problem *problem = fit->problem;
    fit->offsets = realloc(fit->offsets, count * sizeof *fit->offsets);
    fit->heights = realloc(fit->heights, count * sizeof *fit->heights);
    fit->widths = realloc(fit->widths, count * sizeof *fit->widths);
    fit->ids = realloc(fit->ids, rows * sizeof *fit->ids);
    fit->labels = realloc(fit->labels, (rows > count ? rows : count) * sizeof *fit->labels);
    fit->vectors = realloc(fit->vectors, rows * (size_t)(problem->columns + 1) * sizeof *fit->vectors);
    fit->logits =
        realloc(fit->logits, (rows > count ? rows : count) * (size_t)problem->classes * sizeof *fit->logits);
    if (fit->offsets == NULL || fit->heights == NULL || fit->widths == NULL || fit->ids == NULL ||
        fit->labels == NULL || fit->vectors == NULL || fit->logits == NULL)
        return lab_fail(fit->owner, "there is not enough memory for a batch");
    return true;
}

static void begin_batch(fitting *fit, const lab_examples *examples) {
    fit->sequences = fit->rows = 0;
    fit->offsets[0] = 0;
    fit->graph = examples->graph;
}

static void add_sequence(fitting *fit, const lab_examples *examples, int64_t index) {
    int64_t columns = fit->problem->columns, first = examples->offsets[index];
    size_t rows = (size_t)(examples->offsets[index + 1] - first);
    if (examples->ids != NULL) memcpy(fit->ids + fit->rows, examples->ids + first, rows * sizeof *fit->ids);
    if (examples->vectors != NULL)
        memcpy(fit->vectors + fit->rows * columns, examples->vectors + first * columns,
               rows * (size_t)columns * sizeof *fit->vectors);
    if (fit->problem->per_sequence)
        fit->labels[fit->sequences] = examples->labels[index];
    else
        memcpy(fit->labels + fit->rows, examples->labels + first, rows * sizeof *fit->labels);
    if (examples->heights != NULL) {
        fit->heights[fit->sequences] = examples->heights[index];
        fit->widths[fit->sequences] = examples->widths[index];
    }
    fit->rows += (int64_t)rows;
    fit->offsets[++fit->sequences] = fit->rows;
}

static bool build(fitting *fit, uint64_t seed) {
    const lab_problem *problem = fit->problem;
    attn_context *context = lab_context_of(fit->owner);
    attn_encoder_options options = fit->network->encoder;
    if (!lab_ok(fit->owner, attn_parameters_create(context, seed, &fit->parameters)) ||
        !lab_ok(fit->owner, attn_tape_create(context, &fit->tape)))
        return false;
    options.input_columns = problem->columns + (problem->symbols > 0 ? options.columns : 0);
    if (problem->symbols > 0)
        fit->embedding =
            attn_embedding_create(fit->parameters, "embedding", problem->symbols, options.columns);
    fit->encoder = attn_encoder_create(fit->parameters, "encoder", &options);
    fit->output = attn_linear_create(fit->parameters, "output", attn_encoder_columns(fit->encoder),
                                     problem->classes, 1, ATTN_IDENTITY);
    if (attn_parameters_status(fit->parameters) != ATTN_OK)
        return lab_fail(fit->owner, "the network cannot be made: %s", attn_parameters_error(fit->parameters));
    attn_optimizer_options training;
    attn_optimizer_options_init(&training);
    training.learning_rate = fit->network->learning_rate;
    training.weight_decay = fit->network->weight_decay;
    training.clip_norm = 1;
    training.schedule = ATTN_SCHEDULE_COSINE;
    training.warmup_steps = fit->network->steps / 10;
    training.total_steps = fit->network->steps > training.warmup_steps ? fit->network->steps : 1;
    return lab_ok(fit->owner, attn_optimizer_create(fit->parameters, &training, &fit->optimizer));
}

/* The scores of the classes for what is in the batch. */
static attn_variable *forward(fitting *fit, bool grids, float *const *weights) {
    attn_tape *tape = fit->tape;
    attn_variable *parts[2], *x;
    int count = 0;
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){.sequences = fit->sequences, .offsets = fit->offsets};
    places.graph = fit->graph;
    places.heights = grids ? fit->heights : NULL;
    places.widths = grids ? fit->widths : NULL;
    if (fit->embedding != NULL)
        parts[count++] = attn_embedding_apply(tape, fit->embedding, fit->ids, fit->rows);
    if (fit->problem->columns > 0)
        parts[count++] = attn_tape_constant(tape, fit->vectors, fit->rows, fit->problem->columns);
    x = count == 2 ? attn_tape_concat(tape, parts, 2) : parts[0];
    x = weights != NULL ? attn_encoder_weights(tape, fit->encoder, x, &places, weights)
                        : attn_encoder_apply(tape, fit->encoder, x, &places);
    if (fit->problem->per_sequence) x = attn_tape_pool(tape, x, &places.batch, ATTN_POOL_MEAN);
    return attn_linear_apply(tape, fit->output, x);
}

/* One step; *loss is what it was before. A number that is not finite ends training, but is no failure. */
static bool step(fitting *fit, uint64_t seed, double *loss, bool *diverged) {
    float value = 0;
    attn_tape_begin(fit->tape, ATTN_TAPE_TRAIN, seed);
    attn_variable *scores = forward(fit, fit->problem->train.heights != NULL, NULL);
    attn_variable *mean = attn_tape_cross_entropy(fit->tape, scores, fit->labels, NULL);
    attn_status status = attn_tape_backward(fit->tape, mean, NULL);
    if (status != ATTN_OK) return lab_fail(fit->owner, "a training step: %s", attn_tape_error(fit->tape));
    attn_variable_read(mean, &value);
    *loss = value;
    status = attn_optimizer_step(fit->optimizer);
    *diverged = status == ATTN_NOT_FINITE || !isfinite(value);
    return *diverged || lab_ok(fit->owner, status);
}

static void shuffle(int64_t *order, int64_t count, uint64_t *seed) {
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t other = lab_choice(seed, i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static bool train_in_order(fitting *fit, uint64_t seed, int64_t *order, lab_fitted *fitted) {
    const lab_examples *examples = &fit->problem->train;
    int64_t count = examples->sequences, next = count, batch = fit->network->batch;
    if (examples->graph != NULL || batch > count) batch = count;
    for (int64_t i = 0; i < count; i++) order[i] = i;
    if (!make_room(fit, examples, batch)) return false;
    double running = NAN, loss = 0;
    for (int64_t s = 0; s < fit->network->steps && !fitted->diverged; s++) {
        begin_batch(fit, examples);
        for (int64_t i = 0; i < batch; i++) {
            if (next == count) {
                if (examples->graph == NULL) shuffle(order, count, &seed); /* a graph numbers its rows */
                next = 0;
            }
            add_sequence(fit, examples, order[next++]);
        }
        if (!step(fit, seed + (uint64_t)s, &loss, &fitted->diverged)) return false;
        running = isnan(running) ? loss : 0.9 * running + 0.1 * loss;
        fitted->steps = s + 1;
        if (s > 20 && running < fit->network->stop_at) break;
    }
    fitted->loss = fitted->diverged ? NAN : running;
    return true;
}

static bool train(fitting *fit, uint64_t seed, lab_fitted *fitted) {
    int64_t *order = malloc((size_t)(fit->problem->train.sequences + 1) * sizeof *order);
    if (order == NULL) return lab_fail(fit->owner, "there is not enough memory for the examples");
    double begin = lab_seconds();
    bool done = train_in_order(fit, seed * 0x9e3779b97f4a7c15u + 1, order, fitted);
    fitted->seconds = lab_seconds() - begin;
    free(order);
    return done;
}

static int32_t largest(const float *scores, int64_t classes) {
    int32_t best = 0;
    for (int32_t c = 1; c < classes; c++)
        if (scores[c] > scores[best]) best = c;
    return best;
}

/* Answers for the batch; counts those that are asked and those that are right. */
static bool answer(fitting *fit, bool grids, float *const *weights, int32_t *answers, int64_t *asked,
                   int64_t *right) {
    attn_tape_begin(fit->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *scores = forward(fit, grids, weights);
    if (attn_tape_status(fit->tape) != ATTN_OK)
        return lab_fail(fit->owner, "a prediction: %s", attn_tape_error(fit->tape));
    attn_variable_read(scores, fit->logits);
    int64_t count = fit->problem->per_sequence ? fit->sequences : fit->rows, classes = fit->problem->classes;
    for (int64_t i = 0; i < count; i++) {
        int32_t best = largest(fit->logits + i * classes, classes);
        if (answers != NULL) answers[i] = best;
        *asked += fit->labels[i] >= 0;
        *right += fit->labels[i] == best;
    }
    return true;
}

/* The part of the first `sequences` examples that is right. Whoever wants weights or has a graph gets all of
 * them in one batch, since both are numbered through. */
static bool score(fitting *fit, const lab_examples *examples, int64_t sequences, float *const *weights,
                  int32_t *answers, double *accuracy) {
    int64_t batch = 256, asked = 0, right = 0;
    if (examples->graph != NULL || weights != NULL || sequences < batch) batch = sequences;
    if (!make_room(fit, examples, batch)) return false;
    for (int64_t first = 0; first < sequences; first += batch) {
        begin_batch(fit, examples);
        for (int64_t i = first; i < first + batch && i < sequences; i++) add_sequence(fit, examples, i);
        int64_t begin = fit->problem->per_sequence ? first : examples->offsets[first];
        if (!answer(fit, examples->heights != NULL, weights, answers != NULL ? answers + begin : NULL, &asked,
                    &right))
            return false;
    }
    *accuracy = asked > 0 ? (double)right / (double)asked : NAN;
    return true;
}

static bool run(fitting *fit, uint64_t seed, lab_fitted *fitted) {
    const lab_problem *problem = fit->problem;
    if (!build(fit, seed) || !train(fit, seed, fitted)) return false;
    fitted->parameters = attn_parameters_size(fit->parameters);
    int64_t few = problem->test.sequences;
    if (few > problem->train.sequences || problem->train.graph != NULL) few = problem->train.sequences;
    return score(fit, &problem->train, few, NULL, NULL, &fitted->train_accuracy) &&
           score(fit, &problem->test, problem->test.sequences, fitted->weights, fitted->answers,
                 &fitted->accuracy);
}

bool lab_fit(lab *report, const lab_problem *problem, const lab_network *network, uint64_t seed,
             lab_fitted *fitted) {
    fitting fit = {.owner = report, .problem = problem, .network = network};
    *fitted = (lab_fitted){.answers = fitted->answers, .weights = fitted->weights};
    bool done = run(&fit, seed, fitted);
    attn_optimizer_destroy(fit.optimizer);
    attn_tape_destroy(fit.tape);
    attn_parameters_destroy(fit.parameters);
    free(fit.offsets);
    free(fit.heights);
    free(fit.widths);
    free(fit.ids);
    free(fit.labels);
    free(fit.vectors);
    free(fit.logits);
    return done;
}
