/* dataset.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_DATASET_H
#define ATTN_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_dataset attn_dataset;

typedef enum attn_format {
    ATTN_FORMAT_AUTO = 0,
    ATTN_FORMAT_CONLLU = 1,
    ATTN_FORMAT_COLUMNS = 2,
    ATTN_FORMAT_TABLE = 3,
    ATTN_FORMAT_FASTTEXT = 4,
    ATTN_FORMAT_LINES = 5,
    ATTN_FORMAT_PAIRS = 6,
    ATTN_FORMAT_JSONL = 7,
    ATTN_FORMAT_PARAGRAPHS = 8
} attn_format;

ATTN_API int attn_input_count(void);
ATTN_API const char *attn_input_name(int index);
ATTN_API const char *attn_input_help(int index);
ATTN_API const char *attn_input_row(const char *input);
ATTN_API const char *attn_input_example(const char *input);

ATTN_API const char *attn_input_encoders(const char *input);
ATTN_API const char *attn_input_format(const char *input, int format);
ATTN_API int attn_input_find_format(const char *input, const char *format);
ATTN_API const char *attn_input_of_file(const char *path);

typedef struct attn_reader_options {
    size_t size;
    const char *input;
    attn_format format;
    const char *column;
    const char *text_column;
    char label_separator;
    int labelled;
    int per_token;
    int pairs;
    int skip_bad;
    int stop_at_bad;
    int64_t expanded_limit;
    int64_t expanded_ratio;

    attn_format usual;

    int piece;
    const char *head;
    size_t head_length;

    const char *split_column;
    const char *split;
    const char *split_file;

    void (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *progress_user;
} attn_reader_options;
ATTN_INIT(attn_reader_options)

ATTN_API attn_status attn_dataset_read(attn_context *context, const char *path,
                                       const attn_reader_options *options, attn_dataset **dataset);

ATTN_API attn_status attn_dataset_read_parallel(attn_context *context, const char *sources,
                                                const char *targets, const attn_reader_options *options,
                                                attn_dataset **dataset);

typedef struct attn_file {
    const char *name;
    const char *bytes;
    size_t count;
} attn_file;

ATTN_API attn_status attn_dataset_read_files(attn_context *context, const attn_file *files, int count,
                                             const attn_reader_options *options, attn_dataset **dataset);
ATTN_API attn_status attn_dataset_append(attn_dataset *dataset, const attn_dataset *more);

ATTN_API attn_status attn_dataset_parse(attn_context *context, const char *name, int64_t first_line,
                                        const char *bytes, size_t count, const attn_reader_options *options,
                                        attn_dataset **dataset);
ATTN_API void attn_dataset_destroy(attn_dataset *dataset);

ATTN_API attn_format attn_dataset_detect(const char *name, const char *bytes, size_t count,
                                         const attn_reader_options *options);

ATTN_API int attn_reader_pieces(const attn_reader_options *options);
ATTN_API char attn_reader_quotes(const char *name, const char *bytes, size_t count,
                                 const attn_reader_options *options);

ATTN_API size_t attn_dataset_head(const attn_dataset *dataset);

ATTN_API attn_status attn_gzip_expand(attn_context *context, const char *name, const char *bytes,
                                      size_t count, const attn_reader_options *options, char **text,
                                      size_t *length);

ATTN_API int attn_reader_files(const attn_reader_options *options);

ATTN_API const char *attn_dataset_name(const attn_dataset *dataset);
ATTN_API const char *attn_dataset_input(const attn_dataset *dataset);
ATTN_API attn_format attn_dataset_format(const attn_dataset *dataset);
ATTN_API int64_t attn_dataset_examples(const attn_dataset *dataset);
ATTN_API int64_t attn_dataset_skipped(const attn_dataset *dataset);

ATTN_API const char *attn_dataset_problem(const attn_dataset *dataset, int64_t index);

ATTN_API attn_status attn_dataset_stopped(const attn_dataset *dataset);

ATTN_API size_t attn_dataset_consumed(const attn_dataset *dataset);

ATTN_API int attn_dataset_tokenized(const attn_dataset *dataset);

ATTN_API int64_t attn_dataset_rows(const attn_dataset *dataset, int64_t example);

ATTN_API const char *attn_dataset_row_name(const attn_dataset *dataset, int64_t example, int64_t row);

ATTN_API int64_t attn_dataset_tokens(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_token(const attn_dataset *dataset, int64_t example, int64_t token);
ATTN_API int64_t attn_dataset_line(const attn_dataset *dataset, int64_t example, int64_t token);

ATTN_API const char *attn_dataset_file(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_id(const attn_dataset *dataset, int64_t example);

ATTN_API int attn_dataset_columns(const attn_dataset *dataset);
ATTN_API const char *attn_dataset_column(const attn_dataset *dataset, int column);
ATTN_API const char *attn_dataset_target(const attn_dataset *dataset, int column, int64_t example,
                                         int64_t token);

ATTN_API const char *attn_dataset_source(const attn_dataset *dataset, int64_t example);

ATTN_API attn_status attn_dataset_from_texts(attn_context *context, const char *const *texts,
                                             const int64_t *offsets, int64_t examples,
                                             attn_dataset **dataset);

ATTN_API attn_status attn_dataset_from_rows(attn_context *context, const float *rows, int64_t columns,
                                            const int64_t *offsets, int64_t examples, attn_dataset **dataset);

ATTN_API attn_status attn_dataset_from_samples(attn_context *context, const float *samples,
                                               const int64_t *offsets, int64_t examples, int64_t rate,
                                               attn_dataset **dataset);

ATTN_API attn_status attn_dataset_set_segments(attn_dataset *dataset, const int64_t *offsets,
                                               const int64_t *starts, const int64_t *ends);

ATTN_API attn_status attn_dataset_from_images(attn_context *context, const float *samples,
                                              const int64_t *heights, const int64_t *widths, int channels,
                                              int64_t examples, attn_dataset **dataset);

ATTN_API attn_status attn_dataset_set_targets(attn_dataset *dataset, int columns, const char *const *names,
                                              const char *const *values, int per_row);

ATTN_API attn_status attn_dataset_set_numbers(attn_dataset *dataset, int columns, const char *const *names,
                                              const double *values, int per_row);

typedef enum attn_part {
    ATTN_PART_NONE = 0,
    ATTN_PART_TRAIN = 1,
    ATTN_PART_VAL = 2,
    ATTN_PART_TEST = 3
} attn_part;

ATTN_API int attn_part_find(const char *name);
ATTN_API const char *attn_part_name(attn_part part);

ATTN_API int64_t attn_dataset_part_size(const attn_dataset *dataset, attn_part part);

ATTN_API attn_status attn_dataset_set_parts(attn_dataset *dataset, const int *parts);

ATTN_API attn_status attn_dataset_part(const attn_dataset *dataset, attn_part part, attn_dataset **selected);

typedef struct attn_examination attn_examination;

typedef struct attn_describe_options {
    size_t size;
    int json;
    int bold;
    const char *names[2];
    const char *unlabelled;
    const char *task;
    const attn_examination *examination;
} attn_describe_options;
ATTN_INIT(attn_describe_options)

ATTN_API attn_status attn_dataset_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                           char **text);
ATTN_API void attn_text_release(attn_context *context, char *text);

ATTN_API attn_status attn_dataset_note(const attn_dataset *dataset, char **text);

ATTN_API uint64_t attn_dataset_fingerprint(const attn_dataset *dataset);

ATTN_API attn_status attn_dataset_select(const attn_dataset *dataset, const int64_t *examples, int64_t count,
                                         attn_dataset **selected);

ATTN_END_DECLS

#endif
