/* ragged.c: attn/ragged.h: sequences of different lengths, one after another, never padded. */
#include <attn/ragged.h>
#include <stdio.h>

int main(void) {
    static const int64_t offsets[] = {0, 3, 3, 5}; /* three rows, none, two */
    const attn_ragged batch = {3, offsets};
    for (int64_t b = 0; b < batch.sequences; b++)
        printf("sequence %lld: %lld rows from row %lld on\n", (long long)b,
               (long long)(batch.offsets[b + 1] - batch.offsets[b]), (long long)batch.offsets[b]);
    return batch.offsets[batch.sequences] != 5; /* all rows */
}
