# mcpd over HTTP, as used by a person, a proxy and a service manager: the examples of docs/http.md,
# tokens, TLS, Unix sockets, the log, the shutdown.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    mkdir project
    printf 'hello\n' > project/hello.txt
    server=
}

teardown() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
}

# serve OPTION...: starts mcpd with "project", or with $served if that is set; sets $base to its address and $log to the file of its output
serve() {
    log=$BATS_TEST_TMPDIR/log
    : > "$log" # remove the lines of the previous server
    "$MCPD" "$@" ${served-project} 2> "$log" 3>&- &
    server=$!
    local i
    for ((i = 0; i < 3000; i++)); do
        grep -q 'serving' "$log" && break
        kill -0 "$server" || { cat "$log"; return 1; }
        sleep 0.02
    done
    base=$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' "$log" | head -1)
}

finish() { # sends SIGTERM and returns the exit status of the server
    kill -TERM "$server"
    local status=0
    wait "$server" || status=$?
    server=
    return $status
}

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

# ask METHOD PARAMS [CURL-OPTION...]: PARAMS are members with a comma at the end
ask() {
    local method=$1 params=$2
    shift 2
    curl -sS -m 10 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $method" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":{$params$meta}}" "$@"
}

@test "the examples of docs/http.md print what the page says" {
    serve --http 127.0.0.1:0
    # Write one file for each example, and one with the lines that its output must contain.
    awk '/^```sh$/ { n++; to = "run." n; next } /^```expect$/ { to = "want." n; next }
         /^```/ { to = ""; next } to { print > to }' "$BATS_TEST_DIRNAME/../../docs/http.md"
    [ -f run.6 ]
    for ((i = 1; i <= 100; i++)); do
        [ -f run.$i ] || break
        sed -i "s|http://127.0.0.1:8642|$base|" run.$i
        bash -e run.$i > got.$i
        while IFS= read -r want; do
            grep -qF -- "$want" got.$i || { cat run.$i got.$i; echo "missing: $want"; return 1; }
        done < want.$i
    done
    finish
}

@test "the real port is printed, and several addresses are served" {
    serve --http 127.0.0.1:0 --http 127.0.0.1:0
    [ "$(grep -c '^mcpd: serving project at http://127.0.0.1:[1-9][0-9]*/mcp$' "$log")" = 2 ]
    sed -n 's|.* at \(http.*\)/mcp|\1|p' "$log" | while read -r each; do
        [ "$(curl -sS "$each/healthz")" = ok ]
    done
    finish
}

@test "an address that is in use, invalid or not local is rejected" {
    serve --http 127.0.0.1:0
    run -1 --separate-stderr "$MCPD" --http "${base#http://}" project
    [[ "$stderr" == *"in use"* ]]
    for bad in localhost 127.0.0.1 127.0.0.1:99999 example.com:80 ::1:80 unix: '[::1]'; do
        run -1 --separate-stderr "$MCPD" --http "$bad" project
    done
    finish
}

@test "a warning is printed if other machines can connect without a token" {
    serve --http 0.0.0.0:0
    grep -q 'warning: .*without authentication' "$log"
    finish
    echo 'sesame-open-sesame' > tokens
    chmod 600 tokens
    serve --http 0.0.0.0:0 --token-file tokens
    run ! grep -q warning "$log"
    finish
}

@test "tokens" {
    printf '# ours\nada:sesame-open\n\nlonely-token\n' > tokens
    chmod 644 tokens
    serve --http 127.0.0.1:0 --token-file tokens --log-format text
    grep -q 'warning: other users can read tokens' "$log"
    code() { ask resources/list '' -o /dev/null -w '%{http_code}' "$base/mcp" "$@"; }
    [ "$(code)" = 401 ]
    [ "$(code -H 'Authorization: Bearer sesame-ope')" = 401 ]
    [ "$(code -H 'Authorization: Bearer sesame-open-')" = 401 ]
    [ "$(code -H 'Authorization: Basic sesame-open')" = 401 ]
    [ "$(code -H 'Authorization: Bearer sesame-open')" = 200 ]
    [ "$(code -H 'Authorization: bearer lonely-token')" = 200 ]
    ask resources/list '' -D headers -o /dev/null "$base/mcp"
    grep -qi '^WWW-Authenticate: Bearer' headers
    finish
    grep -q ' ada POST /mcp resources/list 200 ' "$log"
    grep -q " token:$(printf lonely-token | sha256sum | cut -c1-12) POST /mcp resources/list 200 " "$log"
    grep -q ' - POST /mcp .* 401 ' "$log"
    run ! grep -q sesame "$log"
}

@test "a token file that cannot be used is rejected" {
    for bad in '' '# only a comment' 'a b' ':x' "$(head -c 600 /dev/zero | tr '\0' x)"; do
        echo "$bad" > tokens
        run -1 --separate-stderr "$MCPD" --http 127.0.0.1:0 --token-file tokens project
        [[ "$stderr" == *tokens* ]]
    done
    run -1 "$MCPD" --http 127.0.0.1:0 --token-file nowhere project
    run -2 "$MCPD" --token-file tokens project
}

@test "the log as JSON" {
    serve --http 127.0.0.1:0 --log-format json
    ask resources/read '"uri":"file:///nowhere",' -H 'Mcp-Name: file:///nowhere' "$base/mcp"
    curl -sS "$base/no%01where" -o /dev/null
    finish
    [ "$(jq -r 'select(.method == "resources/read") | "\(.status) \(.code) \(.path) \(.http_method)"' "$log")" \
        = "200 -32602 /mcp POST" ]
    [ "$(jq -r 'select(.status == 404) | .path' "$log")" = "/no%01where" ]
    jq -es 'all(.[]; .time and .level)' "$log"
}

@test "the log names the target of each request, and omits health probes" {
    serve --http 127.0.0.1:0 --log-format json
    ask resources/read '"uri":"file:///nowhere",' -H 'Mcp-Name: file:///nowhere' "$base/mcp"
    curl -sS "$base/healthz" "$base/readyz"
    finish
    [ "$(jq -r 'select(.method == "resources/read") | "\(.name) \(.client)"' "$log")" = "file:///nowhere 127.0.0.1" ]
    [ -z "$(jq -r 'select(.path == "/healthz" or .path == "/readyz")' "$log")" ]
    serve --http 127.0.0.1:0 --log-format text --log-level debug
    curl -sS "$base/healthz"
    local name
    name="a 200 $(printf 'x%.0s' {1..400})"
    curl -sS -H 'Content-Type: application/json' "$base/mcp" -o /dev/null \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$name\"}}"
    finish
    grep -q ' /healthz - 200 ' "$log"
    [ "$(grep -cvE "^20[0-9-]+T[0-9:.]+Z " "$log")" = 0 ]
    [ "$(awk '$6 == "tools/call" { print NF, $NF }' "$log")" = "14 a?200?$(printf 'x%.0s' {1..250})" ]
}

@test "a Unix socket is private, replaced if it is stale, and removed at the end" {
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("stale")' 2>/dev/null || : > /dev/null
    mkdir -p s
    [ ! -S stale ] || mv stale s/mcp.sock
    serve --http unix:s/mcp.sock
    [ "$(stat -c %a s/mcp.sock)" = 600 ]
    [[ "$(ask resources/list '' --unix-socket s/mcp.sock http://localhost/mcp)" == *hello.txt* ]]
    run -1 --separate-stderr "$MCPD" --http unix:s/mcp.sock project
    [[ "$stderr" == *"another process listens"* ]]
    finish
    [ ! -e s/mcp.sock ]
    : > s/mcp.sock
    run -1 --separate-stderr "$MCPD" --http unix:s/mcp.sock project
    [[ "$stderr" == *"not a socket"* ]]
}

@test "/healthz answers a probe without a Host, and a rejection names the option" {
    serve --http 127.0.0.1:0
    [ "$(curl -sS -0 -H Host: "$base/healthz")" = ok ]
    [[ "$(curl -sS -0 -H Host: "$base/metrics")" == *"(--allow-host)"* ]]
    [[ "$(curl -sS -H Host:\ evil.example "$base/metrics")" == *"(--allow-host)"* ]]
    [[ "$(curl -sS -H Origin:\ https://evil.example "$base/metrics")" == *"(--allow-origin)"* ]]
    finish
}

@test "HTTP+SSE of 2024-11-05 if an option enables it" {
    serve --http 127.0.0.1:0
    [ "$(curl -sS -o /dev/null -w '%{http_code}' "$base/sse")" = 404 ]
    finish
    serve --http 127.0.0.1:0 --http-sse
    grep -Fq "serving HTTP+SSE of 2024-11-05 at $base/sse" "$log"
    # shellcheck disable=SC1011 # $'…' in a pattern
    [[ "$(curl -sSN -m 0.5 "$base/sse")" =~ ^event:\ endpoint$'\n'data:\ /sse\?sessionId=[0-9a-f]{32} ]]
    "${MCPCTL:-mcpctl}" ls -s "$base/sse" | grep -Fq hello.txt
    "${MCPCTL:-mcpctl}" ls -s "$base/mcp" | grep -Fq hello.txt
    finish
}

@test "a web page if an option enables it" {
    serve --http 127.0.0.1:0
    [ "$(curl -sS -o /dev/null -w '%{http_code}' "$base/")" = 404 ]
    finish
    serve --http 127.0.0.1:0 --page
    grep -Fq "its web page is $base/" "$log"
    local head tag
    head=$(curl -sSi "$base/")
    [[ "$head" == *"Content-Type: text/html"*"frame-ancestors 'none'"*'<script type="module" src="/app.js">'* ]]
    [ "$(curl -sS "$base/web/config")" = '{"mode":"mcpd","endpoint":"/mcp","version":"'"$("${MCPD:-mcpd}" --version | sed 's/^mcpd //;q')"'"}' ]
    tag=$(curl -sSI "$base/app.js" | sed -n 's/^ETag: \([^\r]*\).*/\1/p')
    [ "$(curl -sS -o /dev/null -w '%{http_code}' -H "If-None-Match: $tag" "$base/app.js")" = 304 ]
    [ "$(curl -sS -o /dev/null -w '%{http_code}' "$base/none.js")" = 404 ]
    [ "$(curl -sS -o /dev/null -w '%{http_code}' -H Host:\ evil.example "$base/")" = 403 ]
    [ "$(curl -sS -o /dev/null -w '%{http_code}' "$base/mcp" -d '{}' -H 'Content-Type: application/json' -H "Origin: https://evil.example")" = 403 ]
    finish
}

@test "a refusal names its limit by the option, and so do the metrics" {
    serve --http 127.0.0.1:0 --max-per-address 2 --max-memory 8M --max-share 4M
    local port=${base##*:} first second answer
    exec {first}<>"/dev/tcp/127.0.0.1/$port" {second}<>"/dev/tcp/127.0.0.1/$port"
    for _ in {1..1200}; do # until both are accepted
        answer=$(curl -sS "$base/healthz")
        [[ "$answer" == *already* ]] && break
        sleep 0.05
    done
    [[ "$answer" == *"2 connections from this address already (--max-per-address)"* ]]
    exec {first}>&-
    for _ in {1..1200}; do
        curl -sS "$base/metrics" >metrics
        grep -q mcp_build_info metrics && break
        sleep 0.05
    done
    exec {second}>&-
    grep -qxF 'mcp_limit{limit="--max-per-address"} 2' metrics
    grep -qxF 'mcp_limit{limit="--max-memory"} 8388608' metrics
    grep -qxF 'mcp_limit{limit="--max-share"} 4194304' metrics
    grep -qxF 'mcp_limit_used{limit="--max-per-address"} 2' metrics
    grep -q '^mcp_limit_refusals_total{limit="--max-per-address"} [1-9]' metrics
    grep -qxF 'mcp_limit_refusals_total{limit="--keep-files"} 0' metrics
    finish
    run "$MCPD" --http 127.0.0.1:0 --doctor --max-connections 1000000 project
    [[ "$output" == *"warning limits: connections: up to 1004096 descriptors are needed, "*"--max-connections"* ]]
    [[ "$output" == *"limits: memory: clients may occupy 640 of "* ]]
}

@test "calls from this machine have no limit unless an option sets one" {
    local body='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_resources","arguments":{}}}'
    ask_often() { # makes nine calls and prints how many have a result
        local -a urls
        for _ in {1..9}; do urls+=("$base/mcp"); done
        curl -sS -H 'Content-Type: application/json' -d "$body" "${urls[@]}" > answers
        grep -o '"result"' answers | wc -l
    }
    serve --http 127.0.0.1:0 --resource-tools
    [ "$(ask_often)" = 9 ]
    finish
    serve --http 127.0.0.1:0 --resource-tools --calls-per-second 1
    [ "$(ask_often)" -ge 4 ]
    [[ "$(< answers)" == *"one caller may make 1 a second (--calls-per-second); try again in "*'"retryAfterMs":'* ]]
    [[ "$(< answers)" == *'"code":-31429'* ]]
    curl -s "$base/metrics" | grep -qE '^mcp_rate_refusals_total\{limit="--calls-per-second"\} [1-5]$'
    # The message was understood, so the status is 200 in both eras.
    until curl -sS -D head -H 'Content-Type: application/json' -d "$body" "$base/mcp" | grep -q -- -31429; do :; done
    grep -q '^HTTP/1.1 200' head
    grep -qx $'Retry-After: 1\r' head
    until ask tools/call '"name":"list_resources","arguments":{},' -H 'Mcp-Name: list_resources' -D head "$base/mcp" | grep -q -- -31429; do :; done
    grep -q '^HTTP/1.1 200' head
    grep -qx $'Retry-After: 1\r' head
    ask resources/list '' -D head -o /dev/null "$base/mcp"
    run -1 grep Retry-After head
    finish
    serve --http 127.0.0.1:0 --resource-tools --calls-per-second 1 --no-rate-limits
    [ "$(ask_often)" = 9 ]
    finish
}

@test "behind a trusted proxy, limits and the log use the client's address" {
    local body='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_resources","arguments":{}}}'
    ask_as() { # FORWARDED: makes five calls and prints how many have a result
        local -a urls
        for _ in {1..5}; do urls+=("$base/mcp"); done
        curl -sS -H 'Content-Type: application/json' -H "X-Forwarded-For: $1" -d "$body" "${urls[@]}" |
            grep -o '"result"' | wc -l
    }
    printf '{"trusted-proxy": ["127.0.0.1", "10.0.0.0/8"], "resource-tools": true}' > config.json
    serve --http 127.0.0.1:0 --config config.json --completions-per-second 1 --log-format json
    ask_as '192.0.2.7, 10.1.1.1' > /dev/null
    curl -sS -o /dev/null -H 'X-Forwarded-For: [2001:db8::7]:99' "$base/metrics"
    curl -sS -o /dev/null -H 'X-Forwarded-For: 192.0.2.8, unknown' "$base/metrics"
    finish
    [ "$(jq -r 'select(.method == "tools/call") | .client' "$log" | sort | uniq -c | xargs)" = "5 192.0.2.7" ]
    [ "$(jq -r 'select(.path == "/metrics") | .client' "$log" | xargs)" = "2001:db8::7 127.0.0.1" ]
    serve --http 127.0.0.1:0 --resource-tools --calls-per-second 1 --trusted-proxy 127.0.0.1
    [ "$(ask_as 192.0.2.7)" -ge 4 ]
    [ "$(ask_as 192.0.2.8)" -ge 4 ] # has its own limit
    finish
    serve --http 127.0.0.1:0 --log-format json
    curl -sS -o /dev/null -H 'X-Forwarded-For: 192.0.2.8' "$base/metrics"
    finish
    [ "$(jq -r 'select(.path == "/metrics") | .client' "$log")" = 127.0.0.1 ]
    serve --http 127.0.0.1:0 --log-format json --trusted-proxy 127.0.0.1 --proxy-header forwarded
    curl -sS -o /dev/null -H 'X-Forwarded-For: 192.0.2.8' -H 'Forwarded: for=192.0.2.66, for="[2001:db8::7]:99";proto=https' "$base/metrics"
    curl -sS -o /dev/null -H 'X-Forwarded-For: 192.0.2.8' "$base/metrics"
    curl -sS -o /dev/null -H 'Forwarded: for=", for=192.0.2.8' "$base/metrics"
    finish
    [ "$(jq -r 'select(.path == "/metrics") | .client' "$log" | xargs)" = "2001:db8::7 127.0.0.1 127.0.0.1" ]
    run -2 "$MCPD" --http 127.0.0.1:0 --trusted-proxy 127.0.0.1 --proxy-header x-real-ip project
    run -1 --separate-stderr "$MCPD" --http 127.0.0.1:0 --trusted-proxy proxy.example project
    [[ "$stderr" == *"'proxy.example' is not a proxy's address: 192.0.2.1, "* ]]
}

make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem \
        -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null
}

@test "TLS: both versions, a large reply, plain text refused" {
    make_certificate
    head -c 3000000 /dev/zero | tr '\0' y > project/large.txt
    serve --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem
    [[ "$base" == https://* ]]
    uri="file://$PWD/project/large.txt"
    for version in 1.2 1.3; do
        [ "$(ask resources/read "\"uri\":\"$uri\"," -H "Mcp-Name: $uri" --cacert cert.pem \
            --tlsv$version --tls-max $version "$base/mcp" | jq '.result.contents[0].text | length')" = 3000000 ]
    done
    run ! ask resources/list '' --cacert cert.pem --tls-max 1.1 "$base/mcp"
    run ! curl -sS -m 5 "http${base#https}/healthz"
    [ "$(curl -sS --cacert cert.pem "$base/healthz" "$base/healthz")" = $'ok\nok' ]
    finish
}

@test "TLS 1.2: forward secrecy and authenticated encryption only" {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
    serve --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem
    connect() { openssl s_client -connect "${base#https://}" -tls1_2 -cipher "$1:@SECLEVEL=0" </dev/null 2>&1; }
    for cipher in ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-RSA-CHACHA20-POLY1305; do
        [[ "$(connect $cipher)" == *"Cipher is $cipher"* ]]
    done
    for cipher in AES128-SHA AES256-GCM-SHA384 AES128-GCM-SHA256 ECDHE-RSA-AES128-SHA ECDHE-RSA-AES256-SHA384; do
        openssl ciphers "$cipher:@SECLEVEL=0" >/dev/null
        [[ "$(connect $cipher)" == *"handshake failure"* ]]
    done
    finish
}

heard() { # TEXT: waits until it is in the log
    local i
    for ((i = 0; i < 3000; i++)); do grep -qF -e "$1" "$log" && return; sleep 0.02; done
    cat "$log"
    return 1
}

@test "SIGHUP reloads certificates and tokens, also without --config" {
    serial() { openssl s_client -connect "${base#https://}" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint; }
    make_certificate
    (umask 077 && echo one > tokens)
    serve --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --token-file tokens
    first=$(serial)
    [ -n "$first" ]
    make_certificate
    echo two > tokens
    kill -HUP "$server"
    heard 'the certificate cert.pem was reloaded'
    heard 'the tokens were reloaded'
    second=$(serial)
    [ -n "$second" ] && [ "$second" != "$first" ]
    ask resources/list '' --cacert cert.pem -H 'Authorization: Bearer two' "$base/mcp" | jq -e .result
    rm cert.pem
    kill -HUP "$server"
    heard 'cert.pem: No such file or directory; the old certificate stays in use'
    [ "$(serial)" = "$second" ]
    finish
}

@test "when the certificate expires is in /metrics, in the log when that is soon, and said by --doctor" {
    make() { # DAYS
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days "$1" \
            -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2> /dev/null
    }
    make_expired() {
        printf '%s\n' '[ca]' default_ca=c '[c]' database=index new_certs_dir=. serial=serial default_md=sha256 policy=p \
            rand_serial=yes '[p]' commonName=supplied > ca.conf
        : > index
        openssl req -new -key key.pem -subj /CN=localhost -out request.pem
        openssl ca -batch -selfsign -config ca.conf -in request.pem -keyfile key.pem -out cert.pem -notext \
            -startdate 20200101000000Z -enddate 20200201000000Z 2> /dev/null
    }
    expiry() { curl -sk "$base/metrics" | sed -n 's/^mcp_certificate_expiry_timestamp_seconds //p'; }
    make 400
    serve --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem
    [ "$(expiry)" = "$(date -d "$(openssl x509 -in cert.pem -noout -enddate | cut -d= -f2)" +%s)" ]
    run -1 grep 'certificate cert.pem expire' "$log"
    run "$MCPD" --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --doctor project
    [[ "$output" == *"ok      certificate: cert.pem expires on 20"* ]]
    make 3
    kill -HUP "$server"
    heard 'the certificate cert.pem expires on 20'
    [ "$(grep -c 'the certificate cert.pem expires' "$log")" = 1 ]
    [ "$(expiry)" = "$(date -d "$(openssl x509 -in cert.pem -noout -enddate | cut -d= -f2)" +%s)" ]
    run "$MCPD" --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --doctor project
    [[ "$output" == *"warning certificate: cert.pem expires on 20"*"replace it, then reload with SIGHUP"* ]]
    finish
    make_expired
    serve --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem
    heard 'warning: the certificate cert.pem expired on 2020-02-01'
    run -1 "$MCPD" --http 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --doctor project
    [[ "$output" == *"WRONG   certificate: cert.pem expired on 20"* ]]
    finish
}

@test "SIGHUP does not end an HTTP server that has nothing to reload" {
    serve --http 127.0.0.1:0
    kill -HUP "$server"
    ask resources/list '' "$base/mcp" | jq -e .result
    finish
}

@test "TLS: certificates that cannot be used" {
    make_certificate
    run -2 --separate-stderr "$MCPD" --http 127.0.0.1:0 --tls-cert cert.pem project
    [[ "$stderr" == *"--tls-cert needs --tls-key"* ]]
    run -1 --separate-stderr "$MCPD" --http 127.0.0.1:0 --tls-cert none.pem --tls-key key.pem project
    [[ "$stderr" == *'none.pem: No such file or directory'* ]]
    openssl ecparam -name prime256v1 -genkey -noout -out other.pem
    run -1 --separate-stderr "$MCPD" --http 127.0.0.1:0 --tls-cert cert.pem --tls-key other.pem project
    [[ "$stderr" == *other.pem* ]]
}

@test "without a certificate OpenSSL is not loaded" {
    serve --http 127.0.0.1:0
    run ! grep -q libssl "/proc/$server/maps"
    finish
}

@test "SIGTERM ends a subscription with its result" {
    serve --http 127.0.0.1:0
    ask subscriptions/listen '"notifications":{"resourcesListChanged":true},' -N "$base/mcp" > stream &
    reader=$!
    for ((i = 0; i < 3000; i++)); do grep -q acknowledged stream && break; sleep 0.02; done
    finish
    wait "$reader"
    grep -q '"result":' stream
}

@test "with --stdio, the end of input also ends the HTTP server" {
    { sleep 0.3; printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'; } |
        "$MCPD" --http 127.0.0.1:0 --stdio project > out 2> log2
    grep -q serving log2
    [ "$(jq -r .id out)" = 1 ]
}

@test "/metrics: version and process, and every metric is documented" {
    serve --http 127.0.0.1:0 --http-sse
    curl -s "$base/metrics" > metrics
    grep -qxF "mcp_build_info{version=\"$("$MCPD" --version | awk 'NR == 1 { print $2 }')\"} 1" metrics
    value() { awk -v name="$1" '$1 == name { print int($2) }' metrics; }
    local age=$(($(date +%s) - $(value process_start_time_seconds)))
    [ "$age" -ge -2 ] && [ "$age" -le 60 ]
    [ "$(value process_resident_memory_bytes)" -gt 100000 ]
    [ "$(value process_open_fds)" -ge 4 ]
    [ "$(value process_open_fds)" -le "$(value process_max_fds)" ]
    grep -q '^process_cpu_seconds_total [0-9]' metrics
    local name
    for name in $(awk '$1 == "#" && $2 == "TYPE" { print $3 }' metrics); do
        grep -qE "\`${name}[\`{]" "$BATS_TEST_DIRNAME/../../docs/http.md" || { echo "$name"; return 1; }
    done
    finish
}

@test "/metrics: each tool and source by name; SIGHUP keeps the counts, access rules hide them" {
    local ada=0123456789abcdef0123456789abcdef bob=abcdef0123456789abcdef0123456789 i
    cat > mcpd.json <<EOF
{"tokens": {"ada": "$ada", "bob": "$bob"},
 "access": [{"principal": "bob", "effect": "deny", "tools": "hello"}],
 "tools": [{"name": "hello", "command": ["echo", "hello"]}, {"name": "fail", "command": ["false"]}]}
EOF
    serve --config mcpd.json --http 127.0.0.1:0 --log-level info
    call() { ask tools/call "\"name\":\"$1\"," -o /dev/null -H "Mcp-Name: $1" -H "Authorization: Bearer $ada" "$base/mcp"; }
    read_uri() { ask resources/read "\"uri\":\"$1\"," -o /dev/null -H "Mcp-Name: $1" -H "Authorization: Bearer $ada" "$base/mcp"; }
    sample() { curl -s -H "Authorization: Bearer ${2:-$ada}" "$base/metrics" | grep -F "$1" | cut -d' ' -f2; }
    for i in hello hello fail vented invented; do call "$i"; done
    for i in hello.txt nothing; do read_uri "file://$PWD/project/$i"; done
    read_uri nothing:x
    look() {
        [ "$(sample 'mcp_tool_calls_total{tool="hello",result="ok"}')" = 2 ]
        [ "$(sample 'mcp_tool_calls_total{tool="fail",result="tool_error"}')" = 1 ]
        [ "$(sample 'mcp_tool_calls_total{tool="other",result="error"}')" = 2 ]
        [ "$(sample 'mcp_tool_call_duration_seconds_count{tool="hello"}')" = 2 ]
        [ "$(sample 'mcp_tool_calls_in_flight{tool="hello"}')" = 0 ]
        [ "$(sample 'mcp_source_reads_total{source="file:",result="ok"}')" = 1 ]
        [ "$(sample 'mcp_source_reads_total{source="file:",result="not_found"}')" = 1 ]
        [ "$(sample 'mcp_source_read_bytes_total{source="file:"}')" = 6 ]
        [ "$(sample 'mcp_source_reads_total{source="other",result="not_found"}')" = 1 ]
        [ -z "$(sample vented)" ]
    }
    look
    kill -HUP "$server"
    for ((i = 0; i < 3000; i++)); do grep -q 'was reloaded' "$log" && break; sleep 0.02; done
    look
    [ -z "$(sample 'tool="hello"' "$bob")" ]
    [ "$(sample 'mcp_tool_calls_total{tool="other",result="ok"}' "$bob")" = 2 ]
    finish
}

@test "/metrics: one label for a source in all families; a rule lets a scraper see names that it may not use" {
    [ -z "${MCPD_NEAR:-}" ] || skip "a source in the server's process has no process"
    local ada=0123456789abcdef0123456789abcdef bob=abcdef0123456789abcdef0123456789 prom=aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb rules i served=
    rules='[{"principal": "bob", "effect": "deny", "resources": ["mcp+far:**", "sqlite://db/**"], "tools": "hello"},
        {"principal": "prom", "effect": "deny"}, {"principal": "prom", "effect": "allow", "metrics": "names"}]'
    sqlite3 db.db 'CREATE TABLE t(a)'
    make() { # SOURCE...: writes the configuration, with further sources before the others
        jq -n --arg mcpd "$MCPD" --arg ada "$ada" --arg bob "$bob" --arg prom "$prom" --argjson rules "$rules" '{tokens: {$ada, $bob, $prom},
            access: $rules, tools: [{name: "hello", command: ["echo", "hello"]}],
            sources: (["project"] + $ARGS.positional + ["far" | {module: "mcp", source: $mcpd, name: ., options: {args: ["project"]}}] + ["sqlite:db.db"])}' \
            --args "$@" > mcpd.json
        chmod 600 mcpd.json
    }
    metrics() { curl -s -H "Authorization: Bearer $1" "$base/metrics" > "metrics.$2"; }
    make
    serve --config mcpd.json --http 127.0.0.1:0 --log-level info
    ask tools/call '"name":"hello",' -o /dev/null -H 'Mcp-Name: hello' -H "Authorization: Bearer $ada" "$base/mcp"
    ask resources/list '' -H "Authorization: Bearer $prom" "$base/mcp" | grep -q '"resources":\[\]'
    for who in ada prom; do
        metrics "${!who}" "$who"
        grep -qF 'mcp_upstream_sessions{source="mcp+far:"}' "metrics.$who" || { cat "metrics.$who" "$log"; return 1; }
        grep -qF 'mcp_source_process_starts_total{source="sqlite://db/"}' "metrics.$who"
    done
    grep -qxF 'mcp_tool_calls_total{tool="hello",result="ok"} 1' metrics.prom
    metrics "$bob" bob
    run -1 grep -E 'far|db|hello' metrics.bob
    grep -qxF 'mcp_tool_calls_total{tool="other",result="ok"} 1' metrics.bob
    grep -qF 'mcp_upstream_sessions{source="other"}' metrics.bob
    grep -qF 'mcp_source_process_starts_total{source="other"}' metrics.bob
    # The label stays what it is when a server is inserted before it.
    make sqlite:other.db
    sqlite3 other.db 'CREATE TABLE t(a)'
    kill -HUP "$server"
    for ((i = 0; i < 3000; i++)); do grep -q 'was reloaded' "$log" && break; sleep 0.02; done
    metrics "$prom" prom
    grep -qF 'mcp_source_process_starts_total{source="sqlite://other/"}' metrics.prom
    grep -qF 'mcp_source_process_starts_total{source="sqlite://db/"}' metrics.prom
    # A later rule takes the names away, and not the metrics.
    rules=$(jq '. + [{"effect": "deny", "metrics": "names"}]' <<< "$rules")
    make
    : > "$log"
    kill -HUP "$server"
    for ((i = 0; i < 3000; i++)); do grep -q 'was reloaded' "$log" && break; sleep 0.02; done
    metrics "$prom" prom
    run -1 grep -E 'far|hello' metrics.prom
    grep -qF 'mcp_upstream_sessions{source="other"}' metrics.prom
    finish
}

@test "access rules say who may see /metrics" {
    local ada=0123456789abcdef0123456789abcdef bob=abcdef0123456789abcdef0123456789 cy=aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb
    cat > mcpd.json <<EOF
{"tokens": {"ada": "$ada", "bob": "$bob", "cy": "$cy"},
 "access": [{"effect": "deny", "metrics": true}, {"principal": "ada", "effect": "allow", "metrics": true},
            {"principal": "cy", "effect": "deny"}, {"principal": "cy", "effect": "allow", "resources": "*"}]}
EOF
    serve --config mcpd.json --http 127.0.0.1:0
    status() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "${@:2}" "$base/metrics"; }
    [ "$(status "$ada")" = 200 ]
    [ "$(status "$ada" -I)" = 200 ]
    [ "$(status "$bob")" = 404 ]
    [ "$(status "$bob" -I)" = 404 ]
    [ "$(status "$cy")" = 404 ]
    [ "$(status none)" = 401 ]
    # a rule about metrics is about nothing else
    ask resources/list '' -H "Authorization: Bearer $bob" "$base/mcp" | grep -q hello.txt
    finish
}

@test "/metrics: requests and watches" {
    serve --http 127.0.0.1:0
    [ "$(curl -s "$base/metrics" | grep '^mcp_watch_budget ')" = 'mcp_watch_budget 0' ]
    curl -s "$base/metrics" | grep -q '^# TYPE mcp_watched_folders gauge$'
    # the first subscription creates the watch
    curl -sN -m 60 -o /dev/null "$base/mcp" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: subscriptions/listen' -d "$(printf '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file://%s/project/hello.txt"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' "$PWD")" 3>&- &
    local i subscribed=
    for ((i = 0; i < 1200; i++)); do
        subscribed=$(curl -s "$base/metrics" | grep '^mcp_watched_resources ')
        [ "$subscribed" != 'mcp_watched_resources 1' ] || break
        sleep 0.05
    done
    [ "$subscribed" = 'mcp_watched_resources 1' ]
    [ "$(curl -s "$base/metrics" | grep '^mcp_watch_budget ')" != 'mcp_watch_budget 0' ]
    kill %% 2>/dev/null || true
}

@test "with tokens, /metrics requires one and /healthz does not" {
    token=0123456789abcdef0123456789abcdef
    echo "ada:$token" >tokens
    serve --http 127.0.0.1:0 --token-file tokens
    [ "$(curl -s "$base/healthz")" = ok ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/metrics")" = 401 ]
    curl -s "$base/metrics" -H "Authorization: Bearer $token" | grep -q '^# TYPE mcp_requests_total counter$'
}
