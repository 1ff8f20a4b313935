/* scan.c: see scan.h. */
#define _GNU_SOURCE
#include "scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The record that getdents64() writes. */
struct entry {
    uint64_t ino;
    int64_t off;
    unsigned short size;
    unsigned char type;
    char name[];
};

static bool in_range(const files_scan *scan, const char *name, size_t len)
{
    if (len > 255 || name[0] == '/' ||
        (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
        return false;
    if (scan->after.len && files_name_compare(name, len, scan->after.ptr, scan->after.len) <= 0)
        return false;
    return scan->prefix.len == 0 ||
           (scan->prefix.len <= len && memcmp(name, scan->prefix.ptr, scan->prefix.len) == 0);
}

static unsigned char type_of(int fd, const char *name)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(st.st_mode);
}

/* Returns whether the entry may be served. A link counts as a file here and is resolved later. */
static bool served(files_scan *scan, int fd, const char *name, size_t len, unsigned char *type)
{
    size_t at = scan->len ? scan->len + 1 : 0;
    scan->examined++;
    if (*type == DT_UNKNOWN)
        *type = type_of(fd, name);
    if (*type != DT_REG && *type != DT_DIR && *type != DT_LNK)
        return false;
    if (at + len >= COMMON_PATH_MAX)
        return false;
    if (!scan->ignore)
        return true;
    if (at)
        scan->path[at - 1] = '/';
    memcpy(scan->path + at, name, len);
    scan->path[at + len] = '\0';
    return files_ignore_entry(scan->ignore, scan->rules, scan->path, at + len, at, *type == DT_DIR);
}

static int offer(files_scan *scan, int fd, const struct entry *e, files_batch *out)
{
    size_t len = strlen(e->name);
    unsigned char type = e->type;
    if (!in_range(scan, e->name, len))
        return MCP_OK;
    bool wanted = files_batch_wants(out, e->name, len);
    if (!wanted && scan->extra++ >= scan->count)
        return MCP_OK;
    if (!served(scan, fd, e->name, len, &type))
        return MCP_OK;
    scan->served++;
    return wanted ? files_batch_add(out, e->name, len, type) : MCP_OK;
}

int files_scan_folder(files_scan *scan, int fd, void *buffer, files_batch *out)
{
    for (;;) {
        long n = syscall(SYS_getdents64, fd, buffer, FILES_SCAN_BUFFER);
        if (n <= 0)
            return MCP_OK;
        for (long at = 0; at < n;) {
            const struct entry *e = (const void *)((const char *)buffer + at);
            int rc = offer(scan, fd, e, out);
            if (rc != MCP_OK)
                return rc;
            at += e->size;
        }
    }
}
