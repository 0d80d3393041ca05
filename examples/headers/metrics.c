/* metrics.c: attn/metrics.h: BLEU of a corpus, and how well probabilities separate two classes. */
#include <attn/metrics.h>
#include <stdio.h>

int main(void) {
    static const char *const answers[] = {"the cat sat on a red mat"}, *const right[] = {
                                                                           "the cat sat on the red mat"};
    static const int32_t truth[] = {1, 0, 1, 0};
    static const double ranked[] = {0.9, 0.8, 0.7, 0.1};
    attn_context *context;
    attn_bleu bleu;
    attn_ranking ranking;
    attn_bleu_init(&bleu);
    attn_ranking_init(&ranking);
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_metric_bleu(context, answers, right, 1, 0, &bleu) != ATTN_OK ||
        attn_metric_ranking(context, truth, ranked, 4, &ranking) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("BLEU %.2f, area under the ROC curve %.2f\n", bleu.score, ranking.roc_auc);
    attn_context_destroy(context);
    return ranking.roc_auc != 0.75 || !(bleu.score > 40 && bleu.score < 60);
}
