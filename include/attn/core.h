/* core.h: operators, tape, layers and optimisers, which need libc, libm and threads
 * alone: what libattn_core has. attn/attn.h is this and all that reads files.
 *
 *     attn/status.h      what a call returns
 *     attn/context.h     threads, working memory, the last error
 *     attn/tensor.h      views of the caller's memory
 *     attn/pattern.h     who sees whom: ragged rows, reach, mask, graph
 *     attn/graph.h       graphs: edges as compressed rows, and their helpers
 *     attn/attention.h   the attention operator
 *     attn/matmul.h      the product with a weight, act(x W^T + b), of linear layers
 *     attn/machine.h     the limits of this machine, measured
 *     attn/ragged.h      sequences of different lengths, one after another
 *     attn/parameters.h  what a network learns
 *     attn/tape.h        records operations as they run, and walks them back
 *     attn/operations.h  the operations
 *     attn/layers.h      operations with their parameters: attention, mixers, blocks
 *     attn/encoder.h     encoders and decoders
 *     attn/optimizer.h   what changes the parameters
 */
#ifndef ATTN_CORE_H
#define ATTN_CORE_H

#include <attn/attention.h>
#include <attn/context.h>
#include <attn/encoder.h>
#include <attn/export.h>
#include <attn/graph.h>
#include <attn/layers.h>
#include <attn/machine.h>
#include <attn/matmul.h>
#include <attn/operations.h>
#include <attn/optimizer.h>
#include <attn/parameters.h>
#include <attn/pattern.h>
#include <attn/ragged.h>
#include <attn/status.h>
#include <attn/tape.h>
#include <attn/tensor.h>

#define ATTN_VERSION_MAJOR 0
#define ATTN_VERSION_MINOR 1
#define ATTN_VERSION_PATCH 0

ATTN_BEGIN_DECLS

/* "major.minor.patch" of the library that is linked. */
ATTN_API const char *attn_version(void);

ATTN_END_DECLS

#endif
