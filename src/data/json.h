/* json.h: JSON as text. */
#ifndef AT_DATA_JSON_H
#define AT_DATA_JSON_H

#include <jansson.h>

/* As json_dumps, whose result is to be freed; NULL without memory. That one leaves out the name of a value
 * when memory runs out at it, and does not say so. */
char *at_json_text(const json_t *json, size_t flags);

#endif
