# The examples do what their head comments say, in both eras.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPCTL:=mcpctl}" "${MCP_BUILD_DIR:=build/release}"
    examples=$MCP_BUILD_DIR/examples
    load support/talk
}

# eras FUNCTION EXAMPLE: runs FUNCTION in a conversation of each era
eras() {
    local each
    for each in modern legacy; do
        echo "$each:"
        talk "$each" "$examples/$2"
        "$1"
        hush
    done
}

# call NAME [ARGUMENTS]: gets the result of tools/call
call() { result tools/call "{\"name\":\"$1\",\"arguments\":${2:-{\}}}"; }
# text WANTED: compares the first text of that result
text() { is "\"$1\"" '.content[0].text'; }

# complete REF ARGUMENT VALUE [CONTEXT]: gets the completed values
complete() {
    result completion/complete "{\"ref\":$1,\"argument\":{\"name\":\"$2\",\"value\":\"$3\"},
        \"context\":{\"arguments\":${4:-{\}}}}"
    heard=$(jq -c .completion.values <<<"$heard")
}

@test "hello: a resource, a template and a tool" {
    [ "$("$MCPCTL" ls -- "$examples/hello")" = hello:world ]
    [ "$("$MCPCTL" read hello:world -- "$examples/hello")" = 'Hello, world!' ]
    [ "$("$MCPCTL" read hello:name/J%C3%B6 -- "$examples/hello")" = 'Hello, Jö!' ]
    hello() {
        call greet '{"name":"Ada"}'
        is '[[{"type":"text","text":"Hello, Ada!"}],null]' '[.content, .isError]'
        call greet
        is '["Invalid arguments for tool greet: (root): missing property \"name\" (required)",true]' \
            '[.content[0].text, .isError]'
    }
    eras hello hello
}

@test "cpp: handlers that throw" {
    [ -x "$examples/cpp" ] || skip "there is no C++ compiler"
    [ "$("$MCPCTL" read length:abc -- "$examples/cpp")" = 'abc has 3 bytes' ]
    roots() {
        call sqrt '{"of":2}'
        text 1.41421
        call sqrt '{"of":"two"}'
        text 'Invalid arguments for tool sqrt: /of: expected number, got string (type)'
        call sqrt '{"of":-1}'
        is '["A negative number has no square root: give one from 0 on",true]' '[.content[0].text, .isError]'
    }
    eras roots cpp
}

@test "own_loop: the engine alone, on poll(2)" {
    reminds() {
        call remind '{"ms":20}'
        text 'It is time'
        call remind '{"ms":-1}'
        text 'ms is 0 or more'
    }
    eras reminds own_loop
    ! ldd "$examples/own_loop" | grep -E 'libuv|libcurl|libssl|libcrypto|libmcp-io'
}

@test "garden: a whole server in at most 115 lines" {
    [ "$(wc -l <"$BATS_TEST_DIRNAME/../../examples/garden.c")" -le 115 ]
    [ "$("$MCPCTL" ls -- "$examples/garden" | tr '\n' ' ')" = 'garden:herbs garden:roots ' ]
    [ "$("$MCPCTL" read garden:roots -- "$examples/garden")" = '0 litres today' ]
    waters() {
        result tools/list '{}'
        is '{"properties":{"bed":{"type":"string","enum":["herbs","roots"]},"litres":{"type":"integer","description":"10 if missing","minimum":1,"maximum":50}},"required":["bed"],"additionalProperties":false}' \
            '.tools[0].inputSchema | {properties, required, additionalProperties}'
        call water '{"bed":"herbs","litres":2}'
        is '{"poured":2}' .structuredContent
        call water '{"bed":"hall"}'
        is true .isError
        complete '{"type":"ref/resource","uri":"garden:{bed}"}' bed r
        [ "$heard" = '["roots"]' ]
        result prompts/get '{"name":"advise","arguments":{"bed":"roots"}}'
        is '"Does garden:roots want water?"' '.messages[0].content.text'
    }
    eras waters garden
}

@test "tool: arguments and results that have schemas" {
    converts() {
        result tools/list '{}'
        is '["convert","Convert units",true,["value","from","to"],["value","unit"]]' \
            '.tools[0] | [.name, .title, .annotations.readOnlyHint, .inputSchema.required, .outputSchema.required]'
        call convert '{"value":1,"from":"mile","to":"km"}'
        is '[{"value":1.609344,"unit":"km"},{"value":1.609344,"unit":"km"},null]' \
            '[.structuredContent, (.content[0].text | fromjson), .isError]'
        call convert '{"value":212,"from":"fahrenheit","to":"celsius"}'
        is 100 '.structuredContent.value | round'
    }
    eras converts tool
}

@test "tool: the error of a wrong call tells how to correct it" {
    complains() {
        call convert '{"value":"1","from":"mile","to":"km"}'
        is '["Invalid arguments for tool convert: /value: expected number, got string (type)",true]' \
            '[.content[0].text, .isError]'
        call convert '{"value":1,"from":"mile","to":"parsec"}'
        is '[true,true]' '[.isError, (.content[0].text | test("/to: .*enum"))]'
        call convert '{"value":1,"from":"mile","to":"kg"}'
        is '["mile is a unit of length, but kg is a unit of mass",true,null]' \
            '[.content[0].text, .isError, .structuredContent]'
    }
    eras complains tool
}

@test "prompt: messages with a guide, or an error with the reason" {
    prompts() {
        result prompts/list '{}'
        is '["review",[["language",true],["framework",null]]]' \
            '.prompts[0] | [.name, [.arguments[] | [.name, .required]]]'
        result prompts/get '{"name":"review","arguments":{"language":"python","framework":"flask"}}'
        is '["A review by the rules of the house","guide:python","Review this python code, which uses flask.","assistant"]' \
            '[.description, .messages[0].content.resource.uri, .messages[1].content.text, .messages[2].role]'
        failure prompts/get '{"name":"review"}'
        is -32602 .code
        failure prompts/get '{"name":"review","arguments":{"language":"cobol"}}'
        is '[-32602,"There is no guide for cobol, only for c, perl and python"]' '[.code, .message]'
        result resources/read '{"uri":"guide:perl"}'
        is '"use strict; use warnings;\n"' '.contents[0].text'
    }
    eras prompts prompt
}

@test "prompt: the completion of one argument depends on the other" {
    completes() {
        local ref='{"type":"ref/prompt","name":"review"}'
        complete "$ref" language p
        is '["perl","python"]'
        complete "$ref" framework '' '{"language":"c"}'
        is '["gtk","libuv"]'
        complete "$ref" framework d
        is '["dancer","django"]'
        complete "$ref" framework x '{"language":"c"}'
        is '[]'
    }
    eras completes prompt
}

@test "resources: a provider is listed and read, a template completed" {
    notes() {
        local uri ref='{"type":"ref/resource","uri":"notes:///{name}/{line}"}'
        result resources/list '{}'
        is '[["notes:///shopping",18],["notes:///todo",17]]' '[.resources[] | [.uri, .size]]'
        result resources/read '{"uri":"notes:///shopping"}'
        is '"milk\nbread\na cake\n"' '.contents[0].text'
        result resources/read '{"uri":"notes:///shopping/3"}'
        is '"a cake"' '.contents[0].text'
        for uri in notes:///none notes:///none/1 notes:///shopping/0 notes:///shopping/4 notes:///shopping/-1; do
            failure resources/read "{\"uri\":\"$uri\"}"
            is "\"$uri\"" .data.uri
        done
        complete "$ref" name s
        is '["shopping"]'
        complete "$ref" line '' '{"name":"shopping"}'
        is '["1","2","3"]'
        call find_notes '{"word":"provider"}'
        is '[["text",null],["resource_link","notes:///todo"]]' '[.content[] | [.type, .uri]]'
    }
    eras notes resources
}

@test "resources: pages stay correct when notes are added between requests" {
    pages() {
        local i cursor
        for ((i = 100; i < 250; i++)); do
            request tools/call "{\"name\":\"write_note\",\"arguments\":{\"name\":\"n$i\",\"text\":\"x\"}}"
        done
        result resources/list '{}'
        is '[100,"notes:///n199"]' '[(.resources | length), .resources[-1].uri]'
        cursor=$(jq -c '{cursor: .nextCursor}' <<<"$heard")
        call write_note '{"name":"a","text":"before"}'
        call write_note '{"name":"n1995","text":"behind"}'
        result resources/list "$cursor"
        is '[53,"notes:///n1995",null]' '[(.resources | length), .resources[0].uri, .nextCursor]'
    }
    eras pages resources
}

@test "resources: changes are notified" {
    changes() {
        local list=notifications/resources/list_changed one=notifications/resources/updated seen
        if [ "$era" = modern ]; then
            request subscriptions/listen '{"notifications":
                {"resourcesListChanged":true,"resourceSubscriptions":["notes:///new"]}}'
            hear '.method == "notifications/subscriptions/acknowledged"'
        else
            result resources/subscribe '{"uri":"notes:///new"}'
        fi
        request tools/call '{"name":"write_note","arguments":{"name":"new","text":"one"}}'
        hear ".method == \"$list\" or .method == \"$one\" and .params.uri == \"notes:///new\""
        seen=$(jq .method <<<"$heard")
        hear ".method != $seen and (.method == \"$list\" or .method == \"$one\" and .params.uri == \"notes:///new\")"
    }
    eras changes resources
}

@test "long: a timer, with progress and a message" {
    waits() {
        local i meta='"progressToken":"p"'
        [ "$era" = legacy ] || meta+=',"io.modelcontextprotocol/logLevel":"info"'
        request tools/call '{"name":"wait","arguments":{"seconds":0.6}}'
        hear '.method == "notifications/message"'
        is '["info","wait","waiting for 0.6 s"]' '.params | [.level, .logger, .data]'
        for i in 1 2 3 4 5 6 7 8 9 10; do
            hear '.method == "notifications/progress"'
            is "[\"p\",$i,10]" '.params | [.progressToken, .progress, .total]'
        done
        answer
        is '"Waited for 0.6 s"' '.result.content[0].text'
    }
    eras waits long
}

# cancelled ID: cancels the request, and checks that all calls end soon
cancelled() {
    local i
    say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'"$1"'}}'
    for ((i = 0; i < 3000; i++)); do
        call status
        ! text '0 running, 1 cancelled' >/dev/null || return 0
        sleep 0.02
    done
    text '0 running, 1 cancelled'
}

@test "long: a cancelled call ends, and so does the call of a client that disconnected" {
    cancels() {
        request tools/call '{"name":"wait","arguments":{"seconds":3600}}'
        cancelled "$last_id"
        [ "$era" = modern ] || request tools/call '{"name":"wait","arguments":{"seconds":3600}}'
    }
    eras cancels long
}

@test "long: a worker thread, while other requests are answered" {
    counts() {
        meta='"progressToken":1' request tools/call '{"name":"count_primes","arguments":{"below":1000000000}}'
        local slow=$last_id
        hear '.method == "notifications/progress" and .params.total == 1000000000'
        call status
        text '1 running, 0 cancelled'
        call count_primes '{"below":100}'
        text '25 primes below 100'
        cancelled "$slow"
    }
    eras counts long
}

# asked KEY: waits until the server answers the last request with an input request, which becomes
# $heard. reply ANSWER: sends the answer; a modern client repeats the request with it.
asked() {
    key=$1
    if [ "$era" = modern ]; then
        answer
        asks=$heard
        heard=$(jq -ce ".result.inputRequests.$1.params" <<<"$asks")
    else
        hear 'has("method") and has("id")'
        asks=$heard
        heard=$(jq -c .params <<<"$asks")
    fi
}
reply() {
    if [ "$era" = modern ]; then
        request tools/call "$(jq -cn --argjson asks "$asks" --argjson params "$params" --argjson answer "$1" --arg key "$key" \
            '$params + {requestState: $asks.result.requestState, inputResponses: {($key): $answer}}')"
    else
        say "$(jq -c --argjson answer "$1" '{jsonrpc, id, result: $answer}' <<<"$asks")"
    fi
}

# book DAY ANSWER: calls book_table and answers the form
book() {
    params="{\"name\":\"book_table\",\"arguments\":{\"day\":\"$1\"}}"
    request tools/call "$params"
    asked table
    is '["Which table shall I book?",2,["window","garden","bar"],false]' \
        '[.message, (.requestedSchema.properties | .guests.default, .seats.enum, .highchair.default)]'
    reply "$2"
}

@test "ask: a form, and the results of its answers" {
    capabilities='{"elicitation":{}}'
    asks_for_table() {
        book Friday '{"action":"accept","content":{"guests":4,"seats":"garden"}}'
        answer
        is '"Table 1 is booked for Friday: 4 guests, garden. Enjoy your meal!"' '.result.content[0].text'
        book Friday '{"action":"decline"}'
        answer
        is '"No table was booked: the user does not want one."' '.result.content[0].text'
        book Friday '{"action":"cancel"}'
        answer
        is '"No table was booked: the user does not want one."' '.result.content[0].text'
    }
    eras asks_for_table ask
}

@test "ask: a client that cannot ask the user" {
    alone() {
        failure tools/call '{"name":"book_table","arguments":{"day":"Friday"}}'
        is '{"elicitation":{"form":{}}}' .data.requiredCapabilities
    }
    eras alone ask
}

@test "ask: the client's model adds a sentence, and the table is booked once" {
    capabilities='{"elicitation":{},"sampling":{}}'
    samples() {
        local day tables=0
        for day in Friday Saturday; do
            book "$day" '{"action":"accept","content":{"guests":1}}'
            asked compliment
            is '[60,"user"]' '[.maxTokens, .messages[0].role]'
            reply '{"role":"assistant","model":"m","content":{"type":"text","text":"Bon appetit!"}}'
            answer
            is "\"Table $((++tables)) is booked for $day: 1 guests, any seats. Bon appetit!\"" \
                '.result.content[0].text'
        done
    }
    eras samples ask
}

@test "ask: a web page, whose address is different for each call" {
    capabilities='{"elicitation":{"url":{}}}'
    pays() {
        local url
        params='{"name":"pay_deposit"}'
        request tools/call "$params"
        asked deposit
        url=$(jq -r .url <<<"$heard")
        [[ $url =~ ^https://pay\.example\.com/deposit/[0-9a-f]{32}$ ]]
        reply '{"action":"accept"}'
        answer
        is "\"The user is on the way to $url\"" '.result.content[0].text'
        request tools/call "$params"
        asked deposit
        [ "$(jq -r .url <<<"$heard")" != "$url" ]
        reply '{"action":"cancel"}'
        answer
        is true '.result.isError'
    }
    eras pays ask
}

@test "the commands in the head comments" {
    [ "$("$MCPCTL" call --yes convert value=26.2 from=mile to=km -- "$examples/tool" | jq -c .)" = \
        '{"value":42.1648128,"unit":"km"}' ]
    "$MCPCTL" prompt review language=python framework=flask -- "$examples/prompt" | grep -q 'which uses flask'
    [ "$("$MCPCTL" call --yes wait seconds=0 -- "$examples/long")" = 'Waited for 0 s' ]
    [ "$("$MCPCTL" ls -- "$examples/resources" | tr '\n' ' ')" = 'notes:///shopping notes:///todo ' ]
    [ "$("$MCPCTL" read notes:///shopping -- "$examples/resources" | head -1)" = milk ]
}

@test "selftest: passes" {
    "$examples/selftest"
}

@test "all examples over HTTP" {
    local name server i
    for name in tool prompt ask long resources; do
        "$examples/$name" --http "unix:$BATS_TEST_TMPDIR/$name" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
        server=$!
        for ((i = 0; i < 3000; i++)); do
            [ ! -S "$BATS_TEST_TMPDIR/$name" ] || break
            sleep 0.02
        done
        [ "$(curl -sS -m 10 --unix-socket "$BATS_TEST_TMPDIR/$name" -H 'Content-Type: application/json' \
            -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
            -H 'Mcp-Method: server/discover' http://localhost/mcp -d '{"jsonrpc":"2.0","id":1,
            "method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},
            "io.modelcontextprotocol/clientCapabilities":{}}}}' |
            jq -r '.result._meta."io.modelcontextprotocol/serverInfo".name')" = "$name" ]
        kill -TERM "$server"
        wait "$server"
    done
}

@test "client: lists, reads and calls with blocking functions" {
    run -0 --separate-stderr "$examples/client" "$examples/hello" -- greet '{"name":"Ada"}'
    [ "$output" = "$(printf 'hello:world\nHello, world!\nHello, Ada!')" ]
    run -1 --separate-stderr "$examples/client" "$examples/hello" -- nosuch
    [ "$stderr" = 'client: Unknown tool: nosuch' ]
    run -1 --separate-stderr "$examples/client" "$examples/nosuch"
    [[ $stderr == *'No such file'* ]]
}

@test "login: a client that logs in, in fewer than 60 lines" {
    [ "$(wc -l <"$BATS_TEST_DIRNAME/../../examples/login.c")" -lt 60 ]
    run -1 "$examples/login"
    [ "$output" = "login: usage: login URL" ]
}

@test "follow: progress, cancelling, a form, changes" {
    follow() { run "$examples/follow" "$@"; echo "$output"; }
    follow "$examples/long" -- wait '{"seconds":0.1}'
    [ "$status" -eq 0 ]
    [[ $output == "progress: "*" of 10"*"result: Waited for 0.1 s" ]]
    follow "$examples/long" -- wait '{"seconds":600}' 1
    [ "$status" -eq 1 ]
    [[ $output == *"failed: it takes too long" ]]
    follow "$examples/ask" -- book_table '{"day":"Friday"}'
    [ "$status" -eq 0 ]
    [[ $output == "asked: Which table shall I book?"*"result: Table 1 is booked for Friday: 2 guests"* ]]
    follow "$examples/resources" -- write_note '{"name":"new","text":"x"}' 60000
    [ "$status" -eq 0 ]
    [[ $output == *"result: Written to notes:///new"* && $output == *"a list changed"* ]]
}
