/* journal_open.c: opens a journal: its folder is checked. Also its lock. */
#define _GNU_SOURCE
#include "journal_open.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Errors are for callers, who need not know where it is. */
static const char what[] = "the journal of changes";

int editing_journal_failed(mcp_error *err, const char *step, int error)
{
    return editing_failed(err, what, step, error);
}

/* ---- the folder ---------------------------------------------------------------------------------------------- */

/* Makes a folder and those above it. */
static int make_folder(const char *folder)
{
    char path[PATH_MAX];
    size_t len = strlen(folder);
    if (len >= sizeof(path))
        return ENAMETOOLONG;
    memcpy(path, folder, len + 1);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && i < len)
            continue;
        path[i] = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return errno;
        if (i < len)
            path[i] = '/';
    }
    return 0;
}

/* A slash at the end would follow a link. */
static int open_folder(const char *folder)
{
    char path[PATH_MAX];
    size_t len = strlen(folder);
    if (len >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, folder, len + 1);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int check_folder(int fd, mcp_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return editing_failed(err, what, "reading the status of its folder", errno);
    if (st.st_uid != geteuid())
        return editing_refuse(err, MCP_EACCESS, what,
                              "its folder belongs to another user (%lu); name one of "
                              "your own with --journal",
                              (unsigned long)st.st_uid);
    if (st.st_mode & 077)
        return editing_refuse(err, MCP_EACCESS, what,
                              "others may read or write its folder (mode %03o), and it "
                              "has old contents of files; use chmod 700",
                              (unsigned)st.st_mode & 0777);
    return MCP_OK;
}

static int take_folder(editing_journal *j, const char *folder, mcp_error *err)
{
    int error = make_folder(folder);
    if (error)
        return editing_failed(err, what, "making its folder", error);
    j->folder = open_folder(folder);
    if (j->folder < 0 && (errno == ENOTDIR || errno == ELOOP))
        return editing_refuse(err, MCP_EACCESS, what,
                              "its folder is a link or no folder; name a folder with "
                              "--journal");
    if (j->folder < 0)
        return editing_failed(err, what, "opening its folder", errno);
    int rc = check_folder(j->folder, err);
    if (rc != MCP_OK)
        return rc;
    j->lock = openat(j->folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return j->lock < 0 ? editing_failed(err, what, "opening its lock", errno) : MCP_OK;
}

/* ---- the object ---------------------------------------------------------------------------------------------- */

static bool take_memory(editing_journal *j)
{
    j->head = common_alloc(&j->alloc, EDITING_HEAD_ROOM);
    j->block = common_alloc(&j->alloc, EDITING_BLOCK);
    return j->head && j->block;
}

static int no_memory(mcp_error *err)
{
    return editing_journal_failed(err, "opening it", ENOMEM);
}

int editing_journal_open(const char *folder, uint64_t most, const mcp_allocator *alloc,
                         editing_journal **ret, mcp_error *err)
{
    mcp_allocator a = common_allocator(alloc);
    editing_journal *j = common_alloc(&a, sizeof(*j));
    if (!j)
        return no_memory(err);
    *j = (editing_journal){.alloc = a, .folder = -1, .lock = -1};
    j->most = most < EDITING_SPOT_MAX / 2 ? most : EDITING_SPOT_MAX / 2;
    if (pthread_mutex_init(&j->mutex, NULL)) {
        common_release(&a, j);
        return no_memory(err);
    }
    int rc = take_memory(j) ? take_folder(j, folder, err) : no_memory(err);
    if (rc != MCP_OK) {
        editing_journal_close(j);
        return rc;
    }
    if (err)
        *err = (mcp_error){0};
    *ret = j;
    return MCP_OK;
}

void editing_journal_close(editing_journal *j)
{
    if (!j)
        return;
    if (j->folder >= 0)
        close(j->folder);
    if (j->lock >= 0)
        close(j->lock);
    mcp_allocator alloc = j->alloc;
    common_release(&alloc, j->list.items);
    common_release(&alloc, j->head);
    common_release(&alloc, j->block);
    pthread_mutex_destroy(&j->mutex);
    common_release(&alloc, j);
}

/* ---- the lock ------------------------------------------------------------------------------------------------ */

static int take_lock(int fd, int how)
{
    int n;
    do
        n = flock(fd, how);
    while (n < 0 && errno == EINTR);
    return n == 0 ? MCP_OK : MCP_EIO;
}

int editing_journal_lock(editing_journal *j, bool changes)
{
    pthread_mutex_lock(&j->mutex);
    int rc = take_lock(j->lock, changes ? LOCK_EX : LOCK_SH);
    if (rc == MCP_OK)
        rc = editing_segments_list(&j->list, j->folder, &j->alloc);
    if (rc != MCP_OK) {
        int error = errno;
        editing_journal_unlock(j);
        errno = error;
    }
    return rc;
}

void editing_journal_unlock(editing_journal *j)
{
    if (take_lock(j->lock, LOCK_UN) != MCP_OK)
        take_lock(j->lock, LOCK_UN); /* nobody could go on */
    pthread_mutex_unlock(&j->mutex);
}

editing_walk editing_journal_walk(const editing_segment *segment, int fd, char *bytes)
{
    return (editing_walk){.fd = fd,
                          .key = segment->key,
                          .number = segment->number,
                          .end = segment->size,
                          .bytes = bytes};
}
