/* program.c: a program that was compiled against the headers of this folder, and runs with the library as it
 * is now. It goes through structs that may grow: options, options inside of options, places, results.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/attn.h>

static int failures;

static void expect(int good, const char *what) {
    if (good) return;
    printf("FAILED: %s\n", what);
    failures++;
}

enum { ROWS = 5, D = 4 };
static const int64_t offsets[] = {0, 3, ROWS};

static void attend(attn_context *context) {
    float data[3][ROWS * D], output[ROWS * D], same[ROWS * D], lse[ROWS], d_value[ROWS * D];
    for (int i = 0; i < 3 * ROWS * D; i++) data[i / (ROWS * D)][i % (ROWS * D)] = (float)(i * 7 % 11 - 5) / 4;
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.sequences = 2;
    pattern.query_offsets = offsets;
    pattern.right = 0;
    attn_attention_options options;
    attn_attention_options_init(&options);
    attn_tensor q = attn_tensor_rows(data[0], ROWS, 1, D), k = attn_tensor_rows(data[1], ROWS, 1, D);
    attn_tensor v = attn_tensor_rows(data[2], ROWS, 1, D), o = attn_tensor_rows(output, ROWS, 1, D);
    attn_tensor l = attn_tensor_matrix(lse, ROWS, 1);
    expect(attn_attention_forward(context, &pattern, &options, &q, &k, &v, &o, &l, NULL) == ATTN_OK,
           "forward");
    expect(attn_self_attention(context, data[0], data[1], data[2], same, offsets, 2, 1, D, ATTN_CAUSAL) ==
               ATTN_OK,
           "short form");
    expect(memcmp(output, same, sizeof same) == 0, "short form: the same bits");
    attn_attention_gradients gradients;
    attn_attention_gradients_init(&gradients);
    gradients.value = attn_tensor_rows(d_value, ROWS, 1, D);
    expect(attn_attention_backward(context, &pattern, &options, &q, &k, &v, &o, &l, &o, &gradients) ==
               ATTN_OK,
           "backward");
    attn_weights_layout layout;
    attn_weights_layout_init(&layout);
    expect(attn_attention_weights_layout(context, &pattern, &q, &k, 1, &layout) == ATTN_OK, "layout");
    expect(layout.size == sizeof layout && layout.queries == 2 && layout.keys == 2, "layout: of two rows");
}

/* An encoder of RNNs, so that what is deep inside of the options counts, takes three steps: the loss falls.
 */
static void train(attn_context *context) {
    attn_parameters *parameters = NULL;
    attn_tape *tape = NULL;
    attn_optimizer *optimizer = NULL;
    expect(attn_parameters_create(context, 1, &parameters) == ATTN_OK, "parameters");
    expect(attn_tape_create(context, &tape) == ATTN_OK, "tape");
    attn_encoder_options shape;
    attn_encoder_options_init(&shape);
    shape.columns = D;
    shape.layers = 1;
    shape.block.inner = 8;
    shape.block.mixer.kind = ATTN_MIXER_RNN;
    shape.block.mixer.directions = 1;
    shape.block.mixer.attention.heads = 2;
    shape.jump = ATTN_JUMP_NONE;
    attn_encoder *encoder = attn_encoder_create(parameters, "encoder", &shape);
    attn_optimizer_options steps;
    attn_optimizer_options_init(&steps);
    steps.learning_rate = 0.01f;
    expect(encoder && attn_optimizer_create(parameters, &steps, &optimizer) == ATTN_OK,
           "encoder and optimiser");
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){2, offsets};
    float input[ROWS * D], first = 0, last = 0;
    const int32_t classes[ROWS] = {0, 1, 2, 3, 0};
    for (int i = 0; i < ROWS * D; i++) input[i] = (float)(i % 5) / 4;
    for (int step = 1; step <= 10 && encoder; step++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *x =
            attn_encoder_apply(tape, encoder, attn_tape_input(tape, input, ROWS, D, 0), &places);
        attn_variable *loss = attn_tape_cross_entropy(tape, x, classes, NULL);
        expect(attn_tape_backward(tape, loss, NULL) == ATTN_OK, attn_tape_error(tape));
        last = attn_variable_data(loss)[0];
        if (step == 1) first = last;
        expect(attn_optimizer_step(optimizer) == ATTN_OK, "a step");
    }
    expect(isfinite(last) && last < first, "the loss falls");
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
}

static void score(attn_context *context) {
    const char *answers[] = {"the cat sat on the mat"}, *right[] = {"the cat sat on the mat"};
    const int32_t truth[] = {1, 0};
    const double scores[] = {0.9, 0.1};
    attn_bleu bleu;
    attn_bleu_init(&bleu);
    expect(attn_score_bleu(context, answers, right, 1, 0, &bleu) == ATTN_OK && fabs(bleu.score - 100) < 1e-9,
           "BLEU");
    attn_ranking ranking;
    attn_ranking_init(&ranking);
    expect(attn_score_ranking(context, truth, scores, 2, &ranking) == ATTN_OK && ranking.roc_auc == 1,
           "areas");
    attn_bleu forgotten = {.size = 0};
    expect(attn_score_bleu(context, answers, right, 1, 0, &forgotten) == ATTN_INVALID_ARGUMENT,
           "without init");
    expect(strstr(attn_context_error(context), "attn_bleu_init") != NULL,
           "without init: the text says what to call");
}

static void read(attn_context *context) {
    static const char text[] = "good\ta fine film\nbad\ta dull film\n";
    attn_config *config = NULL;
    attn_dataset *data = NULL;
    attn_reader_options options;
    expect(attn_config_create(context, &config) == ATTN_OK, "configuration");
    expect(attn_config_set(config, "task", "classify") == ATTN_OK, "task");
    attn_reader_options_init(&options);
    expect(attn_config_reader(config, &options) == ATTN_OK, "reader");
    expect(attn_dataset_parse(context, "two.tsv", 1, text, strlen(text), &options, &data) == ATTN_OK,
           attn_context_error(context));
    expect(attn_dataset_examples(data) == 2, "two examples");
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

int main(void) {
    attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK) return 2;
    attend(context);
    train(context);
    score(context);
    read(context);
    attn_context_destroy(context);
    return failures != 0;
}
