/* sequences.h: answers of their own length (task seq2seq), as lines and as JSON.
 *
 *     answer
 *     1 TAB -0.1234 TAB answer         with --n-best; 1 is the first answer to a source
 *     answer TAB 0-0 1-1 2-3           with --alignment: the unit of the source at which each symbol looks
 * most
 */
#ifndef CLI_SEQUENCES_H
#define CLI_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

#include "answers.h"

typedef struct sequences {
    const answers *how;
    bool ranked; /* with rank and score */
    bool alignment;
} sequences;

/* All answers to the sources of a dataset on standard output. */
void sequences_print(const sequences *print, const attn_dataset *dataset, const attn_answers *answered);

/* The unit of the source that symbol `symbol` of an answer looks at most; -1 if there is no alignment. */
int64_t sequences_strongest(const attn_answers *answered, int64_t example, int64_t number, int64_t symbol);

#endif
