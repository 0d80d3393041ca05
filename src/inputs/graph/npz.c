/* npz.c: a graph as arrays of NumPy in one .npz.
 *
 * Edges: a sparse matrix in rows (CSR): adj_data, adj_indices, adj_indptr, adj_shape, where row i and column
 * j are an edge from i to j, and numbers other than 1 are one number for each edge; or `edges`, edges x 2.
 * Features: attr_data, attr_indices, attr_indptr, attr_shape, a sparse matrix likewise; or attr_matrix, or
 * node_features, nodes x columns. The members of a sparse matrix may also be called adj_matrix.data and so
 * on. Labels: labels or node_labels, nodes or nodes x columns; or the arrays that are requested. They are
 * numbers or strings; NaN is missing, and so is -1 where it is the only negative number among whole ones.
 * Splits: train_mask, val_mask and test_mask; or train_masks and so on, splits x nodes, of which the split
 * column asked for says one: "masks:3".
 *
 * Names: node_names, attr_names (of dense features), class_names (what labels mean, by number). Arrays of
 * Python objects are not read; names that are such are left out.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/npy.h"
#include "data/parts.h"
#include "data/zip.h"
#include "inputs/graph/parse.h"

enum { MOST_TARGETS = 1000 };

/* An array of the archive. */
typedef struct array {
    const char *name;
    int there;
    at_npy npy;
    at_bytes expanded;
} array;

/* A sparse matrix, row by row. */
typedef struct sparse {
    array data, indices, begins, shape;
    int64_t rows, columns;
} sparse;

typedef struct npz {
    at_graph_reader *reader;
    at_origin origin;
    at_zip archive;
    int64_t nodes;
    sparse adjacency, attributes;
    array edges, features; /* `features` are dense */
    at_bytes text;         /* an entry of an array */
} npz;

#define FAIL(file, name, ...) at_origin_fail(&(file)->origin, name, 0, __VA_ARGS__)

/* ---- arrays ---- */

static attn_status load(npz *file, const char *name, array *made) {
    const at_zip_member *member = NULL;
    const char *bytes;
    made->name = name;
    for (int64_t i = 0; i < file->archive.count; i++)
        if (strcmp(file->archive.members[i].name, name) == 0) member = &file->archive.members[i];
    if (!member) return ATTN_OK;
    attn_status status = at_zip_read(&file->origin, member, &made->expanded, &bytes);
    if (status == ATTN_OK) status = at_npy_parse(&file->origin, name, bytes, member->size, &made->npy);
    made->there = status == ATTN_OK;
    return status;
}

/* The first of two names that is there. */
static attn_status load_either(npz *file, const char *name, const char *other, array *made) {
    attn_status status = load(file, name, made);
    return status == ATTN_OK && !made->there ? load(file, other, made) : status;
}

static void unload(npz *file, array *made) {
    at_bytes_free(file->reader->context, &made->expanded);
    made->there = 0;
}

static int is_text(const at_npy *npy) { return npy->type == AT_NPY_BYTES || npy->type == AT_NPY_UNICODE; }
static int is_whole(const at_npy *npy) { return npy->type == AT_NPY_SIGNED || npy->type == AT_NPY_UNSIGNED; }

/* The shape of an array, for errors. */
typedef struct shape_text {
    char text[80];
} shape_text;
static shape_text shape_of(const at_npy *npy) {
    shape_text made = {"("};
    for (int d = 0; d < npy->rank; d++) {
        size_t used = strlen(made.text);
        snprintf(made.text + used, sizeof made.text - used, "%s%" PRId64, d ? ", " : "", npy->shape[d]);
    }
    strcat(made.text, npy->rank == 1 ? ",)" : ")");
    return made;
}

/* Whole numbers in one dimension, so many of them. */
static attn_status check_list(npz *file, const array *list, int64_t count, const char *why) {
    if (list->npy.rank != 1 || !is_whole(&list->npy))
        return FAIL(file, list->name,
                    "has shape %s: in a sparse matrix (CSR) it must be a list of whole numbers",
                    shape_of(&list->npy).text);
    if (list->npy.count != count)
        return FAIL(file, list->name, "has shape %s, and should have (%" PRId64 ",), %s",
                    shape_of(&list->npy).text, count, why);
    return ATTN_OK;
}

/* Entry i as a number that is finite. */
static attn_status take_number(npz *file, const array *from, int64_t i, float *number) {
    double value = at_npy_number(&from->npy, i);
    if (!(fabs(value) <= (double)FLT_MAX))
        return FAIL(file, from->name, "entry %" PRId64 " is %s: %s", i,
                    isnan(value)   ? "not a number"
                    : isinf(value) ? "infinite"
                                   : "too large for 32 bits",
                    isfinite(value) ? "scale it" : "replace it (numpy.nan_to_num)");
    *number = at_npy_single(&from->npy, i);
    return ATTN_OK;
}

/* ---- sparse matrices ---- */

static attn_status load_sparse(npz *file, const char *const names[2][4], sparse *matrix) {
    array *const parts[4] = {&matrix->data, &matrix->indices, &matrix->begins, &matrix->shape};
    attn_status status = ATTN_OK;
    for (int i = 0; i < 4 && status == ATTN_OK; i++)
        status = load_either(file, names[0][i], names[1][i], parts[i]);
    if (status != ATTN_OK || !matrix->indices.there) return status;
    for (int i = 1; i < 4; i++) /* without data all numbers are 1 */
        if (!parts[i]->there)
            return FAIL(file, NULL,
                        "has an array %s and none %s: a sparse matrix (CSR) has indices, indptr and shape",
                        matrix->indices.name, names[0][i]);
    status = check_list(file, &matrix->shape, 2, "rows and columns");
    if (status != ATTN_OK) return status;
    if (!at_npy_integer(&matrix->shape.npy, 0, &matrix->rows) || matrix->rows < 0 ||
        matrix->rows > INT32_MAX || !at_npy_integer(&matrix->shape.npy, 1, &matrix->columns) ||
        matrix->columns < 0 || matrix->columns > INT32_MAX)
        return FAIL(file, matrix->shape.name, "has more rows or columns than %d", INT32_MAX);
    status = check_list(file, &matrix->begins, matrix->rows + 1, "a row of the matrix more");
    if (status == ATTN_OK)
        status = check_list(file, &matrix->indices, matrix->indices.npy.count, "as data has");
    if (status != ATTN_OK || !matrix->data.there) return status;
    if (matrix->data.npy.rank != 1 || matrix->data.npy.count != matrix->indices.npy.count ||
        is_text(&matrix->data.npy))
        return FAIL(file, matrix->data.name, "has shape %s, and %s has %s: they must have equal lengths",
                    shape_of(&matrix->data.npy).text, matrix->indices.name,
                    shape_of(&matrix->indices.npy).text);
    return ATTN_OK;
}

static void unload_sparse(npz *file, sparse *matrix) {
    unload(file, &matrix->data);
    unload(file, &matrix->indices);
    unload(file, &matrix->begins);
    unload(file, &matrix->shape);
}

/* The entries of a row: *first .. *end - 1. */
static attn_status find_row(npz *file, const sparse *matrix, int64_t row, int64_t *first, int64_t *end) {
    int64_t entries = matrix->indices.npy.count;
    int known =
        at_npy_integer(&matrix->begins.npy, row, first) && at_npy_integer(&matrix->begins.npy, row + 1, end);
    if (!known || *first < 0 || *first > *end || *end > entries || (row == 0 && *first != 0) ||
        (row == matrix->rows - 1 && *end != entries))
        return FAIL(file, matrix->begins.name,
                    "entry %" PRId64 " or the next is out of order: they rise from 0 to %" PRId64
                    ", the number of entries",
                    row, entries);
    return ATTN_OK;
}

static attn_status find_column(npz *file, const sparse *matrix, int64_t entry, int64_t *column) {
    if (at_npy_integer(&matrix->indices.npy, entry, column) && *column >= 0 && *column < matrix->columns)
        return ATTN_OK;
    return FAIL(file, matrix->indices.name, "entry %" PRId64 " is out of range: columns are 0 to %" PRId64,
                entry, matrix->columns - 1);
}

/* Whether any number of a matrix is not 1. */
static int has_numbers(const sparse *matrix) {
    for (int64_t i = 0; matrix->data.there && i < matrix->data.npy.count; i++)
        if (at_npy_number(&matrix->data.npy, i) != 1) return 1;
    return 0;
}

/* ---- nodes ---- */

static attn_status load_features(npz *file) {
    static const char *const names[2][4] = {
        {"attr_data", "attr_indices", "attr_indptr", "attr_shape"},
        {"attr_matrix.data", "attr_matrix.indices", "attr_matrix.indptr", "attr_matrix.shape"}};
    at_graphs *graphs = at_graphs_of(file->reader->dataset);
    sparse *matrix = &file->attributes;
    const at_npy *dense = &file->features.npy;
    attn_status status = load_sparse(file, names, matrix);
    if (status == ATTN_OK) status = load_either(file, "node_features", "attr_matrix", &file->features);
    if (status != ATTN_OK) return status;
    if (matrix->indices.there && matrix->rows != file->nodes)
        return FAIL(file, matrix->shape.name, "says %" PRId64 " rows, and there are %" PRId64 " nodes",
                    matrix->rows, file->nodes);
    if (matrix->indices.there && matrix->columns > AT_GRAPH_MOST_COLUMNS)
        return FAIL(file, matrix->shape.name, "says %" PRId64 " columns, more than %d", matrix->columns,
                    AT_GRAPH_MOST_COLUMNS);
    if (matrix->indices.there) graphs->feature_columns = matrix->columns;
    if (!file->features.there) return ATTN_OK;
    if (dense->rank != 2 || is_text(dense) || dense->shape[0] != file->nodes || dense->shape[1] < 1)
        return FAIL(file, file->features.name, "has shape %s: it has numbers, %" PRId64 " nodes x columns",
                    shape_of(dense).text, file->nodes);
    graphs->dense_columns = dense->shape[1];
    return ATTN_OK;
}

static attn_status add_features(npz *file, int64_t node) {
    attn_dataset *dataset = file->reader->dataset;
    const sparse *matrix = &file->attributes;
    int64_t columns = at_graphs_of(dataset)->dense_columns, first = 0, end = 0;
    attn_status status = ATTN_OK;
    if (matrix->indices.there) status = find_row(file, matrix, node, &first, &end);
    for (int64_t i = first; i < end && status == ATTN_OK; i++) {
        int64_t column = 0;
        float value = 1;
        status = find_column(file, matrix, i, &column);
        if (status == ATTN_OK && matrix->data.there) status = take_number(file, &matrix->data, i, &value);
        if (status == ATTN_OK) status = at_graphs_feature(dataset, column, value);
    }
    float *row = columns && status == ATTN_OK ? at_graphs_dense(dataset) : NULL;
    for (int64_t c = 0; row && c < columns && status == ATTN_OK; c++)
        status = take_number(file, &file->features, node * columns + c, &row[c]);
    return status;
}

/* Names, if they are plain strings or numbers, `count` of them. */
static attn_status load_names(npz *file, const char *name, int64_t count, array *made) {
    attn_status status = load(file, name, made);
    if (status == ATTN_INVALID_ARGUMENT) { /* Python objects, most likely */
        unload(file, made);
        return ATTN_OK;
    }
    if (status == ATTN_OK && made->there && (made->npy.rank != 1 || (count >= 0 && made->npy.count != count)))
        return FAIL(file, name, "has shape %s, and there are %" PRId64 " to be named",
                    shape_of(&made->npy).text, count);
    return status;
}

static attn_status name_features(npz *file) {
    attn_dataset *dataset = file->reader->dataset;
    at_graphs *graphs = at_graphs_of(dataset);
    array names = {0};
    if (!graphs->dense_columns) return ATTN_OK;
    attn_status status = load_names(file, "attr_names", graphs->dense_columns, &names);
    for (int64_t c = 0; names.there && c < graphs->dense_columns && status == ATTN_OK; c++) {
        status = at_npy_text(&file->origin, names.name, &names.npy, c, &file->text);
        if (status == ATTN_OK)
            status = at_strings_add(file->reader->context, &graphs->feature_names, file->text.data,
                                    (size_t)file->text.count - 1);
    }
    unload(file, &names);
    return status;
}

static attn_status add_nodes(npz *file) {
    attn_dataset *dataset = file->reader->dataset;
    array names = {0};
    attn_status status = load_features(file);
    if (status == ATTN_OK) status = name_features(file);
    if (status == ATTN_OK) status = load_names(file, "node_names", file->nodes, &names);
    for (int64_t n = 0; n < file->nodes && status == ATTN_OK; n++) {
        if (names.there) status = at_npy_text(&file->origin, names.name, &names.npy, n, &file->text);
        if (status == ATTN_OK)
            status = at_graphs_node(dataset, names.there ? file->text.data : NULL,
                                    names.there ? (size_t)file->text.count - 1 : 0, n + 1);
        if (status == ATTN_OK) status = add_features(file, n);
    }
    unload(file, &names);
    unload_sparse(file, &file->attributes);
    unload(file, &file->features);
    return status;
}

/* ---- edges ---- */

/* What edges there are says how many nodes there are, or features and labels do. */
static attn_status load_edges(npz *file) {
    static const char *const names[2][4] = {
        {"adj_data", "adj_indices", "adj_indptr", "adj_shape"},
        {"adj_matrix.data", "adj_matrix.indices", "adj_matrix.indptr", "adj_matrix.shape"}};
    sparse *matrix = &file->adjacency;
    attn_status status = load_sparse(file, names, matrix);
    if (status == ATTN_OK) status = load(file, "edges", &file->edges);
    if (status != ATTN_OK) return status;
    if (matrix->indices.there) {
        file->nodes = matrix->rows;
        if (matrix->columns != matrix->rows)
            return FAIL(file, matrix->shape.name,
                        "is (%" PRId64 ", %" PRId64 "): there is a row and a column for each node",
                        matrix->rows, matrix->columns);
        at_graphs_of(file->reader->dataset)->edge_columns = has_numbers(matrix);
        return ATTN_OK;
    }
    if (!file->edges.there)
        return FAIL(file, NULL,
                    "has no edges: adj_indices, adj_indptr and adj_shape (and adj_data), or edges, with two "
                    "columns");
    if (file->edges.npy.rank != 2 || file->edges.npy.shape[1] != 2 || !is_whole(&file->edges.npy))
        return FAIL(file, "edges", "has shape %s: it has whole numbers, edges x 2",
                    shape_of(&file->edges.npy).text);
    array sized = {0};
    status = load_either(file, "node_labels", "labels", &sized);
    if (status == ATTN_OK && !sized.there) status = load_either(file, "node_features", "attr_matrix", &sized);
    if (status == ATTN_OK && (!sized.there || sized.npy.rank < 1 || sized.npy.count == 0))
        status = FAIL(file, NULL,
                      "has edges, but neither node_labels nor node_features, which say how many nodes");
    if (status == ATTN_OK) file->nodes = sized.npy.shape[0];
    unload(file, &sized);
    return status;
}

static attn_status add_pair(npz *file, int64_t edge) {
    int64_t ends[2];
    for (int i = 0; i < 2; i++)
        if (!at_npy_integer(&file->edges.npy, 2 * edge + i, &ends[i]) || ends[i] < 0 ||
            ends[i] >= file->nodes)
            return FAIL(file, "edges",
                        "row %" PRId64 " leads %s a node that does not exist: they are 0 to %" PRId64, edge,
                        i ? "to" : "from", file->nodes - 1);
    return at_graphs_edge(file->reader->dataset, ends[0], ends[1], NULL);
}

static attn_status add_edges(npz *file) {
    attn_dataset *dataset = file->reader->dataset;
    const sparse *matrix = &file->adjacency;
    int columns = (int)at_graphs_of(dataset)->edge_columns;
    int64_t count = matrix->indices.there ? matrix->indices.npy.count : file->edges.npy.shape[0];
    attn_status status = at_graphs_reserve_edges(dataset, count);
    for (int64_t e = 0; e < count && !matrix->indices.there && status == ATTN_OK; e++)
        status = add_pair(file, e);
    for (int64_t row = 0; row < matrix->rows && matrix->indices.there && status == ATTN_OK; row++) {
        int64_t first = 0, end = 0;
        status = find_row(file, matrix, row, &first, &end);
        for (int64_t i = first; i < end && status == ATTN_OK; i++) {
            int64_t column = 0;
            float number = 1;
            status = find_column(file, matrix, i, &column);
            if (status == ATTN_OK && columns) status = take_number(file, &matrix->data, i, &number);
            if (status == ATTN_OK) status = at_graphs_edge(dataset, row, column, columns ? &number : NULL);
        }
    }
    return status;
}

/* ---- labels ---- */

/* Whether -1 is the only negative number: then it says that there is no label. */
static int marks_missing(const at_npy *npy) {
    int found = 0;
    for (int64_t i = 0; npy->type == AT_NPY_SIGNED && i < npy->count; i++) {
        int64_t value = 0;
        at_npy_integer(npy, i, &value);
        if (value < -1) return 0;
        found |= value == -1;
    }
    return found;
}

static attn_status check_labels(npz *file, const array *labels) {
    const at_npy *npy = &labels->npy;
    if (npy->rank >= 1 && npy->rank <= 2 && npy->shape[0] == file->nodes &&
        (npy->rank == 1 || (npy->shape[1] >= 1 && npy->shape[1] <= MOST_TARGETS)))
        return ATTN_OK;
    return FAIL(file, labels->name,
                "has shape %s, and there are %" PRId64
                " nodes: labels are nodes, or nodes x columns (%d at most)",
                shape_of(npy).text, file->nodes, MOST_TARGETS);
}

/* The text of an entry: the class that it numbers, where classes have names. */
static attn_status label_text(npz *file, const array *labels, const array *classes, int64_t i) {
    int64_t number;
    if (!classes->there || !is_whole(&labels->npy))
        return at_npy_text(&file->origin, labels->name, &labels->npy, i, &file->text);
    if (!at_npy_integer(&labels->npy, i, &number) || number < 0 || number >= classes->npy.count)
        return FAIL(file, labels->name,
                    "entry %" PRId64 " is not one of the %" PRId64 " classes of class_names", i,
                    classes->npy.count);
    return at_npy_text(&file->origin, classes->name, &classes->npy, number, &file->text);
}

typedef struct label_array {
    array labels;
    int missing; /* -1 is missing */
} label_array;

/* The names of the targets in an array: its own, with a number behind it if it has columns. */
static attn_status add_columns(npz *file, const char *name, const at_npy *npy) {
    attn_dataset *dataset = file->reader->dataset;
    attn_status status = ATTN_OK;
    if (npy->rank == 1) return at_strings_add(file->reader->context, &dataset->columns, name, strlen(name));
    for (int64_t c = 0; c < npy->shape[1] && status == ATTN_OK; c++) {
        char numbered[160];
        snprintf(numbered, sizeof numbered, "%.100s%" PRId64, name, c);
        status = at_strings_add(file->reader->context, &dataset->columns, numbered, strlen(numbered));
    }
    return status;
}

static attn_status load_labels(npz *file, label_array *list, int64_t *count) {
    at_graph_reader *reader = file->reader;
    const at_strings *wanted = &reader->wanted;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < (wanted->count ? wanted->count : 1) && status == ATTN_OK; i++) {
        const char *asked = wanted->count ? at_string(wanted, i) : "label";
        array *labels = &list[*count].labels;
        if (strcmp(asked, "label") == 0)
            status = load_either(file, "labels", "node_labels", labels);
        else
            status = load(file, asked, labels);
        if (status == ATTN_OK && !labels->there && reader->options->labelled)
            status = wanted->count ? FAIL(file, NULL, "has no array %.80s", asked)
                                   : FAIL(file, NULL,
                                          "has no array labels (or node_labels): there is nothing to learn");
        if (status != ATTN_OK || !labels->there) continue;
        status = check_labels(file, labels);
        list[*count].missing = status == ATTN_OK && marks_missing(&labels->npy);
        ++*count;
        if (status == ATTN_OK) status = add_columns(file, asked, &labels->npy);
    }
    return status;
}

static attn_status put_labels(npz *file, const label_array *list, int64_t count, const array *classes) {
    attn_dataset *dataset = file->reader->dataset;
    attn_status status = ATTN_OK;
    for (int64_t n = 0; n < file->nodes; n++) {
        for (int64_t l = 0; l < count; l++) {
            const at_npy *npy = &list[l].labels.npy;
            int64_t width = npy->rank == 1 ? 1 : npy->shape[1], number = 0;
            for (int64_t i = n * width; i < (n + 1) * width; i++) {
                int missing = list[l].missing && at_npy_integer(npy, i, &number) && number == -1;
                if (!missing) status = label_text(file, &list[l].labels, classes, i);
                if (status == ATTN_OK)
                    status = at_graph_target(file->reader, &dataset->targets, missing ? "" : file->text.data,
                                             missing ? 0 : (size_t)file->text.count - 1);
                if (status != ATTN_OK) return status;
            }
        }
    }
    return ATTN_OK;
}

static attn_status add_labels(npz *file) {
    at_graph_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int64_t room = reader->wanted.count + 1, count = 0;
    array classes = {0};
    dataset->per_row = reader->options->per_token != 0 && reader->options->pairs != 1;
    if (!dataset->per_row)
        return reader->options->labelled
                   ? FAIL(file, NULL,
                          "has labels of nodes, but this task needs one per graph (task tag: one per node)")
                   : ATTN_OK;
    label_array *list = at_allocate(reader->context, room, sizeof *list, "labels");
    if (!list) return ATTN_OUT_OF_MEMORY;
    attn_status status = load_labels(file, list, &count);
    if (status == ATTN_OK) status = load_names(file, "class_names", -1, &classes);
    if (status == ATTN_OK) status = put_labels(file, list, count, &classes);
    for (int64_t l = 0; l < room; l++) unload(file, &list[l].labels);
    unload(file, &classes);
    at_release(reader->context, list);
    return status;
}

/* ---- masks ---- */

/* Which split is requested: -1: none in particular. */
static attn_status asked_split(npz *file, int64_t *number) {
    const char *asked = file->reader->options->split_column;
    size_t length;
    *number = -1;
    if (!asked || !*asked) return ATTN_OK;
    attn_status status = at_split_column(file->reader->context, asked, &length, number);
    if (status != ATTN_OK) return status;
    if ((length == 5 && memcmp(asked, "masks", 5) == 0) || (length == 4 && memcmp(asked, "mask", 4) == 0))
        return ATTN_OK;
    return FAIL(file, NULL,
                "has no split \"%.60s\": in an .npz it is called masks, or masks:3 where there are several",
                asked);
}

/* Where the mask of one split begins, and how far entries are apart: splits x nodes or nodes x splits. */
static attn_status find_mask(npz *file, const array *masks, int64_t number, int64_t *first, int64_t *stride) {
    const at_npy *npy = &masks->npy;
    *first = 0;
    *stride = 1;
    if (is_text(npy) || npy->rank < 1 || npy->rank > 2 ||
        (npy->shape[npy->rank - 1] != file->nodes && npy->shape[0] != file->nodes))
        return FAIL(file, masks->name,
                    "has shape %s, and there are %" PRId64 " nodes: masks are nodes, or splits x nodes",
                    shape_of(npy).text, file->nodes);
    if (npy->rank == 1 && number <= 0) return ATTN_OK;
    int by_split = npy->rank == 2 && npy->shape[1] == file->nodes;
    int64_t splits = npy->rank == 1 ? 1 : npy->shape[by_split ? 0 : 1];
    if (number < 0 && splits == 1) number = 0;
    if (number < 0 || number >= splits)
        return FAIL(file, masks->name,
                    "holds %" PRId64 " splits: choose one as the split column: masks:0 to masks:%" PRId64,
                    splits, splits - 1);
    *first = by_split ? number * file->nodes : number;
    *stride = by_split ? 1 : splits;
    return ATTN_OK;
}

static attn_status take_mask(npz *file, const array *masks, int64_t number, int part, unsigned char *parts) {
    int64_t first, stride;
    attn_status status = find_mask(file, masks, number, &first, &stride);
    for (int64_t n = 0; n < file->nodes && status == ATTN_OK; n++) {
        if (at_npy_number(&masks->npy, first + n * stride) == 0) continue;
        if (parts[n])
            return FAIL(file, masks->name, "node %" PRId64 " is for %s already", n,
                        attn_part_name((attn_part)parts[n]));
        parts[n] = (unsigned char)part;
    }
    return status;
}

static attn_status add_parts(npz *file) {
    static const char *const names[3][2] = {
        {"train_masks", "train_mask"}, {"val_masks", "val_mask"}, {"test_masks", "test_mask"}};
    static const int meant[3] = {ATTN_PART_TRAIN, ATTN_PART_VAL, ATTN_PART_TEST};
    attn_context *context = file->reader->context;
    attn_dataset *dataset = file->reader->dataset;
    int64_t number;
    int there = 0;
    if (!at_graph_uses_split(file->reader->options) || !dataset->per_row) return ATTN_OK;
    attn_status status = asked_split(file, &number);
    if (status != ATTN_OK) return status;
    unsigned char *parts = at_allocate(context, file->nodes, 1, "a split");
    if (!parts) return ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < 3 && status == ATTN_OK; i++) {
        array masks = {0};
        status = load_either(file, names[i][0], names[i][1], &masks);
        there |= masks.there;
        if (status == ATTN_OK && masks.there) status = take_mask(file, &masks, number, meant[i], parts);
        unload(file, &masks);
    }
    for (int64_t n = 0; there && n < file->nodes && status == ATTN_OK; n++)
        status = at_dataset_add_part(dataset, parts[n]);
    at_release(context, parts);
    const char *asked = file->reader->options->split_column;
    if (status == ATTN_OK && !there && asked && *asked)
        return FAIL(file, NULL, "has no train_mask (or train_masks), which selects the training nodes");
    return status;
}

/* ---- all of it ---- */

attn_status at_graph_read_npz(at_graph_reader *reader, const at_graph_file *source) {
    npz file = {.reader = reader, .origin = at_graph_origin(reader, source->name)};
    attn_status status =
        at_graphs_dataset(reader->context, source->name, &at_graph_content, AT_GRAPH_NPZ, &reader->dataset);
    if (status == ATTN_OK) status = at_zip_open(&file.origin, source->bytes, source->count, &file.archive);
    if (status == ATTN_OK) status = load_edges(&file);
    if (status == ATTN_OK) status = add_nodes(&file);
    if (status == ATTN_OK) status = at_graph_check_nodes(reader, source->name);
    if (status == ATTN_OK) status = add_edges(&file);
    if (status == ATTN_OK) status = at_graphs_end(reader->dataset);
    if (status == ATTN_OK) status = add_labels(&file);
    if (status == ATTN_OK) status = add_parts(&file);
    if (status == ATTN_OK) status = at_graph_finish(reader, source->name);
    unload_sparse(&file, &file.adjacency);
    unload_sparse(&file, &file.attributes);
    unload(&file, &file.edges);
    unload(&file, &file.features);
    at_bytes_free(reader->context, &file.text);
    at_zip_free(reader->context, &file.archive);
    return status;
}
