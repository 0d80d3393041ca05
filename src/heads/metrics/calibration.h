/* calibration.h: the calibration error of probabilities, and the temperature that calibrates them. */
#ifndef AT_HEADS_METRICS_CALIBRATION_H
#define AT_HEADS_METRICS_CALIBRATION_H

#include <stdint.h>

#include <attn/context.h>

/* A prediction: the probability of the label that was answered, and whether it is the right one. */
typedef struct at_confident {
    double confidence;
    int right; /* 0 or 1 */
} at_confident;

enum { AT_CALIBRATION_BINS = 15 };
/* As attn_metric_calibration_error says; sorts the list. NaN of an empty one. */
double at_calibration_error(at_confident *list, int64_t count);

/* Temperatures outside of these are not fitted; below so many examples none is. */
#define AT_LEAST_TEMPERATURE 0.05
#define AT_MOST_TEMPERATURE 20.0
enum { AT_LEAST_CALIBRATED = 50 };

/* The temperature T that minimises the log loss of softmax(logits / T), logits: [count][classes], truth in
 * 0 .. classes - 1. 1 where there are fewer than AT_LEAST_CALIBRATED examples, or the optimum is out of range
 * (if every prediction is right, the loss falls for ever). */
double at_fit_temperature(const float *logits, const int32_t *truth, int64_t count, int64_t classes);

#endif
