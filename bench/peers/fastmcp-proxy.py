# fastmcp-proxy.py PROGRAM: FastMCP's proxy over stdio, in front of a program.

import sys

from fastmcp.server import create_proxy

create_proxy({'mcpServers': {'m': {'command': sys.argv[1], 'args': []}}}).run(show_banner=False)
