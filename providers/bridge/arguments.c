/* arguments.c: the arguments of list_resources, find_resources and search_resources. The schemas
 * have checked the types; this file makes the checks that a schema cannot express.
 */
#define _GNU_SOURCE
#include "names.h"
#include "pieces.h"
#include "structured.h"
#include "walk.h"

enum {
    MAX_LIMIT = 1000,
    MAX_GLOB = 256, /* characters */
};

static int refuse_cursor(const bridge_walk *w, const char *name)
{
    return mcp_reply_tool_error(
        w->req, "The cursor is not valid for %s: leave it out to start from the beginning.", name);
}

static size_t characters(mcp_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return n;
}

static const char *const names[] = {"list_resources", "find_resources", "search_resources"};

/* ---- single arguments ------------------------------------------------------------------------ */

static int take_number(bridge_walk *w, const mcp_json *arguments, const char *name, size_t fallback,
                       size_t *ret, bool *replied)
{
    int64_t number = mcp_json_int(mcp_json_get(arguments, name), (int64_t)fallback);
    *replied = number < 1 || number > MAX_LIMIT;
    if (*replied)
        return mcp_reply_tool_error(w->req, "%s must be a whole number from 1 to %d", name,
                                    MAX_LIMIT);
    *ret = (size_t)number;
    return MCP_OK;
}

static int take_glob(bridge_walk *w, const mcp_json *arguments, const char *name, bool *replied)
{
    w->query.glob = mcp_json_string(mcp_json_get(arguments, name));
    *replied = characters(w->query.glob) > MAX_GLOB;
    return *replied
               ? mcp_reply_tool_error(w->req, "%s is longer than %d characters", name, MAX_GLOB)
               : MCP_OK;
}

/* Reads the cursor "WHICH:POSITION", see walk.c. */
static bool take_position(bridge_walk *w, mcp_str cursor)
{
    uint64_t which;
    const char *colon = cursor.len ? memchr(cursor.ptr, ':', cursor.len) : NULL;
    mcp_str head = {cursor.ptr, colon ? (size_t)(colon - cursor.ptr) : 0};
    mcp_str rest = {colon + 1, cursor.len - head.len - 1};
    size_t first = w->by_sources ? 0 : w->all->n;
    if (!colon)
        return false;
    bool templates = mcp_str_eq(head, MCP_STR("t"));
    if (templates != w->only_templates)
        return false;
    if (!templates && !common_pieces_number(head, first, w->all->n, &which))
        return false;
    if (!templates && which < w->all->n) {
        w->source = (size_t)which;
        w->turn.from = rest;
        return true;
    }
    w->step = templates ? BRIDGE_AT_TEMPLATES : BRIDGE_AT_PAGE;
    w->has_token = rest.len != 0;
    return common_buffer_append(&w->token, rest.ptr, rest.len) == MCP_OK;
}

static int take_cursor(bridge_walk *w, const mcp_json *arguments, bool *replied)
{
    mcp_str cursor = mcp_json_string(mcp_json_get(arguments, "cursor"));
    w->first = !cursor.len; /* models send empty strings for omitted arguments */
    w->step = w->only_templates            ? BRIDGE_AT_TEMPLATES
              : w->by_sources && w->all->n ? BRIDGE_AT_SOURCE
                                           : BRIDGE_AT_PAGE;
    *replied = !w->first && !take_position(w, cursor);
    return *replied ? refuse_cursor(w, names[w->tool]) : MCP_OK;
}

/* ---- arguments of each tool ------------------------------------------------------------------ */

static int take_name(bridge_walk *w, const mcp_json *arguments, bool *replied)
{
    int rc = take_glob(w, arguments, "name", replied);
    mcp_str *glob = &w->query.glob;
    if (*replied)
        return rc;
    *replied = glob->len == 0;
    if (*replied)
        return mcp_reply_tool_error(w->req, "name is missing: give a part of a name, or a glob");
    if (memchr(glob->ptr, '*', glob->len) || memchr(glob->ptr, '?', glob->len) ||
        memchr(glob->ptr, '[', glob->len))
        return MCP_OK;
    char *part = mcp_request_strdup(w->req, *glob); /* no wildcards: a substring */
    if (!part)
        return MCP_ENOMEM;
    for (size_t i = 0; i < glob->len; i++)
        part[i] = part[i] >= 'A' && part[i] <= 'Z' ? (char)(part[i] | 0x20) : part[i];
    w->query.part = (mcp_str){part, glob->len};
    *glob = (mcp_str){0};
    return MCP_OK;
}

static int take_needle(bridge_walk *w, const mcp_json *arguments, bool *replied)
{
    char why[200];
    w->asked = mcp_json_string(mcp_json_get(arguments, "query"));
    w->regex = mcp_json_bool(mcp_json_get(arguments, "regex"), false);
    w->ignore_case = mcp_json_bool(mcp_json_get(arguments, "ignore_case"), false);
    search_needle_options o = {.text = w->asked, .regex = w->regex, .ignore_case = w->ignore_case};
    int rc = search_needle_new(&o, &w->all->alloc, &w->query.needle, why);
    *replied = rc == MCP_EINVAL;
    return *replied ? mcp_reply_tool_error(w->req, "query: %s", why) : rc;
}

/* A path is understood as the URI of a source, if there is no doubt which. */
static int take_under(bridge_walk *w, const mcp_json *arguments, bool *replied)
{
    bridge_names *meant = mcp_request_alloc(w->req, sizeof(*meant));
    mcp_str given = mcp_json_string(mcp_json_get(arguments, "under"));
    if (!meant)
        return MCP_ENOMEM;
    int rc = bridge_under_of(w->all, w->req, given, meant, &w->query.under);
    *replied = rc == MCP_OK && given.len && !w->query.under.len;
    if (!*replied)
        return rc;
    mcp_str a = meant->items[0].uri, b = meant->items[1].uri;
    return mcp_reply_tool_error(w->req, "under may mean several places. Give its URI: %.*s or %.*s",
                                (int)a.len, a.ptr, (int)b.len, b.ptr);
}

static void take_kind(bridge_walk *w, const mcp_json *arguments)
{
    mcp_str kind = mcp_json_string(mcp_json_get(arguments, "kind"));
    w->query.kinds = SEARCH_FILES | SEARCH_FOLDERS | SEARCH_OTHERS;
    if (mcp_str_eq(kind, MCP_STR("file")))
        w->query.kinds = SEARCH_FILES;
    else if (mcp_str_eq(kind, MCP_STR("folder")))
        w->query.kinds = SEARCH_FOLDERS;
    else if (mcp_str_eq(kind, MCP_STR("resource")))
        w->query.kinds = SEARCH_OTHERS;
}

static int take_own(bridge_walk *w, const mcp_json *arguments, bool *replied)
{
    if (w->tool == BRIDGE_FIND)
        return take_name(w, arguments, replied);
    int rc = take_glob(w, arguments, "pattern", replied);
    if (rc != MCP_OK || *replied || w->tool == BRIDGE_LIST)
        return rc;
    rc = take_number(w, arguments, "per_file", 20, &w->query.per_item, replied);
    return rc == MCP_OK && !*replied ? take_needle(w, arguments, replied) : rc;
}

static int take_all(bridge_walk *w, const mcp_json *arguments, bool *replied)
{
    int rc = take_number(w, arguments, "limit", w->tool == BRIDGE_SEARCH ? 100 : 200,
                         &w->query.limit, replied);
    take_kind(w, arguments);
    w->query.most = bridge_most_bytes(w->all, arguments);
    w->structured = common_reads_structured(w->req);
    if (w->tool == BRIDGE_SEARCH)
        w->query.kinds = SEARCH_FILES | SEARCH_OTHERS;
    if (rc == MCP_OK && !*replied)
        rc = take_under(w, arguments, replied);
    w->only_templates =
        w->tool == BRIDGE_LIST && mcp_json_bool(mcp_json_get(arguments, "templates"), false);
    if (rc == MCP_OK && !*replied)
        rc = take_own(w, arguments, replied);
    w->by_sources = w->tool != BRIDGE_LIST || w->query.under.len || w->query.glob.len;
    return rc == MCP_OK && !*replied ? take_cursor(w, arguments, replied) : rc;
}

static int call(mcp_request *req, const mcp_json *arguments, bridge_tools *all, bridge_tool tool)
{
    bool replied = false;
    bridge_walk *w = mcp_request_alloc(req, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (bridge_walk){.all = all, .req = req, .tool = tool};
    common_buffer_init(&w->token, &all->alloc);
    int rc = take_all(w, arguments, &replied);
    if (rc == MCP_OK && !replied)
        return bridge_walk_run(w);
    common_buffer_free(&w->token);
    search_needle_free(w->query.needle);
    return rc;
}

int bridge_call_list(mcp_request *req, const mcp_json *arguments, void *user)
{
    return call(req, arguments, user, BRIDGE_LIST);
}

int bridge_call_find(mcp_request *req, const mcp_json *arguments, void *user)
{
    return call(req, arguments, user, BRIDGE_FIND);
}

int bridge_call_search(mcp_request *req, const mcp_json *arguments, void *user)
{
    return call(req, arguments, user, BRIDGE_SEARCH);
}
