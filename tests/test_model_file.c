/* test_model_file.c: model files: every lie that one can tell is refused with the file and what is wrong;
 * memory that runs out; how long loading takes.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_model_file_XXXXXX";

/* The models that are lied about: a tagger with CRF, words from characters, subwords, numbers, vectors, pairs
 * with two vocabularies and with one, running text. */
typedef enum kind { TAGS, WORDS, SUBWORDS, NUMBERS, VECTORS, PAIRS, SHARED, RUNNING, KINDS } kind;
static char paths[KINDS][64], lying[64], vectors[64];

static const char *const kind_sets[KINDS][9] = {
    {"task", "tag", "output.crf", "true"},
    {"task", "tag", "text.unit", "chars", "text.scheme", "bmes"},
    {"task", "classify", "text.unit", "subwords", "output.pool", "attention"},
    {"task", "regress"},
    {"task", "classify", "encoder.kind", "rnn"},
    {"task", "seq2seq", "target.unit", "subwords"},
    {"task", "seq2seq", "text.unit", "symbols", "target.shared", "true", "output.members", "2"},
    {"task", "lm", "text.unit", "subwords"},
};

static char *kind_corpus(int which, uint64_t seed, int examples) {
    switch ((kind)which) {
    case TAGS:
    case WORDS: return corpus_conllu(seed, examples);
    case NUMBERS: return corpus_numbers(seed, examples);
    case PAIRS: return corpus_pairs(seed, examples, 0);
    case SHARED: return corpus_pairs(seed, examples, 1);
    case RUNNING: return corpus_running(seed, examples);
    default: return corpus_classes(seed, examples, 0);
    }
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    snprintf(lying, sizeof lying, "%s/lying.safetensors", folder);
    snprintf(vectors, sizeof vectors, "%s/words.vec", folder);
    char *text = corpus_vectors();
    FILE *file = fopen(vectors, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) return -1;
    free(text);
    for (int k = 0; k < KINDS; k++) {
        snprintf(paths[k], sizeof paths[k], "%s/%d.safetensors", folder, k);
        char *corpus = kind_corpus(k, 3, 30);
        attn_config *config = tiny_config(context, kind_sets[k]);
        attn_status status = attn_config_set(config, "training.steps", "3");
        attn_trainer_options options;
        attn_trainer_options_init(&options);
        options.output = paths[k];
        options.force = 1;
        options.vectors = k == VECTORS ? vectors : NULL;
        if (status == ATTN_OK) status = train_on(config, corpus, NULL, &options);
        expect_ok(context, status);
        attn_config_destroy(config);
        free(corpus);
    }
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- a file with one thing changed ---- */

typedef struct change {
    const char *key, *from, *to; /* metadata: `from` in it becomes `to`; from NULL: it is not there */
    const char *tensor;          /* or a tensor: */
    enum { NOTHING, DROP, RENAME, AS_I32, FLAT, SHORTER, BYTES, EXTRA } how;
    const char *with; /* RENAME, EXTRA: the name; BYTES: what its first bytes become */
    int64_t place;    /* BYTES: where */
    size_t count;
} change;

static void put_metadata(at_safetensors_writer *writer, const at_safetensors *file, const change *c) {
    static const char *const keys[] = {"attn.format", "attn.config", "attn.outputs", "attn.scores"};
    attn_context *context = test_best_context(1);
    for (int i = 0; i < 4; i++) {
        const char *text = at_safetensors_metadata(file, keys[i]);
        assert_non_null(text);
        char *changed = NULL;
        if (c->key && strcmp(c->key, keys[i]) == 0) {
            if (!c->from) continue;
            const char *place = strstr(text, c->from);
            if (!place) fail_msg("%s is not in %s", c->from, text);
            size_t room = strlen(text) + strlen(c->to) + 1;
            changed = malloc(room);
            assert_non_null(changed);
            snprintf(changed, room, "%.*s%s%s", (int)(place - text), text, c->to, place + strlen(c->from));
        }
        expect_ok(context, at_safetensors_put(writer, keys[i], changed ? changed : text));
        free(changed);
    }
}

static void put_tensor(at_safetensors_writer *writer, const at_stored *stored, const change *c, char *bytes) {
    attn_context *context = test_best_context(1);
    const char *name = stored->name;
    at_dtype dtype = stored->dtype;
    int rank = stored->rank;
    int64_t shape[ATTN_MAX_RANK];
    const void *data = stored->data;
    memcpy(shape, stored->shape, sizeof shape);
    if (c->tensor && strcmp(c->tensor, name) == 0) {
        switch (c->how) {
        case DROP: return;
        case RENAME: name = c->with; break;
        case AS_I32: dtype = AT_DTYPE_I32; break;
        case FLAT: rank = 1, shape[0] = stored->count; break;
        case SHORTER: shape[0]--; break;
        case BYTES: {
            size_t length = (size_t)stored->count * (dtype == AT_DTYPE_I64  ? 8
                                                     : dtype == AT_DTYPE_U8 ? 1
                                                                            : 4);
            assert_true((size_t)c->place + c->count <= length && length <= 4096);
            memcpy(bytes, data, length);
            memcpy(bytes + c->place, c->with, c->count);
            data = bytes;
            break;
        }
        case NOTHING:
        case EXTRA: break;
        }
    }
    expect_ok(context, at_safetensors_add(writer, name, dtype, rank, shape, data));
}

/* Writes `lying`. */
static void change_file(kind from, const change *c) {
    attn_context *context = test_best_context(1);
    static const float number = 1;
    static const int64_t one = 1;
    char bytes[4096];
    at_safetensors *file = NULL;
    at_safetensors_writer *writer = NULL;
    expect_ok(context, at_safetensors_open(context, paths[from], &file));
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    put_metadata(writer, file, c);
    if (c->tensor && c->how != EXTRA) assert_non_null(at_safetensors_find(file, c->tensor));
    for (int64_t i = 0; i < at_safetensors_count(file); i++)
        put_tensor(writer, at_safetensors_at(file, i), c, bytes);
    if (c->how == EXTRA)
        expect_ok(context, at_safetensors_add(writer, c->with, AT_DTYPE_F32, 1, &one, &number));
    expect_ok(context, at_safetensors_commit(writer, lying));
    at_safetensors_writer_destroy(writer);
    at_safetensors_close(file);
}

typedef struct lie {
    change c;
    const char *part; /* of the error */
} lie;

static void check_lies(kind from, const lie *lies, size_t count) {
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    change none = {0};
    change_file(from, &none); /* as it is it is the same file */
    assert_true(same_files(paths[from], lying));
    expect_ok(context, attn_model_load(context, lying, &model));
    model_destroy(model);
    for (size_t i = 0; i < count; i++) {
        model = NULL;
        change_file(from, &lies[i].c);
        attn_status status = attn_model_load(context, lying, &model);
        if (status == ATTN_OK) fail_msg("lie %zu (\"%s\") was taken", i, lies[i].part);
        assert_null(model);
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, lying);
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, lies[i].part);
    }
}
#define CHECK_LIES(kind, lies) check_lies(kind, lies, sizeof(lies) / sizeof(lies)[0])

static void test_metadata(void **state) {
    (void)state;
    static const lie lies[] = {
        {{.key = "attn.format"}, "not a model of attn"},
        {{.key = "attn.config"}, "not a model of attn"},
        {{.key = "attn.format", .from = "1", .to = "2"}, "a format that this version does not know: 2"},
        {{.key = "attn.config", .from = "{", .to = "["}, ":"},
        {{.key = "attn.config", .from = "\"columns\": 16", .to = "\"columns\": 0"}, "encoder.columns is 0"},
        {{.key = "attn.config", .from = "\"columns\": 16", .to = "\"columns\": 17"}, "encoder.columns (17)"},
        {{.key = "attn.config", .from = "\"columns\": 16", .to = "\"columns\": 32"},
         "features has another shape"},
        {{.key = "attn.config", .from = "\"columns\": 16", .to = "\"columms\": 16"},
         "did you mean encoder.columns"},
        {{.key = "attn.config", .from = "\"columns\": 16", .to = "\"columns\": 1024"},
         "features has another shape"},
        {{.key = "attn.config", .from = "\"buckets\": 64", .to = "\"buckets\": 100000000"}, "another shape"},
        {{.key = "attn.config", .from = "\"layers\": 1", .to = "\"layers\": 2"}, "is missing"},
        {{.key = "attn.config", .from = "\"layers\": 1", .to = "\"layers\": 1000"}, "is missing"},
        {{.key = "attn.config", .from = "\"layers\": 1", .to = "\"layers\": 0"}, "does not name: encoder."},
        {{.key = "attn.config", .from = "\"heads\": 2", .to = "\"heads\": 16"}, "even head_width"},
        {{.key = "attn.config", .from = "\"inner\": 0", .to = "\"inner\": 8"}, "another shape"},
        {{.key = "attn.config", .from = "\"crf\": true", .to = "\"crf\": false"}, "does not name: output.0."},
        {{.key = "attn.config", .from = "\"tag\"", .to = "\"classify\""}, "crf"},
        {{.key = "attn.outputs"}, "attn.outputs is missing"},
        {{.key = "attn.outputs", .from = "{", .to = "["}, "attn.outputs is missing or not JSON"},
        {{.key = "attn.outputs", .from = "\"per_token\"", .to = "\"pre_token\""},
         "attn.outputs does not follow docs/format.md"},
        {{.key = "attn.outputs", .from = "true", .to = "1"}, "attn.outputs does not follow docs/format.md"},
        {{.key = "attn.outputs", .from = "true", .to = "false"}, "per_token"},
        {{.key = "attn.outputs", .from = "\"outputs\":[", .to = "\"outputs\":[],\"x\":["},
         "does not follow docs/format.md"},
        {{.key = "attn.outputs", .from = "\"name\"", .to = "\"nome\""}, "no name or kind"},
        {{.key = "attn.outputs", .from = "\"class\"", .to = "\"klass\""}, "no such kind of output: klass"},
        {{.key = "attn.outputs", .from = "\"class\"", .to = "\"number\""}, "no mean or deviation"},
        {{.key = "attn.outputs", .from = "\"class\"", .to = "\"labels\""}, "does not name: output.0."},
        {{.key = "attn.outputs", .from = "\"labels\":[", .to = "\"labels\":[\"more\","},
         "output.0.weight has another shape"},
        {{.key = "attn.outputs", .from = "\"labels\":[", .to = "\"labels\":[\"AA\","},
         "a label occurs twice"},
        {{.key = "attn.outputs", .from = "\"labels\":[", .to = "\"labels\":[\"\","},
         "a label is not a string"},
        {{.key = "attn.outputs", .from = "\"labels\":[", .to = "\"labels\":[7,"}, "a label is not a string"},
        {{.key = "attn.outputs", .from = "\"labels\":[", .to = "\"labels\":[],\"x\":["}, "has no labels"},
        {{.key = "attn.outputs", .from = "\"labels\":[", .to = "\"x\":["}, "has no labels"},
        {{.key = "attn.outputs", .from = "\"outputs\":[", .to = "\"outputs\":[7,"}, "no name or kind"},
        {{.key = "attn.scores", .from = "{", .to = "["}, "attn.scores is not a JSON object"},
        {{.key = "attn.scores", .from = "{", .to = ""}, "attn.scores is not a JSON object"},
    };
    CHECK_LIES(TAGS, lies);
}

#define LONG(n) ((const char *)(const int64_t[]){n})

static void test_tensors(void **state) {
    (void)state;
    const lie lies[] = {
        {{.tensor = "features", .how = DROP}, "the tensor features is missing"},
        {{.tensor = "output.0.bias", .how = DROP}, "the tensor output.0.bias is missing"},
        {{.tensor = "output.0.transitions", .how = DROP}, "the tensor output.0.transitions is missing"},
        {{.tensor = "features", .how = RENAME, .with = "feature"}, "the tensor features is missing"},
        {{.tensor = "features", .how = AS_I32}, "the tensor features is not aligned F32"},
        {{.tensor = "features", .how = FLAT}, "the tensor features has another shape"},
        {{.tensor = "features", .how = SHORTER}, "the tensor features has another shape"},
        {{.tensor = "output.0.weight", .how = SHORTER}, "the tensor output.0.weight has another shape"},
        {{.how = EXTRA, .with = "extra"}, "does not name: extra"},
        {{.how = EXTRA, .with = "text.extra"}, "does not name: text.extra"},
        {{.how = EXTRA, .with = "text.units.bytes2"}, "does not name: text.units.bytes2"},
        {{.how = EXTRA, .with = "vectors.words.bytes"}, "vectors.words"},
        {{.tensor = "text.units.bytes", .how = DROP}, "is not a list of strings"},
        {{.tensor = "text.units.offsets", .how = DROP}, "is not a list of strings"},
        {{.tensor = "text.units.offsets", .how = RENAME, .with = "text.merges.offsets"},
         "is not a list of strings"},
        {{.tensor = "text.units.offsets", .how = SHORTER}, "the offsets do not agree"},
        {{.tensor = "text.units.bytes", .how = SHORTER}, "the offsets do not agree"},
        {{.tensor = "text.units.offsets", .how = BYTES, .with = LONG(1), .place = 0, .count = 8},
         "the offsets do not agree"},
        {{.tensor = "text.units.offsets", .how = BYTES, .with = LONG(-1), .place = 8, .count = 8},
         "the offsets are not in order"},
        {{.tensor = "text.units.offsets", .how = BYTES, .with = LONG(1000000), .place = 16, .count = 8},
         "the offsets are not in order"},
        {{.tensor = "text.units.offsets", .how = BYTES, .with = LONG(INT64_MIN), .place = 16, .count = 8},
         "the offsets are not in order"},
        {{.tensor = "text.units.offsets", .how = BYTES, .with = LONG(1), .place = 8, .count = 8},
         "string 0 must be empty"},
        {{.tensor = "text.units.offsets", .how = BYTES, .with = LONG(0), .place = 16, .count = 8},
         "a string occurs twice"},
        {{.tensor = "text.units.bytes", .how = BYTES, .with = "\0", .place = 0, .count = 1},
         "a string with a 0 byte"},
    };
    CHECK_LIES(TAGS, lies);
}

/* A vocabulary that is whole, but not the one of the table. */
static void test_vocabulary(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_safetensors *file = NULL;
    at_safetensors_writer *writer = NULL;
    change none = {0};
    expect_ok(context, at_safetensors_open(context, paths[TAGS], &file));
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    put_metadata(writer, file, &none);
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        int64_t shape[ATTN_MAX_RANK];
        memcpy(shape, stored->shape, sizeof shape);
        const at_stored *offsets = at_safetensors_find(file, "text.units.offsets");
        if (stored == offsets) shape[0]--; /* the last word is gone */
        if (strcmp(stored->name, "text.units.bytes") == 0)
            shape[0] = ((const int64_t *)offsets->data)[offsets->count - 2];
        expect_ok(context,
                  at_safetensors_add(writer, stored->name, stored->dtype, stored->rank, shape, stored->data));
    }
    expect_ok(context, at_safetensors_commit(writer, lying));
    at_safetensors_writer_destroy(writer);
    at_safetensors_close(file);
    attn_model *model = NULL;
    expect_refused(context, attn_model_load(context, lying, &model), ATTN_INVALID_ARGUMENT,
                   "the tensor features has another shape");
}

static void test_other_models(void **state) {
    (void)state;
    static const lie words[] = {
        {{.key = "attn.outputs", .from = "\"S\",\"B\"", .to = "\"B\",\"S\""}, "bmes"},
        {{.key = "attn.outputs", .from = "\"S\"", .to = "\"SS\""}, "bmes"},
        {{.key = "attn.outputs", .from = "\"S\",", .to = ""}, "bmes"},
        {{.key = "attn.outputs", .from = "\"class\"", .to = "\"labels\""}, "bmes"},
        {{.key = "attn.config", .from = "\"bmes\"", .to = "\"none\""}, "text.unit"},
    };
    CHECK_LIES(WORDS, words);
    static const lie subwords[] = {
        {{.tensor = "text.merges.bytes", .how = DROP}, "is not a list of strings"},
        {{.tensor = "text.merges.bytes", .how = BYTES, .with = "xxxxxx", .place = 0, .count = 6}, "merge"},
        {{.key = "attn.config", .from = "\"pool\": \"attention\"", .to = "\"pool\": \"mean\""},
         "does not name: pool.score"},
        {{.key = "attn.outputs", .from = "false", .to = "true"}, "per_token"},
    };
    CHECK_LIES(SUBWORDS, subwords);
    static const lie numbers[] = {
        {{.key = "attn.outputs", .from = "\"mean\":", .to = "\"meen\":"}, "no mean or deviation"},
        {{.key = "attn.outputs", .from = "\"deviation\":", .to = "\"deviation\":-"}, "no mean or deviation"},
        {{.key = "attn.outputs", .from = "\"deviation\":", .to = "\"deviation\":\"\",\"x\":"},
         "no mean or deviation"},
        {{.key = "attn.outputs", .from = "\"number\"", .to = "\"class\""}, "has no labels"},
    };
    CHECK_LIES(NUMBERS, numbers);
    static const lie pretrained[] = {
        {{.tensor = "vectors", .how = DROP}, "vectors is missing"},
        {{.tensor = "vectors", .how = FLAT}, "vectors is missing or not a table"},
        {{.tensor = "vectors", .how = SHORTER}, "the tensor vectors has another shape"},
        {{.tensor = "vectors.map.weight", .how = DROP}, "the tensor vectors.map.weight is missing"},
        {{.tensor = "vectors.words.offsets", .how = DROP}, "is not a list of strings"},
        {{.tensor = "vectors.words.bytes", .how = RENAME, .with = "text.merges.bytes"},
         "is not a list of strings"},
    };
    CHECK_LIES(VECTORS, pretrained);
}

static void test_sequences(void **state) {
    (void)state;
    static const lie pairs[] = {
        {{.tensor = "target.units.bytes", .how = DROP}, "is not a list of strings"},
        {{.tensor = "target.units.bytes", .how = SHORTER},
         "the offsets do not agree with the bytes of target.units"},
        {{.tensor = "target.units.offsets", .how = SHORTER},
         "the offsets do not agree with the bytes of target.units"},
        {{.tensor = "target.units.offsets", .how = BYTES, .with = "\1\0\0\0\0\0\0\0", .place = 8, .count = 8},
         "string 0 must be empty: target.units"},
        {{.tensor = "target.units.bytes", .how = BYTES, .with = "\0", .count = 1},
         "a string with a 0 byte in target.units"},
        {{.tensor = "target.merges.offsets", .how = DROP}, "is not a list of strings"},
        {{.tensor = "target.merges.bytes", .how = BYTES, .with = "   ", .count = 3}, "is not two symbols"},
        {{.tensor = "target.symbols", .how = DROP}, "the tensor target.symbols is missing"},
        {{.tensor = "target.symbols", .how = SHORTER}, "the tensor target.symbols has another shape"},
        {{.tensor = "target.symbols", .how = FLAT}, "the tensor target.symbols has another shape"},
        {{.tensor = "target.symbols", .how = AS_I32}, "the tensor target.symbols is not aligned F32"},
        {{.tensor = "target.norm.gain", .how = DROP}, "target.norm.gain is missing"},
        {{.tensor = "symbols.bias", .how = SHORTER}, "the tensor symbols.bias has another shape"},
        {{.tensor = "symbols.bias", .how = RENAME, .with = "symbols.bia"}, "symbols.bias is missing"},
        {{.how = EXTRA, .with = "symbols.weight"},
         "a tensor that the configuration does not name: symbols.weight"},
        {{.key = "attn.config", .from = "\"tied\": true", .to = "\"tied\": false"},
         "symbols.weight is missing"},
        {{.key = "attn.config", .from = "\"unit\": \"chars\"", .to = "\"unit\": \"auto\""},
         "a model has units"},
        {{.key = "attn.config", .from = "\"unit\": \"subwords\"", .to = "\"unit\": \"auto\""},
         "a model has units"},
        {{.key = "attn.config",
          .from = "\"decoder\": {\n    \"layers\": 2",
          .to = "\"decoder\": {\n    \"layers\": 3"},
         "is missing"},
        {{.key = "attn.config",
          .from = "\"decoder\": {\n    \"layers\": 2",
          .to = "\"decoder\": {\n    \"layers\": 1"},
         "a tensor that the configuration does not name: decoder."},
        {{.key = "attn.config",
          .from = "\"decoder\": {\n    \"layers\": 2",
          .to = "\"decoder\": {\n    \"layers\": 0"},
         "decoder.layers is 0"},
        {{.key = "attn.config", .from = "\"seq2seq\"", .to = "\"classify\""}, ""},
        {{.key = "attn.config", .from = "\"heads\": 2", .to = "\"heads\": 3"}, "encoder.heads"},
        {{.key = "attn.config", .from = "\"kv_heads\": 0", .to = "\"kv_heads\": 3"}, ""},
        {{.key = "attn.config", .from = "\"sinusoidal\"", .to = "\"one-hot\""}, "one-hot"},
        {{.key = "attn.outputs", .from = "\"per_token\":true", .to = "\"per_token\":false"}, "attn.outputs"},
        {{.key = "attn.outputs",
          .from = "[]",
          .to = "[{\"name\":\"a\",\"kind\":\"class\",\"labels\":[\"x\"]}]"},
         "attn.outputs"},
    };
    CHECK_LIES(PAIRS, pairs);
    static const lie shared[] = {
        {{.key = "attn.config", .from = "\"shared\": true", .to = "\"shared\": false"},
         "string 0 must be empty: target.units"},
        {{.key = "attn.config", .from = "\"members\": 2", .to = "\"members\": 3"}, "member.2."},
        {{.tensor = "member.1.symbols.bias", .how = DROP}, "member.1.symbols.bias is missing"},
        {{.tensor = "text.units.bytes", .how = DROP}, "is not a list of strings"},
    };
    CHECK_LIES(SHARED, shared);
    static const lie running[] = {
        {{.key = "attn.config", .from = "\"causal\": true", .to = "\"causal\": false"},
         "encoder.causal has to be true"},
        {{.key = "attn.config", .from = "\"subwords\"", .to = "\"words\""},
         "text.unit has to be chars, bytes or subwords"},
        {{.key = "attn.config", .from = "\"subwords\"", .to = "\"auto\""}, "text.unit auto"},
        {{.key = "attn.config", .from = "\"lm\"", .to = "\"seq2seq\""}, ""},
        {{.key = "attn.config", .from = "\"lm\"", .to = "\"tag\""}, ""},
        {{.tensor = "symbols.bias", .how = DROP}, "symbols.bias is missing"},
        {{.tensor = "text.units.offsets", .how = SHORTER}, "the offsets do not agree"},
    };
    CHECK_LIES(RUNNING, running);
}

/* Cut anywhere, a file is refused, whatever of it is left. */
static void test_cut(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    size_t length;
    char *bytes = file_bytes(paths[TAGS], &length);
    for (size_t cut = 0; cut < length; cut += cut < 200 ? 7 : length / 40) {
        FILE *file = fopen(lying, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, cut, file), cut);
        fclose(file);
        expect_refused(context, attn_model_load(context, lying, &model), ATTN_INVALID_ARGUMENT, lying);
        assert_null(model);
    }
    free(bytes);
    unlink(lying);
    expect_refused(context, attn_model_load(context, lying, &model), ATTN_SYSTEM_ERROR, lying);
    expect_refused(context, attn_model_load(context, folder, &model), ATTN_SYSTEM_ERROR, folder);
    expect_refused(context, attn_model_load(context, vectors, &model), ATTN_INVALID_ARGUMENT, vectors);
}

/* The scores one by one: those of the object itself, then those of the object in it. */
static void test_scores(void **state) {
    (void)state;
    static const char *const names[] = {"metric", "score", "step", "steps", "examples", "dev_examples"};
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    attn_model_metric_text score;
    expect_ok(context, attn_model_load(context, paths[TAGS], &model));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(attn_model_metric_at(model, i, &score), 1);
        assert_string_equal(score.name, names[i]);
        assert_int_equal(score.whole, i >= 2);
        assert_int_equal(isnan(score.number), i == 0);
        if (i > 0) assert_true(attn_model_metric(model, names[i]) == score.number);
    }
    assert_int_equal(attn_model_metric_at(model, 0, &score), 1);
    assert_true(attn_model_metric(model, score.value) == attn_model_metric(model, "score"));
    assert_true(isnan(attn_model_metric(model, "metric"))); /* a word */
    assert_true(isnan(attn_model_metric(model, "nothing")));
    assert_true(isnan(attn_model_metric(model, NULL)));
    assert_true(isnan(attn_model_metric(NULL, "score")));
    assert_int_equal(attn_model_metric_at(model, -1, &score), 0);
    assert_int_equal(attn_model_metric_at(model, 10000, &score), 0);
    assert_int_equal(attn_model_metric_at(NULL, 0, &score), 0);
    assert_int_equal(attn_model_output_several(model, 0), 0);
    assert_int_equal(attn_model_output_several(model, 9), 0);
    model_destroy(model);
}

/* A number that a copy of the file has, and no other model. */
static void test_fingerprint(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    uint64_t found[KINDS];
    for (int k = 0; k < KINDS; k++) {
        attn_model *model = NULL, *copy = NULL;
        expect_ok(context, attn_model_load(context, paths[k], &model));
        expect_ok(context, attn_model_save(model, lying));
        expect_ok(context, attn_model_load(context, lying, &copy));
        found[k] = attn_model_fingerprint(model);
        assert_true(found[k] == attn_model_fingerprint(copy));
        for (int other = 0; other < k; other++) assert_true(found[other] != found[k]);
        model_destroy(copy);
        model_destroy(model);
    }
    assert_true(attn_model_fingerprint(NULL) == 0);
}

static void test_arguments(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    attn_prediction *prediction = NULL;
    assert_int_equal(attn_model_load(NULL, paths[0], &model), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_model_load(context, NULL, &model), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_model_load(context, paths[0], NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_model_save(NULL, lying), ATTN_INVALID_ARGUMENT);
    assert_int_equal(predict_text_with(NULL, "a", 0, &prediction), ATTN_INVALID_ARGUMENT);
    model_destroy(NULL);
    attn_prediction_destroy(NULL);
    assert_null(attn_model_config(NULL));
    assert_null(attn_model_parameters(NULL));
    assert_string_equal(attn_model_metrics(NULL), "{}");
    assert_int_equal(attn_model_outputs(NULL), 0);
    assert_int_equal(attn_model_vocabulary(NULL), 0);
    expect_ok(context, attn_model_load(context, paths[TAGS], &model));
    assert_int_equal(attn_model_save(model, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(predict_text_with(model, NULL, 0, &prediction), ATTN_INVALID_ARGUMENT);
    assert_int_equal(predict_text_with(model, "a", 0, NULL), ATTN_INVALID_ARGUMENT);
    expect_refused(context, predict_text_with(model, "a\nb", 0, &prediction), ATTN_INVALID_ARGUMENT,
                   "byte 1");
    assert_int_equal(predict_with(model, NULL, 0, &prediction), ATTN_INVALID_ARGUMENT);
    assert_null(prediction);
    assert_null(attn_model_output_name(model, 1));
    assert_null(attn_model_label(model, 0, -1));
    assert_null(attn_model_label(model, 1, 0));
    assert_string_equal(attn_model_vocabulary_unit(model, 0), "");
    assert_null(attn_model_vocabulary_unit(model, attn_model_vocabulary(model)));
    /* an empty text has no units, and so no tags */
    expect_ok(context, predict_text_with(model, "", WITH_PROBABILITIES, &prediction));
    assert_int_equal(attn_prediction_units(prediction, 0), 0);
    assert_null(attn_prediction_label(prediction, 0, 0, 0));
    attn_prediction_destroy(prediction);
    expect_ok(context, predict_text_with(model, "ab x", WITH_PROBABILITIES, &prediction));
    assert_int_equal(attn_prediction_units(prediction, 0), 2);
    assert_string_equal(attn_prediction_unit(prediction, 0, 1), "x");
    assert_null(attn_prediction_unit(prediction, 0, 2));
    assert_null(attn_prediction_unit(prediction, 1, 0));
    assert_null(attn_prediction_label(prediction, 1, 0, 0));
    assert_int_equal(attn_prediction_class(prediction, 0, 0, 2), -1);
    double sum = 0;
    for (int64_t l = 0; l < attn_model_labels(model, 0); l++)
        sum += attn_prediction_probability(prediction, 0, 0, 1, l);
    assert_true(sum > 0.9999 && sum < 1.0001);
    assert_true(attn_prediction_probability(prediction, 0, 0, 1, -1) !=
                attn_prediction_probability(prediction, 0, 0, 1, -1));
    assert_int_equal(attn_prediction_words(prediction, 0), 0);
    assert_null(attn_prediction_word(prediction, 0, 0));
    attn_prediction_destroy(prediction);
    model_destroy(model);
    /* one for a text, also for an empty one */
    expect_ok(context, attn_model_load(context, paths[SUBWORDS], &model));
    expect_ok(context, predict_text_with(model, "", WITH_PROBABILITIES, &prediction));
    assert_non_null(attn_prediction_label(prediction, 0, 0, 0));
    attn_prediction_destroy(prediction);
    model_destroy(model);
}

/* ---- memory ---- */

/* An answer of any model. */
static attn_status ask_predictor(attn_context *context, attn_predictor *predictor, const char *task) {
    static const char sources[] = "ab\nc a b\nzz\n";
    attn_prediction *prediction = NULL;
    attn_dataset *lines = NULL;
    attn_status status;
    if (strcmp(task, "lm") == 0) {
        const char *text = NULL;
        attn_sampling_options options;
        attn_sampling_options_init(&options);
        options.tokens = 12;
        status = attn_predictor_continue(predictor, "the cat\n a", &options, &text);
        if (status == ATTN_OK) assert_non_null(text);
        return status;
    }
    if (strcmp(task, "seq2seq") == 0) {
        attn_reader_options reader;
        attn_search_options options;
        attn_search_options_init(&options);
        options.n_best = 2;
        options.alignment = 1;
        attn_reader_options_init(&reader);
        reader.format = ATTN_FORMAT_LINES;
        reader.labelled = 0;
        status = attn_dataset_parse(context, "lines", 1, sources, sizeof sources - 1, &reader, &lines);
        if (status == ATTN_OK) status = attn_predictor_search(predictor, lines, &options, &prediction);
        assert_int_equal(prediction != NULL, status == ATTN_OK);
        if (status == ATTN_OK) assert_int_equal(attn_prediction_examples(prediction), 3);
        attn_prediction_destroy(prediction);
        attn_dataset_destroy(lines);
        return status;
    }
    status = attn_predictor_set(predictor, "probs", "true");
    if (status == ATTN_OK) status = attn_predictor_text(predictor, "ab x fine one nicest", &prediction);
    assert_int_equal(prediction != NULL, status == ATTN_OK);
    if (status == ATTN_OK) assert_int_equal(attn_prediction_examples(prediction), 1);
    attn_prediction_destroy(prediction);
    return status;
}

static attn_status ask(attn_context *context, attn_model *model) {
    attn_predictor *predictor = NULL;
    attn_status status = attn_predictor_create(model, context, &predictor);
    assert_int_equal(predictor != NULL, status == ATTN_OK);
    if (status == ATTN_OK) status = ask_predictor(context, predictor, attn_model_task(model));
    attn_predictor_destroy(predictor);
    return status;
}

static void test_memory_runs_out(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        int64_t live = 0, failures = 0;
        for (int64_t n = 1;; n += 1 + n / 40) { /* every one of the first, later ones by leaps */
            attn_context_destroy(context); /* working memory that is there already would not be requested */
            assert_int_equal(counter.live, 0);
            context = counting_context(&counter);
            live = counter.live;
            attn_model *model = NULL;
            counter.fail_at = n;
            attn_status status = attn_model_load(context, paths[k], &model);
            if (status == ATTN_OK) status = ask(context, model);
            counter.fail_at = 0;
            if (status != ATTN_OK) {
                expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory");
                failures++;
            }
            model_destroy(model);
            assert_true(counter.live <= live + 1); /* the context's own working memory may stay */
            if (status == ATTN_OK) break;
            assert_true(n < 100000);
        }
        assert_true(failures > 30);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
}

/* Training and saving, too, at some of the very many places. */
static void train_without_memory(kind which) {
    char *corpus = kind_corpus((int)which, 3, 12);
    for (int64_t n = 1, failures = 0;; n += 1 + n / 8) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        attn_config *config = tiny_config(context, kind_sets[which]);
        expect_ok(context, attn_config_set(config, "training.steps", "3"));
        attn_dataset *data = parse_corpus(config, "train", corpus);
        attn_trainer_options options;
        attn_trainer_options_init(&options);
        options.output = lying;
        options.force = 1;
        options.vectors = which == VECTORS ? vectors : NULL;
        attn_trainer *trainer = NULL;
        counter.fail_at = n;
        attn_status status = attn_trainer_create(config, data, NULL, &options, &trainer);
        if (status != ATTN_OK) assert_null(trainer);
        if (status == ATTN_OK) status = attn_trainer_run(trainer);
        counter.fail_at = 0;
        if (status != ATTN_OK) expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory"), failures++;
        attn_trainer_destroy(trainer);
        attn_dataset_destroy(data);
        attn_config_destroy(config);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        if (status == ATTN_OK) {
            assert_true(failures > 20);
            break;
        }
        assert_true(n < 1000000);
    }
    free(corpus);
}

static void test_memory_for_training_runs_out(void **state) {
    (void)state;
    train_without_memory(VECTORS);
    train_without_memory(PAIRS);
    train_without_memory(RUNNING);
}

/* ---- time ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WATCHED 1
#endif
#endif

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A tagger with so many words and buckets: how large its file is, in *length, and it opens in time. */
static void check_loading(int words, const char *buckets, size_t *length) {
    const char *const sets[] = {"task",
                                "tag",
                                "encoder.columns",
                                "128",
                                "encoder.layers",
                                "2",
                                "text.buckets",
                                buckets,
                                "training.steps",
                                "1",
                                NULL};
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = lying;
    options.force = 1;
    char *corpus = corpus_conllu(1, 10), first[200];
    size_t room = strlen(corpus) + (size_t)words * 60, used = 0;
    char *large = malloc(room);
    assert_non_null(large);
    for (int i = 0; i < words; i++)
        used += (size_t)snprintf(large + used, room - used, "1\tw%dw%d\t_\tAA\t_\t_\t_\t_\t_\t_\n\n", i,
                                 i * 7919);
    expect_ok(context, train_on(config, large, corpus, &options));
    free(file_bytes(lying, length));
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        attn_model *model = NULL;
        double before = seconds(), spent;
        expect_ok(context, attn_model_load(context, lying, &model));
        spent = seconds() - before;
        model_destroy(model);
        if (spent < best) best = spent;
    }
    snprintf(first, sizeof first, "a model of %.1f MB opens in %.1f ms\n", (double)*length / 1e6, 1e3 * best);
    print_message("%s", first);
#ifndef WATCHED
    assert_true(best < 0.05);
#endif
    free(corpus);
    free(large);
    attn_config_destroy(config);
}

static void test_loading_time(void **state) {
    (void)state;
    size_t length;
    check_loading(40000, "500", &length);
    assert_true(length > 20000000);
    check_loading(8000, "38000", &length); /* of the buckets most are empty */
    assert_in_range(length, 4000000, 8000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_memory_for_training_runs_out),
        cmocka_unit_test(test_loading_time),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
