# Questions of a server behind mcpd: a program of a legacy revision that asks during a call.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    load support/talk.bash
    cd "$BATS_TEST_TMPDIR"
    capabilities='{"elicitation":{"form":{},"url":{}},"roots":{}}'
    # Each call of its tool asks for a name, and returns the answer. Its runs are lines in `runs`.
    cat >asks <<'END'
#!/bin/bash
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
while IFS= read -r line; do
    id=$(jq -c .id <<<"$line")
    case $(jq -r '.method // "answer"' <<<"$line") in
        initialize)
            jq -c .params.capabilities <<<"$line" >>declared
            say "$id" '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},
                "serverInfo":{"name":"asks","version":"1"}}' | tr -d '\n'; echo ;;
        tools/call)
            echo $$ >>runs
            call=$id
            say '"q"' '"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}' ;;
        answer) say "$call" "\"result\":{\"content\":[{\"type\":\"text\",\"text\":$(jq -c '(.result // .error) | tojson' <<<"$line")}]}" ;;
        notifications/cancelled) touch cancelled ;;
        notifications/*) ;;
        *) say "$id" '"error":{"code":-32601,"message":"no"}' ;;
    esac
done
END
    chmod +x asks
}

teardown() {
    [ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
}

wait_until() { # COMMAND...: waits until it succeeds
    for _ in {1..1200}; do "$@" && return; sleep 0.05; done
    "$@"
}

runs() { # N: checks how often the tool ran
    [ "$(wc -l <runs)" -eq "$1" ] || { cat runs; return 1; }
}

asked() { # sends a call of a modern client and checks that it is asked; sets $key and $state
    result tools/call '{"name":"gh_ask"}'
    is '"input_required"' .resultType
    is '["elicitation/create","gh: Who?"]' '.inputRequests[] | [.method, .params.message]'
    key=$(jq -r '.inputRequests | keys[0]' <<<"$heard")
    state=$(jq -r .requestState <<<"$heard")
}

accepted() {
    printf '{"name":"gh_ask","requestState":"%s","inputResponses":{"%s":%s}}' "$state" "$key" \
        '{"action":"accept","content":{"name":"Ada"}}'
}

@test "a client of 2026-07-28 answers, and the tool runs once" {
    talk modern "$MCPD" 'mcp:./asks?name=gh'
    asked
    result tools/call "$(accepted)"
    is '{"action":"accept","content":{"name":"Ada"}}' '.content[0].text | fromjson'
    failure tools/call "$(accepted)"
    is -32602 .code
    runs 1
    run -0 jq -c '[.elicitation, has("roots"), has("sampling")]' declared
    [ "$output" = '[{"form":{},"url":{}},true,false]' ]
    hush
}

@test "a client of 2025-11-25 answers" {
    talk legacy "$MCPD" 'mcp:./asks?name=gh'
    for n in 1 2; do
        request tools/call '{"name":"gh_ask"}'
        hear '.method == "elicitation/create"'
        is '"gh: Who?"' .params.message
        say '{"jsonrpc":"2.0","id":'"$(jq .id <<<"$heard")"',"result":{"action":"decline"}}'
        answer
        is '{"action":"decline"}' '.result.content[0].text | fromjson'
        runs "$n"
    done
    hush
}

@test "a call that waits for an answer survives a reload" {
    echo '{"sources": [{"module": "mcp", "source": "./asks", "name": "gh"}]}' >mcpd.json
    talk modern "$MCPD" --config mcpd.json
    asked
    kill -HUP "$server_pid"
    wait_until grep -q 'was reloaded' talk.log
    result tools/call "$(accepted)"
    is '"Ada"' '.content[0].text | fromjson | .content.name'
    runs 1
    hush
}

@test "a time limit for answers, and no questions" {
    talk modern "$MCPD" 'mcp:./asks?name=gh&question_ms=100&idle_ms=200'
    asked
    wait_until test -e cancelled
    failure tools/call "$(accepted)"
    is true '.message | contains("has ended; send the request without it")'
    hush
    rm declared
    talk modern "$MCPD" "mcp:./asks?name=gh&questions=false"
    result tools/call '{"name":"gh_ask"}'
    is true '.content[0].text | fromjson | .code < 0'
    run -0 cat declared
    [ "$output" = '{}' ]
    hush
}

@test "shared: the caller of the only call is asked; none is if there are two" {
    talk modern "$MCPD" 'mcp:./asks?name=gh&shared=true'
    asked
    result tools/call '{"name":"gh_ask"}'
    is true '.content[0].text | fromjson | .code < 0'
    run -0 jq -c '[.elicitation, has("roots"), has("sampling")]' declared
    [ "$output" = '[{"form":{},"url":{}},false,false]' ]
    runs 2
    hush
    talk modern "$MCPD" 'mcp:./asks?name=gh&shared=true'
    asked
    result tools/call "$(accepted)"
    is '"Ada"' '.content[0].text | fromjson | .content.name'
    runs 3
    hush
}

post() { # PARAMS: a call over a connection of its own
    curl -sS "$url" -H 'Authorization: Bearer 0123456789abcdef' -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' \
        -H 'Mcp-Name: gh_ask' -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"${1#\{}"'}' >answer
    heard=$(jq -ce '.result // error("no result: \(.)")' answer)
}

@test "workers: an answer reaches the worker where its call waits" {
    printf 'ada:0123456789abcdef\n' >tokens
    chmod 600 tokens
    local meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":
        {"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":'"$capabilities"'}'
    "$MCPD" --http 127.0.0.1:0 --workers 2 --token-file tokens 'mcp:./asks?name=gh' 2>web.log 3>&- &
    server_pid=$!
    wait_until grep -qs 'http://127[0-9.:]*/mcp' web.log
    url=$(grep -om1 'http://127[0-9.:]*/mcp' web.log)
    # Each connection goes to one of the workers. That all of them meet the right one is next to impossible.
    for n in {1..16}; do
        post '{"name":"gh_ask",'"$meta}"
        key=$(jq -r '.inputRequests | keys[0]' <<<"$heard")
        state=$(jq -r .requestState <<<"$heard")
        post "$(accepted | sed 's/}$//'),$meta}"
        is '"Ada"' '.content[0].text | fromjson | .content.name'
        runs "$n"
    done
    curl -sS -H 'Authorization: Bearer 0123456789abcdef' "${url%/mcp}/metrics" | grep '^mcp_forwarded_requests_total [1-9]'
    kill "$server_pid"
    wait "$server_pid" || true
    server_pid=
}
