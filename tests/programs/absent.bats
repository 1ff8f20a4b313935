# Sources that do not exist at the start: they are left out with a message and offered once they
# exist. It is an error if no source exists.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCP_BUILD_DIR:=build/release}"
    load support/talk
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo a >docs/a.txt
}

has() { [ -e "$(find "$MCP_BUILD_DIR/programs/lib" -name "$1.so" 2>/dev/null)" ]; }

# come KIND: creates the missing source, in one step
come() {
    case $1 in
        file) echo late >late ;;
        folder) mkdir new && echo late >new/late && mv new late ;;
        git) git init -q -b main new && git -C new -c user.name=a -c user.email=a@b commit -q --allow-empty -m late && mv new late ;;
        sqlite) sqlite3 new 'create table late(a); insert into late values(1)' && mv new late ;;
    esac
}

@test "each kind: the other sources are served, the log names the missing one, and it is offered once it exists" {
    for kind in file folder git sqlite; do
        case $kind in
            file | folder) source=late ;;
            *) source=$kind:late; has $kind || continue ;;
        esac
        rm -rf late
        talk modern "$MCPD" docs "$source"
        result server/discover '{}'
        [[ "$(jq -r .instructions <<<"$heard")" == *docs* && "$heard" != *late* ]]
        result resources/list '{}'
        [[ "$heard" == *a.txt* && "$heard" != *late* ]]
        request subscriptions/listen '{"notifications":{"resourcesListChanged":true}}'
        hear '.method == "notifications/subscriptions/acknowledged"'
        come $kind
        hear '.method == "notifications/resources/list_changed"'
        result resources/list '{}'
        [[ "$heard" == *a.txt* && "$heard" == *late* ]] || { echo "$kind: $heard"; return 1; }
        result server/discover '{}'
        [[ "$(jq -r .instructions <<<"$heard")" == *late* ]]
        hush
    done
}

@test "a missing source gets one message, a warning" {
    run -0 --separate-stderr "$MCPD" --log-level error docs none gone </dev/null
    diff <(printf '%s\n' "$stderr") - <<'END'
mcpd: error: none: No such file or directory: it will be available as soon as it exists
mcpd: error: gone: No such file or directory: it will be available as soon as it exists
END
    run -1 --separate-stderr "$MCPD" --doctor docs none
    [[ "$output" == *"WRONG   source: none: No such file"*"2 resources"* ]]
}

@test "it is an error if no source exists, and for options that examine the configuration" {
    run -1 --separate-stderr "$MCPD" none gone </dev/null
    [ "$stderr" = "mcpd: none: No such file or directory" ]
    for kind in git sqlite; do
        has $kind || continue
        run -1 --separate-stderr "$MCPD" none $kind:gone </dev/null
        [ "$stderr" = "mcpd: none: No such file or directory" ]
        run -1 --separate-stderr "$MCPD" $kind:gone </dev/null
        [ "$stderr" = "mcpd: $kind: gone: No such file or directory" ]
        run -1 "$MCPD" --print-config claude docs $kind:gone
    done
    printf '{"sources": ["none"], "prompts": "docs"}\n' >c.json
    run -1 --separate-stderr "$MCPD" --config c.json </dev/null
    [ "$stderr" = "c.json:1:14: $PWD/none: No such file or directory" ]
    run -1 "$MCPD" --print-config claude docs none
}

@test "a source that exists but cannot be served is an error" {
    touch plain
    has git || skip "built without git"
    mkdir empty
    run -1 --separate-stderr "$MCPD" docs git:empty </dev/null
    [[ "$stderr" == *"not a git repository"* ]]
    mkfifo fifo
    run -1 "$MCPD" docs fifo </dev/null
}

@test "an incomplete repository is retried, with one message" {
    has git || skip "built without git"
    printf '{"sources": ["docs", "git:late"]}\n' >c.json
    talk modern "$MCPD" --config c.json
    request subscriptions/listen '{"notifications":{"resourcesListChanged":true}}'
    hear '.method == "notifications/subscriptions/acknowledged"'
    mkdir late
    for ((i = 0; i < 3000; i++)); do
        ! grep -q 'not a git repository' talk.log || break
        sleep 0.02
    done
    git init -q -b main late
    git -C late -c user.name=a -c user.email=a@b commit -q --allow-empty -m late
    hear '.method == "notifications/resources/list_changed"'
    result resources/list '{}'
    [[ "$heard" == *git://late* ]]
    [ "$(grep -c 'not a git repository' talk.log)" -eq 1 ]
    hush
}
