/* status.c: attn/status.h: what a call that can fail returns, and its name. */
#include <attn/context.h>
#include <attn/status.h>
#include <stdio.h>

int main(void) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.isa = "abacus";
    attn_context *context = NULL;
    attn_status status = attn_context_create(&options, &context);
    printf("%d is %s: %s\n", (int)status, attn_status_name(status), attn_last_create_error());
    return status != ATTN_UNSUPPORTED || context != NULL; /* results are untouched on failure */
}
