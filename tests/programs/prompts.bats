# mcpd --prompts: Markdown files as prompts, from a host's point of view, with workers, a real watch
# and both eras.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    T="$BATS_TEST_TMPDIR/tree"
    P="$BATS_TEST_TMPDIR/prompts"
    mkdir -p "$T" "$P"
    printf 'hello\n' > "$T/hello.txt"
    printf 'secret\n' > "$BATS_TEST_TMPDIR/secret.txt"
    cat > "$P/review.md" <<EOF
---
title: Review
description: "Looks at a file: closely"
arguments:
  - name: language
    required: true
    complete: [c, cpp, rust]
  - name: focus
---
Review this {{language}} file{{focus}}. \\{{not this}}

{{resource: file://$T/hello.txt}}
<!-- assistant -->
I see.
EOF
}

initialize='{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

request() { # METHOD PARAMS [ID]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' "${3:-1}" "$1" "$2"
}

modern() { # METHOD MEMBERS OPTIONS...: prints the reply
    local message
    message=$(request "$1" "{$meta${2:+,$2}}")
    shift 2
    printf '%s\n' "$message" | "$MCPD" "$@" 2> "$BATS_TEST_TMPDIR/err"
}

@test "a prompt is listed, got and completed, in both eras" {
    wanted='[["review","Review","Looks at a file: closely",["language","focus"]]]'
    shape='[.result.prompts[] | [.name, .title, .description, [.arguments[].name]]]'
    [ "$(modern prompts/list '' --prompts "$P" "$T" | jq -c "$shape")" = "$wanted" ]
    get='"name":"review","arguments":{"language":"c","focus":": {{x}}"}'
    wanted='[["user","Review this c file: {{x}}. {{not this}}"],["user","hello\n"],["assistant","I see."]]'
    shape='[.result.messages[] | [.role, .content.text // .content.resource.text]]'
    [ "$(modern prompts/get "$get" --prompts "$P" "$T" | jq -c "$shape")" = "$wanted" ]
    [ "$(printf '%s\n' "$initialize" "$(request prompts/get "{$get}")" | "$MCPD" --prompts "$P" "$T" |
        jq -c "select(.id == 1) | $shape")" = "$wanted" ]
    complete='"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"language","value":"c"}'
    [ "$(modern completion/complete "$complete" --prompts "$P" "$T" | jq -c .result.completion.values)" = '["c","cpp"]' ]
    [ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "a prompt that embeds a resource that is not served fails" {
    sed -i "s,$T/hello.txt,$BATS_TEST_TMPDIR/secret.txt," "$P/review.md"
    out=$(modern prompts/get '"name":"review","arguments":{"language":"c"}' --prompts "$P" "$T")
    [[ "$(jq -r .error.message <<< "$out")" == *"file://$BATS_TEST_TMPDIR/secret.txt: Resource not found"* ]]
    [[ "$out" != *'secret\n'* ]]
}

@test "a large resource, which a worker reads" {
    head -c 2000000 /dev/zero | tr '\0' x > "$T/hello.txt"
    out=$(modern prompts/get '"name":"review","arguments":{"language":"c"}' --prompts "$P" "$T" |
        jq '.result.messages[1].content.resource.text | length')
    [ "$out" = 2000000 ]
}

@test "prompts alone, without a source" {
    printf 'Say hello.' > "$P/review.md"
    out=$(modern server/discover '' --prompts "$P")
    [ "$(jq -c '.result.capabilities.prompts' <<< "$out")" = '{"listChanged":true}' ]
    [ "$(jq -c '.result.capabilities.resources' <<< "$out")" = null ]
    [ "$(modern prompts/get '"name":"review"' --prompts "$P" | jq -r '.result.messages[0].content.text')" = "Say hello." ]
    rm "$P/review.md"
    [ "$(modern prompts/list '' --prompts "$P" | jq -c .result.prompts)" = '[]' ]
}

@test "a missing folder is an error; an invalid file only gets a line on stderr" {
    run -1 --separate-stderr "$MCPD" --prompts "$P/none" "$T" < /dev/null
    [[ "$stderr" == *"$P/none: No such file or directory"* ]]
    printf -- '---\nname: a\ndescripton: b\n---\nx\n' > "$P/bad.md"
    [ "$(modern prompts/list '' --prompts "$P" "$T" | jq -c '[.result.prompts[].name]')" = '["review"]' ]
    grep -q "$P/bad.md:3: unknown key \"descripton\"" "$BATS_TEST_TMPDIR/err"
}

@test "--print-config names the folder by its absolute path" {
    cd "$BATS_TEST_TMPDIR"
    out=$("$MCPD" --print-config cursor --prompts prompts tree 2> /dev/null)
    [ "$(jq -c .mcpServers.mcpd.args <<< "$out")" = "[\"--resource-tools\",\"--prompts\",\"$P\",\"$T\"]" ]
}

# start OPTIONS...: starts a server; its input is descriptor 7, its output the file $out
start() {
    out="$BATS_TEST_TMPDIR/out"
    mkfifo "$BATS_TEST_TMPDIR/in"
    : > "$out"
    "$MCPD" "$@" < "$BATS_TEST_TMPDIR/in" > "$out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    exec 7> "$BATS_TEST_TMPDIR/in"
    printf '%s\n' "$initialize" >&7
    until_in "$out" '"id":"i"'
}

until_in() { # FILE PATTERN [COUNT]
    for _ in $(seq 3000); do
        [ "$(grep -c -- "$2" "$1")" -ge "${3:-1}" ] && return
        sleep 0.02
    done
    cat "$out" "$BATS_TEST_TMPDIR/err"
    return 1
}

ask() { # METHOD PARAMS ID
    request "$@" >&7
    printf '\n' >&7
    until_in "$out" "\"id\":$3,"
    grep -- "\"id\":$3," "$out"
}

@test "SIGHUP reloads the prompts, also with --no-watch" {
    local c="$BATS_TEST_TMPDIR/c.json" i names
    rm "$P/review.md"
    printf 'one' > "$P/a.md"
    printf '{"sources": ["tree"], "prompts": "prompts", "no-watch": true}' > "$c"
    start --config "$c"
    ask prompts/get '{"name":"a"}' 1 | grep -q '"text":"one"'
    printf 'new' > "$P/a.md"
    printf 'two' > "$P/b.md"
    printf 'more' > "$T/more.txt"
    sleep 0.3
    ask prompts/get '{"name":"a"}' 2 | grep -q '"text":"one"'
    kill -HUP "$pid"
    for ((i = 3; i < 3000; i++)); do
        names=$(ask prompts/list '{}' $i | jq -c '[.result.prompts[].name]')
        [ "$names" != '["a","b"]' ] || break
        sleep 0.02
    done
    [ "$names" = '["a","b"]' ]
    ask prompts/get '{"name":"a"}' 100000 | grep -q '"text":"new"'
    ask resources/list '{}' 100001 | grep -q 'more.txt'
    run ! grep -q list_changed "$out"
    exec 7>&-
    wait "$pid"
}

@test "changed files: one notification and the new text; an invalid file keeps its old prompt" {
    start --prompts "$P" "$T"
    printf 'one' > "$P/a.md"
    printf 'two' > "$P/b.md"
    until_in "$out" notifications/prompts/list_changed
    [ "$(ask prompts/list '{}' 1 | jq -c '[.result.prompts[].name]')" = '["a","b","review"]' ]
    sleep 0.3
    [ "$(grep -c notifications/prompts/list_changed "$out")" = 1 ]
    printf '{{wrong}}' > "$P/a.md"
    until_in "$BATS_TEST_TMPDIR/err" "$P/a.md:1: {{wrong}}: there is no argument"
    ask prompts/get '{"name":"a"}' 2 | grep -q '"text":"one"'
    printf 'new' > "$P/a.tmp" && mv "$P/a.tmp" "$P/a.md"
    rm "$P/b.md"
    until_in "$out" notifications/prompts/list_changed 2
    [ "$(ask prompts/list '{}' 3 | jq -c '[.result.prompts[].name]')" = '["a","review"]' ]
    ask prompts/get '{"name":"a"}' 4 | grep -q '"text":"new"'
    exec 7>&-
    wait $pid
}

@test "a folder that changes all the time, and the end of input in the middle" {
    start --prompts "$P" "$T"
    (for i in $(seq 200); do printf '%s' "$i" > "$P/n$((i % 7)).md"; done) 3>&- 7>&-
    for i in $(seq 20); do
        request prompts/get '{"name":"review","arguments":{"language":"c"}}' "$i" >&7
        printf '\n' >&7
    done
    exec 7>&-
    wait $pid
    [ "$(grep -c '"messages"' "$out")" = 20 ]
}

@test "--no-watch reads the files once" {
    start --no-watch --prompts "$P" "$T"
    printf 'one' > "$P/a.md"
    sleep 0.3
    [ "$(ask prompts/list '{}' 1 | jq -c '[.result.prompts[].name]')" = '["review"]' ]
    exec 7>&-
    wait $pid
}
