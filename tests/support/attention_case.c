/* attention_case.c: builds the attention call that a test_case describes. */
#include "support/attention_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

const char *const tensor_names[TENSORS] = {"query",    "key",     "value",  "bias",           "distance_bias",
                                           "d_output", "output",  "lse",    "weights",        "d_query",
                                           "d_key",    "d_value", "d_bias", "d_distance_bias"};

test_case case_simple(int64_t queries, int64_t keys) {
    test_case c = {.sequences = 1, .heads = 1, .kv_heads = 1, .d_k = 16, .d_v = 16};
    c.queries[0] = queries;
    c.keys[0] = keys;
    c.left = c.right = ATTN_UNLIMITED;
    c.distance_reach = -1;
    c.amplitude = 1.0f;
    c.seed = 1;
    return c;
}

static int64_t random_channels(test_random *random) {
    static const int64_t usual[] = {1, 3, 8, 16, 24, 32, 40, 64, 80, 100, 128};
    if (random_chance(random, 3)) return random_between(random, 129, 512);
    return random_chance(random, 30) ? random_between(random, 1, 70) : usual[random_between(random, 0, 10)];
}

static void random_lengths(test_random *random, int64_t longest, test_case *c) {
    c->sequences = random_chance(random, 50) ? 1 : (int)random_between(random, 1, 5);
    bool self = random_chance(random, 50);
    for (int b = 0; b < c->sequences; b++) {
        int64_t most = random_chance(random, 50) ? longest : longest / 4;
        c->queries[b] = random_between(random, 0, most);
        c->keys[b] = self ? c->queries[b] : random_between(random, 0, most);
    }
}

test_case case_random(test_random *random, int64_t longest) {
    static const int64_t head_layouts[][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 2}, {4, 1}, {6, 3}, {3, 1}, {5, 5}};
    test_case c = case_simple(0, 0);
    random_lengths(random, longest, &c);
    int64_t heads = random_between(random, 0, 7);
    c.heads = head_layouts[heads][0];
    c.kv_heads = head_layouts[heads][1];
    c.d_k = random_channels(random);
    c.d_v = random_chance(random, 50) ? c.d_k : random_channels(random);
    c.layout = (case_layout)random_between(random, 0, LAYOUTS - 1);
    if (random_chance(random, 50)) c.left = random_between(random, 0, longest / 2);
    if (random_chance(random, 50))
        c.right = random_chance(random, 50) ? 0 : random_between(random, 0, longest / 2);
    c.align = random_chance(random, 50) ? ATTN_ALIGN_START : ATTN_ALIGN_END;
    if (random_chance(random, 40)) c.mask = (case_mask)random_between(random, 1, MASKS - 1);
    c.bias = random_chance(random, 40);
    c.bias_shared = (int)random_between(random, 0, 15);
    c.bias_order = (case_order)random_between(random, 0, ORDERS - 1);
    c.bias_infinities = random_chance(random, 30);
    if (random_chance(random, 30)) c.distance_reach = random_between(random, 0, longest / 2);
    c.distance_shared = random_chance(random, 30);
    c.distance_infinities = random_chance(random, 20);
    c.alibi = random_chance(random, 25);
    if (random_chance(random, 40))
        c.scale = 0.01f * (float)random_between(random, 1, 60) / sqrtf((float)c.d_k);
    if (random_chance(random, 30)) c.softcap = 0.5f * (float)random_between(random, 1, 40);
    if (random_chance(random, 35)) c.dropout = 0.01f * (float)random_between(random, 1, 95);
    c.first_sequence = random_between(random, 0, 1000);
    c.amplitude = random_chance(random, 20) ? 4.0f : 1.0f;
    c.seed = random_bits(random);
    c.weights = random_chance(random, 50);
    c.bias_groups = c.seed % 3 == 0;
    return c;
}

static bool is_batched(const test_case *c) { return c->layout >= LAYOUT_BNHD; }

static int64_t longest_of(const int64_t *lengths, int sequences) {
    int64_t most = 0;
    for (int b = 0; b < sequences; b++) most = lengths[b] > most ? lengths[b] : most;
    return most;
}

void case_describe(const test_case *c, char *text, size_t bytes) {
    size_t used = 0;
#define ADD(...)                                                                                             \
    do {                                                                                                     \
        int more = snprintf(text + used, bytes - used, __VA_ARGS__);                                         \
        used = more < 0 || used + (size_t)more >= bytes ? bytes - 1 : used + (size_t)more;                   \
    } while (0)
    ADD("queries x keys");
    for (int b = 0; b < c->sequences; b++) ADD(" %dx%d", (int)c->queries[b], (int)c->keys[b]);
    ADD(", heads %d/%d, d_k %d, d_v %d, layout %d, reach %d/%d, align %d, mask %d", (int)c->heads,
        (int)c->kv_heads, (int)c->d_k, (int)c->d_v, (int)c->layout, (int)c->left, (int)c->right,
        (int)c->align, (int)c->mask);
    if (c->bias)
        ADD(", bias shared %d order %d inf %d groups %d", c->bias_shared, (int)c->bias_order,
            c->bias_infinities, c->bias_groups);
    if (c->distance_reach >= 0)
        ADD(", distance %d shared %d inf %d", (int)c->distance_reach, c->distance_shared,
            c->distance_infinities);
    ADD(", alibi %d, scale %g, softcap %g, dropout %g, first %d, amplitude %g, seed 0x%llx, weights %d",
        c->alibi, (double)c->scale, (double)c->softcap, (double)c->dropout, (int)c->first_sequence,
        (double)c->amplitude, (unsigned long long)c->seed, c->weights);
#undef ADD
}

int64_t view_count(const attn_tensor *view) {
    int64_t count = 1;
    for (int r = 0; r < view->rank; r++) count *= view->shape[r];
    return count;
}

float *view_element(const attn_tensor *view, int64_t index) {
    float *element = view->data;
    for (int r = view->rank - 1; r >= 0; r--) {
        element += index % view->shape[r] * view->stride[r];
        index /= view->shape[r];
    }
    return element;
}

/* Memory for a view of the given shape and strides, filled with `fill`. */
static void add_tensor(problem *p, tensor_id id, memory_kind kind, int rank, const int64_t *shape,
                       const int64_t *stride, float fill) {
    attn_tensor *view = &p->tensor[id];
    int64_t lowest = 0, highest = 0;
    *view = attn_tensor_view(NULL, rank, shape);
    for (int r = 0; r < rank; r++) {
        view->stride[r] = stride[r];
        int64_t last = shape[r] > 0 ? (shape[r] - 1) * stride[r] : 0;
        if (last < 0) lowest += last;
        if (last > 0) highest += last;
    }
    p->count[id] = view_count(view);
    size_t elements = p->count[id] > 0 ? (size_t)(highest - lowest + 1) : 0;
    p->memory[id] = memory_create(kind, elements * sizeof(float));
    float *memory = p->memory[id].data;
    for (size_t e = 0; e < elements; e++) memory[e] = fill;
    view->data = elements > 0 ? memory - lowest : memory;
}

/* Strides of sequence, row, head and channel for (n rows, heads, d channels). */
static void layout_strides(case_layout layout, int64_t n, int64_t heads, int64_t d, int64_t stride[4]) {
    static const int64_t unused = 0;
    int64_t by_rows[4] = {n * heads * d, heads * d, d, 1};
    int64_t by_heads[4] = {heads * n * d, d, n * d, 1};
    int64_t padded[4] = {unused, heads * (d + 3) + 5, d + 3, 1};
    int64_t spread[4] = {unused, 3 * heads * d + 1, 3 * d, 3};
    int64_t transposed[4] = {unused, 1, n * d, n};
    int64_t reversed[4] = {unused, -heads * d, d, 1};
    const int64_t *chosen[LAYOUTS] = {by_rows,  by_heads, padded,   spread,  transposed,
                                      reversed, by_rows,  by_heads, by_heads};
    memcpy(stride, chosen[layout], 4 * sizeof(int64_t));
}

/* A tensor of rows x heads x d (d 0: rows x heads), in the case's layout. */
static void add_rows(problem *p, tensor_id id, memory_kind kind, int64_t rows, int64_t heads, int64_t d,
                     float fill) {
    int64_t stride[4], shape[4] = {p->c.sequences, rows, heads, d};
    layout_strides(p->c.layout, rows, heads, d > 0 ? d : 1, stride);
    int skip = is_batched(&p->c) ? 0 : 1;
    add_tensor(p, id, kind, (d > 0 ? 4 : 3) - skip, shape + skip, stride + skip, fill);
}

static void fill_input(problem *p, tensor_id id, test_random *random, float amplitude) {
    for (int64_t e = 0; e < p->count[id]; e++)
        *view_element(&p->tensor[id], e) = amplitude * random_normal(random);
}

static ref_tensor keep_exact(problem *p, tensor_id id) {
    const attn_tensor *view = &p->tensor[id];
    p->exact[id] = malloc((size_t)(p->count[id] + 1) * sizeof(double));
    assert_non_null(p->exact[id]);
    for (int64_t e = 0; e < p->count[id]; e++) p->exact[id][e] = (double)*view_element(view, e);
    ref_tensor exact = {.data = p->exact[id], .rank = view->rank};
    int64_t step = 1;
    for (int r = view->rank - 1; r >= 0; r--) {
        exact.shape[r] = view->shape[r];
        exact.stride[r] = step;
        step *= view->shape[r];
    }
    return exact;
}

/* Rows that belong to no sequence must not be read: they are made NaN. */
static void poison_room(problem *p, tensor_id id, const int64_t *lengths) {
    if (!is_batched(&p->c)) return;
    const attn_tensor *view = &p->tensor[id];
    int64_t a_row = view->shape[2] * view->shape[3];
    for (int64_t e = 0; e < p->count[id]; e++)
        if (e / a_row % view->shape[1] >= lengths[e / a_row / view->shape[1]]) *view_element(view, e) = NAN;
}

static void make_rows(problem *p, memory_kind kind, test_random *random) {
    const test_case *c = &p->c;
    int64_t room = c->layout == LAYOUT_ROOM ? 3 : 0;
    int64_t query_rows = longest_of(c->queries, c->sequences) + room;
    int64_t key_rows = longest_of(c->keys, c->sequences) + room;
    if (!is_batched(c)) query_rows = key_rows = 0;
    for (int b = 0; b < c->sequences; b++) {
        p->first_query[b] = is_batched(c) ? b * query_rows : query_rows;
        p->first_key[b] = is_batched(c) ? b * key_rows : key_rows;
        if (!is_batched(c)) query_rows += c->queries[b];
        if (!is_batched(c)) key_rows += c->keys[b];
    }
    add_rows(p, QUERY, kind, query_rows, c->heads, c->d_k, NAN);
    add_rows(p, KEY, kind, key_rows, c->kv_heads, c->d_k, NAN);
    add_rows(p, VALUE, kind, key_rows, c->kv_heads, c->d_v, NAN);
    add_rows(p, D_OUTPUT, kind, query_rows, c->heads, c->d_v, NAN);
    add_rows(p, OUTPUT, kind, query_rows, c->heads, c->d_v, CANARY);
    add_rows(p, LOG_SUM_EXP, kind, query_rows, c->heads, 0, CANARY);
    add_rows(p, D_QUERY, kind, query_rows, c->heads, c->d_k, CANARY);
    add_rows(p, D_KEY, kind, key_rows, c->kv_heads, c->d_k, CANARY);
    add_rows(p, D_VALUE, kind, key_rows, c->kv_heads, c->d_v, CANARY);
    fill_input(p, QUERY, random, c->amplitude);
    fill_input(p, KEY, random, c->amplitude);
    fill_input(p, VALUE, random, 1.0f);
    fill_input(p, D_OUTPUT, random, 1.0f);
    poison_room(p, QUERY, c->queries);
    poison_room(p, KEY, c->keys);
    poison_room(p, VALUE, c->keys);
    poison_room(p, D_OUTPUT, c->queries);
}

/* Offsets of a 3-d call, or lengths of a 4-d one; NULL where not needed. */
static const int64_t *make_lengths(problem *p, memory_kind kind, int which, const int64_t *lengths,
                                   int64_t rows) {
    const test_case *c = &p->c;
    bool needed = is_batched(c) ? c->layout == LAYOUT_ROOM : c->sequences > 1;
    for (int b = 0; is_batched(c) && b < c->sequences; b++) needed = needed || lengths[b] != rows;
    if (!needed) return NULL;
    size_t entries = (size_t)c->sequences + (is_batched(c) ? 0 : 1);
    p->offset_memory[which] = memory_create(kind, entries * sizeof(int64_t));
    int64_t *array = p->offset_memory[which].data, sum = 0;
    for (int b = 0; b < c->sequences; b++) {
        array[b] = is_batched(c) ? lengths[b] : sum;
        sum += lengths[b];
    }
    if (!is_batched(c)) array[c->sequences] = sum;
    return array;
}

static void make_pattern(problem *p, memory_kind kind) {
    const test_case *c = &p->c;
    attn_pattern *pattern = &p->pattern;
    attn_pattern_init(pattern);
    pattern->left = c->left;
    pattern->right = c->right;
    pattern->align = c->align;
    const int64_t *queries =
        make_lengths(p, kind, 0, c->queries, is_batched(c) ? p->tensor[QUERY].shape[1] : 0);
    const int64_t *keys = make_lengths(p, kind, 1, c->keys, is_batched(c) ? p->tensor[KEY].shape[1] : 0);
    if (!queries && !keys) return;
    pattern->sequences = c->sequences;
    if (is_batched(c)) {
        pattern->query_lengths = queries;
        pattern->key_lengths = keys;
    } else {
        bool self = memcmp(c->queries, c->keys, (size_t)c->sequences * sizeof(int64_t)) == 0;
        pattern->query_offsets = queries;
        pattern->key_offsets = self && c->seed % 2 ? NULL : keys;
    }
}

static bool mask_bit(const test_case *c, test_random *random, int64_t j) {
    if (c->mask == MASK_SPARSE) return random_chance(random, 12);
    if (c->mask == MASK_BLOCKS && j / 64 % 2 == 0) return false;
    return random_chance(random, 75);
}

static void make_mask(problem *p, memory_kind kind, test_random *random) {
    const test_case *c = &p->c;
    attn_mask *mask = &p->pattern.mask;
    if (c->mask == MASK_NONE) return;
    mask->queries = longest_of(c->queries, c->sequences);
    mask->keys = longest_of(c->keys, c->sequences);
    int64_t row = (mask->keys + 7) / 8;
    bool one_row = c->mask == MASK_SHARED_ALL, one_head = one_row || c->mask == MASK_SHARED_HEAD;
    mask->query_stride = one_row ? 0 : row;
    mask->head_stride = one_head ? 0 : row * mask->queries;
    mask->sequence_stride = one_row ? 0 : row * mask->queries * (one_head ? 1 : c->heads);
    int64_t bytes = one_row ? row : mask->sequence_stride * c->sequences;
    p->mask_memory = memory_create(kind, (size_t)bytes);
    uint8_t *bits = p->mask_memory.data;
    for (int64_t e = 0; e < bytes; e++) {
        bits[e] = 0;
        for (int bit = 0; bit < 8; bit++)
            if (mask_bit(c, random, e % row * 8 + bit)) bits[e] |= (uint8_t)(1 << bit);
    }
    mask->bits = bits;
}

static void make_bias(problem *p, memory_kind kind, test_random *random) {
    const test_case *c = &p->c;
    if (!c->bias) return;
    int64_t extra = c->seed % 3 == 0 ? 2 : 0; /* a bias may cover more than the longest sequence */
    int64_t shape[4] = {c->sequences, c->heads, longest_of(c->queries, c->sequences) + extra,
                        longest_of(c->keys, c->sequences) + extra};
    if (c->bias_groups) shape[0] = 3;
    for (int r = 0; r < 4; r++)
        if (c->bias_shared >> r & 1) shape[r] = 1;
    for (int b = 0; b < c->sequences; b++)
        p->bias_of[b] = c->bias_groups ? (int64_t)((c->seed >> 8) + (uint64_t)b * b) % shape[0] : b;
    if (c->bias_groups) {
        p->group_memory = memory_create(kind, (size_t)c->sequences * sizeof *p->bias_of);
        memcpy(p->group_memory.data, p->bias_of, p->group_memory.bytes);
        p->options.bias_of = p->group_memory.data;
    }
    int64_t k = shape[3], q = shape[2], h = shape[1];
    int64_t row_major[4] = {h * q * k, q * k, k, 1};
    int64_t key_major[4] = {h * q * k, q * k, 1, q};
    int64_t gaps[4] = {h * q * (2 * k + 3), q * (2 * k + 3), 2 * k + 3, 2};
    const int64_t *order[ORDERS] = {row_major, key_major, gaps};
    add_tensor(p, BIAS, kind, 4, shape, order[c->bias_order], NAN);
    add_tensor(p, D_BIAS, kind, 4, shape, order[c->bias_order], CANARY);
    for (int64_t e = 0; e < p->count[BIAS]; e++) {
        bool hidden = c->bias_infinities && random_chance(random, 20);
        *view_element(&p->tensor[BIAS], e) = hidden ? -INFINITY : random_normal(random);
    }
    p->options.bias = p->tensor[BIAS];
}

static void make_options(problem *p, memory_kind kind, test_random *random) {
    const test_case *c = &p->c;
    attn_attention_options *options = &p->options;
    options->scale = c->scale;
    options->softcap = c->softcap;
    options->dropout = c->dropout;
    options->seed = c->seed;
    options->first_sequence = c->first_sequence;
    if (c->alibi) {
        p->alibi_memory = memory_create(kind, (size_t)c->heads * sizeof(float));
        float *slopes = p->alibi_memory.data;
        for (int64_t h = 0; h < c->heads; h++) slopes[h] = 0.3f / (float)(h + 1);
        options->alibi_slopes = slopes;
    }
    if (c->distance_reach >= 0) {
        int64_t shape[2] = {c->distance_shared ? 1 : c->heads, 2 * c->distance_reach + 1};
        int64_t stride[2] = {shape[1] + 1, 1};
        add_tensor(p, DISTANCE, kind, 2, shape, stride, NAN);
        add_tensor(p, D_DISTANCE, kind, 2, shape, stride, CANARY);
        for (int64_t e = 0; e < p->count[DISTANCE]; e++) {
            bool hidden = c->distance_infinities && random_chance(random, 15);
            *view_element(&p->tensor[DISTANCE], e) = hidden ? -INFINITY : random_normal(random);
        }
        options->distance_bias = p->tensor[DISTANCE];
    }
}

/* By the definition in attn/attention.h, worked out here and not asked of the
 * library. */
static int64_t weights_count(const test_case *c) {
    int64_t count = 0;
    for (int b = 0; b < c->sequences; b++) {
        bool band = c->left >= 0 && c->right >= 0 && c->left + c->right + 1 < c->keys[b];
        count += c->heads * c->queries[b] * (band ? c->left + c->right + 1 : c->keys[b]);
    }
    return count;
}

problem *problem_create(const test_case *c, memory_kind kind) {
    problem *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    test_random random = {c->seed * 2 + 1};
    p->c = *c;
    attn_attention_options_init(&p->options);
    make_rows(p, kind, &random);
    make_pattern(p, kind);
    make_mask(p, kind, &random);
    make_bias(p, kind, &random);
    make_options(p, kind, &random);
    if (c->weights) {
        int64_t count = weights_count(c), one = 1;
        add_tensor(p, WEIGHTS, kind, 1, &count, &one, CANARY);
    }
    p->reference.pattern = &p->pattern;
    p->reference.options = &p->options;
    p->reference.query = keep_exact(p, QUERY);
    p->reference.key = keep_exact(p, KEY);
    p->reference.value = keep_exact(p, VALUE);
    keep_exact(p, D_OUTPUT);
    if (c->bias) p->reference.bias = keep_exact(p, BIAS);
    if (c->distance_reach >= 0) p->reference.distance_bias = keep_exact(p, DISTANCE);
    return p;
}

void problem_destroy(problem *p) {
    for (int id = 0; id < TENSORS; id++) {
        if (p->tensor[id].data) memory_destroy(&p->memory[id]);
        free(p->exact[id]);
    }
    if (p->mask_memory.data) memory_destroy(&p->mask_memory);
    if (p->alibi_memory.data) memory_destroy(&p->alibi_memory);
    if (p->group_memory.data) memory_destroy(&p->group_memory);
    for (int which = 0; which < 2; which++)
        if (p->offset_memory[which].data) memory_destroy(&p->offset_memory[which]);
    free(p);
}

void problem_set(problem *p, tensor_id id, int64_t index, float value) {
    *view_element(&p->tensor[id], index) = value;
    p->exact[id][index] = (double)value;
}

int64_t problem_index(const problem *p, tensor_id id, int64_t sequence, int64_t row, int64_t head,
                      int64_t channel) {
    const attn_tensor *view = &p->tensor[id];
    bool keys = id == KEY || id == VALUE || id == D_KEY || id == D_VALUE;
    int64_t first = keys ? p->first_key[sequence] : p->first_query[sequence];
    return ((first + row) * view->shape[view->rank - 2] + head) * view->shape[view->rank - 1] + channel;
}

bool problem_sees(const problem *p, int64_t b, int64_t h, int64_t i, int64_t j) {
    const test_case *c = &p->c;
    const attn_mask *mask = &p->pattern.mask;
    int64_t distance = j - i - (c->align == ATTN_ALIGN_END ? c->keys[b] - c->queries[b] : 0);
    if (c->left >= 0 && distance < -c->left) return false;
    if (c->right >= 0 && distance > c->right) return false;
    if (mask->bits) {
        const uint8_t *row =
            mask->bits + b * mask->sequence_stride + h * mask->head_stride + i * mask->query_stride;
        if (!(row[j / 8] & 1 << j % 8)) return false;
    }
    if (c->bias) {
        const attn_tensor *t = &p->tensor[BIAS];
        int64_t at[4] = {p->bias_of[b], h, i, j}, index = 0;
        for (int r = 0; r < 4; r++) index = index * t->shape[r] + (t->shape[r] == 1 ? 0 : at[r]);
        if (p->exact[BIAS][index] == -INFINITY) return false;
    }
    if (c->distance_reach < 0) return true;
    int64_t reach = c->distance_reach;
    int64_t entry = reach + (distance < -reach ? -reach : distance > reach ? reach : distance);
    return p->exact[DISTANCE][(c->distance_shared ? 0 : h) * (2 * reach + 1) + entry] != -INFINITY;
}
