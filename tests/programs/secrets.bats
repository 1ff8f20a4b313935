# Secrets in a configuration: every setting is known as one or as none, and a secret is shown nowhere.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo hello >docs/a.md
    server=
}

teardown() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
}

# A new setting needs a row in support/settings and, if it is a secret, in programs/mcpd/secrets.c and below.
@test "every setting of the file and of each module is known as a secret or as none" {
    for module in git postgres sqlite; do
        [ -f "$MCP_BUILD_DIR/programs/lib/mcp/$module.so" ] || skip "built without $module"
    done
    known=$BATS_TEST_DIRNAME/support/settings
    diff <({
        "$MCPD" --help-schema | jq -r -f "$BATS_TEST_DIRNAME/support/settings.jq"
        "$MCPD" --list-modules | grep -oE '^    [a-z_]+' | sed 's|^ *|/sources/*/options/|'
    } | sort -u) <(sed 's/^[a-z]* *//' "$known" | sort)
    [ "$(sed -n 's/^secret //p' "$known" | tr '\n' ' ')" = "/sources /sources/*/options/env /sources/*/options/env_add \
/sources/*/options/headers /sources/*/source /tokens/* /tools/*/set-environment/* " ]
}

full() { # a configuration with MARKER in each of them
    cat <<'END'
{"sources": ["docs", "mcp:http://u:MARKER@127.0.0.1:1/mcp?name=string",
   {"module": "mcp", "source": "http://u:MARKER@127.0.0.1:1/mcp", "name": "remote",
    "options": {"headers": ["X-Api-Key: MARKER", "Authorization:MARKER"]}},
   {"module": "mcp", "source": "/bin/false", "name": "program",
    "options": {"env": ["A_KEY=MARKER", "PATH=/bin"], "env_add": ["B_KEY=MARKER"]}}],
 "tokens": {"alice": "MARKER"}, "http": "127.0.0.1:0", "page": true, "audit": "audit", "log-level": "debug",
 "tools": [{"name": "t", "description": "d", "command": ["true"], "set-environment": {"C_KEY": "MARKER"}}]}
END
}

hidden() { # TEXT: the marker is not in it
    [[ $1 != *MARKER* ]] || { printf 'a secret: %s\n' "$1"; return 1; }
}

@test "no secret is printed" {
    full >c.json
    chmod 600 c.json
    run -0 --separate-stderr "$MCPD" --config c.json --print-config mcpd
    hidden "$output$stderr"
    [ "$(jq -c '[.tokens, .tools[0]."set-environment"]' <<<"$output")" = '[{"alice":"***"},{"C_KEY":"***"}]' ]
    [ "$(jq -c '[.sources[] | .options? // empty | to_entries[] | .value[]]' <<<"$output")" = \
        '["X-Api-Key: ***","Authorization: ***","A_KEY=***","PATH=***","B_KEY=***"]' ]
    for what in "--print-config claude" "--print-config vscode" "--print-config codex" --check-config --doctor "--doctor --json"; do
        run --separate-stderr timeout 100 "$MCPD" --config c.json $what
        hidden "$output$stderr"
    done
}

ask() { # PATH ARGUMENT...
    curl -sS -m 30 "http://127.0.0.1:$port/$1" "${@:2}"
}

list() { # METHOD
    ask mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'Authorization: Bearer MARKER' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $1" -d '{"jsonrpc":"2.0","id":1,"method":"'"$1"'","params":{
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
}

@test "no secret is logged, or told to a caller" {
    full >c.json
    chmod 600 c.json
    for format in text json; do
        "$MCPD" --config c.json --log-format $format 2>log & server=$!
        until port=$(sed -nE 's|.*http://127\.0\.0\.1:([0-9]+)/mcp.*|\1|p' log | grep -vx 1 | head -n 1) && [ -n "$port" ]; do
            kill -0 "$server"
            sleep 0.05
        done
        answers=$(for method in server/discover tools/list resources/list prompts/list; do list $method; done)
        [[ $answers == *a.md* ]]
        for path in '' metrics healthz nowhere; do
            answers+=$(ask "$path" -H 'Authorization: Bearer MARKER')
        done
        ask mcp -H 'Authorization: Bearer MARKER2' -d '{}' >/dev/null
        kill -HUP "$server"
        sleep 0.3
        kill "$server"
        wait "$server" || true
        server=
        [[ -s log && -s audit ]]
        hidden "$answers$(cat log audit)"
    done
}

@test "an error about a setting does not repeat the secret in it" {
    for what in '.tokens.alice = "MARKER with spaces"' '.tools[0]."set-environment".C_KEY = ["MARKER"]' \
        '.tools[0]."set-environment" = {"=": "MARKER"}' '.sources[2].options.headers = ["MARKER"]' \
        '.sources[2].options.headers = ["Bad Name: MARKER"]' '.sources[2].options.headers = ["Content-Length: MARKER"]' \
        '.sources[2].options.headers = "MARKER"' '.sources[3].options.env = ["MARKER"]' \
        '.sources[3].options.env_add = ["MARKER"]' '.sources[3].options.env_add = {"A": "MARKER"}' \
        '.sources[2].source = "http://u:MARKER@/mcp"' '.sources[2].source = "ftp://u:MARKER@host/mcp"'; do
        full | jq "$what" >c.json
        chmod 600 c.json
        run --separate-stderr timeout 60 "$MCPD" --config c.json --check-config
        hidden "$output$stderr" || { echo "after $what"; return 1; }
    done
}

@test "a file with secrets that others may read is complained about, one without is not" {
    echo '{"sources": ["docs"], "tools": [{"name": "t", "description": "d", "command": ["true"], "set-environment": {}}]}' >c.json
    chmod 644 c.json
    run -0 --separate-stderr "$MCPD" --config c.json --check-config
    [ -z "$stderr" ]
    for what in '.tokens.alice = "k"' '.tools[0]."set-environment".C_KEY = "k"' \
        '.sources[1] = {"module": "mcp", "source": "/bin/true", "options": {"env": ["A=k"]}}' \
        '.sources[1] = {"module": "mcp", "source": "/bin/true", "options": {"env_add": ["A=k"]}}' \
        '.sources[1] = {"module": "mcp", "source": "http://127.0.0.1:1/", "options": {"headers": ["A: k"]}}' \
        '.sources[1] = {"module": "mcp", "source": "http://u:k@127.0.0.1:1/"}' '.sources[1] = "mcp:http://u:k@127.0.0.1:1/"'; do
        jq "$what" c.json >d.json
        for mode in 644 640 604 660; do
            chmod $mode d.json
            run --separate-stderr "$MCPD" --config d.json --check-config
            [[ $stderr == *"warning: other users can read d.json: chmod 600 it"* ]] || { echo "$what: $stderr"; return 1; }
        done
        chmod 600 d.json
        run --separate-stderr "$MCPD" --config d.json --check-config
        [[ $stderr != *"other users"* ]]
    done
    chmod 644 d.json
    run --separate-stderr timeout 60 "$MCPD" --config d.json --doctor
    [[ $output == *"warning configuration: d.json: other users can read it: chmod 600 it"* ]]
}

@test "a file of root's that the group of the service may read is accepted" {
    [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs root"
    local as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
    "${as[@]}" test -x "$MCPD" -a -r . || skip "another user cannot run $MCPD"
    echo '{"sources": ["docs"], "tokens": {"alice": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}}' >c.json
    chmod -R a+rX docs
    chgrp 65534 c.json
    chmod 640 c.json
    run -0 --separate-stderr "${as[@]}" "$MCPD" --config c.json --check-config
    [ -z "$stderr" ] || { echo "$stderr"; return 1; }
    chmod 644 c.json
    run -0 --separate-stderr "${as[@]}" "$MCPD" --config c.json --check-config
    [[ $stderr == *"warning: other users can read c.json: chmod 600 it"* ]]
    chown 65534 c.json
    chmod 640 c.json # its group is not given by an administrator
    run -0 --separate-stderr "${as[@]}" "$MCPD" --config c.json --check-config
    [[ $stderr == *"warning: other users can read c.json: chmod 600 it"* ]]
}
