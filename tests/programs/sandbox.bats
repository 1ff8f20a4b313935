#!/usr/bin/env bats
# mcp: sources with "sandbox": what a program of others can do in it.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    load support/talk.bash
    toolbox=$BATS_TEST_DIRNAME/support/toolbox
    cd "$BATS_TEST_TMPDIR"
    export HOME=$PWD/home NO_COLOR=1 XDG_STATE_HOME=
    mkdir home allowed writable bin
    echo secret >home/key
    echo data >allowed/data
    echo '[]' >allowed/tools.json
    cp "$toolbox" bin/toolbox
    "$MCPD" --doctor --json . 2>/dev/null | jq -e '[.findings[]? | select(.about == "sandbox" and .status != "ok")] | length == 0' >/dev/null ||
        skip "a part of the sandbox is missing here"
}

teardown() {
    [ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
}

# Writes mcpd.json: a server that runs SCRIPT before it serves, with further options.
configure() { # SCRIPT [OPTIONS]
    jq -n --arg script "$1" --arg toolbox "$PWD/bin/toolbox" --argjson more "${2:-{\}}" '{sources: [{module: "mcp", source: "/bin/bash", name: "up",
        options: ({args: ["-c", ("exec 3>&2 2>writable/log\n" + $script + "\nexec 2>&3 \"$0\" allowed/tools.json"), $toolbox], sandbox: true,
            sandbox_read: ["bin", "allowed"], sandbox_write: ["writable"]} + $more)}]}' >mcpd.json
}

@test "a program in the sandbox works, and reads only what it may" {
    configure 'cat home/key >&2; cat allowed/data >&2; cat /etc/shadow >&2; cat /proc/1/environ >&2; ls home >&2; echo x >allowed/new; echo x >home/new; true'
    talk legacy "$MCPD" --config mcpd.json
    result tools/list '{}'
    is '[]' .tools
    hush
    cat writable/log
    grep -q data writable/log
    ! grep -q secret writable/log || false
    [ "$(grep -c 'Permission denied' writable/log)" -ge 5 ]
    [ ! -e allowed/new ] && [ ! -e home/new ]
}

@test "it writes only where it may" {
    configure 'echo x >writable/new; echo x >allowed/new; true'
    talk legacy "$MCPD" --config mcpd.json
    result tools/list '{}'
    hush
    [ "$(cat writable/new)" = x ]
    [ ! -e allowed/new ]
}

# Prints what a socket of each kind gives.
sockets='import socket, sys
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_PACKET):
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        sys.stderr.write("family %d opened\n" % family)
    except OSError as e:
        sys.stderr.write("family %d refused\n" % family)
a, b = socket.socketpair()
sys.stderr.write("pair opened\n")
'

@test "it has no network, or no other sockets than those of the network" {
    [ -x /usr/bin/python3 ] || skip "there is no python3"
    echo "$sockets" >allowed/sockets.py
    configure '/usr/bin/python3 allowed/sockets.py; true'
    talk legacy "$MCPD" --config mcpd.json
    result tools/list '{}'
    hush
    cat writable/log
    [ "$(grep -c refused writable/log)" = 4 ]
    grep -q 'pair opened' writable/log
    configure '/usr/bin/python3 allowed/sockets.py; true' '{"sandbox_network": true}'
    talk legacy "$MCPD" --config mcpd.json
    result tools/list '{}'
    hush
    grep -q 'family 2 opened' writable/log
    grep -q 'family 10 opened' writable/log
    grep -q 'family 1 refused' writable/log
    grep -q 'family 17 refused' writable/log
}

@test "it cannot leave: namespaces, tracing, other processes, privileges" {
    sleep 100 3>&- &
    local other=$!
    configure "unshare -r true && echo 'left' >&2
        kill $other && echo 'left' >&2
        cat /proc/$other/environ && echo 'left' >&2
        mount -t tmpfs none allowed && echo 'left' >&2
        while read -r line; do [[ \$line != NoNewPrivs* ]] || echo \"\$line\" >&2; done </proc/self/status
        true"
    talk legacy "$MCPD" --config mcpd.json
    result tools/list '{}'
    hush
    cat writable/log
    kill "$other" # it still runs
    grep -q 'NoNewPrivs:.*1' writable/log
    ! grep -q left writable/log
}

@test "it changes modes and times where it may write, and nowhere else" {
    echo x >writable/file
    chmod 600 writable/file allowed/data
    configure 'chmod 640 writable/file; touch -t 202001010000 writable/file; cp -p writable/file writable/copy
        chmod 644 allowed/data && echo left >&2; touch -t 202001010000 allowed/data && echo left >&2; true'
    talk legacy "$MCPD" --config mcpd.json
    result tools/list '{}'
    hush
    cat writable/log
    [ "$(stat -c %a writable/file) $(stat -c %a writable/copy)" = '640 640' ]
    [ "$(stat -c %Y writable/copy)" = "$(stat -c %Y writable/file)" ]
    [ "$(date -r writable/file +%Y)" = 2020 ]
    [ "$(stat -c %a allowed/data)" = 600 ]
    run ! grep -q left writable/log
    # Its status is that of the program, and both end together.
    run -3 "$MCPD" --run-confined --write "$PWD/writable" -- /bin/sh -c 'exit 3'
    run -143 "$MCPD" --run-confined --write "$PWD/writable" -- /bin/sh -c 'kill $$'
}

@test "it works with git" {
    command -v git >/dev/null || skip "there is no git"
    run -0 "$MCPD" --run-confined --write "$PWD/writable" -- /usr/bin/env HOME="$PWD/writable" /bin/sh -c '
        git init -q writable/r && cd writable/r && git config user.name x && git config user.email x@example.com &&
            echo x >x && chmod 755 x && git add x && git commit -qm x && git gc -q && git ls-files -s'
    [[ $output == 100755* ]]
}

@test "a part that is missing" {
    # In the sandbox there is no Landlock.
    # (The sanitizer finds no leaks there either.)
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
        run -126 "$MCPD" --run-confined --read "$(dirname "$MCPD")" -- "$MCPD" --run-confined -- /bin/true
    [[ $output == *"the sandbox of /bin/true: the kernel or the container lacks what is required: files, truncation, signals"* ]]
}

@test "errors of the options" {
    run -1 "$MCPD" 'mcp:true?sandbox_network=true' </dev/null
    [[ $output == *'need "sandbox": true'* ]]
    run -1 "$MCPD" 'mcp:http://127.0.0.1:1/mcp?sandbox=true' </dev/null
    [[ $output == *"sandbox is for programs, not for URLs"* ]]
    run -2 "$MCPD" --run-confined x
    run -2 "$MCPD" --run-confined --
    cp bin/toolbox home/program
    # A program that lies in the home folder does not make that readable.
    jq -n --arg home "$HOME" '{sources: [{module: "mcp", source: "\($home)/program", name: "up", options: {args: ["key"], sandbox: true, cwd: "allowed", sandbox_read: ["allowed"]}}]}' >mcpd.json
    talk legacy "$MCPD" --config mcpd.json
    hush
    run "$MCPD" --run-confined -- /bin/cat "$HOME/key"
    [ "$status" != 0 ]
    [[ $output == *"Permission denied"* ]]
    cp /bin/cat home/cat
    run "$MCPD" --run-confined -- home/cat "$HOME/key"
    [ "$status" != 0 ]
    run -0 "$MCPD" --run-confined --read "$PWD/home" -- home/cat "$HOME/key"
    [ "$output" = secret ]
}
