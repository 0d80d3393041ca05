/* sides.c: the two sides of pairs as texts. */
#include "base/context.h"
#include "data/dataset.h"

attn_status at_dataset_sides(const attn_dataset *pairs, int sources, int targets, attn_dataset **texts) {
    attn_dataset *made;
    attn_status status =
        at_dataset_create(pairs->context, at_string(&pairs->name, 0), ATTN_FORMAT_LINES, 0, &made);
    if (status != ATTN_OK) return status;
    for (int side = 0; side < 2; side++) {
        const at_strings *list = side ? &pairs->targets : &pairs->tokens;
        if (!(side ? targets : sources)) continue;
        for (int64_t i = 0; i < pairs->examples && status == ATTN_OK; i++) {
            status =
                at_dataset_token(made, at_string(list, i), at_string_length(list, i), pairs->lines[i], 0);
            if (status == ATTN_OK) status = at_dataset_end(made, "", 0);
        }
    }
    if (status != ATTN_OK) {
        attn_dataset_destroy(made);
        return status;
    }
    *texts = made;
    return ATTN_OK;
}
