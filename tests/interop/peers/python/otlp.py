"""The traces of mcpd, read with the official protobuf schema of OpenTelemetry (opentelemetry-proto).

usage: otlp.py MCPD

OTLP in JSON is the JSON of protobuf, apart from the ids, which have hexadecimal digits
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): they are turned into Base64 first. Unknown members are
errors. Prints TAP.
"""

import base64
import collections
import copy
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

MCPD = sys.argv[1]
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
LONG = 60  # seconds that count as "forever"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
bodies = []


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # the name that http.server calls
        bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def with_bytes(value):
    """The ids in Base64, as the JSON of protobuf has them. Refuses those that OTLP does not allow."""
    if isinstance(value, list):
        return [with_bytes(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, one in value.items():
        made[key] = with_bytes(one)
        if key in IDS:
            if not re.fullmatch(f"[0-9a-f]{{{2 * IDS[key]}}}", one) or not one.strip("0"):
                raise ValueError(f"{key} is {one}")
            made[key] = base64.b64encode(bytes.fromhex(one)).decode()
    return made


def parsed(tree):
    return json_format.Parse(json.dumps(with_bytes(tree)), ExportTraceServiceRequest(), ignore_unknown_fields=False)


def run(folder, url):
    """Sends requests of every kind: with sources, another server, a worker thread, mistakes, and odd names."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "größe 😀.md").write_text("hello\n", encoding="utf-8")
    config = {
        "sources": [
            "docs",
            {"module": "mcp", "source": MCPD, "name": "far",
             "options": {"args": ["--resource-tools", str(docs)]}},
        ],
        "name": 'a "name" \\ Grüße', "traces": url, "resource-tools": True,
        "views": {"team": {}},
    }
    (folder / "mcpd.json").write_text(json.dumps(config), encoding="utf-8")
    plan = (docs / "größe 😀.md").as_uri()
    long = "x" * 5000
    requests = [
        ("server/discover", {}),
        ("resources/list", {}),
        ("resources/read", {"uri": plan}),
        ("resources/read", {"uri": plan + ".none"}),
        ("resources/read", {"uri": "file:///" + long}),
        ("tools/list", {}),
        ("tools/call", {"name": "search_resources", "arguments": {"query": "hello"}}),
        ("tools/call", {"name": "far_list_resources", "arguments": {}}),
        ("tools/call", {"name": "größe \t\u0007\u2028" + long, "arguments": {}}),
        ("prompts/get", {"name": '"\\'}),
        ("no/such/😀", {}),
    ]
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": {**params, "_meta": META}}) + "\n"
        for i, (method, params) in enumerate(requests))
    for more in ([], ["--view", "team"]):
        done = subprocess.run([MCPD, "--config", "mcpd.json", *more], input=lines, capture_output=True, cwd=folder,
                              encoding="utf-8", timeout=LONG, check=True)
        assert done.stdout.count("\n") == len(requests), done.stderr
    return len(requests)


def attributes(of):
    values = {one.key: one.value for one in of}
    assert len(values) == len(of), "an attribute twice"
    assert all(one.WhichOneof("value") == "string_value" and one.string_value for one in values.values())
    return {key: one.string_value for key, one in values.items()}


def check(ok, what):
    check.n += 1
    check.failed += not ok
    print("ok" if ok else "not ok", check.n, "-", what, flush=True)


check.n = check.failed = 0


def refused(change):
    """Whether a batch is refused after this change of its first span."""
    tree = copy.deepcopy(json.loads(bodies[0]))
    change(tree["resourceSpans"][0]["scopeSpans"][0]["spans"][0])
    try:
        parsed(tree)
    except (json_format.ParseError, ValueError):
        return True
    return False


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        asked = run(pathlib.Path(folder), f"http://127.0.0.1:{server.server_port}/v1/traces")
    batches = [parsed(json.loads(body)) for body in bodies]
    check(len(batches) >= 2, "every batch is an ExportTraceServiceRequest, without unknown members")

    resources = [one for batch in batches for one in batch.resource_spans]
    names = {attributes(one.resource.attributes)["service.name"] for one in resources}
    check(names == {'a "name" \\ Grüße'}, "the resource names the service")
    check(all(scope.scope.name == "mcpd" for one in resources for scope in one.scope_spans), "the scope is mcpd")

    spans = [span for one in resources for scope in one.scope_spans for span in scope.spans]
    kinds = {span.kind for span in spans}
    check(kinds == {1, 2, 3}, "spans are internal, of a server or of a client")
    check(all(len(span.trace_id) == 16 and len(span.span_id) == 8 and len(span.parent_span_id) in (0, 8) for span in spans)
          and len({span.span_id for span in spans}) == len(spans), "each span has an id of its own")
    known = {(span.trace_id, span.span_id) for span in spans}
    check(all((span.trace_id, span.parent_span_id) in known for span in spans if span.parent_span_id)
          and any(span.parent_span_id for span in spans), "parents are in the trace")
    check(all(0 < span.start_time_unix_nano <= span.end_time_unix_nano < 2**63 for span in spans), "times go forward")
    check({span.status.code for span in spans} == {0, 2}, "failures have the status of an error")

    own = [attributes(span.attributes) for span in spans if span.kind == 2]
    # mcpd sends itself requests, too, within those that it got
    views = collections.Counter(one.get("mcpd.view") for one in own)
    check(set(views) == {None, "team"} and views["team"] == views[None] >= asked, "requests name their view")
    check(all("mcpd.outcome" in one and "mcp.method.name" in one for one in own), "requests have a method and an outcome")

    check(refused(lambda span: span.update(unknown=1)), "an unknown member is refused")
    check(refused(lambda span: span.update(startTimeUnixNano="soon")), "a wrong number is refused")
    check(refused(lambda span: span.update(spanId="00f067aa0ba902")), "a short id is refused")
    check(refused(lambda span: span.update(kind="SPAN_KIND_OTHER")), "an unknown kind is refused")
    print(f"1..{check.n}")
    return 1 if check.failed else 0


sys.exit(main())
