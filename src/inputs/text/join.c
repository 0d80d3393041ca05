/* join.c: datasets of the pieces of a file as one dataset, on all threads.
 *
 * First room is made for all of them, then each is copied to its place.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "inputs/text/texts.h"

/* How much of everything precedes a piece. */
typedef struct place {
    int64_t examples, rows;
    int64_t token_bytes, target_count, target_bytes, id_bytes, source_bytes;
} place;

typedef struct joining {
    attn_dataset *all, *const *pieces;
    double part;   /* of the file that is read with these pieces */
    place *places; /* [pieces + 1] */
} joining;

static int64_t bytes_of(const at_strings *list) { return list->count ? list->offsets[list->count] : 0; }

static place after(const place *before, const attn_dataset *piece) {
    const at_texts *texts = at_texts_of(piece);
    return (place){before->examples + piece->examples,
                   before->rows + piece->rows,
                   before->token_bytes + bytes_of(&texts->tokens),
                   before->target_count + piece->targets.count,
                   before->target_bytes + bytes_of(&piece->targets),
                   before->id_bytes + bytes_of(&piece->ids),
                   before->source_bytes + bytes_of(&texts->sources)};
}

/* Room for `needed` things; where it has to grow, for as many as there will be if the rest of the file is
 * like this, so that large arrays are seldom copied. */
static attn_status reserve(const joining *work, void *memory, int64_t *room, int64_t needed, size_t bytes) {
    if (needed <= *room) return ATTN_OK;
    double expected = work->part > 0 && work->part < 1 ? 1.02 * (double)needed / work->part : 0;
    if (expected > (double)needed && expected < 1e15) needed = (int64_t)expected;
    return at_grow(work->all->context, memory, room, needed, bytes, "the examples of a file");
}

static attn_status reserve_strings(const joining *work, at_strings *list, int64_t count, int64_t bytes) {
    if (count == 0) return ATTN_OK;
    attn_status status = reserve(work, &list->offsets, &list->offset_room, count + 1, sizeof *list->offsets);
    return status == ATTN_OK ? reserve(work, &list->bytes, &list->byte_room, bytes, 1) : status;
}

static attn_status reserve_all(const joining *work, const place *end) {
    attn_dataset *all = work->all;
    at_texts *texts = at_texts_of(all);
    int64_t ids = end->id_bytes ? end->examples : 0, sources = end->source_bytes ? end->examples : 0;
    attn_status status = reserve_strings(work, &texts->tokens, end->rows, end->token_bytes);
    if (status == ATTN_OK) status = reserve(work, &texts->glued, &texts->glued_room, end->rows, 1);
    if (status == ATTN_OK) status = reserve_strings(work, &texts->sources, sources, end->source_bytes);
    if (status == ATTN_OK) status = reserve_strings(work, &all->ids, ids, end->id_bytes);
    if (status == ATTN_OK)
        status = reserve_strings(work, &all->targets, end->target_count, end->target_bytes);
    if (status == ATTN_OK)
        status = reserve(work, &all->lines, &all->line_room, end->rows, sizeof *all->lines);
    if (status != ATTN_OK) return status;
    return reserve(work, &all->offsets, &all->offset_room, end->examples + 1, sizeof *all->offsets);
}

static void put_strings(at_strings *to, int64_t first, int64_t at, const at_strings *from) {
    if (from->count == 0) return;
    memcpy(to->bytes + at, from->bytes, (size_t)bytes_of(from));
    for (int64_t i = 0; i < from->count; i++) to->offsets[first + i] = at + from->offsets[i];
}

static attn_status copy_piece(void *user, attn_context *part, int worker, int64_t first, int64_t end) {
    const joining *work = user;
    const attn_dataset *piece = work->pieces[first];
    const at_texts *from = at_texts_of(piece);
    const place *at = &work->places[first];
    attn_dataset *all = work->all;
    at_texts *texts = at_texts_of(all);
    (void)part;
    (void)worker;
    (void)end;
    put_strings(&texts->tokens, at->rows, at->token_bytes, &from->tokens);
    put_strings(&texts->sources, at->examples, at->source_bytes, &from->sources);
    put_strings(&all->ids, at->examples, at->id_bytes, &piece->ids);
    put_strings(&all->targets, at->target_count, at->target_bytes, &piece->targets);
    if (piece->rows > 0) {
        memcpy(texts->glued + at->rows, from->glued, (size_t)piece->rows);
        memcpy(all->lines + at->rows, piece->lines, (size_t)piece->rows * sizeof *all->lines);
    }
    for (int64_t e = 1; e <= piece->examples; e++)
        all->offsets[at->examples + e] = at->rows + piece->offsets[e];
    return ATTN_OK;
}

static void end_strings(at_strings *list, int64_t count, int64_t bytes) {
    list->count = count;
    if (count) list->offsets[count] = bytes;
}

/* What is left out, why, and what is for training: all small. */
static attn_status copy_rest(joining *work, int64_t number) {
    attn_dataset *all = work->all;
    const attn_dataset *piece = work->pieces[number];
    int64_t before = work->places[number].examples + all->left_out_count;
    attn_status status =
        at_grow(all->context, &all->left_out, &all->left_out_room,
                all->left_out_count + piece->left_out_count, sizeof *all->left_out, "the examples left out");
    for (int64_t i = 0; i < piece->left_out_count && status == ATTN_OK; i++)
        all->left_out[all->left_out_count++] = before + piece->left_out[i];
    for (int64_t i = 0; i < piece->problems.count && status == ATTN_OK; i++)
        if (all->problems.count < AT_PROBLEMS)
            status = at_strings_add(all->context, &all->problems, at_string(&piece->problems, i),
                                    at_string_length(&piece->problems, i));
    all->skipped += piece->skipped;
    at_texts_of(all)->any_glued |= at_texts_of(piece)->any_glued;
    if (status != ATTN_OK || piece->part_count == 0) return status;
    status = at_grow(all->context, &all->parts, &all->part_room, all->part_count + piece->part_count,
                     sizeof *all->parts, "the parts of a dataset");
    if (status != ATTN_OK) return status;
    memcpy(all->parts + all->part_count, piece->parts, (size_t)piece->part_count);
    all->part_count += piece->part_count;
    return ATTN_OK;
}

attn_status at_texts_join(attn_dataset *all, attn_dataset *const *pieces, int64_t count, double part) {
    attn_context *context = all->context;
    at_texts *texts = at_texts_of(all);
    joining work = {.all = all, .pieces = pieces, .part = part};
    const place none = {0};
    work.places = at_allocate(context, count + 1, sizeof *work.places, "the pieces of a file");
    if (!work.places) return ATTN_OUT_OF_MEMORY;
    work.places[0] = after(&none, all);
    for (int64_t i = 0; i < count; i++) work.places[i + 1] = after(&work.places[i], pieces[i]);
    const place *end = &work.places[count];
    attn_status status = reserve_all(&work, end);
    if (status == ATTN_OK) status = at_for_ranges(context, count, 1, copy_piece, &work);
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) status = copy_rest(&work, i);
    if (status == ATTN_OK) {
        all->examples = end->examples;
        all->rows = end->rows;
        end_strings(&texts->tokens, end->rows, end->token_bytes);
        end_strings(&texts->sources, end->source_bytes ? end->examples : 0, end->source_bytes);
        end_strings(&all->ids, end->id_bytes ? end->examples : 0, end->id_bytes);
        end_strings(&all->targets, end->target_count, end->target_bytes);
        all->placement.end_count = 0; /* the examples are no longer those of one text */
    }
    at_release(context, work.places);
    return status;
}
