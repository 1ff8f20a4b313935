# The tasks of tests/model, by scripted callers that know what a model knows; docs/tools.md and docs/writing.md have the tables.

@test "a folder, its repository and a SQLite file, by tools alone" {
    for module in git sqlite; do
        [ -e "$MCP_BUILD_DIR/programs/lib/mcp/$module.so" ] || skip "built without the module $module"
    done
    "$MCP_SOURCE_DIR/tests/model/run" --kinds folder,git,sqlite --least 30 --most 12000 "$MCPD" >out || {
        cat out
        return 1
    }
    [ "$(sed -n 's/.*instructions, \([0-9]*\) tokens/\1/p' out)" -le 300 ]
}

@test "what the instructions name is read without a list of templates first" {
    [ -e "$MCP_BUILD_DIR/programs/lib/mcp/git.so" ] || skip "built without the module git"
    for task in git-removed git-search; do
        "$MCP_SOURCE_DIR/tests/model/run" --kinds git --task $task --least 1 --most 300 "$MCPD" >out || {
            cat out
            return 1
        }
    done
}

@test "coding tasks, by the tools that write alone" {
    "$MCP_SOURCE_DIR/tests/model/edits" --saves 20 "$MCPD" >out 2>&1 || {
        cat out
        return 1
    }
    grep -F '15 of 15 right' out
}

@test "what a model gets of the list of tools is small" { # docs/tools.md has the tokens, of which each has at least four bytes here
    [ -e "$MCP_BUILD_DIR/programs/lib/mcp/sqlite.so" ] || skip "built without the module sqlite"
    "$MCP_SOURCE_DIR/tests/model/make" "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}' |
        "$MCPD" --resource-tools ledger git:ledger sqlite:orders.db >answers
    jq -c 'select(.id == 1).result.tools | map({name, description, inputSchema})' answers >tools
    [[ $(jq -r 'select(.id == "i").result.instructions' answers) != *,[,.]* ]]
    [ "$(jq length tools)" = 5 ]
    [ "$(wc -c <tools)" -le 5500 ]
}

# shown CLIENT CALL: prints the bytes of what is shown of an answer.
shown() {
    jq -nc --arg client "$1" --argjson call "$2" '(1, 2) | {jsonrpc: "2.0", id: ., method: ["initialize", "tools/call"][. - 1], params: [
        {protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {name: $client, version: "1"}}, $call][. - 1]}' |
        sed '1a {"jsonrpc":"2.0","method":"notifications/initialized"}' | "$MCPD" --resource-tools files 2>errors |
        jq --arg client "$1" 'select(.id == 2).result | (.structuredContent | tojson | utf8bytelength) +
            if $client == "claude-code" then 0 else [.content[].text // "" | utf8bytelength] | add end'
}

@test "an answer is as large as it may be, whatever characters it has, in the form that is shown" {
    cd "$BATS_TEST_TMPDIR"
    mkdir files
    python3 - <<'END'
for name, text in {"plain": "x", "quotes": '"', "controls": "\1"}.items():
    open(f"files/{name}.txt", "w").write("".join(f"{name} {n} {text * 60}\n" for n in range(500)))
for n in range(500):
    open(f"files/number-{n}", "w").close()
END
    for client in model claude-code; do
        for query in plain quotes controls number; do
            call='{"name":"search_resources","arguments":{"query":"'$query'","limit":1000,"per_file":1000,"max_tokens":1000}}'
            [ $query != number ] || call='{"name":"list_resources","arguments":{"limit":1000,"max_tokens":1000}}'
            size=$(shown $client "$call")
            [ "$size" -gt 3000 ] && [ "$size" -lt 5000 ] || { echo "$client: $query: $size"; return 1; }
        done
    done
}

@test "the answers in docs/tools.md are those of the tools" {
    for module in git sqlite; do
        [ -e "$MCP_BUILD_DIR/programs/lib/mcp/$module.so" ] || skip "built without the module $module"
    done
    "$MCP_SOURCE_DIR/tests/model/answers" --check "$MCPD"
}

# The rows of the section about clients in docs/tools.md: a name, a tab, yes or no, a tab, what the client shows.
clients() {
    sed -n '/^## Clients/,/^## One/s/^| \(`.*\) | .* | \(yes\|no\)\b.* | \(.*\) | .* |$/\1\t\2\t\3/p' "$MCP_SOURCE_DIR/docs/tools.md" |
        awk -F '\t' -v OFS='\t' '{ n = split($1, names, /`, `|`/); for (i = 2; i < n; i++) print names[i], $2, $3 }'
}

@test "clients get the tools and the form that docs/tools.md says" {
    cd "$BATS_TEST_TMPDIR"
    mkdir files
    echo text >files/a.txt
    clients >listed
    printf 'another\tno\tnot known\n' >>listed
    while IFS=$'\t' read -r name tools shows; do
        [[ $shows = 'structured content alone' || $shows = 'not known' ]]
        for option in '' --resource-tools; do
            jq -nc --arg name "$name" '(1, 2, 3) | {jsonrpc: "2.0", id: ., method: ["initialize", "tools/list", "tools/call"][. - 1], params: [
                {protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {name: $name, version: "1"}}, {},
                {name: "list_resources", arguments: {}}][. - 1]}' |
                sed '1a {"jsonrpc":"2.0","method":"notifications/initialized"}' | "$MCPD" $option files >"answers$option" 2>errors
        done
        is() { [ "$(jq -cs "$1" "$2")" = "$3" ] || { echo "$name: $1: $(cat "$2")"; return 1; }; }
        is 'any(.id == 2 and (.result.tools | any(.name == "list_resources")))' answers "$([ $tools = yes ] && echo true || echo false)"
        is 'any(.id == 3 and (.result.content[0].text | contains("a.txt")))' answers--resource-tools \
            "$([ "$shows" = 'not known' ] && echo true || echo false)"
        is 'any(.id == 3 and (.result.structuredContent | tostring | contains("a.txt")))' answers--resource-tools true
    done <listed
    # No name of the code is missing in the table.
    cut -f 1 listed | sort >names
    sed -n '/names\[\]\|structured\[\]/,/^};/p' "$MCP_SOURCE_DIR"/providers/{bridge/hosts,common/structured}.c | sed 's:/\*.*\*/::; s:/\*.*::' |
        grep -o '"[^"]*"' | tr -d '"' | sort >known
    [ -s known ]
    diff known <(grep -vx another names)
}
