/* calibrate.c: the best model, at the end of training: the temperatures of its probabilities, fitted to the
 * development data, and its metrics with them.
 *
 * Models are chosen without temperatures, which are fitted once, to the chosen model. The training data
 * cannot be used for it, because the networks have learned it: without other data, temperatures stay 1.
 */
#include <math.h>

#include "base/context.h"
#include "model/predictor.h"
#include "train/trainer.h"

int at_calibrate_due(const attn_trainer *trainer) {
    const at_stage *stage = trainer->courses[0].stage;
    for (int i = 0; i < stage->head_count; i++)
        if (!isnan(at_temperature_of_head(stage->heads[i]))) return 1;
    return 0;
}

/* Whether the development data is what was learned from. */
static int learned(const at_course *course) {
    const attn_dataset *train = course->train.dataset, *dev = course->dev.dataset;
    return train == dev || at_dataset_fingerprint(train, 0) == at_dataset_fingerprint(dev, 0);
}

attn_status at_calibrate(attn_trainer *trainer, attn_model *model) {
    const at_course *main = at_main_course(trainer);
    const attn_dataset *dev = main->dev.dataset;
    attn_predictor *predictor;
    attn_report_destroy(trainer->report);
    trainer->report = NULL;
    if (!at_calibrate_due(trainer)) return ATTN_OK;
    attn_status status = attn_predictor_create(model, trainer->context, &predictor);
    if (status != ATTN_OK) return status;
    if (main->stage->values.output->calibrate && !learned(main))
        status = at_predictor_calibrate(predictor, dev);
    if (status == ATTN_OK) status = attn_report_create(predictor, dev, &trainer->report);
    attn_predictor_destroy(predictor);
    if (status == ATTN_OK) trainer->state.best_macro_f1 = at_metric_macro(trainer, trainer->report);
    return status;
}

const attn_report *attn_trainer_report(const attn_trainer *trainer) {
    return trainer ? trainer->report : NULL;
}
