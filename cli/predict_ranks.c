/* predict_ranks.c: `attn predict` by several ranks, in rounds: rank 0 reads as many pieces of the input as
 * there are ranks and gives all of them to all ranks; each computes one; rank 0 writes the predictions in
 * the order of the pieces. So the input has to be there for rank 0 alone, may be standard input, and no rank
 * holds more than a round. What cannot be cut is read by every rank, which answers its part of the examples.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "opening.h"
#include "predict.h"
#include "ranks.h"

enum {
    LEAST_PIECE = 1 << 12, /* bytes of a piece, where the input is small */
    MOST_PIECE = 1 << 19,
    MOST_ROUND = 1 << 26, /* of all pieces of a round */
    TURNS = 4             /* pieces of each rank, for an even share of a small input */
};

/* ---- what all ranks know ---- */

typedef struct start {
    int32_t code; /* EXIT_DONE, or how rank 0 has failed */
    int32_t whole, format;
    int64_t head; /* bytes that follow */
} start;

/* A round: how many pieces, and where each is. */
typedef struct piece {
    int64_t begin, length, line;
} piece;

typedef struct round_state {
    int32_t code, count;
    int64_t bytes;
    piece *pieces; /* [ranks] */
    char *text;
    size_t room;
} round_state;

static void complain_of_memory(void) { fputs("attn predict: out of memory\n", stderr); }

static bool grow(round_state *now, int64_t bytes) {
    if ((size_t)bytes <= now->room && now->text != NULL) return true;
    char *grown = realloc(now->text, (size_t)bytes + 1);
    if (grown == NULL) {
        complain_of_memory();
        return false;
    }
    now->text = grown;
    now->room = (size_t)bytes;
    return true;
}

/* Rank 0 has found out what the input is; then the others know it, too. */
static int share_start(prediction *with, start *of) {
    int code = ranks_broadcast(of, sizeof *of);
    if (code != EXIT_DONE) return code;
    code = ranks_settle(of->code, NULL);
    if (code != EXIT_DONE || ranks_rank() == 0)
        return code == EXIT_DONE && of->head > 0 ? ranks_broadcast(with->head, (size_t)of->head) : code;
    with->name = with->name != NULL ? with->name : "standard input";
    with->options.format = (attn_format)of->format;
    with->options.piece = !of->whole;
    with->told = true;
    if (of->head == 0) return EXIT_DONE;
    with->head = malloc((size_t)of->head);
    if (with->head == NULL) {
        complain_of_memory();
        return EXIT_FAILED;
    }
    with->options.head = with->head;
    with->options.head_length = (size_t)of->head;
    return ranks_broadcast(with->head, (size_t)of->head);
}

/* ---- answers in their order ---- */

/* What rank 0 writes of each rank: all up to the first that met a bad line. */
typedef struct writing {
    FILE *to;
    int last;
    int error; /* errno of the first write that failed; 0: none has */
} writing;

static attn_status write_answers(void *user, int rank, const void *bytes, size_t count) {
    writing *into = user;
    if (rank > into->last || into->error != 0) return ATTN_OK;
    if (fwrite(bytes, 1, count, into->to) < count) into->error = errno;
    return ATTN_OK; /* all of it is taken: the ranks settle afterwards */
}

/* Nothing stays in the buffer: who waits for predictions has them, and a full disk shows. It is said here,
 * before the ranks end. */
static int finish_writing(writing *into) {
    if (into->error == 0 && fflush(into->to) != 0) into->error = errno;
    if (into->error == 0) return EXIT_DONE;
    fprintf(stderr, "attn predict: cannot write the output: %s\n", strerror(into->error));
    into->to = freopen("/dev/null", "wb", into->to); /* main is to find nothing more to say */
    return EXIT_FAILED;
}

/* The first rank that failed has said why; rank 0 says it, as one process would have. */
static int repeat_error(int failed) {
    char *kept = ranks_rank() == failed && failed > 0 ? ranks_kept() : NULL;
    int64_t count = kept != NULL ? (int64_t)strlen(kept) : 0;
    attn_exchange *exchange = ranks_exchange();
    attn_status status =
        failed > 0 ? attn_exchange_broadcast(exchange, failed, &count, sizeof count) : ATTN_OK;
    char *text = malloc((size_t)count + 1);
    if (text == NULL) status = ATTN_OUT_OF_MEMORY;
    if (text != NULL && kept != NULL) memcpy(text, kept, (size_t)count);
    if (status == ATTN_OK && count > 0)
        status = attn_exchange_broadcast(exchange, failed, text, (size_t)count);
    if (status == ATTN_OK && ranks_rank() == 0 && failed > 0) {
        text[count] = '\0';
        fflush(stdout);
        ranks_repeat(text);
    }
    free(kept);
    free(text);
    return status == ATTN_OK ? EXIT_FAILED : ranks_fail();
}

/* Each rank's answers go to rank 0. EXIT_DONE, or one of them has met a bad line, or they cannot be written,
 * and it was said. */
static int collect(const char *answers, size_t count, bool good) {
    int ranks = ranks_count(), failed = 0;
    int32_t own = good, *all = malloc((size_t)ranks * sizeof *all);
    attn_status status =
        all != NULL ? attn_exchange_share(ranks_exchange(), &own, sizeof own, all) : ATTN_OUT_OF_MEMORY;
    while (status == ATTN_OK && failed < ranks && all[failed]) failed++;
    free(all);
    writing into = {.to = stdout, .last = failed};
    if (status == ATTN_OK)
        status = attn_exchange_collect(ranks_exchange(), answers, count, write_answers, &into);
    if (status != ATTN_OK) return ranks_fail();
    int code = ranks_rank() == 0 ? finish_writing(&into) : EXIT_DONE;
    if (failed < ranks) code = repeat_error(failed);
    return ranks_settle(code, NULL);
}

/* ---- rounds ---- */

/* Pieces so large that every rank has some, in so many turns, and a round has room in memory. The head of a
 * table stays in the first, which is the only one that is read without knowing it. */
static int64_t choose_cut(const prediction *with, int64_t size, int64_t turns) {
    int64_t ranks = ranks_count(), cut = MOST_PIECE, head = (int64_t)with->options.head_length;
    if (size / ranks / turns < cut) cut = size / ranks / turns;
    if (cut > MOST_ROUND / ranks) cut = MOST_ROUND / ranks;
    if (cut < LEAST_PIECE) cut = LEAST_PIECE;
    return cut > head ? cut : head;
}

/* Rank 0: the next pieces of the input; of what is typed or piped, what has come. */
static void read_round(prediction *with, input *from, round_state *now) {
    const char *bytes;
    size_t length;
    int64_t line;
    now->count = 0;
    now->bytes = 0;
    if (from->live && with->options.piece)
        from->cut = choose_cut(with, (int64_t)input_gather(from, MOST_ROUND), 1);
    while (now->code == EXIT_DONE && now->count < ranks_count() &&
           (now->count == 0 || !from->live || input_has(from)) &&
           input_next(from, with->options.piece == 0, &bytes, &length, &line)) {
        if (!grow(now, now->bytes + (int64_t)length)) {
            now->code = EXIT_FAILED;
            return;
        }
        memcpy(now->text + now->bytes, bytes, length);
        now->pieces[now->count++] = (piece){now->bytes, (int64_t)length, line};
        now->bytes += (int64_t)length;
    }
    /* What was read before an error is answered first. */
    if (from->error != 0 && now->count == 0 && now->code == EXIT_DONE)
        now->code = predict_fail_input(with, from);
}

/* Those of rank 0, in all ranks. */
static int share_round(round_state *now) {
    struct {
        int32_t code, count;
        int64_t bytes;
    } head = {now->code, now->count, now->bytes};
    int code = ranks_broadcast(&head, sizeof head);
    if (code != EXIT_DONE) return code;
    now->code = head.code;
    now->count = head.count;
    now->bytes = head.bytes;
    if (now->count == 0 || now->code != EXIT_DONE) return ranks_settle(now->code, NULL);
    code = ranks_settle(grow(now, now->bytes) ? EXIT_DONE : EXIT_FAILED, NULL);
    if (code == EXIT_DONE) code = ranks_broadcast(now->pieces, (size_t)now->count * sizeof *now->pieces);
    return code == EXIT_DONE ? ranks_broadcast(now->text, (size_t)now->bytes) : code;
}

/* This rank's piece. */
static int answer_round(prediction *with, const round_state *now) {
    char *answers = NULL;
    size_t count = 0;
    FILE *memory = open_memstream(&answers, &count);
    bool good = memory != NULL, whole = good;
    with->to = memory;
    if (good && ranks_rank() < now->count) {
        const piece *own = &now->pieces[ranks_rank()];
        good = predict_piece(with, now->text + own->begin, (size_t)own->length, own->line);
    }
    with->to = stdout;
    if (memory != NULL && fclose(memory) != 0) whole = false;
    if (!whole) complain_of_memory();
    good = good && whole;
    int code = collect(answers, count, good);
    free(answers);
    return code;
}

static int answer_rounds(prediction *with, input *from) {
    round_state now = {.pieces = calloc((size_t)ranks_count(), sizeof *now.pieces)};
    if (now.pieces == NULL) complain_of_memory();
    int code = ranks_settle(now.pieces != NULL ? EXIT_DONE : EXIT_FAILED, NULL);
    while (code == EXIT_DONE) {
        if (ranks_rank() == 0) read_round(with, from, &now);
        code = share_round(&now);
        if (code != EXIT_DONE || now.count == 0) break;
        code = answer_round(with, &now);
    }
    free(now.pieces);
    free(now.text);
    return code;
}

/* ---- what cannot be cut ---- */

/* Every rank reads the file, or what rank 0 has read of standard input. */
static int answer_whole(prediction *with, const char *path) {
    const char *paths[] = {path != NULL ? path : "-"};
    attn_dataset *dataset = NULL;
    char *answers = NULL;
    size_t count = 0;
    FILE *memory = open_memstream(&answers, &count);
    if (memory == NULL) complain_of_memory();
    int code = ranks_settle(memory != NULL ? EXIT_DONE : EXIT_FAILED, NULL); /* what follows needs all */
    if (code == EXIT_DONE) code = opening_files(paths, 1);
    if (code == EXIT_DONE) code = opening_take_input("predict", paths, 1);
    with->name = opening_name(path != NULL ? path : "-");
    with->part = ranks_rank();
    with->parts = ranks_count();
    attn_status status = code == EXIT_DONE ? opening_read(with->context, paths, 1, &with->options, &dataset)
                                           : ATTN_SYSTEM_ERROR;
    if (code == EXIT_DONE && status != ATTN_OK) code = opening_fail("predict", with->context);
    code = ranks_settle(code, RANKS_REMEDY);
    if (code == EXIT_DONE) code = opening_same_examples(dataset);
    if (code == EXIT_DONE) {
        bool stopped = attn_dataset_stopped(dataset) != ATTN_OK; /* a bad line, which all have met */
        with->to = memory;
        bool good = predict_dataset(with, status, dataset, NULL, 0) || stopped;
        with->to = stdout;
        bool whole = fflush(memory) == 0;
        if (!whole) complain_of_memory();
        good = good && whole;
        code = collect(answers, count, good);
        if (code == EXIT_DONE) code = ranks_settle(stopped ? EXIT_FAILED : EXIT_DONE, NULL);
    } else {
        attn_dataset_destroy(dataset);
    }
    if (memory != NULL) fclose(memory);
    free(answers);
    return code;
}

/* ---- the whole ---- */

int predict_by_ranks(prediction *with, const char *path) {
    input from = {.descriptor = -1};
    start of = {.code = EXIT_DONE};
    with->name = path;
    bool by_name = path != NULL && attn_reader_pieces(&with->options) < 0;
    if (ranks_rank() == 0 && !by_name) {
        of.code = predict_open(with, path, &from);
        if (of.code == EXIT_DONE) of.whole = predict_find_examples(with, &from) < 0;
        if (of.code == EXIT_DONE && !of.whole && !predict_find_head(with, &from)) of.code = EXIT_FAILED;
        of.format = (int32_t)with->options.format;
        of.head = with->head != NULL ? (int64_t)with->options.head_length : 0;
        if (of.code == EXIT_DONE && !of.whole && !from.live)
            from.cut = choose_cut(with, input_size(&from), TURNS);
    }
    int code = by_name ? EXIT_DONE : share_start(with, &of);
    if (ranks_rank() == 0) predict_forget_head(with); /* it is in the first piece */
    if (code == EXIT_DONE) code = by_name ? answer_whole(with, path) : answer_rounds(with, &from);
    if (ranks_rank() == 0 && !by_name) input_close(&from);
    return code;
}
