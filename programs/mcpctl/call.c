/* call.c: mcpctl tools, and mcpctl call NAME.
 *
 * What a tool says about itself (for example, that it is read-only) is an untrusted hint and grants
 * no permission: mcpctl shows a call and asks for confirmation, unless --yes is given or the user's
 * own configuration trusts the server.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <common/dry_run.h>

#include "arguments.h"
#include "content.h"
#include "definitions.h"
#include "preview.h"
#include "save.h"
#include "servers.h"
#include "terminal.h"

/* ---- hints ----------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    const char *if_true, *if_false;
} hints[] = {
    /* the words of the specification, as in web/tools.js */
    {"readOnlyHint", "read-only", "not read-only"},
    {"destructiveHint", "destructive", "not destructive"},
    {"idempotentHint", "idempotent", "not idempotent"},
    {"openWorldHint", "open world", "closed world"},
};

/* Writes the server's hints, such as "read-only, closed world". Returns false if there are none. */
static bool put_hints(FILE *to, const mcp_json *tool)
{
    const mcp_json *annotations = mcp_json_get(tool, "annotations");
    const char *before = "";
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
        const mcp_json *v = mcp_json_get(annotations, hints[i].key);
        if (!mcp_json_is(v, MCP_JSON_BOOL))
            continue;
        fprintf(to, "%s%s", before, mcp_json_bool(v, false) ? hints[i].if_true : hints[i].if_false);
        before = ", ";
    }
    return *before != 0;
}

static bool is_required(const mcp_json *schema, mcp_str name)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(schema, "required");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(v), name))
            return true;
    return false;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Writes the tool's arguments, such as "a= [b=]". */
static void put_parameters(FILE *to, const mcp_json *tool)
{
    const char *before = "";
    const mcp_json *schema = mcp_json_get(tool, "inputSchema");
    mcp_json_iter it = {0};
    mcp_str name;
    const mcp_json *list = mcp_json_get(schema, "properties");
    for (; mcp_json_next(list, &it, &name) != NULL; before = " ") {
        bool required = is_required(schema, name);
        fprintf(to, "%s%s", before, required ? "" : "[");
        text_put_raw(to, name);
        fputs(required ? "=" : "=]", to);
    }
}

static void put_hints_field(FILE *to, const mcp_json *tool)
{
    put_hints(to, tool);
}

/* Writes the hints after the parameters, or on a separate line if they do not fit. */
static void put_effects(const ctl *c, const mcp_json *tool, size_t column)
{
    char text[160] = "";
    FILE *f = fmemopen(text, sizeof(text), "w");
    if (!f)
        return;
    fputs("(the server says: ", f);
    if (!put_hints(f, tool))
        fputs("nothing", f);
    fputs(")", f);
    fclose(f);
    bool fits = !out_columns(c) || column + 2 + strlen(text) <= out_columns(c);
    printf("%s%s%s%s", fits ? "  " : "\n        ", style_of(c, STYLE_DIM), text,
           style_of(c, STYLE_NONE));
}

static void put_tool(const ctl *c, const mcp_json *tool)
{
    mcp_str about = mcp_json_string(mcp_json_get(tool, "description"));
    size_t column = definition_put_head(c, &tool_definitions.fields[0], tool);
    if (mcp_json_count(mcp_json_get(tool, "annotations")))
        put_effects(c, tool, column);
    put_about(c, about);
    putchar('\n');
}

const definitions tool_definitions = {
    .capability = "tools",
    .method = "tools/list",
    .kind = "tool",
    .put = put_tool,
    .fields = {{"PARAMETERS", put_parameters},
               {"EFFECTS", put_hints_field},
               {"DESCRIPTION", definition_put_description}},
    .n_fields = 3,
};

int run_tools(ctl *c)
{
    return definitions_list(c, &tool_definitions);
}

/* ---- confirmation ---------------------------------------------------------------------------- */

static void show_line(const char *label, mcp_str text)
{
    fprintf(stderr, "  %-10s", label);
    text_put(stderr, text, TEXT_LINE);
    fputc('\n', stderr);
}

static void show_call(const ctl *c, const mcp_json *tool, const char *arguments)
{
    const server *s = c->session->server;
    const mcp_json *info = mcp_client_server_info(c->session->client);
    fflush(stdout);
    say("this tool call needs your confirmation:");
    show_line("server", s->name  ? mcp_str_from(s->name)
                        : s->url ? mcp_str_from(s->url)
                                 : mcp_json_string(mcp_json_get(info, "name")));
    show_line("tool", mcp_json_string(mcp_json_get(tool, "name")));
    fputs("  arguments ", stderr);
    text_put_json(stderr, mcp_str_from(arguments));
    fputc('\n', stderr);
    if (mcp_json_count(mcp_json_get(tool, "annotations"))) {
        fputs("  it says   ", stderr);
        put_hints(stderr, tool);
        fputc('\n', stderr);
    }
}

/* Shows what the call would change, if the tool can say so and the user wants it: that is a call, too, and whether it
 * writes nothing is the server's word. Returns EXIT_OK, or the code of what would fail. */
static int show_change(ctl *c, const mcp_json *tool, const char *arguments)
{
    if (!dry_run_is_for(tool, arguments) ||
        !terminal_ask_yes("Call it with dry_run first, to see what it would change? [y/N] "))
        return EXIT_OK;
    int code = preview_show(c, tool, arguments);
    if (code == EXIT_REMOTE)
        say("call %s: it would fail, so it is not called", c->args[0]);
    return code;
}

static int confirm(ctl *c, const mcp_json *tool, const char *arguments)
{
    if (c->set.yes || c->session->server->trusted)
        return EXIT_OK;
    show_call(c, tool, arguments);
    if (!terminal_can_ask()) {
        hint("cannot ask for confirmation without a terminal: --yes calls without confirmation");
        return EXIT_REFUSED;
    }
    int code = show_change(c, tool, arguments);
    if (code != EXIT_OK)
        return code;
    return terminal_ask_yes("Call it? [y/N] ") ? EXIT_OK : EXIT_REFUSED;
}

/* ---- the call -------------------------------------------------------------------------------- */

static int put_result(ctl *c, const mcp_json *result, void *user)
{
    const mcp_json *tool = user;
    bool failed = mcp_json_bool(mcp_json_get(result, "isError"), false);
    const mcp_json *content = mcp_json_get(result, "content");
    const mcp_json *structured = mcp_json_get(result, "structuredContent");
    mcp_json_iter it = {0};
    int checked = result_check(c, c->args[0], result, mcp_json_get(tool, "outputSchema"));
    size_t saved = 0, binary = save_count(content);
    int code = EXIT_OK;
    if (!binary || c->set.json)
        code = failed && !c->set.json ? EXIT_OK : output_begin(c);
    if (c->set.json && code == EXIT_OK)
        code = put_json_line(c, result);
    if (c->set.json || code != EXIT_OK)
        return code != EXIT_OK ? code : failed ? EXIT_REMOTE : checked;
    if (failed)
        say("call %s: the tool reported a failure:", c->args[0]);
    for (const mcp_json *v; code == EXIT_OK && (v = mcp_json_next(content, &it, NULL)) != NULL;) {
        if (c->set.output && save_is_binary(v))
            code = save_block(c, v, ++saved);
        else
            put_content_block(c, failed ? stderr : stdout, v);
    }
    if (!mcp_json_count(content) && structured)
        put_json_line(c, structured);
    if (binary && !c->set.output && !c->set.quiet)
        hint("--output FILE saves what is not text");
    return code != EXIT_OK ? code : failed ? EXIT_REMOTE : checked;
}

static int call_tool(ctl *c, const mcp_json *tool)
{
    const char *name = c->args[0];
    const mcp_json *schema = mcp_json_get(tool, "inputSchema");
    char *arguments = arguments_make(c, c->args + 1, c->n_args - 1, schema);
    if (!arguments)
        return EXIT_USAGE;
    int code = c->set.force ? EXIT_OK : arguments_complete(c, name, schema, &arguments);
    if (code != EXIT_OK) {
        free(arguments);
        return code;
    }
    code = arguments_check(c, name, arguments, schema);
    if (code == EXIT_USAGE && c->set.force)
        code = EXIT_OK;
    else if (code == EXIT_USAGE)
        hint("--force calls it anyway");
    if (code == EXIT_OK)
        code = save_check(c);
    if (code == EXIT_OK)
        code = confirm(c, tool, arguments);
    if (code == EXIT_OK)
        code = session_call_tool(c, name, arguments, put_result, (void *)(uintptr_t)tool);
    free(arguments);
    return code;
}

int run_call(ctl *c)
{
    mcp_json_doc *tool = NULL;
    int code = definitions_find(c, &tool_definitions, c->args[0], &tool);
    if (code == EXIT_OK)
        code = call_tool(c, mcp_json_root(tool));
    mcp_json_free(tool);
    return code;
}
