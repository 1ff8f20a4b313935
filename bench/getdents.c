/* getdents DIR [PASSES]: measures how long one bare pass of getdents64 over a folder takes.
 *
 * This is the lower bound for a page of a flat folder: nothing is sorted, stored or examined.
 * Prints the median of the passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

enum { BUFFER_SIZE = 64 * 1024, MAX_PASSES = 101, RECLEN_OFFSET = 16 };

/* Returns the number of entries, including "." and "..", or -1 on failure. */
static long one_pass(int fd)
{
    static _Alignas(uint64_t) char buffer[BUFFER_SIZE];
    long entries = 0, n;
    if (lseek(fd, 0, SEEK_SET) < 0) {
        return -1;
    }
    while ((n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < n; entries++) {
            uint16_t length; /* struct linux_dirent64: ino, off, reclen, type, name */
            memcpy(&length, buffer + at + RECLEN_OFFSET, sizeof(length));
            at += length;
        }
    }
    return n < 0 ? -1 : entries;
}

int main(int argc, char **argv)
{
    double times[MAX_PASSES];
    long entries = 0;
    long passes = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
    if (argc < 2 || passes < 1 || passes > MAX_PASSES) {
        fprintf(stderr, "usage: getdents DIR [PASSES]\n");
        return 2;
    }
    int fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long i = 0; fd >= 0 && i < passes; i++) {
        double start = now_us();
        entries = one_pass(fd);
        times[i] = (now_us() - start) / 1e3;
        if (entries < 0) {
            break;
        }
    }
    if (fd < 0 || entries < 0) {
        fprintf(stderr, "getdents: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    close(fd);
    printf("ms=%.3f entries=%ld\n", median(times, (size_t)passes), entries);
    return 0;
}
