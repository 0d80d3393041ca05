/* windows.h: memory that several processes of one host share, and a gate at which they wait for each other.
 *
 * Messages between ranks of one host are copied twice, and a rank that waits for one has to poll. Through a
 * window a rank reads the other rank's memory in place, and sleeps until it is written.
 *
 * A window is an unnamed file (memfd_create) that the others open by the process id and the file descriptor
 * of its owner. Nothing is left behind, however the processes end.
 */
#ifndef AT_TRAIN_MODULES_WINDOWS_H
#define AT_TRAIN_MODULES_WINDOWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* How others find a window of this process. */
typedef struct at_window_name {
    int64_t process;
    int32_t file; /* -1: there is none */
    uint64_t token;
} at_window_name;

/* Makes a window of so many bytes, all 0. NULL if the system refuses. */
void *at_window_make(size_t bytes, at_window_name *name);
/* That of another process; NULL if it cannot be opened, as from another host or container. */
void *at_window_open(const at_window_name *name, size_t bytes);
/* Once all have opened it, or failed to. */
void at_window_close_file(at_window_name *name);
void at_window_free(void *window, size_t bytes); /* NULL is allowed */

/* In a window; all 0 is a gate that nobody has reached. */
typedef struct at_gate {
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint round;
} at_gate;

/* Returns when `count` processes are here; what each did before is seen by all after it. While *computing is
 * not 0 a wait leaves the core to the others of its process at once; else it looks for some milliseconds
 * before it sleeps. idle: called with `user` now and then, if the wait is long. */
void at_gate_pass(at_gate *gate, int count, const atomic_int *computing, void (*idle)(void *user),
                  void *user);

#endif
