/* attn.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <attn/config.h>
#include <attn/core.h>
#include <attn/dataset.h>
#include <attn/examine.h>
#include <attn/exchange.h>
#include <attn/explain.h>
#include <attn/model.h>
#include <attn/predictor.h>
#include <attn/report.h>
#include <attn/scores.h>
#include <attn/stream.h>
#include <attn/text.h>
#include <attn/trainer.h>
#include <attn/workers.h>

#endif
