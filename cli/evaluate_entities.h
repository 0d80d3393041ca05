/* evaluate_entities.h: the entities of a report as a table. */
#ifndef CLI_EVALUATE_ENTITIES_H
#define CLI_EVALUATE_ENTITIES_H

#include <attn/attn.h>

/* A line for each type that occurs, the most frequent first; nothing where labels are no tags of entities. */
void evaluate_print_entities(const attn_report *report, int output);

#endif
