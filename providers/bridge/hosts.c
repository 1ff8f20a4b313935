/* hosts.c: clients that are known to show a model tools alone. */
#include "bridge.h"

bool mcp_bridge_tools_only(const mcp_request *req, void *user)
{
    static const char *const names[] = {"github-copilot-developer", "codex-mcp-client"};
    mcp_str name = mcp_json_string(mcp_json_get(mcp_request_client_info(req), "name"));
    (void)user;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mcp_str_eq(name, mcp_str_from(names[i])))
            return true;
    return false;
}
