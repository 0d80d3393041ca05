/* trainer.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_TRAINER_H
#define ATTN_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include <attn/config.h>
#include <attn/dataset.h>
#include <attn/exchange.h>
#include <attn/export.h>
#include <attn/model.h>
#include <attn/report.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_trainer attn_trainer;

typedef enum attn_training_event {
    ATTN_TRAINING_READY = 0,
    ATTN_TRAINING_MEASURED = 1,
    ATTN_TRAINING_STEP = 2,
    ATTN_TRAINING_DEV = 3,
    ATTN_TRAINING_DONE = 4
} attn_training_event;

typedef enum attn_training_end {
    ATTN_TRAINING_FINISHED = 0,
    ATTN_TRAINING_PATIENCE = 1,
    ATTN_TRAINING_STOPPED = 2
} attn_training_end;

typedef struct attn_training_state {
    attn_training_event event;
    int64_t step, steps_total;
    double epoch, epochs_total;
    double loss;
    double learning_rate;
    double units_per_second;
    double seconds, seconds_left;
    int64_t train_examples, dev_examples, train_units;
    int held_out;
    int64_t resumed_from;
    int64_t parameters;
    const char *metric;
    double score, best_score;
    int64_t best_step;
    attn_training_end end;
    int splitter;
    double splitter_score;
    const char *no_splitter;
    int64_t train_rows, dev_rows;
    const char *row;
    int ranks;
    double exchange_share;
    double trained_seconds;
    int64_t exchange_bytes;

    double macro_f1, best_macro_f1;
    int64_t
        left_out;
    int held_alike;
    const char *timetable;
} attn_training_state;

typedef struct attn_trainer_options {
    size_t size;
    const char *output;
    const char *vectors;
    int resume;
    double seconds;
    double save_seconds;

    int (*watch)(void *user, const attn_training_state *state);
    void *user;
    int force;
    int keep_last;

    const char *start;

    int more;
    int main_only;

    attn_exchange *exchange;
    int fast_sum;

    void (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *progress_user;
    double spent;

    double (*clock)(void *user);
    void *clock_user;
} attn_trainer_options;
ATTN_INIT(attn_trainer_options)

ATTN_API attn_status attn_trainer_check(attn_context *context, const attn_trainer_options *options);

ATTN_API attn_status attn_trainer_last_path(attn_context *context, const char *output, char *path,
                                            size_t room);

ATTN_API attn_status attn_trainer_create(attn_config *config, const attn_dataset *train,
                                         const attn_dataset *dev, const attn_trainer_options *options,
                                         attn_trainer **trainer);

ATTN_API attn_status attn_trainer_run(attn_trainer *trainer);

ATTN_API const attn_report *attn_trainer_report(const attn_trainer *trainer);
ATTN_API void attn_trainer_destroy(attn_trainer *trainer);

ATTN_END_DECLS

#endif
