/* attn.c: attn/attn.h: everything. From labelled texts in memory to an answer; the trainer writes no file. */
#include <attn/attn.h>
#include <stdio.h>

int main(void) {
    static const char *const texts[] = {"a fine film", "a dull film"}, *const labels[] = {"good", "bad"};
    attn_context *context;
    attn_dataset *data;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_dataset_from_texts(context, texts, NULL, 2, &data) != ATTN_OK ||
        attn_dataset_set_targets(data, 1, (const char *const[]){"mood"}, labels, 0) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("%lld texts; the second is %s\n", (long long)attn_dataset_examples(data),
           attn_dataset_target(data, 0, 1, 0));
    attn_dataset_destroy(data);
    attn_context_destroy(context);
    return 0;
}
