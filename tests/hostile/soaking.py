"""What soak uses: the configuration and the processes of the gateway, its clients, and the count of everything they did."""
import asyncio
import collections
import itertools
import json
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fleet"))
from clients import META, Connection

LEGACY = "2025-11-25"
NO_ANSWER_S = 120  # after that time, a request counts as lost
LIMITED = -31429
NOT_FOUND = (-32002, -32602)
numbers = itertools.count(1)


class Books:
    """What the driver did, by the names of the metrics. `doubt` is what may be there in addition: what became of a
    request is not known if its connection was dropped before the answer."""

    def __init__(self):
        self.want, self.doubt = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
        self.faults, self.asked, self.sent = [], 0, 0

    def fault(self, text):
        self.faults.append(text)
        if len(self.faults) < 40:
            print("# %s %s" % (time.strftime("%H:%M:%S"), text[:1500].replace("\n", "\n# ")), flush=True)

    def add(self, table, *key):
        self.want[table][key] += 1

    def doubted(self, table, *key):
        self.doubt[table][key] += 1

    def compare(self, table, got):
        """Yields what differs from the driver's count."""
        want, doubt = self.want[table], self.doubt[table]
        for key in sorted({*want, *got, *doubt}):
            low, has = want[key], got.get(key, 0)
            if not low <= has <= low + doubt[key]:
                yield "%s{%s}: %d, and the driver counted %d%s" % (
                    table, ",".join(key), has, low, " to %d" % (low + doubt[key]) if doubt[key] else "")
        dropped = self.want[table + " dropped"][()]
        if dropped and sum(got.values()) != sum(want.values()) + dropped:
            yield "%s: %d in all, and the driver counted %d" % (table, sum(got.values()), sum(want.values()) + dropped)


class Line(Connection):
    """A connection to the gateway as a principal, on which one request follows the other."""

    def __init__(self, soak, principal, token=None, host="mcp.example"):
        super().__init__(soak)
        self.token = soak.tokens.get(principal, token)
        self.soak, self.books, self.principal, self.host = soak, soak.books, principal, host

    def send(self, verb, headers, body, path="/mcp"):
        lines = ["%s %s HTTP/1.1" % (verb, path), "Host: " + self.host, "Accept: application/json, text/event-stream",
                 *("%s: %s" % h for h in headers.items())]
        if self.token:
            lines.append("Authorization: Bearer " + self.token)
        if body is not None:
            lines += ["Content-Type: application/json", "Content-Length: %d" % len(body)]
        text = ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")
        self.books.asked, self.books.sent = self.books.asked + 1, self.books.sent + len(text)
        self.writer.write(text)

    async def exchange(self, verb, headers, message, path="/mcp"):
        """Returns the status, the headers and the body of the one answer. There must be one."""
        try:
            await asyncio.wait_for(self.open(), NO_ANSWER_S)
            self.send(verb, headers, None if message is None else json.dumps(message).encode(), path)
            return await asyncio.wait_for(self.whole(), NO_ANSWER_S)
        except (TimeoutError, OSError, EOFError) as e:
            self.close()
            self.books.fault("no answer to %s %s of %s: %r" % (verb, str(message)[:200], self.principal, e))
            return 0, {}, b""

    async def whole(self):
        status, headers = await self.head()
        body = b""
        if status not in (204, 304):
            async for piece in self.pieces(headers):
                body += piece
        self.books.add("responses", str(status))
        if headers.get("content-type") == "text/event-stream":
            self.books.fault("a stream that nobody asked for: %r" % body[:200])
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, headers, body

    async def ask(self, method, params, name=None, session=None):
        """Sends a request of either era, and enters its answer in the books. Returns the answer, or None."""
        message, headers = request(method, params, name, session)
        status, _, body = await self.exchange("POST", headers, message)
        answer = json.loads(body) if status == 200 else {}
        code = answer.get("error", {}).get("code")
        self.books.add("requests", method, "ok" if status == 200 and code is None else "error")
        if status == 200 and answer.get("id") != message["id"]:
            self.books.fault("an answer to another request: %r" % body[:300])
        if status not in (200, 404):
            self.books.fault("%s of %s: %d %r" % (method, self.principal, status, body[:300]))
        return answer if status == 200 else None

    async def tell(self, method, session):
        """Sends a notification in a session."""
        headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": LEGACY}
        status, _, _ = await self.exchange("POST", headers, {"jsonrpc": "2.0", "method": method})
        self.books.add("requests", method, "ok")
        if status != 202:
            self.books.fault("%s: %d" % (method, status))

    async def begin(self):
        """Begins a session. Returns its id, or None."""
        message = {"jsonrpc": "2.0", "id": next(numbers), "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}}
        status, headers, body = await self.exchange("POST", {}, message)
        self.books.add("requests", "initialize", "ok")
        if status != 200 or "mcp-session-id" not in headers:
            self.books.fault("no session for %s: %d %r" % (self.principal, status, body[:200]))
            return None
        self.soak.sessions.begun(self.principal, headers["mcp-session-id"])
        return headers["mcp-session-id"]

    async def end(self, session):
        status, _, _ = await self.exchange("DELETE", {"Mcp-Session-Id": session, "MCP-Protocol-Version": LEGACY}, None)
        self.books.add("requests", "", "ok")
        if status != 204:
            self.books.fault("DELETE: %d" % status)
        self.soak.sessions.deleted(self.principal)

    async def read(self, uri, source, session=None):
        answer = await self.ask("resources/read", {"uri": uri}, uri, session)
        if answer is None:
            return None
        code = answer.get("error", {}).get("code")
        self.books.add("reads", source, "ok" if code is None else "not_found" if code in NOT_FOUND else "error")
        self.books.add("audit", "resources/read", "ok" if code is None else "not found" if code in NOT_FOUND else "error")
        self.books.add("forwarded", source)
        return answer

    async def read_denied(self, uri):
        """Reads what a rule denies to this caller, for whom it does not exist."""
        answer = await self.ask("resources/read", {"uri": uri}, uri)
        self.books.add("audit", "resources/read", "denied")
        self.books.add("reads", "other", "not_found")
        if answer is not None and answer.get("error", {}).get("code") not in NOT_FOUND:
            self.books.fault("%s can read %s: %s" % (self.principal, uri, answer))

    async def call(self, tool, source, session=None):
        answer = await self.ask("tools/call", {"name": tool, "arguments": {}}, tool, session)
        if answer is None:
            return None
        code = answer.get("error", {}).get("code")
        if code == LIMITED:
            self.books.add("audit", "tools/call", "limited")
            self.books.add("rates", "rates")
            return answer
        self.books.add("audit", "tools/call", "error" if code else "ok")
        self.books.add("calls", tool, source, "error" if code else "ok")
        self.books.add("forwarded", source)
        return answer

    async def list(self, what, session=None):
        answer = await self.ask(what + "/list", {}, None, session)
        if answer is None:
            return None
        self.books.add("audit", what + "/list", "error" if "error" in answer else "ok")
        self.books.add("lists")
        return answer

    async def reset_call(self, tool, source):
        """Calls a tool that does not answer, and resets the connection. So it is known what became of the request."""
        message, headers = request("tools/call", {"name": tool, "arguments": {}}, tool, None)
        await asyncio.wait_for(self.open(), NO_ANSWER_S)
        self.send("POST", headers, json.dumps(message).encode())
        while not await self.soak.is_in_flight(tool):
            await asyncio.sleep(0.1)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()
        self.books.add("requests", "tools/call", "gone")
        self.books.add("calls", tool, source, "gone")
        self.books.add("audit", "tools/call", "cancelled")
        self.books.add("forwarded", source)
        self.books.add("log", "0")

    async def drop_call(self, tool, source, session=None):
        """Calls a tool, and closes the connection before the answer. mcpd may answer nevertheless, because a client may close
        only one direction."""
        message, headers = request("tools/call", {"name": tool, "arguments": {}}, tool, session)
        await asyncio.wait_for(self.open(), NO_ANSWER_S)
        self.send("POST", headers, json.dumps(message).encode())
        await self.writer.drain()
        await asyncio.sleep(0.1)
        self.close()
        for table in ("requests", "calls", "audit", "forwarded"):
            self.books.want[table + " dropped"][()] += 1
        for outcome in ("ok", "error", "gone"):
            self.books.doubted("requests", "tools/call", outcome)
            self.books.doubted("calls", tool, source, outcome)
        for outcome in ("ok", "error", "cancelled"):
            self.books.doubted("audit", "tools/call", outcome)
        self.books.doubted("forwarded", source)
        self.books.doubted("responses", "200")


def request(method, params, name, session):
    message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
    if session:
        return message, {"Mcp-Session-Id": session, "MCP-Protocol-Version": LEGACY}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
    return {**message, "params": {**params, "_meta": META}}, headers


class Sessions:
    """How many sessions there are, of whom, and which had to end: the rules of docs/http.md, worked out by the driver. Sessions
    begin and end one at a time, so their order is known."""

    IDLE_S = 1800

    def __init__(self, most, each):
        self.most, self.each, self.lock = most, each, asyncio.Lock()
        self.open, self.busy = collections.Counter(), collections.Counter()
        self.in_all = self.removed = self.evicted = self.own = self.expired = 0
        self.left = collections.deque()  # those that nobody will end: when they expire
        self.first, self.last = {}, {}   # the ids, by principal

    def expire(self):
        while self.left and self.left[0][0] <= time.monotonic():
            self.open[self.left.popleft()[1]] -= 1
            self.expired += 1

    def begun(self, principal, id):
        self.expire()
        richest = max(self.open, key=lambda p: self.open[p] if self.open[p] > self.busy[p] else 0, default=principal)
        if self.open[principal] >= self.each:
            self.evicted, self.own = self.evicted + 1, self.own + 1
            self.open[principal] -= 1
        elif sum(self.open.values()) >= self.most:
            self.evicted += 1
            self.open[richest if self.open[richest] > self.open[principal] + 1 else principal] -= 1
        self.open[principal] += 1
        self.in_all += 1
        self.first.setdefault(principal, id)
        self.last[principal] = id

    def deleted(self, principal):
        self.open[principal] -= 1
        self.removed += 1

    def leave(self, principal):
        self.left.append((time.monotonic() + self.IDLE_S, principal))


class Listener:
    """A subscription to one resource, in either era, whose stream stays open until the end."""

    def __init__(self, soak, principal, uri, modern):
        self.soak, self.uri, self.modern = soak, uri, modern
        self.line = Line(soak, principal)
        self.told, self.events, self.up, self.reader = 0.0, 0, False, None
        self.mark = json.dumps(uri).encode()

    async def begin(self):
        headers, message = {"Mcp-Session-Id": None, "MCP-Protocol-Version": LEGACY}, None
        if self.modern:
            message, headers = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [self.uri]}}, None, None)
        else:
            headers["Mcp-Session-Id"] = await self.subscribe()
        line = self.line
        await line.open()
        line.send("POST" if self.modern else "GET", headers, message and json.dumps(message).encode())
        status, headers = await asyncio.wait_for(line.head(), NO_ANSWER_S)
        if status != 200:
            line.books.fault("a stream was not opened: %d" % status)
            return
        self.reader = asyncio.create_task(self.listen(headers))

    async def subscribe(self):
        line = self.line
        async with self.soak.sessions.lock:
            session = await line.begin()
        await line.tell("notifications/initialized", session)
        await line.ask("resources/subscribe", {"uri": self.uri}, None, session)
        line.books.add("audit", "resources/subscribe", "ok")
        self.soak.sessions.busy[line.principal] += 1
        return session

    async def listen(self, headers):
        try:
            async for piece in self.line.pieces(headers):
                if piece[:1] == b":":
                    continue
                self.events += 1
                self.up = True
                if b"resources/updated" in piece and self.mark in piece:
                    self.told = time.monotonic()
        except (OSError, EOFError) as e:
            self.line.books.fault("a stream ended: %r" % e)
            return
        self.line.books.fault("a stream ended")

    def end(self):
        """Closes the stream, which is when its request is counted."""
        self.reader.cancel()
        self.line.close()
        self.line.books.add("requests", "subscriptions/listen" if self.modern else "", "ok")
        self.line.books.add("responses", "200")
        if self.modern:
            self.line.books.add("audit", "subscriptions/listen", "ok")
