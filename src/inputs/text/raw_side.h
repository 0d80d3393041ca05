/* raw_side.h: a dataset of tokens as one side of what raw_metrics.h compares. */
#ifndef AT_INPUTS_TEXT_RAW_SIDE_H
#define AT_INPUTS_TEXT_RAW_SIDE_H

#include "inputs/input.h"
#include "inputs/text/raw_metrics.h"
#include "inputs/text/texts.h"

/* *side, which is all 0, points into the dataset and to the tags (string row * columns + column). Tokens are
 * those of the text (raw_text.h), without white space. Errors: INVALID_ARGUMENT (not tokens; one that has
 * nothing but white space, and where), OUT_OF_MEMORY. It is to be freed in any case. */
attn_status at_raw_side_read(const attn_dataset *dataset, const at_strings *tags, at_raw_side *side);
void at_raw_side_free(attn_context *context, at_raw_side *side);

/* The kind's interface: see at_input_kind. */
attn_status at_text_raw(const at_input *input, const attn_dataset *dataset, attn_dataset **raw);
attn_status at_text_raw_metrics(attn_context *context, const at_raw_tags *gold, const at_raw_tags *split,
                                const at_strings *columns, at_raw_metric add, void *user);

#endif
