/* journal_segment.c: see journal_segment.h. */
#define _GNU_SOURCE
#include "journal_segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names --------------------------------------------------------------------------------------------------- */

#define NAME_FORMAT "%010" PRIx64 "-%016" PRIx64 ".journal"
enum { NAME_SIZE = 10 + 1 + 16 + 8 + 1 };

static void name_of(const editing_segment *segment, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, NAME_FORMAT, segment->number, segment->key);
}

/* A name is one if it is what its numbers are written as. */
static bool is_segment(const char *name, editing_segment *ret)
{
    char again[NAME_SIZE];
    char *end = NULL;
    if (strlen(name) != NAME_SIZE - 1)
        return false;
    *ret = (editing_segment){.number = strtoull(name, &end, 16)};
    if (*end != '-' || ret->number >= EDITING_SPOT_MAX)
        return false;
    ret->key = strtoull(end + 1, NULL, 16);
    name_of(ret, again);
    return strcmp(name, again) == 0;
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

/* More segments than this were not made by a journal. */
enum { SEGMENTS_MAX = 1 << 16 };

static int grow(editing_segments *list, const mcp_allocator *alloc)
{
    if (list->count < list->cap)
        return MCP_OK;
    size_t cap = list->cap ? 2 * list->cap : 64;
    editing_segment *items = NULL;
    if (cap <= SEGMENTS_MAX)
        items = alloc->resize(list->items, cap * sizeof(*items), alloc->user);
    if (!items)
        return MCP_ENOMEM;
    list->items = items;
    list->cap = cap;
    return MCP_OK;
}

static int by_number(const void *a, const void *b)
{
    const editing_segment *x = a;
    const editing_segment *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static editing_segment *find_same(const editing_segments *list, const editing_segment *segment)
{
    editing_segment *found =
        list->count ? bsearch(segment, list->items, list->count, sizeof(*segment), by_number)
                    : NULL;
    return found;
}

/* Adds the status of a name to the list. One that is gone again was removed by another process. */
static int add(editing_segments *list, const editing_segments *before, int folder, const char *name,
               const mcp_allocator *alloc)
{
    editing_segment segment;
    struct stat st;
    if (!is_segment(name, &segment))
        return MCP_OK;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? MCP_OK : MCP_EIO;
    const editing_segment *known = find_same(before, &segment);
    if (known)
        segment = *known;
    segment.size = (uint64_t)st.st_size;
    int rc = grow(list, alloc);
    if (rc == MCP_OK)
        list->items[list->count++] = segment;
    return rc;
}

static DIR *open_list(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

int editing_segments_list(editing_segments *list, int folder, const mcp_allocator *alloc)
{
    editing_segments fresh = {0};
    int rc = MCP_OK;
    DIR *dir = open_list(folder);
    if (!dir)
        return MCP_EIO;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        rc = add(&fresh, list, folder, entry->d_name, alloc);
        if (rc != MCP_OK)
            break;
    }
    int error = errno;
    closedir(dir);
    if (rc == MCP_OK && error)
        rc = MCP_EIO;
    if (rc != MCP_OK) {
        common_release(alloc, fresh.items);
        errno = error;
        return rc;
    }
    if (fresh.count)
        qsort(fresh.items, fresh.count, sizeof(*fresh.items), by_number);
    common_release(alloc, list->items);
    *list = fresh;
    return MCP_OK;
}

editing_segment *editing_segments_find(const editing_segments *list, uint64_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].number == number)
            return &list->items[i];
    return NULL;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

int editing_segment_open(int folder, const editing_segment *segment)
{
    char name[NAME_SIZE];
    struct stat st;
    name_of(segment, name);
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int error = fstat(fd, &st) < 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

/* The number is the time, unless the clock went back or two begin within a second. */
static uint64_t next_number(const editing_segments *list, int64_t now)
{
    uint64_t after = list->count ? list->items[list->count - 1].number + 1 : 1;
    uint64_t time = now > 0 ? (uint64_t)now : 0;
    return time > after && time < EDITING_SPOT_MAX / 2 ? time : after;
}

int editing_segment_make(editing_segments *list, int folder, int64_t now,
                         const mcp_allocator *alloc, int *ret)
{
    char name[NAME_SIZE];
    editing_segment segment = {.number = next_number(list, now)};
    if (grow(list, alloc) != MCP_OK)
        return MCP_ENOMEM;
    if (getrandom(&segment.key, sizeof(segment.key), 0) != (ssize_t)sizeof(segment.key))
        return MCP_EIO;
    name_of(&segment, name);
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return MCP_EIO;
    if (fsync(folder) < 0) {
        int error = errno;
        close(fd);
        unlinkat(folder, name, 0);
        errno = error;
        return MCP_EIO;
    }
    list->items[list->count++] = segment;
    *ret = fd;
    return MCP_OK;
}

int editing_segment_remove(int folder, const editing_segment *segment)
{
    char name[NAME_SIZE];
    name_of(segment, name);
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT ? MCP_OK : MCP_EIO;
}
