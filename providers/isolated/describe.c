/* describe.c: registers the items of a source's description. The description does not come from the
 * process, so the process cannot register anything. */
#include <stdio.h>
#include <string.h>

#include "provider.h"

/* Copies a struct of a module, which may be smaller in an older version. The members that it lacks
 * are zero. */
#define TAKE(to, from)                                                                     \
    do {                                                                                   \
        memset((to), 0, sizeof(*(to)));                                                    \
        memcpy((to), (from), (from)->size < sizeof(*(to)) ? (from)->size : sizeof(*(to))); \
        (to)->size = sizeof(*(to));                                                        \
    } while (0)

static int add_source(const mcp_source *given, mcp_error *error, void *user)
{
    mcp_source source;
    TAKE(&source, given);
    return isolated_mount(user, &source, error);
}

static int add_path(const mcp_source_path *path, mcp_error *error, void *user)
{
    (void)path, (void)error, (void)user;
    return MCP_OK;
}

static int add_template(const mcp_resource_template *given, mcp_error *error, void *user)
{
    isolated *r = user;
    mcp_resource_template t;
    TAKE(&t, given);
    t.read = isolated_read;
    t.complete = t.complete ? isolated_complete : NULL;
    return mcp_server_add_template(r->server, &t, r, error);
}

static int add_resource(const mcp_resource *given, mcp_error *error, void *user)
{
    isolated *r = user;
    mcp_resource resource;
    TAKE(&resource, given);
    resource.read = resource.text ? NULL : isolated_read;
    return mcp_server_add_resource(r->server, &resource, r, error);
}

static int add_tool(const mcp_tool *given, mcp_error *error, void *user)
{
    isolated *r = user;
    mcp_tool tool;
    TAKE(&tool, given);
    tool.call = isolated_run;
    tool.offered = NULL;
    tool.task_support = MCP_TASK_FORBIDDEN; /* requests of a task are not forwarded */
    return isolated_name_taken(r, mcp_server_add_tool(r->server, &tool, r, error), tool.name,
                               error);
}

static int add_prompt(const mcp_prompt *given, mcp_error *error, void *user)
{
    isolated *r = user;
    mcp_prompt prompt;
    TAKE(&prompt, given);
    prompt.get = isolated_run;
    prompt.complete = prompt.complete ? isolated_complete : NULL;
    return mcp_server_add_prompt(r->server, &prompt, r, error);
}

int isolated_describe(isolated *r, mcp_error *error)
{
    const mcp_description to = {.size = sizeof(to),
                                .user = r,
                                .source = add_source,
                                .add_path = add_path,
                                .add_template = add_template,
                                .add_resource = add_resource,
                                .add_tool = add_tool,
                                .add_prompt = add_prompt};
    r->described = true;
    return r->options.describe(&to, r->options.describe_user, error);
}

bool isolated_is_as_described(const isolated *r, const mcp_json *mounted)
{
    size_t n = mcp_json_count(mounted);
    for (size_t i = 0; i < n && i < r->n_prefixes; i++)
        if (!mcp_str_eq(mcp_json_string(mcp_json_at(mounted, i)),
                        mcp_str_from(r->prefixes[i].text)))
            return false;
    return n == r->n_prefixes;
}
