/* tools.c: stores what the definitions of a tools/list say about later tools/call requests: which
 * parameters a modern server requires in headers (2026-07-28, basic/transports/streamable-http,
 * "Custom Headers from Tool Parameters"), and whether a call may be repeated.
 *
 * A tool that was never listed is called without such headers. If the server rejects the call
 * because the headers are missing, the client reads the list and repeats the call.
 */
#include "client/client.h"

enum { MAX_TOOLS = 16384 }; /* number of tools that are remembered */

bool mcp__client_mirrors(const mcp_client *client)
{
    return client->channel && client->connection.transport.exchanges && client->revision &&
           client->revision->modern;
}

static void tool_free(mcp_client *client, mcp__tool *tool)
{
    const mcp_allocator *a = client->allocator;
    if (!tool)
        return;
    mcp__mirror_free(a, &tool->mirror);
    mcp__release(a, tool->refused);
    mcp__release(a, tool->name);
    mcp__release(a, tool);
}

void mcp__tools_free(mcp_client *client)
{
    size_t at = 0;
    for (mcp__tool *t; (t = mcp__map_next(&client->learnt.tools, &at)) != NULL;)
        tool_free(client, t);
    mcp__map_free(&client->learnt.tools);
}

const mcp__tool *mcp__tools_find(const mcp_client *client, mcp_str name)
{
    return mcp__map_get(&client->learnt.tools, name);
}

static mcp_str name_of(const mcp_json *tool)
{
    return mcp_json_string(mcp_json_get(tool, "name"));
}

/* ---- learning -------------------------------------------------------------------------------- */

static int compile(mcp_client *client, const mcp_json *definition, mcp__tool *tool)
{
    mcp_error why = {0};
    const mcp_json *schema = mcp_json_get(definition, "inputSchema");
    int rc = mcp__mirror_compile(client->allocator, schema, &tool->mirror, &why);
    if (rc != MCP_EINVAL)
        return rc;
    tool->refused = mcp__strdup(client->allocator, mcp_str_from(why.text));
    return tool->refused ? MCP_OK : MCP_ENOMEM;
}

static int remember(mcp_client *client, mcp__tool *tool)
{
    tool_free(client, mcp__map_remove(&client->learnt.tools, mcp_str_from(tool->name)));
    bool is_relevant = tool->refused || tool->mirror.count || tool->takes_task || tool->repeatable;
    int rc = MCP_ELIMIT;
    if (is_relevant && client->learnt.tools.count < MAX_TOOLS)
        rc = mcp__map_add(&client->learnt.tools, mcp_str_from(tool->name), tool);
    if (rc != MCP_OK)
        tool_free(client, tool);
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

static mcp_str task_support_of(const mcp_json *definition)
{
    return mcp_json_string(mcp_json_get(mcp_json_get(definition, "execution"), "taskSupport"));
}

static bool is_repeatable(const mcp_json *definition)
{
    const mcp_json *hints = mcp_json_get(definition, "annotations");
    return mcp_json_bool(mcp_json_get(hints, "readOnlyHint"), false) ||
           mcp_json_bool(mcp_json_get(hints, "idempotentHint"), false);
}

/* Stores the properties of one tool from its definition. Sets *refused if the tool must be left out
 * of the list. */
static int learn(mcp_client *client, const mcp_json *definition, bool *refused)
{
    mcp_str name = name_of(definition);
    bool mirrors = mcp__client_mirrors(client);
    *refused = false;
    if (!name.len || memchr(name.ptr, 0, name.len))
        return MCP_OK; /* a tool without a usable name cannot be called */
    mcp__tool *tool = mcp__zalloc(client->allocator, sizeof(*tool));
    if (!tool)
        return MCP_ENOMEM;
    tool->name = mcp__strdup(client->allocator, name);
    tool->needs_task = mcp_str_eq(task_support_of(definition), MCP_STR("required"));
    tool->takes_task =
        tool->needs_task || mcp_str_eq(task_support_of(definition), MCP_STR("optional"));
    tool->repeatable = is_repeatable(definition);
    int rc = tool->name ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK && mirrors)
        rc = compile(client, definition, tool);
    if (rc != MCP_OK) {
        tool_free(client, tool);
        return rc;
    }
    *refused = tool->refused != NULL;
    if (*refused && client->options.tool_refused)
        client->options.tool_refused(client, name, tool->refused, client->options.user);
    return remember(client, tool);
}

int mcp__tools_learn(mcp_client *client, const mcp_json *result, mcp_json_doc **ret)
{
    const mcp_json *tools = mcp_json_get(result, "tools");
    size_t count = mcp_json_is(tools, MCP_JSON_ARRAY) ? mcp_json_count(tools) : 0, i = 0;
    mcp_json_iter it = {0};
    bool any = false;
    int rc = MCP_OK;
    if (!count)
        return MCP_OK;
    bool *refused = mcp__zalloc(client->allocator, count);
    if (!refused)
        return MCP_ENOMEM;
    for (const mcp_json *t; rc == MCP_OK && (t = mcp_json_next(tools, &it, NULL)) != NULL; i++) {
        rc = learn(client, t, &refused[i]);
        any |= refused[i];
    }
    if (rc == MCP_OK && any)
        rc = mcp__page_without(client, result, MCP_STR("tools"), refused, ret);
    mcp__release(client->allocator, refused);
    return rc;
}

/* ---- checking calls ------------------------------------------------------------------------- */

/* Returns whether a header can express the value exactly. If not, the call is rejected. */
static bool fits_header(const mcp_json *value)
{
    double limit = 9007199254740991.0; /* 2^53 - 1 */
    if (mcp_json_is(value, MCP_JSON_BIGINT))
        return false;
    if (!mcp_json_is(value, MCP_JSON_INT))
        return true;
    double n = mcp_json_number(value, 0);
    return n >= -limit && n <= limit;
}

static int check_arguments(const mcp__call *call, const mcp__mirror *mirror, mcp_error *error)
{
    mcp_client *client = call->client;
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    mcp_json_doc *doc = NULL;
    mcp__buf b;
    mcp__buf_init(&b, client->allocator, 0);
    mcp__buf_char(&b, '{');
    mcp__buf_add(&b, call->params.ptr, call->members);
    mcp__buf_char(&b, '}');
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp_json_parse(mcp__buf_view(&b), &limits, client->allocator, &doc, NULL);
    mcp__buf_free(&b);
    const mcp_json *arguments = mcp_json_get(rc == MCP_OK ? mcp_json_root(doc) : NULL, "arguments");
    for (size_t i = 0; rc == MCP_OK && i < mirror->count; i++) {
        const mcp__mirrored *m = &mirror->items[i];
        if (!fits_header(mcp__mirrored_value(m, arguments)))
            rc = mcp__fail(error, MCP_EINVAL, 0,
                           "the integer for %s is beyond 2^53 - 1 and cannot be a header",
                           m->header);
    }
    mcp_json_free(doc);
    return rc;
}

int mcp__tools_check(mcp__call *call, mcp_error *error)
{
    mcp_client *client = call->client;
    if (!mcp__client_mirrors(client) || !mcp_str_eq(call->method, MCP_STR("tools/call")))
        return MCP_OK;
    const mcp__tool *tool = mcp__tools_find(client, call->name);
    if (tool && tool->refused)
        return mcp__fail(error, MCP_EPROTOCOL, 0,
                         "the definition of the tool \"%.64s\" is refused: %s", tool->name,
                         tool->refused);
    return tool && tool->mirror.count ? check_arguments(call, &tool->mirror, error) : MCP_OK;
}

/* ---- reading the list again ----------------------------------------------------------------- */

static bool next_page(mcp_client *client, const mcp_json *result, void *user)
{
    (void)client, (void)result, (void)user;
    return true;
}

static void on_listed(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    mcp_call_id *handle = user;
    mcp__call *call = mcp__call_find(client, *handle);
    mcp__release(client->allocator, handle);
    if (!call || call->phase != MCP__CALL_PARKED)
        return; /* the call was cancelled */
    if (rc == MCP_OK)
        mcp__call_again(call, 0);
    else
        mcp__call_finish(call, rc, result, error);
}

int mcp__tools_relist(mcp__call *call)
{
    mcp_client *client = call->client;
    mcp_call_id *handle = mcp__alloc(client->allocator, sizeof(*handle));
    if (!handle)
        return MCP_ENOMEM;
    *handle = call->handle;
    int rc = mcp_client_list_all(
        client, "tools/list", next_page,
        MCP_OPTIONS(mcp_call_options, .done = on_listed, .user = handle, .no_cache = true), NULL);
    if (rc != MCP_OK)
        mcp__release(client->allocator, handle);
    else
        call->relisted = true;
    return rc;
}
