/* positions.c: the position vectors of a model, their angles or biases, as tables; TSV and JSON of them. */
#include "explain/positions.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "layers/layers.h"
#include "model/model.h"

enum { POSITIONS = 64, COLUMNS = 64, MOST = 4096 };

/* What is requested, and the model it is asked of. */
typedef struct request {
    const at_stage *stage;           /* NULL: no model */
    const at_encoder_values *values; /* of it */
    int64_t positions, columns, layer;
} request;

void at_positions_free(at_positions *found) {
    for (int t = 0; t < found->count; t++) at_release(found->context, found->tables[t].numbers);
}

/* NULL: no memory, or too many tables. */
static at_position_table *add_table(at_positions *found, const char *name, int64_t rows, int64_t columns) {
    if (found->count == AT_POSITION_TABLES) return NULL;
    at_position_table *table = &found->tables[found->count];
    snprintf(table->name, sizeof table->name, "%s", name);
    table->rows = rows;
    table->columns = columns;
    table->numbers = at_allocate(found->context, rows * columns, sizeof(double), "positions");
    if (table->numbers) found->count++;
    return table->numbers ? table : NULL;
}

/* ---- added vectors ---- */

static attn_status add_sinusoids(at_positions *found, const char *name, int64_t positions, int64_t columns,
                                 int64_t shown) {
    at_position_table *table = add_table(found, name, positions, shown);
    if (!table) return ATTN_OUT_OF_MEMORY;
    for (int64_t t = 0; t < positions; t++) {
        for (int64_t c = 0; c < shown; c++) {
            double angle = (double)t * pow(10000.0, -(double)(c - c % 2) / (double)columns);
            table->numbers[t * shown + c] = (double)(float)(c % 2 ? cos(angle) : sin(angle));
        }
    }
    return ATTN_OK;
}

static int64_t smaller(int64_t asked, int64_t there) { return asked > 0 && asked < there ? asked : there; }

/* A parameter of the encoder, or the part of it that is requested. */
static attn_status add_parameter(at_positions *found, const request *r, const char *name,
                                 const attn_parameter *parameter) {
    if (!parameter) return at_fail(found->context, ATTN_UNSUPPORTED, "the model has no table of positions");
    int64_t rows = smaller(r->positions, parameter->rows), columns = smaller(r->columns, parameter->columns);
    at_position_table *table = add_table(found, name, rows, columns);
    float *line = at_allocate(found->context, parameter->columns, sizeof *line, "positions");
    attn_status status = table && line ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t t = 0; status == ATTN_OK && t < rows; t++) {
        status = at_parameter_host_read(parameter, t * parameter->columns, parameter->columns, line);
        for (int64_t c = 0; c < columns; c++) table->numbers[t * columns + c] = (double)line[c];
    }
    at_release(found->context, line);
    return status;
}

static attn_status add_stored(at_positions *found, const request *r, const char *name, const char *part) {
    char full[AT_NAME];
    snprintf(full, sizeof full, "%sencoder.position.%s", r->stage->networks[0].prefix, part);
    return add_parameter(found, r, name, attn_parameters_find(r->stage->parameters, full));
}

static attn_status add_one_hot(at_positions *found, const request *r) {
    int64_t columns = r->values->longest,
            rows = smaller(r->positions > 0 ? r->positions : POSITIONS, columns);
    columns = smaller(r->columns > 0 ? r->columns : rows, columns);
    at_position_table *table = add_table(found, "", rows, columns);
    for (int64_t t = 0; table && t < rows && t < columns; t++) table->numbers[t * columns + t] = 1;
    return table ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* ---- inside attention ---- */

static attn_status add_rotary(at_positions *found, const request *r) {
    const at_encoder_values *values = r->values;
    int64_t width = values->head_width                ? values->head_width
                    : values->form == ATTN_HEADS_WIDE ? values->columns
                                                      : values->columns / values->heads;
    int64_t positions = r->positions > 0 ? r->positions : POSITIONS, pairs = smaller(r->columns, width / 2);
    at_position_table *cosines = add_table(found, "cos", positions, pairs);
    at_position_table *sines = add_table(found, "sin", positions, pairs);
    if (!cosines || !sines) return ATTN_OUT_OF_MEMORY;
    for (int64_t t = 0; t < positions; t++) {
        for (int64_t c = 0; c < pairs; c++) {
            double angle = (double)t * pow(values->rotary_base, -2 * (double)c / (double)width);
            cosines->numbers[t * pairs + c] = cos(angle);
            sines->numbers[t * pairs + c] = sin(angle);
        }
    }
    return ATTN_OK;
}

static at_position_table *add_distances(at_positions *found, int64_t heads, int64_t farthest) {
    at_position_table *table = add_table(found, "", heads, 2 * farthest + 1);
    if (!table) return NULL;
    table->first_row = 1;
    table->first_column = -farthest;
    return table;
}

static attn_status add_alibi(at_positions *found, const request *r) {
    int64_t farthest = r->positions > 0 ? r->positions : POSITIONS, heads = r->values->heads;
    at_position_table *table = add_distances(found, heads, farthest);
    if (!table) return ATTN_OUT_OF_MEMORY;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c < table->columns; c++)
            table->numbers[h * table->columns + c] =
                -(double)(float)exp2(-8.0 * (double)(h + 1) / (double)heads) * fabs((double)(c - farthest));
    return ATTN_OK;
}

/* "encoder...relative" of a layer, among those that have one; layer -1: the last. */
static attn_status find_relative(attn_context *context, const request *r, const attn_parameter **found) {
    char prefix[AT_NAME];
    int64_t layers = 0;
    snprintf(prefix, sizeof prefix, "%sencoder.", r->stage->networks[0].prefix);
    *found = NULL;
    for (int64_t i = 0; i < attn_parameters_count(r->stage->parameters); i++) {
        const attn_parameter *parameter = attn_parameters_at(r->stage->parameters, i);
        const char *name = attn_parameter_name(parameter), *end = strrchr(name, '.');
        if (strncmp(name, prefix, strlen(prefix)) != 0 || !end || strcmp(end, ".relative") != 0) continue;
        if (r->layer < 0 || r->layer == layers) *found = parameter;
        layers++;
    }
    if (*found) return ATTN_OK;
    if (layers == 0)
        return at_fail(context, ATTN_UNSUPPORTED, "no layer of the model has relative positions");
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "layer %" PRId64 ": relative positions are in %" PRId64 " layers", r->layer + 1, layers);
}

static attn_status read_all(attn_context *context, const attn_parameter *parameter, float **numbers) {
    *numbers = at_allocate(context, parameter->count, sizeof **numbers, "positions");
    return *numbers ? at_parameter_host_read(parameter, 0, parameter->count, *numbers) : ATTN_OUT_OF_MEMORY;
}

static attn_status add_relative(at_positions *found, const request *r) {
    const attn_parameter *parameter;
    float *numbers = NULL;
    attn_status status = find_relative(found->context, r, &parameter);
    if (status == ATTN_OK) status = read_all(found->context, parameter, &numbers);
    int64_t farthest = r->values->farthest, shown = r->positions > 0 ? r->positions : farthest;
    at_position_table *table = status == ATTN_OK ? add_distances(found, parameter->rows, shown) : NULL;
    if (status == ATTN_OK && !table) status = ATTN_OUT_OF_MEMORY;
    for (int64_t h = 0; status == ATTN_OK && h < parameter->rows; h++) {
        for (int64_t c = 0; c < table->columns; c++) {
            int64_t distance = c - shown; /* farther counts as farthest */
            distance = distance < -farthest ? -farthest : distance > farthest ? farthest : distance;
            int64_t bucket = r->values->position_buckets
                                 ? at_relative_bucket(distance, r->values->position_buckets, farthest)
                                 : distance + farthest;
            table->numbers[h * table->columns + c] = (double)numbers[h * parameter->columns + bucket];
        }
    }
    at_release(found->context, numbers);
    return status;
}

/* A square a head: how far down, how far along. */
static attn_status add_grid_relative(at_positions *found, const request *r) {
    const attn_parameter *parameter;
    float *numbers = NULL;
    attn_status status = find_relative(found->context, r, &parameter);
    if (status == ATTN_OK) status = read_all(found->context, parameter, &numbers);
    int64_t side = 2 * r->values->farthest + 1;
    for (int64_t h = 0; status == ATTN_OK && h < parameter->rows && h < AT_POSITION_TABLES; h++) {
        char name[32];
        snprintf(name, sizeof name, "head %" PRId64, h + 1);
        at_position_table *table = add_table(found, name, side, side);
        if (!table) status = ATTN_OUT_OF_MEMORY;
        if (!table) break;
        table->first_row = table->first_column = -r->values->farthest;
        for (int64_t i = 0; i < side * side; i++) table->numbers[i] = (double)numbers[h * side * side + i];
    }
    at_release(found->context, numbers);
    return status;
}

/* ---- all kinds ---- */

static attn_status fill(at_positions *found, const request *r) {
    int64_t positions = r->positions > 0 ? r->positions : POSITIONS;
    int64_t columns = r->values ? r->values->columns : r->columns > 0 ? r->columns : COLUMNS;
    attn_status status;
    switch (r->values ? (attn_position)r->values->position : ATTN_POSITION_SINUSOIDAL) {
    case ATTN_POSITION_SINUSOIDAL:
        found->kind = "sinusoidal", found->title = "Sinusoidal positions";
        return add_sinusoids(found, "", positions, columns, smaller(r->columns, columns));
    case ATTN_POSITION_LEARNED:
        found->kind = "learned", found->title = "Learned positions";
        return add_stored(found, r, "", "table");
    case ATTN_POSITION_ONE_HOT:
        found->kind = "one-hot", found->title = "One-hot positions",
        found->label = "number that stands beside a row";
        return add_one_hot(found, r);
    case ATTN_POSITION_ROTARY:
        found->kind = "rotary", found->title = "Rotary positions", found->across = "pair of channels";
        found->label = "cosine and sine of the angle by which queries and keys are turned";
        return add_rotary(found, r);
    case ATTN_POSITION_ALIBI:
        found->kind = "alibi", found->title = "ALiBi";
        found->lines = 1;
        return add_alibi(found, r);
    case ATTN_POSITION_RELATIVE:
        found->kind = "relative", found->title = "Relative positions", found->lines = 1;
        return add_relative(found, r);
    case ATTN_POSITION_GRID:
        found->kind = "grid", found->title = "Positions in a grid";
        status = add_sinusoids(found, "rows", positions, columns / 2, smaller(r->columns, columns / 2));
        return status == ATTN_OK
                   ? add_sinusoids(found, "columns", positions, columns / 2, smaller(r->columns, columns / 2))
                   : status;
    case ATTN_POSITION_GRID_LEARNED:
        found->kind = "grid-learned", found->title = "Learned positions in a grid";
        status = add_stored(found, r, "rows", "rows");
        return status == ATTN_OK ? add_stored(found, r, "columns", "columns") : status;
    case ATTN_POSITION_GRID_RELATIVE:
        found->kind = "grid-relative", found->title = "Relative positions in a grid";
        found->down = "down", found->across = "along", found->label = "bias of the score";
        return add_grid_relative(found, r);
    case ATTN_POSITION_NONE: break;
    }
    return at_fail(found->context, ATTN_UNSUPPORTED,
                   "the model has no positions: its encoder.position is none");
}

attn_status at_positions_find(attn_context *context, const attn_model *model, int64_t positions,
                              int64_t columns, int64_t layer, at_positions *found) {
    request r = {.positions = positions, .columns = columns, .layer = layer};
    memset(found, 0, sizeof *found);
    found->context = context;
    found->down = "position", found->across = "column", found->label = "number that is added";
    if (positions > MOST || columns > MOST)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%" PRId64 " positions and %" PRId64 " columns: at most %d", positions, columns, MOST);
    if (model) {
        r.stage = at_main_stage(model);
        r.values = r.stage->values.encoder;
    }
    attn_status status = fill(found, &r);
    if (status != ATTN_OK) at_positions_free(found);
    return status;
}

/* ---- files ---- */

static void write_table(const at_positions *found, at_writer *writer) {
    const char *down = found->lines ? "head" : found->down,
               *across = found->lines ? "distance" : found->across;
    at_print(writer, "%s%s\t%s\tnumber\n", found->count > 1 ? "table\t" : "", down, across);
    for (int t = 0; t < found->count; t++) {
        const at_position_table *table = &found->tables[t];
        for (int64_t r = 0; r < table->rows; r++) {
            for (int64_t c = 0; c < table->columns; c++) {
                if (found->count > 1) at_print(writer, "%s\t", table->name);
                at_print(writer, "%" PRId64 "\t%" PRId64 "\t", table->first_row + r, table->first_column + c);
                at_put_number(writer, table->numbers[r * table->columns + c], 9);
                at_put_char(writer, '\n');
            }
        }
    }
}

static void write_json(const at_positions *found, at_writer *writer) {
    at_print(writer, "{\"kind\": \"%s\", \"rows\": \"%s\", \"columns\": \"%s\", \"tables\": [", found->kind,
             found->lines ? "head" : found->down, found->lines ? "distance" : found->across);
    for (int t = 0; t < found->count; t++) {
        const at_position_table *table = &found->tables[t];
        at_print(writer,
                 "%s\n{\"name\": \"%s\", \"first_row\": %" PRId64 ", \"first_column\": %" PRId64
                 ", \"numbers\": [",
                 t ? "," : "", table->name, table->first_row, table->first_column);
        for (int64_t r = 0; r < table->rows; r++) {
            at_print(writer, "%s\n[", r ? "," : "");
            for (int64_t c = 0; c < table->columns; c++) {
                if (c) at_put(writer, ", ", 2);
                at_put_number(writer, table->numbers[r * table->columns + c], 9);
            }
            at_put_char(writer, ']');
        }
        at_print(writer, "]}");
    }
    at_print(writer, "]}\n");
}

static attn_status write_format(const at_positions *found, const attn_drawing_options *options,
                                at_writer *writer) {
    switch (options->format) {
    case ATTN_DRAWING_SVG:
    case ATTN_DRAWING_PNG: return at_positions_draw(found, options, writer);
    case ATTN_DRAWING_TSV: write_table(found, writer); return writer->status;
    case ATTN_DRAWING_JSON: write_json(found, writer); return writer->status;
    case ATTN_DRAWING_HTML: break;
    }
    return at_fail(found->context, ATTN_UNSUPPORTED, "positions are written as SVG, PNG, TSV or JSON");
}

attn_status attn_positions_write(attn_context *context, const attn_model *model, int64_t positions,
                                 int64_t columns, const attn_drawing_options *options, char **bytes,
                                 size_t *length) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!bytes || !length) return at_fail(context, ATTN_INVALID_ARGUMENT, "bytes or length is NULL");
    attn_drawing_options given;
    char reason[AT_OPTIONS_TEXT];
    attn_drawing_options_init(&given);
    attn_status status =
        at_options_take("drawing options", "attn_drawing_options_init", options,
                        AT_FIRST_SIZE(attn_drawing_options, title), sizeof given, &given, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    at_positions *found = at_allocate(context, 1, sizeof *found, "positions");
    if (!found) return ATTN_OUT_OF_MEMORY;
    at_writer writer = {.context = context};
    status = at_positions_find(context, model, positions, columns, given.layer, found);
    if (status == ATTN_OK) {
        status = write_format(found, &given, &writer);
        at_positions_free(found);
    }
    at_release(context, found);
    if (status == ATTN_OK) status = writer.status;
    if (status != ATTN_OK) {
        at_writer_free(&writer);
        return status;
    }
    *bytes = writer.bytes;
    *length = (size_t)writer.count;
    return ATTN_OK;
}

void attn_explain_release(attn_context *context, char *bytes) {
    if (context) at_release(context, bytes);
}
