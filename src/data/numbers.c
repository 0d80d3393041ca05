/* numbers.c: numbers in fewer bits, tables without their empty rows, and back.
 *
 * A row of 8 or 6 bits per number is q times a scale, with q a whole number. The scale is the largest number
 * of the row divided by the largest q, rounded up to 16 bits: then q times the scale is exact, the largest
 * number keeps the largest q, and storing what was read gives the same bytes.
 *
 * Files are not trusted: shapes, bits and scales are checked against each other first, and a table may expand
 * to a limited multiple of its stored rows only.
 */
#include "data/numbers.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/half.h"

enum {
    NAME_BYTES = 256,
    LEAST_SAVED = 4096, /* bytes for which rows are left out */
    MOST_ROWS = 1024    /* of a table, for each row that is there */
};
#define TINY 1e-30f /* rows of less are 0: their scales could not be exact */

static const int packed_bits[] = {8, 6};
enum { PACKINGS = sizeof packed_bits / sizeof packed_bits[0] };

static const char rows_ending[] = ".rows", scale_ending[] = ".scale", present_ending[] = ".present";

static void join(char *whole, const char *name, const char *ending) {
    snprintf(whole, NAME_BYTES, "%.200s%s", name, ending);
}

static void join_bits(char *whole, const char *name, int bits) {
    snprintf(whole, NAME_BYTES, "%.200s.bits%d", name, bits);
}

static int64_t columns_of(int rank, const int64_t *shape) {
    int64_t columns = 1;
    for (int d = 1; d < rank; d++) columns *= shape[d];
    return columns;
}

static int64_t packed_bytes(int64_t columns, int bits) { return (columns * bits + 7) / 8; }

/* ---- one row ---- */

static attn_status too_large(attn_context *context, const char *name, float number, int bits) {
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "tensor %.100s: the number %g cannot be stored in %d bits; store the weights in full "
                   "(training.store full)",
                   name, (double)number, bits);
}

/* The scale of a row, 0 for one that is all zero; infinite or NaN if a number is. */
static float scale_of(const float *numbers, int64_t columns, int limit) {
    float most = 0;
    for (int64_t c = 0; c < columns; c++) {
        if (!isfinite(numbers[c])) return numbers[c];
        if (fabsf(numbers[c]) > most) most = fabsf(numbers[c]);
    }
    if (most < TINY) return 0;
    float scale = most / (float)limit;
    uint32_t pattern;
    memcpy(&pattern, &scale, sizeof pattern);
    pattern = (pattern + 255) & ~UINT32_C(255);
    memcpy(&scale, &pattern, sizeof scale);
    return scale;
}

static int whole_of(float number, float scale) { return scale > 0 ? (int)lrintf(number / scale) : 0; }

/* Number c takes the bits c * bits ... of the row, the lowest first; bytes are cleared. */
static void pack_row(const float *numbers, int64_t columns, int bits, float scale, unsigned char *row) {
    const unsigned mask = (1u << bits) - 1;
    for (int64_t c = 0; c < columns; c++) {
        unsigned q = (unsigned)whole_of(numbers[c], scale) & mask;
        int64_t at = c * bits;
        unsigned window = q << (at & 7);
        row[at >> 3] |= (unsigned char)window;
        if ((at & 7) + bits > 8) row[(at >> 3) + 1] |= (unsigned char)(window >> 8);
    }
}

static void unpack_row(const unsigned char *row, int64_t columns, int bits, float scale, float *numbers) {
    const unsigned mask = (1u << bits) - 1, top = 1u << (bits - 1);
    for (int64_t c = 0; c < columns; c++) {
        int64_t at = c * bits;
        unsigned window = row[at >> 3];
        if ((at & 7) + bits > 8) window |= (unsigned)row[(at >> 3) + 1] << 8;
        unsigned q = window >> (at & 7) & mask;
        numbers[c] = (float)((int)(q ^ top) - (int)top) * scale;
    }
}

attn_status at_numbers_round(attn_context *context, const char *name, int64_t rows, int64_t columns, int bits,
                             float *numbers) {
    for (int64_t r = 0; r < rows && bits < 32; r++) {
        float *row = numbers + r * columns, scale = 1;
        int limit = (1 << (bits - 1)) - 1;
        if (bits < 16) scale = scale_of(row, columns, limit);
        if (!isfinite(scale)) return too_large(context, name, scale, bits);
        for (int64_t c = 0; c < columns; c++) {
            float number =
                bits == 16 ? at_half_to_float(at_half_of(row[c])) : (float)whole_of(row[c], scale) * scale;
            if (!isfinite(number)) return too_large(context, name, row[c], bits);
            row[c] = number;
        }
    }
    return ATTN_OK;
}

/* ---- writing ---- */

typedef struct storing {
    at_safetensors_writer *writer;
    attn_context *context;
    const char *name;
    int rank, bits;
    int64_t shape[ATTN_MAX_RANK]; /* as it is stored: of the rows that are there */
    int64_t rows, columns, kept;
    const float *numbers;
    unsigned char *present; /* NULL: all rows are there */
} storing;

/* Memory that goes with the writer. */
static void *keep(storing *s, int64_t count, size_t element_bytes) {
    void *memory = at_allocate(s->context, count, element_bytes, "what is to be written");
    return memory && at_safetensors_keep(s->writer, memory) == ATTN_OK ? memory : NULL;
}

static int is_empty(const float *row, int64_t columns) { /* by its bits: -0 is not 0 */
    uint32_t any = 0, pattern;
    for (int64_t c = 0; c < columns; c++) {
        memcpy(&pattern, &row[c], sizeof pattern);
        any |= pattern;
    }
    return any == 0;
}

static int is_present(const unsigned char *present, int64_t row) {
    return !present || (present[row / 8] >> (row % 8) & 1);
}

/* Finds the rows that are all zero, and leaves them out where that pays. */
static attn_status find_rows(storing *s) {
    int64_t row_bytes = s->bits < 16 ? packed_bytes(s->columns, s->bits) : s->columns * s->bits / 8;
    int64_t bytes = (s->rows + 7) / 8, kept = 0;
    unsigned char *present = at_allocate(s->context, bytes, 1, "the rows to be written");
    if (!present) return ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < s->rows; r++) {
        if (is_empty(s->numbers + r * s->columns, s->columns)) continue;
        present[r / 8] |= (unsigned char)(1 << r % 8);
        kept++;
    }
    if ((s->rows - kept) * row_bytes - bytes < LEAST_SAVED || s->rows > MOST_ROWS * kept) {
        at_release(s->context, present);
        return ATTN_OK;
    }
    s->present = present;
    s->kept = s->shape[0] = kept;
    char whole[NAME_BYTES];
    join(whole, s->name, present_ending);
    attn_status status = at_safetensors_keep(s->writer, present);
    return status == ATTN_OK ? at_safetensors_add(s->writer, whole, AT_DTYPE_U8, 1, &bytes, present) : status;
}

static attn_status add(storing *s, at_dtype dtype, const void *data) {
    char whole[NAME_BYTES];
    join(whole, s->name, s->present ? rows_ending : "");
    return at_safetensors_add(s->writer, whole, dtype, s->rank, s->shape, data);
}

static attn_status store_full(storing *s) {
    if (!s->present) return add(s, AT_DTYPE_F32, s->numbers);
    float *copy = keep(s, s->kept * s->columns, sizeof *copy), *into = copy;
    if (!copy) return ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < s->rows; r++) {
        if (!is_present(s->present, r)) continue;
        memcpy(into, s->numbers + r * s->columns, (size_t)s->columns * sizeof *into);
        into += s->columns;
    }
    return add(s, AT_DTYPE_F32, copy);
}

static attn_status store_half(storing *s) {
    uint16_t *halves = keep(s, s->kept * s->columns, sizeof *halves), *into = halves;
    if (!halves) return ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < s->rows; r++) {
        if (!is_present(s->present, r)) continue;
        const float *row = s->numbers + r * s->columns;
        for (int64_t c = 0; c < s->columns; c++) {
            *into = at_half_of(row[c]);
            if (!isfinite(at_half_to_float(*into++))) return too_large(s->context, s->name, row[c], s->bits);
        }
    }
    return add(s, AT_DTYPE_F16, halves);
}

static attn_status store_packed(storing *s) {
    int64_t shape[2] = {s->kept, packed_bytes(s->columns, s->bits)}, at = 0;
    float *scales = keep(s, s->kept, sizeof *scales);
    unsigned char *bytes = scales ? keep(s, shape[0] * shape[1], 1) : NULL;
    char whole[NAME_BYTES];
    if (!bytes) return ATTN_OUT_OF_MEMORY;
    for (int64_t r = 0; r < s->rows; r++) {
        if (!is_present(s->present, r)) continue;
        const float *row = s->numbers + r * s->columns;
        float scale = scale_of(row, s->columns, (1 << (s->bits - 1)) - 1);
        if (!isfinite(scale)) return too_large(s->context, s->name, scale, s->bits);
        pack_row(row, s->columns, s->bits, scale, bytes + at * shape[1]);
        scales[at++] = scale;
    }
    join_bits(whole, s->name, s->bits);
    attn_status status = at_safetensors_add(s->writer, whole, AT_DTYPE_U8, 2, shape, bytes);
    join(whole, s->name, scale_ending);
    return status == ATTN_OK ? at_safetensors_add(s->writer, whole, AT_DTYPE_F32, 1, &s->kept, scales)
                             : status;
}

attn_status at_numbers_store(at_safetensors_writer *writer, const char *name, int rank, const int64_t *shape,
                             const float *numbers, int bits, int sparse) {
    storing s = {.writer = writer,
                 .context = at_safetensors_writer_context(writer),
                 .name = name,
                 .rank = rank,
                 .bits = bits,
                 .rows = shape[0],
                 .columns = columns_of(rank, shape),
                 .kept = shape[0],
                 .numbers = numbers};
    memcpy(s.shape, shape, (size_t)rank * sizeof *shape);
    attn_status status = sparse ? find_rows(&s) : ATTN_OK;
    if (status != ATTN_OK) return status;
    return bits == 32 ? store_full(&s) : bits == 16 ? store_half(&s) : store_packed(&s);
}

/* ---- reading ---- */

typedef struct finding {
    at_safetensors *file;
    const char *name;
    int rank;
    const int64_t *shape;
    int64_t rows, columns, kept;
    const unsigned char *present; /* NULL: all rows are there */
    char *reason;
    size_t reason_bytes;
} finding;

static const at_stored *find_part(const finding *f, const char *ending) {
    char whole[NAME_BYTES];
    join(whole, f->name, ending);
    return at_safetensors_find(f->file, whole);
}

static int refuse(finding *f, const char *ending, const char *what) {
    snprintf(f->reason, f->reason_bytes, "the tensor %.100s%s %s", f->name, ending, what);
    return 0;
}

/* Which rows are there, where some are left out. */
static int read_present(finding *f) {
    const at_stored *found = find_part(f, present_ending);
    f->kept = f->rows;
    if (!found) return 1;
    if (found->dtype != AT_DTYPE_U8 || found->rank != 1 || found->count != (f->rows + 7) / 8)
        return refuse(f, present_ending, "does not have a bit (U8) for each row");
    const unsigned char *bits = found->data;
    int64_t kept = 0;
    for (int64_t i = 0; i < found->count; i++)
        for (unsigned byte = bits[i]; byte; byte &= byte - 1) kept++;
    if (f->rows % 8 && bits[f->rows / 8] >> f->rows % 8)
        return refuse(f, present_ending, "names a row that does not exist");
    if (f->rows > MOST_ROWS * kept) return refuse(f, present_ending, "leaves out more rows than is allowed");
    f->present = bits;
    f->kept = kept;
    return 1;
}

/* The memory of a parameter that is not stored as F32: cleared if it is new. */
static float *room_for(const finding *f, const at_stored *stored, int *is_new) {
    float **expanded = at_safetensors_expanded(stored);
    *is_new = !*expanded;
    if (*is_new)
        *expanded = at_allocate(at_safetensors_context(f->file), f->rows * f->columns, sizeof **expanded,
                                "the parameters of a file");
    if (!*expanded) f->reason[0] = 0;
    return *expanded;
}

static int all_finite(const uint16_t *halves, int64_t count) {
    const unsigned exponent = 0x7c00;
    unsigned found = 0;
    for (int64_t i = 0; i < count; i++) found |= (halves[i] & exponent) == exponent;
    return !found;
}

/* F32 or F16, of `kept` rows. */
static float *read_plain(finding *f, const at_stored *stored, const char *ending) {
    int half = stored->dtype == AT_DTYPE_F16;
    int64_t other = stored->rank > 0 ? stored->shape[0] : 0;
    int same = stored->rank == f->rank && other == f->kept, is_new;
    if ((stored->dtype != AT_DTYPE_F32 && !half) || (uintptr_t)stored->data % (half ? 2 : sizeof(float))) {
        refuse(f, ending, "is not aligned F32 or F16");
        return NULL;
    }
    for (int d = 1; same && d < f->rank; d++) same = stored->shape[d] == f->shape[d];
    if (!same) {
        snprintf(f->reason, f->reason_bytes,
                 "the tensor %.60s%s has another shape (%" PRId64
                 " numbers) than configuration and vocabulary require (%" PRId64 " x ...)",
                 f->name, ending, stored->count, f->kept);
        return NULL;
    }
    if (!half && !f->present) return (float *)(uintptr_t)stored->data;
    if (half && !all_finite(stored->data, stored->count)) {
        refuse(f, ending, "has a number that is NaN or infinite: such a model cannot predict");
        return NULL;
    }
    float *numbers = room_for(f, stored, &is_new);
    if (!numbers || !is_new) return numbers;
    const uint16_t *halves = stored->data;
    const float *full = stored->data;
    for (int64_t r = 0, at = 0; r < f->rows; r++) {
        if (!is_present(f->present, r)) continue;
        float *row = numbers + r * f->columns;
        for (int64_t c = 0; half && c < f->columns; c++) row[c] = at_half_to_float(halves[at + c]);
        if (!half) memcpy(row, full + at, (size_t)f->columns * sizeof *row);
        at += f->columns;
    }
    return numbers;
}

static float *read_packed(finding *f, const at_stored *stored, int bits) {
    const at_stored *scale = find_part(f, scale_ending);
    int is_new;
    int good = scale && scale->dtype == AT_DTYPE_F32 && scale->rank == 1 && scale->count == f->kept;
    const float *scales = good ? scale->data : NULL;
    for (int64_t i = 0; good && i < f->kept; i++) good = scales[i] >= 0 && scales[i] <= FLT_MAX / 128;
    if (!good) {
        refuse(f, scale_ending, "is missing, or is not one valid scale (F32) for each row");
        return NULL;
    }
    int64_t bytes = packed_bytes(f->columns, bits);
    if (stored->dtype != AT_DTYPE_U8 || stored->rank != 2 || stored->shape[0] != f->kept ||
        stored->shape[1] != bytes) {
        refuse(f, "", "in 6 or 8 bits has another dtype or shape than configuration and vocabulary require");
        return NULL;
    }
    float *numbers = room_for(f, stored, &is_new);
    if (!numbers || !is_new) return numbers;
    const unsigned char *row = stored->data;
    for (int64_t r = 0, at = 0; r < f->rows; r++) {
        if (!is_present(f->present, r)) continue;
        unpack_row(row + at * bytes, f->columns, bits, scales[at], numbers + r * f->columns);
        at++;
    }
    return numbers;
}

float *at_numbers_find(at_safetensors *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes) {
    finding f = {.file = file,
                 .name = name,
                 .rank = rank,
                 .shape = shape,
                 .rows = shape[0],
                 .columns = columns_of(rank, shape),
                 .kept = shape[0],
                 .reason = reason,
                 .reason_bytes = reason_bytes};
    const at_stored *stored = at_safetensors_find(file, name);
    if (stored) return read_plain(&f, stored, "");
    if (!read_present(&f)) return NULL;
    stored = f.present ? find_part(&f, rows_ending) : NULL;
    if (stored) return read_plain(&f, stored, rows_ending);
    for (int i = 0; i < PACKINGS; i++) {
        char whole[NAME_BYTES];
        join_bits(whole, name, packed_bits[i]);
        stored = at_safetensors_find(file, whole);
        if (stored) return read_packed(&f, stored, packed_bits[i]);
    }
    refuse(&f, "", "is missing");
    return NULL;
}

/* ---- for people ---- */

static int ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

void at_numbers_describe(const at_safetensors *file, char *text, size_t room) {
    const char *how = "32 bits per number";
    int sparse = 0;
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        if (strncmp(stored->name, "optimizer.", 10) == 0) continue; /* the state of training */
        if (stored->dtype == AT_DTYPE_F16) how = "16 bits per number";
        if (ends_with(stored->name, ".bits6") || ends_with(stored->name, ".bits8"))
            how = "8 bits per number, embeddings 6";
        sparse |= ends_with(stored->name, present_ending);
    }
    snprintf(text, room, "%s%s", how, sparse ? ", without empty rows" : "");
}
