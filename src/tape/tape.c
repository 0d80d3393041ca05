/* tape.c: variables, the list of what was done, and the backward pass.
 *
 * Memory. What lasts until attn_tape_begin comes from one pair of arenas, working
 * memory of single functions from another: of each pair one is tensor memory, for
 * numbers, and one host memory, for variables, nodes, offsets and ids. The gradient of a result is needed
 * only until its node is walked: its block then goes to a list from which the next gradients are taken, so
 * that a backward pass holds the gradients of a few operations, not of all.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SPARE_BLOCKS = 64, FIRST_HOST_CHUNK = 1 << 16, FIRST_NUMBERS_CHUNK = 1 << 20 };

typedef struct spare_block {
    float *memory;
    size_t bytes;
} spare_block;

/* The first use of a parameter. */
typedef struct first_use {
    struct first_use *previous;
    attn_parameter *parameter;
    int64_t node; /* the number of the node that is being recorded */
} first_use;

struct attn_tape {
    attn_context *context;
    const at_backend *backend;
    at_arena lasting, scratch;                 /* host memory */
    at_arena lasting_numbers, scratch_numbers; /* tensor memory */
    attn_tape_mode mode;
    uint64_t seed, streams;
    at_node *last;
    int walked;
    spare_block spare[SPARE_BLOCKS];
    int spares;
    const at_observer *observer;
    int frozen;                     /* parameters want no gradient */
    int keeps_packed;               /* weights in kernel order, also while it records */
    at_gradients *gradients;        /* NULL: the parameters' own */
    const attn_parameters *told_of; /* whose gradients are told of when they are complete; NULL: none */
    at_complete_function complete;
    void *complete_user;
    int64_t nodes;          /* recorded */
    first_use *last_use;    /* the latest first one */
    first_use **first_uses; /* by the number of the parameter; NULL: none yet */
    attn_status status;
    char error[512];
};

attn_status attn_tape_create(attn_context *context, attn_tape **tape) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!tape) return at_fail(context, ATTN_INVALID_ARGUMENT, "tape is NULL");
    attn_tape *t = context->allocator.allocate(context->allocator.user, sizeof *t, AT_ALIGNMENT);
    if (!t) return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for a tape");
    memset(t, 0, sizeof *t);
    t->context = context;
    t->backend = at_backend_of(context);
    attn_allocator numbers = t->backend->memory.allocator(context);
    at_arena_create(&t->lasting, &context->allocator, FIRST_HOST_CHUNK);
    at_arena_create(&t->scratch, &context->allocator, FIRST_HOST_CHUNK);
    at_arena_create(&t->lasting_numbers, &numbers, FIRST_NUMBERS_CHUNK);
    at_arena_create(&t->scratch_numbers, &numbers, FIRST_NUMBERS_CHUNK);
    *tape = t;
    return ATTN_OK;
}

void attn_tape_destroy(attn_tape *tape) {
    if (!tape) return;
    attn_allocator allocator = tape->context->allocator;
    at_arena_destroy(&tape->lasting);
    at_arena_destroy(&tape->scratch);
    at_arena_destroy(&tape->lasting_numbers);
    at_arena_destroy(&tape->scratch_numbers);
    allocator.release(allocator.user, tape);
}

void attn_tape_begin(attn_tape *tape, attn_tape_mode mode, uint64_t seed) {
    if (!tape) return;
    at_arena_reset(&tape->lasting);
    at_arena_reset(&tape->scratch);
    at_arena_reset(&tape->lasting_numbers);
    at_arena_reset(&tape->scratch_numbers);
    tape->mode = mode;
    tape->seed = seed;
    tape->streams = 0;
    tape->last = NULL;
    tape->nodes = 0;
    tape->last_use = NULL;
    tape->first_uses = NULL;
    tape->walked = 0;
    tape->spares = 0;
    tape->status = ATTN_OK;
    tape->error[0] = 0;
    if ((int)mode < ATTN_TAPE_PREDICT || (int)mode > ATTN_TAPE_GRADIENT)
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "begin: the mode is %d, which is none of attn_tape_mode",
                     (int)mode);
}

attn_status attn_tape_status(const attn_tape *tape) { return tape ? tape->status : ATTN_INVALID_ARGUMENT; }
const char *attn_tape_error(const attn_tape *tape) { return tape ? tape->error : "tape is NULL"; }
attn_context *attn_tape_context(const attn_tape *tape) { return tape ? tape->context : NULL; }
attn_tape_mode attn_tape_mode_of(const attn_tape *tape) { return tape ? tape->mode : ATTN_TAPE_PREDICT; }
size_t attn_tape_memory(const attn_tape *tape) {
    if (!tape) return 0;
    return at_arena_bytes(&tape->lasting) + at_arena_bytes(&tape->scratch) +
           at_arena_bytes(&tape->lasting_numbers) + at_arena_bytes(&tape->scratch_numbers);
}

/* ---- who watches ---- */

void at_tape_observe(attn_tape *tape, const at_observer *observer) { tape->observer = observer; }
const at_observer *at_tape_observer(const attn_tape *tape) { return tape->observer; }
void at_tape_freeze(attn_tape *tape, int frozen) { tape->frozen = frozen; }
void at_tape_gradients(attn_tape *tape, at_gradients *into) { tape->gradients = into; }
void at_tape_keep_packed(attn_tape *tape, int keep) { tape->keeps_packed = keep; }
int at_tape_keeps_packed(const attn_tape *tape) { return tape->keeps_packed; }

void at_tape_tell(attn_tape *tape, const attn_parameters *set, at_complete_function complete, void *user) {
    tape->told_of = complete ? set : NULL;
    tape->complete = complete;
    tape->complete_user = user;
}

void at_tape_uses(attn_tape *tape, attn_parameter *parameter) {
    if (!parameter || !tape->told_of || parameter->set != tape->told_of || !at_recording(tape)) return;
    if (!tape->first_uses) {
        int64_t count = attn_parameters_count(tape->told_of);
        tape->first_uses = at_tape_memory(tape, count, sizeof *tape->first_uses);
        if (!tape->first_uses) return;
        memset(tape->first_uses, 0, (size_t)count * sizeof *tape->first_uses);
    }
    if (tape->first_uses[parameter->index]) return;
    first_use *use = at_tape_memory(tape, 1, sizeof *use);
    if (!use) return;
    *use = (first_use){tape->last_use, parameter, tape->nodes + 1};
    tape->last_use = tape->first_uses[parameter->index] = use;
}

/* Nodes from `number` on have been walked. */
static void tell_complete(attn_tape *tape, int64_t number) {
    for (; tape->last_use && tape->last_use->node >= number; tape->last_use = tape->last_use->previous)
        tape->complete(tape->complete_user, tape->last_use->parameter);
}

void at_variable_watch(attn_variable *x) {
    if (x && at_recording(x->tape)) x->wanted = x->kept = 1;
}

/* ---- what an operation begins with ---- */

int at_tape_ready(const attn_tape *tape) { return tape && tape->status == ATTN_OK; }

void *at_tape_fail(attn_tape *tape, attn_status status, const char *format, ...) {
    if (tape->status != ATTN_OK) return NULL;
    tape->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tape->error, sizeof tape->error, format, arguments);
    va_end(arguments);
    return NULL;
}

void *at_tape_failed(attn_tape *tape, attn_status status) {
    return at_tape_fail(tape, status, "%s", attn_context_error(tape->context));
}

int at_tape_has(attn_tape *tape, const char *operation, const char *name, const attn_variable *variable) {
    if (variable) return 1;
    at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s is NULL", operation, name);
    return 0;
}

/* Parameters are those of the tape's context, or, where nothing is learned, of one that computes alike: its
 * weights in kernel order are then read by many. */
static int fits(const attn_tape *tape, const attn_context *of_parameters) {
    const attn_context *context = tape->context->whole ? tape->context->whole : tape->context;
    if (context == of_parameters) return 1;
    return (!at_recording(tape) || tape->frozen) && context->isa == of_parameters->isa &&
           at_backend_of(context) == at_backend_of(of_parameters);
}

int at_tape_has_parameter(attn_tape *tape, const char *operation, const char *name,
                          const attn_parameter *parameter, int64_t rows, int64_t columns) {
    if (!parameter) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s is NULL", operation, name);
        return 0;
    }
    if (parameter->set && !fits(tape, attn_parameters_context(parameter->set))) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s (%s) belongs to another context than the tape",
                     operation, name, parameter->name);
        return 0;
    }
    if ((rows >= 0 && parameter->rows != rows) || (columns >= 0 && parameter->columns != columns)) {
        char wanted[2][24];
        snprintf(wanted[0], sizeof wanted[0], rows >= 0 ? "%" PRId64 : "any", rows);
        snprintf(wanted[1], sizeof wanted[1], columns >= 0 ? "%" PRId64 : "any", columns);
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH, "%s: %s (%s) is %" PRId64 " x %" PRId64 ", %s x %s is needed",
                     operation, name, parameter->name, parameter->rows, parameter->columns, wanted[0],
                     wanted[1]);
        return 0;
    }
    at_tape_uses(tape, (attn_parameter *)(uintptr_t)parameter);
    return 1;
}

int at_tape_options(attn_tape *tape, const char *operation, const char *name, const char *init,
                    const void *given, size_t first, size_t current, void *into) {
    char reason[AT_OPTIONS_TEXT];
    attn_status status = at_options_take(name, init, given, first, current, into, reason);
    if (status != ATTN_OK) at_tape_fail(tape, status, "%s: %s", operation, reason);
    return status == ATTN_OK;
}

int at_tape_has_batch(attn_tape *tape, const char *operation, const attn_ragged *batch, int64_t rows,
                      attn_ragged *copy) {
    if (!batch || !batch->offsets || batch->sequences < 0) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: batch %s", operation,
                     !batch            ? "is NULL"
                     : !batch->offsets ? "has no offsets"
                                       : "has a negative number of sequences");
        return 0;
    }
    const int64_t *offsets = batch->offsets;
    int rising = offsets[0] == 0;
    for (int64_t b = 0; rising && b < batch->sequences; b++) rising = offsets[b] <= offsets[b + 1];
    if (!rising || offsets[batch->sequences] != rows) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "%s: the offsets of the batch must rise from 0 to the %" PRId64 " rows, not %s",
                     operation, rows, rising ? "end elsewhere" : "fall or begin elsewhere");
        return 0;
    }
    if (!copy) return 1;
    copy->sequences = batch->sequences;
    copy->offsets = at_tape_copy(tape, offsets, batch->sequences + 1, sizeof *offsets);
    return copy->offsets != NULL;
}

static void *take(attn_tape *tape, at_arena *arena, int64_t count, size_t element_bytes) {
    void *memory = at_arena_take(arena, count, element_bytes);
    if (!memory) {
        at_tape_fail(tape, ATTN_OUT_OF_MEMORY, "no memory for %" PRId64 " elements of %zu bytes", count,
                     element_bytes);
    }
    return memory;
}

void *at_tape_memory(attn_tape *tape, int64_t count, size_t element_bytes) {
    return take(tape, &tape->lasting, count, element_bytes);
}

void *at_tape_copy(attn_tape *tape, const void *source, int64_t count, size_t element_bytes) {
    void *memory = at_tape_memory(tape, count, element_bytes);
    if (memory && count > 0) memcpy(memory, source, (size_t)count * element_bytes);
    return memory;
}

float *at_tape_numbers(attn_tape *tape, int64_t count) {
    return take(tape, &tape->lasting_numbers, count, sizeof(float));
}

float *at_tape_host_numbers(attn_tape *tape, const float *host, int64_t count) {
    float *numbers = at_tape_numbers(tape, count);
    if (!numbers || count == 0) return numbers;
    attn_status status =
        tape->backend->memory.upload(tape->context, numbers, host, (size_t)count * sizeof(float));
    return at_tape_did(tape, status) ? numbers : NULL;
}

at_scratch at_scratch_mark(const attn_tape *tape) {
    at_scratch mark = {at_arena_mark(&tape->scratch), at_arena_mark(&tape->scratch_numbers)};
    return mark;
}
void *at_scratch_memory(attn_tape *tape, int64_t count, size_t element_bytes) {
    return take(tape, &tape->scratch, count, element_bytes);
}
float *at_scratch_numbers(attn_tape *tape, int64_t count) {
    return take(tape, &tape->scratch_numbers, count, sizeof(float));
}
void at_scratch_release(attn_tape *tape, at_scratch mark) {
    at_arena_release(&tape->scratch, mark.host);
    at_arena_release(&tape->scratch_numbers, mark.numbers);
}

/* ---- variables ---- */

static attn_variable *new_variable(attn_tape *tape, float *data, int64_t rows, int64_t columns) {
    attn_variable *v = at_tape_memory(tape, 1, sizeof *v);
    if (!v) return NULL;
    memset(v, 0, sizeof *v);
    v->tape = tape;
    v->data = data;
    v->rows = rows;
    v->columns = v->stride = columns;
    return v;
}

attn_variable *at_result(attn_tape *tape, int64_t rows, int64_t columns) {
    if (columns > 0 && rows > (INT64_MAX / 8) / columns) {
        return at_tape_fail(tape, ATTN_OVERFLOW, "a result of %" PRId64 " x %" PRId64 " is too large", rows,
                            columns);
    }
    float *data = at_tape_numbers(tape, rows * columns);
    return data ? new_variable(tape, data, rows, columns) : NULL;
}

attn_variable *at_result_in(attn_tape *tape, const attn_variable *spare) {
    return new_variable(tape, spare->data, spare->rows, spare->columns);
}

attn_variable *attn_tape_input(attn_tape *tape, const float *data, int64_t rows, int64_t columns,
                               int needs_gradient) {
    if (!at_tape_ready(tape)) return NULL;
    if (rows < 0 || columns < 1 || (!data && rows > 0)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "input: %s, %" PRId64 " x %" PRId64,
                            data ? "a shape that cannot be" : "data is NULL", rows, columns);
    }
    attn_variable *v = at_result(tape, rows, columns);
    if (!v) return NULL;
    if (rows && !at_tape_did(tape, at_host_write(tape->context, at_data_of(v), data))) return NULL;
    v->wanted = v->kept = needs_gradient && at_recording(tape);
    return v;
}

attn_variable *attn_tape_constant(attn_tape *tape, const float *data, int64_t rows, int64_t columns) {
    if (!at_tape_ready(tape)) return NULL;
    if (!tape->backend->memory.on_host || rows <= 0 || columns < 1 || !data)
        return attn_tape_input(tape, data, rows, columns, 0);
    return new_variable(tape, (float *)data, rows,
                        columns); /* nothing writes to a variable that it did not make */
}

attn_variable *attn_tape_parameter(attn_tape *tape, attn_parameter *parameter) {
    if (!at_tape_ready(tape) || !at_tape_has_parameter(tape, "parameter", "parameter", parameter, -1, -1)) {
        return NULL;
    }
    attn_variable *v = new_variable(tape, parameter->value, parameter->rows, parameter->columns);
    if (!v) return NULL;
    if (parameter->rank == 1) { /* a vector is one row */
        v->rows = 1;
        v->columns = v->stride = parameter->count;
    }
    v->parameter = parameter;
    v->wanted = at_parameter_wanted(tape, parameter);
    return v;
}

attn_variable *attn_tape_slice(attn_tape *tape, attn_variable *x, int64_t first, int64_t columns) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "slice", "x", x)) return NULL;
    if (first < 0 || columns < 1 || first > x->columns || columns > x->columns - first) {
        return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                            "slice: %" PRId64 " columns from %" PRId64 " on are not in x, which is %" PRId64
                            " x %" PRId64,
                            columns, first, x->rows, x->columns);
    }
    attn_variable *v = new_variable(tape, x->data + first, x->rows, columns);
    if (!v) return NULL;
    attn_variable *whole = x->whole ? x->whole : x;
    v->stride = x->stride;
    v->whole = whole;
    v->first = x->first + first;
    v->wanted = x->wanted;
    v->disjoint = !x->whole && first >= whole->slices_end;
    if (v->disjoint) {
        v->next_slice = whole->slices;
        whole->slices = v;
    }
    if (whole->slices_end < v->first + columns) whole->slices_end = v->first + columns;
    return v;
}

int64_t attn_variable_rows(const attn_variable *variable) { return variable ? variable->rows : 0; }
int64_t attn_variable_columns(const attn_variable *variable) { return variable ? variable->columns : 0; }
int64_t attn_variable_stride(const attn_variable *variable) { return variable ? variable->stride : 0; }

/* ---- on the host ---- */

const float *attn_variable_data(const attn_variable *variable) {
    return variable && variable->tape->backend->memory.on_host ? variable->data : NULL;
}
const float *attn_variable_gradient(const attn_variable *variable) {
    if (!variable || !variable->kept || !variable->tape->backend->memory.on_host) return NULL;
    return variable->gradient;
}
attn_status attn_variable_read(const attn_variable *variable, float *into) {
    if (!variable || (!into && variable->rows > 0)) return ATTN_INVALID_ARGUMENT;
    return at_host_read(variable->tape->context, at_data_of(variable), into);
}
attn_status attn_variable_read_gradient(const attn_variable *variable, float *into) {
    if (!variable || !variable->kept || (!into && variable->rows > 0)) return ATTN_INVALID_ARGUMENT;
    if (variable->gradient) return at_host_read(variable->tape->context, at_gradient_of(variable), into);
    size_t bytes = (size_t)(variable->rows * variable->columns) * sizeof(float);
    if (bytes) memset(into, 0, bytes); /* nothing came */
    return ATTN_OK;
}

void attn_variable_keep_gradient(attn_variable *variable) {
    if (variable && variable->wanted && !variable->whole && !variable->parameter) variable->kept = 1;
}

/* ---- recording ---- */

int at_recording(const attn_tape *tape) { return tape->mode != ATTN_TAPE_PREDICT; }
int at_wanted(const attn_variable *x) { return x && x->wanted; }
int at_parameter_wanted(const attn_tape *tape, const attn_parameter *parameter) {
    return parameter && !parameter->frozen && !tape->frozen && at_recording(tape);
}

at_node *at_record(attn_tape *tape, attn_variable *output, at_backward backward, void *state, int learns,
                   attn_variable *a, attn_variable *b, attn_variable *c) {
    if (!at_recording(tape) || !(learns || at_wanted(a) || at_wanted(b) || at_wanted(c))) return NULL;
    at_node *node = at_tape_memory(tape, 1, sizeof *node);
    if (!node) return NULL;
    memset(node, 0, sizeof *node);
    node->previous = tape->last;
    node->number = ++tape->nodes;
    node->backward = backward;
    node->output = output;
    node->input[0] = a;
    node->input[1] = b;
    node->input[2] = c;
    node->state = state;
    output->wanted = output->recorded = 1;
    tape->last = node;
    return node;
}

uint64_t at_tape_stream(attn_tape *tape) { return ++tape->streams; }
uint64_t at_tape_seed(const attn_tape *tape) { return tape->seed; }

/* ---- gradients ---- */

/* A block for at least `bytes`: one that was given back and is not much too
 * large, or a new one. */
static float *take_block(attn_tape *tape, size_t bytes, size_t *got) {
    int best = -1;
    for (int s = 0; s < tape->spares; s++) {
        size_t held = tape->spare[s].bytes;
        if (held >= bytes && held / 2 <= bytes && (best < 0 || held < tape->spare[best].bytes)) best = s;
    }
    if (best >= 0) {
        float *memory = tape->spare[best].memory;
        *got = tape->spare[best].bytes;
        tape->spare[best] = tape->spare[--tape->spares];
        return memory;
    }
    *got = bytes;
    return take(tape, &tape->lasting_numbers, (int64_t)bytes, 1);
}

static void give_block(attn_tape *tape, float *memory, size_t bytes) {
    if (bytes == 0) return;
    if (tape->spares < SPARE_BLOCKS) {
        spare_block block = {memory, bytes};
        tape->spare[tape->spares++] = block;
    }
}

/* y = x, or y += x. */
static void copy_rows(attn_tape *tape, at_view x, at_view y, int adds) {
    at_copy_call call = {x, y, adds};
    at_tape_did(tape, tape->backend->run.copy(tape->context, &call));
}

/* Whether the gradient of a parameter was told to be complete: no operation that named its parameters comes
 * here then. */
static int was_told(attn_tape *tape, const attn_parameter *parameter) {
    if (!tape->first_uses || parameter->set != tape->told_of) return 0;
    const first_use *use = tape->first_uses[parameter->index];
    if (!use || (tape->last_use && use->node <= tape->last_use->node)) return 0;
    at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "an operation uses %s without naming it", parameter->name);
    return 1;
}

/* Where the gradient of a parameter goes. */
static at_slot *slot_of(const attn_tape *tape, attn_parameter *parameter) {
    return tape->gradients ? at_gradients_slot(tape->gradients, parameter->index) : &parameter->gradient;
}

/* Gives x the memory of its gradient; 0 with the error set. */
static int make_gradient(attn_tape *tape, attn_variable *x) {
    if (x->parameter) {
        x->gradient = at_slot_in_full(tape->context, x->parameter, slot_of(tape, x->parameter));
        x->gradient_stride = x->columns;
        x->mixed = 1; /* it may hold what earlier passes left: always add */
        if (!x->gradient)
            at_tape_fail(tape, ATTN_OUT_OF_MEMORY, "no memory for the gradient of %s", x->parameter->name);
        return x->gradient != NULL;
    }
    x->gradient = take_block(tape, (size_t)(x->rows * x->columns) * sizeof(float), &x->gradient_bytes);
    x->gradient_stride = x->columns;
    return x->gradient != NULL;
}

static void clear_columns(attn_tape *tape, attn_variable *whole, int64_t first, int64_t columns) {
    at_fill_call call = {at_view_of(whole->gradient + first, whole->rows, columns, whole->gradient_stride),
                         0.0f};
    at_tape_did(tape, tape->backend->run.fill(tape->context, &call));
}

/* A gradient that disjoint slices write is not cleared first. Whoever wants it
 * whole has the columns cleared that no slice has written. */
static void complete_gradient(attn_tape *tape, attn_variable *whole) {
    if (whole->mixed || !whole->gradient || !whole->slices) return;
    int64_t end = whole->columns; /* slices are linked from the last to the first */
    for (attn_variable *slice = whole->slices; slice; slice = slice->next_slice) {
        int64_t after = slice->first + slice->columns;
        if (after < end) clear_columns(tape, whole, after, end - after);
        if (!slice->gradient) clear_columns(tape, whole, slice->first, slice->columns);
        end = slice->first;
    }
    if (end > 0) clear_columns(tape, whole, 0, end);
    whole->mixed = 1;
}

/* Whether x's gradient is to be written, not added to, by who comes now; makes
 * its memory. -1: failed. */
static int gradient_is_fresh(attn_tape *tape, attn_variable *x) {
    attn_variable *whole = x->whole;
    if (whole) {
        if (!whole->gradient) {
            if (!make_gradient(tape, whole)) return -1;
            if (!whole->recorded && !whole->parameter) clear_columns(tape, whole, 0, whole->columns);
        }
        if (!x->disjoint) complete_gradient(tape, whole);
        int fresh = !x->gradient && !whole->mixed;
        x->gradient = whole->gradient + x->first;
        x->gradient_stride = whole->gradient_stride;
        return fresh;
    }
    int fresh = !x->gradient;
    if (fresh && !make_gradient(tape, x)) return -1;
    if (!fresh) complete_gradient(tape, x);
    if (x->parameter) fresh = 0;
    x->mixed = 1;
    return fresh;
}

at_gradient at_gradient_adding(attn_tape *tape, attn_variable *x, int *adds) {
    at_gradient g = {NULL, 0, 0, 0};
    *adds = 0;
    if (!at_wanted(x) || tape->status != ATTN_OK) return g;
    int fresh = gradient_is_fresh(tape, x);
    if (fresh < 0) return g;
    *adds = !fresh;
    g.data = x->gradient;
    g.stride = x->gradient_stride;
    return g;
}

at_gradient at_gradient_begin(attn_tape *tape, attn_variable *x) {
    at_gradient g = {NULL, 0, 0, 0};
    if (!at_wanted(x) || tape->status != ATTN_OK) return g;
    int fresh = gradient_is_fresh(tape, x);
    if (fresh < 0) return g;
    g.data = x->gradient;
    g.stride = x->gradient_stride;
    if (fresh) return g;
    g.adds = 1;
    g.stride = x->columns;
    g.data = take_block(tape, (size_t)(x->rows * x->columns) * sizeof(float), &g.bytes);
    return g;
}

void at_gradient_end(attn_tape *tape, attn_variable *x, at_gradient *gradient) {
    if (!gradient->data || !gradient->adds) return;
    copy_rows(tape, at_place_of(gradient, x), at_gradient_of(x), 1);
    give_block(tape, gradient->data, gradient->bytes);
    gradient->data = NULL;
}

int at_gradient_take(attn_tape *tape, attn_variable *x, attn_variable *output) {
    if (!at_wanted(x) || tape->status != ATTN_OK || x->gradient || x->whole || x->parameter ||
        !output->gradient_bytes || output->kept || x->rows != output->rows || x->columns != output->columns) {
        return 0;
    }
    x->gradient = output->gradient;
    x->gradient_bytes = output->gradient_bytes;
    x->gradient_stride = output->gradient_stride;
    x->mixed = 1;
    output->gradient_bytes = 0;
    return 1;
}

void at_gradient_pass(attn_tape *tape, attn_variable *x, attn_variable *output, int steal) {
    if (!at_wanted(x) || tape->status != ATTN_OK) return;
    if (steal && at_gradient_take(tape, x, output)) return;
    int fresh = gradient_is_fresh(tape, x);
    if (fresh < 0) return;
    copy_rows(tape, at_gradient_of(output), at_gradient_of(x), !fresh);
}

at_gradient at_parameter_gradient_begin(attn_tape *tape, attn_parameter *parameter) {
    at_gradient g = {NULL, 0, 0, 0};
    if (!at_parameter_wanted(tape, parameter) || tape->status != ATTN_OK || was_told(tape, parameter))
        return g;
    at_slot *slot = slot_of(tape, parameter);
    if (!at_slot_memory(tape->context, parameter, slot)) {
        at_tape_fail(tape, ATTN_OUT_OF_MEMORY, "no memory for the gradient of %s", parameter->name);
        return g;
    }
    g.data = slot->numbers;
    g.stride = parameter->columns;
    if (!slot->touched) {
        slot->touched = 1;
        return g;
    }
    g.adds = 1;
    g.data = take_block(tape, (size_t)parameter->count * sizeof(float), &g.bytes);
    return g;
}

void at_parameter_gradient_end(attn_tape *tape, attn_parameter *parameter, at_gradient *gradient) {
    if (!gradient->data || !gradient->adds) return;
    copy_rows(tape, at_view_of(gradient->data, 1, parameter->count, parameter->count),
              at_view_of(slot_of(tape, parameter)->numbers, 1, parameter->count, parameter->count), 1);
    give_block(tape, gradient->data, gradient->bytes);
    gradient->data = NULL;
}

float *at_parameter_gradient(attn_tape *tape, attn_parameter *parameter, const int64_t *rows, int64_t count) {
    if (was_told(tape, parameter)) return NULL;
    float *gradient = at_slot_for_rows(tape->context, parameter, slot_of(tape, parameter), rows, count);
    if (!gradient)
        at_tape_fail(tape, ATTN_OUT_OF_MEMORY, "no memory for the gradient of %s", parameter->name);
    return gradient;
}

/* ---- the backward pass ---- */

static void walk_node(attn_tape *tape, at_node *node) {
    attn_variable *output = node->output;
    if (!output->gradient) return;
    complete_gradient(tape, output);
    node->backward(tape, node);
    if (output->kept) return;
    give_block(tape, output->gradient, output->gradient_bytes);
    output->gradient = NULL;
    output->gradient_bytes = 0;
}

attn_status attn_tape_backward(attn_tape *tape, attn_variable *variable, const float *gradient) {
    if (!tape) return ATTN_INVALID_ARGUMENT;
    if (tape->status != ATTN_OK) return tape->status;
    if (!at_tape_has(tape, "backward", "variable", variable)) return tape->status;
    if (!at_recording(tape) || !variable->wanted || tape->walked) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "backward: %s",
                     tape->walked ? "a tape is walked back once; begin it again"
                                  : "nothing that learns was recorded");
        return tape->status;
    }
    tape->walked = 1;
    at_gradient g = at_gradient_begin(tape, variable);
    if (g.data && gradient) {
        at_tape_did(tape, at_host_write(tape->context, at_place_of(&g, variable), gradient));
    } else if (g.data) {
        at_fill_call ones = {at_place_of(&g, variable), 1.0f};
        at_tape_did(tape, tape->backend->run.fill(tape->context, &ones));
    }
    at_gradient_end(tape, variable, &g);
    for (at_node *node = tape->last; node && tape->status == ATTN_OK; node = node->previous) {
        walk_node(tape, node);
        tell_complete(tape, node->number);
    }
    return tape->status;
}

/* ---- running ---- */

attn_context *at_tape_context(const attn_tape *tape) { return tape->context; }
const at_backend_operators *at_tape_run(const attn_tape *tape) { return &tape->backend->run; }
int at_tape_did(attn_tape *tape, attn_status status) {
    if (status != ATTN_OK) at_tape_failed(tape, status);
    return status == ATTN_OK;
}

at_view at_data_of(const attn_variable *x) { return at_view_of(x->data, x->rows, x->columns, x->stride); }
at_view at_gradient_of(const attn_variable *y) {
    return at_view_of(y->gradient, y->rows, y->columns, y->gradient_stride);
}
at_view at_place_of(const at_gradient *gradient, const attn_variable *x) {
    return at_view_of(gradient->data, x->rows, x->columns, gradient->stride);
}
at_view at_value_of(const attn_parameter *parameter) {
    return at_view_of(parameter->value, parameter->rows, parameter->columns, parameter->columns);
}
