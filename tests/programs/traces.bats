# Traces (--traces): what a collector gets, and that it gets nothing else; a collector that is slow, dead or refuses.

bats_require_minimum_version 1.5.0
load support/eventually

setup() {
    : "${MCPD:=mcpd}"
    support=$BATS_TEST_DIRNAME/support
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo hello > docs/a.md
    here=file://$PWD/docs
    "$support/collector" got > port 3>&- &
    collector=$!
    eventually test -s port
    url=http://127.0.0.1:$(cat port)/v1/traces
}

teardown() {
    for process in $collector $server; do
        kill "$process" 2> /dev/null && wait "$process" || true
    done
}

meta='"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'
request() { # request METHOD PARAMS [META], each with a comma at its end
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s"_meta":{%s%s}}}\n' $((++id)) "$1" "$2" "$3" "$meta"
}
is() { [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }; }
# spans: those that the collector got, a line each
spans() { cut -f3 got | jq -c '.resourceSpans[].scopeSpans[].spans[]'; }
# shape: names, kinds, failures and attributes of the spans
shape() { spans | jq -r '"\(.name)|\(.kind)|\(.status.code // 0)|\([.attributes[] | "\(.key)=\(.value.stringValue)"] | join(" "))"'; }

@test "requests, with their sources and outcomes" {
    {
        request resources/read "\"uri\":\"$here/a.md\","
        request resources/read "\"uri\":\"$here/no.md\","
        request tools/call '"name":"none",'
        request no/such ''
    } | "$MCPD" --traces "$url" --name 'my files' docs > /dev/null
    is "$(shape | sort)" "_OTHER|2|2|mcp.method.name=_OTHER mcpd.outcome=error error.type=error rpc.response.status_code=-32601
resources/read|2|0|mcp.method.name=resources/read mcp.resource.uri=$here/a.md mcpd.outcome=ok
resources/read|2|2|mcp.method.name=resources/read mcp.resource.uri=$here/no.md mcpd.outcome=not found error.type=not found rpc.response.status_code=-32602
source file:|1|0|mcpd.source=file:
source file:|1|2|mcpd.source=file:
tools/call none|2|2|mcp.method.name=tools/call gen_ai.tool.name=none mcpd.outcome=error error.type=error rpc.response.status_code=-32602"
    is "$(cut -f1,2 got | sort -u)" "-	/v1/traces"
    cut -f3 got | jq -e '.resourceSpans[0].resource.attributes | any(.key == "service.name" and .value.stringValue == "my files")'
    spans | jq -es 'all((.traceId | test("^[0-9a-f]{32}$")) and (.spanId | test("^[0-9a-f]{16}$"))
        and (.startTimeUnixNano | test("^[0-9]{19}$")) and .endTimeUnixNano >= .startTimeUnixNano)'
    # each source is in its request, which is the root of its trace
    spans | jq -es 'all(.[] | select(.name != "source file:"); .parentSpanId == null)
        and ([group_by(.traceId)[] | select(length == 2)] | length == 2
            and all(.[]; [.[].spanId] as $ids | any(.[]; .name == "source file:" and (.parentSpanId | IN($ids[])))))'
}

@test "a trace goes on: the caller's, and through another server, whatever flag the caller set" {
    cat > mcpd.json <<END
{"sources": [{"module": "mcp", "source": "$MCPD", "name": "far",
    "options": {"args": ["--traces", "$url", "--name", "far", "--resource-tools", "$PWD/docs"]}}],
 "name": "near", "traces": "$url"}
END
    trace=4bf92f3577b34da6a3ce929d0e0e4736
    request tools/call "\"name\":\"far_list_resources\"," "\"traceparent\":\"00-$trace-00f067aa0ba902b7-00\",\"baggage\":\"a=hunter2\"," |
        "$MCPD" --config mcpd.json --no-resource-tools > out
    grep -q a.md out
    grep -q 'far_list_resources' got
    of_trace() { spans | jq -c --arg t "$trace" 'select(.traceId == $t)'; }
    id() { of_trace | jq -r --arg name "$1" 'select(.name == $name).spanId'; }
    parent() { of_trace | jq -r --arg name "$1" 'select(.name == $name).parentSpanId'; }
    is "$(parent 'tools/call far_list_resources')" 00f067aa0ba902b7
    is "$(parent 'source mcp+far:')" "$(id 'tools/call far_list_resources')"
    is "$(parent 'call far')" "$(id 'source mcp+far:')"
    is "$(parent 'tools/call list_resources')" "$(id 'call far')"
    is "$(of_trace | jq -r 'select(.name == "call far").kind')" 3
    run ! grep -q hunter2 got
}

@test "the collector never gets arguments, queries, users in URIs, contents or tokens" {
    echo 'the content hunter2' > docs/s.md
    printf 'secret-of-the-collector\n' > auth
    {
        request tools/call "\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/s.md\",\"x\":\"hunter2\"},"
        request resources/read '"uri":"https://ann:hunter2@host/a?b",'
        request resources/read "\"uri\":\"$here/a.md?key=hunter2\","
        request resources/read "\"uri\":\"$here/a.md#hunter2\","
        request resources/read "\"uri\":\"$here/s.md\","
        request completion/complete '"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"hunter2"},'
        request prompts/get '"name":"p","arguments":{"a":"hunter2"},'
    } | "$MCPD" --traces "$url" --traces-auth-file auth --resource-tools docs > out
    grep -q hunter2 out
    run ! grep -q hunter2 got
    is "$(cut -f1 got | sort -u)" secret-of-the-collector
    is "$(spans | grep -c .)" "$(spans | jq -r 'select(all(.attributes[].key; IN("mcp.method.name", "gen_ai.tool.name",
        "gen_ai.prompt.name", "mcp.resource.uri", "mcp.session.id", "mcpd.outcome", "error.type", "rpc.response.status_code",
        "mcpd.source", "mcpd.server"))).name' | grep -c .)"
}

@test "the view of a request is named, and a path that is no view is not" {
    echo '{"sources": ["docs"], "views": {"team": {}, "hunter2": {}}}' > views.json
    request resources/list '' | "$MCPD" --config views.json --traces "$url" --view team > /dev/null
    views() { spans | jq -r 'select(.kind == 2) | [.attributes[] | select(.key == "mcpd.view").value.stringValue] | join(",")'; }
    is "$(views)" team
    spans | jq -es 'any(.kind != 2) and all(.[] | select(.kind != 2).attributes[]; .key != "mcpd.view")' # the request's alone
    serve --config views.json
    local path
    for path in /mcp /mcp/team /mcp/none /mcp/hunter3; do
        base=${base%/mcp*}
        request resources/list '' | curl -s -m 60 "$base$path" -H 'Content-Type: application/json' \
            -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/list' -d @- > /dev/null
    done
    figure_is_now() { [ "$(views | grep -c '')" = 3 ]; }
    eventually figure_is_now
    is "$(views | sort | tr '\n' ' ')" ' team team '
    run ! grep -q hunter got
}

# Serves over HTTP, with these options, and sets $base. $input is a file for standard input.
serve() {
    "$MCPD" --http 127.0.0.1:0 --traces "$url" "$@" docs < "${input:-/dev/null}" > out 2> log 3>&- 7>&- &
    server=$!
    eventually grep -q serving log
    base=$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' log)
}
ask() { # ask METHOD PARAMS NAME
    request "$1" "$2" | curl -s -m 60 "$base/mcp" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $1" \
        ${3:+-H "Mcp-Name: $3"} "${@:4}" -d @-
}
figure() { curl -s -m 60 "$base/metrics" | sed -n "s/^mcp_trace_spans_$1_total //p"; }
figure_is() { [ "$(figure "$1")" = "$2" ]; }

@test "over HTTP: the header, and how many spans were sent and refused" {
    echo part > got.answers
    serve
    trace=0af7651916cd43dd8448eb211c80319c
    ask resources/read "\"uri\":\"$here/a.md\"," "$here/a.md" -H "traceparent: 00-$trace-b7ad6b7169203331-01" | grep -q hello
    eventually figure_is lost 1
    is "$(figure sent)" 1
    spans | jq -es --arg t "$trace" 'any(.traceId == $t and .parentSpanId == "b7ad6b7169203331" and .name == "resources/read")'
}

@test "a collector that cannot accept them now gets them later, once" {
    printf '503\n429\n200\n' > got.answers
    serve
    ask resources/read "\"uri\":\"$here/a.md\"," "$here/a.md" | grep -q hello
    eventually figure_is sent 2
    is "$(figure lost)" 0
    is "$(spans | wc -l)" 2
}

@test "a collector that refuses them: they are lost, which is said once" {
    echo 400 > got.answers
    serve
    for i in 1 2; do
        ask resources/read "\"uri\":\"$here/a.md\"," "$here/a.md" | grep -q hello
        eventually figure_is lost $((2 * i))
    done
    is "$(grep -c 'does not accept spans: its status is 400' log)" 1
}

@test "a collector that answers nothing: requests do not wait, and what waits has a bound" {
    echo hang > got.answers
    mkfifo in
    exec 7<> in
    input=in serve --stdio
    for ((i = 0; i < 2000; i++)); do request resources/read "\"uri\":\"$here/a.md\","; done >&7
    answered() { [ "$(grep -c hello out)" = 2000 ]; }
    eventually answered
    # 4,000 spans: those that are being sent, 2,048 that wait, and the others. On a slow machine some of those that were being
    # sent have been given up, too.
    [ "$(figure lost)" -ge 1000 ]
    [ "$(figure lost)" -le 1952 ]
    is "$(figure sent)" 0
    exec 7>&-
}

@test "one of N" {
    for ((i = 0; i < 200; i++)); do request resources/read "\"uri\":\"$here/a.md\","; done |
        "$MCPD" --traces "$url" --traces-one-in 1000000 docs > out
    is "$(grep -c hello out)" 200
    [ ! -e got ]
}

@test "mistakes are said" {
    for options in "--traces collector:4318" "--traces ftp://x/" "--traces $url --traces-auth-file none" "--traces-one-in 5" \
        "--traces-auth-file docs/a.md"; do
        run --separate-stderr timeout 20 "$MCPD" $options docs < /dev/null
        [ "$status" -ne 0 ] || { echo "$options"; return 1; }
        [[ $stderr = *traces* || $stderr = *none* ]] || { echo "$options: $stderr"; return 1; }
    done
}

@test "a user or a password in the URL is refused, and never printed; the other option is the same" {
    local option user what
    for option in traces decisions; do
        for user in ann:hunter2 hunter2 ann:hun/hunter2; do
            jq -n --arg option $option --arg url "http://$user@127.0.0.1:1/v1/data/x" '{sources: ["docs"], ($option): $url}' > mcpd.json
            for what in "--$option http://$user@127.0.0.1:1/v1/data/x docs" "--$option htp://$user@x docs" "--config mcpd.json" \
                "--config mcpd.json --check-config" "--config mcpd.json --doctor" "--config mcpd.json --print-config mcpd"; do
                run timeout 60 "$MCPD" $what < /dev/null
                [ "$status" -ne 0 ] || { echo "$what"; return 1; }
                [[ $output == *"the URL must not contain a user or a password"*"$option-auth-file"* ]] || { echo "$what: $output"; return 1; }
                [[ $output != *hunter2* ]] || { echo "$what: $output"; return 1; }
            done
            [[ $output == *"mcpd.json:"* ]]
        done
    done
    timeout 60 "$MCPD" --traces 'http://127.0.0.1:1/v1?to=a@b' docs < /dev/null
}

@test "SIGHUP reads the authorization again" {
    echo one > auth
    serve --traces-auth-file auth
    ask resources/read "\"uri\":\"$here/a.md\"," "$here/a.md" | grep -q hello
    eventually figure_is sent 2
    echo two > auth
    kill -HUP "$server"
    goes_on() { ask resources/read "\"uri\":\"$here/a.md\"," "$here/a.md" | grep -q hello && grep -q '^two' got; }
    eventually goes_on
    is "$(cut -f1 got | sort -u | tr '\n' ' ')" 'one two '
}
