# Decisions (--decisions): what a policy server is asked and never told, what its answers do, and that everything that is no
# decision is a denial. Attackers: a model that a file told what to do (it calls what rules let it), another principal (kept
# decisions), whoever sits at the network (tokens).

bats_require_minimum_version 1.5.0
load support/eventually

setup() {
    : "${MCPD:=mcpd}"
    load support/talk.bash
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo hello >docs/a.md
    echo other >docs/b.md
    printf -- '---\narguments:\n  - name: what\n---\nSay {{what}}\n' >docs/greet.md
    here=file://$PWD/docs
    answers '{"effect":"allow"}'
    decider
    url=http://127.0.0.1:$(cat port)/v1/data/mcp/decision
}

teardown() {
    for process in ${policy:-} ${server:-} ${server_pid:-}; do
        kill "$process" 2>/dev/null && wait "$process" || true
    done
}

decider() {
    rm -f port
    "$BATS_TEST_DIRNAME/support/decider" got "$@" >port 3>&- &
    policy=$!
    eventually test -s port
}
# answers ANSWER [METHOD ANSWER]...: what is answered from now on, in general and for methods
answers() {
    local all
    all=$(jq -nc --argjson all "$1" '{"*": $all}')
    shift
    while [ $# -gt 0 ]; do
        all=$(jq -c --arg method "$1" --argjson what "$2" '.[$method] = $what' <<<"$all")
        shift 2
    done
    echo "$all" >new.answers
    mv new.answers got.answers
}
same() { [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }; }
# asked [FILTER]: the inputs of all questions so far, a line each
asked() { cut -f3 got | jq -c ".input | ${1:-.}"; }
number() { wc -l <got 2>/dev/null || echo 0; }
denied() { is "{\"code\":-31403,\"message\":\"Denied by policy: $1\"}"; }
none='the policy server gave no decision'

@test "a question has caller, revision, thing and exactly the arguments, and no part of the protocol" {
    for era in modern legacy; do
        rm -f got
        talk $era "$MCPD" --decisions "$url" --resource-tools --prompts docs docs
        revision=2026-07-28
        [ $era = modern ] || revision=2025-11-25
        result resources/read "{\"uri\":\"$here/%61.md?line=1\"}"
        is '"hello\n"' '.contents[0].text'
        same "$(asked)" "{\"principal\":{\"name\":\"stdio\"},\"method\":\"resources/read\",\"operation\":\"read\",\"revision\":\"$revision\",\"thing\":{\"type\":\"resource\",\"name\":\"$here/a.md\"},\"things\":[{\"type\":\"resource\",\"name\":\"$here/a.md\"}],\"arguments\":{\"uri\":\"$here/%61.md?line=1\"}}"
        meta='"x/secret":"hunter2"' result tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"}}"
        is '"hello\n"' '.content[0].text'
        same "$(asked | sed -n 2p)" "{\"principal\":{\"name\":\"stdio\"},\"method\":\"tools/call\",\"operation\":\"call\",\"revision\":\"$revision\",\"thing\":{\"type\":\"tool\",\"name\":\"read_resource\"},\"things\":[{\"type\":\"tool\",\"name\":\"read_resource\"}],\"arguments\":{\"uri\":\"$here/a.md\"}}"
        # what the tool reads is a question, too
        same "$(asked .method | sed -n 3p)" '"resources/read"'
        result prompts/get '{"name":"greet","arguments":{"what":"hi"}}'
        same "$(asked '[.thing, .arguments]' | tail -1)" '[{"type":"prompt","name":"greet"},{"what":"hi"}]'
        result completion/complete '{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"what","value":"h"}}'
        same "$(asked '[.method, .thing, .arguments.argument]' | tail -1)" '["completion/complete",{"type":"prompt","name":"greet"},{"name":"what","value":"h"}]'
        n=$(number)
        # not decided about: lists, and what is refused without it
        result resources/list '{}'
        result tools/list '{}'
        failure resources/read '{"uri":"file:///nowhere"}'
        failure tools/call '{"name":"none"}'
        request tools/call '{"name":"read_resource","arguments":{"uri":3}}'
        answer
        same "$(number)" $n
        run grep hunter2 got
        [ "$status" = 1 ]
        same "$(cut -f1,2 got | sort -u)" "-	/v1/data/mcp/decision"
        hush
    done
}

@test "a denial has the text of the policy, in the result of a tool or as an error, and in the audit log" {
    for era in modern legacy; do
        rm -f audit
        answers '{"effect":"deny","text":"not on \u0007Sundays"}'
        talk $era "$MCPD" --decisions "$url" --audit audit --resource-tools --prompts docs docs
        failure resources/read "{\"uri\":\"$here/a.md\"}"
        denied 'not on \u0007Sundays'
        failure prompts/get '{"name":"greet","arguments":{"what":"hi"}}'
        denied 'not on \u0007Sundays'
        failure completion/complete '{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"what","value":"h"}}'
        denied 'not on \u0007Sundays'
        result tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"}}"
        is '["Denied by policy: not on \u0007Sundays",true]' '[.content[0].text, .isError]'
        # what the tool reads is decided, too
        answers '{"effect":"allow"}' resources/read '{"effect":"deny","text":"no reads"}'
        result tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"}}"
        is true .isError
        hush
        same "$(jq -c 'select(.reason) | [.outcome, .reason]' audit | sort -u)" '["denied","policy d-1: no reads"]
["denied","policy d-1: not on \u0007Sundays"]'
    done
}

@test "subscriptions are decided when they begin, by the canonical names" {
    talk modern "$MCPD" --decisions "$url" docs
    answers '{"effect":"deny","text":"nobody listens"}'
    failure subscriptions/listen "{\"notifications\":{\"resourceSubscriptions\":[\"$here/%61.md\",\"file:///nowhere\"]}}"
    denied 'nobody listens'
    same "$(asked '[.things[0], .arguments.notifications.resourceSubscriptions[0]]')" "[{\"type\":\"resource\",\"name\":\"$here/a.md\"},\"$here/%61.md\"]"
    answers '{"effect":"allow"}'
    request subscriptions/listen "{\"notifications\":{\"resourceSubscriptions\":[\"$here/a.md\"]}}"
    hear '.method == "notifications/subscriptions/acknowledged"'
    echo changed >>docs/a.md
    hear '.method == "notifications/resources/updated"'
    hush
    talk legacy "$MCPD" --decisions "$url" docs
    answers '{"effect":"deny","text":"nobody listens"}'
    failure resources/subscribe "{\"uri\":\"$here/a.md\"}"
    denied 'nobody listens'
    answers '{"effect":"allow"}'
    result resources/subscribe "{\"uri\":\"$here/a.md\"}"
    echo changed >>docs/a.md
    hear '.method == "notifications/resources/updated"'
    hush
}

@test "whatever is no decision denies: slow, dead, malformed, without result, of another type" {
    talk modern "$MCPD" --decisions "$url" --decisions-ms 300 --resource-tools docs
    for answer in true false 500 400 301 '"x"' '"{}"' '"[]"' '"null"' '"{\"result\":true}"' '"{\"result\":{\"effect\":\"allow\"}"' \
        '"{\"result\":{\"effect\":\"deny\",\"effect\":\"allow\"}}"' '"{\"Result\":{\"effect\":\"allow\"}}"' '{}' 'null' '[]' '"allow"' '{"allow":true}' \
        '{"effect":true}' '{"effect":"Allow"}' '{"effect":"allow "}' '{"effect":["allow"]}' '{"effect":"allow","text":1}' \
        '{"effect":"allow","text":null}' '{"effect":"allow","ttl_ms":"1"}' '{"effect":"allow","ttl_ms":-1}'; do
        echo "# $answer"
        answers "$answer"
        failure resources/read "{\"uri\":\"$here/a.md\"}"
        denied "$none"
        result tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"}}"
        is "[\"Denied by policy: $none\",true]" '[.content[0].text, .isError]'
    done
    printf '{"*":"%070000d"}' 0 >got.answers # longer than an answer may be
    failure resources/read "{\"uri\":\"$here/a.md\"}"
    denied "$none"
    answers '{"effect":"allow","other":1}'
    result resources/read "{\"uri\":\"$here/a.md\"}"
    kill "$policy"
    wait "$policy" || true
    failure resources/read "{\"uri\":\"$here/a.md\"}"
    denied "$none"
    hush
    # said once each time that it begins and ends
    same "$(grep -c 'error: decisions: .* makes none: .*; everything is denied until it does' talk.log)" 2
    same "$(grep -c 'the policy server decides again' talk.log)" 1
}

@test "other requests go on while one waits, and one that is cancelled or whose client leaves is gone" {
    answers '{"effect":"allow"}' resources/read true
    talk legacy "$MCPD" --decisions "$url" --decisions-ms 60000 --audit audit --prompts docs docs
    request resources/read "{\"uri\":\"$here/a.md\"}"
    waits=$last_id
    eventually grep -q a.md got
    result prompts/get '{"name":"greet","arguments":{"what":"hi"}}'
    say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":$waits,\"reason\":\"enough\"}}"
    result ping '{}'
    eventually grep -q '"reason":"enough"' audit
    request resources/read "{\"uri\":\"$here/b.md\"}"
    eventually grep -q b.md got
    hush
}

@test "a decision is kept for its ttl_ms, for exactly the same question" {
    answers '{"effect":"allow","ttl_ms":600000}'
    talk modern "$MCPD" --decisions "$url" --prompts docs docs
    for _ in 1 2 3; do
        result resources/read "{\"uri\":\"$here/a.md\"}"
    done
    same "$(number)" 1
    result resources/read "{\"uri\":\"$here/a.md?line=1\"}"
    same "$(number)" 2 # another argument
    result resources/read "{\"uri\":\"$here/b.md\"}"
    result prompts/get '{"name":"greet","arguments":{"what":"hi"}}'
    result prompts/get '{"name":"greet","arguments":{"what":"ho"}}'
    same "$(number)" 5
    answers '{"effect":"deny","text":"no"}'
    result prompts/get '{"name":"greet","arguments":{"what":"hi"}}'
    failure prompts/get '{"name":"greet","arguments":{"what":"hey"}}'
    denied no
    failure prompts/get '{"name":"greet","arguments":{"what":"hey"}}' # without ttl_ms nothing is kept
    same "$(number)" 7
    hush
    answers '{"effect":"allow","ttl_ms":1}'
    talk modern "$MCPD" --decisions "$url" docs
    n=$(number)
    result resources/read "{\"uri\":\"$here/a.md\"}"
    sleep 0.05
    result resources/read "{\"uri\":\"$here/a.md\"}"
    same "$(number)" $((n + 2))
    # a failure is never kept, and ends nothing
    answers '"{\"result\":{\"effect\":\"no\",\"ttl_ms\":600000}}"'
    failure resources/read "{\"uri\":\"$here/a.md\"}"
    answers '{"effect":"allow"}'
    result resources/read "{\"uri\":\"$here/a.md\"}"
    hush
}

consent() { # ACTION CONTENT: repeats the call with an answer to its question
    local asked=$heard
    result tools/call "$(jq -c --argjson params "$params" --arg action "$1" --argjson content "$2" '
        $params + {requestState, inputResponses: (.inputRequests | map_values({$action} + if $action == "accept" then {$content} else {} end))}' <<<"$asked")"
}

@test "ask: one question with the text and the arguments, whose consent is good once" {
    answers '{"effect":"ask","text":"it is late"}' resources/read '{"effect":"allow"}'
    capabilities='{"elicitation":{"form":{}}}'
    talk modern "$MCPD" --decisions "$url" --audit audit --resource-tools docs
    params="{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"}}"
    result tools/call "$params"
    is "\"call read_resource\\n| it is late\\n| {\\\"uri\\\":\\\"$here/a.md\\\"}\"" '.inputRequests[].params.message'
    first=$heard
    consent accept '{"decision":"do it"}'
    is '"hello\n"' '.content[0].text'
    same "$(asked .method | tr '\n' ' ')" '"tools/call" "tools/call" "resources/read" ' # again in the round of the answer
    heard=$first
    consent accept '{"decision":"do it"}'
    is true .isError
    is true '.content[0].text | test("an answer is good once")'
    # the policy may have changed meanwhile
    result tools/call "$params"
    answers '{"effect":"deny","text":"too late"}'
    consent accept '{"decision":"do it"}'
    is '["Denied by policy: too late",true]' '[.content[0].text, .isError]'
    answers '{"effect":"ask","text":"it is late"}'
    result tools/call "$params"
    consent accept '{}' # without the choice
    is true .isError
    result tools/call "$params"
    consent decline null
    is true '.content[0].text | test("refused")'
    # only calls of tools can ask
    failure resources/read "{\"uri\":\"$here/a.md\"}"
    is true '.message | test("^Denied by policy: a person has to consent, and only")'
    hush
    same "$(jq -r 'select(.method == "tools/call") | .outcome' audit | sort | uniq -c | tr -s ' \n' ' ')" ' 4 denied 4 input required 1 ok '
    capabilities='{}'
    talk modern "$MCPD" --decisions "$url" --resource-tools docs
    result tools/call "$params"
    is true '.isError and (.content[0].text | test("this client cannot ask one"))'
    hush
}

@test "ask in a session: the request waits, and the policy is asked again after the answer" {
    answers '{"effect":"ask","text":"it is late"}' resources/read '{"effect":"allow"}'
    capabilities='{"elicitation":{}}'
    talk legacy "$MCPD" --decisions "$url" --resource-tools docs
    request tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/a.md\"}}"
    hear '.method == "elicitation/create"'
    is true '.params.message | test("^call read_resource\n\\| it is late")'
    say "{\"jsonrpc\":\"2.0\",\"id\":$(jq .id <<<"$heard"),\"result\":{\"action\":\"accept\",\"content\":{\"decision\":\"do it\"}}}"
    answer
    is '"hello\n"' '.result.content[0].text'
    same "$(asked .method | tr '\n' ' ')" '"tools/call" "tools/call" "resources/read" '
    hush
}

@test "a tool that asks something itself goes on after the consent, and the server behind it gets its own state" {
    [ -z "${MCPD_EMULATED:-}" ] || skip "qemu-user has no openat2(), without which nothing is written"
    cat >mcpd.json <<END
{"sources": [{"module": "mcp", "source": "$MCPD", "name": "far",
    "options": {"args": ["--config", "$PWD/far.json"]}}], "decisions": "$url"}
END
    mkdir files
    echo '{"sources":["files"],"access":[{"effect":"ask","operations":["create"],"resources":"files/**"}]}' >far.json
    answers '{"effect":"ask","text":"it is late"}'
    capabilities='{"elicitation":{"form":{}}}'
    talk modern "$MCPD" --config mcpd.json --no-resource-tools
    params=$(jq -nc --arg uri "file://$PWD/files/new.txt" '{name: "far_write_file", arguments: {uri: $uri, text: "new"}}')
    result tools/list '{}'
    jq -c '[.tools[].name]' <<<"$heard"
    result tools/call "$params"
    is true '.inputRequests[].params.message | test("^call far_write_file\n\\| it is late")'
    consent accept '{"decision":"do it"}'
    is true '.inputRequests[].params.message | test("create file:")'
    consent accept '{"decision":"do it"}'
    is null .isError
    same "$(cat files/new.txt)" new
    hush
}

serve() { # OPTION...
    "$MCPD" --http 127.0.0.1:0 "$@" >out 2>log 3>&- &
    server=$!
    eventually grep -q ' at http' log
    base=$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' log)
}
# post TOKEN VIEW METHOD PARAMS NAME: one request of 2026-07-28 over HTTP; sets $heard
post() {
    heard=$(curl -sS -m 60 "$base/mcp${2:+/$2}" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $3" \
        ${5:+-H "Mcp-Name: $5"} -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$3\",\"params\":{$4\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}")
}
read_as() { post "$1" "$2" resources/read "\"uri\":\"$here/a.md\"," "$here/a.md"; }
figure() { curl -s -m 60 -H "Authorization: Bearer $alice" "$base/metrics" | sed -n "s/^mcp_decisions_$1 //p"; }

@test "over HTTP: callers and views, whose kept decisions are their own; tokens never leave; metrics and a reload" {
    alice=0123456789abcdef0123456789abcdef bob=fedcba9876543210fedcba9876543210
    cat >mcpd.json <<END
{"sources": ["docs"], "tokens": {"alice": "$alice", "bob": "$bob"}, "views": {"team": {"sources": ["docs"]}},
 "access": [{"effect": "deny", "resources": "docs/b.md"}], "decisions": "$url", "decisions-auth-file": "auth"}
END
    (umask 077 && echo 'Bearer of-the-policy' >auth)
    answers '{"effect":"allow","ttl_ms":600000}'
    serve --config mcpd.json
    read_as $alice ''
    is '"hello\n"' '.result.contents[0].text'
    read_as $alice ''
    read_as $bob ''
    read_as $alice team
    same "$(asked '[.principal, .view]')" '[{"name":"alice"},null]
[{"name":"bob"},null]
[{"name":"alice"},"team"]'
    # what rules deny is not asked
    post $alice '' resources/read "\"uri\":\"$here/b.md\"," "$here/b.md"
    is '"Resource not found"' .error.message
    same "$(number)" 3
    same "$(cut -f1 got | sort -u)" 'Bearer of-the-policy'
    run grep -E "$alice|$bob" got
    [ "$status" = 1 ]
    answers '{"effect":"deny","text":"no"}'
    read_as $bob ''
    is '"hello\n"' '.result.contents[0].text'
    read_as $bob team
    is -31403 .error.code
    answers 500
    read_as $bob team
    same "$(figure allowed_total) $(figure denied_total) $(figure failed_total) $(figure cached_total) $(figure waiting)" '3 1 1 2 0'
    # a reload forgets what was kept, and reads the file again
    answers '{"effect":"deny","text":"after the reload"}'
    echo 'Bearer the-next' >auth
    kill -HUP "$server"
    eventually grep -q 'was reloaded' log || eventually eval 'read_as $alice ""; grep -q "after the reload" <<<"$heard"'
    read_as $alice ''
    is '"Denied by policy: after the reload"' .error.message
    same "$(tail -1 got | cut -f1)" 'Bearer the-next'
}

@test "more questions at a time than there may be are denied at once, those of others are not" {
    answers true
    alice=0123456789abcdef0123456789abcdef bob=fedcba9876543210fedcba9876543210
    echo "{\"sources\": [\"docs\"], \"tokens\": {\"alice\": \"$alice\", \"bob\": \"$bob\"}, \"decisions\": \"$url\", \"decisions-ms\": 60000}" >mcpd.json
    serve --config mcpd.json
    for _ in {1..64}; do
        read_as $alice '' &
    done 3>&- >/dev/null 2>&1
    eventually eval '[ "$(number)" = 64 ]'
    read_as $alice ''
    is '"Denied by policy: too many decisions are awaited; try again later"' .error.message
    answers '{"effect":"allow"}'
    read_as $bob ''
    is '"hello\n"' '.result.contents[0].text'
    same "$(figure waiting)" 64
}

@test "at a Unix socket, and --doctor" {
    kill "$policy"
    wait "$policy" || true
    policy=
    decider there.sock
    here_url=unix:$PWD/there.sock:/v1/data/mcp/decision
    talk modern "$MCPD" --decisions "$here_url" docs
    result resources/read "{\"uri\":\"$here/a.md\"}"
    same "$(cut -f2 got)" /v1/data/mcp/decision
    hush
    rm got
    run "$MCPD" --doctor --decisions "$here_url" docs
    [ "$status" = 0 ]
    [[ $output = *"ok      decisions: unix:$PWD/there.sock:/v1/data/mcp/decision decides: allow for a request of nobody"* ]]
    same "$(asked)" '{"principal":{"name":"mcpd --doctor"},"method":"ping","operation":"read","things":[],"arguments":{}}'
    answers '"{}"'
    run "$MCPD" --doctor --decisions "$here_url" docs
    [ "$status" = 1 ]
    [[ $output = *'WRONG   decisions: '*' makes none: it has no decision for this (no "result"); everything would be denied'* ]]
}

@test "mistakes in the options" {
    echo x >auth
    for options in "--decisions localhost:8181" "--decisions ftp://x/v1/data/a" "--decisions unix:/x" "--decisions unix::/v1/data/a" \
        "--decisions-ms 5" "--decisions-ms 200" "--decisions-auth-file auth" "--decisions $url --decisions-auth-file none" \
        "--decisions $url --decisions-auth-file docs/a.md"; do
        [ "$options" != "--decisions $url --decisions-auth-file docs/a.md" ] || chmod o+w docs/a.md
        run --separate-stderr timeout 60 "$MCPD" $options docs </dev/null
        [ "$status" != 0 ] || { echo "$options"; return 1; }
        [[ $stderr = *decisions* || $stderr = *none* || $stderr = *a.md* ]] || { echo "$options: $stderr"; return 1; }
    done
}
