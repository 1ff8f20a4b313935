# mcpd as a service: a new binary without a lost request, sockets from the service manager, and what
# the service manager is told.

bats_require_minimum_version 1.5.0
load support/serving

setup() { serving_setup; }
teardown() { serving_teardown; }

listen_as_manager() { # runs mcpd with sockets as systemd passes them: ADDRESSES OPTION...
    exec python3 - "$MCPD" "$@" <<'END'
import os, socket, sys
mcpd, addresses, *options = sys.argv[1:]
fds = []
for at in addresses.split(","):
    if at.startswith("/"):
        s = socket.socket(socket.AF_UNIX); s.bind(at)
    else:
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", int(at)))
    s.listen(100)
    fds.append(os.dup(s.fileno()))
    if not at.startswith("/"):
        open("port", "w").write(str(s.getsockname()[1]))
base = 60
for i, fd in enumerate(fds): os.dup2(fd, base + i)
for i in range(len(fds)): os.dup2(base + i, 3 + i); os.close(base + i)
os.closerange(3 + len(fds), base)
os.environ.update(LISTEN_FDS=str(len(fds)), LISTEN_PID=str(os.getpid()))
open("activated", "w").write(str(os.getpid()))
options = [o.replace("PORT", open("port").read()) for o in options]
os.execv(mcpd, [mcpd, *options])
END
}

# A service manager: writes each datagram as one line to the file `notes`.
notes_begin() {
    python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("notify"); open("notes", "w").close()
while True:
    text = s.recv(4096).decode()
    open("notes", "a").write(" ".join(text.split("\n")) + "\n")' 3>&- &
    ours+=($!)
    wait_for test -f notes
}
noted() { [ "$(grep -c -- "$1" notes)" -ge "${2:-1}" ]; } # TEXT [TIMES]

for_each_size() { # TEST: with one process, and with three workers
    for size in 1 3; do
        workers=$size
        "$1"
    done
}

upgrade_under_load() {
    cat > mcpd.json <<'END'
{"sources": ["project"], "tools": [{"name": "nap", "concurrency": 100, "command": ["sh", "-c", "echo x >> ran; sleep 0.3; echo done"]}]}
END
    rm -f ran
    serve --http 127.0.0.1:0 --workers $workers --config mcpd.json
    # The same port for successors.
    finish
    serve --http 127.0.0.1:$port --workers $workers --config mcpd.json
    request resources/list '' > list
    request tools/call '"name":"nap",' 'Mcp-Name: nap' > call
    drive 8 call
    calls=$driver
    "$DRIVE" "$port" 8 list 2 > listed 2> list.log 3>&- &
    driver=$!
    for i in 1 2 3; do
        sleep 0.5
        old=$server
        kill -USR2 "$old"
        wait_for logged 'takes over' $i
        server=$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' "$log" | tail -1)
        echo "$server" >> pids
        wait_for gone "$old"
    done
    kill "$driver" "$calls"
    wait "$driver" "$calls" || :
    driver=
    cat listed driven list.log driver.log
    for file in listed driven; do
        run ! grep -q 'answered=0' $file
        grep -q 'failed=0 closed=0 cut=0 refused=0 extra=0' $file
    done
    [ "$(wc -l < ran)" = "$(count answered)" ] # no call ran twice
    kill -TERM "$server"
    wait_for gone "$server"
    server=
}

@test "a new process takes over under load: no request is lost" {
    for_each_size upgrade_under_load
}

# What clients keep for the server is sealed with a key that the new process gets.
continued() {
    touch project/{2..5}.txt
    echo '{"sources": ["project"], "access": [{"effect": "deny", "prompts": "none"}]}' > mcpd.json # so that cursors are sealed
    serve --http 127.0.0.1:0 --workers $workers --page-size 2 --config mcpd.json
    page() { # CURSOR
        curl -sS -m 30 "http://127.0.0.1:$port/mcp" -H 'Content-Type: application/json' \
            -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/list' \
            -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{${1:+\"cursor\":\"$1\",}$meta}}"
    }
    cursor=$(page '' | jq -er .result.nextCursor)
    old=$server
    kill -USR2 "$old"
    wait_for logged 'takes over'
    server=$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' "$log" | tail -1)
    echo "$server" >> pids
    wait_for gone "$old"
    page "$cursor" | jq -e '.result.resources | length == 2'
    # Another process does not have the key.
    kill -TERM "$server"
    wait_for gone "$server"
    serve --http 127.0.0.1:0 --workers $workers --page-size 2 --config mcpd.json
    page "$cursor" | jq -e .error.message
    finish
}

@test "a successor continues what clients keep for the server" {
    for_each_size continued
}

bad_successor() {
    cp "$MCPD" ./mcpd-copy
    echo '{"sources": ["project"]}' > mcpd.json
    MCPD=./mcpd-copy serve --http 127.0.0.1:0 --workers $workers --config mcpd.json
    rm -f mcpd-copy
    kill -USR2 "$server"
    wait_for logged 'did not start'
    [ "$(get /healthz)" = ok ]
    printf '#!/bin/sh\nexit 3\n' > mcpd-copy
    chmod +x mcpd-copy
    kill -USR2 "$server"
    wait_for logged 'did not start' 2
    [ "$(get /healthz)" = ok ]
    rm mcpd-copy
    cp "$MCPD" ./mcpd-copy
    echo '{"sources": ' > mcpd.json # an invalid configuration
    kill -USR2 "$server"
    wait_for logged 'did not start' 3
    [ "$(get /healthz)" = ok ]
    echo '{"sources": ["project"]}' > mcpd.json
    finish
    rm mcpd-copy
}

@test "a successor that does not start changes nothing" {
    for_each_size bad_successor
}

activated() {
    rm -f port activated sock
    listen_as_manager "0,$PWD/sock" --workers $workers --http 127.0.0.1:PORT --http "unix:$PWD/sock" project 2> "$log" 3>&- &
    server=$!
    wait_for test -s activated
    port=$(cat port)
    # A connection that is made before mcpd serves waits.
    [ "$(get /healthz)" = ok ]
    [ "$(curl -sS --unix-socket sock http://localhost/healthz)" = ok ]
    kill -USR2 "$server"
    wait_for logged 'takes over'
    wait_for gone "$server"
    server=$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' "$log")
    echo "$server" >> pids
    [ "$(curl -sS --unix-socket sock http://localhost/healthz)" = ok ]
    kill -TERM "$server"
    wait_for gone "$server"
    [ -e sock ] # it belongs to the service manager
    # A socket without its --http is an error, not a surprise.
    rm -f port activated sock
    listen_as_manager "0,$PWD/sock" --workers $workers --http 127.0.0.1:PORT project 2> "$log" 3>&- &
    server=$!
    status=0
    wait "$server" || status=$?
    [ $status = 1 ]
    logged 'no --http names'
}

@test "sockets of the service manager are used" {
    for_each_size activated
}

notified() {
    rm -f notify notes
    notes_begin
    echo '{"sources": ["project"]}' > mcpd.json
    NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=300000 serve --http 127.0.0.1:0 --workers $workers --config mcpd.json
    wait_for noted READY=1
    wait_for noted WATCHDOG=1 4
    kill -HUP "$server"
    wait_for noted 'RELOADING=1 MONOTONIC_USEC=[1-9]'
    wait_for noted READY=1 2
    # Children do not get the socket.
    for pid in $(children "$server"); do
        run ! grep -qz NOTIFY_SOCKET "/proc/$pid/environ"
    done
    kill -USR2 "$server"
    wait_for noted MAINPID=
    old=$server
    server=$(sed -n 's/^MAINPID=//p' notes)
    echo "$server" >> pids
    wait_for gone "$old"
    run ! grep -q STOPPING notes # the service goes on
    wait_for noted WATCHDOG=1 $(($(grep -c WATCHDOG=1 notes) + 2))
    kill -TERM "$server"
    wait_for gone "$server"
    server=
    grep -q STOPPING=1 notes
    kill "${ours[@]}"
    ours=()
}

@test "the service manager is told what happens" {
    for_each_size notified
}

@test "a worker that hangs is killed if the service has a watchdog" {
    NOTIFY_SOCKET=@nobody-$$ WATCHDOG_USEC=400000 serve --http 127.0.0.1:0 --workers 2 project
    wait_for eval '[ "$(get /metrics | sed -n "s/^mcp_workers //p")" = 2 ]'
    set -- $(children "$server")
    kill -STOP "$1"
    wait_for logged 'does not answer'
    kill -CONT "$1"
    wait_for logged 'was killed by signal 6'
    wait_for eval '[ "$(get /metrics | sed -n "s/^mcp_worker_starts_total //p")" = 3 ]'
    finish
}
