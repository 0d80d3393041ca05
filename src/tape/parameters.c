/* parameters.c: named parameters, their memory and how they start.
 *
 * Number i of a parameter is f(splitmix64(key + i)) with key from the set's
 * seed and the parameter's name, so that it depends on nothing else.
 */
#include "tape/parameters.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/random.h"

typedef struct block {
    struct block *next;
} block;

struct attn_parameters {
    attn_context *context;
    uint64_t seed;
    attn_parameter **list;
    int64_t count, room;
    block *blocks;
    at_parameter_source source; /* NULL: parameters start anew */
    void *source_user;
    attn_status status;
    char error[512];
};

static void *allocate(attn_context *context, size_t bytes) {
    return context->allocator.allocate(context->allocator.user, bytes, AT_ALIGNMENT);
}

/* Blocks begin with the link to the one before, in a cache line of its own. */
void *at_parameters_memory(attn_parameters *set, size_t bytes) {
    unsigned char *memory = bytes > SIZE_MAX / 4 ? NULL : allocate(set->context, bytes + AT_ALIGNMENT);
    if (!memory)
        return at_parameters_fail(set, ATTN_OUT_OF_MEMORY, "no memory for %zu bytes of parameters", bytes);
    ((block *)memory)->next = set->blocks;
    set->blocks = (block *)memory;
    return memory + AT_ALIGNMENT;
}

void *at_parameters_fail(attn_parameters *set, attn_status status, const char *format, ...) {
    if (set->status != ATTN_OK) return NULL;
    set->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(set->error, sizeof set->error, format, arguments);
    va_end(arguments);
    return NULL;
}

int at_parameters_ready(const attn_parameters *set) { return set && set->status == ATTN_OK; }

attn_status attn_parameters_create(attn_context *context, uint64_t seed, attn_parameters **parameters) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!parameters) return at_fail(context, ATTN_INVALID_ARGUMENT, "parameters is NULL");
    attn_parameters *set = allocate(context, sizeof *set);
    if (!set) return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for a set of parameters");
    memset(set, 0, sizeof *set);
    set->context = context;
    set->seed = seed;
    *parameters = set;
    return ATTN_OK;
}

void attn_parameters_destroy(attn_parameters *parameters) {
    if (!parameters) return;
    attn_allocator allocator = parameters->context->allocator;
    while (parameters->blocks) {
        block *next = parameters->blocks->next;
        allocator.release(allocator.user, parameters->blocks);
        parameters->blocks = next;
    }
    allocator.release(allocator.user, parameters);
}

void at_parameters_from(attn_parameters *set, at_parameter_source source, void *user) {
    set->source = source;
    set->source_user = user;
}

int at_parameters_start(const attn_parameters *set) { return !set->source; }

/* ---- how parameters start ---- */

void attn_parameter_options_init(attn_parameter_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->initial = ATTN_INITIAL_XAVIER;
    options->scale = 1.0f;
}

static double uniform(uint64_t key, uint64_t index) { /* in (0, 1) */
    return ((double)(at_splitmix64(key + index) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t key, uint64_t index) {
    const double turn = 6.283185307179586;
    return sqrt(-2.0 * log(uniform(key, 2 * index))) * cos(turn * uniform(key, 2 * index + 1));
}

static void fill(attn_parameter *p, attn_initial initial, double scale) {
    uint64_t key = at_splitmix64(p->set->seed);
    for (const char *c = p->name; *c; c++) key = at_splitmix64(key ^ (unsigned char)*c);
    double bound = scale;
    if (initial == ATTN_INITIAL_XAVIER) bound = scale * sqrt(6.0 / (double)(p->rows + p->columns));
    if (initial == ATTN_INITIAL_KAIMING) bound = scale * sqrt(3.0 / (double)p->columns);
    for (int64_t i = 0; i < p->count; i++) {
        double x = 0.0;
        switch (initial) {
        case ATTN_INITIAL_ZERO: break;
        case ATTN_INITIAL_CONSTANT: x = scale; break;
        case ATTN_INITIAL_NORMAL: x = scale * normal(key, (uint64_t)i); break;
        case ATTN_INITIAL_UNIFORM:
        case ATTN_INITIAL_XAVIER:
        case ATTN_INITIAL_KAIMING: x = bound * (2.0 * uniform(key, (uint64_t)i) - 1.0); break;
        }
        p->value[i] = (float)x;
    }
}

/* ---- adding ---- */

static int check_shape(attn_parameters *set, const char *name, int rank, const int64_t *shape) {
    if (rank < 1 || rank > ATTN_MAX_RANK || !shape) {
        at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "parameter %s: a rank of 1 to %d is needed, not %d",
                           name, ATTN_MAX_RANK, rank);
        return 0;
    }
    double count = 1.0;
    for (int d = 0; d < rank; d++) {
        if (shape[d] < 1) {
            at_parameters_fail(set, ATTN_INVALID_ARGUMENT,
                               "parameter %s: extent %d is %" PRId64 ", at least 1 is needed", name, d,
                               shape[d]);
            return 0;
        }
        count *= (double)shape[d];
    }
    if (count > 1.0e15) {
        at_parameters_fail(set, ATTN_OVERFLOW, "parameter %s has more numbers than can be held", name);
        return 0;
    }
    return 1;
}

static int make_room(attn_parameters *set) {
    if (set->count < set->room) return 1;
    int64_t room = set->room ? 2 * set->room : 64;
    attn_parameter **list = at_parameters_memory(set, (size_t)room * sizeof *list);
    if (!list) return 0;
    if (set->count) memcpy(list, set->list, (size_t)set->count * sizeof *list);
    set->list = list; /* the old one goes with the set */
    set->room = room;
    return 1;
}

attn_parameter *attn_parameters_add(attn_parameters *parameters, const char *name, int rank,
                                    const int64_t *shape, const attn_parameter_options *options) {
    if (!at_parameters_ready(parameters)) return NULL;
    attn_parameter_options defaults;
    attn_parameter_options_init(&defaults);
    if (!options) options = &defaults;
    if (!name || !*name)
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT, "a parameter needs a name");
    if (options->size != sizeof *options) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT,
                                  "parameter %s: call attn_parameter_options_init first", name);
    }
    if ((int)options->initial < ATTN_INITIAL_ZERO || (int)options->initial > ATTN_INITIAL_KAIMING ||
        (int)options->kind < ATTN_PARAMETER_WEIGHT || (int)options->kind > ATTN_PARAMETER_EMBEDDING) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT, "parameter %s: unknown kind or initial",
                                  name);
    }
    if (attn_parameters_find(parameters, name)) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT, "there is a parameter %s already", name);
    }
    if (!check_shape(parameters, name, rank, shape) || !make_room(parameters)) return NULL;
    attn_parameter *p = at_parameters_memory(parameters, sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->set = parameters;
    p->rank = rank;
    p->count = 1;
    for (int d = 0; d < rank; d++) p->count *= p->shape[d] = shape[d];
    p->rows = shape[0];
    p->columns = p->count / p->rows;
    p->kind = options->kind;
    p->frozen = options->frozen != 0;
    size_t length = strlen(name) + 1;
    p->name = at_parameters_memory(parameters, length);
    if (!p->name) return NULL;
    memcpy(p->name, name, length);
    if (parameters->source) {
        char reason[256] = "";
        p->value = parameters->source(parameters->source_user, name, rank, shape, reason, sizeof reason);
        if (!p->value) return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT, "%s", reason);
    } else {
        p->value = at_parameters_memory(parameters, (size_t)p->count * sizeof(float));
        if (!p->value) return NULL;
        fill(p, options->initial, options->scale);
    }
    parameters->list[parameters->count++] = p;
    return p;
}

/* ---- reading ---- */

attn_status attn_parameters_status(const attn_parameters *parameters) {
    return parameters ? parameters->status : ATTN_INVALID_ARGUMENT;
}
const char *attn_parameters_error(const attn_parameters *parameters) {
    return parameters ? parameters->error : "parameters is NULL";
}
attn_context *attn_parameters_context(const attn_parameters *parameters) {
    return parameters ? parameters->context : NULL;
}
int64_t attn_parameters_count(const attn_parameters *parameters) {
    return parameters ? parameters->count : 0;
}

attn_parameter *attn_parameters_at(const attn_parameters *parameters, int64_t index) {
    return parameters && index >= 0 && index < parameters->count ? parameters->list[index] : NULL;
}

attn_parameter *attn_parameters_find(const attn_parameters *parameters, const char *name) {
    for (int64_t i = 0; parameters && name && i < parameters->count; i++) {
        if (strcmp(parameters->list[i]->name, name) == 0) return parameters->list[i];
    }
    return NULL;
}

int64_t attn_parameters_size(const attn_parameters *parameters) {
    int64_t size = 0;
    for (int64_t i = 0; i < attn_parameters_count(parameters); i++) size += parameters->list[i]->count;
    return size;
}

void attn_parameters_clear_gradients(attn_parameters *parameters) {
    for (int64_t i = 0; i < attn_parameters_count(parameters); i++) parameters->list[i]->touched = 0;
}

const char *attn_parameter_name(const attn_parameter *parameter) { return parameter ? parameter->name : ""; }

attn_tensor attn_parameter_value(const attn_parameter *parameter) {
    attn_tensor none = {.rank = 0};
    return parameter ? attn_tensor_view(parameter->value, parameter->rank, parameter->shape) : none;
}

attn_tensor attn_parameter_gradient(attn_parameter *parameter) {
    attn_tensor none = {.rank = 0};
    if (!parameter || parameter->frozen) return none;
    return attn_tensor_view(at_parameter_gradient_in_full(parameter), parameter->rank, parameter->shape);
}

static float *gradient_memory(attn_parameter *parameter) {
    if (!parameter->gradient) {
        parameter->gradient = at_parameters_memory(parameter->set, (size_t)parameter->count * sizeof(float));
        parameter->touched = 0;
    }
    return parameter->gradient;
}

float *at_parameter_gradient_memory(attn_parameter *parameter) {
    parameter->written = NULL; /* who asks may write anywhere */
    return gradient_memory(parameter);
}

float *at_parameter_gradient_in_full(attn_parameter *parameter) {
    float *gradient = at_parameter_gradient_memory(parameter);
    if (gradient && !parameter->touched) memset(gradient, 0, (size_t)parameter->count * sizeof(float));
    parameter->touched = 1;
    return gradient;
}

/* 0 in all rows that the bits name, and no bits. */
static void clear_written(attn_parameter *parameter) {
    for (int64_t word = 0; word < (parameter->rows + 63) / 64; word++) {
        for (int64_t row = 64 * word; parameter->written[word] >> (row % 64); row++) {
            if (parameter->written[word] >> (row % 64) & 1) {
                memset(parameter->gradient + row * parameter->columns, 0,
                       (size_t)parameter->columns * sizeof(float));
            }
            if (row % 64 == 63) break;
        }
        parameter->written[word] = 0;
    }
}

float *at_parameter_gradient_for_rows(attn_parameter *parameter, const int64_t *rows, int64_t count) {
    float *gradient = gradient_memory(parameter);
    if (!gradient) return NULL;
    if (!parameter->touched && parameter->written) {
        clear_written(parameter);
    } else if (!parameter->touched) {
        size_t bytes = (size_t)((parameter->rows + 63) / 64) * sizeof(uint64_t);
        if (!parameter->row_bits) parameter->row_bits = at_parameters_memory(parameter->set, bytes);
        if (!parameter->row_bits) return NULL;
        parameter->written = parameter->row_bits;
        memset(parameter->written, 0, bytes);
        memset(gradient, 0, (size_t)parameter->count * sizeof(float));
    }
    parameter->touched = 1;
    for (int64_t i = 0; parameter->written && i < count; i++) {
        if (rows[i] >= 0) parameter->written[rows[i] / 64] |= (uint64_t)1 << (rows[i] % 64);
    }
    return gradient;
}

void attn_parameter_changed(attn_parameter *parameter) {
    if (parameter) parameter->packed_valid[0] = parameter->packed_valid[1] = 0;
}
attn_parameter_kind attn_parameter_kind_of(const attn_parameter *parameter) {
    return parameter ? parameter->kind : ATTN_PARAMETER_WEIGHT;
}
int attn_parameter_frozen(const attn_parameter *parameter) { return parameter ? parameter->frozen : 1; }
void attn_parameter_set_frozen(attn_parameter *parameter, int frozen) {
    if (parameter) parameter->frozen = frozen != 0;
}

/* ---- in kernel order ---- */

attn_status at_parameter_packed(attn_parameter *parameter, int transposed,
                                const attn_packed_weight **packed) {
    attn_context *context = parameter->set->context;
    transposed = transposed != 0;
    if (!parameter->packed_valid[transposed]) {
        size_t bytes;
        attn_tensor matrix = attn_tensor_matrix(parameter->value, parameter->rows, parameter->columns);
        attn_status status = attn_weight_packed_size(context, parameter->rows, parameter->columns, &bytes);
        if (status != ATTN_OK) return status;
        if (!parameter->packed_memory[transposed]) {
            parameter->packed_memory[transposed] = at_parameters_memory(parameter->set, bytes);
            if (!parameter->packed_memory[transposed]) {
                return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory to pack %s", parameter->name);
            }
        }
        status = attn_weight_pack(context, &matrix, transposed, parameter->packed_memory[transposed], bytes,
                                  &parameter->packed[transposed]);
        if (status != ATTN_OK) return status;
        parameter->packed_valid[transposed] = 1;
    }
    *packed = &parameter->packed[transposed];
    return ATTN_OK;
}
