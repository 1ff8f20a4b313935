# mcpd mcp:COMMAND, mcp:http://... and mcp:unix:PATH: a server behind a server, in both eras.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    load support/talk.bash
    cd "$BATS_TEST_TMPDIR"
    mkdir -p files own
    echo hello >files/a.txt
    echo mine >own/b.txt
    uri="file://$(pwd -P)/files/a.txt"
}

teardown() {
    [ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
    [ -z "${web_pid:-}" ] || kill "$web_pid" 2>/dev/null || true
}

reads() { # ERA: checks that resources of the upstream server can be read like local ones
    result resources/list '{}'
    is '["mcp+up:'"$uri"'"]' '[.resources[].uri | select(startswith("mcp+up:") and endswith("a.txt"))]'
    is true '[.resources[].uri | endswith("/own/b.txt")] | any'
    result resources/read '{"uri":"mcp+up:'"$uri"'"}'
    is '"hello\n"' '.contents[0].text'
    is '"mcp+up:'"$uri"'"' '.contents[0].uri'
    failure resources/read '{"uri":"mcp+up:'"$uri"'.not"}'
    is '"mcp+up:'"$uri"'.not"' '.data.uri'
}

@test "a program behind the server, in both eras" {
    for era in modern legacy; do
        talk "$era" "$MCPD" own "mcp:'$MCPD' --no-resource-tools files?name=up"
        reads
        result resources/templates/list '{}'
        is true '[.resourceTemplates[].uriTemplate | startswith("mcp+up:file://")] | any'
        hush
    done
}

@test "its options in a configuration file" {
    jq -n --arg mcpd "$MCPD" '{sources: ["own", {module: "mcp", source: "\"\($mcpd)\"", name: "up",
        options: {args: ["--no-resource-tools", "files"], cwd: ".", idle_ms: 60000}}]}' >mcpd.json
    talk legacy "$MCPD" --config mcpd.json
    reads
    hush
}

@test "a server at a Unix socket, and one that does not exist" {
    "$MCPD" --http unix:web.sock files 2>web.log 3>&- &
    web_pid=$!
    for _ in {1..1200}; do [ -S web.sock ] && break; sleep 0.05; done
    for era in modern legacy; do
        talk "$era" "$MCPD" own "mcp:unix:$PWD/web.sock?name=up" 'mcp:http://127.0.0.1:1/?name=gone'
        reads
        failure resources/read '{"uri":"mcp+gone:x:y"}'
        is true '.message | startswith("The server gone does not answer: ")'
        hush
    done
}

@test "a server that is killed is restarted" {
    talk modern "$MCPD" own "mcp:'$MCPD' --no-resource-tools files?name=up"
    reads
    for _ in 1 2; do
        kill -9 $(pgrep -P "$server_pid")
        sleep 0.2
        result resources/read '{"uri":"mcp+up:'"$uri"'"}'
        is '"hello\n"' '.contents[0].text'
    done
    hush
}

@test "a program that does not exist does not harm the others" {
    talk modern "$MCPD" own 'mcp:/does/not/exist?name=gone'
    failure tools/call '{"name":"gone_x"}'
    is true '.message | startswith("The server gone does not answer: ")'
    result resources/list '{}'
    is true '[.resources[].uri | endswith("/own/b.txt")] | any'
    hush
}

@test "invalid names and commands are rejected" {
    run -1 "$MCPD" 'mcp:true?name=A_b'
    [[ $output == *"a-z, 0-9"* ]]
    run -1 "$MCPD" "mcp:'true"
    [[ $output == *"quote"* ]]
    run -1 "$MCPD" 'mcp:true' 'mcp:true'
    [[ $output == *"mounted"* ]]
}
