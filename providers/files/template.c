/* template.c: the templates of files and folders, and the completion of their path. */
#define _GNU_SOURCE
#include "provider.h"

#include "complete.h"
#include "file_parts.h"

/* ---- completion ------------------------------------------------------------------------------ */

/* A completion. Values are stored until the reply, because a worker collects them if the
 * folder is large. */
typedef struct completion {
    files *f;
    mcp_str value; /* points into `path` or the request */
    char path[COMMON_PATH_MAX];
    files_complete_options options;
    common_buffer values; /* each followed by NUL */
    size_t total;
    int rc;
} completion;

/* Returns whether the character must be encoded in {+path}: '?' and '#' would end the path and '%'
 * would begin an escape. */
static bool needs_encoding(char c)
{
    return strchr("%?#[]", c) != NULL;
}

static int keep_value(mcp_str value, void *user)
{
    common_buffer *out = &((completion *)user)->values;
    int rc = common_buffer_reserve(out, MCP_URI_ENCODED_SIZE(value.len));
    if (rc != MCP_OK)
        return rc;
    for (size_t i = 0; i < value.len; i++) {
        mcp_str one = {value.ptr + i, 1};
        if (needs_encoding(*one.ptr))
            out->len += mcp_uri_encode_segment(one, out->ptr + out->len);
        else
            out->ptr[out->len++] = *one.ptr;
    }
    return common_buffer_append(out, "", 1);
}

static void complete_work(void *user)
{
    completion *c = user;
    c->values.len = 0;
    c->rc = files_complete_absolute(&c->f->roots, c->value, &c->options, keep_value, c, &c->total);
}

static int reply_values(mcp_request *req, completion *c)
{
    int rc = c->rc;
    for (size_t at = 0; rc == MCP_OK && at < c->values.len;) {
        mcp_str value = mcp_str_from(c->values.ptr + at);
        rc = mcp_reply_completion(req, value);
        at += value.len + 1;
    }
    if (rc == MCP_OK)
        mcp_reply_completion_total(req, c->total);
    common_buffer_free(&c->values);
    return rc;
}

static void complete_done(mcp_request *req, void *user)
{
    mcp_reply_finish(req, reply_values(req, user));
}

static int complete_later(mcp_request *req, completion *c)
{
    c->options.too_large = NULL;
    c->rc = MCP_ECANCELLED; /* in case the work never starts */
    int rc = mcp_request_work(req, complete_work, complete_done, c);
    if (rc < 0)
        common_buffer_free(&c->values);
    return rc;
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    files *f = user;
    size_t len;
    (void)context;
    if (!mcp_str_eq(name, MCP_STR("path")) || value.len >= COMMON_PATH_MAX)
        return MCP_OK;
    completion *c = mcp_request_alloc(req, sizeof(*c));
    if (!c)
        return MCP_ENOMEM;
    c->f = f;
    c->value = value;
    c->options = (files_complete_options){.too_large = files_is_large_folder, .alloc = &f->alloc};
    common_buffer_init(&c->values, &f->alloc);
    for (size_t i = 0; i < f->roots.count; i++)
        files_renew_old(f, i);
    /* The value may be encoded or not. */
    if (mcp_uri_decode(value, c->path, sizeof(c->path), &len) == MCP_OK && !memchr(c->path, 0, len))
        c->value = (mcp_str){c->path, len};
    complete_work(c);
    return c->rc == FILES_IS_LARGE ? complete_later(req, c) : reply_values(req, c);
}

/* ---- templates ------------------------------------------------------------------------------- */

#define TEMPLATE(query, about_name, about_title, about)                                \
    {                                                                                  \
        .size = sizeof(mcp_resource_template), .uri_template = "file://{+path}" query, \
        .name = about_name, .title = about_title, .description = about,                \
        .read = files_read_template, .complete = complete                              \
    }
#define PART(kind, name, title, about, parameters) \
    [FILES_##kind] = TEMPLATE("{?" parameters "}", name, title, about),
#define FIRST(kind, member, name, value, bounds, about) name
#define NEXT(kind, member, name, value, bounds, about)  "," name

const mcp_resource_template files_templates[FILES_PART_KINDS] = {
    [FILES_WHOLE] = TEMPLATE("", "file", "File or folder",
                             "A file, or the listing of a folder, by its absolute path"),
    COMMON_PARTS(PART, FIRST, NEXT)};

int files_add_templates(files *f, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < FILES_PART_KINDS; i++)
        rc = mcp_server_add_template(f->server, &files_templates[i], f, error);
    return rc;
}
