# Legacy sessions with mcpd --workers: requests reach a session at any worker, sessions without subscriptions outlive
# their worker, all others end with one 404. Each worker is addressed by its own socket, at which the others reach it.

bats_require_minimum_version 1.5.0
load support/serving

setup() {
    serving_setup
    printf 'a:token-a\nb:token-b\n' > tokens
    chmod 600 tokens
    echo '{"sources": ["project"]}' > mcpd.json
    ping='{"jsonrpc":"2.0","id":2,"method":"ping"}'
    subscribe='{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file://'"$PWD"'/project/hello.txt"}}'
    list='{"jsonrpc":"2.0","id":3,"method":"resources/list"}'
}
teardown() { serving_teardown; }

metric() { curl -sS -m 30 -H 'Authorization: Bearer token-a' "http://127.0.0.1:$port/metrics" | sed -n "s/^$1 //p"; }
serving() { [ "$(metric mcp_workers)" = "$1" ]; } # N

serve_workers() { # N OPTION...: sets $folder
    serve --http 127.0.0.1:0 --config mcpd.json --token-file tokens --workers "$@"
    wait_for serving "$1"
    children "$server" | tr ' ' '\n' >> pids
    folder=$(echo "$PWD"/mcpd-*)
    [ -d "$folder" ]
}

worker() { # NUMBER: prints its process
    local pid
    for pid in $(children "$server"); do
        if tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q -- " --@worker $1:"; then echo "$pid"; fi
    done
}

# What workers have told each other so far has arrived: a reload passes through the supervisor to all of them.
settle() { # WORKERS
    local before
    before=$(grep -c 'the configuration was reloaded' "$log" || :) # at first there is none
    kill -HUP "$server"
    wait_for logged 'the configuration was reloaded' $((before + $1))
}

kill_worker() { # NUMBER WORKERS: and waits for its successor
    local starts
    starts=$(metric mcp_worker_starts_total)
    settle "$2"
    kill -KILL "$(worker "$1")"
    wait_for eval "[ \"\$(metric mcp_worker_starts_total)\" = $((starts + 1)) ]"
    wait_for serving "$2"
    children "$server" | tr ' ' '\n' >> pids
}

status() { # STATUS WORKER TOKEN CURL-OPTION...: sends a request of $session and compares the status
    local wanted=$1 at=$2 token=$3
    shift 3
    run -0 curl -sS -m 60 --unix-socket "$folder/$at" -H "Authorization: Bearer $token" \
        -H 'Accept: application/json, text/event-stream' ${session:+-H "Mcp-Session-Id: $session"} \
        -D headers -o body -w '%{http_code}' "$@" http://localhost/mcp
    [ "$output" = "$wanted" ] || { echo "$output, and not $wanted: $(cat body)"; return 1; }
}

post() { # STATUS WORKER TOKEN MESSAGE
    status "$1" "$2" "$3" -H 'Content-Type: application/json' -d "$4"
}

begin() { # WORKER
    session=
    post 200 "$1" token-a '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' headers)
    [[ $session =~ ^[A-Za-z0-9_-]{100,1024}$ ]]
    post 202 "$1" token-a '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

stream() { # WORKER FILE
    curl -sS -N -m 600 --unix-socket "$folder/$1" -H 'Accept: text/event-stream' -H 'Authorization: Bearer token-a' \
        -H "Mcp-Session-Id: $session" -D "$2.head" http://localhost/mcp > "$2" 2>&1 3>&- &
    ours+=($!)
    wait_for grep -q '200 OK' "$2.head"
}

@test "a session is reached through any worker, also its events, and DELETE ends it at all" {
    serve_workers 3
    [ "$(stat -c %a "$folder")" = 700 ]
    begin 1
    for at in 1 2 3; do
        post 200 $at token-a "$list"
        grep -q hello.txt body
        post 404 $at token-b "$ping"
    done
    post 200 3 token-a "$subscribe"
    stream 2 events
    echo more >> project/hello.txt
    wait_for grep -q notifications/resources/updated events
    echo new > project/new.txt
    wait_for grep -q notifications/resources/list_changed events
    [ "$(metric mcp_forwarded_requests_total)" -ge 4 ]
    status 204 3 token-a -X DELETE
    for at in 1 2 3; do post 404 $at token-a "$ping"; done
    finish
    [ ! -e "$folder" ]
}

@test "a session that begins at the address of the server is reached there" {
    serve_workers 2
    for _ in {1..6}; do
        session=
        for message in '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' "$list" "$ping"; do
            run -0 curl -sS -m 60 -H 'Authorization: Bearer token-a' -H 'Content-Type: application/json' \
                -H 'Accept: application/json, text/event-stream' ${session:+-H "Mcp-Session-Id: $session"} \
                -D headers -o body -w '%{http_code}' -d "$message" "http://127.0.0.1:$port/mcp"
            [ "$output" = 200 ]
            [ -n "$session" ] || session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' headers)
        done
    done
    finish
}

@test "a session without subscriptions outlives its worker, and goes on at the one that was started again too" {
    serve_workers 3
    begin 1
    kill_worker 1 3
    post 404 1 token-b "$ping"
    post 200 1 token-a "$list" # a new process, which was told of the session
    [ "$(metric mcp_sessions_taken_total)" = 1 ]
    settle 3
    post 200 2 token-a "$ping"
    kill_worker 1 3
    post 200 2 token-a "$list"
    post 200 3 token-a "$ping"
    post 200 1 token-a "$ping"
    stream 3 events
    wait_for grep -q notifications/resources/list_changed events
    status 204 1 token-a -X DELETE
    for at in 1 2 3; do post 404 $at token-a "$ping"; done
    finish
}

@test "a session with subscriptions, or that was deleted, does not come back when its worker is killed" {
    serve_workers 2
    begin 1
    post 200 2 token-a "$subscribe"
    kill_worker 1 2
    for at in 1 2; do post 404 $at token-a "$ping"; done
    begin 1
    post 200 2 token-a '{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}'
    kill_worker 1 2
    for at in 2 1; do post 404 $at token-a "$ping"; done
    begin 1
    status 204 2 token-a -X DELETE
    kill_worker 1 2
    for at in 1 2; do post 404 $at token-a "$ping"; done
    finish
}

@test "what only one worker notices is announced at the others" {
    cat > upstream << 'END_OF_SCRIPT'
#!/usr/bin/env python3
# Says that its prompts changed when its tool is called, and only to the caller.
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "u", "version": "1"},
                       "capabilities": {"prompts": {"listChanged": True}, "tools": {}}},
        "ping": {}, "tools/list": {"tools": [{"name": "touch", "inputSchema": {"type": "object"}}]},
        "prompts/list": {"prompts": [{"name": "p"}]}, "tools/call": {"content": []}}.get(m["method"])
    if m["method"] == "tools/call": say(method="notifications/prompts/list_changed")
    if result is None: say(id=m["id"], error={"code": -32601, "message": "unknown"})
    else: say(id=m["id"], result=result)
END_OF_SCRIPT
    chmod +x upstream
    jq -n --arg up "mcp:$PWD/upstream?name=up" '{sources: ["project", $up]}' > mcpd.json
    serve_workers 2
    begin 1
    one=$session
    post 200 1 token-a '{"jsonrpc":"2.0","id":3,"method":"tools/list"}'
    grep -q up_touch body
    begin 2
    post 200 2 token-a '{"jsonrpc":"2.0","id":3,"method":"prompts/list"}'
    stream 2 events
    changes() { grep -c notifications/prompts/list_changed events || :; }
    before=$(changes)
    session=$one
    post 200 1 token-a '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"up_touch","arguments":{}}}'
    wait_for eval '[ "$(changes)" -gt "$before" ]'
    finish
}

@test "sessions and their streams go on through reloads, and end with the server" {
    serve_workers 2
    begin 1
    post 200 2 token-a "$subscribe"
    stream 2 events
    mkdir more
    echo there > more/new.txt
    echo '{"sources": ["project", "more"]}' > mcpd.json
    settle 2
    wait_for grep -q notifications/resources/list_changed events
    post 200 2 token-a "$list"
    grep -q new.txt body
    echo more >> project/hello.txt
    wait_for grep -q notifications/resources/updated events
    # A removed token ends what was opened with it, wherever it is.
    printf 'b:token-b\n' > tokens
    settle 2
    wait_for gone "${ours[0]}"
    post 401 1 token-a "$ping"
    post 401 2 token-a "$ping"
    finish
}

@test "a successor serves new sessions; each one of before gets one 404" {
    serve_workers 2
    begin 1
    before=$folder old=$server
    kill -USR2 "$old"
    wait_for logged 'takes over'
    server=$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' "$log")
    echo "$server" >> pids
    wait_for gone "$old"
    [ ! -e "$before" ]
    folder=$(echo "$PWD"/mcpd-*)
    for at in 1 2; do post 404 $at token-a "$ping"; done
    begin 2
    post 200 1 token-a "$list"
    kill -TERM "$server"
    wait_for gone "$server"
    server=
    [ ! -e "$folder" ]
}

@test "the folder of the sockets goes also if the supervisor is killed" {
    serve_workers 2
    begin 1
    pids=$(children "$server")
    kill -KILL "$server"
    for pid in $pids; do wait_for gone "$pid"; done
    server=
    [ ! -e "$folder" ]
}

@test "sessions begin and end at all workers while workers are killed: each goes on or gets 404" {
    serve_workers 3
    python3 - "$folder" "$server" <<'END_OF_SCRIPT'
import json, http.client, os, random, signal, socket, sys, time
folder, supervisor = sys.argv[1], sys.argv[2]
class At(http.client.HTTPConnection):
    def __init__(self, n):
        super().__init__("localhost", timeout=60)
        self.path = f"{folder}/{n}"
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)
def send(n, method, session=None, message=None):
    headers = {"Authorization": "Bearer token-a", "Content-Type": "application/json",
               "Accept": "application/json, text/event-stream"}
    if session: headers["Mcp-Session-Id"] = session
    for _ in range(1200): # a worker that was killed is not there for a moment
        try:
            c = At(n)
            c.request(method, "/mcp", json.dumps(message) if message else None, headers)
            answer = c.getresponse()
            answer.read()
            return answer.status, answer.getheader("Mcp-Session-Id")
        except (ConnectionError, FileNotFoundError, http.client.HTTPException):
            time.sleep(0.05)
    raise SystemExit("a worker does not come back")
def begin(n):
    status, session = send(n, "POST", None, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    assert status == 200, status
    return session
dice = random.Random(7)
live, dead, gone, went_on = [begin(1 + i % 3) for i in range(30)], [], 0, 0
for turn in range(300):
    if turn % 75 == 50:
        pids = open(f"/proc/{supervisor}/task/{supervisor}/children").read().split()
        os.kill(int(dice.choice(pids)), signal.SIGKILL)
    n, i = dice.randint(1, 3), dice.randrange(len(live))
    if turn % 10 == 9:
        status, _ = send(n, "DELETE", live[i])
        assert status in (204, 404, 502), status
        if status == 204: dead.append(live[i])
        live[i] = begin(n)
        continue
    status, _ = send(n, "POST", live[i], {"jsonrpc": "2.0", "id": 2, "method": "resources/list"})
    assert status in (200, 404, 502), status # 502: the worker was killed while it answered
    went_on += status == 200
    if status == 404:
        gone += 1
        live[i] = begin(n)
for session in dead:
    assert send(dice.randint(1, 3), "POST", session, {"jsonrpc": "2.0", "id": 2, "method": "ping"})[0] == 404
print(went_on, "went on,", gone, "ended")
assert went_on > 200
END_OF_SCRIPT
    finish
}
