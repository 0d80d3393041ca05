/* fuzz_scores.c: any bytes as two texts, an answer and the right one, with the first line end between them:
 * scores are within bounds and those of equal texts full. Bit 0 of the first byte asks for lower case. */
#include <math.h>

#include <attn/metrics.h>

#include "fuzz_dataset.h"
#include "heads/metrics/texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int in_percent(double score) { return score >= 0 && score <= 100.0000001; }

static void check_bleu(attn_context *context, const char *answer, const char *right, int lowercase) {
    attn_bleu bleu = {.size = sizeof bleu}, same = {.size = sizeof same};
    REQUIRE(attn_metric_bleu(context, &answer, &right, 1, lowercase, &bleu) == ATTN_OK);
    REQUIRE(in_percent(bleu.score) && bleu.brevity_penalty >= 0 && bleu.brevity_penalty <= 1);
    for (int n = 0; n < 4; n++) REQUIRE(in_percent(bleu.precisions[n]));
    REQUIRE(attn_metric_bleu(context, &answer, &answer, 1, lowercase, &same) == ATTN_OK);
    REQUIRE(same.answer_tokens == same.right_tokens && same.answer_tokens == bleu.answer_tokens);
    REQUIRE(same.precisions[0] == (same.answer_tokens > 0 ? 100 : 0));
    REQUIRE(same.answer_tokens < 4 ? same.score == 0 : fabs(same.score - 100) < 1e-9);
}

static void check_chrf(attn_context *context, const char *answer, const char *right, int lowercase) {
    double score, same;
    REQUIRE(attn_metric_chrf(context, &answer, &right, 1, lowercase, &score) == ATTN_OK);
    REQUIRE(attn_metric_chrf(context, &answer, &answer, 1, lowercase, &same) == ATTN_OK);
    REQUIRE(in_percent(score) && (same == 0 || fabs(same - 100) < 1e-9));
    REQUIRE(score == 0 || same > 0);
}

static void check_distance(attn_context *context, const at_code_points *a, const at_code_points *b) {
    int64_t distance, back, most = a->count > b->count ? a->count : b->count;
    if (most > 2000) return; /* its time grows with the square */
    REQUIRE(attn_edit_distance(context, a->codes, a->count, b->codes, b->count, &distance) == ATTN_OK);
    REQUIRE(attn_edit_distance(context, b->codes, b->count, a->codes, a->count, &back) == ATTN_OK);
    REQUIRE(distance == back && distance <= most && distance >= llabs(a->count - b->count));
    int equal = a->count == b->count &&
                (a->count == 0 || memcmp(a->codes, b->codes, (size_t)a->count * sizeof *a->codes) == 0);
    REQUIRE((distance == 0) == equal);
}

static char *text_of(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    attn_context *context = fuzz_context();
    int lowercase = data[0] & 1;
    const uint8_t *end = memchr(data + 1, '\n', size - 1);
    size_t length = end ? (size_t)(end - data) - 1 : size - 1;
    char *answer = text_of(data + 1, length);
    char *right = end ? text_of(end + 1, size - length - 2) : text_of(data, 0);
    check_bleu(context, answer, right, lowercase);
    check_chrf(context, answer, right, lowercase);
    at_code_points a = {.count = 0}, b = {.count = 0};
    REQUIRE(at_code_points_read(context, answer, lowercase, &a) == ATTN_OK);
    REQUIRE(at_code_points_read(context, right, lowercase, &b) == ATTN_OK);
    check_distance(context, &a, &b);
    at_code_points_free(context, &a);
    at_code_points_free(context, &b);
    free(answer);
    free(right);
    return 0;
}
