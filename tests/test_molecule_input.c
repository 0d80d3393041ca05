/* test_molecule_input.c: files of molecules: tables with and without quotes, lines of SMILES, which columns
 * are what, features of atoms and bonds, splits, and what each mistake is told.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <attn/attn.h>

#include "data/dataset.h"
#include "data/parts.h"
#include "inputs/input.h"
#include "inputs/molecule/reader.h"
#include "support/memory.h"
#include "support/readers.h"
#include "support/training.h"

static attn_reader_options labelled(void) {
    attn_reader_options options = reader_options();
    options.input = "molecule";
    return options;
}

static attn_reader_options unlabelled(void) {
    attn_reader_options options = reader_options_unlabelled();
    options.input = "molecule";
    return options;
}

/* "C1 O2/1/0.5;": atoms, then the targets after '/'; "_" for a missing one. */
static void check_molecules(const char *name, const char *text, const attn_reader_options *options,
                            const char *expected) {
    char found[1000] = "";
    size_t used = 0;
    attn_dataset *dataset = read_text(group_context, name, text, options);
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        for (int64_t row = 0; row < attn_dataset_rows(dataset, e); row++)
            used += (size_t)snprintf(found + used, sizeof found - used, "%s%s", row ? " " : "",
                                     attn_dataset_row_name(dataset, e, row));
        for (int c = 0; c < attn_dataset_columns(dataset); c++) {
            const char *value = attn_dataset_target(dataset, c, e, 0);
            used += (size_t)snprintf(found + used, sizeof found - used, "/%s", *value ? value : "_");
        }
        used += (size_t)snprintf(found + used, sizeof found - used, ";");
    }
    assert_string_equal(found, expected);
    attn_dataset_destroy(dataset);
}

static void refuse(const char *name, const char *text, const attn_reader_options *options,
                   const char *error) {
    check_read_fails(group_context, name, text, options, error);
}

/* ---- files ---- */

static void test_tables(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    check_molecules("a.csv", "smiles,y\nCO,1\nN,2.5\n", &options, "C1 O2/1;N1/2.5;");
    check_molecules("a.csv", "\xef\xbb\xbfy,SMILES\r\n1,CO\r\n\r\n,N\r\n", &options, "C1 O2/1;N1/_;");
    check_molecules("a.tsv", "Smiles\ty\nCO\t1\nN\t-2e-3", &options, "C1 O2/1;N1/-2e-3;");
    check_molecules("a", "y;smiles\n1;CO\n", &options, "C1 O2/1;");
    check_molecules("a.csv", "\"a \"\"b\"\", c\",\"smiles\"\n\"1\",\"CO\"\n\"2\",N\n", &options,
                    "C1 O2/1;N1/2;");
    check_molecules("a.csv", "canonical_smiles,y\nCO,1\n", &options, "C1 O2/1;");
    check_molecules("a.csv", "what,structure,y\nfirst,CO,1\nsecond,[NH4+].[Cl-],0\n", &options,
                    "C1 O2/1;N1 Cl2/0;"); /* the only column of SMILES */
    options.column = "y z,NR-AR";
    check_molecules("a.csv", "smiles,NR-AR,other,y z\nCO,1,7,a\nN,,7,\n", &options, "C1 O2/a/1;N1/_/_;");
    options.text_column = "drug";
    options.column = "smiles";
    check_molecules("a.csv", "smiles,drug\n1,CO\n", &options, "C1 O2/1;");
}

/* All columns of numbers are targets, but for names, counters, and what is empty. */
static void test_targets(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    const char *text = "num,id,name,p,q,empty,smiles\n"
                       "1,17,a,0,,,C\n2,4,b,1,1,,C\n3,5,c,1,0,,C\n5,6,d,0,,,C\n6,9,e,0,1e3,,C\n";
    check_molecules("a.csv", text, &options, "C1/0/_;C1/1/1;C1/1/0;C1/0/_;C1/0/1e3;");
    attn_dataset *dataset = read_text(group_context, "a.csv", text, &options);
    assert_string_equal(attn_dataset_column(dataset, 0), "p");
    assert_string_equal(attn_dataset_id(dataset, 1), "4");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 3);
    attn_dataset_destroy(dataset);
    check_molecules("a.csv", "smiles,class\nC,toxic\nO,\n", &options, "C1/toxic;O1/_;");
    refuse("a.csv", "smiles,what\nC,a\n", &options,
           "a.csv: has no column of numbers to learn: name the column; its first line names the columns "
           "smiles, what");
    refuse("a.csv", "smiles,y\n", &options,
           "a.csv: has no column of numbers to learn: name the column; its first line names the columns "
           "smiles, y");
    options.column = "y";
    refuse("a.csv", "smiles,y\nC,\nO,\n", &options, "a.csv: no row has a value of y: it cannot be learned");
    refuse("a.csv", "smiles,z\nC,1\n", &options,
           "a.csv: has no column y; its first line names the columns smiles, z");
    options = unlabelled();
    options.column = "y";
    check_molecules("a.csv", "smiles,z\nC,1\n", &options, "C1;");
    options.column = NULL;
    options.label_separator = '|';
    options.labelled = 1;
    options.column = "y";
    check_molecules("a.csv", "smiles,y\nC,a | b\n", &options, "C1/a\nb;");
}

static void test_lines(void **state) {
    (void)state;
    attn_reader_options options = unlabelled();
    check_molecules("-", "CO\nN methane\n\n  CC\tethane of oil\r\n", &options, "C1 O2;N1;C1 C2;");
    check_molecules("a.smi", "smiles name\nCO a\n", &options, "C1 O2;");
    check_molecules("a.smi.gz", "CO", &options, "C1 O2;");
    attn_dataset *dataset = read_text(group_context, "-", "N\nCC\tethane of oil \n", &options);
    assert_string_equal(attn_dataset_id(dataset, 0), "");
    assert_string_equal(attn_dataset_id(dataset, 1), "ethane of oil");
    assert_int_equal(attn_dataset_format(dataset), AT_MOLECULE_SMILES);
    attn_dataset_destroy(dataset);
    options = labelled();
    refuse("a.smi", "CO\n", &options,
           "a.smi: lines of SMILES have no targets: give a table (CSV or TSV) whose first line names its "
           "columns, one of them smiles");
    assert_string_equal(attn_input_of_file("x/a.smi"), "molecule");
    assert_string_equal(attn_input_of_file("a.SMILES.gz"), "molecule");
    assert_string_equal(attn_input_of_file("smi"), "text");
    assert_string_equal(attn_input_of_file("a.csv"), "text");
}

static void test_gzip(void **state) {
    (void)state;
    char path[] = "/tmp/attn_molecule_XXXXXX";
    int descriptor = mkstemp(path);
    gzFile file = gzdopen(descriptor, "wb");
    gzputs(file, "smiles,y\nCO,1\n");
    gzclose(file);
    attn_reader_options options = labelled();
    attn_dataset *dataset = NULL;
    expect_ok(group_context, attn_dataset_read(group_context, path, &options, &dataset));
    assert_int_equal(attn_dataset_examples(dataset), 1);
    attn_dataset_destroy(dataset);
    unlink(path);
}

/* ---- features ---- */

static int has_feature(const at_graphs *graphs, int64_t node, int32_t column) {
    for (int64_t f = graphs->first_feature[node]; f < graphs->first_feature[node + 1]; f++)
        if (graphs->features[f] == column) return 1;
    return 0;
}

/* The columns as docs/molecules.md has them. */
static void test_features(void **state) {
    (void)state;
    attn_reader_options options = unlabelled();
    attn_dataset *dataset =
        read_text(group_context, "-", "[NH3+]C\nc1ccccc1\nF/C=C/[13C@H](*)[U]\nC#N\n", &options);
    const at_graphs *graphs = at_graphs_of(dataset);
    assert_int_equal(graphs->feature_columns, 57);
    assert_int_equal(graphs->edge_columns, 8);
    assert_int_equal(graphs->nodes, 2 + 6 + 6 + 2);
    static const int32_t nitrogen[] = {4, 29, 38, 43, 48}; /* N, degree 1, +1, 3 H, sp3 */
    assert_int_equal(graphs->first_feature[1], 5);
    for (int i = 0; i < 5; i++) assert_int_equal(graphs->features[i], nitrogen[i]);
    static const int32_t benzene[] = {3, 30, 37, 41, 47, 50, 51}; /* C, 2, 0, 1 H, sp2, aromatic, ring */
    assert_int_equal(graphs->first_feature[3] - graphs->first_feature[2], 7);
    for (int i = 0; i < 7; i++) assert_int_equal(graphs->features[graphs->first_feature[2] + i], benzene[i]);
    assert_true(has_feature(graphs, 11, 53) || has_feature(graphs, 11, 54)); /* chiral */
    assert_true(has_feature(graphs, 11, 56));                                /* isotope */
    assert_true(has_feature(graphs, 12, 26));                                /* wildcard */
    assert_true(has_feature(graphs, 13, 27));                                /* another element */
    /* Bonds in both directions, with the same numbers. */
    assert_int_equal(graphs->first_edge[1], 2);
    assert_int_equal(graphs->from[0], 0);
    assert_int_equal(graphs->to[0], 1);
    assert_int_equal(graphs->from[1], 1);
    assert_int_equal(graphs->to[1], 0);
    static const float single[] = {1, 0, 0, 0, 0, 0, 0, 0}, aromatic[] = {0, 0, 0, 1, 1, 1, 0, 0},
                       trans[] = {0, 1, 0, 0, 0, 0, 0, 1}, triple[] = {0, 0, 1, 0, 0, 0, 0, 0};
    assert_memory_equal(graphs->edge_numbers, single, sizeof single);
    assert_memory_equal(graphs->edge_numbers + 8, single, sizeof single);
    assert_memory_equal(graphs->edge_numbers + 8 * graphs->first_edge[1], aromatic, sizeof aromatic);
    assert_memory_equal(graphs->edge_numbers + 8 * (graphs->first_edge[2] + 2), trans, sizeof trans);
    assert_memory_equal(graphs->edge_numbers + 8 * graphs->first_edge[3], triple, sizeof triple);
    assert_false(graphs->listed_once);
    attn_dataset_destroy(dataset);
}

/* ---- mistakes ---- */

static void test_bad_smiles(void **state) {
    (void)state;
    attn_reader_options options = unlabelled();
    attn_dataset *dataset = NULL;
    attn_status status =
        attn_dataset_parse(group_context, "a.smi", 1, "CC\nC1CC x\n", 10, &options, &dataset);
    const char *error = attn_context_error(group_context);
    assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    assert_ptr_equal(strstr(error, "a.smi:2: position "), error);
    assert_non_null(strstr(error, "\n  C1CC\n  "));
    /* The caret stands below the position. */
    int position = atoi(error + strlen("a.smi:2: position "));
    const char *last = strrchr(error, '\n') + 1;
    assert_int_equal((int)strlen(last), 2 + position);
    assert_string_equal(last + 2 + position - 1, "^");
    refuse("a.csv", "smiles,y\n,1\n", &options, "a.csv:2: there is no SMILES");
    /* Long ones are cut on both sides, and nothing that a terminal might obey comes through. */
    char text[400] = "";
    for (int i = 0; i < 100; i++) strcat(text, "C");
    strcat(text, "\x1b");
    for (int i = 0; i < 100; i++) strcat(text, "C");
    status = attn_dataset_parse(group_context, "a.smi", 1, text, strlen(text), &options, &dataset);
    assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    error = attn_context_error(group_context);
    assert_ptr_equal(strstr(error, "a.smi:1: position 101: "), error);
    assert_null(strchr(error, '\x1b'));
    last = strrchr(error, '\n') + 1;
    assert_int_equal((int)strlen(last), 2 + 3 + 40 + 1);
    assert_non_null(strstr(error, "\n  ...CCCCC"));
    assert_non_null(strstr(error, "C?C"));
    assert_non_null(strstr(error, "CCC...\n"));
}

static void test_bad_rows(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    refuse("a.csv", "smiles,y\nC,1,2\n", &options,
           "a.csv: has no column of numbers to learn: name the column; its first line names the columns "
           "smiles, y");
    options.column = "y";
    refuse("a.csv", "smiles,y\nC,1,2\n", &options, "a.csv:2: 3 columns, the first row has 2");
    refuse("a.csv", "smiles,y\nC,\"1\n", &options, "a.csv:2: a quoted field that does not end");
    refuse("a.csv", "smiles,y\nC,\"1\n2\"\n", &options, "a.csv:2: a value with a line break in it: \"1?2\"");
    refuse("a.csv", "smiles,y\nC,\xff\n", &options,
           "a.csv:2: byte 3 (0xff) is not UTF-8: convert the file with iconv");
    refuse("a.csv", "drug,y\nvodka,1\n", &options,
           "a.csv: the column with SMILES is ambiguous: name it; its first line names the columns drug, y");
    refuse("a.csv", "", &options, "a.csv: is empty");
    refuse("a.csv", "smiles,y\n", &options, "a.csv: has no examples");
    refuse("a.csv", "PK\x03\x04", &options,
           "a.csv: is a zip archive: unpack it; a spreadsheet is to be saved as CSV");
    options.column = "y,Y";
    refuse("a.csv", "smiles,y\nC,1\n", &options,
           "reader options: a name occurs twice among the columns \"y,Y\"");
    options.column = "smiles";
    refuse("a.csv", "smiles,y\nC,1\n", &options,
           "a.csv: cannot learn the column with the SMILES: smiles; its first line names the columns "
           "smiles, y");
    options.column = "y";
    options.per_token = 1;
    refuse("a.csv", "smiles,y\nC,1\n", &options,
           "a.csv: has targets of molecules, but this task needs one for each atom");
}

static void test_skip_bad(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    options.skip_bad = 1;
    const char *text = "smiles,y\nC,1\nC(,2\nO,3\nN,4,5\nS,5\n";
    check_molecules("a.csv", text, &options, "C1/1;O1/3;S1/5;");
    attn_dataset *dataset = read_text(group_context, "a.csv", text, &options);
    assert_int_equal(attn_dataset_skipped(dataset), 2);
    assert_non_null(strstr(attn_dataset_problem(dataset, 0), "a.csv:3: position "));
    assert_string_equal(attn_dataset_problem(dataset, 1), "a.csv:5: 3 columns, the first row has 2");
    /* A split file has words for the rows that were left out, too. */
    const char *words = "train\ntest\nval\ntest\ntest\n";
    expect_ok(group_context, at_parts_from_words(dataset, "words", words, strlen(words)));
    assert_int_equal(dataset->part_count, 3);
    assert_int_equal(dataset->parts[0], ATTN_PART_TRAIN);
    assert_int_equal(dataset->parts[1], ATTN_PART_VAL);
    assert_int_equal(dataset->parts[2], ATTN_PART_TEST);
    attn_dataset_destroy(dataset);
    check_read_fails(group_context, "a.smi", "C(\n", &options,
                     "a.smi: lines of SMILES have no targets: give a table (CSV or TSV) whose first line "
                     "names its columns, one of them smiles");
    options.labelled = 0;
    attn_dataset *none = NULL;
    expect_refused(group_context, attn_dataset_parse(group_context, "a.smi", 1, "C(\n", 3, &options, &none),
                   ATTN_INVALID_ARGUMENT, "a.smi: has no good examples: all 1 were left out, the first");
}

static void test_stop_at_bad(void **state) {
    (void)state;
    attn_reader_options options = unlabelled();
    options.stop_at_bad = 1;
    static const char *const texts[] = {"C\nCO\nC(\nN\n", "smiles\nC\nCO\nC(\nN\n"};
    for (int i = 0; i < 2; i++) {
        attn_dataset *dataset = read_text(group_context, "-", texts[i], &options);
        assert_int_equal(attn_dataset_examples(dataset), 2);
        assert_int_equal(attn_dataset_stopped(dataset), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_dataset_consumed(dataset), strstr(texts[i], "C(") - texts[i]);
        assert_non_null(strstr(attn_dataset_problem(dataset, 0), ": position "));
        attn_dataset_destroy(dataset);
    }
}

/* ---- splits ---- */

static void test_split_column(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    options.split_column = "part";
    attn_dataset *dataset = read_text(group_context, "a.csv",
                                      "smiles,y,part\nC,1,train\nN,2,val\nO,3,test\nS,4,train\n", &options);
    assert_int_equal(attn_dataset_part_size(dataset, ATTN_PART_TRAIN), 2);
    assert_int_equal(attn_dataset_part_size(dataset, ATTN_PART_TEST), 1);
    assert_int_equal(attn_dataset_columns(dataset), 1);
    attn_dataset_destroy(dataset);
    refuse("a.csv", "smiles,y,part\nC,1,often\n", &options,
           "a.csv:2: \"often\" is not train, val, test or none");
    options.split_column = "splits:1";
    dataset = read_text(group_context, "a.csv", "smiles,y,splits\nC,1,tv\nN,2,ts\nO,1,vv\n", &options);
    assert_int_equal(attn_dataset_part_size(dataset, ATTN_PART_VAL), 2);
    attn_dataset_destroy(dataset);
    options.split_column = "none there";
    refuse("a.csv", "smiles,y\nC,1\n", &options,
           "a.csv: has no column none there; its first line names the columns smiles, y");
}

static void test_scaffolds(void **state) {
    (void)state;
    attn_reader_options options = unlabelled();
    attn_dataset *dataset =
        read_text(group_context, "-", "CCc1ccccc1\nOC1=CC=CC=C1\nCCO\nC1CCCCC1N\n", &options);
    const at_input_kind *kind = at_input_find("molecule");
    at_strings keys = {0};
    assert_string_equal(kind->grouping, "scaffold");
    expect_ok(group_context, kind->groups(dataset, &keys));
    assert_int_equal(keys.count, 4);
    assert_string_equal(at_string(&keys, 0), at_string(&keys, 1));
    assert_string_equal(at_string(&keys, 2), "");
    assert_string_not_equal(at_string(&keys, 3), at_string(&keys, 0));
    at_strings_free(group_context, &keys);
    attn_dataset_destroy(dataset);
}

/* ---- pieces ---- */

/* A file in pieces is the same molecules as all of it. */
static void test_pieces(void **state) {
    (void)state;
    attn_reader_options options = unlabelled();
    static const char *const pieces[] = {"drug,y\nCO,1\nN,2\n", "CC,3\n", "\"C\",4\n"};
    char *head = NULL;
    int64_t line = 1;
    options.format = (attn_format)AT_MOLECULE_TABLE;
    options.piece = 1;
    assert_int_equal(attn_reader_pieces(&options), 2);
    assert_int_equal(attn_reader_quotes("-", pieces[0], strlen(pieces[0]), &options), ',');
    for (int i = 0; i < 3; i++) {
        attn_dataset *dataset = NULL;
        expect_ok(group_context, attn_dataset_parse(group_context, "-", line, pieces[i], strlen(pieces[i]),
                                                    &options, &dataset));
        assert_int_equal(attn_dataset_examples(dataset), i == 0 ? 2 : 1);
        assert_int_equal(attn_dataset_line(dataset, 0, 0), line + (i == 0));
        if (i == 0) {
            size_t length = attn_dataset_head(dataset);
            assert_true(length > strlen("drug,y\n")); /* with the rows that say which column is which */
            head = malloc(length);
            memcpy(head, pieces[0], length);
            options.head = head;
            options.head_length = length;
            line = 4;
        } else {
            line++;
        }
        attn_dataset_destroy(dataset);
    }
    free(head);
    options = unlabelled();
    options.format = (attn_format)AT_MOLECULE_SMILES;
    assert_int_equal(attn_reader_pieces(&options), 0);
}

static void test_describe(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    options.skip_bad = 1;
    attn_dataset *dataset = read_text(group_context, "a.csv",
                                      "smiles,y\nC,1\nc1ccccc1,0\nC,1\n[Na+].[Cl-],0\nC,0\nC(,0\n", &options);
    attn_describe_options how;
    char *text = NULL;
    attn_describe_options_init(&how);
    expect_ok(group_context, attn_dataset_describe(dataset, &how, &text));
    assert_non_null(strstr(text, "a.csv: a table, 5 molecules, 11 atoms\n"));
    assert_non_null(strstr(text, "\n  1 molecule with rings\n"));
    assert_non_null(strstr(text, "\n  1 molecule of several fragments"));
    assert_non_null(strstr(text, "\n  1 scaffold, the most frequent in 1 molecule\n"));
    assert_non_null(strstr(text, "1 molecule repeats an earlier one\n"));
    assert_non_null(strstr(text, "1 molecule with different targets in different places:\n"));
    assert_non_null(strstr(text, "\n  a.csv:7: position "));
    assert_non_null(strstr(text, "\n    C(\n")); /* with its caret, indented */
    attn_text_release(group_context, text);
    how.json = 1;
    expect_ok(group_context, attn_dataset_describe(dataset, &how, &text));
    assert_non_null(strstr(text, "\"elements\":[{\"element\":\"C\",\"atoms\":9,\"molecules\":4}"));
    assert_non_null(strstr(text, "\"scaffolds\":{\"count\":1,\"largest\":1}"));
    attn_text_release(group_context, text);
    attn_dataset_destroy(dataset);
}

/* ---- without memory ---- */

static void fail_everywhere(const char *name, const char *text, const attn_reader_options *options) {
    for (int64_t n = 1;; n++) {
        attn_dataset *dataset = NULL;
        int64_t live = group_counter.live, failures = group_counter.failures;
        group_counter.fail_at = n;
        attn_status status =
            attn_dataset_parse(group_context, name, 1, text, strlen(text), options, &dataset);
        group_counter.fail_at = 0;
        if (group_counter.failures == failures) { /* it needed fewer */
            expect_ok(group_context, status);
            attn_dataset_destroy(dataset);
            return;
        }
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(dataset);
        assert_int_equal(group_counter.live, live);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    attn_reader_options options = labelled();
    options.split_column = "part";
    options.skip_bad = 1;
    fail_everywhere("a.csv", "id,drug,y,part\n\"1\",CO,1,train\n2,c1ccccc1C,3\n2,c1ccccc1C,,val\n", &options);
    options = unlabelled();
    fail_everywhere("a.smi", "CO a\nc1ccccc1 b\n", &options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),      cmocka_unit_test(test_targets),
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_features),    cmocka_unit_test(test_bad_smiles),
        cmocka_unit_test(test_bad_rows),    cmocka_unit_test(test_skip_bad),
        cmocka_unit_test(test_stop_at_bad), cmocka_unit_test(test_split_column),
        cmocka_unit_test(test_scaffolds),   cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_describe),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
