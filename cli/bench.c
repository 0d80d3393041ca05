/* bench.c: the command `attn bench`: the limits of this machine, and in the
 * same run how near to them the operators come.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include <sys/mman.h>
#endif

#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "text.h"

bool bench_ok(const attn_context *context, attn_status status) {
    if (status == ATTN_OK) return true;
    fprintf(stderr, "attn bench: %s (%s)\n", attn_context_error(context), attn_status_name(status));
    return false;
}

attn_context *bench_context(const bench *run, int threads) {
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = threads;
    options.isa = run->isa;
    if (attn_context_create(&options, &context) == ATTN_OK) return context;
    arguments_complain("bench", "", attn_last_create_error(), "", NULL);
    return NULL;
}

/* Large blocks stand on huge pages, as those of a context do in training. */
static float *aligned_memory(size_t bytes) {
    const size_t huge_page = (size_t)2 << 20;
    if (bytes < huge_page) return aligned_alloc(64, (bytes + 63) / 64 * 64);
    bytes = (bytes + huge_page - 1) / huge_page * huge_page;
    float *memory = aligned_alloc(huge_page, bytes);
#if defined(MADV_HUGEPAGE)
    if (memory != NULL) (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

float *bench_numbers(int64_t count, int64_t seed) {
    size_t bytes = ((size_t)count * sizeof(float) + 63) / 64 * 64;
    float *numbers = aligned_memory(bytes);
    if (numbers == NULL) {
        fprintf(stderr, "attn bench: out of memory (%zu MiB wanted)\n", bytes >> 20);
        return NULL;
    }
    /* A linear congruential generator (the multiplier is Knuth's): its high
     * bits are random enough for arithmetic that does not look at them. */
    uint64_t state = (uint64_t)seed;
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        numbers[i] = (float)(int32_t)(state >> 32) * 0x1p-31f;
    }
    return numbers;
}

bool bench_wants(const bench *run, const char *series) {
    return strcmp(run->only, "all") == 0 || strcmp(run->only, series) == 0;
}

/* The CPU's name as the kernel gives it. */
static void read_cpu_name(char *name, size_t size) {
    char line[256];
    snprintf(name, size, "unnamed CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
        snprintf(name, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        break;
    }
    fclose(file);
}

/* Opens a setup for `threads` threads and measures the machine's limits with
 * them. */
static bool open_setup(bench *run, int threads, bool bandwidth) {
    bench_setup *setup = &run->setups[run->setup_count];
    double gflops = 0, gigabytes = 0;
    setup->context = bench_context(run, threads);
    if (setup->context == NULL) return false;
    run->setup_count++;
    setup->probe = bench_probe_create(setup->context);
    if (setup->probe == NULL) return false;
    setup->threads = attn_context_threads(setup->context);
    double seconds = fmin(0.5, 2 * run->seconds);
    if (!bench_ok(setup->context, attn_machine_fma_peak(setup->context, seconds, &gflops))) return false;
    if (bandwidth &&
        !bench_ok(setup->context, attn_machine_copy_bandwidth(setup->context, seconds, &gigabytes))) {
        return false;
    }
    setup->peak = 1e9 * gflops;
    setup->bandwidth = 1e9 * gigabytes;
    return true;
}

/* One setup with the threads asked for, or one with a single thread and one
 * with all. */
static bool open_setups(bench *run, int64_t threads, bool bandwidth) {
    if (threads > 0 || run->quick) return open_setup(run, (int)threads, bandwidth);
    attn_context *all = bench_context(run, 0);
    if (all == NULL) return false;
    int most = attn_context_threads(all);
    attn_context_destroy(all);
    return open_setup(run, 1, bandwidth) && (most == 1 || open_setup(run, most, bandwidth));
}

static void close_setups(bench *run) {
    for (int setup = 0; setup < run->setup_count; setup++) {
        bench_probe_destroy(run->setups[setup].probe);
        attn_context_destroy(run->setups[setup].context);
    }
}

static void print_machine(const bench *run) {
    if (run->json || run->quiet) return;
    text_print(stdout, run->cpu);
    printf(", %s, attn %s\n", attn_context_isa(run->setups[0].context), attn_version());
    for (int setup = 0; setup < run->setup_count; setup++) {
        const bench_setup *with = &run->setups[setup];
        printf("%3d thread%s  %8.1f GFLOP/s FMA peak", with->threads, with->threads == 1 ? " " : "s",
               1e-9 * with->peak);
        if (with->bandwidth > 0) printf(", %6.1f GB/s copied (read + written)", 1e-9 * with->bandwidth);
        putchar('\n');
    }
    printf("Best of many runs each. A fraction is of the FMA peak at that moment; ? marks a\n"
           "measurement that other programs disturbed. Masked pairs do not count as work.\n");
    fflush(stdout);
}

static const char *const subjects[] = {"attention", "gemm", "graph", "train", "tasks", "weights", "all"};
enum { SUBJECT_COUNT = sizeof subjects / sizeof subjects[0] };

/* "all", then the parts of attention, then those of graph, then those of train. */
static const char *const series[] = {"all",     "grid",        "window", "one-head", "ragged",   "decode",
                                     "short",   "memory",      "random", "hub",      "additive", "step",
                                     "encoder", "encoder-512", "small",  "lstm",     "cnn",      NULL};
enum { FIRST_GRAPH_SERIES = 8, FIRST_TRAIN_SERIES = 12 };

static bool subject_covers(const char *subject, const char *part) {
    return strcmp(subject, "all") == 0 || strcmp(subject, part) == 0;
}

static int run_subject(bench *run, const char *subject, int64_t threads) {
    bool attention = subject_covers(subject, "attention"), graph = subject_covers(subject, "graph"),
         gemm = subject_covers(subject, "gemm") && bench_wants(run, "gemm"),
         train = subject_covers(subject, "train"),
         tasks = strcmp(subject, "tasks") == 0, /* minutes: not of all */
        weights = strcmp(subject, "weights") == 0;
    read_cpu_name(run->cpu, sizeof run->cpu);
    bool done = open_setups(run, threads, attention || graph);
    if (done) print_machine(run);
    done = done && (!attention || bench_attention(run)) &&
           (!graph || (bench_graph(run) && bench_graph_step(run))) && (!gemm || bench_gemm(run)) &&
           (!train || bench_train(run)) && (!tasks || bench_tasks(run)) && (!weights || bench_weights(run));
    close_setups(run);
    return done ? EXIT_DONE : EXIT_FAILED;
}

static int unknown_subject(const char *given) {
    arguments_complain("bench", "there is nothing called ", given, " to measure",
                       arguments_nearest(given, subjects, SUBJECT_COUNT));
    fputs("attn bench [attention|gemm|graph|train|tasks|weights|all]; attn bench --help lists the flags.\n",
          stderr);
    return EXIT_MISUSED;
}

#define DEFAULT_SECONDS 0.15
enum { DEFAULT_LONGEST = 8192, DEFAULT_NODES = 100000 };

/* Shapes that show in seconds how fast this machine is. What was given stays. */
static void make_quick(bench *run) {
    if (run->seconds == DEFAULT_SECONDS) run->seconds = 0.02;
    if (run->longest == DEFAULT_LONGEST) run->longest = 512;
    if (run->nodes == DEFAULT_NODES) run->nodes = 10000;
}

int command_bench(int count, char **arguments) {
    bench run = {.isa = NULL};
    int64_t threads = 0;
    int only = 0;
    const char *subject[1] = {"all"}, *words[SUBJECT_COUNT + 1] = {NULL};
    memcpy(words, subjects, sizeof subjects);
    const argument_flag flags[] = {
        argument_switch("quick", &run.quick, "fewer shapes, on all threads only (15 seconds)"),
        argument_switch("full", &run.full, "every n to 8192, d 32 to 256, head layouts (half an hour)"),
        argument_integer("threads", &threads, "N", NULL, 1, 1024,
                         "this number of threads only (default: 1, and all)"),
        argument_text("isa", &run.isa, "NAME",
                      "scalar, avx2, avx512, avx512x2 or neon (default: the best supported)"),
        argument_number("seconds", &run.seconds, "S", "0.15", 0.0001, 60, "time for each shape"),
        argument_choice("only", &only, "PART", "all", series,
                        "grid, window, one-head, ragged, decode, short or memory; of\n"
                        "               graph: random, hub, additive or step; of train: encoder,\n"
                        "               encoder-512, small, lstm or cnn"),
        argument_integer("longest", &run.longest, "N", "8192", 1, 1 << 24,
                         "leave out attention with more than N keys"),
        argument_integer("nodes", &run.nodes, "N", "100000", 1, 1 << 24,
                         "nodes of the random graph; the hub has ten times as many neighbours, a training "
                         "step twice as many nodes"),
        argument_integer("seed", &run.seed, "N", "1", 0, INT64_MAX, "seed of the random numbers"),
        argument_integer("steps", &run.steps, "N", "4000", 1, 1 << 24, "training steps of `tasks`"),
        argument_switch("json", &run.json, "one JSON object per line"),
        argument_switch("quiet", &run.quiet, "tables only, no heading"),
    };
    argument_list list = {
        .command = "bench",
        .usage = "[attention|gemm|graph|train|tasks|weights|all] [flags]",
        .about = "Measures the FMA peak and the copy bandwidth of this machine and, in the same\n"
                 "run, how near the operators come to them: attention forward and backward,\n"
                 "decoding, short sequences, graphs, additive scores, the matrix products of\n"
                 "linear layers, and whole training steps. Takes a few minutes. `tasks`, which\n"
                 "is not part of all, trains small networks to sort, reverse and copy: minutes.\n"
                 "`weights`, also not part of all, measures the cost of returning the weights.\n",
        .examples = "  attn bench attention --threads 1\n"
                    "  attn bench --json > bench.jsonl\n",
        .words = words,
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = subject,
        .positional_limit = 1,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    run.only = series[only];
    if (run.quick && run.full) {
        arguments_complain("bench", "--quick and --full: ", "one of the two", "", NULL);
        return EXIT_MISUSED;
    }
    if (run.quick) make_quick(&run);
    const char *owner = only < FIRST_GRAPH_SERIES   ? "attention"
                        : only < FIRST_TRAIN_SERIES ? "graph"
                                                    : "train";
    for (int i = 0; i < SUBJECT_COUNT; i++) {
        if (only == 0 || strcmp(subject[0], subjects[i]) != 0 || subject_covers(subject[0], owner)) continue;
        char reason[64];
        snprintf(reason, sizeof reason, " is a part of %s, not of %s", owner, subjects[i]);
        arguments_complain("bench", "--only ", run.only, reason, NULL);
        return EXIT_MISUSED;
    }
    for (int i = 0; i < SUBJECT_COUNT; i++) {
        if (strcmp(subject[0], subjects[i]) == 0) return run_subject(&run, subject[0], threads);
    }
    return unknown_subject(subject[0]);
}
