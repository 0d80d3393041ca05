/* predictor.h (private): what a predictor holds. */
#ifndef AT_MODEL_PREDICTOR_H
#define AT_MODEL_PREDICTOR_H

#include <attn/predictor.h>
#include <attn/report.h>

#include "model/model.h"

struct attn_predictor {
    const attn_model *model;
    const at_stage *stage;
    attn_context *context, *own_context;
    at_work work;
    void *memo; /* of the input */
    at_work split_work;
    void *split_memo;                     /* of the splitter's input */
    void *input_settings, *head_settings; /* structs of their fields; NULL: there are none */
    attn_dataset *pushed;                 /* rows of the sequence that comes in pieces */
    int open_line;                        /* the text that was pushed ends within a line */
    int running;                          /* text was pushed */
    const double *next;                   /* NULL, or what comes after it */
    int64_t answered;                     /* examples so far */
    int64_t in_pieces, cut; /* those of them that were read in pieces; of which only the beginning was read */
    at_writer written;
    float *vectors; /* of attn_predictor_embed */
    int64_t vector_room, *vector_offsets, vector_offset_room;
};

/* The examples that the model's splitter makes of raw data; *split is NULL where the dataset is not raw, or
 * the model has no splitter. offsets: NULL, or where each raw example's begin among them. */
attn_status at_predictor_split(attn_predictor *predictor, const attn_dataset *raw, attn_dataset **split,
                               int64_t **offsets);

/* The predictions of a prediction as a kind of input sees them that writes them. */
void at_predictor_cells(const attn_predictor *predictor, const at_writing *now, at_cells *cells);

/* Batches are shared by `ranks` of them, of which this is `rank`: see at_work. */
void at_predictor_share(attn_predictor *predictor, int rank, int ranks,
                        attn_status (*join)(void *user, void *bytes, size_t count), void *user);

/* Whether a setting that is true or false is on; 0 if models like this one do not have it. */
int at_setting_on(const attn_predictor *predictor, const char *name);

/* Fits what makes the probabilities of the model mean what they say (output.calibrate) to a dataset with
 * targets that it did not learn from. The model must not be in use by others. */
attn_status at_predictor_calibrate(attn_predictor *predictor, const attn_dataset *dataset);

/* How right the examples and rows of `split`, and the answers for them, are, which was found in the raw data
 * of `gold`: metrics as those of attn_report_create_raw. */
attn_status at_report_split(attn_predictor *predictor, const attn_dataset *gold, const attn_dataset *split,
                            attn_report **report);

#endif
