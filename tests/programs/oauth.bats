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

@test "views ask for the tokens of the server, and rules can be about the groups of a caller in a view" {
    issuer
    configure ', "views": {"team": {"sources": "docs"}}, "access": [
        {"effect": "deny", "resources": "docs/b.md"}, {"view": "team", "group": "staff", "effect": "allow", "resources": "docs/b.md"}]'
    serve
    local answer good
    in_team() { curl -s -i -m 10 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/read' -H "Mcp-Name: file://$PWD/docs/$1" "${@:2}" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"file://$PWD/docs/$1\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}" \
        "$base/mcp/team"; }
    answer=$(in_team a.md)
    has "$answer" "401 Unauthorized"
    has "$answer" 'resource_metadata="https://r.example/.well-known/oauth-protected-resource/mcp"'
    good=$(token ada base ',"groups":["staff"]')
    has "$(in_team a.md -H "Authorization: Bearer $good")" hello
    has "$(in_team b.md -H "Authorization: Bearer $good")" secret
    has "$(in_team b.md -H "Authorization: Bearer $(token bob base ',"groups":[]')")" 'Resource not found'
    has "$(read_file b.md "$good")" 'Resource not found'
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
