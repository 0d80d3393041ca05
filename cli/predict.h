/* predict.h: how examples are answered, for the files of `attn predict`. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <attn/attn.h>

#include "input.h"

typedef struct prediction {
    attn_context *context;
    attn_model *model;
    attn_predictor *predictor;
    attn_reader_options options;
    attn_write_options write;
    const char *name;    /* of the input, in errors */
    bool told;           /* by which rule raw text is split */
    char *head;          /* NULL, or the first row of the input, which says what columns there are */
    FILE *to;            /* the output file */
    int64_t part, parts; /* of the examples: 0 of 1 is all of them */
} prediction;

/* An input of which some bytes may be there; path NULL: standard input. EXIT_DONE, or it has said why not;
 * input_close in any case. */
int predict_open(prediction *with, const char *path, input *from);
/* The format, and where its examples end (attn_reader_pieces), from the beginning of the input. */
int predict_find_examples(prediction *with, input *from);
/* The first row of a table, from the beginning of the input; false, when it has said why not. */
bool predict_find_head(prediction *with, input *from);
/* It will come with the next piece. */
void predict_forget_head(prediction *with);
/* "cannot read ..."; EXIT_FAILED. */
int predict_fail_input(const prediction *with, const input *from);

/* A piece of the input, or a set of examples (the part of it that is requested), which is destroyed: answered
 * up to the first bad line. False, when it has said why. */
bool predict_piece(prediction *with, const char *bytes, size_t length, int64_t line);
bool predict_dataset(prediction *with, attn_status status, attn_dataset *dataset, const char *bytes,
                     size_t length);

/* predict_ranks.c: the same by several ranks: rank 0 reads the input, hands out pieces, and writes the
 * answers in their order. path NULL: standard input. An exit status. */
int predict_by_ranks(prediction *with, const char *path);

#endif
