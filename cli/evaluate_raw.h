/* evaluate_raw.h: the report of `attn eval --raw` as a table. */
#ifndef CLI_EVALUATE_RAW_H
#define CLI_EVALUATE_RAW_H

#include <attn/attn.h>

/* Precision, recall and F1 of sentences, tokens, words and the tags of each output, a line each. */
void evaluate_print_raw(const attn_report *report, const attn_model *model);

#endif
