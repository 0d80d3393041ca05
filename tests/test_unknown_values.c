/* test_unknown_values.c: a number that is none of an enum's is refused by every call that takes the enum, by
 * status and text, and nothing is computed with it. So is a layer without a name.
 */
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"

enum { ROWS = 4, COLUMNS = 8, WRONG = 99 };

typedef struct network {
    attn_context *context;
    attn_parameters *set;
    attn_tape *tape;
    attn_variable *x;
    attn_parameter *table;
} network;

static const float rows[ROWS * COLUMNS];
static const int64_t offsets[] = {0, 3, ROWS};
static const attn_ragged batch = {2, offsets};

static network begin(void) {
    static const int64_t shape[2] = {ROWS, COLUMNS};
    network n = {.context = test_best_context(1)};
    assert_int_equal(attn_parameters_create(n.context, 1, &n.set), ATTN_OK);
    assert_int_equal(attn_tape_create(n.context, &n.tape), ATTN_OK);
    n.table = attn_parameters_add(n.set, "table", 2, shape, NULL);
    attn_tape_begin(n.tape, ATTN_TAPE_TRAIN, 1);
    n.x = attn_tape_input(n.tape, rows, ROWS, COLUMNS, 1);
    assert_non_null(n.x);
    return n;
}

static void end(network *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->set);
}

/* What was made with a wrong value: nothing, and somebody says why. */
static void refused(network *n, const void *made, const char *what) {
    attn_status set = attn_parameters_status(n->set), tape = attn_tape_status(n->tape);
    if (made || (set == ATTN_OK && tape == ATTN_OK)) fail_msg("%s is taken", what);
    const char *text = set != ATTN_OK ? attn_parameters_error(n->set) : attn_tape_error(n->tape);
    assert_true(set == ATTN_INVALID_ARGUMENT || tape == ATTN_INVALID_ARGUMENT || set == ATTN_UNSUPPORTED ||
                tape == ATTN_UNSUPPORTED);
    assert_true(strlen(text) > 10);
    end(n);
    *n = begin();
}

static void test_layers(void **state) {
    (void)state;
    network n = begin();
    for (int wrong = -1; wrong <= WRONG; wrong += WRONG + 1) {
        refused(&n, attn_linear_create(n.set, "l", COLUMNS, COLUMNS, 1, (attn_activation)wrong),
                "linear: activation");
        refused(&n, attn_feedforward_create(n.set, "f", COLUMNS, 16, (attn_activation)wrong, 0, 1, 1),
                "feed-forward: activation");
        refused(&n, attn_norm_create(n.set, "n", (attn_norm_kind)wrong, COLUMNS), "norm: kind");
        refused(&n, attn_positions_create(n.set, "p", (attn_position)wrong, COLUMNS, 16), "positions: kind");
        attn_encoder_options options;
#define REFUSED(member, type)                                                                                \
    attn_encoder_options_init(&options);                                                                     \
    options.columns = COLUMNS;                                                                               \
    options.block.member = (type)wrong;                                                                      \
    refused(&n, attn_encoder_create(n.set, "e", &options), "encoder: " #member)
        REFUSED(activation, attn_activation);
        REFUSED(mixed_activation, attn_activation);
        REFUSED(norm, attn_norm_kind);
        REFUSED(mixer.kind, attn_mixer_kind);
        REFUSED(mixer.recurrence, attn_recurrence);
        REFUSED(mixer.attention.form, attn_heads_form);
        REFUSED(mixer.attention.score, attn_score);
        REFUSED(mixer.attention.weighting, attn_weighting);
        REFUSED(mixer.attention.position, attn_position);
        attn_encoder_options_init(&options);
        options.position = (attn_position)wrong;
        refused(&n, attn_encoder_create(n.set, "e", &options), "encoder: position");
        attn_encoder_options_init(&options);
        options.jump = (attn_jump)wrong;
        refused(&n, attn_encoder_create(n.set, "e", &options), "encoder: jump");
        attn_encoder_options_init(&options);
        options.block.mixer.kind = ATTN_MIXER_CNN;
        options.block.mixer.activation = (attn_activation)wrong;
        refused(&n, attn_encoder_create(n.set, "e", &options), "encoder: mixer.activation");
        attn_decoder_options decoder;
        attn_decoder_options_init(&decoder);
        decoder.activation = (attn_activation)wrong;
        refused(&n, attn_decoder_create(n.set, "d", &decoder), "decoder: activation");
        attn_decoder_options_init(&decoder);
        decoder.norm = (attn_norm_kind)wrong;
        refused(&n, attn_decoder_create(n.set, "d", &decoder), "decoder: norm");
        attn_decoder_options_init(&decoder);
        decoder.position = (attn_position)wrong;
        refused(&n, attn_decoder_create(n.set, "d", &decoder), "decoder: position");
    }
    end(&n);
}

static void test_operations(void **state) {
    (void)state;
    static const int32_t ids[ROWS];
    network n = begin();
    for (int wrong = -1; wrong <= WRONG; wrong += WRONG + 1) {
        refused(&n, attn_tape_activation(n.tape, n.x, (attn_activation)wrong), "activation");
        refused(&n, attn_tape_gate(n.tape, n.x, n.x, (attn_activation)wrong), "gate");
        refused(&n, attn_tape_linear(n.tape, n.x, n.table, NULL, (attn_activation)wrong), "linear");
        refused(&n, attn_tape_pool(n.tape, n.x, &batch, (attn_pool)wrong), "pool");
        refused(&n, attn_tape_embedding_bag(n.tape, n.table, ids, offsets, 2, (attn_bag)wrong), "bag");
        attn_tape_begin(n.tape, (attn_tape_mode)wrong, 1);
        refused(&n, attn_tape_input(n.tape, rows, ROWS, COLUMNS, 1), "mode of a tape");
        attn_optimizer_options options;
        attn_optimizer *optimizer = NULL;
        attn_optimizer_options_init(&options);
        options.kind = (attn_optimizer_kind)wrong;
        assert_int_equal(attn_optimizer_create(n.set, &options, &optimizer), ATTN_INVALID_ARGUMENT);
        attn_optimizer_options_init(&options);
        options.schedule = (attn_schedule)wrong;
        assert_int_equal(attn_optimizer_create(n.set, &options, &optimizer), ATTN_INVALID_ARGUMENT);
        assert_null(optimizer);
    }
    end(&n);
}

static void test_datasets(void **state) {
    (void)state;
    static const char text[] = "a\tb\n";
    attn_context *context = test_best_context(1);
    attn_dataset *data = NULL, *part = NULL;
    for (int wrong = -1; wrong <= WRONG; wrong += WRONG + 1) {
        attn_reader_options options;
        attn_reader_options_init(&options);
        options.format = (attn_format)wrong;
        assert_true(attn_dataset_parse(context, "x", 1, text, strlen(text), &options, &data) != ATTN_OK);
        assert_null(data);
        attn_reader_options_init(&options);
        options.format = ATTN_FORMAT_TABLE;
        assert_int_equal(attn_dataset_parse(context, "x", 1, text, strlen(text), &options, &data), ATTN_OK);
        assert_int_equal(attn_dataset_part(data, (attn_part)wrong, &part), ATTN_INVALID_ARGUMENT);
        assert_null(part);
        assert_null(attn_part_name((attn_part)wrong));
        attn_dataset_destroy(data);
        data = NULL;
    }
}

/* A name of NULL is no name: no layer, and no parameter under another one. */
static void test_layers_without_name(void **state) {
    (void)state;
    network n = begin();
    refused(&n, attn_linear_create(n.set, NULL, COLUMNS, COLUMNS, 1, ATTN_IDENTITY), "linear: name");
    refused(&n, attn_feedforward_create(n.set, NULL, COLUMNS, 16, ATTN_RELU, 0, 1, 1), "feed-forward: name");
    refused(&n, attn_norm_create(n.set, NULL, ATTN_NORM_LAYER, COLUMNS), "norm: name");
    refused(&n, attn_embedding_create(n.set, NULL, ROWS, COLUMNS), "embedding: name");
    refused(&n, attn_positions_create(n.set, NULL, ATTN_POSITION_LEARNED, COLUMNS, 16), "positions: name");
    refused(&n, attn_multihead_create(n.set, NULL, NULL), "multihead: name");
    refused(&n, attn_mixer_create(n.set, NULL, NULL), "mixer: name");
    refused(&n, attn_block_create(n.set, NULL, NULL), "block: name");
    refused(&n, attn_encoder_create(n.set, NULL, NULL), "encoder: name");
    refused(&n, attn_decoder_create(n.set, NULL, NULL), "decoder: name");
    end(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_layers_without_name),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_datasets),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
