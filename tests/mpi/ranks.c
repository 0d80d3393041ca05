/* ranks.c: what test_mpi.sh runs under a launcher.
 *
 *     mpi_ranks check            all calls of the exchange, and sums against those of one process
 *     mpi_ranks abort RANK CODE  that rank ends the job while the others wait
 *     mpi_ranks kill RANK        that rank ends without a word
 *     mpi_ranks speed NUMBERS    milliseconds for the sum of so many, in order and fast, also while a core
 * works
 *
 * Each rank prints one line; the exit code is 0 if all was well.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "support/exchanging.h"
#include "support/reducing.h"

static int check(attn_context *context, attn_exchange *exchange) {
    char text[EXCHANGING_TEXT] = "";
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    int failed = exchanging_fails(context, exchange, text), cases = 0;
    for (int64_t shards = 1; shards <= 9 && !failed; shards++) {
        for (int fast = 0; fast < 2 && !failed; fast++, cases++) {
            reducing_case c = {
                .seed = (uint64_t)shards, .shards = shards, .fast = fast, .steps = 3, .large = shards == 5};
            reducing_result alone, here;
            reducing_alone(&c, &alone);
            reducing_rank(&c, context, exchange, &here);
            failed = reducing_differs(&alone, &here, !fast, text);
            reducing_free(&alone);
            reducing_free(&here);
        }
    }
    printf("rank %d of %d: %s %d\n", rank, ranks, failed ? text : "fine", cases);
    fflush(stdout);
    if (failed) attn_exchange_abort(exchange, 1);
    return failed;
}

/* ---- how fast ---- */

enum { SUMS = 20, MOST_RANKS = 1024 };

/* A walk back of that many seconds, which completes bucket after bucket. */
static void walk(at_reduce *reduce, double seconds) {
    int buckets = at_reduce_buckets(reduce);
    double began = at_seconds();
    for (int b = 0; b < buckets && seconds > 0.0; b++) {
        while (at_seconds() - began < seconds * (b + 1) / buckets) continue;
        at_reduce_ready(reduce, b);
    }
}

/* Seconds of the fastest sum, after a backward pass of so many seconds and without them, and busy seconds of
 * the processor in this rank, on average. */
static double time_sums(attn_context *context, attn_exchange *exchange, int64_t numbers, int fast,
                        double walked, double *busy) {
    attn_parameters *set = NULL;
    at_gradients *own = NULL;
    at_reduce *reduce = NULL;
    int64_t shape[2] = {300, 300}, bounds[MOST_RANKS + 1] = {0};
    for (int r = 0; r < attn_exchange_ranks(exchange) && r < MOST_RANKS; r++) bounds[r + 1] = r + 1;
    double best = 1e9;
    clock_t processor = 0;
    attn_parameters_create(context, 1, &set);
    for (int64_t p = 0; p < (numbers + 89999) / 90000; p++) {
        char name[32];
        snprintf(name, sizeof name, "p%lld", (long long)p);
        attn_parameters_add(set, name, 2, shape, NULL);
    }
    if (at_gradients_create(context, set, 1, &own) != ATTN_OK ||
        at_reduce_create(context, exchange, set, fast, &reduce) != ATTN_OK)
        return -1.0;
    for (int64_t p = 0; p < at_gradients_count(own); p++)
        at_slot_in_full(context, at_gradients_parameter(own, p), at_gradients_slot(own, p));
    for (int step = -2; step < SUMS; step++) {
        if (step == 0) processor = clock();
        attn_exchange_barrier(exchange);
        double began = at_seconds();
        if (at_reduce_begin(reduce, bounds, &own, NULL) != ATTN_OK) return -1.0;
        walk(reduce, walked);
        if (at_reduce_wait(reduce) != ATTN_OK) return -1.0;
        double seconds = at_seconds() - began - walked;
        if (seconds < best) best = seconds;
    }
    *busy = (double)(clock() - processor) / CLOCKS_PER_SEC / SUMS;
    at_reduce_destroy(reduce);
    at_gradients_destroy(own);
    attn_parameters_destroy(set);
    return best;
}

static int speed(attn_context *context, attn_exchange *exchange, int64_t numbers) {
    for (int round = 0; round < 2; round++) {
        for (int mode = 0; mode < 4; mode++) {
            int fast = mode % 2;
            double walked = mode < 2 ? 0.0 : 0.1, busy = 0.0;
            double best = time_sums(context, exchange, numbers, fast, walked, &busy);
            if (best < 0.0) {
                fprintf(stderr, "%s\n", attn_context_error(context));
                attn_exchange_abort(exchange, 1);
            }
            if (attn_exchange_rank(exchange) != 0) continue;
            printf("%lld numbers, %d ranks, %s: ", (long long)numbers, attn_exchange_ranks(exchange),
                   fast ? "fast" : "in order");
            if (walked > 0.0)
                printf("%.2f ms after a walk back of %.0f ms\n", 1e3 * best, 1e3 * walked);
            else
                printf("%.2f ms, %.2f GB/s; %.2f ms of a core\n", 1e3 * best, 4e-9 * (double)numbers / best,
                       1e3 * busy);
        }
    }
    return 0;
}

int main(int count, char **words) {
    attn_context *context = reducing_context(NULL);
    attn_exchange *exchange = NULL;
    const char *task = count > 1 ? words[1] : "";
    long number = count > 2 ? strtol(words[2], NULL, 10) : 0;
    if (!context || attn_exchange_open(context, NULL, &exchange) != ATTN_OK) {
        fprintf(stderr, "error: %s\n", attn_context_error(context));
        return 2;
    }
    int status = 0;
    if (strcmp(task, "check") == 0 && exchange) status = check(context, exchange);
    if (strcmp(task, "speed") == 0 && exchange) status = speed(context, exchange, number);
    if (strcmp(task, "abort") == 0 && attn_exchange_rank(exchange) == number)
        attn_exchange_abort(exchange, count > 3 ? atoi(words[3]) : 1);
    if (strcmp(task, "kill") == 0 && attn_exchange_rank(exchange) == number) raise(SIGKILL);
    if (!exchange) printf("alone\n");
    attn_exchange_barrier(exchange);
    attn_exchange_close(exchange);
    attn_context_destroy(context);
    return status;
}
