/* predict.c: the command `attn predict`: examples in, answers out, as they come. */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "live.h"
#include "opening.h"
#include "predict.h"
#include "ranks.h"

typedef struct predict_arguments {
    const char *positional[2];
    bool json, plain, live, scatter;
    const char *format, *text_column, *prompt, *shard, *output;
    int64_t threads, limit, memory, rate, chunk;
    opening_settings settings;
} predict_arguments;

/* ---- examples ---- */

/* lines: the dataset's own bytes, NULL if they are not at hand. */
static attn_status answer(prediction *with, const attn_dataset *dataset, const char *lines, size_t length) {
    const char *text;
    size_t written;
    const char *rule = with->told ? NULL : attn_predictor_rule(with->predictor, dataset);
    if (rule != NULL) {
        fprintf(stderr, "attn predict: note: %s\n", rule);
        with->told = true;
    }
    with->write.lines = lines;
    with->write.length = length;
    attn_status status = attn_predictor_write(with->predictor, dataset, &with->write, &text, &written);
    if (status == ATTN_OK) fwrite(text, 1, written, with->to);
    return status;
}

/* The first row of a table, for the pieces after the one that it is in. */
static bool keep_head(prediction *with, const attn_dataset *dataset, const char *bytes) {
    size_t length = attn_dataset_head(dataset);
    if (length == 0 || with->head != NULL) return true;
    with->head = malloc(length);
    if (with->head == NULL) {
        fputs("attn predict: out of memory\n", stderr);
        return false;
    }
    memcpy(with->head, bytes, length);
    with->options.head = with->head;
    with->options.head_length = length;
    return true;
}

/* The part of a dataset that is requested. */
static attn_status answer_part(prediction *with, const attn_dataset *dataset) {
    int64_t whole = attn_dataset_examples(dataset), first = ranks_part_begin(whole, with->part, with->parts);
    int64_t count = ranks_part_begin(whole, with->part + 1, with->parts) - first;
    if (count == 0) return ATTN_OK;
    int64_t *numbers = malloc((size_t)count * sizeof *numbers);
    attn_dataset *selected = NULL;
    for (int64_t i = 0; numbers != NULL && i < count; i++) numbers[i] = first + i;
    attn_status status =
        numbers != NULL ? attn_dataset_select(dataset, numbers, count, &selected) : ATTN_OUT_OF_MEMORY;
    with->write.first = first;
    with->write.whole = whole;
    if (status == ATTN_OK) status = answer(with, selected, NULL, 0);
    attn_dataset_destroy(selected);
    free(numbers);
    return status;
}

bool predict_dataset(prediction *with, attn_status status, attn_dataset *dataset, const char *bytes,
                     size_t length) {
    bool stopped = attn_dataset_stopped(dataset) != ATTN_OK;
    if (stopped) length = attn_dataset_consumed(dataset);
    if (status == ATTN_OK && with->parts > 1 && !with->options.piece)
        status = answer_part(with, dataset);
    else if (status == ATTN_OK)
        status = answer(with, dataset, bytes, length);
    if (status != ATTN_OK || stopped) fflush(with->to);
    if (status != ATTN_OK)
        opening_fail("predict", with->context);
    else if (stopped)
        arguments_complain("predict", "", attn_dataset_problem(dataset, 0), "", NULL);
    attn_dataset_destroy(dataset);
    return status == ATTN_OK && !stopped;
}

bool predict_piece(prediction *with, const char *bytes, size_t length, int64_t line) {
    attn_dataset *dataset = NULL;
    attn_status status =
        attn_dataset_parse(with->context, with->name, line, bytes, length, &with->options, &dataset);
    bool kept = status != ATTN_OK || keep_head(with, dataset, bytes);
    return predict_dataset(with, status, dataset, bytes, length) && kept;
}

/* ---- streams ---- */

int predict_fail_input(const prediction *with, const input *from) {
    char reason[160];
    fflush(with->to);
    snprintf(reason, sizeof reason, ": %s", strerror(from->error));
    arguments_complain("predict", "cannot read ", with->name, reason, NULL);
    return EXIT_FAILED;
}

/* The format, and where its examples end, from the first line that is neither blank nor a comment, and no
 * more: of what is typed no more may be there. */
int predict_find_examples(prediction *with, input *from) {
    size_t length = input_peek(from);
    const char *bytes = length > 0 ? from->bytes + from->begin : "";
    if (with->options.format == ATTN_FORMAT_AUTO)
        with->options.format = attn_dataset_detect(with->name, bytes, length, &with->options);
    int pieces = attn_reader_pieces(&with->options);
    with->options.piece = pieces >= 0;
    input_set_examples(from, pieces == 1, attn_reader_quotes(with->name, bytes, length, &with->options));
    return pieces;
}

bool predict_find_head(prediction *with, input *from) {
    attn_dataset *dataset = NULL;
    size_t length = input_first(from, input_peek(from));
    if (length == 0 || !with->options.piece) return true;
    attn_status status =
        attn_dataset_parse(with->context, with->name, 1, from->bytes, length, &with->options, &dataset);
    bool kept = status == ATTN_OK && keep_head(with, dataset, from->bytes);
    if (status != ATTN_OK) opening_fail("predict", with->context);
    attn_dataset_destroy(dataset);
    return kept;
}

void predict_forget_head(prediction *with) {
    free(with->head);
    with->head = NULL;
    with->options.head = NULL;
}

/* --shard: the part of the input that is requested, alone. */
static bool take_part(prediction *with, input *from) {
    if (with->parts == 1 || !with->options.piece) return true;
    if (with->part > 0 && !predict_find_head(with, from)) return false;
    input_take_part(from, with->part, with->parts);
    if (from->place + (int64_t)from->begin < (int64_t)with->options.head_length)
        predict_forget_head(with); /* it comes with this part, or with one after it */
    return true;
}

static int predict_stream(prediction *with, input *from) {
    const char *bytes;
    size_t length;
    int64_t line;
    int pieces = predict_find_examples(with, from);
    if (!take_part(with, from)) return EXIT_FAILED;
    while (input_next(from, pieces < 0, &bytes, &length, &line)) {
        bool good = predict_piece(with, bytes, length, line);
        if (from->live && fflush(stdout) != 0) return EXIT_FAILED; /* main says why */
        if (!good || ferror(stdout)) return EXIT_FAILED;
    }
    return from->error == 0 ? EXIT_DONE : predict_fail_input(with, from);
}

/* What is compressed is expanded as a whole before it is read: a gzip file is whole only with its end. */
static bool expand(prediction *with, input *from) {
    char *text = NULL;
    size_t length;
    if (!input_read_all(from)) return true;
    if (attn_gzip_expand(with->context, with->name, from->bytes, from->end, &with->options, &text, &length) !=
        ATTN_OK) {
        opening_fail("predict", with->context);
        return false;
    }
    input_replace(from, text, length);
    attn_text_release(with->context, text);
    return true;
}

/* What cannot be read piece by piece, by name: a folder, say. */
static int predict_whole(prediction *with, const char *path) {
    attn_dataset *dataset = NULL;
    with->name = path;
    attn_status status = attn_dataset_read(with->context, path, &with->options, &dataset);
    return predict_dataset(with, status, dataset, NULL, 0) ? EXIT_DONE : EXIT_FAILED;
}

int predict_open(prediction *with, const char *path, input *from) {
    with->name = path != NULL ? path : "standard input";
    input_open(from, path);
    from->limit = with->options.expanded_limit;
    if (from->error == 0 && input_begins_with(from, "\x1f\x8b") && !expand(with, from)) return EXIT_FAILED;
    return from->error == 0 ? EXIT_DONE : predict_fail_input(with, from);
}

static int predict_input(prediction *with, const char *path) {
    input from;
    if (path != NULL && strcmp(path, "-") == 0) path = NULL;
    if (ranks_count() > 1) return predict_by_ranks(with, path);
    if (path != NULL && attn_reader_pieces(&with->options) < 0) return predict_whole(with, path);
    int code = predict_open(with, path, &from);
    if (code == EXIT_DONE) code = predict_stream(with, &from);
    input_close(&from);
    return code;
}

/* ---- a prompt ---- */

/* What is on its way to standard output. */
typedef struct writing {
    bool terminal;
    const char *prompt; /* until it is printed, then NULL */
    char last;          /* the last byte that was printed */
} writing;

static void put(writing *into, const char *text) {
    while (*text != '\0') {
        char shown[ATTN_GLYPH_BYTES];
        into->last = *text;
        if (*text == '\n' || !into->terminal) {
            fputc(*text++, stdout);
        } else {
            attn_text_glyph(&text, shown);
            fputs(shown, stdout);
        }
    }
}

/* The prompt comes first, once it is known that there is something to follow it. */
static void put_prompt(writing *into) {
    if (into->prompt != NULL) put(into, into->prompt);
    into->prompt = NULL;
}

static int watch(void *user, const char *piece) {
    put_prompt(user);
    put(user, piece);
    return fflush(stdout) != 0; /* main says why */
}

static void put_json(const char *name, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    printf("\"%s\":\"", name);
    while (*text != '\0') {
        attn_text_json_glyph(&text, shown);
        fputs(shown, stdout);
    }
    fputc('"', stdout);
}

static int predict_prompt(prediction *with, const predict_arguments *given) {
    writing into = {.terminal = with->write.terminal != 0, .prompt = given->prompt};
    const char *text;
    if (given->json) {
        if (attn_predictor_continue(with->predictor, given->prompt, NULL, &text) != ATTN_OK)
            return opening_fail("predict", with->context);
        fputc('{', stdout);
        put_json("prompt", given->prompt);
        fputc(',', stdout);
        put_json("text", text);
        fputs("}\n", stdout);
        return EXIT_DONE;
    }
    attn_sampling_options options;
    attn_status status = attn_predictor_sampling(with->predictor, &options);
    options.watch = watch;
    options.user = &into;
    if (status == ATTN_OK) status = attn_predictor_continue(with->predictor, given->prompt, &options, &text);
    if (status != ATTN_OK) {
        fflush(stdout);
        return opening_fail("predict", with->context);
    }
    put_prompt(&into);
    if (into.last != '\n') fputc('\n', stdout);
    return EXIT_DONE;
}

/* ---- recordings as they come ---- */

static live_options live_of(const predict_arguments *given) {
    return (live_options){.path = given->positional[1],
                          .rate = given->rate,
                          .chunk = given->chunk,
                          .json = given->json,
                          .terminal = isatty(STDOUT_FILENO) != 0};
}

/* Whether the input is a recording that is answered as it is read; rank 0 knows. */
static bool is_recording(const prediction *with, const predict_arguments *given) {
    const char *path = given->positional[1];
    bool file = path != NULL && !given->json && !given->plain && given->format == NULL;
    int32_t recording = file && ranks_rank() == 0 && attn_stream_takes(with->predictor, path);
    return ranks_broadcast(&recording, sizeof recording) == EXIT_DONE && recording;
}

/* What is one example is answered by one: rank 0, or the last part, as if there were others before it. */
static int predict_one(prediction *with, const predict_arguments *given) {
    live_options options = live_of(given);
    if (ranks_rank() > 0 || with->part + 1 < with->parts) return EXIT_DONE;
    if (given->prompt != NULL) return predict_prompt(with, given);
    return given->live ? live_pipe(with->context, with->predictor, &options)
                       : live_file(with->context, with->predictor, &options);
}

/* ---- the whole ---- */

/* What flags exclude each other; NULL: nothing is wrong. */
static const char *find_problem(const predict_arguments *given) {
    if (given->json && given->plain) return "--json or --plain, not both";
    if (given->live && (given->plain || given->prompt != NULL))
        return "--live cannot be used with --plain or --prompt";
    if (!given->live && (given->rate > 0 || given->chunk > 0)) return "--rate and --chunk need --live";
    if (given->prompt != NULL && given->positional[1] != NULL)
        return "--prompt or a file of prompts, not both";
    if (given->shard != NULL && (given->live || given->prompt != NULL))
        return "--shard selects a part of a file: not with --live or --prompt";
    if (given->shard != NULL && attn_exchange_launched() > 1)
        return "the ranks of a launcher share the file already: leave out --shard";
    return NULL;
}

/* A predictor with all that was requested. EXIT_DONE, or it has said why not. */
static int prepare(prediction *with, const predict_arguments *given) {
    attn_sampling_options options;
    if (attn_predictor_create(with->model, with->context, &with->predictor) != ATTN_OK)
        return opening_fail("predict", with->context);
    int code = opening_set("predict", &given->settings, with->predictor, with->model);
    if (code != EXIT_DONE) return code;
    if (given->prompt != NULL && attn_predictor_sampling(with->predictor, &options) != ATTN_OK)
        return opening_refuse("predict", "--prompt", "models that continue text", with->model);
    attn_model_reader_options(with->model, &with->options);
    if (given->format != NULL) {
        int format = opening_format("predict", with->options.input, given->format);
        if (format < 0) return EXIT_MISUSED;
        with->options.format = (attn_format)format;
    }
    if (given->text_column != NULL) with->options.text_column = given->text_column;
    with->options.labelled = 0;
    opening_limit(given->limit, &with->options);
    with->options.stop_at_bad = 1;
    attn_write_options_init(&with->write);
    with->write.json = given->json;
    with->write.plain = given->plain;
    /* Open MPI gives its processes a terminal, whatever their output goes to. */
    with->write.terminal = given->output == NULL && isatty(STDOUT_FILENO) != 0 && ranks_count() == 1;
    return EXIT_DONE;
}

/* -o: what would go to standard output goes to the file. EXIT_DONE, or it has said why not. */
static int open_output(const predict_arguments *given) {
    struct stat output, source;
    char reason[160];
    if (given->output == NULL || ranks_rank() > 0) return EXIT_DONE;
    for (int i = 0; stat(given->output, &output) == 0 && i < 2; i++) {
        const char *read = given->positional[i];
        if (read == NULL || stat(read, &source) != 0) continue;
        if (source.st_dev != output.st_dev || source.st_ino != output.st_ino) continue;
        arguments_complain("predict", "", given->output, " is an input file: the output would overwrite it",
                           NULL);
        return EXIT_FAILED;
    }
    if (freopen(given->output, "wb", stdout) != NULL) return EXIT_DONE;
    snprintf(reason, sizeof reason, ": %s", strerror(errno));
    arguments_complain("predict", "cannot write ", given->output, reason, NULL);
    return EXIT_FAILED;
}

static int predict(prediction *with, const predict_arguments *given) {
    int code = ranks_settle(prepare(with, given), RANKS_REMEDY);
    if (code == EXIT_DONE) code = ranks_settle(open_output(given), NULL);
    if (code != EXIT_DONE) return code;
    if (given->prompt != NULL || given->live || is_recording(with, given))
        return ranks_settle(predict_one(with, given), NULL);
    code = predict_input(with, given->positional[1]);
    if (code == EXIT_DONE) { /* all ranks add up theirs */
        const opening_lengths lengths = {ranks_sum(attn_predictor_answered(with->predictor)),
                                         ranks_sum(attn_predictor_in_pieces(with->predictor)),
                                         ranks_sum(attn_predictor_cut(with->predictor))};
        if (ranks_rank() == 0) opening_tell_longer("predict", with->model, &lengths);
    }
    return code;
}

static const char about[] =
    "Reads examples from FILE or standard input (texts: one per line) and prints what\n"
    "the model predicts.\n\n"
    "  tags      a line of word TAB tag for each word, a blank line after each\n"
    "            sentence; --probs adds the tag's probability. Raw text is first\n"
    "            split into sentences and words as in the training data; --conllu\n"
    "            writes them as CoNLL-U\n"
    "  words     (scheme bmes) separated by spaces, one line per text; --probs: as\n"
    "            tags, character by character\n"
    "  class     the label; --probs: all of them as label=0.93, likeliest first\n"
    "  labels    those with a probability of at least 0.5; --probs as above\n"
    "  number    the number\n"
    "  sequence  the best hypothesis, one line per text; --n-best N: up to N lines of\n"
    "            rank TAB log-probability TAB hypothesis, best first; --alignment\n"
    "            adds a column like 0-0 1-1 3-2: symbol 2 of the hypothesis attends\n"
    "            most to unit 3 of the source, both counted from 0\n"
    "  next      the --prompt and its continuation, while it is generated. Without\n"
    "            --prompt every line is a prompt, and a line is printed for it, with\n"
    "            line ends as \\n\n\n"
    "A model with several outputs prints one column for each. CoNLL-U input is\n"
    "printed as CoNLL-U with the predicted columns (--probs: Prob=0.93 in MISC); CSV,\n"
    "TSV and token TAB tag get columns predicted_NAME (--probs: probability_NAME),\n"
    "JSON Lines such fields, and nothing else is changed. --plain prints only the\n"
    "predictions. Labels and targets in the input are ignored. Typed or piped input\n"
    "is processed as it arrives, with the same result as for a file: its format\n"
    "follows from the first line and the model, or is given by --format.\n\n"
    "--live reads the samples of a recording from a pipe (a WAV file, or 16-bit\n"
    "samples of one channel) and prints predictions as soon as they are final. The\n"
    "model must label frames and have a bounded reach (--window in training).\n";

static const char examples[] =
    "  attn predict pos.safetensors < sentences.txt\n"
    "  attn predict pos.safetensors test.conllu > tagged.conllu\n"
    "  attn predict senti.safetensors reviews.csv > answered.csv\n"
    "  echo \"A fine film.\" | attn predict senti.safetensors --probs\n"
    "  attn predict cora.safetensors cora/ > labels.tsv\n"
    "  attn predict ende.safetensors test.en --beam 8 > test.de\n"
    "  echo attention | attn predict g2p.safetensors --n-best 5\n"
    "  arecord -f S16_LE -r 16000 | attn predict phones.safetensors --live\n"
    "  attn predict book.safetensors --prompt \"It was \" --temperature 0.8 --seed 7\n";

static int predict_command(int count, char **arguments) {
    enum { OWN_FLAGS = 14 };
    predict_arguments given = {.json = false};
    argument_flag flags[OWN_FLAGS + OPENING_SETTINGS] = {
        argument_letter(
            argument_text("output", &given.output, "FILE", "the output file (default: standard output)"),
            'o'),
        argument_switch("json", &given.json, "one JSON object per example"),
        argument_switch("plain", &given.plain,
                        "print only the predictions, whatever the format of the input"),
        argument_text("format", &given.format, "F",
                      "format of the input: lines, paragraphs, conllu, table, jsonl, ..."),
        argument_text("text-column", &given.text_column, "C",
                      "the column of the texts, if not as in training"),
        argument_switch("live", &given.live, "predict while samples arrive through a pipe"),
        argument_integer("rate", &given.rate, "HZ", "0", 0, 1000000,
                         "samples per second, if there is no header; 0: those of the model"),
        argument_integer("chunk", &given.chunk, "N", "0", 0, 1000000,
                         "--live: rows predicted together; fewer rows mean less delay and more work"),
        argument_text("shard", &given.shard, "I/N", RANKS_SHARD_HELP),
        argument_switch("scatter", &given.scatter, RANKS_SCATTER_HELP),
        argument_text("prompt", &given.prompt, "TEXT", "language models: what to continue"),
        argument_size(OPENING_LIMIT, &given.limit, OPENING_LIMIT_HELP),
        argument_size_or_all(OPENING_MEMORY, &given.memory, OPENING_MEMORY_HELP),
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "number of threads; 0: all cores"),
    };
    int settings = opening_setting_flags(&given.settings, flags + OWN_FLAGS);
    argument_list list = {
        .command = "predict",
        .usage = "MODEL [FILE] [flags]",
        .about = about,
        .examples = examples,
        .first = "output probs json plain unsure n-best prompt live format conllu text-column threads",
        .flags = flags,
        .flag_count = (size_t)(OWN_FLAGS + settings),
        .positional = given.positional,
        .positional_limit = 2,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    const char *problem = find_problem(&given);
    prediction with = {.to = stdout, .parts = 1};
    if (problem == NULL && given.shard != NULL && !ranks_read_shard(given.shard, &with.part, &with.parts))
        problem = RANKS_SHARD_FORM;
    if (problem == NULL && list.positional_count < 1) problem = "no model given: attn predict MODEL [FILE]";
    if (problem != NULL) {
        fprintf(stderr, "attn predict: %s\n", problem);
        return EXIT_MISUSED;
    }
    int code = ranks_open(&list);
    if (code != EXIT_DONE) return code;
    ranks_scatter(given.scatter);
    if (!opening_model("predict", given.positional[0], given.threads, &with.context, &with.model))
        return EXIT_FAILED;
    code = opening_memory("predict", with.context, given.memory);
    if (code == EXIT_DONE) code = predict(&with, &given);
    attn_predictor_destroy(with.predictor);
    free(with.head);
    opening_close(with.context, with.model);
    return code;
}

int command_predict(int count, char **arguments) {
    ranks_begin("predict");
    return ranks_end(predict_command(count, arguments));
}
