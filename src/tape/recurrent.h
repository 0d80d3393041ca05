/* recurrent.h (private): recurrent networks that continue where earlier rows ended.
 *
 * As attn_tape_recurrent in one direction, for the next rows of one sequence, on a
 * tape that predicts. state is tensor memory, h and then, of an LSTM, c, [hidden]
 * each: what the rows before left, and what these leave.
 */
#ifndef AT_TAPE_RECURRENT_H
#define AT_TAPE_RECURRENT_H

#include "tape/tape.h"

attn_variable *at_tape_recurrent_on(attn_tape *tape, attn_variable *x, attn_recurrence kind,
                                    const attn_recurrent_weights *weights, float *state);

#endif
