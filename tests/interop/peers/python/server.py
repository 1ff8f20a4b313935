"""A server on the official Python SDK 1.x or 2.x or on FastMCP 2, 3 or 4; ../check.py says what all of these have.

usage: server.py KIND stdio|PORT      KIND: sdk1, sdk2, fastmcp
"""

import asyncio
import os
import sys

KIND, WAY = sys.argv[1], sys.argv[2]
CITIES = ["Berlin", "Bern", "Rome"]
cancelled = 0
ticks = 0

if KIND == "sdk1":
    from mcp.server.fastmcp import Context, FastMCP

    app = FastMCP("noisy", port=int(WAY) if WAY != "stdio" else 0)
elif KIND == "sdk2":
    import contextlib

    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver import MCPServer as FastMCP
    from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated

    bus = InMemorySubscriptionBus()

    async def tick():
        global ticks
        while True:
            await asyncio.sleep(0.2)
            ticks += 1
            await bus.publish(ResourceUpdated(uri="mem://live"))

    @contextlib.asynccontextmanager
    async def ticking(_):
        task = asyncio.create_task(tick())
        yield
        task.cancel()

    app = FastMCP("noisy", subscriptions=bus, lifespan=ticking)
else:
    from fastmcp import Context, FastMCP

    app = FastMCP("noisy")


def stray(line):
    """Writes a stray line, as print() in a server on stdio does, even if the library redirects print()."""
    if WAY == "stdio":
        os.write(1, f"{line}\n".encode())


@app.resource("mem://text", mime_type="text/plain")
def text() -> str:
    return "one\ntwo\nthree\n"


@app.resource("mem://live", mime_type="text/plain")
def live() -> str:
    return f"{ticks}\n"


@app.resource("mem://slow", mime_type="text/plain")
async def slow_text() -> str:
    await asyncio.sleep(1.5)
    return "slow\n"


@app.resource("mem://city/{name}", mime_type="text/plain")
def city(name: str) -> str:
    return f"This is {name}.\n"


@app.prompt()
def visit(city: str) -> str:
    return f"Plan a visit to {city}."


async def complete(ref, argument, context):
    values = [c for c in CITIES if c.lower().startswith(argument.value.lower())]
    if KIND == "fastmcp":
        return values
    from mcp.types import Completion

    return Completion(values=values)


if KIND != "fastmcp":
    app.completion()(complete)
elif hasattr(app, "completion"):  # FastMCP 4
    app.completion(complete)


@app.tool()
async def slow(steps: int, tell: bool, ctx: Context) -> str:
    global cancelled
    try:
        for i in range(1, steps + 1):
            await asyncio.sleep(0.1)
            if tell:
                await ctx.report_progress(i, steps)
    except asyncio.CancelledError:
        cancelled += 1
        raise
    return f"{steps} steps"


@app.tool()
async def noise(lines: int, ctx: Context) -> str:
    for i in range(1, lines + 1):
        print(f"noise {i} {'.' * 200}", file=sys.stderr, flush=True)
        await ctx.info(f"line {i}")
        stray(f"Working on {i} ...")
    return "quiet again"


@app.tool(name="cancelled")
def count_cancelled() -> str:
    return str(cancelled)


@app.tool()
async def die(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    print("this is the end", file=sys.stderr, flush=True)
    os._exit(3)


if WAY == "stdio":
    stray("Noisy MCP server 1.0, listening on stdio")
    app.run("stdio")
elif KIND == "sdk1":
    app.run("streamable-http")
elif KIND == "sdk2":
    app.run("streamable-http", host="127.0.0.1", port=int(WAY))
else:
    app.run("http", host="127.0.0.1", port=int(WAY))
