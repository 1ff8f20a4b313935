# Sources in processes of their own: files that are replaced, what shows the processes, and how they are switched off.

bats_require_minimum_version 1.5.0

setup() {
    load support/talk
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    [ -f "$MCP_BUILD_DIR/programs/lib/mcp/sqlite.so" ] || skip "built without sqlite"
    command -v sqlite3 >/dev/null || skip "sqlite3 is not installed"
    sqlite3 shop.db "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'one')"
}

rows() { # the column b of all rows
    result resources/read '{"uri":"sqlite://shop/t/rows"}'
    heard=$(jq -r '.contents[0].text | fromjson | .rows | map(.[1]) | join(" ")' <<<"$heard")
}

children() {
    ps -o args= --ppid "$server_pid" | grep -c -e --source-child || :
}

@test "changes are seen when a WAL file appears and disappears, and when a database is replaced, removed and created again" {
    talk modern "$MCPD" sqlite:shop.db
    rows && [ "$heard" = one ]
    sqlite3 shop.db "PRAGMA journal_mode=WAL; INSERT INTO t VALUES (2, 'two')" >/dev/null
    rows && [ "$heard" = "one two" ]
    coproc writer { sqlite3 shop.db; }
    echo "INSERT INTO t VALUES (3, 'three'); SELECT 'done';" >&"${writer[1]}"
    read -r line <&"${writer[0]}"
    rows && [ "$line $heard" = "done one two three" ]
    echo .quit >&"${writer[1]}"
    wait "$writer_PID" || :
    rows && [ "$heard" = "one two three" ]
    sqlite3 new.db "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'new')"
    rm -f shop.db-wal shop.db-shm
    mv new.db shop.db
    rows && [ "$heard" = new ]
    rm -f shop.db*
    failure resources/read '{"uri":"sqlite://shop/t/rows"}'
    [[ "$heard" == *"not found"* ]]
    sqlite3 shop.db "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'back')"
    rows && [ "$heard" = back ]
    hush
}

@test "changes are seen when a journal stays, in each mode and with each writer" {
    for mode in PERSIST TRUNCATE DELETE; do
        rm -f shop.db*
        sqlite3 shop.db "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'one')"
        talk modern "$MCPD" sqlite:shop.db
        rows && [ "$heard" = one ]
        sqlite3 shop.db "PRAGMA journal_mode=$mode; UPDATE t SET b = 'short'" >/dev/null
        rows && [ "$heard" = short ]
        coproc writer { sqlite3 shop.db; }
        for i in 1 2 3; do
            echo "PRAGMA journal_mode=$mode; UPDATE t SET b = '$mode $i'; SELECT 'done';" >&"${writer[1]}"
            while read -r line <&"${writer[0]}" && [ "$line" != 'done' ]; do :; done
            rows && [ "$heard" = "$mode $i" ]
        done
        echo .quit >&"${writer[1]}"
        wait "$writer_PID" || :
        rows && [ "$heard" = "$mode 3" ]
        hush
    done
}

@test "a link that is switched to a database in WAL mode is followed" {
    for name in one two; do
        sqlite3 "$name.db" "PRAGMA journal_mode=WAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
                            INSERT INTO t VALUES (1, '$name')" >/dev/null
    done
    ln -s one.db link.db
    talk modern "$MCPD" 'sqlite:link.db?name=shop'
    rows && [ "$heard" = one ]
    coproc writer { sqlite3 two.db; }
    echo "UPDATE t SET b = 'second'; SELECT 'done';" >&"${writer[1]}"
    read -r line <&"${writer[0]}"
    for i in 1 2; do
        ln -sfn two.db new && mv -T new link.db
        rows && [ "$line $heard" = "done second" ]
        ln -sfn one.db new && mv -T new link.db
        rows && [ "$heard" = one ]
    done
    echo .quit >&"${writer[1]}"
    wait "$writer_PID" || :
    hush
}

# at_once METHOD PARAMS COMMAND...: runs the command as soon as there is an answer.
at_once() {
    local line
    request "$1" "$2"
    IFS= read -r -t 20 line <&"$from"
    "${@:3}"
}

@test "a database that is replaced directly after a request is seen by the next one" {
    talk modern "$MCPD" sqlite:shop.db
    for i in {1..8}; do
        sqlite3 new.db "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'new $i')"
        rows
        at_once resources/read '{"uri":"sqlite://shop/t/rows"}' mv new.db shop.db
        rows && [ "$heard" = "new $i" ]
    done
    at_once resources/read '{"uri":"sqlite://shop/t/rows"}' rm shop.db
    failure resources/read '{"uri":"sqlite://shop/t/rows"}'
    [[ "$heard" == *"not found"* ]]
    hush
}

@test "a repository that is replaced directly after a request is seen by the next one" {
    [ -f "$MCP_BUILD_DIR/programs/lib/mcp/git.so" ] && command -v git >/dev/null || skip "without git"
    commit() { # DIRECTORY TEXT
        git init -q "$1"
        echo "$2" >"$1/f"
        git -C "$1" add f
        git -C "$1" -c user.name=t -c user.email=t@t commit -qm "$2"
    }
    exchange() { mv repo old && mv new repo; }
    commit repo first
    talk modern "$MCPD" git:repo
    for i in {1..5}; do
        commit new "new $i"
        result resources/read '{"uri":"git://repo/HEAD/f"}'
        at_once resources/read '{"uri":"git://repo/HEAD/f"}' exchange
        result resources/read '{"uri":"git://repo/HEAD/f"}'
        [ "$(jq -r '.contents[0].text' <<<"$heard")" = "new $i" ]
        rm -rf old
    done
    hush
}

@test "one process for each source; none with --no-isolate or \"isolate\": false" {
    cp shop.db other.db
    talk modern "$MCPD" sqlite:shop.db sqlite:other.db
    result tools/list '{}'
    [ "$(children)" = 0 ]
    rows
    [ "$(children)" = 1 ]
    result resources/read '{"uri":"sqlite://other/t/rows"}'
    [ "$(children)" = 2 ]
    hush
    talk modern "$MCPD" --no-isolate sqlite:shop.db
    rows && [ "$heard" = one ]
    [ "$(children)" = 0 ]
    hush
    echo '{"sources": [{"module": "sqlite", "source": "shop.db", "isolate": false}]}' >c.json
    talk modern "$MCPD" --config c.json
    rows && [ "$heard" = one ]
    [ "$(children)" = 0 ]
    hush
}

@test "a process that is killed is restarted; the log and /metrics report it" {
    talk modern "$MCPD" --http unix:socket --stdio sqlite:shop.db
    rows
    pid=$(ps -o pid=,args= --ppid "$server_pid" | awk '/--source-child/ {print $1}')
    kill -9 "$pid"
    rows && [ "$heard" = one ]
    for _ in {1..1200}; do
        ! grep -q 'sqlite:shop.db: the process was ended by signal 9' talk.log || break
        sleep 0.05
    done
    grep -q 'sqlite:shop.db: the process was ended by signal 9' talk.log
    metrics=$(curl -s --unix-socket socket http://localhost/metrics)
    for line in 'mcp_source_process_up{source="sqlite://shop/"} 1' \
        'mcp_source_process_starts_total{source="sqlite://shop/"} 2' \
        'mcp_source_process_ends_total{source="sqlite://shop/",cause="killed"} 1' \
        'mcp_source_refused{source="sqlite://shop/"} 0'; do
        grep -qxF "$line" <<<"$metrics" || { echo "$metrics"; return 1; }
    done
    hush
}

@test "a list starts the processes of the next sources together" {
    for i in {2..7}; do cp shop.db shop$i.db; done
    talk modern "$MCPD" --page-size 1 sqlite:shop.db sqlite:shop{2..7}.db
    result resources/list '{}' # the first source fills the page
    [[ "$heard" == *sqlite://shop/* ]]
    for _ in {1..400}; do
        [ "$(children)" -lt 5 ] || break
        sleep 0.05
    done
    [ "$(children)" = 5 ]
    hush
    talk modern "$MCPD" --max-source-processes 2 sqlite:shop.db sqlite:shop{2..7}.db
    result resources/list '{}'
    [ "$(jq '.resources | map(select(.uri | endswith("/t"))) | length' <<<"$heard")" = 7 ]
    hush
}

@test "--max-source-processes: a process without requests makes room for another, and its source is watched again" {
    cp shop.db other.db
    talk legacy "$MCPD" --max-source-processes 1 sqlite:shop.db sqlite:other.db
    for name in shop other shop other; do
        result resources/read "{\"uri\":\"sqlite://$name/t/row/1\"}"
        [[ "$heard" == *one* ]]
        for _ in {1..400}; do
            [ "$(children)" != 1 ] || break
            sleep 0.05
        done
        [ "$(children)" = 1 ]
    done
    hush
}

@test "--max-source-processes: while all processes have requests, the error names the limit" {
    cp shop.db other.db
    talk modern "$MCPD" --max-source-processes 1 sqlite:shop.db sqlite:other.db
    result resources/read '{"uri":"sqlite://other/t/row/1"}'
    kill -STOP "$(ps -o pid= --ppid "$server_pid")"
    request resources/read '{"uri":"sqlite://other/t/rows"}'
    failure resources/read '{"uri":"sqlite://shop/t/row/1"}'
    [[ "$heard" == *"all processes of sources are busy, and there can be no more than 1 (--max-source-processes)"* ]]
    kill -CONT "$(ps -o pid= --ppid "$server_pid")"
    IFS= read -r -t 20 heard <&"$from"
    [[ "$heard" == *one* ]]
    result resources/read '{"uri":"sqlite://shop/t/row/1"}'
    [[ "$heard" == *one* ]]
    hush
}

@test "--doctor reports the parts of the sandbox, and how many processes may run" {
    run "$MCPD" --doctor sqlite:shop.db
    [[ "$output" == *sandbox:* ]]
    [[ "$output" == *"at most 64 processes of sources run at one time"* ]]
    run "$MCPD" --doctor --no-isolate sqlite:shop.db
    [[ "$output" == *"sandbox: switched off by no-isolate"* ]]
}

@test "lists of tools and templates start no process; if a source cannot be opened, requests, the log, /metrics and --doctor say why" {
    sqlite3 bad.db "CREATE TABLE t(a)"
    printf x | dd of=bad.db bs=1 seek=100 conv=notrunc status=none
    talk modern "$MCPD" --http unix:socket --stdio sqlite:shop.db sqlite:bad.db
    for list in tools/list resources/templates/list; do
        result $list '{}'
        [[ "$heard" == *shop* && "$heard" == *bad* ]]
    done
    [ "$(children)" = 0 ]
    result resources/list '{}'
    [[ "$heard" == *sqlite://shop/* && "$heard" == *'"sqlite://bad/"'* && "$heard" != *sqlite://bad/t* ]]
    for _ in {1..3}; do
        failure resources/read '{"uri":"sqlite://bad/t/rows"}'
        [[ "$heard" == *"bad.db: database disk image is malformed"* ]]
    done
    [ "$(grep -c 'error: sqlite:bad.db: .*malformed' talk.log)" = 1 ]
    metrics=$(curl -s --unix-socket socket http://localhost/metrics)
    for line in 'mcp_source_failed{source="sqlite://bad/"} 1' 'mcp_source_failed{source="sqlite://shop/"} 0'; do
        grep -qxF "$line" <<<"$metrics" || { echo "$metrics"; return 1; }
    done
    run -1 "$MCPD" --doctor sqlite:shop.db sqlite:bad.db
    grep -q '^WRONG .*source: sqlite:bad.db: .*malformed' <<<"$output"
    cp shop.db bad.db
    result resources/read '{"uri":"sqlite://bad/t/rows"}'
    hush
}
