/* examine.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_EXAMINE_H
#define ATTN_EXAMINE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/config.h>
#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef enum attn_finding_kind {
    ATTN_FINDING_SWAPPED = 1,
    ATTN_FINDING_ONE_CLASS = 2,
    ATTN_FINDING_FEW = 3,
    ATTN_FINDING_ALIKE = 4
} attn_finding_kind;

typedef struct attn_finding {
    attn_finding_kind kind;
    const char *text;
} attn_finding;

typedef struct attn_overlap {
    int64_t examples, same, alike;
} attn_overlap;

typedef struct attn_examine_options {
    size_t size;
    const attn_dataset *dev;
    const attn_dataset *test;
    int guess;
    int unlabelled;
} attn_examine_options;
ATTN_INIT(attn_examine_options)

ATTN_API attn_status attn_examine(attn_config *config, const attn_dataset *train,
                                  const attn_examine_options *options, attn_examination **found);
ATTN_API void attn_examination_destroy(attn_examination *found);

ATTN_API int attn_examination_findings(const attn_examination *found);
ATTN_API attn_finding attn_examination_finding(const attn_examination *found, int index);

ATTN_API int attn_examination_notes(const attn_examination *found);
ATTN_API const char *attn_examination_note(const attn_examination *found, int index);

ATTN_API int64_t attn_examination_conflicts(const attn_examination *found);

ATTN_API int64_t attn_examination_cut(const attn_examination *found);
ATTN_API int64_t attn_examination_longest(const attn_examination *found);

ATTN_API attn_overlap attn_examination_overlap(const attn_examination *found, attn_part part);

ATTN_END_DECLS

#endif
