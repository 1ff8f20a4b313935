/* typed.c: the functions for single methods. Each function writes the params of its method. */
#include "client/client.h"

#include "protocol/contents.h"

typedef struct params {
    mcp__buf buf;
    mcp__object object;
    int rc;
} params;

static params params_begin(mcp_client *client)
{
    params p = {0};
    mcp__buf_init(&p.buf, client->allocator, 0);
    return p;
}

/* Writes a member whose value is the JSON text of an object. Does nothing if `json` is NULL. */
static void params_object(params *p, const char *name, const char *json)
{
    if (!json || p->rc != MCP_OK)
        return;
    mcp__object_key(&p->object, name);
    p->rc = mcp__json_put_checked(&p->buf, mcp_str_from(json), MCP_JSON_OBJECT, NULL);
}

static int params_send(params *p, mcp_client *client, const char *method,
                       const mcp_call_options *options, mcp_call_id *ret)
{
    mcp__call *call = NULL;
    mcp__object_end(&p->object);
    int rc = p->rc != MCP_OK ? p->rc : p->buf.failed;
    if (rc == MCP_OK)
        rc = mcp__call_new(client, mcp_str_from(method), mcp__buf_view(&p->buf), options, &call);
    mcp__buf_free(&p->buf);
    return rc == MCP_OK ? mcp__call_begin(call, ret) : rc;
}

static int named(mcp_client *client, const char *method, const char *key, const char *name,
                 const char *arguments, const mcp_call_options *options, mcp_call_id *ret)
{
    if (!client || !name)
        return MCP_EINVAL;
    params p = params_begin(client);
    p.object = mcp__object_begin(&p.buf, NULL);
    mcp__object_str(&p.object, key, name);
    params_object(&p, "arguments", arguments);
    return params_send(&p, client, method, options, ret);
}

int mcp_client_read(mcp_client *client, const char *uri, const mcp_call_options *options,
                    mcp_call_id *ret)
{
    return named(client, "resources/read", "uri", uri, NULL, options, ret);
}

int mcp_client_call_tool(mcp_client *client, const char *name, const char *arguments,
                         const mcp_call_options *options, mcp_call_id *ret)
{
    return named(client, "tools/call", "name", name, arguments, options, ret);
}

int mcp_client_get_prompt(mcp_client *client, const char *name, const char *arguments,
                          const mcp_call_options *options, mcp_call_id *ret)
{
    return named(client, "prompts/get", "name", name, arguments, options, ret);
}

static void put_reference(mcp__object *o, const mcp_completion_query *q)
{
    mcp__object_key(o, "ref");
    mcp__object ref = mcp__object_begin(o->buf, NULL);
    mcp__object_str(&ref, "type", q->prompt ? "ref/prompt" : "ref/resource");
    mcp__object_str(&ref, "name", q->prompt);
    mcp__object_str(&ref, "uri", q->uri_template);
    mcp__object_end(&ref);
}

static void put_argument(mcp__object *o, const mcp_completion_query *q)
{
    mcp__object_key(o, "argument");
    mcp__object argument = mcp__object_begin(o->buf, NULL);
    mcp__object_str(&argument, "name", q->argument);
    mcp__object_str(&argument, "value", q->value ? q->value : "");
    mcp__object_end(&argument);
}

int mcp_client_complete(mcp_client *client, const mcp_completion_query *query,
                        const mcp_call_options *options, mcp_call_id *ret)
{
    mcp_completion_query q;
    if (!client || MCP__TAKE(&q, query, mcp_completion_query, NULL) != MCP_OK)
        return MCP_EINVAL;
    if (!q.argument || !q.prompt == !q.uri_template)
        return MCP_EINVAL;
    params p = params_begin(client);
    p.object = mcp__object_begin(&p.buf, NULL);
    put_reference(&p.object, &q);
    put_argument(&p.object, &q);
    if (q.context) {
        mcp__object_key(&p.object, "context");
        mcp__buf_lit(&p.buf, "{\"arguments\":");
        p.rc = mcp__json_put_checked(&p.buf, mcp_str_from(q.context), MCP_JSON_OBJECT, NULL);
        mcp__buf_char(&p.buf, '}');
    }
    return params_send(&p, client, "completion/complete", options, ret);
}

int mcp_client_ping(mcp_client *client, const mcp_call_options *options, mcp_call_id *ret)
{
    mcp__call *call = NULL;
    if (!client)
        return MCP_EINVAL;
    int rc = mcp__call_new(client, MCP_STR("ping"), (mcp_str){0}, options, &call);
    if (rc != MCP_OK)
        return rc;
    call->ping = true;
    return mcp__call_begin(call, ret);
}

int mcp_client_set_log_level(mcp_client *client, const char *level)
{
    if (!client)
        return MCP_EINVAL;
    const char *static_name = mcp__client_log_level(level);
    if (level && !static_name)
        return MCP_EINVAL;
    client->self.log_level = static_name;
    return mcp__client_is_ready(client) ? mcp__client_send_level(client) : MCP_OK;
}

int mcp__client_send_level(mcp_client *client)
{
    const mcp_json *capabilities = mcp_client_server_capabilities(client);
    if (!client->self.log_level || client->revision->modern ||
        !mcp_json_get(capabilities, "logging"))
        return MCP_OK;
    params p = params_begin(client);
    p.object = mcp__object_begin(&p.buf, NULL);
    mcp__object_str(&p.object, "level", client->self.log_level);
    return params_send(&p, client, "logging/setLevel", NULL, NULL);
}
