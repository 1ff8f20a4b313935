#!/usr/bin/env bats
# mcpctl web: who gets in, and what its page may ask. Each attack is one that such a program has had:
# CVE-2025-49596 and CVE-2026-23744 (anybody who reaches the port starts commands), CVE-2025-66414 and CVE-2025-66416
# (DNS rebinding), CVE-2025-58444 (an address of a server that the page opens), codes on command lines.

load support/eventually
load support/mcpctl

# Starts mcpctl web with arguments; sets $origin, $code and $file.
open_web() {
    rm -f said
    BROWSER='' DISPLAY='' WAYLAND_DISPLAY='' env --default-signal=INT "$MCPCTL" web "$@" >said 2>&1 3>&- </dev/null &
    server=$!
    for _ in {1..600}; do
        grep -q 'Ctrl-C ends' said && break
        kill -0 $server || break
        sleep 0.1
    done
    origin=$(sed -n 's|^  \(http://.*\)/#code=.*|\1|p' said)
    code=$(sed -n 's|^  http://.*/#code=||p' said)
    file=$(sed -n 's|^  file://||p' said)
}

# (A shell that is not interactive makes programs in the background ignore SIGINT, hence env.)
#
# post PATH BODY [CURL'S OPTIONS]: prints the status and the body of the answer.
post() {
    curl -s -m 30 -w '%{http_code} ' -o answer "$origin$1" -H 'Content-Type: application/json' -d "$2" "${@:3}"
    cat answer
    echo
}

exchange() {
    post /web/secret "{\"code\":\"$1\"}" "${@:2}"
}

# Exchanges the code; sets $secret.
enter() {
    secret=$(exchange "$code" | sed -n 's/^200 {"secret":"\([0-9a-f]\{64\}\)"}$/\1/p')
    [ "$secret" ]
}

ask() {
    post "$1" "$2" -H "Authorization: Bearer $secret" "${@:3}"
}

rpc() {
    ask /mcp "$1" -H 'Accept: application/json, text/event-stream' "${@:2}"
}

hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
discover='{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}'
modern=(-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/list')

@test "--no-open and --no-browser print the address, though there is a browser" {
    printf '#!/bin/sh\n: >"%s/opened"\n' "$PWD" >browser
    chmod +x browser
    for option in --no-open --no-browser; do
        BROWSER=$PWD/browser env --default-signal=INT "$MCPCTL" web $option -- "$MCPD" . >said 2>&1 3>&- </dev/null &
        server=$!
        eventually grep -q 'Ctrl-C ends' said
        grep -q '^  http://.*/#code=' said
        kill -INT $server
        wait $server || :
        [ ! -e opened ]
    done
}

@test "the code is exchanged once, and the secret opens everything" {
    echo '# Hello' >a.md
    open_web --no-open -- "$MCPD" .
    [[ $(exchange nothing) == '403 {"error":"wrong",'* ]]
    [[ $(exchange "${code//[0-9a-f]/0}") == '403 {"error":"wrong",'* ]]
    [[ $(exchange "") == '403 {"error":"wrong",'* ]]
    enter
    [[ $(exchange "$code") == '403 {"error":"used",'* ]]
    grep -q 'used a second time' said
    [[ $(ask /web/about '{}') == '200 {"version":'* ]]
    [[ $(rpc "$discover" "${modern[@]}") == 200*'a.md'* ]]
    [[ $(rpc "$hello") == 200*'"serverInfo"'* ]]
    [[ $(ask /web/about '{}') == '200 '*'"hello":{"method":"server/discover","result":{'* ]]
    journal=$(ask /web/journal '{"after":0}')
    [[ $journal == '200 {"first":1,"next":'*'"from":"client","bytes":'*'"from":"server",'* ]]
    [[ $journal != *"$secret"* && $journal != *"$code"* ]]
    [[ $(ask /web/journal '{"after":1,"limit":1}') == *'"entries":[{"n":2,'*'}]}' ]]
    [[ $(ask /web/journal '{"after":-1}') == 400* ]]
    # the file that opened the browser is gone
    [ ! -e "$file" ]
    [ ! -e "${file%/*}" ]
}

@test "the server is started and asked before the page asks, and once" {
    echo hello >a.md
    open_web --no-open -- "$MCPD" .
    for _ in {1..600}; do
        [ "$(pgrep -P $server)" ] && break
        sleep 0.1
    done
    enter
    for _ in {1..600}; do
        [[ $(ask /web/about '{}') == *'"hello":{"method":"server/discover","result":{'* ]] && break
        sleep 0.1
    done
    journal=$(ask /web/journal '{}')
    [ "$(jq -c '[.entries[].from]' <<<"${journal#200 }")" = '["client","server"]' ]
    # the page's requests use this process, also those for which the server may ask the page
    if [ -d "$MCP_SOURCE_DIR/web" ]; then # what it declares for that is the same
        [ "$(sed -n '/static capabilities = {/,/};/p' "$MCP_SOURCE_DIR/web/mcp.js" | tr -d ' \n')" = \
            'staticcapabilities={elicitation:{form:{},url:{}},sampling:{},extensions:{[TASKS]:{}},};' ]
    fi
    request=${discover/'/clientCapabilities":{}'/'/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}'}
    [[ $(rpc "$request" "${modern[@]}") == 200*'a.md'* ]]
    request=${request/resources\/list/resources\/read}
    request=${request/'"params":{'/"\"params\":{\"uri\":\"file://$PWD/a.md\","}
    [[ $(rpc "$request" -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/read' -H "Mcp-Name: file://$PWD/a.md") == 200*hello* ]]
    [ "$(pgrep -c -P $server)" = 1 ]
    journal=$(ask /web/journal '{}')
    [ "$(jq -r '.entries[] | select(.from == "client") | .message | fromjson | .method' <<<"${journal#200 }" | tr '\n' ' ')" = \
        'server/discover resources/list resources/read ' ]
    # a server that has ended is started again
    kill -9 "$(pgrep -P $server)"
    [[ $(rpc "$discover" "${modern[@]}") == 200*'"resources":['* ]]
    for _ in {1..600}; do
        [[ $(rpc "$discover" "${modern[@]}") == 200*'a.md'* ]] && break
        sleep 0.1
    done
    [ "$(pgrep -c -P $server)" = 1 ]
}

@test "nothing works without the secret" {
    open_web --no-open -- "$MCPD" .
    enter
    for path in /web/about /web/journal /web/markdown /web/login /mcp; do
        for header in X:y 'Authorization: Bearer' "Authorization: Bearer ${secret/[0-9a-f]/x}" "Authorization: Bearer $code" \
            "Authorization: Basic $secret" "Authorization: Bearer ${secret}0" "Cookie: secret=$secret" "Authorization: Bearer "; do
            answer=$(post $path '{}' -H "$header" -H 'Accept: application/json, text/event-stream')
            [[ $answer == 401* ]]
        done
        [[ $(curl -s -o /dev/null -w '%{http_code}' "$origin$path?secret=$secret") =~ ^(401|405)$ ]]
    done
    [[ $(curl -s "$origin/web/config") == '{"mode":"mcpctl","endpoint":"/mcp","version":'* ]]
    # neither counts, nor health, nor anything else
    for path in /metrics /healthz /web /web/ /web/other /../etc/passwd /web/secret/ /sse /.well-known/oauth-protected-resource; do
        [ "$(curl -s --path-as-is -o /dev/null -w '%{http_code}' "$origin$path")" = 404 ]
    done
}

@test "another host's name, another page's origin, another site" {
    open_web --no-open -- "$MCPD" .
    port=${origin##*:}
    name=${origin#http://}
    [[ $name =~ ^127\.0\.0\.1:[0-9]+$ ]]
    for host in evil.example "evil.example:$port" "localhost:$port" "127.9.9.9:$port" "${name%:*}" "${name%:*}:1" "$name.evil.example:$port" \
        "x.$name" "[::1]:$port" "0.0.0.0:$port" "127.1:$port"; do
        [[ $(exchange "$code" -H "Host: $host") == 40[03]* ]]
        [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Host: $host" "$origin/")" != 200 ]
        [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Host: $host" "$origin/web/config")" != 200 ]
    done
    for from in https://evil.example null "http://localhost:$port" "http://127.9.9.9:$port" "https://$name" \
        "http://${name%:*}" "$origin.evil.example" "http://[::1]:$port" file://; do
        [[ $(exchange "$code" -H "Origin: $from") == 403* ]]
    done
    for site in cross-site same-site none; do
        [[ $(exchange "$code" -H "Sec-Fetch-Site: $site") == 403* ]]
    done
    # none of these has used the code
    enter
    own=(-H "Origin: $origin" -H 'Sec-Fetch-Site: same-origin')
    [[ $(ask /web/about '{}' "${own[@]}") == 200* ]]
    [[ $(rpc "$discover" "${modern[@]}" "${own[@]}") == 200* ]]
    for from in "Origin: http://localhost:$port" "Origin: http://127.9.9.9:$port" 'Origin: null' 'Sec-Fetch-Site: same-site' \
        "Host: localhost:$port"; do
        [[ $(rpc "$discover" "${modern[@]}" -H "$from") == 403* ]]
        [[ $(ask /web/about '{}' -H "$from") == 403* ]]
    done
}

@test "what a form or a script of another page can send without asking" {
    open_web --no-open -- "$MCPD" .
    for type in text/plain application/x-www-form-urlencoded multipart/form-data; do
        [ "$(curl -s -o /dev/null -w '%{http_code}' "$origin/web/secret" -H "Content-Type: $type" -d "{\"code\":\"$code\"}")" = 415 ]
    done
    # no answer allows another origin to read it
    for path in / /web/config /web/secret /mcp; do
        [[ $(curl -s -o /dev/null -w '%{http_code}' -X OPTIONS "$origin$path" -H 'Origin: https://evil.example' \
            -H 'Access-Control-Request-Method: POST') == 40* ]]
        ! curl -s -D - -o /dev/null "$origin$path" | grep -i access-control
    done
    [[ $(curl -s -o /dev/null -w '%{http_code}' "$origin/web/secret?code=$code") == 405 ]]
    enter
}

@test "headers of every file, and of the answers" {
    open_web --no-open -- "$MCPD" .
    [ -d "$MCP_SOURCE_DIR/web" ] || skip "no sources here"
    files=$(cd "$MCP_SOURCE_DIR/web" && find . -type f ! -name '*.md' ! -name '*.map' ! -name '.*' | sed 's|^\./|/|; s|^/index.html$|/|')
    [ "$files" ]
    for path in $files; do
        curl -s -D head -o body "$origin$path"
        cmp body "$MCP_SOURCE_DIR/web${path/%\//\/index.html}"
        for header in 'X-Content-Type-Options: nosniff' 'X-Frame-Options: DENY' 'Referrer-Policy: no-referrer' \
            'Cross-Origin-Opener-Policy: same-origin' 'Cross-Origin-Resource-Policy: same-origin' \
            "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; connect-src 'self'"; do
            grep -Fqx "$header"$'\r' head
        done
        grep -Eq '^Content-Type: (text/(html|javascript|css|plain); charset=utf-8|image/svg\+xml|application/json)'$'\r' head
        tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' head)
        [ "$(curl -s -o /dev/null -w '%{http_code}' -H "If-None-Match: $tag" "$origin$path")" = 304 ]
        [ "$(curl -sI -o /dev/null -w '%{http_code}' "$origin$path")" = 200 ]
        [[ $(post "$path" '{}') == 405* ]]
    done
    curl -s -D head -o body "$origin/web/secret" -H 'Content-Type: application/json' -d "{\"code\":\"$code\"}"
    grep -Fqx 'Cache-Control: no-store'$'\r' head
    grep -Fqx 'X-Content-Type-Options: nosniff'$'\r' head
    grep -Fqx 'Cross-Origin-Resource-Policy: same-origin'$'\r' head
}

@test "only this user can read the file that opens the browser" {
    for runtime in "$BATS_TEST_TMPDIR/run" "$BATS_TEST_TMPDIR/open" relative ''; do
        case $runtime in
        */run) mkdir -m 700 "$runtime" ;;
        */open) mkdir -m 755 "$runtime" ;;
        esac
        XDG_RUNTIME_DIR=$runtime open_web --no-open -- "$MCPD" .
        [ "$(stat -c %a "$file")" = 600 ]
        [ "$(stat -c %a "${file%/*}")" = 700 ]
        case $runtime in
        */run) [[ $file == "$runtime"/* ]] ;;
        *) [[ $file != "$BATS_TEST_TMPDIR/open"/* ]] ;;
        esac
        grep -q "url=$origin/#code=$code" "$file"
        if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
            ! setpriv --reuid 65534 --clear-groups cat "$file"
        fi
        # no command line has the code or a secret
        ! grep -aq "$code" /proc/[0-9]*/cmdline
        kill $server
        wait $server || :
        [ ! -e "$file" ]
        [ ! -e "${file%/*}" ]
    done
}

@test "the browser gets a file without the code in its name, and no other program sees the servers' secrets" {
    cat >browser <<'BROWSER'
#!/bin/sh
echo "$#" "$1" >>opened
cat "${1#file://}" >>opened
BROWSER
    chmod +x browser
    cat >servers.json <<JSON
{"mcpServers": {"one": {"command": "$MCPD", "args": ["."], "env": {"TOKEN": "variable-secret"}}}}
JSON
    BROWSER=$PWD/browser "$MCPCTL" web --trust --config servers.json one >said 2>&1 3>&- </dev/null &
    server=$!
    for _ in {1..600}; do
        grep -q '</html>' opened 2>/dev/null && break
        sleep 0.1
    done
    [[ $(head -1 opened) == '1 file:///'*/open.html ]]
    ! grep -q 'code=' said || false
    origin=$(sed -n 's|.*url=\(http://127\.[0-9.]*:[0-9]*\)/#code=.*|\1|p' opened)
    code=$(sed -n 's|.*url=http.*/#code=\([0-9a-f]*\)".*|\1|p' opened)
    ! grep -aq variable-secret /proc/$server/cmdline || false
    # its address is not that of other programs, so what they left in the browser does not concern it
    [[ $origin != http://127.0.0.1:* ]]
    [[ $(exchange "$code" -H "Host: 127.0.0.1:${origin##*:}") == 403* ]]
    enter
    [[ $(ask /web/about '{}') != *variable-secret* ]]
    [[ $(ask /web/about '{}') == *'"title":"one"'* ]]
}

@test "Enter opens the page again: the page before has no access any more" {
    mkfifo keys
    line="$(printf '%q ' env --default-signal=INT "$MCPCTL" web --no-open -- "$MCPD" .)"
    SHELL=/bin/bash script -qec "$line" /dev/null <keys >said 2>&1 3>&- &
    server=$!
    exec 4>keys
    for _ in {1..600}; do grep -q 'Enter opens' said && break; sleep 0.1; done
    tr -d '\r' <said >first
    origin=$(sed -n 's|^  \(http://.*\)/#code=.*|\1|p' first)
    code=$(sed -n 's|^  http://.*/#code=||p' first)
    enter
    old=$secret
    curl -sN -m 60 "$origin/mcp" -H "Authorization: Bearer $secret" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: subscriptions/listen' \
        -d "$(sed 's|resources/list|subscriptions/listen|; s|"params":{|"params":{"notifications":{"resourcesListChanged":true},|' <<<"$discover")" >stream 3>&- 4>&- &
    others=$!
    printf '\r' >&4
    for _ in {1..600}; do [ "$(grep -c 'code=' said)" = 2 ] && break; sleep 0.1; done
    [[ $(exchange "$code") == '403 {"error":"wrong"'* ]]
    code=$(tr -d '\r' <said | sed -n 's|^  http://.*/#code=||p' | tail -1)
    [[ $(ask /web/about '{}') == 200* ]] # until the new page is there
    enter
    [[ $(ask /web/about '{}') == 200* ]]
    [[ $(post /web/about '{}' -H "Authorization: Bearer $old") == '401 {"error":"secret"'* ]]
    wait $others # its stream has ended
    printf '\3' >&4
    exec 4>&-
    wait $server || :
}

@test "several servers: from a file, an address and a command; their names are prefixes" {
    mkdir a b
    echo a >a/a.txt
    echo b >b/b.txt
    cat >servers.json <<JSON
{"mcpServers": {"First One": {"command": "$MCPD", "args": ["$PWD/a"]},
  "off": {"command": "false", "disabled": true}}}
JSON
    serve b
    others=$server
    open_web --no-open --trust --servers servers.json "$url" -- "$MCPD" b
    enter
    about=$(ask /web/about '{}')
    [[ $about == *'"name":"first-one","title":"First One","kind":"program"'*'"prefix":"first-one_","uriPrefix":"mcp+first-one:"'* ]]
    [[ $about == *'"kind":"url","target":"'"$url"'"'*'"login":"possible"'* ]]
    [[ $about != *'"off"'* ]]
    list=$(rpc "$discover" "${modern[@]}")
    [[ $list == *'mcp+first-one:file://'*'/a/a.txt'* ]]
    [[ $list == *'mcp+mcpd:file://'*'/b/b.txt'* ]]
    # a name that is none of these starts nothing
    [[ $(ask /web/login '{"server":"mcpd"}') == 404* ]]
    [[ $(ask /web/login '{"server":"touch /tmp/x"}') == 404* ]]
    [[ $(ask /web/login '{"server":["touch","x"]}') == 404* ]]
}

@test "Markdown is nodes, never markup" {
    open_web --no-open -- "$MCPD" .
    enter
    markdown() { ask /web/markdown "$(jq -n --arg t "$1" '{text: $t}')"; }
    [ "$(markdown $'# A *b*\n<script>x</script>')" = '200 {"nodes":[{"t":"h","level":1,"c":["A ",{"t":"em","c":["b"]}]},{"t":"p","c":["<script>x</script>"]}]}' ]
    [ "$(markdown '[x](javascript:alert(1) "t") ![i](http://evil.example/i)')" = \
        '200 {"nodes":[{"t":"p","c":[{"t":"a","href":"javascript:alert(1)","title":"t","c":["x"]}," ",{"t":"img","src":"http://evil.example/i","c":["i"]}]}]}' ]
    [[ $(ask /web/markdown '{"text":7}') == '200 {"nodes":[]}' ]]
    [[ $(ask /web/markdown '[1]') == '400 {"error":"body"'* ]]
    [[ $(ask /web/markdown 'x') == '400 {"error":"body"'* ]]
    head -c 1100000 /dev/zero | tr '\0' '>' | jq -Rs '{text: .}' >large
    [[ $(ask /web/markdown @large) == '413 {"error":"large"'* ]]
    head -c 1000000 /dev/zero | tr '\0' '>' | jq -Rs '{text: .}' >large
    [[ $(ask /web/markdown @large) == [24]* ]]
    [[ $(ask /web/about '{}') == 200* ]]
}

@test "what ends it, and what it takes with it" {
    for signal in INT TERM HUP; do
        open_web --no-open -- "$MCPD" .
        enter
        [[ $(rpc "$discover" "${modern[@]}") == 200* ]]
        child=$(pgrep -P $server)
        [ "$child" ]
        kill -$signal $server
        wait $server || code=$?
        [ "$code" -gt 128 ]
        ! kill -0 $child 2>/dev/null
    done
}

@test "hostile servers behind it: the gateway stays, and the page gets errors" {
    cat >hostile.py <<'PYTHON'
import sys
for line in sys.stdin:
    sys.stderr.write("\x1b]0;title\x07" + "e" * 5000 + "\n")
    sys.stdout.write("\x00\xff not json\n" + '{"jsonrpc":"2.0","id":1,"result":' + "[" * 100000 + "\n")
    sys.stdout.write('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"</script><img src=x onerror=alert(1)>"}}\n')
    sys.stdout.flush()
    if "roots" in line: sys.exit(1)
PYTHON
    open_web --no-open -- python3 hostile.py
    enter
    [[ $(rpc "$discover" "${modern[@]}" -m 20) != 200*'"resources":[{'* ]]
    [[ $(ask /web/about '{}') == 200* ]]
    journal=$(ask /web/journal '{}')
    [[ $journal == '200 {'* ]]
    jq -e '.entries[].from' >/dev/null <<<"${journal#200 }"
    [[ $journal == *'"cut":true'* ]]
    [[ $journal != *$'\e'* ]]
}

@test "a server that cannot be started or reached: the page learns why" {
    open_web --no-open -- ./missing-program
    enter
    for _ in {1..600}; do # before the page asks for anything
        [[ $(ask /web/about '{}') == *'"problem":"missing-program: ./missing-program: No such'* ]] && break
        sleep 0.1
    done
    [[ $(ask /web/about '{}') == *'"problem":"missing-program: ./missing-program: No such'* ]]
    [[ $(rpc "$discover" "${modern[@]}") == *'does not answer'* ]] # an empty list would say that there is nothing
    about=$(ask /web/about '{}')
    [[ $about == *'"problem":"'*'missing-program'* || $about == *'"problem":"'*'No such'* || $about == *'"problem":"'*'no such'* ]]
    [[ $(ask /web/journal '{}') == *'"from":"gateway"'* ]]
    kill $server
    open_web --no-open http://127.0.0.1:1/mcp
    enter
    [[ $(rpc "$discover" "${modern[@]}") == *'does not answer'* ]] # an empty list would say that there is nothing
    [[ $(ask /web/about '{}') == *'"problem":"'?*'"hello":null'* ]]
}

@test "a login is that of mcpctl, for a server of the command line" {
    serve .
    others=$server
    open_web --no-open "$url"
    enter
    name=$(ask /web/about '{}' | sed 's/.*"servers":\[{"name":"\([^"]*\)".*/\1/')
    [[ $(ask /web/login "{\"server\":\"$name\"}") == '200 {"login":"running"}' ]]
    for _ in {1..600}; do
        [[ $(ask /web/about '{}') == *'"login":"running"'* ]] || break
        sleep 0.1
    done
    [[ $(ask /web/about '{}') == *'"login":"failed"'* ]]
    grep -q 'does not ask for a login' said
    [[ $(post /web/login "{\"server\":\"$name\"}") == 401* ]]
}

@test "servers are needed, and headers are for one" {
    apart "$MCPCTL" web
    [ "$status" -eq 2 ]
    [[ $stderr == *"no server is given"* ]]
    apart "$MCPCTL" web http://127.0.0.1:1/mcp http://127.0.0.1:2/mcp -H 'a: b'
    [ "$status" -eq 2 ]
    [[ $stderr == *"headers would be sent to all servers"* ]]
    apart "$MCPCTL" web nowhere
    [ "$status" -eq 2 ]
    apart "$MCPCTL" web --servers missing.json
    [ "$status" -eq 2 ]
    echo '{}' >empty.json
    apart "$MCPCTL" web --servers empty.json
    [ "$status" -eq 2 ]
    apart "$MCPCTL" ls --no-open -- "$MCPD" .
    [ "$status" -eq 2 ]
}

@test "mcpctl-web is started by mcpctl alone" {
    program=$(dirname "$(command -v "$MCPCTL")")/mcpctl-web
    [ -x "$program" ] || skip "mcpctl contains it"
    for words in '' '--servers-from' '--servers-from 0' '--servers-from x' '--servers-from 77' '--help'; do
        run "$program" $words
        [ "$status" -eq 2 ]
        [[ $output == *"started by 'mcpctl web'"* ]]
    done
}
