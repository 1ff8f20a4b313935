/* source_child.c: one source in a process of its own.
 *
 * The order is essential: the module is loaded while the process may still open everything, then
 * the process enters the sandbox, and only then it reads untrusted data. The environment is not
 * used: the process is started without one.
 */
#define _GNU_SOURCE
#include "source_child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mcp/sys/children.h>

#include "asking.h"
#include "modules.h"

enum {
    PEER = 3,          /* messages from the process that started this one */
    TO_PEER = 5,       /* messages to that process */
    MOST = 256 * 1024, /* bytes of the first line */
    PATHS = 64,
};

typedef struct kept_text {
    struct kept_text *next;
    char text[];
} kept_text;

typedef struct child {
    modules *modules;
    mcp_json_doc *line;
    const mcp_module *module;
    const char *source, *name;
    const char *read[PATHS], *write[PATHS];
    kept_text *kept; /* owns all these strings */
    bool reports;    /* the parent reads reports on descriptor 4 */
    bool mounted;
    mcp_loop *loop;
    mcp_server *server;
} child;

/* Reads a line byte by byte, because the bytes after it belong to the server. */
static int read_line(char *to, size_t room, size_t *len)
{
    for (*len = 0; *len < room; ++*len) {
        ssize_t n;
        do
            n = read(PEER, to + *len, 1);
        while (n < 0 && errno == EINTR);
        if (n != 1)
            return MCP_ECLOSED;
        if (to[*len] == '\n')
            return MCP_OK;
    }
    return MCP_ELIMIT;
}

static int read_description(child *c, mcp_error *error)
{
    char *text = malloc(MOST);
    size_t len = 0;
    int rc = text ? read_line(text, MOST, &len) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_json_parse((mcp_str){text, len}, NULL, NULL, &c->line, error);
    else
        modules_explain(error, rc, "descriptor %d has no line that describes a source", PEER);
    free(text);
    return rc;
}

static const mcp_json *member(const child *c, const char *name)
{
    return mcp_json_get(mcp_json_root(c->line), name);
}

/* Returns a NUL-terminated copy, or NULL if there is no string or if it contains a NUL. */
static const char *keep(child *c, mcp_str text)
{
    bool fits = text.ptr && !memchr(text.ptr, 0, text.len);
    kept_text *copy = fits ? malloc(sizeof(*copy) + text.len + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy->text, text.ptr, text.len);
    copy->text[text.len] = '\0';
    copy->next = c->kept;
    c->kept = copy;
    return copy->text;
}

static void free_kept(kept_text *first)
{
    for (kept_text *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

static const char *text_of(child *c, const char *name)
{
    return keep(c, mcp_json_string(member(c, name)));
}

static int load(child *c, mcp_error *error)
{
    const char *name = text_of(c, "module"), *file = text_of(c, "file");
    c->reports = mcp_json_bool(member(c, "report"), false);
    c->source = text_of(c, "source");
    c->name = text_of(c, "name");
    if (!name || !c->source)
        return MODULES_FAIL(error, MCP_EINVAL, "the source has no module or no text");
    c->modules = modules_new();
    if (!c->modules)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    int rc = file ? modules_load(c->modules, file, error) : MCP_OK;
    return rc == MCP_OK ? modules_find(c->modules, mcp_str_from(name), &c->module, error) : rc;
}

static int add_path(child *c, mcp_str path, const char *to[PATHS], mcp_error *error)
{
    size_t n = 0;
    while (to[n])
        n++;
    if (n == PATHS - 1)
        return MODULES_FAIL(error, MCP_ELIMIT, "a source may name %d paths", PATHS - 1);
    to[n] = keep(c, path);
    return to[n] ? MCP_OK : MODULES_FAIL(error, MCP_EINVAL, "a path of the source is not a string");
}

static int read_paths(child *c, const mcp_json *list, const char *to[PATHS], mcp_error *error)
{
    const mcp_json *path;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    while (rc == MCP_OK && (path = mcp_json_next(list, &it, NULL)) != NULL)
        rc = add_path(c, mcp_json_string(path), to, error);
    return rc;
}

/* The file is found here, not by the process that started this one, because links may lead to
 * another one each time. */
static int read_beside(child *c, mcp_error *error)
{
    char path[PATH_MAX + 64], *real = realpath(c->source, NULL);
    const mcp_json *suffix;
    mcp_json_iter it = {0};
    struct stat st;
    int rc = MCP_OK;
    bool is_file = real && stat(real, &st) == 0 && S_ISREG(st.st_mode);
    while (is_file && rc == MCP_OK &&
           (suffix = mcp_json_next(member(c, "beside"), &it, NULL)) != NULL) {
        mcp_str text = mcp_json_string(suffix);
        int len = snprintf(path, sizeof(path), "%s%.*s", real, (int)(text.len < 64 ? text.len : 64),
                           text.ptr ? text.ptr : "");
        if (len < (int)sizeof(path))
            rc = add_path(c, mcp_str_from(path), c->read, error);
    }
    free(real);
    return rc;
}

static int enter_sandbox(child *c, mcp_error *error)
{
    if (!mcp_json_bool(member(c, "sandbox"), true))
        return MCP_OK;
    int rc = read_paths(c, member(c, "read"), c->read, error);
    if (rc == MCP_OK)
        rc = read_beside(c, error);
    if (rc == MCP_OK)
        rc = read_paths(c, member(c, "write"), c->write, error);
    if (rc != MCP_OK)
        return rc;
    return mcp_sandbox_enter(MCP_OPTIONS(mcp_sandbox_options, .read = c->read, .write = c->write),
                             NULL, error);
}

static size_t number_of(const child *c, const char *name)
{
    int64_t value = mcp_json_int(member(c, name), 0);
    return value > 0 ? (size_t)value : 0;
}

static int serve(child *c, mcp_error *error)
{
    int rc = mcp_loop_new(NULL, &c->loop, error);
    mcp_host host = rc == MCP_OK ? *mcp_loop_host(c->loop) : (mcp_host){0};
    if (c->reports)
        host.log = asking_log;
    if (rc == MCP_OK)
        rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = c->module->name,
                                        .version = MCP_VERSION_STRING,
                                        .page_size = number_of(c, "page_size"), .host = &host,
                                        .max_work_memory = number_of(c, "max_work_memory"),
                                        .no_rate_limits = true, .declare_resources = true),
                            &c->server, error);
    if (rc == MCP_OK && mcp_json_bool(member(c, "check"), false))
        rc = modules_try(c->module, c->source, member(c, "options"), c->name, error);
    if (rc == MCP_OK)
        rc = modules_mount(c->module, c->server, c->source, member(c, "options"), c->name, error);
    if (rc == MCP_OK && mcp_json_bool(member(c, "access"), false))
        rc = asking_set(c->server, error);
    if (rc == MCP_OK && c->reports && !asking_mounted(c->server))
        rc = MODULES_FAIL(error, MCP_ECLOSED, "descriptor 4 does not take a line");
    c->mounted = rc == MCP_OK;
    if (rc == MCP_OK)
        rc = mcp_loop_serve_stdio(c->loop, c->server,
                                  MCP_OPTIONS(mcp_stdio_options, .input = PEER, .output = TO_PEER,
                                              .keep_stdout = true, .no_signals = true,
                                              .principal = ASKING_PARENT, .trusted_parent = true,
                                              .max_message = number_of(c, "max_message")),
                                  error);
    if (rc == MCP_ETIMEOUT && c->mounted)
        _exit(1); /* nothing can be freed, because a thread of the module still runs */
    mcp_server_free(c->server);
    mcp_loop_free(c->loop);
    return rc;
}

int source_child_run(void)
{
    child c = {0};
    mcp_error error = {0};
    signal(SIGPIPE, SIG_IGN);
    int rc = read_description(&c, &error);
    if (rc == MCP_OK)
        rc = load(&c, &error);
    if (rc == MCP_OK)
        rc = enter_sandbox(&c, &error);
    if (rc == MCP_OK)
        rc = serve(&c, &error);
    if (rc < 0 && !error.text[0])
        snprintf(error.text, sizeof(error.text), "%s", mcp_error_text(rc));
    if (rc < 0 && !c.mounted && c.reports)
        asking_failed(rc, error.text);
    else if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    free_kept(c.kept);
    modules_free(c.modules);
    mcp_json_free(c.line);
    return rc < 0;
}
