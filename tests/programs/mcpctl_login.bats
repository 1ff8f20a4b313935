#!/usr/bin/env bats
# Logins of mcpctl, as far as they need no authorization server; tests/interop/mcpctl-login.test.mjs has the rest.

load support/mcpctl
load support/eventually

state() {
    (umask 077 && mkdir -p "$HOME/.local/state/mcp")
    printf '%s' "$1" >"$HOME/.local/state/mcp/auth.json"
    chmod "${2:-600}" "$HOME/.local/state/mcp/auth.json"
}

@test "auth: no logins, a damaged file, and a file that others can read" {
    apart "$MCPCTL" auth
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ $stderr == *"mcpctl login SERVER"* ]]
    [ "$("$MCPCTL" auth --json)" = '{"logins":[]}' ]
    [ ! -e "$HOME/.local/state/mcp" ]
    state '{"version":1,"records":{}}'
    [ "$("$MCPCTL" auth --json)" = '{"logins":[]}' ]
    state '{"version":1,'
    apart "$MCPCTL" auth
    [ "$status" -eq 5 ]
    [[ $stderr == *auth.json*"is damaged"* ]]
    [ "$(cat "$HOME/.local/state/mcp/auth.json")" = '{"version":1,' ]
    state '{"version":1,"records":{}}' 640
    apart "$MCPCTL" auth
    [ "$status" -eq 5 ]
    [[ $stderr == *"can be used by others"* ]]
    state '{"version":9,"records":{}}'
    apart "$MCPCTL" auth
    [ "$status" -eq 5 ]
    [[ $stderr == *"later version"* ]]
}

@test "login and logout: servers at which there are no logins" {
    apart "$MCPCTL" login
    [ "$status" -eq 2 ]
    [[ $stderr == *"no server"* ]]
    for words in 'unix:/nowhere' 'http://mcp.example/mcp' "https://mcp.example/mcp --header authorization:x"; do
        apart "$MCPCTL" login $words
        [ "$status" -eq 2 ]
        [[ $stderr == *"a login at this server is not possible"* ]]
    done
    apart "$MCPCTL" login nowhere
    [ "$status" -eq 2 ]
    [[ $stderr == *"no configuration file has a server 'nowhere'"* ]]
    apart "$MCPCTL" login https://a.example/ -s https://b.example/
    [ "$status" -eq 2 ]
    [[ $stderr == *"two servers"* ]]
    apart "$MCPCTL" logout https://mcp.example/mcp
    [ "$status" -eq 0 ]
    [[ $stderr == *"there is no login at https://mcp.example/mcp"* ]]
    [ "$("$MCPCTL" logout https://mcp.example/mcp --json)" = '{"server":"https://mcp.example/mcp","loggedOut":false}' ]
    apart "$MCPCTL" login https://127.0.0.1:1/mcp
    [ "$status" -eq 3 ]
    serve .
    apart "$MCPCTL" login "$url"
    [ "$status" -eq 8 ]
    [[ $stderr == *"$url does not ask for a login (HTTP status 200)"* ]]
}

# Starts the server of support/gatehouse; sets $url and $root. The browser follows redirects.
gate() {
    "$BATS_TEST_DIRNAME/support/gatehouse" "$@" >gate 3>&- &
    others=$!
    eventually test -s gate
    url=$(cat gate) root=${url%/mcp}
    printf '#!/bin/sh\nexec curl -sL -o /dev/null "$1"\n' >browser
    chmod 755 browser
    export BROWSER=$PWD/browser
}

@test "login: at the registered address, and registered again if that is taken or the client unknown" {
    gate
    registered() { [ "$(curl -s "$root/registered")" = "$1" ]; }
    # Without a terminal nobody is asked, and nothing is left there.
    apart "$MCPCTL" ls "$url" </dev/null
    [ "$status" -eq 8 ]
    [[ $stderr == *"mcpctl login $url"* ]]
    registered 0
    "$MCPCTL" login "$url"
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
    registered 1
    "$MCPCTL" login "$url"
    registered 1
    # Somebody else has the port.
    local port
    port=$(grep -Eo '127.0.0.1:[0-9]+/callback' "$HOME/.local/state/mcp/auth.json" | grep -Eo '[0-9]+/' | tr -d /)
    python3 -c 'import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print("here", flush=True)
time.sleep(3600)' "$port" >taken 3>&- &
    others+=" $!"
    eventually test -s taken
    "$MCPCTL" login "$url"
    registered 2
    # A client that is unknown there registers again.
    curl -s "$root/forget" >/dev/null
    "$MCPCTL" login "$url" --trace steps
    registered 3
    # What shows this is one request, whose state is a secret in the trace, too.
    [ "$(jq -s '[.[].oauth | select(.what == "authorization" and .status == 400)] | length' steps)" = 1 ]
    run grep 'state=[^*]' steps
    [ "$status" -eq 1 ]
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
    apart "$MCPCTL" logout "$url"
    [[ $stderr == *"logged out of $url"* ]]
    ! grep -q me3 "$HOME/.local/state/mcp/auth.json"
}

@test "login: a client of one's own keeps its address and its secret, also when a command needs more scopes" {
    gate secret
    local address
    address=http://127.0.0.1:$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')/callback
    curl -s -d "{\"redirect_uris\":[\"$address\"]}" "$root/register" >/dev/null
    (umask 077 && echo sesame >secret)
    "$MCPCTL" login "$url" --client-id me1 --client-secret-file secret --issuer "$root" --callback-url "$address"
    rm secret
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
    STAY=1 TYPED='y\n' run on_terminal "$MCPCTL" read "$url" mem:secret
    echo "$output"
    [[ $output == *"you are in"* ]]
    # No other client was registered.
    [ "$(curl -s "$root/registered")" = 1 ]
    apart "$MCPCTL" logout "$url"
    ! grep -q sesame "$HOME/.local/state/mcp/auth.json"
}

@test "login: scheme and host of the address may be in capitals, and it is the same login" {
    gate
    root=${root/127.0.0.1/localhost}
    "$MCPCTL" login "${root/http:??localhost/HTTP://LocalHost}/mcp"
    for address in "$root/mcp" "${root/http:??localhost/Http://LOCALHOST}/mcp"; do
        [ "$("$MCPCTL" ls "$address" </dev/null)" = mem:secret ]
    done
    [ "$("$MCPCTL" auth --json | jq -c '[.logins[].server]')" = "[\"$root/mcp\"]" ]
    apart "$MCPCTL" logout "${root/http:??localhost/HTTP://LOCALHOST}/mcp"
    [[ $stderr == *"logged out of $root/mcp"* ]]
}

@test "a server that fails on a token that it does not know: stderr says how to log in again" {
    gate fails
    "$MCPCTL" login "$url"
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
    curl -s "$root/forget" >/dev/null
    apart "$MCPCTL" ls "$url"
    [ "$status" -eq 3 ]
    [[ $stderr == *"HTTP status 500"*"token of your login"*"mcpctl login $url"* ]]
    "$MCPCTL" login "$url"
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
}

@test "login: a token without a type, and scopes as a list" {
    gate loose
    "$MCPCTL" login "$url"
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
    [ "$("$MCPCTL" auth --json | jq -r '.logins[0].scope')" = "a b" ]
}

@test "login: tokens are bound to a key with --dpop, or if the server asks for that" {
    gate dpop
    apart "$MCPCTL" login "$url"
    [ "$status" -eq 8 ]
    [[ $stderr == *invalid_dpop_proof* ]]
    "$MCPCTL" login "$url" --dpop
    [ "$("$MCPCTL" ls "$url" </dev/null)" = mem:secret ]
    [ "$("$MCPCTL" auth --json | jq -c '[.logins[] | .bound]')" = '[true]' ]
    kill "$others"
    rm gate
    gate dpop-asked
    "$MCPCTL" login "$url"
    [ "$("$MCPCTL" ls "$url" </dev/null)" = mem:secret ]
}

@test "login: the first of two authorization servers does not answer" {
    gate two
    apart "$MCPCTL" login "$url"
    [ "$status" -eq 3 ]
    [[ $stderr == *"the option issuer chooses another authorization server, such as $root"* ]]
    "$MCPCTL" login "$url" --issuer "$root"
    [ "$("$MCPCTL" ls "$url" </dev/null)" = mem:secret ]
}

@test "login: metadata may be moved on their origin, and to no other" {
    gate moved
    "$MCPCTL" login "$url"
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
    kill "$others"
    rm gate
    gate astray
    apart "$MCPCTL" login "$url"
    [ "$status" -eq 8 ]
    [[ $stderr == *"the server redirects to another origin: http://localhost:1/"* ]]
}

@test "login: a server of 2025-03-26 is its own authorization server; scopes of the command line are asked for" {
    gate old
    apart "$MCPCTL" login "$url"
    [ "$status" -eq 8 ]
    [[ $stderr == *legacy-endpoints* ]]
    "$MCPCTL" login "$url" --legacy-endpoints --scope 'more than' 2>shown
    grep -q 'scope=more%20than' shown
    [ "$("$MCPCTL" ls "$url")" = mem:secret ]
}

@test "a server that requires a login: the exit status, if there can be none or it fails" {
    gate old
    apart "$MCPCTL" ls "$url" </dev/null
    [ "$status" -eq 8 ]
    [[ $stderr == *"its authorization server is unknown"* ]]
    apart "$MCPCTL" ls "$url" --header 'Authorization: Bearer bad'
    [ "$status" -eq 8 ]
    [[ $stderr == *'HTTP status 401'* ]]
    kill "$others"
    rm gate
    gate astray
    apart "$MCPCTL" ls "$url" </dev/null
    [ "$status" -eq 8 ]
}

@test "login: an answer that cannot be used is a failed login" {
    gate odd-token
    apart "$MCPCTL" login "$url"
    [ "$status" -eq 8 ]
    [[ $stderr == *"bot instead of Bearer"* ]]
}

@test "logout: a client that has registered itself is forgotten, too" {
    gate
    printf '#!/bin/sh\n' >browser
    "$MCPCTL" login "$url" >first 2>&1 3>&- &
    local login=$!
    eventually grep -q me1 "$HOME/.local/state/mcp/auth.json"
    kill -TERM "$login"
    wait "$login" || :
    apart "$MCPCTL" logout "$url"
    [ "$status" -eq 0 ]
    [[ $stderr == *"there is no login at $url"* ]]
    ! grep -q me1 "$HOME/.local/state/mcp/auth.json"
}

@test "login: settings that cannot be used" {
    no() {
        apart "$MCPCTL" login https://mcp.example/mcp "$@"
        echo "$stderr"
        [ "$status" -eq 2 ]
    }
    no --client-secret-file missing
    [[ $stderr == *"--client-secret-file: missing:"* ]]
    : >empty
    no --key empty
    [[ $stderr == *"--key: empty is empty"* ]]
    no --callback-url 'http://127.0.0.1:8123/cb#x'
    [[ $stderr == *"callback address"* ]]
    no --grant client-credentials
    [[ $stderr == *client_id* ]]
    MCPCTL_GRANT=magic no
    [[ $stderr == *"no grant 'magic'"* ]]
    no --grant magic
    for url in https://a.example https://a.example/ https://a.example/./c https://a.example/x/../c 'https://a.example/c#x'; do
        no --client-metadata-url "$url"
        [[ $stderr == *"client_metadata_url needs a path"* ]] || [[ $url == *'#'* ]]
    done
    no --issuer http://id.example
    [[ $stderr == *issuer* ]]
}

@test "a secret goes only to an issuer that its owner names" {
    entry() {
        echo "{\"mcpServers\":{\"s\":{\"url\":\"https://127.0.0.1:1/mcp\",\"oauth\":{\"clientId\":\"me\"$1}}}}" >.mcp.json
    }
    entry ',"issuer":"https://evil.example"'
    export MCPCTL_CLIENT_SECRET=sesame
    apart "$MCPCTL" login s --trust
    [ "$status" -eq 2 ]
    [[ $stderr == *"--issuer has to say"*"client secret"*"does not count"* ]]
    MCPCTL_ISSUER=https://id.example apart "$MCPCTL" login s --trust
    [ "$status" -eq 2 ]
    apart "$MCPCTL" login s --trust --issuer https://id.example
    [ "$status" -eq 3 ]
    entry ''
    apart "$MCPCTL" login s --trust
    [ "$status" -eq 2 ]
    MCPCTL_ISSUER=https://id.example apart "$MCPCTL" login s --trust
    [ "$status" -eq 3 ]
    unset MCPCTL_CLIENT_SECRET
    MCPCTL_ASSERTION_COMMAND='echo a.b.c' apart "$MCPCTL" login s --trust
    [ "$status" -eq 2 ]
    [[ $stderr == *"assertion"* ]]
    entry ',"issuer":"https://id.example","clientSecret":"its own"'
    apart "$MCPCTL" login s --trust
    [ "$status" -eq 3 ]
}

@test "a file of the current folder cannot name files or turn checks off, and what it says is confirmed" {
    echo secret >secret
    echo '{"mcpServers":{"s":{"url":"https://127.0.0.1:1/mcp","oauth":{
        "clientId":"me","scopes":["a","b"],"clientSecretFile":"secret","issuer":"https://id.example","assumePkce":true,"callbackPort":8123}}}}' >.mcp.json
    apart "$MCPCTL" login s
    [ "$status" -eq 6 ]
    [[ $stderr == *"login with clientId=me"* ]]
    [[ $stderr == *"login with scopes=a b"* ]]
    [[ $stderr == *"login with clientSecretFile=secret"* ]]
    [[ $stderr == *"login with callbackPort=8123"* ]]
    apart "$MCPCTL" login s --trust
    [ "$status" -eq 3 ]
    [[ $stderr == *'.mcp.json: "clientSecretFile" is ignored'* ]]
    [[ $stderr == *'.mcp.json: "assumePkce" is ignored'* ]]
    mkdir -p ~/.config/mcpctl
    mv .mcp.json ~/.config/mcpctl/servers.json
    apart "$MCPCTL" login s
    [ "$status" -eq 3 ]
    [[ $stderr != *ignored* ]]
}

@test "keyring: a login that cannot be read is not taken for none, and one that cannot be removed stays" {
    local marker='{"version":1,"records":{"https://127.0.0.1:1/mcp":{"keyring":true}}}' store="$HOME/.local/state/mcp/auth.json"
    mkdir -p "$HOME/bin"
    printf '#!/bin/sh\necho "$1" >>"$HOME/calls"\n[ ! -e "$HOME/locked" ] || echo "the keyring is locked" >&2\nexit 1\n' \
        >"$HOME/bin/secret-tool"
    chmod 755 "$HOME/bin/secret-tool"
    PATH="$HOME/bin:$PATH"
    state "$marker"
    touch "$HOME/locked"
    apart "$MCPCTL" auth
    [ "$status" -eq 5 ]
    [[ $stderr == *"unlock the keyring"* ]]
    apart "$MCPCTL" logout https://127.0.0.1:1/mcp
    [ "$status" -eq 3 ]
    [[ $stderr == *"could not remove the login"* ]]
    [ "$(cat "$store")" = "$marker" ]
    rm "$HOME/locked"
    apart "$MCPCTL" logout https://127.0.0.1:1/mcp
    [ "$status" -eq 0 ]
    [ "$(cat "$store")" = '{"version":1,"records":{}}' ]
    [ "$(tail -n 1 "$HOME/calls")" = clear ]
}
