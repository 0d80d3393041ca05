/* describe.c: a dataset of molecules described for people and as JSON (see data/describe.h): atoms, elements,
 * rings, fragments, scaffolds, targets, and what occurs twice. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/describe.h"
#include "data/symbols/vocabulary.h"
#include "inputs/molecule/reader.h"

enum { ELEMENTS = 256, ELEMENTS_SHOWN = 12 };

typedef struct element_count {
    int element;
    int64_t atoms, molecules;
} element_count;

/* What is in the molecules. */
typedef struct summary {
    element_count elements[ELEMENTS]; /* the most frequent first, `element_kinds` of them */
    int element_kinds;
    int64_t rings, with_rings, with_fragments, charged;
    int64_t scaffolds, largest; /* how many different ones there are, and in how many molecules one is */
    at_lengths atoms, bonds;
    at_repeats repeats;
} summary;

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

/* ---- counting ---- */

static int by_count(const void *left, const void *right) {
    const element_count *a = left, *b = right;
    if (a->atoms != b->atoms) return a->atoms > b->atoms ? -1 : 1;
    return a->element - b->element;
}

static void count_molecule(const at_molecule *molecule, int64_t example, int64_t *seen, summary *made) {
    int charged = 0;
    for (int64_t i = 0; i < molecule->atom_count; i++) {
        int element = molecule->atoms[i].element;
        made->elements[element].atoms++;
        made->elements[element].molecules += seen[element] != example;
        seen[element] = example;
        charged |= molecule->atoms[i].charge != 0;
    }
    int64_t rings = molecule->bond_count - molecule->atom_count + molecule->fragments;
    made->rings += rings;
    made->with_rings += rings > 0;
    made->with_fragments += molecule->fragments > 1;
    made->charged += charged;
}

static void rank_elements(summary *made) {
    for (int e = 0; e < ELEMENTS; e++) made->elements[e].element = e;
    qsort(made->elements, ELEMENTS, sizeof *made->elements, by_count);
    while (made->element_kinds < ELEMENTS && made->elements[made->element_kinds].atoms) made->element_kinds++;
}

static attn_status count_scaffold(attn_context *context, const at_molecule *molecule, at_writer *key,
                                  at_vocabulary *scaffolds, summary *made) {
    int64_t number = 0;
    key->count = 0;
    attn_status status = at_molecule_scaffold(context, molecule, key);
    if (status == ATTN_OK) status = key->status;
    if (status != ATTN_OK || key->count == 0) return status; /* no rings, no scaffold */
    status = at_vocabulary_add(context, scaffolds, key->bytes, (size_t)key->count, 1, &number);
    if (status == ATTN_OK && scaffolds->counts[number] > made->largest)
        made->largest = scaffolds->counts[number];
    made->scaffolds = scaffolds->strings.count;
    return status;
}

static attn_status count_molecules(const attn_dataset *dataset, summary *made) {
    attn_context *context = dataset->context;
    const at_strings *texts = &at_graphs_of(dataset)->texts;
    at_molecule molecule = {.work = NULL};
    at_vocabulary scaffolds = {.slot_count = 0};
    at_writer key = {.context = context};
    int64_t seen[ELEMENTS];
    attn_status status = ATTN_OK;
    memset(seen, 0xff, sizeof seen);
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        size_t position;
        const char *reason;
        status = at_smiles_read(context, at_string(texts, e), at_string_length(texts, e), &molecule,
                                &position, &reason);
        if (status != ATTN_OK) break;
        count_molecule(&molecule, e, seen, made);
        status = count_scaffold(context, &molecule, &key, &scaffolds, made);
    }
    rank_elements(made);
    at_molecule_free(context, &molecule);
    at_vocabulary_free(context, &scaffolds);
    at_writer_free(&key);
    return status;
}

static attn_status measure(const attn_dataset *dataset, summary *made) {
    const at_graphs *graphs = at_graphs_of(dataset);
    int64_t *list =
        at_allocate(dataset->context, dataset->examples, sizeof *list, "the lengths of molecules");
    if (!list) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < dataset->examples; e++) list[e] = dataset->offsets[e + 1] - dataset->offsets[e];
    made->atoms = at_measure_lengths(list, dataset->examples);
    for (int64_t e = 0; e < dataset->examples; e++)
        list[e] = (graphs->first_edge[e + 1] - graphs->first_edge[e]) / 2;
    made->bonds = at_measure_lengths(list, dataset->examples);
    at_release(dataset->context, list);
    return ATTN_OK;
}

/* ---- the same molecule: the same text ---- */

static uint64_t hash(const attn_dataset *dataset, int64_t example) {
    const at_strings *texts = &at_graphs_of(dataset)->texts;
    return at_hash(at_string(texts, example), at_string_length(texts, example), 0);
}

static int same(const attn_dataset *dataset, int64_t a, int64_t b) {
    const at_strings *texts = &at_graphs_of(dataset)->texts;
    return strcmp(at_string(texts, a), at_string(texts, b)) == 0;
}

static const at_likeness likeness = {hash, same, NULL};

/* ---- for people ---- */

static void put_elements(at_writer *writer, const summary *made, int64_t atoms) {
    at_print(writer, "\n  %-18s %9s %9s %10s\n", "element", "atoms", "", "molecules");
    for (int i = 0; i < made->element_kinds && i < ELEMENTS_SHOWN; i++) {
        const element_count *one = &made->elements[i];
        at_print(writer, "  %-18s %9s %7.2f %% %10s\n", at_element_name(one->element),
                 at_grouped(one->atoms).text, 100.0 * (double)one->atoms / (double)atoms,
                 at_grouped(one->molecules).text);
    }
    if (made->element_kinds <= ELEMENTS_SHOWN) return;
    put(writer, "  and");
    for (int i = ELEMENTS_SHOWN; i < made->element_kinds; i++)
        at_print(writer, " %s", at_element_name(made->elements[i].element));
    put(writer, "\n");
}

static void put_share(at_writer *writer, int64_t count, const char *what) {
    if (count == 0) return;
    put(writer, "  ");
    at_put_count(writer, count, "molecule");
    at_print(writer, " %s\n", what);
}

static void put_facts(at_writer *writer, const summary *made, int64_t molecules) {
    put(writer, "\n");
    put_share(writer, made->with_rings, "with rings");
    put_share(writer, molecules - made->with_rings, "without rings");
    put_share(writer, made->with_fragments, "of several fragments (salts, mixtures)");
    put_share(writer, made->charged, "with charged atoms");
    if (made->scaffolds == 0) return;
    put(writer, "  ");
    at_put_count(writer, made->scaffolds, "scaffold");
    put(writer, ", the most frequent in ");
    at_put_count(writer, made->largest, "molecule");
    put(writer, "\n");
}

static void put_parts(at_writer *writer, const attn_dataset *dataset) {
    if (dataset->part_count == 0) return;
    put(writer, "\nsplit: ");
    for (int p = ATTN_PART_TRAIN; p <= ATTN_PART_TEST; p++)
        at_print(writer, "%s%s %s", p > ATTN_PART_TRAIN ? ", " : "", attn_part_name((attn_part)p),
                 at_grouped(attn_dataset_part_size(dataset, (attn_part)p)).text);
    int64_t none = attn_dataset_part_size(dataset, ATTN_PART_NONE);
    if (none) at_print(writer, ", none %s", at_grouped(none).text);
    put(writer, "\n");
}

static void put_repeats(at_writer *writer, const at_repeats *repeats) {
    if (repeats->duplicates == 0 && repeats->contradictions == 0) return;
    put(writer, "\n");
    at_put_duplicates(writer, repeats, "molecule");
    at_put_contradictions(writer, repeats, "molecule");
}

/* ---- as JSON ---- */

static void put_json(at_writer *writer, const attn_dataset *dataset, const summary *made) {
    at_print(writer, ",\"atoms\":%" PRId64 ",\"bonds\":%" PRId64 ",\"lengths\":{", dataset->rows,
             at_graphs_of(dataset)->edges / 2);
    at_put_lengths_json(writer, "atoms", &made->atoms);
    put(writer, ",");
    at_put_lengths_json(writer, "bonds", &made->bonds);
    put(writer, "},\"elements\":[");
    for (int i = 0; i < made->element_kinds; i++)
        at_print(writer, "%s{\"element\":\"%s\",\"atoms\":%" PRId64 ",\"molecules\":%" PRId64 "}",
                 i > 0 ? "," : "", at_element_name(made->elements[i].element), made->elements[i].atoms,
                 made->elements[i].molecules);
    at_print(writer,
             "],\"rings\":%" PRId64 ",\"with_rings\":%" PRId64 ",\"several_fragments\":%" PRId64
             ",\"charged\":%" PRId64 ",\"scaffolds\":{\"count\":%" PRId64 ",\"largest\":%" PRId64 "}",
             made->rings, made->with_rings, made->with_fragments, made->charged, made->scaffolds,
             made->largest);
    if (dataset->part_count)
        at_print(
            writer,
            ",\"split\":{\"train\":%" PRId64 ",\"val\":%" PRId64 ",\"test\":%" PRId64 ",\"none\":%" PRId64
            "}",
            attn_dataset_part_size(dataset, ATTN_PART_TRAIN), attn_dataset_part_size(dataset, ATTN_PART_VAL),
            attn_dataset_part_size(dataset, ATTN_PART_TEST), attn_dataset_part_size(dataset, ATTN_PART_NONE));
    at_print(writer, ",\"duplicates\":%" PRId64 ",\"contradictions\":%" PRId64 ",\"columns\":",
             made->repeats.duplicates, made->repeats.contradictions);
}

/* ---- all of it ---- */

static attn_status describe_text(const attn_dataset *dataset, const attn_describe_options *options,
                                 const summary *made, at_writer *writer) {
    static const char *const formats[] = {"", "a table", "lines of SMILES"};
    at_print(writer, "%s, ", formats[dataset->format]);
    at_put_count(writer, dataset->examples, "molecule");
    put(writer, ", ");
    at_put_count(writer, dataset->rows, "atom");
    put(writer, "\n");
    if (options->unlabelled) {
        put(writer, "\nno targets: it can be used for prediction, not for training. As training data it\n");
        at_put_reason(writer, options);
    }
    at_put_lengths_heading(writer);
    at_put_lengths(writer, "atoms", &made->atoms);
    at_put_lengths(writer, "bonds", &made->bonds);
    put_elements(writer, made, dataset->rows);
    put_facts(writer, made, dataset->examples);
    put_parts(writer, dataset);
    attn_status status = at_put_columns(writer, dataset, options, "molecule");
    put_repeats(writer, &made->repeats);
    return status;
}

attn_status at_molecule_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                 at_writer *writer) {
    summary made;
    memset(&made, 0, sizeof made);
    attn_status status = measure(dataset, &made);
    if (status == ATTN_OK) status = count_molecules(dataset, &made);
    if (status == ATTN_OK) status = at_find_repeats(dataset, &likeness, &made.repeats);
    if (status != ATTN_OK) return status;
    if (!options->json) return describe_text(dataset, options, &made, writer);
    put_json(writer, dataset, &made);
    return at_put_columns(writer, dataset, options, "molecule");
}
