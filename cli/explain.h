/* explain.h: what `attn explain` shows of an explanation, and how.
 *
 *     explain.c        flags, and what is done with them
 *     explain_run.c    a model's answers explained, one after another
 *     explain_input.c  what is explained: a text, a file, a row of it
 *     explain_files.c  drawings, tables and pages in files
 *     explain_view.c   the numbers of a view, row by row, and what they are called
 *     explain_show.c   the terminal: the prediction, and what suits the example
 *     explain_map.c    a heat map: rows look at columns
 *     explain_list.c   the highest weights of each row; contributions as bars
 *     explain_long.c   recordings and the like: segments over time, a map of means
 *     explain_grid.c   pictures: a map of their patches
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>
#include <attn/explain.h>

#include "opening.h"
#include "terminal.h"

enum {
    EXPLAIN_ROWS = 60,    /* of an example that a terminal shows whole */
    EXPLAIN_COLUMNS = 120 /* of a heat map */
};

/* ---- what is shown ---- */

typedef struct explain_choice {
    attn_view view;
    int part;            /* an attn_map_part; -1: what the library would draw */
    int64_t layer, head; /* -1: the last, the mean */
    int64_t row;         /* -1: all */
    int64_t top;         /* how much of what a row looked at is told; 0: a heat map where that suits */
    bool matrix;         /* the heat map, also where something else suits */
} explain_choice;

/* The numbers of a view of one map, row by row. */
typedef struct explain_view {
    const attn_explanation *explanation;
    const attn_map *map;   /* NULL: there is no attention */
    explain_choice choice; /* complete: nothing is -1 but head and row */
    int64_t queries, keys;
    bool sparse;     /* a number an entry of the map, else one a query and key */
    double *numbers; /* [queries * keys] or [entries] */
    double scale;    /* what the strongest colour stands for: at least the largest magnitude */
    bool is_signed;
} explain_view;

/* The map that a choice means; NULL, when it has said why there is none, or, *none, that the model has no
 * attention. */
const attn_map *explain_find(const attn_explanation *explanation, explain_choice *choice, bool *none);
/* Fills a view of it (map NULL: an empty one). False, when it has said why not. */
bool explain_view_make(attn_context *context, attn_explanation *explanation, const explain_choice *choice,
                       explain_view *view);
void explain_view_free(explain_view *view);

/* The entries of a query: key and number of entry e. */
int64_t explain_entries(const explain_view *view, int64_t query);
int64_t explain_entry_key(const explain_view *view, int64_t query, int64_t entry);
double explain_entry(const explain_view *view, int64_t query, int64_t entry);
/* The strongest entries of a query, the strongest first: `count` at most; how many. peaks: only those that no
 * neighbour exceeds. */
int explain_strongest(const explain_view *view, int64_t query, int count, bool peaks, int64_t *entries);

/* Names of queries and keys, and of any row; a space is shown as one that is seen. */
const char *explain_query_name(const explain_view *view, int64_t query);
const char *explain_key_name(const explain_view *view, int64_t key);
const char *explain_row_name(const attn_explanation *explanation, int64_t row);
const char *explain_seen(const char *name);
/* Whether the keys (queries) of a view are rows of the input. */
bool explain_keys_are_rows(const explain_view *view);
bool explain_queries_are_rows(const explain_view *view);
/* Whether all rows are called by numbers: their times, or their places. */
bool explain_rows_are_numbers(const attn_explanation *explanation);
/* The largest magnitude of the contributions; 0: there are none. */
double explain_contribution_scale(const attn_explanation *explanation);
/* The smallest of 1, 0.5, 0.2, 0.1, 0.05, ... that is not below a number. */
double explain_even(double largest);

/* ---- the terminal ---- */

typedef struct explain_screen {
    terminal_color color;
    int width;
} explain_screen;

/* "patch", "node": what rows and examples of the model are called; the title of an example. */
typedef struct explain_names {
    const char *row, *title;
    bool words;         /* rows are pieces of a text */
    const char *output; /* what is answered, of a model with several predictions; NULL: there is one */
    int output_number, outputs;
    int network, networks; /* one, counted from 1, of an ensemble; 0: their mean */
} explain_names;

/* The prediction, then the heat map, list, bars or picture that suit. */
void explain_show(const explain_view *view, const explain_names *names, const explain_screen *screen);
/* The prediction alone: a line, or a few. */
void explain_show_answer(const explain_view *view, const explain_names *names, const explain_screen *screen);

void explain_map_print(const explain_view *view, const explain_screen *screen);
void explain_list_print(const explain_view *view, const explain_names *names, const explain_screen *screen);
void explain_bars_print(const attn_explanation *explanation, const explain_names *names,
                        const explain_screen *screen);
void explain_segments_print(const explain_view *view, const explain_screen *screen);
void explain_means_print(const explain_view *view, const explain_screen *screen);
void explain_grid_print(const explain_view *view, int64_t height, int64_t width,
                        const explain_screen *screen);

/* The cell of a heat map, `cells` wide: colour, or shades. */
void explain_cell(const explain_screen *screen, double number, double scale, bool is_signed, int cells);
/* What the colours or shades of a view mean; what contributions are to, and how large they are. */
void explain_legend(const explain_view *view, const explain_screen *screen);
void explain_contribution_legend(const attn_explanation *explanation, const explain_screen *screen);
/* A number with its sign, in `width` cells. */
void explain_signed_number(double number, int width);
/* The same on the colour that it has beside `largest`. */
void explain_contribution(const explain_screen *screen, double number, double largest, int width);

/* ---- what was asked for ---- */

enum { EXPLAIN_FILES = 16, EXPLAIN_INPUTS = 256 };

typedef struct explain_request {
    const char *positional[EXPLAIN_INPUTS + 1]; /* the model, then inputs */
    size_t count;                               /* of them */
    const char *file, *format, *id, *row, *label, *output, *title;
    const char *files[EXPLAIN_FILES + 1];             /* -o; ends with NULL */
    int64_t layer, head, top, member, piece, example; /* from 1; 0: not given */
    int64_t seed, threads, columns, length;           /* -1: not given; 0 for the last three */
    int part;                                         /* 0: not given, else attn_map_part + 1 */
    int view, color;
    bool steps, positions, grid, matrix, dark, force, json;
    opening_settings settings;
} explain_request;

/* Explains what the request says with its model; what the command returns. */
int explain_run(const explain_request *request);

/* ---- input, rows, files ---- */

typedef struct explain_source {
    attn_context *context;
    const attn_model *model;
    attn_predictor *predictor;
    attn_reader_options reader;
} explain_source;

/* What an INPUT is: a text where the model reads texts; else the file of that name, or, where examples can be
 * written down, one. What raw text is split into are examples. */
attn_status explain_read_input(const explain_source *source, const char *input, attn_dataset **dataset);
/* The examples of a file. */
attn_status explain_read_file(const explain_source *source, const char *path, attn_dataset **dataset);
/* Whether the model reads texts. */
bool explain_reads_texts(const attn_model *model);
/* What an example is called above its prediction; given: by the user. */
const char *explain_title(const attn_dataset *dataset, int64_t example, const char *given);

/* The row of a name or number, counted from 1; where all rows are called by numbers a number is a name.
 * written: of what was written. -1, when it has said that there is none. */
int64_t explain_find_row(const attn_explanation *explanation, bool written, const char *given);

/* What a file's ending means; -1: nothing. */
int explain_format_of(const char *path);
/* Says what is wrong with the name of a file, if something is: EXIT_DONE, or what the command returns. */
int explain_check_file(const char *path, bool force);
int explain_write_file(const char *path, const char *bytes, size_t length);

#endif
