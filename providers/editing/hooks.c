/* hooks.c: see hooks.h. A repository is looked for in each folder above the file: ".git", or a file of this name that says
 * where it is, as worktrees and submodules have it. Each value counts, not only the last one: too much is better than too
 * little. */
#define _GNU_SOURCE
#include "hooks.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guarded.h"

typedef struct looking {
    const char *path;
    const char *tree; /* the top of the working tree */
    bool found;
    int error; /* with which something could not be looked at, or 0 */
} looking;

/* What is not there, may not be looked at, or is no file is no part of a repository. */
static void note(looking *l, int error)
{
    static const int none[] = {ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP, EACCES, ENXIO, ENODEV};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        if (error == none[i])
            return;
    l->error = error;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* Returns the beginning of what is open, NUL-terminated, which the caller frees, or NULL with an errno. */
static char *read_open(int fd)
{
    ssize_t n;
    size_t len = 0;
    char *text = malloc(EDITING_HOOKS_BYTES);
    if (!text)
        return NULL;
    while ((n = read(fd, text + len, EDITING_HOOKS_BYTES - 1 - len)) > 0)
        len += (size_t)n;
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[len] = '\0';
    return text;
}

/* The same of a regular file. NULL if it is none, too. */
static char *read_file(looking *l, const char *name)
{
    struct stat st;
    char *text = NULL;
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        note(l, errno);
    else if (S_ISREG(st.st_mode) && !(text = read_open(fd)))
        note(l, errno);
    if (fd >= 0)
        close(fd);
    return text;
}

static bool join(const char *folder, const char *name, char ret[PATH_MAX])
{
    int n = *name == '/' ? snprintf(ret, PATH_MAX, "%s", name)
                         : snprintf(ret, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX;
}

/* ---- one value -------------------------------------------------------------------------------- */

static bool within(const looking *l, const char *folder)
{
    char real[PATH_MAX];
    const char *name = realpath(folder, real) ? real : folder;
    return editing_guarded_within(mcp_str_from(l->path + 1), mcp_str_from(name + 1));
}

/* Whose home "~" is cannot be told here, so it is each folder above the file. */
static bool within_home(const looking *l, const char *rest)
{
    char above[PATH_MAX], folder[PATH_MAX];
    snprintf(above, sizeof(above), "%s", l->path);
    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        *slash = '\0';
        if (*rest && join(above, rest, folder) && within(l, folder))
            return true;
    }
    return false;
}

static void take(looking *l, const char *value)
{
    char folder[PATH_MAX];
    const char *slash = strchr(value, '/');
    if (*value == '~')
        l->found = l->found || (slash && within_home(l, slash + 1));
    else if (*value && join(l->tree, value, folder))
        l->found = l->found || within(l, folder);
}

/* ---- a configuration file ---------------------------------------------------------------------- */

/* Reads a value up to the end of its line: without comments, quotes and blanks at the end, and with lines that go on. */
static const char *read_value(const char *at, char ret[PATH_MAX])
{
    static const char names[] = "ntb", chars[] = "\n\t\b";
    size_t len = 0, end = 0;
    bool quoted = false;
    for (; *at && *at != '\n'; at++) {
        char c = *at;
        bool plain = true;
        if (c == '"') {
            quoted = !quoted;
            end = len;
            continue;
        }
        if (!quoted && (c == '#' || c == ';')) {
            at += strcspn(at, "\n");
            break;
        }
        if (c == '\\' && at[1]) {
            const char *name;
            at += at[1] == '\r' && at[2] == '\n' ? 2 : 1;
            if (*at == '\n')
                continue;
            name = strchr(names, *at);
            c = name ? chars[name - names] : *at;
            plain = false;
        }
        if (len < PATH_MAX - 1)
            ret[len++] = c;
        if (quoted || !plain || !isspace((unsigned char)c))
            end = len;
    }
    ret[end] = '\0';
    return at;
}

/* Reads "[section]". Returns where it goes on. */
static const char *read_section(const char *at, bool *core)
{
    static const char name[] = "core";
    const char *from = at + 1 + strspn(at + 1, " \t");
    size_t len = strcspn(from, "] \t\n\"");
    *core = len == strlen(name) && strncasecmp(from, name, len) == 0 &&
            from[len + strspn(from + len, " \t")] != '"';
    at = from + strcspn(from, "]\n");
    return at + (*at == ']');
}

static void read_config(looking *l, const char *at)
{
    static const char key[] = "hookspath";
    char value[PATH_MAX];
    bool core = false;
    while (*(at += strspn(at, " \t\r\n\xef\xbb\xbf"))) {
        size_t len = strcspn(at, "= \t\r\n#;[");
        const char *after = at + len + strspn(at + len, " \t");
        if (*at == '[')
            at = read_section(at, &core);
        else if (core && len == strlen(key) && strncasecmp(at, key, len) == 0 && *after == '=') {
            at = read_value(after + 1 + strspn(after + 1, " \t"), value);
            take(l, value);
        } else if (*after == '=')
            at = read_value(after + 1, value);
        else
            at += strcspn(at, "\n");
    }
}

/* ---- a repository ------------------------------------------------------------------------------ */

static void read_in(looking *l, const char *folder)
{
    static const char *const names[] = {"config", "config.worktree"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *text = join(folder, names[i], name) ? read_file(l, name) : NULL;
        if (text)
            read_config(l, text);
        free(text);
    }
}

/* Reads a path from a file of one line, after `prefix`. */
static bool read_path(looking *l, const char *name, const char *prefix, const char *folder,
                      char ret[PATH_MAX])
{
    char *text = read_file(l, name);
    size_t skip = strlen(prefix);
    bool ok = text && strncmp(text, prefix, skip) == 0;
    if (ok) {
        skip += strspn(text + skip, " ");
        text[skip + strcspn(text + skip, "\r\n")] = '\0';
        ok = text[skip] && join(folder, text + skip, ret);
    }
    free(text);
    return ok;
}

/* Looks at the repository of a working tree, if there is one. */
static void look_in(looking *l)
{
    char git[PATH_MAX], real[PATH_MAX], name[PATH_MAX], common[PATH_MAX];
    struct stat st;
    if (!join(l->tree, ".git", git))
        return;
    if (stat(git, &st) != 0) {
        note(l, errno);
        return;
    }
    bool ok =
        S_ISDIR(st.st_mode) ? join(git, ".", real) : read_path(l, git, "gitdir:", l->tree, real);
    if (!ok)
        return;
    read_in(l, real);
    if (join(real, "commondir", name) && read_path(l, name, "", real, common))
        read_in(l, common);
}

int editing_in_hooks(const char *path, bool *ret)
{
    char above[PATH_MAX];
    looking l = {.path = path, .tree = above};
    *ret = *path != '/';
    if (*ret || strlen(path) >= sizeof(above))
        return 0;
    snprintf(above, sizeof(above), "%s", path);
    for (char *slash = strrchr(above, '/'); slash && !l.found; slash = strrchr(above, '/')) {
        *slash = '\0';
        look_in(&l);
    }
    *ret = l.found;
    return l.found ? 0 : l.error;
}
