/* plain.c: see plain.h. */
#define _GNU_SOURCE
#include "plain.h"
#include "words.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel's own bounds for the list of names and for one value. */
enum { MAX_NAMES = 64 * 1024, MAX_VALUE = 64 * 1024 };

/* ---- which files may be changed ------------------------------------------------------------------------------ */

static bool is_special(const struct stat *st)
{
    return !S_ISREG(st->st_mode);
}
static bool is_linked(const struct stat *st)
{
    return st->st_nlink > 1;
}
static bool is_setuid(const struct stat *st)
{
    return st->st_mode & S_ISUID;
}
static bool is_setgid(const struct stat *st)
{
    return st->st_mode & S_ISGID;
}
static bool is_foreign(const struct stat *st)
{
    return st->st_uid != geteuid();
}
static bool is_read_only(const struct stat *st)
{
    return !(st->st_mode & S_IWUSR);
}

static const struct {
    bool (*applies)(const struct stat *st);
    const char *text;
} kinds[] = {
    {is_special, "not a regular file; only regular files are written"},
    {is_linked,
     "has more than one link; the other names would keep the old contents; copy it first"},
    {is_setuid, "is setuid; such files are never written"},
    {is_setgid, "is setgid; such files are never written"},
    {is_foreign, "belongs to another user; only files of the user of this server are written"},
    {is_read_only, "is read-only for its owner; chmod u+w lifts this"},
};

const char *editing_not_plain(const struct stat *st)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].applies(st))
            return kinds[i].text;
    return NULL;
}

/* Attributes that say something about these contents, or give them rights. */
static const struct {
    const char *name, *text;
} attributes[] = {
    {"security.capability", "has capabilities (getcap); such files are never written"},
    {"security.ima", "is measured by the kernel (security.ima); such files are never written"},
    {"security.evm", "is measured by the kernel (security.evm); such files are never written"},
};

static const struct {
    int flag;
    const char *text;
} flags[] = {
    {FS_IMMUTABLE_FL, "is immutable; chattr -i lifts this"},
    {FS_APPEND_FL, "may only be appended to; chattr -a lifts this"},
    {FS_VERITY_FL, "is sealed by fs-verity; such files are never written"},
};

const char *editing_not_plain_inside(int fd)
{
    int present = 0;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (fgetxattr(fd, attributes[i].name, NULL, 0) >= 0)
            return attributes[i].text;
    if (ioctl(fd, FS_IOC_GETFLAGS, &present) < 0)
        return NULL; /* a file system without flags */
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (present & flags[i].flag)
            return flags[i].text;
    return NULL;
}

/* ---- what a replaced file keeps ------------------------------------------------------------------------------ */

/* Errors that say nothing about what the file system can do. */
static bool is_failure(int error)
{
    static const int errors[] = {ENOSPC, EDQUOT, EIO, EROFS, ENOMEM, EMFILE};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (error == errors[i])
            return true;
    return false;
}

static int lost(const char *rel, const char *what, int error, mcp_error *err)
{
    char step[160];
    snprintf(step, sizeof(step), "keeping its %s", what);
    if (is_failure(error))
        return editing_failed(err, rel, step, error);
    return editing_refuse(
        err, MCP_EACCESS, rel,
        "its %s cannot be kept; the file is as it was; remove it, or write elsewhere", what);
}

/* The group needs membership; whoever lacks it cannot keep the group's rights either. */
static int keep_group(const struct stat *st, int to, const char *rel, mcp_error *err)
{
    struct stat now;
    if (fstat(to, &now) < 0)
        return editing_failed(err, rel, "reading the status of its new contents", errno);
    if (now.st_uid == st->st_uid && now.st_gid == st->st_gid)
        return MCP_OK;
    return fchown(to, st->st_uid == now.st_uid ? (uid_t)-1 : st->st_uid, st->st_gid) < 0
               ? lost(rel, "group", errno, err)
               : MCP_OK;
}

/* Returns the number of bytes, or -1. An attribute that is missing has -1 and ENODATA. */
static ssize_t value_of(int fd, const char *name, char *value)
{
    return fgetxattr(fd, name, value, MAX_VALUE);
}

/* An attribute that the new file already has, such as a label of the system's policy, need not be set. */
static bool keep_attribute(int from, int to, const char *name, char *value, char *other)
{
    ssize_t len = value_of(from, name, value);
    if (len < 0)
        return false;
    if (value_of(to, name, other) == len && memcmp(value, other, (size_t)len) == 0)
        return true;
    return fsetxattr(to, name, value, (size_t)len, 0) == 0;
}

static int keep_each(int from, int to, const char *rel, char *room, mcp_error *err)
{
    char *values = room + MAX_NAMES;
    ssize_t len = flistxattr(from, room, MAX_NAMES);
    if (len < 0)
        return editing_failed(err, rel, "reading its attributes", errno);
    for (const char *name = room; name < room + len; name += strlen(name) + 1)
        if (!keep_attribute(from, to, name, values, values + MAX_VALUE)) {
            char what[128];
            int error = errno;
            snprintf(what, sizeof(what), "attribute %s", name);
            return lost(rel, what, error, err);
        }
    return MCP_OK;
}

/* Most files have none. */
static int keep_attributes(int from, int to, const char *rel, mcp_error *err)
{
    ssize_t len = flistxattr(from, NULL, 0);
    if (len == 0 || (len < 0 && errno == EOPNOTSUPP))
        return MCP_OK;
    char *room = len < 0 ? NULL : malloc(MAX_NAMES + 2 * MAX_VALUE);
    if (!room)
        return editing_failed(err, rel, "reading its attributes", len < 0 ? errno : ENOMEM);
    int rc = keep_each(from, to, rel, room, err);
    free(room);
    return rc;
}

/* Its folder's default list may have given the new file one that the old one does not have. */
static int drop_list(int from, int to, const char *rel, mcp_error *err)
{
    static const char name[] = "system.posix_acl_access";
    if (fgetxattr(from, name, NULL, 0) < 0 && fgetxattr(to, name, NULL, 0) >= 0 &&
        fremovexattr(to, name) < 0)
        return lost(rel, "access control list", errno, err);
    return MCP_OK;
}

/* The flags that a user may set (chattr). */
enum { KEPT_FLAGS = 0x000380FF | FS_NOCOMP_FL | FS_NOCOW_FL | FS_JOURNAL_DATA_FL };

static int keep_flags(int from, int to, const char *rel, mcp_error *err)
{
    static const char what[] = "set of flags (lsattr)";
    int old = 0;
    int now = 0;
    if (ioctl(from, FS_IOC_GETFLAGS, &old) < 0 || ioctl(to, FS_IOC_GETFLAGS, &now) < 0)
        return is_failure(errno) ? lost(rel, what, errno, err) : MCP_OK;
    if (((old ^ now) & KEPT_FLAGS) == 0)
        return MCP_OK;
    now = (now & ~KEPT_FLAGS) | (old & KEPT_FLAGS);
    return ioctl(to, FS_IOC_SETFLAGS, &now) < 0 ? lost(rel, what, errno, err) : MCP_OK;
}

/* After the access control list, whose mask the mode is. */
static int keep_mode(const struct stat *st, int to, const char *rel, mcp_error *err)
{
    struct stat now;
    if (fchmod(to, st->st_mode & 07777) < 0 || fstat(to, &now) < 0)
        return editing_failed(err, rel, "setting its mode", errno);
    bool same = now.st_mode == st->st_mode && now.st_uid == st->st_uid && now.st_gid == st->st_gid;
    return same ? MCP_OK : lost(rel, "mode", 0, err);
}

int editing_keep(int from, const struct stat *st, int to, const char *rel, mcp_error *err)
{
    int rc = keep_group(st, to, rel, err);
    if (rc == MCP_OK)
        rc = drop_list(from, to, rel, err);
    if (rc == MCP_OK)
        rc = keep_attributes(from, to, rel, err);
    if (rc == MCP_OK)
        rc = keep_mode(st, to, rel, err);
    if (rc == MCP_OK)
        rc = keep_flags(from, to, rel, err);
    return rc;
}
