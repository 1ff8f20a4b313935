/* What the headers have for C++ alone, as C++17 and C++20. */
#include <mcp/io.h>
#include <mcp/module.h>

static mcp_str word = MCP_STR("word");
static const mcp_uri_value values[] = {MCP_URI_VALUE("a", word), MCP_URI_VALUE("b", MCP_STR("c"))};

int use();
int use()
{
    mcp_server *server = nullptr;
    mcp::sized<mcp_icon> icons[2];
    mcp::sized<mcp_server_options> options;
    static_assert(sizeof(icons) == 2 * sizeof(mcp_icon), "an array of them is one of ours");
    icons[0].src = icons[1].src = "data:,";
    options.icons = icons;
    options.n_icons = 2;
    options.title = values[1].name.ptr;
    mcp_outcome outcome = MCP_ENOMEM;
    return mcp_server_new(&options, &server, nullptr) == outcome;
}
