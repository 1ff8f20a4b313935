#!/usr/bin/env bats
# How mcpctl selects the server: by an address, or by a name in a configuration file; and traces of
# the messages.

load support/mcpctl

@test "--trace: every message, with time and direction" {
    run "$MCPCTL" ls --trace messages -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$(wc -l <messages)" -eq 4 ]
    [[ $(head -n 1 messages) == '{"time":"20'*'Z","from":"client","message":{"jsonrpc":"2.0"'*'}}' ]]
    [[ $(tail -n 1 messages) == *'"from":"server"'*'logo.png'* ]]
    apart "$MCPCTL" ls --trace - -- "$workshop"
    [[ $stderr == '{"time":'* && $output == mem:* ]]
    # Every line is JSON, even if the server writes something else.
    rm messages
    apart "$MCPCTL" ls --trace messages -- sh -c 'printf "starting \"up\"\n"; exec "$@"' - "$workshop"
    [[ $(sed -n 2p messages) == *'"from":"server","text":"starting \"up\""}' ]]
    # The trace does not control the terminal.
    run on_terminal "$MCPCTL" read mem:a --trace - -- "$BATS_TEST_DIRNAME/support/evil"
    [[ $output == *'"from":"server"'* && $output != *$'\u009b'* && $output != *$'\u202e'* ]]
    run on_terminal "$MCPCTL" ls --trace - -- sh -c 'printf "{a\302\2332J\342\200\256\n"; exec "$@"' - "$workshop"
    [[ $output == *'"text":"{a\u009b2J\u202e"'* && $output != *$'\u009b'* ]]
    run "$MCPCTL" ls --trace /nonexistent/file -- "$workshop"
    [ "$status" -eq 5 ]
}

@test "trace: between a host and a server" {
    run "$MCPCTL" trace messages
    [ "$status" -eq 2 ]
    run "$MCPCTL" info -- "$MCPCTL" trace messages -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output == *workshop* ]]
    [[ $(head -n 1 messages) == *'"from":"client","message":{'*server/discover* ]]
    [[ $(tail -n 1 messages) == *'"from":"server","message":{'* ]]
    printf 'hello\n' | "$MCPCTL" trace m2 -- sh -c 'cat; printf "\033oops" >&2' 2>err
    grep -q '"from":"client","text":"hello"' m2
    grep -q '"from":"server","stderr":"\\u001boops"' m2
    run "$MCPCTL" trace m3 -- /nonexistent/server
    [ "$status" -eq 3 ]
}

@test "an address: Streamable HTTP" {
    mkdir folder
    echo hello >folder/a
    serve folder
    for revision in 2026-07-28 2025-11-25 2025-06-18 2025-03-26; do
        run "$MCPCTL" info --revision $revision -s "$url"
        [ "$status" -eq 0 ]
        [[ $output == *"$revision"* ]]
    done
    run "$MCPCTL" read "file://$PWD/folder/a" -s "$url"
    [ "$output" = hello ]
    # Scheme and host may be in capitals, for a login as well.
    run -0 "$MCPCTL" read "file://$PWD/folder/a" -s "${url/http/HTTP}"
    [ "$output" = hello ]
    run "$MCPCTL" login "${url/http/HTTP}" --no-browser
    [[ $output == *"http://127.0.0.1:"* && $output != *"no configuration file"* ]]
    kill "$server"
    wait "$server" || :
    run "$MCPCTL" info -s "$url"
    [ "$status" -eq 3 ]
    [[ $output == *"is there an MCP server at"* ]]
    run "$MCPCTL" info -s http://
    [ "$status" -eq 2 ]
    run "$MCPCTL" info -s "$url" -H nonsense
    [ "$status" -eq 2 ]
    run "$MCPCTL" info -s "$url" -- "$workshop"
    [ "$status" -eq 2 ]
}

@test "an address as the first word" {
    mkdir folder
    echo hello >folder/a
    serve folder
    run "$MCPCTL" tree "$url"
    [[ $status == 0 && $output == *a* ]]
    run "$MCPCTL" "$url" tree
    [[ $status == 0 && $output == *a* ]]
    run "$MCPCTL" read "$url" "file://$PWD/folder/a"
    [ "$output" = hello ]
    run "$MCPCTL" ls --json "$url" '*a'
    [[ $output == *"folder/a"* ]]
    # With -s an address is an ordinary argument; without it the address selects the server.
    run "$MCPCTL" read -s "$url" "$url"
    [[ $status == 1 && $output == *"read $url: "* ]]
    run "$MCPCTL" read "$url"
    [[ $status == 2 && $output == *"read takes URI..."* ]]
    run "$MCPCTL" servers "$url"
    [ "$status" -eq 2 ]
    # A socket.
    "$MCPD" --http "unix:$PWD/socket" folder 2>log2 3>&- &
    others=$!
    for _ in {1..600}; do [ -S socket ] && break; sleep 0.1; done
    run "$MCPCTL" tree "unix:$PWD/socket"
    [[ $status == 0 && $output == *a* ]]
    run "$MCPCTL" tree "unix:$PWD/none"
    [[ $status == 3 && $output == *"at the socket $PWD/none"* ]]
    run "$MCPCTL" tree --help
    [[ $output == *"mcpctl tree [OPTIONS] URL [GLOB...]"*"unix:PATH"* ]]
}

@test "an address without a path" {
    mkdir folder
    serve folder
    for base in "${url%/mcp}" "${url%mcp}"; do
        run "$MCPCTL" info -s "$base"
        [ "$status" -eq 3 ]
        [[ $output == *"usually /mcp: $url"* ]]
    done
    run "$MCPCTL" info -s "$url/none"
    [[ $output != *usually* ]]
}

@test "an address with TLS: trusted and untrusted certificates" {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem \
        -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null
    mkdir folder
    serve --tls-cert cert.pem --tls-key key.pem folder
    run "$MCPCTL" info -s "$url"
    [ "$status" -eq 3 ]
    [[ $output == *SSL_CERT_FILE* ]]
    SSL_CERT_FILE=cert.pem run "$MCPCTL" info -s "$url"
    [ "$status" -eq 0 ]
    # The wrong scheme for the port.
    run "$MCPCTL" info "http${url#https}"
    [[ $status == 3 && $output == *"if it uses TLS, the address must begin with https://"* ]]
    kill "$server"
    rm log
    serve folder
    run "$MCPCTL" info "https${url#http}"
    [[ $status == 3 && $output == *"if it uses plain HTTP, the address must begin with http://"* ]]
}

@test "an address that requires a token" {
    mkdir folder
    echo secret >tokens
    serve --token-file tokens folder
    run "$MCPCTL" info -s "$url"
    echo "$output"
    [ "$status" -eq 8 ]
    [[ $output == *Authorization* ]]
    for command in ls tools "read a"; do
        apart "$MCPCTL" $command -s "$url"
        echo "$stderr"
        [ "$status" -eq 8 ]
        [[ $stderr == "mcpctl: $url: the server requires a token or a login: "* ]]
    done
    run "$MCPCTL" info -s "$url" -H 'Authorization: Bearer secret'
    [ "$status" -eq 0 ]
}

@test "servers by name: the formats of Claude, VS Code and Cursor" {
    mkdir -p .vscode .cursor "$HOME/.config/Claude"
    printf '{ // comment\n "servers": {"vs": {"type":"stdio","command":"%s","args":["a b",],},},}\n' "$workshop" >.vscode/mcp.json
    printf '{"mcpServers":{"cur":{"command":"%s","env":{"A":"1"}},"vs":{"command":"/nonexistent"}}}' "$workshop" >.cursor/mcp.json
    printf '{"mcpServers":{"desk":{"command":"%s"}}}' "$workshop" >"$HOME"/.config/Claude/claude_desktop_config.json
    run "$MCPCTL" servers
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "vs"$'\t'"$workshop a b"$'\t'.vscode/mcp.json ]
    [ "${#lines[@]}" -eq 4 ]
    run "$MCPCTL" servers --json
    [[ $output == '{"servers":[{"name":"vs","file":".vscode/mcp.json","entry":{'* ]]
    for name in vs cur desk; do
        run "$MCPCTL" info --trust -s $name
        [ "$status" -eq 0 ]
        [[ $output == *workshop* ]]
    done
    run "$MCPCTL" info -s none
    [ "$status" -eq 2 ]
    [[ $output == *"mcpctl servers"* ]]
    echo '{"mcpServers":{"own":{}}}' >own.json
    run "$MCPCTL" servers --config own.json
    [[ $output == own* ]]
    run "$MCPCTL" info --config own.json -s own
    [ "$status" -eq 2 ]
    [[ $output == *'neither "command" nor "url"'* ]]
    printf '{\n"a"}' >own.json
    run "$MCPCTL" info --config own.json -s own
    [ "$status" -eq 2 ]
    [[ $output == *"own.json, line 2"* ]]
}

@test "servers by name: the formats of Claude Code's local scope, Codex, Gemini CLI, opencode and Copilot CLI" {
    mkdir -p "$HOME"/.codex "$HOME"/.gemini "$HOME"/.copilot "$HOME"/.config/opencode
    local run="\"sh\",\"-c\",\"echo \\\"\$0 \$A\\\" >seen; exec $workshop\""
    # The format of `claude mcp add`: a server of this folder, and one of another folder.
    printf '{"projects":{"%s":{"mcpServers":{"local":{"type":"stdio","command":"%s","args":[],"env":{}}}},"/else":{"mcpServers":{"other":{"command":"x"}}}},"mcpServers":{"local":{"command":"y"}}}' "$PWD" "$workshop" >"$HOME"/.claude.json
    cat >"$HOME"/.codex/config.toml <<TOML
model = "gpt-5"
[projects."$PWD"]
trust_level = "trusted"
[mcp_servers.codex] # of the user
command = 'sh'
args = [
  "-c", 'echo "\$0 \$A" >seen; exec $workshop',
  "\u0061 \${HOME}", # variables are not expanded here
]
[mcp_servers.codex.env]
A = "1"
[mcp_servers."codex.remote"]
url = "http://127.0.0.1:1/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X-Team = "core" }
TOML
    printf '{"mcpServers":{"gemini":{"command":%s,"args":[%s,"$HOME"],"env":{"A":"${HOME}"}},"gemini-http":{"httpUrl":"http://127.0.0.1:1/g"}}}' "${run%%,*}" "${run#*,}" >"$HOME"/.gemini/settings.json
    printf '{"$schema":"x","mcp":{"oc":{"type":"local","command":[%s,"{env:HOME}"],"environment":{"A":"${A}"},"enabled":true},"oc-remote":{"type":"remote","url":"http://127.0.0.1:1/o"}}}' "$run" >"$HOME"/.config/opencode/opencode.json
    printf '{"mcp":{"servers":{"oc2":{"type":"local","command":["%s"]}}}}' "$workshop" >opencode.jsonc
    printf '{"mcpServers":{"copilot":{"type":"local","command":"%s","args":[],"tools":["*"]}}}' "$workshop" >"$HOME"/.copilot/mcp-config.json
    run "$MCPCTL" servers
    [ "$status" -eq 0 ]
    [ "$(cut -f 1 <<<"$output" | paste -sd ' ')" = "oc2 local local codex codex.remote gemini gemini-http oc oc-remote copilot" ]
    [ "${lines[1]}" = "local"$'\t'"$workshop"$'\t'"$HOME/.claude.json" ]
    [[ $output == *$'oc-remote\thttp://127.0.0.1:1/o\t'* && $output == *$'gemini-http\thttp://127.0.0.1:1/g\t'* ]]
    for name in oc2 local codex gemini oc copilot; do
        run "$MCPCTL" info --trust -s $name
        echo "$name: $output"
        [[ $status == 0 && $output == *workshop* ]]
    done
    local wanted
    while IFS='|' read -r name wanted; do
        run "$MCPCTL" info --trust -s "$name"
        [ "$(cat seen)" = "$wanted" ]
    done <<WORDS
codex|a \${HOME} 1
gemini|$HOME $HOME
oc|$HOME \${A}
WORDS
    # A token is read when the server is used, and never shown.
    run "$MCPCTL" info -s codex.remote
    [[ $status == 6 && $output == *"environment variable TOKEN"* ]]
    cp "$HOME"/.codex/config.toml mine.toml
    TOKEN=secret run "$MCPCTL" info --config mine.toml -s codex.remote
    [[ $status == 3 && $output != *secret* ]]
    mkdir .codex
    mv mine.toml .codex/config.toml
    run "$MCPCTL" info -s codex.remote
    [[ $status == 6 && $output == *'with X-Team: core'*'with Authorization: Bearer ${TOKEN}'* ]]
    printf '[mcp_servers.x]\ncommand = "a\n' >.codex/config.toml
    run "$MCPCTL" info --config .codex/config.toml -s x
    [[ $status == 2 && $output == *".codex/config.toml, line 2: a text without an end"* ]]
}

@test "servers by name: the command is shown and confirmed once" {
    write() { printf '{"mcpServers":{"s":{"command":"%s","args":["a b","%s"],"env":{"A":"%s"}}}}' "$workshop" "$1" "$2" >.mcp.json; }
    write x 1
    apart "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [ -z "$output" ]
    [[ $stderr == *"$workshop 'a b' x"*"with A=1"*"--trust"* ]]
    TYPED='n\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *"Allow this?"* && $output != *mem:* ]]
    TYPED='y\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *mem:* ]]
    run "$MCPCTL" ls -s s
    [ "$status" -eq 0 ]
    [ "$(stat -c %a "$HOME"/.local/state/mcpctl/confirmed)" = 600 ]
    # Another argument, variable or folder needs a new confirmation.
    write y 1
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    write x 2
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    write x 1
    mkdir elsewhere
    cp .mcp.json elsewhere
    cd elsewhere
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    # A confirmed argument does not count as a confirmed variable.
    printf '{"mcpServers":{"s":{"command":"%s","args":["with A=1"]}}}' "$workshop" >.mcp.json
    run "$MCPCTL" ls --trust -s s
    [ "$status" -eq 0 ]
    printf '{"mcpServers":{"s":{"command":"%s","env":{"A":"1"}}}}' "$workshop" >.mcp.json
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
}

@test "servers by name: a file of variables is named, then shown and confirmed after the rest was confirmed" {
    printf '{"mcpServers":{"s":{"command":"sh","args":["-c","echo $A $B >seen; exec %s"],"envFile":"e","env":{"B":"shown"}}}}' "$workshop" >.mcp.json
    # The file is not opened before the first answer, so a missing file is not reported yet.
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"env file e"*"with B=shown"* && $output != *"No such file"* ]]
    printf 'A=hidden\nB=other\n' >e
    TYPED='y\nn\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *"env file e"*"with B=shown"*"Allow this?"*"A, as it says"*"Allow this?"* && $output != *hidden* && $output != *mem:* ]]
    TYPED='y\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *"A, as it says"*mem:* && $output != *"env file e"* && $output != *hidden* ]]
    [ "$(cat seen)" = "hidden shown" ]
    run "$MCPCTL" ls -s s
    [ "$status" -eq 0 ]
    printf 'A=changed\nB=other\n' >e
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    printf 'A=hidden\nB=other\nLD_PRELOAD=x\n' >e
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"LD_PRELOAD, as it says"* ]]
    # The value that is shown is the value that the server gets.
    printf '{"mcpServers":{"s":{"command":"printenv","args":["B"],"envFile":"e","env":{"B":"shown"}}}}' >.mcp.json
    printf 'B=other\n' >e
    run "$MCPCTL" ls --trust -s s --trace heard
    grep -q '"text":"shown"' heard
    run ! grep -q other heard
}

@test "servers by name: files that another person controls are read only if they are regular and small" {
    mkfifo fifo
    head -c 300000 /dev/zero | tr '\0' '#' >large
    printf 'A=1\0B=2\n' >binary
    local file why
    while IFS='|' read -r file why; do
        printf '{"mcpServers":{"s":{"command":"%s","envFile":"%s"}}}' "$workshop" "$file" >.mcp.json
        run timeout 5 "$MCPCTL" ls -s s
        [ "$status" -eq 6 ]
        [[ $output == *"env file $file"* && $output != *"cannot be used"* ]]
        run timeout 5 "$MCPCTL" ls --trust -s s
        echo "$file: $status $output"
        [ "$status" -eq 2 ]
        [[ $output == *"the file of variables $file cannot be used: $why"* ]]
    done <<'FILES'
/dev/zero|it is not a regular file
fifo|it is not a regular file
.|it is not a regular file
large|it has more than 262144 bytes
binary|it contains a NUL character
none|No such file or directory
FILES
    # This also holds for the folder's configuration; a file that the user names may be a pipe.
    printf '{"mcpServers":{"s":{"command":"%s"}}}' "$workshop" >good.json
    for file in fifo /dev/zero; do
        ln -sf "$file" .mcp.json
        run timeout 5 "$MCPCTL" servers
        [ "$status" -eq 0 ]
        [[ $output == *".mcp.json: it is not a regular file"* ]]
    done
    run timeout 5 bash -c '"$0" servers --config <(cat good.json)' "$MCPCTL"
    [[ $status == 0 && $output == s* ]]
}

@test "servers by name: variables" {
    printf '{"inputs":[{"id":"t","description":"The token\\n(\\u202eyours)","password":true}],"mcpServers":{"s":{"command":"sh","args":["-c","echo \\"$0 $1 $A\\" >seen; exec %s","${input:t}","${workspaceFolderBasename} ${NONE:-fallback}"],"env":{"A":"${env:HOME}"}},"t":{"command":"${NONE}"}}}' "$workshop" >.mcp.json
    # No text of the file is shown as a prompt before the user agreed to use the file.
    TYPED='n\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *"Allow this?"* && $output != *"The token"* ]]
    TYPED='y\nsecret\n' run on_terminal "$MCPCTL" ls -s s
    echo "$output"
    [[ $output == *'${input:t}'*"Allow this?"*".mcp.json requires a value for the server 's', and says of it:"*'    The token'*'    (\u202eyours)'*"goes to that server"*"not shown"*mem:* ]]
    [ "$(cat seen)" = "secret ${PWD##*/} fallback $HOME" ]
    [[ ${output#*The token} != *secret* ]]
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"cannot be asked for without a terminal"* ]]
    run "$MCPCTL" ls --trust -s t
    [ "$status" -eq 6 ]
    [[ $output == *"environment variable NONE"* ]]
}

@test "servers by name: the whole command is shown, unambiguously" {
    # A newline does not start a new line, an invisible character is shown, and bash would split the
    # words in the same way.
    local words=$'a\nb\'c\\d \u200be\u2028'
    printf '{"mcpServers":{"s":{"command":"%s","args":["it'"'"'s","a\\nb'"'"'c\\\\d \\u200be\\u2028","%s"],"env":{"A":"1\\n      with B=2"}}}}' "$workshop" "$(printf '%05000d' 7)" >.mcp.json
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"$workshop "\''it'\'\\\'\'"s' "* && $output == *'000007'* && $output == *'with A=1\x0a      with B=2'* ]]
    [ "${#lines[@]}" -eq 4 ]
    eval "set -- ${lines[1]}"
    [[ $# -eq 4 && $2 == "it's" && $3 == "$words" && ${#4} -eq 5000 ]]
}

@test "trusted in the user's own configuration: tools are called without a question" {
    mkdir -p "$HOME/.config/mcpctl"
    printf '{"mcpServers":{"mine":{"command":"%s","trusted":true}}}' "$workshop" >"$HOME"/.config/mcpctl/servers.json
    printf '{"mcpServers":{"theirs":{"command":"%s","trusted":true}}}' "$workshop" >.mcp.json
    run "$MCPCTL" call --trust -s mine shape
    [ "$status" -eq 0 ]
    run "$MCPCTL" call --trust -s theirs shape
    [ "$status" -eq 6 ]
}

@test "in the home folder each server is listed once, and belongs to the user" {
    mkdir -p "$HOME/.cursor" "$HOME/.codex" "$HOME/.gemini" "$HOME/.config/opencode"
    printf '{"mcpServers":{"cur":{"command":"%s","trusted":true}}}' "$workshop" >"$HOME"/.cursor/mcp.json
    printf '[mcp_servers.codex]\ncommand = "x"\n' >"$HOME"/.codex/config.toml
    printf '{"mcpServers":{"gemini":{"command":"x"}}}' >"$HOME"/.gemini/settings.json
    printf '{"mcp":{"oc":{"type":"local","command":["x"]}}}' >"$HOME"/.config/opencode/opencode.json
    local there
    there=$("$MCPCTL" servers)
    [ "$(wc -l <<<"$there")" -eq 4 ]
    for folder in "$HOME" "$HOME/.config/opencode"; do
        cd "$folder"
        [ "$("$MCPCTL" servers)" = "$there" ]
        # It may be trusted, which no file of the current folder may.
        run -0 "$MCPCTL" call --trust -s cur shape
    done
    # Through a link too; another file of this name is one of the folder.
    mkdir "$BATS_TEST_TMPDIR/other" "$BATS_TEST_TMPDIR/linked"
    ln -s "$HOME/.cursor" "$BATS_TEST_TMPDIR/linked/.cursor"
    cd "$BATS_TEST_TMPDIR/linked"
    [ "$("$MCPCTL" servers)" = "$there" ]
    cp -R "$HOME/.cursor" "$BATS_TEST_TMPDIR/other/.cursor"
    cd "$BATS_TEST_TMPDIR/other"
    [ "$("$MCPCTL" servers | grep -c ^cur)" -eq 2 ]
    run "$MCPCTL" call --trust -s cur shape
    [ "$status" -eq 6 ]
}

@test "an address in a file of the folder must be confirmed too" {
    printf '{"mcpServers":{"s":{"url":"http://127.0.0.1:1/mcp","headers":{"X":"${env:HOME}"}}}}' >.mcp.json
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"http://127.0.0.1:1/mcp"*'with X: ${env:HOME}'* ]]
    run "$MCPCTL" ls --trust -s s
    [ "$status" -eq 3 ]
}

@test "trace: signals reach the server, and mcpctl ends when the server ends" {
    until_there() { for _ in {1..1200}; do [ -e "$1" ] && return; sleep 0.05; done; return 1; }
    # Ctrl-C on a terminal reaches both, once.
    { until_there started; printf '\003'; until_there ended; } |
        SHELL=/bin/bash timeout 10 script -qec "$(printf '%q ' "$MCPCTL" trace messages -- bash -c 'trap "echo >>ended; exit" INT; touch started; while :; do sleep 0.02; done')" /dev/null && false
    [ "$(wc -l <ended)" -eq 1 ]
    # A signal sent to mcpctl is passed on: after a hangup the server continues.
    rm started
    "$MCPCTL" trace messages -- bash -c 'trap "touch hup" HUP; trap "touch term; exit" TERM; touch started; while :; do sleep 0.02; done' 3>&- </dev/null &
    local pid=$! code=0
    until_there started
    kill -HUP $pid
    until_there hup
    kill -TERM $pid
    wait $pid || code=$?
    [ "$code" -eq 143 ]
    [ -e term ]
}

@test "a file of a host may begin with a byte order mark, as editors of Windows write it" {
    printf '\xef\xbb\xbf{"mcpServers":{"x":{"command":"x"}}}' >c.json
    [ "$("$MCPCTL" servers --config c.json --json | jq -r '.servers[0].name')" = x ]
}
