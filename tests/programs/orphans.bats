#!/usr/bin/env bats
# When a program is killed, all its descendants end.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    cd "$BATS_TEST_TMPDIR"
    mkdir tree
    cat > mcpd.json <<'END'
{"sources": ["tree"], "tools": [{"name": "sleep", "command": ["sh", "-c", "echo $$ > tool; exec sleep 600"]}]}
END
    # A host: starts a server, sends it lines, writes the server's pid to a file, and reads its
    # output until it is killed.
    cat > host <<'END'
coproc server { exec "$@"; }
echo "$server_PID" > server
while read -r line; do echo "$line" >&"${server[1]}"; done < lines
while read -r line <&"${server[0]}"; do echo "$line" >> heard; done
END
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' > lines
}

teardown() { # ends processes that should have ended by themselves
    local pid
    for pid in ${host:-} $(cat server tool 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || :; done
}

wait_for() { # COMMAND...
    for _ in {1..1200}; do
        "$@" && return 0
        sleep 0.05
    done
    echo "in vain: $*"
    return 1
}

# Succeeds if the process exists and is not a zombie.
alive() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    [[ ${stat##*) } != Z* ]]
}

gone() { ! alive "$1"; }

start_host() { # COMMAND...
    bash host "$@" >/dev/null 2>&1 3>&- &
    host=$!
    wait_for test -s heard
    wait_for test -s server
}

kill_host() {
    kill -KILL "$host"
    wait "$host" || :
}

@test "the host is killed: mcpd ends, over HTTP too" {
    local options
    for options in "tree" "--http 127.0.0.1:0 --stdio tree"; do
        rm -f heard server
        # shellcheck disable=SC2086
        start_host "$MCPD" $options
        alive "$(cat server)"
        kill_host
        wait_for gone "$(cat server)"
    done
}

@test "the host is killed: the process of a tool ends with mcpd" {
    echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sleep"}}' >> lines
    start_host "$MCPD" --config mcpd.json
    wait_for test -s tool
    kill_host
    wait_for gone "$(cat server)"
    wait_for gone "$(cat tool)"
}

told_of_a_change() {
    echo again >> tree/file
    [ -s watched ]
}

@test "mcpctl is killed: the server that it started ends" {
    echo text > tree/file
    cat > launcher <<END
echo \$\$ > server
exec "$MCPD" tree
END
    "$MCPCTL" watch "file://$PWD/tree/file" -- sh launcher > watched 2>&1 3>&- &
    host=$!
    wait_for test -s server
    wait_for told_of_a_change
    kill_host
    wait_for gone "$(cat server)"
}
