#include "data/vectors.h"
attn_status at_vectors_read(attn_context *context, const char *path, int64_t limit, at_strings *words, float **numbers, int64_t *columns) { (void)context;(void)path;(void)limit;(void)words;(void)numbers;(void)columns; return ATTN_UNSUPPORTED; }
