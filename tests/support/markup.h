/* markup.h: whether a text is well-formed XML without anything that could run or be fetched. */
#ifndef TEST_SUPPORT_MARKUP_H
#define TEST_SUPPORT_MARKUP_H

/* NULL, or what is wrong with it, where: static memory. */
const char *markup_fault(const char *text);

#endif
