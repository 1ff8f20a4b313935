/* dry_run.c: see dry_run.h. */
#include "dry_run.h"

#include <stdlib.h>

#include "text.h"

/* A tool that only reads has nothing to try, and one that says nothing about itself may mean something else by the
 * name of the argument. */
static bool has_switch(const mcp_json *tool)
{
    const mcp_json *members = mcp_json_get(mcp_json_get(tool, "inputSchema"), "properties");
    const mcp_json *reads = mcp_json_get(mcp_json_get(tool, "annotations"), "readOnlyHint");
    return mcp_json_is(reads, MCP_JSON_BOOL) && !mcp_json_bool(reads, true) &&
           mcp_str_eq(mcp_json_string(mcp_json_get(mcp_json_get(members, "dry_run"), "type")),
                      MCP_STR("boolean"));
}

static void put_members(mcp_json_writer *w, const mcp_json *arguments)
{
    mcp_json_iter it = {0};
    mcp_str key;
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(arguments, &it, &key)) != NULL;) {
        if (mcp_str_eq(key, MCP_STR("dry_run")))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_value(w, v);
    }
    mcp_json_put_bool(w, "dry_run", true);
    mcp_json_end(w);
}

char *dry_run_arguments(const char *arguments)
{
    mcp_json_doc *doc = NULL;
    mcp_str made;
    char *text = NULL;
    mcp_json_parse(mcp_str_from(arguments), NULL, NULL, &doc, NULL);
    const mcp_json *root = mcp_json_root(doc);
    const mcp_json *given = mcp_json_get(root, "dry_run");
    if (mcp_json_is(root, MCP_JSON_OBJECT) &&
        (!given || (mcp_json_is(given, MCP_JSON_BOOL) && !mcp_json_bool(given, true)))) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        put_members(w, root);
        if (w && mcp_json_writer_finish(w, &made) == MCP_OK)
            text = text_dup(made);
        mcp_json_writer_free(w);
    }
    mcp_json_free(doc);
    return text;
}

bool dry_run_is_for(const mcp_json *tool, const char *arguments)
{
    char *text = has_switch(tool) ? dry_run_arguments(arguments) : NULL;
    free(text);
    return text != NULL;
}
