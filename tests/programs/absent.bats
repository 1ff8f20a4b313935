# Sources that are not there: left out and said, offered when they come; an error where none is there.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCP_BUILD_DIR:=build/release}"
    load support/talk
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo a >docs/a.txt
}

has() { [ -e "$(find "$MCP_BUILD_DIR/programs/lib" -name "$1.so" 2>/dev/null)" ]; }

# come KIND: what was not there comes, whole
come() {
    case $1 in
        file) echo late >late ;;
        folder) mkdir new && echo late >new/late && mv new late ;;
        git) git init -q -b main new && git -C new -c user.name=a -c user.email=a@b commit -q --allow-empty -m late && mv new late ;;
        sqlite) sqlite3 new 'create table late(a); insert into late values(1)' && mv new late ;;
    esac
}

@test "each kind: the others are served, the log says what is missing, and it is offered when it comes" {
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

@test "it is said once, loudly" {
    run -0 --separate-stderr "$MCPD" --log-level error docs none gone </dev/null
    diff <(printf '%s\n' "$stderr") - <<'END'
mcpd: error: none: No such file or directory: it will be available as soon as it exists
mcpd: error: gone: No such file or directory: it will be available as soon as it exists
END
    run -1 --separate-stderr "$MCPD" --doctor docs none
    [[ "$output" == *"WRONG   source: none: No such file"*"2 resources"* ]]
}

@test "where none is there, and for what is asked about the configuration, it is an error" {
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

@test "what is there and cannot be served is an error as ever" {
    touch plain
    has git || skip "built without git"
    mkdir empty
    run -1 --separate-stderr "$MCPD" docs git:empty </dev/null
    [[ "$stderr" == *"not a git repository"* ]]
    mkfifo fifo
    run -1 "$MCPD" docs fifo </dev/null
}

@test "a repository that is not whole yet is tried again, and said once" {
    has git || skip "built without git"
    printf '{"sources": ["docs", "git:late"]}\n' >c.json
    talk modern "$MCPD" --config c.json
    request subscriptions/listen '{"notifications":{"resourcesListChanged":true}}'
    hear '.method == "notifications/subscriptions/acknowledged"'
    mkdir late
    for ((i = 0; i < 500; i++)); do
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
