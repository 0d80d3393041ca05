/* explain_view.c: the numbers that are shown, and the names of rows and columns (see explain.h). */
#include "explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "opening.h"

/* ---- the map ---- */

static const char *part_name(int part) { return attn_map_part_name((attn_map_part)part); }

static void list_parts(const attn_explanation *explanation) {
    const char *link = "; it has ";
    for (int p = ATTN_MAP_ENCODER; p <= ATTN_MAP_POOL; p++) {
        if (attn_explanation_layers(explanation, (attn_map_part)p) == 0) continue;
        fprintf(stderr, "%s%s", link, part_name(p));
        link = ", ";
    }
    fputc('\n', stderr);
}

/* The part that is drawn if none is named. */
static int usual_part(const attn_explanation *explanation) {
    static const attn_map_part order[] = {ATTN_MAP_SOURCE, ATTN_MAP_ENCODER, ATTN_MAP_DECODER, ATTN_MAP_POOL};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (attn_explanation_layers(explanation, order[i]) > 0) return (int)order[i];
    return -1;
}

/* layer -1: the last that has attention. */
static const attn_map *find_map(const attn_explanation *explanation, int part, int64_t layer) {
    const attn_map *found = NULL;
    for (int64_t m = 0; m < attn_explanation_maps(explanation); m++) {
        const attn_map *map = attn_explanation_map(explanation, m);
        if ((int)map->part != part) continue;
        if (layer < 0 ? found == NULL || map->layer > found->layer : map->layer == layer) found = map;
    }
    return found;
}

static void complain_of_layer(const attn_explanation *explanation, int part, int64_t layer) {
    int64_t layers = attn_explanation_layers(explanation, (attn_map_part)part);
    fprintf(stderr, "attn explain: --layer %" PRId64 ": the %s has attention in %s", layer + 1,
            part_name(part), layers > 1 ? "layers" : "layer");
    for (int64_t m = 0; m < attn_explanation_maps(explanation); m++) {
        const attn_map *map = attn_explanation_map(explanation, m);
        if ((int)map->part == part)
            fprintf(stderr, "%s %" PRId64,
                    --layers > 0 || attn_explanation_layers(explanation, map->part) == 1 ? "" : " and",
                    map->layer + 1);
    }
    fputs(" only\n", stderr);
}

/* Nothing was asked for but what every model has. */
static bool asks_nothing(const explain_choice *choice) {
    return choice->part < 0 && choice->layer < 0 && choice->head < 0 && choice->view == ATTN_VIEW_WEIGHTS;
}

const attn_map *explain_find(const attn_explanation *explanation, explain_choice *choice, bool *none) {
    int part = choice->part >= 0 ? choice->part : usual_part(explanation);
    *none = part < 0 && asks_nothing(choice);
    if (*none) return NULL;
    if (part < 0) {
        fputs(
            "attn explain: this model has no attention, and so neither --part, --layer, --head nor --view\n",
            stderr);
        return NULL;
    }
    if (attn_explanation_layers(explanation, (attn_map_part)part) == 0) {
        fprintf(stderr, "attn explain: --part %s: this model has no such attention", part_name(part));
        list_parts(explanation);
        return NULL;
    }
    if (choice->view == ATTN_VIEW_ROLLOUT && part != ATTN_MAP_ENCODER && part != ATTN_MAP_DECODER) {
        fprintf(stderr,
                "attn explain: --view rollout is of an encoder or a decoder; this model has attention in %s "
                "only\n",
                part_name(part));
        return NULL;
    }
    const attn_map *map = find_map(explanation, part, choice->layer);
    if (map == NULL) {
        complain_of_layer(explanation, part, choice->layer);
        return NULL;
    }
    if (choice->head >= map->heads) {
        fprintf(stderr,
                "attn explain: --head %" PRId64 ": layer %" PRId64 " of the %s has %" PRId64 " head%s\n",
                choice->head + 1, map->layer + 1, part_name(part), map->heads, map->heads > 1 ? "s" : "");
        return NULL;
    }
    choice->part = part;
    choice->layer = map->layer;
    return map;
}

/* ---- numbers ---- */

/* Of a head, or the mean over heads, entry by entry: what attn_explanation_view does, without the zeros of
 * pairs that see nothing of each other. */
static void fill_entries(explain_view *view) {
    const attn_map *map = view->map;
    int64_t first = view->choice.head >= 0 ? view->choice.head : 0;
    int64_t heads = view->choice.head >= 0 ? 1 : map->heads;
    bool gradient = view->choice.view == ATTN_VIEW_GRADIENT;
    for (int64_t e = 0; e < map->entries; e++) {
        double sum = 0;
        for (int64_t h = first; h < first + heads; h++) {
            int64_t place = h * map->entries + e;
            double number = (double)map->weights[place];
            if (gradient) number *= (double)map->gradients[place];
            if (gradient && heads > 1) number = fmax(number, 0);
            sum += number;
        }
        view->numbers[e] = sum / (double)heads;
    }
}

double explain_even(double largest) {
    static const double steps[2] = {0.2, 0.5};
    if (!(largest > 0) || isinf(largest)) return 1;
    largest /= 1.000001; /* weights are rounded: a sum of 1 may be a little more */
    double power = pow(10, ceil(log10(largest)));
    for (int i = 0; i < 2; i++)
        if (largest <= power * steps[i]) return power * steps[i];
    return power;
}

bool explain_view_make(attn_context *context, attn_explanation *explanation, const explain_choice *choice,
                       explain_view *view) {
    bool none;
    *view = (explain_view){.explanation = explanation, .choice = *choice, .scale = 1};
    view->map = explain_find(explanation, &view->choice, &none);
    if (view->map == NULL) return none;
    const attn_map *map = view->map;
    view->queries = map->queries;
    view->keys = map->keys;
    view->sparse = map->first != NULL && choice->view != ATTN_VIEW_ROLLOUT;
    int64_t count = view->sparse ? map->entries : map->queries * map->keys;
    if (choice->view == ATTN_VIEW_GRADIENT && map->gradients == NULL) {
        fputs("attn explain: --view gradient: there are no gradients of this attention\n", stderr);
        return false;
    }
    view->numbers = calloc(count > 0 ? (size_t)count : 1, sizeof *view->numbers);
    if (view->numbers == NULL) {
        fputs("attn explain: out of memory\n", stderr);
        return false;
    }
    if (view->sparse) {
        fill_entries(view);
    } else if (attn_explanation_view(explanation, choice->view, map->part, map->layer, choice->head,
                                     view->numbers) != ATTN_OK) {
        opening_fail("explain", context);
        return false;
    }
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(view->numbers[i]));
        view->is_signed |= view->numbers[i] < 0;
    }
    view->scale = explain_even(largest);
    return true;
}

void explain_view_free(explain_view *view) {
    free(view->numbers);
    view->numbers = NULL;
}

int64_t explain_entries(const explain_view *view, int64_t query) {
    return view->sparse ? attn_map_entries(view->map, query) : view->keys;
}

int64_t explain_entry_key(const explain_view *view, int64_t query, int64_t entry) {
    return view->sparse ? attn_map_key(view->map, query, entry) : entry;
}

double explain_entry(const explain_view *view, int64_t query, int64_t entry) {
    return view
        ->numbers[view->sparse ? attn_map_place(view->map, 0, query, entry) : query * view->keys + entry];
}

static bool is_peak(const explain_view *view, int64_t query, int64_t entry) {
    double here = fabs(explain_entry(view, query, entry));
    return (entry == 0 || fabs(explain_entry(view, query, entry - 1)) <= here) &&
           (entry + 1 == explain_entries(view, query) || fabs(explain_entry(view, query, entry + 1)) < here);
}

int explain_strongest(const explain_view *view, int64_t query, int count, bool peaks, int64_t *entries) {
    int found = 0;
    for (int64_t e = 0; e < explain_entries(view, query); e++) {
        double number = fabs(explain_entry(view, query, e));
        if (!(number > 0) || (peaks && !is_peak(view, query, e))) continue;
        int at = found;
        while (at > 0 && number > fabs(explain_entry(view, query, entries[at - 1]))) at--;
        if (at >= count) continue;
        if (found < count) found++;
        memmove(entries + at + 1, entries + at, (size_t)(found - at - 1) * sizeof *entries);
        entries[at] = e;
    }
    return found;
}

/* ---- names ---- */

const char *explain_seen(const char *name) {
    if (name == NULL) return "?";
    if (strcmp(name, " ") == 0) return "␣";
    if (strcmp(name, "\n") == 0) return "↵";
    return name;
}

const char *explain_row_name(const attn_explanation *explanation, int64_t row) {
    return explain_seen(attn_explanation_row(explanation, row));
}

bool explain_queries_are_rows(const explain_view *view) { return view->choice.part == ATTN_MAP_ENCODER; }

bool explain_keys_are_rows(const explain_view *view) { return view->choice.part != ATTN_MAP_DECODER; }

const char *explain_query_name(const explain_view *view, int64_t query) {
    if (explain_queries_are_rows(view)) return explain_row_name(view->explanation, query);
    if (view->choice.part == ATTN_MAP_POOL)
        return explain_seen(attn_explanation_answer(view->explanation, query));
    return explain_seen(attn_explanation_symbol(view->explanation, query));
}

/* A decoder looks at what it was given: the beginning, then each symbol but the last. */
const char *explain_key_name(const explain_view *view, int64_t key) {
    if (explain_keys_are_rows(view)) return explain_row_name(view->explanation, key);
    return key == 0 ? "<begin>" : explain_seen(attn_explanation_symbol(view->explanation, key - 1));
}

bool explain_rows_are_numbers(const attn_explanation *explanation) {
    int64_t rows = attn_explanation_rows(explanation);
    for (int64_t r = 0; r < rows; r++) {
        const char *name = attn_explanation_row(explanation, r);
        if (name == NULL || *name == '\0' || name[strspn(name, "0123456789.")] != '\0') return false;
    }
    return rows > 0;
}

double explain_contribution_scale(const attn_explanation *explanation) {
    const double *numbers = attn_explanation_contributions(explanation);
    double largest = 0;
    for (int64_t r = 0; numbers != NULL && r < attn_explanation_rows(explanation); r++)
        largest = fmax(largest, fabs(numbers[r]));
    return largest;
}
