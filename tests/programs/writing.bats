# write_file, edit_file, move_file, delete_file: what they do, for whom, and what nobody writes.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    load support/talk.bash
    cd "$BATS_TEST_TMPDIR"
    export XDG_STATE_HOME="$BATS_TEST_TMPDIR/state"
    mkdir files
    printf 'one\r\ntwo\r\nthree\r\n' >files/a.txt
    here="file://$(pwd -P)/files"
}

teardown() {
    [ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
}

tool() { result tools/call "$(jq -cn --arg name "$1" --argjson arguments "$2" '{$name, $arguments}')"; } # NAME ARGUMENTS
done_is() { is null .isError && is "\"$1\"" .structuredContent.operation; }
refused() { is true .isError && is true ".content[0].text | test(\"$1\")"; } # a regular expression
text_of() { jq -r '.content[0].text' <<<"$heard"; }

@test "files are written, edited, moved and deleted" {
    for era in modern legacy; do
        talk "$era" "$MCPD" 'files?write=**'
        tool write_file '{"uri":"b.txt","text":"a\nb\n"}'
        done_is create
        is "\"$here/b.txt\"" .structuredContent.uri
        [ "$(cat files/b.txt)" = $'a\nb' ]
        [ "$(stat -c %a files/b.txt)" = "$(printf %o $((0666 & ~$(umask))))" ]
        version=$(jq -r .structuredContent.version <<<"$heard")

        tool write_file '{"uri":"b.txt","text":"c\n"}'
        refused "exists already.*if_match.*$version"
        tool write_file '{"uri":"b.txt","text":"c\n","if_match":"'"$version"'"}'
        done_is change
        tool write_file '{"uri":"b.txt","text":"d\n","if_match":"'"$version"'"}'
        refused 'was changed meanwhile: its version is'
        [ "$(cat files/b.txt)" = c ]

        tool edit_file "{\"uri\":\"$here/a.txt\",\"edits\":[{\"old\":\"two\nthree\",\"new\":\"2\n3\n4\"}]}"
        done_is change
        is '[3,2]' '[.structuredContent | .plus, .minus]'
        [ "$(cat files/a.txt)" = $'one\r\n2\r\n3\r\n4\r' ] # the line ends of the file
        tool edit_file "{\"uri\":\"$(pwd -P)/files/a.txt\",\"patch\":\"@@ -1,2 +1,2 @@\n one\n-2\n+two\n\"}"
        done_is change
        tool edit_file '{"uri":"a.txt","edits":[{"old":"\n","new":" "}]}'
        refused 'edit 1.*4 times'
        tool edit_file '{"uri":"a.txt","edits":[{"old":"two","new":"2"},{"old":"none","new":""}]}'
        refused 'edit 2: its text does not occur'
        tool edit_file '{"uri":"a.txt"}'
        refused 'either edits or patch'
        [ "$(cat files/a.txt)" = $'one\r\ntwo\r\n3\r\n4\r' ]
        tool edit_file '{"uri":"a.txt","dry_run":true,"edits":[{"old":"3\n4","new":"three"}]}'
        is true '.content[1].text | test("\n-3\n-4\n[+]three\n")'
        [ "$(cat files/a.txt)" = $'one\r\ntwo\r\n3\r\n4\r' ]
        tool edit_file '{"uri":"a.txt","edits":[{"old":"3\n4","new":"three"}]}'

        tool move_file '{"uri":"b.txt","to":"a.txt"}'
        refused 'there is .*already|exists'
        tool move_file '{"uri":"b.txt","to":"c.txt"}'
        done_is move
        [ "$(cat files/c.txt)" = c ] && [ ! -e files/b.txt ]
        tool delete_file '{"uri":"c.txt","if_match":"1-2-3"}'
        refused 'was changed meanwhile'
        tool delete_file '{"uri":"c.txt"}'
        done_is delete
        tool delete_file '{"uri":"c.txt"}'
        refused 'c.txt does not exist'
        [ "$(ls -A files)" = a.txt ]

        tool write_file '{"uri":"new/of/it/b.txt","text":"b"}'
        done_is create
        tool move_file '{"uri":"new/of/it/b.txt","to":"other/b.txt"}'
        done_is move
        [ "$(cat files/other/b.txt)" = b ]
        [ "$(stat -c %a files/other)" = "$(printf %o $((0777 & ~$(umask))))" ]
        rm -r files/new files/other
        hush
    done
}

@test "what is told of a change comes before its answer, and the writer reads the new contents" {
    talk legacy "$MCPD" 'files?write=**'
    result resources/read "{\"uri\":\"$here/a.txt\"}"
    result resources/subscribe "{\"uri\":\"$here/a.txt\"}"
    request tools/call '{"name":"edit_file","arguments":{"uri":"a.txt","edits":[{"old":"one","new":"1"}]}}'
    hear '.method == "notifications/resources/updated" or .id == '"$last_id" # whichever comes first
    is '"notifications/resources/updated"' .method
    answer
    result resources/read "{\"uri\":\"$here/a.txt\"}"
    is '"1\r\ntwo\r\nthree\r\n"' '.contents[0].text'
    hush
}

@test "who may change a file is told its version by reads and lists, and the version holds" {
    local era version
    seq 20000 >files/long.txt
    for era in modern legacy; do
        printf 'one\ntwo\n' >files/a.txt
        talk "$era" "$MCPD" 'files?write=a.txt'
        result resources/read "{\"uri\":\"$here/a.txt\"}"
        version=$(jq -r '.contents[0]._meta["libmcp/version"]' <<<"$heard")
        [[ $version =~ ^[0-9a-f]+-[0-9a-f]+-8-[0-9a-f]{16}$ ]]
        request resources/read "{\"uri\":\"$here/a.txt\"}"
        request resources/read "{\"uri\":\"$here/a.txt\"}" # from the cache
        answer
        is "\"$version\"" '.result.contents[0]._meta["libmcp/version"]'
        result resources/read "{\"uri\":\"$here/a.txt?line=2\"}"
        is "\"${version%-*}\"" '.contents[0]._meta["libmcp/version"]' # a part has no hash
        result resources/list '{}'
        is "[\"$here/a.txt\",\"${version%-*}\"]" '.resources[] | [.uri, ._meta["libmcp/version"] // empty] | select(.[1])'
        result resources/read "{\"uri\":\"$here/long.txt\"}" # no rule about it
        is null '.contents[0]._meta'
        result resources/read "{\"uri\":\"$here\"}"
        is null '.contents[0]._meta'

        tool read_resource '{"uri":"a.txt"}'
        is '["one\ntwo\n","Version '"$version"' (for if_match)"]' '[.content[].text]'
        is "\"$version\"" '.content[1]._meta["libmcp/version"]'
        tool read_resource '{"uri":"long.txt","lines":1}'
        is false '[.content[].text] | any(test("if_match"))'

        tool write_file '{"uri":"a.txt","text":"new\n","if_match":"'"$version"'"}'
        done_is change
        tool write_file '{"uri":"a.txt","text":"newer\n","if_match":"'"$version"'"}'
        refused 'was changed meanwhile'
        version=$(jq -r '.content[0].text | capture("its version is (?<v>[0-9a-f-]+) now").v' <<<"$heard")
        result resources/read "{\"uri\":\"$here/a.txt\"}"
        is "\"$version\"" '.contents[0]._meta["libmcp/version"]'
        hush
        talk "$era" "$MCPD" files
        result resources/read "{\"uri\":\"$here/a.txt\"}"
        is null '.contents[0]._meta'
        result resources/list '{}'
        is '[]' '[.resources[] | select(._meta)]'
        hush
    done
}

@test "nothing can be written without a rule" {
    talk modern "$MCPD" files
    result tools/list '{}'
    is '[]' '[.tools[].name | select(test("_file$"))]'
    failure tools/call '{"name":"write_file","arguments":{"uri":"b.txt","text":""}}'
    hush
    for rule in '{"effect":"allow"}' '{"effect":"allow","resources":"files"}' \
        '{"effect":"allow","operations":["create","change","move","delete"],"principal":"anonymous"}' \
        '{"effect":"allow","operations":["create"],"resources":"files/other/**"}'; do
        printf '{"sources":["files"],"access":[%s]}' "$rule" >mcpd.json
        talk modern "$MCPD" --config mcpd.json
        for call in 'write_file {"uri":"b.txt","text":""}' 'edit_file {"uri":"a.txt","edits":[{"old":"one","new":"1"}]}' \
            'move_file {"uri":"a.txt","to":"b.txt"}' 'delete_file {"uri":"a.txt"}'; do
            request tools/call "{\"name\":\"${call%% *}\",\"arguments\":${call#* }}"
            answer
            is true 'has("error") or .result.isError'
        done
        [ "$(ls files)" = a.txt ]
        hush
    done
}

@test "each operation needs its own rule, and a later rule takes away" {
    echo '{"sources":["files"],"access":[{"effect":"allow","operations":["create","move"],"resources":"files/**"},
        {"effect":"deny","operations":["create"],"resources":"files/x/**"}]}' >mcpd.json
    mkdir files/x
    talk modern "$MCPD" --config mcpd.json
    tool write_file '{"uri":"b.txt","text":"b"}'
    done_is create
    tool edit_file '{"uri":"b.txt","edits":[{"old":"b","new":"c"}]}'
    refused 'no rule .* allows you to change it'
    tool delete_file '{"uri":"b.txt"}'
    refused 'no rule .* allows you to delete it'
    tool write_file '{"uri":"x/b.txt","text":"b"}'
    refused 'no rule .* allows you to create it'
    tool move_file '{"uri":"b.txt","to":"x/b.txt"}' # it would be made there
    refused 'no rule'
    tool move_file '{"uri":"b.txt","to":"c.txt"}'
    done_is move
    hush
}

@test "what is not served gets one answer, whether it exists or not" {
    git init -q files
    mkdir files/.hidden outside
    printf 'ignored\n' >files/.gitignore
    echo secret | tee files/ignored files/out.txt files/.hidden/a outside/a >/dev/null
    ln -s ../outside/a files/link
    ln -s ../outside files/way
    talk modern "$MCPD" 'files?write=**' --exclude out.txt
    for name in ignored out.txt none/out.txt .hidden/a .hidden/new .new ../outside/a ../outside/new way/a way/new link \
        "$(pwd -P)/outside/a" "$(pwd -P)/outside/new" .git/config .git/new; do
        for call in "write_file {\"uri\":\"$name\",\"text\":\"x\"}" "edit_file {\"uri\":\"$name\",\"edits\":[{\"old\":\"e\",\"new\":\"x\",\"count\":2}]}" \
            "move_file {\"uri\":\"$name\",\"to\":\"moved\"}" "move_file {\"uri\":\"a.txt\",\"to\":\"$name\"}" "delete_file {\"uri\":\"$name\"}"; do
            tool "${call%% *}" "${call#* }"
            refused 'no such file is served here, or it may not be written by you'
        done
    done
    hush
    cat files/ignored files/out.txt files/.hidden/a outside/a >all
    [ "$(sort -u all)" = secret ]
    [ "$(ls files outside)" = $'files:\na.txt\nignored\nlink\nout.txt\nway\n\noutside:\na' ]
}

answers() { # ACTION CONTENT: repeats the call with an answer to its question
    local asked=$heard
    request tools/call "$(jq -c --argjson params "$params" --arg action "$1" --argjson content "$2" '
        $params + {requestState, inputResponses: (.inputRequests | map_values({$action} + if $action == "accept" then {$content} else {} end))}' <<<"$asked")"
    answer
    heard=$(jq -c .result <<<"$heard")
}

@test "names that programs obey need a rule with the exact path, and a person" {
    echo '{"sources":["files"],"access":[{"effect":"allow","operations":["create","change"],"resources":"files/**"},
        {"effect":"allow","operations":["create"],"resources":"files/CLAUDE.md"}]}' >mcpd.json
    capabilities='{"elicitation":{"form":{}}}'
    talk modern "$MCPD" --config mcpd.json --audit audit
    for name in AGENTS.md claude.md x/CLAUDE.md .claude/settings.json node_modules/x/.npmrc; do
        tool write_file "{\"uri\":\"$name\",\"text\":\"obey\"}"
        is true .isError
    done
    params='{"name":"write_file","arguments":{"uri":"CLAUDE.md","text":"obey\n"}}'
    for answer in 'decline {}' 'accept {}' 'cancel {}'; do
        result tools/call "$params"
        is '"input_required"' .resultType
        is true "[.inputRequests[].params.message | test(\"create $here/CLAUDE.md\")] | all"
        answers "${answer% *}" "${answer#* }"
        [ ! -e files/CLAUDE.md ]
    done
    hush
    jq -es '[.[] | select(.operation) | .outcome] == [range(5) | "denied"] + [range(3) | "input required", "denied"]' audit
    talk modern "$MCPD" --config mcpd.json
    result tools/call "$params"
    choice=$(jq -c '[.inputRequests[].params.requestedSchema.properties | to_entries[] |
        {(.key): (.value.enum // [.value.oneOf[].const])[0]}] | add' <<<"$heard")
    answers accept "$choice"
    done_is create
    [ "$(cat files/CLAUDE.md)" = obey ]
    hush
}

@test "what the server itself reads is not written" {
    mkdir files/prompts
    echo '#!/bin/sh' >files/run.sh
    chmod +x files/run.sh
    sqlite3 files/shop.db 'CREATE TABLE t(a)'
    printf 'token\n' >files/tokens
    echo hi >files/prompts/p.md
    echo '{"sources":[{"path":".","write":"**"},"sqlite:shop.db"],"prompts":"prompts","audit":"audit.log",
        "http":["127.0.0.1:0"],"stdio":true,"token-file":"tokens","tools":[{"name":"run","description":"d","command":["./run.sh"]}]}' >files/mcpd.json
    ln files/tokens files/other-name
    talk modern "$MCPD" --config files/mcpd.json
    for name in mcpd.json run.sh shop.db shop.db-wal tokens other-name prompts/p.md prompts/new.md audit.log; do
        [[ $name == *-wal ]] || { tool edit_file "{\"uri\":\"$name\",\"edits\":[{\"old\":\"i\",\"new\":\"x\"}]}"; is true .isError; }
        tool delete_file "{\"uri\":\"$name\"}"
        is true .isError
        tool move_file "{\"uri\":\"a.txt\",\"to\":\"$name\"}"
        is true .isError
    done
    tool edit_file '{"uri":"run.sh","edits":[{"old":"sh","new":"x"}]}'
    refused 'this server itself reads'
    hush
    run ! "$MCPD" --config files/mcpd.json --journal files/journal --check-config
}

@test "the journal is outside of what is served" {
    run -1 "$MCPD" --journal files/journal 'files?write=**' </dev/null
    [[ $output == *'the journal of changes would be in files, which is served: give another folder with --journal'* ]]
}

@test "what is wrong with the journal is in the log, and callers are not told where it is" {
    mkdir -m 0755 open
    talk modern "$MCPD" --journal open 'files?write=**'
    tool write_file '{"uri":"b.txt","text":""}'
    refused '^the journal of changes: others may read or write its folder'
    [[ "$heard" != */open* ]]
    hush
    [ ! -e files/b.txt ]
    grep -q '/open: the journal of changes: others may read or write its folder (mode 755)' talk.log
}

changes() { result libmcp/changes/list "${1:-{\}}"; }

@test "a person takes changes back, with today's rules and versions" {
    for era in modern legacy; do
        rm -rf state files/*
        printf 'one\r\ntwo\r\n' >files/a.txt
        printf '\xff\x00\x01' >files/bytes
        talk "$era" "$MCPD" 'files?write=**'
        tool edit_file '{"uri":"a.txt","edits":[{"old":"one","new":"1"}]}'
        tool edit_file '{"uri":"a.txt","edits":[{"old":"two","new":"2"}]}'
        tool write_file '{"uri":"b.txt","text":"b"}'
        tool move_file '{"uri":"b.txt","to":"c.txt"}'
        tool delete_file '{"uri":"bytes"}'
        tool edit_file '{"uri":"a.txt","edits":[{"old":"missing","new":"2"}]}'
        changes
        is '["delete","move","create","change","change"]' '[.changes[].operation]'
        is '["done"]' '[.changes[].state] | unique'
        is "\"$here/c.txt\"" '.changes[1].to'
        mapfile -t ids < <(jq -r '.changes[].id' <<<"$heard")
        [ "$(stat -c %a state/mcpd/journal)" = 700 ]
        [ -z "$(find state/mcpd/journal -type f ! -perm 600)" ]

        failure libmcp/changes/undo "{\"id\":\"${ids[4]}\"}"
        is true '.message | test("was changed after that, and its version is")'
        result libmcp/changes/undo "{\"id\":\"${ids[0]}\"}"
        is '"create"' .operation
        [ "$(od -An -tx1 files/bytes)" = ' ff 00 01' ]
        failure libmcp/changes/undo "{\"id\":\"${ids[0]}\"}"
        is '"this change was taken back already"' .message
        result libmcp/changes/undo "{\"id\":\"${ids[1]}\"}"
        [ ! -e files/c.txt ] && [ "$(cat files/b.txt)" = b ]
        result libmcp/changes/undo "{\"id\":\"${ids[2]}\"}" # it was moved there and back
        [ ! -e files/b.txt ]
        result libmcp/changes/undo "{\"id\":\"${ids[3]}\"}"
        result libmcp/changes/undo "{\"id\":\"${ids[4]}\"}" # as the first one left it
        [ "$(cat files/a.txt)" = $'one\r\ntwo\r' ]
        failure libmcp/changes/undo '{"id":"none"}'
        is '"you have made no change with this id"' .message
        changes "{\"uri\":\"$here/a.txt\"}"
        is '["done","done","undone","undone"]' '[.changes[].state]'
        hush
        talk "$era" "$MCPD" files # no rule any more
        failure libmcp/changes/list '{}'
        hush
    done
}

@test "old contents are forgotten" {
    echo 'password' >files/secret.txt
    talk modern "$MCPD" 'files?write=**'
    tool write_file '{"uri":"secret.txt","text":"x","if_match":"1-2-3"}'
    tool edit_file '{"uri":"secret.txt","edits":[{"old":"password","new":"removed"}]}'
    grep -qr password state
    changes
    id=$(jq -r '.changes[0].id' <<<"$heard")
    result libmcp/changes/forget "{\"uri\":\"$here/secret.txt\"}"
    is '{"forgotten":1}' '{forgotten}'
    run ! grep -qr password state
    failure libmcp/changes/undo "{\"id\":\"$id\"}"
    is true '.message | test("were forgotten")'
    hush
}

post() { # TOKEN METHOD PARAMS: over HTTP; sets $heard to the whole answer
    local name
    name=$(jq -r '.name // empty' <<<"$3")
    heard=$(curl -sS -m 60 ${1:+-H "Authorization: Bearer $1"} -H 'Accept: application/json, text/event-stream' \
        -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $2" ${name:+-H "Mcp-Name: $name"} \
        -d "$(jq -cn --arg method "$2" --argjson params "$3" '{jsonrpc: "2.0", id: 1, $method, params: ($params + {_meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}})}')" "$url")
}

@test "callers see and take back their own changes only, and the tools are listed for those who have a right" {
    printf 'ann:token-a\nben:token-b\neve:token-e\n' >tokens
    echo '{"sources":["files"],"http":["127.0.0.1:0"],"token-file":"tokens","access":[
        {"principal":["ann","ben"],"effect":"allow","operations":["create","change","delete"],"resources":"files/**"}]}' >mcpd.json
    "$MCPD" --config mcpd.json 2>log 3>&- &
    server_pid=$!
    for _ in {1..1200}; do url=$(grep -som1 'http://127[0-9.:]*/mcp' log) && break; sleep 0.05; done
    post token-a tools/call '{"name":"write_file","arguments":{"uri":"b.txt","text":"b"}}'
    is '"create"' .result.structuredContent.operation
    id=$(jq -r .result.structuredContent.undo <<<"$heard")
    post token-b libmcp/changes/list '{}'
    is '[]' .result.changes
    post token-b libmcp/changes/undo "{\"id\":\"$id\"}"
    is '"you have made no change with this id"' .error.message
    post token-b libmcp/changes/forget "{\"uri\":\"$here/b.txt\"}"
    is true '.error.message | test("over stdio")'
    post token-a tools/list '{}'
    is 4 '[.result.tools[].name | select(test("^(write|edit|move|delete)_file$"))] | length'
    post token-e tools/list '{}'
    is 0 '[.result.tools[].name | select(test("^(write|edit|move|delete)_file$"))] | length'
    post token-e tools/call '{"name":"delete_file","arguments":{"uri":"b.txt"}}'
    is true .result.isError
    post token-a libmcp/changes/undo "{\"id\":\"$id\"}"
    is '"delete"' .result.operation
    [ ! -e files/b.txt ]
}

@test "what a killed process has left is removed, and nothing else" {
    left=files/.mcpd-0123456789abcdef.tmp
    echo half >"$left"
    echo mine >files/.mcpd-notes.tmp
    talk modern "$MCPD" 'files?write=**'
    for ((i = 0; i < 600; i++)); do # until it is old enough; each call waits for the disk
        result tools/call "{\"name\":\"write_file\",\"arguments\":{\"uri\":\"b$i\",\"text\":\"x\n\"}}"
        [ -e "$left" ] || break
        sleep 0.05
    done
    [ ! -e "$left" ]
    [ -e files/.mcpd-notes.tmp ]
    hush
}

@test "the audit log says what was changed" {
    printf 'run me\n' >files/a.txt
    talk modern "$MCPD" --audit audit 'files?write=**'
    result tools/call '{"name":"edit_file","arguments":{"uri":"a.txt","edits":[{"old":"me","new":"it"}]}}'
    version=$(jq -r .structuredContent.version <<<"$heard")
    result tools/call '{"name":"move_file","arguments":{"uri":"a.txt","to":"b.txt"}}'
    result tools/call '{"name":"edit_file","arguments":{"uri":"b.txt","edits":[{"old":"none","new":"it"}]}}'
    result tools/call '{"name":"delete_file","arguments":{"uri":"b.txt"}}'
    result libmcp/changes/list '{}'
    id=$(jq -r '.changes[0].id' <<<"$heard")
    result libmcp/changes/undo "{\"id\":\"$id\"}"
    hush
    jq -es --arg here "file://$(pwd -P)/files" --arg version "$version" '
        [.[] | {method, name, operation, uri, to, outcome, written, now, old: has("was")} | del(..|nulls)] | . == [
        {method: "tools/call", name: "edit_file", operation: "change", uri: ($here + "/a.txt"), outcome: "ok", written: 7,
         now: $version, old: true},
        {method: "tools/call", name: "move_file", operation: "move", uri: ($here + "/a.txt"), to: ($here + "/b.txt"), outcome: "ok",
         now: .[1].now, old: true},
        {method: "tools/call", name: "edit_file", operation: "change", uri: ($here + "/b.txt"), outcome: "tool error", old: true},
        {method: "tools/call", name: "delete_file", operation: "delete", uri: ($here + "/b.txt"), outcome: "ok", old: true},
        {method: "libmcp/changes/list", outcome: "ok", old: false},
        {method: "libmcp/changes/undo", operation: "create", uri: ($here + "/b.txt"), outcome: "ok", written: 7, now: .[5].now,
         old: false}]' audit || { cat audit; false; }
}

@test "/metrics counts changes by operation and result, and tells no name" {
    jq -n '{sources: ["files"], access: [{effect: "allow"}, {effect: "allow", operations: ["change"], resources: "files/a.txt"},
        {effect: "ask", operations: ["create"], resources: "files/**"}]}' >mcpd.json
    talk modern "$MCPD" --config mcpd.json --http unix:sock --stdio --audit audit
    changes() { curl -s --unix-socket sock http://localhost/metrics | grep '^mcp_changes_total' | sort; }
    result tools/list '{}'
    [ -z "$(changes)" ]
    tool edit_file '{"uri":"a.txt","edits":[{"old":"two","new":"2"}],"dry_run":true}'
    tool edit_file '{"uri":"a.txt","edits":[{"old":"two","new":"2"}]}'
    tool edit_file '{"uri":"a.txt","edits":[{"old":"none","new":"2"}]}'
    tool delete_file '{"uri":"a.txt"}'
    tool write_file '{"uri":"b.txt","text":"b"}' # needs a person, and there is none
    capabilities='{"elicitation":{}}'
    tool write_file '{"uri":"b.txt","text":"b"}'
    is '"input_required"' .resultType
    [ "$(changes)" = 'mcp_changes_total{operation="change",result="dry_run"} 1
mcp_changes_total{operation="change",result="ok"} 1
mcp_changes_total{operation="change",result="tool_error"} 1
mcp_changes_total{operation="create",result="denied"} 1
mcp_changes_total{operation="create",result="input_required"} 1
mcp_changes_total{operation="delete",result="denied"} 1' ] || { changes; false; }
    # which of them was only tried is in the audit log, too
    jq -es '[.[] | select(.operation) | .dry_run] == [true, null, null, null, null, null]' audit
    hush
}
