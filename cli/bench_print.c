/* bench_print.c: the results of `attn bench`, as tables and as JSON (see
 * bench.h). A line of JSON has every key, null where it says nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "text.h"

enum { LABEL_WIDTH = 25 }; /* and 27 cells a setup: two setups fit in 80 */

static const char *const column_names[][3] = {
    [BENCH_SPEED] = {"ms", "GFLOP/s", "of peak"}, [BENCH_BANDWIDTH] = {"ms", "GB/s", "of copy"},
    [BENCH_NAIVE] = {"ms", "naive", "faster"},    [BENCH_MEMORY] = {"ms", "KiB", "/thread"},
    [BENCH_GRAPH] = {"ms", "GB/s", "of copy"},    [BENCH_TRAIN] = {"ms", "rows/s", "of peak"},
    [BENCH_GRAPH_STEP] = {"ms", "rows/s", "MB"},
};

void bench_print_table(const bench *run, const char *title, const char *label, bench_columns columns) {
    if (run->json) return;
    printf("\n%s\n%*s", title, LABEL_WIDTH, "");
    for (int setup = 0; setup < run->setup_count; setup++) {
        char threads[32];
        int count = run->setups[setup].threads;
        snprintf(threads, sizeof threads, "%d thread%s", count, count == 1 ? "" : "s");
        printf(" │ %24s", threads);
    }
    printf("\n%-*s", LABEL_WIDTH, label);
    for (int setup = 0; setup < run->setup_count; setup++) {
        const char *const *names = column_names[columns];
        printf(" │ %8s %7s %7s", names[0], names[1], names[2]);
    }
    putchar('\n');
}

static void print_label(const bench_result *result) {
    char heads[48], pattern[32];
    if (result->steps > 0) {
        printf("%-12s %8" PRId64 "    ", result->series, result->rows);
        return;
    }
    if (result->pattern == NULL) {
        printf("%7" PRId64 " %8" PRId64 " %8" PRId64, result->m, result->k, result->n);
        return;
    }
    if (result->edges > 0) {
        printf("%-6s %-4s %2" PRId64 "x%-2" PRId64 "%8" PRId64, result->series, result->score, result->heads,
               result->d, result->edges);
        return;
    }
    snprintf(heads, sizeof heads, "%" PRId64, result->heads);
    if (result->kv_heads != result->heads) {
        snprintf(heads, sizeof heads, "%" PRId64 ":%" PRId64, result->heads, result->kv_heads);
    }
    snprintf(pattern, sizeof pattern, "±%" PRId64, result->window);
    text_print_left(stdout, result->window >= 0 ? pattern : result->pattern, 7);
    printf(" %5s %4" PRId64 " %6" PRId64, heads, result->d, result->keys);
}

/* Whether not one round of the measurement was left alone by the rest of the machine. */
static bool was_disturbed(const bench_result *result) {
    return result->time.rounds > 0 && result->time.discarded == result->time.rounds;
}

static void print_cells(const bench_setup *setup, const bench_result *result, bench_columns columns) {
    double seconds = result->time.best;
    printf(" │ %8.*f ", seconds < 1e-3 ? 4 : seconds < 0.1 ? 3 : 1, 1e3 * seconds);
    switch (columns) {
    case BENCH_SPEED:
    case BENCH_TRAIN:
        printf("%7.*f %5.1f%c%%", columns == BENCH_TRAIN ? 0 : 1,
               columns == BENCH_TRAIN ? (double)result->rows / seconds : 1e-9 * result->work / seconds,
               100 * result->work / seconds / bench_peak(setup, result), was_disturbed(result) ? '?' : ' ');
        break;
    case BENCH_BANDWIDTH:
    case BENCH_GRAPH:
        printf("%7.1f %5.1f %%", 1e-9 * result->bytes / seconds,
               100 * result->bytes / seconds / result->copied);
        break;
    case BENCH_GRAPH_STEP:
        printf("%7.0f %7.0f", (double)result->rows / seconds, 1e-6 * (double)result->memory);
        break;
    case BENCH_NAIVE: printf("%7.4f %5.2f ×", 1e3 * result->naive.best, result->naive.best / seconds); break;
    case BENCH_MEMORY:
        printf("%7.0f %7.0f", (double)result->memory / 1024, (double)result->memory / 1024 / setup->threads);
        break;
    }
}

static void print_json_text(const char *key, const char *text) {
    printf("\"%s\":", key);
    if (text != NULL) {
        text_print_json(stdout, text);
    } else {
        fputs("null", stdout);
    }
    putchar(',');
}

static void print_json_sizes(const bench_result *result) {
    if (result->steps > 0) {
        printf("\"rows\":%" PRId64 ",\"steps\":%" PRId64 ",\"parameters\":%" PRId64 ",", result->rows,
               result->steps, result->parameters);
    } else if (result->pattern == NULL) {
        printf("\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"k\":%" PRId64 ",\"d\":null,\"heads\":null,", result->m,
               result->n, result->k);
    } else {
        printf("\"n\":%" PRId64 ",\"queries\":%" PRId64 ",\"keys\":%" PRId64 ",\"d\":%" PRId64
               ",\"heads\":%" PRId64 ",\"kv_heads\":%" PRId64 ",",
               result->keys, result->queries, result->keys, result->d, result->heads, result->kv_heads);
    }
}

static void print_json(const bench *run, const bench_setup *setup, const bench_result *result,
                       bench_columns columns) {
    const timing *time = &result->time;
    putchar('{');
    print_json_text("op", result->operation);
    print_json_text("direction", result->direction);
    print_json_text("pattern", result->pattern);
    print_json_text("series", result->series);
    print_json_text("layout", result->layout);
    if (result->score != NULL) print_json_text("score", result->score);
    print_json_sizes(result);
    if (result->window >= 0 && columns != BENCH_TRAIN && columns != BENCH_GRAPH_STEP)
        printf("\"window\":%" PRId64 ",", result->window);
    if (result->edges > 0) printf("\"edges\":%" PRId64 ",", result->edges);
    printf("\"threads\":%d,\"ms\":%.6g,\"median_ms\":%.6g,\"worst_ms\":%.6g,\"repetitions\":%" PRId64 ",",
           setup->threads, 1e3 * time->best, 1e3 * time->median, 1e3 * time->worst, time->repetitions);
    printf("\"gflops\":%.6g,\"peak_gflops\":%.6g,\"peak_fraction\":%.4f,", 1e-9 * result->work / time->best,
           1e-9 * bench_peak(setup, result), result->work / time->best / bench_peak(setup, result));
    if (time->rounds > 0) printf("\"rounds\":%d,\"discarded\":%d,", time->rounds, time->discarded);
    if (columns == BENCH_GRAPH) {
        printf("\"bytes\":%.0f,\"graph_ms\":%.6g,", result->bytes, 1e3 * result->graph_seconds);
    }
    if (columns == BENCH_BANDWIDTH || columns == BENCH_GRAPH) {
        double rate = result->bytes / time->best;
        printf("\"bytes_per_second\":%.6g,\"copy_bytes_per_second\":%.6g,\"bandwidth_fraction\":%.4f,", rate,
               result->copied, rate / result->copied);
    }
    if (columns == BENCH_NAIVE) {
        printf("\"naive_ms\":%.6g,\"naive_median_ms\":%.6g,\"speedup\":%.4f,", 1e3 * result->naive.best,
               1e3 * result->naive.median, result->naive.best / time->best);
    }
    if (columns == BENCH_GRAPH_STEP) {
        printf("\"graph_ms\":%.6g,\"peak_memory_bytes\":%zu,", 1e3 * result->graph_seconds, result->memory);
    }
    if (columns == BENCH_TRAIN || columns == BENCH_GRAPH_STEP)
        printf("\"rows_per_second\":%.6g,", (double)result->rows / time->best);
    if (columns == BENCH_MEMORY || columns == BENCH_TRAIN ||
        (result->score != NULL && columns != BENCH_GRAPH_STEP)) {
        printf("\"extra_memory_bytes\":%zu,", result->memory);
    }
    print_json_text("isa", attn_context_isa(setup->context));
    printf("\"cpu\":");
    text_print_json(stdout, run->cpu);
    puts("}");
}

void bench_print_row(const bench *run, const bench_result *results, bench_columns columns) {
    if (!run->json) print_label(&results[0]);
    for (int setup = 0; setup < run->setup_count; setup++) {
        if (run->json) {
            print_json(run, &run->setups[setup], &results[setup], columns);
        } else {
            print_cells(&run->setups[setup], &results[setup], columns);
        }
    }
    if (!run->json) putchar('\n');
    fflush(stdout); /* a row shows when it is measured, also through a pipe */
}
