/* folders.c: makes the folders that a new file needs, beneath an opened one. */
#define _GNU_SOURCE
#include "place.h"
#include "words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Makes one folder in the one above it, which exists. Somebody else may have made it meanwhile. */
static int make_one(common_beneath at, const char *folder, const char *rel, mcp_error *err)
{
    char above[COMMON_PATH_MAX];
    const char *slash = strrchr(folder, '/');
    size_t len = slash ? (size_t)(slash - folder) : 0;
    memcpy(above, folder, len);
    above[len] = '\0';
    int dir = editing_open_folder(at, above);
    int why = dir < 0 ? errno : 0;
    if (dir >= 0 && mkdirat(dir, slash ? slash + 1 : folder, 0777) < 0 && errno != EEXIST)
        why = errno;
    if (dir >= 0 && !why && fsync(dir) < 0)
        why = errno;
    if (dir >= 0)
        close(dir);
    return why ? editing_failed(err, rel, "making its folder", why) : MCP_OK;
}

int editing_make_folders(common_beneath at, const char *rel, mcp_error *err)
{
    char folder[COMMON_PATH_MAX];
    size_t len = strlen(rel);
    if (at.walk || len >= sizeof(folder))
        return MCP_OK; /* the change itself says why it is not possible */
    for (const char *slash = strchr(rel, '/'); slash; slash = strchr(slash + 1, '/')) {
        memcpy(folder, rel, (size_t)(slash - rel));
        folder[slash - rel] = '\0';
        int dir = editing_open_folder(at, folder);
        int why = dir < 0 ? errno : 0;
        if (dir >= 0)
            close(dir);
        int rc = why == ENOENT               ? make_one(at, folder, rel, err)
                 : why == EACCES || why == 0 ? MCP_OK /* it need not be readable if it is there */
                                             : editing_failed(err, rel, "opening its folder", why);
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}
