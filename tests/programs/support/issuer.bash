# issuer.bash: a web server with the metadata and the key of an issuer, its tokens, and mcpd over HTTP. For tests that set
# MCPD and have a configuration in mcpd.json.

# Ends both servers.
stop_issuer() {
    for pid in $server $issuer_pid; do
        kill "$pid" 2> /dev/null || true
        wait "$pid" 2> /dev/null || true
    done
}

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d =; }

# Starts a web server with the metadata and the key of an issuer.
issuer() {
    mkdir -p idp/.well-known
    openssl genrsa -out key.pem 2048 2> /dev/null
    local n
    n=$(openssl rsa -in key.pem -noout -modulus | cut -d= -f2 | perl -ne 'chomp; print pack "H*", $_' | base64url)
    printf '{"keys":[{"kty":"RSA","kid":"k","use":"sig","n":"%s","e":"AQAB"}]}' "$n" > idp/keys
    python3 -u -c '
import functools, http.server
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory="idp")
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
print(s.server_port, flush=True)
s.serve_forever()' > port 2> idp.log 3>&- &
    issuer_pid=$!
    local i
    for ((i = 0; i < 3000; i++)); do [ -s port ] && break; sleep 0.02; done
    iss=http://127.0.0.1:$(cat port)
    printf '{"issuer":"%s","jwks_uri":"%s/keys","code_challenge_methods_supported":["S256"]}' "$iss" "$iss" \
        > idp/.well-known/oauth-authorization-server
}

# token SUBJECT SCOPES [CLAIMS]: CLAIMS are members with a comma at the beginning; $kid is JSON text; $lifetime is in seconds
token() {
    local head body
    head=$(printf '{"alg":"RS256","typ":"at+jwt","kid":"%s"}' "${kid:-k}" | base64url)
    body=$(printf '{"iss":"%s","aud":"%s","sub":"%s","scope":"%s","client_id":"c","jti":"%s","iat":%d,"exp":%d%s}' \
        "$iss" "${audience:-https://r.example/mcp}" "$1" "$2" "$RANDOM" "$(date +%s)" "$(($(date +%s) + ${lifetime:-600}))" "$3" | base64url)
    printf '%s.%s.%s' "$head" "$body" "$(printf %s "$head.$body" | openssl dgst -sha256 -sign key.pem | base64url)"
}

serve() {
    "$MCPD" --config mcpd.json --log-format text "$@" 2> log 3>&- &
    server=$!
    local i
    for ((i = 0; i < 3000; i++)); do
        grep -q 'serving' log && break
        kill -0 "$server" || { cat log; return 1; }
        sleep 0.02
    done
    base=$(sed -n 's|.* at \(http.*\)/mcp.*|\1|p' log | head -1)
}

# ask METHOD PARAMS [CURL-OPTION...]: prints the headers and the body
ask() {
    local method=$1 params=$2
    shift 2
    curl -s -i -m 60 "$base/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $method" "$@" -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":{$params\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
}

has() { [[ $1 == *"$2"* ]] || { echo "\"$2\" is not in: $1"; return 1; }; }
lacks() { [[ $1 != *"$2"* ]] || { echo "\"$2\" is in: $1"; return 1; }; }
