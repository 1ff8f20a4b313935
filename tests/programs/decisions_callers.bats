# Decisions (--decisions) and who asks: the groups of a caller, kept decisions that end with the token of their caller, and
# requests about tasks. Attackers: somebody with a withdrawn or expired token, and a caller who may begin a task but must not
# see, change or end it.

bats_require_minimum_version 1.5.0
load support/eventually
load support/issuer

setup() {
    : "${MCPD:=mcpd}"
    for tool in curl openssl python3; do
        command -v $tool >/dev/null || skip "$tool is not installed"
    done
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo hello >docs/a.md
    here=file://$PWD/docs
    issuer
    answers '{"effect":"allow"}'
    rm port
    "$BATS_TEST_DIRNAME/support/decider" got >port 3>&- &
    policy=$!
    eventually test -s port
    url=http://127.0.0.1:$(cat port)/v1/data/mcp/decision
}

teardown() {
    for process in ${policy:-} ${server_pid:-}; do
        kill "$process" 2>/dev/null && wait "$process" || true
    done
    stop_issuer
}

# answers ANSWER [METHOD ANSWER]: what is answered from now on, in general and for a method
answers() {
    jq -nc --argjson all "$1" --arg method "${2:-*}" --argjson one "${3:-$1}" '{"*": $all, ($method): $one}' >new.answers
    mv new.answers got.answers
}
same() { [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }; }
asked() { cut -f3 got | jq -c ".input | ${1:-.}"; } # [FILTER]
number() { wc -l <got 2>/dev/null || echo 0; }
read_with() { ask resources/read "\"uri\":\"$here/a.md\"," -H "Mcp-Name: $here/a.md" -H "Authorization: Bearer $1"; } # TOKEN
reload() { # TIMES
    kill -HUP "$server"
    eventually eval '[ "$(grep -c "was reloaded" log)" = '"$1"' ]'
}

with_issuer() {
    cat >mcpd.json <<END
{"sources": ["docs"], "http": "127.0.0.1:0", "decisions": "$url", "oauth": {"resource": "https://r.example/mcp",
 "issuers": [{"issuer": "$iss", "audiences": ["https://r.example/mcp"], "groups": "groups"}]}}
END
    serve
}

@test "a question has the issuer, the subject, the scopes and the groups of the caller" {
    with_issuer
    has "$(read_with "$(token ada 'base deep' ',"groups":["staff","on call"]')")" hello
    same "$(asked .principal)" "{\"name\":\"$iss#ada\",\"issuer\":\"$iss\",\"subject\":\"ada\",\"groups\":[\"staff\",\"on call\"],\"scopes\":[\"base\",\"deep\"]}"
    # nobody knows the groups, or they are no list of names
    for claims in '' ',"groups":"staff"' ',"groups":["staff",1]' ',"groups":{"staff":true}' ',"roles":["staff"]'; do
        rm got
        has "$(read_with "$(token ada base "$claims")")" hello
        same "$(asked .principal)" "{\"name\":\"$iss#ada\",\"issuer\":\"$iss\",\"subject\":\"ada\",\"scopes\":[\"base\"]}"
    done
    # groups are part of the question: what is kept for a member counts for nobody else
    answers '{"effect":"allow","ttl_ms":600000}'
    good=$(token ada base ',"groups":["staff"]')
    read_with "$good" >/dev/null
    n=$(number)
    has "$(read_with "$good")" hello
    same "$(number)" "$n"
    answers '{"effect":"deny","text":"no"}'
    has "$(read_with "$good")" hello
    has "$(read_with "$(token ada base ',"groups":["guests"]')")" 'Denied by policy: no'
}

@test "a kept decision is for one token, and ends when it expires" {
    with_issuer
    answers '{"effect":"allow","ttl_ms":600000}'
    short=$(lifetime=-45 token ada base '') # 60 seconds of difference between clocks are tolerated
    has "$(read_with "$short")" hello
    has "$(read_with "$short")" hello
    same "$(number)" 1
    answers '{"effect":"deny","text":"no longer"}'
    has "$(read_with "$short")" hello
    # the same caller, with the same groups and scopes, and another token
    has "$(read_with "$(token ada base '')")" 'Denied by policy: no longer'
    same "$(number)" 2
    expired() { [[ $(read_with "$short") == *' 401 '* ]]; }
    eventually expired
    has "$(read_with "$(token ada base '')")" 'Denied by policy: no longer'
    same "$(number)" 3
}

@test "a kept decision ends with the token that a reload removes" {
    one=0123456789abcdef0123456789abcdef two=fedcba9876543210fedcba9876543210
    tokens() { # MEMBERS
        echo "{\"sources\": [\"docs\"], \"http\": \"127.0.0.1:0\", \"tokens\": {$1}, \"decisions\": \"$url\"}" >mcpd.json
    }
    tokens "\"ada\": \"$one\", \"bob\": \"$two\""
    serve
    answers '{"effect":"allow","ttl_ms":600000}'
    has "$(read_with $one)" hello
    answers '{"effect":"deny","text":"no longer"}'
    has "$(read_with $one)" hello
    same "$(number)" 1
    tokens "\"bob\": \"$two\""
    reload 1
    has "$(read_with $one)" ' 401 '
    same "$(number)" 1
    # it comes back, for the same name
    tokens "\"ada\": \"$one\", \"bob\": \"$two\""
    reload 2
    has "$(read_with $one)" 'Denied by policy: no longer'
    same "$(number)" 2
}

with_jobs() {
    echo "{\"sources\": [{\"module\": \"mcp\", \"source\": \"$MCP_BUILD_DIR/tests/conformance-server\", \"name\": \"jobs\",
        \"options\": {\"args\": [\"--stdio\"]}}], \"decisions\": \"$url\", \"resource-tools\": false}" >mcpd.json
}
make() { # ARGUMENTS OF THE CALL: sets $task
    result tools/call "$1"
    task=$(jq -r '.taskId // .task.taskId' <<<"$heard")
    [ "$task" != null ]
}
denied() { is "{\"code\":-31403,\"message\":\"Denied by policy: $1\"}"; }
question_of() { # METHOD: what was asked last
    same "$(asked | tail -1)" "{\"principal\":{\"name\":\"stdio\"},\"method\":\"$1\",\"operation\":\"$2\",\"revision\":\"$3\",\"things\":[],\"arguments\":$4}"
}
now_is() { result tasks/get "{\"taskId\":\"$task\"}"; [ "$(jq -r .status <<<"$heard")" = "$1" ]; }
about() { jq -nc --arg id "$task" '{taskId: $id}'; }

@test "requests about a task are decided, each by itself" {
    load support/talk.bash
    with_jobs
    capabilities='{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}'
    talk modern "$MCPD" --config mcpd.json
    make '{"name":"jobs_confirm_delete","arguments":{"filename":"f"}}'
    same "$(asked '[.method, .thing.name, .arguments]')" '["tools/call","jobs_confirm_delete",{"filename":"f"}]'
    eventually now_is input_required
    question_of tasks/get read 2026-07-28 "$(about)"
    input=$(jq -c --arg id "$task" '{taskId: $id, inputResponses: (.inputRequests | map_values({action: "accept", content: {confirm: true}}))}' <<<"$heard")
    answers '{"effect":"deny","text":"hands off"}'
    failure tasks/get "$(about)"
    denied 'hands off'
    failure tasks/update "$input"
    denied 'hands off'
    # the answers to the question are not in it
    question_of tasks/update call 2026-07-28 "$(about)"
    failure tasks/cancel "$(about)"
    denied 'hands off'
    question_of tasks/cancel call 2026-07-28 "$(about)"
    # nothing of it has happened; a person cannot be asked about it
    answers '{"effect":"allow"}' tasks/cancel '{"effect":"ask"}'
    now_is input_required
    failure tasks/cancel "$(about)"
    is true '.message | test("^Denied by policy: a person has to consent, and only")'
    now_is input_required
    result tasks/update "$input"
    eventually now_is completed
    is true '.result.content[0].text | test("Deleted f")'
    hush
}

@test "requests about a task of 2025-11-25 are decided, each by itself" {
    load support/talk.bash
    with_jobs
    talk legacy "$MCPD" --config mcpd.json
    make '{"name":"jobs_slow_compute","arguments":{"seconds":600,"label":"x"},"task":{}}'
    same "$(asked '[.method, .thing.name, .task, .arguments]')" '["tools/call","jobs_slow_compute",true,{"seconds":600,"label":"x"}]'
    answers '{"effect":"deny","text":"hands off"}'
    for method in tasks/get tasks/result tasks/cancel; do
        failure $method "$(about)"
        denied 'hands off'
        operation="read"
        [ $method != tasks/cancel ] || operation="call"
        question_of $method $operation 2025-11-25 "$(about)"
    done
    failure tasks/list '{}'
    denied 'hands off'
    question_of tasks/list read 2025-11-25 '{}'
    failure tools/call '{"name":"jobs_slow_compute","arguments":{"seconds":0,"label":"y"},"task":{}}'
    denied 'hands off'
    answers '{"effect":"allow"}'
    now_is working
    result tasks/cancel "$(about)"
    now_is cancelled
    make '{"name":"jobs_slow_compute","arguments":{"seconds":0,"label":"z"},"task":{}}'
    result tasks/result "$(about)"
    is true '.content[0].text | test("Computed z")'
    hush
}
