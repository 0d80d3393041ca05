/* explain_show.c: an explanation in the terminal: the prediction, then what suits the example: a heat map, a
 * list, bars, segments, a picture.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "text.h"

/* ---- the prediction ---- */

static void print_or_nothing(const char *text) {
    text_print_name(stdout, text != NULL && *text != '\0' ? text : "(nothing)");
}

/* A long text is not repeated whole. */
static void print_title(const explain_names *names, const explain_screen *screen) {
    enum { LINES = 3 };
    if (names->title == NULL || *names->title == '\0')
        print_or_nothing(NULL);
    else
        text_print_cut(stdout, names->title, LINES * screen->width);
}

static void remark(const explain_screen *screen, const char *text) { terminal_remark(screen->color, text); }

/* How likely it is; of a sequence: its log-probability, and whether it came to an end. */
static void print_certainty(const attn_explanation *explanation, const explain_screen *screen) {
    char text[120];
    const attn_prediction *prediction = attn_explanation_prediction(explanation);
    int64_t example = attn_explanation_example(explanation);
    double probability = attn_explanation_probability(explanation, 0);
    double log_probability = attn_prediction_hypotheses(prediction, example) > 0
                                 ? attn_prediction_log_probability(prediction, example, 0)
                                 : NAN;
    if (!isnan(log_probability)) {
        snprintf(text, sizeof text, "   log-probability %.4f", log_probability);
        remark(screen, text);
        if (attn_prediction_ended(prediction, example, 0)) return;
        snprintf(text, sizeof text, ", cut after %" PRId64 " symbols",
                 attn_prediction_symbols(prediction, example, 0));
        remark(screen, text);
    } else if (!isnan(probability)) {
        snprintf(text, sizeof text, "   probability %.4f", probability);
        remark(screen, text);
    }
}

/* word/TAG word/TAG ..., as many as a screen should have. */
static void print_tagged(const attn_explanation *explanation, const explain_screen *screen) {
    enum { MOST = 200 };
    int64_t rows = attn_explanation_answers(explanation);
    int used = 0;
    for (int64_t r = 0; r < rows && r < MOST; r++) {
        const char *name = explain_row_name(explanation, r),
                   *answer = attn_explanation_answer(explanation, r);
        int cells = text_width(name) + 1 + text_width(answer);
        if (used > 0 && used + 2 + cells > screen->width) {
            putchar('\n');
            used = 0;
        }
        if (used > 0) fputs("  ", stdout);
        text_print_name(stdout, name);
        remark(screen, "/");
        text_print_name(stdout, answer);
        used += (used > 0 ? 2 : 0) + cells;
    }
    if (rows > MOST) printf("  … %" PRId64 " more", rows - MOST);
    fputs("\n", stdout);
}

/* Word segmentation: the words, with two spaces between them. */
static bool print_words(const attn_explanation *explanation) {
    const attn_prediction *prediction = attn_explanation_prediction(explanation);
    int64_t example = attn_explanation_example(explanation),
            words = attn_prediction_words(prediction, example);
    for (int64_t w = 0; w < words; w++) {
        if (w > 0) fputs("  ", stdout);
        text_print_name(stdout, attn_prediction_word(prediction, example, w));
    }
    if (words > 0) putchar('\n');
    return words > 0;
}

/* Rows that are called by times follow each other evenly: what is beside each other may be drawn together. */
static bool has_times(const attn_explanation *explanation) {
    const char *first = attn_explanation_row(explanation, 0);
    return first != NULL && strchr(first, '.') != NULL && explain_rows_are_numbers(explanation);
}

static bool answers_each_row(const attn_explanation *explanation) {
    return attn_explanation_answers(explanation) > 1 &&
           attn_explanation_answers(explanation) == attn_explanation_rows(explanation);
}

void explain_show_answer(const explain_view *view, const explain_names *names, const explain_screen *screen) {
    const attn_explanation *explanation = view->explanation;
    if (answers_each_row(explanation)) {
        if (!names->words) {
            print_title(names, screen);
            putchar('\n');
        }
        /* A list or segments tell the answers by themselves. */
        if (!view->sparse && !has_times(explanation) && !print_words(explanation))
            print_tagged(explanation, screen);
    } else {
        print_title(names, screen);
        fputs(" → ", stdout);
        print_or_nothing(explain_seen(attn_explanation_answer(explanation, 0)));
        print_certainty(explanation, screen);
        putchar('\n');
    }
    if (names->output != NULL) {
        char note[80];
        snprintf(note, sizeof note, ", output %d of %d: --output NAME chooses\n", names->output_number,
                 names->outputs);
        text_print_name(stdout, names->output);
        remark(screen, note);
    }
    if (attn_explanation_unseen(explanation) > 0)
        fprintf(stderr,
                "attn explain: the model reads the first %" PRId64 " rows; %" PRId64
                " more at the end are ignored\n",
                attn_explanation_rows(explanation), attn_explanation_unseen(explanation));
    if (attn_explanation_pieces(explanation) > 1) {
        char note[160];
        int64_t first = attn_explanation_first_row(explanation);
        snprintf(note, sizeof note,
                 "rows %" PRId64 " to %" PRId64 ": one of %" PRId64
                 " pieces that the model processes separately; --piece N chooses\n",
                 first + 1, first + attn_explanation_rows(explanation), attn_explanation_pieces(explanation));
        remark(screen, note);
    }
}

/* ---- the weights ---- */

/* The number of the last that has attention: between them may be layers of other kinds. */
static int64_t last_layer(const explain_view *view) {
    int64_t last = 0;
    for (int64_t m = 0; m < attn_explanation_maps(view->explanation); m++) {
        const attn_map *map = attn_explanation_map(view->explanation, m);
        if (map->part == view->map->part && map->layer + 1 > last) last = map->layer + 1;
    }
    return last;
}

static void print_heading(const explain_view *view, const explain_names *names,
                          const explain_screen *screen) {
    char text[240], head[80], of[40] = "", member[60] = "";
    const attn_map *map = view->map;
    int64_t layers = attn_explanation_layers(view->explanation, map->part);
    if (last_layer(view) == layers) snprintf(of, sizeof of, " of %" PRId64, layers);
    if (view->choice.head >= 0)
        snprintf(head, sizeof head, "head %" PRId64 " of %" PRId64, view->choice.head + 1, map->heads);
    else
        snprintf(head, sizeof head, map->heads > 1 ? "mean of %" PRId64 " heads" : "%" PRId64 " head",
                 map->heads);
    if (names->networks > 1 && names->network > 0)
        snprintf(member, sizeof member, ", network %d of %d", names->network, names->networks);
    else if (names->networks > 1)
        snprintf(member, sizeof member, ", mean of %d networks", names->networks);
    const char *what = view->choice.view == ATTN_VIEW_ROLLOUT    ? "attention rollout up to: "
                       : view->choice.view == ATTN_VIEW_GRADIENT ? "weight × gradient: "
                                                                 : "attention: ";
    snprintf(text, sizeof text, "%s%s, layer %" PRId64 "%s, %s%s\n", what, attn_map_part_name(map->part),
             map->layer + 1, of, head, member);
    remark(screen, text);
}

/* The list, where it was requested, where a map would be mostly empty, and where it would be too large. */
static bool suits_list(const explain_view *view) {
    if (view->choice.matrix && view->queries <= EXPLAIN_ROWS && view->keys <= EXPLAIN_COLUMNS) return false;
    return view->choice.top > 0 || view->sparse || view->queries > EXPLAIN_ROWS ||
           view->keys > EXPLAIN_COLUMNS;
}

void explain_show(const explain_view *view, const explain_names *names, const explain_screen *screen) {
    const attn_explanation *explanation = view->explanation;
    int64_t height = 0, width = 0;
    bool plain = view->choice.top == 0 && !view->choice.matrix;
    bool wide = view->keys > EXPLAIN_COLUMNS || view->queries > EXPLAIN_ROWS ||
                attn_explanation_rows(explanation) > EXPLAIN_ROWS;
    bool even = !view->sparse && (has_times(explanation) || (wide && explain_rows_are_numbers(explanation)));
    explain_show_answer(view, names, screen);
    putchar('\n');
    if (attn_explanation_rows(explanation) == 0 || (view->map != NULL && view->queries == 0)) return;
    if (view->map != NULL) print_heading(view, names, screen);
    if (plain && attn_explanation_grid(explanation, &height, &width) && explain_keys_are_rows(view))
        explain_grid_print(view, height, width, screen);
    else if (even && answers_each_row(explanation) && view->choice.row < 0 && !view->choice.matrix)
        explain_segments_print(view, screen);
    else if (view->map == NULL)
        explain_bars_print(explanation, names, screen);
    else if (even && plain && view->choice.row < 0)
        explain_means_print(view, screen);
    else if (suits_list(view) || (even && plain))
        explain_list_print(view, names, screen);
    else
        explain_map_print(view, screen);
    putchar('\n');
}
