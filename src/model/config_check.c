/* config_check.c: values of a configuration that exclude each other. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "model/config.h"

enum { MOST_HEAD_WIDTH = 512 }; /* of the attention operator */

static attn_status check_mix(attn_context *context, const at_encoder_values *values) {
    char mix[AT_FIELD_TEXT_BYTES];
    int64_t count = 0;
    int kinds = 0;
    while (strcmp(attn_config_name(kinds), "encoder.kind") != 0) kinds++;
    memcpy(mix, values->mix, sizeof mix);
    if (!*mix) return ATTN_OK;
    for (char *kind = mix; kind; count++) {
        char *comma = strchr(kind, ',');
        if (comma) *comma++ = 0;
        int known = 0;
        for (int c = 0; attn_config_choice(kinds, c); c++)
            known |= c != AT_ENCODER_NONE && strcmp(attn_config_choice(kinds, c), kind) == 0;
        if (!known) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "encoder.mix names \"%.60s\"; it can name attention, rnn, cnn, fc, mean", kind);
        }
        kind = comma;
    }
    if (count == values->layers) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "encoder.mix names %" PRId64 " kinds, encoder.layers is %" PRId64, count, values->layers);
}

int at_has_attention(const at_encoder_values *values) {
    return *values->mix ? strstr(values->mix, "attention") != NULL : values->kind == ATTN_MIXER_ATTENTION;
}
/* Attention, or the mean, which has its heads. */
static int has_heads(const at_encoder_values *values) {
    return at_has_attention(values) ||
           (*values->mix ? strstr(values->mix, "mean") != NULL : values->kind == ATTN_MIXER_MEAN);
}

/* The byte between labels, 0: there is none. */
char at_label_separator(const at_reading_values *reading) {
    return strcmp(reading->label_separator, "\\n") == 0 ? '\n' : reading->label_separator[0];
}

static attn_status check_reading(attn_context *context, const at_config *v) {
    const char *format = v->reading->format;
    if (attn_input_find_format(v->input->name, format) < 0) {
        char list[256] = "";
        for (int f = 0; v->input->formats[f]; f++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", f ? ", " : "",
                     v->input->formats[f]);
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader.format is \"%.60s\"; it can be: %s", format,
                       list);
    }
    int other = v->task->other_format && strcmp(format, v->task->other_format) == 0;
    if (v->task->format && !other && strcmp(format, "auto") != 0 && strcmp(format, v->task->format) != 0)
        return at_fail(
            context, ATTN_INVALID_ARGUMENT, "task %s learns from %s: reader.format has to be %s%s%s",
            v->task->name, v->task->pairs ? "pairs" : "lines of text", v->task->format,
            v->task->other_format ? " or " : "", v->task->other_format ? v->task->other_format : "");
    if (strlen(v->reading->label_separator) > 1 && strcmp(v->reading->label_separator, "\\n") != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "reader.label_separator is \"%.20s\"; it is one byte, or \\n",
                       v->reading->label_separator);
    }
    return ATTN_OK;
}

static attn_status check_split(attn_context *context, const at_reading_values *reading) {
    if (!*reading->split || !*reading->split_column) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "reader.split is \"%.60s\" and reader.split_column \"%.60s\": use one of them",
                   reading->split, reading->split_column);
}

static attn_status check_encoder(attn_context *context, const at_config *v) {
    const at_encoder_values *e = v->encoder;
    int decoder = at_head_chosen(v->task->head, v->output)->decoder;
    if (has_heads(e) && e->head_width == 0 && e->columns % e->heads != 0 && e->form != ATTN_HEADS_WIDE) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.columns (%" PRId64 ") is not a multiple of encoder.heads (%" PRId64 ")",
                       e->columns, e->heads);
    }
    int64_t width = e->head_width                ? e->head_width
                    : e->form == ATTN_HEADS_WIDE ? e->columns
                                                 : e->columns / e->heads;
    if (has_heads(e) && width > MOST_HEAD_WIDTH) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.columns (%" PRId64 ") and encoder.heads (%" PRId64 ") make heads of %" PRId64
                       " columns, and they can have %d: give more heads",
                       e->columns, e->heads, width, MOST_HEAD_WIDTH);
    }
    if (v->task->running && !e->causal)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "task %s: encoder.causal has to be true",
                       v->task->name);
    if (decoder && e->columns % e->heads != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.columns (%" PRId64 ") is not a multiple of encoder.heads (%" PRId64
                       "), which the decoder has, too",
                       e->columns, e->heads);
    }
    if (decoder && (e->inner < 0 || e->jump == ATTN_JUMP_CONCAT))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s: %s: the decoder has a feed-forward, and reads encoder.columns",
                       v->task->name, e->inner < 0 ? "encoder.inner is -1" : "encoder.jump is concat");
    if (decoder && !v->sequence->cross && !v->sequence->monotone)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "decoder.cross and decoder.monotone are false: the decoder would see no source");
    if (decoder && e->position == ATTN_POSITION_ONE_HOT)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s: encoder.position can be anything but one-hot; learned is equivalent",
                       v->task->name);
    return check_mix(context, e);
}

/* Without an encoder there is no prediction but from features of whole examples. */
static attn_status check_none(attn_context *context, const at_config *v) {
    const at_head_kind *head = at_head_chosen(v->task->head, v->output);
    if (v->encoder->kind != AT_ENCODER_NONE) return ATTN_OK;
    if (!v->input->build_wide)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.kind none is for input text: input %s has no features of a whole %s",
                       v->input->name, attn_input_example(v->input->name));
    if (v->task->per_row == 1 || !head->rows)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.kind none is for tasks classify and regress, one prediction per %s; task %s "
                       "needs an encoder",
                       attn_input_example(v->input->name), v->task->name);
    if (!*v->encoder->mix) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "encoder.kind is none and encoder.mix \"%.60s\": use only one of them", v->encoder->mix);
}

/* Rows that are in no order have no positions, and nothing that goes by the order mixes them. */
static attn_status check_order(attn_context *context, const at_config *v) {
    const at_encoder_values *e = v->encoder;
    if (!v->input->unordered) return ATTN_OK;
    if (v->output->crf)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "output.crf must be false: it uses the order of rows, and those of input %s have none",
                       v->input->name);
    if (e->position != ATTN_POSITION_NONE)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.position must be none: the rows of input %s have no order", v->input->name);
    if (e->left >= 0 || e->right >= 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.%s must be -1: the rows of input %s have no order",
                       e->left >= 0 ? "left" : "right", v->input->name);
    int ordered =
        e->kind == ATTN_MIXER_RNN || e->kind == ATTN_MIXER_CNN || (e->kind == ATTN_MIXER_FC && e->width > 1);
    if (*e->mix)
        ordered = strstr(e->mix, "rnn") || strstr(e->mix, "cnn") || (strstr(e->mix, "fc") && e->width > 1);
    if (!ordered) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "encoder.kind can be attention, mean or fc (of width 1): rnn and cnn use the order of "
                   "rows, and those of input %s have none",
                   v->input->name);
}

/* Places in a grid need a grid; and where there is one, a row's window has no past. */
static attn_status check_grid(attn_context *context, const at_config *v) {
    const at_encoder_values *e = v->encoder;
    if (e->position >= ATTN_POSITION_GRID && !v->input->grid)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "input %s has no grid: encoder.position can be none, sinusoidal, learned, one-hot, "
                       "rotary, alibi or relative",
                       v->input->name);
    if (e->position == ATTN_POSITION_GRID && e->columns % 2 != 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.columns (%" PRId64
                       ") has to be even: encoder.position grid gives half of them "
                       "to rows and half to columns",
                       e->columns);
    if (e->position == ATTN_POSITION_GRID_RELATIVE && e->score == ATTN_SCORE_NONE)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.position cannot be grid-relative if encoder.score is fixed");
    if (v->input->grid && e->causal)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.causal must be false: the rows of input %s are on a grid and have no order",
                       v->input->name);
    return ATTN_OK;
}

attn_status at_config_check(attn_context *context, const at_config *v) {
    at_input_use use = at_config_use(v);
    attn_status status = check_reading(context, v);
    if (status == ATTN_OK) status = check_split(context, v->reading);
    if (status == ATTN_OK) status = check_none(context, v);
    if (status == ATTN_OK) status = v->input->check(context, v->input_values, &use);
    if (status == ATTN_OK) status = check_encoder(context, v);
    if (status == ATTN_OK) status = check_order(context, v);
    if (status == ATTN_OK) status = check_grid(context, v);
    if (status == ATTN_OK) status = at_heads_check(context, v->task->head, v->output, v->task->per_row);
    if (status == ATTN_OK && v->training->nesterov && v->training->momentum == 0)
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "training.nesterov needs a training.momentum");
    return status;
}
