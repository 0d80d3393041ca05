/* rare.h: what a report says about rare classes. */
#ifndef CLI_RARE_H
#define CLI_RARE_H

#include <stdio.h>

#include <attn/config.h>
#include <attn/model.h>
#include <attn/report.h>

/* The classes below 5 % of the data of an output with their recall, the lowest first, and, where training
 * could give them more weight, how. Nothing if there are none. config: how the model was trained. */
void rare_print(FILE *to, const attn_report *report, int output, attn_config *config);

/* All such classes of all outputs, as a member of a JSON object with the comma after it: "rare_classes":
 * [{"label", "support", "recall"} ...], with "output" first if there are several. Nothing of a model without
 * classes. */
void rare_print_json(FILE *to, const attn_report *report, const attn_model *model);

#endif
