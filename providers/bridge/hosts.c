/* hosts.c: the names of clients that are known to show only tools to a model. (For those that show
 * only the structured content of a result: common/structured.c.)
 *
 * A client is listed if its source code, a published trace, or the community's index of clients
 * (github.com/apify/mcp-client-capabilities) documents its clientInfo.name and shows that it lists
 * tools but not resources. A wrong entry gives the client's user four unnecessary tools. For a
 * missing entry there is --resource-tools. docs/tools.md has all of them in a table.
 */
#include "tools.h"

static const char *const names[] = {
    /* names of programs */
    "github-copilot-developer", /* GitHub Copilot CLI: github.com/github/copilot-cli/issues/1268 */
    "codex-mcp-client",         /* OpenAI Codex: its model gets only tools */
    "Codex", "ChatGPT", "antigravity-client", "continue-cli-client", "crush", "dust-mcp-client",
    "Jan-Streamable-Client", "opencode", "Q-DEV-CLI", "Windsurf", "Zed",
    "@n8n/n8n-nodes-langchain.mcpClientTool",
    /* default names of libraries, which most programs keep */
    "mcp", /* the Python SDK's default: OpenAI Agents SDK, LangChain adapters and others */
    "ai-sdk-mcp-client", /* Vercel's AI SDK */
};

bool mcp_bridge_tools_only(const mcp_request *req, void *user)
{
    mcp_str name = mcp_json_string(mcp_json_get(mcp_request_client_info(req), "name"));
    (void)user;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (mcp_str_eq(name, mcp_str_from(names[i])))
            return true;
    return false;
}
