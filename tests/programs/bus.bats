# Two instances of mcpd on one Redis: what changes at one reaches the clients of the other, in both eras,
# also after Redis was killed, paused or full; removed tokens; the options, --doctor, /metrics and the log.
# The instances have databases of their own with the same name, so that nothing but the bus can tell them.

bats_require_minimum_version 1.5.0
load support/eventually

setup() {
    : "${MCPD:=mcpd}"
    command -v redis-server >/dev/null || skip 'redis-server is not installed (scripts/install-deps --tests)'
    cd "$BATS_TEST_TMPDIR"
    redis= pids=()
    mkdir a b
    for i in a b; do
        sqlite3 $i/shop.db "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one')"
    done
    printf 'a:token-a\nb:token-b\n' >tokens
    (umask 077 && printf '%s\n' 'a key of more than forty-three characters, 1' >key && printf 'notes:secret\n' >password)
    chmod 600 tokens
    start_redis
}

teardown() {
    local pid
    for pid in "${pids[@]}" $redis; do
        kill -CONT "$pid" && kill -KILL "$pid" && wait "$pid" || true
    done 2>/dev/null
}

start_redis() {
    redis-server --port 0 --unixsocket "$PWD/redis" --dir "$PWD" --save '' >redis.log 3>&- &
    redis=$!
    eventually redis-cli -s redis acl setuser notes on '>secret' '~mcp:bus:*' '+@all'
}

serve() { # NAME OPTION...: starts an instance, whose address is then in the variable of that name
    local name=$1
    shift
    "$MCPD" --http 127.0.0.1:0 --bus "redis:$PWD/redis" --bus-name shop --bus-password-file password --seal-key-file key \
        --token-file tokens --log-level info "$@" "sqlite:$name/shop.db" 2>"$name.log" 3>&- &
    pids+=($!)
    eventually grep -q ' at http' "$name.log"
    eventually grep -q 'the bus is connected' "$name.log"
    printf -v "$name" %s "$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' "$name.log" | head -1)"
}

uri=sqlite://shop/item/row/1
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

modern() { # BASE TOKEN FILE: listens
    curl -sS -N -m 120 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H "Authorization: Bearer $2" -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: subscriptions/listen' \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"resourceSubscriptions\":[\"$uri\"]},$meta}}" \
        "$1/mcp" >"$3" 2>&1 3>&- &
    pids+=($!)
    eventually grep -q acknowledged "$3"
}

post() { # BASE SESSION MESSAGE
    curl -sS -m 20 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'Authorization: Bearer token-b' \
        ${2:+-H "Mcp-Session-Id: $2"} -D headers -d "$3" "$1/mcp"
}

legacy() { # BASE FILE
    post "$1" '' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    local session
    session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' headers)
    post "$1" "$session" '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    post "$1" "$session" "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"$uri\"}}"
    curl -sS -N -m 120 -H 'Accept: text/event-stream' -H 'Authorization: Bearer token-b' -H "Mcp-Session-Id: $session" "$1/mcp" >"$2" 2>&1 3>&- &
    pids+=($!)
}

told() { grep -c resources/updated "$1" || true; }
more() { [ "$(told "$1")" -gt "$2" ]; }
metric() { curl -s "$1/metrics" -H 'Authorization: Bearer token-a' | awk -v name="$2" '$1 == name { print $2 }'; }

change() { sqlite3 "$1/shop.db" "UPDATE item SET name = name || 'x'"; }

# both COMMAND...: runs it, and then both listeners at b get a further notification
both() {
    local new old
    new=$(told new) old=$(told old)
    "$@"
    eventually more new "$new"
    eventually more old "$old"
}

@test "a change at one instance reaches the clients of another, whatever happens to Redis" {
    serve a
    serve b
    modern "$b" token-b new
    modern "$a" token-a here # so that the database is watched there
    legacy "$b" old
    sleep 0.2 # what was subscribed to when the bus was connected
    both change a
    [ "$(metric "$a" mcp_bus_connected)" = 1 ]
    [ "$(metric "$a" mcp_bus_sent_total)" -ge 1 ]
    [ "$(metric "$b" mcp_bus_received_total)" -ge 1 ]
    [ "$(metric "$b" mcp_bus_ignored_total)" = 0 ]

    # many changes are one entry for each 50 ms
    sleep 0.3
    before=$(redis-cli -s redis xlen mcp:bus:shop) began=$(date +%s%3N)
    change_often() { local i; for ((i = 0; i < 30; i++)); do change a; done; }
    both change_often
    sleep 0.3
    [ $(($(redis-cli -s redis xlen mcp:bus:shop) - before)) -le $((($(date +%s%3N) - began) / 50 + 1)) ]

    # nobody reads what is in the stream
    [ -z "$(redis-cli -s redis xrange mcp:bus:shop - + | grep -E 'sqlite|item|shop')" ]

    # a client that was told lately is told again after Redis is back
    kill -KILL $redis
    wait $redis 2>/dev/null || true
    change a
    eventually grep -q 'the bus is down' b.log
    [ "$(metric "$b" mcp_bus_connected)" = 0 ]
    both start_redis
    both change a

    kill -STOP $redis
    change a
    eventually grep -q 'does not answer' a.log
    both kill -CONT $redis
    both change a

    redis-cli -s redis config set maxmemory 1
    change a
    eventually grep -q 'could not be sent: OOM' a.log
    [ "$(metric "$a" mcp_bus_failed_total)" -ge 1 ]
    both redis-cli -s redis config set maxmemory 0
}

@test "a token that is removed at one instance is refused by the other" {
    cp tokens tokens.b
    serve a
    serve b --token-file tokens.b
    modern "$b" token-b new
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer token-b' "$b/mcp")" != 401 ]
    sed -i /token-b/d tokens
    kill -HUP "${pids[0]}"
    eventually grep -q 'configuration was reloaded\|tokens were reloaded' a.log
    refused() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer token-b' "$b/mcp")" = 401 ]; }
    eventually refused
    eventually eval '! kill -0 '"${pids[2]}" # the stream has ended
    kill -0 "${pids[1]}"
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer token-a' "$b/mcp")" != 401 ]
}

@test "keys are rotated by SIGHUP, and instances with other keys or names are ignored" {
    serve a
    (umask 077 && printf '%s\n' 'another key of more than forty-three chars, 2' >other)
    serve b --seal-key-file other
    modern "$b" token-b new
    modern "$a" token-a here
    change a
    eventually grep -q 'was sealed with another key' b.log
    [ "$(told new)" = 0 ]
    { cat other key; } >both
    chmod 600 both
    mv both other
    kill -HUP "${pids[1]}"
    sleep 0.2
    eventually eval 'change a; more new 0'
}

# ---- limits of both instances together -----------------------------------------------------------

limited() { # NAME: starts an instance whose callers may read six times, and then once in a minute
    local rates='[{"per_minute":1,"burst":6}]'
    echo "{\"sources\":[{\"module\":\"mcp\",\"source\":\"'$MCPD' --no-resource-tools '$PWD/a'\",\"name\":\"up\",\"options\":{\"rates\":$rates}}]}" >limits.json
    "$MCPD" --http 127.0.0.1:0 --bus "redis:$PWD/redis" --bus-name shop --bus-password-file password --seal-key-file key \
        --token-file tokens --share-limits --config limits.json --log-level info 2>"$1.log" 3>&- &
    pids+=($!)
    eventually grep -q ' at http' "$1.log"
    eventually grep -q 'the bus is connected' "$1.log"
    printf -v "$1" %s "$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' "$1.log" | head -1)"
}

reads() { # BASE TOKEN: whether a read is accepted
    local target="mcp+up:file://$PWD/a/text.txt" body
    body=$(curl -sS -m 60 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H "Authorization: Bearer $2" -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/read' -H "Mcp-Name: $target" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"$target\",$meta}}" "$1/mcp")
    if [[ $body == *some\ text* ]]; then return 0; fi
    [[ $body == *retryAfterMs* ]] || echo "neither accepted nor refused: $body" >>strange
    return 1
}

take() { # BASE TOKEN COUNT: so many reads are accepted
    local i
    for ((i = 0; i < $3; i++)); do reads "$1" "$2" || return 1; done
}

# Waits until both know all entries, each of which one has sent and the other received, and none is to come: counts wait for 0.1 s.
heard() {
    local before='' now
    for _ in {1..300}; do
        sleep 0.15
        now=$(for i in "$a" "$b"; do echo $(($(metric "$i" mcp_bus_sent_total) + $(metric "$i" mcp_bus_received_total))); done | uniq)
        [ "$now" != "$before" ] || [[ $now == *$'\n'* ]] || return 0
        before=$now
    done
    return 1
}

@test "with --share-limits, calls at two instances count together, and while Redis is away at each" {
    echo some text >a/text.txt
    printf 'c:token-c\nd:token-d\n' >>tokens
    limited a
    limited b
    take "$a" token-a 3
    heard
    take "$b" token-a 3
    heard
    run ! reads "$b" token-a
    run ! reads "$a" token-a
    reads "$a" token-c # another caller
    heard

    kill -KILL $redis
    wait $redis 2>/dev/null || true
    eventually grep -q 'the bus is down' a.log
    eventually grep -q 'the bus is down' b.log
    run ! reads "$a" token-a # what was counted before still counts
    take "$a" token-b 6
    run ! reads "$a" token-b
    take "$b" token-b 6
    run ! reads "$b" token-b

    start_redis
    eventually eval '[ "$(grep -c "the bus is connected" a.log)" = 2 ]'
    eventually eval '[ "$(grep -c "the bus is connected" b.log)" = 2 ]'
    heard
    take "$a" token-d 3
    heard
    take "$b" token-d 3
    heard
    run ! reads "$b" token-d
    run ! reads "$a" token-d
    [ ! -e strange ]
}

@test "wrong options are refused, and --doctor connects" {
    fails() { # TEXT OPTION...
        local text=$1
        shift
        run ! --separate-stderr "$MCPD" "$@" sqlite:a/shop.db </dev/null
        [[ "$stderr" == *"$text"* ]] || { echo "$stderr"; return 1; }
    }
    fails '--bus needs --seal-key-file' --bus redis:x
    fails '--bus needs --bus-name' --bus redis:x --seal-key-file key
    fails 'there is no bus no' --bus no:x --bus-name n --seal-key-file key
    fails 'not NAME:ADDRESS' --bus x --bus-name n --seal-key-file key
    fails 'the option "y" is not db=N' --bus 'redis:x?y' --bus-name n --seal-key-file key
    fails 'No such file' --seal-key-file none
    cp key open && chmod 646 open
    fails 'other users can change' --seal-key-file open
    fails 'other users can change' --bus redis:x --bus-name n --seal-key-file key --bus-password-file open
    (umask 077 && echo short >short && cat key key key >three && : >empty)
    fails 'at least 43 characters' --seal-key-file short
    fails 'more than 2 lines' --seal-key-file three
    fails 'is empty' --seal-key-file empty

    look() { run "$MCPD" --doctor --bus "$@" --bus-name n --seal-key-file key sqlite:a/shop.db; }
    look "redis:$PWD/redis"
    [[ "$output" == *"ok      bus: redis:"*'connected, as "n"'* ]]
    [[ "$output" == *"ok      seal key: key"* ]]
    look "redis:$PWD/none"
    [[ "$output" == *"WRONG   bus: redis:"*"No such file"* ]]
    printf 'notes:wrong\n' >password
    look "redis:$PWD/redis" --bus-password-file password
    [[ "$output" == *"WRONG   bus: redis:"*"WRONGPASS"* ]]
    [[ "$output" != *"notes:wrong"* ]]
}
