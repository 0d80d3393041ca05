#ifndef AT_DATA_VECTORS_H
#define AT_DATA_VECTORS_H
#include "data/strings.h"
attn_status at_vectors_read(attn_context *context, const char *path, int64_t limit, at_strings *words, float **numbers, int64_t *columns);
#endif
