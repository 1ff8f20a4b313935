/* complete.c: names of references, and paths at a revision. */
#include "provider.h"

#include "text.h"

enum { MOST = 100 };

typedef struct completion {
    repo *r;
    mcp_request *req;
    repo_use use;
    mcp_str value, rev;   /* of the request; rev.ptr NULL: references are asked for */
    common_buffer values; /* each with a NUL */
    size_t count;
    int rc;
} completion;

static int keep(completion *c, mcp_str before, mcp_str name, bool folder)
{
    if (c->count >= MOST || !common_text_utf8(name))
        return MCP_OK; /* it can be asked for, but not typed */
    c->count++;
    int rc = common_buffer_append(&c->values, before.ptr, before.len);
    if (rc == MCP_OK)
        rc = common_buffer_append(&c->values, name.ptr, name.len);
    return rc == MCP_OK ? common_buffer_append(&c->values, folder ? "/" : "", 1 + folder) : rc;
}

static bool begins(mcp_str s, mcp_str with)
{
    return s.len >= with.len && (!with.len || memcmp(s.ptr, with.ptr, with.len) == 0);
}

/* HEAD, then branches, tags, and those of others. */
static int complete_refs(completion *c)
{
    static const char *const kinds[] = {"refs/heads/", "refs/tags/", "refs/remotes/"};
    const mcp_str none = {"", 0};
    int rc = begins(MCP_STR("HEAD"), c->value) ? keep(c, none, MCP_STR("HEAD"), false) : MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < 3; i++) {
        common_buffer refs;
        repo_ref ref;
        size_t at = 0;
        common_buffer_init(&refs, &c->r->alloc);
        rc = repo_refs_collect(&c->use, kinds[i], &refs);
        while (rc == MCP_OK && c->count < MOST && repo_refs_next(&refs, &at, &ref)) {
            mcp_str name = mcp_str_from(strchr(ref.name, '/') + 1);
            if (begins(name, c->value))
                rc = keep(c, none, name, false);
        }
        common_buffer_free(&refs);
    }
    return rc;
}

static int complete_path(completion *c)
{
    repo_entry e;
    git_odb_object *o;
    bool fixed;
    size_t slash = c->value.len;
    while (slash && c->value.ptr[slash - 1] != '/')
        slash--;
    mcp_str before = {c->value.ptr, slash};
    mcp_str folder = {c->value.ptr, slash ? slash - 1 : 0};
    mcp_str name = {c->value.ptr + slash, c->value.len - slash};
    int rc = repo_find(&c->use, c->rev, folder, &e, &fixed);
    if (rc == MCP_OK)
        rc = repo_object(&c->use, &e.id, GIT_OBJECT_TREE, &o);
    if (rc != MCP_OK)
        return rc;
    mcp_str rest = repo_object_text(o);
    while (rc == MCP_OK && c->count < MOST && repo_tree_next(&rest, &e))
        if (begins(e.name, name))
            rc = keep(c, before, e.name, e.mode == REPO_MODE_TREE);
    git_odb_object_free(o);
    return rc;
}

static void work(void *user)
{
    completion *c = user;
    repo_layout *l = c->use.layout;
    c->rc = repo_use_begin(&c->use, l, c->req, false, c->r->timeout_ms);
    if (c->rc != MCP_OK)
        return;
    c->rc = c->rev.ptr ? complete_path(c) : complete_refs(c);
    repo_use_end(&c->use);
}

/* What cannot be found has nothing to offer; that is no error while somebody types. */
static void done(mcp_request *req, void *user)
{
    completion *c = user;
    int rc = c->rc == MCP_ENOMEM || c->rc == MCP_ECANCELLED ? c->rc : MCP_OK;
    const char *p = c->values.ptr, *end = p ? p + c->values.len : NULL;
    for (; rc == MCP_OK && p < end; p += strlen(p) + 1)
        rc = mcp_reply_completion(req, mcp_str_from(p));
    common_buffer_free(&c->values);
    repo_layout_release(c->use.layout);
    mcp_reply_finish(req, rc);
}

static mcp_str context_rev(const mcp_json *context)
{
    static const char *const names[] = {"rev", "to", "from"};
    for (size_t i = 0; i < 3; i++) {
        mcp_str rev = mcp_json_string(mcp_json_get(context, names[i]));
        if (rev.len)
            return rev;
    }
    return MCP_STR("HEAD");
}

int repo_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                  void *user)
{
    repo *r = user;
    bool path = mcp_str_eq(name, MCP_STR("path"));
    if (!path && !mcp_str_eq(name, MCP_STR("rev")) && !mcp_str_eq(name, MCP_STR("from")) &&
        !mcp_str_eq(name, MCP_STR("to")))
        return MCP_OK;
    mcp_str rev = path ? context_rev(context) : (mcp_str){NULL, 0};
    if ((rev.ptr && repo_rev_refused(rev)) || (value.len && memchr(value.ptr, 0, value.len)))
        return MCP_OK;
    completion *c = mcp_request_alloc(req, sizeof *c);
    if (!c)
        return MCP_ENOMEM;
    memset(c, 0, sizeof *c);
    c->r = r;
    c->req = req;
    c->value = value.ptr ? value : (mcp_str){"", 0};
    c->rev = rev;
    c->rc = MCP_ECANCELLED;
    common_buffer_init(&c->values, &r->alloc);
    c->use.layout = repo_layout_now(r);
    if (!c->use.layout)
        return MCP_OK;
    int rc = mcp_request_work(req, work, done, c);
    if (rc < 0)
        repo_layout_release(c->use.layout);
    return rc;
}
