# Access tokens and row-level security together: callers of an issuer get the rows of their database role over HTTP, on one
# connection that they share, and are told of changes to these rows only.

load support/issuer

setup_file() {
    [ -e "$MCP_BUILD_DIR/programs/lib/mcp/postgres.so" ] || return 0
    export PGDIR
    PGDIR=$(mktemp -d /tmp/mcp-postgres-XXXXXX)
    local database=$MCP_SOURCE_DIR/tests/providers/postgres/server
    "$database" make "$PGDIR" && "$database" start "$PGDIR"
    psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres postgres > /dev/null <<'END'
CREATE DATABASE rows;
\connect rows
CREATE ROLE gate LOGIN NOINHERIT;
CREATE ROLE alice;
CREATE ROLE bob;
GRANT alice, bob TO gate;
CREATE TABLE note(id integer PRIMARY KEY, owner text, body text);
ALTER TABLE note ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON note USING (owner = current_user OR owner = current_setting('app.tenant', true));
INSERT INTO note VALUES (1, 'alice', 'of alice'), (2, 'bob', 'of bob'), (3, 'gate', 'of nobody'), (4, 'red', 'of red');
CREATE TABLE of_bob(id integer PRIMARY KEY);
GRANT SELECT ON note TO alice, bob;
GRANT SELECT ON of_bob TO bob;
END
}

teardown_file() {
    [ -z "${PGDIR:-}" ] || "$MCP_SOURCE_DIR/tests/providers/postgres/server" remove "$PGDIR"
}

setup() {
    MCPD=${MCPD:-mcpd}
    [ -n "${PGDIR:-}" ] || skip "built without the module postgres"
    for tool in curl openssl python3; do
        command -v $tool > /dev/null || skip "$tool is not installed"
    done
    cd "$BATS_TEST_TMPDIR"
    issuer
    cat > mcpd.json <<EOF
{"sources": [{"module": "postgres", "source": "host=$PGDIR dbname=rows user=gate", "options": {
   "connections": 1, "poll_ms": 100,
   "run_as": {"issuer": "$iss", "claim": "department", "roles": {"sales": "alice", "support": "bob"},
     "settings": {"app.tenant": "tenant"}},
   "queries": [{"name": "count", "sql": "SELECT count(*) AS n FROM note"}]}}],
 "http": "127.0.0.1:0", "oauth": {"resource": "https://r.example/mcp",
 "issuers": [{"issuer": "$iss", "audiences": ["https://r.example/mcp"]}]}}
EOF
    serve
    alice=$(token alice x ',"department":"sales","tenant":"red"')
    bob=$(token bob x ',"department":"support","tenant":"blue"')
    nobody=$(token eve x ',"department":"other","tenant":"red"')
}

teardown() {
    for pid in $streams; do
        kill "$pid" 2> /dev/null || true
    done
    stop_issuer
}

as() { # as TOKEN METHOD PARAMS [CURL-OPTION...]
    local token=$1 method=$2 params=$3
    shift 3
    ask "$method" "$params" -H "Authorization: Bearer $token" "$@"
}

read_as() { as "$1" resources/read "\"uri\":\"postgres://rows/$2\"," -H "Mcp-Name: postgres://rows/$2"; }

sql() { psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres rows -c "$1" > /dev/null; }

@test "two callers on one connection: rows, values, lists, completions, counts; and one without a role" {
    local i ref='"ref":{"type":"ref/resource","uri":"postgres://rows/{schema}/{table}/row{/key*}{?format}"},"argument":{"name":"key","value":""},"context":{"arguments":{"schema":"public","table":"note"}},'
    for i in 1 2 3; do
        run read_as "$alice" public/note/rows
        has "$output" 'of alice'
        has "$output" 'of red'
        lacks "$output" 'of bob'
        lacks "$output" 'of nobody'
        run read_as "$bob" public/note/rows
        has "$output" 'of bob'
        lacks "$output" 'of alice'
        lacks "$output" 'of red'
        has "$(read_as "$alice" public/note/row/1)" 'of alice'
        has "$(read_as "$alice" public/note/row/2)" 'Resource not found'
        has "$(read_as "$bob" public/note/cell/body/2)" 'of bob'
        has "$(read_as "$bob" public/note/cell/body/4)" 'Resource not found'
        has "$(read_as "$alice" '$query/count')" '[[2]]'
        has "$(read_as "$bob" '$query/count')" '[[1]]'
        lacks "$(as "$alice" resources/list '')" 'of_bob'
        has "$(as "$bob" resources/list '')" 'postgres://rows/public/of_bob'
        has "$(as "$alice" completion/complete "$ref")" '"values":["1","4"]'
        has "$(as "$bob" completion/complete "$ref")" '"values":["2"]'
        has "$(read_as "$nobody" public/note/rows)" 'Resource not found'
        has "$(as "$nobody" resources/list '')" '"resources":[]'
        has "$(as "$nobody" completion/complete "$ref")" '"values":[]'
    done
    has "$(ask resources/list '')" '401 Unauthorized'
    has "$(as "$alice" tools/call '"name":"query_postgres_rows","arguments":{"sql":"SELECT 1"},' -H "Mcp-Name: query_postgres_rows")" 'Unknown tool'
}

# listen NAME TOKEN: a stream of notifications in the file NAME
listen() {
    local u=postgres://rows/public/note
    as "$2" subscriptions/listen "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"$u/row/1\",\"$u/row/2\",\"$u/rows\",\"postgres://rows/\$query/count\"]}," -N > "$1" 3>&- &
    streams+=" $!"
    await acknowledged "$1"
}

await() { # await TEXT FILE: for at most a minute
    local i
    for ((i = 0; i < 3000; i++)); do
        grep -q "$1" "$2" && return
        sleep 0.02
    done
    echo "$2 has no $1: $(cat "$2")"
    return 1
}

tell() { sql "$1; SELECT pg_notify('mcp_changes', '{\"schema\":\"public\",\"table\":\"note\"}')"; }

@test "notices: each caller is told of its own rows and lists" {
    listen a "$alice"
    listen b "$bob"
    listen n "$nobody"
    local i
    for ((i = 0; i < 600; i++)); do # until the server is connected to the database
        tell "UPDATE note SET body = body || '.' WHERE id = 2"
        grep -q 'updated.*row/2' b && break
        sleep 0.1
    done
    await 'updated.*row/2' b
    lacks "$(cat a)" resources/updated
    tell "UPDATE note SET body = body || '.' WHERE id = 1"
    await 'updated.*row/1' a
    await 'updated.*note/rows' a
    sql 'GRANT SELECT ON of_bob TO alice'
    await list_changed a
    tell 'UPDATE note SET owner = $$bob$$ WHERE id = 1'
    await 'updated.*row/1' b
    tell 'DELETE FROM note WHERE id = 2'
    await 'updated.*query/count' b
    [ "$(grep -c 'updated.*row/2' a)" = 0 ]
    [ "$(grep -c list_changed b)" = 0 ]
    has "$(cat n)" '"resourceSubscriptions":[]'
    [ "$(grep -c -e updated -e list_changed n)" = 0 ]
}
