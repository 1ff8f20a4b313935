# mcpd as an OAuth 2.1 resource server: mistakes in the configuration, metadata and challenges, tokens of an issuer
# beside static ones, rules by scope and group, --doctor.

bats_require_minimum_version 1.5.0

load support/issuer

setup() {
    MCPD=${MCPD:-mcpd}
    for tool in curl openssl python3; do
        command -v $tool > /dev/null || skip "$tool is not installed"
    done
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo hello > docs/a.md
    echo secret > docs/b.md
}

teardown() { stop_issuer; }

configure() { # configure [MEMBERS]: further members of the file, with a comma at the beginning
    cat > mcpd.json <<EOF
{"sources": ["docs"], "http": "127.0.0.1:0", "oauth": {"resource": "https://r.example/mcp", "required-scopes": "base",
 "issuers": [{"issuer": "$iss", "audiences": ["https://r.example/mcp"], "groups": "groups"}]}$1}
EOF
}

read_file() { # read_file NAME TOKEN
    ask resources/read "\"uri\":\"file://$PWD/docs/$1\"," -H "Mcp-Name: file://$PWD/docs/$1" -H "Authorization: Bearer $2"
}

@test "mistakes have a line and advice; without http there is nobody to ask for tokens" {
    printf '{"sources": ["docs"], "http": "127.0.0.1:0", "oauth": {\n"resource": "https://r.example/mcp#x",\n"issuers": [{"issuer": "http://i.example"}]}}' > mcpd.json
    run "$MCPD" --config mcpd.json --check-config
    [ "$status" = 1 ]
    has "$output" 'mcpd.json:2:13: remove the part from "#" on'
    has "$output" 'mcpd.json:3:24: http sends tokens and keys unprotected'
    printf '{"sources": ["docs"], "oauth": {"resource": "https://r.example/mcp", "issuers": [{"issuer": "https://i.example", "audiences": ["a"]}]}}' > mcpd.json
    run "$MCPD" --config mcpd.json --check-config
    [ "$status" = 1 ]
    has "$output" 'oauth: it needs http'
}

@test "metadata and challenges come from the configuration; tokens of the issuer and static ones are accepted" {
    issuer
    configure ', "tokens": {"probe": "0123456789abcdef0123456789abcdef"}'
    "$MCPD" --config mcpd.json --check-config
    serve
    local answer good
    answer=$(curl -s "$base/.well-known/oauth-protected-resource/mcp")
    has "$answer" '"resource":"https://r.example/mcp"'
    has "$answer" "\"$iss\""
    answer=$(ask resources/list "" -H 'X-Forwarded-Host: evil.example')
    has "$answer" "401 Unauthorized"
    has "$answer" 'resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"'
    has "$answer" 'scope="base"'
    good=$(token ada base)
    has "$(read_file a.md "$good")" hello
    has "$(read_file a.md 0123456789abcdef0123456789abcdef)" hello
    has "$(read_file a.md "${good%?????}AAAAA")" invalid_token
    has "$(audience=https://other.example/mcp; read_file a.md "$(token ada base)")" "401 Unauthorized"
    answer=$(read_file a.md "$(token ada other)")
    has "$answer" "403 Forbidden"
    has "$answer" insufficient_scope
    # the log says who asked for what, and with which result
    grep -q " $iss#ada POST /mcp resources/read 200 0 .*docs/a.md" log
    grep -q " probe POST /mcp resources/read 200 0 " log
    lacks "$(cat log)" "$good"
}

# in_view VIEW FILE [TOKEN]: reads a file at /mcp/VIEW, or at /mcp if it is empty
in_view() {
    curl -s -i -m 60 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/read' -H "Mcp-Name: file://$PWD/docs/$2" \
        ${3:+-H "Authorization: Bearer $3"} \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"file://$PWD/docs/$2\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}" \
        "$base/mcp${1:+/$1}"
}

@test "views ask for the tokens of the server, and rules can be about the groups of a caller in a view" {
    issuer
    configure ', "views": {"team": {"sources": "docs"}}, "access": [
        {"effect": "deny", "resources": "docs/b.md"}, {"view": "team", "group": "staff", "effect": "allow", "resources": "docs/b.md"}]'
    serve
    local good
    has "$(in_view team a.md)" "401 Unauthorized"
    good=$(token ada base ',"groups":["staff"]')
    has "$(in_view team a.md "$good")" hello
    has "$(in_view team b.md "$good")" secret
    has "$(in_view team b.md "$(token bob base ',"groups":[]')")" 'Resource not found'
    has "$(read_file b.md "$good")" 'Resource not found'
}

@test "each view has metadata, which its challenges name, and may have an audience of its own" {
    issuer
    configure ', "tokens": {"probe": "0123456789abcdef0123456789abcdef"},
        "access": [{"effect": "allow", "resources": "docs/b.md", "scope": "deep"}],
        "views": {"team": {}, "more": {}, "ops": {"resource": "https://r.example/mcp/ops"}, "dev": {"resource": "https://dev.example/x/mcp/dev"}}'
    serve
    local view audience one other answer status url name
    declare -A tokens=() urls=([whole]=https://r.example/mcp [team]=https://r.example/mcp/team [more]=https://r.example/mcp/more
        [ops]=https://r.example/mcp/ops [dev]=https://dev.example/x/mcp/dev)
    for view in whole team more ops dev; do
        url=${urls[$view]}
        name=/.well-known/oauth-protected-resource/${url#https://*/}
        curl -s -m 60 -H 'Host: evil.example' "$base$name" > metadata
        [ "$(jq -r '.resource, .authorization_servers[0]' metadata)" = "$url
$iss" ]
        answer=$(in_view "${view#whole}" a.md)
        has "$answer" "401 Unauthorized"
        has "$answer" "resource_metadata=\"https://${url:8:$(expr index "${url:8}" /)-1}$name\""
        audience=$url
        tokens[$view]=$(token ada base)
    done
    # the token of each at each: only that of the server is good for more than one
    for one in whole team more ops dev; do
        for other in whole team more ops dev; do
            answer=$(in_view "${other#whole}" a.md "${tokens[$one]}")
            if [ "$one" = "$other" ] || [[ $one = whole && $other =~ ^(team|more)$ ]]; then has "$answer" hello; else
                has "$answer" "401 Unauthorized"
                has "$answer" invalid_token
                lacks "$answer" hello
            fi
        done
        has "$(in_view "${one#whole}" a.md 0123456789abcdef0123456789abcdef)" hello # a static token has no audience
    done
    # the challenge of a rule, too
    answer=$(in_view ops b.md "${tokens[ops]}")
    has "$answer" "403 Forbidden"
    has "$answer" 'resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp/ops"'
    declare -A paths=([whole]="" [team]=/team [ops]=/ops)
    # on one connection: what was good before is not good at another path
    for one in whole team ops; do
        for other in whole team ops; do
            printf "url = \"$base/mcp%s\"\n" "${paths[$one]}" "${paths[$one]}" "${paths[$one]}" "${paths[$other]}" > urls
            curl -s -m 60 -K urls -w '%{http_code} %{num_connects}\n' -o /dev/null -o /dev/null -o /dev/null -o /dev/null \
                -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
                -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: server/discover' -H "Authorization: Bearer ${tokens[$one]}" \
                -d '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' > statuses
            status=401
            [[ $one = "$other" || $one$other = wholeteam ]] && status=200
            [ "$(cat statuses)" = "200 1
200 0
200 0
$status 0" ]
        done
    done
    for name in /mcp/none /mcp/ /mcp/team/ /team /mcp/OPS /mcp/dev; do
        [ "$(curl -s -m 60 -o /dev/null -w '%{http_code}' "$base/.well-known/oauth-protected-resource$name")" = 404 ]
    done
    has "$(in_view none a.md "${tokens[whole]}")" "404 Not Found"
}

@test "a session belongs to the audience of its view, and a reload changes the audience of a view at once" {
    issuer
    configure ', "views": {"ops": {"resource": "https://r.example/mcp/ops"}, "team": {}}'
    serve
    local whole own session
    whole=$(token ada base) own=$(audience=https://r.example/mcp/ops; token ada base)
    legacy() { # legacy PATH TOKEN BODY [CURL-OPTION...]: prints the status
        curl -s -m 60 -D heads -o body -w '%{http_code}' "$base$1" -H "Authorization: Bearer $2" -H 'Content-Type: application/json' \
            -H 'Accept: application/json, text/event-stream' -d "$3" "${@:4}"
    }
    local begin='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    local list='{"jsonrpc":"2.0","id":2,"method":"resources/list"}'
    [ "$(legacy /mcp/ops "$own" "$begin")" = 200 ]
    session=$(tr -d '\r' < heads | sed -n 's/^mcp-session-id: //Ip')
    [ -n "$session" ]
    [ "$(legacy /mcp/ops "$own" "$list" -H "Mcp-Session-Id: $session")" = 200 ]
    [ "$(legacy /mcp/ops "$whole" "$list" -H "Mcp-Session-Id: $session")" = 401 ] # the same caller
    [ "$(legacy /mcp "$own" "$list" -H "Mcp-Session-Id: $session")" = 401 ]
    [ "$(legacy /mcp "$whole" "$list" -H "Mcp-Session-Id: $session")" = 404 ]
    [ "$(legacy /mcp/team "$whole" "$list" -H "Mcp-Session-Id: $session")" = 404 ]
    has "$(in_view team a.md "$whole")" hello
    configure ', "views": {"ops": {}, "team": {"resource": "https://r.example/mcp/team"}}'
    kill -HUP "$server"
    local i
    for ((i = 0; i < 3000; i++)); do grep -q 'was reloaded' log && break; sleep 0.02; done
    [ "$(legacy /mcp/ops "$whole" "$list" -H "Mcp-Session-Id: $session")" = 200 ]
    has "$(in_view team a.md "$whole")" "401 Unauthorized"
    has "$(in_view team a.md "$(audience=https://r.example/mcp/team; token ada base)")" hello
    # a wrong file changes nothing
    configure ', "views": {"ops": {}, "team": {}, "bad": {"sources": "nowhere"}}'
    kill -HUP "$server"
    for ((i = 0; i < 3000; i++)); do grep -q 'was not reloaded' log && break; sleep 0.02; done
    grep -q 'was not reloaded' log
    has "$(in_view team a.md "$whole")" "401 Unauthorized"
}

@test "mistakes in the resource of a view" {
    issuer
    check() { # check RESOURCE MESSAGE
        configure ", \"views\": {\"team\": {\"resource\": \"$1\"}}"
        run "$MCPD" --config mcpd.json --check-config
        [ "$status" = 1 ]
        has "$output" "$2"
    }
    check https://r.example/mcp 'it must end with /mcp/team'
    check https://r.example/mcp/ops 'it must end with /mcp/team'
    check https://r.example/mcp/team/ 'it must end with /mcp/team'
    check 'https://r.example/mcp/team?a' 'it must end with /mcp/team'
    check 'https://r.example/mcp/team#a' 'remove the part from "#" on'
    check http://r.example/mcp/team 'http sends tokens and keys unprotected'
    sed -i 's|"audiences": \["|&https://r.example/mcp/team", "|; s|"http://r.example|"https://r.example|' mcpd.json
    run "$MCPD" --config mcpd.json --check-config
    has "$output" 'tokens for the view would be good for the whole server'
    printf '{"sources": ["docs"], "http": "127.0.0.1:0", "views": {"team": {"resource": "https://r.example/mcp/team"}}}' > mcpd.json
    run "$MCPD" --config mcpd.json --check-config
    [ "$status" = 1 ]
    has "$output" 'it needs the section oauth'
}

@test "the audit log says why a login was refused, and nothing of its token" {
    issuer
    configure ', "audit": "audit", "audit-claim": "client_id"'
    serve
    local good bad long
    good=$(token ada base)
    bad=${good%?????}AAAAA
    long=$(printf 'y%.0s' {1..200})
    ask resources/list "" > /dev/null
    read_file a.md "$bad" > /dev/null
    read_file a.md "$bad" > /dev/null
    read_file a.md "$(token ada other)" > /dev/null
    read_file a.md "$(audience=https://other.example/mcp; token ada base)" > /dev/null
    read_file a.md "$(iss=https://evil.example; kid=secret; token ada base)" > /dev/null
    read_file a.md "$(kid='\u001b[2J\n\u0000tail'; token ada base)" > /dev/null
    read_file a.md "$(kid=$long; token ada base)" > /dev/null
    read_file a.md "no.token.at-all" > /dev/null
    local i=0 end="\"http_method\":\"POST\",\"path\":\"/mcp\",\"outcome\":\"refused\",\"reason\":\"" of="\",\"issuer\":\"$iss\",\"key\":\""
    for ((i = 0; i < 3000; i++)); do [ "$(wc -l < audit)" = 9 ] && break; sleep 0.02; done
    cut -d, -f2- audit > lines
    local expected="\"client\":\"127.0.0.1\",${end}no token\",\"status\":401}
\"client\":\"127.0.0.1\",${end}signature${of}k\",\"status\":401}
\"client\":\"127.0.0.1\",${end}signature${of}k\",\"status\":401}
\"principal\":\"$iss#ada\",\"client\":\"127.0.0.1\",${end}scope${of}k\",\"status\":403}
\"client\":\"127.0.0.1\",${end}audience${of}k\",\"status\":401}
\"client\":\"127.0.0.1\",${end}key\",\"status\":401}
\"client\":\"127.0.0.1\",${end}key${of}\\u001b[2J\\u000a\",\"status\":401}
\"client\":\"127.0.0.1\",${end}key${of}${long:0:64}\",\"status\":401}
\"client\":\"127.0.0.1\",${end}form\",\"status\":401}"
    diff <(printf '%s\n' "$expected") lines
    lacks "$(cat audit log)" "${good:0:40}"
    lacks "$(cat audit log)" at-all
    read_file a.md "$good" > /dev/null
    for ((i = 0; i < 3000; i++)); do [ "$(wc -l < audit)" = 10 ] && break; sleep 0.02; done
    has "$(tail -1 audit)" "\"principal\":\"$iss#ada\",\"who\":\"c\",\"client\":\"127.0.0.1\",\"method\":\"resources/read\""
}

@test "rules by scope, group and subject" {
    issuer
    configure ', "access": [
        {"effect": "allow", "resources": "docs/b.md", "scope": "deep"},
        {"effect": "deny", "group": "guests", "resources": "docs/a.md"},
        {"effect": "deny", "principal": {"issuer": "'"$iss"'", "subject": "eve"}}]'
    serve
    local answer
    answer=$(read_file b.md "$(token ada base ', "groups": []')")
    has "$answer" "403 Forbidden"
    has "$answer" 'scope="deep base"'
    has "$(read_file b.md "$(token ada 'base deep' ', "groups": []')")" secret
    has "$(ask resources/list "" -H "Authorization: Bearer $(token ada base ', "groups": []')")" docs/b.md
    has "$(read_file a.md "$(token ada base ', "groups": ["staff"]')")" hello
    has "$(read_file a.md "$(token ada base ', "groups": ["guests"]')")" "Resource not found"
    has "$(read_file a.md "$(token ada base)")" "Resource not found" # nobody knows the groups
    answer=$(ask resources/list "" -H "Authorization: Bearer $(token eve 'base deep' ', "groups": []')")
    has "$answer" "200 OK"
    lacks "$answer" docs/
}

@test "a group has a rate, which also counts for a caller whose token does not say its groups" {
    issuer
    configure ', "rates": [{"group": "guests", "per-minute": 1, "burst": 2}]'
    serve
    local who i answered
    for who in 'guest:["guests","staff"]:2' 'other:["guests"]:2' 'member:["staff"]:5' 'unsaid::2'; do
        local name=${who%%:*} groups=${who#*:} token
        groups=${groups%:*}
        token=$(token "$name" base "${groups:+,\"groups\":$groups}")
        answered=0
        for ((i = 0; i < 5; i++)); do
            [[ "$(read_file a.md "$token")" == *hello* ]] && answered=$((answered + 1))
        done
        [ "$answered" = "${who##*:}" ]
    done
    has "$(read_file a.md "$(token guest base ',"groups":["guests"]')")" '"code":-31429' # another token of the same caller
}

@test "SIGHUP: rules take effect at once, the section oauth after a restart" {
    issuer
    configure
    serve
    local good i
    good=$(token ada base)
    has "$(read_file a.md "$good")" hello
    configure ', "access": [{"effect": "allow", "resources": "docs", "scope": "deep"}]'
    sed -i 's/"required-scopes": "base"/"required-scopes": "other"/' mcpd.json
    kill -HUP "$server"
    for ((i = 0; i < 3000; i++)); do grep -q 'was reloaded' log && break; sleep 0.02; done
    grep -q 'oauth changed, which takes effect after a restart' log
    has "$(read_file a.md "$good")" insufficient_scope
    has "$(read_file a.md "$(token ada 'base deep')")" hello
}

@test "--doctor says at which path each view is, and which audience a token for it needs" {
    issuer
    configure ', "views": {"team": {}, "ops": {"resource": "https://r.example/mcp/ops"}}'
    run "$MCPD" --config mcpd.json --doctor
    has "$output" $'\nok      view: /mcp/team, for tokens with the audience https://r.example/mcp or https://r.example/mcp/team\n'
    has "$output" $'\nok      view: /mcp/ops, for tokens with the audience https://r.example/mcp/ops\n'
    jq '.oauth.issuers[0].audiences = ["api://x", "api://x/y", "api://x"]' mcpd.json > other.json
    mv other.json mcpd.json
    run "$MCPD" --config mcpd.json --doctor --json
    has "$(jq -r '.findings[].text' <<< "$output")" $'\n/mcp/team, for tokens with the audience api://x or api://x/y\n'
}

@test "--doctor fetches metadata and keys, and says what to change" {
    issuer
    configure
    run "$MCPD" --config mcpd.json --doctor
    has "$output" "$iss/keys: 1 keys for signatures"
    has "$output" "clients cannot register themselves"
    has "$output" "requests for r.example are refused"
    sed -i "s|\"issuer\":\"$iss\"|\"issuer\":\"$iss/\"|" idp/.well-known/oauth-authorization-server
    run "$MCPD" --config mcpd.json --doctor
    [ "$status" = 1 ]
    has "$output" "says that the issuer is \"$iss/\": write exactly this"
    rm idp/.well-known/*
    run "$MCPD" --config mcpd.json --doctor
    [ "$status" = 1 ]
    has "$output" "the answer has the status 404"
    kill "$issuer_pid" && wait "$issuer_pid" || true
    issuer_pid=
    run "$MCPD" --config mcpd.json --doctor
    [ "$status" = 1 ]
    has "$output" "check the name and the way there"
}

@test "introspection: opaque tokens, and what --doctor says about the endpoint" {
    cat > as.py <<'END'
import base64, http.server, json, time, urllib.parse

class Handler(http.server.BaseHTTPRequestHandler):
    def reply(self, status, text):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        iss = "http://127.0.0.1:%d" % self.server.server_port
        known = self.path.startswith("/.well-known/oauth-authorization-server")
        self.reply(200 if known else 404, json.dumps({"issuer": iss, "code_challenge_methods_supported": ["S256"]}))

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        wanted = "Basic " + base64.b64encode(b"mcp%20d:s%3Aecret").decode()
        if self.path == "/page":
            self.reply(200, "<html>")
        elif self.path == "/other":
            self.reply(200, "{}")
        elif self.headers.get("Authorization") != wanted:
            self.reply(401, "{}")
        elif form["token"] == ["opaque-good"]:
            self.reply(200, json.dumps({"active": True, "aud": "https://r.example/mcp", "sub": "ada", "scope": "base",
                                        "exp": int(time.time()) + 600}))
        else:
            self.reply(200, json.dumps({"active": False}))

    def log_message(self, *args):
        pass

s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(s.server_port, flush=True)
s.serve_forever()
END
    python3 -u as.py > port 3>&- &
    issuer_pid=$!
    local i
    for ((i = 0; i < 3000; i++)); do [ -s port ] && break; sleep 0.02; done
    iss=http://127.0.0.1:$(cat port)
    echo 's:ecret' > secret
    chmod 600 secret
    introspect() { # introspect PATH
        cat > mcpd.json <<END
{"sources": ["docs"], "http": "127.0.0.1:0", "allow-host": "r.example", "audit": "audit",
 "oauth": {"resource": "https://r.example/mcp", "issuers": [{"issuer": "$iss", "audiences": ["https://r.example/mcp"],
  "introspection": {"url": "$iss$1", "client-id": "mcp d", "client-secret-file": "secret"}}]}}
END
    }
    introspect /introspect
    has "$("$MCPD" --config mcpd.json --doctor)" "$iss/introspect: introspection works"
    serve
    has "$(read_file a.md opaque-good)" hello
    has "$(read_file a.md opaque-bad)" invalid_token
    has "$(cat audit)" "\"principal\":\"$iss#ada\",\"client\":\"127.0.0.1\",\"method\":\"resources/read\""
    has "$(cat audit)" "\"outcome\":\"refused\",\"reason\":\"inactive\",\"issuer\":\"$iss\",\"status\":401"
    lacks "$(cat audit log)" opaque-
    introspect /page
    run -1 "$MCPD" --config mcpd.json --doctor
    has "$output" "the introspection endpoint $iss/page: the answer is no JSON"
    introspect /other
    run -1 "$MCPD" --config mcpd.json --doctor
    has "$output" "$iss/other: the answer does not say whether a token is active"
    echo wrong > secret
    introspect /introspect
    run -1 "$MCPD" --config mcpd.json --doctor
    has "$output" "the introspection endpoint $iss/introspect refuses this server (status 401): check client-id"
    kill "$issuer_pid"
    wait "$issuer_pid" || true
    run -1 "$MCPD" --config mcpd.json --doctor
    has "$output" "the introspection endpoint $iss/introspect: "
}
