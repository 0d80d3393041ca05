/* test_split.c: what teaches a splitter of raw text, and what its labels make of one: paragraphs and labels
 * of tokenised sentences, expansions, labels that are counted and labels that become sentences.
 */
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/text/raw_text.h"
#include "inputs/text/split.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/readers.h"

#define LINE(id, form, misc) id "\t" form "\t_\tX\t_\t_\t_\t_\t_\t" misc "\n"
#define NO "SpaceAfter=No"

static const at_text_values words_of = {.unit = AT_UNIT_WORDS, .min_count = 1};
static const at_text_values splitter_of = {.unit = AT_UNIT_CHARS, .scheme = AT_SCHEME_SPLIT, .min_count = 1};

/* ---- teaching ---- */

typedef struct settings {
    char text[2000]; /* "name=value;" for each */
} settings;

static attn_status take_setting(void *user, const char *name, const char *value) {
    settings *to = user;
    size_t used = strlen(to->text);
    snprintf(to->text + used, sizeof to->text - used, "%s=%s;", name, value);
    return ATTN_OK;
}

static attn_dataset *read_tokens(const char *name, const char *text) {
    attn_reader_options options = reader_options_unlabelled();
    options.format = strstr(name, ".conllu") ? ATTN_FORMAT_CONLLU : ATTN_FORMAT_COLUMNS;
    return read_text(group_context, name, text, &options);
}

static attn_dataset *teach(const at_text_values *values, const attn_dataset *dataset, settings *set,
                           const char **why) {
    attn_dataset *raw = NULL;
    settings unused;
    if (!set) set = &unused;
    *set = (settings){{0}};
    assert_int_equal(at_split_teach(values, dataset, take_setting, set, &raw, why), ATTN_OK);
    return raw;
}

static void append(char *all, size_t room, const char *text) {
    assert_true(strlen(all) + strlen(text) + 2 < room);
    strcat(all, text);
    strcat(all, "\n");
}

/* Paragraphs, each a line of its text and one of its labels; expansions, a line each (NULL: not requested).
 */
static void check_taught(const attn_dataset *raw, const char *expected, const char *expansions) {
    char all[4096] = "", list[1024] = "";
    assert_non_null(raw);
    assert_int_equal(attn_dataset_format(raw), ATTN_FORMAT_LINES);
    assert_int_equal(raw->targets.count, raw->examples);
    for (int64_t e = 0; e < raw->examples; e++) {
        append(all, sizeof all, attn_dataset_token(raw, e, 0));
        append(all, sizeof all, at_string(&raw->targets, e));
    }
    assert_string_equal(all, expected);
    const at_strings *seen = &at_texts_of(raw)->expansions;
    for (int64_t i = 0; i < seen->count; i++) append(list, sizeof list, at_string(seen, i));
    if (expansions) assert_string_equal(list, expansions);
}

static void check_teaching(const char *name, const char *text, const char *expected, const char *expansions) {
    const char *why = "";
    attn_dataset *dataset = read_tokens(name, text), *raw = teach(&words_of, dataset, NULL, &why);
    assert_null(why);
    check_taught(raw, expected, expansions);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
}

/* Everything at once: joined words and others, glued sentences, paragraphs, spaces inside, empty nodes,
 * accents. */
#define MIXED                                                                                                \
    "# newdoc id = d\n# text = We don't go.\n" LINE("1", "We", "_") LINE("2-3", "don't", "_")                \
        LINE("2", "do", "_") LINE("3", "n't", "_") LINE("3.1", "went", "_") LINE("4", "go", NO)              \
            LINE("5", ".", NO) "\n# text = Du pain!\n" LINE("1-2", "Du", "_") LINE("1", "De", "_")           \
                LINE("2", "le", "_") LINE("3", "pain", NO)                                                   \
                    LINE("4", "!", "_") "\n# text = 10 000 x y\n" LINE("1", "10 000", "_")                   \
                        LINE("2", "x\xc2\xa0  y",                                                            \
                             "_") "\n# newpar\n# text = "                                                    \
                                  "e\xcc\x81x\xcc\x81\n" LINE("1", "e\xcc\x81", NO)                          \
                                      LINE("2", "x\xcc\x81",                                                 \
                                           NO) "\n"                                                          \
                                               "# newdoc\n" LINE("1", "Hi", NO) LINE("2", ",", "_")          \
                                                   LINE("3-4", "du", "_") LINE("3", "de", "_")               \
                                                       LINE("4", "le", "_") "\n" LINE("1-2", "y", "_")       \
                                                           LINE("1", "a", "_") LINE("2", "b", "_")           \
                                                               LINE("3-5", "abc", "_") LINE("3", "a", "_")   \
                                                                   LINE("4", "b", "_") LINE("5", "c", "_")

static void test_teaching(void **state) {
    (void)state;
    check_teaching("a.conllu", MIXED,
                   "We don't go.Du pain! 10 000 x y\n"
                   "BTOBWBITOBTVBMOBIITVOBIIIITOBIS\n"
                   "\xc3\xa9x\xcc\x81\nUBS\n"
                   "Hi, du y abc\nBTUOBNOMOWWS\n",
                   "du\tde le\ndu\tde le\ny\ta b\n");
    /* Words that end a sentence as a range, alone; a range of one word is a word. */
    check_teaching("a.conllu",
                   LINE("1-2", "au", NO) LINE("1", "\xc3\xa0", "_")
                       LINE("2", "le", "_") "\n" LINE("1-1", "ab", NO) LINE("1", "AB", "_")
                           LINE("2", "c", NO) "\n",
                   "auabc\nBNBTV\n", "au\t\xc3\xa0 le\n");
    /* Of a text that does not fit its forms are taken; a word without a character of its own is none. */
    check_teaching("a.conllu",
                   "# text = other\n" LINE("1", "ab", NO) LINE("2", "\xe3\x80\x80", NO) LINE("3", "c", "_")
                       LINE("4", "d", "_"),
                   "abc d\nBTUOV\n", "");
}

/* Forms may have spaces around and inside; what is learned of them must be a list that can be read. */
static void test_spaces_in_words(void **state) {
    (void)state;
    static const char text[] = "# text = x y z\n" LINE("1-2", "x", "_") LINE("1", " a", "_")
        LINE("2", "b  c ", "_") LINE("3-4", "y", "_") LINE("3", " ", "_") LINE("4", "  ", "_")
            LINE("5", "z", NO) LINE("6", "  ", NO) "\n" LINE("1", "u", NO) LINE("2", "v", NO);
    const char *why;
    attn_dataset *dataset = read_tokens("a.conllu", text), *raw = teach(&words_of, dataset, NULL, &why);
    check_taught(raw, "x y zuv\nMOMOVUV\n", "x\ta b c\n");
    at_strings list = {0};
    assert_int_equal(at_expansions_learn(group_context, &at_texts_of(raw)->expansions, &list), ATTN_OK);
    assert_null(at_expansions_check(&list));
    at_strings_free(group_context, &list);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
    /* A sentence of nothing but white space leaves no second space, whichever of them has one. */
    check_teaching(
        "a.conllu",
        LINE("1", "a", NO)
            LINE("2", "b", "_") "\n" LINE("1", "\xe3\x80\x80", "_") "\n" LINE("1", "c", "_") "\n" LINE(
                "1", "\xe3\x80\x80", NO) "\n" LINE("1", "d", "_") "\n" LINE("1", "\xe3\x80\x80", "_"),
        "ab c d\nUVOVOV\n", "");
}

static void test_lines(void **state) {
    (void)state;
    const char *why;
    attn_dataset *dataset = read_tokens("a.conllu", MIXED), *raw = teach(&words_of, dataset, NULL, &why);
    static const int64_t lines[] = {3, 24, 28};
    for (int64_t e = 0; e < 3; e++) assert_int_equal(raw->lines[raw->offsets[e]], lines[e]);
    assert_string_equal(attn_dataset_name(raw), "a.conllu");
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
}

/* ---- data that cannot teach, or is not asked to ---- */

static void check_why(const char *name, const char *text, at_text_values values, const char *expected) {
    const char *why = NULL;
    settings set;
    attn_dataset *dataset = read_tokens(name, text), *raw = teach(&values, dataset, &set, &why);
    if (expected) {
        check_taught(raw, expected, "");
        assert_null(why);
        assert_non_null(strstr(set.text, "text.scheme=split;"));
        assert_non_null(strstr(set.text, strchr(expected, ' ') ? "text.spaces=one;" : "text.spaces=none;"));
    } else {
        assert_null(raw);
        assert_non_null(why);
        assert_non_null(strstr(why, "SpaceAfter=No"));
    }
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
}

static void test_spaces_not_marked(void **state) {
    (void)state;
    static const char latin[] = LINE("1", "We", "_") LINE("2", "go", "_") "\n" LINE("1", "No", "_"),
                      columns[] = "We\tX\ngo\tX\n\nNo\tX\n\n",
                      chinese[] = LINE("1", "\xe6\x88\x91\xe4\xbb\xac", "_") LINE("2", "\xe7\x88\xb1", "_")
                          LINE("3", "\xe3\x80\x82", "_") "\n" LINE("1", "\xe7\x88\xb1", "_"),
                      chinese_columns[] = "\xe6\x88\x91\xe4\xbb\xac\tX\n\xe7\x88\xb1\tX\n\n";
    at_text_values one = words_of, none = words_of;
    one.spaces = AT_SPACING_ONE;
    none.spaces = AT_SPACING_NONE;
    check_why("a.conllu", latin, words_of, NULL);
    check_why("a.tsv", columns, words_of, NULL);
    check_why("a.conllu", latin, one, "We go No\nBTOBSOBS\n");
    check_why("a.tsv", columns, one, "We go No\nBTOBSOBS\n");
    check_why("a.conllu", latin, none, "WegoNo\nBTBSBS\n");
    check_why("a.conllu", chinese, words_of,
              "\xe6\x88\x91\xe4\xbb\xac\xe7\x88\xb1\xe3\x80\x82\xe7\x88\xb1\nBTUVV\n");
    check_why("a.tsv", chinese_columns, words_of, "\xe6\x88\x91\xe4\xbb\xac\xe7\x88\xb1\nBTV\n");
}

/* A small network where spaces part words, a larger one with a CRF elsewhere. */
static void test_settings(void **state) {
    (void)state;
    const char *why;
    settings set;
    attn_dataset *dataset = read_tokens("a.conllu", LINE("1", "a", NO) LINE("2", "b", "_") LINE("3", "c", "_")
                                                        LINE("4", "d", "_"));
    attn_dataset *raw = teach(&words_of, dataset, &set, &why);
    assert_int_equal(strncmp(set.text, "text.spaces=marked;text.unit=chars;text.scheme=split;", 53), 0);
    assert_non_null(strstr(set.text, "encoder.columns=64;"));
    attn_dataset_destroy(raw);
    /* The splitter's own view, of development data: nothing is set again. */
    raw = teach(&splitter_of, dataset, &set, &why);
    check_taught(raw, "ab c d\nUUOUOV\n", "");
    assert_string_equal(set.text, "");
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
    dataset = read_tokens("a.conllu", LINE("1", "\xe6\x88\x91", "_") LINE("2", "\xe7\x88\xb1", "_"));
    raw = teach(&words_of, dataset, &set, &why);
    assert_non_null(strstr(set.text, "encoder.columns=192;"));
    assert_non_null(strstr(set.text, "output.crf=true;"));
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
}

static void test_not_wanted(void **state) {
    (void)state;
    at_text_values values[4] = {words_of, words_of, words_of, words_of};
    values[0].splitter = AT_SPLITTER_NONE;
    values[1].unit = AT_UNIT_SUBWORDS;
    values[2].unit = AT_UNIT_CHARS, values[2].scheme = AT_SCHEME_BMES;
    values[3].pretokenized = 1;
    attn_dataset *dataset = read_tokens("a.conllu", MIXED);
    for (int i = 0; i < 4; i++) {
        const char *why = "";
        assert_null(teach(&values[i], dataset, NULL, &why));
        assert_null(why);
    }
    attn_dataset_destroy(dataset);
    static const char *const texts[] = {"a b", "c"};
    dataset = examples_create(group_context, 0, texts, 2);
    const char *why = "";
    assert_null(teach(&words_of, dataset, NULL, &why));
    assert_null(why);
    assert_null(teach(&splitter_of, dataset, NULL, &why));
    attn_dataset_destroy(dataset);
}

/* Long paragraphs are cut between sentences, at places that a hash says; those of development data later. */
static void test_long_paragraphs(void **state) {
    (void)state;
    enum { SENTENCES = 4000, BYTES = 160 };
    static const char sentence[] = LINE("1", "ab", NO) LINE("2", "cde", NO) LINE("3", ".", "_") "\n";
    const int64_t length = 7; /* "abcde. " */
    char *text = malloc(SENTENCES * BYTES), *at = text;
    assert_non_null(text);
    for (int s = 0; s < SENTENCES; s++) at += sprintf(at, "%s", sentence);
    attn_dataset *dataset = read_tokens("a.conllu", text);
    free(text);
    for (int teaches = 0; teaches < 2; teaches++) {
        const char *why;
        attn_dataset *raw = teach(teaches ? &words_of : &splitter_of, dataset, NULL, &why);
        int64_t sentences = 0, shortest = 1000000, longest = 0;
        for (int64_t e = 0; e < raw->examples; e++) {
            const char *labels = at_string(&raw->targets, e), *words = attn_dataset_token(raw, e, 0);
            int64_t count = (int64_t)strlen(labels);
            assert_int_equal(strlen(words), count);
            assert_int_equal((count + 1) % length, 0);
            for (int64_t i = 0; i < count; i++) {
                assert_int_equal(words[i], "abcde. "[i % length]);
                assert_int_equal(labels[i], "BTBITVO"[i % length]);
            }
            assert_int_equal(raw->lines[raw->offsets[e]], sentences * 4 + 1);
            sentences += (count + 1) / length;
            if (e + 1 < raw->examples && count < shortest) shortest = count;
            if (count > longest) longest = count;
        }
        assert_int_equal(sentences, SENTENCES);
        if (teaches) {
            assert_true(shortest >= 100 && shortest < 200 && longest <= 900 + length);
            assert_true(raw->examples > 50 && longest > 300);
        } else {
            assert_int_equal(raw->examples, 2);
            assert_true(longest >= 20000 && longest < 20000 + length);
        }
        attn_dataset_destroy(raw);
    }
    attn_dataset_destroy(dataset);
}

/* ---- expansions ---- */

static at_strings strings_of(const char *const *texts) {
    at_strings list = {0};
    for (; *texts; texts++)
        assert_int_equal(at_strings_add(group_context, &list, *texts, strlen(*texts)), ATTN_OK);
    return list;
}

static void test_expansions_learn(void **state) {
    (void)state;
    static const char *const words[] = {"DE", "le", NULL};
    at_strings seen = {0}, list = {0}, two = strings_of(words);
    assert_int_equal(at_expansions_learn(group_context, &seen, &list), ATTN_OK);
    assert_int_equal(list.count, 0);
    assert_int_equal(at_expansion_add(group_context, &seen, "D\xc3\x9c", 3, &two, 0, 2), ATTN_OK);
    assert_int_equal(at_expansion_add(group_context, &seen, "Du", 2, &two, 1, 1), ATTN_OK);
    assert_string_equal(at_string(&seen, 0), "d\xc3\xbc\tde le");
    assert_string_equal(at_string(&seen, 1), "du\tle");
    at_strings_free(group_context, &seen);
    /* the most frequent one; of equal ones the first in order; a token that is the beginning of another */
    static const char *const all[] = {"du\tde lo",   "du\tde le", "au\ta le",    "du\tde le",
                                      "dus\tde les", "au\ta l",   "du\tde lo",   "d\td e",
                                      "d'u\td' un",  "du\tde le", "\xc3\xa0\ta", NULL};
    static const char *const learned[] = {"au\ta l",   "d\td e",      "d'u\td' un",
                                          "du\tde le", "dus\tde les", "\xc3\xa0\ta"};
    seen = strings_of(all);
    for (int again = 0; again < 2; again++) { /* what was there is replaced */
        assert_int_equal(at_expansions_learn(group_context, &seen, &list), ATTN_OK);
        assert_int_equal(list.count, 6);
        for (int i = 0; i < 6; i++) assert_string_equal(at_string(&list, i), learned[i]);
    }
    assert_null(at_expansions_check(&list));
    at_strings_free(group_context, &seen);
    at_strings_free(group_context, &list);
    at_strings_free(group_context, &two);
}

static void test_expansions_check(void **state) {
    (void)state;
    static const char *const damaged[][3] = {
        {"du", NULL},          {"", NULL},           {"\tde le", NULL},        {"du\t", NULL},
        {"du\tde\tle", NULL},  {"du\tde  le", NULL}, {"du\t de le", NULL},     {"du\tde le ", NULL},
        {"du\t ", NULL},       {"du\td\xc3", NULL},  {"d\xff\tde le", NULL},   {"d\xed\xa0\x80\tde", NULL},
        {"du\tde", "au\ta l"}, {"du\tde", "du\tde"}, {"du\tde le", "du\tde a"}};
    static const char *const good[] = {"a b\tc d", "du\tde", "du\tde le", "\xc3\xa0\ta", NULL};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        at_strings list = strings_of(damaged[i]);
        const char *wrong = at_expansions_check(&list);
        assert_non_null(wrong);
        assert_non_null(strstr(wrong, damaged[i][1] ? "in order" : "token TAB word"));
        at_strings_free(group_context, &list);
    }
    at_strings list = strings_of(good);
    assert_null(at_expansions_check(&list));
    at_strings_free(group_context, &list);
    assert_null(at_expansions_check(&list));
}

static void check_expansion(const at_strings *list, const char *token, const char *expected) {
    at_strings words = {0};
    char all[200] = "";
    assert_int_equal(at_expansion_apply(group_context, list, token, strlen(token), &words), ATTN_OK);
    for (int64_t i = 0; i < words.count; i++) {
        if (i) strcat(all, "|");
        strcat(all, at_string(&words, i));
    }
    assert_string_equal(all, expected);
    at_strings_free(group_context, &words);
}

static void test_expansions_apply(void **state) {
    (void)state;
    static const char *const known[] = {"dalo\tda lo",
                                        "du\tde le",
                                        "n\xc3\xa9\tn\xc3\xa8 x", /* two letters that begin with one byte */
                                        "vamos\tvamosa b",        /* nothing of it is replaced */
                                        "\xc3\xa9t\xc3\xa9\t\xc3\xa9 t\xc3\xa9",
                                        NULL};
    at_strings list = strings_of(known), empty = {0};
    check_expansion(&list, "du", "de|le");
    check_expansion(&list, "Du", "De|le");
    check_expansion(&list, "DU", "DE|LE");
    check_expansion(&list, "dU", "de|le");
    check_expansion(&list, "\xc3\x89T\xc3\x89", "\xc3\x89|T\xc3\x89");
    check_expansion(&list, "\xc3\x89t\xc3\xa9", "\xc3\x89|t\xc3\xa9");
    /* unknown ones, by the longest ending that they share */
    check_expansion(&list, "veralo", "vera|lo");
    check_expansion(&list, "Veralo", "Vera|lo");
    check_expansion(&list, "VERALO", "VERA|LO");
    check_expansion(&list, "lo", "lo"); /* something has to stay */
    check_expansion(&list, "an\xc3\xa9", "an\xc3\xa8|x");
    check_expansion(&list, "\xc3\xbcn\xc3\xa9", "\xc3\xbcn\xc3\xa8|x");
    check_expansion(&list, "amos", "amosa|b");
    check_expansion(&list, "x", "x");
    check_expansion(&list, "XyZ", "XyZ");
    check_expansion(&list, "\xc2\xa9", "\xc2\xa9"); /* one byte in common, half a letter */
    check_expansion(&empty, "du", "du");
    at_strings_free(group_context, &list);
}

/* ---- labels, whatever they are ---- */

enum { MOST_ROWS = 400, PARAGRAPHS = 4 };

/* Paragraphs with labels that are drawn, encoded as a splitter reads them. */
typedef struct drawn {
    char texts[PARAGRAPHS][200];
    attn_dataset *dataset;
    at_text_input *view;
    at_text_encoded *encoded;
    int32_t classes[2][MOST_ROWS];
} drawn;

static void draw_text(test_random *random, char *text) {
    static const char *const characters[] = {"a", "b", "d", "u",        "\xc3\xa9", "\xe4\xb8\xad", "_", "#",
                                             "-", ".", "1", "\xd2\x89", "x"};
    int64_t count = random_between(random, 0, 24);
    int space = 1;
    *text = 0;
    for (int64_t i = 0; i < count; i++) {
        space = !space && i + 1 < count && random_chance(random, 20);
        strcat(text, space ? " " : characters[random_between(random, 0, 12)]);
    }
}

static void draw(test_random *random, drawn *made) {
    const char *texts[PARAGRAPHS];
    made->view = text_create(group_context, &splitter_of, (text_use){0});
    for (int p = 0; p < PARAGRAPHS; p++) {
        draw_text(random, made->texts[p]);
        texts[p] = made->texts[p];
    }
    made->dataset = examples_create(group_context, 0, texts, PARAGRAPHS);
    assert_int_equal(text_encode(made->view, made->dataset, &made->encoded), ATTN_OK);
    made->encoded->encoded.dataset = made->dataset;
    assert_true(made->encoded->encoded.rows <= MOST_ROWS);
    int often = random_chance(random, 50); /* words of some length */
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < made->encoded->encoded.rows; i++)
            made->classes[k][i] = often && random_chance(random, 60)
                                      ? AT_SPLIT_I
                                      : (int32_t)random_between(random, 0, AT_SPLIT_LABELS - 1);
    }
}

static void undraw(drawn *made) {
    text_free(made->encoded);
    attn_dataset_destroy(made->dataset);
    text_destroy(made->view);
}

static int ends_word(const drawn *from, const int32_t *labels, int64_t row, int64_t end) {
    int ends = labels[row] != AT_SPLIT_B && labels[row] != AT_SPLIT_I;
    if (row + 1 == end) return 1;
    int space = strcmp(text_unit(from->encoded, row + 1), " ") == 0;
    return ends || (space && labels[row + 1] != AT_SPLIT_I);
}

static int ends_sentence(const int32_t *labels, int64_t row, int64_t end) {
    return row + 1 == end || labels[row] == AT_SPLIT_S || labels[row] == AT_SPLIT_V ||
           labels[row] == AT_SPLIT_N;
}

/* All words, or sentences, as the first and the last of their rows. */
static int64_t spans(const drawn *from, const int32_t *labels, int of_sentences, int64_t (*list)[2]) {
    int64_t count = 0;
    for (int64_t e = 0; e < PARAGRAPHS; e++) {
        int64_t begin = -1, end = from->encoded->encoded.offsets[e + 1];
        for (int64_t i = from->encoded->encoded.offsets[e]; i < end; i++) {
            if (strcmp(text_unit(from->encoded, i), " ") == 0) continue;
            if (begin < 0) begin = i;
            if (of_sentences ? !ends_sentence(labels, i, end) : !ends_word(from, labels, i, end)) continue;
            list[count][0] = begin;
            list[count++][1] = i;
            begin = -1;
        }
        assert_int_equal(begin, -1);
    }
    return count;
}

typedef struct measured {
    double words, sentences;
} measured;

static attn_status take_metric(void *user, const char *name, double value) {
    measured *into = user;
    if (strcmp(name, "word_f1") == 0)
        into->words = value;
    else if (strcmp(name, "sentence_f1") == 0)
        into->sentences = value;
    else
        fail_msg("there is a metric %s", name);
    return ATTN_OK;
}

static double f1_of(const drawn *from, const int32_t *truth, const int32_t *answers, int of_sentences) {
    static int64_t lists[2][MOST_ROWS][2];
    int64_t right = 0, first = spans(from, truth, of_sentences, lists[0]),
            second = spans(from, answers, of_sentences, lists[1]);
    for (int64_t a = 0; a < first; a++)
        for (int64_t b = 0; b < second; b++)
            right += lists[0][a][0] == lists[1][b][0] && lists[0][a][1] == lists[1][b][1];
    return first + second ? 2.0 * (double)right / (double)(first + second) : 0;
}

static void test_measure(void **state) {
    (void)state;
    test_random random = {7};
    for (int round = 0; round < 1500; round++) {
        drawn from;
        measured found = {-1, -1};
        draw(&random, &from);
        const int32_t *truth = from.classes[0], *answers = from.classes[random_chance(&random, 95)];
        assert_int_equal(at_split_measure(from.encoded, truth, answers, take_metric, &found), ATTN_OK);
        assert_true(fabs(found.words - f1_of(&from, truth, answers, 0)) < 1e-12);
        assert_true(fabs(found.sentences - f1_of(&from, truth, answers, 1)) < 1e-12);
        undraw(&from);
    }
}

/* A paragraph without labels does not count. */
static void test_measure_unlabelled(void **state) {
    (void)state;
    test_random random = {11};
    for (int round = 0; round < 100; round++) {
        drawn from;
        measured found = {-1, -1}, part = {-1, -1};
        draw(&random, &from);
        at_encoded *encoded = &from.encoded->encoded;
        for (int64_t i = encoded->offsets[PARAGRAPHS - 1]; i < encoded->rows; i++) from.classes[0][i] = -1;
        assert_int_equal(
            at_split_measure(from.encoded, from.classes[0], from.classes[1], take_metric, &found), ATTN_OK);
        encoded->examples--;
        assert_int_equal(at_split_measure(from.encoded, from.classes[0], from.classes[1], take_metric, &part),
                         ATTN_OK);
        encoded->examples++;
        assert_true(found.words == part.words && found.sentences == part.sentences);
        undraw(&from);
    }
}

/* ---- the sentences that labels make ---- */

static void without_spaces(const char *text, char *into) {
    into += strlen(into);
    for (; *text; text++)
        if (*text != ' ') *into++ = *text;
    *into = 0;
}

/* Where the sentences of a paragraph begin is looked at here. */
static attn_status split_rows(at_text_input *view, const at_encoded *encoded, const int32_t *classes,
                              attn_dataset **split) {
    int64_t *offsets = NULL;
    attn_status status = at_split_apply(&view->input, group_context, encoded, NULL, classes, split, &offsets);
    assert_int_equal(offsets != NULL, status == ATTN_OK);
    if (status != ATTN_OK) return status;
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[encoded->examples], (*split)->examples);
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t line = encoded->dataset->lines[encoded->dataset->offsets[e]];
        for (int64_t i = offsets[e]; i < offsets[e + 1]; i++)
            assert_int_equal(attn_dataset_line(*split, i, 0), line);
    }
    at_release(group_context, offsets);
    return status;
}

static attn_dataset *apply(const drawn *from) {
    attn_dataset *split = NULL;
    assert_int_equal(split_rows(from->view, &from->encoded->encoded, from->classes[0], &split), ATTN_OK);
    assert_int_equal(attn_dataset_format(split), ATTN_FORMAT_CONLLU);
    return split;
}

static attn_dataset *parse_again(const attn_dataset *split) {
    static char text[200000];
    size_t used = 0;
    for (int64_t e = 0; e < split->examples; e++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", attn_dataset_source(split, e));
    assert_true(used + 1 < sizeof text);
    attn_dataset *parsed = NULL;
    attn_reader_options options = reader_options_unlabelled();
    options.format = ATTN_FORMAT_CONLLU;
    if (attn_dataset_parse(group_context, "split", 1, text, used, &options, &parsed) != ATTN_OK)
        fail_msg("%s", attn_context_error(group_context));
    return parsed;
}

/* Two datasets of CoNLL-U: the same words, ranges, spaces and texts. */
static void check_same(const attn_dataset *a, const attn_dataset *b) {
    assert_int_equal(a->examples, b->examples);
    assert_int_equal(a->rows, b->rows);
    for (int64_t r = 0; r < a->rows; r++) {
        assert_string_equal(at_string(&at_texts_of(a)->tokens, r), at_string(&at_texts_of(b)->tokens, r));
        assert_int_equal(at_texts_of(a)->glued[r], at_texts_of(b)->glued[r]);
    }
    at_surface one = {.count = 0}, other = {.count = 0};
    for (int64_t e = 0; e < a->examples; e++) {
        assert_int_equal(a->offsets[e + 1], b->offsets[e + 1]);
        assert_int_equal(at_surface_read(a, e, AT_SPACING_MARKED, &one), ATTN_OK);
        assert_int_equal(at_surface_read(b, e, AT_SPACING_MARKED, &other), ATTN_OK);
        assert_int_equal(one.mismatch || other.mismatch, 0);
        assert_string_equal(one.text.data, other.text.data);
        assert_int_equal(one.paragraph, other.paragraph);
        assert_int_equal(one.space, other.space);
        assert_int_equal(one.count, other.count);
        for (int64_t t = 0; t < one.count; t++) {
            const at_surface_token *ours = &one.tokens[t], *theirs = &other.tokens[t];
            assert_int_equal(ours->begin, theirs->begin);
            assert_int_equal(ours->end, theirs->end);
            assert_int_equal(ours->first_word, theirs->first_word);
            assert_int_equal(ours->words, theirs->words);
            assert_int_equal(ours->multiword, theirs->multiword);
        }
    }
    at_surface_free(group_context, &one);
    at_surface_free(group_context, &other);
}

/* The characters of the sentences, in order, are those of the paragraphs; sentences are as many as are
 * counted, and so are words where none is expanded. */
static void check_characters(const drawn *from, const attn_dataset *split, int expands) {
    static int64_t list[MOST_ROWS][2];
    char given[1000] = "", texts[1000] = "", words[2000] = "";
    at_surface surface = {.count = 0};
    for (int p = 0; p < PARAGRAPHS; p++) without_spaces(from->texts[p], given);
    for (int64_t e = 0; e < split->examples; e++) {
        assert_int_equal(at_surface_read(split, e, AT_SPACING_MARKED, &surface), ATTN_OK);
        without_spaces(surface.text.data, texts);
        for (int64_t w = 0; w < attn_dataset_tokens(split, e); w++)
            without_spaces(attn_dataset_token(split, e, w), words);
    }
    at_surface_free(group_context, &surface);
    assert_string_equal(texts, given);
    assert_int_equal(split->examples, spans(from, from->classes[0], 1, list));
    if (expands) return;
    assert_string_equal(words, given);
    assert_int_equal(split->rows, spans(from, from->classes[0], 0, list));
}

static void test_apply(void **state) {
    (void)state;
    static const char *const known[] = {"a\tab b", "b\ta", "du\tde le", "u\td e f", NULL};
    test_random random = {3};
    for (int round = 0; round < 1500; round++) {
        drawn from;
        int expands = round % 2;
        draw(&random, &from);
        if (expands) from.view->expansions = strings_of(known);
        attn_dataset *split = apply(&from), *parsed;
        assert_int_equal(at_texts_of(split)->split, 1);
        check_characters(&from, split, expands);
        if (split->examples > 0) {
            parsed = parse_again(split);
            check_same(split, parsed);
            attn_dataset_destroy(parsed);
        }
        attn_dataset_destroy(split);
        undraw(&from);
    }
}

/* What teaching made of sentences, applied, gives the sentences again. */
static void test_there_and_back(void **state) {
    (void)state;
    const char *why;
    attn_dataset *dataset = read_tokens("a.conllu", MIXED), *raw = teach(&words_of, dataset, NULL, &why);
    at_text_input *view = text_create(group_context, &splitter_of, (text_use){0});
    assert_int_equal(text_learn(view, raw), ATTN_OK);
    assert_int_equal(view->expansions.count, 2);
    at_text_encoded *encoded = NULL;
    attn_dataset *split = NULL;
    int32_t classes[MOST_ROWS];
    assert_int_equal(text_encode(view, raw, &encoded), ATTN_OK);
    encoded->encoded.dataset = raw;
    assert_int_equal(encoded->labels.count, encoded->encoded.rows);
    for (int64_t i = 0; i < encoded->labels.count; i++) {
        classes[i] = -1;
        for (int l = 0; l < AT_SPLIT_LABELS; l++)
            if (strcmp(at_string(&encoded->labels, i), at_split_labels[l]) == 0) classes[i] = l;
        assert_true(classes[i] >= 0);
    }
    assert_int_equal(split_rows(view, &encoded->encoded, classes, &split), ATTN_OK);
    check_dataset(split, "We do n't go .;De le pain !;10 000 x y;\xc3\xa9 x\xcc\x81;"
                         "Hi , de le;a b a b c;");
    assert_string_equal(attn_dataset_source(split, 1),
                        "# sent_id = 3.2\n# text = Du pain!\n"
                        "1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tDe\t_\t_\t_\t_\t_\t_\t_\t_\n"
                        "2\tle\t_\t_\t_\t_\t_\t_\t_\t_\n3\tpain\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
                        "4\t!\t_\t_\t_\t_\t_\t_\t_\t_\n");
    assert_int_equal(strncmp(attn_dataset_source(split, 3), "# newpar\n# sent_id = 24.1\n", 26), 0);
    attn_dataset_destroy(split);
    text_free(encoded);
    text_destroy(view);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
}

/* The view of a splitter is of raw text only. */
static void test_tokens_refused(void **state) {
    (void)state;
    attn_dataset *dataset = read_tokens("a.conllu", MIXED);
    at_text_input *view = text_create(group_context, &splitter_of, (text_use){0});
    at_text_encoded *encoded = NULL;
    assert_int_equal(text_encode(view, dataset, &encoded), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "a.conllu: text.scheme split"));
    text_destroy(view);
    attn_dataset_destroy(dataset);
    static const char *const names[] = {"B", "I", "O", "T", "S", "U", "V", "W", "M", "N", NULL};
    static const char *const others[] = {"B", "I", "O", "T", "S", "U", "V", "M", "W", "N", NULL};
    at_strings labels = strings_of(names), wrong = strings_of(others), few = strings_of(names + 1);
    assert_null(at_split_check(&labels));
    assert_non_null(at_split_check(&wrong));
    assert_non_null(at_split_check(&few));
    assert_non_null(at_split_check(NULL));
    at_strings_free(group_context, &labels);
    at_strings_free(group_context, &wrong);
    at_strings_free(group_context, &few);
}

/* ---- memory ---- */

static void test_memory_runs_out(void **state) {
    (void)state;
    static const char *const known[] = {"a\tab b", "du\tde le", NULL};
    attn_dataset *dataset = read_tokens("a.conllu", MIXED);
    test_random random = {5};
    drawn from;
    draw(&random, &from);
    from.view->expansions = strings_of(known);
    for (int which = 0; which < 2; which++) {
        int64_t failures = 0, live = group_counter.live;
        for (int64_t n = 1;; n++) {
            attn_dataset *made = NULL;
            const char *why;
            settings set = {{0}};
            group_counter.fail_at = n;
            attn_status status = which ? split_rows(from.view, &from.encoded->encoded, from.classes[0], &made)
                                       : at_split_teach(&words_of, dataset, take_setting, &set, &made, &why);
            group_counter.fail_at = 0;
            assert_int_equal(made != NULL, status == ATTN_OK);
            attn_dataset_destroy(made);
            assert_int_equal(group_counter.live, live);
            if (status == ATTN_OK) break;
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            failures++;
            assert_true(n < 10000);
        }
        assert_true(failures > 15);
    }
    undraw(&from);
    attn_dataset_destroy(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_teaching),
        cmocka_unit_test(test_spaces_in_words),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_spaces_not_marked),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_long_paragraphs),
        cmocka_unit_test(test_expansions_learn),
        cmocka_unit_test(test_expansions_check),
        cmocka_unit_test(test_expansions_apply),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_measure_unlabelled),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_tokens_refused),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
