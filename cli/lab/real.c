/* real.c: experiments on real data, through the trainer that `attn train` uses. */
#include "real.h"

#include <stdlib.h>
#include <string.h>

struct lab_real {
    lab *report;
    const lab_files *files;
    attn_dataset *train, *dev;
};

/* Names that begin with a point are those of the kind of input. */
static attn_status set_all(attn_config *config, const lab_files *files, const char *const *values) {
    attn_status status = ATTN_OK;
    char name[64];
    for (; values != NULL && *values != NULL && status == ATTN_OK; values += 2) {
        const char *kind = values[0][0] == '.' ? attn_input_of_file(files->train) : "";
        snprintf(name, sizeof name, "%s%s", kind, values[0]);
        status = attn_config_set(config, name, values[1]);
    }
    return status;
}

/* What comparisons need: one network, one evaluation at the end, no choice of the best. */
static attn_status configure(attn_context *context, const lab_files *files, attn_config **config) {
    static const char *const usual[] = {"training.patience",
                                        "0",
                                        "training.evaluations",
                                        "1",
                                        "output.members",
                                        "1",
                                        "training.least_steps",
                                        "0",
                                        NULL};
    attn_status status = attn_config_create(context, config);
    if (status == ATTN_OK) status = attn_config_set(*config, "task", files->task);
    if (status == ATTN_OK) status = attn_config_set(*config, "input", attn_input_of_file(files->train));
    if (status == ATTN_OK) status = set_all(*config, files, usual);
    if (status == ATTN_OK) status = set_all(*config, files, files->values);
    return status;
}

/* The first `most` examples of a file below the folder. */
static bool read_first(lab *report, attn_config *config, const char *path, int64_t most,
                       attn_dataset **dataset) {
    attn_context *context = lab_context_of(report);
    const char *folder = lab_options_of(report)->data;
    attn_reader_options options;
    attn_dataset *whole = NULL;
    size_t room = strlen(folder) + strlen(path) + 2;
    char *name = malloc(room);
    if (name == NULL) return lab_fail(report, "out of memory");
    snprintf(name, room, "%s/%s", folder, path);
    attn_status status = attn_config_reader(config, &options);
    if (status == ATTN_OK) status = attn_dataset_read(context, name, &options, &whole);
    free(name);
    if (status != ATTN_OK) return lab_ok(report, status);
    int64_t count = attn_dataset_examples(whole);
    if (most <= 0 || most >= count) {
        *dataset = whole;
        return true;
    }
    int64_t *first = malloc((size_t)most * sizeof *first);
    if (first == NULL) {
        attn_dataset_destroy(whole);
        return lab_fail(report, "out of memory");
    }
    for (int64_t i = 0; i < most; i++) first[i] = i;
    status = attn_dataset_select(whole, first, most, dataset);
    free(first);
    attn_dataset_destroy(whole);
    return lab_ok(report, status);
}

lab_real *lab_real_open(lab *report, const lab_files *files) {
    attn_config *config = NULL;
    lab_real *real = calloc(1, sizeof *real);
    if (real == NULL) {
        lab_fail(report, "out of memory");
        return NULL;
    }
    real->report = report;
    real->files = files;
    bool done =
        lab_ok(report, configure(lab_context_of(report), files, &config)) &&
        read_first(report, config, files->train, files->train_examples, &real->train) &&
        (files->dev == NULL || read_first(report, config, files->dev, files->dev_examples, &real->dev));
    attn_config_destroy(config);
    if (done) return real;
    lab_real_close(real);
    return NULL;
}

static int watch(void *user, const attn_training_state *state) {
    lab_trained *trained = user;
    if (state->event != ATTN_TRAINING_DONE) return 0;
    snprintf(trained->metric, sizeof trained->metric, "%s", state->metric);
    trained->score = state->value;
    trained->loss = state->loss;
    trained->seconds = state->seconds;
    trained->steps = state->step;
    trained->parameters = state->parameters;
    return 0;
}

bool lab_real_train(lab_real *real, const char *const *values, const char *const *more, uint64_t seed,
                    lab_trained *trained) {
    attn_config *config = NULL;
    attn_trainer *trainer = NULL;
    attn_trainer_options options;
    char number[32];
    attn_trainer_options_init(&options);
    options.watch = watch;
    options.user = trained;
    options.main_only = 1; /* what splits raw text is not compared */
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    *trained = (lab_trained){.steps = 0};
    attn_status status = configure(lab_context_of(real->report), real->files, &config);
    if (status == ATTN_OK) status = set_all(config, real->files, values);
    if (status == ATTN_OK) status = set_all(config, real->files, more);
    if (status == ATTN_OK) status = attn_config_set(config, "training.seed", number);
    if (status == ATTN_OK && lab_options_of(real->report)->quick)
        status = attn_config_set(config, "training.steps", "50");
    if (status == ATTN_OK) status = attn_trainer_create(config, real->train, real->dev, &options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_config_destroy(config);
    return lab_ok(real->report, status);
}

void lab_real_close(lab_real *real) {
    if (real == NULL) return;
    attn_dataset_destroy(real->train);
    attn_dataset_destroy(real->dev);
    free(real);
}

/* ---- several of them ---- */

/* Trains one variant with all seeds: its row of the table. */
static bool compare_one(lab_real *real, const char *const *common, const lab_variant *variant, int64_t seeds,
                        double done, double share, lab_table **table, lab_compared *found) {
    lab *report = real->report;
    lab_trained trained;
    double seconds[LAB_REAL_SEEDS], loss[LAB_REAL_SEEDS];
    for (int64_t s = 0; s < seeds; s++) {
        lab_progress(report, done + share * (double)s / (double)seeds, variant->name);
        if (!lab_real_train(real, common, variant->values, lab_options_of(report)->seed + (uint64_t)s,
                            &trained))
            return false;
        found->score[s] = 100 * trained.score;
        seconds[s] = trained.seconds;
        loss[s] = trained.loss;
    }
    found->median = lab_median(found->score, seeds);
    found->seconds = lab_median(seconds, seeds);
    found->parameters = trained.parameters;
    found->lowest = found->highest = found->score[0];
    for (int64_t s = 1; s < seeds; s++) {
        if (found->score[s] < found->lowest) found->lowest = found->score[s];
        if (found->score[s] > found->highest) found->highest = found->score[s];
    }
    if (*table == NULL)
        *table =
            lab_add_table(report,
                          lab_cell(report, "%s: %lld examples, %lld steps", real->files->train,
                                   (long long)attn_dataset_examples(real->train), (long long)trained.steps),
                          "network", lab_cell(report, "%s of the development data, %%", trained.metric),
                          "training loss", "parameters", "seconds of training", NULL);
    lab_row(*table, variant->name, lab_cell_spread(report, found->score, seeds, "%.2f"),
            lab_cell_spread(report, loss, seeds, "%.3f"),
            lab_cell(report, "%lld", (long long)found->parameters), lab_cell(report, "%.1f", found->seconds));
    return true;
}

bool lab_real_compare(lab *report, const lab_files *files, const char *const *common,
                      const lab_variant *variants, int count, int64_t seeds, lab_compared *found) {
    lab_table *table = NULL;
    lab_real *real = lab_real_open(report, files);
    if (seeds > LAB_REAL_SEEDS) seeds = LAB_REAL_SEEDS;
    bool done = real != NULL;
    for (int v = 0; v < count && done; v++)
        done =
            compare_one(real, common, &variants[v], seeds, (double)v / count, 1.0 / count, &table, &found[v]);
    lab_real_close(real);
    return done;
}

bool lab_tags_compare(lab *report, const lab_variant *variants, int count, int64_t steps,
                      lab_compared *found) {
    static const lab_files files = {.task = "tag",
                                    .train = "ud-english-ewt/en_ewt-ud-train.conllu.gz",
                                    .dev = "ud-english-ewt/en_ewt-ud-dev.conllu.gz",
                                    .dev_examples = 800};
    char number[24]; /* a cell would be overwritten while the networks train */
    snprintf(number, sizeof number, "%lld", (long long)steps);
    const char *const common[] = {"encoder.columns",
                                  "64",
                                  "encoder.heads",
                                  "4",
                                  "encoder.dropout",
                                  "0.1",
                                  ".stem",
                                  "0",
                                  ".buckets",
                                  "0",
                                  ".ngram_max",
                                  "0",
                                  ".word_features",
                                  "false",
                                  ".unit_dropout",
                                  "0.1",
                                  "training.learning_rate",
                                  "0.003",
                                  "training.steps",
                                  number,
                                  NULL};
    return lab_real_compare(report, &files, common, variants, count, lab_seeds(report, 2, 1), found);
}
