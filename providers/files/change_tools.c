/* change_tools.c: the declarations of the tools that change files, and what they have in common.
 *
 * Their schemas use only what every model API accepts, as in providers/bridge/tools.c.
 */
#define _GNU_SOURCE
#include "change.h"

#include <stdio.h>

#define URI                                                                                     \
    "\"uri\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8192,\"description\":\"URI or " \
    "path of the file\"}"
#define IF_MATCH                                                                               \
    "\"if_match\":{\"type\":\"string\",\"maxLength\":80,\"description\":\"The version of the " \
    "file that you have "                                                                      \
    "read; if it is another one now, nothing is changed\"}"
#define DRY_RUN                                                                              \
    "\"dry_run\":{\"type\":\"boolean\",\"description\":\"Only show the difference; default " \
    "false\"}"
#define CHARSET                                                                                   \
    "\"charset\":{\"type\":\"string\",\"maxLength\":64,\"description\":\"If it is neither UTF-8 " \
    "nor UTF-16: its "                                                                            \
    "name, such as ISO-8859-1\"}"
#define TEXT(name, about) "\"" name "\":{\"type\":\"string\",\"description\":\"" about "\"}"
#define OBJECT(required, members)                                                    \
    "{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]," \
    "\"additionalProperties\":false}"

/* one member per line, which clang-format cannot do */
/* clang-format off */
static const char write_input[] = OBJECT("\"uri\",\"text\"",
    URI ","
    TEXT("text", "All of its text") ","
    IF_MATCH ","
    DRY_RUN ","
    CHARSET);

static const char edit_input[] = OBJECT("\"uri\"",
    URI ","
    "\"edits\":{\"type\":\"array\",\"maxItems\":1000,\"description\":\"Made in this order, all or none\",\"items\":"
    OBJECT("\"old\",\"new\"",
        TEXT("old", "A text of the file, with enough around it to occur once") ","
        TEXT("new", "What replaces it") ","
        "\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,\"description\":\"How often old occurs, if not "
        "once; all are replaced\"}")
    "},"
    TEXT("patch", "Instead of edits: a unified diff of this file, whose context has to match exactly") ","
    IF_MATCH ","
    DRY_RUN ","
    CHARSET);

static const char move_input[] = OBJECT("\"uri\",\"to\"",
    URI ","
    "\"to\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8192,\"description\":\"Its new URI or path; nothing may be "
    "there\"},"
    IF_MATCH);

static const char delete_input[] = OBJECT("\"uri\"",
    URI ","
    IF_MATCH);
/* clang-format on */

/* ---- calls ----------------------------------------------------------------------------------- */

static const files_change_kind write_kind = {
    .name = "write_file", .operation = MCP_OPERATION_CHANGE, .whole = true};
static const files_change_kind edit_kind = {
    .name = "edit_file", .operation = MCP_OPERATION_CHANGE, .edits = true};
static const files_change_kind move_kind = {.name = "move_file", .operation = MCP_OPERATION_MOVE};
static const files_change_kind delete_kind = {.name = "delete_file",
                                              .operation = MCP_OPERATION_DELETE};

static int call_write(mcp_request *req, const mcp_json *arguments, void *user)
{
    return files_change_call(req, arguments, user, &write_kind, NULL);
}

static int call_edit(mcp_request *req, const mcp_json *arguments, void *user)
{
    return files_change_call(req, arguments, user, &edit_kind, NULL);
}

static int call_move(mcp_request *req, const mcp_json *arguments, void *user)
{
    return files_change_call(req, arguments, user, &move_kind, NULL);
}

static int call_delete(mcp_request *req, const mcp_json *arguments, void *user)
{
    return files_change_call(req, arguments, user, &delete_kind, NULL);
}

/* ---- registration ---------------------------------------------------------------------------- */

static bool offered(const mcp_request *req, void *user)
{
    const mcp_files_changes *o = &((const files *)user)->changes->options;
    return !o->offered || o->offered(req, o->user);
}

/* Repeated with the same arguments, edit_file may find its old text again; the others do nothing more. */
static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "write_file",
     .title = "Write a file",
     .description = "Writes a whole text file: a new one, or, with if_match, one that you have "
                    "read. It keeps its "
                    "charset, line ends and mode. To change a part, use edit_file.",
     .input_schema = write_input,
     .read_only = MCP_HINT_NO,
     .destructive = MCP_HINT_YES,
     .idempotent = MCP_HINT_YES,
     .open_world = MCP_HINT_NO,
     .offered = offered,
     .call = call_write},
    {.size = sizeof(mcp_tool),
     .name = "edit_file",
     .title = "Edit a file",
     .description = "Changes parts of a text file, by exact texts or by a patch; all else stays as "
                    "it is, byte for "
                    "byte. If a text does not occur as often as you say, nothing is changed, and "
                    "the answer says where "
                    "it does.",
     .input_schema = edit_input,
     .read_only = MCP_HINT_NO,
     .destructive = MCP_HINT_YES,
     .idempotent = MCP_HINT_NO,
     .open_world = MCP_HINT_NO,
     .offered = offered,
     .call = call_edit},
    {.size = sizeof(mcp_tool),
     .name = "move_file",
     .title = "Move or rename a file",
     .description =
         "Moves a file to another name or folder of the same disk. It never replaces another file.",
     .input_schema = move_input,
     .read_only = MCP_HINT_NO,
     .destructive = MCP_HINT_NO,
     .idempotent = MCP_HINT_YES,
     .open_world = MCP_HINT_NO,
     .offered = offered,
     .call = call_move},
    {.size = sizeof(mcp_tool),
     .name = "delete_file",
     .title = "Delete a file",
     .description = "Deletes a file.",
     .input_schema = delete_input,
     .read_only = MCP_HINT_NO,
     .destructive = MCP_HINT_YES,
     .idempotent = MCP_HINT_YES,
     .open_world = MCP_HINT_NO,
     .offered = offered,
     .call = call_delete},
};

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_files_changes, journal_size, 256 << 20),
};

/* Where the journal is concerns the operator alone, so only the log says it. */
int files_changes_open(files *f, mcp_error *error)
{
    char line[600];
    files_changes *all = f->changes;
    const mcp_host *host = mcp_server_host(f->server);
    if (all->journal)
        return MCP_OK;
    int rc = editing_journal_open(all->options.journal, all->options.journal_size, &f->alloc,
                                  &all->journal, error);
    if (rc == MCP_OK || rc == MCP_ENOMEM || !host || !host->log)
        return rc;
    snprintf(line, sizeof(line), "%.250s: %s", all->options.journal, error->text);
    host->log("error", line, host->user);
    return rc;
}

void files_changes_free(files *f)
{
    files_changes *all = f->changes;
    f->changes = NULL;
    if (!all)
        return;
    editing_journal_close(all->journal);
    common_confirms_free(all->confirms);
    common_free_texts(&f->alloc, all->options.sealed);
    common_release(&f->alloc, all->folder);
    files_sweeps_free(&all->sweeps);
    common_release(&f->alloc, all);
}

static int keep(files *f, const mcp_files_changes *given)
{
    files_changes *all = common_alloc(&f->alloc, sizeof(*all));
    if (!all)
        return MCP_ENOMEM;
    memset(all, 0, sizeof(*all));
    files_sweeps_init(&all->sweeps);
    f->changes = all;
    all->options = *given;
    mcp_files_changes *o = &all->options;
    MCP_SET_DEFAULTS(o, defaults);
    bool ok = common_own_texts(&f->alloc, &o->sealed);
    o->journal = all->folder = common_copy(&f->alloc, given->journal, strlen(given->journal));
    ok = ok && all->folder;
    return ok ? common_confirms_new(&f->alloc, &all->confirms) : MCP_ENOMEM;
}

int mcp_files_add_changes(mcp_files *handle, const mcp_files_changes *changes, mcp_error *error)
{
    files *f = (files *)handle;
    if (!f || !changes || !changes->journal || f->changes)
        return MCP_EINVAL;
    int rc = keep(f, changes);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(tools) / sizeof(*tools); i++)
        rc = mcp_server_add_tool(f->server, &tools[i], f, error);
    return rc;
}
