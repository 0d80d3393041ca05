/* tensor.c: attn/tensor.h: views of memory; any order of rows, heads and channels is a matter of strides. */
#include <attn/tensor.h>
#include <stdio.h>

static float numbers[2 * 4 * 3 * 8]; /* batch 2, heads 4, rows 3, channels 8 */

int main(void) {
    attn_tensor rows = attn_tensor_rows(numbers, 6, 4, 8);    /* rows x heads x channels */
    attn_tensor bhnd = attn_tensor_bhnd(numbers, 2, 4, 3, 8); /* as the big frameworks lay it out */
    attn_tensor second_head = rows;                           /* a view of a view: */
    second_head.data = (float *)rows.data + rows.stride[1];   /* begin one head later, */
    second_head.shape[1] = 1;                                 /* and take one */
    printf("a row is %lld floats after the one before it; in bhnd %lld\n", (long long)second_head.stride[0],
           (long long)bhnd.stride[1]);
    return second_head.stride[0] != 32 || bhnd.stride[1] != 8 || bhnd.shape[2] != 4;
}
