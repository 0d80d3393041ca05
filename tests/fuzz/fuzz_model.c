/* fuzz_model.c: any bytes as a model file: refused with a text that names it, or loaded, and then it answers
 * and can be asked for everything.
 *
 * An input that begins with '{' is a header, a 0 byte and the data of the tensors; the length that stands
 * before a header is put there, so that changes of the header reach what comes after it. Any other input is a
 * file as it is.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "fuzz_dataset.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes of the file, at a multiple of 64, and no byte more than it has. */
static void *make_file(const uint8_t *data, size_t size, size_t *length) {
    const uint8_t *zero = size && data[0] == '{' ? memchr(data, 0, size) : NULL;
    size_t header = zero ? (size_t)(zero - data) : 0, padded = (header + 7) / 8 * 8;
    size_t rest = zero ? size - header - 1 : size;
    unsigned char *bytes;
    *length = zero ? 8 + padded + rest : size;
    REQUIRE(posix_memalign((void **)&bytes, 64, *length ? *length : 1) == 0);
    if (!zero) {
        if (size) memcpy(bytes, data, size);
        return bytes;
    }
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(padded >> (8 * i));
    memcpy(bytes + 8, data, header);
    memset(bytes + 8 + header, ' ', padded - header);
    memcpy(bytes + 8 + padded, zero + 1, rest);
    return bytes;
}

static void ask(attn_model *model, const attn_prediction *prediction) {
    int64_t units = attn_prediction_units(prediction, 0);
    int64_t rows = attn_model_per_token(model) ? units : 1;
    for (int64_t u = 0; u < units; u++) REQUIRE(attn_prediction_unit(prediction, 0, u) != NULL);
    for (int o = 0; o < attn_model_outputs(model); o++) {
        int number = strcmp(attn_model_output_kind(model, o), "number") == 0;
        for (int64_t r = 0; r < rows; r++) {
            REQUIRE(number == (attn_prediction_label(prediction, o, 0, r) == NULL));
            for (int64_t l = 0; l < attn_model_labels(model, o); l++)
                (void)attn_prediction_probability(prediction, o, 0, r, l);
            (void)attn_prediction_number(prediction, o, 0, r);
        }
    }
    for (int64_t w = 0; w < attn_prediction_words(prediction, 0); w++)
        REQUIRE(attn_prediction_word(prediction, 0, w)[0] != 0);
}

/* Answers of their own length: few, and short ones, as what a file says may be long. */
static void generate(attn_context *context, attn_predictor *predictor) {
    static const char sources[] = "ab\n\nx, Fine one\n";
    attn_reader_options reader;
    attn_search_options options;
    attn_dataset *lines = NULL;
    attn_prediction *answers = NULL;
    attn_reader_options_init(&reader);
    attn_search_options_init(&options);
    reader.format = ATTN_FORMAT_LINES;
    reader.labelled = 0;
    options.beam = options.n_best = 3;
    options.longest = 5;
    options.alignment = 1;
    REQUIRE(attn_dataset_parse(context, "lines", 1, sources, sizeof sources - 1, &reader, &lines) == ATTN_OK);
    if (attn_predictor_search(predictor, lines, &options, &answers) == ATTN_OK) {
        REQUIRE(attn_prediction_examples(answers) == 3);
        for (int64_t e = 0; e < 3; e++) {
            REQUIRE(attn_prediction_hypotheses(answers, e) >= 1 &&
                    attn_prediction_hypotheses(answers, e) <= 3);
            for (int64_t n = 0; n < attn_prediction_hypotheses(answers, e); n++) {
                const char *text = attn_prediction_text(answers, e, n);
                int64_t symbols = attn_prediction_symbols(answers, e, n);
                REQUIRE(at_unicode_check(text, strlen(text)) == strlen(text) && symbols <= 5);
                for (int64_t s = 0; s < symbols; s++)
                    REQUIRE(attn_prediction_symbol(answers, e, n, s)[0] != 0);
                const float *rows = attn_prediction_alignment(answers, e, n);
                float sum = 0;
                for (int64_t i = 0; rows && i < symbols * attn_prediction_units(answers, e); i++)
                    sum += rows[i];
                (void)sum;
            }
        }
    } else {
        REQUIRE(answers == NULL && attn_context_error(context)[0] != 0);
    }
    attn_prediction_destroy(answers);
    attn_dataset_destroy(lines);
}

static void go_on(attn_context *context, attn_predictor *predictor, int64_t symbols) {
    static const char *const prompts[] = {"", "ab\nx", "\xe6\x88\x91"};
    for (int i = 0; i < 3; i++) {
        const char *text = NULL;
        attn_sampling_options options;
        attn_sampling_options_init(&options);
        options.tokens = 6;
        options.temperature = i;
        if (attn_predictor_continue(predictor, prompts[i], &options, &text) == ATTN_OK) {
            REQUIRE(at_unicode_check(text, strlen(text)) == strlen(text));
        } else {
            REQUIRE(attn_context_error(context)[0] != 0);
        }
        const double *next = NULL;
        double sum = 0;
        attn_status status = attn_predictor_push_text(predictor, prompts[i]);
        if (status == ATTN_OK) status = attn_predictor_next(predictor, &next);
        for (int64_t s = 0; next && s < symbols; s++) sum += next[s];
        REQUIRE((status == ATTN_OK) == (next != NULL));
        (void)sum;
    }
}

static void use(attn_context *context, attn_model *model) {
    static const char *const texts[] = {"", "ab x, Fine one", "\xe6\x88\x91 ab"};
    attn_reader_options reader;
    REQUIRE(attn_config_print(attn_model_config(model)) != NULL && attn_model_metrics(model)[0] == '{');
    attn_model_reader_options(model, &reader);
    for (int64_t i = 0; i < attn_model_vocabulary(model); i++)
        REQUIRE(attn_model_vocabulary_unit(model, i) != NULL);
    for (int o = 0; o < attn_model_outputs(model); o++) {
        REQUIRE(attn_model_output_name(model, o) != NULL);
        for (int64_t l = 0; l < attn_model_labels(model, o); l++)
            REQUIRE(attn_model_label(model, o, l)[0] != 0);
    }
    for (int64_t i = 0; i < attn_model_symbols(model); i++) REQUIRE(attn_model_symbol(model, i) != NULL);
    attn_predictor *predictor = NULL;
    REQUIRE(attn_predictor_create(model, context, &predictor) == ATTN_OK);
    int writes = attn_model_symbols(model) > 0;
    if (attn_predictor_has(predictor, "beam")) generate(context, predictor);
    if (attn_predictor_has(predictor, "temperature")) go_on(context, predictor, attn_model_symbols(model));
    if (attn_predictor_has(predictor, "probs")) {
        REQUIRE(!writes && attn_predictor_set(predictor, "probs", "true") == ATTN_OK);
    } else {
        REQUIRE(attn_predictor_set(predictor,
                                   writes && attn_predictor_has(predictor, "beam") ? "longest" : "tokens",
                                   "5") == ATTN_OK); /* what a file says may be long */
    }
    for (int i = 0; i < 3; i++) {
        attn_prediction *prediction = NULL;
        attn_status status = attn_predictor_text(predictor, texts[i], &prediction);
        if (status == ATTN_OK) {
            if (!writes) ask(model, prediction);
            if (writes) REQUIRE(attn_prediction_text(prediction, 0, 0) != NULL);
        } else {
            REQUIRE(prediction == NULL && attn_context_error(context)[0] != 0);
        }
        attn_prediction_destroy(prediction);
    }
    attn_predictor_destroy(predictor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_context *context = fuzz_context();
    size_t length;
    void *bytes = make_file(data, size, &length);
    at_safetensors *file = NULL;
    attn_model *model = NULL;
    attn_status status = at_safetensors_parse(context, "fuzz", bytes, length, &file);
    if (status == ATTN_OK) status = at_model_from_file(context, file, &model);
    if (status == ATTN_OK) {
        use(context, model);
        attn_model_destroy(model);
    } else {
        REQUIRE(model == NULL && strncmp(attn_context_error(context), "fuzz:", 5) == 0);
    }
    free(bytes);
    return 0;
}
