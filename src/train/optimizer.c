/* optimizer.c: the state of the optimiser, and its step.
 *
 * A parameter's state is one block of memory, allocated when the parameter is first seen unfrozen. The
 * elements of all parameters together are divided into pieces, and pieces into tasks of about the same size,
 * by the parameters' sizes alone. So a step is two loops over tasks, however many parameters there are: one
 * for the norm, whose parts are added in order, and one for the update.
 */
#include "train/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/options.h"
#include "ops/backend.h"
#include "tape/parameters.h"
#include "train/schedule.h"

enum { PIECE_NUMBERS = 16384 };

typedef enum state_kind { MOMENTUM, MOMENT1, MOMENT2, STEPS, ROW_STEPS, AVERAGE, STATE_KINDS } state_kind;

static const char *const suffixes[STATE_KINDS] = {".momentum", ".moment1",   ".moment2",
                                                  ".steps",    ".row_steps", ".average"};

/* What is kept for one parameter; memory NULL: nothing. */
typedef struct entry {
    attn_parameter *parameter;
    unsigned char *memory;     /* on the host: names, and the number of steps */
    unsigned char *numbers;    /* tensor memory: the rest of the state */
    float *state[STATE_KINDS]; /* NULL: not of this optimiser */
    char *name[STATE_KINDS];
} entry;

struct attn_optimizer {
    attn_parameters *parameters;
    attn_context *context;
    attn_allocator allocator, numbers_allocator;
    attn_optimizer_options options;
    const at_backend *backend;
    int kept[STATE_KINDS]; /* whether this optimiser has it; ROW_STEPS: of embedding tables alone */
    int64_t steps;
    at_place place; /* NULL: a step is where it is */
    const void *place_user;
    double norm;
    int swapped;        /* the averages are in the parameters */
    entry *entries;     /* of every parameter, in the order of the set */
    at_update *updates; /* likewise: of the step that is being done */
    int64_t count;
    int stale; /* some entry has state that the lists below lack */
    unsigned char *lists;
    int64_t *listed, listed_count; /* the entries that have state */
    int64_t states;                /* tensors of them all */
    at_update_piece *pieces;
    int64_t piece_count;
    int64_t *task; /* task t has the pieces task[t] .. task[t + 1] - 1 */
    int64_t tasks;
    int64_t numbers;
    double *square; /* the sum of squares of each piece */

    at_missed *missed;                        /* lazy rows: for the steps 0 .. missed_steps */
    int64_t missed_steps, missed_room, reach; /* reach: steps after which nothing is left of a moment */
};

void attn_optimizer_options_init_sized(attn_optimizer_options *options, size_t size) {
    attn_optimizer_options own = {.size = sizeof own};
    own.kind = ATTN_ADAMW;
    own.learning_rate = 1e-3;
    own.beta1 = 0.9;
    own.beta2 = 0.999;
    own.epsilon = 1e-8;
    own.weight_decay = 0.01;
    own.accumulate = 1;
    at_options_give(options, size, &own, sizeof own);
}

/* Without a gradient a step of AdamW moves a number by so much of the step before. */
static double slowing(const attn_optimizer_options *options) {
    return options->beta2 > 0.0 ? options->beta1 / sqrt(options->beta2) : INFINITY;
}

/* ---- making one ---- */

static int in_range(double x, double low, double below) { return x >= low && x < below; }

static attn_status check_options(attn_context *context, const attn_optimizer_options *o) {
    if ((o->kind != ATTN_SGD && o->kind != ATTN_ADAMW) || (int)o->schedule < ATTN_SCHEDULE_CONSTANT ||
        (int)o->schedule > ATTN_SCHEDULE_INVERSE_ROOT)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "optimizer: unknown kind %d or schedule %d",
                       (int)o->kind, (int)o->schedule);
    const struct {
        const char *name;
        double value, low, below;
        const char *needed;
    } ranges[] = {
        {"learning_rate", o->learning_rate, 0.0, INFINITY, "must be finite and not negative"},
        {"beta1", o->beta1, 0.0, 1.0, "must be at least 0 and less than 1"},
        {"beta2", o->beta2, 0.0, 1.0, "must be at least 0 and less than 1"},
        {"epsilon", o->epsilon, 1e-30, INFINITY, "must be finite and at least 1e-30"},
        {"weight_decay", o->weight_decay, 0.0, INFINITY, "must be finite and not negative"},
        {"momentum", o->momentum, 0.0, 1.0, "must be at least 0 and less than 1"},
        {"clip_norm", o->clip_norm, 0.0, INFINITY, "must be finite and not negative"},
        {"floor", o->floor, 0.0, 1.0 + 1e-12, "must be in 0 .. 1"},
        {"average", o->average, 0.0, 1.0, "must be at least 0 and less than 1"},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (!in_range(ranges[i].value, ranges[i].low, ranges[i].below))
            return at_fail(context, ATTN_INVALID_ARGUMENT, "optimizer: %s is %g, but %s", ranges[i].name,
                           ranges[i].value, ranges[i].needed);
    }
    if (o->nesterov && o->momentum == 0.0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "optimizer: nesterov needs a momentum");
    if (o->lazy_rows && o->kind == ATTN_ADAMW && o->decay_all && o->weight_decay > 0.0)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "optimizer: lazy_rows and decay_all exclude each other: skipped rows do not decay");
    if (o->accumulate < 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "optimizer: accumulate is %" PRId64 ", but must be at least 1", o->accumulate);
    int falls = o->schedule == ATTN_SCHEDULE_LINEAR || o->schedule == ATTN_SCHEDULE_COSINE;
    if (o->warmup_steps < 0 || (falls && o->total_steps <= o->warmup_steps))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "optimizer: warmup_steps is %" PRId64 " and total_steps %" PRId64
                       ", but the first must not be negative and, with this schedule, less than the second",
                       o->warmup_steps, o->total_steps);
    return ATTN_OK;
}

static void *take(attn_optimizer *o, size_t bytes) {
    return o->allocator.allocate(o->allocator.user, bytes ? bytes : 1, AT_ALIGNMENT);
}
static void give(attn_optimizer *o, void *memory) {
    if (memory) o->allocator.release(o->allocator.user, memory);
}

static void release_state(attn_optimizer *o, entry *e) {
    give(o, e->memory);
    if (e->numbers) o->numbers_allocator.release(o->numbers_allocator.user, e->numbers);
    e->memory = e->numbers = NULL;
}

static int keeps(const attn_optimizer *o, const entry *e, int kind) {
    return o->kept[kind] && (kind != ROW_STEPS || e->parameter->kind == ATTN_PARAMETER_EMBEDDING);
}

/* Makes the state of one parameter: all 0, the average a copy of the value. */
static int make_state(attn_optimizer *o, entry *e) {
    const attn_parameter *p = e->parameter;
    const at_backend_memory *memory = &o->backend->memory;
    size_t length = strlen(p->name) + 1;
    at_layout host = {0}, numbers = {0};
    size_t state_at[STATE_KINDS] = {0}, name_at[STATE_KINDS] = {0};
    for (int k = 0; k < STATE_KINDS; k++) {
        if (!keeps(o, e, k)) continue;
        state_at[k] = k == STEPS
                          ? at_layout_add(&host, 1, sizeof(float))
                          : at_layout_add(&numbers, k == ROW_STEPS ? p->rows : p->count, sizeof(float));
        name_at[k] = at_layout_add(&host, (int64_t)(length + strlen(suffixes[k])), 1);
    }
    e->memory = host.overflow ? NULL : take(o, host.bytes);
    if (!numbers.overflow && numbers.bytes)
        e->numbers = o->numbers_allocator.allocate(o->numbers_allocator.user, numbers.bytes, AT_ALIGNMENT);
    int made = e->memory && (e->numbers || !numbers.bytes);
    if (made && numbers.bytes) made = memory->clear(o->context, e->numbers, numbers.bytes) == ATTN_OK;
    if (made && o->kept[AVERAGE])
        made = memory->copy(o->context, e->numbers + state_at[AVERAGE], p->value,
                            (size_t)p->count * sizeof(float)) == ATTN_OK;
    if (!made) {
        release_state(o, e);
        return 0;
    }
    if (host.bytes) memset(e->memory, 0, host.bytes);
    for (int k = 0; k < STATE_KINDS; k++) {
        if (!keeps(o, e, k)) continue;
        e->state[k] = (float *)(void *)((k == STEPS ? e->memory : e->numbers) + state_at[k]);
        e->name[k] = (char *)(e->memory + name_at[k]);
        memcpy(e->name[k], p->name, length - 1);
        memcpy(e->name[k] + length - 1, suffixes[k], strlen(suffixes[k]) + 1);
    }
    o->stale = 1;
    return 1;
}

/* Numbers of a piece: of lazy rows whole rows. */
static int64_t piece_of(const entry *e) {
    int64_t columns = e->parameter->columns;
    if (!e->state[ROW_STEPS]) return PIECE_NUMBERS;
    return columns < PIECE_NUMBERS ? PIECE_NUMBERS / columns * columns : columns;
}

/* The pieces and tasks of all entries that have state. */
static int make_lists(attn_optimizer *o) {
    int64_t listed = 0, pieces = 0;
    for (int64_t i = 0; i < o->count; i++) {
        if (!o->entries[i].memory) continue;
        listed++;
        int64_t most = piece_of(&o->entries[i]);
        pieces += (o->entries[i].parameter->count + most - 1) / most;
    }
    at_layout layout = {0};
    size_t listed_at = at_layout_add(&layout, listed, sizeof *o->listed);
    size_t pieces_at = at_layout_add(&layout, pieces, sizeof *o->pieces);
    size_t tasks_at = at_layout_add(&layout, pieces + 1, sizeof *o->task);
    size_t square_at = at_layout_add(&layout, pieces, sizeof *o->square);
    unsigned char *lists = layout.overflow ? NULL : take(o, layout.bytes);
    if (!lists) return 0;
    give(o, o->lists);
    o->lists = lists;
    o->listed = (int64_t *)(void *)(lists + listed_at);
    o->pieces = (at_update_piece *)(void *)(lists + pieces_at);
    o->task = (int64_t *)(void *)(lists + tasks_at);
    o->square = (double *)(void *)(lists + square_at);
    o->listed_count = o->piece_count = o->tasks = o->numbers = o->states = 0;
    int64_t filled = PIECE_NUMBERS; /* of the last task: a piece that finds it full opens the next */
    for (int64_t i = 0; i < o->count; i++) {
        if (!o->entries[i].memory) continue;
        o->listed[o->listed_count++] = i;
        for (int k = 0; k < STATE_KINDS; k++) o->states += o->entries[i].state[k] != NULL;
        int64_t count = o->entries[i].parameter->count, most = piece_of(&o->entries[i]);
        o->numbers += count;
        for (int64_t first = 0; first < count; first += most) {
            at_update_piece made = {i, first, count - first < most ? count - first : most};
            if (filled + made.count > PIECE_NUMBERS) {
                o->task[o->tasks++] = o->piece_count;
                filled = 0;
            }
            filled += made.count;
            o->pieces[o->piece_count++] = made;
        }
    }
    o->task[o->tasks] = o->piece_count;
    o->stale = 0;
    return 1;
}

/* Parameters that are new or no longer frozen get their state. */
static attn_status follow_parameters(attn_optimizer *o) {
    const int64_t count = attn_parameters_count(o->parameters);
    if (count > o->count) {
        entry *entries = take(o, (size_t)count * sizeof *entries);
        at_update *updates = entries ? take(o, (size_t)count * sizeof *updates) : NULL;
        if (!updates) {
            give(o, entries);
            return at_fail(o->context, ATTN_OUT_OF_MEMORY, "no memory for an optimizer");
        }
        memset(entries, 0, (size_t)count * sizeof *entries);
        if (o->count) memcpy(entries, o->entries, (size_t)o->count * sizeof *entries);
        for (int64_t i = o->count; i < count; i++)
            entries[i].parameter = attn_parameters_at(o->parameters, i);
        give(o, o->entries);
        give(o, o->updates);
        o->entries = entries;
        o->updates = updates;
        o->count = count;
    }
    for (int64_t i = 0; i < count; i++) {
        entry *e = &o->entries[i];
        if (e->memory || e->parameter->frozen || make_state(o, e)) continue;
        return at_fail(o->context, ATTN_OUT_OF_MEMORY, "no memory for the optimizer state of %s",
                       e->parameter->name);
    }
    if ((o->stale || !o->lists) && !make_lists(o))
        return at_fail(o->context, ATTN_OUT_OF_MEMORY, "no memory for an optimizer");
    return ATTN_OK;
}

attn_status attn_optimizer_create(attn_parameters *parameters, const attn_optimizer_options *options,
                                  attn_optimizer **optimizer) {
    if (!parameters) return ATTN_INVALID_ARGUMENT;
    attn_context *context = attn_parameters_context(parameters);
    if (!optimizer) return at_fail(context, ATTN_INVALID_ARGUMENT, "optimizer is NULL");
    if (attn_parameters_status(parameters) != ATTN_OK)
        return at_fail(context, attn_parameters_status(parameters), "%s", attn_parameters_error(parameters));
    attn_optimizer_options own;
    char reason[AT_OPTIONS_TEXT];
    attn_optimizer_options_init(&own);
    attn_status status =
        at_options_take("options", "attn_optimizer_options_init", options,
                        AT_FIRST_SIZE(attn_optimizer_options, average), sizeof own, &own, reason);
    if (status != ATTN_OK) return at_fail(context, status, "optimizer: %s", reason);
    options = &own;
    status = check_options(context, options);
    if (status != ATTN_OK) return status;
    attn_optimizer *o = context->allocator.allocate(context->allocator.user, sizeof *o, AT_ALIGNMENT);
    if (!o) return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for an optimizer");
    memset(o, 0, sizeof *o);
    o->parameters = parameters;
    o->context = context;
    o->allocator = context->allocator;
    o->options = *options;
    o->backend = at_backend_of(context);
    o->numbers_allocator = o->backend->memory.allocator(context);
    o->kept[MOMENTUM] = options->kind == ATTN_SGD && options->momentum > 0.0;
    o->kept[MOMENT1] = o->kept[MOMENT2] = o->kept[STEPS] = options->kind == ATTN_ADAMW;
    o->kept[ROW_STEPS] = options->kind == ATTN_ADAMW && options->lazy_rows && slowing(options) < 0.99;
    o->missed_steps = -1;
    o->reach = slowing(options) > 0.0 ? (int64_t)(log(1e-9) / log(slowing(options))) + 1 : 1;
    o->kept[AVERAGE] = options->average > 0.0;
    status = follow_parameters(o);
    if (status != ATTN_OK) {
        attn_optimizer_destroy(o);
        return status;
    }
    *optimizer = o;
    return ATTN_OK;
}

void attn_optimizer_destroy(attn_optimizer *optimizer) {
    if (!optimizer) return;
    attn_allocator allocator = optimizer->allocator;
    for (int64_t i = 0; i < optimizer->count; i++) release_state(optimizer, &optimizer->entries[i]);
    give(optimizer, optimizer->entries);
    give(optimizer, optimizer->updates);
    give(optimizer, optimizer->lists);
    give(optimizer, optimizer->missed);
    allocator.release(allocator.user, optimizer);
}

/* ---- a step ---- */

static const float *gradient_of(const attn_parameter *p) {
    return p->gradient.touched ? p->gradient.numbers : NULL;
}

/* What the backend is told: all parameters that have state as they are now. */
static at_update_call call_of(attn_optimizer *o) {
    for (int64_t i = 0; i < o->listed_count; i++) {
        const entry *e = &o->entries[o->listed[i]];
        at_update *u = &o->updates[o->listed[i]];
        u->gradient = gradient_of(e->parameter);
        u->value = e->parameter->value;
        u->momentum = e->state[MOMENTUM];
        u->moment1 = e->state[MOMENT1];
        u->moment2 = e->state[MOMENT2];
        u->average = e->state[AVERAGE];
        u->frozen = e->parameter->frozen;
        u->row_steps = e->state[ROW_STEPS];
        u->written = e->parameter->gradient.written;
        u->columns = e->parameter->columns;
        u->steps = e->state[STEPS] ? (double)e->state[STEPS][0] : 0;
    }
    at_update_call call = {.updates = o->updates,
                           .pieces = o->pieces,
                           .task = o->task,
                           .tasks = o->tasks,
                           .numbers = o->numbers,
                           .squares = o->square,
                           .adamw = o->options.kind == ATTN_ADAMW,
                           .starts_average = o->steps == 0,
                           .average_rest = (float)(1.0 - o->options.average),
                           .missed = o->missed,
                           .reach = o->reach};
    return call;
}

/* For gradients whose squares f32 cannot hold, and to find one that is not finite. */
static attn_status careful_square(const attn_optimizer *o, double *square) {
    enum { PIECE = 1024 };
    float host[PIECE];
    *square = 0.0;
    for (int64_t i = 0; i < o->listed_count; i++) {
        const attn_parameter *p = o->entries[o->listed[i]].parameter;
        const float *gradient = p->frozen ? NULL : gradient_of(p);
        for (int64_t first = 0; gradient && first < p->count; first += PIECE) {
            int64_t count = p->count - first < PIECE ? p->count - first : PIECE;
            attn_status status =
                at_host_read(o->context, at_view_of(gradient + first, 1, count, count), host);
            if (status != ATTN_OK) return status;
            for (int64_t c = 0; c < count; c++) {
                if (!isfinite(host[c]))
                    return at_fail(o->context, ATTN_NOT_FINITE,
                                   "step %" PRId64 ": number %" PRId64 " of the gradient of %s is %g",
                                   o->steps, first + c, p->name, (double)host[c]);
                *square += (double)host[c] * (double)host[c];
            }
        }
    }
    return ATTN_OK;
}

static attn_status find_norm(attn_optimizer *o, const at_update_call *call, double *norm) {
    double square = 0.0;
    attn_status status = o->backend->run.gradient_squares(o->context, call);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < o->piece_count; i++) square += o->square[i];
    if (!(square > 1e-30 && square < INFINITY)) {
        status = careful_square(o, &square);
        if (status != ATTN_OK) return status;
    }
    *norm = sqrt(square) / (double)o->options.accumulate;
    return ATTN_OK;
}

static double rate_of(const attn_optimizer *o, int64_t step) {
    double place = o->place ? o->place(o->place_user, step) : (double)step;
    return o->options.learning_rate * at_schedule_factor(&o->options, place);
}

void at_optimizer_follow(attn_optimizer *optimizer, at_place place, const void *user) {
    optimizer->place = place;
    optimizer->place_user = user;
}

static double pace_of(const attn_optimizer *o, int64_t t) {
    const attn_optimizer_options *options = &o->options;
    return rate_of(o, t - 1) / (1.0 - pow(options->beta1, (double)t)) *
           sqrt(1.0 - pow(options->beta2, (double)t));
}

/* What a row that waits since step s, and had x = m / sqrt(v) then, has missed: step u would have moved it by
 * x * slowing^(u - s) * pace(u), up to u = s + reach; after that nothing is left of m. The average follows at
 * `keep` a step: it lags behind the row by x times what at_missed.lag says. */
static void miss_step(attn_optimizer *o, int64_t step) {
    const double ratio = slowing(&o->options), keep = o->options.average, pace = pace_of(o, step);
    double moved = pace, kept = 1.0;
    for (int64_t s = step - 1; s >= 0 && s >= step - o->reach; s--) {
        at_missed *since = &o->missed[s];
        moved *= ratio;
        since->lag = keep * (since->lag + moved * (1.0 - kept));
        since->slide += moved;
        kept *= keep;
    }
    o->missed[step] = (at_missed){0.0, 0.0};
}

/* Step by step, so that a run that is resumed has the same bits. */
static attn_status follow_missed(attn_optimizer *o) {
    const int64_t now = o->steps;
    if (!o->kept[ROW_STEPS]) return ATTN_OK;
    if (now >= o->missed_room) {
        int64_t room = 2 * now + 1024;
        at_missed *missed = take(o, (size_t)room * sizeof *missed);
        if (!missed) return at_fail(o->context, ATTN_OUT_OF_MEMORY, "no memory for lazy rows");
        if (o->missed) memcpy(missed, o->missed, (size_t)o->missed_room * sizeof *missed);
        give(o, o->missed);
        o->missed = missed;
        o->missed_room = room;
    }
    if (o->missed_steps < 0 || o->missed_steps > now) {
        o->missed[0] = (at_missed){0.0, 0.0};
        o->missed_steps = 0;
    }
    while (o->missed_steps < now) miss_step(o, ++o->missed_steps);
    return ATTN_OK;
}

/* The numbers of this step for every parameter. Most have the same t, so its
 * powers are computed once. */
static void prepare_step(attn_optimizer *o, double scale) {
    const attn_optimizer_options *options = &o->options;
    const double rate = attn_optimizer_learning_rate(o);
    double known = -1.0, rest1 = 1.0, rest2 = 1.0;
    for (int64_t i = 0; i < o->listed_count; i++) {
        const entry *e = &o->entries[o->listed[i]];
        at_update *u = &o->updates[o->listed[i]];
        if (e->parameter->frozen) continue;
        int decays = options->decay_all || e->parameter->kind == ATTN_PARAMETER_WEIGHT;
        double decay = decays ? options->weight_decay : 0.0;
        if (options->kind == ATTN_SGD) {
            at_sgd step = {(float)scale, (float)decay, (float)options->momentum, (float)rate,
                           options->nesterov != 0};
            u->step.sgd = step;
            continue;
        }
        double t = (double)e->state[STEPS][0] + 1.0;
        if (t != known) {
            rest1 = 1.0 - pow(options->beta1, t);
            rest2 = 1.0 - pow(options->beta2, t);
            known = t;
        }
        at_adamw step = {(float)scale,
                         (float)(1.0 - rate * decay),
                         (float)options->beta1,
                         (float)(1.0 - options->beta1),
                         (float)options->beta2,
                         (float)(1.0 - options->beta2),
                         (float)(1.0 / sqrt(rest2)),
                         (float)(rate / rest1),
                         (float)options->epsilon};
        u->step.adamw = step;
    }
}

attn_status attn_optimizer_step(attn_optimizer *optimizer) {
    attn_optimizer *o = optimizer;
    if (!o) return ATTN_INVALID_ARGUMENT;
    if (o->swapped)
        return at_fail(o->context, ATTN_INVALID_ARGUMENT,
                       "optimizer: the parameters hold their averages; swap them back before a step");
    double norm;
    attn_status status = follow_parameters(o);
    if (status == ATTN_OK) status = follow_missed(o);
    if (status != ATTN_OK) return status;
    at_update_call call = call_of(o);
    status = find_norm(o, &call, &norm);
    if (status != ATTN_OK) return status;
    double scale = 1.0 / (double)o->options.accumulate;
    if (o->options.clip_norm > 0.0) {
        double share = o->options.clip_norm / (norm + 1e-6); /* as torch.nn.utils.clip_grad_norm_ */
        if (share < 1.0) scale *= share;
    }
    prepare_step(o, scale);
    status = o->backend->run.update(o->context, &call);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < o->listed_count; i++) {
        entry *e = &o->entries[o->listed[i]];
        if (e->parameter->frozen) continue;
        if (e->state[STEPS]) e->state[STEPS][0] += 1.0f; /* beyond 2^24 it stays, and its powers are 0 */
        attn_parameter_changed(e->parameter);
    }
    attn_parameters_clear_gradients(o->parameters);
    o->norm = norm;
    o->steps++;
    return ATTN_OK;
}

int64_t attn_optimizer_steps(const attn_optimizer *optimizer) { return optimizer ? optimizer->steps : 0; }
double attn_optimizer_learning_rate(const attn_optimizer *optimizer) {
    if (!optimizer) return 0.0;
    return rate_of(optimizer, optimizer->steps);
}
double attn_optimizer_gradient_norm(const attn_optimizer *optimizer) {
    return optimizer ? optimizer->norm : 0.0;
}

/* ---- the average, and the state ---- */

attn_status attn_optimizer_settle(attn_optimizer *optimizer) {
    if (!optimizer) return ATTN_INVALID_ARGUMENT;
    if (!optimizer->kept[ROW_STEPS] || optimizer->swapped || optimizer->steps == 0) return ATTN_OK;
    attn_status status = follow_missed(optimizer);
    if (status != ATTN_OK) return status;
    at_update_call call = call_of(optimizer);
    call.late_only = 1;
    prepare_step(optimizer, 1.0);
    status = optimizer->backend->run.update(optimizer->context, &call);
    for (int64_t i = 0; i < optimizer->listed_count && status == ATTN_OK; i++) {
        const entry *e = &optimizer->entries[optimizer->listed[i]];
        if (e->state[ROW_STEPS]) attn_parameter_changed(e->parameter);
    }
    return status;
}

attn_status attn_optimizer_swap_average(attn_optimizer *optimizer) {
    if (!optimizer) return ATTN_INVALID_ARGUMENT;
    if (!optimizer->kept[AVERAGE])
        return at_fail(optimizer->context, ATTN_INVALID_ARGUMENT, "optimizer: it keeps no average");
    attn_status status = attn_optimizer_settle(optimizer);
    if (status != ATTN_OK) return status;
    at_update_call call = call_of(optimizer);
    status = optimizer->backend->run.swap_average(optimizer->context, &call);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < optimizer->listed_count; i++) {
        attn_parameter_changed(optimizer->entries[optimizer->listed[i]].parameter);
    }
    optimizer->swapped = !optimizer->swapped;
    return ATTN_OK;
}

int64_t attn_optimizer_state_count(const attn_optimizer *optimizer) {
    return optimizer ? optimizer->states : 0;
}

/* The entry and the kind of state `index`; NULL with the error set. */
static const entry *find_state(attn_optimizer *o, int64_t index, int *kind) {
    const int64_t count = attn_optimizer_state_count(o);
    *kind = 0;
    if (index < 0 || index >= count) {
        at_fail(o->context, ATTN_INVALID_ARGUMENT, "optimizer: state %" PRId64 " is not one of its %" PRId64,
                index, count);
        return NULL;
    }
    const entry *e = &o->entries[o->listed[0]];
    for (int64_t i = 0; index >= 0; e = &o->entries[o->listed[++i]])
        for (*kind = 0; *kind < STATE_KINDS; (*kind)++)
            if (e->state[*kind] && index-- == 0) return e;
    return NULL;
}

attn_status attn_optimizer_state(attn_optimizer *optimizer, int64_t index, const char **name,
                                 attn_tensor *tensor) {
    int k;
    if (!optimizer) return ATTN_INVALID_ARGUMENT;
    if (!tensor) return at_fail(optimizer->context, ATTN_INVALID_ARGUMENT, "optimizer: tensor is NULL");
    const entry *e = find_state(optimizer, index, &k);
    if (!e) return ATTN_INVALID_ARGUMENT;
    const int64_t one = 1, rows = e->parameter->rows;
    if (name) *name = e->name[k];
    float *state = optimizer->backend->memory.on_host ? e->state[k] : NULL;
    *tensor = k == STEPS       ? attn_tensor_view(e->state[k], 1, &one)
              : k == ROW_STEPS ? attn_tensor_view(state, 1, &rows)
                               : attn_tensor_view(state, e->parameter->rank, e->parameter->shape);
    return ATTN_OK;
}

/* The number of steps is on the host anyway. */
attn_status at_optimizer_host_read(attn_optimizer *optimizer, int64_t index, float *numbers) {
    int k;
    const entry *e = find_state(optimizer, index, &k);
    if (!e) return ATTN_INVALID_ARGUMENT;
    if (k == STEPS) {
        numbers[0] = e->state[k][0];
        return ATTN_OK;
    }
    int64_t count = k == ROW_STEPS ? e->parameter->rows : e->parameter->count;
    return at_host_read(optimizer->context, at_view_of(e->state[k], 1, count, count), numbers);
}

attn_status at_optimizer_host_write(attn_optimizer *optimizer, int64_t index, const float *numbers) {
    int k;
    const entry *e = find_state(optimizer, index, &k);
    if (!e) return ATTN_INVALID_ARGUMENT;
    if (k == STEPS) {
        e->state[k][0] = numbers[0];
        return ATTN_OK;
    }
    int64_t count = k == ROW_STEPS ? e->parameter->rows : e->parameter->count;
    return at_host_write(optimizer->context, at_view_of(e->state[k], 1, count, count), numbers);
}

attn_status attn_optimizer_set_steps(attn_optimizer *optimizer, int64_t steps) {
    if (!optimizer) return ATTN_INVALID_ARGUMENT;
    if (steps < 0)
        return at_fail(optimizer->context, ATTN_INVALID_ARGUMENT,
                       "optimizer: steps is %" PRId64 ", but must not be negative", steps);
    optimizer->steps = steps;
    return ATTN_OK;
}
