/* transitions.h: heads whose labels are entity tags: which label may follow which, and the best allowed
 * labels of a sequence.
 *
 *     BIO     I-X follows only B-X or I-X
 *     BIOES   after B-X and I-X come I-X or E-X, which follow nothing else; a sequence does not end in them
 *     IOB1    I- begins entities, too: any label may follow any other
 *
 * and all transitions in the training data. Models of older versions have no scheme: with them any label may
 * follow any other.
 */
#ifndef AT_HEADS_TRANSITIONS_H
#define AT_HEADS_TRANSITIONS_H

#include "heads/metrics/entities.h"
#include "heads/rows.h"

typedef enum at_tag_scheme { AT_SCHEME_NONE, AT_SCHEME_BIO, AT_SCHEME_BIOES, AT_SCHEME_IOB1 } at_tag_scheme;

typedef struct at_tagging {
    at_tag_set tags; /* the labels of the head */
    at_tag_scheme scheme;
    /* [labels + 1][labels + 1]: whether the second can follow the first; the last row is the beginning of a
     * sequence, the last column its end. NULL: anything can. */
    unsigned char *allowed;
} at_tagging;

void at_tagging_free(attn_context *context, at_tagging *tagging); /* NULL is allowed */

/* ---- learning, and the file ---- */

/* From the targets of encoded examples; does nothing where the labels are no tags. */
attn_status at_tagging_learn(at_head *head, const at_encoded *encoded, int column);
/* For a head that was loaded: what the data contains is possible as well. */
int at_tagging_store(const at_row_head *head, json_t *description);
attn_status at_tagging_load(at_row_head *head, const json_t *description, const char **reason);

/* ---- paths ---- */

/* Memory that is kept from path to path. */
typedef struct at_path_memory {
    int32_t *before;
    double *best;
    int64_t before_room, best_room;
} at_path_memory;
void at_path_memory_free(attn_context *context, at_path_memory *memory);

/* The log-probabilities of a sequence: path y has the sum of rows[t][y_t], and, of a CRF, of its parameters.
 */
typedef struct at_path_log_probabilities {
    const float *rows;
    int64_t stride, count;
    int probabilities;                      /* rows are probabilities, their logarithms are meant */
    const float *transitions, *start, *end; /* NULL, or of a CRF */
} at_path_log_probabilities;

/* open: the sequence is a part of a longer one: it may begin and end with anything. */
int at_path_possible(const at_tagging *tagging, const int32_t *path, int64_t count, int open);
/* The best path of those that are possible; of equally good ones the first. If there is none `path` is left
 * as it is. */
attn_status at_path_find(attn_context *context, const at_tagging *tagging,
                         const at_path_log_probabilities *sequence, int open, at_path_memory *memory,
                         int32_t *path);

/* ---- answers (rows_decode.c) ---- */

/* Room for examples that are cut into several segments: their labels are chosen when all of them are there.
 */
attn_status at_cut_create(attn_context *context, const at_encoded *encoded, int64_t longest,
                          at_row_answers *into);
void at_cut_free(attn_context *context, at_cut *cut);
/* The labels of a batch that was put to its places. rows: what they follow from, of the batch; network: of a
 * CRF, whose parameters count, or -1. */
attn_status at_rows_decode(const at_head *head, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const at_segments *segments, const int64_t *order,
                           int network, const at_path_log_probabilities *rows, at_path_memory *memory,
                           at_row_answers *into);
/* The labels of the examples that were cut, when all segments are answered. */
attn_status at_rows_decode_cut(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                               at_row_answers *into);

/* ---- comparing (rows_decode.c) ---- */

/* Whether a head has a metric: those of entities are for tags of entities. */
int at_tagging_has_metric(const at_row_head *head, const at_metric *metric);
/* entity_f1, entity_precision, entity_recall, and the metrics of every type. */
attn_status at_tagging_report(const at_row_head *head, attn_context *context, const at_encoded *encoded,
                              const at_row_targets *targets, const at_row_answers *answers, int output,
                              attn_report *report);

#endif
