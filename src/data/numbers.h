/* numbers.h: parameters as tensors of a file: whole, in 16 bits, in 8 or 6 bits with a scale for each row,
 * and without the rows that are all zero. docs/format.md says how a tool expands them.
 *
 *     NAME              F32 or F16, the shape of the parameter
 *     NAME.rows         the same, but only rows that are not all zero
 *     NAME.bits8, .bits6, NAME.scale    whole numbers of 8 or 6 bits; times its scale a row is what it was
 *     NAME.present      a bit per row, where rows are left out: 1 where it is there
 *
 * Rows are the first dimension; the columns are all others.
 */
#ifndef AT_DATA_NUMBERS_H
#define AT_DATA_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "data/safetensors.h"

/* Adds a parameter to a file. bits: 32, 16, 8 or 6 a number. sparse: rows that are all zero are left out, if
 * that saves enough. Of 32 bits with no row left out, the numbers must stay until the file is written;
 * otherwise they are copied. Errors: INVALID_ARGUMENT (a number too large for 16 bits, or not finite: the
 * tensor and the number), OUT_OF_MEMORY. */
attn_status at_numbers_store(at_safetensors_writer *writer, const char *name, int rank, const int64_t *shape,
                             const float *numbers, int bits, int sparse);

/* What a file has of a parameter, whichever way it is stored: memory that goes with the file and may be
 * written to. NULL with the reason; with an empty one there was no memory, and the context says so. */
float *at_numbers_find(at_safetensors *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes);

/* Makes of numbers what they are when they are stored in so many bits and read again. Stored once more they
 * stay the same. Errors: as at_numbers_store. */
attn_status at_numbers_round(attn_context *context, const char *name, int64_t rows, int64_t columns, int bits,
                             float *numbers);

/* How the parameters of a file are stored, for people: "32 bits per number, without empty rows". */
void at_numbers_describe(const at_safetensors *file, char *text, size_t room);

#endif
