/* fuzz_calls.c: any bytes as calls of the library, one after another, with whatever arguments: each is
 * refused or does its work, and everything can be destroyed at the end.
 *
 * A byte names a call; the bytes after it are its arguments: things that calls before it have made, or NULL;
 * numbers, among them the largest and the smallest; texts of a list, or of the input itself. The allocator
 * refuses large blocks, and every so often any. What the headers ask of a caller is kept: arrays are as long
 * as is said, a predictor goes before its model, a prediction before its predictor.
 */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include <attn/attn.h>

#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 3, MODELS = 4, TEXTS = 4, LARGEST = 64 << 20 };

/* ---- what the calls work on ---- */

typedef struct session {
    const uint8_t *next, *end;
    attn_context *context;
    attn_dataset *dataset[SLOTS];
    attn_config *config[SLOTS];
    attn_model *model; /* loaded by a call */
    attn_predictor *predictor[SLOTS];
    attn_prediction *prediction[SLOTS];
    attn_report *report;
    char text[TEXTS][64]; /* texts of the input */
    int texts;
    int64_t fail_in; /* 0: never */
} session;

static attn_model *models[MODELS]; /* of all sessions */
static char folder[] = "/tmp/attn_fuzz_calls_XXXXXX", path[80];

static void *allocate(void *user, size_t bytes, size_t alignment) {
    session *s = user;
    if (bytes > LARGEST || (s->fail_in > 0 && --s->fail_in == 0)) return NULL;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory) {
    (void)user;
    free(memory);
}

/* ---- arguments ---- */

static int byte(session *s) { return s->next < s->end ? *s->next++ : 0; }

static int64_t number(session *s) {
    static const int64_t numbers[] = {0, 1, 2, -1, 3, INT64_MAX, INT64_MIN, INT32_MAX, 1 << 20, 7};
    return numbers[byte(s) % (int)(sizeof numbers / sizeof *numbers)];
}

static const char *text(session *s) {
    static const char *const texts[] = {NULL,
                                        "",
                                        "ab x",
                                        "good\tfine film\nbad\tpoor film\n",
                                        "1\tab\t_\tA\t_\t_\t_\t_\t_\t_\n\n",
                                        "1,2\n3,4\n",
                                        "\xff",
                                        "text",
                                        "vectors",
                                        "task",
                                        "tag",
                                        "lm",
                                        "seq2seq",
                                        "encoder.layers",
                                        "2",
                                        "true",
                                        "-1",
                                        "1e400",
                                        "probs",
                                        "beam",
                                        "tokens",
                                        "/nonexistent/m",
                                        "{\"task\":\"tag\"}",
                                        "accuracy",
                                        "output.bias",
                                        "a\nb",
                                        "training.steps",
                                        "label",
                                        "1",
                                        "UPOS",
                                        "__label__a b\n",
                                        "\xef\xbb\xbf",
                                        "a\tB\n",
                                        "longest"};
    enum { COUNT = sizeof texts / sizeof *texts };
    int which = byte(s);
    if (which < 128) return texts[which % COUNT];
    char *own = s->text[s->texts++ % TEXTS];
    int length = which % 64;
    for (int i = 0; i < length; i++) own[i] = (char)byte(s);
    own[length] = 0;
    return own;
}

/* A number of things that are allocated or run, as text. */
static const char *small_text(session *s) {
    static const char *const texts[] = {NULL, "", "0", "1", "5", "-1", "true", "x", "nan", "1e9999"};
    return texts[byte(s) % (int)(sizeof texts / sizeof *texts)];
}

static int64_t small(session *s) { return byte(s) % 8 - 2; }
static int slot(session *s) { return byte(s) % SLOTS; }
static attn_context *context(session *s) { return byte(s) % 8 ? s->context : NULL; }
static attn_dataset *dataset(session *s) { return s->dataset[slot(s)]; }

static attn_predictor *predictor(session *s) { return s->predictor[slot(s)]; }
static attn_prediction *prediction(session *s) { return s->prediction[slot(s)]; }

static attn_model *model(session *s) {
    int which = byte(s) % (MODELS + 2);
    return which < MODELS ? models[which] : which == MODELS ? s->model : NULL;
}

static const attn_reader_options *reader(session *s, attn_reader_options *options) {
    int given = byte(s);
    attn_reader_options_init(options);
    if (given % 16 == 0) return NULL;
    if (given % 16 == 1) options->size = (size_t)number(s);
    if (given & 16) options->format = (attn_format)(byte(s) % 9 - 1);
    if (given & 32) options->labelled = 0;
    if (given & 64) options->input = text(s), options->column = text(s), options->text_column = text(s);
    if (given & 128) {
        options->label_separator = (char)byte(s);
        options->per_token = (int)small(s);
        options->pairs = (int)small(s);
        options->skip_bad = byte(s) & 1;
        options->stop_at_bad = byte(s) & 1;
        options->expanded_limit = number(s);
        options->expanded_ratio = number(s);
    }
    return options;
}

/* Takes the place of what is there. */
static void put_dataset(session *s, attn_dataset *made) {
    int at = slot(s);
    attn_dataset_destroy(s->dataset[at]);
    s->dataset[at] = made;
}

static void put_prediction(session *s, attn_prediction *made) {
    int at = slot(s);
    attn_prediction_destroy(s->prediction[at]);
    s->prediction[at] = made;
}

static void drop_predictions(session *s) {
    for (int i = 0; i < SLOTS; i++) {
        attn_prediction_destroy(s->prediction[i]);
        s->prediction[i] = NULL;
    }
    attn_report_destroy(s->report);
    s->report = NULL;
}

static void drop_predictors(session *s) {
    drop_predictions(s);
    for (int i = 0; i < SLOTS; i++) {
        attn_predictor_destroy(s->predictor[i]);
        s->predictor[i] = NULL;
    }
}

/* Text that must be readable to its end, if it is there. */
static void look(const char *string) { REQUIRE(!string || strlen(string) < SIZE_MAX / 2); }

/* What made nothing has left nothing. */
static void check_made(attn_status status, const void *made) {
    REQUIRE((status == ATTN_OK) == (made != NULL));
}

/* ---- calls ---- */

static void read_dataset(session *s) {
    attn_reader_options options;
    attn_dataset *made = NULL;
    const attn_reader_options *given = reader(s, &options);
    const char *name = text(s), *bytes = text(s);
    attn_status status;
    switch (byte(s) % 4) {
    case 0: status = attn_dataset_read(context(s), name, given, byte(s) % 8 ? &made : NULL); break;
    case 1: status = attn_dataset_read_parallel(context(s), name, bytes, given, &made); break;
    default:
        status =
            attn_dataset_parse(context(s), name, number(s), bytes, bytes ? strlen(bytes) : 0, given, &made);
    }
    check_made(status, made);
    (void)attn_dataset_detect(name, bytes, bytes ? strlen(bytes) : 0, given);
    (void)attn_reader_pieces(given);
    (void)attn_reader_files(given);
    put_dataset(s, made);
}

static void make_dataset(session *s) {
    const char *texts[TEXTS];
    int64_t offsets[TEXTS + 1];
    float rows[16];
    attn_dataset *made = NULL;
    for (int i = 0; i < TEXTS; i++) texts[i] = text(s);
    for (int i = 0; i <= TEXTS; i++) offsets[i] = byte(s) % 6 - 1;
    for (int i = 0; i < 16; i++) rows[i] = (float)number(s) / (float)small(s);
    int64_t examples = byte(s) % (TEXTS + 2) - 1;
    attn_status status;
    if (byte(s) & 1)
        status = attn_dataset_from_texts(context(s), byte(s) % 8 ? texts : NULL, byte(s) & 1 ? offsets : NULL,
                                         examples, &made);
    else
        status = attn_dataset_from_rows(context(s), byte(s) % 8 ? rows : NULL, byte(s) % 5,
                                        byte(s) & 1 ? offsets : NULL, examples, &made);
    check_made(status, made);
    put_dataset(s, made);
}

/* As many as it has places, or as there can be. */
static void set_targets(session *s) {
    attn_dataset *of = dataset(s);
    int per_row = byte(s) & 1;
    int64_t places = 0;
    for (int64_t e = 0; e < attn_dataset_examples(of); e++) places += per_row ? attn_dataset_rows(of, e) : 1;
    const char *names[2] = {text(s), text(s)};
    int columns = byte(s) % 4 - 1;
    if (columns > 2 || places > 1000) return;
    const char **values = calloc((size_t)places * 2 + 1, sizeof *values);
    double *numbers = calloc((size_t)places * 2 + 1, sizeof *numbers);
    REQUIRE(values && numbers);
    for (int64_t i = 0; i < 2 * places && i < 20; i++) {
        values[i] = small_text(s);
        numbers[i] = (double)small(s) / (double)small(s);
    }
    if (byte(s) & 1)
        (void)attn_dataset_set_targets(of, columns, names, values, per_row);
    else
        (void)attn_dataset_set_numbers(of, columns, names, byte(s) % 8 ? numbers : NULL, per_row);
    free(values);
    free(numbers);
}

static void ask_dataset(session *s) {
    attn_dataset *of = dataset(s), *selected = NULL;
    int64_t example = number(s), token = number(s), examples[2] = {number(s), number(s)};
    attn_describe_options options;
    char *described = NULL;
    look(attn_dataset_name(of));
    look(attn_dataset_input(of));
    (void)attn_dataset_format(of);
    (void)attn_dataset_tokenized(of);
    (void)attn_dataset_rows(of, example);
    (void)attn_dataset_tokens(of, example);
    (void)attn_dataset_line(of, example, token);
    (void)attn_dataset_consumed(of);
    (void)attn_dataset_skipped(of);
    look(attn_dataset_problem(of, example));
    look(attn_dataset_row_name(of, example, token));
    look(attn_dataset_token(of, example, token));
    look(attn_dataset_source(of, example));
    look(attn_dataset_column(of, (int)small(s)));
    look(attn_dataset_target(of, (int)small(s), example, token));
    attn_describe_options_init(&options);
    options.json = byte(s) & 1;
    options.task = text(s);
    attn_status status = attn_dataset_describe(of, byte(s) % 4 ? &options : NULL, &described);
    check_made(status, described);
    look(described);
    attn_text_release(s->context, described);
    if (attn_dataset_select(of, examples, byte(s) % 3, byte(s) % 8 ? &selected : NULL) == ATTN_OK)
        put_dataset(s, selected);
}

static void configure(session *s) {
    int at = slot(s);
    attn_reader_options options;
    if (byte(s) % 4 == 0) {
        attn_config_destroy(s->config[at]);
        s->config[at] = NULL;
        check_made(attn_config_create(context(s), &s->config[at]), s->config[at]);
    }
    attn_config *of = s->config[at];
    const char *name = byte(s) & 1 ? attn_config_name(byte(s)) : text(s), *json = text(s);
    (void)attn_config_set(of, name, byte(s) & 1 ? text(s) : small_text(s));
    (void)attn_config_parse(of, text(s), json, json ? strlen(json) : 0);
    look(attn_config_get(of, name));
    look(attn_config_print(of));
    (void)attn_config_reader(of, byte(s) % 8 ? &options : NULL);
    look(attn_config_help((int)small(s)));
    look(attn_config_choice(byte(s), (int)small(s)));
}

/* One step of a tiny network, whatever the data is. */
static void train(session *s) {
    attn_config *own = NULL;
    attn_trainer *trainer = NULL;
    attn_trainer_options options;
    static const char *const sets[][2] = {{"encoder.columns", "4"}, {"encoder.heads", "2"},
                                          {"encoder.layers", "1"},  {"encoder.inner", "4"},
                                          {"text.buckets", "3"},    {"training.steps", "1"}};
    attn_trainer_options_init(&options);
    options.vectors = byte(s) % 8 ? NULL : text(s);
    options.resume = byte(s) & 1;
    if (attn_config_create(s->context, &own) != ATTN_OK) return;
    attn_status status = attn_config_set(own, "task", attn_task_name(byte(s) % 8));
    if (byte(s) % 4 == 0) status = attn_config_set(own, "input", attn_input_name(byte(s) % 3));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        status = attn_config_set(own, sets[i][0], sets[i][1]);
    if (status == ATTN_OK)
        status = attn_trainer_create(byte(s) % 16 ? own : NULL, dataset(s), dataset(s),
                                     byte(s) % 8 ? &options : NULL, &trainer);
    if (status == ATTN_OK) (void)attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_config_destroy(own);
}

static void ask_model(session *s) {
    attn_model *of = model(s);
    int64_t index = number(s);
    int output = (int)small(s);
    attn_reader_options options;
    attn_model_metric_text metric;
    (void)attn_model_config(of);
    (void)attn_model_parameters(of);
    look(attn_model_metrics(of));
    (void)attn_model_metric_at(of, index, byte(s) % 8 ? &metric : NULL);
    (void)attn_model_metric(of, text(s));
    look(attn_model_vocabulary_unit(of, index));
    look(attn_model_task(of));
    look(attn_model_input(of));
    look(attn_model_network(of, output));
    look(attn_model_output_name(of, output));
    look(attn_model_output_kind(of, output));
    (void)attn_model_output_several(of, output);
    look(attn_model_label(of, output, index));
    look(attn_model_symbol(of, index));
    attn_model_reader_options(of, byte(s) % 8 ? &options : NULL);
    (void)attn_model_save(of, byte(s) & 1 ? "/nonexistent/m" : NULL);
}

static void load_model(session *s) {
    drop_predictors(s);
    attn_model_destroy(s->model);
    s->model = NULL;
    check_made(attn_model_load(context(s), byte(s) & 1 ? path : text(s), &s->model), s->model);
}

static void make_predictor(session *s) {
    int at = slot(s);
    drop_predictions(s);
    attn_predictor_destroy(s->predictor[at]);
    s->predictor[at] = NULL;
    attn_status status = attn_predictor_create(model(s), context(s), byte(s) % 8 ? &s->predictor[at] : NULL);
    if (status == ATTN_OK && attn_predictor_has(s->predictor[at], "tokens"))
        (void)attn_predictor_set(s->predictor[at], "tokens", "3");
    if (status == ATTN_OK && attn_predictor_has(s->predictor[at], "longest"))
        (void)attn_predictor_set(s->predictor[at], "longest", "3");
}

static void predict(session *s) {
    attn_predictor *by = predictor(s);
    attn_prediction *made = NULL;
    attn_search_options options;
    attn_status status;
    attn_search_options_init(&options);
    options.beam = small(s);
    options.n_best = small(s);
    options.longest = 3;
    options.alignment = byte(s) & 1;
    (void)attn_predictor_set(by, byte(s) & 1 ? "probs" : text(s), small_text(s));
    switch (byte(s) % 4) {
    case 0: status = attn_predictor_predict(by, dataset(s), byte(s) % 8 ? &made : NULL); break;
    case 1: status = attn_predictor_text(by, text(s), &made); break;
    case 2: status = attn_predictor_search(by, dataset(s), &options, &made); break;
    default: status = attn_predictor_finish(by, byte(s) % 4 ? &made : NULL); break;
    }
    if (status != ATTN_OK) REQUIRE(made == NULL);
    look(attn_predictor_error(by));
    put_prediction(s, made);
}

static void go_on(session *s) {
    attn_predictor *by = predictor(s);
    attn_sampling_options options;
    const char *said = NULL;
    const double *next = NULL;
    attn_sampling_options_init(&options);
    (void)attn_predictor_sampling(by, byte(s) % 8 ? &options : NULL);
    options.tokens = small(s);
    options.temperature = (double)small(s) / (double)small(s);
    options.top_k = number(s);
    switch (byte(s) % 4) {
    case 0:
        if (attn_predictor_continue(by, text(s), &options, &said) == ATTN_OK) look(said);
        break;
    case 1: (void)attn_predictor_push_text(by, text(s)); break;
    case 2: (void)attn_predictor_next(by, byte(s) % 8 ? &next : NULL); break;
    default: (void)attn_predictor_push(by, dataset(s)); break;
    }
}

static void write_answers(session *s) {
    attn_predictor *by = predictor(s);
    attn_write_options options;
    attn_vectors vectors = {.size = sizeof vectors};
    const char *written = NULL;
    size_t length = 0;
    attn_write_options_init(&options);
    options.json = byte(s) & 1;
    options.terminal = byte(s) & 1;
    if (attn_predictor_write(by, dataset(s), byte(s) % 4 ? &options : NULL, &written, &length) == ATTN_OK)
        REQUIRE(written || !length);
    (void)attn_predictor_embed(by, dataset(s), byte(s) & 1, byte(s) % 8 ? &vectors : NULL);
}

static void ask_prediction(session *s) {
    const attn_prediction *of = prediction(s);
    int64_t example = number(s), unit = number(s), label = number(s);
    int output = (int)small(s);
    look(attn_prediction_unit(of, example, unit));
    look(attn_prediction_label(of, output, example, unit));
    (void)attn_prediction_class(of, output, example, unit);
    (void)attn_prediction_number(of, output, example, unit);
    (void)attn_prediction_probability(of, output, example, unit, label);
    look(attn_prediction_word(of, example, unit));
    look(attn_prediction_text(of, example, unit));
    (void)attn_prediction_log_probability(of, example, unit);
    (void)attn_prediction_ended(of, example, unit);
    look(attn_prediction_symbol(of, example, unit, label));
    (void)attn_prediction_alignment(of, example, unit);
}

static void report(session *s) {
    int64_t class_number = number(s), answer = number(s);
    int output = (int)small(s);
    attn_report_destroy(s->report);
    s->report = NULL;
    check_made(attn_report_create(predictor(s), dataset(s), &s->report), s->report);
    look(attn_report_metric_name(s->report, output));
    (void)attn_report_metric(s->report, text(s));
    (void)attn_report_metric_rises(s->report, text(s));
    look(attn_report_class(s->report, output, class_number));
    (void)attn_report_class_metrics(s->report, output, class_number);
    (void)attn_report_confusion(s->report, output, class_number, answer);
    look(attn_report_json(s->report));
}

static void ask_context(session *s) {
    (void)attn_context_reserve(context(s), (size_t)number(s));
    look(attn_context_error(context(s)));
    look(attn_context_isa(context(s)));
    (void)attn_context_memory(context(s));
    s->fail_in = byte(s) % 4 ? 0 : 1 + byte(s);
}

/* ---- the whole ---- */

static attn_model *train_model(attn_context *with, const char *task, const char *examples) {
    attn_config *own = NULL;
    attn_dataset *data = NULL;
    attn_trainer *trainer = NULL;
    attn_model *made = NULL;
    attn_reader_options options;
    attn_trainer_options training;
    static const char settings[] = "{\"text\":{\"buckets\":3,\"min_count\":1},\"encoder\":{\"columns\":4,"
                                   "\"heads\":2,\"layers\":1,\"inner\":4},"
                                   "\"training\":{\"steps\":1}}";
    attn_trainer_options_init(&training);
    training.output = path;
    training.force = 1;
    REQUIRE(attn_config_create(with, &own) == ATTN_OK && attn_config_set(own, "task", task) == ATTN_OK);
    REQUIRE(attn_config_parse(own, "c", settings, sizeof settings - 1) == ATTN_OK);
    REQUIRE(attn_config_reader(own, &options) == ATTN_OK);
    REQUIRE(attn_dataset_parse(with, "d", 1, examples, strlen(examples), &options, &data) == ATTN_OK);
    REQUIRE(attn_trainer_create(own, data, data, &training, &trainer) == ATTN_OK);
    REQUIRE(attn_trainer_run(trainer) == ATTN_OK);
    REQUIRE(attn_model_load(with, path, &made) == ATTN_OK);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(own);
    return made;
}

static void clean(void) {
    char last[100];
    snprintf(last, sizeof last, "%s/m.last.safetensors", folder);
    unlink(path);
    unlink(last);
    rmdir(folder);
}

static void prepare(void) {
    if (models[0]) return;
    REQUIRE(mkdtemp(folder));
    atexit(clean);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    attn_context *with = fuzz_context();
    models[0] = train_model(with, "tag", "ab\tA\nx\tX\n\nx\tX\nc\tA\n");
    models[1] = train_model(with, "lm", "ab x\nx, ab\n");
    models[2] = train_model(with, "seq2seq", "ab\tB A\nx\tX\n");
    models[3] = train_model(with, "classify", "good\tfine film\nbad\tpoor film\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const calls[])(session *) = {
        read_dataset,   make_dataset,   set_targets, ask_dataset, configure,      train,
        ask_model,      load_model,     predict,     predict,     go_on,          write_answers,
        ask_prediction, make_predictor, report,      ask_context, drop_predictors};
    prepare();
    session s = {.next = data, .end = data + size};
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = (attn_allocator){allocate, release, &s};
    REQUIRE(attn_context_create(&options, &s.context) == ATTN_OK);
    for (int i = 0; i < 40 && s.next < s.end; i++) calls[byte(&s) % (int)(sizeof calls / sizeof *calls)](&s);
    drop_predictors(&s);
    attn_model_destroy(s.model);
    for (int i = 0; i < SLOTS; i++) {
        attn_dataset_destroy(s.dataset[i]);
        attn_config_destroy(s.config[i]);
    }
    attn_context_destroy(s.context);
    return 0;
}
