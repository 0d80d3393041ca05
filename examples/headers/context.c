/* context.c: attn/context.h: threads, instruction set, working memory that is reserved once. */
#include <attn/context.h>
#include <stdio.h>

int main(void) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 2;
    attn_context *context;
    if (attn_context_create(&options, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    printf("%d threads, %s\n", attn_context_threads(context), attn_context_isa(context));
    attn_status status =
        attn_context_reserve(context, 1 << 20); /* later calls that need no more allocate nothing */
    printf("%zu bytes of working memory\n", attn_context_memory(context));
    int right = status == ATTN_OK && attn_context_memory(context) >= 1 << 20;
    attn_context_destroy(context);
    return !right;
}
