# One client begins 10,001 legacy sessions: those of others stay, by token and by address.

bats_require_minimum_version 1.5.0
load support/serving

setup() {
    serving_setup
    printf 'alice:token-a\nbob:token-b\n' > tokens
    chmod 600 tokens
    initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    ping='{"jsonrpc":"2.0","id":2,"method":"ping"}'
}
teardown() { serving_teardown; }

send() { # CURL-OPTION...: POSTs to the endpoint
    curl -sS -m 300 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "$@"
}
begin() { # CURL-OPTION...: prints the id of a new session
    send "$@" -D - -o /dev/null -d "$initialize" "http://127.0.0.1:$port/mcp" | tr -d '\r' | sed -n 's/^Mcp-Session-Id: //p'
}
flood() { # TIMES CURL-OPTION...: prints how many got which status
    local times=$1
    shift
    send "$@" -o /dev/null -w '%{http_code}\n' -d "$initialize" "http://127.0.0.1:$port/mcp?[1-$times]" | sort | uniq -c | tr -s ' ' | sed 's/^ //'
}
status_of() { # SESSION CURL-OPTION...: of a ping in it
    local session=$1
    shift
    send "$@" -H "Mcp-Session-Id: $session" -o /dev/null -w '%{http_code}' -d "$ping" "http://127.0.0.1:$port/mcp"
}

@test "10,001 sessions of one token end no session of another" {
    serve --http 127.0.0.1:0 --token-file tokens project
    bob=(-H 'Authorization: Bearer token-b') alice=(-H 'Authorization: Bearer token-a')
    session=$(begin "${bob[@]}")
    first=$(begin "${alice[@]}")
    [ -n "$session" ] && [ -n "$first" ]
    [ "$(flood 10001 "${alice[@]}")" = '10001 200' ]
    [ "$(status_of "$session" "${bob[@]}")" = 200 ]
    [ "$(status_of "$first" "${alice[@]}")" = 404 ]
    curl -sS "${bob[@]}" "http://127.0.0.1:$port/metrics" > metrics
    grep -qxF 'mcp_sessions 10000' metrics
    grep -qxF 'mcp_sessions_evicted_total 3' metrics
    grep -qxF 'mcp_limit_used{limit="--max-sessions-each"} 9999' metrics
    [ "$(sed -n 's/^mcp_memory_sessions_bytes //p' metrics)" -gt 15000000 ]
    grep -q 'sessions ended to make room for others: there are 10000 sessions in use already (--max-sessions)' "$log"
}

@test "10,001 sessions of one address end no session of another" {
    serve --http 127.0.0.1:0 --max-sessions-each 100 project
    session=$(begin --interface 127.0.0.2)
    [ "$(flood 10001)" = '10001 200' ]
    [ "$(status_of "$session" --interface 127.0.0.2)" = 200 ]
    get /metrics > metrics
    grep -qxF 'mcp_sessions 101' metrics
    grep -qxF 'mcp_sessions_evicted_own_total 9901' metrics
    grep -qxF 'mcp_limit{limit="--max-sessions-each"} 100' metrics
    grep -q 'sessions ended to make room for others: 100 sessions of this client are in use already' "$log"
}

@test "an address that a proxy names is trusted only from the proxy" {
    serve --http 127.0.0.1:0 --max-sessions 50 --max-sessions-each 20 --trusted-proxy 127.0.0.3 project
    via=(--interface 127.0.0.3)
    session=$(begin "${via[@]}" -H 'X-Forwarded-For: 2001:db8:1::1')
    for i in {1..3}; do # all are one /64
        [ "$(flood 20 "${via[@]}" -H "X-Forwarded-For: 2001:db8:2::$i")" = '20 200' ]
    done
    [ "$(flood 40 -H 'X-Forwarded-For: 2001:db8:1::1')" = '40 200' ] # 127.0.0.1 claims to be the other one
    [ "$(status_of "$session" "${via[@]}" -H 'X-Forwarded-For: 2001:db8:1::1')" = 200 ]
    get /metrics > metrics
    grep -qxF 'mcp_sessions 41' metrics
    grep -qxF 'mcp_sessions_evicted_own_total 60' metrics
}
