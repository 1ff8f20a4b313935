# Rates of the configuration ("rates"): for a view, for a principal, for all callers together and for some tools; a group is
# in oauth.bats.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    load support/serving.bash
    load support/talk.bash # its request(), not that of serving.bash
    serving_setup
    mkdir docs
    printf 'a plan\n' >docs/plan.txt
    here="file://$(pwd -P)"
}

teardown() { serving_teardown; }

# ask PATH METHOD NAME [CURL-OPTION...]: sets $heard and $status; the header of the answer is in the file heads
ask() {
    local path=$1 method=$2 name=$3 member=name given=${arguments:-}
    [ "$method" = resources/read ] && member=uri
    status=$(curl -sS -m 60 -o heard -D heads -w '%{http_code}' -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H "Mcp-Method: $method" -H "Mcp-Name: $name" "${@:4}" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":{\"$member\":\"$name\",${given:+\"arguments\":$given,}$meta}}" \
        "http://127.0.0.1:$port$path")
    heard=$(cat heard)
}

# reads PATH N [CURL-OPTION...]: how many of N reads are answered
reads() {
    local i n=0
    for ((i = 0; i < $2; i++)); do
        ask "$1" resources/read "$here/docs/plan.txt" "${@:3}"
        [[ "$heard" == *'a plan'* ]] && n=$((n + 1))
    done
    echo $n
}

ann=(-H 'Authorization: Bearer ann-token')
bob=(-H 'Authorization: Bearer bob-token')

@test "a view has a rate for each caller and one for all of them, which counts nowhere else" {
    cat >c.json <<'EOF'
{"sources": ["docs"], "http": ["127.0.0.1:0"], "tokens": {"ann": "ann-token", "bob": "bob-token"},
 "views": {"slow": {}, "busy": {}, "free": {}},
 "rates": [{"view": ["slow"], "per-minute": 1, "burst": 3}, {"view": "busy", "per-minute": 1, "burst": 5, "together": true}]}
EOF
    serve --config c.json
    [ "$(reads /mcp/slow 5 "${ann[@]}")" = 3 ]
    [ "$(reads /mcp/slow 5 "${bob[@]}")" = 3 ]
    [ "$(reads /mcp/busy 3 "${ann[@]}")" = 3 ]
    [ "$(reads /mcp/busy 5 "${bob[@]}")" = 2 ]
    [ "$(reads /mcp/busy 2 "${ann[@]}")" = 0 ]
    [ "$(reads /mcp/free 9 "${ann[@]}")" = 9 ]
    [ "$(reads /mcp 9 "${ann[@]}")" = 9 ]
    ask /mcp/slow resources/read "$here/docs/plan.txt" "${ann[@]}"
    [ "$status" = 200 ]
    [ "$(jq -r '.error.code' heard)" = -31429 ]
    [[ "$(jq -r '.error.message' heard)" == 'too many requests: one caller may make 1 a minute (rates/0); try again in '*' ms' ]]
    (($(jq -r '.error.data.retryAfterMs' heard) > 0 && $(jq -r '.error.data.retryAfterMs' heard) <= 60000))
    grep -qi '^retry-after: [1-9]' heads
    ask /mcp/busy resources/read "$here/docs/plan.txt" "${bob[@]}"
    [[ "$heard" == *'all callers together may make 1 a minute (rates/1)'* ]]
    # what does not exist counts as well, and is not told apart
    ask /mcp/slow resources/read "$here/none.txt" "${ann[@]}"
    [[ "$heard" == *-31429* ]]
    # lists do not count
    ask /mcp/slow resources/list x "${ann[@]}"
    [[ "$heard" == *plan.txt* ]]
    finish
}

@test "rates are for principals, and for tools; what mcpd does within a call does not count" {
    cat >c.json <<'EOF'
{"sources": ["docs"], "http": ["127.0.0.1:0"], "resource-tools": true, "tokens": {"ann": "ann-token", "bob": "bob-token"},
 "rates": [{"principal": "bob", "per-minute": 1, "burst": 4}, {"tools": ["search_*", "find_*"], "per-minute": 1, "burst": 2}]}
EOF
    serve --config c.json
    [ "$(reads /mcp 9 "${ann[@]}")" = 9 ]
    arguments="{\"uri\":\"$here/docs/plan.txt\"}" ask /mcp tools/call read_resource "${bob[@]}"
    [[ "$heard" == *'a plan'* ]]
    [ "$(reads /mcp 9 "${bob[@]}")" = 3 ] # the call was one
    arguments="{\"query\":\"plan\"}" ask /mcp tools/call search_resources "${ann[@]}"
    [[ "$heard" == *plan.txt* ]]
    arguments="{\"name\":\"plan\"}" ask /mcp tools/call find_resources "${ann[@]}"
    [[ "$heard" == *plan.txt* ]]
    arguments="{\"query\":\"plan\"}" ask /mcp tools/call search_resources "${ann[@]}"
    [[ "$heard" == *'(rates/1)'* ]]
    arguments="{\"uri\":\"$here/docs/plan.txt\"}" ask /mcp tools/call read_resource "${ann[@]}"
    [[ "$heard" == *'a plan'* ]]
    [ "$(curl -sS -m 60 "http://127.0.0.1:$port/metrics" "${ann[@]}" | sed -n 's/^mcp_rate_refusals_total{limit="rates"} //p')" = 7 ]
    finish
}

@test "a reload changes rates at once" {
    write() { printf '{"sources": ["docs"], "http": ["127.0.0.1:0"], "views": {"slow": {}}%s}' "$1" >c.json; }
    write ', "rates": [{"view": "slow", "per-minute": 1}]'
    serve --config c.json
    [ "$(reads /mcp/slow 3)" = 1 ]
    write ''
    kill -HUP "$server"
    wait_for logged reloaded 1
    [ "$(reads /mcp/slow 5)" = 5 ]
    write ', "rates": [{"per-minute": 1, "burst": 2, "tools": "none"}, {"per-minute": 1, "burst": 2}]'
    kill -HUP "$server"
    wait_for logged reloaded 2
    [ "$(reads /mcp 5)" = 2 ]
    finish
}

@test "mistakes in rates" {
    wrong() { # wrong RATE MESSAGE
        printf '{"sources": ["docs"], "http": "127.0.0.1:0", "tokens": {"ann": "ann-token"}, "views": {"slow": {}}, "rates": [%s]}' "$1" >c.json
        run "$MCPD" --config c.json --check-config
        [ "$status" = 1 ]
        [[ "$output" == *"$2"* ]]
    }
    wrong '{"view": "slwo", "per-minute": 1}' 'there is no view slwo'
    wrong '{"principal": "anne", "per-minute": 1}' 'there is no principal "anne"; did you mean "ann"?'
    wrong '{"group": "staff", "per-minute": 1}' 'groups need the section oauth'
    wrong '{"view": "slow"}' 'per-minute'
    wrong '{"per-minute": 0}' 'per-minute'
}
