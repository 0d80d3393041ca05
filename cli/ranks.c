/* ranks.c: joining the ranks, who speaks, and how a failure of one ends them all (see ranks.h). */
#define _GNU_SOURCE /* sched_getaffinity */
#include "ranks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include "arguments.h"
#include "messages.h"
#include "progress.h"
#include "text.h"

static struct {
    const char *command;
    attn_context *context; /* of the exchange */
    attn_exchange *exchange;
    FILE *kept;  /* NULL, or what stands for standard error */
    FILE *spoke; /* then: standard error itself */
    int place;   /* the rank, as far as it is known */
    int threads; /* this rank's share of the cores */
    int beside;  /* ranks on this host, this one among them */
    bool launched, settled;
} now;

/* ---- who speaks ---- */

/* The rank that a launcher's environment tells, before there is an exchange. */
static int guess_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL && *text != '\0') return atoi(text);
    }
    return 0;
}

/* From now on what is printed goes nowhere, and what is said on standard error is kept. */
static void fall_silent(void) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), spoke = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    now.kept = tmpfile();
    now.spoke = spoke >= 0 ? fdopen(spoke, "w") : NULL;
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    if (nowhere > STDERR_FILENO) close(nowhere);
    if (now.kept != NULL && now.spoke != NULL) dup2(fileno(now.kept), STDERR_FILENO);
}

void ranks_begin(const char *command) {
    now.command = command;
    now.launched = attn_exchange_launched() > 1;
    if (!now.launched) return;
    now.place = guess_rank();
    setvbuf(stderr, NULL, _IOLBF, 0); /* whole lines: launchers mix what several processes say */
    if (now.place > 0) fall_silent();
}

static void forget_kept(void) {
    if (now.kept == NULL) return;
    fflush(stderr);
    rewind(now.kept);
    if (ftruncate(fileno(now.kept), 0) != 0) return; /* then it is said twice */
}

char *ranks_kept(void) {
    enum { MOST = 1 << 16 };
    if (now.kept == NULL) return NULL;
    char *text = malloc(MOST);
    if (text == NULL) return NULL;
    fflush(stderr);
    rewind(now.kept);
    size_t length = fread(text, 1, MOST - 1, now.kept);
    fseek(now.kept, 0, SEEK_END);
    text[length] = '\0';
    return text;
}

/* The error itself: notes may precede it. */
static const char *last_error(const char *text) {
    const char *found = text;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, "attn ", 5) == 0 && strstr(line, "lists the flags") == NULL) found = line;
    }
    char begin[64];
    int length = snprintf(begin, sizeof begin, "attn %s: ", now.command);
    return strncmp(found, begin, (size_t)length) == 0 ? found + length : found;
}

/* What was kept, with the number of the rank; in one piece, for others may speak, too. */
static void speak(const char *remedy) {
    char *kept = ranks_kept();
    const char *text = kept != NULL && *kept != '\0' ? last_error(kept) : "it failed without a message\n";
    if (now.spoke == NULL) return;
    fprintf(now.spoke, "attn: rank %d of %d: %s", now.place, attn_exchange_launched(), text);
    if (remedy != NULL) fprintf(now.spoke, "attn: %s\n", remedy);
    fflush(now.spoke);
    free(kept);
}

void ranks_repeat(const char *text) { fputs(text, stderr); }

/* ---- joining ---- */

/* Where a rank runs: its host, and a bit for each core that it may use. */
typedef struct seat {
    char host[128];
    unsigned char cores[1024];
} seat;

static int count_cores(const seat *of) {
    int count = 0;
    for (size_t i = 0; i < sizeof of->cores; i++)
        for (unsigned bits = of->cores[i]; bits != 0; bits &= bits - 1) count++;
    return count;
}

static bool share_cores(const seat *one, const seat *other) {
    if (strcmp(one->host, other->host) != 0) return false;
    for (size_t i = 0; i < sizeof one->cores; i++)
        if ((one->cores[i] & other->cores[i]) != 0) return true;
    return false;
}

static void find_seat(seat *own) {
    memset(own, 0, sizeof *own);
    if (gethostname(own->host, sizeof own->host - 1) != 0) own->host[0] = '\0';
#if defined(__linux__)
    if (sched_getaffinity(0, sizeof own->cores, (cpu_set_t *)(void *)own->cores) == 0 && count_cores(own) > 0)
        return;
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < online && i < 8 * (long)sizeof own->cores; i++)
        own->cores[i / 8] |= (unsigned char)(1u << i % 8);
}

/* The cores of this rank, divided by the ranks that may use them, too; and how many ranks this host has. */
static attn_status find_share(void) {
    int ranks = attn_exchange_ranks(now.exchange), sharing = 0;
    seat own, *all = malloc((size_t)ranks * sizeof *all);
    if (all == NULL) return ATTN_OUT_OF_MEMORY;
    find_seat(&own);
    attn_status status = attn_exchange_share(now.exchange, &own, sizeof own, all);
    for (int r = 0; status == ATTN_OK && r < ranks; r++) {
        sharing += share_cores(&own, &all[r]);
        now.beside += strcmp(own.host, all[r].host) == 0;
    }
    int threads = sharing > 0 ? count_cores(&own) / sharing : 1;
    now.threads = threads > 1 ? threads : 1;
    free(all);
    return status;
}

/* If all have met the same, rank 0 has said it, and the launcher ends the others while they wait here: false,
 * for a rank that its signal wakes has nothing to add. */
static bool let_others_speak(void) {
    const struct timespec pause = {.tv_sec = 3};
    return now.place == 0 || nanosleep(&pause, NULL) == 0;
}

int ranks_fail(void) {
    arguments_complain(now.command, "", messages_with_flags(ranks_error()), "", NULL);
    return EXIT_FAILED;
}

/* Other instructions, or another version, make other bits; and may have other things to say to each other. */
static int same_program(void) {
    char text[96];
    snprintf(text, sizeof text, "%s, %s", attn_version(), attn_context_isa(now.context));
    return ranks_agree("another version of attn, or kind of CPU,", text, strlen(text),
                       "install the same version everywhere, and set ATTN_ISA to what all CPUs have (avx2)");
}

int ranks_open(const argument_list *list) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (now.exchange != NULL || attn_exchange_launched() < 2) return EXIT_DONE;
    if (attn_context_create(&options, &now.context) != ATTN_OK) {
        arguments_complain(now.command, "", attn_last_create_error(), "", NULL);
        return EXIT_FAILED;
    }
    if (attn_exchange_open(now.context, NULL, &now.exchange) != ATTN_OK) {
        ranks_fail();
        if (let_others_speak() && now.kept != NULL) speak(NULL);
        now.settled = true;
        return EXIT_FAILED;
    }
    now.place = attn_exchange_rank(now.exchange);
    if (now.place > 0 && now.kept == NULL) fall_silent();
    progress_stop_by_user_signal();
    int code = same_program();
    if (code != EXIT_DONE) return code;
    return find_share() == ATTN_OK ? ranks_same_flags(list) : ranks_fail();
}

attn_exchange *ranks_exchange(void) { return now.exchange; }
int ranks_rank(void) { return attn_exchange_rank(now.exchange); }
int ranks_count(void) { return attn_exchange_ranks(now.exchange); }
const char *ranks_command(void) { return now.command; }
const char *ranks_error(void) { return now.context != NULL ? attn_context_error(now.context) : ""; }

int ranks_threads(int64_t given) {
    const char *asked = getenv("ATTN_THREADS");
    if (given > 0 || now.exchange == NULL || (asked != NULL && *asked != '\0')) return (int)given;
    return now.threads;
}

int ranks_beside(void) { return now.beside > 1 ? now.beside : 1; }

/* ---- going on together, and ending ---- */

int ranks_settle(int code, const char *remedy) {
    if (now.exchange == NULL) return code;
    int ranks = ranks_count(), first = 0;
    int32_t own = code, *all = malloc((size_t)ranks * sizeof *all);
    if (all == NULL || attn_exchange_share(now.exchange, &own, sizeof own, all) != ATTN_OK) {
        free(all);
        return code != EXIT_DONE ? code : ranks_fail();
    }
    while (first < ranks && all[first] == EXIT_DONE) first++;
    int found = first < ranks ? all[first] : EXIT_DONE;
    free(all);
    if (found == EXIT_DONE) {
        forget_kept();
        return EXIT_DONE;
    }
    if (first == now.place && first > 0) speak(remedy);
    fflush(NULL);
    now.settled = attn_exchange_barrier(now.exchange) == ATTN_OK; /* it is said before anybody ends */
    return found;
}

int ranks_agree(const char *what, const void *bytes, size_t count, const char *remedy) {
    if (attn_exchange_agree(now.exchange, what, bytes, count, remedy) == ATTN_OK) return EXIT_DONE;
    int code = ranks_fail();
    return attn_exchange_apart(now.exchange) ? code : ranks_settle(code, NULL);
}

int ranks_largest(int number) {
    if (now.exchange == NULL) return number;
    int32_t own = number, *all = malloc((size_t)ranks_count() * sizeof *all);
    if (all != NULL && attn_exchange_share(now.exchange, &own, sizeof own, all) == ATTN_OK) {
        for (int r = 0; r < ranks_count(); r++) number = all[r] > number ? all[r] : number;
        now.settled = true;
    }
    free(all);
    return number;
}

int64_t ranks_sum(int64_t number) {
    if (now.exchange == NULL) return number;
    int64_t own = number, *all = malloc((size_t)ranks_count() * sizeof *all);
    if (all != NULL && attn_exchange_share(now.exchange, &own, sizeof own, all) == ATTN_OK) {
        number = 0;
        for (int r = 0; r < ranks_count(); r++) number += all[r];
    }
    free(all);
    return number;
}

int ranks_broadcast(void *bytes, size_t count) {
    if (now.exchange == NULL || count == 0) return EXIT_DONE;
    return attn_exchange_broadcast(now.exchange, 0, bytes, count) == ATTN_OK ? EXIT_DONE : ranks_fail();
}

int ranks_end(int code) {
    if (code != EXIT_DONE && now.launched && !now.settled) {
        fflush(NULL);
        if (let_others_speak() && now.kept != NULL && now.exchange != NULL)
            speak(NULL); /* without it: a flag that is wrong for all */
        attn_exchange_abort(now.exchange, code);
    }
    attn_exchange_close(now.exchange);
    now.exchange = NULL;
    attn_context_destroy(now.context);
    now.context = NULL;
    return code;
}

/* ---- parts ---- */

bool ranks_read_shard(const char *text, int64_t *part, int64_t *parts) {
    char *end;
    long long which = strtoll(text, &end, 10), of;
    if (end == text || *end != '/' || end[1] < '0' || end[1] > '9') return false;
    of = strtoll(end + 1, &end, 10);
    if (*end != '\0' || which < 1 || which > of || of > 1000000) return false;
    *part = (int64_t)which - 1;
    *parts = (int64_t)of;
    return true;
}

int64_t ranks_part_begin(int64_t count, int64_t part, int64_t parts) {
    return count / parts * part + count % parts * part / parts;
}
