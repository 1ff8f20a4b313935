# The audit log (--audit): one line for each request over stdio and HTTP, refused logins, reopening, a full disk.

bats_require_minimum_version 1.5.0
load support/eventually

setup() {
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo hello > docs/a.md
    echo secret > docs/b.md
    here=file://$PWD/docs
}

teardown() {
    [ -z "$server" ] || { kill "$server" 2> /dev/null && wait "$server" || true; }
}

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
request() { # request METHOD PARAMS, with a comma at their end
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s%s}}\n' $((++id)) "$1" "$2" "$meta"
}

# fields: the lines of the log without times and sizes
fields() { jq -c 'del(.time, .duration_us, .bytes)' audit; }
# same: compares lines in any order, because requests may end in any order
same() { is "$(sort <<< "$1")" "$(sort <<< "$2")"; }
is() { [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }; }

lines() { [ -e audit ] && [ "$(wc -l < audit)" -ge "$1" ]; }

# Starts a server whose standard input is descriptor 7 and whose output is the file `out`.
start() {
    mkfifo in
    "$MCPD" "$@" < in > out 2> log 3>&- 7>&- &
    server=$!
    exec 7> in
}

@test "over stdio: reads, tool errors, what a resource tool reads, and nothing about a handshake" {
    {
        request ping ''
        request server/discover ''
        request resources/read "\"uri\":\"$here/a.md\","
        request resources/read "\"uri\":\"$here/no.md\","
        request resources/list ''
        request tools/call "\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"},"
        request tools/call "\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/no.md\"},"
        request tools/call '"name":"none",'
    } | "$MCPD" --audit audit --resource-tools docs > /dev/null
    local who='{"principal":"stdio","method"'
    same "$(fields)" "$who:\"resources/read\",\"name\":\"$here/a.md\",\"source\":\"file:\",\"outcome\":\"ok\"}
$who:\"resources/read\",\"name\":\"$here/no.md\",\"source\":\"file:\",\"outcome\":\"not found\",\"code\":-32602}
$who:\"resources/list\",\"outcome\":\"ok\"}
$who:\"resources/list\",\"outcome\":\"ok\",\"inner\":true}
$who:\"resources/read\",\"name\":\"$here/a.md\",\"source\":\"file:\",\"outcome\":\"ok\",\"inner\":true}
$who:\"tools/call\",\"name\":\"read_resource\",\"outcome\":\"ok\"}
$who:\"resources/read\",\"name\":\"$here/no.md\",\"source\":\"file:\",\"outcome\":\"not found\",\"code\":-32602,\"inner\":true}
$who:\"resources/read\",\"name\":\"$here\",\"source\":\"file:\",\"outcome\":\"ok\",\"inner\":true}
$who:\"tools/call\",\"name\":\"read_resource\",\"outcome\":\"tool error\"}
$who:\"tools/call\",\"name\":\"none\",\"outcome\":\"error\",\"code\":-32602}"
    [ "$(stat -c %a audit)" = 600 ]
    jq -es 'all(.time | test("^20[0-9-]*T[0-9:.]*Z$")) and all(.duration_us >= 0 and .bytes > 50)' audit > /dev/null
}

@test "what clients write stays one line of ASCII, of bounded length" {
    long=$(head -c 20000 /dev/zero | tr '\0' x)
    {
        request tools/call '"name":"a\n{\"b\"}\u001b[2J\u202eä😀\\",'
        request tools/call "\"name\":\"$long\","
        request "$long" ''
        request tools/call "\"name\":\"$(printf '\\u0001%.0s' {1..3000})\","
    } | "$MCPD" --audit audit docs > /dev/null
    [ "$(wc -l < audit)" = 4 ]
    run ! grep -q '[^ -~]' audit
    is "$(jq -r 'select(.cut | not).name | @json' audit)" "$(printf '"a\\n{\\"b\\"}\\u001b[2J\u202eä😀\\\\"')"
    is "$(jq -s '[.[] | select(.cut)] | length' audit)" 3
    [ "$(awk '{ if (length > most) most = length } END { print most }' audit)" -le 4096 ]
}

@test "sources in processes of their own and other servers are named" {
    command -v sqlite3 > /dev/null || skip "sqlite3 is not installed"
    sqlite3 x.db 'create table t (a); insert into t values (1)'
    cat > mcpd.json <<END
{"sources": [{"module": "sqlite", "source": "x.db", "name": "db"},
    {"module": "mcp", "source": "$MCPD", "name": "far", "options": {"args": ["--resource-tools", "$PWD/docs"]}}],
 "audit": "audit"}
END
    "$MCPD" --config mcpd.json --check-config || skip "sqlite or mcp is not built"
    rm -f audit
    start --config mcpd.json --no-resource-tools
    request resources/list '' >&7
    eventually lines 1
    request tools/call '"name":"far_list_resources",' >&7
    eventually lines 2
    request resources/read '"uri":"sqlite://db/t",' >&7
    eventually lines 3
    exec 7>&-
    jq -es 'any(.name == "far_list_resources" and .source == "mcp+far:" and .outcome == "ok")' audit
    jq -es 'any(.name == "sqlite://db/t" and .source == "sqlite://db/" and .outcome == "ok")' audit
}

# Serves over HTTP with the configuration in mcpd.json and sets $base.
serve() {
    chmod 600 mcpd.json
    "$MCPD" --config mcpd.json 2> log 3>&- &
    server=$!
    eventually grep -q serving log
    base=$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' log)
}
# post BODY CURL-OPTION...
post() {
    curl -s -m 60 "$base/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -d "$1" "${@:2}"
}
# ask FILE CURL-OPTION...: reads a file
ask() {
    post "$(request resources/read "\"uri\":\"$here/$1\",")" -H 'MCP-Protocol-Version: 2026-07-28' \
        -H "Mcp-Method: resources/read" -H "Mcp-Name: $here/$1" "${@:2}" > /dev/null
}

@test "over HTTP: principals, addresses, traces, denied items, refused logins, and never a token" {
    cat > mcpd.json <<END
{"sources": ["docs"], "http": "127.0.0.1:0", "audit": "audit", "tokens": {"ada": "0123456789abcdef0123456789abcdef"},
 "access": [{"effect": "deny", "resources": "docs/b.md"}]}
END
    serve
    ask a.md -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef' \
        -H 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    ask b.md -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef' -H 'traceparent: 00-4bf92f-00f067-01'
    ask a.md -H 'Authorization: Bearer 0123456789abcdef0123456789abcdee'
    ask a.md
    eventually lines 4
    local ada='{"principal":"ada","client":"127.0.0.1"' refused='{"client":"127.0.0.1","http_method":"POST","path":"/mcp"'
    local read='"method":"resources/read"'
    is "$(fields)" "$ada,\"trace\":\"4bf92f3577b34da6a3ce929d0e0e4736\",$read,\"name\":\"$here/a.md\",\"source\":\"file:\",\"outcome\":\"ok\"}
$ada,$read,\"name\":\"$here/b.md\",\"source\":\"file:\",\"outcome\":\"denied\",\"code\":-32602}
$refused,\"outcome\":\"refused\",\"reason\":\"unknown token\",\"status\":401}
$refused,\"outcome\":\"refused\",\"reason\":\"no token\",\"status\":401}"
    run ! grep -q 0123456789abcde audit log
}

@test "refusals before authentication have lines, and a flood of them does not fill the disk" {
    printf '{"sources": ["docs"], "http": "127.0.0.1:0", "audit": "audit"}' > mcpd.json
    serve
    curl -s -m 60 "$base/mcp" -H 'Host: evil.example' -d '{}' > /dev/null
    curl -s -m 60 "$base/.env" > /dev/null
    curl -s -m 60 -X PUT "$base/mcp" > /dev/null
    is "$(fields)" '{"client":"127.0.0.1","http_method":"POST","path":"/mcp","outcome":"refused","reason":"bad host","status":403}
{"client":"127.0.0.1","http_method":"GET","path":"/.env","outcome":"refused","reason":"no path","status":404}
{"client":"127.0.0.1","http_method":"PUT","path":"/mcp","outcome":"refused","reason":"not allowed","status":405}'
    curl -s -m 60 "$base/[1-300]" > /dev/null
    ask a.md
    kill "$server"
    wait "$server" || true
    server=
    # Each refusal has a line or is counted in one.
    is "$(jq -s '[.[] | select(.outcome == "refused") | .left_out // 1] | add' audit)" 303
    is "$(jq -s '[.[] | select(.method)] | length' audit)" 1
    ! grep -q left_out <(head -4 audit) || false
    grep -q left_out audit
}

@test "lines of a legacy session have the beginning of its id, and the bytes of the answer" {
    printf '{"sources": ["docs"], "http": "127.0.0.1:0", "audit": "audit"}' > mcpd.json
    serve
    for id in 1 2; do
        post '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},
            "clientInfo":{"name":"old","version":"1"}}}' -D head.$id > /dev/null
        session=$(sed -n 's/^Mcp-Session-Id: \(.*\)\r$/\1/p' head.$id)
        post '{"jsonrpc":"2.0","id":2,"method":"resources/list"}' -H "Mcp-Session-Id: $session" > answer
        eventually lines "$id"
        is "$(sed -n ${id}p audit | jq -r .session)" "${session:0:8}"
        is "$(sed -n ${id}p audit | jq .bytes)" "$(sed 's/^data: //; /^$/d; /^[a-z]*:/d' answer | tr -d '\n' | wc -c)"
        run ! grep -q "$session" audit
    done
}

@test "SIGHUP opens the file again; another name takes effect, switching it off does not" {
    printf '{"sources": ["docs"], "audit": "audit"}' > mcpd.json
    start --config mcpd.json
    request resources/list '' >&7
    eventually lines 1
    mv audit old
    kill -HUP "$server"
    eventually grep -q 'was reloaded' log
    [ -e audit ]
    request resources/list '' >&7
    eventually lines 1
    printf '{"sources": ["docs"]}' > mcpd.json
    kill -HUP "$server"
    eventually grep -q 'switching audit on or off takes effect after a restart' log
    printf '{"sources": ["docs"], "audit": "/nowhere/audit"}' > mcpd.json
    kill -HUP "$server"
    eventually grep -q 'cannot open the audit log /nowhere/audit' log
    request resources/list '' >&7
    eventually lines 2
    [ "$(wc -l < old)" = 1 ]
    exec 7>&-
}

@test "without a configuration SIGHUP opens the file again" {
    start --audit audit docs
    request resources/list '' >&7
    eventually lines 1
    rm audit
    kill -HUP "$server"
    eventually test -e audit
    exec 7>&-
}

@test "a full disk: requests are answered, the error log says it once, and the next line counts what is missing" {
    mkfifo in
    # A limit on the size of files, with its signal ignored, ends a write in the middle of a line.
    (
        trap '' XFSZ
        ulimit -f 1
        exec "$MCPD" --audit audit docs < in 2> >(cat > log) 3>&- 7>&-
    ) | (ulimit -f unlimited; cat > out) &
    exec 7> in
    for i in {1..20}; do request resources/read "\"uri\":\"$here/a.md\"," >&7; done
    answers() { [ "$(grep -c '"result"' out)" -ge "$1" ]; }
    eventually answers 20
    [ "$(stat -c %s audit)" = 1024 ]
    [ "$(tail -c 1 audit)" != "" ]
    : > audit
    request resources/list '' >&7
    eventually lines 3
    exec 7>&-
    wait
    [ "$(sed -n 1p audit)" = "" ]
    lost=$(sed -n 2p audit | jq .lost)
    [ "$lost" -ge 10 ] && [ "$lost" -lt 20 ]
    sed -n 3p audit | jq -e '.method == "resources/list"'
    [ "$(grep -c 'audit log cannot be written' log)" = 1 ]
}

@test "--audit-required: nothing is answered that the log does not have, and it goes on by itself when there is room" {
    mkfifo in
    (
        trap '' XFSZ
        ulimit -f 1
        exec "$MCPD" --audit audit --audit-required docs < in 2> log 3>&- 7>&-
    ) | (ulimit -f unlimited; cat > out) &
    exec 7> in
    for i in {1..20}; do request resources/read "\"uri\":\"$here/a.md\"," >&7; done
    request ping '' >&7
    request server/discover '' >&7
    answers() { [ "$(wc -l < out)" -ge "$1" ]; }
    eventually answers 22
    done=$(grep -c '"contents"' out)
    [ "$done" = "$(($(wc -l < audit)))" ]
    [ "$(grep -c 'its audit log cannot be written","data":{"retryAfterMs":1000}' out)" = $((20 - done)) ]
    grep -q '"supportedVersions"' out
    : > audit
    request resources/list '' >&7 # whose line can be written again
    eventually answers 23
    eventually lines 3
    [[ "$(tail -n 1 out)" == *"cannot be written"* ]]
    request resources/list '' >&7
    eventually answers 24
    [[ "$(tail -n 1 out)" == *'"resources"'* ]]
    exec 7>&-
    wait
    [ "$(sed -n 2p audit | jq .lost)" = $((20 - done)) ]
    run -1 "$MCPD" --audit-required docs < /dev/null
    [[ $output == *"audit-required needs audit"* ]]
}

@test "/metrics counts the lines of both logs that are lost, and refusals without a line" {
    "$MCPD" --http unix:sock --audit /dev/full --log-format json docs 2> /dev/full 3>&- &
    server=$!
    metric() { curl -s --unix-socket sock http://localhost/metrics | sed -n "s/^$1 //p"; }
    eventually test -S sock
    eventually curl -s -o /dev/null --unix-socket sock http://localhost/healthz
    local lost
    lost=$(metric mcp_log_lines_lost_total)
    curl -s --unix-socket sock "http://localhost/[1-40]" > /dev/null
    [ "$(metric mcp_log_lines_lost_total)" -gt $((lost + 39)) ]
    is $(($(metric mcp_audit_lines_lost_total) + $(metric mcp_audit_refusals_left_out_total))) 40
}

@test "a file that cannot be opened is an error at its place" {
    run -1 "$MCPD" --audit /nowhere/audit docs < /dev/null
    [[ $output == *"cannot open the audit log /nowhere/audit: No such file or directory"* ]]
    printf '{"sources": ["docs"],\n"audit": "/nowhere/audit"}' > mcpd.json
    run -1 "$MCPD" --config mcpd.json --check-config
    [[ $output == *"mcpd.json:2:10: audit: cannot open"* ]]
}

@test "- is standard error, also in a configuration and in the entry of a host" {
    printf '{"sources": ["docs"], "audit": "-"}' > mcpd.json
    request resources/list '' | "$MCPD" --config mcpd.json 2> log > /dev/null
    grep -q '"method":"resources/list"' log
    [ "$("$MCPD" --config mcpd.json --print-config mcpd | jq -r .audit)" = - ]
    [ "$("$MCPD" --audit audit --print-config claude docs | jq -r '.. | .args? // empty | join(" ")' | grep -c -- "--audit $PWD/audit")" = 1 ]
    [ ! -e audit ]
}
