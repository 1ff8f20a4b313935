/* entries.c: a module whose entries are given: its source is the text of an object with a
 * "resource", which its list has, a "template", a "prompt" and a "tool". */
#include <mcp/module.h>
#include <mcp/sys/forward.h>

static mcp_json_doc *given;
static mcp_entry_memory *memory;

static int read_entry(mcp_item item, const char *name, void *to)
{
    return mcp_entry_read(item, mcp_json_get(mcp_json_root(given), name), to, NULL, &memory);
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    mcp_resource r = {.size = sizeof(r)};
    (void)cursor, (void)max, (void)user;
    int rc = read_entry(MCP_ITEM_RESOURCE, "resource", &r);
    return rc == MCP_OK ? mcp_reply_resource(req, &r) : rc;
}

static int read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_text(req, "read");
}

static int run(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "run");
}

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    const mcp_provider provider = {.size = sizeof(provider), .name = "entries", .list = list};
    mcp_resource_template t = {.size = sizeof(t)};
    mcp_prompt p = {.size = sizeof(p)};
    mcp_tool tool = {.size = sizeof(tool)};
    (void)options, (void)name;
    int rc = mcp_json_parse((mcp_str){source, strlen(source)}, NULL, NULL, &given, error);
    if (rc != MCP_OK || (rc = read_entry(MCP_ITEM_TEMPLATE, "template", &t)) != MCP_OK ||
        (rc = read_entry(MCP_ITEM_PROMPT, "prompt", &p)) != MCP_OK ||
        (rc = read_entry(MCP_ITEM_TOOL, "tool", &tool)) != MCP_OK)
        return rc;
    t.read = read;
    p.get = tool.call = run;
    rc = mcp_server_mount(server, "entries://all/", &provider, NULL, error);
    if (rc == MCP_OK)
        rc = mcp_server_add_template(server, &t, NULL, error);
    if (rc == MCP_OK)
        rc = mcp_server_add_prompt(server, &p, NULL, error);
    return rc == MCP_OK ? mcp_server_add_tool(server, &tool, NULL, error) : rc;
}

MCP_MODULE(entries, .mount = mount);
