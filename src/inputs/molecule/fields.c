/* fields.c: the configuration of molecules, and its defaults by task. */
#include "base/context.h"
#include "inputs/molecule/reader.h"

const at_field at_molecule_fields[] = {
    AT_NODE_FIELDS("molecule.", at_molecule_values, "false"),
    AT_SWITCH("molecule.stereo", at_molecule_values, stereo, "false",
              "chirality and isotope are features of atoms, cis and trans of double bonds"),
};
_Static_assert(sizeof at_molecule_fields / sizeof at_molecule_fields[0] == AT_MOLECULE_FIELDS,
               "AT_MOLECULE_FIELDS");

const at_flag at_molecule_flags[] = {
    {"stereo", "molecule.stereo", NULL, "molecules: use chirality, isotopes, and cis or trans"},
};
_Static_assert(sizeof at_molecule_flags / sizeof at_molecule_flags[0] == AT_MOLECULE_FLAGS,
               "AT_MOLECULE_FLAGS");

/* Data sets of measured molecules are small: hundreds or thousands of them, of 20 or 30 atoms. Three small
 * networks err less than one of the same cost; a few thousand molecules feed a larger one. */
const at_default at_molecule_defaults[] = {
    {NULL, NULL, 0, "encoder.position", "none"},
    {NULL, NULL, 0, "encoder.width", "1"}, /* of fc: an atom alone */
    {NULL, NULL, 0, "encoder.columns", "64"},
    {NULL, NULL, 0, "encoder.heads", "4"},
    {NULL, NULL, 0, "encoder.layers", "3"},
    {NULL, NULL, 0, "encoder.inner", "128"},
    {NULL, NULL, 0, "encoder.dropout", "0.1"},
    {NULL, NULL, 0, "output.dropout", "0.1"},
    {NULL, NULL, 0, "output.pool", "mean-max"},
    {NULL, NULL, 0, "output.members", "3"},
    {NULL, NULL, 0, "training.batch_units", "600"},
    {NULL, NULL, 0, "training.beta2", "0.98"},
    {NULL, NULL, 0, "training.epochs", "15"},
    {"classify", NULL, 0, "training.metric", "roc_auc|accuracy"},
    {"classify", NULL, 0, "molecule.pattern", "all"},
    {"classify", NULL, 0, "molecule.stereo", "true"},
    /* A number is a sum over the atoms, and depends on all pairs of them. */
    {"regress", NULL, 0, "output.pool", "sum-max"},
    {"regress", NULL, 0, "molecule.pattern", "all"},
    {"regress", NULL, 0, "training.epochs", "30"},
    {"regress", NULL, 0, "training.metric", "rmse"},
    {NULL, NULL, 3000, "encoder.columns", "128"},
    {NULL, NULL, 3000, "encoder.heads", "8"},
    {NULL, NULL, 3000, "encoder.inner", "256"},
    {NULL, NULL, 3000, "output.members", "1"},
    {NULL, NULL, 3000, "molecule.pattern", "edges"}, /* three times as fast */
    {NULL, NULL, 3000, "molecule.stereo", "false"},
    {"regress", NULL, 3000, "encoder.dropout", "0"},
    {"regress", NULL, 3000, "output.dropout", "0"},
    {"regress", NULL, 3000, "training.epochs", "20"},
    {NULL, NULL, 20000, "training.epochs", "10"},
    {NULL, NULL, 20000, "training.batch_units", "1200"},
};
_Static_assert(sizeof at_molecule_defaults / sizeof at_molecule_defaults[0] == AT_MOLECULE_DEFAULTS,
               "AT_MOLECULE_DEFAULTS");

attn_status at_molecule_check(attn_context *context, const void *values, const at_input_use *use) {
    if (use->per_row == 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task %s needs a target for each atom, and targets are those of molecules", use->task);
    return at_nodes_check(context, &((const at_molecule_values *)values)->nodes, use);
}
