/* machine.c: attn/machine.h: what this machine can reach, to compare with. */
#include <attn/machine.h>
#include <stdio.h>

int main(void) {
    attn_context *context;
    double gflops = 0;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_machine_fma_peak(context, 0.02, &gflops) != ATTN_OK) return puts(attn_context_error(context)), 1;
    printf("%.1f GFLOP/s on %d threads\n", gflops, attn_context_threads(context));
    attn_context_destroy(context);
    return !(gflops > 0);
}
