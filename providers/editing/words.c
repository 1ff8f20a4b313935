/* words.c: see words.h. */
#include "words.h"

#include <errno.h>
#include <stdio.h>

/* Longer paths lose their beginning, so that the reason has room in mcp_error. */
enum { PATH_SHOWN = 72 };

static const struct {
    int error;
    int code;
    const char *what, *next;
} rows[] = {
    {ENOSPC, MCP_ELIMIT, "the disk is full (ENOSPC)", "free some space and try again"},
    {EDQUOT, MCP_ELIMIT, "the quota is used up (EDQUOT)", "free some space and try again"},
    {EFBIG, MCP_ELIMIT, "the file would be too large (EFBIG)", "write less"},
    {EROFS, MCP_EACCESS, "the file system is mounted read-only (EROFS)",
     "mount it for writing, or write elsewhere"},
    {EIO, MCP_EIO, "the device reports an error (EIO)", "look into the kernel's log"},
    {EACCES, MCP_EACCESS, "no permission (EACCES)",
     "let this user write the folder, or write elsewhere"},
    {EPERM, MCP_EACCESS, "not permitted (EPERM)",
     "look at the attributes of file and folder (lsattr)"},
    {EXDEV, MCP_EACCESS, "it is outside of the folder or on another mount (EXDEV)",
     "name a file of the folder"},
    {ELOOP, MCP_EACCESS, "a symbolic link is in the path (ELOOP)",
     "name the file that it leads to"},
    {ENOENT, MCP_ENOTFOUND, "there is no such file or folder (ENOENT)", "list the folder"},
    {ENOTDIR, MCP_ENOTFOUND, "a part of the path is no folder (ENOTDIR)", "list the folder above"},
    {EISDIR, MCP_EACCESS, "it is a folder (EISDIR)", "name a file"},
    {ESTALE, MCP_ENOTFOUND, "the folder is gone (ESTALE)", "try again"},
    {ENAMETOOLONG, MCP_ENOTFOUND, "the name is too long (ENAMETOOLONG)", "use a shorter one"},
    {EINVAL, MCP_EUNSUPPORTED, "the file system cannot do this (EINVAL)", "write elsewhere"},
    {EOPNOTSUPP, MCP_EUNSUPPORTED, "the file system cannot do this (EOPNOTSUPP)",
     "write elsewhere"},
    {ENOSYS, MCP_EUNSUPPORTED, "the kernel cannot do this (ENOSYS)", "use Linux 5.6 or later"},
    {EEXIST, MCP_EEXIST, "there is something with this name already (EEXIST)",
     "read it, and use its version"},
    {EBUSY, MCP_ESTATE, "it is in use (EBUSY)", "try again"},
    {ETXTBSY, MCP_ESTATE, "the program is running (ETXTBSY)", "end it first"},
    {EAGAIN, MCP_ESTATE, "its folder is being renamed all the time (EAGAIN)", "try again"},
    {EMFILE, MCP_EFILES, "no file descriptor is left (EMFILE)", "try again later"},
    {ENFILE, MCP_EFILES, "no file descriptor is left (ENFILE)", "try again later"},
    {ENOMEM, MCP_ENOMEM, "out of memory", "try again later"},
};

static const char *shown(const char *rel)
{
    size_t len = strlen(rel);
    if (len <= PATH_SHOWN)
        return rel;
    rel += len - PATH_SHOWN;
    while (((unsigned char)*rel & 0xc0) == 0x80)
        rel++;
    return rel;
}

int editing_refuse(mcp_error *err, int code, const char *rel, const char *format, ...)
{
    va_list args;
    if (!err)
        return code;
    const char *path = shown(rel);
    *err = (mcp_error){.code = code};
    int len = snprintf(err->text, sizeof(err->text), "%s%s: ", path == rel ? "" : "...", path);
    va_start(args, format);
    vsnprintf(err->text + len, sizeof(err->text) - (size_t)len, format, args);
    va_end(args);
    return code;
}

int editing_failed(mcp_error *err, const char *rel, const char *step, int error)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].error == error)
            return editing_refuse(err, rows[i].code, rel,
                                  "%s failed, %s; the file is as it was; %s", step, rows[i].what,
                                  rows[i].next);
    return editing_refuse(err, MCP_EIO, rel,
                          "%s failed with the error %d of the system; the file is as it was", step,
                          error);
}
