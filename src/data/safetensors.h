/* safetensors.h: files of named tensors. docs/format.md specifies the contents of ours.
 *
 * A file is: the length of the header (8 bytes, little endian), the header (a JSON object: name -> dtype,
 * shape, data_offsets; "__metadata__" -> object of strings), the data without gaps. Ours pads the header with
 * spaces so that data begins at a multiple of 64, and puts tensors of 8-byte elements first, then those of 4
 * bytes, of 2, then bytes, so that every element is aligned.
 */
#ifndef AT_DATA_SAFETENSORS_H
#define AT_DATA_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/tensor.h>

typedef enum at_dtype {
    AT_DTYPE_F32,
    AT_DTYPE_F64,
    AT_DTYPE_I32,
    AT_DTYPE_I64,
    AT_DTYPE_U8,
    AT_DTYPE_F16,  /* expanded by data/numbers.h, which checks it: neither aligned nor finite else */
    AT_DTYPE_OTHER /* known to the format, of no use to us; cannot be written */
} at_dtype;

typedef struct at_stored {
    const char *name;
    at_dtype dtype;
    int rank;
    int64_t shape[ATTN_MAX_RANK];
    int64_t count;    /* of elements */
    const void *data; /* memory that may be written to (the file does not change) */
    int used;         /* at_safetensors_find has found it */
} at_stored;

/* ---- reading ---- */

typedef struct at_safetensors at_safetensors;

/* Reads a file and checks its header: lengths within the file, offsets without gaps and overlaps up to the
 * end, sizes that agree with dtype and shape, data aligned, no name twice, no more than 100 MB of header.
 * Then its data: against the checksums in its metadata, if it has any, and every F32 and F64 number for being
 * finite.
 * Up to 256 MB go to memory of the context: nothing that happens to the file later matters. Larger files are
 * mapped: who then overwrites or cuts the file in place (instead of renaming a new one onto it, as
 * at_safetensors_commit does) changes the weights, or kills the process with SIGBUS.
 * *file is untouched on failure. Errors: INVALID_ARGUMENT ("FILE: what is wrong"), NOT_FINITE, SYSTEM_ERROR,
 * OUT_OF_MEMORY. */
attn_status at_safetensors_open(attn_context *context, const char *path, at_safetensors **file);
/* The same for bytes in memory, which must stay and begin at a multiple of 8 (fuzzing). */
attn_status at_safetensors_parse(attn_context *context, const char *name, const void *bytes, size_t length,
                                 at_safetensors **file);
void at_safetensors_close(at_safetensors *file);
const char *at_safetensors_name(const at_safetensors *file);                      /* the path */
const char *at_safetensors_metadata(const at_safetensors *file, const char *key); /* NULL: none */
int64_t at_safetensors_count(const at_safetensors *file);
/* In the order of their data; NULL out of range. */
const at_stored *at_safetensors_at(const at_safetensors *file, int64_t index);
const at_stored *at_safetensors_find(const at_safetensors *file, const char *name); /* NULL: none */

/* Where what a tensor was expanded to is kept (data/numbers.h), NULL at first: memory of the file's context,
 * which is released with the file. */
float **at_safetensors_expanded(const at_stored *stored);
attn_context *at_safetensors_context(const at_safetensors *file);

/* The first tensor that nobody has requested by name and whose name does not begin with `prefix`; NULL: none.
 */
const char *at_safetensors_unused(const at_safetensors *file, const char *prefix);

/* A number that tells files apart by their metadata and tensors, as they were read: what is changed in memory
 * later does not count, nor does the order in which the header or the data are in the file. */
uint64_t at_safetensors_fingerprint(const at_safetensors *file);

/* ---- writing ---- */

typedef struct at_safetensors_writer at_safetensors_writer;

attn_status at_safetensors_writer_create(attn_context *context, at_safetensors_writer **writer);
void at_safetensors_writer_destroy(at_safetensors_writer *writer);
/* Keys and names are copied; a tensor's data must stay until commit. */
attn_status at_safetensors_put(at_safetensors_writer *writer, const char *key, const char *value);
attn_status at_safetensors_add(at_safetensors_writer *writer, const char *name, at_dtype dtype, int rank,
                               const int64_t *shape, const void *data);
/* Memory of the writer's context that is released with the writer, and on failure at once. */
attn_status at_safetensors_keep(at_safetensors_writer *writer, void *memory);
attn_context *at_safetensors_writer_context(const at_safetensors_writer *writer);
/* The file at `path` is replaced as a whole (data/replace.h): on failure it is as it was. The writer can be
 * committed again. */
attn_status at_safetensors_commit(at_safetensors_writer *writer, const char *path);

#endif
