# The configurations of docs/deploy with HAProxy, nginx and Caddy: each proxy accepts its own; requests, streams and
# cancellations pass; mcpd knows the clients' addresses; an instance that is down is not noticed; a call that was
# sent is not sent again. The addresses of the files are replaced by those of one network below 127.0.0.0/8.

bats_require_minimum_version 1.5.0
load support/eventually

setup() {
    : "${MCPD:=mcpd}" "${MCP_SOURCE_DIR:=$BATS_TEST_DIRNAME/../..}"
    PATH=$PATH:/usr/sbin
    cd "$BATS_TEST_TMPDIR"
    net=127.$((1 + ($$ >> 14 & 127))).$(($$ >> 7 & 127)) # addresses that no other test has
    first=$(($$ & 127))                                  # with the port
    port=$((8000 + first)) front=$((9000 + first))
    header= # of --proxy-header
    pids=() exec=
    mkdir notes
    echo one >notes/one.txt
}

teardown() {
    local pid
    for pid in "${pids[@]}" $(cat waiting); do
        kill -KILL "$pid" && wait "$pid" || true
    done 2>/dev/null
}

serve() { # NUMBER: starts an instance
    printf '{"sources": ["notes"], "audit": "audit", "tools": [
        {"name": "wait", "command": ["sh", "-c", "echo $$ >>waiting; exec sleep 600"], "timeout": 600},
        {"name": "die", "command": ["sh", "-c", "echo x >>died; kill -KILL $(cat %s.pid)"]}]}' "$1" >"$1.json"
    : >"$1.log"
    "$MCPD" --config "$1.json" --http "$net.$1:$port" --allow-host mcp.example --trusted-proxy 127.0.0.1 --heartbeat 1 \
        ${header:+--proxy-header "$header"} \
        --tls-cert instance.pem --tls-key instance.key \
        2>>"$1.log" 3>&- &
    echo $! >"$1.pid"
    pids+=($!)
    eventually grep -q ' at http' "$1.log"
}

# The file of docs/deploy with the addresses of this test.
adapt() { # FILE; with $header, as docs/deploy.md says under "Forwarded"
    sed -E "s|10\.0\.0\.(1[123]):8642|$net.\1:$port|g" "$MCP_SOURCE_DIR/docs/deploy/$1" |
        if [ "$header" ]; then
            awk -v file="$1" -v page="$MCP_SOURCE_DIR/docs/deploy.md" '
                BEGIN { # a line "OLD => NEW" of the page for each line that is replaced
                    while ((getline line <page) > 0) {
                        if (line == "<!-- forwarded " file " -->") on = 1
                        else if (on && line == "```") { if (inside) break; inside = 1 }
                        else if (inside) { split(line, pair, " => "); new[pair[1]] = pair[2]; n++ }
                    }
                }
                { text = $0; sub(/^[ \t]+/, "", text) }
                text in new { if (new[text] != "-") print new[text]; seen++; next }
                { print }
                END { if (!n || seen != n) exit 1 }'
        else
            cat
        fi
}

certificate() { # NAME CERTIFICATE KEY
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$3" -out "$2" -days 2 \
        -subj "/CN=$1" -addext "subjectAltName=DNS:$1" 2>/dev/null
}

begin_haproxy() {
    cat cert.pem key.pem >both.pem
    adapt haproxy.cfg | sed "s|bind :443|bind $net.10:$front|; s|/etc/haproxy/mcp.example.pem|$PWD/both.pem|
        s|/etc/haproxy/instances.pem|$PWD/instance.pem|" >haproxy.cfg
    haproxy -c -f haproxy.cfg
    haproxy -db -f haproxy.cfg >proxy.log 2>&1 3>&- &
    pids+=($!)
}

begin_nginx() {
    adapt nginx.conf | sed "s|listen 443|listen $net.10:$front|; s|/etc/nginx/mcp.example.pem|$PWD/cert.pem|
        s|/etc/nginx/mcp.example.key|$PWD/key.pem|; s|/etc/nginx/instances.pem|$PWD/instance.pem|" >site.conf
    {
        [ "$(id -u)" != 0 ] || echo 'user root;'
        echo "daemon off; master_process off; pid nginx.pid; error_log proxy.log; events { } http { access_log off;"
        for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path temp_$kind;"; done
        echo "include site.conf; }"
    } >nginx.conf
    nginx -p "$PWD" -e proxy.log -c nginx.conf -t
    nginx -p "$PWD" -e proxy.log -c nginx.conf >/dev/null 2>&1 3>&- &
    pids+=($!)
}

begin_caddy() {
    {
        echo "{
            admin off
            auto_https disable_redirects
            storage file_system $PWD/caddy
        }"
        adapt Caddyfile | sed "s|^mcp.example {|mcp.example:$front {\n bind $net.10\n tls $PWD/cert.pem $PWD/key.pem|
            s|/etc/caddy/instances.pem|$PWD/instance.pem|"
    } >Caddyfile
    export HOME=$PWD XDG_DATA_HOME=$PWD XDG_CONFIG_HOME=$PWD
    caddy validate --adapter caddyfile --config Caddyfile
    caddy run --adapter caddyfile --config Caddyfile >proxy.log 2>&1 3>&- &
    pids+=($!)
}

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

# ask CLIENT METHOD NAME PARAMS [CURL-OPTION...]: sends a request from the address CLIENT, with forged ones; PARAMS are
# members with a comma at their end, and "@FILE" is the whole request. With exec=exec, for the background, curl takes the place
# of the subshell
ask() {
    local client=$1 method=$2 name=$3 data=$4
    shift 4
    [[ $data == @* ]] || data="{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":{$data$meta}}"
    $exec curl -sS -m 60 --interface "$net.$client" --cacert cert.pem --connect-to "mcp.example:443:$net.10:$front" \
        -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $method" ${name:+-H "Mcp-Name: $name"} \
        -H 'X-Forwarded-For: 192.0.2.66' -H 'Forwarded: for=192.0.2.67' --data-binary "$data" "$@" https://mcp.example/mcp
}

lists() { [[ $(ask "$1" resources/list '' '') == *one.txt* ]]; }
audited() { jq -e --arg p "$net.$1" --arg m "$2" --arg o "$3" 'select(.client == $p and .method == $m and .outcome == $o)' audit; }
metric() { curl -sk -m 20 -H 'Host: mcp.example' "https://$net.$1:$port/metrics" | awk -v name="$2" '$1 == name { print $2 }'; } # INSTANCE NAME
no_streams() { [ "$(metric "$1" mcp_streams)" = 0 ]; }

forwards() { # PROXY
    local i
    certificate mcp.example cert.pem key.pem
    certificate mcp.internal instance.pem instance.key
    for i in 11 12 13; do serve $i; done
    "begin_$1"
    eventually lists 20

    # A large request, and the address of the client.
    printf '{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"filler":"%s",%s}}' \
        "$(head -c 3000000 /dev/zero | tr '\0' x)" "$meta" >large
    [[ $(ask 21 resources/list '' @large) == *one.txt* ]]
    audited 21 resources/list ok
    run ! grep 192.0.2 audit

    # A stream: its head, its comments and its events arrive while it is open.
    exec='exec' ask 22 subscriptions/listen '' '"notifications":{"resourcesListChanged":true},' -N -m 600 >stream 2>stream.log 3>&- &
    pids+=($!)
    local listener=$!
    eventually grep -q acknowledged stream
    echo two >notes/two.txt
    eventually grep -q list_changed stream
    eventually eval '[ "$(grep -c ^: stream)" -ge 3 ]'
    kill -0 $listener

    # A client that leaves cancels its call, and ends its stream.
    exec='exec' ask 23 tools/call wait '"name":"wait",' -m 600 >/dev/null 2>&1 3>&- &
    pids+=($!)
    local caller=$!
    eventually test -s waiting
    kill -KILL $caller $listener
    cancelled() { jq -e 'select(.name == "wait" and .outcome == "cancelled")' audit; }
    eventually cancelled
    for i in 11 12 13; do
        eventually no_streams $i
    done

    # An instance that takes a call and ends: the call is not sent again.
    run ask 24 tools/call die '"name":"die",' -w ' %{http_code}'
    echo "$output"
    [[ $status != 0 || $output == *" 502" ]]
    [ "$(wc -l <died)" = 1 ]

    # An instance is down: all requests are answered. It comes back, and gets requests again.
    local down=
    is_down() { for i in 11 12 13; do kill -0 "$(cat $i.pid)" 2>/dev/null || down=$i; done && [ -n "$down" ]; }
    eventually is_down
    for ((i = 0; i < 20; i++)); do lists 25; done
    serve $down
    serves_again() { lists 25 && [ "$(metric $down 'mcp_requests_total{method="resources/list",result="ok"}')" -ge 1 ]; }
    eventually serves_again
    [ "$(wc -l <died)" = 1 ]
}

says_forwarded() { # PROXY
    header=forwarded
    certificate mcp.example cert.pem key.pem
    certificate mcp.internal instance.pem instance.key
    for i in 11 12 13; do serve $i; done
    "begin_$1"
    eventually lists 20
    lists 21
    audited 21 resources/list ok
    run ! grep 192.0.2 audit
}

@test "HAProxy with Forwarded" { says_forwarded haproxy; }
@test "nginx with Forwarded" { says_forwarded nginx; }
@test "Caddy with Forwarded" { says_forwarded caddy; }

@test "HAProxy" { forwards haproxy; }
@test "nginx" { forwards nginx; }
@test "Caddy" { forwards caddy; }

@test "docs/deploy.md shows the files" {
    for file in haproxy.cfg nginx.conf Caddyfile; do
        awk -v start="<!-- deploy/$file -->" '$0 == start { on = 1; next } on && /^```/ { if (++n == 2) exit; next } on && n { print }' \
            "$MCP_SOURCE_DIR/docs/deploy.md" | diff "$MCP_SOURCE_DIR/docs/deploy/$file" -
    done
}
