/* approval.c: compares the tools of other servers with those that were approved. */
#define _GNU_SOURCE
#include "approval.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_BYTES = 16 << 20,
    MOST_STEPS = 1 << 20, /* comparisons of one definition; a larger one counts as changed */
    MOST_FINDINGS = 1000, /* tools of one server that are remembered as new or changed */
    MOST_TOLD = 100,      /* lines in the log about one server */
};

/* ---- the file -------------------------------------------------------------------------------- */

struct mcp_approvals {
    mcp_allocator alloc;
    size_t holders;
    char *path;
    struct stat loaded; /* the file as it was read */
    unsigned edition;   /* how often it was read */
    mcp_json_doc *doc;
};

static int fail(mcp_error *error, int rc, const char *path, const char *why)
{
    if (error) {
        error->code = rc;
        snprintf(error->text, sizeof(error->text), "%.150s: %s", path, why);
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
    int rc = mcp_json_parse(text, NULL, &a->alloc, ret, &why);
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

static int load(mcp_approvals *a, mcp_error *error)
{
    struct stat st;
    mcp_json_doc *doc = NULL;
    int fd = open(a->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(error, errno == ENOENT ? MCP_ENOTFOUND : MCP_EIO, a->path, strerror(errno));
    int rc = load_open(a, fd, &st, &doc, error);
    close(fd);
    if (rc != MCP_OK)
        return rc;
    mcp_json_free(a->doc);
    a->doc = doc;
    a->loaded = st;
    a->edition++;
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
    mcp_json_free(approvals->doc);
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
    if (stat(a->path, &st) < 0 || is_same_file(&st, &a->loaded))
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

/* ---- comparing ------------------------------------------------------------------------------- */

static bool is_same(const mcp_json *a, const mcp_json *b, size_t *steps);

static bool is_same_object(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_iter at_a = {0}, at_b = {0};
    mcp_str key, other;
    for (const mcp_json *v; (v = mcp_json_next(a, &at_a, &key)) != NULL;) {
        const mcp_json *w = mcp_json_next(b, &at_b, &other);
        if (!mcp_str_eq(key, other)) {
            size_t n = mcp_json_count(b);
            *steps -= n < *steps ? n : *steps;
            w = mcp_json_get_str(b, key);
        }
        if (!w || !is_same(v, w, steps))
            return false;
    }
    return true;
}

static bool is_same_array(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_iter at_a = {0}, at_b = {0};
    for (const mcp_json *v; (v = mcp_json_next(a, &at_a, NULL)) != NULL;)
        if (!is_same(v, mcp_json_next(b, &at_b, NULL), steps))
            return false;
    return true;
}

/* The depth is limited by that of the parser. */
static bool is_same(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_type type = mcp_json_typeof(a);
    if (!*steps || type != mcp_json_typeof(b) || mcp_json_count(a) != mcp_json_count(b))
        return false;
    --*steps;
    switch (type) {
    case MCP_JSON_OBJECT: return is_same_object(a, b, steps);
    case MCP_JSON_ARRAY: return is_same_array(a, b, steps);
    case MCP_JSON_STRING: return mcp_str_eq(mcp_json_string(a), mcp_json_string(b));
    case MCP_JSON_BOOL: return mcp_json_bool(a, false) == mcp_json_bool(b, false);
    case MCP_JSON_INT: /* an integer above INT64_MAX is compared as a double, too */
        return mcp_json_int(a, 0) == mcp_json_int(b, 0) &&
               mcp_json_number(a, 0) == mcp_json_number(b, 0);
    case MCP_JSON_REAL: return mcp_json_number(a, 0) == mcp_json_number(b, 0);
    case MCP_JSON_BIGINT: return false; /* its digits are not known here */
    default: return true;
    }
}

bool mcp_tool_has(mcp_str member)
{
    return !mcp_str_eq(member, MCP_STR("name")) && !mcp_str_eq(member, MCP_STR("_meta"));
}

/* Adds the name of a member that differs. A name that the specification does not define is chosen
 * by the other server, and is not repeated. */
static void put_member(mcp_str member, char *what, size_t room)
{
    static const char *const known[] = {"title",       "description", "inputSchema", "outputSchema",
                                        "annotations", "execution",   "icons"};
    const char *name = "other members";
    size_t n = strlen(what);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (mcp_str_eq(member, mcp_str_from(known[i])))
            name = known[i];
    if (room && !strstr(what, name))
        snprintf(what + n, room - n, "%s%s", n ? ", " : "", name);
}

/* Returns how many members of a definition differ from, or are missing in, another one. With `whole`
 * unset, only the missing ones count. */
static size_t differences(const mcp_json *a, const mcp_json *b, bool whole, char *what, size_t room)
{
    mcp_json_iter it = {0};
    mcp_str key;
    size_t n = 0, steps = MOST_STEPS;
    for (const mcp_json *v; (v = mcp_json_next(a, &it, &key)) != NULL;) {
        const mcp_json *other = mcp_tool_has(key) ? mcp_json_get_str(b, key) : v;
        if (other && (!whole || !mcp_tool_has(key) || is_same(v, other, &steps)))
            continue;
        put_member(key, what, room);
        n++;
    }
    return n;
}

/* Returns the number of members that belong to a definition. A repeated member counts twice. */
static size_t members_of(const mcp_json *tool)
{
    mcp_json_iter it = {0};
    mcp_str key;
    size_t n = 0;
    while (mcp_json_next(tool, &it, &key))
        n += mcp_tool_has(key);
    return n;
}

bool mcp_tool_differs(const mcp_json *before, const mcp_json *after, char *what, size_t room)
{
    enum { MOST_MEMBERS = 256 };
    if (room)
        *what = 0;
    if (mcp_json_count(before) > MOST_MEMBERS || mcp_json_count(after) > MOST_MEMBERS)
        return true;
    size_t n = differences(before, after, true, what, room);
    n += differences(after, before, false, what, room);
    return n || members_of(before) != members_of(after);
}

/* ---- findings -------------------------------------------------------------------------------- */

/* A tool that is new or has changed. */
struct upstream_finding {
    struct upstream_finding *next;
    upstream_verdict verdict;
    unsigned page; /* the number of the page that showed it */
    char tool[];
};

static struct upstream_finding **find(upstream_approval *a, mcp_str tool)
{
    struct upstream_finding **at = &a->findings;
    while (*at && !mcp_str_eq(mcp_str_from((*at)->tool), tool))
        at = &(*at)->next;
    return at;
}

static void forget(upstream *up, struct upstream_finding **at)
{
    struct upstream_finding *gone = *at;
    *at = gone->next;
    up->approval.n_findings--;
    common_release(&up->alloc, gone);
}

static void forget_all(upstream *up)
{
    while (up->approval.findings)
        forget(up, &up->approval.findings);
}

static void tell(upstream *up, mcp_str tool, upstream_verdict verdict, const char *what)
{
    char line[320];
    const char *then = up->options.withhold_changed ? "; it is withheld until it is approved" : "";
    if (up->approval.told > MOST_TOLD)
        return;
    if (up->approval.told++ == MOST_TOLD)
        snprintf(line, sizeof(line), "more tools are not approved: run mcpd --approve");
    else if (verdict == UPSTREAM_NEW)
        snprintf(line, sizeof(line), "the tool \"%.*s\" is not approved%s",
                 (int)(tool.len < 64 ? tool.len : 64), tool.ptr, then);
    else
        snprintf(line, sizeof(line), "the tool \"%.*s\" has changed since it was approved (%s)%s",
                 (int)(tool.len < 64 ? tool.len : 64), tool.ptr, what, then);
    upstream_say(up, "warning", line);
}

static void note(upstream *up, mcp_str tool, upstream_verdict verdict, const char *what)
{
    struct upstream_finding **at = find(&up->approval, tool), *new;
    /* Of several tools with one name on a page, a peer may use any. */
    if (*at && verdict == UPSTREAM_APPROVED && (*at)->page == up->approval.pages)
        return;
    if (*at && (*at)->verdict == verdict) {
        (*at)->page = up->approval.pages;
        return;
    }
    if (*at)
        forget(up, at);
    if (verdict == UPSTREAM_APPROVED)
        return;
    tell(up, tool, verdict, what);
    /* What is new needs no entry to be withheld, so only such entries are left out. */
    if (verdict == UPSTREAM_NEW && up->approval.n_findings >= MOST_FINDINGS)
        return;
    new = common_alloc(&up->alloc, sizeof(*new) + tool.len + 1);
    if (!new) {
        up->approval.starved = true;
        return;
    }
    new->verdict = verdict;
    new->page = up->approval.pages;
    memcpy(new->tool, tool.ptr, tool.len);
    new->tool[tool.len] = 0;
    new->next = up->approval.findings;
    up->approval.findings = new;
    up->approval.n_findings++;
}

/* Begins again with a new edition of the file. */
static void adopt_edition(upstream *up)
{
    if (up->approval.edition == up->options.approvals->edition)
        return;
    forget_all(up);
    up->approval = (upstream_approval){.edition = up->options.approvals->edition};
}

void upstream_approval_look(upstream *up, const mcp_json *result)
{
    char what[160];
    mcp_json_iter it = {0};
    if (!up->options.approvals)
        return;
    refresh(up->options.approvals, up);
    adopt_edition(up);
    up->approval.looked = true;
    up->approval.pages++;
    const mcp_json *approved = mcp_approvals_tools(up->options.approvals, up->options.name);
    const mcp_json *tools = mcp_json_get(result, "tools");
    for (const mcp_json *tool; (tool = mcp_json_next(tools, &it, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(mcp_json_get(tool, "name"));
        const mcp_json *before = name.ptr ? mcp_json_get_str(approved, name) : NULL;
        if (!name.ptr || memchr(name.ptr, 0, name.len))
            continue;
        if (!before)
            note(up, name, UPSTREAM_NEW, "");
        else if (mcp_tool_differs(before, tool, what, sizeof(what)))
            note(up, name, UPSTREAM_CHANGED, what);
        else
            note(up, name, UPSTREAM_APPROVED, "");
    }
}

bool upstream_withholds(const upstream *up, mcp_str tool)
{
    if (!up->options.approvals || !up->options.withhold_changed)
        return false;
    if (up->approval.starved || memchr(tool.ptr, 0, tool.len) ||
        !mcp_json_get_str(mcp_approvals_tools(up->options.approvals, up->options.name), tool))
        return true;
    const struct upstream_finding *f = up->approval.findings;
    while (f && !mcp_str_eq(mcp_str_from(f->tool), tool))
        f = f->next;
    return f != NULL;
}

bool upstream_approval_needs_list(upstream *up, mcp_str tool)
{
    mcp_approvals *a = up->options.approvals;
    if (!a || !up->options.withhold_changed)
        return false;
    if (tool.ptr && upstream_withholds(up, tool))
        refresh(a, up); /* it may have been approved in the meantime */
    return !up->approval.looked || up->approval.edition != a->edition;
}

int upstream_approval_refuse(const upstream *up, mcp_request *req, mcp_str tool)
{
    if (!upstream_withholds(up, tool))
        return MCP_ENOTFOUND;
    return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                          "The tool is withheld, because the server %s does not describe it as it "
                          "was approved. Review it with mcpd --doctor, approve it with mcpd "
                          "--approve.",
                          up->options.name);
}

void upstream_approval_free(upstream *up)
{
    forget_all(up);
    mcp_approvals_release(up->options.approvals);
    up->options.approvals = NULL;
}
