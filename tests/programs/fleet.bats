# Legacy sessions at two instances of mcpd with one key: requests reach a session wherever it is, sessions without
# subscriptions outlive their instance (with a bus), all others end with one 404.

bats_require_minimum_version 1.5.0
load support/eventually

setup() {
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    redis= pids=() bus=()
    mkdir notes
    echo one >notes/one.txt
    printf 'a:token-a\nb:token-b\n' >tokens
    (umask 077 && printf '%s\n' 'a key of more than forty-three characters, 1' >key)
    chmod 600 tokens
}

teardown() {
    local pid
    for pid in "${pids[@]}" $redis; do
        kill -KILL "$pid" && wait "$pid" || true
    done 2>/dev/null
}

with_bus() {
    command -v redis-server >/dev/null || skip 'redis-server is not installed (scripts/install-deps --tests)'
    redis-server --port 0 --unixsocket "$PWD/redis" --dir "$PWD" --save '' >redis.log 3>&- &
    redis=$!
    eventually redis-cli -s redis ping
    bus=(--bus "redis:$PWD/redis")
}

serve() { # NAME: starts an instance, whose address is then in the variable of that name
    "$MCPD" --http 127.0.0.1:0 --instance-address "unix:$PWD/$1.sock" --name notes --seal-key-file key --token-file tokens \
        "${bus[@]}" --log-level info notes 2>"$1.log" 3>&- &
    pids+=($!)
    printf -v "$1_pid" %s $!
    eventually grep -q ' at http' "$1.log"
    [ ${#bus[@]} = 0 ] || eventually grep -q 'the bus is connected' "$1.log"
    printf -v "$1" %s "$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' "$1.log" | head -1)"
}

killed() { # PID: kills it, and waits until its sockets are closed too
    kill -KILL "$1"
    wait "$1" || true
}

status() { # STATUS BASE TOKEN CURL-OPTION...: sends a request of $session and compares the status
    local wanted=$1 base=$2 token=$3
    shift 3
    run -0 curl -sS -m 20 -H "Authorization: Bearer $token" -H 'Accept: application/json, text/event-stream' \
        ${session:+-H "Mcp-Session-Id: $session"} -D headers -o body -w '%{http_code}' "$@" "$base/mcp"
    [ "$output" = "$wanted" ] || { echo "$output, and not $wanted: $(cat body)"; return 1; }
}

post() { # STATUS BASE TOKEN MESSAGE
    status "$1" "$2" "$3" -H 'Content-Type: application/json' -d "$4"
}

begin() { # BASE
    session=
    post 200 "$1" token-a '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' headers)
    [[ $session =~ ^[A-Za-z0-9_-]{100,1024}$ ]]
    post 202 "$1" token-a '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

stream() { # BASE FILE
    curl -sS -N -m 120 -H 'Accept: text/event-stream' -H 'Authorization: Bearer token-a' -H "Mcp-Session-Id: $session" \
        "$1/mcp" >"$2" 2>&1 3>&- &
    pids+=($!)
}

metric() { # BASE NAME: prints the value
    curl -sS -m 20 -H 'Authorization: Bearer token-a' "$1/metrics" | sed -n "s/^$2 //p"
}

received() { # BASE COUNT: more entries than that were received
    [ "$(metric "$1" mcp_bus_received_total)" -gt "$2" ]
}

has_stream() { # BASE
    [ "$(metric "$1" mcp_streams)" = 1 ]
}

ping='{"jsonrpc":"2.0","id":2,"method":"ping"}'

@test 'a session is reached through any instance, and ends with its own' {
    serve a
    serve b
    begin "$a"
    post 200 "$b" token-a '{"jsonrpc":"2.0","id":3,"method":"resources/list"}'
    grep -q one.txt body
    post 404 "$b" token-b "$ping"
    post 404 "$a" token-b "$ping"
    stream "$b" events
    eventually has_stream "$a"
    post 200 "$b" token-a '{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file://'"$PWD"'/notes/one.txt"}}'
    echo two >notes/one.txt
    eventually grep -q notifications/resources/updated events
    status 204 "$b" token-a -X DELETE
    post 404 "$a" token-a "$ping"
    post 404 "$b" token-a "$ping"
    [ "$(metric "$b" mcp_forwarded_requests_total)" -ge 4 ]
    begin "$a"
    killed $a_pid
    post 404 "$b" token-a "$ping" # without a bus, nothing is known of it
    begin "$b"
    post 200 "$b" token-a "$ping"
}

@test 'with a bus, a session without subscriptions outlives its instance' {
    with_bus
    serve a
    serve b
    before=$(metric "$b" mcp_bus_received_total)
    begin "$a"
    eventually received "$b" "$before"
    killed $a_pid
    post 404 "$b" token-b "$ping"
    post 200 "$b" token-a '{"jsonrpc":"2.0","id":3,"method":"resources/list"}'
    [ "$(metric "$b" mcp_sessions_taken_total)" = 1 ]
    stream "$b" events
    eventually grep -q notifications/resources/list_changed events
    serve a # another process at the same address
    post 404 "$a" token-b "$ping"
    status 204 "$b" token-a -X DELETE
    post 404 "$b" token-a "$ping"
    post 404 "$a" token-a "$ping"
}

@test 'with a bus, a session with subscriptions ends with its instance' {
    with_bus
    serve a
    serve b
    begin "$a"
    post 200 "$b" token-a '{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file://'"$PWD"'/notes/one.txt"}}'
    sleep 0.5 # the mark is sent after 50 ms
    killed $a_pid
    post 404 "$b" token-a "$ping"
    begin "$b"
}

@test 'an instance that is told to end tells the others what it did last' {
    with_bus
    serve a
    serve b
    before=$(metric "$b" mcp_bus_received_total)
    kill -STOP $redis
    begin "$a"
    post 200 "$a" token-a '{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file://'"$PWD"'/notes/one.txt"}}'
    kill -TERM $a_pid
    sleep 0.2 # of the two seconds for which it waits
    kill -CONT $redis
    wait $a_pid
    eventually received "$b" $((before + 1))
    post 404 "$b" token-a "$ping" # it had subscriptions
}

# initialize_on DESCRIPTOR: initializes on a connection, which is then closed; `late` has the answer
initialize_on() {
    local text='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    printf 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer token-a\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s' ${#text} "$text" >&"$1" || true
    timeout 20 cat <&"$1" >late || true
}

@test 'a session that begins at an instance while it is replaced goes on at any other' {
    with_bus
    serve b
    local attempt
    for attempt in 1 2 3 4 5; do # on a busy machine, the connection may be closed before the request arrives
        serve a
        before=$(metric "$b" mcp_bus_received_total)
        exec {idle}<>"/dev/tcp/127.0.0.1/${a##*:}"
        printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' >&$idle
        timeout 20 head -c 15 <&$idle >late
        kill -USR2 $a_pid
        eventually grep -q 'takes over' a.log
        pids+=("$(sed -n 's/.*process \([0-9]*\) takes over.*/\1/p' a.log)")
        initialize_on $idle
        exec {idle}>&-
        wait $a_pid
        ! [ -s late ] || break
        kill -KILL "${pids[-1]}"
        rm a.log
    done
    cat late
    grep -q '^HTTP/1.1 200' late
    grep -qi '^connection: close' late
    session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' late)
    eventually received "$b" "$before"
    post 404 "$b" token-b "$ping"
    post 200 "$b" token-a "$ping"
    [ "$(metric "$b" mcp_sessions_taken_total)" = 1 ]
    post 200 "$a" token-a "$ping"
}

# certificate NAME ADDRESS: makes NAME.pem and NAME.key
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.pem" -days 2 \
        -subj "/CN=$1" -addext "subjectAltName=IP:$2" 2>/dev/null
    chmod 600 "$1.key"
}

serve_https() { # NAME NUMBER AUTHORITIES: as serve, with https between the instances
    "$MCPD" --http "$net.$2:$https_port" --instance-address "https://$net.$2:$https_port" --instance-ca-file "$3" --name notes \
        --allow-host "$net.$2" --tls-cert "$1.pem" --tls-key "$1.key" --seal-key-file key --token-file tokens --log-level info notes 2>"$1.log" 3>&- &
    pids+=($!)
    printf -v "$1_pid" %s $!
    eventually grep -q ' at http' "$1.log"
    printf -v "$1" %s "https://$net.$2:$https_port"
}

@test 'instances reach each other with https, and only if their certificates are right' {
    net=127.$((129 + ($$ >> 14 & 63))).$(($$ >> 7 & 127)) https_port=$((8500 + ($$ & 127))) # addresses that no other test has
    export CURL_CA_BUNDLE=$PWD/all.pem # of the client
    certificate a "$net.1"
    certificate b "$net.2"
    certificate c "$net.3"
    certificate d "$net.5" # another address than it will have
    cat a.pem b.pem d.pem >ca.pem
    cat a.pem b.pem c.pem >all.pem
    serve_https a 1 ca.pem
    serve_https b 2 ca.pem
    serve_https c 3 c.pem
    begin "$a"
    mine=$session
    post 200 "$b" token-a "$ping" # forwarded
    stream "$b" events
    post 200 "$b" token-a '{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file://'"$PWD"'/notes/one.txt"}}'
    echo more >>notes/one.txt
    eventually grep -q resources/updated events
    post 401 "$b" nobody "$ping"
    # c does not know the authority of the certificate of a, so it sends nothing there.
    post 404 "$c" token-a "$ping"
    post 200 "$b" token-a "$ping"
    # d has a certificate for another address, so b does not forward to it.
    serve_https d 4 ca.pem
    run -0 curl -sSk -m 20 -H 'Authorization: Bearer token-a' -H 'Content-Type: application/json' -D headers -o body \
        -H 'Accept: application/json, text/event-stream' "$d/mcp" \
        -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    session=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r*$/\1/Ip' headers)
    post 404 "$b" token-a "$ping"
    session=$mine
    status 204 "$b" token-a -X DELETE
    post 404 "$a" token-a "$ping"
}

@test 'what the options need' {
    run -2 "$MCPD" --http 127.0.0.1:0 --instance-address unix:x notes
    [[ $output == *'--instance-address needs --seal-key-file'* ]]
    run -2 "$MCPD" --instance-address unix:x --seal-key-file key notes
    [[ $output == *'--instance-address needs --http'* ]]
    run -2 "$MCPD" --http 127.0.0.1:0 --instance-address http://192.0.2.1:1 --seal-key-file key notes
    [[ $output == *'need https://'* ]]
    run -2 "$MCPD" --http 127.0.0.1:0 --instance-address nonsense --seal-key-file key notes
    [[ $output == *'unix:PATH'* ]]
    run -2 "$MCPD" --http 127.0.0.1:0 --instance-address https://127.0.0.1:1 --seal-key-file key notes
    [[ $output == *'needs --tls-cert'* ]]
    run -2 "$MCPD" --http 127.0.0.1:0 --instance-ca-file key notes
    [[ $output == *'needs --instance-address'* ]]
}
