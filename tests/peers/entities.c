/* entities.c: what the library counts of entities in tags, for test_entities.py, which builds it.
 *
 * Reads lines from standard input: "TRUTH<tab>ANSWER", tags with spaces between them; a blank line ends a
 * case. Writes a line for each case: "- support predicted right" of all entities together, then "TYPE support
 * predicted right" of each type, with tabs between them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/memory.h"
#include "heads/metrics/entities.h"

enum { LINE = 1 << 16, MOST = 1 << 14 };

typedef struct job {
    attn_context *context;
    at_vocabulary labels;
    at_tag_set set;
    attn_class_metrics scores[MOST];
} job;

/* The tags of a text as numbers of labels; how many. */
static int64_t read_tags(job *now, char *text, int32_t *into) {
    int64_t count = 0, number;
    for (char *tag = strtok(text, " \n"); tag; tag = strtok(NULL, " \n")) {
        int64_t known = now->labels.strings.count;
        if (at_vocabulary_add(now->context, &now->labels, tag, strlen(tag), 1, &number) != ATTN_OK) exit(2);
        into[count++] = (int32_t)number;
        if (number < known) continue;
        at_strings one = {.count = 0};
        if (at_strings_add(now->context, &one, tag, strlen(tag)) != ATTN_OK) exit(2);
        if (at_tags_add(now->context, &now->set, &one) != ATTN_OK) exit(2);
        at_strings_free(now->context, &one);
    }
    return count;
}

static void finish(job *now) {
    const at_strings *types = &now->set.types.strings;
    attn_class_metrics all = {0};
    for (int64_t t = 0; t < types->count; t++) {
        all.support += now->scores[t].support;
        all.predicted += now->scores[t].predicted;
        all.right += now->scores[t].right;
    }
    printf("- %" PRId64 " %" PRId64 " %" PRId64, all.support, all.predicted, all.right);
    for (int64_t t = 0; t < types->count; t++)
        printf("\t%s %" PRId64 " %" PRId64 " %" PRId64, at_string(types, t), now->scores[t].support,
               now->scores[t].predicted, now->scores[t].right);
    putchar('\n');
    at_tags_free(now->context, &now->set);
    at_vocabulary_free(now->context, &now->labels);
    memset(&now->labels, 0, sizeof now->labels);
    memset(now->scores, 0, sizeof now->scores);
}

int main(void) {
    static job now;
    static char line[LINE];
    static int32_t truth[LINE], answers[LINE];
    if (attn_context_create(NULL, &now.context) != ATTN_OK) return 2;
    while (fgets(line, sizeof line, stdin)) {
        char *tab = strchr(line, '\t');
        if (!tab) {
            finish(&now);
            continue;
        }
        *tab = '\0';
        int64_t count = read_tags(&now, line, truth);
        if (read_tags(&now, tab + 1, answers) != count || now.set.types.strings.count > MOST) return 2;
        at_entities_count(&now.set, truth, answers, count, now.scores);
    }
    attn_context_destroy(now.context);
    return 0;
}
