#!/usr/bin/env bats
# mcpd --servers: the configuration files of hosts, as they are.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    load support/talk.bash
    cd "$BATS_TEST_TMPDIR"
    export HOME=$PWD NO_COLOR=1 XDG_STATE_HOME=
    mkdir one two
    echo 1 >one/a.txt
    echo 2 >two/b.txt
    # Another path, because mcpd leaves itself out.
    cp "$MCPD" other-mcpd
    other=$PWD/other-mcpd
}

teardown() {
    [ -z "${pid:-}" ] || kill "$pid" 2>/dev/null || true
}

# Prints the names of the tools that mcpd offers, sorted.
tools() {
    "$MCPCTL" tools --json -- "$MCPD" --no-resource-tools "$@" 2>errors | jq -r '.tools[].name' | sort
}

@test "the same servers in the formats of all hosts" {
    mkdir -p .gemini .codex .copilot
    # What a server sees: two words, a variable, a folder.
    local check='[ "$1 $KEY" = "a b key" ] && cd "$2" && exec "$0" --resource-tools .'
    local entry
    entry=$(jq -nc --arg check "$check" --arg mcpd "$other" --arg pwd "$PWD" \
        '{command: "/bin/sh", args: ["-c", $check, $mcpd, "a b", ($pwd + "/one")], env: {KEY: "key"}}')
    jq -nc --argjson e "$entry" '{mcpServers: {"First One": $e, off: ($e + {disabled: true}), far: {url: "http://127.0.0.1:1/mcp"}}}' >claude.json
    jq -nc --argjson e "$entry" '{servers: {"First One": ($e + {type: "stdio"}), far: {type: "http", url: "http://127.0.0.1:1/mcp"}}}' >vscode.json
    jq -nc --argjson e "$entry" '{mcpServers: {"First One": $e, far: {url: "http://127.0.0.1:1/mcp"}}}' >cursor.json
    jq -nc --argjson e "$entry" '{mcpServers: {"First One": $e, far: {httpUrl: "http://127.0.0.1:1/mcp"}}}' >.gemini/settings.json
    jq -nc --argjson e "$entry" '{mcp: {"First One": {type: "local", command: ([$e.command] + $e.args), environment: $e.env},
        off: {type: "local", command: ["false"], enabled: false}, far: {type: "remote", url: "http://127.0.0.1:1/mcp"}}}' >opencode.json
    jq -nc --argjson e "$entry" '{mcpServers: {"First One": ($e + {type: "local", tools: ["*"]}), far: {type: "http", url: "http://127.0.0.1:1/mcp"}}}' >.copilot/mcp-config.json
    {
        printf '[mcp_servers."First One"]\n'
        jq -r '"command = \(.command | tojson)\nargs = \(.args | tojson)"' <<<"$entry"
        printf '[mcp_servers."First One".env]\nKEY = "key"\n[mcp_servers.far]\nurl = "http://127.0.0.1:1/mcp"\n'
    } >.codex/config.toml
    for file in claude.json vscode.json cursor.json .gemini/settings.json opencode.json .copilot/mcp-config.json .codex/config.toml; do
        echo "$file"
        [ "$(tools --servers "$file" | paste -sd ' ')" = \
            'first-one_find_resources first-one_list_resources first-one_read_resource first-one_search_resources' ]
        [ "$("$MCPCTL" call --yes first-one_list_resources -- "$MCPD" --servers "$file" two 2>/dev/null | grep -c a.txt)" = 1 ]
    done
    # Beside our own folder, and two files at once.
    jq -nc --argjson e "$entry" '{mcpServers: {"First One": {command: "false"}, second: $e}}' >more.json
    run -0 --separate-stderr "$MCPCTL" ls -- "$MCPD" two --servers claude.json --servers more.json
    [[ $output == *two/b.txt* && $output == *mcp+first-one:*one/a.txt* && $output == *mcp+second:*one/a.txt* ]]
}

@test "what cannot be used is left out, and is an error for --print-config" {
    jq -nc --arg mcpd "$other" '{mcpServers: {
        good: {command: $mcpd, args: ["--resource-tools", "one"]},
        missing: {command: $mcpd, env: {KEY: "${NOT_SET}"}},
        asks: {command: $mcpd, args: ["${input:key}"]},
        neither: {},
        odd: {url: "ftp://x/"},
        "Good!": {command: $mcpd, args: ["two"]},
        "MCPD!": {command: $mcpd, args: ["two"]}}}' >hosts.json
    [ "$(tools --servers hosts.json | wc -l)" = 4 ]
    run -0 "$MCPD" --servers hosts.json --no-watch </dev/null
    for line in "'missing': the configuration requires the environment variable NOT_SET; it is left out" \
        "'asks': mcpd cannot ask for the input 'key'" "'neither'" "'odd': its address is not an http or https URL" \
        "'Good!': its name would be 'good', like that of 'good'" "'MCPD!': no server may be called mcpd, "; do
        echo "$line"
        [[ $output == *"hosts.json: the server $line"* ]]
    done
    run -1 --separate-stderr "$MCPD" --servers hosts.json --print-config mcpd
    [[ $stderr == *"'missing'"* && $stderr != *"left out"* && -z $output ]]
    echo '{"mcpServers":{"x":{"command":"${NOT_SET}"}}}' >none.json
    run -1 "$MCPD" --servers none.json </dev/null
    [[ $output == *"none.json has no server that can be used"* ]]
    echo '{' >broken.json
    run -1 "$MCPD" one --servers broken.json </dev/null
    [[ $output == *"broken.json, line 2"* ]]
    run -1 "$MCPD" one --servers nowhere.json </dev/null
    [[ $output == *"nowhere.json"* ]]
    run "$MCPD" --doctor --servers hosts.json
    [[ $output == *NOT_SET* && $output == *good* ]]
}

@test "tools that a host does not use are not offered" {
    jq -nc --arg mcpd "$other" 'def e: {command: $mcpd, args: ["--resource-tools", "one"]};
        {mcpServers: {a: (e + {includeTools: ["list_resources", "none"]}), b: (e + {excludeTools: ["list_resources"]}),
            c: (e + {tools: ["*"]}), d: (e + {tools: ["read_resource"]})}}' >hosts.json
    [ "$(tools --servers hosts.json | paste -sd ' ')" = \
        'a_list_resources b_find_resources b_read_resource b_search_resources c_find_resources c_list_resources c_read_resource c_search_resources d_read_resource' ]
    printf '[mcp_servers.x]\ncommand = "%s"\nargs = ["--resource-tools", "one"]\nenabled_tools = ["list_resources", "find_resources"]\ndisabled_tools = ["find_resources"]\n' \
        "$other" >x.toml
    [ "$(tools --servers x.toml)" = x_list_resources ]
    "$MCPCTL" call --yes a_list_resources -- "$MCPD" --servers hosts.json
    run "$MCPCTL" call --yes b_list_resources -- "$MCPD" --servers hosts.json
    [[ $status != 0 && $output == *"b_list_resources"* && $output != *a.txt* ]]
    # A call does not list the tools first.
    talk modern "$MCPD" --servers hosts.json
    failure tools/call '{"name":"b_list_resources","arguments":{}}'
    is -32602 .code
    hush
}

@test "the time-outs of entries are used" {
    jq -nc '{mcpServers: {mute: {command: "sh", args: ["-c", "exec cat >/dev/null"], timeout: 100}}}' >mute.json
    printf '[mcp_servers.mute]\ncommand = "sh"\nargs = ["-c", "exec cat >/dev/null"]\nstartup_timeout_sec = 1\n' >mute.toml
    for file in mute.json mute.toml; do
        talk modern "$MCPD" one --servers "$file"
        failure resources/read '{"uri":"mcp+mute:x:y"}'
        is true '.message | startswith("The server mute does not answer: ")'
        hush
    done
}

@test "mcpd leaves itself out: the command of the entry, and its address" {
    ln -s "$MCPD" link
    jq -nc --arg mcpd "$MCPD" --arg link "$PWD/link" --arg other "$other" '{mcpServers: {
        a: {command: $mcpd, args: ["one"]}, b: {command: $link, args: ["one"]}, c: {command: "mcpd-in-path"},
        d: {url: "http://localhost:18571/mcp"}, e: {command: $other, args: ["--resource-tools", "one"]}}}' >hosts.json
    mkdir bin
    ln -s "$MCPD" bin/mcpd-in-path
    PATH=$PWD/bin:$PATH run -0 "$MCPD" --servers hosts.json --stdio --http 127.0.0.1:18571 </dev/null
    for name in a b c d; do [[ $output == *"'$name': it is this mcpd, to which its sources can be given instead; it is left out"* ]]; done
    [[ $output != *"'e'"* ]]
}

@test "names of entries become names of sources" {
    jq -nc --arg mcpd "$other" 'def e: {command: $mcpd, args: ["--resource-tools", "one"]};
        {mcpServers: {GitHub: e, brave_search: e, "7zip": e, "-x- y-": e, "ä": e, "a-very-long-name-that-is-cut": e}}' >hosts.json
    [ "$(tools --servers hosts.json | sed -n 's/_list_resources//p' | paste -sd ' ')" = \
        'a-very-long-name-th-6bd1 brave-search github s-7zip s-ba5f x-y' ]
}

@test "the file is read again after SIGHUP, and its secrets are not shown" {
    jq -nc --arg mcpd "$other" '{mcpServers: {one: {command: $mcpd, args: ["one"], env: {KEY: "sesame"}}}}' >hosts.json
    echo '{"servers": "hosts.json", "sources": ["two"]}' >mcpd.json
    run -0 "$MCPD" --config mcpd.json --print-config mcpd
    [ "$(jq -c '[.servers, .sources]' <<<"$output")" = "[[\"$PWD/hosts.json\"],[\"$PWD/two\"]]" ]
    run -0 --separate-stderr "$MCPD" --servers hosts.json --print-config claude
    [[ $output == *"\"--servers\""*"\"$PWD/hosts.json\""* && $output != *sesame* ]]
    "$MCPD" --config mcpd.json --http 127.0.0.1:0 2>log 3>&- &
    pid=$!
    for _ in {1..600}; do url=$(grep -Eo 'http://[^ ]*' log) && break; sleep 0.1; done
    [ "$("$MCPCTL" ls "$url" | grep -c mcp+one:)" = 2 ]
    sed -i 's/"one":/"changed":/' hosts.json
    kill -HUP "$pid"
    for _ in {1..600}; do "$MCPCTL" ls "$url" | grep -q mcp+changed: && break; sleep 0.1; done
    [ "$("$MCPCTL" ls "$url" | grep -c mcp+one:)" = 0 ]
    echo '{' >hosts.json
    kill -HUP "$pid"
    for _ in {1..600}; do grep -q 'hosts.json, line 2' log && break; sleep 0.1; done
    [ "$("$MCPCTL" ls "$url" | grep -c mcp+changed:)" = 2 ]
}

@test "docs/gateway.md: the commands print what the page shows" {
    mkdir bin
    # In place of npx, which would download the servers.
    printf '#!/bin/sh\nexec "%s" "%s/tools.json"\n' "$BATS_TEST_DIRNAME/support/toolbox" "$PWD" >bin/npx
    chmod +x bin/npx
    echo '[{"name":"echo","inputSchema":{"type":"object"}}]' >tools.json
    PATH="$PWD/bin:$(dirname "$MCPD"):$(dirname "$MCPCTL"):$PATH"
    local page=$BATS_TEST_DIRNAME/../../docs/gateway.md
    awk '/^```sh setup/ { on = 1; next } /^```/ { on = 0 } on' "$page" >setup.sh
    bash -e setup.sh
    awk '/^```sh$/ { n++; on = "command." n; next } /^```expect$/ { on = "expect." n; next } /^```/ { on = "" }
         on { print >on }' "$page"
    commands=(command.*)
    [ "${#commands[@]}" -ge 5 ]
    for command in "${commands[@]}"; do
        run bash -e "$command"
        [[ $status = 0 && "$output" == *"$(cat "expect.${command#*.}")"* ]] || { echo "$command: $output"; return 1; }
    done
}
