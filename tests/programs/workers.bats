# mcpd --workers: several processes at one address, and what happens when they end.

bats_require_minimum_version 1.5.0
load support/serving

setup() { serving_setup; }
teardown() { serving_teardown; }

workers() { children "$server"; }
n_workers() { [ "$(workers | wc -w)" = "$1" ]; }
metric() { get /metrics | sed -n "s/^$1 //p"; }

serve_workers() { # N OPTION...
    serve --http 127.0.0.1:0 --workers "$@"
    wait_for eval "[ \"\$(metric mcp_workers)\" = $1 ]"
    workers | tr ' ' '\n' >> pids
}

@test "requests are spread over the workers, and /metrics adds up" {
    serve_workers 3 --log-format text project
    n_workers 3
    used() { get /nowhere > /dev/null; [ "$(grep -o 'worker=[1-3]$' "$log" | sort -u | wc -l)" = 3 ]; }
    wait_for used
    request resources/read "\"uri\":\"file://$PWD/project/hello.txt\"," \
        "Mcp-Name: file://$PWD/project/hello.txt" > question
    drive 24 question
    sleep 1
    stop_driving
    nothing_lost
    [ "$(get /metrics | sed -n 's/^mcp_requests_total{method="resources\/read",result="ok"} //p')" = "$(count answered)" ]
    [ "$(get /metrics | sed -n 's/^mcp_request_duration_seconds_count //p')" -ge "$(count answered)" ]
    [ "$(metric 'mcp_limit{limit="--max-connections"}')" -ge 20000 ]
    [ "$(get /metrics | sort | uniq -d | grep -v '^#' | wc -l)" = 0 ]
    [ "$(get /healthz)" = ok ]
    finish
    run ! grep -q 'error:' "$log"
}

# call TOOL ARGUMENTS: calls a tool on a connection of its own, and sets $worker to the number of the worker that answered
call() {
    local body="{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2,$meta}}"
    curl -sS -m 60 "http://127.0.0.1:$port/mcp" -H 'Content-Type: application/json' -H "Mcp-Name: $1" \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: tools/call' -d "$body" > answer
    grep -q '"isError":false\|"content"' answer || { cat answer; return 1; }
    wait_for logged "tools/call .*worker=" $((++n_calls))
    worker=$(sed -n 's/.*tools\/call .*worker=\([0-9]\)$/\1/p' "$log" | tail -1)
}

# Sets $seen to /metrics as the other worker answers it.
elsewhere() {
    for _ in {1..400}; do
        seen=$(get "/metrics?$((++n_asked))")
        wait_for logged " /metrics .*worker=" "$n_asked"
        [ "$(sed -n 's/.* \/metrics .*worker=\([0-9]\)$/\1/p' "$log" | tail -1)" = "$worker" ] || return 0
    done
    return 1
}

@test "a name that only one worker has used is in /metrics of each, once, and added up when both have" {
    n_calls=0 n_asked=0
    printf '{"sources": ["project", {"module": "mcp", "source": "%s", "name": "far", "options": {"args": ["--resource-tools", "%s"]}}]}' \
        "$MCPD" "$PWD/project" > mcpd.json
    serve --config mcpd.json --http 127.0.0.1:0 --workers 2 --resource-tools --log-format text
    workers | tr ' ' '\n' >> pids
    call read_resource "{\"uri\":\"file://$PWD/project/hello.txt\"}"
    first=$worker
    call far_list_resources '{}'
    until [ "$worker" != "$first" ]; do call far_list_resources '{}'; done
    worker=$first
    elsewhere
    is() { [ "$(grep -F "$1" <<< "$seen")" = "$1$2" ] || { echo "not $1$2"; grep mcp_tool <<< "$seen"; return 1; }; }
    is 'mcp_tool_calls_total{tool="read_resource",result="ok"} ' 1
    is 'mcp_source_reads_total{source="file:",result="ok"} ' 1
    is 'mcp_tool_call_duration_seconds_count{tool="read_resource"} ' 1
    far=$(grep -c ' tools/call .*far_list_resources' "$log")
    is 'mcp_tool_calls_total{tool="far_list_resources",source="mcp+far:",result="ok"} ' "$far"
    is 'mcp_upstream_requests_total{source="mcp+far:",outcome="answered"} ' "$far"
    until [ "$worker" != "$first" ]; do call read_resource "{\"uri\":\"file://$PWD/project/hello.txt\"}"; done
    elsewhere
    is 'mcp_tool_calls_total{tool="read_resource",result="ok"} ' $((n_calls - far))
    [ "$(sed -n 's/^\(mcp_[^ ]*\) .*/\1/p' <<< "$seen" | sort | uniq -d)" = "" ]
    [ "$(grep '^# TYPE' <<< "$seen" | sort | uniq -d)" = "" ]
    finish
}

@test "a worker that is killed is started again; each request has one answer or one closed connection" {
    serve_workers 2 project
    request resources/list '' > list
    before=$(metric mcp_connections_total)
    drive 16 list
    for i in 1 2 3; do
        sleep 0.3
        set -- $(workers)
        kill -KILL "$1"
        wait_for logged 'was killed by signal 9' $i
        wait_for n_workers 2
    done
    wait_for eval '[ "$(metric mcp_worker_starts_total)" = 5 ]'
    stop_driving
    [ "$(count failed) $(count refused)" = "0 0" ]
    [ "$(count closed)" -le 48 ]
    # Counters do not go back when a worker is gone.
    [ "$(metric mcp_connections_total)" -ge "$before" ]
    [ "$(metric mcp_workers)" = 2 ]
    finish
}

@test "all workers end when the supervisor is killed, and the address is free" {
    cat > mcpd.json <<'END'
{"sources": ["project"], "tools": [{"name": "nap", "concurrency": 100, "command": ["sh", "-c", "sleep 1; echo done"]}]}
END
    serve_workers 2 --config mcpd.json
    request tools/call '"name":"nap",' 'Mcp-Name: nap' > call
    drive 4 call
    sleep 0.5
    pids=$(workers)
    kill -KILL "$server"
    for pid in $pids; do wait_for gone "$pid"; done
    stop_driving
    [ "$(count answered)" -ge 4 ] # calls in flight were still answered
    [ "$(count failed) $(count cut)" = "0 0" ]
    server=
    serve --http "127.0.0.1:$port" project
    finish
}

@test "workers with calls that do not end, and stopped workers, end after the supervisor too" {
    cat > mcpd.json <<'END'
{"sources": ["project"], "tools": [{"name": "sleep", "concurrency": 100, "command": ["sleep", "600"]}]}
END
    serve_workers 2 --drain-time 1 --config mcpd.json
    request tools/call '"name":"sleep",' 'Mcp-Name: sleep' > call
    drive 4 call
    sleep 0.5
    pids=$(workers)
    kill -STOP ${pids%% *}
    kill -KILL "$server"
    sleep 0.2
    kill -CONT ${pids%% *}
    for pid in $pids; do wait_for gone "$pid"; done
    kill -KILL "$driver"
    server=
}

@test "a reload reaches all workers; a bad configuration is refused once" {
    echo '{"sources": ["project"]}' > mcpd.json
    serve_workers 3 --config mcpd.json --log-level error
    request resources/list '' > list
    drive 8 list
    mkdir more
    echo '{"sources": ["project", "more"]' > mcpd.json
    kill -HUP "$server"
    wait_for logged 'the old one stays in use'
    sleep 0.3
    [ "$(grep -c 'the old one stays in use' "$log")" = 1 ]
    n_workers 3
    echo '{"sources": ["project", "more"]}' > mcpd.json
    kill -HUP "$server"
    wait_for logged 'the configuration was reloaded' 3
    for worker in 1 2 3; do grep -q "^mcpd\[$worker\]: the configuration was reloaded" "$log"; done
    echo there > more/new.txt
    for _ in {1..20}; do # each connection may come to another worker
        curl -sS "http://127.0.0.1:$port/mcp" -H 'Content-Type: application/json' \
            -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
            -H 'Mcp-Method: resources/list' \
            -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{$meta}}" |
            grep -q new.txt
    done
    stop_driving
    nothing_lost
    finish
}

@test "a mistake at the start is reported once" {
    echo '{"sources": ["project"], "http": ["127.0.0.1:0"], "workers": "auto", "tls-cert": "nowhere"}' > mcpd.json
    run -1 --separate-stderr "$MCPD" --config mcpd.json
    [ "$(wc -l <<< "$stderr")" = 1 ]
    sed -i 's/"auto"/"many"/; s/, "tls-cert": "nowhere"//' mcpd.json
    run -1 --separate-stderr "$MCPD" --config mcpd.json --check-config
    [[ "$stderr" == *mcpd.json:1:*workers* ]]
    run -1 --separate-stderr "$MCPD" --http 127.0.0.1:0 --workers 3 --token-file nowhere project
    [ "$(wc -l <<< "$stderr")" = 1 ]
    (umask 077 && printf '%s\n' 'a key of more than forty-three characters, 1' > key)
    instance="--seal-key-file key --instance-address unix:$PWD/instance"
    for option in --stdio --http-sse "$instance"; do
        run -2 --separate-stderr "$MCPD" --http 127.0.0.1:0 --workers 3 $option project
        [[ "$stderr" == *"cannot be combined with --workers above 1"* ]]
    done
    run -2 --separate-stderr "$MCPD" --workers 2 project
    [[ "$stderr" == *"needs --http"* ]]
    for n in 0 65 many; do run -2 "$MCPD" --http 127.0.0.1:0 --workers $n project; done
}

@test "auto means one worker if there is one processor, with everything that needs one" {
    (umask 077 && printf '%s\n' 'a key of more than forty-three characters, 1' > key)
    cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
    printf '#!/bin/sh\nexec taskset -c %s "$PROGRAM" "$@"\n' "$cpu" > one-processor
    chmod +x one-processor
    export PROGRAM=$MCPD
    MCPD=./one-processor serve --http 127.0.0.1:0 --workers auto --http-sse --seal-key-file key \
        --instance-address "unix:$PWD/instance" project
    [ -z "$(children "$server")" ] # no supervisor
    [ -S instance ]
    finish
    export PROGRAM=$MCPD
    run -0 --separate-stderr ./one-processor --http 127.0.0.1:0 --workers auto --stdio project < /dev/null
}

@test "SIGTERM drains all workers; a second one ends them" {
    cat > mcpd.json <<'END'
{"sources": ["project"], "tools": [{"name": "nap", "concurrency": 100, "command": ["sh", "-c", "sleep 1; echo done"]},
    {"name": "sleep", "concurrency": 100, "command": ["sleep", "600"]}]}
END
    serve_workers 2 --config mcpd.json
    request tools/call '"name":"nap",' 'Mcp-Name: nap' > call
    drive 6 call
    sleep 0.5
    kill -TERM "$server"
    wait_for gone "$server"
    wait "$server"
    stop_driving
    [ "$(count answered)" -ge 6 ]
    [ "$(count failed) $(count cut)" = "0 0" ]
    serve_workers 2 --config mcpd.json
    request tools/call '"name":"sleep",' 'Mcp-Name: sleep' > call
    drive 2 call
    sleep 0.5
    kill -TERM "$server"
    sleep 0.2
    kill -TERM "$server"
    status=0
    wait "$server" || status=$?
    [ $status = 1 ]
    server=
    kill -KILL "$driver"
}

# The workers whose requests are in the log.
named_workers() { jq -r 'select(.method) | .worker' "$log" | sort -u | xargs; }

accepts() { # WORKER TIMES: calls a tool over one connection, and prints how many calls were accepted
    local urls=() i
    for ((i = 0; i < $2; i++)); do urls+=("http://localhost/mcp"); done
    curl -sS -m 60 --unix-socket "$PWD"/mcpd-*/"$1" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: tools/call' -H 'Mcp-Name: list_resources' \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"list_resources\",\"arguments\":{},$meta}}" \
        "${urls[@]}" | grep -o '"result"' | wc -l
}

@test "with --share-limits, the calls of a caller are counted at all workers together" {
    serve_workers 2 --resource-tools --calls-per-second 5 --share-limits project
    [ "$(accepts 1 30)" -ge 20 ]
    n=0
    while [ "$(accepts 2 1)" = 1 ]; do
        n=$((n + 1))
        sleep 0.1
    done
    [ "$n" -lt 20 ] # as many would be accepted by a worker that knows nothing of the other
    finish
    run -2 --separate-stderr "$MCPD" --http 127.0.0.1:0 --share-limits project
    [[ "$stderr" == *bus* ]]
}

@test "one log, one audit log, and a Unix socket" {
    local answered=0
    serve_workers 2 --http "unix:$PWD/sock" --log-format json --audit audit project
    for _ in {1..20}; do
        curl -sS -o /dev/null "http://127.0.0.1:$port/nowhere"
    done
    [ "$(curl -sS --unix-socket sock http://localhost/healthz)" = ok ]
    request resources/list '' > list
    local tries=0
    until [ "$(named_workers)" = "1 2" ]; do # which worker gets a connection is the kernel's choice
        [ $((tries += 1)) -le 200 ]
        drive 8 list 100
        wait_for eval '[ "$(jq -r "select(.method).method" audit | wc -l)" -gt $answered ]'
        stop_driving
        answered=$((answered + $(count answered)))
    done
    kill -KILL $(workers | cut -d' ' -f1)
    wait_for logged 'it is started again'
    [ "$(curl -sS --unix-socket sock http://localhost/healthz)" = ok ]
    finish
    [ ! -e sock ]
    [ "$(jq -r 'select(.path == "/nowhere") | .worker' "$log" | wc -l)" = 20 ]
    [ "$(named_workers)" = "1 2" ]
    [ "$(jq -r 'select(.method == "resources/list") | .method' audit | wc -l)" = "$answered" ]
}
