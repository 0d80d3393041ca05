/* embedded.h: files of this folder that the build makes into arrays (cmake/embed.cmake): the styles and
 * scripts of pages. Each is ended by a 0 that its length does not count.
 */
#ifndef AT_EXPLAIN_EMBEDDED_H
#define AT_EXPLAIN_EMBEDDED_H

#include <stddef.h>

extern const char at_page_markup[], at_page_style[], at_page_script[];
extern const size_t at_page_markup_length, at_page_style_length, at_page_script_length;
extern const char at_row_steps_style[], at_row_steps_script[];
extern const size_t at_row_steps_style_length, at_row_steps_script_length;

#endif
