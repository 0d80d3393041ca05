/* bench_attention.c: the attention operator over its shapes: heads, sizes and
 * patterns, forward and backward.
 *
 * Counted is the work that the result needs: 4 d operations a pair (query,
 * key) forward, 10 d backward, over the pairs that the pattern lets see.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static attn_tensor view(const attention_shape *shape, float *data, int64_t rows, int64_t heads) {
    if (shape->interleaved) return attn_tensor_rows(data, rows, heads, shape->d);
    return attn_tensor_bhnd(data, 1, heads, rows, shape->d);
}

/* The rows of sequence i: short and long ones in turns, so that threads have as much to do. */
static int64_t sentence_length(const attention_shape *shape, int64_t i) {
    int64_t place = i * 29 % shape->sentences;
    return BENCH_SHORTEST + place * (BENCH_LONGEST - BENCH_SHORTEST) / (shape->sentences - 1);
}

/* Floats that `rows` rows take, up to the next cache line. */
static int64_t piece(int64_t rows, int64_t heads, int64_t d) { return (rows * heads * d + 15) / 16 * 16; }

bool attention_case_create(const bench *run, const attention_shape *shape, bool backward,
                           attention_case *made) {
    int64_t of_queries = piece(shape->queries, shape->heads, shape->d);
    int64_t of_keys = piece(shape->keys, shape->kv_heads, shape->d);
    int64_t of_rows = piece(shape->queries, shape->heads, 1);
    int64_t count = 2 * of_queries + 2 * of_keys + of_rows + (backward ? 2 * of_queries + 2 * of_keys : 0);
    memset(made, 0, sizeof *made);
    made->shape = *shape;
    made->memory = bench_numbers(count, run->seed);
    if (made->memory == NULL) return false;
    float *next = made->memory;
    made->query = view(shape, next, shape->queries, shape->heads);
    made->key = view(shape, next += of_queries, shape->keys, shape->kv_heads);
    made->value = view(shape, next += of_keys, shape->keys, shape->kv_heads);
    made->output = view(shape, next += of_keys, shape->queries, shape->heads);
    int64_t extents[3] = {1, shape->queries, shape->heads};
    made->log_sum_exp = shape->interleaved ? attn_tensor_view(next += of_queries, 2, extents + 1)
                                           : attn_tensor_view(next += of_queries, 3, extents);
    attn_attention_gradients_init(&made->gradients);
    if (backward) {
        made->d_output = view(shape, next += of_rows, shape->queries, shape->heads);
        made->gradients.query = view(shape, next += of_queries, shape->queries, shape->heads);
        made->gradients.key = view(shape, next += of_queries, shape->keys, shape->kv_heads);
        made->gradients.value = view(shape, next += of_keys, shape->keys, shape->kv_heads);
    }
    attn_pattern_init(&made->pattern);
    made->pattern.left = shape->window >= 0 ? shape->window : ATTN_UNLIMITED;
    made->pattern.right = shape->causal ? 0 : made->pattern.left;
    for (int64_t i = 0; i < shape->sentences; i++)
        made->offsets[i + 1] = made->offsets[i] + sentence_length(shape, i);
    made->pattern.sequences = shape->sentences;
    return true;
}

void attention_case_destroy(attention_case *made) { free(made->memory); }

/* Set here, as a case may be copied. */
static void point_to_offsets(attention_case *with) {
    if (with->shape.sentences > 0) with->pattern.query_offsets = with->offsets;
}

attn_status attention_case_forward(void *argument) {
    attention_case *with = argument;
    point_to_offsets(with);
    return attn_attention_forward(with->context, &with->pattern, NULL, &with->query, &with->key, &with->value,
                                  &with->output, &with->log_sum_exp, NULL);
}

static attn_status backward_call(void *argument) {
    attention_case *with = argument;
    return attn_attention_backward(with->context, &with->pattern, NULL, &with->query, &with->key,
                                   &with->value, &with->output, &with->log_sum_exp, &with->d_output,
                                   &with->gradients);
}

/* How many pairs (query, key) see each other. */
static double pairs(const attention_shape *shape) {
    double count = 0;
    for (int64_t i = 0; i < shape->sentences; i++)
        count += (double)(sentence_length(shape, i) * sentence_length(shape, i));
    if (shape->sentences > 0) return count;
    for (int64_t i = 0; i < shape->queries; i++) {
        int64_t first = shape->window >= 0 && i > shape->window ? i - shape->window : 0;
        int64_t last = shape->keys - 1;
        if (shape->window >= 0 && i + shape->window < last) last = i + shape->window;
        if (shape->causal && i < last) last = i;
        if (last >= first) count += (double)(last - first + 1);
    }
    return count;
}

bench_result attention_case_result(const attention_shape *shape, bool backward) {
    bench_result result = {
        .operation = "attention",
        .direction = backward ? "backward" : "forward",
        .pattern = shape->sentences > 0 ? "ragged"
                   : shape->window >= 0 ? "window"
                   : shape->causal      ? "causal"
                                        : "full",
        .layout = shape->interleaved ? "interleaved" : "contiguous",
        .queries = shape->queries,
        .keys = shape->keys,
        .d = shape->d,
        .heads = shape->heads,
        .kv_heads = shape->kv_heads,
        .window = shape->window,
        .work = (backward ? 10 : 4) * (double)shape->d * (double)shape->heads * pairs(shape),
    };
    return result;
}

/* Measures one shape on every setup and prints its row. */
static bool measure_shape(const bench *run, const attention_shape *shape, bool backward, const char *series) {
    bench_result results[BENCH_SETUPS];
    attention_case with;
    if (shape->keys > run->longest || !bench_wants(run, series)) return true;
    if (!attention_case_create(run, shape, backward, &with)) return false;
    bool done = true;
    for (int setup = 0; setup < run->setup_count && done; setup++) {
        with.context = run->setups[setup].context;
        results[setup] = attention_case_result(shape, backward);
        results[setup].series = series;
        attn_status status = backward ? attention_case_forward(&with) : ATTN_OK; /* its outputs are inputs */
        done = bench_ok(with.context, status) &&
               bench_measure(run, &run->setups[setup], with.context,
                             backward ? backward_call : attention_case_forward, &with, &results[setup].time);
    }
    attention_case_destroy(&with);
    if (done) bench_print_row(run, results, BENCH_SPEED);
    return done;
}

static const char *const label = "pattern heads    d      n";

/* Sentences in one call, and beside them as many pairs in one sequence. */
static bool measure_ragged(const bench *run) {
    attention_shape ragged = {
        .d = 64, .heads = 8, .kv_heads = 8, .window = -1, .interleaved = true, .sentences = BENCH_SENTENCES};
    for (int64_t i = 0; i < ragged.sentences; i++) ragged.queries += sentence_length(&ragged, i);
    ragged.keys = ragged.queries;
    attention_shape whole = ragged;
    whole.sentences = 0;
    whole.queries = whole.keys = (int64_t)(sqrt(pairs(&ragged)) + 0.5);
    if (!bench_wants(run, "ragged") || run->longest < ragged.keys) return true;
    for (int backward = 0; backward < 2; backward++) {
        bench_print_table(run,
                          backward ? "64 sentences of 5 to 60 rows, and as many pairs in one, backward"
                                   : "64 sentences of 5 to 60 rows, and as many pairs in one, forward",
                          label, BENCH_SPEED);
        if (!measure_shape(run, &ragged, backward == 1, "ragged") ||
            !measure_shape(run, &whole, backward == 1, "ragged"))
            return false;
    }
    return true;
}

static bool measure_grid(const bench *run, bool backward) {
    static const int64_t channels[] = {64, 128}, lengths[] = {128, 512, 2048};
    bool wanted = bench_wants(run, "grid") || bench_wants(run, "window") || bench_wants(run, "one-head");
    if (!wanted || run->longest < lengths[0]) return true;
    bench_print_table(run, backward ? "Attention, backward" : "Attention, forward", label, BENCH_SPEED);
    for (int c = 0; c < 2; c++) {
        for (int causal = 0; causal < 2; causal++) {
            for (int l = 0; l < 3; l++) {
                attention_shape shape = {.queries = lengths[l],
                                         .keys = lengths[l],
                                         .d = channels[c],
                                         .heads = 8,
                                         .kv_heads = 8,
                                         .causal = causal == 1,
                                         .window = -1};
                if (!measure_shape(run, &shape, backward, "grid")) return false;
            }
        }
    }
    attention_shape window = {
        .queries = 8192, .keys = 8192, .d = 64, .heads = 8, .kv_heads = 8, .window = 64};
    attention_shape one_head = {
        .queries = 8192, .keys = 8192, .d = 64, .heads = 1, .kv_heads = 1, .window = -1};
    return measure_shape(run, &window, backward, "window") &&
           measure_shape(run, &one_head, backward, "one-head");
}

typedef struct full_layout {
    const char *title[2]; /* forward, backward */
    int64_t kv_heads;
    bool interleaved;
} full_layout;

static bool measure_full_layout(const bench *run, const full_layout *layout, bool backward) {
    for (int64_t d = 32; d <= 256; d *= 2) {
        for (int causal = 0; causal < 2; causal++) {
            for (int64_t n = 1; n <= 8192; n *= 2) {
                attention_shape shape = {.queries = n,
                                         .keys = n,
                                         .d = d,
                                         .heads = 8,
                                         .kv_heads = layout->kv_heads,
                                         .causal = causal == 1,
                                         .window = -1,
                                         .interleaved = layout->interleaved};
                if (!measure_shape(run, &shape, backward, "full-grid")) return false;
            }
        }
    }
    return true;
}

static bool measure_full_grid(const bench *run) {
    static const full_layout layouts[] = {
        {{"Attention, forward, heads apart (b, h, n, d)", "Attention, backward, heads apart (b, h, n, d)"},
         8,
         false},
        {{"Attention, forward, heads interleaved (n, h, d)",
          "Attention, backward, heads interleaved (n, h, d)"},
         8,
         true},
        {{"Attention, forward, grouped-query", "Attention, backward, grouped-query"}, 2, false},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (int backward = 0; backward < 2; backward++) {
            bench_print_table(run, layouts[i].title[backward], label, BENCH_SPEED);
            if (!measure_full_layout(run, &layouts[i], backward == 1)) return false;
        }
    }
    return true;
}

bool bench_attention(const bench *run) {
    if (!measure_grid(run, false) || !measure_grid(run, true) || !measure_ragged(run)) return false;
    if (!bench_attention_special(run)) return false;
    return !run->full || !bench_wants(run, "full-grid") || measure_full_grid(run);
}
