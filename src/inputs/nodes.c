/* nodes.c: rows that are nodes of graphs: statistics of their features, their encoding, and the layer that
 * maps them to rows of the network.
 */
#include "inputs/nodes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/layers.h>
#include <attn/operations.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/stored.h"
#include "tape/parameters.h"

enum { FEW_LABELS = 1000, MOST_DEGREES = 64, MOST_PAIRS = 1 << 23 };

const char *const at_node_choices[] = {"auto", "false", "true", NULL};
const char *const at_node_patterns[] = {"edges", "all", NULL};
const char *const at_node_sources[] = {"auto", "given", "name", "degree", NULL};
const char *const at_node_activations[] = {"none", "relu", "elu", NULL};

static at_node_input *own(at_input *input) { return (at_node_input *)(void *)input; }
static const at_node_encoded *encoded_of(const at_encoded *encoded) {
    return (const at_node_encoded *)(const void *)encoded;
}

/* ---- the view ---- */

static int64_t count_labels(const attn_dataset *examples) {
    int64_t count = 0, columns = examples->columns.count;
    int64_t places = columns ? examples->targets.count / columns : 0;
    for (int64_t i = 0; i < places; i++) {
        int any = 0;
        for (int64_t c = 0; c < columns; c++) any |= at_string(&examples->targets, i * columns + c)[0] != 0;
        count += any;
    }
    return count;
}

static attn_status set_one(const char *prefix, const char *name, const char *value, at_set_function set,
                           void *user) {
    char whole[96];
    snprintf(whole, sizeof whole, "%.40s%.40s", prefix, name);
    return set(user, whole, value);
}

/* Whether neighbours are mostly of the same class: half of the edges between labelled nodes, or there are too
 * few of those to tell. */
static int labels_agree(const attn_dataset *examples) {
    enum { LEAST = 10 };
    const at_graphs *graphs = at_graphs_of(examples);
    int64_t known = 0, same = 0, columns = examples->columns.count;
    if (!examples->per_row || columns == 0) return 1;
    for (int64_t e = 0; e < graphs->edges; e++) {
        const char *from = at_string(&examples->targets, graphs->from[e] * columns);
        const char *to = at_string(&examples->targets, graphs->to[e] * columns);
        if (!*from || !*to || graphs->from[e] == graphs->to[e]) continue;
        known++;
        same += strcmp(from, to) == 0;
    }
    return known < LEAST || 2 * same >= known;
}

attn_status at_nodes_choose(const char *prefix, const at_node_values *values, const attn_dataset *examples,
                            at_set_function set, void *user) {
    const at_graphs *graphs = at_graphs_of(examples);
    int none = graphs->feature_columns == 0 && graphs->dense_columns == 0;
    const char *source = !none ? "given" : examples->examples == 1 ? "name" : "degree";
    int few = examples->examples == 1 && graphs->edge_columns == 0 && count_labels(examples) < FEW_LABELS;
    if (values->few != AT_NODES_AUTO) few = values->few == AT_NODES_YES;
    int alike = !few || examples->examples != 1 || labels_agree(examples);
    if (values->alike != AT_NODES_AUTO) alike = values->alike == AT_NODES_YES;
    attn_status status = ATTN_OK;
    if (values->undirected == AT_NODES_AUTO)
        status = set_one(prefix, "undirected", graphs->listed_once ? "true" : "false", set, user);
    if (values->features == AT_NODES_FOUND && status == ATTN_OK)
        status = set_one(prefix, "features", source, set, user);
    if (values->numbers == AT_NODES_AUTO && status == ATTN_OK)
        status = set_one(prefix, "edge_numbers", graphs->edge_columns ? "true" : "false", set, user);
    if (values->few == AT_NODES_AUTO && status == ATTN_OK)
        status = set_one(prefix, "few", few ? "true" : "false", set, user);
    if (values->alike != AT_NODES_AUTO || status != ATTN_OK) return status;
    return set_one(prefix, "alike", alike ? "true" : "false", set, user);
}

attn_status at_nodes_check(attn_context *context, const at_node_values *values, const at_input_use *use) {
    (void)values;
    if (!use->running && !use->writes_text) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "task %s needs sequences, but the nodes of a graph have no order", use->task);
}

attn_status at_nodes_create(attn_context *context, const at_input_kind *kind, const at_node_values *values,
                            const at_input_use *use, at_input **input) {
    at_node_input *made = at_allocate(context, 1, sizeof *made, "a view of graphs");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->values = *values;
    made->input = (at_input){.kind = kind, .context = context, .use = *use, .longest = INT32_MAX};
    *input = &made->input;
    return ATTN_OK;
}

static void forget(at_node_input *input) {
    attn_context *context = input->input.context;
    at_release(context, input->mean);
    at_release(context, input->deviation);
    at_release(context, input->edge_mean);
    at_release(context, input->edge_deviation);
    at_vocabulary_free(context, &input->names);
    at_strings_free(context, &input->dense_names);
    input->mean = input->deviation = input->edge_mean = input->edge_deviation = NULL;
}

void at_nodes_destroy(at_input *input) {
    forget(own(input));
    at_release(input->context, input);
}

/* ---- learning ---- */

/* Mean and deviation of each column of a matrix; 0 and 1 where it is constant, or unless wanted. */
static attn_status measure(attn_context *context, const float *numbers, int64_t rows, int64_t columns,
                           int wanted, float **mean, float **deviation) {
    *mean = at_allocate(context, columns, sizeof **mean, "the means of columns");
    *deviation = at_allocate(context, columns, sizeof **deviation, "the deviations of columns");
    if (!*mean || !*deviation) return ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0, squares = 0;
        (*deviation)[c] = 1;
        if (!wanted || rows == 0) continue;
        for (int64_t row = 0; row < rows; row++) sum += (double)numbers[row * columns + c];
        double center = sum / (double)rows;
        for (int64_t row = 0; row < rows; row++) {
            double distance = (double)numbers[row * columns + c] - center;
            squares += distance * distance;
        }
        float found = (float)sqrt(squares / (double)rows);
        if (!(found > 1e-12f) || !isfinite(found)) continue;
        (*mean)[c] = (float)center;
        (*deviation)[c] = found;
    }
    return ATTN_OK;
}

/* What a node is called: its name, or its number in its graph. */
static const char *name_of(const at_graphs *graphs, int64_t node, int64_t number, char *text) {
    if (graphs->names.count) return at_string(&graphs->names, node);
    snprintf(text, 24, "%" PRId64, number);
    return text;
}

static attn_status learn_names(at_node_input *input, const at_graphs *graphs, const attn_dataset *examples) {
    attn_status status = at_vocabulary_add(input->input.context, &input->names, "", 0, 1, NULL);
    char text[24];
    for (int64_t e = 0; e < examples->examples; e++) {
        int64_t first = examples->offsets[e];
        for (int64_t node = first; node < examples->offsets[e + 1] && status == ATTN_OK; node++) {
            const char *name = name_of(graphs, node, node - first, text);
            status = at_vocabulary_add(input->input.context, &input->names, name, strlen(name), 1, NULL);
        }
    }
    return status;
}

/* The columns that the view has of the data. */
static int64_t features_of(const at_node_input *input, const at_graphs *graphs) {
    return graphs->feature_columns - (input->values.optional ? 0 : graphs->optional_features);
}
static int64_t numbers_of(const at_node_input *input, const at_graphs *graphs) {
    return graphs->edge_columns - (input->values.optional ? 0 : graphs->optional_numbers);
}

attn_status at_nodes_learn(at_input *input, const at_learning *from) {
    at_node_input *nodes = own(input);
    const at_graphs *graphs = at_graphs_of(from->examples);
    attn_context *context = input->context;
    if (from->vectors)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: pretrained vectors are for words, and nodes of graphs are not words",
                       from->vectors);
    if (graphs->nodes == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: has no nodes to learn from",
                       attn_dataset_name(from->examples));
    forget(nodes);
    nodes->feature_columns = features_of(nodes, graphs);
    nodes->dense_columns = nodes->values.features == AT_NODES_GIVEN ? graphs->dense_columns : 0;
    nodes->edge_numbers = numbers_of(nodes, graphs);
    attn_status status = measure(context, graphs->dense, graphs->nodes, nodes->dense_columns,
                                 nodes->values.normalize, &nodes->mean, &nodes->deviation);
    for (int64_t c = 0; c < graphs->feature_names.count && nodes->dense_columns && status == ATTN_OK; c++)
        status = at_strings_add(context, &nodes->dense_names, at_string(&graphs->feature_names, c),
                                at_string_length(&graphs->feature_names, c));
    if (status == ATTN_OK)
        status = measure(context, graphs->edge_numbers, graphs->edges, graphs->edge_columns,
                         nodes->values.normalize, &nodes->edge_mean, &nodes->edge_deviation);
    if (status == ATTN_OK && nodes->values.features == AT_NODES_NAME)
        status = learn_names(nodes, graphs, from->examples);
    if (nodes->values.features == AT_NODES_NAME) nodes->feature_columns = nodes->names.strings.count;
    if (nodes->values.features == AT_NODES_DEGREE) nodes->feature_columns = MOST_DEGREES;
    if (status == ATTN_OK && nodes->feature_columns == 0 && nodes->dense_columns == 0)
        status = at_fail(context, ATTN_INVALID_ARGUMENT,
                         "%.200s: its nodes have no features: leave `features` to the data",
                         attn_dataset_name(from->examples));
    nodes->stored[0] = nodes->feature_columns;
    nodes->stored[1] = nodes->dense_columns;
    nodes->stored[2] = nodes->edge_numbers;
    input->edge_columns = at_nodes_edge_columns(nodes);
    return status;
}

/* ---- the file ---- */

attn_status at_nodes_store(const at_input *input, const char *prefix, at_safetensors_writer *writer) {
    const at_node_input *nodes = at_node_input_of(input);
    char name[96];
    int64_t three = 3;
    snprintf(name, sizeof name, "%.60snodes.sizes", prefix);
    attn_status status = at_safetensors_add(writer, name, AT_DTYPE_I64, 1, &three, nodes->stored);
    if (status == ATTN_OK)
        status = at_store_numbers(writer, prefix, "nodes.mean", nodes->mean, nodes->dense_columns);
    if (status == ATTN_OK)
        status = at_store_numbers(writer, prefix, "nodes.deviation", nodes->deviation, nodes->dense_columns);
    if (status == ATTN_OK)
        status = at_store_numbers(writer, prefix, "nodes.edge_mean", nodes->edge_mean, nodes->edge_numbers);
    if (status == ATTN_OK)
        status = at_store_numbers(writer, prefix, "nodes.edge_deviation", nodes->edge_deviation,
                                  nodes->edge_numbers);
    if (status == ATTN_OK) status = at_store_strings(writer, prefix, "nodes.columns", &nodes->dense_names);
    return status == ATTN_OK ? at_store_strings(writer, prefix, "nodes.names", &nodes->names.strings)
                             : status;
}

static attn_status load_numbers(attn_context *context, const char *prefix, const char *name, int64_t count,
                                int positive, const at_safetensors *file, float **numbers) {
    char whole[96];
    *numbers = at_allocate(context, count, sizeof **numbers, "the numbers of a view");
    if (!*numbers) return ATTN_OUT_OF_MEMORY;
    if (count == 0) return ATTN_OK;
    snprintf(whole, sizeof whole, "%.60s%s", prefix, name);
    const at_stored *tensor = at_safetensors_find(file, whole);
    int good = tensor && tensor->dtype == AT_DTYPE_F32 && tensor->rank == 1 && tensor->count == count;
    if (good) memcpy(*numbers, tensor->data, (size_t)count * sizeof **numbers);
    for (int64_t i = 0; good && i < count; i++)
        good = isfinite((*numbers)[i]) && (!positive || (*numbers)[i] > 0);
    return good ? ATTN_OK
                : at_damaged(context, file,
                             "is missing, has another shape, or numbers that cannot be: ", whole);
}

static attn_status load_sizes(at_node_input *nodes, const char *prefix, const at_safetensors *file) {
    attn_context *context = nodes->input.context;
    char name[96];
    snprintf(name, sizeof name, "%.60snodes.sizes", prefix);
    const at_stored *tensor = at_safetensors_find(file, name);
    if (!tensor || tensor->dtype != AT_DTYPE_I64 || tensor->rank != 1 || tensor->count != 3)
        return at_damaged(context, file, "is missing, or not three I64: ", name);
    memcpy(nodes->stored, tensor->data, sizeof nodes->stored);
    for (int i = 0; i < 3; i++)
        if (nodes->stored[i] < 0 || nodes->stored[i] >= INT32_MAX)
            return at_damaged(context, file, "has an impossible number: ", name);
    nodes->feature_columns = nodes->stored[0];
    nodes->dense_columns = nodes->stored[1];
    nodes->edge_numbers = nodes->stored[2];
    if (nodes->feature_columns || nodes->dense_columns) return ATTN_OK;
    return at_damaged(context, file, "says that nodes have no features: ", name);
}

attn_status at_nodes_load(at_input *input, const char *prefix, const at_safetensors *file) {
    at_node_input *nodes = own(input);
    attn_context *context = input->context;
    forget(nodes);
    attn_status status = load_sizes(nodes, prefix, file);
    if (status == ATTN_OK)
        status = load_numbers(context, prefix, "nodes.mean", nodes->dense_columns, 0, file, &nodes->mean);
    if (status == ATTN_OK)
        status = load_numbers(context, prefix, "nodes.deviation", nodes->dense_columns, 1, file,
                              &nodes->deviation);
    if (status == ATTN_OK)
        status =
            load_numbers(context, prefix, "nodes.edge_mean", nodes->edge_numbers, 0, file, &nodes->edge_mean);
    if (status == ATTN_OK)
        status = load_numbers(context, prefix, "nodes.edge_deviation", nodes->edge_numbers, 1, file,
                              &nodes->edge_deviation);
    if (status == ATTN_OK)
        status = at_load_strings(context, file, prefix, "nodes.columns", &nodes->dense_names);
    if (status == ATTN_OK && nodes->dense_names.count && nodes->dense_names.count != nodes->dense_columns)
        status = at_damaged(context, file, "nodes.columns does not name every column of nodes.mean", "");
    int by_name = nodes->values.features == AT_NODES_NAME;
    if (status == ATTN_OK && by_name)
        status = at_load_vocabulary(context, file, prefix, "nodes.names", 1, &nodes->names);
    if (status == ATTN_OK && by_name && nodes->names.strings.count != nodes->feature_columns)
        status = at_damaged(context, file, "nodes.names does not name every row of its table", "");
    input->edge_columns = at_nodes_edge_columns(nodes);
    return status;
}

/* ---- examples ---- */

void at_nodes_free_encoded(at_encoded *encoded) {
    at_node_encoded *made = (at_node_encoded *)(void *)encoded;
    attn_context *context = encoded->context;
    at_release(context, encoded->offsets);
    at_release(context, made->stands_for);
    at_strings_free(context, &made->numbers);
    at_release(context, made);
}

/* The first node with a feature that the model does not know. */
static attn_status fail_feature(const at_node_input *input, attn_context *context,
                                const attn_dataset *dataset) {
    const at_graphs *graphs = at_graphs_of(dataset);
    for (int64_t node = 0; node < graphs->nodes; node++)
        for (int64_t f = graphs->first_feature[node]; f < graphs->first_feature[node + 1]; f++)
            if (graphs->features[f] >= input->feature_columns)
                return at_fail(context, ATTN_INVALID_ARGUMENT,
                               "%.200s:%" PRId64
                               ": feature %d, the model learned from features 0 to %" PRId64,
                               attn_dataset_name(dataset), dataset->lines[node], (int)graphs->features[f],
                               input->feature_columns - 1);
    return ATTN_OK; /* the data says that there may be more, and has none */
}

static attn_status check_columns(const at_node_input *input, attn_context *context,
                                 const attn_dataset *dataset) {
    const at_graphs *graphs = at_graphs_of(dataset);
    int given = input->values.features == AT_NODES_GIVEN;
    if (given && graphs->dense_columns != input->dense_columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has nodes with %" PRId64
                       " numbers, the model learned from nodes with %" PRId64,
                       attn_dataset_name(dataset), graphs->dense_columns, input->dense_columns);
    const at_strings *known = &input->dense_names, *names = &graphs->feature_names;
    for (int64_t c = 0; given && known->count && names->count && c < input->dense_columns; c++)
        if (strcmp(at_string(known, c), at_string(names, c)) != 0)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%.200s: number %" PRId64
                           " of a node is %.60s, the model learned from %.60s there",
                           attn_dataset_name(dataset), c + 1, at_string(names, c), at_string(known, c));
    if (numbers_of(input, graphs) != input->edge_numbers)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has edges with %" PRId64
                       " numbers, the model learned from edges with %" PRId64,
                       attn_dataset_name(dataset), numbers_of(input, graphs), input->edge_numbers);
    if (given && features_of(input, graphs) > input->feature_columns)
        return fail_feature(input, context, dataset);
    return ATTN_OK;
}

static attn_status find_names(const at_node_input *input, attn_context *context, const attn_dataset *dataset,
                              int32_t *stands_for) {
    const at_graphs *graphs = at_graphs_of(dataset);
    char text[24];
    for (int64_t e = 0; e < dataset->examples; e++) {
        int64_t first = dataset->offsets[e];
        for (int64_t node = first; node < dataset->offsets[e + 1]; node++) {
            const char *name = name_of(graphs, node, node - first, text);
            int64_t number = at_vocabulary_find(&input->names, name, strlen(name));
            if (number < 0)
                return at_fail(context, ATTN_INVALID_ARGUMENT,
                               "%.200s:%" PRId64 ": node %.60s: this model identifies nodes by name, and "
                               "this one was not in its training data",
                               attn_dataset_name(dataset), dataset->lines[node], name);
            stands_for[node] = (int32_t)number;
        }
    }
    return ATTN_OK;
}

/* How many nodes each sees, as far as that is distinguished. */
static void count_degrees(const at_node_input *input, const attn_dataset *dataset, int32_t *stands_for) {
    const at_graphs *graphs = at_graphs_of(dataset);
    memset(stands_for, 0, (size_t)graphs->nodes * sizeof *stands_for);
    for (int64_t g = 0; g < graphs->graphs; g++) {
        int64_t base = graphs->first_node[g];
        for (int64_t e = graphs->first_edge[g]; e < graphs->first_edge[g + 1]; e++) {
            int32_t *to = &stands_for[base + graphs->to[e]], *from = &stands_for[base + graphs->from[e]];
            *to += *to < MOST_DEGREES - 1;
            if (input->values.undirected == AT_NODES_YES) *from += *from < MOST_DEGREES - 1;
        }
    }
}

static attn_status check_pairs(const at_node_input *input, attn_context *context,
                               const attn_dataset *dataset) {
    for (int64_t e = 0; e < dataset->examples && input->values.pattern == AT_NODES_ALL; e++) {
        int64_t rows = dataset->offsets[e + 1] - dataset->offsets[e];
        if (rows * rows > MOST_PAIRS)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%.200s: a graph has %" PRId64
                           " nodes: pattern all needs memory for every pair, and more than %d pairs are too "
                           "many; train with pattern edges",
                           attn_dataset_name(dataset), rows, MOST_PAIRS);
    }
    return ATTN_OK;
}

/* Nodes without names are called by their numbers. */
static attn_status number_nodes(at_node_encoded *made) {
    const at_encoded *encoded = &made->encoded;
    int64_t longest = 0;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t rows = encoded->offsets[e + 1] - encoded->offsets[e];
        if (rows > longest) longest = rows;
    }
    for (int64_t i = 0; i < longest && !made->graphs->names.count && status == ATTN_OK; i++) {
        char name[24];
        int length = snprintf(name, sizeof name, "%" PRId64, i);
        status = at_strings_add(encoded->context, &made->numbers, name, (size_t)length);
    }
    return status;
}

static attn_status encode_nodes(const at_node_input *input, const attn_dataset *dataset,
                                at_node_encoded *made) {
    attn_context *context = made->encoded.context;
    attn_status status =
        at_grow(context, &made->encoded.offsets, &made->encoded.offset_room, dataset->examples + 1,
                sizeof *made->encoded.offsets, "the rows of examples");
    if (status != ATTN_OK) return status;
    made->encoded.examples = dataset->examples;
    made->encoded.rows = dataset->rows;
    memcpy(made->encoded.offsets, dataset->offsets,
           (size_t)(dataset->examples + 1) * sizeof *dataset->offsets);
    status = number_nodes(made);
    if (status != ATTN_OK || input->values.features == AT_NODES_GIVEN) return status;
    made->stands_for = at_allocate(context, dataset->rows, sizeof *made->stands_for, "the nodes of graphs");
    if (!made->stands_for) return ATTN_OUT_OF_MEMORY;
    if (input->values.features == AT_NODES_NAME) return find_names(input, context, dataset, made->stands_for);
    count_degrees(input, dataset, made->stands_for);
    return ATTN_OK;
}

attn_status at_nodes_encode(const at_input *input, attn_context *context, void **memo,
                            const attn_dataset *dataset, const at_encode_options *options,
                            at_encoded **encoded) {
    const at_node_input *nodes = at_node_input_of(input);
    (void)memo;
    (void)options;
    attn_status status = check_columns(nodes, context, dataset);
    if (status == ATTN_OK) status = check_pairs(nodes, context, dataset);
    if (status != ATTN_OK) return status;
    at_node_encoded *made = at_allocate(context, 1, sizeof *made, "encoded examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->encoded.context = context;
    made->graphs = at_graphs_of(dataset);
    status = encode_nodes(nodes, dataset, made);
    if (status != ATTN_OK) {
        at_nodes_free_encoded(&made->encoded);
        return status;
    }
    made->encoded.labels = (at_labels){.name = attn_dataset_name(dataset),
                                       .columns = &dataset->columns,
                                       .values = &dataset->targets,
                                       .lines = dataset->lines,
                                       .first = dataset->per_row ? NULL : dataset->offsets,
                                       .places = dataset->per_row ? dataset->rows : dataset->examples,
                                       .per_row = dataset->per_row};
    *encoded = &made->encoded;
    return ATTN_OK;
}

const char *at_nodes_row_name(const at_encoded *encoded, int64_t row) {
    const at_node_encoded *nodes = encoded_of(encoded);
    if (nodes->graphs->names.count) return at_string(&nodes->graphs->names, row);
    int64_t low = 0, high = encoded->examples; /* offsets[low] <= row < offsets[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (encoded->offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return at_string(&nodes->numbers, row - encoded->offsets[low]);
}

/* ---- the layer ---- */

typedef struct node_layer {
    attn_parameter *table;
    attn_linear *map;
    attn_norm *norm;
} node_layer;

void *at_nodes_build(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns) {
    const at_node_input *nodes = at_node_input_of(input);
    node_layer *layer = at_parameters_memory(set, sizeof *layer);
    char name[96];
    if (!layer) return NULL;
    memset(layer, 0, sizeof *layer);
    if (nodes->feature_columns) {
        int64_t shape[2] = {nodes->feature_columns, columns};
        attn_parameter_options options;
        attn_parameter_options_init(&options);
        snprintf(name, sizeof name, "%.60sinput.table", prefix);
        layer->table = attn_parameters_add(set, name, 2, shape, &options);
    }
    snprintf(name, sizeof name, "%.60sinput", prefix);
    if (nodes->dense_columns)
        layer->map = attn_linear_create(set, name, nodes->dense_columns, columns, 1, ATTN_IDENTITY);
    snprintf(name, sizeof name, "%.60sinput.norm", prefix);
    if (nodes->values.norm) layer->norm = attn_norm_create(set, name, ATTN_NORM_LAYER, columns);
    return layer;
}

attn_variable *at_nodes_apply(const at_input *input, const void *built, attn_tape *tape,
                              const at_batch *batch) {
    const node_layer *layer = built;
    const at_node_batch *rows = (const at_node_batch *)(const void *)batch;
    attn_variable *x = NULL;
    if (layer->table)
        x = attn_tape_weighted_bag(tape, layer->table, rows->features, rows->values, rows->bags, batch->rows);
    if (layer->map) {
        attn_variable *dense =
            attn_tape_constant(tape, rows->dense, batch->rows, at_node_input_of(input)->dense_columns);
        dense = attn_linear_apply(tape, layer->map, dense);
        x = x ? attn_tape_add(tape, x, dense) : dense;
    }
    static const attn_activation activations[] = {ATTN_IDENTITY, ATTN_RELU, ATTN_ELU};
    attn_activation activation = activations[at_node_input_of(input)->values.activation];
    if (layer->norm) x = attn_norm_apply(tape, layer->norm, x);
    return activation == ATTN_IDENTITY ? x : attn_tape_activation(tape, x, activation);
}
