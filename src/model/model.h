/* model.h (private): the contents of a model, and how its networks are built from a configuration.
 *
 *     input -> rows -> stem -> encoder -> (pooled) -> heads
 *
 * Features of whole examples, if the input has them, are added to the logits of the heads; with encoder.kind
 * none there is nothing else.
 *
 * The stem adds to each row a narrow convolution of it and its neighbours. Attention could learn this from
 * positions, but only from much data.
 *
 * A model has one or two stages. A stage is an input view, heads, and the networks that predict together (an
 * ensemble, if there are several). Each network has a name, with which its parameters begin. The main stage
 * predicts. The other stage, the splitter, splits raw data into the examples that the main stage was trained
 * on: running text into sentences of words.
 */
#ifndef AT_MODEL_MODEL_H
#define AT_MODEL_MODEL_H

#include <attn/model.h>

#include "model/config.h"

typedef struct at_network {
    char name[32],
        prefix[32];   /* "main" and "", "member.1" and "member.1.", ...: parameters begin with the prefix */
    void *input;      /* the layer of the input */
    attn_mixer *stem; /* NULL: none */
    attn_encoder *encoder;   /* NULL, as are the others: see at_stage_has_rows */
    attn_linear *pool_score; /* NULL: pooling has no parameters */
} at_network;

typedef struct at_stage {
    attn_context *context;
    const char *prefix; /* of its tensors in a model file: "", or "splitter." */
    attn_config *config;
    at_config values; /* of `config` */
    at_input *input;
    int per_row; /* heads see rows; else those of an example are pooled */
    int head_count;
    at_head **heads;
    int network_count;
    at_network networks[AT_MOST_NETWORKS];
    attn_parameters *parameters; /* of the networks */
    at_forward forward;          /* the networks, as heads see them */
} at_stage;

enum { AT_STAGES = 2 }; /* the main one, and the splitter */

/* One of the metrics. */
typedef struct at_model_metric {
    double number; /* NaN: it is a text */
    int whole;
} at_model_metric;

struct attn_model {
    attn_context *context;
    at_stage stages[AT_STAGES];
    int stage_count;
    at_safetensors *file;         /* NULL, or where the parameters' values are */
    char storage[96];             /* how they are stored there, for people */
    char *metrics;                /* JSON; NULL: "{}" */
    at_model_metric *metric_list; /* the same, one by one */
    int64_t metric_room;
    at_strings metric_names, metric_values; /* of each */
};

static inline at_stage *at_main_stage(const attn_model *model) {
    return (at_stage *)(uintptr_t)&model->stages[0];
}
/* Whether its networks have an encoder; else heads see features of whole examples alone. */
static inline int at_stage_has_rows(const at_stage *stage) {
    return stage->values.encoder->kind != AT_ENCODER_NONE;
}
/* NULL: it has none. */
static inline at_stage *at_splitter_stage(const attn_model *model) {
    return model->stage_count > 1 ? (at_stage *)(uintptr_t)&model->stages[1] : NULL;
}

/* An empty model of a configuration, which is copied. Then at_stage_learn (or what a file has), then
 * at_model_build. */
attn_status at_model_create(attn_config *config, attn_model **model);
/* Adds the splitter, of a configuration that is copied, before the networks are built. */
attn_status at_model_add_splitter(attn_model *model, attn_config *config);
/* Learns from examples what the input and the heads need to know. *encoded: the same examples, encoded. */
attn_status at_stage_learn(at_stage *stage, const attn_dataset *train, const char *vectors,
                           at_encoded **encoded);
/* The same for a stage that knows it from a file (at_stage_load): what does not fit is refused. */
attn_status at_stage_learn_more(at_stage *stage, const attn_dataset *train, at_encoded **encoded);
/* Makes the networks: parameters start from training.seed, or, if `file` is not NULL, are those of the file,
 * which stays with the model (each with its shape; no others may be there). */
attn_status at_model_build(attn_model *model, at_safetensors *file);
void at_model_unbuild(attn_model *model);
/* Brings all weights into the order of the kernels now, so that predicting changes nothing in the model. */
attn_status at_model_pack(attn_model *model);

/* A head for each target column, or the one that generates. */
attn_status at_stage_add_head(at_stage *stage, const at_head_kind *kind, const char *name);

/* ---- examples (stage.c) ---- */

attn_status at_stage_encode(const at_stage *stage, attn_context *context, void **memo,
                            const attn_dataset *dataset, const at_encode_options *options,
                            at_encoded **encoded);
/* The column of a head: by name, or, where there is only one of each, that one; -1: there is none. */
int at_stage_column(const at_stage *stage, const at_strings *columns, int head);
/* Targets of all heads, [head_count]; all freed together. */
attn_status at_stage_targets(const at_stage *stage, attn_context *context, const at_encoded *encoded,
                             at_targets ***targets);
void at_stage_free_targets(const at_stage *stage, attn_context *context, at_targets **targets);
/* A network in three parts: what the input's layer makes of a batch; the encoder's rows; one row for each
 * example, where answers are of examples (else the rows themselves). */
attn_variable *at_stage_input(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch);
attn_variable *at_stage_encoder(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch,
                                attn_variable *x);
attn_variable *at_stage_pooled(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch,
                               attn_variable *x);
/* The first two: the rows of a network, not pooled. */
attn_variable *at_stage_rows(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch);
/* The loss, all heads together, the mean over the networks; targets are gathered. shares: NULL, or which part
 * of all that the loss of each head is the mean over is in this batch, where it is part of a larger one. */
attn_variable *at_stage_loss(const at_stage *stage, attn_tape *tape, const at_batch *batch,
                             at_targets *const *targets, const double *shares);

/* What predicting with a stage works with. */
attn_status at_work_create(const at_stage *stage, attn_context *context, at_work *work);
/* The same with a tape and a batch that somebody else has, so that there is one of each: those of one big
 * graph are large. */
void at_work_borrow(attn_context *context, attn_tape *tape, at_batch *batch, at_work *work);
void at_work_free(const at_stage *stage, at_work *work);
attn_status at_stage_report(const at_stage *stage, at_work *work, const at_encoded *encoded,
                            at_targets *const *targets, const void *settings, at_effort effort,
                            attn_report **report);

/* steps.c: running text row by row; see at_forward. */
attn_status at_steps_begin(const at_forward *forward, attn_context *context, void **steps);
attn_status at_steps_extend(const at_forward *forward, void *steps, const char *unit, size_t length);
attn_status at_steps_push(const at_forward *forward, void *steps);
attn_variable *at_steps_rows(const at_forward *forward, void *steps, int network, attn_tape *tape);
void at_steps_free(const at_forward *forward, void *steps);

/* ---- the file (model_file.c) ---- */

/* A parameter's values in an open file: an at_parameter_source whose user is the at_safetensors. Those that
 * are stored in fewer bits or without empty rows are expanded; that goes with the file. */
float *at_model_stored(void *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes);
/* What a file says of the input and the heads, into an empty stage of the same configuration. */
attn_status at_stage_load(at_stage *stage, const at_safetensors *file);
/* Puts all of the model into a writer. Values must not change until the file is written. */
attn_status at_model_store(const attn_model *model, at_store store, at_safetensors_writer *writer);
at_store at_model_store_of(const attn_model *model); /* training.store */
/* In how many bits each number of a parameter is stored: 32, 16, 8 or 6. */
int at_model_bits(const attn_parameter *parameter, at_store store);
/* Adds the splitter that an open file has, if any: its view and labels; the networks are built later. */
int at_model_has_splitter(const at_safetensors *file); /* NULL is allowed */
attn_status at_model_load_splitter(attn_model *model, const at_safetensors *file);
/* The model in an open file, which is closed with the model, or, on failure, now. */
attn_status at_model_from_file(attn_context *context, at_safetensors *file, attn_model **model);
attn_status at_model_set_metrics(attn_model *model, const char *json); /* an object */

#endif
