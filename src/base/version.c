/* version.c: the version of the library that is linked, from the numbers of
 * attn/attn.h.
 */
#include <attn/core.h>

#define TEXT(number) #number
#define JOIN(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *attn_version(void) { return JOIN(ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR, ATTN_VERSION_PATCH); }
