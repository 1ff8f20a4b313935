/* file.c: see file.h. */
#define _GNU_SOURCE
#include "file.h"

#include "buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEAR_LOG = 8 << 20 }; /* bytes of a -wal file that the server's thread may have to read */

int64_t sqlite_nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static sqlite_stamp stamp_of(const struct stat *st)
{
    return (sqlite_stamp){(uint64_t)st->st_dev, (uint64_t)st->st_ino, (int64_t)st->st_size,
                          sqlite_nanoseconds(st->st_mtim), sqlite_nanoseconds(st->st_ctim)};
}

bool sqlite_same_file(const sqlite_stamp *a, const sqlite_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino;
}

bool sqlite_same_stamp(const sqlite_stamp *a, const sqlite_stamp *b)
{
    return sqlite_same_file(a, b) && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           a->ctime_ns == b->ctime_ns;
}

bool sqlite_stamp_of(const char *path, sqlite_stamp *ret)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    *ret = stamp_of(&st);
    if (S_ISREG(st.st_mode))
        return true;
    errno = ENOENT; /* opening a FIFO would block */
    return false;
}

void sqlite_look_at(const sqlite_file *f, sqlite_look *ret)
{
    memset(ret, 0, sizeof(*ret));
    sqlite_stamp_of(f->path, &ret->file);
    sqlite_stamp_of(f->wal, &ret->wal);
}

/* ---- files beside the database --------------------------------------------------------------- */

/* An empty -wal is equivalent to none, because commits are written there before they are written
 * to the file. */
bool sqlite_has_log(const sqlite_file *f)
{
    struct stat st;
    return lstat(f->wal, &st) == 0 ? st.st_size > 0 : errno != ENOENT;
}

/* A file modified within the file system's timer resolution may get the same time again. */
bool sqlite_is_young(const sqlite_stamp *stamp)
{
    enum { TICK_NS = 20 * 1000 * 1000 };
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return sqlite_nanoseconds(t) - stamp->mtime_ns < TICK_NS;
}

/* The first reader of a -wal file reads it completely. */
bool sqlite_has_long_log(const sqlite_file *f)
{
    struct stat st;
    return lstat(f->wal, &st) == 0 && st.st_size > NEAR_LOG;
}

/* SQLite would open a journal that is not a regular file, and opening a FIFO blocks until there
 * is a writer. */
bool sqlite_is_trapped(const sqlite_file *f)
{
    struct stat st;
    return lstat(f->journal, &st) == 0 && !S_ISREG(st.st_mode);
}

/* ---- path and permissions -------------------------------------------------------------------- */

static int refuse(mcp_error *error, int code, const char *path, const char *why)
{
    if (error) {
        error->code = code;
        error->offset = 0;
        snprintf(error->text, sizeof(error->text), "%.180s: %s", path, why);
    }
    return code;
}

/* Number of files that this process has found and not released. SQLite may have them open. */
static atomic_size_t in_use;

void sqlite_file_init(sqlite_file *f, const mcp_allocator *alloc)
{
    *f = (sqlite_file){.alloc = alloc};
    pthread_mutex_init(&f->lock, NULL);
}

int sqlite_file_find(sqlite_file *f, const char *path, mcp_error *error)
{
    struct stat st;
    char *real = realpath(path, NULL);
    if (!real || stat(real, &st) != 0) {
        int code = errno == ENOMEM                       ? MCP_ENOMEM
                   : errno == ENOENT || errno == ENOTDIR ? MCP_ENOTFOUND
                                                         : MCP_EACCESS;
        free(real);
        return refuse(error, code, path, strerror(errno));
    }
    f->path = common_copy(f->alloc, real, strlen(real));
    f->wal = common_alloc(f->alloc, strlen(real) + 5);
    f->journal = common_alloc(f->alloc, strlen(real) + 9);
    if (f->wal)
        sprintf(f->wal, "%s-wal", real);
    if (f->journal)
        sprintf(f->journal, "%s-journal", real);
    free(real);
    in_use += f->path != NULL;
    if (!f->path || !f->wal || !f->journal)
        return refuse(error, MCP_ENOMEM, path, "out of memory");
    if (!S_ISREG(st.st_mode))
        return refuse(error, MCP_EACCESS, path, "not a regular file");
    if (access(f->path, R_OK) != 0)
        return refuse(error, MCP_EACCESS, path, strerror(errno));
    return MCP_OK;
}

void sqlite_file_clear(sqlite_file *f)
{
    while (f->n_idle)
        sqlite_conn_free(f->idle[--f->n_idle]);
    in_use -= f->path != NULL;
    common_release(f->alloc, f->path);
    common_release(f->alloc, f->wal);
    common_release(f->alloc, f->journal);
    pthread_mutex_destroy(&f->lock);
}

/* Returns whether an encrypted database may begin so: text does not. */
static bool may_be_encrypted(const char *begin, size_t n)
{
    size_t shown = 0;
    while (shown < n && (begin[shown] >= ' ' || memchr("\t\r\n", begin[shown], 3)))
        shown++;
    return shown < n;
}

/* An encrypted database is found when it is read: only that source fails then, as it would if it were
 * damaged. */
static int check_beginning(const sqlite_file *f, const char *path, mcp_error *error)
{
    static const char magic[] = "SQLite format 3"; /* the NUL at its end is part of it */
    char begin[sizeof(magic)];
    struct stat st;
    int fd = open(f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return refuse(error, MCP_EACCESS, path, strerror(errno));
    ssize_t n =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, begin, sizeof(begin), 0) : -1;
    close(fd);
    if (n < 0)
        return refuse(error, MCP_EACCESS, path, "it cannot be read");
    return n == 0 || (n == sizeof(begin) && (memcmp(begin, magic, sizeof(magic)) == 0 ||
                                             may_be_encrypted(begin, (size_t)n)))
               ? MCP_OK
               : refuse(error, MCP_EACCESS, path, "file is not a database");
}

int sqlite_file_check(const char *path, const mcp_allocator *alloc, mcp_error *error)
{
    sqlite_file f;
    /* Closing any descriptor of a file releases all locks that the process has on it. */
    bool may_open = in_use == 0;
    sqlite_file_init(&f, alloc);
    int rc = sqlite_file_find(&f, path, error);
    if (rc == MCP_OK && may_open)
        rc = check_beginning(&f, path, error);
    sqlite_file_clear(&f);
    return rc;
}
