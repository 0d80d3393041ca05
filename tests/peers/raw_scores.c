/* raw_scores.c: what the library scores of CoNLL-U against CoNLL-U, for test_raw_scores.py, which builds it.
 *
 *     raw_scores COLUMNS [GOLD SYSTEM]...
 *
 * A line for each pair of files: "error ...", or for tokens, sentences, words, each column and all of them:
 * right gold system aligned precision recall f1 accuracy.
 */
#include <inttypes.h>
#include <stdio.h>

#include <attn/attn.h>

#include "inputs/text/raw_side.h"

static void print_score(const at_f1 *score) {
    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.17g %.17g %.17g %.17g ", score->right,
           score->gold, score->system, score->aligned, score->precision, score->recall, score->f1,
           score->accuracy);
}

static attn_status compare(attn_context *context, const attn_dataset *gold, const attn_dataset *system) {
    enum { MOST = 16 };
    at_raw_side sides[2] = {{.words = 0}, {.words = 0}};
    at_f1 tokens, sentences, words, tags[MOST];
    attn_status status = gold->columns.count < MOST ? ATTN_OK : ATTN_INVALID_ARGUMENT;
    if (status == ATTN_OK) status = at_raw_side_read(gold, &gold->targets, &sides[0]);
    if (status == ATTN_OK) status = at_raw_side_read(system, &system->targets, &sides[1]);
    if (status == ATTN_OK)
        status =
            at_raw_compare(context, &sides[0], &sides[1], &gold->columns, &tokens, &sentences, &words, tags);
    if (status == ATTN_OK) {
        print_score(&tokens);
        print_score(&sentences);
        print_score(&words);
        for (int64_t c = 0; c <= gold->columns.count; c++) print_score(&tags[c]);
        printf("\n");
    }
    for (int i = 0; i < 2; i++) at_raw_side_free(context, &sides[i]);
    return status;
}

int main(int count, char **arguments) {
    attn_context *context;
    if (count < 2 || attn_context_create(NULL, &context) != ATTN_OK) return 2;
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_CONLLU;
    options.column = arguments[1];
    options.labelled = 0;
    for (int i = 2; i + 1 < count; i += 2) {
        attn_dataset *gold = NULL, *system = NULL;
        attn_status status = attn_dataset_read(context, arguments[i], &options, &gold);
        if (status == ATTN_OK) status = attn_dataset_read(context, arguments[i + 1], &options, &system);
        if (status == ATTN_OK) status = compare(context, gold, system);
        if (status != ATTN_OK) printf("error %s\n", attn_context_error(context));
        attn_dataset_destroy(gold);
        attn_dataset_destroy(system);
    }
    attn_context_destroy(context);
    return 0;
}
