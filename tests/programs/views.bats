# Views: what /mcp/NAME and --view NAME show, that rules still decide there, and that nothing of one
# view is good in another.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    load support/serving.bash
    load support/talk.bash # its request(), not that of serving.bash
    serving_setup
    export XDG_STATE_HOME="$BATS_TEST_TMPDIR/state"
    mkdir docs notes
    printf 'a plan\n' >docs/plan.txt
    printf 'a secret plan\n' >docs/plan.key
    printf 'a plan of mine\n' >notes/mine.txt
    here="file://$(pwd -P)"
}

teardown() {
    serving_teardown
    [ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
}

# ask PATH METHOD PARAMS [CURL-OPTION...]: PARAMS are members with a comma at the end; sets $heard and $status
ask() {
    local path=$1 method=$2 params=$3 name
    shift 3
    name=$(jq -r '.name // .uri // empty' <<<"{${params%,}}")
    status=$(curl -sS -m 20 -o heard -w '%{http_code}' -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H "Mcp-Method: $method" ${name:+-H "Mcp-Name: $name"} "$@" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":{$params${meta_of:-$meta}}}" \
        "http://127.0.0.1:$port$path")
    heard=$(cat heard)
}

uris() { # PATH: the URIs of resources/list there
    ask "$1" resources/list '' "${@:2}"
    jq -r '.result.resources[].uri' <<<"$heard" | sed "s|^$here/||" | sort | tr '\n' ' '
}

tools() { # PATH: the names of the tools there
    ask "$1" tools/list '' "${@:2}"
    jq -r '.result.tools[].name' <<<"$heard" | sort | tr '\n' ' '
}

# Waits until the line of the log has been written once more.
reload() {
    local before
    before=$(grep -c reloaded "$log" || true)
    kill -HUP "$server"
    wait_for logged reloaded $((before + 1))
}

@test "a view over HTTP has its sources and tools, and no other path is a view" {
    sqlite3 shop.db 'CREATE TABLE sale (id INTEGER PRIMARY KEY, what TEXT); INSERT INTO sale VALUES (1, "a plan");' ||
        skip 'sqlite3 is not installed'
    cat >c.json <<'END'
{"sources": ["docs", "notes", "sqlite:shop.db"], "http": ["127.0.0.1:0"], "resource-tools": true,
 "tools": [{"name": "deploy", "description": "Deploys", "command": ["echo", "deployed"]}],
 "views": {"team": {"sources": "docs", "instructions": "For the team."},
           "shop": {"sources": ["shop"]},
           "run": {"sources": "notes", "tools": ["deploy", "read_*"]},
           "few": {"tools": "search_resources"}}}
END
    serve --config c.json
    [ "$(uris /mcp)" = 'docs docs/plan.key docs/plan.txt notes notes/mine.txt sqlite://shop/ sqlite://shop/sale sqlite://shop/sale/rows ' ]
    [ "$(uris /mcp/team)" = 'docs docs/plan.key docs/plan.txt ' ]
    [ "$(jq -r .result.cacheScope heard)" = private ]
    [ "$(uris /mcp/run)" = 'notes notes/mine.txt ' ]
    [[ "$(uris /mcp/shop)" == 'sqlite://shop/ '* ]]
    [ "$(uris /mcp/few)" = "$(uris /mcp)" ]

    resource_tools='find_resources list_resources read_resource search_resources '
    [ "$(tools /mcp)" = "deploy ${resource_tools/read/query_sqlite_shop read}" ]
    [ "$(tools /mcp/team)" = "$resource_tools" ]
    [ "$(tools /mcp/shop)" = "${resource_tools/read/query_sqlite_shop read}" ]
    [ "$(tools /mcp/run)" = 'deploy read_resource ' ]
    [ "$(tools /mcp/few)" = 'search_resources ' ]

    # what is not in a view does not exist there
    ask /mcp/team resources/read "\"uri\":\"$here/notes/mine.txt\","
    [[ "$heard" == *'Resource not found'* ]]
    ask /mcp/team resources/read "\"uri\":\"$here/docs/plan.txt\","
    [[ "$heard" == *'a plan'* ]]
    ask /mcp/team resources/read '"uri":"sqlite://shop/sale",'
    [[ "$heard" == *'Resource not found'* ]]
    ask /mcp/team tools/call '"name":"deploy","arguments":{},'
    [[ "$heard" == *-32602* && "$heard" != *deployed* ]]
    ask /mcp/team tools/call '"name":"query_sqlite_shop","arguments":{"sql":"SELECT * FROM sale"},'
    [[ "$heard" == *-32602* && "$heard" != *'a plan'* ]]
    ask /mcp/run tools/call '"name":"deploy","arguments":{},'
    [[ "$heard" == *deployed* ]]
    # nor by the tools that show several things, also of a source in a process of its own
    ask /mcp/team tools/call '"name":"search_resources","arguments":{"query":"plan"},'
    [[ "$heard" == *docs/plan.txt* && "$heard" != *mine* && "$heard" != *sqlite* ]]
    ask /mcp/shop tools/call '"name":"list_resources","arguments":{},'
    [[ "$heard" == *sqlite://shop/sale* && "$heard" != *file:* ]]
    ask /mcp/shop resources/read '"uri":"sqlite://shop/sale",'
    [[ "$heard" == *what* ]]
    ask /mcp/team tools/call "\"name\":\"read_resource\",\"arguments\":{\"uri\":\"$here/notes/mine.txt\"},"
    [[ "$heard" != *'of mine'* ]]
    ask /mcp/run subscriptions/listen "\"notifications\":{\"resourceSubscriptions\":[\"$here/docs/plan.txt\"]}," -m 2 || :
    [[ "$(cat heard)" != *docs/plan.txt* ]]

    # instructions
    ask /mcp/team server/discover ''
    [ "$(jq -r .result.instructions heard)" = 'For the team.' ]
    ask /mcp/run server/discover ''
    [[ "$(jq -r .result.instructions heard)" == *notes* ]]
    [[ "$(jq -r .result.instructions heard)" != *docs* ]]

    for path in /mcp/none /mcp/ /mcp/team/ /mcp/TEAM /mcp/%74eam /mcp/team/x /team /mcpteam; do
        ask "$path" resources/list ''
        [ "$status" = 404 ]
    done
    finish
}

@test "rules decide in a view, too, and a rule can be about a view" {
    cat >c.json <<'END'
{"sources": ["docs", "notes"], "http": ["127.0.0.1:0"], "resource-tools": true, "audit": "audit",
 "tokens": {"ann": "ann-token", "bob": "bob-token"},
 "views": {"team": {"sources": "docs"}, "mine": {"sources": "notes"}},
 "access": [{"effect": "deny", "resources": "**.key"},
            {"principal": "bob", "view": "mine", "effect": "deny"},
            {"principal": "bob", "view": ["team"], "effect": "deny", "tools": "*"}]}
END
    serve --config c.json
    ann=(-H 'Authorization: Bearer ann-token') bob=(-H 'Authorization: Bearer bob-token')
    [ "$(uris /mcp/team "${ann[@]}")" = 'docs docs/plan.txt ' ]
    [ "$(uris /mcp/mine "${ann[@]}")" = 'notes notes/mine.txt ' ]
    [ "$(uris /mcp/mine "${bob[@]}")" = '' ]
    [ "$(uris /mcp "${bob[@]}")" = 'docs docs/plan.txt notes notes/mine.txt ' ]
    [ "$(tools /mcp/team "${bob[@]}")" = '' ]
    [ "$(tools /mcp "${bob[@]}" | wc -w)" = 4 ]
    ask /mcp/team resources/list ''
    [ "$status" = 401 ]
    ask /mcp/none resources/list ''
    [ "$status" = 404 ]
    [ "$(jq -r 'select(.principal == "ann") | .view' audit | sort -u | tr '\n' ' ')" = 'mine team ' ]
    finish
}

@test "a rule about a view also holds within a source in a process of its own" {
    sqlite3 shop.db 'CREATE TABLE sale (id INTEGER PRIMARY KEY); CREATE TABLE customer (id INTEGER PRIMARY KEY);' ||
        skip 'sqlite3 is not installed'
    cat >c.json <<'END'
{"sources": ["sqlite:shop.db"], "http": ["127.0.0.1:0"], "resource-tools": true, "views": {"a": {}, "b": {}},
 "access": [{"view": "b", "effect": "deny", "resources": "sqlite://shop/customer**"}]}
END
    serve --config c.json
    for path in /mcp /mcp/a /mcp/b; do
        ask "$path" resources/read '"uri":"sqlite://shop/",'
        [[ "$heard" == *sale* ]]
        [[ "$heard" == *customer* || $path = /mcp/b ]]
        [[ "$heard" != *customer* || $path != /mcp/b ]]
        [[ "$(uris "$path")" == *sale* ]]
        [[ "$(uris "$path")" == *customer* || $path = /mcp/b ]]
        [[ "$(uris "$path")" != *customer* || $path != /mcp/b ]]
    done
    finish
}

@test "what is remembered in one view means nothing in another" {
    cat >c.json <<'END'
{"sources": ["docs"], "http": ["127.0.0.1:0"], "resource-tools": true, "page-size": 1,
 "views": {"a": {}, "b": {}},
 "access": [{"effect": "ask", "operations": ["create"], "resources": "docs"}]}
END
    serve --config c.json
    paths=(/mcp /mcp/a /mcp/b)
    for own in 0 1 2; do
        # a session
        session=$(curl -sS -D- -o /dev/null -H 'Content-Type: application/json' \
            -H 'Accept: application/json, text/event-stream' \
            -d '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' \
            "http://127.0.0.1:$port${paths[own]}" | sed -n 's/^Mcp-Session-Id: \(.*\)\r/\1/p')
        [ -n "$session" ]
        for ((k = 2; k >= 0; k--)); do
            status=$(curl -sS -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' \
                -H 'Accept: application/json, text/event-stream' -H "Mcp-Session-Id: $session" \
                -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' "http://127.0.0.1:$port${paths[(own + k) % 3]}")
            [ "$status" = $((k ? 404 : 200)) ]
        done
        # a cursor
        ask "${paths[own]}" resources/list ''
        cursor=$(jq -r .result.nextCursor heard)
        for ((k = 2; k >= 0; k--)); do
            ask "${paths[(own + k) % 3]}" resources/list "\"cursor\":\"$cursor\","
            [ "$(jq -r '.error.code // "page"' heard)" = "$([ $k = 0 ] && echo page || echo -32602)" ]
        done
        # a consent
        meta_of=${meta/'Capabilities":{}'/'Capabilities":{"elicitation":{"form":{}}}'}
        call="\"name\":\"write_file\",\"arguments\":{\"uri\":\"$here/docs/new$own.txt\",\"text\":\"x\"},"
        ask "${paths[own]}" tools/call "$call"
        state=$(jq -r .result.requestState heard)
        key=$(jq -r '.result.inputRequests | keys[0]' heard)
        answer="$call\"requestState\":\"$state\",\"inputResponses\":{\"$key\":{\"action\":\"accept\",\"content\":{\"decision\":\"do it\"}}},"
        for ((k = 2; k >= 0; k--)); do
            ask "${paths[(own + k) % 3]}" tools/call "$answer"
            [ "$(jq -r '.error.code // "ok"' heard)" = "$([ $k = 0 ] && echo ok || echo -32602)" ]
            [ -e "docs/new$own.txt" ] || [ $k != 0 ]
            [ ! -e "docs/new$own.txt" ] || [ $k = 0 ]
        done
        meta_of=
    done
    finish
}

@test "the journal of changes names only files of the view" {
    cat >c.json <<'END'
{"sources": ["docs", "notes"], "http": ["127.0.0.1:0"], "resource-tools": true, "tokens": {"ann": "ann-token"},
 "views": {"a": {"sources": "docs"}, "b": {"sources": "notes"}},
 "access": [{"effect": "allow", "operations": ["create", "move"]}]}
END
    serve --config c.json
    ann=(-H 'Authorization: Bearer ann-token')
    ask /mcp/a tools/call "\"name\":\"write_file\",\"arguments\":{\"uri\":\"$here/notes/new.txt\",\"text\":\"x\"}," "${ann[@]}"
    [ ! -e notes/new.txt ]
    ask /mcp/a tools/call "\"name\":\"write_file\",\"arguments\":{\"uri\":\"$here/docs/new.txt\",\"text\":\"x\"}," "${ann[@]}"
    [ "$(cat docs/new.txt)" = x ]
    ask /mcp tools/call "\"name\":\"move_file\",\"arguments\":{\"uri\":\"$here/docs/new.txt\",\"to\":\"$here/notes/moved.txt\"}," "${ann[@]}"
    [ -e notes/moved.txt ]
    for expected in '/mcp [["move",true,true],["create",true,false]]' '/mcp/a [["move",true,false],["create",true,false]]' '/mcp/b []'; do
        ask "${expected%% *}" libmcp/changes/list '' "${ann[@]}"
        [ "$(jq -c '[.result.changes[] | [.operation, has("uri"), has("to")]]' heard)" = "${expected#* }" ]
    done
    finish
}

@test "views come and go when the configuration is reloaded" {
    config() { echo "{\"sources\": [\"docs\", \"notes\"], \"http\": [\"127.0.0.1:0\"], \"views\": {$1}}" >c.json; }
    config '"a": {"sources": "docs"}'
    serve --config c.json
    [ "$(uris /mcp/a)" = 'docs docs/plan.key docs/plan.txt ' ]
    config '"a": {"sources": "notes"}, "b": {}'
    reload
    [ "$(uris /mcp/a)" = 'notes notes/mine.txt ' ]
    [ "$(uris /mcp/b)" = 'docs docs/plan.key docs/plan.txt notes notes/mine.txt ' ]
    # a mistake keeps the views that there are
    config '"a": {"sources": "note"}'
    kill -HUP "$server"
    wait_for logged 'was not reloaded'
    logged 'c.json:1:84: no source has this name or path'
    [ "$(uris /mcp/a)" = 'notes notes/mine.txt ' ]
    config '"b": {}'
    reload
    ask /mcp/a resources/list ''
    [ "$status" = 404 ]
    finish
}

@test "--view serves a view over stdin and stdout" {
    cat >c.json <<'END'
{"sources": ["docs", "notes"], "resource-tools": true,
 "views": {"team": {"sources": "docs", "tools": "read_*", "instructions": "For the team."}, "none": {"sources": ["notes"]}},
 "access": [{"effect": "deny", "resources": "**.key"}, {"view": "none", "effect": "deny"}]}
END
    for one in modern legacy; do
        talk $one "$MCPD" --config c.json --view team
        [ $one = modern ] || is '"For the team."' .instructions
        result resources/list '{}'
        is "[\"$here/docs\",\"$here/docs/plan.txt\"]" '[.resources[].uri]'
        result tools/list '{}'
        is '["read_resource"]' '[.tools[].name]'
        failure resources/read "{\"uri\":\"$here/notes/mine.txt\"}"
        hush
        talk $one "$MCPD" --config c.json --view none
        result resources/list '{}'
        is '[]' .resources
        hush
    done
    run -1 "$MCPD" --config c.json --view other </dev/null
    [[ "$output" == *'--view: there is no view other: name it in "views" of the configuration'* ]]
    run -1 "$MCPD" --view other docs </dev/null
    [[ "$output" == *'there is no view other: views are named in a configuration (--config)'* ]]
    run -2 "$MCPD" --config c.json --view team --http 127.0.0.1:0 </dev/null
    [[ "$output" == *'over HTTP a view is at the path /mcp/team'* ]]
    # a host starts it in its view
    "$MCPD" --config c.json --view team --print-config vscode | grep -A1 -- '"--view"' | grep -q '"team"'
}

@test "--doctor shows each view, and --print-config mcpd keeps them" {
    cat >c.json <<'END'
{"sources": ["docs", "notes"], "views": {"team": {"sources": ["docs"]}, "mine": {"sources": "notes"}}}
END
    run -0 "$MCPD" --config c.json --doctor
    [[ "$output" == *'ok      view: --view team'*'ok      view: --view mine'* ]]
    [[ "$output" == *'as stdio:'*'5 resources'*'as stdio in the view team:'*'3 resources'*'as stdio in the view mine:'*'2 resources'* ]]
    run -0 "$MCPD" --config c.json --doctor --view mine --json
    [ "$(jq -c '[.offers[] | [.principal, .view, .resources.count]]' <<<"$output")" = '[["stdio","mine",2]]' ]
    run -1 "$MCPD" --config c.json --doctor --view other
    [[ "$output" == *'there is no view other'* ]]
    "$MCPD" --config c.json --print-config mcpd >whole.json
    [ "$(jq -c .views whole.json)" = "{\"team\":{\"sources\":[\"$PWD/docs\"]},\"mine\":{\"sources\":\"$PWD/notes\"}}" ]
    mkdir elsewhere && mv whole.json elsewhere
    "$MCPD" --config elsewhere/whole.json --check-config
}

# MCP_VIEWS_ROUNDS sets how long it takes, MCP_VIEWS_SEED repeats a run.
@test "generated views give nothing that the rules deny, and nothing that is carried from one to another" {
    command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed'
    run timeout 300 "$BATS_TEST_DIRNAME/support/carried" "$MCPD" "${MCP_VIEWS_SEED:-$RANDOM}" "${MCP_VIEWS_ROUNDS:-3}"
    echo "$output"
    [ "$status" = 0 ]
}
