/* exchanging.h: every call of an exchange, made by all of its ranks, checked in each. */
#ifndef TEST_SUPPORT_EXCHANGING_H
#define TEST_SUPPORT_EXCHANGING_H

#include "train/exchange.h"

enum { EXCHANGING_TEXT = 256 };

/* 0, or not with what was wrong. Nothing here asserts: ranks may be threads. */
int exchanging_fails(attn_context *context, attn_exchange *exchange, char text[EXCHANGING_TEXT]);

#endif
