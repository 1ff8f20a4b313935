/* preview.c: see preview.h.
 *
 * That is a call of the tool, so the user is asked for it, and only tools are asked about that are known to have the
 * argument for this.
 */
#define _GNU_SOURCE
#include "preview.h"

#include <stdlib.h>

#include "terminal.h"

static const char *const tools[] = {"write_file", "edit_file"};

static bool is_known(mcp_str name)
{
    for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
        if (mcp_str_eq(name, mcp_str_from(tools[i])))
            return true;
    return false;
}

static bool has_switch(const mcp_json *tool)
{
    const mcp_json *members = mcp_json_get(mcp_json_get(tool, "inputSchema"), "properties");
    return mcp_str_eq(mcp_json_string(mcp_json_get(mcp_json_get(members, "dry_run"), "type")),
                      MCP_STR("boolean"));
}

/* Returns the arguments with dry_run, which the caller frees, or NULL if they have it already, or after reporting an
 * error. */
static char *with_switch(const char *arguments)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    char *text = NULL;
    mcp_json_parse(mcp_str_from(arguments), NULL, NULL, &doc, NULL);
    if (mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT) &&
        !mcp_json_get(mcp_json_root(doc), "dry_run")) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(w);
        for (const mcp_json *v; (v = mcp_json_next(mcp_json_root(doc), &it, &key)) != NULL;)
            mcp_json_key_str(w, key), mcp_json_add_value(w, v);
        mcp_json_put_bool(w, "dry_run", true);
        mcp_json_end(w);
        text = take_written("the call with dry_run", w);
    }
    mcp_json_free(doc);
    return text;
}

bool preview_is_for(const mcp_json *tool, const char *arguments)
{
    char *text = is_known(mcp_json_string(mcp_json_get(tool, "name"))) && has_switch(tool)
                     ? with_switch(arguments)
                     : NULL;
    free(text);
    return text != NULL;
}

static int show(ctl *c, const mcp_json *result, void *user)
{
    const mcp_json *content = mcp_json_get(result, "content");
    mcp_json_iter it = {0};
    (void)c, (void)user;
    for (const mcp_json *v; (v = mcp_json_next(content, &it, NULL)) != NULL;)
        terminal_show_lines(mcp_json_string(mcp_json_get(v, "text")), 4);
    return mcp_json_bool(mcp_json_get(result, "isError"), false) ? EXIT_REMOTE : EXIT_OK;
}

int preview_show(ctl *c, const mcp_json *tool, const char *arguments)
{
    char name[129], *text = with_switch(arguments);
    mcp_str given = mcp_json_string(mcp_json_get(tool, "name"));
    if (!text)
        return EXIT_LOCAL;
    snprintf(name, sizeof(name), "%.*s", (int)given.len, given.ptr);
    int code = session_call_tool(c, name, text, show, NULL);
    free(text);
    return code;
}
