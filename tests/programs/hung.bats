# Servers behind mcpd that no longer answer: a program is ended and started again, and what is in flight on its
# session ends at once, with a reason, and is never sent again; at an endpoint of HTTP only the call ends.

bats_require_minimum_version 1.5.0

setup() {
    load support/talk
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    mkdir good
    cat >server.py <<'PY'
import sys, json, os, threading, http.server
log = open('seen', 'a', buffering=1)
print('start', os.getpid(), file=log)
stop = threading.Event()
def answer(m):
    method, p = m['method'], m.get('params', {})
    print(method, p.get('name', ''), file=log)
    if method == 'tools/call' and p['name'] == 'hang':
        stop.wait()
    if method == 'notifications/cancelled':
        stop.set()
    if 'id' not in m or method == 'ping' and sys.argv[1] == 'no-ping':
        return None
    r = {'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}},
                        'serverInfo': {'name': 'x', 'version': '1'}},
         'ping': {}, 'tools/call': {'content': [{'type': 'text', 'text': 'by %d' % os.getpid()}]},
         'tools/list': {'tools': [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('hang', 'fast')]}}.get(method)
    return json.dumps({'jsonrpc': '2.0', 'id': m['id'],
                       **({'result': r} if r is not None else {'error': {'code': -32601, 'message': 'no'}})})
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_error(405)
    def do_POST(self):
        text = answer(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
        body = (text or '').encode()
        self.send_response(200 if text else 202)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
if sys.argv[1] == 'http':
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    open('port.new', 'w').write(str(server.server_port))
    os.rename('port.new', 'port')
    server.serve_forever()
for line in sys.stdin:
    j = answer(json.loads(line))
    if j:
        print(j, flush=True)
PY
}

teardown() {
    [ -z "${web_pid:-}" ] || kill "$web_pid" 2>/dev/null || :
}

has() { [[ $1 == *"$2"* ]] || { echo "\"$2\" is not in: $1"; return 1; }; }

metric() { curl -s --unix-socket socket http://localhost/metrics | sed -n "s/^$1 //p"; }

@test "a program that hangs is ended and started again, and nothing is sent twice" {
    echo '{"sources": ["good", {"module": "mcp", "source": "python3 server.py stdio", "name": "up", "options":
        {"call_ms": 60000, "ping_ms": 500, "tools": {"hang": {"call_ms": 500}}}}]}' >mcpd.json
    local first second
    for era in modern legacy; do
        rm -f seen socket
        talk "$era" "$MCPD" --config mcpd.json --http unix:socket --stdio
        result tools/call '{"name":"up_fast"}'
        first=$(jq -r '.content[0].text' <<<"$heard")
        request tools/call '{"name":"up_hang"}'
        request tools/call '{"name":"up_fast"}'
        hear ".id == $((last_id - 1))"
        has "$heard" 'The server up does not answer: neither an answer nor progress of hang within 0.500 s, so the call was cancelled; it may have had an effect. If the tool needs more time, raise call_ms of this source or tool'
        hear ".id == $last_id"
        has "$heard" 'The server up does not answer: it answered neither a request in time nor a ping within 0.500 s, so it was ended. Your request may have had an effect and was not repeated; the next one starts the server'
        result tools/call '{"name":"up_fast"}'
        second=$(jq -r '.content[0].text' <<<"$heard")
        [ "$first" != "$second" ]
        [ "$(grep -c '^start' seen)" = 2 ]
        [ "$(grep -c '^tools/call hang' seen)" = 1 ]
        [ "$(grep -c '^tools/call fast' seen)" = 2 ] # the one in flight was never read
        [ "$(metric 'mcp_upstream_process_hung_total{source="mcp+up:"}')" = 1 ]
        has "$(cat talk.log)" 'warning: mcp:up: it has answered neither tools/call of hang in time nor a ping within 0.500 s, so it is ended; the next request starts it again'
        hush
    done
}

@test "at an endpoint of HTTP, a call that is beyond its time is cancelled, and the others go on" {
    python3 server.py http 3>&- &
    web_pid=$!
    timeout 20 sh -c 'until [ -s port ]; do sleep 0.02; done'
    talk legacy "$MCPD" --http unix:socket --stdio "mcp:http://127.0.0.1:$(cat port)/mcp?name=up&call_ms=500&ping_ms=100" good
    failure tools/call '{"name":"up_hang"}'
    has "$heard" 'neither an answer nor progress of hang within 0.500 s, so the call was cancelled'
    timeout 20 sh -c 'until grep -q "^notifications/cancelled" seen; do sleep 0.02; done'
    result tools/call '{"name":"up_fast"}'
    is '"by '"$web_pid"'"' '.content[0].text'
    [ "$(grep -c '^tools/call hang' seen)" = 1 ]
    hush
}

@test "--doctor says that a program answers no pings" {
    run -0 "$MCPD" --doctor 'mcp:python3 server.py stdio?name=up' good
    [[ $output != *"answers no ping"* ]]
    run "$MCPD" --doctor 'mcp:python3 server.py no-ping?name=up' good
    has "$output" 'answers no ping, so it is ended when a request is beyond its time'
}
