/* spill.h: large blocks of data, in memory up to a bound and beyond it in mapped temporary files.
 *
 * A context may have one store (attn_context_set_memory); at_allocate, at_grow and at_release take large
 * blocks from it, and so nobody else has to know of it. Half of the bound is for blocks in memory. A block
 * that does not fit there is a shared mapping of a temporary file without a name. Pages of such files count
 * as resident as long as they are mapped in, so the other half is for them: a thread looks at the resident
 * size some hundred times a second and, where it is above an eighth of the bound, takes all of them out of
 * the page tables (they stay in the files, and in the system's cache as long as that has room). Whoever needs
 * a page next gets it back. The rest of that half is for what comes in while the thread waits for a core.
 *
 * Thread-safe: parts of a context (base/parts.h) share the store of the whole.
 */
#ifndef AT_BASE_SPILL_H
#define AT_BASE_SPILL_H

#include "base/context.h"

typedef struct at_spill at_spill;

/* Gives the context a store. folder NULL: see attn_context_set_memory. */
attn_status at_spill_create(attn_context *context, size_t bound, const char *folder);
/* Takes it away; blocks in files that are still there go with it. */
void at_spill_destroy(attn_context *context);

/* Blocks of fewer bytes are not the store's. */
size_t at_spill_least(const at_spill *spill);

/* A block of at least `bytes`. *cleared: whether it is all 0. NULL, with an error's text, if there is no
 * room: `what` is what it was for. */
void *at_spill_take(attn_context *context, size_t bytes, int *cleared, const char *what);

/* A block of at least `needed` bytes that begins with the first `used` of `old` (NULL, or any block of the
 * context's), which is gone then. *bytes: how many it has; in memory that is `larger`. NULL, with an error's
 * text: `old` is as it was. */
void *at_spill_grow(attn_context *context, void *old, size_t used, size_t needed, size_t larger,
                    size_t *bytes, const char *what);

/* 0: it is no block of the store. */
int at_spill_release(attn_context *context, void *memory);

/* Takes the pages of all blocks in files out of the page tables. */
void at_spill_trim(at_spill *spill);

#endif
