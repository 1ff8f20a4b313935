# mcpd sqlite:FILE as a person or a host starts it: sources, resources, the tool, changes,
# concurrent writers, and the commands of docs/sqlite.md.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    load support/late
    load support/legacy
    cd "$BATS_TEST_TMPDIR"
    sqlite3 shop.db "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO item VALUES (1, 'one'), (2, 'two');
        CREATE VIEW short AS SELECT name FROM item"
}

initialize='{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'

request() { # METHOD PARAMS [ID]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' "${3:-1}" "$1" "$2"
}

read_text() { # URI OPTION...: prints the text of a resource
    local uri=$1
    shift
    legacy "$@" -- "$(request resources/read "{\"uri\":\"$uri\"}")" | jq -r '.[0].result.contents[0].text'
}

@test "search_resources searches all rows of a table, and says what it left out" {
    sqlite3 shop.db "CREATE TABLE many(id INTEGER PRIMARY KEY, t TEXT);
        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2345) INSERT INTO many SELECT i, 'thing ' || i || ';' FROM c;
        CREATE TABLE long(id INTEGER PRIMARY KEY, t TEXT);
        INSERT INTO long VALUES (1, printf('%.*c thing 2345;', 300000, 'a'))"
    search() { "$MCPCTL" call --yes --json search_resources "$@" -- "$MCPD" --resource-tools sqlite:shop.db; }
    # by the database, long values too
    result=$(search 'query=thing 2345;')
    jq -e '[.structuredContent.files[].uri] == ["sqlite://shop/long/rows?contains=thing%202345%3B", "sqlite://shop/many/rows?contains=thing%202345%3B"]' <<<"$result"
    jq -e '.structuredContent | .skipped == {} and (has("partial") | not)' <<<"$result"
    result=$(search query=thing limit=2)
    jq -e '.structuredContent | [.files[] | [.more, (.matches | length)]] == [[null, 1], [true, 1]] and (has("partial") | not)' <<<"$result"
    # by reading pages
    result=$(search 'query=thing 2345;' regex=true)
    jq -e '[.structuredContent.files[].uri] == ["sqlite://shop/many/rows?limit=100&offset=2300"]' <<<"$result"
    jq -e '.structuredContent | .skipped == {"values": 1} and (has("partial") | not)' <<<"$result"
    result=$(search query=thing regex=true limit=2)
    jq -e '.structuredContent.partial == ["sqlite://shop/many/rows?limit=100&offset=100"]' <<<"$result"
    [[ $result == *"the rest begins at: sqlite://shop/many/rows?limit=100&offset=100."* ]]
}

@test "answers of the tool for queries have the size of --answer-tokens, or that of their source" {
    sqlite3 shop.db "CREATE TABLE long(x); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 900)
        INSERT INTO long SELECT printf('%.47c', 'x') FROM c"
    rows() { # MAX_TOKENS OPTION...: prints how many rows the first answer has
        local call='{"name":"query_sqlite_shop","arguments":{"sql":"SELECT x FROM long","limit":1000'$1'}}'
        shift
        legacy "$@" -- "$(request tools/call "$call")" | jq '.[0].result.structuredContent.rows | length'
    }
    # a row has 50 bytes, and is sent twice
    [ "$(rows '' sqlite:shop.db)" = 400 ]
    [ "$(rows '' --answer-tokens 1000 sqlite:shop.db)" = 40 ]
    [ "$(rows '' --answer-tokens 1000 --no-isolate sqlite:shop.db)" = 40 ]
    [ "$(rows '' --answer-tokens 1000 'sqlite:shop.db?answer_tokens=500')" = 20 ]
    [ "$(rows ',"max_tokens":250' --answer-tokens 1000 sqlite:shop.db)" = 10 ]
}

@test "every URI of the list can be read back, odd names too" {
    sqlite3 shop.db 'CREATE TABLE "odd name/%é?#""q" (x); CREATE TABLE "$query" (x); CREATE TABLE "a.b" (x); CREATE TABLE [..] (x)'
    run -0 legacy sqlite:shop.db -- "$(request resources/list '{}')"
    mapfile -t uris < <(jq -r '.[0].result.resources[].uri' <<<"$output")
    [ "${#uris[@]}" = 13 ]
    messages=() n=0
    for uri in "${uris[@]}"; do
        n=$((n + 1))
        messages+=("$(request resources/read "{\"uri\":\"$uri\"}" $n)")
    done
    run -0 legacy sqlite:shop.db -- "${messages[@]}"
    [ "$(jq 'map(select(.result.contents[0].text)) | length' <<<"$output")" = 13 ]
}

@test "several databases and a folder; names" {
    cp shop.db other.sqlite3
    mkdir folder
    run -0 legacy sqlite:shop.db folder 'sqlite:other.sqlite3?name=the other' -- "$(request resources/list '{}')" \
        "$(request tools/list '{}' 2)"
    [ "$(jq -r '.[0].result.resources | map(.uri | sub("file:.*"; "file:")) | unique_by(.[0:10]) | length' <<<"$output")" -ge 2 ]
    [ "$(jq -r '.[0].result.resources[0].uri' <<<"$output")" = sqlite://shop/ ]
    [ "$(jq -r '.[0].result.resources[-1].uri' <<<"$output")" = sqlite://the%20other/short/rows ]
    [ "$(jq -c '.[1].result.tools | map(.name)' <<<"$output")" = '["query_sqlite_shop","query_sqlite_the_other"]' ]
}

@test "a source that cannot be served is rejected with its name, the reason and exit status 1" {
    echo 'this is no database, although it is long enough to have a header of one hundred bytes, or so it may seem' >text.db
    mkdir folder.db
    for case in 'sqlite:none.db|none.db: No such file' 'sqlite:text.db|text.db: file is not a database' \
        'sqlite:folder.db|folder.db: not a regular file' 'sqlite:|the database is missing' \
        'sqlite:shop.db?max_rows=0|max_rows' 'sqlite:shop.db?colour=red|unknown property'; do
        run -1 --separate-stderr "$MCPD" "${case%%|*}" </dev/null
        [ -z "$output" ]
        [[ "$stderr" == *"${case#*|}"* ]] || { echo "$case: $stderr"; return 1; }
    done
    mkfifo fifo.db
    ln -s fifo.db link.db
    printf 'SQLite format 3' >short.db
    for name in fifo link; do
        run -1 --separate-stderr timeout 10 "$MCPD" sqlite:$name.db </dev/null
        [[ "$stderr" == *"$name.db: not a regular file"* ]]
    done
    run -1 --separate-stderr "$MCPD" sqlite:short.db </dev/null
    [[ "$stderr" == *"short.db: file is not a database"* ]]
    # what only SQLite can find out
    sqlite3 damaged.db 'CREATE TABLE t(a)'
    printf 'x' | dd of=damaged.db bs=1 seek=100 conv=notrunc status=none
    refused_late sqlite://damaged/ 'damaged.db: database disk image is malformed' sqlite:damaged.db
    echo '{"sources": [{"module": "sqlite", "source": "shop.db", "options": {"queries":
        [{"name": "q", "sql": "SELECT * FROM lost"}]}}]}' >c.json
    refused_late sqlite://shop/ 'no such table: lost' --config c.json
    run -1 --separate-stderr "$MCPD" sqlite:shop.db sqlite:./shop.db </dev/null
    [[ "$stderr" == *'another '*' has its name'*'?name='* ]]
    run -1 --separate-stderr "$MCPD" 'sqlite:shop.db?name=a b' 'sqlite:shop.db?name=a_b' </dev/null
    [[ "$stderr" == *'another source has the tool query_sqlite_a_b'*'?name='*'?tool='* ]]
}

@test "a table of an extension that is not loaded hides nothing else" {
    sqlite3 maps.db "CREATE TABLE notes(id INTEGER PRIMARY KEY, text); PRAGMA writable_schema = 1;
        INSERT INTO sqlite_master VALUES ('table', 'vec', 'vec', 0, 'CREATE VIRTUAL TABLE vec USING vec0(e)')"
    run -0 --separate-stderr legacy sqlite:maps.db -- "$(request resources/read '{"uri":"sqlite://maps/"}' 1)" \
        "$(request resources/read '{"uri":"sqlite://maps/vec"}' 2)"
    [ "$(jq -r '.[0].result.contents[0].text | fromjson | .tables | map(.name + " " + (.error // "")) | join(", ")' <<<"$output")" = \
        'notes , vec no such module: vec0' ]
    [[ "$(jq -r '.[1].error.message' <<<"$output")" == *'no such module: vec0' ]]
}

@test "an encrypted database fails alone; in the process of mcpd, where it is opened at the start, by its name" {
    openssl rand 4096 >secret.db
    mkdir docs
    echo hi >docs/a.txt
    if [ -n "${MCPD_NEAR:-}" ]; then
        run -1 "$MCPD" sqlite:secret.db docs </dev/null
        [ "$output" = 'mcpd: sqlite: secret.db: file is not a database' ]
        return
    fi
    run -0 --separate-stderr legacy sqlite:secret.db docs -- "$(request resources/list '{}' 1)" \
        "$(request resources/read '{"uri":"sqlite://secret/"}' 2)"
    [ "$(jq -r '.[0].result.resources | map(.uri)[0,-1]' <<<"$output")" = "sqlite://secret/
file://$PWD/docs/a.txt" ]
    [[ "$(jq -r '.[1].error.message' <<<"$output")" == *'not a database'* ]]
}

@test "the doctor reports whether a database can be read" {
    run -0 "$MCPD" --doctor sqlite:shop.db
    [[ "$output" == *"sqlite:shop.db: sqlite://shop/, 5 templates, the tool query_sqlite_shop; it opens "*"shop.db, "*"shop.db-wal, "* ]]
    [[ "$output" == *'source: sqlite:shop.db: answers; '* ]]
    sqlite3 shop.db '.dbconfig defensive off' 'PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 1000 WHERE name = "item"'
    sqlite3 locked.db 'CREATE TABLE t(x)'
    mkfifo in
    sqlite3 locked.db <in >out &
    exec 4>in
    printf 'BEGIN EXCLUSIVE;\nSELECT 1;\n' >&4
    for _ in {1..1200}; do [ -s out ] && break; sleep 0.05; done
    for case in 'sqlite:none.db|No such file' 'sqlite:shop.db|malformed' 'sqlite:locked.db?timeout_ms=200|keeps it locked'; do
        run -1 "$MCPD" --doctor "${case%%|*}"
        grep -q "^WRONG .*source: .*${case#*|}" <<<"$output" || { echo "$case: $output"; return 1; }
    done
    exec 4>&-
    wait
}

@test "options limit the rows of a page, and remove the tool" {
    [ "$(read_text sqlite://shop/item/rows 'sqlite:shop.db?max_rows=1' | jq -c '.rows, .next')" = \
        $'[[1,"one"]]\n"sqlite://shop/item/rows?limit=1&offset=1"' ]
    run -0 legacy 'sqlite:shop.db?tool=' -- "$(request tools/list '{}')"
    [ "$(jq -r '.[0].error.code // (.[0].result.tools | length)' <<<"$output")" != 1 ]
}

@test "--print-config makes the path absolute and keeps the options" {
    run -0 --separate-stderr "$MCPD" --print-config claude 'sqlite:shop.db?name=x'
    [ "$(jq -c '.mcpServers.mcpd.args' <<<"$output")" = "[\"--resource-tools\",\"sqlite:$PWD/shop.db?name=x\"]" ]
}

@test "no request writes to the database or creates a file" {
    sqlite3 shop.db 'PRAGMA journal_mode = WAL' >/dev/null
    before=$(sha256sum shop.db)
    for sql in "DROP TABLE item" "PRAGMA journal_mode = DELETE" "ATTACH 'x.db' AS x" "VACUUM INTO 'y.db'" \
        "SELECT 1; DELETE FROM item" "PRAGMA writable_schema = 1" "SELECT load_extension('x')"; do
        run -0 legacy sqlite:shop.db -- \
            "$(request tools/call "$(jq -nc --arg sql "$sql" '{name: "query_sqlite_shop", arguments: {sql: $sql}}')")"
        [ "$(jq '.[0].result.isError' <<<"$output")" = true ]
    done
    read_text sqlite://shop/item/rows sqlite:shop.db
    [ "$(sha256sum shop.db)" = "$before" ]
    [ "$(ls)" = shop.db ]
}

@test "works in a folder where no file can be created" {
    mkdir closed
    cp shop.db closed/
    sqlite3 closed/shop.db 'PRAGMA journal_mode = WAL' >/dev/null
    chmod a-w closed closed/shop.db
    [ "$(read_text sqlite://shop/item/row/1 sqlite:closed/shop.db | jq -r .name)" = one ]
    chmod u+w closed
}

@test "reads beside a process that writes (WAL) are consistent, and neither side blocks" {
    sqlite3 shop.db "PRAGMA journal_mode = WAL; CREATE TABLE pair(a, b); INSERT INTO pair VALUES (0, 0)" >/dev/null
    { for i in {1..3000}; do echo "BEGIN; UPDATE pair SET a = $i; UPDATE pair SET b = $i; COMMIT;"; done; } >writes.sql
    sqlite3 shop.db <writes.sql 2>writer.err &
    writer=$!
    messages=()
    for i in {1..200}; do
        messages+=("$(request tools/call '{"name":"query_sqlite_shop","arguments":{"sql":"SELECT a = b FROM pair"}}' "$i")")
    done
    run -0 legacy sqlite:shop.db -- "${messages[@]}"
    wait $writer
    [ ! -s writer.err ]
    head -c 500 <<<"$output" # may begin with a line of the log
    [ "$(jq -c 'map(.result.structuredContent.rows) | unique' <<<"$output")" = '[[[1]]]' ]
    [ "$(sqlite3 shop.db 'SELECT a, b FROM pair')" = '3000|3000' ]
}

@test "a subscriber is notified of a commit and of a new table" {
    mkfifo in
    "$MCPD" sqlite:shop.db <in >out 3>&- &
    exec 4>in
    printf '%s\n' "$initialize" "$(request resources/subscribe '{"uri":"sqlite://shop/item/row/1"}')" >&4
    for _ in {1..600}; do grep -q '"id":1' out && break; sleep 0.1; done
    sqlite3 shop.db "UPDATE item SET name = 'new' WHERE id = 1"
    for _ in {1..600}; do grep -q resources/updated out && break; sleep 0.1; done
    grep -q '"uri":"sqlite://shop/item/row/1"' out
    sqlite3 shop.db "CREATE TABLE more(x)"
    for _ in {1..600}; do grep -q list_changed out && break; sleep 0.1; done
    grep -q '"method":"notifications/resources/list_changed"' out
    exec 4>&-
    wait
}

@test "a hidden table cannot be listed, completed or read, however its URI is spelled" {
    sqlite3 shop.db "CREATE TABLE secret(id INTEGER PRIMARY KEY, word TEXT); INSERT INTO secret VALUES (1, 'xyzzy')"
    cat >config.json <<'END'
{"sources": [{"module": "sqlite", "source": "shop.db"}],
 "access": [{"effect": "deny", "resources": ["sqlite://shop/secret", "sqlite://shop/secret/**", "sqlite://shop/item/row/2"]}]}
END
    table='{"ref":{"type":"ref/resource","uri":"sqlite://shop/{table}/row{/key*}{?format}"},"argument":{"name":"%s","value":""},"context":{"arguments":{"table":"%s"}}}'
    messages=("$(request resources/list '{}')" "$(request completion/complete "$(printf "$table" table '')" 2)"
        "$(request completion/complete "$(printf "$table" key secret)" 3)" "$(request completion/complete "$(printf "$table" key item)" 4)")
    n=4
    for uri in secret 'secret?format=text' secret/rows 'secret/rows?limit=1' 'secret/rows?id=1' 'secret/rows?format=text' 'secret/row/1?format=text' 'item/row/2?format=text' secret/row/1 secret/row/01 %73ecret/row/1 \
        secret/cell/word/1 'secret/cell/word/1?offset=0' item/row/2 item/row/02 item/row/%202; do
        n=$((n + 1))
        messages+=("$(request resources/read "{\"uri\":\"sqlite://shop/$uri\"}" $n)")
    done
    run -0 legacy --config config.json -- "${messages[@]}"
    [[ "$output" != *xyzzy* && "$output" != *'"word"'* ]]
    [ "$(jq -c '.[0].result.resources | map(.uri | select(contains("secret")))' <<<"$output")" = '[]' ]
    [ "$(jq -c '.[1:4] | map(.result.completion.values)' <<<"$output")" = '[["item","short"],[],["1"]]' ]
    [ "$(jq -c '.[4:] | map(.error.message) | unique' <<<"$output")" = '["Resource not found"]' ]
}

# ---- the page in docs -------------------------------------------------------------------------------------

@test "docs/sqlite.md: the commands print what the page shows" {
    rm shop.db
    PATH="$(dirname "$MCPD"):$(dirname "$MCPCTL"):$PATH"
    awk '/^```sh setup/ { on = 1; next } /^```/ { on = 0 } on' "$BATS_TEST_DIRNAME/../../docs/sqlite.md" >setup.sh
    bash -e setup.sh
    awk '/^```sh$/ { n++; on = "command." n; next } /^```expect$/ { on = "expect." n; next } /^```/ { on = "" }
         on { print >on }' "$BATS_TEST_DIRNAME/../../docs/sqlite.md"
    commands=(command.*)
    [ "${#commands[@]}" -ge 3 ]
    for command in "${commands[@]}"; do
        run -0 bash -e "$command"
        [[ "$output" == *"$(cat "expect.${command#*.}")"* ]] || { echo "$command: $output"; return 1; }
    done
    # and the saved queries, which a configuration file would carry
    awk '/^```json$/ { on = 1; next } /^```/ { on = 0 } on' "$BATS_TEST_DIRNAME/../../docs/sqlite.md" | jq -e .queries
}
