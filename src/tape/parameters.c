/* parameters.c: named parameters, their memory and how they start.
 *
 * Number i of a parameter is f(splitmix64(key + i)) with key from the set's
 * seed and the parameter's name, so that it depends on nothing else.
 */
#include "tape/parameters.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/options.h"
#include "base/random.h"
#include "ops/backend.h"

typedef struct block {
    struct block *next;
} block;

struct attn_parameters {
    attn_context *context;
    uint64_t seed;
    attn_parameter **list;
    int64_t count, room;
    block *blocks;
    const at_backend *backend;
    attn_allocator numbers;     /* of tensor memory */
    at_parameter_source source; /* NULL: parameters start anew */
    void *source_user;
    pthread_mutex_t packing;
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

int at_parameters_did(attn_parameters *set, attn_status status) {
    if (status != ATTN_OK) at_parameters_fail(set, status, "%s", attn_context_error(set->context));
    return status == ATTN_OK;
}

int at_parameters_ready(const attn_parameters *set) { return set && set->status == ATTN_OK; }

attn_status attn_parameters_create(attn_context *context, uint64_t seed, attn_parameters **parameters) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!parameters) return at_fail(context, ATTN_INVALID_ARGUMENT, "parameters is NULL");
    attn_parameters *set = allocate(context, sizeof *set);
    if (!set) return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for a set of parameters");
    memset(set, 0, sizeof *set);
    if (pthread_mutex_init(&set->packing, NULL) != 0) {
        context->allocator.release(context->allocator.user, set);
        return at_fail(context, ATTN_SYSTEM_ERROR, "the system refused a lock");
    }
    set->context = context;
    set->backend = at_backend_of(context);
    set->numbers = set->backend->memory.allocator(context);
    set->seed = seed;
    *parameters = set;
    return ATTN_OK;
}

/* Tensor memory, which its parameter owns; NULL with the set's error set. */
static void *take_numbers(attn_parameters *set, size_t bytes) {
    void *memory =
        bytes > SIZE_MAX / 4 ? NULL : set->numbers.allocate(set->numbers.user, bytes, AT_ALIGNMENT);
    if (!memory) at_parameters_fail(set, ATTN_OUT_OF_MEMORY, "no memory for %zu bytes of parameters", bytes);
    return memory;
}

static void release_numbers(attn_parameter *p) {
    attn_allocator numbers = p->set->numbers;
    void *const owned[3] = {p->borrowed ? NULL : p->value, p->packed_memory[0], p->packed_memory[1]};
    for (int i = 0; i < 3; i++) {
        if (owned[i]) numbers.release(numbers.user, owned[i]);
    }
    at_slot_free(p, &p->gradient);
}

void attn_parameters_destroy(attn_parameters *parameters) {
    if (!parameters) return;
    for (int64_t i = 0; i < parameters->count; i++) release_numbers(parameters->list[i]);
    attn_allocator allocator = parameters->context->allocator;
    while (parameters->blocks) {
        block *next = parameters->blocks->next;
        allocator.release(allocator.user, parameters->blocks);
        parameters->blocks = next;
    }
    pthread_mutex_destroy(&parameters->packing);
    allocator.release(allocator.user, parameters);
}

void at_parameters_from(attn_parameters *set, at_parameter_source source, void *user) {
    set->source = source;
    set->source_user = user;
}

int at_parameters_start(const attn_parameters *set) { return !set->source; }

/* ---- how parameters start ---- */

void attn_parameter_options_init_sized(attn_parameter_options *options, size_t size) {
    attn_parameter_options own = {.size = sizeof own};
    own.initial = ATTN_INITIAL_XAVIER;
    own.scale = 1.0f;
    at_options_give(options, size, &own, sizeof own);
}

static double uniform(uint64_t key, uint64_t index) { /* in (0, 1) */
    return ((double)(at_splitmix64(key + index) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t key, uint64_t index) {
    const double turn = 6.283185307179586;
    return sqrt(-2.0 * log(uniform(key, 2 * index))) * cos(turn * uniform(key, 2 * index + 1));
}

/* Number i of a parameter that starts so; bound: of those that are uniform. */
static float initial_number(attn_initial initial, double scale, double bound, uint64_t key, int64_t i) {
    double x = 0.0;
    switch (initial) {
    case ATTN_INITIAL_ZERO: break;
    case ATTN_INITIAL_CONSTANT: x = scale; break;
    case ATTN_INITIAL_NORMAL: x = scale * normal(key, (uint64_t)i); break;
    case ATTN_INITIAL_UNIFORM:
    case ATTN_INITIAL_XAVIER:
    case ATTN_INITIAL_KAIMING: x = bound * (2.0 * uniform(key, (uint64_t)i) - 1.0); break;
    }
    return (float)x;
}

/* All numbers of a parameter that is to start so; each is a function of its index alone. */
typedef struct filling {
    attn_parameter *parameter;
    attn_initial initial;
    double scale, bound;
    uint64_t key;
} filling;

enum { FILL_PIECE = 1024 };

static int64_t fill_piece(const filling *all, int64_t piece, float *numbers) {
    int64_t first = piece * FILL_PIECE, left = all->parameter->count - first;
    int64_t count = left < FILL_PIECE ? left : FILL_PIECE;
    for (int64_t i = 0; i < count; i++)
        numbers[i] = initial_number(all->initial, all->scale, all->bound, all->key, first + i);
    return count;
}

static void fill_task(void *argument, int64_t task, int worker) {
    const filling *all = argument;
    (void)worker;
    fill_piece(all, task, all->parameter->value + task * FILL_PIECE);
}

/* On all threads; for memory that is not the host's, made there piece by piece. */
static attn_status fill(attn_parameter *p, attn_initial initial, double scale) {
    const double operations_a_number = 200; /* a logarithm and a cosine */
    const attn_context *context = p->set->context;
    filling all = {p, initial, scale, scale, at_splitmix64(p->set->seed)};
    for (const char *c = p->name; *c; c++) all.key = at_splitmix64(all.key ^ (unsigned char)*c);
    if (initial == ATTN_INITIAL_XAVIER) all.bound = scale * sqrt(6.0 / (double)(p->rows + p->columns));
    if (initial == ATTN_INITIAL_KAIMING) all.bound = scale * sqrt(3.0 / (double)p->columns);
    int64_t pieces = (p->count + FILL_PIECE - 1) / FILL_PIECE;
    if (p->set->backend->memory.on_host) {
        attn_parameter_changed(p);
        at_compute(context->pool, at_threads_for(context, operations_a_number * (double)p->count), pieces,
                   fill_task, &all);
        return ATTN_OK;
    }
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < pieces && status == ATTN_OK; i++) {
        float piece[FILL_PIECE];
        int64_t count = fill_piece(&all, i, piece);
        status = at_parameter_host_write(p, i * FILL_PIECE, count, piece);
    }
    return status;
}

attn_status at_parameter_fill(attn_parameter *parameter, int64_t first, int64_t count, float number) {
    at_fill_call call = {at_view_of(parameter->value + first, 1, count, count), number};
    attn_parameter_changed(parameter);
    return parameter->set->backend->run.fill(parameter->set->context, &call);
}

attn_status at_parameter_host_write(attn_parameter *parameter, int64_t first, int64_t count,
                                    const float *numbers) {
    attn_parameter_changed(parameter);
    return at_host_write(parameter->set->context, at_view_of(parameter->value + first, 1, count, count),
                         numbers);
}

attn_status at_parameter_host_read_gradient(attn_parameter *parameter, float *numbers) {
    const float *gradient = at_slot_in_full(parameter->set->context, parameter, &parameter->gradient);
    if (!gradient)
        return at_fail(parameter->set->context, ATTN_OUT_OF_MEMORY, "no memory for the gradient of %s",
                       parameter->name);
    return at_host_read(parameter->set->context, at_view_of(gradient, 1, parameter->count, parameter->count),
                        numbers);
}

attn_status at_parameter_host_read(const attn_parameter *parameter, int64_t first, int64_t count,
                                   float *numbers) {
    return at_host_read(parameter->set->context, at_view_of(parameter->value + first, 1, count, count),
                        numbers);
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

/* The value: from the set's source, where it lies if the host's memory is the backend's,
 * or as the options say. 0 with the error set. */
static int make_value(attn_parameter *p, const attn_parameter_options *options) {
    attn_parameters *set = p->set;
    float *given = NULL;
    if (set->source) {
        char reason[256] = "";
        given = set->source(set->source_user, p->name, p->rank, p->shape, reason, sizeof reason);
        if (!given) {
            at_parameters_fail(set, *reason ? ATTN_INVALID_ARGUMENT : ATTN_OUT_OF_MEMORY, "%s",
                               *reason ? reason : attn_context_error(set->context));
            return 0;
        }
    }
    p->borrowed = given && set->backend->memory.on_host;
    p->value = p->borrowed ? given : take_numbers(set, (size_t)p->count * sizeof(float));
    if (!p->value) return 0;
    attn_status status = ATTN_OK;
    if (!given) {
        status = fill(p, options->initial, options->scale);
    } else if (!p->borrowed) {
        status = at_parameter_host_write(p, 0, p->count, given);
    }
    return at_parameters_did(set, status);
}

attn_parameter *attn_parameters_add(attn_parameters *parameters, const char *name, int rank,
                                    const int64_t *shape, const attn_parameter_options *options) {
    if (!at_parameters_ready(parameters)) return NULL;
    attn_parameter_options own;
    char reason[AT_OPTIONS_TEXT];
    if (!name || !*name)
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT, "a parameter needs a name");
    attn_parameter_options_init(&own);
    attn_status status =
        at_options_take("options", "attn_parameter_options_init", options,
                        AT_FIRST_SIZE(attn_parameter_options, frozen), sizeof own, &own, reason);
    if (status != ATTN_OK) return at_parameters_fail(parameters, status, "parameter %s: %s", name, reason);
    options = &own;
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
    if (!make_value(p, options)) {
        release_numbers(p);
        return NULL;
    }
    p->index = parameters->count;
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
    for (int64_t i = 0; i < attn_parameters_count(parameters); i++) parameters->list[i]->gradient.touched = 0;
}

const char *attn_parameter_name(const attn_parameter *parameter) { return parameter ? parameter->name : ""; }

attn_tensor attn_parameter_value(const attn_parameter *parameter) {
    attn_tensor none = {.rank = 0};
    if (!parameter) return none;
    float *value = parameter->set->backend->memory.on_host ? parameter->value : NULL;
    return attn_tensor_view(value, parameter->rank, parameter->shape);
}

attn_tensor attn_parameter_gradient(attn_parameter *parameter) {
    attn_tensor none = {.rank = 0};
    if (!parameter || parameter->frozen) return none;
    float *gradient = at_slot_in_full(parameter->set->context, parameter, &parameter->gradient);
    if (!parameter->set->backend->memory.on_host) gradient = NULL;
    return attn_tensor_view(gradient, parameter->rank, parameter->shape);
}

void attn_parameter_changed(attn_parameter *parameter) {
    if (!parameter) return;
    atomic_store(&parameter->packed_valid[0], 0);
    atomic_store(&parameter->packed_valid[1], 0);
}
attn_parameter_kind attn_parameter_kind_of(const attn_parameter *parameter) {
    return parameter ? parameter->kind : ATTN_PARAMETER_WEIGHT;
}
int attn_parameter_frozen(const attn_parameter *parameter) { return parameter ? parameter->frozen : 1; }
void attn_parameter_set_frozen(attn_parameter *parameter, int frozen) {
    if (parameter) parameter->frozen = frozen != 0;
}

/* ---- in kernel order ---- */

static attn_status pack(attn_context *context, attn_parameter *parameter, int transposed) {
    const at_backend_operators *run = &parameter->set->backend->run;
    size_t bytes;
    attn_status status = run->packed_size(context, parameter->rows, parameter->columns, &bytes);
    if (status != ATTN_OK) return status;
    if (!parameter->packed_memory[transposed]) {
        attn_allocator numbers = parameter->set->backend->memory.allocator(context);
        parameter->packed_memory[transposed] = numbers.allocate(numbers.user, bytes, AT_ALIGNMENT);
        if (!parameter->packed_memory[transposed])
            return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory to pack %s", parameter->name);
    }
    at_pack_call call = {
        at_view_of(parameter->value, parameter->rows, parameter->columns, parameter->columns), transposed,
        parameter->packed_memory[transposed], bytes, &parameter->packed[transposed]};
    return run->pack(context, &call);
}

attn_status at_parameter_packed(attn_context *context, attn_parameter *parameter, int transposed,
                                const attn_packed_weight **packed) {
    transposed = transposed != 0;
    atomic_int *valid = &parameter->packed_valid[transposed];
    attn_status status = ATTN_OK;
    if (!atomic_load_explicit(valid, memory_order_acquire)) {
        pthread_mutex_lock(&parameter->set->packing); /* one worker packs, the others wait for it */
        if (!atomic_load(valid)) {
            status = pack(context, parameter, transposed);
            if (status == ATTN_OK) atomic_store_explicit(valid, 1, memory_order_release);
        }
        pthread_mutex_unlock(&parameter->set->packing);
    }
    if (status == ATTN_OK) *packed = &parameter->packed[transposed];
    return status;
}

int at_parameter_outdated(const attn_parameter *parameter, int transposed) {
    return parameter->packed_memory[transposed != 0] &&
           !atomic_load(&parameter->packed_valid[transposed != 0]);
}
