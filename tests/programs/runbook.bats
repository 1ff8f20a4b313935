# docs/runbook.md: runs the command of every question, after requests of two people that succeed, fail and are refused.

bats_require_minimum_version 1.5.0
load support/issuer

setup() {
    : "${MCPD:=mcpd}"
    page=$BATS_TEST_DIRNAME/../../docs/runbook.md
    cd "$BATS_TEST_TMPDIR"
    mkdir project
    echo hello > project/a.md
    echo secret > project/b.md
    files=file://$PWD/project
    ada=0123456789abcdef0123456789abcdef bob=abcdef0123456789abcdef0123456789
}

teardown() { stop_issuer; }

# wait_for COMMAND...
wait_for() {
    local end=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < end)) || { cat log; return 1; }
        sleep 0.05
    done
}

serve() {
    issuer
    jq -n --arg iss "$iss" --arg far "$MCPD" --arg files "$PWD/project" --arg ada "$ada" --arg bob "$bob" '{
        http: "127.0.0.1:0", audit: "audit", tokens: {ada: $ada, bob: $bob}, "resource-tools": true,
        sources: ["project", {module: "mcp", source: $far, name: "far", options: {args: ["--resource-tools", $files],
                rates: [{tools: ["list_resources"], per_minute: 1}]}},
            {module: "mcp", source: "http://127.0.0.1:1/", name: "gone"}],
        oauth: {resource: "https://r.example/mcp", issuers: [{issuer: $iss, groups: "groups",
            audiences: ["https://r.example/mcp"]}]}, rates: [{group: "staff", "per-minute": 1000}],
        access: [{principal: "bob", effect: "deny", resources: "project/b.md"},
            {principal: "ada", effect: "allow", metrics: "names"},
            {principal: "ada", effect: "allow", operations: ["change"], resources: "project/a.md"}]}' > mcpd.json
    chmod 600 mcpd.json
    "$MCPD" --config mcpd.json --log-format json 2> log 3>&- &
    server=$!
    wait_for grep -q 'serving .* at http' log
    base=$(sed -n 's|.* at \(http[^"]*\)/mcp.*|\1|p' log)
}

# post TOKEN BODY [HEADER]...: sends a request and prints the answer
post() {
    local token=$1 body=$2 headers=() header
    for header in "${@:3}"; do headers+=(-H "$header"); done
    curl -sS -m 60 "$base/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        ${token:+-H "Authorization: Bearer $token"} "${headers[@]}" -d "$body"
}

# ask TOKEN METHOD NAME [PARAMS]
ask() {
    local meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    post "$1" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$2\",\"params\":{${4:+$4,}$meta}}" \
        'MCP-Protocol-Version: 2026-07-28' "Mcp-Method: $2" ${3:+"Mcp-Name: $3"} > /dev/null
}
read_file() { ask "$1" resources/read "$2" "\"uri\":\"$2\""; }
call() { ask "$1" tools/call "$2" "\"name\":\"$2\",\"arguments\":$3"; }

# begin TOKEN: begins a legacy session, and prints its id. The helper above has no room for the head of the answer.
begin() {
    local json=(-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream')
    curl -s -D - "${json[@]}" -H "Authorization: Bearer $1" "$base/mcp" -d '{"jsonrpc":"2.0","id":1,
        "method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},
        "clientInfo":{"name":"old","version":"1"}}}' | sed -n 's/^Mcp-Session-Id: \(.*\)\r$/\1/p'
}

# What happened before the questions are asked. The program behind "far" starts in the first list.
work() {
    kill -HUP "$server"
    wait_for grep -q 'was reloaded' log
    cp mcpd.json right.json
    echo '{' > mcpd.json
    kill -HUP "$server"
    wait_for grep -q 'was not reloaded' log
    cp right.json mcpd.json
    ask "$ada" resources/list ''
    ask "$ada" tools/list ''
    is_far() { [ "$(curl -s -H "Authorization: Bearer $ada" "$base/metrics" | grep -c '^mcp_upstream_processes.* 1$')" = 1 ]; }
    wait_for is_far
    read_file "$ada" "$files/a.md"
    read_file "$ada" "$files/no.md"
    read_file "$bob" "$files/b.md"
    call "$ada" read_resource "{\"uri\":\"$files/a.md\"}"
    call "$ada" read_resource "{\"uri\":\"$files/no.md\"}"
    read_file "$ada" mcp+gone:x:y
    call "$ada" far_list_resources '{}'
    call "$ada" far_list_resources '{}' # beyond its rate
    call "$ada" far_read_resource '{"uri":"no"}'
    call "$bob" edit_file '{"uri":"a.md","edits":[{"old":"hello","new":"bye"}]}'
    read_file "${ada/0/1}" "$files/a.md"
    read_file '' "$files/a.md"
    curl -s -o /dev/null "$base/mcp" -H 'Host: evil.example' -d '{}'
    # Legacy sessions
    local session
    begin "$(token cid x ',"groups":["staff"]')" > /dev/null
    session=$(begin "$ada")
    post "$ada" '{"jsonrpc":"2.0","id":2,"method":"resources/list"}' "Mcp-Session-Id: $session" \
        'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' > /dev/null
}

@test "the alerts and the dashboard use metrics that exist" {
    serve
    work
    local folder=$BATS_TEST_DIRNAME/../../packaging/monitoring
    curl -s -H "Authorization: Bearer $ada" "$base/metrics" | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' | sort -u > known
    # With other options only, or of Prometheus.
    printf '%s\n' up mcp_bus_connected mcp_source_process_ends_total mcp_certificate_expiry_timestamp_seconds >> known
    {
        sed -n 's/^ *expr: //p' "$folder/alerts.yml"
        jq -r '.panels[].targets[].expr, (.templating.list[].query | objects | .query)' "$folder/dashboard.json"
    } | grep -oE '\b(mcp_[a-z_]+|process_[a-z_]+|up)\b' | sed 's/_bucket$//' | sort -u > used
    [ "$(wc -l < used)" -gt 25 ]
    run -1 grep -vxFf known used
    [ "$(grep -c 'alert:' "$folder/alerts.yml")" = "$(grep -c 'name:' "$folder/alerts.test.yml")" ]
}

@test "every question has a command, and its output is what the page says" {
    serve
    work
    # Writes one file for each command, and one with the lines that its output must contain. The first block, with
    # the words of an installation, is replaced.
    awk '/^### / { title = substr($0, 5); asked++ }
         /^```sh$/ { if (asked) { n++; to = "run." n; print title > ("title." n) } next }
         /^```expect$/ { to = "want." n; next }
         /^```/ { to = ""; next } to { print > to }
         END { print asked, n > "counts" }' "$page"
    read -r asked answered < counts
    [ "$asked" -ge 40 ] && [ "$asked" = "$answered" ]
    export PATH=${MCPD%/*}:$PATH
    words="set -o pipefail; metrics() { curl -s -H 'Authorization: Bearer $ada' $base/metrics; }; audit() { cat audit; }
        log() { cat log; }; BASE=$base CONFIG=mcpd.json DAY=$(head -1 audit | jq -r '.time[:10]')"
    failed=
    for ((i = 1; i <= asked; i++)); do
        echo "$words" | cat - run.$i > all
        bash all > got.$i 2> complaints || true # --doctor says by its status that something is wrong
        [ ! -s complaints ] || { cat complaints; failed="$failed $i"; }
        [ ! -e want.$i ] || while IFS= read -r want; do
            grep -qF -- "$want" got.$i || { echo "missing: $want"; failed="$failed $i"; }
        done < want.$i
        [[ " $failed " != *" $i "* ]] || cat title.$i run.$i got.$i
    done
    [ -z "$failed" ]
}
