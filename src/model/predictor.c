/* predictor.c: predicting with a constant model: settings, examples, sequences in pieces, vectors. */
#include "model/predictor.h"

#include <inttypes.h>
#include <string.h>

#include <attn/report.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "ops/backend.h"

/* ---- making ---- */

/* Memory for a struct of fields, with their defaults. */
static attn_status make_settings(attn_context *context, const at_fields *fields, void **settings) {
    attn_status status = ATTN_OK;
    if (!fields || fields->count == 0) return ATTN_OK;
    *settings = at_allocate(context, 1, fields->bytes, "the settings of a prediction");
    if (!*settings) return ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < fields->count && status == ATTN_OK; i++)
        status = at_field_set(context, &fields->list[i], *settings, fields->list[i].initial);
    return status;
}

attn_status attn_predictor_create(const attn_model *model, attn_context *context,
                                  attn_predictor **predictor) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    attn_context *own = NULL;
    if (!predictor)
        return at_fail(context ? context : model->context, ATTN_INVALID_ARGUMENT, "predictor is NULL");
    if (!context) {
        attn_context_options options;
        attn_context_options_init(&options);
        options.threads = 1;
        options.isa = attn_context_isa(model->context);
        options.allocator = model->context->allocator;
        attn_status status = attn_context_create(&options, &own);
        if (status != ATTN_OK) return status; /* attn_last_create_error has the text */
        at_context_use_backend(own, at_backend_of(model->context));
        context = own;
    }
    if (context->isa != model->context->isa)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a model that was loaded for %s cannot be used with %s",
                       attn_context_isa(model->context), attn_context_isa(context));
    if (at_backend_of(context) != at_backend_of(model->context))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "a model of the backend %s cannot be used on %s",
                       at_backend_of(model->context)->name, at_backend_of(context)->name);
    attn_predictor *made = at_allocate(context, 1, sizeof *made, "a predictor");
    if (!made) {
        attn_context_destroy(own);
        return ATTN_OUT_OF_MEMORY;
    }
    made->model = model;
    made->stage = at_main_stage(model);
    made->context = made->written.context = context;
    made->own_context = own;
    attn_status status = at_work_create(made->stage, context, &made->work);
    if (status == ATTN_OK && at_splitter_stage(model))
        status = at_work_create(at_splitter_stage(model), context, &made->split_work);
    if (status == ATTN_OK)
        status = make_settings(context, &made->stage->input->kind->settings, &made->input_settings);
    if (status == ATTN_OK)
        status = make_settings(context, made->stage->heads[0]->kind->settings, &made->head_settings);
    if (status == ATTN_OK && made->stage->input->kind->likely && attn_predictor_has(made, "probs"))
        status = attn_predictor_set(made, "probs", "true");
    if (status != ATTN_OK) {
        attn_predictor_destroy(made);
        return status;
    }
    *predictor = made;
    return ATTN_OK;
}

void attn_predictor_destroy(attn_predictor *predictor) {
    if (!predictor) return;
    attn_context *context = predictor->context, *own = predictor->own_context;
    at_work_free(predictor->stage, &predictor->work);
    const at_stage *splitter = at_splitter_stage(predictor->model);
    if (splitter) at_work_free(splitter, &predictor->split_work);
    if (predictor->split_memo) splitter->input->kind->free_memo(context, predictor->split_memo);
    if (predictor->memo) predictor->stage->input->kind->free_memo(context, predictor->memo);
    attn_dataset_destroy(predictor->pushed);
    at_release(context, predictor->input_settings);
    at_release(context, predictor->head_settings);
    at_writer_free(&predictor->written);
    at_release(context, predictor->vectors);
    at_release(context, predictor->vector_offsets);
    at_release(context, predictor);
    attn_context_destroy(own);
}

const char *attn_predictor_error(const attn_predictor *predictor) {
    return predictor ? attn_context_error(predictor->context) : "predictor is NULL";
}
attn_context *attn_predictor_context(const attn_predictor *predictor) {
    return predictor ? predictor->context : NULL;
}

void at_predictor_share(attn_predictor *predictor, int rank, int ranks,
                        attn_status (*join)(void *user, void *bytes, size_t count), void *user) {
    at_work *works[] = {&predictor->work, &predictor->split_work};
    for (int i = 0; i < 2; i++) {
        works[i]->rank = rank;
        works[i]->ranks = ranks;
        works[i]->join = join;
        works[i]->join_user = user;
    }
}

/* ---- settings ---- */

/* Tables of settings, whosever they are: heads first, then inputs. `models`: in the words of a task. */
static const at_fields *settings_at(int index, const char **models) {
    int heads = at_head_families();
    if (index < heads) return at_head_settings(index, models);
    const at_input_kind *kind = at_input_at(index - heads);
    *models = kind ? kind->models : NULL;
    return kind ? &kind->settings : NULL;
}

int attn_setting(int index, attn_setting_text *setting) {
    if (!setting) return 0;
    const char *models;
    const at_fields *fields;
    for (int t = 0; index >= 0 && (fields = settings_at(t, &models)); index -= fields->count, t++) {
        if (index >= fields->count) continue;
        const at_field *field = &fields->list[index];
        *setting = (attn_setting_text){.name = field->name,
                                       .initial = field->initial,
                                       .help = field->help,
                                       .models = models,
                                       .is_switch = field->kind == AT_FIELD_SWITCH,
                                       .whole = field->kind == AT_FIELD_INTEGER,
                                       .minimum = field->minimum,
                                       .maximum = field->maximum};
        return 1;
    }
    return 0;
}

static const at_field *find_setting(const at_fields *fields, const char *name) {
    for (int i = 0; fields && i < fields->count; i++)
        if (strcmp(fields->list[i].name, name) == 0) return &fields->list[i];
    return NULL;
}

/* The setting of a name, and where it goes; NULL: models like this one do not have it. */
static const at_field *find(const attn_predictor *predictor, const char *name, void **settings) {
    const at_field *field = find_setting(predictor->stage->heads[0]->kind->settings, name);
    *settings = predictor->head_settings;
    if (field) return field;
    *settings = predictor->input_settings;
    return find_setting(&predictor->stage->input->kind->settings, name);
}

int attn_predictor_has(const attn_predictor *predictor, const char *name) {
    void *settings;
    return predictor && name && find(predictor, name, &settings) != NULL;
}

int at_setting_on(const attn_predictor *predictor, const char *name) {
    void *settings;
    const at_field *field = find(predictor, name, &settings);
    return field && field->kind == AT_FIELD_SWITCH &&
           *(const int *)(const void *)((char *)settings + field->place);
}

attn_status attn_predictor_set(attn_predictor *predictor, const char *name, const char *value) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    if (!name || !value) return at_fail(context, ATTN_INVALID_ARGUMENT, "name or value is NULL");
    void *settings;
    const at_field *field = find(predictor, name, &settings);
    if (field) return at_field_set(context, field, settings, value);
    attn_setting_text setting;
    for (int i = 0; attn_setting(i, &setting); i++) {
        if (strcmp(setting.name, name) == 0)
            return at_fail(context, ATTN_UNSUPPORTED, "%s is for %s; this one is of task %s and reads %s",
                           name, setting.models, predictor->stage->values.task->name,
                           predictor->stage->input->kind->name);
    }
    return at_fail(context, ATTN_INVALID_ARGUMENT, "there is no setting \"%.60s\"", name);
}

/* ---- predicting ---- */

/* The text that was pushed. */
static void forget(attn_predictor *predictor) {
    predictor->running = 0;
    predictor->next = NULL;
}

static attn_status encode(attn_predictor *predictor, const attn_dataset *dataset, at_encoded **encoded) {
    at_encode_options options = {.settings = predictor->input_settings};
    return at_stage_encode(predictor->stage, predictor->context, &predictor->memo, dataset, &options,
                           encoded);
}

/* The pieces that rows are parts of, where labels say so. */
static attn_status join_pieces(const attn_predictor *predictor, attn_prediction *prediction) {
    const at_input *input = predictor->stage->input;
    const at_strings *labels = at_labels_of_head(predictor->stage->heads[0]);
    const int32_t *classes = labels ? at_answers_classes(prediction->answers[0]) : NULL;
    if (!input->kind->join || !classes || !prediction->per_row) return ATTN_OK;
    return input->kind->join(input, predictor->context, prediction->encoded, labels, classes,
                             &prediction->pieces, &prediction->piece_offsets);
}

/* ---- raw data ---- */

static int is_raw(const attn_predictor *predictor, const attn_dataset *dataset) {
    const at_input *input = predictor->stage->input;
    return strcmp(dataset->kind->input, input->kind->name) == 0 && input->kind->is_raw &&
           input->kind->is_raw(input, dataset, predictor->input_settings);
}

const char *attn_predictor_rule(const attn_predictor *predictor, const attn_dataset *dataset) {
    if (!predictor || !dataset || !is_raw(predictor, dataset) || at_splitter_stage(predictor->model))
        return NULL;
    return predictor->stage->input->kind->rule(predictor->stage->input);
}

attn_status at_predictor_split(attn_predictor *predictor, const attn_dataset *raw, attn_dataset **split,
                               int64_t **offsets) {
    const at_stage *splitter = at_splitter_stage(predictor->model);
    attn_context *context = predictor->context;
    *split = NULL;
    if (!splitter || !is_raw(predictor, raw)) return ATTN_OK;
    at_encoded *encoded = NULL;
    at_answers *answers = NULL;
    int64_t *first = NULL;
    const at_input_kind *kind = splitter->input->kind;
    const at_head *head = splitter->heads[0];
    attn_status status = at_stage_encode(splitter, context, &predictor->split_memo, raw, NULL, &encoded);
    if (status != ATTN_OK) return status;
    status = head->kind->predict(splitter->heads, 1, &splitter->forward, &predictor->split_work, encoded,
                                 NULL, &answers);
    if (status == ATTN_OK)
        status = kind->split(splitter->input, context, encoded, at_labels_of_head(head),
                             at_answers_classes(answers), split, &first);
    if (status == ATTN_OK && offsets)
        *offsets = first;
    else
        at_release(context, first);
    if (answers) head->kind->free_answers(answers);
    kind->free_encoded(encoded);
    return status;
}

attn_status attn_predictor_split(attn_predictor *predictor, const attn_dataset *raw,
                                 attn_dataset **examples) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    if (!raw || !examples) return at_fail(context, ATTN_INVALID_ARGUMENT, "raw or examples is NULL");
    if (!at_splitter_stage(predictor->model))
        return at_fail(context, ATTN_UNSUPPORTED, "the model has no splitter of raw text");
    attn_dataset *made;
    attn_status status = at_predictor_split(predictor, raw, &made, NULL);
    if (status == ATTN_OK && !made)
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: is not raw text", attn_dataset_name(raw));
    if (status == ATTN_OK) *examples = made;
    return status;
}

/* If an example has one prediction, a limited number of its pieces is read; without an encoder, all of it. */
static void count_cut(attn_predictor *predictor, const at_encoded *encoded) {
    const at_stage *stage = predictor->stage;
    predictor->answered += encoded->examples;
    const at_head_kind *kind = stage->heads[0]->kind;
    if ((stage->per_row && kind->rows) || kind->running || !at_stage_has_rows(stage)) return;
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t rows = encoded->offsets[e + 1] - encoded->offsets[e];
        predictor->cut += rows > stage->forward.most;
        predictor->in_pieces += rows > stage->forward.longest && rows <= stage->forward.most;
    }
}

int64_t attn_predictor_answered(const attn_predictor *predictor) {
    return predictor ? predictor->answered : 0;
}
int64_t attn_predictor_in_pieces(const attn_predictor *predictor) {
    return predictor ? predictor->in_pieces : 0;
}
int64_t attn_predictor_cut(const attn_predictor *predictor) { return predictor ? predictor->cut : 0; }

static attn_status predict(attn_predictor *predictor, const attn_dataset *dataset, const void *settings,
                           attn_prediction **prediction) {
    const at_stage *stage = predictor->stage;
    attn_context *context = predictor->context;
    attn_prediction *made = at_allocate(context, 1, sizeof *made, "a prediction");
    if (!made) return ATTN_OUT_OF_MEMORY;
    forget(predictor); /* models that continue text continue examples with the same memory */
    made->context = context;
    made->free_encoded = stage->input->kind->free_encoded;
    made->row_name = stage->input->kind->row_name;
    made->per_row = stage->per_row;
    made->labels_rows = stage->per_row && stage->heads[0]->kind->rows != NULL;
    made->count = stage->head_count;
    made->answers = at_allocate(context, made->count, sizeof *made->answers, "a prediction");
    attn_status status = made->answers ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK)
        status = at_predictor_split(predictor, dataset, &made->split, &made->split_offsets);
    if (status == ATTN_OK) status = encode(predictor, made->split ? made->split : dataset, &made->encoded);
    if (status == ATTN_OK)
        status = stage->heads[0]->kind->predict(stage->heads, stage->head_count, &stage->forward,
                                                &predictor->work, made->encoded, settings, made->answers);
    if (status == ATTN_OK) status = join_pieces(predictor, made);
    if (status == ATTN_OK) count_cut(predictor, made->encoded);
    if (status == ATTN_OK)
        *prediction = made;
    else
        attn_prediction_destroy(made);
    return status;
}

attn_status attn_predictor_predict(attn_predictor *predictor, const attn_dataset *dataset,
                                   attn_prediction **prediction) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    if (!dataset || !prediction)
        return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "dataset or prediction is NULL");
    return predict(predictor, dataset, predictor->head_settings, prediction);
}

attn_status attn_predictor_search(attn_predictor *predictor, const attn_dataset *dataset,
                                  const attn_search_options *options, attn_prediction **prediction) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    attn_search_options chosen;
    char reason[AT_OPTIONS_TEXT];
    attn_search_options_init(&chosen);
    if (!dataset || !prediction)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "dataset or prediction is NULL");
    attn_status status =
        at_options_take("search options", "attn_search_options_init", options,
                        AT_FIRST_SIZE(attn_search_options, lowercase), sizeof chosen, &chosen, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    if (!attn_predictor_has(predictor, "beam"))
        return at_fail(context, ATTN_UNSUPPORTED, "a model of task %s does not predict sequences",
                       predictor->stage->values.task->name);
    if (options && (options->beam < 1 || options->n_best < 1)) /* 0 is a choice of the settings only */
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "beam is %" PRId64 " and n_best is %" PRId64 ", at least 1 each", options->beam,
                       options->n_best);
    return predict(predictor, dataset, &chosen, prediction);
}

/* Lines of text in memory as the model reads them. */
static attn_status read_lines(attn_predictor *predictor, const char *name, const char *text, size_t length,
                              attn_dataset **dataset) {
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.input = predictor->stage->input->kind->name;
    int lines = attn_input_find_format(options.input, "lines");
    if (lines < 0)
        return at_fail(predictor->context, ATTN_UNSUPPORTED, "a model of input %s does not read text",
                       options.input);
    options.format = (attn_format)lines;
    options.labelled = 0;
    if (length == 0) { /* a line that is empty, not a file that is */
        text = "\n";
        length = 1;
    }
    return attn_dataset_parse(predictor->context, name, 1, text, length, &options, dataset);
}

attn_status attn_predictor_text(attn_predictor *predictor, const char *text, attn_prediction **prediction) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    if (!text || !prediction)
        return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "text or prediction is NULL");
    attn_dataset *dataset;
    size_t length = strcspn(text, "\n");
    if (text[length]) {
        return at_fail(predictor->context, ATTN_INVALID_ARGUMENT,
                       "the text has a line end at byte %zu: give one line, or read a dataset", length);
    }
    attn_status status = read_lines(predictor, "text", text, length, &dataset);
    if (status != ATTN_OK) return status;
    status = attn_predictor_predict(predictor, dataset, prediction);
    attn_dataset_destroy(dataset);
    return status;
}

/* ---- running text ---- */

static const at_running *running_of(const attn_predictor *predictor) {
    return predictor->stage->heads[0]->kind->running;
}

static attn_status check_running(attn_predictor *predictor) {
    if (running_of(predictor)) return ATTN_OK;
    return at_fail(predictor->context, ATTN_UNSUPPORTED, "a model of task %s does not continue texts",
                   predictor->stage->values.task->name);
}

attn_status attn_predictor_sampling_sized(attn_predictor *predictor, attn_sampling_options *options,
                                          size_t size) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    if (!options) return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "options is NULL");
    attn_status status = check_running(predictor);
    if (status != ATTN_OK) return status;
    at_options_give(options, size, predictor->head_settings, sizeof *options);
    return ATTN_OK;
}

/* Lines, without the end of the last unless it is there. A first push begins with the line end before it. */
attn_status attn_predictor_push_text(attn_predictor *predictor, const char *text) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    const at_stage *stage = predictor->stage;
    const at_forward *forward = &stage->forward;
    attn_dataset *lines;
    at_encoded *encoded = NULL;
    if (!text) return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "text is NULL");
    attn_status status = check_running(predictor);
    if (status != ATTN_OK) return status;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* a reader would pass over it, too */
    size_t length = strlen(text);
    int first = !predictor->running;
    if (first) predictor->open_line = 0;
    if (first) status = running_of(predictor)->begin(stage->heads[0], forward, &predictor->work);
    if (status == ATTN_OK) status = read_lines(predictor, "the prompt", text, length, &lines);
    if (status != ATTN_OK) return status;
    predictor->running = 1;
    at_encode_options options = {.settings = predictor->input_settings, .goes_on = predictor->open_line};
    status = at_stage_encode(stage, predictor->context, &predictor->memo, lines, &options, &encoded);
    int ended = length > 0 && text[length - 1] == '\n';
    for (int64_t row = first ? 0 : 1; status == ATTN_OK && row < encoded->rows - !ended; row++) {
        const char *name = forward->row_name(encoded, row);
        predictor->next = NULL;
        status = forward->extend_steps(forward, predictor->work.steps, name, strlen(name));
    }
    if (status == ATTN_OK && length > 0) predictor->open_line = !ended;
    if (status != ATTN_OK && (first || encoded)) forget(predictor); /* a part of it may be there */
    if (encoded) stage->input->kind->free_encoded(encoded);
    attn_dataset_destroy(lines);
    return status;
}

attn_status attn_predictor_next(attn_predictor *predictor, const double **probabilities) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    if (!probabilities) return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "probabilities is NULL");
    attn_status status = check_running(predictor);
    if (status == ATTN_OK && !predictor->running) status = attn_predictor_push_text(predictor, "");
    if (status == ATTN_OK && !predictor->next)
        status = running_of(predictor)->next(predictor->stage->heads[0], &predictor->stage->forward,
                                             &predictor->work, &predictor->next);
    if (status == ATTN_OK) *probabilities = predictor->next;
    return status;
}

attn_status attn_predictor_continue(attn_predictor *predictor, const char *prompt,
                                    const attn_sampling_options *options, const char **text) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    if (!prompt || !text) return at_fail(context, ATTN_INVALID_ARGUMENT, "prompt or text is NULL");
    attn_status status = check_running(predictor);
    if (status != ATTN_OK) return status;
    attn_sampling_options chosen = *(const attn_sampling_options *)predictor->head_settings;
    char reason[AT_OPTIONS_TEXT];
    status = at_options_take("sampling options", "attn_sampling_options_init", options,
                             AT_FIRST_SIZE(attn_sampling_options, user), sizeof chosen, &chosen, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    if (chosen.tokens < 0 || !(chosen.temperature >= 0 && chosen.temperature <= 1000) || chosen.top_k < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "tokens and top_k are 0 or more, temperature is from 0 to 1000");
    forget(predictor);
    status = attn_predictor_push_text(predictor, prompt);
    size_t length = strlen(prompt);
    if (status == ATTN_OK)
        status = running_of(predictor)->go_on(predictor->stage->heads[0], &predictor->stage->forward,
                                              &predictor->work, &chosen,
                                              length > 0 && prompt[length - 1] != '\n', text);
    forget(predictor);
    return status;
}

/* ---- sequences in pieces ---- */

attn_status attn_predictor_push(attn_predictor *predictor, const attn_dataset *rows) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    if (!rows) return at_fail(context, ATTN_INVALID_ARGUMENT, "rows is NULL");
    attn_status status = ATTN_OK;
    if (!predictor->pushed) {
        void *content;
        status = rows->kind->create(context, rows->content, &content);
        if (status == ATTN_OK)
            status =
                at_dataset_create(context, attn_dataset_name(rows), rows->kind, content, &predictor->pushed);
        if (status == ATTN_OK) predictor->pushed->per_row = rows->per_row;
    }
    if (status == ATTN_OK && predictor->pushed->kind != rows->kind)
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "rows of input %s cannot follow those of input %s",
                         rows->kind->input, predictor->pushed->kind->input);
    for (int64_t e = 0; e < rows->examples && status == ATTN_OK; e++) {
        int64_t first = rows->offsets[e], end = rows->offsets[e + 1];
        status = rows->kind->append(context, predictor->pushed->content, rows->content, e, first, end);
        for (int64_t r = first; r < end && status == ATTN_OK; r++)
            status = at_dataset_row(predictor->pushed, rows->lines[r]);
    }
    if (status == ATTN_OK || status == ATTN_INVALID_ARGUMENT)
        return status;                       /* such rows are refused before any is taken */
    attn_dataset_destroy(predictor->pushed); /* a part of them may be there */
    predictor->pushed = NULL;
    return status;
}

attn_status attn_predictor_finish(attn_predictor *predictor, attn_prediction **prediction) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_dataset *pushed = predictor->pushed;
    predictor->pushed = NULL;
    forget(predictor);
    attn_status status = ATTN_OK;
    if (prediction && !pushed)
        status =
            at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "no rows were pushed: there is no sequence");
    if (status == ATTN_OK && prediction) status = at_dataset_end(pushed);
    if (status == ATTN_OK && prediction) status = attn_predictor_predict(predictor, pushed, prediction);
    attn_dataset_destroy(pushed);
    return status;
}

/* ---- reports ---- */

attn_status attn_report_create(attn_predictor *predictor, const attn_dataset *dataset, attn_report **report) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    attn_context *context = predictor->context;
    const at_stage *stage = predictor->stage;
    if (!dataset || !report) return at_fail(context, ATTN_INVALID_ARGUMENT, "dataset or report is NULL");
    at_encoded *encoded = NULL;
    at_targets **targets = NULL;
    attn_status status = encode(predictor, dataset, &encoded);
    if (status == ATTN_OK) status = at_stage_targets(stage, context, encoded, &targets);
    if (status == ATTN_OK)
        status = at_stage_report(stage, &predictor->work, encoded, targets, predictor->head_settings,
                                 AT_EFFORT_FULL, report);
    if (status == ATTN_OK) count_cut(predictor, encoded);
    at_stage_free_targets(stage, context, targets);
    if (encoded) stage->input->kind->free_encoded(encoded);
    return status;
}

attn_status at_predictor_calibrate(attn_predictor *predictor, const attn_dataset *dataset) {
    const at_stage *stage = predictor->stage;
    const at_head_kind *kind = stage->heads[0]->kind;
    at_encoded *encoded = NULL;
    at_targets **targets = NULL;
    if (!kind->calibrate) return ATTN_OK;
    attn_status status = encode(predictor, dataset, &encoded);
    if (status == ATTN_OK) status = at_stage_targets(stage, predictor->context, encoded, &targets);
    if (status == ATTN_OK)
        status = kind->calibrate(stage->heads, stage->head_count, &stage->forward, &predictor->work, encoded,
                                 targets);
    at_stage_free_targets(stage, predictor->context, targets);
    if (encoded) stage->input->kind->free_encoded(encoded);
    return status;
}

/* ---- vectors ---- */

enum { ROWS_PER_BATCH = 2048 };

static attn_status embed_batch(attn_predictor *predictor, const at_encoded *encoded, const int64_t *order,
                               int64_t count, int pooled) {
    const at_stage *stage = predictor->stage;
    at_work *work = &predictor->work;
    attn_status status =
        stage->forward.fill(&stage->forward, encoded, &work->segments, order, count, work->batch);
    attn_ragged batch = {work->batch->sequences, work->batch->offsets};
    for (int n = 0; n < stage->network_count && status == ATTN_OK; n++) {
        attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_stage_rows(stage, n, work->tape, work->batch);
        if (pooled) x = attn_tape_pool(work->tape, x, &batch, ATTN_POOL_MEAN);
        status = attn_tape_status(work->tape);
        if (status != ATTN_OK) return at_fail(work->context, status, "%s", attn_tape_error(work->tape));
        int64_t columns = attn_variable_columns(x), stride;
        status = at_host_rows_of(x, &work->host);
        if (status != ATTN_OK) return status;
        stride = work->host.stride;
        for (int64_t s = 0; s < count; s++) {
            const at_segment *segment = &work->segments.list[order[s]];
            int64_t rows = pooled ? 1 : segment->count, from = pooled ? s : batch.offsets[s];
            float *into = predictor->vectors + (pooled ? segment->example : segment->first) * columns;
            for (int64_t i = 0; i < rows * columns; i++)
                into[i] += work->host.data[(from + i / columns) * stride + i % columns] /
                           (float)stage->network_count;
        }
    }
    return status;
}

static attn_status embed(attn_predictor *predictor, const at_encoded *encoded, int pooled,
                         attn_vectors *vectors) {
    const at_stage *stage = predictor->stage;
    at_work *work = &predictor->work;
    attn_context *context = predictor->context;
    int64_t columns = attn_encoder_columns(stage->networks[0].encoder);
    int64_t rows = pooled ? encoded->examples : encoded->rows;
    attn_status status = at_grow(context, &predictor->vectors, &predictor->vector_room, rows * columns + 1,
                                 sizeof *predictor->vectors, "vectors");
    if (status == ATTN_OK)
        status = at_grow(context, &predictor->vector_offsets, &predictor->vector_offset_room,
                         encoded->examples + 1, sizeof *predictor->vector_offsets, "vectors");
    if (status == ATTN_OK)
        status = at_segments_make(context, encoded->examples, encoded->offsets,
                                  pooled && !stage->per_row ? stage->forward.most : stage->forward.longest,
                                  !pooled, &work->segments);
    if (status == ATTN_OK) status = at_plan_sorted(context, &work->segments, ROWS_PER_BATCH, &work->plan);
    if (status != ATTN_OK) return status;
    memset(predictor->vectors, 0, (size_t)(rows * columns) * sizeof *predictor->vectors);
    for (int64_t e = 0; e <= encoded->examples; e++)
        predictor->vector_offsets[e] = pooled ? e : encoded->offsets[e];
    for (int64_t b = 0; b < work->plan.batches && status == ATTN_OK; b++)
        status = embed_batch(predictor, encoded, work->plan.order + work->plan.first[b],
                             work->plan.first[b + 1] - work->plan.first[b], pooled);
    *vectors = (attn_vectors){sizeof *vectors, predictor->vectors, rows,
                              columns,         encoded->examples,  predictor->vector_offsets};
    return status;
}

void attn_vectors_init_sized(attn_vectors *vectors, size_t size) {
    attn_vectors own = {.size = sizeof own};
    at_options_give(vectors, size, &own, sizeof own);
}

attn_status attn_predictor_embed(attn_predictor *predictor, const attn_dataset *dataset, int pooled,
                                 attn_vectors *vectors) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    const at_stage *stage = predictor->stage;
    if (!dataset || !vectors)
        return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "dataset or vectors is NULL");
    if (!at_stage_has_rows(stage))
        return at_fail(predictor->context, ATTN_UNSUPPORTED,
                       "the model has no encoder (encoder.kind none), so it makes no vectors");
    at_encoded *encoded;
    attn_dataset *split;
    attn_vectors made;
    attn_status status = at_result_check(predictor->context, "vectors", "attn_vectors_init", vectors,
                                         AT_FIRST_SIZE(attn_vectors, offsets), sizeof *vectors);
    if (status == ATTN_OK) status = at_predictor_split(predictor, dataset, &split, NULL);
    if (status != ATTN_OK) return status;
    status = encode(predictor, split ? split : dataset, &encoded);
    if (status == ATTN_OK) {
        status = embed(predictor, encoded, pooled, &made);
        stage->input->kind->free_encoded(encoded);
    }
    attn_dataset_destroy(split);
    if (status == ATTN_OK) at_result_give(vectors, &made, sizeof made);
    return status;
}
