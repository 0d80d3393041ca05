/* info.c: the command `attn info`: what a model file holds. */
#define _POSIX_C_SOURCE 200809L /* stat, isatty */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "text.h"

enum { LABELS_SHOWN = 40 };

static const char *const kind_names[] = {"class", "labels", "number"}; /* as attn_output_kind */

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

static void print_outputs(const attn_model *model) {
    for (int o = 0; o < attn_model_outputs(model); o++) {
        int64_t labels = attn_model_labels(model, o);
        printf("%-12s", o == 0 ? "outputs" : "");
        text_print(stdout, attn_model_output_name(model, o));
        if (attn_model_output_kind(model, o) == ATTN_OUTPUT_NUMBER) {
            puts(": a number");
            continue;
        }
        bool several = attn_model_output_kind(model, o) == ATTN_OUTPUT_LABELS;
        printf(": %s %" PRId64 " labels:", several ? "any of" : "one of", labels);
        for (int64_t l = 0; l < labels && l < LABELS_SHOWN; l++) {
            putchar(' ');
            text_print(stdout, attn_model_label(model, o, l));
        }
        puts(labels > LABELS_SHOWN ? " ..." : "");
    }
}

static void print_encoder(attn_config *config) {
    /* What attn_config_get gives is good until the next call. */
    printf("%-12s%s", "encoder", attn_config_get(config, "encoder.kind"));
    const char *layers = attn_config_get(config, "encoder.layers");
    printf(", %s layer%s", layers, strcmp(layers, "1") == 0 ? "" : "s");
    printf(" of %s columns", attn_config_get(config, "encoder.columns"));
    bool attention = strcmp(attn_config_get(config, "encoder.kind"), "attention") == 0;
    if (attention) printf(", %s heads", attn_config_get(config, "encoder.heads"));
    if (attention) printf(", position %s", attn_config_get(config, "encoder.position"));
    if (strcmp(attn_config_get(config, "output.crf"), "true") == 0) fputs(", CRF", stdout);
    putchar('\n');
}

/* "chars, 31 in the vocabulary" */
static void print_unit(attn_config *config, const char *unit, int64_t vocabulary) {
    fputs(attn_config_get(config, unit), stdout);
    if (strcmp(attn_config_get(config, "text.scheme"), "none") != 0)
        printf(", scheme %s", attn_config_get(config, "text.scheme"));
    fputs(", ", stdout);
    print_count(vocabulary);
    fputs(" in the vocabulary", stdout);
}

static void print_units(attn_model *model, attn_config *config) {
    printf("%-12s", attn_model_generates(model) ? "sources" : "unit");
    print_unit(config, "text.unit", attn_model_vocabulary(model));
    if (attn_model_generates(model)) {
        char unit[32]; /* what attn_config_get gives is good until the next call */
        printf("\n%-12s", "answers");
        print_unit(config, "target.unit", attn_model_symbols(model));
        snprintf(unit, sizeof unit, "%s", attn_config_get(config, "text.unit"));
        if (strcmp(attn_config_get(config, "target.unit"), unit) == 0 &&
            strcmp(attn_config_get(config, "target.shared"), "true") == 0)
            fputs(" (one for both)", stdout);
    }
    putchar('\n');
}

static const char *what_it_says(const attn_model *model) {
    if (attn_model_generates(model)) return "a sequence for each text";
    if (attn_model_continues(model)) return "what comes next in running text";
    return attn_model_per_token(model) ? "an answer for each unit" : "an answer for each text";
}

static void print_decoder(attn_config *config) {
    const char *layers = attn_config_get(config, "decoder.layers");
    printf("%-12s%s layer%s", "decoder", layers, strcmp(layers, "1") == 0 ? "" : "s");
    printf(", answers of at most %s symbols\n", attn_config_get(config, "target.longest"));
}

/* A part of JSON: a number with four digits after its point, all else as it stands there. */
static void print_value(const char *value, size_t length) {
    char copy[64], *end;
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), value);
    double number = strtod(copy, &end);
    if (end != copy && *end == '\0' && strpbrk(copy, ".eE") != NULL)
        printf("%10.4f", number);
    else if (end != copy && *end == '\0')
        printf("%10.0f", number);
    else
        text_print_right(stdout, copy, 10);
    putchar('\n');
}

/* The scores, which are an object of JSON, those of objects in it among them: one a line. */
static void print_scores(const char *json) {
    const char *title = "scores", *name = "", *at = json, *end;
    size_t name_length = 0;
    while (*at != '\0') {
        if (*at == '"') {
            for (end = ++at; *end != '\0' && *end != '"'; end++)
                if (*end == '\\' && end[1] != '\0') end++;
            size_t length = (size_t)(end - at), space = *end != '\0' ? strspn(end + 1, " \t\r\n") : 0;
            if (*end != '\0' && end[1 + space] == ':') {
                name = at;
                name_length = length;
                at = end + 1;
                continue;
            }
        } else if (strchr("{}[]:, \t\r\n", *at) != NULL) {
            at++;
            continue;
        } else {
            end = at + strcspn(at, ",]} \t\r\n");
        }
        char label[64];
        snprintf(label, sizeof label, "%.*s",
                 (int)(name_length < sizeof label ? name_length : sizeof label - 1), name);
        printf("%-12s", title);
        text_print_left(stdout, label, 24);
        putchar(' ');
        print_value(at, (size_t)(end - at));
        title = "";
        at = end + (*end == '"');
    }
    if (*title != '\0') printf("%-12snone\n", title);
}

static void print_info(attn_model *model, const char *path) {
    attn_config *config = attn_model_config(model);
    const attn_parameters *parameters = attn_model_parameters(model);
    text_print(stdout, path);
    fputs(": ", stdout);
    print_bytes(file_bytes(path));
    printf("\n\n%-12s%s, %s\n", "task", attn_config_get(config, "task"), what_it_says(model));
    print_units(model, config);
    print_encoder(config);
    if (attn_model_generates(model)) print_decoder(config);
    print_outputs(model);
    printf("%-12s", "parameters");
    print_count(attn_parameters_size(parameters));
    putchar('\n');
    for_groups(parameters, print_group);
    print_scores(attn_model_scores(model));
}

/* ---- JSON ---- */

static void print_info_json(attn_model *model, const char *path) {
    attn_config *config = attn_model_config(model);
    const attn_parameters *parameters = attn_model_parameters(model);
    fputs("{\"file\":", stdout);
    text_print_json(stdout, path);
    printf(",\"bytes\":%" PRId64 ",\"per_token\":%s,\"vocabulary\":%" PRId64, file_bytes(path),
           attn_model_outputs(model) > 0 && attn_model_per_token(model) ? "true" : "false",
           attn_model_vocabulary(model));
    if (attn_model_symbols(model) > 0) printf(",\"symbols\":%" PRId64, attn_model_symbols(model));
    fputs(",\"outputs\":[", stdout);
    for (int o = 0; o < attn_model_outputs(model); o++) {
        fputs(o > 0 ? ",{\"name\":" : "{\"name\":", stdout);
        text_print_json(stdout, attn_model_output_name(model, o));
        printf(",\"kind\":\"%s\",\"labels\":[", kind_names[attn_model_output_kind(model, o)]);
        for (int64_t l = 0; l < attn_model_labels(model, o); l++) {
            if (l > 0) putchar(',');
            text_print_json(stdout, attn_model_label(model, o, l));
        }
        fputs("]}", stdout);
    }
    printf("],\"parameters\":%" PRId64 ",\"groups\":[", attn_parameters_size(parameters));
    for_groups(parameters, print_group_json);
    fputs("],\"scores\":", stdout);
    print_lines(attn_model_scores(model));
    fputs(",\"config\":", stdout);
    print_lines(attn_config_print(config));
    fputs("}\n", stdout);
}

int command_info(int count, char **arguments) {
    const char *path[1] = {NULL};
    bool json = false, config = false;
    const argument_flag flags[] = {
        argument_switch("json", &json, "everything as one JSON object"),
        argument_switch("config", &config, "the configuration as JSON, as attn train --config takes it"),
    };
    argument_list list = {
        .command = "info",
        .usage = "MODEL [flags]",
        .about = "Says what a model file holds: task, units and vocabularies, encoder, decoder,\n"
                 "outputs with their labels, parameters, scores on the development data.\n",
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
        fputs("attn info: which model? attn info MODEL\n", stderr);
        return EXIT_MISUSED;
    }
    attn_context *context;
    attn_model *model;
    if (!opening_model("info", path[0], 1, &context, &model)) return EXIT_FAILED;
    if (config)
        fputs(attn_config_print(attn_model_config(model)), stdout);
    else if (json)
        print_info_json(model, path[0]);
    else
        print_info(model, path[0]);
    opening_close(context, model);
    return EXIT_DONE;
}
