/* writer.h: text that grows in memory: what the library writes for others to print. */
#ifndef AT_DATA_WRITER_H
#define AT_DATA_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

/* All 0 but the context is empty. Errors are sticky: after the first, nothing more is written. */
typedef struct at_writer {
    attn_context *context;
    char *bytes; /* ended by a 0 */
    int64_t count, room;
    attn_status status;
    int terminal; /* text is for a terminal: what it might obey is escaped */
} at_writer;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void
at_print(at_writer *writer, const char *format, ...);
void at_put(at_writer *writer, const char *text, size_t length);
void at_put_char(at_writer *writer, char byte);
/* Text that stands between TABs and line ends, which are escaped in it; for a terminal also what it might
 * obey. */
void at_put_text(at_writer *writer, const char *text);
/* A JSON string; bytes that are no UTF-8 become U+FFFD. */
void at_put_json(at_writer *writer, const char *text);
/* A number of JSON, null if it is not finite; `digits` significant ones. */
void at_put_number(at_writer *writer, double number, int digits);
void at_writer_free(at_writer *writer);

#endif
