/* gradients.c: gradients of parameters, each with a note of which rows were written. */
#include "tape/gradients.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "ops/backend.h"
#include "tape/parameters.h"

struct at_gradients {
    attn_context *context;
    attn_parameters *set;
    int64_t count;
    int own;        /* the slots are those of the parameters */
    at_slot *slots; /* else [count] */
};

/* ---- one parameter ---- */

static size_t bit_bytes(const attn_parameter *parameter) {
    return (size_t)((parameter->rows + 63) / 64) * sizeof(uint64_t);
}

static float *numbers_of(attn_context *context, const attn_parameter *parameter, at_slot *slot) {
    if (slot->numbers) return slot->numbers;
    attn_allocator allocator = at_backend_of(context)->memory.allocator(context);
    slot->numbers =
        allocator.allocate(allocator.user, (size_t)parameter->count * sizeof(float), AT_ALIGNMENT);
    slot->touched = 0;
    return slot->numbers;
}

static int clear_all(attn_context *context, const attn_parameter *parameter, at_slot *slot) {
    size_t bytes = (size_t)parameter->count * sizeof(float);
    return at_backend_of(context)->memory.clear(context, slot->numbers, bytes) == ATTN_OK;
}

/* 0 in all rows that the bits name, and no bits. */
static int clear_written(attn_context *context, const attn_parameter *parameter, at_slot *slot) {
    at_clear_rows_call call = {
        slot->written, at_view_of(slot->numbers, parameter->rows, parameter->columns, parameter->columns)};
    if (at_backend_of(context)->run.clear_rows(context, &call) != ATTN_OK) return 0;
    memset(slot->written, 0, bit_bytes(parameter));
    return 1;
}

float *at_slot_memory(attn_context *context, attn_parameter *parameter, at_slot *slot) {
    slot->written = NULL; /* who asks may write anywhere */
    return numbers_of(context, parameter, slot);
}

float *at_slot_in_full(attn_context *context, attn_parameter *parameter, at_slot *slot) {
    float *numbers = at_slot_memory(context, parameter, slot);
    if (numbers && !slot->touched && !clear_all(context, parameter, slot)) return NULL;
    slot->touched = 1;
    return numbers;
}

float *at_slot_for_rows(attn_context *context, attn_parameter *parameter, at_slot *slot, const int64_t *rows,
                        int64_t count) {
    float *numbers = numbers_of(context, parameter, slot);
    if (!numbers) return NULL;
    if (!slot->touched && slot->written) {
        if (!clear_written(context, parameter, slot)) return NULL;
    } else if (!slot->touched) {
        if (!slot->row_bits)
            slot->row_bits = at_allocate(context, (parameter->rows + 63) / 64, sizeof *slot->row_bits,
                                         "the rows of a gradient");
        if (!slot->row_bits || !clear_all(context, parameter, slot)) return NULL;
        slot->written = slot->row_bits;
        memset(slot->written, 0, bit_bytes(parameter));
    }
    slot->touched = 1;
    for (int64_t i = 0; slot->written && i < count; i++) {
        if (rows[i] >= 0) slot->written[rows[i] / 64] |= (uint64_t)1 << (rows[i] % 64);
    }
    return numbers;
}

void at_slot_free(const attn_parameter *parameter, at_slot *slot) {
    attn_context *context = attn_parameters_context(parameter->set);
    attn_allocator allocator = at_backend_of(context)->memory.allocator(context);
    if (slot->numbers) allocator.release(allocator.user, slot->numbers);
    at_release(context, slot->row_bits);
    memset(slot, 0, sizeof *slot);
}

/* ---- all parameters ---- */

attn_status at_gradients_create(attn_context *context, attn_parameters *set, int own,
                                at_gradients **gradients) {
    at_gradients *made = at_allocate(context, 1, sizeof *made, "gradients");
    if (!made) return ATTN_OUT_OF_MEMORY;
    *made = (at_gradients){.context = context, .set = set, .count = attn_parameters_count(set), .own = own};
    if (!own) {
        made->slots = at_allocate(context, made->count, sizeof *made->slots, "gradients");
        if (!made->slots) {
            at_release(context, made);
            return ATTN_OUT_OF_MEMORY;
        }
    }
    *gradients = made;
    return ATTN_OK;
}

void at_gradients_destroy(at_gradients *gradients) {
    if (!gradients) return;
    for (int64_t i = 0; i < gradients->count && !gradients->own; i++)
        at_slot_free(attn_parameters_at(gradients->set, i), &gradients->slots[i]);
    at_release(gradients->context, gradients->slots);
    at_release(gradients->context, gradients);
}

int64_t at_gradients_count(const at_gradients *gradients) { return gradients->count; }

attn_parameter *at_gradients_parameter(const at_gradients *gradients, int64_t index) {
    return attn_parameters_at(gradients->set, index);
}

at_slot *at_gradients_slot(const at_gradients *gradients, int64_t index) {
    return gradients->own ? &attn_parameters_at(gradients->set, index)->gradient : &gradients->slots[index];
}

void at_gradients_clear(at_gradients *gradients) {
    for (int64_t i = 0; i < gradients->count; i++) at_gradients_slot(gradients, i)->touched = 0;
}

/* ---- adding ---- */

static attn_status add_numbers(attn_context *context, float *into, const float *from, int64_t count) {
    at_copy_call call = {at_view_of(from, 1, count, count), at_view_of(into, 1, count, count), 1};
    return at_backend_of(context)->run.copy(context, &call);
}

/* The rows whose bits are set. Those of `from` are 0 afterwards, so that nothing is left to clear. */
static attn_status take_rows(attn_context *context, const attn_parameter *parameter, at_slot *into,
                             const at_slot *from) {
    int64_t rows = parameter->rows, columns = parameter->columns;
    at_take_rows_call call = {from->written, at_view_of(from->numbers, rows, columns, columns),
                              at_view_of(into->numbers, rows, columns, columns)};
    attn_status status = at_backend_of(context)->run.take_rows(context, &call);
    if (status != ATTN_OK) return status;
    for (int64_t w = 0; w < (rows + 63) / 64; w++) {
        if (into->written) into->written[w] |= from->written[w];
        from->written[w] = 0;
    }
    return ATTN_OK;
}

attn_status at_gradients_add(attn_context *context, at_gradients *into, at_gradients *from, int64_t index) {
    const attn_parameter *parameter = attn_parameters_at(into->set, index);
    at_slot *to = at_gradients_slot(into, index), *of = at_gradients_slot(from, index);
    if (!of->touched) return ATTN_OK;
    if (!to->touched) { /* they exchange their memory */
        at_slot kept = *to;
        *to = *of;
        *of = kept;
        return ATTN_OK;
    }
    attn_status status = ATTN_OK;
    if (of->written) {
        status = take_rows(context, parameter, to, of);
    } else {
        to->written = NULL;
        status = add_numbers(context, to->numbers, of->numbers, parameter->count);
    }
    of->touched = 0;
    return status;
}
