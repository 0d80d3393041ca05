/* core.h of the last release, without its comments (tests/test_frozen.sh). */
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

ATTN_API const char *attn_version(void);

ATTN_END_DECLS

#endif
