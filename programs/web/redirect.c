/* redirect.c: writes the file that leads the browser to the page, and removes it. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <common/text.h>

/* Returns whether a folder belongs to this user, and to nobody else. */
static bool is_private(const char *path)
{
    struct stat st;
    return path && *path == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

/* Returns whether nobody else can rename what this user makes in a folder. */
static bool is_safe(const char *path)
{
    struct stat st;
    return path && *path == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           (st.st_uid == geteuid() || st.st_uid == 0) &&
           ((st.st_mode & 022) == 0 || (st.st_mode & S_ISVTX));
}

static const char *folder_above(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    if (is_private(runtime))
        return runtime;
    return is_safe(temporary) ? temporary : "/tmp";
}

static bool write_page(int fd, const char *url)
{
    FILE *f = fdopen(fd, "w");
    if (!f) {
        close(fd);
        return false;
    }
    fprintf(f,
            "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
            "<meta name=referrer content=no-referrer>\n"
            "<meta http-equiv=refresh content=\"0; url=%s\">\n"
            "<title>mcpctl web</title>\n"
            "<p><a href=\"%s\" rel=noreferrer>Continue to mcpctl web</a>\n</html>\n",
            url, url);
    bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}

bool redirect_write(redirect *r, const char *url)
{
    int fd = -1;
    redirect_remove(r);
    if (asprintf(&r->folder, "%s/mcpctl-web-XXXXXX", folder_above()) < 0)
        r->folder = NULL;
    bool ok = r->folder && mkdtemp(r->folder) != NULL; /* 0700 */
    if (r->folder && !ok) {
        say("cannot make the folder %s: %s", r->folder, strerror(errno));
        free(r->folder);
        r->folder = NULL;
        return false;
    }
    if (!ok || asprintf(&r->path, "%s/open.html", r->folder) < 0)
        r->path = NULL;
    else
        fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && write_page(fd, url))
        return true;
    say("cannot write the file that opens the page: %s", strerror(errno));
    redirect_remove(r);
    return false;
}

void redirect_remove(redirect *r)
{
    if (r->path)
        unlink(r->path);
    if (r->folder)
        rmdir(r->folder);
    free(r->path);
    free(r->folder);
    *r = (redirect){0};
}
