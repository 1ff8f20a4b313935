/* module.c: the provider as a module that mcpd loads for "sqlite:FILE". */
#include <mcp/module.h>

#include "sqlite.h"

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    return mcp_sqlite_mount_json(server, source, options, name, NULL, error);
}

static int check(const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    return mcp_sqlite_check_json(source, options, name, NULL, error);
}

static int describe(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error)
{
    return mcp_sqlite_describe_json(source, options, name, NULL, to, error);
}

static int look(const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    return mcp_sqlite_look_json(source, options, name, NULL, error);
}

MCP_MODULE(sqlite, .about = "SQLite databases", .options_schema = mcp_sqlite_schema,
           .source_is_path = true, .mount = mount, .describe = describe, .look = look,
           .check = check,
           .uses = "{table}, {table}/rows{?contains,limit,offset}, {table}/row{/key*}");
