/* rows_explain.c: the output of a head of rows that an explanation is about.
 *
 * For a label it is its logit minus the mean of all labels' logits, because adding a number to all of them
 * changes no prediction; if several labels may apply, its logit alone. For a number it is the number, in the
 * units of the data.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/rows.h"

/* The number of the label that is requested; -1: whatever was answered. */
static attn_status find_label(const at_head *head, const at_asked *asked, int64_t *label) {
    const at_row_head *own = at_row_head_of(head);
    *label = -1;
    if (!asked->label) return ATTN_OK;
    if (own->labels.strings.count == 0)
        return at_fail(asked->context, ATTN_INVALID_ARGUMENT,
                       "label %.80s: output %.80s is a number and has no labels", asked->label,
                       at_string(&head->name, 0));
    *label = at_vocabulary_find(&own->labels, asked->label, strlen(asked->label));
    if (*label >= 0) return ATTN_OK;
    return at_fail(asked->context, ATTN_INVALID_ARGUMENT,
                   "the model has no label %.80s; it has %" PRId64 ", such as %.80s (attn info lists them)",
                   asked->label, own->labels.strings.count, at_string(&own->labels.strings, 0));
}

static attn_status name_target(const at_head *head, at_asked *asked, int64_t label, int64_t places,
                               int64_t place) {
    const at_row_head *own = at_row_head_of(head);
    const char *text = at_string(&head->name, 0);
    at_strings_clear(&asked->target);
    if (own->labels.strings.count > 0) {
        if (label < 0 && places == 1) label = at_row_answers_of(asked->answers)->classes[place];
        text = label >= 0 ? at_string(&own->labels.strings, label) : "the predicted labels";
    }
    return at_strings_add(asked->context, &asked->target, text, strlen(text));
}

attn_variable *at_rows_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                               const at_batch *batch, at_asked *asked) {
    const at_row_head *own = at_row_head_of(head);
    const at_row_answers *answers = at_row_answers_of(asked->answers);
    attn_variable *logits = at_rows_logits(head, network, tape, x, batch);
    int64_t label, rows = attn_variable_rows(logits), width = attn_variable_columns(logits), place = 0,
                   places = 0;
    if (!logits || find_label(head, asked, &label) != ATTN_OK) return NULL;
    if (at_grow(asked->context, &asked->gradient, &asked->gradient_room, rows * width + 1, sizeof(float),
                "an explanation") != ATTN_OK)
        return NULL;
    memset(asked->gradient, 0, (size_t)(rows * width) * sizeof *asked->gradient);
    for (int64_t r = 0; r < rows; r++) {
        if (head->per_row && asked->row >= 0 && r != asked->row) continue;
        float *into = asked->gradient + r * width;
        place = head->per_row ? asked->segment->first + r : asked->segment->example;
        places++;
        if (own->labels.strings.count == 0) {
            into[0] = (float)own->deviation;
            continue;
        }
        int64_t of = label >= 0 ? label : answers->classes[place];
        for (int64_t c = 0; c < width && !head->kind->rows->labels; c++) into[c] = -1.0f / (float)width;
        into[of] += 1.0f;
    }
    return name_target(head, asked, label, places, place) == ATTN_OK ? logits : NULL;
}
