/* predicting.c: predictors of models, kept in a short list. */
#define _POSIX_C_SOURCE 200809L
#include "support/predicting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "support/check.h"

enum { MOST = 64 };
static struct {
    attn_model *model;
    attn_predictor *predictor;
} kept[MOST];

static int place_of(const attn_model *model) {
    int place = 0;
    while (place < MOST && kept[place].model != model) place++;
    return place;
}

attn_predictor *predictor_of(attn_model *model) {
    int place = place_of(model);
    if (place == MOST) {
        place = place_of(NULL);
        assert_true(place < MOST);
        if (attn_predictor_create(model, model->context, &kept[place].predictor) != ATTN_OK)
            fail_msg("%s", attn_context_error(model->context));
        kept[place].model = model;
    }
    return kept[place].predictor;
}

void predictor_drop(attn_model *model) {
    int place = place_of(model);
    if (!model || place == MOST) return;
    attn_predictor_destroy(kept[place].predictor);
    kept[place].model = NULL;
}

void model_destroy(attn_model *model) {
    predictor_drop(model);
    attn_model_destroy(model);
}

/* A predictor without probabilities says so by not having the setting. */
static attn_predictor *prepared(attn_model *model, int flags) {
    attn_predictor *predictor = predictor_of(model);
    static const char *const names[] = {"probs", "pretokenized"};
    for (int i = 0; i < 2; i++) {
        if (!attn_predictor_has(predictor, names[i])) continue;
        assert_int_equal(attn_predictor_set(predictor, names[i], flags & 1 << i ? "true" : "false"), ATTN_OK);
    }
    return predictor;
}

attn_status predict_with(attn_model *model, const attn_dataset *dataset, int flags,
                         attn_prediction **prediction) {
    if (!model) return attn_predictor_predict(NULL, dataset, prediction);
    return attn_predictor_predict(prepared(model, flags), dataset, prediction);
}

attn_status predict_text_with(attn_model *model, const char *text, int flags, attn_prediction **prediction) {
    if (!model) return attn_predictor_text(NULL, text, prediction);
    return attn_predictor_text(prepared(model, flags), text, prediction);
}

attn_status search_with(attn_model *model, const attn_dataset *dataset, const attn_search_options *options,
                        attn_prediction **prediction) {
    return attn_predictor_search(model ? predictor_of(model) : NULL, dataset, options, prediction);
}

attn_status report_with(attn_model *model, const attn_dataset *dataset, attn_report **report) {
    return attn_report_create(model ? predictor_of(model) : NULL, dataset, report);
}

attn_status report_search(attn_model *model, const attn_dataset *dataset, const attn_search_options *options,
                          int lowercase, attn_report **report) {
    attn_predictor *predictor = predictor_of(model);
    attn_search_options defaults;
    attn_search_options_init(&defaults);
    const attn_search_options *lists[2] = {options, &defaults};
    attn_status status = ATTN_OK, result = ATTN_OK;
    for (int back = 0; back < 2; back++) { /* and then as they were */
        char text[5][40];
        snprintf(text[0], sizeof text[0], "%" PRId64, lists[back]->beam);
        snprintf(text[1], sizeof text[1], "%" PRId64, lists[back]->n_best);
        snprintf(text[2], sizeof text[2], "%.17g", lists[back]->length_penalty);
        snprintf(text[3], sizeof text[3], "%" PRId64, lists[back]->longest);
        snprintf(text[4], sizeof text[4], "%s", lowercase && !back ? "true" : "false");
        static const char *const names[] = {"beam", "n-best", "length-penalty", "longest", "lowercase"};
        for (int i = 0; i < 5 && status == ATTN_OK; i++)
            status = attn_predictor_set(predictor, names[i], text[i]);
        if (!back) result = status == ATTN_OK ? attn_report_create(predictor, dataset, report) : status;
    }
    return result;
}

attn_status continue_with(attn_model *model, const char *prompt, const attn_sampling_options *options,
                          char **text) {
    const char *made = NULL;
    attn_status status =
        attn_predictor_continue(model ? predictor_of(model) : NULL, prompt, options, text ? &made : NULL);
    if (status != ATTN_OK) return status;
    *text = strdup(made);
    assert_non_null(*text);
    return status;
}
