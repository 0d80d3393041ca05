/* describe.h: describing a dataset as text or JSON: the parts that all kinds of input share.
 *
 * attn_dataset_describe writes the beginning and the end, the kind of input what is between:
 *
 *     text    FILE: ... what a kind says of its examples, lengths, columns ... then the problems
 *     JSON    {"file":,"format":,"labelled":,"examples": ... members of the kind, each after a comma ...
 *              ,"wrong":,"problems":[]}
 *
 * The kind's own part begins right after "FILE: " and ends its last line. The writer escapes control
 * characters for a terminal.
 */
#ifndef AT_DATA_DESCRIBE_H
#define AT_DATA_DESCRIBE_H

#include "data/summary.h"
#include "data/writer.h"

/* format: its name. */
void at_describe_begin(const attn_dataset *dataset, const char *format, const attn_describe_options *options,
                       at_writer *writer);
/* conflicts: 1: the kind's part has said which inputs occur with different targets. */
void at_describe_end(const attn_dataset *dataset, const attn_describe_options *options, int conflicts,
                     at_writer *writer);

/* A number with commas between thousands: at_grouped(1234).text is "1,234". */
typedef struct at_grouped_number {
    char text[32];
} at_grouped_number;
at_grouped_number at_grouped(int64_t number);
/* "1 text", "1,234 texts". */
void at_put_count(at_writer *writer, int64_t count, const char *thing);

/* A paragraph, indented, with line breaks between words. */
void at_put_wrapped(at_writer *writer, const char *text);
/* options->unlabelled as such a paragraph, without the name of the file before it. */
void at_put_reason(at_writer *writer, const attn_describe_options *options);

/* A table of lengths: its heading, then a line for each; in JSON an object: "NAME":{"least":, ...}. */
void at_put_lengths_heading(at_writer *writer);
void at_put_lengths(at_writer *writer, const char *what, const at_lengths *lengths);
void at_put_lengths_json(at_writer *writer, const char *name, const at_lengths *lengths);

/* The values of all target columns: classes with their counts, the range of numbers, what is missing. `place`
 * names what has a value: "token", "text". JSON: [{"name":, ...}, ...]. */
attn_status at_put_columns(at_writer *writer, const attn_dataset *dataset,
                           const attn_describe_options *options, const char *place);

/* "N THINGs repeat earlier ones". */
void at_put_duplicates(at_writer *writer, const at_repeats *repeats, const char *thing);
/* "N THINGs with different targets in different places:" and where. */
void at_put_contradictions(at_writer *writer, const at_repeats *repeats, const char *thing);
/* "  lines 1 and 2, 3 and 4, ..." */
void at_put_contradicting_lines(at_writer *writer, const at_repeats *repeats);

#endif
