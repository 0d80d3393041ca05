/* strings.c: a growing list of strings in one block. */
#include "data/strings.h"

#include <string.h>

#include "base/memory.h"

attn_status at_strings_add(attn_context *context, at_strings *list, const char *text, size_t length) {
    int64_t used = list->count ? list->offsets[list->count] : 0;
    if (list->count + 2 > list->offset_room || used + (int64_t)length + 1 > list->byte_room) {
        attn_status status = at_grow(context, &list->offsets, &list->offset_room, list->count + 2,
                                     sizeof *list->offsets, "a list of strings");
        if (status != ATTN_OK) return status;
        status = at_grow(context, &list->bytes, &list->byte_room, used + (int64_t)length + 1, 1,
                         "the text of strings");
        if (status != ATTN_OK) return status;
    }
    if (length) memcpy(list->bytes + used, text, length);
    list->bytes[used + (int64_t)length] = 0;
    list->offsets[list->count] = used;
    list->offsets[++list->count] = used + (int64_t)length + 1;
    return ATTN_OK;
}

attn_status at_strings_add_list(attn_context *context, at_strings *list, const at_strings *from,
                                int64_t first, int64_t count) {
    if (count <= 0) return ATTN_OK;
    int64_t used = list->count ? list->offsets[list->count] : 0, begin = from->offsets[first];
    int64_t bytes = from->offsets[first + count] - begin;
    attn_status status = at_grow(context, &list->offsets, &list->offset_room, list->count + count + 1,
                                 sizeof *list->offsets, "a list of strings");
    if (status == ATTN_OK)
        status = at_grow(context, &list->bytes, &list->byte_room, used + bytes, 1, "the text of strings");
    if (status != ATTN_OK) return status;
    memcpy(list->bytes + used, from->bytes + begin, (size_t)bytes);
    for (int64_t i = 0; i <= count; i++)
        list->offsets[list->count + i] = used + from->offsets[first + i] - begin;
    list->count += count;
    return ATTN_OK;
}

void at_strings_clear(at_strings *list) { list->count = 0; }

void at_strings_free(attn_context *context, at_strings *list) {
    at_release(context, list->bytes);
    at_release(context, list->offsets);
    memset(list, 0, sizeof *list);
}
