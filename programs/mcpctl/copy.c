/* copy.c: see copy.h. */
#define _GNU_SOURCE
#include "copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <common/file.h>
#include <common/revise.h>

/* ---- making ---------------------------------------------------------------------------------- */

/* Only what every editor and shell takes for the name of a file, and never a hidden one or an option. */
static void name_of(const char *uri, char *to, size_t room)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *slash = strrchr(uri, '/'), *from = slash ? slash + 1 : uri;
    size_t len = strlen(from);
    from += len < room ? 0 : len - room + 1; /* the end has the kind of the text */
    for (len = 0; from[len]; len++)
        to[len] = strchr(allowed, from[len]) ? from[len] : '_';
    to[len] = 0;
    if (!len || to[0] == '.' || to[0] == '-')
        snprintf(to, room, "file.txt");
}

static char *make_folder(void)
{
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        char *folder = NULL;
        if (!places[i] || places[i][0] != '/' ||
            asprintf(&folder, "%s/mcpctl-XXXXXX", places[i]) < 0)
            continue;
        if (mkdtemp(folder))
            return folder;
        free(folder);
    }
    return NULL;
}

static bool write_to(const char *path, mcp_str text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool written = fwrite(text.ptr ? text.ptr : "", 1, text.len, f) == text.len;
    return fclose(f) == 0 && written;
}

int copy_make(mcp_str text, const char *uri, copy *ret)
{
    char name[100];
    *ret = (copy){0};
    name_of(uri, name, sizeof(name));
    ret->folder = make_folder();
    if (ret->folder && asprintf(&ret->path, "%s/%s", ret->folder, name) < 0)
        ret->path = NULL;
    if (ret->path && write_to(ret->path, text))
        return EXIT_OK;
    say("no copy for the editor can be made: %s", strerror(errno));
    copy_remove(ret);
    return EXIT_LOCAL;
}

/* ---- editing --------------------------------------------------------------------------------- */

int copy_edit(const copy *c, size_t most, char **ret, size_t *len)
{
    mcp_error error = {0};
    int rc = revise_file(c->path, &error);
    if (rc == MCP_OK) /* some editors replace the file */
        rc = file_load(c->path, FILE_FOUND, most, ret, len, &error);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("%s", error.text[0] ? error.text : mcp_error_text(rc));
    return EXIT_LOCAL;
}

bool copy_load(const copy *c, size_t most, char **ret, size_t *len)
{
    mcp_error error = {0};
    return file_load(c->path, FILE_FOUND, most, ret, len, &error) == MCP_OK;
}

/* ---- removing -------------------------------------------------------------------------------- */

void copy_keep(copy *c)
{
    free(c->folder);
    free(c->path);
    *c = (copy){0};
}

void copy_remove(copy *c)
{
    DIR *folder = c->folder ? opendir(c->folder) : NULL;
    for (struct dirent *e; folder && (e = readdir(folder)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(folder), e->d_name, 0);
    if (folder)
        closedir(folder);
    if (c->folder && rmdir(c->folder) != 0)
        say("%s cannot be removed: %s", c->folder, strerror(errno));
    copy_keep(c);
}
