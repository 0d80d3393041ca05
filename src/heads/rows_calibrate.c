/* rows_calibrate.c: the temperature of heads of rows, fitted on data that they were not trained on.
 *
 * Probabilities of a class become softmax(ln p / T), and of several labels sigmoid(logit p / T). For one
 * network this is the same as dividing its logits by T; for an ensemble it changes the mean of the
 * probabilities, and with a CRF the marginals. The order of labels is unchanged, and so is whether a label
 * applies: only probabilities change, no prediction does.
 */
#include <float.h>
#include <math.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/metrics/calibration.h"
#include "heads/rows.h"

/* One number is fitted: it needs no more than that, and memory stays small whatever the number of labels. */
enum { MOST_LOGITS = 1 << 20 };

/* ---- applying it ---- */

void at_temper_class(double temperature, float *probabilities, int64_t count) {
    double most = probabilities[at_largest(probabilities, count)], sum = 0;
    if (temperature == 1 || !(most > 0)) return;
    most = log(most);
    for (int64_t c = 0; c < count; c++) sum += exp((log((double)probabilities[c]) - most) / temperature);
    for (int64_t c = 0; c < count; c++)
        probabilities[c] = (float)(exp((log((double)probabilities[c]) - most) / temperature) / sum);
}

void at_temper_labels(double temperature, float *probabilities, int64_t count) {
    for (int64_t l = 0; l < count && temperature != 1; l++) {
        double p = (double)probabilities[l];
        float tempered = (float)(1 / (1 + exp((log1p(-p) - log(p)) / temperature)));
        /* Next to one half, rounding must not decide otherwise. */
        if ((tempered >= 0.5f) == (probabilities[l] >= 0.5f)) probabilities[l] = tempered;
    }
}

/* ---- what it is fitted to ---- */

/* Of the places that have a truth, at equal distances, as many as there is room for. */
struct at_sample {
    int64_t count, labels;
    int64_t *at;    /* [places]: the number of the place in the sample, -1: it is not there */
    float *logits;  /* [count][labels] */
    int32_t *truth; /* [count], of classes */
    float *applies; /* [count][labels], of several labels */
};

void at_sample_free(attn_context *context, struct at_sample *sample) {
    if (!sample) return;
    at_release(context, sample->at);
    at_release(context, sample->logits);
    at_release(context, sample->truth);
    at_release(context, sample->applies);
    at_release(context, sample);
}

/* Numbers the places of the sample; how many there are. */
static int64_t choose_places(const at_row_targets *targets, int several, int64_t labels, int64_t *at) {
    int64_t known = 0, chosen = 0;
    for (int64_t i = 0; i < targets->places; i++) known += several || targets->classes[i] >= 0;
    int64_t most = MOST_LOGITS / labels > 1 ? MOST_LOGITS / labels : 1, stride = (known + most - 1) / most;
    known = 0;
    for (int64_t i = 0; i < targets->places; i++) {
        at[i] = -1;
        if (!several && targets->classes[i] < 0) continue;
        if (known++ % stride == 0) at[i] = chosen++;
    }
    return chosen;
}

attn_status at_sample_create(attn_context *context, const at_row_head *head, const at_targets *from,
                             struct at_sample **sample) {
    const at_row_targets *targets = (const at_row_targets *)(const void *)from;
    int several = head->head.kind->several;
    int64_t labels = head->labels.strings.count;
    struct at_sample *made = *sample = at_allocate(context, 1, sizeof *made, "a sample");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->labels = labels;
    made->at = at_allocate(context, targets->places, sizeof *made->at, "a sample");
    if (!made->at) return ATTN_OUT_OF_MEMORY;
    made->count = choose_places(targets, several, labels, made->at);
    made->logits = at_allocate(context, made->count * labels, sizeof *made->logits, "a sample");
    if (several)
        made->applies = at_allocate(context, made->count * labels, sizeof *made->applies, "a sample");
    else
        made->truth = at_allocate(context, made->count, sizeof *made->truth, "a sample");
    if (!made->logits || !(several ? (void *)made->applies : (void *)made->truth)) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < targets->places; i++) {
        int64_t number = made->at[i];
        if (number < 0) continue;
        if (!several) made->truth[number] = targets->classes[i];
        for (int64_t l = 0; several && l < labels; l++)
            made->applies[number * labels + l] = targets->numbers[i * labels + l];
    }
    return ATTN_OK;
}

/* A probability of 0 is that of the smallest number there is. */
static double logarithm(double probability) { return log(probability > FLT_MIN ? probability : FLT_MIN); }

void at_sample_put(const at_row_head *head, struct at_sample *sample, const float *row, int averaged,
                   int64_t place) {
    int64_t number = sample->at[place];
    if (number < 0) return;
    float *into = sample->logits + number * sample->labels;
    for (int64_t l = 0; l < sample->labels; l++) {
        double p = (double)row[l];
        if (!averaged)
            into[l] = row[l];
        else
            into[l] = (float)(head->head.kind->several ? logarithm(p) - logarithm(1 - p) : logarithm(p));
    }
}

/* Several labels: whether each of them applies is a choice of two, with logits z and 0. */
static attn_status fit_labels(attn_context *context, const struct at_sample *sample, double *temperature) {
    int64_t count = sample->count * sample->labels;
    float *pairs = at_allocate(context, 2 * count, sizeof *pairs, "a sample");
    int32_t *truth = at_allocate(context, count, sizeof *truth, "a sample");
    if (pairs && truth) {
        for (int64_t i = 0; i < count; i++) {
            pairs[2 * i] = sample->logits[i];
            truth[i] = !(sample->applies[i] > 0.5f);
        }
        *temperature = at_fit_temperature(pairs, truth, count, 2);
    }
    attn_status status = pairs && truth ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    at_release(context, pairs);
    at_release(context, truth);
    return status;
}

attn_status at_sample_fit(attn_context *context, const struct at_sample *sample, at_row_head *head) {
    head->temperature = 1;
    if (sample->count < AT_LEAST_CALIBRATED || sample->labels < 1) return ATTN_OK;
    if (head->head.kind->several) return fit_labels(context, sample, &head->temperature);
    head->temperature = at_fit_temperature(sample->logits, sample->truth, sample->count, sample->labels);
    return ATTN_OK;
}
