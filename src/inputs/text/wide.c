/* wide.c: a text as one bag of hashed features, whose sum is added to the logits of a head.
 *
 *     logits = rate * (bias + sum over units' n-grams / sqrt(their number)
 *                           + sum over letters' n-grams / sqrt(their number))
 *
 * where each feature is a row of a table [buckets + 1][logits], which starts at 0; the last row is the bias.
 * n-grams of units are a chain of the units' hashes in lower case, seeded with their length; those of letters
 * are made once for each distinct unit (features.c). The two sums are scaled separately, because otherwise
 * the letters, which are many more, would dominate.
 */
#include <math.h>
#include <string.h>

#include <attn/operations.h>

#include "base/memory.h"
#include "base/random.h"
#include "inputs/text/text.h"

enum { SEED_CHAIN = 128 };

/* How many n-grams of 1 .. longest units a text has. */
static int64_t count_grams(int64_t units, int64_t longest) {
    int64_t count = 0;
    for (int64_t n = 1; n <= longest && n <= units; n++) count += units - n + 1;
    return count;
}

static float share(int64_t count) { return count ? (float)(1.0 / sqrt((double)count)) : 0; }

static attn_status make_room(at_text_batch *batch, int64_t more) {
    at_text_wide *wide = &batch->wide;
    attn_context *context = batch->batch.context;
    attn_status status = at_grow(context, &wide->ids, &wide->id_room, wide->used + more, sizeof *wide->ids,
                                 "features of texts");
    if (status == ATTN_OK)
        status = at_grow(context, &wide->weights, &wide->weight_room, wide->used + more,
                         sizeof *wide->weights, "features of texts");
    return status;
}

attn_status at_text_put_wide(const at_text_input *input, const at_text_encoded *encoded, int64_t first,
                             int64_t count, at_text_batch *batch) {
    const at_text_values *values = &input->values;
    const at_lexicon *lexicon = count ? encoded->lexicon : NULL;
    at_text_wide *wide = &batch->wide;
    int64_t letters = 0, grams = count_grams(count, values->wide_units);
    for (int64_t row = first; row < first + count; row++)
        letters += lexicon->entries[encoded->units[row]].wide_count;
    attn_status status = make_room(batch, letters + grams + 1);
    if (status != ATTN_OK) return status;
    int32_t *ids = wide->ids + wide->used;
    float *weights = wide->weights + wide->used;
    for (int64_t row = first; row < first + count; row++) {
        const at_entry *entry = &lexicon->entries[encoded->units[row]];
        if (!entry->wide_count) continue;
        memcpy(ids, lexicon->features.ids + entry->features + entry->feature_count,
               (size_t)entry->wide_count * sizeof *ids);
        ids += entry->wide_count;
    }
    for (int64_t n = 1; n <= values->wide_units; n++) {
        for (int64_t row = first; row + n <= first + count; row++) {
            uint64_t hash = at_splitmix64((uint64_t)(SEED_CHAIN + n));
            for (int64_t k = row; k < row + n; k++)
                hash = at_splitmix64(hash ^ lexicon->entries[encoded->units[k]].wide_hash);
            *ids++ = (int32_t)(hash % (uint64_t)values->wide_buckets);
        }
    }
    *ids = (int32_t)values->wide_buckets;
    for (int64_t i = 0; i < letters; i++) *weights++ = share(letters);
    for (int64_t i = 0; i < grams; i++) *weights++ = share(grams);
    *weights = 1;
    wide->used += letters + grams + 1;
    return ATTN_OK;
}

/* What is left weighs more, so that a logit is as large as without. The bias, which is last, stays. */
void at_text_hide_wide(const at_text_values *values, uint64_t seed, int64_t texts, at_text_wide *wide) {
    uint32_t threshold = at_random_threshold((float)values->wide_dropout);
    float more = (float)(1.0 / (1.0 - values->wide_dropout));
    if (!(values->wide_dropout > 0)) return;
    for (int64_t text = 0; text < texts; text++) {
        at_row_key key = at_random_row(seed, text, 1, 0);
        int64_t begin = wide->offsets[text], bias = wide->offsets[text + 1] - 1;
        for (int64_t i = begin; i < bias; i++) {
            wide->weights[i] *= more;
            if (at_random_word(key, (uint32_t)(i - begin)) < threshold) wide->ids[i] = -1;
        }
    }
}

/* ---- the layer ---- */

void *at_text_build_wide(const at_input *input, attn_parameters *set, const char *name, int64_t columns) {
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_ZERO;
    int64_t shape[2] = {at_text_of(input)->values.wide_buckets + 1, columns};
    return attn_parameters_add(set, name, 2, shape, &options);
}

attn_variable *at_text_apply_wide(const at_input *input, const void *layer, attn_tape *tape,
                                  const at_batch *batch) {
    const at_text_wide *wide = &((const at_text_batch *)(const void *)batch)->wide;
    attn_parameter *table = (attn_parameter *)(uintptr_t)layer; /* its gradient is written to */
    attn_variable *logits =
        attn_tape_weighted_bag(tape, table, wide->ids, wide->weights, wide->offsets, batch->sequences);
    return attn_tape_scale(tape, logits, (float)at_text_of(input)->values.wide_rate);
}
