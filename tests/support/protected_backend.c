/* protected_backend.c: see the header. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "support/protected_backend.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "ops/cpu.h"
#include "support/check.h"

/* ---- the region ---- */

enum { BLOCKS = 4096, PAGE = 4096 };
static const size_t region_bytes = (size_t)4 << 30; /* of addresses; memory is used unchanged used */

typedef struct region_block {
    size_t first, bytes; /* in the order of their places */
} region_block;

static struct {
    pthread_mutex_t mutex;
    unsigned char *memory;
    region_block block[BLOCKS];
    int blocks, depth; /* depth: calls that are inside */
    size_t end;        /* of the last block that ever was */
    long openings;
} region = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void protect(int how) {
    if (region.end && mprotect(region.memory, region.end, how) != 0) fail_msg("mprotect failed");
}

static void enter(void) {
    pthread_mutex_lock(&region.mutex);
    if (region.depth++ == 0) protect(PROT_READ | PROT_WRITE);
    region.openings++;
    pthread_mutex_unlock(&region.mutex);
}

static attn_status leave(attn_status status) {
    pthread_mutex_lock(&region.mutex);
    if (--region.depth == 0) protect(PROT_NONE);
    pthread_mutex_unlock(&region.mutex);
    return status;
}

/* The first gap that is large enough. */
static void *allocate(void *user, size_t bytes, size_t alignment) {
    (void)user;
    (void)alignment; /* a page is aligned to all that is requested */
    pthread_mutex_lock(&region.mutex);
    if (!region.memory) {
        void *memory =
            mmap(NULL, region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) fail_msg("mmap failed");
        region.memory = memory;
    }
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    int place = 0;
    size_t first = 0;
    while (place < region.blocks && region.block[place].first - first < bytes) {
        first = region.block[place].first + region.block[place].bytes;
        place++;
    }
    unsigned char *memory = NULL;
    if (region.blocks < BLOCKS && first + bytes <= region_bytes) {
        memmove(region.block + place + 1, region.block + place,
                (size_t)(region.blocks - place) * sizeof *region.block);
        region_block made = {first, bytes};
        region.block[place] = made;
        region.blocks++;
        if (region.end < first + bytes) region.end = first + bytes;
        if (region.depth > 0) protect(PROT_READ | PROT_WRITE);
        memory = region.memory + first;
    }
    pthread_mutex_unlock(&region.mutex);
    return memory;
}

static void release(void *user, void *memory) {
    (void)user;
    pthread_mutex_lock(&region.mutex);
    size_t first = (size_t)((unsigned char *)memory - region.memory);
    int place = 0;
    while (place < region.blocks && region.block[place].first != first) place++;
    if (place == region.blocks) fail_msg("this is no tensor memory");
    madvise(memory, region.block[place].bytes, MADV_DONTNEED);
    region.blocks--;
    memmove(region.block + place, region.block + place + 1,
            (size_t)(region.blocks - place) * sizeof *region.block);
    pthread_mutex_unlock(&region.mutex);
}

size_t test_protected_bytes(void) {
    size_t bytes = 0;
    for (int b = 0; b < region.blocks; b++) bytes += region.block[b].bytes;
    return bytes;
}

long test_protected_openings(void) { return region.openings; }

/* ---- memory ---- */

static attn_allocator allocator_of(attn_context *context) {
    (void)context;
    attn_allocator allocator = {allocate, release, NULL};
    return allocator;
}

static attn_status clear(attn_context *context, void *memory, size_t bytes) {
    enter();
    return leave(at_cpu_backend.memory.clear(context, memory, bytes));
}

static attn_status copy(attn_context *context, void *to, const void *from, size_t bytes) {
    enter();
    return leave(at_cpu_backend.memory.copy(context, to, from, bytes));
}

/* ---- operators: the CPU's, between opening and closing ---- */

#define GUARDED(name, type)                                                                                  \
    static attn_status guarded_##name(attn_context *context, const type *call) {                             \
        enter();                                                                                             \
        return leave(at_cpu_##name(context, call));                                                          \
    }

GUARDED(fill, at_fill_call)
GUARDED(copy, at_copy_call)
GUARDED(add, at_binary_call)
GUARDED(multiply, at_binary_call)
GUARDED(scale, at_scale_call)
GUARDED(column_sums, at_column_sums_call)
GUARDED(activation, at_activation_call)
GUARDED(activation_backward, at_activation_backward_call)
GUARDED(activation_undo, at_activation_undo_call)
GUARDED(gate, at_gate_call)
GUARDED(gate_backward, at_gate_backward_call)
GUARDED(dropout, at_dropout_call)
GUARDED(residual, at_dropout_call)
GUARDED(softmax, at_rows_call)
GUARDED(softmax_backward, at_rows_backward_call)
GUARDED(log_softmax, at_rows_call)
GUARDED(log_softmax_backward, at_rows_backward_call)
GUARDED(norm, at_norm_call)
GUARDED(norm_backward, at_norm_backward_call)
GUARDED(gather, at_gather_call)
GUARDED(add_rows, at_add_rows_call)
GUARDED(clear_rows, at_clear_rows_call)
GUARDED(take_rows, at_take_rows_call)
GUARDED(gather_columns, at_gather_columns_call)
GUARDED(gather_columns_backward, at_gather_columns_call)
GUARDED(bag, at_bag_call)
GUARDED(pool, at_pool_call)
GUARDED(pool_backward, at_pool_call)
GUARDED(pool_attention, at_pool_attention_call)
GUARDED(pool_attention_backward, at_pool_attention_backward_call)
GUARDED(window, at_window_call)
GUARDED(window_backward, at_window_call)
GUARDED(convolution, at_convolution_call)
GUARDED(convolution_backward, at_convolution_backward_call)
GUARDED(recurrent, at_recurrent_call)
GUARDED(recurrent_backward, at_recurrent_call)
GUARDED(recurrent_bias, at_recurrent_bias_call)
GUARDED(recurrent_before, at_recurrent_before_call)
GUARDED(rotary_angles, at_rotary_angles_call)
GUARDED(rotary, at_rotary_call)
GUARDED(pack, at_pack_call)
GUARDED(matmul, at_matmul_call)
GUARDED(matmul_backward, at_matmul_backward_call)
GUARDED(attention, at_attention_forward_call)
GUARDED(attention_backward, at_attention_backward_call)
GUARDED(cross_entropy, at_cross_entropy_call)
GUARDED(cross_entropy_backward, at_cross_entropy_call)
GUARDED(element_loss, at_element_loss_call)
GUARDED(element_loss_backward, at_element_loss_call)
GUARDED(crf, at_crf_call)
GUARDED(crf_backward, at_crf_call)
GUARDED(crf_decode, at_crf_call)
GUARDED(crf_marginals, at_crf_call)
GUARDED(ctc, at_ctc_call)
GUARDED(ctc_backward, at_ctc_call)
GUARDED(transducer, at_transducer_call)
GUARDED(transducer_backward, at_transducer_call)
GUARDED(gradient_squares, at_update_call)
GUARDED(update, at_update_call)
GUARDED(swap_average, at_update_call)

static const at_backend protected_backend = {
    .name = "protected",
    .memory = {.allocator = allocator_of, .clear = clear, .copy = copy, .upload = copy, .download = copy},
    .run = {
        .packed_size = attn_weight_packed_size,
        .fill = guarded_fill,
        .copy = guarded_copy,
        .add = guarded_add,
        .multiply = guarded_multiply,
        .scale = guarded_scale,
        .column_sums = guarded_column_sums,
        .activation = guarded_activation,
        .activation_backward = guarded_activation_backward,
        .activation_undo = guarded_activation_undo,
        .gate = guarded_gate,
        .gate_backward = guarded_gate_backward,
        .dropout = guarded_dropout,
        .residual = guarded_residual,
        .softmax = guarded_softmax,
        .softmax_backward = guarded_softmax_backward,
        .log_softmax = guarded_log_softmax,
        .log_softmax_backward = guarded_log_softmax_backward,
        .norm = guarded_norm,
        .norm_backward = guarded_norm_backward,
        .gather = guarded_gather,
        .add_rows = guarded_add_rows,
        .clear_rows = guarded_clear_rows,
        .take_rows = guarded_take_rows,
        .gather_columns = guarded_gather_columns,
        .gather_columns_backward = guarded_gather_columns_backward,
        .bag = guarded_bag,
        .pool = guarded_pool,
        .pool_backward = guarded_pool_backward,
        .pool_attention = guarded_pool_attention,
        .pool_attention_backward = guarded_pool_attention_backward,
        .window = guarded_window,
        .window_backward = guarded_window_backward,
        .convolution = guarded_convolution,
        .convolution_backward = guarded_convolution_backward,
        .recurrent = guarded_recurrent,
        .recurrent_backward = guarded_recurrent_backward,
        .recurrent_bias = guarded_recurrent_bias,
        .recurrent_before = guarded_recurrent_before,
        .rotary_angles = guarded_rotary_angles,
        .rotary = guarded_rotary,
        .pack = guarded_pack,
        .matmul = guarded_matmul,
        .matmul_backward = guarded_matmul_backward,
        .attention = guarded_attention,
        .attention_backward = guarded_attention_backward,
        .cross_entropy = guarded_cross_entropy,
        .cross_entropy_backward = guarded_cross_entropy_backward,
        .element_loss = guarded_element_loss,
        .element_loss_backward = guarded_element_loss_backward,
        .crf = guarded_crf,
        .crf_backward = guarded_crf_backward,
        .crf_decode = guarded_crf_decode,
        .crf_marginals = guarded_crf_marginals,
        .ctc = guarded_ctc,
        .ctc_backward = guarded_ctc_backward,
        .transducer = guarded_transducer,
        .transducer_backward = guarded_transducer_backward,
        .gradient_squares = guarded_gradient_squares,
        .update = guarded_update,
        .swap_average = guarded_swap_average,
    }};

const at_backend *test_protected_backend(void) { return &protected_backend; }
