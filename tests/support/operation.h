/* operation.h: checks one operation of the tape, or a whole block of them.
 *
 * A case names the inputs and parameters, runs the operation on a tape, and
 * says in double what it should give. operation_check then compares, on every
 * instruction set,
 *
 *   - the result with the oracle's: the error may be OPERATION_FACTOR times
 *     what the oracle's own result moves by when its inputs are moved by half
 *     a unit in the last place of f32 (so the format's own error), plus as
 *     many roundings of the largest number;
 *   - the gradient of every input and parameter, number by number and with its
 *     sign, with central differences of the oracle in double, within
 *     1e-5 * the largest of that tensor (1e-5 where all are 0);
 *   - 1, 2 and 7 threads, bit by bit, results and gradients;
 *   - a tape that records nothing, bit by bit;
 *   - gradients of two backward passes that add up.
 *
 * With `build` the parameters are those of a layer: build makes it in the set
 * that it is given (and keeps it in user, for run), and the oracle finds its
 * parameters in the order in which the layer added them.
 */
#ifndef TEST_SUPPORT_OPERATION_H
#define TEST_SUPPORT_OPERATION_H

#include <stdint.h>

#include <attn/attn.h>

enum { OPERATION_TENSORS = 24, OPERATION_FACTOR = 16 };

typedef struct operation_tensor {
    int64_t rows, columns; /* of a parameter: rank 2, or rank 1 if rows is 0, or rank 3 if depth > 0 */
    int64_t depth;         /* a parameter of rows x depth x columns */
    float amplitude;       /* normal numbers times this; 0: 1 */
    int fixed;             /* of an input: wants no gradient; of a parameter: frozen */
} operation_tensor;

typedef struct operation_case {
    const char *name;
    int inputs, parameters;
    operation_tensor input[OPERATION_TENSORS], parameter[OPERATION_TENSORS];
    int64_t rows, columns; /* of the result */
    uint64_t seed;
    void *user;
    void (*build)(attn_parameters *set, void *user);
    attn_variable *(*run)(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user);
    void (*reference)(double *const *input, double *const *parameter, double *result, void *user);
    /* Where gradients need not be looked at number by number (the oracle is
     * slow): how many numbers of each tensor are checked, evenly spread. 0: all. */
    int64_t checked;
    /* 0: the rule above. Else the gradients' 1e-5 becomes this, for a reason said where it is set. */
    double gradient_tolerance;
} operation_case;

void operation_check(const operation_case *c);

#endif
