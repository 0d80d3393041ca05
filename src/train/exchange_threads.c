/* exchange_threads.c: ranks that are threads of one process, for tests.
 *
 * A collective call: every rank publishes the address of its bytes, all wait, each reads what it needs from
 * the others, and all wait again, so that no rank's bytes disappear while others read them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "train/exchange.h"

/* What a rank shows the others during a call. */
typedef struct shown {
    const char *kind; /* of call: all must make the same */
    const void *bytes;
    const size_t *places, *counts;
    size_t count;
} shown;

typedef struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    int ranks, open; /* of them, not closed */
    int arrived;
    uint64_t round;
    int left; /* a rank that is no longer there; -1: none */
    shown *shown;
    void **memory; /* of all windows that were requested */
    size_t blocks;
} hub;

typedef struct seat {
    hub *hub;
    int rank;
} seat;

/* Waits for all ranks; not 0, with the reason, if one of them has left. */
static int meet(seat *s, char *text) {
    hub *h = s->hub;
    pthread_mutex_lock(&h->mutex);
    uint64_t round = h->round;
    if (++h->arrived == h->ranks) {
        h->arrived = 0;
        h->round++;
        pthread_cond_broadcast(&h->change);
    }
    while (h->round == round && h->left < 0) pthread_cond_wait(&h->change, &h->mutex);
    int failed = h->round == round;
    if (failed) snprintf(text, AT_EXCHANGE_TEXT, "rank %d has left", h->left);
    pthread_mutex_unlock(&h->mutex);
    return failed;
}

/* Shows what this rank has, and waits until all have. */
static int show(seat *s, shown what, char *text) {
    s->hub->shown[s->rank] = what;
    if (meet(s, text)) return 1;
    for (int r = 0; r < s->hub->ranks; r++) {
        if (strcmp(s->hub->shown[r].kind, what.kind) == 0) continue;
        snprintf(text, AT_EXCHANGE_TEXT, "rank %d calls %s while rank %d calls %s", s->rank, what.kind, r,
                 s->hub->shown[r].kind);
        meet(s, text);
        return 1;
    }
    return 0;
}

static int broadcast(void *user, int from, void *bytes, size_t count, char *text) {
    seat *s = user;
    if (show(s, (shown){"broadcast", bytes, NULL, NULL, count}, text)) return 1;
    if (s->rank != from && count) memcpy(bytes, s->hub->shown[from].bytes, count);
    return meet(s, text);
}

static int share(void *user, const void *bytes, size_t count, void *all, char *text) {
    seat *s = user;
    if (show(s, (shown){"share", bytes, NULL, NULL, count}, text)) return 1;
    for (int r = 0; r < s->hub->ranks && count; r++)
        memmove((char *)all + (size_t)r * count, s->hub->shown[r].bytes, count);
    return meet(s, text);
}

static int trade(void *user, const void *send, const size_t *from_here, const size_t *sent, void *receive,
                 const size_t *to_here, const size_t *got, char *text) {
    seat *s = user;
    int wrong = -1;
    if (show(s, (shown){"trade", send, from_here, sent, 0}, text)) return 1;
    for (int r = 0; r < s->hub->ranks; r++) {
        const shown *other = &s->hub->shown[r];
        if (other->counts[s->rank] != got[r]) wrong = r;
        if (wrong < 0 && got[r])
            memmove((char *)receive + to_here[r], (const char *)other->bytes + other->places[s->rank],
                    got[r]);
    }
    if (meet(s, text)) return 1;
    if (wrong >= 0) snprintf(text, AT_EXCHANGE_TEXT, "rank %d sent another number of bytes", wrong);
    return wrong >= 0;
}

/* Each rank adds up one part of the numbers, and takes the other parts from the others. */
static int sum(void *user, float *numbers, size_t count, char *text) {
    seat *s = user;
    size_t ranks = (size_t)s->hub->ranks, me = (size_t)s->rank;
    if (show(s, (shown){"sum", numbers, NULL, NULL, count}, text)) return 1;
    for (size_t i = count * me / ranks; i < count * (me + 1) / ranks; i++) {
        float total = 0.0F;
        for (size_t r = 0; r < ranks; r++) total += ((const float *)s->hub->shown[r].bytes)[i];
        numbers[i] = total;
    }
    if (meet(s, text)) return 1;
    for (size_t r = 0; r < ranks; r++) {
        size_t first = count * r / ranks, end = count * (r + 1) / ranks;
        if (r != me && end > first)
            memcpy(numbers + first, (const float *)s->hub->shown[r].bytes + first,
                   (end - first) * sizeof(float));
    }
    return meet(s, text);
}

static int barrier(void *user, char *text) {
    seat *s = user;
    if (show(s, (shown){"barrier", NULL, NULL, NULL, 0}, text)) return 1;
    return meet(s, text);
}

/* Kept in the hub, which the last rank frees. */
static void *new_window(hub *h, size_t bytes) {
    pthread_mutex_lock(&h->mutex);
    void **more = realloc(h->memory, (h->blocks + 1) * sizeof *more);
    if (more) h->memory = more;
    void *made = more ? calloc(bytes, 1) : NULL;
    if (made) h->memory[h->blocks++] = made;
    pthread_mutex_unlock(&h->mutex);
    return made;
}

static int window(void *user, size_t bytes, void **windows, char *text) {
    seat *s = user;
    int refused = 0;
    if (show(s, (shown){"window", new_window(s->hub, bytes), NULL, NULL, 0}, text)) return 1;
    for (int r = 0; r < s->hub->ranks; r++) {
        windows[r] = (void *)(size_t)s->hub->shown[r].bytes;
        refused |= !windows[r];
    }
    for (int r = 0; refused && r < s->hub->ranks; r++) windows[r] = NULL;
    return meet(s, text);
}

static void end(void *user, int code) {
    seat *s = user;
    (void)code;
    pthread_mutex_lock(&s->hub->mutex);
    if (s->hub->left < 0) s->hub->left = s->rank; /* the first: others leave because of it */
    pthread_cond_broadcast(&s->hub->change);
    pthread_mutex_unlock(&s->hub->mutex);
}

static void leave(void *user) {
    seat *s = user;
    hub *h = s->hub;
    end(s, 0);
    pthread_mutex_lock(&h->mutex);
    int last = --h->open == 0;
    pthread_mutex_unlock(&h->mutex);
    free(s);
    if (!last) return;
    pthread_cond_destroy(&h->change);
    pthread_mutex_destroy(&h->mutex);
    for (size_t i = 0; i < h->blocks; i++) free(h->memory[i]);
    free(h->memory);
    free(h->shown);
    free(h);
}

/* Of the process's own memory: no context has to outlive the others. */
static hub *make_hub(int ranks) {
    hub *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->shown = calloc((size_t)ranks, sizeof *h->shown);
    if (!h->shown || pthread_mutex_init(&h->mutex, NULL) != 0) {
        free(h->shown);
        free(h);
        return NULL;
    }
    pthread_cond_init(&h->change, NULL);
    h->ranks = h->open = ranks;
    h->left = -1;
    return h;
}

attn_status at_exchange_threads(attn_context *const *contexts, int ranks, int windows,
                                attn_exchange **exchanges) {
    hub *h = make_hub(ranks);
    if (!h) return at_fail(contexts[0], ATTN_OUT_OF_MEMORY, "no memory for %d ranks", ranks);
    for (int r = 0; r < ranks; r++) {
        attn_exchange *made = at_allocate(contexts[r], 1, sizeof *made, "an exchange");
        seat *s = malloc(sizeof *s);
        if (!made || !s) { /* the seats that there are hold the hub */
            at_release(contexts[r], made);
            free(s);
            h->open = r > 0 ? r : 1;
            for (int i = 0; i < r; i++) attn_exchange_close(exchanges[i]);
            return at_fail(contexts[0], ATTN_OUT_OF_MEMORY, "no memory for %d ranks", ranks);
        }
        *s = (seat){h, r};
        made->context = contexts[r];
        made->calls = (at_exchange_calls){AT_EXCHANGE_VERSION,
                                          s,
                                          r,
                                          ranks,
                                          &made->computing,
                                          broadcast,
                                          share,
                                          trade,
                                          sum,
                                          barrier,
                                          windows ? window : NULL,
                                          end,
                                          leave};
        exchanges[r] = made;
    }
    return ATTN_OK;
}
