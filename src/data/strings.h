/* strings.h: a growing list of strings in one block.
 *
 * String i is the bytes offsets[i] .. offsets[i + 1] - 2 of `bytes`; a 0 byte
 * follows each, so that it is a C string too. Pointers into the block are good
 * until the next addition.
 */
#ifndef AT_DATA_STRINGS_H
#define AT_DATA_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

typedef struct at_strings {
    char *bytes;
    int64_t *offsets; /* [count + 1]; NULL while the list is empty */
    int64_t count;
    int64_t byte_room, offset_room;
} at_strings;

/* A list that is all 0 is empty. */
attn_status at_strings_add(attn_context *context, at_strings *list, const char *text, size_t length);
/* Strings first .. first + count - 1 of another list. */
attn_status at_strings_add_list(attn_context *context, at_strings *list, const at_strings *from,
                                int64_t first, int64_t count);
void at_strings_clear(at_strings *list); /* empties it, keeps the memory */
void at_strings_free(attn_context *context, at_strings *list);

static inline const char *at_string(const at_strings *list, int64_t i) {
    return list->bytes + list->offsets[i];
}
static inline size_t at_string_length(const at_strings *list, int64_t i) {
    return (size_t)(list->offsets[i + 1] - list->offsets[i] - 1);
}

#endif
