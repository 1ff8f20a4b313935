# Answers of other servers that are longer than max_answer: wherever the id is in such an answer, its call fails with the
# name of the limit, at once, and nothing else does.

bats_require_minimum_version 1.5.0

setup() {
    load support/talk
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    cat >server.py <<'PY'
import sys, json, os, http.server
way = sys.argv[1]
def answer(m):
    tool = m.get('params', {}).get('name', '')
    r = {'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}},
                        'serverInfo': {'name': 'x', 'version': '1'}},
         'ping': {}, 'tools/call': {'content': [{'type': 'text', 'text': 'by %d' % os.getpid()}]},
         'tools/list': {'tools': [{'name': n, 'inputSchema': {'type': 'object'}}
                                  for n in ('begin', 'middle', 'end', 'fast')]}}.get(m['method'])
    if 'id' not in m:
        return None
    i, long = '"id":%d' % m['id'], '"result":{"content":[{"type":"text","text":"%s"}]}' % ('{\\"id\\":1},' * 20000)
    extra = '"extra":["%s",{"id":1}]' % ('x' * 200000)
    parts = {'begin': [i, long], 'end': [long, i], 'middle': [long, i, extra]}.get(tool)
    if parts:
        return '{"jsonrpc":"2.0",' + ','.join(parts) + '}'
    return json.dumps({'jsonrpc': '2.0', 'id': m['id'],
                       **({'result': r} if r is not None else {'error': {'code': -32601, 'message': 'no'}})})
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_error(405)
    def do_POST(self):
        text = answer(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
        body = ('data: %s\n\n' % text if text and way == 'events' else text or '').encode()
        self.send_response(200 if text else 202)
        self.send_header('Content-Type', 'text/event-stream' if way == 'events' else 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError: # the client reads no more than it needs
            self.close_connection = True
if way != 'stdio':
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

only_this_call() { # SOURCE
    local by='' tool
    mkdir -p good
    talk modern "$MCPD" "$1&max_answer=100000&timeout_ms=600000&call_ms=600000" good
    for tool in begin middle end; do
        failure tools/call "{\"name\":\"up_$tool\"}"
        [[ $heard == *"The server up does not answer: its answer to $tool is longer than 100000 bytes. Ask for less, or raise max_answer of this source"* ]] ||
            { echo "$tool: $heard"; return 1; }
        result tools/call '{"name":"up_fast"}'
        [ -z "$by" ] || is "$by" '.content[0].text'
        by=$(jq -c '.content[0].text' <<<"$heard")
    done
    hush
}

at_endpoint() {
    python3 server.py "$1" 2>server.log 3>&- &
    web_pid=$!
    timeout 20 sh -c 'until [ -s port ]; do sleep 0.02; done'
    only_this_call "mcp:http://127.0.0.1:$(cat port)/mcp?name=up"
}

@test "a program" { only_this_call 'mcp:python3 server.py stdio?name=up'; }
@test "an endpoint that answers with JSON" { at_endpoint json; }
@test "an endpoint that answers with events" { at_endpoint events; }
