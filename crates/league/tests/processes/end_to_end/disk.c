/* Fails one call of a process to the disk: the DISK_FAULT_AT-th that changes a file below
 * DISK_FAULT_FOLDER, except in the folders of referees. DISK_FAULT_HOW says how: `eio`, `enospc`,
 * `short` (half is written, then the disk is full) or `crash` (half is written, then the process is
 * gone). The call is noted in the file DISK_FAULT_NOTE. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static atomic_int full = -1;

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static int is_due(const char *call, const char *path) {
    const char *folder = setting("DISK_FAULT_FOLDER");
    if (!*folder || strncmp(path, folder, strlen(folder)) || strstr(path, "/referees/")) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != atol(setting("DISK_FAULT_AT"))) return 0;
    char note[4400];
    int length = snprintf(note, sizeof note, "%s %s\n", call, path);
    int file = syscall(SYS_openat, AT_FDCWD, setting("DISK_FAULT_NOTE"), O_CREAT | O_WRONLY, 0600);
    syscall(SYS_write, file, note, length);
    syscall(SYS_close, file);
    return 1;
}

static int is_due_at(const char *call, int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return is_due(call, path);
}

static int how(const char *name) { return !strcmp(setting("DISK_FAULT_HOW"), name); }

static int fail(void) {
    if (how("crash")) _exit(137);
    errno = how("eio") ? EIO : ENOSPC;
    return -1;
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (atomic_compare_exchange_strong(&full, &(int){file}, -1)) return fail();
    if (!is_due_at("write", file)) return syscall(SYS_write, file, bytes, count);
    if (how("crash") || how("short")) {
        ssize_t written = syscall(SYS_write, file, bytes, count / 2);
        if (how("crash")) return fail();
        atomic_store(&full, file);
        return written;
    }
    return fail();
}

int fsync(int file) { return is_due_at("fsync", file) ? fail() : syscall(SYS_fsync, file); }

int fdatasync(int file) {
    return is_due_at("fdatasync", file) ? fail() : syscall(SYS_fdatasync, file);
}

int rename(const char *from, const char *to) {
    return is_due("rename", to) ? fail() : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
