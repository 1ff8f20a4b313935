/* preview.c: see preview.h. */
#define _GNU_SOURCE
#include "preview.h"

#include <stdlib.h>

#include <common/dry_run.h>

#include "terminal.h"

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
    char name[129], *text = dry_run_arguments(arguments);
    mcp_str given = mcp_json_string(mcp_json_get(tool, "name"));
    if (!text) {
        say("the call with dry_run: out of memory");
        return EXIT_LOCAL;
    }
    snprintf(name, sizeof(name), "%.*s", (int)given.len, given.ptr);
    int code = session_call_tool(c, name, text, show, NULL);
    free(text);
    return code;
}
