/* core.h: operators, tape, layers and optimisers. They need only libc, libm and threads, and form
 * libattn_core. attn/attn.h adds what reads files, trains and predicts.
 *
 *     attn/status.h      the status that calls return
 *     attn/context.h     threads, working memory, the last error
 *     attn/tensor.h      views of the caller's memory
 *     attn/pattern.h     which queries see which keys: ragged rows, reach, mask, graph
 *     attn/graph.h       graphs: edges as compressed rows, and their helpers
 *     attn/attention.h   the attention operator
 *     attn/matmul.h      the product with a weight, act(x W^T + b), of linear layers
 *     attn/machine.h     measures the limits of this machine
 *     attn/ragged.h      batches of sequences of different lengths
 *     attn/parameters.h  the trainable parameters of a network
 *     attn/tape.h        records operations and computes gradients
 *     attn/operations.h  the operations
 *     attn/layers.h      layers with parameters: attention, mixers, blocks
 *     attn/encoder.h     encoders and decoders
 *     attn/optimizer.h   SGD, AdamW, learning rate schedules
 *     attn/export.h      ATTN_API and ATTN_INIT, which the other headers use
 *
 * ---- rules for all headers ----
 *
 * Status. A function that can fail returns an attn_status; 0 is success. Its comment lists the errors. After
 * a failure the results are untouched, unless the comment says otherwise, and attn_context_error has the
 * message. Operations on a tape and layers return a pointer instead, which is NULL after a failure; the tape
 * or the set of parameters keeps the first error (attn/tape.h, attn/parameters.h).
 *
 * NULL. A NULL argument that the comment does not allow is INVALID_ARGUMENT. If it is the object through
 * which the function finds the context (attn_optimizer_step(NULL)), there is nowhere to put a message: the
 * function only returns the status. Destroy functions allow NULL. Functions that return a value (getters)
 * allow NULL and an index out of range; they return
 *
 *     a pointer or a text    NULL
 *     an integer             0
 *     a double or float      NaN
 *     a struct               all members 0
 *
 * and functions that return nothing do nothing. The comment of a function says where it differs.
 *
 * Memory. What a create, read or load function makes belongs to the caller, who passes it to the destroy
 * function at the end. A text or an array that a getter returns belongs to the object that was asked. It is
 * valid as long as the object exists, unless the comment gives a shorter time. Arrays and texts that the
 * caller passes are read during the call, and copied if they are needed later, unless the comment says
 * otherwise. The context must outlive everything that was made with it.
 *
 * Threads. A context and everything that was made with it are used by one thread at a time, unless the header
 * says otherwise: graphs, for example, do not change after they are made, and threads may share them.
 * Functions without an object (attn_status_name, attn_tensor_rows, attn_context_create) may be called by any
 * thread at any time.
 *
 * Structs. A struct that begins with `size` may grow in later versions: call its init function first.
 * attn_map and attn_training_state, which only the library makes, may also grow. All other structs are plain
 * and do not change (docs/design.md).
 *
 * Versions. Within a minor version (0.1.x) functions stay, and structs follow these rules. Before 1.0 a new
 * minor version may break the API and the ABI, but it keeps the status values. The name of the shared library
 * then changes, from libattn.so.0.1 to libattn.so.0.2.
 *
 * What is not checked. A call cannot see that an array is shorter than its comment demands, or was freed.
 * Arrays must be aligned for their type, and results must not overlap other arguments: attn/tensor.h says
 * which calls check this. Texts are UTF-8 and end with a 0; functions that need valid UTF-8 check it.
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
