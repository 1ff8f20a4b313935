/* file.c: reads and replaces whole files. A file is opened without blocking, because otherwise opening
 * a FIFO would wait for a writer. */
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the descriptor, or -1 with *error set. */
static int open_file(const char *path, file_trust trust, mcp_error *error)
{
    struct stat st;
    int waits = trust == FILE_FOUND ? O_NONBLOCK | O_NOCTTY : 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | waits);
    error->code = fd < 0 && (errno == ENOENT || errno == ENOTDIR) ? MCP_ENOTFOUND : MCP_EIO;
    if (fd < 0)
        snprintf(error->text, sizeof(error->text), "%s", strerror(errno));
    if (fd < 0 || trust == FILE_NAMED || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    snprintf(error->text, sizeof(error->text), "it is not a regular file");
    close(fd);
    return -1;
}

static int read_all(int fd, size_t most, char **ret, size_t *len, mcp_error *error)
{
    size_t room = 0;
    for (;;) {
        if (*len + 1 >= room) {
            room = room ? room * 2 : 8192;
            char *grown = realloc(*ret, room);
            if (!grown)
                return MCP_ENOMEM;
            *ret = grown;
        }
        ssize_t n = read(fd, *ret + *len, room - *len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            snprintf(error->text, sizeof(error->text), "%s", strerror(errno));
            return MCP_EIO;
        }
        *len += (size_t)n;
        (*ret)[*len] = 0;
        if (n == 0 || *len > most)
            return n == 0 ? MCP_OK : MCP_ELIMIT;
    }
}

int file_read(int fd, size_t most, char **ret, size_t *len, mcp_error *error)
{
    *error = (mcp_error){0};
    *ret = NULL;
    *len = 0;
    int rc = read_all(fd, most, ret, len, error);
    if (rc == MCP_OK)
        return MCP_OK;
    free(*ret);
    *ret = NULL;
    error->code = rc;
    if (rc == MCP_ELIMIT)
        snprintf(error->text, sizeof(error->text), "it has more than %zu bytes", most);
    else if (!error->text[0])
        snprintf(error->text, sizeof(error->text), "%s", mcp_error_text(rc));
    return rc;
}

int file_load(const char *path, file_trust trust, size_t most, char **ret, size_t *len,
              mcp_error *error)
{
    *error = (mcp_error){0};
    *ret = NULL;
    *len = 0;
    int fd = open_file(path, trust, error);
    if (fd < 0)
        return error->code;
    int rc = file_read(fd, most, ret, len, error);
    close(fd);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

int file_replace(const char *path, const char *text, size_t len, bool sync)
{
    char *new = NULL;
    if (asprintf(&new, "%s.XXXXXX", path) < 0)
        return ENOMEM;
    int fd = mkostemp(new, O_CLOEXEC), why = fd < 0 ? errno : 0;
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = to && fwrite(text, 1, len, to) == len && fflush(to) == 0 && (!sync || fsync(fd) == 0);
    if (to)
        ok = fclose(to) == 0 && ok;
    else if (fd >= 0)
        close(fd);
    if (fd >= 0 && (!ok || rename(new, path) != 0)) {
        why = errno;
        unlink(new);
    }
    free(new);
    return why;
}

/* ---- programs -------------------------------------------------------------------------------- */

bool file_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool file_find_program(const char *name, char *to, size_t room)
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/bin:/usr/bin"; *at; at += strcspn(at, ":"), at += *at == ':') {
        int n = snprintf(to, room, "%.*s/%s", (int)strcspn(at, ":"), at, name);
        if (n > 0 && (size_t)n < room && file_is_program(to))
            return true;
    }
    return false;
}
