# Whether mcpd is ready: /readyz, and --drain-delay: after SIGTERM it serves on, because load balancers go on sending requests
# for a while. A delay that nobody waits for is a day long, so that it can only be the second signal that ended it.

bats_require_minimum_version 1.5.0
load support/serving

setup() { serving_setup; }
teardown() { serving_teardown; }

ready() { curl -s -m 10 -w ' %{http_code}' "http://127.0.0.1:$port/readyz" | tr -d '\n'; }
is() { [ "$(ready)" = "$1" ]; }
DRAINING='draining 503'

serve_workers() { # N OPTION...
    serve --http 127.0.0.1:0 --workers "$@"
    [ "$1" = 1 ] || wait_for eval "[ \"\$(get /metrics | sed -n 's/^mcp_workers //p')\" = $1 ]"
    children "$server" | tr ' ' '\n' >>pids
}

all_draining() { # each worker accepts some of these connections
    local i
    for i in {1..20}; do is "$DRAINING" || return 1; done
}

waits() {
    serve_workers "$1" --drain-delay 86400 --http "unix:$PWD/sock" project
    is 'ready 200'
    [ "$(curl -s -X POST -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/readyz")" = 405 ]
    request resources/list '' >list
    drive 8 list 5
    kill -TERM "$server"
    wait_for all_draining
    # Everything is served as before: open connections and new ones, also at a Unix socket.
    [ "$(get /healthz)" = ok ]
    [ "$(curl -sS --unix-socket sock http://localhost/readyz)" = draining ]
    before=$(get /metrics | sed -n 's/^mcp_requests_total{method="resources\/list",result="ok"} //p')
    more() { [ "$(get /metrics | sed -n 's/^mcp_requests_total{method="resources\/list",result="ok"} //p')" -gt $((${before:-0} + 100)) ]; }
    wait_for more
    stop_driving
    nothing_lost
    alive "$server"
    finish # the second signal
    [ ! -e sock ]
    rm -f sock
}

@test "after SIGTERM nothing changes but /readyz, until a second signal" {
    waits 1
}

@test "the same with workers" {
    waits 2
}

ends() {
    serve_workers "$1" --drain-delay 1 project
    kill -TERM "$server"
    wait_for gone "$server"
    wait "$server"
    server=
}

@test "when the time is over, it drains and ends" {
    ends 1
    ends 2
}

drains() {
    rm -f began
    echo '{"sources": ["project"], "tools": [{"name": "wait", "command": ["sh", "-c", "echo $$ >>began; exec sleep 600"]}]}' >mcpd.json
    serve_workers "$1" --drain-delay 86400 --drain-time 86400 --config mcpd.json
    curl -s -m 100 -o answer "http://127.0.0.1:$port/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: wait' \
        -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{},'"$meta"'}}' 3>&- &
    ours+=($!)
    wait_for test -s began
    kill -TERM "$server"
    wait_for all_draining
    kill -TERM "$server" # ends the delay; the call is still answered
    refuses() { ! curl -s -m 10 -o /dev/null "http://127.0.0.1:$port/healthz"; }
    wait_for refuses
    alive "$server"
    alive "$(cat began)"
    kill -TERM "$server" # ends the draining
    status=0
    wait "$server" || status=$?
    [ $status = 1 ]
    server=
}

@test "the second signal ends the delay, the third one the draining" {
    drains 1
    drains 2
}

# Whether an answer to a request on an open connection says "draining", and that the connection will be closed.
says_close() { # DESCRIPTOR
    local head
    head=$(timeout 60 sed '/^draining/q' <&"$1")
    [[ $head == *503*'Connection: close'*draining* ]] || { echo "$head"; return 1; }
}

# A proxy may be sending a request on a connection that is idle when the delay ends.
answers_once_more() { # WORKERS
    local first second
    serve_workers "$1" --drain-delay 86400 --drain-time 86400 project
    exec {first}<>"/dev/tcp/127.0.0.1/$port" {second}<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$first"
    timeout 60 sed '/^ok/q' <&"$first" >/dev/null
    kill -TERM "$server"
    wait_for all_draining
    kill -TERM "$server" # ends the delay
    refuses() { ! curl -s -m 10 -o /dev/null "http://127.0.0.1:$port/healthz"; }
    wait_for refuses
    for open in "$first" "$second"; do
        alive "$server"
        printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$open"
        says_close "$open"
    done
    exec {first}>&- {second}>&-
    # nothing is left to wait for
    wait "$server"
    server=
}

@test "a connection that is idle when the delay ends is answered once more" {
    answers_once_more 1
    answers_once_more 2
}

@test "a worker that is killed meanwhile is started again, and is not ready" {
    serve_workers 2 --drain-delay 86400 project
    kill -TERM "$server"
    wait_for all_draining
    set -- $(children "$server")
    kill -KILL "$1"
    wait_for logged 'was killed by signal 9'
    wait_for eval '[ "$(get /metrics | sed -n "s/^mcp_worker_starts_total //p")" = 3 ]'
    children "$server" | tr ' ' '\n' >>pids
    wait_for all_draining
    finish
}

@test "a successor takes over at once, and the service stays ready" {
    serve_workers 1 --drain-delay 86400 project
    kill -USR2 "$server"
    wait_for logged 'takes over'
    ours+=("$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' "$log")")
    wait "$server"
    server=
    is 'ready 200'
}

@test "--drain-delay needs --http" {
    run -2 --separate-stderr "$MCPD" --drain-delay 5 project
    [[ $stderr == *"--drain-delay needs --http"* ]]
}

@test "--check-health says whether a server is ready, for containers" {
    serve_workers 1 --drain-delay 86400 project
    url=http://127.0.0.1:$port
    run -0 "$MCPD" --check-health "$url/readyz"
    [ -z "$output" ]
    kill -TERM "$server"
    wait_for is "$DRAINING"
    run -1 "$MCPD" --check-health "$url/readyz"
    [ "$output" = "mcpd: $url/readyz: the answer has the status 503" ]
    run -0 "$MCPD" --check-health "$url/healthz"
    finish
    run -1 "$MCPD" --check-health "$url/healthz"
    [[ $output == "mcpd: $url/healthz: "* ]]
    run -1 "$MCPD" --check-health readyz
    [[ $output == "mcpd: readyz: "* ]]
}

# full OPTION...: serves with an audit log that may have 1 KiB, and sends requests until it is full
full() {
    printf '%s\n' '#!/bin/bash' "trap '' XFSZ" 'ulimit -f 1' "exec '$(command -v "$MCPD")' \"\$@\"" > limited
    chmod +x limited
    MCPD=$PWD/limited serve --http 127.0.0.1:0 --audit audit "$@" project
    is 'ready 200'
    for _ in {1..20}; do list > list; done
    [ "$(stat -c %s audit)" = 1024 ]
}

list() {
    curl -sS -m 10 "http://127.0.0.1:$port/mcp" -H 'Content-Type: application/json' -H 'Mcp-Method: resources/list' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{$meta}}"
}

@test "a server whose required audit log cannot be written is not ready, until a probe finds room" {
    full --audit-required
    [[ $(cat list) == *'its audit log cannot be written'* ]]
    is 'unaudited 503'
    is 'unaudited 503'
    [ "$(get /healthz)" = ok ]
    : > audit
    is 'ready 200'
    tail -n 1 audit | jq -e '.lost > 10'
    [[ $(list) == *'"resources"'* ]]
    finish
}

@test "a server that serves without its audit log is ready" {
    full
    [[ $(cat list) == *'"resources"'* ]]
    is 'ready 200'
    finish
}
