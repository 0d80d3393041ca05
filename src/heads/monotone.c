/* monotone.c: hard monotone attention of a decoder: its lattice, its loss, and one step of its search. */
#include "heads/monotone.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "ops/lattice.h"
#include "tape/tape.h"

/* ---- training ---- */

/* gelu(source + symbols), node by node: source rows pick[0 .. count - 1], decoder rows pick[count ..]. */
static attn_variable *node_logits(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *source, attn_variable *symbols, const int64_t *pick,
                                  int64_t count) {
    attn_variable *x = attn_tape_add(tape, attn_tape_gather(tape, source, pick, count),
                                     attn_tape_gather(tape, symbols, pick + count, count));
    x = attn_tape_activation(tape, x, ATTN_GELU);
    x = attn_tape_dropout(tape, x, (float)head->config.output.dropout);
    return at_sequence_logits(head, layer, tape, x);
}

attn_variable *at_monotone_logits(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *x, const at_batch *batch, const at_decoding *decoding) {
    const int64_t sequences = decoding->sequences;
    int64_t nodes = 0, node = 0;
    for (int64_t b = 0; b < sequences; b++)
        nodes +=
            (batch->offsets[b + 1] - batch->offsets[b]) * (decoding->offsets[b + 1] - decoding->offsets[b]);
    int64_t *pick = at_tape_memory(tape, 2 * nodes, sizeof *pick);
    attn_variable *symbols = at_sequence_decode(head, layer, tape, x, batch, decoding, NULL);
    if (!pick || !symbols) return NULL;
    for (int64_t b = 0; b < sequences; b++) {
        for (int64_t t = batch->offsets[b]; t < batch->offsets[b + 1]; t++) {
            for (int64_t u = decoding->offsets[b]; u < decoding->offsets[b + 1]; u++, node++) {
                pick[node] = t;
                pick[nodes + node] = u;
            }
        }
    }
    symbols = attn_tape_dropout(tape, symbols, (float)head->config.output.dropout);
    return node_logits(head, layer, tape, attn_linear_apply(tape, layer->source_map, x),
                       attn_linear_apply(tape, layer->symbol_map, symbols), pick, nodes);
}

attn_variable *at_monotone_loss(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                attn_variable *x, const at_batch *batch, const at_decoding *decoding) {
    const int64_t sequences = decoding->sequences;
    int64_t *offsets = at_tape_memory(tape, sequences + 1, sizeof *offsets);
    int32_t *targets = at_tape_memory(tape, decoding->offsets[sequences], sizeof *targets);
    attn_variable *logits = at_monotone_logits(head, layer, tape, x, batch, decoding);
    if (!offsets || !targets || !logits) return NULL;
    for (int64_t b = 0; b <= sequences; b++) offsets[b] = decoding->offsets[b] - b; /* without the ends */
    for (int64_t b = 0; b < sequences; b++) {
        const int64_t count = offsets[b + 1] - offsets[b];
        if (count)
            memcpy(targets + offsets[b], decoding->predicted + decoding->offsets[b],
                   (size_t)count * sizeof *targets);
    }
    attn_ragged rows = {sequences, batch->offsets}, symbols = {sequences, offsets};
    return attn_tape_transducer(tape, logits, &rows, targets, &symbols, 0);
}

/* ---- search ---- */

void at_monotone_free(attn_context *context, at_monotone_search *search) {
    at_release(context, search->source);
    at_release(context, search->alpha);
    at_release(context, search->arrive);
    at_release(context, search->sequence);
    at_release(context, search->before);
    at_release(context, search->pick);
    at_release(context, search->logarithms);
    at_host_rows_free(context, &search->host);
    memset(search, 0, sizeof *search);
}

static attn_status make_room(attn_context *context, at_monotone_search *search, int64_t most, int64_t rows,
                             int64_t symbols) {
    const int64_t nodes = most * search->rows;
    attn_status status = at_grow(context, &search->source, &search->source_room, rows * search->columns,
                                 sizeof *search->source, "a search");
    if (status == ATTN_OK)
        status =
            at_grow(context, &search->alpha, &search->alpha_room, nodes, sizeof *search->alpha, "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &search->arrive, &search->arrive_room, nodes, sizeof *search->arrive,
                         "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &search->sequence, &search->sequence_room, most, sizeof *search->sequence,
                         "a search");
    if (status == ATTN_OK)
        status =
            at_grow(context, &search->before, &search->before_room, most, sizeof *search->before, "a search");
    if (status == ATTN_OK)
        status =
            at_grow(context, &search->pick, &search->pick_room, 2 * nodes, sizeof *search->pick, "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &search->logarithms, &search->logarithm_room, most * symbols,
                         sizeof *search->logarithms, "a search");
    return status;
}

attn_status at_monotone_begin(attn_context *context, at_monotone_search *search, int64_t most,
                              const at_symbol_layer *layer, attn_tape *tape, attn_variable *x,
                              const at_batch *batch, int64_t symbols) {
    x = attn_linear_apply(tape, layer->source_map, x);
    if (attn_tape_status(tape) != ATTN_OK)
        return at_fail(context, attn_tape_status(tape), "%s", attn_tape_error(tape));
    search->columns = attn_variable_columns(x);
    search->hypotheses = batch->sequences;
    search->rows = 0;
    for (int64_t b = 0; b < batch->sequences; b++) {
        const int64_t rows = batch->offsets[b + 1] - batch->offsets[b];
        if (rows > search->rows) search->rows = rows;
    }
    attn_status status = make_room(context, search, most, batch->rows, symbols);
    if (status != ATTN_OK) return status;
    memset(search->arrive, 0, (size_t)(batch->sequences * search->rows) * sizeof *search->arrive);
    for (int64_t b = 0; b < batch->sequences; b++) {
        search->sequence[b] = b;
        search->arrive[b * search->rows] = 1;
    }
    return attn_variable_read(x, search->source);
}

void at_monotone_take(at_monotone_search *search, int64_t hypotheses, const int64_t *from,
                      const int32_t *symbols) {
    const int64_t rows = search->rows;
    int64_t *before = search->sequence;
    search->sequence = search->before;
    search->before = before;
    int64_t room = search->sequence_room;
    search->sequence_room = search->before_room;
    search->before_room = room;
    search->hypotheses = hypotheses;
    for (int64_t r = 0; r < hypotheses; r++) {
        const double *alpha = search->alpha + from[r] * rows;
        double *arrive = search->arrive + r * rows, sum = 0;
        search->sequence[r] = before[from[r]];
        for (int64_t t = 0; t < rows; t++) {
            const float *p = search->host.data + (from[r] * rows + t) * search->host.stride;
            arrive[t] = alpha[t] * (double)p[symbols[r]];
            sum += arrive[t];
        }
        for (int64_t t = 0; t < rows && sum > 0; t++) arrive[t] /= sum;
    }
}

/* a, and the logarithms of q, of hypothesis r, whose source has `rows` rows. */
static void add_up(at_monotone_search *search, int64_t r, int64_t rows, int64_t symbols) {
    const double *arrive = search->arrive + r * search->rows;
    double *alpha = search->alpha + r * search->rows;
    float *q = search->logarithms + r * symbols;
    double going = 0; /* on to the next row */
    memset(q, 0, (size_t)symbols * sizeof *q);
    for (int64_t t = 0; t < search->rows; t++) {
        const float *p = search->host.data + (r * search->rows + t) * search->host.stride;
        alpha[t] = t < rows ? arrive[t] + going : 0;
        going = alpha[t] * (double)p[0];
        if (t == rows - 1) q[0] = (float)going;
        for (int64_t s = 1; s < symbols && alpha[t] > 0; s++) q[s] += (float)alpha[t] * p[s];
    }
    for (int64_t s = 0; s < symbols; s++) q[s] = logf(q[s]);
}

attn_status at_monotone_step(at_monotone_search *search, const at_head *head, const at_symbol_layer *layer,
                             attn_tape *tape, attn_variable *x, const at_batch *batch) {
    const int64_t rows = search->rows, nodes = search->hypotheses * rows;
    for (int64_t r = 0; r < search->hypotheses; r++) {
        const int64_t *offsets = batch->offsets + search->sequence[r];
        for (int64_t t = 0; t < rows; t++) {
            search->pick[r * rows + t] = offsets[0] + t < offsets[1] ? offsets[0] + t : -1;
            search->pick[nodes + r * rows + t] = r;
        }
    }
    attn_variable *source = attn_tape_constant(tape, search->source, batch->rows, search->columns);
    x = node_logits(head, layer, tape, source, attn_linear_apply(tape, layer->symbol_map, x), search->pick,
                    nodes);
    x = attn_tape_softmax(tape, x);
    if (attn_tape_status(tape) != ATTN_OK) return attn_tape_status(tape);
    attn_status status = at_host_rows_of(x, &search->host);
    for (int64_t r = 0; r < search->hypotheses && status == ATTN_OK; r++) {
        const int64_t *offsets = batch->offsets + search->sequence[r];
        add_up(search, r, offsets[1] - offsets[0], attn_variable_columns(x));
    }
    return status;
}

attn_status at_monotone_align(attn_context *context, const at_head *head, const at_symbol_layer *layer,
                              attn_tape *tape, attn_variable *x, const at_batch *batch,
                              const at_decoding *decoding, float *weights) {
    at_lattice lattice = {
        .rows = batch->rows, .symbols = decoding->offsets[1] - 1, .target = decoding->predicted, .blank = 0};
    const int64_t nodes = at_lattice_nodes(&lattice), width = lattice.symbols + 1;
    double *alpha = at_tape_memory(tape, nodes, sizeof *alpha);
    double *beta = at_tape_memory(tape, 2 * width, sizeof *beta);
    float *moves = at_tape_memory(tape, 2 * nodes, sizeof *moves);
    at_host_rows host = {0};
    x = attn_tape_log_softmax(tape, at_monotone_logits(head, layer, tape, x, batch, decoding));
    if (attn_tape_status(tape) != ATTN_OK)
        return at_fail(context, attn_tape_status(tape), "%s", attn_tape_error(tape));
    attn_status status = at_host_rows_of(x, &host);
    if (status == ATTN_OK) {
        lattice.log_p = host.data;
        lattice.stride = host.stride;
        at_lattice_moves(&lattice, alpha, at_lattice_forward(&lattice, alpha), beta, moves);
        for (int64_t i = 0; i < lattice.symbols; i++)
            for (int64_t t = 0; t < lattice.rows; t++)
                weights[i * lattice.rows + t] = moves[2 * (t * width + i) + 1];
    }
    at_host_rows_free(context, &host);
    return status;
}
