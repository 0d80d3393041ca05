/* steps.c: computes the built-in example with the library, and checks the
 * library's softmax against its definition (see steps.h).
 */
#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"

/* The four numbers of a word say how much it is about doing, a thing,
 * pointing, and describing. The matrices are chosen so that everything stays a
 * small whole number up to the softmax, and that the first word's scores are
 * 7, 5, 4, 9, 11. W_v passes on doing, thing and describing as they are. */
static const steps example = {
    .words = {"看", "小猫", "它", "好", "可爱"},
    .meanings = {"look", "kitten", "it", "so", "cute"},
    .x = {{2, 0, 1, 0}, {0, 2, 1, 0}, {0, 1, 2, 0}, {1, 0, 1, 1}, {0, 0, 1, 2}},
};
static const float query_weight[STEP_KEYS][STEP_FEATURES] = {
    {0, 1, 1, 1}, {0, 0, 0, 1}, {0, 1, 1, 0}, {1, 1, 0, 0}};
static const float key_weight[STEP_KEYS][STEP_FEATURES] = {
    {0, 1, -1, 1}, {0, 1, 1, 1}, {1, 1, 0, 0}, {1, 0, 1, 2}};
static const float value_weight[STEP_VALUES][STEP_FEATURES] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 1}};

static const double tolerance = 1e-6;

static bool ok(attn_context *context, attn_status status) {
    if (status == ATTN_OK) return true;
    fprintf(stderr, "attn explain: %s (%s)\n", attn_context_error(context), attn_status_name(status));
    return false;
}

/* output (STEP_WORDS x out) = x weight^T. */
static bool project(attn_context *context, steps *result, const float *weight, int64_t out, float *output) {
    float numbers[STEP_KEYS * STEP_FEATURES]; /* a tensor's data is not const */
    attn_packed_weight packed;
    attn_tensor matrix = attn_tensor_matrix(numbers, out, STEP_FEATURES);
    attn_tensor input = attn_tensor_matrix(result->x, STEP_WORDS, STEP_FEATURES);
    attn_tensor product = attn_tensor_matrix(output, STEP_WORDS, out);
    size_t bytes = 0;
    memcpy(numbers, weight, (size_t)out * STEP_FEATURES * sizeof numbers[0]);
    if (!ok(context, attn_weight_packed_size(context, out, STEP_FEATURES, &bytes))) return false;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fputs("attn explain: out of memory\n", stderr);
        return false;
    }
    bool done =
        ok(context, attn_weight_pack(context, &matrix, 0, memory, bytes, &packed)) &&
        ok(context, attn_matmul_forward(context, &input, &packed, NULL, ATTN_IDENTITY, &product, NULL));
    free(memory);
    return done;
}

/* Spreads the weights from the layout in which the library gives them (a
 * window is a band) over all pairs of words. */
static void spread_weights(const float *given, const attn_weights_layout *layout, steps *result) {
    memset(result->weights, 0, sizeof result->weights);
    for (int64_t i = 0; i < STEP_WORDS; i++) {
        const float *row = given + layout->offset + i * layout->width;
        for (int64_t c = 0; c < layout->width; c++) {
            int64_t j = layout->first_key + i * layout->key_step + c;
            if (j >= 0 && j < STEP_WORDS) result->weights[i][j] = (double)row[c];
        }
    }
}

static bool attend(attn_context *context, const step_options *options, steps *result) {
    float given[STEP_WORDS * STEP_WORDS];
    int64_t count = 0;
    attn_weights_layout layout = {.size = sizeof layout};
    attn_pattern pattern;
    attn_attention_options attention;
    attn_pattern_init(&pattern);
    attn_attention_options_init(&attention);
    pattern.left = options->window >= 0 ? options->window : ATTN_UNLIMITED;
    pattern.right = options->causal ? 0 : pattern.left;
    attention.scale = (float)options->scale;
    attn_tensor query = attn_tensor_rows(result->query, STEP_WORDS, 1, STEP_KEYS);
    attn_tensor key = attn_tensor_rows(result->key, STEP_WORDS, 1, STEP_KEYS);
    attn_tensor value = attn_tensor_rows(result->value, STEP_WORDS, 1, STEP_VALUES);
    attn_tensor output = attn_tensor_rows(result->output, STEP_WORDS, 1, STEP_VALUES);
    if (!ok(context, attn_attention_weights_count(context, &pattern, &query, &key, &count))) return false;
    if (!ok(context, attn_attention_weights_layout(context, &pattern, &query, &key, 0, &layout)))
        return false;
    if (count < 1 || count > STEP_WORDS * STEP_WORDS) {
        fprintf(stderr, "attn explain: the library gives %lld weights for %d words\n", (long long)count,
                STEP_WORDS);
        return false;
    }
    attn_tensor weights = attn_tensor_view(given, 1, &count);
    if (!ok(context, attn_attention_forward(context, &pattern, &attention, &query, &key, &value, &output,
                                            NULL, &weights))) {
        return false;
    }
    spread_weights(given, &layout, result);
    return true;
}

/* The scores by their definition, and who sees whom. */
static void score(const step_options *options, steps *result) {
    double scale = options->scale > 0 ? options->scale : 1 / sqrt((double)STEP_KEYS);
    for (int i = 0; i < STEP_WORDS; i++) {
        for (int j = 0; j < STEP_WORDS; j++) {
            double sum = 0;
            for (int c = 0; c < STEP_KEYS; c++)
                sum += (double)result->query[i][c] * (double)result->key[j][c];
            result->scores[i][j] = sum;
            result->scaled[i][j] = scale * sum;
            bool near = options->window < 0 || llabs((long long)i - j) <= options->window;
            result->seen[i][j] = near && !(options->causal && j > i);
        }
    }
}

/* Compares the operator's weights with the softmax of the scaled scores, and
 * its output with the weighted sum. */
static bool check(steps *result) {
    double worst = 0, worst_output = 0;
    for (int i = 0; i < STEP_WORDS; i++) {
        double largest = -INFINITY, total = 0, expected[STEP_WORDS] = {0};
        for (int j = 0; j < STEP_WORDS; j++) {
            if (result->seen[i][j]) largest = fmax(largest, result->scaled[i][j]);
        }
        for (int j = 0; j < STEP_WORDS; j++) {
            if (result->seen[i][j]) expected[j] = exp(result->scaled[i][j] - largest);
            total += expected[j];
        }
        for (int j = 0; j < STEP_WORDS; j++) {
            worst = fmax(worst, fabs(expected[j] / total - result->weights[i][j]));
        }
        for (int c = 0; c < STEP_VALUES; c++) {
            double sum = 0;
            for (int j = 0; j < STEP_WORDS; j++) sum += expected[j] / total * (double)result->value[j][c];
            worst_output = fmax(worst_output, fabs(sum - (double)result->output[i][c]));
        }
    }
    result->largest_difference = worst;
    if (worst <= tolerance && worst_output <= 10 * tolerance) return true;
    fprintf(
        stderr,
        "attn explain: the operator is wrong: its weights differ from the softmax by %g, its output by %g\n",
        worst, worst_output);
    return false;
}

bool steps_compute(const step_options *options, steps *result) {
    attn_context_options wanted;
    attn_context *context = NULL;
    attn_context_options_init(&wanted);
    wanted.threads = 1; /* five words are no work to share */
    if (attn_context_create(&wanted, &context) != ATTN_OK) {
        arguments_complain("explain", "", attn_last_create_error(), "", NULL);
        return false;
    }
    *result = example;
    bool done = project(context, result, query_weight[0], STEP_KEYS, result->query[0]) &&
                project(context, result, key_weight[0], STEP_KEYS, result->key[0]) &&
                project(context, result, value_weight[0], STEP_VALUES, result->value[0]) &&
                attend(context, options, result);
    attn_context_destroy(context);
    if (!done) return false;
    score(options, result);
    return check(result);
}
