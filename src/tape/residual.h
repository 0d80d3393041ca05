/* residual.h (private): x + dropout(branch), for blocks.
 *
 * As attn_tape_add(x, attn_tape_dropout(branch)), with the same mask and bits,
 * except that the branch must not be used afterwards: where the operation that
 * made it does not read its result again (`spare`), the sum takes its memory.
 */
#ifndef AT_TAPE_RESIDUAL_H
#define AT_TAPE_RESIDUAL_H

#include "tape/tape.h"

attn_variable *at_tape_residual(attn_tape *tape, attn_variable *x, attn_variable *branch, float dropout);

#endif
