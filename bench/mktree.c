/* mktree: creates the trees and files for the benchmarks.
 *
 *   mktree tree DIR FOLDERS FILES [SIZE] FOLDERS folders of FILES files of SIZE bytes each;
 *                                          0 FOLDERS: FILES files in DIR itself
 *   mktree lines FILE BYTES a file of numbered lines, cut at BYTES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SIZE = 1 << 20, BLOCK = 1 << 20 };

static int fail(const char *what)
{
    fprintf(stderr, "mktree: %s: %s\n", what, strerror(errno));
    return 1;
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0) {
            return -1;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int make_files(int dir, long files, const char *content, size_t size)
{
    for (long i = 0; i < files; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f%07ld.txt", i);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 || write_all(fd, content, size) < 0) {
            return fail(name);
        }
        close(fd);
    }
    return 0;
}

static int make_folder(int root, long number, long files, const char *content, size_t size)
{
    char name[32];
    snprintf(name, sizeof(name), "d%05ld", number);
    int dir = -1;
    if (mkdirat(root, name, 0755) == 0) {
        dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (dir < 0) {
        return fail(name);
    }
    int rc = make_files(dir, files, content, size);
    close(dir);
    return rc;
}

static int make_tree(const char *path, long folders, long files, long size)
{
    static char content[MAX_SIZE];
    if (folders < 0 || files < 0 || size < 0 || size > MAX_SIZE) {
        errno = EINVAL;
        return fail("numbers");
    }
    memset(content, 'x', (size_t)size);
    if (mkdir(path, 0755) < 0 && errno != EEXIST) {
        return fail(path);
    }
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        return fail(path);
    }
    int rc = folders == 0 ? make_files(root, files, content, (size_t)size) : 0;
    for (long i = 0; i < folders && rc == 0; i++) {
        rc = make_folder(root, i, files, content, (size_t)size);
    }
    close(root);
    return rc;
}

static int make_lines(const char *path, long long bytes)
{
    static char block[BLOCK + 64];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return fail(path);
    }
    long long line = 0;
    while (bytes > 0) {
        size_t n = 0;
        while (n < BLOCK) {
            n += (size_t)snprintf(block + n, 64, "line %lld: the quick brown fox\n", ++line);
        }
        size_t take = (long long)n < bytes ? n : (size_t)bytes;
        if (write_all(fd, block, take) < 0) {
            return fail(path);
        }
        bytes -= (long long)take;
    }
    return close(fd) < 0 ? fail(path) : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 5 && strcmp(argv[1], "tree") == 0) {
        return make_tree(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10),
                         argc > 5 ? strtol(argv[5], NULL, 10) : 0);
    }
    if (argc == 4 && strcmp(argv[1], "lines") == 0) {
        return make_lines(argv[2], strtoll(argv[3], NULL, 10));
    }
    fprintf(stderr, "usage: mktree tree DIR FOLDERS FILES [SIZE] | mktree lines FILE BYTES\n");
    return 2;
}
