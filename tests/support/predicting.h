/* predicting.h: the answers of a model, by a predictor that works in the model's context and is kept with it.
 */
#ifndef TEST_SUPPORT_PREDICTING_H
#define TEST_SUPPORT_PREDICTING_H

#include <attn/attn.h>

enum { WITH_PROBABILITIES = 1, PRETOKENIZED = 2 };

/* The predictor of a model, made by the first call, which fails the test if that does not work. */
attn_predictor *predictor_of(attn_model *model);
/* Destroys it, if there is one; and the model, too. NULL is allowed. */
void predictor_drop(attn_model *model);
void model_destroy(attn_model *model);

attn_status predict_with(attn_model *model, const attn_dataset *dataset, int flags,
                         attn_prediction **prediction);
attn_status predict_text_with(attn_model *model, const char *text, int flags, attn_prediction **prediction);
attn_status search_with(attn_model *model, const attn_dataset *dataset, const attn_search_options *options,
                        attn_prediction **prediction);
attn_status report_with(attn_model *model, const attn_dataset *dataset, attn_report **report);
/* With these options as settings. */
attn_status report_search(attn_model *model, const attn_dataset *dataset, const attn_search_options *options,
                          int lowercase, attn_report **report);
/* The text is a copy that the caller frees. */
attn_status continue_with(attn_model *model, const char *prompt, const attn_sampling_options *options,
                          char **text);

#endif
