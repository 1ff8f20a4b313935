"""An MCP server of FastMCP with its authorization server in memory, which allows everything: fastmcp_server.py PORT.

GET /registered answers with the number of clients that it knows.
"""
import sys

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from starlette.responses import JSONResponse

port = int(sys.argv[1])
provider = InMemoryOAuthProvider(
    base_url=f"http://127.0.0.1:{port}",
    client_registration_options=ClientRegistrationOptions(enabled=True),
)
mcp = FastMCP("walk", auth=provider)


@mcp.tool
def hello() -> str:
    return "you are in"


@mcp.custom_route("/registered", methods=["GET"])
async def registered(_request):
    return JSONResponse(len(provider.clients))


mcp.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
