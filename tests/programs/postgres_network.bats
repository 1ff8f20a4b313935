#!/usr/bin/env bats
# mcpd postgres:CONNINFO over TCP: TLS, passwords from libpq's usual sources, and no password in any
# output.

setup_file() {
    bats_require_minimum_version 1.5.0
    [ -e "$MCP_BUILD_DIR/programs/lib/mcp/postgres.so" ] || return 0
    export PGDIR PGPORT
    PGDIR=$(mktemp -d /tmp/mcp-postgres-XXXXXX)
    server=$MCP_SOURCE_DIR/tests/providers/postgres/server
    "$server" make "$PGDIR" && "$server" listen "$PGDIR" && "$server" start "$PGDIR"
    PGPORT=$(cat "$PGDIR/port")
    psql -q -v ON_ERROR_STOP=1 -h "$PGDIR" -U postgres -f "$MCP_SOURCE_DIR/tests/providers/postgres/shop.sql" postgres >/dev/null
    psql -q -h "$PGDIR" -U postgres -c "ALTER ROLE reader PASSWORD 's3cret'" postgres
}

teardown_file() {
    [ -z "${PGDIR:-}" ] || "$MCP_SOURCE_DIR/tests/providers/postgres/server" remove "$PGDIR"
}

setup() {
    bats_require_minimum_version 1.5.0
    [ -n "${PGDIR:-}" ] || skip "built without the module postgres"
    cd "$BATS_TEST_TMPDIR"
    export HOME=$BATS_TEST_TMPDIR PGHOST=127.0.0.1 PGUSER=reader
    printf '*:*:*:*:s3cret\n' >passwords
    chmod 600 passwords
}

# Checks that the output contains no secret.
clean() {
    [[ "$output${stderr:-}" != *s3cret* ]] || { echo "$output${stderr:-}"; return 1; }
}

row=postgres://shop/public/customer/row/1

@test "a password comes from PGPASSFILE, ~/.pgpass, PGPASSWORD or a service, and is never shown" {
    cp passwords .pgpass
    run -0 --separate-stderr mcpctl read $row -- mcpd postgres:shop
    [[ "$output" == *Ada* ]] && clean
    rm .pgpass
    PGPASSFILE=$PWD/passwords run -0 --separate-stderr mcpctl read $row -- mcpd postgres:shop
    [[ "$output" == *Ada* ]] && clean
    PGPASSWORD=s3cret run -0 --separate-stderr mcpctl read $row -- mcpd postgres:shop
    [[ "$output" == *Ada* ]] && clean
    printf '[there]\nhost=127.0.0.1\ndbname=shop\npassword=s3cret\n' >services
    PGSERVICEFILE=$PWD/services run -0 --separate-stderr mcpctl read $row -- mcpd 'postgres:service=there?name=shop'
    [[ "$output" == *Ada* ]] && clean
}

@test "an untrusted certificate is rejected with the reason" {
    export PGPASSFILE=$PWD/passwords
    source="postgres:dbname=shop sslmode=verify-full sslrootcert=$PGDIR"
    run -0 --separate-stderr mcpctl read $row -- mcpd "$source/ca.crt"
    [[ "$output" == *Ada* ]]
    run -1 --separate-stderr mcpd "$source/other.crt" </dev/null
    [[ -z "$output" && "$stderr" == *'shop: '*'certificate verify failed'* ]] && clean
    PGHOST=db.example.org PGHOSTADDR=127.0.0.1 run -1 --separate-stderr mcpd "$source/ca.crt" </dev/null
    [[ "$stderr" == *'does not match host name "db.example.org"'* ]] && clean
}

@test "no password in output, logs, answers or errors" {
    sources=('postgres:dbname=shop password=s3cret' "postgres:dbname=shop password = 's3cret'" \
        'postgres:dbname=shop user=reader password=s3cret sslmode=disable' \
        "postgres://reader:s3cret@127.0.0.1:$PGPORT/shop" "postgres://127.0.0.1:$PGPORT/shop?user=reader&password=s3cret")
    for source in "${sources[@]}"; do
        run -0 --separate-stderr mcpctl ls -- mcpd "$source"
        [[ "$output" == *postgres://shop/* ]] && clean
        for command in --doctor '--print-config claude' '--print-config vscode' '--print-config mcpd'; do
            # shellcheck disable=SC2086
            run --separate-stderr mcpd $command "$source" </dev/null
            clean || { echo "$command $source"; return 1; }
        done
        run --separate-stderr mcpctl call --yes query_postgres_shop 'sql=SELECT oops' -- mcpd "$source"
        clean
        run --separate-stderr mcpctl --trace trace read postgres://shop/none -- mcpd "$source"
        clean
        ! grep -q s3cret trace 2>/dev/null
    done
    PGPASSWORD=s3cret run --separate-stderr mcpd --doctor postgres:shop </dev/null
    clean
    PGPASSWORD=s3cret run -1 --separate-stderr mcpd 'postgres:dbname=none' </dev/null
    clean
}

@test "a wrong password, and one that is not encoded for a URI, are not printed" {
    for source in 'postgres:dbname=shop password=s3cret2' 'postgres://reader:s3cret@4@127.0.0.1/shop' \
        'postgres://reader:s3cret/4@127.0.0.1/shop' 'postgres://reader:4/s3cret@127.0.0.1/shop' \
        'postgres://reader:4@s3cret@127.0.0.1/shop' 'postgres:dbname=shop password=a s3cret' 'postgres://reader:s3cret%zz@127.0.0.1/shop'; do
        run -1 --separate-stderr mcpd "$source" </dev/null
        [ -z "$output" ] && clean || { echo "$source"; return 1; }
        run --separate-stderr mcpd --doctor "$source" </dev/null
        clean || { echo "$source"; return 1; }
    done
}

@test "no password in the log when the server stops and starts again" {
    printf '{"sources": ["postgres:dbname=shop password=s3cret"]}' >mcpd.json
    run --separate-stderr mcpd --check-config --config mcpd.json </dev/null
    clean
    mcpd --config mcpd.json --http 127.0.0.1:0 2>log 3>&- &
    pid=$!
    for _ in {1..600}; do
        url=$(grep -Eo 'http://[^ ]*' log) && break
        sleep 0.1
    done
    mcpctl read $row -s "$url" >/dev/null
    "$MCP_SOURCE_DIR/tests/providers/postgres/server" stop "$PGDIR"
    run mcpctl read $row -s "$url"
    "$MCP_SOURCE_DIR/tests/providers/postgres/server" start "$PGDIR"
    clean
    kill $pid
    wait $pid || true
    grep -q 'PostgreSQL database shop' log
    ! grep s3cret log
}
