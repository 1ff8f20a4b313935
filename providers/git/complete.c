/* complete.c: completes names of references, and paths at a revision. */
#include "expr.h"
#include "provider.h"

#include "text.h"

#include <mcp/uri.h>

enum { MOST = 100 };

typedef struct completion {
    repo *r;
    mcp_request *req;
    repo_use use;
    mcp_str value, rev;   /* values of the request; if rev.ptr is NULL, references are completed */
    common_buffer values; /* each followed by NUL */
    size_t count;
    int rc;
} completion;

/* Returns whether the character has to be percent-encoded. In {+path}, '?' and '#' would end the
 * path and '%' would begin an escape; text that is not UTF-8 could not be sent. */
static bool needs_encoding(char c, bool utf8)
{
    return strchr("%?#[]", c) != NULL || (!utf8 && (unsigned char)c >= 0x80);
}

static int append_path(completion *c, mcp_str text)
{
    bool utf8 = common_text_utf8(text);
    int rc = common_buffer_reserve(&c->values, MCP_URI_ENCODED_SIZE(text.len));
    for (size_t i = 0; rc == MCP_OK && i < text.len; i++) {
        mcp_str one = {text.ptr + i, 1};
        if (needs_encoding(*one.ptr, utf8))
            c->values.len += mcp_uri_encode_segment(one, c->values.ptr + c->values.len);
        else
            c->values.ptr[c->values.len++] = *one.ptr;
    }
    return rc;
}

static int keep_path(completion *c, mcp_str folder, const repo_entry *e)
{
    bool is_tree = e->mode == REPO_MODE_TREE;
    if (c->count++ >= MOST)
        return MCP_OK;
    int rc = append_path(c, folder);
    if (rc == MCP_OK)
        rc = append_path(c, e->name);
    return rc == MCP_OK ? common_buffer_append(&c->values, is_tree ? "/" : "", 1 + is_tree) : rc;
}

static int keep_ref(completion *c, const char *name)
{
    if (!common_text_utf8(mcp_str_from(name)) || c->count++ >= MOST)
        return MCP_OK; /* only counted: it cannot be sent as UTF-8, or enough values were found */
    return common_buffer_append(&c->values, name, strlen(name) + 1);
}

static bool begins(mcp_str s, mcp_str with)
{
    return s.len >= with.len && (!with.len || memcmp(s.ptr, with.ptr, with.len) == 0);
}

/* Completes HEAD, then branches, tags and remote branches. */
static int complete_refs(completion *c)
{
    static const char *const kinds[] = {"refs/heads/", "refs/tags/", "refs/remotes/"};
    int rc = begins(MCP_STR("HEAD"), c->value) ? keep_ref(c, "HEAD") : MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < 3; i++) {
        common_buffer refs;
        repo_ref ref;
        size_t at = 0;
        common_buffer_init(&refs, &c->r->base.alloc);
        rc = repo_refs_collect(&c->use, kinds[i], &refs);
        while (rc == MCP_OK && repo_refs_next(&refs, &at, &ref))
            if (begins(mcp_str_from(strchr(ref.name, '/') + 1), c->value))
                rc = keep_ref(c, c->count < MOST ? repo_ref_short(&c->use, ref.name) : ref.name);
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
    while (rc == MCP_OK && repo_tree_next(&rest, &e))
        if (begins(e.name, name))
            rc = keep_path(c, before, &e);
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

/* Adds a completion if the caller may read its target: the tree of a reference, or the file or
 * folder at a path. The check is the same for all templates, because a file's history reveals
 * the file too. */
static int put(const completion *c, mcp_str value)
{
    mcp_str rev = c->rev.ptr ? c->rev : value, path = c->rev.ptr ? value : (mcp_str){"", 0};
    const repo *r = c->r;
    size_t prefix = strlen(r->base.prefix);
    char *uri = mcp_request_alloc(c->req, prefix + MCP_URI_ENCODED_SIZE(rev.len) + path.len + 1);
    if (!uri)
        return MCP_ENOMEM;
    memcpy(uri, r->base.prefix, prefix);
    size_t len = prefix + repo_uri_encode(uri + prefix, rev, false);
    uri[len++] = '/';
    memcpy(uri + len, path.ptr, path.len); /* already encoded where necessary */
    mcp_str of = {uri, len + path.len};
    if (c->rev.ptr && !mcp_request_may(c->req, MCP_ITEM_RESOURCE, of))
        return MCP_OK;
    return mcp_reply_completion_for(c->req, value, of);
}

/* Replies with the completions. If the repository cannot be read there are none, because an error
 * while the user types would not help. */
static void done(mcp_request *req, void *user)
{
    completion *c = user;
    bool short_of = c->rc == MCP_ENOMEM || c->rc == MCP_EFILES;
    int rc = short_of || c->rc == MCP_ECANCELLED ? c->rc : MCP_OK;
    const char *p = c->values.ptr, *end = p ? p + c->values.len : NULL;
    for (; rc == MCP_OK && p < end; p += strlen(p) + 1)
        rc = put(c, mcp_str_from(p));
    if (rc == MCP_OK)
        mcp_reply_completion_total(req, c->count);
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
    if ((rev.ptr && repo_expr_refused(rev)) || (value.len && memchr(value.ptr, 0, value.len)))
        return MCP_OK;
    completion *c = mcp_request_alloc(req, sizeof(*c));
    if (!c)
        return MCP_ENOMEM;
    memset(c, 0, sizeof(*c));
    c->r = r;
    c->req = req;
    c->value = value.ptr ? value : (mcp_str){"", 0};
    if (path && value.len) { /* the value may be encoded or not */
        size_t len;
        char *typed = mcp_request_alloc(req, value.len);
        if (!typed)
            return MCP_ENOMEM;
        if (mcp_uri_decode(value, typed, value.len, &len) == MCP_OK && !memchr(typed, 0, len))
            c->value = (mcp_str){typed, len};
    }
    c->rev = rev;
    c->rc = MCP_ECANCELLED;
    common_buffer_init(&c->values, &r->base.alloc);
    int rc;
    c->use.layout = repo_layout_now(r, &rc);
    if (!c->use.layout)
        return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    rc = mcp_request_work(req, work, done, c);
    if (rc < 0)
        repo_layout_release(c->use.layout);
    return rc;
}
