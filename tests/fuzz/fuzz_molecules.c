/* fuzz_molecules.c: any bytes as files of molecules: refused with a text that shows no control characters but
 * the line breaks before the place, or graphs whose numbers are in their ranges. The first byte says how they
 * are read. */
#include "data/graphs.h"
#include "fuzz_dataset.h"
#include "inputs/molecule/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const char *text) {
    for (; *text; text++) REQUIRE((unsigned char)*text >= ' ' || strncmp(text, "\n  ", 3) == 0);
}

static void check_graphs(const attn_dataset *dataset) {
    const at_graphs *graphs = at_graphs_of(dataset);
    REQUIRE(graphs->graphs == dataset->examples && graphs->nodes == dataset->rows);
    REQUIRE(dataset->targets.count == dataset->examples * dataset->columns.count);
    REQUIRE(dataset->ids.count == dataset->examples && graphs->texts.count == dataset->examples);
    REQUIRE(dataset->placement.end_count == dataset->examples);
    for (int64_t i = 0; i < graphs->first_feature[graphs->nodes]; i++)
        REQUIRE(graphs->features[i] >= 0 && graphs->features[i] < AT_ATOM_COLUMNS);
    for (int64_t g = 0; g < graphs->graphs; g++) {
        int64_t nodes = graphs->first_node[g + 1] - graphs->first_node[g];
        REQUIRE(nodes > 0);
        for (int64_t e = graphs->first_edge[g]; e < graphs->first_edge[g + 1]; e++)
            REQUIRE(graphs->from[e] >= 0 && graphs->from[e] < nodes && graphs->to[e] >= 0 &&
                    graphs->to[e] < nodes && graphs->from[e] != graphs->to[e]);
    }
    for (int64_t i = 0; i < graphs->edges * AT_BOND_COLUMNS; i++)
        REQUIRE(graphs->edge_numbers[i] == 0 || graphs->edge_numbers[i] == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"a.csv", "a.tsv", "a.smi", "-"};
    static const char *const columns[] = {NULL, "y", "y,z", NULL};
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    if (size == 0) return 0;
    attn_reader_options_init(&options);
    options.input = "molecule";
    options.column = columns[data[0] & 3];
    options.labelled = data[0] >> 4 & 1;
    options.skip_bad = data[0] >> 5 & 1;
    options.stop_at_bad = data[0] >> 6 & 1;
    options.split_column = data[0] >> 7 ? "part" : NULL;
    attn_status status = attn_dataset_parse(fuzz_context(), names[data[0] >> 2 & 3], 1,
                                            (const char *)data + 1, size - 1, &options, &dataset);
    if (status != ATTN_OK) {
        REQUIRE(status == ATTN_INVALID_ARGUMENT && dataset == NULL);
        check_error(attn_context_error(fuzz_context()));
        return 0;
    }
    check_graphs(dataset);
    for (int64_t i = 0; attn_dataset_problem(dataset, i); i++) check_error(attn_dataset_problem(dataset, i));
    attn_dataset_destroy(dataset);
    return 0;
}
