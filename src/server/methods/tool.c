/* tool.c: tools/call, and the validation with a tool's schemas: of the arguments before the handler
 * runs, and of the structured content afterwards (2026-07-28, server/tools).
 */
#include "server/core/access.h"
#include "server/core/decide.h"
#include "server/core/mirrored.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

enum { MAX_STEPS = 500 * 1000 }; /* limit for one validation, because arguments are untrusted */

/* ---- at registration ------------------------------------------------------------------------- */

static int compile(mcp__entry *e, const char *name, const char *text, mcp_schema **ret,
                   mcp_error *error)
{
    mcp_error why = {0};
    int rc = mcp_schema_compile_text(
        NULL, mcp_str_from(text),
        MCP_OPTIONS(mcp_schema_options, .max_steps = MAX_STEPS, .allocator = e->allocator), ret,
        &why);
    return rc == MCP_OK ? rc : mcp__fail(error, rc, why.offset, "%s: %s", name, why.text);
}

/* Records which parameters are repeated in headers. */
static int keep_mirror(mcp__entry *e, const mcp_json *schema, mcp_error *error)
{
    e->mirror = mcp__zalloc(e->allocator, sizeof(*e->mirror));
    if (!e->mirror)
        return MCP_ENOMEM;
    int rc = mcp__mirror_compile(e->allocator, schema, e->mirror, error);
    if (rc == MCP_OK && e->mirror->count == 0) {
        mcp__release(e->allocator, e->mirror);
        e->mirror = NULL;
    }
    return rc;
}

static int compile_input(mcp__entry *e, const char *text, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(mcp_str_from(text), NULL, e->allocator, &doc, error);
    if (rc == MCP_OK)
        rc = keep_mirror(e, mcp_json_root(doc), error);
    if (rc == MCP_OK)
        rc = compile(e, "inputSchema", text, &e->input, error);
    mcp_json_free(doc);
    return rc;
}

int mcp__tool_compile(mcp__entry *entry, const mcp_tool *tool, mcp_error *error)
{
    int rc = compile_input(entry, tool->input_schema, error);
    if (rc == MCP_OK && tool->output_schema)
        rc = compile(entry, "outputSchema", tool->output_schema, &entry->output, error);
    return rc;
}

/* ---- a call ---------------------------------------------------------------------------------- */

enum { LONGEST_PLACE = 1024 /* bytes of a path; what is at a longer one is in the text only */ };

/* Adds a fault of the arguments to a list for programs, such as a form with a field for each. */
static void put_fault(const mcp_schema_issue *issue, void *user)
{
    mcp__buf *b = user;
    if (issue->path.len > LONGEST_PLACE)
        return;
    mcp__buf_char(b, b->len ? ',' : '[');
    mcp__buf_lit(b, "{\"path\":");
    mcp__json_put_str(b, issue->path);
    mcp__buf_lit(b, ",\"reason\":");
    mcp__json_put_str(b, issue->expected);
    mcp__buf_char(b, '}');
}

static int reply_faults(mcp_request *req, mcp__buf *faults, const char *text)
{
    int rc = mcp_reply_tool_error(req, "Invalid arguments for tool %s: %s",
                                  req->target.entry->key.ptr, text);
    if (rc != MCP_OK || !faults->len)
        return rc;
    mcp__buf_char(faults, ']');
    return faults->failed ? faults->failed
                          : mcp_reply_meta(req, "libmcp/faults", mcp__buf_view(faults));
}

/* Returns true if the arguments conform. Otherwise the reply is complete, and *rc is the code to
 * return. */
static bool arguments_fit(mcp_request *req, const mcp_json *arguments, int *rc)
{
    mcp_error why = {0};
    mcp__buf faults;
    mcp__buf_init(&faults, &req->server->allocator, 0);
    const mcp_json *value = arguments ? arguments : mcp_json_root(req->server->no_arguments);
    *rc = mcp_schema_validate_all(req->target.entry->input, value, 0, put_fault, &faults, &why);
    bool fit = *rc == MCP_OK;
    if (*rc == MCP_EINVAL || *rc == MCP_ELIMIT) {
        if (req->revision->tool_errors)
            *rc = reply_faults(req, &faults, why.text);
        else
            *rc = mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid arguments for tool %s: %s",
                                 req->target.entry->key.ptr, why.text);
    }
    mcp__buf_free(&faults);
    return fit;
}

/* Asks the program, if the arguments conform: otherwise nothing will be done. */
static int decide(mcp_request *req, const mcp_json *arguments)
{
    const mcp_json *value = arguments ? arguments : mcp_json_root(req->server->no_arguments);
    const mcp__entry *entry = req->target.entry;
    if (!mcp__decides(req) || mcp_schema_validate(entry->input, value, NULL) != MCP_OK)
        return MCP_OK;
    return mcp__decide_about(req, MCP_OPERATION_CALL, MCP_ITEM_TOOL, entry->key);
}

int mcp__run_tool(mcp_request *req)
{
    mcp__usage_begin_other(req, MCP_USAGE_TOOL);
    mcp_str name = mcp__param_string(req, "name");
    if (!name.ptr)
        return MCP_EINVAL;
    mcp__entry *entry = mcp__registry_find(req->server, MCP__TOOLS, name);
    const mcp__mount *mount = entry ? NULL : mcp__mount_named(req->server, MCP__TOOLS, name);
    if (mount)
        return mcp__run_mounted(req, mount, MCP_ITEM_TOOL, name);
    if (!entry || !mcp__may_see(req->server, mcp_request_identity(req), entry))
        return mcp__refuse_named(req, MCP_ITEM_TOOL, name, entry != NULL);
    mcp__usage_begin(req, entry->meter);
    const mcp_json *arguments = mcp_json_get(req->in.message.params, "arguments");
    if (arguments && !mcp_json_is(arguments, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"arguments\" must be an object");
    req->target.entry = mcp__entry_ref(entry);
    int rc = entry->mirror ? mcp__mirror_check_tool(req, entry->mirror, arguments) : MCP_OK;
    if (rc == MCP_OK)
        rc = decide(req, arguments);
    if (rc == MCP_OK)
        rc = mcp__task_begin(req);
    if (rc != MCP_OK || !arguments_fit(req, arguments, &rc))
        return rc;
    return entry->call(req, arguments, entry->user);
}

int mcp__again_tool(mcp_request *req)
{
    if (!req->target.entry)
        return mcp__run_tool(req);
    const mcp_json *arguments = mcp_json_get(req->in.message.params, "arguments");
    int rc = decide(req, arguments);
    return rc == MCP_OK ? req->target.entry->call(req, arguments, req->target.entry->user) : rc;
}

/* ---- its result ------------------------------------------------------------------------------ */

int mcp__tool_check_output(mcp_request *req, const mcp_json *value)
{
    const mcp_schema *schema = req->target.entry ? req->target.entry->output : NULL;
    mcp_error why = {0};
    int rc = schema ? mcp_schema_validate(schema, value, &why) : MCP_OK;
    if (rc != MCP_EINVAL && rc != MCP_ELIMIT)
        return rc;
    return mcp_reply_fail(
        req, MCP__INTERNAL_ERROR,
        "Internal error: the result of tool %s does not conform to its outputSchema: "
        "%s",
        req->target.entry->key.ptr, why.text);
}

int mcp__tool_check(mcp_request *req)
{
    if (!req->target.entry || !req->target.entry->output || req->tool.has_structured ||
        req->tool.is_error)
        return MCP_OK;
    return mcp_reply_fail(
        req, MCP__INTERNAL_ERROR,
        "Internal error: tool %s has an outputSchema and gave no structured content",
        req->target.entry->key.ptr);
}

void mcp__tool_tail(mcp_request *req, mcp__buf *b)
{
    if (req->tool.structured.ptr && !req->tool.as_text) {
        mcp__buf_lit(b, ",\"structuredContent\":");
        mcp__buf_str(b, req->tool.structured);
    }
    if (req->tool.is_error)
        mcp__buf_lit(b, ",\"isError\":true");
}
