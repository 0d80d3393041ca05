/* context.h: the experiment context on real text. */
#ifndef CLI_LAB_CONTEXT_H
#define CLI_LAB_CONTEXT_H

#include "fit.h"

/* Trains the four encoders that network_of makes on tagged sentences, and measures the words that occur with
 * two or more tags. */
bool lab_context_on_text(lab *report, lab_network (*network_of)(int encoder, bool broken, int64_t steps));

#endif
