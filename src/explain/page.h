/* page.h: the parts of which page.c makes the page. All write JSON that can stand inside an HTML document. */
#ifndef AT_EXPLAIN_PAGE_H
#define AT_EXPLAIN_PAGE_H

#include "explain/explain.h"
#include "explain/page_code.h"

/* A string, in which nothing can end the script element around it. */
void at_put_name(at_writer *writer, const char *text);
void at_put_names(at_writer *writer, const at_strings *names);
void at_put_whole_numbers(at_writer *writer, const int64_t *numbers, int64_t count);

/* ,"lists":{...},"parts":[...] */
attn_status at_put_maps(const attn_explanation *explanation, at_writer *writer);
/* ,"scene":{...} */
attn_status at_put_scene(const attn_explanation *explanation, const attn_drawing_options *options,
                         at_writer *writer);

#endif
