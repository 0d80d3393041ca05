/* test_readers.c: every format, what it may look like, and every error with its file and line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/dataset.h>

#include "inputs/text/texts.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/readers.h"

static attn_context *context(void) { return test_best_context(1); }

static void reads(const char *name, const char *text, const char *expected) {
    check_read(context(), name, text, NULL, expected);
}

static void fails(const char *name, const char *text, const char *error) {
    check_read_fails(context(), name, text, NULL, error);
}

/* With a column, or several, to be learned. */
static void reads_column(const char *name, const char *column, const char *text, const char *expected) {
    attn_reader_options options = reader_options();
    options.column = column;
    check_read(context(), name, text, &options, expected);
}

static void fails_column(const char *name, const char *column, const char *text, const char *error) {
    attn_reader_options options = reader_options();
    options.column = column;
    check_read_fails(context(), name, text, &options, error);
}

static void reads_unlabelled(const char *name, const char *text, const char *expected) {
    attn_reader_options options = reader_options_unlabelled();
    check_read(context(), name, text, &options, expected);
}

/* ---- CoNLL-U ---- */

#define WORD(id, form, upos, feats, misc)                                                                    \
    id "\t" form "\tlemma\t" upos "\txpos-" form "\t" feats "\t0\tdep\t_\t" misc "\n"

static const char conllu[] = "# sent_id = 1\n"                                 /* 1 */
    WORD("1", "We", "PRON", "Case=Nom|Number=Plur", "_")                       /* 2 */
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"                         /* 3 */
    WORD("2", "do", "AUX", "_", "_")                                           /* 4 */
    WORD("3", "n't", "PART", "Number=Sing", "_")                               /* 5 */
    "3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t3:conj\t_\n"                               /* 6 */
    WORD("4", ".", "PUNCT", "_", "SpaceAfter=No|Key=Value")                    /* 7 */
    "\n\n"                                                                     /* 8 */
    "# only a comment\n\n"                                                     /* 10 */
    WORD("1-2", "xy", "_", "_", "_") WORD("1", "x", "X", "_", "SpaceAfter=No") /* 12 */
    WORD("2", "y", "X", "_", "SpaceAfter=No") WORD("3", "z", "X", "_", "_");   /* 14 */

static void test_conllu(void **state) {
    (void)state;
    attn_dataset *dataset = read_text(context(), "a.conllu", conllu, NULL);
    check_dataset(dataset, "We/PRON do/AUX n't/PART ./PUNCT;x/X y/X z/X;");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_CONLLU);
    assert_int_equal(attn_dataset_tokenized(dataset), 1);
    assert_int_equal(attn_dataset_columns(dataset), 1);
    assert_string_equal(attn_dataset_column(dataset, 0), "UPOS");
    const int64_t lines[] = {2, 4, 5, 7};
    for (int t = 0; t < 4; t++) assert_int_equal(attn_dataset_line(dataset, 0, t), lines[t]);
    assert_int_equal(attn_dataset_line(dataset, 1, 2), 15);
    const unsigned char glued[] = {0, 1, 1, 1, 1, 0, 0}; /* do n't . by the range, x by the range, y not */
    assert_memory_equal(at_texts_of(dataset)->glued, glued, sizeof glued);
    assert_int_equal(at_texts_of(dataset)->any_glued, 1);
    attn_dataset_destroy(dataset);
}

static void test_conllu_source(void **state) {
    (void)state;
    char crlf[sizeof conllu * 2], *out = crlf;
    memcpy(out, "\xef\xbb\xbf", 3);
    out += 3;
    for (const char *in = conllu; *in; in++) {
        if (*in == '\n') *out++ = '\r';
        *out++ = *in;
    }
    out[-2] = 0; /* and no end of the last line */
    attn_dataset *dataset = read_text(context(), "a", crlf, NULL);
    check_dataset(dataset, "We/PRON do/AUX n't/PART ./PUNCT;x/X y/X z/X;");
    const char *end = strstr(conllu, "\n\n") + 1;
    assert_int_equal(strlen(attn_dataset_source(dataset, 0)), end - conllu);
    assert_memory_equal(attn_dataset_source(dataset, 0), conllu, (size_t)(end - conllu));
    assert_string_equal(attn_dataset_source(dataset, 1), strstr(conllu, "1-2\t"));
    attn_dataset_destroy(dataset);
}

static void test_conllu_columns(void **state) {
    (void)state;
    reads_column("a.conllu", "xpos", WORD("1", "a", "X", "_", "_"), "a/xpos-a;");
    reads_column("a.conllu", "FEATS", WORD("1", "a", "X", "_", "_") WORD("2", "b", "X", "A=B|C=D", "_"),
                 "a/_ b/A=B|C=D;");
    reads_column("a.conllu", "feats:Number, MISC:Key , upos", conllu,
                 "We/Plur/_/PRON do/_/_/AUX n't/Sing/_/PART ./_/Value/PUNCT;x/_/_/X y/_/_/X z/_/_/X;");
    reads_column("a.conllu", "FEATS:um", WORD("1", "a", "X", "Num=A|um2=B|um=C", "_"), "a/C;");
    reads_column("a.conllu", "FEATS:Number", WORD("1", "a", "X", "Number|Number2=x", "_"), "a/_;");
    fails_column("a.conllu", "FEATS:Number", WORD("1", "a", "X", "Number=", "_"),
                 "a.conllu:1: word 1 has no FEATS:Number");
    reads_column("a.conllu", "HEAD,DEPREL,LEMMA,DEPS,MISC", WORD("1", "a", "X", "_", "_"),
                 "a/0/dep/lemma//;");
    attn_reader_options options = reader_options();
    options.column = "feats:Number,MISC:Key";
    attn_dataset *dataset = read_text(context(), "a", conllu, &options);
    assert_string_equal(attn_dataset_column(dataset, 0), "FEATS:Number");
    assert_string_equal(attn_dataset_column(dataset, 1), "MISC:Key");
    attn_dataset_destroy(dataset);
    options.column = "FEATS";
    options.label_separator = '|';
    check_read(context(), "a.conllu", WORD("1", "a", "X", "A=B| C=D ||", "_"), &options, "a/A=B\nC=D;");
    const char *none =
        "a.conllu: there is no column %s in CoNLL-U: it has LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, "
        "DEPS, MISC, and keys as in FEATS:Number or MISC:SpaceAfter";
    const char *const wrong[] = {"POS", "FORM", "ID", "FEATS:", "UPOS:x", "UPOSX", NULL};
    for (int i = 0; wrong[i]; i++) {
        char error[300];
        snprintf(error, sizeof error, none, wrong[i]);
        fails_column("a.conllu", wrong[i], conllu, error);
    }
    fails_column("a.conllu", "UPOS,,XPOS", conllu,
                 "reader options: an empty name among the columns \"UPOS,,XPOS\"");
    fails_column("a.conllu", "UPOS,upos", conllu,
                 "reader options: a name occurs twice among the columns \"UPOS,upos\"");
    fails_column("a.conllu", "\xff", conllu, "reader options: a name among the columns is not UTF-8");
}

static void test_conllu_errors(void **state) {
    (void)state;
    fails("a.conllu", "# c\n1\ta\tb\n", "a.conllu:2: 3 columns, a token line has 10 (with TABs between)");
    fails("a.conllu", "word\n", "a.conllu:1: 1 column, a token line has 10 (with TABs between)");
    fails("a.conllu", "1\ta\t\t\t\t\t\t\t\t\t\n",
          "a.conllu:1: 11 columns, a token line has 10 (with TABs between)");
    fails("a.conllu", WORD("1", "", "X", "_", "_"), "a.conllu:1: word 1 has no FORM");
    fails("a.conllu", WORD("1", "a", "X", "_", "_") WORD("2", "b", "_", "_", "_"),
          "a.conllu:2: word 2 has no UPOS");
    fails("a.conllu", WORD("1", "a", "", "_", "_"), "a.conllu:1: word 1 has no UPOS");
    fails("a.conllu", WORD("2", "a", "X", "_", "_"),
          "a.conllu:1: ID 2 after word 0: IDs count up from 1 in each sentence");
    fails("a.conllu", WORD("1", "a", "X", "_", "_") WORD("1", "b", "X", "_", "_"),
          "a.conllu:2: ID 1 after word 1: IDs count up from 1 in each sentence");
    const char *const wrong[] = {"x",     "",      "1x",         "1-",    "1.", "-1",
                                 "1-2-3", "1-2.1", "1234567890", "1\x1b", NULL};
    for (int i = 0; wrong[i]; i++) {
        char line[200], error[200];
        snprintf(line, sizeof line, "%s\ta\t_\tX\t_\t_\t_\t_\t_\t_\n", wrong[i]);
        snprintf(error, sizeof error,
                 "a.conllu:1: the ID \"%s\" is invalid: it must be a number, a range 1-2 or 1.1",
                 i == 9 ? "1?" : wrong[i]);
        fails("a.conllu", line, error);
    }
    fails("a.conllu", WORD("2-3", "a", "X", "_", "_"), "a.conllu:1: range 2-3 after word 0");
    fails("a.conllu", WORD("1-0", "a", "X", "_", "_"), "a.conllu:1: range 1-0 after word 0");
    fails("a.conllu", WORD("1-2", "a", "_", "_", "_") WORD("1-2", "a", "_", "_", "_"),
          "a.conllu:2: range 1-2 after word 0");
    fails("a.conllu", "\n" WORD("1-3", "a", "X", "_", "_") WORD("1", "b", "X", "_", "_"),
          "a.conllu:2: the sentence has 1 words, and a range 1-3");
    fails("a.conllu", WORD("0.1", "a", "X", "_", "_"), "a.conllu:1: the sentence has no words");
    fails("a.conllu", "# nothing\n\n", "a.conllu: has no examples");
    fails("a.conllu", "# caf\xe9\n" WORD("1", "a", "X", "_", "_"),
          "a.conllu:1: byte 6 (0xe9) is not UTF-8: convert the file with iconv");
    /* What is missing may be missing where nothing is to be learned. */
    reads_unlabelled("a.conllu", WORD("1", "a", "_", "_", "_"), "a/;");
    reads_column("a.conllu", "UPOS,LEMMA", WORD("1", "a", "_", "_", "_"), "a//lemma;");
    fails_column("a.conllu", "UPOS,HEAD", "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "a.conllu:1: word 1 has no UPOS");
}

static void test_conllu_skip(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.skip_bad = 1;
    const char text[] =
        WORD("1", "a", "A", "_", "SpaceAfter=No") WORD("3", "b", "B", "_", "_") "# rubbish \xff\n\n" WORD(
            "1", "c", "C", "_", "_") "\n" WORD("1-2", "d", "D", "_", "_") WORD("1", "e", "E", "_", "_");
    attn_dataset *dataset = read_text(context(), "a.conllu", text, &options);
    check_dataset(dataset, "c/C;");
    assert_int_equal(at_texts_of(dataset)->any_glued, 0); /* of what is left */
    assert_int_equal(attn_dataset_skipped(dataset), 2);
    assert_string_equal(attn_dataset_problem(dataset, 0),
                        "a.conllu:2: ID 3 after word 1: IDs count up from 1 in each sentence");
    assert_string_equal(attn_dataset_problem(dataset, 1),
                        "a.conllu:7: the sentence has 1 words, and a range 1-2");
    assert_null(attn_dataset_problem(dataset, 2));
    assert_null(attn_dataset_problem(dataset, -1));
    attn_dataset_destroy(dataset);
    check_read_fails(context(), "a.conllu", "1\tx\n\n2\ty\n", &options,
                     "a.conllu: has no good examples: all 2 were left out, the first because of "
                     "a.conllu:1: 2 columns, a token line has 10 (with TABs between)");
}

/* ---- columns ---- */

static void test_columns(void **state) {
    (void)state;
    const char *text = "The\tDET\ncat\tNOUN\n\n  \nsat\tVERB\n";
    attn_dataset *dataset = read_text(context(), "a.tsv", text, NULL);
    check_dataset(dataset, "The/DET cat/NOUN;sat/VERB;");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_COLUMNS);
    assert_int_equal(attn_dataset_tokenized(dataset), 1);
    assert_string_equal(attn_dataset_column(dataset, 0), "tag");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 5);
    assert_string_equal(attn_dataset_source(dataset, 1), "");
    attn_dataset_destroy(dataset);
    reads_column("a.tsv", "tag", text, "The/DET cat/NOUN;sat/VERB;");
    reads_column("a.tsv", "2", text, "The/DET cat/NOUN;sat/VERB;");
    reads_column("a.conll", "4,2", "EU NNP  B-NP B-ORG \n rejects VBZ B-VP O\r\n\r\nx y z w", /* spaces */
                 "EU/B-ORG/NNP rejects/O/VBZ;x/w/y;");
    reads_column("a.conll", "2,3", "a\tA\t\nb\t\tB\n", "a/A/ b//B;"); /* one of several may be missing */
    reads_unlabelled("a.conll", "a\nb\n\nc\n", "a b;c;");
    reads_unlabelled("a.conll", "a\tA\nb\n\nc\tC\n", "a/A b/;c/C;");
    attn_reader_options options = reader_options_unlabelled();
    options.column = "3";
    check_read(context(), "a.conll", "a\tA\nb\tB\n", &options, "a b;");
    options = reader_options();
    options.format = ATTN_FORMAT_COLUMNS;
    check_read(context(), "any", "New York\tLOC X\n", &options, "New York/LOC X;");
}

static void test_columns_errors(void **state) {
    (void)state;
    fails("a.conll", "a\tA\nb\n", "a.conll:2: 1 column, the first line has 2");
    fails("a.conll", "a\tA\n\nb\tB\tC\n", "a.conll:3: 3 columns, the first line has 2");
    fails("a.conll", "a\tA\n\tB\n", "a.conll:2: no token before the first TAB");
    fails("a.conll", "a\tA\nb\t\n", "a.conll:2: the token has no tag");
    fails("a.conll", "a\tA\tB\n",
          "a.conll: has 3 columns: name the one to learn, 2 to 3 (several with commas between)");
    fails("a.conll", "a\tA\nb\xc3\tB\n",
          "a.conll:2: byte 2 (0xc3) is not UTF-8: convert the file with iconv");
    fails_column(
        "a.conll", "3", "a\tA\n",
        "a.conll: there is no column 3: a line is a token and 1 tag, which are named by their column: 2");
    fails_column(
        "a.conll", "pos", "a\tA\tB\n",
        "a.conll: there is no column pos: a line is a token and 2 tags, which are named by their column: 2, "
        "3, ...");
    fails_column(
        "a.conll", "1", "a\tA\n",
        "a.conll: there is no column 1: a line is a token and 1 tag, which are named by their column: 2");
    fails("a.conll", "\n \n", "a.conll: has no examples");
    attn_reader_options options = reader_options();
    options.skip_bad = 1;
    attn_dataset *dataset = read_text(context(), "a.conll", "a\tA\nb\nc\n\nd\tD\n\ne\n", &options);
    check_dataset(dataset, "d/D;");
    assert_int_equal(attn_dataset_skipped(dataset), 2);
    assert_string_equal(attn_dataset_problem(dataset, 1), "a.conll:7: 1 column, the first line has 2");
    attn_dataset_destroy(dataset);
}

/* ---- tables ---- */

static void test_tsv(void **state) {
    (void)state;
    attn_dataset *dataset =
        read_text(context(), "a.tsv", "sentence\tlabel\nit 's \"good\t1\n\n bad \t0\n", NULL);
    check_dataset(dataset, "it 's \"good/1; bad /0;");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_TABLE);
    assert_int_equal(attn_dataset_tokenized(dataset), 0);
    assert_string_equal(attn_dataset_column(dataset, 0), "label");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 4);
    attn_dataset_destroy(dataset);
    reads("a.tsv", "id\tText\tClass \n7\tx\t a \n", "x/a;");
    reads("a.tsv", "label\tanything\n1\tx\n", "x/1;");       /* the only other column is the text */
    reads("a.tsv", "review\tgrade\nx\t1\n", "x/1;");         /* or the label */
    reads("a.tsv", "title\ttext\tlabel\nt\tx\t1\n", "x/1;"); /* the more usual name */
    reads("a.tsv", "pos\tgood\tvery\nneg\tbad\n", "good\tvery/pos;bad/neg;"); /* no header: label TAB text */
    reads("a", "pos\tgood\nneg\tbad one\n\n", "good/pos;bad one/neg;");
    reads("a.tsv", "\n\nlabel\ttext\n1\t\n", "/1;");            /* an empty text */
    reads_column("a.tsv", "label", "pos\tgood\n", "good/pos;"); /* what it is called without a header */
    reads_column("a.tsv", "b,a", "a\tb\tsmiles\ttext\n1\t2\tx\ty\n\t\t\tz\n", "y/2/1;z//;");
    reads_column("a.tsv", "1", "1\tx y\n2\tz\n", "x y/1;z/2;");
    attn_reader_options options = reader_options();
    options.text_column = "2";
    check_read(context(), "a.tsv", "1\tx y\n2\tz\n", &options, "x y/1;z/2;");
    options.column = "3,1";
    check_read(context(), "a.tsv", "1\tx y\t3\n2\tz\t4\n", &options, "x y/3/1;z/4/2;");
    options.text_column = "label";
    options.column = "sentence";
    check_read(context(), "a.tsv", "sentence\tlabel\nx\t1\n", &options, "1/x;");
    options.text_column = "text";
    options.column = "label";
    check_read(context(), "a.tsv", "pos\tgood\n", &options, "good/pos;");
}

static void test_csv(void **state) {
    (void)state;
    reads("a.csv", "label,review\n1,\"a \"\"b\"\", c\"\n0,plain \"quote\"\n1,\n",
          "a \"b\", c/1;plain \"quote\"/0;/1;");
    reads("a.csv", "\"label\",\"text\"\r\n\"x\",\"one\r\ntwo\n\r three\"\r\n\"y\",\"\"\r\n",
          "one\ntwo\n\r three/x;/y;");
    attn_dataset *dataset =
        read_text(context(), "a.csv", "label,text\n1,\"x\n\ny\"\n2,\"z\"\"\n\"\"\"\n\n3,w", NULL);
    check_dataset(dataset, "x\n\ny/1;z\"\n\"/2;w/3;");
    const int64_t lines[] = {2, 5, 8};
    for (int e = 0; e < 3; e++) assert_int_equal(attn_dataset_line(dataset, e, 0), lines[e]);
    attn_dataset_destroy(dataset);
    reads("a.csv", "label;text\n1;x,y\n", "x,y/1;"); /* the header has no comma */
    reads("a.csv", "label\ttext\n1\t\"x\n", "\"x/1;");
    reads("a.txt", "label,text\n1,x\n", "x/1;");
    reads_column("a.csv", "p_np", "smiles,p_np\nCC,1\n", "CC/1;");
    reads_column("a.csv", "1", "1,x\n2,y\n", "x/1;y/2;");            /* by number: no header */
    reads_column("a.csv", "2019", "2019,text\n2,y\n", "y/2;");       /* a name that is a number */
    reads_column("a.csv", "B,a", "a,A,b,text\n1,2,3,x\n", "x/3/1;"); /* exact names first */
    reads("a.csv", "label,text\n1,\"x\"", "x/1;");
}

static void test_table_errors(void **state) {
    (void)state;
    fails("a.tsv", "sentence\tlabel\nx\n", "a.tsv:2: 1 column, the first row has 2");
    fails("a.tsv", "sentence\tlabel\nx\t1\t2\n", "a.tsv:2: 3 columns, the first row has 2");
    fails("a.tsv", "sentence\tlabel\nx\t \n", "a.tsv:2: no label in column label");
    fails("a.tsv", "pos\tx\nneg\n", "a.tsv:2: 1 column, the first row has 2");
    fails("a.tsv", "x\n",
          "a.tsv:1: one column: a row is label TAB text, or the first line names the columns");
    fails("a.tsv", "sentence\tlabel\n", "a.tsv: has no examples");
    fails("a.tsv", "\n\n", "a.tsv: has no examples");
    fails("a.csv", "label,text\n1,a,b\n", "a.csv:2: 3 columns, the first row has 2");
    fails("a.csv", "label,text\n1,\"a\",b\n", "a.csv:2: more than 2 columns, the header has 2");
    fails("a.csv", "label,text\n1,\"a\" b\n",
          "a.csv:2: text after the closing quote of a field (a quote inside a field must be doubled)");
    fails("a.csv", "label,text\n\n1,\"a\n\n", "a.csv:3: a quoted field that does not end");
    fails("a.csv", "label,text\n1,\"a\nb\xff\"\n",
          "a.csv:3: byte 2 (0xff) is not UTF-8: convert the file with iconv");
    fails("a.csv", "label,te\xfft\n1,a\n",
          "a.csv:1: byte 9 (0xff) is not UTF-8: convert the file with iconv");
    fails("a.csv", "smiles,p_np\nC,1\n",
          "a.csv: the column of the text is ambiguous: name it; its first line names the columns smiles, "
          "p_np");
    fails(
        "a.csv", "text,a,b\nx,1,2\n",
        "a.csv: the column of the label is ambiguous: name it; its first line names the columns text, a, b");
    fails("a.csv", "text\nx\n",
          "a.csv: the column of the label is ambiguous: name it; its first line names the columns text");
    fails_column("a.tsv", "lable", "text\tlabel\nx\t1\n",
                 "a.tsv: has no column lable; its first line names the columns text, label");
    fails_column("a.tsv", "3", "pos\tx\n", "a.tsv: has no column 3: its first row has 2");
    fails_column("a.tsv", "1", "1\tx\ty\n",
                 "a.tsv: has 3 columns in its first row: name the one with the text");
    attn_reader_options options = reader_options();
    options.text_column = "body";
    check_read_fails(context(), "a.csv", "label,text\n1,x\n", &options,
                     "a.csv: has no column body; its first line names the columns label, text");
    options.text_column = "label";
    options.column = "label";
    check_read_fails(context(), "a.csv", "label,text\n1,x\n", &options,
                     "a.csv: column 1 cannot be the text and a label at once");
    options.text_column = "2";
    options.column = NULL;
    check_read_fails(context(), "a.tsv", "1\tx\ty\n", &options,
                     "a.tsv: has 3 columns in its first row: name the one with the label");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conllu),
        cmocka_unit_test(test_conllu_source),
        cmocka_unit_test(test_conllu_columns),
        cmocka_unit_test(test_conllu_errors),
        cmocka_unit_test(test_conllu_skip),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_columns_errors),
        cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_table_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
