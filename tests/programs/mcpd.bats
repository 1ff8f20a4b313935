# mcpd as a host or a person starts it: the command line, hosts' configuration entries, a round trip
# over stdin and stdout in both eras, and the shutdown.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    T="$BATS_TEST_TMPDIR/tree"
    mkdir -p "$T/src"
    printf 'hello\n' > "$T/hello.txt"
    printf 'int main(void);\n' > "$T/src/main.c"
    printf 'secret\n' > "$T/.hidden"
}

initialize='{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

# legacy OPTIONS... -- MESSAGE...: prints the replies in the order of their ids, without that of the
# handshake
legacy() {
    local args=()
    while [ "$1" != -- ]; do args+=("$1"); shift; done
    shift
    printf '%s\n' "$initialize" "$@" | "$MCPD" "${args[@]}" | jq -sc 'map(select(.id != "i")) | sort_by(.id)'
}

request() { # METHOD PARAMS [ID]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' "${3:-1}" "$1" "$2"
}

uris() { # OPTIONS...: prints every listed URI, without the folder's prefix
    legacy "$@" -- "$(request resources/list '{}')" | jq -r '.[0].result.resources[].uri'
}

# ---- the command line --------------------------------------------------------------------------------

@test "no source: usage on stderr, exit 2" {
    run -2 --separate-stderr "$MCPD"
    [ -z "$output" ]
    [[ "$stderr" == *"Usage: mcpd"* ]]
}

@test "an unknown option is named, with the nearest one" {
    run -2 --separate-stderr "$MCPD" --hiden "$T"
    [[ "$stderr" == *"--hiden"*"--hidden"* ]]
    run -2 --separate-stderr "$MCPD" --zzzzzzzzzz "$T"
    [[ "$stderr" == *"--zzzzzzzzzz"* && "$stderr" != *"did you mean"* ]]
    run -2 --separate-stderr "$MCPD" -x "$T"
    [[ "$stderr" == *"-x"* ]]
}

@test "an invalid value is rejected with the accepted values" {
    run -2 --separate-stderr "$MCPD" --page-size
    [[ "$stderr" == *"needs a value"* ]]
    for bad in 0 -1 ten 1x 99999999999999999999; do
        run -2 --separate-stderr "$MCPD" --page-size "$bad" "$T"
        [[ "$stderr" == *"from 1 to 100000"* ]]
    done
    run -2 --separate-stderr "$MCPD" --max-read 10X "$T"
    [[ "$stderr" == *"K, M or G"* ]]
    run -2 --separate-stderr "$MCPD" --print-config emacs "$T"
    [[ "$stderr" == *"claude claude-code"*"vscode windsurf zed mcpd"* ]]
    run -2 --separate-stderr "$MCPD" --hidden=yes "$T"
    [[ "$stderr" == *"takes no value"* ]]
}

@test "a source that cannot be served: its name, the reason and exit status 1, before anything is served" {
    run -1 --separate-stderr "$MCPD" "$T/none" < /dev/null
    [ -z "$output" ]
    [[ "$stderr" == *"$T/none: No such file"* ]]
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    run -1 --separate-stderr "$MCPD" "$BATS_TEST_TMPDIR/fifo" < /dev/null
    [[ "$stderr" == *"fifo: neither a folder nor a regular file"* ]]
    run -1 --separate-stderr "$MCPD" "" < /dev/null
    [[ "$stderr" == *"empty"* ]]
}

@test "--help and --version" {
    [ -z "$("$MCPD" --help | awk 'length > 80')" ]
    run -0 "$MCPD" --help
    [[ "$output" == *"Usage: mcpd"*"--max-read SIZE"* ]]
    run -0 "$MCPD" -h
    run -0 "$MCPD" --version
    [[ "${lines[0]}" =~ ^mcpd\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    served=$(printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"none"}}}' |
        "$MCPD" "$T" | jq -r '.error.data.supported[0]')
    [ "${lines[1]}" = "Model Context Protocol 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05" ]
    [[ "${lines[1]}" == *" $served"* ]]
    [ ${#lines[@]} -eq 2 ]
    run -0 "$MCPD" --version --verbose
    [ ${#lines[@]} -eq 3 ]
    [[ ${lines[2]} =~ ^Contains\ (no\ libraries|.*openssl\ [0-9]) ]]
}

@test "the committed manual page has every option of --help" {
    "$MCPD" --help-man | diff - "$BATS_TEST_DIRNAME/../../man/mcpd.1"
    for name in $("$MCPD" --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
        tr -d '\\' < "$BATS_TEST_DIRNAME/../../man/mcpd.1" | grep -q -- "^\.B --$name"
    done
}

@test "completion scripts for three shells" {
    source <("$MCPD" --completion bash)
    after() {
        COMP_WORDS=(mcpd "$@") COMP_CWORD=$# COMPREPLY=()
        _mcpd
        echo "${COMPREPLY[*]}"
    }
    cd "$BATS_TEST_TMPDIR"
    mkdir apart
    touch afile
    [ "$(after --resource-t)" = --resource-tools ]
    [ "$(after --print-config vs)" = vscode ]
    [ "$(after ap)" = apart ]
    [ "$(after --prompts ap)" = apart ]
    [ "$(after -- afi)" = afile ]
    [[ $("$MCPD" --completion zsh) == "#compdef mcpd"* ]]
    [[ $("$MCPD" --completion fish) == *"-l log-format -x -a 'text json'"* ]]
    if command -v zsh >/dev/null; then "$MCPD" --completion zsh | zsh -n; fi
    if command -v fish >/dev/null; then "$MCPD" --completion fish | fish -n; fi
    run -2 "$MCPD" --completion csh
}

@test "options after sources; -- ends options" {
    [ "$(uris "$T" --hidden | grep -c hidden)" = 1 ]
    mkdir "$BATS_TEST_TMPDIR/--hidden"
    touch "$BATS_TEST_TMPDIR/--hidden/x"
    cd "$BATS_TEST_TMPDIR"
    run -0 --separate-stderr "$MCPD" --print-config claude -- --hidden
    [ "$(jq -c '.mcpServers.mcpd.args' <<< "$output")" = "[\"--resource-tools\",\"$BATS_TEST_TMPDIR/--hidden\"]" ]
}

# ---- the configuration of hosts ------------------------------------------------------------------------

@test "--print-config is valid JSON in each host's form" {
    cd "$T"
    for host in claude cursor; do
        run -0 --separate-stderr "$MCPD" --print-config $host --hidden --max-read=64K . src
        [ "$(jq -r '.mcpServers.mcpd.command | test("^/.*mcpd$")' <<< "$output")" = true ]
        [ "$(jq -c '.mcpServers.mcpd.args' <<< "$output")" = "[\"--hidden\",\"--max-read=64K\",\"--resource-tools\",\"$T\",\"$T/src\"]" ]
        [ -n "$stderr" ]
    done
    run -0 --separate-stderr "$MCPD" --name files --print-config vscode "$T/"
    [ "$(jq -r '.servers.files.type' <<< "$output")" = stdio ]
    [ "$(jq -c '.servers.files.args' <<< "$output")" = "[\"--name\",\"files\",\"--resource-tools\",\"$T\"]" ]
}

@test "--print-config: the printed command can be started" {
    cd "$T/src"
    "$MCPD" --print-config claude --exclude '*.c' .. > "$BATS_TEST_TMPDIR/config.json"
    mapfile -t command < <(jq -r '.mcpServers.mcpd | .command, .args[]' "$BATS_TEST_TMPDIR/config.json")
    cd /
    printf '%s\n' "$initialize" "$(request resources/list '{}')" | "${command[@]}" > "$BATS_TEST_TMPDIR/out"
    grep -q hello.txt "$BATS_TEST_TMPDIR/out"
    run -1 grep -q main.c "$BATS_TEST_TMPDIR/out"
}

@test "--print-config: names that JSON must escape, and a source that does not exist" {
    mkdir "$T/a \"b\" \\ é"
    run -0 --separate-stderr "$MCPD" --print-config claude "$T/a \"b\" \\ é"
    [ "$(jq -r '.mcpServers.mcpd.args[-1]' <<< "$output")" = "$T/a \"b\" \\ é" ]
    run -1 --separate-stderr "$MCPD" --print-config claude "$T/none"
    [ -z "$output" ]
}

# ---- what is served ------------------------------------------------------------------------------------

@test "a round trip, legacy" {
    out=$(legacy "$T" -- "$(request resources/list '{}' 1)" \
        "$(request resources/read "{\"uri\":\"file://$T/hello.txt\"}" 2)" \
        "$(request resources/read "{\"uri\":\"file://$T/none\"}" 3)" "$(request ping '{}' 4)")
    [ "$(jq -c '[.[0].result.resources[].name]' <<< "$out")" = '["tree","hello.txt","src","main.c"]' ]
    [ "$(jq -c '.[0].result.resources[1] | [.mimeType, .size, .title]' <<< "$out")" = '["text/plain",6,"hello.txt"]' ]
    [ "$(jq -r '.[1].result.contents[0].text' <<< "$out")" = hello ]
    [ "$(jq -c '.[2].error | [.code, .data.uri]' <<< "$out")" = "[-32002,\"file://$T/none\"]" ]
    [ "$(jq -c '.[3].result' <<< "$out")" = '{}' ]
}

@test "a round trip, modern" {
    out=$(printf '%s\n' "$(request server/discover "{$meta}" 1)" \
        "$(request resources/read "{\"uri\":\"file://$T/hello.txt\",$meta}" 2)" \
        "$(request resources/read "{\"uri\":\"file://$T/none\",$meta}" 3)" |
        "$MCPD" "$T" | jq -sc 'sort_by(.id)')
    [ "$(jq -c '.[0].result.supportedVersions' <<< "$out")" = '["2026-07-28"]' ]
    [[ "$(jq -r '.[0].result.instructions' <<< "$out")" == *"$T"* ]]
    [ "$(jq -r '.[1].result.contents[0].text' <<< "$out")" = hello ]
    [ "$(jq -r '.[1].result.resultType' <<< "$out")" = complete ]
    [ "$(jq -c '.[2].error | [.code, .data.uri]' <<< "$out")" = "[-32602,\"file://$T/none\"]" ]
}

@test "relative path, trailing slash, symlinked root: the same URIs" {
    ln -s "$T" "$BATS_TEST_TMPDIR/link"
    real=$(realpath "$T")
    cd "$T"
    for source in . "$T/" "$BATS_TEST_TMPDIR/link" ../tree//; do
        [ "$(uris "$source" | head -1)" = "file://$real" ]
        [ "$(uris "$source" | tail -1)" = "file://$real/src/main.c" ]
    done
}

@test "several sources, one of them a file, and none twice" {
    mkdir "$BATS_TEST_TMPDIR/other"
    touch "$BATS_TEST_TMPDIR/other/x" "$BATS_TEST_TMPDIR/other/y"
    [ "$(uris "$T/src" "$BATS_TEST_TMPDIR/other/x" "$T/src" | wc -l)" = 3 ]
    out=$(legacy "$T/src" "$BATS_TEST_TMPDIR/other/x" -- \
        "$(request resources/read "{\"uri\":\"file://$BATS_TEST_TMPDIR/other/x\"}" 1)" \
        "$(request resources/read "{\"uri\":\"file://$BATS_TEST_TMPDIR/other/y\"}" 2)")
    [ "$(jq -c '[.[0].result.contents[0].text, .[1].error.code]' <<< "$out")" = '["",-32002]' ]
}

@test "the top of the file system is a source" {
    out=$(legacy --page-size 5 / -- "$(request resources/list '{}' 1)" \
        "$(request resources/read '{"uri":"file:///etc/passwd?line=1&lines=1"}' 2)")
    [ "$(jq -c '.[0].result | [(.resources | length), .resources[0].uri, (.nextCursor | type)]' <<< "$out")" = '[5,"file:///","string"]' ]
    [[ "$(jq -r '.[1].result.contents[0].text' <<< "$out")" == *:*:* ]]
}

@test "--page-size: the union of the pages is the list" {
    for i in $(seq 20); do touch "$T/f$i"; done
    all=$(uris "$T")
    cursor= union=
    while :; do
        page=$(legacy --page-size 3 "$T" -- "$(request resources/list "{${cursor:+\"cursor\":\"$cursor\"}}")")
        union+=$(jq -r '.[0].result.resources[].uri' <<< "$page")$'\n'
        cursor=$(jq -r '.[0].result.nextCursor // empty' <<< "$page")
        [ -n "$cursor" ] || break
    done
    [ "$(sed '/^$/d' <<< "$union")" = "$all" ]
}

@test "excluded files, and the options that include them" {
    git init -q "$T" 2> /dev/null || mkdir "$T/.git"
    printf '*.o\n' > "$T/.gitignore"
    touch "$T/x.o"
    [ "$(uris "$T" | grep -c -e hidden -e '\.o$' -e '\.git')" = 0 ]
    [ "$(uris --no-ignore "$T" | grep -c '\.o$')" = 1 ]
    [ "$(uris --exclude src --exclude '*.txt' "$T" | wc -l)" = 1 ]
    uris --include '*.c' "$T" | grep -q main.c
    [ "$(uris --include '*.c' "$T" | grep -c hello)" = 0 ]
    out=$(legacy "$T" -- "$(request resources/read "{\"uri\":\"file://$T/.hidden\"}")")
    [ "$(jq '.[0].error.code' <<< "$out")" = -32002 ]
}

@test "--max-read: an error with a hint" {
    head -c 3000 /dev/zero | tr '\0' x > "$T/big"
    out=$(legacy --max-read 2K "$T" -- "$(request resources/read "{\"uri\":\"file://$T/big\"}" 1)" \
        "$(request resources/read "{\"uri\":\"file://$T/big?offset=2990&length=100\"}" 2)")
    [ "$(jq -c '.[0].error | [.code, .data.size, .data.limit]' <<< "$out")" = '[-32603,3000,2048]' ]
    [[ "$(jq -r '.[0].error.message' <<< "$out")" == *3000*2048*offset* ]]
    [ "$(jq -r '.[1].result.contents[0].text' <<< "$out")" = xxxxxxxxxx ]
}

@test "large files, which workers read: a whole file, its last lines, lines far from the start" {
    seq 1 200000 > "$T/large"
    out=$(legacy "$T" -- "$(request resources/read "{\"uri\":\"file://$T/large\"}" 1)" \
        "$(request resources/read "{\"uri\":\"file://$T/large?tail=2\"}" 2)" \
        "$(request resources/read "{\"uri\":\"file://$T/large?line=150000&lines=1\"}" 3)" \
        "$(request resources/read "{\"uri\":\"file://$T?depth=3\"}" 4)")
    jq -j '.[0].result.contents[0].text' <<< "$out" | cmp - "$T/large"
    [ "$(jq -c '[.[1,2].result.contents[0].text]' <<< "$out")" = '["199999\n200000\n","150000\n"]' ]
    [ "$(jq -j '.[3].result.contents[0].text' <<< "$out" | wc -l)" = 4 ]
}

@test "--resource-tools" {
    # a client that is not known to support only tools gets none
    [ "$(legacy "$T" -- "$(request tools/list '{}')" | jq -c '.[0].result.tools')" = '[]' ]
    [ "$(printf '%s\n' "$initialize" | "$MCPD" "$T" | jq '.result.capabilities | has("tools")')" = false ]
    # with --no-resource-tools there are none
    [ "$(legacy --no-resource-tools "$T" -- "$(request tools/list '{}')" | jq '.[0].error.code')" = -32601 ]
    out=$(legacy --resource-tools "$T" -- "$(request tools/list '{}' 1)" \
        "$(request tools/call '{"name":"list_resources","arguments":{"pattern":"*.c"}}' 2)" \
        "$(request tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"file://$T/hello.txt\"}}" 3)" \
        "$(request tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"file://$T/none\"}}" 4)" \
        "$(request tools/call "{\"name\":\"read_resource\",\"arguments\":{\"uri\":\"file://$T/hello.txt\",\"tail\":0}}" 5)")
    [ "$(jq -c '[.[0].result.tools[] | [.name, .annotations.readOnlyHint, .annotations.openWorldHint]]' <<< "$out")" = \
        '[["list_resources",true,false],["find_resources",true,false],["search_resources",true,false],["read_resource",true,false]]' ]
    [ "$(jq -r '.[1].result.content[0].text' <<< "$out")" = $'file\t16\tfile://'"$T/src/main.c" ]
    [ "$(jq -r '.[2].result.content[0].text' <<< "$out")" = hello ]
    # in this revision arguments that fail the schema are an error of the request
    [ "$(jq -c '[.[3].result.isError, .[4].error.code]' <<< "$out")" = '[true,-32602]' ]
    [[ "$(jq -r '.[3].result.content[0].text' <<< "$out")" == *list_resources* ]]
}

@test "a client that is known to support only tools gets the tools" {
    for name in github-copilot-developer codex-mcp-client; do
        out=$(printf '%s\n' "${initialize/\"name\":\"*\",\"version\"/\"name\":\"$name\",\"version\"}" \
            "$(request tools/list '{}' 1)" | "$MCPD" "$T" | jq -s -c 'sort_by(.id == "i" | not)')
        [ "$(jq -c '[(.[0].result.capabilities | has("tools")), (.[1].result.tools | length)]' <<< "$out")" = '[true,4]' ]
    done
    # in 2026-07-28 each request names the client
    out=$(for name in codex-mcp-client other; do
        printf '{"jsonrpc":"2.0","id":"%s","method":"tools/list","params":{"_meta":{' $name
        printf '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        printf '"io.modelcontextprotocol/clientInfo":{"name":"%s","version":"1"},' $name
        printf '"io.modelcontextprotocol/clientCapabilities":{}}}}\n'
    done | "$MCPD" "$T" | jq -s -c 'map({(.id): [(.result.tools | length), .result.cacheScope]}) | add')
    [ "$out" = '{"codex-mcp-client":[4,"private"],"other":[0,"private"]}' ]
}

@test "--resource-tools: find and search, over all sources" {
    mkdir -p "$BATS_TEST_TMPDIR/other"
    printf 'one\nint x;\n' > "$BATS_TEST_TMPDIR/other/notes.txt"
    out=$(legacy --resource-tools "$T" "$BATS_TEST_TMPDIR/other" -- \
        "$(request tools/call '{"name":"find_resources","arguments":{"name":"MAIN"}}' 1)" \
        "$(request tools/call '{"name":"search_resources","arguments":{"query":"^int \\w+","regex":true}}' 2)")
    [ "$(jq -c '.[0].result.structuredContent.entries' <<< "$out")" = \
        "[{\"kind\":\"file\",\"uri\":\"file://$T/src/main.c\",\"size\":16}]" ]
    [ "$(jq -c '[.[1].result.structuredContent.files[] | [.uri, .matches[0].line]]' <<< "$out")" = \
        "[[\"file://$T/src/main.c\",1],[\"file://$BATS_TEST_TMPDIR/other/notes.txt\",2]]" ]
    [[ "$(jq -r '.[1].result.content[0].text' <<< "$out")" == *$'notes.txt\n2: int x;' ]]
}

@test "--resource-tools: a search through many files reports its progress, and can be cancelled" {
    mkdir "$T/many"
    line=$(printf 'a%.0s' $(seq 60))b
    for i in $(seq 400); do echo "$line" > "$T/many/$i"; done
    start --resource-tools "$T"
    printf '%s\n' "$initialize" >&7
    until_out '"id":"i"'
    search='"name":"search_resources","arguments":{"query":"^(a+)+$","regex":true}'
    request tools/call "{\"_meta\":{\"progressToken\":1},$search}" 1 >&7
    printf '\n' >&7
    request resources/read "{\"uri\":\"file://$T/hello.txt\"}" 2 >&7
    printf '\n' >&7
    until_out '"id":2,"result"'
    until_out notifications/progress
    until_out '"slow":[1-9]' # all 400, or as many as the time of a search allows
    request tools/call "{$search}" 3 >&7
    printf '\n{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}\n' >&7
    request resources/read "{\"uri\":\"file://$T/hello.txt\"}" 4 >&7
    printf '\n' >&7
    until_out '"id":4,"result"'
    exec 7>&-
    wait $pid
    [ "$(grep -c '"id":3' "$out")" = 0 ]
}

@test "capabilities follow --no-watch, --no-subscribe, --no-list-changed" {
    caps() { printf '%s\n' "$initialize" | "$MCPD" "$@" "$T" | jq -c '.result.capabilities.resources'; }
    [ "$(caps)" = '{"subscribe":true,"listChanged":true}' ]
    [ "$(caps --no-watch)" = '{}' ]
    [ "$(caps --no-subscribe)" = '{"listChanged":true}' ]
    [ "$(caps --no-list-changed)" = '{"subscribe":true}' ]
}

@test "--name and --instructions" {
    out=$(printf '%s\n' "$initialize" | "$MCPD" --name me --instructions 'read it all' "$T")
    [ "$(jq -c '.result | [.serverInfo.name, .instructions]' <<< "$out")" = '["me","read it all"]' ]
}

@test "the instructions name the tools if there are any" {
    said() { printf '%s\n' "$initialize" | "$MCPD" "$@" "$T" | jq -r .result.instructions; }
    [[ "$(said)" == *"or the tool list_resources if there is one"* ]]
    [[ "$(said --resource-tools)" == *"resources/list or list_resources;"*find_resources* ]]
    [[ "$(said --no-resource-tools)" == *"List them with resources/list;"* ]]
    [[ "$(said --no-resource-tools)" != *_resource* ]]
}

@test "the README has each parameter in the URIs of files, and mcpctl read uses each of a file" {
    parameters=$(legacy "$T" -- "$(request resources/templates/list '{}')" |
        jq -r '.[0].result.resourceTemplates[].uriTemplate | capture("\\{[?](?<all>.*)\\}").all')
    # as the instructions write them: ?line=FIRST&lines=COUNT
    forms=$(printf '%s\n' "$initialize" | "$MCPD" "$T" | jq -r .result.instructions | grep -oE '[?][a-z]+=[A-Z&a-z=]+')
    readme=$(grep -oE '`[?][a-z]+=[A-Z&a-z=]+`' "$BATS_TEST_DIRNAME/../../README.md" | tr -d '`')
    diff <(tr -d '?[:upper:]=' <<<"$forms" | tr '&' ,) <(echo "$parameters")
    diff <(echo "$forms") <(echo "$readme")
    cd "$BATS_TEST_TMPDIR"
    for part in '--range 0-1' '--lines 1-2' '--tail 1'; do
        rm -f trace
        "${MCPCTL:-mcpctl}" read $part --trace trace "file://$T/hello.txt" -- "$MCPD" "$T" >part
        jq -r '.message | select(.method == "resources/read").params.uri | capture("[?](?<all>.*)").all' trace | sed 's/=[0-9]*//g; s/&/,/g'
    done >used
    diff <(grep -v depth <<<"$parameters") used
}

# ---- changes -------------------------------------------------------------------------------------------

# start OPTIONS...: starts a server; its input is descriptor 7, its output the file $out
start() {
    out="$BATS_TEST_TMPDIR/out"
    rm -f "$BATS_TEST_TMPDIR/in" "$out"
    mkfifo "$BATS_TEST_TMPDIR/in"
    : > "$out"
    # A shell starts background jobs with SIGINT ignored, which mcpd respects.
    env --default-signal=INT "$MCPD" "$@" < "$BATS_TEST_TMPDIR/in" > "$out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    exec 7> "$BATS_TEST_TMPDIR/in"
}

until_out() { # PATTERN
    for _ in $(seq 3000); do # a minute: the machine may be busy
        grep -q -- "$1" "$out" && return
        sleep 0.02
    done
    cat "$out" "$BATS_TEST_TMPDIR/err"
    return 1
}

@test "a subscribed file that is replaced, and a new one" {
    start "$T"
    printf '%s\n' "$initialize" "$(request resources/subscribe "{\"uri\":\"file://$T/hello.txt\"}")" >&7
    until_out '"id":1,"result"'
    printf 'new\n' > "$T/hello.new" && mv "$T/hello.new" "$T/hello.txt"
    until_out "notifications/resources/updated.*file://$T/hello.txt"
    until_out notifications/resources/list_changed
    exec 7>&-
    wait $pid
}

# ---- the end -------------------------------------------------------------------------------------------

@test "end of input ends it after all requests are answered" {
    run -0 timeout 5 "$MCPD" "$T" < /dev/null
    [ -z "$output" ]
    [ "$(legacy "$T" -- "$(request resources/list '{}')" | jq length)" = 1 ]
}

@test "SIGTERM, SIGINT and SIGHUP end it cleanly" {
    for signal in TERM INT HUP; do
        start "$T"
        printf '%s\n' "$initialize" >&7
        until_out '"id":"i"'
        kill -$signal $pid
        wait $pid
        exec 7>&-
    done
}

@test "a signal ends it also while a worker searches a huge file, and another waits" {
    truncate -s 100G "$T/huge"
    start --resource-tools "$T"
    printf '%s\n' "$initialize" >&7
    until_out '"id":"i"'
    for id in 1 2 3 4 5 6 7 8; do
        request resources/read "{\"uri\":\"file://$T/huge?line=5&lines=2\"}" $id >&7
        printf '\n' >&7
    done
    sleep 0.1
    kill -TERM $pid
    SECONDS=0
    wait $pid
    [ $SECONDS -lt 20 ]
    exec 7>&-
    rm "$T/huge"
}

@test "stdout has only messages, and stderr is empty if there is nothing to report" {
    run -0 --separate-stderr bash -c "printf '%s\n' 'no json' '[]' '{}' | '$MCPD' '$T'"
    jq -es 'all(.jsonrpc == "2.0")' <<< "$output"
    [ -z "$stderr" ]
}
