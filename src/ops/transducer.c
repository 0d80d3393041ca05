/* transducer.c: the loss of a transducer (Graves 2012): a target written while going through a source,
 * without saying at which row each symbol is written.
 *
 *     loss = 1 / symbols  sum over sequences of -log sum over all paths through the lattice of p(path)
 *
 * where the ends count as symbols. d loss / d log p of a move is the probability that a path makes it, given
 * the target (forward-backward); all other log-probabilities have a gradient of 0. Kept for the walk back:
 * the probabilities of the moves. A sequence that cannot be its target adds nothing.
 *
 * A task is a sequence. Sums are kept as logarithms, in double.
 */
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/lattice.h"
#include "ops/rowwise.h"

/* ---- one sequence ---- */

double at_log_add(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return low == -INFINITY || high - low > 40 ? high : high + log1p(exp(low - high)); /* e^-40 < 2^-53 */
}

/* Log-probabilities of the two moves from node (t, u); -inf: there is no such move. */
static double blank_at(const at_lattice *lattice, int64_t t, int64_t u) {
    if (u < lattice->symbols && lattice->target[u] < 0) return -INFINITY;
    return (double)lattice->log_p[(t * (lattice->symbols + 1) + u) * lattice->stride + lattice->blank];
}

static double write_at(const at_lattice *lattice, int64_t t, int64_t u) {
    if (u >= lattice->symbols) return -INFINITY;
    if (lattice->target[u] < 0) return 0;
    return (double)lattice->log_p[(t * (lattice->symbols + 1) + u) * lattice->stride + lattice->target[u]];
}

double at_lattice_forward(const at_lattice *lattice, double *alpha) {
    const int64_t width = lattice->symbols + 1;
    if (lattice->rows == 0) return lattice->symbols ? -INFINITY : 0;
    for (int64_t t = 0; t < lattice->rows; t++) {
        for (int64_t u = 0; u < width; u++) {
            double from_row = t ? alpha[(t - 1) * width + u] + blank_at(lattice, t - 1, u) : -INFINITY;
            double from_symbol = u ? alpha[t * width + u - 1] + write_at(lattice, t, u - 1) : -INFINITY;
            alpha[t * width + u] = t + u ? at_log_add(from_row, from_symbol) : 0;
        }
    }
    return alpha[lattice->rows * width - 1] + blank_at(lattice, lattice->rows - 1, lattice->symbols);
}

void at_lattice_moves(const at_lattice *lattice, const double *alpha, double log_p, double *beta,
                      float *moves) {
    const int64_t width = lattice->symbols + 1;
    double *below = beta, *now = beta + width; /* what is still to come, from the nodes of two rows */
    for (int64_t t = lattice->rows - 1; t >= 0; t--) {
        for (int64_t u = width - 1; u >= 0; u--) {
            int last = t == lattice->rows - 1, end = last && u == width - 1;
            double blank = end ? 0 : last ? -INFINITY : below[u];
            double write = u + 1 < width ? now[u + 1] : -INFINITY;
            blank += blank_at(lattice, t, u);
            write += write_at(lattice, t, u);
            now[u] = at_log_add(blank, write);
            float *move = moves + 2 * (t * width + u);
            move[0] = (float)exp(alpha[t * width + u] + blank - log_p);
            move[1] = (float)exp(alpha[t * width + u] + write - log_p);
        }
        double *other = below;
        below = now;
        now = other;
    }
}

/* ---- a batch ---- */

static at_lattice lattice_of(const at_transducer_call *call, int64_t b) {
    const int64_t target = call->target_batch.offsets[b];
    return (at_lattice){call->batch.offsets[b + 1] - call->batch.offsets[b],
                        call->target_batch.offsets[b + 1] - target,
                        call->log_p.data + call->node_offsets[b] * call->log_p.stride,
                        call->log_p.stride,
                        call->targets + target,
                        call->blank};
}

typedef struct transducer_run {
    const at_transducer_call *call;
    double *alpha; /* [nodes] */
    double *beta;  /* [2 x rows of decoders] */
    float factor;  /* going back: what arrives / symbols */
} transducer_run;

static void loss_task(void *argument, int64_t b, int worker) {
    const transducer_run *run = argument;
    const at_transducer_call *call = run->call;
    at_lattice lattice = lattice_of(call, b);
    double *alpha = run->alpha + call->node_offsets[b];
    (void)worker;
    call->total[b] = at_lattice_forward(&lattice, alpha);
    if (!call->moves || call->total[b] == -INFINITY) return;
    at_lattice_moves(&lattice, alpha, call->total[b], run->beta + 2 * (call->target_batch.offsets[b] + b),
                     call->moves + 2 * call->node_offsets[b]);
}

attn_status at_cpu_transducer(attn_context *context, const at_transducer_call *call) {
    const int64_t sequences = call->batch.sequences, nodes = call->log_p.rows;
    transducer_run run = {.call = call};
    double total = 0;
    at_layout layout = {0, 0};
    size_t alpha_at = at_layout_add(&layout, nodes, sizeof *run.alpha);
    size_t beta_at =
        at_layout_add(&layout, 2 * (call->target_batch.offsets[sequences] + sequences), sizeof *run.beta);
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.alpha = (double *)(void *)(memory + alpha_at);
    run.beta = (double *)(void *)(memory + beta_at);
    at_run_tasks(context, 200.0 * (double)nodes, sequences, loss_task, &run);
    for (int64_t b = 0; b < sequences; b++)
        if (call->total[b] != -INFINITY) total -= call->total[b];
    call->loss[0] = call->symbols ? (float)(total / (double)call->symbols) : 0.0f;
    return ATTN_OK;
}

static void gradient_task(void *argument, int64_t b, int worker) {
    const transducer_run *run = argument;
    const at_transducer_call *call = run->call;
    const at_lattice lattice = lattice_of(call, b);
    const int64_t width = lattice.symbols + 1;
    (void)worker;
    for (int64_t node = 0; node < at_lattice_nodes(&lattice); node++) {
        float *dx = call->dx.data + (call->node_offsets[b] + node) * call->dx.stride;
        const float *move = call->moves + 2 * (call->node_offsets[b] + node);
        const int32_t symbol = node % width < lattice.symbols ? lattice.target[node % width] : -1;
        memset(dx, 0, (size_t)call->dx.columns * sizeof *dx);
        if (call->total[b] == -INFINITY) continue;
        dx[lattice.blank] = -run->factor * move[0];
        if (symbol >= 0) dx[symbol] = -run->factor * move[1];
    }
}

attn_status at_cpu_transducer_backward(attn_context *context, const at_transducer_call *call) {
    transducer_run run = {.call = call,
                          .factor = call->symbols ? call->d_loss[0] / (float)call->symbols : 0.0f};
    at_run_tasks(context, (double)call->dx.rows * (double)call->dx.columns, call->batch.sequences,
                 gradient_task, &run);
    return ATTN_OK;
}
