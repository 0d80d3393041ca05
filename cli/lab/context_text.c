/* context_text.c: tagged text for the experiment context, as ids that lab_fit takes.
 *
 * A word that occurs twice or more in the training text has an id of its own; others share one of some
 * hundred by their last two letters. Asked are the words that have two or more tags there, each often enough:
 * the second one in a tenth of at least ten occurrences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

enum { MOST_TAGS = 32, TABLE = 1 << 16, ENDINGS = 512, ENCODERS = 4, MOST_SEEDS = 16 };

typedef struct word {
    const char *name; /* of the dataset; NULL: a free place */
    int64_t count, tags[MOST_TAGS];
    int32_t id;
} word;

typedef struct words {
    word *table; /* open addressing */
    int64_t used, ids;
    char tag_names[MOST_TAGS][16];
    int32_t tags;
} words;

typedef struct tagged {
    int64_t sentences, *offsets;
    int32_t *ids, *tags;
    bool *ambiguous;
} tagged;

static uint32_t hash(const char *name, size_t length) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Its place: the word's own, or a free one. */
static word *find(const words *w, const char *name) {
    uint32_t i = hash(name, strlen(name)) % TABLE;
    while (w->table[i].name != NULL && strcmp(w->table[i].name, name) != 0) i = (i + 1) % TABLE;
    return &w->table[i];
}

static int32_t tag_of(words *w, const char *name) {
    for (int32_t i = 0; i < w->tags; i++)
        if (strcmp(w->tag_names[i], name) == 0) return i;
    if (w->tags == MOST_TAGS) return 0;
    snprintf(w->tag_names[w->tags], sizeof w->tag_names[0], "%.15s", name);
    return w->tags++;
}

static void count_words(words *w, const attn_dataset *text, int64_t sentences) {
    for (int64_t s = 0; s < sentences; s++)
        for (int64_t i = 0; i < attn_dataset_rows(text, s); i++) {
            const char *name = attn_dataset_row_name(text, s, i);
            word *one = find(w, name);
            if (one->name == NULL && w->used == TABLE / 2) continue;
            if (one->name == NULL) w->used++;
            one->name = name;
            one->count++;
            one->tags[tag_of(w, attn_dataset_target(text, 0, s, i))]++;
        }
    w->ids = ENDINGS;
    for (int64_t i = 0; i < TABLE; i++)
        if (w->table[i].count >= 2) w->table[i].id = (int32_t)w->ids++;
}

static bool ambiguous(const word *one) {
    int64_t first = 0;
    for (int i = 0; i < MOST_TAGS; i++)
        if (one->tags[i] > first) first = one->tags[i];
    return one->count >= 10 && 10 * (one->count - first) >= one->count;
}

static bool number(words *w, const attn_dataset *text, int64_t sentences, tagged *t) {
    int64_t rows = 0;
    for (int64_t s = 0; s < sentences; s++) rows += attn_dataset_rows(text, s);
    t->offsets = calloc((size_t)sentences + 1, sizeof *t->offsets);
    t->ids = calloc((size_t)rows + 1, sizeof *t->ids);
    t->tags = calloc((size_t)rows + 1, sizeof *t->tags);
    t->ambiguous = calloc((size_t)rows + 1, sizeof *t->ambiguous);
    if (t->offsets == NULL || t->ids == NULL || t->tags == NULL || t->ambiguous == NULL) return false;
    t->sentences = sentences;
    rows = 0;
    for (int64_t s = 0; s < sentences; s++) {
        for (int64_t i = 0; i < attn_dataset_rows(text, s); i++, rows++) {
            const char *name = attn_dataset_row_name(text, s, i);
            const word *one = find(w, name);
            size_t length = strlen(name), ending = length < 2 ? length : 2;
            t->ids[rows] =
                one->count >= 2 ? one->id : (int32_t)(hash(name + length - ending, ending) % ENDINGS);
            t->tags[rows] = tag_of(w, attn_dataset_target(text, 0, s, i));
            t->ambiguous[rows] = one->name != NULL && ambiguous(one);
        }
        t->offsets[s + 1] = rows;
    }
    return true;
}

static void release(tagged *t) {
    free(t->offsets);
    free(t->ids);
    free(t->tags);
    free(t->ambiguous);
}

static bool read_file(lab *report, const char *name, attn_dataset **text) {
    char path[4096];
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.per_token = 1;
    snprintf(path, sizeof path, "%s/%s", lab_options_of(report)->data, name);
    return lab_ok(report, attn_dataset_read(lab_context_of(report), path, &options, text));
}

typedef struct figures {
    double asked[ENCODERS][MOST_SEEDS], all[ENCODERS][MOST_SEEDS];
    int64_t parameters[ENCODERS], seeds, words;
} figures;

static bool fit_one(lab *report, const words *w, const tagged *train, const tagged *test, lab_network network,
                    int encoder, int64_t run, figures *f) {
    lab_problem problem = {.symbols = w->ids, .classes = w->tags};
    int64_t rows = test->offsets[test->sentences], asked = 0, right = 0;
    lab_fitted fitted = {.answers = calloc((size_t)rows + 1, sizeof(int32_t))};
    if (fitted.answers == NULL) return lab_fail(report, "there is not enough memory");
    problem.train = (lab_examples){
        .sequences = train->sentences, .offsets = train->offsets, .ids = train->ids, .labels = train->tags};
    problem.test = (lab_examples){
        .sequences = test->sentences, .offsets = test->offsets, .ids = test->ids, .labels = test->tags};
    bool done = lab_fit(report, &problem, &network, lab_options_of(report)->seed + (uint64_t)run, &fitted);
    for (int64_t i = 0; i < rows && done; i++) {
        asked += test->ambiguous[i];
        right += test->ambiguous[i] && fitted.answers[i] == test->tags[i];
    }
    f->words = asked;
    f->asked[encoder][run] = asked > 0 ? 100.0 * (double)right / (double)asked : NAN;
    f->all[encoder][run] = 100 * fitted.accuracy;
    f->parameters[encoder] = fitted.parameters;
    free(fitted.answers);
    return done;
}

static bool conclude(lab *report, const figures *f) {
    static const char *const names[ENCODERS] = {"the word alone", "window of 3", "window of 17", "attention"};
    lab_table *table =
        lab_add_table(report, "Words that occur with two or more tags, and all words", "encoder",
                      "parameters", "ambiguous words right, %", "all words, %", NULL);
    double asked[ENCODERS];
    for (int e = 0; e < ENCODERS; e++) {
        asked[e] = lab_median(f->asked[e], f->seeds);
        lab_row(table, names[e], lab_cell(report, "%lld", (long long)f->parameters[e]),
                lab_cell_spread(report, f->asked[e], f->seeds, "%.1f"),
                lab_cell_spread(report, f->all[e], f->seeds, "%.1f"));
    }
    double best = fmax(asked[1], asked[2]);
    lab_note(
        report,
        "In real text the deciding word is mostly adjacent: a window of 3 is %.1f points better than the "
        "word alone; attention, which has to find that word, is %.1f points better.",
        asked[1] - asked[0], asked[3] - asked[0]);
    lab_verdict verdict = asked[3] < asked[0] + 5 ? LAB_DOES_NOT_HOLD
                          : asked[3] < best - 0.5 ? LAB_HOLDS_WHERE
                                                  : LAB_HOLDS;
    return lab_conclude(
        report, verdict,
        "%sof %lld ambiguous words %.1f %% are right with the word alone, %.1f %% with a window of 3, %.1f "
        "%% with one of 17, %.1f %% with attention",
        verdict == LAB_HOLDS_WHERE ? "the context is near, where a window wins: " : "", (long long)f->words,
        asked[0], asked[1], asked[2], asked[3]);
}

static bool fit_all(lab *report, words *w, const attn_dataset *train, const attn_dataset *test,
                    lab_network (*network_of)(int, bool, int64_t)) {
    const lab_options *options = lab_options_of(report);
    int64_t sentences = attn_dataset_examples(train), most = options->quick ? 500 : 6000;
    int64_t asked = attn_dataset_examples(test);
    tagged train_tagged = {0}, test_tagged = {0};
    figures f = {.seeds = lab_seeds(report, 3, 1)};
    if (f.seeds > MOST_SEEDS) f.seeds = MOST_SEEDS;
    if (sentences > most) sentences = most;
    count_words(w, train, sentences);
    bool done = number(w, train, sentences, &train_tagged) && number(w, test, asked, &test_tagged);
    if (!done) lab_fail(report, "there is not enough memory for the text");
    for (int64_t run = 0; run < f.seeds && done; run++)
        for (int e = 0; e < ENCODERS && done; e++) {
            lab_progress(report, ((double)run + (double)e / ENCODERS) / (double)f.seeds, "text");
            done = fit_one(report, w, &train_tagged, &test_tagged,
                           network_of(e, options->broken, options->quick ? 50 : 1200), e, run, &f);
        }
    if (done) done = conclude(report, &f);
    release(&train_tagged);
    release(&test_tagged);
    return done;
}

bool lab_context_on_text(lab *report, lab_network (*network_of)(int encoder, bool broken, int64_t steps)) {
    attn_dataset *train = NULL, *test = NULL;
    words w = {.table = calloc(TABLE, sizeof *w.table)};
    bool done = w.table != NULL || lab_fail(report, "there is not enough memory for the words");
    done = done && read_file(report, "ud-english-ewt/en_ewt-ud-train.conllu.gz", &train) &&
           read_file(report, "ud-english-ewt/en_ewt-ud-dev.conllu.gz", &test) &&
           fit_all(report, &w, train, test, network_of);
    free(w.table);
    attn_dataset_destroy(train);
    attn_dataset_destroy(test);
    return done;
}
