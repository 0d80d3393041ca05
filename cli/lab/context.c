/* context.c: does the tag of a word need its sentence?
 *
 * Sentences from a small grammar. Words like saw, can and light are verbs or nouns; they are in lists, and
 * what a list is follows from the word before it, a pronoun or a determiner, up to 19 words away:
 *
 *     they saw , light and can the saw , light and can .
 *     PRON VERB    VERB    VERB DET NOUN    NOUN    NOUN
 *
 * Four encoders: each word alone, a narrow window, a wide window, and attention on the whole sentence. Asked
 * are the ambiguous words alone, by how far the nearest word that decides is from them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

/* ---- the grammar ---- */

enum { PRON, DET, NOUN, VERB, AUX, ADP, CONJ, PUNCT, TAGS };
static const char *const tag_names[TAGS] = {"PRON", "DET", "NOUN", "VERB", "AUX", "ADP", "CONJ", "PUNCT"};

/* Words in this order: the first twelve are ambiguous (can and will are auxiliaries, too). */
enum { AMBIGUOUS = 12, PRONOUNS = 12, DETERMINERS = 18, ADPOSITIONS = 22, WORDS = 28 };
static const char *const words[WORDS] = {"saw", "can",   "light", "watch", "will",  "plant", "drink",
                                         "cut", "drill", "run",   "plan",  "print", "I",     "you",
                                         "we",  "they",  "he",    "she",   "a",     "the",   "this",
                                         "my",  "with",  "for",   "by",    "and",   ",",     "."};
enum { CAN = 1, WILL = 4, AND = 25, COMMA = 26, STOP = 27 };

enum { MOST_WORDS = 160, LONGEST_LIST = 10 };
typedef struct sentence {
    int64_t count;
    int32_t word[MOST_WORDS], tag[MOST_WORDS], far[MOST_WORDS]; /* far: -1, or how far back what decides is */
} sentence;

static void put(sentence *s, int64_t word, int32_t tag, int32_t far) {
    s->word[s->count] = (int32_t)word;
    s->tag[s->count] = tag;
    s->far[s->count++] = far;
}

/* w , w , ... and w: all verbs or all nouns. */
static void put_list(sentence *s, int32_t tag, int64_t length, uint64_t *seed) {
    int64_t first = s->count - 1; /* the word that decides */
    for (int64_t i = 0; i < length; i++) {
        if (i > 0) put(s, i == length - 1 ? AND : COMMA, i == length - 1 ? CONJ : PUNCT, -1);
        put(s, lab_choice(seed, AMBIGUOUS), tag, (int32_t)(s->count - first));
    }
}

static void put_noun_phrase(sentence *s, int64_t longest, uint64_t *seed) {
    put(s, DETERMINERS + lab_choice(seed, 4), DET, -1);
    put_list(s, NOUN, 1 + lab_choice(seed, longest), seed);
}

/* PRON [can | will] verbs [DET nouns] [with DET nouns] . */
static void compose(sentence *s, int64_t longest, uint64_t *seed) {
    s->count = 0;
    put(s, PRONOUNS + lab_choice(seed, 6), PRON, -1);
    if (lab_choice(seed, 4) == 0) put(s, lab_choice(seed, 2) == 0 ? CAN : WILL, AUX, 1);
    put_list(s, VERB, 1 + lab_choice(seed, longest), seed);
    if (lab_choice(seed, 4) != 0) put_noun_phrase(s, longest, seed);
    if (lab_choice(seed, 3) == 0) {
        put(s, ADPOSITIONS + lab_choice(seed, 3), ADP, -1);
        put_noun_phrase(s, longest, seed);
    }
    put(s, STOP, PUNCT, -1);
}
/* ---- the encoders ---- */

enum { ALONE, NARROW, WIDE, ATTENTION, ENCODERS };
static const char *const encoder_names[ENCODERS] = {"the word alone", "window of 3", "window of 17",
                                                    "attention"};
static const int64_t widths[ENCODERS] = {1, 3, 17, 0};

/* Broken: attention sees the word itself and nothing else. */
static lab_network network_of(int encoder, bool broken, int64_t steps) {
    lab_network network;
    lab_network_init(&network);
    network.steps = steps;
    network.batch = 32;
    network.learning_rate = 5e-3;
    network.encoder.columns = 32;
    network.encoder.block.inner = 64;
    network.encoder.layers = encoder == ATTENTION ? 2 : 1;
    network.encoder.position = encoder == ATTENTION ? ATTN_POSITION_ROTARY : ATTN_POSITION_NONE;
    if (encoder != ATTENTION) {
        network.encoder.block.mixer.kind = ATTN_MIXER_FC;
        network.encoder.block.mixer.width = widths[encoder];
    } else if (broken) {
        network.encoder.block.mixer.attention.left = 0;
        network.encoder.block.mixer.attention.right = 0;
    }
    return network;
}

/* ---- sentences for lab_fit, and those that are shown ---- */

typedef struct text {
    int64_t sentences, rows;
    int64_t *offsets;
    int32_t *ids, *tags, *far;
} text;

static void release(text *t) {
    free(t->offsets);
    free(t->ids);
    free(t->tags);
    free(t->far);
    memset(t, 0, sizeof *t);
}

static bool make_room(text *t, int64_t sentences, int64_t rows) {
    t->offsets = calloc((size_t)sentences + 1, sizeof *t->offsets);
    t->ids = calloc((size_t)rows, sizeof *t->ids);
    t->tags = calloc((size_t)rows, sizeof *t->tags);
    t->far = calloc((size_t)rows, sizeof *t->far);
    return t->offsets != NULL && t->ids != NULL && t->tags != NULL && t->far != NULL;
}

static void append(text *t, const sentence *s) {
    size_t bytes = (size_t)s->count * sizeof(int32_t);
    memcpy(t->ids + t->rows, s->word, bytes);
    memcpy(t->tags + t->rows, s->tag, bytes);
    memcpy(t->far + t->rows, s->far, bytes);
    t->rows += s->count;
    t->offsets[++t->sentences] = t->rows;
}

static lab_examples examples_of(const text *t) {
    return (lab_examples){.sequences = t->sentences, .offsets = t->offsets, .ids = t->ids, .labels = t->tags};
}

/* "I saw a saw .", "you can can a can .", and one with lists of nine: words that decide are far. */
static void compose_shown(sentence shown[3]) {
    static const int32_t tools[] = {0, 7, 8, 10, 11, 2, 3, 5, 6};
    memset(shown, 0, 3 * sizeof *shown);
    put(&shown[0], PRONOUNS, PRON, -1);
    put(&shown[0], 0, VERB, 1);
    put(&shown[0], DETERMINERS, DET, -1);
    put(&shown[0], 0, NOUN, 1);
    put(&shown[1], PRONOUNS + 1, PRON, -1);
    put(&shown[1], CAN, AUX, 1);
    put(&shown[1], CAN, VERB, 1);
    put(&shown[1], DETERMINERS, DET, -1);
    put(&shown[1], CAN, NOUN, 1);
    for (int list = 0; list < 2; list++) {
        put(&shown[2], list == 0 ? PRONOUNS + 3 : DETERMINERS + 2, list == 0 ? PRON : DET, -1);
        for (int i = 0; i < 9; i++) {
            if (i > 0) put(&shown[2], i < 8 ? COMMA : AND, i < 8 ? PUNCT : CONJ, -1);
            put(&shown[2], tools[i], list == 0 ? VERB : NOUN, 2 * i + 1);
        }
    }
    for (int i = 0; i < 3; i++) put(&shown[i], STOP, PUNCT, -1);
}

/* ---- measuring ---- */

enum { MOST_SEEDS = 32, GROUPS = 4 };
static const int64_t group_ends[GROUPS] = {1, 4, 8, 2 * LONGEST_LIST};
static const char *const group_names[GROUPS] = {"1 (next to it)", "2 to 4", "5 to 8", "9 to 19"};

typedef struct measurement {
    int64_t seeds, parameters[ENCODERS];
    double accuracy[ENCODERS][MOST_SEEDS], group[ENCODERS][GROUPS][MOST_SEEDS], longer[ENCODERS][MOST_SEEDS];
    char shown[ENCODERS][3][256]; /* tags of the ambiguous words of the first seed */
} measurement;

/* The share that is right of the ambiguous words of sentences first .. end - 1 with a distance in low + 1 ..
 * high, percent. */
static double right(const text *t, const int32_t *answers, int64_t first, int64_t end, int64_t low,
                    int64_t high) {
    int64_t asked = 0, correct = 0;
    for (int64_t i = t->offsets[first]; i < t->offsets[end]; i++) {
        if (t->far[i] <= low || t->far[i] > high) continue;
        asked++;
        correct += answers[i] == t->tags[i];
    }
    return asked > 0 ? 100.0 * (double)correct / (double)asked : NAN;
}

/* Tags that are wrong are in brackets; of many only the first letters are written. */
static void write_shown(const text *t, const int32_t *answers, int64_t index, char *into, size_t room) {
    bool brief = t->offsets[index + 1] - t->offsets[index] > 12;
    size_t used = 0;
    into[0] = '\0';
    for (int64_t i = t->offsets[index]; i < t->offsets[index + 1] && used + 16 < room; i++) {
        bool good = answers[i] == t->tags[i];
        if (t->far[i] < 0) continue;
        if (used > 0 && (!brief || t->far[i] == 1)) into[used++] = ' ';
        used += (size_t)snprintf(into + used, room - used, good ? "%.*s" : "(%.*s)", brief ? 1 : 8,
                                 tag_names[answers[i]]);
    }
}

static const char *sentence_text(lab *report, const sentence *s) {
    char line[512] = "";
    size_t used = 0;
    for (int64_t i = 0; i < s->count && used + 16 < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, i > 0 ? " %s" : "%s", words[s->word[i]]);
    return lab_cell(report, "%s", line);
}

/* The test text: 3 sentences to show, `usual` like those of training, as many with longer lists. */
static bool compose_texts(text *train, text *test, int64_t sentences, int64_t usual, uint64_t seed) {
    sentence s, shown[3];
    int64_t most = 8 * LONGEST_LIST + 16;
    if (!make_room(train, sentences, sentences * most) ||
        !make_room(test, 3 + 2 * usual, (3 + 2 * usual) * 2 * most))
        return false;
    for (int64_t i = 0; i < sentences; i++) {
        compose(&s, LONGEST_LIST, &seed);
        append(train, &s);
    }
    compose_shown(shown);
    for (int i = 0; i < 3; i++) append(test, &shown[i]);
    for (int64_t i = 0; i < 2 * usual; i++) {
        compose(&s, i < usual ? LONGEST_LIST : 2 * LONGEST_LIST, &seed);
        append(test, &s);
    }
    return true;
}

static bool measure_encoder(lab *report, measurement *m, int encoder, int64_t run, const text *train,
                            const text *test, int64_t usual) {
    const lab_options *options = lab_options_of(report);
    lab_problem problem = {.symbols = WORDS, .classes = TAGS};
    lab_network network = network_of(encoder, options->broken, options->quick ? 300 : 400);
    lab_fitted fitted = {.answers = calloc((size_t)test->rows, sizeof(int32_t))};
    if (fitted.answers == NULL) return lab_fail(report, "there is not enough memory");
    problem.train = examples_of(train);
    problem.test = examples_of(test);
    bool done = lab_fit(report, &problem, &network, options->seed + (uint64_t)run, &fitted);
    if (done) {
        m->parameters[encoder] = fitted.parameters;
        m->accuracy[encoder][run] = right(test, fitted.answers, 3, 3 + usual, 0, MOST_WORDS);
        for (int g = 0; g < GROUPS; g++)
            m->group[encoder][g][run] =
                right(test, fitted.answers, 3, 3 + usual, g == 0 ? 0 : group_ends[g - 1], group_ends[g]);
        m->longer[encoder][run] =
            right(test, fitted.answers, 3 + usual, 3 + 2 * usual, 2 * LONGEST_LIST, 4 * LONGEST_LIST);
        for (int i = 0; i < 3 && run == 0; i++)
            write_shown(test, fitted.answers, i, m->shown[encoder][i], sizeof m->shown[encoder][i]);
    }
    free(fitted.answers);
    return done;
}

static bool measure_seed(lab *report, measurement *m, int64_t run) {
    bool quick = lab_options_of(report)->quick;
    text train = {0}, test = {0};
    int64_t usual = quick ? 150 : 400;
    bool done = compose_texts(&train, &test, quick ? 1500 : 4000, usual,
                              (lab_options_of(report)->seed + (uint64_t)run) * 1000);
    if (!done) lab_fail(report, "there is not enough memory for the sentences");
    for (int encoder = 0; encoder < ENCODERS && done; encoder++) {
        lab_progress(report, ((double)run + (double)encoder / ENCODERS) / (double)m->seeds,
                     encoder_names[encoder]);
        done = measure_encoder(report, m, encoder, run, &train, &test, usual);
    }
    release(&train);
    release(&test);
    return done;
}

/* ---- the report ---- */

static void show_sentences(lab *report, const measurement *m) {
    sentence shown[3];
    compose_shown(shown);
    lab_table *table = lab_add_table(
        report, "Tags of the ambiguous words (wrong ones in brackets), first seed", "encoder",
        sentence_text(report, &shown[0]), sentence_text(report, &shown[1]), "two lists of nine", NULL);
    for (int e = 0; e < ENCODERS; e++)
        lab_row(table, encoder_names[e], m->shown[e][0], m->shown[e][1], m->shown[e][2]);
    lab_note(report, "The lists of nine: %s", sentence_text(report, &shown[2]));
}

static void show_accuracy(lab *report, const measurement *m) {
    lab_table *table =
        lab_add_table(report, "Accuracy on ambiguous words, %, by the distance back to the deciding word",
                      "encoder", "parameters", "all", group_names[0], group_names[1], group_names[2],
                      group_names[3], "21 and more (not in training)", NULL);
    lab_chart *chart =
        lab_add_chart(report, "Ambiguous words: accuracy against the distance to the deciding word",
                      "words back", LAB_LINEAR, "accuracy, %", LAB_LINEAR);
    static const double middle[GROUPS] = {1, 3, 6.5, 14};
    for (int e = 0; e < ENCODERS; e++) {
        const char *cell[GROUPS];
        int line = lab_line(chart, encoder_names[e], false);
        for (int g = 0; g < GROUPS; g++) {
            cell[g] = lab_cell_spread(report, m->group[e][g], m->seeds, "%.1f");
            lab_point_spread(chart, line, middle[g], m->group[e][g], m->seeds);
        }
        lab_point_spread(chart, line, 30, m->longer[e], m->seeds);
        lab_row(table, encoder_names[e], lab_cell(report, "%lld", (long long)m->parameters[e]),
                lab_cell_spread(report, m->accuracy[e], m->seeds, "%.1f"), cell[0], cell[1], cell[2], cell[3],
                lab_cell_spread(report, m->longer[e], m->seeds, "%.1f"));
    }
}

static bool conclude(lab *report, const measurement *m) {
    double all[ENCODERS], worst = 100;
    for (int e = 0; e < ENCODERS; e++) all[e] = lab_median(m->accuracy[e], m->seeds);
    for (int g = 0; g < GROUPS; g++) worst = fmin(worst, lab_median(m->group[ATTENTION][g], m->seeds));
    double near = lab_median(m->group[NARROW][0], m->seeds), past = lab_median(m->group[NARROW][2], m->seeds);
    double longer = lab_median(m->longer[ATTENTION], m->seeds);
    lab_note(
        report,
        "A window needs parameters for every word that it sees: one of 17 words has %lld parameters and an "
        "accuracy of %.1f %%; attention has %lld, sees every word and has an accuracy of %.1f %%.",
        (long long)m->parameters[WIDE], all[WIDE], (long long)m->parameters[ATTENTION], all[ATTENTION]);
    if (longer < 95)
        lab_note(
            report,
            "Attention does not generalise to distances that it was not trained on: in longer lists, where "
            "the deciding word is 21 to 39 words back, its accuracy is %.1f %%. The wide window does not see "
            "this word either, but it can see what follows the list (a determiner can follow only a list of "
            "verbs): its accuracy is %.1f %%.",
            longer, lab_median(m->longer[WIDE], m->seeds));
    bool needed = all[ALONE] <= 65, windows = near >= 95 && past <= 80;
    if (needed && windows && worst >= 95)
        return lab_conclude(
            report, longer >= 95 ? LAB_HOLDS : LAB_HOLDS_WHERE,
            "%saccuracy on ambiguous words is %.1f %% with the word alone (a guess between two tags). With a "
            "window of 3 it is %.1f %% next to the deciding word and %.1f %% five to eight words away. With "
            "attention it is %.1f %% or more at every distance up to 19, and %.1f %% beyond the distances of "
            "training",
            longer >= 95 ? "" : "the distance occurs in training: ", all[ALONE], near, past, worst, longer);
    return lab_conclude(
        report, LAB_DOES_NOT_HOLD,
        "accuracy is %.1f %% with attention at its worst distance (95 required), %.1f %% with the word alone "
        "(65 allowed), and with a window of 3 %.1f %% near (95 required) and %.1f %% far (80 allowed)",
        worst, all[ALONE], near, past);
}

static bool run(lab *report) {
    if (lab_options_of(report)->data != NULL) return lab_context_on_text(report, network_of);
    measurement *m = calloc(1, sizeof *m);
    if (m == NULL) return lab_fail(report, "there is not enough memory");
    m->seeds = lab_seeds(report, 5, 1);
    if (m->seeds > MOST_SEEDS) m->seeds = MOST_SEEDS;
    bool done = true;
    for (int64_t i = 0; i < m->seeds && done; i++) done = measure_seed(report, m, i);
    if (done) {
        show_sentences(report, m);
        show_accuracy(report, m);
        done = conclude(report, m);
    }
    free(m);
    return done;
}

const lab_experiment lab_context = {
    .name = "context",
    .claim =
        "The sentence decides what tag a word has (\"I saw a saw\"): the word alone is not enough, a window "
        "finds the tag if the deciding word is within its reach, attention at any distance.",
    .experiment =
        "Sentences from a small grammar contain lists of words that are verbs or nouns, depending on a "
        "pronoun or determiner before the list, up to 19 words away. Four encoders tag them: the word alone, "
        "windows of 3 and of 17 words (one linear map of all of them), attention. The claim holds if "
        "accuracy on ambiguous words is at most 65 % with the word alone, with the window of 3 at least 95 % "
        "next to the deciding word and at most 80 % five to eight words away, and with attention at least 95 "
        "% at every distance.",
    .mistake = "attention sees only the word itself",
    .data =
        "ud-english-ewt/en_ewt-ud-train.conllu.gz and ...-dev.conllu.gz: words that occur with two or more "
        "tags",
    .run = run,
};
