/* options.h: structs that begin with `size` and may grow at their end: options, and results that a caller has
 * the memory of.
 *
 * A caller's struct may be older than the library (its size is smaller: the rest
 * keeps what the init function says) or newer (larger: what the library does not
 * know must be 0). The smallest size there ever was is that of the first version.
 */
#ifndef AT_BASE_OPTIONS_H
#define AT_BASE_OPTIONS_H

#include <stddef.h>

#include <attn/context.h>
#include <attn/status.h>

enum { AT_OPTIONS_TEXT = 200 };

/* The size of the first version of a struct, whose last member was `member`. */
#define AT_FIRST_SIZE(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Copies what `given` has over `into`, a struct of `current` bytes that the init
 * function has filled. given NULL: `into` stays as it is. name and init are for the
 * text, which goes to reason[AT_OPTIONS_TEXT]. Errors: INVALID_ARGUMENT (no size of
 * any version), UNSUPPORTED (a newer caller asks for what this library lacks). */
attn_status at_options_take(const char *name, const char *init, const void *given, size_t first,
                            size_t current, void *into, char *reason);

/* What an init function does: fills `to`, a caller's struct of `size` bytes, from the library's own of
 * `current` bytes: as far as both go, the rest with 0, and its size with `size`. to NULL: nothing. */
void at_options_give(void *to, size_t size, const void *own, size_t current);

/* A caller's struct for a result: not NULL, and with the size of a version. Errors: INVALID_ARGUMENT. */
attn_status at_result_check(attn_context *context, const char *name, const char *init, const void *result,
                            size_t first, size_t current);
/* Fills it from one of the library's own, of `current` bytes, as far as it goes. Its size stays. */
void at_result_give(void *result, const void *own, size_t current);

#endif
