/* test_backend_training.c: a model's whole life on memory that only the backend can touch.
 *
 * Every task with every encoder is trained for three steps, evaluated, written, loaded and asked, once on the
 * CPU's backend and once on the protected one (support/protected_backend.h): what follows a pointer to
 * numbers above src/ops ends with SIGSEGV, and all that comes out is the same bits. The same for a run that
 * is stopped and resumed, for pretrained vectors, and for encoders that take their rows one after another.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "model/config.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/protected_backend.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_backend_XXXXXX";
static char vectors[64];

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(vectors, sizeof vectors, "%s/words.vec", folder);
    char *text = corpus_vectors();
    FILE *file = fopen(vectors, "w");
    int written = file && fputs(text, file) >= 0 && fclose(file) == 0;
    free(text);
    return written ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    remove_folder(folder);
    return 0;
}

static attn_context *new_context(const at_backend *backend, int threads) {
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = threads;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    if (backend) at_context_use_backend(context, backend);
    return context;
}

/* ---- what comes out ---- */

/* The model's file, the one to resume from, and what the model says. */
typedef struct outcome {
    char *file[2], *text;
    size_t length[2], text_length, text_room;
} outcome;

static void add_bytes(outcome *out, const void *bytes, size_t count) {
    if (out->text_length + count > out->text_room) {
        out->text_room = 2 * (out->text_length + count);
        out->text = realloc(out->text, out->text_room);
        assert_non_null(out->text);
    }
    memcpy(out->text + out->text_length, bytes, count);
    out->text_length += count;
}

static void outcome_free(outcome *out) {
    for (int i = 0; i < 2; i++) free(out->file[i]);
    free(out->text);
}

static void expect_same(const char *name, const char *encoder, const outcome *cpu, const outcome *other) {
    for (int i = 0; i < 2; i++) {
        assert_non_null(cpu->file[i]);
        assert_non_null(other->file[i]);
        if (cpu->length[i] != other->length[i] || memcmp(cpu->file[i], other->file[i], cpu->length[i]) != 0)
            fail_msg("%s, %s: the %s file is another", name, encoder, i ? ".last" : "model's");
    }
    assert_true(cpu->text_length > 0);
    if (cpu->text_length != other->text_length || memcmp(cpu->text, other->text, cpu->text_length) != 0)
        fail_msg("%s, %s: the model says something else", name, encoder);
}

/* ---- the life of a model ---- */

typedef enum corpus { CONLLU, CLASSES, LABELS, NUMBERS, PAIRS, SPACED, RUNNING, MOLECULES } corpus;

typedef struct life {
    const char *name;
    corpus data;
    const char *sets[12];
    int pretrained, stopped;
} life;

/* Chains of atoms with and without a ring; the second target is missing now and then. */
static char *corpus_molecules(uint64_t seed, int examples) {
    static const char *const parts[] = {"C", "N", "C(=O)", "c1ccc(cc1)", "O"};
    test_random random = {seed * 2 + 1};
    char *text = calloc((size_t)examples + 1, 80), *at = text;
    assert_non_null(text);
    at += sprintf(at, "smiles,a,b\n");
    for (int i = 0; i < examples; i++) {
        int64_t first = random_between(&random, 0, 4), second = random_between(&random, 0, 4);
        at += sprintf(at, "C%s%sC,%d,%s\n", parts[first], parts[second], first > 2, i % 3 ? "1" : "");
    }
    return text;
}

static char *corpus_of(corpus data, uint64_t seed, int examples) {
    switch (data) {
    case CONLLU: return corpus_conllu(seed, examples);
    case CLASSES: return corpus_classes(seed, examples, 0);
    case LABELS: return corpus_labels(seed, examples);
    case NUMBERS: return corpus_numbers(seed, examples);
    case PAIRS: return corpus_pairs(seed, examples, 0);
    case SPACED: return corpus_pairs(seed, examples, 1);
    case MOLECULES: return corpus_molecules(seed, examples);
    default: return corpus_running(seed, examples);
    }
}

static int stop_at_two(void *user, const attn_training_state *state) {
    (void)user;
    return state->event == ATTN_TRAINING_STEP && state->step == 2;
}

static void train(attn_config *config, const life *l, const char *text, const char *dev, const char *path) {
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path;
    options.force = 1;
    options.keep_last = 1;
    options.vectors = l->pretrained ? vectors : NULL;
    attn_context *context = at_config_context(config);
    if (l->stopped) {
        options.watch = stop_at_two;
        expect_ok(context, train_on(config, text, dev, &options));
        options.watch = NULL;
        options.resume = 1;
        options.force = 0;
    }
    expect_ok(context, train_on(config, text, dev, &options));
}

/* All that can be asked of the model. */
static void ask(attn_context *context, attn_model *model, attn_predictor *predictor,
                const attn_dataset *dataset, outcome *out) {
    attn_report *report = NULL;
    expect_ok(context, attn_report_create(predictor, dataset, &report));
    add_bytes(out, attn_report_json(report), strlen(attn_report_json(report)));
    attn_report_destroy(report);
    const char *text;
    size_t length;
    if (strcmp(attn_model_task(model), "lm") == 0) {
        attn_sampling_options sampling;
        attn_sampling_options_init(&sampling);
        sampling.tokens = 30;
        expect_ok(context, attn_predictor_continue(predictor, "the cat\nand the d", &sampling, &text));
        add_bytes(out, text, strlen(text));
    } else {
        attn_write_options options;
        attn_write_options_init(&options);
        options.json = 1;
        if (attn_predictor_has(predictor, "probs"))
            expect_ok(context, attn_predictor_set(predictor, "probs", "true"));
        if (attn_predictor_has(predictor, "n-best"))
            expect_ok(context, attn_predictor_set(predictor, "n-best", "3"));
        expect_ok(context, attn_predictor_write(predictor, dataset, &options, &text, &length));
        add_bytes(out, text, length);
    }
    attn_vectors rows = {.size = sizeof rows};
    for (int pooled = 0; pooled < 2; pooled++) {
        expect_ok(context, attn_predictor_embed(predictor, dataset, pooled, &rows));
        add_bytes(out, rows.numbers, (size_t)(rows.rows * rows.columns) * sizeof(float));
    }
}

/* own: the predictor has a context of its own. */
static outcome live(const at_backend *backend, int threads, const life *l, const char *encoder, int own) {
    attn_context *context = new_context(backend, threads);
    attn_config *config = tiny_config_of(context, l->data == MOLECULES ? "molecule" : "text", l->sets);
    static const char *const more[][2] = {
        {"training.steps", "3"}, {"encoder.dropout", "0.1"}, {"text.unit_dropout", "0.1"}};
    for (int i = 0; i < (l->data == MOLECULES ? 2 : 3); i++)
        expect_ok(context, attn_config_set(config, more[i][0], more[i][1]));
    expect_ok(context, attn_config_set(config, "encoder.kind", encoder));
    char path[2][80], *text = corpus_of(l->data, 3, 30), *dev = corpus_of(l->data, 4, 6);
    snprintf(path[0], sizeof path[0], "%s/model.safetensors", folder);
    snprintf(path[1], sizeof path[1], "%s/model.last.safetensors", folder);
    train(config, l, text, dev, path[0]);
    outcome out = {.text = NULL};
    for (int i = 0; i < 2; i++) out.file[i] = file_bytes(path[i], &out.length[i]);
    attn_model *model = NULL;
    attn_predictor *predictor = NULL;
    expect_ok(context, attn_model_load(context, path[0], &model));
    expect_ok(context, attn_predictor_create(model, own ? NULL : context, &predictor));
    attn_context *asked = attn_predictor_context(predictor);
    attn_dataset *dataset = parse_corpus(config, "dev", dev);
    ask(asked, model, predictor, dataset, &out);
    expect_ok(context, attn_model_save(model, path[1])); /* written again it is the same file */
    assert_true(same_files(path[0], path[1]));
    attn_dataset_destroy(dataset);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_context_destroy(context);
    for (int i = 0; i < 2; i++) remove(path[i]);
    free(text);
    free(dev);
    return out;
}

static void check_life(const life *l, const char *encoder, int threads, int own) {
    outcome cpu = live(NULL, 1, l, encoder, 0);
    long openings = test_protected_openings();
    outcome other = live(test_protected_backend(), threads, l, encoder, own);
    assert_true(test_protected_openings() > openings + 100); /* it did run there */
    assert_int_equal(test_protected_bytes(), 0);             /* and all memory came back */
    expect_same(l->name, encoder, &cpu, &other);
    outcome_free(&cpu);
    outcome_free(&other);
}

static const char *const encoders[] = {"attention", "rnn", "cnn", "fc", "mean"};
enum { ENCODERS = 5 };

static void test_tasks(void **state) {
    (void)state;
    static const life lives[] = {
        {"tag", CONLLU, {"task", "tag", "reader.column", "UPOS,XPOS,FEATS:Weight"}, 0, 0},
        {"tag, crf", CONLLU, {"task", "tag", "output.crf", "true"}, 0, 0},
        {"tag, bmes", CONLLU, {"task", "tag", "text.unit", "chars", "text.scheme", "bmes"}, 0, 0},
        {"classify", CLASSES, {"task", "classify", "output.members", "2", "output.pool", "attention"}, 0, 0},
        {"labels", LABELS, {"task", "classify", "reader.format", "fasttext"}, 0, 0},
        {"regress", NUMBERS, {"task", "regress", "encoder.recurrence", "gru", "output.pool", "max"}, 0, 0},
        {"seq2seq", PAIRS, {"task", "seq2seq"}, 0, 0},
        {"seq2seq, 2 members",
         PAIRS,
         {"task", "seq2seq", "output.members", "2", "encoder.recurrence", "tanh"},
         0,
         0},
        {"seq2seq, ctc", SPACED, {"task", "seq2seq", "output.kind", "ctc", "text.unit", "chars"}, 0, 0},
        {"lm", RUNNING, {"task", "lm"}, 0, 0},
        {"lm, 2 members", RUNNING, {"task", "lm", "output.members", "2", "encoder.recurrence", "gru"}, 0, 0},
    };
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++)
        for (int e = 0; e < ENCODERS; e++) check_life(&lives[i], encoders[e], 1, 0);
}

/* With threads, which search apart; with a predictor in a context that the library makes; from pretrained
 * vectors; after a stop; without AdamW. */
static void test_ways(void **state) {
    (void)state;
    static const life lives[] = {
        {"seq2seq, 2 threads", PAIRS, {"task", "seq2seq", "output.members", "2"}, 0, 0},
        {"ctc, 2 members",
         SPACED,
         {"task", "seq2seq", "output.kind", "ctc", "text.unit", "chars", "output.members", "2"},
         0,
         1},
        {"lm, 2 threads", RUNNING, {"task", "lm", "encoder.position", "alibi"}, 0, 0},
        {"vectors", CLASSES, {"task", "classify"}, 1, 0},
        {"resumed", CONLLU, {"task", "tag", "output.crf", "true"}, 0, 1},
        {"crf, 2 members", CONLLU, {"task", "tag", "output.crf", "true", "output.members", "2"}, 0, 0},
    };
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++)
        for (int threads = 1; threads <= 2; threads++)
            check_life(&lives[i], encoders[i % 2], threads, threads == 1);
}

/* Rows that are nodes of graphs. */
static void test_graphs(void **state) {
    (void)state;
    static const life lives[] = {
        {"molecules", MOLECULES, {"task", "classify", "molecule.dropout", "0.1"}, 0, 1},
        {"molecules, all atoms",
         MOLECULES,
         {"task", "regress", "molecule.pattern", "all", "molecule.stereo", "true", "encoder.score", "gatv2"},
         0,
         0},
    };
    static const char *const kinds[] = {"attention", "mean", "fc"};
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++)
        for (int e = 0; e < 3; e++) check_life(&lives[i], kinds[e], 1 + (int)i, 0);
}

/* ---- rows one after another ---- */

enum { ROWS = 45, COLUMNS = 16 };

typedef struct steps {
    const char *name;
    attn_mixer_kind kind;
    attn_position position;
    attn_score score;
    attn_recurrence recurrence;
    int64_t dilation;
} steps;

/* The result of all rows, taken in pieces. */
static void step(const at_backend *backend, const steps *s, float *result) {
    attn_context *context = new_context(backend, 1);
    attn_parameters *parameters;
    attn_tape *tape;
    attn_encoder_state *state;
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.columns = COLUMNS;
    o.layers = 2;
    o.longest = ROWS;
    o.position = s->position;
    o.block.mixer.kind = s->kind;
    o.block.mixer.causal = 1;
    o.block.mixer.directions = 1;
    o.block.mixer.recurrence = s->recurrence;
    o.block.mixer.dilation = s->dilation;
    o.block.mixer.attention.heads = 2;
    o.block.mixer.attention.score = s->score;
    o.block.mixer.attention.longest = ROWS;
    o.block.mixer.attention.right = 0;
    assert_int_equal(attn_parameters_create(context, 5, &parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_encoder *encoder = attn_encoder_create(parameters, "encoder", &o);
    if (!encoder) fail_msg("%s: %s", s->name, attn_parameters_error(parameters));
    expect_ok(context, attn_encoder_state_create(context, encoder, ROWS, &state));
    float rows[ROWS * COLUMNS];
    test_random random = {17};
    for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = random_normal(&random);
    static const int64_t pieces[] = {7, 1, 1, 20, 3, 1, 12};
    for (int64_t first = 0, i = 0; first < ROWS; first += pieces[i++]) {
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = attn_tape_input(tape, rows + first * COLUMNS, pieces[i], COLUMNS, 0);
        x = attn_encoder_step(tape, encoder, state, x);
        if (!x) fail_msg("%s: %s", s->name, attn_tape_error(tape));
        memcpy(result + first * COLUMNS, host_data(x), (size_t)(pieces[i] * COLUMNS) * sizeof(float));
    }
    attn_encoder_state_destroy(state);
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
}

static void test_steps(void **state) {
    (void)state;
    static const steps list[] = {
        {"rotary", ATTN_MIXER_ATTENTION, ATTN_POSITION_ROTARY, ATTN_SCORE_DOT, ATTN_RNN_TANH, 1},
        {"learned", ATTN_MIXER_ATTENTION, ATTN_POSITION_LEARNED, ATTN_SCORE_GATV2, ATTN_RNN_TANH, 1},
        {"relative", ATTN_MIXER_ATTENTION, ATTN_POSITION_RELATIVE, ATTN_SCORE_GAT, ATTN_RNN_TANH, 1},
        {"fixed", ATTN_MIXER_ATTENTION, ATTN_POSITION_NONE, ATTN_SCORE_NONE, ATTN_RNN_TANH, 1},
        {"tanh", ATTN_MIXER_RNN, ATTN_POSITION_NONE, ATTN_SCORE_DOT, ATTN_RNN_TANH, 1},
        {"gru", ATTN_MIXER_RNN, ATTN_POSITION_NONE, ATTN_SCORE_DOT, ATTN_RNN_GRU, 1},
        {"lstm", ATTN_MIXER_RNN, ATTN_POSITION_NONE, ATTN_SCORE_DOT, ATTN_RNN_LSTM, 1},
        {"cnn", ATTN_MIXER_CNN, ATTN_POSITION_NONE, ATTN_SCORE_DOT, ATTN_RNN_TANH, 3},
        {"fc", ATTN_MIXER_FC, ATTN_POSITION_NONE, ATTN_SCORE_DOT, ATTN_RNN_TANH, 1},
        {"mean", ATTN_MIXER_MEAN, ATTN_POSITION_NONE, ATTN_SCORE_DOT, ATTN_RNN_TANH, 1},
    };
    static float cpu[ROWS * COLUMNS], other[ROWS * COLUMNS];
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        step(NULL, &list[i], cpu);
        step(test_protected_backend(), &list[i], other);
        if (memcmp(cpu, other, sizeof cpu) != 0) fail_msg("%s: other bits", list[i].name);
        assert_int_equal(test_protected_bytes(), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tasks), cmocka_unit_test(test_ways),
                                       cmocka_unit_test(test_graphs), cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
