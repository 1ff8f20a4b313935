/* tools_list.c: list_resources, and find_resources, which is the same for those whose name fits.
 *
 * Each entry is a line of text, as a folder's listing has it, and an object of the structured content.
 */
#define _GNU_SOURCE
#include "glob.h"
#include "sweep.h"
#include "tools.h"

enum {
    DEFAULT_LIMIT = 200,
    MAX_LIMIT = 1000,
    MATCHED_PAGE = 10000, /* entries that are tried before their folder is read again */
};

#define LIMIT                                                                                      \
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"description\":\"Entries at " \
    "the most; default 200\"},"
#define CURSOR                                                                               \
    "\"cursor\":{\"type\":\"string\",\"description\":\"Where to go on, from the end of the " \
    "answer before\"}"

const char files_list_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"pattern\":{\"type\":\"string\",\"maxLength\":256,\"description\":\"Only paths that match "
    "this glob, relative to the source: *.md (any folder), src/**/*.c\"}," LIMIT CURSOR
    "},\"additionalProperties\":false}";

const char files_find_input[] =
    "{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256,\"description\":\"Part of the "
    "name, whatever the case: readme; with a slash, part of the path: src/main; with * ? or [ a "
    "glob for all of it: *.md, src/**/*.c\"},"
    "\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"folder\"],\"description\":\"Only "
    "these\"}," LIMIT CURSOR "},\"additionalProperties\":false}";

const char files_list_output[] =
    "{\"type\":\"object\",\"required\":[\"entries\"],\"properties\":{"
    "\"entries\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"kind\",\"uri\"]"
    ","
    "\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"folder\"]},\"uri\":{"
    "\"type\":\"string\"},"
    "\"size\":{\"type\":\"integer\",\"description\":\"Bytes\"}}}},"
    "\"cursor\":{\"type\":\"string\",\"description\":\"There is more: call again with it\"}}}";

typedef struct listing {
    files_sweep sweep; /* first */
    const char *tool;
    mcp_str glob; /* of the request; so is: */
    mcp_str part; /* in lower case; empty: any */
    bool files, folders;
    size_t limit, count;
    common_buffer out, uri;
    mcp_json_writer *json;
} listing;

/* ---- what is wanted -------------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Whether `part`, which is in lower case, is somewhere in the text. */
static bool contains(mcp_str text, mcp_str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++) {
        size_t i = 0;
        while (i < part.len && lower(text.ptr[at + i]) == part.ptr[i])
            i++;
        if (i == part.len)
            return true;
    }
    return false;
}

static bool wants(const files_sweep *s, const files_entry *e)
{
    const listing *l = (const listing *)s;
    if (e->is_dir ? !l->folders : !l->files)
        return false;
    if (!l->part.len)
        return files_sweep_wants(l->glob, e);
    return contains(memchr(l->part.ptr, '/', l->part.len) ? e->rel : e->name, l->part);
}

/* ---- an entry -------------------------------------------------------------------------------- */

static int put_entry(listing *l, const files_entry *e)
{
    const files *f = l->sweep.f;
    l->uri.len = 0;
    int rc = files_put_uri(f, e->root, e->rel, &l->uri);
    if (rc == MCP_OK)
        rc = files_put_line(f, e, &l->out);
    if (rc != MCP_OK)
        return rc;
    mcp_json_begin_object(l->json);
    mcp_json_key(l->json, "kind"), mcp_json_add_string(l->json, e->is_dir ? "folder" : "file");
    mcp_json_key(l->json, "uri"), mcp_json_add_string(l->json, l->uri.ptr);
    if (!e->is_dir)
        mcp_json_key(l->json, "size"), mcp_json_add_uint(l->json, e->size);
    mcp_json_end(l->json);
    return MCP_OK;
}

static int take(files_sweep *s, const files_entry *e)
{
    listing *l = (listing *)s;
    if (l->count == l->limit)
        return FILES_SWEEP_ENOUGH;
    l->count++;
    return put_entry(l, e);
}

/* ---- the reply ------------------------------------------------------------------------------- */

static int reply(listing *l)
{
    mcp_str json,
        none = l->sweep.more ? MCP_STR("Nothing so far.\n") : MCP_STR("Nothing was found.\n");
    mcp_request *req = l->sweep.req;
    mcp_json_end(l->json);
    int rc = files_sweep_add_cursor(&l->sweep, l->json);
    mcp_json_end(l->json);
    if (rc == MCP_OK)
        rc = mcp_json_writer_finish(l->json, &json);
    if (rc == MCP_OK && !l->count)
        rc = common_buffer_append(&l->out, none.ptr, none.len);
    if (rc == MCP_OK)
        rc = files_sweep_put_more(&l->sweep, l->tool, &l->out);
    if (rc == MCP_OK)
        rc = mcp_reply_str(req, (mcp_str){l->out.ptr, l->out.len}, NULL);
    return rc == MCP_OK ? mcp_reply_structured(req, json) : rc;
}

static int done(files_sweep *s)
{
    listing *l = (listing *)s;
    int rc = s->rc;
    if (rc == MCP_OK)
        rc = reply(l);
    else if (rc == MCP_EINVAL)
        rc = mcp_reply_tool_error(
            s->req, "The cursor is not one of %s: leave it out to begin at the start.", l->tool);
    common_buffer_free(&l->out);
    common_buffer_free(&l->uri);
    mcp_json_writer_free(l->json);
    return rc;
}

/* ---- the call -------------------------------------------------------------------------------- */

static int run(listing *l)
{
    l->json = mcp_json_writer_new(&l->sweep.f->alloc, 0);
    if (!l->json)
        return MCP_ENOMEM;
    mcp_json_begin_object(l->json);
    mcp_json_key(l->json, "entries"), mcp_json_begin_array(l->json);
    common_buffer_init(&l->out, &l->sweep.f->alloc);
    common_buffer_init(&l->uri, &l->sweep.f->alloc);
    l->sweep.wants = wants;
    l->sweep.take = take;
    l->sweep.done = done;
    return files_sweep_run(&l->sweep);
}

/* All zero but for what both tools have in common. NULL: no memory. */
static listing *new_listing(mcp_request *req, void *user, const char *tool)
{
    listing *l = mcp_request_alloc(req, sizeof *l);
    if (l)
        *l = (listing){
            .sweep = {.f = user, .req = req}, .tool = tool, .files = true, .folders = true};
    return l;
}

static int take_arguments(listing *l, const mcp_json *arguments, const char *glob, bool *told)
{
    mcp_request *req = l->sweep.req;
    int rc = files_sweep_number(req, arguments, "limit", DEFAULT_LIMIT, MAX_LIMIT, &l->limit, told);
    if (rc == MCP_OK && !*told)
        rc = files_sweep_arguments(&l->sweep, arguments, l->tool, glob, &l->glob, told);
    return rc;
}

int files_call_list(mcp_request *req, const mcp_json *arguments, void *user)
{
    bool told;
    listing *l = new_listing(req, user, "list_resources");
    if (!l)
        return MCP_ENOMEM;
    int rc = take_arguments(l, arguments, "pattern", &told);
    if (rc != MCP_OK || told)
        return rc;
    l->sweep.page = l->glob.len ? MATCHED_PAGE : l->limit + 1;
    return run(l);
}

/* A text without the signs of a glob is a part of the name. */
static int take_name(listing *l)
{
    if (memchr(l->glob.ptr, '*', l->glob.len) || memchr(l->glob.ptr, '?', l->glob.len) ||
        memchr(l->glob.ptr, '[', l->glob.len))
        return MCP_OK;
    char *part = mcp_request_strdup(l->sweep.req, l->glob);
    if (!part)
        return MCP_ENOMEM;
    for (size_t i = 0; i < l->glob.len; i++)
        part[i] = lower(part[i]);
    l->part = (mcp_str){part, l->glob.len};
    return MCP_OK;
}

int files_call_find(mcp_request *req, const mcp_json *arguments, void *user)
{
    bool told;
    listing *l = new_listing(req, user, "find_resources");
    mcp_str kind = mcp_json_string(mcp_json_get(arguments, "kind"));
    if (!l)
        return MCP_ENOMEM;
    int rc = take_arguments(l, arguments, "name", &told);
    if (rc != MCP_OK || told)
        return rc;
    if (!l->glob.len)
        return mcp_reply_tool_error(req, "name is missing: give a part of a name, or a glob");
    l->files = !mcp_str_eq(kind, MCP_STR("folder"));
    l->folders = !mcp_str_eq(kind, MCP_STR("file"));
    l->sweep.page = MATCHED_PAGE;
    rc = take_name(l);
    return rc == MCP_OK ? run(l) : rc;
}
