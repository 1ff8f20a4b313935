/* module.c: the provider as a module that mcpd loads for "git:PATH". */
#include <mcp/module.h>

#include "git.h"

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    return mcp_git_mount_json(server, source, options, name, NULL, error);
}

static int describe(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error)
{
    return mcp_git_describe_json(source, options, name, NULL, to, error);
}

static int look(const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    return mcp_git_look_json(source, options, name, NULL, error);
}

MCP_MODULE(git, .about = "git repositories", .options_schema = mcp_git_schema,
           .source_is_path = true, .mount = mount, .describe = describe, .look = look,
           .uses = "-/branches, -/status, -/log/{rev}{?author,text,since,limit,files}, "
                   "-/log/{rev}/{+path}, "
                   "-/diff/{range}{?path}, -/blame/{rev}/{+path}{?line,lines}, "
                   "-/search/{rev}{?text,path}, {rev}/{+path}");
