/* module.c: the provider as a module that mcpd loads for "postgres:CONNINFO". */
#include <mcp/module.h>

#include "postgres.h"

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    return mcp_postgres_mount_json(server, source, options, name, NULL, error);
}

static int check(const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    return mcp_postgres_check_json(source, options, name, NULL, error);
}

static int describe(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error)
{
    return mcp_postgres_describe_json(source, options, name, NULL, to, error);
}

MCP_MODULE(postgres, .about = "PostgreSQL databases", .options_schema = mcp_postgres_schema,
           .mount = mount, .describe = describe, .check = check,
           .uses = "{schema}/{table}, {schema}/{table}/rows{?contains,limit,offset}, "
                   "{schema}/{table}/row{/key*}");
