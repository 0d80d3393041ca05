/* pieces.c: files of text, read piece by piece and parsed on all threads.
 *
 *     file -> buffer -> pieces, cut where a line, a block of lines or a row ends -> datasets -> one dataset
 *
 * One round after another: while the pieces of a round are parsed, one task reads those of the next. What is
 * in memory beside the dataset are the pieces of two rounds. The first piece is parsed by itself: it says
 * what columns there are. Two files that belong together go in step, by lines.
 *
 * The result is that of parsing the whole, with the same errors. Rows whose quotes are wrong are the
 * exception to the rule that pieces can be parsed by themselves: where one is left out, all that follows is
 * parsed as one piece.
 */
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "inputs/text/cuts.h"
#include "inputs/text/reader.h"
#include "inputs/text/text.h"

enum { PIECE = 1 << 20, PIECES_A_THREAD = 4, LINES_THAT_TELL = 1001 };

static const double PAUSE = 0.2; /* seconds between two calls of progress */

/* A file, and what was read of it and is not yet in a piece. */
typedef struct side {
    const char *name;
    at_file *file;
    at_bytes buffer;
    int64_t begin;         /* of what is left in the buffer */
    int64_t line;          /* its number there */
    attn_context *context; /* of the one who reads */
    const attn_reader_options *options;
} side;

typedef struct piece {
    at_bytes text[2];
    int64_t line, lines;
    attn_dataset *made;
} piece;

typedef struct round {
    piece *pieces;
    int64_t count, done; /* done: bytes of the file that are read with it */
} round;

typedef struct reading {
    attn_context *context;
    int sides;
    side *side[2];
    attn_reader_options options; /* of all pieces but the first */
    at_cuts cuts;
    int needs_head; /* the first row of the file says what columns there are */
    at_bytes head;
    int64_t passed;      /* bytes before the piece that is looked at for it */
    int64_t head_line;   /* of the piece that has that row; 0: it is not known yet */
    int64_t piece, most; /* bytes of a piece; pieces of a round */
    round now, next;
    attn_dataset **made; /* [most] those of a round */
    attn_dataset *all;
    int uneven;         /* two files: one has more lines */
    attn_status failed; /* reading of the next round, and why */
    char failure[512];
    double told_at, pause; /* of progress, in seconds */
} reading;

/* ---- bytes ---- */

static size_t left(const side *from) { return (size_t)(from->buffer.count - from->begin); }
static const char *bytes_of(const side *from) {
    return from->buffer.data ? from->buffer.data + from->begin : "";
}

/* What a compressed file expands to is looked at as it comes. */
static attn_status judge(void *user, const char *bytes, size_t count, size_t judged) {
    const side *from = user;
    at_content text = {from->name, bytes, count};
    return at_reader_judge(from->context, text, from->line, judged, from->options);
}

/* Reads so many bytes more. */
static attn_status more(attn_context *context, side *from, int64_t wanted) {
    at_bytes *buffer = &from->buffer;
    if (from->begin > 0) {
        memmove(buffer->data, buffer->data + from->begin, left(from));
        buffer->count -= from->begin;
        from->begin = 0;
    }
    from->context = context;
    return at_file_more(context, from->file, wanted, buffer);
}

/* The next piece of a file; it is empty at the end. lines: 0, or how many it has to have. */
static attn_status cut_piece(reading *work, attn_context *context, side *from, int64_t lines,
                             at_bytes *into) {
    size_t end = 0, wanted = (size_t)work->piece;
    for (;;) {
        int ended = at_file_ended(from->file), whole = 0;
        if (lines > 0)
            end = at_lines_end(bytes_of(from), left(from), lines);
        else if (left(from) >= wanted || ended)
            end = at_cut(&work->cuts, bytes_of(from), left(from), wanted, from->line == 1);
        whole = ended && (end == 0 || (lines == 0 && left(from) <= wanted));
        if (whole) end = left(from);
        if (end > 0 || ended) break;
        size_t short_of = left(from) < wanted ? wanted - left(from) : left(from);
        attn_status status = more(context, from, (int64_t)short_of);
        if (status != ATTN_OK) return status;
    }
    into->count = 0;
    attn_status status = at_bytes_append(context, into, bytes_of(from), end);
    from->begin += (int64_t)end;
    return status;
}

/* The same of both files, in step. */
static attn_status cut_pieces(reading *work, attn_context *context, piece *into) {
    side *sources = work->side[0], *targets = work->side[1];
    into->line = sources->line;
    attn_status status = cut_piece(work, context, sources, 0, &into->text[0]);
    into->lines = status == ATTN_OK ? at_lines_in(into->text[0].data, (size_t)into->text[0].count) : 0;
    sources->line += into->lines;
    if (status != ATTN_OK || work->sides == 1) return status;
    status = cut_piece(work, context, targets, into->lines ? into->lines : 1, &into->text[1]);
    if (status != ATTN_OK) return status;
    int64_t lines = at_lines_in(into->text[1].data, (size_t)into->text[1].count);
    targets->line += lines;
    if (lines != into->lines) work->uneven = 1;
    return ATTN_OK;
}

static attn_status fill_round(reading *work, attn_context *context, int64_t most) {
    attn_status status = ATTN_OK;
    round *into = &work->next;
    into->count = 0;
    while (status == ATTN_OK && into->count < most && !work->uneven) {
        piece *now = &into->pieces[into->count];
        status = cut_pieces(work, context, now);
        if (status != ATTN_OK || now->text[0].count == 0) break;
        into->count++;
    }
    into->done = at_file_done(work->side[0]->file);
    return status;
}

/* ---- two files in step ---- */

static attn_status count_rest(reading *work, side *from) {
    attn_status status = ATTN_OK;
    at_bytes *buffer = &from->buffer;
    int open = 0; /* the line that was counted last continues */
    for (;;) {
        const char *bytes = bytes_of(from);
        if (left(from) > 0) {
            from->line += at_lines_in(bytes, left(from)) - open;
            open = bytes[left(from) - 1] != '\n';
        }
        from->begin = buffer->count;
        if (at_file_ended(from->file)) return ATTN_OK;
        buffer->count = from->begin = 0;
        status = more(work->context, from, work->piece);
        if (status != ATTN_OK) return status;
    }
}

/* Files of different lengths do not belong together, whatever else is wrong with them. */
static attn_status check_even(reading *work, attn_status status) {
    char text[512];
    if (work->sides == 1 || (status != ATTN_OK && status != ATTN_INVALID_ARGUMENT)) return status;
    if (status == ATTN_OK && !work->uneven) return ATTN_OK;
    memcpy(text, work->context->error, sizeof text);
    for (int i = 0; i < 2; i++) {
        attn_status counted = count_rest(work, work->side[i]);
        if (counted != ATTN_OK) return counted;
    }
    int64_t sources = work->side[0]->line - 1, targets = work->side[1]->line - 1;
    if (sources != targets)
        return at_fail_uneven(work->context, work->side[0]->name, sources, work->side[1]->name, targets);
    return at_fail(work->context, status, "%s", text);
}

/* ---- parsing ---- */

static attn_status parse_piece(const reading *work, attn_context *context, const piece *from,
                               attn_dataset **made) {
    at_reader readers[2];
    attn_reader_options options = work->options;
    if (work->head_line && from->line > work->head_line) {
        options.head = work->head.data;
        options.head_length = (size_t)work->head.count;
    }
    for (int i = 0; i < work->sides; i++) {
        at_content text = {work->side[i]->name, from->text[i].data, (size_t)from->text[i].count};
        readers[i] = at_reader_of(context, text, from->line, &options);
    }
    return at_reader_parse(&readers[0], work->sides == 2 ? &readers[1] : NULL, made);
}

/* Task 0 reads the next round; what it fails with is told after what is wrong with this one. */
static attn_status run_task(void *user, attn_context *part, int worker, int64_t first, int64_t end) {
    reading *work = user;
    (void)worker;
    (void)end;
    if (first > 0)
        return parse_piece(work, part, &work->now.pieces[first - 1], &work->now.pieces[first - 1].made);
    work->failed = fill_round(work, part, work->needs_head && !work->head_line ? 1 : work->most);
    if (work->failed != ATTN_OK) strncpy(work->failure, attn_context_error(part), sizeof work->failure - 1);
    return ATTN_OK;
}

/* What the first row of the file has said, for the pieces that follow. Before that there are no examples. */
static attn_status take_columns(reading *work, const piece *from) {
    attn_dataset *all = work->all, *made = from->made;
    size_t head = made->placement.head;
    if (all->columns.count == 0) {
        at_strings none = all->columns;
        all->columns = made->columns;
        made->columns = none;
    }
    all->per_row = made->per_row;
    all->pairs = made->pairs;
    at_texts_of(all)->tokenized = at_texts_of(made)->tokenized;
    all->placement.delimiter = made->placement.delimiter;
    all->placement.head = head ? (size_t)work->passed + head : 0;
    all->placement.header = made->placement.header ? (size_t)work->passed + made->placement.header : 0;
    work->passed += from->text[0].count;
    if (!head) return ATTN_OK;
    work->head_line = from->line;
    return at_bytes_append(work->context, &work->head, from->text[0].data, head);
}

/* All that is left of the file, from piece `first` of this round on, as one piece. */
static attn_status join_rest(reading *work, int64_t first, at_bytes *rest) {
    attn_status status = ATTN_OK;
    for (int r = 0; r < 2; r++) {
        const round *from = r == 0 ? &work->now : &work->next;
        for (int64_t i = r == 0 ? first : 0; i < from->count && status == ATTN_OK; i++)
            status = at_bytes_append(work->context, rest, from->pieces[i].text[0].data,
                                     (size_t)from->pieces[i].text[0].count);
    }
    side *left_over = work->side[0];
    left_over->line = work->now.pieces[first].line;
    left_over->context = work->context;
    if (status == ATTN_OK)
        status = at_bytes_append(work->context, rest, bytes_of(left_over), left(left_over));
    while (status == ATTN_OK && !at_file_ended(left_over->file))
        status = at_file_more(work->context, left_over->file, work->piece, rest);
    return status;
}

static attn_status parse_rest(reading *work, int64_t first) {
    piece rest = {.line = work->now.pieces[first].line};
    attn_dataset *made = NULL;
    attn_status status = join_rest(work, first, &rest.text[0]);
    if (status == ATTN_OK) status = parse_piece(work, work->context, &rest, &made);
    if (status == ATTN_OK) status = at_texts_join(work->all, &made, 1, 0);
    attn_dataset_destroy(made);
    at_bytes_free(work->context, &rest.text[0]);
    work->next.count = 0;
    return status;
}

static double part_read(const reading *work) {
    int64_t size = at_file_size(work->side[0]->file);
    return size > 0 ? (double)work->now.done / (double)size : 0;
}

/* Takes the datasets of a round into the one of all. */
static attn_status take_round(reading *work) {
    int64_t count = 0, broken = -1;
    for (int64_t i = 0; i < work->now.count; i++) {
        attn_dataset *made = work->now.pieces[i].made;
        if (work->cuts.quotes && made->skipped > 0 && broken < 0) broken = i;
        if (broken < 0) work->made[count++] = made;
    }
    attn_status status = ATTN_OK;
    if (work->now.pieces[0].line == 1 || (work->needs_head && !work->head_line))
        status = take_columns(work, &work->now.pieces[0]);
    if (status == ATTN_OK) status = at_texts_join(work->all, work->made, count, part_read(work));
    if (status == ATTN_OK && broken >= 0) status = parse_rest(work, broken);
    return status;
}

static void free_made(reading *work) {
    for (int64_t i = 0; i < work->now.count; i++) {
        attn_dataset_destroy(work->now.pieces[i].made);
        work->now.pieces[i].made = NULL;
    }
}

/* Parses this round and reads the next. */
static attn_status run_round(reading *work) {
    attn_status status = at_for_ranges(work->context, work->now.count + 1, 1, run_task, work);
    for (int64_t i = 0; i < work->now.count; i++) /* what parts have made is the whole's */
        if (work->now.pieces[i].made) work->now.pieces[i].made->context = work->context;
    if (status == ATTN_OK) status = take_round(work);
    if (status == ATTN_OK && work->failed != ATTN_OK)
        status = at_fail(work->context, work->failed, "%s", work->failure);
    free_made(work);
    round now = work->now;
    work->now = work->next;
    work->next = now;
    return status;
}

static void tell(reading *work) {
    const attn_reader_options *options = &work->options;
    double now = at_seconds();
    if (!options->progress || now - work->told_at < work->pause) return;
    work->told_at = now;
    options->progress(options->progress_user, work->side[0]->name, work->now.done,
                      at_file_size(work->side[0]->file));
}

/* ---- the beginning ---- */

/* Whether so much of a file tells its format: at_detect_format looks at no more lines. */
static int tells(const side *from) {
    at_content text = {from->name, bytes_of(from), left(from)};
    attn_reader_options none = {0};
    at_reader reader = at_reader_of(NULL, text, 1, &none);
    at_line line;
    int64_t lines = 0;
    int row = 0;
    while (lines < LINES_THAT_TELL && at_reader_line(&reader, &line) && reader.next < reader.end) {
        int blank = at_line_is_blank(&line);
        row |= !blank && line.text[0] != '#';
        lines += lines > 0 || !blank;
    }
    return row && lines >= LINES_THAT_TELL;
}

static attn_status begin_side(reading *work, side *from) {
    attn_status status = more(work->context, from, AT_JUDGED_FROM);
    while (status == ATTN_OK && !at_file_ended(from->file) && !tells(from))
        status = more(work->context, from, from->buffer.count);
    return status;
}

/* The format, and with it where the file can be cut. */
static attn_status begin_format(reading *work, int two) {
    side *from = work->side[0];
    at_reader readers[2];
    attn_status status = ATTN_OK;
    for (int i = 0; i < work->sides && status == ATTN_OK; i++) {
        at_content text = {work->side[i]->name, bytes_of(work->side[i]), left(work->side[i])};
        readers[i] = at_reader_of(work->context, text, 1, &work->options);
        status = at_reader_open(&readers[i]);
    }
    if (status != ATTN_OK) return status;
    if (two) readers[0].options.format = ATTN_FORMAT_PAIRS;
    status = at_reader_format(&readers[0]);
    if (status != ATTN_OK) return status;
    attn_format format = work->options.format = readers[0].options.format;
    int kind = at_text_pieces(format);
    work->cuts.blocks = kind == 1;
    work->cuts.quotes = two ? 0 : at_text_quotes(from->name, bytes_of(from), left(from), &work->options);
    work->needs_head =
        !two && (format == ATTN_FORMAT_TABLE || format == ATTN_FORMAT_COLUMNS || format == ATTN_FORMAT_JSONL);
    return ATTN_OK;
}

/* A file of one piece is parsed as it is. */
static int is_single(const reading *work) {
    for (int i = 0; i < work->sides; i++)
        if (!at_file_ended(work->side[i]->file) || left(work->side[i]) > 0) return 0;
    return !work->uneven;
}

static attn_status read_rounds(reading *work) {
    int tokens = work->options.format == ATTN_FORMAT_CONLLU || work->options.format == ATTN_FORMAT_COLUMNS;
    attn_status status =
        at_texts_dataset(work->context, work->side[0]->name, work->options.format, tokens, &work->all);
    work->options.piece = 1;
    while (status == ATTN_OK && work->now.count > 0) {
        status = run_round(work);
        if (status == ATTN_OK) tell(work);
    }
    status = check_even(work, status);
    if (status != ATTN_OK) return status;
    at_content none = {work->side[0]->name, "", 0};
    at_reader reader = at_reader_of(work->context, none, 1, &work->options);
    reader.dataset = work->all;
    return at_reader_found(&reader);
}

static attn_status begin_rounds(reading *work) {
    attn_context *context = work->context;
    work->most = (int64_t)context->threads * PIECES_A_THREAD;
    work->now.pieces = at_allocate(context, work->most, sizeof(piece), "the pieces of a file");
    work->next.pieces = at_allocate(context, work->most, sizeof(piece), "the pieces of a file");
    work->made = at_allocate(context, work->most, sizeof(attn_dataset *), "the pieces of a file");
    if (!work->now.pieces || !work->next.pieces || !work->made) return ATTN_OUT_OF_MEMORY;
    attn_status status = fill_round(work, context, 1); /* it says what columns there are */
    round first = work->next;
    work->next = work->now;
    work->now = first;
    return status;
}

/* One file, or two in step. What the sides hold is gone after. */
static attn_status read_sides(reading *work, int two, attn_dataset **dataset) {
    attn_context *context = work->context;
    attn_status status = begin_format(work, two);
    if (status == ATTN_OK) status = begin_rounds(work);
    if (status == ATTN_OK)
        status = is_single(work) ? parse_piece(work, context, &work->now.pieces[0], &work->all)
                                 : read_rounds(work);
    for (int r = 0; r < 2; r++) {
        round *from = r == 0 ? &work->now : &work->next;
        for (int64_t i = 0; from->pieces && i < work->most; i++)
            for (int k = 0; k < 2; k++) at_bytes_free(context, &from->pieces[i].text[k]);
        at_release(context, from->pieces);
    }
    at_release(context, work->made);
    at_bytes_free(context, &work->head);
    for (int i = 0; i < work->sides; i++) {
        at_file_close(context, work->side[i]->file);
        at_bytes_free(context, &work->side[i]->buffer);
    }
    work->sides = 0;
    if (status == ATTN_OK)
        *dataset = work->all;
    else
        attn_dataset_destroy(work->all);
    return status;
}

/* Two files that have pairs each, one after the other. */
static attn_status read_apart(reading *first, attn_dataset **dataset) {
    reading second = *first;
    attn_dataset *made = NULL, *more_of_it = NULL;
    second.side[0] = first->side[1];
    first->sides = second.sides = 1;
    attn_status status = read_sides(first, 0, &made);
    if (status == ATTN_OK) {
        status = read_sides(&second, 0, &more_of_it);
    } else {
        at_file_close(first->context, second.side[0]->file);
        at_bytes_free(first->context, &second.side[0]->buffer);
    }
    if (status == ATTN_OK) status = attn_dataset_append(made, more_of_it);
    attn_dataset_destroy(more_of_it);
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}

attn_status at_read_files(attn_context *context, const at_source *source, attn_dataset **dataset) {
    reading work = {.context = context,
                    .options = *source->options,
                    .piece = source->piece > 0 ? source->piece : PIECE,
                    .told_at = at_seconds(),
                    .pause = source->pause > 0 ? source->pause : PAUSE};
    side sides[2];
    attn_status status = ATTN_OK;
    for (int i = 0; i < 2 && source->names[i] && status == ATTN_OK; i++) {
        side *from = work.side[i] = &sides[i];
        *from = (side){.name = source->names[i], .line = 1, .context = context, .options = source->options};
        const at_expansion allowed = {source->options->expanded_limit, source->options->expanded_ratio, judge,
                                      from};
        status = at_file_open(context, from->name, &allowed, &from->file);
        if (status != ATTN_OK) break;
        work.sides++;
        status = begin_side(&work, from);
    }
    if (status != ATTN_OK) {
        for (int i = 0; i < work.sides; i++) {
            at_file_close(context, work.side[i]->file);
            at_bytes_free(context, &work.side[i]->buffer);
        }
        return status;
    }
    int two = work.sides == 2, apart = two && source->apart;
    for (int i = 0; i < 2 && apart; i++) {
        at_content text = {work.side[i]->name, bytes_of(work.side[i]), left(work.side[i])};
        apart = at_holds_pairs(text);
    }
    return apart ? read_apart(&work, dataset) : read_sides(&work, two, dataset);
}
