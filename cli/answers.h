/* answers.h: what a model says, as lines of text, as JSON, or filled into CoNLL-U. */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <attn/attn.h>

typedef struct answers {
    attn_model *model;
    bool json;
    bool probabilities;
    bool words;                   /* the model cuts text into words */
    bool terminal;                /* standard output is one: what it might obey is escaped */
    char separator;               /* between several labels of one answer */
    struct answers_label *sorted; /* room to sort the labels of an output */
} answers;

/* False without memory. */
bool answers_begin(answers *how, attn_model *model, bool json, bool probabilities);
void answers_end(answers *how);

/* All examples of a prediction on standard output. */
void answers_print(const answers *how, const attn_prediction *prediction);

/* Lines of CoNLL-U on standard output, byte for byte as they are, but for the columns that the model
 * answers. *example and *word say where in the prediction the first token of the lines is, and are moved on
 * past the last. False without memory. */
bool answers_fill(const answers *how, const attn_prediction *prediction, const char *lines, size_t length,
                  int64_t *example, int64_t *word);

/* Prints one answer: the label, labels or number; then nothing, or its probability as `between` and a
 * number. */
void answers_cell(const answers *how, FILE *file, const attn_prediction *prediction, int output,
                  int64_t example, int64_t unit, const char *between);
/* Prints text that stands between TABs and line ends. */
void answers_text(const answers *how, FILE *file, const char *text);

#endif
