"""Clients that call the tools that write files, over stdio and HTTP. A call whose answer never comes raises Lost."""
import http.client
import json
import os
import re
import subprocess
import threading
import time

MCPD = os.environ.get("MCPD", "mcpd")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
PATIENCE = 60


class Lost(Exception):
    pass


def start(args, folder, **more):
    return subprocess.Popen([MCPD, *args], stderr=open(folder + "/log", "a"),
                            env={**os.environ, "XDG_STATE_HOME": folder + "/state", "HOME": folder}, **more)


class Client:
    number = 0

    def message(self, method, params):
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**params, "_meta": META}}

    def tool(self, name, arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments}, name)

    def read(self, uri):
        """Returns the bytes of a text and its version, or None."""
        answer = self.ask("resources/read", {"uri": uri}, uri)
        if "result" not in answer:
            return None
        one = answer["result"]["contents"][0]
        return one.get("text", ""), one.get("_meta") or {}


class Stdio(Client):
    def __init__(self, args, folder, **more):
        self.folder = folder
        self.process = start(["--stdio", *args], folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)

    def ask(self, method, params, name=""):
        message = self.message(method, params)
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                answer = json.loads(line)
                if answer.get("id") == message["id"] and "method" not in answer:
                    return answer
        except (OSError, ValueError):
            pass
        raise Lost()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Server:
    """mcpd over HTTP, which is started again at another port after it was killed."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.lock = threading.Lock()
        self.begin()

    def begin(self):
        at = os.path.getsize(self.folder + "/log") if os.path.exists(self.folder + "/log") else 0
        self.process = start(["--http", "127.0.0.1:0", *self.args], self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.time() + PATIENCE
        while time.time() < until:
            with open(self.folder + "/log", errors="replace") as log:
                log.seek(at)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read()):
                    self.port = int(found.group(1))
                    return
            time.sleep(0.01)
        raise SystemExit("no server: " + open(self.folder + "/log").read()[-2000:])

    def again(self):
        with self.lock:
            if self.process.poll() is not None:
                self.begin()


class Http(Client):
    def __init__(self, server, token):
        self.server, self.token, self.connection = server, token, None

    def ask(self, method, params, name=""):
        message = self.message(method, params)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "Authorization": "Bearer " + self.token, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if name:
            headers["Mcp-Name"] = name
        try:
            self.connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
            self.connection.request("POST", "/mcp", json.dumps(message), headers)
            text = self.connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            self.close()
            raise Lost() from None
        for line in text.splitlines():
            body = line[5:].strip() if line.startswith("data:") else line
            if body.startswith("{") and json.loads(body).get("id") == message["id"]:
                return json.loads(body)
        raise Lost()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
