/* workers.c: attn/workers.h: a step in four shards, each on a thread; the sum does not depend on the threads.
 */
#include <attn/attn.h>
#include <stdio.h>

static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {3, 5, 7, 9, 11, 13, 15, 17};
static attn_linear *map;

/* Shard s has rows 2 s and 2 s + 1: its part of the mean over all eight. */
static attn_variable *record(void *user, attn_tape *tape, int64_t shard) {
    (void)user;
    attn_variable *out = attn_linear_apply(tape, map, attn_tape_input(tape, x + 2 * shard, 2, 1, 0));
    return attn_tape_scale(tape, attn_tape_squared_error(tape, out, y + 2 * shard), 0.25f);
}

int main(void) {
    attn_context *context;
    attn_parameters *parameters;
    attn_workers *workers;
    double loss = 0;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_parameters_create(context, 1, &parameters) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    map = attn_linear_create(parameters, "map", 1, 1, 1, ATTN_IDENTITY);
    if (attn_workers_create(parameters, &workers) != ATTN_OK ||
        attn_workers_run(workers, 4, 1, record, NULL, &loss) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("loss %.4f on %d threads\n", loss, attn_context_threads(context));
    attn_workers_destroy(workers);
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
    return !(loss > 0);
}
