/* stored.h: lists of strings, vocabularies and subword models as tensors of a file: "NAME.bytes" (U8) and
 * "NAME.offsets" (I64); lists of numbers as one (F32). Everything read is checked.
 */
#ifndef AT_DATA_STORED_H
#define AT_DATA_STORED_H

#include "data/safetensors.h"
#include "data/symbols/symbols.h"

/* A list that is empty is not written. The list may change before the file is written: it is copied. */
attn_status at_store_strings(at_safetensors_writer *writer, const char *prefix, const char *name,
                             const at_strings *list);
/* Both parts: "prefix" + units and merges. */
attn_status at_store_symbols(at_safetensors_writer *writer, const char *prefix, const char *units,
                             const char *merges, const at_symbols *symbols);

/* Numbers as a tensor of one dimension; none are not written. */
attn_status at_store_numbers(at_safetensors_writer *writer, const char *prefix, const char *name,
                             const float *numbers, int64_t count);
/* NULL: there is no such tensor, or it is another than at_store_numbers writes. */
const at_stored *at_find_numbers(const at_safetensors *file, const char *prefix, const char *name);

/* Appends the strings of a list; none at all if the file does not have it. */
attn_status at_load_strings(attn_context *context, const at_safetensors *file, const char *prefix,
                            const char *name, at_strings *list);
/* Strings whose number 0 is "", each once; `required`: they have to be there. */
attn_status at_load_vocabulary(attn_context *context, const at_safetensors *file, const char *prefix,
                               const char *name, int required, at_vocabulary *vocabulary);
attn_status at_load_symbols(const at_safetensors *file, const char *prefix, const char *units,
                            const char *merges, at_symbols *symbols);

/* "FILE: what name": INVALID_ARGUMENT. */
attn_status at_damaged(attn_context *context, const at_safetensors *file, const char *what, const char *name);
/* The error of a part that does not know which file it is of gets the file's name. */
attn_status at_name_file(attn_context *context, const at_safetensors *file, attn_status status);

#endif
