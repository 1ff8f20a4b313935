#!/usr/bin/env bats
# mcpd postgres:CONNINFO with a server that the test starts: docs/postgres.md, several sources,
# secrets, an unreachable server.

setup_file() {
    bats_require_minimum_version 1.5.0
    [ -e "$MCP_BUILD_DIR/programs/lib/mcp/postgres.so" ] || return 0
    export PGDIR
    PGDIR=$(mktemp -d /tmp/mcp-postgres-XXXXXX)
    server=$MCP_SOURCE_DIR/tests/providers/postgres/server
    "$server" make "$PGDIR" && "$server" start "$PGDIR"
    psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres -f "$MCP_SOURCE_DIR/tests/providers/postgres/shop.sql" postgres >/dev/null
    psql -q -h "$PGDIR" -U postgres -c 'CREATE DATABASE page' -c "ALTER ROLE reader PASSWORD 's3cret'" postgres
}

teardown_file() {
    [ -z "${PGDIR:-}" ] || "$MCP_SOURCE_DIR/tests/providers/postgres/server" remove "$PGDIR"
}

setup() {
    bats_require_minimum_version 1.5.0
    [ -n "${PGDIR:-}" ] || skip "built without the module postgres"
    cd "$BATS_TEST_TMPDIR"
    export PGHOST=$PGDIR PGUSER=reader
}

@test "every URI of the list can be read back, odd names too" {
    run -0 mcpctl ls -- mcpd postgres:shop
    [ "${#lines[@]}" -ge 20 ]
    for uri in "${lines[@]}"; do
        mcpctl read "$uri" -- mcpd postgres:shop >text
        [ -s text ] || { echo "$uri"; return 1; }
    done
}

@test "a folder, a SQLite file and two databases at once" {
    mkdir folder
    echo hello >folder/hello.txt
    sqlite3 small.db 'CREATE TABLE t(x); INSERT INTO t VALUES (1)'
    sources=(folder sqlite:small.db postgres:shop "postgres:dbname=postgres?name=other")
    run -0 mcpctl ls -- mcpd "${sources[@]}"
    for uri in hello.txt sqlite://small/t postgres://shop/public/sale postgres://other/public; do
        [[ "$output" == *"$uri"* ]] || { echo "$output"; return 1; }
    done
    run -0 mcpctl tools -- mcpd "${sources[@]}"
    [[ "$output" == *query_sqlite_small* && "$output" == *query_postgres_shop* && "$output" == *query_postgres_other* ]]
}

@test "databases of two modules with the same name: their templates and tools have different names" {
    sqlite3 shop.db "CREATE TABLE sale(id INTEGER PRIMARY KEY, total REAL); INSERT INTO sale VALUES (1, 4711)"
    sources=(sqlite:shop.db postgres:shop)
    run -0 mcpctl template --json -- mcpd "${sources[@]}"
    [ "$(jq '[.resourceTemplates[].name] | length - (unique | length)' <<<"$output")" = 0 ]
    [ "$(jq -c '[.resourceTemplates[].name | select(endswith(".rows"))]' <<<"$output")" = '["sqlite.shop.rows","postgres.shop.rows"]' ]
    run -0 mcpctl template --read sqlite.shop.rows table=sale -- mcpd "${sources[@]}"
    [[ "$output" == *4711* ]]
    run -0 mcpctl template --read postgres.shop.rows schema=public table=sale -- mcpd "${sources[@]}"
    [[ "$output" == *'"status"'* && "$output" != *4711* ]]
    run -0 mcpctl call --yes query_sqlite_shop 'sql=SELECT total FROM sale' -- mcpd "${sources[@]}"
    [[ "$output" == *4711* ]]
    run -0 mcpctl call --yes query_postgres_shop 'sql=SELECT status FROM sale' -- mcpd "${sources[@]}"
    [[ "$output" == *open* ]]
}

@test "a source that cannot be served is rejected with its name and the reason, never with a secret" {
    for case in 'postgres:dbname=none|none' 'postgres:dbname=shop user=x|x' 'postgres:password=s3cret user|is invalid' \
        'postgres:shop?max_rows=0|max_rows' 'postgres:shop?colour=red|unknown property'; do
        run -1 --separate-stderr mcpd "${case%%|*}" </dev/null
        [ -z "$output" ]
        [[ "$stderr" == *"${case#*|}"* && "$stderr" != *s3cret* ]] || { echo "$case: $stderr"; return 1; }
    done
}

@test "a password in the source gets a warning, and is not shown" {
    run -0 --separate-stderr mcpd 'postgres:dbname=shop password=s3cret' </dev/null
    [[ "$stderr" == *'the source contains a password'* && "$stderr" != *s3cret* ]]
    for source in 'postgres:dbname=shop password=s3cret user=reader' "postgres:dbname=shop password = 's3 s3cret' user=reader" \
        'postgres://reader:s3cret@localhost:1/shop'; do
        run -0 --separate-stderr mcpd --print-config claude "$source"
        [[ "$output$stderr" != *s3cret* && "$output" == *reader* && "$output" == *shop* ]] || { echo "$output"; return 1; }
    done
}

@test "an unreachable server does not keep other sources from being served" {
    mkdir folder
    echo hello >folder/hello.txt
    run -0 --separate-stderr mcpctl read "file://$PWD/folder/hello.txt" -- mcpd folder 'postgres:host=/nowhere dbname=shop'
    [ "$output" = hello ]
    run --separate-stderr mcpctl read postgres://shop/public/sale/row/1 -- mcpd folder 'postgres:host=/nowhere dbname=shop'
    [ "$status" != 0 ]
    [[ "$stderr" == *'cannot be reached now'* ]]
}

@test "the doctor reports whether a database answers and accepts the role" {
    run mcpd --doctor postgres:shop
    [ "$status" = 0 ] && [[ "$output" == *'source: postgres:shop: answers; '* ]] || { echo "$output"; return 1; }
    [[ "$output" == *': postgres://shop/, 7 templates, the tool query_postgres_shop; it needs the process of the server'* ]]
    for case in 'postgres:host=/nowhere dbname=shop|/nowhere' 'postgres:dbname=none|"none" does not exist' \
        'postgres:dbname=shop user=x password=s3cret|role "x" does not exist'; do
        run mcpd --doctor "${case%%|*}"
        [ "$status" = 1 ] && grep -q "^WRONG .*source: .*${case#*|}" <<<"$output" && [[ "$output" != *s3cret* ]] ||
            { echo "$case: $output"; return 1; }
    done
}

# write_config NAME SQL PARAMETER...: writes a configuration with this query and a valid one
write_config() {
    jq -n --arg name "$1" --arg sql "$2" --arg source "host=$PGDIR dbname=shop" '{sources: [{module: "postgres", source: $source,
        options: {queries: [{name: $name, sql: $sql, parameters: [$ARGS.positional[] | {name: .}]},
                            {name: "good", sql: "SELECT 7 AS seven"}]}}]}' --args "${@:3}" >c.json
}

@test "an invalid saved query is reported at the start and when it is read, and affects nothing else" {
    for case in 'SELECT colour FROM sale||column "colour" does not exist' \
        'SELECT 1; SELECT 2||multiple commands' 'SELECT 1) AS a, (SELECT 2||syntax error' \
        'DELETE FROM sale||only SELECT' \
        'WITH a AS (DELETE FROM sale RETURNING *) SELECT * FROM a||data-modifying' \
        'SELECT * FROM pg_authid||permission denied' 'EXPLAIN SELECT colour FROM sale||colour' \
        'SELECT $1::int + $2::int|a|parameters' 'SELECT 1|a|parameters'; do
        IFS='|' read -r sql parameter why <<<"$case"
        write_config odd "$sql" $parameter
        run -1 --separate-stderr mcpd --config c.json --check-config
        [[ -z "$output" && "$stderr" == *'the saved query odd: '*"$why"* && "$stderr" != *good* ]] || { echo "$case: $stderr"; return 1; }
        run -1 mcpd --config c.json --doctor
        [[ "$output" == *'WRONG   log: '*'the saved query odd: '*"$why"* ]] || { echo "$case: $output"; return 1; }
        run -0 --separate-stderr mcpctl read 'postgres://shop/$query/good' -- mcpd --config c.json
        [[ "$output" == *seven* ]]
        run --separate-stderr mcpctl read "postgres://shop/\$query/odd${parameter:+?a=1}" -- mcpd --config c.json
        [[ "$status" != 0 && "$stderr" == *"$why"* ]] || { echo "$case: $stderr"; return 1; }
    done
    for good in 'SHOW server_version' 'EXPLAIN SELECT 1' 'TABLE sale' 'SELECT $1::int|a'; do
        write_config odd "${good%|*}" $([[ "$good" != *'|'* ]] || echo a)
        run -0 --separate-stderr mcpd --config c.json --check-config
        [[ "$output" == *'it is valid'* && -z "$stderr" ]] || { echo "$good: $stderr"; return 1; }
    done
}

@test "saved queries of a database that was unreachable are checked with the first connection" {
    "$MCP_SOURCE_DIR/tests/providers/postgres/server" stop "$PGDIR"
    write_config odd 'SELECT colour FROM sale'
    : >stderr
    (
        for ((i = 0; i < 600; i++)); do
            ! grep -q 'cannot be reached now' stderr || break
            sleep 0.1
        done
        "$MCP_SOURCE_DIR/tests/providers/postgres/server" start "$PGDIR"
        for ((i = 0; i < 300; i++)); do
            echo '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"uri":"postgres://shop/public/sale/row/1"}}'
            ! grep -q 'saved query' stderr || break
            sleep 0.2
        done
    ) | mcpd --config c.json >stdout 2>stderr
    grep -q 'cannot be reached now' stderr
    [ "$(grep -c 'the saved query odd: column "colour" does not exist' stderr)" = 1 ]
    [ "$(grep -c 'the saved query good' stderr)" = 0 ]
}

# write_change SQL RULES: writes a configuration with a statement that changes rows, and these access rules
write_change() {
    jq -n --arg sql "$1" --argjson rules "$2" --arg source "host=$PGDIR dbname=shop" '{access: $rules, sources: [{module: "postgres",
        source: $source, options: {queries: [{name: "note", sql: $sql, write: true,
        parameters: [{name: "id", required: true}, {name: "body"}]}]}}]}' >c.json
}

@test "a statement that changes rows is a tool only for those whom a rule allows to commit" {
    psql -q -h "$PGDIR" -U postgres shop -c 'CREATE TABLE IF NOT EXISTS note(id integer, body text)' \
        -c 'TRUNCATE note' -c "INSERT INTO note VALUES (1, 'old'), (2, 'old'), (2, 'old')" -c 'GRANT SELECT, UPDATE ON note TO reader'
    notes() { psql -qAt -h "$PGDIR" -U postgres shop -c "SELECT string_agg(id || body, ' ' ORDER BY id) FROM note"; }
    sql='UPDATE note SET body = $2 WHERE id = $1'
    for rules in '[]' '[{"effect": "allow"}]' '[{"effect": "allow", "tools": "*"}]' \
        '[{"effect": "allow", "operations": ["change", "create", "delete", "move", "call"]}]' \
        '[{"effect": "allow", "operations": ["commit"], "tools": "other"}]' \
        '[{"principal": "anonymous", "effect": "allow", "operations": ["commit"], "tools": "write_shop_note"}]'; do
        write_change "$sql" "$rules"
        run -0 mcpctl tools -- mcpd --config c.json
        [[ "$output" == *query_postgres_shop* && "$output" != *write_shop* ]] || { echo "$rules: $output"; return 1; }
        run mcpctl call --yes write_shop_note id=1 body=new -- mcpd --config c.json
        [ "$status" != 0 ] && [ "$(notes)" = '1old 2old 2old' ] || { echo "$rules: $output"; return 1; }
    done
    write_change "$sql" '[{"principal": "stdio", "effect": "allow", "operations": ["commit"], "tools": "write_shop_note"}]'
    run -0 mcpctl tools -- mcpd --config c.json
    [[ "$output" == *write_shop_note* ]]
    run -0 mcpctl call --yes write_shop_note id=1 body=new -- mcpd --config c.json
    [[ "$output" == *'"changed":1'* && "$(notes)" = '1new 2old 2old' ]]
    run mcpctl call --yes write_shop_note id=2 body=new -- mcpd --config c.json
    [[ "$status" != 0 && "$output" == *'it would have been 2 rows, and at most 1 is allowed'* && "$(notes)" = '1new 2old 2old' ]]
    run mcpd --config c.json --doctor
    [[ "$status" = 0 && "$output" == *'may commit tools write_shop_note (allow)'* ]] || { echo "$output"; return 1; }
    write_change "$sql" '[{"principal": "stdio", "effect": "ask", "operations": ["commit"], "tools": "write_shop_note"}]'
    run mcpctl call --yes write_shop_note id=1 body=newer -- mcpd --config c.json </dev/null
    [[ "$status" != 0 && "$(notes)" = '1new 2old 2old' ]] || { echo "$output"; return 1; }
}

@test "a statement that is not one change is refused at the start or by --doctor" {
    psql -q -h "$PGDIR" -U postgres shop -c 'CREATE TABLE IF NOT EXISTS note(id integer, body text)' -c 'GRANT SELECT, UPDATE ON note TO reader'
    for sql in 'SELECT $1::int, $2::text' 'WITH a AS (DELETE FROM note RETURNING *) SELECT * FROM a' 'TRUNCATE note' 'CALL commits()' \
        'DO $$ BEGIN DELETE FROM note; END $$' 'SET role postgres' 'COPY note FROM STDIN' 'DROP TABLE note'; do
        write_change "$sql" '[]'
        run -1 --separate-stderr mcpd --config c.json </dev/null
        [[ -z "$output" && "$stderr" == *'the saved query note: with "write" it has to begin with INSERT'* ]] || { echo "$sql: $stderr"; return 1; }
    done
    for case in 'UPDATE note SET id = $1, body = $2; DELETE FROM note|multiple commands' 'UPDATE gone SET id = $1, body = $2|does not exist' \
        'DELETE FROM note WHERE id = $1 AND body = $2|permission denied'; do
        write_change "${case%|*}" '[]'
        run -1 mcpd --config c.json --doctor
        [[ "$output" == *'WRONG   log: '*'the saved query note: '*"${case#*|}"* ]] || { echo "$case: $output"; return 1; }
    done
}

@test "database_health is there with its option, and under rules for those whom one allows it by its name" {
    health() {
        jq -n --argjson rules "$1" --arg source "host=$PGDIR dbname=shop" '{access: $rules, sources: [{module: "postgres",
            source: $source, options: {database_health: true}}]}' >c.json
    }
    psql -q -h "$PGDIR" -U postgres shop -c 'CREATE TABLE idle(a integer)' -c 'CREATE INDEX idle_a ON idle(a)' -c 'GRANT SELECT ON idle TO reader'
    run -0 mcpctl tools -- mcpd postgres:shop
    [[ "$output" == *query_postgres_shop* && "$output" != *database_health* ]]
    run -0 mcpctl call --yes database_health_shop -- mcpd 'postgres:shop?database_health=true'
    [[ "$output" == *'public.idle_a on public.idle: '* && "$output" == *'Statements of this role'* && "$output" == *'Counted since the database was made'* ]] || { echo "$output"; return 1; }
    for rules in '[{"effect": "allow"}]' '[{"effect": "allow", "tools": "*"}]' '[{"effect": "deny"}, {"effect": "allow", "tools": "database_*"}]' \
        '[{"principal": "anonymous", "effect": "allow", "tools": "database_health_shop"}]'; do
        health "$rules"
        run -0 mcpctl tools -- mcpd --config c.json
        [[ "$output" != *database_health* ]] || { echo "$rules: $output"; return 1; }
        run mcpctl call --yes database_health_shop -- mcpd --config c.json
        [[ "$status" != 0 && "$output" != *idle_a* ]] || { echo "$rules: $output"; return 1; }
    done
    health '[{"effect": "deny"}, {"principal": "stdio", "effect": "allow", "tools": "database_health_shop", "resources": "postgres://shop/public/part"}]'
    run -0 mcpctl call --yes database_health_shop table=part -- mcpd --config c.json
    [[ "$output" == *'public.part: about '* && "$output" != *sale* && "$output" != *idle* ]] || { echo "$output"; return 1; }
    run mcpctl call --yes database_health_shop table=sale -- mcpd --config c.json
    [[ "$status" != 0 && "$output" == *'There is no such table'* ]] || { echo "$output"; return 1; }
}

@test "an index is tried with both options, and under rules not even for those whom one allows the tool" {
    [ "$(psql -At -h "$PGDIR" -U postgres shop -c "SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg'")" = 1 ] ||
        skip "hypopg is not installed (scripts/install-deps --tests)"
    psql -q -h "$PGDIR" -U postgres shop -c 'CREATE EXTENSION hypopg' -c 'CREATE TABLE tried AS SELECT generate_series(1, 20000) AS a' \
        -c 'GRANT SELECT ON tried TO reader' -c 'ANALYZE tried'
    arguments=('query=SELECT a FROM tried WHERE a = 5' 'indexes=["CREATE INDEX ON tried (a)"]')
    run -0 mcpctl call --yes database_health_shop "${arguments[@]}" -- mcpd 'postgres:shop?database_health=true&explain=true'
    [[ "$output" == 'With the index, the estimated cost falls from '*'; CREATE INDEX ON tried (a) is used.' ]] || { echo "$output"; return 1; }
    run -0 mcpctl call --yes --json database_health_shop "${arguments[@]}" -- mcpd 'postgres:shop?database_health=true&explain=true'
    [ "$(jq -c '.structuredContent.hypothetical_indexes | .indexes, .cost_with < .cost_without' <<<"$output" | tr '\n' ' ')" = \
        '[{"index":"CREATE INDEX ON tried (a)","used":true}] true ' ] || { echo "$output"; return 1; }
    run mcpctl call --yes database_health_shop "${arguments[@]}" -- mcpd 'postgres:shop?database_health=true'
    [[ "$status" != 0 && "$output" != *'is used'* ]] || { echo "$output"; return 1; }
    jq -n --arg source "host=$PGDIR dbname=shop" '{access: [{principal: "stdio", effect: "allow", tools: "database_health_shop",
        resources: "postgres://shop/*"}], sources: [{module: "postgres", source: $source,
        options: {database_health: true, explain: true}}]}' >c.json
    run mcpctl call --yes database_health_shop "${arguments[@]}" -- mcpd --config c.json
    [[ "$status" != 0 && "$output" == *'Plans are not shown under access rules'* ]] || { echo "$output"; return 1; }
}

@test "docs/postgres.md: the commands print what the page shows" {
    page=$BATS_TEST_DIRNAME/../../docs/postgres.md
    awk '/^```sql setup/ { on = 1; next } /^```/ { on = 0 } on' "$page" >setup.sql
    psql -q -h "$PGDIR" -U postgres -c 'ALTER DATABASE shop RENAME TO shop_of_tests' postgres
    psql -q -h "$PGDIR" -U postgres -c 'ALTER DATABASE page RENAME TO shop' postgres
    psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres -f setup.sql shop
    awk '/^```sh$/ { n++; on = "command." n; next } /^```expect$/ { on = "expect." n; next } /^```/ { on = "" }
         on { print >on }' "$page"
    commands=(command.*)
    [ "${#commands[@]}" -ge 3 ]
    for command in "${commands[@]}"; do
        run -0 bash -e "$command"
        [[ "$output" == *"$(cat "expect.${command#*.}")"* ]] || { echo "$command: $output"; return 1; }
    done
    # the trigger, and the saved queries, which a configuration file would carry
    awk '/^```sql$/ { on = 1; next } /^```/ { on = 0 } on' "$page" | psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres shop
    awk '/^```json$/ { on = 1; next } /^```/ { on = 0 } on' "$page" | jq -e .queries
}

@test "run_as: each token reads with its own role; roles that do not exist are refused" {
    psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres shop <<'END'
CREATE ROLE gate2 LOGIN NOINHERIT; CREATE ROLE role_a; CREATE ROLE role_b; GRANT role_a, role_b TO gate2;
CREATE TABLE note(id integer PRIMARY KEY, owner text, body text);
ALTER TABLE note ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON note USING (owner = current_user);
GRANT SELECT ON note TO role_a, role_b;
INSERT INTO note VALUES (1, 'role_a', 'first'), (2, 'role_b', 'second');
END
    config() {
        printf '{"sources": [{"module": "postgres", "source": "dbname=shop user=gate2", "options": {"run_as": %s}}]}' "$1" >config.json
    }
    config '{"roles": {"ada": "role_a", "bob": "role_c"}}'
    run -1 --separate-stderr mcpd --config config.json --check-config
    [[ "$stderr" == *"role_c does not exist"* ]] || { echo "$stderr"; return 1; }
    run -1 mcpd --config config.json --doctor
    [[ "$output" == *"role_c does not exist"* ]] || { echo "$output"; return 1; }
    config '{"roles": {"ada": "role_a"}, "claims": "role"}'
    run -1 --separate-stderr mcpd --config config.json --check-config
    [[ "$stderr" == *"needs a dot"* ]] || { echo "$stderr"; return 1; }

    config '{"roles": {"ada": "role_a", "bob": "role_b"}}'
    printf 'ada:token-of-ada\nbob:token-of-bob\neve:token-of-eve\n' >tokens
    chmod 600 tokens
    mcpd --config config.json --http 127.0.0.1:0 --token-file tokens 2>log 3>&- &
    server=$!
    for ((i = 0; i < 3000; i++)); do
        ! grep -q ' at http' log || break
        kill -0 "$server" || { cat log; return 1; }
        sleep 0.02
    done
    url=$(sed -n 's|.* at \(http.*/mcp\).*|\1|p' log | head -1)
    rows_of() { # TOKEN
        uri=postgres://shop/public/note/rows
        curl -sS -m 30 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
            -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/read' -H "Mcp-Name: $uri" -H "Authorization: Bearer $1" \
            -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"$uri\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}" \
            "$url"
    }
    for ((i = 0; i < 3; i++)); do
        [[ "$(rows_of token-of-ada)" == *first* && "$(rows_of token-of-ada)" != *second* ]]
        [[ "$(rows_of token-of-bob)" == *second* && "$(rows_of token-of-bob)" != *first* ]]
        [[ "$(rows_of token-of-eve)" == *"Resource not found"* ]]
    done
    kill "$server"
    wait "$server"
    grep -q 'a caller was refused, because run_as has no role for it' log
}
