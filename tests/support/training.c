/* training.c: small corpora, and training runs on them. */
#define _POSIX_C_SOURCE 200809L
#include "support/training.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/config.h"
#include "support/check.h"
#include "support/random.h"

/* ---- corpora ---- */

typedef struct writer {
    char *bytes;
    size_t length, room;
} writer;

static void put(writer *to, const char *text) {
    size_t length = strlen(text);
    if (to->length + length + 1 > to->room) {
        to->room = 2 * (to->length + length + 1);
        to->bytes = realloc(to->bytes, to->room);
        assert_non_null(to->bytes);
    }
    memcpy(to->bytes + to->length, text, length + 1);
    to->length += length;
}

char *corpus_conllu(uint64_t seed, int sentences) {
    static const char *const words[] = {"ab", "cd", "x", "fgh", "i", "Kl"};
    static const char *const tags[] = {"AA", "BB", "X", "FF", "II", "KK"};
    static const char *const weights[] = {"1", "-2", "0", "3.5", "0.25", "7"};
    test_random random = {seed * 2 + 1};
    writer to = {0};
    for (int s = 0; s < sentences; s++) {
        int64_t count = random_between(&random, 1, 8), before = -1;
        for (int64_t t = 0; t < count; t++) {
            char line[200], tag[32];
            int64_t word = random_between(&random, 0, 5);
            snprintf(tag, sizeof tag, "%s%s", word == 2 && before >= 0 && before != 2 ? tags[before] : "",
                     tags[word]);
            snprintf(line, sizeof line, "%d\t%s\t_\t%s\t%s\tWeight=%s\t_\t_\t_\tSpaceAfter=No\n", (int)t + 1,
                     words[word], tag,
                     t == 0           ? "first"
                     : t + 1 == count ? "last"
                                      : "inner",
                     weights[word]);
            put(&to, line);
            before = word;
        }
        put(&to, "\n");
    }
    return to.bytes;
}

char *corpus_classes(uint64_t seed, int texts, int set) {
    static const char *const labels[] = {"good", "bad", "none"};
    static const char *const keys[2][3][2] = {{{"fine", "nice"}, {"poor", "dull"}, {"so", "so"}},
                                              {{"great", "lovely"}, {"awful", "boring"}, {"so", "so"}}};
    static const char *const rest[] = {"the", "film", "was", "a", "story", "of", "it"};
    test_random random = {seed * 2 + 1};
    writer to = {0};
    for (int i = 0; i < texts; i++) {
        int64_t label = random_between(&random, 0, 2), count = random_between(&random, 1, 9);
        int64_t at = random_between(&random, 0, count - 1);
        put(&to, labels[label]);
        for (int64_t w = 0; w < count; w++) {
            put(&to, w ? " " : "\t");
            put(&to, w == at ? keys[set][label][random_between(&random, 0, 1)]
                             : rest[random_between(&random, 0, 6)]);
        }
        put(&to, "\n");
    }
    return to.bytes;
}

char *corpus_numbers(uint64_t seed, int texts) {
    static const char *const words[] = {"one", "two", "and", "then"};
    test_random random = {seed * 2 + 1};
    writer to = {0};
    for (int i = 0; i < texts; i++) {
        char text[200] = "", number[32];
        int64_t count = random_between(&random, 1, 6), value = 5;
        for (int64_t w = 0; w < count; w++) {
            int64_t word = random_between(&random, 0, 3);
            value += word == 0 ? 3 : word == 1 ? -2 : 0;
            strcat(text, w ? " " : "\t");
            strcat(text, words[word]);
        }
        snprintf(number, sizeof number, "%d", (int)value);
        put(&to, number);
        put(&to, text);
        put(&to, "\n");
    }
    return to.bytes;
}

char *corpus_labels(uint64_t seed, int texts) {
    static const char *const words[] = {"red", "green", "blue"};
    static const char *const labels[] = {"__label__R ", "__label__G ", "__label__B "};
    test_random random = {seed * 2 + 1};
    writer to = {0};
    for (int i = 0; i < texts; i++) {
        int64_t which = random_between(&random, 0, 7), p = random_between(&random, 0, 1);
        for (int l = 0; l < 3; l++)
            if (which >> l & 1) put(&to, labels[l]);
        put(&to, p ? "__label__P pp" : "__label__Q qq");
        for (int l = 2; l >= 0; l--) {
            put(&to, " it");
            if (which >> l & 1) put(&to, " "), put(&to, words[l]);
        }
        put(&to, "\n");
    }
    return to.bytes;
}

char *corpus_pairs(uint64_t seed, int pairs, int spaced) {
    test_random random = {seed * 2 + 1};
    writer to = {0};
    for (int i = 0; i < pairs; i++) {
        char letters[4];
        int64_t count = random_between(&random, 1, 4);
        for (int64_t l = 0; l < count; l++) {
            letters[l] = (char)random_between(&random, 'a', 'c');
            char letter[3] = {letters[l], spaced && l + 1 < count ? ' ' : 0, 0};
            put(&to, letter);
        }
        put(&to, "\t");
        while (count-- > 0) {
            char letter[3] = {(char)(letters[count] - 'a' + 'A'), count ? ' ' : 0, 0};
            put(&to, letter);
        }
        put(&to, "\n");
    }
    return to.bytes;
}

char *corpus_running(uint64_t seed, int lines) {
    static const char *const sentences[] = {"the cat sat on the mat.", "a dog ran, and ran.", "  two  spaces",
                                            "\xc3\xa9t\xc3\xa9 \xe6\x88\x91"};
    test_random random = {seed * 2 + 1};
    writer to = {0};
    for (int i = 0; i < lines; i++) {
        put(&to, sentences[random_between(&random, 0, 3)]);
        put(&to, "\n");
    }
    return to.bytes;
}

char *corpus_vectors(void) {
    static const char *const words[3][4] = {
        {"fine", "nice", "great", "lovely"}, {"poor", "dull", "awful", "boring"}, {"so", "it", "of", "a"}};
    writer to = {0};
    put(&to, "13 4\n");
    for (int group = 0; group < 3; group++) {
        for (int w = 0; w < 4; w++) {
            char line[100];
            snprintf(line, sizeof line, "%s %g %g %g %g\n", words[group][w], group == 0 ? 1.0 : -0.1 * w,
                     group == 1 ? 1.0 : 0.05 * w, group == 2 ? 1.0 : 0.0, 0.02 * w);
            put(&to, line);
        }
    }
    put(&to, "fine 9 9 9 9\n"); /* of a word that occurs twice the first counts */
    return to.bytes;
}

/* ---- runs ---- */

void expect_ok(attn_context *context, attn_status status) {
    if (status != ATTN_OK) fail_msg("%s: %s", attn_status_name(status), attn_context_error(context));
}

void expect_refused(attn_context *context, attn_status status, attn_status expected, const char *part) {
    assert_int_equal(status, expected);
    if (!strstr(attn_context_error(context), part))
        fail_msg("\"%s\" lacks \"%s\"", attn_context_error(context), part);
}

attn_config *tiny_config_of(attn_context *context, const char *input, const char *const *sets) {
    static const char *const basis[] = {"encoder.columns",
                                        "16",
                                        "encoder.heads",
                                        "2",
                                        "encoder.layers",
                                        "1",
                                        "encoder.dropout",
                                        "0",
                                        "output.dropout",
                                        "0",
                                        "text.unit_dropout",
                                        "0",
                                        "text.feature_dropout",
                                        "0",
                                        "text.buckets",
                                        "64",
                                        "text.wide_buckets", /* test_wide.c has them */
                                        "0",
                                        "text.min_count",
                                        "1",
                                        "text.splitter", /* test_split.c turns it on */
                                        "none",
                                        "decoder.monotone", /* test_monotone.c turns it on */
                                        "false",
                                        "training.batch_units",
                                        "60",
                                        "training.epochs",
                                        "15",
                                        "training.patience",
                                        "0",
                                        "training.average",
                                        "0.9",
                                        "text.subwords",
                                        "40",
                                        "training.accumulate",
                                        "1",
                                        "training.learning_rate",
                                        "0.01",
                                        "training.warmup",
                                        "0.1",
                                        NULL};
    attn_config *config = NULL;
    expect_ok(context, attn_config_create(context, &config));
    expect_ok(context, attn_config_set(config, "input", input));
    const char *const *lists[2] = {basis, sets};
    for (int list = 0; list < 2; list++) {
        for (const char *const *at = lists[list]; at && *at; at += 2) {
            int of_text = list == 0 && strncmp(at[0], "text.", 5) == 0;
            if (of_text && strcmp(input, "text") != 0) continue;
            expect_ok(context, attn_config_set(config, at[0], at[1]));
        }
    }
    return config;
}

attn_config *tiny_config(attn_context *context, const char *const *sets) {
    return tiny_config_of(context, "text", sets);
}

attn_dataset *parse_corpus(attn_config *config, const char *name, const char *text) {
    attn_context *context = at_config_context(config);
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    expect_ok(context, attn_config_reader(config, &options));
    expect_ok(context, attn_dataset_parse(context, name, 1, text, strlen(text), &options, &dataset));
    return dataset;
}

attn_status train_on(attn_config *config, const char *train, const char *dev,
                     const attn_trainer_options *options) {
    attn_dataset *to_learn = parse_corpus(config, "train", train);
    attn_dataset *to_choose = dev ? parse_corpus(config, "dev", dev) : NULL;
    attn_trainer *trainer = NULL;
    attn_status status = attn_trainer_create(config, to_learn, to_choose, options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(to_learn);
    attn_dataset_destroy(to_choose);
    return status;
}

attn_model *train_model(attn_config *config, const char *train, const char *dev, const char *path) {
    attn_context *context = at_config_context(config);
    attn_trainer_options options;
    attn_model *model = NULL;
    attn_trainer_options_init(&options);
    options.output = path;
    options.force = 1; /* tests use a name again and again */
    expect_ok(context, train_on(config, train, dev, &options));
    expect_ok(context, attn_model_load(context, path, &model));
    attn_config_destroy(config);
    return model;
}

/* ---- files and answers ---- */

char *file_bytes(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *length, file), *length);
    fclose(file);
    return bytes;
}

int same_files(const char *path, const char *other) {
    size_t length = 0, other_length = 1;
    char *bytes = file_bytes(path, &length), *other_bytes = file_bytes(other, &other_length);
    int same = bytes && other_bytes && length == other_length && memcmp(bytes, other_bytes, length) == 0;
    free(bytes);
    free(other_bytes);
    return same;
}

static int same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

int same_answers(const attn_model *model, const attn_prediction *a, int64_t from, int64_t count,
                 const attn_prediction *b) {
    if (count != attn_prediction_examples(b) || from + count > attn_prediction_examples(a)) return 0;
    for (int64_t e = 0; e < count; e++) {
        int64_t rows = attn_prediction_units(a, from + e);
        if (rows != attn_prediction_units(b, e)) return 0;
        if (!attn_model_per_token(model)) rows = 1;
        for (int64_t r = 0; r < rows; r++) {
            for (int o = 0; o < attn_model_outputs(model); o++) {
                if (attn_prediction_class(a, o, from + e, r) != attn_prediction_class(b, o, e, r)) return 0;
                if (!same_bits(attn_prediction_number(a, o, from + e, r), attn_prediction_number(b, o, e, r)))
                    return 0;
                for (int64_t l = 0; l < attn_model_labels(model, o); l++) {
                    if (!same_bits(attn_prediction_probability(a, o, from + e, r, l),
                                   attn_prediction_probability(b, o, e, r, l)))
                        return 0;
                }
            }
        }
    }
    return 1;
}

void remove_folder(const char *folder) {
    DIR *opened = opendir(folder);
    char path[512];
    for (struct dirent *one; opened && (one = readdir(opened));) {
        snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
        if (one->d_name[0] != '.') unlink(path);
    }
    if (opened) closedir(opened);
    rmdir(folder);
}
