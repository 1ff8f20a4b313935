"""A server over stdio, and what a model sees of its answers, for run and edits."""
import json
import os
import select
import subprocess
import sys

PATIENCE = 120
PICTURE = 1600
STRUCTURED = ("claude-code", "Visual Studio Code")  # show a model the structured content alone


class Server:
    """A server over stdio, of the revision that most hosts have."""

    def __init__(self, command, environment, client, stderr=None):
        self.alone = client in STRUCTURED
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment)
        self.last, self.rest = 0, b""
        hello = self.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                         clientInfo={"name": client, "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.instructions = hello.get("instructions", "")
        self.version = hello.get("serverInfo", {}).get("version", "")
        self.tools = self.ask("tools/list")["tools"]

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def line(self, method):
        """The next message. What was read beyond it is kept: a notification may come with an answer."""
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                sys.exit(f"no answer to {method}")
            self.rest += os.read(self.process.stdout.fileno(), 1 << 16) or sys.exit("the server has ended")
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def ask(self, method, **params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            message = json.loads(self.line(method))
            if message.get("id") == self.last and "method" not in message:
                return message["result"] if "result" in message else {
                    "isError": True, "content": [{"type": "text", "text": message["error"]["message"]}]}

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def seen(item):
    """What a model sees of a content item, and the number of its characters."""
    if item["type"] == "text":
        return item["text"], len(item["text"])
    if item["type"] == "image":
        return f"[{item['mimeType']}]", 4 * PICTURE
    text = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
    return text, len(text)


def tokens_of(characters):
    return (characters + 3) // 4


def shown(result, alone):
    """The texts that a model is shown of a result, and how many tokens they are. Hosts with `alone` show the structured content alone."""
    structured = result.get("structuredContent")
    parts = [seen(item) for item in ([] if alone and structured is not None else result.get("content", []))]
    if structured is not None:
        text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
        parts.append((text, len(text)))
    return [text for text, _ in parts], tokens_of(sum(n for _, n in parts))


def tools_of(server, *members):
    """The tokens of the list of tools, or of these members of its entries."""
    tools = [{k: v for k, v in tool.items() if not members or k in members} for tool in server.tools]
    return len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) // 4
