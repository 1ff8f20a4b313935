#!/usr/bin/env python3
"""bad_server.py KIND [--http]: an MCP server of revision 2025-06-18 that is hostile in one way when its tool is called.

  none     it is not hostile            garbage  what it sends is not JSON-RPC
  killed   it ends                      huge     its answer has 100 MB (times HOSTILE_SCALE, at least 20 MB)
  frozen   it stops itself              never    it does not answer
  flood    it writes without end to stderr or, over HTTP, to the stream of the answer
  silent   it does not even answer the handshake
  slow     its answer takes 300 ms
  half     it ends in the middle of its answer
  status   over HTTP: its answer has the status 500 and a page
  many     its list has 100,000 tools in one page
  values   its answer has 14 MB with 800,000 values
  full     its list and its answer are as large as they may be: 10,000 tools, 14 MB, 260,000 values

With --http it prints its port first.
"""
import http.server
import json
import os
import signal
import socket
import sys
import threading
import time

KIND = sys.argv[1]
SIZE = int(max(20e6, 100e6 * float(os.environ.get("HOSTILE_SCALE", "1"))))  # more than max_answer
HUGE = b"y" * SIZE if KIND == "huge" else b"good"  # made once: what counts is the work of the other side
SCHEMA = {"type": "object"}


def tools(count, description):
    one = '{"name":"t%d","description":"%s","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"H"}}}}'
    return b'{"tools":[{"name":"x","inputSchema":{"type":"object"}}' + \
        "".join("," + one % (i, description) for i in range(count - 1)).encode() + b"]}"


def links(count, uri):
    return b'{"content":[{"type":"text","text":"good"}' + \
        "".join(',{"type":"resource_link","uri":"a:%s%d","name":"n"}' % (uri, i) for i in range(count)).encode() + b"]}"


RESULTS = {  # made once, too
    "many": lambda: {"tools/list": tools(100000, "d")},
    "values": lambda: {"tools/call": links(100000, "u" * 90)},
    "full": lambda: {"tools/list": tools(10000, "d" * 1200), "tools/call": links(32000, "u" * 380)},
}.get(KIND, dict)()


def result_of(method):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "x", "description": "d", "inputSchema": SCHEMA}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "@"}]}
    return {} if method == "ping" else None


def answer(message):
    result = result_of(message["method"])
    if result is None:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def written(message):
    """Returns the parts of the answer."""
    if message["method"] in RESULTS:
        return [b'{"jsonrpc":"2.0","id":%s,"result":' % json.dumps(message["id"]).encode(), RESULTS[message["method"]], b"}"]
    parts = json.dumps(answer(message)).encode().split(b"@")
    return parts if len(parts) == 1 else [parts[0], HUGE, parts[1]]


def hold():
    while True:
        time.sleep(60)


def harm(message):
    """Returns whether the call is answered nevertheless."""
    if KIND == "killed":
        os._exit(1)
    if KIND == "frozen":
        os.kill(os.getpid(), signal.SIGSTOP)
    if KIND == "slow":
        time.sleep(0.3)
    return KIND not in ("garbage", "never")


GARBAGE = [b"\x00\xff\xfe{{{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":%d,"result":5}',
           b'{"jsonrpc":"2.0","id":99999,"result":{}}', b'{"jsonrpc":"2.0","method":5}', b"HTTP/1.1 200 OK", b"[" * 5000]


def flood_stderr():
    line = b"a line that nobody wants to read\n" * 100
    while True:
        os.write(2, line)


def stdio():
    flooding = False
    for line in sys.stdin:
        message = json.loads(line)
        if KIND == "silent" or "id" not in message or "method" not in message:
            continue
        call = message["method"] == "tools/call"
        if call and KIND == "garbage":
            for text in GARBAGE * 20:
                os.write(1, text.replace(b"%d", b"%d" % message["id"] if isinstance(message["id"], int) else b"0") + b"\n")
        if call and KIND == "flood" and not flooding:
            flooding = True
            threading.Thread(target=flood_stderr, daemon=True).start()
        if not call or harm(message):
            parts = written(message)
            sys.stdout.buffer.writelines(parts[:1] if call and KIND == "half" else parts + [b"\n"])
            sys.stdout.buffer.flush()
            if call and KIND == "half":
                os._exit(1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, parts, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(sum(map(len, parts))))
        self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def do_GET(self):
        self.send([], status=405)

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if KIND == "silent":
            hold()
        if "id" not in message:
            self.send([], status=202)
            return
        if message.get("method") == "tools/call" and not self.harm(message):
            return
        self.send(written(message))

    def harm(self, message):
        if KIND == "killed":
            self.connection.shutdown(socket.SHUT_RDWR)
            return False
        if KIND == "half":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"jsonrpc":')
            self.connection.shutdown(socket.SHUT_RDWR)
            return False
        if KIND == "status":
            self.send([b"<h1>something is wrong</h1>"], "text/html", 500)
            return False
        if KIND == "garbage":
            self.wfile.write(b"\x00\x01 nonsense\r\n\r\n")
            self.connection.shutdown(socket.SHUT_RDWR)
            return False
        if KIND == "flood":
            self.flood()
        if KIND == "never":
            hold()
        return harm(message)

    def flood(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        event = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "z" * 200}}
        text = b"".join([b"data: " + json.dumps(event).encode() + b"\n\n"] * 100)
        while True:
            self.wfile.write(text)


def main():
    if "--http" not in sys.argv:
        stdio()
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
