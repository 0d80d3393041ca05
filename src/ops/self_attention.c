/* self_attention.c: the short form of attention: ragged rows, every head with keys of its own, full or
 * causal.
 *
 * It fills in the views and the pattern of the operator (ops/attention.c), and names mistakes as its own
 * arguments have them.
 */
#include <attn/attention.h>

#include <inttypes.h>

#include "base/context.h"

attn_status attn_self_attention(attn_context *context, const float *query, const float *key,
                                const float *value, float *output, const int64_t *offsets, int64_t sequences,
                                int64_t heads, int64_t d, attn_reach reach) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!offsets) return at_fail(context, ATTN_INVALID_ARGUMENT, "offsets is NULL");
    if (sequences < 0 || sequences > INT32_MAX)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "sequences is %" PRId64, sequences);
    if (heads < 1) return at_fail(context, ATTN_INVALID_ARGUMENT, "heads is %" PRId64, heads);
    if (d < 1 || d > ATTN_MAX_CHANNELS)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "d is %" PRId64 "; a head has 1 to %d channels", d,
                       ATTN_MAX_CHANNELS);
    if (reach != ATTN_FULL && reach != ATTN_CAUSAL)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reach is %d, not ATTN_FULL or ATTN_CAUSAL",
                       (int)reach);
    if (offsets[sequences] < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "offsets[%" PRId64 "] is %" PRId64, sequences,
                       offsets[sequences]);
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.sequences = sequences;
    pattern.query_offsets = offsets;
    if (reach == ATTN_CAUSAL) pattern.right = 0;
    /* Inputs are only read: a view has no constant form. */
    const attn_tensor q = attn_tensor_rows((void *)(uintptr_t)query, offsets[sequences], heads, d);
    const attn_tensor k = attn_tensor_rows((void *)(uintptr_t)key, offsets[sequences], heads, d);
    const attn_tensor v = attn_tensor_rows((void *)(uintptr_t)value, offsets[sequences], heads, d);
    const attn_tensor o = attn_tensor_rows(output, offsets[sequences], heads, d);
    return attn_attention_forward(context, &pattern, NULL, &q, &k, &v, &o, NULL, NULL);
}
