/* test_power_loss.c: what is on the disk after a loss of power, at any moment of a training run.
 *
 * While a run writes its files, the calls that change the disk are recorded (the linker puts __wrap_open and
 * the others in the place of the system's). Then every prefix of them is replayed as a disk may have kept it:
 * bytes that were not synced are there or not, or torn; names that were created, renamed or removed since the
 * folder was last synced have changed or not, in any combination.
 * Whatever comes of it, each file is whole, and the two together resume to the same bytes as the run that was
 * never disturbed.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/training.h"

/* ---- recording ---- */

enum { MOST_OPERATIONS = 20000, MOST_INODES = 600, MOST_DESCRIPTORS = 256, NAME_BYTES = 96, NONE = -1 };

typedef enum operation_kind { CREATE, WRITE, SYNC, RENAME, UNLINK, SYNC_FOLDER } operation_kind;

typedef struct operation {
    operation_kind kind;
    int inode;
    size_t count; /* WRITE: bytes, behind those before */
    char name[NAME_BYTES], to[NAME_BYTES];
} operation;

/* All that was ever written to a file; what a disk has of it is a part. */
typedef struct inode {
    char *bytes;
    size_t length;
} inode;

static char folder[] = "/tmp/attn_power_XXXXXX", image[] = "/tmp/attn_image_XXXXXX";
static operation *log_of;
static int operations, inodes, recording;
static inode files[MOST_INODES];
static struct {
    char name[NAME_BYTES];
    int inode;
} entries[MOST_INODES]; /* the folder as it is now */
static int entry_count;
static int opened[MOST_DESCRIPTORS]; /* inode + 1; -1: the folder */

static int find_entry(const char *name) {
    for (int i = 0; i < entry_count; i++)
        if (strcmp(entries[i].name, name) == 0) return i;
    return NONE;
}

static void set_entry(const char *name, int to) {
    int at = find_entry(name);
    if (at == NONE) at = entry_count++;
    assert_true(at < MOST_INODES);
    snprintf(entries[at].name, NAME_BYTES, "%s", name);
    entries[at].inode = to;
}

/* The name within the folder; NULL: it is somewhere else. */
static const char *within(const char *path) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static operation *record(operation_kind kind, int which, const char *name) {
    assert_true(operations < MOST_OPERATIONS);
    operation *made = &log_of[operations++];
    *made = (operation){.kind = kind, .inode = which};
    snprintf(made->name, NAME_BYTES, "%s", name ? name : "");
    return made;
}

static int new_inode(void) {
    assert_true(inodes < MOST_INODES);
    files[inodes] = (inode){NULL, 0};
    return inodes++;
}

static void append(int which, const void *bytes, size_t count) {
    inode *to = &files[which];
    to->bytes = realloc(to->bytes, to->length + count + 1);
    assert_non_null(to->bytes);
    memcpy(to->bytes + to->length, bytes, count);
    to->length += count;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
ssize_t __real_write(int descriptor, const void *bytes, size_t count);
ssize_t __wrap_write(int descriptor, const void *bytes, size_t count);
int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);
int __real_close(int descriptor);
int __wrap_close(int descriptor);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

int __wrap_open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = (mode_t)va_arg(list, int);
        va_end(list);
    }
    int descriptor = __real_open(path, flags, mode);
    if (!recording || descriptor < 0) return descriptor;
    assert_true(descriptor < MOST_DESCRIPTORS);
    const char *name = within(path);
    opened[descriptor] = 0;
    if (name && !*name) opened[descriptor] = -1;
    if (!name || !*name) return descriptor;
    int at = find_entry(name), known = at != NONE && entries[at].inode != NONE;
    if (flags & O_CREAT && !known) {
        record(CREATE, new_inode(), name);
        set_entry(name, inodes - 1);
    }
    assert_false(flags & O_TRUNC); /* nothing is written in place */
    at = find_entry(name);
    if (flags & (O_WRONLY | O_RDWR)) opened[descriptor] = entries[at].inode + 1;
    return descriptor;
}

ssize_t __wrap_write(int descriptor, const void *bytes, size_t count) {
    ssize_t written = __real_write(descriptor, bytes, count);
    if (recording && written > 0 && opened[descriptor] > 0) {
        append(opened[descriptor] - 1, bytes, (size_t)written);
        record(WRITE, opened[descriptor] - 1, NULL)->count = (size_t)written;
    }
    return written;
}

int __wrap_fsync(int descriptor) {
    int result = __real_fsync(descriptor);
    if (recording && result == 0 && opened[descriptor] > 0) record(SYNC, opened[descriptor] - 1, NULL);
    if (recording && result == 0 && opened[descriptor] < 0) record(SYNC_FOLDER, NONE, NULL);
    return result;
}

int __wrap_close(int descriptor) {
    if (recording && descriptor >= 0 && descriptor < MOST_DESCRIPTORS) opened[descriptor] = 0;
    return __real_close(descriptor);
}

int __wrap_rename(const char *from, const char *to) {
    int result = __real_rename(from, to);
    const char *source = within(from), *target = within(to);
    if (!recording || result != 0 || !source || !target) return result;
    int which = entries[find_entry(source)].inode;
    snprintf(record(RENAME, which, source)->to, NAME_BYTES, "%s", target);
    set_entry(target, which);
    set_entry(source, NONE);
    return result;
}

int __wrap_unlink(const char *path) {
    int result = __real_unlink(path);
    const char *name = within(path);
    if (!recording || result != 0 || !name) return result;
    record(UNLINK, entries[find_entry(name)].inode, name);
    set_entry(name, NONE);
    return result;
}

/* ---- runs ---- */

static const char best_name[] = "m.safetensors", last_name[] = "m.last.safetensors";
static char *corpus, *dev;

typedef struct run {
    const char *seed;
    int force, more, keep_last, resume;
    int64_t stop_at; /* 0: never */
} run;

static int watch(void *user, const attn_training_state *state) {
    const run *given = user;
    return given->stop_at && state->event == ATTN_TRAINING_STEP && state->step == given->stop_at;
}

static void path_in(const char *where, const char *name, char *path) { sprintf(path, "%s/%s", where, name); }

static attn_status train_in(const char *where, const run *given) {
    const char *const sets[] = {"task", "tag",           "training.epochs", "5", "training.batch_units",
                                "200",  "training.seed", given->seed,       NULL};
    char path[NAME_BYTES];
    path_in(where, best_name, path);
    attn_config *config = tiny_config(test_best_context(1), sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path;
    options.force = given->force;
    options.more = given->more;
    options.resume = given->resume;
    options.keep_last = given->keep_last;
    options.save_seconds = 0; /* at every step */
    options.watch = watch;
    options.user = (void *)(uintptr_t)given;
    attn_status status = train_on(config, corpus, dev, &options);
    attn_config_destroy(config);
    return status;
}

/* ---- what a disk may have ---- */

/* Whether the disk has all of a file of which `length` bytes were written and `durable` synced, if it keeps
 * the others or loses any of them: lost, torn, zeros in their place, that is all the same to who wants the
 * whole. */
static int is_whole(int which, size_t length, size_t durable, int kept) {
    return (kept ? length : durable) == files[which].length;
}

/* One way in which best and last may be on the disk: inodes, or NONE. */
typedef struct pair {
    int best, last, torn;
} pair;

typedef struct pairs {
    pair list[4000];
    int count;
} pairs;

static void add_pair(pairs *to, pair found) {
    for (int i = 0; i < to->count; i++)
        if (memcmp(&to->list[i], &found, sizeof found) == 0) return;
    assert_true(to->count < 4000);
    to->list[to->count++] = found;
}

/* What a name is after the operations of `pending` whose bits are set in `happened`. */
static int look_up(const operation *const *pending, int count, unsigned happened, const char *name,
                   int before) {
    for (int i = 0; i < count; i++) {
        const operation *one = pending[i];
        if (!(happened >> i & 1)) continue;
        if (one->kind == RENAME && strcmp(one->to, name) == 0)
            before = one->inode;
        else if (strcmp(one->name, name) == 0)
            before = one->kind == CREATE ? one->inode : NONE;
    }
    return before;
}

/* Every image after every prefix of the log. An operation is left out for which `left_out` says so. */
static void imagine(pair first, int (*left_out)(int index), pairs *found) {
    static size_t length[MOST_INODES], durable[MOST_INODES];
    const operation *pending[16];
    int pending_count = 0;
    pair synced = first;
    for (int i = 0; i < inodes; i++) length[i] = durable[i] = 0;
    if (first.best != NONE) length[first.best] = durable[first.best] = files[first.best].length;
    if (first.last != NONE) length[first.last] = durable[first.last] = files[first.last].length;
    found->count = 0;
    for (int i = 0; i <= operations; i++) {
        for (unsigned happened = 0; happened < 1u << pending_count; happened++) {
            pair now = {look_up(pending, pending_count, happened, best_name, synced.best),
                        look_up(pending, pending_count, happened, last_name, synced.last), 0};
            for (int kept = 0; kept < 2; kept++) {
                now.torn = 0;
                if (now.best != NONE)
                    now.torn |= !is_whole(now.best, length[now.best], durable[now.best], kept);
                if (now.last != NONE)
                    now.torn |= !is_whole(now.last, length[now.last], durable[now.last], kept);
                add_pair(found, now);
            }
        }
        if (i == operations || (left_out && left_out(i))) continue;
        const operation *one = &log_of[i];
        if (one->kind == WRITE) length[one->inode] += one->count;
        if (one->kind == SYNC) durable[one->inode] = length[one->inode];
        if (one->kind == SYNC_FOLDER) {
            synced.best = look_up(pending, pending_count, ~0u, best_name, synced.best);
            synced.last = look_up(pending, pending_count, ~0u, last_name, synced.last);
            pending_count = 0;
        }
        if (one->kind == CREATE || one->kind == RENAME || one->kind == UNLINK) {
            assert_true(pending_count < 12);
            pending[pending_count++] = one;
        }
    }
}

/* ---- the scenarios ---- */

static int put_file(const char *name, int which) {
    char path[NAME_BYTES];
    path_in(image, name, path);
    remove(path);
    if (which == NONE) return 0;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(files[which].bytes, 1, files[which].length, file), files[which].length);
    assert_int_equal(fclose(file), 0);
    attn_model *model = NULL; /* and it is a model */
    expect_ok(test_best_context(1), attn_model_load(test_best_context(1), path, &model));
    attn_model_destroy(model);
    return 1;
}

static int first_inode(const char *name) {
    char path[NAME_BYTES];
    size_t length;
    path_in(folder, name, path);
    char *bytes = file_bytes(path, &length);
    if (!bytes) return NONE;
    int made = new_inode();
    append(made, bytes, length);
    set_entry(name, made);
    free(bytes);
    return made;
}

/* What was recorded is all that happened: replayed to its end, it is what the folder has. */
static void check_recording(const char *name) {
    char path[NAME_BYTES];
    size_t length = 0;
    path_in(folder, name, path);
    char *bytes = file_bytes(path, &length);
    int at = find_entry(name), which = at == NONE ? NONE : entries[at].inode;
    assert_int_equal(bytes != NULL, which != NONE);
    if (bytes) assert_true(files[which].length == length && memcmp(files[which].bytes, bytes, length) == 0);
    free(bytes);
}

static void begin_recording(pair *first) {
    operations = inodes = entry_count = 0;
    *first = (pair){first_inode(best_name), first_inode(last_name), 0};
    memset(opened, 0, sizeof opened);
    recording = 1;
}

static void end_recording(void) {
    int kinds[SYNC_FOLDER + 1] = {0};
    recording = 0;
    for (int i = 0; i < operations; i++) kinds[log_of[i].kind]++;
    assert_true(kinds[CREATE] > 5 && kinds[WRITE] > 50 && kinds[SYNC] > 5 && kinds[RENAME] > 5 &&
                kinds[SYNC_FOLDER] > 5);
    check_recording(best_name);
    check_recording(last_name);
}

static void free_recording(void) {
    for (int i = 0; i < inodes; i++) free(files[i].bytes);
    inodes = operations = entry_count = 0;
}

static void resume_all(const char *what, const run *given, pair first, const pairs *found) {
    int last_best = entries[find_entry(best_name)].inode, resumed = 0;
    run again = *given;
    again.force = 0;
    again.resume = 1;
    for (int i = 0; i < found->count; i++) {
        pair now = found->list[i];
        char path[NAME_BYTES], whole[NAME_BYTES];
        if (now.torn) fail_msg("%s: a file can be torn (best %d, last %d)", what, now.best, now.last);
        if (first.best != NONE && now.best == NONE) fail_msg("%s: the model can be lost", what);
        put_file(best_name, now.best);
        put_file(last_name, now.last);
        if (now.best == first.best && now.last == first.last) continue;         /* as before it began */
        if (given->more && now.last == NONE && now.best == last_best) continue; /* as after its end */
        attn_status status = train_in(image, &again);
        if (status != ATTN_OK)
            fail_msg("%s: best %d, last %d: %s", what, now.best, now.last,
                     attn_context_error(test_best_context(1)));
        path_in(image, best_name, path);
        path_in(folder, best_name, whole);
        if (!same_files(path, whole))
            fail_msg("%s: best %d, last %d: resumed to another model", what, now.best, now.last);
        resumed++;
    }
    assert_true(resumed > 5);
    print_message("%s: %d operations, %d images that differ, %d resumed\n", what, operations, found->count,
                  resumed);
}

static void check_run(const char *what, const run *given) {
    static pairs found;
    pair first;
    begin_recording(&first);
    expect_ok(test_best_context(1), train_in(folder, given));
    end_recording();
    imagine(first, NULL, &found);
    resume_all(what, given, first, &found);
    free_recording();
}

static void start_over(const run *before) {
    char path[NAME_BYTES];
    path_in(folder, best_name, path);
    remove(path);
    path_in(folder, last_name, path);
    remove(path);
    if (before) expect_ok(test_best_context(1), train_in(folder, before));
}

static void test_runs(void **state) {
    (void)state;
    const run other = {.seed = "7"}, stopped = {.seed = "7", .stop_at = 2};
    start_over(NULL);
    check_run("a new run", &(run){.seed = "1"});
    start_over(NULL);
    check_run("a new run that keeps its .last file", &(run){.seed = "1", .keep_last = 1});
    start_over(&other);
    check_run("over a finished run", &(run){.seed = "1", .force = 1});
    start_over(&stopped);
    check_run("over a run that was stopped", &(run){.seed = "1", .force = 1});
    start_over(&stopped);
    check_run("the rest of a run that was stopped", &(run){.seed = "7", .resume = 1});
    start_over(&other);
    check_run("more of a finished run", &(run){.seed = "7", .more = 1});
}

/* ---- that the images would show it ---- */

static int skip_syncs(int index) { return log_of[index].kind == SYNC; }

/* The sync of the folder before the .last file is removed. */
static int skip_folder(int index) {
    for (int i = index + 1; log_of[index].kind == SYNC_FOLDER && i < operations; i++) {
        if (log_of[i].kind == SYNC_FOLDER) return 0;
        if (log_of[i].kind == UNLINK && strcmp(log_of[i].name, last_name) == 0) return 1;
    }
    return 0;
}

static void test_without_syncs(void **state) {
    (void)state;
    static pairs found;
    pair first;
    start_over(NULL);
    begin_recording(&first);
    expect_ok(test_best_context(1), train_in(folder, &(run){.seed = "1"}));
    end_recording();
    int last_best = entries[find_entry(best_name)].inode, torn = 0, lost = 0;
    imagine(first, skip_syncs, &found);
    for (int i = 0; i < found.count; i++) torn += found.list[i].torn;
    assert_true(torn > 0);
    imagine(first, skip_folder, &found);
    for (int i = 0; i < found.count;
         i++) /* a model that does not say that it is finished, and no .last file */
        lost += found.list[i].best != NONE && found.list[i].best != last_best && found.list[i].last == NONE;
    assert_true(lost > 0);
    free_recording();
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder) || !mkdtemp(image)) return -1;
    log_of = calloc(MOST_OPERATIONS, sizeof *log_of);
    corpus = corpus_conllu(1, 60);
    dev = corpus_conllu(2, 15);
    return log_of ? 0 : -1;
}

static int teardown(void **state) {
    free(log_of);
    free(corpus);
    free(dev);
    remove_folder(folder);
    remove_folder(image);
    return test_contexts_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_without_syncs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
