/* bench.h: what the parts of `attn bench` share: the machine and its limits,
 * a result, and its two forms: a row of a table and a line of JSON.
 *
 * Every shape is measured on one or two setups (a context with one thread, and
 * one with all), one after another, so that a row compares like with like.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attn/attn.h>

#include "measure.h"

enum { BENCH_SETUPS = 2 };

/* Measures beside each result what the machine can do then (bench_probe.c). */
typedef struct bench_probe bench_probe;

/* NULL, with the error printed, if there is no memory. */
bench_probe *bench_probe_create(attn_context *context);
void bench_probe_destroy(bench_probe *probe);

/* A number of threads, and what the machine can do at most with it. */
typedef struct bench_setup {
    attn_context *context;
    int threads;
    double peak;      /* f32 operations per second, when the setup was opened */
    double bandwidth; /* bytes per second, read and written by a copy; 0: not measured */
    bench_probe *probe;
} bench_setup;

typedef struct bench {
    bool json;
    bool full;
    bool quick; /* a few shapes on all threads */
    bool quiet;
    double seconds;   /* for one shape on one setup */
    const char *only; /* the one series that is wanted; "all": every one */
    int64_t longest;  /* shapes with more keys than this are left out */
    int64_t nodes;    /* of the random graph */
    int64_t seed;
    int64_t steps;   /* of training, for the tasks */
    const char *isa; /* as asked for; NULL: the best */
    char cpu[128];
    bench_setup setups[BENCH_SETUPS];
    int setup_count;
} bench;

/* What the setups' columns of a table show. */
typedef enum bench_columns {
    BENCH_SPEED,     /* ms, GFLOP/s, fraction of the FMA peak */
    BENCH_BANDWIDTH, /* ms, GB/s, fraction of the copy bandwidth */
    BENCH_NAIVE,     /* ms, ms of the naive path, how many times faster */
    BENCH_MEMORY,    /* ms, KiB of working memory, KiB a thread */
    BENCH_GRAPH,     /* as BENCH_BANDWIDTH; JSON has the working memory, too */
    BENCH_TRAIN,     /* ms, rows per second, fraction of the FMA peak; JSON has the peak memory, too */
    BENCH_GRAPH_STEP /* ms, rows per second, MB: the most that the process ever had */
} bench_columns;

typedef struct bench_result {
    const char *operation; /* "attention", "gemm", "train" */
    const char *direction; /* "forward", "backward" */
    const char *pattern;   /* "full", "causal", "window", "ragged"; NULL for gemm */
    const char *layout;    /* "contiguous", "interleaved"; NULL for gemm */
    const char *series;    /* which part of the benchmark: one of those of --only, or "full-grid" */
    const char *score;     /* "dot", "gat", "additive"; NULL: not said, which is dot */
    int64_t queries, keys, d, heads, kv_heads; /* attention */
    int64_t window;                            /* reach to both sides; -1: no limit */
    int64_t edges;                             /* BENCH_GRAPH, BENCH_GRAPH_STEP */
    double graph_seconds;                      /* likewise: that making the graph took */
    int64_t m, n, k;                           /* gemm: m x k times k x n */
    int64_t rows, steps, parameters;           /* BENCH_TRAIN: of a pass; of the network */
    double work;                               /* operations of a call */
    timing time;
    double bytes;  /* BENCH_BANDWIDTH: that a call has to read; BENCH_GRAPH: and to write */
    double copied; /* BENCH_BANDWIDTH, BENCH_GRAPH: bytes per second, the best copy of this run */
    timing naive;  /* BENCH_NAIVE */
    size_t memory; /* BENCH_MEMORY, BENCH_GRAPH, BENCH_TRAIN, BENCH_GRAPH_STEP: bytes */
} bench_result;

/* Begins a table: a title, the names of the columns that describe a shape, and
 * for each setup its three. Prints nothing for JSON. */
void bench_print_table(const bench *run, const char *title, const char *label, bench_columns columns);

/* Prints a row (for JSON, a line per setup). results has setup_count entries. */
void bench_print_row(const bench *run, const bench_result *results, bench_columns columns);

/* True if status is ATTN_OK; otherwise prints the context's error. */
bool bench_ok(const attn_context *context, attn_status status);

/* A context with `threads` threads (0: all) on the instruction set asked for;
 * NULL, with the error printed, if there is none. */
attn_context *bench_context(const bench *run, int threads);

/* Measures a call, which says its errors to `context`, beside the FMA peak of a setup. */
bool bench_measure(const bench *run, const bench_setup *setup, attn_context *context, measured_call call,
                   void *argument, timing *result);

/* The FMA peak that a result is a fraction of: taken beside it, or else the setup's. */
double bench_peak(const bench_setup *setup, const bench_result *result);

/* `count` floats on a cache line, evenly drawn from -1 .. 1 by `seed`; NULL,
 * with the error printed, if there is no memory. free() releases them. */
float *bench_numbers(int64_t count, int64_t seed);

/* Whether a series of results is to be measured. */
bool bench_wants(const bench *run, const char *series);

/* The parts. False if a call failed (the error is printed). */
bool bench_attention(const bench *run);
bool bench_attention_special(const bench *run); /* decode, short sequences, working memory */
bool bench_gemm(const bench *run);
bool bench_graph(const bench *run);      /* edges of graphs, and the additive score */
bool bench_graph_step(const bench *run); /* a training step on a graph */
bool bench_train(const bench *run);      /* whole training steps */
bool bench_tasks(const bench *run);      /* sort, reverse and copy, learned */
bool bench_weights(const bench *run);    /* what it costs to see all attention weights */

/* An attention call on memory of its own; shared by the two attention parts. */
typedef struct attention_shape {
    int64_t queries, keys, d, heads, kv_heads;
    bool causal;
    int64_t window; /* reach to both sides; -1: no limit */
    bool interleaved;
    int64_t sentences; /* 0, or the rows are those of so many sequences, of BENCH_SHORTEST to BENCH_LONGEST */
} attention_shape;
enum { BENCH_SENTENCES = 64, BENCH_SHORTEST = 5, BENCH_LONGEST = 60 };

typedef struct attention_case {
    attention_shape shape;
    attn_context *context; /* of the setup that is measured now */
    attn_pattern pattern;
    int64_t offsets[BENCH_SENTENCES + 1];
    float *memory;
    attn_tensor query, key, value, output, log_sum_exp, d_output;
    attn_attention_gradients gradients;
} attention_case;

/* Allocates and fills a case; with `backward` also the gradients' memory. */
bool attention_case_create(const bench *run, const attention_shape *shape, bool backward,
                           attention_case *made);
void attention_case_destroy(attention_case *made);

/* measured_call on an attention_case. */
attn_status attention_case_forward(void *argument);

/* The result's description of a shape; time and series are the caller's. */
bench_result attention_case_result(const attention_shape *shape, bool backward);

#endif
