# How many sessions the members of each group have, in /metrics.

bats_require_minimum_version 1.5.0
load support/issuer

setup() {
    MCPD=${MCPD:-mcpd}
    cd "$BATS_TEST_TMPDIR"
    mkdir project
    issuer
    watcher=0123456789abcdef0123456789abcdef plain=abcdef0123456789abcdef0123456789
    configure '["red", "blue"]'
    serve
}

teardown() { stop_issuer; }

configure() { # GROUPS
    jq -n --arg iss "$iss" --arg watcher "$watcher" --arg plain "$plain" --argjson groups "$1" '{
        sources: ["project"], http: "127.0.0.1:0", tokens: {watcher: $watcher, plain: $plain},
        oauth: {resource: "https://r.example/mcp", issuers: [{issuer: $iss, groups: "groups",
            audiences: ["https://r.example/mcp"]}]},
        rates: [{group: $groups, "per-minute": 100000}, {group: "red", "per-minute": 100000}],
        access: [{group: "green", effect: "deny", tools: "no"},
            {principal: "watcher", effect: "allow", metrics: "names"}]}' > mcpd.json
    chmod 600 mcpd.json
}

begin() { # TOKEN: begins a session, and prints its id
    curl -s -D - "$base/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H "Authorization: Bearer $1" -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
            "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}' |
        sed -n 's/^Mcp-Session-Id: \(.*\)\r$/\1/p'
}

member() { token "$1" x ",\"groups\":$2"; } # SUBJECT GROUPS
counts() { curl -s "$base/metrics" -H "Authorization: Bearer $1" | grep '^mcp_group_sessions'; } # TOKEN
is() { [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }; }
series() { printf 'mcp_group_sessions{group="%s",issuer="%s"} %s\n' "$1" "$iss" "$2"; } # GROUP COUNT

@test "sessions are counted for each group of their callers, once, and for others together" {
    local both
    begin "$(member ann '["red","other","red"]')"
    both=$(member bea '["blue","red"]')
    id=$(begin "$both")
    begin "$(member cid '["yellow"]')"
    begin "$(member dan '["red",1]')" # a list that says nothing
    begin "$(token eve x)"
    begin "$plain"
    is "$(counts "$watcher")" "$(series blue 1; series green 0; series red 2; echo 'mcp_group_sessions{group="other"} 4')"
    is "$(counts "$plain")" 'mcp_group_sessions{group="other"} 7' # whoever may not see names
    curl -s -X DELETE "$base/mcp" -H "Authorization: Bearer $both" -H "Mcp-Session-Id: $id"
    is "$(counts "$watcher" | head -n 3)" "$(series blue 0; series green 0; series red 1)"
    configure '["yellow"]'
    kill -HUP "$server"
    for ((i = 0; i < 3000; i++)); do grep -q 'was reloaded' log && break; sleep 0.02; done
    is "$(counts "$watcher" | tail -n 2)" "$(series yellow 1; echo 'mcp_group_sessions{group="other"} 3')"
}

@test "at most 1,000 groups have a number of their own" {
    configure "$(seq -f '"g%05g"' 1500 | jq -s .)"
    kill "$server"
    wait "$server" || true
    serve
    begin "$(member ann '["g00001"]')"
    begin "$(member bea '["g01500"]')"
    counts "$watcher" > all
    is "$(wc -l < all)" 1001
    is "$(grep -v ' 0$' all)" "$(series g00001 1; echo 'mcp_group_sessions{group="other"} 1')"
}
