/* network.c: the networks of a model: building them from the configuration, the forward pass, the loss. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/windows.h"
#include "tape/parameters.h"

/* ---- making ---- */

static void *build_wide(const void *user, attn_parameters *set, const char *name, int64_t columns) {
    const at_input *input = ((const at_stage *)user)->input;
    return input->kind->build_wide(input, set, name, columns);
}

static attn_variable *apply_wide(const void *user, const void *layer, attn_tape *tape,
                                 const at_batch *batch) {
    const at_input *input = ((const at_stage *)user)->input;
    return input->kind->apply_wide(input, layer, tape, batch);
}

static at_head_offer offer_of(const at_stage *stage, const void *layer) {
    at_offer offer = {.rate = 1};
    if (stage->input->kind->offer) stage->input->kind->offer(stage->input, layer, &offer);
    at_head_offer made = {offer.symbols, offer.table, offer.rate, {NULL, NULL, NULL}};
    if (stage->input->wide) made.wide = (at_head_wide){stage, build_wide, apply_wide};
    return made;
}

attn_status at_stage_add_head(at_stage *stage, const at_head_kind *kind, const char *name) {
    at_head_offer offer = offer_of(stage, NULL);
    at_head_config config;
    at_config_head(&stage->values, &config);
    if (stage->head_count == 0) {
        stage->heads = at_allocate(stage->context, AT_MOST_OUTPUTS, sizeof *stage->heads, "the outputs");
        if (!stage->heads) return ATTN_OUT_OF_MEMORY;
    }
    if (stage->head_count == AT_MOST_OUTPUTS)
        return at_fail(stage->context, ATTN_OVERFLOW, "more than %d outputs", AT_MOST_OUTPUTS);
    at_head *made;
    attn_status status = at_head_create(stage->context, kind, &config, &offer, name, stage->per_row, &made);
    if (status != ATTN_OK) return status;
    made->number = stage->head_count;
    stage->heads[stage->head_count++] = made;
    return ATTN_OK;
}

/* What comes before the heads; the columns of what it gives them. */
static int64_t build_rows(at_stage *stage, at_network *network, attn_parameters *set,
                          const attn_encoder_options *encoder) {
    const at_input *input = stage->input;
    char name[96];
    network->input = input->kind->build(input, set, network->prefix, encoder->columns);
    if (input->stem) {
        attn_mixer_options stem = encoder->block.mixer;
        stem.kind = ATTN_MIXER_CNN;
        stem.columns = encoder->columns;
        stem.width = input->stem;
        stem.dilation = 1;
        stem.activation = ATTN_GELU;
        snprintf(name, sizeof name, "%sstem", network->prefix);
        network->stem = attn_mixer_create(set, name, &stem);
    }
    snprintf(name, sizeof name, "%sencoder", network->prefix);
    network->encoder = attn_encoder_create(set, name, encoder);
    if (attn_parameters_status(set) != ATTN_OK) return 0;
    int64_t columns = attn_encoder_columns(network->encoder);
    int pool = stage->values.output->pool;
    if (!stage->per_row && pool == AT_POOL_ATTENTION) {
        snprintf(name, sizeof name, "%spool.score", network->prefix);
        network->pool_score = attn_linear_create(set, name, columns, 1, 1, ATTN_IDENTITY);
    }
    if (!stage->per_row && (pool == AT_POOL_MEAN_MAX || pool == AT_POOL_SUM_MAX)) columns *= 2;
    return columns;
}

static void build_network(at_stage *stage, int number, attn_parameters *set,
                          const attn_encoder_options *encoder) {
    at_network *network = &stage->networks[number];
    memset(network, 0, sizeof *network);
    snprintf(network->name, sizeof network->name, number ? "member.%d" : "main", number);
    if (number)
        snprintf(network->prefix, sizeof network->prefix, "%.12s%.18s.", stage->prefix, network->name);
    else
        snprintf(network->prefix, sizeof network->prefix, "%s", stage->prefix);
    int64_t columns = 0;
    if (at_stage_has_rows(stage)) columns = build_rows(stage, network, set, encoder);
    if (attn_parameters_status(set) != ATTN_OK) return;
    at_head_offer offer = offer_of(stage, network->input);
    for (int i = 0; i < stage->head_count; i++)
        stage->heads[i]->kind->build(stage->heads[i], number, set, network->prefix, columns, &offer);
}

static attn_status build_stage(at_stage *stage, uint64_t seed, at_safetensors *file) {
    const at_encoder_values *values = stage->values.encoder;
    attn_status status = attn_parameters_create(stage->context, seed, &stage->parameters);
    if (status != ATTN_OK) return status;
    attn_parameters *set = stage->parameters;
    if (file) at_parameters_from(set, at_model_stored, file);
    attn_mixer_kind *kinds = at_allocate(stage->context, values->layers, sizeof *kinds, "the mixers");
    if (!kinds) return ATTN_OUT_OF_MEMORY;
    attn_encoder_options encoder;
    at_config_encoder(values, &encoder, kinds);
    encoder.block.mixer.attention.edge_columns = stage->input->edge_columns;
    encoder.block.mixer.grid = stage->input->kind->grid; /* the stem's, too */
    if (at_stage_has_rows(stage) && stage->input->kind->build_shared)
        stage->input->kind->build_shared(stage->input, set, stage->prefix);
    stage->network_count = (int)stage->values.output->members;
    for (int n = 0; n < stage->network_count; n++) build_network(stage, n, set, &encoder);
    at_release(stage->context, kinds);
    stage->forward.networks = stage->network_count;
    stage->forward.longest = at_config_longest(values, stage->input->longest);
    stage->forward.most = at_config_most(&stage->values, stage->input);
    status = attn_parameters_status(set);
    if (status == ATTN_OK) return ATTN_OK;
    const char *from = file ? at_safetensors_name(file) : "the configuration";
    return at_fail(stage->context, status, "%.200s: %.280s", from, attn_parameters_error(set));
}

attn_status at_model_build(attn_model *model, at_safetensors *file) {
    uint64_t seed = (uint64_t)at_main_stage(model)->values.training->seed;
    attn_status status = ATTN_OK;
    for (int s = 0; s < model->stage_count && status == ATTN_OK; s++)
        status = build_stage(&model->stages[s], seed, file);
    return status;
}

void at_model_unbuild(attn_model *model) {
    for (int s = 0; s < model->stage_count; s++) {
        attn_parameters_destroy(model->stages[s].parameters);
        model->stages[s].parameters = NULL;
    }
}

/* ---- computing ---- */

/* Of tens of rows the sum would be far from 1, where learning begins. */
static attn_variable *sum_rows(attn_tape *tape, attn_variable *x, const attn_ragged *batch) {
    return attn_tape_scale(tape, attn_tape_pool(tape, x, batch, ATTN_POOL_SUM), 1.0f / 16);
}

static attn_variable *pool_rows(const at_stage *stage, const at_network *network, attn_tape *tape,
                                attn_variable *x, const attn_ragged *batch) {
    attn_variable *both[2];
    switch ((at_pooling)stage->values.output->pool) {
    case AT_POOL_MEAN: return attn_tape_pool(tape, x, batch, ATTN_POOL_MEAN);
    case AT_POOL_MAX: return attn_tape_pool(tape, x, batch, ATTN_POOL_MAX);
    case AT_POOL_FIRST: return attn_tape_pool(tape, x, batch, ATTN_POOL_FIRST);
    case AT_POOL_ATTENTION:
        return attn_tape_pool_attention(tape, x, attn_linear_apply(tape, network->pool_score, x), batch);
    case AT_POOL_SUM: return sum_rows(tape, x, batch);
    case AT_POOL_MEAN_MAX:
    case AT_POOL_SUM_MAX:
        both[0] = stage->values.output->pool == AT_POOL_SUM_MAX
                      ? sum_rows(tape, x, batch)
                      : attn_tape_pool(tape, x, batch, ATTN_POOL_MEAN);
        both[1] = attn_tape_pool(tape, x, batch, ATTN_POOL_MAX);
        return attn_tape_concat(tape, both, 2);
    }
    return NULL;
}

attn_variable *at_stage_input(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch) {
    return stage->input->kind->apply(stage->input, stage->networks[number].input, tape, batch);
}

attn_variable *at_stage_encoder(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch,
                                attn_variable *x) {
    const at_network *network = &stage->networks[number];
    const at_forward *forward = &stage->forward;
    at_window_rows windows;
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){batch->sequences, batch->offsets};
    int in_windows = !stage->per_row && forward->most > forward->longest &&
                     at_window_rows_make(tape, batch, forward->longest, &windows);
    if (in_windows) {
        places.batch = (attn_ragged){windows.sequences, windows.offsets};
        x = attn_tape_gather(tape, x, windows.source, windows.count);
    }
    places.graph = batch->graph;
    places.heights = batch->heights;
    places.widths = batch->widths;
    if (batch->edges)
        places.edges = attn_tape_constant(tape, batch->edges, attn_graph_edges(batch->graph),
                                          stage->input->edge_columns);
    if (network->stem) {
        x = attn_tape_dropout(tape, x, (float)stage->values.encoder->dropout);
        x = attn_tape_add(tape, x, attn_mixer_apply(tape, network->stem, x, &places));
    }
    x = attn_encoder_apply(tape, network->encoder, x, &places);
    return in_windows ? attn_tape_gather(tape, x, windows.place, batch->rows) : x;
}

attn_variable *at_stage_rows(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch) {
    return at_stage_encoder(stage, number, tape, batch, at_stage_input(stage, number, tape, batch));
}

attn_variable *at_stage_pooled(const at_stage *stage, int number, attn_tape *tape, const at_batch *batch,
                               attn_variable *x) {
    attn_ragged sequences = {batch->sequences, batch->offsets};
    return stage->per_row ? x : pool_rows(stage, &stage->networks[number], tape, x, &sequences);
}

static attn_variable *rows(const at_forward *forward, int number, attn_tape *tape, const at_batch *batch) {
    const at_stage *stage = forward->user;
    if (!at_stage_has_rows(stage)) return NULL;
    return at_stage_pooled(stage, number, tape, batch, at_stage_rows(stage, number, tape, batch));
}

attn_variable *at_stage_loss(const at_stage *stage, attn_tape *tape, const at_batch *batch,
                             at_targets *const *targets, const double *shares) {
    attn_variable *sum = NULL;
    for (int n = 0; n < stage->network_count; n++) {
        attn_variable *x = rows(&stage->forward, n, tape, batch);
        if (x && !stage->heads[0]->kind->own_dropout)
            x = attn_tape_dropout(tape, x, (float)stage->values.output->dropout);
        for (int i = 0; i < stage->head_count; i++) {
            attn_variable *loss = stage->heads[i]->kind->loss(stage->heads[i], n, tape, x, batch, targets[i]);
            if (shares && shares[i] != 1) loss = attn_tape_scale(tape, loss, (float)shares[i]);
            sum = n + i == 0 ? loss : attn_tape_add(tape, sum, loss);
        }
    }
    return stage->network_count == 1 ? sum : attn_tape_scale(tape, sum, 1.0f / (float)stage->network_count);
}

/* One empty example through every network: the first use of a weight brings it into the order of the kernels.
 */
static attn_status pack_stage(at_stage *stage) {
    at_work work;
    at_segment empty = {0, 0, 0, 0};
    at_segments segments = {&empty, 1, 1};
    int64_t zero = 0;
    const at_forward *forward = &stage->forward;
    attn_status status = at_work_create(stage, stage->context, &work);
    if (status == ATTN_OK) status = forward->fill(forward, NULL, &segments, &zero, 1, work.batch);
    for (int n = 0; n < stage->network_count && status == ATTN_OK; n++) {
        attn_tape_begin(work.tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = rows(forward, n, work.tape, work.batch);
        for (int i = 0; i < stage->head_count; i++)
            stage->heads[i]->kind->warm(stage->heads[i], n, work.tape, x, work.batch);
        status = attn_tape_status(work.tape);
        if (status != ATTN_OK) at_fail(stage->context, status, "%s", attn_tape_error(work.tape));
    }
    const at_running *running = stage->heads[0]->kind->running;
    const double *probabilities;
    if (status == ATTN_OK && running) {
        status = running->begin(stage->heads[0], forward, &work);
        if (status == ATTN_OK) status = forward->extend_steps(forward, work.steps, "\n", 1);
        if (status == ATTN_OK) status = running->next(stage->heads[0], forward, &work, &probabilities);
        if (status == ATTN_NOT_FINITE) status = ATTN_OK; /* who predicts will hear of it */
    }
    at_work_free(stage, &work);
    return status;
}

attn_status at_model_pack(attn_model *model) {
    attn_status status = ATTN_OK;
    for (int s = 0; s < model->stage_count && status == ATTN_OK; s++) status = pack_stage(&model->stages[s]);
    return status;
}

/* ---- the networks, as heads see them ---- */

static attn_status create_batch(const at_forward *forward, attn_context *context, at_batch **batch) {
    return ((const at_stage *)forward->user)->input->kind->create_batch(context, batch);
}

static attn_status fill(const at_forward *forward, const at_encoded *encoded, const at_segments *segments,
                        const int64_t *order, int64_t count, at_batch *batch) {
    const at_input *input = ((const at_stage *)forward->user)->input;
    return input->kind->fill(input, encoded, segments, order, count, NULL, batch);
}

static void free_batch(const at_forward *forward, at_batch *batch) {
    ((const at_stage *)forward->user)->input->kind->free_batch(batch);
}

static void symbols(const at_forward *forward, const at_encoded *encoded, int64_t first, int64_t count,
                    int32_t *ids) {
    const at_input *input = ((const at_stage *)forward->user)->input;
    input->kind->symbols(input, encoded, first, count, ids);
}

typedef struct measuring {
    attn_report *report;
    int output;
} measuring;

static attn_status add_metric(void *user, const char *name, double value) {
    const measuring *into = user;
    return at_report_add(into->report, into->output, name, value);
}

static attn_status measure(const at_forward *forward, const at_encoded *encoded, const at_strings *labels,
                           const int32_t *truth, const int32_t *answers, int output, attn_report *report) {
    const at_input *input = ((const at_stage *)forward->user)->input;
    measuring into = {report, output};
    if (!input->kind->measure) return ATTN_OK;
    return input->kind->measure(input, encoded->context, encoded, labels, truth, answers, add_metric, &into);
}

/* ---- a model ---- */

static attn_status create_stage(attn_config *config, const char *prefix, at_stage *stage) {
    stage->prefix = prefix;
    attn_status status = at_config_copy(config, &stage->config);
    if (status == ATTN_OK) status = at_config_values(stage->config, &stage->values);
    if (status != ATTN_OK) return status;
    stage->context = at_config_context(config);
    at_input_use use = at_config_use(&stage->values);
    const at_input_kind *kind = stage->values.input;
    status = kind->create(stage->context, stage->values.input_values, &use, &stage->input);
    if (status != ATTN_OK) return status;
    stage->input->kind = kind;
    stage->forward = (at_forward){.user = stage,
                                  .rows = rows,
                                  .create_batch = create_batch,
                                  .fill = fill,
                                  .free_batch = free_batch,
                                  .symbols = symbols,
                                  .row_name = kind->row_name,
                                  .measure = measure,
                                  .begin_steps = at_steps_begin,
                                  .extend_steps = at_steps_extend,
                                  .push_steps = at_steps_push,
                                  .step = at_steps_rows,
                                  .free_steps = at_steps_free};
    const at_head_kind *head = at_head_chosen(stage->values.task->head, stage->values.output);
    if (head->rows) return ATTN_OK; /* one head for each target column: when they are known */
    stage->per_row = 1;
    return at_stage_add_head(stage, head, "target");
}

attn_status at_model_create(attn_config *config, attn_model **model) {
    attn_context *context = at_config_context(config);
    attn_model *made = at_allocate(context, 1, sizeof *made, "a model");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->stage_count = 1;
    attn_status status = create_stage(config, "", &made->stages[0]);
    if (status != ATTN_OK) {
        attn_model_destroy(made);
        return status;
    }
    *model = made;
    return ATTN_OK;
}

attn_status at_model_add_splitter(attn_model *model, attn_config *config) {
    model->stage_count = 2;
    return create_stage(config, "splitter.", &model->stages[1]);
}

void attn_model_destroy(attn_model *model) {
    if (!model) return;
    at_model_unbuild(model);
    for (int s = 0; s < model->stage_count; s++) {
        at_stage *stage = &model->stages[s];
        for (int i = 0; i < stage->head_count; i++) at_head_destroy(stage->heads[i]);
        at_release(model->context, stage->heads);
        if (stage->input) stage->input->kind->destroy(stage->input);
        attn_config_destroy(stage->config);
    }
    at_safetensors_close(model->file);
    at_release(model->context, model->metrics);
    at_release(model->context, model->metric_list);
    at_strings_free(model->context, &model->metric_names);
    at_strings_free(model->context, &model->metric_values);
    at_release(model->context, model);
}
