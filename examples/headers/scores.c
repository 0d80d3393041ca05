/* scores.c: attn/scores.h: a program that uses the old name of attn_metric_bleu. */
#include <attn/scores.h>
#include <stdio.h>

int main(void) {
    static const char *const texts[] = {"the cat sat on the mat"};
    attn_context *context;
    attn_bleu bleu;
    attn_bleu_init(&bleu);
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_score_bleu(context, texts, texts, 1, 0, &bleu) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("BLEU %.2f\n", bleu.score);
    attn_context_destroy(context);
    return !(bleu.score > 99.9);
}
