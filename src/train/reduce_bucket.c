/* reduce_bucket.c: the sums of one bucket of gradients, over all ranks.
 *
 * First the ranks exchange which parameters their nodes have touched and, for embedding tables, which rows.
 * The touched values form one array, the same on all ranks, which is exchanged in rounds: each rank receives
 * one slice of the values of all nodes, adds them, and sends the sum to the others.
 *
 * The bits are those of one process that sums the nodes with at_gradients_add: a node that has not touched a
 * parameter is skipped, and so is, on the right side of a sum, a row that was not written; on the left side
 * such a row is 0. (So x + nothing is x even for -0.)
 */
#include "train/reduce_bucket.h"

#include <string.h>

#include "ops/backend.h"
#include "tape/parameters.h"

/* A node's numbers of a run: none, numbers, or zeros of rows that were not written. */
enum { NOTHING = 0, NUMBERS = 1, ZEROS = 2 };

/* ---- what there is ---- */

static int64_t words_of(const attn_parameter *parameter) { return (parameter->rows + 63) / 64; }

static attn_parameter *parameter_of(const at_reduce *reduce, const at_bucket *bucket, int64_t i) {
    return attn_parameters_at(reduce->set, bucket->first - i);
}

static int64_t size_of(const at_bucket *bucket) { return bucket->first - bucket->last + 1; }

/* Of node `local` of a rank, parameter i of the bucket. */
static unsigned char *state_of(const at_reduce *reduce, const at_bucket *bucket, int rank, int local,
                               int64_t i) {
    return &reduce->states[((int64_t)rank * reduce->most + local) * size_of(bucket) + i];
}

static attn_status share(at_reduce *reduce, const void *mine, size_t bytes, void *all) {
    char text[AT_EXCHANGE_TEXT] = "";
    reduce->sent += (int64_t)bytes;
    if (!reduce->exchange->calls.share(reduce->exchange->calls.user, mine, bytes, all, text)) return ATTN_OK;
    return at_exchange_failed(reduce->exchange, &reduce->worker, text);
}

static attn_status trade(at_reduce *reduce, const float *send, float *receive) {
    char text[AT_EXCHANGE_TEXT] = "";
    size_t *counts = reduce->counts, ranks = (size_t)reduce->ranks;
    for (size_t r = 0; r < ranks; r++) reduce->sent += (int64_t)counts[ranks + r];
    if (!reduce->exchange->calls.trade(reduce->exchange->calls.user, send, counts, counts + ranks, receive,
                                       counts + 2 * ranks, counts + 3 * ranks, text))
        return ATTN_OK;
    return at_exchange_failed(reduce->exchange, &reduce->worker, text);
}

/* ---- windows ---- */

/* Windows that are large enough for the step, if ranks see each other's memory. In the thread, since it is a
 * call of the exchange; all ranks come to the same prediction. */
static attn_status find_windows(at_reduce *reduce) {
    char text[AT_EXCHANGE_TEXT] = "";
    size_t most = 1; /* a power of two: windows grow seldom, as they stay until the end */
    while (most < (size_t)reduce->most) most *= 2;
    size_t needed = (most + 1) * (size_t)reduce->round * sizeof(float);
    if (reduce->apart || needed <= reduce->window_bytes) return ATTN_OK;
    const at_exchange_calls *calls = &reduce->exchange->calls;
    if (calls->window(calls->user, needed, reduce->windows, text))
        return at_exchange_failed(reduce->exchange, &reduce->worker, text);
    reduce->apart = !reduce->windows[0];
    reduce->window_bytes = reduce->apart ? 0 : needed;
    return ATTN_OK;
}

static int by_windows(const at_reduce *reduce) { return reduce->window_bytes > 0; }

/* What a rank sends, and the sums that it has made: of other ranks only in windows. */
static float *sums_of(const at_reduce *reduce, int rank) {
    return by_windows(reduce) ? (float *)reduce->windows[rank] : reduce->sums;
}
static float *sent_by(const at_reduce *reduce, int rank) {
    return by_windows(reduce) ? (float *)reduce->windows[rank] + reduce->round : reduce->send;
}

/* What ranks wrote into their windows is seen by all. */
static attn_status meet(at_reduce *reduce, int64_t numbers) {
    char text[AT_EXCHANGE_TEXT] = "";
    reduce->sent += numbers * (int64_t)sizeof(float);
    if (!reduce->exchange->calls.barrier(reduce->exchange->calls.user, text)) return ATTN_OK;
    return at_exchange_failed(reduce->exchange, &reduce->worker, text);
}

/* ---- what ranks have ---- */

/* All ranks know what each node has touched. */
static attn_status share_states(at_reduce *reduce, const at_bucket *bucket) {
    int64_t size = size_of(bucket);
    memset(reduce->own_states, 0, (size_t)(reduce->most * size));
    for (int node = 0; node < reduce->own; node++) {
        for (int64_t i = 0; i < size; i++) {
            const at_slot *slot = at_gradients_slot(reduce->nodes[node], bucket->first - i);
            reduce->own_states[node * size + i] = !slot->touched  ? AT_STATE_NONE
                                                  : slot->written ? AT_STATE_ROWS
                                                                  : AT_STATE_WHOLE;
        }
    }
    return share(reduce, reduce->own_states, (size_t)(reduce->most * size), reduce->states);
}

/* How many nodes, of all, have parameter i in this state. */
static int nodes_with(const at_reduce *reduce, const at_bucket *bucket, int64_t i, int state) {
    int count = 0;
    for (int r = 0; r < reduce->ranks; r++) {
        for (int node = 0; node < reduce->most; node++)
            count += *state_of(reduce, bucket, r, node, i) == state;
    }
    return count;
}

/* How each parameter travels: not at all, as a whole, or the rows that somebody wrote. */
static void decide(at_reduce *reduce, const at_bucket *bucket, int64_t *words) {
    *words = 0;
    for (int64_t i = 0; i < size_of(bucket); i++) {
        int rows = nodes_with(reduce, bucket, i, AT_STATE_ROWS);
        int whole = nodes_with(reduce, bucket, i, AT_STATE_WHOLE);
        reduce->how[i] = whole ? AT_STATE_WHOLE : rows ? AT_STATE_ROWS : AT_STATE_NONE;
        reduce->words_at[i] = rows ? *words : -1;
        if (rows) *words += words_of(parameter_of(reduce, bucket, i));
    }
}

/* All ranks know which rows were written, in each node that knows it itself, and in any. */
static attn_status share_rows(at_reduce *reduce, const at_bucket *bucket, int64_t *words) {
    decide(reduce, bucket, words);
    if (*words == 0) return ATTN_OK;
    memset(reduce->own_bits, 0, (size_t)(reduce->most * *words) * sizeof(uint64_t));
    for (int node = 0; node < reduce->own; node++) {
        for (int64_t i = 0; i < size_of(bucket); i++) {
            const at_slot *slot = at_gradients_slot(reduce->nodes[node], bucket->first - i);
            if (slot->touched && slot->written)
                memcpy(reduce->own_bits + node * *words + reduce->words_at[i], slot->written,
                       (size_t)words_of(parameter_of(reduce, bucket, i)) * sizeof(uint64_t));
        }
    }
    attn_status status =
        share(reduce, reduce->own_bits, (size_t)(reduce->most * *words) * sizeof(uint64_t), reduce->bits);
    memset(reduce->all_bits, 0, (size_t)*words * sizeof(uint64_t));
    for (int64_t node = 0; node < (int64_t)reduce->ranks * reduce->most; node++) {
        for (int64_t w = 0; w < *words; w++) reduce->all_bits[w] |= reduce->bits[node * *words + w];
    }
    return status;
}

/* ---- what travels ---- */

/* A place in the numbers of a bucket that travel. */
typedef struct cursor {
    const at_reduce *reduce;
    const at_bucket *bucket;
    int64_t words; /* of bits, of a node */
    int64_t i, at; /* parameter, number */
} cursor;

/* Numbers of one parameter that lie together: of one row, if rows of it are distinguished. */
typedef struct run {
    int64_t i, row, first, count;
} run;

static int bit(const uint64_t *bits, int64_t row) { return (int)(bits[row / 64] >> (row % 64) & 1); }

/* The first row from `row` on that somebody wrote. */
static int64_t written_row(const uint64_t *bits, int64_t row, int64_t rows) {
    while (row < rows) {
        uint64_t rest = bits[row / 64] >> (row % 64);
        if (rest) return row + __builtin_ctzll(rest);
        row = (row / 64 + 1) * 64;
    }
    return rows;
}

/* The next run, of at most `most` numbers; count 0 at the end. */
static run next_run(cursor *c, int64_t most) {
    for (; c->i < size_of(c->bucket); c->i++, c->at = 0) {
        const attn_parameter *parameter = parameter_of(c->reduce, c->bucket, c->i);
        int how = c->reduce->how[c->i], by_row = c->reduce->words_at[c->i] >= 0;
        if (how == AT_STATE_NONE) continue;
        int64_t row = by_row ? c->at / parameter->columns : 0, end = parameter->count;
        if (how == AT_STATE_ROWS) {
            int64_t next = written_row(c->reduce->all_bits + c->reduce->words_at[c->i], row, parameter->rows);
            if (next > row) c->at = next * parameter->columns;
            row = next;
        }
        if (c->at >= end) continue;
        if (by_row) end = (row + 1) * parameter->columns;
        int64_t count = end - c->at < most ? end - c->at : most;
        run found = {c->i, row, c->at, count};
        c->at += count;
        return found;
    }
    return (run){0};
}

/* What a node has in a run. */
static int kind_of(const cursor *c, const run *r, int rank, int local) {
    const at_reduce *reduce = c->reduce;
    int state = *state_of(reduce, c->bucket, rank, local, r->i);
    if (state != AT_STATE_ROWS) return state == AT_STATE_NONE ? NOTHING : NUMBERS;
    const uint64_t *bits =
        reduce->bits + ((int64_t)rank * reduce->most + local) * c->words + reduce->words_at[r->i];
    return bit(bits, r->row) ? NUMBERS : ZEROS;
}

/* How many numbers travel in all. */
static int64_t numbers_of(const at_reduce *reduce, const at_bucket *bucket) {
    int64_t numbers = 0;
    for (int64_t i = 0; i < size_of(bucket); i++) {
        const attn_parameter *parameter = parameter_of(reduce, bucket, i);
        int how = reduce->how[i];
        if (how == AT_STATE_WHOLE) numbers += parameter->count;
        if (how != AT_STATE_ROWS) continue;
        const uint64_t *bits = reduce->all_bits + reduce->words_at[i];
        for (int64_t w = 0; w < words_of(parameter); w++) {
            for (uint64_t word = bits[w]; word; word &= word - 1) numbers += parameter->columns;
        }
    }
    return numbers;
}

/* ---- a round ---- */

/* Where the slice of a rank begins, of so many numbers. */
static int64_t slice_at(const at_reduce *reduce, int64_t count, int rank) {
    return rank == reduce->ranks ? count : count * rank / reduce->ranks / 16 * 16;
}

static int on_host(const at_reduce *reduce) { return at_backend_of(reduce->context)->memory.on_host; }

/* The numbers of one of this rank's nodes, from `begin` on; `c` ends behind them. */
static attn_status pack(at_reduce *reduce, const cursor *begin, int node, int64_t count, float *into,
                        cursor *c) {
    *c = *begin;
    while (count > 0) {
        run r = next_run(c, count);
        if (kind_of(c, &r, reduce->rank, node) == NUMBERS) {
            const at_slot *slot = at_gradients_slot(reduce->nodes[node], c->bucket->first - r.i);
            attn_status status =
                at_host_read(&reduce->worker, at_view_of(slot->numbers + r.first, 1, r.count, r.count), into);
            if (status != ATTN_OK) return status;
        }
        into += r.count;
        count -= r.count;
    }
    return ATTN_OK;
}

static void skip(cursor *c, int64_t count) {
    while (count > 0) count -= next_run(c, count).count;
}

/* Every slice to the rank that adds it. The own slice stays where it is, if the host can read it there. */
static attn_status scatter(at_reduce *reduce, cursor c, int64_t count) {
    size_t *from_here = reduce->counts, *sent = from_here + reduce->ranks, *to_here = sent + reduce->ranks,
           *got = to_here + reduce->ranks;
    int64_t mine = slice_at(reduce, count, reduce->rank + 1) - slice_at(reduce, count, reduce->rank);
    attn_status status = ATTN_OK;
    for (int r = 0; r < reduce->ranks; r++) {
        int64_t at = slice_at(reduce, count, r), length = slice_at(reduce, count, r + 1) - at;
        int packs = reduce->own && (r != reduce->rank || !on_host(reduce));
        cursor begin = c;
        for (int node = 0; packs && node < reduce->own && status == ATTN_OK; node++)
            status = pack(reduce, &begin, node, length,
                          sent_by(reduce, reduce->rank) + reduce->own * at + node * length, &c);
        if (status != ATTN_OK) return status;
        if (!packs && r + 1 < reduce->ranks) skip(&c, length);
        int nodes = reduce->first_node[r + 1] - reduce->first_node[r];
        from_here[r] = (size_t)(reduce->own * at) * sizeof(float);
        sent[r] = r == reduce->rank ? 0 : (size_t)(reduce->own * length) * sizeof(float);
        to_here[r] = (size_t)(reduce->first_node[r] * mine) * sizeof(float);
        got[r] = r == reduce->rank ? 0 : (size_t)(nodes * mine) * sizeof(float);
    }
    if (by_windows(reduce)) return meet(reduce, reduce->own * (count - mine));
    return trade(reduce, reduce->send, reduce->receive);
}

static void add(float *sum, const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++) sum[i] = a[i] + b[i];
}

/* One run in all nodes: places and kinds are given, the sum goes to `sum`; spare(node) may be written. */
static void add_run(at_reduce *reduce, int64_t count, float *spare, int64_t spare_stride, float *sum) {
    for (int m = 0; m < reduce->merge_count; m++) {
        int into = reduce->merges[m].into, from = reduce->merges[m].from;
        if (reduce->kinds[into] == NOTHING) { /* it takes what there is */
            reduce->kinds[into] = reduce->kinds[from];
            reduce->places[into] = reduce->places[from];
        } else if (reduce->kinds[from] == NUMBERS) {
            float *to = into == 0 ? sum : spare + into * spare_stride;
            const float *left = reduce->places[into];
            if (reduce->kinds[into] == ZEROS) {
                memset(to, 0, (size_t)count * sizeof(float));
                left = to;
            }
            add(to, left, reduce->places[from], count);
            reduce->places[into] = to;
            reduce->kinds[into] = NUMBERS;
        }
    }
    if (reduce->kinds[0] == NUMBERS && reduce->places[0] != sum)
        memcpy(sum, reduce->places[0], (size_t)count * sizeof(float));
    if (reduce->kinds[0] != NUMBERS) memset(sum, 0, (size_t)count * sizeof(float));
}

/* Adds this rank's slice, whose numbers have come from all ranks, into its place of the sums. */
static void add_slice(at_reduce *reduce, cursor c, int64_t count) {
    int64_t at = slice_at(reduce, count, reduce->rank);
    int64_t length = slice_at(reduce, count, reduce->rank + 1) - at;
    skip(&c, at);
    for (int64_t done = 0; done < length;) {
        run r = next_run(&c, length - done);
        for (int rank = 0, k = 0; rank < reduce->ranks; rank++) {
            for (; k < reduce->first_node[rank + 1]; k++) {
                int local = k - reduce->first_node[rank];
                reduce->kinds[k] = (unsigned char)kind_of(&c, &r, rank, local);
                int nodes = reduce->first_node[rank + 1] - reduce->first_node[rank];
                int64_t place = nodes * at + local * length + done; /* in what the rank has sent */
                reduce->places[k] =
                    by_windows(reduce) ? sent_by(reduce, rank) + place : reduce->receive + k * length + done;
                if (rank != reduce->rank) continue;
                if (!on_host(reduce))
                    reduce->places[k] = sent_by(reduce, rank) + place;
                else if (reduce->kinds[k] == NUMBERS)
                    reduce->places[k] =
                        at_gradients_slot(reduce->nodes[local], c.bucket->first - r.i)->numbers + r.first;
            }
        }
        add_run(reduce, r.count, reduce->receive + done, length, sums_of(reduce, reduce->rank) + at + done);
        done += r.count;
    }
}

/* The sum of this rank's slice to all others, and theirs to it. */
static attn_status gather(at_reduce *reduce, int64_t count) {
    size_t *from_here = reduce->counts, *sent = from_here + reduce->ranks, *to_here = sent + reduce->ranks,
           *got = to_here + reduce->ranks;
    int64_t at = slice_at(reduce, count, reduce->rank);
    int64_t length = slice_at(reduce, count, reduce->rank + 1) - at;
    if (by_windows(reduce)) return meet(reduce, length * (reduce->ranks - 1));
    for (int r = 0; r < reduce->ranks; r++) {
        int64_t of_rank = slice_at(reduce, count, r);
        from_here[r] = (size_t)at * sizeof(float);
        sent[r] = r == reduce->rank ? 0 : (size_t)length * sizeof(float);
        to_here[r] = (size_t)of_rank * sizeof(float);
        got[r] = r == reduce->rank ? 0 : (size_t)(slice_at(reduce, count, r + 1) - of_rank) * sizeof(float);
    }
    return trade(reduce, reduce->sums, reduce->sums);
}

/* In the order that the exchange likes: this rank's nodes, added, then the sum over the ranks. */
static attn_status sum_fast(at_reduce *reduce, const cursor *c, int64_t count) {
    attn_status status = ATTN_OK;
    cursor end;
    char text[AT_EXCHANGE_TEXT] = "";
    memset(reduce->sums, 0, (size_t)count * sizeof(float));
    for (int node = 0; node < reduce->own && status == ATTN_OK; node++) {
        memset(reduce->send, 0, (size_t)count * sizeof(float));
        status = pack(reduce, c, node, count, reduce->send, &end);
        add(reduce->sums, reduce->sums, reduce->send, count);
    }
    if (status != ATTN_OK) return status;
    reduce->sent += count * (int64_t)sizeof(float);
    if (!reduce->exchange->calls.sum(reduce->exchange->calls.user, reduce->sums, (size_t)count, text))
        return ATTN_OK;
    return at_exchange_failed(reduce->exchange, &reduce->worker, text);
}

/* The sums to their places, slice by slice; the cursor continues behind them. Nobody changes a sum before all
 * ranks have met again for the numbers after these. */
static attn_status unpack(at_reduce *reduce, cursor *c, int64_t count) {
    for (int rank = 0; rank < reduce->ranks; rank++) {
        int64_t at = slice_at(reduce, count, rank), end = slice_at(reduce, count, rank + 1);
        while (at < end) {
            run r = next_run(c, end - at);
            float *numbers = parameter_of(reduce, c->bucket, r.i)->gradient.numbers;
            attn_status status =
                at_host_write(&reduce->worker, at_view_of(numbers + r.first, 1, r.count, r.count),
                              sums_of(reduce, rank) + at);
            if (status != ATTN_OK) return status;
            at += r.count;
        }
    }
    return ATTN_OK;
}

/* ---- the bucket ---- */

/* The rows of a table that nobody wrote become 0, and the bits those that somebody wrote. own: what this
 * rank's first node, whose memory it is, had. */
static attn_status prepare_rows(at_reduce *reduce, attn_parameter *parameter, const uint64_t *all, int own) {
    at_slot *slot = &parameter->gradient;
    const at_backend *backend = at_backend_of(reduce->context);
    attn_status status = ATTN_OK;
    if (own == AT_STATE_NONE && slot->written) {
        for (int64_t w = 0; w < words_of(parameter); w++) slot->written[w] &= ~all[w];
        at_clear_rows_call call = {slot->written, at_view_of(slot->numbers, parameter->rows,
                                                             parameter->columns, parameter->columns)};
        status = backend->run.clear_rows(&reduce->worker, &call);
    } else if (own == AT_STATE_NONE) {
        status =
            backend->memory.clear(&reduce->worker, slot->numbers, (size_t)parameter->count * sizeof(float));
        slot->written = slot->row_bits; /* NULL: it is as if all were written */
    }
    if (slot->written) memcpy(slot->written, all, (size_t)words_of(parameter) * sizeof(uint64_t));
    return status;
}

/* The parameters' own gradients, ready to take the sums. */
static attn_status prepare(at_reduce *reduce, const at_bucket *bucket) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < size_of(bucket) && status == ATTN_OK; i++) {
        attn_parameter *parameter = parameter_of(reduce, bucket, i);
        at_slot *slot = &parameter->gradient;
        int how = reduce->how[i];
        int own = reduce->own ? *state_of(reduce, bucket, reduce->rank, 0, i) : AT_STATE_NONE;
        slot->touched = how != AT_STATE_NONE;
        if (!slot->touched) continue;
        if (!slot->numbers)
            return at_fail(&reduce->worker, ATTN_INVALID_ARGUMENT,
                           "the gradient of %s has no memory here: is it frozen in this rank alone?",
                           parameter->name);
        if (how == AT_STATE_WHOLE)
            slot->written = NULL;
        else
            status = prepare_rows(reduce, parameter, reduce->all_bits + reduce->words_at[i], own);
    }
    return status;
}

attn_status at_reduce_bucket(at_reduce *reduce, int number) {
    const at_bucket *bucket = &reduce->buckets[number];
    int64_t words = 0;
    attn_status status = find_windows(reduce);
    if (status == ATTN_OK) status = share_states(reduce, bucket);
    if (status == ATTN_OK) status = share_rows(reduce, bucket, &words);
    if (status == ATTN_OK) status = prepare(reduce, bucket);
    if (status != ATTN_OK) return status;
    cursor c = {reduce, bucket, words, 0, 0};
    for (int64_t left = numbers_of(reduce, bucket); left > 0 && status == ATTN_OK;) {
        int64_t count = left < reduce->round ? left : reduce->round;
        if (reduce->fast) {
            status = sum_fast(reduce, &c, count);
        } else {
            status = scatter(reduce, c, count);
            if (status == ATTN_OK) add_slice(reduce, c, count);
            if (status == ATTN_OK) status = gather(reduce, count);
        }
        if (status == ATTN_OK) status = unpack(reduce, &c, count);
        left -= count;
    }
    return status;
}
