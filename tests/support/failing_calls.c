/* Preloaded into a run: fails, shortens or kills at the n-th call on a file below a folder.

   CALLS_BELOW   the folder; only files with "tfstate" in their path count
   CALLS_AT      which call is met, from 1
   CALLS_HOW     the number of an error, or "short", or "kill"
   CALLS_ON      set: the calls that follow fail too
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls;

/* Return whether the call is met: not (0), by an error (1), or by a shorter write (2). */
static int meet(const char *path) {
    const char *below = getenv("CALLS_BELOW"), *at = getenv("CALLS_AT"), *how = getenv("CALLS_HOW");
    if (!below || !at || !how || strncmp(path, below, strlen(below)) || !strstr(path, "tfstate"))
        return 0;
    int number = __sync_add_and_fetch(&calls, 1), wanted = atoi(at);
    if (number < wanted || (number > wanted && !getenv("CALLS_ON")))
        return 0;
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "short"))
        return 2;
    errno = atoi(how);
    return 1;
}

static int meet_open(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return meet(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITE(name, offset, pass)                                                                  \
    ssize_t name(int descriptor, const void *data, size_t size offset) {                           \
        int met = meet_open(descriptor);                                                           \
        if (met == 1)                                                                              \
            return -1;                                                                             \
        return REAL(name)(descriptor, data, met == 2 && size > 1 ? size / 2 : size pass);          \
    }
#define NOTHING
#define OFFSET , off_t offset
#define PASS , offset
WRITE(write, NOTHING, NOTHING)
WRITE(pwrite, OFFSET, PASS)
WRITE(pwrite64, OFFSET, PASS)

#define BY_DESCRIPTOR(name)                                                                        \
    int name(int descriptor) { return meet_open(descriptor) == 1 ? -1 : REAL(name)(descriptor); }
BY_DESCRIPTOR(fsync)
BY_DESCRIPTOR(fdatasync)

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        int mode = va_arg(rest, int);                                                              \
        va_end(rest);                                                                              \
        return meet(path) == 1 ? -1 : REAL(name)(path, flags, mode);                               \
    }
OPEN(open)
OPEN(open64)

int unlink(const char *path) { return meet(path) == 1 ? -1 : REAL(unlink)(path); }

int rename(const char *from, const char *to) { return meet(to) == 1 ? -1 : REAL(rename)(from, to); }
