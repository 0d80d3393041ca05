/* info.c: the command `attn info`: describe a model file. */
#define _POSIX_C_SOURCE 200809L /* stat, isatty */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "text.h"

enum { LABELS_SHOWN = 40 };

/* A model, and what decides which lines tell about it. */
typedef struct described {
    const attn_model *model;
    const char *path;
    attn_config *config;
    bool writes;    /* symbols, instead of labels or numbers */
    bool sequences; /* with a decoder, one for each example; else what comes next */
} described;

static int64_t file_bytes(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 ? (int64_t)state.st_size : 0;
}

/* JSON that the library gives; on a terminal what it might obey is escaped. */
static void print_lines(const char *json) {
    if (json == NULL) json = "null"; /* no memory */
    if (!isatty(STDOUT_FILENO)) {
        fputs(json, stdout);
        return;
    }
    char line[1024];
    while (*json != '\0') {
        size_t length = strcspn(json, "\n"), part = length < sizeof line ? length : sizeof line - 1;
        memcpy(line, json, part);
        line[part] = '\0';
        text_print(stdout, line);
        json += part;
        if (part == length && *json == '\n') putchar(*json++);
    }
}

/* 1,234,567 */
static void print_count(int64_t count) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) putchar(',');
        putchar(digits[i]);
    }
}

static void print_bytes(int64_t bytes) {
    if (bytes < 1000000)
        printf("%.1f kB", (double)bytes / 1e3);
    else
        printf("%.1f MB", (double)bytes / 1e6);
}

/* ---- parameters, in groups ---- */

/* The length of the name of a parameter's group: its first part, of encoder and decoder also the block. */
static size_t group_length(const char *name) {
    size_t length = strcspn(name, ".");
    if (strncmp(name, "encoder.", 8) == 0 || strncmp(name, "decoder.", 8) == 0)
        length = 8 + strcspn(name + 8, ".");
    return length;
}

typedef void (*group_function)(const char *name, size_t length, int64_t tensors, int64_t numbers, bool first);

/* Calls `print` for every run of parameters of one group. */
static void for_groups(const attn_parameters *parameters, group_function print) {
    int64_t count = attn_parameters_count(parameters), next;
    for (int64_t i = 0; i < count; i = next) {
        const char *name = attn_parameter_name(attn_parameters_at(parameters, i));
        size_t length = group_length(name);
        int64_t numbers = 0;
        for (next = i; next < count; next++) {
            const attn_parameter *one = attn_parameters_at(parameters, next);
            const char *other = attn_parameter_name(one);
            if (group_length(other) != length || strncmp(other, name, length) != 0) break;
            attn_tensor value = attn_parameter_value(one);
            int64_t product = 1;
            for (int d = 0; d < value.rank; d++) product *= value.shape[d];
            numbers += product;
        }
        print(name, length, next - i, numbers, i == 0);
    }
}

static void print_group(const char *name, size_t length, int64_t tensors, int64_t numbers, bool first) {
    (void)first;
    printf("  %-24.*s %4" PRId64 " tensor%s ", (int)length, name, tensors, tensors == 1 ? " " : "s");
    printf("%12" PRId64 "\n", numbers);
}

static void print_group_json(const char *name, size_t length, int64_t tensors, int64_t numbers, bool first) {
    printf("%s{\"group\":\"%.*s\",\"tensors\":%" PRId64 ",\"numbers\":%" PRId64 "}", first ? "" : ",",
           (int)length, name, tensors, numbers);
}

/* ---- for people ---- */

static void print_outputs(const described *of) {
    const attn_model *model = of->model;
    for (int o = 0; o < attn_model_outputs(model) && !of->writes; o++) {
        int64_t labels = attn_model_labels(model, o);
        printf("%-12s", o == 0 ? "outputs" : "");
        text_print(stdout, attn_model_output_name(model, o));
        if (labels == 0) {
            printf(": a %s\n", attn_model_output_kind(model, o));
            continue;
        }
        printf(": %s %" PRId64 " labels:", attn_model_output_several(model, o) ? "any of" : "one of", labels);
        for (int64_t l = 0; l < labels && l < LABELS_SHOWN; l++) {
            putchar(' ');
            text_print(stdout, attn_model_label(model, o, l));
        }
        fputs(labels > LABELS_SHOWN ? " ..." : "", stdout);
        double temperature = attn_model_temperature(model, o);
        if (temperature != 1) printf("; temperature %.4g", temperature);
        putchar('\n');
    }
}

static void print_encoder(attn_config *config) {
    /* What attn_config_get gives is good until the next call. */
    printf("%-12s%s", "encoder", attn_config_get(config, "encoder.kind"));
    if (strcmp(attn_config_get(config, "encoder.kind"), "none") == 0) {
        puts(": only n-grams of the whole text");
        return;
    }
    const char *layers = attn_config_get(config, "encoder.layers");
    printf(", %s layer%s", layers, strcmp(layers, "1") == 0 ? "" : "s");
    printf(" of %s columns", attn_config_get(config, "encoder.columns"));
    bool attention = strcmp(attn_config_get(config, "encoder.kind"), "attention") == 0;
    if (attention) printf(", %s heads", attn_config_get(config, "encoder.heads"));
    if (attention) printf(", position %s", attn_config_get(config, "encoder.position"));
    if (strcmp(attn_config_get(config, "output.crf"), "true") == 0) fputs(", CRF", stdout);
    putchar('\n');
}

/* The value that the model's kind of input has under this name, "" if it has none; good until the next call.
 */
static const char *input_value(const described *of, const char *name) {
    char full[128];
    snprintf(full, sizeof full, "%s.%s", attn_model_input(of->model), name);
    return attn_config_get(of->config, full);
}

/* "chars, 31 in the vocabulary" */
static void print_unit(const described *of, const char *unit, int64_t vocabulary) {
    fputs(unit, stdout);
    const char *scheme = input_value(of, "scheme");
    if (*scheme != '\0' && strcmp(scheme, "none") != 0) printf(", scheme %s", scheme);
    fputs(", ", stdout);
    print_count(vocabulary);
    fputs(" in the vocabulary\n", stdout);
}

static void print_units(const described *of) {
    char unit[64], target[64]; /* what attn_config_get gives is good until the next call */
    snprintf(unit, sizeof unit, "%s", input_value(of, "unit"));
    if (*unit != '\0') {
        printf("%-12s", of->sequences ? "sources" : "unit");
        print_unit(of, unit, attn_model_vocabulary(of->model));
    }
    if (!of->sequences) return;
    snprintf(target, sizeof target, "%s", attn_config_get(of->config, "target.unit"));
    bool shared =
        strcmp(target, unit) == 0 && strcmp(attn_config_get(of->config, "target.shared"), "true") == 0;
    printf("%-12s%s, ", "predictions", target);
    print_count(attn_model_symbols(of->model));
    printf(" in the vocabulary%s\n", shared ? " (one for both)" : "");
}

static void print_task(const described *of) {
    const char *input = attn_model_input(of->model), *example = attn_input_example(input);
    printf("%-12s%s, ", "task", attn_model_task(of->model));
    if (of->sequences)
        printf("a sequence per %s\n", example);
    else if (of->writes)
        printf("the next unit of running %s\n", example);
    else
        printf("a prediction per %s\n", attn_model_per_token(of->model) ? attn_input_row(input) : example);
    printf("%-12s%s\n", "input", input);
}

/* Or what predicts without one. */
static void print_decoder(attn_config *config) {
    const char *kind = attn_config_get(config, "output.kind");
    if (strcmp(kind, "auto") != 0) {
        printf("%-12s%s, no decoder\n", "output", kind);
        return;
    }
    const char *layers = attn_config_get(config, "decoder.layers");
    printf("%-12s%s layer%s", "decoder", layers, strcmp(layers, "1") == 0 ? "" : "s");
    if (strcmp(attn_config_get(config, "decoder.monotone"), "true") == 0) printf(", monotone");
    printf(", predictions of at most %s symbols\n", attn_config_get(config, "target.longest"));
}

static void print_metrics(const attn_model *model) {
    attn_model_metric_text metric;
    for (int64_t i = 0; attn_model_metric_at(model, i, &metric); i++) {
        printf("%-12s", i == 0 ? "metrics" : "");
        text_print_left(stdout, metric.name, 24);
        putchar(' ');
        if (isnan(metric.number))
            text_print_right(stdout, metric.value, 10);
        else
            printf(metric.whole ? "%10.0f" : "%10.4f", metric.number);
        putchar('\n');
    }
    if (!attn_model_metric_at(model, 0, &metric)) printf("%-12snone\n", "metrics");
}

static void print_info(const described *of) {
    const attn_parameters *parameters = attn_model_parameters(of->model);
    int networks = attn_model_networks(of->model);
    text_print(stdout, of->path);
    fputs(": ", stdout);
    print_bytes(file_bytes(of->path));
    fputs("\n\n", stdout);
    print_task(of);
    print_units(of);
    print_encoder(of->config);
    if (of->sequences) print_decoder(of->config);
    if (networks > 1) printf("%-12s%d, an ensemble\n", "networks", networks);
    print_outputs(of);
    printf("%-12s%s\n", "stored", attn_model_storage(of->model));
    printf("%-12s", "parameters");
    print_count(attn_parameters_size(parameters));
    putchar('\n');
    for_groups(parameters, print_group);
    if (attn_model_splitter(of->model) != NULL) {
        printf("%-12s", "splitter");
        print_count(attn_parameters_size(attn_model_splitter(of->model)));
        puts(" parameters, splits raw text into sentences and words");
    }
    print_metrics(of->model);
}

/* ---- JSON ---- */

static void print_outputs_json(const attn_model *model) {
    fputs(",\"outputs\":[", stdout);
    for (int o = 0; o < attn_model_outputs(model); o++) {
        fputs(o > 0 ? ",{\"name\":" : "{\"name\":", stdout);
        text_print_json(stdout, attn_model_output_name(model, o));
        printf(",\"kind\":\"%s\",\"labels\":[", attn_model_output_kind(model, o));
        for (int64_t l = 0; l < attn_model_labels(model, o); l++) {
            if (l > 0) putchar(',');
            text_print_json(stdout, attn_model_label(model, o, l));
        }
        putchar(']');
        if (attn_model_labels(model, o) > 0)
            printf(",\"temperature\":%.17g", attn_model_temperature(model, o));
        putchar('}');
    }
    putchar(']');
}

static void print_info_json(const described *of) {
    const attn_model *model = of->model;
    const attn_parameters *parameters = attn_model_parameters(model);
    fputs("{\"file\":", stdout);
    text_print_json(stdout, of->path);
    printf(",\"bytes\":%" PRId64 ",\"task\":\"%s\",\"input\":\"%s\",\"networks\":%d", file_bytes(of->path),
           attn_model_task(model), attn_model_input(model), attn_model_networks(model));
    printf(",\"per_token\":%s,\"vocabulary\":%" PRId64,
           !of->writes && attn_model_per_token(model) ? "true" : "false", attn_model_vocabulary(model));
    if (of->writes) printf(",\"symbols\":%" PRId64, attn_model_symbols(model));
    print_outputs_json(model);
    printf(",\"stored\":\"%s\"", attn_model_storage(model));
    printf(",\"parameters\":%" PRId64 ",\"groups\":[", attn_parameters_size(parameters));
    for_groups(parameters, print_group_json);
    printf("],\"splitter_parameters\":%" PRId64 ",\"metrics\":",
           attn_model_splitter(model) != NULL ? attn_parameters_size(attn_model_splitter(model)) : 0);
    print_lines(attn_model_metrics(model));
    fputs(",\"config\":", stdout);
    print_lines(attn_config_print(of->config));
    fputs("}\n", stdout);
}

/* ---- the command ---- */

static int print_config(attn_context *context, const attn_model *model) {
    const char *text = attn_config_print(attn_model_config(model));
    if (text == NULL) return opening_fail("info", context);
    fputs(text, stdout);
    return EXIT_DONE;
}

static int describe(attn_context *context, const attn_model *model, const char *path, bool json) {
    attn_predictor *predictor = NULL;
    if (attn_predictor_create(model, context, &predictor) != ATTN_OK) return opening_fail("info", context);
    described of = {.model = model,
                    .path = path,
                    .config = attn_model_config(model),
                    .writes = attn_model_symbols(model) > 0,
                    .sequences = attn_predictor_has(predictor, "beam")};
    attn_predictor_destroy(predictor);
    if (json)
        print_info_json(&of);
    else
        print_info(&of);
    return EXIT_DONE;
}

int command_info(int count, char **arguments) {
    const char *path[1] = {NULL};
    bool json = false, config = false;
    const argument_flag flags[] = {
        argument_switch("json", &json, "print one JSON object"),
        argument_switch("config", &config, "the configuration as JSON, for attn train --config"),
    };
    argument_list list = {
        .command = "info",
        .usage = "MODEL [flags]",
        .about = "Describes a model file: task, kind of input, units and vocabularies, encoder,\n"
                 "decoder, outputs with their labels, parameters, metrics on the development data.\n",
        .examples = "  attn info pos.safetensors\n"
                    "  attn info pos.safetensors --config > pos.json\n",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = path,
        .positional_limit = 1,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (list.positional_count < 1) {
        fputs("attn info: no model given: attn info MODEL\n", stderr);
        return EXIT_MISUSED;
    }
    attn_context *context;
    attn_model *model;
    if (!opening_model("info", path[0], 1, &context, &model)) return EXIT_FAILED;
    int code = config ? print_config(context, model) : describe(context, model, path[0], json);
    opening_close(context, model);
    return code;
}
