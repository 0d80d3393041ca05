/* exchange_open.c: whether a launcher started this process, and the module that joins it to the others. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
#include "train/exchange.h"

#define MODULE "libattn-mpi.so"
#ifndef AT_MODULE_FOLDER /* where it is installed, and the way there from the folder of the program */
#define AT_MODULE_FOLDER "/usr/local/lib"
#define AT_MODULE_FROM_PROGRAM "../lib"
#endif

/* ---- the launcher ---- */

/* A number >= least of the environment; -1: none. */
static int number_of(const char *name, int least) {
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text) return -1;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno || *end || number < least || number > INT_MAX ? -1 : (int)number;
}

/* Open MPI's mpirun sets OMPI_COMM_WORLD_*; MPICH's, Intel's and other hydras PMI_RANK and PMI_SIZE, as does
 * srun --mpi=pmi2; srun --mpi=pmix sets PMIX_RANK and leaves the size to Slurm's own variables. Those alone
 * say nothing: a script of sbatch has SLURM_NTASKS and SLURM_PROCID, too, and no launcher. But the number of
 * tasks of a step is set by srun alone: more than one without PMI is a mistake that the module reports. */
int attn_exchange_launched(void) {
    int size = number_of("OMPI_COMM_WORLD_SIZE", 1);
    if (size > 0 && number_of("OMPI_COMM_WORLD_RANK", 0) >= 0) return size;
    size = number_of("PMI_SIZE", 1);
    if (size > 0 && number_of("PMI_RANK", 0) >= 0) return size;
    if (number_of("SLURM_PROCID", 0) < 0) return 1;
    int of_step = number_of("SLURM_STEP_NUM_TASKS", 1);
    if (of_step > 0) return of_step;
    size = number_of("SLURM_NTASKS", 1);
    return size > 0 && number_of("PMIX_RANK", 0) >= 0 ? size : 1;
}

/* ---- the module ---- */

/* Whether there is FOLDER/way/MODULE, where folder is that of the file `beside`; its path. */
static int find_beside(const char *beside, const char *way, char *path, size_t room) {
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    if (!slash) return 0;
    int length =
        snprintf(path, room, "%.*s/%s%s" MODULE, (int)(slash - beside), beside, way, *way ? "/" : "");
    return length > 0 && (size_t)length < room && access(path, R_OK) == 0;
}

/* Where the module is: beside the program or the library that this function is in, on the way from there to
 * the folder of libraries, in the folder that it was configured for; else its name, for the system's folders.
 */
static void find_module(char *path, size_t room) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    Dl_info info;
    const char *library = dladdr((void *)(size_t)attn_exchange_launched, &info) ? info.dli_fname : NULL;
    if (find_beside(program, "", path, room) || find_beside(library, "", path, room) ||
        find_beside(program, AT_MODULE_FROM_PROGRAM, path, room) ||
        find_beside(AT_MODULE_FOLDER "/", "", path, room))
        return;
    snprintf(path, room, "%s", MODULE);
}

/* Loads it and joins. RTLD_GLOBAL: the plugins of some MPIs look for symbols of the library that loads them.
 */
static attn_status join(attn_exchange *exchange, const char *path, int launched) {
    attn_context *context = exchange->context;
    exchange->library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!exchange->library)
        return at_fail(
            context, ATTN_SYSTEM_ERROR,
            "a launcher started %d processes, but the module that joins them cannot be loaded: "
            "%.200s. Build attn where MPI is installed (Debian: libopenmpi-dev), which makes " MODULE
            ", or name it with ATTN_MPI=FILE",
            launched, dlerror());
    at_exchange_join *module = NULL;
    void *symbol = dlsym(exchange->library, "at_exchange_module");
    memcpy(&module, &symbol, sizeof module);
    if (!module)
        return at_fail(context, ATTN_SYSTEM_ERROR, "%s is not a module of attn: it lacks at_exchange_module",
                       path);
    char text[AT_EXCHANGE_TEXT] = "";
    exchange->calls.version = AT_EXCHANGE_VERSION;
    exchange->calls.ranks = launched;
    exchange->calls.computing = &exchange->computing;
    if (module(&exchange->calls, text)) return at_fail(context, ATTN_SYSTEM_ERROR, "%s: %s", path, text);
    if (exchange->calls.version == AT_EXCHANGE_VERSION) return ATTN_OK;
    return at_fail(context, ATTN_SYSTEM_ERROR,
                   "%s was built for another version of attn (module %d, attn %d): build both together", path,
                   exchange->calls.version, AT_EXCHANGE_VERSION);
}

attn_status attn_exchange_open(attn_context *context, const char *module, attn_exchange **exchange) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!exchange) return at_fail(context, ATTN_INVALID_ARGUMENT, "exchange is NULL");
    int launched = attn_exchange_launched();
    *exchange = NULL;
    if (launched < 2) return ATTN_OK;
    attn_exchange *made = at_allocate(context, 1, sizeof *made, "an exchange");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    char path[PATH_MAX];
    const char *named = module ? module : getenv("ATTN_MPI");
    if (named && *named)
        snprintf(path, sizeof path, "%s", named);
    else
        find_module(path, sizeof path);
    attn_status status = join(made, path, launched);
    if (status != ATTN_OK) { /* the library stays loaded: what MPI has begun may still run */
        at_release(context, made);
        return status;
    }
    *exchange = made;
    return ATTN_OK;
}

/* The library stays loaded here, too: MPI leaves functions behind that run when the process ends. */
void attn_exchange_close(attn_exchange *exchange) {
    if (!exchange) return;
    exchange->calls.close(exchange->calls.user);
    at_release(exchange->context, exchange);
}
