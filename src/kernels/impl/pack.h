/* pack.h: rows in their natural place <-> the layouts that the products read.
 *
 * "Transposed" means lanes are rows: t[c * stride + l] = scale * row_l[c]. Done
 * in VEC_WIDTH x VEC_WIDTH blocks in registers. Lanes past the last row are 0.
 */
#ifndef AT_KERNELS_IMPL_PACK_H
#define AT_KERNELS_IMPL_PACK_H

#include "kernels/vec/vec.h"

static inline int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* rows x channels, natural, to channels x round_up(rows, VEC_WIDTH). */
static void pack_transposed(int rows, int channels, const float *source, int64_t source_row, float scale,
                            float *target, int target_row) {
    const vec factor = vec_set(scale);
    for (int r = 0; r < rows; r += VEC_WIDTH) {
        int filled = rows - r < VEC_WIDTH ? rows - r : VEC_WIDTH;
        for (int c = 0; c < channels; c += VEC_WIDTH) {
            int width = channels - c < VEC_WIDTH ? channels - c : VEC_WIDTH;
            vec block[VEC_WIDTH];
            if (filled == VEC_WIDTH && width == VEC_WIDTH) {
                UNROLL for (int l = 0; l < VEC_WIDTH; l++) block[l] =
                    vec_load(source + (r + l) * source_row + c);
            } else if (width == VEC_WIDTH) {
                UNROLL for (int l = 0; l < VEC_WIDTH; l++) block[l] =
                    l < filled ? vec_load(source + (r + l) * source_row + c) : vec_set(0.0f);
            } else {
                UNROLL for (int l = 0; l < VEC_WIDTH; l++) {
                    block[l] =
                        l < filled ? vec_load_part(source + (r + l) * source_row + c, width) : vec_set(0.0f);
                }
            }
            vec_transpose(block);
            if (width == VEC_WIDTH) {
                UNROLL for (int l = 0; l < VEC_WIDTH; l++) {
                    vec_store(target + (c + l) * target_row + r, vec_mul(block[l], factor));
                }
            } else {
                for (int l = 0; l < width; l++)
                    vec_store(target + (c + l) * target_row + r, vec_mul(block[l], factor));
            }
        }
    }
}

/* The way back: row_l[c] = factor[l] * t[c * stride + l]. */
static void unpack_transposed(int rows, int channels, const float *source, int source_row,
                              const float *factor, float *target, int64_t target_row) {
    for (int r = 0; r < rows; r += VEC_WIDTH) {
        int filled = rows - r < VEC_WIDTH ? rows - r : VEC_WIDTH;
        const vec scale = vec_load(factor + r);
        for (int c = 0; c < channels; c += VEC_WIDTH) {
            int width = channels - c < VEC_WIDTH ? channels - c : VEC_WIDTH;
            vec block[VEC_WIDTH];
            UNROLL for (int l = 0; l < VEC_WIDTH; l++) {
                block[l] =
                    l < width ? vec_mul(vec_load(source + (c + l) * source_row + r), scale) : vec_set(0.0f);
            }
            vec_transpose(block);
            if (filled == VEC_WIDTH && width == VEC_WIDTH) {
                UNROLL for (int l = 0; l < VEC_WIDTH; l++)
                    vec_store(target + (r + l) * target_row + c, block[l]);
            } else if (width == VEC_WIDTH) {
                UNROLL for (int l = 0; l < VEC_WIDTH; l++) {
                    if (l < filled) vec_store(target + (r + l) * target_row + c, block[l]);
                }
            } else {
                for (int l = 0; l < filled; l++)
                    vec_store_part(target + (r + l) * target_row + c, block[l], width);
            }
        }
    }
}

/* Rows copied side by side, each padded with 0 to target_row numbers. */
static void pack_rows(int rows, int channels, const float *source, int64_t source_row, float *target,
                      int target_row) {
    const int whole = channels / VEC_WIDTH * VEC_WIDTH;
    for (int r = 0; r < rows; r++, source += source_row, target += target_row) {
        for (int c = 0; c < whole; c += VEC_WIDTH) vec_store(target + c, vec_load(source + c));
        for (int c = whole; c < channels; c++) target[c] = source[c];
        for (int c = channels; c < target_row; c++) target[c] = 0.0f;
    }
}

/* Whether all numbers of a matrix are finite. Four sums hide the latency of multiply-adds. */
static int all_finite(int rows, int channels, const float *source, int64_t source_row) {
    const vec zero = vec_set(0.0f); /* x * 0 is 0 for a finite x and NaN for any other */
    vec sum[4] = {zero, zero, zero, zero};
    for (int r = 0; r < rows; r++) {
        const float *row = source + r * source_row;
        int c = 0;
        for (; c + 4 * VEC_WIDTH <= channels; c += 4 * VEC_WIDTH) {
            UNROLL for (int x = 0; x < 4; x++) sum[x] =
                vec_fma(vec_load(row + c + x * VEC_WIDTH), zero, sum[x]);
        }
        for (; c + VEC_WIDTH <= channels; c += VEC_WIDTH) sum[0] = vec_fma(vec_load(row + c), zero, sum[0]);
        if (c < channels) sum[1] = vec_fma(vec_load_part(row + c, channels - c), zero, sum[1]);
    }
    return vec_all(vec_equal(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])), zero));
}

#endif
