/* attn.h: the whole public API of libattn.
 *
 *     attn/status.h      what a call returns
 *     attn/context.h     threads, working memory, the last error
 *     attn/tensor.h      views of the caller's memory
 *     attn/pattern.h     who sees whom: ragged rows, reach, mask, graph
 *     attn/graph.h       graphs: edges as compressed rows, and their helpers
 *     attn/attention.h   the attention operator
 *     attn/linear.h      the linear operator
 *     attn/machine.h     the limits of this machine, measured
 *     attn/ragged.h      sequences of different lengths, one after another
 *     attn/parameters.h  what a network learns
 *     attn/tape.h        records operations as they run, and walks them back
 *     attn/operations.h  the operations
 *     attn/layers.h      operations with their parameters: attention, mixers, blocks
 *     attn/encoder.h     encoders and decoders
 *     attn/optimizer.h   what changes the parameters
 *     attn/dataset.h     examples read from files
 *     attn/config.h      everything that decides what a model is, by name
 *     attn/model.h       a trained network in one file, and what it predicts
 *     attn/generate.h    answers of their own length: search, and the continuation of a text
 *     attn/report.h      how right it is
 *     attn/scores.h      how close texts are: edit distance, BLEU, chrF
 *     attn/trainer.h     from examples to a model file
 */
#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <attn/attention.h>
#include <attn/config.h>
#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/encoder.h>
#include <attn/export.h>
#include <attn/generate.h>
#include <attn/graph.h>
#include <attn/layers.h>
#include <attn/linear.h>
#include <attn/machine.h>
#include <attn/model.h>
#include <attn/operations.h>
#include <attn/optimizer.h>
#include <attn/parameters.h>
#include <attn/pattern.h>
#include <attn/ragged.h>
#include <attn/report.h>
#include <attn/scores.h>
#include <attn/status.h>
#include <attn/tape.h>
#include <attn/tensor.h>
#include <attn/trainer.h>

#define ATTN_VERSION_MAJOR 0
#define ATTN_VERSION_MINOR 1
#define ATTN_VERSION_PATCH 0

ATTN_BEGIN_DECLS

/* "major.minor.patch" of the library that is linked. */
ATTN_API const char *attn_version(void);

ATTN_END_DECLS

#endif
