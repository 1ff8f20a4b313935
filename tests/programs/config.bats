# mcpd --config: values, errors and their positions, access rules, command tools, and reloading.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    load support/talk
    cd "$BATS_TEST_TMPDIR"
    mkdir -p docs/secret notes
    printf 'a\n' >docs/a.md
    printf 'b\n' >docs/b.txt
    printf 'no\n' >docs/secret/plan.md
    printf 'n\n' >notes/n.txt
    server=
}

teardown() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
}

wrong() { # JSON LINE...: --check-config prints these lines, in this order, and exits with 1
    printf '%s\n' "$1" >bad.json
    chmod 600 bad.json # it may have secrets
    shift
    run -1 --separate-stderr "$MCPD" --config bad.json --check-config
    [ -z "$output" ]
    diff <(printf 'bad.json:%s\n' "$@") <(printf '%s\n' "$stderr")
}

right() { # JSON
    printf '%s\n' "$1" >good.json
    chmod 600 good.json
    run -0 --separate-stderr "$MCPD" --config good.json --check-config
    [ -z "$stderr" ]
    [ "$output" = "good.json: it is valid" ]
}

# ---- the file --------------------------------------------------------------------------------------------

@test "comments, trailing commas, and paths relative to the file's folder" {
    mkdir etc
    cat >etc/mcpd.json <<'END'
// served for the team
{
  "sources": [
    "../docs", /* a folder */
    {"path": "../notes/n.txt"},
  ],
  "page-size": 50, // entries
}
END
    cd /
    talk modern "$MCPD" --config "$BATS_TEST_TMPDIR/etc/mcpd.json"
    result resources/list '{}'
    is '["docs","a.md","b.txt","secret","plan.md","n.txt"]' '[.resources[].name]'
    hush
}

@test "every error is reported with line, column and the accepted values" {
    wrong '{
  "sources": ["docs", {"pth": "x"}],
  "page-siz": 3,
  "max-read": 0, // nothing
  "log-level": "loud",
  "access": [{"effect": "forbid", "resources": 3}],
  "annotations": [{"match": "x", "priority": 3}]
}' '2:24: unknown key "pth"; did you mean "path"?' \
        '3:3: unknown key "page-siz"; did you mean "page-size"?' \
        '4:15: max-read: expected at least 1, got 0' \
        '5:16: log-level: expected one of "debug", "info", "warning", "error", "none"' \
        '6:25: access/0/effect: expected one of "allow", "ask", "deny"' \
        '6:48: access/0/resources: expected string or array, got integer' \
        '7:46: annotations/0/priority: expected at most 1, got 3'
}

@test "syntax errors are reported too" {
    wrong '{"sources": [
  "é", 1,}' '2:10: unexpected character, expected a comma or a closing bracket'
    wrong '{"hidden": true, "hidden": false}' '1:18: an object has the key "hidden" twice'
    wrong '[]' '1:1: expected object, got array'
    wrong '// nothing' '1:1: input data is empty'
    run -1 --separate-stderr "$MCPD" --config none.json
    [ "$stderr" = "none.json: No such file or directory" ]
    run -2 "$MCPD" --check-config docs
}

@test "errors that only the code of a section can detect" {
    wrong '{"sources": [{"name": "x"}]}' '1:14: sources/0: missing property "module", needed beside "name"'
    wrong '{"sources": [{}]}' '1:14: a source must have a path, or a module and a source'
    wrong '{"sources": ["docs"], "max-read": "9G"}' '1:35: max-read: it must be a number from 1 to 1073741824, which may end in K, M or G'
    wrong '{"sources": ["docs"], "tools": [{"name": "t", "command": ["{x}"]}]}' \
        '1:33: tool t: the program cannot be an argument: {x}'
    wrong '{"sources": ["docs"], "tools": [{"name": "t", "command": ["true", "{y}"], "input-schema": {"type": "object"}}]}' \
        '1:33: tool t: {y} is not an argument of the input schema ("{{" is a brace)'
    printf '{"sources": [{"module": "nope", "source": "x"}]}' >bad.json
    run -1 --separate-stderr "$MCPD" --config bad.json --check-config
    [[ "$stderr" == 'bad.json:1:14: there is no module nope'* ]]
    wrong '{"sources": ["docs", "none"]}' "1:22: $PWD/none: No such file or directory"
    wrong '{"sources": ["docs"], "tokens": {"stdio": "x"}, "http": ":0"}' \
        '1:43: the names stdio and anonymous are reserved'
}

@test "a module's options are checked against its own schema, with their position in the file" {
    [ -f "$MCP_BUILD_DIR/programs/lib/mcp/sqlite.so" ] || skip "built without sqlite"
    sqlite3 shop.db 'create table t(a); insert into t values(1)'
    right '{"sources": [{"module": "sqlite", "source": "shop.db", "name": "shop", "options": {"max_rows": 5}}]}'
    wrong '{"sources": [{"module": "sqlite", "source": "shop.db",
        "options": {"max_row": 5}}]}' '2:21: unknown key "max_row"; did you mean "max_rows"?'
    right '{"sources": ["sqlite:shop.db?name=x"]}'
}

@test "the command line takes precedence: values, lists, sources" {
    printf '{"sources": ["docs"], "name": "file", "exclude": ["*.md"], "page-size": 7, "hidden": true}' >c.json
    run -0 --separate-stderr "$MCPD" --config c.json --name line --exclude '*.txt' --print-config mcpd
    [ "$(jq -c '[.name, .exclude, ."page-size", .hidden]' <<<"$output")" = '["line",["*.txt"],7,true]' ]
    [ "$(jq -c .sources <<<"$output")" = "[\"$PWD/docs\"]" ]
    run -0 --separate-stderr "$MCPD" --config c.json --print-config mcpd notes
    [ "$(jq -c .sources <<<"$output")" = "[\"$PWD/notes\"]" ]
}

@test "the committed schema has every option of the file" {
    "$MCPD" --help-schema | diff - "$BATS_TEST_DIRNAME/../../programs/mcpd/config.schema.json"
    for option in $("$MCPD" --help | grep -o '^  --[a-z-]*' | grep -vE 'config|check|doctor|as$|json|list-modules|install|via|view|yes|version|verbose|help|completion|approve$'); do
        jq -e --arg key "${option#--}" '.properties[$key].description' \
            "$BATS_TEST_DIRNAME/../../programs/mcpd/config.schema.json" >/dev/null || { echo "$option"; return 1; }
    done
}

@test "docs/configuration.md is generated from the schema" {
    "$BATS_TEST_DIRNAME/../../scripts/make-config-page" | diff - "$BATS_TEST_DIRNAME/../../docs/configuration.md"
}

@test "the example in the documentation is valid" {
    for module in git postgres sqlite; do
        [ -f "$MCP_BUILD_DIR/programs/lib/mcp/$module.so" ] || skip "built without $module"
    done
    mkdir -p prompts home bin
    printf '#!/bin/sh\n' >bin/make # the example has a tool that runs it
    chmod +x bin/make
    PATH=$PWD/bin:$PATH
    git init -q -b main home/project
    git -C home/project -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
    export PGHOST=/nowhere # an unreachable server does not keep other sources from being served
    sqlite3 shop.db 'create table orders(id integer primary key, due text)'
    (umask 077 && printf 'guest:token\n' >tokens)
    awk '/^```json/ { n++; next } /^```/ { n += n == 1 } n == 1' "$BATS_TEST_DIRNAME/../../docs/configuration.md" >example.json
    export HOME=$PWD/home
    run -0 --separate-stderr "$MCPD" --config example.json --check-config
    [ "$output" = "example.json: it is valid" ]
    [[ "$stderr" == "mcpd: warning: postgres: orders cannot be reached now:"* && "$stderr" != *$'\n'* ]]
    { echo '{"sources": ["docs"], "http": "127.0.0.1:0", "tokens": {"alice": "a", "guest": "g"},'; awk '/^```json/ { n++; next } /^```/ { n += n == 1 } n == 1' \
        "$BATS_TEST_DIRNAME/../../docs/access.md"; echo '}'; } >example.json
    right "$(cat example.json)"
}

@test "--print-config mcpd: an equivalent file, without secrets" {
    cat >c.json <<'END'
{"sources": ["docs"], "http": "127.0.0.1:0", "tokens": {"alice": "sesame-open"}, "prompts": "notes",
 "access": [{"effect": "deny", "resources": ["docs/secret", "mem:*"]}],
 "annotations": [{"match": "docs/*", "priority": 0.5}], "tools": [{"name": "t", "command": ["true"]}]}
END
    run -0 --separate-stderr "$MCPD" --config c.json --print-config mcpd
    [[ "$output" != *sesame* ]]
    [ "$(jq -c '[.http, .tokens, .prompts]' <<<"$output")" = "[[\"127.0.0.1:0\"],{\"alice\":\"***\"},\"$PWD/notes\"]" ]
    [ "$(jq -c .access[0].resources <<<"$output")" = "[\"$PWD/docs/secret\",\"mem:*\"]" ]
    jq 'del(.tokens)' <<<"$output" >again.json
    mkdir elsewhere
    mv again.json elsewhere
    run -0 --separate-stderr "$MCPD" --config elsewhere/again.json --print-config mcpd
    [ "$(jq -S . elsewhere/again.json)" = "$(jq -S . <<<"$output")" ]
}

@test "--print-config of a host over HTTP: an address, and a place for the token" {
    printf '{"sources": ["docs"], "http": ["127.0.0.1:8642"], "tokens": {"alice": "sesame-open"}}' >c.json
    run -0 --separate-stderr "$MCPD" --config c.json --print-config vscode
    [ "$(jq -c .servers.mcpd <<<"$output")" = \
        '{"type":"http","url":"http://127.0.0.1:8642/mcp","headers":{"Authorization":"Bearer TOKEN"}}' ]
    run -0 --separate-stderr "$MCPD" --http 0.0.0.0:99 --print-config claude docs
    [ "$(jq -c .mcpServers.mcpd <<<"$output")" = '{"type":"http","url":"http://127.0.0.1:99/mcp"}' ]
    run -1 "$MCPD" --http unix:sock --print-config claude docs
}

# ---- the doctor ------------------------------------------------------------------------------------------

@test "--doctor: what works, and what each principal can see" {
    access_file
    mkdir prompts
    printf 'Hello\n' >prompts/hello.md
    run -0 --separate-stderr "$MCPD" --config access.json --prompts prompts --doctor
    [[ "$output" == *"ok      configuration: access.json: it is valid"* ]]
    [[ "$output" == *"ok      source: $PWD/docs: a folder of 3 entries"* ]]
    run -0 "$MCPD" --prompts prompts --doctor prompts
    [[ "$output" == *"prompts: a folder of 1 entry"$'\n'* ]]
    run -0 --separate-stderr "$MCPD" --config access.json --prompts prompts --doctor
    [[ "$output" == *"ok      tool: date: runs date in $PWD"* ]]
    [[ "$output" == *"ok      http: 127.0.0.1:0: free, HTTP, with tokens"* ]]
    [[ "$output" == *"as alice:"*"5 resources"*"as bob:"*"3 resources"* ]]
    run -0 --separate-stderr "$MCPD" --config access.json --prompts prompts --doctor --json
    [ "$(jq -c '[.ok, (.offers[] | [.principal, .resources.count, .prompts.count])]' <<<"$output")" = \
        '[true,["alice",5,1],["bob",3,0]]' ]
}

@test "--doctor: what each principal may change; the settings in force say it too" {
    cat >w.json <<'END'
{"sources": [{"path": "docs", "write": ["**.md", "b.txt"]}, "notes?write=**"],
 "tokens": {"alice": "a"}, "http": "127.0.0.1:0",
 "access": [{"principal": "alice", "effect": "ask", "operations": ["change"], "resources": "docs/a.md"},
            {"effect": "deny", "operations": ["delete"], "resources": "notes"}]}
END
    chmod 600 w.json
    changes() { # JSON OPTION...: what the doctor says, {principal: lines}, without the folder
        local expected=$1
        shift
        run --separate-stderr "$MCPD" --config w.json --doctor --json "$@"
        diff <(echo "$expected") <(jq -c '[.offers[] | {(.principal): .changes}] | add' <<<"${output//"$PWD"/}")
    }
    local deny='"may not delete file:///notes and below it (deny)"'
    changes '{"alice":["may change file:///docs/a.md and below it (ask)",'"$deny"']}'
    [[ "$output" == *"write on $PWD/docs is for the host that starts the program: over HTTP nobody may change anything"* ]]
    changes '{"anonymous":['"$deny"']}' --as anonymous
    local edit='may create, change, move, delete'
    changes '{"stdio":["'"$edit file:///docs/**.md (allow)\",\"$edit file:///docs/b.txt and below it (allow)\",\"$edit below file:///notes (allow)\",$deny"']}' \
        --stdio --as stdio
    [[ "$output" != *"is for the host"* ]]
    # as text
    run -0 --separate-stderr "$MCPD" --doctor "docs?write=*.md" notes
    [[ "$output" == *"as stdio:"*"  changes"$'\n'"    may create, change, move, delete file://$PWD/docs/*.md (allow)"* ]]
    [[ "$output" == *"ok      source: docs: a folder of 3 entries"* ]]
    run -0 --separate-stderr "$MCPD" --doctor docs
    [[ "$output" == *"as stdio:"*"  nothing may be changed"* ]]
    # everything that is served is read as without these rules
    run -0 --separate-stderr "$MCPD" --doctor --json "docs?write=*.md"
    [ "$(jq '.offers[0].resources.count' <<<"$output")" = 5 ]
    # and cursors are as without rules, not sealed for one caller
    cursor() { # SOURCE
        talk modern "$MCPD" --page-size 1 "$1"
        result resources/list '{}'
        jq -r .nextCursor <<<"$heard"
        hush
    }
    [ "$(cursor "docs?write=**")" = "$(cursor docs)" ]
    # what is printed for hosts and containers
    run -0 --separate-stderr "$MCPD" --config w.json --print-config mcpd
    [ "$(jq -c .sources <<<"${output//"$PWD"/}")" = \
        '[{"path":"/docs","write":["**.md","b.txt"]},{"path":"/notes","write":["**"]}]' ]
    [ "$(jq -c '.access[0].operations' <<<"$output")" = '["change"]' ]
    run -0 --separate-stderr "$MCPD" --print-config claude "docs?write=a%26b&write=c"
    [[ "$output" == *"\"$PWD/docs?write=a%26b&write=c\""* ]]
    run -0 --separate-stderr "$MCPD" --print-config claude --via docker "docs?write=**" notes
    [[ "$output" == *"source=$PWD/docs,target=$PWD/docs\""*"source=$PWD/notes,target=$PWD/notes,readonly\""* ]]
    run -1 --separate-stderr "$MCPD" "docs?write=../notes"
    [ "$stderr" = "mcpd: docs?write=: it leaves the folder with ..: name the other folder as a source of its own" ]
    wrong '{"sources": [{"path": "docs", "write": "/x"}]}' \
        '1:40: write: it begins with a slash or has two of them: a glob of write is relative to its folder, such as notes/**'
}

@test "--doctor: looks at all sources at once" {
    # Each of the two answers only after the other has started.
    printf '#!/bin/sh\ntouch "$1"\nuntil [ -e "$2" ]; do sleep 0.02; done\nexec "%s"\n' \
        "$BATS_TEST_DIRNAME/support/workshop" >pair
    chmod +x pair
    run -0 --separate-stderr timeout 60 "$MCPD" --doctor 'mcp:./pair a b?name=one' 'mcp:./pair b a?name=two'
    [[ "$output" == *"ok      source: mcp:./pair a b?name=one: answers after "*"ok      source: mcp:./pair b a?name=two: answers after "* ]]
}

@test "--doctor: a source whose check crashes, or does not end, is reported like any other" {
    printf '#!/bin/sh\nmkdir once 2>/dev/null && kill -9 $PPID\nexec false\n' >killer
    chmod +x killer
    run -1 --separate-stderr "$MCPD" --doctor docs 'mcp:./killer?name=k' --no-isolate
    [[ "$output" == *"ok      source: docs: a folder"* ]]
    [[ "$output" == *"WRONG   source: mcp:./killer?name=k: the process that looked at it has crashed"* ]]
}

@test "--doctor SOURCE: only the sources of this name; --as: only what this caller would see" {
    cat >c.json <<'END'
{"sources": ["docs", {"module": "mcp", "source": "no-such-program", "name": "up"}], "http": "127.0.0.1:0",
 "oauth": {"resource": "https://x.example/mcp", "issuers": [{"issuer": "https://login.example", "audiences": ["x"], "groups": "roles"}]},
 "access": [{"effect": "deny"}, {"effect": "allow", "group": "admins", "resources": "docs"}, {"effect": "allow", "scope": "extra", "templates": "**", "otherwise": "hide"}]}
END
    run -1 --separate-stderr "$MCPD" --config c.json --doctor
    [[ "$output" == *"WRONG   source: "*"no-such-program"* ]]
    [[ "$output" == *": a folder of "* ]]
    run -1 --separate-stderr "$MCPD" --config c.json --doctor up
    [[ "$output" == *"WRONG   source: "*"no-such-program"* ]]
    [[ "$output" != *": a folder of "* ]]
    seen() { # CALLER
        run --separate-stderr "$MCPD" --config c.json --doctor --json --as "$1" "$PWD/docs"
        jq -c '[.offers[] | [.resources.count > 0, .resourceTemplates.count > 0]]' <<<"$output"
    }
    [ "$(seen anonymous)" = '[[false,false]]' ]
    [ "$(seen '{"roles": ["staff"]}')" = '[[false,false]]' ]
    [ "$(seen '{"roles": ["staff", "admins"]}')" = '[[true,false]]' ]
    [ "$(seen '{"iss": "https://other.example", "roles": ["admins"]}')" = '[[false,false]]' ]
    [ "$(seen '{"sub": "ann", "scope": "extra"}')" = '[[false,true]]' ]
    run -1 --separate-stderr "$MCPD" --config c.json --doctor --as '{"sub": '
    [[ "$output" == *"WRONG   offer: as {"* ]]
    run -1 --separate-stderr "$MCPD" --doctor --as '{"sub": "ann"}' docs
    [[ "$output" == *'claims need an issuer: "iss", or the section oauth'* ]]
    run -2 --separate-stderr "$MCPD" --as ann docs
    [[ "$stderr" == *"--as belongs to --doctor" ]]
}

@test "--doctor: reports everything that does not work, with exit status 1" {
    (umask 022 && printf 'a:token\n' >tokens)
    cat >c.json <<'END'
{"sources": ["docs"], "http": ["0.0.0.0:0", "256.1.1.1:80"], "token-file": "tokens", "prompts": "nowhere",
 "tools": [{"name": "t", "command": ["no-such-program"]}, {"name": "u", "command": ["true"], "folder": "none"}]}
END
    run -1 --separate-stderr "$MCPD" --config c.json --doctor
    [[ "$output" == *"WRONG   prompts: "*"nowhere: No such file"* ]]
    [[ "$output" == *"WRONG   tool: t: there is no executable program no-such-program"* ]]
    [[ "$output" == *"WRONG   tool: u: the folder $PWD/none"* ]]
    [[ "$output" == *"warning tokens: $PWD/tokens: other users can read it"* ]]
    [[ "$output" == *"WRONG   http: 256.1.1.1:80: "* ]]
    run -1 --separate-stderr "$MCPD" --doctor docs none sqlite:docs/a.md
    [[ "$output" == *"ok      source: docs: a folder"*"WRONG   source: none: No such file"* ]]
    printf '{"sorces": []}' >c.json
    run -1 --separate-stderr "$MCPD" --config c.json --doctor --json
    jq -e '.ok == false and any(.findings[]; .text | endswith("did you mean \"sources\"?"))' <<<"$output"
    run -0 --separate-stderr "$MCPD" --doctor docs
    [[ "$output" == *"ok      hosts: stdio gets 4 tools in a host that is known to show tools only"*"--resource-tools"* ]]
    run -0 --separate-stderr "$MCPD" --doctor --resource-tools docs
    [[ "$output" != *" hosts: "* ]]
    run -0 --separate-stderr "$MCPD" --doctor --no-resource-tools docs
    [[ "$output" == *"warning hosts: stdio sees resources and no tools"*"--no-resource-tools"* ]]
    run -0 --separate-stderr "$MCPD" --http 0.0.0.0:0 --doctor docs
    [[ "$output" == *"warning http: 0.0.0.0:0: everybody who can reach it is served"* ]]
}

# ---- annotations -------------------------------------------------------------------------------------------

@test "annotations: for each member the last rule that sets it takes precedence" {
    cat >c.json <<'END'
{"sources": ["docs"], "annotations": [
    {"match": "docs", "priority": 0.2, "audience": ["assistant"]},
    {"match": ["docs/a.md", "**/nothing"], "priority": 1, "title": "The A", "description": "All of it"},
]}
END
    talk modern "$MCPD" --config c.json
    result resources/list '{}'
    is '[0.2,1,"The A","All of it",["assistant"]]' \
        '[(.resources[] | select(.name == "b.txt")).annotations.priority] +
         (.resources[] | select(.name == "a.md") | [.annotations.priority, .title, .description, .annotations.audience])'
    hush
}

# ---- access ----------------------------------------------------------------------------------------------------

serve() { # OPTION...: over HTTP; $url
    : >log # remove the lines of the previous server
    "$MCPD" "$@" 2>log 3>&- &
    server=$!
    local i
    for ((i = 0; i < 3000; i++)); do
        grep -q ' at http' log && break
        kill -0 "$server" || { cat log; return 1; }
        sleep 0.02
    done
    url=$(sed -n 's|.* at \(http.*/mcp\).*|\1|p' log | head -1)
}

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

as() { # TOKEN METHOD PARAMS: prints the answer; PARAMS are members with a comma at the end
    local name
    name=$(jq -r '.uri // .name // empty' <<<"{${3%,}}")
    curl -sSN -m 10 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $2" ${name:+-H "Mcp-Name: $name"} \
        ${1:+-H "Authorization: Bearer $1"} \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$2\",\"params\":{$3$meta}}" "$url"
}

finish() {
    kill -TERM "$server"
    local status=0
    wait "$server" || status=$?
    server=
    [ "$status" -eq 0 ] || cat log
    return "$status"
}

access_file() {
    cat >access.json <<'END'
{
  "sources": ["docs", "notes"],
  "http": "127.0.0.1:0",
  "tokens": {"alice": "token-of-alice", "bob": "token-of-bob"},
  "resource-tools": true,
  "tools": [{"name": "date", "command": ["date"]}, {"name": "reboot", "command": ["false"]}],
  "access": [
    {"effect": "deny", "tools": "reboot"},
    {"principal": "alice", "effect": "allow", "tools": "reboot"},
    {"principal": "bob", "effect": "deny"},
    {"principal": "bob", "effect": "allow", "resources": ["docs"], "tools": ["*_resources", "date"]},
    {"effect": "deny", "resources": "docs/secret"},
  ],
}
END
}

@test "access: forbidden items cannot be listed, read, found, completed or called" {
    access_file
    serve --config access.json
    docs="file://$PWD/docs" notes="file://$PWD/notes"
    names() { as "$1" resources/list '' | jq -c '[.result.resources[].name] | sort'; }
    [ "$(names token-of-alice)" = '["a.md","b.txt","docs","n.txt","notes"]' ]
    [ "$(names token-of-bob)" = '["a.md","b.txt","docs"]' ]
    [ "$(as token-of-alice tools/list '' | jq -c '[.result.tools[].name] | map(select(. == "reboot" or . == "date"))')" = '["date","reboot"]' ]
    [ "$(as token-of-bob tools/list '' | jq -c '[.result.tools[].name] | sort')" = \
        '["date","find_resources","list_resources","search_resources"]' ]
    # the answer is the same as for a resource that does not exist, except for the name
    gone() { as "$1" resources/read "\"uri\":\"$2\"," | jq -c --arg uri "$2" '.error | [.code, (.message | sub($uri; "")), .data.uri == $uri]'; }
    [ "$(gone token-of-bob "$notes/n.txt")" = "$(gone token-of-bob "$notes/none.txt")" ]
    for uri in "$docs/secret/plan.md" "$docs/secret/plan.md?line=1&lines=1" "$docs/secret/plan.md?tail=1" \
        "$docs/secret/plan.md?offset=0&length=2" "$docs/secret/%70lan.md" "$docs/secret" "$docs/secret?depth=2"; do
        [ "$(gone token-of-alice "$uri" | jq '.[0]')" = -32602 ] || { echo "$uri"; return 1; }
    done
    # a folder's listing, and the search tools
    ! as token-of-alice resources/read "\"uri\":\"$docs?depth=3\"," | grep -q plan || false
    ! as token-of-alice tools/call '"name":"search_resources","arguments":{"pattern":"no"},' | grep -q plan.md || false
    ! as token-of-alice tools/call '"name":"find_resources","arguments":{"pattern":"plan"},' | grep -q plan.md || false
    as token-of-bob tools/call '"name":"date","arguments":{},' | jq -e '.result.isError != true' >/dev/null
    [ "$(as token-of-bob tools/call '"name":"reboot","arguments":{},' | jq .error.code)" = -32602 ]
    [ "$(as token-of-alice tools/call '"name":"reboot","arguments":{},' | jq .result.isError)" = true ]
    # completion
    template=$(as token-of-bob resources/templates/list '' | jq -r '.result.resourceTemplates[0].uriTemplate')
    [ -n "$template" ]
    for name in secret notes; do
        as token-of-bob completion/complete "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"$template\"},\"argument\":{\"name\":\"path\",\"value\":\"${PWD#/}/\"}," >said
        jq -e .result.completion said >/dev/null
        ! grep -q "$name" said
    done
    ! as '' resources/list '' | grep -q '"result"' || false
    # nor are they named in the instructions
    named() { as "$1" server/discover '' | jq -c ".result.instructions | [contains(\"$PWD/docs\"), contains(\"$PWD/notes\")]"; }
    [ "$(named token-of-alice)" = '[true,true]' ]
    [ "$(named token-of-bob)" = '[true,false]' ]
    finish
}

@test "access: a rule for an unknown principal is an error, which suggests a name" {
    rules() { # ACCESS
        printf '{"sources": ["docs"], "http": "127.0.0.1:0", "token-file": "t",\n"access": [%s]}\n' "$1"
    }
    (umask 077 && printf 'guest:of-guest\nalice:of-alice\nnameless\n' >t)
    nameless=token:$(printf nameless | sha256sum | cut -c1-12)
    wrong "$(rules '{"principal": "gest", "effect": "deny"}')" \
        '2:26: there is no principal "gest"; did you mean "guest"?'
    wrong "$(rules '{"principal": ["alice", "bob", "Guest", "token:3"], "effect": "deny"}')" \
        "2:36: there is no principal \"bob\"; there are stdio, anonymous, guest, alice, $nameless" \
        '2:43: there is no principal "Guest"; did you mean "guest"?' \
        "2:52: there is no principal \"token:3\"; there are stdio, anonymous, guest, alice, $nameless"
    right "$(rules "{\"principal\": [\"guest\", \"al*\", \"x*\", \"stdio\", \"$nameless\"], \"effect\": \"deny\"}")"
    run -1 --separate-stderr "$MCPD" --config bad.json
    [[ "$stderr" == *'bad.json:2:36: there is no principal "bob"'* ]]
    run -1 --separate-stderr "$MCPD" --config bad.json --doctor
    [[ "$output" == *'WRONG   configuration: bad.json:2:36: there is no principal "bob"'* ]]
    # and --doctor shows the effect of the rules for each token
    rules '{"principal": "guest", "effect": "deny"}' >c.json
    run -0 --separate-stderr "$MCPD" --config c.json --doctor --json
    [ "$(jq -c '[.offers[] | [.principal, .resources.count > 0, .resourceTemplates.count > 0]]' <<<"$output")" = \
        "[[\"guest\",false,false],[\"alice\",true,true],[\"$nameless\",true,true]]" ]
}

@test "a token without a name keeps its principal when earlier tokens are removed; removed tokens are logged and rejected" {
    (umask 077 && printf 'first\nsecond\nguest:third\n' >t)
    second=token:$(printf second | sha256sum | cut -c1-12)
    printf '{"sources": ["docs"], "token-file": "t", "access": [{"principal": ["%s", "guest"], "effect": "deny"}]}' \
        "$second" >c.json
    serve --config c.json --http 127.0.0.1:0
    count() { as "$1" resources/list '' | jq '.result.resources | length'; }
    [ "$(count first)" -gt 0 ]
    [ "$(count second)" = 0 ]
    printf 'fourth\nsecond\n' >t
    kill -HUP "$server"
    heard_in_log 'reloaded' log
    grep -q 'c.json:1:[0-9]*: there is no principal "guest"' log
    [ "$(count fourth)" -gt 0 ]
    [ "$(count second)" = 0 ]
    for gone in first third; do
        [[ "$(as "$gone" resources/list '')" != *'"result"'* ]]
    done
    finish
}

@test "access: stdio and anonymous are principals too" {
    printf '{"sources": ["docs"], "access": [{"principal": "stdio", "effect": "deny", "resources": "docs/a.md"}]}' >c.json
    talk modern "$MCPD" --config c.json
    result resources/list '{}'
    is false '[.resources[].name] | index("a.md") != null'
    hush
    serve --config c.json --http 127.0.0.1:0
    as '' resources/list '' | grep -q '"a.md"'
    finish
    printf '{"sources": ["docs"], "access": [{"principal": "anonymous", "effect": "deny"}]}' >c.json
    serve --config c.json --http 127.0.0.1:0
    [ "$(as '' resources/list '' | jq -c .result.resources)" = '[]' ]
    finish
    printf 'stdio:token\n' >t
    run -1 --separate-stderr "$MCPD" --http 127.0.0.1:0 --token-file t docs
    [[ "$stderr" == *"are reserved"* ]]
}

# ---- tools -----------------------------------------------------------------------------------------------------

@test "tools: arguments, folder, environment, input, errors" {
    cat >c.json <<'END'
{"sources": ["docs"], "tools": [
  {"name": "lines", "command": ["wc", "-l", "--", "{file}"], "folder": "docs", "read-only": true,
   "input-schema": {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}},
  {"name": "show", "command": ["sh", "-c", "echo $KEPT $SET $LOST; cat; pwd"], "stdin": "<{text}>",
   "environment": ["KEPT", "PATH"], "set-environment": {"SET": "set"}, "max-output": "1K", "timeout": 5},
]}
END
    KEPT=kept LOST=lost talk modern "$MCPD" --config c.json
    result tools/list '{}'
    is '[["lines",true],["show",null]]' '[.tools[] | [.name, .annotations.readOnlyHint]]'
    result tools/call '{"name":"lines","arguments":{"file":"a.md"}}'
    is '"1 a.md\n"' '.content[0].text'
    result tools/call '{"name":"lines","arguments":{"file":"$(touch x); -rf"}}'
    is true .isError
    [ ! -e docs/x ]
    result tools/call '{"name":"show","arguments":{"text":"in"}}'
    is "\"kept set\\n<in>$PWD\\n\"" '.content[0].text'
    hush
}

# ---- again -----------------------------------------------------------------------------------------------------

heard_in_log() { # TEXT
    local i
    for ((i = 0; i < 3000; i++)); do
        grep -q "$1" "${2:-$BATS_TEST_TMPDIR/talk.log}" && return 0
        sleep 0.02
    done
    cat "${2:-$BATS_TEST_TMPDIR/talk.log}"
    return 1
}

@test "SIGHUP reloads: one notification, and an invalid file changes nothing" {
    printf '{"sources": ["docs"]}' >c.json
    talk legacy "$MCPD" --config c.json
    result resources/list '{}'
    is false '[.resources[].name] | index("n.txt") != null'
    printf '{"sources": ["docs", "notes"], "tools": [{"name": "t", "command": ["true"]}]}' >c.json
    kill -HUP "$server_pid"
    hear '.method == "notifications/resources/list_changed"'
    result resources/list '{}'
    is true '[.resources[].name] | index("n.txt") != null'
    for bad in '{"sources": ["docs"' '{"sorces": []}' '{"sources": ["none"]}' '{"sources": ["sqlite:docs/a.md"]}' \
        '{"sources": ["notes"], "tools": [{"name": "t", "command": ["{x}"]}]}'; do
        : >"$BATS_TEST_TMPDIR/talk.log"
        printf '%s' "$bad" >c.json
        kill -HUP "$server_pid"
        heard_in_log 'the old one stays in use'
        grep -q 'error: ' "$BATS_TEST_TMPDIR/talk.log"
        result resources/list '{}'
        is '[true,true]' '[([.resources[].name] | index("n.txt", "a.md")) != null]'
        result tools/call '{"name":"t","arguments":{}}'
    done
    hush
}

@test "SIGHUP: repositories and databases are added and removed while clients are connected, in both eras" {
    for module in git postgres sqlite; do
        [ -f "$MCP_BUILD_DIR/programs/lib/mcp/$module.so" ] || skip "built without $module"
    done
    git init -q -b main repository
    git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
    sqlite3 shop.db 'create table sale(id integer primary key)'
    for era in legacy modern; do
        printf '{"sources": ["docs", "sqlite:shop.db"]}' >c.json
        talk $era "$MCPD" --config c.json
        result resources/list '{}'
        is '[false,true]' '[.resources[].uri] | [index("git://repository/", "sqlite://shop/") != null]'
        cat >c.json <<'END'
{"sources": ["git:repository", "docs", {"module": "postgres", "source": "host=/nowhere", "name": "away"}]}
END
        : >"$BATS_TEST_TMPDIR/talk.log"
        kill -HUP "$server_pid"
        heard_in_log 'reloaded'
        result resources/list '{}'
        is '[true,false]' '[.resources[].uri] | [index("git://repository/", "sqlite://shop/") != null]'
        result resources/read '{"uri":"git://repository/-/branches"}'
        result tools/list '{}'
        is '["query_postgres_away"]' '[.tools[].name]'
        [ $era = legacy ] || result server/discover '{}' # a modern client requests it again
        [ $era = legacy ] || is '[true,false]' '[.instructions | contains("- postgres://away/ (postgres)", "shop.db")]'
        printf '{"sources": ["docs", "sqlite:shop.db"]}' >c.json
        : >"$BATS_TEST_TMPDIR/talk.log"
        kill -HUP "$server_pid"
        heard_in_log 'reloaded'
        result resources/list '{}'
        is '[false,true]' '[.resources[].uri] | [index("git://repository/", "sqlite://shop/") != null]'
        result tools/list '{}'
        is '["query_sqlite_shop"]' '[.tools[].name]'
        hush
    done
}

@test "SIGHUP: options that need a restart are named; without --config the signal ends the program" {
    printf '{"sources": ["docs"]}' >c.json
    talk modern "$MCPD" --config c.json
    result resources/list '{}'
    printf '{"sources": ["docs"], "page-size": 3, "log-level": "info"}' >c.json
    kill -HUP "$server_pid"
    heard_in_log 'page-size changed, which takes effect after a restart'
    heard_in_log 'the configuration was reloaded'
    hush
    talk modern "$MCPD" docs
    result resources/list '{}'
    kill -HUP "$server_pid"
    wait "$server_pid"
}

@test "SIGHUP over HTTP: tokens and rights change, and an invalid file keeps the old ones" {
    access_file
    serve --config access.json
    [ "$(as token-of-bob resources/list '' | jq '.result.resources | length')" = 3 ]
    sed -i 's/token-of-bob/other-token/' access.json
    kill -HUP "$server"
    heard_in_log 'reloaded' log
    [ "$(as other-token resources/list '' | jq '.result.resources | length')" = 3 ]
    ! as token-of-bob resources/list '' | grep -q '"result"' || false
    sed -i '/"tokens"/d' access.json
    kill -HUP "$server"
    heard_in_log 'switching tokens on or off requires a restart' log
    ! as '' resources/list '' | grep -q '"result"' || false
    as other-token resources/list '' | grep -q '"result"'
    finish
}

hears() { # TOKEN WHAT: subscribes; notifications are written to TOKEN.heard; the process is $!
    as "$1" subscriptions/listen "\"notifications\":{$2}," >"$1.heard" 2>&1 3>&- &
    heard_in_log acknowledged "$1.heard"
}

@test "access: a principal that may not read a file gets no notification when the file is added or removed" {
    access_file
    serve --config access.json
    hears token-of-bob '"resourcesListChanged":true'
    hears token-of-alice '"resourcesListChanged":true'
    touch notes/new.txt
    heard_in_log resources/list_changed token-of-alice.heard
    touch docs/new.txt
    heard_in_log resources/list_changed token-of-bob.heard
    [ "$(grep -c resources/list_changed token-of-bob.heard)" = 1 ]
    [ "$(grep -c resources/list_changed token-of-alice.heard)" = 2 ]
    rm docs/new.txt notes/new.txt
    finish
}

@test "SIGHUP over HTTP: only the streams of tokens that became invalid end" {
    access_file
    serve --config access.json
    hears token-of-bob '"toolsListChanged":true'
    bob=$!
    hears token-of-alice '"toolsListChanged":true'
    sed -i 's/token-of-bob/other-token/' access.json
    kill -HUP "$server"
    wait "$bob" || :
    ! grep -q 'timed out' token-of-bob.heard || false
    # she is notified of later changes
    sed -i 's/"name": "reboot"/"name": "restart"/' access.json
    kill -HUP "$server"
    heard_in_log tools/list_changed token-of-alice.heard
    finish
}

@test "a reload under load loses no request" {
    printf '{"sources": ["docs"], "http": "127.0.0.1:0", "tools": [{"name": "slow", "command": ["sh", "-c", "sleep 0.4; echo done"], "concurrency": 100}]}' >c.json
    serve --config c.json
    for i in 1 2 3 4; do
        (for j in $(seq 25); do
            as '' resources/read "\"uri\":\"file://$PWD/docs/a.md\"," | jq -c '.result.contents[0].text // .' || echo broken
        done >"reads.$i") &
        readers+=($!)
        as '' tools/call '"name":"slow","arguments":{},' >"slow.$i" &
        readers+=($!)
    done
    for i in 1 2 3 4 5 6 7 8; do
        if ((i % 2)); then sed -i 's/\["docs"\]/["docs", "notes"]/' c.json; else sed -i 's/, "notes"\]/]/' c.json; fi
        kill -HUP "$server"
        sleep 0.1
    done
    wait "${readers[@]}"
    [ "$(cat reads.* | sort | uniq -c | tr -s ' ')" = ' 100 "a\n"' ]
    [ "$(cat slow.* | jq -c '.result.content[0].text' | sort | uniq -c | tr -s ' ')" = ' 4 "done\n"' ]
    [ "$(grep -c 'reloaded' log)" -ge 4 ]
    finish
}
