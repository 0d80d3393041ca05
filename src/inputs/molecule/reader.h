/* reader.h: what the files of this kind share: the reader's state, errors with their place, features.
 *
 * A molecule is a graph of the dataset (data/graphs.h): its nodes are the atoms, in the order of writing,
 * with sparse features (the table of features.c); its edges are the bonds, each in both directions, with
 * numbers.
 */
#ifndef AT_INPUTS_MOLECULE_READER_H
#define AT_INPUTS_MOLECULE_READER_H

#include "data/graphs.h"
#include "data/table.h"
#include "inputs/molecule/smiles.h"
#include "inputs/nodes.h"

/* Formats, by their numbers. */
enum { AT_MOLECULE_AUTO, AT_MOLECULE_TABLE, AT_MOLECULE_SMILES };
extern const char *const at_molecule_formats[];

/* Its part of a configuration (fields.c). */
typedef struct at_molecule_values {
    at_node_values nodes;
    int stereo;
} at_molecule_values;

enum {
    AT_MOLECULE_FIELDS = AT_NODE_FIELD_COUNT + 1,
    AT_MOLECULE_FLAGS = 1,
    AT_MOLECULE_DEFAULTS = 31
}; /* checked against the tables */
extern const at_field at_molecule_fields[AT_MOLECULE_FIELDS];
extern const at_flag at_molecule_flags[AT_MOLECULE_FLAGS];
extern const at_default at_molecule_defaults[AT_MOLECULE_DEFAULTS];
attn_status at_molecule_check(attn_context *context, const void *values, const at_input_use *use);

/* ---- reading ---- */

typedef struct at_molecule_reader {
    attn_context *context;
    const char *name; /* of the file, for errors */
    const attn_reader_options *options;
    int format;
    at_strings wanted; /* options.column, taken apart */
    attn_dataset *dataset;
    const char *begin, *good; /* all of it; up to `good` examples are good, or NULL */
    at_table rows;            /* lines or rows that are still to be read */
    int bad;                  /* the last failure was a bad line: skip_bad may continue */
    at_molecule molecule;     /* that which was read last */
    char *normal;             /* text in NFC */
    int64_t normal_room;
    at_bytes joined; /* several labels, one after another */
} at_molecule_reader;

/* Fails with "file:line: reason" for content that is wrong (line 0: "file: reason", about all of it, which is
 * never left out). Control characters, which content may bring in, become question marks. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
attn_status
at_molecule_fail(at_molecule_reader *reader, int64_t line, const char *format, ...);

/* Reads a SMILES into reader->molecule; on bad input fails with "file:line: position N: reason", and on two
 * lines after it the SMILES, or a part of it, and a caret below the place. */
attn_status at_molecule_parse(at_molecule_reader *reader, const char *text, size_t length, int64_t line);
/* Adds it to the dataset as a graph that is not ended yet. */
attn_status at_molecule_add(at_molecule_reader *reader, const char *text, size_t length, int64_t line);
/* What the status of one example means for the file: OK continues; a bad one is taken back, counted and noted
 * where skip_bad says so, which is OK too; other failures stay. */
attn_status at_molecule_settle(at_molecule_reader *reader, attn_status status);
/* Adds to a list, in NFC. */
attn_status at_molecule_text(at_molecule_reader *reader, at_strings *list, const char *text, size_t length);

/* scene.c */
attn_status at_molecule_scene(const at_input *input, const at_encoded *encoded, int64_t example,
                              int64_t first, int64_t count, at_scene *scene);

/* table.c: a table with a header. */
attn_status at_molecule_read_table(at_molecule_reader *reader);
/* What parts the columns of a table that begins with this line; 0: it is no header, as no column is called
 * smiles or asked for. */
char at_molecule_header(const char *line, size_t length, const attn_reader_options *options);
char at_molecule_delimiter(const char *name, const char *line, size_t length,
                           const attn_reader_options *options);

/* ---- features ---- */

enum { AT_ATOM_COLUMNS = 57, AT_ATOM_PLAIN = 53, AT_BOND_COLUMNS = 8, AT_BOND_PLAIN = 6 };

/* The features of an atom: numbers of columns into columns[]; how many. */
enum { AT_ATOM_MOST = 16 };
int at_atom_features(const at_atom *atom, int32_t *columns);
void at_bond_numbers(const at_bond *bond, float *numbers); /* [AT_BOND_COLUMNS] */
const char *at_element_name(int element);                  /* "C"; "*" */

/* The kind of content. */
extern const at_content_kind at_molecule_content;

/* ---- the kind's interface ---- */
extern const at_input_kind at_molecule_kind;
int at_molecule_knows(const char *path);
attn_status at_molecule_read(attn_context *context, const at_source *source, attn_dataset **dataset);
int at_molecule_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_molecule_pieces(int format);
char at_molecule_quotes(const char *name, const char *bytes, size_t count,
                        const attn_reader_options *options);
attn_status at_molecule_judge(attn_context *context, const char *name, const attn_reader_options *options,
                              const char *bytes, size_t count, size_t judged);
attn_status at_molecule_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                 at_writer *writer);
attn_status at_molecule_groups(const attn_dataset *dataset, at_strings *keys);

#endif
