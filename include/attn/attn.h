/* attn.h: the whole public API of libattn.
 *
 *     attn/core.h        operators, tape, layers, optimisers (also in libattn_core)
 *     attn/dataset.h     examples read from files
 *     attn/config.h      the configuration of a model and its training
 *     attn/model.h       trained networks in one file
 *     attn/examine.h     checks of data before training
 *     attn/explain.h     attention weights and contributions of a prediction, drawn
 *     attn/predictor.h   predictions: labels, numbers, sequences, continuations, vectors
 *     attn/report.h      evaluation of a model on labelled data
 *     attn/metrics.h     metrics: edit distance, BLEU, chrF, AUC, log loss, errors of numbers
 *     attn/scores.h      the old names of the metrics (deprecated)
 *     attn/stream.h      predictions for a recording while it arrives
 *     attn/trainer.h     training
 *     attn/exchange.h    several processes that train or predict together
 *     attn/workers.h     training steps whose shards run on the threads of a context
 *     attn/text.h        text made safe to print on a terminal
 *
 * ---- rules for all headers ----
 *
 * The rules of attn/core.h hold for all headers. In addition:
 *
 * Memory. A prediction, a report and an explanation are destroyed before their predictor, the predictor
 * before its model.
 *
 * Threads. A dataset does not change, except by attn_dataset_append and the attn_dataset_set_ functions, and
 * a model does not change at all. So threads may share them: each has its own context, and its own predictor
 * of the model. Functions of a dataset or model that return a status use the context with which it was made,
 * and are called by the thread that this context belongs to. Configurations, predictors, predictions,
 * reports, explanations, streams and trainers are used by one thread at a time. Functions that describe the
 * library (attn_task_name, attn_input_name, attn_setting, attn_config_flag, ...) may be called by any thread
 * at any time.
 */
#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <attn/config.h>
#include <attn/core.h>
#include <attn/dataset.h>
#include <attn/examine.h>
#include <attn/exchange.h>
#include <attn/explain.h>
#include <attn/metrics.h>
#include <attn/model.h>
#include <attn/predictor.h>
#include <attn/report.h>
#include <attn/scores.h>
#include <attn/stream.h>
#include <attn/text.h>
#include <attn/trainer.h>
#include <attn/workers.h>

#endif
