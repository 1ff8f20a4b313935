"""Clients of a fleet for the driver: requests whose every outcome is counted, listeners, and sessions of an older revision."""
import asyncio
import itertools
import json
import time

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
TASKS = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
LOST = "The instance that ran the task has ended"
NO_ANSWER_S = 120  # after that time, a request counts as lost
numbers = itertools.count(1)


class Ledger:
    """What became of each request: an answer by its status, or a connection that was closed before or within it."""

    def __init__(self):
        self.sent, self.counts, self.faults, self.quiet = 0, {}, [], False
        self.excuse, self.excusing = (), False  # outcomes that are expected now
        self.excused_until = 0.0                # requests that were sent before may still have them

    def fault(self, text):
        self.faults.append(text)
        if not self.quiet:
            print("# " + text[:6000].replace("\n", "\n# "), flush=True)

    def note(self, kind, outcome, began, ended_404=False):
        """Counts the one outcome of a request. Outcomes other than 200 and 202 need an excuse."""
        key = (kind, str(outcome))
        self.counts[key] = self.counts.get(key, 0) + 1
        if outcome in (200, 202) or (outcome == 404 and ended_404):
            return
        if outcome in self.excuse and (self.excusing or began <= self.excused_until):
            return
        self.fault("%s: %s after %.1f s, without a reason" % (kind, outcome, time.monotonic() - began))

    def begin_excuse(self, *outcomes):
        self.excuse, self.excusing = outcomes, True

    def end_excuse(self):
        self.excusing, self.excused_until = False, time.monotonic()

    def total(self, outcome=None):
        return sum(n for (_, o), n in self.counts.items() if outcome is None or o == str(outcome))


class Answer:
    def __init__(self, outcome, message=None, headers=None, body=b""):
        self.outcome, self.message, self.headers, self.body = outcome, message, headers or {}, body


class Connection:
    """One connection to the proxy, which is opened again whenever it was closed."""

    def __init__(self, fleet, at=None):
        self.ledger, self.at, self.token, self.tls = fleet.ledger, at or fleet.front, fleet.token, fleet.tls
        self.reader = self.writer = None

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def open(self):
        if self.reader and not self.reader.at_eof() and not self.reader.exception():
            return
        self.close()
        self.reader, self.writer = await asyncio.open_connection(*self.at, limit=1 << 22, ssl=self.tls)

    async def head(self):
        """Reads the head of an answer: its status and headers."""
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = text.split("\r\n")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines if line)}
        return int(first.split()[1]), headers

    async def pieces(self, headers):
        """The body of an answer, as it arrives."""
        if headers.get("transfer-encoding") == "chunked":
            while True:
                size = int(await self.reader.readuntil(b"\r\n"), 16)
                piece = await self.reader.readexactly(size + 2)
                if not size:
                    return
                yield piece[:-2]
        elif "content-length" in headers:
            yield await self.reader.readexactly(int(headers["content-length"]))
        else:
            while piece := await self.reader.read(65536):
                yield piece

    def send(self, verb, headers, body):
        lines = ["%s /mcp HTTP/1.1" % verb, "Host: mcp.example", "Authorization: Bearer " + self.token,
                 "Accept: application/json, text/event-stream", *("%s: %s" % h for h in headers.items())]
        if body is not None:
            lines += ["Content-Type: application/json", "Content-Length: %d" % len(body)]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b""))

    async def ask(self, kind, message, headers, ended_404=False):
        """Sends a message, waits for its one answer, and notes the outcome."""
        answer, began = Answer("refused"), time.monotonic()
        try:
            await asyncio.wait_for(self.open(), NO_ANSWER_S)
        except (TimeoutError, OSError) as e:
            self.ledger.fault("%s: the proxy cannot be reached: %r" % (kind, e))
            await asyncio.sleep(0.1)
            return answer
        self.ledger.sent += 1
        try:
            self.send("POST", headers, json.dumps(message).encode())
            answer = await asyncio.wait_for(self.answer(message), NO_ANSWER_S)
        except TimeoutError:
            answer.outcome = "lost"
        finally:
            if answer.headers.get("connection", "").lower() == "close" or answer.outcome in ("closed", "cut", "lost", "refused"):
                self.close()
            self.ledger.note(kind, answer.outcome, began, ended_404)
        return answer

    async def answer(self, message):
        status, headers, body = 0, {}, b""
        try:
            status, headers = await self.head()
            async for piece in self.pieces(headers):
                body += piece
        except (OSError, EOFError, asyncio.IncompleteReadError):
            return Answer("cut" if status else "closed", None, headers)
        found = None
        if status == 200:
            found = reply(body, message["id"])
            if not found:
                self.ledger.fault("an answer to another request: %r" % body[:300])
        return Answer(status, found, headers, body)


def reply(body, id):
    """The response with that id, in JSON or in the events of a stream."""
    texts = [line[5:] for line in body.split(b"\n") if line.startswith(b"data:")] or [body]
    for text in texts:
        if text.strip():
            message = json.loads(text)
            if message.get("id") == id and "method" not in message:
                return message
    return None


def request(method, params, name=None, meta=META):
    """A request of revision 2026-07-28, and its headers."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
    return {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": {**params, "_meta": meta}}, headers


class Client:
    """Sends requests one after the other, until it is stopped."""

    def __init__(self, fleet, kind, make):
        self.fleet, self.kind, self.make = fleet, kind, make
        self.connection = Connection(fleet)
        self.paused = self.busy = False

    async def run(self):
        while not self.fleet.stopping:
            if self.paused:
                await asyncio.sleep(0.05)
                continue
            self.busy = True
            params, name, check = self.make()
            method = "tools/call" if self.kind != "read" else "resources/read"
            answer = await self.connection.ask(self.kind, *request(method, params, name))
            self.busy = False
            if answer.outcome == 200:
                result = (answer.message or {}).get("result")
                if not result or result.get("isError"):
                    self.fleet.ledger.fault("%s: %s" % (self.kind, answer.body[:300]))
                else:
                    check()
            await asyncio.sleep(self.fleet.options.pause)
        self.connection.close()


class TaskClient:
    """Makes tasks one after the other, and asks for each until it has ended, wherever the proxy sends the requests."""

    END_S = 60  # a task that has not ended by then never will
    PER_SECOND = 10  # new tasks of all clients: their server keeps them for a minute, and at most 1,000 of a caller

    def __init__(self, fleet):
        self.fleet, self.ends, self.lost = fleet, {}, []
        self.connection = Connection(fleet)

    async def run(self):
        while not self.fleet.stopping:
            label = "task-%d" % next(numbers)
            deaths = self.fleet.deaths
            seconds = (0, 0.3, 2)[next(numbers) % 3]
            result = await self.ask("tools/call", {"name": "jobs_slow_compute",
                                                   "arguments": {"seconds": seconds, "label": label}}, "jobs_slow_compute")
            if result and result.get("taskId"):
                await self.follow(result["taskId"], label, deaths)
            elif result:
                self.fleet.ledger.fault("a call that is no task: %s" % json.dumps(result)[:300])
            await asyncio.sleep(max(self.fleet.options.pause, self.fleet.options.clients / self.PER_SECOND))
        self.connection.close()

    async def ask(self, method, params, name):
        """The result of a request, or None if there is no answer, or an instance could not be reached."""
        answer = await self.connection.ask("task", *request(method, params, name, TASKS))
        if answer.outcome != 200:
            return None
        error = (answer.message or {}).get("error")
        if error and "cannot be reached" not in error["message"]:
            self.fleet.ledger.fault("%s: %s" % (method, json.dumps(error)[:300]))
        return (answer.message or {}).get("result")

    async def follow(self, id, label, deaths):
        until = time.monotonic() + self.END_S
        while time.monotonic() < until:
            state = await self.ask("tasks/get", {"taskId": id}, id)
            status = (state or {}).get("status", "working")
            if status not in ("working", "input_required"):
                self.end(state, status, label, deaths)
                return
            await asyncio.sleep(max(self.fleet.options.pause, 0.05))
        self.fleet.ledger.fault("%s has not ended after %d s" % (label, self.END_S))

    def end(self, state, status, label, deaths):
        """Only the end of its instance, which may be noted a little later, may keep a task from its own result."""
        lost = status == "cancelled" or (status == "failed" and LOST in state.get("statusMessage", ""))
        self.ends["lost" if lost else status] = self.ends.get("lost" if lost else status, 0) + 1
        if lost:
            self.lost.append((label, deaths))
        elif status != "completed" or "Computed %s\"" % label not in json.dumps(state.get("result")):
            self.fleet.ledger.fault("%s: %s" % (label, json.dumps(state)[:400]))


class Freshness:
    """When a listener last had everything: since the stream was opened, or because it was told."""

    def __init__(self):
        self.opened = self.told = 0.0

    def knows(self, began, done):
        """Whether it was told of a change, or has (re)connected since."""
        return self.told >= began or self.opened >= done


class Listener(Freshness):
    """A subscription of revision 2026-07-28, which is opened again whenever it ends."""

    def __init__(self, fleet, uri, at=None):
        super().__init__()
        self.fleet, self.uri, self.openings, self.up = fleet, uri, 0, False
        self.connection = Connection(fleet, at)
        self.ledger = Ledger() if at else fleet.ledger  # what the proxy does not see is not counted
        self.ledger.quiet = at is not None

    async def run(self):
        while not self.fleet.stopping:
            try:
                await self.connection.open()
                await self.listen()
            except (OSError, EOFError, asyncio.IncompleteReadError):
                pass
            self.up = False
            self.connection.close()
            await asyncio.sleep(0.1)

    async def listen(self):
        message, headers = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [self.uri]}})
        began, outcome, ledger = time.monotonic(), "closed", self.ledger
        ledger.sent += 1
        try:
            self.connection.send("POST", headers, json.dumps(message).encode())
            outcome, headers = await asyncio.wait_for(self.connection.head(), NO_ANSWER_S)
        except TimeoutError:
            outcome = "lost"
        finally:
            if self.fleet.stopping:
                ledger.sent -= 1
            else:
                ledger.note("listen", outcome, began)
        if outcome != 200:
            return
        async for event in events(self.connection.pieces(headers)):
            if event.get("method") == "notifications/subscriptions/acknowledged":
                self.opened, self.up = time.monotonic(), True
                self.openings += 1
            elif event.get("method") == "notifications/resources/updated":
                self.told = time.monotonic()


async def events(pieces):
    """The messages of a stream of events."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and line[5:].strip():
                yield json.loads(line[5:])


class Session(Freshness):
    """A session of revision 2025-11-25. It goes on, or ends with one 404 and begins again."""

    def __init__(self, fleet, uri, subscribes):
        super().__init__()
        self.fleet, self.uri, self.subscribes = fleet, uri, subscribes
        self.connection = Connection(fleet)
        self.id = self.stream = None
        self.begun = self.ended = 0

    async def post(self, method, params=None, notice=False):
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})}
        if not notice:
            message["id"] = next(numbers)
        id = self.id
        headers = {"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25"} if id else {}
        answer = await self.connection.ask("session", message, headers, ended_404=id is not None)
        if answer.outcome == 404:
            self.end(id)
        return answer

    def end(self, id):
        """The session got a 404. A request and the stream can both get it."""
        if not id or id != self.id:
            return
        self.ended += 1
        self.id = None
        if self.stream:
            self.stream.cancel()
            self.stream = None

    async def begin(self):
        answer = await self.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                "clientInfo": {"name": "drive", "version": "1"}})
        if answer.outcome != 200:
            return
        self.id, self.begun, self.ready = answer.headers["mcp-session-id"], self.begun + 1, False
        await self.post("notifications/initialized", notice=True)

    async def run(self):
        while not self.fleet.stopping:
            if not self.id:
                await self.begin()
            elif self.subscribes and not self.ready:
                answer = await self.post("resources/subscribe", {"uri": self.uri})
                self.ready = answer.outcome == 200
            elif self.subscribes and not self.stream:
                self.stream = asyncio.create_task(self.listen(self.id))
            else:
                await self.post("ping")
            await asyncio.sleep(self.fleet.options.pause)
        if self.stream:
            self.stream.cancel()
        self.connection.close()

    async def listen(self, id):
        connection, status = Connection(self.fleet), 0
        try:
            await connection.open()
            connection.send("GET", {"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25"}, None)
            status, headers = await connection.head()
            if status == 200:
                self.opened = time.monotonic()
                async for event in events(connection.pieces(headers)):
                    if event.get("method") == "notifications/resources/updated":
                        self.told = time.monotonic()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            pass
        finally:
            connection.close()
        self.opened, self.stream = 0.0, None
        if status == 404:
            self.end(id)
