"""The official Python SDK 1.x and 2.x and FastMCP 2, 3 and 4 as clients of mcpd.

usage: client.py KIND MCPD      KIND: sdk1, sdk2, fastmcp

The same checks for each, through an adapter, over stdio and Streamable HTTP; for SDK 2.x (and FastMCP on it) in both
eras. Prints TAP.
"""

import asyncio
import base64
import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

KIND, MCPD = sys.argv[1], sys.argv[2]
TEXT = "# Title\n\nGrüße, 世界.\n"
BINARY = bytes(i * 7 & 255 for i in range(1024))
FILES = {
    "README.md": TEXT.encode(),
    "empty.txt": b"",
    "data/blob.bin": BINARY,
    "data/lines.txt": "".join(f"line {n}\n" for n in range(1, 1001)).encode(),
    "names/with space.txt": b"space",
    "names/größe.txt": b"umlaut",
    "names/100%.txt": b"percent",
    "names/a#b.txt": b"hash",
    "names/a?b=c.txt": b"question",
    "names/{x}.txt": b"braces",
}
CROWD = 1200  # more than one page


# ---- adapters: each yields an object with these methods, whatever the library calls them ----------------------


def text_of(contents):
    return "".join(getattr(c, "text", "") or "" for c in contents)


class Sdk1:
    all_pages = True

    def __init__(self, session):
        self.session = session

    async def uris(self):
        uris, cursor = [], None
        while True:
            page = await self.session.list_resources(cursor)
            uris += [str(r.uri) for r in page.resources]
            cursor = page.nextCursor
            if cursor is None:
                return uris

    async def templates(self):
        return [t.uriTemplate for t in (await self.session.list_resource_templates()).resourceTemplates]

    async def read(self, uri):
        from pydantic import AnyUrl

        return (await self.session.read_resource(AnyUrl(uri))).contents

    async def complete(self, template, name, value):
        from mcp.types import ResourceTemplateReference

        ref = ResourceTemplateReference(type="ref/resource", uri=template)
        return (await self.session.complete(ref, {"name": name, "value": value})).completion.values

    async def tools(self):
        return {t.name: t for t in (await self.session.list_tools()).tools}

    async def call(self, name, arguments):
        result = await self.session.call_tool(name, arguments)
        return result.isError, text_of(result.content), result.structuredContent

    async def prompt(self, name, arguments):
        result = await self.session.get_prompt(name, arguments)
        return text_of(m.content for m in result.messages)

    async def updated(self, uri, change):
        from pydantic import AnyUrl

        self.session.event = asyncio.Event()
        await self.session.subscribe_resource(AnyUrl(uri))
        change()
        await asyncio.wait_for(self.session.event.wait(), 20)


@contextlib.asynccontextmanager
async def sdk1(where):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    async def on_message(message):
        if "resources/updated" in str(message):
            session.event.set()

    transport = streamablehttp_client(where) if isinstance(where, str) else stdio_client(
        StdioServerParameters(command=where[0], args=where[1:]))
    async with transport as streams, ClientSession(streams[0], streams[1], message_handler=on_message) as session:
        about = await session.initialize()
        adapter = Sdk1(session)
        adapter.name = about.serverInfo.name
        yield adapter


class Sdk2(Sdk1):
    """Client of SDK 2.x: the same calls with names in snake case."""

    def __init__(self, client, modern):
        self.session, self.modern, self.event = client, modern, asyncio.Event()

    async def uris(self):
        uris, cursor = [], None
        while True:
            page = await self.session.list_resources(cursor=cursor)
            uris += [str(r.uri) for r in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                return uris

    async def templates(self):
        return [t.uri_template for t in (await self.session.list_resource_templates()).resource_templates]

    async def read(self, uri):
        return (await self.session.read_resource(uri)).contents

    async def complete(self, template, name, value):
        from mcp_types import ResourceTemplateReference

        ref = ResourceTemplateReference(type="ref/resource", uri=template)
        return (await self.session.complete(ref, {"name": name, "value": value})).completion.values

    async def call(self, name, arguments):
        result = await self.session.call_tool(name, arguments)
        return result.is_error, text_of(result.content), result.structured_content

    async def updated(self, uri, change):
        if self.modern:
            async with self.session.listen(resource_subscriptions=[uri]) as events:
                change()
                async with asyncio.timeout(20):
                    async for _ in events:
                        return
        self.event = asyncio.Event()
        await self.session.subscribe_resource(uri)
        change()
        await asyncio.wait_for(self.event.wait(), 20)


def sdk2(mode):
    @contextlib.asynccontextmanager
    async def connect(where):
        from mcp import Client, StdioServerParameters

        async def on_message(message):
            if "resources/updated" in str(message) or "ResourceUpdated" in type(message).__name__:
                adapter.event.set()

        server = where if isinstance(where, str) else StdioServerParameters(command=where[0], args=where[1:])
        async with Client(server, mode=mode, message_handler=on_message) as client:
            adapter = Sdk2(client, mode != "legacy")
            adapter.name = client.server_info.name
            yield adapter

    return connect


class Fast(Sdk1):
    """FastMCP's client, which returns plain values; 2.x reads only the first page of a list."""

    def __init__(self, client):
        import fastmcp

        self.session = client
        self.all_pages = not fastmcp.__version__.startswith("2.")

    async def uris(self):
        return [str(r.uri) for r in await self.session.list_resources()]

    async def templates(self):
        templates = await self.session.list_resource_templates()
        return [getattr(t, "uriTemplate", None) or t.uri_template for t in templates]

    async def read(self, uri):
        return await self.session.read_resource(uri)

    async def complete(self, template, name, value):
        try:
            from mcp.types import ResourceTemplateReference
        except ImportError:
            from mcp_types import ResourceTemplateReference

        ref = ResourceTemplateReference(type="ref/resource", uri=template)
        return (await self.session.complete(ref, {"name": name, "value": value})).values

    async def tools(self):
        return {t.name: t for t in await self.session.list_tools()}

    async def call(self, name, arguments):
        result = await self.session.call_tool(name, arguments, raise_on_error=False)
        return result.is_error, text_of(result.content), result.structured_content

    updated = None


@contextlib.asynccontextmanager
async def fastmcp(where):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    server = where if isinstance(where, str) else StdioTransport(command=where[0], args=where[1:])
    client = Client(server)
    # The process continues, and the client initializes again on the same stream.
    async with client:
        assert await client.list_tools()
    async with client:
        adapter = Fast(client)
        adapter.name = "mcpd"
        yield adapter
    await client.close()


# ---- the checks ------------------------------------------------------------------------------------------


def bytes_of(content):
    blob = getattr(content, "blob", None)
    return base64.b64decode(blob) if blob is not None else content.text.encode()


async def lists_and_reads(peer, root):
    assert peer.name == "mcpd"
    uris = await peer.uris()
    assert len(uris) == len(set(uris)) and len(uris) > (CROWD if peer.all_pages else 900), len(uris)
    found = {}
    for uri in uris:
        path = pathlib.PurePath(os.path.relpath(_path_of(uri), root)).as_posix() if uri.startswith("file:") else uri
        found[path] = uri
    for path, wanted in FILES.items():
        contents = await peer.read(found[path])
        assert len(contents) == 1 and bytes_of(contents[0]) == wanted, path


def _path_of(uri):
    import urllib.parse

    return os.fsdecode(urllib.parse.unquote_to_bytes(uri.removeprefix("file://")))


async def reads_parts(peer, root):
    templates = await peer.templates()
    assert any(t.startswith("file://") and "line" in t for t in templates), templates
    contents = await peer.read(f"file://{root}/data/lines.txt?line=3&lines=2")
    assert contents[0].text == "line 3\nline 4\n"


async def completes(peer, root):
    template = next(t for t in await peer.templates() if t.startswith("file://") and "{+path}" in t)
    values = await peer.complete(template, "path", f"{root}/READ")
    assert any(v.endswith("README.md") for v in values), values


async def refuses(peer, root):
    try:
        await peer.read(f"file://{root}/nothing")
    except Exception as e:  # each library has its own
        assert "nothing" in str(e) or "not" in str(e).lower(), e
        return
    raise AssertionError("a resource that is not there was read")


async def calls(peer, root):
    tools = await peer.tools()
    assert {"list_resources", "find_resources", "search_resources", "read_resource"} <= set(tools), sorted(tools)
    failed, text, _ = await peer.call("read_resource", {"uri": f"file://{root}/README.md"})
    assert not failed and "Grüße" in text
    failed, text, _ = await peer.call("search_resources", {"query": "line 77\n"[:-1]})
    assert not failed and "lines.txt" in text, text
    failed, *_ = await peer.call("read_resource", {"uri": f"file://{root}/nothing"})
    assert failed


async def queries(peer, root):
    tools = [name for name in await peer.tools() if name.startswith("query")]
    failed, text, _ = await peer.call(tools[0], {"sql": "SELECT count(*) AS n FROM item"})
    assert not failed and "3" in text, text


async def prompts(peer, root):
    assert "Greet Ada" in await peer.prompt("greet", {"name": "Ada"})


async def updated(peer, root):
    if peer.updated:
        await peer.updated(f"file://{root}/README.md",
                           lambda: pathlib.Path(root, "README.md").write_bytes(TEXT.encode()))


CHECKS = [lists_and_reads, reads_parts, completes, refuses, calls, queries, prompts, updated]
PEERS = {
    "sdk1": {"": sdk1},
    "sdk2": {"legacy": sdk2("legacy"), "modern": sdk2("auto")},
    "fastmcp": {"": fastmcp},
}


def make_tree(folder):
    root = os.path.realpath(os.path.join(folder, "tree"))
    for path, data in {**FILES, **{f"zz/{n}.txt": b"x" for n in range(CROWD)}}.items():
        file = pathlib.Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    pathlib.Path(folder, "prompts").mkdir()
    pathlib.Path(folder, "prompts", "greet.md").write_text(
        "---\narguments:\n  - name: name\n    required: true\n---\nGreet {{name}}\n")
    db = sqlite3.connect(os.path.join(folder, "shop.db"))
    db.executescript("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item (name) VALUES ('a'), ('b'), ('c');")
    db.close()
    return root


@contextlib.contextmanager
def served(arguments):
    process = subprocess.Popen([MCPD, "--http", "127.0.0.1:0", *arguments], stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            found = re.search(r"http://[^\s\"]+", line)
            if found:
                break
        yield found[0]
    finally:
        process.terminate()
        process.stderr.close()
        process.wait()


async def check_all(label, connect, where, root, results):
    async with connect(where) as peer:
        for check in CHECKS:
            try:
                await check(peer, root)
                results.append((True, f"{label}: {check.__name__}"))
            except Exception as e:
                results.append((False, f"{label}: {check.__name__}: {type(e).__name__}: {e}"))


async def run(folder, results):
    root = make_tree(folder)
    arguments = ["--resource-tools", "--prompts", os.path.join(folder, "prompts"), root,
                 "sqlite:" + os.path.join(folder, "shop.db")]
    for era, connect in PEERS[KIND].items():
        await check_all(f"{KIND} {era} stdio", connect, [MCPD, *arguments], root, results)
        with served(arguments) as url:
            await check_all(f"{KIND} {era} HTTP", connect, url, root, results)


def main():
    results = []
    with tempfile.TemporaryDirectory(prefix="mcp-peers-") as folder:
        asyncio.run(run(folder, results))
    for n, (ok, name) in enumerate(results, 1):
        print(("ok" if ok else "not ok"), n, "-", name.replace("\n", " ")[:300])
    print(f"1..{len(results)}")
    return 0 if results and all(ok for ok, _ in results) else 1


sys.exit(main())
