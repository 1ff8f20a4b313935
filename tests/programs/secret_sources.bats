# Secrets that a configuration only refers to: files, credentials of the service manager, variables.

bats_require_minimum_version 1.5.0
load support/serving

setup() {
    serving_setup
    umask 077
    mkdir credentials
    export CREDENTIALS_DIRECTORY=$PWD/credentials
}
teardown() {
    [ -z "${upstream:-}" ] || kill -KILL "$upstream" 2>/dev/null || true
    serving_teardown
}

rpc() { # TOKEN METHOD PARAMS [NAME]: PARAMS are members with a comma at the end
    curl -sS -m 30 "http://127.0.0.1:$port/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H "Authorization: Bearer $1" -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $2" ${4:+-H "Mcp-Name: $4"} \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$2\",\"params\":{$3$meta}}" -w '\n%{http_code}'
}
status() { rpc "$1" tools/list '' | tail -n 1; } # TOKEN
is_served() { [ "$(status "$1")" = 200 ]; }
is_refused() { [ "$(status "$1")" = 401 ]; }
variables() { rpc "$1" tools/call '"name":"variables","arguments":{},' variables | head -n 1 | jq -r '.result.content[0].text'; } # TOKEN

# A server that writes the headers it gets to the file "headers", and answers nothing.
start_upstream() {
    cat >upstream.py <<'END2'
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open("headers", "a") as f:
            f.write(str(self.headers))
        self.send_error(500)
    do_GET = do_POST

    def log_message(self, *args):
        pass

s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(s.server_port, flush=True)
s.serve_forever()
END2
    python3 -u upstream.py >upstream.port 3>&- &
    upstream=$!
    wait_for test -s upstream.port
}

# Every kind of setting, with MARKER in each secret.
configure() {
    start_upstream
    printf 'MARKER-file\n' >token
    printf 'MARKER-credential\n' >credentials/tool
    printf '%s\n' "$(openssl rand -base64 32)" >seal.key
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem 2>/dev/null
    printf 'http://u:MARKER@127.0.0.1:%s/address' "$(cat upstream.port)" >address
    export MARKER_TOKEN=MARKER-variable MARKER_HEADER=MARKER-header MARKER_KEY
    MARKER_KEY=$(cat seal.key)
    cat >mcpd.json <<END2
{"sources": ["project",
   {"module": "mcp", "source": "http://127.0.0.1:$(cat upstream.port)/mcp", "name": "remote", "options": {"headers": [
     {"name": "Authorization", "prefix": "Bearer ", "env": "MARKER_HEADER"}, {"name": "X-Key", "file": "token"}]}},
   {"module": "mcp", "source": {"file": "address"}, "name": "address"},
   {"module": "mcp", "source": "/bin/sh -c 'env >>started'", "name": "program", "options": {"cwd": ".", "env_add": [{"name": "A_KEY", "credential": "tool"}]}}],
 "tokens": {"file": {"file": "token"}, "variable": {"env": "MARKER_TOKEN"}},
 "seal-key-file": {"env": "MARKER_KEY"}, "name": "n", "http": "127.0.0.1:0", "log-level": "debug", "audit": "audit",
 "tools": [{"name": "variables", "description": "d", "command": ["env"], "environment": ["PATH", "MARKER_TOKEN", "MARKER_HEADER"],
            "set-environment": {"FROM_CREDENTIAL": {"credential": "tool"}}}]}
END2
}

hidden() { # TEXT: no secret is in it
    [[ $1 != *MARKER-* && $1 != *MARKER@* && $1 != *"$(cat seal.key)"* ]] || { printf 'a secret: %s\n' "$1"; return 1; }
}

@test "a secret comes from a file, a credential or a variable, wherever one may stand" {
    configure
    serve --config mcpd.json
    is_served MARKER-file
    is_served MARKER-variable
    is_refused MARKER
    [[ "$(variables MARKER-file)" == *FROM_CREDENTIAL=MARKER-credential* ]]
    wait_for grep -qs '^Authorization: Bearer MARKER-header' headers
    grep -q '^X-Key: MARKER-file' headers
    wait_for grep -qs '^A_KEY=MARKER-credential' started
    kill -HUP "$server"
    wait_for logged 'the configuration was reloaded'
    is_served MARKER-variable
    echo MARKER-new >token
    kill -HUP "$server"
    wait_for is_served MARKER-new
    has_new() { rpc MARKER-new tools/list '' >/dev/null; grep -q '^X-Key: MARKER-new' headers; }
    wait_for has_new
    finish
}

@test "a variable is read once: no child gets it, and the process does not show it" {
    configure
    serve --config mcpd.json
    [[ "$(variables MARKER-file)" != *MARKER_* ]]
    rpc MARKER-file tools/list '' >/dev/null
    wait_for test -s started
    run ! grep -q 'MARKER_' started
    run ! grep -aq 'MARKER-' "/proc/$server/environ"
    finish
}

@test "workers, and the process that takes over, have the variables" {
    configure
    serve --config mcpd.json --workers 2
    wait_for eval '[ "$(children $server | wc -w)" = 2 ]'
    for i in 1 2 3 4 5 6 7 8; do
        is_served MARKER-variable
    done
    for pid in $server $(children $server); do
        run ! grep -aq 'MARKER-' "/proc/$pid/environ"
    done
    kill -HUP "$server"
    wait_for logged 'the configuration was reloaded' 2
    is_served MARKER-variable
    finish
    : >"$log"
    sed -i 's/"http": "127.0.0.1:0"/"http": "127.0.0.1:0", "no-watch": true/' mcpd.json
    serve --config mcpd.json
    kill -USR2 "$server"
    wait_for logged 'takes over'
    taken=$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' "$log")
    ours+=("$taken")
    wait "$server"
    server=
    is_served MARKER-variable
    run ! grep -aq 'MARKER-' "/proc/$taken/environ"
}

@test "no value is printed or logged; references are printed with the paths of their files" {
    configure
    run -0 --separate-stderr "$MCPD" --config mcpd.json --print-config mcpd
    hidden "$output$stderr"
    [ "$(jq -c '[.tokens.file.file, .tokens.variable, ."seal-key-file", .sources[1].options.headers[0], .sources[2].source]' <<<"$output")" = \
        "[\"$PWD/token\",{\"env\":\"MARKER_TOKEN\"},{\"env\":\"MARKER_KEY\"},{\"name\":\"Authorization\",\"prefix\":\"Bearer \",\"env\":\"MARKER_HEADER\"},{\"file\":\"$PWD/address\"}]" ]
    printf '%s\n' "$output" >printed.json
    run -0 --separate-stderr "$MCPD" --config printed.json --check-config
    for what in --check-config --doctor "--doctor --json" "--print-config claude"; do
        run --separate-stderr timeout 100 "$MCPD" --config mcpd.json $what
        hidden "$output$stderr"
    done
    serve --config mcpd.json
    answers=$(for method in server/discover tools/list resources/list; do rpc MARKER-file $method ''; done)
    wait_for grep -qs X-Key headers
    kill -HUP "$server"
    wait_for logged 'the configuration was reloaded'
    hidden "$answers$(get /metrics)$(cat "$log" audit)"
    finish
}

@test "a reload reads files again through the links of Kubernetes, and an empty one is refused" {
    mkdir -p mount/one mount/two mount/three
    echo token-1 >mount/one/token
    echo token-2 >mount/two/token
    : >mount/three/token
    ln -s one mount/..data
    ln -s ..data/token mount/token
    echo '{"sources": ["project"], "tokens": {"a": {"file": "mount/token"}}, "http": "127.0.0.1:0"}' >mcpd.json
    serve --config mcpd.json
    is_served token-1
    ln -s two mount/..new
    mv -T mount/..new mount/..data
    kill -HUP "$server"
    wait_for is_served token-2
    is_refused token-1
    ln -s three mount/..new
    mv -T mount/..new mount/..data
    kill -HUP "$server"
    wait_for logged "mcpd.json:1:42: tokens/a: $PWD/mount/token: it is empty"
    is_served token-2
    finish
}

@test "the mode of the file that a link leads to counts" {
    echo '{"sources": ["project"], "tokens": {"a": {"file": "link"}}, "http": "127.0.0.1:0"}' >mcpd.json
    echo token-1 >token
    ln -s token link # its own mode is 777
    for mode in 600 400 640 660 644 602 606 666; do
        chmod $mode token
        case $mode in
        60[26] | 666) want='1 changes' ;;
        644) want='0 reads' ;;
        *) want='0 ' ;;
        esac
        run --separate-stderr "$MCPD" --config mcpd.json --check-config
        got="$status "
        [[ $stderr != *"mcpd.json:1:"*": tokens/a: $PWD/link: other users can change it"* ]] || got+=changes
        [[ $stderr != *"warning: other users can read $PWD/link"* ]] || got+=reads
        [ "$got" = "$want" ] || { echo "$mode: $got: $stderr"; return 1; }
    done
}

@test "the same holds for the files of token-file, seal-key-file, tls-key and client-secret-file" {
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem 2>/dev/null
    openssl rand -base64 32 >seal.key
    echo token-1 >tokens
    echo secret >client
    cat >mcpd.json <<'END'
{"sources": ["project"], "token-file": "tokens", "seal-key-file": "seal.key", "tls-cert": "cert.pem", "tls-key": "key.pem", "name": "n",
 "http": "127.0.0.1:0", "allow-host": "r.example", "oauth": {"resource": "https://r.example/mcp", "issuers": [{"issuer": "http://127.0.0.1:1",
 "audiences": ["a"], "allow-private": true, "introspection": {"url": "http://127.0.0.1:1/", "client-id": "c", "client-secret-file": "client"}}]}}
END
    run -0 --separate-stderr "$MCPD" --config mcpd.json --check-config
    [ -z "$stderr" ]
    for file in tokens seal.key key.pem client; do
        chmod 644 $file
        run -0 --separate-stderr "$MCPD" --config mcpd.json --check-config
        [ "$(grep -c "warning: other users can read $PWD/$file" <<<"$stderr")" = 1 ] || { echo "$file: $stderr"; return 1; }
        chmod 602 $file
        run -1 --separate-stderr "$MCPD" --config mcpd.json --check-config
        [[ $stderr == *"mcpd.json:"*": $PWD/$file: other users can change it"* ]] || { echo "$file: $stderr"; return 1; }
        chmod 600 $file
    done
}

@test "a reference that leads to no secret is an error at its place, which names the setting" {
    wrong() { # TEXT FILTER
        jq "$2" <<<'{"sources": ["project"], "tokens": {"a": "token-1"}, "http": "127.0.0.1:0"}' >mcpd.json
        run -1 --separate-stderr "$MCPD" --config mcpd.json --check-config
        [[ $stderr =~ mcpd.json:[0-9]+:[0-9]+:\ .*"$1" ]] || { echo "$2: $stderr"; return 1; }
    }
    : >empty
    printf '\n\n' >lines
    printf 'a\0b' >nul
    printf '\377' >latin
    printf 'a\nb\n' >two
    export EMPTY='' FULL=full
    wrong "tokens/a: $PWD/none: No such file" '.tokens.a = {"file": "none"}'
    wrong "tokens/a: $PWD/empty: it is empty" '.tokens.a = {"file": "empty"}'
    wrong "tokens/a: $PWD/lines: it is empty" '.tokens.a = {"file": "lines"}'
    wrong "tokens/a: $PWD/nul: it contains a NUL" '.tokens.a = {"file": "nul"}'
    wrong "tokens/a: the secret is not UTF-8" '.tokens.a = {"file": "latin"}'
    wrong "tokens/a: the variable NONE is not set" '.tokens.a = {"env": "NONE"}'
    wrong "tokens/a: the variable EMPTY is empty" '.tokens.a = {"env": "EMPTY"}'
    wrong "seal-key-file: the variable EMPTY is empty" '."seal-key-file" = {"env": "EMPTY"}'
    wrong "tokens/a: $CREDENTIALS_DIRECTORY/none: No such file" '.tokens.a = {"credential": "none"}'
    wrong 'tokens/a' '.tokens.a = {"credential": "../x"}'
    wrong 'tokens/a' '.tokens.a = {"file": "two", "env": "FULL"}'
    wrong 'tokens/a' '.tokens.a = {}'
    wrong 'unknown key "fil"' '.tokens.a = {"fil": "two"}'
    local source='.sources[1] = {"module": "mcp", "source": "http://127.0.0.1:1/", "options": {"headers": [$h]}}'
    wrong 'sources/1/options/headers/0: a secret is {"name": NAME, "file": PATH}' "{\"env\": \"FULL\"} as \$h | $source"
    wrong 'sources/1/options/headers/0: a secret is' "{\"name\": \"A: b\", \"env\": \"FULL\"} as \$h | $source"
    wrong 'sources/1/options/headers/0: a secret is' "{\"name\": \"A\", \"env\": \"FULL\", \"more\": 1} as \$h | $source"
    wrong 'sources/1/options/headers/0: the value of a header cannot have' "{\"name\": \"A\", \"file\": \"two\"} as \$h | $source"
    unset CREDENTIALS_DIRECTORY
    wrong 'tokens/a: there is no folder $CREDENTIALS_DIRECTORY' '.tokens.a = {"credential": "none"}'
}
