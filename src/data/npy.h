/* npy.h: one array of NumPy's .npy format, versions 1 to 3: looked at where it lies, element by element.
 *
 *     "\x93NUMPY", major, minor, length of the header (2 bytes; from version 2 on 4), the header: a dict of
 * Python
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, spaces and a line end; then the elements
 *
 * Elements are floats of 2, 4 and 8 bytes, integers of 1 to 8, booleans, and strings of bytes (S) or code
 * points (U), in either byte order.
 */
#ifndef AT_DATA_NPY_H
#define AT_DATA_NPY_H

#include "data/file.h"
#include "data/origin.h"

typedef enum at_npy_type {
    AT_NPY_FLOAT,
    AT_NPY_SIGNED,
    AT_NPY_UNSIGNED, /* and booleans */
    AT_NPY_BYTES,
    AT_NPY_UNICODE
} at_npy_type;

enum { AT_NPY_RANK = 4 };

typedef struct at_npy {
    at_npy_type type;
    int64_t size; /* bytes of an element */
    int swapped;  /* its bytes are in the other order than this machine's */
    int rank;
    int64_t shape[AT_NPY_RANK];
    int64_t count; /* of elements */
    const char *data;
} at_npy;

int at_is_npy(const char *bytes, size_t count);
/* Nothing in the file is believed: errors name the file, the array (NULL: none) and what to do. */
attn_status at_npy_parse(const at_origin *origin, const char *name, const char *bytes, size_t count,
                         at_npy *array);

/* Element i of an array of numbers. */
double at_npy_number(const at_npy *array, int64_t i);
/* The same as a float, rounded once: integers of 64 bits are not made doubles on the way. */
float at_npy_single(const at_npy *array, int64_t i);
/* Element i of an array of integers; 0 if it is more than an int64_t holds. */
int at_npy_integer(const at_npy *array, int64_t i, int64_t *value);
/* Element i as text, ended by a 0: numbers with as few digits as tell them apart, "" for NaN; strings as
 * UTF-8. `text` grows. */
attn_status at_npy_text(const at_origin *origin, const char *name, const at_npy *array, int64_t i,
                        at_bytes *text);

#endif
