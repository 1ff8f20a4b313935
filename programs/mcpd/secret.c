/* secret.c: see secret.h. */
#define _GNU_SOURCE
#include "secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <common/file.h>

#include "log.h"
#include "modules.h"

enum { LONGEST = 64 << 10 };

/* ---- files ----------------------------------------------------------------------------------- */

secret_mode secret_mode_of(const struct stat *file)
{
    if (!S_ISREG(file->st_mode)) /* a pipe */
        return SECRET_KEPT;
    return file->st_mode & S_IWOTH   ? SECRET_WRITABLE
           : file->st_mode & S_IROTH ? SECRET_READABLE
                                     : SECRET_KEPT;
}

/* Looks at the open file, so that the one that is judged is the one that is read. */
static int look(int fd, const char *path, mcp_error *error)
{
    char line[300];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return MODULES_FAIL(error, MCP_EIO, "%.150s: %s", path, strerror(errno));
    switch (secret_mode_of(&st)) {
    case SECRET_WRITABLE:
        return MODULES_FAIL(error, MCP_EACCESS, "%.150s: other users can change it: chmod o-rwx it",
                            path);
    case SECRET_READABLE:
        snprintf(line, sizeof(line), "other users can read %.200s: chmod o-r it", path);
        log_line("warning", line, NULL);
        break;
    case SECRET_KEPT: break;
    }
    return MCP_OK;
}

FILE *secret_open(const char *path, mcp_error *error)
{
    FILE *f = fopen(path, "re");
    if (!f) {
        (void)MODULES_FAIL(error, MCP_ENOTFOUND, "%.150s: %s", path, strerror(errno));
    } else if (look(fileno(f), path, error) != MCP_OK) {
        fclose(f);
        f = NULL;
    }
    return f;
}

int secret_look(const char *path, mcp_error *error)
{
    FILE *f = secret_open(path, error);
    if (f)
        fclose(f);
    return f ? MCP_OK : error->code;
}

/* Cuts off the ends of lines, and checks what is left. */
static int take(char *text, size_t len, const char *path, mcp_error *error)
{
    while (len && strchr("\r\n", text[len - 1]))
        text[--len] = 0;
    if (!len)
        return MODULES_FAIL(error, MCP_EINVAL, "%.150s: it is empty", path);
    if (strlen(text) != len)
        return MODULES_FAIL(error, MCP_EINVAL, "%.150s: it contains a NUL", path);
    return MCP_OK;
}

int secret_load(const char *path, char **ret, mcp_error *error)
{
    char *text = NULL;
    size_t len = 0;
    mcp_error why = {0};
    FILE *f = secret_open(path, error);
    if (!f)
        return error->code;
    int rc = file_read(fileno(f), LONGEST, &text, &len, &why);
    fclose(f);
    if (rc != MCP_OK)
        return MODULES_FAIL(error, rc, "%.150s: %.80s", path, why.text);
    rc = take(text, len, path, error);
    if (rc == MCP_OK)
        *ret = text;
    else
        free(text);
    return rc;
}

int secret_renew(const char *path, char **value, mcp_error *error)
{
    char *text = NULL;
    int rc = path ? secret_load(path, &text, error) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    free(*value);
    *value = text;
    return MCP_OK;
}

int secret_credential_path(const char *name, char *to, size_t room, mcp_error *error)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return MODULES_FAIL(error, MCP_EINVAL, "a credential has a name, not a path");
    if (!folder || *folder != '/')
        return MODULES_FAIL(error, MCP_ENOTFOUND,
                            "there is no folder $CREDENTIALS_DIRECTORY for the credential "
                            "%.80s: LoadCredential= of a systemd unit makes it",
                            name);
    int n = snprintf(to, room, "%s/%s", folder, name);
    return n > 0 && (size_t)n < room ? MCP_OK
                                     : MODULES_FAIL(error, MCP_ELIMIT, "a path is too long");
}

/* ---- variables ------------------------------------------------------------------------------- */

/* A variable that was cleared. They last as long as the process, because a reload names them again. */
typedef struct variable {
    struct variable *next;
    const char *value;
    int fd; /* a file in memory with the value; -1 if there is none */
    size_t name_len;
    char text[]; /* NAME=VALUE */
} variable;

static variable *variables;

static variable *find(const char *name, size_t len)
{
    variable *v = variables;
    while (v && !(v->name_len == len && memcmp(v->text, name, len) == 0))
        v = v->next;
    return v;
}

/* Takes a variable out of the environment. The memory is overwritten, because /proc shows it. */
static variable *take_variable(const char *name)
{
    char *value = getenv(name);
    size_t name_len = strlen(name), len = value ? strlen(value) : 0;
    variable *v = value ? malloc(sizeof(*v) + name_len + len + 2) : NULL;
    if (!v)
        return NULL;
    *v = (variable){.next = variables, .fd = -1, .name_len = name_len};
    memcpy(v->text, name, name_len);
    v->text[name_len] = '=';
    memcpy(v->text + name_len + 1, value, len + 1);
    v->value = v->text + name_len + 1;
    variables = v;
    explicit_bzero(value, len);
    unsetenv(name);
    return v;
}

static int get(const char *name, variable **ret, mcp_error *error)
{
    *ret = find(name, strlen(name));
    if (!*ret && !getenv(name))
        return MODULES_FAIL(error, MCP_ENOTFOUND, "the variable %.80s is not set", name);
    if (!*ret && !(*ret = take_variable(name)))
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    return *(*ret)->value ? MCP_OK
                          : MODULES_FAIL(error, MCP_EINVAL, "the variable %.80s is empty", name);
}

int secret_variable(const char *name, const char **ret, mcp_error *error)
{
    variable *v;
    int rc = get(name, &v, error);
    if (rc == MCP_OK)
        *ret = v->value;
    return rc;
}

static bool make_file(variable *v)
{
    size_t len = strlen(v->value);
    if (v->fd >= 0)
        return true;
    v->fd = memfd_create("mcpd-secret", MFD_CLOEXEC);
    if (v->fd >= 0 && fchmod(v->fd, 0400) == 0 && write(v->fd, v->value, len) == (ssize_t)len)
        return true;
    if (v->fd >= 0)
        close(v->fd);
    v->fd = -1;
    return false;
}

int secret_variable_path(const char *name, char *to, size_t room, mcp_error *error)
{
    variable *v;
    int rc = get(name, &v, error);
    if (rc == MCP_OK && !make_file(v))
        rc = MODULES_FAIL(error, MCP_EIO, "the variable %.80s: %s", name, strerror(errno));
    if (rc == MCP_OK)
        snprintf(to, room, "/proc/self/fd/%d", v->fd);
    return rc;
}

char **secret_environment(char *const *environment)
{
    size_t n = 0, count = 0;
    while (environment[count])
        count++;
    for (const variable *v = variables; v; v = v->next)
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (char *const *at = environment; copy && *at; at++)
        if (!find(*at, strcspn(*at, "=")))
            copy[n++] = *at;
    for (variable *v = variables; copy && v; v = v->next)
        copy[n++] = v->text;
    return copy;
}
