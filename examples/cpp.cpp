/* cpp.cpp: a server in C++17: a tool and a template, whose handlers may throw.
 *
 *     c++ -std=c++17 cpp.cpp $(pkg-config --cflags --libs mcp-io) -o cpp
 *     mcpctl call sqrt '{"of":2}' -- ./cpp
 */
#include <mcp/io.h>

#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace
{
/* The library is C, so an exception must not leave a handler; it becomes an error for the peer. */
template <auto handler, class... Arguments> int safely(mcp_request *req, Arguments... rest) noexcept
{
    try {
        return handler(req, rest...);
    } catch (const std::invalid_argument &e) {
        return mcp_reply_tool_error(req, "%s", e.what());
    } catch (const std::exception &e) {
        return mcp_reply_fail(req, MCP_CODE_INTERNAL, "Internal error: %s", e.what());
    }
}

std::string_view view(mcp_str s)
{
    return {s.ptr ? s.ptr : "", s.len};
}

struct question {
    double of;
};
constexpr mcp_field asked[] = {MCP_NUMBER_FIELD(question, of, .title("Of").required())};

int square_root(mcp_request *req, const mcp_json *arguments, void *)
{
    question q = {};
    mcp_fields_read(asked, std::size(asked), arguments, &q);
    if (q.of < 0)
        throw std::invalid_argument("A negative number has no square root: give one from 0 on");
    return mcp_reply_textf(req, "%.6g", std::sqrt(q.of));
}

int read_length(mcp_request *req, mcp_str, const mcp_uri_match *match, void *)
{
    mcp_str word;
    mcp_uri_match_get(match, "word", &word);
    std::string text = std::string(view(word)) + " has " + std::to_string(word.len) + " bytes";
    return mcp_reply_text(req, text.c_str());
}

int serve(mcp_error *error)
{
    mcp::sized<mcp_server_options> options;
    options.name = "cpp";
    options.version = "1.0";
    mcp_server *made = nullptr;
    int rc = mcp_server_new(&options, &made, error);
    std::unique_ptr<mcp_server, decltype(&mcp_server_free)> server(made, mcp_server_free);

    mcp::sized<mcp_tool> tool;
    tool.name = "sqrt";
    tool.description = "The square root of a number";
    tool.fields = asked;
    tool.n_fields = std::size(asked);
    tool.call = safely<square_root>;
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server.get(), &tool, nullptr, error);

    mcp::sized<mcp_resource_template> length;
    length.uri_template = "length:{word}";
    length.name = "length";
    length.read = safely<read_length>;
    if (rc == MCP_OK)
        rc = mcp_server_add_template(server.get(), &length, nullptr, error);
    return rc == MCP_OK ? mcp_serve_stdio(server.get(), error) : rc;
}
} // namespace

int main()
{
    mcp_error error = {};
    int rc = serve(&error);
    if (rc != MCP_OK)
        std::fprintf(stderr, "cpp: %s\n", error.text);
    return rc == MCP_OK ? 0 : 1;
}
