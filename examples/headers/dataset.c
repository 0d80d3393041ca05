/* dataset.c: attn/dataset.h: labelled texts as they stand in a file, read from memory. */
#include <attn/dataset.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static const char file[] = "good\ta fine film\nbad\ta dull film\nbad\tnot fine\n";
    attn_context *context;
    attn_dataset *data;
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.per_token = 0; /* a label per text */
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_dataset_parse(context, "films.tsv", 1, file, strlen(file), &options, &data) != ATTN_OK)
        return puts(attn_context_error(context)), 1; /* with the line that is wrong */
    for (int64_t e = 0; e < attn_dataset_examples(data); e++)
        printf("%-5s %s\n", attn_dataset_target(data, 0, e, 0), attn_dataset_token(data, e, 0));
    int right = attn_dataset_examples(data) == 3 && strcmp(attn_dataset_target(data, 0, 2, 0), "bad") == 0;
    attn_dataset_destroy(data);
    attn_context_destroy(context);
    return !right;
}
