#!/usr/bin/env bats
# What a server answers has the shape of its revision before anybody sees it: with mcpctl, and through mcpd.

load support/mcpctl

malformed=$BATS_TEST_DIRNAME/support/malformed

# said RESULT: what mcpctl says about this result of a call, and its status
said() {
    run --separate-stderr "$MCPCTL" call --yes say "result=$1" -- "$malformed"
    echo "$status $(grep -v warning: <<<"$stderr" | head -1)"
}

@test "a malformed result of a call is an error with its place" {
    local result wanted
    while IFS='|' read -r result wanted; do
        echo "$result: $(said "$result")"
        [[ $(said "$result") == "4 mcpctl: call say: the answer to tools/call is malformed: $wanted" ]]
    done <<'RESULTS'
{}|/result/content: expected array, got nothing
{"content":"x"}|/result/content: expected array, got string
{"content":[5]}|/result/content/0: expected object, got integer
{"content":[{"type":"text"}]}|/result/content/0/text: expected string, got nothing
{"content":[{"type":"image","mimeType":"image/png","data":"no Base64"}]}|/result/content/0/data: expected Base64, got another string
{"content":[{"type":"text","text":"a"}],"isError":"no"}|/result/isError: expected boolean, got string
RESULTS
    [[ $(said '[5]') == "4 mcpctl: call say: the server answered with array instead of an object" ]]
}

@test "null for what may be absent, and unknown members, are no fault" {
    run -0 --separate-stderr "$MCPCTL" call --yes say \
        'result={"content":[{"type":"text","text":"fine","annotations":null,"new":1}],"isError":null,"other":{}}' -- "$malformed"
    [ "$output" = fine ]
    [ "$stderr" = "mcpctl: warning: 2 of 3 entries of tools/list are malformed and left out: /result/tools/1/inputSchema/type: expected \"object\", got \"string\"" ]
}

@test "malformed entries of lists are left out, and said" {
    run -0 --separate-stderr "$MCPCTL" ls -- "$malformed"
    [ "$output" = mem:a ]
    [[ $stderr == *"1 of 2 entries of resources/list are malformed and left out: /result/resources/1/name: expected string, got nothing"* ]]
    run -0 --separate-stderr "$MCPCTL" prompts -- "$malformed"
    [ "$output" = hello ]
}

@test "mcpd leaves malformed entries of another server out, and names the server of a malformed result" {
    run -0 --separate-stderr "$MCPCTL" tools -- "$MCPD" --no-resource-tools "mcp:$malformed?name=up"
    [ "$output" = 'up_say' ]
    run -1 --separate-stderr "$MCPCTL" call --yes up_say 'result={"content":[{"type":"text"}]}' -- \
        "$MCPD" --no-resource-tools "mcp:$malformed?name=up"
    echo "$stderr"
    [[ $stderr == *"The server up "*"the answer to tools/call is malformed: /result/content/0/text: expected string, got nothing"* ]]
    run -0 --separate-stderr "$MCPCTL" prompts --verbose -- "$MCPD" --no-resource-tools "mcp:$malformed?name=up"
    [ "$output" = up_hello ]
    [[ $stderr == *"warning"*"up"*"1 of 2 entries of prompts/list are malformed and left out: /result/prompts/0/name"* ]]
}

@test "a malformed notification is said and ignored; the call goes on" {
    local notice='notice={"method":"notifications/message","params":{"level":"loud","data":"x"}}'
    run -0 --separate-stderr "$MCPCTL" call --yes say "$notice" 'result={"content":[]}' --verbose -- "$malformed"
    echo "$stderr"
    [[ $stderr == *"warning: a notification is malformed and ignored: notifications/message: /params/level: expected "*', got "loud"'* ]]
    [[ $stderr != *"the server says"* ]]
    run -0 --separate-stderr "$MCPCTL" call --yes up_say "$notice" 'result={"content":[]}' --verbose -- \
        "$MCPD" --no-resource-tools "mcp:$malformed?name=up"
    [[ $stderr == *"up"*"a notification is malformed and ignored: notifications/message: /params/level"* ]]
    [[ $stderr != *"(loud)"* ]]
}
