/* approval.c: compares the tools of other servers with those that were approved. */
#define _GNU_SOURCE
#include "approval.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_BYTES = 16 << 20,
    MOST_DEPTH = 1024,
};

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct approved {
    mcp_str name;
    const mcp_json *definition;
} approved;

/* The approved tools of one server, sorted by name. */
typedef struct server_tools {
    mcp_str name;
    size_t first, n; /* in mcp_approvals.tools */
} server_tools;

struct mcp_approvals {
    mcp_allocator alloc;
    size_t holders;
    char *path;
    struct stat tried; /* the file when it was last read, also in vain */
    unsigned edition;  /* a number of its own for each content */
    mcp_json_doc *doc;
    approved *tools; /* of all servers */
    server_tools *servers;
    size_t n_servers;
};

static atomic_uint editions;

static int fail(mcp_error *error, int rc, const char *path, const char *why)
{
    if (error) {
        error->code = rc;
        snprintf(error->text, sizeof(error->text), "%.100s: %.140s", path, why);
    }
    return rc;
}

static int read_all(int fd, char *to, size_t len)
{
    size_t n = 0;
    while (n < len) {
        ssize_t got = read(fd, to + n, len - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return MCP_EIO;
        n += (size_t)got;
    }
    return MCP_OK;
}

static int parse(const mcp_approvals *a, mcp_str text, mcp_json_doc **ret, mcp_error *error)
{
    mcp_error why = {0};
    const mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = MOST_BYTES, .max_depth = MOST_DEPTH};
    int rc = mcp_json_parse(text, &limits, &a->alloc, ret, &why);
    if (rc != MCP_OK)
        return fail(error, rc, a->path, why.text);
    if (mcp_json_is(mcp_json_get(mcp_json_root(*ret), "servers"), MCP_JSON_OBJECT))
        return MCP_OK;
    mcp_json_free(*ret);
    *ret = NULL;
    return fail(error, MCP_EINVAL, a->path, "it is not a file of approved tools");
}

static int load_open(const mcp_approvals *a, int fd, struct stat *st, mcp_json_doc **ret,
                     mcp_error *error)
{
    if (fstat(fd, st) < 0)
        return fail(error, MCP_EIO, a->path, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return fail(error, MCP_EIO, a->path, "it is not a regular file");
    if (st->st_size > MOST_BYTES)
        return fail(error, MCP_ELIMIT, a->path, "it has more than 16 MiB");
    size_t len = (size_t)st->st_size;
    char *text = common_alloc(&a->alloc, len + 1);
    int rc = text ? read_all(fd, text, len) : fail(error, MCP_ENOMEM, a->path, "out of memory");
    if (rc == MCP_OK)
        rc = parse(a, (mcp_str){text, len}, ret, error);
    else if (rc == MCP_EIO)
        (void)fail(error, rc, a->path, "it could not be read");
    common_release(&a->alloc, text);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const mcp_str x = ((const approved *)a)->name, y = ((const approved *)b)->name;
    size_t len = x.len < y.len ? x.len : y.len;
    int order = len ? memcmp(x.ptr, y.ptr, len) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

/* Sorts the tools of each server. Returns MCP_OK or MCP_ENOMEM. */
static int make_index(mcp_approvals *a)
{
    const mcp_json *servers = mcp_json_get(mcp_json_root(a->doc), "servers");
    mcp_json_iter it = {0}, of = {0};
    mcp_str name, tool;
    size_t n = 0;
    for (const mcp_json *v; (v = mcp_json_next(servers, &it, NULL)) != NULL;)
        n += mcp_json_count(mcp_json_get(v, "tools"));
    a->tools = common_alloc(&a->alloc, (n + 1) * sizeof(*a->tools));
    a->servers = common_alloc(&a->alloc, (mcp_json_count(servers) + 1) * sizeof(*a->servers));
    if (!a->tools || !a->servers)
        return MCP_ENOMEM;
    it = (mcp_json_iter){0};
    n = 0;
    for (const mcp_json *v; (v = mcp_json_next(servers, &it, &name)) != NULL;) {
        const mcp_json *tools = mcp_json_get(v, "tools");
        server_tools *s = &a->servers[a->n_servers++];
        *s = (server_tools){.name = name, .first = n};
        of = (mcp_json_iter){0};
        for (const mcp_json *d; (d = mcp_json_next(tools, &of, &tool)) != NULL;)
            a->tools[n++] = (approved){tool, d};
        s->n = n - s->first;
        qsort(a->tools + s->first, s->n, sizeof(*a->tools), by_name);
    }
    return MCP_OK;
}

static void clear(mcp_approvals *a)
{
    mcp_json_free(a->doc);
    common_release(&a->alloc, a->tools);
    common_release(&a->alloc, a->servers);
}

/* Reads the file. On failure nothing changes, except that the file counts as read. */
static int load(mcp_approvals *a, mcp_error *error)
{
    mcp_approvals next = {.alloc = a->alloc, .path = a->path};
    int fd = open(a->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(error, errno == ENOENT ? MCP_ENOTFOUND : MCP_EIO, a->path, strerror(errno));
    int rc = load_open(a, fd, &a->tried, &next.doc, error);
    close(fd);
    if (rc == MCP_OK && (rc = make_index(&next)) != MCP_OK)
        (void)fail(error, rc, a->path, "out of memory");
    if (rc != MCP_OK) {
        clear(&next);
        return rc;
    }
    clear(a);
    a->doc = next.doc;
    a->tools = next.tools;
    a->servers = next.servers;
    a->n_servers = next.n_servers;
    a->edition = 1 + atomic_fetch_add(&editions, 1);
    return MCP_OK;
}

int mcp_approvals_open(const char *path, const mcp_allocator *allocator, mcp_approvals **ret,
                       mcp_error *error)
{
    mcp_allocator alloc = common_allocator(allocator);
    mcp_approvals *a = common_alloc(&alloc, sizeof(*a));
    *ret = NULL;
    if (!a)
        return fail(error, MCP_ENOMEM, path, "out of memory");
    *a = (mcp_approvals){.alloc = alloc, .holders = 1};
    a->path = common_copy(&alloc, path, strlen(path));
    int rc = a->path ? load(a, error) : fail(error, MCP_ENOMEM, path, "out of memory");
    if (rc == MCP_OK)
        *ret = a;
    else
        mcp_approvals_release(a);
    return rc;
}

mcp_approvals *mcp_approvals_hold(mcp_approvals *approvals)
{
    if (approvals)
        approvals->holders++;
    return approvals;
}

void mcp_approvals_release(mcp_approvals *approvals)
{
    if (!approvals || --approvals->holders)
        return;
    mcp_allocator alloc = approvals->alloc;
    clear(approvals);
    common_release(&alloc, approvals->path);
    common_release(&alloc, approvals);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the file again if it was replaced. A file that is missing or wrong changes nothing. */
static void refresh(mcp_approvals *a, const upstream *up)
{
    struct stat st;
    mcp_error error = {0};
    if (stat(a->path, &st) < 0 || is_same_file(&st, &a->tried))
        return;
    if (load(a, &error) != MCP_OK)
        upstream_say(up, "error", error.text);
}

const mcp_json *mcp_approvals_tools(const mcp_approvals *approvals, const char *server)
{
    const mcp_json *servers = mcp_json_get(mcp_json_root(approvals->doc), "servers");
    return mcp_json_get(mcp_json_get(servers, server), "tools");
}

const mcp_json *mcp_approvals_servers(const mcp_approvals *approvals)
{
    return mcp_json_get(mcp_json_root(approvals->doc), "servers");
}

/* ---- logging --------------------------------------------------------------------------------- */

static uint64_t hash_of(mcp_str tool, const char *what)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < tool.len; i++)
        hash = (hash ^ (unsigned char)tool.ptr[i]) * 0x100000001b3u;
    for (; *what; what++)
        hash = (hash ^ (unsigned char)*what) * 0x100000001b3u;
    return hash;
}

/* Logs that a tool is new (`what` is "") or has changed. */
static void tell(upstream *up, mcp_str tool, const char *what)
{
    enum { MOST = sizeof(up->told.hash) / sizeof(up->told.hash[0]) };
    char line[320];
    const char *then = up->options.withhold_changed ? "; it is withheld until it is approved" : "";
    upstream_told *told = &up->told;
    int len = (int)(tool.len < 64 ? tool.len : 64);
    uint64_t hash = hash_of(tool, what);
    if (told->n == MOST)
        return;
    for (size_t i = 0; i < told->n; i++)
        if (told->hash[i] == hash)
            return;
    told->hash[told->n++] = hash;
    if (told->n == MOST)
        snprintf(line, sizeof(line), "more tools are not approved: run mcpd --doctor");
    else if (!*what)
        snprintf(line, sizeof(line), "the tool \"%.*s\" is not approved%s", len, tool.ptr, then);
    else
        snprintf(line, sizeof(line), "the tool \"%.*s\" has changed since it was approved (%s)%s",
                 len, tool.ptr, what, then);
    upstream_say(up, "warning", line);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static const server_tools *tools_of(const upstream *up)
{
    const mcp_approvals *a = up->options.approvals;
    for (size_t i = 0; i < a->n_servers; i++)
        if (mcp_str_eq(a->servers[i].name, mcp_str_from(up->options.name)))
            return &a->servers[i];
    return NULL;
}

static const approved *find(const upstream *up, mcp_str tool, size_t *index)
{
    const approved wanted = {tool, NULL};
    const server_tools *s = tools_of(up);
    const approved *first = s ? up->options.approvals->tools + s->first : NULL;
    const approved *found = s ? bsearch(&wanted, first, s->n, sizeof(*first), by_name) : NULL;
    *index = found ? (size_t)(found - first) : 0;
    return found;
}

/* Makes all verdicts "unseen", if they are those of another edition or if `always` is set. Without
 * memory there are no verdicts, so nothing counts as approved. */
static void renew(const upstream *up, upstream_verdicts *v, bool always)
{
    unsigned edition = up->options.approvals->edition;
    const server_tools *s = tools_of(up);
    if (v->edition == edition && !always)
        return;
    common_release(&up->alloc, v->of);
    v->of = common_alloc(&up->alloc, s ? s->n + 1 : 1);
    v->n = v->of && s ? s->n : 0;
    v->edition = edition;
    if (v->of)
        memset(v->of, UPSTREAM_UNSEEN, v->n + 1);
}

static void put(upstream_verdicts *v, size_t index, upstream_verdict verdict)
{
    if (index < v->n && v->of[index] < (unsigned char)verdict)
        v->of[index] = (unsigned char)verdict;
}

static void look_at(upstream *up, upstream_verdicts *verdicts, const mcp_json *tool, size_t *steps)
{
    char what[160] = "";
    size_t index;
    mcp_str name = mcp_json_string(mcp_json_get(tool, "name"));
    const approved *before = name.ptr ? find(up, name, &index) : NULL;
    if (name.ptr && !before)
        tell(up, name, "");
    if (!before || (index < up->page.n && up->page.of[index] == UPSTREAM_CHANGED))
        return;
    bool changed = upstream_differs(before->definition, tool, steps, what, sizeof(what));
    upstream_verdict verdict = changed ? UPSTREAM_CHANGED : UPSTREAM_APPROVED;
    put(&up->page, index, verdict);
    if (verdicts)
        put(verdicts, index, verdict);
    if (changed)
        tell(up, name, *what ? what : "it is too large to compare");
}

void upstream_approval_page(upstream *up, upstream_verdicts *verdicts, const mcp_json *result,
                            mcp_str text)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    size_t steps = UPSTREAM_STEPS;
    if (!up->options.approvals)
        return;
    refresh(up->options.approvals, up);
    if (up->told.edition != up->options.approvals->edition)
        up->told = (upstream_told){.edition = up->options.approvals->edition};
    renew(up, &up->page, true);
    if (verdicts)
        renew(up, verdicts, false);
    if (!result && text.ptr &&
        mcp_json_parse(text,
                       MCP_OPTIONS(mcp_json_limits, .max_bytes = SIZE_MAX, .max_depth = MOST_DEPTH),
                       &up->alloc, &doc, NULL) == MCP_OK)
        result = mcp_json_root(doc);
    const mcp_json *tools = mcp_json_get(result, "tools");
    for (const mcp_json *tool; (tool = mcp_json_next(tools, &it, NULL)) != NULL;)
        look_at(up, verdicts, tool, &steps);
    mcp_json_free(doc);
}

void upstream_approval_end_page(upstream *up)
{
    common_release(&up->alloc, up->page.of);
    up->page = (upstream_verdicts){.n = 0};
}

bool upstream_approval_checks(const upstream *up)
{
    return up->options.approvals && up->options.withhold_changed;
}

bool upstream_withholds(const upstream *up, mcp_str tool)
{
    size_t index;
    if (!upstream_approval_checks(up))
        return false;
    return !find(up, tool, &index) || index >= up->page.n ||
           up->page.of[index] != UPSTREAM_APPROVED;
}

void upstream_approval_adopt(upstream_session *session, upstream_verdicts *verdicts)
{
    upstream_verdicts old = session->verdicts;
    session->verdicts = *verdicts;
    *verdicts = (upstream_verdicts){.n = 0};
    common_release(&session->up->alloc, old.of);
}

bool upstream_approval_allows(upstream_session *session, mcp_str tool)
{
    size_t index;
    const upstream *up = session->up;
    refresh(up->options.approvals, up);
    renew(up, &session->verdicts, false);
    return find(up, tool, &index) && index < session->verdicts.n &&
           session->verdicts.of[index] == UPSTREAM_APPROVED;
}

int upstream_approval_refuse(const upstream *up, mcp_request *req)
{
    return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                          "The tool is withheld, because the server %s does not describe it as it "
                          "was approved. Review it with mcpd --doctor, approve it with mcpd "
                          "--approve.",
                          up->options.name);
}

void upstream_approval_free(upstream *up)
{
    upstream_approval_end_page(up);
    mcp_approvals_release(up->options.approvals);
    up->options.approvals = NULL;
}
