/* test_messages.c: the messages of the library as the program prints them, with flags for names of the
 * configuration.
 *
 * cli/messages.c is compiled into this test; tests/test_cli.sh checks that src/ still has its phrases.
 */
#include "support/check.h"

#include "../cli/messages.h"

static void test_names(void **state) {
    static const char *const cases[][2] = {
        {"name it (reader.column)", "name it (--column)"},
        {"text TAB label (reader.text_column 1 reader.column 2)",
         "text TAB label (--text-column 1 --column 2)"},
        {"features (text.wide_buckets, encoder.kind none) are", "features (--wide, --encoder none) are"},
        {"(graph.undirected adds the way back)", "(--undirected adds the way back)"},
        {"(speech.normalize running or corpus)", "(--normalize running or corpus)"},
        {"half (training.store half\n  of it)", "half (--half half\n  of it)"},
        {"((a) reader.column)", "((a) --column)"},
        /* Names without a flag, names that only begin or end like one, and those that stand outside brackets.
         */
        {"(encoder.left -1, encoder.right -1)", "(encoder.left -1, encoder.right -1)"},
        {"(reader.columns, my.reader.column, reader.column.x)",
         "(reader.columns, my.reader.column, reader.column.x)"},
        {"reader.column is \"x\"; (it) is reader.column", "reader.column is \"x\"; (it) is reader.column"},
        {"a) (text) and task) reader.column", "a) (text) and task) reader.column"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(messages_with_flags(cases[i][0]), cases[i][1]);
}

static void test_phrases(void **state) {
    static const char *const cases[][2] = {
        {"a.gz: has more than 8 bytes (expanded_limit of the reader options)",
         "a.gz: has more than 8 bytes (--limit)"},
        {"set its largest size (expanded_limit and expanded_ratio 0 of the reader options)",
         "set its largest size (--limit)"},
        {"no room for 9 bytes of data beyond the bound of attn_context_set_memory (bytes)",
         "no room for 9 bytes of data beyond --memory (bytes)"},
        {"train with a window (encoder.left and encoder.right 15)", "train with a window (--window 15)"},
        {"other data: copy the files of rank 0 to all hosts",
         "other data: copy the files of rank 0 to all hosts, or use --scatter"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(messages_with_flags(cases[i][0]), cases[i][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_phrases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
