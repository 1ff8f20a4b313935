# Tasks at several instances of mcpd, and at its workers: read, cancelled and answered wherever the request arrives;
# what is left of a task whose instance or worker was killed. The tasks are those of a server behind mcpd.

bats_require_minimum_version 1.5.0
load support/serving

setup() {
    serving_setup
    redis= with=()
    printf 'a:token-a\nb:token-b\n' > tokens
    (umask 077 && printf '%s\n' 'a key of more than forty-three characters, 1' > key)
    chmod 600 tokens
    jobs="mcp:'$MCP_BUILD_DIR/tests/conformance-server' --stdio?name=jobs"
    meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}'
}

teardown() {
    [ -z "$redis" ] || kill -KILL "$redis" || :
    serving_teardown
}

start_redis() {
    command -v redis-server > /dev/null || skip 'redis-server is not installed (scripts/install-deps --tests)'
    redis-server --port 0 --unixsocket "$PWD/redis" --dir "$PWD" --save '' > redis.log 3>&- &
    redis=$!
    wait_for eval 'redis-cli -s redis ping > /dev/null'
    with=(--bus "redis:$PWD/redis")
}

instance() { # NAME: starts an instance at the socket of that name; its process is then in $NAME_pid
    "$MCPD" --http "unix:$PWD/$1" --instance-address "unix:$PWD/$1.peer" --name jobs --seal-key-file key --token-file tokens \
        "${with[@]}" --log-level info "$jobs" 2> "$1.log" 3>&- &
    ours+=($!)
    printf -v "$1_pid" %s $!
    wait_for grep -q ' at unix:' "$1.log"
    [ ${#with[@]} = 0 ] || wait_for grep -q 'the bus is connected' "$1.log"
}

# at SOCKET TOKEN METHOD PARAMS: sends a modern request; its answer is in `body`. PARAMS end with a comma
at() {
    local name
    name=$(sed -n 's/.*"\(taskId\|name\)":"\([^"]*\)".*/\2/p' <<< "$4" | head -1)
    run -0 curl -sS -m 60 --unix-socket "$1" -H "Authorization: Bearer $2" -H 'Accept: application/json, text/event-stream' \
        -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $3" ${name:+-H "Mcp-Name: $name"} \
        -o body -w '%{http_code}' -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$3\",\"params\":{$4$meta}}" http://localhost/mcp
    code=$output
}

says() { # TEXT: the last answer contains it
    grep -q -- "$1" body || { echo "$code, not $1: $(cat body)"; return 1; }
}

make() { # SOCKET NAME ARGUMENTS: calls a tool, whose task is then $task
    at "$1" token-a tools/call "\"name\":\"jobs_$2\",\"arguments\":{$3},"
    says '"resultType":"task"'
    task=$(sed 's/.*"taskId":"\([^"]*\)".*/\1/' body)
    [[ $task =~ ^[A-Za-z0-9_-]{100,512}$ ]]
}

get() { at "$1" "${3:-token-a}" tasks/get "\"taskId\":\"${2:-$task}\","; } # SOCKET [TASK] [TOKEN]
has() { get "$1" && grep -q "\"status\":\"$2\"" body; }                    # SOCKET STATUS

# A task that is made at the first is used at the second.
goes_on() { # SOCKET SOCKET
    make "$1" slow_compute '"seconds":0,"label":"x"'
    wait_for has "$2" completed
    says 'Computed x'
    get "$2" "$task" token-b
    says '"code":-32602'
    make "$1" slow_compute '"seconds":600,"label":"x"'
    get "$2"
    says '"status":"working"'
    at "$2" token-b tasks/cancel "\"taskId\":\"$task\","
    says '"code":-32602'
    at "$2" token-a tasks/cancel "\"taskId\":\"$task\","
    says '"result"'
    wait_for has "$1" cancelled
    get "$2"
    says '"status":"cancelled"'
    make "$1" confirm_delete '"filename":"f"'
    wait_for has "$2" input_required
    question=$(sed 's/.*"inputRequests":{"\([^"]*\)".*/\1/' body)
    at "$2" token-a tasks/update "\"taskId\":\"$task\",\"inputResponses\":{\"$question\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}},"
    says '"result"'
    wait_for has "$2" completed
    says 'Deleted f'
}

# legacy SOCKET SESSION MESSAGE: sends a message of 2025-11-25
legacy() {
    run -0 curl -sS -m 60 --unix-socket "$1" -H 'Authorization: Bearer token-a' -H 'Accept: application/json, text/event-stream' \
        -H 'Content-Type: application/json' ${2:+-H "Mcp-Session-Id: $2"} -D headers -o body -w '%{http_code}' -d "$3" http://localhost/mcp
    code=$output
}

session_at() { # SOCKET: sets $session
    legacy "$1" '' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' headers)
    legacy "$1" "$session" '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

ask() { legacy "$1" "$session" "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"$2\",\"params\":{\"taskId\":\"$task\"}}"; } # SOCKET METHOD

# The same with two legacy sessions of one caller: the task of one is used in the other.
goes_on_in_session() { # SOCKET SOCKET
    session_at "$1"
    legacy "$1" "$session" '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"jobs_slow_compute","arguments":{"seconds":1,"label":"y"},"task":{}}}'
    task=$(sed 's/.*"taskId":"\([^"]*\)".*/\1/' body)
    legacy "$1" "$session" '{"jsonrpc":"2.0","id":2,"method":"tasks/list"}' # it would have only those of one instance
    says '"code":-32601'
    session_at "$2"
    ask "$2" tasks/get
    says '"status"'
    ask "$2" tasks/result
    says 'Computed y'
    ask "$2" tasks/get
    says '"status":"completed"'
    ask "$2" tasks/cancel
    says '"code":-32602'
}

killed() { # PROCESS
    kill -KILL "$1"
    wait "$1" || :
}

@test "a task is used at any instance, and ends with its own: without a bus" {
    instance a
    instance b
    goes_on a b
    goes_on_in_session a b
    make a slow_compute '"seconds":600,"label":"x"'
    killed $a_pid
    get b
    says '"status":"failed"'
    says 'The instance that ran the task has ended'
    at b token-a tasks/cancel "\"taskId\":\"$task\","
    says '"result"'
    get b "$task" token-b
    says '"code":-32602'
    ask b tasks/result # of the other era
    says '"code":-32'
    instance a # another one at the same address
    get b
    says '"status":"failed"'
    get a
    says '"status":"failed"'
}

@test "a task is used at any instance, and its result outlives it: with a bus" {
    start_redis
    instance a
    instance b
    goes_on a b
    goes_on_in_session a b
    make a slow_compute '"seconds":0,"label":"kept"'
    done_task=$task
    wait_for has b completed
    make a slow_compute '"seconds":600,"label":"x"'
    wait_for eval '[ "$(redis-cli -s redis --scan --pattern "mcp:bus:jobs:t*" | wc -l)" -ge 5 ]'
    ! redis-cli -s redis --scan --pattern '*' | grep -q "${task:0:40}" || false
    for key in $(redis-cli -s redis --scan --pattern 'mcp:bus:jobs:*'); do
        [ "$(redis-cli -s redis pttl "$key")" -gt 0 ]
        ! redis-cli -s redis get "$key" | grep -q -i 'computed\|token\|lives\|content'
    done
    killed $a_pid
    get b "$done_task"
    says 'Computed kept'
    get b "$done_task" token-b
    says '"code":-32602'
    get b
    says '"status":"working"' # the instance may be out of reach only
    at b token-a tasks/cancel "\"taskId\":\"$task\","
    says 'cannot be reached'
    wait_for has b failed
    says 'The instance that ran the task has ended'
    get b "$task" token-b
    says '"code":-32602'
}

@test "states that could not be kept are kept when Redis is back; without it, only the result is missing" {
    start_redis
    instance a
    instance b
    kill -KILL $redis
    wait_for grep -q 'the bus is down' a.log
    make a slow_compute '"seconds":0,"label":"late"'
    wait_for has b completed
    start_redis
    wait_for eval '[ "$(redis-cli -s redis --scan --pattern "mcp:bus:jobs:t*" | wc -l)" = 1 ]'
    wait_for eval '[ "$(grep -c "the bus is connected" b.log)" = 2 ]'
    killed $a_pid
    get b
    says 'Computed late'
    kill -KILL $redis
    redis=
    unreachable() { get b && grep -q 'cannot be reached' body; }
    wait_for unreachable
}

@test "what a stranger writes to Redis is not taken for a state" {
    start_redis
    instance a
    instance b
    make a slow_compute '"seconds":0,"label":"one"'
    first=$task
    wait_for has b completed
    make a slow_compute '"seconds":600,"label":"two"'
    wait_for eval '[ "$(redis-cli -s redis --scan --pattern "mcp:bus:jobs:t*" | wc -l)" = 2 ]'
    killed $a_pid
    mapfile -t keys < <(redis-cli -s redis --scan --pattern 'mcp:bus:jobs:t*')
    values=("$(redis-cli -s redis get "${keys[0]}")" "$(redis-cli -s redis get "${keys[1]}")")
    redis-cli -s redis set "${keys[0]}" "${values[1]}" # exchanged
    redis-cli -s redis set "${keys[1]}" "${values[0]}"
    wait_for has b failed
    get b "$first"
    says '"status":"failed"'
    for value in '' x "${values[0]}x" "$(head -c 2000000 /dev/zero | tr '\0' A)"; do
        printf %s "$value" | redis-cli -s redis -x set "${keys[0]}"
        get b "$first"
        says '"status":"failed"\|cannot be reached'
    done
    redis-cli -s redis del "${keys[@]}"
    redis-cli -s redis lpush "${keys[0]}" x
    redis-cli -s redis lpush "${keys[1]}" x
    get b "$first"
    says 'cannot be reached'
}

serve_workers() { # OPTION...: two workers, at $folder/1 and $folder/2
    printf '{"sources": ["%s"]}' "$(sed 's/"/\\"/g' <<< "$jobs")" > mcpd.json
    serve --http 127.0.0.1:0 --config mcpd.json --token-file tokens --workers 2 "$@"
    wait_for eval "curl -sS -H 'Authorization: Bearer token-a' http://127.0.0.1:$port/metrics | grep -q '^mcp_workers 2'"
    children "$server" | tr ' ' '\n' >> pids
    folder=$(echo "$PWD"/mcpd-*)
}

kill_first_worker() { # and waits for its successor
    local pid
    for pid in $(children "$server"); do
        if tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q -- ' --@worker 1:'; then kill -KILL "$pid"; fi
    done
    wait_for has "$folder/2" failed
    says 'The instance that ran the task has ended'
    wait_for [ -S "$folder/1" ]
    wait_for has "$folder/1" failed
    children "$server" | tr ' ' '\n' >> pids
}

@test "a task is used at any worker, and a worker that was killed is said" {
    serve_workers
    goes_on "$folder/1" "$folder/2"
    goes_on_in_session "$folder/1" "$folder/2"
    make "$folder/1" slow_compute '"seconds":600,"label":"x"'
    kill_first_worker
    finish
}

@test "workers with a bus: the result of a task outlives its worker" {
    start_redis
    serve_workers --seal-key-file key --bus "redis:$PWD/redis" --bus-name jobs --log-level info
    wait_for logged 'the bus is connected' 2
    make "$folder/1" slow_compute '"seconds":0,"label":"kept"'
    kept=$task
    wait_for has "$folder/2" completed
    make "$folder/1" slow_compute '"seconds":600,"label":"x"'
    wait_for eval '[ "$(redis-cli -s redis --scan --pattern "mcp:bus:jobs:t*" | wc -l)" = 2 ]'
    kill_first_worker
    get "$folder/2" "$kept"
    says 'Computed kept'
    finish
}
