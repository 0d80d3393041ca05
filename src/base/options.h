/* options.h: option structs that begin with `size` and may grow at their end.
 *
 * A caller's struct may be older than the library (its size is smaller: the rest
 * keeps what the init function says) or newer (larger: what the library does not
 * know must be 0). The smallest size there ever was is that of the first version.
 */
#ifndef AT_BASE_OPTIONS_H
#define AT_BASE_OPTIONS_H

#include <stddef.h>

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

#endif
