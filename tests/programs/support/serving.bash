# For tests of mcpd as a service: starts it, puts load on it with drive, waits for things to happen.

serving_setup() {
    : "${MCPD:=mcpd}" "${DRIVE:=drive}"
    cd "$BATS_TEST_TMPDIR"
    export TMPDIR=$PWD # of the folders of supervisors, which stay if everything is killed
    mkdir project
    printf 'hello\n' > project/hello.txt
    log=$BATS_TEST_TMPDIR/log
    meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    server= driver=
    ours=() # processes to end
}

serving_teardown() {
    local pid
    for pid in $server $driver "${ours[@]}" $(cat pids 2>/dev/null); do
        kill -KILL "$pid" 2>/dev/null || :
    done
}

wait_for() { # COMMAND...
    for _ in {1..2400}; do
        "$@" && return 0
        sleep 0.05
    done
    echo "in vain: $*"
    cat "$log"
    return 1
}

logged() { [ "$(grep -c -- "$1" "$log")" -ge "${2:-1}" ]; } # TEXT [TIMES]

# Succeeds if the process exists and is not a zombie.
alive() { [ -r "/proc/$1/stat" ] && [[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) != [ZX]* ]]; }
gone() { ! alive "$1"; }
children() { cat "/proc/$1/task/$1/children"; }

serve() { # OPTION...: sets $server and $port
    : > "$log"
    "$MCPD" --heartbeat 3600 "$@" 2>> "$log" 3>&- & # no answer becomes a stream
    server=$!
    wait_for eval "logged ' at http' || gone $server"
    port=$(sed -n 's|.* at http://.*:\([0-9]*\)/mcp"*}*$|\1|p' "$log" | head -1)
    [ -n "$port" ] || { cat "$log"; return 1; }
}

finish() { # sends SIGTERM and returns the exit status
    local status=0
    kill -TERM "$server"
    wait "$server" || status=$?
    server=
    return $status
}

# request METHOD PARAMS [HEADER]: the bytes of a request; PARAMS are members with a comma at the end
request() {
    local body="{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":{$2$meta}}"
    printf '%s\r\n' 'POST /mcp HTTP/1.1' 'Host: localhost' 'Content-Type: application/json' \
        'Accept: application/json, text/event-stream' 'MCP-Protocol-Version: 2026-07-28' \
        "Mcp-Method: $1" ${3:+"$3"} "Content-Length: ${#body}" ''
    printf '%s' "$body"
}

drive() { # CONNECTIONS FILE [PAUSE_MS]: begins
    "$DRIVE" "$port" "$@" > driven 2> driver.log 3>&- &
    driver=$!
}

count() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" driven; } # NAME

stop_driving() {
    kill -TERM "$driver"
    wait "$driver"
    driver=
    cat driven driver.log
    [ "$(count answered)" -gt 0 ]
    [ "$(count sent)" = $(($(count answered) + $(count failed) + $(count closed) + $(count cut))) ]
    [ "$(count extra)" = 0 ]
}

# Nothing was lost: every request got its answer, and no connection was refused.
nothing_lost() { [ "$(count failed) $(count closed) $(count cut) $(count refused)" = "0 0 0 0" ]; }

get() { curl -sS -m 10 "http://127.0.0.1:$port$1"; } # PATH
