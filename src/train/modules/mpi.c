/* mpi.c: the exchange between ranks by MPI, as a separate shared object (libattn-mpi.so).
 *
 * It is loaded under a launcher only (train/exchange_open.c) and depends on MPI only; the library does not
 * link it. Every call starts a non-blocking operation and then tests whether it is complete. While the rank
 * computes, it sleeps between tests, because the backward pass needs the core that MPI's own waiting would
 * occupy. When there is nothing else to do, it polls for some milliseconds, since a sleep takes longer than
 * most messages, and yields the core to other threads.
 *
 * If all ranks are on one host, they see each other's memory (windows.h): large buffers are read in place,
 * and small ones are passed through a shared board. Only buffers that are too large for the board and in no
 * window are sent as messages. ATTN_EXCHANGE=messages turns this off.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/exchange.h"
#include "train/modules/windows.h"

#ifndef AT_PIECE /* a test makes them small */
#define AT_PIECE (1 << 30)
#endif
enum { PIECE = AT_PIECE, TAG = 1 }; /* bytes, or numbers, of one message at most: counts are ints */
enum { BOARD = 1 << 16 };           /* bytes that are handed over without a message, at most */

/* What a rank shows the others: two boards in turns, so that one can be written while the other is read. */
typedef struct lobby {
    at_gate gate; /* that of rank 0 is everybody's */
    unsigned char board[2][BOARD];
} lobby;

/* Windows of all ranks that were made together. */
typedef struct window_set {
    struct window_set *next;
    size_t bytes;
    void *windows[];
} window_set;

typedef struct state {
    MPI_Comm ranks;
    int rank, count;
    MPI_Request *requests;
    int request_room;
    const atomic_int *computing;
    int near;         /* all ranks are on one host and see each other's memory */
    lobby **lobbies;  /* [count], if they do */
    int board;        /* which is the next */
    window_set *sets; /* the lobbies among them */
} state;

static int fail(int error, const char *what, char *text) {
    char reason[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(error, reason, &length);
    snprintf(text, AT_EXCHANGE_TEXT, "MPI: %s: %.256s", what, reason);
    return 1;
}

static long nanoseconds_since(const struct timespec *before) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - before->tv_sec) * 1000000000L + now.tv_nsec - before->tv_nsec;
}

/* Returns when all requests are done: MPI works on all of them while one is looked at. A sleep takes some 60
 * microseconds at first; it grows with the time that was waited, up to a millisecond. */
static int finish(const state *s, MPI_Request *requests, int count, const char *what, char *text) {
    enum {
        LOOKS = 16,
        SHORTEST = 10000,
        GROWTH = 1500,
        LONGEST = 1000000,
        AWAKE = 5000000
    }; /* nanoseconds */
    int looks = 0;
    long sleeps = 0;
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int at = 0; at < count;) {
        int done = 0, error = MPI_Test(&requests[at], &done, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) return fail(error, what, text);
        if (done) {
            at++;
            sleeps = 0;
        } else if (++looks % LOOKS == 0) {
            long wanted = sleeps++ * GROWTH;
            struct timespec pause = {0, wanted < SHORTEST ? SHORTEST : wanted < LONGEST ? wanted : LONGEST};
            if (!atomic_load_explicit(s->computing, memory_order_relaxed) &&
                nanoseconds_since(&began) < AWAKE)
                sched_yield();
            else
                nanosleep(&pause, NULL);
        }
    }
    return 0;
}

/* The same for one request that was started with `error`. */
static int finish_one(const state *s, int error, MPI_Request *request, const char *what, char *text) {
    return error != MPI_SUCCESS ? fail(error, what, text) : finish(s, request, 1, what, text);
}

static int broadcast(void *user, int from, void *bytes, size_t count, char *text) {
    state *s = user;
    for (size_t at = 0; at < count; at += PIECE) {
        MPI_Request request;
        int length = count - at < PIECE ? (int)(count - at) : PIECE;
        int error = MPI_Ibcast((char *)bytes + at, length, MPI_BYTE, from, s->ranks, &request);
        if (finish_one(s, error, &request, "a broadcast failed", text)) return 1;
    }
    return 0;
}

static int share_by_messages(void *user, const void *bytes, size_t count, void *all, char *text) {
    state *s = user;
    if (count <= PIECE) {
        MPI_Request request;
        int error =
            MPI_Iallgather(bytes, (int)count, MPI_BYTE, all, (int)count, MPI_BYTE, s->ranks, &request);
        return finish_one(s, error, &request, "sharing failed", text);
    }
    memmove((char *)all + (size_t)s->rank * count, bytes, count);
    for (int r = 0; r < s->count; r++) {
        if (broadcast(user, r, (char *)all + (size_t)r * count, count, text)) return 1;
    }
    return 0;
}

/* Whoever waits for long lets MPI continue with messages that others still wait for. */
static void let_mpi_work(void *user) {
    const state *s = user;
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, s->ranks, &found, MPI_STATUS_IGNORE);
}

/* All ranks are here. */
static void meet(state *s) { at_gate_pass(&s->lobbies[0]->gate, s->count, s->computing, let_mpi_work, s); }

/* Over the boards. Nobody writes to a board before all have read what it held: between the two lies the
 * meeting of the other board. */
static int share(void *user, const void *bytes, size_t count, void *all, char *text) {
    state *s = user;
    if (!s->lobbies || count > BOARD) return share_by_messages(user, bytes, count, all, text);
    int board = s->board;
    s->board = !board;
    if (count) memcpy(s->lobbies[s->rank]->board[board], bytes, count);
    meet(s);
    for (int r = 0; r < s->count && count; r++)
        memcpy((char *)all + (size_t)r * count, s->lobbies[r]->board[board], count);
    return 0;
}

/* ---- windows ---- */

static void free_set(const state *s, window_set *set) {
    for (int r = 0; r < s->count; r++) at_window_free(set->windows[r], set->bytes);
    free(set);
}

/* This rank's window is made, and those of the others are opened; *refused: some rank lacks one. */
static int make_set(state *s, window_set *set, int *refused, char *text) {
    at_window_name mine, *names = calloc((size_t)s->count, sizeof *names);
    int *answers = calloc((size_t)s->count, sizeof *answers), missing = 0, failed = !names || !answers;
    if (failed) {
        snprintf(text, AT_EXCHANGE_TEXT, "no memory for %d windows", s->count);
    } else {
        set->windows[s->rank] = at_window_make(set->bytes, &mine);
        failed = share_by_messages(s, &mine, sizeof mine, names, text);
        for (int r = 0; r < s->count && !failed; r++) {
            if (r != s->rank) set->windows[r] = at_window_open(&names[r], set->bytes);
            missing |= !set->windows[r];
        }
        if (!failed) failed = share_by_messages(s, &missing, sizeof missing, answers, text);
        at_window_close_file(&mine);
        *refused = missing;
        for (int r = 0; r < s->count; r++) *refused |= answers[r];
    }
    free(names);
    free(answers);
    return failed;
}

static int window(void *user, size_t bytes, void **windows, char *text) {
    state *s = user;
    int refused = 0;
    for (int r = 0; r < s->count; r++) windows[r] = NULL;
    if (!s->near) return 0;
    window_set *set = calloc(1, sizeof *set + (size_t)s->count * sizeof set->windows[0]);
    if (!set) {
        snprintf(text, AT_EXCHANGE_TEXT, "no memory for %d windows", s->count);
        return 1;
    }
    set->bytes = bytes;
    int failed = make_set(s, set, &refused, text);
    if (failed || refused) {
        free_set(s, set);
        return failed;
    }
    set->next = s->sets;
    s->sets = set;
    memcpy(windows, set->windows, (size_t)s->count * sizeof *windows);
    return 0;
}

/* Whether all ranks are on one host, and their lobbies. */
static int look_around(state *s, char *text) {
    const char *wish = getenv("ATTN_EXCHANGE");
    int messages = wish && strcmp(wish, "messages") == 0;
    if (wish && *wish && !messages) {
        snprintf(text, AT_EXCHANGE_TEXT, "ATTN_EXCHANGE is %.60s: it can be messages", wish);
        return 1;
    }
    MPI_Comm host;
    int here = 0, near = 0;
    void **lobbies = calloc((size_t)s->count, sizeof *lobbies);
    int error = MPI_Comm_split_type(s->ranks, MPI_COMM_TYPE_SHARED, s->rank, MPI_INFO_NULL, &host);
    if (error != MPI_SUCCESS) {
        free(lobbies);
        return fail(error, "MPI_Comm_split_type failed", text);
    }
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    near = here == s->count && !messages && lobbies;
    error = MPI_Allreduce(&near, &s->near, 1, MPI_INT, MPI_MIN, s->ranks);
    if (error != MPI_SUCCESS) return fail(error, "MPI_Allreduce failed", text);
    int failed = s->near && window(s, sizeof(lobby), lobbies, text);
    if (!failed && s->near && lobbies[0])
        s->lobbies = (lobby **)lobbies;
    else
        free(lobbies);
    s->near = s->lobbies != NULL;
    return failed;
}

/* ---- messages ---- */

/* How many messages carry so many bytes. */
static int pieces(size_t bytes) { return (int)((bytes + PIECE - 1) / PIECE); }

/* Starts the messages between this rank and another: what it gets, or what it sends. */
static int start(state *s, void *bytes, size_t count, int other, int sends, int *requests) {
    for (size_t at = 0; at < count; at += PIECE) {
        int length = count - at < PIECE ? (int)(count - at) : PIECE;
        MPI_Request *request = &s->requests[*requests];
        int error = sends ? MPI_Isend((char *)bytes + at, length, MPI_BYTE, other, TAG, s->ranks, request)
                          : MPI_Irecv((char *)bytes + at, length, MPI_BYTE, other, TAG, s->ranks, request);
        if (error != MPI_SUCCESS) return error;
        ++*requests;
    }
    return MPI_SUCCESS;
}

static int trade(void *user, const void *send, const size_t *from_here, const size_t *sent, void *receive,
                 const size_t *to_here, const size_t *got, char *text) {
    state *s = user;
    int needed = 0, requests = 0, error = MPI_SUCCESS;
    for (int r = 0; r < s->count; r++) needed += pieces(sent[r]) + pieces(got[r]);
    if (needed > s->request_room) {
        MPI_Request *more = realloc(s->requests, (size_t)needed * sizeof *more);
        if (!more) {
            snprintf(text, AT_EXCHANGE_TEXT, "no memory for %d messages", needed);
            return 1;
        }
        s->requests = more;
        s->request_room = needed;
    }
    /* each begins with the rank after its own, so that not all send to the same one */
    for (int i = 1; i < s->count && error == MPI_SUCCESS; i++) {
        int r = (s->rank + s->count - i) % s->count;
        error = start(s, (char *)receive + to_here[r], got[r], r, 0, &requests);
    }
    for (int i = 1; i < s->count && error == MPI_SUCCESS; i++) {
        int r = (s->rank + i) % s->count;
        error = start(s, (char *)(size_t)send + from_here[r], sent[r], r, 1, &requests);
    }
    if (error != MPI_SUCCESS) return fail(error, "a message failed", text);
    if (sent[s->rank])
        memmove((char *)receive + to_here[s->rank], (const char *)send + from_here[s->rank], sent[s->rank]);
    return requests ? finish(s, s->requests, requests, "a message failed", text) : 0;
}

static int sum(void *user, float *numbers, size_t count, char *text) {
    state *s = user;
    for (size_t at = 0; at < count; at += PIECE) {
        MPI_Request request;
        int length = count - at < PIECE ? (int)(count - at) : PIECE;
        int error =
            MPI_Iallreduce(MPI_IN_PLACE, numbers + at, length, MPI_FLOAT, MPI_SUM, s->ranks, &request);
        if (finish_one(s, error, &request, "a sum failed", text)) return 1;
    }
    return 0;
}

static int barrier(void *user, char *text) {
    state *s = user;
    MPI_Request request;
    if (s->lobbies) {
        meet(s);
        return 0;
    }
    return finish_one(s, MPI_Ibarrier(s->ranks, &request), &request, "a barrier failed", text);
}

static void end(void *user, int code) {
    state *s = user;
    MPI_Abort(s->ranks, code);
}

static void leave(void *user) {
    state *s = user;
    MPI_Comm_free(&s->ranks);
    MPI_Finalize();
    for (window_set *set = s->sets; set;) {
        window_set *next = set->next;
        free_set(s, set);
        set = next;
    }
    free(s->lobbies);
    free(s->requests);
    free(s);
}

/* What MPI this is, in one line. */
static void name_of_mpi(char *name, size_t room) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    size_t end_of_name = strcspn(text, "\n,");
    for (size_t i = 0; i < end_of_name; i++) {
        if (text[i] == '\t') text[i] = ' ';
    }
    snprintf(name, room, "%.*s", (int)(end_of_name < 60 ? end_of_name : 60), text);
}

/* Threads may take turns, and the launcher's ranks are MPI's. */
static int check(int level, int launched, char *text) {
    char name[80];
    int ranks = 0;
    name_of_mpi(name, sizeof name);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (launched > 1 && ranks == 1) {
        snprintf(text, AT_EXCHANGE_TEXT,
                 "the launcher started %d processes, but %s, which this module was built with, sees one: use "
                 "the launcher of that MPI (srun: --mpi=pmix or pmi2), or build attn with the MPI of this "
                 "launcher",
                 launched, name);
        return 1;
    }
    if (level < MPI_THREAD_SERIALIZED) {
        snprintf(text, AT_EXCHANGE_TEXT,
                 "%s lets only one thread call it (thread level %d, needed: MPI_THREAD_SERIALIZED, %d): "
                 "attn needs an MPI that was built with threads",
                 name, level, MPI_THREAD_SERIALIZED);
        return 1;
    }
    return 0;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int at_exchange_module(at_exchange_calls *calls, char *text);

int at_exchange_module(at_exchange_calls *calls, char *text) {
    if (calls->version != AT_EXCHANGE_VERSION) {
        snprintf(text, AT_EXCHANGE_TEXT,
                 "it was built for another version of attn (module %d, attn %d): build both together",
                 AT_EXCHANGE_VERSION, calls->version);
        return 1;
    }
    int begun = 0, level = 0;
    MPI_Initialized(&begun);
    if (begun) {
        snprintf(text, AT_EXCHANGE_TEXT, "MPI was begun before: a process has one exchange");
        return 1;
    }
    int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (error != MPI_SUCCESS) return fail(error, "MPI_Init_thread failed", text);
    state *s = calloc(1, sizeof *s);
    if (!s) snprintf(text, AT_EXCHANGE_TEXT, "no memory");
    if (!s || check(level, calls->ranks, text)) {
        free(s);
        MPI_Finalize();
        return 1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Comm_dup(MPI_COMM_WORLD, &s->ranks);
    if (error != MPI_SUCCESS) {
        free(s);
        return fail(error, "MPI_Comm_dup failed", text);
    }
    MPI_Comm_set_errhandler(s->ranks, MPI_ERRORS_RETURN);
    MPI_Comm_rank(s->ranks, &s->rank);
    MPI_Comm_size(s->ranks, &s->count);
    s->computing = calls->computing;
    if (look_around(s, text))
        return 1; /* MPI is not ended: others may wait for this rank, and it has to leave */
    *calls = (at_exchange_calls){AT_EXCHANGE_VERSION,
                                 s,
                                 s->rank,
                                 s->count,
                                 s->computing,
                                 broadcast,
                                 share,
                                 trade,
                                 sum,
                                 barrier,
                                 window,
                                 end,
                                 leave};
    return 0;
}
