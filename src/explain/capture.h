/* capture.h: what is kept of a pass through a network: the weights of every attention, and gradients.
 *
 *     at_capture_begin(&capture, PREDICT or GRADIENT tape);  ... the pass ...;  at_capture_gradients(...)
 *
 * The first network makes the maps; those of the others are added to them, so that an ensemble's are the
 * mean. The gradient of a weight is that of the output times the value: d explained / d p_ij = d_i . v_j in a
 * head, because the output of attention is sum_j p_ij v_j.
 */
#ifndef AT_EXPLAIN_CAPTURE_H
#define AT_EXPLAIN_CAPTURE_H

#include "explain/explain.h"
#include "tape/tape.h"

/* The part of the network that is being computed. */
typedef enum at_capture_phase { AT_CAPTURE_ENCODER, AT_CAPTURE_POOL, AT_CAPTURE_HEAD } at_capture_phase;

typedef struct at_capture {
    attn_explanation *into;
    at_observer observer;
    at_capture_phase phase;
    const int64_t *layers;  /* of the encoder: the block of each attention */
    int64_t part_counts[4]; /* maps of each part that this pass had so far */
    int64_t next;           /* the number of the attention that comes */
    int first;              /* the first network of several */
    int details;            /* queries and so on are kept, of this network */
    float share;            /* of this network in the mean */
    int gradients;          /* the pass is differentiated: what came is in `seen` */
    struct at_seen *seen;
    int64_t seen_count, seen_room;
    int64_t map_room, detail_room;
    int64_t weights; /* of all maps so far */
    attn_status status;
} at_capture;

/* The tape tells the capture from now on. */
void at_capture_begin(at_capture *capture, attn_tape *tape);
/* After the backward pass: gradients of the weights of all maps. */
attn_status at_capture_gradients(at_capture *capture);
void at_capture_free(at_capture *capture);

#endif
