/* attn.h: the whole public API of libattn.
 *
 *     attn/core.h        operators, tape, layers, optimisers: what libattn_core has too
 *     attn/dataset.h     examples read from files
 *     attn/config.h      everything that decides what a model is, by name
 *     attn/model.h       trained networks in one file
 *     attn/explain.h     what an answer looks at, drawn
 *     attn/predictor.h   what a model predicts: labels, numbers, sequences, continuations, vectors
 *     attn/report.h      how right it is
 *     attn/scores.h      how close texts are: edit distance, BLEU, chrF
 *     attn/stream.h      recordings that come in pieces, answered as they come
 *     attn/trainer.h     from examples to a model file
 */
#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <attn/config.h>
#include <attn/core.h>
#include <attn/dataset.h>
#include <attn/exchange.h>
#include <attn/explain.h>
#include <attn/model.h>
#include <attn/predictor.h>
#include <attn/report.h>
#include <attn/scores.h>
#include <attn/stream.h>
#include <attn/text.h>
#include <attn/trainer.h>
#include <attn/workers.h>

#endif
