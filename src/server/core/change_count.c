/* change_count.c: counts the changes that requests made or asked for (mcp_server_change_counts()).
 *
 * They are counted by what the audit log would say of them, with or without an audit log. Words that a
 * handler makes up share one row, so the number of counters is fixed.
 */
#include "server/core/audit.h"

static const char *const operations[MCP__CHANGE_OPERATIONS] = {"create", "change", "move", "delete",
                                                               "commit", "write",  "other"};
enum { OTHER = MCP__CHANGE_OPERATIONS - 1, DRY_RUN = MCP__CHANGE_RESULTS - 1 };

static const char *const results[MCP__CHANGE_RESULTS] = {
    [MCP_AUDIT_OK] = "ok",
    [MCP_AUDIT_TOOL_ERROR] = "tool_error",
    [MCP_AUDIT_INPUT] = "input_required",
    [MCP_AUDIT_NOT_FOUND] = "not_found",
    [MCP_AUDIT_DENIED] = "denied",
    [MCP_AUDIT_SCOPES] = "insufficient_scope",
    [MCP_AUDIT_CANCELLED] = "gone",
    [MCP_AUDIT_ERROR] = "error",
    [MCP_AUDIT_LIMITED] = "limited",
    [DRY_RUN] = "dry_run",
};

void mcp__change_note(mcp_request *req, const mcp_audit_change *change)
{
    unsigned char i = 0;
    while (i < OTHER && (!change->operation || strcmp(change->operation, operations[i]) != 0))
        i++;
    req->used.operation = (unsigned char)(i + 1);
    req->used.dry_run = change->dry_run;
}

void mcp__change_count(mcp_request *req)
{
    const mcp__used *used = &req->used;
    size_t result = mcp__audit_outcome(req);
    if (result == MCP_AUDIT_OK && used->dry_run)
        result = DRY_RUN;
    req->server->changes[used->operation - 1][result]++;
}

void mcp_server_change_counts(const mcp_server *server,
                              void (*each)(const mcp_change_count *count, void *user), void *user)
{
    for (size_t i = 0; i < MCP__CHANGE_OPERATIONS * MCP__CHANGE_RESULTS; i++) {
        size_t operation = i / MCP__CHANGE_RESULTS, result = i % MCP__CHANGE_RESULTS;
        mcp_change_count c = {.size = sizeof(c),
                              .operation = operations[operation],
                              .result = results[result],
                              .count = server->changes[operation][result]};
        if (c.count)
            each(&c, user);
    }
}
