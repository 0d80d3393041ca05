/* tape.h (private): variables, nodes and memory, as the operations see them.
 *
 * An operation is a file in tape/ops: a public function that checks, makes the
 * result (at_result), has the backend compute it (at_tape_run), and records how to
 * walk back (at_record). Nothing here follows a pointer to numbers: those are tensor
 * memory of the backend (ops/backend.h).
 *
 * Walking back. A node's backward function runs once, when the gradient of its
 * output is complete; it is not called if no gradient came. For every input
 * that wants one it asks at_gradient_begin for a place to write that input's
 * gradient, overwrites all of it, and gives it back with at_gradient_end, which
 * adds it to what was there before if need be. Gradients of parameters are
 * added to likewise (at_parameter_gradient_begin, _end).
 */
#ifndef AT_TAPE_TAPE_H
#define AT_TAPE_TAPE_H

#include <attn/operations.h>

#include "base/arena.h"
#include "base/context.h"
#include "base/options.h"
#include "ops/backend.h"
#include "tape/parameters.h"

typedef struct at_node at_node;

struct attn_variable {
    attn_tape *tape;
    float *data; /* tensor memory, as gradient is */
    int64_t rows, columns, stride;
    float *gradient; /* NULL: nothing came yet */
    int64_t gradient_stride;
    size_t gradient_bytes; /* of the block, 0 if it is part of another's */
    attn_variable *whole;  /* of a slice: what it is part of */
    int64_t first;         /* and its first column there */
    int64_t slices_end;    /* slices that begin here or later overlap none before */
    attn_variable *slices; /* the disjoint ones, linked by: */
    attn_variable *next_slice;
    attn_parameter *parameter; /* a leaf that stands for a parameter */
    unsigned wanted : 1;       /* a gradient is wanted: it, or something below it, learns */
    unsigned kept : 1;         /* the gradient may be read after the walk */
    unsigned disjoint : 1;     /* a slice that overlaps no other */
    unsigned recorded : 1;     /* a node made it, which will be walked */
    unsigned spare : 1;        /* the operation that made it does not read it on the backward pass */
    unsigned mixed : 1;        /* something else than disjoint slices has written the gradient */
};

typedef void (*at_backward)(attn_tape *tape, at_node *node);

enum { AT_NODE_INPUTS = 4 };

struct at_node {
    at_node *previous; /* made before this one */
    int64_t number;    /* 1 and up, in the order of recording */
    at_backward backward;
    attn_variable *output;
    attn_variable *input[AT_NODE_INPUTS];
    void *state; /* the operation's own, in the arena */
};

/* ---- who watches ----
 *
 * An observer is told of every attention that the tape computes, right after it: of its variables, and of its
 * weights, which the operator then gives, too. Results do not change by a bit. For explanations. */

typedef struct at_attention_seen {
    attn_variable *query, *key, *value, *output;
    int64_t heads, kv_heads;
    const attn_pattern *pattern;           /* as kept until the tape begins again, like all of this */
    const attn_attention_options *options; /* with the tensors that were used */
    attn_activation activation;            /* `output` has it already; IDENTITY: none */
    const float *weights, *log_sum_exp;    /* tensor memory: `count` numbers; rows x heads */
    int64_t count;
} at_attention_seen;

/* One row for each sequence, the weighted sum of its rows. */
typedef struct at_pooling_seen {
    attn_variable *x, *output;
    int64_t heads;
    const float *weights; /* tensor memory: heads x rows */
} at_pooling_seen;

/* The layer around the attention that was told of last; parameters that it does not have are NULL. */
typedef struct at_layer_seen {
    attn_variable *x, *source, *result;
    attn_parameter *input, *input_bias; /* W_q, W_k, W_v (of self-attention) one below the other */
    attn_parameter *query, *query_bias, *key_value, *key_value_bias; /* of cross-attention */
    attn_parameter *output, *output_bias;
    int rotated; /* queries and keys */
    int shared;  /* keys are values: W_q, W_kv, or one map for all three (as wide as W_q) */
} at_layer_seen;

typedef struct at_observer {
    void *user;
    void (*attention)(void *user, attn_tape *tape, const at_attention_seen *seen);
    void (*pooling)(void *user, attn_tape *tape, const at_pooling_seen *seen);
    void (*layer)(void *user, attn_tape *tape, const at_layer_seen *seen);
} at_observer;
/* Until it is set again; NULL: nobody watches. */
void at_tape_observe(attn_tape *tape, const at_observer *observer);
const at_observer *at_tape_observer(const attn_tape *tape); /* NULL: nobody */

/* Not 0: parameters on this tape want no gradient, and may belong to another context that computes alike. For
 * gradients of what is computed, of a model that others read at the same time. Until it is set again. */
void at_tape_freeze(attn_tape *tape, int frozen);
/* Gradients of parameters are added to these, not to the parameters' own. Until it is set again; NULL: to
 * their own. */
void at_tape_gradients(attn_tape *tape, at_gradients *into);
/* Not 0: weights in kernel order are kept with their parameters while the tape records, too, until they
 * change: for steps that use them several times. */
void at_tape_keep_packed(attn_tape *tape, int keep);
int at_tape_keeps_packed(const attn_tape *tape);
/* complete(user, parameter) is called on the backward pass as soon as nothing more will be added to the
 * gradient of a parameter of `set`: after the first operation that used it. Parameters that no operation
 * named (at_tape_uses) are not told of. For gradients that travel while the walk continues. NULL: nobody is
 * told. */
typedef void (*at_complete_function)(void *user, attn_parameter *parameter);
void at_tape_tell(attn_tape *tape, const attn_parameters *set, at_complete_function complete, void *user);
/* The operation that is being recorded uses the parameter (at_tape_has_parameter says so by itself). NULL is
 * allowed. */
void at_tape_uses(attn_tape *tape, attn_parameter *parameter);
/* The gradient of x is wanted and can be read after the backward pass, although nothing below it learns. */
void at_variable_watch(attn_variable *x);

/* ---- what an operation begins with ---- */

/* Whether to continue: the tape has no error yet. Returns 0 if it has one, quietly. */
int at_tape_ready(const attn_tape *tape);

/* Sets the tape's error (printf style), if it is the first, and returns NULL so
 * that `return at_tape_fail(...)` ends an operation. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void *
at_tape_fail(attn_tape *tape, attn_status status, const char *format, ...);

/* For an error that the context holds (a call of the library that failed). */
void *at_tape_failed(attn_tape *tape, attn_status status);

/* 0, with an error that names operation and argument, if variable is NULL. */
int at_tape_has(attn_tape *tape, const char *operation, const char *name, const attn_variable *variable);
/* Likewise for a parameter that must have `rows` x `columns` (-1: any). */
int at_tape_has_parameter(attn_tape *tape, const char *operation, const char *name,
                          const attn_parameter *parameter, int64_t rows, int64_t columns);
/* An option struct of the caller's over `into`, which the init function has filled
 * (base/options.h). 0 with the error set, which begins with the operation. */
int at_tape_options(attn_tape *tape, const char *operation, const char *name, const char *init,
                    const void *given, size_t first, size_t current, void *into);
/* 0, with an error, unless batch is there, its offsets rise from 0 to `rows`.
 * On success copies the offsets into the arena, so that they outlive the call,
 * if copy is not NULL. */
int at_tape_has_batch(attn_tape *tape, const char *operation, const attn_ragged *batch, int64_t rows,
                      attn_ragged *copy);

/* Host memory that lasts until the tape begins again, for states, offsets and ids;
 * aligned to 64 bytes, not cleared. count 0 gives a valid pointer. NULL with the
 * error set. */
void *at_tape_memory(attn_tape *tape, int64_t count, size_t element_bytes);
/* A copy of count elements in such memory. */
void *at_tape_copy(attn_tape *tape, const void *source, int64_t count, size_t element_bytes);
/* Tensor memory that lasts as long, for `count` numbers. */
float *at_tape_numbers(attn_tape *tape, int64_t count);
/* And a copy of numbers from the host in it. */
float *at_tape_host_numbers(attn_tape *tape, const float *host, int64_t count);

/* Working memory for one function, host and tensor memory: take a mark, take
 * memory, and release the mark before returning. NULL with the error set. */
typedef struct at_scratch {
    at_mark host, numbers;
} at_scratch;
at_scratch at_scratch_mark(const attn_tape *tape);
void *at_scratch_memory(attn_tape *tape, int64_t count, size_t element_bytes);
float *at_scratch_numbers(attn_tape *tape, int64_t count);
void at_scratch_release(attn_tape *tape, at_scratch mark);

/* ---- results and recording ---- */

/* A new variable, rows x columns, contiguous, not cleared. NULL with the error set. */
attn_variable *at_result(attn_tape *tape, int64_t rows, int64_t columns);

/* A new variable in the memory of another, which must not be used again. */
attn_variable *at_result_in(attn_tape *tape, const attn_variable *spare);

/* Whether the tape records at all (so whether to keep what only the backward pass needs). */
int at_recording(const attn_tape *tape);
/* Whether x wants a gradient. NULL does not. */
int at_wanted(const attn_variable *x);
/* Whether the parameter wants one on this tape: it records, and it is not frozen. */
int at_parameter_wanted(const attn_tape *tape, const attn_parameter *parameter);

/* Records that `output` was made. Does nothing, and returns NULL, if the tape
 * does not record or neither an input nor a parameter (`learns` not 0) wants a
 * gradient. state: kept in the node; may be NULL. */
at_node *at_record(attn_tape *tape, attn_variable *output, at_backward backward, void *state, int learns,
                   attn_variable *a, attn_variable *b, attn_variable *c);

/* A number that no other operation of this step has, for dropout. */
uint64_t at_tape_stream(attn_tape *tape);
uint64_t at_tape_seed(const attn_tape *tape);

/* ---- walking back ---- */

typedef struct at_gradient {
    float *data; /* rows x columns to overwrite; NULL: not wanted */
    int64_t stride;
    int adds; /* data is working memory, to be added by at_gradient_end */
    size_t bytes;
} at_gradient;

/* The place for the gradient of x (NULL or not wanted: data NULL). If it fails
 * data is NULL and the tape's error is set. */
at_gradient at_gradient_begin(attn_tape *tape, attn_variable *x);
void at_gradient_end(attn_tape *tape, attn_variable *x, at_gradient *gradient);

/* For an operation that can add by itself: the gradient of x, to be written if
 * *adds is 0 and else to be added to. There is nothing to end. */
at_gradient at_gradient_adding(attn_tape *tape, attn_variable *x, int *adds);

/* The memory of the gradient of a node's output, which nobody reads after this call, as that of x: for an
 * operation that can then make dx of it in place. Whether it could be had; else nothing has changed. */
int at_gradient_take(attn_tape *tape, attn_variable *x, attn_variable *output);

/* dx += g where x is as wide as g: takes g's memory over if it may (steal: g is
 * the gradient of a node's output that nobody reads after this call). */
void at_gradient_pass(attn_tape *tape, attn_variable *x, attn_variable *output, int steal);

/* The same for a parameter: a contiguous matrix of its rows x columns. */
at_gradient at_parameter_gradient_begin(attn_tape *tape, attn_parameter *parameter);
void at_parameter_gradient_end(attn_tape *tape, attn_parameter *parameter, at_gradient *gradient);

/* The gradient of a parameter unchanged, to be added to in place in the rows
 * that are named (-1: none), as of an embedding. NULL with the error set. */
float *at_parameter_gradient(attn_tape *tape, attn_parameter *parameter, const int64_t *rows, int64_t count);

/* ---- running ---- */

attn_context *at_tape_context(const attn_tape *tape);

/* What the backend runs. A call is written
 *
 *     at_scale_call call = {factor, at_data_of(x), at_data_of(y)};
 *     at_tape_did(tape, at_tape_run(tape)->scale(at_tape_context(tape), &call));
 *
 * at_tape_did makes a status that is not OK the tape's error, and returns whether it is OK. */
const at_backend_operators *at_tape_run(const attn_tape *tape);
int at_tape_did(attn_tape *tape, attn_status status);

/* Views: what a variable holds, what arrived at a node's output, the place of x's gradient. */
at_view at_data_of(const attn_variable *x);
at_view at_gradient_of(const attn_variable *y);
at_view at_place_of(const at_gradient *gradient, const attn_variable *x);
/* What a parameter holds as a matrix. */
at_view at_value_of(const attn_parameter *parameter);

#endif
