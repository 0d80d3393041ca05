/* spread.c: how much the networks of an ensemble differ: the standard deviation of their predictions.
 *
 * Predictions are taken as differences from those of the first network, so that networks that agree have a
 * spread of exactly 0, and close ones lose no digits.
 */
#include <math.h>

#include "base/memory.h"
#include "heads/rows.h"

struct at_member {
    double first, sum, squares; /* of the first network; of distances from it */
};

attn_status at_spread_add(attn_context *context, at_spread *spread, int network, int64_t rows, int64_t row,
                          const float *answers, int64_t width) {
    attn_status status = at_grow(context, &spread->members, &spread->member_room, rows * width,
                                 sizeof *spread->members, "the spread of answers");
    if (status != ATTN_OK) return status;
    struct at_member *members = spread->members + row * width;
    for (int64_t c = 0; c < width; c++) {
        if (network == 0) members[c] = (struct at_member){.first = (double)answers[c]};
        double distance = (double)answers[c] - members[c].first;
        members[c].sum += distance;
        members[c].squares += distance * distance;
    }
    return ATTN_OK;
}

static double deviation(const struct at_member *member, int networks) {
    double mean = member->sum / networks, variance = member->squares / networks - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

void at_spread_put(const at_row_head *head, at_row_answers *into, int networks, int64_t row, int64_t place) {
    const at_row_kind *kind = head->head.kind->rows;
    const struct at_member *members = into->spread.members + row * kind->width(head);
    double *values = into->spread.values + place * into->spread.columns;
    if (kind->labels) {
        for (int64_t l = 0; l < into->labels; l++) values[l] = deviation(&members[l], networks);
    } else if (into->classes) {
        values[0] = deviation(&members[into->classes[place]], networks);
    } else {
        values[0] = deviation(&members[0], networks) * head->deviation;
    }
}

attn_status at_spread_create(attn_context *context, const at_row_kind *kind, at_row_answers *into) {
    into->spread.columns = kind->labels ? into->labels : 1;
    into->spread.values = at_allocate(context, into->places * into->spread.columns,
                                      sizeof *into->spread.values, "the spread of answers");
    return into->spread.values ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

void at_spread_free(attn_context *context, at_spread *spread) {
    at_release(context, spread->values);
    at_release(context, spread->members);
}

/* A number, or, of several labels, one for each that the prediction has. */
void at_spread_write(const at_answers *answers, int64_t place, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    const double *values = rows->spread.values + place * rows->spread.columns;
    if (!answers->head->kind->rows->labels) {
        at_put_number(writer, values[0], 6);
        return;
    }
    int first = 1;
    at_put_char(writer, '[');
    for (int64_t l = 0; l < rows->labels; l++) {
        if (!(rows->probabilities[place * rows->labels + l] >= 0.5f)) continue;
        if (!first) at_put_char(writer, ',');
        at_put_number(writer, values[l], 6);
        first = 0;
    }
    at_put_char(writer, ']');
}
