/* molecule.c: molecules as a kind of input: graphs of atoms (inputs/nodes.h) that were written as SMILES. */
#include "base/context.h"
#include "inputs/molecule/reader.h"
#include "inputs/table_fill.h"

static attn_status choose(const void *values, const attn_dataset *examples, at_set_function set, void *user) {
    return at_nodes_choose("molecule.", &((const at_molecule_values *)values)->nodes, examples, set, user);
}

static attn_status create(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input) {
    const at_molecule_values *own = values;
    at_node_values nodes = own->nodes;
    nodes.optional = own->stereo;
    return at_nodes_create(context, &at_molecule_kind, &nodes, use, input);
}

/* A table gets columns; lines of SMILES have no room for answers. */
static attn_status fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                           size_t length, const at_cells *cells, at_writer *writer, int *filled) {
    const at_placement *places = &dataset->placement;
    at_filling work = {.dataset = dataset,
                       .cells = cells,
                       .writer = writer,
                       .value = {.context = writer->context, .terminal = writer->terminal}};
    (void)settings;
    *filled = 0;
    if (!lines || (int)dataset->format != AT_MOLECULE_TABLE || cells->per_row || cells->nested)
        return ATTN_OK;
    if (places->end_count != dataset->examples) return ATTN_OK;
    if (places->end_count > 0 && (size_t)places->ends[places->end_count - 1] > length) return ATTN_OK;
    *filled = 1;
    at_fill_table(&work, lines, length);
    at_writer_free(&work.value);
    return writer->status;
}

/* Which columns were found to be learned, so that the user can say otherwise. */
static void note(const attn_dataset *dataset, at_writer *writer) {
    enum { SHOWN = 12 };
    const at_strings *columns = &dataset->columns;
    at_print(writer, "%lld molecules, %lld atoms; to be learned: ", (long long)dataset->examples,
             (long long)dataset->rows);
    for (int64_t c = 0; c < columns->count && c < SHOWN; c++) {
        if (c > 0) at_put(writer, ", ", 2);
        at_put_text(writer, at_string(columns, c));
    }
    if (columns->count > SHOWN) at_print(writer, " and %lld more", (long long)(columns->count - SHOWN));
}

const at_input_kind at_molecule_kind = {
    .name = "molecule",
    .help = "molecules as graphs of atoms: SMILES in tables (CSV, TSV) or one per line (.smi)",
    .row = "atom",
    .example = "molecule",
    .formats = at_molecule_formats,
    .fields = {at_molecule_fields, AT_MOLECULE_FIELDS, sizeof(at_molecule_values), at_molecule_flags,
               AT_MOLECULE_FLAGS},
    .defaults = at_molecule_defaults,
    .default_count = AT_MOLECULE_DEFAULTS,
    .knows = at_molecule_knows,
    .read = at_molecule_read,
    .detect = at_molecule_detect,
    .pieces = at_molecule_pieces,
    .quotes = at_molecule_quotes,
    .judge = at_molecule_judge,
    .describe = at_molecule_describe,
    .tells_conflicts = 1,
    .note = note,
    .grouping = "scaffold",
    .groups = at_molecule_groups,
    .fill_in = fill_in,
    .check = at_molecule_check,
    .counts = 1,
    .choose = choose,
    .create = create,
    .scene = at_molecule_scene,
    AT_NODES,
};
